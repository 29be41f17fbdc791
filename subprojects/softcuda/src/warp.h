/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * warp.h: the waits of a block's threads
 */

#ifndef SOFTCUDA_WARP_H
#define SOFTCUDA_WARP_H

#include <stdbool.h>

#define SC_WARP_SIZE 32u

typedef enum sc_thread_state {
  SC_THREAD_RUNNABLE,
  SC_THREAD_YIELDED,     /* runs again in the next round */
  SC_THREAD_AT_BARRIER,  /* waits for all threads of the block */
  SC_THREAD_AT_EXCHANGE, /* waits for the threads of its mask */
  SC_THREAD_AT_ACTIVE,   /* has called __activemask() */
  SC_THREAD_ENDED
} sc_thread_state;

/* A thread of a block that runs as a fibre. Thread i is lane i % 32 of warp
 * i / 32. */
typedef struct sc_thread {
  sc_thread_state state;
  bool predicate;           /* at the barrier */
  unsigned int mask;        /* lanes that take part in the exchange */
  unsigned long long value; /* its value for the exchange */
  unsigned long long
      *values;          /* where the values of all lanes are written, or NULL */
  const void *place;    /* the address of its call of __activemask() */
  int count;            /* out: threads at the barrier whose predicate is set */
  unsigned int present; /* out: lanes that took part */
} sc_thread;

/* Makes the threads whose wait is over runnable. Returns whether there is such
 * a thread. Must be called when no thread is runnable. */
bool sc_threads_release (sc_thread *threads, unsigned int n);

/* Whether there is a thread that has not ended. */
bool sc_threads_are_waiting (const sc_thread *threads, unsigned int n);

#endif /* SOFTCUDA_WARP_H */
