/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * bench-json.c: the results as JSON
 *
 * Contains all results with their extremes, and the single samples of
 * pipelines. Must not depend on how they are measured.
 */

#include "bench-json.h"

#include "bench-report.h"
#include "bench-summary.h"

#include "json.h"

static gboolean
set_field (GQuark field, const GValue *value, gpointer data)
{
  const gchar *member = g_quark_to_string (field);
  JsonObject *object = data;

  if (G_VALUE_HOLDS_STRING (value)) {
    const gchar *text = g_value_get_string (value);

    json_set_text (object, member, text ? text : "");
  } else if (G_VALUE_HOLDS_UINT64 (value)) {
    json_object_set_int_member (object, member, g_value_get_uint64 (value));
  } else if (G_VALUE_HOLDS_INT (value)) {
    json_object_set_int_member (object, member, g_value_get_int (value));
  } else if (G_VALUE_HOLDS_BOOLEAN (value)) {
    json_object_set_boolean_member (
        object, member, g_value_get_boolean (value));
  }
  return TRUE;
}

static JsonObject *
make_machine (const GstStructure *machine)
{
  JsonObject *object = json_object_new ();

  gst_structure_foreach (machine, set_field, object);
  return object;
}

static JsonObject *
make_options (const BenchOptions *options)
{
  JsonObject *object = json_object_new ();

  json_object_set_int_member (object, "repeat", options->repeat);
  json_set_number (object, "seconds", options->seconds);
  json_set_text (object, "fill", options->fill ? options->fill : "default");
  json_object_set_int_member (object, "buffers", options->buffers);
  json_object_set_boolean_member (object, "quick", options->quick);
  return object;
}

static void
set_summary (JsonObject *object, gdouble median, gdouble min, gdouble max)
{
  json_set_number (object, "median", median);
  json_set_number (object, "min", min);
  json_set_number (object, "max", max);
}

/* Writes the summary and the samples, or the error. */
static void
set_samples (JsonObject *object, const BenchSamples *samples)
{
  BenchSummary summary = bench_samples_summarize (samples);
  JsonArray *array;
  guint i;

  if (samples->error) {
    json_set_text (object, "error", samples->error);
    return;
  }
  set_summary (object, summary.median, summary.min, summary.max);
  array = json_array_new ();
  for (i = 0; i < samples->values->len; i++)
    json_array_add_double_element (
        array, g_array_index (samples->values, gdouble, i));
  json_object_set_array_member (object, "samples", array);
}

static JsonObject *
make_point (const BenchPoint *point)
{
  BenchSummary seconds = bench_samples_summarize (&point->seconds);
  JsonObject *object = json_object_new ();
  JsonObject *time, *rate;

  json_object_set_int_member (object, "bytes", point->bytes);
  if (point->seconds.error) {
    json_set_text (object, "error", point->seconds.error);
    return object;
  }
  time = json_object_new ();
  set_summary (
      time, seconds.median * 1e6, seconds.min * 1e6, seconds.max * 1e6);
  json_object_set_object_member (object, "us", time);
  rate = json_object_new ();
  set_summary (rate, point->bytes / seconds.median / 1e9,
      point->bytes / seconds.max / 1e9, point->bytes / seconds.min / 1e9);
  json_object_set_object_member (object, "GB/s", rate);
  return object;
}

static JsonObject *
make_curve (const BenchCurve *curve)
{
  JsonObject *object = json_object_new ();
  JsonArray *points = json_array_new ();
  guint i;

  json_set_text (object, "id", curve->id);
  json_set_text (object, "label", curve->label);
  json_set_text (object, "direction",
      curve->direction == BENCH_TO_DEVICE ? "to-device" : "from-device");
  for (i = 0; i < curve->points->len; i++)
    json_array_add_object_element (
        points, make_point (g_ptr_array_index (curve->points, i)));
  json_object_set_array_member (object, "points", points);
  return object;
}

static JsonObject *
make_variant (const BenchVariant *variant)
{
  JsonObject *object = json_object_new ();

  json_set_text (object, "id", variant->id);
  json_set_text (object, "label", variant->label);
  if (variant->launch)
    json_set_text (object, "pipeline", variant->launch);
  if (variant->note)
    json_set_text (object, "note", variant->note);
  set_samples (object, &variant->samples);
  return object;
}

/* Writes comparisons of the first variant with those that are not single. */
static JsonArray *
make_comparisons (const BenchCase *c)
{
  const BenchVariant *first = g_ptr_array_index (c->variants, 0);
  JsonArray *array = json_array_new ();
  guint i;

  for (i = 1; i < c->variants->len; i++) {
    const BenchVariant *other = g_ptr_array_index (c->variants, i);
    BenchSummary summary = bench_compare (
        &first->samples, &other->samples, bench_unit_has_differences (c->unit));
    JsonObject *object;

    if (summary.n == 0 || other->is_single)
      continue;
    object = json_object_new ();
    json_set_text (object, "of", first->id);
    json_set_text (object, "to", other->id);
    set_summary (object, summary.median, summary.min, summary.max);
    json_array_add_object_element (array, object);
  }
  return array;
}

static JsonObject *
make_case (const BenchCase *c)
{
  JsonObject *object = json_object_new ();
  JsonArray *variants = json_array_new ();
  guint i;

  json_set_text (object, "section", c->section);
  json_set_text (object, "table", bench_report_section_title (c->section));
  json_set_text (object, "id", c->id);
  json_set_text (object, "title", c->title);
  json_set_text (object, "unit", bench_unit_name (c->unit));
  json_object_set_int_member (object, "bytes", c->bytes);
  json_object_set_int_member (object, "streams", c->streams);
  json_set_text (object, "fill", bench_fill_name (c->fill));
  for (i = 0; i < c->variants->len; i++)
    json_array_add_object_element (
        variants, make_variant (g_ptr_array_index (c->variants, i)));
  json_object_set_array_member (object, "variants", variants);
  json_object_set_array_member (object,
      bench_unit_has_differences (c->unit) ? "differences" : "ratios",
      make_comparisons (c));
  return object;
}

static void
add_summary_line (const gchar *title, gdouble value, gpointer data)
{
  JsonObject *object = json_object_new ();
  JsonArray *lines = data;

  json_set_text (object, "title", title);
  json_set_number (object, "value", value);
  json_array_add_object_element (lines, object);
}

static void
set_curves (JsonObject *object, const GPtrArray *curves)
{
  JsonArray *array = json_array_new ();
  guint i;

  for (i = 0; i < curves->len; i++)
    json_array_add_object_element (
        array, make_curve (g_ptr_array_index (curves, i)));
  json_object_set_array_member (object, "memory", array);
}

static void
set_cases (JsonObject *object, const GPtrArray *cases)
{
  JsonArray *array = json_array_new ();
  JsonArray *summary = json_array_new ();
  guint i;

  for (i = 0; i < cases->len; i++)
    json_array_add_object_element (
        array, make_case (g_ptr_array_index (cases, i)));
  json_object_set_array_member (object, "pipelines", array);
  bench_summary_foreach (cases, add_summary_line, summary);
  json_object_set_array_member (object, "summary", summary);
}

gchar *
bench_json_write (const BenchResults *results, const GstStructure *machine,
    const BenchOptions *options)
{
  JsonObject *object = json_object_new ();

  json_set_text (object, "version", VKGDR_VERSION);
  json_object_set_object_member (object, "machine", make_machine (machine));
  json_object_set_object_member (object, "options", make_options (options));
  if (results->curves)
    set_curves (object, results->curves);
  if (results->cases)
    set_cases (object, results->cases);
  return json_take_to_text (object);
}
