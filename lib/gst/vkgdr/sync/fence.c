/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * sync/fence.c: see sync/sync-private.h
 */

#include "sync/fence.h"

/* A stream keeps this number of fences that its next kernel waits for before it
 * looks which of them are reached. */
#define FEW_WAITS 8

G_DEFINE_BOXED_TYPE (
    GstVkgdrFence, gst_vkgdr_fence, gst_vkgdr_fence_ref, gst_vkgdr_fence_unref)

/* --- recording ------------------------------------------------------------
 */

static gsize
count (void)
{
  static gsize n = 0; /* atomic */

  return g_atomic_pointer_add (&n, 1);
}

/* @stream: (nullable) */
static GstVkgdrFence *
fence_new (GstVkgdrContext *context, GstVkgdrStream *stream)
{
  GstVkgdrFence *fence = g_atomic_rc_box_new0 (GstVkgdrFence);

  fence->context = context;
  if (stream)
    fence->stream = gst_object_ref (stream);
  else
    gst_object_ref (context);
  fence->result = CUDA_ERROR_NOT_READY;
  fence->what = "cuEventQuery";
  fence->serial = count ();
  return fence;
}

/* Records an event on @handle, or, if @on_all, behind all work of the CUDA
 * context. Must be called with the context pushed. */
static gboolean
record (GstVkgdrFence *fence, CUstream handle, gboolean on_all, GError **error)
{
  const vkgdr_cuda *cuda = gst_vkgdr_context_get_driver (fence->context);
  CUevent event = gst_vkgdr_context_take_event (fence->context, error);
  CUresult result;

  if (!event)
    return FALSE;
  if (on_all)
    result = cuda->cuCtxRecordEvent (
        gst_vkgdr_context_get_cuda_context (fence->context), event);
  else
    result = cuda->cuEventRecord (event, handle);
  if (gst_vkgdr_context_check (fence->context, result,
          on_all ? "cuCtxRecordEvent" : "cuEventRecord", error)) {
    fence->recorded = count ();
    g_atomic_pointer_set (&fence->event, event);
    return TRUE;
  }
  gst_vkgdr_context_give_event (fence->context, event);
  return FALSE;
}

static gboolean
push_and_record (
    GstVkgdrFence *fence, CUstream handle, gboolean on_all, GError **error)
{
  gboolean ok;

  if (!gst_vkgdr_context_push (fence->context, error))
    return FALSE;
  ok = record (fence, handle, on_all, error);
  gst_vkgdr_context_pop (fence->context);
  return ok;
}

/* Returns @fence (transfer full), recorded, or NULL with @error set. */
static GstVkgdrFence *
recorded (
    GstVkgdrFence *fence, CUstream handle, gboolean on_all, GError **error)
{
  if (push_and_record (fence, handle, on_all, error))
    return fence;
  gst_vkgdr_fence_unref (fence);
  return NULL;
}

GstVkgdrFence *
gst_vkgdr_fence_new_pending (GstVkgdrStream *stream)
{
  return fence_new (stream->context, stream);
}

gboolean
gst_vkgdr_fence_record (GstVkgdrFence *fence, GError **error)
{
  return push_and_record (fence, fence->stream->handle, FALSE, error);
}

GstVkgdrFence *
gst_vkgdr_fence_new_on (
    GstVkgdrContext *context, CUstream handle, GError **error)
{
  return recorded (fence_new (context, NULL), handle, FALSE, error);
}

GstVkgdrFence *
gst_vkgdr_fence_new_on_all (GstVkgdrContext *context)
{
  const vkgdr_cuda *cuda = gst_vkgdr_context_get_driver (context);

  if (!cuda || !cuda->cuCtxRecordEvent)
    return NULL;
  return recorded (fence_new (context, NULL), NULL, TRUE, NULL);
}

GstVkgdrFence *
gst_vkgdr_fence_new_lost (GstVkgdrContext *context)
{
  GstVkgdrFence *fence = fence_new (context, NULL);

  fence->result = CUDA_ERROR_NOT_SUPPORTED;
  fence->what = "cuCtxRecordEvent";
  return fence;
}

GstVkgdrFence *
gst_vkgdr_fence_new (GstVkgdrStream *stream, GError **error)
{
  return recorded (
      fence_new (stream->context, stream), stream->handle, FALSE, error);
}

/* --- references -----------------------------------------------------------
 */

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

  return g_atomic_rc_box_acquire (fence);
}

/* The event can be reused even if it is pending: a stream that waits for it
 * waits for what was recorded at that time, and a later record does not change
 * that. */
static void
fence_clear (gpointer data)
{
  GstVkgdrFence *fence = data;

  g_clear_pointer (&fence->waits, g_ptr_array_unref);
  if (fence->event)
    gst_vkgdr_context_give_event (fence->context, fence->event);
  gst_object_unref (
      fence->stream ? GST_OBJECT (fence->stream) : GST_OBJECT (fence->context));
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

  g_atomic_rc_box_release_full (fence, fence_clear);
}

GstVkgdrContext *
gst_vkgdr_fence_get_context (GstVkgdrFence *fence)
{
  return fence->context;
}

/* --- state ----------------------------------------------------------------
 */

static GstVkgdrFenceState
get_known_state (GstVkgdrFence *fence)
{
  switch (g_atomic_int_get (&fence->result)) {
  case CUDA_SUCCESS:
    return GST_VKGDR_FENCE_REACHED;
  case CUDA_ERROR_NOT_READY:
    return GST_VKGDR_FENCE_PENDING;
  default:
    return GST_VKGDR_FENCE_LOST;
  }
}

/* Returns FALSE. */
static gboolean
set_lost_error (GstVkgdrFence *fence, GError **error)
{
  return gst_vkgdr_context_check (fence->context,
      g_atomic_int_get (&fence->result), g_atomic_pointer_get (&fence->what),
      error);
}

gboolean
gst_vkgdr_fence_covers (GstVkgdrFence *fence, GstVkgdrFence *earlier)
{
  return fence->stream && fence->stream == earlier->stream
         && get_known_state (earlier) != GST_VKGDR_FENCE_LOST;
}

gboolean
gst_vkgdr_fence_is_behind (GstVkgdrFence *fence, GstVkgdrFence *earlier)
{
  return fence->stream && fence->stream == earlier->stream
         && g_atomic_pointer_get (&earlier->event)
         && earlier->recorded < fence->serial
         && get_known_state (fence) == GST_VKGDR_FENCE_PENDING;
}

static void
set_result (GstVkgdrFence *fence, CUresult result)
{
  g_atomic_int_compare_and_exchange (
      &fence->result, CUDA_ERROR_NOT_READY, (gint) result);
}

/* Whether a later fence of the stream is known to be reached. */
static gboolean
is_covered (GstVkgdrFence *fence)
{
  return fence->stream && g_atomic_pointer_get (&fence->event)
         && fence->recorded < GPOINTER_TO_SIZE (
                g_atomic_pointer_get (&fence->stream->reached));
}

static void
set_covered (GstVkgdrFence *fence)
{
  gpointer serial = GSIZE_TO_POINTER (fence->serial), old;

  do
    old = g_atomic_pointer_get (&fence->stream->reached);
  while (GPOINTER_TO_SIZE (old) < fence->serial
         && !g_atomic_pointer_compare_and_exchange (
             &fence->stream->reached, old, serial));
}

/* Two threads may get different answers if the device fails meanwhile: the
 * first answer counts for both. */
static void
query (GstVkgdrFence *fence)
{
  CUevent event = g_atomic_pointer_get (&fence->event);
  CUresult result;

  if (!event) /* the work is being queued */
    return;
  result = gst_vkgdr_context_try_push (fence->context);
  if (result != CUDA_SUCCESS) {
    g_atomic_pointer_set (&fence->what, "cuCtxPushCurrent");
  } else {
    result =
        gst_vkgdr_context_get_driver (fence->context)->cuEventQuery (event);
    gst_vkgdr_context_pop (fence->context);
  }
  set_result (fence, result);
  if (result == CUDA_SUCCESS && fence->stream)
    set_covered (fence);
}

GstVkgdrFenceState
gst_vkgdr_fence_get_state (GstVkgdrFence *fence, GError **error)
{
  GstVkgdrFenceState state;

  if (get_known_state (fence) == GST_VKGDR_FENCE_PENDING) {
    if (is_covered (fence))
      set_result (fence, CUDA_SUCCESS);
    else
      query (fence);
  }
  state = get_known_state (fence);
  if (error && state == GST_VKGDR_FENCE_LOST)
    set_lost_error (fence, error);
  return state;
}

void
gst_vkgdr_fence_report_lost (GstVkgdrFence *fence)
{
  GError *error = NULL;

  if (gst_vkgdr_fence_get_state (fence, &error) != GST_VKGDR_FENCE_LOST)
    return;
  if (fence->stream
      && gst_vkgdr_health_try_recover (
          gst_vkgdr_context_get_health (fence->context)))
    gst_vkgdr_stream_fail (fence->stream, error);
  else
    g_error_free (error);
}

GPtrArray *
gst_vkgdr_fences_new (void)
{
  return g_ptr_array_new_with_free_func (
      (GDestroyNotify) gst_vkgdr_fence_unref);
}

/* Many memories are small and short-lived and never have a fence. */
GPtrArray *
gst_vkgdr_fences_add (GPtrArray *fences, GstVkgdrFence *fence)
{
  if (!fences)
    fences = gst_vkgdr_fences_new ();
  g_ptr_array_add (fences, fence);
  return fences;
}

GstVkgdrFenceState
gst_vkgdr_fences_get_state (GPtrArray *fences)
{
  GstVkgdrFenceState all = GST_VKGDR_FENCE_REACHED, state;
  guint i;

  for (i = 0; fences && i < fences->len; i++) {
    state = gst_vkgdr_fence_get_state (g_ptr_array_index (fences, i), NULL);
    if (state == GST_VKGDR_FENCE_PENDING)
      return state;
    if (state == GST_VKGDR_FENCE_LOST)
      all = state;
  }
  return all;
}

/* The newest launch is rarely reached when the next frame comes. */
static GstVkgdrFence *
ref_last_but_one (GstVkgdrStream *stream)
{
  GstVkgdrFence *launch = NULL;

  GST_OBJECT_LOCK (stream);
  if (stream->launches.length > 1)
    launch = gst_vkgdr_fence_ref (stream->launches.tail->prev->data);
  GST_OBJECT_UNLOCK (stream);
  return launch;
}

void
gst_vkgdr_fence_look_ahead (GstVkgdrFence *fence)
{
  GstVkgdrFence *launch;

  if (!fence->stream || is_covered (fence)
      || get_known_state (fence) != GST_VKGDR_FENCE_PENDING)
    return;
  launch = ref_last_but_one (fence->stream);
  if (!launch)
    return;
  if (gst_vkgdr_fence_is_behind (launch, fence))
    gst_vkgdr_fence_get_state (launch, NULL);
  gst_vkgdr_fence_unref (launch);
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

  gst_vkgdr_fence_look_ahead (fence);
  return gst_vkgdr_fence_get_state (fence, NULL) == GST_VKGDR_FENCE_REACHED;
}

/* --- waiting ---------------------------------------------------------------
 */

static gboolean
set_late_error (GstVkgdrFence *fence, gint64 timeout, GError **error)
{
  g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_FAILED,
      "the device has not finished the work%s%s within %d ms, and the memory "
      "that it uses is not freed",
      fence->stream ? " of " : "",
      fence->stream ? GST_OBJECT_NAME (fence->stream) : "",
      (gint) (timeout / G_TIME_SPAN_MILLISECOND));
  return FALSE;
}

gboolean
gst_vkgdr_fence_wait_for (GstVkgdrFence *fence, gint64 timeout, GError **error)
{
  gint64 since = g_get_monotonic_time ();
  GstVkgdrFenceState state;

  while ((state = gst_vkgdr_fence_get_state (fence, error))
         == GST_VKGDR_FENCE_PENDING) {
    if ((fence->stream && !gst_vkgdr_stream_check (fence->stream, error))
        || !gst_vkgdr_health_pause (
            gst_vkgdr_context_get_health (fence->context), since, error))
      return FALSE;
    if (g_get_monotonic_time () - since > timeout)
      return set_late_error (fence, timeout, error);
  }
  return state == GST_VKGDR_FENCE_REACHED;
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
  g_return_val_if_fail (fence != NULL, FALSE);

  return gst_vkgdr_fence_wait_for (fence, G_MAXINT64, error);
}

/* Moves the fences of @waits that are reached to @reached. */
static void
take_reached (GPtrArray *waits, GPtrArray *reached)
{
  guint i;

  for (i = waits->len; i-- > 0;)
    if (gst_vkgdr_fence_get_state (g_ptr_array_index (waits, i), NULL)
        != GST_VKGDR_FENCE_PENDING)
      g_ptr_array_add (reached, g_ptr_array_steal_index_fast (waits, i));
}

/* The time of the next kernel of @stream begins when @fence is reached. A
 * reference must not be dropped with the lock held, because it may be the last
 * one of another stream. */
static void
keep_wait (GstVkgdrStream *stream, GstVkgdrFence *fence)
{
  GPtrArray *reached = NULL;

  GST_OBJECT_LOCK (stream);
  if (stream->waits && stream->waits->len >= FEW_WAITS) {
    reached = gst_vkgdr_fences_new ();
    take_reached (stream->waits, reached);
  }
  stream->waits =
      gst_vkgdr_fences_add (stream->waits, gst_vkgdr_fence_ref (fence));
  GST_OBJECT_UNLOCK (stream);
  g_clear_pointer (&reached, g_ptr_array_unref);
}

void
gst_vkgdr_stream_forget_waits (GstVkgdrStream *stream)
{
  GPtrArray *waits;

  GST_OBJECT_LOCK (stream);
  waits = g_steal_pointer (&stream->waits);
  GST_OBJECT_UNLOCK (stream);
  g_clear_pointer (&waits, g_ptr_array_unref);
}

gboolean
gst_vkgdr_fence_precede (GstVkgdrFence *fence, GstVkgdrContext *context,
    CUstream handle, GstVkgdrStream *stream, GError **error)
{
  GstVkgdrFenceState state = get_known_state (fence);
  CUresult result;

  if (state == GST_VKGDR_FENCE_LOST)
    return set_lost_error (fence, error);
  if (state == GST_VKGDR_FENCE_REACHED || (stream && fence->stream == stream))
    return TRUE;
  if (!gst_vkgdr_context_push (context, error))
    return FALSE;
  result = gst_vkgdr_context_get_driver (context)->cuStreamWaitEvent (
      handle, fence->event, 0);
  gst_vkgdr_context_pop (context);
  if (!gst_vkgdr_context_check (context, result, "cuStreamWaitEvent", error))
    return FALSE;
  if (stream && g_atomic_int_get (&stream->limit) > 0)
    keep_wait (stream, fence);
  return TRUE;
}

/**
 * gst_vkgdr_stream_wait:
 * @stream: a stream
 * @fence: a fence
 * @error: return location for a #GError
 *
 * Makes all work that is queued on @stream from now on wait until @fence is
 * reached. Does not block the CPU.
 *
 * Returns: %FALSE with @error set on failure
 *
 * Since: 0.1
 */
gboolean
gst_vkgdr_stream_wait (
    GstVkgdrStream *stream, GstVkgdrFence *fence, GError **error)
{
  g_return_val_if_fail (GST_IS_VKGDR_STREAM (stream), FALSE);
  g_return_val_if_fail (fence != NULL, FALSE);

  return gst_vkgdr_fence_precede (
      fence, stream->context, stream->handle, stream, error);
}

/**
 * gst_vkgdr_context_synchronize:
 * @context: a context
 * @error: return location for a #GError
 *
 * Waits on the CPU until all work of the CUDA context is done, including
 * streams of other libraries. With a driver older than CUDA 12.5, the wait does
 * not end if a kernel does not end, unless this was known before the wait. May
 * be called from any thread.
 *
 * Returns: %FALSE with @error set if the work, or the wait, failed, or a kernel
 *   runs for too long
 *
 * Since: 0.1
 */
gboolean
gst_vkgdr_context_synchronize (GstVkgdrContext *context, GError **error)
{
  GstVkgdrFence *fence;
  CUresult result;
  gboolean ok;

  g_return_val_if_fail (GST_IS_VKGDR_CONTEXT (context), FALSE);

  fence = gst_vkgdr_fence_new_on_all (context);
  if (fence) {
    ok = gst_vkgdr_fence_wait (fence, error);
    gst_vkgdr_fence_unref (fence);
    return ok;
  }
  /* An older driver: this blocks until the device is idle, and cannot be
   * interrupted. */
  if (!gst_vkgdr_context_check_usable (context, error)
      || !gst_vkgdr_health_check_hang (
          gst_vkgdr_context_get_health (context), error)
      || !gst_vkgdr_context_push (context, error))
    return FALSE;
  result = gst_vkgdr_context_get_driver (context)->cuCtxSynchronize ();
  gst_vkgdr_context_pop (context);
  return gst_vkgdr_context_check (context, result, "cuCtxSynchronize", error);
}
