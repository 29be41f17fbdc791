/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * memory/policycandidates.c: finds the pools of a group that write at present
 *
 * Knows nothing of access modes.
 */

#include "memory/policygroup.h"

/* A pool that got no buffer for this time, and for several of its usual
 * intervals, does not write at present. */
#define ABSENCE (200 * GST_MSECOND)
#define ABSENT_INTERVALS 8

/* A pool with less than this share of the mean rate is ignored: SHARE_NEW for a
 * new pool, SHARE_OLD for a pool that took part in the last round. */
#define SHARE_NEW (1 / 8.)
#define SHARE_OLD (1 / 32.)

gboolean
gst_vkgdr_policy_group_takes_part (
    const GstVkgdrPolicyGroup *group, const GstVkgdrPolicy *pool)
{
  return g_ptr_array_find (group->participants, pool, NULL);
}

static gboolean
is_active (const GstVkgdrPolicy *pool, GstClockTime now)
{
  return pool->wanted == GST_VKGDR_ACCESS_AUTO && pool->n_seen > WARM_UP
         && pool->staged_until <= now
         && now < pool->last_seen + ABSENCE
                      + ABSENT_INTERVALS * pool->interval_mean;
}

static gdouble
rate_of (const GstVkgdrPolicy *pool)
{
  return pool->interval_mean > 0 ? (gdouble) pool->size / pool->interval_mean
                                 : pool->size;
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

gboolean
gst_vkgdr_policy_group_find_candidates (
    GstVkgdrPolicyGroup *group, GstClockTime now)
{
  gdouble mean = mean_rate (group, now);
  gboolean same = TRUE;
  guint i, n = 0;

  for (i = 0; i < group->pools->len; i++) {
    GstVkgdrPolicy *pool = g_ptr_array_index (group->pools, i);
    gdouble share =
        gst_vkgdr_policy_group_takes_part (group, pool) ? SHARE_OLD : SHARE_NEW;

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

gboolean
gst_vkgdr_policy_group_is_unchanged (const GstVkgdrPolicyGroup *group)
{
  guint i;

  if (group->candidates->len != group->participants->len)
    return FALSE;
  for (i = 0; i < group->candidates->len; i++)
    if (group->candidates->pdata[i] != group->participants->pdata[i])
      return FALSE;
  return TRUE;
}

gboolean
gst_vkgdr_policy_group_has_newcomer (const GstVkgdrPolicyGroup *group)
{
  guint i;

  for (i = 0; i < group->candidates->len; i++)
    if (!gst_vkgdr_policy_group_takes_part (group, group->candidates->pdata[i]))
      return TRUE;
  return FALSE;
}
