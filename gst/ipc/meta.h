/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * ipc/meta.h: the metas and the offsets of a buffer as bytes
 *
 * Custom metas and reference timestamps are written in the same way with all
 * versions of GStreamer. Other metas are written from GStreamer 1.24 on, if
 * they can be serialised. A GstVideoMeta is never written: the planes of a
 * frame describe its picture. A reader skips metas that it does not know.
 */

#ifndef __GST_VKGDR_IPC_META_H__
#define __GST_VKGDR_IPC_META_H__

#include <gst/base/gstbytereader.h>
#include <gst/gst.h>

G_BEGIN_DECLS

/* Serialises the metas of @buffer to at most @max bytes. Metas that do not fit
 * or cannot be serialised are left out. */
GByteArray *gst_vkgdr_ipc_metas_write (GstBuffer *buffer, gsize max);

/* Adds the metas in the rest of @reader to @buffer. Returns FALSE if the bytes
 * are not valid. */
gboolean gst_vkgdr_ipc_metas_read (GstBuffer *buffer, GstByteReader *reader);

G_END_DECLS

#endif /* __GST_VKGDR_IPC_META_H__ */
