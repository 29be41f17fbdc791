/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * output.c: the report as text for users
 *
 * A table says which facts are shown. Must not judge.
 */

#include "info.h"

/* A fact that is shown in a line, unless it is not known. */
typedef struct {
  const gchar *member;
  const gchar *label;
  const gchar *no; /* nullable: the text if it is false or an empty list */
} Line;

static const Line machine_lines[] = {
  { "copy-isa", "CPU copies with" },
  { "vulkan-manifests", "Vulkan manifests", "none" },
  { "settings", "settings" },
  { "why-software", "no NVIDIA driver" },
};

static const Line verdict_lines[] = {
  { "text", "verdict" },
  { "remedy", "remedy" },
};

static const Line device_lines[] = {
  { "error", "why" },
  { "uuid", "UUID" },
  { "pci-address", "PCI address" },
  { "compute-capability", "compute capability" },
  { "compute-mode", "compute mode" },
  { "memory-size", "memory" },
  { "bar-size", "largest BAR" },
  { "window-size", "window" },
  { "window-free", "window, free" },
  { "window-budget", "window, budget" },
  { "window-usage", "window, in use" },
  { "coherent", "coherent", "no: writes have to be flushed" },
  { "host-cached", "host-cached",
      "no: the CPU reads it slowly, by DMA instead" },
  { "cuda-driver", "CUDA driver" },
  { "vulkan-driver", "Vulkan driver" },
  { "vulkan-api", "Vulkan API" },
  { "compiler", "kernel compiler" },
  { "compiler-error", "no kernel compiler" },
};

/* --- texts ---------------------------------------------------------------- */

static GStringChunk *kept;

const gchar *
info_keep (gchar *text)
{
  gchar *valid = text ? g_utf8_make_valid (text, -1) : NULL;
  const gchar *result;

  if (!kept)
    kept = g_string_chunk_new (4096);
  result = valid ? g_string_chunk_insert (kept, valid) : NULL;
  g_free (text);
  g_free (valid);
  return result;
}

JsonObject *
info_take_facts (GVariant *facts)
{
  JsonNode *node = json_gvariant_serialize (g_variant_ref_sink (facts));
  JsonObject *object = json_node_dup_object (node);

  json_node_unref (node);
  g_variant_unref (facts);
  return object;
}

void
info_forget (void)
{
  g_clear_pointer (&kept, g_string_chunk_free);
}

const gchar *
info_format_bytes (guint64 bytes)
{
  static const gchar *const units[] = { "bytes", "KiB", "MiB", "GiB", "TiB" };
  gdouble value = bytes;
  guint unit = 0;

  while (value >= 1024 && unit + 1 < G_N_ELEMENTS (units)) {
    value /= 1024;
    unit++;
  }
  return info_keep (g_strdup_printf (
      "%.*f %s", value == (guint64) value ? 0 : 1, value, units[unit]));
}

/* Returns: (transfer full): strings separated by spaces. */
static gchar *
join (JsonArray *array)
{
  GString *line = g_string_new (NULL);
  guint i;

  for (i = 0; i < json_array_get_length (array); i++)
    g_string_append_printf (
        line, "%s%s", i ? " " : "", json_array_get_string_element (array, i));
  return g_string_free (line, FALSE);
}

/* Returns: (transfer full): NAME=VALUE separated by spaces. */
static gchar *
join_members (JsonObject *object)
{
  GString *line = g_string_new (NULL);
  JsonObjectIter iter;
  const gchar *name;
  JsonNode *value;

  json_object_iter_init (&iter, object);
  while (json_object_iter_next (&iter, &name, &value))
    g_string_append_printf (line, "%s%s=%s", line->len ? " " : "", name,
        json_node_get_string (value));
  return g_string_free (line, FALSE);
}

/* --- lines ---------------------------------------------------------------- */

/* Returns: (nullable) (transfer none): NULL if the value is not known. */
static const gchar *
describe (JsonNode *node, const gchar *no)
{
  const gchar *text;

  if (JSON_NODE_HOLDS_NULL (node))
    return NULL;
  if (JSON_NODE_HOLDS_ARRAY (node)) {
    text = info_keep (join (json_node_get_array (node)));
    return *text ? text : no;
  }
  if (JSON_NODE_HOLDS_OBJECT (node))
    return info_keep (join_members (json_node_get_object (node)));
  if (json_node_get_value_type (node) == G_TYPE_BOOLEAN)
    return json_node_get_boolean (node) ? "yes" : no;
  if (json_node_get_value_type (node) != G_TYPE_INT64)
    return json_node_get_string (node);
  text = info_format_bytes (json_node_get_int (node));
  return json_node_get_int (node) < 1024
             ? text
             : info_keep (g_strdup_printf ("%s (%" G_GINT64_FORMAT " bytes)",
                 text, json_node_get_int (node)));
}

static void
put_line (GString *text, const gchar *label, const gchar *value)
{
  if (value && *value)
    g_string_append_printf (text, "  %-18s %s\n", label, value);
}

static void
put_lines (GString *text, JsonObject *object, const Line *lines, guint n)
{
  guint i;

  for (i = 0; i < n; i++)
    put_line (text, lines[i].label,
        describe (
            json_object_get_member (object, lines[i].member), lines[i].no));
}

static void
put_verdict (GString *text, JsonObject *object)
{
  put_lines (text, json_object_get_object_member (object, "verdict"),
      verdict_lines, G_N_ELEMENTS (verdict_lines));
}

static void
put_memory_types (GString *text, JsonObject *device)
{
  JsonArray *types = json_object_get_array_member (device, "memory-types");
  gint64 used =
      json_object_get_int_member_with_default (device, "memory-type", -1);
  guint i, n = json_array_get_length (types);

  if (n > 0)
    put_line (
        text, "memory types", used >= 0 ? "(* is in use)" : "(none fits)");
  for (i = 0; i < n; i++) {
    JsonObject *type = json_array_get_object_element (types, i);
    gchar *flags = join (json_object_get_array_member (type, "flags"));

    g_string_append_printf (text, "    %2u%s heap %d (%s): %s\n", i,
        i == used ? " *" : "  ",
        (gint) json_object_get_int_member (type, "heap"),
        info_format_bytes (json_object_get_int_member (type, "heap-size")),
        *flags ? flags : "nothing special");
    g_free (flags);
  }
}

static void
put_device (GString *text, JsonObject *device)
{
  const gchar *name =
      json_object_get_string_member_with_default (device, "name", NULL);

  g_string_append_printf (text, "\ndevice %d: %s\n",
      (gint) json_object_get_int_member (device, "device"),
      name ? name : "unknown");
  put_verdict (text, device);
  if (!json_object_get_boolean_member_with_default (device, "has-window", TRUE))
    put_line (text, "window", "none: writers get a staging buffer");
  put_lines (text, device, device_lines, G_N_ELEMENTS (device_lines));
  put_memory_types (text, device);
}

gchar *
info_to_text (JsonObject *report)
{
  JsonArray *devices = json_object_get_array_member (report, "devices");
  GString *text = g_string_new ("vkgdr-info " VKGDR_VERSION "\n");
  guint i;

  put_lines (text, report, machine_lines, G_N_ELEMENTS (machine_lines));
  if (json_array_get_length (devices) == 0) {
    put_verdict (text, report);
    put_line (
        text, "why", json_object_get_string_member (report, "driver-error"));
  }
  for (i = 0; i < json_array_get_length (devices); i++)
    put_device (text, json_array_get_object_element (devices, i));
  return g_string_free (text, FALSE);
}
