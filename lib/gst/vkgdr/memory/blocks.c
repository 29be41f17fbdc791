/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * memory/blocks.c: allocates blocks from slabs, and recycles them when the
 * device has finished with them
 */

#include "memory/allocator.h"

#define GST_CAT_DEFAULT gst_vkgdr_allocator_debug

/* Microseconds after which an empty slab goes back to the driver: long enough
 * for a pipeline to be stopped and started again. */
#define IDLE_TIME (10 * G_TIME_SPAN_SECOND)

/* Microseconds for which an allocation waits for memory that is being freed, if
 * there is no other memory. */
#define DRAIN_TIME (2 * G_TIME_SPAN_SECOND)

/* Microseconds after which a driver that could not be queried is queried again.
 */
#define RETRY_TIME (G_TIME_SPAN_SECOND / 2)

/* A window of at most this size in bytes is divided among the pools. A larger
 * window has room for all pools. Without Resizable BAR, windows have 256 MiB.
 */
#define SMALL_WINDOW (1024 * 1024 * 1024)

/* --- idle slabs ------------------------------------------------------------
 */

/* Must be called without the lock. */
static void
free_allocations (GPtrArray *allocations)
{
  guint i;

  for (i = 0; allocations && i < allocations->len; i++)
    gst_vkgdr_allocation_free (g_ptr_array_index (allocations, i));
  g_clear_pointer (&allocations, g_ptr_array_unref);
}

void
gst_vkgdr_allocator_lock_heap (GstVkgdrAllocator *self)
{
  g_mutex_lock (&self->lock);
  gst_vkgdr_spares_empty (&self->spares, self->heap);
}

static void start_timer (GstVkgdrAllocator *self);
static void recycle_lost_later (GstVkgdrAllocator *self);

/* Runs in the context's reclaim thread. */
static void
free_idle_slabs (gpointer user_data)
{
  GWeakRef *weak = user_data;
  GstVkgdrAllocator *self = g_weak_ref_get (weak);
  GPtrArray *idle;

  g_weak_ref_clear (weak);
  g_free (weak);
  if (!self)
    return;
  gst_vkgdr_allocator_reap (self);
  recycle_lost_later (self);
  gst_vkgdr_allocator_lock_heap (self);
  idle = gst_vkgdr_heap_remove_idle (
      self->heap, g_get_monotonic_time () - IDLE_TIME);
  g_atomic_int_set (&self->has_timer, FALSE);
  start_timer (self);
  g_mutex_unlock (&self->lock);
  free_allocations (idle);
  gst_object_unref (self);
}

/* Must be called with the lock held. Starts the timer for idle slabs, and for
 * slabs that will be idle when the device has finished with them, or is known
 * to have finished. Does nothing if the timer is running. */
static void
start_timer (GstVkgdrAllocator *self)
{
  GWeakRef *weak;

  if (self->has_timer
      || (gst_vkgdr_spares_is_empty (&self->spares)
          && g_queue_is_empty (&self->retired) && g_queue_is_empty (&self->lost)
          && !gst_vkgdr_heap_has_idle (self->heap)))
    return;
  gst_vkgdr_spares_reset_use (&self->spares, g_get_monotonic_time ());
  weak = g_new0 (GWeakRef, 1);
  g_weak_ref_init (weak, self);
  if (gst_vkgdr_reclaim_later (
          self->context, IDLE_TIME, free_idle_slabs, weak)) {
    g_atomic_int_set (&self->has_timer, TRUE);
    return;
  }
  g_weak_ref_clear (weak);
  g_free (weak);
}

/* --- freed memory ----------------------------------------------------------
 */

/* Must be called after blocks were given to the heap, or spare memories were
 * kept. Must be called with the lock held, which is released. */
static void
unlock_after_give (GstVkgdrAllocator *self)
{
  GPtrArray *idle = NULL;

  if (self->stops_holding) {
    gst_vkgdr_spares_empty (&self->spares, self->heap);
    idle = gst_vkgdr_heap_remove_idle (self->heap, G_MAXINT64);
  }
  start_timer (self);
  g_mutex_unlock (&self->lock);
  free_allocations (idle);
}

/* Must be called without the lock. The device must have finished with the
 * parts. */
static void
recycle (GstVkgdrAllocator *self, const GstVkgdrRemains *remains)
{
  if (remains->cuda_wrapper)
    gst_memory_unref (remains->cuda_wrapper);
  if (remains->staging)
    gst_vkgdr_pinned_give (self->pinned, remains->staging, NULL);
  if (!remains->block.slab) {
    gst_vkgdr_allocation_free (remains->block.allocation);
    return;
  }
  g_mutex_lock (&self->lock);
  gst_vkgdr_heap_give (self->heap, &remains->block, 0);
  unlock_after_give (self);
}

static void
remains_free (GstVkgdrRemains *remains)
{
  g_clear_pointer (&remains->fences, g_ptr_array_unref);
  g_free (remains);
}

static void
add_fences (GPtrArray *all, GPtrArray *fences)
{
  guint i;

  for (i = 0; i < fences->len; i++)
    g_ptr_array_add (all, gst_vkgdr_fence_ref (g_ptr_array_index (fences, i)));
}

/* The worst state among the fences. */
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

/* Must be called with the lock held. Moves parts that the device has finished
 * with to @finished, and parts with lost fences to `lost`. */
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

/* Must be called without the lock. */
static void
recycle_all (GstVkgdrAllocator *self, GQueue *finished)
{
  GstVkgdrRemains *remains;

  while ((remains = g_queue_pop_head (finished))) {
    recycle (self, remains);
    remains_free (remains);
  }
}

void
gst_vkgdr_allocator_reap (GstVkgdrAllocator *self)
{
  GQueue finished = G_QUEUE_INIT;

  g_mutex_lock (&self->lock);
  take_finished (self, &finished);
  g_mutex_unlock (&self->lock);
  recycle_all (self, &finished);
}

/* Runs in the reclaim thread. Recycles the parts with lost fences if the device
 * has finished all its work. */
static void
recycle_lost (gpointer allocator)
{
  GstVkgdrAllocator *self = allocator;
  GQueue lost;

  g_mutex_lock (&self->lock);
  lost = self->lost; /* parts that are added later may be in use later */
  g_queue_init (&self->lost);
  g_mutex_unlock (&self->lock);
  if (gst_vkgdr_reclaim_is_device_idle (self->context))
    recycle_all (self, &lost);
  g_mutex_lock (&self->lock);
  while (!g_queue_is_empty (&lost))
    g_queue_push_head_link (&self->lost, g_queue_pop_tail_link (&lost));
  self->checks_lost = FALSE;
  start_timer (self);
  g_mutex_unlock (&self->lock);
  gst_object_unref (self);
}

/* Must be called without the lock. */
static void
recycle_lost_later (GstVkgdrAllocator *self)
{
  gboolean needed;

  g_mutex_lock (&self->lock);
  needed = !self->checks_lost && !g_queue_is_empty (&self->lost);
  self->checks_lost = self->checks_lost || needed;
  g_mutex_unlock (&self->lock);
  if (needed)
    gst_vkgdr_reclaim (
        self->context, NULL, recycle_lost, gst_object_ref (self));
}

/* Must be called without the lock. Returns the fences of all parts that the
 * device may still use. */
static GPtrArray *
get_retired_fences (GstVkgdrAllocator *self)
{
  GPtrArray *fences =
      g_ptr_array_new_with_free_func ((GDestroyNotify) gst_vkgdr_fence_unref);
  GList *link;

  g_mutex_lock (&self->lock);
  for (link = self->retired.head; link; link = link->next)
    add_fences (fences, ((GstVkgdrRemains *) link->data)->fences);
  g_mutex_unlock (&self->lock);
  return fences;
}

/* Must be called without the lock. Waits until the device has finished with all
 * parts that were freed so far, and recycles them. */
static void
wait_and_reap (GstVkgdrAllocator *self)
{
  GPtrArray *fences = get_retired_fences (self);
  guint i;

  /* If a wait fails, a kernel does not end, and other waits would fail, too. */
  for (i = 0; i < fences->len; i++)
    if (!gst_vkgdr_fence_wait (g_ptr_array_index (fences, i), NULL)
        && gst_vkgdr_fence_get_state (g_ptr_array_index (fences, i), NULL)
               != GST_VKGDR_FENCE_LOST)
      break;
  g_ptr_array_unref (fences);
  gst_vkgdr_allocator_reap (self);
}

static void
reap_and_unref (gpointer allocator)
{
  gst_vkgdr_allocator_reap (allocator);
  recycle_lost_later (allocator);
  gst_object_unref (allocator);
}

/* Must be called without the lock. The reclaim thread recycles the parts behind
 * @fences (taken) as soon as the device has finished with them. */
static void
reap_behind (GstVkgdrAllocator *self, GPtrArray *fences)
{
  gst_vkgdr_reclaim (
      self->context, fences, reap_and_unref, gst_object_ref (self));
}

void
gst_vkgdr_allocator_reap_soon (GstVkgdrAllocator *self)
{
  GPtrArray *fences = get_retired_fences (self);

  if (fences->len > 0)
    reap_behind (self, fences);
  else
    g_ptr_array_unref (fences);
}

/* Keeps parts of this library's own memory until they are needed, or until the
 * timer recycles them. */
static void
keep_retired (GstVkgdrAllocator *self, const GstVkgdrRemains *remains)
{
  GPtrArray *fences = NULL;

  g_mutex_lock (&self->lock);
  g_queue_push_tail (&self->retired, g_memdup2 (remains, sizeof (*remains)));
  if (self->stops_holding)
    fences = g_ptr_array_ref (remains->fences);
  else
    start_timer (self);
  g_mutex_unlock (&self->lock);
  if (fences)
    reap_behind (self, fences);
}

/* Parts that the reclaim thread recycles. */
typedef struct {
  GstVkgdrAllocator *allocator; /* a reference */
  GstVkgdrRemains remains;
} Retired;

static void
recycle_retired (gpointer user_data)
{
  Retired *retired = user_data;

  if (!retired->remains.on_context
      || gst_vkgdr_reclaim_is_device_idle (retired->allocator->context))
    recycle (retired->allocator, &retired->remains);
  else if (gst_vkgdr_reclaim_later (retired->allocator->context, RETRY_TIME,
               recycle_retired, retired))
    return;
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
    keep_retired (self, remains);
  } else {
    /* The owner must get the memory back even if the allocator is not used any
     * more. */
    retired = g_new0 (Retired, 1);
    retired->allocator = gst_object_ref (self);
    retired->remains = *remains;
    retired->remains.fences = NULL;
    gst_vkgdr_reclaim (self->context, fences, recycle_retired, retired);
  }
}

/* --- spare memories ---------------------------------------------------------
 */

gboolean
gst_vkgdr_allocator_keep_spare (GstVkgdrAllocator *self, GstVkgdrMemory *memory)
{
  if (!gst_vkgdr_spares_fit (&memory->block)
      || !gst_vkgdr_spares_keep (&self->spares, memory))
    return FALSE;
  /* The lock was not held while the memory was kept. So the timer's thread, or
   * the thread that has stopped the holding of memory, may have emptied the
   * spare memories before. */
  if (!g_atomic_int_get (&self->has_timer)
      || g_atomic_int_get (&self->stops_holding)) {
    g_mutex_lock (&self->lock);
    unlock_after_give (self);
  }
  return TRUE;
}

GstVkgdrMemory *
gst_vkgdr_allocator_take_spare (GstVkgdrAllocator *self, gsize maxsize)
{
  GstVkgdrMemory *memory = gst_vkgdr_spares_take (&self->spares);

  if (!memory || memory->mem.maxsize == maxsize)
    return memory;
  g_mutex_lock (&self->lock);
  gst_vkgdr_spares_give (&self->spares, self->heap, memory);
  g_mutex_unlock (&self->lock);
  return NULL;
}

/* --- allocation ------------------------------------------------------------
 */

static gboolean
take_from_heap (GstVkgdrAllocator *self, const GstVkgdrBacking *backing,
    gsize size, const GstVkgdrDemand *demand, GstVkgdrBlock *block)
{
  gboolean found;

  gst_vkgdr_allocator_lock_heap (self);
  found = gst_vkgdr_heap_take (self->heap, backing, size, demand, block);
  g_mutex_unlock (&self->lock);
  return found;
}

/* Recycles blocks that the device has finished with. Takes a block in the
 * window, if one was free before the recycling. */
static gboolean
reap_and_take (GstVkgdrAllocator *self, gsize size,
    const GstVkgdrDemand *demand, GstVkgdrBlock *block)
{
  GQueue finished = G_QUEUE_INIT;
  gboolean found;

  gst_vkgdr_allocator_lock_heap (self);
  take_finished (self, &finished);
  found = gst_vkgdr_heap_take (
      self->heap, &gst_vkgdr_backing_window, size, demand, block);
  g_mutex_unlock (&self->lock);
  recycle_all (self, &finished);
  return found;
}

/* Makes a new slab, of @room bytes at most unless @size is larger, and takes a
 * block from it. */
static gboolean
grow (GstVkgdrAllocator *self, const GstVkgdrBacking *backing, gsize size,
    const GstVkgdrDemand *demand, guint64 room, GstVkgdrBlock *block,
    GError **error)
{
  GstVkgdrAllocation *allocation;
  gsize wanted;

  gst_vkgdr_allocator_lock_heap (self);
  wanted = gst_vkgdr_heap_slab_size (self->heap, size, demand, FALSE);
  if (wanted > room)
    wanted = gst_vkgdr_heap_slab_size (self->heap, size, demand, TRUE);
  g_mutex_unlock (&self->lock);
  allocation = gst_vkgdr_allocation_new (backing, self->context, wanted, error);
  if (!allocation)
    return FALSE;
  GST_DEBUG_OBJECT (
      self, "a slab of %" G_GSIZE_FORMAT " bytes, %s", wanted, backing->name);
  gst_vkgdr_allocator_lock_heap (self);
  gst_vkgdr_heap_add (self->heap, allocation, size, demand, block);
  g_mutex_unlock (&self->lock);
  return TRUE;
}

/* Frees held memory, and waits for memory that was freed but is still in use.
 */
static void
make_room (GstVkgdrAllocator *self)
{
  GPtrArray *idle;

  GST_INFO_OBJECT (
      self, "out of memory: waiting for memory that is being freed");
  wait_and_reap (self);
  recycle_lost_later (self);
  gst_vkgdr_allocator_lock_heap (self);
  idle = gst_vkgdr_heap_remove_idle (self->heap, G_MAXINT64);
  g_mutex_unlock (&self->lock);
  free_allocations (idle);
  gst_vkgdr_pinned_trim (self->pinned);
  gst_vkgdr_reclaim_drain (self->context, DRAIN_TIME);
}

/* @room: the maximum size of a new slab in bytes, unless @size is larger. */
static gboolean
take_of_backing (GstVkgdrAllocator *self, const GstVkgdrBacking *backing,
    gsize size, const GstVkgdrDemand *demand, guint64 room,
    GstVkgdrBlock *block, GError **error)
{
  if (take_from_heap (self, backing, size, demand, block)
      || grow (self, backing, size, demand, room, block, NULL))
    return TRUE;
  make_room (self);
  return take_from_heap (self, backing, size, demand, block)
         || grow (self, backing, size, demand, room, block, NULL)
         || grow (self, backing, size, demand, 0, block, error);
}

gboolean
gst_vkgdr_allocator_take_device_only (GstVkgdrAllocator *self, gsize size,
    const GstVkgdrDemand *demand, GstVkgdrBlock *block, GError **error)
{
  return take_of_backing (
      self, &gst_vkgdr_backing_device, size, demand, G_MAXUINT64, block, error);
}

/* Returns how many bytes of new slabs an owner may have in the window. If the
 * window is small, a single pool leaves a quarter of it free for later pools,
 * and several pools have equal shares. But each owner may have its first block.
 */
static guint64
get_room_in_window (
    GstVkgdrAllocator *self, gsize size, const GstVkgdrDemand *demand)
{
  guint64 window = gst_vkgdr_context_get_window_size (self->context);
  guint64 share, owned;
  guint n_others;

  if (!demand->owner || window > SMALL_WINDOW)
    return G_MAXUINT64;
  gst_vkgdr_allocator_lock_heap (self);
  owned = gst_vkgdr_heap_get_owned (
      self->heap, &gst_vkgdr_backing_window, demand->owner, &n_others);
  g_mutex_unlock (&self->lock);
  share = n_others > 0 ? window / (n_others + 1) : window / 4 * 3;
  if (owned == 0)
    return MAX (share, size);
  return share > owned ? share - owned : 0;
}

static gboolean
take_in_window (GstVkgdrAllocator *self, gsize size,
    const GstVkgdrDemand *demand, GstVkgdrBlock *block, GError **error)
{
  vkgdr_device_info info;
  guint64 room;

  if (take_from_heap (self, &gst_vkgdr_backing_window, size, demand, block))
    return TRUE;
  room = get_room_in_window (self, size, demand);
  if (size <= room)
    return take_of_backing (
        self, &gst_vkgdr_backing_window, size, demand, room, block, error);
  vkgdr_get_device_info (gst_vkgdr_context_get_handle (self->context), &info);
  g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_NO_MEMORY,
      "this pool has used up its share of the window of %" G_GUINT64_FORMAT
      " bytes, of which this process uses %" G_GUINT64_FORMAT
      ": other pools use the rest, or may need it. Make the window larger "
      "(Resizable BAR), or the pool smaller",
      info.window_size, info.window_usage);
  return FALSE;
}

/* Warns only once, since the same is true for every later block. If @full is
 * NULL, the device has no window. */
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
        "the window is full. Later buffers are device-only memory, and writing "
        "to them needs a transfer. %s",
        full->message);
  else
    GST_CAT_WARNING_OBJECT (GST_CAT_DEFAULT, self,
        "the device has no window, so writing to its memory needs a "
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

  gst_vkgdr_allocator_lock_heap (self);
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

gboolean
gst_vkgdr_allocator_check_size (gsize size, GError **error)
{
  if (size <= G_MAXSIZE / 2)
    return TRUE;
  g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_NO_MEMORY,
      "%" G_GSIZE_FORMAT " bytes cannot be addressed", size);
  return FALSE;
}

gboolean
gst_vkgdr_allocator_take_block (GstVkgdrAllocator *self, gsize size,
    const GstVkgdrDemand *demand, GstVkgdrBlock *block, GError **error)
{
  GError *reason = NULL;
  gboolean ok;

  if (reap_and_take (self, size, demand, block))
    return TRUE;
  if (gst_vkgdr_context_has_window (self->context)
      && take_in_window (self, size, demand, block, &reason))
    return TRUE;
  ok = gst_vkgdr_allocator_take_device_only (
      self, size, demand, block, reason ? NULL : &reason);
  if (ok)
    warn_of_staging (self, reason);
  else if (gst_vkgdr_context_has_window (
               self->context)) /* ignores the pool's share */
    ok = take_of_backing (
        self, &gst_vkgdr_backing_window, size, demand, 0, block, NULL);
  if (!ok)
    set_no_memory (self, size, reason, error);
  g_clear_error (&reason);
  return ok;
}

/* --- memory that goes back to the driver -----------------------------------
 */

void
gst_vkgdr_allocator_empty (GstVkgdrAllocator *self)
{
  GPtrArray *idle;

  gst_vkgdr_allocator_reap (self);
  recycle_lost_later (self);
  gst_vkgdr_allocator_lock_heap (self);
  idle = gst_vkgdr_heap_remove_idle (self->heap, G_MAXINT64);
  g_mutex_unlock (&self->lock);
  free_allocations (idle);
  gst_vkgdr_pinned_trim (self->pinned);
}

/* Parts, besides the block, that must not be freed yet. */
typedef struct {
  GstVkgdrPinned *pinned;  /* a reference */
  gpointer staging;        /* or NULL */
  GstMemory *cuda_wrapper; /* or NULL */
} UnfinishedParts;

static void
free_unfinished_parts (gpointer data)
{
  UnfinishedParts *parts = data;

  if (parts->staging)
    gst_vkgdr_pinned_give (parts->pinned, parts->staging, NULL);
  g_clear_pointer (&parts->cuda_wrapper, gst_memory_unref);
  gst_vkgdr_pinned_unref (parts->pinned);
  g_free (parts);
}

static void
free_later (GstVkgdrAllocator *self, const GstVkgdrRemains *remains)
{
  UnfinishedParts *parts = g_new0 (UnfinishedParts, 1);

  parts->pinned = gst_vkgdr_pinned_ref (self->pinned);
  parts->staging = remains->staging;
  parts->cuda_wrapper = remains->cuda_wrapper;
  gst_vkgdr_reclaim (self->context, g_ptr_array_ref (remains->fences),
      free_unfinished_parts, parts);
}

/* Whether the device has finished with all parts that are left. Must be called
 * after wait_and_reap (). If fences are still pending after that wait, a kernel
 * does not end, and a wait for the whole device would not end, either. */
static gboolean
are_all_finished (GstVkgdrAllocator *self)
{
  return g_queue_is_empty (&self->retired)
         && (g_queue_is_empty (&self->lost)
             || gst_vkgdr_reclaim_is_device_idle (self->context));
}

/* Recycles the parts that are left if the device is known to have finished.
 * Otherwise a thread frees them later. Returns the fences of these parts, whose
 * slabs must be kept until then, or NULL. */
static GPtrArray *
settle_rest (GstVkgdrAllocator *self)
{
  GPtrArray *unsettled = NULL;
  GstVkgdrRemains *remains;

  if (!are_all_finished (self))
    unsettled =
        g_ptr_array_new_with_free_func ((GDestroyNotify) gst_vkgdr_fence_unref);
  while ((remains = g_queue_pop_head (&self->lost))
         || (remains = g_queue_pop_head (&self->retired))) {
    if (unsettled) {
      free_later (self, remains);
      add_fences (unsettled, remains->fences);
    } else {
      recycle (self, remains);
    }
    remains_free (remains);
  }
  return unsettled;
}

void
gst_vkgdr_allocator_close (GstVkgdrAllocator *self)
{
  GPtrArray *unsettled, *rest;
  guint i;

  self->stops_holding = TRUE;
  self->has_timer = TRUE; /* starts no timer for an object that ends */
  gst_vkgdr_spares_empty (&self->spares, self->heap);
  wait_and_reap (self);
  unsettled = settle_rest (self);
  free_allocations (gst_vkgdr_heap_remove_idle (self->heap, G_MAXINT64));
  rest = gst_vkgdr_heap_free (self->heap);
  for (i = 0; unsettled && i < rest->len; i++)
    gst_vkgdr_allocation_free_lost (
        g_ptr_array_index (rest, i), g_ptr_array_ref (unsettled));
  g_ptr_array_unref (rest);
  g_clear_pointer (&unsettled, g_ptr_array_unref);
  gst_vkgdr_pinned_unref (self->pinned);
}
