/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * policy.c: tests of the choice between direct and staged access, by simulation
 *
 * Each simulation compares the rate that the policy reaches with the rates of
 * fixed access modes on the same machine.
 */

#include "memory/policysearch.h"
#include "memory/worktime.h"
#include "policysim.h"
#include "slow.h"
#include "util.h"

#define FRAME_4K (3840 * 2160 * 3 / 2)
#define FRAME_1080P (1920 * 1080 * 3 / 2)

/* The policy has to reach this part of the rate of the best fixed mode. */
#define TARGET 0.97

/* The longest time until the policy has decided. */
#define CONVERGENCE (2 * GST_SECOND)

/* A real server: 34 GB/s for all direct writers together, 18 GB/s for one of
 * them. The rates of staging depend on what else the writers do. */
static const SimMachine plain = { 34, 18, 45, 17, 51 };
static const SimMachine copying = { 33.9, 17, 31, 15, 38.9 };

typedef struct {
  SimResult first; /* until the policy has decided */
  SimResult rest;
} Run;

static Run
run (const SimMachine *machine, const SimStream *streams, guint n,
    SimChoice choice, guint n_direct, GstClockTime time)
{
  Sim *sim = sim_new (machine, streams, n, choice, n_direct);
  Run result;

  result.first = sim_run (sim, CONVERGENCE);
  result.rest = sim_run (sim, time - CONVERGENCE);
  sim_free (sim);
  return result;
}

static gdouble
best_rate (const SimMachine *machine, const SimStream *streams, guint n,
    guint step, GstClockTime time)
{
  gdouble best = 0;
  guint k;

  for (k = 0; k <= n; k += step)
    best = MAX (
        best, sim_rate (run (machine, streams, n, SIM_FIXED, k, time).rest));
  return best;
}

/* Checks that the policy reaches the rate of the best fixed number of direct
 * writers, from none to all. */
static void
check_against_best (const SimMachine *machine, const SimStream *streams,
    guint n, GstClockTime time)
{
  gdouble best = best_rate (machine, streams, n, 1, time);
  gdouble rate = sim_rate (run (machine, streams, n, SIM_AUTO, 0, time).rest);

  GST_INFO ("%u streams: %.2f of %.2f GB/s", n, rate, best);
  fail_unless (rate >= TARGET * best, "%u streams: %.2f of %.2f GB/s (%.3f)", n,
      rate, best, rate / best);
}

static void
fill_streams (SimStream *streams, guint n, SimStream stream)
{
  guint i;

  for (i = 0; i < n; i++)
    streams[i] = stream;
}

GST_START_TEST (test_one_plain_writer)
{
  static const SimMachine machines[] = { { 34, 18, 45, 15 }, { 34, 15, 45, 18 },
    { 34, 16, 45, 16 }, { 34, 16.5, 45, 16 } };
  SimStream stream = { .size = FRAME_4K, .noise = 0.1 };
  guint i;

  for (i = 0; i < G_N_ELEMENTS (machines); i++) {
    stream.size = FRAME_4K;
    check_against_best (&machines[i], &stream, 1, 10 * GST_SECOND);
    stream.size = FRAME_1080P;
    check_against_best (&machines[i], &stream, 1, 5 * GST_SECOND);
  }
}
GST_END_TEST;

/* If both modes have about the same rate, direct access is preferred, because
 * it needs less memory. */
GST_START_TEST (test_equal_modes_end_up_direct)
{
  static const SimMachine machine = { 34, 16, 45, 16.1 };
  const SimStream stream = { .size = FRAME_4K };
  Sim *sim = sim_new (&machine, &stream, 1, SIM_AUTO, 0);

  sim_run (sim, CONVERGENCE);
  fail_unless_equals_int (
      gst_vkgdr_policy_get (sim_get_policy (sim, 0)), GST_VKGDR_ACCESS_DIRECT);
  sim_free (sim);
}
GST_END_TEST;

/* With direct access, a writer that also reads takes 300 times as long. */
GST_START_TEST (test_writer_that_reads)
{
  const SimStream stream = { .size = FRAME_4K, .direct_rate = 0.06 };
  Run result = run (&plain, &stream, 1, SIM_AUTO, 0, 60 * GST_SECOND);

  /* The policy needs at most two buffers to notice, and two more in the rest of
   * the minute. */
  fail_unless (result.first.direct_bytes <= 2 * FRAME_4K);
  fail_unless (result.rest.direct_bytes <= 2 * FRAME_4K);
  fail_unless (sim_rate (result.rest) >= TARGET * plain.staged_thread,
      "%g GB/s", sim_rate (result.rest));
}
GST_END_TEST;

/* Frames of 16 KiB. Writing them to ordinary memory takes a fraction of the
 * time of writing them to the window, because they stay in the CPU's cache. But
 * their transfers cost more. The writer does not read. */
GST_START_TEST (test_tiny_frames)
{
  GstVkgdrPolicyGroup *group = gst_vkgdr_policy_group_new (FALSE);
  GstVkgdrPolicy *policy = gst_vkgdr_policy_new (group);
  GstVkgdrPolicyTurn turn = { .policy = NULL };
  GstClockTime now = 0;

  while (now < CONVERGENCE) {
    GstVkgdrAccess access =
        gst_vkgdr_policy_next (policy, &turn, 16384, now, 0);
    gboolean direct = access == GST_VKGDR_ACCESS_DIRECT;

    gst_vkgdr_policy_report (
        &turn, access, &(GstVkgdrWork){ .time = direct ? 1500 : 150 });
    now += direct ? 3000 : 7500;
  }
  fail_unless_equals_int (
      gst_vkgdr_policy_get (policy), GST_VKGDR_ACCESS_DIRECT);
  gst_vkgdr_policy_turn_clear (&turn);
  gst_vkgdr_policy_unref (policy);
  gst_vkgdr_policy_group_unref (group);
}
GST_END_TEST;

/* A decoder with 12 frames in flight. One mode is three times slower than the
 * other. */
GST_START_TEST (test_frame_threads)
{
  static const SimMachine machine = { 100, 18, 100, 18 };
  SimStream stream = { .size = FRAME_1080P, .threads = 12, .noise = 0.3 };

  stream.direct_rate = 0.1;
  stream.staged_rate = 0.3;
  check_against_best (&machine, &stream, 1, 20 * GST_SECOND);
  stream.direct_rate = 0.3;
  stream.staged_rate = 0.1;
  check_against_best (&machine, &stream, 1, 20 * GST_SECOND);
}
GST_END_TEST;

/* The same, but one mode is hundreds of times slower. Only a few of the threads
 * may get a buffer with this mode. */
GST_START_TEST (test_frame_threads_that_read)
{
  static const SimMachine machine = { 100, 18, 100, 18 };
  const SimStream stream = {
    .size = FRAME_1080P, .threads = 12, .staged_rate = 0.3, .direct_rate = 0.001
  };
  Run result = run (&machine, &stream, 1, SIM_AUTO, 0, 60 * GST_SECOND);

  fail_unless (
      result.first.direct_bytes + result.rest.direct_bytes <= 6 * FRAME_1080P);
  fail_unless (sim_rate (result.rest) >= TARGET * 12 * 0.3, "%g GB/s",
      sim_rate (result.rest));
}
GST_END_TEST;

/* One buffer in a hundred is mapped for reading, too. It does not change the
 * choice. */
GST_START_TEST (test_readwrite_now_and_then)
{
  static const SimMachine machine = { 34, 18, 45, 4.5 };
  const SimStream stream = {
    .size = FRAME_4K, .noise = 0.05, .readwrite_every = 100
  };

  check_against_best (&machine, &stream, 1, 60 * GST_SECOND);
}
GST_END_TEST;

GST_START_TEST (test_readwrite_always)
{
  const SimStream stream = { .size = FRAME_4K, .readwrite_every = 1 };
  Sim *sim = sim_new (&plain, &stream, 1, SIM_AUTO, 0);

  sim_run (sim, CONVERGENCE);
  fail_unless_equals_int (
      gst_vkgdr_policy_get (sim_get_policy (sim, 0)), GST_VKGDR_ACCESS_STAGED);
  sim_free (sim);
}
GST_END_TEST;

/* One frame in two hundred is delayed by 20 ms by something else. */
GST_START_TEST (test_stalls)
{
  static const SimMachine machines[] = { { 34, 18, 45, 9 }, { 34, 9, 45, 18 } };
  const SimStream stream = { .size = FRAME_4K, .noise = 0.1, .stalls = 0.005 };
  guint i;

  for (i = 0; i < G_N_ELEMENTS (machines); i++)
    check_against_best (&machines[i], &stream, 1, 60 * GST_SECOND);
}
GST_END_TEST;

/* A live source writes the same number of frames in both modes, so the policy
 * has to minimise the time of writing. */
GST_START_TEST (test_live_source)
{
  static const SimMachine machines[] = { { 34, 18, 45, 9 }, { 34, 9, 45, 18 } };
  const SimStream stream = {
    .size = FRAME_4K, .noise = 0.05, .period = GST_SECOND / 60
  };
  guint i;

  for (i = 0; i < G_N_ELEMENTS (machines); i++) {
    GstClockTime busy =
        run (&machines[i], &stream, 1, SIM_AUTO, 0, 60 * GST_SECOND).rest.busy;
    GstClockTime direct =
        run (&machines[i], &stream, 1, SIM_FIXED, 1, 60 * GST_SECOND).rest.busy;
    GstClockTime staged =
        run (&machines[i], &stream, 1, SIM_FIXED, 0, 60 * GST_SECOND).rest.busy;

    fail_unless (TARGET * busy <= MIN (direct, staged),
        "%" G_GUINT64_FORMAT " of %" G_GUINT64_FORMAT " and %" G_GUINT64_FORMAT,
        busy, direct, staged);
  }
}
GST_END_TEST;

/* A live source that writes its frames in many pieces, and waits between them.
 * Staged access takes as long as direct access, or a little less or more, which
 * is hardly more than the noise. */
GST_START_TEST (test_live_source_in_pieces)
{
  static const gdouble rates[][2] = { { 0.345, 0.36 }, { 0.30, 0.31 },
    { 0.5, 0.5 }, { 0.36, 0.345 }, { 0.32, 0.30 } };
  guint i;

  for (i = 0; i < G_N_ELEMENTS (rates); i++) {
    const SimStream stream = { .size = 1920 * 1080 * 2,
      .noise = 0.05,
      .period = GST_SECOND / 60,
      .direct_rate = rates[i][0],
      .staged_rate = rates[i][1] };
    Sim *sim = sim_new (&plain, &stream, 1, SIM_AUTO, 0);

    sim_run (sim, 5 * GST_SECOND);
    fail_unless_equals_int (gst_vkgdr_policy_get (sim_get_policy (sim, 0)),
        GST_VKGDR_ACCESS_STAGED);
    sim_free (sim);
  }
}
GST_END_TEST;

/* A writer begins to read what it writes. */
GST_START_TEST (test_change_for_the_worse)
{
  static const SimMachine machine = { 34, 18, 45, 9 };
  const SimStream stream = { .size = FRAME_4K,
    .noise = 0.05,
    .change_time = 10 * GST_SECOND,
    .changed_direct_rate = 0.06 };
  Sim *sim = sim_new (&machine, &stream, 1, SIM_AUTO, 0);

  sim_run (sim, 10 * GST_SECOND);
  fail_unless_equals_int (
      gst_vkgdr_policy_get (sim_get_policy (sim, 0)), GST_VKGDR_ACCESS_DIRECT);
  sim_run (sim, GST_SECOND);
  fail_unless_equals_int (
      gst_vkgdr_policy_get (sim_get_policy (sim, 0)), GST_VKGDR_ACCESS_STAGED);
  fail_unless (sim_rate (sim_run (sim, 20 * GST_SECOND))
               >= TARGET * machine.staged_thread);
  sim_free (sim);
}
GST_END_TEST;

/* Direct access becomes slower while the pool is in use. */
GST_START_TEST (test_gradual_change)
{
  static const SimMachine machine = { 34, 18, 45, 12 };
  const SimStream stream = { .size = FRAME_4K,
    .noise = 0.05,
    .change_time = 10 * GST_SECOND,
    .changed_direct_rate = 6 };
  Sim *sim = sim_new (&machine, &stream, 1, SIM_AUTO, 0);
  gdouble rate;

  sim_run (sim, 10 * GST_SECOND);
  fail_unless_equals_int (
      gst_vkgdr_policy_get (sim_get_policy (sim, 0)), GST_VKGDR_ACCESS_DIRECT);
  sim_run (sim, CONVERGENCE);
  rate = sim_rate (sim_run (sim, 20 * GST_SECOND));
  fail_unless (rate >= TARGET * machine.staged_thread, "%g GB/s", rate);
  sim_free (sim);
}
GST_END_TEST;

/* --- several pools ------------------------------------------------------- */

static void
check_machine (const SimMachine *machine, gdouble noise)
{
  static const guint numbers[] = { 1, 2, 3, 4, 8, 16 };
  SimStream streams[SIM_MAX_STREAMS];
  guint i;

  for (i = 0; i < G_N_ELEMENTS (numbers); i++) {
    fill_streams (
        streams, numbers[i], (SimStream){ .size = FRAME_4K, .noise = noise });
    check_against_best (machine, streams, numbers[i], 10 * GST_SECOND);
  }
}

GST_START_TEST (test_mix_of_plain_writers)
{
  check_machine (&plain, 0);
  check_machine (&plain, 0.1);
}
GST_END_TEST;

GST_START_TEST (test_mix_of_copying_writers)
{
  check_machine (&copying, 0);
  check_machine (&copying, 0.1);
}
GST_END_TEST;

/* On these machines, either all or no writers should write directly. */
GST_START_TEST (test_all_or_none)
{
  static const SimMachine machines[] = { { 34, 18, 20, 2, 34 },
    { 10, 2, 48, 17, 48 } };
  guint i;

  for (i = 0; i < G_N_ELEMENTS (machines); i++)
    check_machine (&machines[i], 0.05);
}
GST_END_TEST;

/* A stream that has changed to staged access is slow for a while. So the best
 * number of direct writers, which is 0, looks bad while other numbers are
 * tried. */
GST_START_TEST (test_changes_have_a_cost)
{
  static const SimMachine machine = { 33.6, 4.2, 53, 6.6, 54 };
  static const guint numbers[] = { 2, 4, 8, 16 };
  SimStream streams[SIM_MAX_STREAMS];
  guint i;

  for (i = 0; i < G_N_ELEMENTS (numbers); i++) {
    fill_streams (streams, numbers[i],
        (SimStream){
            .size = FRAME_4K, .noise = 0.05, .slow_for = 80 * GST_MSECOND });
    check_against_best (&machine, streams, numbers[i], 20 * GST_SECOND);
  }
}
GST_END_TEST;

/* Streams begin one after the other, as pipelines do. */
GST_START_TEST (test_streams_that_begin_later)
{
  SimStream streams[SIM_MAX_STREAMS];
  gdouble best;
  Sim *sim;
  guint i;

  fill_streams (streams, 8, (SimStream){ .size = FRAME_4K, .noise = 0.05 });
  best = best_rate (&plain, streams, 8, 1, 5 * GST_SECOND);
  for (i = 0; i < 8; i++)
    streams[i].start = i * 300 * GST_MSECOND;
  sim = sim_new (&plain, streams, 8, SIM_AUTO, 0);
  sim_run (sim, 5 * GST_SECOND);
  fail_unless (sim_rate (sim_run (sim, 20 * GST_SECOND)) >= TARGET * best);
  sim_free (sim);
}
GST_END_TEST;

/* A writer that also reads does not prevent direct access of the others, and is
 * not slowed by their measurements. */
GST_START_TEST (test_one_of_four_reads)
{
  static const SimMachine machine = { 34, 9, 60, 4 };
  SimStream streams[SIM_MAX_STREAMS];
  gdouble best;
  Run result;

  fill_streams (streams, 4, (SimStream){ .size = FRAME_4K, .noise = 0.05 });
  streams[3].direct_rate = 0.06;
  best =
      sim_rate (run (&machine, streams, 4, SIM_FIXED, 3, 20 * GST_SECOND).rest);
  result = run (&machine, streams, 4, SIM_AUTO, 0, 20 * GST_SECOND);
  fail_unless (sim_rate (result.rest) >= TARGET * best, "%g of %g",
      sim_rate (result.rest), best);
}
GST_END_TEST;

/* A live source does not make the measurements of a fast source wrong. */
GST_START_TEST (test_live_source_beside_a_fast_one)
{
  static const SimMachine machine = { 34, 18, 45, 9 };
  const SimStream streams[] = { { .size = FRAME_4K, .noise = 0.05 },
    { .size = FRAME_1080P, .period = GST_SECOND / 30 } };

  check_against_best (&machine, streams, 2, 20 * GST_SECOND);
}
GST_END_TEST;

/* A rate that rises up to @peak direct writers, and falls with more of them. */
static gdouble
rate_with_peak (guint n_direct, guint peak, guint n)
{
  gint distance = (gint) n_direct - (gint) peak;

  return 50 - (distance < 0 ? -20. * distance : 14. * distance) / n;
}

/* Wherever the peak is, the search ends near it, and does not take long. */
GST_START_TEST (test_search_finds_any_peak)
{
  GRand *random = g_rand_new_with_seed (7);
  guint n, peak, i;

  for (n = 1; n <= SIM_MAX_STREAMS; n++)
    for (peak = 0; peak <= n; peak++) {
      GstVkgdrPolicySearch search;
      gdouble rate;

      gst_vkgdr_policy_search_start (&search, n, n, FALSE, TRUE);
      for (i = 0; search.stage != GST_VKGDR_POLICY_OVER; i++) {
        gdouble noise = 1 + g_rand_double_range (random, -0.005, 0.005);
        GstVkgdrPolicyScore score = { 0, n };

        rate = rate_with_peak (gst_vkgdr_policy_search_get (&search), peak, n);
        score.rate = rate * noise;
        fail_unless (i < 45);
        gst_vkgdr_policy_search_add (&search, score);
      }
      rate = rate_with_peak (gst_vkgdr_policy_search_get (&search), peak, n);
      fail_unless (rate >= TARGET * 50, "%u writers, best %u: found %u", n,
          peak, gst_vkgdr_policy_search_get (&search));
    }
  g_rand_free (random);
}
GST_END_TEST;

/* Both modes have the same score. The preferred mode then depends on whether
 * the writers are busy, and on whether staged access is cheaper. */
GST_START_TEST (test_search_with_equal_scores)
{
  static const struct {
    gdouble load; /* of one writer */
    gboolean staged_is_cheaper;
    gboolean is_direct;
  } cases[] = { { 1, TRUE, TRUE }, { 0.7, TRUE, FALSE }, { 0.7, FALSE, TRUE } };
  guint n, k;

  for (n = 1; n <= 8; n++)
    for (k = 0; k < G_N_ELEMENTS (cases); k++) {
      GstVkgdrPolicyScore score = { 10, cases[k].load * n };
      GstVkgdrPolicySearch search;

      gst_vkgdr_policy_search_start (
          &search, n, n, FALSE, cases[k].staged_is_cheaper);
      while (search.stage != GST_VKGDR_POLICY_OVER)
        gst_vkgdr_policy_search_add (&search, score);
      fail_unless_equals_int (
          gst_vkgdr_policy_search_get (&search), cases[k].is_direct ? n : 0);
    }
}
GST_END_TEST;

/* The last stage takes long. So it is left out if the alternatives (no direct
 * writers, and direct writers only) have much worse scores, or if the best
 * number is the result of the previous search. */
GST_START_TEST (test_search_compares_rivals)
{
  static const struct {
    GstVkgdrPolicyScore none;
    GstVkgdrPolicyScore all;
    gboolean is_result;
    gboolean compares;
  } cases[] = { { { 9, 1 }, { 10, 1 }, FALSE, TRUE },
    { { 9, 1 }, { 10, 1 }, TRUE, FALSE }, { { 10, 1 }, { 9, 1 }, TRUE, TRUE },
    { { 5, 1 }, { 10, 1 }, FALSE, FALSE },
    { { 10, 0.7 }, { 10, 0.3 }, FALSE, FALSE } };
  guint i;

  for (i = 0; i < G_N_ELEMENTS (cases); i++) {
    GstVkgdrPolicySearch search;
    gboolean compares = FALSE;

    gst_vkgdr_policy_search_start (&search, 1, 1, cases[i].is_result, TRUE);
    while (search.stage != GST_VKGDR_POLICY_OVER) {
      compares |= search.stage == GST_VKGDR_POLICY_COMPARING;
      gst_vkgdr_policy_search_add (
          &search, gst_vkgdr_policy_search_get (&search) == 0 ? cases[i].none
                                                              : cases[i].all);
    }
    fail_unless_equals_int (compares, cases[i].compares);
  }
}
GST_END_TEST;

/* --- particulars --------------------------------------------------------- */

GST_START_TEST (test_fixed_mode_is_used)
{
  GstVkgdrPolicyGroup *group = gst_vkgdr_policy_group_new (FALSE);
  GstVkgdrPolicy *policy = gst_vkgdr_policy_new (group);
  static const GstVkgdrAccess wanted[] = { GST_VKGDR_ACCESS_DIRECT,
    GST_VKGDR_ACCESS_STAGED };
  GstVkgdrPolicyTurn turn = { NULL };
  guint i, k;

  for (k = 0; k < G_N_ELEMENTS (wanted); k++) {
    gst_vkgdr_policy_set (policy, wanted[k]);
    for (i = 0; i < 200; i++) {
      fail_unless_equals_int (
          gst_vkgdr_policy_next (policy, &turn, 1000, i * GST_MSECOND, 0),
          wanted[k]);
      gst_vkgdr_policy_report (
          &turn, wanted[k], &(GstVkgdrWork){ .time = GST_MSECOND });
    }
    fail_unless_equals_int (gst_vkgdr_policy_get (policy), wanted[k]);
  }
  gst_vkgdr_policy_turn_clear (&turn);
  gst_vkgdr_policy_unref (policy);
  gst_vkgdr_policy_group_unref (group);
}
GST_END_TEST;

/* A buffer that is acquired but never written must not count as in flight. */
GST_START_TEST (test_unwritten_buffers)
{
  static const SimMachine machine = { 34, 18, 45, 9 };
  const SimStream stream = { .size = FRAME_4K };
  Sim *sim = sim_new (&machine, &stream, 1, SIM_AUTO, 0);
  GstVkgdrPolicyTurn turn = { NULL };
  guint i;

  for (i = 0; i < 20; i++) {
    gst_vkgdr_policy_next (sim_get_policy (sim, 0), &turn, FRAME_4K, i, 0);
    gst_vkgdr_policy_cancel (&turn);
  }
  gst_vkgdr_policy_turn_clear (&turn);
  sim_run (sim, CONVERGENCE);
  fail_unless_equals_int (
      gst_vkgdr_policy_get (sim_get_policy (sim, 0)), GST_VKGDR_ACCESS_DIRECT);
  sim_free (sim);
}
GST_END_TEST;

/* A cached window is measured, too. Neither mode is chosen without a
 * measurement. */
GST_START_TEST (test_cached_window_is_measured)
{
  static const GstClockTime times[][2] = { { 1000, 3000 }, { 3000, 1000 } };
  guint k;

  for (k = 0; k < G_N_ELEMENTS (times); k++) {
    GstVkgdrPolicyGroup *group = gst_vkgdr_policy_group_new (TRUE);
    GstVkgdrPolicy *policy = gst_vkgdr_policy_new (group);
    GstVkgdrPolicyTurn turn = { NULL };
    GstClockTime now = 0;

    fail_unless_equals_int (
        gst_vkgdr_policy_get (policy), GST_VKGDR_ACCESS_DIRECT);
    while (now < CONVERGENCE) {
      GstVkgdrAccess access =
          gst_vkgdr_policy_next (policy, &turn, 1000, now, 0);
      GstClockTime time =
          times[k][access == GST_VKGDR_ACCESS_STAGED] * GST_USECOND;

      gst_vkgdr_policy_report (&turn, access, &(GstVkgdrWork){ .time = time });
      now += time;
    }
    fail_unless_equals_int (gst_vkgdr_policy_get (policy),
        k == 0 ? GST_VKGDR_ACCESS_DIRECT : GST_VKGDR_ACCESS_STAGED);
    gst_vkgdr_policy_turn_clear (&turn);
    gst_vkgdr_policy_unref (policy);
    gst_vkgdr_policy_group_unref (group);
  }
}
GST_END_TEST;

/* --- writers that wait for other elements -------------------------------- */

#define WRITE_TIME (9. * GST_MSECOND) /* to write a frame */
#define OTHER_TIME (3. * GST_MSECOND) /* for other work */

/* A thread of a live source whose frames come at varying rates: some are
 * absent. It writes a buffer while it waits for data. Returns the part of the
 * frames that had direct access. @direct_time: the time to write a frame with
 * direct access, in units of WRITE_TIME. */
static gdouble
run_idle_thread (gdouble direct_time, GstVkgdrAccess *settled)
{
  GstVkgdrPolicyGroup *group = gst_vkgdr_policy_group_new (FALSE);
  GstVkgdrPolicy *policy = gst_vkgdr_policy_new (group);
  GstVkgdrPolicyTurn turn = { NULL };
  GstVkgdrWork work = { .thread = g_thread_self () };
  GRand *random = g_rand_new_with_seed (3);
  guint n = 0, n_direct = 0;
  gdouble part = 0;

  while (work.end < 60 * GST_SECOND) {
    GstVkgdrAccess access =
        gst_vkgdr_policy_next (policy, &turn, 1920 * 1080 * 2, work.end, 0);
    gboolean is_direct = access == GST_VKGDR_ACCESS_DIRECT;

    if (n % 200 == 0)
      part = g_rand_double (random) / 2;
    work.time = WRITE_TIME * (is_direct ? direct_time : 1)
                * g_rand_double_range (random, 0.95, 1.05);
    work.cpu += work.time + OTHER_TIME;
    do
      work.end += GST_SECOND / 60;
    while (g_rand_double (random) < part);
    gst_vkgdr_policy_report (&turn, access, &work);
    n_direct += is_direct;
    n++;
  }
  *settled = gst_vkgdr_policy_get (policy);
  gst_vkgdr_policy_turn_clear (&turn);
  gst_vkgdr_policy_unref (policy);
  gst_vkgdr_policy_group_unref (group);
  g_rand_free (random);
  return (gdouble) n_direct / n;
}

/* The choice must depend only on the processor time, and not on the rate of
 * such a source. */
GST_START_TEST (test_rate_of_others)
{
  GstVkgdrAccess settled;
  gdouble part = run_idle_thread (1.05, &settled);

  fail_unless_equals_int (settled, GST_VKGDR_ACCESS_STAGED);
  fail_unless (part < 0.1, "%g of the frames have direct access", part);
  part = run_idle_thread (0.95, &settled);
  fail_unless_equals_int (settled, GST_VKGDR_ACCESS_STAGED);
  fail_unless (part < 0.1, "%g of the frames have direct access", part);
  part = run_idle_thread (0.6, &settled);
  fail_unless_equals_int (settled, GST_VKGDR_ACCESS_DIRECT);
  fail_unless (part > 0.9, "%g of the frames have direct access", part);
}
GST_END_TEST;

/* --- the time of a writer ------------------------------------------------- */

#define WORK (20 * G_TIME_SPAN_MILLISECOND)
#define SLEEP (300 * G_TIME_SPAN_MILLISECOND)

/* Uses the processor for the time WORK, and sleeps for the time SLEEP. */
static void
work_and_sleep (void)
{
  gint64 end = test_cpu_time () + WORK;

  while (test_cpu_time () < end)
    ;
  g_usleep (SLEEP);
}

typedef struct {
  GstVkgdrWorkStart start;
  GstVkgdrWork work;
} Measurement;

static gpointer
end_work (gpointer user_data)
{
  Measurement *measurement = user_data;

  measurement->work =
      gst_vkgdr_work_end (&measurement->start, gst_util_get_timestamp ());
  return NULL;
}

/* Returns the measured time in microseconds. */
static gint64
measure_work (gboolean with_processor_time, gboolean end_in_thread)
{
  Measurement m;

  gst_vkgdr_work_start (
      &m.start, gst_util_get_timestamp (), with_processor_time);
  work_and_sleep ();
  if (end_in_thread)
    g_thread_join (g_thread_new ("end", end_work, &m));
  else
    end_work (&m);
  fail_unless (m.work.end >= m.start.time + 1000 * (WORK + SLEEP));
  fail_unless_equals_int (
      m.work.thread != NULL, with_processor_time && !end_in_thread);
  return m.work.time / 1000;
}

GST_START_TEST (test_work_time)
{
  gint64 time = measure_work (TRUE, FALSE);

  fail_unless (time >= WORK, "%" G_GINT64_FORMAT " us", time);
  fail_unless (time < WORK + SLEEP, "%" G_GINT64_FORMAT " us", time);
  time = measure_work (FALSE, FALSE);
  fail_unless (time >= WORK + SLEEP, "%" G_GINT64_FORMAT " us", time);
  time = measure_work (TRUE, TRUE);
  fail_unless (time >= WORK + SLEEP, "%" G_GINT64_FORMAT " us", time);
}
GST_END_TEST;

static Suite *
policy_suite (void)
{
  Suite *s = suite_create ("policy");
  TCase *one = tcase_create ("one"), *many = tcase_create ("many");
  TCase *particulars = tcase_create ("particulars");

  tcase_set_timeout (one, 60);
  tcase_add_test (one, test_one_plain_writer);
  tcase_add_test (one, test_equal_modes_end_up_direct);
  tcase_add_test (one, test_writer_that_reads);
  tcase_add_test (one, test_tiny_frames);
  tcase_add_test (one, test_frame_threads);
  tcase_add_test (one, test_frame_threads_that_read);
  tcase_add_test (one, test_readwrite_now_and_then);
  tcase_add_test (one, test_readwrite_always);
  tcase_add_test (one, test_stalls);
  tcase_add_test (one, test_live_source);
  tcase_add_test (one, test_live_source_in_pieces);
  tcase_add_test (one, test_change_for_the_worse);
  tcase_add_test (one, test_gradual_change);
  suite_add_tcase (s, one);

  tcase_set_timeout (many, 60);
  tcase_add_test (many, test_mix_of_plain_writers);
  tcase_add_test (many, test_mix_of_copying_writers);
  tcase_add_test (many, test_all_or_none);
  tcase_add_test (many, test_changes_have_a_cost);
  tcase_add_test (many, test_streams_that_begin_later);
  tcase_add_test (many, test_one_of_four_reads);
  tcase_add_test (many, test_live_source_beside_a_fast_one);
  tcase_add_test (many, test_search_finds_any_peak);
  tcase_add_test (many, test_search_with_equal_scores);
  tcase_add_test (many, test_search_compares_rivals);
  suite_add_tcase (s, many);

  tcase_add_test (particulars, test_fixed_mode_is_used);
  tcase_add_test (particulars, test_unwritten_buffers);
  tcase_add_test (particulars, test_cached_window_is_measured);
  tcase_add_test (particulars, test_rate_of_others);
  tcase_add_test (particulars, test_work_time);
  suite_add_tcase (s, particulars);
  return s;
}

GST_CHECK_MAIN (policy);
