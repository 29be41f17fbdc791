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

struct vkgdr {
  atomic_uint refs; /* of the handle, and of each memory */
  const vkgdr_cuda *cu;
  uint32_t flags; /* vkgdr_open_flags */
  CUdevice cu_device;
  /* Empty and NULL if there is no window. */
  vkgdr_vk vk;
  vkgdr_vulkan_thread *vulkan_thread;
  vkgdr_debug debug; /* VKGDR_DEBUG when the handle was opened */
  /* The constant fields; vkgdr_get_device_info() fills in the others. */
  vkgdr_device_info info;
  vkgdr_obstacle obstacle; /* why there is no window, also in words */
  char reason[VKGDR_MAX_MESSAGE];
  char remedy[VKGDR_MAX_MESSAGE];
  uint8_t driver_uuid[VK_UUID_SIZE]; /* Vulkan's; 0: no Vulkan device */
  uint32_t heap;                     /* index of the window's heap */
  bool has_budget;                   /* usable VK_EXT_memory_budget */
  uint64_t atom_size;                /* bytes of nonCoherentAtomSize */
  /* In the window, through this handle, without imported memory. */
  atomic_uint_fast64_t allocated; /* bytes */
  atomic_uint_fast64_t n_allocations;
  CUcontext primary; /* of vkgdr_device_open_primary() */
};

/* The last unref destroys the Vulkan device and @g. */
void vkgdr_device_ref (vkgdr_t g);
void vkgdr_device_unref (vkgdr_t g);

/* Reads the UUID of a CUDA device. For a MIG instance it is its own one, as in
 * Vulkan. */
CUresult vkgdr_device_get_cuda_uuid (
    const vkgdr_cuda *cu, CUdevice device, CUuuid *uuid);

/* Opens a device, with a window or without one, and keeps its primary CUDA
 * context as long as the handle and its memories. Returns NULL on failure
 * (vkgdr_error_set()). */
vkgdr_t vkgdr_device_open_primary (CUdevice device);

/* Makes the primary context current in this thread, until vkgdr_device_leave().
 * Returns false on failure (vkgdr_error_set()). Thread-safe. */
bool vkgdr_device_enter (vkgdr_t g);
void vkgdr_device_leave (vkgdr_t g);

#endif /* VKGDR_DEVICE_H */
