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
  g_autoptr (GstBufferPool) pool = gst_vkgdr_buffer_pool_new (context);
  GstStructure *config = gst_buffer_pool_get_config (pool);
  g_autoptr (GstCaps) caps = gst_caps_from_string (CAPS);
  GstBuffer *buffer = NULL;

  gst_buffer_pool_config_set_params (config, caps, 64 * 64 * 4, 1, 0);
  fail_unless (gst_buffer_pool_set_config (pool, config));
  fail_unless (gst_buffer_pool_set_active (pool, TRUE));
  fail_unless_equals_int (
      gst_buffer_pool_acquire_buffer (pool, &buffer, NULL), GST_FLOW_OK);
  gst_buffer_pool_set_active (pool, FALSE);
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

static const gchar *const names[] = { "cuLaunchKernel", "cuEventRecord",
  "cuStreamWaitEvent", "cuEventQuery" };

enum { LAUNCH, RECORD, WAIT, QUERY, N_NAMES };

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
 * of each of the @filters filters. The thread sanitizer makes a frame so slow
 * that the background thread, which calls the driver from time to time, does so
 * for nearly each frame. */
static void
assert_calls (const gulong *counts, guint name, guint wanted, guint filters)
{
  gulong few = filters * SELDOM, usual = wanted * FRAMES;

#ifdef __SANITIZE_THREAD__
  few += filters * usual;
#endif
  fail_unless (counts[name] >= usual && counts[name] <= usual + few,
      "%s: %lu calls for %u frames, not %u for each", names[name], counts[name],
      FRAMES, wanted);
}

TEST_PARALLEL (2);

TEST_FIXTURE (test_setup, test_teardown);

/* Each launch has an event in front of it, where its time begins, and one
 * behind it. The latter is the fence of the input and the output, too. */
TEST (one_filter)
{
  gulong counts[N_NAMES];

  if (!test_is_software ())
    return;
  count_calls ("cudafilter kernel=copy kernel-timeout=10000", push, counts);
  assert_calls (counts, LAUNCH, 1, 0);
  assert_calls (counts, RECORD, 2, 1);
  assert_calls (counts, WAIT, 0, 1);
  assert_calls (counts, QUERY, 0, 1);
  count_calls (
      "cudafilter kernel=blur kernel-timeout=10000", push_apart, counts);
  assert_calls (counts, LAUNCH, 1, 0);
  assert_calls (counts, RECORD, 2, 1);
  assert_calls (counts, WAIT, 0, 1);
}

/* A launch without a limit has one event. */
TEST (without_limit)
{
  gulong counts[N_NAMES];

  if (!test_is_software ())
    return;
  count_calls ("cudafilter kernel=copy kernel-timeout=0", push, counts);
  assert_calls (counts, LAUNCH, 1, 0);
  assert_calls (counts, RECORD, 1, 1);
}

/* Each filter has a stream, and waits for the one in front of it. */
TEST (four_filters)
{
  gulong counts[N_NAMES];

  if (!test_is_software ())
    return;
  count_calls (
      "cudafilter ! cudafilter ! cudafilter ! cudafilter kernel-timeout=10000",
      push, counts);
  assert_calls (counts, LAUNCH, 4, 0);
  assert_calls (counts, RECORD, 5, 4);
}

/* --- time limits --------------------------------------------------------- */

/* A kernel's time begins only when all fences that the stream waits for have
 * been reached. */
TEST (time_begins_behind_waits)
{
  g_autoptr (GstVkgdrStream) stream = test_stream_new (test_context);
  GstVkgdrStream *slow[2] = { test_stream_new (test_context),
    test_stream_new (test_context) };
  GstVkgdrFunction *function =
      test_function_new (test_context, "__global__ void nothing () {}");
  GError *error = NULL;
  guint i;

  gst_vkgdr_stream_set_kernel_timeout (stream, 200);
  for (i = 0; i < G_N_ELEMENTS (slow); i++) {
    g_autoptr (GstVkgdrFence) fence = NULL;

    test_stream_delay (slow[i], 1000 + 500 * i, NULL);
    fence = gst_vkgdr_stream_record (slow[i], NULL);
    fail_unless (gst_vkgdr_stream_wait (stream, fence, NULL));
  }
  for (i = 0; i < 3; i++)
    fail_unless (gst_vkgdr_function_launch (
        function, stream, 1, 1, 1, 1, 1, 1, 0, NULL, 0, NULL));
  fail_unless (gst_vkgdr_stream_synchronize (stream, &error), "%s",
      error ? error->message : "");
  gst_object_unref (function);
  gst_object_unref (slow[0]);
  gst_object_unref (slow[1]);
}

/* The application queues work of its own on the stream. The time of a kernel
 * ends with the fence behind it. */
TEST (time_begins_behind_work_of_others)
{
  g_autoptr (GstVkgdrStream) stream = test_stream_new (test_context);
  g_autoptr (GstVkgdrFunction) function =
      test_function_new (test_context, "__global__ void nothing () {}");
  GError *error = NULL;
  guint i;

  gst_vkgdr_stream_set_kernel_timeout (stream, 200);
  for (i = 0; i < 2; i++) {
    test_stream_delay (stream, 1000, NULL);
    fail_unless (gst_vkgdr_function_launch (
        function, stream, 1, 1, 1, 1, 1, 1, 0, NULL, 0, NULL));
    gst_vkgdr_fence_unref (gst_vkgdr_stream_record (stream, NULL));
  }
  fail_unless (gst_vkgdr_stream_synchronize (stream, &error), "%s",
      error ? error->message : "");
}
