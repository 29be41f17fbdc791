/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * sync/sync-private.h: the interface of the folder sync for the other folders,
 * which docs/architecture.md calls rooms
 *
 * Streams, fences, launches, the order of accesses to a memory, tasks, and
 * threads that wait for fences or a time. Does not use the room memory.
 * Thread-safe, except GstVkgdrOrder.
 */

#ifndef __GST_VKGDR_SYNC_PRIVATE_H__
#define __GST_VKGDR_SYNC_PRIVATE_H__

#include <gst/vkgdr/gstvkgdrstream.h>

#include "device/device-private.h"

G_BEGIN_DECLS

/* --- fence.c: points of a stream that can be waited for ---------------------
 *
 * A fence is an event that was recorded behind some work of a stream. It is
 * pending, reached or lost: the driver gave an error for it, or could not
 * record it. It is then unknown whether the device still uses the memory that
 * the fence protects, so a lost fence is never treated as reached.
 */

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

/* An empty array of GstVkgdrFence, which has references to them. */
GPtrArray *gst_vkgdr_fences_new (void);

/* As gst_vkgdr_fence_wait (), but gives up @timeout microseconds later, with
 * the error that the device has not finished. */
gboolean gst_vkgdr_fence_wait_for (
    GstVkgdrFence *fence, gint64 timeout, GError **error);

/* Adds @fence (transfer full) to @fences, which is made if it is NULL. */
GPtrArray *gst_vkgdr_fences_add (GPtrArray *fences, GstVkgdrFence *fence);

/* The state of all of @fences (nullable) together: pending as long as one of
 * them is, otherwise lost if one of them is lost. */
GstVkgdrFenceState gst_vkgdr_fences_get_state (GPtrArray *fences);

/* If the fence is lost: makes its stream fail, so that an element can post the
 * error. If the device has failed, only notes that: launch.c makes the streams
 * of the kernels fail that may be the cause. Must be called without a lock. */
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

/* A lost fence, for work on streams that the user of a memory did not name
 * ("undeclared"), if the driver cannot record one behind it. */
GstVkgdrFence *gst_vkgdr_fence_new_lost (GstVkgdrContext *context);

GstVkgdrContext *gst_vkgdr_fence_get_context (GstVkgdrFence *fence);

/* The handle for calls of this library. With the public
 * gst_vkgdr_stream_get_handle (), others may queue work that is not known here.
 */
CUstream gst_vkgdr_stream_peek_handle (GstVkgdrStream *stream);

/* Whether @earlier is reached when @fence is, because both are of one stream,
 * and @fence was recorded later. FALSE if @earlier is known to be lost. */
gboolean gst_vkgdr_fence_covers (GstVkgdrFence *fence, GstVkgdrFence *earlier);

/* Whether @fence is pending as long as @earlier is, because both are of one
 * stream, and @earlier was recorded first. Does not query the driver. */
gboolean gst_vkgdr_fence_is_behind (
    GstVkgdrFence *fence, GstVkgdrFence *earlier);

/* Makes @handle, a stream of @context, wait for the fence before it does work
 * that is queued later. Does nothing if the fence is of the same stream.
 * @stream is the object for @handle, or NULL if the stream belongs to another
 * library. */
gboolean gst_vkgdr_fence_precede (GstVkgdrFence *fence,
    GstVkgdrContext *context, CUstream handle, GstVkgdrStream *stream,
    GError **error);

/* --- launch.c: launches of kernels, and their time limits -------------------
 *
 * A launch is a fence that exists before its kernel is queued. Its stream keeps
 * it in a list until the kernel has ended, so that an error of the device names
 * the kernel, and is posted by its element. If the stream has a time limit, the
 * time of the kernel begins when the launch before it and all fences that the
 * stream was made to wait for are reached. A kernel that exceeds its limit
 * makes its own stream fail. Other streams go on, but nothing is freed
 * meanwhile. Timers check the lists.
 */

/* Checks all launches now: forgets those that have ended, and makes the streams
 * of failed and overdue ones fail, the oldest one first. Waits at most 100 ms
 * until the elements have posted these errors, also those that another thread
 * found. Must be called without a lock. In a handler of "failed", does nothing.
 */
void gst_vkgdr_launch_check_all (void);

/* --- order.c: the order in which the CPU and streams access a memory --------
 *
 * Stores of the CPU through the window are not ordered by streams, and streams
 * do not wait for each other. So each memory has fences: `written` is reached
 * when the content is on the device, and each stream that reads the memory adds
 * one to `readers`. An order knows only its fences, not the memory.
 *
 * Not thread-safe: the memory's lock must be held. Only gst_vkgdr_order_wait ()
 * waits.
 */

typedef struct {            /* initially 0, except context */
  GstVkgdrContext *context; /* of the memory; not a reference */
  GstVkgdrFence *written;   /* NULL if the content is on the device */
  guint n_written;          /* how often `written` was set */
  GPtrArray *readers;       /* of GstVkgdrFence; NULL before the first one */
  gboolean has_unknown_use; /* it may be in use, and no fence is behind that */
  GError *lost; /* why the content did not reach the device, or NULL */
} GstVkgdrOrder;

/* Ends the order. Returns the fences that may still be pending; the caller owns
 * the array of GstVkgdrFence. NULL if there are none. One of them is lost if
 * there are unknown uses, and the driver has no fence for them. */
GPtrArray *gst_vkgdr_order_finish (GstVkgdrOrder *order);

/* Waits on the CPU for everything that an access with @flags has to follow.
 * @lock is the memory's, which is released meanwhile. FALSE with @error set if
 * the wait failed, or the content is lost. */
gboolean gst_vkgdr_order_wait (
    GstVkgdrOrder *order, GMutex *lock, GstMapFlags flags, GError **error);

/* FALSE with @error set if the content did not reach the device. The next user
 * of the content gets this error, since an unmap cannot fail. */
gboolean gst_vkgdr_order_check (GstVkgdrOrder *order, GError **error);

/* Makes a fence for unknown uses, if there are any. FALSE if the driver cannot
 * record it (see gst_vkgdr_fence_new_on_all ()): the CPU has to wait before
 * work can be queued. */
gboolean gst_vkgdr_order_settle_unknown (GstVkgdrOrder *order);

/* The same, but if the driver cannot record the fence, releases the lock of the
 * memory and waits. Must be called before work is queued on a stream. */
gboolean gst_vkgdr_order_settle (
    GstVkgdrOrder *order, GMutex *lock, GError **error);

/* Makes @handle, a stream of @context, wait for everything that an access with
 * @flags has to follow, before it does work that is queued later. The CPU does
 * not wait. @stream is the object for @handle, or NULL if the stream belongs to
 * another library. */
gboolean gst_vkgdr_order_make_wait (GstVkgdrOrder *order,
    GstVkgdrContext *context, CUstream handle, GstVkgdrStream *stream,
    GstMapFlags flags, GError **error);

/* Must be called after gst_vkgdr_order_make_wait (), when the access is queued.
 * @fence (transfer full) is behind the access. NULL if recording the fence
 * failed: then the next access waits for the whole CUDA context. */
void gst_vkgdr_order_mark (
    GstVkgdrOrder *order, GstVkgdrFence *fence, GstMapFlags flags);

/* Replaces all fences by @fence (transfer full, nullable), which is behind all
 * earlier accesses to the memory. */
void gst_vkgdr_order_set (GstVkgdrOrder *order, GstVkgdrFence *fence);

/* Whether the content is on the device, so that readers do not have to wait. */
gboolean gst_vkgdr_order_is_written (GstVkgdrOrder *order);

/* Whether all accesses of the device are known to have ended. If not, sets
 * @pending to a fence that is not reached. If @pending is set before the call,
 * fences behind it are not queried. The caller drops the reference. */
gboolean gst_vkgdr_order_is_idle (
    GstVkgdrOrder *order, GstVkgdrFence **pending);

/* --- task.c: work on a stream ------------------------------------------------
 *
 * A task is work that one thread queues on one stream, with one event behind
 * it. Between its begin and its end the CUDA context is pushed. The room memory
 * has functions that tell a task which memories its work uses.
 *
 *   GstVkgdrTask task;
 *
 *   if (!gst_vkgdr_task_begin (&task, stream, error))
 *     return FALSE;
 *   ok = gst_vkgdr_task_use_buffer (&task, input, GST_MAP_READ, error)
 *        && gst_vkgdr_task_use_memory (&task, output, GST_MAP_WRITE, error)
 *        && queue_work (stream, error);
 *   return gst_vkgdr_task_end (&task, ok ? error : NULL) && ok;
 */

/* The number of orders that a task has room for without an allocation. */
#define GST_VKGDR_TASK_FEW 8

typedef struct {
  GstVkgdrOrder *order;
  GMutex *lock;
  GstMapFlags flags;
  guint n_written; /* of the order, when the stream was made to wait */
} GstVkgdrTaskUse;

/* On the stack. The fields are private. */
typedef struct _GstVkgdrTask {
  GstVkgdrStream *stream;      /* not a reference */
  struct _GstVkgdrTask *outer; /* of the same thread, or NULL */
  GstVkgdrFence *launch;       /* the last launch, or NULL */
  gboolean is_refused;         /* a memory cannot be used: no work is queued */
  GstVkgdrTaskUse few[GST_VKGDR_TASK_FEW];
  GArray *more; /* of GstVkgdrTaskUse: all after the first ones; or NULL */
  guint n_uses;
} GstVkgdrTask;

/* The thread that begins a task has to end it. Tasks can be nested. FALSE with
 * @error set on failure: then the task must not be used. */
gboolean gst_vkgdr_task_begin (
    GstVkgdrTask *task, GstVkgdrStream *stream, GError **error);

/* Must be called before the work is queued. Makes the stream wait for all
 * accesses to a memory that an access with @flags has to follow. @order and
 * @lock are the memory's, and must exist until the task ends. If this fails, no
 * work must be queued, and the task has to be ended. */
gboolean gst_vkgdr_task_use (GstVkgdrTask *task, GstVkgdrOrder *order,
    GMutex *lock, GstMapFlags flags, GError **error);

/* Records the event behind the work, and marks the order of all memories. Must
 * be called after a failure, too: part of the work may have been queued. Does
 * not change which copy of a memory's content is current. FALSE with @error set
 * if the event could not be recorded: then the next users of the memories wait
 * for the whole CUDA context. */
gboolean gst_vkgdr_task_end (GstVkgdrTask *task, GError **error);

/* Like gst_vkgdr_stream_synchronize (), for the end of the work of an element:
 * kernels without a limit get one of @limit milliseconds from now on. A stream
 * without kernels waits for others for the same time. */
gboolean gst_vkgdr_stream_finish (
    GstVkgdrStream *stream, guint limit, GError **error);

/* Must be called around a call that queues a kernel, without a lock.
 * gst_vkgdr_launch_end () consumes the launch.
 *
 * If the stream has a limit, waits while many kernels of the stream are in
 * flight, because the driver would block for ever behind one that does not end.
 * NULL with @error set if the stream has failed. @kernel must be interned. */
GstVkgdrFence *gst_vkgdr_launch_begin (
    GstVkgdrStream *stream, const gchar *kernel, GError **error);

/* @ok: whether the kernel was queued. If so, a task of this thread on the
 * stream will record the event behind it; without a task, it is recorded now.
 * FALSE if @ok is, or with @error set if that fails: then it is unknown when
 * the kernel ends, and it is not watched. */
gboolean gst_vkgdr_launch_end (
    GstVkgdrFence *launch, gboolean ok, GError **error);

/* --- reclaim.c: driver calls that wait for the device -----------------------
 *
 * The driver frees memory, unpins memory and unloads modules only when no
 * kernel of the CUDA context runs: the call blocks until then. Neither a
 * streaming thread nor a change of state should wait for kernels. So each
 * CUDA context has a thread for such calls, and another one for timers, which
 * find the kernel that such a call waits for.
 *
 * A thread is created on demand, and ends after some time without work. So it
 * may be alive when the last pipeline is gone. gst_deinit () frees data that
 * every use of a GstObject needs, and the exit handlers of the drivers free
 * data that every driver call needs. So all these threads are ended before
 * that. The comments call this moment "the end". GStreamer has no hook for it.
 * So it comes when gst_deinit () releases GStreamer's registry, or, without
 * gst_deinit (), in an exit handler. This one runs before those of the drivers,
 * because they were registered earlier. The end waits for a limited time, and
 * leaves open the contexts that are released from then on.
 * A child of fork () has no such thread and does not wait for it.
 */

/* Calls @func with @data when all of @fences (transfer full, nullable) are
 * reached. If a fence is lost, waits for the whole CUDA context instead. As
 * long as it is unknown whether the device has finished, @func is not called
 * and the driver is queried again. @func runs in the reclaim thread, without a
 * lock held. It may be called after @context failed; @context is kept alive
 * until then. @func is not called if no thread can be created, in a child of
 * fork (), nor late in the exit of the process, when the drivers may be gone.
 */
void gst_vkgdr_reclaim (GstVkgdrContext *context, GPtrArray *fences,
    GDestroyNotify func, gpointer data);

/* Calls @func with @data in the timer thread after @delay microseconds,
 * without keeping @context alive: @func must own references to what it uses. It
 * must not queue work, nor wait for the device: while another thread frees
 * memory, the driver may block a call that queues work until a kernel ends.
 * Returns FALSE if no thread can be created; then @func is not called. */
gboolean gst_vkgdr_reclaim_later (
    GstVkgdrContext *context, gint64 delay, GDestroyNotify func, gpointer data);

/* Waits until everything that was passed to gst_vkgdr_reclaim () before is
 * done, at most @timeout microseconds. */
void gst_vkgdr_reclaim_drain (GstVkgdrContext *context, gint64 timeout);

G_END_DECLS

#endif /* __GST_VKGDR_SYNC_PRIVATE_H__ */
