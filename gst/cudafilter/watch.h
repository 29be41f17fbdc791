/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * cudafilter/watch.h: reports changes of the content of files
 *
 * Knows paths, but nothing of the content of the files.
 */

#ifndef __GST_CUDA_WATCH_H__
#define __GST_CUDA_WATCH_H__

#include <glib.h>

G_BEGIN_DECLS

typedef struct _GstCudaWatch GstCudaWatch;

/* Called in the thread of gst_cuda_watch_new(), about 100 ms after the last
 * time that a file was written or replaced, but not if it was deleted. */
typedef void (*GstCudaWatchFunc) (gpointer user_data);

/* Watches @paths, which do not have to exist, with the calling thread's default
 * main context. Changes after the return of this function are reported.
 * Returns NULL with @error set (G_IO_ERROR) if the first path cannot be
 * watched; other paths that cannot be watched are ignored. Not thread-safe:
 * must be used and freed in one thread. */
GstCudaWatch *gst_cuda_watch_new (const gchar *const *paths,
    GstCudaWatchFunc func, gpointer user_data, GError **error);

/* Reports a change as if the file @path, one of those that are watched, had
 * just been written. */
void gst_cuda_watch_touch (GstCudaWatch *self, const gchar *path);

/* Whether it watches exactly these paths, and the files to which they lead now
 * if they are links; FALSE if @paths is NULL. */
gboolean gst_cuda_watch_covers (
    const GstCudaWatch *self, const gchar *const *paths);

/* Stops watching: @func is not called any more. */
void gst_cuda_watch_free (GstCudaWatch *self);

G_END_DECLS

#endif /* __GST_CUDA_WATCH_H__ */
