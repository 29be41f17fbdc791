/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * policy.c: tests of the four rules of access=auto (memory/policy.h)
 *
 * Time is simulated: a writer says how long it needs for a buffer.
 */

#include "memory/policy.h"
#include "util.h"

#define DIRECT GST_VKGDR_ACCESS_DIRECT
#define STAGED GST_VKGDR_ACCESS_STAGED

/* A pool and its writer. */
typedef struct {
  GstVkgdrPolicy *policy;
  GstVkgdrPolicyTurn turn;
  GstClockTime direct_time; /* to write a buffer */
  GstClockTime staged_time;
  gdouble busy; /* the part of the time for which its thread uses the processor;
                 * 0: not measured */
  gboolean reads;      /* maps for reading, too */
  GstClockTime waited; /* for the device, before each buffer */
  GstClockTime cpu;
} Writer;

static GstClockTime now;

static Writer
writer_new (GstClockTime direct_time)
{
  return (Writer){ .policy = gst_vkgdr_policy_new (0, FALSE),
    .direct_time = direct_time,
    .staged_time = GST_MSECOND };
}

static void
writer_clear (Writer *self)
{
  gst_vkgdr_policy_turn_clear (&self->turn);
  gst_vkgdr_policy_unref (self->policy);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Writer, writer_clear)

/* Writes the buffer of @turn. Returns the access mode that the policy has
 * chosen. */
static GstVkgdrAccess
write_turn (Writer *self, GstVkgdrPolicyTurn *turn)
{
  GstVkgdrAccess access = gst_vkgdr_policy_turn_map (turn, TRUE, now);
  gboolean is_staged;
  GstVkgdrWork work = { 0 };

  is_staged = access == STAGED || self->reads;
  work.time = is_staged ? self->staged_time : self->direct_time;
  work.end = now += work.time;
  if (self->busy > 0) {
    work.thread = g_thread_self ();
    work.cpu = self->cpu += self->busy * work.time;
  }
  gst_vkgdr_policy_turn_end (turn, is_staged ? STAGED : access, &work);
  return access;
}

static GstVkgdrAccess
write_buffer (Writer *self)
{
  now += self->waited;
  gst_vkgdr_policy_turn_begin (&self->turn, self->policy, self->waited);
  return write_turn (self, &self->turn);
}

/* Returns how many of @n buffers were direct. */
static guint
write_buffers (Writer *self, guint n)
{
  guint n_direct = 0;

  while (n-- > 0)
    n_direct += write_buffer (self) == DIRECT;
  return n_direct;
}

#define check_access(writer, access) \
  fail_unless_equals_int (gst_vkgdr_policy_get ((writer)->policy), access)

/* --- rules 1 to 3 --------------------------------------------------------- */

/* Writers, and the access mode that they get. */
static const struct {
  GstClockTime direct_time, staged_time; /* microseconds */
  gdouble busy;
  guint reads;  /* one buffer in so many is mapped for reading, too */
  guint waited; /* microseconds for which the device is waited for */
  guint n_buffers;
  GstVkgdrAccess access;
} kinds[] = {
  /* A pool starts staged. */
  { 1000, 1000, 0, 0, 0, 2, STAGED },
  /* A plain writer, also if it is somewhat slower in the window. */
  { 1000, 1000, 0, 0, 0, 1000, DIRECT },
  { 7000, 1000, 0, 0, 0, 1000, DIRECT },
  /* A direct buffer of a few KiB may take far longer than a staged one, which
   * is written to the CPU's cache. */
  { 15, 1, 0, 0, 0, 100, DIRECT },
  /* The writer reads what it writes, or does so now and then. */
  { 100000, 1000, 0, 0, 0, 1000, STAGED },
  { 1000, 1000, 0, 1, 0, 100, STAGED },
  { 1000, 1000, 0, 5, 0, 200, DIRECT },
  /* The writer waits for others, or for the device, which does not count. */
  { 1000, 1000, 0.8, 0, 0, 100, STAGED },
  { 1000, 1000, 0.9, 0, 0, 100, DIRECT },
  { 1000, 1000, 0.9, 0, 1000, 100, DIRECT },
};

TEST_LOOP (kinds_of_writers, G_N_ELEMENTS (kinds))
{
  g_auto (Writer) writer = writer_new (kinds[__i__].direct_time * GST_USECOND);
  guint i;

  check_access (&writer, STAGED);
  writer.staged_time = kinds[__i__].staged_time * GST_USECOND;
  writer.busy = kinds[__i__].busy;
  writer.waited = kinds[__i__].waited * GST_USECOND;
  for (i = 0; i < kinds[__i__].n_buffers; i++) {
    writer.reads = kinds[__i__].reads && i % kinds[__i__].reads == 0;
    write_buffer (&writer);
  }
  check_access (&writer, kinds[__i__].access);
}

/* A writer that reads gets two direct buffers, and two more after 10, 20, 40,
 * ... seconds. */
TEST (writer_that_reads)
{
  g_auto (Writer) writer = writer_new (100 * GST_MSECOND);
  GstClockTime pause;

  fail_unless_equals_int (write_buffers (&writer, 1000), 2);
  check_access (&writer, STAGED);
  for (pause = 10 * GST_SECOND; pause < 100 * GST_SECOND; pause *= 2) {
    GstClockTime decided = now - 982 * GST_MSECOND;

    now = decided + pause - 100 * GST_MSECOND;
    fail_unless_equals_int (write_buffers (&writer, 90), 0);
    now = decided + pause;
    fail_unless_equals_int (write_buffers (&writer, 984), 2);
    check_access (&writer, STAGED);
  }
}

/* A writer that lags gets many buffers before it writes to the first one. When
 * it is found to read what it writes, all of these are staged, too. */
TEST (writer_that_lags)
{
  GstVkgdrPolicyTurn turns[8] = { { NULL } };
  g_auto (Writer) writer = writer_new (100 * GST_MSECOND);
  guint i, n_direct = write_buffers (&writer, 16);

  for (i = 0; i < G_N_ELEMENTS (turns); i++)
    gst_vkgdr_policy_turn_begin (&turns[i], writer.policy, 0);
  for (i = 0; i < G_N_ELEMENTS (turns); i++) {
    n_direct += write_turn (&writer, &turns[i]) == DIRECT;
    gst_vkgdr_policy_turn_clear (&turns[i]);
  }
  fail_unless_equals_int (n_direct, 2);
}

/* Two slow buffers in a row are found at any time. A single one is not. */
TEST (change_for_the_worse)
{
  g_auto (Writer) writer = writer_new (GST_MSECOND);
  guint i;

  for (i = 0; i < 200; i++) {
    writer.direct_time = (i % 10 == 5 ? 100 : 1) * GST_MSECOND;
    write_buffer (&writer);
  }
  check_access (&writer, DIRECT);
  writer.direct_time = 100 * GST_MSECOND;
  fail_unless_equals_int (write_buffers (&writer, 100), 2);
  check_access (&writer, STAGED);
}

/* Buffers that are never written, or whose mapping fails, decide nothing. */
TEST (unwritten_buffers)
{
  g_auto (Writer) writer = writer_new (GST_MSECOND);
  GstVkgdrPolicyTurn turn = { NULL };
  guint i;

  for (i = 0; i < 20; i++)
    gst_vkgdr_policy_turn_begin (&turn, writer.policy, 0);
  write_buffers (&writer, 16);
  for (i = 0; i < 20; i++) {
    gst_vkgdr_policy_turn_begin (&turn, writer.policy, 0);
    gst_vkgdr_policy_turn_map (&turn, TRUE, now);
  }
  gst_vkgdr_policy_turn_clear (&turn);
  write_buffers (&writer, 30);
  check_access (&writer, DIRECT);
}

/* --- rule 4 --------------------------------------------------------------- */

#define MANY 16

/* Up to three plain writers of a device are direct. Of more, the two oldest
 * are. The last writer is on another device. */
TEST_LOOP (many_plain_writers, 6)
{
  static const guint counts[] = { 1, 2, 3, 4, 8, MANY };
  guint n = counts[__i__], i, k, n_direct = n <= 3 ? n : 2;
  Writer writers[MANY + 1];

  for (i = 0; i <= n; i++)
    writers[i] = writer_new (GST_MSECOND);
  gst_vkgdr_policy_unref (writers[n].policy);
  writers[n].policy = gst_vkgdr_policy_new (1, FALSE);
  for (k = 0; k < 80; k++)
    for (i = 0; i <= n; i++)
      write_buffer (&writers[i]);
  for (i = 0; i <= n; i++) {
    check_access (&writers[i], i < n_direct || i == n ? DIRECT : STAGED);
    writer_clear (&writers[i]);
  }
}

/* Writers that read, wait, or have stopped leave their places to others. */
TEST (places_become_free)
{
  Writer writers[6];
  guint i, k;

  for (i = 0; i < 6; i++)
    writers[i] = writer_new (i == 0 ? 100 * GST_MSECOND : GST_MSECOND);
  writers[1].busy = 0.5;
  for (k = 0; k < 3000; k++)
    for (i = 0; i < 6; i++)
      write_buffer (&writers[i]);
  for (i = 0; i < 6; i++)
    check_access (&writers[i], i == 2 || i == 3 ? DIRECT : STAGED);
  now += 11 * GST_SECOND;
  for (k = 0; k < 10; k++)
    for (i = 3; i < 6; i++)
      write_buffer (&writers[i]);
  for (i = 0; i < 6; i++) {
    if (i >= 3)
      check_access (&writers[i], DIRECT);
    writer_clear (&writers[i]);
  }
}
