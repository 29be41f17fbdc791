/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * launches.c: tests of kernels that are known to end: the library keeps them,
 * and launches them together before any other work of their stream
 *
 * Each kernel appends a digit to a number, so the number shows which kernels
 * have run, and in which order.
 */

#include "kernel/module.h"
#include "sync/sync-private.h"
#include "util.h"

#define APPEND \
  "__global__ void append (unsigned int *number, int digit)" \
  "{ *number = *number * 10 + digit; }"

/* Adds the digit after a while. */
#define APPEND_LATE \
  "__global__ void append_late (unsigned int *number, int digit)" \
  "{ for (int i = 0; i < 100; i++) __nanosleep (1000000);" \
  "  *number = *number * 10 + digit; }"

/* The library launches at most this number of kernels together. */
#define LENGTH_MAX 8

static GstVkgdrStream *stream, *other;
static GstVkgdrFunction *append, *append_late;
static GstMemory *number;

static GstVkgdrFunction *
make_function (const gchar *source, gboolean is_bounded)
{
  GstVkgdrFunction *function = test_function_new (test_context, source);

  function->is_bounded = is_bounded;
  return function;
}

static void
setup (void)
{
  const guint32 zero = 0;

  test_setup ();
  stream = test_stream_new (test_context);
  other = test_stream_new (test_context);
  gst_vkgdr_stream_set_defers (stream, TRUE);
  append = make_function (APPEND, TRUE);
  append_late = make_function (APPEND_LATE, FALSE);
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

  fail_unless (
      try_launch (function, digit, &error), "%s", error ? error->message : "");
}

static guint
get_number (void)
{
  guint8 *bytes = test_device_bytes (number);
  guint32 value;

  memcpy (&value, bytes, sizeof (value));
  g_free (bytes);
  return value;
}

/* Waits for the number without a call that concerns the stream. */
static void
assert_becomes (guint wanted)
{
  guint i;

  for (i = 0; i < 1000 && get_number () != wanted; i++)
    g_usleep (5 * 1000);
  fail_unless_equals_int (get_number (), wanted);
}

static void
assert_stays (guint wanted)
{
  g_usleep (30 * 1000);
  fail_unless_equals_int (get_number (), wanted);
}

static void
synchronize (void)
{
  GError *error = NULL;

  fail_unless (gst_vkgdr_stream_synchronize (stream, &error), "%s",
      error ? error->message : "");
}

/* How many calls this thread has made since @n was set to the result of
 * count_calls (name, 0). Always @n on a GPU. */
static guint
count_calls (const gchar *name, guint n)
{
  return test_is_software () ? test_count_calls (name) - n : n;
}

/* --- what makes the library launch ---------------------------------------- */

static GstVkgdrFence *fence; /* behind the kernels, or NULL */

static void
query_fence (void)
{
  gst_vkgdr_fence_is_signaled (fence);
}

static void
wait_for_fence (void)
{
  fail_unless (gst_vkgdr_fence_wait (fence, NULL));
}

static gpointer
wait_in_thread (gpointer data)
{
  wait_for_fence ();
  return NULL;
}

static void
wait_for_fence_elsewhere (void)
{
  g_thread_join (g_thread_new ("other", wait_in_thread, NULL));
}

static void
let_stream_wait_for_fence (void)
{
  fail_unless (gst_vkgdr_stream_wait (other, fence, NULL));
}

static void
record_fence (void)
{
  GstVkgdrFence *recorded = gst_vkgdr_stream_record (stream, NULL);

  fail_unless (recorded != NULL);
  gst_vkgdr_fence_unref (recorded);
}

static void
record_event (void)
{
  GstVkgdrEvent *event = gst_vkgdr_event_new (test_context, NULL);

  fail_unless (gst_vkgdr_event_record (event, stream, NULL));
  gst_object_unref (event);
}

static void
measure (void)
{
  GstVkgdrTimer *timer = gst_vkgdr_timer_new (test_context);

  gst_vkgdr_timer_begin (timer, stream);
  gst_vkgdr_timer_end (timer, stream);
  gst_vkgdr_timer_free (timer);
}

static void
wait_for_stream (void)
{
  synchronize ();
}

static void
ask_stream (void)
{
  gst_vkgdr_stream_is_done (stream);
}

static void
wait_for_context (void)
{
  fail_unless (gst_vkgdr_context_synchronize (test_context, NULL));
}

/* Memory that is used on a stream that the library does not know waits for all
 * streams. */
static void
use_on_unknown_stream (void)
{
  GstVkgdrFence *all = gst_vkgdr_fence_new_on_all (test_context);

  if (all)
    gst_vkgdr_fence_unref (all);
  else /* an older driver */
    wait_for_context ();
}

static void
get_handle (void)
{
  fail_unless (gst_vkgdr_stream_get_handle (stream) != NULL);
}

static void
let_stream_wait (void)
{
  GstVkgdrFence *before;

  test_stream_delay (other, 300, NULL);
  before = gst_vkgdr_stream_record (other, NULL);
  fail_unless (gst_vkgdr_stream_wait (stream, before, NULL));
  gst_vkgdr_fence_unref (before);
}

static void
free_stream (void)
{
  gst_clear_object (&stream);
}

static const struct {
  void (*func) (void);
  gboolean needs_fence;
} uses[] = {
  { query_fence, TRUE },
  { wait_for_fence, TRUE },
  { wait_for_fence_elsewhere, TRUE },
  { let_stream_wait_for_fence, TRUE },
  { record_fence, FALSE },
  { record_event, FALSE },
  { measure, FALSE },
  { wait_for_stream, FALSE },
  { ask_stream, FALSE },
  { wait_for_context, FALSE },
  { use_on_unknown_stream, FALSE },
  { get_handle, FALSE },
  { let_stream_wait, FALSE },
  { free_stream, FALSE },
};

/* Nothing is launched before @use. Then all kernels are launched by one call.
 */
static void
check_use (guint use, gboolean has_fence)
{
  guint n_graphs = count_calls ("cuGraphLaunch", 0);
  guint n_kernels = count_calls ("cuLaunchKernel", 0);
  gint i;

  for (i = 1; i <= 3; i++)
    launch (append, i);
  fence = has_fence ? gst_vkgdr_stream_mark_end (stream, NULL) : NULL;
  assert_stays (0);
  uses[use].func ();
  assert_becomes (123);
  if (uses[use].func != wait_for_fence_elsewhere && test_is_software ())
    fail_unless_equals_int (count_calls ("cuGraphLaunch", n_graphs), 1);
  if (test_is_software ())
    fail_unless_equals_int (count_calls ("cuLaunchKernel", n_kernels), 0);
  g_clear_pointer (&fence, gst_vkgdr_fence_unref);
}

GST_START_TEST (test_uses_launch)
{
  check_use (__i__, TRUE);
}
GST_END_TEST;

GST_START_TEST (test_uses_launch_without_fence)
{
  if (!uses[__i__].needs_fence)
    check_use (__i__, FALSE);
}
GST_END_TEST;

/* The thread that watches kernels with a limit launches them, too. */
GST_START_TEST (test_watch_launches)
{
  gst_vkgdr_stream_set_kernel_timeout (stream, 200);
  launch (append, 1);
  launch (append, 2);
  assert_becomes (12);
}
GST_END_TEST;

/* Each kernel takes much less than the limit, but all queued kernels together
 * take longer: the time of a kernel begins when the kernels in front of it have
 * ended. */
GST_START_TEST (test_limit_is_for_each_kernel)
{
  guint32 wanted = 0;
  guint i;

  gst_vkgdr_stream_set_kernel_timeout (stream, 1500);
  for (i = 0; i < 25; i++) {
    launch (append_late, i % 7 + 1);
    wanted = wanted * 10 + i % 7 + 1;
  }
  synchronize ();
  fail_unless_equals_int (get_number (), wanted);
}
GST_END_TEST;

/* --- order ---------------------------------------------------------------- */

/* A kernel that might not end is launched alone, after the kernels in front of
 * it. */
GST_START_TEST (test_other_kernels_keep_their_place)
{
  gst_vkgdr_stream_set_kernel_timeout (stream, __i__ * 10000);
  launch (append, 1);
  launch (append, 2);
  launch (append_late, 3);
  launch (append, 4);
  launch (append_late, 5);
  launch (append, 6);
  synchronize ();
  fail_unless_equals_int (get_number (), 123456);
}
GST_END_TEST;

/* The last kernel of a row is not kept. */
GST_START_TEST (test_last_kernel_launches)
{
  launch (append, 1);
  launch (append, 2);
  gst_vkgdr_stream_set_defers (stream, FALSE);
  launch (append, 3);
  assert_becomes (123);
  launch (append, 4);
  assert_becomes (1234);
}
GST_END_TEST;

/* Other code can queue work on the stream at any time. */
GST_START_TEST (test_nothing_is_kept_on_shared_streams)
{
  launch (append, 1);
  gst_vkgdr_stream_get_handle (stream);
  launch (append, 2);
  assert_becomes (12);
}
GST_END_TEST;

/* More kernels than can be launched together. The number is modulo 2^32. */
GST_START_TEST (test_many_kernels)
{
  guint n_graphs = count_calls ("cuGraphLaunch", 0), i;
  guint32 wanted = 0;

  gst_vkgdr_stream_set_kernel_timeout (stream, __i__ * 10000);
  for (i = 0; i < 5 * LENGTH_MAX + 3; i++) {
    launch (append, i % 7 + 1);
    wanted = wanted * 10 + i % 7 + 1;
  }
  synchronize ();
  fail_unless_equals_int (get_number (), wanted);
  /* With a limit, queries of the kernels that are in flight launch, too. */
  if (test_is_software () && __i__ == 0)
    fail_unless_equals_int (count_calls ("cuGraphLaunch", n_graphs), 6);
}
GST_END_TEST;

/* Each launch has a different number and order of functions. */
GST_START_TEST (test_different_rows)
{
  GstVkgdrFunction *twice =
      make_function ("__global__ void twice (unsigned int *number, int digit)"
                     "{ *number = (*number * 10 + digit) * 10 + digit; }",
          TRUE);
  guint32 wanted = 0;
  guint length, i;

  for (length = 1; length <= 2 * LENGTH_MAX; length++) {
    for (i = 0; i < length; i++) {
      gboolean is_twice = (i * length) % 3 == 1;

      launch (is_twice ? twice : append, i % 10);
      wanted = wanted * 10 + i % 10;
      if (is_twice)
        wanted = wanted * 10 + i % 10;
    }
    synchronize ();
    fail_unless_equals_int (get_number (), wanted);
  }
  gst_object_unref (twice);
}
GST_END_TEST;

static void
launch_two (GstVkgdrFunction *function, gint first)
{
  launch (function, first);
  launch (function, first + 1);
  synchronize ();
}

/* A function stays loaded as long as the library keeps a kernel of it, or the
 * driver's graphs refer to it. They refer to it until other kernels have
 * replaced its kernels. */
GST_START_TEST (test_function_is_released)
{
  GstVkgdrFunction *function;
  gpointer watched;

  launch_two (append, 1);
  function = make_function (APPEND, TRUE);
  watched = gst_vkgdr_function_get_module (function);
  g_object_add_weak_pointer (watched, &watched);
  launch (function, 3);
  launch (function, 4);
  gst_object_unref (function);
  fail_unless (watched != NULL);
  synchronize ();
  fail_unless_equals_int (get_number (), 1234);
  launch (append, 5);
  synchronize ();
  launch (append, 6);
  synchronize ();
  fail_unless (watched != NULL);
  launch_two (append, 7);
  launch_two (append, 9);
  fail_unless (watched == NULL);
}
GST_END_TEST;

/* Nothing stays loaded when the stream is gone. */
GST_START_TEST (test_stream_releases_functions)
{
  gpointer watched = gst_vkgdr_function_get_module (append);

  g_object_add_weak_pointer (watched, &watched);
  launch_two (append, 1);
  launch (append, 3);
  gst_clear_object (&append);
  fail_unless (watched != NULL);
  gst_clear_object (&stream);
  fail_unless (watched == NULL);
  assert_becomes (123);
}
GST_END_TEST;

/* --- threads -------------------------------------------------------------- */

#define N_THREADS 4
#define N_LAUNCHES 300

static GstVkgdrFunction *count;

static gpointer
launch_many (gpointer data)
{
  struct {
    guint64 number;
    gint32 n;
  } arguments = { gst_vkgdr_memory_get_device_pointer (number), 1 };
  guint i;

  for (i = 0; i < N_LAUNCHES; i++) {
    GstVkgdrFence *end;

    fail_unless (gst_vkgdr_function_launch (count, stream, 1, 1, 1, 1, 1, 1, 0,
        (const guint8 *) &arguments, 12, NULL));
    end = gst_vkgdr_stream_mark_end (stream, NULL);
    fail_unless (end != NULL);
    if (i % 5 == GPOINTER_TO_UINT (data))
      gst_vkgdr_fence_is_signaled (end);
    if (i % 50 == 0)
      fail_unless (gst_vkgdr_fence_wait (end, NULL));
    gst_vkgdr_fence_unref (end);
  }
  return NULL;
}

GST_START_TEST (test_threads)
{
  GThread *threads[N_THREADS];
  guint i;

  gst_vkgdr_stream_set_kernel_timeout (stream, __i__ * 10000);
  count = make_function ("__global__ void count (unsigned int *number, int n)"
                         "{ atomicAdd (number, n); }",
      TRUE);
  for (i = 0; i < N_THREADS; i++)
    threads[i] = g_thread_new ("launches", launch_many, GUINT_TO_POINTER (i));
  for (i = 0; i < N_THREADS; i++)
    g_thread_join (threads[i]);
  synchronize ();
  fail_unless_equals_int (get_number (), N_THREADS * N_LAUNCHES);
  gst_object_unref (count);
}
GST_END_TEST;

/* --- failures ------------------------------------------------------------- */

/* Without graphs, each kernel is launched alone. */
static const gchar *const without_graphs[] = { "cuGraphCreate:1+",
  "cuGraphAddKernelNode:1+", "cuGraphAddKernelNode:2+", "cuGraphInstantiate:1+",
  "cuGraphExecKernelNodeSetParams:1+", "cuGraphExecKernelNodeSetParams:2+" };

GST_START_TEST (test_without_graphs)
{
  guint n_kernels;

  if (!test_is_software ())
    return;
  test_make_calls_fail (without_graphs[__i__]);
  n_kernels = count_calls ("cuLaunchKernel", 0);
  launch (append, 1);
  launch (append, 2);
  launch (append, 3);
  fail_unless_equals_int (count_calls ("cuLaunchKernel", n_kernels), 0);
  synchronize ();
  fail_unless_equals_int (get_number (), 123);
  fail_unless_equals_int (count_calls ("cuLaunchKernel", n_kernels), 3);
}
GST_END_TEST;

static const struct {
  const gchar *spec;
  const gchar *message;
} failing[] = {
  { "cuGraphLaunch:1:CUDA_ERROR_OUT_OF_MEMORY",
      "cuGraphLaunch (append, append)" },
  { "cuGraphCreate:1+,cuLaunchKernel:2:CUDA_ERROR_OUT_OF_MEMORY",
      "cuLaunchKernel (append)" },
  { "cuCtxPushCurrent:4:CUDA_ERROR_OUT_OF_MEMORY", "cuCtxPushCurrent" },
};

static void
assert_lost (GstVkgdrFence *lost, const gchar *message)
{
  GError *error = NULL;

  fail_if (gst_vkgdr_fence_wait (lost, &error));
  fail_unless (strstr (error->message, message) != NULL, "%s", error->message);
  fail_if (gst_vkgdr_fence_is_signaled (lost));
  g_error_free (error);
}

/* If kernels cannot be launched later, the fence behind them is lost. */
GST_START_TEST (test_failure_is_told_by_the_fence)
{
  GstVkgdrFence *lost;

  if (!test_is_software ())
    return;
  test_make_calls_fail (failing[__i__].spec);
  launch (append, 1);
  launch (append, 2);
  lost = gst_vkgdr_stream_mark_end (stream, NULL);
  assert_lost (lost, failing[__i__].message);
  test_make_calls_fail (NULL);
  /* They are not launched later, when their memory may be used by others. */
  launch (append, 3);
  synchronize ();
  fail_unless_equals_int (get_number () % 10, 3);
  fail_unless (get_number () < 100);
  gst_vkgdr_fence_unref (lost);
}
GST_END_TEST;

/* If there was no fence yet, the next one is lost. */
GST_START_TEST (test_failure_is_told_by_the_next_fence)
{
  GstVkgdrFence *lost, *next;
  GError *error = NULL;

  if (!test_is_software ())
    return;
  test_make_calls_fail (failing[0].spec);
  launch (append, 1);
  launch (append, 2);
  fail_if (gst_vkgdr_stream_synchronize (stream, &error));
  fail_unless (strstr (error->message, failing[0].message) != NULL, "%s",
      error->message);
  g_clear_error (&error);
  lost = __i__ ? gst_vkgdr_stream_mark_end (stream, NULL)
               : gst_vkgdr_stream_record (stream, NULL);
  assert_lost (lost, failing[0].message);
  launch (append, 3);
  next = gst_vkgdr_stream_record (stream, NULL);
  fail_unless (gst_vkgdr_fence_wait (next, NULL));
  fail_unless_equals_int (get_number (), 3);
  gst_vkgdr_fence_unref (lost);
  gst_vkgdr_fence_unref (next);
}
GST_END_TEST;

/* The launch of a later kernel, before which the library launches the kept
 * kernels, returns the error. Earlier fences are lost. */
GST_START_TEST (test_failure_is_told_by_the_launch)
{
  GstVkgdrFunction *last = __i__ ? append : append_late;
  GError *error = NULL;
  GstVkgdrFence *lost;

  if (!test_is_software ())
    return;
  test_make_calls_fail ("cuGraphLaunch:1:CUDA_ERROR_OUT_OF_MEMORY");
  launch (append, 1);
  launch (append, 2);
  lost = gst_vkgdr_stream_mark_end (stream, NULL);
  gst_vkgdr_stream_set_defers (stream, FALSE);
  fail_if (try_launch (last, 3, &error));
  fail_unless (
      strstr (error->message, "cuGraphLaunch") != NULL, "%s", error->message);
  g_clear_error (&error);
  assert_lost (lost, "cuGraphLaunch (append, append");
  gst_vkgdr_fence_unref (lost);
}
GST_END_TEST;

/* A kernel that is launched alone, and fails, does not affect other kernels. */
GST_START_TEST (test_single_failure)
{
  GError *error = NULL;
  GstVkgdrFence *next;

  if (!test_is_software ())
    return;
  gst_vkgdr_stream_set_defers (stream, FALSE);
  test_make_calls_fail ("cuGraphLaunch:1:CUDA_ERROR_OUT_OF_MEMORY");
  fail_if (try_launch (append, 1, &error));
  fail_unless (strstr (error->message, "cuGraphLaunch (append)") != NULL, "%s",
      error->message);
  g_clear_error (&error);
  next = gst_vkgdr_stream_record (stream, NULL);
  fail_unless (gst_vkgdr_fence_wait (next, NULL));
  launch (append, 2);
  synchronize ();
  fail_unless_equals_int (get_number (), 2);
  gst_vkgdr_fence_unref (next);
}
GST_END_TEST;

static Suite *
launches_suite (void)
{
  Suite *suite = suite_create ("launches");
  TCase *tc = tcase_create ("general");

  suite_add_tcase (suite, tc);
  tcase_set_timeout (tc, 60);
  tcase_add_checked_fixture (tc, setup, teardown);
  tcase_add_loop_test (tc, test_uses_launch, 0, G_N_ELEMENTS (uses));
  tcase_add_loop_test (
      tc, test_uses_launch_without_fence, 0, G_N_ELEMENTS (uses));
  tcase_add_test (tc, test_watch_launches);
  tcase_add_test (tc, test_limit_is_for_each_kernel);
  tcase_add_loop_test (tc, test_other_kernels_keep_their_place, 0, 2);
  tcase_add_test (tc, test_last_kernel_launches);
  tcase_add_test (tc, test_nothing_is_kept_on_shared_streams);
  tcase_add_loop_test (tc, test_many_kernels, 0, 2);
  tcase_add_test (tc, test_different_rows);
  tcase_add_test (tc, test_function_is_released);
  tcase_add_test (tc, test_stream_releases_functions);
  tcase_add_loop_test (tc, test_threads, 0, 2);
  tcase_add_loop_test (
      tc, test_without_graphs, 0, G_N_ELEMENTS (without_graphs));
  tcase_add_loop_test (
      tc, test_failure_is_told_by_the_fence, 0, G_N_ELEMENTS (failing));
  tcase_add_loop_test (tc, test_failure_is_told_by_the_next_fence, 0, 2);
  tcase_add_loop_test (tc, test_failure_is_told_by_the_launch, 0, 2);
  tcase_add_test (tc, test_single_failure);
  return suite;
}

GST_CHECK_MAIN (launches);
