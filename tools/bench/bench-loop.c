/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * bench-loop.c: writes frames in a bare loop, which is the upper limit for a
 * pipeline
 *
 * A loop writes in the same way as the benchmark's source, to the same number
 * of frames, but without GStreamer. The difference from a pipeline is
 * GStreamer's overhead. The difference from ordinary memory is due to the
 * machine. Does not depend on pipelines.
 */

#include "bench-loop.h"

#include "bench-clock.h"
#include "bench-device.h"
#include "bench-frames.h"

/* The part of the time that is not counted, in which caches and page tables are
 * filled. */
#define WARM_UP_SHARE 0.2

/* Writes frames for @seconds, but at least one frame. */
static CUresult
write_for (BenchFrames *frames, BenchFill *fill, gdouble seconds, gdouble *rate)
{
  gint64 start = bench_now (), now = start;
  CUresult result = CUDA_SUCCESS;
  guint64 n = 0;

  while (result == CUDA_SUCCESS && (n == 0 || now - start < seconds * 1e9)) {
    result = bench_frames_write (frames, fill, n++);
    now = bench_now ();
  }
  *rate = n * 1e9 / (now - start);
  return result;
}

void
bench_loop_measure (GstVkgdrContext *context, const BenchWrites *writes,
    BenchLoop loop, gdouble seconds, BenchSamples *samples)
{
  const vkgdr_cuda *cu = vkgdr_driver_load ();
  BenchFrames *frames = NULL;
  vkgdr_t window = NULL;
  GError *error = NULL;
  gdouble rate = 0;
  BenchFill fill;

  if (!gst_vkgdr_context_push (context, &error)) {
    bench_samples_fail (samples, error);
    return;
  }
  bench_fill_init (&fill, writes->fill, writes->area);
  if (loop != BENCH_LOOP_WINDOW || (window = bench_open_window (&error)))
    frames =
        bench_frames_new (window, loop, writes->size, writes->buffers, &error);
  if (frames
      && bench_check (cu,
          write_for (frames, &fill, seconds * WARM_UP_SHARE, &rate),
          "a transfer", &error)
      && bench_check (
          cu, write_for (frames, &fill, seconds, &rate), "a transfer", &error))
    g_array_append_val (samples->values, rate);
  else
    bench_samples_fail (samples, error);
  g_clear_pointer (&frames, bench_frames_free);
  vkgdr_close (window);
  bench_fill_clear (&fill);
  gst_vkgdr_context_pop (context);
}
