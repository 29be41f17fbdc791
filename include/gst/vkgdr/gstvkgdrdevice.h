/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * gstvkgdrdevice.h: the number of CUDA devices, and their memory
 *
 * Does not open devices: a GstVkgdrContext does this.
 */

#ifndef __GST_VKGDR_DEVICE_H__
#define __GST_VKGDR_DEVICE_H__

#include <gst/vkgdr/gstvkgdrcontext.h>

G_BEGIN_DECLS

GST_VKGDR_API
gint gst_vkgdr_device_count (GError **error);

GST_VKGDR_API
gboolean gst_vkgdr_context_get_memory_info (GstVkgdrContext *context,
    guint64 *free_bytes, guint64 *total_bytes, GError **error);

G_END_DECLS

#endif /* __GST_VKGDR_DEVICE_H__ */
