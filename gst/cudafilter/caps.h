/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * cudafilter/caps.h: what caps a kernel can make of others
 *
 * Knows caps, and what a kernel converts; neither elements nor kernels.
 */

#ifndef __GST_CUDA_CAPS_H__
#define __GST_CUDA_CAPS_H__

#include <gst/video/video.h>

#include "cudafilter/effects.h"

G_BEGIN_DECLS

/* What decides on the output. All caps have the feature of memory on the
 * device; video alone is ever converted. */
typedef struct {
  gboolean takes_video;
  gboolean takes_others; /* audio, and bytes of whatever media type */
  GstEffectConverts converts;
  /* As GstEffect has them; @params may be NULL. */
  void (*get_size) (const GstStructure *params, gint *width, gint *height);
  GstStructure *params;
  /* What the output has to be, or NULL: gst_cuda_caps_complete() made it. */
  GstCaps *output;
  gboolean is_in_any_memory; /* on the device, that output can be */
} GstCudaRules;

/* @output (nullable) with the feature of memory on the device where it names no
 * memory, and whether it names none; NULL where it allows anything. The caller
 * unrefs it. */
GstCaps *gst_cuda_caps_complete (
    const GstCaps *output, gboolean *is_in_any_memory);

/* Whether memory on the device is meant: ours, or for video that of GStreamer's
 * own CUDA elements, where they are. */
gboolean gst_cuda_caps_is_on_device (
    const GstStructure *structure, const GstCapsFeatures *features);

/* What of @caps a kernel can be run on: memory on the device, of a media type
 * that the kernel takes, and if that is video, of a format that kernels can
 * read. The caller unrefs it. */
GstCaps *gst_cuda_caps_keep (const GstCudaRules *rules, const GstCaps *caps);

/* What there can be on the other side of the element if @caps are on the pad of
 * @direction; what is preferred comes first. Caps that are ANY become all that
 * the kernel takes, or ANY if caps cannot say that. rules->output restricts the
 * output alone: the input is not chosen to suit it. The caller unrefs it. */
GstCaps *gst_cuda_caps_transform (
    const GstCudaRules *rules, GstPadDirection direction, GstCaps *caps);

/* Whether a stream of @caps can become rules->output. */
gboolean gst_cuda_caps_can_meet (const GstCudaRules *rules, GstCaps *caps);

/* Frees what the rules have. */
void gst_cuda_rules_clear (GstCudaRules *rules);

/* The size that the output has where nobody asks for another. */
void gst_cuda_caps_get_size (
    const GstCudaRules *rules, gint *width, gint *height);

/* Decides on one of @others (taken) where @caps, which are fixed, are on the
 * pad of @direction: the closest format and size. Where a size changes, the
 * display aspect ratio stays, if need be by the pixels' aspect ratio. */
GstCaps *gst_cuda_caps_fixate (const GstCudaRules *rules,
    GstPadDirection direction, GstCaps *caps, GstCaps *others);

G_END_DECLS

#endif /* __GST_CUDA_CAPS_H__ */
