/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * memory.h: the fields of a vkgdr_memory_t, and its two types
 *
 * Memory in the window is allocated by Vulkan and imported by CUDA
 * (window-memory.c). Device-only memory is allocated by CUDA, and has no host
 * pointer (device-memory.c). memory.c and share.c choose between them. Private.
 */

#ifndef VKGDR_MEMORY_H
#define VKGDR_MEMORY_H

#include "device.h"

/**
 * vkgdr_memory:
 * @g: the device, which the memory keeps alive
 * @flags: its vkgdr_memory_flags
 * @size: requested size in bytes; also the size for vkAllocateMemory()
 * @imported: whether it was imported from a file descriptor
 * @counted: whether @size is counted in the device's totals and a limited
 * window
 * @context: the CUDA context of the memory
 * @pointer: the device pointer, or 0
 * @vk_memory: in the window, Vulkan's memory; none if it was imported by a
 *   handle without a window
 * @host: the mapped address of @vk_memory
 * @external: CUDA's import of @vk_memory
 * @handle: for device-only memory, CUDA's handle of the allocation, or 0
 * @reserved: for device-only memory, size of the address range at @pointer
 * @mapped: for device-only memory, whether @handle is mapped at @pointer
 */
struct vkgdr_memory {
  vkgdr_t g;
  uint32_t flags;
  size_t size;
  bool imported;
  bool counted;
  CUcontext context;
  CUdeviceptr pointer;

  VkDeviceMemory vk_memory;
  void *host;
  CUexternalMemory external;

  CUmemGenericAllocationHandle handle;
  size_t reserved;
  bool mapped;
};

/* The remedy for memory that could not be released. */
#define VKGDR_MEMORY_STAYS \
  "some of the device's memory may stay in use until the CUDA context is " \
  "destroyed; see whether an earlier kernel or copy failed"

/**
 * vkgdr_memory_new:
 *
 * Returns: an empty memory for the thread's current CUDA context; NULL if that
 *   is not a context of @g's device (vkgdr_error_set())
 */
vkgdr_memory_t vkgdr_memory_new (vkgdr_t g, size_t size, uint32_t flags);

/**
 * vkgdr_memory_abandon:
 *
 * Frees a memory that could not be allocated or imported. The calling thread's
 * last error stays the same, even if something fails.
 */
void vkgdr_memory_abandon (vkgdr_memory_t mem);

/* Functions of both types. The memory's CUDA context must be current. If a
 * function fails (vkgdr_error_set()), its partial results are released with the
 * memory. import () does not take ownership of the file descriptor.
 * export_fd () returns a new file descriptor, or -1 on failure. release_cuda ()
 * continues after a failure, and reports the first one. */
bool vkgdr_window_memory_allocate (vkgdr_memory_t mem);
bool vkgdr_window_memory_import (vkgdr_memory_t mem, int fd);
int vkgdr_window_memory_export_fd (vkgdr_memory_t mem);
bool vkgdr_window_memory_release_cuda (vkgdr_memory_t mem);
/* Must be called after release_cuda (), even if that failed. Needs no CUDA
 * context. */
void vkgdr_window_memory_release_vulkan (vkgdr_memory_t mem);

bool vkgdr_device_memory_allocate (vkgdr_memory_t mem);
bool vkgdr_device_memory_import (vkgdr_memory_t mem, int fd);
int vkgdr_device_memory_export_fd (vkgdr_memory_t mem);
bool vkgdr_device_memory_release_cuda (vkgdr_memory_t mem);

#endif /* VKGDR_MEMORY_H */
