/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * memory/memory.h: between the files of this room that make up a memory
 *
 * The allocator makes memories and takes their parts back. What a memory does
 * in between is in memory.c, map.c and transfer.c.
 */

#ifndef __GST_VKGDR_MEMORY_H_PRIVATE__
#define __GST_VKGDR_MEMORY_H_PRIVATE__

#include "memory/heap.h"
#include "memory/memory-private.h"
#include "memory/pinned.h"
#include "memory/policy.h"

G_BEGIN_DECLS

/* Only the root uses what is below `mem`: a memory that gst_memory_share ()
 * made has all of it in its parent. */
typedef struct {
  GstMemory mem;

  GMutex lock; /* for what follows; nothing waits or allocates with it held */
  GstVkgdrBlock block;
  GstVkgdrAccess access;
  gboolean host_cached; /* the CPU reads the block as fast as RAM */

  gpointer staging;       /* pinned host memory of block.size, or NULL */
  GstVkgdrFence *fetch;   /* a transfer to `staging` is under way, or NULL */
  gboolean device_valid;  /* the device has the content */
  gboolean staging_valid; /* `staging` has it, too */
  gboolean is_shared;     /* another process may write to it */

  guint cpu_maps;         /* mappings for the CPU that live */
  guint cpu_writers;      /* those of them that write */
  gpointer cpu_data;      /* what they got */
  GstClockTime cpu_since; /* when the first of them got it */
  gsize dirty_begin;      /* the bytes that writers which have unmapped may */
  gsize dirty_end;        /* have written, and the device lacks; 0, 0: none */

  /* Of the CPU's writing since the content was undefined. */
  GstVkgdrAccess written; /* how; AUTO: not at all */
  GstClockTime map_time;  /* for how long it was mapped for that */
  GstClockTime wait_time; /* for how long mapping waited */

  GstVkgdrOrder order;
  GstVkgdrPolicyTurn turn; /* of the pool's policy, if there is one */
  GstMemory *cuda_wrapper; /* see gst_vkgdr_memory_take_cuda_wrapper () */
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

/* --- memory.c --- */

/* Sets the functions of @allocator that work on a GstVkgdrMemory. */
void gst_vkgdr_memory_init_allocator (GstAllocator *allocator);

/* GstAllocatorClass.free */
void gst_vkgdr_memory_free (GstAllocator *allocator, GstMemory *mem);

/* Takes @block over. */
GstMemory *gst_vkgdr_memory_new (GstVkgdrAllocator *allocator,
    const GstVkgdrBlock *block, gsize maxsize, gsize align, gsize offset,
    gsize size);

/* A writer gets the memory at the time @now, after it @waited for it: @policy
 * decides about its access. The device must have finished with the memory. */
void gst_vkgdr_memory_begin_turn (GstMemory *mem, GstVkgdrPolicy *policy,
    GstClockTime now, GstClockTime waited);

/* With the lock held, which is given up while the CPU waits: waits for what
 * must be done before the CPU may do what @flags say. FALSE with @error set if
 * the wait failed, or the content is lost. */
gboolean gst_vkgdr_memory_wait (
    GstVkgdrMemory *self, GstMapFlags flags, GError **error);

/* The same before work is queued on a stream: a driver before CUDA 12.5 has no
 * fence for streams that were not declared. Others do not wait. */
gboolean gst_vkgdr_memory_settle (GstVkgdrMemory *self, GError **error);

/* The CPU has written the content, which is on the device. */
void gst_vkgdr_memory_set_on_device (GstVkgdrMemory *self);

/* --- map.c --- */

/* GstAllocator's mem_map_full and mem_unmap_full. */
gpointer gst_vkgdr_memory_map_full (
    GstMemory *mem, GstMapInfo *info, gsize maxsize);
void gst_vkgdr_memory_unmap_full (GstMemory *mem, GstMapInfo *info);

/* With the lock held: queues a transfer of @size bytes between @host and the
 * block from @offset on. Returns the fence behind it, which the caller owns;
 * NULL with @error set on failure. */
GstVkgdrFence *gst_vkgdr_memory_copy_async (GstVkgdrMemory *self,
    GstVkgdrDirection direction, gsize offset, gpointer host, gsize size,
    GstVkgdrStream *stream, GError **error);

/* With the lock held, which is given up meanwhile: the staging buffer, with the
 * content if there is any, to be used with @flags. */
gpointer gst_vkgdr_memory_map_staging (
    GstVkgdrMemory *self, GstMapFlags flags, GError **error);

/* With the lock held, which is given up meanwhile: sends what was written to
 * the staging buffer to the device. */
gboolean gst_vkgdr_memory_send_staging (
    GstVkgdrMemory *self, gsize offset, gsize size, GError **error);

/* --- allocator.c and blocks.c --- */

/* What remains of a root when it is freed. */
typedef struct {
  GstVkgdrBlock block;
  gpointer staging;        /* or NULL */
  GstMemory *cuda_wrapper; /* or NULL */
  GPtrArray *fences;       /* of GstVkgdrFence, or NULL */
  gboolean on_context;     /* wait for the whole CUDA context, too */
} GstVkgdrRemains;

/* Reuses or gives back the parts when the device has finished with them. Takes
 * all of them. Does not wait. */
void gst_vkgdr_allocator_retire (
    GstVkgdrAllocator *allocator, const GstVkgdrRemains *remains);

/* A memory of all of @allocation (taken). */
GstMemory *gst_vkgdr_allocator_wrap_allocation (GstVkgdrAllocator *allocator,
    GstVkgdrAllocation *allocation, gsize offset, gsize size);

GstVkgdrPinned *gst_vkgdr_allocator_get_pinned (GstVkgdrAllocator *allocator);

GstVkgdrContext *gst_vkgdr_allocator_get_context (GstVkgdrAllocator *allocator);

/* A number that no other pool has. */
gconstpointer gst_vkgdr_allocator_new_owner (void);

/* Who asks for what this thread allocates from now on, from any allocator; NULL
 * is nobody in particular. @demand must live until it is set to another. */
void gst_vkgdr_allocator_set_demand (const GstVkgdrDemand *demand);

G_END_DECLS

#endif /* __GST_VKGDR_MEMORY_H_PRIVATE__ */
