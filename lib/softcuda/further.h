/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * further.h: entry points that this project does not use, but other programs do
 *
 * GStreamer's CUDA library and PyCUDA need these entry points. The types are
 * ABI facts of libcuda.so.1, like those of cuda-driver.h, which has the list of
 * the entry points that this project loads.
 */

#ifndef SOFTCUDA_FURTHER_H
#define SOFTCUDA_FURTHER_H

#include "cuda-driver.h"

typedef unsigned long long CUtexObject;
typedef struct CUmipmappedArray_st *CUmipmappedArray;

/* Errors that only these entry points return. */
#define CUDA_ERROR_UNSUPPORTED_LIMIT ((CUresult) 215)
#define CUDA_ERROR_PEER_ACCESS_UNSUPPORTED ((CUresult) 217)
#define CUDA_ERROR_PEER_ACCESS_NOT_ENABLED ((CUresult) 705)
#define CUDA_ERROR_CONTEXT_IS_DESTROYED ((CUresult) 709)

typedef enum CUdriverProcAddressQueryResult_enum {
  CU_GET_PROC_ADDRESS_SUCCESS = 0,
  CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND = 1,
  CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT = 2
} CUdriverProcAddressQueryResult;

#define CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM 2u

/* The keys in the last argument of cuLaunchKernel. */
#define CU_LAUNCH_PARAM_END ((void *) 0)
#define CU_LAUNCH_PARAM_BUFFER_POINTER ((void *) 1)
#define CU_LAUNCH_PARAM_BUFFER_SIZE ((void *) 2)

typedef enum CUlimit_enum { CU_LIMIT_STACK_SIZE = 0 } CUlimit;

typedef enum CUarray_format_enum {
  CU_AD_FORMAT_UNSIGNED_INT8 = 0x01,
  CU_AD_FORMAT_UNSIGNED_INT16 = 0x02,
  CU_AD_FORMAT_UNSIGNED_INT32 = 0x03,
  CU_AD_FORMAT_SIGNED_INT8 = 0x08,
  CU_AD_FORMAT_SIGNED_INT16 = 0x09,
  CU_AD_FORMAT_SIGNED_INT32 = 0x0a,
  CU_AD_FORMAT_FLOAT = 0x20
} CUarray_format;

typedef enum CUaddress_mode_enum {
  CU_TR_ADDRESS_MODE_WRAP = 0,
  CU_TR_ADDRESS_MODE_CLAMP = 1,
  CU_TR_ADDRESS_MODE_MIRROR = 2,
  CU_TR_ADDRESS_MODE_BORDER = 3
} CUaddress_mode;

typedef enum CUfilter_mode_enum {
  CU_TR_FILTER_MODE_POINT = 0,
  CU_TR_FILTER_MODE_LINEAR = 1
} CUfilter_mode;

typedef enum CUresourcetype_enum {
  CU_RESOURCE_TYPE_ARRAY = 0,
  CU_RESOURCE_TYPE_MIPMAPPED_ARRAY = 1,
  CU_RESOURCE_TYPE_LINEAR = 2,
  CU_RESOURCE_TYPE_PITCH2D = 3
} CUresourcetype;

#define CU_TRSF_READ_AS_INTEGER 1u
#define CU_TRSF_NORMALIZED_COORDINATES 2u

typedef struct CUDA_RESOURCE_DESC_st {
  CUresourcetype resType;
  union {
    struct {
      CUarray hArray;
    } array;
    struct {
      CUmipmappedArray hMipmappedArray;
    } mipmap;
    struct {
      CUdeviceptr devPtr;
      CUarray_format format;
      unsigned int numChannels;
      size_t sizeInBytes;
    } linear;
    struct {
      CUdeviceptr devPtr;
      CUarray_format format;
      unsigned int numChannels;
      size_t width;
      size_t height;
      size_t pitchInBytes;
    } pitch2D;
    struct {
      int reserved[32];
    } reserved;
  } res;
  unsigned int flags;
} CUDA_RESOURCE_DESC;

typedef struct CUDA_TEXTURE_DESC_st {
  CUaddress_mode addressMode[3];
  CUfilter_mode filterMode;
  unsigned int flags;
  unsigned int maxAnisotropy;
  CUfilter_mode mipmapFilterMode;
  float mipmapLevelBias;
  float minMipmapLevelClamp;
  float maxMipmapLevelClamp;
  float borderColor[4];
  int reserved[12];
} CUDA_TEXTURE_DESC;

/* Only for arrays. */
typedef struct CUDA_RESOURCE_VIEW_DESC_st CUDA_RESOURCE_VIEW_DESC;

/* A list like VKGDR_CUDA_FUNCTIONS. */
#define SOFTCUDA_FURTHER_FUNCTIONS(X) \
  X (cuCtxEnablePeerAccess, cuCtxEnablePeerAccess, OPTIONAL, \
      (CUcontext peer, unsigned int flags)) \
  X (cuCtxDisablePeerAccess, cuCtxDisablePeerAccess, OPTIONAL, \
      (CUcontext peer)) \
  X (cuCtxGetLimit, cuCtxGetLimit, OPTIONAL, (size_t * value, CUlimit limit)) \
  X (cuCtxSetLimit, cuCtxSetLimit, OPTIONAL, (CUlimit limit, size_t value)) \
  X (cuMemAllocHost, cuMemAllocHost_v2, OPTIONAL, \
      (void **pointer, size_t size)) \
  X (cuMemsetD2D8, cuMemsetD2D8_v2, OPTIONAL, \
      (CUdeviceptr pointer, size_t pitch, unsigned char value, size_t width, \
          size_t height)) \
  X (cuMemsetD2D16, cuMemsetD2D16_v2, OPTIONAL, \
      (CUdeviceptr pointer, size_t pitch, unsigned short value, size_t width, \
          size_t height)) \
  X (cuMemsetD2D32, cuMemsetD2D32_v2, OPTIONAL, \
      (CUdeviceptr pointer, size_t pitch, unsigned int value, size_t width, \
          size_t height)) \
  X (cuTexObjectCreate, cuTexObjectCreate, OPTIONAL, \
      (CUtexObject * texture, const CUDA_RESOURCE_DESC *resource, \
          const CUDA_TEXTURE_DESC *desc, const CUDA_RESOURCE_VIEW_DESC *view)) \
  X (cuTexObjectDestroy, cuTexObjectDestroy, OPTIONAL, (CUtexObject texture)) \
  X (cuIpcOpenMemHandle_v1, cuIpcOpenMemHandle, OPTIONAL, \
      (CUdeviceptr * pointer, CUipcMemHandle handle, unsigned int flags)) \
  X (cuGetProcAddress_v1, cuGetProcAddress, OPTIONAL, \
      (const char *name, void **function, int version, uint64_t flags)) \
  X (cuGetProcAddress, cuGetProcAddress_v2, OPTIONAL, \
      (const char *name, void **function, int version, uint64_t flags, \
          CUdriverProcAddressQueryResult *status)) \
  X (cuDeviceComputeCapability, cuDeviceComputeCapability, OPTIONAL, \
      (int *major, int *minor, CUdevice device)) \
  X (cuDeviceGetByPCIBusId, cuDeviceGetByPCIBusId, OPTIONAL, \
      (CUdevice * device, const char *address)) \
  X (cuDevicePrimaryCtxReset, cuDevicePrimaryCtxReset_v2, OPTIONAL, \
      (CUdevice device)) \
  X (cuDevicePrimaryCtxSetFlags, cuDevicePrimaryCtxSetFlags_v2, OPTIONAL, \
      (CUdevice device, unsigned int flags)) \
  X (cuCtxAttach, cuCtxAttach, OPTIONAL, \
      (CUcontext * context, unsigned int flags)) \
  X (cuCtxDetach, cuCtxDetach, OPTIONAL, (CUcontext context)) \
  X (cuCtxSetCurrent, cuCtxSetCurrent, OPTIONAL, (CUcontext context)) \
  X (cuCtxGetApiVersion, cuCtxGetApiVersion, OPTIONAL, \
      (CUcontext context, unsigned int *version)) \
  X (cuCtxGetFlags, cuCtxGetFlags, OPTIONAL, (unsigned int *flags)) \
  X (cuCtxGetStreamPriorityRange, cuCtxGetStreamPriorityRange, OPTIONAL, \
      (int *least, int *greatest)) \
  X (cuCtxGetCacheConfig, cuCtxGetCacheConfig, OPTIONAL, (int *config)) \
  X (cuCtxSetCacheConfig, cuCtxSetCacheConfig, OPTIONAL, (int config)) \
  X (cuCtxGetSharedMemConfig, cuCtxGetSharedMemConfig, OPTIONAL, \
      (int *config)) \
  X (cuCtxSetSharedMemConfig, cuCtxSetSharedMemConfig, OPTIONAL, (int config)) \
  X (cuFuncSetCacheConfig, cuFuncSetCacheConfig, OPTIONAL, \
      (CUfunction function, int config)) \
  X (cuFuncSetSharedMemConfig, cuFuncSetSharedMemConfig, OPTIONAL, \
      (CUfunction function, int config)) \
  X (cuStreamCreateWithPriority, cuStreamCreateWithPriority, OPTIONAL, \
      (CUstream * stream, unsigned int flags, int priority)) \
  X (cuStreamGetFlags, cuStreamGetFlags, OPTIONAL, \
      (CUstream stream, unsigned int *flags)) \
  X (cuStreamGetPriority, cuStreamGetPriority, OPTIONAL, \
      (CUstream stream, int *priority)) \
  X (cuMemAllocManaged, cuMemAllocManaged, OPTIONAL, \
      (CUdeviceptr * pointer, size_t size, unsigned int flags)) \
  X (cuMemHostGetDevicePointer, cuMemHostGetDevicePointer_v2, OPTIONAL, \
      (CUdeviceptr * device, void *pointer, unsigned int flags)) \
  X (cuMemcpy, cuMemcpy, OPTIONAL, \
      (CUdeviceptr dst, CUdeviceptr src, size_t size)) \
  X (cuMemcpyAsync, cuMemcpyAsync, OPTIONAL, \
      (CUdeviceptr dst, CUdeviceptr src, size_t size, CUstream stream)) \
  X (cuMemcpyPeer, cuMemcpyPeer, OPTIONAL, \
      (CUdeviceptr dst, CUcontext dst_context, CUdeviceptr src, \
          CUcontext src_context, size_t size)) \
  X (cuMemcpy2DUnaligned, cuMemcpy2DUnaligned_v2, OPTIONAL, \
      (const CUDA_MEMCPY2D *copy)) \
  X (cuMemsetD16, cuMemsetD16_v2, OPTIONAL, \
      (CUdeviceptr pointer, unsigned short value, size_t n)) \
  X (cuMemsetD16Async, cuMemsetD16Async, OPTIONAL, \
      (CUdeviceptr pointer, unsigned short value, size_t n, CUstream stream)) \
  X (cuMemsetD32, cuMemsetD32_v2, OPTIONAL, \
      (CUdeviceptr pointer, unsigned int value, size_t n)) \
  X (cuMemsetD32Async, cuMemsetD32Async, OPTIONAL, \
      (CUdeviceptr pointer, unsigned int value, size_t n, CUstream stream)) \
  X (cuModuleLoad, cuModuleLoad, OPTIONAL, \
      (CUmodule * module, const char *path)) \
  X (cuFuncSetBlockShape, cuFuncSetBlockShape, OPTIONAL, \
      (CUfunction function, int x, int y, int z)) \
  X (cuFuncSetSharedSize, cuFuncSetSharedSize, OPTIONAL, \
      (CUfunction function, unsigned int bytes)) \
  X (cuParamSetSize, cuParamSetSize, OPTIONAL, \
      (CUfunction function, unsigned int bytes)) \
  X (cuParamSetv, cuParamSetv, OPTIONAL, \
      (CUfunction function, int offset, void *value, unsigned int bytes)) \
  X (cuParamSeti, cuParamSeti, OPTIONAL, \
      (CUfunction function, int offset, unsigned int value)) \
  X (cuParamSetf, cuParamSetf, OPTIONAL, \
      (CUfunction function, int offset, float value)) \
  X (cuLaunch, cuLaunch, OPTIONAL, (CUfunction function)) \
  X (cuLaunchGrid, cuLaunchGrid, OPTIONAL, \
      (CUfunction function, int width, int height)) \
  X (cuLaunchGridAsync, cuLaunchGridAsync, OPTIONAL, \
      (CUfunction function, int width, int height, CUstream stream)) \
  X (cuProfilerStart, cuProfilerStart, OPTIONAL, (void) ) \
  X (cuProfilerStop, cuProfilerStop, OPTIONAL, (void) )

/* All entry points that the device supports. driver-api.def has the names of
 * the others. */
#define SOFTCUDA_FUNCTIONS(X) \
  VKGDR_CUDA_FUNCTIONS (X) \
  SOFTCUDA_FURTHER_FUNCTIONS (X)

#endif /* SOFTCUDA_FURTHER_H */
