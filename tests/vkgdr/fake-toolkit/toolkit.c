/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * toolkit.c: the functions of fake-toolkit, found in the driver and the NVRTC
 * that the tests use
 */

#include "cuda.h"
#include "nvrtc.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

/* Of libvkgdr. */
const void *vkgdr_driver_load (void);
int vkgdr_driver_is_software (void);
const char *vkgdr_driver_softcuda_dir (void);

static void *
find (const char *library, const char *name)
{
  char path[4096];
  void *handle, *function;

  vkgdr_driver_load ();
  snprintf (path, sizeof (path), "%s%s%s",
      vkgdr_driver_is_software () ? vkgdr_driver_softcuda_dir () : "",
      vkgdr_driver_is_software () ? "/" : "", library);
  handle = dlopen (path, RTLD_NOW);
  function = handle ? dlsym (handle, name) : NULL;
  if (!function) {
    fprintf (stderr, "%s has no %s\n", path, name);
    exit (77);
  }
  return function;
}

#define FORWARD(library, symbol, name, parameters, arguments) \
  int name parameters \
  { \
    int (*function) parameters; \
\
    *(void **) &function = find (library, symbol); \
    return function arguments; \
  }

#define CU(symbol, name, parameters, arguments) \
  FORWARD ("libcuda.so.1", symbol, name, parameters, arguments)
#define NVRTC(name, parameters, arguments) \
  FORWARD ("libnvrtc.so.13", #name, name, parameters, arguments)

CU ("cuDevicePrimaryCtxRetain", cuDevicePrimaryCtxRetain,
    (CUcontext * context, CUdevice device), (context, device))
CU ("cuCtxPushCurrent_v2", cuCtxPushCurrent, (CUcontext context), (context))
CU ("cuMemAlloc_v2", cuMemAlloc, (CUdeviceptr * pointer, size_t size),
    (pointer, size))
CU ("cuMemcpyDtoH_v2", cuMemcpyDtoH, (void *to, CUdeviceptr from, size_t size),
    (to, from, size))
CU ("cuMemsetD32Async", cuMemsetD32Async,
    (CUdeviceptr pointer, unsigned value, size_t n, CUstream stream),
    (pointer, value, n, stream))
CU ("cuModuleLoadData", cuModuleLoadData,
    (CUmodule * module, const void *image), (module, image))
CU ("cuModuleGetFunction", cuModuleGetFunction,
    (CUfunction * function_out, CUmodule module, const char *name),
    (function_out, module, name))
CU ("cuLaunchKernel", cuLaunchKernel,
    (CUfunction kernel, unsigned grid_x, unsigned grid_y, unsigned grid_z,
        unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
        CUstream stream, void **arguments, void **extra),
    (kernel, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared, stream,
        arguments, extra))
NVRTC (nvrtcCreateProgram,
    (nvrtcProgram * program, const char *source, const char *name, int n,
        const char *const *headers, const char *const *names),
    (program, source, name, n, headers, names))
NVRTC (nvrtcCompileProgram,
    (nvrtcProgram program, int n, const char *const *options),
    (program, n, options))
NVRTC (nvrtcGetPTX, (nvrtcProgram program, char *ptx), (program, ptx))
