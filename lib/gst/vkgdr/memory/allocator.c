/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * memory/allocator.c: allocates memories
 *
 * The allocator consists of these files: blocks.c allocates and recycles
 * blocks, allocatorwrap.c wraps memory of other libraries, and
 * allocatorfigures.c has the statistics. The functions of a memory are in
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
 * Small memories share allocations of the driver, so that they are cheap and do
 * not take a file descriptor each. Freed memory is held for later allocations.
 * It goes back to the driver after some seconds without use, or when
 * gst_vkgdr_allocator_free_held() is called. The statistics are those of
 * PyCUDA's `DeviceMemoryPool`.
 *
 * After gst_vkgdr_init(), gst_allocator_find() returns an allocator of the
 * default device for the name %GST_VKGDR_MEMORY_NAME.
 *
 * All functions may be called from any thread.
 *
 * Since: 0.1
 */

GST_DEBUG_CATEGORY (gst_vkgdr_allocator_debug);
#define GST_CAT_DEFAULT gst_vkgdr_allocator_debug

G_DEFINE_TYPE_WITH_CODE (GstVkgdrAllocator, gst_vkgdr_allocator,
    GST_TYPE_ALLOCATOR,
    GST_DEBUG_CATEGORY_INIT (
        gst_vkgdr_allocator_debug, "vkgdrallocator", 0, "vkgdr allocators"))

static GPrivate current_demand; /* GstVkgdrDemand of this thread, or NULL */

gconstpointer
gst_vkgdr_allocator_new_owner (void)
{
  static gsize last = 0;

  return (gconstpointer) (g_atomic_pointer_add (&last, 1) + 1);
}

void
gst_vkgdr_allocator_set_demand (const GstVkgdrDemand *demand)
{
  g_private_set (&current_demand, (gpointer) demand);
}

/* Must be called without the lock, because opening takes long and other threads
 * need the lock. Two threads may open the device at the same time; one result
 * is kept. */
gboolean
gst_vkgdr_allocator_ensure_open (GstVkgdrAllocator *self, GError **error)
{
  GstVkgdrContext *context;

  if (g_atomic_pointer_get (&self->heap))
    return TRUE;
  g_mutex_lock (&self->lock);
  context = self->context ? gst_object_ref (self->context) : NULL;
  g_mutex_unlock (&self->lock);
  if (!context)
    context = gst_vkgdr_context_new (-1, error);
  if (!context)
    return FALSE;

  g_mutex_lock (&self->lock);
  if (!self->heap) {
    if (!self->context)
      self->context = gst_object_ref (context);
    self->pinned = gst_vkgdr_pinned_new (self->context);
    g_atomic_pointer_set (&self->heap, gst_vkgdr_heap_new ());
  }
  g_mutex_unlock (&self->lock);
  gst_object_unref (context);
  return TRUE;
}

static GstMemory *
alloc_in_heap (GstVkgdrAllocator *self, const GstVkgdrDemand *demand,
    gsize maxsize, gsize align, gsize offset, gsize size, GError **error)
{
  static const GstVkgdrDemand no_owner = { NULL, 1 };
  GstVkgdrBlock block;

  if (!gst_vkgdr_allocator_take_block (
          self, maxsize, demand ? demand : &no_owner, &block, error))
    return NULL;
  return gst_vkgdr_memory_new (self, &block, maxsize, align, offset, size);
}

static GstMemory *
alloc_memory (GstVkgdrAllocator *self, gsize size, gsize align, gsize prefix,
    gsize padding, GError **error)
{
  const GstVkgdrDemand *demand = g_private_get (&current_demand);
  GstVkgdrMemory *spare;
  gsize maxsize;

  if (align >= GST_VKGDR_HEAP_GRANULE) {
    g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_ARGUMENT,
        "%" G_GSIZE_FORMAT " bytes aligned to %" G_GSIZE_FORMAT
        " cannot be allocated: blocks are aligned to %d bytes",
        size, align + 1, GST_VKGDR_HEAP_GRANULE);
    return NULL;
  }
  if (!g_size_checked_add (&maxsize, size, prefix)
      || !g_size_checked_add (&maxsize, maxsize, padding))
    maxsize = G_MAXSIZE;
  if (!gst_vkgdr_allocator_check_size (maxsize, error))
    return NULL;
  if (!gst_vkgdr_allocator_ensure_open (self, error))
    return NULL;
  spare = demand ? NULL : gst_vkgdr_allocator_take_spare (self, maxsize);
  if (spare)
    return gst_vkgdr_memory_init (spare, self, maxsize, align, prefix, size);
  return alloc_in_heap (self, demand, maxsize, align, prefix, size, error);
}

/* Queues the clearing of bytes of a new memory that has no host pointer. */
static gboolean
clear_on_device (GstVkgdrAllocator *self, GstVkgdrMemory *mem, gsize offset,
    gsize size, GError **error)
{
  GstVkgdrStream *stream =
      gst_vkgdr_allocator_get_copy_stream (self, GST_VKGDR_UPLOAD, error);
  const vkgdr_cuda *cuda;
  GstVkgdrFence *fence;
  gboolean ok;

  if (!stream || !gst_vkgdr_context_push (self->context, error))
    return FALSE;
  cuda = gst_vkgdr_context_get_driver (self->context);
  ok = gst_vkgdr_check (cuda,
      cuda->cuMemsetD8Async (mem->block.device + offset, 0, size,
          gst_vkgdr_stream_get_handle (stream)),
      "cuMemsetD8Async", error);
  gst_vkgdr_context_pop (self->context);
  if (!ok)
    return FALSE;
  fence = gst_vkgdr_stream_record (stream, error);
  gst_vkgdr_order_mark (&mem->order, fence, GST_MAP_WRITE);
  return fence != NULL;
}

/* Clears bytes of a new memory. */
static gboolean
clear (GstVkgdrAllocator *self, GstVkgdrMemory *mem, gsize offset, gsize size,
    GError **error)
{
  const GstVkgdrBlock *block = &mem->block;

  mem->device_valid = TRUE;
  if (!block->host)
    return clear_on_device (self, mem, offset, size, error);
  memset (block->host + offset, 0, size);
  return gst_vkgdr_block_flush (block, offset, size, error);
}

/* Clears the prefix and the padding, if the caller requested it. */
static gboolean
clear_around (GstVkgdrAllocator *self, GstVkgdrMemory *memory,
    const GstAllocationParams *params, GError **error)
{
  const GstMemory *mem = &memory->mem;
  gsize end = mem->offset + mem->size;

  if (mem->offset > 0 && (params->flags & GST_MEMORY_FLAG_ZERO_PREFIXED)
      && !clear (self, memory, 0, mem->offset, error))
    return FALSE;
  return mem->maxsize == end || !(params->flags & GST_MEMORY_FLAG_ZERO_PADDED)
         || clear (self, memory, end, mem->maxsize - end, error);
}

GstMemory *
gst_vkgdr_allocator_alloc_with_params (GstVkgdrAllocator *self, gsize size,
    const GstAllocationParams *params, GError **error)
{
  GstMemory *mem = alloc_memory (
      self, size, params->align, params->prefix, params->padding, error);

  if (mem && !clear_around (self, (GstVkgdrMemory *) mem, params, error))
    g_clear_pointer (&mem, gst_memory_unref);
  if (mem)
    GST_MINI_OBJECT_FLAG_SET (mem, params->flags);
  return mem;
}

static GstMemory *
gst_vkgdr_allocator_alloc_vfunc (
    GstAllocator *allocator, gsize size, GstAllocationParams *params)
{
  GError *error = NULL;
  GstMemory *mem = gst_vkgdr_allocator_alloc_with_params (
      GST_VKGDR_ALLOCATOR (allocator), size, params, &error);

  if (!mem) {
    GST_ERROR_OBJECT (allocator, "%s", error->message);
    g_clear_error (&error);
  }
  return mem;
}

static void
gst_vkgdr_allocator_finalize (GObject *object)
{
  GstVkgdrAllocator *self = GST_VKGDR_ALLOCATOR (object);
  guint i;

  if (self->heap)
    gst_vkgdr_allocator_close (self);
  for (i = 0; i < G_N_ELEMENTS (self->copy_streams); i++)
    gst_clear_object (&self->copy_streams[i]);
  gst_clear_object (&self->context);
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
  g_mutex_init (&self->lock);
  g_queue_init (&self->retired);
  g_queue_init (&self->lost);
  gst_vkgdr_memory_init_allocator (GST_ALLOCATOR (self));
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

/**
 * gst_vkgdr_context_get_allocator:
 * @context: a context
 *
 * Returns the allocator that all elements of the context share, so that they
 * recycle each other's memory.
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

  return alloc_memory (allocator, size, 0, 0, 0, error);
}

/**
 * gst_vkgdr_allocator_alloc_exportable:
 * @allocator: an allocator
 * @size: bytes
 * @error: return location for a #GError
 *
 * Allocates memory like gst_vkgdr_allocator_alloc(), but never in an allocation
 * of the driver that is shared with other memory. So
 * gst_vkgdr_memory_export_fd() can export it, unless it is device-only memory,
 * because there is no window or the window is full. Large memories never share
 * an allocation. A small memory takes more memory of the device than with
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
  const GstVkgdrDemand demand = { gst_vkgdr_allocator_new_owner (), 1 };
  GstMemory *memory;

  g_return_val_if_fail (GST_IS_VKGDR_ALLOCATOR (allocator), NULL);

  gst_vkgdr_allocator_set_demand (&demand);
  memory = alloc_memory (allocator, size, 0, 0, 0, error);
  gst_vkgdr_allocator_set_demand (NULL);
  return memory;
}

/**
 * gst_vkgdr_allocator_alloc_device_only:
 * @allocator: an allocator
 * @size: bytes
 * @error: return location for a #GError
 *
 * Allocates device-only memory, which the CPU cannot address, like CUDA's own
 * `cuMemAlloc`. Use it for data that stays on the device, so that frames can
 * use a small window, and for gst_vkgdr_memory_export_ipc_handle(). The CPU
 * reads and writes it through a staging buffer and a transfer. Its content is
 * undefined, and it is aligned to 512 bytes.
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
  const GstVkgdrDemand demand = { NULL, 1 };
  GstVkgdrBlock block;

  g_return_val_if_fail (GST_IS_VKGDR_ALLOCATOR (allocator), NULL);

  if (!gst_vkgdr_allocator_check_size (size, error)
      || !gst_vkgdr_allocator_ensure_open (allocator, error))
    return NULL;
  gst_vkgdr_allocator_reap (allocator);
  if (!gst_vkgdr_allocator_take_device_only (
          allocator, size, &demand, &block, error))
    return NULL;
  return gst_vkgdr_memory_new (allocator, &block, size, 0, 0, size);
}

/**
 * gst_vkgdr_allocator_alloc_pinned:
 * @allocator: an allocator
 * @size: bytes
 * @error: return location for a #GError
 *
 * Allocates pinned host memory, for DMA at full speed. It is recycled when the
 * memory is freed. Mapping it waits for pending transfers of
 * gst_vkgdr_memory_fetch().
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

  if (!gst_vkgdr_allocator_check_size (size, error)
      || !gst_vkgdr_allocator_ensure_open (allocator, error))
    return NULL;
  return gst_vkgdr_pinned_memory_new (allocator->pinned, size, error);
}

GstVkgdrContext *
gst_vkgdr_allocator_ensure_context (
    GstVkgdrAllocator *allocator, GError **error)
{
  return gst_vkgdr_allocator_ensure_open (allocator, error)
             ? gst_object_ref (allocator->context)
             : NULL;
}

GstVkgdrStream *
gst_vkgdr_allocator_get_copy_stream (
    GstVkgdrAllocator *self, GstVkgdrDirection direction, GError **error)
{
  GstVkgdrStream *stream, *made;

  g_mutex_lock (&self->lock);
  stream = self->copy_streams[direction];
  g_mutex_unlock (&self->lock);
  if (stream)
    return stream;
  made = gst_vkgdr_stream_new (self->context, error);
  if (!made)
    return NULL;
  g_mutex_lock (&self->lock);
  if (!self->copy_streams[direction])
    self->copy_streams[direction] = g_steal_pointer (&made);
  stream = self->copy_streams[direction];
  g_mutex_unlock (&self->lock);
  gst_clear_object (&made); /* another thread has made one in the meantime */
  return stream;
}

GstVkgdrPinned *
gst_vkgdr_allocator_get_pinned (GstVkgdrAllocator *self)
{
  return self->pinned;
}

GstVkgdrContext *
gst_vkgdr_allocator_get_context (GstVkgdrAllocator *self)
{
  return self->context;
}
