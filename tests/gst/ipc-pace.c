/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * ipc-pace.c: tests of gst/ipc/pace.h
 */

#include <gst/check/gstcheck.h>

#include "../../gst/ipc/pace.h"

/* Microseconds. */
#define INTERVAL 16000
#define MARGIN 1000
#define START 5000000

/* Adds @n frames that came every INTERVAL, the first one at START. Returns the
 * time of the last one. */
static gint64
add_frames (GstVkgdrIpcPace *pace, guint n)
{
  gint64 now = START;
  guint i;

  for (i = 0; i < n; i++)
    gst_vkgdr_ipc_pace_add (pace, now = START + i * INTERVAL);
  return now;
}

static void
assert_sleep (
    const GstVkgdrIpcPace *pace, gint64 now, guint margin, gint64 expected)
{
  gint64 sleep = gst_vkgdr_ipc_pace_get_sleep (pace, now, margin);

  fail_unless (sleep == expected,
      "%" G_GINT64_FORMAT " us, not %" G_GINT64_FORMAT, sleep, expected);
}

GST_START_TEST (test_around_a_frame)
{
  GstVkgdrIpcPace pace = { 0 };
  gint64 last = add_frames (&pace, 10), next = last + INTERVAL;

  assert_sleep (&pace, last, MARGIN, INTERVAL - MARGIN);
  assert_sleep (&pace, last + 5000, MARGIN, INTERVAL - MARGIN - 5000);
  assert_sleep (&pace, next - MARGIN, MARGIN, 0);
  assert_sleep (&pace, next, MARGIN, 0);
  assert_sleep (&pace, next + MARGIN, MARGIN, 0);
  assert_sleep (&pace, next + MARGIN + 1, MARGIN, -1);
}
GST_END_TEST

GST_START_TEST (test_margin_longer_than_interval)
{
  GstVkgdrIpcPace pace = { 0 };
  gint64 last = add_frames (&pace, 2);

  assert_sleep (&pace, last, 2 * INTERVAL, 0);
  assert_sleep (&pace, last + 3 * INTERVAL, 2 * INTERVAL, 0);
  assert_sleep (&pace, last + 3 * INTERVAL + 1, 2 * INTERVAL, -1);
}
GST_END_TEST

/* Without a margin, and before there is an interval. */
GST_START_TEST (test_always_sleeps)
{
  GstVkgdrIpcPace pace = { 0 };
  gint64 last;

  assert_sleep (&pace, START, MARGIN, -1);
  last = add_frames (&pace, 1);
  assert_sleep (&pace, last + INTERVAL, MARGIN, -1);
  last = add_frames (&pace, 10);
  assert_sleep (&pace, last + INTERVAL, 0, -1);
}
GST_END_TEST

/* A single frame that did not come does not change the interval. A slower
 * stream changes it as soon as the shorter intervals are not stored any
 * more. */
GST_START_TEST (test_changes)
{
  GstVkgdrIpcPace pace = { 0 };
  gint64 last = add_frames (&pace, 10);
  guint i;

  gst_vkgdr_ipc_pace_add (&pace, last += 2 * INTERVAL);
  assert_sleep (&pace, last, MARGIN, INTERVAL - MARGIN);
  for (i = 1; i < GST_VKGDR_IPC_PACE_INTERVALS; i++)
    gst_vkgdr_ipc_pace_add (&pace, last += 2 * INTERVAL);
  assert_sleep (&pace, last, MARGIN, 2 * INTERVAL - MARGIN);
  gst_vkgdr_ipc_pace_add (&pace, last += INTERVAL);
  assert_sleep (&pace, last, MARGIN, INTERVAL - MARGIN);
}
GST_END_TEST

static Suite *
ipc_pace_suite (void)
{
  Suite *suite = suite_create ("ipc-pace");
  TCase *tc = tcase_create ("general");

  suite_add_tcase (suite, tc);
  tcase_add_test (tc, test_around_a_frame);
  tcase_add_test (tc, test_margin_longer_than_interval);
  tcase_add_test (tc, test_always_sleeps);
  tcase_add_test (tc, test_changes);
  return suite;
}

GST_CHECK_MAIN (ipc_pace);
