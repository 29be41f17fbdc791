/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * sync/fence.h: fences on streams of this library and of others
 */

#ifndef __GST_VKGDR_FENCE_H__
#define __GST_VKGDR_FENCE_H__

#include <gst/vkgdr/gstvkgdrstream.h>

#include "device/device-private.h"

G_BEGIN_DECLS

/* A fence behind all that @stream has queued, of which nobody is told. */
GstVkgdrFence *gst_vkgdr_fence_new (GstVkgdrStream *stream, GError **error);

/* The same for a stream that is somebody else's, of @context. */
GstVkgdrFence *gst_vkgdr_fence_new_on (
    GstVkgdrContext *context, CUstream handle, GError **error);

/* The same for all streams of the CUDA context, also those that nobody told us
 * of. NULL where the driver has no such thing, as before 12.5, or cannot tell,
 * as while a stream is captured. */
GstVkgdrFence *gst_vkgdr_fence_new_on_all (GstVkgdrContext *context);

/* What is queued from now on on a stream of @context, which may be somebody
 * else's, begins when the fence is reached. */
gboolean gst_vkgdr_fence_precede (GstVkgdrFence *fence,
    GstVkgdrContext *context, CUstream handle, GError **error);

/* What the driver says of the fence, also where the context has hung. */
CUresult gst_vkgdr_fence_query (GstVkgdrFence *fence);

/* Waits until @event, or where that is NULL all of @stream, is done. */
gboolean gst_vkgdr_context_wait (
    GstVkgdrContext *context, CUevent event, CUstream stream, GError **error);

G_END_DECLS

#endif /* __GST_VKGDR_FENCE_H__ */
