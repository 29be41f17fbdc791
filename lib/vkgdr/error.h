/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * error.h: the calling thread's last error, and the names of result codes
 *
 * Knows of Vulkan and CUDA only the names of their results. Private.
 */

#ifndef VKGDR_ERROR_H
#define VKGDR_ERROR_H

#include "cuda-driver.h"
#include <vulkan/vulkan_core.h>

/* Size of a message in bytes; a longer one is cut. Messages with paths or the
 * list of a machine's Vulkan devices are the longest ones. */
#define VKGDR_MAX_MESSAGE 2048

/**
 * vkgdr_error_set:
 * @format: as for printf(); the arguments may come from vkgdr_error_peek().
 *   Newlines become spaces
 *
 * Replaces the calling thread's last error.
 */
void vkgdr_error_set (const char *format, ...)
    __attribute__ ((format (printf, 1, 2)));

/**
 * vkgdr_error_set_remedy:
 * @remedy: what the user can do about it
 * @format: what is wrong, as for printf()
 *
 * Replaces the calling thread's last error by "what is wrong: remedy". The two
 * parts can be read one by one with vkgdr_error_split().
 */
void vkgdr_error_set_remedy (const char *remedy, const char *format, ...)
    __attribute__ ((format (printf, 2, 3)));

/**
 * vkgdr_error_set_cuda:
 * @function: the function of CUDA that failed
 * @remedy: what the user can do about it
 *
 * Replaces the calling thread's last error.
 */
void vkgdr_error_set_cuda (
    const char *function, CUresult result, const char *remedy);

/**
 * vkgdr_error_split:
 * @reason: (out): VKGDR_MAX_MESSAGE bytes: what is wrong
 * @remedy: (out): VKGDR_MAX_MESSAGE bytes: what the user can do about it, ""
 *   unless the error was set by vkgdr_error_set_remedy()
 *
 * Copies the two parts of the calling thread's last error.
 */
void vkgdr_error_split (char *reason, char *remedy);

/**
 * vkgdr_error:
 *
 * A copy of a thread's last error.
 */
typedef struct vkgdr_error {
  char message[VKGDR_MAX_MESSAGE];
  size_t remedy_start; /* offset in the message; 0: there is no remedy */
} vkgdr_error;

/**
 * vkgdr_error_save:
 * @error: (out): the calling thread's last error
 */
void vkgdr_error_save (vkgdr_error *error);

/**
 * vkgdr_error_restore:
 * @error: the calling thread's new last error, which may be another thread's
 */
void vkgdr_error_restore (const vkgdr_error *error);

/**
 * vkgdr_error_clear:
 *
 * Marks the calling thread's last call as successful.
 */
void vkgdr_error_clear (void);

/**
 * vkgdr_error_peek:
 *
 * Returns: (transfer none): the calling thread's last error, "" without one,
 *   valid until it is set again
 */
const char *vkgdr_error_peek (void);

/**
 * vkgdr_vk_result_name:
 *
 * Returns: (transfer none): the name of @result, such as VK_NOT_READY
 */
const char *vkgdr_vk_result_name (VkResult result);

/**
 * vkgdr_cuda_result_name:
 *
 * Returns: (transfer none): the name of @result, such as CUDA_ERROR_UNKNOWN.
 *   Needs no driver, unlike cuGetErrorName()
 */
const char *vkgdr_cuda_result_name (CUresult result);

#endif /* VKGDR_ERROR_H */
