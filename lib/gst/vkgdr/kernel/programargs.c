/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * kernel/programargs.c: the command line of clang
 *
 * Chooses the architecture and all options. clang needs no CUDA toolkit,
 * because kernel/include/clang.h replaces it. Only queries clang, and compiles
 * nothing.
 */

#include <string.h>

#include <gst/vkgdr/gstvkgdrerror.h>

#include "kernel/options.h"
#include "kernel/programs.h"

/* Clang's architectures, and the first version of PTX that supports each of
 * them. The version has to be given, because clang would otherwise choose it by
 * the CUDA toolkit. A driver supports all versions of PTX up to its own, so the
 * lowest possible one is used. PTX for an older device runs on all newer
 * devices. */
static const struct {
  gint arch, ptx;
} clang_archs[] = {
  { 90, 78 },
  { 89, 78 },
  { 86, 71 },
  { 80, 70 },
  { 75, 63 },
  { 70, 60 },
  { 61, 50 },
  { 60, 50 },
  { 52, 42 },
};

/* --- architecture --------------------------------------------------------- */

static gboolean
program_knows (const gchar *answer, const gchar *prefix, gint arch)
{
  gchar *pattern = g_strdup_printf ("\\b(%s%d)\\b", prefix, arch);
  gboolean found = g_regex_match_simple (pattern, answer, 0, 0);

  g_free (pattern);
  return found;
}

/* Returns an index into clang_archs, or their number if none fits. */
static guint
program_choose_clang_arch (const gchar *answer, gint capability)
{
  guint i;

  for (i = 0; i < G_N_ELEMENTS (clang_archs); i++)
    if (clang_archs[i].arch <= capability
        && program_knows (answer, "sm_", clang_archs[i].arch))
      break;
  return i;
}

static void
program_set_no_arch (
    const GstVkgdrProgram *self, gint capability, GError **error)
{
  g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_NO_DRIVER,
      "%s does not compile for a device of compute capability %d.%d",
      self->path, capability / 10, capability % 10);
}

/* --- command line --------------------------------------------------------- */

static void
program_push (GPtrArray *argv, const gchar *const *words)
{
  for (; *words; words++)
    g_ptr_array_add (argv, g_strdup (*words));
}

static gboolean
program_add_options (const GstVkgdrProgram *self, GPtrArray *argv,
    const gchar *folder, gint capability, GError **error)
{
  static const gchar *const words[] = { "-x", "cuda", "--cuda-device-only",
    "-S", "-O3",
    /* Use neither an installed toolkit nor headers of the host. */
    "-nocudainc", "-nocudalib", "-nostdlibinc", "-U__STDC_HOSTED__",
    "-D__STDC_HOSTED__=0", "-Wno-builtin-macro-redefined",
    /* Without inlining, a call with a VkgdrFrame would copy it to local memory.
     */
    "-mllvm", "-inline-threshold=5000", NULL };
  gchar *answer = gst_vkgdr_program_get_output (
      self, "--print-supported-cpus", "--target=nvptx64-nvidia-cuda");
  guint i = program_choose_clang_arch (answer, capability);

  g_free (answer);
  if (i == G_N_ELEMENTS (clang_archs)) {
    program_set_no_arch (self, capability, error);
    return FALSE;
  }
  program_push (argv, words);
  g_ptr_array_add (argv, g_strconcat ("--cuda-path=", folder, NULL));
  g_ptr_array_add (
      argv, g_strdup_printf ("--cuda-gpu-arch=sm_%d", clang_archs[i].arch));
  g_ptr_array_add (argv, g_strdup ("-Xclang"));
  g_ptr_array_add (argv, g_strdup ("-target-feature"));
  g_ptr_array_add (argv, g_strdup ("-Xclang"));
  g_ptr_array_add (argv, g_strdup_printf ("+ptx%d", clang_archs[i].ptx));
  g_ptr_array_add (argv, g_strdup ("-include"));
  g_ptr_array_add (
      argv, g_strconcat (folder, "/" GST_VKGDR_PROGRAM_OWN_HEADER, NULL));
  return TRUE;
}

/* The user's options come last, because the last one takes effect. */
static void
program_add_input (
    GPtrArray *argv, const GstVkgdrProgramInput *input, const gchar *folder)
{
  guint i;

  if (!gst_vkgdr_options_has_standard (input->options))
    g_ptr_array_add (argv, g_strdup ("-std=c++17"));
  gst_vkgdr_options_append (input->options, GST_VKGDR_OPTIONS_CLANG, argv);
  g_ptr_array_add (argv, g_strconcat ("-I", folder, NULL));
  for (i = 0; input->folders[i]; i++)
    g_ptr_array_add (argv, g_strconcat ("-I", input->folders[i], NULL));
}

GPtrArray *
gst_vkgdr_program_make_argv (const GstVkgdrProgram *self,
    const GstVkgdrProgramInput *input, const gchar *folder, GError **error)
{
  GPtrArray *argv = g_ptr_array_new_with_free_func (g_free);

  g_ptr_array_add (argv, g_strdup (self->path));
  if (!program_add_options (self, argv, folder, input->capability, error)) {
    g_ptr_array_unref (argv);
    return NULL;
  }
  program_add_input (argv, input, folder);
  g_ptr_array_add (argv, g_strdup ("-o"));
  g_ptr_array_add (
      argv, g_build_filename (folder, GST_VKGDR_PROGRAM_IMAGE, NULL));
  g_ptr_array_add (
      argv, g_build_filename (folder, GST_VKGDR_PROGRAM_SOURCE, NULL));
  g_ptr_array_add (argv, NULL);
  return argv;
}
