/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * sync/stream.c: CUDA streams, and the fences that order work between them
 *
 * Knows nothing of memory: what a fence stands for is its user's affair.
 */

#include "sync/fence.h"
#include "sync/wait.h"
#include "sync/watchdog.h"

/**
 * SECTION:gstvkgdrstream
 * @title: GstVkgdrStream
 * @short_description: a CUDA stream and its fences
 *
 * A #GstVkgdrStream is a queue of work on the device. A #GstVkgdrFence marks a
 * point of it: another stream waits for that point without the CPU having to,
 * and the CPU can ask whether it was reached.
 *
 * A kernel on a stream that runs for too long
 * (gst_vkgdr_stream_set_kernel_timeout()) lets the context fail: nothing can
 * end it, so all waits of that context return an error, those under way within
 * a few milliseconds, and so does all that would use it. What the device has
 * then is not freed, since the driver would wait. A context that is made when
 * the kernel has ended after all works.
 *
 * Both may be used from any thread.
 *
 * Since: 0.1
 */

GST_DEBUG_CATEGORY_STATIC (gst_vkgdr_stream_debug);
#define GST_CAT_DEFAULT gst_vkgdr_stream_debug

struct _GstVkgdrStream {
  GstObject parent;

  GstVkgdrContext *context;
  CUstream handle;
  gboolean is_wrapped; /* the handle is somebody else's */
  GstVkgdrWatched watched;
};

struct _GstVkgdrFence {
  gint refcount;
  GstVkgdrContext *context;
  CUevent event;
  gint reached; /* atomic; what is reached stays so */
};

enum { SIGNAL_FAILED, N_SIGNALS };

static guint signals[N_SIGNALS];

G_DEFINE_TYPE_WITH_CODE (GstVkgdrStream, gst_vkgdr_stream, GST_TYPE_OBJECT,
    GST_DEBUG_CATEGORY_INIT (
        gst_vkgdr_stream_debug, "vkgdrstream", 0, "vkgdr streams and fences"))

G_DEFINE_BOXED_TYPE (
    GstVkgdrFence, gst_vkgdr_fence, gst_vkgdr_fence_ref, gst_vkgdr_fence_unref)

static GstVkgdrWatchdog *
watchdog_of (GstVkgdrStream *self)
{
  return gst_vkgdr_context_get_watchdog (self->context);
}

/* Not in finalize: the watchdog may be about to take a reference. */
static void
gst_vkgdr_stream_dispose (GObject *object)
{
  GstVkgdrStream *self = GST_VKGDR_STREAM (object);

  if (self->context)
    gst_vkgdr_watchdog_forget (watchdog_of (self), self);

  G_OBJECT_CLASS (gst_vkgdr_stream_parent_class)->dispose (object);
}

static void
gst_vkgdr_stream_finalize (GObject *object)
{
  GstVkgdrStream *self = GST_VKGDR_STREAM (object);

  if (self->handle && !self->is_wrapped
      && gst_vkgdr_context_push (self->context, NULL)) {
    gst_vkgdr_context_get_driver (self->context)
        ->cuStreamDestroy (self->handle);
    gst_vkgdr_context_pop (self->context);
  }
  gst_clear_object (&self->context);

  G_OBJECT_CLASS (gst_vkgdr_stream_parent_class)->finalize (object);
}

static void
gst_vkgdr_stream_class_init (GstVkgdrStreamClass *klass)
{
  G_OBJECT_CLASS (klass)->dispose = gst_vkgdr_stream_dispose;
  G_OBJECT_CLASS (klass)->finalize = gst_vkgdr_stream_finalize;

  /**
   * GstVkgdrStream::failed:
   * @stream: the stream
   * @error: why
   *
   * A kernel of the stream runs for too long, or failed on the device, and
   * nobody who waits for it may be there to hear of it. Emitted once, in a
   * thread of the library.
   *
   * Since: 0.1
   */
  signals[SIGNAL_FAILED] = g_signal_new ("failed", G_TYPE_FROM_CLASS (klass),
      G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL, G_TYPE_NONE, 1, G_TYPE_ERROR);
}

static void
gst_vkgdr_stream_init (GstVkgdrStream *self)
{
}

/**
 * gst_vkgdr_stream_new:
 * @context: a context
 * @error: return location for a #GError
 *
 * Makes a stream that does not wait for CUDA's legacy default stream.
 *
 * Returns: (transfer full) (nullable): the stream, or %NULL with @error set
 *
 * Since: 0.1
 */
GstVkgdrStream *
gst_vkgdr_stream_new (GstVkgdrContext *context, GError **error)
{
  const vkgdr_cuda *cuda;
  CUstream handle = NULL;
  GstVkgdrStream *self;
  gboolean ok;

  g_return_val_if_fail (GST_IS_VKGDR_CONTEXT (context), NULL);

  if (!gst_vkgdr_context_push (context, error))
    return NULL;
  cuda = gst_vkgdr_context_get_driver (context);
  ok = gst_vkgdr_context_check (context,
      cuda->cuStreamCreate (&handle, CU_STREAM_NON_BLOCKING), "cuStreamCreate",
      error);
  gst_vkgdr_context_pop (context);
  if (!ok)
    return NULL;

  self = g_object_new (GST_TYPE_VKGDR_STREAM, NULL);
  gst_object_ref_sink (self);
  self->context = gst_object_ref (context);
  self->handle = handle;
  return self;
}

/**
 * gst_vkgdr_stream_new_wrapped:
 * @context: the context that the stream is of
 * @handle: (nullable): a `CUstream` of that context, which stays as long as the
 *   object; %NULL or 1 is CUDA's legacy default stream, 2 the calling thread's
 * @error: return location for a #GError
 *
 * Makes an object for a stream of somebody else's, PyTorch's or CuPy's, so that
 * it can be ordered with others on the device. It is not destroyed with the
 * object.
 *
 * The thread's default stream is another one in each thread: the object is for
 * the calling one alone.
 *
 * Returns: (transfer full) (nullable): the stream, or %NULL with @error set
 *   where the driver does not know the handle, or not in this context
 *
 * Since: 0.1
 */
GstVkgdrStream *
gst_vkgdr_stream_new_wrapped (
    GstVkgdrContext *context, gpointer handle, GError **error)
{
  CUstream raw = handle == CU_STREAM_LEGACY ? NULL : handle;
  const vkgdr_cuda *cuda;
  GstVkgdrStream *self;
  CUresult result;

  g_return_val_if_fail (GST_IS_VKGDR_CONTEXT (context), NULL);

  if (!gst_vkgdr_context_push (context, error))
    return NULL;
  cuda = gst_vkgdr_context_get_driver (context);
  result = cuda->cuStreamQuery (raw);
  gst_vkgdr_context_pop (context);
  if (result != CUDA_ERROR_NOT_READY
      && !gst_vkgdr_context_check (context, result, "cuStreamQuery", error))
    return NULL;

  self = g_object_new (GST_TYPE_VKGDR_STREAM, NULL);
  gst_object_ref_sink (self);
  self->context = gst_object_ref (context);
  self->handle = raw;
  self->is_wrapped = TRUE;
  return self;
}

/**
 * gst_vkgdr_stream_get_context:
 * @stream: a stream
 *
 * Returns: (transfer none): the context it belongs to
 *
 * Since: 0.1
 */
GstVkgdrContext *
gst_vkgdr_stream_get_context (GstVkgdrStream *stream)
{
  g_return_val_if_fail (GST_IS_VKGDR_STREAM (stream), NULL);

  return stream->context;
}

/**
 * gst_vkgdr_stream_get_handle:
 * @stream: a stream
 *
 * For calls of CUDA that queue work of the caller's own.
 *
 * Returns: (transfer none) (nullable): its `CUstream`, valid as long as
 *   @stream; %NULL is CUDA's legacy default stream
 *
 * Since: 0.1
 */
gpointer
gst_vkgdr_stream_get_handle (GstVkgdrStream *stream)
{
  g_return_val_if_fail (GST_IS_VKGDR_STREAM (stream), NULL);

  return stream->handle;
}

GstVkgdrWatched *
gst_vkgdr_stream_get_watched (GstVkgdrStream *stream)
{
  return &stream->watched;
}

/**
 * gst_vkgdr_stream_set_kernel_timeout:
 * @stream: a stream
 * @timeout: milliseconds, or 0: no limit
 *
 * Sets how long a kernel may run that gst_vkgdr_kernel_run() launches on the
 * stream from now on. The time counts from when all that was launched before it
 * has ended, so a long queue of short kernels is no matter. A new stream has no
 * limit.
 *
 * Since: 0.1
 */
void
gst_vkgdr_stream_set_kernel_timeout (GstVkgdrStream *stream, guint timeout)
{
  g_return_if_fail (GST_IS_VKGDR_STREAM (stream));

  g_atomic_int_set (&stream->watched.limit, MIN (timeout, G_MAXINT));
}

/* --- waiting ------------------------------------------------------------- */

gboolean
gst_vkgdr_context_wait (
    GstVkgdrContext *context, CUevent event, CUstream stream, GError **error)
{
  GstVkgdrWatchdog *watchdog = gst_vkgdr_context_get_watchdog (context);
  const vkgdr_cuda *cuda = gst_vkgdr_context_get_driver (context);
  GstVkgdrWait wait = GST_VKGDR_WAIT_INIT;
  CUresult result = CUDA_ERROR_NOT_READY;
  gboolean ok = TRUE;

  if (!gst_vkgdr_context_push (context, error))
    return FALSE;
  while (ok && result == CUDA_ERROR_NOT_READY) {
    result = event ? cuda->cuEventQuery (event) : cuda->cuStreamQuery (stream);
    if (result != CUDA_ERROR_NOT_READY)
      break;
    ok = gst_vkgdr_watchdog_check (watchdog, error);
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
 * gst_vkgdr_stream_synchronize:
 * @stream: a stream
 * @error: return location for a #GError
 *
 * Waits on the CPU until all work queued so far is done.
 *
 * Returns: %FALSE with @error set where the work, or the wait, failed
 *
 * Since: 0.1
 */
gboolean
gst_vkgdr_stream_synchronize (GstVkgdrStream *stream, GError **error)
{
  g_return_val_if_fail (GST_IS_VKGDR_STREAM (stream), FALSE);

  if (!gst_vkgdr_context_wait (stream->context, NULL, stream->handle, error))
    return FALSE;
  gst_vkgdr_watchdog_settle (watchdog_of (stream), stream);
  return TRUE;
}

/**
 * gst_vkgdr_stream_is_done:
 * @stream: a stream
 *
 * Looks, and does not wait.
 *
 * Returns: whether all work queued so far is done; a stream that failed has
 *   nothing more to do
 *
 * Since: 0.1
 */
gboolean
gst_vkgdr_stream_is_done (GstVkgdrStream *stream)
{
  CUresult result;

  g_return_val_if_fail (GST_IS_VKGDR_STREAM (stream), TRUE);

  if (!gst_vkgdr_context_push (stream->context, NULL))
    return TRUE;
  result = gst_vkgdr_context_get_driver (stream->context)
               ->cuStreamQuery (stream->handle);
  gst_vkgdr_context_pop (stream->context);
  return result != CUDA_ERROR_NOT_READY;
}

/* Takes @event over, which stands for something if @result says so. */
static GstVkgdrFence *
fence_new (GstVkgdrContext *context, CUevent event, CUresult result,
    const gchar *what, GError **error)
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
  return fence;
}

GstVkgdrFence *
gst_vkgdr_fence_new_on (
    GstVkgdrContext *context, CUstream handle, GError **error)
{
  const vkgdr_cuda *cuda = gst_vkgdr_context_get_driver (context);
  GstVkgdrFence *fence = NULL;
  CUevent event;

  if (!gst_vkgdr_context_push (context, error))
    return NULL;
  event = gst_vkgdr_context_take_event (context, error);
  if (event)
    fence = fence_new (context, event, cuda->cuEventRecord (event, handle),
        "cuEventRecord", error);
  gst_vkgdr_context_pop (context);
  return fence;
}

GstVkgdrFence *
gst_vkgdr_fence_new_on_all (GstVkgdrContext *context)
{
  const vkgdr_cuda *cuda = gst_vkgdr_context_get_driver (context);
  GstVkgdrFence *fence = NULL;
  CUevent event;

  if (!cuda->cuCtxRecordEvent || !gst_vkgdr_context_push (context, NULL))
    return NULL;
  event = gst_vkgdr_context_take_event (context, NULL);
  if (event)
    fence = fence_new (context, event,
        cuda->cuCtxRecordEvent (
            gst_vkgdr_context_get_cuda_context (context), event),
        "cuCtxRecordEvent", NULL);
  gst_vkgdr_context_pop (context);
  return fence;
}

GstVkgdrFence *
gst_vkgdr_fence_new (GstVkgdrStream *stream, GError **error)
{
  return gst_vkgdr_fence_new_on (stream->context, stream->handle, error);
}

gboolean
gst_vkgdr_fence_precede (GstVkgdrFence *fence, GstVkgdrContext *context,
    CUstream handle, GError **error)
{
  const vkgdr_cuda *cuda = gst_vkgdr_context_get_driver (context);
  gboolean ok;

  if (!gst_vkgdr_context_push (context, error))
    return FALSE;
  ok = gst_vkgdr_context_check (context,
      cuda->cuStreamWaitEvent (handle, fence->event, 0), "cuStreamWaitEvent",
      error);
  gst_vkgdr_context_pop (context);
  return ok;
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
  GstVkgdrFence *fence;

  g_return_val_if_fail (GST_IS_VKGDR_STREAM (stream), NULL);

  fence = gst_vkgdr_fence_new (stream, error);
  if (fence)
    gst_vkgdr_watchdog_mark (watchdog_of (stream), stream, fence);
  return fence;
}

/**
 * gst_vkgdr_stream_wait:
 * @stream: a stream
 * @fence: a fence
 * @error: return location for a #GError
 *
 * Lets all work that is queued on @stream from now on begin only when @fence is
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
      fence, stream->context, stream->handle, error);
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
 * Gives a reference back. The last one does not wait for the fence.
 *
 * Since: 0.1
 */
void
gst_vkgdr_fence_unref (GstVkgdrFence *fence)
{
  g_return_if_fail (fence != NULL);

  if (!g_atomic_int_dec_and_test (&fence->refcount))
    return;
  /* The event goes back at once, reached or not: whoever waits for it did so
   * when it was current, and recording it anew does not change that. */
  gst_vkgdr_context_give_event (fence->context, fence->event);
  gst_object_unref (fence->context);
  g_free (fence);
}

/**
 * gst_vkgdr_fence_is_signaled:
 * @fence: a fence
 *
 * Looks, and does not wait.
 *
 * Returns: whether the fence was reached. A failed stream counts as reached:
 *   there is nothing to wait for, and its error comes with the next call that
 *   can tell it. One behind a kernel that never ends is not
 *
 * Since: 0.1
 */
gboolean
gst_vkgdr_fence_is_signaled (GstVkgdrFence *fence)
{
  g_return_val_if_fail (fence != NULL, TRUE);

  return gst_vkgdr_fence_query (fence) != CUDA_ERROR_NOT_READY;
}

CUresult
gst_vkgdr_fence_query (GstVkgdrFence *fence)
{
  GstVkgdrContext *context = fence->context;
  const vkgdr_cuda *cuda = gst_vkgdr_context_get_driver (context);
  CUcontext popped;
  CUresult result;

  if (g_atomic_int_get (&fence->reached))
    return CUDA_SUCCESS;
  if (gst_vkgdr_context_is_retired (context))
    return CUDA_ERROR_INVALID_CONTEXT;
  result =
      cuda->cuCtxPushCurrent (gst_vkgdr_context_get_cuda_context (context));
  if (result != CUDA_SUCCESS)
    return result;
  result = cuda->cuEventQuery (fence->event);
  cuda->cuCtxPopCurrent (&popped);
  if (result == CUDA_SUCCESS)
    g_atomic_int_set (&fence->reached, TRUE);
  return result;
}

/**
 * gst_vkgdr_fence_wait:
 * @fence: a fence
 * @error: return location for a #GError
 *
 * Waits on the CPU until the fence is reached.
 *
 * Returns: %FALSE with @error set where the work before it, or the wait,
 *   failed, or a kernel runs for too long
 *
 * Since: 0.1
 */
gboolean
gst_vkgdr_fence_wait (GstVkgdrFence *fence, GError **error)
{
  g_return_val_if_fail (fence != NULL, FALSE);

  if (g_atomic_int_get (&fence->reached))
    return TRUE;
  if (!gst_vkgdr_context_wait (fence->context, fence->event, NULL, error))
    return FALSE;
  g_atomic_int_set (&fence->reached, TRUE);
  return TRUE;
}
