/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * bench-main.c: the main program of vkgdr-bench, which measures how fast data
 * get to the GPU
 *
 * Only calls functions of the other files, in the right order.
 */

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench-ipc.h"
#include "bench-json.h"
#include "bench-machine.h"
#include "bench-memory.h"
#include "bench-options.h"
#include "bench-pipeline.h"
#include "bench-process.h"
#include "bench-report.h"
#include "bench-source.h"

#define EXIT_USAGE 2

static gboolean
fail (const GError *error)
{
  fprintf (stderr, "vkgdr-bench: %s\n", error->message);
  return FALSE;
}

/* Writes @text to @path, and frees it. */
static gboolean
write_file (const gchar *path, gchar *text)
{
  GError *error = NULL;
  gboolean ok = TRUE;

  if (!g_file_set_contents (path, text, -1, &error)) {
    ok = fail (error);
    g_error_free (error);
  }
  g_free (text);
  return ok;
}

static gboolean
put_out (const BenchResults *results, GstVkgdrContext *context,
    const BenchOptions *options)
{
  GstStructure *machine = bench_machine_describe (context);
  gboolean ok = TRUE;

  if (options->json) {
    gchar *text = bench_json_write (results, machine, options);

    fputs (text, stdout);
    g_free (text);
  } else {
    bench_report_print (results, machine, options);
  }
  if (options->save)
    ok = write_file (
        options->save, bench_json_write (results, machine, options));
  gst_structure_free (machine);
  if (fflush (stdout) != 0 || ferror (stdout)) {
    perror ("vkgdr-bench: standard output");
    ok = FALSE;
  }
  return ok;
}

static gboolean
measure (const BenchOptions *options)
{
  GstVkgdrContext *context;
  BenchResults results = { NULL, NULL };
  GError *error = NULL;
  gboolean ok = TRUE;

  context = gst_vkgdr_context_new (options->device, &error);
  if (context && options->memory)
    results.curves = bench_memory_run (context, options, &error);
  if (!error && options->pipelines)
    results.cases = bench_pipeline_run (context, options, &error);
  if (error)
    ok = fail (error);
  else
    ok = put_out (&results, context, options);
  bench_results_clear (&results);
  gst_clear_object (&context);
  g_clear_error (&error);
  return ok;
}

int
main (int argc, char **argv)
{
  BenchOptions options;
  GError *error = NULL;
  gboolean ok = TRUE;

  setlocale (LC_CTYPE, "");
  if (!bench_options_parse (&options, &argc, &argv, &error)) {
    fail (error);
    fputs ("See vkgdr-bench --help.\n", stderr);
    g_error_free (error);
    bench_options_clear (&options);
    return EXIT_USAGE;
  }
  if (options.first_frame) {
    gst_init (NULL, NULL);
    bench_source_register ();
    ok = bench_process_print_first (options.first_frame, &error);
    if (!ok)
      fail (error);
    g_clear_error (&error);
  } else if (options.consume) {
    gst_init (NULL, NULL);
    ok = bench_ipc_consume (options.consume, &error);
    if (!ok)
      fail (error);
    g_clear_error (&error);
  } else if (options.version) {
    puts ("vkgdr-bench " VKGDR_VERSION);
  } else {
    gst_init (NULL, NULL);
    gst_vkgdr_init ();
    bench_source_register ();
    ok = measure (&options);
  }
  bench_options_clear (&options);
  return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
