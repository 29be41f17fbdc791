/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * bench-report.c: the results as tables
 *
 * Chooses the figures of each table. Other files format the tables and measure.
 */

#include "bench-report.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bench-summary.h"
#include "bench-table.h"

/* The largest number of variants that are compared in a table. */
#define MOST_COMPARED 4

/* What an empty cell shows. */
#define NOTHING "-"

/* Returns a size such as "4 KiB". */
static gchar *
format_size (gsize bytes)
{
  if (bytes >= 1 << 20)
    return g_strdup_printf ("%" G_GSIZE_FORMAT " MiB", bytes >> 20);
  if (bytes >= 1 << 10)
    return g_strdup_printf ("%" G_GSIZE_FORMAT " KiB", bytes >> 10);
  return g_strdup_printf ("%" G_GSIZE_FORMAT " B", bytes);
}

/* Returns a number with three significant digits. */
static gchar *
format_number (gdouble value)
{
  gdouble size = fabs (value);
  gint digits;

  if (size >= 99.95)
    digits = 0;
  else if (size >= 9.995)
    digits = 1;
  else if (size >= 0.995)
    digits = 2;
  else if (size >= 0.0995)
    digits = 3;
  else
    digits = 4;
  return g_strdup_printf ("%.*f", digits, value);
}

static void
add_number (BenchTable *table, gdouble value, const gchar *suffix)
{
  gchar *text = format_number (value);

  bench_table_add_cell (table, "%s%s", text, suffix);
  g_free (text);
}

static void
finish (BenchTable *table, const BenchOptions *options)
{
  bench_table_print (
      table, options->markdown ? BENCH_STYLE_MARKDOWN : BENCH_STYLE_TERMINAL);
  bench_table_free (table);
}

/* --- copies -------------------------------------------------------------- */

typedef enum { SHOW_BANDWIDTH, SHOW_TIME } Quantity;

static void
add_point (BenchTable *table, const BenchPoint *point, Quantity quantity)
{
  BenchSummary seconds;

  if (!point) {
    bench_table_add_cell (table, NOTHING);
    return;
  }
  if (point->seconds.error) {
    bench_table_add_failure (table, point->seconds.error);
    return;
  }
  seconds = bench_samples_summarize (&point->seconds);
  add_number (table,
      quantity == SHOW_TIME ? seconds.median * 1e6
                            : point->bytes / seconds.median / 1e9,
      "");
}

/* Returns the curve with the most sizes. Some curves have no large sizes. */
static const BenchCurve *
longest (const GPtrArray *curves)
{
  const BenchCurve *result = g_ptr_array_index (curves, 0);
  guint i;

  for (i = 1; i < curves->len; i++) {
    const BenchCurve *curve = g_ptr_array_index (curves, i);

    if (curve->points->len > result->points->len)
      result = curve;
  }
  return result;
}

static void
print_curves (const GPtrArray *curves, BenchDirection direction,
    Quantity quantity, const BenchOptions *options)
{
  const BenchCurve *scale = longest (curves);
  gchar *title = g_strdup_printf ("%s, %s",
      direction == BENCH_TO_DEVICE ? "To the device" : "From the device",
      quantity == SHOW_TIME ? "microseconds a call" : "GB/s");
  BenchTable *table = bench_table_new (title, BENCH_CELLS_NUMBERS);
  guint i, j;

  g_free (title);
  bench_table_add_row (table);
  bench_table_add_cell (table, "copy");
  for (j = 0; j < scale->points->len; j++) {
    const BenchPoint *point = g_ptr_array_index (scale->points, j);
    gchar *size = format_size (point->bytes);

    bench_table_add_cell (table, "%s", size);
    g_free (size);
  }
  for (i = 0; i < curves->len; i++) {
    const BenchCurve *curve = g_ptr_array_index (curves, i);

    if (curve->direction != direction)
      continue;
    bench_table_add_row (table);
    bench_table_add_cell (table, "%s", curve->label);
    for (j = 0; j < scale->points->len; j++) {
      const BenchPoint *point = g_ptr_array_index (scale->points, j);

      add_point (table, bench_curve_find (curve, point->bytes), quantity);
    }
  }
  finish (table, options);
}

static void
print_memory (const GPtrArray *curves, const BenchOptions *options)
{
  print_curves (curves, BENCH_TO_DEVICE, SHOW_BANDWIDTH, options);
  print_curves (curves, BENCH_TO_DEVICE, SHOW_TIME, options);
  print_curves (curves, BENCH_FROM_DEVICE, SHOW_BANDWIDTH, options);
  print_curves (curves, BENCH_FROM_DEVICE, SHOW_TIME, options);
}

/* --- pipelines ----------------------------------------------------------- */

static void
add_variant (BenchTable *table, const BenchVariant *variant)
{
  BenchSummary summary = bench_samples_summarize (&variant->samples);

  if (variant->samples.error)
    bench_table_add_failure (table, variant->samples.error);
  else
    add_number (table, summary.median, "");
}

/* Compares the first variant with another one, as a ratio or a difference of
 * times. */
static void
add_comparison (
    BenchTable *table, const BenchCase *c, const BenchVariant *other)
{
  gboolean difference = bench_unit_has_differences (c->unit);
  const BenchVariant *first = g_ptr_array_index (c->variants, 0);
  BenchSummary summary =
      bench_compare (&first->samples, &other->samples, difference);

  if (summary.n == 0)
    bench_table_add_cell (table, NOTHING);
  else
    add_number (table, summary.median, difference ? "" : "x");
}

/* A table of many variants has no room for comparisons. The summary has the
 * important ones, and JSON has all. */
static gboolean
has_comparisons (const BenchCase *c)
{
  return c->variants->len <= MOST_COMPARED;
}

static void
add_head (BenchTable *table, const BenchCase *c)
{
  const BenchVariant *first = g_ptr_array_index (c->variants, 0);
  guint i;

  bench_table_add_row (table);
  bench_table_add_cell (table, "%s", bench_unit_name (c->unit));
  for (i = 0; i < c->variants->len; i++) {
    const BenchVariant *variant = g_ptr_array_index (c->variants, i);

    bench_table_add_cell (table, "%s", variant->label);
  }
  for (i = 1; i < c->variants->len && has_comparisons (c); i++) {
    const BenchVariant *variant = g_ptr_array_index (c->variants, i);

    if (variant->is_single)
      continue;
    if (c->variants->len == 2)
      bench_table_add_cell (
          table, bench_unit_has_differences (c->unit) ? "difference" : "ratio");
    else
      bench_table_add_cell (table, "%s %c %s", first->label,
          bench_unit_has_differences (c->unit) ? '-' : '/', variant->label);
  }
}

/* Returns the variant of @c that belongs to column @i of a table whose columns
 * are those of @head, or NULL if @c has no such variant. */
static const BenchVariant *
variant_of_column (const BenchCase *c, const BenchCase *head, guint i)
{
  const BenchVariant *variant = g_ptr_array_index (head->variants, i);

  return bench_case_find (c, variant->id);
}

/* Adds the row of a case to a table whose columns are those of @head. */
static void
add_case (BenchTable *table, const BenchCase *c, const BenchCase *head)
{
  const BenchVariant *variant;
  guint i;

  bench_table_add_row (table);
  bench_table_add_cell (table, "%s", c->title);
  for (i = 0; i < head->variants->len; i++) {
    variant = variant_of_column (c, head, i);
    if (variant)
      add_variant (table, variant);
    else
      bench_table_add_cell (table, NOTHING);
  }
  for (i = 1; i < head->variants->len && has_comparisons (head); i++) {
    variant = g_ptr_array_index (head->variants, i);
    if (variant->is_single)
      continue;
    variant = variant_of_column (c, head, i);
    if (variant)
      add_comparison (table, c, variant);
    else
      bench_table_add_cell (table, NOTHING);
  }
}

const gchar *
bench_report_section_title (const gchar *section)
{
  static const struct {
    const gchar *section;
    const gchar *title;
  } titles[] = {
    { "start", "From the start to the first frame" },
    { "process", "From the start of a process to the first frame" },
    { "loops",
        "What the machine allows: one stream, and loops without GStreamer" },
    { "frames", "One stream of frames" },
    { "streams", "Streams at once, in all" },
    { "roundtrip", "To the device and back" },
    { "download", "Back from the device" },
    { "buffers", "Small buffers" },
    { "overhead", "What running a kernel costs" },
    { "chain", "What several kernels in a row cost" },
    { "effect", "A kernel on large frames" },
    { "kernel", "Inside the kernel, bytes read and written" },
    { "convert", "Conversion of frames on the device" },
    { "cuda", "Compared with GStreamer's own CUDA elements" },
    { "cuda-memory", "Memory of the device that frames for those take" },
    { "tensors", "Frames as tensors of float16" },
    { "tensor-kernel", "A frame to such a tensor, time on the device" },
    { "ipc", "Frames in other processes" },
    { "ipc-delay", "From the end of writing to other processes" },
    { "compare", "Pipelines in comparison" },
  };
  guint i;

  for (i = 0; i < G_N_ELEMENTS (titles); i++)
    if (strcmp (titles[i].section, section) == 0)
      return titles[i].title;
  return section;
}

/* Lists the pipelines with their numbers. */
static void
print_key (const BenchCase *c, const BenchOptions *options)
{
  BenchTable *table = bench_table_new ("Pipelines", BENCH_CELLS_TEXTS);
  guint i;

  for (i = 0; i < c->variants->len; i++) {
    const BenchVariant *variant = g_ptr_array_index (c->variants, i);

    bench_table_add_row (table);
    bench_table_add_cell (table, "%s", variant->label);
    bench_table_add_cell (table, "%s", variant->launch);
  }
  finish (table, options);
}

/* Prints one table for each section. The first case decides the columns. */
static void
print_pipelines (const GPtrArray *cases, const BenchOptions *options)
{
  const BenchCase *head = NULL;
  BenchTable *table = NULL;
  guint i;

  if (options->compare)
    print_key (g_ptr_array_index (cases, 0), options);
  for (i = 0; i < cases->len; i++) {
    const BenchCase *c = g_ptr_array_index (cases, i);

    if (!head || strcmp (head->section, c->section) != 0) {
      if (table)
        finish (table, options);
      head = c;
      table = bench_table_new (
          bench_report_section_title (c->section), BENCH_CELLS_NUMBERS);
      add_head (table, c);
    }
    add_case (table, c, head);
  }
  if (table)
    finish (table, options);
}

static void
add_summary_line (const gchar *title, gdouble value, gpointer data)
{
  BenchTable *table = data;

  bench_table_add_row (table);
  bench_table_add_cell (table, "%s", title);
  add_number (table, value, "");
}

/* Prints nothing if there are no ratios. */
static void
print_summary (const GPtrArray *cases, const BenchOptions *options)
{
  BenchTable *table = bench_table_new ("In short", BENCH_CELLS_NUMBERS);

  bench_table_add_row (table);
  bench_table_add_cell (table, "of medians");
  bench_table_add_cell (table, "ratio");
  if (bench_summary_foreach (cases, add_summary_line, table) > 0)
    finish (table, options);
  else
    bench_table_free (table);
}

/* --- the machine --------------------------------------------------------- */

static const gchar *
text_of (const GstStructure *machine, const gchar *field)
{
  const gchar *text = gst_structure_get_string (machine, field);

  return text && *text ? text : "unknown";
}

static void add_fact (BenchTable *table, const gchar *what, const gchar *format,
    ...) G_GNUC_PRINTF (3, 4);

static void
add_fact (BenchTable *table, const gchar *what, const gchar *format, ...)
{
  va_list args;
  gchar *text;

  va_start (args, format);
  text = g_strdup_vprintf (format, args);
  va_end (args);
  bench_table_add_row (table);
  bench_table_add_cell (table, "%s", what);
  bench_table_add_cell (table, "%s", text);
  g_free (text);
}

static void
print_machine (const GstStructure *machine, const BenchOptions *options)
{
  BenchTable *table = bench_table_new ("Measured on", BENCH_CELLS_TEXTS);
  gboolean software = FALSE;
  guint64 window = 0;
  gint cpus = 0;

  gst_structure_get (machine, "software", G_TYPE_BOOLEAN, &software,
      "window-size", G_TYPE_UINT64, &window, "cpus", G_TYPE_INT, &cpus, NULL);
  add_fact (table, "device", "%s%s", text_of (machine, "name"),
      software ? " (software: these figures tell nothing about a GPU)" : "");
  add_fact (table, "PCI address", "%s", text_of (machine, "pci-address"));
  add_fact (table, "window", "%" G_GUINT64_FORMAT " MiB", window >> 20);
  add_fact (table, "CUDA driver", "API %s", text_of (machine, "cuda-driver"));
  add_fact (table, "Vulkan driver", "%s", text_of (machine, "vulkan-driver"));
  add_fact (table, "GStreamer", "%s, cudaupload %s",
      text_of (machine, "gstreamer"), text_of (machine, "cudaupload"));
  add_fact (table, "processor", "%s, %d threads, copies with %s",
      text_of (machine, "cpu"), cpus, text_of (machine, "copy-isa"));
  add_fact (table, "system", "%s", text_of (machine, "kernel"));
  add_fact (table, "run", "%s, medians of %d, %g s a pipeline%s",
      text_of (machine, "date"), options->repeat, options->seconds,
      options->quick ? ", quick" : "");
  add_fact (table, "source", "writes by %s, pools of at least %d buffers",
      options->fill ? options->fill : "memset (several streams: uncached)",
      options->buffers);
  finish (table, options);
}

void
bench_report_print (const BenchResults *results, const GstStructure *machine,
    const BenchOptions *options)
{
  print_machine (machine, options);
  if (results->curves)
    print_memory (results->curves, options);
  if (results->cases)
    print_pipelines (results->cases, options);
  if (results->cases)
    print_summary (results->cases, options);
}
