/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * bench-streams.h: bare loops in several threads
 */

#ifndef BENCH_STREAMS_H
#define BENCH_STREAMS_H

#include "bench-loop.h"

/**
 * BenchMix:
 * @BENCH_MIX_DIRECT: all threads write through the window
 * @BENCH_MIX_STAGED: all threads write to pinned memory, which DMA sends
 * @BENCH_MIX_BEST: the best mix of both
 */
typedef enum { BENCH_MIX_DIRECT, BENCH_MIX_STAGED, BENCH_MIX_BEST } BenchMix;

/**
 * bench_streams_measure:
 * @context: the device
 * @writes: what each thread writes
 * @n: threads, at most 64
 * @mix: where the threads write
 * @seconds: how long to measure one number of direct threads
 * @samples: gets one sample: frames per second of all threads together
 * @note: (inout): replaced by text that describes the mix of the sample
 *
 * Writes frame after frame in several threads. For @BENCH_MIX_BEST, measures
 * several numbers of direct threads, and takes the best.
 */
void bench_streams_measure (GstVkgdrContext *context, const BenchWrites *writes,
    guint n, BenchMix mix, gdouble seconds, BenchSamples *samples,
    gchar **note);

#endif /* BENCH_STREAMS_H */
