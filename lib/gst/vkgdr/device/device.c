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
 * @short_description: the number of devices
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
