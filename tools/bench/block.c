/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * block.c: memory that copies and loops write to
 *
 * The thread must have a current CUDA context.
 */

#include <stdlib.h>
#include <string.h>

#include "helper.h"

#define ALIGNMENT 4096

gboolean
bench_block_init (BenchBlock *block, BenchPlace place, vkgdr_t window,
    gsize size, GError **error)
{
  void *memory = NULL;

  block->place = place;
  if (place == BENCH_WINDOW) {
    block->window = vkgdr_memory_alloc (window, size, 0);
    if (!block->window)
      return bench_set_last_error (error);
    memory = vkgdr_memory_get_host_ptr (block->window);
  } else if (place == BENCH_PINNED) {
    if (!bench_check (vkgdr_driver_load ()->cuMemHostAlloc (&memory, size, 0),
            "cuMemHostAlloc", error))
      return FALSE;
  } else if (posix_memalign (&memory, ALIGNMENT, size) != 0) {
    return bench_fail (error, "there is not enough ordinary memory");
  }
  block->host = memset (memory, 0x5a, size);
  return TRUE;
}

void
bench_block_clear (BenchBlock *block)
{
  vkgdr_memory_free (block->window);
  if (block->place == BENCH_RAM)
    free (block->host);
  else if (block->place == BENCH_PINNED && block->host)
    vkgdr_driver_load ()->cuMemFreeHost (block->host);
}

gboolean
bench_target_init (BenchTarget *target, gsize size, GError **error)
{
  const vkgdr_cuda *cu = vkgdr_driver_load ();

  return bench_check (
             cu->cuMemAlloc (&target->device, size), "cuMemAlloc", error)
         && bench_check (
             cu->cuStreamCreate (&target->stream, CU_STREAM_NON_BLOCKING),
             "cuStreamCreate", error);
}

/* Waits for pending copies. */
void
bench_target_clear (BenchTarget *target)
{
  const vkgdr_cuda *cu = vkgdr_driver_load ();

  if (target->stream) {
    cu->cuStreamSynchronize (target->stream);
    cu->cuStreamDestroy (target->stream);
  }
  if (target->device)
    cu->cuMemFree (target->device);
}
