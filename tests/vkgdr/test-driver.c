/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * test-driver.c: tests of VKGDR_DRIVER, of errors while the driver is loaded
 * and a second attempt after them, and of softcuda without Vulkan
 */

#include "util.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What is wrong, and words of the error. Each is tried again afterwards. */
static const struct {
  const char *variable, *value;
  const char *words[3];
} failures[] = {
  { "VKGDR_DRIVER", "bogus", { "\"bogus\"", "nvidia", "software" } },
  { "SOFTCUDA_FAIL", "cuInit:1+:CUDA_ERROR_NO_DEVICE",
      { "cuInit", "CUDA_ERROR_NO_DEVICE", "" } },
  { "SOFTCUDA_FAIL", "cuDeviceGetCount:1+", { "CUDA_ERROR_UNKNOWN", "", "" } },
};

TEST_LOOP (failures, N_ELEMENTS (failures))
{
  const char *const *words = failures[__i__].words;
  const char *variable = failures[__i__].variable;
  bool has_software = test_use_software ();
  const vkgdr_cuda *cu;
  int fds = test_count_fds ();

  if (!has_software && __i__ > 0)
    return;
  setenv (variable, failures[__i__].value, 1);
  ck_assert_ptr_null (vkgdr_driver_load ());
  assert_error (words[0], words[1], words[2]);
  ck_assert_ptr_null (vkgdr_open (0, 0));
  assert_error (words[0]);
  ck_assert (!vkgdr_driver_is_software ());
  ck_assert_ptr_null (vkgdr_driver_why_software ());
  ck_assert_int_eq (test_count_fds (), fds);
  unsetenv (variable);
  if (!has_software || !test_use_software ())
    return;
  cu = vkgdr_driver_load ();
  ck_assert_ptr_nonnull (cu);
  assert_no_error ();
  /* The driver stays loaded. */
  setenv ("VKGDR_DRIVER", "bogus", 1);
  ck_assert_ptr_eq (vkgdr_driver_load (), cu);
}

TEST (software_is_chosen)
{
  if (!test_use_software ())
    return;
  ck_assert_ptr_nonnull (vkgdr_driver_load ());
  ck_assert (vkgdr_driver_is_software ());
  /* The user has chosen softcuda, so there is no reason to report. */
  ck_assert_ptr_null (vkgdr_driver_why_software ());
}

TEST (nvidia_is_never_software)
{
  setenv ("VKGDR_DRIVER", "nvidia", 1);
  if (vkgdr_driver_load ()) {
    ck_assert (!vkgdr_driver_is_software ());
    return;
  }
  assert_error ("libcuda.so.1");
}

TEST (softcuda_on_the_path_is_not_nvidia)
{
  const char *others = getenv ("LD_LIBRARY_PATH");
  char *command;
  char *path;

  /* The dynamic linker reads LD_LIBRARY_PATH when a program starts, so the
   * program starts itself again. */
  if (!test_use_software ())
    return;
  path = realpath ("/proc/self/exe", NULL);
  ck_assert_ptr_nonnull (path);
  command = g_strdup_printf ("LD_LIBRARY_PATH='%s:%s' exec '%s' nvidia-path",
      vkgdr_driver_softcuda_dir (), others ? others : "", path);
  ck_assert_int_eq (system (command), 0);
  g_free (command);
  free (path);
}

TEST (auto_says_why)
{
  setenv ("VKGDR_DRIVER", "auto", 1);
  if (!vkgdr_driver_load ()) {
    assert_error ("libcuda.so.1", "softcuda");
    return;
  }
  if (vkgdr_driver_is_software ())
    ck_assert_ptr_nonnull (
        strstr (vkgdr_driver_why_software (), "libcuda.so.1"));
  else
    ck_assert_ptr_null (vkgdr_driver_why_software ());
}

TEST (no_softcuda)
{
  setenv ("VKGDR_DRIVER", "software", 1);
  setenv ("VKGDR_SOFTCUDA_DIR", "/nonexistent", 1);
  ck_assert_str_eq (vkgdr_driver_softcuda_dir (), "/nonexistent");
  ck_assert_ptr_null (vkgdr_driver_load ());
  assert_error ("/nonexistent/libcuda.so.1", "VKGDR_SOFTCUDA_DIR");
}

TEST (softcuda_is_beside_the_library)
{
  const char *suffix = "/softcuda";
  const char *dir;

  unsetenv ("VKGDR_SOFTCUDA_DIR");
  dir = vkgdr_driver_softcuda_dir ();
  ck_assert_int_eq (dir[0], '/');
  ck_assert_uint_gt (strlen (dir), strlen (suffix));
  ck_assert_str_eq (dir + strlen (dir) - strlen (suffix), suffix);
}

TEST (works_without_vulkan)
{
  vkgdr_t g;

  /* Kernels need no Vulkan. Memory in the window needs it, and the error says
   * so. */
  if (!test_use_software_device ())
    return;
  setenv ("VKGDR_VULKAN_LIBRARY", "/nonexistent/libvulkan.so.1", 1);
  ck_assert_ptr_nonnull (vkgdr_driver_load ());
  assert_no_error ();
  g = vkgdr_open (0, 0);
  ck_assert_ptr_null (g);
  assert_error ("/nonexistent/libvulkan.so.1", "libvulkan1");
  unsetenv ("VKGDR_VULKAN_LIBRARY");
  g = vkgdr_open (0, 0);
  ck_assert_ptr_nonnull (g);
  vkgdr_close (g);
}

static const vkgdr_cuda *tables[8];
static atomic_int n_tables;

static void *
load_in_thread (void *data)
{
  tables[atomic_fetch_add (&n_tables, 1)] = vkgdr_driver_load ();
  return NULL;
}

TEST (threads_load_one_driver)
{
  int i;

  test_run_threads (8, load_in_thread, NULL);
  for (i = 0; i < 8; i++)
    ck_assert_ptr_eq (tables[i], tables[0]);
}

/* Runs this program with softcuda as the system's libcuda.so.1. */
static int
run_with_softcuda_on_the_path (void)
{
  char *error;
  bool ok;

  setenv ("VKGDR_DRIVER", "nvidia", 1);
  if (vkgdr_driver_load ())
    return EXIT_FAILURE;
  error = vkgdr_last_error ();
  ok = error && strstr (error, "is softcuda");
  free (error);
  return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}

int
main (int argc, char **argv)
{
  if (argc == 2 && strcmp (argv[1], "nvidia-path") == 0)
    return run_with_softcuda_on_the_path ();
  return test_main (argc, argv);
}
