/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * memory/spares.h: small memories that were freed and can be used again at once
 *
 * An element without a pool allocates and frees a memory for each buffer. For a
 * buffer of a few KiB, taking a block from the heap and giving it back is a
 * tenth of the time. So the last freed memories are kept whole, and are the
 * first choice when a memory of the same size is allocated.
 *
 * For the heap, the blocks of these memories are in use. All code that uses the
 * heap has to give them back to it first.
 *
 * Not thread-safe: the allocator's lock must be held.
 */

#ifndef __GST_VKGDR_SPARES_H__
#define __GST_VKGDR_SPARES_H__

#include "memory/memory.h"

G_BEGIN_DECLS

/* As many as are in flight in a pipeline with a few queues. */
#define GST_VKGDR_SPARES_MAX 16

typedef struct {
  GstVkgdrMemory *memories[GST_VKGDR_SPARES_MAX];
  guint n;
  gint64 since; /* monotonic time since when none was used, or 0: now */
} GstVkgdrSpares;

/* Whether a memory with this block, which the device has finished with, may be
 * kept: a small block in the window that no pool owns. */
gboolean gst_vkgdr_spares_fit (const GstVkgdrBlock *block);

/* Keeps @memory (taken), of which only the block and the size matter. FALSE if
 * there are too many. */
gboolean gst_vkgdr_spares_keep (GstVkgdrSpares *self, GstVkgdrMemory *memory);

/* Returns a memory of @maxsize bytes, which the caller initializes and owns, or
 * NULL. */
GstVkgdrMemory *gst_vkgdr_spares_take (GstVkgdrSpares *self, gsize maxsize);

/* Gives all blocks back to @heap, and frees the memories. */
void gst_vkgdr_spares_empty (GstVkgdrSpares *self, GstVkgdrHeap *heap);

G_END_DECLS

#endif /* __GST_VKGDR_SPARES_H__ */
