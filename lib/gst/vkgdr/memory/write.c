/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * memory/write.c: copies bytes of the CPU into a memory that is not mapped
 *
 * Uses stores into the window, or a staging buffer. Must not know the elements
 * that use it.
 */

#include "memory/memory.h"

static gboolean
check_range (GstMemory *memory, gsize offset, gsize size, GError **error)
{
  if (offset > memory->size || size > memory->size - offset) {
    g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_ARGUMENT,
        "%" G_GSIZE_FORMAT " bytes from %" G_GSIZE_FORMAT
        " exceed a memory of %" G_GSIZE_FORMAT " bytes",
        size, offset, memory->size);
    return FALSE;
  }
  return TRUE;
}

/* Waits until the CPU may write to the block, and counts the content as
 * written. The caller ensures that no other thread uses its memory. But other
 * memories of the same root may have other users. The lock is not needed if
 * there are no such memories. */
static gboolean
begin_write (GstVkgdrMemory *self, GError **error)
{
  gboolean ok;

  if (GST_MINI_OBJECT_REFCOUNT_VALUE (self) == 1
      && gst_vkgdr_order_is_empty (&self->order)) {
    gst_vkgdr_memory_set_on_device (self);
    return TRUE;
  }
  g_mutex_lock (&self->lock);
  ok = gst_vkgdr_memory_wait (self, GST_MAP_WRITE, error);
  if (ok)
    gst_vkgdr_memory_set_on_device (self);
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
         || gst_vkgdr_block_flush (
             &self->block, offset, size, GST_MAP_WRITE, error);
}

static gboolean
write_staging (GstVkgdrMemory *self, gsize offset, gconstpointer data,
    gsize size, GError **error)
{
  guint8 *staging;
  gboolean ok;

  g_mutex_lock (&self->lock);
  staging = gst_vkgdr_memory_map_staging (self, GST_MAP_WRITE, error);
  g_mutex_unlock (&self->lock);
  if (!staging)
    return FALSE;
  memcpy (staging + offset, data, size);
  g_mutex_lock (&self->lock);
  ok = gst_vkgdr_memory_send_staging (self, offset, size, error);
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

  if (!check_range (memory, offset, size, error))
    return FALSE;
  self = gst_vkgdr_memory_root (memory);
  offset += memory->offset;
  return self->block.host ? write_host (self, offset, data, size, error)
                          : write_staging (self, offset, data, size, error);
}
