/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * ipc/notifier.h: tells a client that a flush begins
 *
 * A notifier is a pair of connected sockets. The server sends a notice through
 * its end, and a thread of the client waits at the other end. The two processes
 * may be hostile to each other, and neither of them can make the other one
 * block. An eventfd would be one object with common flags: each process could
 * make it blocking for the other one.
 */

#ifndef __GST_VKGDR_IPC_NOTIFIER_H__
#define __GST_VKGDR_IPC_NOTIFIER_H__

#include "ipc/socket.h"

G_BEGIN_DECLS

/* Creates both ends, which the caller must close. Returns FALSE if the process
 * has no file descriptors left. */
gboolean gst_vkgdr_ipc_notifier_new (gint *sender, gint *receiver);

/* Sends a notice. The result is GST_VKGDR_IPC_AGAIN if the client has not
 * received some hundred notices. */
GstVkgdrIpcResult gst_vkgdr_ipc_notifier_send (gint sender);

/* Whether @fd, which another process has sent, can be a receiver. */
gboolean gst_vkgdr_ipc_notifier_is_receiver (gint fd);

/* Receives one notice. The result is GST_VKGDR_IPC_AGAIN if there is none, and
 * GST_VKGDR_IPC_CLOSED if there will be none any more. */
GstVkgdrIpcResult gst_vkgdr_ipc_notifier_receive (gint receiver);

G_END_DECLS

#endif /* __GST_VKGDR_IPC_NOTIFIER_H__ */
