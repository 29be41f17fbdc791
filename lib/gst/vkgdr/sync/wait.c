/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * sync/wait.c: see sync/wait.h
 */

#include <sys/prctl.h>

#include "sync/wait.h"

/* Microseconds for which the thread only yields, because the delay of a sleep
 * would be noticeable. The driver's own waits do the same. */
#define SPIN 200

/* A pause lasts 1 / PART of the time waited so far, and at most PAUSE_MAX
 * microseconds, a delay that is not noticeable. */
#define PART 64
#define PAUSE_MAX 1000

/* Nanoseconds. By default, Linux lets a thread sleep 50 microseconds longer
 * than requested. */
#define SLACK 1000

void
gst_vkgdr_wait_pause (GstVkgdrWait *wait)
{
  gint64 now = g_get_monotonic_time ();

  if (wait->since == 0)
    wait->since = now;
  if (now - wait->since < SPIN) {
    g_thread_yield ();
    return;
  }
  if (wait->slack < 0) {
    wait->slack = MAX (prctl (PR_GET_TIMERSLACK, 0, 0, 0, 0), 0);
    prctl (PR_SET_TIMERSLACK, SLACK, 0, 0, 0);
  }
  g_usleep (MIN ((now - wait->since) / PART, PAUSE_MAX));
}

void
gst_vkgdr_wait_end (GstVkgdrWait *wait)
{
  if (wait->slack >= 0)
    prctl (PR_SET_TIMERSLACK, wait->slack, 0, 0, 0);
  wait->slack = -1;
}
