/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * device.c: opens, describes and closes a device
 *
 * Finds the Vulkan device of a CUDA device, and chooses the memory type of the
 * window. Must not know how memory is allocated from it.
 */

#include "device.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver.h"
#include "error.h"

#define OPEN_FLAGS \
  (VKGDR_OPEN_CURRENT_CONTEXT_BIT | VKGDR_OPEN_FORCE_NON_COHERENT_BIT \
      | VKGDR_OPEN_REQUIRE_COHERENT_BIT | VKGDR_OPEN_WINDOW_OPTIONAL_BIT)

#define WINDOW_FLAGS \
  (VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT | VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT)

/* Types with other bits (protected, lazily allocated, AMD's uncached) need
 * features that are not enabled, or cannot be mapped. */
#define USABLE_FLAGS \
  (WINDOW_FLAGS | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT \
      | VK_MEMORY_PROPERTY_HOST_CACHED_BIT)

#define FIRMWARE_REMEDY \
  "enable Resizable BAR and Above 4G decoding in the firmware"

/* A PCI device has six base address registers. The kernel's file `resource` has
 * further lines after them. */
#define N_BARS 6

static bool
find_current_device (vkgdr_t g)
{
  CUcontext context = NULL;
  CUresult result;

  result = g->cu->cuCtxGetCurrent (&context);
  if (result == CUDA_SUCCESS && context)
    result = g->cu->cuCtxGetDevice (&g->cu_device);
  else if (result == CUDA_SUCCESS)
    result = CUDA_ERROR_INVALID_CONTEXT;
  if (result == CUDA_SUCCESS)
    return true;
  vkgdr_error_set ("VKGDR_OPEN_CURRENT_CONTEXT_BIT was passed, but no CUDA "
                   "context is current in this thread (%s): make a context "
                   "current (cuCtxPushCurrent), or pass a device number",
      vkgdr_cuda_result_name (result));
  return false;
}

static bool
find_cuda_device (vkgdr_t g, CUdevice device)
{
  int version = 0;

  if (g->cu->cuDriverGetVersion (&version) == CUDA_SUCCESS)
    g->info.cuda_driver_version = version;
  if (g->flags & VKGDR_OPEN_CURRENT_CONTEXT_BIT)
    return find_current_device (g);
  g->cu_device = device;
  return true;
}

/* For a MIG instance, the first version of cuDeviceGetUuid() returns the UUID
 * of the whole GPU. */
CUresult
vkgdr_device_get_cuda_uuid (const vkgdr_cuda *cu, CUdevice device, CUuuid *uuid)
{
  return cu->cuDeviceGetUuid_v2 ? cu->cuDeviceGetUuid_v2 (uuid, device)
                                : cu->cuDeviceGetUuid (uuid, device);
}

static bool
get_cuda_uuid (vkgdr_t g)
{
  CUuuid cuda_uuid;
  CUresult result =
      vkgdr_device_get_cuda_uuid (g->cu, g->cu_device, &cuda_uuid);
  int n = 0;

  if (result != CUDA_SUCCESS) {
    g->cu->cuDeviceGetCount (&n);
    if (g->cu_device >= 0 && g->cu_device < n)
      vkgdr_error_set ("the CUDA driver does not report the UUID of device %d: "
                       "cuDeviceGetUuid failed with %s",
          g->cu_device, vkgdr_cuda_result_name (result));
    else
      vkgdr_error_set (
          "there is no CUDA device %d (%s): the driver has %d in all, numbered "
          "from 0; pass a device that cuDeviceGet() returns",
          g->cu_device, vkgdr_cuda_result_name (result), n);
    return false;
  }
  memcpy (g->info.uuid, cuda_uuid.bytes, sizeof (g->info.uuid));
  return true;
}

/* The memory of CUDA's device. Mesa's lavapipe reports that of the machine, of
 * which softcuda uses a part. */
static uint64_t
get_largest_heap (vkgdr_t g)
{
  size_t size = 0;

  if (!g->info.software
      || g->cu->cuDeviceTotalMem (&size, g->cu_device) != CUDA_SUCCESS)
    return UINT64_MAX;
  return size;
}

static void
list_memory_types (vkgdr_t g)
{
  uint64_t largest = get_largest_heap (g);
  VkPhysicalDeviceMemoryProperties memory;
  vkgdr_memory_type *type;
  uint32_t i;

  g->vk.GetPhysicalDeviceMemoryProperties (g->vk.physical, &memory);
  g->info.n_memory_types = memory.memoryTypeCount;
  for (i = 0; i < memory.memoryTypeCount; i++) {
    type = &g->info.memory_types[i];
    type->flags = memory.memoryTypes[i].propertyFlags;
    type->heap = memory.memoryTypes[i].heapIndex;
    type->heap_size = memory.memoryHeaps[type->heap].size;
    if (type->heap_size > largest)
      type->heap_size = largest;
    if (g->debug.no_window && (type->flags & WINDOW_FLAGS) == WINDOW_FLAGS)
      type->flags &= ~VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT;
  }
}

/* Returns the first type that has all of @wanted, or -1. */
static int
find_memory_type (vkgdr_t g, uint32_t wanted)
{
  uint32_t flags;
  uint32_t i;

  for (i = 0; i < g->info.n_memory_types; i++) {
    flags = g->info.memory_types[i].flags;
    if ((flags & wanted) == wanted && !(flags & ~USABLE_FLAGS))
      return i;
  }
  return -1;
}

/* Returns the memory type of the window, or -1. */
static int
choose_memory_type (vkgdr_t g)
{
  bool needs_coherent = g->flags & VKGDR_OPEN_REQUIRE_COHERENT_BIT;
  int index;

  list_memory_types (g);
  index =
      find_memory_type (g, WINDOW_FLAGS | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT);
  if (index < 0 && !needs_coherent)
    index = find_memory_type (g, WINDOW_FLAGS);
  if (index < 0)
    vkgdr_error_set_remedy (
        needs_coherent ? FIRMWARE_REMEDY
            ", or open it without VKGDR_OPEN_REQUIRE_COHERENT_BIT"
                       : FIRMWARE_REMEDY,
        "%s has no memory that is device-local and host-visible%s (%u types "
        "were looked at)",
        g->info.name, needs_coherent ? " and host-coherent" : "",
        g->info.n_memory_types);
  return index;
}

static void
describe_window (vkgdr_t g, int index)
{
  const vkgdr_memory_type *type = &g->info.memory_types[index];

  g->heap = type->heap;
  g->info.memory_type = index;
  g->info.window_size = type->heap_size;
  if (g->debug.window && g->debug.window < g->info.window_size)
    g->info.window_size = g->debug.window;
  g->info.coherent = (type->flags & VK_MEMORY_PROPERTY_HOST_COHERENT_BIT)
                     && !(g->flags & VKGDR_OPEN_FORCE_NON_COHERENT_BIT)
                     && !g->debug.non_coherent;
  g->info.host_cached =
      (type->flags & VK_MEMORY_PROPERTY_HOST_CACHED_BIT) && !g->debug.bar;
  /* Mesa's software device reports the memory that all processes use. */
  g->has_budget = !g->info.software
                  && vkgdr_vk_has_extension (&g->vk, g->vk.physical,
                      VK_EXT_MEMORY_BUDGET_EXTENSION_NAME);
}

/* Reads the size of the device's largest memory BAR; 0 if the kernel does not
 * report it. */
static uint64_t
read_bar_size (const char *pci_address)
{
  const unsigned long long is_memory = 0x200;
  unsigned long long start, end, flags;
  uint64_t largest = 0;
  char path[64];
  FILE *file;
  int i;

  snprintf (
      path, sizeof (path), "/sys/bus/pci/devices/%s/resource", pci_address);
  file = fopen (path, "re");
  if (!file)
    return 0;
  for (i = 0; i < N_BARS; i++) {
    if (fscanf (file, "%llx %llx %llx", &start, &end, &flags) != 3)
      break;
    if ((flags & is_memory) && end > start && end - start + 1 > largest)
      largest = end - start + 1;
  }
  fclose (file);
  return largest;
}

static void
describe_pci (vkgdr_t g)
{
  char *address = g->info.pci_address;
  size_t i;

  if (g->info.software
      || g->cu->cuDeviceGetPCIBusId (
             address, sizeof (g->info.pci_address), g->cu_device)
             != CUDA_SUCCESS) {
    address[0] = '\0';
    return;
  }
  /* The paths in /sys have lower case. */
  for (i = 0; address[i]; i++)
    address[i] = tolower ((unsigned char) address[i]);
  g->info.bar_size = read_bar_size (address);
}

/* Fills in the UUID, the name and the PCI data. Vulkan's device name replaces
 * CUDA's name later. */
static bool
describe_cuda (vkgdr_t g)
{
  if (!get_cuda_uuid (g))
    return false;
  g->cu->cuDeviceGetName (g->info.name, sizeof (g->info.name), g->cu_device);
  describe_pci (g);
  return true;
}

static void
describe_vulkan (vkgdr_t g)
{
  const VkPhysicalDeviceProperties *properties =
      &g->vk.properties.base.properties;
  const VkPhysicalDeviceDriverProperties *driver = &g->vk.properties.driver;

  snprintf (g->info.name, sizeof (g->info.name), "%s", properties->deviceName);
  g->info.vulkan_api_version = properties->apiVersion;
  g->atom_size = properties->limits.nonCoherentAtomSize;
  memcpy (g->driver_uuid, g->vk.properties.id.driverUUID, VK_UUID_SIZE);
  if (driver->driverName[0])
    snprintf (g->info.vulkan_driver, sizeof (g->info.vulkan_driver), "%s %s",
        driver->driverName, driver->driverInfo);
  else
    snprintf (g->info.vulkan_driver, sizeof (g->info.vulkan_driver),
        "version %#x", properties->driverVersion);
}

/* On failure, the handle keeps the information that was found so far. */
static vkgdr_obstacle
find_window (vkgdr_t g)
{
  vkgdr_obstacle obstacle = vkgdr_vk_init (&g->vk, &g->debug);
  int index;

  if (obstacle != VKGDR_OBSTACLE_NONE)
    return obstacle;
  if (!vkgdr_vk_choose_uuid (&g->vk, g->info.uuid))
    return VKGDR_OBSTACLE_VULKAN_DEVICE;
  describe_vulkan (g);
  index = choose_memory_type (g);
  if (index < 0)
    return VKGDR_OBSTACLE_WINDOW;
  if (!vkgdr_vk_create_device (&g->vk))
    return VKGDR_OBSTACLE_EXPORT;
  describe_window (g, index);
  return VKGDR_OBSTACLE_NONE;
}

static void
call_find_window (void *data)
{
  vkgdr_t g = data;

  g->obstacle = find_window (g);
}

static void
call_clear (void *data)
{
  vkgdr_vk_clear (data);
}

static void
close_window (vkgdr_t g)
{
  if (!g->vulkan_thread)
    return;
  vkgdr_vulkan_thread_run (g->vulkan_thread, call_clear, &g->vk);
  vkgdr_vulkan_thread_unref (g->vulkan_thread);
  g->vulkan_thread = NULL;
}

/* On failure, the handle keeps the information that was found so far. If the
 * window is optional and there is none, it also keeps the reason. */
static vkgdr_obstacle
open_device (vkgdr_t g, CUdevice device)
{
  g->cu = vkgdr_driver_load ();
  if (!g->cu)
    return VKGDR_OBSTACLE_CUDA_DRIVER;
  g->info.software = vkgdr_driver_is_software ();
  if (!find_cuda_device (g, device) || !describe_cuda (g))
    return VKGDR_OBSTACLE_CUDA_DEVICE;
  if (!vkgdr_debug_parse (getenv ("VKGDR_DEBUG"), &g->debug))
    return VKGDR_OBSTACLE_SETTINGS;
  g->vulkan_thread = vkgdr_vulkan_thread_ref ();
  if (!g->vulkan_thread)
    return VKGDR_OBSTACLE_HOST_MEMORY;
  vkgdr_vulkan_thread_run (g->vulkan_thread, call_find_window, g);
  if (g->obstacle == VKGDR_OBSTACLE_NONE
      || !(g->flags & VKGDR_OPEN_WINDOW_OPTIONAL_BIT))
    return g->obstacle;
  vkgdr_error_split (g->reason, g->remedy);
  close_window (g);
  return VKGDR_OBSTACLE_NONE;
}

static vkgdr_t
make_handle (uint32_t flags)
{
  vkgdr_t g = calloc (1, sizeof (*g));

  if (!g) {
    vkgdr_error_set ("no memory is left: end other programs");
    return NULL;
  }
  atomic_init (&g->refs, 1);
  g->flags = flags;
  return g;
}

vkgdr_t
vkgdr_open (CUdevice device, uint32_t flags)
{
  vkgdr_t g;

  if (flags & ~OPEN_FLAGS) {
    vkgdr_error_set ("vkgdr_open() does not know the flags %#x: valid flags "
                     "are those of vkgdr_open_flags",
        flags & ~OPEN_FLAGS);
    return NULL;
  }
  g = make_handle (flags);
  if (!g)
    return NULL;
  if (open_device (g, device) != VKGDR_OBSTACLE_NONE) {
    vkgdr_device_unref (g);
    return NULL;
  }
  vkgdr_error_clear ();
  return g;
}

vkgdr_obstacle
vkgdr_probe (CUdevice device, vkgdr_device_info *info)
{
  vkgdr_obstacle obstacle;
  vkgdr_t g;

  memset (info, 0, sizeof (*info));
  g = make_handle (0);
  if (!g)
    return VKGDR_OBSTACLE_HOST_MEMORY;
  obstacle = open_device (g, device);
  vkgdr_get_device_info (g, info);
  if (obstacle == VKGDR_OBSTACLE_NONE)
    vkgdr_error_clear ();
  vkgdr_device_unref (g);
  return obstacle;
}

vkgdr_obstacle
vkgdr_get_window_obstacle (vkgdr_t g, const char **reason, const char **remedy)
{
  if (reason)
    *reason = g->reason;
  if (remedy)
    *remedy = g->remedy;
  return g->obstacle;
}

void
vkgdr_close (vkgdr_t g)
{
  if (g)
    vkgdr_device_unref (g);
}

void
vkgdr_device_ref (vkgdr_t g)
{
  atomic_fetch_add (&g->refs, 1);
}

void
vkgdr_device_unref (vkgdr_t g)
{
  if (atomic_fetch_sub (&g->refs, 1) != 1)
    return;
  /* At the end of the process, the drivers may already have ended. Then they
   * must not be called, as closing the window and ending its thread would
   * do. */
  if (!vkgdr_driver_has_ended (g->cu)) {
    close_window (g);
    if (g->primary)
      g->cu->cuDevicePrimaryCtxRelease (g->cu_device);
  }
  free (g);
}

vkgdr_t
vkgdr_device_open_primary (CUdevice device)
{
  vkgdr_t g = vkgdr_open (device, VKGDR_OPEN_WINDOW_OPTIONAL_BIT);
  CUresult result;

  if (!g)
    return NULL;
  result = g->cu->cuDevicePrimaryCtxRetain (&g->primary, device);
  if (result == CUDA_SUCCESS)
    return g;
  g->primary = NULL;
  vkgdr_device_unref (g);
  vkgdr_error_set_cuda ("cuDevicePrimaryCtxRetain", result,
      "see whether other programs use the device exclusively (nvidia-smi)");
  return NULL;
}

bool
vkgdr_device_enter (vkgdr_t g)
{
  CUresult result = g->cu->cuCtxPushCurrent (g->primary);

  if (result == CUDA_SUCCESS)
    return true;
  vkgdr_error_set_cuda ("cuCtxPushCurrent", result,
      "see whether an earlier kernel failed, or the device was reset");
  return false;
}

void
vkgdr_device_leave (vkgdr_t g)
{
  CUcontext context;

  g->cu->cuCtxPopCurrent (&context);
}

typedef struct {
  vkgdr_t g;
  vkgdr_device_info *info;
} budget_call;

/* Reads the driver's present values for the window's heap. */
static void
call_read_budget (void *data)
{
  const budget_call *call = data;
  vkgdr_t g = call->g;
  VkPhysicalDeviceMemoryBudgetPropertiesEXT extension = {
    .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_BUDGET_PROPERTIES_EXT,
  };
  VkPhysicalDeviceMemoryProperties2 memory = {
    .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_PROPERTIES_2,
    .pNext = &extension,
  };

  g->vk.GetPhysicalDeviceMemoryProperties2 (g->vk.physical, &memory);
  call->info->window_budget = extension.heapBudget[g->heap];
  call->info->window_usage = extension.heapUsage[g->heap];
}

void
vkgdr_get_device_info (vkgdr_t g, vkgdr_device_info *info)
{
  budget_call call = { g, info };

  *info = g->info;
  info->allocated = atomic_load (&g->allocated);
  info->n_allocations = atomic_load (&g->n_allocations);
  info->window_budget = info->window_size;
  info->window_usage = info->allocated;
  if (g->debug.window)
    info->window_usage = vkgdr_debug_window_used ();
  else if (g->has_budget)
    vkgdr_vulkan_thread_run (g->vulkan_thread, call_read_budget, &call);
  if (info->window_budget > info->window_size)
    info->window_budget = info->window_size;
}
