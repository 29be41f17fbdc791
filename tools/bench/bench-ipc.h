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
 * @median: nanoseconds from the end of writing until that process has launched
 *   a kernel on the frame, in the slowest process
 * @tail: the same as a percentile: 99 of 100 frames take no longer
 */
typedef struct {
  gdouble rate;
  gdouble median;
  gdouble tail;
} BenchIpcResult;

/* Runs @launch, a pipeline with one vkgdripcsink, for @seconds, and @consumers
 * further processes of this program that take its frames. IPC_PATH in @launch
 * is replaced by the socket. Returns FALSE with @error set on failure. */
gboolean bench_ipc_run (const gchar *launch, guint consumers,
    GstVkgdrContext *context, gdouble seconds, BenchIpcResult *result,
    GError **error);

/* Runs @launch in one of these processes to its end, and prints a result. */
gboolean bench_ipc_consume (const gchar *launch, GError **error);

#endif /* BENCH_IPC_H */
