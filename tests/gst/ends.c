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

#include <gmodule.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gate.h"
#include "slow.h"

/* The case "end" runs in a process of its own, whose end is part of the test.
 * This environment variable says there how it ends. */
#define HOW "TEST_END"

/* Ends such a process. Fails the test unless its exit status is 0. */
static void
run_process (const gchar *how)
{
  g_autofree gchar *program = g_file_read_link ("/proc/self/exe", NULL);
  g_autofree gchar *command = g_strdup_printf (
      "env CK_FORK=no GST_CHECKS=end " HOW "=%s %s", how, program);
  GError *error = NULL;
  gint status = -1;

  g_spawn_command_line_sync (command, NULL, NULL, &status, &error);
  g_assert_no_error (error);
  fail_unless_equals_int (status, 0);
}

/* --- in the process that ends -------------------------------------------- */

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

/* How a process ends, and the time of the work or of finish (). The last one is
 * longer than the time for which the end of the process waits for a device. The
 * thread that releases memory may hold the last reference to the device. It has
 * to finish before the exit handlers of the drivers run, however long it takes.
 */
static const gchar *const ends[] = { "deinit-0", "deinit-300", "deinit-8000",
  "exit-0", "exit-3000" };

TEST_IF (end, g_getenv (HOW))
{
  guint ms = atoi (strchr (g_getenv (HOW), '-') + 1);

  if (g_str_has_prefix (g_getenv (HOW), "deinit"))
    end_by_deinit (ms);
  atexit (check_at_the_end);
  end_time = ms;
  release_later (300);
  exit (0);
}

TEST_LOOP (processes, G_N_ELEMENTS (ends))
{
  run_process (ends[__i__]);
}

/* --- children ------------------------------------------------------------ */

static gboolean is_child;

/* Called by the leak checker, which does not see the stacks of the parent's
 * threads in a child. */
G_MODULE_EXPORT int __lsan_is_turned_off (void);

int
__lsan_is_turned_off (void)
{
  return is_child;
}

/* How long a child may take to end, in microseconds. This is less than the 2 s
 * for which an exit handler would wait for a thread, and much more than is
 * needed. */
#define PATIENCE (1500 * G_TIME_SPAN_MILLISECOND)

/* A busy machine delays some of the children, and a child may wait for ever for
 * a lock that a thread of the parent held, such as that of an allocator. A
 * handler that waits delays each of them. */
#define TRIES 6

/* Forks a child that calls exit (), which runs the exit handlers. Returns
 * whether it has ended in time and without an error. */
static gboolean
child_ends (void)
{
  gint64 deadline;
  gint status = -1;
  pid_t child, ended;

  fflush (NULL);
  deadline = g_get_monotonic_time () + PATIENCE;
  child = fork ();
  if (child == 0) {
    is_child = TRUE;
    exit (0);
  }
  fail_unless (child > 0);
  while ((ended = waitpid (child, &status, WNOHANG)) == 0
         && g_get_monotonic_time () < deadline)
    g_usleep (1000);
  if (ended == 0) {
    kill (child, SIGKILL);
    waitpid (child, &status, 0);
    return FALSE;
  }
  fail_unless (WIFEXITED (status), "signal %d", WTERMSIG (status));
  /* Valgrind looks for leaks in the child, too. If only threads that fork ()
   * has not copied refer to memory, it reports a leak and changes the exit
   * status. */
  fail_unless (WEXITSTATUS (status) == 0 || test_is_on_valgrind ());
  return TRUE;
}

static void
assert_child_ends (void)
{
  guint n = 1;

  while (!child_ends ())
    fail_unless (n++ < TRIES, "%d children did not end in time", TRIES);
}

/* With the thread sanitizer, pthread_join () waits for ever in a child. */
static gboolean
is_testable (void)
{
#ifndef __SANITIZE_THREAD__
  if (test_is_software ())
    return TRUE;
#endif
  g_print ("skipped: the driver does not survive it\n");
  return FALSE;
}

/* An exit handler of lavapipe joins its threads, in a child, too. With glibc
 * 2.43, pthread_join () waits there for ever. So the tests do without Vulkan.
 * The tests of libvkgdr have children of processes that use it. */
static void
setup (void)
{
  g_setenv ("VKGDR_DEBUG", "no-vulkan", TRUE);
  test_setup ();
}

TEST_FIXTURE (setup, test_teardown);

TEST (child_after_a_pipeline)
{
  GstElement *pipeline;

  if (!is_testable ())
    return;
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

  if (!is_testable ())
    return;
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
