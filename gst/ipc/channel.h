/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * ipc/channel.h: messages from a server to a client, in order
 *
 * A message goes through the ring buffer (ipc/ring.h) if the client watches the
 * ring and the ring has room for the message. Otherwise the message goes
 * through the socket. Each message in the ring says how many packets were sent
 * before it, so that the client gets all messages in the order in which they
 * were sent.
 *
 * The only messages that these functions know are those about the ring. Not
 * thread-safe. No function blocks.
 */

#ifndef __GST_VKGDR_IPC_CHANNEL_H__
#define __GST_VKGDR_IPC_CHANNEL_H__

#include "ipc/ring.h"
#include "ipc/socket.h"

G_BEGIN_DECLS

/* --- the server's end ---------------------------------------------------- */

typedef struct {
  gint fd;               /* owned by the caller */
  GstVkgdrIpcRing *ring; /* NULL: every message goes through the socket */
  guint64 n_packets;     /* packets that were sent */
} GstVkgdrIpcSender;

void gst_vkgdr_ipc_sender_init (GstVkgdrIpcSender *self, gint fd);
void gst_vkgdr_ipc_sender_clear (GstVkgdrIpcSender *self);

/* Gives the client a ring. If there are no resources for a ring, the client
 * gets none, and the result is GST_VKGDR_IPC_OK. */
GstVkgdrIpcResult gst_vkgdr_ipc_sender_add_ring (GstVkgdrIpcSender *self);

/* Sends @message, and the file descriptor @attached, unless it is -1. */
GstVkgdrIpcResult gst_vkgdr_ipc_sender_send (
    GstVkgdrIpcSender *self, GBytes *message, gint attached);

/* --- the client's end ---------------------------------------------------- */

typedef struct {
  gint fd;               /* owned by the caller */
  GstVkgdrIpcRing *ring; /* NULL: every message comes from the socket */
  guint64 n_packets;     /* packets that the caller has got */
  guint8 *packet;        /* the buffer for a packet */
  gsize packet_size;     /* of a received packet that comes after messages in
                            the ring; 0: none */
  gboolean is_closed;    /* there are no further packets, or they are invalid */
  gint attached;         /* file descriptor of the packet, or -1 */
  guint8 message[GST_VKGDR_IPC_RING_MAX_MESSAGE]; /* from the ring */
} GstVkgdrIpcReceiver;

void gst_vkgdr_ipc_receiver_init (GstVkgdrIpcReceiver *self, gint fd);
void gst_vkgdr_ipc_receiver_clear (GstVkgdrIpcReceiver *self);

/* Uses the ring with the file descriptor @fd, which was in a message. Returns
 * FALSE if @fd is not a ring, or if the receiver has a ring already. */
gboolean gst_vkgdr_ipc_receiver_add_ring (GstVkgdrIpcReceiver *self, gint fd);

/* Tells the server whether this process looks for messages all the time. */
void gst_vkgdr_ipc_receiver_set_awake (
    GstVkgdrIpcReceiver *self, gboolean is_awake);

/* Whether there is a message that does not make the socket readable. */
gboolean gst_vkgdr_ipc_receiver_has_message (GstVkgdrIpcReceiver *self);

/* Gives the next message, which is valid until the next call. Sets @attached to
 * a file descriptor that the caller must close, or to -1. */
GstVkgdrIpcResult gst_vkgdr_ipc_receiver_next (GstVkgdrIpcReceiver *self,
    const guint8 **data, gsize *size, gint *attached);

G_END_DECLS

#endif /* __GST_VKGDR_IPC_CHANNEL_H__ */
