/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * device.h: what a vkgdr_t is inside
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
#include "vulkan.h"
#include <vkgdr/vkgdr.h>

/**
 * vkgdr:
 * @refs: the handle counts as one, and each memory as one
 * @cu: CUDA's functions
 * @cu_device: the CUDA device
 * @vk: the Vulkan device and its functions; empty if there is no window
 * @debug: what VKGDR_DEBUG said when it was opened
 * @info: what does not change while the handle lives; the rest is filled in by
 *   vkgdr_get_device_info()
 * @obstacle: why there is no window, VKGDR_OBSTACLE_NONE if there is one
 * @reason: @obstacle in words
 * @remedy: what the user can do about it
 * @driver_uuid: the Vulkan driver's UUID, all 0 if there is no Vulkan device
 * @heap: index of the window's heap
 * @has_budget: the device has VK_EXT_memory_budget
 * @atom_size: bytes of nonCoherentAtomSize
 * @allocated: bytes allocated through this handle
 * @n_allocations: allocations that live
 */
struct vkgdr {
  atomic_uint refs;
  const vkgdr_cuda *cu;
  CUdevice cu_device;
  vkgdr_vk vk;
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
};

/**
 * vkgdr_device_ref:
 *
 * Keeps @g alive; to be undone by vkgdr_device_unref().
 */
void vkgdr_device_ref (vkgdr_t g);

/**
 * vkgdr_device_unref:
 *
 * Destroys the Vulkan device and @g where nobody is left who needs it.
 */
void vkgdr_device_unref (vkgdr_t g);

#endif /* VKGDR_DEVICE_H */
