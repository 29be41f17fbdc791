/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * sync/task.c: see sync/sync-private.h
 */

#include "sync/launch.h"

/* The tasks of this thread that have not ended yet, the innermost first. */
static _Thread_local GstVkgdrTask *tasks;

/* --- the events of launches -------------------------------------------------
 *
 * A launch is open from the end of the call that queues the kernel until a
 * thread begins to record its event. There is at most one open launch for each
 * thread that uses the stream.
 */

/* Whether @launch was open. If so, the caller has to record its event. */
static gboolean
take_locked (GstVkgdrFence *launch)
{
  gboolean was_open = launch->is_open;

  launch->is_open = FALSE;
  if (was_open)
    launch->stream->n_open--;
  return was_open;
}

static gboolean
take (GstVkgdrFence *launch)
{
  gboolean was_open;

  GST_OBJECT_LOCK (launch->stream);
  was_open = take_locked (launch);
  GST_OBJECT_UNLOCK (launch->stream);
  return was_open;
}

/* Returns a reference to a launch that was open, or NULL if there is none. */
static GstVkgdrFence *
take_any (GstVkgdrStream *stream)
{
  GstVkgdrFence *launch = NULL;
  GList *link;

  GST_OBJECT_LOCK (stream);
  for (link = stream->n_open > 0 ? stream->launches.head : NULL;
       link && !launch; link = link->next)
    if (take_locked (link->data))
      launch = gst_vkgdr_fence_ref (link->data);
  GST_OBJECT_UNLOCK (stream);
  return launch;
}

/* If this fails, it is unknown when the kernel ends. The launch is in the list
 * until then, so that the error names it. */
static gboolean
record (GstVkgdrFence *launch, GError **error)
{
  if (gst_vkgdr_fence_record (launch, error))
    return TRUE;
  gst_vkgdr_launch_remove (launch);
  return FALSE;
}

/* Records the events of all open launches of @stream, of any thread, so that
 * the work that is queued next does not count as their time. Returns the last
 * one of them, which the caller owns, or NULL. */
static GstVkgdrFence *
record_open (GstVkgdrStream *stream)
{
  GstVkgdrFence *last = NULL, *launch;

  while ((launch = take_any (stream))) {
    g_clear_pointer (&last, gst_vkgdr_fence_unref);
    if (record (launch, NULL))
      last = launch;
    else
      gst_vkgdr_fence_unref (launch);
  }
  return last;
}

static void
close_open (GstVkgdrStream *stream)
{
  GstVkgdrFence *last = record_open (stream);

  g_clear_pointer (&last, gst_vkgdr_fence_unref);
}

/* --- launches --------------------------------------------------------------
 */

GstVkgdrFence *
gst_vkgdr_launch_begin (
    GstVkgdrStream *stream, const gchar *kernel, GError **error)
{
  close_open (stream);
  return gst_vkgdr_launch_add (stream, kernel, error);
}

static GstVkgdrTask *
find_task (GstVkgdrStream *stream)
{
  GstVkgdrTask *task = tasks;

  while (task && task->stream != stream)
    task = task->outer;
  return task;
}

/* The task will record the event. */
static void
leave_open (GstVkgdrTask *task, GstVkgdrFence *launch)
{
  GstVkgdrStream *stream = launch->stream;

  /* The event of the last one was recorded before this launch. */
  g_clear_pointer (&task->launch, gst_vkgdr_fence_unref);
  task->launch = launch;
  GST_OBJECT_LOCK (stream);
  launch->is_open = TRUE;
  stream->n_open++;
  GST_OBJECT_UNLOCK (stream);
}

gboolean
gst_vkgdr_launch_end (GstVkgdrFence *launch, gboolean ok, GError **error)
{
  GstVkgdrTask *task = find_task (launch->stream);

  if (ok && task) {
    leave_open (task, launch);
    return TRUE;
  }
  if (!ok)
    gst_vkgdr_launch_remove (launch);
  else
    ok = record (launch, error);
  gst_vkgdr_fence_unref (launch);
  return ok;
}

/* --- tasks -----------------------------------------------------------------
 */

gboolean
gst_vkgdr_task_begin (
    GstVkgdrTask *task, GstVkgdrStream *stream, GError **error)
{
  if (!gst_vkgdr_context_push (stream->context, error))
    return FALSE;
  close_open (stream);
  task->stream = stream;
  task->outer = tasks;
  task->launch = NULL;
  task->is_refused = FALSE;
  task->n_uses = 0;
  task->more = NULL;
  tasks = task;
  return TRUE;
}

static GstVkgdrTaskUse *
get_use (GstVkgdrTask *task, guint i)
{
  return i < GST_VKGDR_TASK_FEW ? &task->few[i]
                                : &g_array_index (task->more, GstVkgdrTaskUse,
                                    i - GST_VKGDR_TASK_FEW);
}

static void
add_use (GstVkgdrTask *task, const GstVkgdrTaskUse *use)
{
  if (task->n_uses < GST_VKGDR_TASK_FEW) {
    task->few[task->n_uses++] = *use;
    return;
  }
  if (!task->more)
    task->more = g_array_new (FALSE, FALSE, sizeof (GstVkgdrTaskUse));
  g_array_append_vals (task->more, use, 1);
  task->n_uses++;
}

/* Makes the stream wait for all accesses so far. */
static gboolean
wait_locked (GstVkgdrTask *task, GstVkgdrTaskUse *use, GError **error)
{
  GstVkgdrStream *stream = task->stream;

  use->n_written = use->order->n_written;
  return gst_vkgdr_order_settle (use->order, use->lock, error)
         && gst_vkgdr_order_make_wait (use->order, stream->context,
             stream->handle, stream, use->flags, error);
}

gboolean
gst_vkgdr_task_use (GstVkgdrTask *task, GstVkgdrOrder *order, GMutex *lock,
    GstMapFlags flags, GError **error)
{
  GstVkgdrTaskUse use = { .order = order, .lock = lock, .flags = flags };
  gboolean ok;

  g_mutex_lock (use.lock);
  ok = wait_locked (task, &use, error);
  g_mutex_unlock (use.lock);
  if (ok)
    add_use (task, &use);
  else
    task->is_refused = TRUE;
  return ok;
}

/* If another thread or stream has written to the memory since the task began to
 * use it, makes the stream wait for that, so that the fence of the task covers
 * it. This happens if a filter writes by the CPU: the content is then
 * transferred on another stream. */
static gboolean
follow_writers (GstVkgdrTask *task, GError **error)
{
  gboolean ok = TRUE;
  guint i;

  for (i = 0; ok && i < task->n_uses; i++) {
    GstVkgdrTaskUse *use = get_use (task, i);

    if (!(use->flags & GST_MAP_WRITE))
      continue;
    g_mutex_lock (use->lock);
    if (use->order->n_written != use->n_written)
      ok = wait_locked (task, use, error);
    g_mutex_unlock (use->lock);
  }
  return ok;
}

/* Returns the fence behind the work of the task: its launch, if nothing else
 * has needed the event of the launch before. */
static GstVkgdrFence *
make_fence (GstVkgdrTask *task, GError **error)
{
  GstVkgdrFence *launch = g_steal_pointer (&task->launch), *fence;

  if (launch && take (launch)) {
    if (record (launch, error))
      return launch;
    gst_vkgdr_fence_unref (launch);
    return NULL;
  }
  g_clear_pointer (&launch, gst_vkgdr_fence_unref);
  fence = gst_vkgdr_fence_new (task->stream, error);
  if (fence && g_atomic_int_get (&task->stream->limit) > 0)
    gst_vkgdr_launch_add_other (fence);
  return fence;
}

static void
mark (GstVkgdrTask *task, GstVkgdrFence *fence)
{
  guint i;

  for (i = 0; i < task->n_uses; i++) {
    GstVkgdrTaskUse *use = get_use (task, i);

    g_mutex_lock (use->lock);
    gst_vkgdr_order_mark (
        use->order, fence ? gst_vkgdr_fence_ref (fence) : NULL, use->flags);
    g_mutex_unlock (use->lock);
  }
}

gboolean
gst_vkgdr_task_end (GstVkgdrTask *task, GError **error)
{
  GstVkgdrFence *fence;
  gboolean ok = TRUE;

  if (!task->is_refused) {
    ok = follow_writers (task, error);
    fence = make_fence (task, ok ? error : NULL);
    mark (task, fence);
    ok = ok && fence;
    g_clear_pointer (&fence, gst_vkgdr_fence_unref);
  }
  tasks = task->outer;
  g_clear_pointer (&task->more, g_array_unref);
  gst_vkgdr_context_pop (task->stream->context);
  return ok;
}

/* --- fences of the user ----------------------------------------------------
 */

/**
 * gst_vkgdr_stream_record:
 * @stream: a stream
 * @error: return location for a #GError
 *
 * Marks the point of the stream behind all work queued so far.
 *
 * Returns: (transfer full) (nullable): a fence for that point, or %NULL with
 *   @error set
 *
 * Since: 0.1
 */
GstVkgdrFence *
gst_vkgdr_stream_record (GstVkgdrStream *stream, GError **error)
{
  GstVkgdrFence *fence;

  g_return_val_if_fail (GST_IS_VKGDR_STREAM (stream), NULL);

  /* A thread may wait for a kernel of its own task. The time of the kernel
   * begins only when its event is recorded. */
  fence = record_open (stream);
  return fence ? fence : gst_vkgdr_fence_new (stream, error);
}

static gboolean
record_and_wait (GstVkgdrStream *stream, gint64 timeout, GError **error)
{
  GstVkgdrFence *fence = gst_vkgdr_stream_record (stream, error);
  gboolean ok;

  if (!fence)
    return FALSE;
  ok = gst_vkgdr_fence_wait_for (fence, timeout, error);
  gst_vkgdr_fence_unref (fence);
  if (ok)
    gst_vkgdr_stream_forget_waits (stream);
  return ok;
}

/* If the stream has kernels, the timer ends the wait. */
gboolean
gst_vkgdr_stream_finish (GstVkgdrStream *stream, guint limit, GError **error)
{
  gint64 timeout = gst_vkgdr_launch_limit_all (stream, limit)
                       ? G_MAXINT64
                       : limit * G_TIME_SPAN_MILLISECOND;

  return record_and_wait (stream, timeout, error);
}

/**
 * gst_vkgdr_stream_synchronize:
 * @stream: a stream
 * @error: return location for a #GError
 *
 * Waits on the CPU until all work queued so far is done.
 *
 * Returns: %FALSE with @error set if the work, or the wait, failed
 *
 * Since: 0.1
 */
gboolean
gst_vkgdr_stream_synchronize (GstVkgdrStream *stream, GError **error)
{
  g_return_val_if_fail (GST_IS_VKGDR_STREAM (stream), FALSE);

  return record_and_wait (stream, G_MAXINT64, error);
}
