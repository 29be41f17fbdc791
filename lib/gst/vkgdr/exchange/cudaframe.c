/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * exchange/cudaframe.c: frames of GStreamer's own CUDA elements, used where
 * they lie
 *
 * Their memory has a stream, on which its last user queued his work, where ours
 * has fences: what is wrapped here begins behind the stream, and the stream
 * goes on behind what was written. Knows nothing of caps and elements.
 */

#include "exchange/exchange-private.h"

GstVideoInfo
gst_vkgdr_cuda_frame_layout (GstBuffer *buffer, const GstVideoInfo *info)
{
  const GstVideoMeta *meta = gst_buffer_get_video_meta (buffer);
  GstVideoInfo layout = *info;
  guint i;

  for (i = 0; meta && i < meta->n_planes; i++) {
    layout.offset[i] = meta->offset[i];
    layout.stride[i] = meta->stride[i];
  }
  layout.size = gst_buffer_get_size (buffer);
  return layout;
}

GstBuffer *
gst_vkgdr_cuda_frame_new_like (
    GstBuffer *input, GstMemory *memory, const GstVideoInfo *layout)
{
  const GstVideoMeta *meta = gst_buffer_get_video_meta (input);
  GstBuffer *output = gst_buffer_new ();

  gst_buffer_copy_into (output, input, GST_BUFFER_COPY_METADATA, 0, -1);
  GST_BUFFER_FLAG_UNSET (output, GST_BUFFER_FLAG_TAG_MEMORY);
  gst_buffer_append_memory (output, memory);
  gst_buffer_add_video_meta_full (output,
      meta ? meta->flags : GST_VIDEO_FRAME_FLAG_NONE,
      GST_VIDEO_INFO_FORMAT (layout),
      meta ? meta->width : (guint) GST_VIDEO_INFO_WIDTH (layout),
      meta ? meta->height : (guint) GST_VIDEO_INFO_HEIGHT (layout),
      GST_VIDEO_INFO_N_PLANES (layout), (gsize *) layout->offset,
      (gint *) layout->stride);
  return output;
}

/* --- their memory as ours ------------------------------------------------ */

static gboolean
check_is_theirs (const GstVkgdrCudaLib *lib, GstVkgdrContext *context,
    GstBuffer *buffer, GError **error)
{
  GstMemory *memory = gst_buffer_n_memory (buffer) == 1
                          ? gst_buffer_peek_memory (buffer, 0)
                          : NULL;

  if (!lib || !memory || !lib->is_memory (memory)) {
    g_set_error_literal (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_ARGUMENT,
        "the frame is not one memory of GStreamer's CUDA library");
    return FALSE;
  }
  if (gst_vkgdr_cuda_lib_uses (lib, gst_vkgdr_context_get_driver (context)))
    return TRUE;
  g_set_error_literal (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_ARGUMENT,
      "GStreamer's CUDA library uses another driver than this element: see "
      "VKGDR_DRIVER");
  return FALSE;
}

/* A pointer is good in the CUDA context that it was allocated in. */
static gboolean
is_here (
    const GstVkgdrCudaLib *lib, GstVkgdrContext *context, GstMemory *theirs)
{
  return lib->context_get_handle (((GstVkgdrCudaMemory *) theirs)->context)
         == gst_vkgdr_context_get_cuda_context (context);
}

/* NULL if it has none: then any stream may have been used. */
static CUstream
stream_of (const GstVkgdrCudaLib *lib, GstMemory *theirs)
{
  GstCudaStream *stream =
      lib->memory_get_stream ((GstVkgdrCudaMemory *) theirs);

  return stream ? lib->stream_get_handle (stream) : NULL;
}

/* Their device pointer. It stays as long as the memory does; and nobody else
 * may map what is mapped for writing, so it is not kept mapped. */
static gpointer
get_pointer (GstMemory *theirs, GstMapFlags flags, gsize *size, GError **error)
{
  GstMapInfo map;

  if (!gst_memory_map (theirs, &map, flags | GST_MAP_VKGDR)) {
    g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_FAILED,
        "memory of type %s has no content on the device",
        theirs->allocator->mem_type);
    return NULL;
  }
  *size = map.size;
  gst_memory_unmap (theirs, &map);
  return map.data;
}

/* A fence behind the work on @theirs. Without a stream, and with a driver that
 * has no fence for the whole CUDA context, NULL: the first user waits for the
 * whole context, as for any wrapped memory. */
static GstVkgdrFence *
fence_behind (const GstVkgdrCudaLib *lib, GstVkgdrContext *context,
    GstMemory *theirs, GError **error)
{
  CUstream stream = stream_of (lib, theirs);

  return stream ? gst_vkgdr_fence_new_on (context, stream, NULL, error)
                : gst_vkgdr_fence_new_on_all (context);
}

/* The same bytes in our memory. @owner is given back by @release when the
 * device has finished with them; the caller keeps it where this fails. */
static GstMemory *
borrow (const GstVkgdrCudaLib *lib, GstVkgdrContext *context, GstMemory *theirs,
    GstMapFlags flags, gpointer owner, GDestroyNotify release, GError **error)
{
  GstVkgdrAllocator *allocator;
  GError *error_of_fence = NULL;
  GstVkgdrFence *fence;
  GstMemory *ours;
  gpointer pointer;
  gsize size;

  /* Before the fence: what the CPU wrote is sent on the memory's stream. */
  pointer = get_pointer (theirs, flags, &size, error);
  if (!pointer)
    return NULL;
  fence = fence_behind (lib, context, theirs, &error_of_fence);
  if (error_of_fence) {
    g_propagate_error (error, error_of_fence);
    return NULL;
  }
  allocator = gst_vkgdr_context_get_allocator (context);
  ours = gst_vkgdr_allocator_alloc_wrapped (allocator,
      (guint64) (guintptr) pointer, size,
      flags & GST_MAP_WRITE ? 0 : GST_MEMORY_FLAG_READONLY, owner, release,
      error);
  gst_object_unref (allocator);
  if (ours && fence)
    gst_vkgdr_memory_set_fence (ours, fence);
  else if (fence)
    gst_vkgdr_fence_unref (fence);
  return ours;
}

/* --- to read ------------------------------------------------------------- */

/* Keeps @buffer as long. */
static GstMemory *
borrow_all (const GstVkgdrCudaLib *lib, GstVkgdrContext *context,
    GstBuffer *buffer, GError **error)
{
  GstMemory *ours =
      borrow (lib, context, gst_buffer_peek_memory (buffer, 0), GST_MAP_READ,
          gst_buffer_ref (buffer), (GDestroyNotify) gst_buffer_unref, error);

  if (!ours)
    gst_buffer_unref (buffer);
  return ours;
}

/**
 * gst_vkgdr_context_buffer_from_cuda:
 * @context: a context
 * @buffer: a frame in one memory of GStreamer's own CUDA elements
 * @error: return location for a #GError
 *
 * Makes a buffer for elements that know %GST_VKGDR_MEMORY_NAME. It has the
 * memory of @buffer itself, read-only and beside the window, and keeps @buffer
 * until the device has finished with it. Its users wait, on the device, for
 * what the memory's CUDA stream has queued by now; where it has none, for what
 * the whole CUDA context has. What lies in another CUDA context, or on another
 * device, is copied from one to the other.
 *
 * Returns: (transfer full) (nullable): the buffer, or %NULL with @error set:
 *   %GST_VKGDR_ERROR_ARGUMENT where @buffer is of other memory or another
 *   driver, or an error of gst_vkgdr_allocator_alloc_wrapped() or of the driver
 *
 * Since: 0.1
 */
GstBuffer *
gst_vkgdr_context_buffer_from_cuda (
    GstVkgdrContext *context, GstBuffer *buffer, GError **error)
{
  const GstVkgdrCudaLib *lib = gst_vkgdr_cuda_lib_get ();
  GstVideoInfo layout;
  GstMemory *theirs, *ours;

  g_return_val_if_fail (GST_IS_VKGDR_CONTEXT (context), NULL);
  g_return_val_if_fail (GST_IS_BUFFER (buffer), NULL);

  if (!check_is_theirs (lib, context, buffer, error))
    return NULL;
  theirs = gst_buffer_peek_memory (buffer, 0);
  ours = is_here (lib, context, theirs)
             ? borrow_all (lib, context, buffer, error)
             : gst_vkgdr_cuda_copy_across (lib, context, theirs, error);
  if (!ours)
    return NULL;
  layout = gst_vkgdr_cuda_frame_layout (
      buffer, &((GstVkgdrCudaMemory *) theirs)->info);
  return gst_vkgdr_cuda_frame_new_like (buffer, ours, &layout);
}

/* --- to write ------------------------------------------------------------ */

gboolean
gst_vkgdr_cuda_frame_can_change (GstVkgdrContext *context, GstBuffer *buffer)
{
  const GstVkgdrCudaLib *lib = gst_vkgdr_cuda_lib_get ();
  GstMemory *memory = gst_buffer_n_memory (buffer) == 1
                          ? gst_buffer_peek_memory (buffer, 0)
                          : NULL;

  return lib && memory && lib->is_memory (memory)
         && is_here (lib, context, memory) && gst_buffer_get_video_meta (buffer)
         && stream_of (lib, memory);
}

/* The buffer is the same as before: its pool can have it back. */
static void
exchange (GstBuffer *buffer, GstMemory *memory)
{
  gboolean was_tagged =
      GST_BUFFER_FLAG_IS_SET (buffer, GST_BUFFER_FLAG_TAG_MEMORY);

  gst_buffer_replace_memory (buffer, 0, memory);
  if (!was_tagged)
    GST_BUFFER_FLAG_UNSET (buffer, GST_BUFFER_FLAG_TAG_MEMORY);
}

static gboolean
begin_write (GstVkgdrCudaWork *work, GstVkgdrContext *context,
    GstMapFlags flags, GError **error)
{
  const GstVkgdrCudaLib *lib = gst_vkgdr_cuda_lib_get ();
  GstMemory *theirs, *ours;

  if (!check_is_theirs (lib, context, work->output, error))
    return FALSE;
  if (!is_here (lib, context, gst_buffer_peek_memory (work->output, 0))) {
    g_set_error_literal (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_ARGUMENT,
        "the frame to write lies in another CUDA context than this element "
        "works in");
    return FALSE;
  }
  theirs = gst_buffer_get_memory (work->output, 0);
  ours = borrow (lib, context, theirs, flags, gst_memory_ref (theirs),
      (GDestroyNotify) gst_memory_unref, error);
  if (!ours) {
    gst_memory_unref (theirs);
    gst_memory_unref (theirs);
    return FALSE;
  }
  if (!(flags & GST_MAP_READ))
    gst_vkgdr_memory_discard (ours);
  exchange (work->output, ours);
  work->output_memory = theirs;
  return TRUE;
}

static gboolean
hand_over (const GstVkgdrCudaLib *lib, GstMemory *ours, GstMemory *theirs,
    GError **error)
{
  CUstream stream = stream_of (lib, theirs);
  gboolean ok;

  if (!stream)
    return gst_vkgdr_memory_wait_idle (ours, error);
  ok = gst_vkgdr_memory_hand_over (ours, stream, error);
  GST_MINI_OBJECT_FLAG_SET (theirs, GST_VKGDR_CUDA_MEMORY_NEED_SYNC);
  return ok;
}

static gboolean
end_write (GstVkgdrCudaWork *work, GError **error)
{
  GstMemory *theirs = g_steal_pointer (&work->output_memory);
  GstMemory *ours = gst_buffer_peek_memory (work->output, 0);
  gboolean ok = hand_over (gst_vkgdr_cuda_lib_get (), ours, theirs, error);

  exchange (work->output, theirs);
  return ok;
}

/* --- both ---------------------------------------------------------------- */

gboolean
gst_vkgdr_cuda_work_begin (GstVkgdrCudaWork *work, GstVkgdrContext *context,
    GstBuffer *input, gboolean from_cuda, GstBuffer *output, gboolean to_cuda,
    GError **error)
{
  gboolean in_place = input == output;

  *work = (GstVkgdrCudaWork){ .input = input, .output = output };
  if (from_cuda && !in_place) {
    work->input = gst_vkgdr_context_buffer_from_cuda (context, input, error);
    if (!work->input)
      return FALSE;
    work->is_wrapped = TRUE;
  }
  if (!to_cuda
      || begin_write (
          work, context, in_place ? GST_MAP_READWRITE : GST_MAP_WRITE, error))
    return TRUE;
  gst_vkgdr_cuda_work_end (work, NULL);
  return FALSE;
}

gboolean
gst_vkgdr_cuda_work_end (GstVkgdrCudaWork *work, GError **error)
{
  gboolean ok = !work->output_memory || end_write (work, error);

  if (work->is_wrapped)
    gst_clear_buffer (&work->input);
  return ok;
}
