/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * cuda-driver.h: the part of the CUDA driver API that this project uses
 *
 * The types are those of the ABI of libcuda.so.1, declared here so that a build
 * needs no CUDA toolkit. Only used functions are declared; values are those of
 * NVIDIA's documentation of the driver API. Not installed.
 *
 * VKGDR_CUDA_FUNCTIONS is the only list of functions: the loader resolves them,
 * and all other code calls them through vkgdr_cuda.
 */

#ifndef VKGDR_CUDA_DRIVER_H
#define VKGDR_CUDA_DRIVER_H

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

typedef struct CUuuid_st {
  char bytes[16];
} CUuuid;

/* All results that have a name here. The enumeration, and the names that
 * vkgdr_cuda_result_name () returns, are made of this list. clang-format would
 * put several in a line. */
/* clang-format off */
#define VKGDR_CUDA_RESULTS(X) \
  X (CUDA_SUCCESS, 0) \
  X (CUDA_ERROR_INVALID_VALUE, 1) \
  X (CUDA_ERROR_OUT_OF_MEMORY, 2) \
  X (CUDA_ERROR_NOT_INITIALIZED, 3) \
  X (CUDA_ERROR_DEINITIALIZED, 4) \
  X (CUDA_ERROR_STUB_LIBRARY, 34) \
  X (CUDA_ERROR_DEVICE_UNAVAILABLE, 46) \
  X (CUDA_ERROR_NO_DEVICE, 100) \
  X (CUDA_ERROR_INVALID_DEVICE, 101) \
  X (CUDA_ERROR_INVALID_IMAGE, 200) \
  X (CUDA_ERROR_INVALID_CONTEXT, 201) \
  X (CUDA_ERROR_MAP_FAILED, 205) \
  X (CUDA_ERROR_ALREADY_MAPPED, 208) \
  X (CUDA_ERROR_NO_BINARY_FOR_GPU, 209) \
  X (CUDA_ERROR_ECC_UNCORRECTABLE, 214) \
  X (CUDA_ERROR_INVALID_PTX, 218) \
  X (CUDA_ERROR_UNSUPPORTED_PTX_VERSION, 222) \
  X (CUDA_ERROR_INVALID_SOURCE, 300) \
  X (CUDA_ERROR_FILE_NOT_FOUND, 301) \
  X (CUDA_ERROR_OPERATING_SYSTEM, 304) \
  X (CUDA_ERROR_INVALID_HANDLE, 400) \
  X (CUDA_ERROR_NOT_FOUND, 500) \
  X (CUDA_ERROR_NOT_READY, 600) \
  X (CUDA_ERROR_ILLEGAL_ADDRESS, 700) \
  X (CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, 701) \
  X (CUDA_ERROR_LAUNCH_TIMEOUT, 702) \
  X (CUDA_ERROR_ASSERT, 710) \
  X (CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED, 712) \
  X (CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED, 713) \
  X (CUDA_ERROR_HARDWARE_STACK_ERROR, 714) \
  X (CUDA_ERROR_ILLEGAL_INSTRUCTION, 715) \
  X (CUDA_ERROR_MISALIGNED_ADDRESS, 716) \
  X (CUDA_ERROR_INVALID_ADDRESS_SPACE, 717) \
  X (CUDA_ERROR_INVALID_PC, 718) \
  X (CUDA_ERROR_LAUNCH_FAILED, 719) \
  X (CUDA_ERROR_NOT_PERMITTED, 800) \
  X (CUDA_ERROR_NOT_SUPPORTED, 801) \
  X (CUDA_ERROR_SYSTEM_DRIVER_MISMATCH, 803) \
  X (CUDA_ERROR_UNKNOWN, 999)
/* clang-format on */

#define VKGDR_CUDA_RESULT_VALUE(name, value) name = value,
typedef enum cudaError_enum {
  VKGDR_CUDA_RESULTS (VKGDR_CUDA_RESULT_VALUE)
} CUresult;
#undef VKGDR_CUDA_RESULT_VALUE

typedef enum CUdevice_attribute_enum {
  CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT = 14,
  CU_DEVICE_ATTRIBUTE_COMPUTE_MODE = 20,
  CU_DEVICE_ATTRIBUTE_TEXTURE_PITCH_ALIGNMENT = 51,
  CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 75,
  CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 76
} CUdevice_attribute;

/* The handle of a stream that every context has. */
#define CU_STREAM_LEGACY ((CUstream) 0x1)

typedef enum CUcomputemode_enum {
  CU_COMPUTEMODE_DEFAULT = 0,
  CU_COMPUTEMODE_PROHIBITED = 2,
  CU_COMPUTEMODE_EXCLUSIVE_PROCESS = 3
} CUcomputemode;

typedef enum CUfunction_attribute_enum {
  CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK = 0
} CUfunction_attribute;

typedef enum CUpointer_attribute_enum {
  CU_POINTER_ATTRIBUTE_CONTEXT = 1,
  CU_POINTER_ATTRIBUTE_MEMORY_TYPE = 2,
  CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL = 9
} CUpointer_attribute;

typedef enum CUmemorytype_enum {
  CU_MEMORYTYPE_HOST = 1,
  CU_MEMORYTYPE_DEVICE = 2
} CUmemorytype;

typedef enum CUjit_option_enum {
  CU_JIT_ERROR_LOG_BUFFER = 5,
  CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES = 6
} CUjit_option;

typedef enum CUexternalMemoryHandleType_enum {
  CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD = 1
} CUexternalMemoryHandleType;

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
  struct {
    unsigned char compressionType;
    unsigned char gpuDirectRDMACapable;
    unsigned short usage;
    unsigned char reserved[4];
  } allocFlags;
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

#define CU_STREAM_NON_BLOCKING 1u
#define CU_EVENT_DEFAULT 0u
#define CU_EVENT_DISABLE_TIMING 2u
#define CU_MEMHOSTALLOC_PORTABLE 1u
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

typedef void (*CUhostFn) (void *user_data);
typedef size_t (*CUoccupancyB2DSize) (int block_size);

/* X (name, exported symbol, need, arguments)
 *
 * name       field of vkgdr_cuda, the API's name without a version suffix
 * symbol     the symbol that libcuda.so.1 exports for it
 * need       REQUIRED, or OPTIONAL: NULL in the table if the driver is
 *            older than the function
 */
#define VKGDR_CUDA_FUNCTIONS(X) \
  X (cuInit, cuInit, REQUIRED, (unsigned int flags)) \
  X (cuDriverGetVersion, cuDriverGetVersion, REQUIRED, (int *version)) \
  X (cuGetErrorName, cuGetErrorName, REQUIRED, \
      (CUresult error, const char **name)) \
  X (cuGetErrorString, cuGetErrorString, REQUIRED, \
      (CUresult error, const char **text)) \
  X (cuDeviceGetCount, cuDeviceGetCount, REQUIRED, (int *count)) \
  X (cuDeviceGet, cuDeviceGet, REQUIRED, (CUdevice * device, int ordinal)) \
  X (cuDeviceGetName, cuDeviceGetName, REQUIRED, \
      (char *name, int len, CUdevice device)) \
  X (cuDeviceGetUuid, cuDeviceGetUuid, REQUIRED, \
      (CUuuid * uuid, CUdevice device)) \
  X (cuDeviceGetUuid_v2, cuDeviceGetUuid_v2, OPTIONAL, \
      (CUuuid * uuid, CUdevice device)) \
  X (cuDeviceTotalMem, cuDeviceTotalMem_v2, REQUIRED, \
      (size_t * bytes, CUdevice device)) \
  X (cuDeviceGetAttribute, cuDeviceGetAttribute, REQUIRED, \
      (int *value, CUdevice_attribute attribute, CUdevice device)) \
  X (cuDeviceGetPCIBusId, cuDeviceGetPCIBusId, REQUIRED, \
      (char *address, int len, CUdevice device)) \
  X (cuDevicePrimaryCtxRetain, cuDevicePrimaryCtxRetain, REQUIRED, \
      (CUcontext * context, CUdevice device)) \
  X (cuDevicePrimaryCtxRelease, cuDevicePrimaryCtxRelease_v2, REQUIRED, \
      (CUdevice device)) \
  X (cuCtxCreate, cuCtxCreate_v2, REQUIRED, \
      (CUcontext * context, unsigned int flags, CUdevice device)) \
  X (cuCtxDestroy, cuCtxDestroy_v2, REQUIRED, (CUcontext context)) \
  X (cuCtxGetCurrent, cuCtxGetCurrent, REQUIRED, (CUcontext * context)) \
  X (cuCtxPushCurrent, cuCtxPushCurrent_v2, REQUIRED, (CUcontext context)) \
  X (cuCtxPopCurrent, cuCtxPopCurrent_v2, REQUIRED, (CUcontext * context)) \
  X (cuCtxGetDevice, cuCtxGetDevice, REQUIRED, (CUdevice * device)) \
  X (cuCtxSynchronize, cuCtxSynchronize, REQUIRED, (void) ) \
  X (cuCtxRecordEvent, cuCtxRecordEvent, OPTIONAL, \
      (CUcontext context, CUevent event)) \
  X (cuThreadExchangeStreamCaptureMode, cuThreadExchangeStreamCaptureMode, \
      OPTIONAL, (CUstreamCaptureMode * mode)) \
  X (cuStreamCreate, cuStreamCreate, REQUIRED, \
      (CUstream * stream, unsigned int flags)) \
  X (cuStreamDestroy, cuStreamDestroy_v2, REQUIRED, (CUstream stream)) \
  X (cuStreamQuery, cuStreamQuery, REQUIRED, (CUstream stream)) \
  X (cuStreamSynchronize, cuStreamSynchronize, REQUIRED, (CUstream stream)) \
  X (cuStreamWaitEvent, cuStreamWaitEvent, REQUIRED, \
      (CUstream stream, CUevent event, unsigned int flags)) \
  X (cuLaunchHostFunc, cuLaunchHostFunc, REQUIRED, \
      (CUstream stream, CUhostFn function, void *user_data)) \
  X (cuEventCreate, cuEventCreate, REQUIRED, \
      (CUevent * event, unsigned int flags)) \
  X (cuEventDestroy, cuEventDestroy_v2, REQUIRED, (CUevent event)) \
  X (cuEventRecord, cuEventRecord, REQUIRED, (CUevent event, CUstream stream)) \
  X (cuEventQuery, cuEventQuery, REQUIRED, (CUevent event)) \
  X (cuEventSynchronize, cuEventSynchronize, REQUIRED, (CUevent event)) \
  X (cuEventElapsedTime, cuEventElapsedTime, REQUIRED, \
      (float *ms, CUevent start, CUevent end)) \
  X (cuMemGetInfo, cuMemGetInfo_v2, REQUIRED, \
      (size_t * free_bytes, size_t * total_bytes)) \
  X (cuMemAlloc, cuMemAlloc_v2, REQUIRED, \
      (CUdeviceptr * pointer, size_t size)) \
  X (cuMemFree, cuMemFree_v2, REQUIRED, (CUdeviceptr pointer)) \
  X (cuMemHostAlloc, cuMemHostAlloc, REQUIRED, \
      (void **pointer, size_t size, unsigned int flags)) \
  X (cuMemFreeHost, cuMemFreeHost, REQUIRED, (void *pointer)) \
  X (cuMemHostRegister, cuMemHostRegister_v2, REQUIRED, \
      (void *pointer, size_t size, unsigned int flags)) \
  X (cuMemHostUnregister, cuMemHostUnregister, REQUIRED, (void *pointer)) \
  X (cuMemcpyHtoD, cuMemcpyHtoD_v2, REQUIRED, \
      (CUdeviceptr dst, const void *src, size_t size)) \
  X (cuMemcpyDtoH, cuMemcpyDtoH_v2, REQUIRED, \
      (void *dst, CUdeviceptr src, size_t size)) \
  X (cuMemcpyHtoDAsync, cuMemcpyHtoDAsync_v2, REQUIRED, \
      (CUdeviceptr dst, const void *src, size_t size, CUstream stream)) \
  X (cuMemcpyDtoHAsync, cuMemcpyDtoHAsync_v2, REQUIRED, \
      (void *dst, CUdeviceptr src, size_t size, CUstream stream)) \
  X (cuMemcpyDtoDAsync, cuMemcpyDtoDAsync_v2, REQUIRED, \
      (CUdeviceptr dst, CUdeviceptr src, size_t size, CUstream stream)) \
  X (cuMemcpy2DAsync, cuMemcpy2DAsync_v2, REQUIRED, \
      (const CUDA_MEMCPY2D *copy, CUstream stream)) \
  X (cuMemsetD8, cuMemsetD8_v2, REQUIRED, \
      (CUdeviceptr pointer, unsigned char value, size_t size)) \
  X (cuMemsetD8Async, cuMemsetD8Async, REQUIRED, \
      (CUdeviceptr pointer, unsigned char value, size_t size, \
          CUstream stream)) \
  X (cuMemcpyPeerAsync, cuMemcpyPeerAsync, OPTIONAL, \
      (CUdeviceptr dst, CUcontext dst_context, CUdeviceptr src, \
          CUcontext src_context, size_t size, CUstream stream)) \
  X (cuPointerGetAttribute, cuPointerGetAttribute, REQUIRED, \
      (void *value, CUpointer_attribute attribute, CUdeviceptr pointer)) \
  X (cuImportExternalMemory, cuImportExternalMemory, REQUIRED, \
      (CUexternalMemory * memory, \
          const CUDA_EXTERNAL_MEMORY_HANDLE_DESC *desc)) \
  X (cuExternalMemoryGetMappedBuffer, cuExternalMemoryGetMappedBuffer, \
      REQUIRED, \
      (CUdeviceptr * pointer, CUexternalMemory memory, \
          const CUDA_EXTERNAL_MEMORY_BUFFER_DESC *desc)) \
  X (cuDestroyExternalMemory, cuDestroyExternalMemory, REQUIRED, \
      (CUexternalMemory memory)) \
  X (cuModuleLoadData, cuModuleLoadData, REQUIRED, \
      (CUmodule * module, const void *image)) \
  X (cuModuleLoadDataEx, cuModuleLoadDataEx, REQUIRED, \
      (CUmodule * module, const void *image, unsigned int n_options, \
          CUjit_option *options, void **values)) \
  X (cuModuleUnload, cuModuleUnload, REQUIRED, (CUmodule module)) \
  X (cuModuleGetFunction, cuModuleGetFunction, REQUIRED, \
      (CUfunction * function, CUmodule module, const char *name)) \
  X (cuModuleGetFunctionCount, cuModuleGetFunctionCount, OPTIONAL, \
      (unsigned int *count, CUmodule module)) \
  X (cuModuleEnumerateFunctions, cuModuleEnumerateFunctions, OPTIONAL, \
      (CUfunction * functions, unsigned int count, CUmodule module)) \
  X (cuFuncGetName, cuFuncGetName, OPTIONAL, \
      (const char **name, CUfunction function)) \
  X (cuFuncGetParamInfo, cuFuncGetParamInfo, OPTIONAL, \
      (CUfunction function, size_t index, size_t * offset, size_t * size)) \
  X (cuFuncGetAttribute, cuFuncGetAttribute, REQUIRED, \
      (int *value, CUfunction_attribute attribute, CUfunction function)) \
  X (cuOccupancyMaxPotentialBlockSize, cuOccupancyMaxPotentialBlockSize, \
      REQUIRED, \
      (int *min_grid_size, int *block_size, CUfunction function, \
          CUoccupancyB2DSize shared_of_block, size_t shared_size, \
          int block_size_limit)) \
  X (cuLaunchKernel, cuLaunchKernel, REQUIRED, \
      (CUfunction function, unsigned int grid_x, unsigned int grid_y, \
          unsigned int grid_z, unsigned int block_x, unsigned int block_y, \
          unsigned int block_z, unsigned int shared_bytes, CUstream stream, \
          void **params, void **extra))

/* Like VKGDR_CUDA_FUNCTIONS, for the management of virtual memory. This is a
 * separate list, because only some drivers have these functions, and softcuda
 * does not need them. */
#define VKGDR_CUDA_VMM_FUNCTIONS(X) \
  X (cuMemGetAllocationGranularity, cuMemGetAllocationGranularity, OPTIONAL, \
      (size_t * granularity, const CUmemAllocationProp *properties, \
          CUmemAllocationGranularity_flags option)) \
  X (cuMemCreate, cuMemCreate, OPTIONAL, \
      (CUmemGenericAllocationHandle * handle, size_t size, \
          const CUmemAllocationProp *properties, unsigned long long flags)) \
  X (cuMemRelease, cuMemRelease, OPTIONAL, \
      (CUmemGenericAllocationHandle handle)) \
  X (cuMemAddressReserve, cuMemAddressReserve, OPTIONAL, \
      (CUdeviceptr * pointer, size_t size, size_t alignment, \
          CUdeviceptr wanted, unsigned long long flags)) \
  X (cuMemAddressFree, cuMemAddressFree, OPTIONAL, \
      (CUdeviceptr pointer, size_t size)) \
  X (cuMemMap, cuMemMap, OPTIONAL, \
      (CUdeviceptr pointer, size_t size, size_t offset, \
          CUmemGenericAllocationHandle handle, unsigned long long flags)) \
  X (cuMemUnmap, cuMemUnmap, OPTIONAL, (CUdeviceptr pointer, size_t size)) \
  X (cuMemSetAccess, cuMemSetAccess, OPTIONAL, \
      (CUdeviceptr pointer, size_t size, const CUmemAccessDesc *access, \
          size_t count)) \
  X (cuMemExportToShareableHandle, cuMemExportToShareableHandle, OPTIONAL, \
      (void *shareable, CUmemGenericAllocationHandle handle, \
          CUmemAllocationHandleType type, unsigned long long flags)) \
  X (cuMemImportFromShareableHandle, cuMemImportFromShareableHandle, OPTIONAL, \
      (CUmemGenericAllocationHandle * handle, void *shareable, \
          CUmemAllocationHandleType type))

/**
 * vkgdr_cuda:
 *
 * The driver's entry points, one field each. Filled once for the process by
 * vkgdr_driver_load(), read-only and valid until the process ends.
 */
typedef struct vkgdr_cuda {
#define VKGDR_CUDA_FIELD(name, symbol, need, args) CUresult (*name) args;
  VKGDR_CUDA_FUNCTIONS (VKGDR_CUDA_FIELD)
  VKGDR_CUDA_VMM_FUNCTIONS (VKGDR_CUDA_FIELD)
#undef VKGDR_CUDA_FIELD
} vkgdr_cuda;

#endif /* VKGDR_CUDA_DRIVER_H */
