/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * kernel/kernel.c: a CUDA kernel that works on video frames, or on samples
 *
 * The public object: loads the function of a source, an image or a file, and
 * returns its properties. kernel/kernelrun.c launches it.
 */

#include "kernel/kernel.h"
#include "kernel/compiler.h"
#include "kernel/frame.h"
#include "kernel/image.h"
#include "kernel/module.h"
#include "kernel/samples.h"
#include "kernel/source.h"

/**
 * SECTION:gstvkgdrkernel
 * @title: GstVkgdrKernel
 * @short_description: a CUDA kernel that works on video frames, or on samples
 *
 * A #GstVkgdrKernel is a function of a CUDA source or of a compiled image. Its
 * first two parameters are `VkgdrFrame in, VkgdrFrame out`, or, for audio and
 * bytes, `VkgdrSamples in, VkgdrSamples out`, which vkgdr/kernel.h declares.
 * That header also explains how sources are compiled, and which further
 * parameters are possible.
 *
 * A kernel may be run from any thread, and on several streams at once. The
 * functions that set its block, grid and tile must be called before that.
 *
 * Since: 0.1
 */

GST_DEBUG_CATEGORY_STATIC (gst_vkgdr_kernel_debug);
#define GST_CAT_DEFAULT gst_vkgdr_kernel_debug

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
        "%s of %s: the sizes of its parameters are unknown, so they cannot be "
        "checked",
        function->entry, function->name);
    return TRUE;
  }
  if (function->sizes->len >= KERNEL_N_BUFFERS) {
    first = kernel_get_size (self, 0);
    second = kernel_get_size (self, 1);
  }
  self->buffer_size = first;
  self->takes_boxes =
      first == sizeof (VkgdrFrame) && function->sizes->len > KERNEL_N_BUFFERS
      && kernel_get_size (self, KERNEL_N_BUFFERS) == sizeof (VkgdrBoxes);
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
 * @name: (nullable): the name of the image in messages
 * @entry: (nullable): the kernel's name, or %NULL for the only one
 * @error: return location for a #GError
 *
 * Loads a kernel from a compiled image, which is copied.
 *
 * Fails with %GST_VKGDR_ERROR_IMAGE if the image does not fit the device, with
 * %GST_VKGDR_ERROR_NOT_FOUND if it does not have the kernel, or has several
 * kernels and @entry is %NULL, and with %GST_VKGDR_ERROR_ARGUMENT if the first
 * two parameters of the kernel are neither `VkgdrFrame` nor `VkgdrSamples`.
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

/* Takes ownership of @image. If it is NULL, @error is set. If @text is not
 * NULL, the image was compiled from it. */
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
  self->runs_on_fields = source->runs_on_fields;
  self->shape.tile_x = source->tile_x;
  self->shape.tile_y = source->tile_y;
  gst_vkgdr_source_free (source);
  return self;
}

/**
 * gst_vkgdr_kernel_new_from_source:
 * @context: a context
 * @source: CUDA C++ source, of 8 MiB at most
 * @name: (nullable): the name of the source in messages
 * @entry: (nullable): the kernel's name, or %NULL for the only one
 * @options: (nullable): macros, folders of headers and options
 * @error: return location for a #GError
 *
 * Compiles a kernel. `vkgdr/kernel.h` is included in front of the source. The
 * compiled image is kept on disk, and used again as long as the source, the
 * files that it includes, the options and the compiler are the same.
 * VKGDR_CACHE_DIR names the folder.
 *
 * Fails with %GST_VKGDR_ERROR_COMPILE and the compiler's log if the source does
 * not compile, with %GST_VKGDR_ERROR_NO_DRIVER if there is no compiler, with
 * %GST_VKGDR_ERROR_ARGUMENT if the source is too long, with
 * %GST_VKGDR_ERROR_NOT_FOUND if it includes something that is not a regular
 * file, and with the errors of gst_vkgdr_kernel_new_from_image().
 *
 * Returns: (transfer full) (nullable): the kernel, or %NULL with @error set
 *
 * Since: 0.1
 */
GstVkgdrKernel *
gst_vkgdr_kernel_new_from_source (GstVkgdrContext *context, const gchar *source,
    const gchar *name, const gchar *entry, GstVkgdrCompileOptions *options,
    GError **error)
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
 * @options: (nullable): macros, folders of headers and options for a source
 * @error: return location for a #GError
 *
 * Loads a kernel from a regular file of 64 MiB at most; a source has 8 MiB at
 * most. The kind of a file is detected from its content, not from its name.
 * Headers that a source includes are searched in its own folder first.
 *
 * Fails with %GST_VKGDR_ERROR_NOT_FOUND if the file cannot be read, with
 * %GST_VKGDR_ERROR_IMAGE if it is of no such kind, and with the errors of
 * gst_vkgdr_kernel_new_from_source() and gst_vkgdr_kernel_new_from_image().
 *
 * Returns: (transfer full) (nullable): the kernel, or %NULL with @error set
 *
 * Since: 0.1
 */
GstVkgdrKernel *
gst_vkgdr_kernel_new_from_file (GstVkgdrContext *context, const gchar *path,
    const gchar *entry, GstVkgdrCompileOptions *options, GError **error)
{
  GstVkgdrKernel *self;
  GBytes *image;
  gchar *name, *text;

  g_return_val_if_fail (GST_IS_VKGDR_CONTEXT (context), NULL);
  g_return_val_if_fail (path != NULL, NULL);

  name = g_filename_display_name (path);
  image = gst_vkgdr_module_read (context, path, name, options, &text, error);
  self = kernel_new_compiled (context, image, text, name, entry, error);
  g_free (text);
  g_free (name);
  return self;
}

/**
 * gst_vkgdr_kernel_list_include_files:
 * @path: (type filename): a file that gst_vkgdr_kernel_new_from_file() takes
 * @options: (nullable): the options for it
 * @error: return location for a #GError
 *
 * Lists the files that a source includes, directly or indirectly, for example
 * to watch them for changes. Headers of a CUDA toolkit are not in the list.
 * Conditions are not evaluated, so files that are included under any condition
 * are in the list. The source does not have to compile.
 *
 * Needs no device. Thread-safe.
 *
 * Returns: (transfer full) (nullable) (array zero-terminated=1)
 *   (element-type filename): the paths, which are none if the file is not a
 *   source; or %NULL with @error set to %GST_VKGDR_ERROR_NOT_FOUND if a file
 *   cannot be read, or to %GST_VKGDR_ERROR_IMAGE if @path cannot be loaded
 *
 * Since: 0.2
 */
gchar **
gst_vkgdr_kernel_list_include_files (
    const gchar *path, GstVkgdrCompileOptions *options, GError **error)
{
  gchar **files = NULL, *name, *folder, *text;
  GBytes *content;

  g_return_val_if_fail (path != NULL, NULL);

  content = gst_vkgdr_image_read (path, error);
  if (!content)
    return NULL;
  name = g_filename_display_name (path);
  if (gst_vkgdr_image_get_kind (content) == GST_VKGDR_IMAGE_SOURCE) {
    GstVkgdrCompilerInput input = { NULL, name, NULL, options, FALSE };

    input.folder = folder = g_path_get_dirname (path);
    input.text = text = g_strndup (
        g_bytes_get_data (content, NULL), g_bytes_get_size (content));
    files = gst_vkgdr_compiler_list_includes (&input, error);
    g_free (text);
    g_free (folder);
  } else if (gst_vkgdr_image_check_kind (content, name, error)) {
    files = g_new0 (gchar *, 1);
  }
  g_free (name);
  g_bytes_unref (content);
  return files;
}

/**
 * gst_vkgdr_kernel_get_entry:
 * @kernel: a kernel
 *
 * Returns: (transfer none): the name of its function in the module; with C++
 *   linkage, this is the mangled name
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
 *   are `VkgdrFrame`, or are unknown, because the driver is older than CUDA
 *   12.4 and the image is not PTX
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
 *   parameters are `VkgdrSamples`, or are unknown, because the driver is older
 *   than CUDA 12.4 and the image is not PTX
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
 * Checks whether the kernel gives the same result if its output is its input,
 * in the same format and size. A source declares this with
 * `#pragma vkgdr in-place`; a compiled image cannot declare it.
 *
 * Returns: whether the source declares it
 *
 * Since: 0.1
 */
gboolean
gst_vkgdr_kernel_may_run_in_place (GstVkgdrKernel *kernel)
{
  g_return_val_if_fail (KERNEL_IS_LOADED (kernel), FALSE);

  return kernel->may_run_in_place;
}

/**
 * gst_vkgdr_kernel_set_runs_on_fields:
 * @kernel: a kernel that does not run yet
 * @runs_on_fields: whether the kernel is launched for each field
 *
 * Sets whether gst_vkgdr_kernel_run() launches the kernel once for each field
 * of an interlaced frame, which the kernel then sees as a picture of its own.
 * A source declares this with `#pragma vkgdr fields`. This function is for
 * images, which cannot declare it. Must be called before the kernel is run, and
 * by one thread only.
 *
 * Since: 0.3
 */
void
gst_vkgdr_kernel_set_runs_on_fields (
    GstVkgdrKernel *kernel, gboolean runs_on_fields)
{
  g_return_if_fail (KERNEL_IS_LOADED (kernel));

  kernel->runs_on_fields = runs_on_fields;
}

/* --- shape --------------------------------------------------------------- */

/**
 * gst_vkgdr_kernel_set_block_size:
 * @kernel: a kernel that does not run yet
 * @x: threads of a block in x, or 0: the library chooses
 * @y: threads of a block in y; 0 counts as 1
 * @error: return location for a #GError
 *
 * Sets the size of the blocks of a launch. By default, the library chooses the
 * number of threads with which the driver expects the best use of the device,
 * but at most 256; for frames, they are in rows of 32. Must be called before
 * the kernel is run, and by one thread only.
 *
 * Returns: %FALSE with @error set (%GST_VKGDR_ERROR_ARGUMENT) if the kernel
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
 * @x: blocks in x, or 0: enough for one thread for each pixel, sample or tile
 *   of the output
 * @y: blocks in y; 0 counts as 1
 * @error: return location for a #GError
 *
 * Sets the number of blocks. The kernel then has to cover the whole output
 * itself: each thread has to work on further pixels, at distances of the width
 * and height of the grid, until it has left the output. Must be called before
 * the kernel is run, and by one thread only.
 *
 * Returns: %FALSE with @error set (%GST_VKGDR_ERROR_ARGUMENT) if CUDA does not
 *   support such a grid
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
 * @x: pixels in a row, or samples, that each thread writes; 0 counts as 1
 * @y: rows that each thread writes; 0 counts as 1
 *
 * Sets how much of the output each thread writes, so that no more threads are
 * launched than necessary. A source declares this with
 * `#pragma vkgdr tile 4x2`. This function is for images, which cannot declare
 * it. Must be called before the kernel is run, and by one thread only.
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
