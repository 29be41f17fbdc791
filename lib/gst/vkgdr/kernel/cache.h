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

/* Both may be called from several threads and processes at the same time, and
 * do not fail. If the cache cannot be used, or if other users can write to it,
 * nothing is found or stored, and a warning is logged. @key is a string that
 * determines the image. Only its hash is stored. */
GBytes *gst_vkgdr_cache_lookup (const gchar *key);
void gst_vkgdr_cache_store (const gchar *key, GBytes *image);

G_END_DECLS

#endif /* __GST_VKGDR_CACHE_H__ */
