/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * calls.c: how many calls of the driver a filter makes for each frame
 *
 * On a GPU, each call takes up to some microseconds, which is as long as the
 * kernel of a small frame takes. The software device counts the calls.
 */

#include "gate.h"

#define CAPS \
  "video/x-raw(memory:VkgdrMemory),format=RGBA,width=64,height=64," \
  "framerate=30/1"

/* The number of frames whose calls are counted, and the number of frames before
 * them. For the first frames, a filter makes more calls, because it creates its
 * events and takes measurements. */
#define FRAMES 64
#define FIRST_FRAMES 64

/* The largest number of additional calls of a function that a filter makes for
 * all FRAMES frames together. */
#define SELDOM (FRAMES / 4)

static const gchar *const names[] = { "cuLaunchKernel", "cuEventRecord",
  "cuStreamWaitEvent", "cuEventQuery", "cuCtxPushCurrent" };

enum { LAUNCH, RECORD, WAIT, QUERY, PUSH, N_NAMES };

static void
add_counts (gulong *counts, gint sign)
{
  guint i;

  for (i = 0; i < N_NAMES; i++)
    counts[i] += sign * test_count_calls (names[i]);
}

/* How often a filter calls each function for a frame; -1: any number. */
static const struct {
  const gchar *launch;
  guint n_filters;
  gint calls[N_NAMES];
} lines[] = {
  /* Each launch has one event, for its time limit and for the order of input
   * and output. Nothing queries it unless something waits. */
  { "cudafilter kernel=copy kernel-timeout=10000", 1, { 1, 1, 0, 0, 1 } },
  { "cudafilter kernel=blur kernel-timeout=10000", 1, { 1, 1, 0, 0, 1 } },
  { "cudafilter kernel=copy kernel-timeout=0", 1, { 1, 1, -1, -1, 1 } },
  /* Each filter has a stream, and waits for the one in front of it. */
  { "cudafilter ! cudafilter ! cudafilter ! cudafilter kernel-timeout=10000", 4,
      { 4, 4, -1, -1, 4 } },
};

/* Apart from @wanted calls for each frame, each filter makes a few additional
 * ones. Queries and pushes may be fewer. The thread sanitizer makes a frame so
 * slow that what a filter does from time to time happens for nearly each frame:
 * it measures the time of a frame, with two events. */
static void
assert_calls (guint name, gulong calls, guint wanted, guint filters)
{
  gulong min = name == QUERY || name == PUSH ? 0 : wanted * FRAMES;
  gulong few = name == LAUNCH    ? 0
               : test_is_slow () ? 2 * filters * MAX (wanted, 1) * FRAMES
                                 : filters * SELDOM;

  fail_unless (calls >= min && calls <= wanted * FRAMES + few,
      "%s: %lu calls for %u frames, not %u for each", names[name], calls,
      FRAMES, wanted);
}

TEST_REQUIRE (test_require_software);

TEST_PARALLEL (2);

TEST_FIXTURE (test_setup, test_teardown);

/* Pushes a frame, and takes the output as the next input. */
TEST_LOOP (filters, G_N_ELEMENTS (lines))
{
  GstBufferPool *pool = test_pool_new (CAPS, 64 * 64 * 4, 1, 0);
  g_autoptr (GstHarness) h = test_harness_parse (lines[__i__].launch);
  g_autoptr (GstBuffer) frame = test_pool_acquire (pool);
  gulong counts[N_NAMES];
  guint i;

  test_pool_free (pool);
  gst_harness_set_src_caps_str (h, CAPS);
  for (i = 0; i < FIRST_FRAMES + FRAMES; i++) {
    if (i == FIRST_FRAMES)
      memset (counts, 0, sizeof (counts));
    add_counts (counts, -1);
    frame = gst_harness_push_and_pull (h, frame);
    add_counts (counts, 1);
    /* The frame is idle, as it would be with a pool and a device that is fast
     * enough. */
    fail_unless (gst_vkgdr_context_synchronize (test_context, NULL));
    fail_unless (gst_vkgdr_memory_is_idle (gst_buffer_peek_memory (frame, 0)));
  }
  for (i = 0; i < N_NAMES; i++)
    if (lines[__i__].calls[i] >= 0)
      assert_calls (
          i, counts[i], lines[__i__].calls[i], lines[__i__].n_filters);
}

#define BUSY 8

/* The pool looks for an idle buffer. One stream uses all the others, so if one
 * of its fences is not reached, the others are not queried. */
TEST (busy_buffers_are_queried_once)
{
  GstBufferPool *pool = test_pool_new (NULL, 100, BUSY + 1, 0);
  g_autoptr (GstVkgdrStream) stream = test_stream_new (test_context);
  GstBuffer *buffers[BUSY + 1];
  gulong n_queries;
  guint i;

  for (i = 0; i <= BUSY; i++)
    buffers[i] = test_pool_acquire (pool);
  for (i = 0; i < BUSY; i++) {
    test_gate_access (gst_buffer_peek_memory (buffers[i], 0), stream,
        i % 2 ? GST_MAP_READ : GST_MAP_WRITE, 0, NULL);
    gst_buffer_unref (buffers[i]);
  }
  gst_buffer_unref (buffers[BUSY]);
  n_queries = test_count_calls ("cuEventQuery");
  gst_buffer_unref (test_pool_acquire (pool));
  fail_unless_equals_int (test_count_calls ("cuEventQuery") - n_queries, 1);
  fail_if (test_gate_was_missed ());
  test_gate_set (TRUE);
  test_pool_free (pool);
}

/* The first query of an event after it was reached takes as long as half a
 * launch, too. All frames before one that is known to be reached need none. */
TEST (reached_frames_are_not_queried)
{
  GstBufferPool *pool = test_pool_new (CAPS, 64 * 64 * 4, BUSY, 0);
  g_autoptr (GstHarness) h = test_harness_parse (lines[0].launch);
  GstBuffer *frames[BUSY];
  gulong n_queries;
  guint i;

  gst_harness_set_src_caps_str (h, CAPS);
  for (i = 0; i < BUSY; i++)
    frames[i] = gst_harness_push_and_pull (h, test_pool_acquire (pool));
  test_pool_free (pool);
  fail_unless (gst_vkgdr_context_synchronize (test_context, NULL));
  n_queries = test_count_calls ("cuEventQuery");
  for (i = 0; i < BUSY; i++) {
    fail_unless (
        gst_vkgdr_memory_is_idle (gst_buffer_peek_memory (frames[i], 0)));
    gst_buffer_unref (frames[i]);
  }
  fail_unless (test_count_calls ("cuEventQuery") - n_queries <= 2);
}

/* No frame that was sent to the device is there yet. A new frame needs one
 * query: all others are behind the one that is queried. */
TEST (pending_transfers_are_queried_once)
{
  GstBufferPool *pool = test_pool_new (NULL, 100, BUSY, 0);
  GstBuffer *buffers[BUSY];
  gulong n_queries = 0;
  guint i;

  g_object_set (pool, "access", GST_VKGDR_ACCESS_STAGED, NULL);
  for (i = 0; i < BUSY; i++)
    buffers[i] = test_pool_acquire (pool);
  test_gate_transfers ();
  for (i = 0; i < BUSY; i++) {
    if (i == 1)
      n_queries = test_count_calls ("cuEventQuery");
    test_write (gst_buffer_peek_memory (buffers[i], 0), i);
  }
  fail_unless_equals_int (
      test_count_calls ("cuEventQuery") - n_queries, BUSY - 1);
  fail_if (test_gate_was_missed ());
  test_gate_set (TRUE);
  for (i = 0; i < BUSY; i++)
    gst_buffer_unref (buffers[i]);
  test_pool_free (pool);
}
