/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * memory/policy.c: see memory/policy.h
 */

#include <stdlib.h>
#include <string.h>

#include "memory/policy.h"

GST_DEBUG_CATEGORY_STATIC (gst_vkgdr_policy_debug);
#define GST_CAT_DEFAULT gst_vkgdr_policy_debug

/* Buffers that a measurement takes either way. The median of the last ones
 * counts; before them, every buffer of most pools was had once, so that caches
 * are warm and what is on its way is on its way. */
#define WARM_UP 4
#define SAMPLES 5

/* A way has to be this much faster than the other, as a fraction of its time:
 * the clock is not exact. */
#define GAIN 0.95

/* One buffer in the window that takes its writer this many times longer than
 * the fastest beside it is enough to know: the next would stall it again. */
#define HOPELESS 4

/* Buffers until the other way is tried again: at first about ten seconds of
 * video; longer and longer where the answer stays the same. */
#define FIRST_INTERVAL 256
#define LAST_INTERVAL 16384

typedef enum { WAY_DIRECT, WAY_STAGED, N_WAYS } Way;

/* Of what it takes to have a buffer written. */
typedef enum {
  TIME_OF_TURN,   /* from one buffer to the next */
  TIME_OF_WRITER, /* of that, until it had one, and to write it */
  N_TIMES
} Time;

struct _GstVkgdrPolicy {
  gint refcount;
  GMutex lock;
  GstVkgdrAccess wanted;

  Way in_force;
  Way given;           /* with the last buffer */
  GstClockTime begun;  /* when that was */
  GstClockTime waited; /* for that buffer */
  GstClockTime spent;  /* by the writer on it */
  gboolean reads;      /* the writer maps for reading, too */

  guint seen[N_WAYS]; /* buffers of the measurement under way */
  GstClockTime samples[N_WAYS][N_TIMES][SAMPLES];
  GstClockTime fastest_staged; /* without waits */
  gboolean hopeless;
  gboolean measuring;
  gboolean settled; /* there has been a result */
  gboolean warm;    /* the first buffer, which pays for much else, is past */
  guint interval;
  guint left; /* buffers until the next measurement */
};

static void
begin_measurement (GstVkgdrPolicy *policy)
{
  policy->measuring = TRUE;
  policy->seen[WAY_DIRECT] = policy->seen[WAY_STAGED] = 0;
  policy->fastest_staged = GST_CLOCK_TIME_NONE;
  policy->hopeless = FALSE;
}

GstVkgdrPolicy *
gst_vkgdr_policy_new (void)
{
  static gsize done = 0;
  GstVkgdrPolicy *policy = g_new0 (GstVkgdrPolicy, 1);

  if (g_once_init_enter (&done)) {
    GST_DEBUG_CATEGORY_INIT (gst_vkgdr_policy_debug, "vkgdrpolicy", 0,
        "choice between direct and staged access");
    g_once_init_leave (&done, 1);
  }
  policy->refcount = 1;
  g_mutex_init (&policy->lock);
  policy->wanted = GST_VKGDR_ACCESS_AUTO;
  policy->in_force = policy->given = WAY_STAGED;
  policy->interval = FIRST_INTERVAL;
  begin_measurement (policy);
  return policy;
}

GstVkgdrPolicy *
gst_vkgdr_policy_ref (GstVkgdrPolicy *policy)
{
  g_atomic_int_inc (&policy->refcount);
  return policy;
}

void
gst_vkgdr_policy_unref (GstVkgdrPolicy *policy)
{
  if (!g_atomic_int_dec_and_test (&policy->refcount))
    return;
  g_mutex_clear (&policy->lock);
  g_free (policy);
}

void
gst_vkgdr_policy_set (GstVkgdrPolicy *policy, GstVkgdrAccess wanted)
{
  g_mutex_lock (&policy->lock);
  policy->wanted = wanted;
  g_mutex_unlock (&policy->lock);
}

static int
compare_times (gconstpointer a, gconstpointer b)
{
  GstClockTime x = *(const GstClockTime *) a, y = *(const GstClockTime *) b;

  return (x > y) - (x < y);
}

/* Of the samples that there are; 0 without any. */
static GstClockTime
median (const GstVkgdrPolicy *policy, Way way, Time time)
{
  guint n = MIN (policy->seen[way], SAMPLES);
  GstClockTime sorted[SAMPLES] = { 0 };

  memcpy (sorted, policy->samples[way][time], n * sizeof (*sorted));
  qsort (sorted, n, sizeof (*sorted), compare_times);
  return sorted[n / 2];
}

static void
settle (GstVkgdrPolicy *policy, Way way)
{
  if (way != policy->in_force) {
    GST_INFO (
        "access is %s from now on: a buffer takes its writer %" G_GUINT64_FORMAT
        " of %" G_GUINT64_FORMAT " ns in the window, %" G_GUINT64_FORMAT
        " of %" G_GUINT64_FORMAT " ns beside it",
        way == WAY_DIRECT ? "direct" : "staged",
        median (policy, WAY_DIRECT, TIME_OF_WRITER),
        median (policy, WAY_DIRECT, TIME_OF_TURN),
        median (policy, WAY_STAGED, TIME_OF_WRITER),
        median (policy, WAY_STAGED, TIME_OF_TURN));
    policy->interval = FIRST_INTERVAL;
  } else {
    policy->interval = MIN (policy->interval * 2, LAST_INTERVAL);
  }
  policy->in_force = way;
  policy->measuring = FALSE;
  policy->settled = TRUE;
  policy->left = policy->interval;
}

/* What the writer spent on the last buffer, if it wrote to it at all. Samples
 * of the warm-up are overwritten by those that follow. */
static void
take_sample (GstVkgdrPolicy *policy, GstClockTime now)
{
  Way way = policy->given;
  GstClockTime spent = policy->spent;
  guint i;

  if (spent == 0)
    return;
  GST_LOG ("%s: %" G_GUINT64_FORMAT " ns to write, after %" G_GUINT64_FORMAT
           ", of %" G_GUINT64_FORMAT,
      way == WAY_DIRECT ? "direct" : "staged", spent, policy->waited,
      now - policy->begun);
  policy->spent = 0;
  if (!policy->warm) {
    policy->warm = TRUE;
    return;
  }
  i = policy->seen[way]++ % SAMPLES;
  policy->samples[way][TIME_OF_TURN][i] = now - policy->begun;
  policy->samples[way][TIME_OF_WRITER][i] = spent + policy->waited;
  if (way == WAY_STAGED)
    policy->fastest_staged = MIN (policy->fastest_staged, spent);
  else if (spent / HOPELESS > policy->fastest_staged)
    policy->hopeless = TRUE;
}

static gboolean
has_seen_enough (const GstVkgdrPolicy *policy, Way way)
{
  return policy->seen[way] >= WARM_UP + SAMPLES;
}

/* Whether a way takes less than @gain of the time that the other does. */
static gboolean
is_faster (
    const GstVkgdrPolicy *policy, Way way, Way other, Time time, gdouble gain)
{
  return median (policy, way, time) < gain * median (policy, other, time);
}

/* Where it is all the same: direct, which needs no transfer and no host memory.
 * Once staged is taken, it is kept as long as it is faster at all. */
static Way
faster_way (const GstVkgdrPolicy *policy)
{
  gboolean staged = policy->settled && policy->in_force == WAY_STAGED;

  if (is_faster (policy, WAY_STAGED, WAY_DIRECT, TIME_OF_TURN, GAIN))
    return WAY_STAGED;
  if (is_faster (policy, WAY_DIRECT, WAY_STAGED, TIME_OF_TURN, GAIN))
    return WAY_DIRECT;
  return is_faster (
             policy, WAY_STAGED, WAY_DIRECT, TIME_OF_WRITER, staged ? 1 : GAIN)
             ? WAY_STAGED
             : WAY_DIRECT;
}

static void
judge (GstVkgdrPolicy *policy)
{
  if (policy->reads) {
    settle (policy, WAY_STAGED); /* it gets the shadow in any case */
    policy->reads = FALSE;
  } else if (policy->hopeless) {
    settle (policy, WAY_STAGED);
    policy->left = policy->interval = LAST_INTERVAL;
  } else if (has_seen_enough (policy, WAY_STAGED)
             && has_seen_enough (policy, WAY_DIRECT)) {
    settle (policy, faster_way (policy));
  }
}

static Way
next_way (GstVkgdrPolicy *policy, GstClockTime now)
{
  take_sample (policy, now);
  if (policy->measuring)
    judge (policy);
  else if (policy->left-- == 0)
    begin_measurement (policy);
  if (!policy->measuring)
    return policy->in_force;
  return has_seen_enough (policy, WAY_STAGED) ? WAY_DIRECT : WAY_STAGED;
}

static GstVkgdrAccess
access_of (Way way)
{
  return way == WAY_DIRECT ? GST_VKGDR_ACCESS_DIRECT : GST_VKGDR_ACCESS_STAGED;
}

GstVkgdrAccess
gst_vkgdr_policy_next (
    GstVkgdrPolicy *policy, GstClockTime now, GstClockTime waited)
{
  GstVkgdrAccess access;

  g_mutex_lock (&policy->lock);
  access = policy->wanted;
  if (access == GST_VKGDR_ACCESS_AUTO) {
    policy->given = next_way (policy, now);
    policy->begun = now;
    policy->waited = waited;
    access = access_of (policy->given);
  }
  g_mutex_unlock (&policy->lock);
  return access;
}

void
gst_vkgdr_policy_report (
    GstVkgdrPolicy *policy, GstClockTime time, gboolean reads)
{
  g_mutex_lock (&policy->lock);
  policy->spent += time;
  policy->reads |= reads;
  g_mutex_unlock (&policy->lock);
}

GstVkgdrAccess
gst_vkgdr_policy_get (GstVkgdrPolicy *policy)
{
  GstVkgdrAccess access;

  g_mutex_lock (&policy->lock);
  access = policy->wanted;
  if (access == GST_VKGDR_ACCESS_AUTO)
    access = access_of (policy->in_force);
  g_mutex_unlock (&policy->lock);
  return access;
}
