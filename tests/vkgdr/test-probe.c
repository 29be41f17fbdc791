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

/* What is in the way, and how much of the device is known all the same. */
static const struct {
  int device;
  const char *variable, *value;
  vkgdr_obstacle obstacle;
  enum { NOTHING, CUDA_DRIVER, CUDA_DEVICE, VULKAN_DEVICE } known;
  const char *word; /* of the error */
} obstacles[] = {
  { 12345, "VKGDR_DEBUG", "", VKGDR_OBSTACLE_CUDA_DEVICE, CUDA_DRIVER,
      "12345" },
  { 0, "VKGDR_DRIVER", "another", VKGDR_OBSTACLE_CUDA_DRIVER, NOTHING,
      "VKGDR_DRIVER" },
  { 0, "VKGDR_DEBUG", "nonsense", VKGDR_OBSTACLE_SETTINGS, CUDA_DEVICE,
      "nonsense" },
  { 0, "VKGDR_VULKAN_LIBRARY", "/nonexistent/libvulkan.so.1",
      VKGDR_OBSTACLE_VULKAN_LOADER, CUDA_DEVICE,
      "/nonexistent/libvulkan.so.1" },
  { 0, "VKGDR_VULKAN_LIBRARY", "libm.so.6", VKGDR_OBSTACLE_VULKAN_LOADER,
      CUDA_DEVICE, "libm.so.6" },
  { 0, "VK_DRIVER_FILES", "/nonexistent.json", VKGDR_OBSTACLE_VULKAN_DRIVER,
      CUDA_DEVICE, "VK_DRIVER_FILES" },
  { 0, "VKGDR_DEBUG", "no-vulkan", VKGDR_OBSTACLE_VULKAN_LOADER, CUDA_DEVICE,
      "VKGDR_DEBUG=no-vulkan" },
  { 0, "VKGDR_DEBUG", "no-window", VKGDR_OBSTACLE_WINDOW, VULKAN_DEVICE,
      "device-local and host-visible" },
};

TEST_LOOP (obstacles, sizeof (obstacles) / sizeof (obstacles[0]))
{
  bool has_vulkan = obstacles[__i__].known == VULKAN_DEVICE;

  memset (&info, 0xff, sizeof (info));
  setenv (obstacles[__i__].variable, obstacles[__i__].value, 1);
  if (strcmp (obstacles[__i__].variable, "VK_DRIVER_FILES") == 0)
    setenv ("VK_ICD_FILENAMES", obstacles[__i__].value, 1);
  ck_assert_int_eq (
      vkgdr_probe (obstacles[__i__].device, &info), obstacles[__i__].obstacle);
  assert_error (obstacles[__i__].word);
  ck_assert_int_eq (
      info.cuda_driver_version >= 10000, obstacles[__i__].known >= CUDA_DRIVER);
  ck_assert_int_eq (info.name[0] != 0, obstacles[__i__].known >= CUDA_DEVICE);
  ck_assert_int_eq (info.vulkan_driver[0] != 0, has_vulkan);
  ck_assert_int_eq (info.n_memory_types > 0, has_vulkan);
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
