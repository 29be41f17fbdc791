/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * kernel/program.c: nvcc and clang: which there are, and what they are
 *
 * They serve where NVRTC is missing. Knows nothing of how they compile.
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

/* To be changed with the options in kernel/programargs.c. */
#define PROGRAM_OPTIONS "options 1"
#define PROGRAM_CLANG_HEADER "/org/gst-vkgdr/clang.h"

/* Seconds for the questions it answers without compiling. */
#define PROGRAM_QUESTION_TIMEOUT 10

/* The oldest clang whose NVPTX target is known to do, and the newest name to
 * look for. */
#define PROGRAM_CLANG_MIN 14
#define PROGRAM_CLANG_MAX 25

/* What adds options to the compilers' own. */
static const gchar *const program_variables[] = { "NVCC_PREPEND_FLAGS",
  "NVCC_APPEND_FLAGS", "CCC_OVERRIDE_OPTIONS" };

GST_DEBUG_CATEGORY_STATIC (gst_vkgdr_program_debug);

GstDebugCategory *
gst_vkgdr_program_get_category (void)
{
  static gsize once;

  if (g_once_init_enter (&once)) {
    GST_DEBUG_CATEGORY_INIT (gst_vkgdr_program_debug, "vkgdrprogram", 0,
        "vkgdr compilers that are programs");
    g_once_init_leave (&once, 1);
  }
  return gst_vkgdr_program_debug;
}

/* --- which there are ----------------------------------------------------- */

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

/* Takes @path. */
static void
program_add (GPtrArray *list, GstVkgdrProgramKind kind, gchar *path)
{
  GstVkgdrProgram *program;

  if (!path || !g_file_test (path, G_FILE_TEST_IS_EXECUTABLE)
      || g_file_test (path, G_FILE_TEST_IS_DIR)
      || program_has_path (list, path)) {
    g_free (path);
    return;
  }
  program = g_new0 (GstVkgdrProgram, 1);
  program->kind = kind;
  program->path = path;
  g_ptr_array_add (list, program);
}

static void
program_list_nvcc (GPtrArray *list)
{
  static const gchar *const variables[] = { "CUDA_HOME", "CUDA_PATH" };
  guint i;

  for (i = 0; i < G_N_ELEMENTS (variables); i++) {
    const gchar *folder = g_getenv (variables[i]);

    if (folder && *folder)
      program_add (list, GST_VKGDR_PROGRAM_NVCC,
          g_build_filename (folder, "bin", "nvcc", NULL));
  }
  program_add (list, GST_VKGDR_PROGRAM_NVCC, g_find_program_in_path ("nvcc"));
  program_add (
      list, GST_VKGDR_PROGRAM_NVCC, g_strdup ("/usr/local/cuda/bin/nvcc"));
}

static void
program_list_clang (GPtrArray *list)
{
  gint version;

  program_add (list, GST_VKGDR_PROGRAM_CLANG, g_find_program_in_path ("clang"));
  for (version = PROGRAM_CLANG_MAX; version >= PROGRAM_CLANG_MIN; version--) {
    gchar *name = g_strdup_printf ("clang-%d", version);

    program_add (list, GST_VKGDR_PROGRAM_CLANG, g_find_program_in_path (name));
    g_free (name);
  }
}

GPtrArray *
gst_vkgdr_program_list (GstVkgdrProgramKind kind)
{
  GPtrArray *list =
      g_ptr_array_new_with_free_func ((GDestroyNotify) gst_vkgdr_program_free);

  if (kind == GST_VKGDR_PROGRAM_NVCC)
    program_list_nvcc (list);
  else
    program_list_clang (list);
  return list;
}

GstVkgdrProgram *
gst_vkgdr_program_new (const gchar *path, GError **error)
{
  gchar *found = g_find_program_in_path (path);
  gchar *name = g_path_get_basename (path);
  gboolean is_nvcc = strstr (name, "nvcc") != NULL;
  GstVkgdrProgram *program = NULL;

  if (!is_nvcc && !strstr (name, "clang")) {
    g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_NO_DRIVER,
        "%s is neither nvcc nor clang, by its name", path);
  } else if (!found) {
    g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_NO_DRIVER,
        "There is no program %s", path);
  } else {
    program = g_new0 (GstVkgdrProgram, 1);
    program->kind = is_nvcc ? GST_VKGDR_PROGRAM_NVCC : GST_VKGDR_PROGRAM_CLANG;
    program->path = g_steal_pointer (&found);
  }
  g_free (name);
  g_free (found);
  return program;
}

/* --- what it says of itself ---------------------------------------------- */

gchar *
gst_vkgdr_program_ask (
    const GstVkgdrProgram *self, const gchar *question, const gchar *more)
{
  const gchar *argv[] = { self->path, question, more, NULL };
  gchar *folder = gst_vkgdr_process_make_folder (NULL), *answer;
  GError *error = NULL;

  if (!folder)
    return g_strdup ("");
  if (!gst_vkgdr_process_run (
          argv, folder, PROGRAM_QUESTION_TIMEOUT, &answer, &error)) {
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

static const gchar *
program_get_name (const GstVkgdrProgram *self)
{
  return self->kind == GST_VKGDR_PROGRAM_NVCC ? "nvcc" : "clang";
}

gchar *
gst_vkgdr_program_describe (const GstVkgdrProgram *self)
{
  gchar *answer = gst_vkgdr_program_ask (self, "--version", NULL);
  gchar *version =
      program_match (answer, "(?:release|version) ([0-9]+(?:\\.[0-9]+)?)");
  gchar *text = g_strdup_printf ("%s %s (%s)", program_get_name (self),
      version ? version : "of a version that it does not tell", self->path);

  g_free (version);
  g_free (answer);
  return text;
}

GBytes *
gst_vkgdr_program_get_header (const GstVkgdrProgram *self, GError **error)
{
  if (self->kind == GST_VKGDR_PROGRAM_NVCC)
    return g_bytes_new_static ("", 1);
  return g_resources_lookup_data (
      PROGRAM_CLANG_HEADER, G_RESOURCE_LOOKUP_FLAGS_NONE, error);
}

gchar *
gst_vkgdr_program_identify (const GstVkgdrProgram *self)
{
  GBytes *header = gst_vkgdr_program_get_header (self, NULL);
  guint hash = header ? g_bytes_hash (header) : 0;
  char *real = realpath (self->path, NULL);
  struct stat st = { 0 };
  GString *identity = g_string_new (NULL);
  guint i;

  if (stat (self->path, &st) != 0)
    GST_INFO ("%s: %s", self->path, g_strerror (errno));
  g_string_printf (identity,
      "%s %s %x %s %" G_GINT64_FORMAT ".%ld:%" G_GINT64_FORMAT,
      program_get_name (self), PROGRAM_OPTIONS, hash, real ? real : self->path,
      (gint64) st.st_mtim.tv_sec, (glong) st.st_mtim.tv_nsec,
      (gint64) st.st_size);
  for (i = 0; i < G_N_ELEMENTS (program_variables); i++) {
    const gchar *value = g_getenv (program_variables[i]);

    g_string_append_printf (identity, "\n%s", value ? value : "");
  }
  free (real);
  g_clear_pointer (&header, g_bytes_unref);
  return g_string_free (identity, FALSE);
}
