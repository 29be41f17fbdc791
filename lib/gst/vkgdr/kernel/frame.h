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
 * device. @fields are those of gst_vkgdr_frame_get_fields(). If a plane has no
 * row for each field, the frame is described as progressive. Returns FALSE with
 * @error set if the buffer is not VkgdrMemory of that device, if VkgdrFrame
 * cannot describe the format, or if a plane is not inside its memory. Does not
 * map the buffer: the caller has to order the accesses. */
gboolean gst_vkgdr_frame_fill (VkgdrFrame *frame, GstVkgdrContext *context,
    GstBuffer *buffer, const GstVideoInfo *info, gint fields, guint64 number,
    GError **error);

/* Whether gst_vkgdr_frame_fill() can describe a frame that is in memory of the
 * right device: it fits @info, no stride is negative, and samples of 16 bits
 * are at even addresses. If not, sets @error. */
gboolean gst_vkgdr_frame_check (
    GstBuffer *buffer, const GstVideoInfo *info, GError **error);

/* The same for a frame that gst_vkgdr_buffer_check_video() has passed. */
gboolean gst_vkgdr_frame_check_rows (
    GstBuffer *buffer, const GstVideoInfo *info, GError **error);

/* Describes a frame of the format @info without a buffer: its planes follow one
 * another from address 0 on. Returns FALSE with @error set if VkgdrFrame cannot
 * describe such frames. */
gboolean gst_vkgdr_frame_describe (
    VkgdrFrame *frame, const GstVideoInfo *info, GError **error);

/* Returns the fields in a picture of the format @info, as bits of VkgdrFields.
 * The flags of @buffer decide what @info leaves open. */
gint gst_vkgdr_frame_get_fields (GstBuffer *buffer, const GstVideoInfo *info);

/* Describes one field of an interlaced @frame, VKGDR_TOP or VKGDR_BOTTOM, as a
 * picture with half of the lines. A frame of one line has a top field only, and
 * this is then its bottom field, too. */
VkgdrFrame gst_vkgdr_frame_get_field (const VkgdrFrame *frame, gint field);

/* Returns whether VkgdrFrame can describe such frames. If not, sets @error. */
gboolean gst_vkgdr_frame_check_info (const GstVideoInfo *info, GError **error);

G_END_DECLS

#endif /* __GST_VKGDR_FRAME_H__ */
