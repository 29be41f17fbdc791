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

/**
 * vkgdr_vk:
 * @instance: the process's instance
 * @physical: the physical device, once one is chosen
 * @device: the logical device, once it is created
 *
 * Vulkan for one handle: its objects, and each function as a field without
 * `vk` in front. All zero is empty. A test may replace a function.
 */
typedef struct vkgdr_vk {
  VkInstance instance;
  VkPhysicalDevice physical;
  VkDevice device;
#define VKGDR_VK_FIELD(name) PFN_vk##name name;
  VKGDR_VK_INSTANCE_FUNCTIONS (VKGDR_VK_FIELD)
  VKGDR_VK_DEVICE_FUNCTIONS (VKGDR_VK_FIELD)
#undef VKGDR_VK_FIELD
} vkgdr_vk;

/**
 * vkgdr_vk_init:
 * @vk: (out): the functions to fill in
 *
 * Loads libvulkan.so.1, or the library in the environment variable
 * VKGDR_VULKAN_LIBRARY (for tests), and creates an instance. Both are kept
 * until the process ends; after a failure, the next call tries again. Fails if
 * @debug hides Vulkan.
 *
 * Returns: false on failure (vkgdr_error_set()); vkgdr_vk_clear() is needed
 *   either way
 */
bool vkgdr_vk_init (vkgdr_vk *vk, const vkgdr_debug *debug);

/**
 * vkgdr_vk_has_loader:
 *
 * Tells, after vkgdr_vk_init() failed, what was missing.
 *
 * Returns: whether a Vulkan loader was loaded that is new enough; sets no error
 */
bool vkgdr_vk_has_loader (const vkgdr_debug *debug);

/**
 * vkgdr_vk_choose_uuid:
 *
 * Selects the physical device with this @uuid.
 *
 * Returns: false if there is none; the error lists all devices
 */
bool vkgdr_vk_choose_uuid (vkgdr_vk *vk, const uint8_t *uuid);

/**
 * vkgdr_vk_has_extension:
 *
 * Returns: whether the physical device has the extension
 */
bool vkgdr_vk_has_extension (vkgdr_vk *vk, const char *name);

/**
 * vkgdr_vk_describe_driver:
 *
 * Writes the driver's name and version to @text.
 */
void vkgdr_vk_describe_driver (vkgdr_vk *vk, char *text, size_t size);

/**
 * vkgdr_vk_get_driver_uuid:
 * @uuid: (out): VK_UUID_SIZE bytes, different for each version of the driver
 */
void vkgdr_vk_get_driver_uuid (vkgdr_vk *vk, uint8_t *uuid);

/* Characters of a UUID as text, with the terminating 0. */
#define VKGDR_VK_UUID_TEXT (2 * VK_UUID_SIZE + 1)

/**
 * vkgdr_vk_format_uuid:
 * @text: (out): VKGDR_VK_UUID_TEXT characters
 */
void vkgdr_vk_format_uuid (const uint8_t *uuid, char *text);

/**
 * vkgdr_vk_create_device:
 *
 * Creates the logical device of the physical one, with support for exporting
 * memory as a file descriptor. It has one queue, which is not used, because
 * Vulkan requires one.
 *
 * Returns: false on failure (vkgdr_error_set())
 */
bool vkgdr_vk_create_device (vkgdr_vk *vk);

/**
 * vkgdr_vk_clear:
 *
 * Destroys the logical device if there is one, and resets @vk.
 */
void vkgdr_vk_clear (vkgdr_vk *vk);

#endif /* VKGDR_VULKAN_H */
