/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * memory/buffer.h: all memories of a buffer at once
 *
 * Begins and ends the access of a stream to them, and copies them if they
 * belong to another context or device. Must not know elements and the content.
 * Memory of GStreamer's own CUDA elements is in exchange/cudaframe.c.
 */

#ifndef __GST_VKGDR_BUFFER_H__
#define __GST_VKGDR_BUFFER_H__

#include <gst/vkgdr/gstvkgdrcopy.h>
#include <gst/vkgdr/gstvkgdrmemory.h>

#include "sync/sync-private.h"

G_BEGIN_DECLS

/* Like gst_vkgdr_memory_begin_access (), for all memories of a buffer. They
 * must belong to the stream's context. */
gboolean gst_vkgdr_buffer_begin_access (GstBuffer *buffer,
    GstVkgdrStream *stream, GstMapFlags flags, GError **error);

/* Must be called before the end of an access for writing. The CPU may have
 * written to the memory since the begin of the access, with a transfer on
 * another stream. Makes @stream wait for that transfer, so that work behind a
 * fence of @stream follows it, too. */
gboolean gst_vkgdr_buffer_follow_uploads (
    GstBuffer *buffer, GstVkgdrStream *stream, GError **error);

/* Ends an access to all memories of a buffer: @fence is behind its work. NULL
 * if it could not be recorded: then the next user waits for the whole CUDA
 * context. */
void gst_vkgdr_buffer_mark (
    GstBuffer *buffer, GstVkgdrFence *fence, GstMapFlags flags);

/* Copies @buffer, whose memory must have type VkgdrMemory, to memory of the
 * stream's context. Users of the copy, and writers of @buffer's memory, wait
 * for the copy to be done. NULL with @error set on failure. */
GstBuffer *gst_vkgdr_buffer_copy_here (
    GstBuffer *buffer, GstVkgdrStream *stream, GError **error);

G_END_DECLS

#endif /* __GST_VKGDR_BUFFER_H__ */
