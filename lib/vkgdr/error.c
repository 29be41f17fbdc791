/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * error.c: the calling thread's last error, and the names of result codes
 *
 * A message is in a buffer of the thread, so that an error can be reported when
 * memory has run out, and nothing has to be freed when a thread ends. Must not
 * know the meaning of errors.
 */

#include "error.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <vkgdr/vkgdr.h>

/* Between the two parts of a message. */
#define SEPARATOR ": "

static _Thread_local vkgdr_error last;

/* @message may be larger than the text. */
static void
set_message (char message[VKGDR_MAX_MESSAGE], size_t start)
{
  char *c;

  for (c = message; *c; c++) {
    if (*c == '\n' || *c == '\r')
      *c = ' ';
  }
  memcpy (last.message, message, VKGDR_MAX_MESSAGE);
  last.remedy_start = start;
}

void
vkgdr_error_set (const char *format, ...)
{
  /* Not written directly to the last error, because the arguments may point to
   * it. */
  char message[VKGDR_MAX_MESSAGE];
  va_list args;

  va_start (args, format);
  vsnprintf (message, sizeof (message), format, args);
  va_end (args);
  set_message (message, 0);
}

void
vkgdr_error_set_remedy (const char *remedy, const char *format, ...)
{
  char message[VKGDR_MAX_MESSAGE];
  size_t length;
  va_list args;

  va_start (args, format);
  vsnprintf (message, sizeof (message), format, args);
  va_end (args);
  length = strlen (message);
  snprintf (
      message + length, sizeof (message) - length, SEPARATOR "%s", remedy);
  set_message (message, length + strlen (SEPARATOR));
}

void
vkgdr_error_split (char *reason, char *remedy)
{
  size_t length = strlen (last.message);
  size_t start = last.remedy_start;

  memcpy (reason, last.message, VKGDR_MAX_MESSAGE);
  remedy[0] = '\0';
  /* A message that was cut may not contain the remedy. */
  if (start == 0 || start > length)
    return;
  memcpy (remedy, last.message + start, length + 1 - start);
  reason[start - strlen (SEPARATOR)] = '\0';
}

void
vkgdr_error_clear (void)
{
  last.message[0] = '\0';
  last.remedy_start = 0;
}

void
vkgdr_error_save (vkgdr_error *error)
{
  *error = last;
}

void
vkgdr_error_restore (const vkgdr_error *error)
{
  last = *error;
}

const char *
vkgdr_error_peek (void)
{
  return last.message;
}

char *
vkgdr_last_error (void)
{
  if (!last.message[0])
    return NULL;
  return strdup (last.message);
}

#define CASE(value) \
  case value: \
    return #value

const char *
vkgdr_vk_result_name (VkResult result)
{
  switch ((int) result) {
    CASE (VK_SUCCESS);
    CASE (VK_NOT_READY);
    CASE (VK_TIMEOUT);
    CASE (VK_INCOMPLETE);
    CASE (VK_ERROR_OUT_OF_HOST_MEMORY);
    CASE (VK_ERROR_OUT_OF_DEVICE_MEMORY);
    CASE (VK_ERROR_INITIALIZATION_FAILED);
    CASE (VK_ERROR_DEVICE_LOST);
    CASE (VK_ERROR_MEMORY_MAP_FAILED);
    CASE (VK_ERROR_LAYER_NOT_PRESENT);
    CASE (VK_ERROR_EXTENSION_NOT_PRESENT);
    CASE (VK_ERROR_FEATURE_NOT_PRESENT);
    CASE (VK_ERROR_INCOMPATIBLE_DRIVER);
    CASE (VK_ERROR_TOO_MANY_OBJECTS);
    CASE (VK_ERROR_FORMAT_NOT_SUPPORTED);
    CASE (VK_ERROR_UNKNOWN);
    CASE (VK_ERROR_OUT_OF_POOL_MEMORY);
    CASE (VK_ERROR_INVALID_EXTERNAL_HANDLE);
    CASE (VK_ERROR_FRAGMENTATION);
    CASE (VK_ERROR_INVALID_OPAQUE_CAPTURE_ADDRESS);
    CASE (VK_ERROR_VALIDATION_FAILED_EXT);
    CASE (VK_ERROR_NOT_PERMITTED_KHR);
  default:
    return result < 0 ? "unknown Vulkan error" : "unknown Vulkan result";
  }
}

#define CUDA_CASE(name, value) CASE (name);

const char *
vkgdr_cuda_result_name (CUresult result)
{
  switch (result) {
    VKGDR_CUDA_RESULTS (CUDA_CASE)
  default:
    return "unknown CUDA error";
  }
}

void
vkgdr_error_set_cuda (const char *function, CUresult result, const char *remedy)
{
  vkgdr_error_set ("%s failed (%s, %d): %s", function,
      vkgdr_cuda_result_name (result), result, remedy);
}

bool
vkgdr_error_check_cuda (
    bool ok, const char *function, CUresult result, const char *remedy)
{
  if (ok && result != CUDA_SUCCESS)
    vkgdr_error_set_cuda (function, result, remedy);
  return ok && result == CUDA_SUCCESS;
}
