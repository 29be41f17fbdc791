/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * helper.c: describes the device, and answers requests of vkgdr-bench
 *
 * Usage: vkgdr-bench-helper serve DEVICE
 *        vkgdr-bench-helper play PIPELINE
 *
 * `serve` opens the device and describes it. Then it answers requests until
 * standard input ends. A request and a reply are one JSON object in one line. A
 * request names its command in "do". A reply has the results, or "error", after
 * which the process ends. frames.c describes `play`.
 */

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <json-glib/json-glib.h>

#include "bench.h"

/* --- the description ------------------------------------------------------ */

/* Adds a field of the structure that describes the device. */
static gboolean
add_field (GQuark field, const GValue *value, gpointer machine)
{
  GVariant *variant = G_VALUE_HOLDS_STRING (value)
                          ? g_variant_new_string (g_value_get_string (value))
                      : G_VALUE_HOLDS_UINT64 (value)
                          ? g_variant_new ("t", g_value_get_uint64 (value))
                      : G_VALUE_HOLDS_BOOLEAN (value)
                          ? g_variant_new ("b", g_value_get_boolean (value))
                          : g_variant_new ("i", g_value_get_int (value));

  g_variant_builder_add (machine, "{sv}", g_quark_to_string (field), variant);
  return TRUE;
}

/* The version of the plugin with GStreamer's own upload. */
static GVariant *
describe_cudaupload (void)
{
  GstElementFactory *factory = gst_element_factory_find ("cudaupload");
  GstPlugin *plugin =
      factory ? gst_plugin_feature_get_plugin (GST_PLUGIN_FEATURE (factory))
              : NULL;
  GVariant *version = g_variant_new_string (
      plugin ? gst_plugin_get_version (plugin) : "not installed");

  gst_clear_object (&plugin);
  gst_clear_object (&factory);
  return version;
}

static void
describe (GstVkgdrContext *context)
{
  GstStructure *device = gst_vkgdr_context_describe (context);
  GVariantBuilder machine;

  g_variant_builder_init (&machine, G_VARIANT_TYPE ("a{sv}"));
  gst_structure_foreach (device, add_field, &machine);
  g_variant_builder_add (&machine, "{sv}", "gstreamer",
      g_variant_new_take_string (gst_version_string ()));
  g_variant_builder_add (
      &machine, "{sv}", "copy-isa", g_variant_new_string (vkgdr_copy_isa ()));
  g_variant_builder_add (
      &machine, "{sv}", "cudaupload", describe_cudaupload ());
  g_variant_builder_add (&machine, "{sv}", "softcuda",
      g_variant_new_string (vkgdr_driver_softcuda_dir ()));
  bench_reply (g_variant_builder_end (&machine));
  gst_structure_free (device);
}

/* --- requests ------------------------------------------------------------- */

static void
answer (GstVkgdrContext *context, const gchar *line)
{
  GVariant *request = json_gvariant_deserialize_data (line, -1, "a{sv}", NULL);
  const gchar *command = "";

  if (request)
    g_variant_lookup (request, "do", "&s", &command);
  if (g_str_equal (command, "copy"))
    bench_copy (request);
  else if (g_str_equal (command, "loop"))
    bench_loop (request);
  else if (g_str_equal (command, "run"))
    bench_run (context, request);
  else if (g_str_equal (command, "make"))
    bench_make (request);
  else
    bench_die ("there is no command \"%s\"", command);
  g_variant_unref (request);
}

static void
serve (gint device)
{
  GError *error = NULL;
  GstVkgdrContext *context;
  gchar *line = NULL;
  gsize size = 0;

  gst_vkgdr_init ();
  context = gst_vkgdr_context_new (device, &error);
  if (!context || !gst_vkgdr_context_push (context, &error))
    bench_die ("%s", error->message);
  describe (context);
  while (getline (&line, &size, stdin) > 0)
    answer (context, line);
  free (line);
  gst_vkgdr_context_pop (context);
  gst_object_unref (context);
}

int
main (int argc, char **argv)
{
  setlocale (LC_CTYPE, "");
  if (argc != 3 || !bench_open_replies ()) {
    fputs ("vkgdr-bench-helper is started by vkgdr-bench\n", stderr);
    return EXIT_FAILURE;
  }
  gst_init (NULL, NULL);
  bench_source_register ();
  if (strcmp (argv[1], "serve") == 0)
    serve (atoi (argv[2]));
  else
    bench_play (argv[2]);
  return EXIT_SUCCESS;
}
