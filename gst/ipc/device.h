/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * ipc/device.h: the context of an element that is not a GstVkgdrBaseTransform
 *
 * The property `device`, and a context that is shared with the other elements
 * of the pipeline. Thread-safe: the element's object lock is taken.
 */

#ifndef __GST_VKGDR_IPC_DEVICE_H__
#define __GST_VKGDR_IPC_DEVICE_H__

#include <gst/vkgdr/vkgdr.h>

G_BEGIN_DECLS

typedef struct {
  GstElement *element; /* that has this as a field */
  gint device;         /* the property */
  GstVkgdrContext *context;
} GstVkgdrIpcDevice;

void gst_vkgdr_ipc_device_init (GstVkgdrIpcDevice *self, GstElement *element);

/* Installs the property `device` as number @id. */
void gst_vkgdr_ipc_device_install (GObjectClass *klass, guint id);
void gst_vkgdr_ipc_device_set (GstVkgdrIpcDevice *self, const GValue *value);
void gst_vkgdr_ipc_device_get (GstVkgdrIpcDevice *self, GValue *value);

/* Finds or makes a context. FALSE if there is none; then an error was posted.
 */
gboolean gst_vkgdr_ipc_device_open (GstVkgdrIpcDevice *self);
void gst_vkgdr_ipc_device_close (GstVkgdrIpcDevice *self);

/* The context, between open and close. */
GstVkgdrContext *gst_vkgdr_ipc_device_get_context (GstVkgdrIpcDevice *self);

/* For GstElementClass.set_context, which calls its parent's afterwards. */
void gst_vkgdr_ipc_device_handle_context (
    GstVkgdrIpcDevice *self, GstContext *context);

/* Whether @query was for a context, and was answered. */
gboolean gst_vkgdr_ipc_device_handle_query (
    GstVkgdrIpcDevice *self, GstQuery *query);

G_END_DECLS

#endif /* __GST_VKGDR_IPC_DEVICE_H__ */
