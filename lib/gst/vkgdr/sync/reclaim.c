/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * sync/reclaim.c: see sync/reclaim.h
 */

#include "sync/reclaim.h"

#include <stdlib.h>
#include <unistd.h>

GST_DEBUG_CATEGORY_STATIC (gst_vkgdr_reclaim_debug);
#define GST_CAT_DEFAULT gst_vkgdr_reclaim_debug

/* Microseconds between two queries of fences: first about the time of a short
 * frame, then growing, since no thread waits for the result. */
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

typedef struct {
  GstVkgdrContext *context; /* NULL if the task does not keep it */
  GPtrArray *fences;        /* or NULL */
  gint64 due;               /* monotonic time, or 0: at once */
  gboolean is_settled;      /* `fences` covers all work of the CUDA context */
  GDestroyNotify func;
  gpointer data;
} Task;

/* One for each GstVkgdrContext; g_atomic_rc_box. The fields behind `health` are
 * protected by the lock of `all`. */
typedef struct {
  pid_t pid; /* the process that the thread belongs to */
  GstVkgdrHealth *health;

  GCond changed;
  GQueue tasks;    /* of Task, due or waiting for fences */
  guint n_waiting; /* tasks that drain () and the end wait for */
  gboolean has_thread;
} Reclaimer;

/* For all contexts of the process. */
static struct {
  GMutex lock; /* for the fields below */
  GCond thread_ended;
  GPtrArray *running; /* of Reclaimer: references of their threads */
  GQueue undone;      /* of Task that are kept; for leak checkers */
  gint64 deadline;    /* monotonic time when the threads end, or 0 */
  gint owner;         /* the process that the threads belong to; atomic */
  gint is_over;       /* the end has begun; atomic */
} all;

static GQuark reclaimer_quark;

static void
reclaimer_clear (gpointer data)
{
  Reclaimer *self = data;

  gst_vkgdr_health_unref (self->health);
  g_cond_clear (&self->changed);
}

static void
reclaimer_unref (gpointer data)
{
  g_atomic_rc_box_release_full (data, reclaimer_clear);
}

/* The result is valid as long as the context. */
static Reclaimer *
reclaimer_of (GstVkgdrContext *context)
{
  static gsize done = 0;
  Reclaimer *self;

  if (g_once_init_enter (&done)) {
    GST_DEBUG_CATEGORY_INIT (gst_vkgdr_reclaim_debug, "vkgdrreclaim", 0,
        "frees memory when the device has finished");
    reclaimer_quark = g_quark_from_static_string ("gst-vkgdr-reclaimer");
    g_once_init_leave (&done, 1);
  }
  GST_OBJECT_LOCK (context);
  self = g_object_get_qdata (G_OBJECT (context), reclaimer_quark);
  if (!self) {
    self = g_atomic_rc_box_new0 (Reclaimer);
    self->pid = getpid ();
    self->health = gst_vkgdr_health_get (gst_vkgdr_context_get_driver (context),
        gst_vkgdr_context_get_cuda_context (context));
    g_cond_init (&self->changed);
    g_object_set_qdata_full (
        G_OBJECT (context), reclaimer_quark, self, reclaimer_unref);
  }
  GST_OBJECT_UNLOCK (context);
  return self;
}

/* --- tasks -----------------------------------------------------------------
 */

/* Keeps a task that is not run, or not freed, before the process ends. */
static void
keep_locked (Task *task)
{
  g_queue_push_tail (&all.undone, task);
}

/* At the end, the context stays open: the system closes the device with the
 * process, and waiting for the drivers to do it first would only delay that. */
static void
task_run (Task *task)
{
  task->func (task->data);
  g_clear_pointer (&task->fences, g_ptr_array_unref);
  if (task->context && g_atomic_int_get (&all.is_over)) {
    g_mutex_lock (&all.lock);
    keep_locked (task);
    g_mutex_unlock (&all.lock);
    return;
  }
  g_clear_pointer (&task->context, gst_vkgdr_context_unref_in_background);
  g_free (task);
}

/* Makes the streams of lost fences fail, because an element may wait for the
 * memory, for example if its pool has no other buffer. */
static void
report_lost (Task *task)
{
  guint i;

  for (i = 0; i < task->fences->len; i++)
    gst_vkgdr_fence_report_lost (g_ptr_array_index (task->fences, i));
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
  task->fences =
      g_ptr_array_new_with_free_func ((GDestroyNotify) gst_vkgdr_fence_unref);
  g_ptr_array_add (task->fences, fence);
  task->is_settled = TRUE;
  return TRUE;
}

/* A fence of the task is lost. Whether it is known that the device does no more
 * work of the task's context. */
static gboolean
handle_loss (Task *task)
{
  report_lost (task);
  if (gst_vkgdr_health_is_lost (gst_vkgdr_context_get_health (task->context)))
    return TRUE;
  task->due = g_get_monotonic_time () + LOOK_MAX;
  return !settle (task) && gst_vkgdr_context_synchronize (task->context, NULL);
}

/* Whether the task can run now. While a driver call waits for the device, other
 * threads cannot queue work on it. So the task runs only after all work is done
 * that is queued when its fences are reached. */
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

/* Releases the lock meanwhile. Runs the tasks that can run, once each. Returns
 * whether there was one. */
static gboolean
run_tasks_locked (Reclaimer *self)
{
  guint n = g_queue_get_length (&self->tasks);
  gboolean any = FALSE;

  for (; n > 0 && !has_to_end_locked (self); n--) {
    Task *task = g_queue_pop_head (&self->tasks);
    gboolean is_waited_for = task->context != NULL, done;

    g_mutex_unlock (&all.lock);
    done = can_run (task);
    if (done)
      task_run (task);
    g_mutex_lock (&all.lock);
    any = any || done;
    if (!done)
      g_queue_push_tail (&self->tasks, task);
    else if (is_waited_for)
      self->n_waiting--;
    g_cond_broadcast (&self->changed);
  }
  return any;
}

/* Returns when to query again. */
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
  gboolean is_idle;

  while (!has_to_end_locked (self)) {
    if (run_tasks_locked (self))
      pause = LOOK_MIN;
    if (has_to_end_locked (self))
      return;
    is_idle = g_queue_is_empty (&self->tasks);
    if (g_cond_wait_until (
            &self->changed, &all.lock, get_next_look_locked (self, pause)))
      continue;
    if (is_idle && g_queue_is_empty (&self->tasks))
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
    keep_locked (g_queue_pop_head (&self->tasks));
  self->has_thread = FALSE;
  g_ptr_array_remove_fast (all.running, self);
  g_cond_broadcast (&all.thread_ended);
  g_mutex_unlock (&all.lock);
  reclaimer_unref (self);
  return NULL;
}

/* --- the end of the process ----------------------------------------------
 */

/* Whether the end waits for a thread: not for one in a driver call that does
 * not return, because a kernel does not end. */
static gboolean
has_running_locked (void)
{
  guint i;

  for (i = 0; i < all.running->len; i++) {
    const Reclaimer *self = g_ptr_array_index (all.running, i);

    if (!gst_vkgdr_health_is_hung (self->health))
      return TRUE;
  }
  return FALSE;
}

static void
end_all (void)
{
  gint64 now = g_get_monotonic_time ();
  guint i;

  /* Without the lock, which another thread may have held during fork (). */
  if (getpid () != g_atomic_int_get (&all.owner))
    return;
  g_mutex_lock (&all.lock);
  g_atomic_int_set (&all.is_over, TRUE);
  all.deadline = now + END_MAX_WAIT;
  for (i = 0; i < all.running->len; i++)
    g_cond_broadcast (
        &((Reclaimer *) g_ptr_array_index (all.running, i))->changed);
  while (has_running_locked () && g_get_monotonic_time () < now + CALL_MAX_WAIT)
    g_cond_wait_until (
        &all.thread_ended, &all.lock, g_get_monotonic_time () + LOOK_MAX);
  g_mutex_unlock (&all.lock);
}

static void
end_with_registry (gpointer data, GObject *registry)
{
  end_all ();
}

static void
prepare_end_locked (void)
{
  if (!all.running) {
    all.running = g_ptr_array_new ();
    atexit (end_all);
    g_object_weak_ref (G_OBJECT (gst_registry_get ()), end_with_registry, NULL);
  } else if (g_atomic_int_get (&all.owner) != getpid ()) {
    g_ptr_array_set_size (all.running, 0); /* fork () has copied no thread */
  }
  g_atomic_int_set (&all.owner, getpid ());
}

/* During the end no new threads are created. An existing thread goes on, and
 * the end waits for it, since freeing one object may free others. */
static gboolean
ensure_thread_locked (Reclaimer *self, GError **error)
{
  GThread *thread;

  if (self->has_thread)
    return TRUE;
  prepare_end_locked ();
  if (g_atomic_int_get (&all.is_over)) {
    g_set_error_literal (error, G_THREAD_ERROR, G_THREAD_ERROR_AGAIN,
        "GStreamer or the process is shutting down");
    return FALSE;
  }
  thread = g_thread_try_new ("vkgdr-reclaim", run, self, error);
  if (!thread)
    return FALSE;
  g_thread_unref (thread);
  g_ptr_array_add (all.running, g_atomic_rc_box_acquire (self));
  self->has_thread = TRUE;
  return TRUE;
}

/* --- for other files -------------------------------------------------------
 */

/* In a child of fork () no driver may be called. Takes no lock, because another
 * thread may have held it during fork (). */
static gboolean
is_forked (Reclaimer *self)
{
  return self->pid != getpid ();
}

static gboolean
push (Reclaimer *self, Task *task)
{
  GError *error = NULL;
  gboolean ok;

  g_mutex_lock (&all.lock);
  ok = ensure_thread_locked (self, &error);
  if (ok) {
    g_queue_push_tail (&self->tasks, task);
    if (task->context)
      self->n_waiting++;
    g_cond_broadcast (&self->changed);
  } else {
    GST_WARNING ("cannot create a thread: %s", error->message);
    g_error_free (error);
  }
  g_mutex_unlock (&all.lock);
  return ok;
}

/* There is no thread for the task, so the calling thread waits. After the end
 * the task is not run. */
static void
run_here (Task *task)
{
  gboolean ok = TRUE;
  guint i;

  if (g_atomic_int_get (&all.is_over)) {
    g_mutex_lock (&all.lock);
    keep_locked (task);
    g_mutex_unlock (&all.lock);
    return;
  }
  for (i = 0; task->fences && i < task->fences->len; i++)
    ok = gst_vkgdr_fence_wait (g_ptr_array_index (task->fences, i), NULL) && ok;
  if (ok || gst_vkgdr_context_synchronize (task->context, NULL)
      || gst_vkgdr_health_is_lost (
          gst_vkgdr_context_get_health (task->context))) {
    task_run (task);
    return;
  }
  GST_WARNING ("memory that the device may still use is never freed");
  report_lost (task);
}

void
gst_vkgdr_reclaim (GstVkgdrContext *context, GPtrArray *fences,
    GDestroyNotify func, gpointer data)
{
  Reclaimer *self = reclaimer_of (context);
  Task *task;

  if (is_forked (self))
    return;
  task = g_new0 (Task, 1);
  task->context = gst_vkgdr_context_ref_in_background (context);
  task->fences = fences;
  task->func = func;
  task->data = data;
  if (!push (self, task))
    run_here (task);
}

gboolean
gst_vkgdr_reclaim_later (
    GstVkgdrContext *context, gint64 delay, GDestroyNotify func, gpointer data)
{
  Reclaimer *self = reclaimer_of (context);
  Task *task;

  if (is_forked (self))
    return FALSE;
  task = g_new0 (Task, 1);
  task->due = g_get_monotonic_time () + delay;
  task->func = func;
  task->data = data;
  if (push (self, task))
    return TRUE;
  g_free (task);
  return FALSE;
}

gboolean
gst_vkgdr_reclaim_drain (GstVkgdrContext *context, gint64 timeout)
{
  Reclaimer *self = reclaimer_of (context);
  gint64 deadline = g_get_monotonic_time () + timeout;
  gboolean done;

  if (is_forked (self))
    return FALSE;
  g_mutex_lock (&all.lock);
  while (self->n_waiting > 0
         && g_cond_wait_until (&self->changed, &all.lock, deadline))
    ;
  done = self->n_waiting == 0;
  g_mutex_unlock (&all.lock);
  return done;
}

/**
 * gst_vkgdr_fence_release_later:
 * @fence: a fence
 * @func: (scope async) (closure user_data): the function to call
 * @user_data: data for @func
 *
 * Calls @func once, when the device has finished with all work that was queued
 * before @fence. Meant for memory that the device uses and that no thread waits
 * for: the call may come later than necessary, when other work of the device is
 * done as well.
 *
 * As long as it is unknown whether the device has finished, because a kernel
 * does not end or the fence is lost, @func is not called, and the driver is
 * queried again from time to time. When the process exits, and in a child of
 * fork(), @func may not be called at all. If no thread can be created, @func is
 * called before this function returns, which blocks in this case.
 *
 * May be called from any thread.
 *
 * Since: 0.2
 */
void
gst_vkgdr_fence_release_later (
    GstVkgdrFence *fence, GstVkgdrFenceFunc func, gpointer user_data)
{
  GPtrArray *fences;

  g_return_if_fail (fence != NULL);
  g_return_if_fail (func != NULL);

  fences =
      g_ptr_array_new_with_free_func ((GDestroyNotify) gst_vkgdr_fence_unref);
  g_ptr_array_add (fences, gst_vkgdr_fence_ref (fence));
  gst_vkgdr_reclaim (
      gst_vkgdr_fence_get_context (fence), fences, func, user_data);
}
