/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * cudafilter/watch.c: see cudafilter/watch.h
 */

#include <gio/gio.h>
#include <stdlib.h>

#include "cudafilter/watch.h"

/* How long a file has to be unchanged before it is reported, in milliseconds:
 * an editor writes in several steps. */
#define WATCH_REST 100

/* A path, and the target if it is a symbolic link. */
typedef struct {
  GstCudaWatch *watch;
  gchar *path;
  gchar *target; /* the path without links; NULL if there was no file */
  GFileMonitor *monitor;
  GFileMonitor *target_monitor; /* NULL if the path is no link */
  GSource *rest; /* waits until the file is unchanged for a while, else NULL */
} File;

struct _GstCudaWatch {
  GMainContext *context;
  GstCudaWatchFunc func;
  gpointer user_data;
  gchar **paths;
  GPtrArray *files; /* of File */
};

static void
file_forget_rest (File *file)
{
  if (!file->rest)
    return;
  g_source_destroy (file->rest);
  g_clear_pointer (&file->rest, g_source_unref);
}

static void
monitor_free (GFileMonitor *monitor)
{
  g_file_monitor_cancel (monitor);
  g_object_unref (monitor);
}

/* A cancelled monitor may still have an event to emit. */
static void
disconnect (GFileMonitor *monitor, File *file)
{
  if (monitor)
    g_signal_handlers_disconnect_by_data (monitor, file);
}

static void
file_free (gpointer data)
{
  File *file = data;

  file_forget_rest (file);
  disconnect (file->monitor, file);
  disconnect (file->target_monitor, file);
  g_clear_pointer (&file->monitor, monitor_free);
  g_clear_pointer (&file->target_monitor, monitor_free);
  g_free (file->path);
  free (file->target);
  g_free (file);
}

static gboolean
on_rest (gpointer user_data)
{
  File *file = user_data;
  GstCudaWatch *watch = file->watch;

  file_forget_rest (file);
  if (g_file_test (file->path, G_FILE_TEST_EXISTS))
    watch->func (watch->user_data);
  return G_SOURCE_REMOVE;
}

/* The change is reported if none follows for a while. */
static void
file_touch (File *file)
{
  file_forget_rest (file);
  file->rest = g_timeout_source_new (WATCH_REST);
  g_source_set_callback (file->rest, on_rest, file, NULL);
  g_source_attach (file->rest, file->watch->context);
}

static void
on_event (GFileMonitor *monitor, GFile *changed, GFile *other,
    GFileMonitorEvent event, gpointer user_data)
{
  /* Reading a file changes its attributes. */
  if (event != G_FILE_MONITOR_EVENT_ATTRIBUTE_CHANGED
      && event != G_FILE_MONITOR_EVENT_PRE_UNMOUNT
      && event != G_FILE_MONITOR_EVENT_UNMOUNTED)
    file_touch (user_data);
}

/* A monitor of a file watches its folder, so it reports that the file was
 * replaced. */
static GFileMonitor *
monitor_new (File *file, const gchar *path, GError **error)
{
  GFile *location = g_file_new_for_path (path);
  GFileMonitor *monitor =
      g_file_monitor_file (location, G_FILE_MONITOR_NONE, NULL, error);

  g_object_unref (location);
  if (!monitor)
    return NULL;
  g_file_monitor_set_rate_limit (monitor, WATCH_REST);
  g_signal_connect (monitor, "changed", G_CALLBACK (on_event), file);
  return monitor;
}

/* If the path is a link, an editor writes to its target. Returns NULL if it is
 * not a link. */
static GFileMonitor *
target_monitor_new (File *file)
{
  gchar *full = g_canonicalize_filename (file->path, NULL);
  GFileMonitor *monitor = NULL;

  if (file->target && !g_str_equal (file->target, full))
    monitor = monitor_new (file, file->target, NULL);
  g_free (full);
  return monitor;
}

static gboolean
add_file (GstCudaWatch *self, const gchar *path, GError **error)
{
  File *file = g_new0 (File, 1);

  file->watch = self;
  file->path = g_strdup (path);
  file->target = realpath (path, NULL);
  file->monitor = monitor_new (file, path, error);
  if (!file->monitor) {
    file_free (file);
    g_prefix_error (error, "%s cannot be watched: ", path);
    return FALSE;
  }
  file->target_monitor = target_monitor_new (file);
  g_ptr_array_add (self->files, file);
  return TRUE;
}

GstCudaWatch *
gst_cuda_watch_new (const gchar *const *paths, GstCudaWatchFunc func,
    gpointer user_data, GError **error)
{
  GstCudaWatch *self = g_new0 (GstCudaWatch, 1);
  guint i;

  self->context = g_main_context_ref_thread_default ();
  self->func = func;
  self->user_data = user_data;
  self->paths = g_strdupv ((gchar **) paths);
  self->files = g_ptr_array_new_with_free_func (file_free);
  for (i = 0; paths[i]; i++) {
    if (!add_file (self, paths[i], i == 0 ? error : NULL) && i == 0) {
      gst_cuda_watch_free (self);
      return NULL;
    }
  }
  return self;
}

void
gst_cuda_watch_touch (GstCudaWatch *self, const gchar *path)
{
  guint i;

  for (i = 0; i < self->files->len; i++) {
    File *file = g_ptr_array_index (self->files, i);

    if (g_str_equal (file->path, path))
      file_touch (file);
  }
}

/* Whether the path is a link to another file than before. A file that does not
 * exist is expected at the same place again. */
static gboolean
has_other_target (const File *file)
{
  gchar *target = realpath (file->path, NULL);
  gboolean is_other = target && g_strcmp0 (target, file->target) != 0;

  free (target);
  return is_other;
}

gboolean
gst_cuda_watch_covers (const GstCudaWatch *self, const gchar *const *paths)
{
  guint i;

  if (!paths || !g_strv_equal ((const gchar *const *) self->paths, paths))
    return FALSE;
  for (i = 0; i < self->files->len; i++)
    if (has_other_target (g_ptr_array_index (self->files, i)))
      return FALSE;
  return TRUE;
}

void
gst_cuda_watch_free (GstCudaWatch *self)
{
  g_ptr_array_unref (self->files);
  g_main_context_unref (self->context);
  g_strfreev (self->paths);
  g_free (self);
}
