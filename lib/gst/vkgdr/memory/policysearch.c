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
 *
 * The stages are short, and writers are slower for a while after their mode has
 * changed. (On an H200, eight staged writers needed a tenth of a second to get
 * from 41 to 52 GB/s after direct access.) This is a disadvantage for the
 * numbers without direct writers or with few of them. So a new result is
 * compared with none and all in a last stage of long measurements.
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

/* The same if other elements limit the writers. */
#define EQUAL_PACED 0.04

/* Other elements limit the writers if these are busy for less than this share
 * of the time: their load divided by their number. */
#define BUSY 0.9

/* A load that is lower by less than this fraction counts as equal: in short
 * measurements, and in long ones. */
#define EQUAL_LOAD 0.05
#define EQUAL_LONG_LOAD 0.02

/* The same if other elements limit the writers, and staged access is cheaper.
 * Other work on the same processor core changes the load of an RTP depayloader
 * by up to 8 %, and direct access costs it 5 % of its processor time, which the
 * load may not show. */
#define EQUAL_PACED_LOAD 0.15

/* In the last stage, none or all are compared with the result only if their
 * rate is at least this fraction of the result's rate, and the result's load is
 * at least this fraction of their load. */
#define CLOSE 0.7

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

/* Sets the candidates to @numbers, which must be in ascending order. Limits
 * them to the number of writers, and drops duplicates. */
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
gst_vkgdr_policy_search_start (GstVkgdrPolicySearch *search, guint n_writers,
    guint current, gboolean is_result, gboolean staged_is_cheaper)
{
  const gint numbers[] = { 0, n_writers / 2, n_writers };

  memset (search, 0, sizeof (*search));
  search->n_writers = n_writers;
  search->current = MIN (current, n_writers);
  search->last = is_result ? (gint) search->current : -1;
  search->step = n_writers > 2 ? (n_writers + 3) / 4 : 0;
  search->stage =
      n_writers > 0 ? GST_VKGDR_POLICY_SEARCHING : GST_VKGDR_POLICY_OVER;
  search->staged_is_cheaper = staged_is_cheaper;
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
  if (search->stage == GST_VKGDR_POLICY_OVER)
    return search->current;
  return current_candidate ((GstVkgdrPolicySearch *) search)->n_direct;
}

/* Whether other elements limit the writers. */
static gboolean
is_paced (const GstVkgdrPolicySearch *search, GstVkgdrPolicyScore score)
{
  return score.load < BUSY * search->n_writers;
}

/* Whether @a is preferred to @b, whose rate is equal. The order is: less load
 * of the writers, the present number, then direct access, which needs neither a
 * transfer nor host memory.
 *
 * A writer may keep a buffer for long, and write a piece of it now and then.
 * The load does not show how much processor time such a writer needs. With
 * direct access, the processor waits after each piece until the window has
 * taken it. So staged access is preferred to direct access if the writers are
 * not busy. */
static gboolean
is_preferred (const GstVkgdrPolicySearch *search,
    const GstVkgdrPolicyCandidate *a, const GstVkgdrPolicyCandidate *b)
{
  gdouble load_a = median_score (a).load, load_b = median_score (b).load;
  gboolean prefers_staged =
      search->staged_is_cheaper && is_paced (search, median_score (a));
  gdouble equal = search->stage == GST_VKGDR_POLICY_COMPARING ? EQUAL_LONG_LOAD
                                                              : EQUAL_LOAD;

  if (prefers_staged)
    equal = EQUAL_PACED_LOAD;
  if (load_a < load_b * (1 - equal))
    return TRUE;
  if (load_b < load_a * (1 - equal))
    return FALSE;
  if (prefers_staged)
    return a->n_direct < b->n_direct;
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
  if (is_paced (search, median_score (fastest)))
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
 * of the best than it loses on the other. FALSE if the best does not have two
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

/* Remembers the scores without direct writers, and with direct writers only. */
static void
remember_ends (GstVkgdrPolicySearch *search)
{
  guint i;

  for (i = 0; i < search->n; i++) {
    const GstVkgdrPolicyCandidate *candidate = &search->candidates[i];

    if (candidate->n_direct == 0)
      search->none = median_score (candidate);
    else if (candidate->n_direct == search->n_writers)
      search->all = median_score (candidate);
  }
}

static void
end_search (GstVkgdrPolicySearch *search, GstVkgdrPolicyCandidate best)
{
  search->current = best.n_direct;
  search->score = median_score (&best);
  search->stage = GST_VKGDR_POLICY_OVER;
}

static gboolean
is_rival (GstVkgdrPolicyScore score, GstVkgdrPolicyScore best)
{
  return score.rate > 0 && score.rate >= CLOSE * best.rate
         && CLOSE * score.load <= best.load;
}

/* Begins the last stage. If no other number has to be compared with @best, or
 * @best is the result of the last search, the search is over. */
static void
compare_ends (GstVkgdrPolicySearch *search, GstVkgdrPolicyCandidate best)
{
  gint numbers[GST_VKGDR_POLICY_CANDIDATES];
  guint n = 0;

  if (is_rival (search->none, median_score (&best)))
    numbers[n++] = 0;
  numbers[n++] = best.n_direct;
  if (is_rival (search->all, median_score (&best)))
    numbers[n++] = search->n_writers;
  search->current = best.n_direct;
  search->stage = GST_VKGDR_POLICY_COMPARING;
  set_candidates (search, numbers, n);
  if (search->n == 1 || (gint) best.n_direct == search->last)
    end_search (search, best);
}

static void
end_stage (GstVkgdrPolicySearch *search)
{
  GstVkgdrPolicyCandidate best = *best_candidate (search);
  gint middle = best.n_direct, step = search->step;
  const gint numbers[] = { middle - step, middle, middle + step };

  if (search->stage == GST_VKGDR_POLICY_COMPARING) {
    end_search (search, best);
    return;
  }
  remember_ends (search);
  if (step == 0 || is_flat (search)) {
    compare_ends (search, best);
    return;
  }
  search->step = step == 1 ? 0 : (step + 1) / 2;
  search->current = best.n_direct;
  set_candidates (search, numbers, G_N_ELEMENTS (numbers));
}

void
gst_vkgdr_policy_search_add (
    GstVkgdrPolicySearch *search, GstVkgdrPolicyScore score)
{
  GstVkgdrPolicyCandidate *candidate = current_candidate (search);

  g_return_if_fail (search->stage != GST_VKGDR_POLICY_OVER);

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
