/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * peer.c: what devices do with each other
 *
 * There is one device, so contexts are all that a copy can be between, and no
 * device is another's peer. Knows nothing of how memory is made.
 */

#include "private.h"

static bool
is_context_locked (CUcontext context)
{
  return sc_handle_is_live_locked (context, SC_KIND_CONTEXT);
}

CUresult
cuMemcpyPeerAsync (CUdeviceptr dst, CUcontext dst_context, CUdeviceptr src,
    CUcontext src_context, size_t size, CUstream stream)
{
  bool known;

  SC_ENTER (cuMemcpyPeerAsync);
  sc_lock ();
  known = is_context_locked (dst_context) && is_context_locked (src_context);
  sc_unlock ();
  if (!known)
    return CUDA_ERROR_INVALID_CONTEXT;
  return cuMemcpyDtoDAsync_v2 (dst, src, size, stream);
}

CUresult
cuDeviceCanAccessPeer (int *can, CUdevice device, CUdevice peer)
{
  SC_ENTER (cuDeviceCanAccessPeer);
  if (can == NULL)
    return CUDA_ERROR_INVALID_VALUE;
  if (device != 0 || peer != 0)
    return CUDA_ERROR_INVALID_DEVICE;
  *can = 0;
  return CUDA_SUCCESS;
}
