/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * bench-loop.h: writes frames in a bare loop, which is the upper limit for a
 * pipeline
 */

#ifndef BENCH_LOOP_H
#define BENCH_LOOP_H

#include <gst/vkgdr/vkgdr.h>

#include "bench-fill.h"
#include "bench-results.h"

/**
 * BenchLoop:
 * @BENCH_LOOP_RAM: into ordinary memory, without a transfer
 * @BENCH_LOOP_WINDOW: through the window
 * @BENCH_LOOP_STAGED: into pinned memory, which asynchronous DMA transfers
 */
typedef enum { BENCH_LOOP_RAM, BENCH_LOOP_WINDOW, BENCH_LOOP_STAGED } BenchLoop;

/**
 * BenchWrites:
 * @size: bytes of a frame
 * @buffers: the number of frames that a thread writes in turn, at most 16
 * @fill: how a thread writes
 * @area: size of the area that a thread copies from, for BENCH_FILL_UNCACHED
 *
 * The work of a thread of a bare loop.
 */
typedef struct {
  gsize size;
  guint buffers;
  BenchFillKind fill;
  gsize area;
} BenchWrites;

/**
 * bench_loop_measure:
 * @context: the device
 * @writes: the work
 * @loop: where the frames are written to
 * @seconds: how long to measure
 * @samples: gets one sample: frames per second
 *
 * Writes frame after frame, and nothing else, in one thread.
 */
void bench_loop_measure (GstVkgdrContext *context, const BenchWrites *writes,
    BenchLoop loop, gdouble seconds, BenchSamples *samples);

#endif /* BENCH_LOOP_H */
