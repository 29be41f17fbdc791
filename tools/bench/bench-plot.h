/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * bench-plot.h: the results as a picture
 */

#ifndef BENCH_PLOT_H
#define BENCH_PLOT_H

#include <gst/gst.h>

#include "bench-results.h"

/* An SVG document; the caller frees it. */
gchar *bench_plot_draw (
    const BenchResults *results, const GstStructure *machine);

#endif /* BENCH_PLOT_H */
