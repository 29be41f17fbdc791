/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * cudafilter/worker.h: one thread that does a job whenever it is woken
 *
 * Knows nothing of what the job is. The thread runs a main context of its own,
 * so that file monitors can report to it.
 */

#ifndef __GST_CUDA_WORKER_H__
#define __GST_CUDA_WORKER_H__

#include <glib.h>

G_BEGIN_DECLS

typedef struct _GstCudaWorker GstCudaWorker;

typedef void (*GstCudaWorkerFunc) (gpointer user_data);

/* Starts the thread. @job runs in it after each gst_cuda_worker_wake(); several
 * wakes before the job begins are one. @user_data (taken) is freed with @free
 * in the thread, when it ends. NULL with @error (G_THREAD_ERROR) if there is no
 * thread to be had; @user_data is then freed, too. */
GstCudaWorker *gst_cuda_worker_new (GstCudaWorkerFunc job, gpointer user_data,
    GDestroyNotify free, GError **error);

/* Returns at once. Any thread. */
void gst_cuda_worker_wake (GstCudaWorker *self);

/* Whether the job runs, or is going to. Any thread. */
gboolean gst_cuda_worker_is_busy (GstCudaWorker *self);

/* Waits until the worker is not busy. In the worker's own thread it returns at
 * once. Must not be called with a lock held that the job takes. */
void gst_cuda_worker_wait (GstCudaWorker *self);

/* Ends the thread and frees @self. Waits for a job that runs, except in the
 * worker's own thread, which then ends once the job has returned. */
void gst_cuda_worker_stop (GstCudaWorker *self);

G_END_DECLS

#endif /* __GST_CUDA_WORKER_H__ */
