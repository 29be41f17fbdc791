/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * memory/policy.c: see memory/policy.h
 *
 * The life of pools, groups and turns. The measurements of a group are in
 * memory/policyround.c.
 */

#include "memory/policygroup.h"

GST_DEBUG_CATEGORY (gst_vkgdr_policy_debug);
#define GST_CAT_DEFAULT gst_vkgdr_policy_debug

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
    pool->interval_mean = average (pool->interval_mean, now - pool->last_seen);
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
  turn->is_auto = turn->access == GST_VKGDR_ACCESS_AUTO;
  turn->is_measured = FALSE;
  if (turn->is_auto) {
    count_buffer (policy, size, now, waited);
    gst_vkgdr_policy_group_step (group, now);
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

/* A writer with direct access may begin to read what it writes, even if it did
 * not do so before. */
static void
check_slow (GstVkgdrPolicy *pool, GstClockTime time)
{
  GstVkgdrPolicyGroup *group = pool->group;
  GstClockTime now = pool->last_seen;

  if (group->window_is_cached || pool->usual[MODE_DIRECT] == 0
      || !gst_vkgdr_policy_is_slow (time, pool->usual[MODE_DIRECT])
      || !gst_vkgdr_policy_is_slow (time, pool->usual[MODE_STAGED])) {
    pool->strikes = 0;
    pool->strike_time = 0;
    pool->usual[MODE_DIRECT] = average (pool->usual[MODE_DIRECT], time);
    return;
  }
  pool->strike_time += time;
  if (++pool->strikes < STRIKES + pool->depth)
    return;
  if (group->phase != PHASE_SETTLED)
    gst_vkgdr_policy_group_abort_round (group, now);
  gst_vkgdr_policy_group_keep_staged (group, pool, pool->strike_time, now);
}

/* Adds the time since the last buffer, if the same thread wrote it. */
static void
count_thread (GstVkgdrPolicy *pool, const GstVkgdrWork *work)
{
  if (work->thread && work->thread == pool->last_work.thread
      && work->cpu >= pool->last_work.cpu)
    gst_vkgdr_policy_window_add_thread (&pool->window,
        work->end - pool->last_work.end, work->cpu - pool->last_work.cpu);
  pool->last_work = *work;
}

static void
report (GstVkgdrPolicy *pool, GstVkgdrPolicyTurn *turn, Mode used,
    GstClockTime time)
{
  GstVkgdrPolicyGroup *group = pool->group;
  gboolean is_probe = turn->is_probe && group->phase == PHASE_PROBING
                      && pool->probe == PROBE_GIVEN;
  gboolean is_other_mode = used != mode_of (turn->access);

  if (turn->is_pending)
    pool->in_flight[mode_of (turn->access)]--;
  if (is_probe && turn->is_pending) {
    if (is_other_mode)
      gst_vkgdr_policy_group_repeat_probe (group, pool, pool->last_seen);
    else
      gst_vkgdr_policy_group_judge_probe (group, pool, time, pool->last_seen);
    return;
  }
  if (is_other_mode || used != pool->mode) {
    pool->window.n_other_mode += turn->is_pending;
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
    GstVkgdrPolicyTurn *turn, GstVkgdrAccess used, const GstVkgdrWork *work)
{
  GstVkgdrPolicy *policy = turn->policy;

  if (!policy || turn->access == GST_VKGDR_ACCESS_AUTO)
    return;
  g_mutex_lock (&policy->group->lock);
  if (policy->wanted == GST_VKGDR_ACCESS_AUTO) {
    count_thread (policy, work);
    report (policy, turn, mode_of (used), work->time);
  } else if (turn->is_pending) {
    policy->in_flight[mode_of (turn->access)]--;
  }
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
      gst_vkgdr_policy_group_repeat_probe (
          policy->group, policy, policy->last_seen);
    g_mutex_unlock (&policy->group->lock);
  }
  turn->is_pending = turn->is_probe = turn->is_auto = FALSE;
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
  if (gst_vkgdr_policy_group_takes_part (group, pool)
      && group->phase != PHASE_SETTLED)
    gst_vkgdr_policy_group_abort_round (group, pool->last_seen);
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
