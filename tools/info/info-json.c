/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * info-json.c: the report as JSON, for programs
 *
 * Contains all data, under names that do not change. Must not judge.
 */

#include "info-json.h"

#include <string.h>

#include "info-names.h"
#include "info-verdict.h"
#include "json.h"

/* Takes ownership of @text. */
static void
take_text (JsonObject *object, const gchar *member, gchar *text)
{
  json_set_text (object, member, text);
  g_free (text);
}

/* An empty text is written as null. */
static void
set_known_text (JsonObject *object, const gchar *member, const gchar *text)
{
  json_set_text (object, member, *text ? text : NULL);
}

static void
set_known_integer (
    JsonObject *object, const gchar *member, guint64 value, gboolean known)
{
  if (known)
    json_object_set_int_member (object, member, value);
  else
    json_object_set_null_member (object, member);
}

static void
set_known_boolean (
    JsonObject *object, const gchar *member, gboolean value, gboolean known)
{
  if (known)
    json_object_set_boolean_member (object, member, value);
  else
    json_object_set_null_member (object, member);
}

static void
set_texts (JsonObject *object, const gchar *member, gchar **texts)
{
  JsonArray *array = json_array_new ();

  for (; *texts; texts++) {
    gchar *valid = g_utf8_make_valid (*texts, -1);

    json_array_add_string_element (array, valid);
    g_free (valid);
  }
  json_object_set_array_member (object, member, array);
}

static JsonObject *
make_settings (const InfoMachine *machine)
{
  JsonObject *object = json_object_new ();
  gchar **setting;

  for (setting = machine->settings; *setting; setting++) {
    gchar *name = g_strndup (*setting, strcspn (*setting, "="));

    json_set_text (object, name, info_machine_setting (machine, name));
    g_free (name);
  }
  return object;
}

static void
set_machine (JsonObject *object, const InfoReport *report)
{
  const InfoMachine *machine = &report->machine;

  json_set_text (object, "copy-isa", vkgdr_copy_isa ());
  json_set_text (object, "driver",
      report->driver_error ? NULL
      : report->software   ? "softcuda"
                           : "nvidia");
  json_set_text (object, "driver-error", report->driver_error);
  json_set_text (object, "why-software", report->why_software);
  json_object_set_boolean_member (
      object, "nvidia-kernel-driver", machine->kernel_driver);
  json_object_set_boolean_member (object, "container", machine->container);
  json_object_set_boolean_member (object, "wsl", machine->wsl);
  set_texts (object, "vulkan-manifests", machine->manifests);
  json_set_text (object, "vulkan-manifest-error", machine->manifest_error);
  json_set_text (object, "host-compiler", machine->host_compiler);
  json_object_set_object_member (object, "settings", make_settings (machine));
}

/* Takes ownership of @verdict. */
static void
take_verdict (JsonObject *object, InfoVerdict *verdict)
{
  JsonObject *member = json_object_new ();
  JsonArray *findings = json_array_new ();
  guint i;

  json_set_text (member, "level", info_level_name (verdict->level));
  json_set_text (member, "text", verdict->text);
  json_set_text (member, "remedy", verdict->remedy);
  for (i = 0; i < verdict->findings->len; i++) {
    const InfoFinding *finding = g_ptr_array_index (verdict->findings, i);
    JsonObject *element = json_object_new ();

    json_set_text (element, "id", finding->id);
    json_set_text (element, "text", finding->text);
    json_set_text (element, "remedy", finding->remedy);
    json_array_add_object_element (findings, element);
  }
  json_object_set_array_member (member, "findings", findings);
  json_object_set_object_member (object, "verdict", member);
  info_verdict_free (verdict);
}

static void
set_window (JsonObject *object, const InfoDevice *device)
{
  const vkgdr_device_info *info = &device->info;
  gboolean known = info->window_size > 0;

  set_known_boolean (
      object, "has-window", known, known || info_device_is_staged (device));
  set_known_integer (object, "window-size", info->window_size, known);
  set_known_integer (object, "window-budget", info->window_budget, known);
  set_known_integer (object, "window-usage", info->window_usage, known);
  set_known_integer (
      object, "window-free", info_device_window_free (device), known);
  set_known_boolean (object, "coherent", info->coherent, known);
  set_known_boolean (object, "host-cached", info->host_cached, known);
  set_known_integer (object, "memory-type", info->memory_type, known);
}

static JsonArray *
make_memory_types (const vkgdr_device_info *info)
{
  JsonArray *array = json_array_new ();
  guint i;

  for (i = 0; i < info->n_memory_types; i++) {
    const vkgdr_memory_type *type = &info->memory_types[i];
    GStrv flags = info_name_memory_flags (type->flags);
    JsonObject *object = json_object_new ();

    json_object_set_int_member (object, "heap", type->heap);
    json_object_set_int_member (object, "heap-size", type->heap_size);
    set_texts (object, "flags", flags);
    json_array_add_object_element (array, object);
    g_strfreev (flags);
  }
  return array;
}

static gchar *
format_capability (const InfoDevice *device)
{
  if (device->capability_major == 0 || device->info.software)
    return NULL;
  return g_strdup_printf (
      "%d.%d", device->capability_major, device->capability_minor);
}

static JsonObject *
make_device (const InfoReport *report, const InfoDevice *device)
{
  const vkgdr_device_info *info = &device->info;
  JsonObject *object = json_object_new ();

  json_object_set_int_member (object, "device", device->ordinal);
  set_known_text (object, "name", info->name);
  take_text (object, "uuid", info_format_uuid (info->uuid));
  set_known_text (object, "pci-address", info->pci_address);
  json_object_set_boolean_member (object, "software", info->software);
  take_verdict (object, info_verdict_of_device (report, device));
  json_set_text (object, "error", device->error);
  take_text (object, "compute-capability", format_capability (device));
  json_set_text (
      object, "compute-mode", info_name_compute_mode (device->compute_mode));
  set_known_integer (
      object, "memory-size", device->memory_size, device->memory_size > 0);
  set_known_integer (object, "bar-size", info->bar_size, info->bar_size > 0);
  set_window (object, device);
  json_object_set_array_member (
      object, "memory-types", make_memory_types (info));
  take_text (object, "cuda-driver", info_format_cuda_driver (info));
  set_known_text (object, "vulkan-driver", info->vulkan_driver);
  take_text (object, "vulkan-api", info_format_vulkan_api (info));
  json_set_text (object, "compiler", device->compiler);
  json_set_text (object, "compiler-error", device->compiler_error);
  return object;
}

gchar *
info_json_write (const InfoReport *report)
{
  JsonObject *object = json_object_new ();
  JsonArray *devices = json_array_new ();
  guint i;

  json_set_text (object, "version", VKGDR_VERSION);
  set_machine (object, report);
  if (report->devices->len == 0)
    take_verdict (object, info_verdict_of_nothing (report));
  for (i = 0; i < report->devices->len; i++)
    json_array_add_object_element (
        devices, make_device (report, g_ptr_array_index (report->devices, i)));
  json_object_set_array_member (object, "devices", devices);
  return json_take_to_text (object);
}
