/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * sync/launch.c: see sync/sync-private.h
 */

#include "sync/launch.h"

GST_DEBUG_CATEGORY_STATIC (gst_vkgdr_launch_debug);
#define GST_CAT_DEFAULT gst_vkgdr_launch_debug

/* Kernels of a stream that may be in flight. The driver's queue takes about a
 * thousand entries, and a frame takes a handful of them. A thread that finds
 * the queue full is blocked inside the driver, where nothing can wake it. */
#define IN_FLIGHT_MAX 64

/* Microseconds between two checks of the launches, which limits the precision
 * of time limits. A check queries one event for each busy stream. */
#define CHECK_INTERVAL (20 * G_TIME_SPAN_MILLISECOND)

/* Microseconds for which a check waits for the reports of other threads: much
 * longer than posting a message takes. The wait must end, because a handler may
 * wait for the thread that checks. */
#define REPORT_MAX_WAIT (100 * G_TIME_SPAN_MILLISECOND)

static GMutex lock;            /* for the fields below; must not be taken on the
                                * way of a launch */
static GPtrArray *streams;     /* references to the streams with launches */
static guint n_reports;        /* streams that are being made to fail */
static GCond reported;         /* one of them has failed */
static GQuark scheduled_quark; /* on contexts: a timer will check */

/* --- the list of a stream ------------------------------------------------- */

/* Returns "kernel "a" of x", which the caller frees. Must be called with the
 * object lock of the stream held. */
static gchar *
describe (const GstVkgdrFence *launch)
{
  return g_strdup_printf (
      "kernel \"%s\" of %s", launch->kernel, GST_OBJECT_NAME (launch->stream));
}

void
gst_vkgdr_launch_remove (GstVkgdrFence *launch)
{
  GstVkgdrStream *stream = launch->stream;
  gboolean is_listed;

  GST_OBJECT_LOCK (stream);
  is_listed = launch->link.data != NULL;
  if (is_listed) {
    g_queue_unlink (&stream->launches, &launch->link);
    launch->link.data = NULL;
  }
  if (is_listed && launch->is_hung) {
    GST_INFO ("the kernel that ran for too long has ended or failed");
    gst_vkgdr_health_end_hang (gst_vkgdr_context_get_health (stream->context));
  }
  GST_OBJECT_UNLOCK (stream);
  if (is_listed)
    gst_vkgdr_fence_unref (launch);
}

/* Returns a reference to the first launch of the stream. Skips those that are
 * open: what their threads do after the launch must not count. */
static GstVkgdrFence *
ref_first_locked (GstVkgdrStream *stream)
{
  GstVkgdrFence *launch = NULL;
  GList *link;

  GST_OBJECT_LOCK (stream);
  for (link = stream->launches.head; link && !launch; link = link->next) {
    GstVkgdrFence *first = link->data;

    if (first->is_open)
      first->since = 0;
    else
      launch = gst_vkgdr_fence_ref (first);
  }
  GST_OBJECT_UNLOCK (stream);
  return launch;
}

static void
add_suspects (gpointer cuda_context, GPtrArray *names)
{
  GList *link;
  guint i;

  g_mutex_lock (&lock);
  for (i = 0; i < streams->len; i++) {
    GstVkgdrStream *stream = g_ptr_array_index (streams, i);

    if (gst_vkgdr_context_get_cuda_context (stream->context) != cuda_context)
      continue;
    GST_OBJECT_LOCK (stream);
    for (link = stream->launches.head; link; link = link->next) {
      const GstVkgdrFence *launch = link->data;
      gchar *name = launch->kernel ? describe (launch) : NULL;

      if (!name)
        continue;
      if (g_ptr_array_find_with_equal_func (names, name, g_str_equal, NULL))
        g_free (name);
      else
        g_ptr_array_add (names, name);
    }
    GST_OBJECT_UNLOCK (stream);
  }
  g_mutex_unlock (&lock);
}

static void
init_locked (void)
{
  if (streams)
    return;
  GST_DEBUG_CATEGORY_INIT (gst_vkgdr_launch_debug, "vkgdrlaunch", 0,
      "watches kernels until they have ended");
  scheduled_quark = g_quark_from_static_string ("gst-vkgdr-launch-check");
  streams = g_ptr_array_new_with_free_func (gst_object_unref);
  gst_vkgdr_health_set_suspects_func (add_suspects);
}

/* --- checks ----------------------------------------------------------------
 *
 * A check takes references to launches and streams. They are dropped without
 * the lock, because each may be the last one of another stream.
 */

/* The time begins at the first check that finds that the kernel can run. */
static gboolean
is_overdue_locked (GstVkgdrFence *launch)
{
  guint limit = g_atomic_int_get (&launch->limit);
  gint64 now = g_get_monotonic_time ();

  if (launch->since == 0) {
    if (gst_vkgdr_fences_get_state (launch->waits) != GST_VKGDR_FENCE_PENDING)
      launch->since = now;
    return FALSE;
  }
  return limit > 0
         && now - launch->since > (gint64) limit * G_TIME_SPAN_MILLISECOND;
}

/* Removes the launches of @stream that have ended, and adds them to @ended.
 * Returns a reference to the next one if it has failed (see @state) or exceeded
 * its limit since the last check. The kernels of a stream end one after the
 * other, so not all of them are queried. */
static GstVkgdrFence *
find_changed_of_locked (
    GstVkgdrStream *stream, GstVkgdrFenceState *state, GPtrArray *ended)
{
  GstVkgdrFence *launch;

  while ((launch = ref_first_locked (stream))) {
    gst_vkgdr_fence_look_ahead (launch);
    *state = gst_vkgdr_fence_get_state (launch, NULL);
    if (*state == GST_VKGDR_FENCE_PENDING
        || (*state == GST_VKGDR_FENCE_LOST && launch->kernel))
      break;
    gst_vkgdr_launch_remove (launch);
    g_ptr_array_add (ended, launch);
  }
  if (launch && launch->kernel && !launch->is_reported
      && (*state == GST_VKGDR_FENCE_LOST
          || (!launch->is_hung && is_overdue_locked (launch))))
    return launch;
  if (launch)
    g_ptr_array_add (ended, launch);
  return NULL;
}

/* Returns a reference to the oldest launch of all streams that has failed or
 * exceeded its limit: it may have made the others fail. */
static GstVkgdrFence *
find_changed_locked (GstVkgdrFenceState *state, GPtrArray *ended)
{
  GstVkgdrFence *oldest = NULL, *launch;
  GstVkgdrFenceState found;
  guint i;

  for (i = 0; streams && i < streams->len; i++) {
    launch =
        find_changed_of_locked (g_ptr_array_index (streams, i), &found, ended);
    if (!launch)
      continue;
    if (oldest && oldest->serial < launch->serial) {
      g_ptr_array_add (ended, launch);
      continue;
    }
    if (oldest)
      g_ptr_array_add (ended, oldest);
    oldest = launch;
    *state = found;
  }
  return oldest;
}

/* Moves the streams without launches to @idle. */
static void
forget_idle_locked (GPtrArray *idle)
{
  guint i;

  for (i = streams ? streams->len : 0; i-- > 0;) {
    GstVkgdrStream *stream = g_ptr_array_index (streams, i);
    gboolean is_idle;

    GST_OBJECT_LOCK (stream);
    is_idle = g_queue_is_empty (&stream->launches);
    if (is_idle)
      stream->is_watched = FALSE;
    GST_OBJECT_UNLOCK (stream);
    if (is_idle)
      g_ptr_array_add (idle, g_ptr_array_steal_index_fast (streams, i));
  }
}

/* This thread is in the handlers of a stream's signal "failed". */
static _Thread_local gboolean is_reporting;

/* Releases the lock meanwhile. @error: (transfer full) (nullable): NULL is
 * the error of the device. */
static void
fail_stream_locked (GstVkgdrFence *launch, GError *error)
{
  n_reports++;
  g_mutex_unlock (&lock);
  if (!error)
    gst_vkgdr_fence_get_state (launch, &error);
  is_reporting = TRUE;
  gst_vkgdr_stream_fail (launch->stream, error);
  is_reporting = FALSE;
  g_mutex_lock (&lock);
  n_reports--;
  g_cond_broadcast (&reported);
}

/* Returns NULL if the launch was withdrawn in the meantime. */
static GError *
begin_hang (GstVkgdrFence *launch)
{
  GstVkgdrStream *stream = launch->stream;
  GError *error = NULL;
  gchar *name;

  GST_OBJECT_LOCK (stream);
  if (launch->link.data) {
    name = describe (launch);
    error = g_error_new (GST_VKGDR_ERROR, GST_VKGDR_ERROR_FAILED,
        "%s runs for more than %d ms, and nothing can end it. "
        "Check the kernel for an endless loop; if it is only slow, %s",
        name, g_atomic_int_get (&launch->limit),
        g_atomic_int_get (&stream->limit) > 0
            ? "raise kernel-timeout (milliseconds; 0 is no limit)"
            : "set kernel-timeout to more milliseconds than it needs: without "
              "a limit, the end of the stream does not wait for longer");
    g_free (name);
    launch->is_hung = TRUE;
    gst_vkgdr_health_begin_hang (
        gst_vkgdr_context_get_health (stream->context), error);
  }
  GST_OBJECT_UNLOCK (stream);
  return error;
}

/* Releases the lock meanwhile. */
static void
report_hang_locked (GstVkgdrFence *launch)
{
  GError *error = begin_hang (launch);

  if (!error)
    return;
  GST_WARNING ("%s. The memory and modules of this process on the device "
               "are not freed until the kernel ends",
      error->message);
  fail_stream_locked (launch, error);
}

/* Releases the lock meanwhile. The launch stays in the list until its stream
 * has failed, so that the error names it. */
static void
report_failure_locked (GstVkgdrFence *launch)
{
  launch->is_reported = TRUE;
  fail_stream_locked (launch, NULL);
  gst_vkgdr_launch_remove (launch);
}

void
gst_vkgdr_launch_check_all (void)
{
  gint64 deadline = g_get_monotonic_time () + REPORT_MAX_WAIT;
  GPtrArray *ended, *idle;
  GstVkgdrFenceState state;
  GstVkgdrFence *launch;

  if (is_reporting) /* the outer check goes on afterwards */
    return;
  ended = gst_vkgdr_fences_new ();
  idle = g_ptr_array_new_with_free_func (gst_object_unref);
  g_mutex_lock (&lock);
  while ((launch = find_changed_locked (&state, ended))) {
    g_ptr_array_add (ended, launch);
    if (n_reports > 0 && g_cond_wait_until (&reported, &lock, deadline))
      continue;
    if (state == GST_VKGDR_FENCE_PENDING)
      report_hang_locked (launch);
    else
      report_failure_locked (launch);
  }
  while (n_reports > 0 && g_cond_wait_until (&reported, &lock, deadline))
    ;
  forget_idle_locked (idle);
  g_mutex_unlock (&lock);
  g_ptr_array_unref (ended);
  g_ptr_array_unref (idle);
}

/* --- the timer -------------------------------------------------------------
 */

static gboolean
has_launches_locked (GstVkgdrContext *context)
{
  guint i;

  for (i = 0; i < streams->len; i++)
    if (((GstVkgdrStream *) g_ptr_array_index (streams, i))->context == context)
      return TRUE;
  return FALSE;
}

static gboolean schedule_locked (GstVkgdrContext *context);

static void
check (gpointer user_data)
{
  GstVkgdrContext *context = user_data;

  gst_vkgdr_launch_check_all ();
  g_mutex_lock (&lock);
  g_object_set_qdata (G_OBJECT (context), scheduled_quark, NULL);
  if (has_launches_locked (context))
    schedule_locked (context);
  g_mutex_unlock (&lock);
  gst_vkgdr_context_unref_in_background (context);
}

/* Makes sure that a timer checks the launches of @context, as long as there are
 * any. FALSE if no thread can be created. */
static gboolean
schedule_locked (GstVkgdrContext *context)
{
  if (g_object_get_qdata (G_OBJECT (context), scheduled_quark))
    return TRUE;
  if (gst_vkgdr_reclaim_later (context, CHECK_INTERVAL, check,
          gst_vkgdr_context_ref_in_background (context))) {
    g_object_set_qdata (
        G_OBJECT (context), scheduled_quark, GINT_TO_POINTER (TRUE));
    return TRUE;
  }
  gst_vkgdr_context_unref_in_background (context);
  return FALSE;
}

/* Must be called when @stream has a launch again. Without a thread, the next
 * launch tries again. */
static void
watch (GstVkgdrStream *stream)
{
  gboolean is_scheduled;

  g_mutex_lock (&lock);
  init_locked ();
  if (!g_ptr_array_find (streams, stream, NULL))
    g_ptr_array_add (streams, gst_object_ref (stream));
  is_scheduled = schedule_locked (stream->context);
  GST_OBJECT_LOCK (stream);
  stream->is_watched = is_scheduled;
  GST_OBJECT_UNLOCK (stream);
  g_mutex_unlock (&lock);
}

/* --- a launch --------------------------------------------------------------
 */

static gboolean
is_full (GstVkgdrStream *stream)
{
  guint n;

  GST_OBJECT_LOCK (stream);
  n = stream->launches.length;
  GST_OBJECT_UNLOCK (stream);
  return n >= IN_FLIGHT_MAX;
}

static gboolean
make_room (GstVkgdrStream *stream, GError **error)
{
  gint64 since = g_get_monotonic_time ();

  while (is_full (stream)) {
    gst_vkgdr_launch_check_all ();
    if (!gst_vkgdr_stream_check (stream, error))
      return FALSE;
    if (is_full (stream)
        && !gst_vkgdr_health_pause (
            gst_vkgdr_context_get_health (stream->context), since, error))
      return FALSE;
  }
  return TRUE;
}

/* Adds @fence to the list of its stream. A launch is in the list before its
 * kernel is queued, so that an error of the device names the kernel. */
static void
add (GstVkgdrFence *fence)
{
  GstVkgdrStream *stream = fence->stream;
  gboolean is_watched;

  fence->link.data = gst_vkgdr_fence_ref (fence);
  GST_OBJECT_LOCK (stream);
  fence->waits = g_steal_pointer (&stream->waits);
  g_queue_push_tail_link (&stream->launches, &fence->link);
  is_watched = stream->is_watched;
  GST_OBJECT_UNLOCK (stream);
  if (!is_watched)
    watch (stream);
}

/* Keeps the work that others have queued on @stream from counting as time of
 * the next kernel. It is not known what they have queued. */
static gboolean
wait_for_others (GstVkgdrStream *stream, GError **error)
{
  GstVkgdrFence *front = gst_vkgdr_fence_new (stream, error);

  if (!front)
    return FALSE;
  gst_vkgdr_launch_add_other (front);
  gst_vkgdr_fence_unref (front);
  return TRUE;
}

GstVkgdrFence *
gst_vkgdr_launch_add (
    GstVkgdrStream *stream, const gchar *kernel, GError **error)
{
  guint limit = g_atomic_int_get (&stream->limit);
  GstVkgdrFence *launch;

  if (!gst_vkgdr_stream_check (stream, error)
      || (limit > 0 && !make_room (stream, error))
      || (limit > 0 && g_atomic_int_get (&stream->is_shared)
          && !wait_for_others (stream, error)))
    return NULL;
  launch = gst_vkgdr_fence_new_pending (stream);
  launch->kernel = kernel;
  launch->limit = limit;
  add (launch);
  return launch;
}

gboolean
gst_vkgdr_launch_limit_all (GstVkgdrStream *stream, guint limit)
{
  gboolean any = FALSE;
  GList *link;

  g_mutex_lock (&lock);
  GST_OBJECT_LOCK (stream);
  for (link = stream->launches.head; link; link = link->next) {
    GstVkgdrFence *launch = link->data;

    any |= launch->kernel != NULL;
    if (!launch->kernel || g_atomic_int_get (&launch->limit) > 0)
      continue;
    g_atomic_int_set (&launch->limit, limit);
    launch->since = 0;
  }
  GST_OBJECT_UNLOCK (stream);
  g_mutex_unlock (&lock);
  return any;
}

void
gst_vkgdr_launch_add_other (GstVkgdrFence *fence)
{
  add (fence);
}
