/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * memory/spares.h: small memories that were freed and can be used again at once
 *
 * An element without a pool allocates and frees a memory for each buffer. If a
 * buffer has a few KiB, a tenth of the element's time is needed to take a block
 * from the heap and to give it back. So up to 16 freed memories are kept whole,
 * and are the first choice when a memory is allocated. When all slots are in
 * use, other freed memories go to the heap.
 *
 * The heap counts the blocks of these memories as used. All code that uses the
 * heap has to give these blocks back to it first.
 *
 * Thread-safe without a lock, because two atomic instructions for a buffer are
 * cheaper than taking a lock twice: each memory is in an atomic slot. Only the
 * heap and the field `since` need the allocator's lock, so some functions must
 * be called with it held.
 */

#ifndef __GST_VKGDR_SPARES_H__
#define __GST_VKGDR_SPARES_H__

#include "memory/memory.h"

G_BEGIN_DECLS

/* The number of memories in flight in a pipeline with a few queues. */
#define GST_VKGDR_SPARES_MAX 16

typedef struct {
  GstVkgdrMemory *memories[GST_VKGDR_SPARES_MAX]; /* atomic; NULL: free slot */
  gint64 since; /* monotonic time at which `is_used` was reset */
  gint is_used; /* atomic; a memory was kept since then */
} GstVkgdrSpares;

/* Whether a memory with this block, which the device has finished with, may be
 * kept: a small block in the window that no pool owns. */
gboolean gst_vkgdr_spares_fit (const GstVkgdrBlock *block);

/* Keeps @memory (taken), of which only the block and the size matter. FALSE if
 * there are too many. */
gboolean gst_vkgdr_spares_keep (GstVkgdrSpares *self, GstVkgdrMemory *memory);

/* Returns a memory of any size, which the caller owns and initializes, or
 * NULL. */
GstVkgdrMemory *gst_vkgdr_spares_take (GstVkgdrSpares *self);

/* Whether no memory is kept. */
gboolean gst_vkgdr_spares_is_empty (GstVkgdrSpares *self);

/* Must be called with the lock held, at the monotonic time @now: from then on,
 * the memories count as unused until one is kept. */
void gst_vkgdr_spares_reset_use (GstVkgdrSpares *self, gint64 now);

/* Must be called with the lock held. Gives the block of @memory (taken), which
 * was taken from the spares, to @heap. */
void gst_vkgdr_spares_give (
    GstVkgdrSpares *self, GstVkgdrHeap *heap, GstVkgdrMemory *memory);

/* Must be called with the lock held. Does the same for all memories. */
void gst_vkgdr_spares_empty (GstVkgdrSpares *self, GstVkgdrHeap *heap);

G_END_DECLS

#endif /* __GST_VKGDR_SPARES_H__ */
