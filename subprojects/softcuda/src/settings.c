/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * settings.c: limits, configuration and attributes of a context
 *
 * Most of these settings have no counterpart on a CPU. They are accepted and
 * have no effect. Knows nothing of how contexts are created or destroyed.
 */

#include "private.h"

/* The version that drivers return for a context of cuCtxCreate_v2(). */
#define API_VERSION 3020

#define BANKS_OF_FOUR_BYTES 1 /* CU_SHARED_MEM_CONFIG_FOUR_BYTE_BANK_SIZE */

static CUresult
check_context (void)
{
  CUcontext context;
  CUresult result;

  sc_lock ();
  result = sc_current_usable_locked (&context);
  sc_unlock ();
  return result;
}

/* Returns a constant. */
static CUresult
answer (int *value, int number)
{
  CUresult result = value != NULL ? check_context () : CUDA_ERROR_INVALID_VALUE;

  if (result == CUDA_SUCCESS)
    *value = number;
  return result;
}

/* The limits are stored and returned, but have no effect: kernels use the
 * stacks and the output of the process, and do not allocate. */
CUresult
cuCtxGetLimit (size_t *value, CUlimit limit)
{
  CUcontext context;
  CUresult result;

  SC_ENTER (cuCtxGetLimit);
  if (value == NULL)
    return CUDA_ERROR_INVALID_VALUE;
  if (limit > CU_LIMIT_MALLOC_HEAP_SIZE)
    return CUDA_ERROR_UNSUPPORTED_LIMIT;
  sc_lock ();
  result = sc_current_usable_locked (&context);
  if (result == CUDA_SUCCESS)
    *value = context->limits[limit];
  sc_unlock ();
  return result;
}

CUresult
cuCtxSetLimit (CUlimit limit, size_t value)
{
  CUcontext context;
  CUresult result;

  SC_ENTER (cuCtxSetLimit);
  if (limit > CU_LIMIT_MALLOC_HEAP_SIZE)
    return CUDA_ERROR_UNSUPPORTED_LIMIT;
  sc_lock ();
  result = sc_current_usable_locked (&context);
  if (result == CUDA_SUCCESS)
    context->limits[limit] = value;
  sc_unlock ();
  return result;
}

CUresult
cuCtxGetApiVersion (CUcontext context, unsigned int *version)
{
  CUresult result = CUDA_SUCCESS;

  SC_ENTER (cuCtxGetApiVersion);
  if (version == NULL)
    return CUDA_ERROR_INVALID_VALUE;
  sc_lock ();
  if (context == NULL)
    result = sc_current_locked (&context);
  else if (!sc_handle_is_live_locked (context, SC_KIND_CONTEXT))
    result = CUDA_ERROR_INVALID_CONTEXT;
  sc_unlock ();
  if (result == CUDA_SUCCESS)
    *version = API_VERSION;
  return result;
}

CUresult
cuCtxGetFlags (unsigned int *flags)
{
  SC_ENTER (cuCtxGetFlags);
  return answer ((int *) flags, 0);
}

CUresult
cuDevicePrimaryCtxSetFlags_v2 (CUdevice device, unsigned int flags)
{
  SC_ENTER (cuDevicePrimaryCtxSetFlags);
  return device == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

/* All streams have the same priority. */
CUresult
cuCtxGetStreamPriorityRange (int *least, int *greatest)
{
  CUresult result;

  SC_ENTER (cuCtxGetStreamPriorityRange);
  result = check_context ();
  if (result == CUDA_SUCCESS && least != NULL)
    *least = 0;
  if (result == CUDA_SUCCESS && greatest != NULL)
    *greatest = 0;
  return result;
}

CUresult
cuCtxGetCacheConfig (int *config)
{
  SC_ENTER (cuCtxGetCacheConfig);
  return answer (config, 0);
}

CUresult
cuCtxSetCacheConfig (int config)
{
  SC_ENTER (cuCtxSetCacheConfig);
  return check_context ();
}

CUresult
cuCtxGetSharedMemConfig (int *config)
{
  SC_ENTER (cuCtxGetSharedMemConfig);
  return answer (config, BANKS_OF_FOUR_BYTES);
}

CUresult
cuCtxSetSharedMemConfig (int config)
{
  SC_ENTER (cuCtxSetSharedMemConfig);
  return check_context ();
}

CUresult
cuProfilerStart (void)
{
  SC_ENTER (cuProfilerStart);
  return check_context ();
}

CUresult
cuProfilerStop (void)
{
  SC_ENTER (cuProfilerStop);
  return check_context ();
}
