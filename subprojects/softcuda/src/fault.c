/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * fault.c: a kernel's fault becomes an error of the launch
 *
 * While kernels run, the device handles the signals of faults. After a fault of
 * a guarded thread, the thread continues at the guard's escape. All other
 * faults go to the handler that was installed before. Knows nothing of kernels.
 */

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "fault.h"

#define N_SIGNALS 5

/* The size of the alternate stack, which is needed when a kernel's stack
 * overflows. The handlers that were installed before run on it, too. */
#define STACK_SIZE ((size_t) 64 << 10)

/* On arm64, the compiler's trap is a SIGTRAP. */
static const int signals[N_SIGNALS] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL,
  SIGTRAP };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned int n_users;
static struct sigaction previous[N_SIGNALS];
static bool installed[N_SIGNALS];

/* Keys rather than thread-local variables: reading a key in a signal handler
 * allocates nothing. */
static pthread_once_t keys_once = PTHREAD_ONCE_INIT;
static pthread_key_t guard_key;
static pthread_key_t thread_key;

/* ---- threads ---- */

/* The value of thread_key in a thread whose alternate stack is not ours. */
static char no_stack;

static void
free_stack (void *stack)
{
  stack_t none = { .ss_flags = SS_DISABLE };

  if (stack == &no_stack)
    return;
  sigaltstack (&none, NULL);
  munmap (stack, STACK_SIZE);
}

static void
make_keys (void)
{
  pthread_key_create (&guard_key, NULL);
  pthread_key_create (&thread_key, free_stack);
}

/* Does not replace an alternate stack that other code has set, for example a
 * sanitizer. */
static void *
set_stack (void)
{
  stack_t stack;

  if (sigaltstack (NULL, &stack) != 0 || (stack.ss_flags & SS_DISABLE) == 0)
    return &no_stack;
  stack.ss_flags = 0;
  stack.ss_size = STACK_SIZE;
  stack.ss_sp = mmap (NULL, STACK_SIZE, PROT_READ | PROT_WRITE,
      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (stack.ss_sp == MAP_FAILED)
    return &no_stack;
  if (sigaltstack (&stack, NULL) == 0)
    return stack.ss_sp;
  munmap (stack.ss_sp, STACK_SIZE);
  return &no_stack;
}

/* The device's threads block all signals. A fault whose signal is blocked would
 * end the process, so these signals are unblocked. This is done once for each
 * thread, because it takes longer than a small block. */
static void
prepare_thread (void)
{
  sigset_t set;

  sigemptyset (&set);
  for (int i = 0; i < N_SIGNALS; i++)
    sigaddset (&set, signals[i]);
  pthread_sigmask (SIG_UNBLOCK, &set, NULL);
  pthread_setspecific (thread_key, set_stack ());
}

/* ---- the handler ---- */

/* Restores the default action of the signal. It ends the process when the
 * faulty instruction runs again, or when the signal is sent again. */
static void
restore_default (int number, const siginfo_t *info)
{
  signal (number, SIG_DFL);
  if (info->si_code <= 0)
    raise (number);
}

/* Calls a handler in the same way as the operating system. The mask is restored
 * when our own handler returns. */
static void
call_previous (
    struct sigaction *action, int number, siginfo_t *info, void *context)
{
  void (*plain) (int) = action->sa_handler;
  sigset_t mask = action->sa_mask;

  if ((action->sa_flags & SA_NODEFER) == 0)
    sigaddset (&mask, number);
  pthread_sigmask (SIG_BLOCK, &mask, NULL);
  if ((action->sa_flags & SA_SIGINFO) != 0) {
    action->sa_sigaction (number, info, context);
    return;
  }
  if ((action->sa_flags & SA_RESETHAND) != 0)
    action->sa_handler = SIG_DFL;
  plain (number);
}

static void
pass_on (int number, siginfo_t *info, void *context)
{
  struct sigaction *action = previous;

  for (int i = 0; i < N_SIGNALS; i++)
    if (signals[i] == number)
      action = &previous[i];
  if ((action->sa_flags & SA_SIGINFO) == 0) {
    if (action->sa_handler == SIG_IGN && info->si_code <= 0)
      return;
    if (action->sa_handler == SIG_DFL || action->sa_handler == SIG_IGN) {
      restore_default (number, info);
      return;
    }
  }
  call_previous (action, number, info, context);
}

/* A code above 0 means that the CPU raised the signal, and not that a process
 * sent it. */
static void
handle_fault (int number, siginfo_t *info, void *context)
{
  sc_guard *guard = pthread_getspecific (guard_key);
  sigjmp_buf *escape = guard != NULL ? guard->escape : NULL;

  if (escape == NULL || info->si_code <= 0) {
    pass_on (number, info, context);
    return;
  }
  guard->escape = NULL;
  guard->signal = number;
  guard->address = (uintptr_t) info->si_addr;
  siglongjmp (*escape, 1);
}

/* ---- installing it ---- */

static bool
is_ours (const struct sigaction *action)
{
  return (action->sa_flags & SA_SIGINFO) != 0
         && action->sa_sigaction == handle_fault;
}

/* SA_NODEFER is needed because a jump leaves the handler without restoring the
 * signal mask. */
static void
install_locked (void)
{
  struct sigaction ours = { .sa_sigaction = handle_fault,
    .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER };

  sigemptyset (&ours.sa_mask);
  for (int i = 0; i < N_SIGNALS; i++) {
    if (installed[i])
      continue;
    sigaction (signals[i], NULL, &previous[i]);
    installed[i] = sigaction (signals[i], &ours, NULL) == 0;
  }
}

/* Other code may have installed its own handler in the meantime, which calls
 * ours for other faults. Then our handler stays installed as the next one. */
static void
uninstall_locked (void)
{
  struct sigaction present;

  for (int i = 0; i < N_SIGNALS; i++) {
    if (sigaction (signals[i], NULL, &present) != 0)
      continue;
    if (is_ours (&present) && sigaction (signals[i], &previous[i], NULL) == 0)
      installed[i] = false;
    else if ((present.sa_flags & SA_SIGINFO) == 0
             && present.sa_handler == SIG_DFL)
      installed[i] = false;
  }
}

void
sc_faults_begin (void)
{
  pthread_once (&keys_once, make_keys);
  pthread_mutex_lock (&lock);
  if (n_users++ == 0)
    install_locked ();
  pthread_mutex_unlock (&lock);
}

void
sc_faults_end (void)
{
  pthread_mutex_lock (&lock);
  if (--n_users == 0)
    uninstall_locked ();
  pthread_mutex_unlock (&lock);
}

void
sc_faults_guard (sc_guard *guard)
{
  if (pthread_getspecific (thread_key) == NULL)
    prepare_thread ();
  pthread_setspecific (guard_key, guard);
}
