/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * gstcudawatch.c: tells when a file has another content
 *
 * A thread with a main context of its own, so that neither an application's
 * main loop nor a streaming thread is needed, or held up by what is done about
 * the news. Knows nothing of what a file holds.
 */

#include <gio/gio.h>
#include <stdlib.h>

#include "gstcudawatch.h"

/* How long a file has to be at rest, in milliseconds: an editor writes in
 * several steps. */
#define WATCH_REST 100

struct _GstCudaWatch {
  gint references; /* of its owner and its thread */
  gchar *path;
  GstCudaWatchFunc func;
  gpointer user_data;

  GThread *thread;
  GMainContext *context;
  GMainLoop *loop;
  GMutex lock;
  GCond cond;
  gboolean is_ready; /* watching, or failed; under the lock */
  GError *error;     /* of that, under the lock */
  gint is_stopped;

  GSource *rest; /* in the thread, until the file is at rest */
};

static void
watch_unref (GstCudaWatch *self)
{
  if (!g_atomic_int_dec_and_test (&self->references))
    return;
  g_main_loop_unref (self->loop);
  g_main_context_unref (self->context);
  g_cond_clear (&self->cond);
  g_mutex_clear (&self->lock);
  g_free (self->path);
  g_free (self);
}

static void
watch_forget_rest (GstCudaWatch *self)
{
  if (!self->rest)
    return;
  g_source_destroy (self->rest);
  g_clear_pointer (&self->rest, g_source_unref);
}

static gboolean
on_rest (gpointer user_data)
{
  GstCudaWatch *self = user_data;

  watch_forget_rest (self);
  if (!g_atomic_int_get (&self->is_stopped)
      && g_file_test (self->path, G_FILE_TEST_EXISTS))
    self->func (self->user_data);
  return G_SOURCE_REMOVE;
}

static void
on_event (GFileMonitor *monitor, GFile *file, GFile *other,
    GFileMonitorEvent event, gpointer user_data)
{
  GstCudaWatch *self = user_data;

  /* Of itself, reading a file changes its attributes. */
  if (event == G_FILE_MONITOR_EVENT_ATTRIBUTE_CHANGED
      || event == G_FILE_MONITOR_EVENT_PRE_UNMOUNT
      || event == G_FILE_MONITOR_EVENT_UNMOUNTED)
    return;
  watch_forget_rest (self);
  self->rest = g_timeout_source_new (WATCH_REST);
  g_source_set_callback (self->rest, on_rest, self, NULL);
  g_source_attach (self->rest, self->context);
}

/* A monitor of a file looks at its folder, so it sees another file put in its
 * place. */
static GFileMonitor *
monitor_new (GstCudaWatch *self, const gchar *path, GError **error)
{
  GFile *file = g_file_new_for_path (path);
  GFileMonitor *monitor =
      g_file_monitor_file (file, G_FILE_MONITOR_NONE, NULL, error);

  g_object_unref (file);
  if (!monitor)
    return NULL;
  g_file_monitor_set_rate_limit (monitor, WATCH_REST);
  g_signal_connect (monitor, "changed", G_CALLBACK (on_event), self);
  return monitor;
}

static void
monitor_free (GFileMonitor *monitor)
{
  g_file_monitor_cancel (monitor);
  g_object_unref (monitor);
}

/* Behind a link, it is the other end that an editor writes to. NULL where the
 * path is no link. */
static GFileMonitor *
target_monitor_new (GstCudaWatch *self)
{
  gchar *full = g_canonicalize_filename (self->path, NULL);
  gchar *target = realpath (self->path, NULL);
  GFileMonitor *monitor = NULL;

  if (target && !g_str_equal (target, full))
    monitor = monitor_new (self, target, NULL);
  free (target);
  g_free (full);
  return monitor;
}

static gpointer
watch_run (gpointer user_data)
{
  GstCudaWatch *self = user_data;
  GFileMonitor *monitor, *target_monitor;
  GError *error = NULL;

  g_main_context_push_thread_default (self->context);
  monitor = monitor_new (self, self->path, &error);
  target_monitor = target_monitor_new (self);

  g_mutex_lock (&self->lock);
  self->error = error;
  self->is_ready = TRUE;
  g_cond_signal (&self->cond);
  g_mutex_unlock (&self->lock);

  if (monitor)
    g_main_loop_run (self->loop);

  watch_forget_rest (self);
  g_clear_pointer (&monitor, monitor_free);
  g_clear_pointer (&target_monitor, monitor_free);
  g_main_context_pop_thread_default (self->context);
  watch_unref (self);
  return NULL;
}

GstCudaWatch *
gst_cuda_watch_new (const gchar *path, GstCudaWatchFunc func,
    gpointer user_data, GError **error)
{
  GstCudaWatch *self = g_new0 (GstCudaWatch, 1);
  GError *reason;

  self->references = 2;
  self->path = g_strdup (path);
  self->func = func;
  self->user_data = user_data;
  self->context = g_main_context_new ();
  self->loop = g_main_loop_new (self->context, FALSE);
  g_mutex_init (&self->lock);
  g_cond_init (&self->cond);
  self->thread = g_thread_new ("cudafilter-watch", watch_run, self);

  g_mutex_lock (&self->lock);
  while (!self->is_ready)
    g_cond_wait (&self->cond, &self->lock);
  reason = self->error;
  g_mutex_unlock (&self->lock);
  if (!reason)
    return self;
  gst_cuda_watch_stop (self);
  g_propagate_prefixed_error (error, reason, "%s cannot be watched: ", path);
  return NULL;
}

const gchar *
gst_cuda_watch_get_path (const GstCudaWatch *self)
{
  return self->path;
}

static gboolean
on_stop (gpointer user_data)
{
  g_main_loop_quit (user_data);
  return G_SOURCE_REMOVE;
}

void
gst_cuda_watch_stop (GstCudaWatch *self)
{
  GSource *source = g_idle_source_new ();

  /* In its own thread, since a loop can only be ended once it runs. */
  g_atomic_int_set (&self->is_stopped, TRUE);
  g_source_set_priority (source, G_PRIORITY_HIGH);
  g_source_set_callback (source, on_stop, g_main_loop_ref (self->loop),
      (GDestroyNotify) g_main_loop_unref);
  g_source_attach (source, self->context);
  g_source_unref (source);
  if (self->thread == g_thread_self ())
    g_thread_unref (self->thread);
  else
    g_thread_join (self->thread);
  watch_unref (self);
}
