/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * bench-frames.h: frames of memory that a bare loop writes
 */

#ifndef BENCH_FRAMES_H
#define BENCH_FRAMES_H

#include <gst/vkgdr/vkgdr.h>

#include "bench-fill.h"
#include "bench-loop.h"
#include "driver.h"
#include <vkgdr/vkgdr.h>

#define BENCH_FRAMES_MAX 16

typedef struct _BenchFrames BenchFrames;

/* @n frames of @size bytes, at most BENCH_FRAMES_MAX. The CUDA context has to
 * be current, here and in the calls below. @window: for BENCH_LOOP_WINDOW, from
 * bench_open_window (). Returns NULL with @error set on failure. */
BenchFrames *bench_frames_new (
    vkgdr_t window, BenchLoop loop, gsize size, guint n, GError **error);

/* Waits for transfers under way. */
void bench_frames_free (BenchFrames *frames);

/* Writes the frame @number, in turn, and brings it to the device. */
CUresult bench_frames_write (
    BenchFrames *frames, BenchFill *fill, guint64 number);

#endif /* BENCH_FRAMES_H */
