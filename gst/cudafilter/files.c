/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * cudafilter/files.c: see cudafilter/files.h
 */

#include <gio/gio.h>
#include <glib/gstdio.h>
#include <string.h>

#include "cudafilter/files.h"

/* How long a file has to be unchanged before it is reported, in milliseconds:
 * an editor writes in several steps. */
#define WATCH_REST 100

/* How many links of a path are followed, as in Linux. */
#define MAX_LINKS 40

typedef struct {
  GstCudaFiles *files;
  gchar *path;
  gchar *stamp;        /* changes when the file is written or replaced */
  GPtrArray *monitors; /* of GFileMonitor; NULL while it is not watched */
  GSource *rest; /* waits until the file is unchanged for a while, else NULL */
} File;

struct _GstCudaFiles {
  void (*func) (gpointer);
  gpointer user_data;
  GPtrArray *list; /* of File; that of the property location is the first */
};

/* --- a file --------------------------------------------------------------- */

static void
forget_rest (File *file)
{
  if (!file->rest)
    return;
  g_source_destroy (file->rest);
  g_clear_pointer (&file->rest, g_source_unref);
}

static gboolean
on_rest (gpointer user_data)
{
  File *file = user_data;
  GstCudaFiles *files = file->files;

  forget_rest (file);
  if (g_file_test (file->path, G_FILE_TEST_EXISTS))
    files->func (files->user_data);
  return G_SOURCE_REMOVE;
}

/* The change is reported if none follows for a while. */
static void
touch (File *file)
{
  forget_rest (file);
  file->rest = g_timeout_source_new (WATCH_REST);
  g_source_set_callback (file->rest, on_rest, file, NULL);
  g_source_attach (file->rest, g_main_context_get_thread_default ());
}

static void
on_event (GFileMonitor *monitor, GFile *changed, GFile *other,
    GFileMonitorEvent event, gpointer user_data)
{
  /* Reading a file changes its attributes. */
  if (event != G_FILE_MONITOR_EVENT_ATTRIBUTE_CHANGED
      && event != G_FILE_MONITOR_EVENT_PRE_UNMOUNT
      && event != G_FILE_MONITOR_EVENT_UNMOUNTED)
    touch (user_data);
}

static void
monitor_free (gpointer data)
{
  g_file_monitor_cancel (data);
  g_object_unref (data);
}

static void
stop_watching (File *file)
{
  guint i;

  forget_rest (file);
  /* A cancelled monitor may still have an event to emit. */
  for (i = 0; file->monitors && i < file->monitors->len; i++)
    g_signal_handlers_disconnect_by_data (file->monitors->pdata[i], file);
  g_clear_pointer (&file->monitors, g_ptr_array_unref);
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
static GPtrArray *
find_places (const gchar *path)
{
  GPtrArray *places = g_ptr_array_new_with_free_func (g_free);
  gchar *rest = g_canonicalize_filename (path, NULL);
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
  return places;
}

static gboolean
start_watching (File *file, GError **error)
{
  GPtrArray *places = find_places (file->path);
  gboolean ok = TRUE;
  guint i;

  file->monitors = g_ptr_array_new_with_free_func (monitor_free);
  for (i = 0; i < places->len && ok; i++)
    ok = add_monitor (file, places->pdata[i], error);
  g_ptr_array_unref (places);
  if (ok)
    return TRUE;
  g_prefix_error (error, "%s cannot be watched: ", file->path);
  stop_watching (file);
  return FALSE;
}

/* Returns "" if there is no file. */
static gchar *
make_stamp (const gchar *path)
{
  GStatBuf info;

  if (g_stat (path, &info) != 0)
    return g_strdup ("");
  return g_strdup_printf ("%lu %ld %ld.%09ld", (gulong) info.st_ino,
      (glong) info.st_size, (glong) info.st_mtim.tv_sec,
      (glong) info.st_mtim.tv_nsec);
}

/* A deleted file is not reported: its kernel continues to run. */
static void
report_change (File *file)
{
  gchar *stamp = make_stamp (file->path);

  if (*stamp && !g_str_equal (stamp, file->stamp))
    touch (file);
  g_free (stamp);
}

static void
file_free (gpointer data)
{
  File *file = data;

  stop_watching (file);
  g_free (file->stamp);
  g_free (file->path);
  g_free (file);
}

/* --- all files of a kernel ------------------------------------------------ */

GstCudaFiles *
gst_cuda_files_new (void (*func) (gpointer), gpointer user_data)
{
  GstCudaFiles *self = g_new0 (GstCudaFiles, 1);

  self->func = func;
  self->user_data = user_data;
  self->list = g_ptr_array_new_with_free_func (file_free);
  return self;
}

static void
add_file (GstCudaFiles *self, const gchar *path)
{
  File *file = g_new0 (File, 1);

  file->files = self;
  file->path = g_strdup (path);
  file->stamp = make_stamp (path);
  g_ptr_array_add (self->list, file);
}

void
gst_cuda_files_note (GstCudaFiles *self, const GstCudaChoice *choice)
{
  const gchar *path = gst_cuda_choice_get_file (choice);
  GstVkgdrCompileOptions *options = NULL;
  gchar **includes = NULL;
  guint i;

  g_ptr_array_set_size (self->list, 0);
  if (!path)
    return;
  add_file (self, path);
  /* If the file cannot be read, or if a compiler option is unknown, no includes
   * are added. The error is reported when the kernel is loaded. */
  if (gst_cuda_choice_get_options (choice, &options, NULL))
    includes = gst_vkgdr_kernel_list_include_files (path, options, NULL);
  for (i = 0; includes && includes[i]; i++)
    add_file (self, includes[i]);
  g_strfreev (includes);
  g_clear_pointer (&options, gst_vkgdr_compile_options_unref);
}

gboolean
gst_cuda_files_watch (GstCudaFiles *self, gboolean watch, GError **error)
{
  guint i;

  for (i = 0; i < self->list->len; i++) {
    File *file = self->list->pdata[i];

    if (!watch) {
      stop_watching (file);
    } else if (!file->monitors) {
      if (start_watching (file, i == 0 ? error : NULL))
        report_change (file);
      else if (i == 0)
        return FALSE;
    }
  }
  return TRUE;
}

void
gst_cuda_files_free (GstCudaFiles *self)
{
  g_ptr_array_unref (self->list);
  g_free (self);
}
