/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * kernel/samples.h: describes a buffer of audio or other bytes to a kernel
 *
 * Knows nothing of the code and the launches of kernels.
 */

#ifndef __GST_VKGDR_SAMPLES_H__
#define __GST_VKGDR_SAMPLES_H__

#include <gst/audio/audio.h>
#include <gst/vkgdr/gstvkgdrkernel.h>
#include <vkgdr/kernel.h>

G_BEGIN_DECLS

/* Describes @buffer, number @number of the stream, to a kernel on @context's
 * device. @info is NULL if it is not audio. Returns FALSE with @error set if
 * the buffer is not one VkgdrMemory of that device, or does not have a whole
 * number of samples. An empty buffer has no samples and no memory. Does not map
 * the buffer: the caller has to order the accesses. */
gboolean gst_vkgdr_samples_fill (VkgdrSamples *samples,
    GstVkgdrContext *context, GstBuffer *buffer, const GstAudioInfo *info,
    guint64 number, GError **error);

/* Returns whether VkgdrSamples can describe such audio. If not, sets @error. */
gboolean gst_vkgdr_samples_check_info (
    const GstAudioInfo *info, GError **error);

G_END_DECLS

#endif /* __GST_VKGDR_SAMPLES_H__ */
