/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * device.h: the fields of a vkgdr_t
 *
 * For device.c, which makes it, memory.c, which allocates from it, and tests.
 * Private.
 */

#ifndef VKGDR_DEVICE_H
#define VKGDR_DEVICE_H

#include <stdatomic.h>

#include "cuda-driver.h"
#include "debug.h"
#include "error.h"
#include "vulkan-thread.h"
#include "vulkan.h"
#include <vkgdr/vkgdr.h>

/**
 * vkgdr:
 * @refs: references: one of the handle, and one of each memory
 * @cu: CUDA's functions
 * @cu_device: the CUDA device
 * @vk: the Vulkan device and its functions; empty if there is no window
 * @vulkan_thread: the thread that calls these functions; NULL if there is no
 *   window
 * @debug: the settings of VKGDR_DEBUG when it was opened
 * @info: the constant fields of the description; vkgdr_get_device_info() fills
 *   in the others
 * @obstacle: why there is no window, VKGDR_OBSTACLE_NONE if there is one
 * @reason: @obstacle in words
 * @remedy: what the user can do about it
 * @driver_uuid: the Vulkan driver's UUID, all 0 if there is no Vulkan device
 * @heap: index of the window's heap
 * @has_budget: the device has VK_EXT_memory_budget
 * @atom_size: bytes of nonCoherentAtomSize
 * @allocated: bytes of the window that are allocated through this handle,
 *   without imported memory
 * @n_allocations: number of these allocations
 * @primary: the primary CUDA context, if vkgdr_device_open_primary() opened the
 *   handle
 */
struct vkgdr {
  atomic_uint refs;
  const vkgdr_cuda *cu;
  CUdevice cu_device;
  vkgdr_vk vk;
  vkgdr_vulkan_thread *vulkan_thread;
  vkgdr_debug debug;
  vkgdr_device_info info;
  vkgdr_obstacle obstacle;
  char reason[VKGDR_MAX_MESSAGE];
  char remedy[VKGDR_MAX_MESSAGE];
  uint8_t driver_uuid[VK_UUID_SIZE];
  uint32_t heap;
  bool has_budget;
  uint64_t atom_size;
  atomic_uint_fast64_t allocated;
  atomic_uint_fast64_t n_allocations;
  CUcontext primary;
};

/**
 * vkgdr_device_ref:
 *
 * Takes a reference of @g.
 */
void vkgdr_device_ref (vkgdr_t g);

/**
 * vkgdr_device_unref:
 *
 * Releases a reference; the last one destroys the Vulkan device and @g.
 */
void vkgdr_device_unref (vkgdr_t g);

/**
 * vkgdr_device_get_cuda_uuid:
 *
 * Reads the UUID of a CUDA device. For a MIG instance it is its own one, as in
 * Vulkan.
 */
CUresult vkgdr_device_get_cuda_uuid (
    const vkgdr_cuda *cu, CUdevice device, CUuuid *uuid);

/**
 * vkgdr_device_open_primary:
 *
 * Opens a device, with a window or without one, and keeps its primary CUDA
 * context as long as the handle and its memories.
 *
 * Returns: the handle, or NULL (vkgdr_error_set())
 */
vkgdr_t vkgdr_device_open_primary (CUdevice device);

/**
 * vkgdr_device_enter:
 *
 * Makes the primary context current in this thread, until vkgdr_device_leave().
 * Thread-safe.
 *
 * Returns: false on failure (vkgdr_error_set())
 */
bool vkgdr_device_enter (vkgdr_t g);
void vkgdr_device_leave (vkgdr_t g);

#endif /* VKGDR_DEVICE_H */
