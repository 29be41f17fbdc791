/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * memory/policysearch.c: see memory/policysearch.h
 *
 * The total rate rises with the number of direct writers up to a point, and
 * falls beyond it. So the search measures none, half and all, and continues
 * around the best number with smaller and smaller steps. Each candidate is
 * measured twice, alternating with the others. If two results differ, all
 * candidates are measured a third time and the median counts, so that a single
 * disturbance decides nothing.
 */

#include <math.h>
#include <string.h>

#include "memory/policysearch.h"

/* Two results of a candidate that differ by more than this fraction are not
 * reliable. */
#define AGREEMENT_RATE 0.03
#define AGREEMENT_LOAD 0.1

/* A rate that is higher by less than this fraction counts as equal: one value
 * for a single writer, and one for several writers, because their small losses
 * in several stages would add up. */
#define EQUAL_ONE 0.02
#define EQUAL_MANY 0.01

/* The same if the writers wait for other elements most of the time. */
#define EQUAL_PACED 0.04

/* Writers that spend less than this share of the time are limited by other
 * elements. */
#define BUSY 0.8

/* A load that is lower by less than this fraction counts as equal. */
#define EQUAL_LOAD 0.05

/* The search ends if smaller steps cannot gain more than this fraction. */
#define FLAT 0.015

static GstVkgdrPolicyScore
median_score (const GstVkgdrPolicyCandidate *candidate)
{
  const GstVkgdrPolicyScore *s = candidate->scores;
  GstVkgdrPolicyScore score = s[0];

  if (candidate->n_scores == 2) {
    score.rate = (s[0].rate + s[1].rate) / 2;
    score.load = (s[0].load + s[1].load) / 2;
  } else if (candidate->n_scores > 2) {
    score.rate = MAX (MIN (s[0].rate, s[1].rate),
        MIN (MAX (s[0].rate, s[1].rate), s[2].rate));
    score.load = MAX (MIN (s[0].load, s[1].load),
        MIN (MAX (s[0].load, s[1].load), s[2].load));
  }
  return score;
}

static guint
distance (guint a, guint b)
{
  return a > b ? a - b : b - a;
}

/* Sorts the candidates in ascending order, and drops invalid numbers. */
static void
set_candidates (GstVkgdrPolicySearch *search, const gint *numbers, guint n)
{
  guint i;

  search->n = search->pass = search->index = 0;
  memset (search->candidates, 0, sizeof (search->candidates));
  for (i = 0; i < n; i++) {
    gint number = CLAMP (numbers[i], 0, (gint) search->n_writers);

    if (search->n > 0
        && (guint) number == search->candidates[search->n - 1].n_direct)
      continue;
    search->candidates[search->n++].n_direct = number;
  }
}

void
gst_vkgdr_policy_search_start (
    GstVkgdrPolicySearch *search, guint n_writers, guint current)
{
  const gint numbers[] = { 0, n_writers / 2, n_writers };

  memset (search, 0, sizeof (*search));
  search->n_writers = n_writers;
  search->current = MIN (current, n_writers);
  search->step = n_writers > 2 ? (n_writers + 3) / 4 : 0;
  search->is_over = n_writers == 0;
  set_candidates (search, numbers, G_N_ELEMENTS (numbers));
}

/* Every second pass is in reverse order, which needs fewer switches. */
static GstVkgdrPolicyCandidate *
current_candidate (GstVkgdrPolicySearch *search)
{
  guint index =
      search->pass % 2 == 0 ? search->index : search->n - 1 - search->index;

  return &search->candidates[index];
}

guint
gst_vkgdr_policy_search_get (const GstVkgdrPolicySearch *search)
{
  if (search->is_over)
    return search->current;
  return current_candidate ((GstVkgdrPolicySearch *) search)->n_direct;
}

/* Whether @a is preferred to @b, whose rate is equal. The order is: less load
 * of the writers, the present number, then direct access, which needs neither a
 * transfer nor host memory. */
static gboolean
is_preferred (const GstVkgdrPolicySearch *search,
    const GstVkgdrPolicyCandidate *a, const GstVkgdrPolicyCandidate *b)
{
  gdouble load_a = median_score (a).load, load_b = median_score (b).load;

  if (load_a < load_b * (1 - EQUAL_LOAD))
    return TRUE;
  if (load_b < load_a * (1 - EQUAL_LOAD))
    return FALSE;
  if (distance (a->n_direct, search->current)
      != distance (b->n_direct, search->current))
    return distance (a->n_direct, search->current)
           < distance (b->n_direct, search->current);
  return a->n_direct > b->n_direct;
}

static const GstVkgdrPolicyCandidate *
best_candidate (const GstVkgdrPolicySearch *search)
{
  const GstVkgdrPolicyCandidate *fastest = &search->candidates[0], *best;
  gdouble equal = search->n_writers > 1 ? EQUAL_MANY : EQUAL_ONE;
  guint i;

  for (i = 1; i < search->n; i++)
    if (median_score (&search->candidates[i]).rate
        > median_score (fastest).rate)
      fastest = &search->candidates[i];
  if (median_score (fastest).load < BUSY * search->n_writers)
    equal = EQUAL_PACED;
  best = fastest;
  for (i = 0; i < search->n; i++) {
    const GstVkgdrPolicyCandidate *candidate = &search->candidates[i];

    if (median_score (candidate).rate
            >= (1 - equal) * median_score (fastest).rate
        && is_preferred (search, candidate, best))
      best = candidate;
  }
  return best;
}

GstVkgdrPolicyScore
gst_vkgdr_policy_search_get_score (const GstVkgdrPolicySearch *search)
{
  return median_score (best_candidate (search));
}

static gboolean
differ (gdouble a, gdouble b, gdouble fraction)
{
  return fabs (a - b) > fraction * MAX (a, b);
}

static gboolean
is_doubtful (const GstVkgdrPolicySearch *search)
{
  guint i;

  for (i = 0; i < search->n; i++) {
    const GstVkgdrPolicyScore *s = search->candidates[i].scores;

    if (differ (s[0].rate, s[1].rate, AGREEMENT_RATE)
        || differ (s[0].load, s[1].load, AGREEMENT_LOAD))
      return TRUE;
  }
  return FALSE;
}

/* Whether numbers between the best and its neighbours cannot be much better. If
 * a rate rises to a point and falls beyond it, it cannot gain more on one side
 * of the best than it loses on the other. FALSE if the best has not two
 * neighbours.
 */
static gboolean
is_flat (const GstVkgdrPolicySearch *search)
{
  const GstVkgdrPolicyCandidate *best = best_candidate (search);
  gdouble enough = (1 - FLAT) * median_score (best).rate;
  guint i = best - search->candidates;

  return i > 0 && i + 1 < search->n
         && median_score (&search->candidates[i - 1]).rate >= enough
         && median_score (&search->candidates[i + 1]).rate >= enough;
}

static void
end_stage (GstVkgdrPolicySearch *search)
{
  gint best = best_candidate (search)->n_direct, step = search->step;
  const gint numbers[] = { best - step, best, best + step };

  if (step == 0 || is_flat (search)) {
    search->current = best;
    search->is_over = TRUE;
    return;
  }
  search->step = step == 1 ? 0 : (step + 1) / 2;
  search->current = best;
  set_candidates (search, numbers, G_N_ELEMENTS (numbers));
}

void
gst_vkgdr_policy_search_add (
    GstVkgdrPolicySearch *search, GstVkgdrPolicyScore score)
{
  GstVkgdrPolicyCandidate *candidate = current_candidate (search);

  g_return_if_fail (!search->is_over);

  candidate->scores[candidate->n_scores++] = score;
  if (++search->index < search->n)
    return;
  search->index = 0;
  search->pass++;
  if (search->pass < 2
      || (search->pass < GST_VKGDR_POLICY_PASSES && is_doubtful (search)))
    return;
  end_stage (search);
}
