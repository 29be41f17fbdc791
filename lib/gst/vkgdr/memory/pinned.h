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

/* Gives @data back. It is reused when @fence (nullable, taken) is reached. */
void gst_vkgdr_pinned_give (
    GstVkgdrPinned *pinned, gpointer data, GstVkgdrFence *fence);

/* Announces that blocks of @bytes more in total will be given back and taken
 * repeatedly. This raises the limit for kept blocks by @bytes. A negative
 * number lowers the limit again, and frees the blocks beyond it. Must be called
 * without a lock if @bytes is negative. */
void gst_vkgdr_pinned_expect (GstVkgdrPinned *pinned, gssize bytes);

/* The number of kept blocks and of used blocks. */
void gst_vkgdr_pinned_count (
    GstVkgdrPinned *pinned, guint *n_held, guint *n_active);

/* Frees the kept blocks. */
void gst_vkgdr_pinned_trim (GstVkgdrPinned *pinned);

G_END_DECLS

#endif /* __GST_VKGDR_PINNED_H__ */
