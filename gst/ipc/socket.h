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

/* The processes that may connect. */
typedef enum {
  GST_VKGDR_IPC_PEERS_USER,  /* processes of the same user */
  GST_VKGDR_IPC_PEERS_GROUP, /* processes of the same user or group */
  GST_VKGDR_IPC_PEERS_ALL
} GstVkgdrIpcPeers;

#define GST_TYPE_VKGDR_IPC_PEERS (gst_vkgdr_ipc_peers_get_type ())
GType gst_vkgdr_ipc_peers_get_type (void);

typedef enum {
  GST_VKGDR_IPC_OK,
  GST_VKGDR_IPC_AGAIN,        /* the socket's buffer is full, or empty */
  GST_VKGDR_IPC_NO_RESOURCES, /* the system lacks resources; poll() does not
                           tell when to try again */
  GST_VKGDR_IPC_CLOSED        /* the connection is closed or has failed */
} GstVkgdrIpcResult;

/* Creates a listening socket at @path with the mode 0600, 0660 or 0666.
 * Replaces a socket that is no longer in use. Returns -1 with @error set on
 * failure. Waits for half a second at most if another process has locked the
 * folder. Of the other functions of this file, only gst_vkgdr_ipc_wait()
 * blocks. */
gint gst_vkgdr_ipc_listen (
    const gchar *path, GstVkgdrIpcPeers peers, GError **error);

/* Accepts a client. Returns -1 with errno set if there is none (EAGAIN), or on
 * failure. */
gint gst_vkgdr_ipc_accept (gint listener);

/* Connects to @path. Returns -1 with @error set on failure. Then @is_absent is
 * TRUE if no process listens at @path, or if too many clients wait to be
 * accepted, so that the caller may try again. */
gint gst_vkgdr_ipc_connect (
    const gchar *path, gboolean *is_absent, GError **error);

/* Whether the process at the other end may connect. If not, sets @error. */
gboolean gst_vkgdr_ipc_check_peer (
    gint fd, GstVkgdrIpcPeers peers, GError **error);

/* Sends one packet, and the file descriptor @attached, unless it is -1. */
GstVkgdrIpcResult gst_vkgdr_ipc_send (gint fd, GBytes *packet, gint attached);

/* Receives one packet of at most @size bytes into @data, and sets @size.
 * Returns GST_VKGDR_IPC_CLOSED for a larger packet. Sets @attached to a file
 * descriptor that the packet contained, which the caller must close, or to -1.
 * If @attached is NULL, the operating system closes file descriptors. */
GstVkgdrIpcResult gst_vkgdr_ipc_receive (
    gint fd, gpointer data, gsize *size, gint *attached);

/* Waits until @fd is readable (-1: no descriptor), for at most @timeout
 * microseconds (-1: no limit). Returns FALSE if @cancel_fd is readable. */
gboolean gst_vkgdr_ipc_wait (gint fd, gint cancel_fd, gint64 timeout);

G_END_DECLS

#endif /* __GST_VKGDR_IPC_SOCKET_H__ */
