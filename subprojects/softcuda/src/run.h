/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * run.h: runs the blocks of a launch; shared by launch.c, block.c and pool.c
 */

#ifndef SOFTCUDA_RUN_H
#define SOFTCUDA_RUN_H

#include <stdbool.h>
#include <stdint.h>

#include "driver-api.h"
#include "../device/softcuda_image.h"

/* The result of a block. */
typedef struct sc_outcome {
  CUresult error;
  char text[256]; /* the fault and its position; empty if unknown */
} sc_outcome;

/* block.c: runs one block on the calling thread, and sets the hooks of `block`.
 * in_fibres: the kernel's threads may wait for each other. */
void sc_run_block (const softcuda_kernel *kernel, bool in_fibres,
    softcuda_block *block, sc_outcome *outcome);

/* pool.c: calls each (data, 0) to each (data, n - 1) on one thread for each
 * processor, at most 16, including the caller's thread. If a call returns
 * false, it stops early. Returns whether all calls returned true. */
bool sc_pool_run (
    bool (*each) (void *data, uint64_t i), void *data, uint64_t n);

#endif /* SOFTCUDA_RUN_H */
