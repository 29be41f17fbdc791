/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * bench-progress.c: one line on the terminal that tells how far things are
 *
 * On standard error, since standard output is for results. Must not know what
 * is being done.
 */

#include "bench-progress.h"

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

/* Columns that are used, so that a line does not wrap on a usual terminal. */
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
