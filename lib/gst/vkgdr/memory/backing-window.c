/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * memory/backing-window.c: memory that is device-local and host-visible
 *
 * libvkgdr allocates it with Vulkan and imports it in CUDA.
 */

#include <stdlib.h>

#include "memory/backing.h"

static gboolean
window_allocate (GstVkgdrAllocation *self, GError **error)
{
  vkgdr_memory_t memory = vkgdr_memory_alloc (
      gst_vkgdr_context_get_handle (self->context), self->size, 0);

  if (!memory) {
    gst_vkgdr_set_last_error (error, GST_VKGDR_ERROR_NO_MEMORY);
    return FALSE;
  }
  self->data = memory;
  self->host = vkgdr_memory_get_host_ptr (memory);
  self->device = vkgdr_memory_get_device_ptr (memory);
  self->is_coherent = vkgdr_memory_is_coherent (memory);
  return TRUE;
}

/* If the CUDA context cannot be made current any more, libvkgdr still frees the
 * mapping for the CPU and the objects of Vulkan. */
static void
window_free (GstVkgdrAllocation *self)
{
  vkgdr_memory_free (self->data);
}

/* vkgdr_memory_flush () and vkgdr_memory_invalidate () return nothing. If they
 * fail, they set the last error of the thread. */
static gboolean
check_last_error (GError **error)
{
  char *message = vkgdr_last_error ();

  if (!message)
    return TRUE;
  g_set_error_literal (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_FAILED, message);
  free (message);
  return FALSE;
}

gboolean
gst_vkgdr_core_memory_flush (
    GstVkgdrAllocation *self, gsize offset, gsize size, GError **error)
{
  vkgdr_memory_flush (self->data, offset, size);
  return check_last_error (error);
}

gboolean
gst_vkgdr_core_memory_invalidate (
    GstVkgdrAllocation *self, gsize offset, gsize size, GError **error)
{
  vkgdr_memory_invalidate (self->data, offset, size);
  return check_last_error (error);
}

static gint
window_export_fd (GstVkgdrAllocation *self, vkgdr_fd_info *info, GError **error)
{
  gint fd = vkgdr_memory_get_fd (self->data);

  if (fd < 0)
    gst_vkgdr_set_last_error (error, GST_VKGDR_ERROR_FAILED);
  else
    vkgdr_memory_describe_fd (self->data, info);
  return fd;
}

const GstVkgdrBacking gst_vkgdr_backing_window = {
  .name = "window",
  .allocate = window_allocate,
  .free = window_free,
  .free_waits = TRUE,
  .flush = gst_vkgdr_core_memory_flush,
  .invalidate = gst_vkgdr_core_memory_invalidate,
  .export_fd = window_export_fd,
};
