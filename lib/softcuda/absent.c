/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * absent.c: what the device cannot do, and is asked for all the same
 *
 * There is one device, which draws nothing: it has no peers, shares no events
 * with other processes, and knows no OpenGL. Callers load these entry points
 * with the rest, and take "not supported" for an answer.
 */

#include "private.h"

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

#define NOT_SUPPORTED(name, symbol, args) \
  CUresult symbol args \
  { \
    SC_ENTER (name); \
    return CUDA_ERROR_NOT_SUPPORTED; \
  }

NOT_SUPPORTED (cuGraphicsMapResources, cuGraphicsMapResources,
    (unsigned int count, CUgraphicsResource *resources, CUstream stream))
NOT_SUPPORTED (cuGraphicsUnmapResources, cuGraphicsUnmapResources,
    (unsigned int count, CUgraphicsResource *resources, CUstream stream))
NOT_SUPPORTED (cuGraphicsResourceSetMapFlags, cuGraphicsResourceSetMapFlags_v2,
    (CUgraphicsResource resource, unsigned int flags))
NOT_SUPPORTED (cuGraphicsSubResourceGetMappedArray,
    cuGraphicsSubResourceGetMappedArray,
    (CUarray * array, CUgraphicsResource resource, unsigned int index,
        unsigned int level))
NOT_SUPPORTED (cuGraphicsResourceGetMappedPointer,
    cuGraphicsResourceGetMappedPointer_v2,
    (CUdeviceptr * pointer, size_t *size, CUgraphicsResource resource))
NOT_SUPPORTED (cuGraphicsUnregisterResource, cuGraphicsUnregisterResource,
    (CUgraphicsResource resource))
NOT_SUPPORTED (cuGraphicsGLRegisterImage, cuGraphicsGLRegisterImage,
    (CUgraphicsResource * resource, unsigned int image, unsigned int target,
        unsigned int flags))
NOT_SUPPORTED (cuGraphicsGLRegisterBuffer, cuGraphicsGLRegisterBuffer,
    (CUgraphicsResource * resource, unsigned int buffer, unsigned int flags))
NOT_SUPPORTED (cuGLGetDevices, cuGLGetDevices_v2,
    (unsigned int *count, CUdevice *devices, unsigned int size,
        unsigned int list))
NOT_SUPPORTED (cuIpcGetEventHandle, cuIpcGetEventHandle,
    (CUipcEventHandle * handle, CUevent event))
NOT_SUPPORTED (cuIpcOpenEventHandle, cuIpcOpenEventHandle,
    (CUevent * event, CUipcEventHandle handle))
