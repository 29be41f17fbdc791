/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * cudafilter/caps.h: the caps to which a kernel can convert others
 *
 * Knows caps and conversions, but neither elements nor kernels.
 */

#ifndef __GST_CUDA_CAPS_H__
#define __GST_CUDA_CAPS_H__

#include <gst/video/video.h>

#include "cudafilter/effects.h"

G_BEGIN_DECLS

/* The properties that determine the output. All caps have a feature of memory
 * on the device. Only video is converted. */
typedef struct {
  gboolean takes_video;
  gboolean takes_others; /* audio, and bytes of any media type */
  GstEffectConverts converts;
  /* The same as in GstEffect; @params may be NULL. */
  void (*get_size) (const GstStructure *params, gint *width, gint *height);
  GstStructure *params;
  /* The required caps of the output, made by gst_cuda_caps_complete (), or
   * NULL. */
  GstCaps *output;
  gboolean
      is_in_any_memory; /* memory on the device, which the output can have */
} GstCudaRules;

/* Returns @output (nullable), to which the feature of memory on the device is
 * added if it names no memory. Also tells whether it named none. Returns NULL
 * if any output is allowed. The caller unrefs the result. */
GstCaps *gst_cuda_caps_complete (
    const GstCaps *output, gboolean *is_in_any_memory);

/* Whether it is memory on the device: this library's, or for video that of
 * GStreamer's own CUDA elements, if they are installed. */
gboolean gst_cuda_caps_is_on_device (
    const GstStructure *structure, const GstCapsFeatures *features);

/* Returns the part of @caps on which a kernel can be run: memory on the device,
 * with a media type that the kernel accepts, and for video with a format that
 * kernels can read. The caller unrefs it. */
GstCaps *gst_cuda_caps_keep (const GstCudaRules *rules, const GstCaps *caps);

/* Returns the possible caps of the other side of the element if @caps are on
 * the pad of @direction, in the order of preference. ANY becomes all caps that
 * the kernel accepts, or stays ANY if caps cannot describe this. rules->output
 * restricts the output only: the input is not chosen to fit it. The caller
 * unrefs the result. */
GstCaps *gst_cuda_caps_transform (
    const GstCudaRules *rules, GstPadDirection direction, GstCaps *caps);

/* Whether a stream of @caps can become rules->output. */
gboolean gst_cuda_caps_can_meet (const GstCudaRules *rules, GstCaps *caps);

/* Frees what the rules have. */
void gst_cuda_rules_clear (GstCudaRules *rules);

/* The size of the output if no other size is requested. */
void gst_cuda_caps_get_size (
    const GstCudaRules *rules, gint *width, gint *height);

/* Chooses one of @others (transfer full) for the fixed @caps on the pad of
 * @direction: that with the closest format and size. If the size changes, the
 * display aspect ratio stays the same; if necessary, the pixel aspect ratio
 * changes. */
GstCaps *gst_cuda_caps_fixate (const GstCudaRules *rules,
    GstPadDirection direction, GstCaps *caps, GstCaps *others);

G_END_DECLS

#endif /* __GST_CUDA_CAPS_H__ */
