/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * faults.c: tests of a device that hangs or fails: a stream fails, and the
 * process goes on
 *
 * Each test has to be a process of its own, because only the end of the process
 * ends an endless kernel. Most of the tests run on a GPU, too.
 */

#include "util.h"

/* The time limit of kernels, in milliseconds. */
#define LIMIT 500
/* The time in which the expected result has to come on a busy machine, in
 * microseconds. */
#define SOON (30 * G_TIME_SPAN_SECOND)

#define FRAMES(n) \
  "videotestsrc name=source num-buffers=" #n " ! " \
  "video/x-raw,format=RGBA,width=64,height=48 ! "
#define SOURCE FRAMES (-1)
#define FILTER "vkgdrupload name=upload ! cudafilter name=filter"
#define DOWN " ! vkgdrdownload ! fakesink"

/* A kernel in which one thread does something. */
#define KERNEL(name, body) \
  "__global__ void " name " (VkgdrFrame in, VkgdrFrame out) {" \
  " if (blockIdx.x + threadIdx.x + blockIdx.y + threadIdx.y == 0) {" body "}}"

/* Takes no processor from other tests. */
#define SLEEP "__nanosleep (1000000);"

/* Runs while a byte is less than 256, that is, for ever. The byte is volatile,
 * so that the compiler cannot see this. */
#define FOR_EVER "while (*(volatile unsigned char *) in.plane[0].data < 256)"
#define ENDLESS KERNEL ("endless", FOR_EVER SLEEP)
/* After eight frames. When a memory of upstream is used for the second time, it
 * is pinned. */
#define ENDLESS_LATER \
  "__device__ int n;" KERNEL ("endless", "if (++n > 8) " FOR_EVER SLEEP)
#define SLOW(ms) KERNEL ("slow", "for (int i = 0; i < " #ms "; i++)" SLEEP)
#define TRAPPED KERNEL ("trapped", "__trap ();")
#define TRAPPED_LATE \
  KERNEL ("trapped", "for (int i = 0; i < 100; i++)" SLEEP "__trap ();")

/* Memory that a hung device uses is not freed, and this is no leak. */
TEST_AT_START (test_leaks = TRUE);

/* Memory that is not freed before a kernel ends is a leak for Valgrind. */
#define LEAKS "memory that may leak"

/* Makes a pipeline whose element "filter" runs @source. */
static GstElement *
launch (const gchar *source, guint limit, const gchar *description)
{
  GstElement *pipeline = test_launch ("%s", description);

  g_object_set (test_find (pipeline, "filter"), "source", source,
      "kernel-timeout", limit, NULL);
  return pipeline;
}

static void
play (GstElement *pipeline)
{
  gst_element_set_state (pipeline, GST_STATE_PLAYING);
}

static void
stop (GstElement *pipeline)
{
  gint64 began = g_get_monotonic_time ();

  gst_element_set_state (pipeline, GST_STATE_NULL);
  fail_unless (g_get_monotonic_time () - began < SOON, "stopping took long");
  gst_object_unref (pipeline);
}

static gboolean
is_from (GstMessage *message, const gchar *name)
{
  return g_str_equal (GST_OBJECT_NAME (GST_MESSAGE_SRC (message)), name);
}

static GError *
error_of (GstMessage *message)
{
  GError *error = NULL;

  gst_message_parse_error (message, &error, NULL);
  return error;
}

/* Returns the next error of the element @name, or of any element if @name is
 * NULL. The pipeline must not end before. An element that reports the failure
 * of another element's kernel names both. */
static GstMessage *
next_error (GstElement *pipeline, const gchar *name)
{
  g_autoptr (GstBus) bus = gst_element_get_bus (pipeline);
  GstMessage *message = NULL;

  do {
    g_autoptr (GError) error = NULL;
    g_autofree gchar *text = NULL;

    gst_clear_message (&message);
    /* After a fault, a GPU that other processes use may need many seconds. */
    message = gst_bus_timed_pop_filtered (
        bus, GST_CLOCK_TIME_NONE, GST_MESSAGE_ERROR | GST_MESSAGE_EOS);
    text = test_message_text (message);
    fail_unless (GST_MESSAGE_TYPE (message) == GST_MESSAGE_ERROR,
        "%s, instead of an error", text);
    error = error_of (message);
    fail_unless (is_from (message, "filter")
                     || !strstr (error->message, "trapped")
                     || strstr (error->message,
                         GST_OBJECT_NAME (GST_MESSAGE_SRC (message))),
        "%s", error->message);
  } while (name && !is_from (message, name));
  return message;
}

static void
assert_error (GstElement *pipeline, const gchar *name, const gchar *words)
{
  g_autoptr (GstMessage) message = next_error (pipeline, name);

  test_assert_says (error_of (message), words);
}

/* --- kernels that do not end, or fail ------------------------------------ */

#define TELLS_OF_ENDLESS "\"endless\" of filter|500 ms|kernel-timeout"
#define TELLS_OF_TRAP "\"trapped\" of filter|compute-sanitizer"
#define SINK "appsink name=sink sync=false async=false"
#define VICTIM " ! cudafilter kernel-timeout=300"

/* If kernels of several processes fail at about the same time, NVIDIA's driver
 * may not report one of them. */
TEST_PARALLEL (g_file_test ("/dev/nvidiactl", G_FILE_TEST_EXISTS) ? 1 : 4);

static const struct {
  const gchar *source;
  guint limit;
  const gchar *pipeline;
  const gchar *poster; /* who tells of the kernel; NULL: the first error does */
  const gchar *next;   /* who posts an error because of that */
} rows[] = {
  /* No other frame follows. EOS comes after the work. The error of a kernel
   * that fails does not depend on the limit. */
  { TRAPPED, 5000, FRAMES (1) FILTER DOWN },
  { TRAPPED_LATE, 0, FRAMES (1) FILTER DOWN },
  { TRAPPED_LATE, 5000, FRAMES (1) FILTER " ! fakesink sync=false" },
  { TRAPPED_LATE, 5000, FRAMES (1) FILTER " ! queue" DOWN },
  { TRAPPED_LATE, 0, FRAMES (1) FILTER " ! vkgdrtensor ! fakesink sync=false" },
  /* Other frames follow. The source only knows that the stream has ended. */
  { TRAPPED_LATE, 5000, SOURCE FILTER " ! queue" DOWN, NULL, "source" },
  { TRAPPED_LATE, 5000, SOURCE FILTER " ! cudafilter kernel=invert" DOWN, NULL,
      "source" },
  { TRAPPED_LATE, 5000, SOURCE FILTER " ! vkgdrtensor ! fakesink", NULL,
      "source" },
  { ENDLESS, LIMIT, SOURCE FILTER DOWN },
  /* No element waits for the frame, and no other frame follows. */
  { ENDLESS, LIMIT, FRAMES (1) FILTER DOWN, "filter" },
  /* All buffers of the pool that the source uses wait for the kernel. */
  { ENDLESS, LIMIT, SOURCE FILTER " ! fakesink", "filter", "source" },
  /* The frame is mapped. */
  { ENDLESS, LIMIT, SOURCE FILTER " ! vkgdrdownload ! " SINK, "filter" },
  { ENDLESS, LIMIT, SOURCE FILTER " ! " SINK, "filter" },
  /* Filters that share a stream with the kernel, or wait for it. */
  { ENDLESS, LIMIT, SOURCE FILTER VICTIM DOWN },
  { ENDLESS, LIMIT, SOURCE FILTER " ! queue" VICTIM DOWN },
  { ENDLESS, LIMIT,
      SOURCE "vkgdrupload" VICTIM " ! cudafilter name=filter" DOWN },
};

/* Mapping a frame that an endless kernel writes fails. */
static void
map_frame (GstAppSink *sink)
{
  g_autoptr (GstSample) sample =
      gst_app_sink_try_pull_sample (sink, 5 * GST_SECOND);
  GstMapInfo map;

  fail_unless (sample != NULL);
  fail_if (gst_buffer_map (gst_sample_get_buffer (sample), &map, GST_MAP_READ));
}

/* The filter tells of its kernel, and does so only once. If the kernel fails,
 * its element posts the first error. A GPU does not tell this kernel from
 * another one that is queued: then the element of that kernel may post an
 * error, too. Valgrind runs one thread at a time, and this would be the endless
 * kernel. */
TEST_LOOP (kernels, G_N_ELEMENTS (rows))
{
  gboolean is_endless = g_str_equal (rows[__i__].source, ENDLESS);
  g_autoptr (GstBus) bus = NULL;
  GstElement *pipeline;
  GstMessage *message;
  gint n;

  TEST_NEEDS (!is_endless || !test_is_on_valgrind (), LEAKS);
  pipeline =
      launch (rows[__i__].source, rows[__i__].limit, rows[__i__].pipeline);
  bus = gst_element_get_bus (pipeline);
  play (pipeline);
  if (strstr (rows[__i__].pipeline, SINK))
    map_frame (GST_APP_SINK (test_find (pipeline, "sink")));
  message = next_error (pipeline, rows[__i__].poster);
  test_assert_says (
      error_of (message), is_endless ? TELLS_OF_ENDLESS : TELLS_OF_TRAP);
  n = is_from (message, "filter");
  fail_unless (is_endless || n == 1);
  gst_message_unref (message);
  if (rows[__i__].next)
    gst_message_unref (next_error (pipeline, rows[__i__].next));
  while ((message = gst_bus_timed_pop_filtered (
              bus, 300 * GST_MSECOND, GST_MESSAGE_ERROR))) {
    n += is_from (message, "filter");
    gst_message_unref (message);
  }
  fail_unless (n <= 1, "the filter says it again");
  stop (pipeline);
}

/* --- a kernel without an end --------------------------------------------- */

static gint n_memories; /* atomic; how many were seen and are not freed */

static void
on_freed (gpointer unused)
{
  g_atomic_int_add (&n_memories, -1);
}

static GstPadProbeReturn
watch_memory (GstPad *pad, GstPadProbeInfo *info, gpointer unused)
{
  GQuark quark = g_quark_from_static_string ("test-watched");
  GstMiniObject *memory = GST_MINI_OBJECT (
      gst_buffer_peek_memory (GST_PAD_PROBE_INFO_BUFFER (info), 0));

  if (!gst_mini_object_get_qdata (memory, quark)) {
    gst_mini_object_set_qdata (memory, quark, &n_memories, on_freed);
    g_atomic_int_inc (&n_memories);
  }
  return GST_PAD_PROBE_OK;
}

/* The foreign memory of upstream is pinned. The driver unpins it only when the
 * device is idle, so it is not freed while the kernel runs. */
TEST (foreign_memory_of_endless_kernel)
{
  GstElement *pipeline;

  TEST_NEEDS (!test_is_on_valgrind (), LEAKS);
  pipeline = launch (ENDLESS_LATER, LIMIT,
      "videotestsrc ! video/x-raw,format=RGBA,width=640,height=480 ! "
      "identity drop-allocation=true ! " FILTER " ! fakesink");
  test_add_probe (pipeline, "upload", "sink", GST_PAD_PROBE_TYPE_BUFFER,
      watch_memory, NULL);
  play (pipeline);
  assert_error (pipeline, "filter", TELLS_OF_ENDLESS);
  stop (pipeline);
  fail_unless (g_atomic_int_get (&n_memories) > 0, "all memories were freed");
}

/* --- other pipelines ----------------------------------------------------- */

/* Waits until @n more frames have reached the sink. */
static void
wait_frames (GstElement *pipeline, guint n)
{
  guint64 wanted = test_stat_of (pipeline, "sink", "rendered") + n;

  test_wait_for (test_stat_of (pipeline, "sink", "rendered") >= wanted);
}

static GstElement *
play_beside (const gchar *elements)
{
  GstElement *pipeline =
      test_launch (SOURCE "%s ! fakesink name=sink sync=true", elements);

  play (pipeline);
  wait_frames (pipeline, 3);
  return pipeline;
}

/* Lets the pipeline run for a time that is shorter than the limit. */
static void
play_shortly (GstElement *pipeline)
{
  play (pipeline);
  gst_element_get_state (pipeline, NULL, NULL, GST_SECOND / 10);
}

TEST (stop_of_endless_kernel)
{
  GstElement *pipeline;

  TEST_NEEDS (!test_is_on_valgrind (), LEAKS);
  pipeline = launch (ENDLESS, LIMIT, SOURCE FILTER DOWN);
  play_shortly (pipeline);
  stop (pipeline);
}

static const struct {
  const gchar *source;
  const gchar *pipeline;
} unlimited[] = {
  { ENDLESS, FRAMES (1) FILTER " ! fakesink" },
  { ENDLESS, FRAMES (1) FILTER DOWN },
  { ENDLESS, SOURCE FILTER " ! fakesink" },
  { ENDLESS, SOURCE FILTER DOWN },
  /* Elements that stop before the filter, and wait for its kernel. */
  { ENDLESS_LATER, FRAMES (9) FILTER " ! vkgdrtensor ! fakesink" },
  { ENDLESS_LATER, SOURCE FILTER " ! vkgdrtensor ! fakesink name=sink" },
  { ENDLESS_LATER,
      SOURCE FILTER " ! cudafilter kernel=invert ! fakesink name=sink" },
};

/* Without a limit, EOS and stop give the kernel some seconds. */
TEST_LOOP (unlimited_kernel, G_N_ELEMENTS (unlimited))
{
  GstElement *pipeline;

  TEST_NEEDS (!test_is_on_valgrind (), LEAKS);
  pipeline = launch (unlimited[__i__].source, 0, unlimited[__i__].pipeline);
  if (g_str_has_prefix (unlimited[__i__].pipeline, SOURCE)) {
    play_shortly (pipeline);
    if (strstr (unlimited[__i__].pipeline, "name=sink"))
      test_wait_for (test_stat_of (pipeline, "sink", "rendered") >= 9);
  } else {
    play (pipeline);
    assert_error (pipeline, "filter", "\"endless\" of filter|kernel-timeout");
  }
  stop (pipeline);
}

#define UP_AND_DOWN "vkgdrupload ! vkgdrdownload"
#define FILTERED "vkgdrupload ! cudafilter ! vkgdrdownload"

/* Other pipelines on the same CUDA context stop while the kernel runs, before
 * its time limit is over. They free memory, for which the driver waits. Others
 * continue. The driver cannot load a kernel while another kernel does not end:
 * an element that needs to load one posts an error instead of waiting for
 * ever. */
TEST (other_pipelines)
{
  GstElement *others[3], *pipeline, *late;

  TEST_NEEDS (!test_is_on_valgrind (), LEAKS);
  others[0] = play_beside (UP_AND_DOWN);
  others[1] = play_beside (FILTERED);
  others[2] = play_beside (FILTERED);
  pipeline = launch (ENDLESS, LIMIT, SOURCE FILTER DOWN);
  late = test_launch (SOURCE "vkgdrupload ! cudafilter kernel=flip ! fakesink");
  play_shortly (pipeline);
  stop (others[0]);
  stop (others[1]);
  assert_error (pipeline, NULL, TELLS_OF_ENDLESS);
  wait_frames (others[2], 10);
  stop (pipeline);
  wait_frames (others[2], 10);
  play (late);
  assert_error (late, NULL, TELLS_OF_ENDLESS);
  stop (late);
  stop (others[2]);
}

/* After the slow kernel has ended, the same pipeline works again with a longer
 * limit, or without one. Elements post errors until the library has noticed
 * that. */
TEST (recovery)
{
  g_autoptr (GstElement) pipeline = NULL;
  gint64 deadline;
  GError *error;

  TEST_NEEDS (!test_is_on_valgrind (), LEAKS);
  pipeline = launch (SLOW (1000), LIMIT, FRAMES (1) FILTER DOWN);
  play (pipeline);
  assert_error (pipeline, "filter", "\"slow\" of filter");
  gst_element_set_state (pipeline, GST_STATE_NULL);
  g_object_set (test_find (pipeline, "filter"), "kernel-timeout", 30000, NULL);
  deadline = g_get_monotonic_time () + SOON;
  while ((error = test_play_result (pipeline))) {
    fail_unless (g_get_monotonic_time () < deadline, "%s", error->message);
    g_error_free (error);
    g_usleep (10000);
  }
  g_object_set (test_find (pipeline, "filter"), "kernel-timeout", 0, NULL);
  test_play (pipeline);
}

/* --- kernels that fail --------------------------------------------------- */

/* The pipeline is stopped while the kernel runs that is going to fail. Its
 * element says so, although the element behind it stops first. */
static const gchar *const stopped[] = { SOURCE FILTER " ! fakesink",
  SOURCE FILTER " ! queue ! vkgdrtensor ! fakesink" };

TEST_LOOP (fault_after_stop, G_N_ELEMENTS (stopped))
{
  GstElement *pipeline = launch (TRAPPED_LATE, 5000, stopped[__i__]);
  g_autoptr (GstBus) bus = gst_element_get_bus (pipeline);
  g_autoptr (GstMessage) message = NULL;

  g_object_set (pipeline, "auto-flush-bus", FALSE, NULL);
  /* Fails if vkgdrtensor has to load its kernel, which waits for the device. */
  gst_element_set_state (pipeline, GST_STATE_PAUSED);
  gst_element_get_state (pipeline, NULL, NULL, 5 * GST_SECOND);
  gst_element_set_state (pipeline, GST_STATE_NULL);
  message = gst_bus_pop_filtered (bus, GST_MESSAGE_ERROR);
  fail_unless (message != NULL);
  fail_unless (is_from (message, "filter"));
  stop (pipeline);
}

/* After a kernel has failed, the driver fails until the process ends: for the
 * same pipeline, which has the context that failed, and for another one. */
TEST (restart_after_trapped_kernel)
{
  g_autoptr (GstElement) pipeline =
      launch (TRAPPED, LIMIT, FRAMES (3) FILTER DOWN);
  g_autoptr (GstElement) other = test_launch (FRAMES (3) FILTER DOWN);

  play (pipeline);
  assert_error (pipeline, NULL, "\"trapped\" of filter");
  gst_element_set_state (pipeline, GST_STATE_NULL);
  g_object_set (
      test_find (pipeline, "filter"), "source", NULL, "kernel", "invert", NULL);
  test_assert_says (test_play_result (pipeline), "restart the process");
  test_assert_says (test_play_result (other), "restart the process");
}

/* --- a driver that fails ------------------------------------------------- */

/* A device is lost: which call returns which error first, and again from then
 * on, and a word of the remedy. */
static const struct {
  const gchar *call, *error, *word;
} losses[] = {
  { "cuLaunchKernel:2+", "CUDA_ERROR_ILLEGAL_ADDRESS", "compute-sanitizer" },
  { "cuEventRecord:5+", "CUDA_ERROR_LAUNCH_FAILED", "compute-sanitizer" },
  { "cuEventQuery:3+", "CUDA_ERROR_LAUNCH_TIMEOUT", "display" },
  { "cuMemcpyDtoHAsync:2+", "CUDA_ERROR_ECC_UNCORRECTABLE", "nvidia-smi" },
  { "*:200+", "CUDA_ERROR_DEVICE_UNAVAILABLE", "nvidia-smi" },
  { "cuEventRecord:5+", "CUDA_ERROR_UNKNOWN", "dmesg" },
};

/* When the device works again, so does the pipeline. */
TEST_LOOP (lost_device, G_N_ELEMENTS (losses))
{
  g_autofree gchar *spec =
      g_strdup_printf ("%s:%s", losses[__i__].call, losses[__i__].error);
  g_autofree gchar *words =
      g_strdup_printf ("%s|%s", losses[__i__].error, losses[__i__].word);
  g_autoptr (GstElement) pipeline = test_launch (FRAMES (100) FILTER DOWN);

  g_setenv ("VKGDR_DRIVER", "software", TRUE);
  TEST_NEEDS (test_is_software (), "the software device");
  test_make_calls_fail (spec);
  test_assert_says (test_play_error (pipeline), words);
  test_make_calls_fail (NULL);
  test_play (pipeline);
}

/* --- launches ------------------------------------------------------------ */

#define COUNT "__global__ void count (unsigned int *number) { ++*number; }"
#define ENDLESS_COUNT \
  "__global__ void endless (volatile unsigned int *number) {" \
  " while (*number < 1000)" SLEEP "}"
#define N_THREADS 4
#define N_LAUNCHES 500

static GstVkgdrContext *context;
static GstVkgdrStream *stream;
static GstVkgdrFunction *function;
static GstMemory *number;
static gint n_failed; /* signals of `stream`; atomic */

static void
on_failed (GstVkgdrStream *failed, GError *error, gpointer unused)
{
  g_atomic_int_inc (&n_failed);
}

static void
init (const gchar *source, guint limit)
{
  const guint32 zero = 0;

  context = test_context_new ();
  stream = test_stream_new (context);
  g_signal_connect (stream, "failed", G_CALLBACK (on_failed), NULL);
  function = test_function_new (context, source);
  number = test_memory_new (context, sizeof (zero));
  fail_unless (gst_vkgdr_memory_upload (
      number, 0, (const guint8 *) &zero, sizeof (zero), stream, NULL));
  gst_vkgdr_stream_set_kernel_timeout (stream, limit);
}

static gboolean
launch_function (GError **error)
{
  guint64 pointer = gst_vkgdr_memory_get_device_pointer (number);

  return gst_vkgdr_function_launch (function, stream, 1, 1, 1, 1, 1, 1, 0,
      (const guint8 *) &pointer, sizeof (pointer), error);
}

static guint32
read_number (void)
{
  g_autofree guint8 *bytes = test_device_bytes (number);

  return *(guint32 *) bytes;
}

static gpointer
launch_many (gpointer unused)
{
  guint i;

  for (i = 0; i < N_LAUNCHES; i++) {
    fail_unless (launch_function (NULL));
    if (i % 3 == 0)
      gst_vkgdr_fence_unref (gst_vkgdr_stream_record (stream, NULL));
  }
  return NULL;
}

/* Several threads launch kernels on one stream, which run one after the other.
 * A launch launches: nothing else has to be called. */
TEST_LOOP (threads_launch, 2)
{
  GThread *threads[N_THREADS];
  guint i;

  init (COUNT, __i__ * 20000);
  for (i = 0; i < N_THREADS; i++)
    threads[i] = g_thread_new ("launch", launch_many, NULL);
  for (i = 0; i < N_THREADS; i++)
    g_thread_join (threads[i]);
  test_wait_for (read_number () == N_THREADS * N_LAUNCHES);
  fail_unless_equals_int (g_atomic_int_get (&n_failed), 0);
}

/* Nobody waits for the kernel, or records a fence behind it (__i__ is 0). A
 * thread that launches kernels and never waits (1) gets an error before the
 * driver's queue is full. With a full queue, the driver would block the
 * thread. */
TEST_LOOP (launches_behind_endless_kernel, 2)
{
  GError *error = NULL;
  guint n;

  TEST_NEEDS (!test_is_on_valgrind (), LEAKS);
  init (ENDLESS_COUNT, LIMIT);
  for (n = 0; launch_function (&error); n++)
    if (__i__ == 0)
      test_wait_for (g_atomic_int_get (&n_failed) > 0);
  fail_unless_equals_int (n, __i__ ? 64 : 1);
  test_assert_says (g_steal_pointer (&error), "\"endless\" of vkgdrstream");
  fail_unless_equals_int (g_atomic_int_get (&n_failed), 1);
  fail_if (gst_vkgdr_stream_synchronize (stream, &error));
  test_assert_says (error, "\"endless\" of vkgdrstream");
}
