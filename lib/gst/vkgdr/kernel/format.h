/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * kernel/format.h: the positions of the samples of a video format
 *
 * Knows nothing of frames and buffers.
 */

#ifndef __GST_VKGDR_FORMAT_H__
#define __GST_VKGDR_FORMAT_H__

#include <gst/video/video.h>
#include <vkgdr/kernel.h>

G_BEGIN_DECLS

/* Sets the model, the numbers of planes and components, the positions of the
 * samples of each component, and has_alpha. Returns FALSE if VkgdrComponent
 * cannot describe the format; @frame may have been changed. */
gboolean gst_vkgdr_format_describe (
    const GstVideoFormatInfo *format, VkgdrFrame *frame);

/* Returns the bytes from the start of a row to the end of its last sample of
 * @component. The row has @samples samples of it. */
gsize gst_vkgdr_format_measure_row (
    const VkgdrComponent *component, gint samples);

/* Sets @error: kernels cannot be run on @format, and the reason. */
void gst_vkgdr_format_set_error (
    const GstVideoFormatInfo *format, GError **error);

G_END_DECLS

#endif /* __GST_VKGDR_FORMAT_H__ */
