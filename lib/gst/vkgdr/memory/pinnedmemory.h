/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * memory/pinnedmemory.h: pinned host memory as a GstMemory
 *
 * Mapping it for the CPU waits for pending DMA transfers to it. Does not know
 * what is transferred.
 */

#ifndef __GST_VKGDR_PINNED_MEMORY_H__
#define __GST_VKGDR_PINNED_MEMORY_H__

#include <gst/vkgdr/gstvkgdrmemory.h>

G_BEGIN_DECLS

typedef struct _GstVkgdrBlocks GstVkgdrBlocks;

/* NULL with @error set on failure. */
GstMemory *gst_vkgdr_pinned_memory_new (
    GstVkgdrBlocks *blocks, gsize size, GError **error);

gboolean gst_vkgdr_is_pinned_memory (GstMemory *mem);

/* Returns the address of its first byte. */
gpointer gst_vkgdr_pinned_memory_get_data (GstMemory *mem);

/* Must be called after a transfer to the memory was queued on @stream. Mapping
 * then waits until the transfer is done. */
gboolean gst_vkgdr_pinned_memory_expect (
    GstMemory *mem, GstVkgdrStream *stream, GError **error);

G_END_DECLS

#endif /* __GST_VKGDR_PINNED_MEMORY_H__ */
