/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * cudafilter/files.h: the files that a kernel is made of, and their changes
 *
 * These are the file of the property location and, if it is a source, the files
 * that it includes. Not thread-safe. Knows neither elements nor kernels.
 */

#ifndef __GST_CUDA_FILES_H__
#define __GST_CUDA_FILES_H__

#include "cudafilter/choice.h"

G_BEGIN_DECLS

/* Returns the files of @choice, as an array that the caller unrefs. Must be
 * called before the kernel of @choice is loaded. */
GPtrArray *gst_cuda_files_new (const GstCudaChoice *choice);

/* Returns TRUE if a file was written or replaced, or a link in its path, and
 * has not changed since the last call: an editor writes in several steps.
 * Deleted files do not count. */
gboolean gst_cuda_files_poll (GPtrArray *files);

G_END_DECLS

#endif /* __GST_CUDA_FILES_H__ */
