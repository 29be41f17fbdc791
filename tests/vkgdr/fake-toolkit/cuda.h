/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * cuda.h: as much of the CUDA toolkit's header as docs/examples/c/frames.c
 * needs, with the driver that libvkgdr has loaded
 */

#ifndef FAKE_CUDA_H
#define FAKE_CUDA_H

#include "driver.h"

#define cuDevicePrimaryCtxRetain vkgdr_driver_load ()->cuDevicePrimaryCtxRetain
#define cuCtxPushCurrent vkgdr_driver_load ()->cuCtxPushCurrent
#define cuMemAlloc vkgdr_driver_load ()->cuMemAlloc
#define cuMemcpyDtoH vkgdr_driver_load ()->cuMemcpyDtoH
#define cuMemsetD8Async vkgdr_driver_load ()->cuMemsetD8Async
#define cuModuleLoadData vkgdr_driver_load ()->cuModuleLoadData
#define cuModuleGetFunction vkgdr_driver_load ()->cuModuleGetFunction
#define cuLaunchKernel vkgdr_driver_load ()->cuLaunchKernel

#endif /* FAKE_CUDA_H */
