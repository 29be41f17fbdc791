/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * memory/allocator.h: what the files of the allocator share
 */

#ifndef __GST_VKGDR_ALLOCATOR_H_PRIVATE__
#define __GST_VKGDR_ALLOCATOR_H_PRIVATE__

#include "memory/memory.h"

G_BEGIN_DECLS

GST_DEBUG_CATEGORY_EXTERN (gst_vkgdr_allocator_debug);

struct _GstVkgdrAllocator {
  GstAllocator parent;

  GMutex lock; /* for what follows; no driver is called with it held */
  GstVkgdrContext *context; /* NULL in the default one until it is needed */
  GstVkgdrHeap *heap;
  GstVkgdrPinned *pinned;
  GstVkgdrStream *copy_streams[2];
  GQueue retired; /* of GstVkgdrRemains, in the order of their freeing */
  GQueue lost;    /* the same, of which nobody knows whether they are used */
  gboolean stops_holding; /* slabs are freed with their last block */
  gboolean has_timer;     /* a look for idle slabs is due */
  gboolean warned;        /* that memory without a host pointer is used */
};

/* --- allocator.c --- */

/* Opens the default device, if no context was given. Must be called without the
 * lock, and before what follows. */
gboolean gst_vkgdr_allocator_ensure_open (
    GstVkgdrAllocator *self, GError **error);

/* --- blocks.c: all are called without the lock --- */

/* Bytes that can be allocated, or NO_MEMORY. */
gboolean gst_vkgdr_allocator_check_size (gsize size, GError **error);

/* A block in the window if there is room, else anywhere on the device. */
gboolean gst_vkgdr_allocator_take_block (GstVkgdrAllocator *self, gsize size,
    const GstVkgdrDemand *demand, GstVkgdrBlock *block, GError **error);

/* A block that the CPU cannot address. */
gboolean gst_vkgdr_allocator_take_on_device (GstVkgdrAllocator *self,
    gsize size, const GstVkgdrDemand *demand, GstVkgdrBlock *block,
    GError **error);

/* Recycles what the device has finished with. */
void gst_vkgdr_allocator_reap (GstVkgdrAllocator *self);

/* Gives back all that is held. */
void gst_vkgdr_allocator_empty (GstVkgdrAllocator *self);

/* Gives back everything, of an allocator that nobody uses any more. */
void gst_vkgdr_allocator_close (GstVkgdrAllocator *self);

G_END_DECLS

#endif /* __GST_VKGDR_ALLOCATOR_H_PRIVATE__ */
