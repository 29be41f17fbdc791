/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * memory/policy.c: see memory/policy.h
 */

#include "memory/policy.h"

#include <time.h>

GST_DEBUG_CATEGORY_STATIC (gst_vkgdr_policy_debug);
#define GST_CAT_DEFAULT gst_vkgdr_policy_debug

/* The number of staged buffers that are measured before a direct one is tried,
 * and the number of buffers after which rule 3 is applied. A live source writes
 * them in a quarter of a second. The first buffers take longer, because caches
 * are cold. */
#define SAMPLE 16

/* The number of direct buffers that are tried. A single one may be slow for
 * another reason, such as an interruption. */
#define TRIALS 2

/* A direct buffer is slow if it takes this many times longer than a staged one.
 * On an H200, a thread writes 10 GB/s to the window with ordinary stores, and
 * reads 0.06 GB/s. */
#define SLOW 8

/* Nanoseconds. A buffer that took less is not slow: direct writes of a small
 * frame may take more than eight times as long as writes to the CPU's cache.
 * Reading takes 10 ns for each byte, so 2 KB already exceed this. */
#define SLOW_MIN (20 * GST_USECOND)

/* Nanoseconds until direct buffers are tried again with a writer that reads;
 * doubled each time. Reading two frames of 4K NV12 through the window takes 0.4
 * s. A pool that has asked for no direct buffer in this time is not active. */
#define RETRY (10 * GST_SECOND)

/* If a writer's thread uses the processor for a smaller part of the time, it
 * waits for other elements. A source that only writes uses the processor all
 * the time, unless other threads need it. */
#define BUSY 0.85

/* Direct pools: of few, of many (rule 4). On an H200, GB/s of all together:
 *
 * | pools                         | 2  | 4  | 8  | 16 |
 * | all direct                    | 29 | 30 | 33 | 33 |
 * | two direct, the others staged |    | 31 | 44 | 45 |
 * | all staged                    | 21 |    |    |    |
 *
 * Three direct pools on an H100: 31. */
#define DIRECT_MAX 3
#define DIRECT_OF_MANY 2

struct _GstVkgdrPolicy {
  gint refcount;
  gint device;
  gboolean window_is_cached;

  GMutex lock; /* for the fields below */
  GstVkgdrAccess wanted;
  GstVkgdrAccess access; /* of the last buffer that was not a trial */

  guint n_staged;            /* buffers in the average, at most SAMPLE */
  GstClockTime staged_time;  /* to write a staged buffer, on average */
  gboolean is_plain;         /* the writer does not read */
  guint n_trials;            /* direct buffers that were tried */
  guint n_slow;              /* slow direct buffers in a row */
  GstClockTime staged_until; /* time of the next trial, if the writer reads */
  GstClockTime retry;

  GstVkgdrWork last_work;
  guint n_observed; /* buffers in the sums below */
  GstClockTime thread_time;
  GstClockTime thread_cpu;
  gboolean waits; /* the writer's thread waits for other elements */

  GstClockTime last_direct; /* when it last asked for direct access; under
                             * `pools_lock` */
};

/* The pools that have asked for direct access, oldest first. All contexts of a
 * device share its window, and so do their pools. */
static GMutex pools_lock; /* taken after a policy's lock */
static GPtrArray *pools;

/* --- the rules ------------------------------------------------------------ */

/* Rule 4 in memory/policy.h. */
static gboolean
may_be_direct (GstVkgdrPolicy *self, GstClockTime now)
{
  guint i, n_active = 0, n_older = 0;

  g_mutex_lock (&pools_lock);
  if (!g_ptr_array_find (pools, self, NULL))
    g_ptr_array_add (pools, self);
  self->last_direct = now;
  for (i = 0; i < pools->len; i++) {
    const GstVkgdrPolicy *pool = g_ptr_array_index (pools, i);

    if (pool == self)
      n_older = n_active;
    if (pool->device == self->device && now < pool->last_direct + RETRY)
      n_active++;
  }
  g_mutex_unlock (&pools_lock);
  return n_active <= DIRECT_MAX || n_older < DIRECT_OF_MANY;
}

static gboolean
is_reader_locked (const GstVkgdrPolicy *self, GstClockTime now)
{
  return now < self->staged_until;
}

static GstVkgdrAccess
choose_locked (GstVkgdrPolicy *self, GstVkgdrPolicyTurn *turn, GstClockTime now)
{
  GstVkgdrAccess access = GST_VKGDR_ACCESS_STAGED;

  if (self->window_is_cached) {
    access = GST_VKGDR_ACCESS_DIRECT;
  } else if (is_reader_locked (self, now) || self->waits
             || self->n_staged < SAMPLE) {
    access = GST_VKGDR_ACCESS_STAGED;
  } else if (self->is_plain) {
    if (may_be_direct (self, now))
      access = GST_VKGDR_ACCESS_DIRECT;
  } else if (self->n_trials < TRIALS) {
    self->n_trials++;
    turn->is_trial = TRUE;
    return GST_VKGDR_ACCESS_DIRECT;
  }
  self->access = access;
  return access;
}

/* The buffer of a trial was not written: the trial is repeated. */
static void
withdraw_trial_locked (GstVkgdrPolicy *self, GstVkgdrPolicyTurn *turn)
{
  if (turn->is_trial && self->n_trials > 0)
    self->n_trials--;
  turn->is_trial = FALSE;
}

/* Rule 2. @is_slow: a direct buffer was slow, or was mapped for reading, too.
 */
static void
judge_direct_locked (GstVkgdrPolicy *self, gboolean is_slow, GstClockTime now)
{
  if (!is_slow) {
    self->is_plain = TRUE;
    self->n_slow = 0;
    self->retry = RETRY;
  } else if (++self->n_slow >= TRIALS) {
    self->is_plain = FALSE;
    self->n_slow = 0;
    self->n_trials = 0;
    self->staged_until = now + self->retry;
    self->retry *= 2;
  }
}

static void
count_staged_locked (GstVkgdrPolicy *self, GstClockTime time)
{
  self->n_staged = MIN (self->n_staged + 1, SAMPLE);
  self->staged_time =
      ((self->n_staged - 1) * self->staged_time + time) / self->n_staged;
}

/* Rule 3. Counts the time since the last buffer, if the same thread wrote it.
 */
static void
count_thread_locked (
    GstVkgdrPolicy *self, const GstVkgdrWork *work, GstClockTime waited)
{
  const GstVkgdrWork *last = &self->last_work;

  if (work->thread && work->thread == last->thread && work->cpu >= last->cpu) {
    GstClockTime time = work->end - last->end;

    self->thread_time += time - MIN (time, waited);
    self->thread_cpu += work->cpu - last->cpu;
    self->n_observed++;
  }
  self->last_work = *work;
  if (self->n_observed < SAMPLE)
    return;
  self->waits = self->thread_cpu < BUSY * self->thread_time;
  self->n_observed = 0;
  self->thread_time = 0;
  self->thread_cpu = 0;
}

/* --- how long a writer needs ---------------------------------------------- */

static GstClockTime
get_processor_time (void)
{
  struct timespec now = { 0 };

  clock_gettime (CLOCK_THREAD_CPUTIME_ID, &now);
  return GST_TIMESPEC_TO_TIME (now);
}

void
gst_vkgdr_work_start (
    GstVkgdrWorkStart *start, GstClockTime now, gboolean with_processor_time)
{
  start->time = now;
  start->thread = with_processor_time ? g_thread_self () : NULL;
  start->cpu = with_processor_time ? get_processor_time () : 0;
}

GstVkgdrWork
gst_vkgdr_work_end (const GstVkgdrWorkStart *start, GstClockTime now)
{
  GstVkgdrWork work = { now - start->time, now, NULL, 0 };

  if (!start->thread || start->thread != g_thread_self ())
    return work;
  work.cpu = get_processor_time ();
  /* A new thread may have the address of one that has ended. */
  if (work.cpu >= start->cpu) {
    work.time = work.cpu - start->cpu;
    work.thread = start->thread;
  }
  return work;
}

/* --- turns ---------------------------------------------------------------- */

void
gst_vkgdr_policy_turn_begin (
    GstVkgdrPolicyTurn *turn, GstVkgdrPolicy *policy, GstClockTime waited)
{
  if (turn->policy != policy) {
    gst_vkgdr_policy_turn_clear (turn);
    turn->policy = gst_vkgdr_policy_ref (policy);
  }
  g_mutex_lock (&policy->lock);
  withdraw_trial_locked (policy, turn);
  g_mutex_unlock (&policy->lock);
  turn->access = GST_VKGDR_ACCESS_AUTO;
  turn->waited = waited;
  turn->is_pending = TRUE;
}

GstVkgdrAccess
gst_vkgdr_policy_turn_map (
    GstVkgdrPolicyTurn *turn, gboolean in_window, GstClockTime now)
{
  GstVkgdrPolicy *policy = turn->policy;
  GstVkgdrAccess before, after;

  if (!in_window) {
    turn->access = GST_VKGDR_ACCESS_STAGED;
    return turn->access;
  }
  g_mutex_lock (&policy->lock);
  before = policy->access;
  if (policy->wanted != GST_VKGDR_ACCESS_AUTO) {
    policy->access = policy->wanted;
    turn->access = policy->wanted;
  } else if (turn->access == GST_VKGDR_ACCESS_AUTO
             || is_reader_locked (policy, now)) {
    turn->access = choose_locked (policy, turn, now);
  }
  after = policy->access;
  g_mutex_unlock (&policy->lock);
  if (before != after)
    GST_DEBUG ("pool %p is %s now", policy,
        after == GST_VKGDR_ACCESS_DIRECT ? "direct" : "staged");
  return turn->access;
}

void
gst_vkgdr_policy_turn_end (
    GstVkgdrPolicyTurn *turn, GstVkgdrAccess used, const GstVkgdrWork *work)
{
  GstVkgdrPolicy *policy = turn->policy;
  gboolean is_direct = turn->access == GST_VKGDR_ACCESS_DIRECT;
  gboolean was_read = used == GST_VKGDR_ACCESS_STAGED;

  if (!policy || !turn->is_pending)
    return;
  turn->is_pending = FALSE;
  turn->is_trial = FALSE;
  g_mutex_lock (&policy->lock);
  count_thread_locked (policy, work, turn->waited);
  if (is_direct && !is_reader_locked (policy, work->end))
    judge_direct_locked (policy,
        was_read
            || (work->time > SLOW_MIN
                && work->time > SLOW * policy->staged_time),
        work->end);
  else if (!is_direct && was_read)
    count_staged_locked (policy, work->time);
  g_mutex_unlock (&policy->lock);
}

void
gst_vkgdr_policy_turn_clear (GstVkgdrPolicyTurn *turn)
{
  if (!turn->policy)
    return;
  g_mutex_lock (&turn->policy->lock);
  withdraw_trial_locked (turn->policy, turn);
  g_mutex_unlock (&turn->policy->lock);
  g_clear_pointer (&turn->policy, gst_vkgdr_policy_unref);
}

/* --- policies ------------------------------------------------------------- */

static void
init (void)
{
  static gsize done = 0;

  if (g_once_init_enter (&done)) {
    GST_DEBUG_CATEGORY_INIT (gst_vkgdr_policy_debug, "vkgdrpolicy", 0,
        "choice between direct and staged access");
    pools = g_ptr_array_new ();
    g_once_init_leave (&done, 1);
  }
}

GstVkgdrPolicy *
gst_vkgdr_policy_new (gint device, gboolean window_is_cached)
{
  GstVkgdrPolicy *policy = g_new0 (GstVkgdrPolicy, 1);

  init ();
  policy->refcount = 1;
  policy->device = device;
  policy->window_is_cached = window_is_cached;
  g_mutex_init (&policy->lock);
  policy->access =
      window_is_cached ? GST_VKGDR_ACCESS_DIRECT : GST_VKGDR_ACCESS_STAGED;
  policy->retry = RETRY;
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
  g_mutex_lock (&pools_lock);
  g_ptr_array_remove (pools, policy);
  g_mutex_unlock (&pools_lock);
  g_mutex_clear (&policy->lock);
  g_free (policy);
}

void
gst_vkgdr_policy_set (GstVkgdrPolicy *policy, GstVkgdrAccess wanted)
{
  g_mutex_lock (&policy->lock);
  policy->wanted = wanted;
  if (wanted != GST_VKGDR_ACCESS_AUTO)
    policy->access = wanted;
  g_mutex_unlock (&policy->lock);
}

GstVkgdrAccess
gst_vkgdr_policy_get_wanted (GstVkgdrPolicy *policy)
{
  GstVkgdrAccess wanted;

  g_mutex_lock (&policy->lock);
  wanted = policy->wanted;
  g_mutex_unlock (&policy->lock);
  return wanted;
}

GstVkgdrAccess
gst_vkgdr_policy_get (GstVkgdrPolicy *policy)
{
  GstVkgdrAccess access;

  g_mutex_lock (&policy->lock);
  access = policy->access;
  g_mutex_unlock (&policy->lock);
  return access;
}
