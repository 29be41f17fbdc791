/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * test-open.c: tests that a device is opened, described and closed; that errors
 * say why a device cannot be opened; that vkgdr_probe() says the same; and that
 * VKGDR_DEBUG restricts the device
 */

#include "util.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <sys/prctl.h>

#define WINDOW_FLAGS \
  (VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT | VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT)
#define OPTIONAL VKGDR_OPEN_WINDOW_OPTIONAL_BIT

TEST_REQUIRE (test_require_device);

/* --- devices that are opened --------------------------------------------- */

/* How a device is opened, and what it is then: 0, 1, or -1 for either. */
static const struct {
  int device;
  uint32_t flags;
  const char *debug;
  int coherent, cached;
} devices[] = {
  { 0, 0, "", -1, -1 },
  { -1, VKGDR_OPEN_CURRENT_CONTEXT_BIT, "", -1, -1 },
  { 0, VKGDR_OPEN_REQUIRE_COHERENT_BIT, "", 1, -1 },
  { 0, VKGDR_OPEN_FORCE_NON_COHERENT_BIT, "", 0, -1 },
  { 0, OPTIONAL, "", -1, -1 },
  { 0, 0, "bar", -1, 0 },
  { 0, 0, "non-coherent", 0, -1 },
};

TEST_LOOP (devices, N_ELEMENTS (devices))
{
  int coherent = devices[__i__].coherent, cached = devices[__i__].cached;
  const char *reason, *remedy;
  vkgdr_device_info info;
  vkgdr_memory_t mem;
  vkgdr_t g;

  setenv ("VKGDR_DEBUG", devices[__i__].debug, 1);
  test_enter_context ();
  g = vkgdr_open (devices[__i__].device, devices[__i__].flags);
  if (!g && coherent == 1) { /* some machines have no such device */
    assert_error ("host-coherent");
    return;
  }
  assert_no_error ();
  ck_assert_int_eq (g->cu_device, 0);
  vkgdr_get_device_info (g, &info);
  ck_assert (coherent < 0 || info.coherent == coherent);
  ck_assert (cached < 0 || info.host_cached == cached);
  ck_assert_int_eq (
      vkgdr_get_window_obstacle (g, &reason, &remedy), VKGDR_OBSTACLE_NONE);
  ck_assert_str_eq (reason, "");
  ck_assert_str_eq (remedy, "");
  mem = test_alloc (g, 4096);
  ck_assert_uint_ne (vkgdr_memory_get_device_ptr (mem), 0);
  ck_assert_int_eq (vkgdr_memory_is_coherent (mem), info.coherent);
  if (info.coherent)
    ck_assert_uint_eq (vkgdr_memory_non_coherent_atom_size (mem), 1);
  vkgdr_memory_free (mem);
  vkgdr_memory_free (NULL);
  vkgdr_close (g);
  vkgdr_close (NULL);
}

TEST (is_described)
{
  const vkgdr_cuda *cu = test_enter_context ();
  vkgdr_t g = vkgdr_open (0, 0);
  vkgdr_device_info info, probed;
  const vkgdr_memory_type *type;
  CUuuid uuid;

  memset (&info, 0xff, sizeof (info));
  vkgdr_get_device_info (g, &info);
  ck_assert_str_ne (info.name, "");
  ck_assert_str_ne (info.vulkan_driver, "");
  ck_assert_uint_ge (info.vulkan_api_version, VK_API_VERSION_1_1);
  ck_assert_int_ge (info.cuda_driver_version, 10000);
  ck_assert_int_eq (info.software, vkgdr_driver_is_software ());
  ck_assert_int_eq (
      strlen (info.pci_address) >= strlen ("0000:00:00.0"), !info.software);
  vkgdr_device_get_cuda_uuid (cu, 0, &uuid);
  ck_assert_mem_eq (info.uuid, uuid.bytes, 16);
  ck_assert_uint_lt (info.memory_type, info.n_memory_types);
  type = &info.memory_types[info.memory_type];
  ck_assert_uint_eq (type->flags & WINDOW_FLAGS, WINDOW_FLAGS);
  ck_assert_uint_eq (type->heap_size, info.window_size);
  ck_assert_int_eq (
      info.coherent, !!(type->flags & VK_MEMORY_PROPERTY_HOST_COHERENT_BIT));
  ck_assert_int_eq (
      info.host_cached, !!(type->flags & VK_MEMORY_PROPERTY_HOST_CACHED_BIT));
  ck_assert_uint_gt (info.window_budget, 0);

  /* Probing a good device finds nothing in the way, and the same. */
  ck_assert_int_eq (vkgdr_probe (0, &probed), VKGDR_OBSTACLE_NONE);
  assert_no_error ();
  ck_assert_str_eq (probed.vulkan_driver, info.vulkan_driver);
  ck_assert_mem_eq (probed.uuid, info.uuid, sizeof (info.uuid));
  ck_assert_uint_eq (probed.window_size, info.window_size);
  vkgdr_close (g);
}

/* Mesa's lavapipe reports more than SOFTCUDA_MEMORY: up to all memory of the
 * machine. */
TEST (window_is_part_of_the_memory)
{
  const vkgdr_cuda *cu = test_enter_context ();
  vkgdr_t g = vkgdr_open (0, 0);
  size_t free_bytes, before, total;
  vkgdr_device_info info;
  vkgdr_memory_t mem;

  vkgdr_get_device_info (g, &info);
  cu->cuMemGetInfo (&before, &total);
  if (info.software) {
    ck_assert_uint_le (info.window_size, total);
    ck_assert_uint_le (info.window_budget, total);
    mem = test_alloc (g, 8 << 20);
    cu->cuMemGetInfo (&free_bytes, &total);
    ck_assert_uint_eq (free_bytes, before - (8 << 20));
    vkgdr_memory_free (mem);
  }
  vkgdr_close (g);
}

/* --- devices that are not opened ----------------------------------------- */

/* What is in the way, how much of the device is known all the same, and words
 * of the reason and of the remedy. Without a remedy, no device is opened, even
 * if the window is optional. */
static const struct {
  int device;
  const char *variable, *value;
  vkgdr_obstacle obstacle;
  enum { NOTHING, CUDA_DRIVER, CUDA_DEVICE, VULKAN_DEVICE } known;
  const char *reason, *remedy, *more;
} obstacles[] = {
  { 12345, "VKGDR_DEBUG", "", VKGDR_OBSTACLE_CUDA_DEVICE, CUDA_DRIVER,
      "12345" },
  { -1, "VKGDR_DEBUG", "", VKGDR_OBSTACLE_CUDA_DEVICE, CUDA_DRIVER, "-1" },
  { 0, "VKGDR_DRIVER", "another", VKGDR_OBSTACLE_CUDA_DRIVER, NOTHING,
      "VKGDR_DRIVER" },
  { 0, "VKGDR_DEBUG", "bar,nonsense", VKGDR_OBSTACLE_SETTINGS, CUDA_DEVICE,
      "\"nonsense\", which is unknown: valid words are bar" },
  { 0, "VKGDR_VULKAN_LIBRARY", "/proc/missing/libvulkan.so.1",
      VKGDR_OBSTACLE_VULKAN_LOADER, CUDA_DEVICE, "/proc/missing/libvulkan.so.1",
      "libvulkan1", "NVIDIA_DRIVER_CAPABILITIES=graphics,compute,video" },
  { 0, "VKGDR_VULKAN_LIBRARY", "libm.so.6", VKGDR_OBSTACLE_VULKAN_LOADER,
      CUDA_DEVICE, "libm.so.6 has no vkGetInstanceProcAddr", "libvulkan1", "" },
  { 0, "VK_DRIVER_FILES", "/proc/missing.json", VKGDR_OBSTACLE_VULKAN_DRIVER,
      CUDA_DEVICE, "Vulkan found no driver", "mesa-vulkan-drivers",
      "VK_DRIVER_FILES" },
  { 0, "VKGDR_DEBUG", "bar,no-vulkan", VKGDR_OBSTACLE_VULKAN_LOADER,
      CUDA_DEVICE, "VKGDR_DEBUG=no-vulkan", "unset VKGDR_DEBUG", "" },
  { 0, "VKGDR_DEBUG", "no-window", VKGDR_OBSTACLE_WINDOW, VULKAN_DEVICE,
      "device-local and host-visible", "Resizable BAR", "" },
  /* The path of no-vulkan-device.c, which installed tests do not have. */
  { 0, "VKGDR_VULKAN_LIBRARY", NULL, VKGDR_OBSTACLE_EXPORT, VULKAN_DEVICE,
      "vkCreateDevice", "nvidia-smi", "" },
};

/* Opens a device without a window, with words of the reason and the remedy.
 * Memory with a host pointer fails with the same, but CUDA works. */
static void
open_without_window (
    vkgdr_obstacle obstacle, const char *reason_word, const char *remedy_word)
{
  vkgdr_t g = vkgdr_open (0, OPTIONAL);
  const vkgdr_cuda *cu = test_enter_context ();
  const char *reason, *remedy;
  unsigned char byte = 0;
  vkgdr_device_info info;
  CUdeviceptr pointer;

  ck_assert_int_eq (vkgdr_get_window_obstacle (g, &reason, &remedy), obstacle);
  ck_assert_msg (strstr (reason, reason_word), "reason: %s", reason);
  ck_assert_msg (strstr (remedy, remedy_word), "remedy: %s", remedy);
  ck_assert_msg (!strstr (reason, remedy), "reason: %s", reason);
  vkgdr_get_device_info (g, &info);
  ck_assert_str_ne (info.name, "");
  ck_assert_uint_eq (
      info.window_size + info.window_budget + info.window_usage, 0);
  ck_assert (!info.coherent && !info.host_cached);
  ck_assert_ptr_null (vkgdr_memory_alloc (g, 4096, 0));
  assert_error ("no window", reason_word, remedy_word);
  ck_assert_int_eq (cu->cuMemAlloc (&pointer, 4096), CUDA_SUCCESS);
  ck_assert_int_eq (cu->cuMemsetD8 (pointer, 0x5a, 4096), CUDA_SUCCESS);
  ck_assert_int_eq (cu->cuMemcpyDtoH (&byte, pointer, 1), CUDA_SUCCESS);
  ck_assert_uint_eq (byte, 0x5a);
  ck_assert_int_eq (cu->cuMemFree (pointer), CUDA_SUCCESS);
  vkgdr_close (g);
}

/* VKGDR_DEBUG=no-vulkan also applies to a process that has used Vulkan. */
TEST_LOOP (obstacles, N_ELEMENTS (obstacles))
{
  const char *reason = obstacles[__i__].reason;
  const char *remedy = obstacles[__i__].remedy;
  const char *value = obstacles[__i__].value;
  int device = obstacles[__i__].device;
  bool has_vulkan = obstacles[__i__].known == VULKAN_DEVICE;
  vkgdr_device_info info;
  vkgdr_t with_window = NULL;

  if (!value)
    value = getenv ("TEST_LOADER_WITHOUT_DEVICE");
  TEST_NEEDS (value, "the build folder");
  if (strcmp (value, "bar,no-vulkan") == 0)
    with_window = test_open (0);
  memset (&info, 0xff, sizeof (info));
  setenv (obstacles[__i__].variable, value, 1);
  if (strcmp (obstacles[__i__].variable, "VK_DRIVER_FILES") == 0)
    setenv ("VK_ICD_FILENAMES", value, 1);
  ck_assert_int_eq (vkgdr_probe (device, &info), obstacles[__i__].obstacle);
  assert_error (reason);
  ck_assert_int_eq (
      info.cuda_driver_version >= 10000, obstacles[__i__].known >= CUDA_DRIVER);
  ck_assert_int_eq (info.name[0] != 0, obstacles[__i__].known >= CUDA_DEVICE);
  ck_assert_int_eq (info.vulkan_driver[0] != 0, has_vulkan);
  ck_assert_int_eq (info.n_memory_types > 0, has_vulkan);
  ck_assert_uint_eq (info.window_size + info.window_budget, 0);
  ck_assert (!info.coherent && !info.host_cached);
  ck_assert_ptr_null (vkgdr_open (device, remedy ? 0 : OPTIONAL));
  assert_error (reason);
  if (remedy) {
    assert_error (remedy, obstacles[__i__].more);
    open_without_window (obstacles[__i__].obstacle, reason, remedy);
  }
  vkgdr_close (with_window);
}

/* The error of what the caller has passed ends with the next success. */
TEST (refusals)
{
  ck_assert_ptr_null (vkgdr_open (0, VKGDR_OPEN_CURRENT_CONTEXT_BIT));
  assert_error ("current", "cuCtxPushCurrent");
  ck_assert_ptr_null (vkgdr_open (0, 0x80000010u | OPTIONAL));
  assert_error ("flags", "0x80000010");
  vkgdr_close (vkgdr_open (0, 0));
  assert_no_error ();
}

static int slack_in_driver;

static VKAPI_ATTR VkResult VKAPI_CALL
spy_create_device (VkPhysicalDevice physical, const VkDeviceCreateInfo *info,
    const VkAllocationCallbacks *callbacks, VkDevice *device)
{
  slack_in_driver = prctl (PR_GET_TIMERSLACK);
  return VK_ERROR_DEVICE_LOST;
}

/* A Vulkan device with another UUID than the CUDA device is not used. The
 * driver's threads inherit the timer slack of the thread that calls
 * vkCreateDevice. This thread gets its own one back. */
TEST (device_of_vulkan)
{
  const vkgdr_debug debug = { .bar = false };
  CUuuid uuid = { "another device!" };
  const vkgdr_cuda *cu;
  vkgdr_vk vk;

  TEST_NEEDS (test_use_software_device (), "the software device");
  cu = vkgdr_driver_load ();
  ck_assert_int_eq (vkgdr_vk_init (&vk, &debug), VKGDR_OBSTACLE_NONE);
  ck_assert (!vkgdr_vk_choose_uuid (&vk, (uint8_t *) uuid.bytes));
  assert_error ("UUID", "616e6f7468657220646576696365", "llvmpipe",
      "mesa-vulkan-drivers");
  cu->cuDeviceGetUuid (&uuid, 0);
  ck_assert (vkgdr_vk_choose_uuid (&vk, (uint8_t *) uuid.bytes));

  ck_assert_int_eq (prctl (PR_SET_TIMERSLACK, 123000UL), 0);
  vk.CreateDevice = spy_create_device;
  ck_assert (!vkgdr_vk_create_device (&vk));
  assert_error ("VK_ERROR_DEVICE_LOST");
  ck_assert_int_eq (slack_in_driver, 200000000);
  ck_assert_int_eq (prctl (PR_GET_TIMERSLACK), 123000);
  vkgdr_vk_clear (&vk);
}

/* --- VKGDR_DEBUG ---------------------------------------------------------- */

/* Values of VKGDR_DEBUG, and the size of the window; 0: the value is refused.
 */
static const struct {
  const char *text;
  uint64_t size;
} texts[] = {
  { "bar=1", 1 },
  { "bar=3k", 3072 },
  { "non-coherent,bar=16M", 16777216 },
  { "bar=1G,", 1073741824 },
  { "bar=0" },
  { "bar=" },
  { "bar=-1" },
  { "bar=1MB" },
  { "bar=0x10" },
  { "bar=99999999999999999999" },
  { "bar=18446744073709551615G" },
  { "bars" },
  { "bar;non-coherent" },
};

TEST (words_are_read)
{
  vkgdr_device_info info;
  size_t i;

  for (i = 0; i < N_ELEMENTS (texts); i++) {
    setenv ("VKGDR_DEBUG", texts[i].text, 1);
    ck_assert_int_eq (vkgdr_probe (0, &info),
        texts[i].size ? VKGDR_OBSTACLE_NONE : VKGDR_OBSTACLE_SETTINGS);
    ck_assert_uint_eq (info.window_size, texts[i].size);
    if (!texts[i].size)
      assert_error ("VKGDR_DEBUG", "unknown");
  }
}

TEST (a_full_window_says_how_full)
{
  const size_t mega = 1 << 20;
  vkgdr_memory_t a, b;
  vkgdr_device_info info;
  vkgdr_t first, second;

  setenv ("VKGDR_DEBUG", "bar=16M", 1);
  first = test_open (0);
  second = test_open (0);
  a = test_alloc (first, 6 * mega);
  b = test_alloc (first, 4 * mega);
  ck_assert_ptr_null (vkgdr_memory_alloc (first, 6 * mega + 1, 0));
  assert_error ("6291457 bytes", "VK_ERROR_OUT_OF_DEVICE_MEMORY",
      "window has 16777216 bytes", "uses 10485760 in 2 allocations",
      "10485760 of at most 16777216", "Resizable BAR", "smaller pools");
  /* All handles share one window. */
  ck_assert_ptr_null (vkgdr_memory_alloc (second, 6 * mega + 1, 0));
  assert_error ("uses 0 in 0 allocations", "10485760 of at most 16777216");
  vkgdr_memory_free (a);
  vkgdr_get_device_info (first, &info);
  ck_assert_uint_eq (info.window_size, 16 * mega);
  ck_assert_uint_eq (info.window_budget, 16 * mega);
  ck_assert_uint_eq (info.window_usage, 4 * mega);
  ck_assert_uint_eq (info.allocated, 4 * mega);
  vkgdr_memory_free (b);
  /* An allocation that fails takes none of it. */
  test_fail_vulkan (second, "vkAllocateMemory");
  ck_assert_ptr_null (vkgdr_memory_alloc (second, 16 * mega, 0));
  test_fail_vulkan (second, NULL);
  vkgdr_memory_free (test_alloc (second, 16 * mega));
  vkgdr_close (first);
  vkgdr_close (second);
}

/* What other processes have in the RAM of this machine is none of the window of
 * a software device. */
TEST (a_software_device_counts_this_process)
{
  const size_t mega = 1 << 20;
  vkgdr_device_info info;
  vkgdr_memory_t memory;
  vkgdr_t g;

  TEST_NEEDS (test_use_software_device (), "the software device");
  g = test_open (0);
  memory = test_alloc (g, mega);
  vkgdr_get_device_info (g, &info);
  ck_assert_uint_eq (info.window_usage, mega);
  ck_assert_uint_eq (info.window_budget, info.window_size);
  vkgdr_memory_free (memory);
  vkgdr_close (g);
}

/* If all of the device's memory is in the window, the firmware cannot help. */
TEST (a_full_device_has_no_larger_window)
{
  const vkgdr_memory_type *type;
  vkgdr_device_info info;
  vkgdr_t g = test_open (0);
  uint64_t largest = 0;
  uint32_t i;

  vkgdr_get_device_info (g, &info);
  for (i = 0; i < info.n_memory_types; i++) {
    type = &info.memory_types[i];
    if ((type->flags & VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT)
        && type->heap_size > largest)
      largest = type->heap_size;
  }
  test_fail_vulkan (g, "vkAllocateMemory");
  ck_assert_ptr_null (vkgdr_memory_alloc (g, 1 << 20, 0));
  test_fail_vulkan (g, NULL);
  ck_assert_int_eq (strstr (vkgdr_error_peek (), "Resizable BAR") != NULL,
      largest > info.window_size);
  assert_error ("smaller pools");
  vkgdr_close (g);
}

/* --- nothing is left ----------------------------------------------------- */

static void
open_probe_and_fail (void *data)
{
  vkgdr_device_info info;

  vkgdr_close (vkgdr_open (0, OPTIONAL));
  assert_no_error ();
  vkgdr_probe (0, &info);
  vkgdr_probe (7, &info);
  ck_assert_ptr_null (vkgdr_open (7, 0));
  if (!vkgdr_driver_is_software ())
    return;
  test_fail ("cuDeviceGetUuid:1:CUDA_ERROR_INVALID_DEVICE");
  ck_assert_ptr_null (vkgdr_open (0, 0));
  /* The error is that of the call, and not that there is no device. */
  assert_error ("cuDeviceGetUuid failed with CUDA_ERROR_INVALID_DEVICE");
  test_fail (NULL);
}

static const char *const restrictions[] = { "", "no-window" };

TEST_LOOP (nothing_leaks, N_ELEMENTS (restrictions))
{
  setenv ("VKGDR_DEBUG", restrictions[__i__], 1);
  test_enter_context ();
  test_leaves_nothing (40, open_probe_and_fail, NULL);
}

static void *
use_in_thread (void *data)
{
  static _Atomic (const vkgdr_cuda *) loaded;
  const vkgdr_cuda *cu = vkgdr_driver_load (), *other = NULL;
  vkgdr_t g;
  int i;

  if (!atomic_compare_exchange_strong (&loaded, &other, cu) && other != cu)
    return (void *) "another driver";
  for (i = 0; i < 3; i++) {
    g = test_open (0);
    vkgdr_memory_free (test_alloc (g, 4096));
    vkgdr_close (g);
  }
  return NULL;
}

/* They load one driver. */
TEST (threads_may_open_at_once)
{
  test_run_threads (8, use_in_thread, NULL);
}
