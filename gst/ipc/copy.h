/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * ipc/copy.h: buffers in memory that can be exported
 *
 * A buffer whose memory cannot be exported, or is not of this context, is
 * copied once: by the device if the buffer is in a device's memory, and by the
 * CPU otherwise.
 */

#ifndef __GST_VKGDR_IPC_COPY_H__
#define __GST_VKGDR_IPC_COPY_H__

#include <gst/vkgdr/vkgdr.h>

G_BEGIN_DECLS

typedef struct _GstVkgdrIpcCopier GstVkgdrIpcCopier;

/* Returns NULL with @error set on failure. The copier is not thread-safe. */
GstVkgdrIpcCopier *gst_vkgdr_ipc_copier_new (
    GstVkgdrContext *context, GError **error);
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
