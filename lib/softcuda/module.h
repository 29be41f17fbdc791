/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * module.h: modules and functions, between module.c and launch.c
 */

#ifndef SOFTCUDA_MODULE_H
#define SOFTCUDA_MODULE_H

#include "device/softcuda_image.h"
#include "private.h"

struct CUfunc_st {
  sc_handle handle;
  CUmodule module;
  const softcuda_kernel *kernel;
};

struct CUmod_st {
  sc_handle handle;
  int fd; /* of the image: its number is the library's name */
  void *library;
  const softcuda_image_info *image;
  struct CUfunc_st *functions; /* one a kernel */
  uintptr_t *globals; /* addresses of variables that a caller knows of */
  size_t n_globals;
};

/* What the device allows a launch. */
#define SC_MAX_BLOCK_THREADS 1024

#endif /* SOFTCUDA_MODULE_H */
