/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * memory/blocks.h: what the memories of an allocator are made of
 *
 * Each allocator owns one GstVkgdrBlocks: slabs of device memory, slabs of
 * pinned host memory, and the streams for transfers between them. Freed blocks
 * are used again when the device has finished with them. A slab that is not
 * used for ten seconds goes back to the driver. Thread-safe.
 *
 * The object may live longer than its allocator: until the device has finished
 * with the last part.
 */

#ifndef __GST_VKGDR_BLOCKS_H__
#define __GST_VKGDR_BLOCKS_H__

#include "memory/memory-private.h"
#include "memory/slabs.h"

G_BEGIN_DECLS

#define GST_TYPE_VKGDR_BLOCKS (gst_vkgdr_blocks_get_type ())
G_DECLARE_FINAL_TYPE (
    GstVkgdrBlocks, gst_vkgdr_blocks, GST, VKGDR_BLOCKS, GObject)

struct _GstVkgdrBlocks {
  GObject parent;

  /* These do not change. */
  GstVkgdrContext *context;
  gboolean is_pool;
  GWeakRef pool; /* the pool that owns the allocator, if there is one */

  GMutex lock; /* for the fields below; must not be held during a call of the
                * driver that waits or allocates */
  GstVkgdrSlabs slabs;
  GstVkgdrSlabs host_slabs; /* of pinned host memory: staging buffers, and
                             * memory for downloads */
  GstVkgdrStream *streams[2];
  GQueue retired;      /* of GstVkgdrRemains, oldest first */
  gboolean is_closed;  /* the allocator is gone */
  gboolean has_timer;  /* for slabs and staging buffers that are not used */
  gboolean has_warned; /* it was logged that device-only memory is used */
};

/* What has to wait for the device before it is used again. */
typedef struct {
  GstVkgdrBlock block;
  GSList *cuda_wrappers; /* of GstMemory */
  GPtrArray *fences;     /* of GstVkgdrFence, or NULL */
} GstVkgdrRemains;

/* @pool (nullable): the buffer pool that owns the allocator. */
GstVkgdrBlocks *gst_vkgdr_blocks_new (
    GstVkgdrContext *context, GstBufferPool *pool);

/* Must be called when no memory of the allocator exists any more. Gives all
 * memory back when the device has finished with it. Drops the reference. */
void gst_vkgdr_blocks_close (GstVkgdrBlocks *self);

/* Sets how many blocks the pool takes at its start. The first slab has room for
 * all of them. */
void gst_vkgdr_blocks_expect (GstVkgdrBlocks *self, guint n_blocks);

/* Takes a block of the window if there is room, or of device-only memory. In a
 * pool, it contains no bytes of another owner. */
gboolean gst_vkgdr_blocks_take (
    GstVkgdrBlocks *self, gsize size, GstVkgdrBlock *block, GError **error);

/* Takes a block of device-only memory. */
gboolean gst_vkgdr_blocks_take_device_only (
    GstVkgdrBlocks *self, gsize size, GstVkgdrBlock *block, GError **error);

/* Takes a block of pinned host memory, which may be larger than @size. It has a
 * host pointer and no device pointer. */
gboolean gst_vkgdr_blocks_take_pinned (
    GstVkgdrBlocks *self, gsize size, GstVkgdrBlock *block, GError **error);

/* The same for a staging buffer: it contains no bytes of another owner. */
gboolean gst_vkgdr_blocks_take_staging (
    GstVkgdrBlocks *self, gsize size, GstVkgdrBlock *block, GError **error);

/* Queues the clearing of @size bytes at @device. Returns the fence behind it,
 * which the caller owns; NULL with @error set on failure. */
GstVkgdrFence *gst_vkgdr_blocks_clear (
    GstVkgdrBlocks *self, CUdeviceptr device, gsize size, GError **error);

/* Recycles or frees the parts (transfer full) when the device has finished with
 * them. Does not wait. */
void gst_vkgdr_blocks_retire (
    GstVkgdrBlocks *self, const GstVkgdrRemains *remains);

/* Recycles parts that the device has finished with. */
void gst_vkgdr_blocks_reap (GstVkgdrBlocks *self);

/* Gives all unused memory back to the driver. */
void gst_vkgdr_blocks_trim (GstVkgdrBlocks *self);

/* A stream for DMA in each direction, so that uploads and downloads run
 * concurrently. Created at first use; NULL with @error set on failure. */
GstVkgdrStream *gst_vkgdr_blocks_get_stream (
    GstVkgdrBlocks *self, GstVkgdrDirection direction, GError **error);

/* Parts that the device has finished with do not count as in use. */
GstVkgdrSlabsStats gst_vkgdr_blocks_get_stats (GstVkgdrBlocks *self);

G_END_DECLS

#endif /* __GST_VKGDR_BLOCKS_H__ */
