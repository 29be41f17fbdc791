/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * no-vulkan-device.c: a Vulkan loader with which no logical device can be
 * created; everything else is the system's loader
 */

#include <dlfcn.h>
#include <string.h>

#include <vulkan/vulkan_core.h>

static VKAPI_ATTR VkResult VKAPI_CALL
create_device (VkPhysicalDevice physical, const VkDeviceCreateInfo *info,
    const VkAllocationCallbacks *allocator, VkDevice *device)
{
  return VK_ERROR_INITIALIZATION_FAILED;
}

__attribute__ ((visibility ("default")))
VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL
vkGetInstanceProcAddr (VkInstance instance, const char *name)
{
  static PFN_vkGetInstanceProcAddr real;

  if (strcmp (name, "vkCreateDevice") == 0)
    return (PFN_vkVoidFunction) create_device;
  if (!real)
    *(void **) &real = dlsym (dlopen ("libvulkan.so.1", RTLD_NOW | RTLD_LOCAL),
        "vkGetInstanceProcAddr");
  return real (instance, name);
}
