/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * gstvkgdrstream.h: queues of work on the device, and points in them
 *
 * Knows nothing of memory.
 */

#ifndef __GST_VKGDR_STREAM_H__
#define __GST_VKGDR_STREAM_H__

#include <gst/vkgdr/gstvkgdrcontext.h>

G_BEGIN_DECLS

#define GST_TYPE_VKGDR_STREAM (gst_vkgdr_stream_get_type ())

GST_VKGDR_API
G_DECLARE_FINAL_TYPE (
    GstVkgdrStream, gst_vkgdr_stream, GST, VKGDR_STREAM, GstObject)

/**
 * GstVkgdrFence:
 *
 * A point of a stream that gst_vkgdr_stream_record() marked. It is
 * reference-counted, and may be used from any thread.
 *
 * Since: 0.1
 */

#define GST_TYPE_VKGDR_FENCE (gst_vkgdr_fence_get_type ())

GST_VKGDR_API
GType gst_vkgdr_fence_get_type (void);

GST_VKGDR_API
GstVkgdrStream *gst_vkgdr_stream_new (GstVkgdrContext *context, GError **error);

GST_VKGDR_API
GstVkgdrStream *gst_vkgdr_stream_new_wrapped (
    GstVkgdrContext *context, gpointer handle, GError **error);

GST_VKGDR_API
GstVkgdrContext *gst_vkgdr_stream_get_context (GstVkgdrStream *stream);

GST_VKGDR_API
gpointer gst_vkgdr_stream_get_handle (GstVkgdrStream *stream);

GST_VKGDR_API
void gst_vkgdr_stream_set_kernel_timeout (
    GstVkgdrStream *stream, guint timeout);

GST_VKGDR_API
gboolean gst_vkgdr_stream_synchronize (GstVkgdrStream *stream, GError **error);

GST_VKGDR_API
GstVkgdrFence *gst_vkgdr_stream_record (GstVkgdrStream *stream, GError **error);

GST_VKGDR_API
gboolean gst_vkgdr_stream_wait (
    GstVkgdrStream *stream, GstVkgdrFence *fence, GError **error);

GST_VKGDR_API
GstVkgdrFence *gst_vkgdr_fence_ref (GstVkgdrFence *fence);

GST_VKGDR_API
void gst_vkgdr_fence_unref (GstVkgdrFence *fence);

GST_VKGDR_API
gboolean gst_vkgdr_fence_is_signaled (GstVkgdrFence *fence);

GST_VKGDR_API
gboolean gst_vkgdr_fence_wait (GstVkgdrFence *fence, GError **error);

/**
 * GstVkgdrFenceFunc:
 * @user_data: data of the caller
 *
 * Called when a fence has been reached, in a thread of the library, without a
 * lock held.
 *
 * Since: 0.2
 */
typedef void (*GstVkgdrFenceFunc) (gpointer user_data);

GST_VKGDR_API
void gst_vkgdr_fence_release_later (
    GstVkgdrFence *fence, GstVkgdrFenceFunc func, gpointer user_data);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (GstVkgdrFence, gst_vkgdr_fence_unref)

G_END_DECLS

#endif /* __GST_VKGDR_STREAM_H__ */
