/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * memory.c: one allocation, with a pointer of the host's and one of CUDA's
 *
 * Vulkan allocates, maps and exports it; CUDA imports it. Whatever exists of a
 * memory is released in one place, release(). Must not know how a device is
 * found, nor how memory is pooled.
 */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "device.h"
#include "driver.h"
#include "error.h"
#include "fence.h"

/**
 * vkgdr_memory:
 * @g: the device, which the memory keeps alive
 * @size: bytes, as asked for and as given to vkAllocateMemory()
 * @counted: @size is part of the device's sums, and of a limited window
 * @context: the CUDA context it was made in
 * @vk_memory: Vulkan's memory
 * @host: where it is mapped
 * @external: CUDA's import of it
 * @pointer: CUDA's pointer, 0 without one
 */
struct vkgdr_memory {
  vkgdr_t g;
  size_t size;
  bool counted;
  CUcontext context;
  VkDeviceMemory vk_memory;
  void *host;
  CUexternalMemory external;
  CUdeviceptr pointer;
};

/* Vulkan has not got the memory: says how large the window is, and who has it.
 */
static void
report_full (vkgdr_memory_t mem, const char *function, VkResult result)
{
  vkgdr_device_info info;
  char driver[128] = "";

  vkgdr_get_device_info (mem->g, &info);
  if (mem->g->has_budget || mem->g->debug.window)
    snprintf (driver, sizeof (driver),
        ", the driver reports %" PRIu64 " of at most %" PRIu64
        " bytes in use by this process",
        info.window_usage, info.window_budget);
  vkgdr_error_set (
      "%zu bytes of %s's window cannot be had (%s: %s): the window "
      "has %" PRIu64 " bytes, this handle uses %" PRIu64 " in %" PRIu64
      " allocations%s; enable Resizable BAR in the firmware for a "
      "larger window, or use fewer or smaller pools",
      mem->size, info.name, function, vkgdr_vk_result_name (result),
      info.window_size, info.allocated, info.n_allocations, driver);
}

static void
report_cuda (const char *function, CUresult result, const char *remedy)
{
  vkgdr_error_set ("%s failed (%s, %d): %s", function,
      vkgdr_cuda_result_name (result), result, remedy);
}

static bool
check_window (vkgdr_memory_t mem)
{
  if (mem->g->obstacle == VKGDR_OBSTACLE_NONE)
    return true;
  vkgdr_error_set_remedy (mem->g->remedy, "%s has no window to allocate in: %s",
      mem->g->info.name, mem->g->reason);
  return false;
}

/* A context of another device could import the memory of this one only by
 * mistake. */
static bool
check_context (vkgdr_memory_t mem)
{
  const vkgdr_cuda *cu = mem->g->cu;
  CUdevice device = -1;
  CUresult result;

  result = cu->cuCtxGetCurrent (&mem->context);
  if (result == CUDA_SUCCESS && !mem->context) {
    vkgdr_error_set ("no CUDA context is current in this thread: make one of "
                     "device %d so (cuCtxPushCurrent) before memory is "
                     "allocated",
        mem->g->cu_device);
    return false;
  }
  if (result == CUDA_SUCCESS)
    result = cu->cuCtxGetDevice (&device);
  if (result != CUDA_SUCCESS) {
    report_cuda ("cuCtxGetDevice", result,
        "see that the current CUDA context has not been destroyed");
    return false;
  }
  if (device != mem->g->cu_device) {
    vkgdr_error_set ("the current CUDA context is of device %d, and the handle "
                     "of device %d: make a context of that one current",
        device, mem->g->cu_device);
    return false;
  }
  return true;
}

static bool
allocate (vkgdr_memory_t mem)
{
  vkgdr_t g = mem->g;
  const VkExportMemoryAllocateInfo export = {
    .sType = VK_STRUCTURE_TYPE_EXPORT_MEMORY_ALLOCATE_INFO,
    .handleTypes = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT,
  };
  const VkMemoryAllocateInfo info = {
    .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
    .pNext = &export,
    .allocationSize = mem->size,
    .memoryTypeIndex = g->info.memory_type,
  };
  VkResult result = VK_ERROR_OUT_OF_DEVICE_MEMORY;

  if (vkgdr_debug_window_take (&g->debug, mem->size)) {
    result = g->vk.AllocateMemory (g->vk.device, &info, NULL, &mem->vk_memory);
    if (result != VK_SUCCESS)
      vkgdr_debug_window_give (&g->debug, mem->size);
  }
  if (result != VK_SUCCESS) {
    mem->vk_memory = VK_NULL_HANDLE;
    report_full (mem, "vkAllocateMemory", result);
    return false;
  }
  atomic_fetch_add (&g->allocated, mem->size);
  atomic_fetch_add (&g->n_allocations, 1);
  mem->counted = true;
  return true;
}

static bool
map (vkgdr_memory_t mem)
{
  const vkgdr_vk *vk = &mem->g->vk;
  VkResult result;

  result = vk->MapMemory (
      vk->device, mem->vk_memory, 0, VK_WHOLE_SIZE, 0, &mem->host);
  if (result == VK_SUCCESS)
    return true;
  mem->host = NULL;
  report_full (mem, "vkMapMemory", result);
  return false;
}

static int
export_fd (vkgdr_memory_t mem)
{
  const vkgdr_vk *vk = &mem->g->vk;
  const VkMemoryGetFdInfoKHR info = {
    .sType = VK_STRUCTURE_TYPE_MEMORY_GET_FD_INFO_KHR,
    .memory = mem->vk_memory,
    .handleType = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT,
  };
  VkResult result;
  int fd = -1;

  result = vk->GetMemoryFdKHR (vk->device, &info, &fd);
  if (result == VK_SUCCESS && fd >= 0)
    return fd;
  vkgdr_error_set ("vkGetMemoryFdKHR failed (%s): see whether the process has "
                   "as many files open as it may (ulimit -n)",
      vkgdr_vk_result_name (result));
  return -1;
}

/* The size must be Vulkan's, or CUDA refuses the import. */
static bool
import (vkgdr_memory_t mem)
{
  const vkgdr_cuda *cu = mem->g->cu;
  CUDA_EXTERNAL_MEMORY_HANDLE_DESC handle = {
    .type = CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD,
    .size = mem->size,
  };
  const CUDA_EXTERNAL_MEMORY_BUFFER_DESC buffer = { .size = mem->size };
  CUresult result;

  handle.handle.fd = export_fd (mem);
  if (handle.handle.fd < 0)
    return false;
  result = cu->cuImportExternalMemory (&mem->external, &handle);
  if (result != CUDA_SUCCESS) {
    mem->external = NULL;
    close (handle.handle.fd);
    report_cuda ("cuImportExternalMemory", result,
        "see that CUDA and Vulkan are of the same driver version");
    return false;
  }
  /* The file descriptor is CUDA's now. */
  result = cu->cuExternalMemoryGetMappedBuffer (
      &mem->pointer, mem->external, &buffer);
  if (result != CUDA_SUCCESS) {
    mem->pointer = 0;
    report_cuda ("cuExternalMemoryGetMappedBuffer", result,
        "see whether the device has memory left (nvidia-smi), and use fewer or "
        "smaller pools");
    return false;
  }
  return true;
}

/* Makes the memory's context current where it is not. */
static CUresult
enter_context (vkgdr_memory_t mem, bool *pushed)
{
  const vkgdr_cuda *cu = mem->g->cu;
  CUcontext current = NULL;
  CUresult result;

  *pushed = false;
  result = cu->cuCtxGetCurrent (&current);
  if (result == CUDA_SUCCESS && current == mem->context)
    return CUDA_SUCCESS;
  result = cu->cuCtxPushCurrent (mem->context);
  *pushed = result == CUDA_SUCCESS;
  return result;
}

/* Undoes import(). Goes on after a failure, and tells the first one. */
static bool
release_cuda (vkgdr_memory_t mem)
{
  const vkgdr_cuda *cu = mem->g->cu;
  const char *remedy = "some of the device's memory may stay in use until the "
                       "CUDA context is destroyed; see whether an earlier "
                       "kernel or copy failed";
  CUcontext popped;
  CUresult result;
  bool pushed;
  bool ok = true;

  if (!mem->external)
    return true;
  result = enter_context (mem, &pushed);
  if (result != CUDA_SUCCESS) {
    report_cuda ("cuCtxPushCurrent", result,
        "free memory before the CUDA context that it was allocated in");
    return false;
  }
  if (mem->pointer) {
    result = cu->cuMemFree (mem->pointer);
    if (result != CUDA_SUCCESS) {
      report_cuda ("cuMemFree", result, remedy);
      ok = false;
    }
  }
  result = cu->cuDestroyExternalMemory (mem->external);
  if (result != CUDA_SUCCESS && ok) {
    report_cuda ("cuDestroyExternalMemory", result, remedy);
    ok = false;
  }
  if (pushed)
    cu->cuCtxPopCurrent (&popped);
  return ok;
}

/* Undoes map() and allocate(). */
static void
release_vulkan (vkgdr_memory_t mem)
{
  const vkgdr_vk *vk = &mem->g->vk;

  if (mem->host)
    vk->UnmapMemory (vk->device, mem->vk_memory);
  if (mem->vk_memory)
    vk->FreeMemory (vk->device, mem->vk_memory, NULL);
}

/* Releases whatever exists of it, last things first. */
static bool
release (vkgdr_memory_t mem)
{
  vkgdr_t g = mem->g;
  bool ok = true;

  if (!vkgdr_driver_has_ended (g->cu)) {
    ok = release_cuda (mem);
    release_vulkan (mem);
  }
  if (mem->counted) {
    vkgdr_debug_window_give (&g->debug, mem->size);
    atomic_fetch_sub (&g->allocated, mem->size);
    atomic_fetch_sub (&g->n_allocations, 1);
  }
  vkgdr_device_unref (g);
  free (mem);
  return ok;
}

/* As release(), but what failed before stays the error, and not what follows
 * from it. */
static void
abandon (vkgdr_memory_t mem)
{
  char *error = vkgdr_last_error ();

  release (mem);
  if (error)
    vkgdr_error_set ("%s", error);
  free (error);
}

vkgdr_memory_t
vkgdr_memory_alloc (vkgdr_t g, size_t size, uint32_t flags)
{
  vkgdr_memory_t mem;

  if (size == 0) {
    vkgdr_error_set ("memory of 0 bytes was asked for: ask for at least 1");
    return NULL;
  }
  if (flags) {
    vkgdr_error_set (
        "vkgdr_memory_alloc() does not know the flags %#x: pass 0", flags);
    return NULL;
  }
  mem = calloc (1, sizeof (*mem));
  if (!mem) {
    vkgdr_error_set ("the host is out of memory: close what is not needed");
    return NULL;
  }
  mem->g = g;
  mem->size = size;
  vkgdr_device_ref (g);
  if (!check_window (mem) || !check_context (mem) || !allocate (mem)
      || !map (mem) || !import (mem)) {
    abandon (mem);
    return NULL;
  }
  vkgdr_error_clear ();
  return mem;
}

void
vkgdr_memory_free (vkgdr_memory_t mem)
{
  if (mem)
    release (mem);
}

void *
vkgdr_memory_get_host_ptr (vkgdr_memory_t mem)
{
  return mem->host;
}

CUdeviceptr
vkgdr_memory_get_device_ptr (vkgdr_memory_t mem)
{
  return mem->pointer;
}

size_t
vkgdr_memory_get_size (vkgdr_memory_t mem)
{
  return mem->size;
}

bool
vkgdr_memory_is_coherent (vkgdr_memory_t mem)
{
  return mem->g->info.coherent;
}

size_t
vkgdr_memory_non_coherent_atom_size (vkgdr_memory_t mem)
{
  return mem->g->info.coherent ? 1 : mem->g->atom_size;
}

int
vkgdr_memory_get_fd (vkgdr_memory_t mem)
{
  int fd = export_fd (mem);

  if (fd >= 0)
    vkgdr_error_clear ();
  return fd;
}

static bool
check_range (
    vkgdr_memory_t mem, const char *function, size_t offset, size_t size)
{
  if (offset <= mem->size && size <= mem->size - offset)
    return true;
  vkgdr_error_set ("%s of %zu bytes from byte %zu reaches beyond the memory's "
                   "%zu bytes: give a range inside it",
      function, size, offset, mem->size);
  return false;
}

/* Widens a range to whole atoms; the memory's end is as good as one. */
static VkMappedMemoryRange
whole_atoms (vkgdr_memory_t mem, size_t offset, size_t size)
{
  VkMappedMemoryRange range = {
    .sType = VK_STRUCTURE_TYPE_MAPPED_MEMORY_RANGE,
    .memory = mem->vk_memory,
  };
  size_t atom = mem->g->atom_size;
  size_t end = offset + size;
  size_t rest = end % atom;

  if (rest)
    end = mem->size - end < atom - rest ? mem->size : end + (atom - rest);
  range.offset = offset - offset % atom;
  range.size = end - range.offset;
  return range;
}

void
vkgdr_memory_flush (vkgdr_memory_t mem, size_t offset, size_t size)
{
  const vkgdr_vk *vk = &mem->g->vk;
  VkMappedMemoryRange range;
  VkResult result = VK_SUCCESS;

  if (!check_range (mem, "vkgdr_memory_flush()", offset, size))
    return;
  if (size > 0) {
    vkgdr_store_fence ();
    if (!mem->g->info.coherent) {
      range = whole_atoms (mem, offset, size);
      result = vk->FlushMappedMemoryRanges (vk->device, 1, &range);
    }
  }
  if (result == VK_SUCCESS)
    vkgdr_error_clear ();
  else
    vkgdr_error_set ("vkFlushMappedMemoryRanges failed (%s): the device may "
                     "not see what was written; see whether it is lost (dmesg)",
        vkgdr_vk_result_name (result));
}

void
vkgdr_memory_invalidate (vkgdr_memory_t mem, size_t offset, size_t size)
{
  const vkgdr_vk *vk = &mem->g->vk;
  VkMappedMemoryRange range;
  VkResult result = VK_SUCCESS;

  if (!check_range (mem, "vkgdr_memory_invalidate()", offset, size))
    return;
  if (size > 0 && !mem->g->info.coherent) {
    range = whole_atoms (mem, offset, size);
    result = vk->InvalidateMappedMemoryRanges (vk->device, 1, &range);
  }
  if (result == VK_SUCCESS)
    vkgdr_error_clear ();
  else
    vkgdr_error_set ("vkInvalidateMappedMemoryRanges failed (%s): the CPU may "
                     "not see what the device wrote; see whether it is lost "
                     "(dmesg)",
        vkgdr_vk_result_name (result));
}
