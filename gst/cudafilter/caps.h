/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * cudafilter/caps.h: the caps to which a kernel can convert other caps
 *
 * Knows caps and conversions, but neither elements nor kernels.
 */

#ifndef __GST_CUDA_CAPS_H__
#define __GST_CUDA_CAPS_H__

#include <gst/video/video.h>

#include "cudafilter/effects.h"

G_BEGIN_DECLS

/* What determines the output. All caps have a feature of memory on the device.
 * Only video is converted. */
typedef struct {
  gboolean takes_video;
  gboolean takes_others; /* audio, and bytes of any media type */
  GstEffectConverts converts;
  gboolean swaps_sides; /* the output has the width of the input as height */
  /* The required caps of the output, or NULL. Structures that name no memory,
   * or only system memory, mean any memory on the device. */
  GstCaps *output;
} GstCudaRules;

/* Whether the features are those of memory on the device: this library's, or
 * for video that of GStreamer's own CUDA elements, if they are installed. */
gboolean gst_cuda_caps_is_on_device (
    const GstStructure *structure, const GstCapsFeatures *features);

/* Returns the part of @caps on which a kernel can be run: memory on the device,
 * with a media type that the kernel accepts, and for video with a format that
 * kernels can read. The caller unrefs it. */
GstCaps *gst_cuda_caps_keep (const GstCudaRules *rules, const GstCaps *caps);

/* Returns the possible caps of the other side of the element if @caps are on
 * the pad of @direction, in the order of preference. ANY becomes all caps that
 * the kernel accepts, or stays ANY if caps cannot describe this. rules->output
 * restricts only the caps of the output. The caller unrefs the result. */
GstCaps *gst_cuda_caps_transform (
    const GstCudaRules *rules, GstPadDirection direction, GstCaps *caps);

/* Whether both give the same caps. */
gboolean gst_cuda_rules_is_equal (
    const GstCudaRules *one, const GstCudaRules *other);

/* Chooses one of @others (transfer full) for the fixed @caps on the pad of
 * @direction: that with the closest format and size. If the size changes, the
 * display aspect ratio stays the same; if necessary, the pixel aspect ratio
 * changes. */
GstCaps *gst_cuda_caps_fixate (const GstCudaRules *rules,
    GstPadDirection direction, GstCaps *caps, GstCaps *others);

G_END_DECLS

#endif /* __GST_CUDA_CAPS_H__ */
