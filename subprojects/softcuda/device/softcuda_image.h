/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * softcuda_image.h: the interface between the driver and a compiled module
 *
 * A module is a shared object that exports one symbol, `softcuda_image`. This
 * header is C and C++, and does not depend on the driver's handles or on CUDA's
 * types.
 */

#ifndef SOFTCUDA_IMAGE_H
#define SOFTCUDA_IMAGE_H

#ifndef SOFTCUDA_RUNTIME_H
#include <stddef.h>
#endif

/* To be increased with every change of these structures. */
#define SOFTCUDA_IMAGE_ABI 3

/* The largest size of a block's dynamic shared memory in bytes. */
#define SOFTCUDA_MAX_DYNAMIC_SHARED 49152

typedef struct softcuda_block softcuda_block;

/* The functions of the driver that a thread of a kernel can call. While one of
 * them waits, other threads of the block run on the same thread of the CPU. */
typedef struct softcuda_hooks {
  /* Waits until all threads of the block that are still running have called it.
   * Returns how many of them have a predicate that is not 0. */
  int (*barrier) (softcuda_block *block, int predicate);
  /* Waits until all lanes of the mask that are still running have called it
   * with the same mask. Returns these lanes. values, which may be NULL, gets
   * the values of 32 lanes. */
  unsigned int (*exchange) (softcuda_block *block, unsigned int mask,
      unsigned long long value, unsigned long long *values);
  /* Returns the lanes of the warp that wait at the same place in the
   * program. */
  unsigned int (*active) (softcuda_block *block, const void *place);
  /* Lets the other threads run. */
  void (*yield) (softcuda_block *block);
  /* Returns the time of a monotonic clock. */
  unsigned long long (*nanoseconds) (void);
  /* Ends the launch with an error, which is that of assert() or that of
   * __trap(). Does not return. */
  void (*fail) (softcuda_block *block, int is_assertion);
} softcuda_hooks;

/* One block of a launch. One thread of the CPU runs it from start to end. */
struct softcuda_block {
  unsigned int grid_dim[3];
  unsigned int block_dim[3];
  unsigned int block_idx[3];
  void *dynamic_shared;
  void **params; /* a pointer to each argument */
  const softcuda_hooks *hooks;
  const unsigned int *thread_idx; /* of the running thread; set by the module */
};

/* The position of a parameter in CUDA's parameter buffer. */
typedef struct softcuda_param {
  size_t offset;
  size_t size;
} softcuda_param;

typedef struct softcuda_kernel {
  const char *name;
  const softcuda_param *params;
  unsigned int n_params;
  /* Runs all threads of the block, one after the other. */
  void (*run_block) (softcuda_block *block);
  /* Runs one thread, in modules whose threads wait for each other. */
  void (*run_thread) (
      softcuda_block *block, unsigned int x, unsigned int y, unsigned int z);
} softcuda_kernel;

/* Features of the processor that the image needs. */
enum { SOFTCUDA_NEEDS_FMA = 1 };

typedef struct softcuda_image_info {
  unsigned int abi;
  unsigned int needs;
  unsigned int n_kernels;
  const softcuda_kernel *kernels;
  const void *fibres; /* NULL if the threads never wait for each other */
} softcuda_image_info;

#endif /* SOFTCUDA_IMAGE_H */
