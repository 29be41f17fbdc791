/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * kernel/cache.h: compiled images on disk
 *
 * Knows nothing of compilers: a key is a string, an image is bytes.
 */

#ifndef __GST_VKGDR_CACHE_H__
#define __GST_VKGDR_CACHE_H__

#include <gst/gst.h>

G_BEGIN_DECLS

/* Both may be called from any thread and process at once. Neither fails: where
 * the cache cannot be used, or must not because others may have written to it,
 * nothing is found or kept, and a warning in the log says so once. @key is
 * anything that determines the image; only its hash is kept. */
GBytes *gst_vkgdr_cache_lookup (const gchar *key);
void gst_vkgdr_cache_store (const gchar *key, GBytes *image);

G_END_DECLS

#endif /* __GST_VKGDR_CACHE_H__ */
