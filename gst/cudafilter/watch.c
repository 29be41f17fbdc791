/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * cudafilter/watch.c: see cudafilter/watch.h
 */

#include <gio/gio.h>
#include <string.h>

#include "cudafilter/watch.h"

/* How long a file has to be unchanged before it is reported, in milliseconds:
 * an editor writes in several steps. */
#define WATCH_REST 100

/* How many links of a path are followed, as in Linux. */
#define MAX_LINKS 40

/* A file. Its path may have symbolic links, which an editor or a package
 * manager replaces. */
typedef struct {
  GstCudaWatch *watch;
  gchar *path;
  gchar **places;      /* the links in the path, and the file itself */
  GPtrArray *monitors; /* of GFileMonitor, one for each place */
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
monitor_free (gpointer data)
{
  g_file_monitor_cancel (data);
  g_object_unref (data);
}

static void
file_free (gpointer data)
{
  File *file = data;
  guint i;

  file_forget_rest (file);
  /* A cancelled monitor may still have an event to emit. */
  for (i = 0; i < file->monitors->len; i++)
    g_signal_handlers_disconnect_by_data (file->monitors->pdata[i], file);
  g_ptr_array_unref (file->monitors);
  g_strfreev (file->places);
  g_free (file->path);
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

/* Returns the path to which the link @path leads, or NULL if it is no link. */
static gchar *
read_link (const gchar *path)
{
  gchar *target = g_file_read_link (path, NULL), *folder, *full;

  if (!target || g_path_is_absolute (target))
    return target;
  folder = g_path_get_dirname (path);
  full = g_build_filename (folder, target, NULL);
  g_free (folder);
  g_free (target);
  return full;
}

/* Returns the links in @path, in the order in which they are followed, and the
 * path without links. */
static gchar **
find_places (const gchar *path)
{
  GPtrArray *places = g_ptr_array_new ();
  gchar *folder = g_get_current_dir ();
  gchar *rest = g_path_is_absolute (path)
                    ? g_strdup (path)
                    : g_build_filename (folder, path, NULL);
  gsize length = 0; /* of the part of @rest that has no links */

  while (rest[length] && places->len < MAX_LINKS) {
    gchar *front, *target;

    length += 1 + strcspn (rest + length + 1, "/");
    front = g_strndup (rest, length);
    target = read_link (front);
    if (target) {
      gchar *next = g_strconcat (target, rest + length, NULL);

      g_ptr_array_add (places, g_steal_pointer (&front));
      g_free (rest);
      rest = next;
      length = 0;
    }
    g_free (target);
    g_free (front);
  }
  g_ptr_array_add (places, rest);
  g_ptr_array_add (places, NULL);
  g_free (folder);
  return (gchar **) g_ptr_array_free (places, FALSE);
}

/* A monitor of a file watches its folder, so it reports that the file was
 * replaced. */
static gboolean
add_monitor (File *file, const gchar *path, GError **error)
{
  GFile *location = g_file_new_for_path (path);
  GFileMonitor *monitor =
      g_file_monitor_file (location, G_FILE_MONITOR_NONE, NULL, error);

  g_object_unref (location);
  if (!monitor)
    return FALSE;
  g_file_monitor_set_rate_limit (monitor, WATCH_REST);
  g_signal_connect (monitor, "changed", G_CALLBACK (on_event), file);
  g_ptr_array_add (file->monitors, monitor);
  return TRUE;
}

static gboolean
add_file (GstCudaWatch *self, const gchar *path, GError **error)
{
  File *file = g_new0 (File, 1);
  guint i;

  file->watch = self;
  file->path = g_strdup (path);
  file->places = find_places (path);
  file->monitors = g_ptr_array_new_with_free_func (monitor_free);
  for (i = 0; file->places[i]; i++)
    if (!add_monitor (file, file->places[i], error)) {
      file_free (file);
      g_prefix_error (error, "%s cannot be watched: ", path);
      return FALSE;
    }
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

static gboolean
has_other_places (const File *file)
{
  gchar **places = find_places (file->path);
  gboolean is_other = !g_strv_equal (
      (const gchar *const *) places, (const gchar *const *) file->places);

  g_strfreev (places);
  return is_other;
}

gboolean
gst_cuda_watch_covers (const GstCudaWatch *self, const gchar *const *paths)
{
  guint i;

  if (!paths || !g_strv_equal ((const gchar *const *) self->paths, paths))
    return FALSE;
  for (i = 0; i < self->files->len; i++)
    if (has_other_places (g_ptr_array_index (self->files, i)))
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
