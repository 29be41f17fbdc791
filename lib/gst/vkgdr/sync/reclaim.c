/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * sync/reclaim.c: see sync/sync-private.h
 */

#include "sync/sync-private.h"

#include <stdlib.h>
#include <unistd.h>

GST_DEBUG_CATEGORY_STATIC (gst_vkgdr_reclaim_debug);
#define GST_CAT_DEFAULT gst_vkgdr_reclaim_debug

/* Microseconds between two queries of fences: first about as long as the work
 * on a small frame, then growing, since no thread waits for the result. */
#define LOOK_MIN 500
#define LOOK_MAX (20 * G_TIME_SPAN_MILLISECOND)

/* Microseconds without work after which the thread ends: longer than the pause
 * between two pipelines of a program that starts one after the other. */
#define LINGER (2 * G_TIME_SPAN_SECOND)

/* Microseconds for which the end of GStreamer or of the process waits for
 * fences: much more than a frame takes, and acceptable if the device hangs. */
#define END_MAX_WAIT (2 * G_TIME_SPAN_SECOND)

/* Microseconds for which the end waits for a driver call that does not return,
 * because the call must not race with driver teardown. */
#define CALL_MAX_WAIT (20 * G_TIME_SPAN_SECOND)

/* Microseconds for which a caller waits for its fence if no thread can be
 * created: as long as a busy machine may need. Afterwards, the memory is lost.
 */
#define CALLER_MAX_WAIT (20 * G_TIME_SPAN_SECOND)

typedef struct {
  GstVkgdrContext *context; /* NULL: a task of a timer */
  GPtrArray *fences;        /* or NULL */
  gint64 due;               /* monotonic time, or 0: at once */
  gboolean is_settled;      /* `fences` covers all work of the CUDA context, or
                             * `func`      does not block until that is done */
  GDestroyNotify func;
  gpointer data;
} Task;

/* A thread of a CUDA context. Exists while the thread runs. Protected by the
 * lock of `all`. */
typedef struct {
  GThread *thread;        /* only compared */
  GstVkgdrHealth *health; /* of the CUDA context; a reference */
  gboolean is_timer;      /* its tasks only have to be due */
  GQueue tasks;           /* of Task, due or waiting for fences */
  guint n_waiting;        /* tasks that drain () and the end wait for */
} Reclaimer;

/* For the whole process. */
static struct {
  GMutex lock;        /* for the fields below */
  GCond changed;      /* a task was added or is done, or a thread has ended */
  GPtrArray *running; /* of Reclaimer */
  GQueue undone;      /* of Task that are never freed; kept for leak checkers */
  gint64 deadline;    /* monotonic time when the threads end, or 0 */
  gint owner;         /* the process that the threads belong to, or 0; atomic */
  gint is_over;       /* the end has begun; atomic */
} all;

static Reclaimer *
find_locked (GstVkgdrContext *context, gboolean is_timer)
{
  const GstVkgdrHealth *health = gst_vkgdr_context_get_health (context);
  guint i;

  for (i = 0; all.running && i < all.running->len; i++) {
    Reclaimer *self = g_ptr_array_index (all.running, i);

    if (self->health == health && self->is_timer == is_timer)
      return self;
  }
  return NULL;
}

/* In a child of fork () no driver may be called. Takes no lock, because another
 * thread may have held it during fork (). */
static gboolean
is_forked (void)
{
  gint owner = g_atomic_int_get (&all.owner);

  return owner != 0 && owner != getpid ();
}

/* --- tasks -----------------------------------------------------------------
 */

/* For a task that never runs. */
static void
leave_undone (Task *task)
{
  g_mutex_lock (&all.lock);
  g_queue_push_tail (&all.undone, task);
  g_mutex_unlock (&all.lock);
}

/* At the end, the context stays open: the system closes the device when the
 * process exits, and waiting for the drivers would only delay the exit. */
static void
task_run (Task *task)
{
  task->func (task->data);
  g_clear_pointer (&task->fences, g_ptr_array_unref);
  if (task->context && g_atomic_int_get (&all.is_over)) {
    leave_undone (task);
    return;
  }
  g_clear_pointer (&task->context, gst_vkgdr_context_unref_in_background);
  g_free (task);
}

/* Replaces the fences of the task by one behind all work of the CUDA context
 * that is queued now. FALSE if the driver cannot record it. */
static gboolean
settle (Task *task)
{
  GstVkgdrFence *fence = gst_vkgdr_fence_new_on_all (task->context);

  if (!fence)
    return FALSE;
  g_clear_pointer (&task->fences, g_ptr_array_unref);
  task->fences = gst_vkgdr_fences_add (NULL, fence);
  task->is_settled = TRUE;
  return TRUE;
}

/* A fence of the task is lost. Makes the streams of such fences fail, because
 * an element may wait for the memory, for example if its pool has no other
 * buffer. Returns whether it is known that the device does no more work of the
 * task's context. */
static gboolean
handle_loss (Task *task)
{
  guint i;

  for (i = 0; i < task->fences->len; i++)
    gst_vkgdr_fence_report_lost (g_ptr_array_index (task->fences, i));
  if (!gst_vkgdr_health_try_recover (
          gst_vkgdr_context_get_health (task->context)))
    return TRUE;
  task->due = g_get_monotonic_time () + LOOK_MAX;
  return !settle (task) && gst_vkgdr_context_synchronize (task->context, NULL);
}

/* Whether the task can run now. While a driver call waits for the device, other
 * threads cannot queue work on it. So when its fences are reached, the task
 * still waits for all work that is queued at that time. */
static gboolean
can_run (Task *task)
{
  GstVkgdrFenceState state;

  if (task->due > g_get_monotonic_time ())
    return FALSE;
  state = gst_vkgdr_fences_get_state (task->fences);
  if (state == GST_VKGDR_FENCE_LOST)
    return handle_loss (task);
  if (state == GST_VKGDR_FENCE_REACHED && task->context && !task->is_settled
      && settle (task))
    state = gst_vkgdr_fences_get_state (task->fences);
  return state == GST_VKGDR_FENCE_REACHED;
}

/* --- the thread ------------------------------------------------------------
 */

/* Whether the thread has to return, though there may be tasks left. Work behind
 * a kernel that does not end will never be done. */
static gboolean
has_to_end_locked (Reclaimer *self)
{
  return all.deadline != 0
         && (self->n_waiting == 0 || gst_vkgdr_health_is_hung (self->health)
             || g_get_monotonic_time () >= all.deadline);
}

/* Runs the tasks that can run, once each, without the lock. Returns whether
 * there was one. */
static gboolean
run_tasks_locked (Reclaimer *self)
{
  guint n = g_queue_get_length (&self->tasks);
  gboolean any = FALSE;

  for (; n > 0 && !has_to_end_locked (self); n--) {
    Task *task = g_queue_pop_head (&self->tasks);
    gboolean done;

    g_mutex_unlock (&all.lock);
    done = can_run (task);
    if (done)
      task_run (task);
    g_mutex_lock (&all.lock);
    if (!done) {
      g_queue_push_tail (&self->tasks, task);
      continue;
    }
    any = TRUE;
    if (!self->is_timer)
      self->n_waiting--;
    g_cond_broadcast (&all.changed);
  }
  return any;
}

static gint64
get_next_look_locked (Reclaimer *self, gint64 pause)
{
  gint64 now = g_get_monotonic_time (), next = now + LINGER;
  GList *link;

  if (self->n_waiting > 0)
    return now + pause;
  for (link = self->tasks.head; link; link = link->next)
    next = MIN (next, ((Task *) link->data)->due);
  return next;
}

/* Returns when there was no work for a while, and at the end. */
static void
work_locked (Reclaimer *self)
{
  gint64 pause = LOOK_MIN;

  while (!has_to_end_locked (self)) {
    if (run_tasks_locked (self)) {
      pause = LOOK_MIN;
      continue;
    }
    if (g_cond_wait_until (
            &all.changed, &all.lock, get_next_look_locked (self, pause)))
      continue;
    if (g_queue_is_empty (&self->tasks))
      return;
    pause = MIN (2 * pause, LOOK_MAX);
  }
}

static gpointer
run (gpointer data)
{
  Reclaimer *self = data;

  g_mutex_lock (&all.lock);
  work_locked (self);
  while (!g_queue_is_empty (&self->tasks))
    g_queue_push_tail (&all.undone, g_queue_pop_head (&self->tasks));
  g_ptr_array_remove_fast (all.running, self);
  g_cond_broadcast (&all.changed);
  g_mutex_unlock (&all.lock);
  gst_vkgdr_health_unref (self->health);
  g_free (self);
  return NULL;
}

/* --- the end of the process ----------------------------------------------
 */

/* Whether there is a thread that the end waits for. It does not wait if the
 * thread may be in a driver call behind a kernel that does not end, or if it
 * has called exit () itself. */
static gboolean
has_running_locked (void)
{
  guint i;

  for (i = 0; i < all.running->len; i++) {
    const Reclaimer *self = g_ptr_array_index (all.running, i);

    if (self->thread != g_thread_self ()
        && !gst_vkgdr_health_is_hung (self->health))
      return TRUE;
  }
  return FALSE;
}

static void
end_all (void)
{
  gint64 now = g_get_monotonic_time ();

  if (is_forked ())
    return;
  g_mutex_lock (&all.lock);
  g_atomic_int_set (&all.is_over, TRUE);
  all.deadline = now + END_MAX_WAIT;
  g_cond_broadcast (&all.changed);
  while (has_running_locked () && g_get_monotonic_time () < now + CALL_MAX_WAIT)
    g_cond_wait_until (
        &all.changed, &all.lock, g_get_monotonic_time () + LOOK_MAX);
  g_mutex_unlock (&all.lock);
}

static void
end_with_registry (gpointer data, GObject *registry)
{
  end_all ();
}

/* Once, before the first thread. */
static void
prepare_end_locked (void)
{
  if (all.running)
    return;
  GST_DEBUG_CATEGORY_INIT (gst_vkgdr_reclaim_debug, "vkgdrreclaim", 0,
      "frees memory when the device has finished");
  all.running = g_ptr_array_new ();
  g_atomic_int_set (&all.owner, getpid ());
  atexit (end_all);
  g_object_weak_ref (G_OBJECT (gst_registry_get ()), end_with_registry, NULL);
}

/* --- for other files -------------------------------------------------------
 */

/* Returns a thread of @context, or NULL if none can be created. During the
 * end, no new threads are created. An existing thread goes on, and the end
 * waits for it, since freeing one object may free others. */
static Reclaimer *
ensure_thread_locked (GstVkgdrContext *context, gboolean is_timer)
{
  Reclaimer *self = find_locked (context, is_timer);
  GThread *thread;

  if (self || g_atomic_int_get (&all.is_over))
    return self;
  prepare_end_locked ();
  self = g_new0 (Reclaimer, 1);
  self->is_timer = is_timer;
  thread = g_thread_try_new (
      is_timer ? "vkgdr-timer" : "vkgdr-reclaim", run, self, NULL);
  if (!thread) {
    GST_WARNING ("cannot create a thread: memory of the device is not freed");
    g_free (self);
    return NULL;
  }
  self->thread = thread;
  g_thread_unref (thread);
  self->health = gst_vkgdr_health_get (gst_vkgdr_context_get_driver (context),
      gst_vkgdr_context_get_cuda_context (context));
  g_ptr_array_add (all.running, self);
  return self;
}

/* FALSE if there is no thread: the task stays the caller's. */
static gboolean
push (GstVkgdrContext *context, Task *task)
{
  Reclaimer *self;

  g_mutex_lock (&all.lock);
  self = ensure_thread_locked (context, !task->context);
  if (self) {
    g_queue_push_tail (&self->tasks, task);
    if (!self->is_timer)
      self->n_waiting++;
    g_cond_broadcast (&all.changed);
  }
  g_mutex_unlock (&all.lock);
  return self != NULL;
}

static Task *
task_new (GstVkgdrContext *context, GPtrArray *fences, GDestroyNotify func,
    gpointer data)
{
  Task *task = g_new0 (Task, 1);

  task->context = gst_vkgdr_context_ref_in_background (context);
  task->fences = fences;
  task->func = func;
  task->data = data;
  return task;
}

void
gst_vkgdr_reclaim (GstVkgdrContext *context, GPtrArray *fences,
    GDestroyNotify func, gpointer data)
{
  Task *task;

  if (is_forked ())
    return;
  task = task_new (context, fences, func, data);
  if (!push (context, task))
    leave_undone (task);
}

gboolean
gst_vkgdr_reclaim_later (
    GstVkgdrContext *context, gint64 delay, GDestroyNotify func, gpointer data)
{
  Task *task;

  if (is_forked ())
    return FALSE;
  task = g_new0 (Task, 1);
  task->due = g_get_monotonic_time () + delay;
  task->func = func;
  task->data = data;
  if (push (context, task))
    return TRUE;
  g_free (task);
  return FALSE;
}

static gboolean
is_waiting_locked (GstVkgdrContext *context)
{
  const Reclaimer *self = find_locked (context, FALSE);

  return self && self->n_waiting > 0;
}

void
gst_vkgdr_reclaim_drain (GstVkgdrContext *context, gint64 timeout)
{
  gint64 deadline = g_get_monotonic_time () + timeout;

  if (is_forked ())
    return;
  g_mutex_lock (&all.lock);
  while (is_waiting_locked (context)
         && g_cond_wait_until (&all.changed, &all.lock, deadline))
    ;
  g_mutex_unlock (&all.lock);
}

/**
 * gst_vkgdr_fence_release_later:
 * @fence: a fence
 * @func: (scope async) (closure user_data): the function to call
 * @user_data: data for @func
 *
 * Calls @func once, when the device has finished with all work that was queued
 * before @fence. Meant for memory of others that the device uses. The call may
 * come some milliseconds later, or much later if the driver is freeing memory
 * at that time and waits for a kernel. @func should not call functions of the
 * driver that wait for the device, such as `cuMemFree`: calls of other threads
 * would wait, too.
 *
 * As long as it is unknown whether the device has finished, because a kernel
 * does not end or the fence is lost, @func is not called, and the driver is
 * queried again from time to time. @func may not be called at all when the
 * process exits, and in a child of fork().
 *
 * If no thread can be created, waits for @fence and calls @func itself. After
 * 20 seconds without success, @func is never called.
 *
 * May be called from any thread.
 *
 * Since: 0.2
 */
void
gst_vkgdr_fence_release_later (
    GstVkgdrFence *fence, GstVkgdrFenceFunc func, gpointer user_data)
{
  GstVkgdrContext *context;
  Task *task;

  g_return_if_fail (fence != NULL);
  g_return_if_fail (func != NULL);

  if (is_forked ())
    return;
  context = gst_vkgdr_fence_get_context (fence);
  task = task_new (context,
      gst_vkgdr_fences_add (NULL, gst_vkgdr_fence_ref (fence)), func,
      user_data);
  task->is_settled = TRUE;
  if (push (context, task))
    return;
  if (!g_atomic_int_get (&all.is_over)
      && gst_vkgdr_fence_wait_for (fence, CALLER_MAX_WAIT, NULL))
    task_run (task);
  else
    leave_undone (task);
}
