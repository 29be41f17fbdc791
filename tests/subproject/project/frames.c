/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * frames.c: a GStreamer program that opens a device.
 */
#include <gst/vkgdr/vkgdr.h>

int
main (int argc, char **argv)
{
  GstVkgdrContext *context;
  GError *error = NULL;

  gst_init (&argc, &argv);
  gst_vkgdr_init ();
  context = gst_vkgdr_context_new (-1, &error);
  if (!context) {
    g_printerr ("%s\n", error->message);
    g_clear_error (&error);
    return 1;
  }
  g_print ("device %d\n", gst_vkgdr_context_get_device (context));
  gst_object_unref (context);
  return 0;
}
