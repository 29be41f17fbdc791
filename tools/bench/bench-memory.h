/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * bench-memory.h: measures copies between the CPU and the device, by size
 */

#ifndef BENCH_MEMORY_H
#define BENCH_MEMORY_H

#include <gst/vkgdr/vkgdr.h>

#include "bench-options.h"
#include "bench-results.h"

/**
 * bench_memory_run:
 * @context: the device
 * @options: the user's options
 * @error: return location for a #GError
 *
 * Measures all kinds of copies. If one fails, its samples have the error.
 *
 * Returns: (transfer full): array of BenchCurve, or %NULL with @error set if
 *   the memory for the copies cannot be allocated
 */
GPtrArray *bench_memory_run (
    GstVkgdrContext *context, const BenchOptions *options, GError **error);

/**
 * bench_memory_measure_link:
 * @context: the device
 * @direction: the direction of the transfers
 * @seconds: how long to measure
 * @samples: gets one sample: 10^9 bytes per second of DMA transfers, one after
 *   the other, from or to pinned memory
 *
 * Measures the maximum rate of the link, for comparison.
 */
void bench_memory_measure_link (GstVkgdrContext *context,
    BenchDirection direction, gdouble seconds, BenchSamples *samples);

/**
 * bench_memory_measure_device:
 * @context: the device
 * @size: bytes of a copy
 * @seconds: how long to measure
 * @samples: gets one sample: 10^9 bytes per second that the device reads and
 *   writes, added together, when it copies inside its memory
 */
void bench_memory_measure_device (GstVkgdrContext *context, gsize size,
    gdouble seconds, BenchSamples *samples);

#endif /* BENCH_MEMORY_H */
