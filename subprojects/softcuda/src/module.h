/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * module.h: modules, functions, and their launches; shared by module.c,
 * launch.c and others
 */

#ifndef SOFTCUDA_MODULE_H
#define SOFTCUDA_MODULE_H

#include "../device/softcuda_image.h"
#include "private.h"

/* The maximum size of a kernel's arguments in bytes. */
#define SC_MAX_ARGUMENTS 4096

/* The values that old-launch.c sets. */
typedef struct sc_old_launch {
  unsigned int block[3];
  unsigned int shared_bytes;
  size_t size; /* of the arguments */
  unsigned char arguments[SC_MAX_ARGUMENTS];
} sc_old_launch;

struct CUfunc_st {
  sc_handle handle;
  CUmodule module;
  const softcuda_kernel *kernel;
  sc_old_launch old;
};

struct CUmod_st {
  sc_handle handle;
  int fd; /* of the image; its number is part of the library's file name */
  void *library;
  const softcuda_image_info *image;
  struct CUfunc_st *functions; /* one for each kernel */
  uintptr_t *globals; /* addresses of variables that a caller has requested */
  size_t n_globals;
};

/* The limits of the device for a launch. */
#define SC_MAX_BLOCK_THREADS 1024

#endif /* SOFTCUDA_MODULE_H */
