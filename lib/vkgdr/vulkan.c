/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * vulkan.c: Vulkan, loaded at run time: the instance, one of its physical
 * devices, a logical device, and the functions of the three
 *
 * Must not know CUDA, nor what the device's memory is used for.
 */

#include "vulkan.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "error.h"

#define LOADER "libvulkan.so.1"

/* NVIDIA's containers contain no Vulkan driver unless it is requested. */
#define CONTAINER_REMEDY \
  "in a container, set NVIDIA_DRIVER_CAPABILITIES=graphics,compute,video," \
  "utility"

#define LOADER_REMEDY \
  "install the Vulkan loader (Debian: libvulkan1); " CONTAINER_REMEDY

#define NEW_LOADER_REMEDY "install a newer one (Debian: libvulkan1)"

/* The remedy if Vulkan works but does not have the device. */
#define ICD_REMEDY \
  "for an NVIDIA GPU, install the driver's Vulkan part " \
  "(nvidia_icd.json); " CONTAINER_REMEDY \
  "; without a GPU, install lavapipe (Debian: " \
  "mesa-vulkan-drivers); and check that VK_DRIVER_FILES and " \
  "VK_ICD_FILENAMES do not hide the driver"

#define WSL_REMEDY \
  "WSL 2 has no Vulkan driver of NVIDIA's that could provide it; for a " \
  "software device, install lavapipe (Debian: mesa-vulkan-drivers), and " \
  "check that VK_DRIVER_FILES and VK_ICD_FILENAMES do not hide it"

#define DRIVER_REMEDY "install a newer driver"

/* The device file through which WSL 2 reaches the GPU. */
#define WSL_DEVICE "/dev/dxg"

/* The maximum number of physical devices that are checked; hosts have 8 or 16
 * GPUs, and software devices. */
#define MAX_DEVICES 64

/* How late the driver's threads may wake from a sleep with a time limit, in
 * nanoseconds. For each logical device, NVIDIA's driver (580) has three threads
 * that wake 130 times a second in total, although nothing is ever submitted to
 * the device. With this value, they wake 10 to 15 times a second. An event that
 * wakes a thread before its time limit is not delayed. */
#define TIMER_SLACK 200000000UL

/* NULL until the loader is loaded. No lock guards this variable and the next
 * one, because a single thread calls all functions of this file that use them.
 */
static PFN_vkGetInstanceProcAddr get_instance_proc;

/* Process-wide and never destroyed. When the last instance is destroyed, the
 * loader unloads the drivers. Drivers do not support this well: NVIDIA's driver
 * (580) cannot be loaded any more after fewer than fifty unloads, and lavapipe
 * leaks memory each time. */
static VkInstance instance;

static const char *
icd_remedy (void)
{
  return access (WSL_DEVICE, F_OK) == 0 ? WSL_REMEDY : ICD_REMEDY;
}

/* The loader is loaded once and never unloaded, because drivers do not support
 * that well. */
static bool
load (void)
{
  const char *path;
  const char *why;
  void *handle;

  if (get_instance_proc)
    return true;
  path = secure_getenv ("VKGDR_VULKAN_LIBRARY");
  if (!path || !*path)
    path = LOADER;
  handle = dlopen (path, RTLD_NOW | RTLD_LOCAL);
  if (!handle) {
    why = dlerror ();
    vkgdr_error_set_remedy (LOADER_REMEDY,
        "no Vulkan loader: %s cannot be loaded (%s)", path,
        why ? why : "no reason given");
    return false;
  }
  get_instance_proc =
      (PFN_vkGetInstanceProcAddr) dlsym (handle, "vkGetInstanceProcAddr");
  if (!get_instance_proc) {
    vkgdr_error_set_remedy (LOADER_REMEDY,
        "%s has no vkGetInstanceProcAddr and is not a Vulkan loader", path);
    dlclose (handle);
    return false;
  }
  return true;
}

/* Loaders of Vulkan 1.0 have no vkEnumerateInstanceVersion. */
static bool
check_loader_version (void)
{
  PFN_vkEnumerateInstanceVersion enumerate;
  uint32_t version = VK_API_VERSION_1_0;

  enumerate = (PFN_vkEnumerateInstanceVersion) get_instance_proc (
      NULL, "vkEnumerateInstanceVersion");
  if (enumerate)
    enumerate (&version);
  if (version >= VK_API_VERSION_1_1)
    return true;
  vkgdr_error_set_remedy (NEW_LOADER_REMEDY,
      "the Vulkan loader is of version %u.%u, and 1.1 is needed",
      VK_API_VERSION_MAJOR (version), VK_API_VERSION_MINOR (version));
  return false;
}

static bool
load_instance_functions (vkgdr_vk *vk)
{
#define LOAD(name) \
  vk->name = (PFN_vk##name) get_instance_proc (vk->instance, "vk" #name); \
  if (!vk->name) { \
    vkgdr_error_set_remedy ( \
        NEW_LOADER_REMEDY, "the Vulkan loader has no vk%s", #name); \
    return false; \
  }
  VKGDR_VK_INSTANCE_FUNCTIONS (LOAD)
#undef LOAD
  return true;
}

static bool
create_instance (void)
{
  const VkApplicationInfo application = {
    .sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
    .pApplicationName = "vkgdr",
    .pEngineName = "vkgdr",
    .apiVersion = VK_API_VERSION_1_1,
  };
  const VkInstanceCreateInfo info = {
    .sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
    .pApplicationInfo = &application,
  };
  PFN_vkCreateInstance create;
  VkResult result;

  create = (PFN_vkCreateInstance) get_instance_proc (NULL, "vkCreateInstance");
  if (!create) {
    vkgdr_error_set_remedy (
        NEW_LOADER_REMEDY, "the Vulkan loader has no vkCreateInstance");
    return false;
  }
  result = create (&info, NULL, &instance);
  if (result == VK_SUCCESS)
    return true;
  instance = VK_NULL_HANDLE;
  vkgdr_error_set_remedy (icd_remedy (),
      "Vulkan found no driver (vkCreateInstance: %s)",
      vkgdr_vk_result_name (result));
  return false;
}

vkgdr_obstacle
vkgdr_vk_init (vkgdr_vk *vk, const vkgdr_debug *debug)
{
  memset (vk, 0, sizeof (*vk));
  if (debug->no_vulkan) {
    vkgdr_error_set_remedy (
        "unset VKGDR_DEBUG", "VKGDR_DEBUG=no-vulkan hides the Vulkan loader");
    return VKGDR_OBSTACLE_VULKAN_LOADER;
  }
  if (!instance && (!load () || !check_loader_version ()))
    return VKGDR_OBSTACLE_VULKAN_LOADER;
  if (!instance && !create_instance ())
    return VKGDR_OBSTACLE_VULKAN_DRIVER;
  vk->instance = instance;
  return load_instance_functions (vk) ? VKGDR_OBSTACLE_NONE
                                      : VKGDR_OBSTACLE_VULKAN_DRIVER;
}

bool
vkgdr_vk_has_extension (
    const vkgdr_vk *vk, VkPhysicalDevice device, const char *name)
{
  VkExtensionProperties *extensions;
  uint32_t n = 0;
  bool found = false;
  uint32_t i;

  if (vk->EnumerateDeviceExtensionProperties (device, NULL, &n, NULL)
          != VK_SUCCESS
      || n == 0)
    return false;
  extensions = calloc (n, sizeof (*extensions));
  if (!extensions)
    return false;
  /* With VK_INCOMPLETE, the first n entries are valid. */
  if (vk->EnumerateDeviceExtensionProperties (device, NULL, &n, extensions)
      >= 0) {
    for (i = 0; i < n && !found; i++)
      found = strcmp (extensions[i].extensionName, name) == 0;
  }
  free (extensions);
  return found;
}

/* Properties that a device of Vulkan 1.0 does not know stay zero. */
static void
get_properties (const vkgdr_vk *vk, VkPhysicalDevice device,
    vkgdr_vk_properties *properties)
{
  memset (properties, 0, sizeof (*properties));
  properties->base.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2;
  properties->id.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ID_PROPERTIES;
  properties->driver.sType =
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES;

  vk->GetPhysicalDeviceProperties (device, &properties->base.properties);
  if (properties->base.properties.apiVersion < VK_API_VERSION_1_1)
    return;
  properties->base.pNext = &properties->id;
  if (vkgdr_vk_has_extension (
          vk, device, VK_KHR_DRIVER_PROPERTIES_EXTENSION_NAME))
    properties->id.pNext = &properties->driver;
  vk->GetPhysicalDeviceProperties2 (device, &properties->base);
}

/* Returns the number of devices, 0 on failure. */
static uint32_t
enumerate (vkgdr_vk *vk, VkPhysicalDevice devices[MAX_DEVICES])
{
  uint32_t n = MAX_DEVICES;

  if (vk->EnumeratePhysicalDevices (vk->instance, &n, devices) < 0)
    return 0;
  return n;
}

void
vkgdr_vk_format_uuid (const uint8_t *uuid, char *text)
{
  uint32_t i;

  for (i = 0; i < VK_UUID_SIZE; i++)
    snprintf (text + 2 * i, 3, "%02x", uuid[i]);
}

/* Sets the error for a UUID that was not found, with a list of all devices. */
static void
report_no_device (vkgdr_vk *vk, const VkPhysicalDevice *devices, uint32_t n,
    const uint8_t *uuid)
{
  vkgdr_vk_properties properties;
  char list[1024] = "none at all";
  char wanted[VKGDR_VK_UUID_TEXT];
  char other[VKGDR_VK_UUID_TEXT];
  size_t used = 0;
  uint32_t i;

  for (i = 0; i < n && used < sizeof (list); i++) {
    get_properties (vk, devices[i], &properties);
    vkgdr_vk_format_uuid (properties.id.deviceUUID, other);
    used += snprintf (list + used, sizeof (list) - used, "%s%s (%s)",
        i ? ", " : "", properties.base.properties.deviceName, other);
  }
  vkgdr_vk_format_uuid (uuid, wanted);
  vkgdr_error_set_remedy (icd_remedy (),
      "no Vulkan device has the CUDA device's UUID %s; Vulkan has %s", wanted,
      list);
}

bool
vkgdr_vk_choose_uuid (vkgdr_vk *vk, const uint8_t *uuid)
{
  VkPhysicalDevice devices[MAX_DEVICES];
  uint32_t n = enumerate (vk, devices);
  uint32_t i;

  for (i = 0; i < n; i++) {
    get_properties (vk, devices[i], &vk->properties);
    if (vk->properties.base.properties.apiVersion < VK_API_VERSION_1_1)
      continue;
    if (memcmp (vk->properties.id.deviceUUID, uuid, VK_UUID_SIZE) != 0)
      continue;
    vk->physical = devices[i];
    return true;
  }
  report_no_device (vk, devices, n, uuid);
  return false;
}

/* Returns the family of a queue that can do as little as possible. A device
 * must have a queue, but this one is not used, so it needs no graphics
 * context. */
static uint32_t
choose_queue_family (vkgdr_vk *vk)
{
  const VkQueueFlags avoided[] = { VK_QUEUE_GRAPHICS_BIT,
    VK_QUEUE_GRAPHICS_BIT | VK_QUEUE_COMPUTE_BIT };
  VkQueueFamilyProperties families[32];
  uint32_t n = 32, best = 0, i, k;

  vk->GetPhysicalDeviceQueueFamilyProperties (vk->physical, &n, families);
  for (k = 0; k < sizeof (avoided) / sizeof (avoided[0]); k++)
    for (i = 0; i < n; i++)
      if ((families[i].queueFlags
              & (VK_QUEUE_COMPUTE_BIT | VK_QUEUE_TRANSFER_BIT))
          && !(families[i].queueFlags & avoided[k])) {
        best = i;
        break;
      }
  return best;
}

/* A driver may have the extension but not support the export of memory, or
 * support it only for memory of a single buffer. */
static bool
check_export (vkgdr_vk *vk)
{
  const VkPhysicalDeviceExternalBufferInfo info = {
    .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_BUFFER_INFO,
    .usage =
        VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT,
    .handleType = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT,
  };
  VkExternalBufferProperties properties = {
    .sType = VK_STRUCTURE_TYPE_EXTERNAL_BUFFER_PROPERTIES,
  };
  VkExternalMemoryFeatureFlags features;

  if (!vkgdr_vk_has_extension (
          vk, vk->physical, VK_KHR_EXTERNAL_MEMORY_FD_EXTENSION_NAME)) {
    vkgdr_error_set_remedy (DRIVER_REMEDY,
        "the Vulkan device has no " VK_KHR_EXTERNAL_MEMORY_FD_EXTENSION_NAME
        ", without which CUDA cannot import its memory");
    return false;
  }
  vk->GetPhysicalDeviceExternalBufferProperties (
      vk->physical, &info, &properties);
  features = properties.externalMemoryProperties.externalMemoryFeatures;
  if (!(features & VK_EXTERNAL_MEMORY_FEATURE_EXPORTABLE_BIT)
      || (features & VK_EXTERNAL_MEMORY_FEATURE_DEDICATED_ONLY_BIT)) {
    vkgdr_error_set_remedy (DRIVER_REMEDY,
        "the Vulkan driver does not export plain memory as a file descriptor "
        "(features %#x), so CUDA cannot import it",
        features);
    return false;
  }
  return true;
}

static bool
load_device_functions (vkgdr_vk *vk)
{
#define LOAD(name) \
  vk->name = (PFN_vk##name) vk->GetDeviceProcAddr (vk->device, "vk" #name); \
  if (!vk->name) { \
    vkgdr_error_set_remedy ( \
        DRIVER_REMEDY, "the Vulkan driver has no vk%s", #name); \
    return false; \
  }
  VKGDR_VK_DEVICE_FUNCTIONS (LOAD)
#undef LOAD
  return true;
}

/* Threads inherit the timer slack of the thread that creates them. */
static VkResult
create_device (vkgdr_vk *vk, const VkDeviceCreateInfo *info)
{
  int slack = prctl (PR_GET_TIMERSLACK);
  VkResult result;

  if (slack > 0)
    prctl (PR_SET_TIMERSLACK, TIMER_SLACK);
  result = vk->CreateDevice (vk->physical, info, NULL, &vk->device);
  if (slack > 0)
    prctl (PR_SET_TIMERSLACK, (unsigned long) slack);
  return result;
}

bool
vkgdr_vk_create_device (vkgdr_vk *vk)
{
  const char *const extensions[] = { VK_KHR_EXTERNAL_MEMORY_FD_EXTENSION_NAME };
  const float priority = 1.0f;
  VkDeviceQueueCreateInfo queue = {
    .sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
    .queueCount = 1,
    .pQueuePriorities = &priority,
  };
  const VkDeviceCreateInfo info = {
    .sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
    .queueCreateInfoCount = 1,
    .pQueueCreateInfos = &queue,
    .enabledExtensionCount = 1,
    .ppEnabledExtensionNames = extensions,
  };
  VkResult result;

  if (!check_export (vk))
    return false;
  queue.queueFamilyIndex = choose_queue_family (vk);
  result = create_device (vk, &info);
  if (result != VK_SUCCESS) {
    vk->device = VK_NULL_HANDLE;
    vkgdr_error_set_remedy (
        "see whether the GPU is busy or lost (nvidia-smi, dmesg)",
        "vkCreateDevice failed (%s)", vkgdr_vk_result_name (result));
    return false;
  }
  return load_device_functions (vk);
}

void
vkgdr_vk_clear (vkgdr_vk *vk)
{
  if (vk->device && vk->DestroyDevice)
    vk->DestroyDevice (vk->device, NULL);
  memset (vk, 0, sizeof (*vk));
}
