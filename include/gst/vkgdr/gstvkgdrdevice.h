/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * gstvkgdrdevice.h: lists the CUDA devices and their attributes
 *
 * Does not open devices: a GstVkgdrContext does this.
 */

#ifndef __GST_VKGDR_DEVICE_H__
#define __GST_VKGDR_DEVICE_H__

#include <gst/vkgdr/gstvkgdrcontext.h>

G_BEGIN_DECLS

GST_VKGDR_API
gint gst_vkgdr_device_count (GError **error);

#define GST_TYPE_VKGDR_DEVICE (gst_vkgdr_device_get_type ())

GST_VKGDR_API
G_DECLARE_FINAL_TYPE (
    GstVkgdrDevice, gst_vkgdr_device, GST, VKGDR_DEVICE, GstObject)

GST_VKGDR_API
GstVkgdrDevice *gst_vkgdr_device_new (gint index, GError **error);

GST_VKGDR_API
GstVkgdrDevice *gst_vkgdr_device_new_for_pci_address (
    const gchar *address, GError **error);

GST_VKGDR_API
gint gst_vkgdr_device_get_index (GstVkgdrDevice *device);

GST_VKGDR_API
const gchar *gst_vkgdr_device_get_model (GstVkgdrDevice *device);

GST_VKGDR_API
const gchar *gst_vkgdr_device_get_uuid (GstVkgdrDevice *device);

GST_VKGDR_API
const gchar *gst_vkgdr_device_get_pci_address (GstVkgdrDevice *device);

GST_VKGDR_API
guint64 gst_vkgdr_device_get_total_memory (GstVkgdrDevice *device);

GST_VKGDR_API
gint gst_vkgdr_device_get_compute_capability (GstVkgdrDevice *device);

GST_VKGDR_API
gint gst_vkgdr_device_get_driver_version (GstVkgdrDevice *device);

GST_VKGDR_API
gint gst_vkgdr_device_get_attribute (
    GstVkgdrDevice *device, const gchar *name, GError **error);

GST_VKGDR_API
GstStructure *gst_vkgdr_device_get_attributes (GstVkgdrDevice *device);

GST_VKGDR_API
gboolean gst_vkgdr_device_can_access_peer (
    GstVkgdrDevice *device, GstVkgdrDevice *peer);

GST_VKGDR_API
gboolean gst_vkgdr_context_get_memory_info (GstVkgdrContext *context,
    guint64 *free_bytes, guint64 *total_bytes, GError **error);

G_END_DECLS

#endif /* __GST_VKGDR_DEVICE_H__ */
