/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * block.c: runs one block of a kernel
 *
 * If the threads of a kernel never wait for each other, the module's own loop
 * runs them. Otherwise each thread of the block is a fibre. The fibres run in
 * turn, each until it waits; warp.c decides which waits are over. No thread
 * waits for threads that have returned. A fault or a trap ends the block. Knows
 * nothing of streams.
 */

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "fault.h"
#include "fibre.h"
#include "run.h"
#include "warp.h"

typedef struct block_run block_run;

/* A thread of the block as a fibre. */
typedef struct {
  block_run *run;
  unsigned int index[3];
  sigjmp_buf escape;
} block_fibre;

struct block_run {
  const softcuda_kernel *kernel;
  softcuda_block *block;
  sc_outcome *outcome;
  sc_guard guard;
  sc_thread *threads; /* NULL in the module's loop */
  unsigned int running;
  sigjmp_buf *escape; /* of the running thread */
};

static __thread block_run *current;

/* ---- failures ---- */

static const char *
describe_signal (int number, CUresult *error)
{
  switch (number) {
  case SIGFPE:
    *error = CUDA_ERROR_LAUNCH_FAILED;
    return "integer division by zero or overflow";
  case SIGILL:
  case SIGTRAP:
    *error = CUDA_ERROR_ILLEGAL_INSTRUCTION;
    return "illegal instruction";
  default:
    *error = CUDA_ERROR_ILLEGAL_ADDRESS;
    return "illegal memory access";
  }
}

/* Keeps the first failure. */
static void
note_failure (block_run *run, CUresult error, const char *text)
{
  const unsigned int *block = run->block->block_idx;
  const unsigned int *thread = run->block->thread_idx;

  if (run->outcome->error != CUDA_SUCCESS)
    return;
  run->outcome->error = error;
  if (text != NULL && thread != NULL)
    snprintf (run->outcome->text, sizeof run->outcome->text,
        "kernel \"%.100s\": %s, block (%u, %u, %u), thread (%u, %u, %u)",
        run->kernel->name, text, block[0], block[1], block[2], thread[0],
        thread[1], thread[2]);
}

static void
note_fault (block_run *run)
{
  char text[80];
  CUresult error;
  const char *what = describe_signal (run->guard.signal, &error);

  if (error == CUDA_ERROR_ILLEGAL_ADDRESS)
    snprintf (text, sizeof text, "%s at 0x%llx", what,
        (unsigned long long) run->guard.address);
  else
    snprintf (text, sizeof text, "%s", what);
  note_failure (run, error, text);
}

static void
fail_with (block_run *run, const char *text)
{
  note_failure (run, CUDA_ERROR_LAUNCH_FAILED, text);
  siglongjmp (*run->escape, 1);
}

/* ---- hooks ---- */

/* Sets the state of the running thread, and returns when its wait is over.
 * Until then, other threads run. */
static sc_thread *
wait_as (sc_thread_state state)
{
  sc_thread *thread = &current->threads[current->running];

  thread->state = state;
  sc_fibre_yield ();
  return thread;
}

static int
barrier (softcuda_block *block, int predicate)
{
  current->threads[current->running].predicate = predicate != 0;
  return wait_as (SC_THREAD_AT_BARRIER)->count;
}

static unsigned int
exchange (softcuda_block *block, unsigned int mask, unsigned long long value,
    unsigned long long *values)
{
  sc_thread *thread = &current->threads[current->running];
  unsigned int own = 1u << current->running % SC_WARP_SIZE;

  if ((mask & own) == 0)
    fail_with (current, "the mask of a warp function lacks its caller");
  thread->mask = mask;
  thread->value = value;
  thread->values = values;
  return wait_as (SC_THREAD_AT_EXCHANGE)->present;
}

static unsigned int
active (softcuda_block *block, const void *place)
{
  current->threads[current->running].place = place;
  return wait_as (SC_THREAD_AT_ACTIVE)->present;
}

static void
yield (softcuda_block *block)
{
  if (current->threads != NULL)
    wait_as (SC_THREAD_YIELDED);
}

static unsigned long long
nanoseconds (void)
{
  struct timespec now;

  clock_gettime (CLOCK_MONOTONIC, &now);
  return (unsigned long long) now.tv_sec * 1000000000u + now.tv_nsec;
}

static void
fail (softcuda_block *block, int is_assertion)
{
  note_failure (current,
      is_assertion ? CUDA_ERROR_ASSERT : CUDA_ERROR_LAUNCH_FAILED, NULL);
  siglongjmp (*current->escape, 1);
}

static const softcuda_hooks hooks = { barrier, exchange, active, yield,
  nanoseconds, fail };

/* ---- threads ---- */

static void
set_escape (block_run *run, sigjmp_buf *escape)
{
  run->escape = escape;
  run->guard.escape = escape;
}

static void
run_loop (block_run *run)
{
  sigjmp_buf escape;

  if (sigsetjmp (escape, 0) == 0) {
    set_escape (run, &escape);
    run->kernel->run_block (run->block);
  }
  set_escape (run, NULL);
}

static void
fibre_main (void *data)
{
  block_fibre *fibre = data;
  block_run *run = fibre->run;

  if (sigsetjmp (fibre->escape, 0) == 0)
    run->kernel->run_thread (
        run->block, fibre->index[0], fibre->index[1], fibre->index[2]);
}

static void
start_fibres (block_run *run, sc_fibre *fibres, block_fibre *states)
{
  const unsigned int *dim = run->block->block_dim;
  unsigned int i = 0;

  for (unsigned int z = 0; z < dim[2]; z++) {
    for (unsigned int y = 0; y < dim[1]; y++) {
      for (unsigned int x = 0; x < dim[0]; x++) {
        states[i].run = run;
        states[i].index[0] = x;
        states[i].index[1] = y;
        states[i].index[2] = z;
        sc_fibre_start (&fibres[i], fibre_main, &states[i]);
        i++;
      }
    }
  }
}

static void
resume (block_run *run, sc_fibre *fibre, block_fibre *state, unsigned int i)
{
  run->running = i;
  set_escape (run, &state->escape);
  sc_fibre_resume (fibre);
  set_escape (run, NULL);
  if (fibre->ended)
    run->threads[i].state = SC_THREAD_ENDED;
  if (run->guard.signal != 0)
    note_fault (run);
}

/* In each round, every thread that is not waiting runs until its next wait. */
static void
run_rounds (
    block_run *run, sc_fibre *fibres, block_fibre *states, unsigned int n)
{
  do {
    for (unsigned int i = 0; i < n; i++) {
      if (run->threads[i].state == SC_THREAD_RUNNABLE)
        resume (run, &fibres[i], &states[i], i);
      if (run->outcome->error != CUDA_SUCCESS)
        return;
    }
  } while (sc_threads_release (run->threads, n));
  if (sc_threads_are_waiting (run->threads, n))
    note_failure (run, CUDA_ERROR_LAUNCH_FAILED,
        "its threads wait for each other without end");
}

static void
run_fibres (block_run *run, unsigned int n)
{
  sc_fibre *fibres = sc_fibres_get (n);
  block_fibre *states = calloc (n, sizeof *states);

  run->threads = calloc (n, sizeof *run->threads);
  if (fibres == NULL || states == NULL || run->threads == NULL) {
    note_failure (run, CUDA_ERROR_OUT_OF_MEMORY, NULL);
  } else {
    start_fibres (run, fibres, states);
    run_rounds (run, fibres, states, n);
    for (unsigned int i = 0; i < n; i++)
      sc_fibre_finish (&fibres[i]);
  }
  free (states);
  free (run->threads);
}

void
sc_run_block (const softcuda_kernel *kernel, bool in_fibres,
    softcuda_block *block, sc_outcome *outcome)
{
  unsigned int n =
      block->block_dim[0] * block->block_dim[1] * block->block_dim[2];
  block_run run = { .kernel = kernel, .block = block, .outcome = outcome };

  block->hooks = &hooks;
  outcome->error = CUDA_SUCCESS;
  outcome->text[0] = '\0';
  current = &run;
  sc_faults_guard (&run.guard);
  if (in_fibres)
    run_fibres (&run, n);
  else
    run_loop (&run);
  sc_faults_guard (NULL);
  current = NULL;
  if (run.guard.signal != 0)
    note_fault (&run);
}
