/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * memory/allocator.c: allocates memories, and recycles their parts
 *
 * Combines the heap, the backings, the pinned memory and the copy streams of a
 * context. What a memory does while it lives is in memory/memory.c.
 */

#include <string.h>

#include "memory/memory.h"

/* Bytes that a device pointer of others is a multiple of: those of the widest
 * load that a kernel has. An address that does not fit a load ends the CUDA
 * context for good. */
#define WRAPPED_ALIGNMENT 16

/**
 * SECTION:gstvkgdrallocator
 * @title: GstVkgdrAllocator
 * @short_description: allocates memory of a device
 *
 * Memory lies in the window, the part of GPU memory that the CPU can address.
 * If there is no window, or it is full, device-only memory is used instead: the
 * CPU reaches it through a staging buffer and a transfer, and a warning says so
 * once.
 *
 * Small memories share allocations of the driver, so that they are cheap and
 * take no file descriptor each. What is freed is held for the next allocation.
 * After some seconds without use it goes back to the driver, or when
 * gst_vkgdr_allocator_free_held() is called. The figures are those of PyCUDA's
 * `DeviceMemoryPool`.
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

/* Microseconds after which a slab that no memory is in goes back to the driver:
 * long enough for a pipeline to be stopped and started again. */
#define IDLE_TIME (10 * G_TIME_SPAN_SECOND)

/* Microseconds that an allocation waits for memory that is being given back,
 * when there is no more. */
#define DRAIN_TIME (2 * G_TIME_SPAN_SECOND)

struct _GstVkgdrAllocator {
  GstAllocator parent;

  GMutex lock; /* for what follows; no driver is called with it held */
  GstVkgdrContext *context; /* NULL in the default one until it is needed */
  GstVkgdrHeap *heap;
  GstVkgdrPinned *pinned;
  GstVkgdrStream *copy_streams[2];
  GQueue retired; /* of GstVkgdrRemains, in the order of their freeing */
  GQueue lost;    /* the same, of which nobody knows whether they are used */
  gboolean stops_holding; /* slabs are freed with their last block */
  gboolean has_timer;     /* a look for idle slabs is due */
  gboolean warned;        /* that memory without a host pointer is used */
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

/* --- idle slabs ------------------------------------------------------------
 */

/* Without the lock. */
static void
free_allocations (GPtrArray *allocations)
{
  guint i;

  for (i = 0; allocations && i < allocations->len; i++)
    gst_vkgdr_allocation_free (g_ptr_array_index (allocations, i));
  g_clear_pointer (&allocations, g_ptr_array_unref);
}

static void start_timer (GstVkgdrAllocator *self);

/* In the context's reclaiming thread. */
static void
look_for_idle (gpointer user_data)
{
  GWeakRef *weak = user_data;
  GstVkgdrAllocator *self = g_weak_ref_get (weak);
  GPtrArray *idle;

  g_weak_ref_clear (weak);
  g_free (weak);
  if (!self)
    return;
  g_mutex_lock (&self->lock);
  idle = gst_vkgdr_heap_remove_idle (
      self->heap, g_get_monotonic_time () - IDLE_TIME);
  self->has_timer = FALSE;
  start_timer (self);
  g_mutex_unlock (&self->lock);
  free_allocations (idle);
  gst_object_unref (self);
}

/* With the lock held: makes sure that idle slabs are looked for. */
static void
start_timer (GstVkgdrAllocator *self)
{
  GWeakRef *weak;

  if (self->has_timer || !gst_vkgdr_heap_has_idle (self->heap))
    return;
  weak = g_new0 (GWeakRef, 1);
  g_weak_ref_init (weak, self);
  self->has_timer =
      gst_vkgdr_reclaim_later (self->context, IDLE_TIME, look_for_idle, weak);
  if (self->has_timer)
    return;
  g_weak_ref_clear (weak);
  g_free (weak);
}

/* --- what is freed ---------------------------------------------------------
 */

/* Without the lock: the device has finished with the parts. */
static void
recycle (GstVkgdrAllocator *self, const GstVkgdrRemains *remains)
{
  GPtrArray *idle = NULL;

  if (remains->cuda_wrapper)
    gst_memory_unref (remains->cuda_wrapper);
  if (remains->staging)
    gst_vkgdr_pinned_give (self->pinned, remains->staging, NULL);
  if (!remains->block.slab) {
    gst_vkgdr_allocation_free (remains->block.allocation);
    return;
  }
  g_mutex_lock (&self->lock);
  gst_vkgdr_heap_give (self->heap, &remains->block);
  if (self->stops_holding)
    idle = gst_vkgdr_heap_remove_idle (self->heap, G_MAXINT64);
  start_timer (self);
  g_mutex_unlock (&self->lock);
  free_allocations (idle);
}

static void
remains_free (GstVkgdrRemains *remains)
{
  g_clear_pointer (&remains->fences, g_ptr_array_unref);
  g_free (remains);
}

/* The worst of the fences' states. */
static GstVkgdrFenceState
get_state (GPtrArray *fences)
{
  GstVkgdrFenceState state = GST_VKGDR_FENCE_REACHED;
  guint i;

  for (i = 0; i < fences->len; i++) {
    GstVkgdrFenceState of_one =
        gst_vkgdr_fence_get_state (g_ptr_array_index (fences, i), NULL);

    if (of_one == GST_VKGDR_FENCE_LOST)
      return of_one;
    if (of_one == GST_VKGDR_FENCE_PENDING)
      state = of_one;
  }
  return state;
}

/* With the lock held: moves to @finished what the device has finished with.
 * What nobody knows of is not used again. */
static void
take_finished (GstVkgdrAllocator *self, GQueue *finished)
{
  GList *link = self->retired.head;

  while (link) {
    GList *next = link->next;
    GstVkgdrRemains *remains = link->data;
    GstVkgdrFenceState state = get_state (remains->fences);

    if (state != GST_VKGDR_FENCE_PENDING) {
      g_queue_unlink (&self->retired, link);
      g_queue_push_tail_link (
          state == GST_VKGDR_FENCE_LOST ? &self->lost : finished, link);
    }
    link = next;
  }
}

/* Without the lock: recycles what the device has finished with. */
static void
reap (GstVkgdrAllocator *self)
{
  GQueue finished = G_QUEUE_INIT;
  GstVkgdrRemains *remains;

  g_mutex_lock (&self->lock);
  take_finished (self, &finished);
  g_mutex_unlock (&self->lock);
  while ((remains = g_queue_pop_head (&finished))) {
    recycle (self, remains);
    remains_free (remains);
  }
}

/* Without the lock: waits until the device has finished with all that was freed
 * so far, and recycles it. */
static void
wait_and_reap (GstVkgdrAllocator *self)
{
  GPtrArray *fences =
      g_ptr_array_new_with_free_func ((GDestroyNotify) gst_vkgdr_fence_unref);
  GList *link;
  guint i;

  g_mutex_lock (&self->lock);
  for (link = self->retired.head; link; link = link->next) {
    const GstVkgdrRemains *remains = link->data;

    for (i = 0; i < remains->fences->len; i++)
      g_ptr_array_add (
          fences, gst_vkgdr_fence_ref (g_ptr_array_index (remains->fences, i)));
  }
  g_mutex_unlock (&self->lock);
  /* One wait that is given up is enough: a kernel does not end. */
  for (i = 0; i < fences->len; i++)
    if (!gst_vkgdr_fence_wait (g_ptr_array_index (fences, i), NULL)
        && !gst_vkgdr_fence_is_lost (g_ptr_array_index (fences, i)))
      break;
  g_ptr_array_unref (fences);
  reap (self);
}

/* Parts that the reclaiming thread recycles. */
typedef struct {
  GstVkgdrAllocator *allocator; /* a reference */
  GstVkgdrRemains remains;
} Retired;

static void
recycle_retired (gpointer user_data)
{
  Retired *retired = user_data;

  if (!retired->remains.on_context
      || gst_vkgdr_context_synchronize (retired->allocator->context, NULL))
    recycle (retired->allocator, &retired->remains);
  gst_object_unref (retired->allocator);
  g_free (retired);
}

void
gst_vkgdr_allocator_retire (
    GstVkgdrAllocator *self, const GstVkgdrRemains *remains)
{
  GPtrArray *fences = remains->fences;
  gboolean is_finished =
      !remains->on_context
      && (!fences || get_state (fences) == GST_VKGDR_FENCE_REACHED);
  Retired *retired;

  if (is_finished) {
    recycle (self, remains);
    g_clear_pointer (&fences, g_ptr_array_unref);
  } else if (remains->block.slab && !remains->on_context) {
    /* This library's own memory has time until somebody needs it. */
    g_mutex_lock (&self->lock);
    g_queue_push_tail (&self->retired, g_memdup2 (remains, sizeof (*remains)));
    g_mutex_unlock (&self->lock);
  } else {
    /* The owner of the memory gets it back even if nobody uses the allocator.
     */
    retired = g_new0 (Retired, 1);
    retired->allocator = gst_object_ref (self);
    retired->remains = *remains;
    retired->remains.fences = NULL;
    gst_vkgdr_reclaim (self->context, fences, recycle_retired, retired);
  }
}

/* --- what is allocated -----------------------------------------------------
 */

static GPrivate current_owner; /* GstVkgdrDemand of this thread, or NULL */

gconstpointer
gst_vkgdr_allocator_new_owner (void)
{
  static gsize last = 0;

  return (gconstpointer) (g_atomic_pointer_add (&last, 1) + 1);
}

void
gst_vkgdr_allocator_begin_owner (gconstpointer owner, guint n_blocks)
{
  GstVkgdrDemand *demand = g_new0 (GstVkgdrDemand, 1);

  demand->owner = owner;
  demand->n_blocks = n_blocks;
  g_private_set (&current_owner, demand);
}

void
gst_vkgdr_allocator_end_owner (void)
{
  g_free (g_private_get (&current_owner));
  g_private_set (&current_owner, NULL);
}

/* Opens the default device, if no context was given. Not with the lock held,
 * which other threads need meanwhile; two threads may do it, and one wins. */
static gboolean
ensure_open (GstVkgdrAllocator *self, GError **error)
{
  GstVkgdrContext *context;
  gboolean is_open;

  g_mutex_lock (&self->lock);
  is_open = self->heap != NULL;
  context = self->context ? gst_object_ref (self->context) : NULL;
  g_mutex_unlock (&self->lock);
  if (!is_open && !context)
    context = gst_vkgdr_context_new (-1, error);
  if (!context)
    return FALSE;

  g_mutex_lock (&self->lock);
  if (!self->heap) {
    if (!self->context)
      self->context = gst_object_ref (context);
    self->heap = gst_vkgdr_heap_new ();
    self->pinned = gst_vkgdr_pinned_new (self->context);
  }
  g_mutex_unlock (&self->lock);
  gst_object_unref (context);
  return TRUE;
}

static gboolean
take_from_heap (GstVkgdrAllocator *self, const GstVkgdrBacking *backing,
    gsize size, const GstVkgdrDemand *demand, GstVkgdrBlock *block)
{
  gboolean found;

  g_mutex_lock (&self->lock);
  found = gst_vkgdr_heap_take (self->heap, backing, size, demand, block);
  g_mutex_unlock (&self->lock);
  return found;
}

/* Makes a new slab, and takes a block from it. */
static gboolean
grow (GstVkgdrAllocator *self, const GstVkgdrBacking *backing, gsize size,
    const GstVkgdrDemand *demand, gboolean is_tight, GstVkgdrBlock *block,
    GError **error)
{
  GstVkgdrAllocation *allocation;
  gsize wanted;

  g_mutex_lock (&self->lock);
  wanted = gst_vkgdr_heap_slab_size (self->heap, size, demand, is_tight);
  g_mutex_unlock (&self->lock);
  allocation = gst_vkgdr_allocation_new (backing, self->context, wanted, error);
  if (!allocation)
    return FALSE;
  GST_DEBUG_OBJECT (
      self, "a slab of %" G_GSIZE_FORMAT " bytes, %s", wanted, backing->name);
  g_mutex_lock (&self->lock);
  gst_vkgdr_heap_add (self->heap, allocation, size, demand, block);
  g_mutex_unlock (&self->lock);
  return TRUE;
}

/* Gives back what is held, and waits for what is in use and freed already. */
static void
make_room (GstVkgdrAllocator *self)
{
  GPtrArray *idle;

  GST_INFO_OBJECT (self, "out of memory: waiting for what is being freed");
  wait_and_reap (self);
  g_mutex_lock (&self->lock);
  idle = gst_vkgdr_heap_remove_idle (self->heap, G_MAXINT64);
  g_mutex_unlock (&self->lock);
  free_allocations (idle);
  gst_vkgdr_pinned_trim (self->pinned);
  gst_vkgdr_reclaim_drain (self->context, DRAIN_TIME);
}

static gboolean
take_of_backing (GstVkgdrAllocator *self, const GstVkgdrBacking *backing,
    gsize size, const GstVkgdrDemand *demand, GstVkgdrBlock *block,
    GError **error)
{
  if (take_from_heap (self, backing, size, demand, block)
      || grow (self, backing, size, demand, FALSE, block, NULL))
    return TRUE;
  make_room (self);
  return take_from_heap (self, backing, size, demand, block)
         || grow (self, backing, size, demand, FALSE, block, NULL)
         || grow (self, backing, size, demand, TRUE, block, error);
}

/* Once: the same is true of every block that follows. Without @full, there is
 * no window. */
static void
warn_of_staging (GstVkgdrAllocator *self, const GError *full)
{
  gboolean first;

  g_mutex_lock (&self->lock);
  first = !self->warned;
  self->warned = TRUE;
  g_mutex_unlock (&self->lock);
  if (!first)
    return;
  if (full)
    GST_CAT_WARNING_OBJECT (GST_CAT_DEFAULT, self,
        "the window is full. Buffers from now on do not lie in it, and what is "
        "written to them takes a transfer. %s",
        full->message);
  else
    GST_CAT_WARNING_OBJECT (GST_CAT_DEFAULT, self,
        "the device has no window, so what is written to its memory takes a "
        "transfer: %s; %s",
        gst_vkgdr_context_get_window_reason (self->context),
        gst_vkgdr_context_get_window_remedy (self->context));
}

static void
set_no_memory (
    GstVkgdrAllocator *self, gsize size, const GError *reason, GError **error)
{
  gboolean has_window = gst_vkgdr_context_has_window (self->context);
  GstVkgdrHeapStats stats;

  g_mutex_lock (&self->lock);
  gst_vkgdr_heap_get_stats (self->heap, &stats);
  g_mutex_unlock (&self->lock);
  g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_NO_MEMORY,
      "no memory for %" G_GSIZE_FORMAT " bytes: %s. This allocator has %u "
      "blocks of %" G_GUINT64_FORMAT " bytes in use, in %u slabs of "
      "%" G_GUINT64_FORMAT " bytes%s%s",
      size, reason->message, stats.active_blocks, stats.active_bytes,
      stats.slabs, stats.managed_bytes,
      has_window ? "" : ". The device has no window: ",
      has_window ? "" : gst_vkgdr_context_get_window_reason (self->context));
}

static gboolean
check_size (gsize size, GError **error)
{
  if (size <= G_MAXSIZE / 2)
    return TRUE;
  g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_NO_MEMORY,
      "%" G_GSIZE_FORMAT " bytes are more than can be addressed", size);
  return FALSE;
}

/* In the window if there is room, else anywhere on the device. */
static gboolean
take_block (GstVkgdrAllocator *self, gsize size, const GstVkgdrDemand *demand,
    GstVkgdrBlock *block, GError **error)
{
  GError *reason = NULL;
  gboolean ok;

  if (!check_size (size, error))
    return FALSE;
  reap (self);
  if (gst_vkgdr_context_has_window (self->context)
      && take_of_backing (
          self, &gst_vkgdr_backing_window, size, demand, block, &reason))
    return TRUE;
  ok = take_of_backing (self, &gst_vkgdr_backing_device, size, demand, block,
      reason ? NULL : &reason);
  if (ok)
    warn_of_staging (self, reason);
  else
    set_no_memory (self, size, reason, error);
  g_clear_error (&reason);
  return ok;
}

static GstMemory *
alloc_memory (GstVkgdrAllocator *self, gsize size, gsize align, gsize prefix,
    gsize padding, GError **error)
{
  const GstVkgdrDemand *owner = g_private_get (&current_owner);
  GstVkgdrDemand demand = owner ? *owner : (GstVkgdrDemand){ NULL, 1 };
  gsize maxsize = size + prefix + padding;
  GstVkgdrBlock block;

  if (maxsize < size || align >= GST_VKGDR_HEAP_GRANULE) {
    g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_ARGUMENT,
        "%" G_GSIZE_FORMAT " bytes aligned to %" G_GSIZE_FORMAT
        " cannot be allocated: blocks are aligned to %d bytes",
        maxsize, align + 1, GST_VKGDR_HEAP_GRANULE);
    return NULL;
  }
  if (!ensure_open (self, error)
      || !take_block (self, maxsize, &demand, &block, error))
    return NULL;
  return gst_vkgdr_memory_new (self, &block, maxsize, align, prefix, size);
}

/* Sets @size bytes of a new block to 0. */
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

/* What the device may still use is freed in another thread, or never. */
static void
free_lost (GstVkgdrAllocator *self)
{
  GstVkgdrRemains *remains;

  while ((remains = g_queue_pop_head (&self->lost))) {
    if (gst_vkgdr_context_synchronize (self->context, NULL))
      recycle (self, remains);
    remains_free (remains);
  }
}

static void
gst_vkgdr_allocator_finalize (GObject *object)
{
  GstVkgdrAllocator *self = GST_VKGDR_ALLOCATOR (object);
  guint i;

  if (self->heap) {
    self->stops_holding = TRUE;
    wait_and_reap (self);
    free_lost (self);
    free_allocations (gst_vkgdr_heap_remove_idle (self->heap, G_MAXINT64));
    gst_vkgdr_heap_free (self->heap);
    gst_vkgdr_pinned_unref (self->pinned);
  }
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
 *   %GST_VKGDR_ERROR_NO_MEMORY if the device has no memory left, telling how
 *   large the window is and how much of it is in use, or an error of
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
 * Allocates memory as gst_vkgdr_allocator_alloc() does, but in an allocation of
 * the driver that no other memory shares, so that
 * gst_vkgdr_memory_export_fd() can export it. Large memories always are; small
 * ones take more room so.
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
  GstMemory *memory;

  g_return_val_if_fail (GST_IS_VKGDR_ALLOCATOR (allocator), NULL);

  gst_vkgdr_allocator_begin_owner (gst_vkgdr_allocator_new_owner (), 1);
  memory = alloc_memory (allocator, size, 0, 0, 0, error);
  gst_vkgdr_allocator_end_owner ();
  return memory;
}

/**
 * gst_vkgdr_allocator_alloc_beside_window:
 * @allocator: an allocator
 * @size: bytes
 * @error: return location for a #GError
 *
 * Allocates memory that the CPU cannot address, as CUDA's own `cuMemAlloc`
 * gives it: for data that stays on the device, so that a small window is left
 * to frames, and for gst_vkgdr_memory_export_ipc_handle(). The CPU reads and
 * writes it through a staging buffer and a transfer. Its content is undefined,
 * and it is aligned to 512 bytes.
 *
 * Returns: (transfer full) (nullable): the memory, or %NULL with @error set:
 *   %GST_VKGDR_ERROR_NO_MEMORY if the device has none, or an error of
 *   gst_vkgdr_context_new()
 *
 * Since: 0.1
 */
GstMemory *
gst_vkgdr_allocator_alloc_beside_window (
    GstVkgdrAllocator *allocator, gsize size, GError **error)
{
  const GstVkgdrDemand demand = { NULL, 1 };
  GstVkgdrBlock block;

  g_return_val_if_fail (GST_IS_VKGDR_ALLOCATOR (allocator), NULL);

  if (!check_size (size, error) || !ensure_open (allocator, error))
    return NULL;
  reap (allocator);
  if (!take_of_backing (
          allocator, &gst_vkgdr_backing_device, size, &demand, &block, error))
    return NULL;
  return gst_vkgdr_memory_new (allocator, &block, size, 0, 0, size);
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
  g_return_val_if_fail (GST_IS_VKGDR_ALLOCATOR (allocator), NULL);

  if (!ensure_open (allocator, error))
    return NULL;
  return gst_vkgdr_pinned_memory_new (allocator->pinned, size, error);
}

GstVkgdrContext *
gst_vkgdr_allocator_ensure_context (
    GstVkgdrAllocator *allocator, GError **error)
{
  return ensure_open (allocator, error) ? gst_object_ref (allocator->context)
                                        : NULL;
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
  GstVkgdrMemory *memory;

  g_return_val_if_fail (GST_IS_VKGDR_ALLOCATOR (allocator), NULL);

  if (!ensure_open (allocator, error)
      || !check_wrapped (allocator, device_pointer, size, error))
    return NULL;
  reap (allocator);
  memory = (GstVkgdrMemory *) gst_vkgdr_allocator_wrap_allocation (allocator,
      gst_vkgdr_allocation_new_wrapped (
          allocator->context, device_pointer, size, user_data, notify),
      0, size);
  GST_MINI_OBJECT_FLAG_SET (memory, flags);
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
  gboolean is_open;

  memset (stats, 0, sizeof (*stats));
  g_mutex_lock (&self->lock);
  is_open = self->heap != NULL;
  g_mutex_unlock (&self->lock);
  if (!is_open)
    return;
  reap (self);
  g_mutex_lock (&self->lock);
  gst_vkgdr_heap_get_stats (self->heap, stats);
  g_mutex_unlock (&self->lock);
}

/**
 * gst_vkgdr_allocator_get_held_blocks:
 * @allocator: an allocator
 *
 * Returns: how many blocks it holds that were freed and can be reused
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
  gboolean is_open;

  *n_held = *n_active = 0;
  g_mutex_lock (&self->lock);
  is_open = self->heap != NULL;
  g_mutex_unlock (&self->lock);
  if (!is_open)
    return;
  reap (self);
  gst_vkgdr_pinned_count (self->pinned, n_held, n_active);
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

/* Without the lock: gives back all that is held. */
static void
free_held (GstVkgdrAllocator *self)
{
  GPtrArray *idle;

  reap (self);
  g_mutex_lock (&self->lock);
  idle = gst_vkgdr_heap_remove_idle (self->heap, G_MAXINT64);
  g_mutex_unlock (&self->lock);
  free_allocations (idle);
  gst_vkgdr_pinned_trim (self->pinned);
}

/**
 * gst_vkgdr_allocator_free_held:
 * @allocator: an allocator
 *
 * Gives the memory back to the driver in which nothing is in use, and the
 * pinned memory that is kept. The driver frees it in another thread when the
 * device is idle. The allocator goes on holding what is freed later.
 *
 * Since: 0.1
 */
void
gst_vkgdr_allocator_free_held (GstVkgdrAllocator *allocator)
{
  gboolean is_open;

  g_return_if_fail (GST_IS_VKGDR_ALLOCATOR (allocator));

  g_mutex_lock (&allocator->lock);
  is_open = allocator->heap != NULL;
  g_mutex_unlock (&allocator->lock);
  if (is_open)
    free_held (allocator);
}

/**
 * gst_vkgdr_allocator_stop_holding:
 * @allocator: an allocator
 *
 * As gst_vkgdr_allocator_free_held(), and from now on memory goes back to the
 * driver as soon as nothing of it is in use.
 *
 * Since: 0.1
 */
void
gst_vkgdr_allocator_stop_holding (GstVkgdrAllocator *allocator)
{
  g_return_if_fail (GST_IS_VKGDR_ALLOCATOR (allocator));

  if (!ensure_open (allocator, NULL))
    return;
  g_mutex_lock (&allocator->lock);
  allocator->stops_holding = TRUE;
  g_mutex_unlock (&allocator->lock);
  free_held (allocator);
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
  gst_clear_object (&made); /* another thread was faster */
  return stream;
}

GstMemory *
gst_vkgdr_allocator_wrap_allocation (GstVkgdrAllocator *self,
    GstVkgdrAllocation *allocation, gsize offset, gsize size)
{
  GstVkgdrBlock block = { .allocation = allocation,
    .offset = offset,
    .size = size,
    .host = allocation->host ? allocation->host + offset : NULL,
    .device = allocation->device + offset };
  GstVkgdrMemory *memory =
      (GstVkgdrMemory *) gst_vkgdr_memory_new (self, &block, size, 0, 0, size);

  memory->device_valid = TRUE;
  /* Its owner sets no fences. */
  gst_vkgdr_order_mark (&memory->order, NULL, GST_MAP_WRITE);
  return GST_MEMORY_CAST (memory);
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
