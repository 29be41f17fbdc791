/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * sync/reclaim.h: work that has to wait for the device, in a thread of its own
 *
 * The driver frees memory, unpins memory and unloads modules only when no
 * kernel of the CUDA context runs: the call blocks for as long as the kernels
 * take. Such calls are made in a thread that each context has for this, so that
 * neither a streaming thread nor a change of state waits for kernels.
 *
 * The thread is made when it is needed, and ends when it has had nothing to do
 * for a while. The end of the process waits for it, but not for ever. In a
 * child of fork () there is no such thread, and the child does not wait for it.
 * Thread-safe.
 */

#ifndef __GST_VKGDR_RECLAIM_H__
#define __GST_VKGDR_RECLAIM_H__

#include "sync/fence.h"

G_BEGIN_DECLS

/* Calls @func with @data when all of @fences (taken, nullable) are reached. If
 * a fence is lost, the whole CUDA context is waited for instead. As long as
 * nothing can tell that the device has finished, @func is not called, and what
 * it would free stays as it is; the driver is asked again. @func runs in
 * another thread, without a lock held; if no thread can be made, in this one,
 * after waiting. It may be called after
 * @context failed. @context is kept alive until then. In a child of fork (),
 * and once the process has ended so far that the drivers may be gone, @func is
 * not called. */
void gst_vkgdr_reclaim (GstVkgdrContext *context, GPtrArray *fences,
    GDestroyNotify func, gpointer data);

/* Gives back a reference of gst_vkgdr_context_ref_in_background () in that
 * thread. Other threads that the end of the process does not wait for use this:
 * the last reference closes the device, which must not race with the end of the
 * drivers. While the process ends, the reference is kept. */
void gst_vkgdr_reclaim_context (GstVkgdrContext *context);

/* Calls @func with @data in that thread after @delay microseconds, without
 * keeping @context alive: @func must hold on to what it uses. Returns FALSE if
 * there can be no thread: then @func is not called. */
gboolean gst_vkgdr_reclaim_later (
    GstVkgdrContext *context, gint64 delay, GDestroyNotify func, gpointer data);

/* Waits until what was to be reclaimed by now is, @timeout microseconds at
 * most. FALSE if it took longer, and in a child of fork (). */
gboolean gst_vkgdr_reclaim_drain (GstVkgdrContext *context, gint64 timeout);

G_END_DECLS

#endif /* __GST_VKGDR_RECLAIM_H__ */
