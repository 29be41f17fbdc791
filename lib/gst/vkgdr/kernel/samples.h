/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * kernel/samples.h: a buffer of audio, or of any bytes, as a kernel sees it
 *
 * Knows nothing of kernels' code and launches.
 */

#ifndef __GST_VKGDR_SAMPLES_H__
#define __GST_VKGDR_SAMPLES_H__

#include <gst/audio/audio.h>
#include <gst/vkgdr/gstvkgdrkernel.h>
#include <vkgdr/kernel.h>

G_BEGIN_DECLS

/* Describes @buffer, number @number of the stream, to a kernel on @context's
 * device; @info is NULL for what is no audio. FALSE with @error set where it is
 * not of one VkgdrMemory of that device, or no whole number of samples. An
 * empty buffer has no samples and no memory. Does not map the buffer: order is
 * the caller's affair. */
gboolean gst_vkgdr_samples_fill (VkgdrSamples *samples,
    GstVkgdrContext *context, GstBuffer *buffer, const GstAudioInfo *info,
    guint64 number, GError **error);

/* Whether VkgdrSamples can describe such audio; else FALSE with @error set. */
gboolean gst_vkgdr_samples_check_info (
    const GstAudioInfo *info, GError **error);

G_END_DECLS

#endif /* __GST_VKGDR_SAMPLES_H__ */
