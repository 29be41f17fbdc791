/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * gate.h: gates, which stop a stream until the test opens them
 *
 * gate_wait() is the host function that stops the stream. Gates use POSIX
 * locks, because ThreadSanitizer does not see the locks of GLib.
 */

#ifndef TEST_SOFTCUDA_GATE_H
#define TEST_SOFTCUDA_GATE_H

#include <glib.h>
#include <pthread.h>

/* Time in which work would run if it were allowed to, in microseconds. */
#define A_WHILE_US 20000

typedef struct {
  pthread_mutex_t lock;
  pthread_cond_t cond;
  gboolean reached;
  gboolean open;
} Gate;

/* A gate that is closed. */
#define GATE \
  { \
    PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, FALSE, FALSE \
  }

static inline void
gate_wait (void *data)
{
  Gate *gate = data;

  pthread_mutex_lock (&gate->lock);
  gate->reached = TRUE;
  pthread_cond_broadcast (&gate->cond);
  while (!gate->open)
    pthread_cond_wait (&gate->cond, &gate->lock);
  pthread_mutex_unlock (&gate->lock);
}

/* Waits until a stream is at the gate. */
static inline void
gate_wait_until_reached (Gate *gate)
{
  pthread_mutex_lock (&gate->lock);
  while (!gate->reached)
    pthread_cond_wait (&gate->cond, &gate->lock);
  pthread_mutex_unlock (&gate->lock);
}

static inline void
gate_open (Gate *gate)
{
  pthread_mutex_lock (&gate->lock);
  gate->open = TRUE;
  pthread_cond_broadcast (&gate->cond);
  pthread_mutex_unlock (&gate->lock);
}

#endif /* TEST_SOFTCUDA_GATE_H */
