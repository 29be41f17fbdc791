/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * sync/order.h: the order in which the CPU and streams access a memory
 *
 * Stores of the CPU through the window are not ordered by streams, and streams
 * do not wait for each other. So each memory has fences: `written` is reached
 * when the content is on the device, and each stream that reads the memory adds
 * one to `readers`. An order does not know what is written or read.
 *
 * Not thread-safe: the memory's lock must be held. Only gst_vkgdr_order_wait ()
 * waits.
 */

#ifndef __GST_VKGDR_ORDER_H__
#define __GST_VKGDR_ORDER_H__

#include "sync/fence.h"
#include "sync/stream.h"

G_BEGIN_DECLS

typedef struct {
  GstVkgdrContext *context; /* of the memory; not a reference */
  GstVkgdrFence *written;   /* NULL if the content is on the device */
  GPtrArray *readers;       /* of GstVkgdrFence; NULL before the first one */
  guint64 unknown_uses;     /* count of uses on undeclared streams */
  guint64 settled_uses;     /* how many of these were waited for */
  GError *lost; /* why the content did not reach the device, or NULL */
} GstVkgdrOrder;

void gst_vkgdr_order_init (GstVkgdrOrder *order, GstVkgdrContext *context);

/* Ends the order. Returns the fences that may still be pending; the caller owns
 * the array of GstVkgdrFence. NULL if there are none. One of them is lost if
 * the memory was used on undeclared streams, and the driver has no fence for
 * them.
 */
GPtrArray *gst_vkgdr_order_finish (GstVkgdrOrder *order);

/* Waits on the CPU for everything that an access with @flags has to follow.
 * @lock is the memory's, which is released meanwhile. FALSE with @error set if
 * the wait failed, or the content is lost. */
gboolean gst_vkgdr_order_wait (
    GstVkgdrOrder *order, GMutex *lock, GstMapFlags flags, GError **error);

/* FALSE with @error set if the content did not reach the device. The next user
 * of the content gets this error, since an unmap cannot fail. */
gboolean gst_vkgdr_order_check (GstVkgdrOrder *order, GError **error);

/* Whether the memory was used on undeclared streams, and nothing has waited for
 * that yet. */
static inline gboolean
gst_vkgdr_order_has_unknown_use (const GstVkgdrOrder *order)
{
  return order->unknown_uses != order->settled_uses;
}

/* Makes a fence for such uses, if there are any. FALSE if the driver cannot
 * record it (see gst_vkgdr_fence_new_on_all ()): the CPU has to wait before
 * work can be queued. */
gboolean gst_vkgdr_order_settle_unknown (GstVkgdrOrder *order);

/* Makes work that is queued on @handle, a stream of @context, from now on wait
 * for everything that an access with @flags has to follow. The CPU does not
 * wait. @stream is the object for @handle, or NULL if the stream belongs to
 * another library. */
gboolean gst_vkgdr_order_make_wait (GstVkgdrOrder *order,
    GstVkgdrContext *context, CUstream handle, GstVkgdrStream *stream,
    GstMapFlags flags, GError **error);

/* Must be called when the access for which gst_vkgdr_order_make_wait () was
 * called is queued. @fence (taken) is behind it. NULL if recording the fence
 * failed: then the next access waits for the whole CUDA context. */
void gst_vkgdr_order_mark (
    GstVkgdrOrder *order, GstVkgdrFence *fence, GstMapFlags flags);

/* The same for an access on undeclared streams. All of its work must be queued.
 */
void gst_vkgdr_order_mark_unknown_stream (
    GstVkgdrOrder *order, GstMapFlags flags);

/* Replaces all fences by @fence (taken, nullable), which is behind all earlier
 * accesses to the memory. */
void gst_vkgdr_order_set (GstVkgdrOrder *order, GstVkgdrFence *fence);

/* Whether there is no fence, no use on undeclared streams, and no error. Does
 * not query fences, so the result may be FALSE although all work is done. */
static inline gboolean
gst_vkgdr_order_is_empty (const GstVkgdrOrder *order)
{
  return !order->written && !order->readers && !order->lost
         && !gst_vkgdr_order_has_unknown_use (order);
}

/* Whether the content is on the device, so that readers do not have to wait. */
gboolean gst_vkgdr_order_is_written (GstVkgdrOrder *order);

/* Whether all known accesses of the device have ended. */
gboolean gst_vkgdr_order_is_idle (GstVkgdrOrder *order);

G_END_DECLS

#endif /* __GST_VKGDR_ORDER_H__ */
