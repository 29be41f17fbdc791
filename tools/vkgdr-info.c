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

static gboolean show_json, show_version;

static const GOptionEntry entries[] = {
  { "json", 0, 0, G_OPTION_ARG_NONE, &show_json,
      "Write JSON: sizes are bytes, and unknown values are null", NULL },
  { "version", 0, 0, G_OPTION_ARG_NONE, &show_version, "Show the version",
      NULL },
  { NULL },
};

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

/* Prints the help and exits if the user asks for it. */
static void
parse_options (int argc, char **argv)
{
  GOptionContext *context = g_option_context_new (NULL);
  GError *error = NULL;

  g_option_context_set_summary (context, SUMMARY);
  g_option_context_set_description (context, DESCRIPTION);
  g_option_context_add_main_entries (context, entries, NULL);
  if (g_option_context_parse (context, &argc, &argv, &error) && argc > 1)
    g_set_error (&error, G_OPTION_ERROR, G_OPTION_ERROR_FAILED,
        "unknown argument \"%s\"", argv[1]);
  g_option_context_free (context);
  if (!error)
    return;
  fprintf (stderr, "vkgdr-info: %s\nSee vkgdr-info --help.\n", error->message);
  exit (EXIT_USAGE);
}

int
main (int argc, char **argv)
{
  JsonNode *root;
  gboolean usable;
  gchar *text;

  setlocale (LC_CTYPE, "");
  parse_options (argc, argv);
  if (show_version) {
    puts ("vkgdr-info " VKGDR_VERSION);
    return EXIT_SUCCESS;
  }
  /* No plugin is needed, so GStreamer does not have to read its registry. */
  g_setenv ("GST_REGISTRY_DISABLE", "yes", TRUE);
  gst_init (NULL, NULL);
  gst_vkgdr_init ();
  root = json_node_new (JSON_NODE_OBJECT);
  json_node_take_object (root, info_collect (&usable));
  text = show_json ? json_to_string (root, TRUE)
                   : info_to_text (json_node_get_object (root));
  printf (show_json ? "%s\n" : "%s", text);
  g_free (text);
  json_node_unref (root);
  if (fflush (stdout) != 0 || ferror (stdout)) {
    perror ("vkgdr-info: standard output");
    return EXIT_FAILURE;
  }
  return usable ? EXIT_SUCCESS : EXIT_FAILURE;
}
