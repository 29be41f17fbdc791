/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * bench-results.h: what was measured: samples, their summaries and comparisons
 *
 * Must not know how anything is measured or shown.
 */

#ifndef BENCH_RESULTS_H
#define BENCH_RESULTS_H

#include <glib.h>

#include "bench-fill.h"

/**
 * BenchSummary:
 * @median: of @n values; the mean of the middle two where @n is even
 * @min: smallest
 * @max: largest
 * @n: how many; the rest means nothing where it is 0
 */
typedef struct {
  gdouble median;
  gdouble min;
  gdouble max;
  guint n;
} BenchSummary;

/**
 * BenchSamples:
 * @values: of gdouble, one a repetition, in order
 * @error: (nullable): why there are no (more) samples; then none count
 */
typedef struct {
  GArray *values;
  gchar *error;
} BenchSamples;

typedef enum { BENCH_TO_DEVICE, BENCH_FROM_DEVICE } BenchDirection;

/**
 * BenchPoint:
 * @bytes: of one call
 * @seconds: that a call took
 */
typedef struct {
  gsize bytes;
  BenchSamples seconds;
} BenchPoint;

/**
 * BenchCurve:
 * @id: its name in JSON
 * @label: its name for people
 * @direction: which way the bytes go
 * @points: of BenchPoint, sizes ascending
 *
 * One way to copy, over sizes. The strings are the caller's, and static.
 */
typedef struct {
  const gchar *id;
  const gchar *label;
  BenchDirection direction;
  GPtrArray *points;
} BenchCurve;

/**
 * BenchUnit:
 * @BENCH_FRAMES_PER_SECOND: frames a second
 * @BENCH_BUFFERS_PER_SECOND: buffers a second
 * @BENCH_GB_PER_SECOND: 10^9 bytes a second
 * @BENCH_MICROSECONDS: microseconds a frame: less is better, and differences
 *   say more than ratios
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
 * @label: its name for people; static
 * @launch: (nullable): its pipeline
 * @batch: frames in a buffer that is counted
 * @note: (nullable): what else is known of the last sample
 * @samples: in the case's unit
 */
typedef struct {
  const gchar *id;
  const gchar *label;
  gchar *launch;
  gchar *note;
  guint batch;
  BenchSamples samples;
} BenchVariant;

/**
 * BenchCase:
 * @section: the group of cases that it stands with; static
 * @id: its name in JSON
 * @title: its name for people
 * @unit: what its samples count
 * @bytes: of one frame
 * @streams: how many run at once
 * @fill: how frames are written
 * @area: bytes of the area that a stream copies from, where it is uncached
 * @consumers: other processes that take the frames
 * @variants: of BenchVariant. The first is the one that is compared with each
 *   of the others
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
 * @curves: of BenchCurve, or %NULL where memory was not measured
 * @cases: of BenchCase, or %NULL where no pipeline was
 */
typedef struct {
  GPtrArray *curves;
  GPtrArray *cases;
} BenchResults;

void bench_samples_init (BenchSamples *samples);
void bench_samples_clear (BenchSamples *samples);

/* Takes over @error; the first one counts, as one line. */
void bench_samples_fail (BenchSamples *samples, GError *error);

/* All zero where the samples failed. */
BenchSummary bench_samples_summarize (const BenchSamples *samples);

BenchSummary bench_summarize (const gdouble *values, guint n);

/* Of the samples of the same repetition: a / b, or a - b where @difference.
 * All zero where either failed. */
BenchSummary bench_compare (
    const BenchSamples *a, const BenchSamples *b, gboolean difference);

BenchCurve *bench_curve_new (
    const gchar *id, const gchar *label, BenchDirection direction);
BenchPoint *bench_curve_add (BenchCurve *curve, gsize bytes);

/* (nullable) */
BenchPoint *bench_curve_find (const BenchCurve *curve, gsize bytes);

/* Takes over @id and @title. */
BenchCase *bench_case_new (
    const gchar *section, gchar *id, gchar *title, BenchUnit unit, gsize bytes);

/* @data is a BenchCase. */
void bench_case_free (gpointer data);

/* Takes over @launch. */
BenchVariant *bench_case_add (
    BenchCase *c, const gchar *id, const gchar *label, gchar *launch);

/* (nullable). @cases is nullable, too. */
const BenchCase *bench_cases_find (const GPtrArray *cases, const gchar *id);

/* (nullable) */
BenchVariant *bench_case_find (const BenchCase *c, const gchar *id);

const gchar *bench_unit_name (BenchUnit unit);

/* Whether less is better, and differences say more than ratios. */
gboolean bench_unit_has_differences (BenchUnit unit);

void bench_results_clear (BenchResults *results);

#endif /* BENCH_RESULTS_H */
