/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * cudafilter/worker.h: a thread that runs a job whenever it is woken
 *
 * Knows nothing of the job. The thread runs a main context of its own, so that
 * file monitors can report to it.
 */

#ifndef __GST_CUDA_WORKER_H__
#define __GST_CUDA_WORKER_H__

#include <glib.h>

G_BEGIN_DECLS

typedef struct _GstCudaWorker GstCudaWorker;

typedef void (*GstCudaWorkerFunc) (gpointer user_data);

/* Starts the thread. @job runs in it after each gst_cuda_worker_wake(); several
 * calls before the job begins count as one. @user_data (transfer full) is freed
 * with @free in the thread when it ends. Returns NULL with @error set
 * (G_THREAD_ERROR) if no thread can be created; @user_data is freed in this
 * case, too. */
GstCudaWorker *gst_cuda_worker_new (GstCudaWorkerFunc job, gpointer user_data,
    GDestroyNotify free, GError **error);

/* Does not wait. Thread-safe. */
void gst_cuda_worker_wake (GstCudaWorker *self);

/* Whether the job runs or is about to run. Thread-safe. */
gboolean gst_cuda_worker_is_busy (GstCudaWorker *self);

/* Waits until the worker is not busy. In the worker's own thread, returns at
 * once. Must not be called with a lock held that the job needs. */
void gst_cuda_worker_wait (GstCudaWorker *self);

/* Ends the thread and frees @self. Waits for a running job, except in the
 * worker's own thread, which then ends after the job. */
void gst_cuda_worker_stop (GstCudaWorker *self);

G_END_DECLS

#endif /* __GST_CUDA_WORKER_H__ */
