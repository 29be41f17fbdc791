/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * gstvkgdrbufferpool.h: a pool of buffers in the window
 *
 * Knows nothing of elements.
 */

#ifndef __GST_VKGDR_BUFFER_POOL_H__
#define __GST_VKGDR_BUFFER_POOL_H__

#include <gst/video/video.h>
#include <gst/video/gstvideopool.h>
#include <gst/vkgdr/gstvkgdrmemory.h>

G_BEGIN_DECLS

#define GST_TYPE_VKGDR_BUFFER_POOL (gst_vkgdr_buffer_pool_get_type ())

GST_VKGDR_API
G_DECLARE_FINAL_TYPE (GstVkgdrBufferPool, gst_vkgdr_buffer_pool, GST,
    VKGDR_BUFFER_POOL, GstVideoBufferPool)

GST_VKGDR_API
GstBufferPool *gst_vkgdr_buffer_pool_new (GstVkgdrContext *context);

GST_VKGDR_API
GstVkgdrAccess gst_vkgdr_buffer_pool_get_access (GstVkgdrBufferPool *pool);

GST_VKGDR_API
gboolean gst_vkgdr_caps_get_video_info (
    const GstCaps *caps, GstVideoInfo *info);

GST_VKGDR_API
gboolean gst_vkgdr_buffer_check_video (
    GstBuffer *buffer, const GstVideoInfo *info, GError **error);

GST_VKGDR_API
gsize gst_vkgdr_video_info_get_row_size (const GstVideoInfo *info, guint plane);

G_END_DECLS

#endif /* __GST_VKGDR_BUFFER_POOL_H__ */
