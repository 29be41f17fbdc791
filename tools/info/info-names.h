/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * info-names.h: names of the numbers that drivers return
 */

#ifndef INFO_NAMES_H
#define INFO_NAMES_H

#include <glib.h>

#include <vkgdr/vkgdr.h>

/* Returns: (transfer full): one name for each bit that is set, or a number for
 * an unknown bit. */
GStrv info_name_memory_flags (guint32 flags);

/* Returns CUDA's compute mode, such as `default`. */
const gchar *info_name_compute_mode (gint mode);

/* Returns: (nullable) (transfer full): the version of the CUDA driver's API,
 * such as `13.0` */
gchar *info_format_cuda_driver (const vkgdr_device_info *info);

/* Returns: (nullable) (transfer full): the version of Vulkan's API, such as
 * `1.3.230` */
gchar *info_format_vulkan_api (const vkgdr_device_info *info);

#endif /* INFO_NAMES_H */
