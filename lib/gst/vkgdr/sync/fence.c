/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * sync/fence.c: see sync/fence.h
 */

#include "sync/fence.h"
#include "sync/stream.h"
#include "sync/wait.h"

struct _GstVkgdrFence {
  gint refcount;     /* atomic */
  gint state;        /* atomic; a GstVkgdrFenceState; final unless pending */
  gint result;       /* the CUresult with which it was lost; atomic */
  const gchar *what; /* the call that returned it; atomic */
  GstVkgdrContext *context; /* a reference */
  CUevent event;
  GstVkgdrStream *stream; /* a reference; NULL for a foreign stream */
};

G_DEFINE_BOXED_TYPE (
    GstVkgdrFence, gst_vkgdr_fence, gst_vkgdr_fence_ref, gst_vkgdr_fence_unref)

/* --- recording ------------------------------------------------------------
 */

/* Takes @event, which was recorded if @result is CUDA_SUCCESS. */
static GstVkgdrFence *
fence_new (GstVkgdrContext *context, CUevent event, GstVkgdrStream *stream,
    CUresult result, const gchar *what, GError **error)
{
  GstVkgdrFence *fence;

  if (!gst_vkgdr_context_check (context, result, what, error)) {
    gst_vkgdr_context_give_event (context, event);
    return NULL;
  }
  fence = g_new0 (GstVkgdrFence, 1);
  fence->refcount = 1;
  fence->context = gst_object_ref (context);
  fence->event = event;
  fence->stream = stream ? gst_object_ref (stream) : NULL;
  return fence;
}

static GstVkgdrFence *
record (GstVkgdrContext *context, CUstream handle, GstVkgdrStream *stream,
    GError **error)
{
  GstVkgdrFence *fence = NULL;
  CUevent event;

  if (!gst_vkgdr_context_push (context, error))
    return NULL;
  event = gst_vkgdr_context_take_event (context, error);
  if (event)
    fence = fence_new (context, event, stream,
        gst_vkgdr_context_get_driver (context)->cuEventRecord (event, handle),
        "cuEventRecord", error);
  gst_vkgdr_context_pop (context);
  return fence;
}

GstVkgdrFence *
gst_vkgdr_fence_new_on (
    GstVkgdrContext *context, CUstream handle, GError **error)
{
  return record (context, handle, NULL, error);
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
  event = gst_vkgdr_context_take_event (context, NULL);
  if (event)
    fence = fence_new (context, event, NULL,
        cuda->cuCtxRecordEvent (
            gst_vkgdr_context_get_cuda_context (context), event),
        "cuCtxRecordEvent", NULL);
  gst_vkgdr_context_pop (context);
  return fence;
}

/* All of @launches were queued before @fence (nullable) was recorded. */
static void
close_launches (GstVkgdrLaunch *launches, GstVkgdrFence *fence)
{
  while (launches) {
    GstVkgdrLaunch *launch = launches;

    launches = launch->next;
    launch->end = fence ? gst_vkgdr_fence_ref (fence) : NULL;
    g_atomic_int_set (&launch->is_closed, TRUE);
  }
}

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
  GstVkgdrLaunch *launches;
  GstVkgdrFence *fence;

  g_return_val_if_fail (GST_IS_VKGDR_STREAM (stream), NULL);

  /* Taken before the fence is recorded: other threads may launch meanwhile. */
  GST_OBJECT_LOCK (stream);
  launches = g_steal_pointer (&stream->open);
  GST_OBJECT_UNLOCK (stream);
  fence = record (stream->context, stream->handle, stream, error);
  close_launches (launches, fence);
  return fence;
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
  gst_clear_object (&fence->stream);
  gst_object_unref (fence->context);
  g_free (fence);
}

GstVkgdrContext *
gst_vkgdr_fence_get_context (GstVkgdrFence *fence)
{
  return fence->context;
}

/* --- state ----------------------------------------------------------------
 */

static CUresult
query_in_context (GstVkgdrFence *fence, const gchar **what)
{
  CUresult result = gst_vkgdr_context_try_push (fence->context);

  *what = "cuCtxPushCurrent";
  if (result != CUDA_SUCCESS)
    return result;
  *what = "cuEventQuery";
  result = gst_vkgdr_context_get_driver (fence->context)
               ->cuEventQuery (fence->event);
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

/* Returns FALSE. */
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

  if (!fence->stream || g_atomic_int_get (&fence->state) != GST_VKGDR_FENCE_LOST
      || !gst_vkgdr_stream_check (fence->stream, NULL)) /* failed before */
    return;
  set_lost_error (fence, &error);
  gst_vkgdr_stream_fail (fence->stream, error);
}

GstVkgdrFenceState
gst_vkgdr_fence_get_state (GstVkgdrFence *fence, GError **error)
{
  const gchar *what = NULL;
  CUresult result;

  if (g_atomic_int_get (&fence->state) == GST_VKGDR_FENCE_PENDING) {
    result = query_in_context (fence, &what);
    if (result != CUDA_ERROR_NOT_READY)
      set_result (fence, result, what);
  }
  if (error && g_atomic_int_get (&fence->state) == GST_VKGDR_FENCE_LOST)
    set_lost_error (fence, error);
  return g_atomic_int_get (&fence->state);
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
check_wait (GstVkgdrContext *context, GstVkgdrStream *stream, gint64 since,
    GError **error)
{
  return (!stream || gst_vkgdr_stream_check (stream, error))
         && gst_vkgdr_health_check_wait (
             gst_vkgdr_context_get_health (context), since, error);
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
  GstVkgdrFenceState state = GST_VKGDR_FENCE_PENDING;
  gboolean ok = TRUE;

  g_return_val_if_fail (fence != NULL, FALSE);

  while (ok) {
    state = gst_vkgdr_fence_get_state (fence, NULL);
    if (state != GST_VKGDR_FENCE_PENDING)
      break;
    ok = check_wait (fence->context, fence->stream, since, error);
    if (ok)
      gst_vkgdr_wait_pause (&wait);
  }
  gst_vkgdr_wait_end (&wait);
  if (state == GST_VKGDR_FENCE_LOST)
    set_lost_error (fence, error);
  return ok && state == GST_VKGDR_FENCE_REACHED;
}

gboolean
gst_vkgdr_fence_precede (GstVkgdrFence *fence, GstVkgdrContext *context,
    CUstream handle, GstVkgdrStream *stream, GError **error)
{
  GstVkgdrFenceState state = g_atomic_int_get (&fence->state);
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
  return gst_vkgdr_context_check (context, result, "cuStreamWaitEvent", error);
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
  GstVkgdrFence *fence;
  gboolean ok;

  g_return_val_if_fail (GST_IS_VKGDR_STREAM (stream), FALSE);

  fence = gst_vkgdr_stream_record (stream, error);
  if (!fence)
    return FALSE;
  ok = gst_vkgdr_fence_wait (fence, error);
  gst_vkgdr_fence_unref (fence);
  return ok;
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
