/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * memory/heap.h: blocks carved out of few, large allocations of libvkgdr
 *
 * A Vulkan allocation takes a fraction of a millisecond and a file descriptor,
 * so memory comes in slabs that are carved up and recycled. The heap alone
 * knows slabs. It does not know whether the device still uses a block: that is
 * for its user to see to before it frees one. Not thread-safe: the user locks.
 */

#ifndef __GST_VKGDR_HEAP_H__
#define __GST_VKGDR_HEAP_H__

#include <gst/vkgdr/gstvkgdrmemory.h>

#include "sync/sync-private.h"

G_BEGIN_DECLS

typedef struct _GstVkgdrHeap GstVkgdrHeap;
typedef struct _GstVkgdrSlab GstVkgdrSlab;

/* A range of a slab; or, where `slab` is NULL, memory of somebody else, who is
 * told by `release` (nullable) that it is not needed any more. */
typedef struct {
  GstVkgdrSlab *slab;
  gsize offset; /* in the slab, bytes */
  gsize size;   /* bytes, a multiple of GST_VKGDR_HEAP_GRANULE */
  guint8 *host; /* NULL beside the window */
  CUdeviceptr device;
  GDestroyNotify release;
  gpointer user_data;
} GstVkgdrBlock;

/* Where a block lies: in the window, or in memory of the device that the CPU
 * cannot write to, for when the window is full. */
typedef enum { GST_VKGDR_IN_WINDOW, GST_VKGDR_BESIDE_WINDOW } GstVkgdrPlace;

/* Every block begins and ends at a multiple of this many bytes. 512 is CUDA's
 * texture alignment, and no smaller than any device's nonCoherentAtomSize, so
 * that flushing one block never touches another. */
#define GST_VKGDR_HEAP_GRANULE 512

typedef struct {
  guint held_blocks;     /* free ranges */
  guint active_blocks;   /* blocks in use */
  guint64 managed_bytes; /* all slabs together */
  guint64 active_bytes;  /* blocks in use together */
  guint slabs;
} GstVkgdrHeapStats;

GstVkgdrHeap *gst_vkgdr_heap_new (GstVkgdrContext *context);

/* All blocks must have been freed. */
void gst_vkgdr_heap_free (GstVkgdrHeap *heap);

gboolean gst_vkgdr_heap_take (GstVkgdrHeap *heap, GstVkgdrPlace place,
    gsize size, GstVkgdrBlock *block, GError **error);

void gst_vkgdr_heap_give (GstVkgdrHeap *heap, const GstVkgdrBlock *block);

/* Frees the slabs that no block is in. */
void gst_vkgdr_heap_trim (GstVkgdrHeap *heap);

/* From now on a slab is freed with its last block. */
void gst_vkgdr_heap_stop_holding (GstVkgdrHeap *heap);

void gst_vkgdr_heap_get_stats (GstVkgdrHeap *heap, GstVkgdrHeapStats *stats);

/* A new file descriptor of the allocation that @block, in the window, lies in,
 * its size, and where in it the block begins; -1 with @error set. */
gint gst_vkgdr_block_export (
    const GstVkgdrBlock *block, gsize *fd_size, gsize *offset, GError **error);

/* The flush of @size bytes from @offset of a block in the window; FALSE if it
 * failed. */
gboolean gst_vkgdr_block_flush (
    const GstVkgdrBlock *block, gsize offset, gsize size, GError **error);

gboolean gst_vkgdr_block_invalidate (
    const GstVkgdrBlock *block, gsize offset, gsize size, GError **error);

G_END_DECLS

#endif /* __GST_VKGDR_HEAP_H__ */
