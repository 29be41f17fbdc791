/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * softcuda_image.h: what the driver and a compiled module know of each other
 *
 * A module is a shared object that exports one symbol, `softcuda_image`. Both
 * C and C++; knows neither the driver's handles nor CUDA's vocabulary.
 */

#ifndef SOFTCUDA_IMAGE_H
#define SOFTCUDA_IMAGE_H

#include <stddef.h>

/* Grows with every change of these structures. */
#define SOFTCUDA_IMAGE_ABI 2

/* Bytes of dynamic shared memory that a block may ask for. */
#define SOFTCUDA_MAX_DYNAMIC_SHARED 49152

typedef struct softcuda_block softcuda_block;

/* What a thread of a kernel may ask of the driver. Those that wait let other
 * threads of the block run, on the same thread of the CPU. */
typedef struct softcuda_hooks {
  /* Returns when all threads of the block that still run are here: how many of
   * them have a predicate that is not 0. */
  int (*barrier) (softcuda_block *block, int predicate);
  /* Returns when all lanes of the mask that still run are here, with the same
   * mask: which they are. values, which may be NULL, gets the value of each of
   * 32 lanes. */
  unsigned int (*exchange) (softcuda_block *block, unsigned int mask,
      unsigned long long value, unsigned long long *values);
  /* The lanes of the warp that wait at the same place of the program. */
  unsigned int (*active) (softcuda_block *block, const void *place);
  /* Lets the others run. */
  void (*yield) (softcuda_block *block);
  /* A clock that never goes back. */
  unsigned long long (*nanoseconds) (void);
  /* The launch has failed: does not return to the thread. */
  void (*fail) (softcuda_block *block);
} softcuda_hooks;

/* One block of a launch, run by one thread of the CPU from start to end. */
struct softcuda_block {
  unsigned int grid_dim[3];
  unsigned int block_dim[3];
  unsigned int block_idx[3];
  void *dynamic_shared;
  void **params; /* a pointer to each argument */
  const softcuda_hooks *hooks;
  const unsigned int *thread_idx; /* of the running thread; set by the module */
};

/* A parameter's place in CUDA's parameter buffer. */
typedef struct softcuda_param {
  size_t offset;
  size_t size;
} softcuda_param;

typedef struct softcuda_kernel {
  const char *name;
  const softcuda_param *params;
  unsigned int n_params;
  /* All threads of the block, one after the other. */
  void (*run_block) (softcuda_block *block);
  /* One thread of it: for modules whose threads wait for each other. */
  void (*run_thread) (
      softcuda_block *block, unsigned int x, unsigned int y, unsigned int z);
} softcuda_kernel;

/* What the processor must have to run the image. */
enum { SOFTCUDA_NEEDS_FMA = 1 };

typedef struct softcuda_image_info {
  unsigned int abi;
  unsigned int needs;
  unsigned int n_kernels;
  const softcuda_kernel *kernels;
  const void *fibres; /* NULL if its threads never wait for each other */
} softcuda_image_info;

#endif /* SOFTCUDA_IMAGE_H */
