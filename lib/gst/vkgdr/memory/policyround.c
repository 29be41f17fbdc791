/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * memory/policyround.c: tries access modes on the pools of a group
 *
 * A group has two states. While it is settled, each pool has a fixed mode. In a
 * round, the group tries different numbers of direct writers
 * (memory/policysearch.c) among the pools that write at present. A round has
 * three phases, of which the last two are repeated:
 *
 * - probing: each staged pool gets one direct buffer, one pool at a time. If
 *   the writer needs far longer for it than for a staged buffer, the pool gets
 *   a second one. If that takes far longer, too, the writer reads what it
 *   writes. Its pool stays staged and leaves the round.
 * - switching: pools get the modes to be tried. The phase ends when no buffer
 *   of another mode is being written any more.
 * - measuring: the buffers of all pools are counted. The last measurements are
 *   longer.
 *
 * The cost of rounds is limited: the group waits at least PERIOD_PER_COST times
 * the cost of the last round (GAP_PER_COST times if the writers or their rate
 * change), and longer each time the result stays the same.
 */

#include <string.h>

#include "memory/policygroup.h"

GST_DEBUG_CATEGORY_EXTERN (gst_vkgdr_policy_debug);
#define GST_CAT_DEFAULT gst_vkgdr_policy_debug

/* A measurement covers at least this many buffers of each pool, at least twice
 * as many as the pool has in flight, and at least this time. */
#define MIN_BUFFERS 6
#define MIN_WINDOW (10 * GST_MSECOND)

/* The same in the last stage of the search. If the mode of a pool has changed,
 * the writers write for the time LONG_WARM_UP before such a measurement. */
#define LONG_BUFFERS 24
#define LONG_WINDOW (60 * GST_MSECOND)
#define LONG_WARM_UP (100 * GST_MSECOND)

/* A measurement that takes this many times longer than the first one of the
 * round is aborted, because the candidate is bad. */
#define CUT 3

/* After this many direct buffers that were also mapped for reading, a pool is
 * treated as a reader. */
#define MAX_OTHER_MODE_PROBES 4

/* A reader is probed again after FIRST_RETRY. This time doubles with each
 * repetition, and is at least RETRY_PER_COST times the time that the writer
 * needed for its slow buffers. */
#define FIRST_RETRY (10 * GST_SECOND)
#define RETRY_PER_COST 256

/* The interval of checks whether pools have come or gone. */
#define CHECK_INTERVAL (20 * GST_MSECOND)

/* A phase ends the round without a result if it lasts longer than
 * PHASE_TIME_LIMIT, and longer than PHASE_LIMIT_INTERVALS times the usual
 * interval between two buffers of each pool. */
#define PHASE_TIME_LIMIT GST_SECOND
#define PHASE_LIMIT_INTERVALS 64

/* The group's rate or load has changed if it differs by these factors in
 * DEVIATIONS measurements in a row. Such a measurement, between rounds, takes
 * at least the time MONITOR_WINDOW. */
#define RATE_FELL 0.7
#define RATE_ROSE 1.4
#define LOAD_ROSE 1.5
#define DEVIATIONS 3
#define MONITOR_WINDOW (50 * GST_MSECOND)

/* --- measuring ------------------------------------------------------------ */

static void
enter_phase (GstVkgdrPolicyGroup *group, Phase phase, GstClockTime now)
{
  guint i;

  group->phase = phase;
  group->phase_start = now;
  for (i = 0; i < group->participants->len; i++)
    memset (&participant (group, i)->window, 0, sizeof (GstVkgdrPolicyWindow));
}

static gboolean
is_comparing (const GstVkgdrPolicyGroup *group)
{
  return group->phase != PHASE_SETTLED
         && group->search.stage == GST_VKGDR_POLICY_COMPARING;
}

static gboolean
has_enough (const GstVkgdrPolicyGroup *group)
{
  guint least = is_comparing (group) ? LONG_BUFFERS : MIN_BUFFERS, i;

  for (i = 0; i < group->participants->len; i++) {
    const GstVkgdrPolicy *pool = participant (group, i);

    if (pool->window.n_buffers <= MAX (least, 2 * pool->depth))
      return FALSE;
  }
  return TRUE;
}

/* @elapsed: the time of an aborted window, or 0. */
static GstVkgdrPolicyScore
sum_scores (const GstVkgdrPolicyGroup *group, GstClockTime elapsed)
{
  GstVkgdrPolicyScore sum = { 0, 0 };
  guint i;

  for (i = 0; i < group->participants->len; i++) {
    const GstVkgdrPolicyWindow *window = &participant (group, i)->window;
    GstVkgdrPolicyScore score =
        elapsed > 0 ? gst_vkgdr_policy_window_get_score_until (window, elapsed)
                    : gst_vkgdr_policy_window_get_score (window);

    sum.rate += score.rate;
    sum.load += score.load;
  }
  return sum;
}

static gboolean
all_are_idle (const GstVkgdrPolicyGroup *group)
{
  guint i;

  for (i = 0; i < group->participants->len; i++)
    if (!gst_vkgdr_policy_window_is_idle (&participant (group, i)->window))
      return FALSE;
  return TRUE;
}

/* If the threads of all writers wait a large part of the time, other elements
 * determine the rate, which may differ between measurements. Then the score is
 * converted to the rate *@rate, with the same time for each byte. If *@rate is
 * 0, it is set to the rate of this measurement. */
static GstVkgdrPolicyScore
get_score (
    const GstVkgdrPolicyGroup *group, GstClockTime elapsed, gdouble *rate)
{
  GstVkgdrPolicyScore score = sum_scores (group, elapsed);

  if (score.rate == 0 || !all_are_idle (group))
    return score;
  if (*rate == 0)
    *rate = score.rate;
  return (GstVkgdrPolicyScore){ *rate, score.load * *rate / score.rate };
}

static gboolean
is_phase_over_limit (const GstVkgdrPolicyGroup *group, GstClockTime now)
{
  GstClockTime limit = PHASE_TIME_LIMIT;
  guint i;

  for (i = 0; i < group->participants->len; i++)
    limit = MAX (
        limit, PHASE_LIMIT_INTERVALS * participant (group, i)->interval_mean);
  return now > group->phase_start + limit;
}

/* --- rounds --------------------------------------------------------------- */

/* Returns whether the mode has changed. */
static gboolean
set_mode (GstVkgdrPolicy *pool, Mode mode)
{
  if (pool->mode == mode)
    return FALSE;
  pool->mode = mode;
  pool->to_skip = MAX (WARM_UP, pool->depth);
  pool->strikes = 0;
  return TRUE;
}

void
gst_vkgdr_policy_group_abort_round (
    GstVkgdrPolicyGroup *group, GstClockTime now)
{
  guint i;

  GST_DEBUG ("no result in phase %d", group->phase);
  for (i = 0; i < group->participants->len; i++) {
    participant (group, i)->probe = PROBE_NONE;
    set_mode (participant (group, i), participant (group, i)->settled);
  }
  group->deviations = 0;
  group->due = now + group->interval;
  group->not_before = now + MIN_WINDOW;
  enter_phase (group, PHASE_SETTLED, now);
}

/* The cost of a round: the time that its writers would have saved with the best
 * candidate. */
static GstClockTime
cost_of_round (const GstVkgdrPolicyGroup *group)
{
  gdouble needed = group->score.rate > 0
                       ? group->bytes_tried / group->score.rate
                       : group->time_tried;

  return group->probe_cost + (GstClockTime) MAX (group->time_tried - needed, 0);
}

static void
settle (GstVkgdrPolicyGroup *group, guint n_direct, GstClockTime now)
{
  guint growth = group->idle_rate > 0 ? GROWTH_IDLE : GROWTH;
  gboolean changed = !group->has_settled;
  GstClockTime cost;
  guint i;

  for (i = 0; i < group->participants->len; i++) {
    GstVkgdrPolicy *pool = participant (group, i);
    Mode mode = i < n_direct ? MODE_DIRECT : MODE_STAGED;

    changed |= pool->settled != mode;
    pool->settled = mode;
    set_mode (pool, mode);
  }
  cost = cost_of_round (group);
  group->interval =
      changed ? FIRST_INTERVAL : MIN (growth * group->interval, LAST_INTERVAL);
  group->due = now + MAX (group->interval, PERIOD_PER_COST * cost);
  group->not_before = now + GAP_PER_COST * cost;
  group->has_settled = group->has_same_writers = TRUE;
  group->deviations = 0;
  GST_CAT_LEVEL_LOG (GST_CAT_DEFAULT,
      changed ? GST_LEVEL_INFO : GST_LEVEL_DEBUG, NULL,
      "%u of %u pools write directly: %.3g bytes/ns; measuring cost "
      "%" GST_TIME_FORMAT,
      n_direct, group->participants->len, group->score.rate,
      GST_TIME_ARGS (cost));
  enter_phase (group, PHASE_SETTLED, now);
}

/* Gives the pools the modes of the next candidate. */
static void
try_candidate (GstVkgdrPolicyGroup *group, GstClockTime now)
{
  guint n_direct = gst_vkgdr_policy_search_get (&group->search), i;
  gboolean changed = FALSE;

  for (i = 0; i < group->participants->len; i++)
    changed |= set_mode (
        participant (group, i), i < n_direct ? MODE_DIRECT : MODE_STAGED);
  group->candidate_start = now;
  enter_phase (group, PHASE_SWITCHING, now);
  group->warm_until =
      now + (changed && is_comparing (group) ? LONG_WARM_UP : 0);
}

static void
start_search (GstVkgdrPolicyGroup *group, GstClockTime now)
{
  guint n = group->participants->len, n_direct = 0, i;

  for (i = 0; i < n; i++)
    n_direct += participant (group, i)->settled == MODE_DIRECT;
  gst_vkgdr_policy_search_start (&group->search, n,
      group->has_settled ? n_direct : n, group->has_same_writers,
      !group->window_is_cached);
  if (group->search.stage == GST_VKGDR_POLICY_OVER)
    settle (group, 0, now);
  else
    try_candidate (group, now);
}

/* Continues with the next pool that needs a probe, or with the search. */
static void
probe_next (GstVkgdrPolicyGroup *group, GstClockTime now)
{
  while (group->probing < group->participants->len) {
    GstVkgdrPolicy *pool = participant (group, group->probing);

    if (pool->mode == MODE_STAGED && !group->window_is_cached) {
      pool->probe = PROBE_WANTED;
      pool->n_other_mode_probes = pool->strikes = 0;
      pool->strike_time = 0;
      enter_phase (group, PHASE_PROBING, now);
      return;
    }
    group->probing++;
  }
  start_search (group, now);
}

static void
start_round (GstVkgdrPolicyGroup *group, GstClockTime now)
{
  guint i;

  if (!gst_vkgdr_policy_group_is_unchanged (group))
    group->has_same_writers = FALSE;
  g_ptr_array_set_size (group->participants, 0);
  for (i = 0; i < group->candidates->len; i++) {
    GstVkgdrPolicy *pool = g_ptr_array_index (group->candidates, i);

    g_ptr_array_add (group->participants, pool);
    pool->depth = pool->in_flight[MODE_DIRECT] + pool->in_flight[MODE_STAGED];
    pool->strikes = 0;
  }
  group->probing = 0;
  group->first_window = 0;
  group->idle_rate = 0;
  group->time_tried = group->bytes_tried = 0;
  group->probe_cost = 0;
  memset (&group->score, 0, sizeof (group->score));
  probe_next (group, now);
}

void
gst_vkgdr_policy_group_keep_staged (GstVkgdrPolicyGroup *group,
    GstVkgdrPolicy *pool, GstClockTime cost, GstClockTime now)
{
  GST_INFO ("a writer reads what it writes; its pool is staged");
  pool->retry = MAX (MAX (2 * pool->retry, FIRST_RETRY), RETRY_PER_COST * cost);
  pool->staged_until = now + pool->retry;
  pool->probe = PROBE_NONE;
  pool->settled = MODE_STAGED;
  set_mode (pool, MODE_STAGED);
  g_ptr_array_remove (group->participants, pool);
  g_ptr_array_remove (group->candidates, pool);
  group->has_same_writers = FALSE;
}

/* --- phases --------------------------------------------------------------- */

static void
step_settled (GstVkgdrPolicyGroup *group, gboolean same, GstClockTime now)
{
  gboolean changed = !gst_vkgdr_policy_group_is_unchanged (group);

  if (changed && group->candidates->len == 0) {
    g_ptr_array_set_size (group->participants, 0);
    return;
  }
  if (group->candidates->len == 0 || now < group->not_before)
    return;
  if ((changed && same) || group->deviations >= DEVIATIONS || now >= group->due)
    start_round (group, now);
}

/* Between rounds, checks whether the group's rate stays the same. */
static void
monitor (GstVkgdrPolicyGroup *group, GstClockTime now)
{
  const GstVkgdrPolicyScore *before = &group->score;
  gdouble rate = before->rate;
  GstVkgdrPolicyScore score;

  if (group->participants->len == 0 || now < group->phase_start + MONITOR_WINDOW
      || !has_enough (group))
    return;
  score = get_score (group, 0, &rate);
  if (score.rate < RATE_FELL * before->rate
      || score.rate > RATE_ROSE * before->rate
      || score.load > LOAD_ROSE * before->load)
    group->deviations++;
  else
    group->deviations = 0;
  enter_phase (group, PHASE_SETTLED, now);
}

static void
step_switching (GstVkgdrPolicyGroup *group, GstClockTime now)
{
  guint i;

  if (now < group->warm_until)
    return;
  for (i = 0; i < group->participants->len; i++) {
    const GstVkgdrPolicy *pool = participant (group, i);

    if (pool->in_flight[other_mode (pool->mode)] > 0 || pool->to_skip > 0)
      return;
  }
  enter_phase (group, PHASE_MEASURING, now);
}

/* If a pool mapped most of its direct buffers for reading, too, removes it from
 * the round. Returns whether a pool was removed. Then the search has to be
 * restarted. */
static gboolean
drop_readers (GstVkgdrPolicyGroup *group, GstClockTime now)
{
  gboolean dropped = FALSE;
  guint i = 0;

  while (i < group->participants->len) {
    GstVkgdrPolicy *pool = participant (group, i);

    if (pool->mode == MODE_DIRECT
        && pool->window.n_other_mode > pool->window.n_buffers / 2) {
      gst_vkgdr_policy_group_keep_staged (group, pool, 0, now);
      dropped = TRUE;
    } else {
      i++;
    }
  }
  return dropped;
}

static void
step_measuring (GstVkgdrPolicyGroup *group, GstClockTime now)
{
  GstClockTime elapsed = now - group->phase_start;
  GstClockTime shortest = is_comparing (group) ? LONG_WINDOW : MIN_WINDOW;
  gboolean complete = elapsed >= shortest && has_enough (group);
  gboolean cut = !is_comparing (group) && group->first_window > 0
                 && elapsed > CUT * MAX (group->first_window, MIN_WINDOW);
  GstVkgdrPolicyScore score;

  if (!complete && !cut)
    return;
  if (drop_readers (group, now)) {
    start_search (group, now);
    return;
  }
  score = get_score (group, complete ? 0 : elapsed, &group->idle_rate);
  GST_LOG ("%u direct: %g bytes/ns, load %g",
      gst_vkgdr_policy_search_get (&group->search), score.rate, score.load);
  if (group->first_window == 0)
    group->first_window = elapsed;
  group->time_tried += now - group->candidate_start;
  group->bytes_tried += score.rate * (now - group->candidate_start);
  gst_vkgdr_policy_search_add (&group->search, score);
  if (group->search.stage != GST_VKGDR_POLICY_OVER) {
    try_candidate (group, now);
    return;
  }
  group->score = group->search.score;
  settle (group, gst_vkgdr_policy_search_get (&group->search), now);
}

void
gst_vkgdr_policy_group_judge_probe (GstVkgdrPolicyGroup *group,
    GstVkgdrPolicy *pool, GstClockTime time, GstClockTime now)
{
  pool->probe = PROBE_WANTED;
  group->phase_start = now;
  if (pool->usual[MODE_STAGED] > 0
      && gst_vkgdr_policy_is_slow (time, pool->usual[MODE_STAGED])) {
    pool->strike_time += time;
    group->probe_cost += time;
    if (++pool->strikes < STRIKES)
      return;
    gst_vkgdr_policy_group_keep_staged (group, pool, pool->strike_time, now);
  } else {
    pool->probe = PROBE_NONE;
    pool->retry = 0;
    group->probing++;
  }
  pool->strikes = 0;
  probe_next (group, now);
}

void
gst_vkgdr_policy_group_repeat_probe (
    GstVkgdrPolicyGroup *group, GstVkgdrPolicy *pool, GstClockTime now)
{
  pool->probe = PROBE_WANTED;
  group->phase_start = now;
  if (++pool->n_other_mode_probes < MAX_OTHER_MODE_PROBES)
    return;
  gst_vkgdr_policy_group_keep_staged (group, pool, 0, now);
  probe_next (group, now);
}

/* A writer may keep a slow buffer for longer than PHASE_TIME_LIMIT. So the
 * probe is judged before the buffer is written, if it already takes too long. A
 * writer that waits while it has a buffer may keep it until it gets the next
 * one, or for as many intervals as it has buffers. */
static void
step_probing (GstVkgdrPolicyGroup *group, GstClockTime now)
{
  GstVkgdrPolicy *pool = participant (group, group->probing);
  GstClockTime usual = MAX (
      pool->usual[MODE_STAGED], pool->interval_mean * MAX (pool->depth, 1));
  GstClockTime enough = MAX (2 * SLOW * usual, MIN_WINDOW);

  if (pool->probe == PROBE_GIVEN && pool->usual[MODE_STAGED] > 0
      && now > pool->probe_start + enough)
    gst_vkgdr_policy_group_judge_probe (
        group, pool, now - pool->probe_start, now);
}

void
gst_vkgdr_policy_group_step (GstVkgdrPolicyGroup *group, GstClockTime now)
{
  gboolean check = now >= group->next_check, same = FALSE;

  if (check) {
    same = gst_vkgdr_policy_group_find_candidates (group, now);
    group->next_check = now + CHECK_INTERVAL;
  }
  if (group->phase == PHASE_SETTLED) {
    monitor (group, now);
    if (check)
      step_settled (group, same, now);
    return;
  }
  if (group->phase == PHASE_PROBING)
    step_probing (group, now);
  else if (group->phase == PHASE_SWITCHING)
    step_switching (group, now);
  else if (group->phase == PHASE_MEASURING)
    step_measuring (group, now);
  if (group->phase != PHASE_SETTLED
      && ((check && gst_vkgdr_policy_group_has_newcomer (group))
          || is_phase_over_limit (group, now)))
    gst_vkgdr_policy_group_abort_round (group, now);
}
