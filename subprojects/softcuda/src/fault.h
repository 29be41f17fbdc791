/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * fault.h: a kernel's fault becomes an error of the launch
 */

#ifndef SOFTCUDA_FAULT_H
#define SOFTCUDA_FAULT_H

#include <setjmp.h>
#include <stdint.h>

/* The state of a thread that runs a kernel. */
typedef struct sc_guard {
  sigjmp_buf
      *escape; /* where the thread continues after a fault; NULL: not guarded */
  volatile int signal; /* of the fault, or 0 */
  volatile uintptr_t address;
} sc_guard;

/* The signal handlers of the device are installed between these two calls.
 * Calls may be nested, and may come from several threads. */
void sc_faults_begin (void);
void sc_faults_end (void);

/* Guards the calling thread until this function is called with NULL. Must be
 * called by a thread of the device. */
void sc_faults_guard (sc_guard *guard);

#endif /* SOFTCUDA_FAULT_H */
