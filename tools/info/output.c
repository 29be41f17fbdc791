/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * output.c: the report as text for users
 *
 * A member of the report that is known is a line with its name. Knows no other
 * meaning of the members than that of a verdict. Must not judge.
 */

#include "info.h"

/* Members that are not lines of their own. */
static const gchar *const shown_elsewhere[] = { "version", "devices", "verdict",
  "device", "name", NULL };

/* Where values begin. */
#define VALUE_COLUMN 21

gchar *
info_format_bytes (guint64 bytes)
{
  static const gchar *const units[] = { "", " KiB", " MiB", " GiB", " TiB" };
  gdouble value = bytes;
  guint unit = 0;

  while (value >= 1024 && unit + 1 < G_N_ELEMENTS (units)) {
    value /= 1024;
    unit++;
  }
  return g_strdup_printf (
      "%.*f%s", value == (guint64) value ? 0 : 1, value, units[unit]);
}

/* The members of an object are NAME=VALUE. Objects in a list are lines, with
 * their numbers. */
static void
append_value (GString *text, JsonNode *node)
{
  JsonObjectIter iter;
  JsonArray *array;
  const gchar *name;
  JsonNode *value;
  gchar *size;
  guint i;

  if (JSON_NODE_HOLDS_OBJECT (node)) {
    json_object_iter_init_ordered (&iter, json_node_get_object (node));
    while (json_object_iter_next_ordered (&iter, &name, &value)) {
      g_string_append_printf (text, " %s=", name);
      append_value (text, value);
    }
  } else if (JSON_NODE_HOLDS_ARRAY (node)) {
    array = json_node_get_array (node);
    for (i = 0; i < json_array_get_length (array); i++) {
      value = json_array_get_element (array, i);
      if (JSON_NODE_HOLDS_OBJECT (value))
        g_string_append_printf (text, "\n%*s%u:", VALUE_COLUMN, "", i);
      else if (i > 0)
        g_string_append_c (text, ',');
      append_value (text, value);
    }
  } else if (json_node_get_value_type (node) == G_TYPE_BOOLEAN) {
    g_string_append (text, json_node_get_boolean (node) ? "yes" : "no");
  } else if (json_node_get_value_type (node) == G_TYPE_INT64) {
    size = info_format_bytes (json_node_get_int (node));
    g_string_append (text, size);
    g_free (size);
  } else {
    g_string_append (text, json_node_get_string (node));
  }
}

static void
put_line (GString *text, const gchar *label, JsonNode *node)
{
  GString *value = g_string_new (NULL);

  if (!JSON_NODE_HOLDS_NULL (node))
    append_value (value, node);
  if (value->len > 0)
    g_string_append_printf (
        text, "  %-*s %s\n", VALUE_COLUMN - 3, label, g_strchug (value->str));
  g_string_free (value, TRUE);
}

/* The verdict comes first. @object is the report or a device. */
static void
put_members (GString *text, JsonObject *object)
{
  JsonObjectIter iter;
  JsonObject *verdict;
  const gchar *name;
  JsonNode *node;

  if (json_object_has_member (object, "verdict")) {
    verdict = json_object_get_object_member (object, "verdict");
    put_line (text, "verdict", json_object_get_member (verdict, "text"));
    put_line (text, "remedy", json_object_get_member (verdict, "remedy"));
  }
  json_object_iter_init_ordered (&iter, object);
  while (json_object_iter_next_ordered (&iter, &name, &node))
    if (!g_strv_contains (shown_elsewhere, name))
      put_line (text, name, node);
}

gchar *
info_to_text (JsonObject *report)
{
  JsonArray *devices = json_object_get_array_member (report, "devices");
  GString *text = g_string_new ("vkgdr-info " VKGDR_VERSION "\n");
  guint i;

  put_members (text, report);
  for (i = 0; i < json_array_get_length (devices); i++) {
    JsonObject *device = json_array_get_object_element (devices, i);

    g_string_append_printf (text, "\ndevice %u: %s\n", i,
        json_object_get_string_member_with_default (device, "name", "unknown"));
    put_members (text, device);
  }
  return g_string_free (text, FALSE);
}
