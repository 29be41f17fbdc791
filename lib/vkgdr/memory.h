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

struct vkgdr_memory {
  vkgdr_t g;           /* a reference */
  uint32_t flags;      /* vkgdr_memory_flags */
  size_t size;         /* as requested, also from vkAllocateMemory() */
  bool imported;       /* from a file descriptor */
  bool counted;        /* in the device's totals and a limited window */
  CUcontext context;   /* in which it was allocated */
  CUdeviceptr pointer; /* or 0 */

  /* In the window. There is no vk_memory if it was imported by a handle without
   * a window, or from a software device. */
  VkDeviceMemory vk_memory;
  void *host;                /* its mapped address */
  CUexternalMemory external; /* CUDA's import of vk_memory */

  /* Device-only memory. */
  CUmemGenericAllocationHandle handle; /* or 0 */
  size_t reserved;                     /* size of the addresses at pointer */
  bool mapped;                         /* whether handle is mapped there */
};

/* Returns an empty memory for the thread's current CUDA context; NULL if that
 * is not a context of @g's device (vkgdr_error_set()). */
vkgdr_memory_t vkgdr_memory_new (vkgdr_t g, size_t size, uint32_t flags);

/* The remedy for memory that could not be released. */
#define VKGDR_MEMORY_STAYS \
  "some of the device's memory may stay in use until the CUDA context is " \
  "destroyed; see whether an earlier kernel or copy failed"

/* Frees a memory that could not be allocated or imported. The calling thread's
 * last error stays the same, even if something fails. */
void vkgdr_memory_abandon (vkgdr_memory_t mem);

/* Functions of both types. The memory's CUDA context must be current. If a
 * function fails (vkgdr_error_set()), its partial results are released with the
 * memory. import () does not take ownership of the file descriptor.
 * export_fd () returns a new file descriptor, or -1 on failure. release_cuda ()
 * continues after a failure, and reports the first one. */
bool vkgdr_window_memory_allocate (vkgdr_memory_t mem);
bool vkgdr_window_memory_import (vkgdr_memory_t mem, int fd);
int vkgdr_window_memory_export_fd (vkgdr_memory_t mem);
void vkgdr_window_memory_release_cuda (vkgdr_memory_t mem);
/* Must be called after release_cuda (), even if that failed. Needs no CUDA
 * context. */
void vkgdr_window_memory_release_vulkan (vkgdr_memory_t mem);

bool vkgdr_device_memory_allocate (vkgdr_memory_t mem);
bool vkgdr_device_memory_import (vkgdr_memory_t mem, int fd);
int vkgdr_device_memory_export_fd (vkgdr_memory_t mem);
void vkgdr_device_memory_release_cuda (vkgdr_memory_t mem);

#endif /* VKGDR_MEMORY_H */
