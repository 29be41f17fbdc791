/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * cuda.h: as much of the CUDA toolkit's header as docs/examples/c/frames.c
 * needs; toolkit.c implements it
 */

#ifndef FAKE_CUDA_H
#define FAKE_CUDA_H

#include <stddef.h>

typedef int CUdevice;
typedef unsigned long long CUdeviceptr;
typedef int CUresult;
typedef struct CUctx_st *CUcontext;
typedef struct CUmod_st *CUmodule;
typedef struct CUfunc_st *CUfunction;
typedef struct CUstream_st *CUstream;

#define CUDA_SUCCESS 0

CUresult cuDevicePrimaryCtxRetain (CUcontext *context, CUdevice device);
CUresult cuCtxPushCurrent (CUcontext context);
CUresult cuMemAlloc (CUdeviceptr *pointer, size_t size);
CUresult cuMemcpyDtoH (void *to, CUdeviceptr from, size_t size);
CUresult cuMemsetD32Async (
    CUdeviceptr pointer, unsigned value, size_t n, CUstream stream);
CUresult cuModuleLoadData (CUmodule *module, const void *image);
CUresult cuModuleGetFunction (
    CUfunction *function, CUmodule module, const char *name);
CUresult cuLaunchKernel (CUfunction function, unsigned grid_x, unsigned grid_y,
    unsigned grid_z, unsigned block_x, unsigned block_y, unsigned block_z,
    unsigned shared, CUstream stream, void **arguments, void **extra);

#endif /* FAKE_CUDA_H */
