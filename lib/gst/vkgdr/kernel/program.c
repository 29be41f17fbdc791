/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * kernel/program.c: finds and identifies the installed versions of clang
 *
 * clang is used if NVRTC is missing, or if VKGDR_COMPILER selects it. Knows
 * nothing of compilations.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <gio/gio.h>
#include <gst/vkgdr/gstvkgdrerror.h>

#include "kernel/process.h"
#include "kernel/programs.h"

#define GST_CAT_DEFAULT gst_vkgdr_program_get_category ()

/* Must be changed when the options in kernel/programargs.c change. */
#define PROGRAM_OPTIONS "options 2"
#define PROGRAM_RESOURCES "/org/gst-vkgdr/"

/* The time limit in seconds of queries, which compile nothing. */
#define PROGRAM_QUESTION_TIMEOUT 10

/* The oldest clang whose NVPTX target is known to work, and the newest version
 * to look for. */
#define PROGRAM_CLANG_MIN 14
#define PROGRAM_CLANG_MAX 25

/* The environment variable that adds options to clang's. */
#define PROGRAM_VARIABLE "CCC_OVERRIDE_OPTIONS"

const gchar *const gst_vkgdr_program_removed_variables[] = { "CPATH",
  "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH", NULL };

GST_DEBUG_CATEGORY_STATIC (gst_vkgdr_program_debug);

GstDebugCategory *
gst_vkgdr_program_get_category (void)
{
  static gsize once;

  if (g_once_init_enter (&once)) {
    GST_DEBUG_CATEGORY_INIT (gst_vkgdr_program_debug, "vkgdrprogram", 0,
        "vkgdr clang as a compiler");
    g_once_init_leave (&once, 1);
  }
  return gst_vkgdr_program_debug;
}

/* --- searching ----------------------------------------------------------- */

void
gst_vkgdr_program_free (GstVkgdrProgram *program)
{
  g_free (program->path);
  g_free (program);
}

static gboolean
program_has_path (const GPtrArray *list, const gchar *path)
{
  guint i;

  for (i = 0; i < list->len; i++)
    if (g_str_equal (((GstVkgdrProgram *) list->pdata[i])->path, path))
      return TRUE;
  return FALSE;
}

/* Takes ownership of @path. */
static void
program_add (GPtrArray *list, gchar *path)
{
  GstVkgdrProgram *program;

  if (!path || !g_file_test (path, G_FILE_TEST_IS_EXECUTABLE)
      || g_file_test (path, G_FILE_TEST_IS_DIR)
      || program_has_path (list, path)) {
    g_free (path);
    return;
  }
  program = g_new0 (GstVkgdrProgram, 1);
  program->path = path;
  g_ptr_array_add (list, program);
}

GPtrArray *
gst_vkgdr_program_list (void)
{
  GPtrArray *list =
      g_ptr_array_new_with_free_func ((GDestroyNotify) gst_vkgdr_program_free);
  gint version;

  program_add (list, g_find_program_in_path ("clang"));
  for (version = PROGRAM_CLANG_MAX; version >= PROGRAM_CLANG_MIN; version--) {
    gchar *name = g_strdup_printf ("clang-%d", version);

    program_add (list, g_find_program_in_path (name));
    g_free (name);
  }
  return list;
}

GstVkgdrProgram *
gst_vkgdr_program_new (const gchar *path, GError **error)
{
  gchar *found = g_find_program_in_path (path);
  gchar *name = g_path_get_basename (path);
  GstVkgdrProgram *program = NULL;

  if (!strstr (name, "clang")) {
    g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_NO_DRIVER,
        "%s is not a supported compiler: VKGDR_COMPILER is auto, nvrtc, clang, "
        "none, or the name or path of a clang",
        path);
  } else if (!found) {
    g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_NO_DRIVER,
        "There is no program %s", path);
  } else {
    program = g_new0 (GstVkgdrProgram, 1);
    program->path = g_steal_pointer (&found);
  }
  g_free (name);
  g_free (found);
  return program;
}

/* --- queries ------------------------------------------------------------- */

gchar *
gst_vkgdr_program_get_output (
    const GstVkgdrProgram *self, const gchar *question, const gchar *more)
{
  const gchar *argv[] = { self->path, question, more, NULL };
  gchar *folder = gst_vkgdr_process_make_folder (NULL), *answer;
  GError *error = NULL;

  if (!folder)
    return g_strdup ("");
  if (!gst_vkgdr_process_run (argv, gst_vkgdr_program_removed_variables, folder,
          PROGRAM_QUESTION_TIMEOUT, &answer, &error)) {
    GST_INFO ("%s: %s", question, error->message);
    g_clear_error (&error);
  }
  gst_vkgdr_process_remove_folder (folder);
  g_free (folder);
  return answer;
}

static gchar *
program_match (const gchar *text, const gchar *pattern)
{
  GRegex *regex = g_regex_new (pattern, 0, 0, NULL);
  GMatchInfo *match = NULL;
  gchar *found = NULL;

  if (g_regex_match (regex, text, 0, &match))
    found = g_match_info_fetch (match, 1);
  g_match_info_free (match);
  g_regex_unref (regex);
  return found;
}

gchar *
gst_vkgdr_program_describe (const GstVkgdrProgram *self)
{
  gchar *answer = gst_vkgdr_program_get_output (self, "--version", NULL);
  gchar *version =
      program_match (answer, "(?:release|version) ([0-9]+(?:\\.[0-9]+)?)");
  gchar *text = g_strdup_printf (
      "clang %s (%s)", version ? version : "of unknown version", self->path);

  g_free (version);
  g_free (answer);
  return text;
}

GBytes *
gst_vkgdr_program_get_header (const gchar *name, GError **error)
{
  gchar *base = g_path_get_basename (name);
  gchar *path = g_strconcat (PROGRAM_RESOURCES, base, NULL);
  GBytes *header =
      g_resources_lookup_data (path, G_RESOURCE_LOOKUP_FLAGS_NONE, error);

  g_free (path);
  g_free (base);
  return header;
}

static guint
program_hash_header (const gchar *name)
{
  GBytes *header = gst_vkgdr_program_get_header (name, NULL);
  guint hash = header ? g_bytes_hash (header) : 0;

  g_clear_pointer (&header, g_bytes_unref);
  return hash;
}

gchar *
gst_vkgdr_program_identify (const GstVkgdrProgram *self)
{
  guint hash = program_hash_header (GST_VKGDR_PROGRAM_OWN_HEADER);
  guint vectors = program_hash_header (GST_VKGDR_PROGRAM_VECTORS_HEADER);
  char *real = realpath (self->path, NULL);
  struct stat st = { 0 };
  const gchar *variable = g_getenv (PROGRAM_VARIABLE);
  GString *identity = g_string_new (NULL);

  if (stat (self->path, &st) != 0)
    GST_INFO ("%s: %s", self->path, g_strerror (errno));
  g_string_printf (identity,
      "clang %s %x %x %s %" G_GINT64_FORMAT ".%ld:%" G_GINT64_FORMAT "\n%s",
      PROGRAM_OPTIONS, hash, vectors, real ? real : self->path,
      (gint64) st.st_mtim.tv_sec, (glong) st.st_mtim.tv_nsec,
      (gint64) st.st_size, variable ? variable : "");
  free (real);
  return g_string_free (identity, FALSE);
}
