/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * bench-report.h: the results as tables
 */

#ifndef BENCH_REPORT_H
#define BENCH_REPORT_H

#include <gst/gst.h>

#include "bench-options.h"
#include "bench-results.h"

/* Prints the results to standard output, for a terminal or in Markdown. */
void bench_report_print (const BenchResults *results,
    const GstStructure *machine, const BenchOptions *options);

/* Returns the title of a section's table. */
const gchar *bench_report_section_title (const gchar *section);

#endif /* BENCH_REPORT_H */
