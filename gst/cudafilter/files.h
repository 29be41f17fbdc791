/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * cudafilter/files.h: the files that a kernel is made of, and their changes
 *
 * These are the file of the property location and, if it is a source, the files
 * that it includes. They are watched with the thread-default main context. Not
 * thread-safe: must be used and freed in one thread. Knows neither elements nor
 * kernels.
 */

#ifndef __GST_CUDA_FILES_H__
#define __GST_CUDA_FILES_H__

#include "cudafilter/choice.h"

G_BEGIN_DECLS

typedef struct _GstCudaFiles GstCudaFiles;

/* @func is called about 100 ms after the last time that a watched file was
 * written or replaced, or a link in its path, but not if it was deleted. */
GstCudaFiles *gst_cuda_files_new (void (*func) (gpointer), gpointer user_data);

/* Stores the paths and the states of the files of @choice. Must be called
 * before the kernel of @choice is loaded. */
void gst_cuda_files_note (GstCudaFiles *self, const GstCudaChoice *choice);

/* Watches the files that were noted last, or no files if @watch is FALSE. Files
 * that have changed since they were noted are also reported. Returns FALSE with
 * @error set (G_IO_ERROR) if the file of the property location cannot be
 * watched; other files that cannot be watched are ignored. */
gboolean gst_cuda_files_watch (
    GstCudaFiles *self, gboolean watch, GError **error);

void gst_cuda_files_free (GstCudaFiles *self);

G_END_DECLS

#endif /* __GST_CUDA_FILES_H__ */
