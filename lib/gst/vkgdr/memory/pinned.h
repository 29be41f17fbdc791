/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * memory/pinned.h: pinned host memory, recycled
 *
 * Pinning takes a fraction of a millisecond per megabyte, so blocks are kept
 * and reused for requests of about the same size. Does not know what the memory
 * is used for. Thread-safe.
 */

#ifndef __GST_VKGDR_PINNED_H__
#define __GST_VKGDR_PINNED_H__

#include <gst/vkgdr/gstvkgdrmemory.h>

#include "sync/sync-private.h"

G_BEGIN_DECLS

typedef struct _GstVkgdrPinned GstVkgdrPinned;

GstVkgdrPinned *gst_vkgdr_pinned_new (GstVkgdrContext *context);

GstVkgdrPinned *gst_vkgdr_pinned_ref (GstVkgdrPinned *pinned);

/* Releasing the last reference frees the kept blocks. The user of a block must
 * have a reference until it gives the block back. */
void gst_vkgdr_pinned_unref (GstVkgdrPinned *pinned);

/* Takes a block of at least @size bytes, aligned to a page; NULL with @error
 * set on failure. If several kept blocks have the same size, takes the block
 * that was given back last, because it may be in the CPU's cache. */
gpointer gst_vkgdr_pinned_take (
    GstVkgdrPinned *pinned, gsize size, GError **error);

/* Gives @data back, for use after @fence (nullable, transfer full). */
void gst_vkgdr_pinned_give (
    GstVkgdrPinned *pinned, gpointer data, GstVkgdrFence *fence);

/* Frees the kept blocks that have not been used since @since (monotonic time).
 */
void gst_vkgdr_pinned_trim (GstVkgdrPinned *pinned, gint64 since);

/* Whether there are no kept blocks and no used blocks. */
gboolean gst_vkgdr_pinned_is_empty (GstVkgdrPinned *pinned);

G_END_DECLS

#endif /* __GST_VKGDR_PINNED_H__ */
