/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * kernel/frame.h: describes a buffer to a kernel
 *
 * Knows nothing of the code and the launches of kernels.
 */

#ifndef __GST_VKGDR_FRAME_H__
#define __GST_VKGDR_FRAME_H__

#include <gst/video/video.h>
#include <gst/vkgdr/gstvkgdrkernel.h>
#include <vkgdr/kernel.h>

G_BEGIN_DECLS

/* Describes @buffer, frame @number of the stream, to a kernel on @context's
 * device. Returns FALSE with @error set if the buffer is not VkgdrMemory of
 * that device, if VkgdrFrame cannot describe the format, or if a plane is not
 * inside its memory. Does not map the buffer: the caller has to order the
 * accesses. */
gboolean gst_vkgdr_frame_fill (VkgdrFrame *frame, GstVkgdrContext *context,
    GstBuffer *buffer, const GstVideoInfo *info, guint64 number,
    GError **error);

/* Describes a frame of the format @info without a buffer: its planes follow one
 * another from address 0 on. Returns FALSE with @error set if VkgdrFrame cannot
 * describe such frames. */
gboolean gst_vkgdr_frame_describe (
    VkgdrFrame *frame, const GstVideoInfo *info, GError **error);

/* Returns whether VkgdrFrame can describe such frames. If not, sets @error. */
gboolean gst_vkgdr_frame_check_info (const GstVideoInfo *info, GError **error);

G_END_DECLS

#endif /* __GST_VKGDR_FRAME_H__ */
