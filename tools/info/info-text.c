/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * info-text.c: the report as text, for users
 *
 * There is one line for each known fact. Must not judge.
 */

#include "info-text.h"

#include <stdio.h>
#include <string.h>

#include "info-names.h"
#include "info-verdict.h"

static void
put (const gchar *what, const gchar *value)
{
  if (value && *value)
    printf ("  %-18s %s\n", what, value);
}

/* Takes ownership of @value. */
static void
take (const gchar *what, gchar *value)
{
  put (what, value);
  g_free (value);
}

static void
put_bytes (const gchar *what, guint64 bytes)
{
  gchar *text = info_format_bytes (bytes);

  if (bytes < 1024)
    put (what, text);
  else
    take (what,
        g_strdup_printf ("%s (%" G_GUINT64_FORMAT " bytes)", text, bytes));
  g_free (text);
}

static void
put_verdict (InfoVerdict *verdict, const gchar *error)
{
  put ("verdict", verdict->text);
  put ("remedy", verdict->remedy);
  put ("why", error);
  info_verdict_free (verdict);
}

static void
put_memory_type (const vkgdr_device_info *info, guint index)
{
  const vkgdr_memory_type *type = &info->memory_types[index];
  GStrv flags = info_name_memory_flags (type->flags);
  gchar *names = g_strjoinv (" ", flags);
  gchar *size = info_format_bytes (type->heap_size);

  printf ("    %2u%s heap %u (%s): %s\n", index,
      info->window_size > 0 && index == info->memory_type ? " *" : "  ",
      type->heap, size, *names ? names : "nothing special");
  g_free (size);
  g_free (names);
  g_strfreev (flags);
}

static void
put_memory_types (const vkgdr_device_info *info)
{
  guint i;

  if (info->n_memory_types == 0)
    return;
  put ("memory types", info->window_size > 0 ? "(* is in use)" : "(none fits)");
  for (i = 0; i < info->n_memory_types; i++)
    put_memory_type (info, i);
}

static void
put_window (const InfoDevice *device)
{
  const vkgdr_device_info *info = &device->info;

  if (info_device_is_staged (device))
    put ("window", "none: writers get a staging buffer");
  if (info->window_size == 0)
    return;
  put_bytes ("window", info->window_size);
  put_bytes ("window, free", info_device_window_free (device));
  put_bytes ("window, budget", info->window_budget);
  put_bytes ("window, in use", info->window_usage);
  put ("coherent", info->coherent ? "yes" : "no: writes have to be flushed");
  put ("host-cached", info->host_cached
                          ? "yes"
                          : "no: the CPU reads it slowly, by DMA instead");
}

static void
put_drivers (const InfoDevice *device)
{
  const vkgdr_device_info *info = &device->info;
  gchar *api = info_format_vulkan_api (info);

  take ("CUDA driver", info_format_cuda_driver (info));
  if (info->vulkan_driver[0])
    take ("Vulkan driver",
        g_strdup_printf ("%s, API %s", info->vulkan_driver, api));
  put ("kernel compiler", device->compiler);
  if (device->compiler_error)
    take ("kernel compiler",
        g_strdup_printf ("none: %s", device->compiler_error));
  g_free (api);
}

static void
put_device (const InfoReport *report, const InfoDevice *device)
{
  const vkgdr_device_info *info = &device->info;

  printf ("\ndevice %d: %s\n", device->ordinal,
      info->name[0] ? info->name : "unknown");
  put_verdict (info_verdict_of_device (report, device), device->error);
  take ("UUID", info_format_uuid (info->uuid));
  put ("PCI address", info->pci_address);
  if (device->capability_major > 0 && !info->software)
    take ("compute capability",
        g_strdup_printf (
            "%d.%d", device->capability_major, device->capability_minor));
  put ("compute mode", info_name_compute_mode (device->compute_mode));
  if (device->memory_size > 0)
    put_bytes ("memory", device->memory_size);
  if (info->bar_size > 0)
    put_bytes ("largest BAR", info->bar_size);
  put_window (device);
  put_drivers (device);
  put_memory_types (info);
}

static void
put_machine (const InfoReport *report)
{
  gchar *settings = g_strjoinv (" ", report->machine.settings);
  gchar *manifests = g_strjoinv (" ", report->machine.manifests);

  puts ("vkgdr-info " VKGDR_VERSION);
  put ("CPU copies with", vkgdr_copy_isa ());
  put ("Vulkan manifests", *manifests ? manifests : "none");
  put ("settings", settings);
  put ("no NVIDIA driver", report->why_software);
  g_free (manifests);
  g_free (settings);
}

void
info_text_print (const InfoReport *report)
{
  guint i;

  put_machine (report);
  if (report->devices->len == 0)
    put_verdict (info_verdict_of_nothing (report), report->driver_error);
  for (i = 0; i < report->devices->len; i++)
    put_device (report, g_ptr_array_index (report->devices, i));
}
