/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * device-memory.c: device-only memory, without a host pointer
 *
 * CUDA allocates it. It can be exported as a file descriptor, unlike memory of
 * cuMemAlloc(). Needs no Vulkan. Must not know how a device is found, nor how
 * memory is pooled.
 */

#include "memory.h"

static CUmemAllocationProp
describe (vkgdr_memory_t mem)
{
  const CUmemAllocationProp properties = {
    .type = CU_MEM_ALLOCATION_TYPE_PINNED,
    .requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
    .location = { CU_MEM_LOCATION_TYPE_DEVICE, mem->g->cu_device },
  };

  return properties;
}

static bool
report (const char *function, CUresult result)
{
  if (result == CUDA_SUCCESS)
    return true;
  vkgdr_error_set_cuda (function, result,
      result == CUDA_ERROR_NOT_SUPPORTED
          ? "this device or driver does not export device memory; use memory "
            "in the window, or cuMemAlloc() and CUDA's IPC handles"
          : "see whether the device has memory left (nvidia-smi), and use "
            "fewer or smaller pools");
  return false;
}

/* A driver before 11.2 lacks some of the functions. */
static bool
check_driver (vkgdr_memory_t mem)
{
#define IS_THERE(name, symbol, need, args) &&mem->g->cu->name
  if (true VKGDR_CUDA_VMM_FUNCTIONS (IS_THERE))
    return true;
#undef IS_THERE
  vkgdr_error_set ("the CUDA driver does not export device memory: install a "
                   "newer driver, or use memory in the window");
  return false;
}

/* Sizes and offsets of allocations are multiples of the granularity. */
static bool
choose_size (vkgdr_memory_t mem)
{
  const CUmemAllocationProp properties = describe (mem);
  size_t granule = 0;

  if (!report ("cuMemGetAllocationGranularity",
          mem->g->cu->cuMemGetAllocationGranularity (
              &granule, &properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM)))
    return false;
  if (granule == 0 || mem->size > SIZE_MAX - granule)
    return report ("cuMemGetAllocationGranularity", CUDA_ERROR_INVALID_VALUE);
  mem->reserved = (mem->size + granule - 1) / granule * granule;
  return true;
}

/* Maps the allocation at an address of the device. */
static bool
map (vkgdr_memory_t mem)
{
  const vkgdr_cuda *cu = mem->g->cu;
  const CUmemAccessDesc access = {
    .location = { CU_MEM_LOCATION_TYPE_DEVICE, mem->g->cu_device },
    .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE,
  };
  CUresult result;

  result = cu->cuMemAddressReserve (&mem->pointer, mem->reserved, 0, 0, 0);
  if (result != CUDA_SUCCESS)
    mem->pointer = 0;
  if (!report ("cuMemAddressReserve", result))
    return false;
  result = cu->cuMemMap (mem->pointer, mem->reserved, 0, mem->handle, 0);
  if (result == CUDA_ERROR_INVALID_VALUE && mem->imported) {
    vkgdr_error_set_cuda ("cuMemMap", result,
        "check that the memory that was exported has this size");
    return false;
  }
  if (!report ("cuMemMap", result))
    return false;
  mem->mapped = true;
  return report ("cuMemSetAccess",
      cu->cuMemSetAccess (mem->pointer, mem->reserved, &access, 1));
}

bool
vkgdr_device_memory_allocate (vkgdr_memory_t mem)
{
  const CUmemAllocationProp properties = describe (mem);
  CUresult result;

  if (!check_driver (mem) || !choose_size (mem))
    return false;
  result =
      mem->g->cu->cuMemCreate (&mem->handle, mem->reserved, &properties, 0);
  if (result != CUDA_SUCCESS)
    mem->handle = 0;
  return report ("cuMemCreate", result) && map (mem);
}

bool
vkgdr_device_memory_import (vkgdr_memory_t mem, int fd)
{
  CUresult result;

  if (!check_driver (mem) || !choose_size (mem))
    return false;
  result = mem->g->cu->cuMemImportFromShareableHandle (&mem->handle,
      (void *) (uintptr_t) fd, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
  if (result == CUDA_SUCCESS)
    return map (mem);
  mem->handle = 0;
  vkgdr_error_set_cuda ("cuMemImportFromShareableHandle", result,
      "check that the file descriptor is of device memory "
      "(VKGDR_MEMORY_DEVICE_BIT), and that it was exported on this device by "
      "the same driver version");
  return false;
}

int
vkgdr_device_memory_export_fd (vkgdr_memory_t mem)
{
  CUresult result;
  int fd = -1;

  result = mem->g->cu->cuMemExportToShareableHandle (
      &fd, mem->handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
  if (result == CUDA_SUCCESS && fd >= 0)
    return fd;
  vkgdr_error_set_cuda ("cuMemExportToShareableHandle", result,
      "see whether the process has reached its limit of open files (ulimit "
      "-n)");
  return -1;
}

void
vkgdr_device_memory_release_cuda (vkgdr_memory_t mem)
{
  const vkgdr_cuda *cu = mem->g->cu;
  bool ok = true;

  if (mem->mapped)
    ok = vkgdr_error_check_cuda (ok, "cuMemUnmap",
        cu->cuMemUnmap (mem->pointer, mem->reserved), VKGDR_MEMORY_STAYS);
  if (mem->pointer)
    ok = vkgdr_error_check_cuda (ok, "cuMemAddressFree",
        cu->cuMemAddressFree (mem->pointer, mem->reserved), VKGDR_MEMORY_STAYS);
  vkgdr_error_check_cuda (
      ok, "cuMemRelease", cu->cuMemRelease (mem->handle), VKGDR_MEMORY_STAYS);
}
