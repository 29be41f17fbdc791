/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * memory/policygroup.h: the policies of the pools that share a device
 *
 * The interface between memory/policy.c, memory/policyround.c and
 * memory/policycandidates.c. All functions must be called with the group's lock
 * held.
 */

#ifndef __GST_VKGDR_POLICY_GROUP_H__
#define __GST_VKGDR_POLICY_GROUP_H__

#include "memory/policy.h"
#include "memory/policysearch.h"
#include "memory/policywindow.h"

G_BEGIN_DECLS

/* After a change of a pool's mode, this many buffers do not count: caches have
 * to get warm, and staging buffers have to be allocated. */
#define WARM_UP 3

/* A direct buffer is slow if its writer takes this many times longer than with
 * staged buffers: then the writer reads. The pool is treated as a reader after
 * as many slow buffers as it has in flight, and STRIKES more. A time that is
 * shorter than SLOW_MIN is no sign of reads, because a read takes 10 ns per
 * byte. Direct writes of small frames may be that slow without reads, compared
 * with staged writes, which go to the CPU's cache. */
#define SLOW 8
#define SLOW_MIN (20 * GST_USECOND)
#define STRIKES 2

/* The time between rounds is FIRST_INTERVAL at first. While the result stays
 * the same, the time grows up to LAST_INTERVAL by the factor GROWTH; by
 * GROWTH_IDLE if the writers' threads wait for other elements, since the mode
 * then does not change the rate. The time is also at least PERIOD_PER_COST
 * times the cost of the last round. But if the writers or their rate change,
 * the next round may come after GAP_PER_COST times the cost. */
#define FIRST_INTERVAL (2 * GST_SECOND)
#define LAST_INTERVAL (64 * GST_SECOND)
#define GROWTH 2
#define GROWTH_IDLE 4
#define PERIOD_PER_COST 64
#define GAP_PER_COST 32

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
  GPtrArray *candidates;   /* for the next round, found by the last check */
  GstClockTime next_check;

  Phase phase;
  GstClockTime phase_start;
  guint probing; /* index of the participant that is probed */
  GstVkgdrPolicySearch search;
  GstClockTime warm_until; /* no measurement begins before that time */
  GstClockTime
      first_window;  /* duration of the first measurement; 0: none yet */
  gdouble idle_rate; /* the rate in the scores of idle writers; 0: none yet */

  /* for the cost of a round */
  GstClockTime candidate_start;
  gdouble time_tried;  /* in the round, for all candidates */
  gdouble bytes_tried; /* written in that time */
  GstClockTime probe_cost;

  gboolean has_settled;
  gboolean has_same_writers; /* as in the last round that had a result */
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
  GstClockTime interval_mean;  /* from one buffer to the next, on average */
  GstClockTime usual[N_MODES]; /* time to write a buffer; 0: unknown */
  GstVkgdrPolicyWindow window;
  GstVkgdrWork last_work; /* for the last buffer that was written */

  Probe probe;
  GstClockTime probe_start;
  guint n_other_mode_probes;
  guint strikes;
  GstClockTime strike_time;  /* spent on slow buffers in a row */
  GstClockTime staged_until; /* a reader's pool is staged until then; or 0 */
  GstClockTime retry;
};

static inline Mode
other_mode (Mode mode)
{
  return mode == MODE_DIRECT ? MODE_STAGED : MODE_DIRECT;
}

static inline Mode
mode_of (GstVkgdrAccess access)
{
  return access == GST_VKGDR_ACCESS_DIRECT ? MODE_DIRECT : MODE_STAGED;
}

static inline GstVkgdrAccess
access_of (Mode mode)
{
  return mode == MODE_DIRECT ? GST_VKGDR_ACCESS_DIRECT
                             : GST_VKGDR_ACCESS_STAGED;
}

/* Whether a buffer is slow: it took @time, and other buffers take @usual. */
static inline gboolean
gst_vkgdr_policy_is_slow (GstClockTime time, GstClockTime usual)
{
  return time > SLOW_MIN && time > SLOW * usual;
}

static inline GstVkgdrPolicy *
participant (const GstVkgdrPolicyGroup *group, guint i)
{
  return g_ptr_array_index (group->participants, i);
}

/* --- memory/policycandidates.c --- */

/* Finds the pools for the next round. Returns whether they are the same as in
 * the last call. */
gboolean gst_vkgdr_policy_group_find_candidates (
    GstVkgdrPolicyGroup *group, GstClockTime now);

/* Whether @pool took part in the last round, or takes part in this one. */
gboolean gst_vkgdr_policy_group_takes_part (
    const GstVkgdrPolicyGroup *group, const GstVkgdrPolicy *pool);

/* Whether the candidates are the pools that take part. */
gboolean gst_vkgdr_policy_group_is_unchanged (const GstVkgdrPolicyGroup *group);

/* Whether there is a candidate that does not take part. A participant that is
 * not a candidate does not matter: it may be too slow with the mode that is
 * tried in a round. */
gboolean gst_vkgdr_policy_group_has_newcomer (const GstVkgdrPolicyGroup *group);

/* --- memory/policyround.c --- */

/* Must be called when a pool of the group gets a buffer. Does the next step of
 * the state machine. */
void gst_vkgdr_policy_group_step (GstVkgdrPolicyGroup *group, GstClockTime now);

/* Ends a round without a result. */
void gst_vkgdr_policy_group_abort_round (
    GstVkgdrPolicyGroup *group, GstClockTime now);

/* Must be called when the writer of @pool reads the bytes that it writes, or
 * also maps for reading. @cost is the time that was needed to find this out.
 * The pool leaves the round, and gets staged buffers for a long time. */
void gst_vkgdr_policy_group_keep_staged (GstVkgdrPolicyGroup *group,
    GstVkgdrPolicy *pool, GstClockTime cost, GstClockTime now);

/* Must be called when the pool that is probed has used its direct buffer for
 * @time. */
void gst_vkgdr_policy_group_judge_probe (GstVkgdrPolicyGroup *group,
    GstVkgdrPolicy *pool, GstClockTime time, GstClockTime now);

/* Must be called when the writer of the pool that is probed mapped the direct
 * buffer also for reading, or did not write to it. */
void gst_vkgdr_policy_group_repeat_probe (
    GstVkgdrPolicyGroup *group, GstVkgdrPolicy *pool, GstClockTime now);

G_END_DECLS

#endif /* __GST_VKGDR_POLICY_GROUP_H__ */
