/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * cudafilter/files.c: see cudafilter/files.h
 */

#include <glib/gstdio.h>

#include "cudafilter/files.h"
#include "cudafilter/watch.h"

struct _GstCudaFiles {
  void (*func) (gpointer);
  gpointer user_data;
  gchar **paths;  /* NULL-terminated; NULL if there is no file */
  gchar **stamps; /* the states of these paths when they were noted */
  GstCudaWatch *watch;
};

GstCudaFiles *
gst_cuda_files_new (void (*func) (gpointer), gpointer user_data)
{
  GstCudaFiles *self = g_new0 (GstCudaFiles, 1);

  self->func = func;
  self->user_data = user_data;
  return self;
}

/* Returns a text that changes when the file is written or replaced. It is empty
 * if there is no file. */
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

static void
append (GPtrArray *paths, GPtrArray *stamps, const gchar *path)
{
  g_ptr_array_add (paths, g_strdup (path));
  g_ptr_array_add (stamps, make_stamp (path));
}

/* If the file cannot be read, or if a compiler option is unknown, no includes
 * are added. The error is reported when the kernel is loaded. */
static void
append_includes (
    GPtrArray *paths, GPtrArray *stamps, const GstCudaChoice *choice)
{
  GstVkgdrCompileOptions *options = NULL;
  gchar **includes;
  guint i;

  if (!gst_cuda_choice_get_options (choice, &options, NULL))
    return;
  includes = gst_vkgdr_kernel_list_include_files (
      gst_cuda_choice_get_file (choice), options, NULL);
  for (i = 0; includes && includes[i]; i++)
    append (paths, stamps, includes[i]);
  g_strfreev (includes);
  g_clear_pointer (&options, gst_vkgdr_compile_options_unref);
}

static void
forget (GstCudaFiles *self)
{
  g_clear_pointer (&self->paths, g_strfreev);
  g_clear_pointer (&self->stamps, g_strfreev);
}

void
gst_cuda_files_note (GstCudaFiles *self, const GstCudaChoice *choice)
{
  const gchar *file = gst_cuda_choice_get_file (choice);
  GPtrArray *paths, *stamps;

  forget (self);
  if (!file)
    return;
  paths = g_ptr_array_new ();
  stamps = g_ptr_array_new ();
  append (paths, stamps, file);
  append_includes (paths, stamps, choice);
  g_ptr_array_add (paths, NULL);
  g_ptr_array_add (stamps, NULL);
  self->paths = (gchar **) g_ptr_array_free (paths, FALSE);
  self->stamps = (gchar **) g_ptr_array_free (stamps, FALSE);
}

/* Reports the files that have changed since they were noted. A deleted file is
 * not reported: its kernel continues to run. */
static void
report_changes (GstCudaFiles *self)
{
  guint i;

  for (i = 0; self->paths[i]; i++) {
    gchar *stamp = make_stamp (self->paths[i]);

    if (*stamp && !g_str_equal (stamp, self->stamps[i]))
      gst_cuda_watch_touch (self->watch, self->paths[i]);
    g_free (stamp);
  }
}

gboolean
gst_cuda_files_watch (GstCudaFiles *self, gboolean watch, GError **error)
{
  const gchar *const *paths = watch ? (const gchar *const *) self->paths : NULL;

  if (self->watch && gst_cuda_watch_covers (self->watch, paths))
    return TRUE;
  g_clear_pointer (&self->watch, gst_cuda_watch_free);
  if (!paths)
    return TRUE;
  self->watch = gst_cuda_watch_new (paths, self->func, self->user_data, error);
  if (!self->watch)
    return FALSE;
  report_changes (self);
  return TRUE;
}

void
gst_cuda_files_free (GstCudaFiles *self)
{
  g_clear_pointer (&self->watch, gst_cuda_watch_free);
  forget (self);
  g_free (self);
}
