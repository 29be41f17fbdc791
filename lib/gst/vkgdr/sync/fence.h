/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * sync/fence.h: points in a stream that others wait for
 *
 * A fence is pending, reached or lost. A lost fence is one that the driver
 * could not be asked about: nobody knows whether the device still uses what the
 * fence stands for, so it is never treated as reached.
 */

#ifndef __GST_VKGDR_FENCE_H__
#define __GST_VKGDR_FENCE_H__

#include <gst/vkgdr/gstvkgdrstream.h>

#include "device/device-private.h"
#include "sync/clock.h"

G_BEGIN_DECLS

GstVkgdrClock *gst_vkgdr_stream_get_clock (GstVkgdrStream *stream);

typedef enum {
  GST_VKGDR_FENCE_PENDING,
  GST_VKGDR_FENCE_REACHED,
  GST_VKGDR_FENCE_LOST
} GstVkgdrFenceState;

/* Looks, and does not wait. @error is set if the fence is lost. */
GstVkgdrFenceState gst_vkgdr_fence_get_state (
    GstVkgdrFence *fence, GError **error);

/* A fence behind all work that is queued on @handle, a stream of @context that
 * need not be this library's. @clock is the stream's, or NULL if it is not. */
GstVkgdrFence *gst_vkgdr_fence_new_on (GstVkgdrContext *context,
    CUstream handle, GstVkgdrClock *clock, GError **error);

/* The same with the CUDA context current. */
GstVkgdrFence *gst_vkgdr_fence_new_here (GstVkgdrContext *context,
    CUstream handle, GstVkgdrClock *clock, GError **error);

GstVkgdrContext *gst_vkgdr_fence_get_context (GstVkgdrFence *fence);

/* What the driver says of the fence, with its CUDA context current. Neither its
 * state nor the health of the context is changed, so that locks may be held. */
CUresult gst_vkgdr_fence_query (GstVkgdrFence *fence);

/* The stream's handle for calls that queue no work, such as records. That of
 * gst_vkgdr_stream_get_handle () is for calls that do. */
CUstream gst_vkgdr_stream_peek_handle (GstVkgdrStream *stream);

/* A fence behind all work that is queued on any stream of the CUDA context,
 * those of other libraries included. NULL if the driver cannot do that: drivers
 * before CUDA 12.5 cannot, and no driver can while a stream is captured. */
GstVkgdrFence *gst_vkgdr_fence_new_on_all (GstVkgdrContext *context);

/* Work that is queued on @handle, a stream of @context, from now on begins when
 * the fence is reached. Work on the stream that the fence was recorded on does
 * so anyhow: @clock (nullable) tells which one that is, since the driver reuses
 * handles. */
gboolean gst_vkgdr_fence_precede (GstVkgdrFence *fence,
    GstVkgdrContext *context, CUstream handle, GstVkgdrClock *clock,
    GError **error);

/* Waits on the CPU until @event, or all of @stream if @event is NULL, is done.
 * Gives up if a kernel does not end that @clock (nullable) watches, or, after a
 * grace period, another kernel of the CUDA context. */
gboolean gst_vkgdr_context_wait (GstVkgdrContext *context, CUevent event,
    CUstream stream, GstVkgdrClock *clock, GError **error);

G_END_DECLS

#endif /* __GST_VKGDR_FENCE_H__ */
