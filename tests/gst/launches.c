/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * launches.c: tests of launches on a stream: their order, their time limits,
 * and launches that fail
 *
 * Each kernel appends a digit to a number, so the number shows which kernels
 * have run, and in which order.
 */

#include "util.h"

#define APPEND \
  "__global__ void append (unsigned int *number, int digit)" \
  "{ *number = *number * 10 + digit; }"

/* Adds the digit after about 100 ms. If the machine is busy, each sleep ends
 * some milliseconds late. */
#define APPEND_LATE \
  "__global__ void append_late (unsigned int *number, int digit)" \
  "{ for (int i = 0; i < 100; i++) __nanosleep (1000000);" \
  "  *number = *number * 10 + digit; }"

static GstVkgdrStream *stream, *other;
static GstVkgdrFunction *append, *append_late;
static GstMemory *number;
static gint n_failed; /* signals of `stream`; atomic */

static void
on_failed (GstVkgdrStream *object, GError *error, gpointer unused)
{
  g_atomic_int_inc (&n_failed);
}

static void
setup (void)
{
  const guint32 zero = 0;

  test_setup ();
  stream = test_stream_new (test_context);
  g_signal_connect (stream, "failed", G_CALLBACK (on_failed), NULL);
  other = test_stream_new (test_context);
  append = test_function_new (test_context, APPEND);
  append_late = test_function_new (test_context, APPEND_LATE);
  number = test_memory_new (test_context, sizeof (guint32));
  fail_unless (gst_vkgdr_memory_upload (
      number, 0, (const guint8 *) &zero, sizeof (zero), other, NULL));
  fail_unless (gst_vkgdr_stream_synchronize (other, NULL));
}

static void
teardown (void)
{
  if (test_is_software ())
    test_make_calls_fail (NULL);
  gst_clear_object (&append_late);
  gst_clear_object (&append);
  gst_clear_object (&other);
  gst_clear_object (&stream);
  gst_memory_unref (number);
  test_teardown ();
}

static gboolean
try_launch (GstVkgdrFunction *function, gint digit, GError **error)
{
  struct {
    guint64 number;
    gint32 digit;
  } arguments = { gst_vkgdr_memory_get_device_pointer (number), digit };

  return gst_vkgdr_function_launch (function, stream, 1, 1, 1, 1, 1, 1, 0,
      (const guint8 *) &arguments, 12, error);
}

static void
launch (GstVkgdrFunction *function, gint digit)
{
  GError *error = NULL;

  try_launch (function, digit, &error);
  g_assert_no_error (error);
}

/* Returns the digits of the kernels that have run. */
static guint
read_number (void)
{
  guint8 *bytes = test_device_bytes (number);
  guint32 value;

  memcpy (&value, bytes, sizeof (value));
  g_free (bytes);
  return value;
}

/* Waits for the stream, and checks the digits. */
static void
assert_number (guint wanted)
{
  GError *error = NULL;

  gst_vkgdr_stream_synchronize (stream, &error);
  g_assert_no_error (error);
  fail_unless_equals_int (read_number (), wanted);
}

TEST_PARALLEL (2);

TEST_FIXTURE (setup, teardown);

/* A launch launches: nothing else has to be called. */
TEST_LOOP (a_launch_launches, 2)
{
  gst_vkgdr_stream_set_kernel_timeout (stream, __i__ * 10000);
  launch (append, 1);
  launch (append, 2);
  test_wait_for (read_number () == 12);
}

/* Each kernel takes much less than the limit, but all queued kernels together
 * take longer: the time of a kernel begins when the kernels in front of it have
 * ended. No fence is recorded between the kernels. */
TEST (limit_is_for_each_kernel)
{
  guint32 wanted = 0;
  guint i;

  gst_vkgdr_stream_set_kernel_timeout (stream, 1500);
  for (i = 0; i < 25; i++) {
    launch (append_late, i % 7 + 1);
    wanted = wanted * 10 + i % 7 + 1;
  }
  assert_number (wanted);
  fail_unless_equals_int (g_atomic_int_get (&n_failed), 0);
}

/* The kernel exceeds its limit. Nobody records a fence behind it, and nobody
 * waits for it. */
TEST (limit_of_a_lone_kernel)
{
  gst_vkgdr_stream_set_kernel_timeout (stream, 20);
  launch (append_late, 1);
  test_wait_for (g_atomic_int_get (&n_failed) > 0);
  fail_unless_equals_int (g_atomic_int_get (&n_failed), 1);
  fail_if (try_launch (append, 2, NULL));
}

/* A launch that returns an error is withdrawn: it never exceeds its limit, and
 * other kernels of the stream run. */
TEST (failed_launch_is_withdrawn)
{
  GError *error = NULL;

  if (!test_is_software ())
    return;
  gst_vkgdr_stream_set_kernel_timeout (stream, 200);
  test_make_calls_fail ("cuLaunchKernel:1:CUDA_ERROR_NOT_READY");
  fail_if (try_launch (append, 1, &error));
  test_assert_says (error, "CUDA_ERROR_NOT_READY|append");
  g_usleep (600 * 1000);
  launch (append, 2);
  assert_number (2);
  fail_unless_equals_int (g_atomic_int_get (&n_failed), 0);
  fail_unless (gst_vkgdr_context_synchronize (test_context, NULL));
}

#define N_THREADS 4
#define N_LAUNCHES 500

static gpointer
launch_many (gpointer unused)
{
  guint i;

  for (i = 0; i < N_LAUNCHES; i++) {
    launch (append, 0);
    if (i % 3 == 0)
      gst_vkgdr_fence_unref (gst_vkgdr_stream_record (stream, NULL));
  }
  return NULL;
}

/* Several threads launch kernels on one stream. */
TEST_LOOP (threads, 2)
{
  GThread *threads[N_THREADS];
  guint i;

  gst_vkgdr_stream_set_kernel_timeout (stream, __i__ * 20000);
  for (i = 0; i < N_THREADS; i++)
    threads[i] = g_thread_new ("launch", launch_many, NULL);
  for (i = 0; i < N_THREADS; i++)
    g_thread_join (threads[i]);
  assert_number (0);
  fail_unless_equals_int (g_atomic_int_get (&n_failed), 0);
}
