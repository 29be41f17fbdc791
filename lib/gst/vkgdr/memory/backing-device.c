/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * memory/backing-device.c: device-only memory
 *
 * Used on machines without a window, and if the window is full.
 */

#include "memory/backing.h"

static gboolean
device_allocate (GstVkgdrAllocation *self, GError **error)
{
  const vkgdr_cuda *cuda = gst_vkgdr_context_get_driver (self->context);

  return gst_vkgdr_check (
      cuda, cuda->cuMemAlloc (&self->device, self->size), "cuMemAlloc", error);
}

static void
device_free (GstVkgdrAllocation *self)
{
  if (!gst_vkgdr_context_push (self->context, NULL))
    return;
  gst_vkgdr_context_get_driver (self->context)->cuMemFree (self->device);
  gst_vkgdr_context_pop (self->context);
}

const GstVkgdrBacking gst_vkgdr_backing_device = {
  .name = "device",
  .allocate = device_allocate,
  .free = device_free,
  .free_waits = TRUE,
};
