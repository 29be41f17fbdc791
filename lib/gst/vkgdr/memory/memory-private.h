/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * memory/memory-private.h: what the room memory offers to the rooms above it
 */

#ifndef __GST_VKGDR_MEMORY_PRIVATE_H__
#define __GST_VKGDR_MEMORY_PRIVATE_H__

#include <gst/vkgdr/gstvkgdrbufferpool.h>
#include <gst/vkgdr/gstvkgdrcopy.h>
#include <gst/vkgdr/gstvkgdrmapping.h>
#include <gst/vkgdr/gstvkgdrmemory.h>

#include "memory/buffer.h"
#include "memory/pinnedmemory.h"
#include "memory/share.h"
#include "sync/sync-private.h"

G_BEGIN_DECLS

typedef enum { GST_VKGDR_UPLOAD = 0, GST_VKGDR_DOWNLOAD = 1 } GstVkgdrDirection;

/* One stream for DMA in each direction, so that uploads and downloads run side
 * by side. Made at first use; NULL with @error set on failure. Must be called
 * without the lock of a memory. */
GstVkgdrStream *gst_vkgdr_allocator_get_copy_stream (
    GstVkgdrAllocator *allocator, GstVkgdrDirection direction, GError **error);

/* The allocator's context, which the default allocator opens when it is first
 * asked. Returns a reference; NULL with @error set. */
GstVkgdrContext *gst_vkgdr_allocator_ensure_context (
    GstVkgdrAllocator *allocator, GError **error);

/* From now on another process has the memory, too: the content on the device
 * may be newer than what is known here. */
void gst_vkgdr_memory_set_shared (GstMemory *mem);

/* @fence (taken) is behind all that was done to the memory; nothing else is
 * waited for. */
void gst_vkgdr_memory_set_fence (GstMemory *mem, GstVkgdrFence *fence);

/* Work that is queued on @stream, which is not this library's, from now on
 * follows all accesses to the memory. If nobody else has the memory, its fences
 * are forgotten then: the stream stands for them. */
gboolean gst_vkgdr_memory_hand_over (
    GstMemory *mem, CUstream stream, GError **error);

/* As gst_vkgdr_memory_end_access () with a fence that was recorded for several
 * memories. NULL: recording failed, and the whole CUDA context counts. */
void gst_vkgdr_memory_mark (
    GstMemory *mem, GstVkgdrFence *fence, GstMapFlags flags);

/* The memory was accessed with @flags on streams that were not declared. All of
 * that must be queued. */
void gst_vkgdr_memory_mark_unknown_stream (GstMemory *mem, GstMapFlags flags);

/* Begins an access for reading on streams that are not declared. Work that is
 * queued on @stream from now on begins when the content is on the device; if it
 * @is_there already, other streams need not wait for @stream. Without @stream,
 * the CPU waits. */
gboolean gst_vkgdr_memory_lend (
    GstMemory *mem, const CUstream *stream, gboolean *is_there, GError **error);

/* Ends it, when all that reads the memory is queued. */
void gst_vkgdr_memory_end_loan (GstMemory *mem);

/* A GstCudaMemory for the same bytes. It is kept with the memory while nobody
 * uses it, because making one is expensive. Takes it out; the caller owns it;
 * NULL if there is none. */
GstMemory *gst_vkgdr_memory_take_cuda_wrapper (GstMemory *mem);

/* Puts it back (taken). It is freed with @mem, when the device has finished
 * with that, or at once if there is another one. */
void gst_vkgdr_memory_give_cuda_wrapper (GstMemory *mem, GstMemory *wrapper);

G_END_DECLS

#endif /* __GST_VKGDR_MEMORY_PRIVATE_H__ */
