/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * memory/backing.c: see memory/backing.h
 */

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "memory/backing.h"

/* --- window and imported: `data` is a vkgdr_memory_t ---------------------- */

static void
set_memory (GstVkgdrAllocation *self, vkgdr_memory_t memory)
{
  self->data = memory;
  self->host = vkgdr_memory_get_host_ptr (memory);
  self->device = vkgdr_memory_get_device_ptr (memory);
  self->is_coherent = vkgdr_memory_is_coherent (memory);
}

static gboolean
window_allocate (GstVkgdrAllocation *self, GError **error)
{
  vkgdr_memory_t memory = vkgdr_memory_alloc (
      gst_vkgdr_context_get_handle (self->context), self->size, 0);

  if (!memory) {
    gst_vkgdr_set_last_error (error, GST_VKGDR_ERROR_NO_MEMORY);
    return FALSE;
  }
  set_memory (self, memory);
  return TRUE;
}

/* If the CUDA context cannot be made current any more, libvkgdr still frees the
 * mapping for the CPU and the objects of Vulkan. */
static void
window_free (GstVkgdrAllocation *self)
{
  vkgdr_memory_free (self->data);
}

/* The functions of libvkgdr return nothing. If they fail, they set the last
 * error of the thread. */
static gboolean
window_flush (GstVkgdrAllocation *self, gsize offset, gsize size,
    GstMapFlags direction, GError **error)
{
  char *message;

  if (direction & GST_MAP_WRITE)
    vkgdr_memory_flush (self->data, offset, size);
  else
    vkgdr_memory_invalidate (self->data, offset, size);
  message = vkgdr_last_error ();
  if (!message)
    return TRUE;
  g_set_error_literal (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_FAILED, message);
  free (message);
  return FALSE;
}

static gint
window_export (GstVkgdrAllocation *self, vkgdr_fd_info *info, GError **error)
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
  .flush = window_flush,
  .export = window_export,
};

static const GstVkgdrBacking backing_imported = {
  .name = "imported",
  .free = window_free,
  .free_waits = TRUE,
  .flush = window_flush,
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

/* --- device: cuMemAlloc --------------------------------------------------- */

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

/* --- pinned: cuMemHostAlloc ------------------------------------------------
 */

static gboolean
pinned_allocate (GstVkgdrAllocation *self, GError **error)
{
  const vkgdr_cuda *cuda = gst_vkgdr_context_get_driver (self->context);

  if (!gst_vkgdr_check (cuda,
          cuda->cuMemHostAlloc (
              &self->data, self->size, CU_MEMHOSTALLOC_PORTABLE),
          "cuMemHostAlloc", error))
    return FALSE;
  self->host = self->data;
  memset (self->host, 0, self->size); /* no bytes of an earlier use */
  return TRUE;
}

static void
pinned_free (GstVkgdrAllocation *self)
{
  if (!gst_vkgdr_context_push (self->context, NULL))
    return;
  gst_vkgdr_context_get_driver (self->context)->cuMemFreeHost (self->data);
  gst_vkgdr_context_pop (self->context);
}

const GstVkgdrBacking gst_vkgdr_backing_pinned = {
  .name = "pinned",
  .allocate = pinned_allocate,
  .free = pinned_free,
  .free_waits = TRUE,
};

/* --- wrapped: memory that has another owner ------------------------------- */

typedef struct {
  gpointer user_data;
  GDestroyNotify notify;
  GstMemory *whole; /* a reference, which keeps `base` alive; or NULL */
  GstVkgdrAllocation *base;
  gsize offset; /* in `base` */
} Owner;

static void
wrapped_free (GstVkgdrAllocation *self)
{
  Owner *owner = self->data;

  if (owner->notify)
    owner->notify (owner->user_data);
  if (owner->whole)
    gst_memory_unref (owner->whole);
  g_free (owner);
}

static gboolean
wrapped_flush (GstVkgdrAllocation *self, gsize offset, gsize size,
    GstMapFlags direction, GError **error)
{
  const Owner *owner = self->data;

  return !owner->base
         || gst_vkgdr_allocation_flush (
             owner->base, owner->offset + offset, size, direction, error);
}

static const GstVkgdrBacking backing_wrapped = {
  .name = "wrapped",
  .free = wrapped_free,
  .flush = wrapped_flush,
};

/* --- allocations ---------------------------------------------------------- */

static GstVkgdrAllocation *
make (const GstVkgdrBacking *backing, GstVkgdrContext *context, gsize size)
{
  GstVkgdrAllocation *self = g_new0 (GstVkgdrAllocation, 1);

  self->backing = backing;
  self->context = gst_object_ref (context);
  self->size = size;
  return self;
}

GstVkgdrAllocation *
gst_vkgdr_allocation_new (const GstVkgdrBacking *backing,
    GstVkgdrContext *context, gsize size, GError **error)
{
  GstVkgdrAllocation *self;
  gboolean ok;

  if (!gst_vkgdr_context_push (context, error))
    return NULL;
  self = make (backing, context, size);
  ok = backing->allocate (self, error);
  gst_vkgdr_context_pop (context);
  if (ok)
    return self;
  gst_object_unref (context);
  g_free (self);
  return NULL;
}

GstVkgdrAllocation *
gst_vkgdr_allocation_new_wrapped (GstVkgdrContext *context, CUdeviceptr device,
    gsize size, gpointer user_data, GDestroyNotify notify)
{
  GstVkgdrAllocation *self = make (&backing_wrapped, context, size);
  Owner *owner = g_new0 (Owner, 1);

  owner->user_data = user_data;
  owner->notify = notify;
  self->device = device;
  self->data = owner;
  return self;
}

GstVkgdrAllocation *
gst_vkgdr_allocation_new_part (GstMemory *whole, GstVkgdrAllocation *allocation,
    gsize offset, gsize size, gpointer user_data, GDestroyNotify notify)
{
  GstVkgdrAllocation *self =
      gst_vkgdr_allocation_new_wrapped (allocation->context,
          allocation->device + offset, size, user_data, notify);
  Owner *owner = self->data;

  self->host = allocation->host ? allocation->host + offset : NULL;
  self->is_coherent = allocation->is_coherent;
  owner->whole = gst_memory_ref (whole);
  owner->base = allocation;
  owner->offset = offset;
  return self;
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
  self = make (&backing_imported, context, info->size);
  set_memory (self, memory);
  return self;
}

static void
free_now (gpointer data)
{
  GstVkgdrAllocation *self = data;

  self->backing->free (self);
  gst_object_unref (self->context);
  g_free (self);
}

void
gst_vkgdr_allocation_free (GstVkgdrAllocation *allocation)
{
  if (allocation->backing->free_waits)
    gst_vkgdr_reclaim (allocation->context, NULL, free_now, allocation);
  else
    free_now (allocation);
}

gboolean
gst_vkgdr_allocation_flush (GstVkgdrAllocation *allocation, gsize offset,
    gsize size, GstMapFlags direction, GError **error)
{
  return !allocation->backing->flush
         || allocation->backing->flush (
             allocation, offset, size, direction, error);
}
