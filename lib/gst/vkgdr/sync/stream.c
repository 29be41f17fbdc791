/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * sync/stream.c: CUDA streams
 */

#include "sync/fence.h"

/**
 * SECTION:gstvkgdrstream
 * @title: GstVkgdrStream
 * @short_description: a CUDA stream and its fences
 *
 * A #GstVkgdrStream is a queue of work on the device. A #GstVkgdrFence marks a
 * point of it. Another stream can wait for that point without blocking the CPU,
 * and the CPU can query whether it was reached.
 *
 * A kernel that runs for longer than its limit
 * (gst_vkgdr_stream_set_kernel_timeout()) makes its stream fail: waits for the
 * stream return an error. The kernel itself cannot be ended. Other streams go
 * on. A wait for work that is queued behind the kernel returns the same error
 * after a second. Memory that is freed meanwhile goes back to the driver after
 * the kernel has ended.
 *
 * Streams and fences may be used from any thread.
 *
 * Since: 0.1
 */

GST_DEBUG_CATEGORY_STATIC (gst_vkgdr_stream_debug);
#define GST_CAT_DEFAULT gst_vkgdr_stream_debug

struct _GstVkgdrStream {
  GstObject parent;

  GstVkgdrContext *context;
  CUstream handle;
  gboolean is_wrapped;    /* the handle belongs to another library */
  GstVkgdrStream *leader; /* owner of the handle; NULL: this stream */
  GstVkgdrClock *clock;
  GstVkgdrLauncher *launcher;
  gint defers; /* see gst_vkgdr_stream_set_defers (); atomic */
};

enum { SIGNAL_FAILED, N_SIGNALS };

static guint signals[N_SIGNALS];

G_DEFINE_TYPE_WITH_CODE (GstVkgdrStream, gst_vkgdr_stream, GST_TYPE_OBJECT,
    GST_DEBUG_CATEGORY_INIT (
        gst_vkgdr_stream_debug, "vkgdrstream", 0, "vkgdr streams and fences"))

static void
gst_vkgdr_stream_dispose (GObject *object)
{
  GstVkgdrStream *self = GST_VKGDR_STREAM (object);

  if (self->clock && !self->leader)
    gst_vkgdr_clock_detach (self->clock);

  G_OBJECT_CLASS (gst_vkgdr_stream_parent_class)->dispose (object);
}

static void
gst_vkgdr_stream_finalize (GObject *object)
{
  GstVkgdrStream *self = GST_VKGDR_STREAM (object);

  if (self->handle && !self->is_wrapped && !self->leader
      && gst_vkgdr_context_push (self->context, NULL)) {
    gst_vkgdr_context_get_driver (self->context)
        ->cuStreamDestroy (self->handle);
    gst_vkgdr_context_pop (self->context);
  }
  g_clear_pointer (&self->clock, gst_vkgdr_clock_unref);
  g_clear_pointer (&self->launcher, gst_vkgdr_launcher_unref);
  gst_clear_object (&self->leader);
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
   * @error: the reason
   *
   * A kernel of the stream runs for too long, or the device failed. Emitted
   * once, in a thread of the library.
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

static GstVkgdrStream *
stream_new (GstVkgdrContext *context, CUstream handle)
{
  GstVkgdrStream *self = g_object_new (GST_TYPE_VKGDR_STREAM, NULL);

  gst_object_ref_sink (self);
  self->context = gst_object_ref (context);
  self->handle = handle;
  return self;
}

static GstVkgdrStream *
stream_new_with_clock (
    GstVkgdrContext *context, CUstream handle, gboolean is_wrapped)
{
  GstVkgdrStream *self = stream_new (context, handle);

  self->is_wrapped = is_wrapped;
  self->clock = gst_vkgdr_clock_new (context, self, handle);
  self->launcher = gst_vkgdr_launcher_new (self);
  if (is_wrapped)
    gst_vkgdr_clock_share (self->clock);
  return self;
}

GstVkgdrStream *
gst_vkgdr_stream_new_follower (GstVkgdrStream *own, GstVkgdrStream *leader)
{
  GstVkgdrStream *self = stream_new (leader->context, leader->handle);

  self->leader = gst_object_ref (leader);
  self->clock = gst_vkgdr_clock_ref (leader->clock);
  self->launcher = gst_vkgdr_launcher_ref (own->launcher);
  return self;
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

  return stream_new_with_clock (context, handle, FALSE);
}

/**
 * gst_vkgdr_stream_new_wrapped:
 * @context: the context of the stream
 * @handle: (nullable): a `CUstream` of that context, which must stay valid as
 *   long as the object; %NULL or 1 is CUDA's legacy default stream, 2 the
 *   calling thread's
 * @error: return location for a #GError
 *
 * Makes an object for a stream of another library, for example of PyTorch or
 * CuPy, so that other streams can be ordered with it on the device. The CUDA
 * stream is not destroyed with the object.
 *
 * Each thread has its own per-thread default stream: an object for handle 2 may
 * only be used in the calling thread.
 *
 * Returns: (transfer full) (nullable): the stream, or %NULL with @error set if
 *   the driver does not know the handle in this context
 *
 * Since: 0.1
 */
GstVkgdrStream *
gst_vkgdr_stream_new_wrapped (
    GstVkgdrContext *context, gpointer handle, GError **error)
{
  CUstream raw = handle == CU_STREAM_LEGACY ? NULL : handle;
  const vkgdr_cuda *cuda;
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

  return stream_new_with_clock (context, raw, TRUE);
}

/**
 * gst_vkgdr_stream_get_context:
 * @stream: a stream
 *
 * Returns: (transfer none): the context of the stream
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
 * Returns the handle for CUDA calls that queue the caller's own work. After
 * this call, each kernel of the stream takes a little longer, because the
 * library has to record events for work that it does not know.
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

  gst_vkgdr_clock_share (stream->clock);
  return stream->handle;
}

CUstream
gst_vkgdr_stream_peek_handle (GstVkgdrStream *stream)
{
  return stream->handle;
}

GstVkgdrClock *
gst_vkgdr_stream_get_clock (GstVkgdrStream *stream)
{
  return stream->clock;
}

GstVkgdrLauncher *
gst_vkgdr_stream_get_launcher (GstVkgdrStream *stream)
{
  return stream->launcher;
}

void
gst_vkgdr_stream_set_defers (GstVkgdrStream *stream, gboolean defers)
{
  g_atomic_int_set (&stream->defers, defers);
}

gboolean
gst_vkgdr_stream_get_defers (GstVkgdrStream *stream)
{
  return g_atomic_int_get (&stream->defers);
}

/**
 * gst_vkgdr_stream_set_kernel_timeout:
 * @stream: a stream
 * @timeout: milliseconds, or 0: no limit
 *
 * Sets the limit for the time of each kernel that gst_vkgdr_kernel_run()
 * launches on the stream from now on. The time begins when all earlier work of
 * the stream is done, and all fences that the stream waits for are reached. So
 * neither a long queue of short kernels nor other work on the device counts. A
 * new stream has no limit.
 *
 * Since: 0.1
 */
void
gst_vkgdr_stream_set_kernel_timeout (GstVkgdrStream *stream, guint timeout)
{
  g_return_if_fail (GST_IS_VKGDR_STREAM (stream));

  gst_vkgdr_launcher_set_limit (stream->launcher, timeout);
  gst_vkgdr_clock_expect_limit (stream->clock, timeout > 0);
}

/* --- waiting ------------------------------------------------------------- */

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
  const gchar *what = NULL;
  CUresult result;

  g_return_val_if_fail (GST_IS_VKGDR_STREAM (stream), FALSE);

  result = gst_vkgdr_clock_launch_kept (stream->clock, FALSE, &what);
  return gst_vkgdr_context_check (stream->context, result, what, error)
         && gst_vkgdr_context_wait (
             stream->context, NULL, stream->handle, stream->clock, error);
}

/**
 * gst_vkgdr_stream_is_done:
 * @stream: a stream
 *
 * Does not block.
 *
 * Returns: whether all work queued so far is done; %TRUE if the device failed,
 *   because it does no more work then
 *
 * Since: 0.1
 */
gboolean
gst_vkgdr_stream_is_done (GstVkgdrStream *stream)
{
  const gchar *what;
  CUresult result;

  g_return_val_if_fail (GST_IS_VKGDR_STREAM (stream), TRUE);

  if (!gst_vkgdr_context_push (stream->context, NULL))
    return TRUE;
  gst_vkgdr_clock_launch_kept (stream->clock, TRUE, &what);
  result = gst_vkgdr_context_get_driver (stream->context)
               ->cuStreamQuery (stream->handle);
  gst_vkgdr_context_pop (stream->context);
  return result != CUDA_ERROR_NOT_READY;
}

static GstVkgdrFence *
get_fence (GstVkgdrStream *self, gboolean may_defer, GError **error)
{
  GstVkgdrFence *fence = gst_vkgdr_clock_get_fence (self->clock, may_defer);

  if (fence || !gst_vkgdr_context_push (self->context, error))
    return fence;
  fence = gst_vkgdr_clock_record (self->clock, self->handle, may_defer, error);
  gst_vkgdr_context_pop (self->context);
  return fence;
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

  return get_fence (stream, FALSE, error);
}

GstVkgdrFence *
gst_vkgdr_stream_mark_end (GstVkgdrStream *stream, GError **error)
{
  return get_fence (stream, gst_vkgdr_stream_get_defers (stream), error);
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
      fence, stream->context, stream->handle, stream->clock, error);
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
  gst_vkgdr_clock_launch_all_kept (context);
  result = gst_vkgdr_context_get_driver (context)->cuCtxSynchronize ();
  gst_vkgdr_context_pop (context);
  return gst_vkgdr_context_check (context, result, "cuCtxSynchronize", error);
}
