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

/* Applies the GstVideoCropMeta of @buffer (transfer full): returns a buffer
 * with the same memory, whose GstVideoMeta describes the visible part only.
 * Returns
 * @buffer itself if it has no crop. Returns NULL with @error set
 * (GST_VKGDR_ERROR_ARGUMENT) if the format does not allow this. */
GstBuffer *gst_vkgdr_buffer_apply_crop (GstBuffer *buffer, GError **error);

G_END_DECLS

#endif /* __GST_VKGDR_KERNEL_PRIVATE_H__ */
