/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * softcuda.h: functions of softcuda's libcuda.so.1 that are not in the CUDA
 * driver API
 *
 * Callers find these functions with dlsym(). A driver without them is not
 * softcuda. Include driver-api.h, or another source of CUresult, first. Not
 * installed.
 */

#ifndef SOFTCUDA_H
#define SOFTCUDA_H

#define SOFTCUDA_API __attribute__ ((visibility ("default")))

/**
 * softcudaFail:
 * @spec: (nullable): the text that SOFTCUDA_FAIL takes, NULL to clear it
 *
 * Makes calls of entry points fail. @spec is a comma-separated list of
 * NAME:N[+][:ERROR]. NAME is an entry point, written without `_v2`, or `*` for
 * every entry point. The Nth call of it from now on does nothing and returns
 * ERROR. The first call is number 1, and the calls of all threads are counted
 * together. With a plus, all later calls return ERROR, too. ERROR is the name
 * or the number of an error, by default CUDA_ERROR_UNKNOWN. cuInit() reads the
 * environment variable SOFTCUDA_FAIL if it has changed. May be called before
 * cuInit(). Thread-safe.
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
