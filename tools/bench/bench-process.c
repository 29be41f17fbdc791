/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * bench-process.c: the first frame of a pipeline in a process of its own
 *
 * Both processes have the same monotonic clock. The child prints the time of
 * the first frame, and the parent knows when it has started the child.
 */

#include "bench-process.h"

#include <stdio.h>
#include <stdlib.h>

#include "bench-clock.h"
#include "bench-run.h"

gboolean
bench_process_start (const gchar *launch, gdouble *seconds, GError **error)
{
  gchar *self = g_file_read_link ("/proc/self/exe", error);
  gchar *argv[] = { self, (gchar *) "first-frame", (gchar *) launch, NULL };
  gchar *output = NULL, *complaints = NULL;
  gint64 began = bench_now (), first;
  gint status;
  gboolean ok;

  ok = self
       && g_spawn_sync (NULL, argv, NULL, G_SPAWN_DEFAULT, NULL, NULL, &output,
           &complaints, &status, error);
  if (ok && !g_spawn_check_wait_status (status, NULL)) {
    g_set_error (error, GST_CORE_ERROR, GST_CORE_ERROR_FAILED,
        "the process failed: %s", complaints);
    ok = FALSE;
  }
  if (ok) {
    first = g_ascii_strtoll (output, NULL, 10);
    *seconds = (first - began) / 1e9;
  }
  g_free (complaints);
  g_free (output);
  g_free (self);
  return ok;
}

gboolean
bench_process_print_first (const gchar *launch, GError **error)
{
  gint64 first;

  if (!bench_run_first (launch, NULL, &first, error))
    return FALSE;
  printf ("%" G_GINT64_FORMAT "\n", first);
  return TRUE;
}
