/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * nvcodec.c: see nvcodec.h
 */

#include "nvcodec.h"

#include <dlfcn.h>
#include <stdio.h>

#include "util.h"

static gchar *nvcodec_file;

/* NVIDIA's driver, or softcuda's, by the name that everybody asks for; with the
 * latter go the compiler, and the encoder without which their plugin has no
 * elements. */
static void
load_driver (void)
{
  const gchar *folder = g_getenv ("VKGDR_SOFTCUDA_DIR");
  const gchar *names[] = { "libcuda.so.1", "libnvidia-encode.so.1" };
  CUresult (*init) (unsigned int flags);
  void *driver = NULL;
  gchar *compiler;
  guint i;

  if (g_strcmp0 (g_getenv ("VKGDR_DRIVER"), "software") != 0)
    driver = dlopen (names[0], RTLD_NOW);
  if (driver) {
    *(void **) &init = dlsym (driver, "cuInit");
    if (!dlsym (driver, "softcudaFail") && init && init (0) == CUDA_SUCCESS)
      return;
    dlclose (driver);
  }
  for (i = 0; i < G_N_ELEMENTS (names); i++) {
    gchar *path = g_build_filename (folder, names[i], NULL);

    fail_unless (dlopen (path, RTLD_NOW) != NULL, "%s: %s", path, dlerror ());
    g_free (path);
  }
  compiler = g_build_filename (folder, "libnvrtc.so", NULL);
  g_setenv ("GST_CUDA_NVRTC_LIBNAME", compiler, TRUE);
  g_free (compiler);
}

/* The registry may know their plugin as one without elements, as it is where
 * there is no driver. */
void
test_load_nvcodec (void)
{
  GError *error = NULL;
  GstPlugin *plugin;

  load_driver ();
  plugin = gst_plugin_load_file (nvcodec_file, &error);
  fail_unless (plugin != NULL, "%s: %s", nvcodec_file,
      error ? error->message : "no reason");
  gst_object_unref (plugin);
  fail_unless (gst_registry_check_feature_version (
                   gst_registry_get (), "cudaupload", 1, 24, 0),
      "the driver is there, and nvcodec has no cudaupload");
}

const gchar *
test_find_nvcodec (void)
{
  GstPlugin *plugin = gst_registry_find_plugin (gst_registry_get (), "nvcodec");
  guint major = 0, minor = 0;

  if (!plugin)
    return "the plugin nvcodec is missing (gstreamer1.0-plugins-bad)";
  nvcodec_file = g_strdup (gst_plugin_get_filename (plugin));
  if (sscanf (gst_plugin_get_version (plugin), "%u.%u", &major, &minor) != 2
      || major != 1 || minor < 24) {
    gst_object_unref (plugin);
    return "the plugin nvcodec is older than 1.24";
  }
  gst_object_unref (plugin);
  return NULL;
}
