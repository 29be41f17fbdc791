/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * run.h: how the blocks of a launch get done, between launch.c, block.c and
 * pool.c
 */

#ifndef SOFTCUDA_RUN_H
#define SOFTCUDA_RUN_H

#include <stdbool.h>
#include <stdint.h>

#include "cuda-driver.h"
#include "device/softcuda_image.h"

/* How a block ended. */
typedef struct sc_outcome {
  CUresult error;
  char text[256]; /* what went wrong, and where; empty if nothing is known */
} sc_outcome;

/* block.c: runs one block on the calling thread. block's hooks are set here.
 * in_fibres: the kernel's threads may wait for each other. */
void sc_run_block (const softcuda_kernel *kernel, bool in_fibres,
    softcuda_block *block, sc_outcome *outcome);

/* pool.c: calls each (data, 0) to each (data, n - 1) on as many threads as
 * there are processors, one of them the caller's; stops early after a false.
 * Returns whether all were true. */
bool sc_pool_run (
    bool (*each) (void *data, uint64_t i), void *data, uint64_t n);

#endif /* SOFTCUDA_RUN_H */
