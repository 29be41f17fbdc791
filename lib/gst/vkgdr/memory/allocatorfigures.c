/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * memory/allocatorfigures.c: an allocator's statistics, and freeing held memory
 */

#include "memory/allocator.h"

static gboolean
is_open (GstVkgdrAllocator *self)
{
  gboolean has_heap;

  g_mutex_lock (&self->lock);
  has_heap = self->heap != NULL;
  g_mutex_unlock (&self->lock);
  return has_heap;
}

static GstVkgdrHeapStats
get_stats (GstVkgdrAllocator *self)
{
  GstVkgdrHeapStats stats = { 0 };

  if (!is_open (self))
    return stats;
  gst_vkgdr_allocator_reap (self);
  gst_vkgdr_allocator_lock_heap (self);
  gst_vkgdr_heap_get_stats (self->heap, &stats);
  g_mutex_unlock (&self->lock);
  return stats;
}

/**
 * gst_vkgdr_allocator_get_held_blocks:
 * @allocator: an allocator
 *
 * Returns: the number of freed blocks that are held for reuse
 *
 * Since: 0.1
 */
guint
gst_vkgdr_allocator_get_held_blocks (GstVkgdrAllocator *allocator)
{
  g_return_val_if_fail (GST_IS_VKGDR_ALLOCATOR (allocator), 0);

  return get_stats (allocator).held_blocks;
}

/**
 * gst_vkgdr_allocator_get_active_blocks:
 * @allocator: an allocator
 *
 * Returns: the number of blocks in use; a freed block counts until the device
 *   has finished with it
 *
 * Since: 0.1
 */
guint
gst_vkgdr_allocator_get_active_blocks (GstVkgdrAllocator *allocator)
{
  g_return_val_if_fail (GST_IS_VKGDR_ALLOCATOR (allocator), 0);

  return get_stats (allocator).active_blocks;
}

/**
 * gst_vkgdr_allocator_get_managed_bytes:
 * @allocator: an allocator
 *
 * Returns: the size in bytes of all its device memory, used or held
 *
 * Since: 0.1
 */
guint64
gst_vkgdr_allocator_get_managed_bytes (GstVkgdrAllocator *allocator)
{
  g_return_val_if_fail (GST_IS_VKGDR_ALLOCATOR (allocator), 0);

  return get_stats (allocator).managed_bytes;
}

/**
 * gst_vkgdr_allocator_get_active_bytes:
 * @allocator: an allocator
 *
 * Returns: the size in bytes of the blocks in use
 *
 * Since: 0.1
 */
guint64
gst_vkgdr_allocator_get_active_bytes (GstVkgdrAllocator *allocator)
{
  g_return_val_if_fail (GST_IS_VKGDR_ALLOCATOR (allocator), 0);

  return get_stats (allocator).active_bytes;
}

static void
count_pinned (GstVkgdrAllocator *self, guint *n_held, guint *n_active)
{
  *n_held = *n_active = 0;
  if (!is_open (self))
    return;
  gst_vkgdr_allocator_reap (self);
  gst_vkgdr_pinned_count (self->pinned, n_held, n_active);
}

/**
 * gst_vkgdr_allocator_get_pinned_held_blocks:
 * @allocator: an allocator
 *
 * Returns: the number of blocks of pinned host memory that are held for reuse
 *
 * Since: 0.2
 */
guint
gst_vkgdr_allocator_get_pinned_held_blocks (GstVkgdrAllocator *allocator)
{
  guint n_held, n_active;

  g_return_val_if_fail (GST_IS_VKGDR_ALLOCATOR (allocator), 0);

  count_pinned (allocator, &n_held, &n_active);
  return n_held;
}

/**
 * gst_vkgdr_allocator_get_pinned_active_blocks:
 * @allocator: an allocator
 *
 * Returns: the number of blocks of pinned host memory in use: the blocks of
 *   gst_vkgdr_allocator_alloc_pinned(), and the staging buffers of memories
 *
 * Since: 0.2
 */
guint
gst_vkgdr_allocator_get_pinned_active_blocks (GstVkgdrAllocator *allocator)
{
  guint n_held, n_active;

  g_return_val_if_fail (GST_IS_VKGDR_ALLOCATOR (allocator), 0);

  count_pinned (allocator, &n_held, &n_active);
  return n_active;
}

/**
 * gst_vkgdr_allocator_free_held:
 * @allocator: an allocator
 *
 * Gives unused device memory and unused pinned memory back to the driver. This
 * is done in another thread when the device is idle. Memory that is freed later
 * is still held.
 *
 * Since: 0.1
 */
void
gst_vkgdr_allocator_free_held (GstVkgdrAllocator *allocator)
{
  g_return_if_fail (GST_IS_VKGDR_ALLOCATOR (allocator));

  if (is_open (allocator))
    gst_vkgdr_allocator_empty (allocator);
}

/**
 * gst_vkgdr_allocator_stop_holding:
 * @allocator: an allocator
 *
 * Like gst_vkgdr_allocator_free_held(), and device memory that is freed later
 * goes back to the driver as soon as possible. Pinned memory that is freed
 * later is still held.
 *
 * Since: 0.1
 */
void
gst_vkgdr_allocator_stop_holding (GstVkgdrAllocator *allocator)
{
  g_return_if_fail (GST_IS_VKGDR_ALLOCATOR (allocator));

  if (!gst_vkgdr_allocator_ensure_open (allocator, NULL))
    return;
  g_mutex_lock (&allocator->lock);
  g_atomic_int_set (&allocator->stops_holding, TRUE);
  g_mutex_unlock (&allocator->lock);
  gst_vkgdr_allocator_reap_soon (allocator);
  gst_vkgdr_allocator_empty (allocator);
}
