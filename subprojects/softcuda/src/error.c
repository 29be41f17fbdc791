/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * error.c: names and descriptions of the driver's errors
 *
 * Knows the values of CUresult and nothing of what causes them.
 */

#include <errno.h>
#include <string.h>

#include "private.h"

typedef struct {
  CUresult error;
  const char *name;
  const char *text;
} error_info;

#define ERROR(name, text) \
  { \
    name, #name, text \
  }

static const error_info errors[] = {
  ERROR (CUDA_SUCCESS, "no error"),
  ERROR (CUDA_ERROR_INVALID_VALUE, "invalid argument"),
  ERROR (CUDA_ERROR_OUT_OF_MEMORY, "out of memory"),
  ERROR (CUDA_ERROR_NOT_INITIALIZED, "initialization error"),
  ERROR (CUDA_ERROR_DEINITIALIZED, "driver shutting down"),
  ERROR (CUDA_ERROR_STUB_LIBRARY, "the driver is a stub library"),
  ERROR (CUDA_ERROR_DEVICE_UNAVAILABLE, "the device is busy or unavailable"),
  ERROR (CUDA_ERROR_NO_DEVICE, "no CUDA-capable device is detected"),
  ERROR (CUDA_ERROR_INVALID_DEVICE, "invalid device ordinal"),
  ERROR (CUDA_ERROR_INVALID_IMAGE, "the module's image is invalid"),
  ERROR (CUDA_ERROR_INVALID_CONTEXT, "invalid device context"),
  ERROR (CUDA_ERROR_MAP_FAILED, "mapping of memory failed"),
  ERROR (CUDA_ERROR_ALREADY_MAPPED, "the resource is already mapped"),
  ERROR (CUDA_ERROR_NO_BINARY_FOR_GPU,
      "the module has no code that this device can run"),
  ERROR (CUDA_ERROR_ECC_UNCORRECTABLE, "an uncorrectable ECC error happened"),
  ERROR (CUDA_ERROR_UNSUPPORTED_LIMIT, "the device has no such limit"),
  ERROR (CUDA_ERROR_PEER_ACCESS_UNSUPPORTED,
      "the devices have no access to each other"),
  ERROR (CUDA_ERROR_INVALID_PTX, "the PTX cannot be compiled"),
  ERROR (CUDA_ERROR_UNSUPPORTED_PTX_VERSION,
      "the PTX is of a version that this driver does not know"),
  ERROR (CUDA_ERROR_INVALID_SOURCE, "the source of the kernel is invalid"),
  ERROR (CUDA_ERROR_FILE_NOT_FOUND, "file not found"),
  ERROR (CUDA_ERROR_OPERATING_SYSTEM, "a call of the operating system failed"),
  ERROR (CUDA_ERROR_INVALID_HANDLE, "invalid resource handle"),
  ERROR (CUDA_ERROR_NOT_FOUND, "named symbol not found"),
  ERROR (CUDA_ERROR_NOT_READY, "device not ready"),
  ERROR (CUDA_ERROR_ILLEGAL_ADDRESS, "an illegal memory access happened"),
  ERROR (CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES,
      "too many resources requested for the launch"),
  ERROR (CUDA_ERROR_LAUNCH_TIMEOUT, "the launch ran too long"),
  ERROR (CUDA_ERROR_PEER_ACCESS_NOT_ENABLED,
      "access to the peer has not been enabled"),
  ERROR (CUDA_ERROR_CONTEXT_IS_DESTROYED,
      "the context has been destroyed or is being destroyed"),
  ERROR (CUDA_ERROR_ASSERT, "an assertion of a kernel failed"),
  ERROR (CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED,
      "part or all of the memory range is already registered"),
  ERROR (CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED,
      "the pointer does not correspond to a registered memory region"),
  ERROR (CUDA_ERROR_HARDWARE_STACK_ERROR, "the stack of a kernel is damaged"),
  ERROR (CUDA_ERROR_ILLEGAL_INSTRUCTION, "an illegal instruction happened"),
  ERROR (CUDA_ERROR_MISALIGNED_ADDRESS, "a memory access was not aligned"),
  ERROR (CUDA_ERROR_INVALID_ADDRESS_SPACE,
      "an instruction had an address of a memory that it cannot access"),
  ERROR (CUDA_ERROR_INVALID_PC, "the program counter left the kernel"),
  ERROR (CUDA_ERROR_LAUNCH_FAILED, "a kernel failed while it ran"),
  ERROR (CUDA_ERROR_NOT_PERMITTED, "operation not permitted"),
  ERROR (CUDA_ERROR_NOT_SUPPORTED, "operation not supported"),
  ERROR (CUDA_ERROR_SYSTEM_DRIVER_MISMATCH,
      "the versions of the display driver and the CUDA driver do not match"),
  ERROR (CUDA_ERROR_UNKNOWN, "unknown error"),
};

static const error_info *
find_error (CUresult error)
{
  for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
    if (errors[i].error == error)
      return &errors[i];
  return NULL;
}

/* Parses an error of SOFTCUDA_FAIL: a name, or a number other than 0. */
CUresult
sc_error_from_text (const char *text, CUresult *error)
{
  char *end;
  long number;

  for (size_t i = 1; i < sizeof errors / sizeof *errors; i++) {
    if (strcmp (errors[i].name, text) == 0) {
      *error = errors[i].error;
      return CUDA_SUCCESS;
    }
  }
  errno = 0;
  number = strtol (text, &end, 10);
  if (errno != 0 || end == text || *end != '\0' || number < 1 || number > 9999)
    return CUDA_ERROR_INVALID_VALUE;
  *error = (CUresult) number;
  return CUDA_SUCCESS;
}

CUresult
cuGetErrorName (CUresult error, const char **name)
{
  const error_info *info = find_error (error);

  if (name == NULL)
    return CUDA_ERROR_INVALID_VALUE;
  *name = info != NULL ? info->name : NULL;
  return info != NULL ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult
cuGetErrorString (CUresult error, const char **text)
{
  const error_info *info = find_error (error);

  if (text == NULL)
    return CUDA_ERROR_INVALID_VALUE;
  *text = info != NULL ? info->text : NULL;
  return info != NULL ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
