/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * json.c: helpers for json-glib
 *
 * They handle values that json-glib would write as invalid JSON. Must not
 * depend on the meaning of the data.
 */

#include "json.h"

#include <math.h>

void
json_set_text (JsonObject *object, const gchar *member, const gchar *text)
{
  gchar *valid = text ? g_utf8_make_valid (text, -1) : NULL;

  json_object_set_string_member (object, member, valid);
  g_free (valid);
}

void
json_set_number (JsonObject *object, const gchar *member, gdouble number)
{
  if (isfinite (number))
    json_object_set_double_member (object, member, number);
  else
    json_object_set_null_member (object, member);
}

gchar *
json_take_to_text (JsonObject *object)
{
  JsonNode *root = json_node_new (JSON_NODE_OBJECT);
  gchar *text, *lines;

  json_node_take_object (root, object);
  text = json_to_string (root, TRUE);
  lines = g_strconcat (text, "\n", NULL);
  g_free (text);
  json_node_unref (root);
  return lines;
}
