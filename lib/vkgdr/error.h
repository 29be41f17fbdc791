/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * error.h: the calling thread's last error, and the names of result codes
 *
 * Knows of Vulkan and CUDA only the names of their results. Private.
 */

#ifndef VKGDR_ERROR_H
#define VKGDR_ERROR_H

#include <stdbool.h>

#include "cuda-driver.h"
#include <vulkan/vulkan_core.h>

/* Size of a message in bytes; a longer one is cut. Messages with paths or the
 * list of a machine's Vulkan devices are the longest ones. */
#define VKGDR_MAX_MESSAGE 2048

/* These functions replace the calling thread's last error. Newlines become
 * spaces, and the arguments may come from vkgdr_error_peek(). @remedy is what
 * the user can do about it; it follows what is wrong. */
void vkgdr_error_set (const char *format, ...)
    __attribute__ ((format (printf, 1, 2)));
void vkgdr_error_set_remedy (const char *remedy, const char *format, ...)
    __attribute__ ((format (printf, 2, 3)));
void vkgdr_error_set_cuda (
    const char *function, CUresult result, const char *remedy);

/* Sets the error if the CUDA function has failed and @ok is true, so that only
 * the first of several failures is reported. Returns @ok if the function has
 * not failed, otherwise false. */
bool vkgdr_error_check_cuda (
    bool ok, const char *function, CUresult result, const char *remedy);

/* Copies the two parts of the last error to buffers of VKGDR_MAX_MESSAGE bytes.
 * Only vkgdr_error_set_remedy() sets a remedy. */
void vkgdr_error_split (char *reason, char *remedy);

/* A copy of a thread's last error, which can be set in another thread. */
typedef struct vkgdr_error {
  char message[VKGDR_MAX_MESSAGE];
  size_t remedy_start; /* offset in the message; 0: there is no remedy */
} vkgdr_error;

void vkgdr_error_save (vkgdr_error *error);
void vkgdr_error_restore (const vkgdr_error *error);

/* Marks the calling thread's last call as successful. */
void vkgdr_error_clear (void);

/* Returns the last error, "" without one. It is valid until it is set again. */
const char *vkgdr_error_peek (void);

/* Return names such as VK_NOT_READY and CUDA_ERROR_UNKNOWN. No driver is
 * needed, unlike for cuGetErrorName(). */
const char *vkgdr_vk_result_name (VkResult result);
const char *vkgdr_cuda_result_name (CUresult result);

#endif /* VKGDR_ERROR_H */
