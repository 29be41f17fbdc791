/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * memory/blocks.c: see memory/blocks.h
 */

#include <string.h>

#include "memory/blocks.h"

GST_DEBUG_CATEGORY_STATIC (gst_vkgdr_blocks_debug);
#define GST_CAT_DEFAULT gst_vkgdr_blocks_debug

G_DEFINE_TYPE_WITH_CODE (GstVkgdrBlocks, gst_vkgdr_blocks, G_TYPE_OBJECT,
    GST_DEBUG_CATEGORY_INIT (
        gst_vkgdr_blocks_debug, "vkgdrallocator", 0, "vkgdr allocators"))

/* Microseconds after which an empty slab goes back to the driver: long enough
 * for a pipeline to be paused and to go on. It is checked twice in that time.
 */
#define IDLE_TIME (10 * G_TIME_SPAN_SECOND)

/* Microseconds for which an allocation waits for memory that is being freed, if
 * there is no other memory. A kernel rarely runs longer. */
#define WAIT_TIME (2 * G_TIME_SPAN_SECOND)

/* The lock must not be held. */
static void
free_allocations (GPtrArray *allocations)
{
  guint i;

  for (i = 0; allocations && i < allocations->len; i++)
    gst_vkgdr_allocation_free (g_ptr_array_index (allocations, i));
  g_clear_pointer (&allocations, g_ptr_array_unref);
}

/* Removes all slabs that have had no used block since @since. */
static GPtrArray *
remove_idle_locked (GstVkgdrBlocks *self, gint64 since)
{
  GPtrArray *idle = gst_vkgdr_slabs_remove_idle (&self->slabs, since);

  g_ptr_array_extend_and_steal (
      idle, gst_vkgdr_slabs_remove_idle (&self->host_slabs, since));
  return idle;
}

/* --- freed parts ---------------------------------------------------------- */

/* The device must have finished with the parts. */
static void
recycle (GstVkgdrBlocks *self, const GstVkgdrRemains *remains)
{
  GPtrArray *idle = NULL;

  g_clear_pointer ((GPtrArray **) &remains->fences, g_ptr_array_unref);
  g_slist_free_full (remains->cuda_wrappers, (GDestroyNotify) gst_memory_unref);
  if (!remains->block.slab) {
    gst_vkgdr_allocation_free (remains->block.allocation);
    return;
  }
  g_mutex_lock (&self->lock);
  gst_vkgdr_slabs_give (&self->slabs, &remains->block);
  if (self->is_closed)
    idle = remove_idle_locked (self, G_MAXINT64);
  g_mutex_unlock (&self->lock);
  free_allocations (idle);
}

/* Parts that the reclaim thread recycles. */
typedef struct {
  GstVkgdrBlocks *blocks; /* a reference */
  GstVkgdrRemains remains;
} Task;

static void
run_task (gpointer user_data)
{
  Task *task = user_data;

  recycle (task->blocks, &task->remains);
  g_object_unref (task->blocks);
  g_free (task);
}

/* Recycles the parts (transfer full) in the reclaim thread when the device has
 * finished with them. */
static void
recycle_later (GstVkgdrBlocks *self, const GstVkgdrRemains *remains)
{
  Task *task = g_new (Task, 1);

  task->blocks = g_object_ref (self);
  task->remains = *remains;
  task->remains.fences = NULL;
  gst_vkgdr_reclaim (self->context, remains->fences, run_task, task);
}

static GstVkgdrFenceState
get_state (const GstVkgdrRemains *remains)
{
  return gst_vkgdr_fences_get_state (remains->fences);
}

/* Keeps parts until they are needed, or until the timer recycles them. */
static gboolean
keep_retired (GstVkgdrBlocks *self, const GstVkgdrRemains *remains)
{
  gboolean keep;

  g_mutex_lock (&self->lock);
  keep = !self->is_closed;
  if (keep)
    g_queue_push_tail (&self->retired, g_memdup2 (remains, sizeof (*remains)));
  g_mutex_unlock (&self->lock);
  return keep;
}

void
gst_vkgdr_blocks_retire (GstVkgdrBlocks *self, const GstVkgdrRemains *remains)
{
  /* The work has often just been queued, so its fences are queried only when
   * memory is needed. Memory without a slab may have another owner, who must
   * get it back even if the allocator is not used any more. */
  if (remains->fences && remains->block.slab && keep_retired (self, remains))
    return;
  if (get_state (remains) == GST_VKGDR_FENCE_REACHED)
    recycle (self, remains);
  else
    recycle_later (self, remains);
}

/* The fence of parts that have a single one, as staging buffers have. */
static GstVkgdrFence *
get_only_fence (const GstVkgdrRemains *remains)
{
  return remains->fences->len == 1 ? g_ptr_array_index (remains->fences, 0)
                                   : NULL;
}

void
gst_vkgdr_blocks_reap (GstVkgdrBlocks *self)
{
  GQueue finished = G_QUEUE_INIT, lost = G_QUEUE_INIT;
  GstVkgdrFence *fence, *pending = NULL;
  GstVkgdrRemains *remains;
  GList *link, *next;

  g_mutex_lock (&self->lock);
  for (link = self->retired.head; link; link = next) {
    GstVkgdrFenceState state;

    next = link->next;
    fence = get_only_fence (link->data);
    if (fence && pending && gst_vkgdr_fence_is_behind (fence, pending))
      continue;
    state = get_state (link->data);
    if (state == GST_VKGDR_FENCE_PENDING) {
      pending = fence ? fence : pending;
      continue;
    }
    g_queue_unlink (&self->retired, link);
    g_queue_push_tail_link (
        state == GST_VKGDR_FENCE_LOST ? &lost : &finished, link);
  }
  g_mutex_unlock (&self->lock);
  while ((remains = g_queue_pop_head (&finished))) {
    recycle (self, remains);
    g_free (remains);
  }
  while ((remains = g_queue_pop_head (&lost))) {
    recycle_later (self, remains);
    g_free (remains);
  }
}

/* Waits until the device has finished with all parts that were freed so far,
 * and recycles them. */
static void
wait_and_reap (GstVkgdrBlocks *self)
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
  /* A wait fails mostly behind a kernel that does not end: so would others. */
  for (i = 0; i < fences->len; i++)
    if (!gst_vkgdr_fence_wait (g_ptr_array_index (fences, i), NULL))
      break;
  g_ptr_array_unref (fences);
  gst_vkgdr_blocks_reap (self);
}

/* --- memory that is not used ---------------------------------------------- */

static void
free_idle (GstVkgdrBlocks *self, gint64 since)
{
  GPtrArray *idle;

  gst_vkgdr_blocks_reap (self);
  g_mutex_lock (&self->lock);
  idle = remove_idle_locked (self, since);
  g_mutex_unlock (&self->lock);
  free_allocations (idle);
}

static void start_timer_locked (GstVkgdrBlocks *self);

/* Runs in the context's timer thread. */
static void
on_timer (gpointer user_data)
{
  GWeakRef *weak = user_data;
  GstVkgdrBlocks *self = g_weak_ref_get (weak);

  g_weak_ref_clear (weak);
  g_free (weak);
  if (!self)
    return;
  free_idle (self, g_get_monotonic_time () - IDLE_TIME);
  g_mutex_lock (&self->lock);
  self->has_timer = FALSE;
  if (self->slabs.array->len > 0 || self->host_slabs.array->len > 0)
    start_timer_locked (self);
  g_mutex_unlock (&self->lock);
  g_object_unref (self);
}

static void
start_timer_locked (GstVkgdrBlocks *self)
{
  GWeakRef *weak;

  if (self->has_timer || self->is_closed)
    return;
  weak = g_new0 (GWeakRef, 1);
  g_weak_ref_init (weak, self);
  self->has_timer =
      gst_vkgdr_reclaim_later (self->context, IDLE_TIME / 2, on_timer, weak);
  if (self->has_timer)
    return;
  g_weak_ref_clear (weak);
  g_free (weak);
}

void
gst_vkgdr_blocks_trim (GstVkgdrBlocks *self)
{
  free_idle (self, G_MAXINT64);
}

/* --- allocation ----------------------------------------------------------- */

static gboolean
take_from_slabs (GstVkgdrBlocks *self, GstVkgdrSlabs *slabs,
    const GstVkgdrBacking *backing, gsize size, GstVkgdrBlock *block)
{
  gboolean found;

  g_mutex_lock (&self->lock);
  found = gst_vkgdr_slabs_take (slabs, backing, size, block);
  start_timer_locked (self);
  g_mutex_unlock (&self->lock);
  return found;
}

GstVkgdrStream *
gst_vkgdr_blocks_get_stream (
    GstVkgdrBlocks *self, GstVkgdrDirection direction, GError **error)
{
  GstVkgdrStream *stream, *made;

  g_mutex_lock (&self->lock);
  stream = self->streams[direction];
  g_mutex_unlock (&self->lock);
  if (stream)
    return stream;
  made = gst_vkgdr_stream_new (self->context, error);
  if (!made)
    return NULL;
  g_mutex_lock (&self->lock);
  if (!self->streams[direction])
    self->streams[direction] = g_steal_pointer (&made);
  stream = self->streams[direction];
  g_mutex_unlock (&self->lock);
  gst_clear_object (&made); /* another thread has made one in the meantime */
  return stream;
}

GstVkgdrFence *
gst_vkgdr_blocks_clear (
    GstVkgdrBlocks *self, CUdeviceptr device, gsize size, GError **error)
{
  const vkgdr_cuda *cuda = gst_vkgdr_context_get_driver (self->context);
  GstVkgdrStream *stream =
      gst_vkgdr_blocks_get_stream (self, GST_VKGDR_UPLOAD, error);
  gboolean ok;

  if (!stream || !gst_vkgdr_context_push (self->context, error))
    return NULL;
  ok = gst_vkgdr_check (cuda,
      cuda->cuMemsetD8Async (
          device, 0, size, gst_vkgdr_stream_peek_handle (stream)),
      "cuMemsetD8Async", error);
  gst_vkgdr_context_pop (self->context);
  return ok ? gst_vkgdr_stream_record (stream, error) : NULL;
}

/* The slabs of a pool can be exported as they are. So they are cleared once,
 * and later only contain what the pool's own writers have written. */
static gboolean
clear_slab (
    GstVkgdrBlocks *self, const GstVkgdrAllocation *slab, GError **error)
{
  GstVkgdrFence *fence =
      gst_vkgdr_blocks_clear (self, slab->device, slab->size, error);
  gboolean ok = fence && gst_vkgdr_fence_wait (fence, error);

  g_clear_pointer (&fence, gst_vkgdr_fence_unref);
  return ok;
}

/* Makes a new slab, of @room bytes at most unless @size is larger, and takes a
 * block from it. */
static gboolean
add_slab (GstVkgdrBlocks *self, const GstVkgdrBacking *backing, gsize size,
    guint64 room, GstVkgdrBlock *block, GError **error)
{
  GstVkgdrAllocation *allocation;
  gsize wanted;

  g_mutex_lock (&self->lock);
  wanted = gst_vkgdr_slabs_get_slab_size (&self->slabs, size, room);
  g_mutex_unlock (&self->lock);
  allocation = gst_vkgdr_allocation_new (backing, self->context, wanted, error);
  if (!allocation)
    return FALSE;
  if (self->is_pool && !clear_slab (self, allocation, error)) {
    gst_vkgdr_allocation_free (allocation);
    return FALSE;
  }
  GST_DEBUG ("%p: a slab of %" G_GSIZE_FORMAT " bytes, %s", self, wanted,
      backing->name);
  g_mutex_lock (&self->lock);
  gst_vkgdr_slabs_add (&self->slabs, allocation, size, block);
  g_mutex_unlock (&self->lock);
  return TRUE;
}

/* @room: the maximum size of a new slab in bytes, unless @size is larger. If
 * there is no memory left, waits for memory that is being freed. */
static gboolean
take_from_backing (GstVkgdrBlocks *self, const GstVkgdrBacking *backing,
    gsize size, guint64 room, GstVkgdrBlock *block, GError **error)
{
  if (take_from_slabs (self, &self->slabs, backing, size, block)
      || add_slab (self, backing, size, room, block, NULL))
    return TRUE;
  GST_INFO ("%p: out of memory: waiting for memory that is being freed", self);
  wait_and_reap (self);
  gst_vkgdr_blocks_trim (self);
  gst_vkgdr_reclaim_drain (self->context, WAIT_TIME);
  return take_from_slabs (self, &self->slabs, backing, size, block)
         || add_slab (self, backing, size, room, block, NULL)
         || add_slab (self, backing, size, 0, block, error);
}

gboolean
gst_vkgdr_blocks_take_device_only (
    GstVkgdrBlocks *self, gsize size, GstVkgdrBlock *block, GError **error)
{
  return take_from_backing (
      self, &gst_vkgdr_backing_device, size, G_MAXUINT64, block, error);
}

/* Returns how many bytes a new slab for a block of @size bytes may have. For
 * the first buffers of other pools, a pool leaves a quarter of the window, or,
 * when it starts, a quarter of what is free. If most of the device's memory is
 * in the window, nothing is left, because others use this memory, too. */
static guint64
get_room_in_window (
    GstVkgdrBlocks *self, const vkgdr_device_info *info, gsize size)
{
  guint64 left =
      info->window_size - MIN (info->window_size, info->window_usage);
  guint64 quarter = info->window_size / 4;
  gboolean is_first;

  if (!self->is_pool || !gst_vkgdr_context_has_small_window (self->context))
    return G_MAXUINT64;
  g_mutex_lock (&self->lock);
  is_first = self->slabs.array->len == 0;
  g_mutex_unlock (&self->lock);
  if (is_first)
    return MAX (size, left / 4 * 3);
  return left > quarter ? left - quarter : 0;
}

static gboolean
take_in_window (
    GstVkgdrBlocks *self, gsize size, GstVkgdrBlock *block, GError **error)
{
  vkgdr_device_info info;
  guint64 room;

  if (take_from_slabs (
          self, &self->slabs, &gst_vkgdr_backing_window, size, block))
    return TRUE;
  vkgdr_get_device_info (gst_vkgdr_context_get_handle (self->context), &info);
  room = get_room_in_window (self, &info, size);
  if (size <= room)
    return take_from_backing (
        self, &gst_vkgdr_backing_window, size, room, block, error);
  g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_NO_MEMORY,
      "this pool has used up its share of the window of %" G_GUINT64_FORMAT
      " bytes, of which this process uses %" G_GUINT64_FORMAT
      ": other pools may need the rest. Make the pool smaller, or the window "
      "larger (Resizable BAR, if it is off)",
      info.window_size, info.window_usage);
  return FALSE;
}

/* Logs a warning once, because it applies to all later blocks, too. @full is
 * the error of the full window, or NULL if the device has no window. */
static void
warn_of_staging (GstVkgdrBlocks *self, const GError *full)
{
  gboolean first;

  g_mutex_lock (&self->lock);
  first = !self->has_warned;
  self->has_warned = TRUE;
  g_mutex_unlock (&self->lock);
  if (!first)
    return;
  if (full)
    GST_WARNING ("the window is full. Later buffers are device-only memory, "
                 "and writing to them needs a transfer. %s",
        full->message);
  else
    GST_WARNING ("the device has no window, so writing to its memory needs a "
                 "transfer: %s; %s",
        gst_vkgdr_context_get_window_reason (self->context),
        gst_vkgdr_context_get_window_remedy (self->context));
}

static void
set_no_memory (
    GstVkgdrBlocks *self, gsize size, const GError *reason, GError **error)
{
  gboolean has_window = gst_vkgdr_context_has_window (self->context);
  GstVkgdrSlabsStats stats = gst_vkgdr_blocks_get_stats (self);

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
gst_vkgdr_blocks_take (
    GstVkgdrBlocks *self, gsize size, GstVkgdrBlock *block, GError **error)
{
  gboolean has_window = gst_vkgdr_context_has_window (self->context);
  GError *reason = NULL;
  gboolean ok;

  gst_vkgdr_blocks_reap (self);
  if (has_window && take_in_window (self, size, block, &reason))
    return TRUE;
  ok = gst_vkgdr_blocks_take_device_only (
      self, size, block, reason ? NULL : &reason);
  if (ok)
    warn_of_staging (self, reason);
  else if (has_window) /* also the part that is reserved for other pools */
    ok = take_from_backing (
        self, &gst_vkgdr_backing_window, size, 0, block, NULL);
  if (!ok)
    set_no_memory (self, size, reason, error);
  g_clear_error (&reason);
  return ok;
}

gboolean
gst_vkgdr_blocks_take_pinned (
    GstVkgdrBlocks *self, gsize size, GstVkgdrBlock *block, GError **error)
{
  const GstVkgdrBacking *backing = &gst_vkgdr_backing_pinned;
  GstVkgdrAllocation *allocation;

  gst_vkgdr_blocks_reap (self);
  if (take_from_slabs (self, &self->host_slabs, backing, size, block))
    return TRUE;
  allocation = gst_vkgdr_allocation_new (backing, self->context,
      gst_vkgdr_slabs_get_slab_size (&self->host_slabs, size, 0), error);
  if (!allocation)
    return FALSE;
  g_mutex_lock (&self->lock);
  gst_vkgdr_slabs_add (&self->host_slabs, allocation, size, block);
  g_mutex_unlock (&self->lock);
  return TRUE;
}

gboolean
gst_vkgdr_blocks_take_staging (
    GstVkgdrBlocks *self, gsize size, GstVkgdrBlock *block, GError **error)
{
  if (!gst_vkgdr_blocks_take_pinned (self, size, block, error))
    return FALSE;
  if (!self->is_pool)
    memset (block->host, 0, size);
  return TRUE;
}

GstVkgdrSlabsStats
gst_vkgdr_blocks_get_stats (GstVkgdrBlocks *self)
{
  GstVkgdrSlabsStats stats;
  GList *link;

  g_mutex_lock (&self->lock);
  stats = gst_vkgdr_slabs_get_stats (&self->slabs);
  for (link = self->retired.head; link; link = link->next) {
    const GstVkgdrRemains *remains = link->data;

    if (remains->block.device
        && get_state (remains) == GST_VKGDR_FENCE_REACHED) {
      stats.active_blocks--;
      stats.active_bytes -= remains->block.size;
    }
  }
  g_mutex_unlock (&self->lock);
  return stats;
}

/* --- the object ----------------------------------------------------------- */

static void
gst_vkgdr_blocks_finalize (GObject *object)
{
  GstVkgdrBlocks *self = GST_VKGDR_BLOCKS (object);

  g_assert (self->slabs.array->len == 0 && self->host_slabs.array->len == 0);
  g_ptr_array_unref (self->slabs.array);
  g_ptr_array_unref (self->host_slabs.array);
  g_weak_ref_clear (&self->pool);
  g_mutex_clear (&self->lock);
  gst_vkgdr_context_unref_in_background (self->context);
  G_OBJECT_CLASS (gst_vkgdr_blocks_parent_class)->finalize (object);
}

static void
gst_vkgdr_blocks_class_init (GstVkgdrBlocksClass *klass)
{
  G_OBJECT_CLASS (klass)->finalize = gst_vkgdr_blocks_finalize;
}

static void
gst_vkgdr_blocks_init (GstVkgdrBlocks *self)
{
  g_mutex_init (&self->lock);
  g_queue_init (&self->retired);
}

GstVkgdrBlocks *
gst_vkgdr_blocks_new (GstVkgdrContext *context, GstBufferPool *pool)
{
  GstVkgdrBlocks *self = g_object_new (GST_TYPE_VKGDR_BLOCKS, NULL);

  self->context = gst_vkgdr_context_ref_in_background (context);
  self->is_pool = pool != NULL;
  g_weak_ref_init (&self->pool, pool);
  gst_vkgdr_slabs_init (
      &self->slabs, pool ? GST_VKGDR_SLABS_OF_POOL : GST_VKGDR_SLABS_SHARED);
  gst_vkgdr_slabs_init (&self->host_slabs, GST_VKGDR_SLABS_SINGLE);
  return self;
}

void
gst_vkgdr_blocks_expect (GstVkgdrBlocks *self, guint n_blocks)
{
  g_mutex_lock (&self->lock);
  self->slabs.n_expected = n_blocks;
  g_mutex_unlock (&self->lock);
}

void
gst_vkgdr_blocks_close (GstVkgdrBlocks *self)
{
  GstVkgdrStream *streams[2];
  GstVkgdrRemains *remains;
  GQueue retired;

  gst_vkgdr_blocks_reap (self); /* so that no thread waits for these */
  g_mutex_lock (&self->lock);
  self->is_closed = TRUE;
  retired = self->retired;
  g_queue_init (&self->retired);
  memcpy (streams, self->streams, sizeof (streams));
  memset (self->streams, 0, sizeof (self->streams));
  g_mutex_unlock (&self->lock);
  while ((remains = g_queue_pop_head (&retired))) {
    recycle_later (self, remains);
    g_free (remains);
  }
  gst_vkgdr_blocks_trim (self);
  gst_clear_object (&streams[0]);
  gst_clear_object (&streams[1]);
  g_object_unref (self);
}
