/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * bench-machine.c: describes the machine of the measurements
 *
 * Uses the library, GStreamer and the kernel. Measures nothing.
 */

#include "bench-machine.h"

#include <string.h>
#include <sys/utsname.h>

#include <vkgdr/vkgdr.h>

/* Returns the first model name in /proc/cpuinfo, or the kernel's name of the
 * architecture if there is none. */
static gchar *
describe_cpu (const struct utsname *system)
{
  gchar *result = NULL;
  gchar *text = NULL;
  gchar *line, *colon;

  if (g_file_get_contents ("/proc/cpuinfo", &text, NULL, NULL)
      && (line = strstr (text, "model name")) && (colon = strchr (line, ':'))) {
    colon++;
    result = g_strndup (colon, strcspn (colon, "\n"));
    g_strstrip (result);
  }
  g_free (text);
  return result ? result : g_strdup (system->machine);
}

static gchar *
describe_cudaupload (void)
{
  GstElementFactory *factory = gst_element_factory_find ("cudaupload");
  GstPlugin *plugin;
  gchar *result;

  if (!factory)
    return g_strdup ("not installed");
  plugin = gst_plugin_feature_get_plugin (GST_PLUGIN_FEATURE (factory));
  result = g_strdup (plugin ? gst_plugin_get_version (plugin) : "unknown");
  gst_clear_object (&plugin);
  gst_object_unref (factory);
  return result;
}

static gchar *
describe_date (void)
{
  GDateTime *now = g_date_time_new_now_utc ();
  gchar *result = g_date_time_format (now, "%Y-%m-%dT%H:%M:%SZ");

  g_date_time_unref (now);
  return result;
}

static void
take_string (GstStructure *machine, const gchar *field, gchar *text)
{
  gst_structure_set (machine, field, G_TYPE_STRING, text, NULL);
  g_free (text);
}

GstStructure *
bench_machine_describe (GstVkgdrContext *context)
{
  GstStructure *machine = gst_vkgdr_context_describe (context);
  struct utsname system = {
    0,
  };
  gint version = 0;

  uname (&system);
  gst_structure_get_int (machine, "cuda-driver-version", &version);
  take_string (machine, "cuda-driver",
      g_strdup_printf ("%d.%d", version / 1000, version % 1000 / 10));
  take_string (machine, "gstreamer", gst_version_string ());
  take_string (machine, "cudaupload", describe_cudaupload ());
  take_string (machine, "cpu", describe_cpu (&system));
  take_string (machine, "kernel",
      g_strdup_printf ("%s %s", system.sysname, system.release));
  take_string (machine, "copy-isa", g_strdup (vkgdr_copy_isa ()));
  take_string (machine, "date", describe_date ());
  gst_structure_set (
      machine, "cpus", G_TYPE_INT, (gint) g_get_num_processors (), NULL);
  return machine;
}
