/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * json.h: helpers for json-glib
 */

#ifndef TOOLS_JSON_H
#define TOOLS_JSON_H

#include <json-glib/json-glib.h>

/* Sets a member to a text of any encoding: bytes that are not UTF-8 are
 * replaced. NULL becomes null. */
void json_set_text (JsonObject *object, const gchar *member, const gchar *text);

/* Sets a member to a number. A number that is not finite, which JSON cannot
 * express, becomes null. */
void json_set_number (JsonObject *object, const gchar *member, gdouble number);

/* Takes ownership of @object. Returns: (transfer full): its text, indented and
 * with a newline at the end. */
gchar *json_take_to_text (JsonObject *object);

#endif /* TOOLS_JSON_H */
