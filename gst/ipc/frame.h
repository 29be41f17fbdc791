/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * ipc/frame.h: a buffer on its way to clients
 *
 * Written once as a message, which all clients get. The buffer goes back to its
 * pool when the last reference is given back. Knows nothing of sockets.
 */

#ifndef __GST_VKGDR_IPC_FRAME_H__
#define __GST_VKGDR_IPC_FRAME_H__

#include "ipc/export.h"

G_BEGIN_DECLS

/* What a client has to know before a frame: messages, each NULL if there is
 * none. Immutable; a change makes another one. */
typedef struct {
  gint refcount; /* atomic */
  GBytes *caps;
  GBytes *segment;
  GBytes *tags;
} GstVkgdrIpcState;

GstVkgdrIpcState *gst_vkgdr_ipc_state_new (void);
GstVkgdrIpcState *gst_vkgdr_ipc_state_ref (GstVkgdrIpcState *self);
void gst_vkgdr_ipc_state_unref (GstVkgdrIpcState *self);

/* Like @self, which is given back, but with @message (taken, nullable) of
 * @type: CAPS, SEGMENT or TAGS. */
GstVkgdrIpcState *gst_vkgdr_ipc_state_change (
    GstVkgdrIpcState *self, GstVkgdrIpcType type, GBytes *message);

/* When things happen in the server's pipeline. */
typedef struct {
  gint64 base; /* monotonic time at which running time was 0; -1: none */
  GstClockTime latency;
} GstVkgdrIpcTiming;

typedef struct {
  gint refcount; /* atomic */
  guint64 id;
  GstBuffer *buffer;  /* a reference */
  GstBuffer *room;    /* whose memory that has, or NULL */
  GPtrArray *exports; /* of GstVkgdrIpcExport */
  GBytes *message;    /* FRAME */
  GstVkgdrIpcState *state;
} GstVkgdrIpcOutput;

/* @buffer (taken), all of whose memory must be of type VkgdrMemory, with the
 * number @id; @room (taken, nullable) is given back after it. NULL with @error
 * set if it cannot be exported. */
GstVkgdrIpcOutput *gst_vkgdr_ipc_output_new (GstBuffer *buffer, GstBuffer *room,
    guint64 id, const GstVkgdrIpcTiming *timing, GError **error);

GstVkgdrIpcOutput *gst_vkgdr_ipc_output_ref (GstVkgdrIpcOutput *self);
void gst_vkgdr_ipc_output_unref (GstVkgdrIpcOutput *self);

/* Whether the content is on the device. Does not wait. */
gboolean gst_vkgdr_ipc_output_is_written (GstVkgdrIpcOutput *self);

/* Waits until it is. FALSE with @error set if it does not get there. */
gboolean gst_vkgdr_ipc_output_wait_written (
    GstVkgdrIpcOutput *self, GError **error);

G_END_DECLS

#endif /* __GST_VKGDR_IPC_FRAME_H__ */
