/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * uuid.c: the UUID of the device, which is that of Vulkan's software device
 *
 * Programs that use CUDA and Vulkan find the Vulkan device of a CUDA device by
 * its UUID. Vulkan's headers are not needed: the few types are declared here.
 */

#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "private.h"

#define VK_SUCCESS 0
#define VK_API_VERSION_1_1 (1u << 22 | 1u << 12)
#define VK_PHYSICAL_DEVICE_TYPE_CPU 4

/* Values of VkStructureType. */
#define TYPE_APPLICATION_INFO 0
#define TYPE_INSTANCE_CREATE_INFO 1
#define TYPE_PROPERTIES_2 1000059001
#define TYPE_ID_PROPERTIES 1000071004

/* Hosts have 8 or 16 GPUs, and software devices. */
#define MAX_DEVICES 64

typedef struct {
  int type;
  const void *next;
  const char *application;
  uint32_t application_version;
  const char *engine;
  uint32_t engine_version;
  uint32_t api_version;
} application_info;

typedef struct {
  int type;
  const void *next;
  uint32_t flags;
  const application_info *application;
  uint32_t n_layers;
  const char *const *layers;
  uint32_t n_extensions;
  const char *const *extensions;
} instance_info;

/* The start of VkPhysicalDeviceProperties, and room for the rest. */
typedef struct {
  uint32_t api_version, driver_version, vendor, device;
  uint32_t device_type;
  char name[256];
  uint64_t others[256];
} properties;

typedef struct {
  int type;
  void *next;
  properties base;
} properties_2;

typedef struct {
  int type;
  void *next;
  uint8_t device_uuid[16], driver_uuid[16];
  uint64_t others[8];
} id_properties;

typedef void (*function) (void);
typedef function (*get_function) (void *instance, const char *name);
typedef int (*create_function) (
    const instance_info *info, const void *allocator, void **instance);
typedef int (*enumerate_function) (
    void *instance, uint32_t *count, void **devices);
typedef void (*properties_function) (void *device, properties *values);
typedef void (*properties_2_function) (void *device, properties_2 *values);

static enumerate_function enumerate_devices;
static properties_function get_properties;
static properties_2_function get_properties_2;

/* Creates an instance, which stays until the process ends, because drivers do
 * not support being unloaded well. Returns NULL if there is no Vulkan. */
static void *
open_vulkan (void)
{
  const application_info application = { .type = TYPE_APPLICATION_INFO,
    .application = "softcuda",
    .api_version = VK_API_VERSION_1_1 };
  const instance_info info = { .type = TYPE_INSTANCE_CREATE_INFO,
    .application = &application };
  void *library = dlopen ("libvulkan.so.1", RTLD_NOW | RTLD_LOCAL);
  void *instance = NULL;
  create_function create;
  get_function get;

  if (!library)
    return NULL;
  *(void **) &get = dlsym (library, "vkGetInstanceProcAddr");
  if (!get)
    return NULL;
  create = (create_function) get (NULL, "vkCreateInstance");
  if (!create || create (&info, NULL, &instance) != VK_SUCCESS)
    return NULL;
  enumerate_devices =
      (enumerate_function) get (instance, "vkEnumeratePhysicalDevices");
  get_properties =
      (properties_function) get (instance, "vkGetPhysicalDeviceProperties");
  get_properties_2 =
      (properties_2_function) get (instance, "vkGetPhysicalDeviceProperties2");
  return enumerate_devices && get_properties && get_properties_2 ? instance
                                                                 : NULL;
}

static bool
read_uuid (void *device, properties *values, CUuuid *uuid)
{
  id_properties id = { .type = TYPE_ID_PROPERTIES };
  properties_2 all = { .type = TYPE_PROPERTIES_2, .next = &id };

  memset (values, 0, sizeof (*values));
  get_properties (device, values);
  if (values->device_type != VK_PHYSICAL_DEVICE_TYPE_CPU
      || values->api_version < VK_API_VERSION_1_1)
    return false;
  get_properties_2 (device, &all);
  memcpy (uuid->bytes, id.device_uuid, sizeof (id.device_uuid));
  return true;
}

/* Looks for a software device, preferably Mesa's. */
static bool
find_uuid (CUuuid *uuid)
{
  static void *instance;
  void *devices[MAX_DEVICES];
  uint32_t i, n = MAX_DEVICES;
  properties values;
  CUuuid one;
  bool found = false;

  if (!instance)
    instance = open_vulkan ();
  if (!instance || enumerate_devices (instance, &n, devices) < VK_SUCCESS)
    return false;
  for (i = 0; i < n; i++) {
    bool is_mesa;

    if (!read_uuid (devices[i], &values, &one))
      continue;
    is_mesa = strncmp (values.name, "llvmpipe", 8) == 0;
    if (!found || is_mesa)
      *uuid = one;
    found = true;
    if (is_mesa)
      break;
  }
  return found;
}

void
sc_device_uuid (CUuuid *uuid)
{
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  static CUuuid device_uuid = { "softcuda-device" };
  static bool found;

  pthread_mutex_lock (&lock);
  if (!found)
    found = find_uuid (&device_uuid);
  *uuid = device_uuid;
  pthread_mutex_unlock (&lock);
}
