/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * test-open.c: tests that a device is opened, described and closed, and that
 * errors say why a device cannot be opened
 */

#include "util.h"

#include <ctype.h>
#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#define WINDOW_FLAGS \
  (VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT | VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT)

TEST_REQUIRE (test_require_device);

TEST (by_device)
{
  vkgdr_t g = vkgdr_open (0, 0);

  assert_no_error ();
  ck_assert_ptr_nonnull (g);
  vkgdr_close (g);
  vkgdr_close (NULL);
}

TEST (by_current_context)
{
  vkgdr_t g;

  test_enter_context ();
  g = vkgdr_open (-1, VKGDR_OPEN_CURRENT_CONTEXT_BIT);
  assert_no_error ();
  ck_assert_ptr_nonnull (g);
  ck_assert_int_eq (g->cu_device, 0);
  vkgdr_close (g);
}

TEST (no_current_context)
{
  ck_assert_ptr_null (vkgdr_open (0, VKGDR_OPEN_CURRENT_CONTEXT_BIT));
  assert_error ("current", "cuCtxPushCurrent");
}

TEST (no_such_device)
{
  ck_assert_ptr_null (vkgdr_open (12345, 0));
  assert_error ("12345");
  ck_assert_ptr_null (vkgdr_open (-1, 0));
  assert_error ("-1");
}

TEST (unknown_flags)
{
  ck_assert_ptr_null (vkgdr_open (0, 16));
  assert_error ("flags", "0x10");
  ck_assert_ptr_null (vkgdr_open (0, 0x80000000u | 1));
  assert_error ("0x80000000");
}

TEST (an_error_ends_with_a_success)
{
  vkgdr_t g;

  ck_assert_ptr_null (vkgdr_open (0, 16));
  assert_error ("flags");
  g = vkgdr_open (0, 0);
  assert_no_error ();
  vkgdr_close (g);
}

TEST (coherent_if_required)
{
  vkgdr_t g = vkgdr_open (0, VKGDR_OPEN_REQUIRE_COHERENT_BIT);
  vkgdr_device_info info;

  if (!g) { /* some machines have no device */
    assert_error ("host-coherent");
    return;
  }
  vkgdr_get_device_info (g, &info);
  ck_assert (info.coherent);
  ck_assert_uint_ne (info.memory_types[info.memory_type].flags
                         & VK_MEMORY_PROPERTY_HOST_COHERENT_BIT,
      0);
  vkgdr_close (g);
}

TEST (non_coherent_if_forced)
{
  vkgdr_t g = vkgdr_open (0, VKGDR_OPEN_FORCE_NON_COHERENT_BIT);
  vkgdr_device_info info;

  ck_assert_ptr_nonnull (g);
  vkgdr_get_device_info (g, &info);
  ck_assert (!info.coherent);
  vkgdr_close (g);
}

static void
check_pci (const vkgdr_device_info *info)
{
  size_t i;

  if (info->software) {
    ck_assert_str_eq (info->pci_address, "");
    ck_assert_uint_eq (info->bar_size, 0);
    return;
  }
  ck_assert_uint_ge (strlen (info->pci_address), strlen ("0000:00:00.0"));
  for (i = 0; info->pci_address[i]; i++)
    ck_assert (!isupper ((unsigned char) info->pci_address[i]));
}

TEST (is_described)
{
  const vkgdr_cuda *cu = test_enter_context ();
  vkgdr_t g = vkgdr_open (0, 0);
  const vkgdr_memory_type *type;
  vkgdr_device_info info;
  CUuuid uuid;

  ck_assert_ptr_nonnull (g);
  memset (&info, 0xff, sizeof (info));
  vkgdr_get_device_info (g, &info);
  ck_assert_str_ne (info.name, "");
  ck_assert_str_ne (info.vulkan_driver, "");
  ck_assert_uint_ge (info.vulkan_api_version, VK_API_VERSION_1_1);
  ck_assert_int_ge (info.cuda_driver_version, 10000);
  ck_assert_int_eq (info.software, vkgdr_driver_is_software ());
  check_pci (&info);

  if (cu->cuDeviceGetUuid_v2)
    cu->cuDeviceGetUuid_v2 (&uuid, 0);
  else
    cu->cuDeviceGetUuid (&uuid, 0);
  ck_assert_mem_eq (info.uuid, uuid.bytes, 16);

  ck_assert_uint_ge (info.n_memory_types, 1);
  ck_assert_uint_le (info.n_memory_types, VKGDR_MAX_MEMORY_TYPES);
  ck_assert_uint_lt (info.memory_type, info.n_memory_types);
  type = &info.memory_types[info.memory_type];
  ck_assert_uint_eq (type->flags & WINDOW_FLAGS, WINDOW_FLAGS);
  ck_assert_uint_eq (type->heap_size, info.window_size);
  ck_assert_int_eq (
      info.coherent, !!(type->flags & VK_MEMORY_PROPERTY_HOST_COHERENT_BIT));
  ck_assert_int_eq (
      info.host_cached, !!(type->flags & VK_MEMORY_PROPERTY_HOST_CACHED_BIT));

  ck_assert_uint_gt (info.window_size, 0);
  ck_assert_uint_gt (info.window_budget, 0);
  ck_assert_uint_eq (info.allocated, 0);
  ck_assert_uint_eq (info.n_allocations, 0);
  vkgdr_close (g);
}

TEST (info_follows_allocations)
{
  vkgdr_t g = test_open (0);
  vkgdr_memory_t a = test_alloc (g, 1000);
  vkgdr_memory_t b = test_alloc (g, 234);
  vkgdr_device_info info;

  vkgdr_get_device_info (g, &info);
  ck_assert_uint_eq (info.allocated, 1234);
  ck_assert_uint_eq (info.n_allocations, 2);
  ck_assert_uint_ge (info.window_usage, 1234);
  vkgdr_memory_free (a);
  vkgdr_get_device_info (g, &info);
  ck_assert_uint_eq (info.allocated, 234);
  ck_assert_uint_eq (info.n_allocations, 1);
  vkgdr_memory_free (b);
  vkgdr_get_device_info (g, &info);
  ck_assert_uint_eq (info.allocated, 0);
  ck_assert_uint_eq (info.n_allocations, 0);
  vkgdr_close (g);
}

TEST (another_library_is_no_loader)
{
  setenv ("VKGDR_VULKAN_LIBRARY", "libm.so.6", 1);
  ck_assert_ptr_null (vkgdr_open (0, 0));
  assert_error ("libm.so.6", "vkGetInstanceProcAddr");
}

/* Opens a device without a window, and checks what the handle says about the
 * missing window. */
static vkgdr_t
open_without_window (
    vkgdr_obstacle obstacle, const char *reason_word, const char *remedy_word)
{
  const char *reason, *remedy;
  vkgdr_device_info info;
  vkgdr_t g;

  ck_assert_ptr_null (vkgdr_open (0, 0));
  assert_error (reason_word, remedy_word);
  g = vkgdr_open (0, VKGDR_OPEN_WINDOW_OPTIONAL_BIT);
  assert_no_error ();
  ck_assert_ptr_nonnull (g);
  ck_assert_int_eq (vkgdr_get_window_obstacle (g, &reason, &remedy), obstacle);
  ck_assert_msg (strstr (reason, reason_word), "reason: %s", reason);
  ck_assert_msg (strstr (remedy, remedy_word), "remedy: %s", remedy);
  ck_assert_msg (!strstr (reason, remedy), "reason: %s", reason);
  ck_assert_int_eq (vkgdr_get_window_obstacle (g, NULL, NULL), obstacle);

  memset (&info, 0xff, sizeof (info));
  vkgdr_get_device_info (g, &info);
  ck_assert_str_ne (info.name, "");
  ck_assert_int_ge (info.cuda_driver_version, 10000);
  ck_assert_uint_eq (info.window_size, 0);
  ck_assert_uint_eq (info.window_budget, 0);
  ck_assert_uint_eq (info.window_usage, 0);
  ck_assert (!info.coherent);
  ck_assert (!info.host_cached);
  return g;
}

/* An allocation with a host pointer fails with the same reason and remedy, but
 * CUDA works. */
static void
use_without_window (vkgdr_t g, const char *reason, const char *remedy)
{
  const vkgdr_cuda *cu = test_enter_context ();
  unsigned char byte = 0;
  CUdeviceptr pointer;

  ck_assert_ptr_null (vkgdr_memory_alloc (g, 4096, 0));
  assert_error ("no window", reason, remedy);
  ck_assert_int_eq (cu->cuMemAlloc (&pointer, 4096), CUDA_SUCCESS);
  ck_assert_int_eq (cu->cuMemsetD8 (pointer, 0x5a, 4096), CUDA_SUCCESS);
  ck_assert_int_eq (cu->cuMemcpyDtoH (&byte, pointer, 1), CUDA_SUCCESS);
  ck_assert_uint_eq (byte, 0x5a);
  ck_assert_int_eq (cu->cuMemFree (pointer), CUDA_SUCCESS);
  vkgdr_close (g);
}

TEST (a_window_is_no_obstacle)
{
  vkgdr_t g = vkgdr_open (0, VKGDR_OPEN_WINDOW_OPTIONAL_BIT);
  const char *reason, *remedy;

  ck_assert_ptr_nonnull (g);
  ck_assert_int_eq (
      vkgdr_get_window_obstacle (g, &reason, &remedy), VKGDR_OBSTACLE_NONE);
  ck_assert_str_eq (reason, "");
  ck_assert_str_eq (remedy, "");
  test_enter_context ();
  vkgdr_memory_free (test_alloc (g, 4096));
  vkgdr_close (g);
}

TEST (opens_without_vulkan_loader)
{
  const char *library = "/nonexistent/libvulkan.so.1";

  setenv ("VKGDR_VULKAN_LIBRARY", library, 1);
  use_without_window (open_without_window (VKGDR_OBSTACLE_VULKAN_LOADER,
                          "no Vulkan loader", "libvulkan1"),
      library, "NVIDIA_DRIVER_CAPABILITIES=graphics,compute,video,utility");
}

TEST (opens_without_vulkan_driver)
{
  setenv ("VK_DRIVER_FILES", "/nonexistent.json", 1);
  setenv ("VK_ICD_FILENAMES", "/nonexistent.json", 1);
  use_without_window (open_without_window (VKGDR_OBSTACLE_VULKAN_DRIVER,
                          "Vulkan found no driver", "mesa-vulkan-drivers"),
      "nvidia_icd.json", "VK_DRIVER_FILES");
}

TEST (opens_without_host_visible_memory)
{
  vkgdr_device_info info;
  vkgdr_t g;

  setenv ("VKGDR_DEBUG", "no-window", 1);
  g = open_without_window (
      VKGDR_OBSTACLE_WINDOW, "device-local and host-visible", "Resizable BAR");
  vkgdr_get_device_info (g, &info);
  ck_assert_uint_gt (info.n_memory_types, 0);
  ck_assert_str_ne (info.vulkan_driver, "");
  use_without_window (g, "device-local and host-visible", "Resizable BAR");
}

/* VKGDR_DEBUG=no-vulkan also applies to a process that has already used
 * Vulkan. */
TEST (opens_with_vulkan_hidden)
{
  vkgdr_t g = test_open (0);
  vkgdr_memory_t mem = test_alloc (g, 4096);

  setenv ("VKGDR_DEBUG", "bar,no-vulkan", 1);
  use_without_window (open_without_window (VKGDR_OBSTACLE_VULKAN_LOADER,
                          "VKGDR_DEBUG=no-vulkan", "unset VKGDR_DEBUG"),
      "VKGDR_DEBUG=no-vulkan", "unset VKGDR_DEBUG");
  vkgdr_memory_free (mem);
  vkgdr_close (g);
}

TEST (no_window_leaves_nothing_open)
{
  size_t used = 0;
  int fds = 0;
  int i;

  setenv ("VKGDR_DEBUG", "no-window", 1);
  for (i = 0; i < 30; i++) {
    if (i == 10) {
      fds = test_count_fds ();
      used = mallinfo2 ().uordblks;
    }
    vkgdr_close (vkgdr_open (0, VKGDR_OPEN_WINDOW_OPTIONAL_BIT));
    assert_no_error ();
  }
  ck_assert_int_eq (test_count_fds (), fds);
  ck_assert_uint_le (mallinfo2 ().uordblks, used + 20 * 4096);
}

/* The flag has no effect on other errors. */
TEST (an_optional_window_excuses_nothing_else)
{
  ck_assert_ptr_null (vkgdr_open (12345, VKGDR_OPEN_WINDOW_OPTIONAL_BIT));
  assert_error ("12345");
  setenv ("VKGDR_DEBUG", "nonsense", 1);
  ck_assert_ptr_null (vkgdr_open (0, VKGDR_OPEN_WINDOW_OPTIONAL_BIT));
  assert_error ("nonsense", "no-vulkan");
}

TEST (another_device)
{
  const vkgdr_debug debug = { .bar = false };
  CUuuid uuid = { "another device!" };
  const vkgdr_cuda *cu;
  vkgdr_vk vk;

  /* A Vulkan device with another UUID than the CUDA device is not used. */
  if (!test_use_software_device ())
    return;
  cu = vkgdr_driver_load ();
  ck_assert_ptr_nonnull (cu);
  ck_assert_int_eq (vkgdr_vk_init (&vk, &debug), VKGDR_OBSTACLE_NONE);
  ck_assert (!vkgdr_vk_choose_uuid (&vk, (uint8_t *) uuid.bytes));
  assert_error ("UUID", "616e6f7468657220646576696365", "llvmpipe",
      "mesa-vulkan-drivers");
  ck_assert_int_eq (cu->cuDeviceGetUuid (&uuid, 0), CUDA_SUCCESS);
  ck_assert (vkgdr_vk_choose_uuid (&vk, (uint8_t *) uuid.bytes));
  ck_assert (vkgdr_vk_has_extension (
      &vk, vk.physical, VK_KHR_EXTERNAL_MEMORY_FD_EXTENSION_NAME));
  ck_assert (
      !vkgdr_vk_has_extension (&vk, vk.physical, "VK_KHR_no_such_extension"));
  vkgdr_vk_clear (&vk);
}

static int slack_in_driver;

static VKAPI_ATTR VkResult VKAPI_CALL
spy_create_device (VkPhysicalDevice physical, const VkDeviceCreateInfo *info,
    const VkAllocationCallbacks *callbacks, VkDevice *device)
{
  slack_in_driver = prctl (PR_GET_TIMERSLACK);
  return VK_ERROR_DEVICE_LOST;
}

/* The driver's threads inherit the slack of the thread that calls
 * vkCreateDevice. This thread gets its own one back. */
TEST (threads_of_the_driver_may_wake_late)
{
  const vkgdr_debug debug = { .bar = false };
  PFN_vkCreateDevice create;
  CUuuid uuid;
  vkgdr_vk vk;

  if (!test_use_software_device ())
    return;
  ck_assert_int_eq (
      vkgdr_driver_load ()->cuDeviceGetUuid (&uuid, 0), CUDA_SUCCESS);
  ck_assert_int_eq (vkgdr_vk_init (&vk, &debug), VKGDR_OBSTACLE_NONE);
  ck_assert (vkgdr_vk_choose_uuid (&vk, (uint8_t *) uuid.bytes));
  ck_assert_int_eq (prctl (PR_SET_TIMERSLACK, 123000UL), 0);
  create = vk.CreateDevice;
  vk.CreateDevice = spy_create_device;
  ck_assert (!vkgdr_vk_create_device (&vk));
  assert_error ("VK_ERROR_DEVICE_LOST");
  ck_assert_int_eq (slack_in_driver, 200000000);
  ck_assert_int_eq (prctl (PR_GET_TIMERSLACK), 123000);
  vk.CreateDevice = create;
  ck_assert (vkgdr_vk_create_device (&vk));
  ck_assert_int_eq (prctl (PR_GET_TIMERSLACK), 123000);
  vkgdr_vk_clear (&vk);
}

/* If the device exists but a call of the driver fails, the error is that of the
 * call. */
TEST (driver_without_uuid)
{
  char *error;

  if (!test_use_software_device ())
    return;
  vkgdr_close (vkgdr_open (0, 0));
  test_fail ("cuDeviceGetUuid:1:CUDA_ERROR_OUT_OF_MEMORY");
  ck_assert_ptr_null (vkgdr_open (0, 0));
  error = vkgdr_last_error ();
  ck_assert_ptr_nonnull (strstr (error, "cuDeviceGetUuid"));
  ck_assert_ptr_nonnull (strstr (error, "CUDA_ERROR_OUT_OF_MEMORY"));
  ck_assert_ptr_null (strstr (error, "there is no CUDA device"));
  free (error);
  test_fail (NULL);
}

TEST (failures_leave_nothing_open)
{
  vkgdr_t g;
  int fds;
  int i;

  if (!test_use_software_device ())
    return;
  vkgdr_close (vkgdr_open (0, 0));
  fds = test_count_fds ();
  for (i = 0; i < 10; i++) {
    ck_assert_ptr_null (vkgdr_open (7, 0));
    test_fail ("cuDeviceGetUuid:1:CUDA_ERROR_INVALID_DEVICE");
    ck_assert_ptr_null (vkgdr_open (0, 0));
    assert_error ("CUDA_ERROR_INVALID_DEVICE");
    test_fail (NULL);
  }
  ck_assert_int_eq (test_count_fds (), fds);
  g = vkgdr_open (0, 0);
  assert_no_error ();
  vkgdr_close (g);
}

TEST (nothing_leaks)
{
  size_t used = 0;
  int fds = 0;
  int maps = 0;
  int i;

  test_enter_context ();
  for (i = 0; i < 50; i++) {
    /* The first rounds fill caches of libraries and of the drivers. */
    if (i == 10) {
      fds = test_count_fds ();
      maps = test_count_maps ();
      used = mallinfo2 ().uordblks;
    }
    vkgdr_close (vkgdr_open (0, 0));
    assert_no_error ();
  }
  ck_assert_int_eq (test_count_fds (), fds);
  ck_assert_int_le (test_count_maps (), maps + 8);
  ck_assert_uint_le (mallinfo2 ().uordblks, used + 40 * 4096);
}

static void *
use_in_thread (void *data)
{
  vkgdr_memory_t mem;
  vkgdr_t g;
  int i;

  test_enter_context ();
  for (i = 0; i < 3; i++) {
    g = vkgdr_open (0, 0);
    if (!g)
      return vkgdr_last_error ();
    mem = vkgdr_memory_alloc (g, 4096, 0);
    if (!mem)
      return vkgdr_last_error ();
    vkgdr_memory_free (mem);
    vkgdr_close (g);
  }
  return NULL;
}

TEST (threads_may_open_at_once)
{
  pthread_t threads[4];
  void *error;
  int i;

  for (i = 0; i < 4; i++)
    ck_assert_int_eq (
        pthread_create (&threads[i], NULL, use_in_thread, NULL), 0);
  for (i = 0; i < 4; i++) {
    pthread_join (threads[i], &error);
    if (error)
      ck_abort_msg ("%s", (char *) error);
  }
}
