/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * memory/share.h: memories that are parts of others
 *
 * For allocators whose memories keep all their data in the root. The root is
 * the memory that was not made by gst_memory_share(). Must not know anything
 * else about such memories.
 */

#ifndef __GST_VKGDR_SHARE_H__
#define __GST_VKGDR_SHARE_H__

#include <gst/gst.h>

G_BEGIN_DECLS

/* The memory that @mem is a part of, or @mem. */
GstMemory *gst_vkgdr_share_root (GstMemory *mem);

/* Initialises @part, which must be zero-filled, as a part of @mem. To be called
 * by a GstMemoryShareFunction. */
void gst_vkgdr_share_init (
    GstMemory *part, GstMemory *mem, gssize offset, gssize size);

/* A GstMemoryIsSpanFunction. */
gboolean gst_vkgdr_share_is_span (GstMemory *a, GstMemory *b, gsize *offset);

G_END_DECLS

#endif /* __GST_VKGDR_SHARE_H__ */
