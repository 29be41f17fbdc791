/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * gstvkgdrcuda.h: frames to and from GStreamer's own CUDA elements
 *
 * Needs neither a header of GStreamer's CUDA library nor a CUDA toolkit.
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

/**
 * GST_VKGDR_CUDA_FORMATS:
 *
 * The formats that GStreamer's CUDA library has supported since 1.24, as a list
 * for caps.
 *
 * Since: 0.1
 */
#define GST_VKGDR_CUDA_FORMATS \
  "{ I420, YV12, I420_10LE, I420_12LE, Y42B, I422_10LE, I422_12LE, NV12, " \
  "NV21, P010_10LE, P012_LE, P016_LE, Y444, Y444_10LE, Y444_12LE, Y444_16LE, " \
  "RGBP, BGRP, GBR, GBR_10LE, GBR_12LE, GBR_16LE, GBRA, BGRA, RGBA, RGBx, " \
  "BGRx, ARGB, ABGR, RGB, BGR, BGR10A2_LE, RGB10A2_LE, YUY2, UYVY }"

GST_VKGDR_API
gboolean gst_vkgdr_cuda_is_available (void);

GST_VKGDR_API
gboolean gst_vkgdr_is_cuda_memory (GstMemory *memory);

GST_VKGDR_API
gboolean gst_vkgdr_caps_features_are_cuda (const GstCapsFeatures *features);

GST_VKGDR_API
GstCaps *gst_vkgdr_caps_in_either_memory (GstCaps *caps);

GST_VKGDR_API
GstMiniObject *gst_vkgdr_context_get_cuda_stream (
    GstVkgdrContext *context, GstQuery *query);

GST_VKGDR_API
GstBuffer *gst_vkgdr_context_buffer_to_cuda (GstVkgdrContext *context,
    GstBuffer *buffer, const GstVideoInfo *info, GstMiniObject *stream,
    GError **error);

GST_VKGDR_API
GstBuffer *gst_vkgdr_context_buffer_from_cuda (
    GstVkgdrContext *context, GstBuffer *buffer, GError **error);

G_END_DECLS

#endif /* __GST_VKGDR_CUDA_H__ */
