/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * tensor/tensorconverter.c: makes tensors of frames
 *
 * The public object. It accepts buffers in any memory of the device, orders the
 * accesses to them, and launches the kernel. Knows nothing of batches, nor of
 * elements.
 */

#include <string.h>

#include "exchange/exchange-private.h"
#include "kernel/kernel-private.h"
#include "tensor/config.h"
#include "tensor/variant.h"

/**
 * SECTION:gstvkgdrtensorconverter
 * @title: GstVkgdrTensorConverter
 * @short_description: makes tensors of frames
 *
 * A #GstVkgdrTensorConverter writes frames to a tensor as described by its
 * #GstVkgdrTensorConfig. A single kernel reads each frame once, and writes the
 * elements to their positions. A batch is a memory with several frames, each at
 * a multiple of gst_vkgdr_tensor_config_get_frame_size().
 *
 * Colours are converted by the matrix and range of the frames' colorimetry.
 * Gamut and transfer function are not converted. Samples of Cb and Cr are at
 * the chroma site of the caps, or in the middle of their pixels if the caps
 * have none. Each plane is resized on its own, and the colours are converted
 * afterwards. So with the filters bilinear and area, the colours of 4:2:0 have
 * no steps of two pixels.
 *
 * The kernel is loaded when the first frame of a format arrives, or by
 * gst_vkgdr_tensor_converter_prepare(). It is compiled with the library. (The
 * software device compiles it, and keeps it on disk.)
 *
 * All functions may be called from any thread.
 *
 * Since: 0.2
 */

GST_DEBUG_CATEGORY_STATIC (gst_vkgdr_tensor_debug);
#define GST_CAT_DEFAULT gst_vkgdr_tensor_debug

struct _GstVkgdrTensorConverter {
  GstObject parent;

  GstVkgdrContext *context; /* NULL if a language binding created the object */
  GstVkgdrTensorConfig *config;
  GHashTable *functions; /* GstVkgdrTensorVariant to GstVkgdrFunction; under
                          * the object lock */
  GstVkgdrTimer *timer;
  gint is_timing; /* whether a thread uses the timer; atomic */
};

#define CONVERTER_IS_MADE(converter) \
  (GST_IS_VKGDR_TENSOR_CONVERTER (converter) && (converter)->context != NULL)

G_DEFINE_TYPE_WITH_CODE (GstVkgdrTensorConverter, gst_vkgdr_tensor_converter,
    GST_TYPE_OBJECT,
    GST_DEBUG_CATEGORY_INIT (
        gst_vkgdr_tensor_debug, "vkgdrtensorconverter", 0, "frames as tensors"))

static void
gst_vkgdr_tensor_converter_finalize (GObject *object)
{
  GstVkgdrTensorConverter *self = GST_VKGDR_TENSOR_CONVERTER (object);

  g_hash_table_unref (self->functions);
  g_clear_pointer (&self->timer, gst_vkgdr_timer_free);
  g_clear_pointer (&self->config, gst_vkgdr_tensor_config_free);
  gst_clear_object (&self->context);
  G_OBJECT_CLASS (gst_vkgdr_tensor_converter_parent_class)->finalize (object);
}

static void
gst_vkgdr_tensor_converter_class_init (GstVkgdrTensorConverterClass *klass)
{
  G_OBJECT_CLASS (klass)->finalize = gst_vkgdr_tensor_converter_finalize;
}

static void
gst_vkgdr_tensor_converter_init (GstVkgdrTensorConverter *self)
{
  self->functions = g_hash_table_new_full (
      NULL, NULL, NULL, (GDestroyNotify) gst_object_unref);
}

/**
 * gst_vkgdr_tensor_converter_new:
 * @context: a context
 * @config: a description of the tensors
 * @error: return location for a #GError
 *
 * Makes a converter, which copies @config.
 *
 * Returns: (transfer full) (nullable): the converter, or %NULL with @error set
 *   (%GST_VKGDR_ERROR_ARGUMENT) if @config is not valid
 *
 * Since: 0.2
 */
GstVkgdrTensorConverter *
gst_vkgdr_tensor_converter_new (GstVkgdrContext *context,
    const GstVkgdrTensorConfig *config, GError **error)
{
  GstVkgdrTensorConverter *self;

  g_return_val_if_fail (GST_IS_VKGDR_CONTEXT (context), NULL);
  g_return_val_if_fail (config != NULL, NULL);

  if (!gst_vkgdr_tensor_config_check (config, error))
    return NULL;
  self = g_object_new (GST_TYPE_VKGDR_TENSOR_CONVERTER, NULL);
  gst_object_ref_sink (self);
  self->context = gst_object_ref (context);
  self->config = gst_vkgdr_tensor_config_copy (config);
  self->timer = gst_vkgdr_timer_new (context);
  return self;
}

/**
 * gst_vkgdr_tensor_converter_get_config:
 * @converter: a converter
 *
 * Returns: (transfer full): a copy of the description of its tensors
 *
 * Since: 0.2
 */
GstVkgdrTensorConfig *
gst_vkgdr_tensor_converter_get_config (GstVkgdrTensorConverter *converter)
{
  g_return_val_if_fail (CONVERTER_IS_MADE (converter), NULL);

  return gst_vkgdr_tensor_config_copy (converter->config);
}

/* --- the kernel ---------------------------------------------------------- */

/* Returns the function for @variant, which the caller has to unref. If two
 * threads need a variant at the same time, both may compile it. */
static GstVkgdrFunction *
get_function (GstVkgdrTensorConverter *self, GstVkgdrTensorVariant variant,
    GError **error)
{
  GstVkgdrFunction *function;

  GST_OBJECT_LOCK (self);
  function = g_hash_table_lookup (self->functions, GUINT_TO_POINTER (variant));
  if (function)
    gst_object_ref (function);
  GST_OBJECT_UNLOCK (self);
  if (function)
    return function;

  GST_INFO_OBJECT (self, "loads variant %#x", variant);
  function = gst_vkgdr_tensor_variant_load (variant, self->context, error);
  if (!function)
    return NULL;
  GST_OBJECT_LOCK (self);
  g_hash_table_replace (
      self->functions, GUINT_TO_POINTER (variant), gst_object_ref (function));
  GST_OBJECT_UNLOCK (self);
  return function;
}

/**
 * gst_vkgdr_tensor_converter_prepare:
 * @converter: a converter
 * @info: the format of frames
 * @error: return location for a #GError
 *
 * Loads the kernel for frames of this format, if necessary, so that the
 * first frame does not have to wait. A frame whose planes are not aligned may
 * nevertheless need another kernel.
 *
 * Returns: %FALSE with @error set: %GST_VKGDR_ERROR_ARGUMENT if kernels cannot
 *   read the format, %GST_VKGDR_ERROR_NO_DRIVER if there is no compiler, or an
 *   error of the driver
 *
 * Since: 0.2
 */
gboolean
gst_vkgdr_tensor_converter_prepare (GstVkgdrTensorConverter *converter,
    const GstVideoInfo *info, GError **error)
{
  GstVkgdrFunction *function;
  VkgdrTensorJob job;
  VkgdrFrame frame;

  g_return_val_if_fail (CONVERTER_IS_MADE (converter), FALSE);
  g_return_val_if_fail (info != NULL, FALSE);

  if (!gst_vkgdr_frame_describe (&frame, info, error)
      || !gst_vkgdr_tensor_plan (converter->config, &frame, info->chroma_site,
          NULL, &job, NULL, error))
    return FALSE;
  function = get_function (converter,
      gst_vkgdr_tensor_variant_choose (converter->config, &frame, &job), error);
  if (!function)
    return FALSE;
  gst_object_unref (function);
  return TRUE;
}

/**
 * gst_vkgdr_tensor_converter_get_kernel_time:
 * @converter: a converter
 *
 * Returns: the time in nanoseconds for which the device works on a frame: the
 *   median of the last measurements, or %GST_CLOCK_TIME_NONE before the first
 *   result. Most frames are not measured
 *
 * Since: 0.2
 */
GstClockTime
gst_vkgdr_tensor_converter_get_kernel_time (GstVkgdrTensorConverter *converter)
{
  g_return_val_if_fail (CONVERTER_IS_MADE (converter), GST_CLOCK_TIME_NONE);

  return gst_vkgdr_timer_get (converter->timer);
}

/* Launches the kernel. Measures its time, unless another thread uses the
 * timer. */
static gboolean
launch (GstVkgdrTensorConverter *self, GstVkgdrFunction *function,
    GstVkgdrStream *stream, VkgdrFrame *frame, VkgdrTensorJob *job,
    GError **error)
{
  gboolean is_mine = g_atomic_int_compare_and_exchange (&self->is_timing, 0, 1);
  gboolean is_timed = is_mine && gst_vkgdr_timer_begin (self->timer, stream);
  gboolean ok;

  ok = gst_vkgdr_tensor_variant_launch (function, stream, frame, job, error);
  if (is_timed)
    gst_vkgdr_timer_end (self->timer, stream);
  if (is_mine)
    g_atomic_int_set (&self->is_timing, 0);
  return ok;
}

/* --- frames -------------------------------------------------------------- */

static gboolean
check_tensor (GstVkgdrTensorConverter *self, GstMemory *tensor, gsize offset,
    GError **error)
{
  gsize needed = gst_vkgdr_tensor_config_get_frame_size (self->config);
  gsize unit = gst_vkgdr_tensor_config_get_element_size (self->config);

  if (!gst_is_vkgdr_memory_of (tensor, self->context)) {
    g_set_error_literal (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_ARGUMENT,
        "The tensor has to be " GST_VKGDR_MEMORY_NAME
        " of the converter's device");
    return FALSE;
  }
  if (offset <= tensor->size && needed <= tensor->size - offset
      && offset % unit == 0)
    return TRUE;
  g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_ARGUMENT,
      "A frame of %" G_GSIZE_FORMAT " bytes cannot lie at %" G_GSIZE_FORMAT
      " of a memory of %" G_GSIZE_FORMAT
      ": it has to lie inside, at a multiple of %" G_GSIZE_FORMAT,
      needed, offset, tensor->size, unit);
  return FALSE;
}

/* Must be called in a task that uses both memories. */
static gboolean
queue_job (GstVkgdrTensorConverter *self, GstVkgdrStream *stream,
    GstBuffer *buffer, const GstVideoInfo *info,
    const GstVideoRectangle *region, guint64 address,
    GstVkgdrTensorTransform *transform, GError **error)
{
  GstVkgdrFunction *function;
  VkgdrTensorJob job;
  VkgdrFrame frame;
  gboolean ok;

  if (!gst_vkgdr_frame_fill (&frame, self->context, buffer, info,
          gst_vkgdr_frame_get_fields (buffer, info), 0, error)
      || !gst_vkgdr_tensor_plan (self->config, &frame, info->chroma_site,
          region, &job, transform, error))
    return FALSE;
  job.out = (guchar *) (guintptr) address;
  function = get_function (self,
      gst_vkgdr_tensor_variant_choose (self->config, &frame, &job), error);
  if (!function)
    return FALSE;
  ok = launch (self, function, stream, &frame, &job, error);
  gst_object_unref (function);
  return ok;
}

static gboolean
convert_here (GstVkgdrTensorConverter *self, GstVkgdrStream *stream,
    GstBuffer *buffer, const GstVideoInfo *info,
    const GstVideoRectangle *region, GstMemory *tensor, gsize offset,
    GstVkgdrTensorTransform *transform, GError **error)
{
  guint64 address = gst_vkgdr_memory_get_device_pointer (tensor) + offset;
  GstVkgdrTask task;
  gboolean ok;

  if (!gst_vkgdr_task_begin (&task, stream, error))
    return FALSE;
  ok = gst_vkgdr_task_use_buffer (&task, buffer, GST_MAP_READ, error)
       && gst_vkgdr_task_use_memory (&task, tensor, GST_MAP_WRITE, error);
  if (ok) {
    ok = queue_job (
        self, stream, buffer, info, region, address, transform, error);
    gst_vkgdr_memory_set_on_device (tensor);
  }
  return gst_vkgdr_task_end (&task, ok ? error : NULL) && ok;
}

/**
 * gst_vkgdr_tensor_converter_convert:
 * @converter: a converter
 * @stream: a stream of its context
 * @frame: a frame in memory of type %GST_VKGDR_MEMORY_NAME, or of GStreamer's
 *   own CUDA elements
 * @info: its format, which may be of any size
 * @region: (nullable): the part of the frame that is used, in pixels, or %NULL
 *   for all of it
 * @tensor: memory of type %GST_VKGDR_MEMORY_NAME of the converter's device
 * @offset: the offset of the elements in @tensor in bytes: a multiple of the
 * size of an element, such as the frame's number in the batch times
 *   gst_vkgdr_tensor_config_get_frame_size()
 * @transform: (out caller-allocates) (optional): the positions of the tensor's
 *   pixels in the frame
 * @error: return location for a #GError
 *
 * Queues the work on @stream, and does not wait for it. The work is ordered on
 * the device: it waits until the frame is written and the tensor is no longer
 * used, and the next users of both wait for the work.
 *
 * Returns: %FALSE with @error set if a frame or memory does not fit
 *   (%GST_VKGDR_ERROR_ARGUMENT), if the kernel cannot be compiled (with the
 *   errors of gst_vkgdr_tensor_converter_prepare()), or if the launch failed.
 *   Errors of the running kernel are reported by a later call
 *
 * Since: 0.2
 */
gboolean
gst_vkgdr_tensor_converter_convert (GstVkgdrTensorConverter *converter,
    GstVkgdrStream *stream, GstBuffer *frame, const GstVideoInfo *info,
    const GstVideoRectangle *region, GstMemory *tensor, gsize offset,
    GstVkgdrTensorTransform *transform, GError **error)
{
  GstBuffer *here;
  gboolean ok;

  g_return_val_if_fail (CONVERTER_IS_MADE (converter), FALSE);
  g_return_val_if_fail (GST_IS_VKGDR_STREAM (stream), FALSE);
  g_return_val_if_fail (GST_IS_BUFFER (frame), FALSE);
  g_return_val_if_fail (info != NULL, FALSE);
  g_return_val_if_fail (tensor != NULL, FALSE);

  if (!check_tensor (converter, tensor, offset, error))
    return FALSE;
  here = gst_vkgdr_buffer_ref_here (frame, stream, error);
  if (!here)
    return FALSE;
  ok = convert_here (
      converter, stream, here, info, region, tensor, offset, transform, error);
  gst_buffer_unref (here);
  return ok;
}
