/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * ipc/frame.h: a buffer on its way to clients
 *
 * It is written once as a message, which is sent to all clients. The buffer
 * goes back to its pool when the last reference is dropped. Knows nothing of
 * sockets.
 */

#ifndef __GST_VKGDR_IPC_FRAME_H__
#define __GST_VKGDR_IPC_FRAME_H__

#include "ipc/export.h"

G_BEGIN_DECLS

/* Messages that a client must have received before a frame. A field is NULL if
 * there is no such message. Immutable: a change creates a new state. */
typedef struct {
  gint refcount; /* atomic */
  GBytes *caps;
  GBytes *segment;
  GBytes *tags[GST_VKGDR_IPC_N_SCOPES];
} GstVkgdrIpcState;

GstVkgdrIpcState *gst_vkgdr_ipc_state_new (void);
GstVkgdrIpcState *gst_vkgdr_ipc_state_ref (GstVkgdrIpcState *self);
void gst_vkgdr_ipc_state_unref (GstVkgdrIpcState *self);

/* Returns a new state that has @message (taken, nullable) of @type: CAPS,
 * SEGMENT, TAGS or GLOBAL_TAGS. The other messages are those of @self, whose
 * reference is dropped. */
GstVkgdrIpcState *gst_vkgdr_ipc_state_change (
    GstVkgdrIpcState *self, GstVkgdrIpcType type, GBytes *message);

/* Times of the server's pipeline. */
typedef struct {
  gint64 base; /* monotonic time at which running time was 0; -1: none */
  GstClockTime latency;
} GstVkgdrIpcTiming;

typedef struct {
  gint refcount; /* atomic */
  guint64 id;
  GstBuffer *buffer; /* a reference */
  GstBuffer *room; /* the buffer of a pool whose memory @buffer uses, or NULL */
  GPtrArray *exports; /* of GstVkgdrIpcExport */
  GBytes *message;    /* the message FRAME */
  GstVkgdrIpcState *state;
} GstVkgdrIpcOutput;

/* Takes ownership of @buffer and of @room (nullable). All memory of @buffer
 * must be of type VkgdrMemory. @id is the number of the frame. @room is
 * unreferenced after @buffer. Returns NULL with @error set if the memory cannot
 * be exported. */
GstVkgdrIpcOutput *gst_vkgdr_ipc_output_new (GstBuffer *buffer, GstBuffer *room,
    guint64 id, const GstVkgdrIpcTiming *timing, GError **error);

GstVkgdrIpcOutput *gst_vkgdr_ipc_output_ref (GstVkgdrIpcOutput *self);
void gst_vkgdr_ipc_output_unref (GstVkgdrIpcOutput *self);

/* Whether the content is on the device. Does not wait. */
gboolean gst_vkgdr_ipc_output_is_written (GstVkgdrIpcOutput *self);

/* Waits until the content is on the device. Returns FALSE with @error set if
 * that fails. */
gboolean gst_vkgdr_ipc_output_wait_written (
    GstVkgdrIpcOutput *self, GError **error);

G_END_DECLS

#endif /* __GST_VKGDR_IPC_FRAME_H__ */
