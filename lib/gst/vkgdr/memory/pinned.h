/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * memory/pinned.h: pinned host memory, recycled
 *
 * Pinning takes a fraction of a millisecond a megabyte, so what is given back
 * is kept for the next one who asks for about the same size. Knows nothing of
 * what the memory is for. Thread-safe.
 */

#ifndef __GST_VKGDR_PINNED_H__
#define __GST_VKGDR_PINNED_H__

#include <gst/vkgdr/gstvkgdrmemory.h>

#include "sync/sync-private.h"

G_BEGIN_DECLS

typedef struct _GstVkgdrPinned GstVkgdrPinned;

GstVkgdrPinned *gst_vkgdr_pinned_new (GstVkgdrContext *context);

GstVkgdrPinned *gst_vkgdr_pinned_ref (GstVkgdrPinned *pinned);

/* The last reference frees what is kept; what is out keeps one itself. */
void gst_vkgdr_pinned_unref (GstVkgdrPinned *pinned);

/* At least @size bytes, aligned to a page; NULL with @error set on failure. */
gpointer gst_vkgdr_pinned_take (
    GstVkgdrPinned *pinned, gsize size, GError **error);

/* Gives @data back; it is used again when @fence (nullable), which is taken
 * over, is reached. */
void gst_vkgdr_pinned_give (
    GstVkgdrPinned *pinned, gpointer data, GstVkgdrFence *fence);

/* How many blocks are kept for later, and how many are in use. */
void gst_vkgdr_pinned_count (
    GstVkgdrPinned *pinned, guint *n_held, guint *n_active);

/* Frees what is kept. */
void gst_vkgdr_pinned_trim (GstVkgdrPinned *pinned);

G_END_DECLS

#endif /* __GST_VKGDR_PINNED_H__ */
