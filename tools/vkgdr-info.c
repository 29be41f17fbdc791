/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * vkgdr-info.c: the main program of vkgdr-info, which describes each CUDA
 * device, and says whether it can be used, or why not and what to do
 *
 * Handles the arguments and the exit status. All other code is in info/.
 */

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>

#include <gst/vkgdr/vkgdr.h>

#include "info.h"

#define EXIT_USAGE 2

#define SUMMARY \
  "Tells for each CUDA device what it is, how large the window is that the\n" \
  "CPU can write through, whether it can be used, and if not, what to do."

#define DESCRIPTION \
  "Environment:\n" \
  "  VKGDR_DRIVER   auto (default), nvidia or software\n" \
  "  VKGDR_DEBUG    bar, bar=SIZE, non-coherent, no-window, no-vulkan: " \
  "makes\n" \
  "                 the device worse than it is, for tests\n" \
  "\n" \
  "Exit status: 0 if at least one device can be used, 1 if none can be " \
  "used,\n" \
  "2 if an argument is unknown."

typedef struct {
  gboolean json;
  gboolean version;
} Options;

/* Prints the help and exits if the user asks for it. */
static gboolean
parse_options (Options *options, int *argc, char ***argv, GError **error)
{
  const GOptionEntry entries[] = {
    { "json", 0, 0, G_OPTION_ARG_NONE, &options->json,
        "Write JSON: sizes are bytes, and unknown values are null", NULL },
    { "version", 0, 0, G_OPTION_ARG_NONE, &options->version, "Show the version",
        NULL },
    { NULL },
  };
  GOptionContext *context = g_option_context_new (NULL);
  gboolean ok;

  g_option_context_set_summary (context, SUMMARY);
  g_option_context_set_description (context, DESCRIPTION);
  g_option_context_add_main_entries (context, entries, NULL);
  ok = g_option_context_parse (context, argc, argv, error);
  g_option_context_free (context);
  if (!ok || *argc == 1)
    return ok;
  g_set_error (error, G_OPTION_ERROR, G_OPTION_ERROR_FAILED,
      "unknown argument \"%s\"", (*argv)[1]);
  return FALSE;
}

/* No plugin is needed, so GStreamer does not have to read its registry. */
static void
init_library (void)
{
  g_setenv ("GST_REGISTRY_DISABLE", "yes", TRUE);
  gst_init (NULL, NULL);
  gst_vkgdr_init ();
}

static gboolean
any_usable (const InfoReport *report)
{
  guint i;

  for (i = 0; i < report->devices->len; i++) {
    const InfoDevice *device = g_ptr_array_index (report->devices, i);

    if (device->trial == INFO_TRIAL_PASSED)
      return TRUE;
  }
  return FALSE;
}

static int
show (gboolean json)
{
  InfoReport report;
  gboolean usable;
  gchar *text;

  init_library ();
  info_collect (&report);
  text = info_write (&report, json);
  fputs (text, stdout);
  g_free (text);
  usable = any_usable (&report);
  info_report_clear (&report);
  if (fflush (stdout) != 0 || ferror (stdout)) {
    perror ("vkgdr-info: standard output");
    return EXIT_FAILURE;
  }
  return usable ? EXIT_SUCCESS : EXIT_FAILURE;
}

int
main (int argc, char **argv)
{
  Options options = { FALSE, FALSE };
  GError *error = NULL;

  setlocale (LC_CTYPE, "");
  if (!parse_options (&options, &argc, &argv, &error)) {
    fprintf (
        stderr, "vkgdr-info: %s\nSee vkgdr-info --help.\n", error->message);
    g_error_free (error);
    return EXIT_USAGE;
  }
  if (options.version) {
    puts ("vkgdr-info " VKGDR_VERSION);
    return EXIT_SUCCESS;
  }
  return show (options.json);
}
