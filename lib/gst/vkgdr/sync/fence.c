/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * sync/fence.c: see sync/fence.h
 */

#include "sync/fence.h"
#include "sync/wait.h"

struct _GstVkgdrFence {
  gint refcount;     /* atomic */
  gint state;        /* atomic; a GstVkgdrFenceState; final unless pending */
  gint is_deferred;  /* atomic; the event has not been recorded yet */
  gint result;       /* the CUresult with which it was lost; atomic */
  const gchar *what; /* the call that returned it; atomic */
  GstVkgdrContext *context;
  CUevent event;
  CUstream handle;      /* of a deferred fence */
  guint64 serial;       /* see gst_vkgdr_fence_set_serial () */
  GstVkgdrClock *clock; /* a reference; NULL for a foreign stream */
  GThread *thread;      /* that recorded it; only for comparison */
};

G_DEFINE_BOXED_TYPE (
    GstVkgdrFence, gst_vkgdr_fence, gst_vkgdr_fence_ref, gst_vkgdr_fence_unref)

/* Takes @event, which was recorded if @result is CUDA_SUCCESS. A clock keeps
 * the context alive. */
static GstVkgdrFence *
fence_new (GstVkgdrContext *context, CUevent event, GstVkgdrClock *clock,
    CUresult result, const gchar *what, GError **error)
{
  GstVkgdrFence *fence;

  if (!gst_vkgdr_context_check (context, result, what, error)) {
    gst_vkgdr_context_give_event (context, event);
    return NULL;
  }
  fence = g_new0 (GstVkgdrFence, 1);
  fence->refcount = 1;
  fence->context = context;
  fence->event = event;
  if (clock)
    fence->clock = gst_vkgdr_clock_ref (clock);
  else
    gst_object_ref (context);
  fence->thread = g_thread_self ();
  return fence;
}

GstVkgdrFence *
gst_vkgdr_fence_new_here (GstVkgdrContext *context, CUstream handle,
    GstVkgdrClock *clock, GError **error)
{
  const vkgdr_cuda *cuda = gst_vkgdr_context_get_driver (context);
  CUevent event = gst_vkgdr_context_take_event (context, error);

  if (!event)
    return NULL;
  return fence_new (context, event, clock, cuda->cuEventRecord (event, handle),
      "cuEventRecord", error);
}

GstVkgdrFence *
gst_vkgdr_fence_new_deferred (GstVkgdrContext *context, CUstream handle,
    GstVkgdrClock *clock, GError **error)
{
  CUevent event = gst_vkgdr_context_take_event (context, error);
  GstVkgdrFence *fence;

  if (!event)
    return NULL;
  fence =
      fence_new (context, event, clock, CUDA_SUCCESS, "cuEventCreate", error);
  fence->handle = handle;
  fence->is_deferred = TRUE;
  return fence;
}

GstVkgdrFence *
gst_vkgdr_fence_new_on (GstVkgdrContext *context, CUstream handle,
    GstVkgdrClock *clock, GError **error)
{
  GstVkgdrFence *fence;

  if (!gst_vkgdr_context_push (context, error))
    return NULL;
  fence = gst_vkgdr_fence_new_here (context, handle, clock, error);
  gst_vkgdr_context_pop (context);
  return fence;
}

GstVkgdrFence *
gst_vkgdr_fence_new_on_all (GstVkgdrContext *context)
{
  const vkgdr_cuda *cuda = gst_vkgdr_context_get_driver (context);
  GstVkgdrFence *fence = NULL;
  CUevent event;

  if (!cuda || !cuda->cuCtxRecordEvent
      || !gst_vkgdr_context_push (context, NULL))
    return NULL;
  gst_vkgdr_clock_launch_all_kept (context);
  event = gst_vkgdr_context_take_event (context, NULL);
  if (event)
    fence = fence_new (context, event, NULL,
        cuda->cuCtxRecordEvent (
            gst_vkgdr_context_get_cuda_context (context), event),
        "cuCtxRecordEvent", NULL);
  gst_vkgdr_context_pop (context);
  return fence;
}

/**
 * gst_vkgdr_fence_ref:
 * @fence: a fence
 *
 * Takes a reference.
 *
 * Returns: (transfer full): @fence
 *
 * Since: 0.1
 */
GstVkgdrFence *
gst_vkgdr_fence_ref (GstVkgdrFence *fence)
{
  g_return_val_if_fail (fence != NULL, NULL);

  g_atomic_int_inc (&fence->refcount);
  return fence;
}

/**
 * gst_vkgdr_fence_unref:
 * @fence: (transfer full): a fence
 *
 * Releases a reference. Releasing the last one does not wait for the fence.
 *
 * Since: 0.1
 */
void
gst_vkgdr_fence_unref (GstVkgdrFence *fence)
{
  g_return_if_fail (fence != NULL);

  if (!g_atomic_int_dec_and_test (&fence->refcount))
    return;
  /* The event can be reused even if it is pending: a stream that waits for it
   * waits for what was recorded at that time, and a later record does not
   * change that. */
  gst_vkgdr_context_give_event (fence->context, fence->event);
  if (fence->clock)
    gst_vkgdr_clock_unref (fence->clock);
  else
    gst_object_unref (fence->context);
  g_free (fence);
}

GstVkgdrContext *
gst_vkgdr_fence_get_context (GstVkgdrFence *fence)
{
  return fence->context;
}

GstVkgdrClock *
gst_vkgdr_fence_get_clock_of_thread (GstVkgdrFence *fence)
{
  return fence->thread == g_thread_self () ? fence->clock : NULL;
}

typedef CUresult (*Call) (GstVkgdrFence *fence, const gchar **what);

static CUresult
call_query (GstVkgdrFence *fence, const gchar **what)
{
  *what = "cuEventQuery";
  return gst_vkgdr_context_get_driver (fence->context)
      ->cuEventQuery (fence->event);
}

static CUresult
call_record (GstVkgdrFence *fence, const gchar **what)
{
  *what = "cuEventRecord";
  return gst_vkgdr_context_get_driver (fence->context)
      ->cuEventRecord (fence->event, fence->handle);
}

/* Makes @call with the fence's CUDA context current. @what is the call that
 * gave the result. */
static CUresult
call_in_context (GstVkgdrFence *fence, Call call, const gchar **what)
{
  CUresult result = gst_vkgdr_context_try_push (fence->context);

  *what = "cuCtxPushCurrent";
  if (result != CUDA_SUCCESS)
    return result;
  result = call (fence, what);
  gst_vkgdr_context_pop (fence->context);
  return result;
}

/* Two threads may get different answers if the device fails meanwhile: the
 * first answer counts for both. */
static void
set_result (GstVkgdrFence *fence, CUresult result, const gchar *what)
{
  if (result != CUDA_SUCCESS) {
    g_atomic_int_set (&fence->result, result);
    g_atomic_pointer_set (&fence->what, what);
  }
  g_atomic_int_compare_and_exchange (&fence->state, GST_VKGDR_FENCE_PENDING,
      result == CUDA_SUCCESS ? GST_VKGDR_FENCE_REACHED : GST_VKGDR_FENCE_LOST);
}

void
gst_vkgdr_fence_record (GstVkgdrFence *fence, gboolean is_current)
{
  const gchar *what;
  CUresult result;

  if (!g_atomic_int_get (&fence->is_deferred))
    return;
  result = is_current ? call_record (fence, &what)
                      : call_in_context (fence, call_record, &what);
  if (result != CUDA_SUCCESS)
    set_result (fence, result, what);
  g_atomic_int_set (&fence->is_deferred, FALSE);
}

void
gst_vkgdr_fence_set_lost (
    GstVkgdrFence *fence, CUresult result, const gchar *what)
{
  set_result (fence, result, what);
  g_atomic_int_set (&fence->is_deferred, FALSE);
}

gboolean
gst_vkgdr_fence_is_deferred (GstVkgdrFence *fence)
{
  return g_atomic_int_get (&fence->is_deferred);
}

/* Must be called before each use of the event. */
static void
ensure_recorded (GstVkgdrFence *fence)
{
  if (g_atomic_int_get (&fence->is_deferred))
    gst_vkgdr_clock_record_deferred (fence->clock);
}

void
gst_vkgdr_fence_set_serial (GstVkgdrFence *fence, guint64 serial)
{
  fence->serial = serial;
}

guint64
gst_vkgdr_fence_get_serial (GstVkgdrFence *fence)
{
  return fence->serial;
}

gboolean
gst_vkgdr_fence_is_known (GstVkgdrFence *fence)
{
  return g_atomic_int_get (&fence->state) == GST_VKGDR_FENCE_REACHED;
}

CUresult
gst_vkgdr_fence_query (GstVkgdrFence *fence)
{
  GstVkgdrFenceState state;
  const gchar *what;

  ensure_recorded (fence);
  state = g_atomic_int_get (&fence->state);
  if (state == GST_VKGDR_FENCE_REACHED)
    return CUDA_SUCCESS;
  if (state == GST_VKGDR_FENCE_LOST)
    return g_atomic_int_get (&fence->result);
  return call_query (fence, &what);
}

static gboolean
set_lost_error (GstVkgdrFence *fence, GError **error)
{
  return gst_vkgdr_context_check (fence->context,
      g_atomic_int_get (&fence->result), g_atomic_pointer_get (&fence->what),
      error);
}

void
gst_vkgdr_fence_report_lost (GstVkgdrFence *fence)
{
  GError *error = NULL;

  if (!fence->clock || g_atomic_int_get (&fence->state) != GST_VKGDR_FENCE_LOST
      || !gst_vkgdr_clock_check (fence->clock, NULL)) /* it has failed before */
    return;
  set_lost_error (fence, &error);
  gst_vkgdr_clock_fail (fence->clock, error);
}

/* Whether a later fence of the same stream has been reached. If so, the fences
 * in front of the later fence need no queries. */
static gboolean
query_later (GstVkgdrFence *fence)
{
  GstVkgdrFence *later;
  const gchar *what;
  gboolean is_reached;

  if (fence->serial == 0)
    return FALSE;
  is_reached = gst_vkgdr_clock_find_later (fence->clock, fence->serial, &later);
  if (!later)
    return is_reached;
  is_reached = call_in_context (later, call_query, &what) == CUDA_SUCCESS;
  gst_vkgdr_clock_report_later (fence->clock, later->serial, is_reached);
  gst_vkgdr_fence_unref (later);
  return is_reached;
}

GstVkgdrFenceState
gst_vkgdr_fence_get_state (GstVkgdrFence *fence, GError **error)
{
  GstVkgdrFenceState state;
  const gchar *what = NULL;
  CUresult result = CUDA_SUCCESS;

  ensure_recorded (fence);
  state = g_atomic_int_get (&fence->state);
  if (state == GST_VKGDR_FENCE_LOST)
    set_lost_error (fence, error);
  if (state != GST_VKGDR_FENCE_PENDING)
    return state;
  if (!query_later (fence))
    result = call_in_context (fence, call_query, &what);
  if (result == CUDA_ERROR_NOT_READY)
    return GST_VKGDR_FENCE_PENDING;
  set_result (fence, result, what);
  state = g_atomic_int_get (&fence->state);
  if (state == GST_VKGDR_FENCE_LOST)
    set_lost_error (fence, error);
  return state;
}

/**
 * gst_vkgdr_fence_is_signaled:
 * @fence: a fence
 *
 * Does not block. May be called from any thread.
 *
 * Returns: whether the fence was reached. Always %FALSE if the device has
 *   failed; gst_vkgdr_fence_wait() returns the error
 *
 * Since: 0.1
 */
gboolean
gst_vkgdr_fence_is_signaled (GstVkgdrFence *fence)
{
  g_return_val_if_fail (fence != NULL, TRUE);

  return gst_vkgdr_fence_get_state (fence, NULL) == GST_VKGDR_FENCE_REACHED;
}

/* --- waiting ---------------------------------------------------------------
 */

/* Whether a wait that has lasted since @since may go on. */
static gboolean
check_wait (GstVkgdrContext *context, GstVkgdrClock *clock, gint64 since,
    GError **error)
{
  return (!clock || gst_vkgdr_clock_check (clock, error))
         && gst_vkgdr_health_check_wait (
             gst_vkgdr_context_get_health (context), since, error);
}

gboolean
gst_vkgdr_context_wait (GstVkgdrContext *context, CUevent event,
    CUstream stream, GstVkgdrClock *clock, GError **error)
{
  const vkgdr_cuda *cuda = gst_vkgdr_context_get_driver (context);
  GstVkgdrWait wait = GST_VKGDR_WAIT_INIT;
  gint64 since = g_get_monotonic_time ();
  CUresult result = CUDA_ERROR_NOT_READY;
  gboolean ok = TRUE;

  if (!gst_vkgdr_context_push (context, error))
    return FALSE;
  while (ok) {
    result = event ? cuda->cuEventQuery (event) : cuda->cuStreamQuery (stream);
    if (result != CUDA_ERROR_NOT_READY)
      break;
    ok = check_wait (context, clock, since, error);
    if (ok)
      gst_vkgdr_wait_pause (&wait);
  }
  gst_vkgdr_wait_end (&wait);
  gst_vkgdr_context_pop (context);
  return ok
         && gst_vkgdr_context_check (
             context, result, event ? "cuEventQuery" : "cuStreamQuery", error);
}

/**
 * gst_vkgdr_fence_wait:
 * @fence: a fence
 * @error: return location for a #GError
 *
 * Waits on the CPU until the fence is reached. May be called from any thread.
 *
 * Returns: %FALSE with @error set if the work before it, or the wait, failed,
 *   or a kernel runs for too long
 *
 * Since: 0.1
 */
gboolean
gst_vkgdr_fence_wait (GstVkgdrFence *fence, GError **error)
{
  GstVkgdrWait wait = GST_VKGDR_WAIT_INIT;
  gint64 since = g_get_monotonic_time ();
  GstVkgdrFenceState state;
  gboolean ok = TRUE;

  g_return_val_if_fail (fence != NULL, FALSE);

  while (ok) {
    state = gst_vkgdr_fence_get_state (fence, error);
    if (state != GST_VKGDR_FENCE_PENDING)
      break;
    ok = check_wait (fence->context, fence->clock, since, error);
    if (ok)
      gst_vkgdr_wait_pause (&wait);
  }
  gst_vkgdr_wait_end (&wait);
  return ok && state == GST_VKGDR_FENCE_REACHED;
}

gboolean
gst_vkgdr_fence_precede (GstVkgdrFence *fence, GstVkgdrContext *context,
    CUstream handle, GstVkgdrClock *clock, GError **error)
{
  const vkgdr_cuda *cuda = gst_vkgdr_context_get_driver (context);
  gboolean is_same_stream = clock && fence->clock == clock;
  GstVkgdrFenceState state;
  gboolean ok;

  if (!is_same_stream)
    ensure_recorded (fence);
  state = g_atomic_int_get (&fence->state);
  if (state == GST_VKGDR_FENCE_LOST)
    return set_lost_error (fence, error);
  if (state == GST_VKGDR_FENCE_REACHED || is_same_stream)
    return TRUE;
  if (!gst_vkgdr_context_push (context, error))
    return FALSE;
  /* A deferred fence of the stream must not cover work that waits for @fence.
   */
  if (clock)
    gst_vkgdr_clock_record_deferred (clock);
  ok = gst_vkgdr_context_check (context,
      cuda->cuStreamWaitEvent (handle, fence->event, 0), "cuStreamWaitEvent",
      error);
  gst_vkgdr_context_pop (context);
  if (ok && clock)
    gst_vkgdr_clock_add_wait (clock, fence);
  return ok;
}
