/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * sync/launch.c: see sync/sync-private.h
 */

#include "sync/stream.h"

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

static GMutex lock; /* for the fields below, and for launches (sync/stream.h) */
static GQueue launches; /* of GstVkgdrLaunch, in the order of their launch */
static guint n_reports; /* streams that are being made to fail */
static GCond reported;  /* one of them has failed */
static guint pass;      /* searches so far */
static GQuark scheduled_quark; /* on contexts: a timer will check */

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
add_suspects (gpointer cuda_context, GPtrArray *names)
{
  GList *link;

  g_mutex_lock (&lock);
  for (link = launches.head; link; link = link->next) {
    GstVkgdrLaunch *launch = link->data;
    gchar *name = describe (launch);

    if (gst_vkgdr_context_get_cuda_context (launch->stream->context)
            == cuda_context
        && !g_ptr_array_find_with_equal_func (names, name, g_str_equal, NULL))
      g_ptr_array_add (names, g_steal_pointer (&name));
    g_free (name);
  }
  g_mutex_unlock (&lock);
}

static void
init_locked (void)
{
  if (scheduled_quark)
    return;
  GST_DEBUG_CATEGORY_INIT (gst_vkgdr_launch_debug, "vkgdrlaunch", 0,
      "watches kernels until they have ended");
  scheduled_quark = g_quark_from_static_string ("gst-vkgdr-launch-check");
  gst_vkgdr_health_set_suspects_func (add_suspects);
}

/* --- checks ----------------------------------------------------------------
 */

/* Releases the lock meanwhile. The kernel has ended or cannot be watched. */
static void
remove_locked (GstVkgdrLaunch *launch)
{
  g_queue_remove (&launches, launch);
  if (launch->is_hung) {
    GST_INFO ("the kernel that ran for too long has ended or failed");
    gst_vkgdr_health_end_hang (
        gst_vkgdr_context_get_health (launch->stream->context));
  }
  g_mutex_unlock (&lock);
  g_atomic_int_add (&launch->stream->n_launches, -1);
  gst_object_unref (launch->stream);
  g_clear_pointer (&launch->begin, gst_vkgdr_fence_unref);
  g_clear_pointer (&launch->end, gst_vkgdr_fence_unref);
  g_free (launch);
  g_mutex_lock (&lock);
}

/* The time begins at the first check that finds `begin` reached. */
static gboolean
is_overdue_locked (GstVkgdrLaunch *launch)
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

/* Whether the kernel has ended, or failed. */
static gboolean
has_ended_locked (GstVkgdrLaunch *launch, GstVkgdrFenceState *state)
{
  GstVkgdrFence *end = g_atomic_pointer_get (&launch->end);

  *state =
      end ? gst_vkgdr_fence_get_state (end, NULL) : GST_VKGDR_FENCE_PENDING;
  return *state != GST_VKGDR_FENCE_PENDING;
}

/* Returns the first launch whose kernel has ended (see @state) or exceeded its
 * limit since the last check. The kernels of a stream end one after the other,
 * so only the first one of each stream is queried. */
static GstVkgdrLaunch *
find_changed_locked (GstVkgdrFenceState *state)
{
  GList *link;

  pass++;
  for (link = launches.head; link; link = link->next) {
    GstVkgdrLaunch *launch = link->data;

    if (launch->stream->pass != pass && !launch->is_reported
        && (has_ended_locked (launch, state)
            || (!launch->is_hung && is_overdue_locked (launch))))
      return launch;
    launch->stream->pass = pass;
  }
  return NULL;
}

/* This thread is in the handlers of a stream's signal "failed". */
static _Thread_local gboolean is_reporting;

/* Releases the lock meanwhile. @error: (transfer full) (nullable): NULL is
 * the error of the device. */
static void
fail_stream_locked (GstVkgdrLaunch *launch, GError *error)
{
  GstVkgdrStream *stream = gst_object_ref (launch->stream);

  n_reports++;
  g_mutex_unlock (&lock);
  if (!error)
    gst_vkgdr_fence_get_state (launch->end, &error);
  is_reporting = TRUE;
  gst_vkgdr_stream_fail (stream, error);
  is_reporting = FALSE;
  gst_object_unref (stream);
  g_mutex_lock (&lock);
  n_reports--;
  g_cond_broadcast (&reported);
}

static void
report_hang_locked (GstVkgdrLaunch *launch)
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
  launch->is_hung = TRUE;
  gst_vkgdr_health_begin_hang (
      gst_vkgdr_context_get_health (launch->stream->context), error);
  fail_stream_locked (launch, error);
}

void
gst_vkgdr_launch_check_all (void)
{
  gint64 deadline = g_get_monotonic_time () + REPORT_MAX_WAIT;
  GstVkgdrFenceState state;
  GstVkgdrLaunch *launch;

  if (is_reporting) /* the outer check goes on afterwards */
    return;
  g_mutex_lock (&lock);
  while ((launch = find_changed_locked (&state)))
    if (n_reports > 0 && g_cond_wait_until (&reported, &lock, deadline)) {
      /* Kernels are reported in the order of their launch: the first one may
       * have made the others fail. */
    } else if (state == GST_VKGDR_FENCE_PENDING) {
      report_hang_locked (launch);
    } else {
      if (state == GST_VKGDR_FENCE_LOST) {
        /* It stays in the list meanwhile, so that the error names it. */
        launch->is_reported = TRUE;
        fail_stream_locked (launch, NULL);
      }
      remove_locked (launch);
    }
  while (n_reports > 0 && g_cond_wait_until (&reported, &lock, deadline))
    ;
  g_mutex_unlock (&lock);
}

/* --- the timer -------------------------------------------------------------
 */

static gboolean
has_launches_locked (GstVkgdrContext *context)
{
  GList *link;

  for (link = launches.head; link; link = link->next)
    if (((GstVkgdrLaunch *) link->data)->stream->context == context)
      return TRUE;
  return FALSE;
}

static void schedule_locked (GstVkgdrContext *context);

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
 * any. Without a thread, the next launch tries again. */
static void
schedule_locked (GstVkgdrContext *context)
{
  if (g_object_get_qdata (G_OBJECT (context), scheduled_quark))
    return;
  if (gst_vkgdr_reclaim_later (context, CHECK_INTERVAL, check,
          gst_vkgdr_context_ref_in_background (context)))
    g_object_set_qdata (
        G_OBJECT (context), scheduled_quark, GINT_TO_POINTER (TRUE));
  else
    gst_vkgdr_context_unref_in_background (context);
}

/* --- a launch --------------------------------------------------------------
 */

static gboolean
make_room (GstVkgdrStream *stream, GError **error)
{
  gint64 since = g_get_monotonic_time ();

  while (g_atomic_int_get (&stream->n_launches) >= IN_FLIGHT_MAX) {
    gst_vkgdr_launch_check_all ();
    if (!gst_vkgdr_stream_check (stream, error)
        || !gst_vkgdr_health_pause (
            gst_vkgdr_context_get_health (stream->context), since, error))
      return FALSE;
  }
  return TRUE;
}

GstVkgdrLaunch *
gst_vkgdr_launch_begin (
    GstVkgdrStream *stream, const gchar *kernel, GError **error)
{
  guint limit = g_atomic_int_get (&stream->limit);
  GstVkgdrFence *begin = NULL;
  GstVkgdrLaunch *launch;

  if (!gst_vkgdr_stream_check (stream, error))
    return NULL;
  if (limit > 0
      && (!make_room (stream, error)
          || !(begin = gst_vkgdr_stream_record (stream, error))))
    return NULL;
  launch = g_new0 (GstVkgdrLaunch, 1);
  launch->stream = gst_object_ref (stream);
  launch->kernel = kernel;
  launch->limit = limit;
  launch->begin = begin;
  g_atomic_int_inc (&stream->n_launches);
  /* It is in the list before its kernel is queued, so that an error of the
   * device names the kernel. */
  g_mutex_lock (&lock);
  init_locked ();
  schedule_locked (stream->context);
  g_queue_push_tail (&launches, launch);
  g_mutex_unlock (&lock);
  return launch;
}

void
gst_vkgdr_launch_end (GstVkgdrLaunch *launch, gboolean ok)
{
  GstVkgdrFence *end =
      ok ? gst_vkgdr_stream_record (launch->stream, NULL) : NULL;

  if (end) {
    g_atomic_pointer_set (&launch->end, end);
    return;
  }
  g_mutex_lock (&lock);
  remove_locked (launch);
  g_mutex_unlock (&lock);
}
