/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * device.c: the only device
 *
 * The attributes of the device. Knows nothing of contexts.
 */

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "private.h"

/* CUDA 13.0: the newest version whose entry points exist here. */
#define DRIVER_VERSION 13000

#define PCI_ADDRESS "0000:00:00.0"

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
  sc_device_uuid (uuid);
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

/* The attributes of the driver API 13.0, by their numbers in its documentation.
 * Those that are not listed are 0: features that the device does not have. */
#define N_ATTRIBUTES 140

static const int attributes[N_ATTRIBUTES] = {
  [CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK] = 1024,
  [CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X] = 1024,
  [3] = 1024,       /* the block's second dimension */
  [4] = 64,         /* and its third */
  [5] = 2147483647, /* the grid's dimensions */
  [6] = 65535,
  [7] = 65535,
  [CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK] = 49152,
  [9] = 65536, /* bytes of constant memory */
  [CU_DEVICE_ATTRIBUTE_WARP_SIZE] = 32,
  [11] = 2147483647, /* the pitch of copies */
  /* The value of a GPU: registers do not exist here. */
  [CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK] = 65536,
  [13] = 1000000, /* kHz of the clock that kernels read */
  [CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT] = 512,
  [15] = 1, /* copies while a kernel runs */
  [CU_DEVICE_ATTRIBUTE_INTEGRATED] = 1,
  [CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY] = 1,
  [30] = 512,     /* the alignment of surfaces */
  [31] = 1,       /* concurrent kernels */
  [36] = 1000000, /* kHz of the memory */
  [37] = 64,      /* bits of its bus */
  [38] = 1048576, /* bytes of the L2 cache */
  [CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR] = 1024,
  [CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT] = 1,
  [CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING] = 1,
  [CU_DEVICE_ATTRIBUTE_TEXTURE_PITCH_ALIGNMENT] = 32,
  [69] = 134217728, /* texels of a linear texture */
  [70] = 65536,     /* width, height and pitch of a pitched texture */
  [71] = 65536,
  [72] = 1048544,
  [CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR] = 9,
  [81] = 49152, /* bytes of shared memory of a multiprocessor */
  [82] = 65536, /* its registers */
  [83] = 1,     /* managed memory */
  [87] = 1,     /* single to double precision */
  [91] = 1,     /* the pointer of registered memory is valid on the device */
  [97] = 49152, /* bytes of shared memory that a block can ask for */
  [99] = 1,     /* memory of the host can be registered */
  [102] = 1,    /* virtual memory management */
  [103] = 1,    /* file descriptors of its memory */
  [CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR] = 1,
  [131] = -1, /* no NUMA node of its own */
  [134] = -1,
};

static CUresult
get_attribute (CUdevice_attribute attribute, int *value)
{
  if (attribute < 1 || attribute >= N_ATTRIBUTES)
    return CUDA_ERROR_INVALID_VALUE;
  *value = attribute == CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT
               ? (int) sysconf (_SC_NPROCESSORS_ONLN)
               : attributes[attribute];
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
