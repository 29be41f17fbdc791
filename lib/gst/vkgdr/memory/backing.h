/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * memory/backing.h: the kinds of device memory
 *
 * A backing is a table of functions for one kind of memory. All other code asks
 * whether an allocation has a host pointer or a file descriptor. It never asks
 * which backing made the allocation. So a new backing needs only one new file.
 */

#ifndef __GST_VKGDR_BACKING_H__
#define __GST_VKGDR_BACKING_H__

#include <gst/vkgdr/gstvkgdrmemory.h>

#include "sync/sync-private.h"

G_BEGIN_DECLS

typedef struct _GstVkgdrBacking GstVkgdrBacking;

/* A contiguous range of device memory. */
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
   * backing does not allocate, but wraps existing memory. */
  gboolean (*allocate) (GstVkgdrAllocation *allocation, GError **error);

  /* Frees the memory, or gives it back to its owner, and frees `data`. Called
   * when the device has finished with the memory, also after the context
   * failed. */
  void (*free) (GstVkgdrAllocation *allocation);

  /* Whether `free` blocks until the device is idle. */
  gboolean free_waits;

  /* Makes bytes that the CPU wrote through `host` visible to the device
   * (flush), and bytes that the device wrote visible to the CPU (invalidate).
   * NULL if there is no host pointer. */
  gboolean (*flush) (
      GstVkgdrAllocation *allocation, gsize offset, gsize size, GError **error);
  gboolean (*invalidate) (
      GstVkgdrAllocation *allocation, gsize offset, gsize size, GError **error);

  /* Returns a new file descriptor of the whole allocation, and sets @info to
   * the description that another process needs to import it; -1 with @error set
   * on failure. NULL if the backing cannot export. */
  gint (*export_fd) (
      GstVkgdrAllocation *allocation, vkgdr_fd_info *info, GError **error);
};

/* Memory in the window: device-local and host-visible. libvkgdr allocates it.
 */
extern const GstVkgdrBacking gst_vkgdr_backing_window;

/* Device-only memory. The CUDA driver allocates it. */
extern const GstVkgdrBacking gst_vkgdr_backing_device;

/* `flush` and `invalidate` of allocations whose `data` is a vkgdr_memory_t. */
gboolean gst_vkgdr_core_memory_flush (
    GstVkgdrAllocation *self, gsize offset, gsize size, GError **error);
gboolean gst_vkgdr_core_memory_invalidate (
    GstVkgdrAllocation *self, gsize offset, gsize size, GError **error);

/* Allocates @size bytes. NULL with @error set on failure. Must be called
 * without a lock, because the driver may take long. */
GstVkgdrAllocation *gst_vkgdr_allocation_new (const GstVkgdrBacking *backing,
    GstVkgdrContext *context, gsize size, GError **error);

/* Wraps memory of another library; @notify (nullable) is called to free it. */
GstVkgdrAllocation *gst_vkgdr_allocation_new_wrapped (GstVkgdrContext *context,
    CUdeviceptr device, gsize size, gpointer user_data, GDestroyNotify notify);

/* Imports memory of another process from a file descriptor, which the caller
 * still owns, and the description that `export_fd` returned. NULL with @error
 * set on failure. */
GstVkgdrAllocation *gst_vkgdr_allocation_new_imported (GstVkgdrContext *context,
    gint fd, const vkgdr_fd_info *info, GError **error);

/* Makes an allocation of a range of @allocation, which belongs to @whole. Keeps
 * @whole alive. @notify (nullable) is called when the part is freed. */
GstVkgdrAllocation *gst_vkgdr_allocation_new_part (GstMemory *whole,
    const GstVkgdrAllocation *allocation, gsize offset, gsize size,
    gpointer user_data, GDestroyNotify notify);

/* Frees the allocation. If this blocks until the device is idle, it is done in
 * another thread. The device must have finished with the allocation. Must be
 * called without a lock. */
void gst_vkgdr_allocation_free (GstVkgdrAllocation *allocation);

/* The same for an allocation that the device may still use: it is freed when
 * the device is known to have finished with all work before @fences (taken),
 * which are pending or lost. */
void gst_vkgdr_allocation_free_lost (
    GstVkgdrAllocation *allocation, GPtrArray *fences);

G_END_DECLS

#endif /* __GST_VKGDR_BACKING_H__ */
