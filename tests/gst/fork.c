/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * fork.c: tests that a child of fork () ends at once
 *
 * Python's multiprocessing forks a process that has run pipelines. The child
 * has none of the library's threads, and must not wait for one. A child that is
 * forked while CUDA is in use cannot use the device, but it must be able to
 * end.
 *
 * NVIDIA's Vulkan driver (580) crashes in its own exit handler in a child of a
 * process that has a Vulkan device, and the device of the parent does not work
 * any more afterwards. So nothing is tested with that driver.
 */

#include <gmodule.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gate.h"
#include "slow.h"

#define SIZE 10000

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

/* A busy machine delays some of the children. A handler that waits delays each
 * of them. */
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
  fail_unless_equals_int (ended, child);
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

#ifndef __SANITIZE_THREAD__
static gpointer
sleep_for_ever (gpointer data)
{
  for (;;)
    pause ();
  return NULL;
}

/* Whether pthread_join () returns in a child for a thread that fork () has not
 * copied. With glibc 2.43 it waits for ever. */
static gboolean
joins_end_in_children (void)
{
  gint status = -1;
  pthread_t thread;
  pid_t child;

  fail_unless (pthread_create (&thread, NULL, sleep_for_ever, NULL) == 0);
  child = fork ();
  if (child == 0) {
    signal (SIGALRM, SIG_DFL);
    alarm (2);
    pthread_join (thread, NULL);
    _exit (0);
  }
  waitpid (child, &status, 0);
  pthread_cancel (thread);
  pthread_join (thread, NULL);
  return WIFEXITED (status);
}
#endif

/* An exit handler of lavapipe joins its threads, in a child, too. With the
 * thread sanitizer, pthread_join () then waits for ever. The suite no-vulkan
 * tests this library's own handlers. */
static gboolean
is_testable (void)
{
#ifndef __SANITIZE_THREAD__
  if (test_is_software () && (test_hides_vulkan () || joins_end_in_children ()))
    return TRUE;
#endif
  g_print ("skipped: the driver does not survive it\n");
  return FALSE;
}

TEST_FIXTURE (test_setup, test_teardown);

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

static void
note_release (gpointer data)
{
  g_atomic_int_inc ((gint *) data);
}

/* The child is forked while a thread of the library waits for the device. The
 * parent still has this thread, which releases the memory later. */
TEST (child_while_the_device_works)
{
  GstVkgdrAllocator *allocator;
  GstVkgdrStream *stream;
  GstMemory *storage, *memory;
  gint released = 0, done = 0;
  GError *error = NULL;

  if (!is_testable ())
    return;
  allocator = test_allocator ();
  storage = test_memory_new (test_context, SIZE);
  stream = test_stream_new (test_context);
  memory = gst_vkgdr_allocator_alloc_wrapped (allocator,
      gst_vkgdr_memory_get_device_pointer (storage), SIZE, 0, note_release,
      &released, &error);
  g_assert_no_error (error);
  test_gate_access (memory, stream, GST_MAP_READ, 0, &done);
  gst_memory_unref (memory);
  fail_unless_equals_int (g_atomic_int_get (&released), 0);
  assert_child_ends ();
  fail_if (test_gate_was_missed ());

  test_gate_set (TRUE);
  test_wait_for (g_atomic_int_get (&released) > 0);
  fail_unless_equals_int (g_atomic_int_get (&released), 1);
  assert_child_ends ();
  gst_object_unref (stream);
  gst_memory_unref (storage);
  test_wait_for (GST_OBJECT_REFCOUNT_VALUE (allocator) == 1);
  gst_object_unref (allocator);
}
