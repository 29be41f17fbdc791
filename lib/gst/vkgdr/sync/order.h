/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * sync/order.h: who may touch a memory when
 *
 * Stores through the window obey no stream, and streams do not wait for each
 * other. So a memory has fences: one that is reached when its content is on the
 * device, and one for each stream that reads it. Knows nothing of what is
 * written and read. Not thread-safe: the user locks.
 */

#ifndef __GST_VKGDR_ORDER_H__
#define __GST_VKGDR_ORDER_H__

#include "sync/fence.h"

G_BEGIN_DECLS

typedef struct {
  GstVkgdrContext *context; /* the memory's; not a reference */
  GstVkgdrFence *written;   /* the content is there; NULL: it is */
  GPtrArray *readers;       /* of GstVkgdrFence; NULL: there was none yet */
  gboolean foreign; /* somebody uses it, or did, whom no fence stands for */
  GError *lost;     /* why what was written did not get there */
} GstVkgdrOrder;

void gst_vkgdr_order_init (GstVkgdrOrder *order, GstVkgdrContext *context);

/* Ends it. Returns the fences that are still to be waited for, of
 * GstVkgdrFence; the caller owns them. NULL where there is none. */
GPtrArray *gst_vkgdr_order_finish (GstVkgdrOrder *order);

/* Waits on the CPU for what must be done before the CPU may do what @flags
 * say. */
gboolean gst_vkgdr_order_wait (
    GstVkgdrOrder *order, GstMapFlags flags, GError **error);

/* The same for what is queued on @stream from now on; no CPU waits. */
gboolean gst_vkgdr_order_stream (GstVkgdrOrder *order, GstVkgdrStream *stream,
    GstMapFlags flags, GError **error);

/* As above for a stream of @context that is somebody else's. */
gboolean gst_vkgdr_order_precede (GstVkgdrOrder *order,
    GstVkgdrContext *context, CUstream handle, GstMapFlags flags,
    GError **error);

/* @stream now has the access queued that gst_vkgdr_order_stream () made room
 * for. The fence is the order's own; NULL with @error set on failure. */
GstVkgdrFence *gst_vkgdr_order_mark (GstVkgdrOrder *order,
    GstVkgdrStream *stream, GstMapFlags flags, GError **error);

/* Somebody has had the access that @flags say, and all that he does on the
 * device is queued, on streams that he kept to himself. */
void gst_vkgdr_order_mark_untold (GstVkgdrOrder *order, GstMapFlags flags);

/* Nothing is known of the memory but that @fence (taken) stands for all that
 * was done to it, as it does where that is somebody else's, who told us his
 * stream. */
void gst_vkgdr_order_set (GstVkgdrOrder *order, GstVkgdrFence *fence);

/* Whether the content is there, so that nobody who reads has to wait. */
gboolean gst_vkgdr_order_is_written (GstVkgdrOrder *order);

/* Whether the device has finished, as far as fences tell. */
gboolean gst_vkgdr_order_is_idle (GstVkgdrOrder *order);

G_END_DECLS

#endif /* __GST_VKGDR_ORDER_H__ */
