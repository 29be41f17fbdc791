/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * thread.h: starts the library's threads
 *
 * Private.
 */

#ifndef VKGDR_THREAD_H
#define VKGDR_THREAD_H

#include <pthread.h>
#include <signal.h>
#include <stddef.h>

/* Starts a thread for @run. Signals that are sent to the process are for the
 * threads of the application. A fault of this thread is still reported by the
 * application's handler. Threads that a driver starts in it get the same name.
 * Returns 0 or an error number. */
static inline int
vkgdr_thread_start (
    pthread_t *thread, const char *name, void *(*run) (void *), void *data)
{
  static const int faults[] = { SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGSYS,
    SIGTRAP };
  sigset_t signals, before;
  size_t i;
  int result;

  sigfillset (&signals);
  for (i = 0; i < sizeof (faults) / sizeof (faults[0]); i++)
    sigdelset (&signals, faults[i]);
  pthread_sigmask (SIG_SETMASK, &signals, &before);
  result = pthread_create (thread, NULL, run, data);
  pthread_sigmask (SIG_SETMASK, &before, NULL);
  if (result == 0)
    pthread_setname_np (*thread, name);
  return result;
}

#endif /* VKGDR_THREAD_H */
