/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * memory/policywindow.c: see memory/policywindow.h
 */

#include "memory/policywindow.h"

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
