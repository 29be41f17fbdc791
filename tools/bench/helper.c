/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * helper.c: reads requests of vkgdr-bench and writes replies
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
#include <time.h>
#include <unistd.h>

#include <json-glib/json-glib.h>

#include "helper.h"

/* Elements whose versions decide which pipelines can be measured. */
static const gchar *const peers[] = { "cudaupload", "cudaconvertscale",
  "cudaipcsink", NULL };

/* The shortest time of one measurement in nanoseconds, so that reading the
 * clock, which takes about 20 ns, does not matter. */
#define MIN_STRETCH 4000

static FILE *replies;

/* --- replies and errors --------------------------------------------------- */

void
bench_reply (GVariant *reply)
{
  gchar *text = json_gvariant_serialize_data (g_variant_ref_sink (reply), NULL);

  fprintf (replies, "%s\n", text);
  fflush (replies);
  g_free (text);
  g_variant_unref (reply);
}

static GVariant *
text_new (const gchar *text)
{
  return g_variant_new_take_string (g_utf8_make_valid (text, -1));
}

void
bench_die (const gchar *format, ...)
{
  va_list arguments;
  gchar *text;

  va_start (arguments, format);
  text = g_strdup_vprintf (format, arguments);
  bench_reply (g_variant_new_parsed ("{'error': %*}", text_new (text)));
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

gint64
bench_now (void)
{
  struct timespec now;

  clock_gettime (CLOCK_MONOTONIC, &now);
  return (gint64) now.tv_sec * G_GINT64_CONSTANT (1000000000) + now.tv_nsec;
}

gdouble
bench_time_calls (void (*func) (gpointer data), gpointer data, gdouble seconds)
{
  gint64 budget = seconds * 1e9, elapsed = 0;
  guint64 calls = 0;
  guint batch = 1, i;

  while (calls == 0 || elapsed < budget) {
    gint64 start = bench_now ();
    gint64 took;

    for (i = 0; i < batch; i++)
      func (data);
    took = bench_now () - start;
    if (took < MIN_STRETCH) { /* the calls are timed in larger batches */
      batch *= 2;
      continue;
    }
    elapsed += took;
    calls += batch;
  }
  return elapsed / 1e9 / calls;
}

/* --- the description ------------------------------------------------------ */

/* Adds a field of the structure that describes the device. */
static gboolean
add_field (GQuark field, const GValue *value, gpointer machine)
{
  GVariant *variant = G_VALUE_HOLDS_STRING (value)
                          ? text_new (g_value_get_string (value))
                      : G_VALUE_HOLDS_UINT64 (value)
                          ? g_variant_new ("t", g_value_get_uint64 (value))
                      : G_VALUE_HOLDS_BOOLEAN (value)
                          ? g_variant_new ("b", g_value_get_boolean (value))
                          : g_variant_new ("i", g_value_get_int (value));

  g_variant_builder_add (machine, "{sv}", g_quark_to_string (field), variant);
  return TRUE;
}

/* The versions of those elements that are installed. */
static GVariant *
describe_peers (void)
{
  GVariantBuilder versions;
  guint i;

  g_variant_builder_init (&versions, G_VARIANT_TYPE ("a{ss}"));
  for (i = 0; peers[i]; i++) {
    GstElementFactory *factory = gst_element_factory_find (peers[i]);
    GstPlugin *plugin =
        factory ? gst_plugin_feature_get_plugin (GST_PLUGIN_FEATURE (factory))
                : NULL;

    if (plugin)
      g_variant_builder_add (
          &versions, "{ss}", peers[i], gst_plugin_get_version (plugin));
    gst_clear_object (&plugin);
    gst_clear_object (&factory);
  }
  return g_variant_builder_end (&versions);
}

static void
describe (GstVkgdrContext *context)
{
  GstStructure *device = gst_vkgdr_context_describe (context);
  GVariantBuilder machine;
  gchar *gstreamer = gst_version_string ();

  g_variant_builder_init (&machine, G_VARIANT_TYPE ("a{sv}"));
  gst_structure_foreach (device, add_field, &machine);
  g_variant_builder_add (&machine, "{sv}", "gstreamer", text_new (gstreamer));
  g_variant_builder_add (
      &machine, "{sv}", "copy-isa", text_new (vkgdr_copy_isa ()));
  bench_reply (g_variant_new_parsed (
      "{'machine': <%*>, 'peers': <%*>, 'device': <%i>, 'softcuda': <%*>}",
      g_variant_builder_end (&machine), describe_peers (),
      gst_vkgdr_context_get_device (context),
      text_new (vkgdr_driver_softcuda_dir ())));
  g_free (gstreamer);
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
    bench_copy (context, request);
  else if (g_str_equal (command, "loops"))
    bench_loops (context, request);
  else if (g_str_equal (command, "run"))
    bench_run (context, request);
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
  /* Libraries may print to standard output, so this becomes standard error. */
  int fd = dup (STDOUT_FILENO);

  setlocale (LC_CTYPE, "");
  replies = fd >= 0 ? fdopen (fd, "w") : NULL;
  if (argc != 3 || !replies || dup2 (STDERR_FILENO, STDOUT_FILENO) < 0) {
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
