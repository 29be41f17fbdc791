/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * memory/allocator.c: allocates memories
 *
 * blocks.c allocates and recycles the parts of memories, and allocatorwrap.c
 * wraps memory of other libraries. The functions of a memory are in
 * memory/memory.c.
 */

#include "memory/allocator.h"

/**
 * SECTION:gstvkgdrallocator
 * @title: GstVkgdrAllocator
 * @short_description: allocates memory of a device
 *
 * Memory is allocated in the window, the part of GPU memory that the CPU can
 * address. If there is no window, or it is full, device-only memory is used
 * instead: the CPU accesses it through a staging buffer and a transfer, and a
 * warning is logged once.
 *
 * The content of new memory is undefined. It may be that of earlier memory of
 * the same process, as with malloc(), unless the memory can be exported to
 * another process: such memory is cleared.
 *
 * Small memories share allocations of the driver, so that they are cheap and do
 * not take a file descriptor each. Freed memory is used for later allocations.
 * It goes back to the driver after ten seconds without use, or when
 * gst_vkgdr_allocator_free_held() is called. Each #GstVkgdrBufferPool has an
 * allocator of its own.
 *
 * After gst_vkgdr_init(), gst_allocator_find() returns an allocator of the
 * default device for the name %GST_VKGDR_MEMORY_NAME.
 *
 * All functions may be called from any thread.
 *
 * Since: 0.1
 */

#define GST_CAT_DEFAULT gst_vkgdr_memory_debug

G_DEFINE_TYPE (GstVkgdrAllocator, gst_vkgdr_allocator, GST_TYPE_ALLOCATOR)

static const GstAllocationParams no_params;

/* Must be called without the lock, because opening takes long. Two threads may
 * open the device at the same time; one result is kept. */
gboolean
gst_vkgdr_allocator_ensure_open (GstVkgdrAllocator *self, GError **error)
{
  GstVkgdrContext *context;

  if (g_atomic_pointer_get (&self->blocks))
    return TRUE;
  g_mutex_lock (&self->lock);
  context = self->context ? gst_object_ref (self->context) : NULL;
  g_mutex_unlock (&self->lock);
  if (!context)
    context = gst_vkgdr_context_new (-1, error);
  if (!context)
    return FALSE;

  g_mutex_lock (&self->lock);
  if (!self->blocks) {
    if (!self->context)
      self->context = gst_object_ref (context);
    g_atomic_pointer_set (
        &self->blocks, gst_vkgdr_blocks_new (self->context, NULL));
  }
  g_mutex_unlock (&self->lock);
  gst_object_unref (context);
  return TRUE;
}

/* FALSE with the error NO_MEMORY if @size is too large for any device. */
static gboolean
check_size (gsize size, GError **error)
{
  if (size <= G_MAXSIZE / 2)
    return TRUE;
  g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_NO_MEMORY,
      "%" G_GSIZE_FORMAT " bytes cannot be addressed", size);
  return FALSE;
}

/* Queues the clearing of bytes of a new memory. */
static gboolean
clear_on_device (GstVkgdrAllocator *self, GstVkgdrMemory *mem, gsize offset,
    gsize size, GError **error)
{
  GstVkgdrFence *fence = gst_vkgdr_blocks_clear (
      self->blocks, mem->block.device + offset, size, error);

  gst_vkgdr_order_mark (&mem->order, fence, GST_MAP_WRITE);
  return fence != NULL;
}

/* Memory that can be exported must not contain bytes of an earlier owner, not
 * even behind its end. The slabs of pools are cleared when they are made. */
static gboolean
needs_clearing (const GstVkgdrAllocator *self, const GstVkgdrBlock *block)
{
  return !self->blocks->is_pool && block->allocation->backing->export
         && gst_vkgdr_block_is_private (block);
}

static GstMemory *
make_memory (GstVkgdrAllocator *self, const GstVkgdrBlock *block, gsize maxsize,
    gsize align, gsize offset, gsize size, GError **error)
{
  GstMemory *mem = gst_vkgdr_memory_new (
      GST_ALLOCATOR (self), self->blocks, block, maxsize, align, offset, size);

  if (needs_clearing (self, block)
      && !clear_on_device (self, (GstVkgdrMemory *) mem, 0,
          block->allocation->size - block->offset, error))
    g_clear_pointer (&mem, gst_memory_unref);
  return mem;
}

static GstMemory *
alloc_memory (GstVkgdrAllocator *self, gsize size,
    const GstAllocationParams *params, GError **error)
{
  GstVkgdrBlock block;
  gsize maxsize;

  if (params->align >= GST_VKGDR_BLOCK_ALIGNMENT) {
    g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_ARGUMENT,
        "%" G_GSIZE_FORMAT " bytes aligned to %" G_GSIZE_FORMAT
        " cannot be allocated: blocks are aligned to %d bytes",
        size, params->align + 1, GST_VKGDR_BLOCK_ALIGNMENT);
    return NULL;
  }
  if (!g_size_checked_add (&maxsize, size, params->prefix)
      || !g_size_checked_add (&maxsize, maxsize, params->padding))
    maxsize = G_MAXSIZE;
  if (!check_size (maxsize, error)
      || !gst_vkgdr_allocator_ensure_open (self, error)
      || !gst_vkgdr_blocks_take (self->blocks, maxsize, &block, error))
    return NULL;
  return make_memory (
      self, &block, maxsize, params->align, params->prefix, size, error);
}

static gboolean
clear (GstVkgdrAllocator *self, GstVkgdrMemory *mem, gsize offset, gsize size,
    GError **error)
{
  mem->device_valid = TRUE;
  return clear_on_device (self, mem, offset, size, error);
}

/* Clears the prefix and the padding, if the caller requested it. */
static gboolean
clear_around (GstVkgdrAllocator *self, GstVkgdrMemory *memory,
    GstMemoryFlags flags, GError **error)
{
  const GstMemory *mem = &memory->mem;
  gsize end = mem->offset + mem->size;

  if (mem->offset > 0 && (flags & GST_MEMORY_FLAG_ZERO_PREFIXED)
      && !clear (self, memory, 0, mem->offset, error))
    return FALSE;
  return mem->maxsize == end || !(flags & GST_MEMORY_FLAG_ZERO_PADDED)
         || clear (self, memory, end, mem->maxsize - end, error);
}

static GstMemory *
gst_vkgdr_allocator_alloc_vfunc (
    GstAllocator *allocator, gsize size, GstAllocationParams *params)
{
  GstVkgdrAllocator *self = GST_VKGDR_ALLOCATOR (allocator);
  GError *error = NULL;
  GstMemory *mem = alloc_memory (self, size, params, &error);

  if (mem
      && !clear_around (self, (GstVkgdrMemory *) mem, params->flags, &error))
    g_clear_pointer (&mem, gst_memory_unref);
  if (mem)
    GST_MINI_OBJECT_FLAG_SET (mem, params->flags);
  if (!mem) {
    GST_ERROR_OBJECT (allocator, "%s", error->message);
    g_mutex_lock (&self->lock);
    g_clear_error (&self->error);
    self->error = error;
    g_mutex_unlock (&self->lock);
  }
  return mem;
}

GError *
gst_vkgdr_allocator_take_error (GstVkgdrAllocator *self)
{
  GError *error;

  g_mutex_lock (&self->lock);
  error = g_steal_pointer (&self->error);
  g_mutex_unlock (&self->lock);
  return error;
}

/* Publishes @mem, because the source may still be mapped for writing: GStreamer
 * copies such a memory instead of sharing it. */
static gboolean
copy_content (
    GstMemory *copy, GstMemory *mem, gsize offset, gsize size, GError **error)
{
  GstVkgdrStream *stream = gst_vkgdr_blocks_get_stream (
      gst_vkgdr_memory_root (copy)->blocks, GST_VKGDR_UPLOAD, error);

  return stream && gst_vkgdr_memory_publish (mem, error)
         && gst_vkgdr_memory_copy_rect (
             copy, 0, 0, mem, offset, 0, size, 1, stream, error);
}

/* The copy does not belong to a pool. For gst_vkgdr_memory_get_write_times(),
 * it has the access mode of @mem, but no times. */
static GstMemory *
copy_memory (GstMemory *mem, gssize offset, gssize size)
{
  GstVkgdrMemory *source = gst_vkgdr_memory_root (mem);
  GstVkgdrAllocator *allocator =
      gst_vkgdr_context_get_allocator (gst_vkgdr_memory_get_context (mem));
  GError *error = NULL;
  GstMemory *copy;

  if (size == -1)
    size = (gssize) mem->size > offset ? (gssize) mem->size - offset : 0;
  copy = gst_vkgdr_allocator_alloc (allocator, size, &error);
  if (copy && size > 0 && !copy_content (copy, mem, offset, size, &error))
    g_clear_pointer (&copy, gst_memory_unref);
  if (copy) {
    g_mutex_lock (&source->lock);
    ((GstVkgdrMemory *) copy)->written = source->written;
    g_mutex_unlock (&source->lock);
  } else {
    GST_CAT_ERROR (
        GST_CAT_DEFAULT, "memory %p cannot be copied: %s", mem, error->message);
    g_clear_error (&error);
  }
  gst_object_unref (allocator);
  return copy;
}

static void
gst_vkgdr_allocator_finalize (GObject *object)
{
  GstVkgdrAllocator *self = GST_VKGDR_ALLOCATOR (object);

  if (self->blocks)
    gst_vkgdr_blocks_close (self->blocks);
  gst_clear_object (&self->context);
  g_clear_error (&self->error);
  g_mutex_clear (&self->lock);

  G_OBJECT_CLASS (gst_vkgdr_allocator_parent_class)->finalize (object);
}

static void
gst_vkgdr_allocator_class_init (GstVkgdrAllocatorClass *klass)
{
  G_OBJECT_CLASS (klass)->finalize = gst_vkgdr_allocator_finalize;
  GST_ALLOCATOR_CLASS (klass)->alloc = gst_vkgdr_allocator_alloc_vfunc;
  GST_ALLOCATOR_CLASS (klass)->free = gst_vkgdr_memory_free;
}

static void
gst_vkgdr_allocator_init (GstVkgdrAllocator *self)
{
  GstAllocator *allocator = GST_ALLOCATOR (self);

  g_mutex_init (&self->lock);
  gst_vkgdr_memory_init_allocator (allocator);
  allocator->mem_map_full = gst_vkgdr_memory_map_full;
  allocator->mem_unmap_full = gst_vkgdr_memory_unmap_full;
  allocator->mem_copy = copy_memory;
  GST_OBJECT_FLAG_SET (self, GST_ALLOCATOR_FLAG_CUSTOM_ALLOC);
}

/**
 * gst_vkgdr_init:
 *
 * Registers the default allocator as %GST_VKGDR_MEMORY_NAME. Does not open a
 * device; the first allocation does. The plugin calls this function when it is
 * loaded. A program that uses the library without the plugin calls it after
 * gst_init().
 *
 * Thread-safe.
 *
 * Since: 0.1
 */
void
gst_vkgdr_init (void)
{
  static gsize done = 0;

  if (!g_once_init_enter (&done))
    return;
  gst_allocator_register (
      GST_VKGDR_MEMORY_NAME, GST_ALLOCATOR (gst_vkgdr_allocator_new (NULL)));
  g_once_init_leave (&done, 1);
}

/**
 * gst_vkgdr_allocator_new:
 * @context: (nullable): a context, or %NULL for the default device, which the
 *   first allocation opens
 *
 * Makes an allocator that shares no memory with other allocators. Elements use
 * the allocator of gst_vkgdr_context_get_allocator().
 *
 * Returns: (transfer full): the allocator
 *
 * Since: 0.1
 */
GstVkgdrAllocator *
gst_vkgdr_allocator_new (GstVkgdrContext *context)
{
  GstVkgdrAllocator *self = g_object_new (GST_TYPE_VKGDR_ALLOCATOR, NULL);

  gst_object_ref_sink (self);
  if (context)
    self->context = gst_object_ref (context);
  return self;
}

GstVkgdrAllocator *
gst_vkgdr_allocator_new_for_pool (GstVkgdrContext *context, GstBufferPool *pool)
{
  GstVkgdrAllocator *self = gst_vkgdr_allocator_new (context);

  self->blocks = gst_vkgdr_blocks_new (context, pool);
  return self;
}

/**
 * gst_vkgdr_context_get_allocator:
 * @context: a context
 *
 * Returns the allocator that all elements of the context share, for memory
 * without a pool.
 *
 * Returns: (transfer full): the allocator
 *
 * Since: 0.1
 */
GstVkgdrAllocator *
gst_vkgdr_context_get_allocator (GstVkgdrContext *context)
{
  GstVkgdrAllocator *allocator;
  GWeakRef *slot;

  g_return_val_if_fail (GST_IS_VKGDR_CONTEXT (context), NULL);

  slot = gst_vkgdr_context_get_allocator_slot (context);
  GST_OBJECT_LOCK (context);
  allocator = g_weak_ref_get (slot);
  if (!allocator) {
    allocator = gst_vkgdr_allocator_new (context);
    g_weak_ref_set (slot, allocator);
  }
  GST_OBJECT_UNLOCK (context);
  return allocator;
}

/**
 * gst_vkgdr_allocator_alloc:
 * @allocator: an allocator
 * @size: bytes
 * @error: return location for a #GError
 *
 * Allocates memory like gst_allocator_alloc(), but sets @error on failure. The
 * content is undefined. The memory is aligned to 512 bytes.
 *
 * Returns: (transfer full) (nullable): the memory, or %NULL with @error set:
 *   %GST_VKGDR_ERROR_NO_MEMORY if the device has no memory left (the message
 *   has the size of the window and how much of it is in use), or an error of
 *   gst_vkgdr_context_new()
 *
 * Since: 0.1
 */
GstMemory *
gst_vkgdr_allocator_alloc (
    GstVkgdrAllocator *allocator, gsize size, GError **error)
{
  g_return_val_if_fail (GST_IS_VKGDR_ALLOCATOR (allocator), NULL);

  return alloc_memory (allocator, size, &no_params, error);
}

/**
 * gst_vkgdr_allocator_alloc_exportable:
 * @allocator: an allocator
 * @size: bytes
 * @error: return location for a #GError
 *
 * Allocates memory like gst_vkgdr_allocator_alloc(), but never in an allocation
 * of the driver that is shared with other memory. So
 * gst_vkgdr_memory_export_fd() can export it, unless there is no window or the
 * window is full, and it is therefore device-only memory. Large memories never
 * share an allocation. A small memory takes more memory of the device than with
 * gst_vkgdr_allocator_alloc().
 *
 * Returns: (transfer full) (nullable): the memory, or %NULL with @error set as
 * by gst_vkgdr_allocator_alloc()
 *
 * Since: 0.2
 */
GstMemory *
gst_vkgdr_allocator_alloc_exportable (
    GstVkgdrAllocator *allocator, gsize size, GError **error)
{
  GstVkgdrAllocation *allocation = NULL;
  GstVkgdrMemory *memory;
  GstMemory *mem;

  g_return_val_if_fail (GST_IS_VKGDR_ALLOCATOR (allocator), NULL);

  if (!check_size (size, error)
      || !gst_vkgdr_allocator_ensure_open (allocator, error))
    return NULL;
  if (gst_vkgdr_context_has_window (allocator->context))
    allocation = gst_vkgdr_allocation_new (
        &gst_vkgdr_backing_window, allocator->context, MAX (size, 1), NULL);
  if (!allocation)
    return alloc_memory (allocator, size, &no_params, error);
  memory = gst_vkgdr_memory_new_of_allocation (
      GST_ALLOCATOR (allocator), allocator->blocks, allocation, 0, size);
  memory->device_valid = FALSE;
  mem = GST_MEMORY_CAST (memory);
  if (!clear_on_device (allocator, memory, 0, allocation->size, error))
    g_clear_pointer (&mem, gst_memory_unref);
  return mem;
}

/**
 * gst_vkgdr_allocator_alloc_device_only:
 * @allocator: an allocator
 * @size: bytes
 * @error: return location for a #GError
 *
 * Allocates device-only memory, which the CPU cannot address, like CUDA's own
 * `cuMemAlloc`. Use it for data that stays on the device, so that frames can
 * use a small window. The CPU reads and writes it through a staging buffer and
 * a transfer. Its content is undefined, and it is aligned to 512 bytes.
 *
 * Returns: (transfer full) (nullable): the memory, or %NULL with @error set:
 *   %GST_VKGDR_ERROR_NO_MEMORY if the device has no memory left, or an error of
 *   gst_vkgdr_context_new()
 *
 * Since: 0.2
 */
GstMemory *
gst_vkgdr_allocator_alloc_device_only (
    GstVkgdrAllocator *allocator, gsize size, GError **error)
{
  GstVkgdrBlock block;

  g_return_val_if_fail (GST_IS_VKGDR_ALLOCATOR (allocator), NULL);

  if (!check_size (size, error)
      || !gst_vkgdr_allocator_ensure_open (allocator, error))
    return NULL;
  gst_vkgdr_blocks_reap (allocator->blocks);
  if (!gst_vkgdr_blocks_take_device_only (
          allocator->blocks, size, &block, error))
    return NULL;
  return make_memory (allocator, &block, size, 0, 0, size, error);
}

/**
 * gst_vkgdr_allocator_alloc_pinned:
 * @allocator: an allocator
 * @size: bytes
 * @error: return location for a #GError
 *
 * Allocates pinned host memory, for DMA at full speed. It is recycled when the
 * memory is freed. Mapping it waits for pending transfers of
 * gst_vkgdr_memory_fetch_rect().
 *
 * Returns: (transfer full) (nullable): memory that the CPU can map, or %NULL
 *   with @error set
 *
 * Since: 0.1
 */
GstMemory *
gst_vkgdr_allocator_alloc_pinned (
    GstVkgdrAllocator *allocator, gsize size, GError **error)
{
  g_return_val_if_fail (GST_IS_VKGDR_ALLOCATOR (allocator), NULL);

  if (!check_size (size, error)
      || !gst_vkgdr_allocator_ensure_open (allocator, error))
    return NULL;
  return gst_vkgdr_pinned_memory_new (allocator->blocks, size, error);
}

GstVkgdrStream *
gst_vkgdr_allocator_get_copy_stream (
    GstVkgdrAllocator *self, GstVkgdrDirection direction, GError **error)
{
  if (!gst_vkgdr_allocator_ensure_open (self, error))
    return NULL;
  return gst_vkgdr_blocks_get_stream (self->blocks, direction, error);
}

/* --- statistics ----------------------------------------------------------- */

static GstVkgdrSlabsStats
get_stats (GstVkgdrAllocator *self)
{
  static const GstVkgdrSlabsStats none = { 0 };
  GstVkgdrBlocks *blocks = g_atomic_pointer_get (&self->blocks);

  return blocks ? gst_vkgdr_blocks_get_stats (blocks) : none;
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
 * Returns: the size in bytes of all its device memory, used or not
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
 * gst_vkgdr_allocator_free_held:
 * @allocator: an allocator
 *
 * Gives unused device memory and unused pinned memory back to the driver. This
 * is done in another thread when the device is idle.
 *
 * Since: 0.1
 */
void
gst_vkgdr_allocator_free_held (GstVkgdrAllocator *allocator)
{
  GstVkgdrBlocks *blocks;

  g_return_if_fail (GST_IS_VKGDR_ALLOCATOR (allocator));

  blocks = g_atomic_pointer_get (&allocator->blocks);
  if (blocks)
    gst_vkgdr_blocks_trim (blocks);
}
