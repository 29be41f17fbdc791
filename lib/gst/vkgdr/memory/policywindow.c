/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * memory/policywindow.c: see memory/policywindow.h
 */

#include "memory/policywindow.h"

/* A thread that uses the processor for less than this part of the time waits
 * for other threads, or for data. */
#define BUSY_THREAD 0.85

void
gst_vkgdr_policy_window_add (GstVkgdrPolicyWindow *window, gsize size,
    GstClockTime now, GstClockTime waited)
{
  if (window->n_buffers++ == 0)
    window->first = now;
  else
    window->bytes += size;
  window->last = now;
  window->wait += waited;
}

void
gst_vkgdr_policy_window_add_thread (
    GstVkgdrPolicyWindow *window, GstClockTime time, GstClockTime cpu)
{
  window->thread_time += time;
  window->thread_cpu += cpu;
}

/* If the thread was observed for less than half of the window, other threads
 * write, too. */
gboolean
gst_vkgdr_policy_window_is_idle (const GstVkgdrPolicyWindow *window)
{
  gdouble time = (gdouble) window->thread_time - window->wait;

  return window->n_buffers > 1
         && 2 * window->thread_time >= window->last - window->first
         && window->thread_cpu < BUSY_THREAD * time;
}

static gdouble
load_of (const GstVkgdrPolicyWindow *window, gdouble turns, gdouble time)
{
  gdouble work =
      window->n_work > 0 ? (gdouble) window->work / window->n_work : 0;
  gdouble wait = (gdouble) window->wait / MAX (window->n_buffers, 1);

  return (work + wait) * turns / time;
}

GstVkgdrPolicyScore
gst_vkgdr_policy_window_get_score (const GstVkgdrPolicyWindow *window)
{
  GstClockTime time = window->last - window->first;
  GstVkgdrPolicyScore score = { 0, 0 };

  if (window->n_buffers < 2 || time == 0)
    return score;
  score.rate = (gdouble) window->bytes / time;
  score.load = load_of (window, window->n_buffers - 1, time);
  return score;
}

GstVkgdrPolicyScore
gst_vkgdr_policy_window_get_score_until (
    const GstVkgdrPolicyWindow *window, GstClockTime elapsed)
{
  GstVkgdrPolicyScore score = { (gdouble) window->bytes / MAX (elapsed, 1),
    load_of (window, window->n_buffers, MAX (elapsed, 1)) };

  return score;
}
