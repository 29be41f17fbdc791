/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * memory/memory-private.h: between memory/allocator.c and gstvkgdrmemory*.c
 *
 * The allocator makes memories and takes their parts back; what a memory does
 * in between is the affair of memory/memory.c, memory/map.c and
 * memory/transfer.c.
 */

#ifndef __GST_VKGDR_MEMORY_PRIVATE_H__
#define __GST_VKGDR_MEMORY_PRIVATE_H__

#include <gst/vkgdr/gstvkgdrbufferpool.h>
#include <gst/vkgdr/gstvkgdrcopy.h>
#include <gst/vkgdr/gstvkgdrmapping.h>
#include <gst/vkgdr/gstvkgdrmemory.h>

#include "memory/buffer.h"
#include "memory/heap.h"
#include "memory/pinned.h"
#include "memory/pinnedmemory.h"
#include "memory/policy.h"
#include "memory/share.h"
#include "sync/sync-private.h"

G_BEGIN_DECLS

typedef enum { GST_VKGDR_UPLOAD = 0, GST_VKGDR_DOWNLOAD = 1 } GstVkgdrDirection;

/* Everything below `mem` is of the root alone: a memory that was made by
 * gst_memory_share() has it all in its parent. */
typedef struct {
  GstMemory mem;

  GMutex lock;
  GstVkgdrBlock block;
  GstVkgdrAccess access;
  gboolean host_cached; /* the window reads as fast as RAM */

  gpointer shadow;       /* pinned host memory of block.size, or NULL */
  gboolean device_valid; /* the device holds the content */
  gboolean shadow_valid; /* the shadow holds it, too */
  gboolean in_common;    /* another process may write to it, unseen */

  guint cpu_maps;         /* mappings for the CPU that live */
  guint cpu_writers;      /* those of them that write */
  gpointer cpu_data;      /* what they got */
  GstClockTime cpu_since; /* when the first of them got it */

  /* Of the CPU's writing since the content was undefined. */
  GstVkgdrAccess written; /* how, or AUTO: not at all */
  GstClockTime map_time;  /* for how long it was mapped for that */
  GstClockTime wait_time; /* for how long mapping waited */

  GstVkgdrOrder order;
  GstVkgdrPolicyTurn turn; /* of the pool's policy, if there is one */
  GstMemory *guise; /* see gst_vkgdr_memory_take_guise(); NULL: none waits */
} GstVkgdrMemory;

GST_DEBUG_CATEGORY_EXTERN (gst_vkgdr_memory_debug);

static inline GstVkgdrMemory *
gst_vkgdr_memory_root (GstMemory *mem)
{
  return (GstVkgdrMemory *) gst_vkgdr_share_root (mem);
}

static inline GstVkgdrAllocator *
gst_vkgdr_memory_allocator (GstMemory *mem)
{
  return GST_VKGDR_ALLOCATOR (mem->allocator);
}

/* Sets the vfuncs that work on a GstVkgdrMemory. */
void gst_vkgdr_memory_init_allocator (GstAllocator *allocator);

/* From now on another process has it, too: what the device holds may be newer
 * than what is known. */
void gst_vkgdr_memory_set_in_common (GstMemory *mem);

/* GstAllocatorClass.free */
void gst_vkgdr_memory_free (GstAllocator *allocator, GstMemory *mem);

/* Takes over @block. */
GstMemory *gst_vkgdr_memory_new (GstVkgdrAllocator *allocator,
    const GstVkgdrBlock *block, gboolean host_cached, gsize maxsize,
    gsize align, gsize offset, gsize size);

/* A writer gets the memory at the time @now, after it @waited for it: @policy
 * decides about its access. The device must have finished with the memory. */
void gst_vkgdr_memory_begin_turn (GstMemory *mem, GstVkgdrPolicy *policy,
    GstClockTime now, GstClockTime waited);

/* The same bytes as a memory of others, which is kept with this one while
 * nobody has it, as it may be dear to make, and the device may still need it:
 * the last that was given, or NULL. The caller's. */
GstMemory *gst_vkgdr_memory_take_guise (GstMemory *mem);

/* Takes it over. It is freed with @mem, when the device has finished with that,
 * or at once where another one waits. */
void gst_vkgdr_memory_give_guise (GstMemory *mem, GstMemory *guise);

/* --- memory/map.c --- */

/* GstAllocator's mem_map_full and mem_unmap_full. */
gpointer gst_vkgdr_memory_map_full (
    GstMemory *mem, GstMapInfo *info, gsize maxsize);
void gst_vkgdr_memory_unmap_full (GstMemory *mem, GstMapInfo *info);

/* As gst_vkgdr_order_mark_untold (). */
void gst_vkgdr_memory_mark_untold (GstMemory *mem, GstMapFlags flags);

/* Somebody reads the device pointer, on any stream, and tells nobody. What is
 * queued on @stream from now on begins when the content is there; where it
 * @is_there already, other streams need not wait for that one. Without @stream,
 * the CPU waits. */
gboolean gst_vkgdr_memory_lend (
    GstMemory *mem, const CUstream *stream, gboolean *is_there, GError **error);

/* All that he does is queued. */
void gst_vkgdr_memory_end_loan (GstMemory *mem);

/* Under the lock: queues a transfer of @size bytes of @host and of the block
 * from @offset on. Returns the order's fence that stands for it, NULL with
 * @error set on failure. */
GstVkgdrFence *gst_vkgdr_memory_copy_async (GstVkgdrMemory *self,
    GstVkgdrDirection direction, gsize offset, gpointer host, gsize size,
    GstVkgdrStream *stream, GError **error);

/* Under the lock: the shadow with the content, to be used with @flags. */
gpointer gst_vkgdr_memory_map_shadow (
    GstVkgdrMemory *self, GstMapFlags flags, GError **error);

/* Under the lock: what was written to the shadow goes to the device. */
gboolean gst_vkgdr_memory_send_shadow (
    GstVkgdrMemory *self, gsize offset, gsize size, GError **error);

/* --- memory/allocator.c --- */

/* One stream for DMA a direction, so that uploads and downloads run side by
 * side. Made at first use; NULL with @error set on failure. */
GstVkgdrStream *gst_vkgdr_allocator_get_copy_stream (
    GstVkgdrAllocator *allocator, GstVkgdrDirection direction, GError **error);

/* What remains of a root when it is freed. */
typedef struct {
  GstVkgdrBlock block;
  gpointer shadow;   /* or NULL */
  GstMemory *guise;  /* or NULL */
  GPtrArray *fences; /* of GstVkgdrFence, or NULL */
} GstVkgdrRemains;

/* To be reused, or given back, once the fences are reached. Takes all over. */
void gst_vkgdr_allocator_retire (
    GstVkgdrAllocator *allocator, const GstVkgdrRemains *remains);

GstVkgdrPinned *gst_vkgdr_allocator_get_pinned (GstVkgdrAllocator *allocator);

/* The same, which the default allocator opens when it is first asked. Returns a
 * reference; NULL with @error set. */
GstVkgdrContext *gst_vkgdr_allocator_ensure_context (
    GstVkgdrAllocator *allocator, GError **error);

GstVkgdrContext *gst_vkgdr_allocator_get_context (GstVkgdrAllocator *allocator);

G_END_DECLS

#endif /* __GST_VKGDR_MEMORY_PRIVATE_H__ */
