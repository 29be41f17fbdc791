/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * memory/buffer.h: all memories of a buffer at once
 *
 * Their access by a stream, and a copy where they are of another context, or
 * device. Knows nothing of elements, nor of what the bytes mean. Memory of
 * GStreamer's own CUDA elements is exchange/cudaframe.c's affair.
 */

#ifndef __GST_VKGDR_BUFFER_H__
#define __GST_VKGDR_BUFFER_H__

#include <gst/vkgdr/gstvkgdrcopy.h>
#include <gst/vkgdr/gstvkgdrmemory.h>

#include "sync/sync-private.h"

G_BEGIN_DECLS

/* Whether all its memory is of type VkgdrMemory and of the CUDA context of
 * @context. */
gboolean gst_vkgdr_buffer_is_of (GstBuffer *buffer, GstVkgdrContext *context);

/* As gst_vkgdr_memory_begin_access (), and gst_vkgdr_memory_end_access (), for
 * each memory, of a buffer that is of the stream's context. */
gboolean gst_vkgdr_buffer_begin_access (GstBuffer *buffer,
    GstVkgdrStream *stream, GstMapFlags flags, GError **error);
gboolean gst_vkgdr_buffer_end_access (GstBuffer *buffer, GstVkgdrStream *stream,
    GstMapFlags flags, GError **error);

/* A buffer like @buffer, all of whose memory is of type VkgdrMemory, but in
 * memory of the stream's context. Who uses that waits for the copy, and who
 * writes to @buffer's memory, too. NULL with @error set on failure. */
GstBuffer *gst_vkgdr_buffer_copy_here (
    GstBuffer *buffer, GstVkgdrStream *stream, GError **error);

G_END_DECLS

#endif /* __GST_VKGDR_BUFFER_H__ */
