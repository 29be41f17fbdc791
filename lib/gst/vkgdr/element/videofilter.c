/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * element/videofilter.c: base class of elements that work on frames on the GPU
 *
 * Knows the format of frames, and maps them for subclasses that use the CPU.
 * Buffers, their order and statistics are in element/filter.c.
 */

#include "element/element-private.h"
#include "kernel/kernel-private.h"

/**
 * SECTION:gstvkgdrvideofilter
 * @title: GstVkgdrVideoFilter
 * @short_description: base class of elements that work on frames on the GPU
 *
 * A #GstVkgdrFilter for raw video. A subclass provides
 * #GstVkgdrVideoFilterClass.filter_frame, or
 * #GstVkgdrVideoFilterClass.filter_frame_cpu, and pad templates whose caps have
 * the feature %GST_CAPS_FEATURE_MEMORY_VKGDR_MEMORY. Frames that kernels cannot
 * read, see gst_vkgdr_kernel_check_frame(), are dropped with a warning before
 * #GstVkgdrVideoFilterClass.filter_frame.
 *
 * For any other caps, the element posts an error. A subclass that supports
 * other caps overrides #GstVkgdrFilterClass.negotiated and
 * #GstVkgdrFilterClass.filter, and chains up if the caps are raw video.
 *
 * The functions of a subclass are called in the streaming thread.
 *
 * Since: 0.1
 */

GST_DEBUG_CATEGORY_STATIC (gst_vkgdr_video_filter_debug);
#define GST_CAT_DEFAULT gst_vkgdr_video_filter_debug

typedef struct {
  GstVideoInfo in_info;
  GstVideoInfo out_info;
} GstVkgdrVideoFilterPrivate;

G_DEFINE_ABSTRACT_TYPE_WITH_CODE (GstVkgdrVideoFilter, gst_vkgdr_video_filter,
    GST_TYPE_VKGDR_FILTER,
    G_ADD_PRIVATE (GstVkgdrVideoFilter)
        GST_DEBUG_CATEGORY_INIT (gst_vkgdr_video_filter_debug,
            "vkgdrvideofilter", 0, "vkgdr video filters"))

#define parent_class gst_vkgdr_video_filter_parent_class

static GstVkgdrVideoFilterPrivate *
private_of (gpointer object)
{
  return gst_vkgdr_video_filter_get_instance_private (
      GST_VKGDR_VIDEO_FILTER (object));
}

/* Whether the caps are video of a known format whose frames have more bytes
 * than GStreamer can count. */
static gboolean
is_too_large (GstCaps *caps)
{
  const GstStructure *s = gst_caps_get_structure (caps, 0);
  const gchar *format = gst_structure_get_string (s, "format");
  GstVideoInfo info;
  gint width, height;

  return format && gst_structure_get_int (s, "width", &width)
         && gst_structure_get_int (s, "height", &height)
         && gst_video_format_from_string (format) > GST_VIDEO_FORMAT_ENCODED
         && !gst_video_info_set_format (
             &info, gst_video_format_from_string (format), width, height);
}

static gboolean
read_caps (GstCaps *caps, GstVideoInfo *info, GError **error)
{
  gchar *text;

  if (gst_vkgdr_caps_get_video_info (caps, info))
    return TRUE;
  if (is_too_large (caps)) {
    g_set_error_literal (error, GST_STREAM_ERROR, GST_STREAM_ERROR_FORMAT,
        "These frames have more than 2 GiB, which GStreamer cannot describe: "
        "make them smaller");
    return FALSE;
  }
  text = gst_caps_to_string (caps);
  g_set_error (error, GST_STREAM_ERROR, GST_STREAM_ERROR_FORMAT,
      "These caps are not raw video that a kernel can process: %s", text);
  g_free (text);
  return FALSE;
}

static gboolean
gst_vkgdr_video_filter_negotiated (
    GstVkgdrFilter *filter, GstCaps *in_caps, GstCaps *out_caps, GError **error)
{
  GstVkgdrVideoFilter *self = GST_VKGDR_VIDEO_FILTER (filter);
  GstVkgdrVideoFilterClass *klass = GST_VKGDR_VIDEO_FILTER_GET_CLASS (self);
  GstVkgdrVideoFilterPrivate *priv = private_of (self);

  if (!read_caps (in_caps, &priv->in_info, error)
      || !read_caps (out_caps, &priv->out_info, error))
    return FALSE;
  return !klass->set_info
         || klass->set_info (self, &priv->in_info, &priv->out_info, error);
}

/* --- frames -------------------------------------------------------------- */

/* The parent's door has checked that the frame fits its caps. The CPU can read
 * any layout, and a filter of formats that kernels cannot read runs no kernel.
 */
static gboolean
can_filter (GstVkgdrVideoFilter *self, GstBuffer *frame, GError **error)
{
  const GstVideoInfo *info = &private_of (self)->in_info;

  if (!GST_VKGDR_VIDEO_FILTER_GET_CLASS (self)->filter_frame
      || !gst_vkgdr_filter_is_video (GST_VKGDR_FILTER (self))
      || gst_vkgdr_frame_check_rows (frame, info, error))
    return TRUE;
  if (gst_vkgdr_kernel_check_info (info, NULL))
    return FALSE;
  g_clear_error (error);
  return TRUE;
}

static GstFlowReturn
gst_vkgdr_video_filter_submit_input_buffer (
    GstBaseTransform *trans, gboolean is_discont, GstBuffer *input)
{
  GstFlowReturn result = GST_BASE_TRANSFORM_CLASS (parent_class)
                             ->submit_input_buffer (trans, is_discont, input);
  GError *error = NULL;

  if (result != GST_FLOW_OK || !trans->queued_buf
      || gst_base_transform_is_passthrough (trans)
      || can_filter (GST_VKGDR_VIDEO_FILTER (trans), trans->queued_buf, &error))
    return result;
  gst_vkgdr_element_post_dropped (GST_ELEMENT (trans), error);
  g_error_free (error);
  gst_clear_buffer (&trans->queued_buf);
  return GST_BASE_TRANSFORM_FLOW_DROPPED;
}

/* --- the CPU ------------------------------------------------------------- */

/* Maps without a reference to the buffer, so that it stays writable. */
static gboolean
map (GstVideoFrame *frame, const GstVideoInfo *info, GstBuffer *buffer,
    GstMapFlags flags, GError **error)
{
  if (gst_video_frame_map (frame, info, buffer,
          flags | (GstMapFlags) GST_VIDEO_FRAME_MAP_FLAG_NO_REF)) {
    /* GStreamer takes that of the GstVideoMeta. */
    frame->info.finfo = info->finfo;
    return TRUE;
  }
  g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_FAILED,
      "A frame of %" G_GSIZE_FORMAT " bytes cannot be mapped as %s of %dx%d",
      gst_buffer_get_size (buffer), GST_VIDEO_INFO_NAME (info),
      GST_VIDEO_INFO_WIDTH (info), GST_VIDEO_INFO_HEIGHT (info));
  return FALSE;
}

static gboolean
filter_in_place (GstVkgdrVideoFilter *self, GstBuffer *buffer, GError **error)
{
  GstVideoFrame frame;
  gboolean ok;

  if (!map (&frame, &private_of (self)->in_info, buffer, GST_MAP_READWRITE,
          error))
    return FALSE;
  ok = GST_VKGDR_VIDEO_FILTER_GET_CLASS (self)->filter_frame_cpu (
      self, &frame, &frame, error);
  gst_video_frame_unmap (&frame);
  return ok;
}

static gboolean
filter_on_cpu (GstVkgdrVideoFilter *self, GstBuffer *input, GstBuffer *output,
    GError **error)
{
  GstVkgdrVideoFilterPrivate *priv = private_of (self);
  GstVideoFrame in, out;
  gboolean ok;

  if (input == output)
    return filter_in_place (self, input, error);
  if (!map (&in, &priv->in_info, input, GST_MAP_READ, error))
    return FALSE;
  ok = map (&out, &priv->out_info, output, GST_MAP_WRITE, error);
  if (ok) {
    ok = GST_VKGDR_VIDEO_FILTER_GET_CLASS (self)->filter_frame_cpu (
        self, &in, &out, error);
    gst_video_frame_unmap (&out);
  }
  gst_video_frame_unmap (&in);
  return ok;
}

/* --- GObject ------------------------------------------------------------- */

/* A subclass in Python may have no function for frames at all. */
static gboolean
gst_vkgdr_video_filter_filter (GstVkgdrFilter *filter, GstBuffer *input,
    GstBuffer *output, GstVkgdrStream *stream, GError **error)
{
  GstVkgdrVideoFilter *self = GST_VKGDR_VIDEO_FILTER (filter);
  GstVkgdrVideoFilterClass *klass = GST_VKGDR_VIDEO_FILTER_GET_CLASS (self);

  if (klass->filter_frame)
    return klass->filter_frame (self, input, output, stream, error);
  if (klass->filter_frame_cpu)
    return filter_on_cpu (self, input, output, error);
  g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_ARGUMENT,
      "%s has no function for frames: implement filter_frame or "
      "filter_frame_cpu",
      G_OBJECT_TYPE_NAME (self));
  return FALSE;
}

static void
gst_vkgdr_video_filter_class_init (GstVkgdrVideoFilterClass *klass)
{
  GstVkgdrFilterClass *filter_class = GST_VKGDR_FILTER_CLASS (klass);

  GST_BASE_TRANSFORM_CLASS (klass)->submit_input_buffer =
      gst_vkgdr_video_filter_submit_input_buffer;
  filter_class->negotiated = gst_vkgdr_video_filter_negotiated;
  filter_class->filter = gst_vkgdr_video_filter_filter;
}

static void
gst_vkgdr_video_filter_init (GstVkgdrVideoFilter *self)
{
  /* As with GstVideoFilter, frames that would be late are dropped. */
  gst_base_transform_set_qos_enabled (GST_BASE_TRANSFORM (self), TRUE);
}

/**
 * gst_vkgdr_video_filter_get_plane_address:
 * @frame: a frame that is mapped for the CPU
 * @plane: index of a plane
 *
 * For language bindings that cannot read an array of pointers, instead of
 * GST_VIDEO_FRAME_PLANE_DATA().
 *
 * Returns: the address of the plane in host memory; 0 if there is no such plane
 *
 * Since: 0.1
 */
guint64
gst_vkgdr_video_filter_get_plane_address (
    const GstVideoFrame *frame, guint plane)
{
  g_return_val_if_fail (frame != NULL, 0);

  if (plane >= GST_VIDEO_FRAME_N_PLANES (frame))
    return 0;
  return (guintptr) GST_VIDEO_FRAME_PLANE_DATA (frame, plane);
}

/**
 * gst_vkgdr_video_filter_get_input_info:
 * @filter: a filter
 *
 * Returns: (transfer none): the format of its input, valid in the streaming
 *   thread after #GstVkgdrVideoFilterClass.set_info was called
 *
 * Since: 0.1
 */
const GstVideoInfo *
gst_vkgdr_video_filter_get_input_info (GstVkgdrVideoFilter *filter)
{
  g_return_val_if_fail (GST_IS_VKGDR_VIDEO_FILTER (filter), NULL);

  return &private_of (filter)->in_info;
}

/**
 * gst_vkgdr_video_filter_get_output_info:
 * @filter: a filter
 *
 * Returns: (transfer none): the format of its output, valid in the streaming
 *   thread after #GstVkgdrVideoFilterClass.set_info was called
 *
 * Since: 0.1
 */
const GstVideoInfo *
gst_vkgdr_video_filter_get_output_info (GstVkgdrVideoFilter *filter)
{
  g_return_val_if_fail (GST_IS_VKGDR_VIDEO_FILTER (filter), NULL);

  return &private_of (filter)->out_info;
}
