/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * kernel/programrun.c: compiles with clang
 *
 * Each compilation has a folder of its own. The output of the compiler becomes
 * the error, unless the compiler itself is the cause. Knows no options.
 */

#include <glib/gstdio.h>
#include <gst/vkgdr/gstvkgdrerror.h>

#include "kernel/process.h"
#include "kernel/programs.h"
#include "kernel/source.h"

#define GST_CAT_DEFAULT gst_vkgdr_program_get_category ()

/* The time limit of a compilation in seconds, many times the time for the
 * largest kernel on a slow machine. */
#define PROGRAM_TIMEOUT 120

static guint
program_get_timeout (void)
{
  const gchar *text = g_getenv ("VKGDR_COMPILER_TIMEOUT");
  guint64 seconds = text ? g_ascii_strtoull (text, NULL, 10) : 0;

  return seconds > 0 && seconds < G_MAXUINT ? (guint) seconds : PROGRAM_TIMEOUT;
}

static gboolean
program_write (
    const gchar *folder, const gchar *name, const gchar *text, GError **error)
{
  gchar *path = g_build_filename (folder, name, NULL);
  GError *reason = NULL;
  gboolean ok = g_file_set_contents_full (
      path, text, -1, G_FILE_SET_CONTENTS_NONE, 0600, &reason);

  if (!ok) {
    g_set_error_literal (
        error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_FAILED, reason->message);
    g_error_free (reason);
  }
  g_free (path);
  return ok;
}

static gboolean
program_write_header (const gchar *folder, const gchar *name, GError **error)
{
  GBytes *header = gst_vkgdr_program_get_header (name, error);
  gboolean ok;

  if (!header)
    return FALSE;
  /* The data of a resource ends with a zero byte, which does not count in its
   * size. */
  ok = program_write (folder, name, g_bytes_get_data (header, NULL), error);
  g_bytes_unref (header);
  return ok;
}

static gboolean
program_write_files (
    const GstVkgdrProgramInput *input, const gchar *folder, GError **error)
{
  gchar *headers = g_build_filename (folder, GST_VKGDR_PROGRAM_HEADERS, NULL);

  g_mkdir (headers, 0700);
  g_free (headers);
  return program_write_header (folder, GST_VKGDR_PROGRAM_OWN_HEADER, error)
         && program_write_header (
             folder, GST_VKGDR_PROGRAM_VECTORS_HEADER, error)
         && program_write (
             folder, GST_VKGDR_SOURCE_HEADER, input->header, error)
         && program_write (
             folder, GST_VKGDR_PROGRAM_SOURCE, input->text, error);
}

/* Removes the name of the temporary folder, which does not exist any more when
 * the message is read. */
static gchar *
program_clean_log (const gchar *output, const gchar *folder)
{
  gchar *prefix = g_strconcat (folder, "/", NULL);
  gchar **parts = g_strsplit (output, prefix, -1);
  gchar *log = g_strjoinv ("", parts);

  g_strfreev (parts);
  g_free (prefix);
  return log;
}

static GBytes *
program_read_image (
    const GstVkgdrProgram *self, const gchar *folder, GError **error)
{
  gchar *path = g_build_filename (folder, GST_VKGDR_PROGRAM_IMAGE, NULL),
        *data = NULL;
  gboolean ok;
  gsize size;

  /* Adds a zero byte after the content. */
  ok = g_file_get_contents (path, &data, &size, NULL) && size > 0;
  g_free (path);
  if (ok)
    return g_bytes_new_take (data, size + 1);
  g_free (data);
  g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_COMPILE,
      "%s gave no image", self->path);
  return NULL;
}

static GBytes *
program_run (const GstVkgdrProgram *self, const GstVkgdrProgramInput *input,
    const gchar *folder, gchar **log, GError **error)
{
  GPtrArray *argv;
  GBytes *image = NULL;
  gchar *output, *command;

  argv = gst_vkgdr_program_make_argv (self, input, folder, error);
  if (!argv)
    return NULL;
  if (!program_write_files (input, folder, error)) {
    g_ptr_array_unref (argv);
    return NULL;
  }
  command = g_strjoinv (" ", (gchar **) argv->pdata);
  GST_DEBUG ("%s", command);
  g_free (command);
  if (gst_vkgdr_process_run ((const gchar *const *) argv->pdata,
          gst_vkgdr_program_removed_variables, folder, program_get_timeout (),
          &output, error))
    image = program_read_image (self, folder, error);
  *log = program_clean_log (output, folder);
  g_free (output);
  g_ptr_array_unref (argv);
  return image;
}

static GBytes *
program_run_in_folder (const GstVkgdrProgram *self,
    const GstVkgdrProgramInput *input, gchar **log, GError **error)
{
  gchar *folder = gst_vkgdr_process_make_folder (error);
  GBytes *image;

  *log = NULL;
  if (!folder)
    return NULL;
  image = program_run (self, input, folder, log, error);
  gst_vkgdr_process_remove_folder (folder);
  g_free (folder);
  return image;
}

gboolean
gst_vkgdr_program_check (
    const GstVkgdrProgram *self, gint capability, GError **error)
{
  const gchar *folders[] = { NULL };
  const GstVkgdrProgramInput empty = { "\n", "nothing", "\n", folders, NULL,
    capability };
  GError *reason = NULL;
  GBytes *image;
  gchar *log;

  image = program_run_in_folder (self, &empty, &log, &reason);
  if (image) {
    g_bytes_unref (image);
  } else {
    g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_NO_DRIVER,
        "%s does not work: %s%s%s", self->path, reason->message,
        log && *log ? "\n" : "", log ? log : "");
    g_error_free (reason);
  }
  g_free (log);
  return image != NULL;
}

/* Takes ownership of @reason. If the compiler cannot compile an empty source
 * either, the compiler is the cause of the failure. A compiler that hung or
 * crashed is not run again. @log is NULL if the compiler was not run. */
static void
program_explain (const GstVkgdrProgram *self, const GstVkgdrProgramInput *input,
    const gchar *log, GError *reason, GError **error)
{
  gboolean refused =
      g_error_matches (reason, GST_VKGDR_ERROR, GST_VKGDR_ERROR_COMPILE);

  if (!log
      || g_error_matches (reason, GST_VKGDR_ERROR, GST_VKGDR_ERROR_NO_DRIVER)) {
    g_propagate_error (error, reason);
    return;
  }
  if (!refused || gst_vkgdr_program_check (self, input->capability, error))
    g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_COMPILE,
        "%s does not compile:\n%s%s%s", input->name, log,
        *log && !refused ? "\n" : "", *log && refused ? "" : reason->message);
  g_error_free (reason);
}

GBytes *
gst_vkgdr_program_compile (const GstVkgdrProgram *self,
    const GstVkgdrProgramInput *input, gchar **log, GError **error)
{
  GError *reason = NULL;
  GBytes *image;
  gchar *output;

  image = program_run_in_folder (self, input, &output, &reason);
  if (!image)
    program_explain (self, input, output, reason, error);
  else if (*output)
    GST_INFO ("%s: %s", input->name, output);
  if (log)
    *log = g_steal_pointer (&output);
  g_free (output);
  return image;
}
