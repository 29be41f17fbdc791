/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * ipc/frame.h: a buffer on its way to clients
 *
 * The buffer goes back to its pool when all clients have released it. Knows
 * nothing of sockets.
 */

#ifndef __GST_VKGDR_IPC_FRAME_H__
#define __GST_VKGDR_IPC_FRAME_H__

#include "ipc/export.h"
#include "ipc/format.h"

G_BEGIN_DECLS

/* Times of a frame. */
typedef struct {
  GstClockTime pts, dts, duration;
  gint64 time; /* monotonic time at which the frame is due; -1: none */
} GstVkgdrIpcTiming;

typedef struct _GstVkgdrIpcOutput GstVkgdrIpcOutput;

/* Called in a thread of the server, without locks, if a frame could not be
 * written to the device's memory. It is not sent then. */
typedef void (*GstVkgdrIpcErrorFunc) (gpointer user_data, const GError *error);

/* Takes ownership of @buffer, all memory of which must be of type VkgdrMemory.
 * @described: a buffer with the same memory, and with the metadata that is
 * sent. @info: (nullable): that of the caps, for raw video. Returns NULL with
 * @error set if the memory cannot be exported, or if the frame cannot be
 * described (G_IO_ERROR_INVALID_DATA). */
GstVkgdrIpcOutput *gst_vkgdr_ipc_output_new (GstBuffer *buffer,
    GstBuffer *described, const GstVideoInfo *info,
    const GstVkgdrIpcTiming *timing, GstVkgdrIpcErrorFunc on_error,
    gpointer user_data, GError **error);
void gst_vkgdr_ipc_output_free (GstVkgdrIpcOutput *self);

/* Whether a memory of the frame was exported for it. */
gboolean gst_vkgdr_ipc_output_is_new (GstVkgdrIpcOutput *self);

/* Sends the frame, which the server then owns if the result is
 * VKGDR_SERVER_SENT. */
vkgdr_server_result gst_vkgdr_ipc_output_send (
    GstVkgdrIpcOutput *self, vkgdr_server *server);

G_END_DECLS

#endif /* __GST_VKGDR_IPC_FRAME_H__ */
