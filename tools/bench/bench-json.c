/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * bench-json.c: the results as JSON
 *
 * Everything that was measured, with extremes and single samples. Must not know
 * how it was measured.
 */

#include "bench-json.h"

#include <math.h>
#include <string.h>

/* --- writing JSON -------------------------------------------------------- */

/* The text so far, and whether something stands before the next member. */
typedef struct {
  GString *text;
  gint depth;
  gboolean comma;
} Json;

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

/* Begins a member, with a @key inside an object, NULL inside an array. */
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

/* Texts of drivers and systems may be in any encoding. */
static void
put_string (Json *json, const gchar *key, const gchar *value)
{
  gchar *valid = g_utf8_make_valid (value, -1);

  begin (json, key);
  write_text (json, valid);
  g_free (valid);
}

static void
put_number (Json *json, const gchar *key, gdouble value)
{
  gchar text[G_ASCII_DTOSTR_BUF_SIZE];

  begin (json, key);
  g_string_append (json->text,
      isfinite (value) ? g_ascii_formatd (text, sizeof (text), "%.9g", value)
                       : "null");
}

static void
put_integer (Json *json, const gchar *key, guint64 value)
{
  begin (json, key);
  g_string_append_printf (json->text, "%" G_GUINT64_FORMAT, value);
}

static void
put_boolean (Json *json, const gchar *key, gboolean value)
{
  begin (json, key);
  g_string_append (json->text, value ? "true" : "false");
}

/* --- what is written ----------------------------------------------------- */

static gboolean
put_field (GQuark field, const GValue *value, gpointer data)
{
  const gchar *key = g_quark_to_string (field);
  Json *json = data;

  if (G_VALUE_HOLDS_STRING (value)) {
    const gchar *text = g_value_get_string (value);

    put_string (json, key, text ? text : "");
  } else if (G_VALUE_HOLDS_UINT64 (value)) {
    put_integer (json, key, g_value_get_uint64 (value));
  } else if (G_VALUE_HOLDS_INT (value)) {
    put_number (json, key, g_value_get_int (value));
  } else if (G_VALUE_HOLDS_BOOLEAN (value)) {
    put_boolean (json, key, g_value_get_boolean (value));
  }
  return TRUE;
}

static void
put_options (Json *json, const BenchOptions *options)
{
  open_group (json, "options", '{');
  put_integer (json, "repeat", options->repeat);
  put_number (json, "seconds", options->seconds);
  put_string (json, "fill", options->fill);
  put_integer (json, "buffers", options->buffers);
  put_boolean (json, "quick", options->quick);
  close_group (json, '}');
}

static void
put_summary (Json *json, BenchSummary summary)
{
  put_number (json, "median", summary.median);
  put_number (json, "min", summary.min);
  put_number (json, "max", summary.max);
}

/* Its summary and its samples, or its error. */
static void
put_samples (Json *json, const BenchSamples *samples)
{
  guint i;

  if (samples->error) {
    put_string (json, "error", samples->error);
    return;
  }
  put_summary (json, bench_samples_summarize (samples));
  open_group (json, "samples", '[');
  for (i = 0; i < samples->values->len; i++)
    put_number (json, NULL, g_array_index (samples->values, gdouble, i));
  close_group (json, ']');
}

static void
put_point (Json *json, const BenchPoint *point)
{
  BenchSummary seconds = bench_samples_summarize (&point->seconds);

  open_group (json, NULL, '{');
  put_integer (json, "bytes", point->bytes);
  if (point->seconds.error) {
    put_string (json, "error", point->seconds.error);
  } else {
    open_group (json, "us", '{');
    put_number (json, "median", seconds.median * 1e6);
    put_number (json, "min", seconds.min * 1e6);
    put_number (json, "max", seconds.max * 1e6);
    close_group (json, '}');
    open_group (json, "GB/s", '{');
    put_number (json, "median", point->bytes / seconds.median / 1e9);
    put_number (json, "min", point->bytes / seconds.max / 1e9);
    put_number (json, "max", point->bytes / seconds.min / 1e9);
    close_group (json, '}');
  }
  close_group (json, '}');
}

static void
put_memory (Json *json, const GPtrArray *curves)
{
  guint i, j;

  open_group (json, "memory", '[');
  for (i = 0; i < curves->len; i++) {
    const BenchCurve *curve = g_ptr_array_index (curves, i);

    open_group (json, NULL, '{');
    put_string (json, "id", curve->id);
    put_string (json, "label", curve->label);
    put_string (json, "direction",
        curve->direction == BENCH_TO_DEVICE ? "to-device" : "from-device");
    open_group (json, "points", '[');
    for (j = 0; j < curve->points->len; j++)
      put_point (json, g_ptr_array_index (curve->points, j));
    close_group (json, ']');
    close_group (json, '}');
  }
  close_group (json, ']');
}

static void
put_variant (Json *json, const BenchVariant *variant)
{
  open_group (json, NULL, '{');
  put_string (json, "id", variant->id);
  put_string (json, "label", variant->label);
  if (variant->launch)
    put_string (json, "pipeline", variant->launch);
  put_samples (json, &variant->samples);
  close_group (json, '}');
}

/* The first variant beside each of the others. */
static void
put_comparisons (Json *json, const BenchCase *c)
{
  gboolean difference = bench_unit_is_time (c->unit);
  const BenchVariant *first = g_ptr_array_index (c->variants, 0);
  guint i;

  open_group (json, difference ? "differences" : "ratios", '[');
  for (i = 1; i < c->variants->len; i++) {
    const BenchVariant *other = g_ptr_array_index (c->variants, i);
    BenchSummary summary =
        bench_compare (&first->samples, &other->samples, difference);

    if (summary.n == 0)
      continue;
    open_group (json, NULL, '{');
    put_string (json, "of", first->id);
    put_string (json, "to", other->id);
    put_summary (json, summary);
    close_group (json, '}');
  }
  close_group (json, ']');
}

static void
put_case (Json *json, const BenchCase *c)
{
  guint i;

  open_group (json, NULL, '{');
  put_string (json, "section", c->section);
  put_string (json, "id", c->id);
  put_string (json, "title", c->title);
  put_string (json, "unit", bench_unit_name (c->unit));
  put_integer (json, "bytes", c->bytes);
  put_integer (json, "streams", c->streams);
  open_group (json, "variants", '[');
  for (i = 0; i < c->variants->len; i++)
    put_variant (json, g_ptr_array_index (c->variants, i));
  close_group (json, ']');
  put_comparisons (json, c);
  close_group (json, '}');
}

gchar *
bench_json_write (const BenchResults *results, const GstStructure *machine,
    const BenchOptions *options)
{
  Json json = { g_string_new (NULL), 0, FALSE };
  guint i;

  open_group (&json, NULL, '{');
  put_string (&json, "version", VKGDR_VERSION);
  open_group (&json, "machine", '{');
  gst_structure_foreach (machine, put_field, &json);
  close_group (&json, '}');
  put_options (&json, options);
  if (results->curves)
    put_memory (&json, results->curves);
  if (results->cases) {
    open_group (&json, "pipelines", '[');
    for (i = 0; i < results->cases->len; i++)
      put_case (&json, g_ptr_array_index (results->cases, i));
    close_group (&json, ']');
  }
  close_group (&json, '}');
  g_string_append_c (json.text, '\n');
  return g_string_free (json.text, FALSE);
}
