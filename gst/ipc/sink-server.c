/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * ipc/sink-server.c: the server of vkgdripcsink, between start and stop
 */

#include <gio/gio.h>

#include "ipc/sink.h"

vkgdr_server *
gst_vkgdr_ipc_sink_ref_server (GstVkgdrIpcSink *self)
{
  vkgdr_server *server;

  GST_OBJECT_LOCK (self);
  server = self->server ? vkgdr_server_ref (self->server) : NULL;
  GST_OBJECT_UNLOCK (self);
  return server;
}

static vkgdr_server *
new_server (GstVkgdrIpcSink *self, GError **error)
{
  vkgdr_server_params params = { .path = NULL };
  gchar *path =
      gst_vkgdr_ipc_endpoint_get_address (&self->endpoint, &params.peers);
  vkgdr_server *server;

  GST_OBJECT_LOCK (self);
  params.is_leaky = self->leaky == GST_VKGDR_IPC_LEAKY_DOWNSTREAM;
  params.max_buffers = self->max_buffers;
  params.waits_for_client = self->wait_for_connection;
  GST_OBJECT_UNLOCK (self);
  /* In the same pipeline, the client's sink gets no frame before this element
   * plays. So this element must not wait for a preroll. */
  if (params.waits_for_client)
    gst_base_sink_set_async_enabled (GST_BASE_SINK (self), FALSE);
  GST_OBJECT_LOCK (self);
  self->frames = self->frames_copied = self->bytes_copied = 0;
  GST_OBJECT_UNLOCK (self);
  params.path = path;
  server = vkgdr_server_new (&params);
  if (!server)
    gst_vkgdr_ipc_take_error (error, G_IO_ERROR_FAILED);
  g_free (path);
  return server;
}

gboolean
gst_vkgdr_ipc_sink_open_server (GstVkgdrIpcSink *self, GError **error)
{
  vkgdr_server *server = new_server (self, error);

  if (!server)
    return FALSE;
  GST_OBJECT_LOCK (self);
  self->server = server;
  GST_OBJECT_UNLOCK (self);
  return TRUE;
}

void
gst_vkgdr_ipc_sink_close_server (GstVkgdrIpcSink *self)
{
  vkgdr_server *server = gst_vkgdr_ipc_sink_ref_server (self);

  if (!server)
    return;
  /* It may still send frames. */
  vkgdr_server_close (server);
  GST_OBJECT_LOCK (self);
  vkgdr_server_get_figures (server, &self->last_figures);
  vkgdr_server_unref (self->server);
  self->server = NULL;
  GST_OBJECT_UNLOCK (self);
  vkgdr_server_unref (server);
}
