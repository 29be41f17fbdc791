/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * info-names.h: what drivers' numbers are called
 */

#ifndef INFO_NAMES_H
#define INFO_NAMES_H

#include <glib.h>

#include <vkgdr/vkgdr.h>

/* (transfer full): one for each bit that is set, unknown ones as a number. */
GStrv info_name_memory_flags (guint32 flags);

/* CUDA's compute mode: `default`, say. */
const gchar *info_name_compute_mode (gint mode);

/* (nullable) (transfer full): the version of the CUDA driver's API: `13.0` */
gchar *info_format_cuda_driver (const vkgdr_device_info *info);

/* (nullable) (transfer full): the version of Vulkan's API: `1.3.230` */
gchar *info_format_vulkan_api (const vkgdr_device_info *info);

#endif /* INFO_NAMES_H */
