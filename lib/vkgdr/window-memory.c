/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * window-memory.c: memory in the window
 *
 * Vulkan allocates and maps it, or, with a window, imports it from a file
 * descriptor; that of a software device is mapped without Vulkan (memfd.h). In
 * all cases, CUDA imports it from a file descriptor. The
 * functions whose names begin with call_ are called in the thread that calls
 * Vulkan. Must not know how a device is found, nor how memory is pooled.
 */

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "memfd.h"
#include "memory.h"

/* Whether the device has memory that is not in the window: its firmware may
 * make the window larger. */
static bool
can_be_larger (const vkgdr_device_info *info)
{
  uint32_t i;

  for (i = 0; i < info->n_memory_types; i++) {
    const vkgdr_memory_type *type = &info->memory_types[i];

    if ((type->flags & VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT)
        && type->heap_size > info->window_size)
      return true;
  }
  return false;
}

/* Vulkan is out of memory: reports the size of the window and its use. */
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
      "cannot allocate %zu bytes in the window of %s (%s: %s): the window "
      "has %" PRIu64 " bytes, this handle uses %" PRIu64 " in %" PRIu64
      " allocations%s; %suse fewer or smaller pools",
      mem->size, info.name, function, vkgdr_vk_result_name (result),
      info.window_size, info.allocated, info.n_allocations, driver,
      can_be_larger (&info)
          ? "enable Resizable BAR in the firmware for a larger window, or "
          : "");
}

/* @next: chained to the information of vkAllocateMemory(). */
static VkResult
allocate_with (vkgdr_memory_t mem, const void *next)
{
  const vkgdr_vk *vk = &mem->g->vk;
  const VkMemoryAllocateInfo info = {
    .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
    .pNext = next,
    .allocationSize = mem->size,
    .memoryTypeIndex = mem->g->info.memory_type,
  };
  VkResult result;

  result = vk->AllocateMemory (vk->device, &info, NULL, &mem->vk_memory);
  if (result != VK_SUCCESS)
    mem->vk_memory = VK_NULL_HANDLE;
  return result;
}

static bool
allocate (vkgdr_memory_t mem)
{
  vkgdr_t g = mem->g;
  const VkExportMemoryAllocateInfo export = {
    .sType = VK_STRUCTURE_TYPE_EXPORT_MEMORY_ALLOCATE_INFO,
    .handleTypes = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT,
  };
  VkResult result = VK_ERROR_OUT_OF_DEVICE_MEMORY;

  if (vkgdr_debug_window_take (&g->debug, mem->size)) {
    result = allocate_with (mem, &export);
    if (result != VK_SUCCESS)
      vkgdr_debug_window_give (&g->debug, mem->size);
  }
  if (result != VK_SUCCESS) {
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

/* The arguments and results of a call in the thread that calls Vulkan. */
typedef struct {
  vkgdr_memory_t mem;
  int fd; /* or -1 */
  bool ok;
} vulkan_call;

static void
call_export_fd (void *data)
{
  vulkan_call *call = data;
  const vkgdr_vk *vk = &call->mem->g->vk;
  const VkMemoryGetFdInfoKHR info = {
    .sType = VK_STRUCTURE_TYPE_MEMORY_GET_FD_INFO_KHR,
    .memory = call->mem->vk_memory,
    .handleType = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT,
  };
  VkResult result = vk->GetMemoryFdKHR (vk->device, &info, &call->fd);

  if (result == VK_SUCCESS && call->fd >= 0) {
    vkgdr_memfd_seal (call->fd);
    return;
  }
  call->fd = -1;
  vkgdr_error_set ("vkGetMemoryFdKHR failed (%s): see whether the process has "
                   "reached its limit of open files (ulimit -n)",
      vkgdr_vk_result_name (result));
}

static bool
run (vulkan_call *call, void (*function) (void *))
{
  return vkgdr_vulkan_thread_run (call->mem->g->vulkan_thread, function, call);
}

int
vkgdr_window_memory_export_fd (vkgdr_memory_t mem)
{
  vulkan_call call = { .mem = mem, .fd = -1 };

  run (&call, call_export_fd);
  return call.fd;
}

/* Imports @fd in CUDA, which owns @fd after a success. The size must be the
 * same as for Vulkan, otherwise CUDA refuses the import. */
static bool
import_in_cuda (vkgdr_memory_t mem, int fd)
{
  const vkgdr_cuda *cu = mem->g->cu;
  const CUDA_EXTERNAL_MEMORY_HANDLE_DESC handle = {
    .type = CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD,
    .handle.fd = fd,
    .size = mem->size,
  };
  CUresult result;

  result = cu->cuImportExternalMemory (&mem->external, &handle);
  if (result == CUDA_SUCCESS)
    return true;
  mem->external = NULL;
  vkgdr_error_set_cuda ("cuImportExternalMemory", result,
      mem->imported ? "check that the memory has this size, and that it was "
                      "exported on this device by the same driver version"
                    : "see that CUDA and Vulkan are of the same driver "
                      "version");
  return false;
}

static bool
map_in_cuda (vkgdr_memory_t mem)
{
  const vkgdr_cuda *cu = mem->g->cu;
  const CUDA_EXTERNAL_MEMORY_BUFFER_DESC buffer = { .size = mem->size };
  CUresult result;

  result = cu->cuExternalMemoryGetMappedBuffer (
      &mem->pointer, mem->external, &buffer);
  if (result == CUDA_SUCCESS)
    return true;
  mem->pointer = 0;
  vkgdr_error_set_cuda ("cuExternalMemoryGetMappedBuffer", result,
      "see whether the device has memory left (nvidia-smi), and use fewer or "
      "smaller pools");
  return false;
}

/* If @fd is negative, an earlier call has failed and has set the error; returns
 * false. */
static bool
give_to_cuda (vkgdr_memory_t mem, int fd)
{
  if (fd < 0)
    return false;
  if (import_in_cuda (mem, fd))
    return map_in_cuda (mem);
  close (fd);
  return false;
}

static void
call_allocate (void *data)
{
  vulkan_call *call = data;

  if (!allocate (call->mem) || !map (call->mem))
    return;
  call_export_fd (call);
  if (call->fd >= 0)
    vkgdr_memfd_keep_header (call->fd, call->mem->host);
}

bool
vkgdr_window_memory_allocate (vkgdr_memory_t mem)
{
  vulkan_call call = { .mem = mem, .fd = -1 };

  run (&call, call_allocate);
  return give_to_cuda (mem, call.fd);
}

static int
duplicate (int fd)
{
  int copy = fcntl (fd, F_DUPFD_CLOEXEC, 0);

  if (copy < 0)
    vkgdr_error_set (
        "the file descriptor %d cannot be duplicated (%s): see whether the "
        "process has reached its limit of open files (ulimit -n)",
        fd, strerror (errno));
  return copy;
}

static void
call_import (void *data)
{
  vulkan_call *call = data;
  const VkImportMemoryFdInfoKHR import = {
    .sType = VK_STRUCTURE_TYPE_IMPORT_MEMORY_FD_INFO_KHR,
    .handleType = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT,
    .fd = call->fd,
  };
  VkResult result = allocate_with (call->mem, &import);

  if (result != VK_SUCCESS) {
    vkgdr_error_set ("memory of %zu bytes cannot be imported "
                     "(vkAllocateMemory: %s): check that it has this size, and "
                     "that it was exported on this device by the same driver "
                     "version",
        call->mem->size, vkgdr_vk_result_name (result));
    return;
  }
  call->fd = -1; /* is Vulkan's now */
  call->ok = map (call->mem);
}

/* Takes ownership of @fd, which may be negative after an error. */
static bool
import_in_vulkan (vkgdr_memory_t mem, int fd)
{
  vulkan_call call = { .mem = mem, .fd = fd };

  if (fd < 0)
    return false;
  run (&call, call_import);
  if (call.fd >= 0)
    close (call.fd);
  return call.ok;
}

bool
vkgdr_window_memory_import (vkgdr_memory_t mem, int fd)
{
  if (!give_to_cuda (mem, duplicate (fd)))
    return false;
  if (mem->g->obstacle != VKGDR_OBSTACLE_NONE)
    return true;
  if (!vkgdr_memfd_is_file (fd))
    return import_in_vulkan (mem, duplicate (fd));
  mem->host = vkgdr_memfd_map (fd, mem->size);
  return mem->host != NULL;
}

void
vkgdr_window_memory_release_cuda (vkgdr_memory_t mem)
{
  const vkgdr_cuda *cu = mem->g->cu;
  bool ok = true;

  if (mem->pointer)
    ok = vkgdr_error_check_cuda (
        ok, "cuMemFree", cu->cuMemFree (mem->pointer), VKGDR_MEMORY_STAYS);
  vkgdr_error_check_cuda (ok, "cuDestroyExternalMemory",
      cu->cuDestroyExternalMemory (mem->external), VKGDR_MEMORY_STAYS);
}

static void
call_release (void *data)
{
  const vulkan_call *call = data;
  vkgdr_memory_t mem = call->mem;
  const vkgdr_vk *vk = &mem->g->vk;

  if (mem->host)
    vk->UnmapMemory (vk->device, mem->vk_memory);
  vk->FreeMemory (vk->device, mem->vk_memory, NULL);
}

void
vkgdr_window_memory_release_vulkan (vkgdr_memory_t mem)
{
  vulkan_call call = { .mem = mem };

  if (mem->vk_memory)
    run (&call, call_release);
  else if (mem->host)
    vkgdr_memfd_unmap (mem->host, mem->size);
}
