/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * test-thread.c: tests that one thread calls Vulkan, and that it exists only
 * while a device is open
 */

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

static void
get_signals (void *data)
{
  pthread_sigmask (SIG_SETMASK, NULL, data);
}

TEST (signals_go_to_other_threads)
{
  vkgdr_vulkan_thread *thread = vkgdr_vulkan_thread_ref ();
  sigset_t blocked, before, after;

  pthread_sigmask (SIG_SETMASK, NULL, &before);
  vkgdr_vulkan_thread_run (thread, get_signals, &blocked);
  ck_assert (sigismember (&blocked, SIGTERM));
  ck_assert (sigismember (&blocked, SIGUSR1));
  ck_assert (!sigismember (&blocked, SIGSEGV));
  pthread_sigmask (SIG_SETMASK, NULL, &after);
  ck_assert_int_eq (
      sigismember (&before, SIGTERM), sigismember (&after, SIGTERM));
  vkgdr_vulkan_thread_unref (thread);
}

/* --- devices ------------------------------------------------------------- */

/* The system still lists a thread for a moment after pthread_join(). */
static bool
ends (const char *task)
{
  int i;

  for (i = 0; i < 10000 && access (task, F_OK) == 0; i++)
    usleep (1000);
  return access (task, F_OK) != 0;
}

static void
tell_task (void *data)
{
  snprintf (data, PATH_MAX, "/proc/self/task/%d", (int) gettid ());
}

/* All devices with a window share one thread. */
TEST (it_lives_as_long_as_a_device)
{
  vkgdr_t first = test_open (0), second = test_open (0), other;
  char task[PATH_MAX];

  setenv ("VKGDR_DEBUG", "no-vulkan", 1);
  other = test_open (VKGDR_OPEN_WINDOW_OPTIONAL_BIT);
  ck_assert_ptr_null (other->vulkan_thread);
  ck_assert_ptr_eq (first->vulkan_thread, second->vulkan_thread);
  vkgdr_vulkan_thread_run (first->vulkan_thread, tell_task, task);
  vkgdr_close (first);
  ck_assert_int_eq (access (task, F_OK), 0);
  vkgdr_close (second);
  ck_assert (ends (task));
  vkgdr_close (other);
}

static int n_calls; /* not atomic: the thread runs one call at a time */
static vkgdr_vk real;
static pthread_t application;

/* NVIDIA's driver keeps data for each thread that calls Vulkan. The end of such
 * a thread can wait for ever, so no thread of the application may call
 * Vulkan. */
static void
check_caller (void)
{
  ck_assert_msg (!pthread_equal (pthread_self (), application),
      "a thread of the application has called Vulkan");
  n_calls++;
}

/* A function that checks its caller, and calls the real one. */
#define SPY(result, function, parameters, arguments) \
  static VKAPI_ATTR result VKAPI_CALL spy_##function parameters \
  { \
    check_caller (); \
    return real.function arguments; \
  }

SPY (VkResult, AllocateMemory,
    (VkDevice device, const VkMemoryAllocateInfo *info,
        const VkAllocationCallbacks *callbacks, VkDeviceMemory *memory),
    (device, info, callbacks, memory))
SPY (void, FreeMemory,
    (VkDevice device, VkDeviceMemory memory,
        const VkAllocationCallbacks *callbacks),
    (device, memory, callbacks))
SPY (VkResult, GetMemoryFdKHR,
    (VkDevice device, const VkMemoryGetFdInfoKHR *info, int *fd),
    (device, info, fd))
SPY (void, GetPhysicalDeviceMemoryProperties2,
    (VkPhysicalDevice device, VkPhysicalDeviceMemoryProperties2 *properties),
    (device, properties))
SPY (void, DestroyDevice,
    (VkDevice device, const VkAllocationCallbacks *callbacks),
    (device, callbacks))

static void
replace_functions (vkgdr_t g)
{
  real = g->vk;
  application = pthread_self ();
  g->vk.AllocateMemory = spy_AllocateMemory;
  g->vk.FreeMemory = spy_FreeMemory;
  g->vk.GetMemoryFdKHR = spy_GetMemoryFdKHR;
  g->vk.GetPhysicalDeviceMemoryProperties2 =
      spy_GetPhysicalDeviceMemoryProperties2;
  g->vk.DestroyDevice = spy_DestroyDevice;
}

TEST (no_other_thread_calls_vulkan)
{
  vkgdr_t g = test_open (0);
  vkgdr_memory_t memory, imported;
  vkgdr_device_info info;
  vkgdr_fd_info description;
  int fd;

  replace_functions (g);
  memory = test_alloc (g, SIZE);
  vkgdr_memory_describe_fd (memory, &description);
  fd = vkgdr_memory_get_fd (memory);
  assert_no_error ();
  imported = vkgdr_memory_import_fd (g, fd, &description);
  assert_no_error ();
  vkgdr_get_device_info (g, &info);
  vkgdr_memory_free (imported);
  vkgdr_memory_free (memory);
  vkgdr_close (g);
  /* Each memory is allocated and freed. There are two file descriptors and one
   * device. */
  ck_assert_int_ge (n_calls, 2 * 2 + 2 + 1);
}

/* --- fork ---------------------------------------------------------------- */

static void
use_in_child (vkgdr_t g, vkgdr_memory_t memory)
{
  char task[PATH_MAX];
#ifndef __SANITIZE_THREAD__ /* it does not support threads of such a child */
  vkgdr_vulkan_thread *own = vkgdr_vulkan_thread_ref ();

  if (!own || own == g->vulkan_thread)
    _exit (1);
#endif
  if (vkgdr_vulkan_thread_run (g->vulkan_thread, tell_task, task)
      || !strstr (vkgdr_error_peek (), "forked"))
    _exit (2);
  vkgdr_memory_free (memory);
  vkgdr_close (g);
#ifndef __SANITIZE_THREAD__
  if (!vkgdr_vulkan_thread_run (own, tell_task, task))
    _exit (3);
  vkgdr_vulkan_thread_unref (own);
#endif
}

/* A child does not wait for the thread, which it does not have. It can start
 * one of its own, and close a device of the parent. The child kills itself: at
 * a normal end, Valgrind would report memory that the parent's drivers have
 * allocated, and that the child cannot free. */
TEST (a_child_can_close_a_device)
{
  vkgdr_t g = test_open (0);
  vkgdr_memory_t memory = test_alloc (g, SIZE);
  int status = -1;
  pid_t pid = fork ();

  ck_assert_int_ge (pid, 0);
  if (pid == 0) {
    use_in_child (g, memory);
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
