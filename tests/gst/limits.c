/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * limits.c: which time counts for the limit of a kernel, and which kernel an
 * error names
 *
 * Most tests run a subclass of GstVkgdrFilter whose work is a function of the
 * test.
 */

#include <dlfcn.h>

#include "gate.h"

#define CAPS \
  "video/x-raw(memory:VkgdrMemory),format=GRAY8,width=64,height=64," \
  "framerate=30/1"

/* The time limit of kernels, in milliseconds. "slow" runs for two thirds of it,
 * "too_slow" for ten times as long. */
#define LIMIT 300

/* Much longer than the limit. */
#define LONG (3 * LIMIT * G_TIME_SPAN_MILLISECOND)

#define GET_TIME "asm volatile (\"mov.u64 %0, %%globaltimer;\" : \"=l\"(now)); "

/* A kernel that runs for this time, also on a busy machine. It takes no
 * processor from other tests. */
#define SLEEP(name, ms) \
  "__global__ void " name " () { unsigned long long now, end; " GET_TIME \
  "end = now + " #ms " * 1000000ull; " \
  "while (now < end) { __nanosleep (1000000); " GET_TIME "} }"

static GstVkgdrFunction *nothing, *slow, *too_slow;

static gboolean
launch (GstVkgdrFunction *function, GstVkgdrStream *stream, GError **error)
{
  return gst_vkgdr_function_launch (
      function, stream, 1, 1, 1, 1, 1, 1, 0, NULL, 0, error);
}

static void
setup (void)
{
  test_setup ();
  nothing = test_function_new (test_context, "__global__ void nothing () {}");
  slow = test_function_new (test_context, SLEEP ("slow", 200));
  too_slow = test_function_new (test_context, SLEEP ("too_slow", 3000));
}

static void
teardown (void)
{
  gst_object_unref (nothing);
  gst_object_unref (slow);
  gst_object_unref (too_slow);
  test_teardown ();
}

/* With a slow tool, the work for the device takes longer than the limits. */
static void
require_speed (void)
{
  if (!test_is_slow ())
    return;
  g_print ("skipped: this process is too slow for the time limits\n");
  exit (77);
}

TEST_REQUIRE (require_speed);

TEST_PARALLEL (2);

TEST_FIXTURE (setup, teardown);

/* --- a filter with a limit ------------------------------------------------ */

typedef gboolean (*Work) (GstVkgdrStream *stream, GError **error);

static Work work;

typedef GstVkgdrFilter Limited;
typedef GstVkgdrFilterClass LimitedClass;

static GType limited_get_type (void);
G_DEFINE_TYPE (Limited, limited, GST_TYPE_VKGDR_FILTER)

static gboolean
limited_filter (GstVkgdrFilter *self, GstBuffer *input, GstBuffer *output,
    GstVkgdrStream *stream, GError **error)
{
  gst_vkgdr_stream_set_kernel_timeout (stream, LIMIT);
  return work (stream, error);
}

static void
limited_class_init (LimitedClass *klass)
{
  static GstStaticPadTemplate sink = GST_STATIC_PAD_TEMPLATE (
      "sink", GST_PAD_SINK, GST_PAD_ALWAYS, GST_STATIC_CAPS (CAPS));
  static GstStaticPadTemplate src = GST_STATIC_PAD_TEMPLATE (
      "src", GST_PAD_SRC, GST_PAD_ALWAYS, GST_STATIC_CAPS (CAPS));
  GstElementClass *element_class = GST_ELEMENT_CLASS (klass);

  gst_element_class_add_static_pad_template (element_class, &sink);
  gst_element_class_add_static_pad_template (element_class, &src);
  gst_element_class_set_static_metadata (
      element_class, "Limited", "Filter", "Has a limit", "The project");
  klass->filter = limited_filter;
}

static void
limited_init (Limited *self)
{
}

/* Filters a frame, and waits until its work is done. Returns the error that the
 * filter posts, or NULL. */
static GError *
filter_frame (Work function)
{
  GstBufferPool *pool = test_pool_new (CAPS, 64 * 64, 2, 0);
  g_autoptr (GstBus) bus = gst_bus_new ();
  g_autoptr (GstMessage) message = NULL;
  g_autoptr (GstElement) element = NULL;
  g_autoptr (GstHarness) h = NULL;
  GError *error = NULL;

  work = function;
  gst_element_register (NULL, "limited", GST_RANK_NONE, limited_get_type ());
  h = test_harness_parse ("limited name=limited");
  element = gst_harness_find_element (h, "limited");
  gst_element_set_bus (element, bus);
  gst_harness_set_src_caps_str (h, CAPS);
  gst_harness_push (h, test_pool_acquire (pool));
  gst_harness_push_event (h, gst_event_new_eos ());
  message = gst_bus_pop_filtered (bus, GST_MESSAGE_ERROR);
  if (message)
    gst_message_parse_error (message, &error, NULL);
  test_pool_free (pool);
  return error;
}

/* --- which time counts ---------------------------------------------------- */

/* Each kernel has the limit for itself. */
static gboolean
launch_twice (GstVkgdrStream *stream, GError **error)
{
  return launch (slow, stream, error) && launch (slow, stream, error);
}

/* The time that the CPU needs after the launch does not count. */
static gboolean
launch_and_compute (GstVkgdrStream *stream, GError **error)
{
  gboolean ok = launch (nothing, stream, error);

  g_usleep (LONG);
  return ok;
}

static gboolean
launch_and_wait (GstVkgdrStream *stream, GError **error)
{
  return launch (slow, stream, error)
         && gst_vkgdr_stream_synchronize (stream, error)
         && launch (slow, stream, error);
}

/* More than the driver's queue can hold. */
static gboolean
launch_often (GstVkgdrStream *stream, GError **error)
{
  guint i;

  for (i = 0; i < 3000; i++)
    if (!launch (nothing, stream, error))
      return FALSE;
  return TRUE;
}

static gpointer
launch_in_thread (gpointer stream)
{
  GError *error = NULL;

  fail_unless (launch (slow, stream, &error));
  fail_unless (gst_vkgdr_stream_synchronize (stream, &error), "%s",
      error ? error->message : "");
  return NULL;
}

/* Another thread uses the stream while the kernel of this one runs. */
static gboolean
launch_with_thread (GstVkgdrStream *stream, GError **error)
{
  gboolean ok = launch (slow, stream, error);

  g_thread_join (g_thread_new ("other", launch_in_thread, stream));
  g_usleep (LONG);
  return ok;
}

/* Memory that is freed while a kernel uses it. */
static gboolean
launch_and_free (GstVkgdrStream *stream, GError **error)
{
  GstMemory *memory = test_memory_new (test_context, 1000);
  gboolean ok =
      gst_vkgdr_memory_begin_access (memory, stream, GST_MAP_WRITE, error)
      && launch (slow, stream, error)
      && gst_vkgdr_memory_end_access (memory, stream, GST_MAP_WRITE, error);

  gst_memory_unref (memory);
  return ok;
}

/* The function makes no CUDA context current, as the CUDA runtime may do. */
static gboolean
launch_and_set_current (GstVkgdrStream *stream, GError **error)
{
  gboolean ok = launch (nothing, stream, error);
  CUresult (*set_current) (CUcontext);
  Dl_info info;
  void *library;

  fail_unless (dladdr ((void *) vkgdr_driver_load ()->cuLaunchKernel, &info));
  library = dlopen (info.dli_fname, RTLD_NOW | RTLD_NOLOAD);
  *(void **) &set_current = dlsym (library, "cuCtxSetCurrent");
  fail_unless (set_current != NULL);
  fail_unless_equals_int (set_current (NULL), CUDA_SUCCESS);
  dlclose (library);
  return ok;
}

static gboolean
launch_nothing (GstVkgdrStream *stream, GError **error)
{
  return TRUE;
}

static const Work in_time[] = { launch_twice, launch_and_compute,
  launch_and_wait, launch_often, launch_with_thread, launch_and_free,
  launch_and_set_current, launch_nothing };

TEST_LOOP (filters_in_time, G_N_ELEMENTS (in_time))
{
  g_autoptr (GError) error = filter_frame (in_time[__i__]);

  fail_unless (error == NULL, "%s", error ? error->message : "");
}

/* Work of others on the stream in front of the kernel does not count. __i__ is
 * 1: the stream belongs to another library. */
TEST_LOOP (other_work_first, 2)
{
  g_autoptr (GstVkgdrStream) own = test_stream_new (test_context);
  g_autoptr (GstVkgdrStream) stream = NULL;
  GError *error = NULL;

  stream = __i__ ? gst_vkgdr_stream_new_wrapped (
               test_context, gst_vkgdr_stream_get_handle (own), NULL)
                 : gst_object_ref (own);
  gst_vkgdr_stream_set_kernel_timeout (stream, LIMIT);
  test_stream_delay (stream, LONG / G_TIME_SPAN_MILLISECOND, NULL);
  fail_unless (launch (nothing, stream, NULL));
  fail_unless (gst_vkgdr_stream_synchronize (stream, &error), "%s",
      error ? error->message : "");
}

/* A kernel does not answer for the work of another stream that it waits for,
 * nor does the next one of its stream. __i__ is 1: a copy on the stream is
 * between the wait and the kernel. */
TEST_LOOP (other_stream_first, 2)
{
  g_autoptr (GstVkgdrStream) other = test_stream_new (test_context);
  g_autoptr (GstVkgdrStream) stream = test_stream_new (test_context);
  GstMemory *memory = test_memory_new (test_context, 1000);
  g_autoptr (GstVkgdrFence) fence = NULL;
  GError *error = NULL;
  guint i;

  gst_vkgdr_stream_set_kernel_timeout (stream, LIMIT);
  fail_unless (launch (too_slow, other, NULL));
  fence = gst_vkgdr_stream_record (other, NULL);
  fail_unless (gst_vkgdr_stream_wait (stream, fence, NULL));
  if (__i__)
    fail_unless (gst_vkgdr_memory_fill (memory, 0, 1000, 1, stream, NULL));
  for (i = 0; i < 2; i++)
    fail_unless (launch (nothing, stream, NULL));
  fail_unless (gst_vkgdr_stream_synchronize (stream, &error), "%s",
      error ? error->message : "");
  gst_memory_unref (memory);
}

/* --- kernels that exceed the limit ---------------------------------------- */

static gboolean
launch_too_slow (GstVkgdrStream *stream, GError **error)
{
  return launch (too_slow, stream, error);
}

/* A thread that waits inside of its own work. */
static gboolean
launch_too_slow_and_wait (GstVkgdrStream *stream, GError **error)
{
  GError *reason = NULL;

  fail_unless (launch (too_slow, stream, NULL));
  fail_if (gst_vkgdr_stream_synchronize (stream, &reason));
  g_propagate_error (error, reason);
  return FALSE;
}

/* The kernel of another thread, which waits for it. This thread waits for the
 * other one. */
static gpointer
wait_in_thread (gpointer stream)
{
  fail_if (launch (too_slow, stream, NULL)
           && gst_vkgdr_stream_synchronize (stream, NULL));
  return NULL;
}

static gboolean
launch_and_join (GstVkgdrStream *stream, GError **error)
{
  fail_unless (launch (nothing, stream, NULL));
  g_thread_join (g_thread_new ("other", wait_in_thread, stream));
  return TRUE;
}

static const Work too_late[] = { launch_too_slow, launch_too_slow_and_wait,
  launch_and_join };

TEST_LOOP (filters_too_late, G_N_ELEMENTS (too_late))
{
  gint64 began = g_get_monotonic_time ();

  test_assert_says (filter_frame (too_late[__i__]),
      "\"too_slow\" of limited|300 ms|kernel-timeout");
  fail_unless (g_get_monotonic_time () - began
               < test_limit (8 * LIMIT * G_TIME_SPAN_MILLISECOND));
  /* The context can be closed when the kernel has ended. */
  test_wait_for (gst_vkgdr_context_synchronize (test_context, NULL));
}

/* --- which kernel an error names ------------------------------------------ */

static gboolean
launch_and_lose (GstVkgdrStream *stream, GError **error)
{
  gboolean ok = launch (nothing, stream, error);

  test_make_calls_fail ("cuEventRecord:1+:CUDA_ERROR_LAUNCH_FAILED");
  return ok;
}

/* The driver reports the failure of the kernel when its event is recorded. */
TEST (record_names_the_kernel)
{
  g_autoptr (GError) error = NULL;

  /* Calls of a GPU's driver cannot be made to fail. */
  TEST_NEEDS (test_is_software (), "the software device");
  error = filter_frame (launch_and_lose);
  test_make_calls_fail (NULL);
  fail_unless (error != NULL);
  fail_unless (strstr (error->message, "kernel \"nothing\" of limited"), "%s",
      error->message);
}
