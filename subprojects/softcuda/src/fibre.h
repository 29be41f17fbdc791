/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * fibre.h: several flows of control on one thread, taking turns
 */

#ifndef SOFTCUDA_FIBRE_H
#define SOFTCUDA_FIBRE_H

#include <stdbool.h>
#include <stddef.h>
#include <ucontext.h>

/* The place at which a flow of control continues. */
typedef struct {
  ucontext_t context; /* with sanitizers, and before the flow has begun */
  void *jump[5];      /* the buffer of __builtin_setjmp () */
  bool has_begun;
} sc_place;

typedef struct sc_fibre {
  sc_place place;
  void *stack;
  void (*entry) (void *data);
  void *data;
  bool ended;
  void *fake_stack; /* AddressSanitizer's */
  void *tsan;       /* ThreadSanitizer's */
} sc_fibre;

/* Returns n fibres with stacks, which only the calling thread may use, or NULL
 * if there is no memory. A thread owns one set of fibres. The next call returns
 * the same set. */
sc_fibre *sc_fibres_get (unsigned int n);

/* Sets up a fibre that will call entry (data). */
void sc_fibre_start (sc_fibre *fibre, void (*entry) (void *data), void *data);

/* Runs a fibre until it yields or ends. If it has ended, fibre->ended is
 * true. */
void sc_fibre_resume (sc_fibre *fibre);

/* Ends the use of a fibre that was started, even if it has not ended. */
void sc_fibre_finish (sc_fibre *fibre);

/* Called in a fibre: returns to the code that resumed the fibre. */
void sc_fibre_yield (void);

#endif /* SOFTCUDA_FIBRE_H */
