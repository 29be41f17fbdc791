/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * gstcudawatch.h: tells when a file has another content
 *
 * Knows files and a thread; nothing of what a file holds.
 */

#ifndef __GST_CUDA_WATCH_H__
#define __GST_CUDA_WATCH_H__

#include <glib.h>

G_BEGIN_DECLS

typedef struct _GstCudaWatch GstCudaWatch;

/* Called in the watch's own thread, some 100 ms after the file was written to
 * or replaced for the last time; not where it is gone. May stop the watch. */
typedef void (*GstCudaWatchFunc) (gpointer user_data);

/* Watches @path, which need not exist. What happens to the file after the
 * return is told. NULL with @error (G_IO_ERROR) where it cannot be watched. */
GstCudaWatch *gst_cuda_watch_new (const gchar *path, GstCudaWatchFunc func,
    gpointer user_data, GError **error);

const gchar *gst_cuda_watch_get_path (const GstCudaWatch *self);

/* Ends and frees it. @func is not called any more, and if it is just running,
 * this waits until it has returned, unless it is @func who calls. */
void gst_cuda_watch_stop (GstCudaWatch *self);

G_END_DECLS

#endif /* __GST_CUDA_WATCH_H__ */
