/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * device/device.c: counts the CUDA devices
 *
 * Queries the driver and opens no device. Does not describe windows, which need
 * Vulkan: gst_vkgdr_context_describe() does this.
 */

#include "device/device-private.h"

/**
 * SECTION:gstvkgdrdevice
 * @title: Devices
 * @short_description: the number of devices, and the state of their memory
 *
 * gst_vkgdr_context_new() opens a device by its index.
 */

static const vkgdr_cuda *
load_driver (GError **error)
{
  const vkgdr_cuda *cuda = vkgdr_driver_load ();

  if (!cuda)
    gst_vkgdr_set_last_error (error, GST_VKGDR_ERROR_NO_DRIVER);
  return cuda;
}

/**
 * gst_vkgdr_device_count:
 * @error: return location for a #GError
 *
 * Counts the CUDA devices of the driver. Without NVIDIA's driver, there is one
 * device, the software device. May be called from any thread.
 *
 * Returns: the number of devices, or -1 with @error set
 *   (%GST_VKGDR_ERROR_NO_DRIVER)
 *
 * Since: 0.1
 */
gint
gst_vkgdr_device_count (GError **error)
{
  const vkgdr_cuda *cuda = load_driver (error);
  int n = 0;

  if (!cuda
      || !gst_vkgdr_check (
          cuda, cuda->cuDeviceGetCount (&n), "cuDeviceGetCount", error))
    return -1;
  return n;
}

gint
gst_vkgdr_read_capability (
    const vkgdr_cuda *cuda, CUdevice device, GError **error)
{
  int major = 0, minor = 0;

  if (!gst_vkgdr_check (cuda,
          cuda->cuDeviceGetAttribute (
              &major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device),
          "cuDeviceGetAttribute", error)
      || !gst_vkgdr_check (cuda,
          cuda->cuDeviceGetAttribute (
              &minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device),
          "cuDeviceGetAttribute", error))
    return 0;
  if (major == 0 && minor == 0)
    g_set_error_literal (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_FAILED,
        "the driver reports no compute capability");
  return 10 * major + minor;
}

/**
 * gst_vkgdr_context_get_memory_info:
 * @context: a context
 * @free_bytes: (out) (optional): free memory of the device in bytes
 * @total_bytes: (out) (optional): all memory of the device in bytes
 * @error: return location for a #GError
 *
 * Gets the state of the device's memory, for all processes together. For the
 * used part of the window, see gst_vkgdr_context_describe().
 *
 * Returns: %FALSE with @error set on failure
 *
 * Since: 0.1
 */
gboolean
gst_vkgdr_context_get_memory_info (GstVkgdrContext *context,
    guint64 *free_bytes, guint64 *total_bytes, GError **error)
{
  size_t n_free = 0, n_total = 0;
  gboolean ok;

  g_return_val_if_fail (GST_IS_VKGDR_CONTEXT (context), FALSE);

  if (!gst_vkgdr_context_push (context, error))
    return FALSE;
  ok = gst_vkgdr_context_check (context,
      gst_vkgdr_context_get_driver (context)->cuMemGetInfo (&n_free, &n_total),
      "cuMemGetInfo", error);
  gst_vkgdr_context_pop (context);
  if (free_bytes)
    *free_bytes = n_free;
  if (total_bytes)
    *total_bytes = n_total;
  return ok;
}
