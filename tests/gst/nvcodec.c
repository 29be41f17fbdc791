/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * nvcodec.c: GStreamer's own CUDA elements, on the device that the plugin uses
 *
 * Loads the plugin of these elements. Without a GPU, they run on softcuda. Does
 * not depend on the elements of this project.
 */

#include "nvcodec.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

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

/* Returns why the elements cannot be used, or NULL. */
static const gchar *
find (void)
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

void
test_nvcodec_require (void)
{
  const gchar *why = find ();

  if (!why)
    return;
  g_print ("skipped: %s\n", why);
  exit (77);
}

gboolean
test_nvcodec_has_converter (void)
{
  if (gst_registry_check_feature_version (
          gst_registry_get (), "cudaconvertscale", 1, 24, 0))
    return TRUE;
  g_print ("skipped: nvcodec has no cudaconvertscale\n");
  return FALSE;
}

void
test_nvcodec_assert_same_frame (
    GstBuffer *a, GstBuffer *b, const GstVideoInfo *info)
{
  GstVideoFrame x, y;
  guint p;
  gint row;

  fail_unless (gst_video_frame_map (&x, info, a, GST_MAP_READ));
  fail_unless (gst_video_frame_map (&y, info, b, GST_MAP_READ));
  for (p = 0; p < GST_VIDEO_FRAME_N_PLANES (&x); p++) {
    gint c[GST_VIDEO_MAX_COMPONENTS];
    gsize size;

    gst_video_format_info_component (info->finfo, p, c);
    size = (gsize) GST_VIDEO_FRAME_COMP_WIDTH (&x, c[0])
           * GST_VIDEO_FRAME_COMP_PSTRIDE (&x, c[0]);
    for (row = 0; row < GST_VIDEO_FRAME_COMP_HEIGHT (&x, c[0]); row++)
      fail_unless (memcmp ((guint8 *) GST_VIDEO_FRAME_PLANE_DATA (&x, p)
                               + row * GST_VIDEO_FRAME_PLANE_STRIDE (&x, p),
                       (guint8 *) GST_VIDEO_FRAME_PLANE_DATA (&y, p)
                           + row * GST_VIDEO_FRAME_PLANE_STRIDE (&y, p),
                       size)
                       == 0,
          "plane %u differs in row %d", p, row);
  }
  gst_video_frame_unmap (&y);
  gst_video_frame_unmap (&x);
}

void *
test_nvcodec_function (const gchar *name)
{
  void *function =
      dlsym (dlopen ("libgstcuda-1.0.so.0", RTLD_LAZY | RTLD_NOLOAD), name);

  fail_unless (function != NULL, "%s", name);
  return function;
}
