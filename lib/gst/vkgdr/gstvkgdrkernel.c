/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * gstvkgdrkernel.c: a CUDA kernel that works on video frames
 *
 * Loads an image, finds the entry, checks what it is called with and launches
 * it. Knows nothing of elements, nor of what its frames are ordered with.
 */

#include <string.h>

#include "gstvkgdrcompiler.h"
#include "gstvkgdrframe.h"
#include "gstvkgdrimage.h"
#include "gstvkgdrprivate.h"

/**
 * SECTION:gstvkgdrkernel
 * @title: GstVkgdrKernel
 * @short_description: a CUDA kernel that works on video frames
 *
 * A #GstVkgdrKernel is a function of a CUDA source or of a compiled image. Its
 * first two parameters are `VkgdrFrame in, VkgdrFrame out`, as vkgdr/kernel.h
 * declares them; that header also says how sources are compiled, and what
 * further parameters may be.
 *
 * A kernel does not change once it is made, and may be run from any thread, on
 * several streams at once.
 */

GST_DEBUG_CATEGORY_STATIC (gst_vkgdr_kernel_debug);
#define GST_CAT_DEFAULT gst_vkgdr_kernel_debug

/* The parameters that are frames: in and out. */
#define KERNEL_N_FRAMES 2
/* Threads of a block: rows of a warp's width, so that a warp's accesses lie
 * side by side, and enough of them to fill a multiprocessor with few blocks. */
#define KERNEL_BLOCK_WIDTH 32
#define KERNEL_BLOCK_HEIGHT 8
/* What CUDA allows at most, in bytes, for all parameters of a kernel together.
 * Where the sizes of parameters are not known, every argument is followed by as
 * many zero bytes, so that the driver cannot read beyond them. */
#define KERNEL_MAX_PARAM_BYTES 32768
/* Bytes of the largest value that a field of params can hold. */
#define KERNEL_VALUE_SIZE 8
/* The driver's log of an image that it refuses. */
#define KERNEL_LOG_SIZE 8192

struct _GstVkgdrKernel {
  GstObject parent;

  GstVkgdrContext *context;
  CUmodule module;
  CUfunction function;
  gchar *name;
  gchar *entry;
  /* gsize each, the frames included; NULL where there is no telling. */
  GArray *sizes;
  guint block_width, block_height;
};

G_DEFINE_TYPE_WITH_CODE (GstVkgdrKernel, gst_vkgdr_kernel, GST_TYPE_OBJECT,
    GST_DEBUG_CATEGORY_INIT (
        gst_vkgdr_kernel_debug, "vkgdrkernel", 0, "vkgdr kernels"))

static void
gst_vkgdr_kernel_finalize (GObject *object)
{
  GstVkgdrKernel *self = GST_VKGDR_KERNEL (object);

  if (self->module && gst_vkgdr_context_push (self->context, NULL)) {
    gst_vkgdr_context_get_driver (self->context)->cuModuleUnload (self->module);
    gst_vkgdr_context_pop (self->context);
  }
  gst_clear_object (&self->context);
  g_clear_pointer (&self->sizes, g_array_unref);
  g_free (self->name);
  g_free (self->entry);

  G_OBJECT_CLASS (gst_vkgdr_kernel_parent_class)->finalize (object);
}

static void
gst_vkgdr_kernel_class_init (GstVkgdrKernelClass *klass)
{
  G_OBJECT_CLASS (klass)->finalize = gst_vkgdr_kernel_finalize;
}

static void
gst_vkgdr_kernel_init (GstVkgdrKernel *self)
{
}

static const vkgdr_cuda *
kernel_get_driver (GstVkgdrKernel *self)
{
  return gst_vkgdr_context_get_driver (self->context);
}

/* --- loading ------------------------------------------------------------- */

/* Results that blame the image rather than the device or the call. */
static gboolean
kernel_is_image_error (CUresult result)
{
  return result == CUDA_ERROR_INVALID_IMAGE
         || result == CUDA_ERROR_NO_BINARY_FOR_GPU
         || (result >= CUDA_ERROR_INVALID_PTX && result < 300)
         || result == CUDA_ERROR_INVALID_SOURCE
         || result == CUDA_ERROR_FILE_NOT_FOUND;
}

static void
kernel_set_image_error (
    GstVkgdrKernel *self, CUresult result, const gchar *log, GError **error)
{
  gint capability = gst_vkgdr_compiler_get_capability (self->context);
  const vkgdr_cuda *cuda = kernel_get_driver (self);
  const char *name = NULL, *text = NULL;

  cuda->cuGetErrorName (result, &name);
  cuda->cuGetErrorString (result, &text);
  g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_IMAGE,
      "%s cannot be loaded: %s (%s); the device has compute capability "
      "%d.%d%s%s",
      self->name, name ? name : "unknown CUDA error", text ? text : "no text",
      capability / 10, capability % 10, *log ? "\n" : "", log);
}

/* @image ends with a zero byte. */
static gboolean
kernel_load_module (GstVkgdrKernel *self, const gchar *image, GError **error)
{
  gchar log[KERNEL_LOG_SIZE] = "";
  CUjit_option options[] = { CU_JIT_ERROR_LOG_BUFFER,
    CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES };
  void *values[] = { log, GSIZE_TO_POINTER (sizeof (log) - 1) };
  CUresult result;

  result = kernel_get_driver (self)->cuModuleLoadDataEx (
      &self->module, image, G_N_ELEMENTS (options), options, values);
  if (result == CUDA_SUCCESS)
    return TRUE;

  self->module = NULL;
  g_strchomp (log);
  if (kernel_is_image_error (result))
    kernel_set_image_error (self, result, log, error);
  else
    gst_vkgdr_check (
        kernel_get_driver (self), result, "cuModuleLoadDataEx", error);
  return FALSE;
}

static gboolean
kernel_driver_tells_names (const vkgdr_cuda *cuda)
{
  return cuda->cuModuleGetFunctionCount && cuda->cuModuleEnumerateFunctions
         && cuda->cuFuncGetName;
}

static gchar **
kernel_list_module_entries (GstVkgdrKernel *self)
{
  const vkgdr_cuda *cuda = kernel_get_driver (self);
  GPtrArray *names = g_ptr_array_new ();
  CUfunction *functions;
  unsigned int i, n = 0;
  const char *name;

  if (cuda->cuModuleGetFunctionCount (&n, self->module) != CUDA_SUCCESS)
    n = 0;
  functions = g_new0 (CUfunction, n + 1);
  if (n > 0
      && cuda->cuModuleEnumerateFunctions (functions, n, self->module)
             == CUDA_SUCCESS)
    for (i = 0; i < n; i++)
      if (cuda->cuFuncGetName (&name, functions[i]) == CUDA_SUCCESS && name)
        g_ptr_array_add (names, g_strdup (name));
  g_free (functions);

  g_ptr_array_add (names, NULL);
  return (gchar **) g_ptr_array_free (names, FALSE);
}

/* NULL where there is no telling: an old driver, and no PTX to look into. */
static gchar **
kernel_list_entries (GstVkgdrKernel *self, const gchar *ptx)
{
  if (kernel_driver_tells_names (kernel_get_driver (self)))
    return kernel_list_module_entries (self);
  return ptx ? gst_vkgdr_image_list_ptx_entries (ptx) : NULL;
}

/* The one of @names that C++ makes of @entry, or NULL. */
static const gchar *
kernel_find_mangled (gchar **names, const gchar *entry)
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
kernel_set_no_entry (
    GstVkgdrKernel *self, const gchar *entry, gchar **names, GError **error)
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
        list ? "has several kernels: " : "does not tell its kernels",
        list ? list : "");
  g_free (list);
}

static gboolean
kernel_find_function (
    GstVkgdrKernel *self, const gchar *entry, gchar **names, GError **error)
{
  const vkgdr_cuda *cuda = kernel_get_driver (self);
  CUresult result;

  if (!entry && names && names[0] && !names[1])
    entry = names[0];
  if (!entry) {
    kernel_set_no_entry (self, NULL, names, error);
    return FALSE;
  }

  result = cuda->cuModuleGetFunction (&self->function, self->module, entry);
  if (result == CUDA_ERROR_NOT_FOUND) {
    const gchar *mangled = kernel_find_mangled (names, entry);

    if (!mangled) {
      kernel_set_no_entry (self, entry, names, error);
      return FALSE;
    }
    entry = mangled;
    result = cuda->cuModuleGetFunction (&self->function, self->module, entry);
  }
  if (!gst_vkgdr_check (cuda, result, "cuModuleGetFunction", error))
    return FALSE;
  self->entry = g_strdup (entry);
  return TRUE;
}

static void
kernel_read_sizes (GstVkgdrKernel *self, const gchar *ptx)
{
  const vkgdr_cuda *cuda = kernel_get_driver (self);
  size_t offset, bytes;
  gsize size;

  if (!cuda->cuFuncGetParamInfo) {
    if (ptx)
      self->sizes = gst_vkgdr_image_read_ptx_params (ptx, self->entry);
    return;
  }
  self->sizes = g_array_new (FALSE, FALSE, sizeof (gsize));
  while (cuda->cuFuncGetParamInfo (
             self->function, self->sizes->len, &offset, &bytes)
         == CUDA_SUCCESS) {
    size = bytes;
    g_array_append_val (self->sizes, size);
  }
}

static gsize
kernel_get_size (GstVkgdrKernel *self, guint index)
{
  return g_array_index (self->sizes, gsize, index);
}

static gboolean
kernel_check_frames (GstVkgdrKernel *self, GError **error)
{
  gchar *what;
  guint i;

  if (!self->sizes) {
    GST_WARNING_OBJECT (self,
        "%s of %s: neither driver nor image tell its parameters, they cannot "
        "be checked",
        self->entry, self->name);
    return TRUE;
  }
  for (i = 0; i < KERNEL_N_FRAMES; i++)
    if (i >= self->sizes->len
        || kernel_get_size (self, i) != sizeof (VkgdrFrame))
      break;
  if (i == KERNEL_N_FRAMES)
    return TRUE;
  what = i < self->sizes->len ? g_strdup_printf (
             "has %" G_GSIZE_FORMAT " bytes", kernel_get_size (self, i))
                              : g_strdup ("is missing");
  g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_ARGUMENT,
      "Kernel \"%s\" of %s: its first two parameters have to be VkgdrFrame in, "
      "VkgdrFrame out (%" G_GSIZE_FORMAT
      " bytes each, see vkgdr/kernel.h), but parameter %u %s",
      self->entry, self->name, sizeof (VkgdrFrame), i + 1, what);
  g_free (what);
  return FALSE;
}

static void
kernel_choose_block (GstVkgdrKernel *self)
{
  int max = 0;

  self->block_width = KERNEL_BLOCK_WIDTH;
  self->block_height = KERNEL_BLOCK_HEIGHT;
  if (kernel_get_driver (self)->cuFuncGetAttribute (
          &max, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, self->function)
          != CUDA_SUCCESS
      || max <= 0)
    return;
  while (self->block_height > 1
         && self->block_width * self->block_height > (guint) max)
    self->block_height /= 2;
  self->block_width = MIN (self->block_width, (guint) max);
}

/* With the context pushed. @ptx is NULL unless @image is PTX. */
static gboolean
kernel_load (GstVkgdrKernel *self, const gchar *image, const gchar *ptx,
    const gchar *entry, GError **error)
{
  gchar **names;
  gboolean found;

  if (!kernel_load_module (self, image, error))
    return FALSE;
  names = kernel_list_entries (self, ptx);
  found = kernel_find_function (self, entry, names, error);
  g_strfreev (names);
  if (!found)
    return FALSE;
  kernel_read_sizes (self, ptx);
  if (!kernel_check_frames (self, error))
    return FALSE;
  kernel_choose_block (self);
  return TRUE;
}

/**
 * gst_vkgdr_kernel_new_from_image:
 * @context: a context
 * @image: PTX text, a cubin or a fatbin
 * @name: (nullable): what messages call the image
 * @entry: (nullable): the kernel's name, or %NULL for the only one
 * @error: return location for a #GError
 *
 * Loads a kernel from what a compiler made. The image is copied.
 *
 * Fails with %GST_VKGDR_ERROR_IMAGE where it does not fit the device, with
 * %GST_VKGDR_ERROR_NOT_FOUND where it has no such kernel, or several and @entry
 * is %NULL, and with %GST_VKGDR_ERROR_ARGUMENT where the kernel's first two
 * parameters are not `VkgdrFrame`.
 *
 * Returns: (transfer full) (nullable): the kernel, or %NULL with @error set
 *
 * Since: 0.1
 */
GstVkgdrKernel *
gst_vkgdr_kernel_new_from_image (GstVkgdrContext *context, GBytes *image,
    const gchar *name, const gchar *entry, GError **error)
{
  GstVkgdrKernel *self;
  gboolean ok;
  gchar *copy;
  gsize size;

  g_return_val_if_fail (GST_IS_VKGDR_CONTEXT (context), NULL);
  g_return_val_if_fail (image != NULL, NULL);

  self = g_object_new (GST_TYPE_VKGDR_KERNEL, NULL);
  gst_object_ref_sink (self);
  self->context = gst_object_ref (context);
  self->name = g_strdup (name ? name : "The image");

  if (!gst_vkgdr_image_is_complete (image)) {
    g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_IMAGE,
        "%s cannot be loaded: it is truncated or damaged", self->name);
    gst_object_unref (self);
    return NULL;
  }
  if (!gst_vkgdr_context_push (context, error)) {
    gst_object_unref (self);
    return NULL;
  }
  size = g_bytes_get_size (image);
  copy = g_malloc0 (size + 1);
  if (size > 0)
    memcpy (copy, g_bytes_get_data (image, NULL), size);
  ok = kernel_load (self, copy,
      gst_vkgdr_image_get_kind (image) == GST_VKGDR_IMAGE_PTX ? copy : NULL,
      entry && *entry ? entry : NULL, error);
  g_free (copy);
  gst_vkgdr_context_pop (context);

  if (!ok) {
    gst_object_unref (self);
    return NULL;
  }
  GST_INFO_OBJECT (self, "kernel %s of %s", self->entry, self->name);
  return self;
}

static GstVkgdrKernel *
kernel_new_from_source (GstVkgdrContext *context, const gchar *source,
    const gchar *name, const gchar *folder, const gchar *entry, GError **error)
{
  const vkgdr_cuda *cuda = gst_vkgdr_context_get_driver (context);
  /* Where the driver does not tell names and sizes, PTX does. */
  gboolean ptx = !kernel_driver_tells_names (cuda) || !cuda->cuFuncGetParamInfo;
  GstVkgdrKernel *self;
  GBytes *image;

  image = gst_vkgdr_compile (context, source, name, folder, ptx, error);
  if (!image)
    return NULL;
  self = gst_vkgdr_kernel_new_from_image (context, image, name, entry, error);
  g_bytes_unref (image);
  return self;
}

/**
 * gst_vkgdr_kernel_new_from_source:
 * @context: a context
 * @source: CUDA C++ source
 * @name: (nullable): what messages call the source
 * @entry: (nullable): the kernel's name, or %NULL for the only one
 * @error: return location for a #GError
 *
 * Compiles a kernel. `vkgdr/kernel.h` is included in front of the source. What
 * was compiled is kept on disk and taken from there the next time, unless the
 * source includes headers of its own; VKGDR_CACHE_DIR names the folder.
 *
 * Fails with %GST_VKGDR_ERROR_COMPILE and the compiler's log where the source
 * does not compile, with %GST_VKGDR_ERROR_NO_DRIVER where there is no compiler,
 * and as gst_vkgdr_kernel_new_from_image() does.
 *
 * Returns: (transfer full) (nullable): the kernel, or %NULL with @error set
 *
 * Since: 0.1
 */
GstVkgdrKernel *
gst_vkgdr_kernel_new_from_source (GstVkgdrContext *context, const gchar *source,
    const gchar *name, const gchar *entry, GError **error)
{
  g_return_val_if_fail (GST_IS_VKGDR_CONTEXT (context), NULL);
  g_return_val_if_fail (source != NULL, NULL);

  return kernel_new_from_source (
      context, source, name ? name : "The source", NULL, entry, error);
}

/* What gst_vkgdr_kernel_new_from_file() makes of the file's content. */
static GstVkgdrKernel *
kernel_new_from_content (GstVkgdrContext *context, GBytes *content,
    const gchar *path, const gchar *entry, GError **error)
{
  GstVkgdrKernel *self;
  gchar *folder, *source;

  switch (gst_vkgdr_image_get_kind (content)) {
  case GST_VKGDR_IMAGE_UNKNOWN:
    g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_IMAGE,
        "%s is neither CUDA source, PTX, cubin nor fatbin", path);
    return NULL;
  case GST_VKGDR_IMAGE_SOURCE:
    folder = g_path_get_dirname (path);
    source = g_strndup (
        g_bytes_get_data (content, NULL), g_bytes_get_size (content));
    self = kernel_new_from_source (context, source, path, folder, entry, error);
    g_free (source);
    g_free (folder);
    return self;
  default:
    return gst_vkgdr_kernel_new_from_image (
        context, content, path, entry, error);
  }
}

/**
 * gst_vkgdr_kernel_new_from_file:
 * @context: a context
 * @path: (type filename): a file of CUDA source, PTX, a cubin or a fatbin
 * @entry: (nullable): the kernel's name, or %NULL for the only one
 * @error: return location for a #GError
 *
 * Loads a kernel from a file. Its content tells what it is, not its name.
 * Headers that a source includes are sought beside it.
 *
 * Fails with %GST_VKGDR_ERROR_NOT_FOUND where the file cannot be read, with
 * %GST_VKGDR_ERROR_IMAGE where it is none of these, and as
 * gst_vkgdr_kernel_new_from_source() and gst_vkgdr_kernel_new_from_image() do.
 *
 * Returns: (transfer full) (nullable): the kernel, or %NULL with @error set
 *
 * Since: 0.1
 */
GstVkgdrKernel *
gst_vkgdr_kernel_new_from_file (GstVkgdrContext *context, const gchar *path,
    const gchar *entry, GError **error)
{
  GError *reason = NULL;
  GstVkgdrKernel *self;
  GBytes *content;
  gchar *data;
  gsize size;

  g_return_val_if_fail (GST_IS_VKGDR_CONTEXT (context), NULL);
  g_return_val_if_fail (path != NULL, NULL);

  if (!g_file_get_contents (path, &data, &size, &reason)) {
    g_set_error_literal (
        error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_NOT_FOUND, reason->message);
    g_error_free (reason);
    return NULL;
  }
  content = g_bytes_new_take (data, size);
  self = kernel_new_from_content (context, content, path, entry, error);
  g_bytes_unref (content);
  return self;
}

/**
 * gst_vkgdr_kernel_get_entry:
 * @kernel: a kernel
 *
 * Returns: (transfer none): the name of its function as the module has it,
 *   which for C++ linkage is the mangled one
 *
 * Since: 0.1
 */
const gchar *
gst_vkgdr_kernel_get_entry (GstVkgdrKernel *kernel)
{
  g_return_val_if_fail (GST_IS_VKGDR_KERNEL (kernel), NULL);

  return kernel->entry;
}

/**
 * gst_vkgdr_kernel_get_param_sizes:
 * @kernel: a kernel
 * @n_params: (out): how many there are
 *
 * The sizes in bytes of the parameters behind the two frames.
 *
 * Returns: (transfer full) (nullable) (array length=n_params): the sizes, which
 *   the caller frees with g_free(), or %NULL where there are none, or where
 *   neither the driver (before CUDA 12.4) nor the image tells
 *
 * Since: 0.1
 */
gsize *
gst_vkgdr_kernel_get_param_sizes (GstVkgdrKernel *kernel, guint *n_params)
{
  guint n;

  g_return_val_if_fail (GST_IS_VKGDR_KERNEL (kernel), NULL);
  g_return_val_if_fail (n_params != NULL, NULL);

  n = kernel->sizes ? kernel->sizes->len - KERNEL_N_FRAMES : 0;
  *n_params = n;
  if (n == 0)
    return NULL;
  return g_memdup2 (&g_array_index (kernel->sizes, gsize, KERNEL_N_FRAMES),
      n * sizeof (gsize));
}

/* --- further parameters -------------------------------------------------- */

/* How a value of params travels: as an integer or as a floating-point number,
 * of @size bytes where nothing else is asked for. */
typedef struct {
  gboolean is_real;
  gsize size;
  gint64 integer;
  gdouble real;
} KernelValue;

/* FALSE where the type is none that a kernel can be given. */
static gboolean
kernel_value_read (KernelValue *self, const GValue *value)
{
  GType type = G_TYPE_FUNDAMENTAL (G_VALUE_TYPE (value));

  memset (self, 0, sizeof (*self));
  self->size = 4;
  if (type == G_TYPE_INT)
    self->integer = g_value_get_int (value);
  else if (type == G_TYPE_UINT)
    self->integer = g_value_get_uint (value);
  else if (type == G_TYPE_ENUM)
    self->integer = g_value_get_enum (value);
  else if (type == G_TYPE_FLAGS)
    self->integer = g_value_get_flags (value);
  else if (type == G_TYPE_BOOLEAN)
    self->integer = g_value_get_boolean (value) ? 1 : 0;
  else if (type == G_TYPE_INT64 || type == G_TYPE_UINT64) {
    self->size = 8;
    self->integer = type == G_TYPE_INT64 ? g_value_get_int64 (value)
                                         : (gint64) g_value_get_uint64 (value);
  } else if (type == G_TYPE_FLOAT || type == G_TYPE_DOUBLE) {
    self->is_real = TRUE;
    self->size = type == G_TYPE_FLOAT ? 4 : 8;
    self->real = type == G_TYPE_FLOAT ? (gdouble) g_value_get_float (value)
                                      : g_value_get_double (value);
  } else
    return FALSE;
  return TRUE;
}

/* Whether a parameter of @size bytes can take it: a real number as float or
 * double, an integer as any that is as wide, or wider, or that holds it. */
static gboolean
kernel_value_fits (const KernelValue *self, gsize size)
{
  gint64 limit;

  if (self->is_real)
    return size == 4 || size == 8;
  if (size == self->size || (self->size == 4 && size == 8))
    return TRUE;
  if (self->size != 4 || (size != 1 && size != 2))
    return FALSE;
  limit = (gint64) 1 << (8 * size);
  return self->integer >= -limit / 2 && self->integer < limit;
}

/* Little endian, as every machine with a CUDA driver is. */
static void
kernel_value_write (const KernelValue *self, gsize size, guint8 *slot)
{
  gfloat narrow = (gfloat) self->real;

  if (!self->is_real)
    memcpy (slot, &self->integer, size);
  else if (size == 4)
    memcpy (slot, &narrow, size);
  else
    memcpy (slot, &self->real, size);
}

static gboolean
kernel_check_count (GstVkgdrKernel *self, guint given, GError **error)
{
  guint wanted;

  if (!self->sizes)
    return TRUE;
  wanted = self->sizes->len - KERNEL_N_FRAMES;
  if (given == wanted)
    return TRUE;
  g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_ARGUMENT,
      "Kernel \"%s\" takes %u parameter%s behind its frames, but params has %u",
      self->entry, wanted, wanted == 1 ? "" : "s", given);
  return FALSE;
}

/* Writes field @index of @params to @slot, of KERNEL_VALUE_SIZE bytes. */
static gboolean
kernel_pack_param (GstVkgdrKernel *self, const GstStructure *params,
    guint index, guint8 *slot, GError **error)
{
  const gchar *field = gst_structure_nth_field_name (params, index);
  const GValue *value = gst_structure_get_value (params, field);
  KernelValue v;
  gsize size;

  if (!kernel_value_read (&v, value)) {
    g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_ARGUMENT,
        "Parameter %u (%s) of kernel \"%s\" cannot be a %s: only numbers and "
        "booleans can be given",
        index + 1, field, self->entry, G_VALUE_TYPE_NAME (value));
    return FALSE;
  }
  size = self->sizes ? kernel_get_size (self, KERNEL_N_FRAMES + index) : v.size;
  if (!kernel_value_fits (&v, size)) {
    g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_ARGUMENT,
        "Parameter %u (%s) of kernel \"%s\" has %" G_GSIZE_FORMAT
        " bytes, but the %s that is given has %" G_GSIZE_FORMAT
        " and does not fit",
        index + 1, field, self->entry, size, G_VALUE_TYPE_NAME (value), v.size);
    return FALSE;
  }
  kernel_value_write (&v, size, slot);
  return TRUE;
}

/* @slots has KERNEL_VALUE_SIZE bytes a field. */
static gboolean
kernel_pack_params (GstVkgdrKernel *self, const GstStructure *params,
    guint8 *slots, GError **error)
{
  guint i, n = params ? gst_structure_n_fields (params) : 0;

  if (!kernel_check_count (self, n, error))
    return FALSE;
  for (i = 0; i < n; i++)
    if (!kernel_pack_param (
            self, params, i, slots + i * KERNEL_VALUE_SIZE, error))
      return FALSE;
  return TRUE;
}

/**
 * gst_vkgdr_kernel_check_params:
 * @kernel: a kernel
 * @params: (nullable): the arguments behind the frames
 * @error: return location for a #GError
 *
 * Checks number, types and sizes of the fields of @params, which are the
 * kernel's further arguments in their order; their names serve messages alone.
 * vkgdr/kernel.h has the table of what fits what. The driver knows sizes and
 * not types: an integer given for a float cannot be told from a right one.
 *
 * Returns: whether the kernel can be run with them; else %FALSE with @error set
 *   to %GST_VKGDR_ERROR_ARGUMENT
 *
 * Since: 0.1
 */
gboolean
gst_vkgdr_kernel_check_params (
    GstVkgdrKernel *kernel, const GstStructure *params, GError **error)
{
  guint8 *slots;
  gboolean ok;

  g_return_val_if_fail (GST_IS_VKGDR_KERNEL (kernel), FALSE);

  slots = g_malloc0 (
      ((params ? gst_structure_n_fields (params) : 0) + 1) * KERNEL_VALUE_SIZE);
  ok = kernel_pack_params (kernel, params, slots, error);
  g_free (slots);
  return ok;
}

/* --- running ------------------------------------------------------------- */

static gboolean
kernel_launch (GstVkgdrKernel *self, GstVkgdrStream *stream,
    const VkgdrFrame *out, void **arguments, GError **error)
{
  const vkgdr_cuda *cuda = kernel_get_driver (self);
  gchar *what;
  CUresult result;
  gboolean ok;

  if (!gst_vkgdr_context_push (self->context, error))
    return FALSE;
  result = cuda->cuLaunchKernel (self->function,
      (out->width + self->block_width - 1) / self->block_width,
      (out->height + self->block_height - 1) / self->block_height, 1,
      self->block_width, self->block_height, 1, 0,
      gst_vkgdr_stream_get_handle (stream), arguments, NULL);
  gst_vkgdr_context_pop (self->context);
  if (result == CUDA_SUCCESS)
    return TRUE;

  what = g_strdup_printf ("cuLaunchKernel (%s)", self->entry);
  ok = gst_vkgdr_check (cuda, result, what, error);
  g_free (what);
  return ok;
}

/**
 * gst_vkgdr_kernel_check_info:
 * @info: the format of a frame
 * @error: return location for a #GError
 *
 * Tells whether a kernel can be run on such frames: whether their samples are
 * whole bytes or 16-bit words, so that `VkgdrFrame` can say where they are.
 *
 * Returns: %FALSE with @error set (%GST_VKGDR_ERROR_ARGUMENT) where not
 *
 * Since: 0.1
 */
gboolean
gst_vkgdr_kernel_check_info (const GstVideoInfo *info, GError **error)
{
  g_return_val_if_fail (info != NULL, FALSE);

  return gst_vkgdr_frame_check_info (info, error);
}

/**
 * gst_vkgdr_kernel_run:
 * @kernel: a kernel
 * @stream: a stream of the kernel's context
 * @input: a buffer of #GstVkgdrMemory
 * @input_info: its format
 * @output: a buffer of #GstVkgdrMemory, which may be @input
 * @output_info: its format
 * @frame: number of the frame since the stream began
 * @params: (nullable): the arguments behind the frames, see
 *   gst_vkgdr_kernel_check_params()
 * @error: return location for a #GError
 *
 * Queues the kernel on @stream, once, over the size of @output, and returns.
 * Where planes lie is taken from #GstVideoMeta, and from the info where there
 * is none.
 *
 * Order is the caller's affair: gst_vkgdr_memory_begin_access() on the memory
 * of both buffers before, gst_vkgdr_memory_end_access() behind.
 *
 * Returns: %FALSE with @error set where a buffer or a parameter does not fit
 *   (%GST_VKGDR_ERROR_ARGUMENT) or the launch failed. What goes wrong on the
 *   device is told by a later call
 *
 * Since: 0.1
 */
gboolean
gst_vkgdr_kernel_run (GstVkgdrKernel *kernel, GstVkgdrStream *stream,
    GstBuffer *input, const GstVideoInfo *input_info, GstBuffer *output,
    const GstVideoInfo *output_info, guint64 frame, const GstStructure *params,
    GError **error)
{
  gsize padding = 0, n_arguments;
  gboolean ok = FALSE;
  VkgdrFrame in, out;
  guint8 *slots;
  void **arguments;
  gsize i, n_params;

  g_return_val_if_fail (GST_IS_VKGDR_KERNEL (kernel), FALSE);
  g_return_val_if_fail (GST_IS_VKGDR_STREAM (stream), FALSE);
  g_return_val_if_fail (GST_IS_BUFFER (input), FALSE);
  g_return_val_if_fail (GST_IS_BUFFER (output), FALSE);
  g_return_val_if_fail (input_info != NULL && output_info != NULL, FALSE);

  if (!gst_vkgdr_frame_fill (
          &in, kernel->context, input, input_info, frame, error)
      || !gst_vkgdr_frame_fill (
          &out, kernel->context, output, output_info, frame, error))
    return FALSE;
  /* A new buffer gets its time stamp later than its content. */
  out.time = in.time;

  n_params = params ? gst_structure_n_fields (params) : 0;
  n_arguments = KERNEL_N_FRAMES + n_params;
  if (!kernel->sizes) {
    padding = KERNEL_MAX_PARAM_BYTES;
    n_arguments = MAX (n_arguments, KERNEL_MAX_PARAM_BYTES);
  }
  slots = g_malloc0 ((n_params + 1) * KERNEL_VALUE_SIZE + padding);
  arguments = g_new (void *, n_arguments);
  arguments[0] = &in;
  arguments[1] = &out;
  for (i = KERNEL_N_FRAMES; i < n_arguments; i++)
    arguments[i] =
        slots + MIN (i - KERNEL_N_FRAMES, n_params) * KERNEL_VALUE_SIZE;

  if (kernel_pack_params (kernel, params, slots, error))
    ok = kernel_launch (kernel, stream, &out, arguments, error);
  g_free (arguments);
  g_free (slots);
  return ok;
}
