/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * ipc/meta.h: the metas of a buffer as bytes
 *
 * GstVideoMeta, GstVideoCropMeta and custom metas are written in the same way
 * by all versions of GStreamer, other metas that can be serialised from 1.24
 * on. A reader skips metas that it does not know.
 */

#ifndef __GST_VKGDR_IPC_META_H__
#define __GST_VKGDR_IPC_META_H__

#include <gst/base/gstbytereader.h>
#include <gst/gst.h>

G_BEGIN_DECLS

/* The metas of @buffer, @max bytes at most; those that do not fit, or cannot be
 * serialised, are left out. */
GByteArray *gst_vkgdr_ipc_metas_write (GstBuffer *buffer, gsize max);

/* Adds to @buffer what is left in @reader. FALSE if that is not of this form.
 */
gboolean gst_vkgdr_ipc_metas_read (GstBuffer *buffer, GstByteReader *reader);

G_END_DECLS

#endif /* __GST_VKGDR_IPC_META_H__ */
