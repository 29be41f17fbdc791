/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * sync/clock.c: see sync/clock.h
 *
 * The kernels of a stream run one after the other, so only the oldest kernel
 * that has not ended has to be queried. A thread does this while kernels with a
 * limit are in flight. The thread ends when there were no such kernels for some
 * time.
 */

#include "sync/clock.h"
#include "sync/background.h"
#include "sync/fence.h"
#include "sync/reclaim.h"
#include "sync/runs.h"
#include "sync/tail.h"
#include "sync/wait.h"

GST_DEBUG_CATEGORY_STATIC (gst_vkgdr_clock_debug);
#define GST_CAT_DEFAULT gst_vkgdr_clock_debug

/* Kernels of a stream that may be in flight. The driver's queue takes about a
 * thousand entries and a frame takes a handful of them. A thread that finds the
 * queue full is blocked inside the driver, where nothing can wake it. */
#define IN_FLIGHT_MAX 64

/* Kernels that may have ended without having been queried. A query takes a
 * microsecond, so one query serves several launches. No query is necessary if
 * the pools of the elements query the same fences. */
#define LOOK_AFTER 32

/* The thread queries this many times per limit, but at least every LOOK_MAX and
 * at most every LOOK_MIN milliseconds. */
#define LOOKS_PER_LIMIT 8
#define LOOK_MIN 5
#define LOOK_MAX 250

/* Microseconds without a kernel after which the thread ends. */
#define LINGER (2 * G_TIME_SPAN_SECOND)

/* Ended kernels whose driver objects are released together. */
#define CLEAN_AFTER 8

typedef GstVkgdrRun Run;

/* The clocks of streams that were not disposed. The lock of a tail may be taken
 * with this one held. */
static GMutex clocks_lock;
static GQueue clocks = G_QUEUE_INIT; /* of GstVkgdrClock, without references */

struct _GstVkgdrClock {
  GList link;     /* in `clocks`; its data is the clock, or NULL if it is not
                   * there; under `clocks_lock` */
  gint refcount;  /* atomic */
  gint has_limit; /* whether the next kernel is expected to have one; atomic */
  gint allows_followers; /* atomic */
  gint failed;           /* atomic; written under the lock */
  GstVkgdrContext *context;
  GWeakRef stream;   /* to which the CUDA stream belongs */
  GstVkgdrTail tail; /* of the stream */

  GMutex lock; /* for the fields below */
  GCond wake;
  GstVkgdrRuns runs;
  GError *error;
  gint64 sleep; /* microseconds for which the thread sleeps; 0: it does not */
  gboolean has_thread;
  gboolean is_detached; /* the stream was disposed */
  gboolean is_over;     /* GStreamer or the process ends */
  gboolean is_hung;     /* was reported to the context's health */
};

static void
add_suspects (gpointer user_data, GPtrArray *names)
{
  GstVkgdrClock *self = user_data;
  GList *link;

  g_mutex_lock (&self->lock);
  for (link = self->runs.queue.head; link; link = link->next)
    g_ptr_array_add (names, gst_vkgdr_run_describe (link->data));
  g_mutex_unlock (&self->lock);
}

static void
add_to_clocks (GstVkgdrClock *self)
{
  self->link.data = self;
  g_mutex_lock (&clocks_lock);
  g_queue_push_tail_link (&clocks, &self->link);
  g_mutex_unlock (&clocks_lock);
}

static void
remove_from_clocks (GstVkgdrClock *self)
{
  g_mutex_lock (&clocks_lock);
  if (self->link.data)
    g_queue_unlink (&clocks, &self->link);
  self->link.data = NULL;
  g_mutex_unlock (&clocks_lock);
}

GstVkgdrClock *
gst_vkgdr_clock_new (
    GstVkgdrContext *context, GstVkgdrStream *stream, CUstream handle)
{
  static gsize done = 0;
  GstVkgdrClock *self = g_new0 (GstVkgdrClock, 1);

  if (g_once_init_enter (&done)) {
    GST_DEBUG_CATEGORY_INIT (
        gst_vkgdr_clock_debug, "vkgdrclock", 0, "kernels that do not end");
    g_once_init_leave (&done, 1);
  }
  self->refcount = 1;
  self->context = gst_object_ref (context);
  g_weak_ref_init (&self->stream, stream);
  gst_vkgdr_tail_init (&self->tail, context, handle);
  g_mutex_init (&self->lock);
  g_cond_init (&self->wake);
  gst_vkgdr_health_add_suspects (
      gst_vkgdr_context_get_health (context), add_suspects, self);
  add_to_clocks (self);
  return self;
}

GstVkgdrClock *
gst_vkgdr_clock_ref (GstVkgdrClock *self)
{
  g_atomic_int_inc (&self->refcount);
  return self;
}

/* --- runs ------------------------------------------------------------------
 */

/* Releases the driver objects of the run. Must be called without the lock: the
 * last reference to a fence may be the last one to another clock. */
static void
run_clean (GstVkgdrClock *self, Run *run)
{
  if (run->begin)
    gst_vkgdr_context_give_event (self->context, run->begin);
  if (run->end)
    gst_vkgdr_fence_unref (run->end);
  gst_vkgdr_launcher_unref (run->launcher);
  run->begin = NULL;
  run->end = NULL;
  run->launcher = NULL;
  g_ptr_array_set_size (run->waits, 0);
}

/* Makes retired runs ready for other kernels. Must be called without the lock
 * after kernels were retired, because the fences keep the clock alive. */
static void
clean (GstVkgdrClock *self)
{
  Run *run;

  g_mutex_lock (&self->lock);
  while ((run = gst_vkgdr_runs_take_done (&self->runs))) {
    g_mutex_unlock (&self->lock);
    run_clean (self, run);
    g_mutex_lock (&self->lock);
    gst_vkgdr_runs_give_back (&self->runs, run);
  }
  g_mutex_unlock (&self->lock);
}

void
gst_vkgdr_clock_unref (GstVkgdrClock *self)
{
  if (!g_atomic_int_dec_and_test (&self->refcount))
    return;
  gst_vkgdr_health_remove_suspects (
      gst_vkgdr_context_get_health (self->context), self);
  gst_vkgdr_runs_retire_all (&self->runs);
  clean (self);
  gst_vkgdr_runs_clear (&self->runs);
  gst_vkgdr_tail_clear (&self->tail);
  g_clear_error (&self->error);
  g_weak_ref_clear (&self->stream);
  g_mutex_clear (&self->lock);
  g_cond_clear (&self->wake);
  gst_object_unref (self->context);
  g_free (self);
}

void
gst_vkgdr_clock_detach (GstVkgdrClock *self)
{
  g_weak_ref_set (&self->stream, NULL);
  remove_from_clocks (self);
  gst_vkgdr_tail_end (&self->tail);
  g_mutex_lock (&self->lock);
  self->is_detached = TRUE;
  if (self->has_thread)
    g_cond_signal (&self->wake);
  else
    gst_vkgdr_runs_retire_all (&self->runs);
  g_mutex_unlock (&self->lock);
  clean (self);
}

void
gst_vkgdr_clock_add_wait (GstVkgdrClock *self, GstVkgdrFence *fence)
{
  gst_vkgdr_tail_add_wait (
      &self->tail, fence, g_atomic_int_get (&self->has_limit));
}

void
gst_vkgdr_clock_share (GstVkgdrClock *self)
{
  gst_vkgdr_tail_share (&self->tail);
}

void
gst_vkgdr_clock_record_deferred (GstVkgdrClock *self)
{
  gst_vkgdr_tail_record_deferred (&self->tail, FALSE);
}

CUresult
gst_vkgdr_clock_launch (GstVkgdrClock *self, const GstVkgdrLaunch *launch,
    gboolean may_wait, const gchar **what)
{
  return gst_vkgdr_tail_launch (&self->tail, launch, may_wait, what);
}

CUresult
gst_vkgdr_clock_launch_kept (
    GstVkgdrClock *self, gboolean is_current, const gchar **what)
{
  return gst_vkgdr_tail_launch_kept (&self->tail, is_current, what);
}

/* A launch does not wait, so the lock of the list may be held. */
void
gst_vkgdr_clock_launch_all_kept (GstVkgdrContext *context)
{
  CUcontext cuda_context = gst_vkgdr_context_get_cuda_context (context);
  const gchar *what;
  GList *link;

  g_mutex_lock (&clocks_lock);
  for (link = clocks.head; link; link = link->next) {
    GstVkgdrClock *clock = link->data;

    if (gst_vkgdr_context_get_cuda_context (clock->context) == cuda_context)
      gst_vkgdr_clock_launch_kept (clock, FALSE, &what);
  }
  g_mutex_unlock (&clocks_lock);
}

void
gst_vkgdr_clock_expect_limit (GstVkgdrClock *self, gboolean has_limit)
{
  g_atomic_int_set (&self->has_limit, has_limit);
}

void
gst_vkgdr_clock_allow_followers (GstVkgdrClock *self)
{
  g_atomic_int_set (&self->allows_followers, TRUE);
}

gboolean
gst_vkgdr_clock_allows_followers (GstVkgdrClock *self)
{
  return g_atomic_int_get (&self->allows_followers);
}

GstVkgdrStream *
gst_vkgdr_clock_ref_stream (GstVkgdrClock *self)
{
  return g_weak_ref_get (&self->stream);
}

gboolean
gst_vkgdr_clock_check (GstVkgdrClock *self, GError **error)
{
  if (!g_atomic_int_get (&self->failed))
    return TRUE;
  if (error) {
    g_mutex_lock (&self->lock);
    *error = g_error_copy (self->error);
    g_mutex_unlock (&self->lock);
  }
  return FALSE;
}

/* --- checks ----------------------------------------------------------------
 */

/* Marks the CUDA stream as failed and emits the signal of @launcher's stream,
 * or of the clock's if @launcher is NULL. Must be called with the lock held;
 * the lock is released meanwhile, because the signal's handler may use the
 * stream. Takes @error. */
static void
fail (GstVkgdrClock *self, GstVkgdrLauncher *launcher, GError *error)
{
  GstVkgdrStream *stream;

  if (self->error) {
    g_error_free (error);
    return;
  }
  self->error = error;
  stream = launcher ? gst_vkgdr_launcher_ref_stream (launcher)
                    : gst_vkgdr_clock_ref_stream (self);
  if (stream) {
    GError *copy = g_error_copy (error);

    g_mutex_unlock (&self->lock);
    g_signal_emit_by_name (stream, "failed", copy);
    g_error_free (copy);
    gst_object_unref (stream);
    g_mutex_lock (&self->lock);
  }
  /* The element posts its error before threads that wait return theirs. */
  g_atomic_int_set (&self->failed, TRUE);
}

void
gst_vkgdr_clock_fail (GstVkgdrClock *self, GError *error)
{
  g_mutex_lock (&self->lock);
  fail (self, NULL, error);
  g_mutex_unlock (&self->lock);
}

/* Must be called with the lock held, which is released meanwhile. */
static void
declare_hung (GstVkgdrClock *self, const Run *run)
{
  GstVkgdrHealth *health = gst_vkgdr_context_get_health (self->context);
  gchar *names = gst_vkgdr_run_describe_group (run);
  GError *error = g_error_new (GST_VKGDR_ERROR, GST_VKGDR_ERROR_FAILED,
      "%s runs for more than %" G_GUINT64_FORMAT " ms, and nothing can end it. "
      "Check the kernel for an endless loop; if it is only slow, "
      "raise kernel-timeout (milliseconds; 0 is no limit)",
      names, gst_vkgdr_run_get_limit (run));

  g_free (names);
  GST_WARNING ("%s. The memory and modules of this process on the device "
               "are not freed until the kernel ends",
      error->message);
  self->is_hung = TRUE;
  gst_vkgdr_health_begin_hang (health, error);
  fail (self, run->launcher, error);
}

/* Must be called with the lock held when the kernel has ended or failed, or
 * cannot be queried any more. */
static void
end_hang (GstVkgdrClock *self)
{
  if (!self->is_hung)
    return;
  GST_INFO ("the kernel that ran for too long has ended or failed");
  self->is_hung = FALSE;
  gst_vkgdr_health_end_hang (gst_vkgdr_context_get_health (self->context));
}

/* Must be called with the lock held, which is released meanwhile. */
static void
declare_lost (GstVkgdrClock *self, const Run *run, CUresult result)
{
  GstVkgdrLauncher *launcher = gst_vkgdr_launcher_ref (run->launcher);
  GError *error = NULL;

  g_mutex_unlock (&self->lock);
  gst_vkgdr_context_check (self->context, result, "cuEventQuery", &error);
  g_mutex_lock (&self->lock);
  fail (self, launcher, error);
  gst_vkgdr_launcher_unref (launcher);
}

/* Must be called with the lock held. Whether all work in front of the first
 * kernel is done. A fence that the driver cannot query counts as reached. */
static gboolean
is_free_to_run (GstVkgdrClock *self, const Run *run)
{
  const vkgdr_cuda *cuda = gst_vkgdr_context_get_driver (self->context);
  guint i;

  if (run->has_begin)
    return run->begin && cuda->cuEventQuery (run->begin) == CUDA_SUCCESS;
  for (i = 0; i < run->waits->len; i++)
    if (gst_vkgdr_fence_query (g_ptr_array_index (run->waits, i))
        == CUDA_ERROR_NOT_READY)
      return FALSE;
  return TRUE;
}

/* Must be called with the lock held. Whether the kernel has exceeded its limit.
 */
static gboolean
is_overdue (GstVkgdrClock *self, Run *run)
{
  gint64 now = g_get_monotonic_time ();

  if (run->since == 0) {
    if (is_free_to_run (self, run))
      run->since = now;
    return FALSE;
  }
  return now - run->since
         > (gint64) gst_vkgdr_run_get_limit (run) * G_TIME_SPAN_MILLISECOND;
}

/* Whether there are kernels to query. After the device was lost there are none.
 */
static gboolean
has_work (GstVkgdrClock *self)
{
  return !g_queue_is_empty (&self->runs.queue)
         && (!self->error || self->is_hung);
}

/* Must be called with the lock held, which is released meanwhile, and with the
 * CUDA context current. */
static void
check_runs (GstVkgdrClock *self)
{
  CUresult result = CUDA_SUCCESS;
  Run *first;

  while (result == CUDA_SUCCESS && !g_queue_is_empty (&self->runs.queue))
    result = gst_vkgdr_runs_retire_ended (&self->runs, 1);
  first = gst_vkgdr_runs_get_first (&self->runs);
  if (result == CUDA_ERROR_NOT_READY) {
    if (!self->is_hung && is_overdue (self, first))
      declare_hung (self, first);
    return;
  }
  if (result != CUDA_SUCCESS)
    declare_lost (self, first, result);
  end_hang (self);
}

/* Must be called with the lock held, which is released meanwhile: if the driver
 * fails, the context's health calls into this clock to get its kernels. */
static void
push_and_check_runs (GstVkgdrClock *self)
{
  const Run *first = gst_vkgdr_runs_get_first (&self->runs);
  GstVkgdrLauncher *launcher;
  GError *error = NULL;
  gboolean pushed;

  if (!first) /* a launch has removed the last one */
    return;
  launcher = gst_vkgdr_launcher_ref (first->launcher);
  g_mutex_unlock (&self->lock);
  pushed = gst_vkgdr_context_push (self->context, &error);
  g_mutex_lock (&self->lock);
  if (!pushed) {
    fail (self, launcher, error);
    end_hang (self);
  }
  gst_vkgdr_launcher_unref (launcher);
  if (!pushed)
    return;
  if (has_work (self))
    check_runs (self);
  g_mutex_unlock (&self->lock);
  clean (self);
  gst_vkgdr_context_pop (self->context);
  g_mutex_lock (&self->lock);
}

/* Must be called with the lock held. Returns how long the thread may sleep. */
static gint64
get_check_interval (GstVkgdrClock *self)
{
  const Run *first = gst_vkgdr_runs_get_first (&self->runs);

  return CLAMP (first->limit / LOOKS_PER_LIMIT, LOOK_MIN, LOOK_MAX)
         * G_TIME_SPAN_MILLISECOND;
}

/* Must be called with the lock held, which is released while the thread sleeps.
 * FALSE if the time has passed. */
static gboolean
sleep_for (GstVkgdrClock *self, gint64 time)
{
  gboolean is_woken;

  self->sleep = time;
  is_woken = g_cond_wait_until (
      &self->wake, &self->lock, g_get_monotonic_time () + time);
  self->sleep = 0;
  return is_woken;
}

static void
watch (gpointer data)
{
  GstVkgdrClock *self = data;

  g_mutex_lock (&self->lock);
  while (!self->is_over) {
    if (has_work (self)) {
      sleep_for (self, get_check_interval (self));
      push_and_check_runs (self);
      continue;
    }
    /* A thread that launches may have removed the kernel from the queue. */
    end_hang (self);
    /* The thread keeps the context alive, so it waits for more kernels only for
     * a limited time, and not at all if the stream was disposed. */
    if (self->is_detached || (!sleep_for (self, LINGER) && !has_work (self)))
      break;
  }
  self->has_thread = FALSE;
  if (self->is_detached || self->is_over)
    gst_vkgdr_runs_retire_all (&self->runs);
  g_mutex_unlock (&self->lock);
  clean (self);
}

/* The references of the thread. If the reference to the context is the last
 * one, it must be released in the reclaim thread. So the thread has its own
 * one, besides that of the clock. */
static gpointer
ref_for_thread (gpointer data)
{
  GstVkgdrClock *self = data;

  gst_vkgdr_context_ref_in_background (self->context);
  return gst_vkgdr_clock_ref (self);
}

static void
unref_of_thread (gpointer data)
{
  GstVkgdrClock *self = data;
  GstVkgdrContext *context = self->context;

  gst_vkgdr_clock_unref (self);
  gst_vkgdr_reclaim_context (context);
}

static void
end (gpointer data)
{
  GstVkgdrClock *self = data;

  g_mutex_lock (&self->lock);
  self->is_over = TRUE;
  g_cond_signal (&self->wake);
  g_mutex_unlock (&self->lock);
}

static gboolean
is_stuck (gpointer data)
{
  GstVkgdrClock *self = data;

  return gst_vkgdr_health_is_hung (
      gst_vkgdr_context_get_health (self->context));
}

static const GstVkgdrBackground background = {
  .name = "vkgdr-clock",
  .phase = GST_VKGDR_BACKGROUND_EARLY,
  .ref = ref_for_thread,
  .unref = unref_of_thread,
  .run = watch,
  .end = end,
  .is_stuck = is_stuck,
};

/* Must be called with the lock held. */
static gboolean
ensure_thread (GstVkgdrClock *self, GError **error)
{
  GError *reason = NULL;

  if (self->has_thread)
    return TRUE;
  self->has_thread = gst_vkgdr_background_start (&background, self, &reason);
  if (!self->has_thread) {
    g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_FAILED,
        "cannot create a thread to watch a kernel: %s. Raise the limit of "
        "threads (ulimit -u), or set kernel-timeout to 0",
        reason->message);
    g_error_free (reason);
  }
  return self->has_thread;
}

/* --- launches --------------------------------------------------------------
 */

gboolean
gst_vkgdr_clock_find_later (
    GstVkgdrClock *self, guint64 serial, GstVkgdrFence **later)
{
  gboolean is_reached;

  g_mutex_lock (&self->lock);
  is_reached = gst_vkgdr_runs_find_later (&self->runs, serial, later);
  g_mutex_unlock (&self->lock);
  return is_reached;
}

void
gst_vkgdr_clock_report_later (
    GstVkgdrClock *self, guint64 serial, gboolean is_reached)
{
  g_mutex_lock (&self->lock);
  gst_vkgdr_runs_report_later (&self->runs, serial, is_reached);
  g_mutex_unlock (&self->lock);
}

/* Waits until few enough kernels are in flight. */
static gboolean
make_room (GstVkgdrClock *self, GError **error)
{
  GstVkgdrWait wait = GST_VKGDR_WAIT_INIT;
  CUresult result = CUDA_SUCCESS;
  gboolean ok = TRUE, full = TRUE, has_done;

  while (ok && full) {
    g_mutex_lock (&self->lock);
    gst_vkgdr_runs_retire_known (&self->runs);
    if (self->runs.queue.length > LOOK_AFTER)
      result = gst_vkgdr_runs_retire_ended (
          &self->runs, self->runs.queue.length / 2);
    full = self->runs.queue.length >= IN_FLIGHT_MAX;
    if (full && result == CUDA_ERROR_NOT_READY)
      result = gst_vkgdr_runs_retire_ended (&self->runs, 1);
    has_done = self->runs.done.length >= CLEAN_AFTER;
    g_mutex_unlock (&self->lock);
    if (has_done)
      clean (self);
    ok = gst_vkgdr_clock_check (self, error);
    if (ok && result != CUDA_ERROR_NOT_READY)
      ok = gst_vkgdr_context_check (
          self->context, result, "cuEventQuery", error);
    if (ok && full)
      gst_vkgdr_wait_pause (&wait);
  }
  gst_vkgdr_wait_end (&wait);
  return ok;
}

/* Must be called with the CUDA context current. */
static CUevent
record_begin (GstVkgdrClock *self, CUstream handle, GError **error)
{
  const vkgdr_cuda *cuda = gst_vkgdr_context_get_driver (self->context);
  CUevent event = gst_vkgdr_context_take_event (self->context, error);
  const gchar *what;

  /* A failure is reported by the next fence. */
  gst_vkgdr_clock_launch_kept (self, TRUE, &what);
  if (!event
      || gst_vkgdr_context_check (self->context,
          cuda->cuEventRecord (event, handle), "cuEventRecord", error))
    return event;
  gst_vkgdr_context_give_event (self->context, event);
  return NULL;
}

/* Returns the fence of the tail; NULL with @n_queued set if there is none. */
static GstVkgdrFence *
get_fence (GstVkgdrClock *self, gboolean may_defer, gboolean is_current,
    guint64 *n_queued)
{
  GstVkgdrFence *fence = gst_vkgdr_tail_get_fence (&self->tail, n_queued);

  if (fence && !may_defer && gst_vkgdr_fence_is_deferred (fence))
    gst_vkgdr_tail_record_deferred (&self->tail, is_current);
  return fence;
}

GstVkgdrFence *
gst_vkgdr_clock_get_fence (GstVkgdrClock *self, gboolean may_defer)
{
  guint64 n_queued;

  return get_fence (self, may_defer, FALSE, &n_queued);
}

GstVkgdrFence *
gst_vkgdr_clock_record (
    GstVkgdrClock *self, CUstream handle, gboolean may_defer, GError **error)
{
  guint64 n_queued;
  GstVkgdrFence *fence = get_fence (self, may_defer, TRUE, &n_queued);
  const gchar *what;

  if (fence)
    return fence;
  if (!may_defer)
    gst_vkgdr_clock_launch_kept (self, TRUE, &what);
  fence =
      may_defer
          ? gst_vkgdr_fence_new_deferred (self->context, handle, self, error)
          : gst_vkgdr_fence_new_here (self->context, handle, self, error);
  if (fence)
    gst_vkgdr_tail_set_fence (&self->tail, fence, n_queued);
  return fence;
}

/* Must be called with the lock held. Adds a run for a kernel that is about to
 * be queued. */
static Run *
append (GstVkgdrClock *self, GstVkgdrLauncher *launcher, guint limit,
    const gchar *kernel, GError **error)
{
  Run *run;

  if (!ensure_thread (self, error))
    return NULL;
  gst_vkgdr_launcher_get_name (launcher); /* before the stream is disposed */
  run = gst_vkgdr_runs_append (&self->runs, launcher, kernel, limit);
  run->has_begin = !gst_vkgdr_tail_take_waits (&self->tail, &run->waits);
  return run;
}

/* Stops watching a kernel. The next kernel may have to wait for this kernel,
 * too, so its waits are not known. */
static void
give_up (GstVkgdrClock *self, Run *run)
{
  g_mutex_lock (&self->lock);
  gst_vkgdr_runs_retire (&self->runs, run);
  g_mutex_unlock (&self->lock);
  clean (self);
  gst_vkgdr_tail_add_kernel (&self->tail, FALSE);
}

/* Whether the last kernel with a limit ends with a deferred fence. */
static gboolean
has_open_run (GstVkgdrClock *self)
{
  gboolean is_open;

  g_mutex_lock (&self->lock);
  is_open = gst_vkgdr_runs_is_open (&self->runs);
  g_mutex_unlock (&self->lock);
  return is_open;
}

gboolean
gst_vkgdr_clock_begin (GstVkgdrClock *self, CUstream handle,
    GstVkgdrLauncher *launcher, const gchar *kernel, gboolean is_bounded,
    GstVkgdrRun **launched, GError **error)
{
  guint limit = gst_vkgdr_launcher_get_limit (launcher);
  CUevent begin = NULL;
  Run *run;

  *launched = NULL;
  /* A kernel that might not end is measured alone. */
  if (!is_bounded && (limit > 0 || has_open_run (self)))
    gst_vkgdr_tail_record_deferred (&self->tail, TRUE);
  if (limit == 0)
    return gst_vkgdr_clock_check (self, error);
  if (!make_room (self, error))
    return FALSE;
  /* Set before the launch, so that an error of the launch can name the kernel.
   */
  g_mutex_lock (&self->lock);
  run = append (self, launcher, limit, kernel, error);
  g_mutex_unlock (&self->lock);
  if (!run)
    return FALSE;
  if (run->has_begin) {
    begin = record_begin (self, handle, error);
    if (!begin) {
      give_up (self, run);
      return FALSE;
    }
    g_mutex_lock (&self->lock);
    run->begin = begin;
    g_mutex_unlock (&self->lock);
  }
  *launched = run;
  return TRUE;
}

void
gst_vkgdr_clock_end (GstVkgdrClock *self, CUstream handle, GstVkgdrRun *run,
    gboolean ok, gboolean may_defer)
{
  GstVkgdrFence *end;

  gst_vkgdr_tail_add_kernel (&self->tail, run != NULL);
  if (!run)
    return;
  end = ok ? gst_vkgdr_clock_record (self, handle, may_defer, NULL) : NULL;
  if (!end) {
    give_up (self, run);
    return;
  }
  g_mutex_lock (&self->lock);
  run->end = end;
  /* Waking the thread takes longer than a launch, so this is done only if
   * necessary. */
  if (gst_vkgdr_runs_get_first (&self->runs) == run
      && get_check_interval (self) < self->sleep)
    g_cond_signal (&self->wake);
  g_mutex_unlock (&self->lock);
}
