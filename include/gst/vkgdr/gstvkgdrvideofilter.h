/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * gstvkgdrvideofilter.h: base class of elements that work on frames
 *
 * A subclass queues work on a stream; negotiation, buffers and order are the
 * base class's affair. Knows nothing of kernels.
 */

#ifndef __GST_VKGDR_VIDEO_FILTER_H__
#define __GST_VKGDR_VIDEO_FILTER_H__

#include <gst/video/video.h>
#include <gst/vkgdr/gstvkgdrbasetransform.h>

G_BEGIN_DECLS

#define GST_TYPE_VKGDR_VIDEO_FILTER (gst_vkgdr_video_filter_get_type ())

GST_VKGDR_API
G_DECLARE_DERIVABLE_TYPE (GstVkgdrVideoFilter, gst_vkgdr_video_filter, GST,
    VKGDR_VIDEO_FILTER, GstVkgdrBaseTransform)

/**
 * GstVkgdrVideoFilterClass:
 * @parent_class: the parent class
 * @set_info: the format of the frames is known or has changed
 * @filter_frame: queues the work on a frame
 *
 * A subclass has to provide @filter_frame alone.
 *
 * Since: 0.1
 */
struct _GstVkgdrVideoFilterClass {
  GstVkgdrBaseTransformClass parent_class;

  /**
   * GstVkgdrVideoFilterClass::set_info:
   * @filter: a filter
   * @input_info: the format of its input
   * @output_info: the format of its output
   * @error: return location for a #GError
   *
   * Called when the format of the frames is known or has changed.
   *
   * Returns: %FALSE with @error set to refuse it, which fails the element
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
   * @output: the buffer to write
   * @stream: the filter's stream
   * @error: return location for a #GError
   *
   * Queues work on @stream that reads @input and writes @output, and does not
   * wait for it. Their memory is of type %GST_VKGDR_MEMORY_NAME and not mapped.
   * Ordering with other users of it is the base class's affair.
   *
   * Returns: %FALSE with @error set to fail the element
   *
   * Since: 0.1
   */
  gboolean (*filter_frame) (GstVkgdrVideoFilter *filter, GstBuffer *input,
      GstBuffer *output, GstVkgdrStream *stream, GError **error);

  /*< private >*/
  gpointer _gst_reserved[GST_PADDING];
};

GST_VKGDR_API
const GstVideoInfo *gst_vkgdr_video_filter_get_input_info (
    GstVkgdrVideoFilter *filter);

GST_VKGDR_API
const GstVideoInfo *gst_vkgdr_video_filter_get_output_info (
    GstVkgdrVideoFilter *filter);

G_END_DECLS

#endif /* __GST_VKGDR_VIDEO_FILTER_H__ */
