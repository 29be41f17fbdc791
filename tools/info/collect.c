/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * collect.c: collects data from the drivers
 *
 * Describes each device, tries a small allocation on it, and asks for its
 * compiler. Must not judge what it finds.
 */

#include <stdlib.h>
#include <string.h>

#include <gst/vkgdr/vkgdr.h>

#include "driver.h"
#include "info.h"

/* The size of the allocation that proves that a device works, in bytes. */
#define TRIAL_SIZE ((gsize) 64 << 10)

/* The library's message about the last failure. */
static gchar *
take_last_error (void)
{
  gchar *error = vkgdr_last_error ();
  gchar *result = g_strdup (error ? error : "no reason is given");

  free (error);
  return result;
}

static gchar *
describe_result (const vkgdr_cuda *cu, const gchar *call, CUresult result)
{
  const char *name = NULL, *text = NULL;

  cu->cuGetErrorName (result, &name);
  cu->cuGetErrorString (result, &text);
  return g_strdup_printf ("%s failed: %s (%s)", call,
      name ? name : "an unknown error", text ? text : "no explanation");
}

/* --- the trial ------------------------------------------------------------ */

/* Takes ownership of @error, which replaces the device's earlier error (about a
 * missing window). */
static void
fail (InfoDevice *device, InfoTrial trial, gchar *error)
{
  g_free (device->error);
  device->error = error;
  device->trial = trial;
}

/* Returns whether the call succeeded. */
static gboolean
check (InfoDevice *device, const vkgdr_cuda *cu, InfoTrial trial,
    const gchar *call, CUresult result)
{
  if (result == CUDA_SUCCESS)
    return TRUE;
  fail (device, trial, describe_result (cu, call, result));
  return FALSE;
}

/* Writes with the CPU, through the host pointer or, if @mem is NULL, by a
 * transfer. Reads through the device pointer. */
static void
try_bytes (InfoDevice *device, const vkgdr_cuda *cu, vkgdr_memory_t mem,
    CUdeviceptr pointer)
{
  guint8 *written = g_malloc (TRIAL_SIZE);
  guint8 *read = g_malloc0 (TRIAL_SIZE);
  CUresult result = CUDA_SUCCESS;

  memset (written, 0xa5, TRIAL_SIZE);
  device->trial = INFO_TRIAL_PASSED;
  if (mem) {
    vkgdr_copy_to_bar (vkgdr_memory_get_host_ptr (mem), written, TRIAL_SIZE, 1);
    vkgdr_memory_flush (mem, 0, TRIAL_SIZE);
  } else {
    result = cu->cuMemcpyHtoD (pointer, written, TRIAL_SIZE);
  }
  if (check (device, cu, INFO_TRIAL_WRONG_BYTES, "cuMemcpyHtoD", result)
      && check (device, cu, INFO_TRIAL_WRONG_BYTES, "cuMemcpyDtoH",
          cu->cuMemcpyDtoH (read, pointer, TRIAL_SIZE))
      && memcmp (written, read, TRIAL_SIZE) != 0)
    fail (device, INFO_TRIAL_WRONG_BYTES,
        g_strdup ("the device reads other bytes than were written"));
  g_free (written);
  g_free (read);
}

static void
try_memory (InfoDevice *device, const vkgdr_cuda *cu, vkgdr_t g)
{
  gboolean has_window =
      g && vkgdr_get_window_obstacle (g, NULL, NULL) == VKGDR_OBSTACLE_NONE;
  vkgdr_memory_t mem =
      has_window ? vkgdr_memory_alloc (g, TRIAL_SIZE, 0) : NULL;
  CUdeviceptr pointer;

  if (mem) {
    try_bytes (device, cu, mem, vkgdr_memory_get_device_ptr (mem));
    vkgdr_memory_free (mem);
  } else if (!g || has_window) {
    fail (device, INFO_TRIAL_NO_MEMORY, take_last_error ());
  } else if (check (device, cu, INFO_TRIAL_NO_MEMORY, "cuMemAlloc",
                 cu->cuMemAlloc (&pointer, TRIAL_SIZE))) {
    try_bytes (device, cu, NULL, pointer);
    cu->cuMemFree (pointer);
  }
}

static void
try_device (InfoDevice *device, const vkgdr_cuda *cu, CUdevice cuda_device)
{
  CUcontext context = NULL;
  vkgdr_t g;

  if (!check (device, cu, INFO_TRIAL_NO_CONTEXT, "cuDevicePrimaryCtxRetain",
          cu->cuDevicePrimaryCtxRetain (&context, cuda_device)))
    return;
  if (check (device, cu, INFO_TRIAL_NO_CONTEXT, "cuCtxPushCurrent",
          cu->cuCtxPushCurrent (context))) {
    g = vkgdr_open (cuda_device, VKGDR_OPEN_WINDOW_OPTIONAL_BIT);
    try_memory (device, cu, g);
    vkgdr_close (g);
    cu->cuCtxPopCurrent (&context);
  }
  cu->cuDevicePrimaryCtxRelease (cuda_device);
}

/* --- devices -------------------------------------------------------------- */

static void
ask_compiler (InfoDevice *device)
{
  GError *error = NULL;
  GstVkgdrContext *context = gst_vkgdr_context_new (device->ordinal, &error);

  if (context)
    device->compiler = gst_vkgdr_kernel_describe_compiler (context, &error);
  if (!device->compiler)
    device->compiler_error =
        g_strdup (error ? error->message : "no reason is given");
  g_clear_error (&error);
  gst_clear_object (&context);
}

/* Data that only CUDA has. Unknown values stay 0. */
static void
ask_cuda (InfoDevice *device, const vkgdr_cuda *cu, CUdevice cuda_device)
{
  size_t bytes = 0;

  if (cu->cuDeviceTotalMem (&bytes, cuda_device) == CUDA_SUCCESS)
    device->memory_size = bytes;
  cu->cuDeviceGetAttribute (
      &device->compute_mode, CU_DEVICE_ATTRIBUTE_COMPUTE_MODE, cuda_device);
  cu->cuDeviceGetAttribute (&device->capability_major,
      CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, cuda_device);
  cu->cuDeviceGetAttribute (&device->capability_minor,
      CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, cuda_device);
}

static InfoDevice *
collect_device (const vkgdr_cuda *cu, gint ordinal)
{
  InfoDevice *device = g_new0 (InfoDevice, 1);
  CUdevice cuda_device;
  CUresult result = cu->cuDeviceGet (&cuda_device, ordinal);

  device->ordinal = ordinal;
  if (result != CUDA_SUCCESS) {
    device->obstacle = VKGDR_OBSTACLE_CUDA_DEVICE;
    device->error = describe_result (cu, "cuDeviceGet", result);
    return device;
  }
  ask_cuda (device, cu, cuda_device);
  device->obstacle = vkgdr_probe (cuda_device, &device->info);
  if (device->obstacle != VKGDR_OBSTACLE_NONE)
    device->error = take_last_error ();
  if (device->obstacle == VKGDR_OBSTACLE_NONE || info_device_is_staged (device))
    try_device (device, cu, cuda_device);
  if (device->trial == INFO_TRIAL_PASSED)
    ask_compiler (device);
  return device;
}

static void
device_free (gpointer data)
{
  InfoDevice *device = data;

  g_free (device->error);
  g_free (device->compiler);
  g_free (device->compiler_error);
  g_free (device);
}

void
info_collect (InfoReport *report)
{
  const vkgdr_cuda *cu = vkgdr_driver_load ();
  CUresult result;
  gint n = 0;
  gint i;

  memset (report, 0, sizeof (*report));
  report->devices = g_ptr_array_new_with_free_func (device_free);
  if (cu) {
    report->software = vkgdr_driver_is_software ();
    report->why_software = g_strdup (vkgdr_driver_why_software ());
    result = cu->cuDeviceGetCount (&n);
    if (result != CUDA_SUCCESS)
      report->driver_error = describe_result (cu, "cuDeviceGetCount", result);
    for (i = 0; i < n; i++)
      g_ptr_array_add (report->devices, collect_device (cu, i));
  } else {
    report->driver_error = take_last_error ();
  }
  info_machine_collect (&report->machine);
}

void
info_report_clear (InfoReport *report)
{
  info_machine_clear (&report->machine);
  g_clear_pointer (&report->why_software, g_free);
  g_clear_pointer (&report->driver_error, g_free);
  g_clear_pointer (&report->devices, g_ptr_array_unref);
}
