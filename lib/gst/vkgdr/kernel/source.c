/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * kernel/source.c: makes the text that a compiler gets from a CUDA source
 *
 * Includes vkgdr/kernel.h in front of the source, and chooses the linkage. A
 * small scanner reads the source once, without going back. It knows comments,
 * strings of all kinds, continued lines, and the alternative spellings of "#".
 * It does not evaluate conditions, so it reads all branches. Reads text only;
 * knows no compiler and no files.
 */

#include <string.h>

#include "kernel/source.h"
#include "nvcc.h"

/* Sides of a tile have to be less than this. */
#define SOURCE_TILE_LIMIT 100
/* The largest number of characters between the quote and the parenthesis of a
 * raw string. */
#define SOURCE_MAX_DELIMITER 16

typedef struct {
  const gchar *text; /* ends with a zero byte */
  const gchar *p;    /* in @text */
  GstVkgdrSource *source;
  gboolean
      at_line_start; /* only blanks and comments since the start of the line */
  gboolean after_extern; /* only blanks and comments since the word extern */
  const gchar *hash;     /* of the last directive */
  gboolean in_pragma;    /* it is a #pragma vkgdr that has not ended */
} Scanner;

/* --- characters ---------------------------------------------------------- */

/* Returns the length of the end of a continued line at @p, or 0 if there is
 * none. */
static gsize
measure_continuation (const gchar *p)
{
  if (p[0] != '\\')
    return 0;
  if (p[1] == '\n')
    return 2;
  return p[1] == '\r' && p[2] == '\n' ? 3 : 0;
}

/* Returns the text without the ends of continued lines, which can be inside any
 * word. */
static gchar *
source_join_lines (const gchar *text)
{
  gchar *joined = g_malloc (strlen (text) + 1), *out = joined;
  gsize length;

  while (*text) {
    length = measure_continuation (text);
    if (length == 0)
      *out++ = *text;
    text += MAX (length, 1);
  }
  *out = '\0';
  return joined;
}

static gboolean
is_word (gchar c)
{
  return g_ascii_isalnum (c) || c == '_';
}

/* Whether there is a hash at @p, in one of its spellings. Sets its @length. */
static gboolean
is_hash (const gchar *p, gsize *length)
{
  static const gchar *const spellings[] = { "#", "%:", "?\?=" };
  guint i;

  for (i = 0; i < G_N_ELEMENTS (spellings); i++)
    if (g_str_has_prefix (p, spellings[i])) {
      *length = strlen (spellings[i]);
      return TRUE;
    }
  return FALSE;
}

/* Skips one comment. */
static gboolean
scan_comment (Scanner *s)
{
  const gchar *end;

  if (s->p[0] != '/' || (s->p[1] != '/' && s->p[1] != '*'))
    return FALSE;
  if (s->p[1] == '/') {
    s->p += strcspn (s->p, "\n");
  } else {
    end = strstr (s->p + 2, "*/");
    s->p = end ? end + 2 : s->p + strlen (s->p);
  }
  return TRUE;
}

/* Skips blanks and comments, but not the end of a line. */
static void
scan_blanks (Scanner *s)
{
  while (scan_comment (s) || (*s->p && strchr (" \t\r\f\v", *s->p) && s->p++))
    continue;
}

/* --- words and strings --------------------------------------------------- */

/* Reads a word, and returns its length. The word starts at s->p - length. */
static gsize
scan_word (Scanner *s)
{
  const gchar *start = s->p;

  while (is_word (*s->p))
    s->p++;
  return s->p - start;
}

static gboolean
word_is (const gchar *word, gsize length, const gchar *text)
{
  return strlen (text) == length && strncmp (word, text, length) == 0;
}

/* Skips to the quote that ends a string, or to the end of the line. */
static void
scan_string (Scanner *s)
{
  gchar quote = *s->p++;

  while (*s->p && *s->p != quote && *s->p != '\n')
    s->p += s->p[0] == '\\' && s->p[1] ? 2 : 1;
  if (*s->p == quote)
    s->p++;
}

/* Skips R"delimiter(…)delimiter", from its quote on. */
static void
scan_raw_string (Scanner *s)
{
  gsize length = strcspn (s->p + 1, "( )\\\t\n");
  gchar *end;
  const gchar *found;

  if (length > SOURCE_MAX_DELIMITER || s->p[1 + length] != '(') {
    scan_string (s);
    return;
  }
  end = g_strdup_printf (")%.*s\"", (gint) length, s->p + 1);
  found = strstr (s->p, end);
  s->p = found ? found + strlen (end) : s->p + strlen (s->p);
  g_free (end);
}

/* Skips a number. The quotes in it separate digits. */
static void
scan_number (Scanner *s)
{
  while (
      is_word (*s->p) || *s->p == '.' || (*s->p == '\'' && is_word (s->p[1])))
    s->p++;
}

/* --- directives ---------------------------------------------------------- */

/* Reads "name", <name>, or a macro that expands to one of them. */
static void
scan_include_name (Scanner *s)
{
  GstVkgdrSourceInclude *include;
  gchar end[] = { 0, '\n', 0 };
  gsize length;

  scan_blanks (s);
  end[0] = *s->p == '"' ? '"' : (*s->p == '<' ? '>' : '\0');
  length = end[0] ? strcspn (s->p + 1, end) : 0;
  if (!end[0] || s->p[1 + length] != end[0]) {
    s->source->has_computed_include = TRUE;
    return;
  }
  include = g_new (GstVkgdrSourceInclude, 1);
  include->name = g_strndup (s->p + 1, length);
  include->is_quoted = end[0] == '"';
  g_ptr_array_add (s->source->includes, include);
  s->p += length + 2;
}

/* Returns a side of the tile, or 0 on failure. */
static guint
scan_tile_side (Scanner *s)
{
  guint n = 0;

  if (*s->p < '1' || *s->p > '9')
    return 0;
  while (g_ascii_isdigit (*s->p) && n < SOURCE_TILE_LIMIT)
    n = 10 * n + (*s->p++ - '0');
  return n < SOURCE_TILE_LIMIT ? n : 0;
}

static void
scan_tile (Scanner *s)
{
  guint x, y = 0;

  scan_blanks (s);
  x = scan_tile_side (s);
  if (*s->p == 'x') {
    s->p++;
    y = scan_tile_side (s);
  }
  if (x && y && !is_word (*s->p)) {
    s->source->tile_x = x;
    s->source->tile_y = y;
  }
}

/* Reads #pragma vkgdr. The word after it may have hyphens. */
static void
scan_pragma (Scanner *s)
{
  const gchar *word;
  gsize length;

  scan_blanks (s);
  word = s->p;
  if (!word_is (word, scan_word (s), "vkgdr"))
    return;
  s->in_pragma = TRUE;
  scan_blanks (s);
  word = s->p;
  while (is_word (*s->p) || *s->p == '-')
    s->p++;
  length = s->p - word;
  if (word_is (word, length, "in-place"))
    s->source->is_in_place = TRUE;
  else if (word_is (word, length, "no-extern-c"))
    s->source->no_extern_c = TRUE;
  else if (word_is (word, length, "fields"))
    s->source->runs_on_fields = TRUE;
  else if (word_is (word, length, "tile"))
    scan_tile (s);
}

/* Reads a directive after its hash. The rest of the line is scanned like other
 * text. */
static void
scan_directive (Scanner *s)
{
  static const gchar *const includes[] = { "include", "include_next", "import",
    "embed" };
  const gchar *word;
  gsize length;
  guint i;

  scan_blanks (s);
  word = s->p;
  length = scan_word (s);
  if (word_is (word, length, "pragma"))
    scan_pragma (s);
  for (i = 0; i < G_N_ELEMENTS (includes); i++)
    if (word_is (word, length, includes[i]))
      scan_include_name (s);
}

/* --- the whole text ------------------------------------------------------ */

static void
scan_identifier (Scanner *s)
{
  static const gchar *const raw[] = { "R", "LR", "uR", "UR", "u8R" };
  const gchar *word = s->p;
  gsize length = scan_word (s);
  guint i;

  s->after_extern = word_is (word, length, "extern");
  if (word_is (word, length, "template"))
    s->source->has_template = TRUE;
  if (word_is (word, length, "__has_include")
      || word_is (word, length, "__has_include_next")) {
    scan_blanks (s);
    if (*s->p == '(') {
      s->p++;
      scan_include_name (s);
    }
  }
  for (i = 0; *s->p == '"' && i < G_N_ELEMENTS (raw); i++)
    if (word_is (word, length, raw[i])) {
      scan_raw_string (s);
      break;
    }
}

/* Scans anything except blanks, comments, ends of lines and directives. */
static void
scan_token (Scanner *s)
{
  s->at_line_start = FALSE;
  if (g_ascii_isdigit (*s->p)) {
    s->after_extern = FALSE;
    scan_number (s);
  } else if (is_word (*s->p)) {
    scan_identifier (s);
  } else if (*s->p == '"' || *s->p == '\'') {
    if (s->after_extern && g_str_has_prefix (s->p, "\"C\""))
      s->source->has_extern_c = TRUE;
    s->after_extern = FALSE;
    scan_string (s);
  } else {
    s->after_extern = FALSE;
    s->p++;
  }
}

/* Must be called at the end of a line, or of the text. A comment or a raw
 * string that goes on in the next line does not end a directive. */
static void
scan_line_end (Scanner *s)
{
  const GstVkgdrSourceRange range = { s->hash - s->text, s->p - s->text };

  if (s->in_pragma)
    g_array_append_val (s->source->pragmas, range);
  s->in_pragma = FALSE;
  s->at_line_start = TRUE;
}

static void
scan_next (Scanner *s)
{
  gsize length;

  if (*s->p == '\n') {
    scan_line_end (s);
    s->p++;
  } else if (s->at_line_start && is_hash (s->p, &length)) {
    s->at_line_start = FALSE;
    s->hash = s->p;
    s->p += length;
    scan_directive (s);
  } else {
    scan_token (s);
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
  gchar *joined = source_join_lines (text);
  Scanner s = { .text = joined, .p = joined, .at_line_start = TRUE };

  s.source = g_new0 (GstVkgdrSource, 1);
  s.source->includes = g_ptr_array_new_with_free_func (include_free);
  s.source->pragmas = g_array_new (FALSE, FALSE, sizeof (GstVkgdrSourceRange));
  s.source->tile_x = s.source->tile_y = 1;
  for (scan_blanks (&s); *s.p; scan_blanks (&s))
    scan_next (&s);
  scan_line_end (&s);
  g_free (joined);
  return s.source;
}

void
gst_vkgdr_source_free (GstVkgdrSource *source)
{
  g_ptr_array_unref (source->includes);
  g_array_unref (source->pragmas);
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

/* Appends @length bytes of the text. If they are removed, appends only the end
 * of the line, if they have one. */
static void
append_part (GString *out, const gchar *text, gsize length, gboolean is_removed)
{
  if (!is_removed)
    g_string_append_len (out, text, length);
  else if (text[length - 1] == '\n')
    g_string_append_c (out, '\n');
}

/* Appends the text without #pragma vkgdr, which no compiler knows. Lines keep
 * their numbers. The ranges in @pragmas are positions in the text without the
 * ends of continued lines, so these are skipped while bytes are counted. Such
 * an end inside a pragma is removed together with the pragma. */
static void
append_without_pragmas (GString *out, const gchar *text, const GArray *pragmas)
{
  const GstVkgdrSourceRange *next = (GstVkgdrSourceRange *) pragmas->data;
  const GstVkgdrSourceRange *end = next + pragmas->len;
  gsize at = 0, length;

  while (*text) {
    length = measure_continuation (text);
    if (next < end && at > next->end)
      next++;
    if (length > 0) {
      append_part (
          out, text, length, next < end && at > next->start && at <= next->end);
    } else {
      length = 1;
      append_part (
          out, text, 1, next < end && at >= next->start && at < next->end);
      at++;
    }
    text += length;
  }
}

gchar *
gst_vkgdr_source_make_text (
    const GstVkgdrSource *source, const gchar *text, const gchar *name)
{
  gboolean wrap = source_wants_extern_c (source);
  gchar *escaped = g_strescape (name, NULL);
  GString *out = g_string_new ("#include \"" VKGDR_NVCC_HEADER "\"\n"
                               "#include \"" GST_VKGDR_SOURCE_HEADER "\"\n");

  g_string_append_printf (
      out, "%s#line 1 \"%s\"\n", wrap ? "extern \"C\" {\n" : "", escaped);
  append_without_pragmas (out, text, source->pragmas);
  g_string_append (out, wrap ? "\n}\n" : "\n");
  g_free (escaped);
  return g_string_free (out, FALSE);
}
