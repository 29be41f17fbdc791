/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * ipc/text.c: see ipc/text.h
 */

#include "ipc/text.h"

#include <string.h>

/* The maximum number of brackets that are open at a time, and of all brackets.
 * GStreamer needs about 300 bytes of stack for each open one. */
#define MAX_DEPTH 64
#define MAX_BRACKETS 10000

/* The maximum size of a name in bytes, and the maximum number of new names that
 * are accepted from other processes. GStreamer never frees a name. */
#define MAX_NAME 128
#define MAX_NAMES 1024

typedef struct {
  const gchar *start, *end;
  guint depth, n_brackets;
  gboolean is_quoted;
  gboolean has_features; /* the parentheses contain features of caps */
  gchar before; /* the last character before a name, or '\0' at the start */
  gchar type[MAX_NAME]; /* the last name in parentheses */
} Scan;

static GMutex lock;
static GHashTable *names; /* that were learnt */

/* Whether the name is known, or one of the names that may still be learnt. */
static gboolean
learn (const gchar *name)
{
  gboolean ok;

  if (g_quark_try_string (name) != 0)
    return TRUE;
  g_mutex_lock (&lock);
  if (!names)
    names = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  ok = g_hash_table_contains (names, name)
       || g_hash_table_size (names) < MAX_NAMES;
  if (ok)
    g_hash_table_add (names, g_strdup (name));
  g_mutex_unlock (&lock);
  return ok;
}

static gboolean
is_name (gchar c)
{
  return g_ascii_isalnum (c) || (c && strchr ("_-+/.:", c));
}

/* Skips spaces and the backslashes before characters of nested texts. */
static const gchar *
skip (const gchar *text, const gchar *end)
{
  while (text < end && (g_ascii_isspace (*text) || *text == '\\'))
    text++;
  return text;
}

/* Whether a name is that of a field, a structure or a feature, and not that of
 * a type or a value. */
static gboolean
is_kept (const Scan *scan, const gchar *end)
{
  const gchar *next = skip (end, scan->end);

  if (scan->has_features || (next < scan->end && *next == '='))
    return TRUE;
  if (scan->before == '"')
    return scan->type[0] != '\0' && strcmp (scan->type, "string") != 0;
  return scan->before == '\0' || strchr (";[", scan->before) != NULL;
}

/* Returns FALSE for a GstSample: its caps are in Base64, so they cannot be
 * checked. A GstTagList has a parser of its own. */
static gboolean
set_type (Scan *scan, const gchar *type)
{
  g_strlcpy (scan->type, type, sizeof (scan->type));
  return !strcasestr (type, "sample") && !strcasestr (type, "taglist");
}

/* Reads the name at @text. Returns its end, or NULL if it is refused. */
static const gchar *
read_name (Scan *scan, const gchar *text)
{
  const gchar *end = text;
  gchar name[MAX_NAME];
  gchar before = scan->before;

  while (end < scan->end && is_name (*end))
    end++;
  if (!g_ascii_isalpha (*text) || (before != '(' && !is_kept (scan, end))) {
    scan->before = 'a';
    return end;
  }
  if (end - text >= MAX_NAME)
    return NULL;
  /* Not g_strlcpy (), which looks for the end of the text. */
  memcpy (name, text, end - text);
  name[end - text] = '\0';
  scan->before = 'a';
  if (before == '(' && !scan->has_features)
    return set_type (scan, name) ? end : NULL;
  return learn (name) ? end : NULL;
}

static gboolean
is_octal (const gchar *text)
{
  return text[0] >= '0' && text[0] <= '3' && text[1] >= '0' && text[1] <= '7'
         && text[2] >= '0' && text[2] <= '7';
}

/* Reads backslashes and the escaped character. GStreamer escapes a byte as a
 * number only if it is not printable ASCII. */
static const gchar *
read_escape (Scan *scan, const gchar *text)
{
  const gchar *next = text;
  gint value;

  while (next < scan->end && *next == '\\')
    next++;
  if (scan->end - next >= 3 && is_octal (next)) {
    value = (next[0] - '0') * 64 + (next[1] - '0') * 8 + next[2] - '0';
    if (value >= ' ' && value < 127)
      return NULL;
  }
  /* An odd number escapes the quotation mark; brackets are counted anyway. */
  if (next < scan->end && *next == '"' && (next - text) % 2 != 0) {
    scan->before = '"';
    next++;
  }
  return next;
}

/* A bracket in quotation marks may belong to a nested text, or be an ordinary
 * character. So an opening one counts, but a closing one does not. */
static gboolean
read_bracket (Scan *scan, gchar c)
{
  if (strchr ("[{<", c)) {
    scan->n_brackets++;
    return ++scan->depth <= MAX_DEPTH && scan->n_brackets <= MAX_BRACKETS;
  }
  if (strchr ("]}>", c) && !scan->is_quoted && scan->depth > 0)
    scan->depth--;
  return TRUE;
}

/* Whether the name of a structure begins here: that of the text, or of a nested
 * one. */
static gboolean
is_start_of_structure (const Scan *scan, gchar c)
{
  gboolean is_nested =
      strcasestr (scan->type, "structure") || strcasestr (scan->type, "caps");

  if (g_ascii_isspace (c) || c == '\\')
    return FALSE;
  if (scan->before == ';')
    return !strchr (";]}>)", c) && !(c == '"' && scan->is_quoted);
  return scan->before == '\0'
         || (is_nested
             && (scan->before == '[' || scan->before == '"'
                 || scan->before == ')'));
}

/* GStreamer logs a critical error if a name does not begin with a letter. A
 * nested structure is in brackets or in quotation marks. */
static gboolean
may_be_here (const Scan *scan, gchar c)
{
  if (!is_start_of_structure (scan, c) || g_ascii_isalpha (c))
    return TRUE;
  return scan->before == ')' ? c == '[' || c == '"' || c == '{' || c == '<'
                             : scan->before == '"' && c == '"';
}

static gboolean
scan_all (Scan *scan)
{
  const gchar *text = scan->start;

  while (text && text < scan->end) {
    if (!may_be_here (scan, *text))
      return FALSE;
    if (is_name (*text)) {
      text = read_name (scan, text);
    } else if (*text == '\\') {
      text = read_escape (scan, text);
    } else {
      if (!read_bracket (scan, *text))
        return FALSE;
      if (*text == '"')
        scan->is_quoted = !scan->is_quoted;
      if (*text == ',' || *text == ';')
        scan->type[0] = '\0';
      if (*text == '(' || *text == ')')
        scan->has_features = *text == '(' && scan->before == 'a';
      if (!g_ascii_isspace (*text))
        scan->before = *text;
      text++;
    }
  }
  return text != NULL;
}

gboolean
gst_vkgdr_ipc_text_is_safe (const gchar *text, gsize size)
{
  Scan scan = { .start = text, .end = text + size };

  return g_utf8_validate_len (text, size, NULL) && scan_all (&scan);
}
