/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * ipc/copy.h: buffers in memory that can be exported
 *
 * A buffer whose memory cannot be exported, or is not of this context, is
 * copied once: by the device if that has it, and by the CPU otherwise.
 */

#ifndef __GST_VKGDR_IPC_COPY_H__
#define __GST_VKGDR_IPC_COPY_H__

#include <gst/vkgdr/vkgdr.h>

G_BEGIN_DECLS

typedef struct _GstVkgdrIpcCopier GstVkgdrIpcCopier;

/* NULL with @error set on failure. Not thread-safe. */
GstVkgdrIpcCopier *gst_vkgdr_ipc_copier_new (
    GstVkgdrContext *context, GError **error);
void gst_vkgdr_ipc_copier_free (GstVkgdrIpcCopier *self);

/* Whether all memory of @buffer can be exported as it is. */
gboolean gst_vkgdr_ipc_copier_is_exportable (
    GstVkgdrIpcCopier *self, GstBuffer *buffer);

/* A buffer with the content and the metadata of @buffer. Its memory is that of
 * @room, a buffer of a pool, which the caller gives back after it. (A
 * GstParentBufferMeta would give it back before the memory, and the pool would
 * not use it again.) NULL with @error set on failure. */
GstBuffer *gst_vkgdr_ipc_copier_copy (GstVkgdrIpcCopier *self,
    GstBuffer *buffer, GstBuffer **room, GError **error);

G_END_DECLS

#endif /* __GST_VKGDR_IPC_COPY_H__ */
