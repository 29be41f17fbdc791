/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * memory/memory.h: the interface between the files that implement a memory
 *
 * memory.c makes and frees memories, and knows which copy of the content is
 * current. map.c maps them.
 */

#ifndef __GST_VKGDR_MEMORY_H_PRIVATE__
#define __GST_VKGDR_MEMORY_H_PRIVATE__

#include "memory/blocks.h"
#include "memory/policy.h"

G_BEGIN_DECLS

/* The fields after `mem` are only used in the root. A memory that
 * gst_memory_share () made uses the fields of its parent. */
typedef struct {
  GstMemory mem;

  GstVkgdrBlocks *blocks; /* of the allocator, which keeps it; no reference */
  GstVkgdrBlock block;    /* does not change */

  GMutex lock; /* for the fields below; must not be held during a wait or an
                * allocation */
  GstVkgdrAccess access;
  gboolean host_cached; /* the CPU reads the block as fast as RAM */

  GstVkgdrBlock
      staging; /* pinned host memory; `host` is NULL if there is none */
  gboolean keeps_staging; /* the CPU has needed the content of `staging`, since
                           * the content of the memory was undefined */
  GstVkgdrFence *fetch;   /* of a transfer to `staging`, or NULL */
  gboolean device_valid;  /* the content on the device is current */
  gboolean staging_valid; /* the content of `staging` is current */
  gboolean is_shared;     /* another process may write to it */

  guint cpu_maps;               /* present mappings for the CPU */
  guint cpu_writers;            /* of these, mappings for writing */
  gpointer cpu_data;            /* the pointer of these mappings */
  GstVkgdrWorkStart work_start; /* of the first of them */
  gsize dirty_begin; /* the range that writers may have written; the last */
  gsize dirty_end;   /* writer to unmap publishes it; both 0: none */

  /* Statistics of CPU writes since the content was undefined. */
  GstVkgdrAccess written; /* the access mode; AUTO: not written */
  GstClockTime map_time;  /* time mapped for writing */
  GstClockTime wait_time; /* time that mapping waited */

  GstVkgdrOrder order;
  GstVkgdrPolicyTurn turn; /* of the pool's policy, if there is one */
  GSList *cuda_wrappers;   /* see gst_vkgdr_memory_take_cuda_wrapper () */
} GstVkgdrMemory;

GST_DEBUG_CATEGORY_EXTERN (gst_vkgdr_memory_debug);

/* --- memory.c --- */

/* The memory that @mem is a part of, or @mem. */
GstVkgdrMemory *gst_vkgdr_memory_root (GstMemory *mem);

/* Sets the functions of @allocator that work on a GstVkgdrMemory, except
 * mem_copy and the functions of mappings. */
void gst_vkgdr_memory_init_allocator (GstAllocator *allocator);

/* GstAllocatorClass.free */
void gst_vkgdr_memory_free (GstAllocator *allocator, GstMemory *mem);

/* Makes a memory of @block (transfer full), for an allocator with @blocks. */
GstMemory *gst_vkgdr_memory_new (GstAllocator *allocator,
    GstVkgdrBlocks *blocks, const GstVkgdrBlock *block, gsize maxsize,
    gsize align, gsize offset, gsize size);

/* Makes a memory of @size bytes at @offset in @allocation (transfer full),
 * which is not a slab. */
GstVkgdrMemory *gst_vkgdr_memory_new_of_allocation (GstAllocator *allocator,
    GstVkgdrBlocks *blocks, GstVkgdrAllocation *allocation, gsize offset,
    gsize size);

/* As gst_vkgdr_order_is_idle (). */
gboolean gst_vkgdr_memory_check_idle (
    GstMemory *memory, GstVkgdrFence **pending);

/* Must be called when a writer gets the memory. @policy then chooses the access
 * mode. @waited is the time for which the writer has waited until the device
 * had finished with the memory. */
void gst_vkgdr_memory_begin_turn (
    GstMemory *mem, GstVkgdrPolicy *policy, GstClockTime waited);

/* Sets the access mode, if a policy chooses it. Must be called before the
 * memory is mapped for writing at the time @now. */
void gst_vkgdr_memory_choose_access_locked (
    GstVkgdrMemory *self, GstClockTime now);

/* Waits for all work that must precede a CPU access with @flags. The lock is
 * released while the CPU waits. FALSE with @error set if the wait failed, or
 * the content is lost. */
gboolean gst_vkgdr_memory_wait_locked (
    GstVkgdrMemory *self, GstMapFlags flags, GError **error);

/* Must be called before work is queued on a stream. If the memory may be in use
 * without a fence, as wrapped memory at first, and the driver cannot record
 * one, usually because it is older than CUDA 12.5, the lock is released and the
 * CPU waits. */
gboolean gst_vkgdr_memory_settle_locked (GstVkgdrMemory *self, GError **error);

/* The content on the device is now newer than that of the staging buffer. */
void gst_vkgdr_memory_set_on_device_locked (GstVkgdrMemory *self);

/* Takes the staging buffer away from a memory of a pool, with the fence of the
 * last transfer from it. The caller passes @remains to
 * gst_vkgdr_blocks_retire () without the lock. Returns FALSE if the memory has
 * no staging buffer, or still needs it. */
gboolean gst_vkgdr_memory_take_staging_locked (
    GstVkgdrMemory *self, GstVkgdrRemains *remains);

/* --- map.c --- */

/* GstAllocator's mem_map_full and mem_unmap_full. */
gpointer gst_vkgdr_memory_map_full (
    GstMemory *mem, GstMapInfo *info, gsize maxsize);
void gst_vkgdr_memory_unmap_full (GstMemory *mem, GstMapInfo *info);

/* Must be called when another process gets access to the memory: the content on
 * the device may change at any time from now on. */
void gst_vkgdr_memory_set_shared (GstMemory *mem);

G_END_DECLS

#endif /* __GST_VKGDR_MEMORY_H_PRIVATE__ */
