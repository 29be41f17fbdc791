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
#define SOON (8 * G_TIME_SPAN_SECOND)

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

    gst_clear_message (&message);
    /* After a fault, a GPU that other processes use may need many seconds. */
    message = gst_bus_timed_pop_filtered (
        bus, GST_CLOCK_TIME_NONE, GST_MESSAGE_ERROR | GST_MESSAGE_EOS);
    fail_unless (GST_MESSAGE_TYPE (message) == GST_MESSAGE_ERROR);
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

TEST_PARALLEL (4);

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
static gpointer
map_frame (gpointer sink)
{
  g_autoptr (GstSample) sample =
      gst_app_sink_try_pull_sample (GST_APP_SINK (sink), 5 * GST_SECOND);
  GstMapInfo map;

  fail_unless (sample != NULL);
  fail_if (gst_buffer_map (gst_sample_get_buffer (sample), &map, GST_MAP_READ));
  return NULL;
}

/* The filter tells of its kernel, and does so only once. If the kernel fails,
 * its element posts the first error. A GPU does not tell this kernel from
 * another one that is queued: then the element of that kernel may post an
 * error, too. Valgrind runs one thread at a time, and this would be the endless
 * kernel. */
TEST_LOOP (kernels, G_N_ELEMENTS (rows))
{
  gboolean is_endless = g_str_equal (rows[__i__].source, ENDLESS);
  GstElement *pipeline =
      launch (rows[__i__].source, rows[__i__].limit, rows[__i__].pipeline);
  g_autoptr (GstBus) bus = gst_element_get_bus (pipeline);
  g_autoptr (GstElement) sink =
      gst_bin_get_by_name (GST_BIN (pipeline), "sink");
  GstMessage *message;
  GThread *reader = NULL;
  gint n;

  if (is_endless && test_is_on_valgrind ())
    return;
  play (pipeline);
  if (sink)
    reader = g_thread_new ("reader", map_frame, sink);
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
  if (reader)
    g_thread_join (reader);
  g_clear_object (&sink);
  stop (pipeline);
}

/* --- a kernel without an end --------------------------------------------- */

/* See above. Valgrind also reports memory that is not freed as leaks. */
TEST_ONLY_IF (!test_is_on_valgrind ());

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

/* The foreign memory of upstream is pinned. The driver unpins it only when the
 * device is idle, so it is not freed while the kernel runs. */
TEST (foreign_memory_of_endless_kernel)
{
  GstElement *pipeline = launch (ENDLESS_LATER, LIMIT,
      "videotestsrc ! video/x-raw,format=RGBA,width=640,height=480 ! "
      "identity drop-allocation=true ! " FILTER " ! fakesink");

  test_add_probe (pipeline, "upload", "sink", GST_PAD_PROBE_TYPE_BUFFER,
      watch_memory, NULL);
  play (pipeline);
  assert_error (pipeline, "filter", TELLS_OF_ENDLESS);
  stop (pipeline);
  fail_unless (g_atomic_int_get (&n_freed) < g_atomic_int_get (&n_memories),
      "all of %d memories were freed", g_atomic_int_get (&n_memories));
}

static void
on_failed (GstVkgdrStream *stream, GError *error, gint *n)
{
  g_atomic_int_inc (n);
}

/* Nobody waits for the kernel, or records a fence behind it (__i__ is 0). A
 * thread that launches kernels and never waits (1) gets an error before the
 * driver's queue is full. With a full queue, the driver would block the
 * thread. */
TEST_LOOP (launches_behind_endless_kernel, 2)
{
  g_autoptr (GstVkgdrContext) context = test_context_new ();
  g_autoptr (GstVkgdrStream) stream = test_stream_new (context);
  g_autoptr (GstBuffer) buffer = gst_buffer_new ();
  GError *error = NULL;
  g_autoptr (GstVkgdrKernel) kernel = gst_vkgdr_kernel_new_from_source (
      context, ENDLESS, NULL, NULL, NULL, &error);
  gint n, failed = 0;
  GstVideoInfo info;

  g_assert_no_error (error);
  gst_video_info_set_format (&info, GST_VIDEO_FORMAT_GRAY8, 64, 48);
  gst_buffer_append_memory (buffer, test_memory_new (context, 64 * 48));
  gst_vkgdr_stream_set_kernel_timeout (stream, LIMIT);
  g_signal_connect (stream, "failed", G_CALLBACK (on_failed), &failed);
  for (n = 0; gst_vkgdr_kernel_run (
           kernel, stream, buffer, &info, buffer, &info, n, NULL, &error);
       n++)
    if (__i__ == 0)
      test_wait_for (g_atomic_int_get (&failed) > 0);
  fail_unless_equals_int (n, __i__ ? 64 : 1);
  test_assert_says (g_steal_pointer (&error), "\"endless\" of vkgdrstream");
  fail_unless_equals_int (g_atomic_int_get (&failed), 1);
  fail_if (gst_vkgdr_stream_synchronize (stream, &error));
  test_assert_says (error, "\"endless\" of vkgdrstream");
}

/* --- other pipelines ----------------------------------------------------- */

static GstElement *
play_beside (const gchar *elements)
{
  GstElement *pipeline =
      test_launch (SOURCE "%s ! fakesink name=sink sync=true", elements);

  play (pipeline);
  return pipeline;
}

/* Waits until @n more frames have reached the sink. */
static void
wait_frames (GstElement *pipeline, guint n)
{
  guint64 wanted = test_stat_of (pipeline, "sink", "rendered") + n;

  test_wait_for (test_stat_of (pipeline, "sink", "rendered") >= wanted);
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
  GstElement *pipeline = launch (ENDLESS, LIMIT, SOURCE FILTER DOWN);

  play_shortly (pipeline);
  stop (pipeline);
}

static const gchar *const neighbours[] = {
  "vkgdrupload ! cudafilter ! vkgdrdownload", "vkgdrupload ! vkgdrdownload"
};

#define FAR "videoconvert ! video/x-raw,format=I420"

/* Other pipelines continue, even those on the same CUDA context. */
TEST (other_pipelines)
{
  GstElement *far = play_beside (FAR);
  GstElement *near = play_beside (neighbours[0]);
  GstElement *pipeline = launch (ENDLESS, LIMIT, SOURCE FILTER DOWN);

  wait_frames (near, 3);
  play (pipeline);
  assert_error (pipeline, NULL, TELLS_OF_ENDLESS);
  wait_frames (near, 10);
  wait_frames (far, 10);
  stop (pipeline);
  wait_frames (near, 10);
  stop (near);
  wait_frames (far, 10);
  stop (far);
}

/* A pipeline is stopped while the kernel of another one runs, before its time
 * limit is over. It frees memory, for which the driver waits. */
TEST_LOOP (stop_beside_endless_kernel, G_N_ELEMENTS (neighbours))
{
  GstElement *near = play_beside (neighbours[__i__]);
  GstElement *pipeline = launch (ENDLESS, LIMIT, SOURCE FILTER DOWN);

  wait_frames (near, 3);
  play_shortly (pipeline);
  stop (near);
  assert_error (pipeline, "filter", TELLS_OF_ENDLESS);
  stop (pipeline);
}

/* The driver cannot load a kernel while another kernel does not end. An element
 * that needs to load one posts an error instead of waiting for ever. */
TEST (start_on_hung_device)
{
  GstElement *pipeline = launch (ENDLESS, LIMIT, SOURCE FILTER DOWN);
  GstElement *other = test_launch (
      SOURCE "vkgdrupload ! cudafilter name=late kernel=invert ! fakesink");

  play (pipeline);
  assert_error (pipeline, NULL, TELLS_OF_ENDLESS);
  gst_element_set_state (pipeline, GST_STATE_NULL);
  play (other);
  assert_error (other, NULL, TELLS_OF_ENDLESS);
  stop (other);
  stop (pipeline);
}

TEST_ONLY_IF (TRUE);

/* --- slow kernels -------------------------------------------------------- */

static const struct {
  const gchar *source;
  guint limit;
  const gchar *description;
} slow[] = {
  /* Each kernel takes much less than the limit, even on a busy machine. */
  { SLOW (20), 4 * LIMIT,
      FRAMES (120) "vkgdrupload ! queue max-size-buffers=120 ! cudafilter "
                   "name=filter ! queue max-size-buffers=120" DOWN },
  { SLOW (1200), 0, FRAMES (2) FILTER DOWN },
};

TEST_LOOP (slow_kernels, G_N_ELEMENTS (slow))
{
  g_autoptr (GstElement) pipeline =
      launch (slow[__i__].source, slow[__i__].limit, slow[__i__].description);

  test_play (pipeline);
}

/* After the slow kernel has ended, the same pipeline works again with a longer
 * limit. The library checks several times per second whether a kernel that ran
 * for too long has ended, and elements post errors until it has noticed. */
TEST_IF (recovery, !test_is_on_valgrind ())
{
  g_autoptr (GstVkgdrContext) context = test_context_new ();
  g_autoptr (GstElement) pipeline =
      launch (SLOW (1000), LIMIT, FRAMES (1) FILTER DOWN);
  gint64 deadline;
  GError *error;

  play (pipeline);
  assert_error (pipeline, "filter", "\"slow\" of filter");
  gst_element_set_state (pipeline, GST_STATE_NULL);
  fail_unless (gst_vkgdr_context_push (context, NULL));
  fail_unless_equals_int (
      vkgdr_driver_load ()->cuCtxSynchronize (), CUDA_SUCCESS);
  gst_vkgdr_context_pop (context);

  g_object_set (test_find (pipeline, "filter"), "kernel-timeout", 30000, NULL);
  deadline = g_get_monotonic_time () + SOON;
  while ((error = test_play_result (pipeline))) {
    fail_unless (g_get_monotonic_time () < deadline, "%s", error->message);
    g_error_free (error);
    g_usleep (10000);
  }
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
  if (__i__ == 0) {
    test_preroll (pipeline);
  } else {
    /* Fails if vkgdrtensor has to load its kernel, which waits for the device.
     */
    gst_element_set_state (pipeline, GST_STATE_PAUSED);
    gst_element_get_state (pipeline, NULL, NULL, 5 * GST_SECOND);
  }
  gst_element_set_state (pipeline, GST_STATE_NULL);
  message = gst_bus_pop_filtered (bus, GST_MESSAGE_ERROR);
  fail_unless (message != NULL);
  fail_unless (is_from (message, "filter"));
  stop (pipeline);
}

/* After a kernel has failed, the driver fails until the process ends. __i__ is
 * 0 for another pipeline, and 1 for the same one, which has the context that
 * failed. */
TEST_LOOP (restart_after_trapped_kernel, 2)
{
  GstElement *pipeline = launch (TRAPPED, LIMIT, FRAMES (3) FILTER DOWN);
  GstElement *again =
      __i__ ? pipeline
            : test_launch (FRAMES (3) "vkgdrupload ! cudafilter name=filter"
                                      " ! vkgdrdownload ! fakesink");

  play (pipeline);
  assert_error (pipeline, NULL, "\"trapped\" of filter");
  gst_element_set_state (pipeline, GST_STATE_NULL);
  g_object_set (
      test_find (again, "filter"), "source", NULL, "kernel", "invert", NULL);
  test_assert_says (test_play_result (again), "restart the process");
  gst_object_unref (pipeline);
  if (again != pipeline)
    gst_object_unref (again);
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

#define ELEMENTS "vkgdrupload ! cudafilter ! vkgdrdownload ! " FAR " ! fakesink"

TEST_LOOP (lost_device, G_N_ELEMENTS (losses))
{
  g_autofree gchar *spec =
      g_strdup_printf ("%s:%s", losses[__i__].call, losses[__i__].error);
  g_autofree gchar *words =
      g_strdup_printf ("%s|%s", losses[__i__].error, losses[__i__].word);
  GstElement *pipeline, *far;
  GError *error;

  g_setenv ("VKGDR_DRIVER", "software", TRUE);
  if (!test_is_software ())
    return;
  far = play_beside (FAR);
  pipeline = test_launch (SOURCE ELEMENTS);
  test_make_calls_fail (spec);
  play (pipeline);
  assert_error (pipeline, NULL, words);
  stop (pipeline);
  wait_frames (far, 2);

  /* The device is still lost at first, and then works again. */
  pipeline = test_launch (FRAMES (9) ELEMENTS);
  error = test_play_result (pipeline);
  g_clear_error (&error);
  test_make_calls_fail (NULL);
  test_play (pipeline);
  stop (pipeline);
  stop (far);
}

/* --- launches ------------------------------------------------------------ */

#define COUNT "__global__ void count (unsigned int *number) { ++*number; }"
#define N_THREADS 4
#define N_LAUNCHES 500

static GstVkgdrStream *stream;
static GstVkgdrFunction *count;
static GstMemory *number;
static gint n_failed; /* signals of `stream`; atomic */

static void
setup (void)
{
  const guint32 zero = 0;

  test_setup ();
  stream = test_stream_new (test_context);
  g_signal_connect (stream, "failed", G_CALLBACK (on_failed), &n_failed);
  count = test_function_new (test_context, COUNT);
  number = test_memory_new (test_context, sizeof (zero));
  fail_unless (gst_vkgdr_memory_upload (
      number, 0, (const guint8 *) &zero, sizeof (zero), stream, NULL));
}

static gboolean
launch_count (GError **error)
{
  guint64 pointer = gst_vkgdr_memory_get_device_pointer (number);

  return gst_vkgdr_function_launch (count, stream, 1, 1, 1, 1, 1, 1, 0,
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
    fail_unless (launch_count (NULL));
    if (i % 3 == 0)
      gst_vkgdr_fence_unref (gst_vkgdr_stream_record (stream, NULL));
  }
  return NULL;
}

TEST_FIXTURE (setup, NULL);

/* Several threads launch kernels on one stream, which run one after the other.
 * A launch launches: nothing else has to be called. */
TEST_LOOP (threads_launch, 2)
{
  GThread *threads[N_THREADS];
  guint i;

  gst_vkgdr_stream_set_kernel_timeout (stream, __i__ * 20000);
  for (i = 0; i < N_THREADS; i++)
    threads[i] = g_thread_new ("launch", launch_many, NULL);
  for (i = 0; i < N_THREADS; i++)
    g_thread_join (threads[i]);
  test_wait_for (read_number () == N_THREADS * N_LAUNCHES);
  fail_unless_equals_int (g_atomic_int_get (&n_failed), 0);
}

/* A launch that returns an error never exceeds its limit, and other kernels of
 * the stream run. */
TEST (failed_launch_is_withdrawn)
{
  GError *error = NULL;

  if (!test_is_software ())
    return;
  gst_vkgdr_stream_set_kernel_timeout (stream, 200);
  test_make_calls_fail ("cuLaunchKernel:1:CUDA_ERROR_NOT_READY");
  fail_if (launch_count (&error));
  test_assert_says (error, "CUDA_ERROR_NOT_READY|count");
  g_usleep (600 * 1000);
  fail_unless (launch_count (NULL));
  test_wait_for (read_number () == 1);
  fail_unless_equals_int (g_atomic_int_get (&n_failed), 0);
}
