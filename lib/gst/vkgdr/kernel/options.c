/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * kernel/options.c: a user's options for the compilation of a source
 *
 * libvkgdr knows the options of nvcc and of NVRTC. Runs no compiler.
 */

#include <string.h>

#include <gst/vkgdr/gstvkgdrerror.h>

#include "kernel/options.h"
#include "nvcc.h"

/**
 * SECTION:gstvkgdrcompileoptions
 * @title: GstVkgdrCompileOptions
 * @short_description: macros, folders of headers and options for a source
 *
 * A #GstVkgdrCompileOptions has settings for the compilation of a source:
 * macros, folders in which headers are searched, and options for the generated
 * code. It is immutable, and may be used from any thread.
 *
 * Options are written as for NVRTC and nvcc. These have an effect:
 *
 * | option | meaning |
 * |---|---|
 * | `-DNAME`, `-DNAME=VALUE`, `--define-macro=…` | defines a macro |
 * | `-UNAME`, `--undefine-macro=…` | undefines a macro |
 * | `-IFOLDER`, `--include-path=…`, `-isystem` | adds a folder of headers |
 * | `-include=FILE`, `--pre-include=…` | a header in front of the source |
 * | `--std=c++03` to `c++20` | the version of C++; 17 is the default |
 * | `--use_fast_math` | faster and less exact mathematics |
 * | `--fmad=false`, `true` | whether a product and a sum become one operation |
 * | `--ftz=`, `--prec-div=`, `--prec-sqrt=` | exactness of float |
 * | `--maxrregcount=N` | maximum number of registers of a thread |
 * | `--ptxas-options=…`, `-Xptxas` | options for the assembler |
 * | `--generate-line-info`, `-lineinfo` | lines of the source, for profilers |
 * | `--device-debug`, `-G` | code for a debugger |
 * | `--restrict` | pointers of kernels do not overlap |
 * | `--extra-device-vectorization` | more vectorization |
 * | `--disable-warnings`, `-w`, `--diag-suppress=…` | no warnings |
 *
 * All other options of nvcc for one source are accepted, and ignored: those for
 * the host's compiler and for files, `-O3`, `-Werror`, and those of the
 * architecture, which is that of the device. One hyphen may be used instead of
 * two. A value follows `=`, or is the next word. If an option is given with
 * several values, the last one takes effect.
 *
 * Since: 0.2
 */

struct _GstVkgdrCompileOptions {
  gint ref_count;     /* atomic */
  GPtrArray *words;   /* as NVRTC spells them */
  GPtrArray *folders; /* of gchar * */
  GString *includes;  /* lines for the text in front of a source */
};

static GstVkgdrCompileOptions *
options_ref (GstVkgdrCompileOptions *options)
{
  g_atomic_int_inc (&options->ref_count);
  return options;
}

G_DEFINE_BOXED_TYPE (GstVkgdrCompileOptions, gst_vkgdr_compile_options,
    options_ref, gst_vkgdr_compile_options_unref)

/* --- reading ------------------------------------------------------------- */

/* Adds an option as NVRTC spells it. The images are for the device, and are not
 * linked with others. */
static void
add_word (GstVkgdrCompileOptions *self, const gchar *word)
{
  static const gchar header[] = "--pre-include=";

  if (g_str_has_prefix (word, "-I"))
    g_ptr_array_add (self->folders, g_strdup (word + 2));
  else if (g_str_has_prefix (word, header))
    g_string_append_printf (
        self->includes, "#include <%s>\n", word + strlen (header));
  else if (!g_str_has_prefix (word, "--gpu-architecture=")
           && !g_str_has_prefix (word, "--relocatable-device-code="))
    g_ptr_array_add (self->words, g_strdup (word));
}

static gboolean
options_read (
    GstVkgdrCompileOptions *self, const gchar *const *words, GError **error)
{
  const gchar *unknown = NULL;
  gchar **translated = NULL;
  guint i;

  for (i = 0; words[i] && !unknown; i++)
    if (!g_utf8_validate (words[i], -1, NULL))
      unknown = words[i];
  if (!unknown)
    translated = vkgdr_nvcc_translate (words, &unknown);
  for (i = 0; translated && translated[i]; i++)
    add_word (self, translated[i]);
  vkgdr_nvcc_free (translated);
  if (!unknown)
    return TRUE;
  g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_ARGUMENT,
      "\"%s\" is not a supported option, or has no value: see "
      "GstVkgdrCompileOptions",
      unknown);
  return FALSE;
}

/* --- making -------------------------------------------------------------- */

/**
 * gst_vkgdr_compile_options_new:
 * @options: (nullable) (array zero-terminated=1): options, each one a word
 * @include_dirs: (nullable) (array zero-terminated=1) (element-type filename):
 *   folders in which headers are searched, before those of @options
 * @error: return location for a #GError
 *
 * Makes options for gst_vkgdr_kernel_new_from_source() and similar functions.
 *
 * Returns: (transfer full) (nullable): the options, or %NULL with @error set to
 *   %GST_VKGDR_ERROR_ARGUMENT if one is not known
 *
 * Since: 0.2
 */
GstVkgdrCompileOptions *
gst_vkgdr_compile_options_new (const gchar *const *options,
    const gchar *const *include_dirs, GError **error)
{
  GstVkgdrCompileOptions *self = g_new0 (GstVkgdrCompileOptions, 1);

  self->ref_count = 1;
  self->words = g_ptr_array_new_with_free_func (g_free);
  self->folders = g_ptr_array_new_with_free_func (g_free);
  self->includes = g_string_new (NULL);
  for (; include_dirs && *include_dirs; include_dirs++)
    g_ptr_array_add (self->folders, g_strdup (*include_dirs));
  if (!options || options_read (self, options, error))
    return self;
  gst_vkgdr_compile_options_unref (self);
  return NULL;
}

/**
 * gst_vkgdr_compile_options_new_from_string:
 * @text: options as on a command line, with blanks between them; quotes and
 *   backslashes are those of a shell
 * @error: return location for a #GError
 *
 * The same as gst_vkgdr_compile_options_new(), but with all options in one
 * string. No shell is run.
 *
 * Returns: (transfer full) (nullable): the options, or %NULL with @error set to
 *   %GST_VKGDR_ERROR_ARGUMENT if one is not known, or a quote is not closed
 *
 * Since: 0.2
 */
GstVkgdrCompileOptions *
gst_vkgdr_compile_options_new_from_string (const gchar *text, GError **error)
{
  GstVkgdrCompileOptions *self;
  GError *reason = NULL;
  gchar **words = NULL;

  g_return_val_if_fail (text != NULL, NULL);

  if (!g_shell_parse_argv (text, NULL, &words, &reason)
      && !g_error_matches (reason, G_SHELL_ERROR, G_SHELL_ERROR_EMPTY_STRING)) {
    g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_ARGUMENT,
        "Options \"%s\": %s", text, reason->message);
    g_error_free (reason);
    return NULL;
  }
  g_clear_error (&reason);
  self =
      gst_vkgdr_compile_options_new ((const gchar *const *) words, NULL, error);
  g_strfreev (words);
  return self;
}

/**
 * gst_vkgdr_compile_options_unref:
 * @options: (transfer full): options
 *
 * Releases a reference. The options are freed with the last one. Thread-safe.
 *
 * Since: 0.2
 */
void
gst_vkgdr_compile_options_unref (GstVkgdrCompileOptions *options)
{
  g_return_if_fail (options != NULL);

  if (!g_atomic_int_dec_and_test (&options->ref_count))
    return;
  g_ptr_array_unref (options->words);
  g_ptr_array_unref (options->folders);
  g_string_free (options->includes, TRUE);
  g_free (options);
}

/* --- use ----------------------------------------------------------------- */

static void
append_copies (GPtrArray *to, const GPtrArray *from)
{
  guint i;

  for (i = 0; i < from->len; i++)
    g_ptr_array_add (to, g_strdup (from->pdata[i]));
}

void
gst_vkgdr_options_append (const GstVkgdrCompileOptions *self, GPtrArray *words)
{
  if (self)
    append_copies (words, self->words);
}

void
gst_vkgdr_options_append_folders (
    const GstVkgdrCompileOptions *self, GPtrArray *folders)
{
  if (self)
    append_copies (folders, self->folders);
}

const gchar *
gst_vkgdr_options_get_includes (const GstVkgdrCompileOptions *self)
{
  return self ? self->includes->str : "";
}

gboolean
gst_vkgdr_options_has_standard (const GstVkgdrCompileOptions *self)
{
  guint i;

  for (i = 0; self && i < self->words->len; i++)
    if (g_str_has_prefix (self->words->pdata[i], "--std="))
      return TRUE;
  return FALSE;
}
