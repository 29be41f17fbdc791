/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * sync/clock.h: how long the kernels of one CUDA stream run
 *
 * The time of a kernel begins when all fences that its stream waits for are
 * reached. If these fences are unknown, it begins with an event in front of the
 * kernel. It ends with a fence behind the kernel. A kernel that runs for longer
 * than its limit makes its own CUDA stream fail. Other CUDA streams,
 * allocations and frees go on.
 *
 * Kernels in a row that are known to end may share the fence behind the last
 * one. They are measured together, and their limits add up.
 *
 * A clock outlives its stream as long as kernels run. Thread-safe.
 */

#ifndef __GST_VKGDR_CLOCK_H__
#define __GST_VKGDR_CLOCK_H__

#include <gst/vkgdr/gstvkgdrstream.h>

#include "device/device-private.h"
#include "sync/graph.h"
#include "sync/launcher.h"

G_BEGIN_DECLS

typedef struct _GstVkgdrClock GstVkgdrClock;
typedef struct _GstVkgdrRun GstVkgdrRun;

/* @stream is the object to which the CUDA stream @handle belongs. */
GstVkgdrClock *gst_vkgdr_clock_new (
    GstVkgdrContext *context, GstVkgdrStream *stream, CUstream handle);
GstVkgdrClock *gst_vkgdr_clock_ref (GstVkgdrClock *self);
void gst_vkgdr_clock_unref (GstVkgdrClock *self);

/* Must be called when the stream is disposed. */
void gst_vkgdr_clock_detach (GstVkgdrClock *self);

/* Returns a reference to the stream, or NULL if it was disposed. */
GstVkgdrStream *gst_vkgdr_clock_ref_stream (GstVkgdrClock *self);

/* Whether other elements may queue work on the CUDA stream, see sync/follow.h.
 */
void gst_vkgdr_clock_allow_followers (GstVkgdrClock *self);
gboolean gst_vkgdr_clock_allows_followers (GstVkgdrClock *self);

/* Whether the next kernel is expected to have a limit. If so, the clock keeps
 * the fences that the kernel waits for; otherwise a kernel with a limit gets an
 * event in front of it. */
void gst_vkgdr_clock_expect_limit (GstVkgdrClock *self, gboolean has_limit);

/* Must be called when the stream waits for @fence. */
void gst_vkgdr_clock_add_wait (GstVkgdrClock *self, GstVkgdrFence *fence);

/* Must be called when the stream's handle is given to other code, which may
 * queue work on it. */
void gst_vkgdr_clock_share (GstVkgdrClock *self);

/* Returns a reference to a fence behind all work of the stream, or NULL if none
 * was made since the last work. @may_defer: whether the fence may be deferred
 * (see sync/fence.h). */
GstVkgdrFence *gst_vkgdr_clock_get_fence (
    GstVkgdrClock *self, gboolean may_defer);

/* The same, but makes a fence on @handle, the clock's stream, if there is none.
 * Must be called with the CUDA context current. */
GstVkgdrFence *gst_vkgdr_clock_record (
    GstVkgdrClock *self, CUstream handle, gboolean may_defer, GError **error);

/* Launches the kernels that were kept, and records the event of a deferred
 * fence, if the stream has one. */
void gst_vkgdr_clock_record_deferred (GstVkgdrClock *self);

/* Must be called before a launch on @handle, with the CUDA context current.
 * Waits while many kernels of the stream are in flight, because the driver
 * would block for ever behind one that does not end. FALSE with @error set if a
 * kernel of the stream does not end, or if no thread can be created to watch
 * it. @kernel must stay valid. The limit is that of @launcher, whose stream's
 * signal "failed" is emitted if the kernel runs too long or the device fails.
 * @is_bounded: whether the kernel is known to end. @run is for
 * gst_vkgdr_clock_end (); NULL if there is no limit. */
gboolean gst_vkgdr_clock_begin (GstVkgdrClock *self, CUstream handle,
    GstVkgdrLauncher *launcher, const gchar *kernel, gboolean is_bounded,
    GstVkgdrRun **run, GError **error);

/* Launches a kernel between gst_vkgdr_clock_begin () and gst_vkgdr_clock_end
 * (), with the CUDA context current. If @may_wait, it may be kept, and launched
 * later together with others (see sync/tail.h); only for a kernel that is
 * bounded. On failure, *@what is the call that returned the error, maybe for an
 * earlier kernel. */
CUresult gst_vkgdr_clock_launch (GstVkgdrClock *self,
    const GstVkgdrLaunch *launch, gboolean may_wait, const gchar **what);

/* Launches the kernels that were kept: of the stream, or of all streams of the
 * CUDA context. Must be called by code that does not use a fence, before it
 * queues something on the stream, or waits for all streams. @is_current:
 * whether the CUDA context is current. On failure, *@what is the call that
 * returned the error. */
CUresult gst_vkgdr_clock_launch_kept (
    GstVkgdrClock *self, gboolean is_current, const gchar **what);
void gst_vkgdr_clock_launch_all_kept (GstVkgdrContext *context);

/* Must be called after each gst_vkgdr_clock_begin (), with the CUDA context
 * current. @ok: whether the kernel was launched. @may_defer: whether the fence
 * behind it may be deferred; only for a kernel that is bounded. */
void gst_vkgdr_clock_end (GstVkgdrClock *self, CUstream handle,
    GstVkgdrRun *run, gboolean ok, gboolean may_defer);

/* Whether the fence with @serial is known to be reached. If not, @later may be
 * set to a reference to a fence behind it. The caller queries that fence, and
 * calls gst_vkgdr_clock_report_later (). */
gboolean gst_vkgdr_clock_find_later (
    GstVkgdrClock *self, guint64 serial, GstVkgdrFence **later);

/* Must be called after that query. @serial is the serial of the fence that was
 * queried, and @is_reached the result. */
void gst_vkgdr_clock_report_later (
    GstVkgdrClock *self, guint64 serial, gboolean is_reached);

/* Must be called if it is unknown whether work of the stream has ended. Marks
 * the CUDA stream as failed, and emits the signal "failed" of its stream, once.
 * Takes @error. */
void gst_vkgdr_clock_fail (GstVkgdrClock *self, GError *error);

/* FALSE with @error set if a kernel of the stream does not end, or the stream
 * has failed. */
gboolean gst_vkgdr_clock_check (GstVkgdrClock *self, GError **error);

G_END_DECLS

#endif /* __GST_VKGDR_CLOCK_H__ */
