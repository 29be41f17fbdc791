/* SPDX-License-Identifier: LGPL-2.1-or-later */

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
 * @set_info: (nullable): the format of the frames is known or has changed.
 *   Returns %FALSE with @error set to refuse it
 * @filter_frame: queues work on @stream that reads @input and writes @output,
 *   two buffers of #GstVkgdrMemory that are not mapped. Ordering with other
 *   users of the memory is the base class's affair. Returns %FALSE with @error
 *   set to fail the element
 *
 * A subclass has to provide @filter_frame alone.
 *
 * Since: 0.1
 */
struct _GstVkgdrVideoFilterClass {
  GstVkgdrBaseTransformClass parent_class;

  gboolean (*set_info) (GstVkgdrVideoFilter *filter,
      const GstVideoInfo *input_info, const GstVideoInfo *output_info,
      GError **error);
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
