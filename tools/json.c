/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * json.c: writes JSON, for all programs
 *
 * Escapes, indents and puts commas. Must not know what is written.
 */

#include "json.h"

#include <math.h>

static void
write_text (Json *json, const gchar *text)
{
  const guchar *p;

  g_string_append_c (json->text, '"');
  for (p = (const guchar *) text; *p; p++) {
    if (*p == '"' || *p == '\\')
      g_string_append_printf (json->text, "\\%c", *p);
    else if (*p < 0x20)
      g_string_append_printf (json->text, "\\u%04x", *p);
    else
      g_string_append_c (json->text, *p);
  }
  g_string_append_c (json->text, '"');
}

/* Begins a member. */
static void
begin (Json *json, const gchar *key)
{
  if (json->comma)
    g_string_append_c (json->text, ',');
  if (json->text->len > 0)
    g_string_append_printf (json->text, "\n%*s", json->depth * 2, "");
  if (key) {
    write_text (json, key);
    g_string_append (json->text, ": ");
  }
  json->comma = TRUE;
}

static void
open_group (Json *json, const gchar *key, gchar bracket)
{
  begin (json, key);
  g_string_append_c (json->text, bracket);
  json->depth++;
  json->comma = FALSE;
}

static void
close_group (Json *json, gchar bracket)
{
  json->depth--;
  if (json->comma)
    g_string_append_printf (json->text, "\n%*s", json->depth * 2, "");
  g_string_append_c (json->text, bracket);
  json->comma = TRUE;
}

void
json_init (Json *json)
{
  json->text = g_string_new (NULL);
  json->depth = 0;
  json->comma = FALSE;
  json_open_object (json, NULL);
}

gchar *
json_finish (Json *json)
{
  json_close_object (json);
  g_string_append_c (json->text, '\n');
  return g_string_free (json->text, FALSE);
}

void
json_open_object (Json *json, const gchar *key)
{
  open_group (json, key, '{');
}

void
json_close_object (Json *json)
{
  close_group (json, '}');
}

void
json_open_array (Json *json, const gchar *key)
{
  open_group (json, key, '[');
}

void
json_close_array (Json *json)
{
  close_group (json, ']');
}

void
json_put_string (Json *json, const gchar *key, const gchar *value)
{
  gchar *valid;

  if (!value) {
    json_put_null (json, key);
    return;
  }
  valid = g_utf8_make_valid (value, -1);
  begin (json, key);
  write_text (json, valid);
  g_free (valid);
}

void
json_put_number (Json *json, const gchar *key, gdouble value)
{
  gchar text[G_ASCII_DTOSTR_BUF_SIZE];

  begin (json, key);
  g_string_append (json->text,
      isfinite (value) ? g_ascii_formatd (text, sizeof (text), "%.9g", value)
                       : "null");
}

void
json_put_integer (Json *json, const gchar *key, guint64 value)
{
  begin (json, key);
  g_string_append_printf (json->text, "%" G_GUINT64_FORMAT, value);
}

void
json_put_boolean (Json *json, const gchar *key, gboolean value)
{
  begin (json, key);
  g_string_append (json->text, value ? "true" : "false");
}

void
json_put_null (Json *json, const gchar *key)
{
  begin (json, key);
  g_string_append (json->text, "null");
}
