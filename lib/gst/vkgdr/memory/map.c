/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * memory/map.c: what mapping a memory gives
 *
 * Decides between the window, the shadow and the device pointer, keeps track of
 * which of them holds the content, and brings it from one to the other. Must
 * not know why a memory's access is direct or staged.
 */

#include "memory/memory-private.h"

#define GST_CAT_DEFAULT gst_vkgdr_memory_debug

/* --- DMA between shadow and device --------------------------------------- */

GstVkgdrFence *
gst_vkgdr_memory_copy_async (GstVkgdrMemory *self, GstVkgdrDirection direction,
    gsize offset, gpointer host, gsize size, GstVkgdrStream *stream,
    GError **error)
{
  GstVkgdrContext *context = gst_vkgdr_stream_get_context (stream);
  const vkgdr_cuda *cuda = gst_vkgdr_context_get_driver (context);
  CUstream handle = gst_vkgdr_stream_get_handle (stream);
  CUdeviceptr device = self->block.device + offset;
  GstMapFlags flags =
      direction == GST_VKGDR_UPLOAD ? GST_MAP_WRITE : GST_MAP_READ;
  GstVkgdrFence *fence;
  gboolean ok;

  if (!gst_vkgdr_order_stream (&self->order, stream, flags, error))
    return NULL;
  if (!gst_vkgdr_context_push (context, error))
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
  fence = gst_vkgdr_order_mark (&self->order, stream, flags, error);
  if (fence && direction == GST_VKGDR_UPLOAD)
    self->device_valid = TRUE;
  return fence;
}

static gboolean
ensure_shadow (GstVkgdrMemory *self, GError **error)
{
  if (!self->shadow)
    self->shadow =
        gst_vkgdr_pinned_take (gst_vkgdr_allocator_get_pinned (
                                   gst_vkgdr_memory_allocator (&self->mem)),
            self->block.size, error);
  return self->shadow != NULL;
}

/* Brings the device's content into the shadow, if it holds any that the shadow
 * lacks, and waits for it. */
static gboolean
refresh_shadow (GstVkgdrMemory *self, GError **error)
{
  GstVkgdrStream *stream;
  GstVkgdrFence *fence;

  if (!self->device_valid || (self->shadow_valid && !self->in_common))
    return TRUE;
  stream = gst_vkgdr_allocator_get_copy_stream (
      gst_vkgdr_memory_allocator (&self->mem), GST_VKGDR_DOWNLOAD, error);
  if (!stream)
    return FALSE;
  fence = gst_vkgdr_memory_copy_async (self, GST_VKGDR_DOWNLOAD, 0,
      self->shadow, self->block.size, stream, error);
  if (!fence || !gst_vkgdr_fence_wait (fence, error))
    return FALSE;
  self->shadow_valid = TRUE;
  return TRUE;
}

/* --- mapping ------------------------------------------------------------- */

static gpointer
map_window (GstVkgdrMemory *self, GstMapFlags flags, GError **error)
{
  if (!gst_vkgdr_order_wait (&self->order, flags, error))
    return NULL;
  if ((flags & GST_MAP_READ)
      && !gst_vkgdr_block_invalidate (&self->block, 0, self->block.size, error))
    return NULL;
  return self->block.host;
}

gpointer
gst_vkgdr_memory_map_shadow (
    GstVkgdrMemory *self, GstMapFlags flags, GError **error)
{
  if (!ensure_shadow (self, error))
    return NULL;
  /* A reader of a shadow that is current need not wait for the device. */
  if ((flags & GST_MAP_WRITE)
      && !gst_vkgdr_order_wait (&self->order, flags, error))
    return NULL;
  if (!refresh_shadow (self, error))
    return NULL;
  return self->shadow;
}

/* Whether a mapping gets the window. A window that is not cached must not be
 * read. One that is cached serves readers, and writers with direct access. */
static gboolean
uses_window (const GstVkgdrMemory *self, GstMapFlags flags)
{
  if (self->access == GST_VKGDR_ACCESS_STAGED)
    return self->host_cached && !(flags & GST_MAP_WRITE);
  return self->host_cached || !(flags & GST_MAP_READ);
}

/* A writer that gets no staging buffer, because there is no host memory left
 * for it, writes through the window where there is one. */
static gpointer
map_staged (GstVkgdrMemory *self, GstMapFlags flags, GError **error)
{
  GError *reason = NULL;
  gpointer data = gst_vkgdr_memory_map_shadow (self, flags, &reason);

  if (data)
    return data;
  if (self->shadow || (flags & GST_MAP_READ) || !self->block.host) {
    g_propagate_error (error, reason);
    return NULL;
  }
  GST_CAT_WARNING (GST_CAT_DEFAULT, "no staging buffer: %s", reason->message);
  g_error_free (reason);
  return map_window (self, flags, error);
}

static gpointer
map_cpu (GstVkgdrMemory *self, GstMapFlags flags, GError **error)
{
  GstClockTime asked = gst_util_get_timestamp ();

  /* A mapping within a mapping, which GstMemory allows for no more than the
   * outer one may do: the same pointer serves. */
  if (self->cpu_maps == 0) {
    if (uses_window (self, flags))
      self->cpu_data = map_window (self, flags, error);
    else
      self->cpu_data = map_staged (self, flags, error);
  }
  if (!self->cpu_data)
    return NULL;
  if (flags & GST_MAP_WRITE)
    self->cpu_writers++;
  if (self->cpu_maps++ == 0) {
    self->cpu_since = gst_util_get_timestamp ();
    self->wait_time += self->cpu_since - asked;
  }
  return self->cpu_data;
}

static gpointer
map_device (GstVkgdrMemory *self, GstMapFlags flags, GError **error)
{
  if (!gst_vkgdr_order_wait (&self->order, flags, error))
    return NULL;
  return (gpointer) (guintptr) self->block.device;
}

gpointer
gst_vkgdr_memory_map_full (GstMemory *mem, GstMapInfo *info, gsize maxsize)
{
  GstVkgdrMemory *self = gst_vkgdr_memory_root (mem);
  GError *error = NULL;
  gpointer data;

  g_mutex_lock (&self->lock);
  if (info->flags & GST_MAP_VKGDR)
    data = map_device (self, info->flags, &error);
  else
    data = map_cpu (self, info->flags, &error);
  g_mutex_unlock (&self->lock);

  if (!data) {
    GST_CAT_ERROR (
        GST_CAT_DEFAULT, "memory %p cannot be mapped: %s", mem, error->message);
    g_clear_error (&error);
  }
  return data;
}

gboolean
gst_vkgdr_memory_send_shadow (
    GstVkgdrMemory *self, gsize offset, gsize size, GError **error)
{
  GstVkgdrStream *stream = gst_vkgdr_allocator_get_copy_stream (
      gst_vkgdr_memory_allocator (&self->mem), GST_VKGDR_UPLOAD, error);

  if (!stream)
    return FALSE;
  if (!gst_vkgdr_memory_copy_async (self, GST_VKGDR_UPLOAD, offset,
          (guint8 *) self->shadow + offset, size, stream, error))
    return FALSE;
  self->shadow_valid = TRUE;
  return TRUE;
}

/* What the CPU wrote goes to the device. */
static void
publish (GstVkgdrMemory *self, GstMemory *mem)
{
  GError **lost = &self->order.lost;
  gboolean ok;

  self->written = self->cpu_data == self->shadow ? GST_VKGDR_ACCESS_STAGED
                                                 : GST_VKGDR_ACCESS_DIRECT;

  if (*lost) /* a mapping within this one has failed */
    return;
  if (self->cpu_data == self->shadow) {
    ok = gst_vkgdr_memory_send_shadow (self, mem->offset, mem->size, lost);
  } else {
    ok = gst_vkgdr_block_flush (&self->block, mem->offset, mem->size, lost);
    self->device_valid = TRUE;
    self->shadow_valid = FALSE;
  }
  if (!ok)
    GST_CAT_ERROR (GST_CAT_DEFAULT,
        "what was written to memory %p did not reach the device: %s", mem,
        (*lost)->message);
}

static void
unmap_cpu (GstVkgdrMemory *self, GstMemory *mem, GstMapFlags flags)
{
  GstClockTime time;

  self->cpu_maps--;
  if (!(flags & GST_MAP_WRITE))
    return;
  self->cpu_writers--;
  publish (self, mem);
  if (self->cpu_maps > 0)
    return;
  time = gst_util_get_timestamp () - self->cpu_since;
  self->map_time += time;
  gst_vkgdr_policy_report (&self->turn, self->written, time);
}

void
gst_vkgdr_memory_unmap_full (GstMemory *mem, GstMapInfo *info)
{
  GstVkgdrMemory *self = gst_vkgdr_memory_root (mem);

  g_mutex_lock (&self->lock);
  if (!(info->flags & GST_MAP_VKGDR)) {
    unmap_cpu (self, mem, info->flags);
  } else {
    gst_vkgdr_order_mark_untold (&self->order, info->flags);
    if (info->flags & GST_MAP_WRITE) {
      self->device_valid = TRUE;
      self->shadow_valid = FALSE;
    }
  }
  g_mutex_unlock (&self->lock);
}

/**
 * gst_vkgdr_memory_publish:
 * @memory: a memory of this type
 * @error: return location for a #GError
 *
 * Brings what was written in a mapping that still lives to the device. Some
 * decoders hand a frame on, and unmap it when they need it no more to predict
 * other frames: whoever takes a buffer from such an element calls this before
 * the device uses it. Does nothing if no mapping for the CPU writes.
 *
 * Returns: %FALSE with @error set on failure
 *
 * Since: 0.2
 */
gboolean
gst_vkgdr_memory_publish (GstMemory *memory, GError **error)
{
  GstVkgdrMemory *self;
  gboolean ok;

  g_return_val_if_fail (gst_is_vkgdr_memory (memory), FALSE);

  self = gst_vkgdr_memory_root (memory);
  g_mutex_lock (&self->lock);
  if (self->cpu_writers > 0)
    publish (self, memory);
  ok = self->cpu_writers == 0 || !self->order.lost;
  if (!ok && error)
    *error = g_error_copy (self->order.lost);
  g_mutex_unlock (&self->lock);
  return ok;
}

void
gst_vkgdr_memory_mark_untold (GstMemory *mem, GstMapFlags flags)
{
  GstVkgdrMemory *self = gst_vkgdr_memory_root (mem);

  g_mutex_lock (&self->lock);
  gst_vkgdr_order_mark_untold (&self->order, flags);
  g_mutex_unlock (&self->lock);
}

/* Under the lock. */
static gboolean
let_read (GstVkgdrMemory *self, const CUstream *stream, gboolean *is_there,
    GError **error)
{
  *is_there = gst_vkgdr_order_is_written (&self->order);
  if (*is_there)
    return TRUE;
  if (stream)
    return gst_vkgdr_order_precede (
        &self->order, self->order.context, *stream, GST_MAP_READ, error);
  *is_there = gst_vkgdr_order_wait (&self->order, GST_MAP_READ, error);
  return *is_there;
}

gboolean
gst_vkgdr_memory_lend (
    GstMemory *mem, const CUstream *stream, gboolean *is_there, GError **error)
{
  GstVkgdrMemory *self = gst_vkgdr_memory_root (mem);
  GstMiniObject *object = GST_MINI_OBJECT_CAST (mem);
  gboolean ok;

  /* As gst_memory_map () does it. */
  if (!gst_mini_object_lock (object, GST_LOCK_FLAG_READ)) {
    g_set_error_literal (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_ARGUMENT,
        "the memory is mapped for writing");
    return FALSE;
  }
  g_mutex_lock (&self->lock);
  ok = let_read (self, stream, is_there, error);
  g_mutex_unlock (&self->lock);
  if (!ok)
    gst_mini_object_unlock (object, GST_LOCK_FLAG_READ);
  return ok;
}

void
gst_vkgdr_memory_end_loan (GstMemory *mem)
{
  gst_vkgdr_memory_mark_untold (mem, GST_MAP_READ);
  gst_mini_object_unlock (GST_MINI_OBJECT_CAST (mem), GST_LOCK_FLAG_READ);
}
