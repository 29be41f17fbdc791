/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * sync/watchdog.h: what becomes of kernels once they are launched
 *
 * One for each CUDA context of the process, shared by all that use it. It knows
 * the kernels that have not been seen to end, in the order of their launches.
 * Where one runs longer than its stream allows, the CUDA context has hung:
 * nothing ends the kernel, and the driver's calls that wait for the device
 * would never return. So none is made any more: gst_vkgdr_context_push () fails
 * from then on, and with it all that begins with it, the freeing of what the
 * device has as well. Where a kernel failed, the context is lost: all calls
 * return an error, and none blocks.
 *
 * Knows nothing of memory nor of elements. Thread-safe.
 */

#ifndef __GST_VKGDR_WATCHDOG_H__
#define __GST_VKGDR_WATCHDOG_H__

#include "sync/fence.h"

G_BEGIN_DECLS

/* A stream's part, in the stream; all 0 at first. */
typedef struct {
  gint limit;      /* milliseconds for a kernel, 0: none; atomic */
  gint unmarked;   /* kernels that no fence stands for yet; atomic */
  guint in_flight; /* kernels that are known; under the watchdog's lock */
} GstVkgdrWatched;

GstVkgdrWatched *gst_vkgdr_stream_get_watched (GstVkgdrStream *stream);

/* The one of @context, which is new or works again. NULL with @error set where
 * it has hung, or was lost and others still use it. */
GstVkgdrWatchdog *gst_vkgdr_watchdog_get (
    const vkgdr_cuda *cuda, CUcontext context, GError **error);

void gst_vkgdr_watchdog_unref (GstVkgdrWatchdog *self);

/* FALSE with @error set where the context has hung. */
gboolean gst_vkgdr_watchdog_check (GstVkgdrWatchdog *self, GError **error);

/* Whether the context has hung or was lost, and is not known to have got over
 * it. */
gboolean gst_vkgdr_watchdog_has_failed (GstVkgdrWatchdog *self);

/* As gst_vkgdr_check (). Where @result says that the context is lost, the error
 * names the kernels that may be to blame, too. */
gboolean gst_vkgdr_watchdog_check_result (
    GstVkgdrWatchdog *self, CUresult result, const gchar *what, GError **error);

/* The same for the CUDA context that is current in the thread, and a @result
 * that says that it is lost. Returns whether it is known here. */
gboolean gst_vkgdr_watchdog_tell (
    const vkgdr_cuda *cuda, CUresult result, const gchar *what, GError **error);

/* Around a launch. Waits where too many of the stream's kernels are under way,
 * since the driver would, and where somebody is alone with the device. FALSE
 * with @error set: do not launch, and do not end it. */
gboolean gst_vkgdr_watchdog_begin_launch (
    GstVkgdrWatchdog *self, GstVkgdrStream *stream, GError **error);

/* @kernel was launched; NULL: it was not. */
void gst_vkgdr_watchdog_end_launch (
    GstVkgdrWatchdog *self, GstVkgdrStream *stream, const gchar *kernel);

/* @fence stands for all that was launched on @stream. */
void gst_vkgdr_watchdog_mark (
    GstVkgdrWatchdog *self, GstVkgdrStream *stream, GstVkgdrFence *fence);

/* All that was queued on @stream is over. */
void gst_vkgdr_watchdog_settle (GstVkgdrWatchdog *self, GstVkgdrStream *stream);

/* @stream is about to go; its kernels run on. */
void gst_vkgdr_watchdog_forget (GstVkgdrWatchdog *self, GstVkgdrStream *stream);

/* Between these no kernel runs that is known here, so that the driver's calls
 * which wait for the device return. FALSE with @error set where the context has
 * hung. */
gboolean gst_vkgdr_watchdog_begin_alone (
    GstVkgdrWatchdog *self, GError **error);
void gst_vkgdr_watchdog_end_alone (GstVkgdrWatchdog *self);

G_END_DECLS

#endif /* __GST_VKGDR_WATCHDOG_H__ */
