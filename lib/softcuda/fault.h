/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * fault.h: a kernel's fault becomes an error of the launch
 */

#ifndef SOFTCUDA_FAULT_H
#define SOFTCUDA_FAULT_H

#include <setjmp.h>
#include <stdint.h>

/* What guards the calling thread while it runs a kernel. */
typedef struct sc_guard {
  sigjmp_buf *escape;  /* where a fault continues; NULL: it is not guarded */
  volatile int signal; /* of the fault, or 0 */
  volatile uintptr_t address;
} sc_guard;

/* The signal handlers are the device's between these two. Calls nest, and may
 * come from several threads. */
void sc_faults_begin (void);
void sc_faults_end (void);

/* Guards the calling thread, which has to be one of the device's own threads,
 * until it is called with NULL. */
void sc_faults_guard (sc_guard *guard);

#endif /* SOFTCUDA_FAULT_H */
