/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * cudafilter/files.c: see cudafilter/files.h
 *
 * The files are polled, because notifications do not report changed links in a
 * path, and do not work on all file systems.
 */

#include <glib/gstdio.h>

#include "cudafilter/files.h"

/* Both stamps change when the file is written or replaced. */
typedef struct {
  gchar *path;
  gchar *used; /* that of the kernel */
  gchar *last;
} File;

/* Returns "" if there is no file. */
static gchar *
make_stamp (const gchar *path)
{
  GStatBuf info;

  if (g_stat (path, &info) != 0)
    return g_strdup ("");
  return g_strdup_printf ("%lu %lu %ld %ld.%09ld", (gulong) info.st_dev,
      (gulong) info.st_ino, (glong) info.st_size, (glong) info.st_mtim.tv_sec,
      (glong) info.st_mtim.tv_nsec);
}

static void
file_free (gpointer data)
{
  File *file = data;

  g_free (file->path);
  g_free (file->used);
  g_free (file->last);
  g_free (file);
}

static void
add_file (GPtrArray *files, const gchar *path)
{
  File *file = g_new0 (File, 1);

  file->path = g_strdup (path);
  file->used = make_stamp (path);
  file->last = g_strdup (file->used);
  g_ptr_array_add (files, file);
}

GPtrArray *
gst_cuda_files_new (const GstCudaChoice *choice)
{
  GPtrArray *files = g_ptr_array_new_with_free_func (file_free);
  const gchar *path = gst_cuda_choice_get_file (choice);
  GstVkgdrCompileOptions *options = NULL;
  gchar **includes = NULL;
  guint i;

  if (!path)
    return files;
  add_file (files, path);
  /* If the file cannot be read, or if a compiler option is unknown, no includes
   * are added. The error is reported when the kernel is loaded. */
  if (gst_cuda_choice_get_options (choice, &options, NULL))
    includes = gst_vkgdr_kernel_list_include_files (path, options, NULL);
  for (i = 0; includes && includes[i]; i++)
    add_file (files, includes[i]);
  g_strfreev (includes);
  g_clear_pointer (&options, gst_vkgdr_compile_options_unref);
  return files;
}

gboolean
gst_cuda_files_poll (GPtrArray *files)
{
  gboolean is_changed = FALSE;
  guint i;

  for (i = 0; i < files->len; i++) {
    File *file = files->pdata[i];
    gchar *stamp = make_stamp (file->path);

    if (*stamp && !g_str_equal (stamp, file->used)
        && g_str_equal (stamp, file->last))
      is_changed = TRUE;
    g_free (file->last);
    file->last = stamp;
  }
  return is_changed;
}
