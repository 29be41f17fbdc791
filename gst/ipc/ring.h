/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * ipc/ring.h: a ring buffer of messages in memory that two processes share
 *
 * One process writes, and the other one reads, without system calls. That saves
 * several microseconds for a message, but the reader has to look for messages
 * all the time. While the reader does this, it watches the ring, and has told
 * the writer with gst_vkgdr_ipc_ring_set_watched (). The other process may
 * write anything to the memory at any time. So nothing in it is used before it
 * was copied and checked.
 *
 * Knows nothing of what the messages mean. One thread at a time may use a
 * process's end of a ring.
 */

#ifndef __GST_VKGDR_IPC_RING_H__
#define __GST_VKGDR_IPC_RING_H__

#include <glib.h>

G_BEGIN_DECLS

/* The maximum size in bytes of a message. Most frames need 300. */
#define GST_VKGDR_IPC_RING_MAX_MESSAGE 1008

typedef struct _GstVkgdrIpcRing GstVkgdrIpcRing;

/* Creates a ring for a writer. Sets @fd to a file descriptor for the reader,
 * which the caller must close. Returns NULL if there is no memory, or no file
 * descriptor. */
GstVkgdrIpcRing *gst_vkgdr_ipc_ring_new (gint *fd);

/* Maps the ring of a writer. The caller still owns @fd. Returns NULL with errno
 * set on failure: to EINVAL if @fd is not the file descriptor of a ring. */
GstVkgdrIpcRing *gst_vkgdr_ipc_ring_map (gint fd);

void gst_vkgdr_ipc_ring_free (GstVkgdrIpcRing *self);

/* --- for the writer ------------------------------------------------------ */

/* Writes a message with a @stamp. Returns FALSE if the reader does not watch
 * the ring, if the ring is full, or if the message is too large. */
gboolean gst_vkgdr_ipc_ring_write (
    GstVkgdrIpcRing *self, gconstpointer data, gsize size, guint64 stamp);

/* Whether the reader watches the ring. The reader looks at the ring once more
 * after it has set this to FALSE. So the writer has to wake the reader only if
 * this function returns FALSE after writing. */
gboolean gst_vkgdr_ipc_ring_is_watched (GstVkgdrIpcRing *self);

/* --- for the reader ------------------------------------------------------ */

void gst_vkgdr_ipc_ring_set_watched (
    GstVkgdrIpcRing *self, gboolean is_watched);

/* Whether there is a message whose stamp is at most @stamp. */
gboolean gst_vkgdr_ipc_ring_has_message (GstVkgdrIpcRing *self, guint64 stamp);

/* Reads the next message into @data, which has GST_VKGDR_IPC_RING_MAX_MESSAGE
 * bytes. gst_vkgdr_ipc_ring_has_message () must have returned TRUE. Returns the
 * size of the message, or 0 for an invalid message. */
gsize gst_vkgdr_ipc_ring_read (GstVkgdrIpcRing *self, gpointer data);

G_END_DECLS

#endif /* __GST_VKGDR_IPC_RING_H__ */
