/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * bench-json.h: the results as JSON
 */

#ifndef BENCH_JSON_H
#define BENCH_JSON_H

#include <gst/gst.h>

#include "bench-options.h"
#include "bench-results.h"

/* The caller frees the result. docs/performance.md describes the format. */
gchar *bench_json_write (const BenchResults *results,
    const GstStructure *machine, const BenchOptions *options);

#endif /* BENCH_JSON_H */
