/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * output.c: the report as text for users, and as JSON for programs
 *
 * Each fact is written to both. The members of JSON do not change. Must not
 * judge.
 */

#include <string.h>

#include "cuda-driver.h"
#include "info.h"
#include "json.h"

/* Bits of VkMemoryPropertyFlags, the lowest first. */
static const gchar *const flag_names[] = { "device-local", "host-visible",
  "host-coherent", "host-cached", "lazily-allocated", "protected",
  "device-coherent", "device-uncached", "rdma-capable" };

typedef struct {
  GString *text;
  JsonObject *object; /* of the machine or of a device */
} Output;

/* --- single facts --------------------------------------------------------- */

static void
put_line (Output *out, const gchar *label, const gchar *value)
{
  if (value && *value)
    g_string_append_printf (out->text, "  %-18s %s\n", label, value);
}

/* An empty text is not known. @label is NULL if the fact is only in JSON. */
static void
put_text (
    Output *out, const gchar *member, const gchar *label, const gchar *value)
{
  json_set_text (out->object, member, value && *value ? value : NULL);
  if (label)
    put_line (out, label, value);
}

/* Takes ownership of @value. */
static void
take_text (Output *out, const gchar *member, const gchar *label, gchar *value)
{
  put_text (out, member, label, value);
  g_free (value);
}

static void
put_number (Output *out, const gchar *member, guint64 value, gboolean known)
{
  if (known)
    json_object_set_int_member (out->object, member, value);
  else
    json_object_set_null_member (out->object, member);
}

static void
put_bytes (Output *out, const gchar *member, const gchar *label, guint64 bytes,
    gboolean known)
{
  gchar *size = info_format_bytes (bytes);
  gchar *all =
      g_strdup_printf ("%s (%" G_GUINT64_FORMAT " bytes)", size, bytes);

  put_number (out, member, bytes, known);
  if (known)
    put_line (out, label, bytes < 1024 ? size : all);
  g_free (all);
  g_free (size);
}

/* @no is the text for FALSE. */
static void
put_boolean (Output *out, const gchar *member, const gchar *label,
    const gchar *no, gboolean value, gboolean known)
{
  if (!known) {
    json_object_set_null_member (out->object, member);
    return;
  }
  json_object_set_boolean_member (out->object, member, value);
  if (label)
    put_line (out, label, value ? "yes" : no);
}

/* @label is NULL if the list is only in JSON. */
static void
put_list (Output *out, const gchar *member, const gchar *label, gchar **texts)
{
  gchar *line = g_strjoinv (" ", texts);
  JsonArray *array = json_array_new ();

  if (label)
    put_line (out, label, *line ? line : "none");
  for (; *texts; texts++) {
    gchar *valid = g_utf8_make_valid (*texts, -1);

    json_array_add_string_element (array, valid);
    g_free (valid);
  }
  json_object_set_array_member (out->object, member, array);
  g_free (line);
}

/* --- a device ------------------------------------------------------------- */

static void
put_verdict (Output *out, const InfoReport *report, const InfoDevice *device)
{
  static const gchar *const levels[] = { "ready", "limited", "unusable" };
  InfoVerdict *verdict = info_verdict_new (report, device);
  Output part = { out->text, json_object_new () };
  JsonArray *findings = json_array_new ();
  guint i;

  put_text (&part, "level", NULL, levels[verdict->level]);
  put_text (&part, "text", "verdict", verdict->text);
  put_text (&part, "remedy", "remedy", verdict->remedy);
  for (i = 0; i < verdict->findings->len; i++) {
    const InfoFinding *finding = g_ptr_array_index (verdict->findings, i);
    Output element = { out->text, json_object_new () };

    put_text (&element, "id", NULL, finding->id);
    put_text (&element, "text", NULL, finding->text);
    put_text (&element, "remedy", NULL, finding->remedy);
    json_array_add_object_element (findings, element.object);
  }
  json_object_set_array_member (part.object, "findings", findings);
  json_object_set_object_member (out->object, "verdict", part.object);
  info_verdict_free (verdict);
}

/* Returns: (nullable): NULL if the UUID is not known. */
static gchar *
format_uuid (const guint8 uuid[16])
{
  static const guint8 unknown[16];
  GString *text = g_string_new (NULL);
  guint i;

  for (i = 0; i < sizeof (unknown); i++)
    g_string_append_printf (text, "%s%02x",
        i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", uuid[i]);
  return g_string_free (text, memcmp (uuid, unknown, sizeof (unknown)) == 0);
}

static const gchar *
name_compute_mode (gint mode)
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

static void
put_window (Output *out, const InfoDevice *device)
{
  const vkgdr_device_info *info = &device->info;
  gboolean known = info->window_size > 0,
           staged = info_device_is_staged (device);

  if (staged)
    put_line (out, "window", "none: writers get a staging buffer");
  put_boolean (out, "has-window", NULL, NULL, known, known || staged);
  put_bytes (out, "window-size", "window", info->window_size, known);
  put_bytes (out, "window-free", "window, free",
      info_device_window_free (device), known);
  put_bytes (
      out, "window-budget", "window, budget", info->window_budget, known);
  put_bytes (out, "window-usage", "window, in use", info->window_usage, known);
  put_boolean (out, "coherent", "coherent", "no: writes have to be flushed",
      info->coherent, known);
  put_boolean (out, "host-cached", "host-cached",
      "no: the CPU reads it slowly, by DMA instead", info->host_cached, known);
  put_number (out, "memory-type", info->memory_type, known);
}

/* Returns one name for each bit that is set, or a number for an unknown bit. */
static GStrv
name_flags (guint32 flags)
{
  GPtrArray *names = g_ptr_array_new ();
  guint i;

  for (i = 0; i < 32; i++)
    if (flags >> i & 1)
      g_ptr_array_add (names, i < G_N_ELEMENTS (flag_names)
                                  ? g_strdup (flag_names[i])
                                  : g_strdup_printf ("%#x", (guint32) 1 << i));
  g_ptr_array_add (names, NULL);
  return (GStrv) g_ptr_array_free (names, FALSE);
}

static void
put_memory_types (Output *out, const vkgdr_device_info *info)
{
  JsonArray *array = json_array_new ();
  guint i;

  if (info->n_memory_types > 0)
    put_line (out, "memory types",
        info->window_size ? "(* is in use)" : "(none fits)");
  for (i = 0; i < info->n_memory_types; i++) {
    const vkgdr_memory_type *type = &info->memory_types[i];
    Output part = { out->text, json_object_new () };
    gchar *size = info_format_bytes (type->heap_size);
    GStrv flags = name_flags (type->flags);
    gchar *names = g_strjoinv (" ", flags);

    put_number (&part, "heap", type->heap, TRUE);
    put_number (&part, "heap-size", type->heap_size, TRUE);
    put_list (&part, "flags", NULL, flags);
    json_array_add_object_element (array, part.object);
    g_string_append_printf (out->text, "    %2u%s heap %u (%s): %s\n", i,
        info->window_size > 0 && i == info->memory_type ? " *" : "  ",
        type->heap, size, *names ? names : "nothing special");
    g_free (names);
    g_strfreev (flags);
    g_free (size);
  }
  json_object_set_array_member (out->object, "memory-types", array);
}

static void
put_drivers (Output *out, const InfoDevice *device)
{
  const vkgdr_device_info *info = &device->info;
  gint cuda = info->cuda_driver_version;
  guint32 vulkan = info->vulkan_api_version;
  gchar *api = g_strdup_printf ("%u.%u.%u", (vulkan >> 22) & 0x7f,
      (vulkan >> 12) & 0x3ff, vulkan & 0xfff);
  gchar *all = g_strdup_printf ("%s, API %s", info->vulkan_driver, api);

  take_text (out, "cuda-driver", "CUDA driver",
      cuda ? g_strdup_printf ("%d.%d", cuda / 1000, cuda % 1000 / 10) : NULL);
  put_text (out, "vulkan-driver", NULL, info->vulkan_driver);
  put_text (out, "vulkan-api", NULL, vulkan ? api : NULL);
  put_line (out, "Vulkan driver", *info->vulkan_driver ? all : NULL);
  g_free (all);
  g_free (api);
  all = g_strconcat ("none: ", device->compiler_error, NULL);
  put_text (out, "compiler", "kernel compiler", device->compiler);
  put_text (out, "compiler-error", NULL, device->compiler_error);
  put_line (out, "kernel compiler", device->compiler_error ? all : NULL);
  g_free (all);
}

static void
put_device (Output *out, const InfoReport *report, const InfoDevice *device)
{
  const vkgdr_device_info *info = &device->info;
  gboolean capable = device->capability_major > 0 && !info->software;

  g_string_append_printf (out->text, "\ndevice %d: %s\n", device->ordinal,
      info->name[0] ? info->name : "unknown");
  put_number (out, "device", device->ordinal, TRUE);
  put_text (out, "name", NULL, info->name);
  put_boolean (out, "software", NULL, NULL, info->software, TRUE);
  put_verdict (out, report, device);
  put_text (out, "error", "why", device->error);
  take_text (out, "uuid", "UUID", format_uuid (info->uuid));
  put_text (out, "pci-address", "PCI address", info->pci_address);
  take_text (out, "compute-capability", "compute capability",
      capable ? g_strdup_printf (
          "%d.%d", device->capability_major, device->capability_minor)
              : NULL);
  put_text (out, "compute-mode", "compute mode",
      name_compute_mode (device->compute_mode));
  put_bytes (out, "memory-size", "memory", device->memory_size,
      device->memory_size > 0);
  put_bytes (
      out, "bar-size", "largest BAR", info->bar_size, info->bar_size > 0);
  put_window (out, device);
  put_drivers (out, device);
  put_memory_types (out, info);
}

/* --- the report ----------------------------------------------------------- */

static void
put_settings (Output *out, gchar **settings)
{
  JsonObject *object = json_object_new ();
  gchar *line = g_strjoinv (" ", settings);
  gchar **setting;

  for (setting = settings; *setting; setting++) {
    gchar *name = g_strndup (*setting, strcspn (*setting, "="));

    json_set_text (object, name, *setting + strlen (name) + 1);
    g_free (name);
  }
  json_object_set_object_member (out->object, "settings", object);
  put_line (out, "settings", line);
  g_free (line);
}

static void
put_machine (Output *out, const InfoReport *report)
{
  const InfoMachine *machine = &report->machine;
  const gchar *driver = report->software ? "softcuda" : "nvidia";

  g_string_append (out->text, "vkgdr-info " VKGDR_VERSION "\n");
  put_text (out, "version", NULL, VKGDR_VERSION);
  put_text (out, "copy-isa", "CPU copies with", vkgdr_copy_isa ());
  put_text (out, "driver", NULL, report->driver_error ? NULL : driver);
  put_text (out, "driver-error", NULL, report->driver_error);
  put_list (out, "vulkan-manifests", "Vulkan manifests", machine->manifests);
  put_text (out, "vulkan-manifest-error", NULL, machine->manifest_error);
  put_text (out, "host-compiler", NULL, machine->host_compiler);
  put_settings (out, machine->settings);
  put_text (out, "why-software", "no NVIDIA driver", report->why_software);
  put_boolean (
      out, "nvidia-kernel-driver", NULL, NULL, machine->kernel_driver, TRUE);
  put_boolean (out, "container", NULL, NULL, machine->container, TRUE);
  put_boolean (out, "wsl", NULL, NULL, machine->wsl, TRUE);
}

gchar *
info_write (const InfoReport *report, gboolean json)
{
  Output out = { g_string_new (NULL), json_object_new () };
  JsonArray *devices = json_array_new ();
  gchar *text;
  guint i;

  put_machine (&out, report);
  if (report->devices->len == 0) {
    put_verdict (&out, report, NULL);
    put_line (&out, "why", report->driver_error);
  }
  for (i = 0; i < report->devices->len; i++) {
    Output device = { out.text, json_object_new () };

    put_device (&device, report, g_ptr_array_index (report->devices, i));
    json_array_add_object_element (devices, device.object);
  }
  json_object_set_array_member (out.object, "devices", devices);
  text = json_take_to_text (out.object);
  if (json) {
    g_string_free (out.text, TRUE);
    return text;
  }
  g_free (text);
  return g_string_free (out.text, FALSE);
}
