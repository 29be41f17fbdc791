/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * test-virtual.c: tests of memory without an address, and of addresses at which
 * it is mapped
 */

#include <unistd.h>

#include "driver.h"

FIXTURE (setup_context, teardown_context);

static const CUmemAllocationProp properties = {
  .type = CU_MEM_ALLOCATION_TYPE_PINNED,
  .requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
  .location = { CU_MEM_LOCATION_TYPE_DEVICE, 0 },
};
static const CUmemAccessDesc read_write = { { CU_MEM_LOCATION_TYPE_DEVICE, 0 },
  CU_MEM_ACCESS_FLAGS_PROT_READWRITE };

static size_t granule;

static CUmemGenericAllocationHandle
create (size_t size)
{
  CUmemGenericAllocationHandle handle;

  ok (cu.cuMemGetAllocationGranularity (
      &granule, &properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
  ck_assert_uint_gt (granule, 0);
  ok (cu.cuMemCreate (&handle, size * granule, &properties, 0));
  return handle;
}

static void
assert_word (CUdeviceptr pointer, unsigned int expected)
{
  unsigned int word;

  ok (cu.cuMemcpyDtoH (&word, pointer, sizeof word));
  ck_assert_uint_eq (word, expected);
}

/* Two memories that follow each other are used like one. The memory lives as
 * long as it is mapped. */
TEST (two_in_a_row)
{
  size_t before = free_memory ();
  CUmemGenericAllocationHandle first = create (1), second = create (2);
  CUdeviceptr pointer;

  ok (cu.cuMemAddressReserve (&pointer, 4 * granule, 8 * granule, 0, 0));
  ck_assert_uint_eq (pointer % (8 * granule), 0);
  ok (cu.cuMemMap (pointer, granule, 0, first, 0));
  ok (cu.cuMemMap (pointer + granule, 2 * granule, 0, second, 0));
  ok (cu.cuMemRelease (first));
  ok (cu.cuMemRelease (second));
  invalid (cu.cuMemRelease (second));
  /* not before access is granted */
  invalid (cu.cuMemsetD32 (pointer, 7, 1));
  ok (cu.cuMemSetAccess (pointer, 3 * granule, &read_write, 1));
  ok (cu.cuMemsetD32 (pointer, 7, 3 * granule / 4));
  assert_word (pointer + granule, 7);
  invalid (cu.cuMemsetD32 (pointer, 7, 4 * granule / 4));
  invalid (cu.cuMemFree (pointer));
  ck_assert_uint_eq (before - free_memory (), 3 * granule);
  invalid (cu.cuMemAddressFree (pointer, 4 * granule));
  invalid (cu.cuMemUnmap (pointer, 2 * granule));
  ok (cu.cuMemUnmap (pointer, 3 * granule));
  ck_assert_uint_eq (free_memory (), before);
  invalid (cu.cuMemsetD32 (pointer, 7, 1));
  ok (cu.cuMemAddressFree (pointer, 4 * granule));
  invalid (cu.cuMemAddressFree (pointer, 4 * granule));
}

/* An imported memory is the one that was exported, at another address. */
TEST (file_descriptor)
{
  CUmemGenericAllocationHandle handle = create (1), again;
  CUdeviceptr pointer[2];
  int fd;

  ok (cu.cuMemExportToShareableHandle (
      &fd, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
  ok (cu.cuMemImportFromShareableHandle (&again, (void *) (intptr_t) fd,
      CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
  close (fd);
  for (int i = 0; i < 2; i++) {
    ok (cu.cuMemAddressReserve (&pointer[i], granule, 0, 0, 0));
    ok (cu.cuMemMap (pointer[i], granule, 0, i ? again : handle, 0));
    ok (cu.cuMemSetAccess (pointer[i], granule, &read_write, 1));
    ok (cu.cuMemRelease (i ? again : handle));
  }
  ok (cu.cuMemsetD32 (pointer[0], 42, 1));
  assert_word (pointer[1], 42);
  for (int i = 0; i < 2; i++) {
    ok (cu.cuMemUnmap (pointer[i], granule));
    ok (cu.cuMemAddressFree (pointer[i], granule));
  }
}

TEST (errors)
{
  CUmemGenericAllocationHandle handle = create (1), none;
  CUmemAllocationProp host = properties;
  CUdeviceptr pointer;
  int pipes[2];

  host.location.type = 0;
  invalid (cu.cuMemCreate (&none, granule, &host, 0));
  invalid (cu.cuMemCreate (&none, granule + 1, &properties, 0));
  fails (cu.cuMemCreate (&none, (size_t) 1 << 40, &properties, 0),
      CUDA_ERROR_OUT_OF_MEMORY);
  ck_assert_int_eq (pipe (pipes), 0);
  invalid (cu.cuMemImportFromShareableHandle (&none,
      (void *) (intptr_t) pipes[0], CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
  close (pipes[0]);
  close (pipes[1]);
  ok (cu.cuMemAlloc (&pointer, granule));
  invalid (cu.cuMemMap (pointer, granule, 0, handle, 0));
  ok (cu.cuMemFree (pointer));
  ok (cu.cuMemAddressReserve (&pointer, granule, 0, 0, 0));
  invalid (cu.cuMemMap (pointer, granule, granule, handle, 0));
  invalid (cu.cuMemSetAccess (pointer, granule, &read_write, 1));
  ok (cu.cuMemMap (pointer, granule, 0, handle, 0));
  invalid (cu.cuMemMap (pointer, granule, 0, handle, 0));
  ok (cu.cuMemUnmap (pointer, granule));
  ok (cu.cuMemAddressFree (pointer, granule));
  ok (cu.cuMemRelease (handle));
}
