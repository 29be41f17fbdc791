/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * driver-api.h: the part of the CUDA driver API that softcuda implements
 *
 * The types are those of the ABI of libcuda.so.1; values are those of NVIDIA's
 * documentation of the driver API. entry-points.def has the names of all entry
 * points, with those that the device does not support.
 */

#ifndef SOFTCUDA_DRIVER_API_H
#define SOFTCUDA_DRIVER_API_H

#include <stddef.h>
#include <stdint.h>

typedef int CUdevice;
typedef unsigned long long CUdeviceptr;
typedef struct CUctx_st *CUcontext;
typedef struct CUstream_st *CUstream;
typedef struct CUevent_st *CUevent;
typedef struct CUmod_st *CUmodule;
typedef struct CUfunc_st *CUfunction;
typedef struct CUextMemory_st *CUexternalMemory;
typedef struct CUarray_st *CUarray;
typedef struct CUlinkState_st *CUlinkState;
typedef struct CUkern_st *CUkernel;

typedef struct CUuuid_st {
  char bytes[16];
} CUuuid;

typedef enum cudaError_enum {
  CUDA_SUCCESS = 0,
  CUDA_ERROR_INVALID_VALUE = 1,
  CUDA_ERROR_OUT_OF_MEMORY = 2,
  CUDA_ERROR_NOT_INITIALIZED = 3,
  CUDA_ERROR_DEINITIALIZED = 4,
  CUDA_ERROR_STUB_LIBRARY = 34,
  CUDA_ERROR_DEVICE_UNAVAILABLE = 46,
  CUDA_ERROR_NO_DEVICE = 100,
  CUDA_ERROR_INVALID_DEVICE = 101,
  CUDA_ERROR_INVALID_IMAGE = 200,
  CUDA_ERROR_INVALID_CONTEXT = 201,
  CUDA_ERROR_MAP_FAILED = 205,
  CUDA_ERROR_ALREADY_MAPPED = 208,
  CUDA_ERROR_NO_BINARY_FOR_GPU = 209,
  CUDA_ERROR_ECC_UNCORRECTABLE = 214,
  CUDA_ERROR_UNSUPPORTED_LIMIT = 215,
  CUDA_ERROR_PEER_ACCESS_UNSUPPORTED = 217,
  CUDA_ERROR_INVALID_PTX = 218,
  CUDA_ERROR_UNSUPPORTED_PTX_VERSION = 222,
  CUDA_ERROR_INVALID_SOURCE = 300,
  CUDA_ERROR_FILE_NOT_FOUND = 301,
  CUDA_ERROR_OPERATING_SYSTEM = 304,
  CUDA_ERROR_INVALID_HANDLE = 400,
  CUDA_ERROR_NOT_FOUND = 500,
  CUDA_ERROR_NOT_READY = 600,
  CUDA_ERROR_ILLEGAL_ADDRESS = 700,
  CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES = 701,
  CUDA_ERROR_LAUNCH_TIMEOUT = 702,
  CUDA_ERROR_PEER_ACCESS_NOT_ENABLED = 705,
  CUDA_ERROR_CONTEXT_IS_DESTROYED = 709,
  CUDA_ERROR_ASSERT = 710,
  CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED = 712,
  CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED = 713,
  CUDA_ERROR_HARDWARE_STACK_ERROR = 714,
  CUDA_ERROR_ILLEGAL_INSTRUCTION = 715,
  CUDA_ERROR_MISALIGNED_ADDRESS = 716,
  CUDA_ERROR_INVALID_ADDRESS_SPACE = 717,
  CUDA_ERROR_INVALID_PC = 718,
  CUDA_ERROR_LAUNCH_FAILED = 719,
  CUDA_ERROR_NOT_PERMITTED = 800,
  CUDA_ERROR_NOT_SUPPORTED = 801,
  CUDA_ERROR_SYSTEM_DRIVER_MISMATCH = 803,
  CUDA_ERROR_UNKNOWN = 999
} CUresult;

typedef enum CUdevice_attribute_enum {
  CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK = 1,
  CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X = 2,
  CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK = 8,
  CU_DEVICE_ATTRIBUTE_WARP_SIZE = 10,
  CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK = 12,
  CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT = 14,
  CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT = 16,
  CU_DEVICE_ATTRIBUTE_INTEGRATED = 18,
  CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY = 19,
  CU_DEVICE_ATTRIBUTE_COMPUTE_MODE = 20,
  CU_DEVICE_ATTRIBUTE_PCI_BUS_ID = 33,
  CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID = 34,
  CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR = 39,
  CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT = 40,
  CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING = 41,
  CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID = 50,
  CU_DEVICE_ATTRIBUTE_TEXTURE_PITCH_ALIGNMENT = 51,
  CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 75,
  CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 76,
  CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR = 106
} CUdevice_attribute;

/* The handles of the streams that every context has. */
#define CU_STREAM_LEGACY ((CUstream) 0x1)
#define CU_STREAM_PER_THREAD ((CUstream) 0x2)

typedef enum CUcomputemode_enum {
  CU_COMPUTEMODE_DEFAULT = 0,
  CU_COMPUTEMODE_PROHIBITED = 2,
  CU_COMPUTEMODE_EXCLUSIVE_PROCESS = 3
} CUcomputemode;

typedef enum CUfunction_attribute_enum {
  CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK = 0,
  CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES = 1,
  CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES = 2,
  CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES = 3,
  CU_FUNC_ATTRIBUTE_NUM_REGS = 4,
  CU_FUNC_ATTRIBUTE_PTX_VERSION = 5,
  CU_FUNC_ATTRIBUTE_BINARY_VERSION = 6,
  CU_FUNC_ATTRIBUTE_CACHE_MODE_CA = 7,
  CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES = 8,
  CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT = 9
} CUfunction_attribute;

typedef enum CUpointer_attribute_enum {
  CU_POINTER_ATTRIBUTE_CONTEXT = 1,
  CU_POINTER_ATTRIBUTE_MEMORY_TYPE = 2,
  CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL = 9
} CUpointer_attribute;

typedef enum CUmemorytype_enum {
  CU_MEMORYTYPE_HOST = 1,
  CU_MEMORYTYPE_DEVICE = 2,
  CU_MEMORYTYPE_ARRAY = 3,
  CU_MEMORYTYPE_UNIFIED = 4
} CUmemorytype;

typedef enum CUjit_option_enum {
  CU_JIT_INFO_LOG_BUFFER = 3,
  CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES = 4,
  CU_JIT_ERROR_LOG_BUFFER = 5,
  CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES = 6
} CUjit_option;

/* What is linked. Its values do not matter here. */
typedef int CUjitInputType;

typedef enum CUexternalMemoryHandleType_enum {
  CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD = 1
} CUexternalMemoryHandleType;

/* The handle with which another process opens a memory. */
typedef struct CUipcMemHandle_st {
  char reserved[64];
} CUipcMemHandle;

typedef struct CUipcEventHandle_st {
  char reserved[64];
} CUipcEventHandle;

#define CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS 1u

/* Physical memory of a device, without an address. */
typedef unsigned long long CUmemGenericAllocationHandle;

typedef enum CUmemAllocationType_enum {
  CU_MEM_ALLOCATION_TYPE_PINNED = 1
} CUmemAllocationType;

typedef enum CUmemAllocationHandleType_enum {
  CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR = 1
} CUmemAllocationHandleType;

typedef enum CUmemLocationType_enum {
  CU_MEM_LOCATION_TYPE_DEVICE = 1
} CUmemLocationType;

typedef enum CUmemAccess_flags_enum {
  CU_MEM_ACCESS_FLAGS_PROT_NONE = 0,
  CU_MEM_ACCESS_FLAGS_PROT_READ = 1,
  CU_MEM_ACCESS_FLAGS_PROT_READWRITE = 3
} CUmemAccess_flags;

typedef enum CUmemAllocationGranularity_flags_enum {
  CU_MEM_ALLOC_GRANULARITY_MINIMUM = 0
} CUmemAllocationGranularity_flags;

typedef struct CUmemLocation_st {
  CUmemLocationType type;
  int id;
} CUmemLocation;

typedef struct CUmemAllocationProp_st {
  CUmemAllocationType type;
  CUmemAllocationHandleType requestedHandleTypes;
  CUmemLocation location;
  void *win32HandleMetaData;
  unsigned char allocFlags[8];
} CUmemAllocationProp;

typedef struct CUmemAccessDesc_st {
  CUmemLocation location;
  CUmemAccess_flags flags;
} CUmemAccessDesc;

/* How the calls of a thread behave while a stream is captured. */
typedef enum {
  CU_STREAM_CAPTURE_MODE_GLOBAL = 0,
  CU_STREAM_CAPTURE_MODE_THREAD_LOCAL = 1,
  CU_STREAM_CAPTURE_MODE_RELAXED = 2
} CUstreamCaptureMode;

#define CU_STREAM_DEFAULT 0u
#define CU_STREAM_NON_BLOCKING 1u
#define CU_EVENT_DEFAULT 0u
#define CU_EVENT_BLOCKING_SYNC 1u
#define CU_EVENT_DISABLE_TIMING 2u
#define CU_EVENT_INTERPROCESS 4u
#define CU_MEMHOSTALLOC_PORTABLE 1u
#define CU_MEMHOSTALLOC_DEVICEMAP 2u
#define CU_MEMHOSTREGISTER_PORTABLE 1u

typedef struct CUDA_MEMCPY2D_st {
  size_t srcXInBytes;
  size_t srcY;
  CUmemorytype srcMemoryType;
  const void *srcHost;
  CUdeviceptr srcDevice;
  CUarray srcArray;
  size_t srcPitch;
  size_t dstXInBytes;
  size_t dstY;
  CUmemorytype dstMemoryType;
  void *dstHost;
  CUdeviceptr dstDevice;
  CUarray dstArray;
  size_t dstPitch;
  size_t WidthInBytes;
  size_t Height;
} CUDA_MEMCPY2D;

typedef struct CUDA_MEMCPY3D_st {
  size_t srcXInBytes;
  size_t srcY;
  size_t srcZ;
  size_t srcLOD;
  CUmemorytype srcMemoryType;
  const void *srcHost;
  CUdeviceptr srcDevice;
  CUarray srcArray;
  void *reserved0;
  size_t srcPitch;
  size_t srcHeight; /* rows from one slice to the next one */
  size_t dstXInBytes;
  size_t dstY;
  size_t dstZ;
  size_t dstLOD;
  CUmemorytype dstMemoryType;
  void *dstHost;
  CUdeviceptr dstDevice;
  CUarray dstArray;
  void *reserved1;
  size_t dstPitch;
  size_t dstHeight;
  size_t WidthInBytes;
  size_t Height;
  size_t Depth;
} CUDA_MEMCPY3D;

typedef struct CUDA_EXTERNAL_MEMORY_HANDLE_DESC_st {
  CUexternalMemoryHandleType type;
  union {
    int fd;
    struct {
      void *handle;
      const void *name;
    } win32;
    const void *nvSciBufObject;
  } handle;
  unsigned long long size;
  unsigned int flags;
  unsigned int reserved[16];
} CUDA_EXTERNAL_MEMORY_HANDLE_DESC;

typedef struct CUDA_EXTERNAL_MEMORY_BUFFER_DESC_st {
  unsigned long long offset;
  unsigned long long size;
  unsigned int flags;
  unsigned int reserved[16];
} CUDA_EXTERNAL_MEMORY_BUFFER_DESC;

typedef struct CUlaunchConfig_st {
  unsigned int gridDimX;
  unsigned int gridDimY;
  unsigned int gridDimZ;
  unsigned int blockDimX;
  unsigned int blockDimY;
  unsigned int blockDimZ;
  unsigned int sharedMemBytes;
  CUstream hStream;
  void *attrs;
  unsigned int numAttrs;
} CUlaunchConfig;

/* The parameters of cuCtxCreate_v4(). */
typedef struct CUctxCreateParams_st {
  void *execAffinityParams;
  int numExecAffinityParams;
  void *cigParams;
} CUctxCreateParams;

typedef void (*CUhostFn) (void *user_data);
typedef size_t (*CUoccupancyB2DSize) (int block_size);

typedef unsigned long long CUtexObject;
typedef struct CUmipmappedArray_st *CUmipmappedArray;

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

typedef enum CUlimit_enum {
  CU_LIMIT_STACK_SIZE = 0,
  CU_LIMIT_PRINTF_FIFO_SIZE = 1,
  CU_LIMIT_MALLOC_HEAP_SIZE = 2
} CUlimit;

typedef enum CUarray_format_enum {
  CU_AD_FORMAT_UNSIGNED_INT8 = 0x01,
  CU_AD_FORMAT_UNSIGNED_INT16 = 0x02,
  CU_AD_FORMAT_UNSIGNED_INT32 = 0x03,
  CU_AD_FORMAT_SIGNED_INT8 = 0x08,
  CU_AD_FORMAT_SIGNED_INT16 = 0x09,
  CU_AD_FORMAT_SIGNED_INT32 = 0x0a,
  CU_AD_FORMAT_FLOAT = 0x20
} CUarray_format;

typedef struct CUDA_ARRAY_DESCRIPTOR_st {
  size_t Width;
  size_t Height; /* 0: one dimension */
  CUarray_format Format;
  unsigned int NumChannels;
} CUDA_ARRAY_DESCRIPTOR;

typedef struct CUDA_ARRAY3D_DESCRIPTOR_st {
  size_t Width;
  size_t Height;
  size_t Depth;
  CUarray_format Format;
  unsigned int NumChannels;
  unsigned int Flags;
} CUDA_ARRAY3D_DESCRIPTOR;

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

typedef struct CUDA_RESOURCE_VIEW_DESC_st CUDA_RESOURCE_VIEW_DESC;

/* X (name, exported symbol, arguments) for each entry point that the device
 * supports. The name is that of the API, without the suffix of a version. */
#define SOFTCUDA_FUNCTIONS(X) \
  X (cuInit, cuInit, (unsigned int flags)) \
  X (cuDriverGetVersion, cuDriverGetVersion, (int *version)) \
  X (cuGetErrorName, cuGetErrorName, (CUresult error, const char **name)) \
  X (cuGetErrorString, cuGetErrorString, (CUresult error, const char **text)) \
  X (cuDeviceGetCount, cuDeviceGetCount, (int *count)) \
  X (cuDeviceGet, cuDeviceGet, (CUdevice * device, int ordinal)) \
  X (cuDeviceGetName, cuDeviceGetName, (char *name, int len, CUdevice device)) \
  X (cuDeviceGetUuid, cuDeviceGetUuid, (CUuuid * uuid, CUdevice device)) \
  X (cuDeviceGetUuid_v2, cuDeviceGetUuid_v2, (CUuuid * uuid, CUdevice device)) \
  X (cuDeviceTotalMem, cuDeviceTotalMem_v2, (size_t * bytes, CUdevice device)) \
  X (cuDeviceGetAttribute, cuDeviceGetAttribute, \
      (int *value, CUdevice_attribute attribute, CUdevice device)) \
  X (cuDeviceGetPCIBusId, cuDeviceGetPCIBusId, \
      (char *address, int len, CUdevice device)) \
  X (cuDevicePrimaryCtxRetain, cuDevicePrimaryCtxRetain, \
      (CUcontext * context, CUdevice device)) \
  X (cuDevicePrimaryCtxRelease, cuDevicePrimaryCtxRelease_v2, \
      (CUdevice device)) \
  X (cuDevicePrimaryCtxGetState, cuDevicePrimaryCtxGetState, \
      (CUdevice device, unsigned int *flags, int *active)) \
  X (cuCtxCreate, cuCtxCreate_v2, \
      (CUcontext * context, unsigned int flags, CUdevice device)) \
  X (cuCtxCreate_v3, cuCtxCreate_v3, \
      (CUcontext * context, const void *affinities, int n_affinities, \
          unsigned int flags, CUdevice device)) \
  X (cuCtxCreate_v4, cuCtxCreate_v4, \
      (CUcontext * context, const CUctxCreateParams *params, \
          unsigned int flags, CUdevice device)) \
  X (cuCtxDestroy, cuCtxDestroy_v2, (CUcontext context)) \
  X (cuCtxGetCurrent, cuCtxGetCurrent, (CUcontext * context)) \
  X (cuCtxPushCurrent, cuCtxPushCurrent_v2, (CUcontext context)) \
  X (cuCtxPopCurrent, cuCtxPopCurrent_v2, (CUcontext * context)) \
  X (cuCtxGetDevice, cuCtxGetDevice, (CUdevice * device)) \
  X (cuCtxSynchronize, cuCtxSynchronize, (void) ) \
  X (cuCtxRecordEvent, cuCtxRecordEvent, (CUcontext context, CUevent event)) \
  X (cuThreadExchangeStreamCaptureMode, cuThreadExchangeStreamCaptureMode, \
      (CUstreamCaptureMode * mode)) \
  X (cuStreamCreate, cuStreamCreate, (CUstream * stream, unsigned int flags)) \
  X (cuStreamDestroy, cuStreamDestroy_v2, (CUstream stream)) \
  X (cuStreamQuery, cuStreamQuery, (CUstream stream)) \
  X (cuStreamSynchronize, cuStreamSynchronize, (CUstream stream)) \
  X (cuStreamWaitEvent, cuStreamWaitEvent, \
      (CUstream stream, CUevent event, unsigned int flags)) \
  X (cuLaunchHostFunc, cuLaunchHostFunc, \
      (CUstream stream, CUhostFn function, void *user_data)) \
  X (cuEventCreate, cuEventCreate, (CUevent * event, unsigned int flags)) \
  X (cuEventDestroy, cuEventDestroy_v2, (CUevent event)) \
  X (cuEventRecord, cuEventRecord, (CUevent event, CUstream stream)) \
  X (cuEventQuery, cuEventQuery, (CUevent event)) \
  X (cuEventSynchronize, cuEventSynchronize, (CUevent event)) \
  X (cuEventElapsedTime, cuEventElapsedTime, \
      (float *ms, CUevent start, CUevent end)) \
  X (cuMemGetInfo, cuMemGetInfo_v2, \
      (size_t * free_bytes, size_t * total_bytes)) \
  X (cuMemAlloc, cuMemAlloc_v2, (CUdeviceptr * pointer, size_t size)) \
  X (cuMemAllocPitch, cuMemAllocPitch_v2, \
      (CUdeviceptr * pointer, size_t * pitch, size_t width, size_t height, \
          unsigned int element_size)) \
  X (cuMemFree, cuMemFree_v2, (CUdeviceptr pointer)) \
  X (cuMemHostAlloc, cuMemHostAlloc, \
      (void **pointer, size_t size, unsigned int flags)) \
  X (cuMemFreeHost, cuMemFreeHost, (void *pointer)) \
  X (cuMemHostRegister, cuMemHostRegister_v2, \
      (void *pointer, size_t size, unsigned int flags)) \
  X (cuMemHostUnregister, cuMemHostUnregister, (void *pointer)) \
  X (cuMemcpyHtoD, cuMemcpyHtoD_v2, \
      (CUdeviceptr dst, const void *src, size_t size)) \
  X (cuMemcpyDtoH, cuMemcpyDtoH_v2, (void *dst, CUdeviceptr src, size_t size)) \
  X (cuMemcpyDtoD, cuMemcpyDtoD_v2, \
      (CUdeviceptr dst, CUdeviceptr src, size_t size)) \
  X (cuMemcpyHtoDAsync, cuMemcpyHtoDAsync_v2, \
      (CUdeviceptr dst, const void *src, size_t size, CUstream stream)) \
  X (cuMemcpyDtoHAsync, cuMemcpyDtoHAsync_v2, \
      (void *dst, CUdeviceptr src, size_t size, CUstream stream)) \
  X (cuMemcpyDtoDAsync, cuMemcpyDtoDAsync_v2, \
      (CUdeviceptr dst, CUdeviceptr src, size_t size, CUstream stream)) \
  X (cuMemcpy2D, cuMemcpy2D_v2, (const CUDA_MEMCPY2D *copy)) \
  X (cuMemcpy2DAsync, cuMemcpy2DAsync_v2, \
      (const CUDA_MEMCPY2D *copy, CUstream stream)) \
  X (cuMemsetD8, cuMemsetD8_v2, \
      (CUdeviceptr pointer, unsigned char value, size_t size)) \
  X (cuMemsetD8Async, cuMemsetD8Async, \
      (CUdeviceptr pointer, unsigned char value, size_t size, \
          CUstream stream)) \
  X (cuMemsetD2D8Async, cuMemsetD2D8Async, \
      (CUdeviceptr pointer, size_t pitch, unsigned char value, size_t width, \
          size_t height, CUstream stream)) \
  X (cuMemsetD2D16Async, cuMemsetD2D16Async, \
      (CUdeviceptr pointer, size_t pitch, unsigned short value, size_t width, \
          size_t height, CUstream stream)) \
  X (cuMemsetD2D32Async, cuMemsetD2D32Async, \
      (CUdeviceptr pointer, size_t pitch, unsigned int value, size_t width, \
          size_t height, CUstream stream)) \
  X (cuMemcpyPeerAsync, cuMemcpyPeerAsync, \
      (CUdeviceptr dst, CUcontext dst_context, CUdeviceptr src, \
          CUcontext src_context, size_t size, CUstream stream)) \
  X (cuDeviceCanAccessPeer, cuDeviceCanAccessPeer, \
      (int *can, CUdevice device, CUdevice peer)) \
  X (cuPointerGetAttribute, cuPointerGetAttribute, \
      (void *value, CUpointer_attribute attribute, CUdeviceptr pointer)) \
  X (cuMemGetAddressRange, cuMemGetAddressRange_v2, \
      (CUdeviceptr * start, size_t * size, CUdeviceptr pointer)) \
  X (cuIpcGetEventHandle, cuIpcGetEventHandle, \
      (CUipcEventHandle * handle, CUevent event)) \
  X (cuIpcOpenEventHandle, cuIpcOpenEventHandle, \
      (CUevent * event, CUipcEventHandle handle)) \
  X (cuIpcGetMemHandle, cuIpcGetMemHandle, \
      (CUipcMemHandle * handle, CUdeviceptr pointer)) \
  X (cuIpcOpenMemHandle, cuIpcOpenMemHandle_v2, \
      (CUdeviceptr * pointer, CUipcMemHandle handle, unsigned int flags)) \
  X (cuIpcCloseMemHandle, cuIpcCloseMemHandle, (CUdeviceptr pointer)) \
  X (cuImportExternalMemory, cuImportExternalMemory, \
      (CUexternalMemory * memory, \
          const CUDA_EXTERNAL_MEMORY_HANDLE_DESC *desc)) \
  X (cuExternalMemoryGetMappedBuffer, cuExternalMemoryGetMappedBuffer, \
      (CUdeviceptr * pointer, CUexternalMemory memory, \
          const CUDA_EXTERNAL_MEMORY_BUFFER_DESC *desc)) \
  X (cuDestroyExternalMemory, cuDestroyExternalMemory, \
      (CUexternalMemory memory)) \
  X (cuModuleLoadData, cuModuleLoadData, \
      (CUmodule * module, const void *image)) \
  X (cuModuleLoadDataEx, cuModuleLoadDataEx, \
      (CUmodule * module, const void *image, unsigned int n_options, \
          CUjit_option *options, void **values)) \
  X (cuModuleUnload, cuModuleUnload, (CUmodule module)) \
  X (cuModuleGetFunction, cuModuleGetFunction, \
      (CUfunction * function, CUmodule module, const char *name)) \
  X (cuModuleGetFunctionCount, cuModuleGetFunctionCount, \
      (unsigned int *count, CUmodule module)) \
  X (cuModuleEnumerateFunctions, cuModuleEnumerateFunctions, \
      (CUfunction * functions, unsigned int count, CUmodule module)) \
  X (cuFuncGetName, cuFuncGetName, (const char **name, CUfunction function)) \
  X (cuFuncGetParamInfo, cuFuncGetParamInfo, \
      (CUfunction function, size_t index, size_t * offset, size_t * size)) \
  X (cuFuncGetAttribute, cuFuncGetAttribute, \
      (int *value, CUfunction_attribute attribute, CUfunction function)) \
  X (cuFuncSetAttribute, cuFuncSetAttribute, \
      (CUfunction function, CUfunction_attribute attribute, int value)) \
  X (cuModuleGetGlobal, cuModuleGetGlobal_v2, \
      (CUdeviceptr * pointer, size_t * size, CUmodule module, \
          const char *name)) \
  X (cuOccupancyMaxActiveBlocksPerMultiprocessor, \
      cuOccupancyMaxActiveBlocksPerMultiprocessor, \
      (int *n_blocks, CUfunction function, int block_size, \
          size_t shared_size)) \
  X (cuOccupancyMaxPotentialBlockSize, cuOccupancyMaxPotentialBlockSize, \
      (int *min_grid_size, int *block_size, CUfunction function, \
          CUoccupancyB2DSize shared_of_block, size_t shared_size, \
          int block_size_limit)) \
  X (cuLaunchKernel, cuLaunchKernel, \
      (CUfunction function, unsigned int grid_x, unsigned int grid_y, \
          unsigned int grid_z, unsigned int block_x, unsigned int block_y, \
          unsigned int block_z, unsigned int shared_bytes, CUstream stream, \
          void **params, void **extra)) \
  X (cuLaunchKernelEx, cuLaunchKernelEx, \
      (const CUlaunchConfig *config, CUfunction function, void **params, \
          void **extra)) \
  X (cuCtxEnablePeerAccess, cuCtxEnablePeerAccess, \
      (CUcontext peer, unsigned int flags)) \
  X (cuCtxDisablePeerAccess, cuCtxDisablePeerAccess, (CUcontext peer)) \
  X (cuCtxGetLimit, cuCtxGetLimit, (size_t * value, CUlimit limit)) \
  X (cuCtxSetLimit, cuCtxSetLimit, (CUlimit limit, size_t value)) \
  X (cuMemAllocHost, cuMemAllocHost_v2, (void **pointer, size_t size)) \
  X (cuMemsetD2D8, cuMemsetD2D8_v2, \
      (CUdeviceptr pointer, size_t pitch, unsigned char value, size_t width, \
          size_t height)) \
  X (cuMemsetD2D16, cuMemsetD2D16_v2, \
      (CUdeviceptr pointer, size_t pitch, unsigned short value, size_t width, \
          size_t height)) \
  X (cuMemsetD2D32, cuMemsetD2D32_v2, \
      (CUdeviceptr pointer, size_t pitch, unsigned int value, size_t width, \
          size_t height)) \
  X (cuArrayCreate, cuArrayCreate_v2, \
      (CUarray * array, const CUDA_ARRAY_DESCRIPTOR *descriptor)) \
  X (cuArray3DCreate, cuArray3DCreate_v2, \
      (CUarray * array, const CUDA_ARRAY3D_DESCRIPTOR *descriptor)) \
  X (cuArrayGetDescriptor, cuArrayGetDescriptor_v2, \
      (CUDA_ARRAY_DESCRIPTOR * descriptor, CUarray array)) \
  X (cuArray3DGetDescriptor, cuArray3DGetDescriptor_v2, \
      (CUDA_ARRAY3D_DESCRIPTOR * descriptor, CUarray array)) \
  X (cuArrayDestroy, cuArrayDestroy, (CUarray array)) \
  X (cuMemcpyHtoA, cuMemcpyHtoA_v2, \
      (CUarray dst, size_t offset, const void *src, size_t size)) \
  X (cuMemcpyAtoH, cuMemcpyAtoH_v2, \
      (void *dst, CUarray src, size_t offset, size_t size)) \
  X (cuMemcpyDtoA, cuMemcpyDtoA_v2, \
      (CUarray dst, size_t offset, CUdeviceptr src, size_t size)) \
  X (cuMemcpyAtoD, cuMemcpyAtoD_v2, \
      (CUdeviceptr dst, CUarray src, size_t offset, size_t size)) \
  X (cuMemcpyAtoA, cuMemcpyAtoA_v2, \
      (CUarray dst, size_t dst_offset, CUarray src, size_t src_offset, \
          size_t size)) \
  X (cuLinkCreate, cuLinkCreate_v2, \
      (unsigned int n_options, CUjit_option *options, void **values, \
          CUlinkState *state)) \
  X (cuLinkAddData, cuLinkAddData_v2, \
      (CUlinkState state, CUjitInputType type, void *data, size_t size, \
          const char *name, unsigned int n_options, CUjit_option *options, \
          void **values)) \
  X (cuLinkAddFile, cuLinkAddFile_v2, \
      (CUlinkState state, CUjitInputType type, const char *path, \
          unsigned int n_options, CUjit_option *options, void **values)) \
  X (cuLinkComplete, cuLinkComplete, \
      (CUlinkState state, void **image, size_t *size)) \
  X (cuLinkDestroy, cuLinkDestroy, (CUlinkState state)) \
  X (cuTexObjectCreate, cuTexObjectCreate, \
      (CUtexObject * texture, const CUDA_RESOURCE_DESC *resource, \
          const CUDA_TEXTURE_DESC *desc, const CUDA_RESOURCE_VIEW_DESC *view)) \
  X (cuTexObjectDestroy, cuTexObjectDestroy, (CUtexObject texture)) \
  X (cuIpcOpenMemHandle_v1, cuIpcOpenMemHandle, \
      (CUdeviceptr * pointer, CUipcMemHandle handle, unsigned int flags)) \
  X (cuGetProcAddress_v1, cuGetProcAddress, \
      (const char *name, void **function, int version, uint64_t flags)) \
  X (cuGetProcAddress, cuGetProcAddress_v2, \
      (const char *name, void **function, int version, uint64_t flags, \
          CUdriverProcAddressQueryResult *status)) \
  X (cuDeviceComputeCapability, cuDeviceComputeCapability, \
      (int *major, int *minor, CUdevice device)) \
  X (cuDeviceGetByPCIBusId, cuDeviceGetByPCIBusId, \
      (CUdevice * device, const char *address)) \
  X (cuDevicePrimaryCtxReset, cuDevicePrimaryCtxReset_v2, (CUdevice device)) \
  X (cuDevicePrimaryCtxSetFlags, cuDevicePrimaryCtxSetFlags_v2, \
      (CUdevice device, unsigned int flags)) \
  X (cuCtxAttach, cuCtxAttach, (CUcontext * context, unsigned int flags)) \
  X (cuCtxDetach, cuCtxDetach, (CUcontext context)) \
  X (cuCtxSetCurrent, cuCtxSetCurrent, (CUcontext context)) \
  X (cuCtxGetApiVersion, cuCtxGetApiVersion, \
      (CUcontext context, unsigned int *version)) \
  X (cuCtxGetFlags, cuCtxGetFlags, (unsigned int *flags)) \
  X (cuCtxGetStreamPriorityRange, cuCtxGetStreamPriorityRange, \
      (int *least, int *greatest)) \
  X (cuCtxGetCacheConfig, cuCtxGetCacheConfig, (int *config)) \
  X (cuCtxSetCacheConfig, cuCtxSetCacheConfig, (int config)) \
  X (cuCtxGetSharedMemConfig, cuCtxGetSharedMemConfig, (int *config)) \
  X (cuCtxSetSharedMemConfig, cuCtxSetSharedMemConfig, (int config)) \
  X (cuFuncSetCacheConfig, cuFuncSetCacheConfig, \
      (CUfunction function, int config)) \
  X (cuFuncSetSharedMemConfig, cuFuncSetSharedMemConfig, \
      (CUfunction function, int config)) \
  X (cuStreamCreateWithPriority, cuStreamCreateWithPriority, \
      (CUstream * stream, unsigned int flags, int priority)) \
  X (cuStreamGetFlags, cuStreamGetFlags, \
      (CUstream stream, unsigned int *flags)) \
  X (cuStreamGetPriority, cuStreamGetPriority, \
      (CUstream stream, int *priority)) \
  X (cuMemAllocManaged, cuMemAllocManaged, \
      (CUdeviceptr * pointer, size_t size, unsigned int flags)) \
  X (cuMemHostGetDevicePointer, cuMemHostGetDevicePointer_v2, \
      (CUdeviceptr * device, void *pointer, unsigned int flags)) \
  X (cuMemHostGetFlags, cuMemHostGetFlags, \
      (unsigned int *flags, void *pointer)) \
  X (cuMemcpy, cuMemcpy, (CUdeviceptr dst, CUdeviceptr src, size_t size)) \
  X (cuMemcpyAsync, cuMemcpyAsync, \
      (CUdeviceptr dst, CUdeviceptr src, size_t size, CUstream stream)) \
  X (cuMemcpyPeer, cuMemcpyPeer, \
      (CUdeviceptr dst, CUcontext dst_context, CUdeviceptr src, \
          CUcontext src_context, size_t size)) \
  X (cuMemcpy3D, cuMemcpy3D_v2, (const CUDA_MEMCPY3D *copy)) \
  X (cuMemcpy3DAsync, cuMemcpy3DAsync_v2, \
      (const CUDA_MEMCPY3D *copy, CUstream stream)) \
  X (cuMemcpy2DUnaligned, cuMemcpy2DUnaligned_v2, (const CUDA_MEMCPY2D *copy)) \
  X (cuMemsetD16, cuMemsetD16_v2, \
      (CUdeviceptr pointer, unsigned short value, size_t n)) \
  X (cuMemsetD16Async, cuMemsetD16Async, \
      (CUdeviceptr pointer, unsigned short value, size_t n, CUstream stream)) \
  X (cuMemsetD32, cuMemsetD32_v2, \
      (CUdeviceptr pointer, unsigned int value, size_t n)) \
  X (cuMemsetD32Async, cuMemsetD32Async, \
      (CUdeviceptr pointer, unsigned int value, size_t n, CUstream stream)) \
  X (cuModuleLoad, cuModuleLoad, (CUmodule * module, const char *path)) \
  X (cuFuncSetBlockShape, cuFuncSetBlockShape, \
      (CUfunction function, int x, int y, int z)) \
  X (cuFuncSetSharedSize, cuFuncSetSharedSize, \
      (CUfunction function, unsigned int bytes)) \
  X (cuParamSetSize, cuParamSetSize, \
      (CUfunction function, unsigned int bytes)) \
  X (cuParamSetv, cuParamSetv, \
      (CUfunction function, int offset, void *value, unsigned int bytes)) \
  X (cuParamSeti, cuParamSeti, \
      (CUfunction function, int offset, unsigned int value)) \
  X (cuParamSetf, cuParamSetf, (CUfunction function, int offset, float value)) \
  X (cuLaunch, cuLaunch, (CUfunction function)) \
  X (cuLaunchGrid, cuLaunchGrid, (CUfunction function, int width, int height)) \
  X (cuLaunchGridAsync, cuLaunchGridAsync, \
      (CUfunction function, int width, int height, CUstream stream)) \
  X (cuMemGetAllocationGranularity, cuMemGetAllocationGranularity, \
      (size_t * granularity, const CUmemAllocationProp *properties, \
          CUmemAllocationGranularity_flags option)) \
  X (cuMemCreate, cuMemCreate, \
      (CUmemGenericAllocationHandle * handle, size_t size, \
          const CUmemAllocationProp *properties, unsigned long long flags)) \
  X (cuMemRelease, cuMemRelease, (CUmemGenericAllocationHandle handle)) \
  X (cuMemAddressReserve, cuMemAddressReserve, \
      (CUdeviceptr * pointer, size_t size, size_t alignment, \
          CUdeviceptr wanted, unsigned long long flags)) \
  X (cuMemAddressFree, cuMemAddressFree, (CUdeviceptr pointer, size_t size)) \
  X (cuMemMap, cuMemMap, \
      (CUdeviceptr pointer, size_t size, size_t offset, \
          CUmemGenericAllocationHandle handle, unsigned long long flags)) \
  X (cuMemUnmap, cuMemUnmap, (CUdeviceptr pointer, size_t size)) \
  X (cuMemSetAccess, cuMemSetAccess, \
      (CUdeviceptr pointer, size_t size, const CUmemAccessDesc *access, \
          size_t n)) \
  X (cuMemExportToShareableHandle, cuMemExportToShareableHandle, \
      (void *shareable, CUmemGenericAllocationHandle handle, \
          CUmemAllocationHandleType type, unsigned long long flags)) \
  X (cuMemImportFromShareableHandle, cuMemImportFromShareableHandle, \
      (CUmemGenericAllocationHandle * handle, void *shareable, \
          CUmemAllocationHandleType type)) \
  X (cuProfilerStart, cuProfilerStart, (void) ) \
  X (cuProfilerStop, cuProfilerStop, (void) )

#endif /* SOFTCUDA_DRIVER_API_H */
