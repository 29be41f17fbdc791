/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * ipc/channel.c: see ipc/channel.h
 */

#include "ipc/channel.h"

#include <errno.h>
#include <unistd.h>

#include "ipc/protocol.h"

/* --- the server's end ---------------------------------------------------- */

void
gst_vkgdr_ipc_sender_init (GstVkgdrIpcSender *self, gint fd)
{
  self->fd = fd;
  self->ring = NULL;
  self->n_packets = 0;
}

void
gst_vkgdr_ipc_sender_clear (GstVkgdrIpcSender *self)
{
  g_clear_pointer (&self->ring, gst_vkgdr_ipc_ring_free);
}

static GstVkgdrIpcResult
send_packet (GstVkgdrIpcSender *self, GBytes *packet, gint attached)
{
  GstVkgdrIpcResult result = gst_vkgdr_ipc_send (self->fd, packet, attached);

  if (result == GST_VKGDR_IPC_OK)
    self->n_packets++;
  return result;
}

GstVkgdrIpcResult
gst_vkgdr_ipc_sender_add_ring (GstVkgdrIpcSender *self)
{
  gint fd;
  GstVkgdrIpcRing *ring = gst_vkgdr_ipc_ring_new (&fd);
  GstVkgdrIpcResult result;
  GBytes *packet;

  if (!ring)
    return GST_VKGDR_IPC_OK;
  packet = gst_vkgdr_ipc_write_plain (GST_VKGDR_IPC_RING);
  result = send_packet (self, packet, fd);
  g_bytes_unref (packet);
  close (fd);
  if (result == GST_VKGDR_IPC_OK)
    self->ring = ring;
  else
    gst_vkgdr_ipc_ring_free (ring);
  return result;
}

/* Wakes the client, which then looks at the ring. If the socket is full, the
 * client wakes anyway, because it can read from the socket. */
static GstVkgdrIpcResult
wake (GstVkgdrIpcSender *self)
{
  GBytes *packet = gst_vkgdr_ipc_write_plain (GST_VKGDR_IPC_WAKE);
  GstVkgdrIpcResult result = send_packet (self, packet, -1);

  g_bytes_unref (packet);
  /* The message is in the ring. It must not be sent again, whatever happens. */
  return result == GST_VKGDR_IPC_CLOSED ? result : GST_VKGDR_IPC_OK;
}

static gboolean
write_to_ring (GstVkgdrIpcSender *self, GBytes *message)
{
  gsize size = 0;
  gconstpointer data = g_bytes_get_data (message, &size);

  return self->ring
         && gst_vkgdr_ipc_ring_write (self->ring, data, size, self->n_packets);
}

GstVkgdrIpcResult
gst_vkgdr_ipc_sender_send (
    GstVkgdrIpcSender *self, GBytes *message, gint attached)
{
  if (attached >= 0 || !write_to_ring (self, message))
    return send_packet (self, message, attached);
  /* The client may have gone to sleep after the ring was checked. */
  return gst_vkgdr_ipc_ring_is_watched (self->ring) ? GST_VKGDR_IPC_OK
                                                    : wake (self);
}

/* --- the client's end ---------------------------------------------------- */

void
gst_vkgdr_ipc_receiver_init (GstVkgdrIpcReceiver *self, gint fd)
{
  self->fd = fd;
  self->ring = NULL;
  self->n_packets = 0;
  self->packet = g_malloc (GST_VKGDR_IPC_MAX_MESSAGE);
  self->packet_size = 0;
  self->is_closed = FALSE;
  self->attached = -1;
}

void
gst_vkgdr_ipc_receiver_clear (GstVkgdrIpcReceiver *self)
{
  if (self->attached >= 0)
    close (self->attached);
  g_clear_pointer (&self->ring, gst_vkgdr_ipc_ring_free);
  g_clear_pointer (&self->packet, g_free);
}

gboolean
gst_vkgdr_ipc_receiver_add_ring (GstVkgdrIpcReceiver *self, gint fd)
{
  if (self->ring)
    return FALSE;
  self->ring = gst_vkgdr_ipc_ring_map (fd);
  /* If the ring cannot be mapped, it is never watched, so it is not used. */
  return self->ring || errno != EINVAL;
}

void
gst_vkgdr_ipc_receiver_set_awake (GstVkgdrIpcReceiver *self, gboolean is_awake)
{
  if (self->ring)
    gst_vkgdr_ipc_ring_set_watched (self->ring, is_awake);
}

/* Whether the next message is in the ring. */
static gboolean
is_next_in_ring (GstVkgdrIpcReceiver *self)
{
  return self->ring
         && gst_vkgdr_ipc_ring_has_message (self->ring, self->n_packets);
}

gboolean
gst_vkgdr_ipc_receiver_has_message (GstVkgdrIpcReceiver *self)
{
  return self->packet_size > 0 || self->is_closed || is_next_in_ring (self);
}

static gboolean
read_from_ring (GstVkgdrIpcReceiver *self, const guint8 **data, gsize *size)
{
  if (!is_next_in_ring (self))
    return FALSE;
  *size = gst_vkgdr_ipc_ring_read (self->ring, self->message);
  *data = self->message;
  return TRUE;
}

/* Receives a packet, unless there is one already. */
static void
receive_packet (GstVkgdrIpcReceiver *self)
{
  gsize size = GST_VKGDR_IPC_MAX_MESSAGE;

  if (self->packet_size > 0 || self->is_closed)
    return;
  switch (
      gst_vkgdr_ipc_receive (self->fd, self->packet, &size, &self->attached)) {
  case GST_VKGDR_IPC_OK:
    self->packet_size = size;
    break;
  case GST_VKGDR_IPC_CLOSED:
    self->is_closed = TRUE;
    break;
  default:
    break;
  }
}

GstVkgdrIpcResult
gst_vkgdr_ipc_receiver_next (
    GstVkgdrIpcReceiver *self, const guint8 **data, gsize *size, gint *attached)
{
  *attached = -1;
  if (read_from_ring (self, data, size))
    return GST_VKGDR_IPC_OK;
  receive_packet (self);
  /* A message may have been written to the ring before the packet was sent, but
   * after the ring was checked above. */
  if (read_from_ring (self, data, size))
    return GST_VKGDR_IPC_OK;
  if (self->packet_size == 0)
    return self->is_closed ? GST_VKGDR_IPC_CLOSED : GST_VKGDR_IPC_AGAIN;
  *data = self->packet;
  *size = self->packet_size;
  *attached = self->attached;
  self->packet_size = 0;
  self->attached = -1;
  self->n_packets++;
  return GST_VKGDR_IPC_OK;
}
