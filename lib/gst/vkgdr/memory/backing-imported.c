/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * memory/backing-imported.c: memory of another process, imported from a file
 * descriptor
 *
 * libvkgdr imports it in CUDA and, if it is in the window, also in Vulkan, so
 * that the CPU can address it in this process, too.
 */

#include <fcntl.h>
#include <unistd.h>

#include "memory/backing.h"

static void
imported_free (GstVkgdrAllocation *self)
{
  vkgdr_memory_free (self->data);
}

static const GstVkgdrBacking backing_imported = {
  .name = "imported",
  .free = imported_free,
  .free_waits = TRUE,
  .flush = gst_vkgdr_core_memory_flush,
  .invalidate = gst_vkgdr_core_memory_invalidate,
};

/* Must be called with the CUDA context current. If the import succeeds,
 * libvkgdr owns the file descriptor. */
static vkgdr_memory_t
import (GstVkgdrContext *context, gint fd, const vkgdr_fd_info *info,
    GError **error)
{
  vkgdr_memory_t memory;
  gint copy = fcntl (fd, F_DUPFD_CLOEXEC, 0);

  if (copy < 0) {
    g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_ARGUMENT,
        "%d is not an open file descriptor, or the process has too many "
        "open files (ulimit -n)",
        fd);
    return NULL;
  }
  memory = vkgdr_memory_import_fd (
      gst_vkgdr_context_get_handle (context), copy, info);
  if (!memory) {
    gst_vkgdr_set_last_error (error, GST_VKGDR_ERROR_ARGUMENT);
    close (copy);
  }
  return memory;
}

GstVkgdrAllocation *
gst_vkgdr_allocation_new_imported (GstVkgdrContext *context, gint fd,
    const vkgdr_fd_info *info, GError **error)
{
  GstVkgdrAllocation *self;
  vkgdr_memory_t memory;

  if (!gst_vkgdr_context_push (context, error))
    return NULL;
  memory = import (context, fd, info, error);
  gst_vkgdr_context_pop (context);
  if (!memory)
    return NULL;
  self = g_new0 (GstVkgdrAllocation, 1);
  self->backing = &backing_imported;
  self->context = gst_object_ref (context);
  self->size = info->size;
  self->host = vkgdr_memory_get_host_ptr (memory);
  self->device = vkgdr_memory_get_device_ptr (memory);
  self->is_coherent = vkgdr_memory_is_coherent (memory);
  self->data = memory;
  return self;
}
