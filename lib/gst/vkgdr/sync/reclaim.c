/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * sync/reclaim.c: see sync/reclaim.h
 */

#include "sync/reclaim.h"
#include "sync/wait.h"

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

/* One for each GstVkgdrContext. */
typedef struct {
  gint refcount; /* atomic */
  pid_t pid;     /* the process that the thread belongs to */
  GstVkgdrHealth *health;

  GMutex lock; /* for the fields below */
  GCond changed;
  GQueue tasks;    /* of Task, due or waiting for fences */
  guint n_waiting; /* tasks that drain () and the end wait for */
  GQueue launches; /* of GstVkgdrLaunch, in the order of their launch */
  guint pass;      /* over the launches */
  gint64 wake_at;  /* monotonic time when the thread wakes up by itself, or 0 */
  gboolean has_thread;
  gint64 deadline; /* monotonic time when the thread ends, or 0 */
} Reclaimer;

/* Process-wide, for the end. */
static struct {
  GMutex lock; /* for the fields below; may be taken with a reclaimer's held */
  GCond changed;
  GPtrArray *running; /* of Reclaimer: references of their threads */
  GQueue undone;      /* of Task that are kept; for leak checkers */
  gint owner;         /* the process that the threads belong to; atomic */
  gint is_over;       /* the end has begun; atomic */
} all;

static GQuark reclaimer_quark;

static void
reclaimer_unref (gpointer data)
{
  Reclaimer *self = data;

  if (!g_atomic_int_dec_and_test (&self->refcount))
    return;
  gst_vkgdr_health_remove_suspects (self->health, self);
  gst_vkgdr_health_unref (self->health);
  g_mutex_clear (&self->lock);
  g_cond_clear (&self->changed);
  g_free (self);
}

static gpointer
reclaimer_ref (Reclaimer *self)
{
  g_atomic_int_inc (&self->refcount);
  return self;
}

/* Returns "kernel "a" of x", which the caller frees. */
static gchar *
describe (GstVkgdrLaunch *launch)
{
  gchar *name = gst_object_get_name (GST_OBJECT (launch->stream));
  gchar *text = g_strdup_printf ("kernel \"%s\" of %s", launch->kernel, name);

  g_free (name);
  return text;
}

static void
add_suspects (gpointer user_data, GPtrArray *names)
{
  Reclaimer *self = user_data;
  GList *link;

  g_mutex_lock (&self->lock);
  for (link = self->launches.head; link; link = link->next)
    g_ptr_array_add (names, describe (link->data));
  g_mutex_unlock (&self->lock);
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
    self = g_new0 (Reclaimer, 1);
    self->refcount = 1;
    self->pid = getpid ();
    self->health = gst_vkgdr_health_get (gst_vkgdr_context_get_driver (context),
        gst_vkgdr_context_get_cuda_context (context));
    g_mutex_init (&self->lock);
    g_cond_init (&self->changed);
    gst_vkgdr_health_add_suspects (self->health, add_suspects, self);
    g_object_set_qdata_full (
        G_OBJECT (context), reclaimer_quark, self, reclaimer_unref);
  }
  GST_OBJECT_UNLOCK (context);
  return self;
}

/* --- launches with a limit ------------------------------------------------
 */

/* Must be called without the lock. */
static void
launch_free (GstVkgdrLaunch *launch)
{
  GstVkgdrContext *context = launch->stream->context;

  if (g_atomic_int_dec_and_test (&launch->stream->n_launches))
    GST_OBJECT_FLAG_UNSET (launch->stream, GST_OBJECT_FLAG_MAY_BE_LEAKED);
  gst_clear_object (&launch->stream);
  g_clear_pointer (&launch->begin, gst_vkgdr_fence_unref);
  g_clear_pointer (&launch->end, gst_vkgdr_fence_unref);
  g_free (launch);
  gst_vkgdr_context_unref_in_background (context);
}

/* Must be called with the lock held, which is released meanwhile, when the
 * kernel has ended or failed. */
static void
remove_launch_locked (Reclaimer *self, GstVkgdrLaunch *launch)
{
  g_queue_remove (&self->launches, launch);
  if (launch->is_hung) {
    GST_INFO ("the kernel that ran for too long has ended or failed");
    gst_vkgdr_health_end_hang (self->health);
  }
  g_mutex_unlock (&self->lock);
  launch_free (launch);
  g_mutex_lock (&self->lock);
}

static gboolean
has_reached (GstVkgdrFence *fence)
{
  return gst_vkgdr_fence_get_state (fence, NULL) == GST_VKGDR_FENCE_REACHED;
}

/* Must be called with the lock held. Its time begins when the kernel is first
 * seen to be able to run. */
static gboolean
is_overdue (GstVkgdrLaunch *launch)
{
  gint64 now = g_get_monotonic_time ();

  if (launch->since == 0) {
    if (!launch->begin
        || gst_vkgdr_fence_get_state (launch->begin, NULL)
               != GST_VKGDR_FENCE_PENDING)
      launch->since = now;
    return FALSE;
  }
  return launch->limit > 0
         && now - launch->since
                > (gint64) launch->limit * G_TIME_SPAN_MILLISECOND;
}

/* Must be called with the lock held. Whether the launch has changed: its kernel
 * has ended, failed, or exceeded its limit. */
static gboolean
has_news (GstVkgdrLaunch *launch)
{
  if (g_atomic_int_get (&launch->is_closed)
      && (!launch->end
          || gst_vkgdr_fence_get_state (launch->end, NULL)
                 != GST_VKGDR_FENCE_PENDING))
    return TRUE;
  return !launch->is_hung && is_overdue (launch);
}

/* Must be called with the lock held. The kernels of a stream end one after the
 * other, so only the first one of each stream is queried. */
static GstVkgdrLaunch *
find_news (Reclaimer *self)
{
  guint pass = ++self->pass;
  GList *link;

  for (link = self->launches.head; link; link = link->next) {
    GstVkgdrLaunch *launch = link->data;

    if (launch->stream->pass != pass && !launch->is_reported
        && has_news (launch))
      return launch;
    launch->stream->pass = pass;
  }
  return NULL;
}

static GError *
make_hang_error (GstVkgdrLaunch *launch)
{
  gchar *name = describe (launch);
  GError *error = g_error_new (GST_VKGDR_ERROR, GST_VKGDR_ERROR_FAILED,
      "%s runs for more than %u ms, and nothing can end it. "
      "Check the kernel for an endless loop; if it is only slow, "
      "raise kernel-timeout (milliseconds; 0 is no limit)",
      name, launch->limit);

  g_free (name);
  GST_WARNING ("%s. The memory and modules of this process on the device "
               "are not freed until the kernel ends",
      error->message);
  return error;
}

/* Must be called with the lock held, which is released meanwhile. Takes
 * @error. */
static void
fail_stream (Reclaimer *self, GstVkgdrLaunch *launch, GError *error)
{
  GstVkgdrStream *stream = gst_object_ref (launch->stream);

  g_mutex_unlock (&self->lock);
  gst_vkgdr_stream_fail (stream, error);
  gst_object_unref (stream);
  g_mutex_lock (&self->lock);
}

static void
report_hang (Reclaimer *self, GstVkgdrLaunch *launch)
{
  GError *error = make_hang_error (launch);

  launch->is_hung = TRUE;
  gst_vkgdr_health_begin_hang (self->health, error);
  fail_stream (self, launch, error);
}

/* The launch stays in the queue meanwhile, so that the error names it. */
static void
report_loss (Reclaimer *self, GstVkgdrLaunch *launch)
{
  GError *error = NULL;

  launch->is_reported = TRUE;
  g_mutex_unlock (&self->lock);
  gst_vkgdr_fence_get_state (launch->end, &error);
  g_mutex_lock (&self->lock);
  fail_stream (self, launch, error);
  remove_launch_locked (self, launch);
}

/* Must be called with the lock held, which is released meanwhile. */
static void
check_launches (Reclaimer *self)
{
  GstVkgdrLaunch *launch;

  while ((launch = find_news (self))) {
    if (!g_atomic_int_get (&launch->is_closed))
      report_hang (self, launch);
    else if (!launch->end || has_reached (launch->end))
      remove_launch_locked (self, launch);
    else if (gst_vkgdr_fence_get_state (launch->end, NULL)
             == GST_VKGDR_FENCE_LOST)
      report_loss (self, launch);
    else
      report_hang (self, launch);
  }
}

/* Returns a reference to the stream of a launch behind which nobody has
 * recorded a fence, because its kernel uses no memory of this library; or NULL.
 */
static GstVkgdrStream *
find_open_stream (Reclaimer *self)
{
  GstVkgdrStream *found = NULL;
  GList *link;

  g_mutex_lock (&self->lock);
  for (link = self->launches.head; link && !found; link = link->next) {
    GstVkgdrLaunch *launch = link->data;

    if (g_atomic_int_get (&launch->is_closed) || launch->since == 0)
      continue;
    GST_OBJECT_LOCK (launch->stream);
    if (launch->stream->open)
      found = gst_object_ref (launch->stream);
    GST_OBJECT_UNLOCK (launch->stream);
  }
  g_mutex_unlock (&self->lock);
  return found;
}

/* Must be called without the lock, because recording may block in the driver.
 */
static void
close_launches (Reclaimer *self)
{
  GstVkgdrStream *stream;
  GstVkgdrFence *fence;

  while ((stream = find_open_stream (self))) {
    fence = gst_vkgdr_stream_record (stream, NULL);
    g_clear_pointer (&fence, gst_vkgdr_fence_unref);
    gst_object_unref (stream);
  }
}

/* Waits until @fence is not pending. This may be the thread that watches the
 * launches, so it does that meanwhile. */
static void
watch_until (Reclaimer *self, GstVkgdrFence *fence)
{
  GstVkgdrWait wait = GST_VKGDR_WAIT_INIT;
  gint64 since = g_get_monotonic_time ();

  while (gst_vkgdr_fence_get_state (fence, NULL) == GST_VKGDR_FENCE_PENDING
         && gst_vkgdr_health_check_wait (self->health, since, NULL)) {
    g_mutex_lock (&self->lock);
    check_launches (self);
    g_mutex_unlock (&self->lock);
    gst_vkgdr_wait_pause (&wait);
  }
  gst_vkgdr_wait_end (&wait);
}

gboolean
gst_vkgdr_reclaim_is_device_idle (GstVkgdrContext *context)
{
  GstVkgdrFence *fence;
  gboolean is_idle;

  /* A device that failed does no more work. */
  if (gst_vkgdr_health_is_lost (gst_vkgdr_context_get_health (context)))
    return TRUE;
  fence = gst_vkgdr_fence_new_on_all (context);
  if (!fence) /* an older driver */
    return gst_vkgdr_context_synchronize (context, NULL);
  watch_until (reclaimer_of (context), fence);
  is_idle = has_reached (fence);
  gst_vkgdr_fence_unref (fence);
  return is_idle;
}

/* --- tasks -----------------------------------------------------------------
 */

/* Whether the device has finished with the memory of the task. */
static gboolean
is_ready (Task *task, gboolean *lost)
{
  guint i;

  *lost = FALSE;
  if (task->due > g_get_monotonic_time ())
    return FALSE;
  for (i = 0; task->fences && i < task->fences->len; i++) {
    GstVkgdrFence *fence = g_ptr_array_index (task->fences, i);

    switch (gst_vkgdr_fence_get_state (fence, NULL)) {
    case GST_VKGDR_FENCE_PENDING:
      return FALSE;
    case GST_VKGDR_FENCE_LOST:
      *lost = TRUE;
      break;
    case GST_VKGDR_FENCE_REACHED:
      break;
    }
  }
  return TRUE;
}

/* Keeps a task that is not run, or not freed, before the process ends. */
static void
keep (Task *task)
{
  g_mutex_lock (&all.lock);
  g_queue_push_tail (&all.undone, task);
  g_mutex_unlock (&all.lock);
}

/* Must be called without the lock. At the end, the context stays open: the
 * system closes the device with the process, and waiting for the drivers to do
 * it first would only delay that. */
static void
task_run (Task *task)
{
  task->func (task->data);
  g_clear_pointer (&task->fences, g_ptr_array_unref);
  if (task->context && g_atomic_int_get (&all.is_over)) {
    keep (task);
    return;
  }
  g_clear_pointer (&task->context, gst_vkgdr_context_unref_in_background);
  g_free (task);
}

/* While a driver call waits for the device, other threads cannot queue work on
 * it. So the call is made only after all work is done that is queued when the
 * task gets ready. Returns FALSE if that work is still pending. */
static gboolean
settle (Task *task)
{
  GstVkgdrFence *fence;

  if (!task->context || task->is_settled)
    return TRUE;
  task->is_settled = TRUE;
  fence = gst_vkgdr_fence_new_on_all (task->context);
  if (!fence) /* an older driver */
    return TRUE;
  g_clear_pointer (&task->fences, g_ptr_array_unref);
  task->fences =
      g_ptr_array_new_with_free_func ((GDestroyNotify) gst_vkgdr_fence_unref);
  g_ptr_array_add (task->fences, fence);
  return gst_vkgdr_fence_is_signaled (fence);
}

/* Must be called with the lock held. Removes a task that is ready from the
 * queue, or returns NULL. */
static Task *
take_ready (Reclaimer *self, gboolean *lost)
{
  GList *link;

  for (link = self->tasks.head; link; link = link->next) {
    Task *task = link->data;

    if (is_ready (task, lost)) {
      g_queue_delete_link (&self->tasks, link);
      return task;
    }
  }
  return NULL;
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

/* Must be called without the lock. Whether the task can run now; if not, the
 * caller tries again later. */
static gboolean
can_run (Task *task, gboolean lost)
{
  if (!lost)
    return settle (task);
  if (gst_vkgdr_reclaim_is_device_idle (task->context))
    return TRUE;
  GST_DEBUG ("the device may still use the memory to be freed");
  report_lost (task);
  task->due = g_get_monotonic_time () + LOOK_MAX;
  return FALSE;
}

/* Must be called with the lock held, which is released meanwhile. */
static void
run_ready (Reclaimer *self, Task *task, gboolean lost)
{
  gboolean is_waited_for = task->context != NULL, done;

  g_mutex_unlock (&self->lock);
  done = can_run (task, lost);
  if (done)
    task_run (task);
  g_mutex_lock (&self->lock);
  if (!done)
    g_queue_push_tail (&self->tasks, task);
  else if (is_waited_for)
    self->n_waiting--;
  g_cond_broadcast (&self->changed);
}

/* --- the loop -------------------------------------------------------------
 */

/* Must be called with the lock held. Returns when to query again. */
static gint64
next_look (Reclaimer *self, gint64 pause)
{
  gint64 now = g_get_monotonic_time (), next = now + LINGER;
  GList *link;
  if (self->n_waiting > 0)
    return now + pause;
  for (link = self->tasks.head; link; link = link->next) {
    const Task *task = link->data;

    next = MIN (next, MAX (task->due, now));
  }
  if (!g_queue_is_empty (&self->launches))
    next = MIN (next, now + LOOK_MAX);
  return next;
}

/* Must be called with the lock held. Whether the thread has to return, though
 * there may be tasks left. */
static gboolean
is_over (Reclaimer *self)
{
  /* Work behind a kernel that does not end will never be done. */
  return self->deadline != 0
         && (self->n_waiting == 0 || gst_vkgdr_health_is_hung (self->health)
             || g_get_monotonic_time () >= self->deadline);
}

/* Must be called with the lock held. */
static gboolean
is_idle (Reclaimer *self)
{
  return g_queue_is_empty (&self->tasks) && g_queue_is_empty (&self->launches);
}

/* Must be called with the lock held, which is released meanwhile. FALSE if the
 * time has passed. */
static gboolean
sleep_until_look (Reclaimer *self, gint64 pause)
{
  gboolean is_woken;

  self->wake_at = next_look (self, pause);
  is_woken = g_cond_wait_until (&self->changed, &self->lock, self->wake_at);
  self->wake_at = 0;
  return is_woken;
}

/* Must be called with the lock held, which is released meanwhile. The thread
 * ends, so nothing watches the launches any more. */
static void
forget_launches (Reclaimer *self)
{
  GstVkgdrLaunch *launch;

  while ((launch = g_queue_pop_head (&self->launches))) {
    g_mutex_unlock (&self->lock);
    launch_free (launch);
    g_mutex_lock (&self->lock);
  }
}

/* Must be called with the lock held, which is released meanwhile. Runs what is
 * ready, then sleeps. FALSE if the thread has to end. */
static gboolean
work_locked (Reclaimer *self, gint64 *pause)
{
  gboolean lost, was_idle;
  Task *task;

  while (!is_over (self) && (task = take_ready (self, &lost))) {
    run_ready (self, task, lost);
    *pause = LOOK_MIN;
  }
  check_launches (self);
  if (is_over (self))
    return FALSE;
  was_idle = is_idle (self);
  if (sleep_until_look (self, *pause))
    return TRUE;
  *pause = MIN (2 * *pause, LOOK_MAX);
  return !was_idle || !is_idle (self);
}

/* Must be called with the lock held, which is released meanwhile. */
static void
end_thread_locked (Reclaimer *self)
{
  while (!g_queue_is_empty (&self->tasks))
    keep (g_queue_pop_head (&self->tasks));
  forget_launches (self);
  self->has_thread = FALSE;
}

static gpointer
run (gpointer data)
{
  Reclaimer *self = data;
  gint64 pause = LOOK_MIN;
  gboolean goes_on;

  do {
    close_launches (self);
    g_mutex_lock (&self->lock);
    goes_on = work_locked (self, &pause);
    if (!goes_on)
      end_thread_locked (self);
    g_mutex_unlock (&self->lock);
  } while (goes_on);
  g_mutex_lock (&all.lock);
  g_ptr_array_remove_fast (all.running, self);
  g_cond_broadcast (&all.changed);
  g_mutex_unlock (&all.lock);
  reclaimer_unref (self);
  return NULL;
}

/* --- the end of the process ----------------------------------------------
 */

/* Whether the end waits for a thread: not for one in a driver call that does
 * not return, because a kernel does not end. Must be called with the lock of
 * `all` held. */
static gboolean
has_running (void)
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
request_end (gpointer data, gpointer unused)
{
  Reclaimer *self = data;

  g_mutex_lock (&self->lock);
  self->deadline = g_get_monotonic_time () + END_MAX_WAIT;
  g_cond_broadcast (&self->changed);
  g_mutex_unlock (&self->lock);
}

static gpointer
copy_reference (gconstpointer data, gpointer unused)
{
  return reclaimer_ref ((gpointer) data);
}

static void
end_all (void)
{
  gint64 deadline = g_get_monotonic_time () + CALL_MAX_WAIT;
  GPtrArray *running;

  /* Without the lock, which another thread may have held during fork (). */
  if (getpid () != g_atomic_int_get (&all.owner))
    return;
  g_mutex_lock (&all.lock);
  g_atomic_int_set (&all.is_over, TRUE);
  running = g_ptr_array_copy (all.running, copy_reference, NULL);
  g_mutex_unlock (&all.lock);
  g_ptr_array_foreach (running, request_end, NULL);
  g_mutex_lock (&all.lock);
  while (has_running () && g_get_monotonic_time () < deadline)
    g_cond_wait_until (
        &all.changed, &all.lock, g_get_monotonic_time () + LOOK_MAX);
  g_mutex_unlock (&all.lock);
  g_ptr_array_set_free_func (running, reclaimer_unref);
  g_ptr_array_unref (running);
}

static void
end_with_registry (gpointer data, GObject *registry)
{
  end_all ();
}

/* Must be called with the lock of `all` held. */
static void
prepare_end (void)
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

/* Must be called with the lock held. */
static gboolean
start_thread (Reclaimer *self, GError **error)
{
  GThread *thread = NULL;

  g_mutex_lock (&all.lock);
  prepare_end ();
  if (g_atomic_int_get (&all.is_over))
    g_set_error_literal (error, G_THREAD_ERROR, G_THREAD_ERROR_AGAIN,
        "GStreamer or the process is shutting down");
  else
    thread = g_thread_try_new ("vkgdr-reclaim", run, self, error);
  if (thread)
    g_ptr_array_add (all.running, reclaimer_ref (self));
  g_mutex_unlock (&all.lock);
  if (!thread)
    return FALSE;
  g_thread_unref (thread);
  return TRUE;
}

/* Must be called with the lock held. */
static gboolean
ensure_thread (Reclaimer *self, GError **error)
{
  if (!self->has_thread)
    self->has_thread = start_thread (self, error);
  return self->has_thread;
}

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

  g_mutex_lock (&self->lock);
  /* During the end no new threads are created. An existing thread goes on, and
   * the end waits for it, since freeing one object may free others. */
  ok = ensure_thread (self, &error);
  if (ok) {
    g_queue_push_tail (&self->tasks, task);
    if (task->context)
      self->n_waiting++;
    g_cond_broadcast (&self->changed);
  } else {
    GST_WARNING ("cannot create a thread: %s", error->message);
    g_error_free (error);
  }
  g_mutex_unlock (&self->lock);
  return ok;
}

/* Waits in the calling thread, because there is no reclaim thread. */
static void
run_here (Task *task)
{
  gboolean lost = FALSE;
  guint i;

  for (i = 0; task->fences && i < task->fences->len; i++)
    lost = !gst_vkgdr_fence_wait (g_ptr_array_index (task->fences, i), NULL)
           || lost;
  if (!lost || gst_vkgdr_reclaim_is_device_idle (task->context)) {
    task_run (task);
    return;
  }
  GST_WARNING ("memory that the device may still use is never freed");
  report_lost (task);
}

/* There is no thread for the task. After the end it is not run. */
static void
refuse (Task *task)
{
  if (g_atomic_int_get (&all.is_over))
    keep (task);
  else
    run_here (task);
}

void
gst_vkgdr_reclaim (GstVkgdrContext *context, GPtrArray *fences,
    GDestroyNotify func, gpointer data)
{
  Reclaimer *self = reclaimer_of (context);
  Task *task;

  if (!is_forked (self)) {
    task = g_new0 (Task, 1);
    task->context = gst_vkgdr_context_ref_in_background (context);
    task->fences = fences;
    task->func = func;
    task->data = data;
    if (!push (self, task))
      refuse (task);
  }
}

gboolean
gst_vkgdr_reclaim_later (
    GstVkgdrContext *context, gint64 delay, GDestroyNotify func, gpointer data)
{
  Reclaimer *self = reclaimer_of (context);
  Task *task = g_new0 (Task, 1);
  gboolean ok;

  task->due = g_get_monotonic_time () + delay;
  task->func = func;
  task->data = data;
  ok = !is_forked (self) && push (self, task);
  if (!ok)
    g_free (task);
  return ok;
}

gboolean
gst_vkgdr_reclaim_add_launch (GstVkgdrLaunch *launch, GError **error)
{
  GstVkgdrContext *context = launch->stream->context;
  Reclaimer *self = reclaimer_of (context);
  GError *reason = NULL;
  gboolean ok;

  g_mutex_lock (&self->lock);
  ok = ensure_thread (self, &reason);
  if (ok) {
    gst_vkgdr_context_ref_in_background (context);
    /* The thread drops its references soon after the kernel has ended. */
    if (g_atomic_int_add (&launch->stream->n_launches, 1) == 0)
      GST_OBJECT_FLAG_SET (launch->stream, GST_OBJECT_FLAG_MAY_BE_LEAKED);
    g_queue_push_tail (&self->launches, launch);
    /* Waking the thread takes longer than a launch, so this is done only if
     * necessary. */
    if (g_get_monotonic_time () + LOOK_MAX < self->wake_at)
      g_cond_broadcast (&self->changed);
  }
  g_mutex_unlock (&self->lock);
  if (!ok) {
    GST_WARNING ("cannot create a thread: %s", reason->message);
    g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_FAILED,
        "cannot create a thread to watch a kernel: %s. Raise the limit of "
        "threads (ulimit -u), or set kernel-timeout to 0",
        reason->message);
    g_error_free (reason);
  }
  return ok;
}

void
gst_vkgdr_reclaim_withdraw_launch (GstVkgdrLaunch *launch)
{
  Reclaimer *self = reclaimer_of (launch->stream->context);

  g_mutex_lock (&self->lock);
  remove_launch_locked (self, launch);
  g_mutex_unlock (&self->lock);
}

void
gst_vkgdr_reclaim_check_launches (GstVkgdrContext *context)
{
  Reclaimer *self = reclaimer_of (context);

  g_mutex_lock (&self->lock);
  check_launches (self);
  g_mutex_unlock (&self->lock);
}

gboolean
gst_vkgdr_reclaim_drain (GstVkgdrContext *context, gint64 timeout)
{
  Reclaimer *self = reclaimer_of (context);
  gint64 deadline = g_get_monotonic_time () + timeout;
  gboolean done = FALSE;

  if (!is_forked (self)) {
    g_mutex_lock (&self->lock);
    while (self->n_waiting > 0
           && g_cond_wait_until (&self->changed, &self->lock, deadline))
      ;
    done = self->n_waiting == 0;
    g_mutex_unlock (&self->lock);
  }
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
