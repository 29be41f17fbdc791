/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * bench-ipc.h: measures frames that are sent to other processes
 */

#ifndef BENCH_IPC_H
#define BENCH_IPC_H

#include <gst/vkgdr/vkgdr.h>

/**
 * BenchIpcResult:
 * @rate: frames per second in the slowest process
 * @received: nanoseconds from the end of writing until a process has received
 *   the frame: the median, in the slowest process
 * @median: nanoseconds from the end of writing until a process has launched a
 *   kernel on the frame: the median, in the slowest process; 0 without a kernel
 * @tail: as @median, but the 99th percentile
 */
typedef struct {
  gdouble rate;
  gdouble received;
  gdouble median;
  gdouble tail;
} BenchIpcResult;

/* Separates the two pipelines of a measurement. */
#define BENCH_IPC_CONSUMER " IPC_CONSUMER"

/* Runs the first pipeline of @launch, which has one sink for other processes,
 * for @seconds. Runs the second pipeline, which receives its frames, in
 * @consumers further processes of this program. In the second pipeline, the
 * element that receives frames is named "received", and an element "launched"
 * is a vkgdrbenchfilter. IPC_PATH in @launch is replaced by the path of the
 * socket. Returns FALSE with @error set on failure. */
gboolean bench_ipc_run (const gchar *launch, guint consumers,
    GstVkgdrContext *context, gdouble seconds, BenchIpcResult *result,
    GError **error);

/* Runs @launch to its end in one of the further processes, and prints its
 * result. */
gboolean bench_ipc_consume (const gchar *launch, GError **error);

#endif /* BENCH_IPC_H */
