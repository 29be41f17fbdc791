/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * memory/allocator.h: the interface between the files of the allocator
 */

#ifndef __GST_VKGDR_ALLOCATOR_H_PRIVATE__
#define __GST_VKGDR_ALLOCATOR_H_PRIVATE__

#include "memory/spares.h"

G_BEGIN_DECLS

GST_DEBUG_CATEGORY_EXTERN (gst_vkgdr_allocator_debug);

struct _GstVkgdrAllocator {
  GstAllocator parent;

  GMutex lock; /* for the fields below; must not be held during a call of the
                * driver that waits or allocates */
  GstVkgdrContext *context; /* NULL in the default allocator before first use */
  GstVkgdrHeap *heap;     /* NULL until the allocator is open; set atomically */
  GstVkgdrSpares spares;  /* freed memories, kept for reuse */
  GstVkgdrPinned *pinned; /* set before the heap */
  GstVkgdrStream *copy_streams[2];
  GQueue retired;       /* of GstVkgdrRemains, oldest first */
  GQueue lost;          /* of GstVkgdrRemains whose fences are lost */
  gboolean checks_lost; /* a task is queued that recycles these if it can */
  gint stops_holding; /* set atomically; slabs are freed with the last block */
  gint has_timer;     /* set atomically; a timer for idle slabs is running */
  gboolean warned;    /* it was logged that device-only memory is used */
};

/* --- allocator.c --- */

/* Opens the default device if no context was given. Must be called without the
 * lock, and before the functions below. */
gboolean gst_vkgdr_allocator_ensure_open (
    GstVkgdrAllocator *self, GError **error);

/* --- blocks.c --- */

/* Takes the lock, and gives the spare memories back to the heap. Must be called
 * instead of g_mutex_lock () before a block is taken from the heap, and before
 * the heap is queried. */
void gst_vkgdr_allocator_lock_heap (GstVkgdrAllocator *self);

/* The functions below must be called without the lock. */

/* Keeps @memory (taken) for the next allocation of its size. The memory must
 * have no other part than its block. FALSE if it is not suitable. */
gboolean gst_vkgdr_allocator_keep_spare (
    GstVkgdrAllocator *self, GstVkgdrMemory *memory);

/* Returns a spare memory of @maxsize bytes, which the caller owns and
 * initializes with gst_vkgdr_memory_init (), or NULL. A spare memory of another
 * size goes to the heap. */
GstVkgdrMemory *gst_vkgdr_allocator_take_spare (
    GstVkgdrAllocator *self, gsize maxsize);

/* FALSE with the error NO_MEMORY if @size is too large for any device. */
gboolean gst_vkgdr_allocator_check_size (gsize size, GError **error);

/* Takes a block in the window if there is room, otherwise device-only memory.
 * @size must have been checked. */
gboolean gst_vkgdr_allocator_take_block (GstVkgdrAllocator *self, gsize size,
    const GstVkgdrDemand *demand, GstVkgdrBlock *block, GError **error);

/* Takes a block of device-only memory. */
gboolean gst_vkgdr_allocator_take_device_only (GstVkgdrAllocator *self,
    gsize size, const GstVkgdrDemand *demand, GstVkgdrBlock *block,
    GError **error);

/* Recycles blocks that the device has finished with. */
void gst_vkgdr_allocator_reap (GstVkgdrAllocator *self);

/* Makes the reclaim thread recycle all blocks that the device still uses, as
 * soon as it has finished with them. */
void gst_vkgdr_allocator_reap_soon (GstVkgdrAllocator *self);

/* Gives all held memory back to the driver. */
void gst_vkgdr_allocator_empty (GstVkgdrAllocator *self);

/* Gives all memory back. Must be called when the allocator is not used any
 * more. */
void gst_vkgdr_allocator_close (GstVkgdrAllocator *self);

G_END_DECLS

#endif /* __GST_VKGDR_ALLOCATOR_H_PRIVATE__ */
