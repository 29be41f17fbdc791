/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * gstvkgdrcuda.h: frames to and from GStreamer's own CUDA elements
 *
 * No header of theirs is needed, nor a CUDA toolkit.
 */

#ifndef __GST_VKGDR_CUDA_H__
#define __GST_VKGDR_CUDA_H__

#include <gst/vkgdr/gstvkgdrcontext.h>
#include <gst/video/video.h>

G_BEGIN_DECLS

/**
 * GST_VKGDR_CAPS_FEATURE_MEMORY_CUDA:
 *
 * The caps feature of the memory of GStreamer's own CUDA elements.
 *
 * Since: 0.1
 */
#define GST_VKGDR_CAPS_FEATURE_MEMORY_CUDA "memory:CUDAMemory"

GST_VKGDR_API
gboolean gst_vkgdr_cuda_is_available (void);

GST_VKGDR_API
gboolean gst_vkgdr_is_cuda_memory (GstMemory *memory);

GST_VKGDR_API
GstBuffer *gst_vkgdr_context_buffer_to_cuda (GstVkgdrContext *context,
    GstBuffer *buffer, const GstVideoInfo *info, GError **error);

GST_VKGDR_API
GstBuffer *gst_vkgdr_context_buffer_from_cuda (
    GstVkgdrContext *context, GstBuffer *buffer, GError **error);

G_END_DECLS

#endif /* __GST_VKGDR_CUDA_H__ */
