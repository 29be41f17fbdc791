/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * bench-process.h: the first frame of a pipeline in a process of its own
 */

#ifndef BENCH_PROCESS_H
#define BENCH_PROCESS_H

#include <glib.h>

/* Starts this program again, which runs the pipeline @launch. @seconds is the
 * time from the start of the process to the first buffer at the pipeline's
 * sink. Returns FALSE with @error set on failure. */
gboolean bench_process_start (
    const gchar *launch, gdouble *seconds, GError **error);

/* Runs the pipeline in the process that bench_process_start () starts. Prints
 * the time of the first buffer. */
gboolean bench_process_print_first (const gchar *launch, GError **error);

#endif /* BENCH_PROCESS_H */
