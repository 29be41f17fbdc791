/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * helper.c: reads requests of vkgdr-bench and writes replies
 *
 * Usage: vkgdr-bench-helper serve DEVICE
 *        vkgdr-bench-helper first-frame PIPELINE
 *        vkgdr-bench-helper consume PIPELINE
 *
 * `serve` opens the device and describes it. Then it answers requests until
 * standard input ends. A request and a reply are one JSON object in one line. A
 * request names its command in "do". A reply has the results, or "error".
 *
 * `first-frame` runs a pipeline in a new process, and replies with the time of
 * its first frame. `consume` is one of the other processes of the section
 * `ipc`. It writes an empty object when it has got the first frame.
 */

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "helper.h"

static const struct {
  const gchar *name;
  BenchCommand func;
} commands[] = {
  { "copies", bench_copies },
  { "loops", bench_loops },
  { "run", bench_run },
  { "serve", bench_serve },
  { "serve-end", bench_serve_end },
};

/* Elements whose versions decide which pipelines can be measured. */
static const gchar *const peers[] = { "cudaupload", "cudaconvertscale",
  "cudaipcsink", NULL };

/* Adds a field of the structure that describes the device. */
static gboolean
add_field (GQuark field, const GValue *value, gpointer machine)
{
  const gchar *member = g_quark_to_string (field);

  if (G_VALUE_HOLDS_STRING (value))
    bench_set_text (machine, member, g_value_get_string (value));
  else if (G_VALUE_HOLDS_UINT64 (value))
    json_object_set_int_member (machine, member, g_value_get_uint64 (value));
  else if (G_VALUE_HOLDS_INT (value))
    json_object_set_int_member (machine, member, g_value_get_int (value));
  else if (G_VALUE_HOLDS_BOOLEAN (value))
    json_object_set_boolean_member (
        machine, member, g_value_get_boolean (value));
  return TRUE;
}

/* Returns the versions of those elements that are installed. */
static JsonObject *
describe_peers (void)
{
  JsonObject *versions = json_object_new ();
  const gchar *const *name;

  for (name = peers; *name; name++) {
    GstElementFactory *factory = gst_element_factory_find (*name);
    GstPlugin *plugin;

    if (!factory)
      continue;
    plugin = gst_plugin_feature_get_plugin (GST_PLUGIN_FEATURE (factory));
    bench_set_text (
        versions, *name, plugin ? gst_plugin_get_version (plugin) : "unknown");
    gst_clear_object (&plugin);
    gst_object_unref (factory);
  }
  return versions;
}

static void
describe (GstVkgdrContext *context, JsonObject *reply)
{
  GstStructure *device = gst_vkgdr_context_describe (context);
  JsonObject *machine = json_object_new ();
  gchar *gstreamer = gst_version_string ();

  gst_structure_foreach (device, add_field, machine);
  bench_set_text (machine, "gstreamer", gstreamer);
  bench_set_text (machine, "copy-isa", vkgdr_copy_isa ());
  json_object_set_object_member (reply, "machine", machine);
  json_object_set_object_member (reply, "peers", describe_peers ());
  json_object_set_int_member (
      reply, "device", gst_vkgdr_context_get_device (context));
  bench_set_text (reply, "softcuda", vkgdr_driver_softcuda_dir ());
  g_free (gstreamer);
  gst_structure_free (device);
}

static void
answer (GstVkgdrContext *context, const gchar *line)
{
  JsonObject *reply = json_object_new (), *request;
  GError *error = NULL;
  JsonNode *root = json_from_string (line, &error);
  BenchCommand func = NULL;
  guint i;

  if (root && JSON_NODE_HOLDS_OBJECT (root)) {
    request = json_node_get_object (root);
    for (i = 0; i < G_N_ELEMENTS (commands); i++)
      if (strcmp (commands[i].name, bench_get_text (request, "do")) == 0)
        func = commands[i].func;
    if (func)
      func (context, request, reply, &error);
    else
      bench_fail (&error, "there is no such command");
  }
  bench_write_reply (reply, error);
  g_clear_pointer (&root, json_node_unref);
}

static int
serve (gint device)
{
  JsonObject *reply = json_object_new ();
  GError *error = NULL;
  GstVkgdrContext *context = gst_vkgdr_context_new (device, &error);
  gchar *line = NULL;
  gsize size = 0;

  if (context)
    describe (context, reply);
  bench_write_reply (reply, error);
  while (context && getline (&line, &size, stdin) > 0)
    answer (context, line);
  free (line);
  if (!context)
    return EXIT_FAILURE;
  gst_object_unref (context);
  return EXIT_SUCCESS;
}

int
main (int argc, char **argv)
{
  JsonObject *reply;
  GError *error = NULL;

  setlocale (LC_CTYPE, "");
  if (argc != 3 || !bench_open_replies ()) {
    fputs ("vkgdr-bench-helper is started by vkgdr-bench\n", stderr);
    return EXIT_FAILURE;
  }
  gst_init (NULL, NULL);
  bench_source_register ();
  if (strcmp (argv[1], "serve") == 0) {
    gst_vkgdr_init ();
    return serve (atoi (argv[2]));
  }
  reply = json_object_new ();
  if (strcmp (argv[1], "consume") == 0)
    bench_consume (argv[2], reply, &error);
  else
    bench_first_frame (argv[2], reply, &error);
  bench_write_reply (reply, error);
  return EXIT_SUCCESS;
}
