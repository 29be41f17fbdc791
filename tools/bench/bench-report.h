/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * bench-report.h: the results as tables
 */

#ifndef BENCH_REPORT_H
#define BENCH_REPORT_H

#include <gst/gst.h>

#include "bench-options.h"
#include "bench-results.h"

/* Prints what was measured to standard output: on a terminal's terms, or in
 * Markdown. */
void bench_report_print (const BenchResults *results,
    const GstStructure *machine, const BenchOptions *options);

/* "4 KiB" and the like; the caller frees it. */
gchar *bench_report_size (gsize bytes);

/* Three digits that count; the caller frees it. */
gchar *bench_report_number (gdouble value);

#endif /* BENCH_REPORT_H */
