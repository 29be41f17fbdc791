/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * exchange/exchange-private.h: frames of GStreamer's own CUDA elements, used
 * where they lie
 *
 * One that is read comes as a buffer with memory of ours
 * (gst_vkgdr_context_buffer_from_cuda()); one that is written has memory of
 * ours for as long as that takes. The order is that of their memory's stream.
 */

#ifndef __GST_VKGDR_CUDA_FRAME_H__
#define __GST_VKGDR_CUDA_FRAME_H__

#include <gst/vkgdr/gstvkgdrcuda.h>

#include "memory/memory-private.h"

G_BEGIN_DECLS

/* Where the planes of @buffer lie, as its meta or else @info says. */
GstVideoInfo gst_vkgdr_cuda_frame_layout (
    GstBuffer *buffer, const GstVideoInfo *info);

/* Like @input in all but @memory (taken), which is laid out as @layout says. */
GstBuffer *gst_vkgdr_cuda_frame_new_like (
    GstBuffer *input, GstMemory *memory, const GstVideoInfo *layout);

/* Whether a frame of theirs, which nobody else has, can be written to in
 * @context, without a wait: who reads it finds a stream to wait for. */
gboolean gst_vkgdr_cuda_frame_can_change (
    GstVkgdrContext *context, GstBuffer *buffer);

/* The two buffers of a work on the device, either of which may be a frame of
 * theirs, and both of which may be one. */
typedef struct {
  GstBuffer *input; /* with memory of ours */
  GstBuffer *output;
  GstMemory *output_memory; /* theirs, in whose place @output has ours */
  gboolean is_wrapped;      /* the input is */
} GstVkgdrCudaWork;

/* Makes memory of ours of those buffers that @from_cuda and @to_cuda say are of
 * theirs. @output is writable, has a GstVideoMeta, and may be @input. */
gboolean gst_vkgdr_cuda_work_begin (GstVkgdrCudaWork *work,
    GstVkgdrContext *context, GstBuffer *input, gboolean from_cuda,
    GstBuffer *output, gboolean to_cuda, GError **error);

/* The work is queued: the output has its memory again. Who uses that in the way
 * of their elements finds what was written; no CPU waits for it, unless the
 * memory has no stream. To be called after a failure, too. */
gboolean gst_vkgdr_cuda_work_end (GstVkgdrCudaWork *work, GError **error);

/* --- ours as theirs (exchange/cudaloan.c) --- */

/* A memory of theirs, read-only, with the bytes of @buffer, which is one memory
 * of ours, laid out as @layout says. Keeps @buffer until it is freed. On
 * @stream, where nobody waits for the content; where that is NULL, the content
 * is there. NULL with @error set on failure. */
GstMemory *gst_vkgdr_cuda_lend (const GstVkgdrCudaLib *lib,
    GstCudaContext *cuda, GstBuffer *buffer, const GstVideoInfo *layout,
    GstCudaStream *stream, GError **error);

/* --- another context (exchange/cudapeer.c) --- */

/* Memory of ours with the content of @theirs, which lies in another CUDA
 * context; the caller's. */
GstMemory *gst_vkgdr_cuda_copy_across (const GstVkgdrCudaLib *lib,
    GstVkgdrContext *context, GstMemory *theirs, GError **error);

/* --- pools (exchange/cudapool.c) --- */

/* Adds a pool of frames of @caps, which are @info, in their memory to @query,
 * if there can be one: with a stream, so that nobody waits for what is written
 * to them in place. */
void gst_vkgdr_cuda_pool_propose (GstVkgdrContext *context, GstQuery *query,
    GstCaps *caps, const GstVideoInfo *info);

/* A pool of frames of @caps in their memory, in the CUDA context of @context:
 * the first one of @query where that will do, else a new one; configured, and
 * in the place of all pools of @query. FALSE with @error set on failure. */
gboolean gst_vkgdr_cuda_pool_decide (GstVkgdrContext *context, GstQuery *query,
    GstCaps *caps, const GstVideoInfo *info, guint min_buffers, GError **error);

G_END_DECLS

#endif /* __GST_VKGDR_CUDA_FRAME_H__ */
