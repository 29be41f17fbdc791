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
#include <unistd.h>

#include "helper.h"
#include "json.h"

static const struct {
  const gchar *name;
  BenchCommand func;
} commands[] = {
  { "copies", bench_copies },
  { "device-copy", bench_device_copy },
  { "loops", bench_loops },
  { "run", bench_run },
  { "start", bench_start },
  { "serve", bench_serve },
  { "serve-end", bench_serve_end },
};

/* Elements whose versions decide which pipelines can be measured. */
static const gchar *const peers[] = { "cudaupload", "cudaconvertscale",
  "cudaipcsink", NULL };

/* Replies are written here. Standard output is standard error in this process,
 * because libraries may print to it. */
static FILE *replies;

/* --- helpers ------------------------------------------------------------- */

gboolean
bench_check (CUresult result, const gchar *function, GError **error)
{
  const char *name = NULL;

  if (result == CUDA_SUCCESS)
    return TRUE;
  vkgdr_driver_load ()->cuGetErrorName (result, &name);
  g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_FAILED,
      "%s failed (%s, %d)", function, name ? name : "unknown", result);
  return FALSE;
}

gboolean
bench_set_last_error (GError **error)
{
  char *text = vkgdr_last_error ();

  g_set_error_literal (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_FAILED,
      text ? text : "the window has no memory");
  free (text);
  return FALSE;
}

gint64
bench_get_integer (JsonObject *request, const gchar *member)
{
  return json_object_get_int_member_with_default (request, member, 0);
}

gdouble
bench_get_number (JsonObject *request, const gchar *member)
{
  return json_object_get_double_member_with_default (request, member, 0);
}

const gchar *
bench_get_text (JsonObject *request, const gchar *member)
{
  return json_object_get_string_member_with_default (request, member, "");
}

/* --- the device ---------------------------------------------------------- */

static gboolean
set_field (GQuark field, const GValue *value, gpointer data)
{
  const gchar *member = g_quark_to_string (field);
  JsonObject *object = data;

  if (G_VALUE_HOLDS_STRING (value))
    json_set_text (object, member,
        g_value_get_string (value) ? g_value_get_string (value) : "");
  else if (G_VALUE_HOLDS_UINT64 (value))
    json_object_set_int_member (object, member, g_value_get_uint64 (value));
  else if (G_VALUE_HOLDS_INT (value))
    json_object_set_int_member (object, member, g_value_get_int (value));
  else if (G_VALUE_HOLDS_BOOLEAN (value))
    json_object_set_boolean_member (
        object, member, g_value_get_boolean (value));
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
    json_set_text (
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

  gst_structure_foreach (device, set_field, machine);
  json_set_text (machine, "gstreamer", gstreamer);
  json_set_text (machine, "copy-isa", vkgdr_copy_isa ());
  json_object_set_object_member (reply, "machine", machine);
  json_object_set_object_member (reply, "peers", describe_peers ());
  json_object_set_int_member (
      reply, "device", gst_vkgdr_context_get_device (context));
  json_set_text (reply, "softcuda", vkgdr_driver_softcuda_dir ());
  g_free (gstreamer);
  gst_structure_free (device);
}

/* --- requests and replies ------------------------------------------------ */

void
bench_write_reply (JsonObject *reply, GError *error)
{
  JsonNode *root = json_node_new (JSON_NODE_OBJECT);
  gchar *text;

  if (error) {
    json_object_unref (reply);
    reply = json_object_new ();
    json_set_text (reply, "error", error->message);
    g_error_free (error);
  }
  json_node_take_object (root, reply);
  text = json_to_string (root, FALSE);
  fprintf (replies, "%s\n", text);
  fflush (replies);
  g_free (text);
  json_node_unref (root);
}

static BenchCommand
find_command (const gchar *name)
{
  guint i;

  for (i = 0; i < G_N_ELEMENTS (commands); i++)
    if (strcmp (commands[i].name, name) == 0)
      return commands[i].func;
  return NULL;
}

static void
answer (GstVkgdrContext *context, const gchar *line)
{
  JsonObject *reply = json_object_new ();
  GError *error = NULL;
  JsonNode *root = json_from_string (line, &error);
  JsonObject *request;
  BenchCommand func;

  if (root && JSON_NODE_HOLDS_OBJECT (root)) {
    request = json_node_get_object (root);
    func = find_command (bench_get_text (request, "do"));
    if (func)
      func (context, request, reply, &error);
    else
      g_set_error_literal (&error, GST_CORE_ERROR, GST_CORE_ERROR_FAILED,
          "there is no such command");
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

static int
show_first_frame (const gchar *launch)
{
  JsonObject *reply = json_object_new ();
  GError *error = NULL;
  gint64 time = 0;

  if (bench_first_frame (launch, &time, &error))
    json_object_set_int_member (reply, "time", time);
  bench_write_reply (reply, error);
  return EXIT_SUCCESS;
}

static int
consume (const gchar *what)
{
  JsonObject *reply = json_object_new ();
  GError *error = NULL;

  bench_consume (what, reply, &error);
  bench_write_reply (reply, error);
  return EXIT_SUCCESS;
}

/* Moves standard output to @replies. */
static gboolean
keep_output (void)
{
  int fd = dup (STDOUT_FILENO);

  replies = fd >= 0 ? fdopen (fd, "w") : NULL;
  return replies && dup2 (STDERR_FILENO, STDOUT_FILENO) >= 0;
}

int
main (int argc, char **argv)
{
  setlocale (LC_CTYPE, "");
  if (argc != 3 || !keep_output ()) {
    fputs ("vkgdr-bench-helper is started by vkgdr-bench\n", stderr);
    return EXIT_FAILURE;
  }
  gst_init (NULL, NULL);
  bench_source_register ();
  if (strcmp (argv[1], "first-frame") == 0)
    return show_first_frame (argv[2]);
  if (strcmp (argv[1], "consume") == 0)
    return consume (argv[2]);
  gst_vkgdr_init ();
  return serve (atoi (argv[2]));
}
