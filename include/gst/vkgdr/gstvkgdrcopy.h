/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * gstvkgdrcopy.h: copies and fills of memory
 *
 * Knows nothing of formats: a rectangle is rows of bytes.
 */

#ifndef __GST_VKGDR_COPY_H__
#define __GST_VKGDR_COPY_H__

#include <gst/vkgdr/gstvkgdrmemory.h>

G_BEGIN_DECLS

GST_VKGDR_API
gboolean gst_vkgdr_memory_copy_rect (GstMemory *memory, gsize offset,
    gsize pitch, GstMemory *source, gsize source_offset, gsize source_pitch,
    gsize width, gsize height, GstVkgdrStream *stream, GError **error);

GST_VKGDR_API
gboolean gst_vkgdr_memory_fetch_rect (GstMemory *memory, gsize offset,
    gsize pitch, GstMemory *pinned, gsize pinned_offset, gsize pinned_pitch,
    gsize width, gsize height, GstVkgdrStream *stream, GError **error);

GST_VKGDR_API
gboolean gst_vkgdr_memory_fill (GstMemory *memory, gsize offset, gsize size,
    guint8 value, GstVkgdrStream *stream, GError **error);

G_END_DECLS

#endif /* __GST_VKGDR_COPY_H__ */
