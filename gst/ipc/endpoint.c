/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * ipc/endpoint.c: see ipc/endpoint.h
 */

#include "ipc/endpoint.h"

#include <gio/gio.h>
#include <stdlib.h>

#define GST_TYPE_VKGDR_IPC_PEERS (peers_get_type ())
static GType
peers_get_type (void)
{
  static gsize type = 0;
  static const GEnumValue values[] = {
    { VKGDR_FRAME_PEERS_USER, "Processes of the same user", "user" },
    { VKGDR_FRAME_PEERS_GROUP, "Processes of the same user or group", "group" },
    { VKGDR_FRAME_PEERS_ALL, "All processes that can reach the socket", "all" },
    { 0, NULL, NULL },
  };

  if (g_once_init_enter (&type))
    g_once_init_leave (
        &type, g_enum_register_static ("GstVkgdrIpcPeers", values));
  return type;
}

void
gst_vkgdr_ipc_take_error (GError **error, gint code)
{
  char *message = vkgdr_last_error ();

  g_set_error_literal (
      error, G_IO_ERROR, code, message ? message : "unknown reason");
  free (message);
}

gint64
gst_vkgdr_ipc_monotonic (GstClock *clock, GstClockTime time)
{
  GstClockType type = GST_CLOCK_TYPE_OTHER;

  if (G_OBJECT_TYPE (clock) == GST_TYPE_SYSTEM_CLOCK)
    g_object_get (clock, "clock-type", &type, NULL);
  if (type == GST_CLOCK_TYPE_MONOTONIC)
    return time;
  return (gint64) time - (gint64) gst_clock_get_time (clock)
         + (gint64) gst_util_get_timestamp ();
}

/* --- properties ---------------------------------------------------------- */

void
gst_vkgdr_ipc_endpoint_install (
    GObjectClass *klass, const gchar *path_blurb, const gchar *peers_blurb)
{
  g_object_class_install_property (klass, GST_VKGDR_IPC_PROP_SOCKET_PATH,
      g_param_spec_string ("socket-path", "Socket path", path_blurb, NULL,
          GST_VKGDR_IPC_PROP_FLAGS));
  g_object_class_install_property (klass, GST_VKGDR_IPC_PROP_DEVICE,
      g_param_spec_int ("device", "Device",
          "Index of the CUDA device (-1 = the neighbours' device, else that of "
          "CUDA_DEVICE or ~/.cuda-device, else the first that works)",
          -1, G_MAXINT, -1, GST_VKGDR_IPC_PROP_FLAGS));
  g_object_class_install_property (klass, GST_VKGDR_IPC_PROP_ALLOWED_PEERS,
      g_param_spec_enum ("allowed-peers", "Allowed peers", peers_blurb,
          GST_TYPE_VKGDR_IPC_PEERS, VKGDR_FRAME_PEERS_USER,
          GST_VKGDR_IPC_PROP_FLAGS));
  gst_type_mark_as_plugin_api (GST_TYPE_VKGDR_IPC_PEERS, 0);
}

void
gst_vkgdr_ipc_endpoint_init (GstVkgdrIpcEndpoint *self, GstElement *element)
{
  self->element = element;
  self->device = -1;
}

void
gst_vkgdr_ipc_endpoint_finalize (GstVkgdrIpcEndpoint *self)
{
  gst_vkgdr_ipc_endpoint_close (self);
  g_clear_pointer (&self->socket_path, g_free);
}

gboolean
gst_vkgdr_ipc_endpoint_set (
    GstVkgdrIpcEndpoint *self, guint id, const GValue *value)
{
  gboolean is_known = TRUE;

  GST_OBJECT_LOCK (self->element);
  switch (id) {
  case GST_VKGDR_IPC_PROP_SOCKET_PATH:
    g_free (self->socket_path);
    self->socket_path = g_value_dup_string (value);
    break;
  case GST_VKGDR_IPC_PROP_DEVICE:
    self->device = g_value_get_int (value);
    break;
  case GST_VKGDR_IPC_PROP_ALLOWED_PEERS:
    self->allowed_peers = g_value_get_enum (value);
    break;
  default:
    is_known = FALSE;
  }
  GST_OBJECT_UNLOCK (self->element);
  return is_known;
}

gboolean
gst_vkgdr_ipc_endpoint_get (GstVkgdrIpcEndpoint *self, guint id, GValue *value)
{
  gboolean is_known = TRUE;

  GST_OBJECT_LOCK (self->element);
  switch (id) {
  case GST_VKGDR_IPC_PROP_SOCKET_PATH:
    g_value_set_string (value, self->socket_path);
    break;
  case GST_VKGDR_IPC_PROP_DEVICE:
    g_value_set_int (value, self->device);
    break;
  case GST_VKGDR_IPC_PROP_ALLOWED_PEERS:
    g_value_set_enum (value, self->allowed_peers);
    break;
  default:
    is_known = FALSE;
  }
  GST_OBJECT_UNLOCK (self->element);
  return is_known;
}

gchar *
gst_vkgdr_ipc_endpoint_get_address (
    GstVkgdrIpcEndpoint *self, vkgdr_frame_peers *peers)
{
  gchar *path;

  GST_OBJECT_LOCK (self->element);
  path = g_strdup (self->socket_path);
  *peers = self->allowed_peers;
  GST_OBJECT_UNLOCK (self->element);
  return path;
}

/* --- the context --------------------------------------------------------- */

static gint
get_device (GstVkgdrIpcEndpoint *self)
{
  gint device;

  GST_OBJECT_LOCK (self->element);
  device = self->device;
  GST_OBJECT_UNLOCK (self->element);
  return device;
}

gboolean
gst_vkgdr_ipc_endpoint_open (GstVkgdrIpcEndpoint *self)
{
  return gst_vkgdr_element_ensure_context (
      self->element, get_device (self), &self->context);
}

void
gst_vkgdr_ipc_endpoint_close (GstVkgdrIpcEndpoint *self)
{
  GstVkgdrContext *old;

  GST_OBJECT_LOCK (self->element);
  old = g_steal_pointer (&self->context);
  GST_OBJECT_UNLOCK (self->element);
  gst_clear_object (&old);
}

GstVkgdrContext *
gst_vkgdr_ipc_endpoint_get_context (GstVkgdrIpcEndpoint *self)
{
  return self->context;
}

void
gst_vkgdr_ipc_endpoint_handle_context (
    GstVkgdrIpcEndpoint *self, GstContext *context)
{
  gst_vkgdr_element_handle_set_context (
      self->element, context, get_device (self), &self->context);
}

gboolean
gst_vkgdr_ipc_endpoint_handle_query (GstVkgdrIpcEndpoint *self, GstQuery *query)
{
  return gst_vkgdr_element_handle_context_query (
      self->element, query, get_device (self), &self->context);
}
