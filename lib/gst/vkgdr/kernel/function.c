/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * kernel/function.c: a function of a module, and its launch
 *
 * Finds the function, gets the sizes of its parameters from the driver, or from
 * the PTX if the driver is too old for this, and launches the function. Knows
 * nothing of the meaning of the parameters.
 */

#include <string.h>

#include "kernel/module.h"
#include "kernel/image.h"

/**
 * SECTION:gstvkgdrfunction
 * @title: GstVkgdrFunction
 * @short_description: a kernel of a module
 *
 * A #GstVkgdrFunction is a kernel with any parameters. It is found in a
 * #GstVkgdrModule by its name, and launched on a stream. It holds a reference
 * to its module.
 *
 * All functions may be called from any thread.
 *
 * Since: 0.1
 */

G_DEFINE_TYPE (GstVkgdrFunction, gst_vkgdr_function, GST_TYPE_OBJECT)

#define FUNCTION_IS_FOUND(function) \
  (GST_IS_VKGDR_FUNCTION (function) && (function)->module != NULL)

/* Keys of cuLaunchKernel()'s parameter `extra`, for arguments in one piece. */
#define EXTRA_END ((void *) 0)
#define EXTRA_POINTER ((void *) 1)
#define EXTRA_SIZE ((void *) 2)

/* Up to this number of arguments, the list is on the stack, otherwise on the
 * heap. */
#define FEW_ARGUMENTS 32

static void
gst_vkgdr_function_finalize (GObject *object)
{
  GstVkgdrFunction *self = GST_VKGDR_FUNCTION (object);

  g_clear_pointer (&self->sizes, g_array_unref);
  g_clear_pointer (&self->offsets, g_array_unref);
  gst_clear_object (&self->module);

  G_OBJECT_CLASS (gst_vkgdr_function_parent_class)->finalize (object);
}

static void
gst_vkgdr_function_class_init (GstVkgdrFunctionClass *klass)
{
  G_OBJECT_CLASS (klass)->finalize = gst_vkgdr_function_finalize;
}

static void
gst_vkgdr_function_init (GstVkgdrFunction *self)
{
}

/* --- finding ------------------------------------------------------------- */

/* Returns the mangled name of the C++ function @entry, or NULL if there is
 * none, or more than one. */
static const gchar *
find_mangled (gchar **names, const gchar *entry)
{
  gchar *prefix =
      g_strdup_printf ("_Z%" G_GSIZE_FORMAT "%s", strlen (entry), entry);
  const gchar *found = NULL;
  guint i, n_found = 0;

  for (i = 0; names && names[i]; i++)
    if (g_str_has_prefix (names[i], prefix)) {
      found = names[i];
      n_found++;
    }
  g_free (prefix);
  return n_found == 1 ? found : NULL;
}

static void
set_no_entry (
    GstVkgdrModule *self, const gchar *entry, gchar **names, GError **error)
{
  gchar *list = names ? g_strjoinv (", ", names) : NULL;

  if (names && !names[0])
    g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_NOT_FOUND,
        "%s has no kernel: no __global__ function", self->name);
  else if (entry)
    g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_NOT_FOUND,
        "%s has no kernel named \"%s\"%s%s", self->name, entry,
        list ? "; it has: " : "", list ? list : "");
  else
    g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_NOT_FOUND,
        "%s %s%s: set entry= to the one to run", self->name,
        list ? "has several kernels: " : "does not list its kernels",
        list ? list : "");
  g_free (list);
}

static gboolean
find_function (GstVkgdrFunction *self, const gchar *entry, GError **error)
{
  const vkgdr_cuda *cuda = gst_vkgdr_context_get_driver (self->context);
  GstVkgdrModule *module = self->module;
  gchar **names = module->names;
  CUresult result;

  if (!entry && names && names[0] && !names[1])
    entry = names[0];
  if (!entry) {
    set_no_entry (module, NULL, names, error);
    return FALSE;
  }

  result = cuda->cuModuleGetFunction (&self->function, module->handle, entry);
  if (result == CUDA_ERROR_NOT_FOUND) {
    const gchar *mangled = find_mangled (names, entry);

    if (!mangled) {
      set_no_entry (module, entry, names, error);
      return FALSE;
    }
    entry = mangled;
    result = cuda->cuModuleGetFunction (&self->function, module->handle, entry);
  }
  if (!gst_vkgdr_check (cuda, result, "cuModuleGetFunction", error))
    return FALSE;
  /* Interned, because launches may outlive the function. */
  self->entry = g_intern_string (entry);
  return TRUE;
}

/* The driver returns CUDA_ERROR_INVALID_VALUE for the index after the last
 * parameter. For any other error, returns FALSE with @error set. */
static gboolean
read_sizes (GstVkgdrFunction *self, GError **error)
{
  const vkgdr_cuda *cuda = gst_vkgdr_context_get_driver (self->context);
  size_t offset, bytes;
  CUresult result;
  gsize value;

  self->offsets = g_array_new (FALSE, FALSE, sizeof (gsize));
  if (!cuda->cuFuncGetParamInfo) {
    if (self->module->ptx)
      self->sizes = gst_vkgdr_image_read_ptx_params (
          self->module->ptx, self->entry, self->offsets);
    return TRUE;
  }
  self->sizes = g_array_new (FALSE, FALSE, sizeof (gsize));
  while ((result = cuda->cuFuncGetParamInfo (
              self->function, self->sizes->len, &offset, &bytes))
         == CUDA_SUCCESS) {
    value = bytes;
    g_array_append_val (self->sizes, value);
    value = offset;
    g_array_append_val (self->offsets, value);
  }
  return result == CUDA_ERROR_INVALID_VALUE
         || gst_vkgdr_context_check (
             self->context, result, "cuFuncGetParamInfo", error);
}

static void
read_max_threads (GstVkgdrFunction *self)
{
  const vkgdr_cuda *cuda = gst_vkgdr_context_get_driver (self->context);
  CUresult result;
  int max = 0;

  result = cuda->cuFuncGetAttribute (
      &max, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, self->function);
  if (result == CUDA_SUCCESS && max > 0)
    self->max_threads = max;
}

static void
choose_threads (GstVkgdrFunction *self)
{
  const vkgdr_cuda *cuda = gst_vkgdr_context_get_driver (self->context);
  int grid = 0, block = 0;
  CUresult result;

  result = cuda->cuOccupancyMaxPotentialBlockSize (
      &grid, &block, self->function, NULL, 0, GST_VKGDR_FUNCTION_GOOD_THREADS);
  self->good_threads = result == CUDA_SUCCESS && block > 0
                           ? (guint) block
                           : GST_VKGDR_FUNCTION_GOOD_THREADS;
  if (self->max_threads > 0)
    self->good_threads = MIN (self->good_threads, self->max_threads);
}

/* Must be called with the context pushed. */
static GstVkgdrFunction *
find (GstVkgdrModule *module, const gchar *entry, GError **error)
{
  GstVkgdrFunction *self = g_object_new (GST_TYPE_VKGDR_FUNCTION, NULL);

  gst_object_ref_sink (self);
  self->module = gst_object_ref (module);
  self->context = module->context;
  self->name = module->name;
  if (!find_function (self, entry && *entry ? entry : NULL, error)
      || !read_sizes (self, error)) {
    gst_object_unref (self);
    return NULL;
  }
  read_max_threads (self);
  choose_threads (self);
  return self;
}

/**
 * gst_vkgdr_module_get_function:
 * @module: a module
 * @entry: (nullable): a function's name, or %NULL for the only one
 * @error: return location for a #GError
 *
 * Finds a kernel. A C++ function is also found by its name without mangling, if
 * no other function has that name.
 *
 * Returns: (transfer full) (nullable): the function, which holds a reference to
 *   the module, or %NULL with @error set: %GST_VKGDR_ERROR_NOT_FOUND if there
 *   is no such function; the message then lists the functions of the module, if
 *   they are known
 *
 * Since: 0.1
 */
GstVkgdrFunction *
gst_vkgdr_module_get_function (
    GstVkgdrModule *module, const gchar *entry, GError **error)
{
  GstVkgdrFunction *self;

  g_return_val_if_fail (GST_IS_VKGDR_MODULE (module), NULL);
  g_return_val_if_fail (module->context != NULL, NULL);

  if (!gst_vkgdr_context_push (module->context, error))
    return NULL;
  self = find (module, entry, error);
  gst_vkgdr_context_pop (module->context);
  return self;
}

GstVkgdrFunction *
gst_vkgdr_function_load (GstVkgdrContext *context, GBytes *image,
    const gchar *name, const gchar *entry, GError **error)
{
  GstVkgdrFunction *self = NULL;
  GstVkgdrModule *module;
  gboolean ok;

  if (!gst_vkgdr_module_check_image (image, name, error)
      || !gst_vkgdr_module_can_load (context, error)
      || !gst_vkgdr_context_push (context, error))
    return NULL;
  module = gst_vkgdr_module_load (context, image, name, &ok, error);
  if (ok)
    self = find (module, entry, error);
  gst_vkgdr_context_pop (context);
  gst_object_unref (module);
  return self;
}

/* --- launches ------------------------------------------------------------ */

static gboolean
check_launch (GstVkgdrFunction *self, CUresult result, const guint block[3],
    GError **error)
{
  gchar *what;

  if (result == CUDA_SUCCESS)
    return TRUE;
  if (result == CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES)
    what = g_strdup_printf (
        "cuLaunchKernel (%s with blocks of %u threads: set a smaller block)",
        self->entry, block[0] * block[1] * block[2]);
  else
    what = g_strdup_printf ("cuLaunchKernel (%s)", self->entry);
  gst_vkgdr_context_check (self->context, result, what, error);
  g_free (what);
  return FALSE;
}

gboolean
gst_vkgdr_function_launch_raw (GstVkgdrFunction *self, GstVkgdrStream *stream,
    const guint grid[3], const guint block[3], guint shared, void **arguments,
    void **extra, GError **error)
{
  const vkgdr_cuda *cuda = gst_vkgdr_context_get_driver (self->context);
  GstVkgdrFence *launch;
  CUresult result;
  gboolean ok;

  if (!gst_vkgdr_context_push (self->context, error))
    return FALSE;
  launch = gst_vkgdr_launch_begin (stream, self->entry, error);
  ok = launch != NULL;
  if (ok) {
    result = cuda->cuLaunchKernel (self->function, grid[0], grid[1], grid[2],
        block[0], block[1], block[2], shared,
        gst_vkgdr_stream_peek_handle (stream), arguments, extra);
    ok = check_launch (self, result, block, error);
    ok = gst_vkgdr_launch_end (launch, ok, error);
  }
  gst_vkgdr_context_pop (self->context);
  return ok;
}

static gboolean
check_arguments (GstVkgdrFunction *self, gsize size, GError **error)
{
  guint n = self->sizes ? self->sizes->len : 0;
  gsize needed = 0;

  if (n > 0)
    needed = g_array_index (self->offsets, gsize, n - 1)
             + g_array_index (self->sizes, gsize, n - 1);
  if (!self->sizes || size == needed)
    return TRUE;
  g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_ARGUMENT,
      "the %u arguments of \"%s\" have %" G_GSIZE_FORMAT
      " bytes together, but %" G_GSIZE_FORMAT " bytes are given",
      n, self->entry, needed, size);
  return FALSE;
}

static gboolean
check_shape (GstVkgdrFunction *self, const guint grid[3], const guint block[3],
    GError **error)
{
  guint64 threads = (guint64) block[0] * block[1];
  guint max = self->max_threads ? self->max_threads : 1024;

  if (grid[0] == 0 || grid[1] == 0 || grid[2] == 0 || threads == 0
      || block[2] == 0) {
    g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_ARGUMENT,
        "a launch of \"%s\" has no threads: no number of its grid and block "
        "can be 0",
        self->entry);
    return FALSE;
  }
  if (threads <= max && threads * block[2] <= max)
    return TRUE;
  g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_ARGUMENT,
      "a block of %ux%ux%u threads is too large: \"%s\" can have %u at the "
      "most on this device",
      block[0], block[1], block[2], self->entry, max);
  return FALSE;
}

/* Launches a function whose parameters have unknown sizes: the driver gets the
 * arguments in one piece. */
static gboolean
launch_packed (GstVkgdrFunction *self, GstVkgdrStream *stream,
    const guint grid[3], const guint block[3], guint shared, guint8 *arguments,
    gsize size, GError **error)
{
  void *extra[] = { EXTRA_POINTER, arguments, EXTRA_SIZE, &size, EXTRA_END };

  return gst_vkgdr_function_launch_raw (
      self, stream, grid, block, shared, NULL, extra, error);
}

static gboolean
launch_listed (GstVkgdrFunction *self, GstVkgdrStream *stream,
    const guint grid[3], const guint block[3], guint shared, guint8 *arguments,
    GError **error)
{
  void *few[FEW_ARGUMENTS], **list = few;
  guint i, n = self->sizes->len;
  gboolean ok;

  if (n > FEW_ARGUMENTS)
    list = g_new (void *, n);
  for (i = 0; i < n; i++)
    list[i] = arguments + g_array_index (self->offsets, gsize, i);
  ok = gst_vkgdr_function_launch_raw (
      self, stream, grid, block, shared, list, NULL, error);
  if (list != few)
    g_free (list);
  return ok;
}

/**
 * gst_vkgdr_function_launch:
 * @function: a function
 * @stream: a stream of its context
 * @grid_x: blocks in x
 * @grid_y: blocks in y
 * @grid_z: blocks in z
 * @block_x: threads of a block in x
 * @block_y: threads of a block in y
 * @block_z: threads of a block in z
 * @shared: bytes of dynamic shared memory of a block
 * @arguments: (array length=size) (nullable): the arguments, laid out as in a C
 *   structure
 * @size: the size of @arguments in bytes; they are copied
 * @error: return location for a #GError
 *
 * Queues a launch on @stream, and does not wait for it. The caller has to order
 * it with other work: it must call gst_vkgdr_memory_begin_access() before this
 * function and gst_vkgdr_memory_end_access() after it, for each memory that the
 * kernel uses.
 *
 * Returns: %FALSE with @error set if the arguments or the block do not fit
 *   (%GST_VKGDR_ERROR_ARGUMENT), or if the launch failed
 *   (%GST_VKGDR_ERROR_FAILED). Errors of the running kernel are reported by a
 *   later call
 *
 * Since: 0.1
 */
gboolean
gst_vkgdr_function_launch (GstVkgdrFunction *function, GstVkgdrStream *stream,
    guint grid_x, guint grid_y, guint grid_z, guint block_x, guint block_y,
    guint block_z, guint shared, const guint8 *arguments, gsize size,
    GError **error)
{
  const guint grid[3] = { grid_x, grid_y, grid_z };
  const guint block[3] = { block_x, block_y, block_z };
  guint8 *packed = (guint8 *) arguments;

  g_return_val_if_fail (FUNCTION_IS_FOUND (function), FALSE);
  g_return_val_if_fail (GST_IS_VKGDR_STREAM (stream), FALSE);

  if (!gst_vkgdr_context_shares (
          gst_vkgdr_stream_get_context (stream), function->context)) {
    g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_ARGUMENT,
        "the stream belongs to another CUDA context than \"%s\"",
        function->entry);
    return FALSE;
  }
  if (!check_arguments (function, size, error)
      || !check_shape (function, grid, block, error))
    return FALSE;
  if (function->sizes)
    return launch_listed (function, stream, grid, block, shared, packed, error);
  return launch_packed (
      function, stream, grid, block, shared, packed, size, error);
}
