/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * ipc/socket.h: Unix sockets: permissions, packets and file descriptors
 *
 * Knows nothing of what the packets mean.
 */

#ifndef __GST_VKGDR_IPC_SOCKET_H__
#define __GST_VKGDR_IPC_SOCKET_H__

#include <gio/gio.h>
#include <gst/gst.h>

G_BEGIN_DECLS

/* Which processes may be at the other end of a socket. */
typedef enum {
  GST_VKGDR_IPC_PEERS_USER,  /* those of the same user */
  GST_VKGDR_IPC_PEERS_GROUP, /* and those of the same group */
  GST_VKGDR_IPC_PEERS_ALL
} GstVkgdrIpcPeers;

#define GST_TYPE_VKGDR_IPC_PEERS (gst_vkgdr_ipc_peers_get_type ())
GType gst_vkgdr_ipc_peers_get_type (void);

typedef enum {
  GST_VKGDR_IPC_OK,
  GST_VKGDR_IPC_AGAIN, /* the socket is full, or has nothing to read */
  GST_VKGDR_IPC_CLOSED /* by the other end, or it failed */
} GstVkgdrIpcResult;

/* Makes a socket at @path that listens, and has the mode 0600, 0660 or 0666. A
 * socket that a process left there when it ended is replaced. -1 with @error
 * set on failure. Of the functions here, only gst_vkgdr_ipc_wait () waits. */
gint gst_vkgdr_ipc_listen (
    const gchar *path, GstVkgdrIpcPeers peers, GError **error);

/* The next client, -1 if there is none. */
gint gst_vkgdr_ipc_accept (gint listener);

/* Connects to @path. @is_absent is set to whether no process listens there, so
 * that trying again makes sense. -1 with @error set on failure. */
gint gst_vkgdr_ipc_connect (
    const gchar *path, gboolean *is_absent, GError **error);

/* Whether the process at the other end is permitted. If not, @error describes
 * it. */
gboolean gst_vkgdr_ipc_check_peer (
    gint fd, GstVkgdrIpcPeers peers, GError **error);

/* Sends one packet, with the file descriptor @attached unless that is -1. */
GstVkgdrIpcResult gst_vkgdr_ipc_send (gint fd, GBytes *packet, gint attached);

/* Receives one packet into @data, which has room for @size bytes, and sets
 * @size. A packet that is larger is GST_VKGDR_IPC_CLOSED, too. @attached: a
 * file descriptor that came with it, which the caller closes, or -1; NULL: the
 * kernel closes file descriptors that come. */
GstVkgdrIpcResult gst_vkgdr_ipc_receive (
    gint fd, gpointer data, gsize *size, gint *attached);

/* Waits until @fd (-1: none) is readable, and @timeout microseconds (-1:
 * without a limit) at most. FALSE if @cancel_fd is readable. */
gboolean gst_vkgdr_ipc_wait (gint fd, gint cancel_fd, gint64 timeout);

G_END_DECLS

#endif /* __GST_VKGDR_IPC_SOCKET_H__ */
