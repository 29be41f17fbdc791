/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * test-memory.c: tests that memory is allocated and freed, and that exactly the
 * needed ranges are flushed
 *
 * test-share.c has the tests of its bytes, and of calls that fail.
 */

#include "util.h"

#include <stdlib.h>
#include <string.h>

#define SIZE ((size_t) 100003) /* not a multiple of anything */

TEST_REQUIRE (test_require_device);

/* --- allocation ---------------------------------------------------------- */

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

/* Any thread may free memory, also after the handle is closed. */
TEST (memory_may_outlive_the_handle)
{
  vkgdr_t g = test_open (0);
  vkgdr_memory_t mem = test_alloc (g, SIZE), other = test_alloc (g, SIZE);

  test_run_threads (1, free_in_thread, other);
  ck_assert_uint_eq (atomic_load (&g->allocated), SIZE);
  vkgdr_close (g);
  test_fill (vkgdr_memory_get_host_ptr (mem), SIZE, 1);
  vkgdr_memory_flush (mem, 0, SIZE);
  assert_no_error ();
  test_run_threads (1, free_in_thread, mem);
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

/* --- the end of the process ---------------------------------------------- */

/* Takes the place of functions that are no longer mapped. */
static void
gone (void)
{
  ck_abort_msg ("a function of Vulkan is no longer mapped");
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
  g->vk.UnmapMemory = (PFN_vkUnmapMemory) gone;
  g->vk.FreeMemory = (PFN_vkFreeMemory) gone;
  g->vk.DestroyDevice = (PFN_vkDestroyDevice) gone;
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
