/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * bench-run.h: runs one pipeline and counts what arrives
 */

#ifndef BENCH_RUN_H
#define BENCH_RUN_H

#include <gst/vkgdr/vkgdr.h>

/**
 * bench_run:
 * @launch: a pipeline, as gst-launch-1.0 takes it, with at least one sink
 * @context: the device for elements that can use it
 * @warm_up: seconds that it runs before it is counted, at least
 * @seconds: how long to count, after the warm-up
 * @rate: (out): buffers a second, of all sinks together
 * @error: return location for a #GError
 *
 * Returns: %FALSE with @error set where the pipeline cannot be made, fails, or
 *   brings nothing
 */
gboolean bench_run (const gchar *launch, GstVkgdrContext *context,
    gdouble warm_up, gdouble seconds, gdouble *rate, GError **error);

/**
 * bench_run_kernel:
 * @launch: a pipeline, as gst-launch-1.0 takes it, whose element named `timed`
 *   tells a `kernel-time` in its stats
 * @context: the device for elements that can use it
 * @seconds: how long to run
 * @time: (out): seconds that the device worked on a frame
 * @error: return location for a #GError
 *
 * Returns: %FALSE with @error set, as bench_run(), or where the element tells
 *   no time
 */
gboolean bench_run_kernel (const gchar *launch, GstVkgdrContext *context,
    gdouble seconds, gdouble *time, GError **error);

/**
 * BenchMemory:
 * @used: bytes of the device's memory that are in use more than before
 * @pool: bytes that the context's allocator has more than before
 *
 * What a running pipeline takes of the device.
 */
typedef struct {
  gdouble used;
  gdouble pool;
} BenchMemory;

/**
 * bench_run_memory:
 * @launch: a pipeline, as gst-launch-1.0 takes it, with at least one sink
 * @context: the device for elements that can use it
 * @seconds: how long to run before looking
 * @memory: (out): what it takes while it runs. Other processes on the device
 *   count as well
 * @error: return location for a #GError
 *
 * Returns: %FALSE with @error set, as bench_run()
 */
gboolean bench_run_memory (const gchar *launch, GstVkgdrContext *context,
    gdouble seconds, BenchMemory *memory, GError **error);

/**
 * bench_run_start:
 * @launch: a pipeline, as gst-launch-1.0 takes it, with one sink
 * @context: the device for elements that can use it
 * @seconds: (out): from the change of state to the first buffer at the sink
 * @error: return location for a #GError
 *
 * Returns: %FALSE with @error set, as bench_run()
 */
gboolean bench_run_start (const gchar *launch, GstVkgdrContext *context,
    gdouble *seconds, GError **error);

/**
 * bench_run_first:
 * @launch: a pipeline, as gst-launch-1.0 takes it, with one sink
 * @context: (nullable): the device for elements that can use it; they find one
 *   by themselves without it
 * @time: (out): when the first buffer came to the sink
 * @error: return location for a #GError
 *
 * Returns: %FALSE with @error set, as bench_run()
 */
gboolean bench_run_first (const gchar *launch, GstVkgdrContext *context,
    gint64 *time, GError **error);

#endif /* BENCH_RUN_H */
