/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * kernel/source.c: a CUDA source, and the text that a compiler is given for it
 *
 * Puts vkgdr/kernel.h in front and decides on linkage. Looks at text alone;
 * knows no compiler.
 */

#include <string.h>

#include "kernel/source.h"

/* The source without its comments, and without what stands in its strings,
 * except for the C of extern "C": what is left is looked at, never compiled. */
static gchar *
source_strip (const gchar *source)
{
  GString *out = g_string_sized_new (strlen (source));
  const gchar *p = source, *end;

  while (*p) {
    if (p[0] == '/' && p[1] == '/') {
      p += strcspn (p, "\n");
    } else if (p[0] == '/' && p[1] == '*') {
      end = strstr (p + 2, "*/");
      g_string_append_c (out, ' ');
      p = end ? end + 2 : p + strlen (p);
    } else if (g_str_has_prefix (p, "\"C\"")) {
      g_string_append (out, "\"C\"");
      p += 3;
    } else if (*p == '"' || *p == '\'') {
      gchar quote = *p++;

      while (*p && *p != quote && *p != '\n')
        p += p[0] == '\\' && p[1] ? 2 : 1;
      if (*p)
        p++;
      g_string_append (out, quote == '"' ? "\"\"" : "''");
    } else {
      g_string_append_c (out, *p++);
    }
  }
  return g_string_free (out, FALSE);
}

static gboolean
source_find (const gchar *text, const gchar *pattern)
{
  return g_regex_match_simple (pattern, text, G_REGEX_MULTILINE, 0);
}

static gboolean
source_has_includes (const gchar *stripped)
{
  return source_find (stripped, "^\\s*#\\s*include\\b");
}

/* Neither templates nor headers bear extern "C" around them. */
static gboolean
source_wants_extern_c (const gchar *stripped)
{
  return !source_has_includes (stripped)
         && !source_find (stripped, "\\btemplate\\b")
         && !source_find (stripped, "\\bextern\\s*\"C\"")
         && !source_find (
             stripped, "^\\s*#\\s*pragma\\s+vkgdr\\s+no-extern-c\\b");
}

gboolean
gst_vkgdr_source_has_includes (const gchar *source)
{
  gchar *stripped = source_strip (source);
  gboolean found = source_has_includes (stripped);

  g_free (stripped);
  return found;
}

gboolean
gst_vkgdr_source_says_in_place (const gchar *source)
{
  gchar *stripped = source_strip (source);
  gboolean found =
      source_find (stripped, "^\\s*#\\s*pragma\\s+vkgdr\\s+in-place\\b");

  g_free (stripped);
  return found;
}

void
gst_vkgdr_source_get_tile (const gchar *source, guint *x, guint *y)
{
  GRegex *regex = g_regex_new (
      "^\\s*#\\s*pragma\\s+vkgdr\\s+tile\\s+([1-9][0-9]?)x([1-9][0-9]?)\\b",
      G_REGEX_MULTILINE | G_REGEX_RAW, 0, NULL);
  gchar *stripped = source_strip (source);
  GMatchInfo *match;

  *x = *y = 1;
  if (g_regex_match (regex, stripped, 0, &match)) {
    gchar *across = g_match_info_fetch (match, 1);
    gchar *down = g_match_info_fetch (match, 2);

    *x = (guint) g_ascii_strtoull (across, NULL, 10);
    *y = (guint) g_ascii_strtoull (down, NULL, 10);
    g_free (across);
    g_free (down);
  }
  g_match_info_free (match);
  g_regex_unref (regex);
  g_free (stripped);
}

/* Without our own pragmas, which no compiler knows; lines stay where they are.
 */
static gchar *
source_drop_pragmas (const gchar *source)
{
  GRegex *regex = g_regex_new ("^[ \t]*#[ \t]*pragma[ \t]+vkgdr\\b.*$",
      G_REGEX_MULTILINE | G_REGEX_RAW, 0, NULL);
  gchar *text = g_regex_replace_literal (regex, source, -1, 0, "", 0, NULL);

  g_regex_unref (regex);
  return text;
}

gchar *
gst_vkgdr_source_make_text (const gchar *source, const gchar *name)
{
  gchar *stripped = source_strip (source), *escaped = g_strescape (name, NULL);
  gchar *plain = source_drop_pragmas (source);
  gboolean wrap = source_wants_extern_c (stripped);
  gchar *text = g_strdup_printf ("#include \"" GST_VKGDR_SOURCE_HEADER "\"\n"
                                 "%s#line 1 \"%s\"\n%s\n%s",
      wrap ? "extern \"C\" {\n" : "", escaped, plain, wrap ? "}\n" : "");

  g_free (plain);
  g_free (escaped);
  g_free (stripped);
  return text;
}
