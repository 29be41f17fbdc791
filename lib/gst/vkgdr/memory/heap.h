/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * memory/heap.h: blocks in few, large allocations
 *
 * An allocation of the driver takes a fraction of a millisecond and a file
 * descriptor, so memory is allocated in slabs, which are divided into blocks.
 * Only the heap knows slabs. It calls no driver: the allocator makes
 * allocations and adds them to the heap, and frees those that the heap returns.
 *
 * Small blocks share slabs. A slab of large blocks has a single owner, a pool
 * or a memory, so that a file descriptor of the slab gives access to nothing
 * else.
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
  GstVkgdrSlab *slab; /* NULL if the allocation is not a slab */
  gsize offset;       /* in the allocation, bytes */
  gsize size;         /* bytes */
  guint8 *host;       /* NULL if there is no host pointer */
  CUdeviceptr device;
} GstVkgdrBlock;

/* The requester of a block. */
typedef struct {
  gconstpointer
      owner;      /* owner of whole slabs; NULL: small blocks share slabs */
  guint n_blocks; /* expected number of blocks for the owner */
} GstVkgdrDemand;

/* Offsets and sizes of blocks are a multiple of this many bytes. 512 is CUDA's
 * texture alignment, and at least the nonCoherentAtomSize of any device, so
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

/* Returns the allocations of all remaining slabs, like
 * gst_vkgdr_heap_remove_idle (). The device may still use some of their blocks.
 */
GPtrArray *gst_vkgdr_heap_free (GstVkgdrHeap *heap);

/* Takes a block from the slabs of @backing. FALSE if none has room. */
gboolean gst_vkgdr_heap_take (GstVkgdrHeap *heap,
    const GstVkgdrBacking *backing, gsize size, const GstVkgdrDemand *demand,
    GstVkgdrBlock *block);

/* The size in bytes of a new slab for such a block. If @is_tight, memory is
 * scarce and the slab is not larger than needed. */
gsize gst_vkgdr_heap_slab_size (GstVkgdrHeap *heap, gsize size,
    const GstVkgdrDemand *demand, gboolean is_tight);

/* Adds @allocation (taken) as a slab, and takes a block from it. */
void gst_vkgdr_heap_add (GstVkgdrHeap *heap, GstVkgdrAllocation *allocation,
    gsize size, const GstVkgdrDemand *demand, GstVkgdrBlock *block);

/* Gives @block back. @since is the monotonic time when its last use ended; 0
 * means now. */
void gst_vkgdr_heap_give (
    GstVkgdrHeap *heap, const GstVkgdrBlock *block, gint64 since);

/* Returns the size in bytes of the slabs of @backing that @owner has. Sets
 * @n_others to the number of other pools that use blocks of such slabs. */
guint64 gst_vkgdr_heap_get_owned (GstVkgdrHeap *heap,
    const GstVkgdrBacking *backing, gconstpointer owner, guint *n_others);

/* Removes the slabs that have had no used block since @since (monotonic time;
 * G_MAXINT64: all slabs without a used block). Returns an array of their
 * GstVkgdrAllocation, which the caller must free without a lock; NULL if there
 * are none. If @since is G_MAXINT64, free ranges of the other slabs do not
 * count as held any more. */
GPtrArray *gst_vkgdr_heap_remove_idle (GstVkgdrHeap *heap, gint64 since);

/* Whether there is a slab without a used block. */
gboolean gst_vkgdr_heap_has_idle (GstVkgdrHeap *heap);

void gst_vkgdr_heap_get_stats (GstVkgdrHeap *heap, GstVkgdrHeapStats *stats);

/* Whether the allocation of the block contains bytes of only one memory or
 * pool. */
gboolean gst_vkgdr_block_is_private (const GstVkgdrBlock *block);

/* Makes @size bytes at @offset that the CPU wrote through the host pointer
 * visible to the device (flush), or the other way round (invalidate). */
gboolean gst_vkgdr_block_flush (
    const GstVkgdrBlock *block, gsize offset, gsize size, GError **error);
gboolean gst_vkgdr_block_invalidate (
    const GstVkgdrBlock *block, gsize offset, gsize size, GError **error);

/* The same as gst_vkgdr_block_flush () for bytes that were written with
 * vkgdr_copy_to_bar (), which ends with a store fence. */
gboolean gst_vkgdr_block_flush_copied (
    const GstVkgdrBlock *block, gsize offset, gsize size, GError **error);

G_END_DECLS

#endif /* __GST_VKGDR_HEAP_H__ */
