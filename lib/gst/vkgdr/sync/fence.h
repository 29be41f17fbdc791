/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * sync/fence.h: points of a stream that can be waited for
 *
 * A fence is pending, reached or lost. A fence is lost if the driver could not
 * be queried, or if a deferred fence or the work in front of it could not be
 * queued. It is then unknown whether the device still uses the memory that the
 * fence protects, so a lost fence is never treated as reached.
 *
 * The event of a deferred fence has not been recorded yet. Work that is queued
 * meanwhile is covered by the fence, too. The event is recorded before it is
 * used for the first time. So elements in a row need a single event, and a user
 * of a fence does not need to know whether it is deferred.
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

/* If the fence is lost: makes its stream fail, so that an element can post the
 * error. */
void gst_vkgdr_fence_report_lost (GstVkgdrFence *fence);

/* Records a fence behind all work that is queued on @handle, a stream of
 * @context. @clock is the clock of the stream, which has the same context, or
 * NULL if the stream belongs to another library. */
GstVkgdrFence *gst_vkgdr_fence_new_on (GstVkgdrContext *context,
    CUstream handle, GstVkgdrClock *clock, GError **error);

/* The same, but must be called with the CUDA context current. */
GstVkgdrFence *gst_vkgdr_fence_new_here (GstVkgdrContext *context,
    CUstream handle, GstVkgdrClock *clock, GError **error);

/* Makes a deferred fence for all work that is queued on @handle, a stream of
 * @context, until the event is recorded. @clock is the clock of the stream, and
 * its tail must keep the fence (see sync/tail.h). Records nothing. */
GstVkgdrFence *gst_vkgdr_fence_new_deferred (GstVkgdrContext *context,
    CUstream handle, GstVkgdrClock *clock, GError **error);

/* Records the event of a deferred fence; the fence is lost if that fails. Must
 * be called with the lock of the tail held that keeps the fence. @is_current:
 * whether the CUDA context is current. */
void gst_vkgdr_fence_record (GstVkgdrFence *fence, gboolean is_current);

gboolean gst_vkgdr_fence_is_deferred (GstVkgdrFence *fence);

/* Must be called if the work in front of the fence could not be queued, because
 * the call @what, a static string, has returned @result. Must be called with
 * the lock of the tail held. */
void gst_vkgdr_fence_set_lost (
    GstVkgdrFence *fence, CUresult result, const gchar *what);

GstVkgdrContext *gst_vkgdr_fence_get_context (GstVkgdrFence *fence);

/* The clock of the fence's stream. NULL if another thread has recorded the
 * fence, or on a stream of another library. */
GstVkgdrClock *gst_vkgdr_fence_get_clock_of_thread (GstVkgdrFence *fence);

/* The fences that the tail of a stream has kept have serials, which grow from
 * one fence to the next. If a fence of the stream is reached, all fences of the
 * stream with smaller serials are reached, too. 0: the fence has no serial.
 * Must be set before other code gets the fence. */
void gst_vkgdr_fence_set_serial (GstVkgdrFence *fence, guint64 serial);
guint64 gst_vkgdr_fence_get_serial (GstVkgdrFence *fence);

/* Whether a query has found the fence reached. Does not query the driver. */
gboolean gst_vkgdr_fence_is_known (GstVkgdrFence *fence);

/* Queries the driver. Must be called with the CUDA context current. Does not
 * change the health of the context, so locks may be held. */
CUresult gst_vkgdr_fence_query (GstVkgdrFence *fence);

/* Whether fences of gst_vkgdr_stream_mark_end () may be deferred, because other
 * work will soon be queued on the CUDA stream, with a fence behind it. */
void gst_vkgdr_stream_set_defers (GstVkgdrStream *stream, gboolean defers);
gboolean gst_vkgdr_stream_get_defers (GstVkgdrStream *stream);

/* As gst_vkgdr_stream_record (), but the fence may be deferred. */
GstVkgdrFence *gst_vkgdr_stream_mark_end (
    GstVkgdrStream *stream, GError **error);

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
 * @clock (nullable) is the clock of @handle. It identifies the stream, because
 * the driver reuses handles. */
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
