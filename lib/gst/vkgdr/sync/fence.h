/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * sync/fence.h: points of a stream that can be waited for
 *
 * A fence is an event that has been recorded behind the work. It is pending,
 * reached or lost. A fence is lost if the driver could not be queried. It is
 * then unknown whether the device still uses the memory that the fence
 * protects, so a lost fence is never treated as reached. Thread-safe.
 */

#ifndef __GST_VKGDR_FENCE_H__
#define __GST_VKGDR_FENCE_H__

#include <gst/vkgdr/gstvkgdrstream.h>

#include "device/device-private.h"

G_BEGIN_DECLS

typedef enum {
  GST_VKGDR_FENCE_PENDING,
  GST_VKGDR_FENCE_REACHED,
  GST_VKGDR_FENCE_LOST
} GstVkgdrFenceState;

/* Does not block. @error is set if the fence is lost. Without @error, only
 * queries the driver, and does not change the health of the context, so locks
 * may be held. */
GstVkgdrFenceState gst_vkgdr_fence_get_state (
    GstVkgdrFence *fence, GError **error);

/* The state of all of @fences (nullable) together: pending as long as one of
 * them is, otherwise lost if one of them is lost. */
GstVkgdrFenceState gst_vkgdr_fences_get_state (GPtrArray *fences);

/* If the fence is lost: makes its stream fail, so that an element can post the
 * error. If the device has failed, only takes note of that: the kernels that
 * may be the cause make their streams fail. Must be called without a lock. */
void gst_vkgdr_fence_report_lost (GstVkgdrFence *fence);

/* Records a fence behind all work that is queued on @handle, a stream of
 * @context that belongs to another library. */
GstVkgdrFence *gst_vkgdr_fence_new_on (
    GstVkgdrContext *context, CUstream handle, GError **error);

/* A fence behind all work that is queued on any stream of the CUDA context,
 * including those of other libraries. NULL if the driver cannot record it:
 * drivers before CUDA 12.5 cannot, and no driver can while a stream is
 * captured. */
GstVkgdrFence *gst_vkgdr_fence_new_on_all (GstVkgdrContext *context);

/* A fence for work on undeclared streams behind which the driver cannot record
 * one. */
GstVkgdrFence *gst_vkgdr_fence_new_lost (GstVkgdrContext *context);

GstVkgdrContext *gst_vkgdr_fence_get_context (GstVkgdrFence *fence);

/* Makes work that is queued on @handle, a stream of @context, from now on wait
 * for the fence. Does nothing if the fence was recorded on the same stream.
 * @stream is the object for @handle, or NULL if the stream belongs to another
 * library. */
gboolean gst_vkgdr_fence_precede (GstVkgdrFence *fence,
    GstVkgdrContext *context, CUstream handle, GstVkgdrStream *stream,
    GError **error);

/* Must be called between two queries of the device, by a thread that has waited
 * for it since @since (monotonic time). A wait inside the driver ends only when
 * the device is done; if the device hangs, it never ends. So a thread that
 * waits queries, pauses and queries again, and can give up. The pauses grow
 * with the time waited so far, so that both the delay and the cost of the
 * queries stay within a few percent of it. */
void gst_vkgdr_pause (gint64 since);

G_END_DECLS

#endif /* __GST_VKGDR_FENCE_H__ */
