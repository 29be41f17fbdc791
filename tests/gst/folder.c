/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * folder.c: see folder.h
 */

#include <gst/check/gstcheck.h>

#include "folder.h"

gchar *folder;

void
folder_setup (void)
{
  folder = g_dir_make_tmp ("vkgdr-test-XXXXXX", NULL);
  fail_unless (folder != NULL);
}

void
folder_teardown (void)
{
  folder_remove (g_steal_pointer (&folder));
}

gchar *
folder_write (const gchar *name, const gchar *text)
{
  gchar *path = g_build_filename (folder, name, NULL);

  fail_unless (g_file_set_contents (path, text, -1, NULL));
  return path;
}

void
folder_remove (gchar *path)
{
  g_autofree gchar *quoted = g_shell_quote (path);
  g_autofree gchar *command = g_strconcat ("/bin/rm -rf ", quoted, NULL);

  fail_unless (g_spawn_command_line_sync (command, NULL, NULL, NULL, NULL));
  g_free (path);
}
