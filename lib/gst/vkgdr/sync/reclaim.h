/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * sync/reclaim.h: driver calls that wait for the device, in a thread of their
 * own
 *
 * The driver frees memory, unpins memory and unloads modules only when no
 * kernel of the CUDA context runs: the call blocks until then. Neither a
 * streaming thread nor a change of state should wait for kernels. So each
 * context has a thread for such calls.
 *
 * The thread is created on demand, and ends after some time without work. So it
 * may be alive when the last pipeline is gone. gst_deinit () frees data that
 * every use of a GstObject needs, and the exit handlers of the drivers free
 * data that every driver call needs. So all these threads are ended before
 * that. The comments call this moment "the end". It comes when gst_deinit ()
 * releases GStreamer's registry, because GStreamer has no hook for it; and, in
 * programs that do not call gst_deinit (), in an exit handler, which runs
 * before those of the drivers, which were registered earlier. The end waits for
 * a limited time, and leaves open the contexts that are released from then on.
 * A child of fork () has no such thread and does not wait for it. Thread-safe.
 */

#ifndef __GST_VKGDR_RECLAIM_H__
#define __GST_VKGDR_RECLAIM_H__

#include "sync/fence.h"

G_BEGIN_DECLS

/* Calls @func with @data when all of @fences (taken, nullable) are reached. If
 * a fence is lost, waits for the whole CUDA context instead. As long as it is
 * unknown whether the device has finished, @func is not called and the driver
 * is queried again. @func runs in the reclaim thread, without a lock held. If
 * no thread can be created, it runs in the calling thread, after waiting. @func
 * may be called after @context failed; @context is kept alive until then. @func
 * is not called in a child of fork (), nor late in the exit of the process,
 * when the drivers may be gone. */
void gst_vkgdr_reclaim (GstVkgdrContext *context, GPtrArray *fences,
    GDestroyNotify func, gpointer data);

/* Calls @func with @data in the reclaim thread after @delay microseconds,
 * without keeping @context alive: @func must own references to what it uses.
 * Returns FALSE if no thread can be created; then @func is not called. */
gboolean gst_vkgdr_reclaim_later (
    GstVkgdrContext *context, gint64 delay, GDestroyNotify func, gpointer data);

/* Waits until everything that was passed to gst_vkgdr_reclaim () before is
 * done, at most @timeout microseconds. FALSE if it took longer, and in a child
 * of fork (). */
gboolean gst_vkgdr_reclaim_drain (GstVkgdrContext *context, gint64 timeout);

G_END_DECLS

#endif /* __GST_VKGDR_RECLAIM_H__ */
