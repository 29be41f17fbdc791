/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * kernel/source.c: makes the text that a compiler gets from a CUDA source
 *
 * Includes vkgdr/kernel.h in front of the source, and chooses the linkage. What
 * it looks for is found by regular expressions in a copy of the source that has
 * blanks in place of comments and of the content of strings. It does not
 * evaluate conditions, so it reads all branches. Reads text only; knows no
 * compiler and no files.
 */

#include <string.h>

#include "kernel/source.h"
#include "nvcc.h"

/* Blanks of a line, and what a directive has in front of its name. */
#define B "[ \\t\\r\\f]*"
#define DIRECTIVE "^" B "#" B

typedef enum {
  PATTERN_PRAGMA,
  PATTERN_INCLUDE, /* up to the name of a file */
  PATTERN_EXTERN,  /* up to a string */
  PATTERN_TEMPLATE,
  N_PATTERNS
} Pattern;

static const gchar *const patterns[N_PATTERNS] = {
  DIRECTIVE "pragma" B "\\bvkgdr\\b(?:" B "([\\w-]+)"
            "(?:" B "([1-9]\\d?)x([1-9]\\d?))?" B "$)?",
  "(?:" DIRECTIVE "include(?:_next)?\\b|\\b__has_include(?:_next)?" B "\\()" B,
  "\\bextern\\s*(?=\")",
  "\\btemplate\\b",
};

/* A source may have any encoding. */
static GRegex *
get_regex (Pattern pattern)
{
  static GRegex *regexes[N_PATTERNS];

  if (g_once_init_enter (&regexes[pattern]))
    g_once_init_leave (&regexes[pattern],
        g_regex_new (patterns[pattern],
            G_REGEX_RAW | G_REGEX_MULTILINE | G_REGEX_NEWLINE_LF, 0, NULL));
  return regexes[pattern];
}

/* --- comments and strings ------------------------------------------------ */

static gsize
measure_comment (const gchar *p)
{
  const gchar *end;

  if (p[1] == '/')
    return strcspn (p, "\n");
  end = strstr (p + 2, "*/");
  return end ? (gsize) (end + 2 - p) : strlen (p);
}

/* Returns the length of what is between the quote at @p and the next one, or
 * the end of the line. */
static gsize
measure_string (const gchar *p)
{
  gsize n = 1;

  while (p[n] && p[n] != *p && p[n] != '\n')
    n += p[n] == '\\' && p[n + 1] ? 2 : 1;
  return n - 1;
}

/* Ends of lines stay. */
static void
blank (gchar *p, gsize length)
{
  for (; length > 0; p++, length--)
    if (*p != '\n')
      *p = ' ';
}

/* Returns the text with blanks in place of comments and of the content of
 * strings. A quote between digits separates them. */
static gchar *
source_blank_out (const gchar *text)
{
  gchar *plain = g_strdup (text), *p;
  gsize length;

  for (p = plain; *p; p++) {
    if (p[0] == '/' && (p[1] == '/' || p[1] == '*')) {
      length = measure_comment (p);
      blank (p, length);
      p += length - 1;
    } else if (*p == '"'
               || (*p == '\'' && !(p > plain && g_ascii_isalnum (p[-1])))) {
      length = measure_string (p);
      blank (p + 1, length);
      p += length + (p[1 + length] == *p);
    }
  }
  return plain;
}

/* --- what is found ------------------------------------------------------- */

/* Reads "name", <name>, or a macro that expands to one of them. */
static void
source_add_include (GstVkgdrSource *source, const gchar *p)
{
  GstVkgdrSourceInclude *include;
  gchar end[] = { *p == '<' ? '>' : *p, '\n', '\0' };
  gsize length = *p == '"' || *p == '<' ? strcspn (p + 1, end) : 0;

  if (length == 0 || p[1 + length] != end[0]) {
    source->has_computed_include = TRUE;
    return;
  }
  include = g_new (GstVkgdrSourceInclude, 1);
  include->name = g_strndup (p + 1, length);
  include->is_quoted = *p == '"';
  g_ptr_array_add (source->includes, include);
}

static void
source_add_pragma (GstVkgdrSource *source, const GMatchInfo *match)
{
  gchar *word = g_match_info_fetch (match, 1);
  gchar *x = g_match_info_fetch (match, 2), *y = g_match_info_fetch (match, 3);

  if (g_strcmp0 (word, "in-place") == 0) {
    source->is_in_place = TRUE;
  } else if (g_strcmp0 (word, "no-extern-c") == 0) {
    source->no_extern_c = TRUE;
  } else if (g_strcmp0 (word, "fields") == 0) {
    source->runs_on_fields = TRUE;
  } else if (g_strcmp0 (word, "tile") == 0 && x && *x) {
    source->tile_x = g_ascii_strtoull (x, NULL, 10);
    source->tile_y = g_ascii_strtoull (y, NULL, 10);
  }
  g_free (word);
  g_free (x);
  g_free (y);
}

/* Handles one match, from @start to @end of the text. */
static void
source_add (GstVkgdrSource *source, Pattern pattern, const gchar *plain,
    const GMatchInfo *match)
{
  gint start, end;

  g_match_info_fetch_pos (match, 0, &start, &end);
  switch (pattern) {
  case PATTERN_PRAGMA:
    source_add_pragma (source, match);
    /* No compiler knows it. What is left of the line goes with it, but not a
     * comment, which need not end with its line. */
    for (; plain[start] != '\n' && plain[start]; start++)
      if (!g_ascii_isspace (plain[start]))
        source->text[start] = ' ';
    break;
  case PATTERN_INCLUDE:
    source_add_include (source, source->text + end);
    break;
  case PATTERN_EXTERN:
    source->has_extern_c |= g_str_has_prefix (source->text + end, "\"C\"");
    break;
  default:
    source->has_template = TRUE;
  }
}

static void
include_free (gpointer data)
{
  g_free (((GstVkgdrSourceInclude *) data)->name);
  g_free (data);
}

GstVkgdrSource *
gst_vkgdr_source_scan (const gchar *text)
{
  GstVkgdrSource *source = g_new0 (GstVkgdrSource, 1);
  gchar *plain = source_blank_out (text);
  Pattern pattern;

  source->text = g_strdup (text);
  source->includes = g_ptr_array_new_with_free_func (include_free);
  source->tile_x = source->tile_y = 1;
  for (pattern = 0; pattern < N_PATTERNS; pattern++) {
    GMatchInfo *match;

    g_regex_match (get_regex (pattern), plain, 0, &match);
    for (; g_match_info_matches (match); g_match_info_next (match, NULL))
      source_add (source, pattern, plain, match);
    g_match_info_free (match);
  }
  g_free (plain);
  return source;
}

void
gst_vkgdr_source_free (GstVkgdrSource *source)
{
  g_ptr_array_unref (source->includes);
  g_free (source->text);
  g_free (source);
}

gboolean
gst_vkgdr_source_has_includes (const GstVkgdrSource *source)
{
  return source->includes->len > 0 || source->has_computed_include;
}

/* --- the text for the compiler -------------------------------------------- */

/* Templates and headers must not be inside extern "C" { }. */
static gboolean
source_wants_extern_c (const GstVkgdrSource *source)
{
  return !gst_vkgdr_source_has_includes (source) && !source->has_template
         && !source->has_extern_c && !source->no_extern_c;
}

gchar *
gst_vkgdr_source_make_text (const GstVkgdrSource *source, const gchar *name)
{
  gboolean wrap = source_wants_extern_c (source);
  gchar *escaped = g_strescape (name, NULL), *text;

  text = g_strdup_printf ("#include \"" VKGDR_NVCC_HEADER "\"\n"
                          "#include \"" GST_VKGDR_SOURCE_HEADER "\"\n"
                          "%s#line 1 \"%s\"\n%s%s",
      wrap ? "extern \"C\" {\n" : "", escaped, source->text,
      wrap ? "\n}\n" : "\n");
  g_free (escaped);
  return text;
}
