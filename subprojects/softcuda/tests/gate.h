/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * gate.h: gates, which stop a stream until the test opens them
 *
 * gate_wait() is the host function that stops the stream. Gates use atomic
 * variables, because ThreadSanitizer does not see the locks of GLib.
 */

#ifndef TEST_SOFTCUDA_GATE_H
#define TEST_SOFTCUDA_GATE_H

#include "driver.h"

/* Time in which work would run if it were allowed to, in microseconds. */
#define A_WHILE_US 20000

/* All zeros: closed. */
typedef struct {
  gint reached, open;
} Gate;

static inline void
wait_until_true (gint *variable)
{
  while (!g_atomic_int_get (variable))
    g_usleep (100);
}

static inline void
gate_wait (void *data)
{
  Gate *gate = data;

  g_atomic_int_set (&gate->reached, TRUE);
  wait_until_true (&gate->open);
}

static inline void
gate_open (Gate *gate)
{
  g_atomic_int_set (&gate->open, TRUE);
}

/* Waits until a call in another thread has begun to stop the stream. */
static inline void
wait_until_stopping (CUstream stream)
{
  while (cu.cuStreamQuery (stream) != CUDA_ERROR_INVALID_HANDLE)
    g_usleep (1000);
}

#endif /* TEST_SOFTCUDA_GATE_H */
