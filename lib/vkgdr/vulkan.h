/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * vulkan.h: Vulkan, loaded at run time: the instance, one of its physical
 * devices, a logical device, and the functions of the three
 *
 * All functions must be called in the thread of vulkan-thread.h, except
 * vkgdr_vk_format_uuid(). Knows nothing of CUDA, and allocates no memory of the
 * device. Private.
 */

#ifndef VKGDR_VULKAN_H
#define VKGDR_VULKAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define VK_NO_PROTOTYPES
#include <vulkan/vulkan_core.h>

#include "debug.h"
#include <vkgdr/vkgdr.h>

#define VKGDR_VK_INSTANCE_FUNCTIONS(X) \
  X (EnumeratePhysicalDevices) \
  X (EnumerateDeviceExtensionProperties) \
  X (GetPhysicalDeviceProperties) \
  X (GetPhysicalDeviceProperties2) \
  X (GetPhysicalDeviceMemoryProperties) \
  X (GetPhysicalDeviceMemoryProperties2) \
  X (GetPhysicalDeviceQueueFamilyProperties) \
  X (GetPhysicalDeviceExternalBufferProperties) \
  X (CreateDevice) \
  X (GetDeviceProcAddr)

#define VKGDR_VK_DEVICE_FUNCTIONS(X) \
  X (DestroyDevice) \
  X (AllocateMemory) \
  X (FreeMemory) \
  X (MapMemory) \
  X (UnmapMemory) \
  X (FlushMappedMemoryRanges) \
  X (InvalidateMappedMemoryRanges) \
  X (GetMemoryFdKHR)

/* The properties that are requested of each physical device, in Vulkan's chain.
 */
typedef struct {
  VkPhysicalDeviceProperties2 base;
  VkPhysicalDeviceIDProperties id; /* driverUUID differs between versions */
  VkPhysicalDeviceDriverProperties driver;
} vkgdr_vk_properties;

/* Vulkan for one handle: its objects, and each function as a field without `vk`
 * in front. It must be zero-initialised. A test may replace a function. */
typedef struct vkgdr_vk {
  VkInstance instance;       /* of the process */
  VkPhysicalDevice physical; /* once one is chosen */
  vkgdr_vk_properties properties;
  VkDevice device; /* once it is created */
#define VKGDR_VK_FIELD(name) PFN_vk##name name;
  VKGDR_VK_INSTANCE_FUNCTIONS (VKGDR_VK_FIELD)
  VKGDR_VK_DEVICE_FUNCTIONS (VKGDR_VK_FIELD)
#undef VKGDR_VK_FIELD
} vkgdr_vk;

/* Loads libvulkan.so.1, or the library in the environment variable
 * VKGDR_VULKAN_LIBRARY (for tests), and creates an instance. Both are kept
 * until the process ends. After a failure, the next call tries again. Returns
 * VKGDR_OBSTACLE_NONE, or with the error set (vkgdr_error_set()) what is
 * missing, or hidden by @debug: VKGDR_OBSTACLE_VULKAN_LOADER or
 * VKGDR_OBSTACLE_VULKAN_DRIVER. The caller must call vkgdr_vk_clear() in both
 * cases. */
vkgdr_obstacle vkgdr_vk_init (vkgdr_vk *vk, const vkgdr_debug *debug);

/* Selects the physical device with this @uuid. If there is none, the error
 * lists all devices. */
bool vkgdr_vk_choose_uuid (vkgdr_vk *vk, const uint8_t *uuid);

/* Whether the physical device has the extension. */
bool vkgdr_vk_has_extension (
    const vkgdr_vk *vk, VkPhysicalDevice device, const char *name);

/* Characters of a UUID as text, with the terminating 0. */
#define VKGDR_VK_UUID_TEXT (2 * VK_UUID_SIZE + 1)

void vkgdr_vk_format_uuid (const uint8_t *uuid, char *text);

/* Creates the logical device of the physical one, with support for exporting
 * memory as a file descriptor. It has one queue, which is not used, because
 * Vulkan requires one. Returns false on failure (vkgdr_error_set()). */
bool vkgdr_vk_create_device (vkgdr_vk *vk);

/* Destroys the logical device if there is one, and resets @vk. */
void vkgdr_vk_clear (vkgdr_vk *vk);

#endif /* VKGDR_VULKAN_H */
