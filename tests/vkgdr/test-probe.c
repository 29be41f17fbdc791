/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * test-probe.c: tests that vkgdr_probe() says why a device cannot be opened,
 * and describes this device as far as possible
 */

#include "util.h"

#include <stdlib.h>

static vkgdr_device_info info;

TEST_REQUIRE (test_require_device);

TEST (nothing_in_the_way)
{
  vkgdr_device_info opened;
  vkgdr_t g;

  ck_assert_int_eq (vkgdr_probe (0, &info), VKGDR_OBSTACLE_NONE);
  assert_no_error ();
  g = vkgdr_open (0, 0);
  ck_assert_ptr_nonnull (g);
  vkgdr_get_device_info (g, &opened);
  ck_assert_str_eq (info.name, opened.name);
  ck_assert_str_eq (info.vulkan_driver, opened.vulkan_driver);
  ck_assert_mem_eq (info.uuid, opened.uuid, sizeof (info.uuid));
  ck_assert_uint_eq (info.window_size, opened.window_size);
  ck_assert_uint_gt (info.window_budget, 0);
  vkgdr_close (g);
}

TEST (no_such_device)
{
  memset (&info, 0xff, sizeof (info));
  ck_assert_int_eq (vkgdr_probe (12345, &info), VKGDR_OBSTACLE_CUDA_DEVICE);
  assert_error ("12345");
  ck_assert_str_eq (info.name, "");
  ck_assert_int_ge (info.cuda_driver_version, 10000);
}

TEST (no_cuda_driver)
{
  memset (&info, 0xff, sizeof (info));
  setenv ("VKGDR_DRIVER", "another", 1);
  ck_assert_int_eq (vkgdr_probe (0, &info), VKGDR_OBSTACLE_CUDA_DRIVER);
  assert_error ("VKGDR_DRIVER", "another");
  ck_assert_str_eq (info.name, "");
  ck_assert_int_eq (info.cuda_driver_version, 0);
}

TEST (wrong_settings)
{
  setenv ("VKGDR_DEBUG", "nonsense", 1);
  ck_assert_int_eq (vkgdr_probe (0, &info), VKGDR_OBSTACLE_SETTINGS);
  assert_error ("nonsense");
}

/* Checks that the description has the data of CUDA, and no data of Vulkan. */
static void
assert_cuda_is_known (void)
{
  ck_assert_str_ne (info.name, "");
  ck_assert_int_ge (info.cuda_driver_version, 10000);
  ck_assert_uint_eq (info.window_size, 0);
  ck_assert_uint_eq (info.n_memory_types, 0);
  ck_assert_str_eq (info.vulkan_driver, "");
}

TEST (no_vulkan_loader)
{
  setenv ("VKGDR_VULKAN_LIBRARY", "/nonexistent/libvulkan.so.1", 1);
  ck_assert_int_eq (vkgdr_probe (0, &info), VKGDR_OBSTACLE_VULKAN_LOADER);
  assert_error ("/nonexistent/libvulkan.so.1");
  assert_cuda_is_known ();
}

TEST (another_library_is_no_loader)
{
  setenv ("VKGDR_VULKAN_LIBRARY", "libm.so.6", 1);
  ck_assert_int_eq (vkgdr_probe (0, &info), VKGDR_OBSTACLE_VULKAN_LOADER);
  assert_cuda_is_known ();
}

TEST (no_vulkan_driver)
{
  setenv ("VK_DRIVER_FILES", "/nonexistent.json", 1);
  setenv ("VK_ICD_FILENAMES", "/nonexistent.json", 1);
  ck_assert_int_eq (vkgdr_probe (0, &info), VKGDR_OBSTACLE_VULKAN_DRIVER);
  assert_error ("VK_DRIVER_FILES");
  assert_cuda_is_known ();
}

TEST (vulkan_hidden)
{
  setenv ("VKGDR_DEBUG", "no-vulkan", 1);
  ck_assert_int_eq (vkgdr_probe (0, &info), VKGDR_OBSTACLE_VULKAN_LOADER);
  assert_error ("VKGDR_DEBUG=no-vulkan");
  assert_cuda_is_known ();
}

TEST (no_window)
{
  setenv ("VKGDR_DEBUG", "no-window", 1);
  ck_assert_int_eq (vkgdr_probe (0, &info), VKGDR_OBSTACLE_WINDOW);
  assert_error ("device-local and host-visible");
  ck_assert_str_ne (info.vulkan_driver, "");
  ck_assert_uint_gt (info.n_memory_types, 0);
  ck_assert_uint_eq (info.window_size, 0);
  ck_assert_uint_eq (info.window_budget, 0);
}

/* The memory type is known, but no memory can be allocated. The variable has
 * the path of a loader; installed tests do not have it. */
TEST (no_vulkan_device)
{
  const char *loader = getenv ("TEST_LOADER_WITHOUT_DEVICE");

  if (!loader)
    return;
  setenv ("VKGDR_VULKAN_LIBRARY", loader, 1);
  ck_assert_int_eq (vkgdr_probe (0, &info), VKGDR_OBSTACLE_EXPORT);
  assert_error ("vkCreateDevice", "nvidia-smi");
  ck_assert_str_ne (info.vulkan_driver, "");
  ck_assert_uint_gt (info.n_memory_types, 0);
  ck_assert_uint_eq (info.window_size, 0);
  ck_assert_uint_eq (info.memory_type, 0);
  ck_assert (!info.coherent);
  ck_assert (!info.host_cached);
}

TEST (leaves_nothing_open)
{
  int fds;
  int i;

  vkgdr_probe (0, &info);
  fds = test_count_fds ();
  for (i = 0; i < 10; i++) {
    vkgdr_probe (0, &info);
    vkgdr_probe (7, &info);
  }
  ck_assert_int_eq (test_count_fds (), fds);
}
