/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * sync/stream.c: CUDA streams
 *
 * Knows nothing of fences, which sync/fence.c records.
 */

#include "sync/stream.h"

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

enum { SIGNAL_FAILED, N_SIGNALS };

static guint signals[N_SIGNALS];

G_DEFINE_TYPE (GstVkgdrStream, gst_vkgdr_stream, GST_TYPE_OBJECT)

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
  g_clear_pointer (&self->waits, g_ptr_array_unref);
  g_clear_error (&self->error);
  gst_clear_object (&self->context);

  G_OBJECT_CLASS (gst_vkgdr_stream_parent_class)->finalize (object);
}

static void
gst_vkgdr_stream_class_init (GstVkgdrStreamClass *klass)
{
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
stream_new (GstVkgdrContext *context, CUstream handle, gboolean is_wrapped)
{
  GstVkgdrStream *self = g_object_new (GST_TYPE_VKGDR_STREAM, NULL);

  gst_object_ref_sink (self);
  self->context = gst_object_ref (context);
  self->handle = handle;
  self->is_wrapped = self->is_shared = is_wrapped;
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

  return stream_new (context, handle, FALSE);
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

  return stream_new (context, raw, TRUE);
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
 * Returns the handle for CUDA calls that queue the caller's own work. From this
 * call on, an event is recorded in front of each kernel that has a time limit,
 * because it is not known what else is queued on the stream.
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

  g_atomic_int_set (&stream->is_shared, TRUE);
  return stream->handle;
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

  g_atomic_int_set (&stream->limit, MIN (timeout, G_MAXINT));
}

/* --- for other files ----------------------------------------------------- */

CUstream
gst_vkgdr_stream_peek_handle (GstVkgdrStream *stream)
{
  return stream->handle;
}

gboolean
gst_vkgdr_stream_check (GstVkgdrStream *self, GError **error)
{
  if (!g_atomic_int_get (&self->failed))
    return TRUE;
  if (error) {
    GST_OBJECT_LOCK (self);
    *error = g_error_copy (self->error);
    GST_OBJECT_UNLOCK (self);
  }
  return FALSE;
}

void
gst_vkgdr_stream_fail (GstVkgdrStream *self, GError *error)
{
  gboolean is_first;

  GST_OBJECT_LOCK (self);
  is_first = self->error == NULL;
  if (is_first)
    self->error = g_error_copy (error);
  GST_OBJECT_UNLOCK (self);
  if (is_first) {
    g_signal_emit (self, signals[SIGNAL_FAILED], 0, error);
    /* The element posts its error before threads that wait return theirs. */
    g_atomic_int_set (&self->failed, TRUE);
  }
  g_error_free (error);
}
