/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * bench-results.c: the results: samples, their summaries and comparisons
 *
 * Must not depend on how they are measured or printed.
 */

#include "bench-results.h"

#include <stdlib.h>
#include <string.h>

/* The largest number of characters of an error message. */
#define LONGEST 600

void
bench_samples_init (BenchSamples *samples)
{
  samples->values = g_array_new (FALSE, FALSE, sizeof (gdouble));
  samples->error = NULL;
}

void
bench_samples_clear (BenchSamples *samples)
{
  g_array_unref (samples->values);
  g_free (samples->error);
}

/* Makes one line of limited length for a table. The log of a compiler has many
 * lines. */
static gchar *
shorten (const gchar *message)
{
  gchar **words = g_strsplit_set (message, " \t\r\n", -1);
  GString *line = g_string_new (NULL);
  gchar *result;
  guint i;

  for (i = 0; words[i]; i++)
    if (*words[i])
      g_string_append_printf (line, "%s%s", line->len ? " " : "", words[i]);
  result = g_utf8_substring (
      line->str, 0, MIN (g_utf8_strlen (line->str, -1), LONGEST));
  g_strfreev (words);
  g_string_free (line, TRUE);
  return result;
}

void
bench_samples_fail (BenchSamples *samples, GError *error)
{
  gchar *valid = g_utf8_make_valid (error->message, -1);

  if (!samples->error)
    samples->error = shorten (valid);
  g_free (valid);
  g_error_free (error);
}

static int
compare_doubles (const void *a, const void *b)
{
  gdouble x = *(const gdouble *) a, y = *(const gdouble *) b;

  return (x > y) - (x < y);
}

BenchSummary
bench_summarize (const gdouble *values, guint n)
{
  BenchSummary summary = {
    0,
  };
  gdouble *sorted;

  if (n == 0)
    return summary;
  sorted = g_memdup2 (values, n * sizeof (*values));
  qsort (sorted, n, sizeof (*sorted), compare_doubles);
  summary.n = n;
  summary.min = sorted[0];
  summary.max = sorted[n - 1];
  summary.median = (sorted[(n - 1) / 2] + sorted[n / 2]) / 2;
  g_free (sorted);
  return summary;
}

BenchSummary
bench_samples_summarize (const BenchSamples *samples)
{
  return bench_summarize ((const gdouble *) samples->values->data,
      samples->error ? 0 : samples->values->len);
}

BenchSummary
bench_compare (
    const BenchSamples *a, const BenchSamples *b, gboolean difference)
{
  GArray *values = g_array_new (FALSE, FALSE, sizeof (gdouble));
  guint n = MIN (a->values->len, b->values->len);
  BenchSummary summary;
  guint i;

  if (a->error || b->error)
    n = 0;
  for (i = 0; i < n; i++) {
    gdouble x = g_array_index (a->values, gdouble, i);
    gdouble y = g_array_index (b->values, gdouble, i);
    gdouble value = difference ? x - y : x / y;

    g_array_append_val (values, value);
  }
  summary = bench_summarize ((const gdouble *) values->data, values->len);
  g_array_unref (values);
  return summary;
}

static void
point_free (gpointer data)
{
  BenchPoint *point = data;

  bench_samples_clear (&point->seconds);
  g_free (point);
}

BenchCurve *
bench_curve_new (const gchar *id, const gchar *label, BenchDirection direction)
{
  BenchCurve *curve = g_new0 (BenchCurve, 1);

  curve->id = id;
  curve->label = label;
  curve->direction = direction;
  curve->points = g_ptr_array_new_with_free_func (point_free);
  return curve;
}

static void
curve_free (gpointer data)
{
  BenchCurve *curve = data;

  g_ptr_array_unref (curve->points);
  g_free (curve);
}

BenchPoint *
bench_curve_add (BenchCurve *curve, gsize bytes)
{
  BenchPoint *point = g_new0 (BenchPoint, 1);

  point->bytes = bytes;
  bench_samples_init (&point->seconds);
  g_ptr_array_add (curve->points, point);
  return point;
}

BenchPoint *
bench_curve_find (const BenchCurve *curve, gsize bytes)
{
  guint i;

  for (i = 0; i < curve->points->len; i++) {
    BenchPoint *point = g_ptr_array_index (curve->points, i);

    if (point->bytes == bytes)
      return point;
  }
  return NULL;
}

static void
variant_free (gpointer data)
{
  BenchVariant *variant = data;

  bench_samples_clear (&variant->samples);
  g_free (variant->launch);
  g_free (variant->note);
  g_free (variant);
}

BenchCase *
bench_case_new (
    const gchar *section, gchar *id, gchar *title, BenchUnit unit, gsize bytes)
{
  BenchCase *c = g_new0 (BenchCase, 1);

  c->section = section;
  c->id = id;
  c->title = title;
  c->unit = unit;
  c->bytes = bytes;
  c->streams = 1;
  c->variants = g_ptr_array_new_with_free_func (variant_free);
  return c;
}

void
bench_case_free (gpointer data)
{
  BenchCase *c = data;

  g_ptr_array_unref (c->variants);
  g_free (c->id);
  g_free (c->title);
  g_free (c);
}

BenchVariant *
bench_case_add (
    BenchCase *c, const gchar *id, const gchar *label, gchar *launch)
{
  BenchVariant *variant = g_new0 (BenchVariant, 1);

  variant->id = id;
  variant->label = label;
  variant->launch = launch;
  variant->batch = 1;
  bench_samples_init (&variant->samples);
  g_ptr_array_add (c->variants, variant);
  return variant;
}

BenchVariant *
bench_case_find (const BenchCase *c, const gchar *id)
{
  guint i;

  for (i = 0; i < c->variants->len; i++) {
    BenchVariant *variant = g_ptr_array_index (c->variants, i);

    if (strcmp (variant->id, id) == 0)
      return variant;
  }
  return NULL;
}

const gchar *
bench_unit_name (BenchUnit unit)
{
  switch (unit) {
  case BENCH_FRAMES_PER_SECOND:
    return "frames/s";
  case BENCH_BUFFERS_PER_SECOND:
    return "buffers/s";
  case BENCH_GB_PER_SECOND:
    return "GB/s";
  case BENCH_MICROSECONDS:
    return "us/frame";
  case BENCH_MILLISECONDS:
    return "ms";
  case BENCH_MEGABYTES:
    return "MB";
  }
  g_return_val_if_reached ("");
}

gboolean
bench_unit_has_differences (BenchUnit unit)
{
  return unit == BENCH_MICROSECONDS || unit == BENCH_MILLISECONDS
         || unit == BENCH_MEGABYTES;
}

static void
free_all (GPtrArray **array, GDestroyNotify free_one)
{
  if (!*array)
    return;
  g_ptr_array_set_free_func (*array, free_one);
  g_clear_pointer (array, g_ptr_array_unref);
}

void
bench_results_clear (BenchResults *results)
{
  free_all (&results->curves, curve_free);
  free_all (&results->cases, bench_case_free);
}
