/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * bench-run.h: runs one pipeline and counts the buffers that arrive
 */

#ifndef BENCH_RUN_H
#define BENCH_RUN_H

#include <gst/vkgdr/vkgdr.h>

/**
 * bench_run:
 * @launch: a pipeline, in the syntax of gst-launch-1.0, with at least one sink
 * @context: the device for elements that can use it
 * @warm_up: the shortest time before buffers are counted, in seconds
 * @seconds: how long to count after that
 * @rate: (out): buffers per second, of all sinks together
 * @error: return location for a #GError
 *
 * Returns: %FALSE with @error set if the pipeline cannot be made, fails, or
 *   sends no buffers
 */
gboolean bench_run (const gchar *launch, GstVkgdrContext *context,
    gdouble warm_up, gdouble seconds, gdouble *rate, GError **error);

/**
 * bench_run_kernel:
 * @launch: a pipeline, in the syntax of gst-launch-1.0, whose element named
 *   `timed` has a `kernel-time` in its stats
 * @context: the device for elements that can use it
 * @seconds: how long to run
 * @time: (out): the time of a frame's kernel on the device, in seconds
 * @error: return location for a #GError
 *
 * Returns: %FALSE with @error set, as bench_run(), or if the element has no
 *   such time
 */
gboolean bench_run_kernel (const gchar *launch, GstVkgdrContext *context,
    gdouble seconds, gdouble *time, GError **error);

/**
 * BenchMemory:
 * @used: by how many bytes the memory in use on the device has grown
 * @pool: by how many bytes the memory of the context's allocator has grown
 *
 * The memory that a running pipeline uses.
 */
typedef struct {
  gdouble used;
  gdouble pool;
} BenchMemory;

/**
 * bench_run_memory:
 * @launch: a pipeline, in the syntax of gst-launch-1.0, with at least one sink
 * @context: the device for elements that can use it
 * @seconds: how long to run before the memory is read
 * @memory: (out): the memory that it uses. Other processes on the device are
 *   counted, too
 * @error: return location for a #GError
 *
 * Returns: %FALSE with @error set, as bench_run()
 */
gboolean bench_run_memory (const gchar *launch, GstVkgdrContext *context,
    gdouble seconds, BenchMemory *memory, GError **error);

/**
 * bench_run_start:
 * @launch: a pipeline, in the syntax of gst-launch-1.0, with one sink
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
 * @launch: a pipeline, in the syntax of gst-launch-1.0, with one sink
 * @context: (nullable): the device for elements that can use it; without it,
 *   they open one themselves
 * @time: (out): the time of bench_now() when the first buffer came to the sink
 * @error: return location for a #GError
 *
 * Returns: %FALSE with @error set, as bench_run()
 */
gboolean bench_run_first (const gchar *launch, GstVkgdrContext *context,
    gint64 *time, GError **error);

#endif /* BENCH_RUN_H */
