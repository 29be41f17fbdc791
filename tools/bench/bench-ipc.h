/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * bench-ipc.h: frames that go to other processes
 */

#ifndef BENCH_IPC_H
#define BENCH_IPC_H

#include <gst/vkgdr/vkgdr.h>

/**
 * BenchIpcResult:
 * @rate: frames a second that came to the slowest process
 * @median: nanoseconds from the end of writing until that process has launched
 *   a kernel on the frame, in the process in which that takes longest
 * @tail: the same, which 99 of 100 frames do not exceed
 */
typedef struct {
  gdouble rate;
  gdouble median;
  gdouble tail;
} BenchIpcResult;

/* Runs @launch, a pipeline with one vkgdripcsink, in which IPC_PATH stands for
 * the socket, for @seconds, and @consumers further processes of this program
 * that take its frames. FALSE with @error set on failure. */
gboolean bench_ipc_run (const gchar *launch, guint consumers,
    GstVkgdrContext *context, gdouble seconds, BenchIpcResult *result,
    GError **error);

/* What such a process does: runs @launch to its end, and prints a result. */
gboolean bench_ipc_consume (const gchar *launch, GError **error);

#endif /* BENCH_IPC_H */
