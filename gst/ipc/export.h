/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * ipc/export.h: allocations that other processes get
 *
 * A frame is a part of an allocation, and frames of a pool share allocations.
 * Each allocation is exported once in this process, so that its file descriptor
 * is sent once to each client. Knows nothing of clients. Thread-safe.
 */

#ifndef __GST_VKGDR_IPC_EXPORT_H__
#define __GST_VKGDR_IPC_EXPORT_H__

#include <gst/vkgdr/vkgdr.h>

#include "frame-server.h"

G_BEGIN_DECLS

/* Whether @memory is exported at present. */
gboolean gst_vkgdr_ipc_is_exported (GstMemory *memory);

/* Sets @range to the position of @memory in its allocation, and @is_new to TRUE
 * if the allocation was not exported before. The caller owns a reference to the
 * range's memory. Returns FALSE with @error set if @memory cannot be
 * exported. */
gboolean gst_vkgdr_ipc_export (GstMemory *memory, vkgdr_server_range *range,
    gboolean *is_new, GError **error);

G_END_DECLS

#endif /* __GST_VKGDR_IPC_EXPORT_H__ */
