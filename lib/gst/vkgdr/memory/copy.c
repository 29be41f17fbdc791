/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * memory/copy.c: copies and fills of memory, in order with all other use
 *
 * Each operation is a task, which orders it. Must not know how a memory works
 * (memory/memory.c).
 */

#include "memory/memory-private.h"

/**
 * SECTION:gstvkgdrcopy
 * @title: Copies
 * @short_description: copies and fills of VkgdrMemory
 *
 * Copies between memories, also of two contexts or devices, copies from and to
 * host memory, and fills. All operations are queued on the stream, ordered with
 * all other accesses to the memories, and do not wait. Host memory must stay
 * valid until the copy is done. If it is not pinned, the driver waits for the
 * copy.
 *
 * The memories must not be mapped. If a range exceeds a memory, the function
 * fails with %GST_VKGDR_ERROR_ARGUMENT and queues nothing.
 *
 * Since: 0.1
 */

/* A rectangle of bytes in a memory or in host memory. */
typedef struct {
  GstMemory *memory; /* NULL: host memory */
  guint8 *host;      /* the first byte, if it is of the host */
  gsize offset;      /* of the first byte, if it is of a memory */
  gsize pitch;
} Place;

/* The work of a task. */
typedef struct {
  const vkgdr_cuda *cuda;
  CUstream stream;
  Place to;
  Place from;
  gsize width;
  gsize height;
  guint8 value;
} Job;

gboolean
gst_vkgdr_check_rows (gsize offset, gsize pitch, gsize width, gsize height,
    gsize room, GError **error)
{
  gsize size;

  if (height > 1 && pitch < width) {
    g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_ARGUMENT,
        "the stride of %" G_GSIZE_FORMAT
        " bytes is smaller than a row of %" G_GSIZE_FORMAT " bytes",
        pitch, width);
    return FALSE;
  }
  if (g_size_checked_mul (&size, pitch, height - 1)
      && g_size_checked_add (&size, size, width) && offset <= room
      && size <= room - offset)
    return TRUE;
  g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_ARGUMENT,
      "%" G_GSIZE_FORMAT " rows of %" G_GSIZE_FORMAT
      " bytes from %" G_GSIZE_FORMAT " exceed a memory of %" G_GSIZE_FORMAT
      " bytes",
      height, width, offset, room);
  return FALSE;
}

static gboolean
check_place (const Job *job, const Place *place, GError **error)
{
  return !place->memory
         || gst_vkgdr_check_rows (place->offset, place->pitch, job->width,
             job->height, place->memory->size, error);
}

/* --- the driver's calls -------------------------------------------------- */

static CUdeviceptr
pointer_of (const Place *place)
{
  return gst_vkgdr_memory_get_device_pointer (place->memory) + place->offset;
}

static CUcontext
context_of (const Place *place)
{
  return gst_vkgdr_context_get_cuda_context (
      gst_vkgdr_memory_get_context (place->memory));
}

static CUresult
run_rect (const Job *job)
{
  CUDA_MEMCPY2D copy = { .WidthInBytes = job->width,
    .Height = job->height,
    .srcMemoryType = CU_MEMORYTYPE_HOST,
    .srcHost = job->from.host,
    .srcPitch = job->from.pitch,
    .dstMemoryType = CU_MEMORYTYPE_HOST,
    .dstHost = job->to.host,
    .dstPitch = job->to.pitch };

  if (job->from.memory) {
    copy.srcMemoryType = CU_MEMORYTYPE_DEVICE;
    copy.srcDevice = pointer_of (&job->from);
  }
  if (job->to.memory) {
    copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    copy.dstDevice = pointer_of (&job->to);
  }
  return job->cuda->cuMemcpy2DAsync (&copy, job->stream);
}

/* Copies row by row, because CUDA has no copy of rectangles between contexts.
 */
static CUresult
run_peer (const Job *job)
{
  CUcontext to = context_of (&job->to), from = context_of (&job->from);
  CUresult result = CUDA_SUCCESS;
  gsize y;

  if (!job->cuda->cuMemcpyPeerAsync)
    return CUDA_ERROR_NOT_SUPPORTED;
  for (y = 0; result == CUDA_SUCCESS && y < job->height; y++)
    result =
        job->cuda->cuMemcpyPeerAsync (pointer_of (&job->to) + y * job->to.pitch,
            to, pointer_of (&job->from) + y * job->from.pitch, from, job->width,
            job->stream);
  return result;
}

static CUresult
run_copy (const Job *job)
{
  const Place *to = &job->to, *from = &job->from;

  if (to->memory && from->memory && context_of (to) != context_of (from))
    return run_peer (job);
  if (job->height > 1)
    return run_rect (job);
  if (!from->memory)
    return job->cuda->cuMemcpyHtoDAsync (
        pointer_of (to), from->host, job->width, job->stream);
  if (!to->memory)
    return job->cuda->cuMemcpyDtoHAsync (
        to->host, pointer_of (from), job->width, job->stream);
  return job->cuda->cuMemcpyDtoDAsync (
      pointer_of (to), pointer_of (from), job->width, job->stream);
}

static CUresult
run_fill (const Job *job)
{
  return job->cuda->cuMemsetD8Async (
      pointer_of (&job->to), job->value, job->width, job->stream);
}

/* --- tasks --------------------------------------------------------------- */

static gboolean
use_memories (const Job *job, GstVkgdrTask *task, GError **error)
{
  if (job->from.memory
      && !gst_vkgdr_task_use_memory (
          task, job->from.memory, GST_MAP_READ, error))
    return FALSE;
  return !job->to.memory
         || gst_vkgdr_task_use_memory (
             task, job->to.memory, GST_MAP_WRITE, error);
}

/* The memories' locks are not held during the copy, because the driver waits
 * for the copy if the host memory is not pinned. */
static gboolean
queue (Job *job, CUresult (*run) (const Job *job), const gchar *what,
    GstVkgdrStream *stream, GError **error)
{
  GstVkgdrContext *context = gst_vkgdr_stream_get_context (stream);
  GstVkgdrTask task;
  gboolean ok;

  if (!gst_vkgdr_task_begin (&task, stream, error))
    return FALSE;
  job->cuda = gst_vkgdr_context_get_driver (context);
  job->stream = gst_vkgdr_stream_peek_handle (stream);
  ok = use_memories (job, &task, error);
  if (ok) {
    ok = gst_vkgdr_context_check (context, run (job), what, error);
    if (job->to.memory)
      gst_vkgdr_memory_set_on_device (job->to.memory);
  }
  return gst_vkgdr_task_end (&task, ok ? error : NULL) && ok;
}

/* Queues @job, one of whose memories must belong to the context of @stream. */
static gboolean
submit (Job *job, CUresult (*run) (const Job *job), const gchar *what,
    GstVkgdrStream *stream, GError **error)
{
  GstMemory *memory = job->to.memory ? job->to.memory : job->from.memory;

  if (!gst_vkgdr_memory_check (
          memory, gst_vkgdr_stream_get_context (stream), error))
    return FALSE;
  if (job->width == 0 || job->height == 0)
    return TRUE;
  return check_place (job, &job->to, error)
         && check_place (job, &job->from, error)
         && queue (job, run, what, stream, error);
}

/**
 * gst_vkgdr_memory_copy_rect:
 * @memory: the memory to write, of type %GST_VKGDR_MEMORY_NAME
 * @offset: offset of the first byte, in bytes
 * @pitch: its stride in bytes
 * @source: the memory to read, of the same type, of any context
 * @source_offset: offset of the first byte, in bytes
 * @source_pitch: its stride in bytes
 * @width: bytes per row
 * @height: number of rows
 * @stream: a stream of the context of @memory
 * @error: return location for a #GError
 *
 * Queues a copy on the device, or from one device to another. If @height is 1,
 * the strides are ignored. Ranges of the same memory must not overlap.
 *
 * Thread-safe. Two threads that use one memory at the same time have to order
 * their calls, see gst_vkgdr_memory_begin_access().
 *
 * Returns: %FALSE with @error set on failure
 *
 * Since: 0.1
 */
gboolean
gst_vkgdr_memory_copy_rect (GstMemory *memory, gsize offset, gsize pitch,
    GstMemory *source, gsize source_offset, gsize source_pitch, gsize width,
    gsize height, GstVkgdrStream *stream, GError **error)
{
  Job job = { .to = { memory, NULL, offset, pitch },
    .from = { source, NULL, source_offset, source_pitch },
    .width = width,
    .height = height };

  g_return_val_if_fail (gst_is_vkgdr_memory (memory), FALSE);
  g_return_val_if_fail (gst_is_vkgdr_memory (source), FALSE);
  g_return_val_if_fail (GST_IS_VKGDR_STREAM (stream), FALSE);

  return submit (&job, run_copy, "A copy between memories", stream, error);
}

/**
 * gst_vkgdr_memory_upload:
 * @memory: a memory of this type that is not mapped
 * @offset: offset of the first byte in @memory
 * @data: (not nullable): address of @size bytes of host memory, which must stay
 *   valid until the copy is done
 * @size: bytes
 * @stream: a stream of the memory's context
 * @error: return location for a #GError
 *
 * Queues a DMA transfer from the host, ordered with all other accesses. It is
 * asynchronous if @data is pinned.
 *
 * Thread-safe, with the same limit as gst_vkgdr_memory_copy_rect().
 *
 * Returns: %FALSE with @error set on failure
 *
 * Since: 0.1
 */
gboolean
gst_vkgdr_memory_upload (GstMemory *memory, gsize offset, gconstpointer data,
    gsize size, GstVkgdrStream *stream, GError **error)
{
  Job job = { .to = { memory, NULL, offset, 0 },
    .from = { .host = (guint8 *) data },
    .width = size,
    .height = 1 };

  g_return_val_if_fail (gst_is_vkgdr_memory (memory), FALSE);
  g_return_val_if_fail (GST_IS_VKGDR_STREAM (stream), FALSE);

  if (!data && size > 0) {
    g_set_error_literal (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_ARGUMENT,
        "the address of the host memory is NULL");
    return FALSE;
  }
  return submit (&job, run_copy, "cuMemcpyHtoDAsync", stream, error);
}

/**
 * gst_vkgdr_memory_fetch_rect:
 * @memory: a memory of type %GST_VKGDR_MEMORY_NAME that is not mapped
 * @offset: offset of the first byte, in bytes
 * @pitch: its stride in bytes
 * @pinned: memory of gst_vkgdr_allocator_alloc_pinned() that is not mapped
 * @pinned_offset: offset of the first byte, in bytes
 * @pinned_pitch: its stride in bytes
 * @width: bytes per row
 * @height: number of rows
 * @stream: a stream of the context of @memory and @pinned
 * @error: return location for a #GError
 *
 * Queues a DMA transfer of a rectangle, ordered with all other accesses. If
 * @height is 1, the strides are ignored. Mapping @pinned waits for the
 * transfer.
 *
 * Thread-safe, with the same limit as gst_vkgdr_memory_copy_rect().
 *
 * Returns: %FALSE with @error set on failure
 *
 * Since: 0.2
 */
gboolean
gst_vkgdr_memory_fetch_rect (GstMemory *memory, gsize offset, gsize pitch,
    GstMemory *pinned, gsize pinned_offset, gsize pinned_pitch, gsize width,
    gsize height, GstVkgdrStream *stream, GError **error)
{
  Job job = { .to = { .pitch = pinned_pitch },
    .from = { memory, NULL, offset, pitch },
    .width = width,
    .height = height };

  g_return_val_if_fail (gst_is_vkgdr_memory (memory), FALSE);
  g_return_val_if_fail (gst_vkgdr_is_pinned_memory (pinned), FALSE);
  g_return_val_if_fail (GST_IS_VKGDR_STREAM (stream), FALSE);

  if (width == 0 || height == 0)
    return TRUE;
  if (!gst_vkgdr_check_rows (
          pinned_offset, pinned_pitch, width, height, pinned->size, error))
    return FALSE;
  job.to.host = gst_vkgdr_pinned_memory_get_data (pinned);
  job.to.host += pinned_offset;
  if (submit (&job, run_copy,
          height > 1 ? "cuMemcpy2DAsync" : "cuMemcpyDtoHAsync", stream, error)
      && gst_vkgdr_pinned_memory_expect (pinned, stream, error))
    return TRUE;
  /* The transfer may have been queued, and no fence covers it. */
  gst_vkgdr_stream_synchronize (stream, NULL);
  return FALSE;
}

/**
 * gst_vkgdr_memory_fill:
 * @memory: a memory of type %GST_VKGDR_MEMORY_NAME that is not mapped
 * @offset: offset of the first byte, in bytes
 * @size: number of bytes
 * @value: the value of each byte
 * @stream: a stream of the memory's context
 * @error: return location for a #GError
 *
 * Queues a fill on the device.
 *
 * Thread-safe, with the same limit as gst_vkgdr_memory_copy_rect().
 *
 * Returns: %FALSE with @error set on failure
 *
 * Since: 0.1
 */
gboolean
gst_vkgdr_memory_fill (GstMemory *memory, gsize offset, gsize size,
    guint8 value, GstVkgdrStream *stream, GError **error)
{
  Job job = { .to = { memory, NULL, offset, 0 },
    .width = size,
    .height = 1,
    .value = value };

  g_return_val_if_fail (gst_is_vkgdr_memory (memory), FALSE);
  g_return_val_if_fail (GST_IS_VKGDR_STREAM (stream), FALSE);

  return submit (&job, run_fill, "cuMemsetD8Async", stream, error);
}
