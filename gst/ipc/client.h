/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * ipc/client.h: the connection of a client to its server
 *
 * Makes buffers of the messages, and tells the server when a buffer is not used
 * any more, on the device neither. The connection stays open until then, though
 * its owner may give its reference back before. Knows nothing of elements.
 */

#ifndef __GST_VKGDR_IPC_CLIENT_H__
#define __GST_VKGDR_IPC_CLIENT_H__

#include <gst/vkgdr/vkgdr.h>

#include "ipc/protocol.h"
#include "ipc/socket.h"

G_BEGIN_DECLS

typedef struct _GstVkgdrIpcClient GstVkgdrIpcClient;

typedef enum {
  GST_VKGDR_IPC_EVENT_FRAME,
  GST_VKGDR_IPC_EVENT_EOS,
  GST_VKGDR_IPC_EVENT_FLUSH_START,
  GST_VKGDR_IPC_EVENT_FLUSH_STOP,
  GST_VKGDR_IPC_EVENT_BYE, /* the server has stopped */
  GST_VKGDR_IPC_EVENT_CANCELLED,
  GST_VKGDR_IPC_EVENT_ERROR
} GstVkgdrIpcEvent;

/* What changed since the last frame; the caller clears the fields. */
typedef struct {
  GstCaps *caps;    /* NULL: as before */
  GstTagList *tags; /* NULL: as before */
  gboolean has_segment;
  GstSegment segment;
} GstVkgdrIpcChanges;

/* What comes with an event. */
typedef struct {
  GstVkgdrIpcFrame frame; /* FRAME */
  GstBuffer *buffer;      /* FRAME; the caller's */
  guint64 number;         /* FLUSH_STOP: whether to reset the time */
} GstVkgdrIpcContent;

/* Connects to the server at @path, whose memory is imported by @allocator.
 * NULL with @error set on failure; @is_absent is set to whether no server
 * listens there. */
GstVkgdrIpcClient *gst_vkgdr_ipc_client_new (const gchar *path,
    GstVkgdrIpcPeers peers, GstVkgdrAllocator *allocator, gboolean *is_absent,
    GError **error);

/* Gives the owner's reference back. The server sends nothing more; buffers stay
 * valid. */
void gst_vkgdr_ipc_client_stop (GstVkgdrIpcClient *self);

/* Waits for the next event, until @cancel_fd is readable. From @busy_poll
 * microseconds before a frame is expected, the thread does not sleep (0: it
 * always sleeps). @error is set for GST_VKGDR_IPC_EVENT_ERROR. */
GstVkgdrIpcEvent gst_vkgdr_ipc_client_read (GstVkgdrIpcClient *self,
    gint cancel_fd, guint busy_poll, GstVkgdrIpcContent *content,
    GError **error);

/* Moves what changed to @changes. */
void gst_vkgdr_ipc_client_take_changes (
    GstVkgdrIpcClient *self, GstVkgdrIpcChanges *changes);
void gst_vkgdr_ipc_changes_clear (GstVkgdrIpcChanges *changes);

/* The eventfd that counts flushes, -1 before the server's first message. Stays
 * the client's. */
gint gst_vkgdr_ipc_client_get_flush_fd (GstVkgdrIpcClient *self);

/* Frames that were sent to other clients, but not to this one, since it came.
 */
guint64 gst_vkgdr_ipc_client_get_lost (GstVkgdrIpcClient *self);

G_END_DECLS

#endif /* __GST_VKGDR_IPC_CLIENT_H__ */
