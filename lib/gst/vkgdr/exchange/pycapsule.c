/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * exchange/pycapsule.c: deletes a DLPack tensor that no consumer has taken over
 *
 * Python passes tensors on in capsules. If a consumer refuses a capsule with an
 * exception, Python deletes the capsule while the exception is being raised. At
 * that time, Python code must not run: the exception would be lost, and the
 * tensor would never be freed. So the capsule's destructor is here, in C. This
 * is the only file that knows Python. It looks Python's functions up in the
 * process, so this library is not linked to Python. Must not know the content
 * of a tensor.
 */

#include <dlfcn.h>
#include <dlpack/dlpack.h>

#include <gst/vkgdr/gstvkgdrdlpack.h>

/* The name of a capsule whose tensor no consumer has taken over. */
#define CAPSULE_NAME "dltensor"

/* Python's functions, with Python objects as void pointers. */
static struct {
  int (*is_valid) (void *capsule, const char *name);
  void *(*get_pointer) (void *capsule, const char *name);
  void (*fetch) (void **type, void **value, void **traceback);
  void (*restore) (void *type, void *value, void *traceback);
  void *(*save_thread) (void);
  void (*restore_thread) (void *state);
} python;

static gboolean
find_python (void)
{
#define FIND(field, symbol) \
  (*(void **) &python.field = dlsym (RTLD_DEFAULT, symbol))
  return FIND (is_valid, "PyCapsule_IsValid")
         && FIND (get_pointer, "PyCapsule_GetPointer")
         && FIND (fetch, "PyErr_Fetch") && FIND (restore, "PyErr_Restore")
         && FIND (save_thread, "PyEval_SaveThread")
         && FIND (restore_thread, "PyEval_RestoreThread");
#undef FIND
}

/* Called by Python, with the interpreter's lock held. */
static void
delete_tensor (void *capsule)
{
  void *type = NULL, *value = NULL, *traceback = NULL, *thread;
  DLManagedTensor *tensor;

  if (!python.is_valid (capsule, CAPSULE_NAME))
    return; /* its consumer deletes the tensor */
  tensor = python.get_pointer (capsule, CAPSULE_NAME);
  if (!tensor->deleter)
    return;
  python.fetch (&type, &value, &traceback);
  /* Unmapping may wait for a thread that needs the interpreter's lock. */
  thread = python.save_thread ();
  tensor->deleter (tensor);
  python.restore_thread (thread);
  python.restore (type, value, traceback);
}

/**
 * gst_vkgdr_dlpack_get_capsule_destructor:
 *
 * For the Python overrides, which put a tensor of gst_vkgdr_mapping_to_dlpack()
 * into a capsule. May be called from any thread.
 *
 * Returns: (transfer none) (nullable): the address of a `PyCapsule_Destructor`
 *   that deletes the `DLManagedTensor` of a capsule named "dltensor", unless a
 *   consumer has renamed the capsule; %NULL if Python is not in the process
 *
 * Since: 0.2
 */
gpointer
gst_vkgdr_dlpack_get_capsule_destructor (void)
{
  static gsize state = 0;
  enum { FOUND = 1, ABSENT };

  if (g_once_init_enter (&state))
    g_once_init_leave (&state, find_python () ? FOUND : ABSENT);
  return state == FOUND ? (gpointer) delete_tensor : NULL;
}
