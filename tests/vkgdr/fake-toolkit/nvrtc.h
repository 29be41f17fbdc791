/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * nvrtc.h: as much of the CUDA toolkit's header as docs/examples/c/frames.c
 * needs, with softcuda's NVRTC or that of the system
 */

#ifndef FAKE_NVRTC_H
#define FAKE_NVRTC_H

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "driver.h"

typedef struct _nvrtcProgram *nvrtcProgram;

/* Ends the program as skipped if there is no NVRTC. */
static inline void *
find_in_nvrtc (const char *name)
{
  bool is_software =
      vkgdr_driver_load () != NULL && vkgdr_driver_is_software ();
  char path[4200];
  void *handle;

  snprintf (path, sizeof (path), "%s%slibnvrtc.so.13",
      is_software ? vkgdr_driver_softcuda_dir () : "", is_software ? "/" : "");
  handle = dlopen (path, RTLD_NOW);
  if (!handle || !dlsym (handle, name))
    exit (77);
  return dlsym (handle, name);
}

#define NVRTC(name, parameters) ((int (*) parameters) find_in_nvrtc (name))

#define nvrtcCreateProgram \
  NVRTC ( \
      "nvrtcCreateProgram", (nvrtcProgram *, const char *, const char *, int, \
                                const char *const *, const char *const *) )
#define nvrtcCompileProgram \
  NVRTC ("nvrtcCompileProgram", (nvrtcProgram, int, const char *const *) )
#define nvrtcGetPTX NVRTC ("nvrtcGetPTX", (nvrtcProgram, char *) )

#endif /* FAKE_NVRTC_H */
