/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * bench-device.c: functions for measurements that use the driver
 *
 * Must not depend on what is measured.
 */

#include "bench-device.h"

#include <stdlib.h>

gboolean
bench_check (const vkgdr_cuda *cu, CUresult result, const gchar *function,
    GError **error)
{
  const char *name = NULL;

  if (result == CUDA_SUCCESS)
    return TRUE;
  cu->cuGetErrorName (result, &name);
  g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_FAILED,
      "%s failed (%s, %d)", function, name ? name : "unknown", result);
  return FALSE;
}

gboolean
bench_set_last_error (GError **error)
{
  char *text = vkgdr_last_error ();

  g_set_error_literal (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_FAILED,
      text ? text : "the window has no memory");
  free (text);
  return FALSE;
}

vkgdr_t
bench_open_window (GError **error)
{
  vkgdr_t handle = vkgdr_open (0, VKGDR_OPEN_CURRENT_CONTEXT_BIT);

  if (!handle)
    bench_set_last_error (error);
  return handle;
}
