/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * memory/memory.c: a memory with a host and a device pointer
 *
 * A memory has a device pointer, a host pointer if its backing has one, and a
 * staging buffer in pinned host memory if the CPU needs one. Mappings are in
 * memory/map.c, the order of accesses in sync/order.c, and the block comes from
 * memory/blocks.c.
 */

#include <string.h>

#include "memory/memory.h"

/**
 * SECTION:gstvkgdrmemory
 * @title: VkgdrMemory
 * @short_description: memory with a host and a device pointer
 *
 * Memory of a device. If it is in the window, the part of GPU memory that the
 * CPU can address, the CPU writes to it as fast as to RAM, and CUDA uses it
 * without a copy.
 *
 * The result of gst_memory_map() depends on the flags:
 *
 * - `GST_MAP_WRITE`: a pointer into the window. With %GST_VKGDR_ACCESS_STAGED,
 *   and for device-only memory, a staging buffer in pinned host memory, which
 *   is transferred to the device on unmap. Bytes that are not written keep
 *   their content.
 * - `GST_MAP_READ`, `GST_MAP_READWRITE`: host memory with the content, fetched
 *   by DMA if the content on the device is newer. The CPU never reads through
 *   the window, unless the window is host-cached.
 * - %GST_MAP_VKGDR with one of the above: the device pointer. The CPU waits
 *   until the content is on the device. Work that uses the pointer may still be
 *   pending after the unmap: the next user waits for all work that the CUDA
 *   context has queued at the unmap. If the driver is older than CUDA 12.5, the
 *   unmap itself waits for it. Code that has a stream should use
 *   gst_vkgdr_memory_begin_access() instead.
 *
 * A memory that a #GstVkgdrBufferPool has just handed out has undefined
 * content, so mapping it READWRITE fetches nothing.
 *
 * All functions may be called from any thread. As with any GstMemory, a thread
 * must not write to a memory while another thread uses it.
 */

GST_DEBUG_CATEGORY (gst_vkgdr_memory_debug);
#define GST_CAT_DEFAULT gst_vkgdr_memory_debug

/* This library's memory is identified by the address of this name. The
 * comparison is done for every buffer, and is faster than a check of a type. */
static const gchar memory_type[] = GST_VKGDR_MEMORY_NAME;

GstVkgdrMemory *
gst_vkgdr_memory_root (GstMemory *mem)
{
  return (GstVkgdrMemory *) gst_vkgdr_share_root (mem);
}

/* Without a host pointer, every writer is staged. */
static GstVkgdrAccess
possible_access (const GstVkgdrBlock *block, GstVkgdrAccess access)
{
  return block->host ? access : GST_VKGDR_ACCESS_STAGED;
}

GstMemory *
gst_vkgdr_memory_new (GstAllocator *allocator, GstVkgdrBlocks *blocks,
    const GstVkgdrBlock *block, gsize maxsize, gsize align, gsize offset,
    gsize size)
{
  GstVkgdrMemory *self = g_new0 (GstVkgdrMemory, 1);

  gst_memory_init (
      GST_MEMORY_CAST (self), 0, allocator, NULL, maxsize, align, offset, size);
  self->blocks = blocks;
  self->block = *block;
  g_mutex_init (&self->lock);
  self->access = possible_access (block, GST_VKGDR_ACCESS_DIRECT);
  self->host_cached =
      block->host && gst_vkgdr_context_is_host_cached (blocks->context);
  self->order.context = blocks->context;
  return GST_MEMORY_CAST (self);
}

GstVkgdrMemory *
gst_vkgdr_memory_new_of_allocation (GstAllocator *allocator,
    GstVkgdrBlocks *blocks, GstVkgdrAllocation *allocation, gsize offset,
    gsize size)
{
  GstVkgdrBlock block = { .allocation = allocation,
    .offset = offset,
    .size = size,
    .host = allocation->host ? allocation->host + offset : NULL,
    .device = allocation->device + offset };
  GstVkgdrMemory *self = (GstVkgdrMemory *) gst_vkgdr_memory_new (
      allocator, blocks, &block, size, 0, 0, size);

  self->device_valid = TRUE;
  return self;
}

/* --- GstAllocator ----------------------------------------------------------
 */

static GstMemory *
gst_vkgdr_memory_share (GstMemory *mem, gssize offset, gssize size)
{
  GstMemory *part = GST_MEMORY_CAST (g_new0 (GstVkgdrMemory, 1));

  gst_vkgdr_share_init (part, mem, offset, size);
  return part;
}

void
gst_vkgdr_memory_init_allocator (GstAllocator *allocator)
{
  static gsize done = 0;

  if (g_once_init_enter (&done)) {
    GST_DEBUG_CATEGORY_INIT (
        gst_vkgdr_memory_debug, "vkgdrmemory", 0, "vkgdr memory");
    g_once_init_leave (&done, 1);
  }
  allocator->mem_type = memory_type;
  allocator->mem_share = gst_vkgdr_memory_share;
  allocator->mem_is_span = gst_vkgdr_share_is_span;
}

void
gst_vkgdr_memory_free (GstAllocator *allocator, GstMemory *mem)
{
  GstVkgdrMemory *self = (GstVkgdrMemory *) mem;
  GstVkgdrRemains remains = { .block = self->block,
    .cuda_wrappers = self->cuda_wrappers };
  GstVkgdrRemains staging = { .block = self->staging };

  if (!mem->parent) {
    remains.fences = gst_vkgdr_order_finish (&self->order);
    if (remains.fences)
      staging.fences = g_ptr_array_ref (remains.fences);
    g_clear_pointer (&self->fetch, gst_vkgdr_fence_unref);
    gst_vkgdr_policy_turn_clear (&self->turn);
    if (staging.block.host)
      gst_vkgdr_blocks_retire (self->blocks, &staging);
    else
      g_clear_pointer (&staging.fences, g_ptr_array_unref);
    gst_vkgdr_blocks_retire (self->blocks, &remains);
    g_mutex_clear (&self->lock);
  }
  g_free (self);
}

/* --- for other files -------------------------------------------------------
 */

gboolean
gst_vkgdr_memory_wait_locked (
    GstVkgdrMemory *self, GstMapFlags flags, GError **error)
{
  return gst_vkgdr_order_wait (&self->order, &self->lock, flags, error);
}

gboolean
gst_vkgdr_memory_settle_locked (GstVkgdrMemory *self, GError **error)
{
  return gst_vkgdr_order_settle (&self->order, &self->lock, error);
}

void
gst_vkgdr_memory_set_on_device_locked (GstVkgdrMemory *self)
{
  self->device_valid = TRUE;
  self->staging_valid = FALSE;
}

gboolean
gst_vkgdr_memory_take_staging_locked (
    GstVkgdrMemory *self, GstVkgdrRemains *remains)
{
  if (!self->staging.host || self->cpu_maps > 0 || self->fetch
      || self->order.lost || !self->turn.policy)
    return FALSE;
  *remains = (GstVkgdrRemains){ .block = self->staging };
  if (self->order.written)
    remains->fences =
        gst_vkgdr_fences_add (NULL, gst_vkgdr_fence_ref (self->order.written));
  self->staging = (GstVkgdrBlock){ NULL };
  self->staging_valid = FALSE;
  return TRUE;
}

void
gst_vkgdr_memory_begin_turn (
    GstMemory *mem, GstVkgdrPolicy *policy, GstClockTime waited)
{
  GstVkgdrMemory *self = gst_vkgdr_memory_root (mem);

  g_mutex_lock (&self->lock);
  gst_vkgdr_policy_turn_begin (&self->turn, policy, waited);
  g_mutex_unlock (&self->lock);
}

void
gst_vkgdr_memory_choose_access_locked (GstVkgdrMemory *self, GstClockTime now)
{
  if (self->turn.policy)
    self->access =
        gst_vkgdr_policy_turn_map (&self->turn, self->block.host != NULL, now);
}

void
gst_vkgdr_memory_set_shared (GstMemory *mem)
{
  GstVkgdrMemory *self = gst_vkgdr_memory_root (mem);

  g_mutex_lock (&self->lock);
  self->is_shared = TRUE;
  self->device_valid = TRUE;
  g_mutex_unlock (&self->lock);
}

void
gst_vkgdr_memory_set_fence (GstMemory *mem, GstVkgdrFence *fence)
{
  GstVkgdrMemory *self = gst_vkgdr_memory_root (mem);

  g_mutex_lock (&self->lock);
  gst_vkgdr_order_set (&self->order, fence);
  g_mutex_unlock (&self->lock);
}

gboolean
gst_vkgdr_memory_make_wait (
    GstMemory *mem, CUstream stream, GstMapFlags flags, GError **error)
{
  GstVkgdrMemory *self = gst_vkgdr_memory_root (mem);
  gboolean ok;

  g_mutex_lock (&self->lock);
  ok = gst_vkgdr_memory_settle_locked (self, error)
       && gst_vkgdr_order_make_wait (
           &self->order, self->order.context, stream, NULL, flags, error);
  g_mutex_unlock (&self->lock);
  return ok;
}

void
gst_vkgdr_memory_forget_accesses (GstMemory *mem)
{
  GstVkgdrMemory *self = gst_vkgdr_memory_root (mem);

  g_mutex_lock (&self->lock);
  if (!self->staging.host && GST_MINI_OBJECT_REFCOUNT_VALUE (mem) == 1)
    gst_vkgdr_order_set (&self->order, NULL);
  g_mutex_unlock (&self->lock);
}

/* If the wait fails, the next user waits again, and gets the error. */
void
gst_vkgdr_memory_mark_unknown_stream (GstMemory *mem, GstMapFlags flags)
{
  GstVkgdrMemory *self = gst_vkgdr_memory_root (mem);
  GstVkgdrContext *context = self->order.context;
  GstVkgdrFence *fence = gst_vkgdr_fence_new_on_all (context);

  if (!fence && gst_vkgdr_context_synchronize (context, NULL))
    return;
  g_mutex_lock (&self->lock);
  gst_vkgdr_order_mark (&self->order, fence, flags);
  g_mutex_unlock (&self->lock);
}

/* Marks an access that is ordered by @fence (nullable). */
static void
mark (GstVkgdrMemory *self, GstVkgdrFence *fence, GstMapFlags flags)
{
  g_mutex_lock (&self->lock);
  gst_vkgdr_order_mark (
      &self->order, fence ? gst_vkgdr_fence_ref (fence) : NULL, flags);
  if (flags & GST_MAP_WRITE)
    gst_vkgdr_memory_set_on_device_locked (self);
  g_mutex_unlock (&self->lock);
}

gboolean
gst_vkgdr_task_use_memory (
    GstVkgdrTask *task, GstMemory *mem, GstMapFlags flags, GError **error)
{
  GstVkgdrMemory *self = gst_vkgdr_memory_root (mem);

  return gst_vkgdr_task_use (task, &self->order, &self->lock, flags, error);
}

void
gst_vkgdr_memory_set_on_device (GstMemory *mem)
{
  GstVkgdrMemory *self = gst_vkgdr_memory_root (mem);

  g_mutex_lock (&self->lock);
  gst_vkgdr_memory_set_on_device_locked (self);
  g_mutex_unlock (&self->lock);
}

void
gst_vkgdr_memory_discard (GstMemory *mem)
{
  GstVkgdrMemory *self = gst_vkgdr_memory_root (mem);
  GstVkgdrRemains staging;
  gboolean is_taken;

  g_mutex_lock (&self->lock);
  is_taken = gst_vkgdr_memory_take_staging_locked (self, &staging);
  self->device_valid = FALSE;
  self->staging_valid = FALSE;
  self->keeps_staging = FALSE;
  self->written = GST_VKGDR_ACCESS_AUTO;
  self->map_time = 0;
  self->wait_time = 0;
  g_clear_error (&self->order.lost);
  g_mutex_unlock (&self->lock);
  if (is_taken)
    gst_vkgdr_blocks_retire (self->blocks, &staging);
}

GstMemory *
gst_vkgdr_memory_take_cuda_wrapper (
    GstMemory *mem, GCompareFunc compare, gconstpointer wanted)
{
  GstVkgdrMemory *self = gst_vkgdr_memory_root (mem);
  GstMemory *wrapper = NULL;
  GSList *link;

  g_mutex_lock (&self->lock);
  link = g_slist_find_custom (self->cuda_wrappers, wanted, compare);
  if (link) {
    wrapper = link->data;
    self->cuda_wrappers = g_slist_delete_link (self->cuda_wrappers, link);
  }
  g_mutex_unlock (&self->lock);
  return wrapper;
}

void
gst_vkgdr_memory_give_cuda_wrapper (GstMemory *mem, GstMemory *wrapper)
{
  GstVkgdrMemory *self = gst_vkgdr_memory_root (mem);

  g_mutex_lock (&self->lock);
  self->cuda_wrappers = g_slist_prepend (self->cuda_wrappers, wrapper);
  g_mutex_unlock (&self->lock);
}

/* --- public ----------------------------------------------------------------
 */

GType
gst_vkgdr_access_get_type (void)
{
  static gsize type = 0;
  static const GEnumValue values[] = {
    { GST_VKGDR_ACCESS_AUTO,
        "Direct for writers that only write, staged for others", "auto" },
    { GST_VKGDR_ACCESS_DIRECT, "Writers get a pointer into the window",
        "direct" },
    { GST_VKGDR_ACCESS_STAGED,
        "Writers get a pinned staging buffer, sent by DMA on unmap", "staged" },
    { 0, NULL, NULL },
  };

  if (g_once_init_enter (&type))
    g_once_init_leave (
        &type, g_enum_register_static ("GstVkgdrAccess", values));
  return type;
}

/**
 * gst_is_vkgdr_memory:
 * @memory: a memory
 *
 * Thread-safe.
 *
 * Returns: whether it is of type %GST_VKGDR_MEMORY_NAME
 *
 * Since: 0.1
 */
gboolean
gst_is_vkgdr_memory (GstMemory *memory)
{
  return memory && memory->allocator
         && memory->allocator->mem_type == memory_type;
}

/**
 * gst_is_vkgdr_memory_of:
 * @memory: (nullable): a memory of any type
 * @context: a context
 *
 * Thread-safe.
 *
 * Returns: whether it is of type %GST_VKGDR_MEMORY_NAME and belongs to the CUDA
 *   context of @context, so that streams of @context can use it
 *
 * Since: 0.3
 */
gboolean
gst_is_vkgdr_memory_of (GstMemory *memory, GstVkgdrContext *context)
{
  GstVkgdrContext *own;

  if (!gst_is_vkgdr_memory (memory))
    return FALSE;
  own = gst_vkgdr_memory_root (memory)->blocks->context;
  return own == context || gst_vkgdr_context_shares (own, context);
}

gboolean
gst_vkgdr_memory_check (
    GstMemory *memory, GstVkgdrContext *context, GError **error)
{
  if (gst_is_vkgdr_memory_of (memory, context))
    return TRUE;
  if (gst_is_vkgdr_memory (memory))
    g_set_error_literal (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_ARGUMENT,
        "the memory belongs to another CUDA context");
  else
    g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_ARGUMENT,
        "memory of type %s has no device pointer: put vkgdrupload before it",
        memory->allocator ? memory->allocator->mem_type : "(none)");
  return FALSE;
}

/**
 * gst_vkgdr_memory_get_context:
 * @memory: a memory of this type
 *
 * Thread-safe.
 *
 * Returns: (transfer none): the context of its allocator
 *
 * Since: 0.1
 */
GstVkgdrContext *
gst_vkgdr_memory_get_context (GstMemory *memory)
{
  g_return_val_if_fail (gst_is_vkgdr_memory (memory), NULL);

  return gst_vkgdr_memory_root (memory)->blocks->context;
}

/**
 * gst_vkgdr_memory_get_device_pointer:
 * @memory: a memory of this type
 *
 * The `CUdeviceptr` of the memory's first byte. To use it, order a stream with
 * gst_vkgdr_memory_begin_access(), or map the memory with %GST_MAP_VKGDR.
 *
 * Thread-safe.
 *
 * Returns: the device pointer, valid as long as @memory
 *
 * Since: 0.1
 */
guint64
gst_vkgdr_memory_get_device_pointer (GstMemory *memory)
{
  g_return_val_if_fail (gst_is_vkgdr_memory (memory), 0);

  return gst_vkgdr_memory_root (memory)->block.device + memory->offset;
}

/**
 * gst_vkgdr_memory_get_host_pointer:
 * @memory: a memory of this type
 *
 * Returns the pointer into the window at the memory's first byte. Accesses
 * through it are neither ordered nor flushed.
 *
 * Thread-safe.
 *
 * Returns: (transfer none) (nullable): the pointer, valid as long as @memory,
 *   or %NULL if the CPU cannot address the memory
 *
 * Since: 0.1
 */
gpointer
gst_vkgdr_memory_get_host_pointer (GstMemory *memory)
{
  guint8 *host;

  g_return_val_if_fail (gst_is_vkgdr_memory (memory), NULL);

  host = gst_vkgdr_memory_root (memory)->block.host;
  return host ? host + memory->offset : NULL;
}

/**
 * gst_vkgdr_memory_set_access:
 * @memory: a memory of this type
 * @access: the access mode of writers from the next mapping on;
 *   %GST_VKGDR_ACCESS_AUTO is for pools, and counts as direct
 *
 * Sets the access mode of writers. Device-only memory stays staged. For buffers
 * of a pool, the pool sets the mode again when the buffer is mapped.
 *
 * Thread-safe.
 *
 * Since: 0.1
 */
void
gst_vkgdr_memory_set_access (GstMemory *memory, GstVkgdrAccess access)
{
  GstVkgdrMemory *self;

  g_return_if_fail (gst_is_vkgdr_memory (memory));

  if (access == GST_VKGDR_ACCESS_AUTO)
    access = GST_VKGDR_ACCESS_DIRECT;
  self = gst_vkgdr_memory_root (memory);
  g_mutex_lock (&self->lock);
  self->access = possible_access (&self->block, access);
  g_mutex_unlock (&self->lock);
}

/**
 * gst_vkgdr_memory_begin_access:
 * @memory: a memory of this type
 * @stream: a stream of its context
 * @flags: %GST_MAP_READ, %GST_MAP_WRITE or both
 * @error: return location for a #GError
 *
 * Makes @stream wait, before work that is queued later, until the memory's
 * device pointer may be used: until the content is on the device and, for
 * writing, until all readers are done. The CPU does not wait, unless the driver
 * is older than CUDA 12.5 and the memory was wrapped and not used yet.
 * After queueing its work, the caller must call gst_vkgdr_memory_end_access()
 * with the same arguments.
 *
 * Thread-safe. But the accesses of two threads to one memory are ordered only
 * if one of them has called gst_vkgdr_memory_end_access() before the other one
 * calls this function. If one of them writes, they have to ensure this.
 *
 * Returns: %FALSE with @error set on failure
 *
 * Since: 0.1
 */
gboolean
gst_vkgdr_memory_begin_access (GstMemory *memory, GstVkgdrStream *stream,
    GstMapFlags flags, GError **error)
{
  GstVkgdrMemory *self;
  gboolean ok;

  g_return_val_if_fail (gst_is_vkgdr_memory (memory), FALSE);
  g_return_val_if_fail (GST_IS_VKGDR_STREAM (stream), FALSE);

  self = gst_vkgdr_memory_root (memory);
  g_mutex_lock (&self->lock);
  ok = gst_vkgdr_memory_settle_locked (self, error)
       && gst_vkgdr_order_make_wait (&self->order,
           gst_vkgdr_stream_get_context (stream),
           gst_vkgdr_stream_peek_handle (stream), stream, flags, error);
  g_mutex_unlock (&self->lock);
  return ok;
}

/**
 * gst_vkgdr_memory_end_access:
 * @memory: a memory of this type
 * @stream: the stream
 * @flags: the flags of gst_vkgdr_memory_begin_access()
 * @error: return location for a #GError
 *
 * Marks the end of an access: the next reader or writer of the memory waits for
 * the work that @stream has queued so far.
 *
 * Thread-safe.
 *
 * Returns: %FALSE with @error set on failure; then the next user waits for the
 *   whole CUDA context
 *
 * Since: 0.1
 */
gboolean
gst_vkgdr_memory_end_access (GstMemory *memory, GstVkgdrStream *stream,
    GstMapFlags flags, GError **error)
{
  GstVkgdrFence *fence;

  g_return_val_if_fail (gst_is_vkgdr_memory (memory), FALSE);
  g_return_val_if_fail (GST_IS_VKGDR_STREAM (stream), FALSE);

  fence = gst_vkgdr_stream_record (stream, error);
  mark (gst_vkgdr_memory_root (memory), fence, flags);
  if (!fence)
    return FALSE;
  gst_vkgdr_fence_unref (fence);
  return TRUE;
}

/**
 * gst_vkgdr_memory_get_write_times:
 * @memory: a memory of this type
 * @map_time: (out) (optional): nanoseconds for which it was mapped for writing
 * @wait_time: (out) (optional): nanoseconds that mapping it waited
 *
 * Reports how the CPU wrote to the memory since its content was last undefined.
 *
 * Thread-safe.
 *
 * Returns: %GST_VKGDR_ACCESS_DIRECT or %GST_VKGDR_ACCESS_STAGED, the mode of
 *   the last mapping; %GST_VKGDR_ACCESS_AUTO if the CPU did not write
 *
 * Since: 0.1
 */
GstVkgdrAccess
gst_vkgdr_memory_get_write_times (
    GstMemory *memory, GstClockTime *map_time, GstClockTime *wait_time)
{
  GstVkgdrAccess written;
  GstVkgdrMemory *self;

  g_return_val_if_fail (gst_is_vkgdr_memory (memory), GST_VKGDR_ACCESS_AUTO);

  self = gst_vkgdr_memory_root (memory);
  g_mutex_lock (&self->lock);
  written = self->written;
  if (map_time)
    *map_time = self->map_time;
  if (wait_time)
    *wait_time = self->wait_time;
  g_mutex_unlock (&self->lock);
  return written;
}

gboolean
gst_vkgdr_memory_check_idle (GstMemory *memory, GstVkgdrFence **pending)
{
  GstVkgdrMemory *self = gst_vkgdr_memory_root (memory);
  gboolean is_idle;

  g_mutex_lock (&self->lock);
  is_idle = gst_vkgdr_order_is_idle (&self->order, pending);
  g_mutex_unlock (&self->lock);
  return is_idle;
}

/**
 * gst_vkgdr_memory_is_idle:
 * @memory: a memory of this type
 *
 * Thread-safe.
 *
 * Returns: whether all accesses of the device are known to have ended
 *
 * Since: 0.1
 */
gboolean
gst_vkgdr_memory_is_idle (GstMemory *memory)
{
  GstVkgdrFence *pending = NULL;
  gboolean is_idle;

  g_return_val_if_fail (gst_is_vkgdr_memory (memory), TRUE);

  is_idle = gst_vkgdr_memory_check_idle (memory, &pending);
  g_clear_pointer (&pending, gst_vkgdr_fence_unref);
  return is_idle;
}

/**
 * gst_vkgdr_memory_wait_idle:
 * @memory: a memory of this type
 * @error: return location for a #GError
 *
 * Waits on the CPU until the device has finished with the memory.
 *
 * Thread-safe.
 *
 * Returns: %FALSE with @error set if the work, or the wait, failed
 *
 * Since: 0.1
 */
gboolean
gst_vkgdr_memory_wait_idle (GstMemory *memory, GError **error)
{
  GstVkgdrMemory *self;
  gboolean ok;

  g_return_val_if_fail (gst_is_vkgdr_memory (memory), FALSE);

  self = gst_vkgdr_memory_root (memory);
  g_mutex_lock (&self->lock);
  ok = gst_vkgdr_memory_wait_locked (self, GST_MAP_READWRITE, error);
  g_mutex_unlock (&self->lock);
  return ok;
}

/**
 * gst_vkgdr_memory_is_written:
 * @memory: a memory of this type
 *
 * Does not block. May be called from any thread.
 *
 * Returns: whether the content is on the device, so that another process may
 *   read it
 *
 * Since: 0.2
 */
gboolean
gst_vkgdr_memory_is_written (GstMemory *memory)
{
  GstVkgdrMemory *self;
  gboolean is_written;

  g_return_val_if_fail (gst_is_vkgdr_memory (memory), TRUE);

  self = gst_vkgdr_memory_root (memory);
  g_mutex_lock (&self->lock);
  is_written = gst_vkgdr_order_is_written (&self->order);
  g_mutex_unlock (&self->lock);
  return is_written;
}

/**
 * gst_vkgdr_memory_wait_written:
 * @memory: a memory of this type
 * @error: return location for a #GError
 *
 * Waits on the CPU until the content is on the device. Unlike
 * gst_vkgdr_memory_wait_idle(), it does not wait for readers of the memory. May
 * be called from any thread.
 *
 * Returns: %FALSE with @error set if the content did not reach the device, or
 *   the wait failed
 *
 * Since: 0.2
 */
gboolean
gst_vkgdr_memory_wait_written (GstMemory *memory, GError **error)
{
  GstVkgdrMemory *self;
  gboolean ok;

  g_return_val_if_fail (gst_is_vkgdr_memory (memory), FALSE);

  self = gst_vkgdr_memory_root (memory);
  g_mutex_lock (&self->lock);
  ok = gst_vkgdr_memory_wait_locked (self, GST_MAP_READ, error);
  g_mutex_unlock (&self->lock);
  return ok;
}
