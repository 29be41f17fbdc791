/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * ipc/endpoint.h: what vkgdripcsink and vkgdripcsrc have in common
 *
 * The properties `socket-path`, `device` and `allowed-peers`, and a context
 * that is shared with the other elements of the pipeline. Thread-safe: the
 * functions take the element's object lock.
 */

#ifndef __GST_VKGDR_IPC_ENDPOINT_H__
#define __GST_VKGDR_IPC_ENDPOINT_H__

#include <gst/vkgdr/vkgdr.h>
#include <vkgdr/frames.h>

G_BEGIN_DECLS

typedef struct {
  GstElement *element; /* the element that contains this structure */
  GstVkgdrContext *context;

  /* Properties, under the object lock. */
  gchar *socket_path;
  gint device;
  vkgdr_frame_peers allowed_peers;
} GstVkgdrIpcEndpoint;

/* Ids of the properties. The first property of the element has the id
 * GST_VKGDR_IPC_PROP_LAST. */
enum {
  GST_VKGDR_IPC_PROP_SOCKET_PATH = 1,
  GST_VKGDR_IPC_PROP_DEVICE,
  GST_VKGDR_IPC_PROP_ALLOWED_PEERS,
  GST_VKGDR_IPC_PROP_LAST
};

/* Flags of properties that are only read when the element starts. */
#define GST_VKGDR_IPC_PROP_FLAGS \
  (G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | GST_PARAM_MUTABLE_READY)

/* Installs the properties; the blurbs must be static strings. */
void gst_vkgdr_ipc_endpoint_install (
    GObjectClass *klass, const gchar *path_blurb, const gchar *peers_blurb);

void gst_vkgdr_ipc_endpoint_init (
    GstVkgdrIpcEndpoint *self, GstElement *element);
void gst_vkgdr_ipc_endpoint_finalize (GstVkgdrIpcEndpoint *self);

/* For GObjectClass.set_property and get_property. Return FALSE if @id is not
 * one of these properties. */
gboolean gst_vkgdr_ipc_endpoint_set (
    GstVkgdrIpcEndpoint *self, guint id, const GValue *value);
gboolean gst_vkgdr_ipc_endpoint_get (
    GstVkgdrIpcEndpoint *self, guint id, GValue *value);

/* Returns the path of the socket (nullable), which the caller must free. Sets
 * @peers to the processes that may connect. */
gchar *gst_vkgdr_ipc_endpoint_get_address (
    GstVkgdrIpcEndpoint *self, vkgdr_frame_peers *peers);

/* Converts @time of @clock to CLOCK_MONOTONIC. Most pipelines use that clock;
 * the conversion from another one is never exact. */
gint64 gst_vkgdr_ipc_monotonic (GstClock *clock, GstClockTime time);

/* Sets @error to the last error of libvkgdr. */
void gst_vkgdr_ipc_take_error (GError **error, gint code);

/* Finds or creates a context. If there is none, posts an error and returns
 * FALSE. */
gboolean gst_vkgdr_ipc_endpoint_open (GstVkgdrIpcEndpoint *self);
void gst_vkgdr_ipc_endpoint_close (GstVkgdrIpcEndpoint *self);

/* Returns the context. Must be called between open and close. */
GstVkgdrContext *gst_vkgdr_ipc_endpoint_get_context (GstVkgdrIpcEndpoint *self);

/* For GstElementClass.set_context. The element must chain up afterwards. */
void gst_vkgdr_ipc_endpoint_handle_context (
    GstVkgdrIpcEndpoint *self, GstContext *context);

/* Returns whether @query was a context query that was answered. */
gboolean gst_vkgdr_ipc_endpoint_handle_query (
    GstVkgdrIpcEndpoint *self, GstQuery *query);

G_END_DECLS

#endif /* __GST_VKGDR_IPC_ENDPOINT_H__ */
