/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * policysim.c: see policysim.h
 */

#include "policysim.h"

/* How long a frame takes in addition if it is disturbed. */
#define STALL (20. * GST_MSECOND)

/* The factor for the rate of a stream that has just changed to staged access.
 */
#define SLOW_START 0.5

/* One of the threads that write the frames of a stream. */
typedef struct {
  const SimStream *stream;
  GstVkgdrPolicy *policy;
  GstVkgdrPolicyTurn turn;
  gboolean writes;
  GstVkgdrAccess used;
  gdouble left;  /* bytes to write, or nanoseconds to wait */
  gdouble stall; /* nanoseconds until it writes */
  gdouble began;
} Writer;

struct _Sim {
  SimMachine machine;
  const SimStream *streams;
  guint n_streams;
  SimChoice choice;
  guint n_direct;
  GRand *random;
  GstVkgdrPolicyGroup *group;
  GstVkgdrPolicy *policies[SIM_MAX_STREAMS];
  guint64 n_frames[SIM_MAX_STREAMS];
  gdouble next_frame[SIM_MAX_STREAMS]; /* for live sources */
  gdouble slow_until[SIM_MAX_STREAMS];
  Writer writers[SIM_MAX_STREAMS * SIM_MAX_THREADS];
  guint n_writers;
  gdouble now;
  SimResult result;
};

Sim *
sim_new (const SimMachine *machine, const SimStream *streams, guint n,
    SimChoice choice, guint n_direct)
{
  Sim *sim = g_new0 (Sim, 1);
  guint i, k;

  sim->machine = *machine;
  sim->streams = streams;
  sim->n_streams = n;
  sim->choice = choice;
  sim->n_direct = n_direct;
  sim->random = g_rand_new_with_seed (42);
  sim->group = gst_vkgdr_policy_group_new (FALSE);
  for (i = 0; i < n; i++) {
    sim->policies[i] = gst_vkgdr_policy_new (sim->group);
    sim->next_frame[i] = streams[i].start;
    for (k = 0; k < MAX (streams[i].threads, 1); k++) {
      Writer *writer = &sim->writers[sim->n_writers++];

      writer->stream = &streams[i];
      writer->policy = sim->policies[i];
      writer->left = streams[i].start;
    }
  }
  return sim;
}

void
sim_free (Sim *sim)
{
  guint i;

  for (i = 0; i < sim->n_writers; i++)
    gst_vkgdr_policy_turn_clear (&sim->writers[i].turn);
  for (i = 0; i < sim->n_streams; i++)
    gst_vkgdr_policy_unref (sim->policies[i]);
  gst_vkgdr_policy_group_unref (sim->group);
  g_rand_free (sim->random);
  g_free (sim);
}

GstVkgdrPolicy *
sim_get_policy (Sim *sim, guint stream)
{
  return sim->policies[stream];
}

static guint
stream_index (const Sim *sim, const Writer *writer)
{
  return writer->stream - sim->streams;
}

/* The writer gets a buffer. */
static void
begin_frame (Sim *sim, Writer *writer)
{
  const SimStream *stream = writer->stream;
  guint index = stream_index (sim, writer);
  GstVkgdrAccess access =
      index < sim->n_direct ? GST_VKGDR_ACCESS_DIRECT : GST_VKGDR_ACCESS_STAGED;

  if (sim->choice == SIM_AUTO)
    access = gst_vkgdr_policy_next (writer->policy, &writer->turn, stream->size,
        (GstClockTime) sim->now, 0);
  sim->n_frames[index]++;
  if (stream->readwrite_every > 0
      && sim->n_frames[index] % stream->readwrite_every == 0)
    access = GST_VKGDR_ACCESS_STAGED;
  if (writer->used == GST_VKGDR_ACCESS_DIRECT
      && access == GST_VKGDR_ACCESS_STAGED)
    sim->slow_until[index] = sim->now + stream->slow_for;
  writer->used = access;
  writer->writes = TRUE;
  writer->began = sim->now;
  writer->left =
      stream->size
      * (1 + stream->noise * g_rand_double_range (sim->random, -1, 1));
  writer->stall = g_rand_double (sim->random) < stream->stalls ? STALL : 0;
}

static void
end_frame (Sim *sim, Writer *writer)
{
  GstClockTime time = (GstClockTime) (sim->now - writer->began);

  if (sim->choice == SIM_AUTO)
    gst_vkgdr_policy_report (
        &writer->turn, writer->used, &(GstVkgdrWork){ .time = time });
  sim->result.bytes += writer->stream->size;
  if (writer->used == GST_VKGDR_ACCESS_DIRECT)
    sim->result.direct_bytes += writer->stream->size;
  sim->result.busy += time;
  writer->writes = FALSE;
  writer->left = 0;
}

/* A writer that has waited gets the next buffer. A live source waits for its
 * time. */
static void
end_wait (Sim *sim, Writer *writer)
{
  guint index = stream_index (sim, writer);

  if (writer->stream->period > 0 && sim->now + 0.5 < sim->next_frame[index]) {
    writer->left = sim->next_frame[index] - sim->now;
    return;
  }
  sim->next_frame[index] += writer->stream->period;
  begin_frame (sim, writer);
}

static guint
count_writing (const Sim *sim, GstVkgdrAccess access)
{
  guint i, n = 0;

  for (i = 0; i < sim->n_writers; i++)
    n += sim->writers[i].writes && sim->writers[i].used == access;
  return n;
}

static gdouble
share (gdouble total, gdouble thread, guint n)
{
  return n > 0 ? MIN (thread, total / n) : 0;
}

typedef struct {
  gdouble direct;
  gdouble staged;
} Rates;

static Rates
find_rates (const Sim *sim)
{
  const SimMachine *m = &sim->machine;
  guint n_direct = count_writing (sim, GST_VKGDR_ACCESS_DIRECT);
  guint n_staged = count_writing (sim, GST_VKGDR_ACCESS_STAGED);
  Rates rates = { share (m->direct_total, m->direct_thread, n_direct),
    share (m->staged_total, m->staged_thread, n_staged) };
  gdouble sum = rates.direct * n_direct + rates.staged * n_staged;

  if (m->total > 0 && sum > m->total) {
    rates.direct *= m->total / sum;
    rates.staged *= m->total / sum;
  }
  return rates;
}

static gdouble
rate_of_writer (const Sim *sim, const Writer *writer, Rates rates)
{
  const SimStream *stream = writer->stream;
  gboolean is_direct = writer->used == GST_VKGDR_ACCESS_DIRECT;
  gdouble own = is_direct ? stream->direct_rate : stream->staged_rate;
  gdouble shared = is_direct ? rates.direct : rates.staged;

  if (!writer->writes)
    return 1;
  if (!is_direct && sim->now < sim->slow_until[stream_index (sim, writer)])
    shared *= SLOW_START;
  if (is_direct && stream->change_time > 0 && sim->now >= stream->change_time)
    own = stream->changed_direct_rate;
  return own > 0 ? MIN (own, shared) : shared;
}

static gdouble
time_left (const Sim *sim, const Writer *writer, Rates rates)
{
  return (writer->writes ? writer->stall : 0)
         + writer->left / rate_of_writer (sim, writer, rates);
}

static void
advance (const Sim *sim, Writer *writer, Rates rates, gdouble time)
{
  gdouble rate = rate_of_writer (sim, writer, rates);

  if (writer->writes && writer->stall > 0) {
    gdouble pause = MIN (writer->stall, time);

    writer->stall -= pause;
    time -= pause;
  }
  writer->left -= time * rate;
}

/* Continues until the next writer has finished, but not beyond @end. */
static void
step (Sim *sim, gdouble end)
{
  Rates rates = find_rates (sim);
  gdouble time = end - sim->now;
  guint i;

  for (i = 0; i < sim->n_writers; i++)
    time = MIN (time, time_left (sim, &sim->writers[i], rates));
  time = MAX (time, 0);
  for (i = 0; i < sim->n_writers; i++)
    advance (sim, &sim->writers[i], rates, time);
  sim->now += time;
  for (i = 0; i < sim->n_writers; i++) {
    Writer *writer = &sim->writers[i];

    if (writer->left > 0.01 || (writer->writes && writer->stall > 0))
      continue;
    if (writer->writes)
      end_frame (sim, writer);
    end_wait (sim, writer);
  }
}

SimResult
sim_run (Sim *sim, GstClockTime time)
{
  gdouble end = sim->now + time;

  sim->result = (SimResult){ 0, 0, 0, time };
  while (sim->now + 0.5 < end)
    step (sim, end);
  return sim->result;
}
