/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * calls.c: how many calls of the driver a filter makes for each frame
 *
 * On a GPU, each call takes up to some microseconds, which is as long as the
 * kernel of a small frame takes. The software device counts the calls. The
 * tests also check that the calls that a filter leaves out are not needed.
 */

#include <gst/check/gstharness.h>

#include "util.h"

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

static GstBuffer *
make_frame (GstVkgdrContext *context)
{
  GstBufferPool *pool = gst_vkgdr_buffer_pool_new (context);
  GstStructure *config = gst_buffer_pool_get_config (pool);
  GstCaps *caps = gst_caps_from_string (CAPS);
  GstBuffer *buffer = NULL;

  gst_buffer_pool_config_set_params (config, caps, 64 * 64 * 4, 1, 0);
  fail_unless (gst_buffer_pool_set_config (pool, config));
  fail_unless (gst_buffer_pool_set_active (pool, TRUE));
  fail_unless_equals_int (
      gst_buffer_pool_acquire_buffer (pool, &buffer, NULL), GST_FLOW_OK);
  gst_buffer_pool_set_active (pool, FALSE);
  gst_object_unref (pool);
  gst_caps_unref (caps);
  return buffer;
}

typedef struct {
  GstVkgdrContext *context;
  GstHarness *harness;
  GstBuffer *frame;
} Line;

static void
line_init (Line *line, const gchar *launch)
{
  GError *error = NULL;

  line->context = gst_vkgdr_context_new (-1, &error);
  fail_unless (line->context != NULL, "%s", error ? error->message : "");
  line->harness = gst_harness_new_parse (launch);
  gst_harness_set_src_caps_str (line->harness, CAPS);
  line->frame = make_frame (line->context);
}

static void
line_clear (Line *line)
{
  gst_buffer_unref (line->frame);
  gst_harness_teardown (line->harness);
  gst_object_unref (line->context);
}

static const gchar *const names[] = { "cuLaunchKernel", "cuGraphLaunch",
  "cuGraphExecKernelNodeSetParams", "cuEventRecord", "cuStreamWaitEvent",
  "cuCtxPushCurrent", "cuEventQuery", "*" };

enum { LAUNCH, GRAPH, PARAMS, RECORD, WAIT, PUSH, QUERY, ALL, N_NAMES };

static void
add_counts (gulong *counts, gint sign)
{
  guint i;

  for (i = 0; i < N_NAMES; i++)
    counts[i] += sign * test_count_calls (names[i]);
}

/* Pushes the frame, and takes the same frame from the output for the next
 * call. */
static void
push (Line *line)
{
  line->frame = gst_harness_push_and_pull (line->harness, line->frame);
  fail_unless (line->frame != NULL);
}

/* Pushes the frame while the test holds another reference to it, so that the
 * output is another frame. */
static void
push_apart (Line *line)
{
  gst_buffer_unref (
      gst_harness_push_and_pull (line->harness, gst_buffer_ref (line->frame)));
}

/* Makes the frame idle, as it would be with a pool and a device that is fast
 * enough. */
static void
wait_for_device (Line *line)
{
  GstMemory *memory = gst_buffer_peek_memory (line->frame, 0);
  GError *error = NULL;

  fail_unless (gst_vkgdr_context_synchronize (line->context, &error), "%s",
      error ? error->message : "");
  fail_unless (gst_vkgdr_memory_is_idle (memory));
}

static void
count_calls (const gchar *launch, void (*func) (Line *), gulong *counts)
{
  Line line;
  guint i;

  memset (counts, 0, N_NAMES * sizeof (*counts));
  line_init (&line, launch);
  for (i = 0; i < FIRST_FRAMES + FRAMES; i++) {
    if (i == FIRST_FRAMES)
      memset (counts, 0, N_NAMES * sizeof (*counts));
    add_counts (counts, -1);
    func (&line);
    add_counts (counts, 1);
    wait_for_device (&line);
  }
  for (i = 0; i < N_NAMES; i++)
    GST_INFO ("%s: %.2f a frame", names[i], (gdouble) counts[i] / FRAMES);
  line_clear (&line);
}

/* Checks that each frame takes @wanted calls, apart from a few additional calls
 * of each of the @filters filters. Sometimes, the kernels of a row are launched
 * by two graphs. A new graph has its arguments already. */
static void
assert_calls (const gulong *counts, guint name, guint wanted, guint filters)
{
  gulong few = filters * SELDOM, usual = wanted * FRAMES;
  gulong least = name == PARAMS ? usual - MIN (few, usual) : usual;

  fail_unless (counts[name] >= least && counts[name] <= usual + few,
      "%s: %lu calls for %u frames, not %u for each", names[name], counts[name],
      FRAMES, wanted);
}

/* For each frame, the filter makes seven calls: it pushes the CUDA context and
 * sets the stream capture mode, sets the arguments in a graph of one kernel,
 * launches the graph, records a fence behind it, sets the old capture mode, and
 * pops the context. */
GST_START_TEST (test_one_filter)
{
  gulong counts[N_NAMES];

  if (!test_is_software ())
    return;
  count_calls ("cudafilter kernel=copy", push, counts);
  assert_calls (counts, LAUNCH, 0, 0);
  assert_calls (counts, GRAPH, 1, 1);
  assert_calls (counts, PARAMS, 1, 1);
  assert_calls (counts, RECORD, 1, 1);
  assert_calls (counts, PUSH, 1, 1);
  assert_calls (counts, WAIT, 0, 1);
  assert_calls (counts, QUERY, 0, 1);
  assert_calls (counts, ALL, 7, 5);
}
GST_END_TEST;

/* The input and the output share one fence. */
GST_START_TEST (test_two_buffers)
{
  gulong counts[N_NAMES];

  if (!test_is_software ())
    return;
  count_calls ("cudafilter kernel=blur", push_apart, counts);
  assert_calls (counts, GRAPH, 1, 1);
  assert_calls (counts, RECORD, 1, 1);
  assert_calls (counts, WAIT, 0, 1);
}
GST_END_TEST;

/* Filters in a row share a stream, do not wait for each other, and need a
 * single launch and a single fence, behind the last kernel. */
GST_START_TEST (test_four_filters)
{
  gulong counts[N_NAMES];

  if (!test_is_software ())
    return;
  count_calls (
      "cudafilter ! cudafilter ! cudafilter ! cudafilter", push, counts);
  assert_calls (counts, LAUNCH, 0, 0);
  assert_calls (counts, GRAPH, 1, 4);
  assert_calls (counts, PARAMS, 4, 4);
  assert_calls (counts, RECORD, 1, 4);
  assert_calls (counts, WAIT, 0, 4);
  assert_calls (counts, PUSH, 4, 4);
  assert_calls (counts, ALL, 22, 20);
}
GST_END_TEST;

/* A filter with a kernel that the user wrote. */
#define OWN \
  "cudafilter source=\"__global__ void k (VkgdrFrame a, VkgdrFrame b) {}\""

/* Kernels that might not end are launched separately. Each of them gets a fence
 * of its own if it has a time limit. */
static const struct {
  const gchar *launch;
  guint kernels, graphs, fences;
} rows[] = {
  { OWN " ! " OWN " ! " OWN, 3, 0, 3 },
  { "cudafilter ! cudafilter ! " OWN, 1, 1, 2 },
  { OWN " ! cudafilter ! cudafilter ", 1, 1, 2 },
  { "cudafilter ! identity ! cudafilter ! cudafilter", 0, 2, 2 },
  { OWN " kernel-timeout=0 ! " OWN " kernel-timeout=0 ! " OWN
        " kernel-timeout=0",
      3, 0, 1 },
};

GST_START_TEST (test_three_filters)
{
  gulong counts[N_NAMES];

  if (!test_is_software ())
    return;
  count_calls (rows[__i__].launch, push, counts);
  assert_calls (counts, LAUNCH, rows[__i__].kernels, 0);
  assert_calls (counts, GRAPH, rows[__i__].graphs, 3);
  assert_calls (counts, RECORD, rows[__i__].fences, 3);
  assert_calls (counts, WAIT, 0, 3);
}
GST_END_TEST;

/* --- fences -------------------------------------------------------------- */

/* Whether two calls in a row return the same fence of @stream. */
static gboolean
has_one_fence (GstVkgdrStream *stream)
{
  GstVkgdrFence *one = gst_vkgdr_stream_record (stream, NULL);
  GstVkgdrFence *two = gst_vkgdr_stream_record (stream, NULL);
  gboolean same = one == two;

  fail_unless (one != NULL && two != NULL);
  gst_vkgdr_fence_unref (one);
  gst_vkgdr_fence_unref (two);
  return same;
}

/* A stream returns the same fence until more work is queued: a kernel, with or
 * without a time limit, or a wait. As soon as a caller has the handle of the
 * stream, each fence is a new one, because the caller can queue work of its
 * own. */
GST_START_TEST (test_fences_are_used_again)
{
  GstVkgdrStream *stream = test_stream_new (test_context);
  GstVkgdrStream *other = test_stream_new (test_context);
  GstVkgdrFunction *function =
      test_function_new (test_context, "__global__ void nothing () {}");
  GstVkgdrFence *before, *after, *delayed;
  gint done = FALSE;
  guint i;

  for (i = 0; i < 2; i++) {
    gst_vkgdr_stream_set_kernel_timeout (stream, i * 10000);
    fail_unless (has_one_fence (stream));
    before = gst_vkgdr_stream_record (stream, NULL);
    fail_unless (gst_vkgdr_function_launch (
        function, stream, 1, 1, 1, 1, 1, 1, 0, NULL, 0, NULL));
    after = gst_vkgdr_stream_record (stream, NULL);
    fail_unless (before != after);
    gst_vkgdr_fence_unref (before);
    gst_vkgdr_fence_unref (after);
  }
  before = gst_vkgdr_stream_record (stream, NULL);
  test_stream_delay (other, 100, &done);
  delayed = gst_vkgdr_stream_record (other, NULL);
  fail_unless (gst_vkgdr_stream_wait (stream, delayed, NULL));
  after = gst_vkgdr_stream_record (stream, NULL);
  fail_unless (before != after);
  fail_unless (gst_vkgdr_fence_wait (after, NULL));
  fail_unless (g_atomic_int_get (&done));
  fail_unless (has_one_fence (stream));
  fail_if (has_one_fence (other));

  gst_vkgdr_stream_get_handle (stream);
  fail_if (has_one_fence (stream));
  gst_vkgdr_fence_unref (before);
  gst_vkgdr_fence_unref (after);
  gst_vkgdr_fence_unref (delayed);
  gst_object_unref (function);
  gst_object_unref (other);
  gst_object_unref (stream);
}
GST_END_TEST;

/* No event is recorded in front of a kernel. Nevertheless its time limit begins
 * only when all fences that the stream waits for have been reached. */
GST_START_TEST (test_clock_starts_behind_waits)
{
  GstVkgdrStream *stream = test_stream_new (test_context);
  GstVkgdrStream *slow[2] = { test_stream_new (test_context),
    test_stream_new (test_context) };
  GstVkgdrFunction *function =
      test_function_new (test_context, "__global__ void nothing () {}");
  GError *error = NULL;
  gulong n_records;
  guint i;

  gst_vkgdr_stream_set_kernel_timeout (stream, 200);
  for (i = 0; i < G_N_ELEMENTS (slow); i++) {
    GstVkgdrFence *fence;

    test_stream_delay (slow[i], 1000 + 500 * i, NULL);
    fence = gst_vkgdr_stream_record (slow[i], NULL);
    fail_unless (gst_vkgdr_stream_wait (stream, fence, NULL));
    gst_vkgdr_fence_unref (fence);
  }
  n_records = test_is_software () ? test_count_calls ("cuEventRecord") : 0;
  for (i = 0; i < 3; i++)
    fail_unless (gst_vkgdr_function_launch (
        function, stream, 1, 1, 1, 1, 1, 1, 0, NULL, 0, NULL));
  if (test_is_software ())
    fail_unless_equals_uint64 (
        test_count_calls ("cuEventRecord"), n_records + 3);
  fail_unless (gst_vkgdr_stream_synchronize (stream, &error), "%s",
      error ? error->message : "");
  gst_object_unref (function);
  gst_object_unref (slow[0]);
  gst_object_unref (slow[1]);
  gst_object_unref (stream);
}
GST_END_TEST;

/* The application queues work of its own on the stream. The library only knows
 * that there can be such work. */
GST_START_TEST (test_clock_starts_behind_work_of_others)
{
  GstVkgdrStream *stream = test_stream_new (test_context);
  GstVkgdrFunction *function =
      test_function_new (test_context, "__global__ void nothing () {}");
  GError *error = NULL;
  guint i;

  gst_vkgdr_stream_set_kernel_timeout (stream, 200);
  for (i = 0; i < 2; i++) {
    test_stream_delay (stream, 1000, NULL);
    fail_unless (gst_vkgdr_function_launch (
        function, stream, 1, 1, 1, 1, 1, 1, 0, NULL, 0, NULL));
  }
  fail_unless (gst_vkgdr_stream_synchronize (stream, &error), "%s",
      error ? error->message : "");
  gst_object_unref (function);
  gst_object_unref (stream);
}
GST_END_TEST;

static Suite *
calls_suite (void)
{
  Suite *suite = suite_create ("calls");
  TCase *tc = tcase_create ("general");

  suite_add_tcase (suite, tc);
  tcase_add_checked_fixture (tc, test_setup, test_teardown);
  tcase_add_test (tc, test_one_filter);
  tcase_add_test (tc, test_two_buffers);
  tcase_add_test (tc, test_four_filters);
  tcase_add_loop_test (tc, test_three_filters, 0, G_N_ELEMENTS (rows));
  tcase_add_test (tc, test_fences_are_used_again);
  tcase_add_test (tc, test_clock_starts_behind_waits);
  tcase_add_test (tc, test_clock_starts_behind_work_of_others);
  return suite;
}

GST_CHECK_MAIN (calls);
