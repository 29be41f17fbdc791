/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * faults.c: tests of a device that hangs or fails: a stream fails, and the
 * process goes on
 *
 * Each test has to be a process of its own, because only the end of the process
 * ends an endless kernel. Most of the tests run on a GPU, too.
 */

#include <string.h>

#include "slow.h"
#include "util.h"

#define SOURCE "videotestsrc ! video/x-raw,format=RGBA,width=64,height=48 ! "
#define FILTER "vkgdrupload name=upload ! cudafilter name=filter"

/* The time limit of kernels, in milliseconds. */
#define LIMIT 500
/* The time in which the expected result has to come on a busy machine, in
 * microseconds. */
#define SOON (8 * G_TIME_SPAN_SECOND)

/* A kernel with one thread that runs while a byte is less than 256, that is,
 * for ever. The byte is volatile, so that the compiler cannot see this. The
 * thread sleeps, so that it takes no processor from other tests. */
#define ENDLESS \
  "__global__ void endless (VkgdrFrame in, VkgdrFrame out) {" \
  " if (blockIdx.x + threadIdx.x + blockIdx.y + threadIdx.y == 0)" \
  "  while (*(volatile unsigned char *) in.plane[0].data < 256)" \
  "   __nanosleep (1000000);" \
  "}"

/* The same, after eight frames. When a memory of upstream is used for the
 * second time, it is pinned. */
#define ENDLESS_LATER \
  "__device__ int n;" \
  "__global__ void endless (VkgdrFrame in, VkgdrFrame out) {" \
  " if (blockIdx.x + threadIdx.x + blockIdx.y + threadIdx.y == 0 && ++n > 8)" \
  "  while (*(volatile unsigned char *) in.plane[0].data < 256)" \
  "   __nanosleep (1000000);" \
  "}"

/* A kernel with one thread that sleeps for about %u milliseconds. */
#define SLOW \
  "__global__ void slow (VkgdrFrame in, VkgdrFrame out) {" \
  " if (blockIdx.x + threadIdx.x + blockIdx.y + threadIdx.y == 0)" \
  "  for (int i = 0; i < %u; i++) __nanosleep (1000000);" \
  "}"

#define TRAPPED \
  "__global__ void trapped (VkgdrFrame in, VkgdrFrame out) { __trap (); }"

/* Called by the leak checker: memory that a hung device uses is not freed, and
 * this is no leak. */
__attribute__ ((visibility ("default"))) int __lsan_is_turned_off (void);

int
__lsan_is_turned_off (void)
{
  return 1;
}

/* Makes a pipeline whose element "filter" runs @source. */
static GstElement *
launch (const gchar *source, guint limit, const gchar *description)
{
  GstElement *pipeline = test_launch ("%s", description);
  g_autoptr (GstElement) filter =
      gst_bin_get_by_name (GST_BIN (pipeline), "filter");

  g_object_set (filter, "source", source, "kernel-timeout", limit, NULL);
  return pipeline;
}

/* Returns the next error of the element @name, or of any element if @name is
 * NULL. The caller frees it. Fails the test if there is none. */
static gchar *
next_error_of (GstElement *pipeline, const gchar *name)
{
  g_autoptr (GstBus) bus = gst_element_get_bus (pipeline);
  gint64 deadline = g_get_monotonic_time () + SOON;
  gchar *text = NULL;

  while (!text) {
    gint64 left = deadline - g_get_monotonic_time ();
    g_autoptr (GstMessage) message = NULL;
    GError *error;

    message = gst_bus_timed_pop_filtered (
        bus, MAX (left, 0) * GST_USECOND, GST_MESSAGE_ERROR);
    fail_unless (message != NULL, "there was no error in time");
    if (!name
        || strcmp (GST_OBJECT_NAME (GST_MESSAGE_SRC (message)), name) == 0) {
      gst_message_parse_error (message, &error, NULL);
      text = g_strdup (error->message);
      g_error_free (error);
    }
  }
  return text;
}

static void
assert_tells_of_endless (gchar *text)
{
  test_assert_contains (text, "\"endless\" of filter");
  test_assert_contains (text, "500 ms");
  test_assert_contains (text, "kernel-timeout");
  g_free (text);
}

static void
stop (GstElement *pipeline)
{
  gint64 began = g_get_monotonic_time ();

  gst_element_set_state (pipeline, GST_STATE_NULL);
  fail_unless (g_get_monotonic_time () - began < SOON, "stopping took long");
  gst_object_unref (pipeline);
}

static void
play (GstElement *pipeline)
{
  gst_element_set_state (pipeline, GST_STATE_PLAYING);
}

/* Fails if the element posts another error. */
static void
assert_no_more_of (GstElement *pipeline, const gchar *name)
{
  g_autoptr (GstBus) bus = gst_element_get_bus (pipeline);
  GstMessage *message;

  while ((message = gst_bus_timed_pop_filtered (
              bus, 300 * GST_MSECOND, GST_MESSAGE_ERROR))) {
    fail_if (strcmp (GST_OBJECT_NAME (GST_MESSAGE_SRC (message)), name) == 0,
        "%s says it again", name);
    gst_message_unref (message);
  }
}

/* --- a kernel without an end --------------------------------------------- */

TEST_PARALLEL (4);

/* Valgrind runs one thread at a time, and this would be the endless kernel. It
 * also reports memory that is not freed as leaks. */
TEST_ONLY_IF (!test_is_on_valgrind ());

TEST (endless_kernel)
{
  GstElement *pipeline =
      launch (ENDLESS, LIMIT, SOURCE FILTER " ! vkgdrdownload ! fakesink");

  play (pipeline);
  assert_tells_of_endless (next_error_of (pipeline, NULL));
  assert_no_more_of (pipeline, "filter");
  stop (pipeline);
}

/* No element waits for the frame, and no other frame follows. */
TEST (endless_kernel_on_the_last_frame)
{
  GstElement *pipeline = launch (ENDLESS, LIMIT,
      "videotestsrc num-buffers=1 ! video/x-raw,format=RGBA,width=64,height=48 "
      "! " FILTER " ! vkgdrdownload ! fakesink");

  play (pipeline);
  assert_tells_of_endless (next_error_of (pipeline, "filter"));
  stop (pipeline);
}

/* Mapping a frame that an endless kernel writes fails. */
static gpointer
map_frame (gpointer data)
{
  g_autoptr (GstSample) sample =
      gst_app_sink_try_pull_sample (GST_APP_SINK (data), 5 * GST_SECOND);
  gboolean mapped;
  GstMapInfo map;

  fail_unless (sample != NULL);
  mapped = gst_buffer_map (gst_sample_get_buffer (sample), &map, GST_MAP_READ);
  return GINT_TO_POINTER (mapped);
}

static const gchar *const sinks[] = { "vkgdrdownload ! appsink", "appsink" };

TEST_LOOP (reader_of_endless_kernel, G_N_ELEMENTS (sinks))
{
  gchar *description = g_strdup_printf (
      SOURCE FILTER " ! %s name=sink sync=false async=false", sinks[__i__]);
  GstElement *pipeline = launch (ENDLESS, LIMIT, description);
  GstElement *sink = gst_bin_get_by_name (GST_BIN (pipeline), "sink");
  GThread *reader;

  g_free (description);
  play (pipeline);
  reader = g_thread_new ("reader", map_frame, sink);
  assert_tells_of_endless (next_error_of (pipeline, "filter"));
  fail_if (GPOINTER_TO_INT (g_thread_join (reader)));
  gst_object_unref (sink);
  stop (pipeline);
}

/* All buffers of the pool that upstream uses wait for the kernel. The filter
 * posts the error, and the source does not wait any longer. */
TEST (pool_of_endless_kernel)
{
  GstElement *pipeline = launch (ENDLESS, LIMIT,
      "videotestsrc name=source ! video/x-raw,format=RGBA,width=64,height=48 "
      "! " FILTER " ! fakesink");

  play (pipeline);
  assert_tells_of_endless (next_error_of (pipeline, "filter"));
  g_free (next_error_of (pipeline, "source"));
  stop (pipeline);
}

static gint n_memories; /* atomic; how many memories were seen */
static gint n_freed;    /* atomic; how many of them were freed */

static void
count_freed (gpointer unused)
{
  g_atomic_int_inc (&n_freed);
}

static GstPadProbeReturn
watch_memory (GstPad *pad, GstPadProbeInfo *info, gpointer unused)
{
  GQuark quark = g_quark_from_static_string ("test-watched");
  GstMiniObject *memory = GST_MINI_OBJECT (
      gst_buffer_peek_memory (GST_PAD_PROBE_INFO_BUFFER (info), 0));

  if (!gst_mini_object_get_qdata (memory, quark)) {
    gst_mini_object_set_qdata (memory, quark, &n_memories, count_freed);
    g_atomic_int_inc (&n_memories);
  }
  return GST_PAD_PROBE_OK;
}

static void
watch_input_of_upload (GstElement *pipeline)
{
  g_autoptr (GstElement) upload =
      gst_bin_get_by_name (GST_BIN (pipeline), "upload");
  g_autoptr (GstPad) pad = gst_element_get_static_pad (upload, "sink");

  gst_pad_add_probe (pad, GST_PAD_PROBE_TYPE_BUFFER, watch_memory, NULL, NULL);
}

/* The foreign memory of upstream is pinned. The driver unpins it only when the
 * device is idle, so it is not freed while the kernel runs. */
TEST (foreign_memory_of_endless_kernel)
{
  GstElement *pipeline = launch (ENDLESS_LATER, LIMIT,
      "videotestsrc ! video/x-raw,format=RGBA,width=640,height=480 ! "
      "identity drop-allocation=true ! " FILTER " ! fakesink");

  watch_input_of_upload (pipeline);
  play (pipeline);
  assert_tells_of_endless (next_error_of (pipeline, "filter"));
  stop (pipeline);
  fail_unless (g_atomic_int_get (&n_freed) < g_atomic_int_get (&n_memories),
      "all of %d memories were freed", g_atomic_int_get (&n_memories));
}

static void
on_failed (GstVkgdrStream *stream, GError *error, gint *n)
{
  g_atomic_int_inc (n);
}

/* A thread that launches kernels and never waits gets an error before the
 * driver's queue is full. With a full queue, the driver would block the
 * thread. */
TEST (launches_behind_endless_kernel)
{
  g_autoptr (GstVkgdrContext) context = test_context_new ();
  g_autoptr (GstVkgdrStream) stream = test_stream_new (context);
  GstMemory *memory = test_memory_new (context, 64 * 48);
  g_autoptr (GstBuffer) buffer = gst_buffer_new ();
  GError *error = NULL;
  g_autoptr (GstVkgdrKernel) kernel = gst_vkgdr_kernel_new_from_source (
      context, ENDLESS, NULL, NULL, NULL, &error);
  gint n, failed = 0;
  GstVideoInfo info;

  fail_unless (kernel != NULL, "%s", error ? error->message : "");
  gst_video_info_set_format (&info, GST_VIDEO_FORMAT_GRAY8, 64, 48);
  gst_buffer_append_memory (buffer, memory);
  gst_vkgdr_stream_set_kernel_timeout (stream, LIMIT);
  g_signal_connect (stream, "failed", G_CALLBACK (on_failed), &failed);
  for (n = 0; n < 1000; n++)
    if (!gst_vkgdr_kernel_run (
            kernel, stream, buffer, &info, buffer, &info, n, NULL, &error))
      break;
  fail_unless_equals_int (n, 64);
  test_assert_contains (error->message, "\"endless\" of vkgdrstream");
  g_clear_error (&error);
  fail_unless_equals_int (g_atomic_int_get (&failed), 1);
  fail_if (gst_vkgdr_stream_synchronize (stream, &error));
  test_assert_contains (error->message, "\"endless\" of vkgdrstream");
  g_clear_error (&error);
}

/* The pipeline is stopped before the time limit is over. */
TEST (stop_of_endless_kernel)
{
  GstElement *pipeline =
      launch (ENDLESS, LIMIT, SOURCE FILTER " ! vkgdrdownload ! fakesink");

  play (pipeline);
  gst_element_get_state (pipeline, NULL, NULL, GST_SECOND / 10);
  stop (pipeline);
}

static void
on_handoff (
    GstElement *sink, GstBuffer *buffer, GstPad *pad, gpointer user_data)
{
  g_atomic_int_inc ((gint *) user_data);
}

/* Makes a pipeline that counts the frames that reach the sink. */
static GstElement *
launch_counted (const gchar *description, gint *frames)
{
  GstElement *pipeline = test_launch (
      "%s ! fakesink name=sink sync=true signal-handoffs=true", description);
  g_autoptr (GstElement) sink =
      gst_bin_get_by_name (GST_BIN (pipeline), "sink");

  g_signal_connect (sink, "handoff", G_CALLBACK (on_handoff), frames);
  return pipeline;
}

static void
wait_frames (gint *frames, gint n)
{
  gint64 deadline = g_get_monotonic_time () + SOON;
  gint wanted = g_atomic_int_get (frames) + n;

  while (
      g_atomic_int_get (frames) < wanted && g_get_monotonic_time () < deadline)
    g_usleep (1000);
  fail_unless (g_atomic_int_get (frames) >= wanted, "a stream stands still");
}

/* Other pipelines continue, even those on the same CUDA context. */
TEST (other_pipelines)
{
  gint frames_near = 0, frames_far = 0;
  GstElement *near = launch_counted (
      SOURCE "vkgdrupload ! cudafilter ! vkgdrdownload", &frames_near);
  GstElement *far = launch_counted (
      SOURCE "videoconvert ! video/x-raw,format=I420", &frames_far);
  GstElement *pipeline =
      launch (ENDLESS, LIMIT, SOURCE FILTER " ! vkgdrdownload ! fakesink");

  play (far);
  play (near);
  wait_frames (&frames_near, 3);
  play (pipeline);
  assert_tells_of_endless (next_error_of (pipeline, NULL));
  wait_frames (&frames_near, 10);
  wait_frames (&frames_far, 10);
  stop (pipeline);
  wait_frames (&frames_near, 10);
  stop (near);
  wait_frames (&frames_far, 10);
  stop (far);
}

static const gchar *const neighbours[] = { "vkgdrupload ! cudafilter",
  "vkgdrupload" };

/* A pipeline is stopped while the kernel of another one runs, before its time
 * limit is over. It frees memory, for which the driver waits. */
TEST_LOOP (stop_beside_endless_kernel, G_N_ELEMENTS (neighbours))
{
  gchar *description =
      g_strconcat (SOURCE, neighbours[__i__], " ! vkgdrdownload", NULL);
  gint frames = 0;
  GstElement *near = launch_counted (description, &frames);
  GstElement *pipeline =
      launch (ENDLESS, LIMIT, SOURCE FILTER " ! vkgdrdownload ! fakesink");

  g_free (description);
  play (near);
  wait_frames (&frames, 3);
  play (pipeline);
  gst_element_get_state (pipeline, NULL, NULL, GST_SECOND / 10);
  stop (near);
  assert_tells_of_endless (next_error_of (pipeline, "filter"));
  stop (pipeline);
}

/* The driver cannot load a kernel while another kernel does not end. An element
 * that needs to load one posts an error instead of waiting for ever. */
TEST (start_on_hung_device)
{
  GstElement *pipeline =
      launch (ENDLESS, LIMIT, SOURCE FILTER " ! vkgdrdownload ! fakesink");
  GstElement *other = test_launch (
      SOURCE "vkgdrupload ! cudafilter name=late kernel=invert ! fakesink");

  play (pipeline);
  assert_tells_of_endless (next_error_of (pipeline, NULL));
  gst_element_set_state (pipeline, GST_STATE_NULL);
  play (other);
  assert_tells_of_endless (next_error_of (other, NULL));
  stop (other);
  stop (pipeline);
}

TEST_ONLY_IF (TRUE);

/* --- slow kernels -------------------------------------------------------- */

/* Each kernel takes much less than the limit, even on a busy machine, where
 * each of its sleeps may end some milliseconds late. In launches.c, the queued
 * kernels together take longer than the limit. */
TEST (slow_kernels)
{
  g_autofree gchar *source = g_strdup_printf (SLOW, 20);
  g_autoptr (GstElement) pipeline = launch (source, 4 * LIMIT,
      "videotestsrc num-buffers=120 ! "
      "video/x-raw,format=RGBA,width=64,height=48 "
      "! vkgdrupload ! queue max-size-buffers=120 ! cudafilter name=filter ! "
      "queue max-size-buffers=120 ! vkgdrdownload ! fakesink");

  test_play (pipeline);
}

TEST (no_limit)
{
  g_autofree gchar *source = g_strdup_printf (SLOW, 1200);
  g_autoptr (GstElement) pipeline = launch (source, 0,
      "videotestsrc num-buffers=2 ! video/x-raw,format=RGBA,width=64,height=48 "
      "! " FILTER " ! vkgdrdownload ! fakesink");

  test_play (pipeline);
}

#define VICTIM " ! cudafilter name=victim kernel-timeout=300"

/* Filters that share a stream with the endless kernel, or wait for it. */
static const gchar *const victims[] = {
  FILTER VICTIM,
  FILTER " ! queue" VICTIM,
  "vkgdrupload" VICTIM " ! cudafilter name=filter",
};

/* A filter that waits for the kernel of another filter is not reported as the
 * cause. */
TEST_LOOP (blame, test_is_on_valgrind () ? 0 : G_N_ELEMENTS (victims))
{
  g_autofree gchar *description =
      g_strconcat (SOURCE, victims[__i__], " ! vkgdrdownload ! fakesink", NULL);
  GstElement *pipeline = launch (ENDLESS, LIMIT, description);

  play (pipeline);
  assert_tells_of_endless (next_error_of (pipeline, NULL));
  stop (pipeline);
}

/* Waits until the device has done all work of the context. */
static void
wait_until_idle (GstVkgdrContext *context)
{
  GError *error = NULL;

  fail_unless (gst_vkgdr_context_push (context, &error), "%s",
      error ? error->message : "");
  fail_unless_equals_int (
      vkgdr_driver_load ()->cuCtxSynchronize (), CUDA_SUCCESS);
  gst_vkgdr_context_pop (context);
}

/* Plays @pipeline until there is no error. The library checks several times per
 * second whether a kernel that ran for too long has ended, and elements post
 * errors until it has noticed. */
static void
play_soon (GstElement *pipeline)
{
  gint64 deadline = g_get_monotonic_time () + SOON;
  GError *error;

  while ((error = test_play_result (pipeline))) {
    fail_unless (g_get_monotonic_time () < deadline, "%s", error->message);
    g_error_free (error);
    g_usleep (10000);
  }
}

/* After the slow kernel has ended, the same pipeline works again with a longer
 * limit. */
TEST_IF (recovery, !test_is_on_valgrind ())
{
  g_autoptr (GstVkgdrContext) context = test_context_new ();
  g_autofree gchar *source = g_strdup_printf (SLOW, 1000);
  g_autoptr (GstElement) pipeline = launch (source, LIMIT,
      "videotestsrc num-buffers=1 ! video/x-raw,format=RGBA,width=64,height=48 "
      "! " FILTER " ! vkgdrdownload ! fakesink");
  GstElement *filter;
  gchar *text;

  play (pipeline);
  text = next_error_of (pipeline, "filter");
  test_assert_contains (text, "\"slow\" of filter");
  g_free (text);
  gst_element_set_state (pipeline, GST_STATE_NULL);

  wait_until_idle (context);
  filter = gst_bin_get_by_name (GST_BIN (pipeline), "filter");
  g_object_set (filter, "kernel-timeout", 30000, NULL);
  gst_object_unref (filter);
  play_soon (pipeline);
}

/* --- kernels that fail --------------------------------------------------- */

/* After a kernel has failed, the driver fails until the process ends. */
static void
assert_tells_to_restart (GstElement *pipeline)
{
  g_autoptr (GError) error = test_play_result (pipeline);

  fail_unless (error != NULL);
  test_assert_contains (error->message, "restart it");
  gst_object_unref (pipeline);
}

TEST (trapped_kernel)
{
  GstElement *pipeline =
      launch (TRAPPED, LIMIT, SOURCE FILTER " ! vkgdrdownload ! fakesink");
  gchar *text;

  play (pipeline);
  text = next_error_of (pipeline, NULL);
  test_assert_contains (text, "\"trapped\" of filter");
  test_assert_contains (text, "compute-sanitizer");
  g_free (text);
  stop (pipeline);
  assert_tells_to_restart (test_launch (
      "videotestsrc num-buffers=3 ! vkgdrupload ! cudafilter kernel=invert ! "
      "vkgdrdownload ! fakesink"));
}

/* The kernel fails some time after it began. */
#define TRAPPED_LATE \
  "__global__ void trapped (VkgdrFrame in, VkgdrFrame out) {" \
  " if (blockIdx.x + threadIdx.x + blockIdx.y + threadIdx.y == 0) {" \
  "  for (int i = 0; i < 100; i++) __nanosleep (1000000);" \
  "  __trap ();" \
  " }}"

/* The kernel of the last frame fails while no other frame follows. */
static const struct {
  const gchar *source;
  gint n_frames;
  const gchar *rest;
} last_frames[] = {
  { TRAPPED, 1, " ! vkgdrdownload ! fakesink" },
  { TRAPPED_LATE, 1, " ! vkgdrdownload ! fakesink" },
  { TRAPPED_LATE, 1, " ! fakesink sync=false" },
  { TRAPPED_LATE, 2, " ! fakesink sync=false" },
  { TRAPPED_LATE, 1, " ! queue ! vkgdrdownload ! fakesink" },
  { TRAPPED_LATE, 1, " ! vkgdrtensor ! fakesink sync=false" },
};

/* EOS comes after the work: the first message is the error of the element whose
 * kernel it was. */
TEST_LOOP (fault_in_the_last_frame, G_N_ELEMENTS (last_frames))
{
  g_autofree gchar *description = g_strdup_printf (
      "videotestsrc num-buffers=%d ! video/x-raw,format=RGBA,width=64,height=48"
      " ! " FILTER "%s",
      last_frames[__i__].n_frames, last_frames[__i__].rest);
  /* The error does not depend on a limit. */
  guint limit = __i__ % 2 == 0 ? 5000 : 0;
  GstElement *pipeline = launch (last_frames[__i__].source, limit, description);
  GstBus *bus = gst_element_get_bus (pipeline);
  GstMessage *message;
  GError *error;

  play (pipeline);
  message = gst_bus_timed_pop_filtered (
      bus, GST_CLOCK_TIME_NONE, GST_MESSAGE_ERROR | GST_MESSAGE_EOS);
  fail_unless (GST_MESSAGE_TYPE (message) == GST_MESSAGE_ERROR);
  fail_unless_equals_string (
      GST_OBJECT_NAME (GST_MESSAGE_SRC (message)), "filter");
  gst_message_parse_error (message, &error, NULL);
  test_assert_contains (error->message, "\"trapped\" of filter");
  g_error_free (error);
  gst_message_unref (message);
  gst_object_unref (bus);
  stop (pipeline);
}

/* What follows the filter whose kernel fails. */
static const gchar *const followers[] = {
  " ! vkgdrdownload ! fakesink",
  " ! queue ! vkgdrdownload ! fakesink",
  " ! cudafilter kernel=invert ! vkgdrdownload ! fakesink",
  " ! vkgdrtensor ! fakesink",
};

/* Only the element whose kernel failed posts the error, and posts it first. A
 * GPU does not tell this kernel from another one that is queued: then the
 * element of that kernel may post an error, which names both. The source comes
 * last: it only knows that the stream has ended. */
TEST_LOOP (neighbours_do_not_repeat_the_fault, G_N_ELEMENTS (followers))
{
  gchar *description =
      g_strconcat ("videotestsrc name=source ! "
                   "video/x-raw,format=RGBA,width=64,height=48 ! " FILTER,
          followers[__i__], NULL);
  GstElement *pipeline = launch (TRAPPED_LATE, 5000, description);
  GstBus *bus = gst_element_get_bus (pipeline);
  gboolean is_first = TRUE, is_over = FALSE;

  play (pipeline);
  while (!is_over) {
    GstMessage *message =
        gst_bus_timed_pop_filtered (bus, SOON * GST_USECOND, GST_MESSAGE_ERROR);
    const gchar *name;
    GError *error;

    fail_unless (message != NULL, "the source posts no error");
    name = GST_OBJECT_NAME (GST_MESSAGE_SRC (message));
    gst_message_parse_error (message, &error, NULL);
    is_over = strcmp (name, "source") == 0;
    fail_unless (strcmp (name, "filter") == 0
                     || (!is_first
                         && (!strstr (error->message, "trapped")
                             || strstr (error->message, name))),
        "%s says: %s", name, error->message);
    is_first = FALSE;
    g_error_free (error);
    gst_message_unref (message);
  }
  gst_object_unref (bus);
  stop (pipeline);
  g_free (description);
}

/* The pipeline is stopped while the kernel runs that is going to fail. */
TEST (fault_after_stop)
{
  GstElement *pipeline =
      launch (TRAPPED_LATE, 5000, SOURCE FILTER " ! fakesink");
  GstBus *bus = gst_element_get_bus (pipeline);
  GstMessage *message;

  g_object_set (pipeline, "auto-flush-bus", FALSE, NULL);
  gst_element_set_state (pipeline, GST_STATE_PAUSED);
  gst_element_get_state (pipeline, NULL, NULL, GST_CLOCK_TIME_NONE);
  gst_element_set_state (pipeline, GST_STATE_NULL);
  message = gst_bus_timed_pop_filtered (
      bus, 0, GST_MESSAGE_ERROR | GST_MESSAGE_WARNING);
  fail_unless (message != NULL);
  gst_message_unref (message);
  gst_object_unref (bus);
  stop (pipeline);
}

/* The pipeline still has the context that failed. */
TEST (restart_after_trapped_kernel)
{
  GstElement *pipeline = launch (TRAPPED, LIMIT,
      "videotestsrc num-buffers=3 ! " FILTER " ! vkgdrdownload ! fakesink");
  GstElement *filter = gst_bin_get_by_name (GST_BIN (pipeline), "filter");
  GstBus *bus = gst_element_get_bus (pipeline);

  play (pipeline);
  g_free (next_error_of (pipeline, NULL));
  gst_element_set_state (pipeline, GST_STATE_NULL);
  gst_bus_set_flushing (bus, TRUE);
  gst_bus_set_flushing (bus, FALSE);
  gst_object_unref (bus);

  g_object_set (filter, "source", NULL, "kernel", "invert", NULL);
  gst_object_unref (filter);
  assert_tells_to_restart (pipeline);
}

/* --- a driver that fails ------------------------------------------------- */

/* The errors of a device that is lost, which its calls return from then on. */
static const struct {
  const gchar *error;
  const gchar *word;
} losses[] = {
  { "CUDA_ERROR_ILLEGAL_ADDRESS", "compute-sanitizer" },
  { "CUDA_ERROR_LAUNCH_FAILED", "compute-sanitizer" },
  { "CUDA_ERROR_LAUNCH_TIMEOUT", "display" },
  { "CUDA_ERROR_ECC_UNCORRECTABLE", "nvidia-smi" },
  { "CUDA_ERROR_DEVICE_UNAVAILABLE", "nvidia-smi" },
  { "CUDA_ERROR_UNKNOWN", "dmesg" },
};

/* The calls that return the error first. */
static const gchar *const lost_calls[] = { "cuLaunchKernel:2+",
  "cuEventRecord:5+", "cuEventQuery:3+", "cuMemcpyDtoHAsync:2+", "*:200+" };

TEST_LOOP (lost_device, G_N_ELEMENTS (losses))
{
  gint frames = 0;
  GstElement *far =
      launch_counted (SOURCE "videoconvert ! video/x-raw,format=I420", &frames);
  GstVkgdrContext *context;
  guint i;

  g_setenv ("VKGDR_DRIVER", "software", TRUE);
  context = gst_vkgdr_context_new (-1, NULL);
  if (!context) /* there is no software device */
    return;
  gst_object_unref (context);
  play (far);
  for (i = 0; i < G_N_ELEMENTS (lost_calls); i++) {
    g_autofree gchar *spec =
        g_strdup_printf ("%s:%s", lost_calls[i], losses[__i__].error);
    g_autoptr (GstElement) pipeline = test_launch (
        SOURCE "vkgdrupload ! cudafilter ! vkgdrdownload ! "
               "videoconvert ! video/x-raw,format=I420 ! fakesink");
    GError *error;
    gchar *text;

    test_make_calls_fail (spec);
    play (pipeline);
    text = next_error_of (pipeline, NULL);
    test_assert_contains (text, losses[__i__].error);
    test_assert_contains (text, losses[__i__].word);
    g_free (text);
    stop (pipeline);
    wait_frames (&frames, 2);

    /* The device is still lost at first, and then works again. */
    pipeline = test_launch ("videotestsrc num-buffers=9 ! vkgdrupload ! "
                            "cudafilter ! vkgdrdownload ! videoconvert ! "
                            "video/x-raw,format=I420 ! fakesink");
    error = test_play_result (pipeline);
    g_clear_error (&error);
    test_make_calls_fail (NULL);
    test_play (pipeline);
  }
  stop (far);
}
