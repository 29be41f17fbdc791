/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * memory/slabs.c: see memory/slabs.h
 */

#include "memory/slabs.h"

/* Size in bytes of a slab that small blocks share. A small block is smaller
 * than a quarter of it, so at most a quarter is left over. */
#define SHARED_SIZE (GST_VKGDR_BLOCK_LARGE * 4)

typedef struct {
  gsize offset;
  gsize size;
} Range;

struct _GstVkgdrSlab {
  GstVkgdrAllocation *allocation;
  gboolean is_private;
  guint blocks;
  gsize bytes;       /* of the blocks */
  gint64 idle_since; /* monotonic time, while `blocks` is 0 */
  GArray *free;      /* of Range, by offset; no two of them are adjacent */
};

static gsize
round_up (gsize size, gsize granule)
{
  return (size + granule - 1) / granule * granule;
}

static gsize
block_size (gsize size)
{
  return round_up (MAX (size, 1), GST_VKGDR_BLOCK_ALIGNMENT);
}

static GstVkgdrSlab *
slab_at (const GstVkgdrSlabs *self, guint index)
{
  return g_ptr_array_index (self->array, index);
}

static Range *
range_at (const GstVkgdrSlab *slab, guint index)
{
  return &g_array_index (slab->free, Range, index);
}

void
gst_vkgdr_slabs_init (GstVkgdrSlabs *self, GstVkgdrSlabsKind kind)
{
  self->kind = kind;
  self->array = g_ptr_array_new ();
}

gboolean
gst_vkgdr_slabs_are_private (const GstVkgdrSlabs *self, gsize size)
{
  return self->kind != GST_VKGDR_SLABS_SHARED || size >= GST_VKGDR_BLOCK_LARGE;
}

gboolean
gst_vkgdr_block_is_private (const GstVkgdrBlock *block)
{
  return !block->slab || block->slab->is_private;
}

/* Whether blocks of @size bytes go into @slab. A slab of a single block is only
 * used again for a block of about the same size, and if no other process may
 * have mapped it. */
static gboolean
fits (const GstVkgdrSlabs *self, const GstVkgdrSlab *slab, gsize size)
{
  if (self->kind == GST_VKGDR_SLABS_OF_POOL)
    return TRUE;
  if (self->kind == GST_VKGDR_SLABS_SINGLE)
    return slab->blocks == 0
           && slab->allocation->size / 2
                  <= round_up (size, GST_VKGDR_PAGE_ALIGNMENT);
  if (size < GST_VKGDR_BLOCK_LARGE)
    return !slab->is_private;
  return slab->is_private && slab->blocks == 0
         && !g_atomic_int_get (&slab->allocation->is_exported)
         && slab->allocation->size == round_up (size, GST_VKGDR_PAGE_ALIGNMENT);
}

static void
take_range (GstVkgdrSlab *slab, guint index, gsize size, GstVkgdrBlock *block)
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
  if (range->size == 0)
    g_array_remove_index (slab->free, index);
  slab->blocks++;
  slab->bytes += size;
}

/* Whether the range of @slab at @index is a better choice than @best. Smaller
 * ranges are, so that large ones stay whole. */
static gboolean
is_better (const GstVkgdrSlabs *self, const GstVkgdrSlab *slab, guint index,
    const GstVkgdrSlab *best, guint best_index)
{
  gsize size = range_at (slab, index)->size, best_size;

  if (!best)
    return TRUE;
  best_size = range_at (best, best_index)->size;
  if (self->kind == GST_VKGDR_SLABS_SINGLE && size == best_size)
    return slab->idle_since > best->idle_since;
  return size < best_size;
}

gboolean
gst_vkgdr_slabs_take (GstVkgdrSlabs *self, const GstVkgdrBacking *backing,
    gsize size, GstVkgdrBlock *block)
{
  GstVkgdrSlab *best = NULL;
  guint best_index = 0, i, k;

  size = block_size (size);
  for (i = 0; i < self->array->len; i++) {
    GstVkgdrSlab *slab = slab_at (self, i);

    if (slab->allocation->backing != backing || !fits (self, slab, size))
      continue;
    for (k = 0; k < slab->free->len; k++)
      if (range_at (slab, k)->size >= size
          && is_better (self, slab, k, best, best_index)) {
        best = slab;
        best_index = k;
      }
  }
  if (!best)
    return FALSE;
  if (self->kind == GST_VKGDR_SLABS_SINGLE)
    size = best->allocation->size;
  take_range (best, best_index, size, block);
  return TRUE;
}

/* The number of blocks of a new slab of a pool. The first one has those of the
 * start of the pool. */
static gsize
count_blocks (const GstVkgdrSlabs *self, gsize size, guint64 room)
{
  gsize n = self->array->len == 0 ? self->n_expected : 1;

  return CLAMP (n, 1, MAX (MIN (room, G_MAXSIZE / 2) / size, 1));
}

gsize
gst_vkgdr_slabs_get_slab_size (
    const GstVkgdrSlabs *self, gsize size, guint64 room)
{
  gsize wanted = block_size (size);

  if (self->kind == GST_VKGDR_SLABS_OF_POOL)
    wanted *= count_blocks (self, wanted, room);
  else if (!gst_vkgdr_slabs_are_private (self, wanted) && SHARED_SIZE <= room)
    wanted = SHARED_SIZE;
  return round_up (wanted, GST_VKGDR_PAGE_ALIGNMENT);
}

void
gst_vkgdr_slabs_add (GstVkgdrSlabs *self, GstVkgdrAllocation *allocation,
    gsize size, GstVkgdrBlock *block)
{
  GstVkgdrSlab *slab = g_new0 (GstVkgdrSlab, 1);
  Range all = { 0, allocation->size };

  size = self->kind == GST_VKGDR_SLABS_SINGLE ? allocation->size
                                              : block_size (size);
  slab->allocation = allocation;
  slab->is_private = gst_vkgdr_slabs_are_private (self, size);
  slab->free = g_array_new (FALSE, FALSE, sizeof (Range));
  g_array_append_val (slab->free, all);
  g_ptr_array_add (self->array, slab);
  take_range (slab, 0, size, block);
}

/* Merges the range at @index with its successor, if they are adjacent. */
static void
merge (GstVkgdrSlab *slab, guint index)
{
  Range *range = range_at (slab, index);

  if (index + 1 >= slab->free->len
      || range->offset + range->size != range_at (slab, index + 1)->offset)
    return;
  range->size += range_at (slab, index + 1)->size;
  g_array_remove_index (slab->free, index + 1);
}

void
gst_vkgdr_slabs_give (GstVkgdrSlabs *self, const GstVkgdrBlock *block)
{
  GstVkgdrSlab *slab = block->slab;
  Range range = { block->offset, block->size };
  guint k = slab->free->len;

  while (k > 0 && range_at (slab, k - 1)->offset > range.offset)
    k--;
  g_array_insert_val (slab->free, k, range);
  merge (slab, k);
  if (k > 0)
    merge (slab, k - 1);
  slab->bytes -= block->size;
  if (--slab->blocks == 0)
    slab->idle_since = g_get_monotonic_time ();
}

GPtrArray *
gst_vkgdr_slabs_remove_idle (GstVkgdrSlabs *self, gint64 since)
{
  GPtrArray *removed = g_ptr_array_new ();
  guint i = 0;

  while (i < self->array->len) {
    GstVkgdrSlab *slab = slab_at (self, i);

    if (slab->blocks > 0 || slab->idle_since > since) {
      i++;
      continue;
    }
    g_ptr_array_add (removed, slab->allocation);
    g_ptr_array_remove_index_fast (self->array, i);
    g_array_unref (slab->free);
    g_free (slab);
  }
  return removed;
}

GstVkgdrSlabsStats
gst_vkgdr_slabs_get_stats (const GstVkgdrSlabs *self)
{
  GstVkgdrSlabsStats stats = { .slabs = self->array->len };
  guint i;

  for (i = 0; i < self->array->len; i++) {
    const GstVkgdrSlab *slab = slab_at (self, i);

    stats.active_blocks += slab->blocks;
    stats.active_bytes += slab->bytes;
    stats.managed_bytes += slab->allocation->size;
  }
  return stats;
}
