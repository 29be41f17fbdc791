/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * warp.c: the waits of a block's threads, and when they are over
 *
 * The rules are those of CUDA. A barrier waits for all threads of the block
 * that have not returned. A warp function waits for all lanes of its mask that
 * have not returned. __activemask() returns when all other lanes of the warp
 * wait or have returned. Knows nothing of how threads run.
 */

#include <stddef.h>

#include "warp.h"

/* The lanes of a warp. The last warp of a block may have fewer. */
static unsigned int
count_lanes (unsigned int first, unsigned int n)
{
  return n - first < SC_WARP_SIZE ? n - first : SC_WARP_SIZE;
}

static bool
release_yielded (sc_thread *threads, unsigned int n)
{
  bool any = false;

  for (unsigned int i = 0; i < n; i++) {
    if (threads[i].state == SC_THREAD_YIELDED) {
      threads[i].state = SC_THREAD_RUNNABLE;
      any = true;
    }
  }
  return any;
}

static bool
release_barrier (sc_thread *threads, unsigned int n)
{
  unsigned int n_here = 0;
  int count = 0;

  for (unsigned int i = 0; i < n; i++) {
    if (threads[i].state == SC_THREAD_ENDED)
      continue;
    if (threads[i].state != SC_THREAD_AT_BARRIER)
      return false;
    n_here++;
    count += threads[i].predicate;
  }
  for (unsigned int i = 0; i < n; i++) {
    if (threads[i].state == SC_THREAD_AT_BARRIER) {
      threads[i].state = SC_THREAD_RUNNABLE;
      threads[i].count = count;
    }
  }
  return n_here != 0;
}

/* Returns the lanes of the mask that have not ended. Returns 0 if one of them
 * does not wait at an exchange with the same mask. */
static unsigned int
complete_lanes (const sc_thread *lanes, unsigned int n, unsigned int mask)
{
  unsigned int present = 0;

  for (unsigned int i = 0; i < n; i++) {
    if ((mask >> i & 1) == 0 || lanes[i].state == SC_THREAD_ENDED)
      continue;
    if (lanes[i].state != SC_THREAD_AT_EXCHANGE || lanes[i].mask != mask)
      return 0;
    present |= 1u << i;
  }
  return present;
}

static void
exchange_values (sc_thread *lanes, unsigned int n, unsigned int present)
{
  for (unsigned int i = 0; i < n; i++) {
    if ((present >> i & 1) == 0)
      continue;
    for (unsigned int k = 0; lanes[i].values != NULL && k < n; k++)
      lanes[i].values[k] = lanes[k].value;
    lanes[i].present = present;
    lanes[i].state = SC_THREAD_RUNNABLE;
  }
}

static bool
release_exchanges (sc_thread *lanes, unsigned int n)
{
  bool any = false;

  for (unsigned int i = 0; i < n; i++) {
    unsigned int present = 0;

    if (lanes[i].state == SC_THREAD_AT_EXCHANGE)
      present = complete_lanes (lanes, n, lanes[i].mask);
    if (present != 0) {
      exchange_values (lanes, n, present);
      any = true;
    }
  }
  return any;
}

/* Releases the lanes that wait at the first place of the program: lanes that
 * have diverged meet again behind a branch or a loop. */
static bool
release_active (sc_thread *lanes, unsigned int n)
{
  const void *first = NULL;
  unsigned int present = 0;

  for (unsigned int i = 0; i < n; i++) {
    if (lanes[i].state != SC_THREAD_AT_ACTIVE
        || (present != 0 && lanes[i].place > first))
      continue;
    if (lanes[i].place != first)
      present = 0;
    first = lanes[i].place;
    present |= 1u << i;
  }
  for (unsigned int i = 0; i < n; i++) {
    if ((present >> i & 1) != 0) {
      lanes[i].present = present;
      lanes[i].state = SC_THREAD_RUNNABLE;
    }
  }
  return present != 0;
}

bool
sc_threads_release (sc_thread *threads, unsigned int n)
{
  bool any = release_yielded (threads, n);

  for (unsigned int first = 0; first < n; first += SC_WARP_SIZE) {
    unsigned int n_lanes = count_lanes (first, n);

    if (release_exchanges (threads + first, n_lanes)
        || release_active (threads + first, n_lanes))
      any = true;
  }
  return any || release_barrier (threads, n);
}

bool
sc_threads_are_waiting (const sc_thread *threads, unsigned int n)
{
  for (unsigned int i = 0; i < n; i++)
    if (threads[i].state != SC_THREAD_ENDED)
      return true;
  return false;
}
