/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * bench-loop.h: frames written in a bare loop: what a pipeline can reach at
 * most
 */

#ifndef BENCH_LOOP_H
#define BENCH_LOOP_H

#include <gst/vkgdr/vkgdr.h>

#include "bench-results.h"

/**
 * BenchLoop:
 * @BENCH_LOOP_RAM: into ordinary memory, where it stays
 * @BENCH_LOOP_WINDOW: through the window
 * @BENCH_LOOP_STAGED: into pinned memory, and from there by asynchronous DMA
 */
typedef enum { BENCH_LOOP_RAM, BENCH_LOOP_WINDOW, BENCH_LOOP_STAGED } BenchLoop;

/**
 * bench_loop_measure:
 * @context: the device
 * @loop: where the frames are written to
 * @size: bytes of a frame
 * @n: frames of memory that it goes through in turn, at most 16
 * @seconds: how long to measure
 * @samples: gets one sample: frames a second
 *
 * Writes frame after frame with memset(), and nothing else, in one thread.
 */
void bench_loop_measure (GstVkgdrContext *context, BenchLoop loop, gsize size,
    guint n, gdouble seconds, BenchSamples *samples);

#endif /* BENCH_LOOP_H */
