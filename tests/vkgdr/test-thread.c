/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * test-thread.c: tests that one thread calls Vulkan, and that it exists only
 * while a device is open
 */

#include "util.h"

#include <dlfcn.h>
#include <errno.h>
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

/* --- threads that cannot be started -------------------------------------- */

static bool refuses_threads;

/* Replaces the function of libc. */
int
pthread_create (pthread_t *thread, const pthread_attr_t *attributes,
    void *(*function) (void *), void *data)
{
  static int (*real) (
      pthread_t *, const pthread_attr_t *, void *(*) (void *), void *);

  if (refuses_threads)
    return EAGAIN;
  if (!real)
    *(void **) &real = dlsym (RTLD_NEXT, "pthread_create");
  return real (thread, attributes, function, data);
}

TEST_REQUIRE (test_require_device);

TEST (no_thread_is_an_error)
{
  vkgdr_t g;

  test_enter_context ();
  refuses_threads = true;
  ck_assert_ptr_null (vkgdr_open (0, 0));
  assert_error ("cannot be started", "ulimit -u");
  /* The window is optional, but a device without it would be slower, and the
   * caller would not know why. */
  ck_assert_ptr_null (vkgdr_open (0, VKGDR_OPEN_WINDOW_OPTIONAL_BIT));
  assert_error ("cannot be started");
  refuses_threads = false;
  g = vkgdr_open (0, 0);
  assert_no_error ();
  vkgdr_close (g);
}

/* --- the thread ---------------------------------------------------------- */

static void
tell_thread (void *data)
{
  *(pthread_t *) data = pthread_self ();
}

static pthread_t
get_thread (vkgdr_vulkan_thread *thread)
{
  pthread_t id = pthread_self ();

  ck_assert (vkgdr_vulkan_thread_run (thread, tell_thread, &id));
  return id;
}

static int n_calls; /* not atomic: the thread runs one call at a time */

static void
count (void *data)
{
  n_calls++;
}

static void *
call_often (void *own)
{
  vkgdr_vulkan_thread *thread = vkgdr_vulkan_thread_ref ();
  int i;

  for (i = 0; i < 1000; i++)
    vkgdr_vulkan_thread_run (thread, count, NULL);
  ck_assert (pthread_equal (*(pthread_t *) own, get_thread (thread)));
  vkgdr_vulkan_thread_unref (thread);
  return NULL;
}

TEST (all_callers_share_it)
{
  vkgdr_vulkan_thread *thread = vkgdr_vulkan_thread_ref ();
  pthread_t own = get_thread (thread);

  ck_assert (!pthread_equal (own, pthread_self ()));
  test_run_threads (4, call_often, &own);
  ck_assert_int_eq (n_calls, 4000);
  vkgdr_vulkan_thread_unref (thread);
}

static void
add_to_error (void *data)
{
  vkgdr_error_set ("%s, second", vkgdr_error_peek ());
}

TEST (errors_are_the_callers)
{
  vkgdr_vulkan_thread *thread = vkgdr_vulkan_thread_ref ();

  vkgdr_error_set_remedy ("remedy", "first");
  vkgdr_vulkan_thread_run (thread, add_to_error, NULL);
  ck_assert_str_eq (vkgdr_error_peek (), "first: remedy, second");
  vkgdr_error_clear ();
  get_thread (thread);
  assert_no_error ();
  vkgdr_vulkan_thread_unref (thread);
}

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

static void
tell_task (void *data)
{
  snprintf (data, PATH_MAX, "/proc/self/task/%d", (int) gettid ());
}

/* The system still lists a thread for a moment after pthread_join(). */
static bool
ends (const char *task)
{
  int i;

  for (i = 0; i < 10000 && access (task, F_OK) == 0; i++)
    usleep (1000);
  return access (task, F_OK) != 0;
}

TEST (it_lives_as_long_as_a_device)
{
  vkgdr_t first = test_open (0), second = test_open (0);
  char task[PATH_MAX];

  ck_assert_ptr_eq (first->vulkan_thread, second->vulkan_thread);
  vkgdr_vulkan_thread_run (first->vulkan_thread, tell_task, task);
  vkgdr_close (first);
  ck_assert_int_eq (access (task, F_OK), 0);
  vkgdr_close (second);
  ck_assert (ends (task));
}

TEST (without_window_there_is_none)
{
  vkgdr_t g;

  setenv ("VKGDR_DEBUG", "no-vulkan", 1);
  test_enter_context ();
  g = vkgdr_open (0, VKGDR_OPEN_WINDOW_OPTIONAL_BIT);
  assert_no_error ();
  ck_assert_ptr_null (g->vulkan_thread);
  vkgdr_close (g);
}

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
SPY (VkResult, MapMemory,
    (VkDevice device, VkDeviceMemory memory, VkDeviceSize offset,
        VkDeviceSize size, VkMemoryMapFlags flags, void **data),
    (device, memory, offset, size, flags, data))
SPY (void, UnmapMemory, (VkDevice device, VkDeviceMemory memory),
    (device, memory))
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
  g->vk.MapMemory = spy_MapMemory;
  g->vk.UnmapMemory = spy_UnmapMemory;
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
  /* Each memory is allocated, mapped, unmapped and freed. There are two file
   * descriptors and one device. */
  ck_assert_int_ge (n_calls, 2 * 4 + 2 + 1);
}

/* --- fork ---------------------------------------------------------------- */

/* Runs @function in a child. It must end within the time limit of the test. The
 * child kills itself: at a normal end, Valgrind would report memory that the
 * parent's drivers have allocated, and that the child cannot free. */
static void
in_child (void (*function) (void *), void *data)
{
  int status = -1;
  pid_t pid = fork ();

  ck_assert_int_ge (pid, 0);
  if (pid == 0) {
    function (data);
    raise (SIGKILL);
  }
  ck_assert_int_eq (waitpid (pid, &status, 0), pid);
  ck_assert_msg (WIFSIGNALED (status) && WTERMSIG (status) == SIGKILL,
      "the child has ended with %#x", status);
}

static void
use_in_child (void *thread)
{
  pthread_t id = pthread_self ();

  if (vkgdr_vulkan_thread_run (thread, tell_thread, &id))
    _exit (1);
  if (!strstr (vkgdr_error_peek (), "forked"))
    _exit (2);
  vkgdr_vulkan_thread_unref (thread);
}

static void
start_in_child (void *thread)
{
  vkgdr_vulkan_thread *own = vkgdr_vulkan_thread_ref ();
  pthread_t id = pthread_self ();

  if (!own || own == thread)
    _exit (3);
  if (!vkgdr_vulkan_thread_run (own, tell_thread, &id)
      || pthread_equal (id, pthread_self ()))
    _exit (4);
  vkgdr_vulkan_thread_unref (thread);
  if (!vkgdr_vulkan_thread_run (own, tell_thread, &id))
    _exit (5);
  vkgdr_vulkan_thread_unref (own);
}

TEST (a_child_does_not_wait_for_it)
{
  vkgdr_vulkan_thread *thread = vkgdr_vulkan_thread_ref ();

  in_child (use_in_child, thread);
#ifndef __SANITIZE_THREAD__ /* it does not support threads of such a child */
  in_child (start_in_child, thread);
#endif
  ck_assert (!pthread_equal (get_thread (thread), pthread_self ()));
  vkgdr_vulkan_thread_unref (thread);
}

static void
close_in_child (void *data)
{
  void **both = data;

  vkgdr_memory_free (both[1]);
  vkgdr_close (both[0]);
}

TEST (a_child_can_close_a_device)
{
  vkgdr_t g = test_open (0);
  vkgdr_memory_t memory = test_alloc (g, SIZE);
  void *both[] = { g, memory };

  in_child (close_in_child, both);
  memset (vkgdr_memory_get_host_ptr (memory), 1, SIZE);
  vkgdr_memory_free (memory);
  assert_no_error ();
  vkgdr_close (g);
}
