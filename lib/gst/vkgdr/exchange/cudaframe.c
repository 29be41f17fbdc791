/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * exchange/cudaframe.c: wraps frames of GStreamer's own CUDA elements, without
 * a copy
 *
 * A GstCudaMemory has a CUDA stream, on which its last user queued work; a
 * GstVkgdrMemory has fences. So a GstVkgdrMemory that wraps a GstCudaMemory
 * gets a fence that is recorded on that stream, after the work. After a write,
 * the stream waits for the written content. Knows nothing of caps and elements.
 */

#include "exchange/exchange-private.h"

GstVideoInfo
gst_vkgdr_cuda_frame_layout (GstBuffer *buffer, const GstVideoInfo *info)
{
  const GstVideoMeta *meta = gst_buffer_get_video_meta (buffer);
  GstVideoInfo layout = *info;
  guint i;

  for (i = 0; meta && i < GST_VIDEO_INFO_N_PLANES (info); i++) {
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

/* --- GstCudaMemory as GstVkgdrMemory ------------------------------------- */

static gboolean
check_is_cuda_memory (const GstVkgdrCudaLib *lib, GstVkgdrContext *context,
    GstBuffer *buffer, GError **error)
{
  GstMemory *memory = gst_buffer_n_memory (buffer) == 1
                          ? gst_buffer_peek_memory (buffer, 0)
                          : NULL;

  if (!lib || !memory || !lib->is_memory (memory)) {
    g_set_error_literal (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_ARGUMENT,
        "the frame is not in a single memory of GStreamer's CUDA library");
    return FALSE;
  }
  if (gst_vkgdr_cuda_lib_uses (lib, gst_vkgdr_context_get_driver (context)))
    return TRUE;
  g_set_error_literal (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_ARGUMENT,
      "GStreamer's CUDA library uses another driver than this element: see "
      "VKGDR_DRIVER");
  return FALSE;
}

/* A device pointer is valid only in the CUDA context in which it was allocated.
 */
static gboolean
is_in_context (const GstVkgdrCudaLib *lib, GstVkgdrContext *context,
    GstMemory *cuda_memory)
{
  return lib->context_get_handle (((GstVkgdrCudaMemory *) cuda_memory)->context)
         == gst_vkgdr_context_get_cuda_context (context);
}

/* NULL if the memory has no stream: then it may have been used on any stream.
 */
static CUstream
get_cuda_stream (const GstVkgdrCudaLib *lib, GstMemory *cuda_memory)
{
  GstCudaStream *stream =
      lib->memory_get_stream ((GstVkgdrCudaMemory *) cuda_memory);

  return stream ? lib->stream_get_handle (stream) : NULL;
}

/* The device pointer of the memory. It stays valid as long as the memory does.
 * The memory is not kept mapped, because a write mapping would keep other
 * elements from mapping it. */
static gpointer
get_pointer (
    GstMemory *cuda_memory, GstMapFlags flags, gsize *size, GError **error)
{
  gpointer pointer;
  GstMapInfo map;

  if (!gst_memory_map (cuda_memory, &map, flags | GST_MAP_VKGDR)) {
    g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_FAILED,
        "memory of type %s has no content on the device",
        cuda_memory->allocator->mem_type);
    return NULL;
  }
  /* From GStreamer 1.28 on, unmapping clears the map. */
  pointer = map.data;
  *size = map.size;
  gst_memory_unmap (cuda_memory, &map);
  return pointer;
}

/* Returns a fence for the pending work on @cuda_memory. Returns NULL if the
 * memory has no stream and the driver has no fence for the whole CUDA context.
 * Then the first user waits for the whole context, as for any wrapped
 * memory. */
static GstVkgdrFence *
new_fence (const GstVkgdrCudaLib *lib, GstVkgdrContext *context,
    GstMemory *cuda_memory, GError **error)
{
  CUstream stream = get_cuda_stream (lib, cuda_memory);

  return stream ? gst_vkgdr_fence_new_on (context, stream, error)
                : gst_vkgdr_fence_new_on_all (context);
}

/* Wraps the bytes of @cuda_memory in a GstVkgdrMemory. @release is called with
 * @owner when the new memory was freed and the device has finished with the
 * bytes. If the function fails, the caller keeps @owner. */
static GstMemory *
wrap_cuda_memory (const GstVkgdrCudaLib *lib, GstVkgdrContext *context,
    GstMemory *cuda_memory, GstMapFlags flags, gpointer owner,
    GDestroyNotify release, GError **error)
{
  GstVkgdrAllocator *allocator;
  GError *error_of_fence = NULL;
  GstVkgdrFence *fence;
  GstMemory *vkgdr_memory;
  gpointer pointer;
  gsize size;

  /* This must precede the fence, because mapping queues an upload of the bytes
   * that the CPU has written. */
  pointer = get_pointer (cuda_memory, flags, &size, error);
  if (!pointer)
    return NULL;
  fence = new_fence (lib, context, cuda_memory, &error_of_fence);
  if (error_of_fence) {
    g_propagate_error (error, error_of_fence);
    return NULL;
  }
  allocator = gst_vkgdr_context_get_allocator (context);
  vkgdr_memory = gst_vkgdr_allocator_alloc_wrapped (allocator,
      (guint64) (guintptr) pointer, size,
      flags & GST_MAP_WRITE ? 0 : GST_MEMORY_FLAG_READONLY, release, owner,
      error);
  gst_object_unref (allocator);
  if (vkgdr_memory && fence)
    gst_vkgdr_memory_set_fence (vkgdr_memory, fence);
  else if (fence)
    gst_vkgdr_fence_unref (fence);
  return vkgdr_memory;
}

/* --- frames that are read ------------------------------------------------ */

/* Keeps a reference to @buffer as long as the returned memory lives. */
static GstMemory *
wrap_buffer (const GstVkgdrCudaLib *lib, GstVkgdrContext *context,
    GstBuffer *buffer, GError **error)
{
  GstMemory *vkgdr_memory = wrap_cuda_memory (lib, context,
      gst_buffer_peek_memory (buffer, 0), GST_MAP_READ, gst_buffer_ref (buffer),
      (GDestroyNotify) gst_buffer_unref, error);

  if (!vkgdr_memory)
    gst_buffer_unref (buffer);
  return vkgdr_memory;
}

/**
 * gst_vkgdr_context_buffer_from_cuda:
 * @context: a context
 * @buffer: a frame in one memory of GStreamer's own CUDA elements
 * @error: return location for a #GError
 *
 * Makes a buffer for elements that know %GST_VKGDR_MEMORY_NAME. The new memory
 * wraps the memory of @buffer without a copy, and is read-only, device-only
 * memory. The reference to @buffer is released when the new memory was freed
 * and the device has finished with it. Users of the new buffer wait, on the
 * device, for the work that is queued on the CUDA stream of @buffer's memory at
 * the time of this call. If that memory has no stream, they wait for the whole
 * CUDA context. If @buffer is in another CUDA context or on another device, its
 * content is copied.
 *
 * Returns: (transfer full) (nullable): the buffer, or %NULL with @error set:
 *   %GST_VKGDR_ERROR_ARGUMENT if @buffer has another type of memory or uses
 *   another driver, or an error of gst_vkgdr_allocator_alloc_wrapped() or of
 *   the driver
 *
 * Since: 0.1
 */
GstBuffer *
gst_vkgdr_context_buffer_from_cuda (
    GstVkgdrContext *context, GstBuffer *buffer, GError **error)
{
  const GstVkgdrCudaLib *lib = gst_vkgdr_cuda_lib_get ();
  const GstVideoInfo *info;
  GstVideoInfo layout;
  GstMemory *cuda_memory, *vkgdr_memory;

  g_return_val_if_fail (GST_IS_VKGDR_CONTEXT (context), NULL);
  g_return_val_if_fail (GST_IS_BUFFER (buffer), NULL);

  if (!check_is_cuda_memory (lib, context, buffer, error))
    return NULL;
  cuda_memory = gst_buffer_peek_memory (buffer, 0);
  info = &((GstVkgdrCudaMemory *) cuda_memory)->info;
  if (!gst_vkgdr_buffer_check_video (buffer, info, error))
    return NULL;
  vkgdr_memory =
      is_in_context (lib, context, cuda_memory)
          ? wrap_buffer (lib, context, buffer, error)
          : gst_vkgdr_cuda_copy_across (lib, context, cuda_memory, error);
  if (!vkgdr_memory)
    return NULL;
  layout = gst_vkgdr_cuda_frame_layout (buffer, info);
  return gst_vkgdr_cuda_frame_new_like (buffer, vkgdr_memory, &layout);
}

/* --- frames that are written --------------------------------------------- */

gboolean
gst_vkgdr_cuda_frame_can_change (GstVkgdrContext *context, GstBuffer *buffer)
{
  const GstVkgdrCudaLib *lib = gst_vkgdr_cuda_lib_get ();
  GstMemory *memory = gst_buffer_n_memory (buffer) == 1
                          ? gst_buffer_peek_memory (buffer, 0)
                          : NULL;

  return lib && memory && lib->is_memory (memory)
         && is_in_context (lib, context, memory)
         && gst_buffer_get_video_meta (buffer) && get_cuda_stream (lib, memory);
}

/* Replaces the memory of @buffer. GStreamer then sets the TAG_MEMORY flag, and
 * the buffer's pool would free such a buffer, so the flag gets its old
 * value. */
static void
replace_memory (GstBuffer *buffer, GstMemory *memory)
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
  GstMemory *cuda_memory, *vkgdr_memory;

  if (!check_is_cuda_memory (lib, context, work->output, error))
    return FALSE;
  if (!is_in_context (lib, context, gst_buffer_peek_memory (work->output, 0))) {
    g_set_error_literal (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_ARGUMENT,
        "the frame to write lies in another CUDA context than this element "
        "uses");
    return FALSE;
  }
  cuda_memory = gst_buffer_get_memory (work->output, 0);
  vkgdr_memory = wrap_cuda_memory (lib, context, cuda_memory, flags,
      gst_memory_ref (cuda_memory), (GDestroyNotify) gst_memory_unref, error);
  if (!vkgdr_memory) {
    gst_memory_unref (cuda_memory);
    gst_memory_unref (cuda_memory);
    return FALSE;
  }
  if (!(flags & GST_MAP_READ))
    gst_vkgdr_memory_discard (vkgdr_memory);
  replace_memory (work->output, vkgdr_memory);
  work->output_memory = cuda_memory;
  return TRUE;
}

static gboolean
hand_over (const GstVkgdrCudaLib *lib, GstMemory *vkgdr_memory,
    GstMemory *cuda_memory, GError **error)
{
  CUstream stream = get_cuda_stream (lib, cuda_memory);

  if (!stream)
    return gst_vkgdr_memory_wait_idle (vkgdr_memory, error);
  GST_MINI_OBJECT_FLAG_SET (cuda_memory, GST_VKGDR_CUDA_MEMORY_NEED_SYNC);
  if (!gst_vkgdr_memory_make_wait (vkgdr_memory, stream, GST_MAP_WRITE, error))
    return FALSE;
  gst_vkgdr_memory_forget_accesses (vkgdr_memory);
  return TRUE;
}

static gboolean
end_write (GstVkgdrCudaWork *work, GError **error)
{
  GstMemory *cuda_memory = g_steal_pointer (&work->output_memory);
  GstMemory *vkgdr_memory = gst_buffer_peek_memory (work->output, 0);
  gboolean ok =
      hand_over (gst_vkgdr_cuda_lib_get (), vkgdr_memory, cuda_memory, error);

  replace_memory (work->output, cuda_memory);
  return ok;
}

/* --- the frames of a piece of work --------------------------------------- */

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
