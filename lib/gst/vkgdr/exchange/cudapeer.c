/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * exchange/cudapeer.c: frames of GStreamer's own CUDA elements that lie in
 * another CUDA context, or on another device
 *
 * Copies them here, from one context to the other. Nothing in one of them can
 * be ordered by the streams of the other, so the CPU waits. Knows nothing of
 * layouts: all bytes come along.
 */

#include "exchange/exchange-private.h"

static gboolean
queue_copy (GstMemory *ours, CUcontext peer, gpointer pointer, gsize size,
    GstVkgdrStream *stream, GError **error)
{
  GstVkgdrContext *context = gst_vkgdr_stream_get_context (stream);
  const vkgdr_cuda *cuda = gst_vkgdr_context_get_driver (context);
  CUresult result = CUDA_ERROR_NOT_SUPPORTED;

  if (!gst_vkgdr_context_push (context, error))
    return FALSE;
  if (cuda->cuMemcpyPeerAsync)
    result =
        cuda->cuMemcpyPeerAsync (gst_vkgdr_memory_get_device_pointer (ours),
            gst_vkgdr_context_get_cuda_context (context),
            (CUdeviceptr) (guintptr) pointer, peer, size,
            gst_vkgdr_stream_get_handle (stream));
  gst_vkgdr_context_pop (context);
  return gst_vkgdr_context_check (context, result, "cuMemcpyPeerAsync", error);
}

/* Also after a failure, part of the copy may have been queued. */
static gboolean
copy_and_wait (GstMemory *ours, CUcontext peer, gpointer pointer, gsize size,
    GstVkgdrStream *stream, GError **error)
{
  gboolean ok;

  if (!gst_vkgdr_memory_begin_access (ours, stream, GST_MAP_WRITE, error))
    return FALSE;
  ok = queue_copy (ours, peer, pointer, size, stream, error);
  ok = gst_vkgdr_memory_end_access (
           ours, stream, GST_MAP_WRITE, ok ? error : NULL)
       && ok;
  return gst_vkgdr_stream_synchronize (stream, ok ? error : NULL) && ok;
}

GstMemory *
gst_vkgdr_cuda_copy_across (const GstVkgdrCudaLib *lib,
    GstVkgdrContext *context, GstMemory *theirs, GError **error)
{
  GstVkgdrCudaMemory *memory = (GstVkgdrCudaMemory *) theirs;
  GstVkgdrAllocator *allocator = gst_vkgdr_context_get_allocator (context);
  GstVkgdrStream *stream =
      gst_vkgdr_allocator_get_copy_stream (allocator, GST_VKGDR_UPLOAD, error);
  GstMemory *ours = NULL;
  GstMapInfo map;

  if (stream && !gst_memory_map (theirs, &map, GST_MAP_READ | GST_MAP_VKGDR)) {
    g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_FAILED,
        "memory of type %s has no content on the device",
        theirs->allocator->mem_type);
    stream = NULL;
  }
  if (stream) {
    lib->memory_sync (memory);
    ours = gst_vkgdr_allocator_alloc (allocator, map.size, error);
    if (ours
        && !copy_and_wait (ours, lib->context_get_handle (memory->context),
            map.data, map.size, stream, error))
      g_clear_pointer (&ours, gst_memory_unref);
    gst_memory_unmap (theirs, &map);
  }
  gst_object_unref (allocator);
  return ours;
}
