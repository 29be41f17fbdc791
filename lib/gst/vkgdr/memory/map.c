/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * memory/map.c: maps a memory, and writes to one that is not mapped
 *
 * Decides between the host pointer, the staging buffer and the device pointer,
 * tracks which copy of the content is current, and transfers it from one to the
 * other. Must not know why the access to a memory is direct or staged.
 */

#include <string.h>

#include "memory/memory.h"

#define GST_CAT_DEFAULT gst_vkgdr_memory_debug

/* --- transfers between the staging buffer and the device -------------------
 */

/* Queues a transfer of @size bytes between @host, which is pinned, and the
 * block at @offset. Must be called after gst_vkgdr_memory_settle_locked (),
 * without releasing the lock in between. Returns the fence of the transfer,
 * which the caller owns; NULL with @error set on failure. */
static GstVkgdrFence *
copy_async_locked (GstVkgdrMemory *self, GstVkgdrDirection direction,
    gsize offset, gpointer host, gsize size, GstVkgdrStream *stream,
    GError **error)
{
  GstVkgdrContext *context = gst_vkgdr_stream_get_context (stream);
  const vkgdr_cuda *cuda = gst_vkgdr_context_get_driver (context);
  CUstream handle = gst_vkgdr_stream_peek_handle (stream);
  CUdeviceptr device = self->block.device + offset;
  GstMapFlags flags =
      direction == GST_VKGDR_UPLOAD ? GST_MAP_WRITE : GST_MAP_READ;
  GstVkgdrFence *fence;
  gboolean ok;

  if (!gst_vkgdr_order_make_wait (
          &self->order, context, handle, stream, flags, error)
      || !gst_vkgdr_context_push (context, error))
    return NULL;
  if (direction == GST_VKGDR_UPLOAD)
    ok = gst_vkgdr_check (cuda,
        cuda->cuMemcpyHtoDAsync (device, host, size, handle),
        "cuMemcpyHtoDAsync", error);
  else
    ok = gst_vkgdr_check (cuda,
        cuda->cuMemcpyDtoHAsync (host, device, size, handle),
        "cuMemcpyDtoHAsync", error);
  gst_vkgdr_context_pop (context);
  if (!ok)
    return NULL;
  fence = gst_vkgdr_stream_record (stream, error);
  gst_vkgdr_order_mark (
      &self->order, fence ? gst_vkgdr_fence_ref (fence) : NULL, flags);
  if (direction == GST_VKGDR_UPLOAD)
    self->device_valid = TRUE;
  return fence;
}

/* Releases the lock meanwhile, because making a stream takes long. */
static GstVkgdrStream *
prepare_stream_locked (
    GstVkgdrMemory *self, GstVkgdrDirection direction, GError **error)
{
  GstVkgdrStream *stream;

  g_mutex_unlock (&self->lock);
  stream = gst_vkgdr_blocks_get_stream (self->blocks, direction, error);
  g_mutex_lock (&self->lock);
  return stream && gst_vkgdr_memory_settle_locked (self, error) ? stream : NULL;
}

/* Releases the lock while memory is allocated. */
static gboolean
ensure_staging_locked (GstVkgdrMemory *self, GError **error)
{
  GstVkgdrRemains other = { .fences = NULL };

  if (self->staging.host)
    return TRUE;
  g_mutex_unlock (&self->lock);
  if (!gst_vkgdr_blocks_take_staging (
          self->blocks, self->block.size, &other.block, error)) {
    g_mutex_lock (&self->lock);
    return self->staging.host != NULL;
  }
  g_mutex_lock (&self->lock);
  if (!self->staging.host) {
    self->staging = other.block;
    return TRUE;
  }
  /* Another reader has allocated one in the meantime. */
  g_mutex_unlock (&self->lock);
  gst_vkgdr_blocks_retire (self->blocks, &other);
  g_mutex_lock (&self->lock);
  return self->staging.host != NULL;
}

/* Whether the content has to be fetched into the staging buffer. Shared memory
 * always has to be, because the other process may have changed it. */
static gboolean
needs_fetch (const GstVkgdrMemory *self)
{
  return self->device_valid && (!self->staging_valid || self->is_shared);
}

/* Releases the lock meanwhile. In this time, another reader may have fetched
 * the content and mapped it. Then no transfer is queued, because it would
 * overwrite the bytes that the other reader uses. */
static gboolean
begin_fetch_locked (GstVkgdrMemory *self, GError **error)
{
  GstVkgdrStream *stream =
      prepare_stream_locked (self, GST_VKGDR_DOWNLOAD, error);

  if (!stream)
    return FALSE;
  if (self->fetch || !needs_fetch (self)
      || (self->staging_valid && self->cpu_maps > 0))
    return TRUE;
  self->fetch = copy_async_locked (self, GST_VKGDR_DOWNLOAD, 0,
      self->staging.host, self->block.size, stream, error);
  return self->fetch != NULL;
}

/* Fetches the content into the staging buffer, if necessary. Releases the lock
 * while the CPU waits. */
static gboolean
refresh_staging_locked (GstVkgdrMemory *self, GError **error)
{
  GstVkgdrFence *fetch;
  gboolean ok;

  if (!needs_fetch (self))
    return TRUE;
  if (!begin_fetch_locked (self, error))
    return FALSE;
  if (!self->fetch) /* another reader has fetched it in the meantime */
    return TRUE;
  fetch = gst_vkgdr_fence_ref (self->fetch);
  g_mutex_unlock (&self->lock);
  ok = gst_vkgdr_fence_wait (fetch, error);
  g_mutex_lock (&self->lock);
  if (self->fetch == fetch) {
    g_clear_pointer (&self->fetch, gst_vkgdr_fence_unref);
    self->staging_valid = ok;
  }
  gst_vkgdr_fence_unref (fetch);
  return ok;
}

/* Queues a transfer of part of the staging buffer on @stream.
 * prepare_stream_locked () must have returned @stream since the lock was taken.
 */
static gboolean
queue_staging_locked (GstVkgdrMemory *self, gsize offset, gsize size,
    GstVkgdrStream *stream, GError **error)
{
  GstVkgdrFence *fence = copy_async_locked (self, GST_VKGDR_UPLOAD, offset,
      self->staging.host + offset, size, stream, error);

  if (!fence)
    return FALSE;
  gst_vkgdr_fence_unref (fence);
  self->staging_valid = TRUE;
  return TRUE;
}

/* --- mapping ---------------------------------------------------------------
 */

/* Makes bytes of the block that the CPU wrote visible to the device
 * (GST_MAP_WRITE), or the other way round (GST_MAP_READ). */
static gboolean
flush (const GstVkgdrBlock *block, gsize offset, gsize size,
    GstMapFlags direction, GError **error)
{
  return gst_vkgdr_allocation_flush (
      block->allocation, block->offset + offset, size, direction, error);
}

static gpointer
map_host_locked (GstVkgdrMemory *self, GstMapFlags flags, GError **error)
{
  if (!gst_vkgdr_memory_wait_locked (self, flags, error))
    return NULL;
  if ((flags & GST_MAP_READ)
      && !flush (&self->block, 0, self->block.size, GST_MAP_READ, error))
    return NULL;
  return self->block.host;
}

/* Returns the staging buffer for an access with @flags, with the content if
 * there is any. Releases the lock meanwhile.
 */
static gpointer
map_staging_locked (GstVkgdrMemory *self, GstMapFlags flags, GError **error)
{
  /* A reader does not wait if the staging buffer has the content. A writer
   * waits first, so that the staging buffer of the last write is free again. */
  if ((flags & GST_MAP_WRITE)
      && !gst_vkgdr_memory_wait_locked (self, flags, error))
    return NULL;
  if (!ensure_staging_locked (self, error))
    return NULL;
  if ((flags & GST_MAP_READ) || needs_fetch (self))
    self->keeps_staging = TRUE;
  if (!refresh_staging_locked (self, error))
    return NULL;
  return self->staging.host;
}

/* Whether a mapping gets the host pointer of the block. An uncached window must
 * not be read. A cached one is used for readers and direct writers. */
static gboolean
uses_host_pointer (const GstVkgdrMemory *self, GstMapFlags flags)
{
  if (self->access == GST_VKGDR_ACCESS_STAGED)
    return self->host_cached && !(flags & GST_MAP_WRITE);
  return self->host_cached || !(flags & GST_MAP_READ);
}

/* If no staging buffer can be allocated, because there is no host memory left,
 * the writer gets a pointer into the window, if there is one. */
static gpointer
map_staged_locked (GstVkgdrMemory *self, GstMapFlags flags, GError **error)
{
  GError *reason = NULL;
  gpointer data = map_staging_locked (self, flags, &reason);

  if (data)
    return data;
  if (self->staging.host || (flags & GST_MAP_READ) || !self->block.host) {
    g_propagate_error (error, reason);
    return NULL;
  }
  GST_CAT_WARNING (
      GST_CAT_DEFAULT, "cannot allocate a staging buffer: %s", reason->message);
  g_error_free (reason);
  return map_host_locked (self, flags, error);
}

/* Measures the processor time of large buffers only: writing one takes hundreds
 * of times longer than the measurement. */
static void
begin_work (GstVkgdrMemory *self, GstMapFlags flags)
{
  gst_vkgdr_work_start (&self->work_start, gst_util_get_timestamp (),
      (flags & GST_MAP_WRITE) && self->turn.is_pending
          && self->block.size >= GST_VKGDR_BLOCK_LARGE);
}

/* Adds the range of @mem to the range that was written. Must be called at the
 * beginning and at the end of each mapping for writing, because the memory may
 * be resized meanwhile. Each plane of a frame is mapped separately; the content
 * is sent when the last one is unmapped. */
static void
add_dirty (GstVkgdrMemory *self, const GstMemory *mem)
{
  gsize end = mem->offset + mem->size;

  if (self->dirty_end == 0)
    self->dirty_begin = mem->offset;
  self->dirty_begin = MIN (self->dirty_begin, mem->offset);
  self->dirty_end = MAX (self->dirty_end, end);
}

static gpointer
map_cpu_locked (GstVkgdrMemory *self, const GstMemory *mem, GstMapFlags flags,
    GError **error)
{
  GstClockTime asked = gst_util_get_timestamp ();
  gpointer data;

  /* A nested mapping gets the same pointer. If it is the first one for writing,
   * the outer mapping has not waited for readers on the device. */
  if (self->cpu_maps > 0 && self->cpu_writers == 0 && (flags & GST_MAP_WRITE)
      && !gst_vkgdr_memory_wait_locked (self, flags, error))
    return NULL;
  data = self->cpu_data;
  if (self->cpu_maps == 0) {
    if (flags & GST_MAP_WRITE)
      gst_vkgdr_memory_choose_access_locked (self, asked);
    if (uses_host_pointer (self, flags))
      data = map_host_locked (self, flags, error);
    else
      data = map_staged_locked (self, flags, error);
  }
  if (!data)
    return NULL;
  if (self->cpu_maps++ == 0) {
    self->cpu_data = data;
    begin_work (self, flags);
    self->wait_time += self->work_start.time - asked;
    self->turn.waited += self->work_start.time - asked;
  }
  if (flags & GST_MAP_WRITE) {
    self->cpu_writers++;
    add_dirty (self, mem);
  }
  return self->cpu_data;
}

/* Tells the pool of the memory, if there is one, that the CPU cannot write to
 * it. Must be called without a lock. */
static void
report_failure (GstVkgdrMemory *self, const GError *error)
{
  GObject *pool = g_weak_ref_get (&self->blocks->pool);

  if (!pool)
    return;
  g_signal_emit_by_name (pool, "map-failed", error);
  g_object_unref (pool);
}

gpointer
gst_vkgdr_memory_map_full (GstMemory *mem, GstMapInfo *info, gsize maxsize)
{
  GstVkgdrMemory *self = gst_vkgdr_memory_root (mem);
  GError *error = NULL;
  gpointer data = NULL;

  g_mutex_lock (&self->lock);
  if (!(info->flags & GST_MAP_VKGDR))
    data = map_cpu_locked (self, mem, info->flags, &error);
  else if (gst_vkgdr_memory_wait_locked (self, info->flags, &error))
    data = (gpointer) (guintptr) self->block.device;
  g_mutex_unlock (&self->lock);

  if (!data) {
    GST_CAT_ERROR (
        GST_CAT_DEFAULT, "memory %p cannot be mapped: %s", mem, error->message);
    if ((info->flags & GST_MAP_WRITE) && !(info->flags & GST_MAP_VKGDR))
      report_failure (self, error);
    g_clear_error (&error);
  }
  return data;
}

/* Must be called before publish_locked (). Returns the stream for the transfer
 * of the content; NULL if no transfer is needed, or with @error set on failure.
 * Releases the lock meanwhile. */
static GstVkgdrStream *
prepare_publish_locked (GstVkgdrMemory *self, GError **error)
{
  if (self->cpu_data != self->staging.host || self->order.lost)
    return NULL;
  return prepare_stream_locked (self, GST_VKGDR_UPLOAD, error);
}

/* Makes the bytes that the CPU wrote visible to the device, or sends them to it
 * on @stream. @error (transfer full) is the error of prepare_publish_locked (),
 * or NULL. The lock must not be released between prepare_publish_locked () and
 * the end of this function: until the transfer is queued, no other thread may
 * see that the last writer is gone, or take the staging buffer. */
static void
publish_locked (GstVkgdrMemory *self, gsize offset, gsize size,
    GstVkgdrStream *stream, GError *error)
{
  gboolean is_staged = self->cpu_data == self->staging.host;

  self->written = is_staged ? GST_VKGDR_ACCESS_STAGED : GST_VKGDR_ACCESS_DIRECT;
  if (self->order.lost) { /* a nested mapping has failed */
    g_clear_error (&error);
    return;
  }
  if (stream) {
    queue_staging_locked (self, offset, size, stream, &error);
  } else if (!is_staged) {
    flush (&self->block, offset, size, GST_MAP_WRITE, &error);
    gst_vkgdr_memory_set_on_device_locked (self);
  }
  if (!error)
    return;
  GST_CAT_ERROR (GST_CAT_DEFAULT,
      "data written to memory %p did not reach the device: %s", self,
      error->message);
  self->order.lost = error;
}

/* Releases the lock meanwhile. */
static void
unmap_writer_locked (GstVkgdrMemory *self, const GstMemory *mem)
{
  GstVkgdrStream *stream = NULL;
  GError *error = NULL;

  if (self->cpu_writers == 1)
    stream = prepare_publish_locked (self, &error);
  self->cpu_maps--;
  self->cpu_writers--;
  add_dirty (self, mem);
  if (self->cpu_writers > 0) {
    g_clear_error (&error);
    return;
  }
  publish_locked (self, self->dirty_begin, self->dirty_end - self->dirty_begin,
      stream, error);
  self->dirty_begin = 0;
  self->dirty_end = 0;
}

/* Releases the lock meanwhile. */
static void
unmap_cpu_locked (GstVkgdrMemory *self, GstMemory *mem, GstMapFlags flags)
{
  GstVkgdrWork work;
  GstClockTime now;

  if (!(flags & GST_MAP_WRITE)) {
    self->cpu_maps--;
    return;
  }
  unmap_writer_locked (self, mem);
  if (self->cpu_maps > 0)
    return;
  now = gst_util_get_timestamp ();
  self->map_time += now - self->work_start.time;
  work = gst_vkgdr_work_end (&self->work_start, now);
  gst_vkgdr_policy_turn_end (&self->turn, self->written, &work);
}

void
gst_vkgdr_memory_unmap_full (GstMemory *mem, GstMapInfo *info)
{
  GstVkgdrMemory *self = gst_vkgdr_memory_root (mem);
  GstVkgdrRemains staging;
  gboolean is_taken = FALSE;

  if (info->flags & GST_MAP_VKGDR)
    gst_vkgdr_memory_mark_unknown_stream (mem, info->flags);
  g_mutex_lock (&self->lock);
  if (!(info->flags & GST_MAP_VKGDR)) {
    unmap_cpu_locked (self, mem, info->flags);
    /* Gives the staging buffer back, so that the next frame is written to it,
     * whatever memory that frame has. So a few staging buffers are enough, and
     * they stay in the CPU's cache. A memory whose content the CPU has needed
     * keeps its staging buffer. */
    if (!self->keeps_staging && self->written == GST_VKGDR_ACCESS_STAGED)
      is_taken = gst_vkgdr_memory_take_staging_locked (self, &staging);
  } else if (info->flags & GST_MAP_WRITE) {
    gst_vkgdr_memory_set_on_device_locked (self);
  }
  g_mutex_unlock (&self->lock);
  if (is_taken)
    gst_vkgdr_blocks_retire (self->blocks, &staging);
}

/* The memory must be mapped for writing. Releases the lock meanwhile. */
static gboolean
publish_mapped_locked (
    GstVkgdrMemory *self, const GstMemory *mem, GError **error)
{
  gconstpointer data = self->cpu_data;
  GError *reason = NULL;
  GstVkgdrStream *stream = prepare_publish_locked (self, &reason);

  /* If the writer has unmapped the memory meanwhile, it has published it. */
  if (self->cpu_writers > 0 && self->cpu_data == data)
    publish_locked (self, mem->offset, mem->size, stream, reason);
  else
    g_clear_error (&reason);
  return gst_vkgdr_order_check (&self->order, error);
}

/**
 * gst_vkgdr_memory_publish:
 * @memory: a memory of this type
 * @error: return location for a #GError
 *
 * Makes the content of a memory that is still mapped for writing available to
 * the device. Some decoders push a frame while they keep it mapped as a
 * reference for other frames. An element that gets a buffer from such a decoder
 * must call this function before the device uses the buffer. Does nothing if
 * the memory is not mapped for writing by the CPU. May be called from any
 * thread.
 *
 * Returns: %FALSE with @error set on failure
 *
 * Since: 0.2
 */
gboolean
gst_vkgdr_memory_publish (GstMemory *memory, GError **error)
{
  GstVkgdrMemory *self;
  gboolean ok = TRUE;

  g_return_val_if_fail (gst_is_vkgdr_memory (memory), FALSE);

  self = gst_vkgdr_memory_root (memory);
  g_mutex_lock (&self->lock);
  if (self->cpu_writers > 0)
    ok = publish_mapped_locked (self, memory, error);
  g_mutex_unlock (&self->lock);
  return ok;
}

/* --- writing without a mapping -------------------------------------------- */

/* Waits until the CPU may write to the block, and marks the content on the
 * device as current. */
static gboolean
begin_write (GstVkgdrMemory *self, GError **error)
{
  gboolean ok;

  g_mutex_lock (&self->lock);
  ok = gst_vkgdr_memory_wait_locked (self, GST_MAP_WRITE, error);
  if (ok)
    gst_vkgdr_memory_set_on_device_locked (self);
  g_mutex_unlock (&self->lock);
  return ok;
}

/* Must be called without the lock: the memory is not mapped, so it has no other
 * user. The lock is not taken again after the copy, because that would wait
 * until the CPU has sent all bytes to the device. */
static gboolean
write_host (GstVkgdrMemory *self, gsize offset, gconstpointer data, gsize size,
    GError **error)
{
  if (!begin_write (self, error))
    return FALSE;
  vkgdr_copy_to_bar (self->block.host + offset, data, size, 0);
  /* vkgdr_copy_to_bar () ends with a store fence. */
  return self->block.allocation->is_coherent
         || flush (&self->block, offset, size, GST_MAP_WRITE, error);
}

static gboolean
write_staging (GstVkgdrMemory *self, gsize offset, gconstpointer data,
    gsize size, GError **error)
{
  GstVkgdrStream *stream;
  guint8 *staging;
  gboolean ok;

  g_mutex_lock (&self->lock);
  staging = map_staging_locked (self, GST_MAP_WRITE, error);
  g_mutex_unlock (&self->lock);
  if (!staging)
    return FALSE;
  memcpy (staging + offset, data, size);
  g_mutex_lock (&self->lock);
  stream = prepare_stream_locked (self, GST_VKGDR_UPLOAD, error);
  ok = stream && queue_staging_locked (self, offset, size, stream, error);
  g_mutex_unlock (&self->lock);
  return ok;
}

/**
 * gst_vkgdr_memory_write:
 * @memory: a memory of this type that is not mapped
 * @offset: offset of the first byte in @memory
 * @data: (not nullable): address of @size bytes of ordinary host memory
 * @size: bytes
 * @error: return location for a #GError
 *
 * Copies into the window with non-temporal stores, with several threads if that
 * is faster. The content is on the device when the function returns. For
 * device-only memory, a transfer from a staging buffer is queued in order.
 *
 * May be called from any thread, but not while another thread uses @memory.
 *
 * Returns: %FALSE with @error set on failure
 *
 * Since: 0.1
 */
gboolean
gst_vkgdr_memory_write (GstMemory *memory, gsize offset, gconstpointer data,
    gsize size, GError **error)
{
  GstVkgdrMemory *self;

  g_return_val_if_fail (gst_is_vkgdr_memory (memory), FALSE);

  if (!gst_vkgdr_check_rows (offset, 0, size, 1, memory->size, error))
    return FALSE;
  self = gst_vkgdr_memory_root (memory);
  offset += memory->offset;
  return self->block.host ? write_host (self, offset, data, size, error)
                          : write_staging (self, offset, data, size, error);
}
