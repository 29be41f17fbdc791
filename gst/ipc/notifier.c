/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * ipc/notifier.c: see ipc/notifier.h
 */

#include "ipc/notifier.h"

#include <sys/socket.h>

gboolean
gst_vkgdr_ipc_notifier_new (gint *sender, gint *receiver)
{
  gint ends[2];

  if (socketpair (AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
    return FALSE;
  *sender = ends[0];
  *receiver = ends[1];
  /* The client must not leave data or file descriptors in the server's end. */
  shutdown (*sender, SHUT_RD);
  return TRUE;
}

GstVkgdrIpcResult
gst_vkgdr_ipc_notifier_send (gint sender)
{
  static const guint8 data = 1;
  GBytes *notice = g_bytes_new_static (&data, sizeof (data));
  GstVkgdrIpcResult result = gst_vkgdr_ipc_send (sender, notice, -1);

  g_bytes_unref (notice);
  return result;
}

/* With other types of sockets, the read might fail again and again while the
 * descriptor stays readable. */
gboolean
gst_vkgdr_ipc_notifier_is_receiver (gint fd)
{
  gint domain = 0, type = 0;
  socklen_t domain_size = sizeof (domain), type_size = sizeof (type);

  return getsockopt (fd, SOL_SOCKET, SO_DOMAIN, &domain, &domain_size) == 0
         && getsockopt (fd, SOL_SOCKET, SO_TYPE, &type, &type_size) == 0
         && domain == AF_UNIX && type == SOCK_SEQPACKET;
}

GstVkgdrIpcResult
gst_vkgdr_ipc_notifier_receive (gint receiver)
{
  guint8 data;
  gsize size = sizeof (data);

  return gst_vkgdr_ipc_receive (receiver, &data, &size, NULL);
}
