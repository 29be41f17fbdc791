/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * bench-summary.h: the most important ratios
 */

#ifndef BENCH_SUMMARY_H
#define BENCH_SUMMARY_H

#include "bench-results.h"

typedef void (*BenchSummaryFunc) (
    const gchar *title, gdouble value, gpointer user_data);

/* Calls @func for each ratio of two measured values. Returns the number of
 * ratios. */
guint bench_summary_foreach (
    const GPtrArray *cases, BenchSummaryFunc func, gpointer user_data);

#endif /* BENCH_SUMMARY_H */
