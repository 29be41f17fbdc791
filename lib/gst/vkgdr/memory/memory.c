/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * memory/memory.c: a memory with a host and a device pointer
 *
 * A memory has a pointer into the window, a device pointer, and, where the CPU
 * reads, a shadow in pinned host memory. What a mapping gives of them is said
 * in memory/map.c, who has to wait for whom in sync/order.c, and
 * where memory comes from in memory/allocator.c.
 */

#include <string.h>

#include "memory/memory-private.h"

/**
 * SECTION:gstvkgdrmemory
 * @title: VkgdrMemory
 * @short_description: memory with a host and a device pointer
 *
 * Memory in the window of a device: the CPU writes to it as fast as to its own,
 * and CUDA uses it where it lies.
 *
 * What gst_memory_map() gives:
 *
 * - `GST_MAP_WRITE`: a pointer into the window, or with
 *   %GST_VKGDR_ACCESS_STAGED, and where the window was full, pinned host
 *   memory; what was written is on its way to the device when the memory is
 *   unmapped. What is not written keeps its content.
 * - `GST_MAP_READ`, `GST_MAP_READWRITE`: host memory with the content, fetched
 *   by DMA if the device's is newer. The CPU never reads through the window,
 *   unless the window is host-cached.
 * - %GST_MAP_VKGDR with the above: the device pointer. The CPU waits until the
 *   content is there, and what is done with the pointer is taken to go on after
 *   the unmap: the next user waits for all that the CUDA context had queued by
 *   then. It is the device that waits where the driver is 12.5 or newer, else
 *   the CPU. Code that has a stream does better with
 *   gst_vkgdr_memory_begin_access().
 *
 * A memory that a #GstVkgdrBufferPool has just handed out has undefined
 * content: mapping it READWRITE fetches nothing.
 *
 * All functions may be called from any thread; that a memory is not written by
 * two at a time is GStreamer's own rule.
 */

GST_DEBUG_CATEGORY (gst_vkgdr_memory_debug);
#define GST_CAT_DEFAULT gst_vkgdr_memory_debug

/* The address of this name tells our memories from all others: that is faster
 * than a look at the type of an allocator, and is done for every buffer. */
static const gchar memory_type[] = GST_VKGDR_MEMORY_NAME;

static const vkgdr_cuda *
driver_of (GstMemory *mem)
{
  return gst_vkgdr_context_get_driver (
      gst_vkgdr_allocator_get_context (gst_vkgdr_memory_allocator (mem)));
}

/* What can be had where @access is wanted: beside the window there is no other
 * way than a transfer. */
static GstVkgdrAccess
possible_access (const GstVkgdrBlock *block, GstVkgdrAccess access)
{
  return block->host ? access : GST_VKGDR_ACCESS_STAGED;
}

GstMemory *
gst_vkgdr_memory_new (GstVkgdrAllocator *allocator, const GstVkgdrBlock *block,
    gboolean host_cached, gsize maxsize, gsize align, gsize offset, gsize size)
{
  /* The C library's malloc() has a faster way for small blocks than its
   * calloc(). */
  GstVkgdrMemory *self = g_new (GstVkgdrMemory, 1);

  memset (self, 0, sizeof (*self));
  gst_memory_init (GST_MEMORY_CAST (self), 0, GST_ALLOCATOR_CAST (allocator),
      NULL, maxsize, align, offset, size);
  g_mutex_init (&self->lock);
  self->block = *block;
  self->access = possible_access (block, GST_VKGDR_ACCESS_DIRECT);
  self->host_cached = host_cached && block->host;
  gst_vkgdr_order_init (
      &self->order, gst_vkgdr_allocator_get_context (allocator));
  return GST_MEMORY_CAST (self);
}

/* --- GstAllocator -------------------------------------------------------- */

static GstMemory *
gst_vkgdr_memory_share (GstMemory *mem, gssize offset, gssize size)
{
  GstMemory *part = GST_MEMORY_CAST (g_new0 (GstVkgdrMemory, 1));

  gst_vkgdr_share_init (part, mem, offset, size);
  return part;
}

static gboolean
copy_on_device (
    GstMemory *src, gsize offset, GstMemory *dst, gsize size, GError **error)
{
  GstVkgdrContext *context =
      gst_vkgdr_allocator_get_context (gst_vkgdr_memory_allocator (src));
  const vkgdr_cuda *cuda = driver_of (src);
  GstVkgdrStream *stream = gst_vkgdr_allocator_get_copy_stream (
      gst_vkgdr_memory_allocator (src), GST_VKGDR_UPLOAD, error);
  gboolean ok;

  if (!stream
      || !gst_vkgdr_memory_begin_access (src, stream, GST_MAP_READ, error)
      || !gst_vkgdr_memory_begin_access (dst, stream, GST_MAP_WRITE, error)
      || !gst_vkgdr_context_push (context, error))
    return FALSE;
  ok = gst_vkgdr_check (cuda,
      cuda->cuMemcpyDtoDAsync (gst_vkgdr_memory_get_device_pointer (dst),
          gst_vkgdr_memory_get_device_pointer (src) + offset, size,
          gst_vkgdr_stream_get_handle (stream)),
      "cuMemcpyDtoDAsync", error);
  gst_vkgdr_context_pop (context);
  return ok && gst_vkgdr_memory_end_access (src, stream, GST_MAP_READ, error)
         && gst_vkgdr_memory_end_access (dst, stream, GST_MAP_WRITE, error);
}

/* The bytes of a copy were written by the CPU as those of the source were. */
static void
inherit_written (GstVkgdrMemory *source, GstVkgdrMemory *copy)
{
  g_mutex_lock (&source->lock);
  copy->written = source->written;
  g_mutex_unlock (&source->lock);
}

static GstMemory *
gst_vkgdr_memory_copy (GstMemory *mem, gssize offset, gssize size)
{
  GError *error = NULL;
  GstMemory *copy;

  if (size == -1)
    size = (gssize) mem->size > offset ? (gssize) mem->size - offset : 0;
  copy = gst_vkgdr_allocator_alloc (
      gst_vkgdr_memory_allocator (mem), size, &error);
  /* GStreamer copies memory that is mapped for writing, where it would share
   * any other: a decoder that keeps a frame mapped hands on a copy of it. */
  if (copy && size > 0
      && !(gst_vkgdr_memory_publish (mem, &error)
           && copy_on_device (mem, offset, copy, size, &error)))
    g_clear_pointer (&copy, gst_memory_unref);
  if (copy)
    inherit_written (gst_vkgdr_memory_root (mem), (GstVkgdrMemory *) copy);
  if (!copy) {
    GST_CAT_ERROR (
        GST_CAT_DEFAULT, "memory %p cannot be copied: %s", mem, error->message);
    g_clear_error (&error);
  }
  return copy;
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
  allocator->mem_map_full = gst_vkgdr_memory_map_full;
  allocator->mem_unmap_full = gst_vkgdr_memory_unmap_full;
  allocator->mem_share = gst_vkgdr_memory_share;
  allocator->mem_copy = gst_vkgdr_memory_copy;
  allocator->mem_is_span = gst_vkgdr_share_is_span;
}

/* --- in the guise of others' ---------------------------------------------- */

GstMemory *
gst_vkgdr_memory_take_guise (GstMemory *mem)
{
  GstVkgdrMemory *self = gst_vkgdr_memory_root (mem);
  GstMemory *guise;

  g_mutex_lock (&self->lock);
  guise = g_steal_pointer (&self->guise);
  g_mutex_unlock (&self->lock);
  return guise;
}

void
gst_vkgdr_memory_give_guise (GstMemory *mem, GstMemory *guise)
{
  GstVkgdrMemory *self = gst_vkgdr_memory_root (mem);

  g_mutex_lock (&self->lock);
  if (!self->guise)
    self->guise = g_steal_pointer (&guise);
  g_mutex_unlock (&self->lock);
  if (guise)
    gst_memory_unref (guise);
}

void
gst_vkgdr_memory_free (GstAllocator *allocator, GstMemory *mem)
{
  GstVkgdrMemory *self = (GstVkgdrMemory *) mem;

  if (!mem->parent) {
    GstVkgdrRemains remains = { .block = self->block,
      .shadow = self->shadow,
      .guise = self->guise,
      .fences = gst_vkgdr_order_finish (&self->order) };

    gst_vkgdr_allocator_retire (GST_VKGDR_ALLOCATOR (allocator), &remains);
    gst_vkgdr_policy_turn_clear (&self->turn);
    g_mutex_clear (&self->lock);
  }
  g_free (self);
}

void
gst_vkgdr_memory_begin_turn (GstMemory *mem, GstVkgdrPolicy *policy,
    GstClockTime now, GstClockTime waited)
{
  GstVkgdrMemory *self = gst_vkgdr_memory_root (mem);
  GstVkgdrAccess access;

  g_mutex_lock (&self->lock);
  access = gst_vkgdr_policy_next (policy, &self->turn, mem->size, now, waited);
  self->access = access = possible_access (&self->block, access);
  /* Direct access needs no host memory. It is kept while modes are being tried,
   * since the buffer may be staged again soon. */
  if (access == GST_VKGDR_ACCESS_DIRECT && self->shadow && self->cpu_maps == 0
      && !self->turn.is_measured) {
    gst_vkgdr_pinned_give (
        gst_vkgdr_allocator_get_pinned (gst_vkgdr_memory_allocator (mem)),
        self->shadow, NULL);
    self->shadow = NULL;
    self->shadow_valid = FALSE;
  }
  g_mutex_unlock (&self->lock);
}

void
gst_vkgdr_memory_set_in_common (GstMemory *mem)
{
  GstVkgdrMemory *self = gst_vkgdr_memory_root (mem);

  g_mutex_lock (&self->lock);
  self->in_common = TRUE;
  self->device_valid = TRUE;
  g_mutex_unlock (&self->lock);
}

/* --- what is public ------------------------------------------------------ */

/**
 * gst_is_vkgdr_memory:
 * @memory: a memory
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
 * gst_vkgdr_memory_get_context:
 * @memory: a memory of this type
 *
 * Returns: (transfer none): the context it was allocated in
 *
 * Since: 0.1
 */
GstVkgdrContext *
gst_vkgdr_memory_get_context (GstMemory *memory)
{
  g_return_val_if_fail (gst_is_vkgdr_memory (memory), NULL);

  return gst_vkgdr_allocator_get_context (gst_vkgdr_memory_allocator (memory));
}

/**
 * gst_vkgdr_memory_get_device_pointer:
 * @memory: a memory of this type
 *
 * The `CUdeviceptr` of the memory's first byte. To use it, order a stream with
 * gst_vkgdr_memory_begin_access(), or map the memory with %GST_MAP_VKGDR.
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
 * The pointer into the window at the memory's first byte. Nothing is ordered or
 * flushed: it is there to be compared, and for those who know what they do.
 *
 * Returns: (transfer none) (nullable): the pointer, valid as long as @memory,
 * or %NULL where the memory lies beside the window
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
 * gst_vkgdr_memory_get_access:
 * @memory: a memory of this type
 *
 * Returns: what writers of it get
 *
 * Since: 0.1
 */
GstVkgdrAccess
gst_vkgdr_memory_get_access (GstMemory *memory)
{
  GstVkgdrAccess access;

  g_return_val_if_fail (gst_is_vkgdr_memory (memory), GST_VKGDR_ACCESS_DIRECT);

  g_mutex_lock (&gst_vkgdr_memory_root (memory)->lock);
  access = gst_vkgdr_memory_root (memory)->access;
  g_mutex_unlock (&gst_vkgdr_memory_root (memory)->lock);
  return access;
}

/**
 * gst_vkgdr_memory_set_access:
 * @memory: a memory of this type
 * @access: what writers of it shall get from the next mapping on;
 *   %GST_VKGDR_ACCESS_AUTO is for pools, and counts as direct
 *
 * Chooses what writers of this memory get. Memory that lies beside the window,
 * which was full, stays staged. The buffers of a pool follow the
 * pool's own choice, which is made anew each time one is acquired.
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
 * gst_vkgdr_memory_discard:
 * @memory: a memory of this type that is not mapped
 *
 * Makes its content undefined, so that the next mapping fetches nothing. Pools
 * do so with what comes back to them.
 *
 * Since: 0.1
 */
void
gst_vkgdr_memory_discard (GstMemory *memory)
{
  GstVkgdrMemory *self;

  g_return_if_fail (gst_is_vkgdr_memory (memory));

  self = gst_vkgdr_memory_root (memory);
  g_mutex_lock (&self->lock);
  self->device_valid = self->shadow_valid = FALSE;
  self->written = GST_VKGDR_ACCESS_AUTO;
  self->map_time = self->wait_time = 0;
  gst_vkgdr_policy_cancel (&self->turn);
  g_clear_error (&self->order.lost);
  g_mutex_unlock (&self->lock);
}

/**
 * gst_vkgdr_memory_begin_access:
 * @memory: a memory of this type
 * @stream: a stream of its context
 * @flags: %GST_MAP_READ, %GST_MAP_WRITE or both
 * @error: return location for a #GError
 *
 * Lets what is queued on @stream from now on use the memory's device pointer:
 * it begins when the content is on the device and, to write, when all readers
 * are done. The CPU does not wait, unless the driver is older than 12.5 and the
 * memory was in the hands of code that sets no fences. After queueing its work
 * the caller calls gst_vkgdr_memory_end_access() with the same arguments.
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
  ok = gst_vkgdr_order_stream (&self->order, stream, flags, error);
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
 * Marks the end of an access: who reads or writes the memory next waits for
 * what @stream has queued by now.
 *
 * Returns: %FALSE with @error set on failure
 *
 * Since: 0.1
 */
gboolean
gst_vkgdr_memory_end_access (GstMemory *memory, GstVkgdrStream *stream,
    GstMapFlags flags, GError **error)
{
  GstVkgdrMemory *self;
  gboolean ok;

  g_return_val_if_fail (gst_is_vkgdr_memory (memory), FALSE);
  g_return_val_if_fail (GST_IS_VKGDR_STREAM (stream), FALSE);

  self = gst_vkgdr_memory_root (memory);
  g_mutex_lock (&self->lock);
  ok = gst_vkgdr_order_mark (&self->order, stream, flags, error) != NULL;
  if (flags & GST_MAP_WRITE) {
    self->device_valid = TRUE;
    self->shadow_valid = FALSE;
  }
  g_mutex_unlock (&self->lock);
  return ok;
}

/**
 * gst_vkgdr_memory_get_write_times:
 * @memory: a memory of this type
 * @map_time: (out) (optional): nanoseconds for which it was mapped for writing
 * @wait_time: (out) (optional): nanoseconds that mapping it waited
 *
 * Tells how the CPU wrote to the memory since its content was last undefined.
 *
 * Returns: %GST_VKGDR_ACCESS_DIRECT or %GST_VKGDR_ACCESS_STAGED, by the last
 *   mapping; %GST_VKGDR_ACCESS_AUTO where it did not write
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

/**
 * gst_vkgdr_memory_is_idle:
 * @memory: a memory of this type
 *
 * Returns: whether the device has finished with it, as far as fences tell
 *
 * Since: 0.1
 */
gboolean
gst_vkgdr_memory_is_idle (GstMemory *memory)
{
  GstVkgdrMemory *self;
  gboolean idle;

  g_return_val_if_fail (gst_is_vkgdr_memory (memory), TRUE);

  self = gst_vkgdr_memory_root (memory);
  g_mutex_lock (&self->lock);
  idle = gst_vkgdr_order_is_idle (&self->order);
  g_mutex_unlock (&self->lock);
  return idle;
}

/**
 * gst_vkgdr_memory_wait_idle:
 * @memory: a memory of this type
 * @error: return location for a #GError
 *
 * Waits on the CPU until the device has finished with the memory.
 *
 * Returns: %FALSE with @error set where the work, or the wait, failed
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
  ok = gst_vkgdr_order_wait (&self->order, GST_MAP_READWRITE, error);
  g_mutex_unlock (&self->lock);
  return ok;
}
