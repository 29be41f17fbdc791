/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * memory/heap.h: blocks in few, large allocations
 *
 * An allocation takes a fraction of a millisecond and a file descriptor, so
 * memory comes in slabs that are divided and recycled. Only the heap knows
 * slabs. It calls no driver: its user makes allocations, gives them to the
 * heap, and frees those that the heap returns.
 *
 * Small blocks share slabs. Large blocks do not: a slab of large blocks has one
 * owner, a pool or a single memory, so that a file descriptor of the slab gives
 * nothing else away.
 *
 * The heap does not know whether the device still uses a block. Not
 * thread-safe: the allocator's lock must be held.
 */

#ifndef __GST_VKGDR_HEAP_H__
#define __GST_VKGDR_HEAP_H__

#include "memory/backing.h"

G_BEGIN_DECLS

typedef struct _GstVkgdrHeap GstVkgdrHeap;
typedef struct _GstVkgdrSlab GstVkgdrSlab;

/* A range of an allocation. */
typedef struct {
  GstVkgdrAllocation *allocation;
  GstVkgdrSlab *slab; /* NULL: the block is a memory's own @allocation */
  gsize offset;       /* in the allocation, bytes */
  gsize size;         /* bytes */
  guint8 *host;       /* NULL: there is no host pointer */
  CUdeviceptr device;
} GstVkgdrBlock;

/* Who asks for a block. */
typedef struct {
  gconstpointer owner; /* of whole slabs; NULL: small blocks share slabs */
  guint n_blocks;      /* that the owner will ask for, as far as it knows */
} GstVkgdrDemand;

/* Each block begins and ends at a multiple of this many bytes. 512 is CUDA's
 * texture alignment, and no smaller than any device's nonCoherentAtomSize, so
 * that flushing one block never touches another. */
#define GST_VKGDR_HEAP_GRANULE 512

typedef struct {
  guint held_blocks;     /* blocks that were given back and can be reused */
  guint active_blocks;   /* blocks in use */
  guint64 managed_bytes; /* all slabs together */
  guint64 active_bytes;  /* blocks in use together */
  guint slabs;
} GstVkgdrHeapStats;

GstVkgdrHeap *gst_vkgdr_heap_new (void);

/* Returns the allocations of all slabs, as gst_vkgdr_heap_remove_idle () does:
 * there is none left in which the device has finished with all blocks. */
GPtrArray *gst_vkgdr_heap_free (GstVkgdrHeap *heap);

/* Finds a block in the slabs of @backing. FALSE if none has room. */
gboolean gst_vkgdr_heap_take (GstVkgdrHeap *heap,
    const GstVkgdrBacking *backing, gsize size, const GstVkgdrDemand *demand,
    GstVkgdrBlock *block);

/* Bytes that a new slab for such a block should have; @is_tight: memory is
 * scarce, so no more than needed. */
gsize gst_vkgdr_heap_slab_size (GstVkgdrHeap *heap, gsize size,
    const GstVkgdrDemand *demand, gboolean is_tight);

/* Takes @allocation over, as a slab, and takes a block from it. */
void gst_vkgdr_heap_add (GstVkgdrHeap *heap, GstVkgdrAllocation *allocation,
    gsize size, const GstVkgdrDemand *demand, GstVkgdrBlock *block);

void gst_vkgdr_heap_give (GstVkgdrHeap *heap, const GstVkgdrBlock *block);

/* Bytes of the slabs of @backing that @owner has, and how many other pools have
 * some. */
guint64 gst_vkgdr_heap_get_owned (GstVkgdrHeap *heap,
    const GstVkgdrBacking *backing, gconstpointer owner, guint *n_others);

/* Removes the slabs that no block is in, and has not been since @since
 * (monotonic time; G_MAXINT64: all of these). Returns their allocations, of
 * GstVkgdrAllocation, for the caller to free without a lock; NULL if there are
 * none. Free ranges of the other slabs do not count as held any more if @since
 * is G_MAXINT64. */
GPtrArray *gst_vkgdr_heap_remove_idle (GstVkgdrHeap *heap, gint64 since);

/* Whether a slab is idle. */
gboolean gst_vkgdr_heap_has_idle (GstVkgdrHeap *heap);

void gst_vkgdr_heap_get_stats (GstVkgdrHeap *heap, GstVkgdrHeapStats *stats);

/* Whether only one memory's or pool's bytes lie in the block's allocation. */
gboolean gst_vkgdr_block_is_private (const GstVkgdrBlock *block);

/* Makes @size bytes from @offset on, which the CPU wrote through the host
 * pointer, visible to the device, and the other way round. */
gboolean gst_vkgdr_block_flush (
    const GstVkgdrBlock *block, gsize offset, gsize size, GError **error);
gboolean gst_vkgdr_block_invalidate (
    const GstVkgdrBlock *block, gsize offset, gsize size, GError **error);

G_END_DECLS

#endif /* __GST_VKGDR_HEAP_H__ */
