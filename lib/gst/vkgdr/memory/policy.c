/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * memory/policy.c: see memory/policy.h
 *
 * A group alternates between two states. While it is settled, each pool has its
 * mode. In a round the group tries different numbers of direct writers
 * (memory/policysearch.c) among the pools that write at present. A round has
 * three phases, of which the last two repeat:
 *
 * - probing: each staged pool gets one direct buffer, one pool at a time. A
 *   pool that takes far longer for it, twice, reads what it writes. It stays
 *   staged and leaves the round.
 * - switching: pools get the modes to be tried. The phase ends when no buffer
 *   of another mode is being written any more.
 * - measuring: the buffers of all pools are counted.
 *
 * The time that rounds cost is kept small: the group waits at least
 * PERIOD_PER_COST times as long as the last round cost, and longer and longer
 * while the answer stays the same.
 */

#include <string.h>

#include "memory/policy.h"
#include "memory/policysearch.h"
#include "memory/policywindow.h"

GST_DEBUG_CATEGORY_STATIC (gst_vkgdr_policy_debug);
#define GST_CAT_DEFAULT gst_vkgdr_policy_debug

/* A measurement covers at least so many buffers of each pool, twice as many as
 * a pool has in flight, and so much time. */
#define MIN_BUFFERS 6
#define MIN_WINDOW (10 * GST_MSECOND)

/* A measurement that takes so many times longer than the first one of the
 * round is cut short: the candidate is bad. */
#define CUT 3

/* Buffers that a pool gets in a new mode before they count: caches have to be
 * warm, and staging buffers have to be allocated. */
#define WARM_UP 3

/* A direct buffer that takes its writer so many times longer than staged ones
 * do is slow: the writer reads. Buffers in flight and STRIKES more have to be
 * slow before that counts. */
#define SLOW 8
#define STRIKES 2

/* Direct buffers that were mapped for reading, too, before a pool counts as one
 * that reads. */
#define MAX_ODD_PROBES 4

/* Such a pool is probed again after this time, and later after so many times
 * the time that the last probes took. The time doubles. */
#define FIRST_RETRY (10 * GST_SECOND)
#define RETRY_PER_COST 256

/* Time from one round to the next, at first and at most, and at least as a
 * multiple of the cost of a round. A round that is due because something has
 * changed comes after GAP_PER_COST. */
#define FIRST_INTERVAL (2 * GST_SECOND)
#define LAST_INTERVAL (64 * GST_SECOND)
#define PERIOD_PER_COST 64
#define GAP_PER_COST 32

/* How often the group looks whether pools have come or gone. */
#define CHECK_INTERVAL (20 * GST_MSECOND)

/* A pool that got no buffer for this time, and for several of its turns, does
 * not write at present. */
#define ABSENCE (200 * GST_MSECOND)
#define ABSENT_TURNS 8

/* A pool with less than this share of the mean rate does not matter, where it
 * is new, and where it took part in the last round. */
#define SHARE_NEW (1 / 8.)
#define SHARE_OLD (1 / 32.)

/* A phase that lasts longer than this ends the round without a result. */
#define PATIENCE GST_SECOND
#define PATIENT_TURNS 64

/* The group's rate or load has changed when it differs by these factors in
 * several measurements in a row. Between rounds, these take longer. */
#define RATE_FELL 0.7
#define RATE_ROSE 1.4
#define LOAD_ROSE 1.5
#define DEVIATIONS 3
#define MONITOR_WINDOW (50 * GST_MSECOND)

typedef enum { MODE_DIRECT, MODE_STAGED, N_MODES } Mode;
typedef enum {
  PHASE_SETTLED,
  PHASE_PROBING,
  PHASE_SWITCHING,
  PHASE_MEASURING
} Phase;
typedef enum { PROBE_NONE, PROBE_WANTED, PROBE_GIVEN } Probe;

struct _GstVkgdrPolicyGroup {
  gint refcount;
  GMutex lock;
  gboolean window_is_cached;

  GPtrArray *pools;        /* of GstVkgdrPolicy; no references */
  GPtrArray *participants; /* of the last round; no references */
  GPtrArray *candidates;   /* for the next round, at the last check */
  GstClockTime next_check;

  Phase phase;
  GstClockTime phase_start;
  guint probing; /* index of the participant that is probed */
  GstVkgdrPolicySearch search;
  GstClockTime first_window; /* what the first measurement took; 0: none yet */

  /* the cost of a round */
  GstClockTime candidate_start;
  gdouble time_tried;  /* in the round, for all candidates */
  gdouble bytes_tried; /* written in that time */
  GstClockTime probe_cost;

  gboolean has_settled;
  GstVkgdrPolicyScore score; /* while settled */
  guint deviations;
  GstClockTime interval;
  GstClockTime due;        /* when the next round is due */
  GstClockTime not_before; /* earliest time of the next round */
};

struct _GstVkgdrPolicy {
  gint refcount;
  GstVkgdrPolicyGroup *group;

  /* Under the group's lock. */
  GstVkgdrAccess wanted;
  Mode mode;    /* of the next buffer */
  Mode settled; /* between rounds */
  guint in_flight[N_MODES];
  guint depth; /* most buffers in flight since the last round began */
  guint to_skip;

  guint n_seen;
  gsize size;
  GstClockTime last_seen;
  GstClockTime turn;           /* from one buffer to the next, on average */
  GstClockTime usual[N_MODES]; /* time that a buffer is mapped; 0: unknown */
  GstVkgdrPolicyWindow window;

  Probe probe;
  GstClockTime probe_start;
  guint n_odd_probes;
  guint strikes;
  GstClockTime strike_time;  /* spent on slow buffers in a row */
  GstClockTime staged_until; /* it reads what it writes; 0: it does not */
  GstClockTime retry;
};

static Mode
other_mode (Mode mode)
{
  return mode == MODE_DIRECT ? MODE_STAGED : MODE_DIRECT;
}

static Mode
mode_of (GstVkgdrAccess access)
{
  return access == GST_VKGDR_ACCESS_DIRECT ? MODE_DIRECT : MODE_STAGED;
}

static GstVkgdrAccess
access_of (Mode mode)
{
  return mode == MODE_DIRECT ? GST_VKGDR_ACCESS_DIRECT
                             : GST_VKGDR_ACCESS_STAGED;
}

static GstVkgdrPolicy *
participant (const GstVkgdrPolicyGroup *group, guint i)
{
  return g_ptr_array_index (group->participants, i);
}

/* --- which pools write at present ---------------------------------------- */

static gboolean
takes_part (const GstVkgdrPolicyGroup *group, const GstVkgdrPolicy *pool)
{
  return g_ptr_array_find (group->participants, pool, NULL);
}

static gboolean
is_active (const GstVkgdrPolicy *pool, GstClockTime now)
{
  return pool->wanted == GST_VKGDR_ACCESS_AUTO && pool->n_seen > WARM_UP
         && pool->staged_until <= now
         && now < pool->last_seen + ABSENCE + ABSENT_TURNS * pool->turn;
}

static gdouble
rate_of (const GstVkgdrPolicy *pool)
{
  return pool->turn > 0 ? (gdouble) pool->size / pool->turn : pool->size;
}

static gdouble
mean_rate (const GstVkgdrPolicyGroup *group, GstClockTime now)
{
  gdouble sum = 0;
  guint i, n = 0;

  for (i = 0; i < group->pools->len; i++) {
    const GstVkgdrPolicy *pool = g_ptr_array_index (group->pools, i);

    if (is_active (pool, now)) {
      sum += rate_of (pool);
      n++;
    }
  }
  return n > 0 ? sum / n : 0;
}

/* Finds the pools that a round would be about. Returns whether these are the
 * same as at the last check. */
static gboolean
find_candidates (GstVkgdrPolicyGroup *group, GstClockTime now)
{
  gdouble mean = mean_rate (group, now);
  gboolean same = TRUE;
  guint i, n = 0;

  for (i = 0; i < group->pools->len; i++) {
    GstVkgdrPolicy *pool = g_ptr_array_index (group->pools, i);
    gdouble share = takes_part (group, pool) ? SHARE_OLD : SHARE_NEW;

    if (!is_active (pool, now) || rate_of (pool) < share * mean)
      continue;
    if (n >= group->candidates->len)
      g_ptr_array_add (group->candidates, NULL);
    same &= g_ptr_array_index (group->candidates, n) == pool;
    g_ptr_array_index (group->candidates, n++) = pool;
  }
  same &= n == group->candidates->len;
  g_ptr_array_set_size (group->candidates, n);
  return same;
}

static gboolean
are_candidates_participants (const GstVkgdrPolicyGroup *group)
{
  guint i;

  if (group->candidates->len != group->participants->len)
    return FALSE;
  for (i = 0; i < group->candidates->len; i++)
    if (group->candidates->pdata[i] != group->participants->pdata[i])
      return FALSE;
  return TRUE;
}

/* Whether there is a candidate that does not take part. In a round, the modes
 * that are tried may slow a participant down so much that it is no candidate.
 */
static gboolean
has_newcomer (const GstVkgdrPolicyGroup *group)
{
  guint i;

  for (i = 0; i < group->candidates->len; i++)
    if (!takes_part (group, group->candidates->pdata[i]))
      return TRUE;
  return FALSE;
}

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
has_enough (const GstVkgdrPolicyGroup *group)
{
  guint i;

  for (i = 0; i < group->participants->len; i++) {
    const GstVkgdrPolicy *pool = participant (group, i);

    if (pool->window.n_buffers <= MAX (MIN_BUFFERS, 2 * pool->depth))
      return FALSE;
  }
  return TRUE;
}

/* @elapsed: the time of a window that was cut short, or 0. */
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
is_patience_over (const GstVkgdrPolicyGroup *group, GstClockTime now)
{
  GstClockTime patience = PATIENCE;
  guint i;

  for (i = 0; i < group->participants->len; i++)
    patience = MAX (patience, PATIENT_TURNS * participant (group, i)->turn);
  return now > group->phase_start + patience;
}

/* --- rounds --------------------------------------------------------------- */

static void
set_mode (GstVkgdrPolicy *pool, Mode mode)
{
  if (pool->mode == mode)
    return;
  pool->mode = mode;
  pool->to_skip = MAX (WARM_UP, pool->depth);
  pool->strikes = 0;
}

/* Ends a round without a result. */
static void
abort_round (GstVkgdrPolicyGroup *group, GstClockTime now)
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

/* What the round cost: the time that its writers would not have needed with
 * the best candidate. */
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
      changed ? FIRST_INTERVAL : MIN (2 * group->interval, LAST_INTERVAL);
  group->due = now + MAX (group->interval, PERIOD_PER_COST * cost);
  group->not_before = now + GAP_PER_COST * cost;
  group->has_settled = TRUE;
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

  for (i = 0; i < group->participants->len; i++)
    set_mode (participant (group, i), i < n_direct ? MODE_DIRECT : MODE_STAGED);
  group->candidate_start = now;
  enter_phase (group, PHASE_SWITCHING, now);
}

static void
start_search (GstVkgdrPolicyGroup *group, GstClockTime now)
{
  guint n = group->participants->len, n_direct = 0, i;

  for (i = 0; i < n; i++)
    n_direct += participant (group, i)->settled == MODE_DIRECT;
  gst_vkgdr_policy_search_start (
      &group->search, n, group->has_settled ? n_direct : n);
  if (group->search.is_over)
    settle (group, 0, now);
  else
    try_candidate (group, now);
}

/* Goes on to the next pool that needs a probe, or to the search. */
static void
probe_next (GstVkgdrPolicyGroup *group, GstClockTime now)
{
  while (group->probing < group->participants->len) {
    GstVkgdrPolicy *pool = participant (group, group->probing);

    if (pool->mode == MODE_STAGED && !group->window_is_cached) {
      pool->probe = PROBE_WANTED;
      pool->n_odd_probes = pool->strikes = 0;
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

  g_ptr_array_set_size (group->participants, 0);
  for (i = 0; i < group->candidates->len; i++) {
    GstVkgdrPolicy *pool = g_ptr_array_index (group->candidates, i);

    g_ptr_array_add (group->participants, pool);
    pool->depth = pool->in_flight[MODE_DIRECT] + pool->in_flight[MODE_STAGED];
    pool->strikes = 0;
  }
  group->probing = 0;
  group->first_window = 0;
  group->time_tried = group->bytes_tried = 0;
  group->probe_cost = 0;
  memset (&group->score, 0, sizeof (group->score));
  probe_next (group, now);
}

/* The writer of @pool reads what it writes, or maps for reading, too. It leaves
 * the round, and gets staged buffers for a long time. */
static void
keep_staged (GstVkgdrPolicyGroup *group, GstVkgdrPolicy *pool,
    GstClockTime cost, GstClockTime now)
{
  GST_INFO ("a writer reads what it writes: staged");
  pool->retry = MAX (MAX (2 * pool->retry, FIRST_RETRY), RETRY_PER_COST * cost);
  pool->staged_until = now + pool->retry;
  pool->probe = PROBE_NONE;
  pool->settled = MODE_STAGED;
  set_mode (pool, MODE_STAGED);
  g_ptr_array_remove (group->participants, pool);
  g_ptr_array_remove (group->candidates, pool);
}

/* --- what happens in a phase ---------------------------------------------- */

static void
step_settled (GstVkgdrPolicyGroup *group, gboolean same, GstClockTime now)
{
  gboolean changed = !are_candidates_participants (group);

  if (changed && group->candidates->len == 0) {
    g_ptr_array_set_size (group->participants, 0);
    return;
  }
  if (group->candidates->len == 0 || now < group->not_before)
    return;
  if ((changed && same) || group->deviations >= DEVIATIONS || now >= group->due)
    start_round (group, now);
}

/* Between rounds the group watches whether its rate stays the same. */
static void
monitor (GstVkgdrPolicyGroup *group, GstClockTime now)
{
  const GstVkgdrPolicyScore *before = &group->score;
  GstVkgdrPolicyScore score;

  if (group->participants->len == 0 || now < group->phase_start + MONITOR_WINDOW
      || !has_enough (group))
    return;
  score = sum_scores (group, 0);
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

  for (i = 0; i < group->participants->len; i++) {
    const GstVkgdrPolicy *pool = participant (group, i);

    if (pool->in_flight[other_mode (pool->mode)] > 0 || pool->to_skip > 0)
      return;
  }
  enter_phase (group, PHASE_MEASURING, now);
}

/* Whether a pool mapped most of its direct buffers for reading, too: then it
 * leaves the round, which starts again. */
static gboolean
drop_readers (GstVkgdrPolicyGroup *group, GstClockTime now)
{
  gboolean dropped = FALSE;
  guint i = 0;

  while (i < group->participants->len) {
    GstVkgdrPolicy *pool = participant (group, i);

    if (pool->mode == MODE_DIRECT
        && pool->window.n_odd > pool->window.n_buffers / 2) {
      keep_staged (group, pool, 0, now);
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
  gboolean complete = elapsed >= MIN_WINDOW && has_enough (group);
  gboolean cut = group->first_window > 0
                 && elapsed > CUT * MAX (group->first_window, MIN_WINDOW);
  GstVkgdrPolicyScore score;

  if (!complete && !cut)
    return;
  if (drop_readers (group, now)) {
    start_search (group, now);
    return;
  }
  score = sum_scores (group, complete ? 0 : elapsed);
  GST_LOG ("%u direct: %g bytes/ns, load %g",
      gst_vkgdr_policy_search_get (&group->search), score.rate, score.load);
  if (group->first_window == 0)
    group->first_window = elapsed;
  group->time_tried += now - group->candidate_start;
  group->bytes_tried += score.rate * (now - group->candidate_start);
  gst_vkgdr_policy_search_add (&group->search, score);
  if (!group->search.is_over) {
    try_candidate (group, now);
    return;
  }
  group->score = gst_vkgdr_policy_search_get_score (&group->search);
  settle (group, gst_vkgdr_policy_search_get (&group->search), now);
}

/* The pool that is probed has had its direct buffer for @time. */
static void
judge_probe (GstVkgdrPolicyGroup *group, GstVkgdrPolicy *pool,
    GstClockTime time, GstClockTime now)
{
  pool->probe = PROBE_WANTED;
  group->phase_start = now;
  if (pool->usual[MODE_STAGED] > 0 && time > SLOW * pool->usual[MODE_STAGED]) {
    pool->strike_time += time;
    group->probe_cost += time;
    if (++pool->strikes < STRIKES)
      return;
    keep_staged (group, pool, pool->strike_time, now);
  } else {
    pool->probe = PROBE_NONE;
    pool->retry = 0;
    group->probing++;
  }
  pool->strikes = 0;
  probe_next (group, now);
}

/* The pool that is probed mapped its direct buffer for reading, too, or did
 * not write to it. */
static void
repeat_probe (
    GstVkgdrPolicyGroup *group, GstVkgdrPolicy *pool, GstClockTime now)
{
  pool->probe = PROBE_WANTED;
  group->phase_start = now;
  if (++pool->n_odd_probes < MAX_ODD_PROBES)
    return;
  keep_staged (group, pool, 0, now);
  probe_next (group, now);
}

/* A writer may keep a slow buffer for longer than anybody waits. */
static void
step_probing (GstVkgdrPolicyGroup *group, GstClockTime now)
{
  GstVkgdrPolicy *pool = participant (group, group->probing);
  GstClockTime enough = MAX (2 * SLOW * pool->usual[MODE_STAGED], MIN_WINDOW);

  if (pool->probe == PROBE_GIVEN && pool->usual[MODE_STAGED] > 0
      && now > pool->probe_start + enough)
    judge_probe (group, pool, now - pool->probe_start, now);
}

static void
step (GstVkgdrPolicyGroup *group, GstClockTime now)
{
  gboolean check = now >= group->next_check, same = FALSE;

  if (check) {
    same = find_candidates (group, now);
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
      && ((check && has_newcomer (group)) || is_patience_over (group, now)))
    abort_round (group, now);
}

/* --- pools ---------------------------------------------------------------- */

static GstClockTime
average (GstClockTime old, GstClockTime value)
{
  return old > 0 ? (3 * old + value) / 4 : MAX (value, 1);
}

static void
count_buffer (
    GstVkgdrPolicy *pool, gsize size, GstClockTime now, GstClockTime waited)
{
  if (pool->n_seen++ > 0)
    pool->turn = average (pool->turn, now - pool->last_seen);
  pool->last_seen = now;
  pool->size = size;
  if (pool->to_skip > 0)
    pool->to_skip--;
  gst_vkgdr_policy_window_add (&pool->window, size, now, waited);
}

static Mode
choose_mode (GstVkgdrPolicy *pool, GstVkgdrPolicyTurn *turn)
{
  if (pool->probe != PROBE_WANTED)
    return pool->mode;
  pool->probe = PROBE_GIVEN;
  pool->probe_start = pool->last_seen;
  turn->is_probe = TRUE;
  return MODE_DIRECT;
}

GstVkgdrAccess
gst_vkgdr_policy_next (GstVkgdrPolicy *policy, GstVkgdrPolicyTurn *turn,
    gsize size, GstClockTime now, GstClockTime waited)
{
  GstVkgdrPolicyGroup *group = policy->group;
  Mode mode;

  if (turn->policy != policy) {
    gst_vkgdr_policy_turn_clear (turn);
    turn->policy = gst_vkgdr_policy_ref (policy);
  }
  gst_vkgdr_policy_cancel (turn);
  g_mutex_lock (&group->lock);
  turn->access = policy->wanted;
  turn->is_measured = FALSE;
  if (turn->access == GST_VKGDR_ACCESS_AUTO) {
    count_buffer (policy, size, now, waited);
    step (group, now);
    mode = choose_mode (policy, turn);
    turn->access = access_of (mode);
    turn->is_pending = TRUE;
    turn->is_measured = group->phase != PHASE_SETTLED;
    policy->in_flight[mode]++;
    policy->depth = MAX (policy->depth,
        policy->in_flight[MODE_DIRECT] + policy->in_flight[MODE_STAGED]);
  }
  g_mutex_unlock (&group->lock);
  return turn->access;
}

/* A writer in direct mode may begin to read what it writes. */
static void
check_slow (GstVkgdrPolicy *pool, GstClockTime time)
{
  GstVkgdrPolicyGroup *group = pool->group;
  GstClockTime now = pool->last_seen;

  if (group->window_is_cached || pool->usual[MODE_DIRECT] == 0
      || time <= SLOW * pool->usual[MODE_DIRECT]
      || time <= SLOW * pool->usual[MODE_STAGED]) {
    pool->strikes = 0;
    pool->strike_time = 0;
    pool->usual[MODE_DIRECT] = average (pool->usual[MODE_DIRECT], time);
    return;
  }
  pool->strike_time += time;
  if (++pool->strikes < STRIKES + pool->depth)
    return;
  if (group->phase != PHASE_SETTLED)
    abort_round (group, now);
  keep_staged (group, pool, pool->strike_time, now);
}

static void
report (GstVkgdrPolicy *pool, GstVkgdrPolicyTurn *turn, Mode used,
    GstClockTime time)
{
  GstVkgdrPolicyGroup *group = pool->group;
  gboolean is_probe = turn->is_probe && group->phase == PHASE_PROBING
                      && pool->probe == PROBE_GIVEN;
  gboolean is_odd = used != mode_of (turn->access);

  if (turn->is_pending)
    pool->in_flight[mode_of (turn->access)]--;
  if (is_probe && turn->is_pending) {
    if (is_odd)
      repeat_probe (group, pool, pool->last_seen);
    else
      judge_probe (group, pool, time, pool->last_seen);
    return;
  }
  if (is_odd || used != pool->mode) {
    pool->window.n_odd += turn->is_pending;
    return;
  }
  pool->window.n_work += turn->is_pending;
  pool->window.work += time;
  if (used == MODE_DIRECT)
    check_slow (pool, time);
  else
    pool->usual[MODE_STAGED] = average (pool->usual[MODE_STAGED], time);
}

void
gst_vkgdr_policy_report (
    GstVkgdrPolicyTurn *turn, GstVkgdrAccess used, GstClockTime time)
{
  GstVkgdrPolicy *policy = turn->policy;

  if (!policy || turn->access == GST_VKGDR_ACCESS_AUTO)
    return;
  g_mutex_lock (&policy->group->lock);
  if (policy->wanted == GST_VKGDR_ACCESS_AUTO)
    report (policy, turn, mode_of (used), time);
  else if (turn->is_pending)
    policy->in_flight[mode_of (turn->access)]--;
  turn->is_pending = turn->is_probe = FALSE;
  g_mutex_unlock (&policy->group->lock);
}

void
gst_vkgdr_policy_cancel (GstVkgdrPolicyTurn *turn)
{
  GstVkgdrPolicy *policy = turn->policy;

  if (policy && turn->is_pending) {
    g_mutex_lock (&policy->group->lock);
    policy->in_flight[mode_of (turn->access)]--;
    if (turn->is_probe && policy->probe == PROBE_GIVEN)
      repeat_probe (policy->group, policy, policy->last_seen);
    g_mutex_unlock (&policy->group->lock);
  }
  turn->is_pending = turn->is_probe = FALSE;
  turn->access = GST_VKGDR_ACCESS_AUTO;
}

void
gst_vkgdr_policy_turn_clear (GstVkgdrPolicyTurn *turn)
{
  gst_vkgdr_policy_cancel (turn);
  g_clear_pointer (&turn->policy, gst_vkgdr_policy_unref);
}

GstVkgdrPolicy *
gst_vkgdr_policy_new (GstVkgdrPolicyGroup *group)
{
  GstVkgdrPolicy *policy = g_new0 (GstVkgdrPolicy, 1);

  policy->refcount = 1;
  policy->group = gst_vkgdr_policy_group_ref (group);
  policy->wanted = GST_VKGDR_ACCESS_AUTO;
  policy->mode = policy->settled =
      group->window_is_cached ? MODE_DIRECT : MODE_STAGED;
  g_mutex_lock (&group->lock);
  g_ptr_array_add (group->pools, policy);
  g_mutex_unlock (&group->lock);
  return policy;
}

GstVkgdrPolicy *
gst_vkgdr_policy_ref (GstVkgdrPolicy *policy)
{
  g_atomic_int_inc (&policy->refcount);
  return policy;
}

/* Must be called with the group's lock held. */
static void
leave (GstVkgdrPolicyGroup *group, GstVkgdrPolicy *pool)
{
  if (takes_part (group, pool) && group->phase != PHASE_SETTLED)
    abort_round (group, pool->last_seen);
  g_ptr_array_remove (group->participants, pool);
  g_ptr_array_remove (group->candidates, pool);
}

void
gst_vkgdr_policy_unref (GstVkgdrPolicy *policy)
{
  GstVkgdrPolicyGroup *group = policy->group;

  if (!g_atomic_int_dec_and_test (&policy->refcount))
    return;
  g_mutex_lock (&group->lock);
  leave (group, policy);
  g_ptr_array_remove (group->pools, policy);
  g_mutex_unlock (&group->lock);
  gst_vkgdr_policy_group_unref (group);
  g_free (policy);
}

void
gst_vkgdr_policy_set (GstVkgdrPolicy *policy, GstVkgdrAccess wanted)
{
  g_mutex_lock (&policy->group->lock);
  policy->wanted = wanted;
  if (wanted != GST_VKGDR_ACCESS_AUTO)
    leave (policy->group, policy);
  g_mutex_unlock (&policy->group->lock);
}

GstVkgdrAccess
gst_vkgdr_policy_get (GstVkgdrPolicy *policy)
{
  GstVkgdrAccess access;

  g_mutex_lock (&policy->group->lock);
  access = policy->wanted;
  if (access == GST_VKGDR_ACCESS_AUTO)
    access = access_of (policy->settled);
  g_mutex_unlock (&policy->group->lock);
  return access;
}

/* --- groups --------------------------------------------------------------- */

GstVkgdrPolicyGroup *
gst_vkgdr_policy_group_new (gboolean window_is_cached)
{
  static gsize done = 0;
  GstVkgdrPolicyGroup *group = g_new0 (GstVkgdrPolicyGroup, 1);

  if (g_once_init_enter (&done)) {
    GST_DEBUG_CATEGORY_INIT (gst_vkgdr_policy_debug, "vkgdrpolicy", 0,
        "choice between direct and staged access");
    g_once_init_leave (&done, 1);
  }
  group->refcount = 1;
  g_mutex_init (&group->lock);
  group->window_is_cached = window_is_cached;
  group->pools = g_ptr_array_new ();
  group->participants = g_ptr_array_new ();
  group->candidates = g_ptr_array_new ();
  group->interval = FIRST_INTERVAL;
  return group;
}

GstVkgdrPolicyGroup *
gst_vkgdr_policy_group_ref (GstVkgdrPolicyGroup *group)
{
  g_atomic_int_inc (&group->refcount);
  return group;
}

void
gst_vkgdr_policy_group_unref (GstVkgdrPolicyGroup *group)
{
  if (!g_atomic_int_dec_and_test (&group->refcount))
    return;
  g_ptr_array_unref (group->candidates);
  g_ptr_array_unref (group->participants);
  g_ptr_array_unref (group->pools);
  g_mutex_clear (&group->lock);
  g_free (group);
}
