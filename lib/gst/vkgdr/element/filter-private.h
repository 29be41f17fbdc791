/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * element/filter-private.h: the interface between the files of GstVkgdrFilter
 */

#ifndef __GST_VKGDR_FILTER_PRIVATE_H__
#define __GST_VKGDR_FILTER_PRIVATE_H__

#include <gst/base/gstbasetransform.h>
#include <gst/video/video.h>

G_BEGIN_DECLS

/* Sets the functions of GstVkgdrFilter's class that handle caps. */
void gst_vkgdr_filter_init_caps (GstBaseTransformClass *klass);

/* Returns a buffer with the memory of @buffer (transfer full) and a layout that
 * a GstVideoCropMeta of @buffer has been applied to, or @buffer itself if it is
 * not cropped. Returns NULL with @error set (GST_VKGDR_ERROR_ARGUMENT) if the
 * format does not allow this. */
GstBuffer *gst_vkgdr_buffer_apply_crop (GstBuffer *buffer, GError **error);

G_END_DECLS

#endif /* __GST_VKGDR_FILTER_PRIVATE_H__ */
