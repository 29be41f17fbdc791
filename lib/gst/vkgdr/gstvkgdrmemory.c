/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * gstvkgdrmemory.c: what a mapping gives, and in what order things happen
 *
 * A memory has a pointer into the window, a device pointer, and, where the CPU
 * reads, a shadow in pinned host memory. This file decides which of them a
 * mapping gets, and keeps track of which holds the content. Who has to wait for
 * whom is gstvkgdrorder.c's affair, and where memory comes from that of
 * gstvkgdrallocator.c.
 */

#include "gstvkgdrmemoryprivate.h"
#include "gstvkgdrpinnedmemory.h"
#include "gstvkgdrshare.h"

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
 *   the unmap: the next user waits for the whole CUDA context. Code that has a
 *   stream does better with gst_vkgdr_memory_begin_access().
 *
 * A memory that a #GstVkgdrBufferPool has just handed out has undefined
 * content: mapping it READWRITE fetches nothing.
 *
 * All functions may be called from any thread; that a memory is not written by
 * two at a time is GStreamer's own rule.
 */

GST_DEBUG_CATEGORY_STATIC (gst_vkgdr_memory_debug);
#define GST_CAT_DEFAULT gst_vkgdr_memory_debug

static GstVkgdrMemory *
root_of (GstMemory *mem)
{
  return (GstVkgdrMemory *) gst_vkgdr_share_root (mem);
}

static GstVkgdrAllocator *
allocator_of (GstMemory *mem)
{
  return GST_VKGDR_ALLOCATOR (mem->allocator);
}

static const vkgdr_cuda *
driver_of (GstMemory *mem)
{
  return gst_vkgdr_context_get_driver (
      gst_vkgdr_allocator_get_context (allocator_of (mem)));
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
  GstVkgdrMemory *self = g_new0 (GstVkgdrMemory, 1);

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

/* --- DMA between shadow and device --------------------------------------- */

/* Queues a transfer of @size bytes of @host and of the block from @offset on.
 * Returns the order's fence that stands for it, NULL with @error set on
 * failure. */
static GstVkgdrFence *
copy_async (GstVkgdrMemory *self, GstVkgdrDirection direction, gsize offset,
    gpointer host, gsize size, GstVkgdrStream *stream, GError **error)
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
    self->shadow = gst_vkgdr_pinned_take (
        gst_vkgdr_allocator_get_pinned (allocator_of (&self->mem)),
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
      allocator_of (&self->mem), GST_VKGDR_DOWNLOAD, error);
  if (!stream)
    return FALSE;
  fence = copy_async (self, GST_VKGDR_DOWNLOAD, 0, self->shadow,
      self->block.size, stream, error);
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

static gpointer
map_shadow (GstVkgdrMemory *self, GstMapFlags flags, GError **error)
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

static gpointer
map_cpu (GstVkgdrMemory *self, GstMapFlags flags, GError **error)
{
  gboolean staged = self->access == GST_VKGDR_ACCESS_STAGED;
  GstClockTime asked = gst_util_get_timestamp ();

  /* A mapping within a mapping, which GstMemory allows for no more than the
   * outer one may do: the same pointer serves. */
  if (self->cpu_maps == 0) {
    if (self->host_cached || (!staged && !(flags & GST_MAP_READ)))
      self->cpu_data = map_window (self, flags, error);
    else
      self->cpu_data = map_shadow (self, flags, error);
  }
  if (!self->cpu_data)
    return NULL;
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

static gpointer
gst_vkgdr_memory_map_full (GstMemory *mem, GstMapInfo *info, gsize maxsize)
{
  GstVkgdrMemory *self = root_of (mem);
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

/* What was written to the shadow goes to the device. */
static gboolean
send_shadow (GstVkgdrMemory *self, gsize offset, gsize size, GError **error)
{
  GstVkgdrStream *stream = gst_vkgdr_allocator_get_copy_stream (
      allocator_of (&self->mem), GST_VKGDR_UPLOAD, error);

  if (!stream)
    return FALSE;
  if (!copy_async (self, GST_VKGDR_UPLOAD, offset,
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

  if (*lost) /* a mapping within this one has failed */
    return;
  if (self->cpu_data == self->shadow) {
    ok = send_shadow (self, mem->offset, mem->size, lost);
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
  publish (self, mem);
  self->written = self->cpu_data == self->shadow ? GST_VKGDR_ACCESS_STAGED
                                                 : GST_VKGDR_ACCESS_DIRECT;
  if (self->cpu_maps > 0)
    return;
  time = gst_util_get_timestamp () - self->cpu_since;
  self->map_time += time;
  if (self->policy)
    gst_vkgdr_policy_report (self->policy, time, flags & GST_MAP_READ);
}

static void
gst_vkgdr_memory_unmap_full (GstMemory *mem, GstMapInfo *info)
{
  GstVkgdrMemory *self = root_of (mem);

  g_mutex_lock (&self->lock);
  if (!(info->flags & GST_MAP_VKGDR)) {
    unmap_cpu (self, mem, info->flags);
  } else {
    self->order.foreign = TRUE;
    if (info->flags & GST_MAP_WRITE) {
      self->device_valid = TRUE;
      self->shadow_valid = FALSE;
    }
  }
  g_mutex_unlock (&self->lock);
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
      gst_vkgdr_allocator_get_context (allocator_of (src));
  const vkgdr_cuda *cuda = driver_of (src);
  GstVkgdrStream *stream = gst_vkgdr_allocator_get_copy_stream (
      allocator_of (src), GST_VKGDR_UPLOAD, error);
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

static GstMemory *
gst_vkgdr_memory_copy (GstMemory *mem, gssize offset, gssize size)
{
  GError *error = NULL;
  GstMemory *copy;

  if (size == -1)
    size = (gssize) mem->size > offset ? (gssize) mem->size - offset : 0;
  copy = gst_vkgdr_allocator_alloc (allocator_of (mem), size, &error);
  if (copy && size > 0 && !copy_on_device (mem, offset, copy, size, &error))
    g_clear_pointer (&copy, gst_memory_unref);
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
  allocator->mem_type = GST_VKGDR_MEMORY_NAME;
  allocator->mem_map_full = gst_vkgdr_memory_map_full;
  allocator->mem_unmap_full = gst_vkgdr_memory_unmap_full;
  allocator->mem_share = gst_vkgdr_memory_share;
  allocator->mem_copy = gst_vkgdr_memory_copy;
  allocator->mem_is_span = gst_vkgdr_share_is_span;
}

void
gst_vkgdr_memory_free (GstAllocator *allocator, GstMemory *mem)
{
  GstVkgdrMemory *self = (GstVkgdrMemory *) mem;

  if (!mem->parent) {
    gst_vkgdr_allocator_retire (GST_VKGDR_ALLOCATOR (allocator), &self->block,
        self->shadow, gst_vkgdr_order_finish (&self->order));
    g_clear_pointer (&self->policy, gst_vkgdr_policy_unref);
    g_mutex_clear (&self->lock);
  }
  g_free (self);
}

void
gst_vkgdr_memory_set_policy (
    GstMemory *mem, GstVkgdrAccess access, GstVkgdrPolicy *policy)
{
  GstVkgdrMemory *self = root_of (mem);

  g_mutex_lock (&self->lock);
  self->access = access = possible_access (&self->block, access);
  if (policy != self->policy) {
    g_clear_pointer (&self->policy, gst_vkgdr_policy_unref);
    self->policy = policy ? gst_vkgdr_policy_ref (policy) : NULL;
  }
  /* Who writes to the window needs no host memory. */
  if (access == GST_VKGDR_ACCESS_DIRECT && self->shadow
      && self->cpu_maps == 0) {
    gst_vkgdr_pinned_give (gst_vkgdr_allocator_get_pinned (allocator_of (mem)),
        self->shadow, NULL);
    self->shadow = NULL;
    self->shadow_valid = FALSE;
  }
  g_mutex_unlock (&self->lock);
}

void
gst_vkgdr_memory_set_in_common (GstMemory *mem)
{
  GstVkgdrMemory *self = root_of (mem);

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
         && GST_IS_VKGDR_ALLOCATOR (memory->allocator);
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

  return gst_vkgdr_allocator_get_context (allocator_of (memory));
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

  return root_of (memory)->block.device + memory->offset;
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

  host = root_of (memory)->block.host;
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

  g_mutex_lock (&root_of (memory)->lock);
  access = root_of (memory)->access;
  g_mutex_unlock (&root_of (memory)->lock);
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
  self = root_of (memory);
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

  self = root_of (memory);
  g_mutex_lock (&self->lock);
  self->device_valid = self->shadow_valid = FALSE;
  self->written = GST_VKGDR_ACCESS_AUTO;
  self->map_time = self->wait_time = 0;
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
 * are done. The CPU does not wait, unless the memory was in the hands of code
 * that sets no fences. After queueing its work the caller calls
 * gst_vkgdr_memory_end_access() with the same arguments.
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

  self = root_of (memory);
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

  self = root_of (memory);
  g_mutex_lock (&self->lock);
  ok = gst_vkgdr_order_mark (&self->order, stream, flags, error) != NULL;
  if (flags & GST_MAP_WRITE) {
    self->device_valid = TRUE;
    self->shadow_valid = FALSE;
  }
  g_mutex_unlock (&self->lock);
  return ok;
}

static gboolean
check_range (GstMemory *memory, gsize offset, gsize size, GError **error)
{
  if (offset > memory->size || size > memory->size - offset) {
    g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_ARGUMENT,
        "%" G_GSIZE_FORMAT " bytes from %" G_GSIZE_FORMAT
        " leave a memory of %" G_GSIZE_FORMAT " bytes",
        size, offset, memory->size);
    return FALSE;
  }
  return TRUE;
}

static gboolean
transfer (GstMemory *memory, GstVkgdrDirection direction, gsize offset,
    gpointer data, gsize size, GstVkgdrStream *stream, GError **error)
{
  GstVkgdrMemory *self = root_of (memory);
  gboolean ok;

  if (!check_range (memory, offset, size, error))
    return FALSE;
  g_mutex_lock (&self->lock);
  ok = copy_async (
           self, direction, memory->offset + offset, data, size, stream, error)
       != NULL;
  if (direction == GST_VKGDR_UPLOAD)
    self->shadow_valid = FALSE;
  g_mutex_unlock (&self->lock);
  return ok;
}

/**
 * gst_vkgdr_memory_upload:
 * @memory: a memory of this type that is not mapped
 * @offset: first byte in @memory
 * @data: (not nullable): address of host memory of @size bytes, that stays
 *   until the copy is done
 * @size: bytes
 * @stream: a stream of its context
 * @error: return location for a #GError
 *
 * Queues a DMA transfer from the host, in order with all other access. It is
 * asynchronous where @data is pinned.
 *
 * Returns: %FALSE with @error set on failure
 *
 * Since: 0.1
 */
gboolean
gst_vkgdr_memory_upload (GstMemory *memory, gsize offset, gconstpointer data,
    gsize size, GstVkgdrStream *stream, GError **error)
{
  g_return_val_if_fail (gst_is_vkgdr_memory (memory), FALSE);
  g_return_val_if_fail (GST_IS_VKGDR_STREAM (stream), FALSE);

  return transfer (
      memory, GST_VKGDR_UPLOAD, offset, (gpointer) data, size, stream, error);
}

/**
 * gst_vkgdr_memory_download:
 * @memory: a memory of this type that is not mapped
 * @offset: first byte in @memory
 * @data: (not nullable): address of host memory of @size bytes, that stays
 *   until the copy is done
 * @size: bytes
 * @stream: a stream of its context
 * @error: return location for a #GError
 *
 * Queues a DMA transfer to the host, in order with all other access. It is
 * asynchronous where @data is pinned.
 *
 * Returns: %FALSE with @error set on failure
 *
 * Since: 0.1
 */
gboolean
gst_vkgdr_memory_download (GstMemory *memory, gsize offset, gpointer data,
    gsize size, GstVkgdrStream *stream, GError **error)
{
  g_return_val_if_fail (gst_is_vkgdr_memory (memory), FALSE);
  g_return_val_if_fail (GST_IS_VKGDR_STREAM (stream), FALSE);

  return transfer (
      memory, GST_VKGDR_DOWNLOAD, offset, data, size, stream, error);
}

/**
 * gst_vkgdr_memory_fetch:
 * @memory: a memory of this type that is not mapped
 * @pinned: memory of gst_vkgdr_allocator_alloc_pinned() that is not mapped
 * @offset: first byte in @pinned
 * @stream: a stream of the context of both
 * @error: return location for a #GError
 *
 * Queues a DMA transfer of all of @memory, in order with all other access. Who
 * maps @pinned waits for it; nobody else does.
 *
 * Returns: %FALSE with @error set on failure
 *
 * Since: 0.1
 */
gboolean
gst_vkgdr_memory_fetch (GstMemory *memory, GstMemory *pinned, gsize offset,
    GstVkgdrStream *stream, GError **error)
{
  guint8 *data;

  g_return_val_if_fail (gst_is_vkgdr_memory (memory), FALSE);
  g_return_val_if_fail (gst_vkgdr_is_pinned_memory (pinned), FALSE);
  g_return_val_if_fail (GST_IS_VKGDR_STREAM (stream), FALSE);

  if (!check_range (pinned, offset, memory->size, error))
    return FALSE;
  data = gst_vkgdr_pinned_memory_get_data (pinned);
  if (transfer (memory, GST_VKGDR_DOWNLOAD, 0, data + offset, memory->size,
          stream, error)
      && gst_vkgdr_pinned_memory_expect (pinned, stream, error))
    return TRUE;
  /* A transfer may be under way that no fence stands for. */
  gst_vkgdr_stream_synchronize (stream, NULL);
  return FALSE;
}

static gboolean
write_window (GstVkgdrMemory *self, gsize offset, gconstpointer data,
    gsize size, GError **error)
{
  if (!gst_vkgdr_order_wait (&self->order, GST_MAP_WRITE, error))
    return FALSE;
  vkgdr_copy_to_bar (self->block.host + offset, data, size, 0);
  self->device_valid = TRUE;
  self->shadow_valid = FALSE;
  return gst_vkgdr_block_flush (&self->block, offset, size, error);
}

static gboolean
write_shadow (GstVkgdrMemory *self, gsize offset, gconstpointer data,
    gsize size, GError **error)
{
  guint8 *shadow = map_shadow (self, GST_MAP_WRITE, error);

  if (!shadow)
    return FALSE;
  memcpy (shadow + offset, data, size);
  return send_shadow (self, offset, size, error);
}

/**
 * gst_vkgdr_memory_write:
 * @memory: a memory of this type that is not mapped
 * @offset: first byte in @memory
 * @data: (not nullable): address of ordinary host memory of @size bytes
 * @size: bytes
 * @error: return location for a #GError
 *
 * Copies into the window with stores that suit it, on several cores where that
 * pays. The content is on the device when the function returns; of memory that
 * lies beside the window, it is on its way, in order.
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
  gboolean ok;

  g_return_val_if_fail (gst_is_vkgdr_memory (memory), FALSE);

  if (!check_range (memory, offset, size, error))
    return FALSE;
  self = root_of (memory);
  offset += memory->offset;
  g_mutex_lock (&self->lock);
  ok = self->block.host ? write_window (self, offset, data, size, error)
                        : write_shadow (self, offset, data, size, error);
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

  self = root_of (memory);
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

  self = root_of (memory);
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

  self = root_of (memory);
  g_mutex_lock (&self->lock);
  ok = gst_vkgdr_order_wait (&self->order, GST_MAP_READWRITE, error);
  g_mutex_unlock (&self->lock);
  return ok;
}
