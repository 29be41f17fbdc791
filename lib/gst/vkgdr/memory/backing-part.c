/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * memory/backing-part.c: a range of another allocation
 *
 * Several memories may use parts of one allocation that was imported as a
 * whole. Each of them has its own fences and its own staging buffer.
 */

#include "memory/backing.h"

typedef struct {
  GstMemory *whole; /* a reference, which keeps `allocation` alive */
  GstVkgdrAllocation *allocation;
  gsize offset;
  gpointer user_data;
  GDestroyNotify notify;
} Part;

static void
part_free (GstVkgdrAllocation *self)
{
  Part *part = self->data;

  if (part->notify)
    part->notify (part->user_data);
  gst_memory_unref (part->whole);
  g_free (part);
}

static gboolean
part_flush (GstVkgdrAllocation *self, gsize offset, gsize size, GError **error)
{
  const Part *part = self->data;

  return !part->allocation->backing->flush
         || part->allocation->backing->flush (
             part->allocation, part->offset + offset, size, error);
}

static gboolean
part_invalidate (
    GstVkgdrAllocation *self, gsize offset, gsize size, GError **error)
{
  const Part *part = self->data;

  return !part->allocation->backing->invalidate
         || part->allocation->backing->invalidate (
             part->allocation, part->offset + offset, size, error);
}

static const GstVkgdrBacking backing_part = {
  .name = "part",
  .free = part_free,
  .flush = part_flush,
  .invalidate = part_invalidate,
};

GstVkgdrAllocation *
gst_vkgdr_allocation_new_part (GstMemory *whole,
    const GstVkgdrAllocation *allocation, gsize offset, gsize size,
    gpointer user_data, GDestroyNotify notify)
{
  GstVkgdrAllocation *self = g_new0 (GstVkgdrAllocation, 1);
  Part *part = g_new0 (Part, 1);

  part->whole = gst_memory_ref (whole);
  part->allocation = (GstVkgdrAllocation *) allocation;
  part->offset = offset;
  part->user_data = user_data;
  part->notify = notify;
  self->backing = &backing_part;
  self->context = gst_object_ref (allocation->context);
  self->size = size;
  self->host = allocation->host ? allocation->host + offset : NULL;
  self->device = allocation->device + offset;
  self->is_coherent = allocation->is_coherent;
  self->data = part;
  return self;
}
