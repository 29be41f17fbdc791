/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * kernel/boxes.h: the boxes of detected objects, for kernels
 */

#ifndef __GST_VKGDR_BOXES_H__
#define __GST_VKGDR_BOXES_H__

#include <gst/video/video.h>
#include <vkgdr/kernel.h>

G_BEGIN_DECLS

/* Sets @boxes to the detections in the metas of @buffer, a picture of @width x
 * @height pixels: those of GStreamer's analytics library, or else the regions
 * of interest. Boxes outside of the picture are left out. */
void gst_vkgdr_boxes_read (
    VkgdrBoxes *boxes, GstBuffer *buffer, gint width, gint height);

G_END_DECLS

#endif /* __GST_VKGDR_BOXES_H__ */
