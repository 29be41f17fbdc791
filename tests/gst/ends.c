/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * ends.c: tests of the end of processes: gst_deinit (), exit (), and children
 * of fork ()
 *
 * After gst_deinit (), threads would use objects of GStreamer that are freed.
 * After the exit handlers of the drivers, nothing may be released. Python's
 * multiprocessing forks a process that has run pipelines. The child has none of
 * the library's threads, and must not wait for one. A child that is forked
 * while CUDA is in use cannot use the device, but it must be able to end. With
 * NVIDIA's driver (580), the device of the parent does not work any more
 * afterwards. So children are not tested with that driver.
 */

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gate.h"
#include "slow.h"

static gint is_done;   /* atomic */
static guint end_time; /* how long finish () takes, in milliseconds */

static void
finish (gpointer unused)
{
  g_usleep (1000 * end_time);
  g_atomic_int_set (&is_done, TRUE);
}

/* Keeps the device busy for @ms milliseconds. The library then calls
 * finish (). */
static void
release_later (guint ms)
{
  g_autoptr (GstVkgdrContext) context = test_context_new ();
  g_autoptr (GstVkgdrStream) stream = test_stream_new (context);
  g_autoptr (GstVkgdrFence) fence = NULL;

  test_stream_delay (stream, ms, NULL);
  fence = gst_vkgdr_stream_record (stream, NULL);
  fail_unless (fence != NULL);
  gst_vkgdr_fence_release_later (fence, finish, NULL);
}

/* Whether the name of a thread of this process begins with "vkgdr". */
static gboolean
has_threads (void)
{
  g_autofree gchar *command =
      g_strdup_printf ("grep -qs ^vkgdr /proc/%d/task/*/comm", getpid ());

  return system (command) == 0;
}

/* Ends while the device is busy for @ms milliseconds. With 0, the library's
 * threads are those of a pipeline. */
static void
end_by_deinit (guint ms)
{
  gint64 begun;

  if (ms == 0)
    test_play (test_launch ("videotestsrc num-buffers=4 ! vkgdrupload ! "
                            "cudafilter ! vkgdrdownload ! fakesink"));
  else
    release_later (ms);
  while (!has_threads ()) /* a thread gets its name when it first runs */
    g_usleep (1000);
  begun = g_get_monotonic_time ();
  gst_deinit ();
  /* It waits until the end of short work, but not of long work. */
  fail_unless (
      g_get_monotonic_time () - begun < test_limit (5 * G_TIME_SPAN_SECOND));
  fail_unless (ms != 300 || g_atomic_int_get (&is_done));
  /* The system lists a thread for a moment after its end. Long work takes
   * longer than all of this, so no thread ends only because it has ended. */
  begun = g_get_monotonic_time ();
  while (has_threads ()) {
    fail_unless (g_get_monotonic_time () - begun < 2 * G_TIME_SPAN_SECOND,
        "a thread is left");
    g_usleep (1000);
  }
  _exit (0); /* GstCheck calls gst_deinit () when the process exits */
}

/* An exit handler that is registered before those of the drivers, and so called
 * after them. */
static void
check_at_the_end (void)
{
  if (!g_atomic_int_get (&is_done))
    _exit (1);
}

TEST_PARALLEL (3);

/* How the process of a case ends, and how long the work or finish () takes. The
 * last one is longer than the time for which the end of the process waits for a
 * device. The thread that releases memory may hold the last reference to the
 * device. It has to finish before the exit handlers of the drivers run, however
 * long it takes. */
static const struct {
  gboolean is_deinit;
  guint ms;
} ends[] = { { TRUE, 0 }, { TRUE, 300 }, { TRUE, 8000 }, { FALSE, 0 },
  { FALSE, 3000 } };

TEST_LOOP (processes, G_N_ELEMENTS (ends))
{
  if (ends[__i__].is_deinit)
    end_by_deinit (ends[__i__].ms);
  atexit (check_at_the_end);
  end_time = ends[__i__].ms;
  release_later (300);
  exit (0);
}

/* When exit () was called; monotonic time. */
static gint64 exit_begun;

static void
check_time_at_the_end (void)
{
  if (g_get_monotonic_time () - exit_begun > test_limit (10 * G_USEC_PER_SEC))
    _exit (1);
}

static void
exit_now (gpointer unused)
{
  exit_begun = g_get_monotonic_time ();
  exit (0);
}

/* The library's thread does not wait for itself. */
TEST (exit_in_a_function_that_the_library_calls)
{
  g_autoptr (GstVkgdrContext) context = test_context_new ();
  g_autoptr (GstVkgdrStream) stream = test_stream_new (context);
  g_autoptr (GstVkgdrFence) fence = gst_vkgdr_stream_record (stream, NULL);

  atexit (check_time_at_the_end);
  gst_vkgdr_fence_release_later (fence, exit_now, NULL);
  for (;;)
    g_usleep (G_USEC_PER_SEC);
}

/* --- children ------------------------------------------------------------ */

static gboolean is_child;

/* An exit handler that is registered before those of the library and the
 * drivers, and so called after them, but before that of GstCheck. The latter
 * calls gst_deinit (), which would wait in a child for threads and locks of
 * GLib and GStreamer. No other program does that. */
static void
end_child (void)
{
  if (is_child)
    _exit (0);
}

/* How long a child may take to end, in microseconds. This is less than the 2 s
 * for which an exit handler would wait for a thread, and much more than is
 * needed. */
#define PATIENCE (1500 * G_TIME_SPAN_MILLISECOND)

/* A busy machine delays some of the children. A handler that waits delays each
 * of them. */
#define TRIES 6

/* Forks a child that calls exit (), which runs the exit handlers. Returns how
 * long it takes to end without an error. */
static gint64
time_child (void)
{
  gint64 begun;
  gint status = -1;
  pid_t child;

  fflush (NULL);
  begun = g_get_monotonic_time ();
  child = fork ();
  if (child == 0) {
    is_child = TRUE;
    signal (SIGALRM, SIG_DFL); /* libcheck's handler ends the test */
    alarm (60);
    exit (0);
  }
  fail_unless_equals_int (waitpid (child, &status, 0), child);
  fail_unless (WIFEXITED (status), "signal %d", WTERMSIG (status));
  /* Valgrind looks for leaks in the child, too. If only threads that fork ()
   * has not copied refer to memory, it reports a leak and changes the exit
   * status. */
  fail_unless (WEXITSTATUS (status) == 0 || test_is_on_valgrind ());
  return g_get_monotonic_time () - begun;
}

static void
assert_child_ends (void)
{
  guint n = 1;

  while (time_child () > PATIENCE)
    fail_unless (n++ < TRIES, "%d children did not end in time", TRIES);
}

/* With the thread sanitizer, pthread_join () waits for ever in a child. */
static gboolean
is_testable (void)
{
#ifndef __SANITIZE_THREAD__
  return test_is_software ();
#else
  return FALSE;
#endif
}

/* An exit handler of lavapipe joins its threads, in a child, too. With glibc
 * 2.43, pthread_join () waits there for ever. So the tests do without Vulkan.
 * The tests of libvkgdr have children of processes that use it. */
static void
setup (void)
{
  atexit (end_child);
  g_setenv ("VKGDR_DEBUG", "no-vulkan", TRUE);
  test_setup ();
}

TEST_FIXTURE (setup, test_teardown);

TEST (child_after_a_pipeline)
{
  GstElement *pipeline;

  TEST_NEEDS (is_testable (), "a driver that survives fork ()");
  pipeline = test_launch (
      "videotestsrc num-buffers=5 ! video/x-raw,format=RGBA,width=64,height=48 "
      "! vkgdrupload ! cudafilter kernel=invert ! vkgdrdownload ! fakesink");
  test_play (pipeline);
  assert_child_ends ();
  gst_object_unref (pipeline);
  assert_child_ends ();
}

/* The child is forked while a thread of the library waits for the device. The
 * parent still has this thread, which releases the memory later. */
TEST (child_while_the_device_works)
{
  g_autoptr (GstVkgdrStream) stream = test_stream_new (test_context);
  g_autoptr (GstVkgdrFence) fence = NULL;

  TEST_NEEDS (is_testable (), "a driver that survives fork ()");
  test_gate_delay (stream, 0, NULL);
  fence = gst_vkgdr_stream_record (stream, NULL);
  gst_vkgdr_fence_release_later (fence, finish, NULL);
  fail_if (g_atomic_int_get (&is_done));
  assert_child_ends ();
  fail_if (test_gate_was_missed ());

  test_gate_set (TRUE);
  test_wait_for (g_atomic_int_get (&is_done));
  assert_child_ends ();
}
