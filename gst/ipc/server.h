/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * ipc/server.h: sends frames to all clients of a socket
 *
 * The server has two threads. One accepts clients, reads their messages, and
 * sends queued messages. The other waits for frames that are not written yet.
 * A frame that is already written is sent by the caller's thread. Knows nothing
 * of elements. Thread-safe.
 */

#ifndef __GST_VKGDR_IPC_SERVER_H__
#define __GST_VKGDR_IPC_SERVER_H__

#include "ipc/peer.h"
#include "ipc/socket.h"

G_BEGIN_DECLS

typedef struct _GstVkgdrIpcServer GstVkgdrIpcServer;

/* The parameters of a server. */
typedef struct {
  const gchar *path; /* of the socket */
  GstVkgdrIpcPeers peers;
  GstVkgdrIpcLeaky leaky;
  guint max_buffers;         /* frames that one client may have */
  gboolean waits_for_client; /* whether frames wait until there is a client */

  /* Called in a thread of the server, without locks, if a frame could not be
   * written to the device's memory. It is not sent then. */
  void (*on_error) (gpointer user_data, const GError *error);
  gpointer user_data;
} GstVkgdrIpcServerParams;

typedef struct {
  guint clients;     /* at present */
  guint64 sent;      /* frames, to all clients */
  guint64 lost;      /* frames, by all clients */
  guint64 refused;   /* clients whose connection was not accepted */
  guint64 unwritten; /* frames that were dropped before they were written */
} GstVkgdrIpcServerFigures;

/* Starts to listen. Returns NULL with @error set on failure. */
GstVkgdrIpcServer *gst_vkgdr_ipc_server_new (
    const GstVkgdrIpcServerParams *params, GError **error);

/* Sends the queued frames and then BYE to all clients, and frees the server.
 * Takes at most two seconds longer than the device needs for these frames. Sets
 * @figures (nullable) to the final values. */
void gst_vkgdr_ipc_server_free (
    GstVkgdrIpcServer *self, GstVkgdrIpcServerFigures *figures);

/* Sets a message that clients must receive before the next frame: CAPS,
 * SEGMENT, TAGS or GLOBAL_TAGS. Takes ownership of @message (nullable). */
void gst_vkgdr_ipc_server_set (
    GstVkgdrIpcServer *self, GstVkgdrIpcType type, GBytes *message);

/* Sends @frame as soon as it is written; takes ownership of it, and sets it to
 * NULL. Blocks only if the parameters require it. Returns FALSE if
 * gst_vkgdr_ipc_server_set_unlocked () ended the wait; then the caller still
 * owns the frame. */
gboolean gst_vkgdr_ipc_server_send (
    GstVkgdrIpcServer *self, GstVkgdrIpcOutput **frame);

/* Sends EOS or FLUSH_STOP after all frames. Takes ownership of @message. */
void gst_vkgdr_ipc_server_mark (
    GstVkgdrIpcServer *self, GstVkgdrIpcType type, GBytes *message);

/* Drops all frames that were not sent yet, and tells the clients at once. */
void gst_vkgdr_ipc_server_flush_start (GstVkgdrIpcServer *self);

/* Sets whether gst_vkgdr_ipc_server_send () must not wait. */
void gst_vkgdr_ipc_server_set_unlocked (
    GstVkgdrIpcServer *self, gboolean is_unlocked);

void gst_vkgdr_ipc_server_get_figures (
    GstVkgdrIpcServer *self, GstVkgdrIpcServerFigures *figures);

G_END_DECLS

#endif /* __GST_VKGDR_IPC_SERVER_H__ */
