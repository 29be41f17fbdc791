/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * kernel/kernel-private.h: the interface of the room (folder) kernel for the
 * other rooms
 *
 * Descriptions of buffers for kernels, and launches of functions.
 */

#ifndef __GST_VKGDR_KERNEL_PRIVATE_H__
#define __GST_VKGDR_KERNEL_PRIVATE_H__

#include "kernel/frame.h"
#include "kernel/module.h"
#include "kernel/timer.h"

G_BEGIN_DECLS

/* Returns a buffer with the memory of @buffer (transfer full) and a layout that
 * a GstVideoCropMeta of @buffer has been applied to, or @buffer itself if it is
 * not cropped. Returns NULL with @error set (GST_VKGDR_ERROR_ARGUMENT) if the
 * format does not allow this. */
GstBuffer *gst_vkgdr_buffer_apply_crop (GstBuffer *buffer, GError **error);

G_END_DECLS

#endif /* __GST_VKGDR_KERNEL_PRIVATE_H__ */
