/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * kernel/format.h: where the samples of a video format lie
 *
 * Knows nothing of frames and buffers.
 */

#ifndef __GST_VKGDR_FORMAT_H__
#define __GST_VKGDR_FORMAT_H__

#include <gst/video/video.h>
#include <vkgdr/kernel.h>

G_BEGIN_DECLS

/* Sets the model, the numbers of planes and components, where the samples of
 * each component lie, and has_alpha. Returns FALSE where VkgdrComponent cannot
 * describe the format, and may have changed @frame. */
gboolean gst_vkgdr_format_describe (
    const GstVideoFormatInfo *format, VkgdrFrame *frame);

/* Bytes from the start of a row to the end of its last sample of @component,
 * where there are @samples of these in it. */
gsize gst_vkgdr_format_measure_row (
    const VkgdrComponent *component, gint samples);

/* Sets @error, which says that kernels cannot be run on @format, and why. */
void gst_vkgdr_format_set_error (
    const GstVideoFormatInfo *format, GError **error);

G_END_DECLS

#endif /* __GST_VKGDR_FORMAT_H__ */
