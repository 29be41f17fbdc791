/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * ipc/peer.h: one client, as the server sees it
 *
 * Knows what the client has been sent, which frames it has, and what waits to
 * be sent. Not thread-safe: the server's lock must be held. No function blocks,
 * and none gives a buffer back to its pool: frames that are not needed any more
 * are added to an array for the caller to give back without the lock.
 */

#ifndef __GST_VKGDR_IPC_PEER_H__
#define __GST_VKGDR_IPC_PEER_H__

#include "ipc/frame.h"
#include "ipc/socket.h"

G_BEGIN_DECLS

/* What happens to frames that a client is too slow for; the values of the
 * property `leaky` of GStreamer's queue. */
typedef enum {
  GST_VKGDR_IPC_LEAKY_NO,        /* the server waits */
  GST_VKGDR_IPC_LEAKY_UPSTREAM,  /* the new frame is lost */
  GST_VKGDR_IPC_LEAKY_DOWNSTREAM /* the oldest one that was not sent is */
} GstVkgdrIpcLeaky;

typedef struct _GstVkgdrIpcPeer GstVkgdrIpcPeer;

/* A client on the socket @fd, which is taken over. NULL if the process has no
 * file descriptors left. */
GstVkgdrIpcPeer *gst_vkgdr_ipc_peer_new (gint fd);

/* Closes the connection. The frames that the client has are added to
 * @garbage. */
void gst_vkgdr_ipc_peer_free (GstVkgdrIpcPeer *self, GPtrArray *garbage);

gint gst_vkgdr_ipc_peer_get_fd (GstVkgdrIpcPeer *self);

/* Whether the connection is broken, or the client broke a rule. */
gboolean gst_vkgdr_ipc_peer_is_broken (GstVkgdrIpcPeer *self);

/* Whether something waits until the socket has room. */
gboolean gst_vkgdr_ipc_peer_is_blocked (GstVkgdrIpcPeer *self);

/* Whether the client still wants frames. One that does not may have some. */
gboolean gst_vkgdr_ipc_peer_is_active (GstVkgdrIpcPeer *self);

/* Frames that the client has, or that wait for it. */
guint gst_vkgdr_ipc_peer_count (GstVkgdrIpcPeer *self);

/* Frames that it was sent, and that it lost. */
void gst_vkgdr_ipc_peer_get_figures (
    GstVkgdrIpcPeer *self, guint64 *sent, guint64 *lost);

/* Sends @frame, if the client has fewer than @max frames, and otherwise does
 * what @leaky says; with GST_VKGDR_IPC_LEAKY_NO the frame waits. */
void gst_vkgdr_ipc_peer_offer (GstVkgdrIpcPeer *self, GstVkgdrIpcOutput *frame,
    guint max, GstVkgdrIpcLeaky leaky, GPtrArray *garbage);

/* Sends @message (EOS or FLUSH_STOP) behind all frames that wait. @state
 * (nullable) comes before it. */
void gst_vkgdr_ipc_peer_mark (GstVkgdrIpcPeer *self, GstVkgdrIpcType type,
    GBytes *message, GstVkgdrIpcState *state, guint max);

/* Drops what waits, and tells the client of the flush. */
void gst_vkgdr_ipc_peer_flush_start (
    GstVkgdrIpcPeer *self, guint max, GPtrArray *garbage);

/* Sends @message if the socket has room, whatever waits. */
void gst_vkgdr_ipc_peer_send_now (GstVkgdrIpcPeer *self, GBytes *message);

/* Sends what waits, as far as it can be sent. */
void gst_vkgdr_ipc_peer_send_waiting (GstVkgdrIpcPeer *self, guint max);

/* Reads what the client has sent; the frames that it has released are added to
 * @garbage. */
void gst_vkgdr_ipc_peer_receive (
    GstVkgdrIpcPeer *self, guint max, GPtrArray *garbage);

/* Tells the client of allocations that live no more. */
void gst_vkgdr_ipc_peer_forget (GstVkgdrIpcPeer *self);

G_END_DECLS

#endif /* __GST_VKGDR_IPC_PEER_H__ */
