/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * gstvkgdrpeer.h: buffers whose memory is of another context, or device
 */

#ifndef __GST_VKGDR_PEER_H__
#define __GST_VKGDR_PEER_H__

#include "gstvkgdrprivate.h"

G_BEGIN_DECLS

/* Whether all its memory is of type VkgdrMemory and of @context. */
gboolean gst_vkgdr_buffer_is_of (GstBuffer *buffer, GstVkgdrContext *context);

/* A buffer like @buffer, all of whose memory is of type VkgdrMemory, but in
 * memory of the stream's context. Who uses that waits for the copy, and who
 * writes to @buffer's memory, too. NULL with @error set on failure. */
GstBuffer *gst_vkgdr_buffer_copy_here (
    GstBuffer *buffer, GstVkgdrStream *stream, GError **error);

G_END_DECLS

#endif /* __GST_VKGDR_PEER_H__ */
