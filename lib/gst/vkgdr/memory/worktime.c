/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * memory/worktime.c: see memory/worktime.h
 */

#include "memory/worktime.h"

#include <time.h>

/* Returns FALSE if the processor time of the calling thread is unknown. */
static gboolean
get_processor_time (GstClockTime *time)
{
  struct timespec now;

  if (clock_gettime (CLOCK_THREAD_CPUTIME_ID, &now) != 0)
    return FALSE;
  *time = GST_TIMESPEC_TO_TIME (now);
  return TRUE;
}

void
gst_vkgdr_work_start (
    GstVkgdrWorkStart *start, GstClockTime now, gboolean with_processor_time)
{
  start->time = now;
  start->thread = NULL;
  start->cpu = 0;
  if (with_processor_time && get_processor_time (&start->cpu))
    start->thread = g_thread_self ();
}

GstVkgdrWork
gst_vkgdr_work_end (const GstVkgdrWorkStart *start, GstClockTime now)
{
  GstVkgdrWork work = { now - start->time, now, NULL, 0 };

  /* A new thread may have the address of one that has ended. */
  if (start->thread && start->thread == g_thread_self ()
      && get_processor_time (&work.cpu) && work.cpu >= start->cpu) {
    work.time = work.cpu - start->cpu;
    work.thread = start->thread;
  }
  return work;
}
