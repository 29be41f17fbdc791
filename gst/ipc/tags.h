/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * ipc/tags.h: tags and segments as bytes
 *
 * docs/ipc-protocol.md describes the bytes. Nothing is parsed: a tag is read if
 * this process knows its name, and the type of its value is the right one.
 */

#ifndef __GST_VKGDR_IPC_TAGS_H__
#define __GST_VKGDR_IPC_TAGS_H__

#include <gst/gst.h>

G_BEGIN_DECLS

/* Tags whose type cannot be sent are left out. Returns NULL if they would be
 * larger than @max bytes. */
GByteArray *gst_vkgdr_ipc_tags_write (const GstTagList *tags, gsize max);

/* Returns NULL if the bytes do not have this form. */
GstTagList *gst_vkgdr_ipc_tags_read (
    gconstpointer data, gsize size, GstTagScope scope);

GByteArray *gst_vkgdr_ipc_segment_write (const GstSegment *segment);

/* Returns FALSE if GStreamer cannot use the segment. */
gboolean gst_vkgdr_ipc_segment_read (
    gconstpointer data, gsize size, GstSegment *segment);

G_END_DECLS

#endif /* __GST_VKGDR_IPC_TAGS_H__ */
