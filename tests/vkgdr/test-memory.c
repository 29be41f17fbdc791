/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * test-memory.c: tests that both pointers of a memory lead to the same bytes,
 * that exactly the needed ranges are flushed, and that a failure leaves nothing
 * behind
 */

#include "util.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SIZE ((size_t) 100003) /* not a multiple of anything */

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

/* The size, the flags, and words of the error. */
static const struct {
  size_t size;
  uint32_t flags;
  const char *words[3];
} refusals[] = {
  { 0, 0, { "size is 0", "", "" } },
  { 1, 2, { "flags", "0x2", "" } },
  { (size_t) 1 << 60, 0, { "1152921504606846976", "window", "Resizable BAR" } },
};

TEST_LOOP (refusals, N_ELEMENTS (refusals))
{
  const char *const *words = refusals[__i__].words;
  vkgdr_t g = test_open (0);

  ck_assert_ptr_null (
      vkgdr_memory_alloc (g, refusals[__i__].size, refusals[__i__].flags));
  assert_error (words[0], words[1], words[2]);
  vkgdr_memory_free (test_alloc (g, 1));
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

static void *
free_in_thread (void *mem)
{
  vkgdr_memory_free (mem);
  return vkgdr_last_error ();
}

TEST (any_thread_may_free)
{
  vkgdr_t g = test_open (0);

  test_run_threads (1, free_in_thread, test_alloc (g, SIZE));
  ck_assert_uint_eq (atomic_load (&g->allocated), 0);
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

static void
alloc_and_free (void *g)
{
  static size_t size;

  vkgdr_memory_free (test_alloc (g, size += 97));
}

TEST (thousand_leave_nothing)
{
  vkgdr_t g = test_open (0);

  test_leaves_nothing (1000, alloc_and_free, g);
  vkgdr_close (g);
}

/* --- both pointers ------------------------------------------------------- */

/* Checks what the device has. */
static void
assert_device (CUdeviceptr device, unsigned int seed)
{
  uint8_t *bytes = calloc (1, SIZE);

  assert_no_error ();
  ck_assert_int_eq (
      vkgdr_driver_load ()->cuMemcpyDtoH (bytes, device, SIZE), CUDA_SUCCESS);
  ck_assert (test_matches (bytes, SIZE, seed));
  free (bytes);
}

static const uint32_t coherence[] = { 0, VKGDR_OPEN_FORCE_NON_COHERENT_BIT };

TEST_LOOP (host_and_device_share_bytes, N_ELEMENTS (coherence))
{
  vkgdr_t g = test_open (coherence[__i__]);
  const vkgdr_cuda *cu = vkgdr_driver_load ();
  vkgdr_memory_t mem = test_alloc (g, SIZE);
  CUdeviceptr device = vkgdr_memory_get_device_ptr (mem);
  uint8_t *host = vkgdr_memory_get_host_ptr (mem);
  uint8_t *bytes = malloc (SIZE);

  test_fill (host, SIZE, 1);
  vkgdr_memory_flush (mem, 0, SIZE);
  assert_device (device, 1);
  test_fill (bytes, SIZE, 2);
  vkgdr_copy_to_bar (host, bytes, SIZE, 0);
  vkgdr_memory_flush (mem, 0, SIZE);
  assert_device (device, 2);
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

TEST (a_descriptor_is_another_way_in)
{
  vkgdr_t g = test_open (0);
  const vkgdr_cuda *cu = vkgdr_driver_load ();
  vkgdr_memory_t mem = test_alloc (g, SIZE);
  int before = test_count_fds (), fd = vkgdr_memory_get_fd (mem);
  CUDA_EXTERNAL_MEMORY_HANDLE_DESC handle = {
    .type = CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD,
    .handle.fd = fd,
    .size = SIZE,
  };
  CUDA_EXTERNAL_MEMORY_BUFFER_DESC buffer = { .size = SIZE };
  CUexternalMemory external;
  CUdeviceptr device;

  ck_assert_int_ge (fd, 0);
  ck_assert_int_eq (test_count_fds (), before + 1);
  test_fill (vkgdr_memory_get_host_ptr (mem), SIZE, 4);
  vkgdr_memory_flush (mem, 0, SIZE);
  ck_assert_int_eq (
      cu->cuImportExternalMemory (&external, &handle), CUDA_SUCCESS);
  ck_assert_int_eq (
      cu->cuExternalMemoryGetMappedBuffer (&device, external, &buffer),
      CUDA_SUCCESS);
  assert_device (device, 4);
  ck_assert_int_eq (cu->cuMemFree (device), CUDA_SUCCESS);
  ck_assert_int_eq (cu->cuDestroyExternalMemory (external), CUDA_SUCCESS);
  ck_assert_int_eq (test_count_fds (), before);
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

/* Calls @function. Expects one call of Vulkan, with exactly this range, or none
 * if @end is 0. */
static void
expect_range (range_function function, vkgdr_memory_t mem, size_t offset,
    size_t size, size_t begin, size_t end)
{
  memset (&spied, 0, sizeof (spied));
  function (mem, offset, size);
  ck_assert_int_eq (spied.n_calls, end > 0);
  ck_assert_uint_eq (spied.n_ranges, end > 0);
  ck_assert_uint_eq (spied.range.offset, begin);
  ck_assert_uint_eq (spied.range.size, end - begin);
}

/* An offset, a size, and the range that Vulkan has to get, all in atoms plus
 * bytes. The memory has 16 atoms less 3 bytes. */
typedef struct {
  struct {
    size_t atoms;
    int bytes;
  } offset, size, begin, end;
} Range;

#define END \
  { \
    16, -3 \
  }

static const Range ranges[] = {
  { { 0 }, { 0, 1 }, { 0 }, { 1 } },
  { { 0 }, { 1 }, { 0 }, { 1 } },
  { { 1, -1 }, { 0, 1 }, { 0 }, { 1 } },
  { { 1, -1 }, { 0, 2 }, { 0 }, { 2 } },
  { { 1 }, { 1 }, { 1 }, { 2 } },
  { { 1 }, { 1, 1 }, { 1 }, { 3 } },
  { { 5, 1 }, { 0, 1 }, { 5 }, { 6 } },
  { { 16, -4 }, { 0, 1 }, { 15 }, END },
  { { 14 }, { 1, 1 }, { 14 }, END },
  { { 0 }, END, { 0 }, END },
  { { 0 }, { 0 }, { 0 }, { 0 } },
  { END, { 0 }, { 0 }, { 0 } },
};

#define BYTES(place) (ranges[i].place.atoms * atom + ranges[i].place.bytes)

static const range_function functions[] = { vkgdr_memory_flush,
  vkgdr_memory_invalidate };

static void
assert_beyond (range_function function, vkgdr_memory_t mem, size_t size)
{
  const size_t wrong[][2] = { { 0, size + 1 }, { size, 1 }, { size + 1, 0 },
    { 1, SIZE_MAX } };
  size_t i;

  for (i = 0; i < N_ELEMENTS (wrong); i++) {
    expect_range (function, mem, wrong[i][0], wrong[i][1], 0, 0);
    assert_error ("beyond");
  }
}

TEST_LOOP (ranges_are_rounded, N_ELEMENTS (functions))
{
  vkgdr_t g = test_open (VKGDR_OPEN_FORCE_NON_COHERENT_BIT);
  range_function function = functions[__i__];
  vkgdr_memory_t mem;
  size_t atom, size, i;

  g->vk.FlushMappedMemoryRanges = spy;
  g->vk.InvalidateMappedMemoryRanges = spy;
  if (g->atom_size < 4)
    g->atom_size = 64; /* this makes rounding necessary */
  atom = g->atom_size;
  size = 16 * atom - 3;
  mem = test_alloc (g, size);
  ck_assert (!vkgdr_memory_is_coherent (mem));
  ck_assert_uint_eq (vkgdr_memory_non_coherent_atom_size (mem), atom);
  for (i = 0; i < N_ELEMENTS (ranges); i++) {
    expect_range (function, mem, BYTES (offset), BYTES (size), BYTES (begin),
        BYTES (end));
    assert_no_error ();
  }
  assert_beyond (function, mem, size);
  spied.result = VK_ERROR_OUT_OF_HOST_MEMORY;
  function (mem, 0, 1);
  assert_error ("VK_ERROR_OUT_OF_HOST_MEMORY");
  spied.result = VK_SUCCESS;
  function (mem, 0, 1);
  assert_no_error ();
  vkgdr_memory_free (mem);
  vkgdr_close (g);
}

TEST_LOOP (coherent_memory_needs_no_call, N_ELEMENTS (functions))
{
  vkgdr_t g = vkgdr_open (0, VKGDR_OPEN_REQUIRE_COHERENT_BIT);
  vkgdr_memory_t mem;

  if (!g)
    return;
  test_enter_context ();
  g->vk.FlushMappedMemoryRanges = spy;
  g->vk.InvalidateMappedMemoryRanges = spy;
  mem = test_alloc (g, SIZE);
  expect_range (functions[__i__], mem, 0, SIZE, 0, 0);
  assert_no_error ();
  assert_beyond (functions[__i__], mem, SIZE);
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

/* Calls of CUDA and of Vulkan, and the error of each. */
static const struct {
  const char *call, *result;
} calls[] = {
  { "cuCtxGetCurrent", "CUDA_ERROR_OUT_OF_MEMORY" },
  { "cuCtxGetDevice", "CUDA_ERROR_OUT_OF_MEMORY" },
  { "cuImportExternalMemory", "CUDA_ERROR_OUT_OF_MEMORY" },
  { "cuExternalMemoryGetMappedBuffer", "CUDA_ERROR_OUT_OF_MEMORY" },
  { "vkAllocateMemory", "VK_ERROR_OUT_OF_DEVICE_MEMORY" },
  { "vkMapMemory", "VK_ERROR_MEMORY_MAP_FAILED" },
  { "vkGetMemoryFdKHR", "VK_ERROR_TOO_MANY_OBJECTS" },
};

TEST_LOOP (calls_fail, N_ELEMENTS (calls))
{
  const char *call = calls[__i__].call;
  bool is_vulkan = call[0] == 'v';
  char spec[128];
  vkgdr_t g;

  if (!is_vulkan && !test_use_software_device ())
    return;
  g = test_open (0);
  g->has_budget = true; /* the error asks the driver for it */
  expect_success (g);
  snprintf (spec, sizeof (spec), "%s:1:%s", call, calls[__i__].result);
  if (is_vulkan)
    test_fail_vulkan (g, call);
  else
    test_fail (spec);
  expect_failure (g, is_vulkan ? call : "cu", calls[__i__].result);
  if (is_vulkan)
    test_fail_vulkan (g, NULL);
  else
    test_fail (NULL);
  expect_success (g);
  vkgdr_close (g);
}

TEST (no_descriptor)
{
  vkgdr_t g = test_open (0);
  vkgdr_memory_t mem = test_alloc (g, SIZE);

  test_fail_vulkan (g, "vkGetMemoryFdKHR");
  ck_assert_int_eq (vkgdr_memory_get_fd (mem), -1);
  assert_error ("vkGetMemoryFdKHR", "ulimit");
  test_fail_vulkan (g, NULL);
  vkgdr_memory_free (mem);
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

/* Freeing without a current context pushes that of the memory. */
static const char *const freeing[] = { "cuMemFree", "cuDestroyExternalMemory",
  "cuCtxPushCurrent" };

TEST_LOOP (freeing_fails, N_ELEMENTS (freeing))
{
  vkgdr_memory_t mem;
  CUcontext context;
  char spec[128];
  vkgdr_t g;

  if (!test_use_software_device ())
    return;
  g = test_open (0);
  mem = test_alloc (g, SIZE);
  vkgdr_driver_load ()->cuCtxPopCurrent (&context);
  snprintf (
      spec, sizeof (spec), "%s:1:CUDA_ERROR_LAUNCH_FAILED", freeing[__i__]);
  test_fail (spec);
  vkgdr_memory_free (mem);
  assert_error (freeing[__i__], "CUDA_ERROR_LAUNCH_FAILED");
  test_fail (NULL);
  ck_assert_uint_eq (atomic_load (&g->allocated), 0);
  vkgdr_driver_load ()->cuCtxPushCurrent (context);
  expect_success (g);
  vkgdr_close (g);
}

/* A function that is no longer mapped. */
#define GONE(function, parameters) \
  static VKAPI_ATTR void VKAPI_CALL gone_##function parameters \
  { \
    ck_abort_msg ("vk" #function "() is no longer mapped"); \
  }

GONE (UnmapMemory, (VkDevice device, VkDeviceMemory memory))
GONE (FreeMemory, (VkDevice device, VkDeviceMemory memory,
                      const VkAllocationCallbacks *callbacks))
GONE (DestroyDevice, (VkDevice device, const VkAllocationCallbacks *callbacks))

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
  g->vk.UnmapMemory = gone_UnmapMemory;
  g->vk.FreeMemory = gone_FreeMemory;
  g->vk.DestroyDevice = gone_DestroyDevice;
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
