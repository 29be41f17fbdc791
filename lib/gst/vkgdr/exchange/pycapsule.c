/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * exchange/pycapsule.c: deletes a DLPack tensor that no consumer has taken over
 *
 * Python hands tensors on in capsules. A capsule that is deleted while an
 * exception is on its way, because its consumer refused it, must not run code
 * in Python: the exception would be lost, and the tensor kept for ever. So the
 * destructor of the capsule is here. It is the one file that knows Python,
 * whose functions it finds in the process: nothing is linked. Must not know
 * what is in a tensor.
 */

#include <dlfcn.h>
#include <dlpack/dlpack.h>

#include <gst/vkgdr/gstvkgdrdlpack.h>

/* The name of a capsule whose tensor nobody has taken over. */
#define CAPSULE_NAME "dltensor"

/* Python's functions, with its objects as plain pointers. */
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

/* Called by Python, with its interpreter's lock held. */
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
 * For Python's overrides, which put a tensor of gst_vkgdr_mapping_to_dlpack()
 * into a capsule. May be called from any thread.
 *
 * Returns: (transfer none) (nullable): the address of a `PyCapsule_Destructor`
 *   that deletes the `DLManagedTensor` of a capsule named "dltensor", unless a
 *   consumer has renamed the capsule; %NULL where the process has no Python
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
