/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * fibre.h: several flows of control on one thread, taking turns
 */

#ifndef SOFTCUDA_FIBRE_H
#define SOFTCUDA_FIBRE_H

#include <stdbool.h>
#include <stddef.h>
#include <ucontext.h>

typedef struct sc_fibre {
  ucontext_t context;
  void *stack;
  void (*entry) (void *data);
  void *data;
  bool ended;
  void *fake_stack; /* AddressSanitizer's */
  void *tsan;       /* ThreadSanitizer's */
} sc_fibre;

/* n fibres with stacks, for the calling thread alone, or NULL without memory.
 * They belong to the thread, which has one such set at a time; the next call
 * gives the same again. */
sc_fibre *sc_fibres_get (unsigned int n);

/* Sets up a fibre that will call entry (data). */
void sc_fibre_start (sc_fibre *fibre, void (*entry) (void *data), void *data);

/* Lets it run until it yields or ends: then fibre->ended. */
void sc_fibre_resume (sc_fibre *fibre);

/* Ends the use of a fibre that was started, wherever it is. */
void sc_fibre_finish (sc_fibre *fibre);

/* In a fibre: goes back to who resumed it; and for ever. */
void sc_fibre_yield (void);
void sc_fibre_exit (void) __attribute__ ((noreturn));

#endif /* SOFTCUDA_FIBRE_H */
