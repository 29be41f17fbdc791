/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * ipc/format.h: converts between raw video caps and the formats of
 * vkgdr/frames.h
 */

#ifndef __GST_VKGDR_IPC_FORMAT_H__
#define __GST_VKGDR_IPC_FORMAT_H__

#include <gst/video/video.h>
#include <vkgdr/frames.h>

G_BEGIN_DECLS

void gst_vkgdr_ipc_format_init (
    vkgdr_frame_format *format, const GstVideoInfo *info);

/* Whether caps with @info describe the pictures of @format (nullable), which
 * vkgdr_frame_format_is_valid(). Both may be no raw video. */
gboolean gst_vkgdr_ipc_format_agrees (
    const vkgdr_frame_format *format, const GstVideoInfo *info);

/* Returns the caps of a server that has sent none, or NULL if they are not raw
 * video. */
GstCaps *gst_vkgdr_ipc_format_to_caps (const vkgdr_frame_format *format);

G_END_DECLS

#endif /* __GST_VKGDR_IPC_FORMAT_H__ */
