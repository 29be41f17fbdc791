/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * block.c: runs one block of a kernel
 *
 * Without barriers the module's own loop does it. With them each thread of the
 * block is a fibre, and all take turns from barrier to barrier; threads that
 * have returned are waited for no more. Knows nothing of streams.
 */

#include <setjmp.h>
#include <stdlib.h>

#include "fibre.h"
#include "run.h"

typedef struct {
  const softcuda_kernel *kernel;
  softcuda_block *block;
  bool in_fibres;
  bool failed;
  jmp_buf escape; /* out of the module's loop */
} block_run;

typedef struct {
  const block_run *run;
  unsigned int index[3];
} block_thread;

static __thread block_run *current;

static void
barrier (softcuda_block *block)
{
  if (current->in_fibres)
    sc_fibre_yield ();
}

static void
fail (softcuda_block *block)
{
  current->failed = true;
  if (current->in_fibres)
    sc_fibre_exit ();
  longjmp (current->escape, 1);
}

static const softcuda_hooks hooks = { barrier, fail };

static void
run_loop (block_run *run)
{
  if (setjmp (run->escape) == 0)
    run->kernel->run_block (run->block);
}

static void
thread_main (void *data)
{
  const block_thread *thread = data;

  thread->run->kernel->run_thread (
      thread->run->block, thread->index[0], thread->index[1], thread->index[2]);
}

static void
start_threads (block_run *run, sc_fibre *fibres, block_thread *threads)
{
  const unsigned int *dim = run->block->block_dim;
  unsigned int i = 0;

  for (unsigned int z = 0; z < dim[2]; z++) {
    for (unsigned int y = 0; y < dim[1]; y++) {
      for (unsigned int x = 0; x < dim[0]; x++) {
        threads[i] = (block_thread){ run, { x, y, z } };
        sc_fibre_start (&fibres[i], thread_main, &threads[i]);
        i++;
      }
    }
  }
}

/* One round takes every thread that has not returned to its next barrier. */
static void
run_rounds (block_run *run, sc_fibre *fibres, unsigned int n)
{
  bool more = true;

  while (more && !run->failed) {
    more = false;
    for (unsigned int i = 0; i < n && !run->failed; i++) {
      if (fibres[i].ended)
        continue;
      sc_fibre_resume (&fibres[i]);
      more = more || !fibres[i].ended;
    }
  }
}

static void
run_fibres (block_run *run, unsigned int n)
{
  sc_fibre *fibres = sc_fibres_get (n);
  block_thread *threads = calloc (n, sizeof *threads);

  if (fibres == NULL || threads == NULL) {
    run->failed = true;
    free (threads);
    return;
  }
  start_threads (run, fibres, threads);
  run_rounds (run, fibres, n);
  for (unsigned int i = 0; i < n; i++)
    sc_fibre_finish (&fibres[i]);
  free (threads);
}

bool
sc_run_block (
    const softcuda_kernel *kernel, bool uses_barrier, softcuda_block *block)
{
  unsigned int n =
      block->block_dim[0] * block->block_dim[1] * block->block_dim[2];
  block_run run;

  run.kernel = kernel;
  run.block = block;
  run.in_fibres = uses_barrier && n > 1;
  run.failed = false;
  block->hooks = &hooks;
  current = &run;
  if (run.in_fibres)
    run_fibres (&run, n);
  else
    run_loop (&run);
  current = NULL;
  return !run.failed;
}
