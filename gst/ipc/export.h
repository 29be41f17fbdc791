/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * ipc/export.h: allocations that other processes get
 *
 * A frame lies in an allocation, and several frames of a pool in the same one.
 * Each allocation is exported once in this process and has a number, so that
 * its file descriptor travels once to each client. It lives as long as a memory
 * of it does. Knows nothing of clients. Thread-safe.
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

/* The allocation that @memory lies in, and where. Returns a reference; NULL
 * with @error set if it cannot be exported. */
GstVkgdrIpcExport *gst_vkgdr_ipc_export_get (
    GstMemory *memory, GstVkgdrIpcRange *range, GError **error);

void gst_vkgdr_ipc_export_unref (GstVkgdrIpcExport *self);

/* A number that changes whenever an export ends. */
gint gst_vkgdr_ipc_export_generation (void);

/* Whether the export with this number lives. */
gboolean gst_vkgdr_ipc_export_lives (guint64 id);

G_END_DECLS

#endif /* __GST_VKGDR_IPC_EXPORT_H__ */
