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

/* Whether everything that an element reads of the planes that @meta describes
 * is in @buffer, and each plane is in one memory of @buffer. @mode is the
 * interlace mode of the caps: a field has half of the rows. */
gboolean gst_vkgdr_planes_are_inside (
    GstBuffer *buffer, const GstVideoMeta *meta, GstVideoInterlaceMode mode);

G_END_DECLS

#endif /* __GST_VKGDR_PLANES_H__ */
