/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * gstvkgdrplanes.h: whether the planes of a frame lie in its memory
 *
 * GStreamer does not check the offsets and strides of a GstVideoMeta when it
 * maps or copies a frame.
 */

#ifndef __GST_VKGDR_PLANES_H__
#define __GST_VKGDR_PLANES_H__

#include <gst/video/video.h>

G_BEGIN_DECLS

/* Returns the bytes of a row of the plane that contain the samples of all its
 * pixels. In YUY2, the last Cr of an odd number of pixels comes after the last
 * of their luma samples. Returns 0 for formats such as v210, in which pixels
 * share bytes, so that a pixel has no size in bytes. */
gint64 gst_vkgdr_planes_get_row_size (const GstVideoInfo *info, guint plane);

/* Whether everything that an element reads of the planes that @meta describes
 * is in @buffer, and each plane is in one memory of @buffer. @mode is the
 * interlace mode of the caps: a field has half of the rows. */
gboolean gst_vkgdr_planes_are_inside (
    GstBuffer *buffer, const GstVideoMeta *meta, GstVideoInterlaceMode mode);

G_END_DECLS

#endif /* __GST_VKGDR_PLANES_H__ */
