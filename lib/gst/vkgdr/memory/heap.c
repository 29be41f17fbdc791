/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * memory/heap.c: see memory/heap.h
 */

#include <string.h>

#include "memory/heap.h"

/* Blocks of at least this many bytes do not share a slab with other owners. For
 * this size, the cost of an allocation is small compared to writing the
 * content. */
#define LARGE (1024 * 1024)

/* Limits for the size in bytes of a shared slab. The first slabs are small, so
 * that a window of 256 MiB is not wasted. The size of a later slab is 1 /
 * SHARED_PART of all shared slabs together. */
#define SHARED_MIN (1024 * 1024)
#define SHARED_MAX (16 * 1024 * 1024)
#define SHARED_PART 4

/* A shared slab has room for at least this many blocks. */
#define SHARED_BLOCKS 4

/* A slab of one owner has room for at most this many blocks: a pool that grows
 * gets further slabs. */
#define OWNED_BLOCKS 8

/* An idle slab may be reused for a demand if its size is at most this
 * percentage of the demand. */
#define FIT 125

/* Slab sizes are a multiple of this many bytes, the page size of GPUs. */
#define SLAB_GRANULE (64 * 1024)

typedef struct {
  gsize offset;
  gsize size;
  gboolean is_held; /* was used and given back */
} Range;

struct _GstVkgdrSlab {
  GstVkgdrAllocation *allocation;
  gconstpointer owner; /* NULL: shared */
  guint blocks;
  gint64 idle_since; /* monotonic time, while `blocks` is 0 */
  GArray *free;      /* of Range, by offset */
};

struct _GstVkgdrHeap {
  GPtrArray *slabs;
  guint64 shared_bytes;
  guint64 active_bytes;
  guint active_blocks;
};

/* The owner of a slab with a single large block that does not belong to a pool.
 */
static const gchar single_owner;

static gsize
round_up (gsize size, gsize granule)
{
  return (size + granule - 1) / granule * granule;
}

static gsize
block_size (gsize size)
{
  return round_up (MAX (size, 1), GST_VKGDR_HEAP_GRANULE);
}

static gconstpointer
owner_of (gsize size, const GstVkgdrDemand *demand)
{
  if (demand->owner)
    return demand->owner;
  return size >= LARGE ? &single_owner : NULL;
}

GstVkgdrHeap *
gst_vkgdr_heap_new (void)
{
  GstVkgdrHeap *heap = g_new0 (GstVkgdrHeap, 1);

  heap->slabs = g_ptr_array_new ();
  return heap;
}

/* --- ranges ----------------------------------------------------------------
 */

static Range *
range_at (GstVkgdrSlab *slab, guint index)
{
  return &g_array_index (slab->free, Range, index);
}

/* Inserts a free range, ordered by offset. */
static void
insert_range (GstVkgdrSlab *slab, gsize offset, gsize size)
{
  Range range = { offset, size, TRUE };
  guint k = slab->free->len;

  while (k > 0 && range_at (slab, k - 1)->offset > offset)
    k--;
  g_array_insert_val (slab->free, k, range);
}

/* Merges adjacent ranges. Blocks that were given back stay separate until this
 * call, so that a pool gets its own blocks again. */
static void
merge_ranges (GstVkgdrSlab *slab)
{
  guint k = 1;

  while (k < slab->free->len) {
    Range *before = range_at (slab, k - 1), *range = range_at (slab, k);

    if (before->offset + before->size == range->offset) {
      before->size += range->size;
      before->is_held = before->is_held || range->is_held;
      g_array_remove_index (slab->free, k);
    } else {
      k++;
    }
  }
}

static void
forget_held (GstVkgdrSlab *slab)
{
  guint k;

  merge_ranges (slab);
  for (k = 0; k < slab->free->len; k++)
    range_at (slab, k)->is_held = FALSE;
}

/* Returns the index of the smallest range with room for @size, so that large
 * ranges stay whole; -1 if there is none. */
static gint
find_range (GstVkgdrSlab *slab, gsize size)
{
  gint best = -1;
  guint k;

  for (k = 0; k < slab->free->len; k++) {
    const Range *range = range_at (slab, k);

    if (range->size >= size
        && (best < 0 || range->size < range_at (slab, best)->size))
      best = k;
  }
  return best;
}

/* --- slabs -----------------------------------------------------------------
 */

static void
take_range (GstVkgdrHeap *heap, GstVkgdrSlab *slab, guint index, gsize size,
    GstVkgdrBlock *block)
{
  GstVkgdrAllocation *allocation = slab->allocation;
  Range *range = range_at (slab, index);

  block->allocation = allocation;
  block->slab = slab;
  block->offset = range->offset;
  block->size = size;
  block->host = allocation->host ? allocation->host + range->offset : NULL;
  block->device = allocation->device + range->offset;
  range->offset += size;
  range->size -= size;
  range->is_held = FALSE;
  if (range->size == 0)
    g_array_remove_index (slab->free, index);

  slab->blocks++;
  heap->active_blocks++;
  heap->active_bytes += size;
}

/* Whether the slab is idle and can be used for another owner. FALSE if another
 * process may still have mapped the slab. */
static gboolean
can_adopt (GstVkgdrSlab *slab, gsize wanted)
{
  return slab->owner && slab->blocks == 0
         && !g_atomic_int_get (&slab->allocation->is_exported)
         && slab->allocation->size >= wanted
         && slab->allocation->size / FIT <= wanted / 100;
}

/* Finds the best fitting range in the owner's slabs. */
static GstVkgdrSlab *
find_owned (GstVkgdrHeap *heap, const GstVkgdrBacking *backing, gsize size,
    gconstpointer owner, gint *index)
{
  GstVkgdrSlab *best = NULL;
  guint i;

  for (i = 0; i < heap->slabs->len; i++) {
    GstVkgdrSlab *slab = g_ptr_array_index (heap->slabs, i);
    gint k;

    if (slab->allocation->backing != backing || slab->owner != owner
        || owner == &single_owner)
      continue;
    k = find_range (slab, size);
    if (k >= 0
        && (!best
            || range_at (slab, k)->size < range_at (best, *index)->size)) {
      best = slab;
      *index = k;
    }
  }
  return best;
}

static GstVkgdrSlab *
adopt (GstVkgdrHeap *heap, const GstVkgdrBacking *backing, gsize wanted,
    gconstpointer owner)
{
  guint i;

  for (i = 0; i < heap->slabs->len; i++) {
    GstVkgdrSlab *slab = g_ptr_array_index (heap->slabs, i);

    if (slab->allocation->backing != backing || !can_adopt (slab, wanted))
      continue;
    merge_ranges (slab);
    slab->owner = owner;
    return slab;
  }
  return NULL;
}

static gboolean
merge_all (GstVkgdrHeap *heap, gconstpointer owner)
{
  gboolean merged = FALSE;
  guint i;

  for (i = 0; i < heap->slabs->len; i++) {
    GstVkgdrSlab *slab = g_ptr_array_index (heap->slabs, i);
    guint before = slab->free->len;

    if (slab->owner != owner)
      continue;
    merge_ranges (slab);
    merged = merged || slab->free->len < before;
  }
  return merged;
}

gboolean
gst_vkgdr_heap_take (GstVkgdrHeap *heap, const GstVkgdrBacking *backing,
    gsize size, const GstVkgdrDemand *demand, GstVkgdrBlock *block)
{
  gconstpointer owner = owner_of (size, demand);
  GstVkgdrSlab *slab;
  gint index = 0;

  size = block_size (size);
  slab = find_owned (heap, backing, size, owner, &index);
  if (!slab && merge_all (heap, owner))
    slab = find_owned (heap, backing, size, owner, &index);
  if (!slab && owner) {
    slab = adopt (heap, backing,
        gst_vkgdr_heap_slab_size (heap, size, demand, FALSE), owner);
    index = 0;
  }
  if (!slab)
    return FALSE;
  take_range (heap, slab, index, size, block);
  return TRUE;
}

gsize
gst_vkgdr_heap_slab_size (GstVkgdrHeap *heap, gsize size,
    const GstVkgdrDemand *demand, gboolean is_tight)
{
  gsize wanted = block_size (size);

  if (is_tight)
    return round_up (wanted, SLAB_GRANULE);
  if (!owner_of (size, demand))
    wanted = CLAMP (heap->shared_bytes / SHARED_PART,
        MAX (SHARED_MIN, SHARED_BLOCKS * wanted),
        MAX (SHARED_MAX, SHARED_BLOCKS * wanted));
  else if (demand->owner && wanted < G_MAXSIZE / OWNED_BLOCKS / 2)
    wanted *= CLAMP (demand->n_blocks, 1, OWNED_BLOCKS);
  return round_up (wanted, SLAB_GRANULE);
}

void
gst_vkgdr_heap_add (GstVkgdrHeap *heap, GstVkgdrAllocation *allocation,
    gsize size, const GstVkgdrDemand *demand, GstVkgdrBlock *block)
{
  GstVkgdrSlab *slab = g_new0 (GstVkgdrSlab, 1);
  Range all = { 0, allocation->size, FALSE };

  slab->allocation = allocation;
  slab->owner = owner_of (size, demand);
  slab->free = g_array_new (FALSE, FALSE, sizeof (Range));
  g_array_append_val (slab->free, all);
  g_ptr_array_add (heap->slabs, slab);
  if (!slab->owner)
    heap->shared_bytes += allocation->size;
  take_range (heap, slab, 0, block_size (size), block);
}

void
gst_vkgdr_heap_give (
    GstVkgdrHeap *heap, const GstVkgdrBlock *block, gint64 since)
{
  GstVkgdrSlab *slab = block->slab;

  insert_range (slab, block->offset, block->size);
  slab->blocks--;
  if (slab->blocks == 0)
    slab->idle_since = since > 0 ? since : g_get_monotonic_time ();
  heap->active_blocks--;
  heap->active_bytes -= block->size;
}

guint64
gst_vkgdr_heap_get_owned (GstVkgdrHeap *heap, const GstVkgdrBacking *backing,
    gconstpointer owner, guint *n_others)
{
  GHashTable *others = g_hash_table_new (NULL, NULL);
  guint64 bytes = 0;
  guint i;

  for (i = 0; i < heap->slabs->len; i++) {
    const GstVkgdrSlab *slab = g_ptr_array_index (heap->slabs, i);

    if (slab->allocation->backing != backing)
      continue;
    if (slab->owner == owner)
      bytes += slab->allocation->size;
    else if (slab->owner && slab->owner != &single_owner && slab->blocks > 0)
      g_hash_table_add (others, (gpointer) slab->owner);
  }
  *n_others = g_hash_table_size (others);
  g_hash_table_unref (others);
  return bytes;
}

static GstVkgdrAllocation *
remove_slab (GstVkgdrHeap *heap, guint index)
{
  GstVkgdrSlab *slab = g_ptr_array_remove_index_fast (heap->slabs, index);
  GstVkgdrAllocation *allocation = slab->allocation;

  if (!slab->owner)
    heap->shared_bytes -= allocation->size;
  g_array_unref (slab->free);
  g_free (slab);
  return allocation;
}

GPtrArray *
gst_vkgdr_heap_remove_idle (GstVkgdrHeap *heap, gint64 since)
{
  GPtrArray *removed = NULL;
  guint i = 0;

  while (i < heap->slabs->len) {
    GstVkgdrSlab *slab = g_ptr_array_index (heap->slabs, i);

    if (slab->blocks == 0 && slab->idle_since <= since) {
      if (!removed)
        removed = g_ptr_array_new ();
      g_ptr_array_add (removed, remove_slab (heap, i));
      continue;
    }
    if (since == G_MAXINT64)
      forget_held (slab);
    i++;
  }
  return removed;
}

GPtrArray *
gst_vkgdr_heap_free (GstVkgdrHeap *heap)
{
  GPtrArray *removed = g_ptr_array_new ();

  while (heap->slabs->len > 0)
    g_ptr_array_add (removed, remove_slab (heap, heap->slabs->len - 1));
  g_ptr_array_unref (heap->slabs);
  g_free (heap);
  return removed;
}

gboolean
gst_vkgdr_heap_has_idle (GstVkgdrHeap *heap)
{
  guint i;

  for (i = 0; i < heap->slabs->len; i++)
    if (((GstVkgdrSlab *) g_ptr_array_index (heap->slabs, i))->blocks == 0)
      return TRUE;
  return FALSE;
}

void
gst_vkgdr_heap_get_stats (GstVkgdrHeap *heap, GstVkgdrHeapStats *stats)
{
  guint i, k;

  memset (stats, 0, sizeof (*stats));
  stats->active_blocks = heap->active_blocks;
  stats->active_bytes = heap->active_bytes;
  stats->slabs = heap->slabs->len;
  for (i = 0; i < heap->slabs->len; i++) {
    GstVkgdrSlab *slab = g_ptr_array_index (heap->slabs, i);

    for (k = 0; k < slab->free->len; k++)
      stats->held_blocks += range_at (slab, k)->is_held;
    stats->managed_bytes += slab->allocation->size;
  }
}

gboolean
gst_vkgdr_block_is_private (const GstVkgdrBlock *block)
{
  return !block->slab || block->slab->owner;
}

gboolean
gst_vkgdr_block_flush (
    const GstVkgdrBlock *block, gsize offset, gsize size, GError **error)
{
  GstVkgdrAllocation *allocation = block->allocation;

  return !allocation->backing->flush
         || allocation->backing->flush (
             allocation, block->offset + offset, size, error);
}

gboolean
gst_vkgdr_block_flush_copied (
    const GstVkgdrBlock *block, gsize offset, gsize size, GError **error)
{
  return block->allocation->is_coherent
         || gst_vkgdr_block_flush (block, offset, size, error);
}

gboolean
gst_vkgdr_block_invalidate (
    const GstVkgdrBlock *block, gsize offset, gsize size, GError **error)
{
  GstVkgdrAllocation *allocation = block->allocation;

  return !allocation->backing->invalidate
         || allocation->backing->invalidate (
             allocation, block->offset + offset, size, error);
}
