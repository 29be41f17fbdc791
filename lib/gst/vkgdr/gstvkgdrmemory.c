/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * gstvkgdrmemory.c: what a mapping gives, and in what order things happen
 *
 * A memory has a pointer into the window, a device pointer, and, where the CPU
 * reads, a shadow in pinned host memory. This file decides which of them a
 * mapping gets, keeps track of which holds the content, and orders the CPU and
 * the streams by fences. It does not know where memory comes from.
 */

#include "gstvkgdrmemoryprivate.h"

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
 *   %GST_VKGDR_ACCESS_STAGED pinned host memory; what was written is on its way
 *   to the device when the memory is unmapped. What is not written keeps its
 *   content.
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
  return (GstVkgdrMemory *) (mem->parent ? mem->parent : mem);
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

GstMemory *
gst_vkgdr_memory_new (GstVkgdrAllocator *allocator, const GstVkgdrBlock *block,
    gboolean host_cached, gsize maxsize, gsize align, gsize offset, gsize size)
{
  GstVkgdrMemory *self = g_new0 (GstVkgdrMemory, 1);

  gst_memory_init (GST_MEMORY_CAST (self), 0, GST_ALLOCATOR_CAST (allocator),
      NULL, maxsize, align, offset, size);
  g_mutex_init (&self->lock);
  self->block = *block;
  self->access = GST_VKGDR_ACCESS_DIRECT;
  self->host_cached = host_cached;
  self->readers =
      g_ptr_array_new_with_free_func ((GDestroyNotify) gst_vkgdr_fence_unref);
  return GST_MEMORY_CAST (self);
}

/* --- order --------------------------------------------------------------- */

static void
forget_reached_readers (GstVkgdrMemory *self)
{
  guint i = 0;

  while (i < self->readers->len) {
    if (gst_vkgdr_fence_is_signaled (g_ptr_array_index (self->readers, i)))
      g_ptr_array_remove_index_fast (self->readers, i);
    else
      i++;
  }
}

/* Somebody had the device pointer and told us nothing of his streams. */
static gboolean
settle_foreign (GstVkgdrMemory *self, GError **error)
{
  GstVkgdrContext *context =
      gst_vkgdr_allocator_get_context (allocator_of (&self->mem));

  if (!self->foreign)
    return TRUE;
  if (!gst_vkgdr_context_synchronize (context, error))
    return FALSE;
  self->foreign = FALSE;
  return TRUE;
}

static gboolean
wait_written (GstVkgdrMemory *self, GError **error)
{
  if (!self->written)
    return TRUE;
  if (!gst_vkgdr_fence_wait (self->written, error))
    return FALSE;
  g_clear_pointer (&self->written, gst_vkgdr_fence_unref);
  return TRUE;
}

static gboolean
wait_readers (GstVkgdrMemory *self, GError **error)
{
  while (self->readers->len > 0) {
    if (!gst_vkgdr_fence_wait (g_ptr_array_index (self->readers, 0), error))
      return FALSE;
    g_ptr_array_remove_index_fast (self->readers, 0);
  }
  return TRUE;
}

/* An unmap cannot fail, so the next user of the content is told. */
static gboolean
check_lost (GstVkgdrMemory *self, GError **error)
{
  if (!self->lost)
    return TRUE;
  if (error)
    *error = g_error_copy (self->lost);
  return FALSE;
}

/* What the CPU has to wait for before it may do what @flags say. */
static gboolean
wait_for_cpu (GstVkgdrMemory *self, GstMapFlags flags, GError **error)
{
  if (!check_lost (self, error))
    return FALSE;
  if (!settle_foreign (self, error) || !wait_written (self, error))
    return FALSE;
  return !(flags & GST_MAP_WRITE) || wait_readers (self, error);
}

/* The same for what is queued on @stream from now on; no CPU waits. */
static gboolean
order_stream (GstVkgdrMemory *self, GstVkgdrStream *stream, GstMapFlags flags,
    GError **error)
{
  guint i;

  if (!check_lost (self, error) || !settle_foreign (self, error))
    return FALSE;
  if (self->written && !gst_vkgdr_stream_wait (stream, self->written, error))
    return FALSE;
  if (!(flags & GST_MAP_WRITE))
    return TRUE;
  for (i = 0; i < self->readers->len; i++) {
    if (!gst_vkgdr_stream_wait (
            stream, g_ptr_array_index (self->readers, i), error))
      return FALSE;
  }
  return TRUE;
}

/* @stream now has the access queued that order_stream () made room for. */
static gboolean
mark_stream (GstVkgdrMemory *self, GstVkgdrStream *stream, GstMapFlags flags,
    GError **error)
{
  GstVkgdrFence *fence = gst_vkgdr_stream_record (stream, error);

  if (!fence) {
    self->foreign = TRUE; /* work is queued that no fence stands for */
    return FALSE;
  }
  if (!(flags & GST_MAP_WRITE)) {
    forget_reached_readers (self);
    g_ptr_array_add (self->readers, fence);
    return TRUE;
  }
  /* The stream waited for the readers, so its fence stands for theirs, too. */
  g_ptr_array_set_size (self->readers, 0);
  g_clear_pointer (&self->written, gst_vkgdr_fence_unref);
  self->written = fence;
  self->device_valid = TRUE;
  return TRUE;
}

/* --- DMA between shadow and device --------------------------------------- */

static gboolean
copy_async (GstVkgdrMemory *self, GstVkgdrDirection direction, gsize offset,
    gpointer host, gsize size, GstVkgdrStream *stream, GError **error)
{
  GstVkgdrContext *context = gst_vkgdr_stream_get_context (stream);
  const vkgdr_cuda *cuda = gst_vkgdr_context_get_driver (context);
  CUstream handle = gst_vkgdr_stream_get_handle (stream);
  CUdeviceptr device = self->block.device + offset;
  GstMapFlags flags =
      direction == GST_VKGDR_UPLOAD ? GST_MAP_WRITE : GST_MAP_READ;
  gboolean ok;

  if (!order_stream (self, stream, flags, error))
    return FALSE;
  if (!gst_vkgdr_context_push (context, error))
    return FALSE;
  if (direction == GST_VKGDR_UPLOAD)
    ok = gst_vkgdr_check (cuda,
        cuda->cuMemcpyHtoDAsync (device, host, size, handle),
        "cuMemcpyHtoDAsync", error);
  else
    ok = gst_vkgdr_check (cuda,
        cuda->cuMemcpyDtoHAsync (host, device, size, handle),
        "cuMemcpyDtoHAsync", error);
  gst_vkgdr_context_pop (context);
  return ok && mark_stream (self, stream, flags, error);
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

  if (self->shadow_valid || !self->device_valid)
    return TRUE;
  stream = gst_vkgdr_allocator_get_copy_stream (
      allocator_of (&self->mem), GST_VKGDR_DOWNLOAD, error);
  if (!stream)
    return FALSE;
  if (!copy_async (self, GST_VKGDR_DOWNLOAD, 0, self->shadow, self->block.size,
          stream, error))
    return FALSE;
  if (!gst_vkgdr_fence_wait (
          g_ptr_array_index (self->readers, self->readers->len - 1), error))
    return FALSE;
  self->shadow_valid = TRUE;
  return TRUE;
}

/* --- mapping ------------------------------------------------------------- */

static gpointer
map_window (GstVkgdrMemory *self, GstMapFlags flags, GError **error)
{
  if (!wait_for_cpu (self, flags, error))
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
  if ((flags & GST_MAP_WRITE) && !wait_for_cpu (self, flags, error))
    return NULL;
  if (!refresh_shadow (self, error))
    return NULL;
  return self->shadow;
}

static gpointer
map_cpu (GstVkgdrMemory *self, GstMapFlags flags, GError **error)
{
  gboolean staged = self->access == GST_VKGDR_ACCESS_STAGED;

  /* A mapping within a mapping, which GstMemory allows for no more than the
   * outer one may do: the same pointer serves. */
  if (self->cpu_maps == 0) {
    if (self->host_cached || (!staged && !(flags & GST_MAP_READ)))
      self->cpu_data = map_window (self, flags, error);
    else
      self->cpu_data = map_shadow (self, flags, error);
  }
  if (self->cpu_data)
    self->cpu_maps++;
  return self->cpu_data;
}

static gpointer
map_device (GstVkgdrMemory *self, GstMapFlags flags, GError **error)
{
  if (!wait_for_cpu (self, flags, error))
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

static void
unmap_cpu (GstVkgdrMemory *self, GstMemory *mem, GstMapFlags flags)
{
  gboolean ok;

  self->cpu_maps--;
  if (!(flags & GST_MAP_WRITE))
    return;
  if (self->cpu_data == self->shadow) {
    ok = send_shadow (self, mem->offset, mem->size, &self->lost);
  } else {
    ok = gst_vkgdr_block_flush (
        &self->block, mem->offset, mem->size, &self->lost);
    self->device_valid = TRUE;
    self->shadow_valid = FALSE;
  }
  if (!ok)
    GST_CAT_ERROR (GST_CAT_DEFAULT,
        "what was written to memory %p did not reach the device: %s", mem,
        self->lost->message);
}

static void
gst_vkgdr_memory_unmap_full (GstMemory *mem, GstMapInfo *info)
{
  GstVkgdrMemory *self = root_of (mem);

  g_mutex_lock (&self->lock);
  if (!(info->flags & GST_MAP_VKGDR)) {
    unmap_cpu (self, mem, info->flags);
  } else {
    self->foreign = TRUE;
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
  GstMemory *parent = mem->parent ? mem->parent : mem;
  GstVkgdrMemory *sub = g_new0 (GstVkgdrMemory, 1);

  if (size == -1)
    size = mem->size - offset;
  gst_memory_init (GST_MEMORY_CAST (sub),
      GST_MINI_OBJECT_FLAGS (parent) | GST_MINI_OBJECT_FLAG_LOCK_READONLY,
      mem->allocator, parent, mem->maxsize, mem->align, mem->offset + offset,
      size);
  return GST_MEMORY_CAST (sub);
}

static gboolean
gst_vkgdr_memory_is_span (GstMemory *a, GstMemory *b, gsize *offset)
{
  if (offset)
    *offset = a->offset - (a->parent ? a->parent->offset : 0);
  return root_of (a) == root_of (b) && a->offset + a->size == b->offset;
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
  allocator->mem_is_span = gst_vkgdr_memory_is_span;
}

void
gst_vkgdr_memory_free (GstAllocator *allocator, GstMemory *mem)
{
  GstVkgdrMemory *self = (GstVkgdrMemory *) mem;

  if (!mem->parent) {
    settle_foreign (self, NULL);
    if (self->written)
      g_ptr_array_add (self->readers, self->written);
    gst_vkgdr_allocator_retire (GST_VKGDR_ALLOCATOR (allocator), &self->block,
        self->shadow, self->readers);
    g_clear_error (&self->lost);
    g_mutex_clear (&self->lock);
  }
  g_free (self);
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
 * gst_vkgdr_memory_get_host_pointer: (skip)
 * @memory: a memory of this type
 *
 * The pointer into the window at the memory's first byte. Nothing is ordered or
 * flushed: it is there to be compared, and for those who know what they do.
 *
 * Returns: (transfer none): the pointer, valid as long as @memory
 *
 * Since: 0.1
 */
gpointer
gst_vkgdr_memory_get_host_pointer (GstMemory *memory)
{
  g_return_val_if_fail (gst_is_vkgdr_memory (memory), NULL);

  return root_of (memory)->block.host + memory->offset;
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
 * @access: what writers of it shall get from the next mapping on
 *
 * Since: 0.1
 */
void
gst_vkgdr_memory_set_access (GstMemory *memory, GstVkgdrAccess access)
{
  g_return_if_fail (gst_is_vkgdr_memory (memory));

  g_mutex_lock (&root_of (memory)->lock);
  root_of (memory)->access = access;
  g_mutex_unlock (&root_of (memory)->lock);
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
  g_clear_error (&self->lost);
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
  ok = order_stream (self, stream, flags, error);
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
  ok = mark_stream (self, stream, flags, error);
  if (flags & GST_MAP_WRITE)
    self->shadow_valid = FALSE;
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
      self, direction, memory->offset + offset, data, size, stream, error);
  if (direction == GST_VKGDR_UPLOAD)
    self->shadow_valid = FALSE;
  g_mutex_unlock (&self->lock);
  return ok;
}

/**
 * gst_vkgdr_memory_upload: (skip)
 * @memory: a memory of this type that is not mapped
 * @offset: first byte in @memory
 * @data: host memory of @size bytes, that stays until the copy is done
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
 * gst_vkgdr_memory_download: (skip)
 * @memory: a memory of this type that is not mapped
 * @offset: first byte in @memory
 * @data: host memory of @size bytes, that stays until the copy is done
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
 * gst_vkgdr_memory_write: (skip)
 * @memory: a memory of this type that is not mapped
 * @offset: first byte in @memory
 * @data: ordinary host memory of @size bytes
 * @size: bytes
 * @error: return location for a #GError
 *
 * Copies into the window with stores that suit it, on several cores where that
 * pays. The content is on the device when the function returns.
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
  ok = wait_for_cpu (self, GST_MAP_WRITE, error);
  if (ok) {
    vkgdr_copy_to_bar (self->block.host + offset, data, size, 0);
    ok = gst_vkgdr_block_flush (&self->block, offset, size, error);
    self->device_valid = TRUE;
    self->shadow_valid = FALSE;
  }
  g_mutex_unlock (&self->lock);
  return ok;
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
  forget_reached_readers (self);
  idle = !self->foreign && self->readers->len == 0
         && (!self->written || gst_vkgdr_fence_is_signaled (self->written));
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
  ok = wait_for_cpu (self, GST_MAP_READWRITE, error);
  g_mutex_unlock (&self->lock);
  return ok;
}
