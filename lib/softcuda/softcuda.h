/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * softcuda.h: functions of softcuda's libcuda.so.1 that are not in the CUDA
 * driver API
 *
 * Callers find these functions with dlsym(). A driver without them is not
 * softcuda. Include cuda-driver.h, or another source of CUuuid and
 * CUresult, first. Not installed.
 */

#ifndef SOFTCUDA_H
#define SOFTCUDA_H

#define SOFTCUDA_API __attribute__ ((visibility ("default")))

/**
 * softcudaSetUuid:
 * @uuid: the value that cuDeviceGetUuid() returns from now on
 *
 * Sets the UUID of the software device to the UUID of a Vulkan device. So
 * programs find the Vulkan device that belongs to the CUDA device. May be
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
 * CUDA_ERROR_UNKNOWN. With a plus, all later calls return ERROR, too. The name
 * `*` means every entry point. cuInit() reads the environment variable
 * SOFTCUDA_FAIL if it has changed. May be called before cuInit(). Thread-safe.
 *
 * Returns: CUDA_SUCCESS, or CUDA_ERROR_INVALID_VALUE if @spec is malformed;
 * then the previous list stays in force
 */
SOFTCUDA_API CUresult softcudaFail (const char *spec);

/**
 * softcudaCountCalls:
 * @name: an entry point, written without `_v2`, or `*` for all of them
 *
 * Counts the calls of an entry point by the calling thread, successful or not.
 * For tests that check which driver calls a program makes.
 *
 * Returns: the number of calls since the thread began; 0 if there is no such
 *   entry point
 */
SOFTCUDA_API unsigned long softcudaCountCalls (const char *name);

#endif /* SOFTCUDA_H */
