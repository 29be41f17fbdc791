/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * device/error.c: makes GErrors of errors of the driver and libvkgdr
 */

#include <stdlib.h>

#include "device/device-private.h"

/**
 * SECTION:gstvkgdrerror
 * @title: GstVkgdrError
 * @short_description: errors of the library
 *
 * Messages contain the operation that failed and, if possible, what the user
 * can do. If the documentation of a function does not name an error code, a
 * call of the driver failed: the code is %GST_VKGDR_ERROR_NO_MEMORY if memory
 * ran out, otherwise %GST_VKGDR_ERROR_FAILED. CUDA reports errors of the device
 * late, so a call may return an error that an earlier call has caused.
 *
 * Since: 0.1
 */

/**
 * gst_vkgdr_error_quark:
 *
 * Returns the error domain %GST_VKGDR_ERROR.
 *
 * Thread-safe.
 *
 * Returns: the error domain of the library
 *
 * Since: 0.1
 */
/* clang-format would treat the name as a subtraction and add spaces. */
/* clang-format off */
G_DEFINE_QUARK (gst-vkgdr-error-quark, gst_vkgdr_error)
/* clang-format on */

/* Returns what the user can do if @result means that the device failed.
 * Otherwise, returns "": the text of the driver is sufficient. */
static const gchar *
get_remedy (CUresult result)
{
  switch (result) {
  case CUDA_ERROR_ILLEGAL_ADDRESS:
  case CUDA_ERROR_ASSERT:
  case CUDA_ERROR_HARDWARE_STACK_ERROR:
  case CUDA_ERROR_ILLEGAL_INSTRUCTION:
  case CUDA_ERROR_MISALIGNED_ADDRESS:
  case CUDA_ERROR_INVALID_ADDRESS_SPACE:
  case CUDA_ERROR_INVALID_PC:
  case CUDA_ERROR_LAUNCH_FAILED:
    return ". A kernel did something that is not allowed, such as writing "
           "beyond its frame: compute-sanitizer shows where. After that, "
           "NVIDIA's driver does not let this process use the GPU: restart the "
           "process";
  case CUDA_ERROR_LAUNCH_TIMEOUT:
    return ". The driver ended a kernel: a GPU that has a display gives each "
           "kernel only a few seconds. Make each launch do less work, or use "
           "another GPU";
  case CUDA_ERROR_ECC_UNCORRECTABLE:
    return ". The GPU's memory is faulty: see nvidia-smi -q -d ECC, and reset "
           "or replace the GPU";
  case CUDA_ERROR_DEVICE_UNAVAILABLE:
    return ". Another process may use the GPU exclusively, or the GPU may be "
           "lost: see nvidia-smi, and dmesg for a line with Xid";
  case CUDA_ERROR_UNKNOWN:
    return ". The GPU may be lost: see nvidia-smi, and dmesg for a line with "
           "Xid";
  default:
    return "";
  }
}

gboolean
gst_vkgdr_is_lost (CUresult result)
{
  return *get_remedy (result) != '\0';
}

void
gst_vkgdr_set_cuda_error (
    const vkgdr_cuda *cuda, CUresult result, const gchar *what, GError **error)
{
  const char *name = NULL, *text = NULL;

  cuda->cuGetErrorName (result, &name);
  cuda->cuGetErrorString (result, &text);
  g_set_error (error, GST_VKGDR_ERROR,
      result == CUDA_ERROR_OUT_OF_MEMORY ? GST_VKGDR_ERROR_NO_MEMORY
                                         : GST_VKGDR_ERROR_FAILED,
      "%s: %s (%s)%s", what, name ? name : "unknown CUDA error",
      text ? text : "the driver has no text for it", get_remedy (result));
}

void
gst_vkgdr_ensure_error (GError **error, const gchar *what)
{
  if (!*error)
    g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_FAILED,
        "%s failed, and gave no reason", what);
}

void
gst_vkgdr_set_last_error (GError **error, GstVkgdrError code)
{
  char *message = vkgdr_last_error ();

  g_set_error_literal (
      error, GST_VKGDR_ERROR, code, message ? message : "unknown error");
  free (message);
}
