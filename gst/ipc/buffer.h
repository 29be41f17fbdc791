/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * ipc/buffer.h: buffers of received frames
 *
 * A frame is released when all memories of its buffer are freed and the device
 * has finished with them.
 */

#ifndef __GST_VKGDR_IPC_BUFFER_H__
#define __GST_VKGDR_IPC_BUFFER_H__

#include <gio/gio.h>
#include <gst/video/video.h>
#include <gst/vkgdr/vkgdr.h>
#include <vkgdr/frames.h>

G_BEGIN_DECLS

/* Sets the functions that import memory. @allocator must exist as long as
 * frames are received. */
void gst_vkgdr_ipc_set_import (
    vkgdr_frames_params *params, GstVkgdrAllocator *allocator);

/* Takes ownership of @frame. @info is that of the caps, or an empty one if they
 * are not raw video. Returns NULL with @error set if the frame is
 * not one of these caps, or its metas are not valid. */
GstBuffer *gst_vkgdr_ipc_buffer_new (
    vkgdr_frame_t frame, const GstVideoInfo *info, GError **error);

G_END_DECLS

#endif /* __GST_VKGDR_IPC_BUFFER_H__ */
