/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * gstvkgdrvideofilter.h: base class of elements that work on frames
 *
 * Knows the format of the frames; the base class handles buffers and their
 * order. Knows nothing of kernels.
 */

#ifndef __GST_VKGDR_VIDEO_FILTER_H__
#define __GST_VKGDR_VIDEO_FILTER_H__

#include <gst/video/video.h>
#include <gst/vkgdr/gstvkgdrfilter.h>

G_BEGIN_DECLS

#define GST_TYPE_VKGDR_VIDEO_FILTER (gst_vkgdr_video_filter_get_type ())

GST_VKGDR_API
G_DECLARE_DERIVABLE_TYPE (GstVkgdrVideoFilter, gst_vkgdr_video_filter, GST,
    VKGDR_VIDEO_FILTER, GstVkgdrFilter)

/**
 * GstVkgdrVideoFilterClass:
 * @parent_class: the parent class
 * @set_info: the format of the frames is known or has changed
 * @filter_frame: queues the work on a frame
 * @filter_frame_cpu: does the work on a frame with the CPU
 *
 * A subclass has to provide one of @filter_frame and @filter_frame_cpu.
 *
 * Since: 0.1
 */
struct _GstVkgdrVideoFilterClass {
  GstVkgdrFilterClass parent_class;

  /**
   * GstVkgdrVideoFilterClass::set_info:
   * @filter: a filter
   * @input_info: the format of its input
   * @output_info: the format of its output
   * @error: return location for a #GError
   *
   * Called when the format of the frames is known or has changed.
   *
   * Returns: %FALSE with @error set if the filter does not support the formats;
   *   the element then posts the error and fails
   *
   * Since: 0.1
   */
  gboolean (*set_info) (GstVkgdrVideoFilter *filter,
      const GstVideoInfo *input_info, const GstVideoInfo *output_info,
      GError **error);
  /**
   * GstVkgdrVideoFilterClass::filter_frame:
   * @filter: a filter
   * @input: the buffer to read
   * @output: the buffer to write, or @input: see
   * gst_vkgdr_filter_set_in_place()
   * @stream: the filter's stream
   * @error: return location for a #GError
   *
   * Queues work on @stream that reads @input and writes @output, and does not
   * wait for it. Their memory is of type %GST_VKGDR_MEMORY_NAME and not mapped.
   * The base class orders the work with other users of the memory.
   *
   * The function may also map a frame for the CPU before it queues any work on
   * it. If it only uses mappings, implement
   * #GstVkgdrVideoFilterClass.filter_frame_cpu instead.
   *
   * Returns: %FALSE with @error set on failure; the element then posts the
   *   error and fails
   *
   * Since: 0.1
   */
  gboolean (*filter_frame) (GstVkgdrVideoFilter *filter, GstBuffer *input,
      GstBuffer *output, GstVkgdrStream *stream, GError **error);
  /**
   * GstVkgdrVideoFilterClass::filter_frame_cpu:
   * @filter: a filter
   * @input: the frame to read, mapped
   * @output: the frame to write, mapped, or @input: see
   *   gst_vkgdr_filter_set_in_place()
   * @error: return location for a #GError
   *
   * Called if #GstVkgdrVideoFilterClass.filter_frame is %NULL. Both frames are
   * mapped for the CPU: the device has finished with them, and the written
   * content is sent to the device after the function has returned.
   *
   * All of @output must be written, and it must not be read, unless it is
   * @input.
   *
   * Returns: %FALSE with @error set on failure; the element then posts the
   *   error and fails
   *
   * Since: 0.1
   */
  gboolean (*filter_frame_cpu) (GstVkgdrVideoFilter *filter,
      GstVideoFrame *input, GstVideoFrame *output, GError **error);

  /*< private >*/
  gpointer _gst_reserved[GST_PADDING];
};

GST_VKGDR_API
guint64 gst_vkgdr_video_filter_get_plane_address (
    const GstVideoFrame *frame, guint plane);

GST_VKGDR_API
const GstVideoInfo *gst_vkgdr_video_filter_get_input_info (
    GstVkgdrVideoFilter *filter);

GST_VKGDR_API
const GstVideoInfo *gst_vkgdr_video_filter_get_output_info (
    GstVkgdrVideoFilter *filter);

G_END_DECLS

#endif /* __GST_VKGDR_VIDEO_FILTER_H__ */
