/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * ipc/device.c: see ipc/device.h
 */

#include "ipc/device.h"

void
gst_vkgdr_ipc_device_init (GstVkgdrIpcDevice *self, GstElement *element)
{
  self->element = element;
  self->device = -1;
}

void
gst_vkgdr_ipc_device_install (GObjectClass *klass, guint id)
{
  g_object_class_install_property (klass, id,
      g_param_spec_int ("device", "Device",
          "CUDA device to use; -1: CUDA_DEVICE in the environment, or a file "
          ".cuda_device, or the first device",
          -1, G_MAXINT, -1,
          G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS
              | GST_PARAM_MUTABLE_READY));
}

void
gst_vkgdr_ipc_device_set (GstVkgdrIpcDevice *self, const GValue *value)
{
  GST_OBJECT_LOCK (self->element);
  self->device = g_value_get_int (value);
  GST_OBJECT_UNLOCK (self->element);
}

void
gst_vkgdr_ipc_device_get (GstVkgdrIpcDevice *self, GValue *value)
{
  GST_OBJECT_LOCK (self->element);
  g_value_set_int (value, self->device);
  GST_OBJECT_UNLOCK (self->element);
}

/* A reference, or NULL. */
static GstVkgdrContext *
ref_context (GstVkgdrIpcDevice *self, gint *device)
{
  GstVkgdrContext *context;

  GST_OBJECT_LOCK (self->element);
  context = self->context ? gst_object_ref (self->context) : NULL;
  *device = self->device;
  GST_OBJECT_UNLOCK (self->element);
  return context;
}

/* Takes @context. */
static void
set_context (GstVkgdrIpcDevice *self, GstVkgdrContext *context)
{
  GstVkgdrContext *old;

  GST_OBJECT_LOCK (self->element);
  old = self->context;
  self->context = context;
  GST_OBJECT_UNLOCK (self->element);
  gst_clear_object (&old);
}

gboolean
gst_vkgdr_ipc_device_open (GstVkgdrIpcDevice *self)
{
  gint device;
  GstVkgdrContext *context = ref_context (self, &device);
  gboolean ok =
      gst_vkgdr_element_ensure_context (self->element, device, &context);

  set_context (self, context);
  return ok;
}

void
gst_vkgdr_ipc_device_close (GstVkgdrIpcDevice *self)
{
  set_context (self, NULL);
}

GstVkgdrContext *
gst_vkgdr_ipc_device_get_context (GstVkgdrIpcDevice *self)
{
  return self->context;
}

void
gst_vkgdr_ipc_device_handle_context (
    GstVkgdrIpcDevice *self, GstContext *context)
{
  gint device;
  GstVkgdrContext *found = ref_context (self, &device);

  if (gst_vkgdr_element_handle_set_context (
          self->element, context, device, &found))
    set_context (self, g_steal_pointer (&found));
  gst_clear_object (&found);
}

gboolean
gst_vkgdr_ipc_device_handle_query (GstVkgdrIpcDevice *self, GstQuery *query)
{
  gint device;
  GstVkgdrContext *context = ref_context (self, &device);
  gboolean answered =
      gst_vkgdr_element_handle_context_query (self->element, query, context);

  gst_clear_object (&context);
  return answered;
}
