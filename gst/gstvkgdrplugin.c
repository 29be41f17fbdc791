/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * gstvkgdrplugin.c: the plugin vkgdr
 *
 * Loading it opens no device and loads no driver, so that a machine without
 * either can list its elements.
 */

#include "gstvkgdrelements.h"

#include <gst/vkgdr/vkgdr.h>

static gboolean
plugin_init (GstPlugin *plugin)
{
  gst_vkgdr_init ();
  return GST_ELEMENT_REGISTER (cudafilter, plugin)
         | GST_ELEMENT_REGISTER (vkgdrdownload, plugin)
#ifdef HAVE_ONNXRUNTIME
         | GST_ELEMENT_REGISTER (vkgdrinfer, plugin)
#endif
         | GST_ELEMENT_REGISTER (vkgdrtensor, plugin)
         | GST_ELEMENT_REGISTER (vkgdripcsink, plugin)
         | GST_ELEMENT_REGISTER (vkgdripcsrc, plugin)
         | GST_ELEMENT_REGISTER (vkgdrupload, plugin);
}

GST_PLUGIN_DEFINE (GST_VERSION_MAJOR, GST_VERSION_MINOR, vkgdr,
    "Video frames, audio and data in GPU memory that upstream writes to "
    "directly",
    plugin_init, VERSION, "LGPL", PACKAGE_NAME, PACKAGE_ORIGIN)
