/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * bench-progress.c: one line on the terminal that shows the progress
 *
 * The line is on standard error, because standard output is for results. Must
 * not depend on what is done.
 */

#include "bench-progress.h"

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

/* The width of the line in columns, so that it does not wrap on a usual
 * terminal. */
#define WIDTH 78

void
bench_progress_show (guint done, guint total, const gchar *format, ...)
{
  va_list args;
  gchar *text;

  if (!isatty (STDERR_FILENO))
    return;
  va_start (args, format);
  text = g_strdup_vprintf (format, args);
  va_end (args);
  fprintf (stderr, "\r\033[K%3u%%  %.*s", total ? done * 100 / total : 0,
      WIDTH - 6, text);
  fflush (stderr);
  g_free (text);
}

void
bench_progress_clear (void)
{
  if (isatty (STDERR_FILENO))
    fputs ("\r\033[K", stderr);
}
