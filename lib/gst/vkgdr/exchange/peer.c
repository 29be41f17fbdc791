/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * exchange/peer.c: copies GstCudaMemory from another CUDA context or device
 *
 * Streams of one CUDA context cannot order work of the other, so the CPU waits.
 */

#include "exchange/exchange-private.h"

static gboolean
queue_copy (GstMemory *vkgdr_memory, CUcontext peer, gpointer pointer,
    gsize size, GstVkgdrStream *stream, GError **error)
{
  GstVkgdrContext *context = gst_vkgdr_stream_get_context (stream);
  const vkgdr_cuda *cuda = gst_vkgdr_context_get_driver (context);
  CUresult result = CUDA_ERROR_NOT_SUPPORTED;

  if (cuda->cuMemcpyPeerAsync)
    result = cuda->cuMemcpyPeerAsync (
        gst_vkgdr_memory_get_device_pointer (vkgdr_memory),
        gst_vkgdr_context_get_cuda_context (context),
        (CUdeviceptr) (guintptr) pointer, peer, size,
        gst_vkgdr_stream_peek_handle (stream));
  return gst_vkgdr_context_check (context, result, "cuMemcpyPeerAsync", error);
}

/* Waits even after a failure, because part of the copy may have been queued. */
static gboolean
copy_and_wait (GstMemory *vkgdr_memory, CUcontext peer, gpointer pointer,
    gsize size, GstVkgdrStream *stream, GError **error)
{
  GstVkgdrTask task;
  gboolean ok;

  if (!gst_vkgdr_task_begin (&task, stream, error))
    return FALSE;
  ok = gst_vkgdr_task_use_memory (&task, vkgdr_memory, GST_MAP_WRITE, error);
  if (ok) {
    ok = queue_copy (vkgdr_memory, peer, pointer, size, stream, error);
    gst_vkgdr_memory_set_on_device (vkgdr_memory);
  }
  ok = gst_vkgdr_task_end (&task, ok ? error : NULL) && ok;
  return gst_vkgdr_stream_synchronize (stream, ok ? error : NULL) && ok;
}

GstMemory *
gst_vkgdr_cuda_copy_across (const GstVkgdrCudaLib *lib,
    GstVkgdrContext *context, GstMemory *cuda_memory, GError **error)
{
  GstVkgdrCudaMemory *memory = (GstVkgdrCudaMemory *) cuda_memory;
  GstVkgdrAllocator *allocator = gst_vkgdr_context_get_allocator (context);
  GstVkgdrStream *stream =
      gst_vkgdr_allocator_get_copy_stream (allocator, GST_VKGDR_UPLOAD, error);
  GstMemory *vkgdr_memory = NULL;
  GstMapInfo map;

  if (stream
      && !gst_memory_map (cuda_memory, &map, GST_MAP_READ | GST_MAP_VKGDR)) {
    g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_FAILED,
        "memory of type %s has no content on the device",
        cuda_memory->allocator->mem_type);
    stream = NULL;
  }
  if (stream) {
    lib->memory_sync (memory);
    vkgdr_memory = gst_vkgdr_allocator_alloc (allocator, map.size, error);
    if (vkgdr_memory
        && !copy_and_wait (vkgdr_memory,
            lib->context_get_handle (memory->context), map.data, map.size,
            stream, error))
      g_clear_pointer (&vkgdr_memory, gst_memory_unref);
    gst_memory_unmap (cuda_memory, &map);
  }
  gst_object_unref (allocator);
  return vkgdr_memory;
}
