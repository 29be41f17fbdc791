/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * nvcodec.c: GStreamer's own CUDA elements, on the device that the plugin uses
 *
 * Loads the plugin of these elements. Without a GPU, they run on softcuda. Does
 * not depend on the elements of this project.
 */

#include "nvcodec.h"

#include <dlfcn.h>

static gchar *nvcodec_file;

/* --- GStreamer's plugin on the same device ------------------------------- */

/* Loads NVIDIA's driver or softcuda under the driver's usual name. With
 * softcuda, it also loads the compiler, and the encoder library without which
 * their plugin registers no elements. */
static void
load_driver (void)
{
  const gchar *folder = g_getenv ("VKGDR_SOFTCUDA_DIR");
  const gchar *names[] = { "libcuda.so.1", "libnvidia-encode.so.1" };
  CUresult (*init) (unsigned int flags);
  void *driver = NULL;
  g_autofree gchar *compiler = NULL;
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
    g_autofree gchar *path = g_build_filename (folder, names[i], NULL);

    fail_unless (dlopen (path, RTLD_NOW) != NULL, "%s: %s", path, dlerror ());
  }
  compiler = g_build_filename (folder, "libnvrtc.so", NULL);
  g_setenv ("GST_CUDA_NVRTC_LIBNAME", compiler, TRUE);
}

/* The registry may have an entry of their plugin without elements, which was
 * made without a driver. */
void
test_nvcodec_load (void)
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

void
test_nvcodec_require (void)
{
  GstPlugin *plugin = gst_registry_find_plugin (gst_registry_get (), "nvcodec");

  if (!plugin || strverscmp (gst_plugin_get_version (plugin), "1.24") < 0) {
    g_print (
        "skipped: the plugin nvcodec (gstreamer1.0-plugins-bad) is missing,"
        " or is older than 1.24\n");
    exit (77);
  }
  nvcodec_file = g_strdup (gst_plugin_get_filename (plugin));
  gst_object_unref (plugin);
}

gboolean
test_nvcodec_has_converter (void)
{
  return gst_registry_check_feature_version (
      gst_registry_get (), "cudaconvertscale", 1, 24, 0);
}

void *
test_nvcodec_function (const gchar *name)
{
  void *function =
      dlsym (dlopen ("libgstcuda-1.0.so.0", RTLD_LAZY | RTLD_NOLOAD), name);

  fail_unless (function != NULL, "%s", name);
  return function;
}
