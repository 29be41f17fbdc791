/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * folder.c: see folder.h
 */

#include <glib/gstdio.h>
#include <gst/check/gstcheck.h>

#include "folder.h"

gchar *folder;
gboolean folder_rewrites;

void
folder_setup (void)
{
  folder = g_dir_make_tmp ("vkgdr test-XXXXXX", NULL);
  fail_unless (folder != NULL);
}

void
folder_teardown (void)
{
  g_autofree gchar *quoted = g_shell_quote (folder);
  g_autofree gchar *command = g_strconcat ("/bin/rm -rf ", quoted, NULL);

  fail_unless (g_spawn_command_line_sync (command, NULL, NULL, NULL, NULL));
  g_clear_pointer (&folder, g_free);
}

gchar *
folder_write (const gchar *name, const gchar *text)
{
  gchar *path = g_build_filename (folder, name, NULL);
  g_autofree gchar *parent = g_path_get_dirname (path);
  GFileSetContentsFlags flags = folder_rewrites
                                    ? G_FILE_SET_CONTENTS_NONE
                                    : G_FILE_SET_CONTENTS_CONSISTENT;

  fail_unless_equals_int (g_mkdir_with_parents (parent, 0700), 0);
  if (text)
    fail_unless (g_file_set_contents_full (path, text, -1, flags, 0600, NULL));
  else
    fail_unless (g_unlink (path) == 0);
  return path;
}
