/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * ipc/copy.h: copies of buffers, in memory of a pool
 *
 * A server copies a buffer whose memory cannot be exported, or is not of its
 * context, once. A client copies a buffer that downstream would keep from the
 * server. The device copies buffers that are in a device's memory, and the CPU
 * the others.
 */

#ifndef __GST_VKGDR_IPC_COPY_H__
#define __GST_VKGDR_IPC_COPY_H__

#include <gst/vkgdr/vkgdr.h>

G_BEGIN_DECLS

typedef struct _GstVkgdrIpcCopier GstVkgdrIpcCopier;

/* @is_for_export: whether other processes get the copies, which then have to be
 * in the window. Returns NULL with @error set on failure. The copier is not
 * thread-safe. */
GstVkgdrIpcCopier *gst_vkgdr_ipc_copier_new (
    GstVkgdrContext *context, gboolean is_for_export, GError **error);
void gst_vkgdr_ipc_copier_free (GstVkgdrIpcCopier *self);

/* Wraps a frame of GStreamer's own CUDA elements as VkgdrMemory, without a copy
 * if it is on the same device. Returns a reference to another buffer. Returns
 * NULL with @error set on failure. */
GstBuffer *gst_vkgdr_ipc_copier_wrap (
    GstVkgdrIpcCopier *self, GstBuffer *buffer, GError **error);

/* Returns a buffer of a pool, with a copy of the bytes of @buffer, and the
 * metadata of @described (the same bytes with other metadata). Returns NULL
 * with
 * @error set on failure. */
GstBuffer *gst_vkgdr_ipc_copier_copy (GstVkgdrIpcCopier *self,
    GstBuffer *buffer, GstBuffer *described, GError **error);

G_END_DECLS

#endif /* __GST_VKGDR_IPC_COPY_H__ */
