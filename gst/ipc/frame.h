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

/* Times of the server's pipeline. */
typedef struct {
  gint64 base; /* monotonic time at which running time was 0; -1: none */
  gint64 time; /* monotonic time at which the frame is due; -1: none */
  GstClockTime latency;
} GstVkgdrIpcTiming;

typedef struct _GstVkgdrIpcOutput GstVkgdrIpcOutput;

/* Called in a thread of the server, without locks, if a frame could not be
 * written to the device's memory. It is not sent then. */
typedef void (*GstVkgdrIpcErrorFunc) (gpointer user_data, const GError *error);

/* Takes ownership of @buffer and of @room (nullable). All memory of @buffer
 * must be of type VkgdrMemory. @room is unreferenced after @buffer. @info:
 * (nullable): that of the caps, for raw video. Returns NULL with @error set if
 * the memory cannot be exported. */
GstVkgdrIpcOutput *gst_vkgdr_ipc_output_new (GstBuffer *buffer, GstBuffer *room,
    const GstVideoInfo *info, const GstVkgdrIpcTiming *timing,
    GstVkgdrIpcErrorFunc on_error, gpointer user_data, GError **error);
void gst_vkgdr_ipc_output_free (GstVkgdrIpcOutput *self);

/* Sends the frame, which the server then owns if the result is
 * VKGDR_SERVER_SENT. */
vkgdr_server_result gst_vkgdr_ipc_output_send (
    GstVkgdrIpcOutput *self, vkgdr_server *server);

G_END_DECLS

#endif /* __GST_VKGDR_IPC_FRAME_H__ */
