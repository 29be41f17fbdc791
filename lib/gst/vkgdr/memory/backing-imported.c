/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * memory/backing-imported.c: memory of another process, by a file descriptor
 */

#include <unistd.h>

#include "memory/backing.h"

static void
imported_free (GstVkgdrAllocation *self)
{
  const vkgdr_cuda *cuda = gst_vkgdr_context_get_driver (self->context);

  if (!gst_vkgdr_context_push (self->context, NULL))
    return;
  if (self->device)
    cuda->cuMemFree (self->device);
  if (self->data)
    cuda->cuDestroyExternalMemory (self->data);
  gst_vkgdr_context_pop (self->context);
}

static const GstVkgdrBacking backing_imported = {
  .name = "imported",
  .free = imported_free,
  .free_waits = TRUE,
};

/* With the CUDA context current. CUDA takes the file descriptor over when the
 * import succeeds. */
static gboolean
import (GstVkgdrAllocation *self, gint fd, GError **error)
{
  const vkgdr_cuda *cuda = gst_vkgdr_context_get_driver (self->context);
  CUDA_EXTERNAL_MEMORY_HANDLE_DESC handle = {
    .type = CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD, .size = self->size
  };
  CUDA_EXTERNAL_MEMORY_BUFFER_DESC buffer = { .size = self->size };
  CUexternalMemory external = NULL;

  handle.handle.fd = dup (fd);
  if (handle.handle.fd < 0) {
    g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_ARGUMENT,
        "%d is not an open file descriptor, or the process has too many "
        "(ulimit -n)",
        fd);
    return FALSE;
  }
  if (!gst_vkgdr_check (cuda, cuda->cuImportExternalMemory (&external, &handle),
          "cuImportExternalMemory", error)) {
    close (handle.handle.fd);
    return FALSE;
  }
  self->data = external;
  if (gst_vkgdr_check (cuda,
          cuda->cuExternalMemoryGetMappedBuffer (
              &self->device, external, &buffer),
          "cuExternalMemoryGetMappedBuffer", error))
    return TRUE;
  self->device = 0;
  return FALSE;
}

GstVkgdrAllocation *
gst_vkgdr_allocation_new_imported (
    GstVkgdrContext *context, gint fd, gsize size, GError **error)
{
  GstVkgdrAllocation *self;
  gboolean ok;

  if (!gst_vkgdr_context_push (context, error))
    return NULL;
  self = g_new0 (GstVkgdrAllocation, 1);
  self->backing = &backing_imported;
  self->context = gst_object_ref (context);
  self->size = size;
  ok = import (self, fd, error);
  gst_vkgdr_context_pop (context);
  if (ok)
    return self;
  gst_vkgdr_allocation_free (self);
  return NULL;
}
