/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * info-json.c: the report for programs
 *
 * All that is known, under names that stay the same. Must not judge.
 */

#include "info-json.h"

#include <string.h>

#include "info-names.h"
#include "info-verdict.h"
#include "json.h"

/* Takes over @value. */
static void
take_string (Json *json, const gchar *key, gchar *value)
{
  json_put_string (json, key, value);
  g_free (value);
}

static void
put_known_string (Json *json, const gchar *key, const gchar *value)
{
  json_put_string (json, key, *value ? value : NULL);
}

static void
put_known_integer (Json *json, const gchar *key, guint64 value, gboolean known)
{
  if (known)
    json_put_integer (json, key, value);
  else
    json_put_null (json, key);
}

static void
put_strings (Json *json, const gchar *key, gchar **values)
{
  json_open_array (json, key);
  for (; *values; values++)
    json_put_string (json, NULL, *values);
  json_close_array (json);
}

static void
put_settings (Json *json, const InfoMachine *machine)
{
  gchar **setting;

  json_open_object (json, "settings");
  for (setting = machine->settings; *setting; setting++) {
    gchar *name = g_strndup (*setting, strcspn (*setting, "="));

    json_put_string (json, name, info_machine_setting (machine, name));
    g_free (name);
  }
  json_close_object (json);
}

static void
put_machine (Json *json, const InfoReport *report)
{
  const InfoMachine *machine = &report->machine;

  json_put_string (json, "copy-isa", vkgdr_copy_isa ());
  json_put_string (json, "driver",
      report->driver_error ? NULL
      : report->software   ? "softcuda"
                           : "nvidia");
  json_put_string (json, "driver-error", report->driver_error);
  json_put_string (json, "why-software", report->why_software);
  json_put_boolean (json, "nvidia-kernel-driver", machine->kernel_driver);
  json_put_boolean (json, "container", machine->container);
  put_strings (json, "vulkan-manifests", machine->manifests);
  json_put_string (json, "vulkan-manifest-error", machine->manifest_error);
  json_put_string (json, "host-compiler", machine->host_compiler);
  put_settings (json, machine);
}

/* Frees it, too. */
static void
take_verdict (Json *json, InfoVerdict *verdict)
{
  guint i;

  json_open_object (json, "verdict");
  json_put_string (json, "level", info_level_name (verdict->level));
  json_put_string (json, "text", verdict->text);
  json_put_string (json, "remedy", verdict->remedy);
  json_open_array (json, "findings");
  for (i = 0; i < verdict->findings->len; i++) {
    const InfoFinding *finding = g_ptr_array_index (verdict->findings, i);

    json_open_object (json, NULL);
    json_put_string (json, "id", finding->id);
    json_put_string (json, "text", finding->text);
    json_put_string (json, "remedy", finding->remedy);
    json_close_object (json);
  }
  json_close_array (json);
  json_close_object (json);
  info_verdict_free (verdict);
}

static void
put_window (Json *json, const InfoDevice *device)
{
  const vkgdr_device_info *info = &device->info;
  gboolean known = info->window_size > 0;

  if (known || info_device_is_staged (device))
    json_put_boolean (json, "has-window", known);
  else
    json_put_null (json, "has-window");
  put_known_integer (json, "window-size", info->window_size, known);
  put_known_integer (json, "window-budget", info->window_budget, known);
  put_known_integer (json, "window-usage", info->window_usage, known);
  put_known_integer (
      json, "window-free", info_device_window_free (device), known);
  if (known) {
    json_put_boolean (json, "coherent", info->coherent);
    json_put_boolean (json, "host-cached", info->host_cached);
  } else {
    json_put_null (json, "coherent");
    json_put_null (json, "host-cached");
  }
  put_known_integer (json, "memory-type", info->memory_type, known);
}

static void
put_memory_types (Json *json, const vkgdr_device_info *info)
{
  guint i;

  json_open_array (json, "memory-types");
  for (i = 0; i < info->n_memory_types; i++) {
    const vkgdr_memory_type *type = &info->memory_types[i];
    GStrv flags = info_name_memory_flags (type->flags);

    json_open_object (json, NULL);
    json_put_integer (json, "heap", type->heap);
    json_put_integer (json, "heap-size", type->heap_size);
    put_strings (json, "flags", flags);
    json_close_object (json);
    g_strfreev (flags);
  }
  json_close_array (json);
}

static void
put_capability (Json *json, const InfoDevice *device)
{
  if (device->capability_major > 0 && !device->info.software)
    take_string (json, "compute-capability",
        g_strdup_printf (
            "%d.%d", device->capability_major, device->capability_minor));
  else
    json_put_null (json, "compute-capability");
}

static void
put_device (Json *json, const InfoReport *report, const InfoDevice *device)
{
  const vkgdr_device_info *info = &device->info;

  json_open_object (json, NULL);
  json_put_integer (json, "device", device->ordinal);
  put_known_string (json, "name", info->name);
  take_string (json, "uuid", info_format_uuid (info->uuid));
  put_known_string (json, "pci-address", info->pci_address);
  json_put_boolean (json, "software", info->software);
  take_verdict (json, info_verdict_of_device (report, device));
  json_put_string (json, "error", device->error);
  put_capability (json, device);
  json_put_string (
      json, "compute-mode", info_name_compute_mode (device->compute_mode));
  put_known_integer (
      json, "memory-size", device->memory_size, device->memory_size > 0);
  put_known_integer (json, "bar-size", info->bar_size, info->bar_size > 0);
  put_window (json, device);
  put_memory_types (json, info);
  take_string (json, "cuda-driver", info_format_cuda_driver (info));
  put_known_string (json, "vulkan-driver", info->vulkan_driver);
  take_string (json, "vulkan-api", info_format_vulkan_api (info));
  json_put_string (json, "compiler", device->compiler);
  json_put_string (json, "compiler-error", device->compiler_error);
  json_close_object (json);
}

gchar *
info_json_write (const InfoReport *report)
{
  Json json;
  guint i;

  json_init (&json);
  json_put_string (&json, "version", VKGDR_VERSION);
  put_machine (&json, report);
  if (report->devices->len == 0)
    take_verdict (&json, info_verdict_of_nothing (report));
  json_open_array (&json, "devices");
  for (i = 0; i < report->devices->len; i++)
    put_device (&json, report, g_ptr_array_index (report->devices, i));
  json_close_array (&json);
  return json_finish (&json);
}
