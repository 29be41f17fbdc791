/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * cudafilter/worker.c: see cudafilter/worker.h
 */

#include "cudafilter/worker.h"

struct _GstCudaWorker {
  gint references; /* one for the owner, one for the thread */
  GstCudaWorkerFunc job;
  gpointer user_data;
  GDestroyNotify free;

  GThread *thread;
  GMainContext *context;
  GMainLoop *loop;

  GMutex lock;
  GCond cond;            /* signalled when the worker is not busy any more */
  gboolean is_scheduled; /* protected by the lock, like the next two */
  gboolean is_running;
  gboolean is_stopped;
};

static void
worker_unref (GstCudaWorker *self)
{
  if (!g_atomic_int_dec_and_test (&self->references))
    return;
  g_main_loop_unref (self->loop);
  g_main_context_unref (self->context);
  g_cond_clear (&self->cond);
  g_mutex_clear (&self->lock);
  g_free (self);
}

static gpointer
worker_run (gpointer user_data)
{
  GstCudaWorker *self = user_data;

  g_main_context_push_thread_default (self->context);
  g_main_loop_run (self->loop);
  self->free (self->user_data);
  g_main_context_pop_thread_default (self->context);
  worker_unref (self);
  return NULL;
}

GstCudaWorker *
gst_cuda_worker_new (GstCudaWorkerFunc job, gpointer user_data,
    GDestroyNotify free, GError **error)
{
  GstCudaWorker *self = g_new0 (GstCudaWorker, 1);

  self->references = 2;
  self->job = job;
  self->user_data = user_data;
  self->free = free;
  self->context = g_main_context_new ();
  self->loop = g_main_loop_new (self->context, FALSE);
  g_mutex_init (&self->lock);
  g_cond_init (&self->cond);
  self->thread = g_thread_try_new ("cudafilter", worker_run, self, error);
  if (self->thread)
    return self;
  free (user_data);
  self->references = 1;
  worker_unref (self);
  return NULL;
}

/* Calls @func in the worker's thread. */
static void
attach (GstCudaWorker *self, GSourceFunc func, gint priority)
{
  GSource *source = g_idle_source_new ();

  g_source_set_priority (source, priority);
  g_source_set_callback (source, func, self, NULL);
  g_source_attach (source, self->context);
  g_source_unref (source);
}

static gboolean
on_wake (gpointer user_data)
{
  GstCudaWorker *self = user_data;
  gboolean is_wanted;

  g_mutex_lock (&self->lock);
  is_wanted = !self->is_stopped;
  self->is_scheduled = FALSE;
  self->is_running = is_wanted;
  g_mutex_unlock (&self->lock);
  if (is_wanted)
    self->job (self->user_data);
  g_mutex_lock (&self->lock);
  self->is_running = FALSE;
  g_cond_broadcast (&self->cond);
  g_mutex_unlock (&self->lock);
  return G_SOURCE_REMOVE;
}

void
gst_cuda_worker_wake (GstCudaWorker *self)
{
  gboolean is_new;

  g_mutex_lock (&self->lock);
  is_new = !self->is_scheduled && !self->is_stopped;
  if (is_new)
    self->is_scheduled = TRUE;
  g_mutex_unlock (&self->lock);
  if (is_new)
    attach (self, on_wake, G_PRIORITY_DEFAULT);
}

/* Must be called with the lock held. */
static gboolean
is_busy (GstCudaWorker *self)
{
  return !self->is_stopped && (self->is_scheduled || self->is_running);
}

gboolean
gst_cuda_worker_is_busy (GstCudaWorker *self)
{
  gboolean busy;

  g_mutex_lock (&self->lock);
  busy = is_busy (self);
  g_mutex_unlock (&self->lock);
  return busy;
}

void
gst_cuda_worker_wait (GstCudaWorker *self)
{
  if (self->thread == g_thread_self ())
    return;
  g_mutex_lock (&self->lock);
  while (is_busy (self))
    g_cond_wait (&self->cond, &self->lock);
  g_mutex_unlock (&self->lock);
}

static gboolean
on_stop (gpointer user_data)
{
  g_main_loop_quit (((GstCudaWorker *) user_data)->loop);
  return G_SOURCE_REMOVE;
}

void
gst_cuda_worker_stop (GstCudaWorker *self)
{
  GThread *thread = self->thread;

  g_mutex_lock (&self->lock);
  self->is_stopped = TRUE;
  g_cond_broadcast (&self->cond);
  g_mutex_unlock (&self->lock);
  /* Called in the thread itself, because a loop can only be ended while it
   * runs. */
  attach (self, on_stop, G_PRIORITY_HIGH);
  if (thread == g_thread_self ())
    g_thread_unref (thread);
  else
    g_thread_join (thread);
  worker_unref (self);
}
