/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * kernel/frame.h: a buffer, as a kernel sees it
 *
 * Knows nothing of kernels' code and launches.
 */

#ifndef __GST_VKGDR_FRAME_H__
#define __GST_VKGDR_FRAME_H__

#include <gst/video/video.h>
#include <gst/vkgdr/gstvkgdrkernel.h>
#include <vkgdr/kernel.h>

G_BEGIN_DECLS

/* Describes @buffer, frame @number of the stream, to a kernel on @context's
 * device: FALSE with @error set where it is not of VkgdrMemory of that device,
 * of a format that VkgdrFrame cannot say, or where a plane does not lie inside
 * its memory. Does not map the buffer: order is the caller's affair. */
gboolean gst_vkgdr_frame_fill (VkgdrFrame *frame, GstVkgdrContext *context,
    GstBuffer *buffer, const GstVideoInfo *info, guint64 number,
    GError **error);

/* Describes a frame of the format @info to no kernel: its planes begin at
 * address 0, one behind the other. FALSE with @error set where VkgdrFrame
 * cannot describe such frames. */
gboolean gst_vkgdr_frame_describe (
    VkgdrFrame *frame, const GstVideoInfo *info, GError **error);

/* Whether VkgdrFrame can describe such frames; else FALSE with @error set. */
gboolean gst_vkgdr_frame_check_info (const GstVideoInfo *info, GError **error);

G_END_DECLS

#endif /* __GST_VKGDR_FRAME_H__ */
