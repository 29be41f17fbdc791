/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * gstvkgdrcopypool.h: buffers for what an element copies frame by frame
 *
 * The buffers are of a GstVkgdrBufferPool of the present size, so that a stream
 * settles on a few memories, which can also be exported once each. They contain
 * no bytes of other streams. Not thread-safe.
 */

#ifndef __GST_VKGDR_COPY_POOL_H__
#define __GST_VKGDR_COPY_POOL_H__

#include <gst/vkgdr/vkgdr.h>

G_BEGIN_DECLS

/* Must be zero-initialised. */
typedef struct {
  GstBufferPool *pool; /* or NULL */
  gsize size;          /* of its buffers */
  GError *reason;      /* why the pool could not allocate a buffer, or NULL */
} GstVkgdrCopyPool;

/* Returns a buffer of @size bytes in one memory of @context. The pool is made
 * again if the size has changed. NULL with @error set on failure. */
GstBuffer *gst_vkgdr_copy_pool_acquire (GstVkgdrCopyPool *self,
    GstVkgdrContext *context, gsize size, GError **error);

/* Frees the pool. Its memory is freed when the last buffer is. */
void gst_vkgdr_copy_pool_clear (GstVkgdrCopyPool *self);

G_END_DECLS

#endif /* __GST_VKGDR_COPY_POOL_H__ */
