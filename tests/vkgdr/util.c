/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * util.c: functions that the tests of libvkgdr share
 */

#include "error.h"
#include "util.h"

#include <dlfcn.h>
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* The exit status that automake and Meson take for a skipped test. */
#define EXIT_SKIP 77

/* Looks for a device. Returns an exit status: skipped if the machine has none,
 * which is not an error of the library. */
static int
try_device (void)
{
  vkgdr_device_info info;
  vkgdr_obstacle obstacle = vkgdr_probe (0, &info);

  if (obstacle == VKGDR_OBSTACLE_NONE)
    return EXIT_SUCCESS;
  fprintf (stderr, "%s\n", vkgdr_error_peek ());
  return obstacle == VKGDR_OBSTACLE_CUDA_DRIVER
                 || obstacle == VKGDR_OBSTACLE_VULKAN_LOADER
                 || obstacle == VKGDR_OBSTACLE_VULKAN_DRIVER
             ? EXIT_SKIP
             : EXIT_FAILURE;
}

/* Tries in a child, because a process that forks the tests must not load a
 * driver. */
static int
try_device_in_child (void)
{
  pid_t child;
  int status;

  fflush (NULL);
  child = fork ();
  if (child == 0)
    _exit (try_device ());
  if (child < 0 || waitpid (child, &status, 0) != child || !WIFEXITED (status))
    return EXIT_FAILURE;
  return WEXITSTATUS (status);
}

const char *
test_software_path (void)
{
  static char path[4200];

  snprintf (
      path, sizeof (path), "%s/libcuda.so.1", vkgdr_driver_softcuda_dir ());
  return path;
}

bool
test_use_software (void)
{
  setenv ("VKGDR_DRIVER", "software", 1);
  return access (test_software_path (), R_OK) == 0;
}

bool
test_use_software_device (void)
{
  return test_use_software () && try_device_in_child () != EXIT_SKIP;
}

static void *
find_in_softcuda (const char *name)
{
  void *handle = dlopen (test_software_path (), RTLD_NOW | RTLD_NOLOAD);
  void *function = handle ? dlsym (handle, name) : NULL;

  ck_assert_ptr_nonnull (function);
  return function;
}

void
test_fail (const char *spec)
{
  CUresult (*make_fail) (const char *spec);

  *(void **) &make_fail = find_in_softcuda ("softcudaFail");
  ck_assert_int_eq (make_fail (spec), CUDA_SUCCESS);
}

unsigned long
test_count_calls (const char *name)
{
  unsigned long (*count) (const char *name);

  *(void **) &count = find_in_softcuda ("softcudaCountCalls");
  return count (name);
}

static VkResult vulkan_failure;

static VkResult
fail_vulkan (void)
{
  return vulkan_failure;
}

void
test_fail_vulkan (vkgdr_t g, const char *name)
{
  const struct {
    const char *name;
    void *function;
    VkResult failure;
  } calls[] = {
    { "vkAllocateMemory", &g->vk.AllocateMemory,
        VK_ERROR_OUT_OF_DEVICE_MEMORY },
    { "vkMapMemory", &g->vk.MapMemory, VK_ERROR_MEMORY_MAP_FAILED },
    { "vkGetMemoryFdKHR", &g->vk.GetMemoryFdKHR, VK_ERROR_TOO_MANY_OBJECTS },
  };
  static vkgdr_vk real;
  size_t i;

  if (!real.device)
    real = g->vk;
  g->vk = real;
  for (i = 0; name && i < N_ELEMENTS (calls); i++)
    if (strcmp (name, calls[i].name) == 0) {
      *(void **) calls[i].function = fail_vulkan;
      vulkan_failure = calls[i].failure;
    }
}

const vkgdr_cuda *
test_enter_context (void)
{
  const vkgdr_cuda *cu = vkgdr_driver_load ();
  CUcontext context;

  ck_assert_ptr_nonnull (cu);
  ck_assert_int_eq (cu->cuDevicePrimaryCtxRetain (&context, 0), CUDA_SUCCESS);
  ck_assert_int_eq (cu->cuCtxPushCurrent (context), CUDA_SUCCESS);
  return cu;
}

vkgdr_t
test_open (uint32_t flags)
{
  vkgdr_t g;

  test_enter_context ();
  g = vkgdr_open (0, flags);
  assert_no_error ();
  ck_assert_ptr_nonnull (g);
  return g;
}

vkgdr_memory_t
test_alloc (vkgdr_t g, size_t size)
{
  vkgdr_memory_t mem = vkgdr_memory_alloc (g, size, 0);

  assert_no_error ();
  ck_assert_ptr_nonnull (mem);
  return mem;
}

void
test_run_threads (int n, void *(*function) (void *data), void *data)
{
  pthread_t threads[8];
  void *error;
  int i;

  ck_assert_int_le (n, 8);
  for (i = 0; i < n; i++)
    ck_assert_int_eq (pthread_create (&threads[i], NULL, function, data), 0);
  for (i = 0; i < n; i++) {
    pthread_join (threads[i], &error);
    if (error)
      ck_abort_msg ("%s", (char *) error);
  }
}

void
test_leaves_nothing (int n, void (*function) (void *data), void *data)
{
  int fds = 0, i;
  size_t used = 0;

  for (i = 0; i < n + 10; i++) {
    if (i == 10) {
      fds = test_count_fds ();
      used = mallinfo2 ().uordblks;
    }
    function (data);
  }
  ck_assert_int_eq (test_count_fds (), fds);
  ck_assert_uint_le (mallinfo2 ().uordblks, used + n * 4096);
}

void
test_assert_no_error (const char *file, int line)
{
  char *error = vkgdr_last_error ();

  if (error)
    ck_abort_msg ("%s:%d: unexpected error: %s", file, line, error);
}

void
test_assert_error (const char *file, int line, const char *const *words)
{
  char *error = vkgdr_last_error ();

  if (!error)
    ck_abort_msg ("%s:%d: an error was expected", file, line);
  ck_assert_ptr_null (strchr (error, '\n'));
  for (; *words; words++) {
    if (!strstr (error, *words))
      ck_abort_msg (
          "%s:%d: no \"%s\" in the error: %s", file, line, *words, error);
  }
  free (error);
}

void
test_require_device (void)
{
  int status = try_device_in_child ();

  if (status != EXIT_SUCCESS)
    exit (status);
}

void
test_end_case (void)
{
}

int
test_run_suite (int argc, char **argv, Suite *(*make) (const char *name))
{
  SRunner *runner = srunner_create (make (argv[0]));
  int n_failed;

  srunner_run_all (runner, CK_NORMAL);
  n_failed = srunner_ntests_failed (runner);
  srunner_free (runner);
  return n_failed > 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
