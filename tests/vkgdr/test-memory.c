/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * test-memory.c: tests that memory is allocated, exported, imported and freed;
 * that all of its pointers lead to the same bytes; that exactly the needed
 * ranges are flushed; and of calls that fail
 *
 * The other side of an import is a second handle of this process. Tests of
 * frames use other processes.
 */

#include "util.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "memory.h"

#define SIZE ((size_t) 100003) /* not a multiple of anything */
#define DEVICE VKGDR_MEMORY_DEVICE_BIT

TEST_REQUIRE (test_require_device);

/* --- allocation ---------------------------------------------------------- */

/* The size, the flags, and words of the error. */
static const struct {
  size_t size;
  uint32_t flags;
  const char *words[3];
} refused[] = {
  { 0, 0, { "size is 0", "", "" } },
  { 1, 2, { "flags", "0x2", "" } },
  { (size_t) 1 << 60, 0, { "1152921504606846976", "window", "smaller pools" } },
};

TEST (refusals)
{
  vkgdr_t g = test_open (0);
  CUcontext context;
  size_t i;

  for (i = 0; i < N_ELEMENTS (refused); i++) {
    ck_assert_ptr_null (
        vkgdr_memory_alloc (g, refused[i].size, refused[i].flags));
    assert_error (
        refused[i].words[0], refused[i].words[1], refused[i].words[2]);
  }
  vkgdr_memory_free (test_alloc (g, 1));
  g->cu->cuCtxPopCurrent (&context);
  ck_assert_ptr_null (vkgdr_memory_alloc (g, 1, 0));
  assert_error ("context", "cuCtxPushCurrent");
  if (g->cu->cuDevicePrimaryCtxRetain (&context, 1) == CUDA_SUCCESS) {
    g->cu->cuCtxPushCurrent (context);
    ck_assert_ptr_null (vkgdr_memory_alloc (g, 1, 0));
    assert_error ("device 1", "device 0");
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
  memset (vkgdr_memory_get_host_ptr (mem), 1, SIZE);
  vkgdr_memory_flush (mem, 0, SIZE);
  assert_no_error ();
  test_run_threads (1, free_in_thread, mem);
}

/* --- export and import --------------------------------------------------- */

/* Writes through the host pointer if there is one, and otherwise by a
 * transfer. */
static void
write_bytes (vkgdr_memory_t mem, unsigned int seed)
{
  uint8_t *host = vkgdr_memory_get_host_ptr (mem), *bytes = malloc (SIZE);
  const vkgdr_cuda *cu = vkgdr_driver_load ();

  test_fill (bytes, SIZE, seed);
  if (host)
    vkgdr_copy_to_bar (host, bytes, SIZE, 0);
  else
    ck_assert_int_eq (
        cu->cuMemcpyHtoD (vkgdr_memory_get_device_ptr (mem), bytes, SIZE),
        CUDA_SUCCESS);
  /* Such a transfer may return before it is complete. */
  ck_assert_int_eq (cu->cuCtxSynchronize (), CUDA_SUCCESS);
  vkgdr_memory_flush (mem, 0, SIZE);
  assert_no_error ();
  free (bytes);
}

/* The device reads these bytes, and the CPU, too, if there is a host pointer.
 */
static void
assert_bytes (vkgdr_memory_t mem, unsigned int seed)
{
  uint8_t *host = vkgdr_memory_get_host_ptr (mem), *bytes = malloc (SIZE);

  ck_assert_int_eq (vkgdr_driver_load ()->cuMemcpyDtoH (
                        bytes, vkgdr_memory_get_device_ptr (mem), SIZE),
      CUDA_SUCCESS);
  ck_assert (test_matches (bytes, SIZE, seed));
  vkgdr_memory_invalidate (mem, 0, SIZE);
  assert_no_error ();
  if (host)
    vkgdr_copy_from_bar (bytes, host, SIZE);
  ck_assert (test_matches (bytes, SIZE, seed));
  free (bytes);
}

/* The import owns the file descriptor. */
static vkgdr_memory_t
import (vkgdr_t g, vkgdr_memory_t mem)
{
  int fd = vkgdr_memory_get_fd (mem);
  vkgdr_memory_t imported;
  vkgdr_fd_info info;

  vkgdr_memory_describe_fd (mem, &info);
  imported = vkgdr_memory_import_fd (g, fd, &info);
  assert_no_error ();
  ck_assert_ptr_nonnull (imported);
  ck_assert_int_lt (fcntl (fd, F_GETFD), 0);
  return imported;
}

/* The kind of memory, VKGDR_DEBUG of both sides, and which side gets a host
 * pointer. */
static const struct {
  uint32_t flags;
  const char *debug, *their_debug;
  bool has_host, they_have_host;
} pairs[] = {
  { 0, "", "", true, true },
  { 0, "", "non-coherent", true, true },
  /* Memory of a window is device memory for a handle without one. */
  { 0, "", "no-window", true, false },
  { DEVICE, "", "no-window", false, false },
  { DEVICE, "no-vulkan", "", false, false },
};

static vkgdr_t
open_with (const char *debug)
{
  setenv ("VKGDR_DEBUG", debug, 1);
  return test_open (VKGDR_OPEN_WINDOW_OPTIONAL_BIT);
}

/* Both sides write and read the same bytes, and the import keeps them after the
 * exporter has freed them. */
TEST_LOOP (both_sides_share_the_bytes, N_ELEMENTS (pairs))
{
  vkgdr_t g = open_with (pairs[__i__].debug);
  vkgdr_t other = open_with (pairs[__i__].their_debug);
  vkgdr_memory_t mem, theirs;
  vkgdr_device_info device;

  mem = vkgdr_memory_alloc (g, SIZE, pairs[__i__].flags);
  if (!mem && !vkgdr_driver_is_software ()) {
    assert_error ("device memory");
    TEST_NEEDS (mem, "a driver that exports device memory");
  }
  write_bytes (mem, 1);
  theirs = import (other, mem);
  ck_assert_int_eq (!!vkgdr_memory_get_host_ptr (mem), pairs[__i__].has_host);
  ck_assert_int_eq (
      !!vkgdr_memory_get_host_ptr (theirs), pairs[__i__].they_have_host);
  ck_assert_uint_eq (vkgdr_memory_get_size (theirs), SIZE);
  if (!pairs[__i__].they_have_host) {
    ck_assert (vkgdr_memory_is_coherent (theirs));
    ck_assert_uint_eq (vkgdr_memory_non_coherent_atom_size (theirs), 1);
  }
  assert_bytes (theirs, 1);
  write_bytes (theirs, 2);
  assert_bytes (mem, 2);
  vkgdr_memory_free (mem);
  assert_bytes (theirs, 2);

  /* The memory counts where it was allocated. */
  vkgdr_get_device_info (other, &device);
  ck_assert_uint_eq (device.allocated + device.n_allocations, 0);
  ck_assert_int_eq (vkgdr_memory_get_fd (theirs), -1);
  assert_error ("imported", "allocated it");
  vkgdr_memory_free (theirs);
  vkgdr_close (other);
  vkgdr_close (g);
}

/* --- what is refused ----------------------------------------------------- */

static const char *const reasons[] = { "another device",
  "another version of the driver", "18446744073709551615 bytes", "0 bytes",
  "0x80", "device memory", "the size that", "-1 is not a file descriptor",
  "cuImportExternalMemory" };

/* If an import is refused, the caller keeps the file descriptor, and nothing
 * else is left. */
TEST (what_does_not_fit_is_refused)
{
  vkgdr_t g = test_open (0);
  vkgdr_memory_t mem = test_alloc (g, SIZE);
  int fd = vkgdr_memory_get_fd (mem), null = open ("/dev/null", O_RDWR);
  int fds = test_count_fds ();
  vkgdr_fd_info good, bad[N_ELEMENTS (reasons)];
  size_t i;

  vkgdr_memory_describe_fd (mem, &good);
  for (i = 0; i < N_ELEMENTS (reasons); i++)
    bad[i] = good;
  bad[0].device_uuid[3] ^= 1;
  bad[1].driver_uuid[0] ^= 1;
  bad[2].size = UINT64_MAX;
  bad[3].size = 0;
  bad[4].flags = 0x80;
  bad[5].flags = DEVICE;
  bad[6].size = 100 * SIZE;
  for (i = 0; i < N_ELEMENTS (reasons); i++) {
    /* Only softcuda knows the size of a descriptor. */
    if (i == 6 && !g->info.software)
      continue;
    ck_assert_ptr_null (vkgdr_memory_import_fd (g,
        i < 7    ? fd
        : i == 7 ? -1
                 : null,
        &bad[i]));
    assert_error (reasons[i]);
    ck_assert_int_eq (test_count_fds (), fds);
  }
  /* A program that only knows the size can import, too. */
  memset (good.device_uuid, 0, sizeof (good.device_uuid));
  memset (good.driver_uuid, 0, sizeof (good.driver_uuid));
  vkgdr_memory_free (vkgdr_memory_import_fd (g, fd, &good));
  assert_no_error ();
  vkgdr_memory_free (mem);
  vkgdr_close (g);
}

TEST (a_driver_may_be_too_old_for_device_memory)
{
  vkgdr_t g = test_open (0);
  vkgdr_cuda cu = *g->cu;

  cu.cuMemSetAccess = NULL;
  g->cu = &cu;
  ck_assert_ptr_null (vkgdr_memory_alloc (g, SIZE, DEVICE));
  assert_error ("does not export device memory", "newer driver");
}

/* --- failures ------------------------------------------------------------ */

/* The life of a memory. A call fails in one of these steps. */
enum { ALLOC, GET_FD, IMPORT, FREE, N_STEPS };

#define OOM "CUDA_ERROR_OUT_OF_MEMORY"

static const struct {
  int step;
  uint32_t flags; /* of the memory */
  const char *call, *result, *word;
  const char *also; /* fails, but the first error counts */
} failures[] = {
  { ALLOC, 0, "cuCtxGetCurrent", OOM, "cuCtx" },
  { ALLOC, 0, "cuImportExternalMemory", OOM, "driver version" },
  { ALLOC, 0, "cuExternalMemoryGetMappedBuffer", OOM, "nvidia-smi" },
  { ALLOC, 0, "cuExternalMemoryGetMappedBuffer", "CUDA_ERROR_MAP_FAILED", "",
      ",cuDestroyExternalMemory:1:CUDA_ERROR_LAUNCH_FAILED" },
  { ALLOC, 0, "vkAllocateMemory", "VK_ERROR_OUT_OF_DEVICE_MEMORY", "window" },
  { ALLOC, 0, "vkMapMemory", "VK_ERROR_MEMORY_MAP_FAILED", "" },
  { ALLOC, 0, "vkGetMemoryFdKHR", "VK_ERROR_TOO_MANY_OBJECTS", "ulimit" },
  { GET_FD, 0, "vkGetMemoryFdKHR", "VK_ERROR_TOO_MANY_OBJECTS", "ulimit" },
  { IMPORT, 0, "cuImportExternalMemory", OOM, "" },
  { IMPORT, 0, "cuExternalMemoryGetMappedBuffer", OOM, "" },
  { FREE, 0, "cuMemFree", OOM, "stay in use" },
  { FREE, 0, "cuDestroyExternalMemory", OOM, "stay in use" },
  { FREE, 0, "cuCtxPushCurrent", OOM, "before the CUDA context" },
  { ALLOC, DEVICE, "cuMemGetAllocationGranularity", OOM, "nvidia-smi" },
  { ALLOC, DEVICE, "cuMemCreate", OOM, "nvidia-smi" },
  { ALLOC, DEVICE, "cuMemAddressReserve", OOM, "nvidia-smi" },
  { ALLOC, DEVICE, "cuMemMap", OOM, "nvidia-smi" },
  { ALLOC, DEVICE, "cuMemSetAccess", OOM, "nvidia-smi" },
  { GET_FD, DEVICE, "cuMemExportToShareableHandle", OOM, "ulimit" },
  { IMPORT, DEVICE, "cuMemImportFromShareableHandle", OOM, "same driver" },
  { IMPORT, DEVICE, "cuMemMap", OOM, "nvidia-smi" },
  /* A driver's file descriptor has no size, but mapping fails. */
  { IMPORT, DEVICE, "cuMemMap", "CUDA_ERROR_INVALID_VALUE", "has this size" },
  { FREE, DEVICE, "cuMemUnmap", OOM, "stay in use" },
  { FREE, DEVICE, "cuMemAddressFree", OOM, "stay in use" },
  { FREE, DEVICE, "cuMemRelease", OOM, "stay in use" },
};

/* The memory of this handle, its file descriptor, and the import. */
typedef struct {
  vkgdr_t g;
  vkgdr_memory_t mem, imported;
  int fd;
} Life;

static bool
do_step (Life *self, int step, uint32_t flags)
{
  vkgdr_fd_info info;

  switch (step) {
  case ALLOC:
    self->mem = vkgdr_memory_alloc (self->g, SIZE, flags);
    return self->mem != NULL;
  case GET_FD:
    self->fd = vkgdr_memory_get_fd (self->mem);
    return self->fd >= 0;
  case IMPORT:
    vkgdr_memory_describe_fd (self->mem, &info);
    self->imported = vkgdr_memory_import_fd (self->g, self->fd, &info);
    return self->imported != NULL;
  default:
    vkgdr_memory_free (self->imported);
    return false;
  }
}

/* Makes a call of the driver fail; NULL: none. */
static void
let_fail (vkgdr_t g, const char *call, const char *result, const char *also)
{
  g_autofree char *spec =
      g_strdup_printf ("%s:1:%s%s", call, result, also ? also : "");
  bool is_vulkan = call && call[0] == 'v';

  test_fail (call && !is_vulkan ? spec : NULL);
  test_fail_vulkan (g, is_vulkan ? call : NULL);
}

/* How many address ranges are reserved. */
static int
count_addresses (void)
{
  return (int) (test_count_calls ("cuMemAddressReserve")
                - test_count_calls ("cuMemAddressFree"));
}

/* The call and its error are named, the failure leaves nothing, and the next
 * attempt succeeds. Freeing goes on. */
TEST_LOOP (calls_fail, N_ELEMENTS (failures))
{
  const char *call = failures[__i__].call;
  uint32_t flags = failures[__i__].flags;
  bool is_reserve = strcmp (call, "cuMemAddressReserve") == 0;
  Life life = { NULL };
  CUcontext context;
  int step, fds, addresses;

  TEST_NEEDS (test_use_software_device (), "the software device");
  life.g = test_open (0);
  life.g->has_budget = true; /* an error of the window asks for it */
  for (step = 0; step < failures[__i__].step; step++)
    ck_assert (do_step (&life, step, flags));
  if (strcmp (call, "cuCtxPushCurrent") == 0)
    life.g->cu->cuCtxPopCurrent (&context);
  fds = test_count_fds ();
  addresses = count_addresses ();
  let_fail (life.g, call, failures[__i__].result, failures[__i__].also);
  ck_assert (!do_step (&life, step, flags));
  assert_error (failures[__i__].result, failures[__i__].word,
      strncmp (call, "cuCtx", 5) ? call : "cuCtx");
  let_fail (life.g, NULL, NULL, NULL);
  if (step < FREE) {
    /* What could not be freed stays open. */
    ck_assert_int_eq (test_count_fds (), fds + (failures[__i__].also != NULL));
    ck_assert_int_eq (count_addresses (), addresses + is_reserve);
    for (; step < FREE; step++)
      ck_assert (do_step (&life, step, flags));
    vkgdr_memory_free (life.imported);
    assert_no_error ();
  }
  vkgdr_memory_free (life.mem);
  ck_assert_uint_eq (atomic_load (&life.g->allocated), 0);
  vkgdr_close (life.g);
}

/* --- hostile processes --------------------------------------------------- */

/* What another process can write to the header of the software device's memory:
 * the size of what is unmapped, and the place of the header. */
static const struct {
  off_t offset;
  uint64_t value;
} headers[] = {
  { 0, UINT64_C (64) << 20 },
  { 8, 0 },
  { 8, UINT64_MAX },
  { 4088, 0 },
  { 4088, UINT64_C (1) << 40 },
};

/* Neither side uses it after the import. */
TEST_LOOP (damaged_header, N_ELEMENTS (headers))
{
  vkgdr_fd_info info;
  vkgdr_memory_t mem, imported;
  vkgdr_t g;
  int fd;

  TEST_NEEDS (test_use_software_device (), "the software device");
  g = test_open (0);
  mem = test_alloc (g, SIZE);
  fd = vkgdr_memory_get_fd (mem);
  imported = import (g, mem);
  ck_assert_int_eq (
      pwrite (fd, &headers[__i__].value, 8, headers[__i__].offset), 8);
  vkgdr_memory_free (imported);
  vkgdr_memory_describe_fd (mem, &info);
  if (headers[__i__].offset < 16) {
    ck_assert_ptr_null (vkgdr_memory_import_fd (g, fd, &info));
    close (fd);
  } else {
    vkgdr_memory_free (vkgdr_memory_import_fd (g, fd, &info));
  }
  vkgdr_memory_free (mem);
  vkgdr_close (g);
}

/* A file that could be shortened while it is mapped is refused. */
TEST (file_that_is_not_sealed)
{
  const uint64_t header[2] = { 4096 + SIZE, 4096 };
  int fd = memfd_create ("memory", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  vkgdr_fd_info info = { .size = SIZE };
  vkgdr_t g;

  TEST_NEEDS (test_use_software_device (), "the software device");
  g = test_open (0);
  ck_assert_int_eq (ftruncate (fd, 4096 + SIZE), 0);
  ck_assert_int_eq (pwrite (fd, header, sizeof (header), 0), sizeof (header));
  ck_assert_ptr_null (vkgdr_memory_import_fd (g, fd, &info));
  assert_error ("sealed");
  ck_assert_int_eq (fcntl (fd, F_ADD_SEALS, F_SEAL_SHRINK), 0);
  vkgdr_memory_free (vkgdr_memory_import_fd (g, fd, &info));
  assert_no_error ();
  vkgdr_close (g);
}

/* --- many imports -------------------------------------------------------- */

static void
alloc_and_import (void *g)
{
  vkgdr_memory_t mem = test_alloc (g, SIZE);

  vkgdr_memory_free (import (g, mem));
  vkgdr_memory_free (mem);
}

TEST (many_leave_nothing)
{
  vkgdr_t g = test_open (0);

  test_leaves_nothing (90, alloc_and_import, g);
  vkgdr_close (g);
}

/* A copy of the file descriptor, as another process would have it, or -1. Its
 * position is changed after each call of lseek64(). */
static int theirs = -1;

/* Lavapipe calls this function instead of libc's. */
__attribute__ ((visibility ("default"))) off64_t
lseek64 (int fd, off64_t offset, int whence)
{
  off64_t position = syscall (SYS_lseek, fd, offset, whence);

  if (theirs >= 0)
    syscall (SYS_lseek, theirs, 7, SEEK_SET);
  return position;
}

/* Copies of a file descriptor share one position. lavapipe sets the position
 * and then reads, so another process can change the position in between. */
TEST (another_process_imports_meanwhile)
{
  vkgdr_t g = test_open (0);
  vkgdr_memory_t mem = test_alloc (g, SIZE), imported;
  int fd = vkgdr_memory_get_fd (mem);
  vkgdr_fd_info info;

  write_bytes (mem, 1);
  vkgdr_memory_describe_fd (mem, &info);
  theirs = fcntl (fd, F_DUPFD_CLOEXEC, 0);
  imported = vkgdr_memory_import_fd (g, fd, &info);
  assert_no_error ();
  close (theirs);
  theirs = -1;
  ck_assert_ptr_nonnull (imported);
  assert_bytes (imported, 1);
  vkgdr_memory_free (imported);
  vkgdr_memory_free (mem);
  vkgdr_close (g);
}

/* Each thread opens a device of its own, as a process would. */
static void *
import_often (void *mem)
{
  vkgdr_fd_info info;
  vkgdr_t g;
  int i;

  test_enter_context ();
  g = vkgdr_open (0, 0);
  vkgdr_memory_describe_fd (mem, &info);
  for (i = 0; i < 100; i++) {
    vkgdr_memory_t own =
        g ? vkgdr_memory_import_fd (g, vkgdr_memory_get_fd (mem), &info) : NULL;

    if (!own)
      return strdup (vkgdr_last_error ());
    vkgdr_memory_free (own);
  }
  vkgdr_close (g);
  return NULL;
}

TEST (threads_import_at_once)
{
  vkgdr_t g = test_open (0);
  vkgdr_memory_t mem = test_alloc (g, SIZE);

  test_run_threads (4, import_often, mem);
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

#define ATOM 8
#define END (5 * ATOM - 3) /* the size of the memory */

/* Calls @function for the bytes from @begin to @end. Vulkan has to get all
 * atoms that contain one of them, or nothing. */
static void
check_range (
    range_function function, vkgdr_memory_t mem, size_t begin, size_t end)
{
  bool is_called = end > begin && !vkgdr_memory_is_coherent (mem);
  size_t up = (end + ATOM - 1) / ATOM * ATOM, last = up < END ? up : END;

  memset (&spied, 0, sizeof (spied));
  function (mem, begin, end - begin);
  assert_no_error ();
  ck_assert_int_eq (spied.n_calls, is_called);
  ck_assert_uint_eq (spied.n_ranges, is_called);
  begin -= begin % ATOM;
  ck_assert_uint_eq (spied.range.offset, is_called ? begin : 0);
  ck_assert_uint_eq (spied.range.size, is_called ? last - begin : 0);
}

/* An offset and a size that are not in the memory. */
static const size_t beyond[][2] = { { 0, END + 1 }, { END, 1 }, { END + 1, 0 },
  { 1, SIZE_MAX } };

/* Flushing and invalidating memory that is not coherent, and that is. */
TEST_LOOP (ranges_are_rounded, 4)
{
  range_function function =
      __i__ % 2 ? vkgdr_memory_flush : vkgdr_memory_invalidate;
  vkgdr_t g = vkgdr_open (0, __i__ < 2 ? VKGDR_OPEN_FORCE_NON_COHERENT_BIT
                                       : VKGDR_OPEN_REQUIRE_COHERENT_BIT);
  size_t begin, end, i;
  vkgdr_memory_t mem;

  TEST_NEEDS (g, "coherent memory");
  test_enter_context ();
  g->vk.FlushMappedMemoryRanges = spy;
  g->vk.InvalidateMappedMemoryRanges = spy;
  g->atom_size = ATOM;
  mem = test_alloc (g, END);
  ck_assert_int_eq (vkgdr_memory_is_coherent (mem), __i__ >= 2);
  ck_assert_uint_eq (
      vkgdr_memory_non_coherent_atom_size (mem), __i__ < 2 ? ATOM : 1);
  for (begin = 0; begin <= END; begin++)
    for (end = begin; end <= END; end++)
      check_range (function, mem, begin, end);
  spied.n_calls = 0;
  for (i = 0; i < N_ELEMENTS (beyond); i++) {
    function (mem, beyond[i][0], beyond[i][1]);
    assert_error ("beyond");
  }
  ck_assert_int_eq (spied.n_calls, 0);
  if (__i__ < 2) {
    spied.result = VK_ERROR_OUT_OF_HOST_MEMORY;
    function (mem, 0, 1);
    assert_error ("VK_ERROR_OUT_OF_HOST_MEMORY");
  }
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

/* Frees memory in the same way as an exit handler that is called after the exit
 * handlers of the drivers. */
TEST (freeing_after_the_driver_touches_nothing)
{
  VkDeviceMemory left_over[2];
  vkgdr_memory_t mem[2];
  vkgdr_device_info info;
  vkgdr_vk vk;
  vkgdr_t g;
  int i;

  TEST_NEEDS (test_use_software_device (), "the software device");
  g = test_open (0);
  vk = g->vk;
  for (i = 0; i < 2; i++) {
    mem[i] = test_alloc (g, SIZE);
    left_over[i] = mem[i]->vk_memory;
  }
  g->vk.UnmapMemory = (PFN_vkUnmapMemory) gone;
  g->vk.FreeMemory = (PFN_vkFreeMemory) gone;
  g->vk.DestroyDevice = (PFN_vkDestroyDevice) gone;
  test_fail ("*:1+:CUDA_ERROR_DEINITIALIZED");
  vkgdr_memory_free (mem[0]);
  vkgdr_get_device_info (g, &info);
  ck_assert_uint_eq (info.n_allocations, 1);
  vkgdr_close (g);
  vkgdr_memory_free (mem[1]);
  test_fail (NULL);
  for (i = 0; i < 2; i++)
    vk.FreeMemory (vk.device, left_over[i], NULL);
  vk.DestroyDevice (vk.device, NULL);
}
