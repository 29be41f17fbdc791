/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * memory/backing.h: where device memory comes from
 *
 * A backing is a table of functions. All other code asks what an allocation has
 * (a host pointer? a file descriptor?) and never which backing made it, so that
 * a new backing is one new file.
 */

#ifndef __GST_VKGDR_BACKING_H__
#define __GST_VKGDR_BACKING_H__

#include <gst/vkgdr/gstvkgdrmemory.h>

#include "sync/sync-private.h"

G_BEGIN_DECLS

typedef struct _GstVkgdrBacking GstVkgdrBacking;

/* Device memory in one piece. */
typedef struct {
  const GstVkgdrBacking *backing;
  GstVkgdrContext *context; /* a reference */
  gsize size;               /* bytes */
  guint8 *host;             /* write-combined memory, or NULL */
  CUdeviceptr device;
  gpointer data;    /* of the backing */
  gint is_exported; /* atomic; another process may have it */
} GstVkgdrAllocation;

struct _GstVkgdrBacking {
  const gchar *name;

  /* Sets `host`, `device` and `data` of an allocation whose other fields are
   * set. Called with the CUDA context current. NULL: allocations of this
   * backing are made of what exists. */
  gboolean (*allocate) (GstVkgdrAllocation *allocation, GError **error);

  /* Gives back what `data` stands for. Called when the device has finished with
   * it; also for a context that failed. */
  void (*free) (GstVkgdrAllocation *allocation);

  /* Whether the driver's call in `free` waits until the device is idle. */
  gboolean free_waits;

  /* Makes what the CPU wrote through `host` visible to the device, and the
   * other way round. NULL: there is no host pointer. */
  gboolean (*flush) (
      GstVkgdrAllocation *allocation, gsize offset, gsize size, GError **error);
  gboolean (*invalidate) (
      GstVkgdrAllocation *allocation, gsize offset, gsize size, GError **error);

  /* A new file descriptor of all of the allocation, or -1 with @error set, and
   * what another process has to know to import it. NULL: there is none. */
  gint (*export_fd) (
      GstVkgdrAllocation *allocation, vkgdr_fd_info *info, GError **error);
};

/* Memory in the window: device-local and host-visible, by libvkgdr. */
extern const GstVkgdrBacking gst_vkgdr_backing_window;

/* Memory of the device that has no host pointer, by the CUDA driver. */
extern const GstVkgdrBacking gst_vkgdr_backing_device;

/* `flush` and `invalidate` of allocations whose `data` is a vkgdr_memory_t. */
gboolean gst_vkgdr_core_memory_flush (
    GstVkgdrAllocation *self, gsize offset, gsize size, GError **error);
gboolean gst_vkgdr_core_memory_invalidate (
    GstVkgdrAllocation *self, gsize offset, gsize size, GError **error);

/* Allocates @size bytes. Must be called without a lock: the driver takes its
 * time. NULL with @error set on failure. */
GstVkgdrAllocation *gst_vkgdr_allocation_new (const GstVkgdrBacking *backing,
    GstVkgdrContext *context, gsize size, GError **error);

/* Memory of another library, which @notify (nullable) gives back. */
GstVkgdrAllocation *gst_vkgdr_allocation_new_wrapped (GstVkgdrContext *context,
    CUdeviceptr device, gsize size, gpointer user_data, GDestroyNotify notify);

/* Memory of another process, from a file descriptor, which stays the caller's,
 * and what `export_fd` told about it. NULL with @error set on failure. */
GstVkgdrAllocation *gst_vkgdr_allocation_new_imported (GstVkgdrContext *context,
    gint fd, const vkgdr_fd_info *info, GError **error);

/* A range of @whole's allocation, which lives as long as the part. @notify
 * (nullable) is called when the part is freed. */
GstVkgdrAllocation *gst_vkgdr_allocation_new_part (GstMemory *whole,
    const GstVkgdrAllocation *allocation, gsize offset, gsize size,
    gpointer user_data, GDestroyNotify notify);

/* Frees it, in another thread if that has to wait for the device. The device
 * must have finished with it. Must be called without a lock. */
void gst_vkgdr_allocation_free (GstVkgdrAllocation *allocation);

/* The same, of which nobody knows whether the device has finished: it is freed
 * when all of @fences (taken), some of which are lost, are known to be behind
 * it. */
void gst_vkgdr_allocation_free_lost (
    GstVkgdrAllocation *allocation, GPtrArray *fences);

G_END_DECLS

#endif /* __GST_VKGDR_BACKING_H__ */
