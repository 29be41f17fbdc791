/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * fibre.c: fibres, each on a stack of its own
 *
 * A fibre gets its stack by makecontext (). All further switches are jumps,
 * because swapcontext () makes a system call. With the sanitizers, which do not
 * support such jumps, all switches use swapcontext (). Keeps each thread's
 * fibres for the next block. Reports every switch to the sanitizers and to
 * valgrind. Knows nothing of CUDA.
 */

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fibre.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define FIBRE_ASAN 1
#endif
#if __has_feature(thread_sanitizer)
#define FIBRE_TSAN 1
#endif
#endif
#ifdef __SANITIZE_ADDRESS__
#define FIBRE_ASAN 1
#endif
#ifdef __SANITIZE_THREAD__
#define FIBRE_TSAN 1
#endif

#ifdef FIBRE_ASAN
#include <sanitizer/common_interface_defs.h>
#endif
#ifdef FIBRE_TSAN
#include <sanitizer/tsan_interface.h>
#endif
#if defined(FIBRE_ASAN) || defined(FIBRE_TSAN)
#define IS_SANITIZED true
#else
#define IS_SANITIZED false
#endif

#ifdef HAVE_VALGRIND
#include <valgrind/valgrind.h>
#else
#define VALGRIND_STACK_REGISTER(start, end) 0
#define VALGRIND_STACK_DEREGISTER(id) ((void) (id))
#endif

/* printf() of a double needs about ten KiB. Only pages that are touched use
 * memory. */
#define STACK_SIZE ((size_t) 128 << 10)

typedef struct {
  sc_fibre *fibres;
  unsigned int *valgrind_ids;
  unsigned int n;
  char *memory;
  size_t size;
} fibre_set;

/* The code that resumed the running fibre of this thread. */
typedef struct {
  sc_fibre *fibre;
  sc_place place;
  void *fake_stack;
  const void *stack;
  size_t stack_size;
  void *tsan;
} resumer;

static pthread_once_t key_once = PTHREAD_ONCE_INIT;
static pthread_key_t key;
static __thread resumer current;

static void
set_clear (fibre_set *set)
{
  for (unsigned int i = 0; i < set->n; i++)
    VALGRIND_STACK_DEREGISTER (set->valgrind_ids[i]);
  if (set->memory != NULL)
    munmap (set->memory, set->size);
  free (set->fibres);
  free (set->valgrind_ids);
  *set = (fibre_set){ NULL, NULL, 0, NULL, 0 };
}

static void
set_free (void *data)
{
  set_clear (data);
  free (data);
}

static void
make_key (void)
{
  pthread_key_create (&key, set_free);
}

static fibre_set *
get_set (void)
{
  fibre_set *set;

  pthread_once (&key_once, make_key);
  set = pthread_getspecific (key);
  if (set != NULL)
    return set;
  set = calloc (1, sizeof *set);
  if (set != NULL && pthread_setspecific (key, set) != 0) {
    free (set);
    return NULL;
  }
  return set;
}

/* Below each stack is a guard page. A stack that overflows causes a fault, and
 * does not overwrite the next stack. */
static bool
set_make (fibre_set *set, unsigned int n)
{
  size_t page = sysconf (_SC_PAGESIZE);
  size_t step = STACK_SIZE + page;
  void *memory = mmap (NULL, n * step, PROT_READ | PROT_WRITE,
      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

  if (memory == MAP_FAILED)
    return false;
  set->memory = memory;
  set->size = n * step;
  set->fibres = calloc (n, sizeof *set->fibres);
  set->valgrind_ids = calloc (n, sizeof *set->valgrind_ids);
  if (set->fibres == NULL || set->valgrind_ids == NULL)
    return false;
  for (unsigned int i = 0; i < n; i++) {
    char *stack = set->memory + i * step + page;

    if (mprotect (stack - page, page, PROT_NONE) != 0)
      return false;
    set->fibres[i].stack = stack;
    set->valgrind_ids[i] =
        VALGRIND_STACK_REGISTER (stack, stack + STACK_SIZE - 1);
    set->n = i + 1;
  }
  return true;
}

sc_fibre *
sc_fibres_get (unsigned int n)
{
  fibre_set *set = get_set ();

  if (set == NULL)
    return NULL;
  if (set->n >= n)
    return set->fibres;
  set_clear (set);
  if (!set_make (set, n)) {
    set_clear (set);
    return NULL;
  }
  return set->fibres;
}

/* ---- switching ---- */

/* Not inlined: __builtin_longjmp () must not be called in the function that has
 * called __builtin_setjmp () for the same buffer. */
static void __attribute__ ((noinline)) go_on_at (sc_place *place)
{
  if (place->has_begun)
    __builtin_longjmp (place->jump, 1);
  place->has_begun = true;
  setcontext (&place->context);
}

/* Continues at @to. Returns when another switch continues at @from. */
static void
change_place (sc_place *from, sc_place *to)
{
  from->has_begun = true;
  if (IS_SANITIZED)
    swapcontext (&from->context, &to->context);
  else if (__builtin_setjmp (from->jump) == 0)
    go_on_at (to);
}

static void
switch_to_fibre (sc_fibre *fibre)
{
#ifdef FIBRE_ASAN
  __sanitizer_start_switch_fiber (
      &current.fake_stack, fibre->stack, STACK_SIZE);
#endif
#ifdef FIBRE_TSAN
  current.tsan = __tsan_get_current_fiber ();
  __tsan_switch_to_fiber (fibre->tsan, 0);
#endif
  change_place (&current.place, &fibre->place);
#ifdef FIBRE_ASAN
  __sanitizer_finish_switch_fiber (current.fake_stack, NULL, NULL);
#endif
}

static void
arrived_in_fibre (sc_fibre *fibre)
{
#ifdef FIBRE_ASAN
  __sanitizer_finish_switch_fiber (
      fibre->fake_stack, &current.stack, &current.stack_size);
#endif
}

static void
switch_back (sc_fibre *fibre)
{
#ifdef FIBRE_ASAN
  __sanitizer_start_switch_fiber (fibre->ended ? NULL : &fibre->fake_stack,
      current.stack, current.stack_size);
#endif
#ifdef FIBRE_TSAN
  __tsan_switch_to_fiber (current.tsan, 0);
#endif
  change_place (&fibre->place, &current.place);
}

/* After a fibre has ended, it waits here until it is started again. */
static void
fibre_main (void)
{
  for (;;) {
    sc_fibre *fibre = current.fibre;

    arrived_in_fibre (fibre);
    fibre->entry (fibre->data);
    fibre->ended = true;
    switch_back (fibre);
  }
}

static void
make_place (sc_fibre *fibre)
{
  ucontext_t *context = &fibre->place.context;

  getcontext (context);
  context->uc_stack.ss_sp = fibre->stack;
  context->uc_stack.ss_size = STACK_SIZE;
  context->uc_link = NULL;
  makecontext (context, fibre_main, 0);
  fibre->place.has_begun = false;
}

void
sc_fibre_start (sc_fibre *fibre, void (*entry) (void *data), void *data)
{
  fibre->entry = entry;
  fibre->data = data;
  fibre->fake_stack = NULL;
#ifdef FIBRE_TSAN
  fibre->tsan = __tsan_create_fiber (0);
#endif
  /* A fibre that has ended waits in fibre_main (). The sanitizers get a new one
   * for each start. */
  if (!fibre->ended || IS_SANITIZED)
    make_place (fibre);
  fibre->ended = false;
}

void
sc_fibre_finish (sc_fibre *fibre)
{
#ifdef FIBRE_TSAN
  __tsan_destroy_fiber (fibre->tsan);
#endif
  fibre->tsan = NULL;
}

void
sc_fibre_resume (sc_fibre *fibre)
{
  current.fibre = fibre;
  switch_to_fibre (fibre);
}

void
sc_fibre_yield (void)
{
  sc_fibre *fibre = current.fibre;

  switch_back (fibre);
  arrived_in_fibre (fibre);
}
