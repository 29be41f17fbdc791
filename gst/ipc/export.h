/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * ipc/export.h: allocations that other processes get
 *
 * A frame is a part of an allocation, and frames of a pool share allocations.
 * Each allocation is exported once in this process and has a number, so that
 * its file descriptor is sent once to each client. The export exists as long as
 * a memory of the allocation does. Knows nothing of clients. Thread-safe.
 */

#ifndef __GST_VKGDR_IPC_EXPORT_H__
#define __GST_VKGDR_IPC_EXPORT_H__

#include <gst/vkgdr/vkgdr.h>

#include "ipc/protocol.h"

G_BEGIN_DECLS

typedef struct {
  gint refcount; /* under the lock of export.c */
  guint64 id;    /* never used again */
  guint64 start; /* device pointer */
  gint fd;
  GBytes *message; /* MEMORY */
} GstVkgdrIpcExport;

/* The allocation that @memory is a part of, and the range of that part. Returns
 * a reference; NULL with @error set if it cannot be exported. */
GstVkgdrIpcExport *gst_vkgdr_ipc_export_get (
    GstMemory *memory, GstVkgdrIpcRange *range, GError **error);

void gst_vkgdr_ipc_export_unref (GstVkgdrIpcExport *self);

/* A number that changes whenever an export ends. */
gint gst_vkgdr_ipc_export_generation (void);

/* Whether the export with this number lives. */
gboolean gst_vkgdr_ipc_export_lives (guint64 id);

G_END_DECLS

#endif /* __GST_VKGDR_IPC_EXPORT_H__ */
