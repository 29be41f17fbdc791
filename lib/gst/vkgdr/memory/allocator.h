/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * memory/allocator.h: the interface between the files of the allocator
 */

#ifndef __GST_VKGDR_ALLOCATOR_H_PRIVATE__
#define __GST_VKGDR_ALLOCATOR_H_PRIVATE__

#include "memory/memory.h"

G_BEGIN_DECLS

struct _GstVkgdrAllocator {
  GstAllocator parent;

  GMutex lock;              /* for `context` and `error` */
  GstVkgdrContext *context; /* NULL in the default allocator before first use */
  GError *error;            /* why the last failed allocation failed */
  GstVkgdrBlocks *blocks; /* NULL until the allocator is open; set atomically */
};

/* Makes the allocator of @pool. It shares no memory with other allocators. */
GstVkgdrAllocator *gst_vkgdr_allocator_new_for_pool (
    GstVkgdrContext *context, GstBufferPool *pool);

/* Opens the default device if no context was given. Must be called without the
 * lock, and before `blocks` is used. */
gboolean gst_vkgdr_allocator_ensure_open (
    GstVkgdrAllocator *self, GError **error);

/* Returns the error of the last failed gst_allocator_alloc () (transfer full),
 * and forgets it. Returns NULL if there is none. */
GError *gst_vkgdr_allocator_take_error (GstVkgdrAllocator *allocator);

/* Makes a memory of @size bytes at @offset in @allocation (transfer full),
 * which was used on undeclared streams. */
GstMemory *gst_vkgdr_allocator_wrap_allocation (GstVkgdrAllocator *allocator,
    GstVkgdrAllocation *allocation, gsize offset, gsize size);

G_END_DECLS

#endif /* __GST_VKGDR_ALLOCATOR_H_PRIVATE__ */
