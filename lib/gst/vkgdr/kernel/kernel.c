/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * kernel/kernel.c: a CUDA kernel that works on video frames, or on samples
 *
 * The public object: makes a module of a source, an image or a file, and
 * launches it on buffers. Knows nothing of elements, nor of what its buffers
 * are ordered with.
 */

#include "kernel/compiler.h"
#include "kernel/frame.h"
#include "kernel/image.h"
#include "kernel/module.h"
#include "kernel/params.h"
#include "kernel/samples.h"
#include "kernel/shape.h"
#include "kernel/source.h"

/**
 * SECTION:gstvkgdrkernel
 * @title: GstVkgdrKernel
 * @short_description: a CUDA kernel that works on video frames, or on samples
 *
 * A #GstVkgdrKernel is a function of a CUDA source or of a compiled image. Its
 * first two parameters are `VkgdrFrame in, VkgdrFrame out`, or, for audio and
 * bytes, `VkgdrSamples in, VkgdrSamples out`, as vkgdr/kernel.h declares them;
 * that header also says how sources are compiled, and what further parameters
 * may be.
 *
 * Once its block and grid are set, where they are set at all, a kernel does not
 * change, and may be run from any thread, on several streams at once.
 *
 * Since: 0.1
 */

GST_DEBUG_CATEGORY_STATIC (gst_vkgdr_kernel_debug);
#define GST_CAT_DEFAULT gst_vkgdr_kernel_debug

/* The parameters that are buffers: in and out. */
#define KERNEL_N_BUFFERS 2
/* Parameters behind the buffers that are on the stack; more are rare, and go to
 * the heap. */
#define KERNEL_FEW_PARAMS 30
/* What CUDA allows at most, in bytes, for all parameters of a kernel together.
 * Where the sizes of parameters are not known, every argument is followed by as
 * many zero bytes, so that the driver cannot read beyond them. */
#define KERNEL_MAX_PARAM_BYTES 32768

struct _GstVkgdrKernel {
  GstObject parent;

  GstVkgdrFunction *function; /* NULL until a constructor of ours is through */
  GstVkgdrShape shape;        /* that is asked for */
  gsize buffer_size; /* of VkgdrFrame or VkgdrSamples, whichever it takes; 0
                      * where there is no telling */
  gboolean may_run_in_place;
};

/* A language binding can make an object without our constructors. */
#define KERNEL_IS_LOADED(kernel) \
  (GST_IS_VKGDR_KERNEL (kernel) && (kernel)->function != NULL)

G_DEFINE_TYPE_WITH_CODE (GstVkgdrKernel, gst_vkgdr_kernel, GST_TYPE_OBJECT,
    GST_DEBUG_CATEGORY_INIT (
        gst_vkgdr_kernel_debug, "vkgdrkernel", 0, "vkgdr kernels"))

static void
gst_vkgdr_kernel_finalize (GObject *object)
{
  GstVkgdrKernel *self = GST_VKGDR_KERNEL (object);

  gst_clear_object (&self->function);

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

/* --- making -------------------------------------------------------------- */

static gsize
kernel_get_size (GstVkgdrKernel *self, guint index)
{
  return g_array_index (self->function->sizes, gsize, index);
}

static gboolean
kernel_set_buffer_size (GstVkgdrKernel *self, GError **error)
{
  const GstVkgdrFunction *function = self->function;
  gsize first = 0, second = 0;

  if (!function->sizes) {
    GST_WARNING_OBJECT (self,
        "%s of %s: neither driver nor image tell its parameters, they cannot "
        "be checked",
        function->entry, function->name);
    return TRUE;
  }
  if (function->sizes->len >= KERNEL_N_BUFFERS) {
    first = kernel_get_size (self, 0);
    second = kernel_get_size (self, 1);
  }
  self->buffer_size = first;
  if (first == second
      && (first == sizeof (VkgdrFrame) || first == sizeof (VkgdrSamples)))
    return TRUE;
  g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_ARGUMENT,
      "Kernel \"%s\" of %s: its first two parameters have to be VkgdrFrame in, "
      "VkgdrFrame out (%" G_GSIZE_FORMAT
      " bytes each), or VkgdrSamples in, VkgdrSamples out (%" G_GSIZE_FORMAT
      "), see vkgdr/kernel.h; but it has %u parameters, and the first two have "
      "%" G_GSIZE_FORMAT " and %" G_GSIZE_FORMAT " bytes",
      function->entry, function->name, sizeof (VkgdrFrame),
      sizeof (VkgdrSamples), function->sizes->len,
      function->sizes->len > 0 ? kernel_get_size (self, 0) : 0,
      function->sizes->len > 1 ? kernel_get_size (self, 1) : 0);
  return FALSE;
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
 * parameters are neither `VkgdrFrame` nor `VkgdrSamples`.
 *
 * Returns: (transfer full) (nullable): the kernel, or %NULL with @error set
 *
 * Since: 0.1
 */
GstVkgdrKernel *
gst_vkgdr_kernel_new_from_image (GstVkgdrContext *context, GBytes *image,
    const gchar *name, const gchar *entry, GError **error)
{
  GstVkgdrFunction *function;
  GstVkgdrKernel *self;

  g_return_val_if_fail (GST_IS_VKGDR_CONTEXT (context), NULL);
  g_return_val_if_fail (image != NULL, NULL);

  function = gst_vkgdr_function_load (context, image, name ? name : "The image",
      entry && *entry ? entry : NULL, error);
  if (!function)
    return NULL;

  self = g_object_new (GST_TYPE_VKGDR_KERNEL, NULL);
  gst_object_ref_sink (self);
  self->function = function;
  if (!kernel_set_buffer_size (self, error)) {
    gst_object_unref (self);
    return NULL;
  }
  GST_INFO_OBJECT (self, "kernel %s of %s", function->entry, function->name);
  return self;
}

/* Takes @image, which may be NULL with @error set, and was compiled from @text
 * unless that is NULL. */
static GstVkgdrKernel *
kernel_new_compiled (GstVkgdrContext *context, GBytes *image, const gchar *text,
    const gchar *name, const gchar *entry, GError **error)
{
  GstVkgdrSource *source;
  GstVkgdrKernel *self;

  if (!image)
    return NULL;
  self = gst_vkgdr_kernel_new_from_image (context, image, name, entry, error);
  g_bytes_unref (image);
  if (!self || !text)
    return self;
  source = gst_vkgdr_source_scan (text);
  self->may_run_in_place = source->is_in_place;
  self->shape.tile_x = source->tile_x;
  self->shape.tile_y = source->tile_y;
  gst_vkgdr_source_free (source);
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
 * As gst_vkgdr_kernel_new_from_source_with_options(), without options.
 *
 * Returns: (transfer full) (nullable): the kernel, or %NULL with @error set
 *
 * Since: 0.1
 */
GstVkgdrKernel *
gst_vkgdr_kernel_new_from_source (GstVkgdrContext *context, const gchar *source,
    const gchar *name, const gchar *entry, GError **error)
{
  return gst_vkgdr_kernel_new_from_source_with_options (
      context, source, name, entry, NULL, error);
}

/**
 * gst_vkgdr_kernel_new_from_source_with_options:
 * @context: a context
 * @source: CUDA C++ source, of 8 MiB at most
 * @name: (nullable): what messages call the source
 * @entry: (nullable): the kernel's name, or %NULL for the only one
 * @options: (nullable): macros, folders of headers and options
 * @error: return location for a #GError
 *
 * Compiles a kernel. `vkgdr/kernel.h` is included in front of the source. What
 * was compiled is kept on disk and taken from there the next time, as long as
 * the source, the files that it includes, the options and the compiler are the
 * same. VKGDR_CACHE_DIR names the folder.
 *
 * Fails with %GST_VKGDR_ERROR_COMPILE and the compiler's log where the source
 * does not compile, with %GST_VKGDR_ERROR_NO_DRIVER where there is no compiler,
 * with %GST_VKGDR_ERROR_ARGUMENT where the source is too long, with
 * %GST_VKGDR_ERROR_NOT_FOUND where it includes what is not a regular file, and
 * as gst_vkgdr_kernel_new_from_image() does.
 *
 * Returns: (transfer full) (nullable): the kernel, or %NULL with @error set
 *
 * Since: 0.2
 */
GstVkgdrKernel *
gst_vkgdr_kernel_new_from_source_with_options (GstVkgdrContext *context,
    const gchar *source, const gchar *name, const gchar *entry,
    GstVkgdrCompileOptions *options, GError **error)
{
  GBytes *image;

  g_return_val_if_fail (GST_IS_VKGDR_CONTEXT (context), NULL);
  g_return_val_if_fail (source != NULL, NULL);

  if (!name)
    name = "The source";
  image =
      gst_vkgdr_module_compile (context, source, name, NULL, options, error);
  return kernel_new_compiled (context, image, source, name, entry, error);
}

/**
 * gst_vkgdr_kernel_new_from_file:
 * @context: a context
 * @path: (type filename): a file of CUDA source, PTX, a cubin or a fatbin
 * @entry: (nullable): the kernel's name, or %NULL for the only one
 * @error: return location for a #GError
 *
 * As gst_vkgdr_kernel_new_from_file_with_options(), without options.
 *
 * Returns: (transfer full) (nullable): the kernel, or %NULL with @error set
 *
 * Since: 0.1
 */
GstVkgdrKernel *
gst_vkgdr_kernel_new_from_file (GstVkgdrContext *context, const gchar *path,
    const gchar *entry, GError **error)
{
  return gst_vkgdr_kernel_new_from_file_with_options (
      context, path, entry, NULL, error);
}

/**
 * gst_vkgdr_kernel_new_from_file_with_options:
 * @context: a context
 * @path: (type filename): a file of CUDA source, PTX, a cubin or a fatbin
 * @entry: (nullable): the kernel's name, or %NULL for the only one
 * @options: (nullable): macros, folders of headers and options for a source
 * @error: return location for a #GError
 *
 * Loads a kernel from a regular file of 64 MiB at most; a source has 8 MiB at
 * most. The content of a file tells what it is, not its name. Headers that a
 * source includes are searched beside it first.
 *
 * Fails with %GST_VKGDR_ERROR_NOT_FOUND where the file cannot be read, with
 * %GST_VKGDR_ERROR_IMAGE where it is none of these, and as
 * gst_vkgdr_kernel_new_from_source_with_options() and
 * gst_vkgdr_kernel_new_from_image() do.
 *
 * Returns: (transfer full) (nullable): the kernel, or %NULL with @error set
 *
 * Since: 0.2
 */
GstVkgdrKernel *
gst_vkgdr_kernel_new_from_file_with_options (GstVkgdrContext *context,
    const gchar *path, const gchar *entry, GstVkgdrCompileOptions *options,
    GError **error)
{
  GstVkgdrKernel *self;
  GBytes *image;
  gchar *text;

  g_return_val_if_fail (GST_IS_VKGDR_CONTEXT (context), NULL);
  g_return_val_if_fail (path != NULL, NULL);

  image = gst_vkgdr_module_read (context, path, options, &text, error);
  self = kernel_new_compiled (context, image, text, path, entry, error);
  g_free (text);
  return self;
}

/**
 * gst_vkgdr_kernel_list_include_files:
 * @path: (type filename): a file that gst_vkgdr_kernel_new_from_file() takes
 * @options: (nullable): the options for it
 * @error: return location for a #GError
 *
 * Lists the files that a source includes, directly or not: what else to watch
 * for changes. Headers of a CUDA toolkit are not among them. Conditions are not
 * evaluated, so files that are included under any condition are in the list.
 * The source need not compile.
 *
 * Needs no device. Thread-safe.
 *
 * Returns: (transfer full) (nullable) (array zero-terminated=1)
 *   (element-type filename): the paths, none where the file is not a source, or
 *   %NULL with @error set to %GST_VKGDR_ERROR_NOT_FOUND where a file cannot be
 *   read, or to %GST_VKGDR_ERROR_IMAGE where @path is nothing that can be
 * loaded
 *
 * Since: 0.2
 */
gchar **
gst_vkgdr_kernel_list_include_files (
    const gchar *path, GstVkgdrCompileOptions *options, GError **error)
{
  gchar **files = NULL, *folder, *text;
  GBytes *content;

  g_return_val_if_fail (path != NULL, NULL);

  content = gst_vkgdr_image_read (path, error);
  if (!content)
    return NULL;
  if (gst_vkgdr_image_get_kind (content) == GST_VKGDR_IMAGE_SOURCE) {
    GstVkgdrCompilerInput input = { NULL, path, NULL, options, FALSE };

    input.folder = folder = g_path_get_dirname (path);
    input.text = text = g_strndup (
        g_bytes_get_data (content, NULL), g_bytes_get_size (content));
    files = gst_vkgdr_compiler_list_includes (&input, error);
    g_free (text);
    g_free (folder);
  } else if (gst_vkgdr_image_check_kind (content, path, error)) {
    files = g_new0 (gchar *, 1);
  }
  g_bytes_unref (content);
  return files;
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
  g_return_val_if_fail (KERNEL_IS_LOADED (kernel), NULL);

  return kernel->function->entry;
}

/**
 * gst_vkgdr_kernel_takes_frames:
 * @kernel: a kernel
 *
 * Returns: whether gst_vkgdr_kernel_run() can run it: its first two parameters
 *   are `VkgdrFrame`, or neither the driver (before CUDA 12.4) nor the image
 *   tells
 *
 * Since: 0.1
 */
gboolean
gst_vkgdr_kernel_takes_frames (GstVkgdrKernel *kernel)
{
  g_return_val_if_fail (KERNEL_IS_LOADED (kernel), FALSE);

  return kernel->buffer_size == 0 || kernel->buffer_size == sizeof (VkgdrFrame);
}

/**
 * gst_vkgdr_kernel_takes_samples:
 * @kernel: a kernel
 *
 * Returns: whether gst_vkgdr_kernel_run_samples() can run it: its first two
 *   parameters are `VkgdrSamples`, or neither the driver (before CUDA 12.4) nor
 *   the image tells
 *
 * Since: 0.1
 */
gboolean
gst_vkgdr_kernel_takes_samples (GstVkgdrKernel *kernel)
{
  g_return_val_if_fail (KERNEL_IS_LOADED (kernel), FALSE);

  return kernel->buffer_size == 0
         || kernel->buffer_size == sizeof (VkgdrSamples);
}

/**
 * gst_vkgdr_kernel_may_run_in_place:
 * @kernel: a kernel
 *
 * Tells whether the kernel does the same where its output is its input, of the
 * same format and size. Its source says so with `#pragma vkgdr in-place`; a
 * compiled image cannot.
 *
 * Returns: whether it says so
 *
 * Since: 0.1
 */
gboolean
gst_vkgdr_kernel_may_run_in_place (GstVkgdrKernel *kernel)
{
  g_return_val_if_fail (KERNEL_IS_LOADED (kernel), FALSE);

  return kernel->may_run_in_place;
}

/* --- shape --------------------------------------------------------------- */

/**
 * gst_vkgdr_kernel_set_block_size:
 * @kernel: a kernel that does not run yet
 * @x: threads of a block in x, or 0: chosen for the kernel and the device
 * @y: threads of a block in y; 0 counts as 1
 * @error: return location for a #GError
 *
 * Sets the blocks that a launch is divided into. Those that are chosen have as
 * many threads as keep the device busy, 256 at the most; for frames, in rows of
 * 32. To be called before the kernel is run, by one thread.
 *
 * Returns: %FALSE with @error set (%GST_VKGDR_ERROR_ARGUMENT) where the kernel
 *   cannot have such blocks on its device
 *
 * Since: 0.1
 */
gboolean
gst_vkgdr_kernel_set_block_size (
    GstVkgdrKernel *kernel, guint x, guint y, GError **error)
{
  g_return_val_if_fail (KERNEL_IS_LOADED (kernel), FALSE);

  if (!gst_vkgdr_shape_check_block (kernel->function, x, MAX (y, 1), error))
    return FALSE;
  kernel->shape.block_x = x;
  kernel->shape.block_y = MAX (y, 1);
  return TRUE;
}

/**
 * gst_vkgdr_kernel_set_grid_size:
 * @kernel: a kernel that does not run yet
 * @x: blocks in x, or 0: as many as it takes to have a thread for each pixel,
 *   or sample, or tile of the output
 * @y: blocks in y; 0 counts as 1
 * @error: return location for a #GError
 *
 * Sets the number of blocks. A kernel with a given grid has to see to it by
 * itself that all of the output is covered: its threads go on by the grid's
 * width and height until they leave it. To be called before the kernel is run,
 * by one thread.
 *
 * Returns: %FALSE with @error set (%GST_VKGDR_ERROR_ARGUMENT) where CUDA has no
 *   such grids
 *
 * Since: 0.1
 */
gboolean
gst_vkgdr_kernel_set_grid_size (
    GstVkgdrKernel *kernel, guint x, guint y, GError **error)
{
  g_return_val_if_fail (KERNEL_IS_LOADED (kernel), FALSE);

  if (!gst_vkgdr_shape_check_grid (kernel->function, x, MAX (y, 1), error))
    return FALSE;
  kernel->shape.grid_x = x;
  kernel->shape.grid_y = MAX (y, 1);
  return TRUE;
}

/**
 * gst_vkgdr_kernel_set_tile_size:
 * @kernel: a kernel that does not run yet
 * @x: pixels in a row, or samples, that each thread sees to; 0 counts as 1
 * @y: rows that each thread sees to; 0 counts as 1
 *
 * Tells how much of the output a thread covers, so that no more threads are
 * launched than it takes. Sources say so with `#pragma vkgdr tile 4x2`; this is
 * for images, which cannot. To be called before the kernel is run, by one
 * thread.
 *
 * Since: 0.1
 */
void
gst_vkgdr_kernel_set_tile_size (GstVkgdrKernel *kernel, guint x, guint y)
{
  g_return_if_fail (KERNEL_IS_LOADED (kernel));

  kernel->shape.tile_x = x;
  kernel->shape.tile_y = y;
}

/**
 * gst_vkgdr_kernel_get_tile_size:
 * @kernel: a kernel
 * @x: (out): pixels in a row, or samples, that each thread sees to
 * @y: (out): rows that each thread sees to
 *
 * Tells what a thread of the kernel sees to, 1 by 1 where nobody said
 * otherwise.
 *
 * Since: 0.1
 */
void
gst_vkgdr_kernel_get_tile_size (GstVkgdrKernel *kernel, guint *x, guint *y)
{
  g_return_if_fail (KERNEL_IS_LOADED (kernel));
  g_return_if_fail (x != NULL && y != NULL);

  *x = MAX (kernel->shape.tile_x, 1);
  *y = MAX (kernel->shape.tile_y, 1);
}

/* --- parameters ---------------------------------------------------------- */

/* Of the parameters behind the buffers; NULL where there is no telling. */
static const gsize *
kernel_get_param_sizes (GstVkgdrKernel *self, guint *n_params)
{
  GArray *sizes = self->function->sizes;

  *n_params = sizes ? sizes->len - KERNEL_N_BUFFERS : 0;
  return sizes ? &g_array_index (sizes, gsize, KERNEL_N_BUFFERS) : NULL;
}

/* Bytes of the arguments for @params as they are launched. Where the sizes of
 * parameters are not known, zeros follow. */
static gsize
kernel_measure_params (GstVkgdrKernel *self, const GstStructure *params)
{
  gsize size =
      (gst_vkgdr_params_count (params) + 1) * GST_VKGDR_PARAMS_SLOT_SIZE;

  return self->function->sizes ? size : size + KERNEL_MAX_PARAM_BYTES;
}

static gboolean
kernel_pack_params (GstVkgdrKernel *self, const GstStructure *params,
    guint8 *slots, GError **error)
{
  guint n_sizes;
  const gsize *sizes = kernel_get_param_sizes (self, &n_sizes);

  return gst_vkgdr_params_pack (
      params, self->function->entry, sizes, n_sizes, slots, error);
}

/**
 * gst_vkgdr_kernel_get_param_sizes:
 * @kernel: a kernel
 * @n_params: (out): how many there are
 *
 * The sizes in bytes of the parameters behind the two buffers.
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
  const gsize *sizes;

  g_return_val_if_fail (KERNEL_IS_LOADED (kernel), NULL);
  g_return_val_if_fail (n_params != NULL, NULL);

  sizes = kernel_get_param_sizes (kernel, n_params);
  return *n_params > 0 ? g_memdup2 (sizes, *n_params * sizeof (gsize)) : NULL;
}

/**
 * gst_vkgdr_kernel_check_params:
 * @kernel: a kernel
 * @params: (nullable): the arguments behind the two buffers
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

  g_return_val_if_fail (KERNEL_IS_LOADED (kernel), FALSE);

  slots = g_malloc (kernel_measure_params (kernel, params));
  ok = kernel_pack_params (kernel, params, slots, error);
  g_free (slots);
  return ok;
}

/* --- running ------------------------------------------------------------- */

static gboolean
kernel_launch (GstVkgdrKernel *self, GstVkgdrStream *stream,
    const GstVkgdrShape *shape, void **arguments, GError **error)
{
  const guint grid[3] = { shape->grid_x, shape->grid_y, 1 };
  const guint block[3] = { shape->block_x, shape->block_y, 1 };

  return gst_vkgdr_function_launch_raw (
      self->function, stream, grid, block, 0, arguments, NULL, error);
}

/* Lists in @arguments where each argument is, as cuLaunchKernel takes them, and
 * launches. Behind the @n_slots slots, @n_zeros times the same zeros. */
static gboolean
kernel_launch_slots (GstVkgdrKernel *self, GstVkgdrStream *stream, gpointer in,
    gpointer out, guint8 *slots, guint n_slots, gsize n_zeros, void **arguments,
    const GstVkgdrShape *shape, GError **error)
{
  gsize i;

  arguments[0] = in;
  arguments[1] = out;
  for (i = 0; i < n_slots + n_zeros; i++)
    arguments[KERNEL_N_BUFFERS + i] =
        slots + MIN (i, n_slots) * GST_VKGDR_PARAMS_SLOT_SIZE;
  return kernel_launch (self, stream, shape, arguments, error);
}

/* With arguments on the heap. Where the parameters' sizes are not known, the
 * driver may read beyond them. */
static gboolean
kernel_launch_many (GstVkgdrKernel *self, GstVkgdrStream *stream, gpointer in,
    gpointer out, const GstStructure *params, const GstVkgdrShape *shape,
    GError **error)
{
  gsize n_zeros = self->function->sizes ? 0 : KERNEL_MAX_PARAM_BYTES;
  guint n = gst_vkgdr_params_count (params);
  void **arguments = g_new (void *, KERNEL_N_BUFFERS + n + n_zeros);
  guint8 *slots = g_malloc0 (kernel_measure_params (self, params));
  gboolean ok = kernel_pack_params (self, params, slots, error)
                && kernel_launch_slots (self, stream, in, out, slots, n,
                    n_zeros, arguments, shape, error);

  g_free (slots);
  g_free (arguments);
  return ok;
}

static gboolean
kernel_launch_with (GstVkgdrKernel *self, GstVkgdrStream *stream, gpointer in,
    gpointer out, const GstStructure *params, const GstVkgdrShape *shape,
    GError **error)
{
  guint8 slots[KERNEL_FEW_PARAMS * GST_VKGDR_PARAMS_SLOT_SIZE];
  void *arguments[KERNEL_N_BUFFERS + KERNEL_FEW_PARAMS];
  guint n = gst_vkgdr_params_count (params);

  if (!self->function->sizes || n > KERNEL_FEW_PARAMS)
    return kernel_launch_many (self, stream, in, out, params, shape, error);
  return kernel_pack_params (self, params, slots, error)
         && kernel_launch_slots (
             self, stream, in, out, slots, n, 0, arguments, shape, error);
}

static gboolean
kernel_check_kind (GstVkgdrKernel *self, gsize size, const gchar *name,
    const gchar *what, GError **error)
{
  if (self->buffer_size == 0 || self->buffer_size == size)
    return TRUE;
  g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_ARGUMENT,
      "Kernel \"%s\" of %s cannot be run on %s: its first two parameters have "
      "to be %s for that",
      self->function->entry, self->function->name, what, name);
  return FALSE;
}

/* The output's description is the input's if both are the same. */
static gboolean
kernel_fill_output (GstVkgdrKernel *self, const VkgdrFrame *in,
    GstBuffer *input, const GstVideoInfo *input_info, VkgdrFrame *out,
    GstBuffer *output, const GstVideoInfo *output_info, guint64 frame,
    GError **error)
{
  if (input != output || !gst_video_info_is_equal (input_info, output_info))
    return gst_vkgdr_frame_fill (
        out, self->function->context, output, output_info, frame, error);
  *out = *in;
  return TRUE;
}

/**
 * gst_vkgdr_kernel_check_info:
 * @info: the format of a frame
 * @error: return location for a #GError
 *
 * Tells whether a kernel can be run on such frames: whether `VkgdrFrame` can
 * say where their samples lie. gst_vkgdr_kernel_list_formats() lists these
 * formats.
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
 * @kernel: a kernel whose first two parameters are `VkgdrFrame`
 * @stream: a stream of the kernel's context
 * @input: a buffer whose memory is of type %GST_VKGDR_MEMORY_NAME
 * @input_info: its format
 * @output: another such buffer, or @input
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
 * Returns: %FALSE with @error set where the kernel, a buffer or a parameter
 *   does not fit
 *   (%GST_VKGDR_ERROR_ARGUMENT) or the launch failed
 *   (%GST_VKGDR_ERROR_FAILED). What goes wrong on the device is told by a later
 *   call
 *
 * Since: 0.1
 */
gboolean
gst_vkgdr_kernel_run (GstVkgdrKernel *kernel, GstVkgdrStream *stream,
    GstBuffer *input, const GstVideoInfo *input_info, GstBuffer *output,
    const GstVideoInfo *output_info, guint64 frame, const GstStructure *params,
    GError **error)
{
  GstVkgdrShape shape;
  VkgdrFrame in, out;

  g_return_val_if_fail (KERNEL_IS_LOADED (kernel), FALSE);
  g_return_val_if_fail (GST_IS_VKGDR_STREAM (stream), FALSE);
  g_return_val_if_fail (GST_IS_BUFFER (input), FALSE);
  g_return_val_if_fail (GST_IS_BUFFER (output), FALSE);
  g_return_val_if_fail (input_info != NULL && output_info != NULL, FALSE);

  if (!kernel_check_kind (
          kernel, sizeof (VkgdrFrame), "VkgdrFrame", "video", error)
      || !gst_vkgdr_frame_fill (
          &in, kernel->function->context, input, input_info, frame, error)
      || !kernel_fill_output (kernel, &in, input, input_info, &out, output,
          output_info, frame, error)
      || !gst_vkgdr_shape_choose (kernel->function, &kernel->shape, out.width,
          out.height, &shape, error))
    return FALSE;
  /* A new buffer gets its time stamp later than its content. */
  out.time = in.time;
  return kernel_launch_with (kernel, stream, &in, &out, params, &shape, error);
}

/**
 * gst_vkgdr_kernel_run_samples:
 * @kernel: a kernel whose first two parameters are `VkgdrSamples`
 * @stream: a stream of the kernel's context
 * @input: a buffer of one memory of type %GST_VKGDR_MEMORY_NAME
 * @output: another such buffer, or @input
 * @info: (nullable): the format of both, of interleaved channels; %NULL where
 *   they are no audio, and samples are bytes
 * @frame: number of the buffer since the stream began
 * @params: (nullable): the arguments behind the buffers, see
 *   gst_vkgdr_kernel_check_params()
 * @error: return location for a #GError
 *
 * Queues the kernel on @stream, once, over the samples of @output, and returns.
 * An empty output is no launch. Order is the caller's affair, as for
 * gst_vkgdr_kernel_run().
 *
 * Returns: %FALSE with @error set where the kernel, a buffer or a parameter
 *   does not fit (%GST_VKGDR_ERROR_ARGUMENT) or the launch failed
 *   (%GST_VKGDR_ERROR_FAILED). What goes wrong on the device is told by a later
 *   call
 *
 * Since: 0.1
 */
gboolean
gst_vkgdr_kernel_run_samples (GstVkgdrKernel *kernel, GstVkgdrStream *stream,
    GstBuffer *input, GstBuffer *output, const GstAudioInfo *info,
    guint64 frame, const GstStructure *params, GError **error)
{
  VkgdrSamples in, out;
  GstVkgdrShape shape;

  g_return_val_if_fail (KERNEL_IS_LOADED (kernel), FALSE);
  g_return_val_if_fail (GST_IS_VKGDR_STREAM (stream), FALSE);
  g_return_val_if_fail (GST_IS_BUFFER (input), FALSE);
  g_return_val_if_fail (GST_IS_BUFFER (output), FALSE);

  if (!kernel_check_kind (kernel, sizeof (VkgdrSamples), "VkgdrSamples",
          info ? "audio" : "bytes", error)
      || !gst_vkgdr_samples_fill (
          &in, kernel->function->context, input, info, frame, error)
      || !gst_vkgdr_samples_fill (
          &out, kernel->function->context, output, info, frame, error)
      || !gst_vkgdr_shape_choose (
          kernel->function, &kernel->shape, out.n, 1, &shape, error))
    return FALSE;
  if (out.n == 0)
    return TRUE;
  out.time = in.time;
  return kernel_launch_with (kernel, stream, &in, &out, params, &shape, error);
}
