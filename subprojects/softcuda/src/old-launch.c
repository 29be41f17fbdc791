/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * old-launch.c: the launch functions that are older than cuLaunchKernel()
 *
 * The block size and the arguments are set for each function by separate calls.
 * A launch uses the values that were set last. PyCUDA still sets shapes this
 * way. Knows nothing of how a kernel runs.
 */

#include <string.h>

#include "module.h"

/* If the handle is valid, returns with the lock held. */
static CUresult
lock_function (CUfunction function)
{
  sc_lock ();
  if (sc_handle_is_live_locked (function, SC_KIND_FUNCTION))
    return CUDA_SUCCESS;
  sc_unlock ();
  return CUDA_ERROR_INVALID_HANDLE;
}

CUresult
cuFuncSetBlockShape (CUfunction function, int x, int y, int z)
{
  CUresult result;

  SC_ENTER (cuFuncSetBlockShape);
  if (x <= 0 || y <= 0 || z <= 0)
    return CUDA_ERROR_INVALID_VALUE;
  result = lock_function (function);
  if (result != CUDA_SUCCESS)
    return result;
  function->old.block[0] = x;
  function->old.block[1] = y;
  function->old.block[2] = z;
  sc_unlock ();
  return CUDA_SUCCESS;
}

CUresult
cuFuncSetSharedSize (CUfunction function, unsigned int bytes)
{
  CUresult result;

  SC_ENTER (cuFuncSetSharedSize);
  result = lock_function (function);
  if (result != CUDA_SUCCESS)
    return result;
  function->old.shared_bytes = bytes;
  sc_unlock ();
  return CUDA_SUCCESS;
}

CUresult
cuParamSetSize (CUfunction function, unsigned int bytes)
{
  CUresult result;

  SC_ENTER (cuParamSetSize);
  if (bytes > sizeof function->old.arguments)
    return CUDA_ERROR_INVALID_VALUE;
  result = lock_function (function);
  if (result != CUDA_SUCCESS)
    return result;
  function->old.size = bytes;
  sc_unlock ();
  return CUDA_SUCCESS;
}

CUresult
cuParamSetv (CUfunction function, int offset, void *value, unsigned int bytes)
{
  const size_t room = sizeof function->old.arguments;
  CUresult result;

  SC_ENTER (cuParamSetv);
  if (value == NULL || offset < 0 || (size_t) offset > room
      || bytes > room - (size_t) offset)
    return CUDA_ERROR_INVALID_VALUE;
  result = lock_function (function);
  if (result != CUDA_SUCCESS)
    return result;
  memcpy (function->old.arguments + offset, value, bytes);
  sc_unlock ();
  return CUDA_SUCCESS;
}

CUresult
cuParamSeti (CUfunction function, int offset, unsigned int value)
{
  SC_ENTER (cuParamSeti);
  return cuParamSetv (function, offset, &value, sizeof value);
}

CUresult
cuParamSetf (CUfunction function, int offset, float value)
{
  SC_ENTER (cuParamSetf);
  return cuParamSetv (function, offset, &value, sizeof value);
}

CUresult
cuLaunchGridAsync (CUfunction function, int width, int height, CUstream stream)
{
  sc_old_launch old;
  CUresult result;
  void *extra[] = { CU_LAUNCH_PARAM_BUFFER_POINTER, old.arguments,
    CU_LAUNCH_PARAM_BUFFER_SIZE, &old.size, CU_LAUNCH_PARAM_END };

  SC_ENTER (cuLaunchGridAsync);
  if (width <= 0 || height <= 0)
    return CUDA_ERROR_INVALID_VALUE;
  result = lock_function (function);
  if (result != CUDA_SUCCESS)
    return result;
  old = function->old;
  sc_unlock ();
  return cuLaunchKernel (function, width, height, 1, old.block[0], old.block[1],
      old.block[2], old.shared_bytes, stream, NULL, extra);
}

CUresult
cuLaunchGrid (CUfunction function, int width, int height)
{
  SC_ENTER (cuLaunchGrid);
  return cuLaunchGridAsync (function, width, height, NULL);
}

CUresult
cuLaunch (CUfunction function)
{
  SC_ENTER (cuLaunch);
  return cuLaunchGridAsync (function, 1, 1, NULL);
}
