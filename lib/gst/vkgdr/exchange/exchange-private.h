/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * exchange/exchange-private.h: frames of GStreamer's own CUDA elements, used
 * without a copy
 *
 * A frame that is read gets wrapped in a new buffer
 * (gst_vkgdr_context_buffer_from_cuda()). A frame that is written has its
 * memory replaced by a wrapper while the work is queued. Accesses are ordered
 * by the stream of the GstCudaMemory.
 */

#ifndef __GST_VKGDR_CUDA_FRAME_H__
#define __GST_VKGDR_CUDA_FRAME_H__

#include <gst/vkgdr/gstvkgdrcuda.h>

#include "memory/memory-private.h"

G_BEGIN_DECLS

/* The offsets and strides of the planes of @buffer: those of its GstVideoMeta,
 * or else of @info. */
GstVideoInfo gst_vkgdr_cuda_frame_layout (
    GstBuffer *buffer, const GstVideoInfo *info);

/* Makes a buffer with @memory (transfer full), laid out as @layout says, and
 * with all other data of @input. */
GstBuffer *gst_vkgdr_cuda_frame_new_like (
    GstBuffer *input, GstMemory *memory, const GstVideoInfo *layout);

/* Whether @buffer, a frame in GstCudaMemory with a single owner, can be written
 * in place without a wait. It must have a GstVideoMeta. Its memory must be in
 * the CUDA context of @context and have a stream, for which the next reader
 * waits. */
gboolean gst_vkgdr_cuda_frame_can_change (
    GstVkgdrContext *context, GstBuffer *buffer);

/* The two buffers of a piece of work on the device. Each of them may have
 * GstCudaMemory. */
typedef struct {
  GstBuffer *input; /* with GstVkgdrMemory */
  GstBuffer *output;
  GstMemory *output_memory; /* the GstCudaMemory that was replaced in @output */
  gboolean is_wrapped;      /* whether `input` is a wrapper */
} GstVkgdrCudaWork;

/* Replaces GstCudaMemory by GstVkgdrMemory, in the input if @from_cuda, and in
 * the output if @to_cuda. @output must be writable and have a GstVideoMeta, and
 * may be @input. */
gboolean gst_vkgdr_cuda_work_begin (GstVkgdrCudaWork *work,
    GstVkgdrContext *context, GstBuffer *input, gboolean from_cuda,
    GstBuffer *output, gboolean to_cuda, GError **error);

/* Must be called when the work is queued, also after a failure. Gives the
 * output its GstCudaMemory back. The stream of that memory is made to wait for
 * the work. If the memory has no stream, the CPU waits. */
gboolean gst_vkgdr_cuda_work_end (GstVkgdrCudaWork *work, GError **error);

/* --- GstVkgdrMemory as GstCudaMemory (exchange/cudaloan.c) --- */

/* Returns a read-only GstCudaMemory with the bytes of @buffer, laid out as
 * @layout says. @buffer must have one memory of this library. The result keeps
 * a reference to @buffer until the result is freed. It belongs to @stream, so
 * the function does not wait for the content. If @stream is NULL, the function
 * returns when the content is on the device. Returns NULL with @error set on
 * failure. */
GstMemory *gst_vkgdr_cuda_wrap_buffer (const GstVkgdrCudaLib *lib,
    GstCudaContext *cuda, GstBuffer *buffer, const GstVideoInfo *layout,
    GstCudaStream *stream, GError **error);

/* --- another context (exchange/peer.c) --- */

/* A new memory of this library with a copy of the content of @cuda_memory,
 * which is in another CUDA context. The caller owns it. */
GstMemory *gst_vkgdr_cuda_copy_across (const GstVkgdrCudaLib *lib,
    GstVkgdrContext *context, GstMemory *cuda_memory, GError **error);

/* --- pools (exchange/cudapool.c) --- */

/* Adds a pool of GstCudaMemory frames of @caps, described by @info, to @query,
 * if such a pool can be made. The pool has a stream, so that the CPU does not
 * wait for work that writes to its frames in place. */
void gst_vkgdr_cuda_pool_propose (GstVkgdrContext *context, GstQuery *query,
    GstCaps *caps, const GstVideoInfo *info);

/* Selects a pool of GstCudaMemory frames of @caps in the CUDA context of
 * @context: the first one of @query if it is usable, else a new one. The pool
 * is configured and replaces all pools of @query. FALSE with @error set on
 * failure. */
gboolean gst_vkgdr_cuda_pool_decide (GstVkgdrContext *context, GstQuery *query,
    GstCaps *caps, const GstVideoInfo *info, guint min_buffers, GError **error);

/* --- this buffer, here (exchange/here.c) --- */

/* Returns @buffer, or a buffer with the same content and metadata, in memory
 * that @stream can use. The caller has to unref it. GstCudaMemory is wrapped,
 * and memory of another context or device is copied. Users of a copy, and
 * writers of @buffer's memory, wait for the copy to be done. NULL with @error
 * set on failure: %GST_VKGDR_ERROR_ARGUMENT if @buffer has other memory. */
GstBuffer *gst_vkgdr_buffer_ref_here (
    GstBuffer *buffer, GstVkgdrStream *stream, GError **error);

G_END_DECLS

#endif /* __GST_VKGDR_CUDA_FRAME_H__ */
