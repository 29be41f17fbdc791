/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * vkgdr-info.c: tells what each CUDA device is and can do, or why it cannot,
 * and what to do then
 *
 * The arguments and the exit status; all else is in info/.
 */

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <gst/vkgdr/vkgdr.h>

#include "info-collect.h"
#include "info-json.h"
#include "info-text.h"

#define EXIT_USAGE 2

#define USAGE "Usage: vkgdr-info [--json | --help | --version]\n"

static void
print_help (void)
{
  puts (USAGE
      "\n"
      "Tells for each CUDA device what it is, how large the window is that "
      "the\n"
      "CPU can write through, whether it can be used, and if not, what to do.\n"
      "\n"
      "  --json     the same for programs: sizes are bytes, and what is not\n"
      "             known is null\n"
      "  --help     this text\n"
      "  --version  the version\n"
      "\n"
      "Environment:\n"
      "  VKGDR_DRIVER   auto (default), nvidia or software\n"
      "  VKGDR_DEBUG    bar, bar=SIZE, non-coherent, no-window, no-vulkan: "
      "the\n"
      "                 device looks worse than it is\n"
      "\n"
      "Exit status: 0 if at least one device can be used, 1 if none can, 2 if "
      "an\n"
      "argument is unknown.");
}

/* GStreamer is not asked for its plugins, so its registry is left alone. */
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
  if (json) {
    text = info_json_write (&report);
    fputs (text, stdout);
    g_free (text);
  } else {
    info_text_print (&report);
  }
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
  const char *argument;

  setlocale (LC_CTYPE, "");
  if (argc <= 1)
    return show (FALSE);
  argument = argv[1];
  if (argc == 2 && strcmp (argument, "--json") == 0)
    return show (TRUE);
  if (argc == 2 && strcmp (argument, "--help") == 0) {
    print_help ();
    return EXIT_SUCCESS;
  }
  if (argc == 2 && strcmp (argument, "--version") == 0) {
    puts ("vkgdr-info " VKGDR_VERSION);
    return EXIT_SUCCESS;
  }
  if (argc > 2)
    fprintf (stderr, "vkgdr-info: more than one argument\n" USAGE);
  else
    fprintf (stderr, "vkgdr-info: unknown argument %s\n" USAGE, argument);
  return EXIT_USAGE;
}
