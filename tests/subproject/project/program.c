/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * program.c: opens a device with each of the two libraries. Like a program for
 * vkgdr 0.1, it includes libvkgdr's header by its name alone.
 */
#include <gst/vkgdr/vkgdr.h>

#include "vkgdr.h"

int
main (int argc, char **argv)
{
  vkgdr_t device = vkgdr_open (0, 0);
  GstVkgdrContext *context;
  GError *error = NULL;

  gst_init (&argc, &argv);
  gst_vkgdr_init ();
  context = gst_vkgdr_context_new (-1, &error);
  if (!device || !context) {
    g_printerr ("%s\n", error ? error->message : vkgdr_last_error ());
    return 1;
  }
  g_print ("device %d\n", gst_vkgdr_context_get_device (context));
  gst_object_unref (context);
  vkgdr_close (device);
  return 0;
}
