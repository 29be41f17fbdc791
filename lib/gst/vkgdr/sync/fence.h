/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * sync/fence.h: points of a stream that can be waited for
 *
 * A fence is pending, reached or lost. A fence is lost if the driver could not
 * be queried. It is then unknown whether the device still uses the memory that
 * the fence protects, so a lost fence is never treated as reached.
 */

#ifndef __GST_VKGDR_FENCE_H__
#define __GST_VKGDR_FENCE_H__

#include <gst/vkgdr/gstvkgdrstream.h>

#include "device/device-private.h"
#include "sync/clock.h"

G_BEGIN_DECLS

/* The clock of the stream's CUDA stream, and the launcher for its kernels. */
GstVkgdrClock *gst_vkgdr_stream_get_clock (GstVkgdrStream *stream);
GstVkgdrLauncher *gst_vkgdr_stream_get_launcher (GstVkgdrStream *stream);

/* Returns a stream that queues its work on the CUDA stream of @leader. Its
 * kernels have the limit, the name and the signal of @own. */
GstVkgdrStream *gst_vkgdr_stream_new_follower (
    GstVkgdrStream *own, GstVkgdrStream *leader);

typedef enum {
  GST_VKGDR_FENCE_PENDING,
  GST_VKGDR_FENCE_REACHED,
  GST_VKGDR_FENCE_LOST
} GstVkgdrFenceState;

/* Does not block. @error is set if the fence is lost. */
GstVkgdrFenceState gst_vkgdr_fence_get_state (
    GstVkgdrFence *fence, GError **error);

/* Records a fence behind all work that is queued on @handle, a stream of
 * @context. @clock is the clock of the stream, or NULL if the stream belongs to
 * another library. */
GstVkgdrFence *gst_vkgdr_fence_new_on (GstVkgdrContext *context,
    CUstream handle, GstVkgdrClock *clock, GError **error);

/* The same, but must be called with the CUDA context current. */
GstVkgdrFence *gst_vkgdr_fence_new_here (GstVkgdrContext *context,
    CUstream handle, GstVkgdrClock *clock, GError **error);

GstVkgdrContext *gst_vkgdr_fence_get_context (GstVkgdrFence *fence);

/* The clock of the fence's stream. NULL if another thread has recorded the
 * fence, or on a stream of another library. */
GstVkgdrClock *gst_vkgdr_fence_get_clock_of_thread (GstVkgdrFence *fence);

/* Queries the driver. Must be called with the CUDA context current. Changes
 * neither the fence's state nor the health of the context, so locks may be
 * held. */
CUresult gst_vkgdr_fence_query (GstVkgdrFence *fence);

/* The stream's handle for calls that queue no work, such as records. Calls that
 * queue work need gst_vkgdr_stream_get_handle (). */
CUstream gst_vkgdr_stream_peek_handle (GstVkgdrStream *stream);

/* A fence behind all work that is queued on any stream of the CUDA context,
 * including those of other libraries. NULL if the driver cannot record it:
 * drivers before CUDA 12.5 cannot, and no driver can while a stream is
 * captured. */
GstVkgdrFence *gst_vkgdr_fence_new_on_all (GstVkgdrContext *context);

/* Makes work that is queued on @handle, a stream of @context, from now on wait
 * for the fence. Does nothing if the fence was recorded on the same stream.
 * @clock (nullable) identifies that stream, because the driver reuses handles.
 */
gboolean gst_vkgdr_fence_precede (GstVkgdrFence *fence,
    GstVkgdrContext *context, CUstream handle, GstVkgdrClock *clock,
    GError **error);

/* Waits on the CPU until @event, or all of @stream if @event is NULL, is done.
 * Gives up if a kernel that @clock (nullable) watches does not end. Also gives
 * up, after a grace period, if another kernel of the CUDA context does not end.
 */
gboolean gst_vkgdr_context_wait (GstVkgdrContext *context, CUevent event,
    CUstream stream, GstVkgdrClock *clock, GError **error);

G_END_DECLS

#endif /* __GST_VKGDR_FENCE_H__ */
