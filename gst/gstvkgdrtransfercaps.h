/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * gstvkgdrtransfercaps.h: the caps between which a transfer mediates
 *
 * They differ only by the memory feature. Knows neither elements nor buffers.
 */

#ifndef __GST_VKGDR_TRANSFER_CAPS_H__
#define __GST_VKGDR_TRANSFER_CAPS_H__

#include <gst/vkgdr/vkgdr.h>

G_BEGIN_DECLS

/* Whether @features name GstCudaMemory, and GStreamer has that. */
gboolean gst_vkgdr_transfer_caps_is_cuda (const GstCapsFeatures *features);

/* Whether the memory is system memory with any other features, VkgdrMemory, or
 * GstCudaMemory. */
gboolean gst_vkgdr_transfer_caps_is_known (const GstCapsFeatures *features);

/* Returns all outputs of the inputs @caps, if @direction is GST_PAD_SINK, or
 * all inputs of the outputs @caps, in the order of preference. @caps are not
 * ANY. @to_device: whether the output is on the device. */
GstCaps *gst_vkgdr_transfer_caps_get_others (
    const GstCaps *caps, GstPadDirection direction, gboolean to_device);

G_END_DECLS

#endif /* __GST_VKGDR_TRANSFER_CAPS_H__ */
