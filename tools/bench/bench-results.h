/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * bench-results.h: the results: samples, their summaries and comparisons
 *
 * Must not depend on how they are measured or printed.
 */

#ifndef BENCH_RESULTS_H
#define BENCH_RESULTS_H

#include <glib.h>

#include "bench-fill.h"

/**
 * BenchSummary:
 * @median: of @n values; the mean of the middle two if @n is even
 * @min: smallest
 * @max: largest
 * @n: number of values; if it is 0, the other members have no meaning
 */
typedef struct {
  gdouble median;
  gdouble min;
  gdouble max;
  guint n;
} BenchSummary;

/**
 * BenchSamples:
 * @values: of gdouble, one for each repetition, in their order
 * @error: (nullable): the first error of a sample; if it is set, @values are
 *   not used
 */
typedef struct {
  GArray *values;
  gchar *error;
} BenchSamples;

typedef enum { BENCH_TO_DEVICE, BENCH_FROM_DEVICE } BenchDirection;

/**
 * BenchPoint:
 * @bytes: the size of one call
 * @seconds: the time of one call
 */
typedef struct {
  gsize bytes;
  BenchSamples seconds;
} BenchPoint;

/**
 * BenchCurve:
 * @id: its name in JSON
 * @label: its name in tables
 * @direction: the direction of the copies
 * @points: of BenchPoint, sizes ascending
 *
 * One kind of copy, for all sizes. The strings are static.
 */
typedef struct {
  const gchar *id;
  const gchar *label;
  BenchDirection direction;
  GPtrArray *points;
} BenchCurve;

/**
 * BenchUnit:
 * @BENCH_FRAMES_PER_SECOND: frames per second
 * @BENCH_BUFFERS_PER_SECOND: buffers per second
 * @BENCH_GB_PER_SECOND: 10^9 bytes per second
 * @BENCH_MICROSECONDS: microseconds per frame: smaller is better, and
 *   differences are more useful than ratios
 * @BENCH_MILLISECONDS: milliseconds to the first frame, likewise
 * @BENCH_MEGABYTES: 10^6 bytes of the device's memory, likewise
 */
typedef enum {
  BENCH_FRAMES_PER_SECOND,
  BENCH_BUFFERS_PER_SECOND,
  BENCH_GB_PER_SECOND,
  BENCH_MICROSECONDS,
  BENCH_MILLISECONDS,
  BENCH_MEGABYTES
} BenchUnit;

/**
 * BenchVariant:
 * @id: its name in JSON and among the case's variants; static
 * @label: its name in tables; static
 * @launch: (nullable): its pipeline
 * @batch: frames in a buffer that is counted
 * @note: (nullable): additional text about the last sample
 * @is_single: whether the case's first variant is not compared with it
 * @samples: in the case's unit
 */
typedef struct {
  const gchar *id;
  const gchar *label;
  gchar *launch;
  gchar *note;
  guint batch;
  gboolean is_single;
  BenchSamples samples;
} BenchVariant;

/**
 * BenchCase:
 * @section: its group of cases; static
 * @id: its name in JSON
 * @title: its name in tables
 * @unit: the unit of its samples
 * @bytes: of one frame
 * @streams: the number of streams at the same time
 * @fill: how frames are written
 * @area: size of the area that a stream copies from, for BENCH_FILL_UNCACHED
 * @consumers: other processes that take the frames
 * @variants: of BenchVariant. The first one is compared with each of the
 *   others, except single ones
 */
typedef struct {
  const gchar *section;
  gchar *id;
  gchar *title;
  BenchUnit unit;
  gsize bytes;
  guint streams;
  guint consumers;
  BenchFillKind fill;
  gsize area;
  GPtrArray *variants;
} BenchCase;

/**
 * BenchResults:
 * @curves: of BenchCurve, or %NULL if memory was not measured
 * @cases: of BenchCase, or %NULL if no pipeline was measured
 */
typedef struct {
  GPtrArray *curves;
  GPtrArray *cases;
} BenchResults;

void bench_samples_init (BenchSamples *samples);
void bench_samples_clear (BenchSamples *samples);

/* Takes ownership of @error. Only the first error is kept, as one line. */
void bench_samples_fail (BenchSamples *samples, GError *error);

/* All members are 0 if the samples failed. */
BenchSummary bench_samples_summarize (const BenchSamples *samples);

BenchSummary bench_summarize (const gdouble *values, guint n);

/* Compares the samples of the same repetition: a / b, or a - b if @difference.
 * All members are 0 if either failed. */
BenchSummary bench_compare (
    const BenchSamples *a, const BenchSamples *b, gboolean difference);

BenchCurve *bench_curve_new (
    const gchar *id, const gchar *label, BenchDirection direction);
BenchPoint *bench_curve_add (BenchCurve *curve, gsize bytes);

/* Returns NULL if there is none. */
BenchPoint *bench_curve_find (const BenchCurve *curve, gsize bytes);

/* Takes ownership of @id and @title. */
BenchCase *bench_case_new (
    const gchar *section, gchar *id, gchar *title, BenchUnit unit, gsize bytes);

/* @data is a BenchCase. */
void bench_case_free (gpointer data);

/* Takes ownership of @launch. */
BenchVariant *bench_case_add (
    BenchCase *c, const gchar *id, const gchar *label, gchar *launch);

/* Returns NULL if there is none. */
BenchVariant *bench_case_find (const BenchCase *c, const gchar *id);

const gchar *bench_unit_name (BenchUnit unit);

/* Whether smaller is better, and differences are more useful than ratios. */
gboolean bench_unit_has_differences (BenchUnit unit);

void bench_results_clear (BenchResults *results);

#endif /* BENCH_RESULTS_H */
