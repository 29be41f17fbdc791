/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * module.h: modules, functions, and their launches; shared by module.c,
 * launch.c, graph.c and others
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

/* A launch with a copy of its arguments (launch.c). */
typedef struct sc_launch sc_launch;

typedef struct sc_launch_shape {
  unsigned int grid[3];
  unsigned int block[3];
  unsigned int shared_bytes;
} sc_launch_shape;

/* params and extra are those of cuLaunchKernel(). */
CUresult sc_launch_new_locked (CUfunction function,
    const sc_launch_shape *shape, void **params, void **extra,
    sc_launch **launch);
/* Returns NULL if there is no memory. */
sc_launch *sc_launch_copy (const sc_launch *launch);
void sc_launch_free (sc_launch *launch);
CUfunction sc_launch_function (const sc_launch *launch);

/* Finds the stream of a caller's handle. Returns an error if the stream does
 * not belong to the calling thread's context, or if this context has failed. */
CUresult sc_launch_find_stream_locked (CUstream handle, CUstream *stream);
/* Returns an error if the function was unloaded, or belongs to another context
 * than the stream. */
CUresult sc_launch_check_locked (CUfunction function, CUstream stream);
/* Takes ownership of the launch, even on failure. */
CUresult sc_launch_submit_locked (sc_launch *launch, CUstream stream);

#endif /* SOFTCUDA_MODULE_H */
