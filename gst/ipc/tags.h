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

/* Writes at most @max bytes. Tags that do not fit are left out, pictures first,
 * and @are_complete is FALSE then. Tags whose type cannot be sent are left out,
 * too. */
GByteArray *gst_vkgdr_ipc_tags_write (
    const GstTagList *tags, gsize max, gboolean *are_complete);

/* Returns NULL if the bytes do not have this form. */
GstTagList *gst_vkgdr_ipc_tags_read (
    gconstpointer data, gsize size, GstTagScope scope);

/* Without its flags, and without its position. */
GByteArray *gst_vkgdr_ipc_segment_write (const GstSegment *segment);

/* Returns FALSE if a live stream cannot have the segment. */
gboolean gst_vkgdr_ipc_segment_read (
    gconstpointer data, gsize size, GstSegment *segment);

G_END_DECLS

#endif /* __GST_VKGDR_IPC_TAGS_H__ */
