/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * memory/slabs.h: blocks in few, large allocations
 *
 * An allocation of the driver takes a fraction of a millisecond and a file
 * descriptor, so an allocator allocates slabs, and divides them into blocks.
 * All slabs of a pool contain buffers of this pool and nothing else. Outside
 * pools, small blocks share slabs, and a large block has one of its own. A
 * block of pinned host memory always has one of its own.
 *
 * Calls no driver, and does not know whether the device still uses a block. Not
 * thread-safe.
 */

#ifndef __GST_VKGDR_SLABS_H__
#define __GST_VKGDR_SLABS_H__

#include "memory/backing.h"

G_BEGIN_DECLS

/* Offsets and sizes of blocks are a multiple of this many bytes. 512 is CUDA's
 * texture alignment, and at least the nonCoherentAtomSize of any device, so
 * that flushing one block never touches another. */
#define GST_VKGDR_BLOCK_ALIGNMENT 512

/* Bytes. Outside pools, blocks of at least this size have slabs of their own:
 * writing them takes 0.1 ms (10 GB/s on an H200), as long as an allocation. */
#define GST_VKGDR_BLOCK_LARGE (1024 * 1024)

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

typedef enum {
  GST_VKGDR_SLABS_SHARED,  /* small blocks share slabs */
  GST_VKGDR_SLABS_OF_POOL, /* all blocks share slabs */
  GST_VKGDR_SLABS_SINGLE /* each block has a slab, and may be larger than asked
                          * for, so that it is used again for other sizes */
} GstVkgdrSlabsKind;

typedef struct {
  GstVkgdrSlabsKind kind;
  guint n_expected; /* number of blocks that the pool takes at its start */
  GPtrArray *array; /* of GstVkgdrSlab */
} GstVkgdrSlabs;

typedef struct {
  guint active_blocks;   /* blocks in use */
  guint64 active_bytes;  /* blocks in use together */
  guint64 managed_bytes; /* all slabs together */
  guint slabs;
} GstVkgdrSlabsStats;

void gst_vkgdr_slabs_init (GstVkgdrSlabs *self, GstVkgdrSlabsKind kind);

/* Whether a slab with a block of @size bytes contains no other blocks, except
 * the buffers of the same pool. */
gboolean gst_vkgdr_slabs_are_private (const GstVkgdrSlabs *self, gsize size);
gboolean gst_vkgdr_block_is_private (const GstVkgdrBlock *block);

/* Takes a block from the slabs of @backing. FALSE if none has room. Of several
 * single blocks of the same size, takes the one that was given back last,
 * because it may be in the CPU's cache. */
gboolean gst_vkgdr_slabs_take (GstVkgdrSlabs *self,
    const GstVkgdrBacking *backing, gsize size, GstVkgdrBlock *block);

/* The size in bytes of a new slab for such a block: at most @room, unless a
 * single block is larger. */
gsize gst_vkgdr_slabs_get_slab_size (
    const GstVkgdrSlabs *self, gsize size, guint64 room);

/* Adds @allocation (transfer full) as a slab, and takes a block from it. */
void gst_vkgdr_slabs_add (GstVkgdrSlabs *self, GstVkgdrAllocation *allocation,
    gsize size, GstVkgdrBlock *block);

void gst_vkgdr_slabs_give (GstVkgdrSlabs *self, const GstVkgdrBlock *block);

/* Removes the slabs that have had no used block since @since (monotonic time;
 * G_MAXINT64: all slabs without a used block). Returns an array of their
 * GstVkgdrAllocation, which the caller frees without a lock. */
GPtrArray *gst_vkgdr_slabs_remove_idle (GstVkgdrSlabs *self, gint64 since);

GstVkgdrSlabsStats gst_vkgdr_slabs_get_stats (const GstVkgdrSlabs *self);

G_END_DECLS

#endif /* __GST_VKGDR_SLABS_H__ */
