/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * memory/memory-private.h: the interface of the folder memory for the other
 * folders, which docs/architecture.md calls rooms
 */

#ifndef __GST_VKGDR_MEMORY_PRIVATE_H__
#define __GST_VKGDR_MEMORY_PRIVATE_H__

#include <gst/vkgdr/gstvkgdrbufferpool.h>
#include <gst/vkgdr/gstvkgdrcopy.h>
#include <gst/vkgdr/gstvkgdrmemory.h>

#include "memory/buffer.h"
#include "memory/pinnedmemory.h"
#include "memory/share.h"
#include "sync/sync-private.h"

G_BEGIN_DECLS

typedef enum { GST_VKGDR_UPLOAD = 0, GST_VKGDR_DOWNLOAD = 1 } GstVkgdrDirection;

/* A stream for DMA in each direction, so that uploads and downloads run
 * concurrently. Created at first use; NULL with @error set on failure. Must be
 * called without the lock of a memory. */
GstVkgdrStream *gst_vkgdr_allocator_get_copy_stream (
    GstVkgdrAllocator *allocator, GstVkgdrDirection direction, GError **error);

/* Returns a reference to the allocator's context, which the default allocator
 * opens with the first call; NULL with @error set on failure. */
GstVkgdrContext *gst_vkgdr_allocator_ensure_context (
    GstVkgdrAllocator *allocator, GError **error);

/* Makes the content of a memory that is not mapped undefined, so that the next
 * mapping does not fetch it. */
void gst_vkgdr_memory_discard (GstMemory *mem);

/* Replaces all fences of the memory by @fence (taken), which must be behind all
 * accesses to the memory. */
void gst_vkgdr_memory_set_fence (GstMemory *mem, GstVkgdrFence *fence);

/* Makes @stream, a stream of another library, wait for all accesses to the
 * memory before it does work that is queued from now on. If the memory has no
 * other user and no staging buffer, its fences are dropped, since the stream
 * waits for them. */
gboolean gst_vkgdr_memory_hand_over (
    GstMemory *mem, CUstream stream, GError **error);

/* Like gst_vkgdr_memory_end_access (), with a fence that was recorded for
 * several memories. NULL if recording failed: then the next user waits for the
 * whole CUDA context. */
void gst_vkgdr_memory_mark (
    GstMemory *mem, GstVkgdrFence *fence, GstMapFlags flags);

/* Must be called after an access with @flags on undeclared streams. All of its
 * work must be queued. */
void gst_vkgdr_memory_mark_unknown_stream (GstMemory *mem, GstMapFlags flags);

/* Begins an access for reading on undeclared streams. Makes work that is queued
 * on @stream from now on wait until the content is on the device. Without
 * @stream, the CPU waits. @is_on_device is set if the content is on the device
 * already, so that other streams do not have to wait for @stream. */
gboolean gst_vkgdr_memory_begin_read_on_unknown_streams (GstMemory *mem,
    const CUstream *stream, gboolean *is_on_device, GError **error);

/* Ends the access. All work that reads the memory must be queued. */
void gst_vkgdr_memory_end_read_on_unknown_streams (GstMemory *mem);

/* Takes the GstCudaMemory that wraps the memory, if there is one, or NULL. The
 * caller owns it. The memory keeps it while it is not in use, because making
 * one is expensive. */
GstMemory *gst_vkgdr_memory_take_cuda_wrapper (GstMemory *mem);

/* Gives the wrapper (taken) back. It is freed when the device has finished with
 * the freed @mem, or at once if there already is another wrapper. */
void gst_vkgdr_memory_give_cuda_wrapper (GstMemory *mem, GstMemory *wrapper);

G_END_DECLS

#endif /* __GST_VKGDR_MEMORY_PRIVATE_H__ */
