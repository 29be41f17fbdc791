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

/* Whether gst_is_vkgdr_memory_of () is true. If not, sets @error. */
gboolean gst_vkgdr_memory_check (
    GstMemory *memory, GstVkgdrContext *context, GError **error);

/* Whether @height rows of @width bytes, the first at @offset, are in @room
 * bytes. If not, sets @error. */
gboolean gst_vkgdr_check_rows (gsize offset, gsize pitch, gsize width,
    gsize height, gsize room, GError **error);

/* Makes the content of a memory that is not mapped undefined, so that the next
 * mapping does not fetch it. */
void gst_vkgdr_memory_discard (GstMemory *mem);

/* Replaces all fences of the memory by @fence (transfer full), which must have
 * been recorded after all accesses to the memory. */
void gst_vkgdr_memory_set_fence (GstMemory *mem, GstVkgdrFence *fence);

/* Makes @stream, a stream of another library, wait for all accesses that an
 * access with @flags has to follow. */
gboolean gst_vkgdr_memory_make_wait (
    GstMemory *mem, CUstream stream, GstMapFlags flags, GError **error);

/* Drops the fences, if the memory has no other user and no staging buffer. Must
 * be called after a stream of another library was made to wait for all
 * accesses. Later users of the memory must wait for that stream. */
void gst_vkgdr_memory_forget_accesses (GstMemory *mem);

/* See gst_vkgdr_task_use (). The memory must belong to the context of the
 * task's stream. */
gboolean gst_vkgdr_task_use_memory (
    GstVkgdrTask *task, GstMemory *mem, GstMapFlags flags, GError **error);

/* Must be called after the end of a task that has written the content of a
 * memory: the content on the device is now newer than any other copy. */
void gst_vkgdr_memory_set_on_device (GstMemory *mem);

/* Must be called after an access with @flags on undeclared streams. All of its
 * work must be queued. Waits for it if the driver is older than CUDA 12.5. */
void gst_vkgdr_memory_mark_unknown_stream (GstMemory *mem, GstMapFlags flags);

/* Takes a GstCudaMemory that wraps the memory and is not in use, for which
 * @compare (wrapper, @wanted) is 0. NULL if there is none. The caller owns it.
 * The memory keeps wrappers, because making one is expensive. */
GstMemory *gst_vkgdr_memory_take_cuda_wrapper (
    GstMemory *mem, GCompareFunc compare, gconstpointer wanted);

/* Gives the wrapper (transfer full) back. It is freed when @mem is freed and
 * the device has finished with it: until then, a kernel may sample its
 * textures. */
void gst_vkgdr_memory_give_cuda_wrapper (GstMemory *mem, GstMemory *wrapper);

/* Whether the planes are where the caps alone say, in one memory if there is a
 * GstVideoMeta, as in most frames. */
gboolean gst_vkgdr_buffer_has_default_layout (
    GstBuffer *buffer, const GstVideoInfo *info);

/* --- all memories of a buffer at once ------------------------------------- */

/* The same for all memories of a buffer. */
gboolean gst_vkgdr_task_use_buffer (
    GstVkgdrTask *task, GstBuffer *buffer, GstMapFlags flags, GError **error);
void gst_vkgdr_buffer_set_on_device (GstBuffer *buffer);

G_END_DECLS

#endif /* __GST_VKGDR_MEMORY_PRIVATE_H__ */
