/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * deferred.c: tests of kernels in a row that share one event, which is recorded
 * behind the last of them, or earlier if it is needed
 */

#include "kernel/module.h"
#include "sync/sync-private.h"
#include "gate.h"

/* A kernel that takes about 300 ms. On a GPU, a sleep takes a millisecond at
 * most. In softcuda on a busy machine, each sleep may end some milliseconds
 * late. Therefore the kernel also ends when its clock reaches a limit. This is
 * after 600 ms in softcuda, and after 300 ms or more on a GPU of at most
 * 2 GHz. */
#define SLOW \
  "__global__ void slow () {" \
  " long long end = clock64 () + 600000000;" \
  " for (int i = 0; i < 300 && clock64 () < end; i++) __nanosleep (1000000);" \
  "}"
#define SLOW_MS 300

static GstVkgdrStream *stream, *other;
static GstVkgdrFunction *slow, *quick;

static void
setup (void)
{
  test_setup ();
  stream = test_stream_new (test_context);
  other = test_stream_new (test_context);
  gst_vkgdr_stream_set_defers (stream, TRUE);
  slow = test_function_new (test_context, SLOW);
  slow->is_bounded = TRUE;
  quick = test_function_new (test_context, "__global__ void quick () {}");
}

static void
teardown (void)
{
  gst_clear_object (&quick);
  gst_clear_object (&slow);
  gst_clear_object (&other);
  gst_clear_object (&stream);
  test_teardown ();
}

/* Replaces the stream by a new one, whose fences can be deferred. */
static void
renew_stream (void)
{
  gst_object_unref (stream);
  stream = test_stream_new (test_context);
  gst_vkgdr_stream_set_defers (stream, TRUE);
}

/* Keeps the stream busy until test_gate_set (TRUE). The library does not know
 * of this, so its fences can still be deferred. */
static void
close_gate (void)
{
  test_gate_set (FALSE);
  fail_unless (gst_vkgdr_context_push (test_context, NULL));
  fail_unless_equals_int (
      vkgdr_driver_load ()->cuLaunchHostFunc (
          gst_vkgdr_stream_peek_handle (stream), test_gate_wait, NULL),
      CUDA_SUCCESS);
  gst_vkgdr_context_pop (test_context);
}

static void
launch (GstVkgdrFunction *function)
{
  fail_unless (gst_vkgdr_function_launch (
      function, stream, 1, 1, 1, 1, 1, 1, 0, NULL, 0, NULL));
}

/* Launches a kernel, and returns the fence behind it. */
static GstVkgdrFence *
launch_and_mark (void)
{
  GstVkgdrFence *fence;

  launch (slow);
  fence = gst_vkgdr_stream_mark_end (stream, NULL);
  fail_unless (fence != NULL);
  return fence;
}

/* How often a test is repeated because the thread that watches the kernels has
 * recorded a fence too early for the test: it does so 250 ms after the first
 * launch. */
#define TRIES 10

/* Returns FALSE if the thread that watches the kernels has recorded a fence
 * before the test did so. */
static gboolean
kernels_share_a_fence (guint limit)
{
  GstVkgdrFence *first, *second, *third, *next;
  gboolean is_shared;

  gst_vkgdr_stream_set_kernel_timeout (stream, limit);
  first = launch_and_mark ();
  second = launch_and_mark ();
  is_shared = first == second && gst_vkgdr_fence_is_deferred (first);
  launch (slow);
  third = gst_vkgdr_stream_record (stream, NULL);
  is_shared = is_shared && first == third;
  fail_if (gst_vkgdr_fence_is_deferred (first));
  close_gate ();
  next = launch_and_mark ();
  fail_unless (third != next);
  is_shared = is_shared && gst_vkgdr_fence_is_deferred (next);
  fail_unless (gst_vkgdr_fence_wait (third, NULL));
  fail_if (gst_vkgdr_stream_is_done (stream)); /* the last kernel waits */
  test_gate_set (TRUE);
  gst_vkgdr_fence_unref (first);
  gst_vkgdr_fence_unref (second);
  gst_vkgdr_fence_unref (third);
  gst_vkgdr_fence_unref (next);
  return is_shared;
}

/* The fence covers the kernels that are launched until it is recorded. The
 * public function gst_vkgdr_stream_record () records it. */
GST_START_TEST (test_kernels_share_a_fence)
{
  guint n;

  for (n = 1; !kernels_share_a_fence (__i__ * 10000); n++) {
    fail_unless (n < TRIES, "no fence is shared");
    renew_stream ();
  }
}
GST_END_TEST;

static void
query (GstVkgdrFence *fence)
{
  fail_if (gst_vkgdr_fence_is_signaled (fence));
}

static void
wait_on_cpu (GstVkgdrFence *fence)
{
  fail_unless (gst_vkgdr_fence_wait (fence, NULL));
  fail_unless (gst_vkgdr_stream_is_done (stream));
}

static void
wait_on_stream (GstVkgdrFence *fence)
{
  fail_unless (gst_vkgdr_stream_wait (other, fence, NULL));
  fail_unless (gst_vkgdr_stream_synchronize (other, NULL));
  fail_unless (gst_vkgdr_stream_is_done (stream));
}

/* With the handle, other code may queue work that the fence must not cover. */
static void
get_handle (GstVkgdrFence *fence)
{
  fail_unless (gst_vkgdr_stream_get_handle (stream) != NULL);
}

static void
free_stream (GstVkgdrFence *fence)
{
  gst_clear_object (&stream);
}

static gpointer
wait_in_thread (gpointer fence)
{
  fail_unless (gst_vkgdr_fence_wait (fence, NULL));
  return NULL;
}

static void
wait_elsewhere (GstVkgdrFence *fence)
{
  g_thread_join (g_thread_new ("other", wait_in_thread, fence));
  fail_unless (gst_vkgdr_stream_is_done (stream));
}

static void (*const uses[]) (GstVkgdrFence *) = { query, wait_on_cpu,
  wait_on_stream, get_handle, free_stream, wait_elsewhere };

/* Each use of the fence records it. */
GST_START_TEST (test_uses_record)
{
  GstVkgdrFence *fence;
  guint n;

  gst_vkgdr_stream_set_kernel_timeout (stream, 10000);
  close_gate ();
  fence = launch_and_mark ();
  for (n = 1; !gst_vkgdr_fence_is_deferred (fence); n++) {
    fail_unless (n < TRIES, "no fence is deferred");
    gst_vkgdr_fence_unref (fence);
    fence = launch_and_mark ();
  }
  if (uses[__i__] != query)
    test_gate_set (TRUE);
  uses[__i__](fence);
  fail_if (gst_vkgdr_fence_is_deferred (fence));
  test_gate_set (TRUE);
  fail_unless (gst_vkgdr_fence_wait (fence, NULL));
  gst_vkgdr_fence_unref (fence);
}
GST_END_TEST;

/* Work that the fence covers does not wait for another stream. Only later work
 * does. */
GST_START_TEST (test_waits_come_later)
{
  GstVkgdrFence *fence = launch_and_mark (), *delayed;
  static gint done = FALSE;

  test_gate_delay (other, 0, &done);
  delayed = gst_vkgdr_stream_record (other, NULL);
  fail_unless (gst_vkgdr_stream_wait (stream, delayed, NULL));
  fail_if (gst_vkgdr_fence_is_deferred (fence));
  fail_unless (gst_vkgdr_fence_wait (fence, NULL));
  fail_if (g_atomic_int_get (&done));
  test_gate_set (TRUE);
  fail_unless (gst_vkgdr_stream_synchronize (other, NULL));
  gst_vkgdr_fence_unref (fence);
  gst_vkgdr_fence_unref (delayed);
}
GST_END_TEST;

/* If other code knows the handle of the stream, no fence is deferred. */
GST_START_TEST (test_not_on_shared_streams)
{
  GstVkgdrFence *fence;

  gst_vkgdr_stream_get_handle (stream);
  fence = launch_and_mark ();
  fail_if (gst_vkgdr_fence_is_deferred (fence));
  gst_vkgdr_fence_unref (fence);
}
GST_END_TEST;

/* If the event cannot be recorded, the fence is lost. */
GST_START_TEST (test_failed_record)
{
  GstVkgdrFence *fence = launch_and_mark ();
  GError *error = NULL;

  if (test_is_software ()) {
    test_make_calls_fail ("cuEventRecord:1+:CUDA_ERROR_OUT_OF_MEMORY");
    fail_if (gst_vkgdr_fence_wait (fence, &error));
    test_make_calls_fail (NULL);
    fail_unless (
        strstr (error->message, "cuEventRecord") != NULL, "%s", error->message);
    fail_if (gst_vkgdr_fence_is_signaled (fence));
    g_clear_error (&error);
  }
  gst_vkgdr_fence_unref (fence);
}
GST_END_TEST;

/* --- two threads ---------------------------------------------------------- */

static vkgdr_cuda real;          /* the driver's table before it is changed */
static void (*interrupt) (void); /* for the next new event */

static gpointer
call_interrupt (gpointer func)
{
  ((void (*) (void)) func) ();
  return NULL;
}

/* Another thread uses the stream while this thread makes a fence. */
static CUresult
interrupted_create (CUevent *event, unsigned int flags)
{
  gpointer func = g_steal_pointer (&interrupt);

  if (func)
    g_thread_join (g_thread_new ("other", call_interrupt, func));
  return real.cuEventCreate (event, flags);
}

static void
launch_quick (void)
{
  launch (quick);
}

static void
mark_end (void)
{
  gst_vkgdr_fence_unref (gst_vkgdr_stream_mark_end (stream, NULL));
}

static void (*const interrupts[]) (void) = { launch_quick, mark_end };

/* Another thread queues a kernel or marks the end of the stream while a
 * deferred fence is made. The fence covers the kernel in front of it, although
 * this kernel was kept. */
GST_START_TEST (test_other_thread_uses_the_stream)
{
  vkgdr_cuda *table = (vkgdr_cuda *) vkgdr_driver_load ();
  GstVkgdrFence *fence;

  quick->is_bounded = TRUE;
  launch (slow);
  real = *table;
  table->cuEventCreate = interrupted_create;
  interrupt = interrupts[__i__];
  fence = gst_vkgdr_stream_mark_end (stream, NULL);
  fail_unless (fence != NULL);
  fail_unless (interrupt == NULL);
  fail_unless (gst_vkgdr_fence_wait (fence, NULL));
  fail_unless (gst_vkgdr_stream_is_done (stream));
  gst_vkgdr_fence_unref (fence);
  gst_vkgdr_context_synchronize (test_context, NULL);
  *table = real;
}
GST_END_TEST;

/* --- queries -------------------------------------------------------------- */

#define N_FENCES 5

/* Returns 0 on a GPU. */
static gulong
count_queries (void)
{
  return test_is_software () ? test_count_calls ("cuEventQuery") : 0;
}

/* Makes fences behind a kernel each. The first @n_free of the kernels do not
 * wait for the gate. */
static void
make_fences (GstVkgdrFence **fences, guint n_free)
{
  guint i;

  gst_vkgdr_stream_set_defers (stream, FALSE);
  gst_vkgdr_stream_set_kernel_timeout (stream, 20000);
  for (i = 0; i < N_FENCES; i++) {
    if (i == n_free)
      close_gate ();
    launch (quick);
    fences[i] = gst_vkgdr_stream_record (stream, NULL);
    fail_unless (fences[i] != NULL);
  }
}

static void
release_fences (GstVkgdrFence **fences)
{
  guint i;

  for (i = 0; i < N_FENCES; i++)
    gst_vkgdr_fence_unref (fences[i]);
}

/* If a later fence is reached, so are those in front of it. So one query serves
 * several fences. */
GST_START_TEST (test_query_serves_several)
{
  GstVkgdrFence *fences[N_FENCES];
  gulong n;
  guint i;

  make_fences (fences, N_FENCES);
  fail_unless (gst_vkgdr_stream_synchronize (stream, NULL));
  n = count_queries ();
  for (i = 0; i < N_FENCES; i++)
    fail_unless (gst_vkgdr_fence_is_signaled (fences[i]));
  n = count_queries () - n;
  if (test_is_software ())
    fail_unless (n < N_FENCES, "%lu queries", n);
  release_fences (fences);
}
GST_END_TEST;

/* Checks that a fence behind the gate is not reached. The test began at the
 * time @since. If the fence is reached, either the library is wrong, or the
 * gate has opened by itself. The times in the message show whether a query has
 * waited for the gate. */
static void
assert_pending (GstVkgdrFence *fence, gint64 since)
{
  gint64 begin = g_get_monotonic_time (), end;
  gboolean is_reached = gst_vkgdr_fence_is_signaled (fence);

  end = g_get_monotonic_time ();
  fail_if (is_reached,
      "reached %s; the query took %" G_GINT64_FORMAT
      " us and ended %" G_GINT64_FORMAT " us after the test began",
      test_gate_was_missed () ? "because the gate has opened" : "too early",
      end - begin, end - since);
}

/* How often a fence is queried. For so many queries, the library does not look
 * at a later fence again after one that was not reached. */
#define N_QUERIES 8

/* A later fence that is not reached says nothing about those in front of it.
 * It is not queried again with each query of a fence in front of it. */
GST_START_TEST (test_later_fence_is_not_reached)
{
  GstVkgdrFence *fences[N_FENCES];
  gint64 since = g_get_monotonic_time ();
  gulong n;
  guint i;

  make_fences (fences, 1);
  while (!gst_vkgdr_fence_is_signaled (fences[0]))
    g_usleep (1000);
  fail_if (test_gate_was_missed ()); /* or the fences below are reached */
  n = count_queries ();
  for (i = 0; i < N_QUERIES; i++)
    assert_pending (fences[1], since);
  n = count_queries () - n;
  if (test_is_software ())
    fail_unless (n >= N_QUERIES && n <= N_QUERIES + 1, "%lu queries", n);
  for (i = 2; i < N_FENCES; i++)
    assert_pending (fences[i], since);
  fail_if (test_gate_was_missed ());
  test_gate_set (TRUE);
  release_fences (fences);
}
GST_END_TEST;

/* --- time limits ---------------------------------------------------------- */

/* One kernel keeps this limit even on a busy machine. More than four kernels
 * together exceed it. */
#define LIMIT (4 * SLOW_MS)

/* Each kernel exceeds this limit, so several kernels exceed the sum of their
 * limits. */
#define SHORT_LIMIT (SLOW_MS * 3 / 4)

/* Launches @n kernels that share a fence. Returns FALSE if the thread that
 * watches them has recorded the fence before the last kernel was launched. */
static gboolean
launch_group (guint n, guint limit)
{
  GstVkgdrFence *first = NULL, *last = NULL;
  gboolean is_shared;
  guint i;

  gst_object_set_name (GST_OBJECT (stream), "somebody");
  gst_vkgdr_stream_set_kernel_timeout (stream, limit);
  for (i = 0; i < n; i++) {
    last = launch_and_mark ();
    if (!first)
      first = gst_vkgdr_fence_ref (last);
    if (i + 1 < n)
      gst_vkgdr_fence_unref (last);
  }
  is_shared = first == last;
  gst_vkgdr_fence_unref (first);
  gst_vkgdr_fence_unref (last);
  return is_shared;
}

/* Kernels that share a fence are measured together: more than four kernels may
 * take longer than the limit of one. */
GST_START_TEST (test_limits_add_up)
{
  GError *error = NULL;

  while (!launch_group (6, LIMIT))
    renew_stream ();
  fail_unless (gst_vkgdr_stream_synchronize (stream, &error), "%s",
      error ? error->message : "");
}
GST_END_TEST;

/* The error has the sum of the limits, and names all of the kernels. */
GST_START_TEST (test_sum_of_limits)
{
  gchar *sum = g_strdup_printf ("%d ms", 3 * SHORT_LIMIT);
  GError *error = NULL;

  while (!launch_group (3, SHORT_LIMIT))
    renew_stream ();
  fail_if (gst_vkgdr_stream_synchronize (stream, &error));
  fail_unless (
      strstr (error->message, "kernel \"slow\" of somebody or kernel") != NULL,
      "%s", error->message);
  fail_unless (strstr (error->message, sum) != NULL, "%s", error->message);
  g_error_free (error);
  g_free (sum);
}
GST_END_TEST;

/* A kernel that might not end has events of its own in front of it and behind
 * it. So its limit applies to this kernel alone. */
GST_START_TEST (test_unbounded_kernel_is_alone)
{
  GstVkgdrFence *before, *behind;
  GError *error = NULL;

  gst_vkgdr_stream_set_kernel_timeout (stream, LIMIT);
  before = launch_and_mark ();
  slow->is_bounded = FALSE;
  gst_vkgdr_stream_set_kernel_timeout (stream, SLOW_MS / 3);
  behind = launch_and_mark ();
  fail_unless (before != behind);
  fail_if (gst_vkgdr_fence_is_deferred (before));
  fail_if (gst_vkgdr_fence_is_deferred (behind));
  fail_if (gst_vkgdr_stream_synchronize (stream, &error));
  fail_unless (strstr (error->message, "100 ms") != NULL, "%s", error->message);
  g_error_free (error);
  gst_vkgdr_fence_unref (before);
  gst_vkgdr_fence_unref (behind);
}
GST_END_TEST;

/* A kernel without a limit may take any time. Its time does not count for the
 * kernel in front of it. */
GST_START_TEST (test_unlimited_kernel_does_not_count)
{
  GstVkgdrFence *before, *behind;
  GError *error = NULL;
  guint i;

  gst_vkgdr_stream_set_kernel_timeout (stream, LIMIT);
  before = launch_and_mark ();
  slow->is_bounded = FALSE;
  gst_vkgdr_stream_set_kernel_timeout (stream, 0);
  for (i = 0; i < 5; i++) {
    behind = launch_and_mark ();
    fail_unless (before != behind && gst_vkgdr_fence_is_deferred (behind));
    gst_vkgdr_fence_unref (behind);
  }
  fail_unless (gst_vkgdr_stream_synchronize (stream, &error), "%s",
      error ? error->message : "");
  gst_vkgdr_fence_unref (before);
}
GST_END_TEST;

static Suite *
deferred_suite (void)
{
  Suite *suite = suite_create ("deferred");
  TCase *tc = tcase_create ("general");

  suite_add_tcase (suite, tc);
  tcase_set_timeout (tc, 30);
  tcase_add_checked_fixture (tc, setup, teardown);
  tcase_add_loop_test (tc, test_kernels_share_a_fence, 0, 2);
  tcase_add_loop_test (tc, test_uses_record, 0, G_N_ELEMENTS (uses));
  tcase_add_test (tc, test_waits_come_later);
  tcase_add_test (tc, test_not_on_shared_streams);
  tcase_add_test (tc, test_failed_record);
  tcase_add_loop_test (
      tc, test_other_thread_uses_the_stream, 0, G_N_ELEMENTS (interrupts));
  tcase_add_test (tc, test_query_serves_several);
  tcase_add_test (tc, test_later_fence_is_not_reached);
  tcase_add_test (tc, test_limits_add_up);
  tcase_add_test (tc, test_sum_of_limits);
  tcase_add_test (tc, test_unbounded_kernel_is_alone);
  tcase_add_test (tc, test_unlimited_kernel_does_not_count);
  return suite;
}

GST_CHECK_MAIN (deferred);
