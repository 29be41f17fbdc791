/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * follow.c: tests when a stream follows another one, and that work stays in
 * order
 */

#include "kernel/module.h"
#include "sync/sync-private.h"
#include "util.h"

static GstVkgdrStream *leader, *own, *current;

static void
setup (void)
{
  test_setup ();
  leader = test_stream_new (test_context);
  own = test_stream_new (test_context);
  current = gst_object_ref (own);
}

static void
teardown (void)
{
  gst_clear_object (&current);
  gst_clear_object (&own);
  gst_clear_object (&leader);
  test_teardown ();
}

static gpointer
record (gpointer stream)
{
  return gst_vkgdr_stream_record (stream, NULL);
}

/* Follows @fence, which is released. */
static void
follow (GstVkgdrFence *fence)
{
  fail_unless (gst_vkgdr_stream_follow (own, &current, fence, NULL));
  if (fence)
    gst_vkgdr_fence_unref (fence);
}

static gboolean
is_on (GstVkgdrStream *stream)
{
  return gst_vkgdr_stream_peek_handle (current)
         == gst_vkgdr_stream_peek_handle (stream);
}

GST_START_TEST (test_only_streams_that_allow_it)
{
  follow (record (leader));
  fail_unless (current == own);
  gst_vkgdr_stream_allow_followers (leader);
  follow (record (leader));
  fail_unless (is_on (leader) && !is_on (own));
}
GST_END_TEST;

GST_START_TEST (test_not_the_stream_of_another_thread)
{
  gst_vkgdr_stream_allow_followers (leader);
  follow (g_thread_join (g_thread_new ("other", record, leader)));
  fail_unless (current == own);
}
GST_END_TEST;

/* Input without a fence changes nothing; input of another writer does. */
GST_START_TEST (test_until_the_writer_changes)
{
  GstVkgdrStream *other = test_stream_new (test_context);
  GstVkgdrStream *before;

  gst_vkgdr_stream_allow_followers (leader);
  follow (record (leader));
  before = current;
  follow (NULL);
  fail_unless (current == before);
  follow (record (leader));
  fail_unless (current == before);
  follow (record (other));
  fail_unless (current == own);
  gst_object_unref (other);
}
GST_END_TEST;

/* __i__ is 0 for the change to another stream, and 1 for the change back. */
GST_START_TEST (test_earlier_work_comes_first)
{
  gint done = FALSE;

  gst_vkgdr_stream_allow_followers (leader);
  gst_vkgdr_stream_allow_followers (own);
  if (__i__ == 1)
    follow (record (leader));
  test_stream_delay (current, 200, &done);
  follow (record (__i__ == 1 ? own : leader));
  fail_unless (is_on (__i__ == 1 ? own : leader));
  fail_unless (gst_vkgdr_stream_synchronize (current, NULL));
  fail_unless (g_atomic_int_get (&done));
}
GST_END_TEST;

static void
launch (GstVkgdrFunction *function, GstVkgdrStream *stream)
{
  fail_unless (gst_vkgdr_function_launch (
      function, stream, 1, 1, 1, 1, 1, 1, 0, NULL, 0, NULL));
}

/* The CUDA stream lives until the last stream that uses it is freed. */
GST_START_TEST (test_leader_is_freed)
{
  GstVkgdrFunction *function =
      test_function_new (test_context, "__global__ void f () {}");
  GstVkgdrFence *fence;

  gst_vkgdr_stream_allow_followers (leader);
  follow (record (leader));
  fence = record (leader);
  gst_clear_object (&leader);
  launch (function, current);
  fail_unless (gst_vkgdr_stream_synchronize (current, NULL));
  gst_clear_object (&current);
  current = gst_object_ref (own);
  follow (fence); /* of a CUDA stream that does not exist any more */
  fail_unless (current == own);
  gst_object_unref (function);
}
GST_END_TEST;

static gchar *
wait_for_failure (GstVkgdrStream *stream)
{
  GError *error = NULL;
  gchar *message;

  fail_if (gst_vkgdr_stream_synchronize (stream, &error));
  message = g_strdup (error->message);
  g_error_free (error);
  return message;
}

static void
count_failure (GstVkgdrStream *stream, GError *error, gpointer user_data)
{
  g_atomic_int_inc ((gint *) user_data);
}

/* A kernel that takes about 1.5 s. If the machine is busy, each sleep ends some
 * milliseconds late. Therefore the kernel also ends when its clock reaches a
 * limit, which is 3 s in softcuda. */
#define SLOW \
  "__global__ void f () {" \
  " long long end = clock64 () + 3000000000;" \
  " for (int i = 0; i < 1500 && clock64 () < end; i++) __nanosleep (1000000);" \
  "}"

/* A kernel has the limit and the name of the element that launches it, and the
 * signal comes from the stream of this element. The kernel of the other element
 * has a lower limit and waits behind it. */
GST_START_TEST (test_limit_name_and_signal)
{
  gboolean is_slow_one = __i__ == 0;
  GstVkgdrFunction *slow = test_function_new (test_context, SLOW);
  GstVkgdrFunction *quick =
      test_function_new (test_context, "__global__ void g () {}");
  gint of_leader = 0, of_own = 0;
  gchar *message;

  gst_object_set_name (GST_OBJECT (leader), "leader");
  gst_object_set_name (GST_OBJECT (own), "follower");
  g_signal_connect (leader, "failed", G_CALLBACK (count_failure), &of_leader);
  g_signal_connect (own, "failed", G_CALLBACK (count_failure), &of_own);
  gst_vkgdr_stream_set_kernel_timeout (leader, 300);
  gst_vkgdr_stream_set_kernel_timeout (own, is_slow_one ? 500 : 20000);
  gst_vkgdr_stream_allow_followers (leader);
  follow (record (leader));
  launch (slow, current);
  launch (quick, leader);
  if (is_slow_one) {
    message = wait_for_failure (current);
    fail_unless (strstr (message, "of follower runs") != NULL, "%s", message);
    fail_unless (strstr (message, "500 ms") != NULL, "%s", message);
    g_free (message);
  } else {
    fail_unless (gst_vkgdr_stream_synchronize (current, NULL));
  }
  fail_unless_equals_int (g_atomic_int_get (&of_own), is_slow_one);
  fail_unless_equals_int (g_atomic_int_get (&of_leader), 0);
  gst_object_unref (slow);
  gst_object_unref (quick);
}
GST_END_TEST;

static Suite *
follow_suite (void)
{
  Suite *suite = suite_create ("follow");
  TCase *tc = tcase_create ("general");

  suite_add_tcase (suite, tc);
  tcase_set_timeout (tc, 30);
  tcase_add_checked_fixture (tc, setup, teardown);
  tcase_add_test (tc, test_only_streams_that_allow_it);
  tcase_add_test (tc, test_not_the_stream_of_another_thread);
  tcase_add_test (tc, test_until_the_writer_changes);
  tcase_add_loop_test (tc, test_earlier_work_comes_first, 0, 2);
  tcase_add_test (tc, test_leader_is_freed);
  tcase_add_loop_test (tc, test_limit_name_and_signal, 0, 2);
  return suite;
}

GST_CHECK_MAIN (follow);
