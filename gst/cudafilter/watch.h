/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * cudafilter/watch.h: tells when files have another content
 *
 * Knows paths; nothing of what the files hold.
 */

#ifndef __GST_CUDA_WATCH_H__
#define __GST_CUDA_WATCH_H__

#include <glib.h>

G_BEGIN_DECLS

typedef struct _GstCudaWatch GstCudaWatch;

/* Called in the thread of gst_cuda_watch_new(), some 100 ms after a file was
 * written to or replaced for the last time; not if it is gone. */
typedef void (*GstCudaWatchFunc) (gpointer user_data);

/* Watches @paths, which need not exist, with the calling thread's default main
 * context. A change after the return is reported. NULL with @error (G_IO_ERROR)
 * if the first of them cannot be watched; others that cannot are left out.
 * Not thread-safe: to be used and freed in one thread. */
GstCudaWatch *gst_cuda_watch_new (const gchar *const *paths,
    GstCudaWatchFunc func, gpointer user_data, GError **error);

/* Whether it watches these paths; @paths may be NULL for none. */
gboolean gst_cuda_watch_has_paths (
    const GstCudaWatch *self, const gchar *const *paths);

/* @func is not called any more. */
void gst_cuda_watch_free (GstCudaWatch *self);

G_END_DECLS

#endif /* __GST_CUDA_WATCH_H__ */
