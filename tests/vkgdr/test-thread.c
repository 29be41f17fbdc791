/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * test-thread.c: tests that one thread calls Vulkan, and that it exists only
 * while a device is open
 */

#include "../gst/slow.h"
#include "util.h"

#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "error.h"
#include "vulkan-thread.h"

#define SIZE 65536

TEST_REQUIRE (test_require_device);

/* The task of the thread in /proc, and its blocked signals. */
typedef struct {
  char task[PATH_MAX];
  sigset_t blocked;
} Thread;

static void
describe (void *data)
{
  Thread *self = data;

  snprintf (
      self->task, sizeof (self->task), "/proc/self/task/%d", (int) gettid ());
  pthread_sigmask (SIG_SETMASK, NULL, &self->blocked);
}

/* All devices with a window share one thread. The application's signals go to
 * its own threads. */
TEST (it_lives_as_long_as_a_device)
{
  vkgdr_t first = test_open (0), second = test_open (0), other;
  sigset_t ours;
  Thread thread;

  setenv ("VKGDR_DEBUG", "no-vulkan", 1);
  other = test_open (VKGDR_OPEN_WINDOW_OPTIONAL_BIT);
  ck_assert_ptr_null (other->vulkan_thread);
  ck_assert_ptr_eq (first->vulkan_thread, second->vulkan_thread);
  vkgdr_vulkan_thread_run (first->vulkan_thread, describe, &thread);
  pthread_sigmask (SIG_SETMASK, NULL, &ours);
  ck_assert (sigismember (&thread.blocked, SIGTERM));
  ck_assert (sigismember (&thread.blocked, SIGUSR1));
  ck_assert (!sigismember (&thread.blocked, SIGSEGV));
  ck_assert (!sigismember (&ours, SIGTERM));
  vkgdr_close (first);
  ck_assert_int_eq (access (thread.task, F_OK), 0);
  vkgdr_close (second);
  /* The system still lists a thread for a moment after pthread_join(). */
  test_wait_for (access (thread.task, F_OK) != 0);
  vkgdr_close (other);
}

static int n_calls; /* not atomic: the thread runs one call at a time */
static vkgdr_vk real;
static pthread_t application;

/* The functions that are called after a device has been opened. */
#define FUNCTIONS(X) \
  X (AllocateMemory) \
  X (FreeMemory) \
  X (GetMemoryFdKHR) \
  X (GetPhysicalDeviceMemoryProperties2) \
  X (DestroyDevice)

/* Checks the caller, and passes on as many arguments as the longest call has.
 * NVIDIA's driver keeps data for each thread that calls Vulkan. The end of such
 * a thread can wait for ever, so no thread of the application may call
 * Vulkan. */
#define SPY(function) \
  static size_t spy_##function (size_t a, size_t b, size_t c, size_t d) \
  { \
    ck_assert_msg (!pthread_equal (pthread_self (), application), \
        "a thread of the application has called " #function); \
    n_calls++; \
    return ((size_t (*) (size_t, size_t, size_t, size_t)) ( \
        void *) real.function) (a, b, c, d); \
  }
FUNCTIONS (SPY)

TEST (no_other_thread_calls_vulkan)
{
  vkgdr_t g = test_open (0);
  vkgdr_memory_t memory, imported;
  vkgdr_device_info info;
  vkgdr_fd_info description;
  int fd;

  real = g->vk;
  application = pthread_self ();
  g->has_budget = true; /* lavapipe has none */
#define REPLACE(function) *(void **) &g->vk.function = spy_##function;
  FUNCTIONS (REPLACE)
  memory = test_alloc (g, SIZE);
  vkgdr_memory_describe_fd (memory, &description);
  fd = vkgdr_memory_get_fd (memory);
  imported = vkgdr_memory_import_fd (g, fd, &description);
  assert_no_error ();
  vkgdr_get_device_info (g, &info);
  vkgdr_memory_free (imported);
  vkgdr_memory_free (memory);
  vkgdr_close (g);
  /* Each memory is allocated and freed, except that memory of a software device
   * is imported without Vulkan. There are two file descriptors, one description
   * and one device. */
  ck_assert_int_ge (n_calls, 2 * (info.software ? 1 : 2) + 2 + 1 + 1);
}

/* --- fork ---------------------------------------------------------------- */

/* A child does not wait for the thread, which it does not have, and can close a
 * device of the parent. The child kills itself: at a normal end, Valgrind would
 * report memory that the parent's drivers have allocated, and that the child
 * cannot free. */
TEST (a_child_can_close_a_device)
{
  vkgdr_t g = test_open (0);
  vkgdr_memory_t memory = test_alloc (g, SIZE);
  int status = -1;
  pid_t pid = fork ();

  ck_assert_int_ge (pid, 0);
  if (pid == 0) {
    Thread thread;

    if (vkgdr_vulkan_thread_run (g->vulkan_thread, describe, &thread)
        || !strstr (vkgdr_error_peek (), "forked"))
      _exit (1);
    vkgdr_memory_free (memory);
    vkgdr_close (g);
    raise (SIGKILL);
  }
  ck_assert_int_eq (waitpid (pid, &status, 0), pid);
  ck_assert_msg (WIFSIGNALED (status) && WTERMSIG (status) == SIGKILL,
      "the child has ended with %#x", status);
  memset (vkgdr_memory_get_host_ptr (memory), 1, SIZE);
  vkgdr_memory_free (memory);
  assert_no_error ();
  vkgdr_close (g);
}
