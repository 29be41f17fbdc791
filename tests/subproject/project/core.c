/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * core.c: a program for vkgdr 0.1, which includes the header by its name alone.
 */
#include <stdio.h>

#include "vkgdr.h"

int
main (void)
{
  vkgdr_t device = vkgdr_open (0, 0);
  vkgdr_device_info info;

  if (!device) {
    fprintf (stderr, "%s\n", vkgdr_last_error ());
    return 1;
  }
  vkgdr_get_device_info (device, &info);
  printf ("device %s\n", info.name);
  vkgdr_close (device);
  return 0;
}
