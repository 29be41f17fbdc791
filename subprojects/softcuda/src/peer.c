/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * peer.c: access and copies between devices
 *
 * There is only one device. So these copies are between contexts, and the
 * device has no peer. Knows nothing of how memory is allocated.
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
cuMemcpyPeer (CUdeviceptr dst, CUcontext dst_context, CUdeviceptr src,
    CUcontext src_context, size_t size)
{
  CUresult result;

  SC_ENTER (cuMemcpyPeer);
  result = cuMemcpyPeerAsync (dst, dst_context, src, src_context, size, NULL);
  return result == CUDA_SUCCESS ? cuStreamSynchronize (NULL) : result;
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

static CUresult
check_peer (CUcontext peer, CUresult refusal)
{
  CUcontext context;
  CUresult result;

  sc_lock ();
  result = sc_current_locked (&context);
  if (result == CUDA_SUCCESS)
    result = peer != context && sc_handle_is_live_locked (peer, SC_KIND_CONTEXT)
                 ? refusal
                 : CUDA_ERROR_INVALID_CONTEXT;
  sc_unlock ();
  return result;
}

CUresult
cuCtxEnablePeerAccess (CUcontext peer, unsigned int flags)
{
  SC_ENTER (cuCtxEnablePeerAccess);
  if (flags != 0)
    return CUDA_ERROR_INVALID_VALUE;
  return check_peer (peer, CUDA_ERROR_PEER_ACCESS_UNSUPPORTED);
}

CUresult
cuCtxDisablePeerAccess (CUcontext peer)
{
  SC_ENTER (cuCtxDisablePeerAccess);
  return check_peer (peer, CUDA_ERROR_PEER_ACCESS_NOT_ENABLED);
}
