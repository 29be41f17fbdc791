/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * memory/backing.h: the kinds of memory
 *
 * A backing is a table of functions for one kind of memory. All other code asks
 * whether an allocation has a host pointer or a file descriptor. It never asks
 * which backing made the allocation.
 *
 * | backing | host pointer | from |
 * | window | yes | Vulkan, imported in CUDA |
 * | device | no | cuMemAlloc |
 * | wrapped | only in a part of a memory that has one | another library |
 * | imported | yes, if it is in the window | another process |
 * | pinned | yes, and no device pointer | cuMemHostAlloc |
 */

#ifndef __GST_VKGDR_BACKING_H__
#define __GST_VKGDR_BACKING_H__

#include <gst/vkgdr/gstvkgdrmemory.h>

#include "sync/sync-private.h"

G_BEGIN_DECLS

typedef struct _GstVkgdrBacking GstVkgdrBacking;

/* A contiguous range of device memory, or of pinned host memory. */
typedef struct {
  const GstVkgdrBacking *backing;
  GstVkgdrContext *context; /* a reference */
  gsize size;               /* bytes */
  guint8 *host;             /* usually write-combined memory; or NULL */
  CUdeviceptr device;
  gboolean is_coherent; /* a store fence is enough: `flush` does nothing more */
  gpointer data;        /* private data of the backing */
  gint is_exported;     /* atomic; another process may use it */
} GstVkgdrAllocation;

struct _GstVkgdrBacking {
  const gchar *name;

  /* Sets `host`, `device`, `is_coherent` and `data` of an allocation; the other
   * fields are set already. Called with the CUDA context current. NULL if the
   * backing does not allocate, but takes existing memory. */
  gboolean (*allocate) (GstVkgdrAllocation *allocation, GError **error);

  /* Frees the memory, or gives it back to its owner, and frees `data`. Called
   * when the device has finished with the memory, also after the context
   * failed. */
  void (*free) (GstVkgdrAllocation *allocation);

  /* Whether `free` blocks until the device is idle. */
  gboolean free_waits;

  /* Makes bytes that the CPU wrote through `host` visible to the device
   * (GST_MAP_WRITE), or bytes that the device wrote visible to the CPU
   * (GST_MAP_READ). NULL if there is no host pointer. */
  gboolean (*flush) (GstVkgdrAllocation *allocation, gsize offset, gsize size,
      GstMapFlags direction, GError **error);

  /* Returns a new file descriptor of the whole allocation, and sets @info to
   * the description that another process needs to import it; -1 with @error set
   * on failure. NULL if the backing cannot export. */
  gint (*export) (
      GstVkgdrAllocation *allocation, vkgdr_fd_info *info, GError **error);
};

/* Bytes. Allocations are a multiple of the page size of GPUs. */
#define GST_VKGDR_PAGE_ALIGNMENT (64 * 1024)

extern const GstVkgdrBacking gst_vkgdr_backing_window;
extern const GstVkgdrBacking gst_vkgdr_backing_device;
extern const GstVkgdrBacking gst_vkgdr_backing_pinned;

/* Allocates @size bytes. NULL with @error set on failure. Must be called
 * without a lock, because the driver may take long. */
GstVkgdrAllocation *gst_vkgdr_allocation_new (const GstVkgdrBacking *backing,
    GstVkgdrContext *context, gsize size, GError **error);

/* Wraps memory of another library; @notify (nullable) is called to free it. */
GstVkgdrAllocation *gst_vkgdr_allocation_new_wrapped (GstVkgdrContext *context,
    CUdeviceptr device, gsize size, gpointer user_data, GDestroyNotify notify);

/* Wraps a range of @allocation, which belongs to @whole. Keeps @whole alive.
 * @notify (nullable) is called when the part is freed. */
GstVkgdrAllocation *gst_vkgdr_allocation_new_part (GstMemory *whole,
    GstVkgdrAllocation *allocation, gsize offset, gsize size,
    gpointer user_data, GDestroyNotify notify);

/* Imports memory of another process from a file descriptor, which the caller
 * still owns, and the description that `export` returned. NULL: @error is set.
 */
GstVkgdrAllocation *gst_vkgdr_allocation_new_imported (GstVkgdrContext *context,
    gint fd, const vkgdr_fd_info *info, GError **error);

/* Frees the allocation. If this blocks until the device is idle, it is done in
 * another thread. The device must have finished with the allocation. Must be
 * called without a lock. */
void gst_vkgdr_allocation_free (GstVkgdrAllocation *allocation);

/* Calls `flush`, if the backing has it. */
gboolean gst_vkgdr_allocation_flush (GstVkgdrAllocation *allocation,
    gsize offset, gsize size, GstMapFlags direction, GError **error);

G_END_DECLS

#endif /* __GST_VKGDR_BACKING_H__ */
