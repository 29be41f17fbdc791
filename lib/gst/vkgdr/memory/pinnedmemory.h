/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * memory/pinnedmemory.h: pinned host memory as a GstMemory
 *
 * For the CPU, memory like any other; but what DMA brings may still be on its
 * way, and mapping waits for that. Does not know what is brought.
 */

#ifndef __GST_VKGDR_PINNED_MEMORY_H__
#define __GST_VKGDR_PINNED_MEMORY_H__

#include "memory/pinned.h"

G_BEGIN_DECLS

GstMemory *gst_vkgdr_pinned_memory_new (
    GstVkgdrPinned *pinned, gsize size, GError **error);

gboolean gst_vkgdr_is_pinned_memory (GstMemory *mem);

/* Its first byte. */
gpointer gst_vkgdr_pinned_memory_get_data (GstMemory *mem);

/* @stream has a transfer to it queued; mapping waits until that is done. */
gboolean gst_vkgdr_pinned_memory_expect (
    GstMemory *mem, GstVkgdrStream *stream, GError **error);

G_END_DECLS

#endif /* __GST_VKGDR_PINNED_MEMORY_H__ */
