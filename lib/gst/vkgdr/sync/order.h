/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * sync/order.h: who may access a memory when
 *
 * Stores of the CPU through the window obey no stream, and streams do not wait
 * for each other. So each memory has fences: one that is reached when its
 * content is on the device (written), and one for each access of a stream that
 * reads it (readers). An order knows nothing of what is written or read.
 *
 * Not thread-safe: the memory's lock must be held. No function waits.
 */

#ifndef __GST_VKGDR_ORDER_H__
#define __GST_VKGDR_ORDER_H__

#include "sync/fence.h"

G_BEGIN_DECLS

typedef struct {
  GstVkgdrContext *context; /* the memory's; not a reference */
  GstVkgdrFence *written;   /* NULL: the content is on the device */
  GPtrArray *readers;       /* of GstVkgdrFence; NULL: there was none yet */
  guint64 unknown_uses;     /* on streams that were not declared; only grows */
  guint64 settled_uses;     /* the first of these, which were waited for */
  GError *lost; /* why the content did not reach the device, or NULL */
} GstVkgdrOrder;

/* Work that an access has to follow. */
typedef struct {
  GPtrArray *fences;   /* of GstVkgdrFence; NULL: nothing */
  gboolean on_context; /* and all work of the CUDA context */
  guint64 uses;        /* for gst_vkgdr_order_settle_uses () */
} GstVkgdrPending;

void gst_vkgdr_order_init (GstVkgdrOrder *order, GstVkgdrContext *context);

/* Ends the order. Returns the fences that the device may not have reached yet,
 * of GstVkgdrFence, which the caller owns; NULL if there are none. If work on
 * streams that were not declared may go on and the driver has no fence for
 * that,
 * @on_context is set: the whole CUDA context has to be waited for. */
GPtrArray *gst_vkgdr_order_finish (GstVkgdrOrder *order, gboolean *on_context);

/* Moves to @pending what the CPU has to wait for before it may do what @flags
 * say. FALSE if there is nothing to wait for. The caller gives up the lock,
 * calls gst_vkgdr_pending_wait () and takes the lock. If that was successful,
 * it calls gst_vkgdr_order_settle_uses () with `uses`, and asks again. */
gboolean gst_vkgdr_order_get_pending (
    GstVkgdrOrder *order, GstMapFlags flags, GstVkgdrPending *pending);

/* Waits on the CPU, without a lock, and clears @pending. */
gboolean gst_vkgdr_pending_wait (
    GstVkgdrPending *pending, GstVkgdrContext *context, GError **error);

/* FALSE with @error set if the content did not reach the device. Nothing else
 * can tell the user of the content, since an unmap cannot fail. */
gboolean gst_vkgdr_order_check (GstVkgdrOrder *order, GError **error);

/* Whether the CPU has to wait for the whole CUDA context before work can be
 * queued: the memory was used on streams that were not declared, and the driver
 * is older than CUDA 12.5. Then @uses is set. The caller gives up the
 * lock, waits, takes the lock, calls gst_vkgdr_order_settle_uses () with @uses,
 * and asks again. */
gboolean gst_vkgdr_order_needs_context (GstVkgdrOrder *order, guint64 *uses);

/* A wait for the whole CUDA context, before which @uses was set, was
 * successful. Until this is called the uses count, so that other threads wait,
 * too. A use that came during the wait still counts. */
void gst_vkgdr_order_settle_uses (GstVkgdrOrder *order, guint64 uses);

/* Work that is queued on @stream from now on follows what an access with @flags
 * has to follow. The CPU does not wait. */
gboolean gst_vkgdr_order_stream (GstVkgdrOrder *order, GstVkgdrStream *stream,
    GstMapFlags flags, GError **error);

/* The same for a stream of @context that is not this library's. */
gboolean gst_vkgdr_order_precede (GstVkgdrOrder *order,
    GstVkgdrContext *context, CUstream handle, GstMapFlags flags,
    GError **error);

/* The access with @flags for which gst_vkgdr_order_stream () was called is
 * queued; @fence (taken) is behind it. If there is none, because recording it
 * failed, the whole CUDA context counts. */
void gst_vkgdr_order_mark (
    GstVkgdrOrder *order, GstVkgdrFence *fence, GstMapFlags flags);

/* The same for an access on streams that were not declared. All of it must be
 * queued. */
void gst_vkgdr_order_mark_unknown_stream (
    GstVkgdrOrder *order, GstMapFlags flags);

/* Replaces all that is known: @fence (taken, nullable) is behind everything
 * that was done to the memory. */
void gst_vkgdr_order_set (GstVkgdrOrder *order, GstVkgdrFence *fence);

/* Whether the content is on the device, so that a reader need not wait. */
gboolean gst_vkgdr_order_is_written (GstVkgdrOrder *order);

/* Whether the device has finished with the memory, as far as fences tell. */
gboolean gst_vkgdr_order_is_idle (GstVkgdrOrder *order);

G_END_DECLS

#endif /* __GST_VKGDR_ORDER_H__ */
