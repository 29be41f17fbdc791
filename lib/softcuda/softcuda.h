/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * softcuda.h: what softcuda's libcuda.so.1 offers beyond the CUDA driver API
 *
 * A caller looks the functions up with dlsym(); a driver that lacks them is
 * not softcuda. Include cuda-driver.h, or another source of CUuuid and
 * CUresult, first. Not installed.
 */

#ifndef SOFTCUDA_H
#define SOFTCUDA_H

#define SOFTCUDA_API __attribute__ ((visibility ("default")))

/**
 * softcudaSetUuid:
 * @uuid: what cuDeviceGetUuid() gives from now on
 *
 * Makes the software device the same as a Vulkan device, so that those who
 * look for the Vulkan device of a CUDA device by its UUID find it. May be
 * called before cuInit(). Thread-safe.
 *
 * Returns: CUDA_SUCCESS, or CUDA_ERROR_INVALID_VALUE if @uuid is NULL
 */
SOFTCUDA_API CUresult softcudaSetUuid (const CUuuid *uuid);

/**
 * softcudaFail:
 * @spec: (nullable): the text that SOFTCUDA_FAIL takes, NULL to clear it
 *
 * A comma-separated list of NAME:N[+][:ERROR]: the Nth call from now on (the
 * first is 1, all threads count together) of the entry point NAME, written
 * without `_v2`, does nothing and returns ERROR: a name or number, by default
 * CUDA_ERROR_UNKNOWN. With a plus, so do all calls that follow; the name `*` is
 * every entry point. The environment's SOFTCUDA_FAIL is read by cuInit() when
 * it has changed. May be called before cuInit(). Thread-safe.
 *
 * Returns: CUDA_SUCCESS, or CUDA_ERROR_INVALID_VALUE if @spec is malformed, and
 *   what was set before stays
 */
SOFTCUDA_API CUresult softcudaFail (const char *spec);

/**
 * softcudaCountCalls:
 * @name: an entry point, written without `_v2`, or `*` for all of them
 *
 * Tells how often the calling thread has called an entry point, whether the
 * call was successful or not. For tests of what a program asks of the driver.
 *
 * Returns: the number of calls since the thread began; 0 if there is no such
 *   entry point
 */
SOFTCUDA_API unsigned long softcudaCountCalls (const char *name);

#endif /* SOFTCUDA_H */
