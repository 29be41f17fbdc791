/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * memory/policygroup.h: the policies of the pools that share a device
 *
 * What memory/policy.c, memory/policyround.c and memory/policycandidates.c
 * share. All functions must be called with the group's lock held.
 */

#ifndef __GST_VKGDR_POLICY_GROUP_H__
#define __GST_VKGDR_POLICY_GROUP_H__

#include "memory/policy.h"
#include "memory/policysearch.h"
#include "memory/policywindow.h"

G_BEGIN_DECLS

/* Buffers that a pool gets in a new mode before they count: caches have to be
 * warm, and staging buffers have to be allocated. */
#define WARM_UP 3

/* A direct buffer that takes its writer so many times longer than staged ones
 * do is slow: the writer reads. Buffers in flight and STRIKES more have to be
 * slow before that counts. */
#define SLOW 8
#define STRIKES 2

/* Time from one round to the next, at first and at most, and at least as a
 * multiple of the cost of a round. A round that is due because something has
 * changed comes after GAP_PER_COST. */
#define FIRST_INTERVAL (2 * GST_SECOND)
#define LAST_INTERVAL (64 * GST_SECOND)
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

static inline GstVkgdrPolicy *
participant (const GstVkgdrPolicyGroup *group, guint i)
{
  return g_ptr_array_index (group->participants, i);
}

/* --- memory/policycandidates.c --- */

/* Finds the pools that a round would be about. Returns whether these are the
 * same as at the last call. */
gboolean gst_vkgdr_policy_group_find_candidates (
    GstVkgdrPolicyGroup *group, GstClockTime now);

/* Whether @pool took part in the last round, or does in this one. */
gboolean gst_vkgdr_policy_group_takes_part (
    const GstVkgdrPolicyGroup *group, const GstVkgdrPolicy *pool);

/* Whether the candidates are those that take part. */
gboolean gst_vkgdr_policy_group_is_unchanged (const GstVkgdrPolicyGroup *group);

/* Whether there is a candidate that does not take part. In a round, the modes
 * that are tried may slow a participant down so much that it is no candidate.
 */
gboolean gst_vkgdr_policy_group_has_newcomer (const GstVkgdrPolicyGroup *group);

/* --- memory/policyround.c --- */

/* A pool of the group gets a buffer: does what is due. */
void gst_vkgdr_policy_group_step (GstVkgdrPolicyGroup *group, GstClockTime now);

/* Ends a round without a result. */
void gst_vkgdr_policy_group_abort_round (
    GstVkgdrPolicyGroup *group, GstClockTime now);

/* The writer of @pool reads what it writes, or maps for reading, too, which was
 * found out at the @cost. The pool leaves the round, and gets staged buffers
 * for a long time. */
void gst_vkgdr_policy_group_keep_staged (GstVkgdrPolicyGroup *group,
    GstVkgdrPolicy *pool, GstClockTime cost, GstClockTime now);

/* The pool that is probed has had its direct buffer for @time. */
void gst_vkgdr_policy_group_judge_probe (GstVkgdrPolicyGroup *group,
    GstVkgdrPolicy *pool, GstClockTime time, GstClockTime now);

/* The pool that is probed mapped its direct buffer for reading, too, or did
 * not write to it. */
void gst_vkgdr_policy_group_repeat_probe (
    GstVkgdrPolicyGroup *group, GstVkgdrPolicy *pool, GstClockTime now);

G_END_DECLS

#endif /* __GST_VKGDR_POLICY_GROUP_H__ */
