/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * reply.c: replies and errors of the helper, and the time of calls
 */

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <json-glib/json-glib.h>

#include "bench.h"

/* The shortest time of one measurement in nanoseconds, so that reading the
 * clock, which takes about 20 ns, does not matter. */
#define MIN_STRETCH 4000

static FILE *replies;

/* --- replies and errors --------------------------------------------------- */

gboolean
bench_open_replies (void)
{
  int fd = dup (STDOUT_FILENO);

  replies = fd >= 0 ? fdopen (fd, "w") : NULL;
  return replies && dup2 (STDERR_FILENO, STDOUT_FILENO) >= 0;
}

void
bench_reply (GVariant *reply)
{
  gchar *text = json_gvariant_serialize_data (g_variant_ref_sink (reply), NULL);

  fprintf (replies, "%s\n", text);
  fflush (replies);
  g_free (text);
  g_variant_unref (reply);
}

void
bench_die (const gchar *format, ...)
{
  va_list arguments;
  gchar *text;

  va_start (arguments, format);
  text = g_strdup_vprintf (format, arguments);
  text = g_utf8_make_valid (text, -1);
  bench_reply (g_variant_new_parsed ("{'error': %s}", text));
  _exit (EXIT_FAILURE);
}

void
bench_die_of_vkgdr (void)
{
  const char *text = vkgdr_last_error ();

  bench_die ("%s", text ? text : "libvkgdr gives no reason");
}

void
bench_check (CUresult result, const gchar *function)
{
  const char *name = "unknown";

  if (result == CUDA_SUCCESS)
    return;
  vkgdr_driver_load ()->cuGetErrorName (result, &name);
  bench_die ("%s failed (%s, %d)", function, name, result);
}

/* --- time ----------------------------------------------------------------- */

gdouble
bench_time_calls (void (*func) (gpointer data), gpointer data, gdouble seconds)
{
  GstClockTime budget = seconds * GST_SECOND, elapsed = 0;
  guint64 calls = 0;
  guint batch = 1, i;

  while (calls == 0 || elapsed < budget) {
    GstClockTime start = gst_util_get_timestamp (), took;

    for (i = 0; i < batch; i++)
      func (data);
    took = gst_util_get_timestamp () - start;
    if (took < MIN_STRETCH) { /* the calls are timed in larger batches */
      batch *= 2;
      continue;
    }
    elapsed += took;
    calls += batch;
  }
  return elapsed / 1e9 / calls;
}
