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
  guint64 id;    /* unique in this process */
  guint64 start; /* device pointer */
  gint fd;
  GBytes *message; /* the message MEMORY */
} GstVkgdrIpcExport;

/* Returns a reference to the export of the allocation that contains @memory,
 * and sets @range to the position of @memory in it. Returns NULL with @error
 * set if the memory cannot be exported. */
GstVkgdrIpcExport *gst_vkgdr_ipc_export_get (
    GstMemory *memory, GstVkgdrIpcRange *range, GError **error);

void gst_vkgdr_ipc_export_unref (GstVkgdrIpcExport *self);

/* Returns a number that changes whenever an export is freed. */
gint gst_vkgdr_ipc_export_generation (void);

/* Whether the export with the number @id exists. */
gboolean gst_vkgdr_ipc_export_lives (guint64 id);

G_END_DECLS

#endif /* __GST_VKGDR_IPC_EXPORT_H__ */
