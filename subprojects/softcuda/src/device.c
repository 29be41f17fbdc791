/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * device.c: cuInit() and the only device
 *
 * The attributes of the device. Knows nothing of contexts.
 */

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "private.h"

/* CUDA 13.0: the newest version whose entry points exist here. */
#define DRIVER_VERSION 13000

#define PCI_ADDRESS "0000:00:00.0"

static atomic_bool initialized;
static pthread_mutex_t uuid_lock = PTHREAD_MUTEX_INITIALIZER;
static CUuuid device_uuid = { "softcuda-device" };

bool
sc_is_initialized (void)
{
  return atomic_load (&initialized);
}

CUresult
softcudaSetUuid (const CUuuid *uuid)
{
  if (uuid == NULL)
    return CUDA_ERROR_INVALID_VALUE;
  pthread_mutex_lock (&uuid_lock);
  device_uuid = *uuid;
  pthread_mutex_unlock (&uuid_lock);
  return CUDA_SUCCESS;
}

CUresult
cuInit (unsigned int flags)
{
  CUresult result = sc_fail_read_environment ();

  if (result == CUDA_SUCCESS)
    result = sc_fail_check (SC_CALL_cuInit);
  if (result != CUDA_SUCCESS)
    return result;
  if (flags != 0)
    return CUDA_ERROR_INVALID_VALUE;
  atomic_store (&initialized, true);
  return CUDA_SUCCESS;
}

CUresult
cuDriverGetVersion (int *version)
{
  CUresult result = sc_fail_check (SC_CALL_cuDriverGetVersion);

  if (result != CUDA_SUCCESS)
    return result;
  if (version == NULL)
    return CUDA_ERROR_INVALID_VALUE;
  *version = DRIVER_VERSION;
  return CUDA_SUCCESS;
}

CUresult
cuDeviceGetCount (int *count)
{
  SC_ENTER (cuDeviceGetCount);
  if (count == NULL)
    return CUDA_ERROR_INVALID_VALUE;
  *count = 1;
  return CUDA_SUCCESS;
}

CUresult
cuDeviceGet (CUdevice *device, int ordinal)
{
  SC_ENTER (cuDeviceGet);
  if (device == NULL)
    return CUDA_ERROR_INVALID_VALUE;
  if (ordinal != 0)
    return CUDA_ERROR_INVALID_DEVICE;
  *device = 0;
  return CUDA_SUCCESS;
}

CUresult
cuDeviceGetName (char *name, int len, CUdevice device)
{
  long n = sysconf (_SC_NPROCESSORS_ONLN);

  SC_ENTER (cuDeviceGetName);
  if (name == NULL || len < 1)
    return CUDA_ERROR_INVALID_VALUE;
  if (device != 0)
    return CUDA_ERROR_INVALID_DEVICE;
  snprintf (name, len, "softcuda (%ld thread%s)", n, n == 1 ? "" : "s");
  return CUDA_SUCCESS;
}

static CUresult
get_uuid (CUuuid *uuid, CUdevice device)
{
  if (uuid == NULL)
    return CUDA_ERROR_INVALID_VALUE;
  if (device != 0)
    return CUDA_ERROR_INVALID_DEVICE;
  pthread_mutex_lock (&uuid_lock);
  *uuid = device_uuid;
  pthread_mutex_unlock (&uuid_lock);
  return CUDA_SUCCESS;
}

CUresult
cuDeviceGetUuid (CUuuid *uuid, CUdevice device)
{
  SC_ENTER (cuDeviceGetUuid);
  return get_uuid (uuid, device);
}

CUresult
cuDeviceGetUuid_v2 (CUuuid *uuid, CUdevice device)
{
  SC_ENTER (cuDeviceGetUuid_v2);
  return get_uuid (uuid, device);
}

CUresult
cuDeviceTotalMem_v2 (size_t *bytes, CUdevice device)
{
  SC_ENTER (cuDeviceTotalMem);
  if (bytes == NULL)
    return CUDA_ERROR_INVALID_VALUE;
  if (device != 0)
    return CUDA_ERROR_INVALID_DEVICE;
  *bytes = sc_memory_limit ();
  return CUDA_SUCCESS;
}

CUresult
cuDeviceGetPCIBusId (char *address, int len, CUdevice device)
{
  SC_ENTER (cuDeviceGetPCIBusId);
  if (address == NULL || len < (int) sizeof PCI_ADDRESS)
    return CUDA_ERROR_INVALID_VALUE;
  if (device != 0)
    return CUDA_ERROR_INVALID_DEVICE;
  strcpy (address, PCI_ADDRESS);
  return CUDA_SUCCESS;
}

static CUresult
get_attribute (CUdevice_attribute attribute, int *value)
{
  switch (attribute) {
  case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
  case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X:
  case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR:
    *value = 1024;
    break;
  case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK:
    *value = 49152;
    break;
  case CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK:
    *value = 65536; /* the value of a GPU; registers do not exist here */
    break;
  case CU_DEVICE_ATTRIBUTE_WARP_SIZE:
  case CU_DEVICE_ATTRIBUTE_TEXTURE_PITCH_ALIGNMENT:
    *value = 32;
    break;
  case CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT:
    *value = 512;
    break;
  case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
    *value = (int) sysconf (_SC_NPROCESSORS_ONLN);
    break;
  case CU_DEVICE_ATTRIBUTE_INTEGRATED:
  case CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY:
  case CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING:
  case CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT:
  case CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR:
    *value = 1;
    break;
  case CU_DEVICE_ATTRIBUTE_COMPUTE_MODE:
  case CU_DEVICE_ATTRIBUTE_PCI_BUS_ID:
  case CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID:
  case CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID:
  case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
    *value = 0;
    break;
  case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
    *value = 9;
    break;
  default:
    return CUDA_ERROR_INVALID_VALUE;
  }
  return CUDA_SUCCESS;
}

CUresult
cuDeviceGetAttribute (int *value, CUdevice_attribute attribute, CUdevice device)
{
  SC_ENTER (cuDeviceGetAttribute);
  if (value == NULL)
    return CUDA_ERROR_INVALID_VALUE;
  if (device != 0)
    return CUDA_ERROR_INVALID_DEVICE;
  return get_attribute (attribute, value);
}

CUresult
cuDeviceComputeCapability (int *major, int *minor, CUdevice device)
{
  SC_ENTER (cuDeviceComputeCapability);
  if (major == NULL || minor == NULL)
    return CUDA_ERROR_INVALID_VALUE;
  if (device != 0)
    return CUDA_ERROR_INVALID_DEVICE;
  get_attribute (CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, major);
  return get_attribute (CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, minor);
}

CUresult
cuDeviceGetByPCIBusId (CUdevice *device, const char *address)
{
  SC_ENTER (cuDeviceGetByPCIBusId);
  if (device == NULL || address == NULL)
    return CUDA_ERROR_INVALID_VALUE;
  if (strcmp (address, PCI_ADDRESS) != 0)
    return CUDA_ERROR_INVALID_DEVICE;
  *device = 0;
  return CUDA_SUCCESS;
}
