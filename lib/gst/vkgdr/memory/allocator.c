/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * memory/allocator.c: where memories come from, and where their parts go
 *
 * Brings the heap, the pinned memory and the copy streams of a context
 * together. What a memory does while it lives is memory/memory.c's affair.
 */

#include <string.h>

#include "memory/memory-private.h"

/* Bytes that a device pointer of others is a multiple of: those of the widest
 * load that a kernel has. An address that does not fit a load ends the CUDA
 * context for good. */
#define WRAPPED_ALIGNMENT 16

/**
 * SECTION:gstvkgdrallocator
 * @title: GstVkgdrAllocator
 * @short_description: allocates memory in the window
 *
 * Memory comes in slabs that are carved up and recycled, so that an allocation
 * is cheap and takes no file descriptor. Where the window is full, memory of
 * the device beside it is taken instead, which the CPU reaches by way of pinned
 * memory and a transfer: slower, and a warning says so once. What is freed is
 * held for the next allocation, until gst_vkgdr_allocator_free_held(). The
 * figures are those of PyCUDA's `DeviceMemoryPool`.
 *
 * gst_allocator_find() knows an allocator of the default device by the name
 * %GST_VKGDR_MEMORY_NAME once gst_vkgdr_init() has been called.
 *
 * All functions may be called from any thread.
 *
 * Since: 0.1
 */

GST_DEBUG_CATEGORY_STATIC (gst_vkgdr_allocator_debug);
#define GST_CAT_DEFAULT gst_vkgdr_allocator_debug

/* Somebody to be told that the device has finished. */
typedef struct {
  GDestroyNotify notify;
  gpointer user_data;
} Release;

struct _GstVkgdrAllocator {
  GstAllocator parent;

  GMutex lock;
  GstVkgdrContext *context; /* NULL in the default one until it is needed */
  GstVkgdrHeap *heap;
  GstVkgdrPinned *pinned;
  gboolean
      overflown;    /* there was a warning that a block is not in the window */
  GQueue retired;   /* of GstVkgdrRemains, in the order of their freeing */
  GArray *released; /* of Release: see unlock () */
  GstVkgdrStream *copy_streams[2];
};

G_DEFINE_TYPE_WITH_CODE (GstVkgdrAllocator, gst_vkgdr_allocator,
    GST_TYPE_ALLOCATOR,
    GST_DEBUG_CATEGORY_INIT (
        gst_vkgdr_allocator_debug, "vkgdrallocator", 0, "vkgdr allocators"))

GType
gst_vkgdr_access_get_type (void)
{
  static gsize type = 0;
  static const GEnumValue values[] = {
    { GST_VKGDR_ACCESS_AUTO, "What costs the writer less, measured", "auto" },
    { GST_VKGDR_ACCESS_DIRECT, "Writers get a pointer into the window",
        "direct" },
    { GST_VKGDR_ACCESS_STAGED,
        "Writers get pinned memory that is sent by DMA on unmap", "staged" },
    { 0, NULL, NULL },
  };

  if (g_once_init_enter (&type))
    g_once_init_leave (
        &type, g_enum_register_static ("GstVkgdrAccess", values));
  return type;
}

/* Under the lock. */
static void
release_later (
    GstVkgdrAllocator *self, GDestroyNotify notify, gpointer user_data)
{
  Release release = { notify, user_data };

  if (notify)
    g_array_append_val (self->released, release);
}

/* Under the lock. */
static void
take_back (GstVkgdrAllocator *self, const GstVkgdrRemains *remains)
{
  if (remains->guise)
    release_later (self, (GDestroyNotify) gst_memory_unref, remains->guise);
  if (remains->block.slab)
    gst_vkgdr_heap_give (self->heap, &remains->block);
  else
    release_later (self, remains->block.release, remains->block.user_data);
  if (remains->shadow)
    gst_vkgdr_pinned_give (self->pinned, remains->shadow, NULL);
}

/* Under the lock: takes the parts back of what the device has finished with;
 * with @wait, of everything. */
static void
reap (GstVkgdrAllocator *self, gboolean wait)
{
  GList *link = self->retired.head;

  while (link) {
    GList *next = link->next;
    GstVkgdrRemains *retired = link->data;
    gboolean done = TRUE;
    guint i;

    for (i = 0; i < retired->fences->len && done; i++) {
      GstVkgdrFence *fence = g_ptr_array_index (retired->fences, i);

      if (wait)
        gst_vkgdr_fence_wait (fence, NULL);
      else
        done = gst_vkgdr_fence_is_signaled (fence);
    }
    if (done) {
      take_back (self, retired);
      g_ptr_array_unref (retired->fences);
      g_free (retired);
      g_queue_delete_link (&self->retired, link);
    }
    link = next;
  }
}

/* Unlocks, and tells those whose memory is not needed any more. Not under the
 * lock: they may use the allocator in turn, or wait for a thread that does. */
static void
unlock (GstVkgdrAllocator *self)
{
  GArray *released = NULL;
  guint i;

  if (self->released->len > 0) {
    released = self->released;
    self->released = g_array_new (FALSE, FALSE, sizeof (Release));
  }
  g_mutex_unlock (&self->lock);
  for (i = 0; released && i < released->len; i++) {
    const Release *release = &g_array_index (released, Release, i);

    release->notify (release->user_data);
  }
  g_clear_pointer (&released, g_array_unref);
}

/* By a thread: the device has finished with memory of others. */
static void
give_back (GObject *object)
{
  GstVkgdrAllocator *self = GST_VKGDR_ALLOCATOR (object);

  g_mutex_lock (&self->lock);
  reap (self, FALSE);
  unlock (self);
}

static gboolean
are_reached (GPtrArray *fences)
{
  guint i;

  for (i = 0; i < fences->len; i++)
    if (!gst_vkgdr_fence_is_signaled (g_ptr_array_index (fences, i)))
      return FALSE;
  return TRUE;
}

void
gst_vkgdr_allocator_retire (
    GstVkgdrAllocator *self, const GstVkgdrRemains *remains)
{
  GPtrArray *fences = remains->fences;

  /* Our own memory has time until somebody needs it. That of others is waited
   * for, so that they have it back though nobody uses the allocator any more;
   * not without need: a thread costs more than a look. */
  if (fences && !remains->block.slab && !are_reached (fences))
    gst_vkgdr_watch_fences (fences, G_OBJECT (self), give_back);
  g_mutex_lock (&self->lock);
  if (fences) {
    g_queue_push_tail (&self->retired, g_memdup2 (remains, sizeof (*remains)));
    reap (self, FALSE);
  } else {
    take_back (self, remains);
  }
  unlock (self);
}

/* Under the lock. */
static gboolean
ensure_heap (GstVkgdrAllocator *self, GError **error)
{
  if (self->heap)
    return TRUE;
  if (!self->context)
    self->context = gst_vkgdr_context_new (-1, error);
  if (!self->context)
    return FALSE;
  self->heap = gst_vkgdr_heap_new (self->context);
  self->pinned = gst_vkgdr_pinned_new (self->context);
  return TRUE;
}

/* Once: the same is true of every block that follows. */
static void
tell_overflow (GstVkgdrAllocator *self, const GError *reason)
{
  if (!self->overflown)
    GST_CAT_WARNING_OBJECT (GST_CAT_DEFAULT, self,
        "the window is full, and buffers from now on lie beside it: what is "
        "written to them takes a transfer. %s",
        reason->message);
  self->overflown = TRUE;
}

/* Under the lock: a block of device memory that has no host pointer. */
static gboolean
take_beside (
    GstVkgdrAllocator *self, gsize size, GstVkgdrBlock *block, GError **error)
{
  reap (self, FALSE);
  if (gst_vkgdr_heap_take (
          self->heap, GST_VKGDR_BESIDE_WINDOW, size, block, NULL))
    return TRUE;
  reap (self, TRUE);
  gst_vkgdr_heap_trim (self->heap);
  return gst_vkgdr_heap_take (
      self->heap, GST_VKGDR_BESIDE_WINDOW, size, block, error);
}

/* Once: the same is true of every block that follows. */
static void
warn_no_window (GstVkgdrAllocator *self)
{
  if (!self->overflown)
    GST_CAT_WARNING_OBJECT (GST_CAT_DEFAULT, self,
        "the device has no window, so what is written to its memory takes a "
        "transfer: %s; %s",
        gst_vkgdr_context_get_window_reason (self->context),
        gst_vkgdr_context_get_window_remedy (self->context));
  self->overflown = TRUE;
}

/* Under the lock. */
static gboolean
take_block (
    GstVkgdrAllocator *self, gsize size, GstVkgdrBlock *block, GError **error)
{
  GstVkgdrHeapStats stats;
  GError *reason = NULL;

  if (!gst_vkgdr_context_has_window (self->context)) {
    warn_no_window (self);
    return take_beside (self, size, block, error);
  }
  reap (self, FALSE);
  if (gst_vkgdr_heap_take (self->heap, GST_VKGDR_IN_WINDOW, size, block, NULL))
    return TRUE;

  GST_INFO_OBJECT (self, "out of memory: waiting for what is still in use");
  reap (self, TRUE);
  gst_vkgdr_heap_trim (self->heap);
  gst_vkgdr_pinned_trim (self->pinned);
  if (gst_vkgdr_heap_take (
          self->heap, GST_VKGDR_IN_WINDOW, size, block, &reason))
    return TRUE;
  if (gst_vkgdr_heap_take (
          self->heap, GST_VKGDR_BESIDE_WINDOW, size, block, NULL)) {
    tell_overflow (self, reason);
    g_error_free (reason);
    return TRUE;
  }

  gst_vkgdr_heap_get_stats (self->heap, &stats);
  g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_NO_MEMORY,
      "no memory for %" G_GSIZE_FORMAT " bytes: %s. This allocator has %u "
      "blocks of %" G_GUINT64_FORMAT " bytes in use, in %u slabs of "
      "%" G_GUINT64_FORMAT " bytes",
      size, reason->message, stats.active_blocks, stats.active_bytes,
      stats.slabs, stats.managed_bytes);
  g_error_free (reason);
  return FALSE;
}

static GstMemory *
alloc_memory (GstVkgdrAllocator *self, gsize size, gsize align, gsize prefix,
    gsize padding, GError **error)
{
  gsize maxsize = size + prefix + padding;
  GstVkgdrBlock block;
  gboolean ok;

  if (maxsize < size || align >= GST_VKGDR_HEAP_GRANULE) {
    g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_ARGUMENT,
        "%" G_GSIZE_FORMAT " bytes aligned to %" G_GSIZE_FORMAT
        " cannot be allocated: blocks are aligned to %d bytes",
        maxsize, align + 1, GST_VKGDR_HEAP_GRANULE);
    return NULL;
  }
  g_mutex_lock (&self->lock);
  ok = ensure_heap (self, error) && take_block (self, maxsize, &block, error);
  unlock (self);
  if (!ok)
    return NULL;
  return gst_vkgdr_memory_new (self, &block,
      gst_vkgdr_context_is_host_cached (self->context), maxsize, align, prefix,
      size);
}

/* Sets @size bytes of a block that nobody has seen yet to 0. */
static gboolean
clear (GstVkgdrAllocator *self, GstVkgdrMemory *mem, gsize offset, gsize size,
    GError **error)
{
  const GstVkgdrBlock *block = &mem->block;
  const vkgdr_cuda *cuda;
  gboolean ok;

  mem->device_valid = TRUE;
  if (block->host) {
    memset (block->host + offset, 0, size);
    return gst_vkgdr_block_flush (block, offset, size, error);
  }
  if (!gst_vkgdr_context_push (self->context, error))
    return FALSE;
  cuda = gst_vkgdr_context_get_driver (self->context);
  ok = gst_vkgdr_check (cuda,
      cuda->cuMemsetD8 (block->device + offset, 0, size), "cuMemsetD8", error);
  gst_vkgdr_context_pop (self->context);
  return ok;
}

/* The bytes around the content that the caller wants to be 0. */
static gboolean
clear_around (GstVkgdrAllocator *self, GstVkgdrMemory *memory,
    GstAllocationParams *params, GError **error)
{
  const GstMemory *mem = &memory->mem;
  gsize end = mem->offset + mem->size;

  if (mem->offset > 0 && (params->flags & GST_MEMORY_FLAG_ZERO_PREFIXED)
      && !clear (self, memory, 0, mem->offset, error))
    return FALSE;
  return mem->maxsize == end || !(params->flags & GST_MEMORY_FLAG_ZERO_PADDED)
         || clear (self, memory, end, mem->maxsize - end, error);
}

static GstMemory *
gst_vkgdr_allocator_alloc_vfunc (
    GstAllocator *allocator, gsize size, GstAllocationParams *params)
{
  GError *error = NULL;
  GstMemory *mem = alloc_memory (GST_VKGDR_ALLOCATOR (allocator), size,
      params->align, params->prefix, params->padding, &error);

  if (mem
      && !clear_around (GST_VKGDR_ALLOCATOR (allocator), (GstVkgdrMemory *) mem,
          params, &error))
    g_clear_pointer (&mem, gst_memory_unref);
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

  if (self->heap) {
    g_mutex_lock (&self->lock);
    reap (self, TRUE);
    unlock (self);
    gst_vkgdr_heap_free (self->heap);
    gst_vkgdr_pinned_unref (self->pinned);
  }
  for (i = 0; i < G_N_ELEMENTS (self->copy_streams); i++)
    gst_clear_object (&self->copy_streams[i]);
  g_array_unref (self->released);
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
  self->released = g_array_new (FALSE, FALSE, sizeof (Release));
  gst_vkgdr_memory_init_allocator (GST_ALLOCATOR (self));
  GST_OBJECT_FLAG_SET (self, GST_ALLOCATOR_FLAG_CUSTOM_ALLOC);
}

/**
 * gst_vkgdr_init:
 *
 * Registers the default allocator under %GST_VKGDR_MEMORY_NAME. Opens no
 * device: the first allocation does. The plugin calls it when it is loaded; a
 * program that uses the library by itself calls it after gst_init().
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
 * @context: (nullable): a context, or %NULL: the default device's, opened by
 *   the first allocation
 *
 * Makes an allocator that shares nothing with others. Elements use the one of
 * gst_vkgdr_context_get_allocator().
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
 * The allocator that all elements of the context share, so that they recycle
 * each other's memory.
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
 * Allocates memory like gst_allocator_alloc(), and says why it could not. The
 * content is undefined. It is aligned to 512 bytes.
 *
 * Returns: (transfer full) (nullable): the memory, or %NULL with @error set:
 *   %GST_VKGDR_ERROR_NO_MEMORY where neither the window nor the device beside
 * it has memory, telling how large the window is, how much of it is in use and
 * by what, or an error of gst_vkgdr_context_new()
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
 * gst_vkgdr_allocator_alloc_beside_window:
 * @allocator: an allocator
 * @size: bytes
 * @error: return location for a #GError
 *
 * Allocates memory of the device that the CPU cannot write to in its place, as
 * CUDA's own `cuMemAlloc` gives it: for what stays on the device, so that a
 * small window is left to frames, and for gst_vkgdr_memory_export_ipc_handle().
 * The CPU reads and writes it by way of pinned memory and a transfer. Its
 * content is undefined, and it is aligned to 512 bytes.
 *
 * Returns: (transfer full) (nullable): the memory, or %NULL with @error set:
 *   %GST_VKGDR_ERROR_NO_MEMORY where the device has none, or an error of
 *   gst_vkgdr_context_new()
 *
 * Since: 0.1
 */
GstMemory *
gst_vkgdr_allocator_alloc_beside_window (
    GstVkgdrAllocator *allocator, gsize size, GError **error)
{
  GstVkgdrBlock block;
  gboolean ok;

  g_return_val_if_fail (GST_IS_VKGDR_ALLOCATOR (allocator), NULL);

  g_mutex_lock (&allocator->lock);
  ok = ensure_heap (allocator, error)
       && take_beside (allocator, size, &block, error);
  unlock (allocator);
  if (!ok)
    return NULL;
  return gst_vkgdr_memory_new (allocator, &block, FALSE, size, 0, 0, size);
}

/**
 * gst_vkgdr_allocator_alloc_pinned:
 * @allocator: an allocator
 * @size: bytes
 * @error: return location for a #GError
 *
 * Allocates ordinary host memory that is pinned, so that DMA to and from it
 * runs at full speed. It is recycled when the memory is freed. Mapping it waits
 * for what gst_vkgdr_memory_fetch() brings.
 *
 * Returns: (transfer full) (nullable): memory that the CPU can map, or %NULL
 * with
 *   @error set
 *
 * Since: 0.1
 */
GstMemory *
gst_vkgdr_allocator_alloc_pinned (
    GstVkgdrAllocator *allocator, gsize size, GError **error)
{
  gboolean ok;

  g_return_val_if_fail (GST_IS_VKGDR_ALLOCATOR (allocator), NULL);

  g_mutex_lock (&allocator->lock);
  ok = ensure_heap (allocator, error);
  g_mutex_unlock (&allocator->lock);
  if (!ok)
    return NULL;
  return gst_vkgdr_pinned_memory_new (allocator->pinned, size, error);
}

GstVkgdrContext *
gst_vkgdr_allocator_ensure_context (
    GstVkgdrAllocator *allocator, GError **error)
{
  gboolean ok;

  g_mutex_lock (&allocator->lock);
  ok = ensure_heap (allocator, error);
  g_mutex_unlock (&allocator->lock);
  return ok ? gst_object_ref (allocator->context) : NULL;
}

/* The driver knows what lies where, and a wrong address would end the CUDA
 * context for good. */
static gboolean
check_pointer (GstVkgdrAllocator *self, CUdeviceptr pointer, GError **error)
{
  const vkgdr_cuda *cuda = gst_vkgdr_context_get_driver (self->context);
  gint ours = gst_vkgdr_context_get_device (self->context), device = -1;
  CUcontext owner = NULL;
  guint type = 0;

  if (cuda->cuPointerGetAttribute (
          &type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, pointer)
          != CUDA_SUCCESS
      || type != CU_MEMORYTYPE_DEVICE
      || cuda->cuPointerGetAttribute (
             &device, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, pointer)
             != CUDA_SUCCESS
      || device != ours) {
    g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_ARGUMENT,
        "0x%" G_GINT64_MODIFIER "x is no memory of CUDA device %d",
        (guint64) pointer, ours);
    return FALSE;
  }
  /* Memory of a CUDA memory pool belongs to no context. */
  if (cuda->cuPointerGetAttribute (
          &owner, CU_POINTER_ATTRIBUTE_CONTEXT, pointer)
          == CUDA_SUCCESS
      && owner && owner != gst_vkgdr_context_get_cuda_context (self->context)) {
    g_set_error_literal (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_ARGUMENT,
        "the memory belongs to another CUDA context: use "
        "gst_vkgdr_context_new_from_current() with that one current");
    return FALSE;
  }
  return TRUE;
}

static gboolean
check_wrapped (
    GstVkgdrAllocator *self, CUdeviceptr pointer, gsize size, GError **error)
{
  gboolean ok;

  if (size == 0 || pointer + size - 1 < pointer) {
    g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_ARGUMENT,
        "%" G_GSIZE_FORMAT " bytes cannot be wrapped", size);
    return FALSE;
  }
  if (pointer % WRAPPED_ALIGNMENT != 0) {
    g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_ARGUMENT,
        "0x%" G_GINT64_MODIFIER "x is no multiple of %d bytes, as kernels need "
        "it: wrap a copy that begins at one",
        (guint64) pointer, WRAPPED_ALIGNMENT);
    return FALSE;
  }
  if (!gst_vkgdr_context_push (self->context, error))
    return FALSE;
  ok = check_pointer (self, pointer, error)
       && check_pointer (self, pointer + size - 1, error);
  gst_vkgdr_context_pop (self->context);
  return ok;
}

/**
 * gst_vkgdr_allocator_alloc_wrapped: (skip)
 * @allocator: an allocator
 * @device_pointer: a `CUdeviceptr` to memory of the allocator's CUDA context, a
 *   multiple of 16
 * @size: bytes
 * @flags: flags of the memory; %GST_MEMORY_FLAG_READONLY keeps elements from
 *   working in place
 * @user_data: for @notify
 * @notify: (nullable): called when the memory was freed and the device has
 *   finished with it
 * @error: return location for a #GError
 *
 * Makes a memory of what somebody else has allocated on the device, without a
 * copy. It has no place in the window, so the CPU reads and writes it by way of
 * pinned memory and a transfer. Whatever is queued in the CUDA context when the
 * memory is used first is waited for. It counts in none of the allocator's
 * figures.
 *
 * @notify may be called in any thread, one of the library's own among them, and
 * may use the allocator. It is not called where this function fails.
 *
 * Returns: (transfer full) (nullable): the memory, or %NULL with @error set:
 *   %GST_VKGDR_ERROR_ARGUMENT where the range is not memory of that context, or
 *   an error of gst_vkgdr_context_new()
 *
 * Since: 0.1
 */
GstMemory *
gst_vkgdr_allocator_alloc_wrapped (GstVkgdrAllocator *allocator,
    guint64 device_pointer, gsize size, GstMemoryFlags flags,
    gpointer user_data, GDestroyNotify notify, GError **error)
{
  GstVkgdrBlock block = { .size = size,
    .device = device_pointer,
    .release = notify,
    .user_data = user_data };
  GstVkgdrMemory *memory;
  gboolean ok;

  g_return_val_if_fail (GST_IS_VKGDR_ALLOCATOR (allocator), NULL);

  g_mutex_lock (&allocator->lock);
  ok = ensure_heap (allocator, error);
  if (ok)
    reap (allocator, FALSE);
  unlock (allocator);
  if (!ok || !check_wrapped (allocator, device_pointer, size, error))
    return NULL;

  memory = (GstVkgdrMemory *) gst_vkgdr_memory_new (
      allocator, &block, FALSE, size, 0, 0, size);
  GST_MINI_OBJECT_FLAG_SET (memory, flags);
  memory->device_valid = TRUE;
  memory->order.foreign = TRUE; /* its owner sets no fences of ours */
  return GST_MEMORY_CAST (memory);
}

/**
 * gst_vkgdr_allocator_wrap: (rename-to gst_vkgdr_allocator_alloc_wrapped)
 * @allocator: an allocator
 * @device_pointer: a `CUdeviceptr` to memory of the allocator's CUDA context, a
 *   multiple of 16
 * @size: bytes
 * @flags: flags of the memory; %GST_MEMORY_FLAG_READONLY keeps elements from
 *   working in place
 * @release: (nullable) (scope async) (closure user_data): called when the
 * memory was freed and the device has finished with it
 * @user_data: for @release
 * @error: return location for a #GError
 *
 * The same as gst_vkgdr_allocator_alloc_wrapped(), for language bindings, which
 * know what belongs to a function by the order of the arguments. Makes a memory
 * of what somebody else has allocated on the device, without a copy.
 *
 * @release may be called in any thread, and is not called where this function
 * fails.
 *
 * Returns: (transfer full) (nullable): the memory, or %NULL with @error set:
 *   %GST_VKGDR_ERROR_ARGUMENT where the range is not memory of that context, or
 *   an error of gst_vkgdr_context_new()
 *
 * Since: 0.1
 */
GstMemory *
gst_vkgdr_allocator_wrap (GstVkgdrAllocator *allocator, guint64 device_pointer,
    gsize size, GstMemoryFlags flags, GstVkgdrReleaseFunc release,
    gpointer user_data, GError **error)
{
  return gst_vkgdr_allocator_alloc_wrapped (
      allocator, device_pointer, size, flags, user_data, release, error);
}

static void
get_stats (GstVkgdrAllocator *self, GstVkgdrHeapStats *stats)
{
  memset (stats, 0, sizeof (*stats));
  g_mutex_lock (&self->lock);
  if (self->heap) {
    reap (self, FALSE);
    gst_vkgdr_heap_get_stats (self->heap, stats);
  }
  unlock (self);
}

/**
 * gst_vkgdr_allocator_get_held_blocks:
 * @allocator: an allocator
 *
 * Returns: how many free blocks it holds
 *
 * Since: 0.1
 */
guint
gst_vkgdr_allocator_get_held_blocks (GstVkgdrAllocator *allocator)
{
  GstVkgdrHeapStats stats;

  g_return_val_if_fail (GST_IS_VKGDR_ALLOCATOR (allocator), 0);

  get_stats (allocator, &stats);
  return stats.held_blocks;
}

/**
 * gst_vkgdr_allocator_get_active_blocks:
 * @allocator: an allocator
 *
 * Returns: how many blocks of it are in use; one that was freed counts until
 *   the device has finished with it
 *
 * Since: 0.1
 */
guint
gst_vkgdr_allocator_get_active_blocks (GstVkgdrAllocator *allocator)
{
  GstVkgdrHeapStats stats;

  g_return_val_if_fail (GST_IS_VKGDR_ALLOCATOR (allocator), 0);

  get_stats (allocator, &stats);
  return stats.active_blocks;
}

/**
 * gst_vkgdr_allocator_get_managed_bytes:
 * @allocator: an allocator
 *
 * Returns: bytes of device memory that it has, used or held
 *
 * Since: 0.1
 */
guint64
gst_vkgdr_allocator_get_managed_bytes (GstVkgdrAllocator *allocator)
{
  GstVkgdrHeapStats stats;

  g_return_val_if_fail (GST_IS_VKGDR_ALLOCATOR (allocator), 0);

  get_stats (allocator, &stats);
  return stats.managed_bytes;
}

/**
 * gst_vkgdr_allocator_get_active_bytes:
 * @allocator: an allocator
 *
 * Returns: bytes of the blocks in use
 *
 * Since: 0.1
 */
guint64
gst_vkgdr_allocator_get_active_bytes (GstVkgdrAllocator *allocator)
{
  GstVkgdrHeapStats stats;

  g_return_val_if_fail (GST_IS_VKGDR_ALLOCATOR (allocator), 0);

  get_stats (allocator, &stats);
  return stats.active_bytes;
}

static void
count_pinned (GstVkgdrAllocator *self, guint *n_held, guint *n_active)
{
  *n_held = *n_active = 0;
  g_mutex_lock (&self->lock);
  if (self->pinned) {
    reap (self, FALSE);
    gst_vkgdr_pinned_count (self->pinned, n_held, n_active);
  }
  unlock (self);
}

/**
 * gst_vkgdr_allocator_get_pinned_held_blocks:
 * @allocator: an allocator
 *
 * Returns: how many free blocks of pinned host memory it holds
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
 * Returns: how many blocks of its pinned host memory are in use: those of
 *   gst_vkgdr_allocator_alloc_pinned(), and the staging buffers of its memory
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
 * Frees the slabs in which nothing is in use, and the pinned memory that is
 * kept. It goes on holding what is freed later.
 *
 * Since: 0.1
 */
void
gst_vkgdr_allocator_free_held (GstVkgdrAllocator *allocator)
{
  g_return_if_fail (GST_IS_VKGDR_ALLOCATOR (allocator));

  g_mutex_lock (&allocator->lock);
  if (allocator->heap) {
    reap (allocator, FALSE);
    gst_vkgdr_heap_trim (allocator->heap);
    gst_vkgdr_pinned_trim (allocator->pinned);
  }
  unlock (allocator);
}

/**
 * gst_vkgdr_allocator_stop_holding:
 * @allocator: an allocator
 *
 * Like gst_vkgdr_allocator_free_held(), and from now on a slab is freed with
 * the last block in it.
 *
 * Since: 0.1
 */
void
gst_vkgdr_allocator_stop_holding (GstVkgdrAllocator *allocator)
{
  g_return_if_fail (GST_IS_VKGDR_ALLOCATOR (allocator));

  g_mutex_lock (&allocator->lock);
  if (ensure_heap (allocator, NULL)) {
    reap (allocator, FALSE);
    gst_vkgdr_heap_stop_holding (allocator->heap);
    gst_vkgdr_pinned_trim (allocator->pinned);
  }
  unlock (allocator);
}

GstVkgdrStream *
gst_vkgdr_allocator_get_copy_stream (
    GstVkgdrAllocator *self, GstVkgdrDirection direction, GError **error)
{
  GstVkgdrStream *stream;

  g_mutex_lock (&self->lock);
  if (!self->copy_streams[direction])
    self->copy_streams[direction] = gst_vkgdr_stream_new (self->context, error);
  stream = self->copy_streams[direction];
  g_mutex_unlock (&self->lock);
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
