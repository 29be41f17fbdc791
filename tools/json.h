/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * json.h: members of JSON objects whose values json-glib would write as invalid
 * JSON
 */

#ifndef TOOLS_JSON_H
#define TOOLS_JSON_H

#include <math.h>

#include <json-glib/json-glib.h>

/* Sets a member to a text of any encoding: bytes that are not UTF-8 are
 * replaced. NULL becomes null. */
static inline void
json_set_text (JsonObject *object, const gchar *member, const gchar *text)
{
  gchar *valid = text ? g_utf8_make_valid (text, -1) : NULL;

  json_object_set_string_member (object, member, valid);
  g_free (valid);
}

/* Sets a member to a number, or to null if it is not finite. */
static inline void
json_set_number (JsonObject *object, const gchar *member, gdouble number)
{
  if (isfinite (number))
    json_object_set_double_member (object, member, number);
  else
    json_object_set_null_member (object, member);
}

#endif /* TOOLS_JSON_H */
