/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * bench-options.c: the options of the command line
 *
 * Reads the command line. Must not depend on how the options are used.
 */

#include "bench-options.h"

#include <string.h>

#include "bench-fill.h"

#define SUMMARY \
  "Measures how fast data get to the GPU: copies by size, and pipelines " \
  "with\n" \
  "vkgdrupload, with cudaupload if it is installed, and without an upload.\n" \
  "\n" \
  "  memory      copies: bandwidth and latency by size\n" \
  "  pipelines   frames and buffers per second\n" \
  "  all         both (default)\n" \
  "  compare     buffers per second at the sinks of the given pipelines, in\n" \
  "              the syntax of gst-launch-1.0, and ratios of the first one " \
  "to\n" \
  "              the others"

#define DESCRIPTION \
  "The tables have medians. JSON has the extremes, too. Ratios are those of\n" \
  "samples of the same repetition.\n" \
  "\n" \
  "The program starts itself with \"first-frame PIPELINE\", which prints " \
  "the\n" \
  "time of the first frame at the pipeline's sink in ns of the monotonic\n" \
  "clock, and with \"consume PIPELINE\", which measures frames of a\n" \
  "vkgdripcsink.\n" \
  "\n" \
  "Exit status: 0 if the measurements were made (the tables show the errors\n" \
  "of single ones), 1 if there is no device or no output can be written, 2\n" \
  "if the arguments are wrong."

static gboolean
read_what (BenchOptions *options, gint argc, gchar **argv, GError **error)
{
  const gchar *what = argc > 1 ? argv[1] : "all";

  if (strcmp (what, "first-frame") == 0 && argc == 3) {
    options->first_frame = g_strdup (argv[2]);
    return TRUE;
  }
  if (strcmp (what, "consume") == 0 && argc == 3) {
    options->consume = g_strdup (argv[2]);
    return TRUE;
  }
  if (strcmp (what, "compare") == 0) {
    if (argc < 3) {
      g_set_error_literal (error, G_OPTION_ERROR, G_OPTION_ERROR_FAILED,
          "compare takes pipelines, each as one argument");
      return FALSE;
    }
    options->pipelines = TRUE;
    options->compare = g_strdupv (argv + 2);
    return TRUE;
  }
  if (argc > 2) {
    g_set_error (error, G_OPTION_ERROR, G_OPTION_ERROR_FAILED,
        "\"%s\" is one argument too many", argv[2]);
    return FALSE;
  }
  options->memory = strcmp (what, "pipelines") != 0;
  options->pipelines = strcmp (what, "memory") != 0;
  if (options->memory && options->pipelines && strcmp (what, "all") != 0) {
    g_set_error (error, G_OPTION_ERROR, G_OPTION_ERROR_FAILED,
        "\"%s\" can not be measured: give memory, pipelines, all or compare",
        what);
    return FALSE;
  }
  return TRUE;
}

static gboolean
check_values (const BenchOptions *options, GError **error)
{
  const gchar *wrong = NULL;
  BenchFillKind fill;

  if (options->repeat < 1 || options->repeat > 1000)
    wrong = "--repeat takes a number from 1 to 1000";
  else if (!(options->seconds >= 0.001 && options->seconds <= 600))
    wrong = "--seconds takes a number from 0.001 to 600";
  else if (options->device < -1)
    wrong = "--device takes the index of a CUDA device, or -1";
  else if (options->buffers < 1 || options->buffers > 16)
    wrong = "--buffers takes a number from 1 to 16";
  else if (options->json && options->markdown)
    wrong = "--json and --markdown exclude each other: use --save for JSON";
  else if (options->fill && !bench_fill_parse (options->fill, &fill))
    wrong = "--fill takes memset, copy or uncached";
  if (!wrong)
    return TRUE;
  g_set_error_literal (error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE, wrong);
  return FALSE;
}

gboolean
bench_options_parse (
    BenchOptions *options, gint *argc, gchar ***argv, GError **error)
{
  GOptionEntry entries[] = {
    { "json", 0, 0, G_OPTION_ARG_NONE, &options->json,
        "Write JSON instead of tables", NULL },
    { "markdown", 0, 0, G_OPTION_ARG_NONE, &options->markdown,
        "Write the tables in Markdown", NULL },
    { "save", 0, 0, G_OPTION_ARG_FILENAME, &options->save,
        "Also write JSON to a file, for vkgdr-plot", "FILE.json" },
    { "repeat", 0, 0, G_OPTION_ARG_INT, &options->repeat,
        "Repetitions of each measurement (5)", "N" },
    { "seconds", 0, 0, G_OPTION_ARG_DOUBLE, &options->seconds,
        "Time of a pipeline's measurement; a copy takes a 20th of it (1)",
        "S" },
    { "device", 0, 0, G_OPTION_ARG_INT, &options->device,
        "CUDA device (-1: CUDA_DEVICE, or the first that works)", "N" },
    { "buffers", 0, 0, G_OPTION_ARG_INT, &options->buffers,
        "Smallest number of buffers of a source (4)", "N" },
    { "fill", 0, 0, G_OPTION_ARG_STRING, &options->fill,
        "How sources write: memset, copy (of a pattern) or uncached (copies of "
        "a large area) (several streams: uncached, others: memset)",
        "HOW" },
    { "section", 0, 0, G_OPTION_ARG_STRING, &options->section,
        "Only measure pipelines of these sections, by their names in JSON",
        "NAME[,NAME]" },
    { "quick", 0, 0, G_OPTION_ARG_NONE, &options->quick,
        "Fewer sizes and smaller frames, for a short test", NULL },
    { "version", 0, 0, G_OPTION_ARG_NONE, &options->version, "Show the version",
        NULL },
    { NULL },
  };
  GOptionContext *context;
  gboolean ok;

  memset (options, 0, sizeof (*options));
  options->repeat = 5;
  options->seconds = 1;
  options->device = -1;
  options->buffers = 4;

  context =
      g_option_context_new ("[memory | pipelines | all | compare PIPELINE…]");
  g_option_context_set_summary (context, SUMMARY);
  g_option_context_set_description (context, DESCRIPTION);
  g_option_context_add_main_entries (context, entries, NULL);
  ok = g_option_context_parse (context, argc, argv, error);
  g_option_context_free (context);
  return ok && read_what (options, *argc, *argv, error)
         && check_values (options, error);
}

void
bench_options_clear (BenchOptions *options)
{
  g_strfreev (options->compare);
  g_free (options->fill);
  g_free (options->first_frame);
  g_free (options->consume);
  g_free (options->section);
  g_free (options->save);
}
