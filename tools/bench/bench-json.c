/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * bench-json.c: the results as JSON
 *
 * Everything that was measured, with extremes and single samples. Must not know
 * how it was measured.
 */

#include "bench-json.h"

#include "bench-summary.h"

#include "json.h"

static gboolean
put_field (GQuark field, const GValue *value, gpointer data)
{
  const gchar *key = g_quark_to_string (field);
  Json *json = data;

  if (G_VALUE_HOLDS_STRING (value)) {
    const gchar *text = g_value_get_string (value);

    json_put_string (json, key, text ? text : "");
  } else if (G_VALUE_HOLDS_UINT64 (value)) {
    json_put_integer (json, key, g_value_get_uint64 (value));
  } else if (G_VALUE_HOLDS_INT (value)) {
    json_put_number (json, key, g_value_get_int (value));
  } else if (G_VALUE_HOLDS_BOOLEAN (value)) {
    json_put_boolean (json, key, g_value_get_boolean (value));
  }
  return TRUE;
}

static void
put_options (Json *json, const BenchOptions *options)
{
  json_open_object (json, "options");
  json_put_integer (json, "repeat", options->repeat);
  json_put_number (json, "seconds", options->seconds);
  json_put_string (json, "fill", options->fill ? options->fill : "default");
  json_put_integer (json, "buffers", options->buffers);
  json_put_boolean (json, "quick", options->quick);
  json_close_object (json);
}

static void
put_summary (Json *json, BenchSummary summary)
{
  json_put_number (json, "median", summary.median);
  json_put_number (json, "min", summary.min);
  json_put_number (json, "max", summary.max);
}

/* Its summary and its samples, or its error. */
static void
put_samples (Json *json, const BenchSamples *samples)
{
  guint i;

  if (samples->error) {
    json_put_string (json, "error", samples->error);
    return;
  }
  put_summary (json, bench_samples_summarize (samples));
  json_open_array (json, "samples");
  for (i = 0; i < samples->values->len; i++)
    json_put_number (json, NULL, g_array_index (samples->values, gdouble, i));
  json_close_array (json);
}

static void
put_point (Json *json, const BenchPoint *point)
{
  BenchSummary seconds = bench_samples_summarize (&point->seconds);

  json_open_object (json, NULL);
  json_put_integer (json, "bytes", point->bytes);
  if (point->seconds.error) {
    json_put_string (json, "error", point->seconds.error);
  } else {
    json_open_object (json, "us");
    json_put_number (json, "median", seconds.median * 1e6);
    json_put_number (json, "min", seconds.min * 1e6);
    json_put_number (json, "max", seconds.max * 1e6);
    json_close_object (json);
    json_open_object (json, "GB/s");
    json_put_number (json, "median", point->bytes / seconds.median / 1e9);
    json_put_number (json, "min", point->bytes / seconds.max / 1e9);
    json_put_number (json, "max", point->bytes / seconds.min / 1e9);
    json_close_object (json);
  }
  json_close_object (json);
}

static void
put_memory (Json *json, const GPtrArray *curves)
{
  guint i, j;

  json_open_array (json, "memory");
  for (i = 0; i < curves->len; i++) {
    const BenchCurve *curve = g_ptr_array_index (curves, i);

    json_open_object (json, NULL);
    json_put_string (json, "id", curve->id);
    json_put_string (json, "label", curve->label);
    json_put_string (json, "direction",
        curve->direction == BENCH_TO_DEVICE ? "to-device" : "from-device");
    json_open_array (json, "points");
    for (j = 0; j < curve->points->len; j++)
      put_point (json, g_ptr_array_index (curve->points, j));
    json_close_array (json);
    json_close_object (json);
  }
  json_close_array (json);
}

static void
put_variant (Json *json, const BenchVariant *variant)
{
  json_open_object (json, NULL);
  json_put_string (json, "id", variant->id);
  json_put_string (json, "label", variant->label);
  if (variant->launch)
    json_put_string (json, "pipeline", variant->launch);
  if (variant->note)
    json_put_string (json, "note", variant->note);
  put_samples (json, &variant->samples);
  json_close_object (json);
}

/* The first variant beside each of the others. */
static void
put_comparisons (Json *json, const BenchCase *c)
{
  gboolean difference = bench_unit_has_differences (c->unit);
  const BenchVariant *first = g_ptr_array_index (c->variants, 0);
  guint i;

  json_open_array (json, difference ? "differences" : "ratios");
  for (i = 1; i < c->variants->len; i++) {
    const BenchVariant *other = g_ptr_array_index (c->variants, i);
    BenchSummary summary =
        bench_compare (&first->samples, &other->samples, difference);

    if (summary.n == 0)
      continue;
    json_open_object (json, NULL);
    json_put_string (json, "of", first->id);
    json_put_string (json, "to", other->id);
    put_summary (json, summary);
    json_close_object (json);
  }
  json_close_array (json);
}

static void
put_case (Json *json, const BenchCase *c)
{
  guint i;

  json_open_object (json, NULL);
  json_put_string (json, "section", c->section);
  json_put_string (json, "id", c->id);
  json_put_string (json, "title", c->title);
  json_put_string (json, "unit", bench_unit_name (c->unit));
  json_put_integer (json, "bytes", c->bytes);
  json_put_integer (json, "streams", c->streams);
  json_put_string (json, "fill", bench_fill_name (c->fill));
  json_open_array (json, "variants");
  for (i = 0; i < c->variants->len; i++)
    put_variant (json, g_ptr_array_index (c->variants, i));
  json_close_array (json);
  put_comparisons (json, c);
  json_close_object (json);
}

static void
put_summary_line (const gchar *title, gdouble value, gpointer data)
{
  Json *json = data;

  json_open_object (json, NULL);
  json_put_string (json, "title", title);
  json_put_number (json, "value", value);
  json_close_object (json);
}

gchar *
bench_json_write (const BenchResults *results, const GstStructure *machine,
    const BenchOptions *options)
{
  Json json;
  guint i;

  json_init (&json);
  json_put_string (&json, "version", VKGDR_VERSION);
  json_open_object (&json, "machine");
  gst_structure_foreach (machine, put_field, &json);
  json_close_object (&json);
  put_options (&json, options);
  if (results->curves)
    put_memory (&json, results->curves);
  if (results->cases) {
    json_open_array (&json, "pipelines");
    for (i = 0; i < results->cases->len; i++)
      put_case (&json, g_ptr_array_index (results->cases, i));
    json_close_array (&json);
    json_open_array (&json, "summary");
    bench_summary_foreach (results->cases, put_summary_line, &json);
    json_close_array (&json);
  }
  return json_finish (&json);
}
