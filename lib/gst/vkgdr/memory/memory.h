/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * memory/memory.h: the interface between the files that implement a memory
 *
 * The allocator makes memories, and recycles their parts when they are freed.
 * All other functions of a memory are in memory.c, map.c, transfer.c, copy.c
 * and export.c.
 */

#ifndef __GST_VKGDR_MEMORY_H_PRIVATE__
#define __GST_VKGDR_MEMORY_H_PRIVATE__

#include "memory/heap.h"
#include "memory/memory-private.h"
#include "memory/pinned.h"
#include "memory/policy.h"

G_BEGIN_DECLS

/* The fields behind `mem` are only used in the root. A memory that
 * gst_memory_share () made uses the fields of its parent. */
typedef struct {
  GstMemory mem;

  GstVkgdrBlock block; /* does not change */

  GMutex lock; /* for the fields below; must not be held during a wait or an
                * allocation */
  GstVkgdrAccess access;
  gboolean host_cached; /* the CPU reads the block as fast as RAM */

  gpointer staging;       /* pinned host memory of size block.size, or NULL */
  gboolean keeps_staging; /* the CPU has needed the content of `staging` */
  gboolean lends_staging; /* `staging` is given back after each write */
  GstVkgdrFence *fetch;   /* of a transfer to `staging`, or NULL */
  gboolean device_valid;  /* the content on the device is current */
  gboolean staging_valid; /* the content of `staging` is current */
  gboolean is_shared;     /* another process may write to it */

  guint cpu_maps;               /* present mappings for the CPU */
  guint cpu_writers;            /* of these, mappings for writing */
  gpointer cpu_data;            /* the pointer of these mappings */
  GstVkgdrWorkStart work_start; /* of the first of them */
  gsize dirty_begin; /* range that writers may have written and that */
  gsize dirty_end;   /* the last one of them must publish; 0, 0: none */

  /* Statistics of CPU writes since the content was undefined. */
  GstVkgdrAccess written; /* the access mode; AUTO: not written */
  GstClockTime map_time;  /* time mapped for writing */
  GstClockTime wait_time; /* time that mapping waited */

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

/* Initializes all fields of @self, except the block. */
GstMemory *gst_vkgdr_memory_init (GstVkgdrMemory *self,
    GstVkgdrAllocator *allocator, gsize maxsize, gsize align, gsize offset,
    gsize size);

/* Makes a memory of @block (taken). */
GstMemory *gst_vkgdr_memory_new (GstVkgdrAllocator *allocator,
    const GstVkgdrBlock *block, gsize maxsize, gsize align, gsize offset,
    gsize size);

/* Must be called when a writer gets the memory. The writer has waited for the
 * time @waited until the device had finished with the memory. @policy will
 * choose the access mode. */
void gst_vkgdr_memory_begin_turn (
    GstMemory *mem, GstVkgdrPolicy *policy, GstClockTime waited);

/* Must be called with the lock held, before the memory is mapped for writing at
 * the time @now. Sets the access mode, if a policy chooses it. */
void gst_vkgdr_memory_choose_access (GstVkgdrMemory *self, GstClockTime now);

/* Must be called with the lock held, which is released while the CPU waits.
 * Waits for all work that must precede a CPU access with @flags. FALSE with
 * @error set if the wait failed, or the content is lost. */
gboolean gst_vkgdr_memory_wait (
    GstVkgdrMemory *self, GstMapFlags flags, GError **error);

/* Must be called with the lock held, before work is queued on a stream. The CPU
 * only waits, and the lock is only released, if the memory was used on
 * undeclared streams and the driver cannot record a fence for them: usually
 * because it is older than CUDA 12.5. */
gboolean gst_vkgdr_memory_settle (GstVkgdrMemory *self, GError **error);

/* Must be called when the content on the device is newer than that of the
 * staging buffer. */
void gst_vkgdr_memory_set_on_device (GstVkgdrMemory *self);

/* --- bufferpool.c --- */

/* Emits the signal "map-failed" of the pool that has allocated @mem, if there
 * is one. Must be called without locks. */
void gst_vkgdr_buffer_pool_report_map (GstMemory *mem, const GError *error);

/* --- map.c --- */

/* GstAllocator's mem_map_full and mem_unmap_full. */
gpointer gst_vkgdr_memory_map_full (
    GstMemory *mem, GstMapInfo *info, gsize maxsize);
void gst_vkgdr_memory_unmap_full (GstMemory *mem, GstMapInfo *info);

/* Must be called with the lock held, which is released meanwhile. Returns the
 * staging buffer for an access with @flags, with the content if there is any.
 */
gpointer gst_vkgdr_memory_map_staging (
    GstVkgdrMemory *self, GstMapFlags flags, GError **error);

/* Must be called with the lock held, which is released meanwhile. Sends the
 * written part of the staging buffer to the device. */
gboolean gst_vkgdr_memory_send_staging (
    GstVkgdrMemory *self, gsize offset, gsize size, GError **error);

/* Must be called with the lock held. Takes the staging buffer away from a
 * memory of a pool, and sets @fence to the fence behind the last transfer from
 * it, or NULL. The caller gives both to gst_vkgdr_pinned_give (). Returns NULL
 * if there is none, or it is in use. */
gpointer gst_vkgdr_memory_take_staging (
    GstVkgdrMemory *self, GstVkgdrFence **fence);

/* --- allocator.c and blocks.c --- */

/* The parts of a freed memory. */
typedef struct {
  GstVkgdrBlock block;
  gpointer staging;        /* or NULL */
  GstMemory *cuda_wrapper; /* or NULL */
  GPtrArray *fences;       /* of GstVkgdrFence, or NULL */
  gboolean on_context;     /* wait for the whole CUDA context, too */
} GstVkgdrRemains;

/* Recycles or frees the parts (taken) when the device has finished with them.
 * Does not wait. */
void gst_vkgdr_allocator_retire (
    GstVkgdrAllocator *allocator, const GstVkgdrRemains *remains);

/* Allocates memory like gst_allocator_alloc (), but sets @error on failure. */
GstMemory *gst_vkgdr_allocator_alloc_with_params (GstVkgdrAllocator *allocator,
    gsize size, const GstAllocationParams *params, GError **error);

/* Makes a memory of @size bytes at @offset in @allocation (taken). */
GstMemory *gst_vkgdr_allocator_wrap_allocation (GstVkgdrAllocator *allocator,
    GstVkgdrAllocation *allocation, gsize offset, gsize size);

GstVkgdrPinned *gst_vkgdr_allocator_get_pinned (GstVkgdrAllocator *allocator);

/* Returns the object from which the memory takes its staging buffer. */
static inline GstVkgdrPinned *
gst_vkgdr_memory_pinned (GstVkgdrMemory *self)
{
  return gst_vkgdr_allocator_get_pinned (
      gst_vkgdr_memory_allocator (&self->mem));
}

GstVkgdrContext *gst_vkgdr_allocator_get_context (GstVkgdrAllocator *allocator);

/* Returns a unique identifier of an owner. */
gconstpointer gst_vkgdr_allocator_new_owner (void);

/* Sets the requester of all allocations of this thread from now on, from any
 * allocator; NULL resets it. @demand must stay valid until the next call. */
void gst_vkgdr_allocator_set_demand (const GstVkgdrDemand *demand);

G_END_DECLS

#endif /* __GST_VKGDR_MEMORY_H_PRIVATE__ */
