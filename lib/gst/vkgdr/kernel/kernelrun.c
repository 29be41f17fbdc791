/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * kernel/kernelrun.c: launches a kernel on the buffers of a frame
 *
 * Checks and packs the arguments after the buffers. Knows nothing of elements,
 * nor of the order of accesses to the buffers.
 */

#include "kernel/kernel.h"
#include "kernel/boxes.h"
#include "kernel/frame.h"
#include "kernel/params.h"
#include "kernel/samples.h"

/* Up to this number of parameters after the buffers, their values are on the
 * stack, otherwise on the heap. */
#define KERNEL_FEW_PARAMS 30
/* The largest size in bytes that CUDA allows for all parameters of a kernel
 * together. If the sizes of the parameters are unknown, this number of zeros
 * follows the arguments, so that the driver cannot read beyond them. */
#define KERNEL_MAX_PARAM_BYTES 32768

/* --- parameters ---------------------------------------------------------- */

/* The number of parameters that are not fields of params. */
static guint
kernel_count_own (GstVkgdrKernel *self)
{
  return KERNEL_N_BUFFERS + (self->takes_boxes ? 1 : 0);
}

/* Returns the sizes of the parameters that are fields of params, or NULL if
 * they are unknown. */
static const gsize *
kernel_get_param_sizes (GstVkgdrKernel *self, guint *n_params)
{
  GArray *sizes = self->function->sizes;
  guint own = kernel_count_own (self);

  *n_params = sizes ? sizes->len - own : 0;
  return sizes ? &g_array_index (sizes, gsize, own) : NULL;
}

/* Returns the bytes that the arguments for @params need. If the sizes of the
 * parameters are unknown, zeros follow the arguments. */
static gsize
kernel_measure_params (GstVkgdrKernel *self, const GstStructure *params)
{
  guint n = params ? gst_structure_n_fields (params) : 0;
  gsize size = (n + 1) * GST_VKGDR_PARAMS_SLOT_SIZE;

  return self->function->sizes ? size : size + KERNEL_MAX_PARAM_BYTES;
}

static gboolean
kernel_pack_params (GstVkgdrKernel *self, const GstStructure *params,
    guint8 *slots, void **arguments, GError **error)
{
  guint n_sizes;
  const gsize *sizes = kernel_get_param_sizes (self, &n_sizes);

  return gst_vkgdr_params_pack (
      params, self->function->entry, sizes, n_sizes, slots, arguments, error);
}

/**
 * gst_vkgdr_kernel_check_params:
 * @kernel: a kernel
 * @params: (nullable): the arguments after the two buffers
 * @error: return location for a #GError
 *
 * Checks the number, types and sizes of the fields of @params. They are the
 * further arguments of the kernel, after a `VkgdrBoxes`, in their order; their
 * names are only used in messages. vkgdr/kernel.h has a table of the types that
 * fit each parameter. The driver knows the sizes of parameters, but not their
 * types, so an integer of the same size as a float is not detected as an error.
 *
 * Returns: %TRUE if the kernel can be run with them, otherwise %FALSE with
 *   @error set to %GST_VKGDR_ERROR_ARGUMENT
 *
 * Since: 0.1
 */
gboolean
gst_vkgdr_kernel_check_params (
    GstVkgdrKernel *kernel, const GstStructure *params, GError **error)
{
  void **arguments;
  guint8 *slots;
  gboolean ok;

  g_return_val_if_fail (KERNEL_IS_LOADED (kernel), FALSE);

  slots = g_malloc (kernel_measure_params (kernel, params));
  arguments =
      g_new (void *, 1 + (params ? gst_structure_n_fields (params) : 0));
  ok = kernel_pack_params (kernel, params, slots, arguments, error);
  g_free (arguments);
  g_free (slots);
  return ok;
}

/* --- running ------------------------------------------------------------- */

/* Fills @slots with the values of @params, and launches with the address of
 * each argument, as cuLaunchKernel () needs it. @arguments begins with the
 * addresses of the arguments that are not fields of @params. */
static gboolean
kernel_pack_and_launch (GstVkgdrKernel *self, GstVkgdrStream *stream,
    const GstStructure *params, const GstVkgdrShape *shape, guint8 *slots,
    void **arguments, GError **error)
{
  const guint grid[3] = { shape->grid_x, shape->grid_y, 1 };
  const guint block[3] = { shape->block_x, shape->block_y, 1 };

  return kernel_pack_params (
             self, params, slots, arguments + kernel_count_own (self), error)
         && gst_vkgdr_function_launch_raw (
             self->function, stream, grid, block, 0, arguments, NULL, error);
}

/* For many parameters, or for parameters of unknown sizes: then the driver may
 * read beyond the arguments, so addresses of zeros follow them. */
static gboolean
kernel_launch_many (GstVkgdrKernel *self, GstVkgdrStream *stream,
    void *const *own_arguments, const GstStructure *params,
    const GstVkgdrShape *shape, GError **error)
{
  guint own = kernel_count_own (self);
  gsize n_slots = params ? gst_structure_n_fields (params) : 0, i;
  gsize n = n_slots + (self->function->sizes ? 0 : KERNEL_MAX_PARAM_BYTES);
  guint8 *slots = g_malloc0 (kernel_measure_params (self, params));
  void **arguments = g_new (void *, own + n);
  gboolean ok;

  for (i = 0; i < own; i++)
    arguments[i] = own_arguments[i];
  for (i = 0; i < n; i++)
    arguments[own + i] = slots + MIN (i, n_slots) * GST_VKGDR_PARAMS_SLOT_SIZE;
  ok = kernel_pack_and_launch (
      self, stream, params, shape, slots, arguments, error);
  g_free (slots);
  g_free (arguments);
  return ok;
}

/* @boxes is only used if the kernel takes it. */
static gboolean
kernel_launch (GstVkgdrKernel *self, GstVkgdrStream *stream, gpointer in,
    gpointer out, VkgdrBoxes *boxes, const GstStructure *params,
    const GstVkgdrShape *shape, GError **error)
{
  guint8 slots[KERNEL_FEW_PARAMS * GST_VKGDR_PARAMS_SLOT_SIZE];
  void *arguments[KERNEL_N_BUFFERS + 1 + KERNEL_FEW_PARAMS] = { in, out,
    boxes };

  if (self->function->sizes
      && (!params || gst_structure_n_fields (params) <= KERNEL_FEW_PARAMS))
    return kernel_pack_and_launch (
        self, stream, params, shape, slots, arguments, error);
  return kernel_launch_many (self, stream, arguments, params, shape, error);
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

/* If the output is the input, both have the same description. The flags of the
 * output may not be set yet, so its fields are those of the input. */
static gboolean
kernel_fill_output (GstVkgdrKernel *self, const VkgdrFrame *in,
    GstBuffer *input, const GstVideoInfo *input_info, VkgdrFrame *out,
    GstBuffer *output, const GstVideoInfo *output_info, guint64 frame,
    GError **error)
{
  if (input != output || !gst_video_info_is_equal (input_info, output_info))
    return gst_vkgdr_frame_fill (out, self->function->context, output,
        output_info, gst_vkgdr_frame_get_fields (input, output_info), frame,
        error);
  *out = *in;
  return TRUE;
}

static gboolean
kernel_launch_frames (GstVkgdrKernel *self, GstVkgdrStream *stream,
    VkgdrFrame *in, VkgdrFrame *out, VkgdrBoxes *boxes,
    const GstStructure *params, GError **error)
{
  GstVkgdrShape shape;

  return gst_vkgdr_shape_choose (self->function, &self->shape, out->width,
             out->height, &shape, error)
         && kernel_launch (self, stream, in, out, boxes, params, &shape, error);
}

static gboolean
kernel_launch_fields (GstVkgdrKernel *self, GstVkgdrStream *stream,
    const VkgdrFrame *in, const VkgdrFrame *out, VkgdrBoxes *boxes,
    const GstStructure *params, GError **error)
{
  gint i, n = self->takes_boxes ? boxes->n : 0;
  gint field, last = out->height > 1 ? VKGDR_BOTTOM : VKGDR_TOP;

  for (i = 0; i < n; i++) {
    boxes->box[i].y /= 2;
    boxes->box[i].height /= 2;
  }
  for (field = VKGDR_TOP; field <= last; field++) {
    VkgdrFrame in_field = gst_vkgdr_frame_get_field (in, field);
    VkgdrFrame out_field = gst_vkgdr_frame_get_field (out, field);

    if (!kernel_launch_frames (
            self, stream, &in_field, &out_field, boxes, params, error))
      return FALSE;
  }
  return TRUE;
}

static gboolean
is_interlaced (const VkgdrFrame *frame)
{
  return (frame->fields & VKGDR_BOTH) == VKGDR_BOTH;
}

/**
 * gst_vkgdr_kernel_check_info:
 * @info: the format of a frame
 * @error: return location for a #GError
 *
 * Checks whether kernels can be run on such frames, that is, whether
 * `VkgdrFrame` can describe the positions of their samples.
 * gst_vkgdr_kernel_list_formats() lists these formats.
 *
 * Returns: %TRUE if they can, otherwise %FALSE with @error set
 *   (%GST_VKGDR_ERROR_ARGUMENT)
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
 * gst_vkgdr_kernel_check_frame:
 * @frame: a frame
 * @info: the format of its caps
 * @error: return location for a #GError
 *
 * Checks whether kernels can read a frame. In addition to what
 * gst_vkgdr_buffer_check_video() checks, no stride may be negative, and samples
 * of 16 bits must be at even addresses. `vkgdrupload` packs other frames. An
 * element drops a frame that fails this check, with
 * gst_vkgdr_element_post_dropped().
 *
 * Thread-safe.
 *
 * Returns: %FALSE with @error set (%GST_VKGDR_ERROR_ARGUMENT) if they cannot
 *
 * Since: 0.3
 */
gboolean
gst_vkgdr_kernel_check_frame (
    GstBuffer *frame, const GstVideoInfo *info, GError **error)
{
  g_return_val_if_fail (GST_IS_BUFFER (frame), FALSE);
  g_return_val_if_fail (info != NULL && info->finfo != NULL, FALSE);

  return gst_vkgdr_frame_check (frame, info, error);
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
 * @params: (nullable): the arguments after the frames, see
 *   gst_vkgdr_kernel_check_params()
 * @error: return location for a #GError
 *
 * Queues a launch over the size of @output on @stream, and does not wait for
 * it. A kernel whose source has `#pragma vkgdr fields` is launched once for
 * each field of an interlaced frame. The positions of planes are those of the
 * #GstVideoMeta, or of the info if a buffer has none.
 *
 * The caller has to order it with other work: it must call
 * gst_vkgdr_memory_begin_access() before this function and
 * gst_vkgdr_memory_end_access() after it, for the memory of both buffers.
 *
 * Returns: %FALSE with @error set if the kernel, a buffer or a parameter does
 *   not fit (%GST_VKGDR_ERROR_ARGUMENT), or if the launch failed
 *   (%GST_VKGDR_ERROR_FAILED). Errors of the running kernel are reported by a
 *   later call
 *
 * Since: 0.1
 */
gboolean
gst_vkgdr_kernel_run (GstVkgdrKernel *kernel, GstVkgdrStream *stream,
    GstBuffer *input, const GstVideoInfo *input_info, GstBuffer *output,
    const GstVideoInfo *output_info, guint64 frame, const GstStructure *params,
    GError **error)
{
  VkgdrFrame in, out;
  VkgdrBoxes boxes;

  g_return_val_if_fail (KERNEL_IS_LOADED (kernel), FALSE);
  g_return_val_if_fail (GST_IS_VKGDR_STREAM (stream), FALSE);
  g_return_val_if_fail (GST_IS_BUFFER (input), FALSE);
  g_return_val_if_fail (GST_IS_BUFFER (output), FALSE);
  g_return_val_if_fail (input_info != NULL && output_info != NULL, FALSE);

  if (!kernel_check_kind (
          kernel, sizeof (VkgdrFrame), "VkgdrFrame", "video", error)
      || !gst_vkgdr_frame_fill (&in, kernel->function->context, input,
          input_info, gst_vkgdr_frame_get_fields (input, input_info), frame,
          error)
      || !kernel_fill_output (kernel, &in, input, input_info, &out, output,
          output_info, frame, error))
    return FALSE;
  /* The time stamp of the output buffer may not be set yet. */
  out.time = in.time;
  if (kernel->takes_boxes)
    gst_vkgdr_boxes_read (&boxes, input, in.width, in.height);
  if (kernel->runs_on_fields && is_interlaced (&in) && is_interlaced (&out))
    return kernel_launch_fields (
        kernel, stream, &in, &out, &boxes, params, error);
  return kernel_launch_frames (
      kernel, stream, &in, &out, &boxes, params, error);
}

/**
 * gst_vkgdr_kernel_run_samples:
 * @kernel: a kernel whose first two parameters are `VkgdrSamples`
 * @stream: a stream of the kernel's context
 * @input: a buffer of one memory of type %GST_VKGDR_MEMORY_NAME
 * @output: another such buffer, or @input
 * @info: (nullable): the format of both, with interleaved channels; %NULL if
 *   they are not audio, so that samples are bytes
 * @frame: number of the buffer since the stream began
 * @params: (nullable): the arguments after the buffers, see
 *   gst_vkgdr_kernel_check_params()
 * @error: return location for a #GError
 *
 * Queues a launch over the samples of @output on @stream, and does not wait for
 * it. If the output is empty, nothing is launched. The caller has to order it
 * with other work, as for gst_vkgdr_kernel_run().
 *
 * Returns: %FALSE with @error set if the kernel, a buffer or a parameter does
 *   not fit (%GST_VKGDR_ERROR_ARGUMENT), or if the launch failed
 *   (%GST_VKGDR_ERROR_FAILED). Errors of the running kernel are reported by a
 *   later call
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
  return kernel_launch (kernel, stream, &in, &out, NULL, params, &shape, error);
}
