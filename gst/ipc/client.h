/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * ipc/client.h: the connection of a client to its server
 *
 * Makes buffers of the messages. Tells the server when a buffer is no longer
 * used, neither by this process nor by the device. The connection stays open
 * until then, even if its owner has dropped its reference. Knows nothing of
 * elements.
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

/* Changes since the last frame. The caller must clear the fields. */
typedef struct {
  GstCaps *caps; /* NULL: not changed */
  /* NULL: not changed */
  GstTagList *tags[GST_VKGDR_IPC_N_SCOPES];
  gboolean has_segment;
  GstSegment segment;
} GstVkgdrIpcChanges;

/* The data of an event. The comments name the events that have it. */
typedef struct {
  GstVkgdrIpcFrame frame; /* FRAME */
  GstBuffer *buffer;      /* FRAME; owned by the caller */
  guint64 number;         /* FLUSH_STOP: whether the time is reset */
} GstVkgdrIpcContent;

/* Connects to the server at @path. @allocator imports the server's memory.
 * Returns NULL with @error set on failure; for @is_absent, see
 * gst_vkgdr_ipc_connect (). */
GstVkgdrIpcClient *gst_vkgdr_ipc_client_new (const gchar *path,
    GstVkgdrIpcPeers peers, GstVkgdrAllocator *allocator, gboolean *is_absent,
    GError **error);

/* Tells the server to send no more frames, and drops the owner's reference.
 * Buffers that were received stay valid. */
void gst_vkgdr_ipc_client_stop (GstVkgdrIpcClient *self);

/* Waits for the next event. Returns early if @cancel_fd becomes readable.
 * @busy_poll: the thread does not sleep during this number of microseconds
 * before and after the time at which a frame is expected; 0: it always sleeps.
 * @error is set if the result is GST_VKGDR_IPC_EVENT_ERROR. This event and
 * GST_VKGDR_IPC_EVENT_BYE are the end: later calls return the same event. */
GstVkgdrIpcEvent gst_vkgdr_ipc_client_read (GstVkgdrIpcClient *self,
    gint cancel_fd, guint busy_poll, GstVkgdrIpcContent *content,
    GError **error);

/* Moves the changes since the last call to @changes. */
void gst_vkgdr_ipc_client_take_changes (
    GstVkgdrIpcClient *self, GstVkgdrIpcChanges *changes);
void gst_vkgdr_ipc_changes_clear (GstVkgdrIpcChanges *changes);

/* Returns the receiver of the notices of flushes (ipc/notifier.h), which the
 * client owns, or -1 before the server's first message. */
gint gst_vkgdr_ipc_client_get_notifier (GstVkgdrIpcClient *self);

/* Returns the number of the server's frames that this client did not receive
 * since its first frame. */
guint64 gst_vkgdr_ipc_client_get_lost (GstVkgdrIpcClient *self);

G_END_DECLS

#endif /* __GST_VKGDR_IPC_CLIENT_H__ */
