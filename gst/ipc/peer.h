/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * ipc/peer.h: one client, as the server sees it
 *
 * Stores which messages were sent to the client, which frames the client has,
 * and which messages are queued for it. Not thread-safe: the server's lock must
 * be held. No function blocks, and none gives a buffer back to its pool: frames
 * that are not needed any more are added to an array. The caller has to
 * unreference these frames without the lock.
 */

#ifndef __GST_VKGDR_IPC_PEER_H__
#define __GST_VKGDR_IPC_PEER_H__

#include "ipc/frame.h"

G_BEGIN_DECLS

/* What happens if a client is too slow. The values equal those of the property
 * `leaky` of GStreamer's queue. */
typedef enum {
  GST_VKGDR_IPC_LEAKY_NO,        /* the source waits */
  GST_VKGDR_IPC_LEAKY_UPSTREAM,  /* the new frame is dropped */
  GST_VKGDR_IPC_LEAKY_DOWNSTREAM /* the oldest queued frame is dropped */
} GstVkgdrIpcLeaky;

/* In microseconds: when to try again if the system lacks resources. Such a lack
 * often lasts, and a thread that tried all the time would need a processor. */
#define GST_VKGDR_IPC_RETRY_INTERVAL (100 * 1000)

typedef struct _GstVkgdrIpcPeer GstVkgdrIpcPeer;

/* Creates a client for the socket @fd, and takes ownership of @fd. Returns NULL
 * if the process has no file descriptors left; then the caller still owns
 * @fd. */
GstVkgdrIpcPeer *gst_vkgdr_ipc_peer_new (gint fd);

/* Closes the connection. The frames that the client has or that are queued for
 * it are added to @garbage. */
void gst_vkgdr_ipc_peer_free (GstVkgdrIpcPeer *self, GPtrArray *garbage);

gint gst_vkgdr_ipc_peer_get_fd (GstVkgdrIpcPeer *self);

/* Whether the connection is broken, or the client sent an invalid message. */
gboolean gst_vkgdr_ipc_peer_is_broken (GstVkgdrIpcPeer *self);

/* Whether a message is queued because the socket's buffer is full, or because
 * the system lacks resources. */
gboolean gst_vkgdr_ipc_peer_is_blocked (GstVkgdrIpcPeer *self);

/* Returns the monotonic time before which it is useless to try again, or 0. */
gint64 gst_vkgdr_ipc_peer_get_retry_time (GstVkgdrIpcPeer *self);

/* Whether the client still accepts frames. If not, it may still have some. */
gboolean gst_vkgdr_ipc_peer_is_active (GstVkgdrIpcPeer *self);

/* Returns the number of frames that the client has or that are queued for
 * it. */
guint gst_vkgdr_ipc_peer_count (GstVkgdrIpcPeer *self);

/* Returns how many frames were sent to the client, and how many of its frames
 * were dropped. */
void gst_vkgdr_ipc_peer_get_figures (
    GstVkgdrIpcPeer *self, guint64 *sent, guint64 *lost);

/* Sends @frame if the client has fewer than @max frames. Otherwise @leaky
 * decides; with GST_VKGDR_IPC_LEAKY_NO the frame is queued. */
void gst_vkgdr_ipc_peer_offer (GstVkgdrIpcPeer *self, GstVkgdrIpcOutput *frame,
    guint max, GstVkgdrIpcLeaky leaky, GPtrArray *garbage);

/* Sends @message (EOS or FLUSH_STOP) after all queued frames, and the messages
 * of @state (nullable) before it. */
void gst_vkgdr_ipc_peer_mark (GstVkgdrIpcPeer *self, GstVkgdrIpcType type,
    GBytes *message, GstVkgdrIpcState *state, guint max);

/* Drops the queued frames, and tells the client about the flush. */
void gst_vkgdr_ipc_peer_flush_start (
    GstVkgdrIpcPeer *self, guint max, GPtrArray *garbage);

/* Sends @message before all queued frames, if the socket has room. */
void gst_vkgdr_ipc_peer_send_now (GstVkgdrIpcPeer *self, GBytes *message);

/* Sends as many queued messages as possible. */
void gst_vkgdr_ipc_peer_send_waiting (GstVkgdrIpcPeer *self, guint max);

/* Reads the client's messages. Adds the frames that it has released to
 * @garbage. */
void gst_vkgdr_ipc_peer_receive (
    GstVkgdrIpcPeer *self, guint max, GPtrArray *garbage);

/* Tells the client about allocations that were freed. */
void gst_vkgdr_ipc_peer_forget (GstVkgdrIpcPeer *self);

G_END_DECLS

#endif /* __GST_VKGDR_IPC_PEER_H__ */
