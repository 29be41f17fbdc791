/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * memory/pinnedmemory.c: see memory/pinnedmemory.h
 */

#include "memory/blocks.h"
#include "memory/pinnedmemory.h"

GST_DEBUG_CATEGORY_EXTERN (gst_vkgdr_memory_debug);
#define GST_CAT_DEFAULT gst_vkgdr_memory_debug

#define PINNED_MEMORY_TYPE "VkgdrPinnedMemory"

/* The fields after `mem` are only used in the root. */
typedef struct {
  GstMemory mem;

  GstVkgdrBlocks *blocks; /* a reference */
  GstVkgdrBlock block;
  GMutex lock;
  GstVkgdrFence *expected; /* recorded after the pending transfers, or NULL */
} PinnedMemory;

#define GST_TYPE_VKGDR_PINNED_ALLOCATOR (gst_vkgdr_pinned_allocator_get_type ())
G_DECLARE_FINAL_TYPE (GstVkgdrPinnedAllocator, gst_vkgdr_pinned_allocator, GST,
    VKGDR_PINNED_ALLOCATOR, GstAllocator)

struct _GstVkgdrPinnedAllocator {
  GstAllocator parent;
};

G_DEFINE_TYPE (
    GstVkgdrPinnedAllocator, gst_vkgdr_pinned_allocator, GST_TYPE_ALLOCATOR)

static PinnedMemory *
root_of (GstMemory *mem)
{
  return (PinnedMemory *) gst_vkgdr_share_root (mem);
}

/* Waits without the lock, so that other users of the memory do not wait. */
static gpointer
pinned_memory_map (GstMemory *mem, gsize maxsize, GstMapFlags flags)
{
  PinnedMemory *self = root_of (mem);
  GstVkgdrFence *fence;
  GError *error = NULL;

  g_mutex_lock (&self->lock);
  fence = self->expected ? gst_vkgdr_fence_ref (self->expected) : NULL;
  g_mutex_unlock (&self->lock);
  if (!fence)
    return self->block.host;
  if (!gst_vkgdr_fence_wait (fence, &error)) {
    GST_CAT_ERROR (GST_CAT_DEFAULT,
        "the content of memory %p did not arrive: %s", mem, error->message);
    g_error_free (error);
    gst_vkgdr_fence_unref (fence);
    return NULL;
  }
  g_mutex_lock (&self->lock);
  if (self->expected == fence)
    g_clear_pointer (&self->expected, gst_vkgdr_fence_unref);
  g_mutex_unlock (&self->lock);
  gst_vkgdr_fence_unref (fence);
  return self->block.host;
}

static void
pinned_memory_unmap (GstMemory *mem)
{
}

static GstMemory *
pinned_memory_share (GstMemory *mem, gssize offset, gssize size)
{
  GstMemory *part = GST_MEMORY_CAST (g_new0 (PinnedMemory, 1));

  gst_vkgdr_share_init (part, mem, offset, size);
  return part;
}

/* Memory of this type is only made by gst_vkgdr_pinned_memory_new (). */
static GstMemory *
pinned_allocator_alloc (
    GstAllocator *allocator, gsize size, GstAllocationParams *params)
{
  return NULL;
}

static void
pinned_allocator_free (GstAllocator *allocator, GstMemory *mem)
{
  PinnedMemory *self = (PinnedMemory *) mem;
  GstVkgdrRemains remains = { .block = self->block };

  if (!mem->parent) {
    if (self->expected)
      remains.fences = gst_vkgdr_fences_add (NULL, self->expected);
    gst_vkgdr_blocks_retire (self->blocks, &remains);
    g_object_unref (self->blocks);
    g_mutex_clear (&self->lock);
  }
  g_free (self);
}

static void
gst_vkgdr_pinned_allocator_class_init (GstVkgdrPinnedAllocatorClass *klass)
{
  GST_ALLOCATOR_CLASS (klass)->alloc = pinned_allocator_alloc;
  GST_ALLOCATOR_CLASS (klass)->free = pinned_allocator_free;
}

static void
gst_vkgdr_pinned_allocator_init (GstVkgdrPinnedAllocator *self)
{
  GstAllocator *allocator = GST_ALLOCATOR (self);

  allocator->mem_type = PINNED_MEMORY_TYPE;
  allocator->mem_map = pinned_memory_map;
  allocator->mem_unmap = pinned_memory_unmap;
  allocator->mem_share = pinned_memory_share;
  allocator->mem_is_span = gst_vkgdr_share_is_span;
  /* With this flag, GStreamer copies to system memory. A copy needs no pinned
   * memory, because it is not transferred. */
  GST_OBJECT_FLAG_SET (self, GST_ALLOCATOR_FLAG_CUSTOM_ALLOC);
}

/* There is one allocator, which has no state and is never freed. */
static GstAllocator *
get_allocator (void)
{
  static gsize allocator = 0;

  if (g_once_init_enter (&allocator)) {
    GstObject *made = g_object_new (GST_TYPE_VKGDR_PINNED_ALLOCATOR, NULL);

    gst_object_ref_sink (made);
    GST_OBJECT_FLAG_SET (made, GST_OBJECT_FLAG_MAY_BE_LEAKED);
    g_once_init_leave (&allocator, (gsize) made);
  }
  return (GstAllocator *) allocator;
}

GstMemory *
gst_vkgdr_pinned_memory_new (GstVkgdrBlocks *blocks, gsize size, GError **error)
{
  GstVkgdrBlock block;
  PinnedMemory *self;

  if (!gst_vkgdr_blocks_take_pinned (blocks, size, &block, error))
    return NULL;
  self = g_new0 (PinnedMemory, 1);
  gst_memory_init (
      GST_MEMORY_CAST (self), 0, get_allocator (), NULL, size, 0, 0, size);
  self->blocks = g_object_ref (blocks);
  self->block = block;
  g_mutex_init (&self->lock);
  return GST_MEMORY_CAST (self);
}

gboolean
gst_vkgdr_is_pinned_memory (GstMemory *mem)
{
  return mem && mem->allocator == get_allocator ();
}

gpointer
gst_vkgdr_pinned_memory_get_data (GstMemory *mem)
{
  return root_of (mem)->block.host + mem->offset;
}

gboolean
gst_vkgdr_pinned_memory_expect (
    GstMemory *mem, GstVkgdrStream *stream, GError **error)
{
  PinnedMemory *self = root_of (mem);
  GstVkgdrFence *fence = NULL;

  g_mutex_lock (&self->lock);
  /* One fence covers all transfers, on whatever streams they were queued. */
  if (!self->expected || gst_vkgdr_stream_wait (stream, self->expected, error))
    fence = gst_vkgdr_stream_record (stream, error);
  if (fence) {
    g_clear_pointer (&self->expected, gst_vkgdr_fence_unref);
    self->expected = fence;
  }
  g_mutex_unlock (&self->lock);
  return fence != NULL;
}
