/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * gstvkgdraccessallocator.c: see gstvkgdraccessallocator.h
 */

#include "gstvkgdraccessallocator.h"

#define GST_TYPE_VKGDR_ACCESS_ALLOCATOR (gst_vkgdr_access_allocator_get_type ())
G_DECLARE_FINAL_TYPE (GstVkgdrAccessAllocator, gst_vkgdr_access_allocator, GST,
    VKGDR_ACCESS_ALLOCATOR, GstAllocator)

struct _GstVkgdrAccessAllocator {
  GstAllocator parent;

  GstAllocator *allocator;
  GstVkgdrAccess access;
};

G_DEFINE_TYPE (
    GstVkgdrAccessAllocator, gst_vkgdr_access_allocator, GST_TYPE_ALLOCATOR)

static GstMemory *
gst_vkgdr_access_allocator_alloc (
    GstAllocator *allocator, gsize size, GstAllocationParams *params)
{
  GstVkgdrAccessAllocator *self = GST_VKGDR_ACCESS_ALLOCATOR (allocator);
  GstMemory *memory = gst_allocator_alloc (self->allocator, size, params);

  if (memory)
    gst_vkgdr_memory_set_access (memory, self->access);
  return memory;
}

/* Not used: a memory is freed by the allocator that made it. */
static void
gst_vkgdr_access_allocator_free (GstAllocator *allocator, GstMemory *memory)
{
  g_assert_not_reached ();
}

static void
gst_vkgdr_access_allocator_finalize (GObject *object)
{
  gst_object_unref (GST_VKGDR_ACCESS_ALLOCATOR (object)->allocator);
  G_OBJECT_CLASS (gst_vkgdr_access_allocator_parent_class)->finalize (object);
}

static void
gst_vkgdr_access_allocator_class_init (GstVkgdrAccessAllocatorClass *klass)
{
  G_OBJECT_CLASS (klass)->finalize = gst_vkgdr_access_allocator_finalize;
  GST_ALLOCATOR_CLASS (klass)->alloc = gst_vkgdr_access_allocator_alloc;
  GST_ALLOCATOR_CLASS (klass)->free = gst_vkgdr_access_allocator_free;
}

static void
gst_vkgdr_access_allocator_init (GstVkgdrAccessAllocator *self)
{
  GST_ALLOCATOR (self)->mem_type = GST_VKGDR_MEMORY_NAME;
  GST_OBJECT_FLAG_SET (self, GST_ALLOCATOR_FLAG_CUSTOM_ALLOC);
}

GstAllocator *
gst_vkgdr_access_allocator_new (GstAllocator *allocator, GstVkgdrAccess access)
{
  GstVkgdrAccessAllocator *self =
      g_object_new (GST_TYPE_VKGDR_ACCESS_ALLOCATOR, NULL);

  gst_object_ref_sink (self);
  self->allocator = gst_object_ref (allocator);
  self->access = access;
  return GST_ALLOCATOR (self);
}
