/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * run.h: how the blocks of a launch get done, between launch.c, block.c and
 * pool.c
 */

#ifndef SOFTCUDA_RUN_H
#define SOFTCUDA_RUN_H

#include <stdbool.h>
#include <stdint.h>

#include "device/softcuda_image.h"

/* block.c: runs one block on the calling thread; false if the kernel failed.
 * block's hooks are set here. */
bool sc_run_block (
    const softcuda_kernel *kernel, bool uses_barrier, softcuda_block *block);

/* pool.c: calls each (data, 0) to each (data, n - 1) on as many threads as
 * there are processors, one of them the caller's; stops early after a false.
 * Returns whether all were true. */
bool sc_pool_run (
    bool (*each) (void *data, uint64_t i), void *data, uint64_t n);

#endif /* SOFTCUDA_RUN_H */
