/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * test-memory.c: tests that both pointers of a memory lead to the same bytes,
 * that exactly the needed ranges are flushed, and that a failure leaves nothing
 * behind
 */

#include "util.h"

#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SIZE ((size_t) 100003) /* not a multiple of anything */

#define N_ELEMENTS(array) (sizeof (array) / sizeof ((array)[0]))

TEST_REQUIRE (test_require_device);

/* --- allocation ---------------------------------------------------------- */

TEST (has_its_properties)
{
  vkgdr_t g = test_open (0);
  vkgdr_memory_t mem = test_alloc (g, SIZE);
  vkgdr_device_info info;

  vkgdr_get_device_info (g, &info);
  ck_assert_ptr_nonnull (vkgdr_memory_get_host_ptr (mem));
  ck_assert_uint_ne (vkgdr_memory_get_device_ptr (mem), 0);
  ck_assert_uint_eq (vkgdr_memory_get_size (mem), SIZE);
  ck_assert_int_eq (vkgdr_memory_is_coherent (mem), info.coherent);
  if (info.coherent)
    ck_assert_uint_eq (vkgdr_memory_non_coherent_atom_size (mem), 1);
  vkgdr_memory_free (mem);
  vkgdr_memory_free (NULL);
  vkgdr_close (g);
}

TEST (bad_arguments_are_refused)
{
  vkgdr_t g = test_open (0);

  ck_assert_ptr_null (vkgdr_memory_alloc (g, 0, 0));
  assert_error ("size is 0");
  ck_assert_ptr_null (vkgdr_memory_alloc (g, 1, 2));
  assert_error ("flags", "0x2");
  vkgdr_memory_free (test_alloc (g, 1));
  assert_no_error ();
  vkgdr_close (g);
}

TEST (a_context_is_needed)
{
  const vkgdr_cuda *cu = vkgdr_driver_load ();
  vkgdr_t g = vkgdr_open (0, 0);
  CUcontext context;
  int n = 0;

  ck_assert_ptr_nonnull (g);
  ck_assert_ptr_null (vkgdr_memory_alloc (g, 1, 0));
  assert_error ("context", "cuCtxPushCurrent");
  cu->cuDeviceGetCount (&n);
  if (n > 1) {
    cu->cuDevicePrimaryCtxRetain (&context, 1);
    cu->cuCtxPushCurrent (context);
    ck_assert_ptr_null (vkgdr_memory_alloc (g, 1, 0));
    assert_error ("device 1", "device 0");
    cu->cuCtxPopCurrent (&context);
    cu->cuDevicePrimaryCtxRelease (1);
  }
  vkgdr_close (g);
}

TEST (too_much_is_refused)
{
  vkgdr_t g = test_open (0);
  vkgdr_device_info info;

  vkgdr_get_device_info (g, &info);
  ck_assert_ptr_null (vkgdr_memory_alloc (g, (size_t) 1 << 60, 0));
  assert_error ("1152921504606846976", "window", "Resizable BAR");
  vkgdr_memory_free (test_alloc (g, SIZE));
  vkgdr_close (g);
}

static void *
free_in_thread (void *mem)
{
  vkgdr_memory_free (mem);
  return vkgdr_last_error ();
}

TEST (any_thread_may_free)
{
  vkgdr_t g = test_open (0);
  vkgdr_memory_t mem = test_alloc (g, SIZE);
  vkgdr_device_info info;
  pthread_t thread;
  void *error;

  pthread_create (&thread, NULL, free_in_thread, mem);
  pthread_join (thread, &error);
  ck_assert_ptr_null (error);
  vkgdr_get_device_info (g, &info);
  ck_assert_uint_eq (info.allocated, 0);
  vkgdr_close (g);
}

TEST (memory_may_outlive_the_handle)
{
  vkgdr_t g = test_open (0);
  vkgdr_memory_t mem = test_alloc (g, SIZE);

  vkgdr_close (g);
  test_fill (vkgdr_memory_get_host_ptr (mem), SIZE, 1);
  vkgdr_memory_flush (mem, 0, SIZE);
  assert_no_error ();
  vkgdr_memory_free (mem);
  assert_no_error ();
}

TEST (thousand_leave_nothing)
{
  vkgdr_t g = test_open (0);
  size_t used = 0;
  int maps = 0;
  int fds = 0;
  int i;

  for (i = 0; i < 1010; i++) {
    if (i == 10) {
      fds = test_count_fds ();
      maps = test_count_maps ();
      used = mallinfo2 ().uordblks;
    }
    vkgdr_memory_free (test_alloc (g, 1 + i * 97));
  }
  ck_assert_int_eq (test_count_fds (), fds);
  ck_assert_int_le (test_count_maps (), maps + 4);
  ck_assert_uint_le (mallinfo2 ().uordblks, used + 64 * 1024);
  vkgdr_close (g);
}

/* --- both pointers ------------------------------------------------------- */

static void
check_both_ways (uint32_t flags)
{
  vkgdr_t g = test_open (flags);
  const vkgdr_cuda *cu = vkgdr_driver_load ();
  vkgdr_memory_t mem = test_alloc (g, SIZE);
  CUdeviceptr device = vkgdr_memory_get_device_ptr (mem);
  uint8_t *host = vkgdr_memory_get_host_ptr (mem);
  uint8_t *bytes = malloc (SIZE);

  test_fill (host, SIZE, 1);
  vkgdr_memory_flush (mem, 0, SIZE);
  assert_no_error ();
  memset (bytes, 0, SIZE);
  ck_assert_int_eq (cu->cuMemcpyDtoH (bytes, device, SIZE), CUDA_SUCCESS);
  ck_assert (test_matches (bytes, SIZE, 1));

  test_fill (bytes, SIZE, 2);
  vkgdr_copy_to_bar (host, bytes, SIZE, 0);
  vkgdr_memory_flush (mem, 0, SIZE);
  memset (bytes, 0, SIZE);
  ck_assert_int_eq (cu->cuMemcpyDtoH (bytes, device, SIZE), CUDA_SUCCESS);
  ck_assert (test_matches (bytes, SIZE, 2));

  test_fill (bytes, SIZE, 3);
  /* A copy from pageable memory may return before it is complete. */
  ck_assert_int_eq (cu->cuMemcpyHtoD (device, bytes, SIZE), CUDA_SUCCESS);
  ck_assert_int_eq (cu->cuCtxSynchronize (), CUDA_SUCCESS);
  vkgdr_memory_invalidate (mem, 0, SIZE);
  assert_no_error ();
  memset (bytes, 0, SIZE);
  vkgdr_copy_from_bar (bytes, host, SIZE);
  ck_assert (test_matches (bytes, SIZE, 3));

  free (bytes);
  vkgdr_memory_free (mem);
  vkgdr_close (g);
}

TEST (host_and_device_share_bytes)
{
  check_both_ways (0);
}

TEST (host_and_device_share_bytes_non_coherent)
{
  check_both_ways (VKGDR_OPEN_FORCE_NON_COHERENT_BIT);
}

TEST (a_descriptor_is_another_way_in)
{
  vkgdr_t g = test_open (0);
  const vkgdr_cuda *cu = vkgdr_driver_load ();
  vkgdr_memory_t mem = test_alloc (g, SIZE);
  CUDA_EXTERNAL_MEMORY_HANDLE_DESC handle = {
    .type = CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD,
    .size = SIZE,
  };
  CUDA_EXTERNAL_MEMORY_BUFFER_DESC buffer = { .size = SIZE };
  uint8_t *bytes = malloc (SIZE);
  CUexternalMemory external;
  CUdeviceptr device;
  struct stat status;
  int before = test_count_fds ();
  int fd = vkgdr_memory_get_fd (mem);

  assert_no_error ();
  ck_assert_int_ge (fd, 0);
  ck_assert_int_eq (fstat (fd, &status), 0);
  ck_assert_int_eq (test_count_fds (), before + 1);

  test_fill (vkgdr_memory_get_host_ptr (mem), SIZE, 4);
  vkgdr_memory_flush (mem, 0, SIZE);
  handle.handle.fd = fd;
  ck_assert_int_eq (
      cu->cuImportExternalMemory (&external, &handle), CUDA_SUCCESS);
  ck_assert_int_eq (
      cu->cuExternalMemoryGetMappedBuffer (&device, external, &buffer),
      CUDA_SUCCESS);
  ck_assert_int_eq (cu->cuMemcpyDtoH (bytes, device, SIZE), CUDA_SUCCESS);
  ck_assert (test_matches (bytes, SIZE, 4));
  ck_assert_int_eq (cu->cuMemFree (device), CUDA_SUCCESS);
  ck_assert_int_eq (cu->cuDestroyExternalMemory (external), CUDA_SUCCESS);
  ck_assert_int_eq (test_count_fds (), before);

  fd = vkgdr_memory_get_fd (mem);
  close (fd);
  ck_assert_int_eq (test_count_fds (), before);
  free (bytes);
  vkgdr_memory_free (mem);
  vkgdr_close (g);
}

/* --- flushes ------------------------------------------------------------- */

static struct {
  int n_calls;
  uint32_t n_ranges;
  VkMappedMemoryRange range;
  VkResult result;
} spied;

static VKAPI_ATTR VkResult VKAPI_CALL
spy (VkDevice device, uint32_t n, const VkMappedMemoryRange *ranges)
{
  spied.n_calls++;
  spied.n_ranges = n;
  spied.range = ranges[0];
  return spied.result;
}

typedef void (*range_function) (vkgdr_memory_t mem, size_t offset, size_t size);

/* Expects one call, with exactly this range. */
static void
expect_range (range_function function, vkgdr_memory_t mem, size_t offset,
    size_t size, size_t begin, size_t end)
{
  memset (&spied, 0, sizeof (spied));
  function (mem, offset, size);
  assert_no_error ();
  ck_assert_int_eq (spied.n_calls, 1);
  ck_assert_uint_eq (spied.n_ranges, 1);
  ck_assert_int_eq (spied.range.sType, VK_STRUCTURE_TYPE_MAPPED_MEMORY_RANGE);
  ck_assert_uint_eq (spied.range.offset, begin);
  ck_assert_uint_eq (spied.range.size, end - begin);
}

/* Expects that Vulkan is not called. */
static void
expect_no_call (
    range_function function, vkgdr_memory_t mem, size_t offset, size_t size)
{
  memset (&spied, 0, sizeof (spied));
  function (mem, offset, size);
  ck_assert_int_eq (spied.n_calls, 0);
}

static void
check_ranges (range_function function)
{
  vkgdr_t g = test_open (VKGDR_OPEN_FORCE_NON_COHERENT_BIT);
  vkgdr_memory_t mem;
  size_t atom, size;

  g->vk.FlushMappedMemoryRanges = spy;
  g->vk.InvalidateMappedMemoryRanges = spy;
  mem = test_alloc (g, 1);
  ck_assert (!vkgdr_memory_is_coherent (mem));
  atom = vkgdr_memory_non_coherent_atom_size (mem);
  ck_assert_uint_ge (atom, 1);
  vkgdr_memory_free (mem);

  if (atom < 4) {
    atom = g->atom_size = 64; /* this makes rounding necessary */
  }
  size = 16 * atom - 3;
  mem = test_alloc (g, size);

  expect_range (function, mem, 0, 1, 0, atom);
  expect_range (function, mem, 0, atom, 0, atom);
  expect_range (function, mem, atom - 1, 1, 0, atom);
  expect_range (function, mem, atom - 1, 2, 0, 2 * atom);
  expect_range (function, mem, atom, atom, atom, 2 * atom);
  expect_range (function, mem, atom, atom + 1, atom, 3 * atom);
  expect_range (function, mem, 5 * atom + 1, 1, 5 * atom, 6 * atom);
  expect_range (function, mem, size - 1, 1, 15 * atom, size);
  expect_range (function, mem, 14 * atom, atom + 1, 14 * atom, size);
  expect_range (function, mem, 0, size, 0, size);

  expect_no_call (function, mem, 0, 0);
  assert_no_error ();
  expect_no_call (function, mem, size, 0);
  assert_no_error ();
  expect_no_call (function, mem, 0, size + 1);
  assert_error ("beyond");
  expect_no_call (function, mem, size, 1);
  assert_error ("beyond");
  expect_no_call (function, mem, size + 1, 0);
  assert_error ("beyond");
  expect_no_call (function, mem, 1, SIZE_MAX);
  assert_error ("beyond");

  spied.result = VK_ERROR_OUT_OF_HOST_MEMORY;
  function (mem, 0, 1);
  assert_error ("VK_ERROR_OUT_OF_HOST_MEMORY");
  spied.result = VK_SUCCESS;
  function (mem, 0, 1);
  assert_no_error ();

  vkgdr_memory_free (mem);
  vkgdr_close (g);
}

TEST (flush_is_rounded)
{
  check_ranges (vkgdr_memory_flush);
}

TEST (invalidate_is_rounded)
{
  check_ranges (vkgdr_memory_invalidate);
}

TEST (coherent_memory_needs_no_call)
{
  vkgdr_t g = vkgdr_open (0, VKGDR_OPEN_REQUIRE_COHERENT_BIT);
  vkgdr_memory_t mem;

  if (!g)
    return;
  test_enter_context ();
  g->vk.FlushMappedMemoryRanges = spy;
  g->vk.InvalidateMappedMemoryRanges = spy;
  mem = test_alloc (g, SIZE);
  expect_no_call (vkgdr_memory_flush, mem, 0, SIZE);
  assert_no_error ();
  expect_no_call (vkgdr_memory_invalidate, mem, 0, SIZE);
  assert_no_error ();
  expect_no_call (vkgdr_memory_flush, mem, 1, SIZE);
  assert_error ("beyond");
  vkgdr_memory_free (mem);
  vkgdr_close (g);
}

/* --- failures ------------------------------------------------------------ */

/* Expects that an allocation fails, and leaves nothing behind. */
static void
expect_failure (vkgdr_t g, const char *word, const char *result)
{
  vkgdr_device_info info;
  int fds = test_count_fds ();

  ck_assert_ptr_null (vkgdr_memory_alloc (g, SIZE, 0));
  assert_error (word, result);
  ck_assert_int_eq (test_count_fds (), fds);
  vkgdr_get_device_info (g, &info);
  ck_assert_uint_eq (info.allocated, 0);
  ck_assert_uint_eq (info.n_allocations, 0);
}

static void
expect_success (vkgdr_t g)
{
  int fds = test_count_fds ();
  int maps = test_count_maps ();

  vkgdr_memory_free (test_alloc (g, SIZE));
  assert_no_error ();
  ck_assert_int_eq (test_count_fds (), fds);
  ck_assert_int_le (test_count_maps (), maps + 1);
}

TEST (cuda_fails)
{
  static const char *const functions[] = { "cuCtxGetCurrent", "cuCtxGetDevice",
    "cuImportExternalMemory", "cuExternalMemoryGetMappedBuffer" };
  vkgdr_t g;
  char spec[128];
  size_t i;

  if (!test_use_software_device ())
    return;
  g = test_open (0);
  expect_success (g);
  for (i = 0; i < N_ELEMENTS (functions); i++) {
    snprintf (
        spec, sizeof (spec), "%s:1:CUDA_ERROR_OUT_OF_MEMORY", functions[i]);
    test_fail (spec);
    expect_failure (g, "cu", "CUDA_ERROR_OUT_OF_MEMORY");
    test_fail (NULL);
    expect_success (g);
  }
  vkgdr_close (g);
}

TEST (cuda_fails_by_environment)
{
  vkgdr_t g;

  if (!test_use_software_device ())
    return;
  setenv ("SOFTCUDA_FAIL", "cuImportExternalMemory:1", 1);
  g = test_open (0);
  expect_failure (g, "cuImportExternalMemory", "CUDA_ERROR_UNKNOWN");
  expect_success (g);
  vkgdr_close (g);
}

TEST (the_first_error_counts)
{
  vkgdr_t g;

  if (!test_use_software_device ())
    return;
  g = test_open (0);
  test_fail ("cuExternalMemoryGetMappedBuffer:1:CUDA_ERROR_MAP_FAILED,"
             "cuDestroyExternalMemory:1:CUDA_ERROR_LAUNCH_FAILED");
  ck_assert_ptr_null (vkgdr_memory_alloc (g, SIZE, 0));
  assert_error ("cuExternalMemoryGetMappedBuffer", "CUDA_ERROR_MAP_FAILED");
  test_fail (NULL);
  vkgdr_close (g);
}

TEST (freeing_fails)
{
  static const char *const functions[] = { "cuMemFree",
    "cuDestroyExternalMemory" };
  vkgdr_device_info info;
  vkgdr_memory_t mem;
  char spec[128];
  vkgdr_t g;
  size_t i;

  if (!test_use_software_device ())
    return;
  g = test_open (0);
  for (i = 0; i < N_ELEMENTS (functions); i++) {
    mem = test_alloc (g, SIZE);
    snprintf (
        spec, sizeof (spec), "%s:1:CUDA_ERROR_LAUNCH_FAILED", functions[i]);
    test_fail (spec);
    vkgdr_memory_free (mem);
    assert_error (functions[i], "CUDA_ERROR_LAUNCH_FAILED");
    test_fail (NULL);
    vkgdr_get_device_info (g, &info);
    ck_assert_uint_eq (info.allocated, 0);
    expect_success (g);
  }
  vkgdr_close (g);
}

TEST (freeing_without_the_context_fails)
{
  const vkgdr_cuda *cu;
  vkgdr_device_info info;
  vkgdr_memory_t mem;
  CUcontext context;
  vkgdr_t g;

  if (!test_use_software_device ())
    return;
  g = test_open (0);
  cu = vkgdr_driver_load ();
  mem = test_alloc (g, SIZE);
  cu->cuCtxPopCurrent (&context);
  test_fail ("cuCtxPushCurrent:1:CUDA_ERROR_INVALID_CONTEXT");
  vkgdr_memory_free (mem);
  assert_error ("cuCtxPushCurrent", "CUDA_ERROR_INVALID_CONTEXT");
  test_fail (NULL);
  vkgdr_get_device_info (g, &info);
  ck_assert_uint_eq (info.allocated, 0);
  vkgdr_close (g);
}

static VKAPI_ATTR void VKAPI_CALL
gone_unmap (VkDevice device, VkDeviceMemory memory)
{
  ck_abort_msg ("vkUnmapMemory() is no longer mapped");
}

static VKAPI_ATTR void VKAPI_CALL
gone_free (VkDevice device, VkDeviceMemory memory,
    const VkAllocationCallbacks *callbacks)
{
  ck_abort_msg ("vkFreeMemory() is no longer mapped");
}

static VKAPI_ATTR void VKAPI_CALL
gone_destroy (VkDevice device, const VkAllocationCallbacks *callbacks)
{
  ck_abort_msg ("vkDestroyDevice() is no longer mapped");
}

static PFN_vkAllocateMemory really_allocate;
static VkDeviceMemory left_over[2];
static size_t n_left_over;

static VKAPI_ATTR VkResult VKAPI_CALL
allocate_and_remember (VkDevice device, const VkMemoryAllocateInfo *info,
    const VkAllocationCallbacks *callbacks, VkDeviceMemory *memory)
{
  VkResult result = really_allocate (device, info, callbacks, memory);

  ck_assert_uint_lt (n_left_over, N_ELEMENTS (left_over));
  left_over[n_left_over++] = *memory;
  return result;
}

/* Frees memory in the same way as an exit handler that is called after the exit
 * handlers of the drivers. */
TEST (freeing_after_the_driver_touches_nothing)
{
  vkgdr_device_info info;
  vkgdr_memory_t mem, last;
  vkgdr_vk vk;
  vkgdr_t g;

  if (!test_use_software_device ())
    return;
  g = test_open (0);
  vk = g->vk;
  really_allocate = vk.AllocateMemory;
  g->vk.AllocateMemory = allocate_and_remember;
  mem = test_alloc (g, SIZE);
  last = test_alloc (g, SIZE);
  g->vk.UnmapMemory = gone_unmap;
  g->vk.FreeMemory = gone_free;
  g->vk.DestroyDevice = gone_destroy;
  test_fail ("*:1+:CUDA_ERROR_DEINITIALIZED");
  vkgdr_memory_free (mem);
  vkgdr_get_device_info (g, &info);
  ck_assert_uint_eq (info.n_allocations, 1);
  vkgdr_close (g);
  vkgdr_memory_free (last);
  test_fail (NULL);
  while (n_left_over > 0)
    vk.FreeMemory (vk.device, left_over[--n_left_over], NULL);
  vk.DestroyDevice (vk.device, NULL);
}

static VKAPI_ATTR VkResult VKAPI_CALL
no_memory (VkDevice device, const VkMemoryAllocateInfo *info,
    const VkAllocationCallbacks *callbacks, VkDeviceMemory *memory)
{
  return VK_ERROR_OUT_OF_DEVICE_MEMORY;
}

static VKAPI_ATTR VkResult VKAPI_CALL
no_map (VkDevice device, VkDeviceMemory memory, VkDeviceSize offset,
    VkDeviceSize size, VkMemoryMapFlags flags, void **data)
{
  return VK_ERROR_MEMORY_MAP_FAILED;
}

static VKAPI_ATTR VkResult VKAPI_CALL
no_fd (VkDevice device, const VkMemoryGetFdInfoKHR *info, int *fd)
{
  return VK_ERROR_TOO_MANY_OBJECTS;
}

TEST (vulkan_fails)
{
  vkgdr_t g = test_open (0);
  vkgdr_memory_t mem;
  vkgdr_vk vk = g->vk;

  g->has_budget = true; /* the error asks the driver for it */
  expect_success (g);
  g->vk.AllocateMemory = no_memory;
  expect_failure (g, "vkAllocateMemory", "VK_ERROR_OUT_OF_DEVICE_MEMORY");
  g->vk = vk;
  expect_success (g);
  g->vk.MapMemory = no_map;
  expect_failure (g, "vkMapMemory", "VK_ERROR_MEMORY_MAP_FAILED");
  g->vk = vk;
  expect_success (g);
  g->vk.GetMemoryFdKHR = no_fd;
  expect_failure (g, "vkGetMemoryFdKHR", "VK_ERROR_TOO_MANY_OBJECTS");
  g->vk = vk;
  expect_success (g);

  mem = test_alloc (g, SIZE);
  g->vk.GetMemoryFdKHR = no_fd;
  ck_assert_int_eq (vkgdr_memory_get_fd (mem), -1);
  assert_error ("vkGetMemoryFdKHR", "ulimit");
  g->vk = vk;
  vkgdr_memory_free (mem);
  vkgdr_close (g);
}
