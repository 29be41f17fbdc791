/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * memory.h: what a vkgdr_memory_t is inside, and the two kinds of it
 *
 * Memory in the window is allocated by Vulkan and imported by CUDA
 * (window-memory.c). Device memory is CUDA's alone, and has no host pointer
 * (device-memory.c). memory.c and share.c choose between them. Private.
 */

#ifndef VKGDR_MEMORY_H
#define VKGDR_MEMORY_H

#include "device.h"

/**
 * vkgdr_memory:
 * @g: the device, which the memory keeps alive
 * @flags: vkgdr_memory_flags that it was made with
 * @size: bytes, as asked for; also what vkAllocateMemory() is given
 * @imported: it was made from a file descriptor
 * @counted: @size is part of the device's sums, and of a limited window
 * @context: the CUDA context that it was made in
 * @pointer: CUDA's pointer, 0 without one
 * @vk_memory: in the window, Vulkan's memory; none if it was imported by a
 *   handle that has no window
 * @host: where @vk_memory is mapped
 * @external: CUDA's import of @vk_memory
 * @handle: of device memory, CUDA's handle of the allocation, 0 without one
 * @reserved: of device memory, bytes of address space from @pointer on
 * @mapped: of device memory, @handle is mapped at @pointer
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

/* What to say of memory that could not be released. */
#define VKGDR_MEMORY_STAYS \
  "some of the device's memory may stay in use until the CUDA context is " \
  "destroyed; see whether an earlier kernel or copy failed"

/**
 * vkgdr_memory_new:
 *
 * Returns: a memory that has nothing yet, and whose CUDA context is the
 *   thread's current one; NULL if that is none of @g's (vkgdr_error_set())
 */
vkgdr_memory_t vkgdr_memory_new (vkgdr_t g, size_t size, uint32_t flags);

/**
 * vkgdr_memory_abandon:
 *
 * Frees a memory that could not be made. The calling thread's last error stays
 * as it is, whatever fails meanwhile.
 */
void vkgdr_memory_abandon (vkgdr_memory_t mem);

/**
 * vkgdr_memory_report_cuda:
 *
 * Sets the error of a call of CUDA's that failed.
 */
void vkgdr_memory_report_cuda (
    const char *function, CUresult result, const char *remedy);

/* Both kinds: the memory's CUDA context must be current. What these functions
 * leave behind when they fail (vkgdr_error_set()) is released with the memory.
 * import () leaves the file descriptor to the caller. export_fd () returns a
 * new file descriptor, -1 on failure. release_cuda () goes on after a failure,
 * and reports the first one. */
bool vkgdr_window_memory_allocate (vkgdr_memory_t mem);
bool vkgdr_window_memory_import (vkgdr_memory_t mem, int fd);
int vkgdr_window_memory_export_fd (vkgdr_memory_t mem);
bool vkgdr_window_memory_release_cuda (vkgdr_memory_t mem);
/* After release_cuda (), also if that failed. Needs no CUDA context. */
void vkgdr_window_memory_release_vulkan (vkgdr_memory_t mem);

bool vkgdr_device_memory_allocate (vkgdr_memory_t mem);
bool vkgdr_device_memory_import (vkgdr_memory_t mem, int fd);
int vkgdr_device_memory_export_fd (vkgdr_memory_t mem);
bool vkgdr_device_memory_release_cuda (vkgdr_memory_t mem);

#endif /* VKGDR_MEMORY_H */
