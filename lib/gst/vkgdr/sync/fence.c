/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * sync/fence.c: see sync/sync-private.h
 */

#include "sync/stream.h"

struct _GstVkgdrFence {
  gint result;       /* atomic; a CUresult; final unless CUDA_ERROR_NOT_READY */
  const gchar *what; /* the call that failed; atomic */
  GstVkgdrContext *context; /* a reference */
  CUevent event;            /* NULL if the driver could not record it */
  GstVkgdrStream *stream;   /* a reference; NULL for a foreign stream */
};

G_DEFINE_BOXED_TYPE (
    GstVkgdrFence, gst_vkgdr_fence, gst_vkgdr_fence_ref, gst_vkgdr_fence_unref)

/* --- recording ------------------------------------------------------------
 */

static GstVkgdrFence *
fence_new (GstVkgdrContext *context, CUresult result, const gchar *what)
{
  GstVkgdrFence *fence = g_atomic_rc_box_new0 (GstVkgdrFence);

  fence->context = gst_object_ref (context);
  fence->result = result;
  fence->what = what;
  return fence;
}

/* Records an event on @handle, or, if @on_all, behind all work of the CUDA
 * context. */
static GstVkgdrFence *
record (GstVkgdrContext *context, CUstream handle, gboolean on_all,
    GstVkgdrStream *stream, GError **error)
{
  const vkgdr_cuda *cuda = gst_vkgdr_context_get_driver (context);
  GstVkgdrFence *fence = NULL;
  CUresult result;
  CUevent event;

  if (!gst_vkgdr_context_push (context, error))
    return NULL;
  event = gst_vkgdr_context_take_event (context, error);
  if (event) {
    result = on_all ? cuda->cuCtxRecordEvent (
                 gst_vkgdr_context_get_cuda_context (context), event)
                    : cuda->cuEventRecord (event, handle);
    if (gst_vkgdr_context_check (context, result,
            on_all ? "cuCtxRecordEvent" : "cuEventRecord", error)) {
      fence = fence_new (context, CUDA_ERROR_NOT_READY, "cuEventQuery");
      fence->event = event;
      fence->stream = stream ? gst_object_ref (stream) : NULL;
    } else {
      gst_vkgdr_context_give_event (context, event);
    }
  }
  gst_vkgdr_context_pop (context);
  return fence;
}

GstVkgdrFence *
gst_vkgdr_fence_new_on (
    GstVkgdrContext *context, CUstream handle, GError **error)
{
  return record (context, handle, FALSE, NULL, error);
}

GstVkgdrFence *
gst_vkgdr_fence_new_on_all (GstVkgdrContext *context)
{
  const vkgdr_cuda *cuda = gst_vkgdr_context_get_driver (context);

  if (!cuda || !cuda->cuCtxRecordEvent)
    return NULL;
  return record (context, NULL, TRUE, NULL, NULL);
}

GstVkgdrFence *
gst_vkgdr_fence_new_lost (GstVkgdrContext *context)
{
  return fence_new (context, CUDA_ERROR_NOT_SUPPORTED, "cuCtxRecordEvent");
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
  g_return_val_if_fail (GST_IS_VKGDR_STREAM (stream), NULL);

  return record (stream->context, stream->handle, FALSE, stream, error);
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

  if (fence->event)
    gst_vkgdr_context_give_event (fence->context, fence->event);
  gst_clear_object (&fence->stream);
  gst_object_unref (fence->context);
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

/* Two threads may get different answers if the device fails meanwhile: the
 * first answer counts for both. */
static void
query (GstVkgdrFence *fence)
{
  CUresult result = gst_vkgdr_context_try_push (fence->context);

  if (result != CUDA_SUCCESS) {
    g_atomic_pointer_set (&fence->what, "cuCtxPushCurrent");
  } else {
    result = gst_vkgdr_context_get_driver (fence->context)
                 ->cuEventQuery (fence->event);
    gst_vkgdr_context_pop (fence->context);
  }
  g_atomic_int_compare_and_exchange (
      &fence->result, CUDA_ERROR_NOT_READY, (gint) result);
}

GstVkgdrFenceState
gst_vkgdr_fence_get_state (GstVkgdrFence *fence, GError **error)
{
  GstVkgdrFenceState state;

  if (get_known_state (fence) == GST_VKGDR_FENCE_PENDING)
    query (fence);
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
      && !gst_vkgdr_health_is_lost (
          gst_vkgdr_context_get_health (fence->context)))
    gst_vkgdr_stream_fail (fence->stream, error);
  else
    g_error_free (error);
}

/* Many memories are small and short-lived and never have a fence. */
GPtrArray *
gst_vkgdr_fences_add (GPtrArray *fences, GstVkgdrFence *fence)
{
  if (!fences)
    fences =
        g_ptr_array_new_with_free_func ((GDestroyNotify) gst_vkgdr_fence_unref);
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
  gint64 since = g_get_monotonic_time ();
  GstVkgdrFenceState state;

  g_return_val_if_fail (fence != NULL, FALSE);

  while ((state = gst_vkgdr_fence_get_state (fence, error))
         == GST_VKGDR_FENCE_PENDING)
    if ((fence->stream && !gst_vkgdr_stream_check (fence->stream, error))
        || !gst_vkgdr_health_pause (
            gst_vkgdr_context_get_health (fence->context), since, error))
      return FALSE;
  return state == GST_VKGDR_FENCE_REACHED;
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
  return gst_vkgdr_context_check (context, result, "cuStreamWaitEvent", error);
}

/* @fence: (transfer full) (nullable) */
static gboolean
wait_and_unref (GstVkgdrFence *fence, GError **error)
{
  gboolean ok = fence && gst_vkgdr_fence_wait (fence, error);

  g_clear_pointer (&fence, gst_vkgdr_fence_unref);
  return ok;
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
  g_return_val_if_fail (GST_IS_VKGDR_STREAM (stream), FALSE);

  return wait_and_unref (gst_vkgdr_stream_record (stream, error), error);
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

  g_return_val_if_fail (GST_IS_VKGDR_CONTEXT (context), FALSE);

  fence = gst_vkgdr_fence_new_on_all (context);
  if (fence)
    return wait_and_unref (fence, error);
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
