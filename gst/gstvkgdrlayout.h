/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * gstvkgdrlayout.h: the layout of a frame's planes in its buffer
 *
 * A frame has the default layout if it can be read with its caps alone: it has
 * no GstVideoMeta with another layout, and it is not cropped at the left or at
 * the top. Packing copies the planes of any other frame into that layout.
 *
 * Must not know which element packs, nor why.
 */

#ifndef __GST_VKGDR_LAYOUT_H__
#define __GST_VKGDR_LAYOUT_H__

#include <gst/vkgdr/vkgdr.h>

G_BEGIN_DECLS

/* Whether @frame has the default layout of @info. */
gboolean gst_vkgdr_layout_is_default (
    const GstVideoInfo *info, GstBuffer *frame);

/* Whether a stride is negative, which kernels do not support. Formats with
 * tiles have no negative strides: their stride field is not a distance. */
gboolean gst_vkgdr_layout_is_upside_down (GstBuffer *frame);

/* Whether samples of more than 8 bits are at odd addresses, where kernels
 * cannot read them. */
gboolean gst_vkgdr_layout_has_odd_samples (
    const GstVideoInfo *info, GstBuffer *frame);

/* Copies the planes of @frame into the one memory of @output, which has @info's
 * size, in the default layout. If @frame has a GstVideoCropMeta, only the
 * visible part is copied.
 *
 * The device copies if @frame is in VkgdrMemory of the stream's context, and
 * @output is either in such memory or in pinned memory of the library.
 * Otherwise the CPU copies, and @by_cpu is set to TRUE. Returns FALSE with
 * @error set on failure, also if the metas describe bytes that are not in
 * @frame. */
gboolean gst_vkgdr_layout_pack (const GstVideoInfo *info, GstBuffer *frame,
    GstBuffer *output, GstVkgdrStream *stream, gboolean *by_cpu,
    GError **error);

/* Whether gst_vkgdr_layout_pack () can crop frames of this format at any
 * pixel. */
gboolean gst_vkgdr_layout_can_crop (const GstVideoInfo *info);

/* Adds to @packed, which has the packed memory, all other data of @frame,
 * except metas that cropping makes wrong. */
void gst_vkgdr_layout_copy_data (
    const GstVideoInfo *info, GstBuffer *frame, GstBuffer *packed);

G_END_DECLS

#endif /* __GST_VKGDR_LAYOUT_H__ */
