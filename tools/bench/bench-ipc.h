/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * bench-ipc.h: measures frames that go to other processes
 */

#ifndef BENCH_IPC_H
#define BENCH_IPC_H

#include <gst/vkgdr/vkgdr.h>

/**
 * BenchIpcResult:
 * @rate: frames per second in the slowest process
 * @received: nanoseconds from the end of writing until that process has the
 *   frame, a median
 * @median: nanoseconds from the end of writing until that process has launched
 *   a kernel on the frame, in the slowest process; 0 without a kernel
 * @tail: the same as a percentile: 99 of 100 frames take no longer
 */
typedef struct {
  gdouble rate;
  gdouble received;
  gdouble median;
  gdouble tail;
} BenchIpcResult;

/* Separates the two pipelines of a measurement. */
#define BENCH_IPC_CONSUMER " IPC_CONSUMER"

/* Runs the first pipeline of @launch, which has one vkgdripcsink, for @seconds,
 * and the second one in @consumers further processes of this program, which
 * take its frames. In the second one, the element "received" gives buffers when
 * these were received. An element "launched" is a vkgdrbenchfilter. IPC_PATH in
 * @launch is replaced by the socket. Returns FALSE with @error set on failure.
 */
gboolean bench_ipc_run (const gchar *launch, guint consumers,
    GstVkgdrContext *context, gdouble seconds, BenchIpcResult *result,
    GError **error);

/* Runs @launch in one of these processes to its end, and prints a result. */
gboolean bench_ipc_consume (const gchar *launch, GError **error);

#endif /* BENCH_IPC_H */
