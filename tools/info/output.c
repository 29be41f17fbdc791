/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * output.c: the report as text for users
 *
 * A member of the report that is known is a line with its name. Must not judge.
 */

#include "info.h"

/* Members that are not lines of their own. */
static const gchar *const shown_elsewhere[] = { "version", "devices", "verdict",
  "device", "name", "memory-types", "memory-type", NULL };

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

static void
put_line (GString *text, const gchar *label, const gchar *value)
{
  if (value && *value)
    g_string_append_printf (text, "  %-18s %s\n", label, value);
}

static void
put_size (GString *text, const gchar *label, guint64 size)
{
  gchar *short_form = info_format_bytes (size);

  g_string_append_printf (text, "  %-18s %s", label, short_form);
  if (size >= 1024)
    g_string_append_printf (text, " (%" G_GUINT64_FORMAT " bytes)", size);
  g_string_append (text, "\n");
  g_free (short_form);
}

static void
put_settings (GString *text, JsonObject *settings)
{
  JsonObjectIter iter;
  const gchar *name;
  JsonNode *value;

  if (json_object_get_size (settings) == 0)
    return;
  g_string_append_printf (text, "  %-18s", "settings");
  json_object_iter_init_ordered (&iter, settings);
  while (json_object_iter_next_ordered (&iter, &name, &value))
    g_string_append_printf (text, " %s=%s", name, json_node_get_string (value));
  g_string_append (text, "\n");
}

static void
put_members (GString *text, JsonObject *object)
{
  JsonObjectIter iter;
  const gchar *name;
  JsonNode *node;

  json_object_iter_init_ordered (&iter, object);
  while (json_object_iter_next_ordered (&iter, &name, &node))
    if (JSON_NODE_HOLDS_NULL (node) || g_strv_contains (shown_elsewhere, name))
      continue;
    else if (JSON_NODE_HOLDS_OBJECT (node))
      put_settings (text, json_node_get_object (node));
    else if (json_node_get_value_type (node) == G_TYPE_BOOLEAN)
      put_line (text, name, json_node_get_boolean (node) ? "yes" : "no");
    else if (json_node_get_value_type (node) == G_TYPE_INT64)
      put_size (text, name, json_node_get_int (node));
    else
      put_line (text, name, json_node_get_string (node));
}

static void
put_verdict (GString *text, JsonObject *object)
{
  JsonObject *verdict = json_object_get_object_member (object, "verdict");

  put_line (text, "verdict", json_object_get_string_member (verdict, "text"));
  put_line (text, "remedy",
      json_object_get_string_member_with_default (verdict, "remedy", NULL));
}

static void
put_memory_types (GString *text, JsonObject *device)
{
  JsonArray *types = json_object_get_array_member (device, "memory-types");
  gint64 used =
      json_object_get_int_member_with_default (device, "memory-type", -1);
  guint i, k, n = json_array_get_length (types);

  if (n > 0)
    put_line (
        text, "memory types", used >= 0 ? "(* is in use)" : "(none fits)");
  for (i = 0; i < n; i++) {
    JsonObject *type = json_array_get_object_element (types, i);
    JsonArray *flags = json_object_get_array_member (type, "flags");
    gchar *size =
        info_format_bytes (json_object_get_int_member (type, "heap-size"));

    g_string_append_printf (text, "    %2u%s heap %d (%s):", i,
        i == used ? " *" : "  ",
        (gint) json_object_get_int_member (type, "heap"), size);
    for (k = 0; k < json_array_get_length (flags); k++)
      g_string_append_printf (
          text, " %s", json_array_get_string_element (flags, k));
    g_string_append (text, k ? "\n" : " nothing special\n");
    g_free (size);
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
  put_members (text, device);
  put_memory_types (text, device);
}

gchar *
info_to_text (JsonObject *report)
{
  JsonArray *devices = json_object_get_array_member (report, "devices");
  GString *text = g_string_new ("vkgdr-info " VKGDR_VERSION "\n");
  guint i;

  put_members (text, report);
  if (json_array_get_length (devices) == 0)
    put_verdict (text, report);
  for (i = 0; i < json_array_get_length (devices); i++)
    put_device (text, json_array_get_object_element (devices, i));
  return g_string_free (text, FALSE);
}
