/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * function.c: attributes of a function, and how many of its blocks run at the
 * same time
 *
 * The host's compiler does not allocate registers or shared memory. So the
 * numbers are the limits of the device for a launch. Knows nothing of images.
 */

#include "module.h"

static CUresult
check_function (CUfunction function)
{
  bool live;

  sc_lock ();
  live = sc_handle_is_live_locked (function, SC_KIND_FUNCTION);
  sc_unlock ();
  return live ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

/* Only checks the value: a launch may use the largest size of dynamic shared
 * memory even if this attribute was not set. */
CUresult
cuFuncSetAttribute (
    CUfunction function, CUfunction_attribute attribute, int value)
{
  CUresult result;

  SC_ENTER (cuFuncSetAttribute);
  result = check_function (function);
  if (result != CUDA_SUCCESS)
    return result;
  if (attribute != CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES || value < 0
      || value > SOFTCUDA_MAX_DYNAMIC_SHARED)
    return CUDA_ERROR_INVALID_VALUE;
  return CUDA_SUCCESS;
}

/* A processor runs one block at a time. */
CUresult
cuOccupancyMaxActiveBlocksPerMultiprocessor (
    int *n_blocks, CUfunction function, int block_size, size_t shared_size)
{
  CUresult result;

  SC_ENTER (cuOccupancyMaxActiveBlocksPerMultiprocessor);
  if (n_blocks == NULL || block_size <= 0)
    return CUDA_ERROR_INVALID_VALUE;
  result = check_function (function);
  if (result != CUDA_SUCCESS)
    return result;
  *n_blocks = block_size <= SC_MAX_BLOCK_THREADS
              && shared_size <= SOFTCUDA_MAX_DYNAMIC_SHARED;
  return CUDA_SUCCESS;
}

/* The division of a GPU's memory has no meaning on a CPU. */
CUresult
cuFuncSetCacheConfig (CUfunction function, int config)
{
  SC_ENTER (cuFuncSetCacheConfig);
  return check_function (function);
}

CUresult
cuFuncSetSharedMemConfig (CUfunction function, int config)
{
  SC_ENTER (cuFuncSetSharedMemConfig);
  return check_function (function);
}
