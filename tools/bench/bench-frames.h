/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * bench-frames.h: the frames that a bare loop writes
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

/* Makes @n frames of @size bytes, at most BENCH_FRAMES_MAX. The CUDA context
 * must be current, also for the functions below. @window is the result of
 * bench_open_window () for BENCH_LOOP_WINDOW. Returns NULL with @error set on
 * failure. */
BenchFrames *bench_frames_new (
    vkgdr_t window, BenchLoop loop, gsize size, guint n, GError **error);

/* Waits for pending transfers. */
void bench_frames_free (BenchFrames *frames);

/* Writes frame number @number to the memories in turn. For BENCH_LOOP_STAGED,
 * also starts its transfer to the device. */
CUresult bench_frames_write (
    BenchFrames *frames, BenchFill *fill, guint64 number);

#endif /* BENCH_FRAMES_H */
