/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * ipc/sink.h: declarations for the files of vkgdripcsink
 *
 * sink.c has the class, the properties, start and stop. sink-server.c opens the
 * server of libvkgdr, which knows the clients. sink-events.c says what the
 * stream is, and sink-frames.c sends the buffers.
 */

#ifndef __GST_VKGDR_IPC_SINK_H__
#define __GST_VKGDR_IPC_SINK_H__

#include <gst/base/gstbasesink.h>

#include "frame-server.h"
#include "ipc/copy.h"
#include "ipc/endpoint.h"

G_BEGIN_DECLS

GST_DEBUG_CATEGORY_EXTERN (gst_vkgdr_ipc_sink_debug);

#define GST_TYPE_VKGDR_IPC_SINK (gst_vkgdr_ipc_sink_get_type ())
G_DECLARE_FINAL_TYPE (
    GstVkgdrIpcSink, gst_vkgdr_ipc_sink, GST, VKGDR_IPC_SINK, GstBaseSink)

/* The number of scopes of tags, which are indices of arrays. */
#define GST_VKGDR_IPC_N_SCOPES (GST_TAG_SCOPE_GLOBAL + 1)

/* What happens to a frame if a client has max_buffers frames. The values are
 * those of the property `leaky` of GStreamer's queue. */
typedef enum {
  GST_VKGDR_IPC_LEAKY_NO = 0,
  GST_VKGDR_IPC_LEAKY_DOWNSTREAM = 2
} GstVkgdrIpcLeaky;

struct _GstVkgdrIpcSink {
  GstBaseSink parent;

  GstVkgdrIpcEndpoint endpoint;

  /* Properties, protected by the object lock. */
  GstVkgdrIpcLeaky leaky;
  guint max_buffers;
  gboolean wait_for_connection;
  GstVkgdrAccess access;

  /* Exist between start and stop. The server is protected by the object lock;
   * see gst_vkgdr_ipc_sink_ref_server (). */
  vkgdr_server *server;
  GstVkgdrIpcCopier *copier;
  /* All tags of the stream, for each scope. NULL before the first ones. */
  GstTagList *tags[GST_VKGDR_IPC_N_SCOPES];
  GstVideoInfo info;    /* of the caps; empty if they are not raw video */
  GstClockTime latency; /* that was sent */
  guint n_new; /* frames in a row in memory that was not exported before */
  gboolean has_warned; /* that overlays are not sent */

  /* Statistics, protected by the object lock. */
  guint64 frames;
  guint64 frames_copied;
  guint64 bytes_copied;
  vkgdr_server_figures last_figures; /* of the last server */
};

/* --- sink-server.c --- */

gboolean gst_vkgdr_ipc_sink_open_server (GstVkgdrIpcSink *self, GError **error);

/* Does nothing if there is no server. */
void gst_vkgdr_ipc_sink_close_server (GstVkgdrIpcSink *self);

/* Returns a reference, or NULL if the element is stopped. Events and unlock
 * come at any time, also while the element stops. */
vkgdr_server *gst_vkgdr_ipc_sink_ref_server (GstVkgdrIpcSink *self);

/* --- sink-events.c --- */

/* Posts an error if the caps cannot be sent. */
gboolean gst_vkgdr_ipc_sink_set_caps (GstBaseSink *sink, GstCaps *caps);

/* Says what the event changes. */
void gst_vkgdr_ipc_sink_forward_event (GstVkgdrIpcSink *self, GstEvent *event);

/* Sends the latency before the next frame, if it has changed. */
void gst_vkgdr_ipc_sink_send_latency (GstVkgdrIpcSink *self);

/* --- sink-frames.c --- */

GstFlowReturn gst_vkgdr_ipc_sink_render (GstBaseSink *sink, GstBuffer *buffer);

G_END_DECLS

#endif /* __GST_VKGDR_IPC_SINK_H__ */
