/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * bench-progress.h: one line on the terminal that shows the progress
 */

#ifndef BENCH_PROGRESS_H
#define BENCH_PROGRESS_H

#include <glib.h>

/* Shows @done of @total, and what is being done. Does nothing if standard error
 * is not a terminal. */
void bench_progress_show (guint done, guint total, const gchar *format, ...)
    G_GNUC_PRINTF (3, 4);

/* Removes the line. */
void bench_progress_clear (void);

#endif /* BENCH_PROGRESS_H */
