/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * sync/watchdog.c: see sync/watchdog.h
 *
 * Work on a device waits for nothing but work that was queued earlier. So of
 * all kernels that have not ended, the one that was launched first is free to
 * run, and its time counts from when it became the first: from when all before
 * it had ended, or from its launch where there were none.
 */

#include "sync/wait.h"
#include "sync/watchdog.h"

GST_DEBUG_CATEGORY_STATIC (gst_vkgdr_watchdog_debug);
#define GST_CAT_DEFAULT gst_vkgdr_watchdog_debug

/* Kernels of a stream that may be under way. A driver's queue takes about a
 * thousand entries, a frame a handful of them, and who finds it full waits in
 * the driver. */
#define IN_FLIGHT_MAX 64

/* Kernels that may have ended and still be known, before somebody looks. */
#define LOOK_AFTER 4

/* How often the thread looks, in milliseconds: each eighth of the limit, and
 * not more often than that is felt. */
#define LOOKS_PER_LIMIT 8
#define LOOK_MIN 5
#define LOOK_MAX 250

typedef enum { STATE_GOOD, STATE_HUNG, STATE_LOST } State;

/* A kernel that was launched. */
typedef struct {
  GstVkgdrStream *stream; /* no reference; NULL once it is gone */
  GstVkgdrFence *fence;   /* behind it; NULL until there is one */
  gchar *kernel;
  guint limit; /* milliseconds, or 0 */
} Run;

struct _GstVkgdrWatchdog {
  guint refcount; /* under the registry's lock */
  const vkgdr_cuda *cuda;
  CUcontext context;

  GRWLock gate; /* launches read-lock it; who is alone has it to himself */
  gint state;   /* of State; atomic, and written under the lock */

  GMutex lock; /* for what follows */
  GCond wake;
  GError *error; /* why the state is not good */
  GQueue runs;   /* of Run, by launch */
  gint64 since;  /* when the first of them became that */
  gboolean has_thread;
  gboolean sleeps; /* the thread waits for the first run */
  gboolean quit;
};

static GMutex registry_lock;
static GHashTable *registry; /* CUcontext -> GstVkgdrWatchdog */

/* --- runs ---------------------------------------------------------------- */

static void
run_free (gpointer data)
{
  Run *run = data;

  g_clear_pointer (&run->fence, gst_vkgdr_fence_unref);
  g_free (run->kernel);
  g_free (run);
}

/* Under the lock: takes a run out and puts it to @over, as the last reference
 * of a fence may be a context's, which cannot go while the lock is held. */
static void
take_out (GstVkgdrWatchdog *self, GList *link, GQueue *over)
{
  Run *run = link->data;

  if (link == self->runs.head)
    self->since = g_get_monotonic_time ();
  if (run->stream) {
    GstVkgdrWatched *watched = gst_vkgdr_stream_get_watched (run->stream);

    watched->in_flight--;
    if (!run->fence)
      g_atomic_int_add (&watched->unmarked, -1);
  }
  g_queue_unlink (&self->runs, link);
  g_queue_push_tail_link (over, link);
}

static void
clear_runs (GQueue *over)
{
  g_queue_clear_full (over, run_free);
}

/* Under the lock: makes sure that a run has a fence, if it can. Passing no
 * error keeps what it calls from asking us, and the lock, for one. */
static gboolean
ensure_fence (Run *run)
{
  if (run->fence)
    return TRUE;
  if (!run->stream)
    return FALSE;
  run->fence = gst_vkgdr_fence_new (run->stream, NULL);
  if (!run->fence)
    return FALSE;
  g_atomic_int_add (&gst_vkgdr_stream_get_watched (run->stream)->unmarked, -1);
  return TRUE;
}

/* Under the lock: takes out what has ended, of @stream, or of all where it is
 * NULL; what has no fence gets one. Returns how the context was lost, which all
 * fences tell alike, and else CUDA_SUCCESS. */
static CUresult
take_out_ended (GstVkgdrWatchdog *self, GstVkgdrStream *stream, GQueue *over)
{
  GList *link = self->runs.head;

  while (link) {
    GList *next = link->next;
    Run *run = link->data;

    if (!stream || run->stream == stream) {
      CUresult result = CUDA_SUCCESS;

      if (ensure_fence (run))
        result = gst_vkgdr_fence_query (run->fence);
      if (gst_vkgdr_is_lost (result))
        return result;
      /* Of what cannot be asked for nothing is to be had by waiting. */
      if (result != CUDA_ERROR_NOT_READY)
        take_out (self, link, over);
    }
    link = next;
  }
  return CUDA_SUCCESS;
}

/* --- failing ------------------------------------------------------------- */

/* "kernel "a" of filter0"; the caller frees it. */
static gchar *
name_run (const Run *run)
{
  gchar *owner = run->stream ? gst_object_get_name (GST_OBJECT (run->stream))
                             : g_strdup ("an element that is stopped");
  gchar *text = g_strdup_printf ("kernel \"%s\" of %s", run->kernel, owner);

  g_free (owner);
  return text;
}

/* Under the lock: those that may be to blame for what went wrong on the device,
 * which tells no more than that something did; NULL where there are none. */
static gchar *
name_suspects (GstVkgdrWatchdog *self)
{
  GPtrArray *names = g_ptr_array_new_with_free_func (g_free);
  gchar *text = NULL;
  GList *link;

  for (link = self->runs.head; link; link = link->next) {
    gchar *name = name_run (link->data);

    if (g_ptr_array_find_with_equal_func (names, name, g_str_equal, NULL))
      g_free (name);
    else
      g_ptr_array_add (names, name);
  }
  if (names->len > 0) {
    g_ptr_array_add (names, NULL);
    text = g_strjoinv (" or ", (gchar **) names->pdata);
  }
  g_ptr_array_unref (names);
  return text;
}

/* Under the lock. Takes @error over. */
static void
set_state (GstVkgdrWatchdog *self, State state, GError *error)
{
  g_clear_error (&self->error);
  self->error = error;
  g_atomic_int_set (&self->state, state);
}

/* Under the lock: the context is lost, if it was not before, and nothing runs
 * on it any more. */
static void
lose (GstVkgdrWatchdog *self, CUresult result, const gchar *what, GQueue *over)
{
  GError *error = NULL;
  gchar *suspects;

  if (!self->error) {
    gst_vkgdr_set_cuda_error (self->cuda, result, what, &error);
    suspects = name_suspects (self);
    if (suspects)
      g_prefix_error (&error, "%s failed on the device: ", suspects);
    g_free (suspects);
    GST_WARNING ("CUDA context %p is lost: %s", self->context, error->message);
    set_state (self, STATE_LOST, error);
  }
  while (self->runs.head)
    take_out (self, self->runs.head, over);
}

static gboolean
copy_error (GstVkgdrWatchdog *self, GError **error)
{
  if (!error) /* also where the lock is held; see ensure_fence () */
    return FALSE;
  g_mutex_lock (&self->lock);
  if (self->error)
    *error = g_error_copy (self->error);
  else /* it came to itself a moment ago */
    g_set_error_literal (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_FAILED,
        "the device did not answer in time");
  g_mutex_unlock (&self->lock);
  return FALSE;
}

gboolean
gst_vkgdr_watchdog_check (GstVkgdrWatchdog *self, GError **error)
{
  if (g_atomic_int_get (&self->state) != STATE_HUNG)
    return TRUE;
  return copy_error (self, error);
}

gboolean
gst_vkgdr_watchdog_check_result (
    GstVkgdrWatchdog *self, CUresult result, const gchar *what, GError **error)
{
  GQueue over = G_QUEUE_INIT;

  if (result == CUDA_SUCCESS)
    return TRUE;
  if (!error) /* as in copy_error () */
    return FALSE;
  if (!gst_vkgdr_is_lost (result)) {
    gst_vkgdr_set_cuda_error (self->cuda, result, what, error);
    return FALSE;
  }
  g_mutex_lock (&self->lock);
  lose (self, result, what, &over);
  g_mutex_unlock (&self->lock);
  clear_runs (&over);
  return copy_error (self, error);
}

/* Under the lock: somebody outside hears of it before those who wait. A device
 * that hangs does so for all, and its elements say the same. */
static void
tell_stream (GstVkgdrWatchdog *self, Run *run, const GError *error)
{
  GstVkgdrStream *stream = run->stream;
  GError *copy;

  if (!stream)
    return;
  copy = g_error_copy (error);
  gst_object_ref (stream);
  g_mutex_unlock (&self->lock);
  g_signal_emit_by_name (stream, "failed", copy);
  gst_object_unref (stream);
  g_error_free (copy);
  g_mutex_lock (&self->lock);
}

/* Under the lock, which is given up meanwhile. */
static void
declare_hung (GstVkgdrWatchdog *self, Run *run)
{
  gchar *name = name_run (run);
  GError *error = g_error_new (GST_VKGDR_ERROR, GST_VKGDR_ERROR_FAILED,
      "%s runs for more than %u ms, and nothing can end it: this process uses "
      "the device no more until it does. See whether the kernel has a loop "
      "without an end; if it only is slow, raise kernel-timeout (milliseconds; "
      "0 is no limit)",
      name, run->limit);

  g_free (name);
  GST_WARNING ("CUDA context %p has hung: %s. What the device has of this "
               "process's memory, streams and modules is not freed",
      self->context, error->message);
  tell_stream (self, run, error);
  set_state (self, STATE_HUNG, error);
}

/* --- the thread ---------------------------------------------------------- */

static guint
look_interval (GstVkgdrWatchdog *self)
{
  Run *first = g_queue_peek_head (&self->runs);

  if (!first || first->limit == 0)
    return LOOK_MAX;
  return CLAMP (first->limit / LOOKS_PER_LIMIT, LOOK_MIN, LOOK_MAX);
}

/* Under the lock, which is given up meanwhile. */
static void
look (GstVkgdrWatchdog *self)
{
  GQueue over = G_QUEUE_INIT;
  CUresult result;
  Run *first_run;

  if (g_atomic_int_get (&self->state) == STATE_GOOD) {
    result = take_out_ended (self, NULL, &over);
    first_run = g_queue_peek_head (&self->runs);
    if (gst_vkgdr_is_lost (result)) {
      lose (self, result, "cuEventQuery", &over);
      tell_stream (self, first_run, self->error);
    } else if (first_run && first_run->limit > 0
               && g_get_monotonic_time () - self->since
                      > (gint64) first_run->limit * G_TIME_SPAN_MILLISECOND) {
      declare_hung (self, first_run);
    }
  }
  g_mutex_unlock (&self->lock);
  clear_runs (&over);
  g_mutex_lock (&self->lock);
}

static void
watchdog_free (GstVkgdrWatchdog *self)
{
  g_clear_error (&self->error);
  g_cond_clear (&self->wake);
  g_mutex_clear (&self->lock);
  g_rw_lock_clear (&self->gate);
  g_free (self);
}

/* Ends when nobody uses the context any more, or for good when it hangs. */
static gpointer
watch (gpointer data)
{
  GstVkgdrWatchdog *self = data;
  gboolean quit;

  g_mutex_lock (&self->lock);
  while (!self->quit && g_atomic_int_get (&self->state) != STATE_HUNG) {
    self->sleeps = g_queue_is_empty (&self->runs);
    if (self->sleeps)
      g_cond_wait (&self->wake, &self->lock);
    else
      g_cond_wait_until (&self->wake, &self->lock,
          g_get_monotonic_time ()
              + look_interval (self) * G_TIME_SPAN_MILLISECOND);
    if (!self->quit)
      look (self);
  }
  self->has_thread = self->sleeps = FALSE;
  quit = self->quit;
  g_mutex_unlock (&self->lock);
  if (quit)
    watchdog_free (self);
  return NULL;
}

/* Under the lock. */
static void
wake_thread (GstVkgdrWatchdog *self)
{
  if (self->sleeps) {
    self->sleeps = FALSE;
    g_cond_signal (&self->wake);
  } else if (!self->has_thread) {
    self->has_thread = TRUE;
    g_thread_unref (g_thread_new ("vkgdr-watchdog", watch, self));
  }
}

/* --- launches ------------------------------------------------------------ */

/* Waits until the stream has room for another kernel. */
static gboolean
make_room (GstVkgdrWatchdog *self, GstVkgdrStream *stream, GError **error)
{
  GstVkgdrWatched *watched = gst_vkgdr_stream_get_watched (stream);
  GstVkgdrWait wait = GST_VKGDR_WAIT_INIT;
  GQueue over = G_QUEUE_INIT;
  CUresult result = CUDA_SUCCESS;
  gboolean full = TRUE, ok = TRUE;

  while (ok && full) {
    g_mutex_lock (&self->lock);
    full = watched->in_flight >= IN_FLIGHT_MAX;
    if (full)
      result = take_out_ended (self, stream, &over);
    full = full && watched->in_flight >= IN_FLIGHT_MAX;
    g_mutex_unlock (&self->lock);
    clear_runs (&over);
    ok = gst_vkgdr_watchdog_check_result (self, result, "cuEventQuery", error)
         && gst_vkgdr_watchdog_check (self, error);
    if (ok && full)
      gst_vkgdr_wait_pause (&wait);
  }
  gst_vkgdr_wait_end (&wait);
  return ok;
}

gboolean
gst_vkgdr_watchdog_begin_launch (
    GstVkgdrWatchdog *self, GstVkgdrStream *stream, GError **error)
{
  if (!make_room (self, stream, error))
    return FALSE;
  g_rw_lock_reader_lock (&self->gate);
  if (gst_vkgdr_watchdog_check (self, error))
    return TRUE;
  g_rw_lock_reader_unlock (&self->gate);
  return FALSE;
}

void
gst_vkgdr_watchdog_end_launch (
    GstVkgdrWatchdog *self, GstVkgdrStream *stream, const gchar *kernel)
{
  GstVkgdrWatched *watched = gst_vkgdr_stream_get_watched (stream);

  if (kernel) {
    Run *run = g_new0 (Run, 1);

    run->stream = stream;
    run->kernel = g_strdup (kernel);
    run->limit = g_atomic_int_get (&watched->limit);
    g_mutex_lock (&self->lock);
    if (g_queue_is_empty (&self->runs))
      self->since = g_get_monotonic_time ();
    g_queue_push_tail (&self->runs, run);
    watched->in_flight++;
    g_atomic_int_inc (&watched->unmarked);
    if (run->limit > 0)
      wake_thread (self);
    g_mutex_unlock (&self->lock);
  }
  g_rw_lock_reader_unlock (&self->gate);
}

/* Under the lock: keeps the list short without a look at the device for each
 * kernel. Errors are left to those who can tell them. */
static void
take_out_first (GstVkgdrWatchdog *self, GQueue *over)
{
  while (self->runs.length > LOOK_AFTER) {
    Run *run = self->runs.head->data;

    if (!run->fence || gst_vkgdr_fence_query (run->fence) != CUDA_SUCCESS)
      return;
    take_out (self, self->runs.head, over);
  }
}

void
gst_vkgdr_watchdog_mark (
    GstVkgdrWatchdog *self, GstVkgdrStream *stream, GstVkgdrFence *fence)
{
  GstVkgdrWatched *watched = gst_vkgdr_stream_get_watched (stream);
  GQueue over = G_QUEUE_INIT;
  GList *link;

  if (g_atomic_int_get (&watched->unmarked) == 0)
    return;
  g_mutex_lock (&self->lock);
  for (link = self->runs.tail; link && watched->unmarked > 0;
       link = link->prev) {
    Run *run = link->data;

    if (run->stream == stream && !run->fence) {
      run->fence = gst_vkgdr_fence_ref (fence);
      g_atomic_int_add (&watched->unmarked, -1);
    }
  }
  take_out_first (self, &over);
  g_mutex_unlock (&self->lock);
  clear_runs (&over);
}

void
gst_vkgdr_watchdog_settle (GstVkgdrWatchdog *self, GstVkgdrStream *stream)
{
  GQueue over = G_QUEUE_INIT;

  g_mutex_lock (&self->lock);
  take_out_ended (self, stream, &over);
  g_mutex_unlock (&self->lock);
  clear_runs (&over);
}

void
gst_vkgdr_watchdog_forget (GstVkgdrWatchdog *self, GstVkgdrStream *stream)
{
  GQueue over = G_QUEUE_INIT;
  GList *link, *next;

  g_mutex_lock (&self->lock);
  take_out_ended (self, stream, &over);
  for (link = self->runs.head; link; link = next) {
    Run *run = link->data;

    next = link->next;
    if (run->stream != stream)
      continue;
    if (!ensure_fence (run))
      take_out (self, link, &over);
    else
      run->stream = NULL;
  }
  gst_vkgdr_stream_get_watched (stream)->in_flight = 0;
  g_mutex_unlock (&self->lock);
  clear_runs (&over);
}

/* --- alone --------------------------------------------------------------- */

gboolean
gst_vkgdr_watchdog_begin_alone (GstVkgdrWatchdog *self, GError **error)
{
  GstVkgdrWait wait = GST_VKGDR_WAIT_INIT;
  GQueue over = G_QUEUE_INIT;
  gboolean busy = TRUE, ok = TRUE;
  CUresult result;

  g_rw_lock_writer_lock (&self->gate);
  while (ok && busy) {
    g_mutex_lock (&self->lock);
    result = take_out_ended (self, NULL, &over);
    /* Of a device that is lost no call waits. */
    if (gst_vkgdr_is_lost (result))
      lose (self, result, "cuEventQuery", &over);
    busy = !g_queue_is_empty (&self->runs);
    g_mutex_unlock (&self->lock);
    clear_runs (&over);
    ok = gst_vkgdr_watchdog_check (self, error);
    if (ok && busy)
      gst_vkgdr_wait_pause (&wait);
  }
  gst_vkgdr_wait_end (&wait);
  if (!ok)
    g_rw_lock_writer_unlock (&self->gate);
  return ok;
}

void
gst_vkgdr_watchdog_end_alone (GstVkgdrWatchdog *self)
{
  g_rw_lock_writer_unlock (&self->gate);
}

/* --- one for each context ------------------------------------------------ */

/* What the driver says of a context that was lost, or only seemed to be. */
static gboolean
answers (GstVkgdrWatchdog *self)
{
  CUcontext popped;
  CUresult result;

  if (self->cuda->cuCtxPushCurrent (self->context) != CUDA_SUCCESS)
    return FALSE;
  result = self->cuda->cuStreamQuery (NULL);
  self->cuda->cuCtxPopCurrent (&popped);
  return result == CUDA_SUCCESS || result == CUDA_ERROR_NOT_READY;
}

/* Whether all has ended that was launched, after all. Under the lock. */
static gboolean
has_ended (GstVkgdrWatchdog *self)
{
  GList *link;

  for (link = self->runs.head; link; link = link->next) {
    Run *run = link->data;

    if (run->fence && gst_vkgdr_fence_query (run->fence) != CUDA_SUCCESS)
      return FALSE;
  }
  return TRUE;
}

gboolean
gst_vkgdr_watchdog_has_failed (GstVkgdrWatchdog *self)
{
  GQueue over = G_QUEUE_INIT;
  gboolean failed = FALSE;

  g_mutex_lock (&self->lock);
  switch ((State) self->state) {
  case STATE_GOOD:
    break;
  case STATE_HUNG:
    failed = !has_ended (self);
    break;
  case STATE_LOST:
    failed = !answers (self);
    break;
  }
  if (!failed && self->state != STATE_GOOD) {
    GST_INFO ("CUDA context %p works again", self->context);
    while (self->runs.head)
      take_out (self, self->runs.head, &over);
    set_state (self, STATE_GOOD, NULL);
  }
  g_mutex_unlock (&self->lock);
  clear_runs (&over);
  return failed;
}

static GstVkgdrWatchdog *
watchdog_new (const vkgdr_cuda *cuda, CUcontext context)
{
  static gsize done = 0;
  GstVkgdrWatchdog *self = g_new0 (GstVkgdrWatchdog, 1);

  if (g_once_init_enter (&done)) {
    GST_DEBUG_CATEGORY_INIT (gst_vkgdr_watchdog_debug, "vkgdrwatchdog", 0,
        "kernels that do not end");
    g_once_init_leave (&done, 1);
  }
  self->cuda = cuda;
  self->context = context;
  g_rw_lock_init (&self->gate);
  g_mutex_init (&self->lock);
  g_cond_init (&self->wake);
  return self;
}

GstVkgdrWatchdog *
gst_vkgdr_watchdog_get (
    const vkgdr_cuda *cuda, CUcontext context, GError **error)
{
  GstVkgdrWatchdog *self;

  g_mutex_lock (&registry_lock);
  if (!registry)
    registry = g_hash_table_new (NULL, NULL);
  self = g_hash_table_lookup (registry, context);
  if (!self) {
    self = watchdog_new (cuda, context);
    g_hash_table_insert (registry, context, self);
  }
  self->refcount++;
  g_mutex_unlock (&registry_lock);

  if (!gst_vkgdr_watchdog_has_failed (self))
    return self;
  copy_error (self, error);
  gst_vkgdr_watchdog_unref (self);
  return NULL;
}

void
gst_vkgdr_watchdog_unref (GstVkgdrWatchdog *self)
{
  gboolean has_thread, last;

  g_mutex_lock (&registry_lock);
  last = --self->refcount == 0;
  if (last && g_atomic_int_get (&self->state) == STATE_HUNG) {
    /* The CUDA context stays as it is, and whoever asks for it is told. */
    last = FALSE;
  }
  if (last)
    g_hash_table_remove (registry, self->context);
  g_mutex_unlock (&registry_lock);
  if (!last)
    return;

  g_mutex_lock (&self->lock);
  has_thread = self->has_thread;
  self->quit = TRUE;
  g_cond_signal (&self->wake);
  g_mutex_unlock (&self->lock);
  if (!has_thread)
    watchdog_free (self);
}

gboolean
gst_vkgdr_watchdog_tell (
    const vkgdr_cuda *cuda, CUresult result, const gchar *what, GError **error)
{
  GstVkgdrWatchdog *self = NULL;
  CUcontext context = NULL;

  cuda->cuCtxGetCurrent (&context);
  g_mutex_lock (&registry_lock);
  if (context && registry)
    self = g_hash_table_lookup (registry, context);
  if (self)
    self->refcount++;
  g_mutex_unlock (&registry_lock);
  if (!self)
    return FALSE;
  gst_vkgdr_watchdog_check_result (self, result, what, error);
  gst_vkgdr_watchdog_unref (self);
  return TRUE;
}

/* --- for the room device -------------------------------------------------- */

static const GstVkgdrMonitor monitor = {
  .get = gst_vkgdr_watchdog_get,
  .unref = gst_vkgdr_watchdog_unref,
  .check = gst_vkgdr_watchdog_check,
  .has_failed = gst_vkgdr_watchdog_has_failed,
  .check_result = gst_vkgdr_watchdog_check_result,
  .tell = gst_vkgdr_watchdog_tell,
  .begin_alone = gst_vkgdr_watchdog_begin_alone,
  .end_alone = gst_vkgdr_watchdog_end_alone,
};

__attribute__ ((constructor)) static void
register_monitor (void)
{
  gst_vkgdr_monitor = &monitor;
}
