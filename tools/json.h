/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * json.h: writes JSON, for all programs
 *
 * The text alone; knows nothing of what is written. A group is an object or an
 * array; members of objects have a key, those of arrays NULL instead.
 */

#ifndef TOOLS_JSON_H
#define TOOLS_JSON_H

#include <glib.h>

/**
 * Json:
 * @text: what was written so far
 * @depth: how many groups are open
 * @comma: whether something stands before the next member
 */
typedef struct {
  GString *text;
  gint depth;
  gboolean comma;
} Json;

/* Begins with an object. */
void json_init (Json *json);

/* Ends the object of json_init(). The caller frees the text. */
gchar *json_finish (Json *json);

void json_open_object (Json *json, const gchar *key);
void json_close_object (Json *json);
void json_open_array (Json *json, const gchar *key);
void json_close_array (Json *json);

/* @value may be in any encoding; what is no UTF-8 is replaced. NULL becomes
 * null. */
void json_put_string (Json *json, const gchar *key, const gchar *value);

/* A @value that is not finite becomes null. */
void json_put_number (Json *json, const gchar *key, gdouble value);

void json_put_integer (Json *json, const gchar *key, guint64 value);
void json_put_boolean (Json *json, const gchar *key, gboolean value);
void json_put_null (Json *json, const gchar *key);

#endif /* TOOLS_JSON_H */
