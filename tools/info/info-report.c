/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * info-report.c: the data that vkgdr-info has collected
 *
 * Frees the data, searches in them, and formats single values. Must not call a
 * driver.
 */

#include "info-report.h"

#include <string.h>

const gchar *
info_machine_setting (const InfoMachine *machine, const gchar *name)
{
  return g_environ_getenv (machine->settings, name);
}

gboolean
info_machine_has_manifest (const InfoMachine *machine, const gchar *word)
{
  gchar **path;

  for (path = machine->manifests; path && *path; path++) {
    const gchar *slash = strrchr (*path, '/');

    if (strstr (slash ? slash : *path, word))
      return TRUE;
  }
  return FALSE;
}

void
info_machine_clear (InfoMachine *machine)
{
  g_clear_pointer (&machine->settings, g_strfreev);
  g_clear_pointer (&machine->manifests, g_strfreev);
  g_clear_pointer (&machine->manifest_error, g_free);
  g_clear_pointer (&machine->host_compiler, g_free);
}

void
info_device_free (InfoDevice *device)
{
  g_free (device->error);
  g_free (device->compiler);
  g_free (device->compiler_error);
  g_free (device);
}

void
info_report_clear (InfoReport *report)
{
  info_machine_clear (&report->machine);
  g_clear_pointer (&report->why_software, g_free);
  g_clear_pointer (&report->driver_error, g_free);
  g_clear_pointer (&report->devices, g_ptr_array_unref);
}

gboolean
info_device_is_staged (const InfoDevice *device)
{
  switch (device->obstacle) {
  case VKGDR_OBSTACLE_VULKAN_LOADER:
  case VKGDR_OBSTACLE_VULKAN_DRIVER:
  case VKGDR_OBSTACLE_VULKAN_DEVICE:
  case VKGDR_OBSTACLE_WINDOW:
  case VKGDR_OBSTACLE_EXPORT:
    return TRUE;
  default:
    return FALSE;
  }
}

/* If other processes use much memory, the budget of this process can be less
 * than it already uses. */
guint64
info_device_window_free (const InfoDevice *device)
{
  const vkgdr_device_info *info = &device->info;

  if (info->window_usage >= info->window_budget)
    return 0;
  return info->window_budget - info->window_usage;
}

gchar *
info_format_uuid (const guint8 uuid[16])
{
  static const guint8 unknown[16];
  GString *text;
  guint i;

  if (memcmp (uuid, unknown, sizeof (unknown)) == 0)
    return NULL;
  text = g_string_new (NULL);
  for (i = 0; i < sizeof (unknown); i++)
    g_string_append_printf (text, "%s%02x",
        i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", uuid[i]);
  return g_string_free (text, FALSE);
}

gchar *
info_format_bytes (guint64 bytes)
{
  static const gchar *const units[] = { "bytes", "KiB", "MiB", "GiB", "TiB" };
  gdouble value = bytes;
  guint unit = 0;

  while (value >= 1024 && unit + 1 < G_N_ELEMENTS (units)) {
    value /= 1024;
    unit++;
  }
  return g_strdup_printf (
      "%.*f %s", value == (guint64) value ? 0 : 1, value, units[unit]);
}
