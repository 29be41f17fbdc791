/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * info-names.c: names of the numbers that drivers return
 *
 * The report as text and the report as JSON use the same names.
 */

#include "info-names.h"

#include "cuda-driver.h"

/* Bits of VkMemoryPropertyFlags, the lowest first. */
static const gchar *const flag_names[] = { "device-local", "host-visible",
  "host-coherent", "host-cached", "lazily-allocated", "protected",
  "device-coherent", "device-uncached", "rdma-capable" };

GStrv
info_name_memory_flags (guint32 flags)
{
  GPtrArray *names = g_ptr_array_new ();
  guint i;

  for (i = 0; i < 32; i++) {
    guint32 bit = (guint32) 1 << i;

    if ((flags & bit) && i < G_N_ELEMENTS (flag_names))
      g_ptr_array_add (names, g_strdup (flag_names[i]));
    else if (flags & bit)
      g_ptr_array_add (names, g_strdup_printf ("%#x", bit));
  }
  g_ptr_array_add (names, NULL);
  return (GStrv) g_ptr_array_free (names, FALSE);
}

const gchar *
info_name_compute_mode (gint mode)
{
  switch (mode) {
  case CU_COMPUTEMODE_DEFAULT:
    return "default";
  case CU_COMPUTEMODE_PROHIBITED:
    return "prohibited";
  case CU_COMPUTEMODE_EXCLUSIVE_PROCESS:
    return "exclusive-process";
  default:
    return "unknown";
  }
}

gchar *
info_format_cuda_driver (const vkgdr_device_info *info)
{
  gint version = info->cuda_driver_version;

  if (version == 0)
    return NULL;
  return g_strdup_printf ("%d.%d", version / 1000, version % 1000 / 10);
}

gchar *
info_format_vulkan_api (const vkgdr_device_info *info)
{
  guint32 version = info->vulkan_api_version;

  if (version == 0)
    return NULL;
  return g_strdup_printf ("%u.%u.%u", (version >> 22) & 0x7f,
      (version >> 12) & 0x3ff, version & 0xfff);
}
