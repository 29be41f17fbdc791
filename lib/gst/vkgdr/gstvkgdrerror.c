/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * gstvkgdrerror.c: GErrors made of what the driver and libvkgdr answer
 */

#include <stdlib.h>

#include "gstvkgdrprivate.h"

/**
 * SECTION:gstvkgdrerror
 * @title: GstVkgdrError
 * @short_description: errors of the library
 *
 * Messages name what was tried and, where the user can do something, what that
 * is. Where a function does not say which error it sets, a call of the driver
 * failed: %GST_VKGDR_ERROR_NO_MEMORY if memory ran out, else
 * %GST_VKGDR_ERROR_FAILED. As CUDA tells late what went wrong on the device,
 * the call need not be the one that caused it.
 *
 * Since: 0.1
 */

/**
 * gst_vkgdr_error_quark:
 *
 * What %GST_VKGDR_ERROR stands for.
 *
 * Returns: the error domain of the library
 *
 * Since: 0.1
 */
/* The formatter would take the name for a subtraction, and space it out. */
/* clang-format off */
G_DEFINE_QUARK (gst-vkgdr-error-quark, gst_vkgdr_error)
/* clang-format on */

gboolean
gst_vkgdr_check (
    const vkgdr_cuda *cuda, CUresult result, const gchar *what, GError **error)
{
  const char *name = NULL, *text = NULL;

  if (result == CUDA_SUCCESS)
    return TRUE;

  cuda->cuGetErrorName (result, &name);
  cuda->cuGetErrorString (result, &text);
  g_set_error (error, GST_VKGDR_ERROR,
      result == CUDA_ERROR_OUT_OF_MEMORY ? GST_VKGDR_ERROR_NO_MEMORY
                                         : GST_VKGDR_ERROR_FAILED,
      "%s: %s (%s)", what, name ? name : "unknown CUDA error",
      text ? text : "the driver has no text for it");
  return FALSE;
}

void
gst_vkgdr_set_last_error (GError **error, GstVkgdrError code)
{
  char *message = vkgdr_last_error ();

  g_set_error_literal (
      error, GST_VKGDR_ERROR, code, message ? message : "unknown error");
  free (message);
}
