/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * kernel/options.c: a user's options for the compilation of a source
 *
 * A table has the supported options. No option names a file, because an image
 * would then depend on content that is not in the key of the cache. Runs no
 * compiler.
 */

#include <string.h>

#include <gst/vkgdr/gstvkgdrerror.h>

#include "kernel/options.h"

/**
 * SECTION:gstvkgdrcompileoptions
 * @title: GstVkgdrCompileOptions
 * @short_description: macros, folders of headers and options for a source
 *
 * A #GstVkgdrCompileOptions has settings for the compilation of a source:
 * macros, folders in which headers are searched, and options for the generated
 * code. It is immutable, and may be used from any thread.
 *
 * Options are written as for NVRTC and nvcc:
 *
 * | option | meaning |
 * |---|---|
 * | `-DNAME`, `-DNAME=VALUE`, `--define-macro=…` | defines a macro |
 * | `-UNAME`, `--undefine-macro=…` | undefines a macro |
 * | `-IFOLDER`, `--include-path=…` | adds a folder of headers |
 * | `--std=c++11` to `c++20` | the version of C++; 17 is the default |
 * | `--use_fast_math` | faster and less exact mathematics |
 * | `--fmad=false`, `true` | whether a product and a sum become one operation |
 * | `--maxrregcount=N` | maximum number of registers of a thread |
 * | `--generate-line-info`, `-lineinfo` | lines of the source, for profilers |
 * | `--device-debug`, `-G` | code for a debugger |
 * | `--restrict` | pointers of kernels do not overlap |
 * | `--extra-device-vectorization` | more vectorization |
 * | `--disable-warnings`, `-w` | no warnings |
 * | `-O0` to `-O3` | ignored: NVRTC has no levels of optimization |
 *
 * One hyphen may be used instead of two. The value of `-D`, `-U` and `-I` may
 * be the next word. If an option is given with several values, the last one
 * takes effect.
 *
 * Since: 0.2
 */

struct _GstVkgdrCompileOptions {
  gint ref_count;     /* atomic */
  GPtrArray *words;   /* as NVRTC spells them */
  GPtrArray *folders; /* of gchar * */
};

#define DIGITS_ONLY "#"

static const struct {
  const gchar *name;   /* without hyphens; one that ends in = has a value */
  const gchar *values; /* the possible values, separated by blanks */
  const gchar *nvrtc;  /* as NVRTC spells it, or NULL: NVRTC does not need it */
} options[] = {
  { "std=", " c++11 c++14 c++17 c++20 ", "--std=" },
  { "fmad=", " true false ", "--fmad=" },
  { "maxrregcount=", DIGITS_ONLY, "--maxrregcount=" },
  { "use_fast_math", NULL, "--use_fast_math" },
  { "generate-line-info", NULL, "-lineinfo" },
  { "lineinfo", NULL, "-lineinfo" },
  { "device-debug", NULL, "-G" },
  { "G", NULL, "-G" },
  { "restrict", NULL, "--restrict" },
  { "extra-device-vectorization", NULL, "--extra-device-vectorization" },
  { "disable-warnings", NULL, "--disable-warnings" },
  { "w", NULL, "-w" },
  { "O0", NULL, NULL },
  { "O1", NULL, NULL },
  { "O2", NULL, NULL },
  { "O3", NULL, NULL },
};

#define STANDARD options[0]

static GstVkgdrCompileOptions *
options_ref (GstVkgdrCompileOptions *options)
{
  g_atomic_int_inc (&options->ref_count);
  return options;
}

G_DEFINE_BOXED_TYPE (GstVkgdrCompileOptions, gst_vkgdr_compile_options,
    options_ref, gst_vkgdr_compile_options_unref)

/* --- reading ------------------------------------------------------------- */

/* Returns the value of the option @name, which may be the next word, or NULL if
 * @word is another option. */
static const gchar *
match_value (const gchar *word, const gchar *name, const gchar *const **next)
{
  if (!g_str_has_prefix (word, name))
    return NULL;
  word += strlen (name);
  if (*word == '=')
    word++;
  if (*word == '\0' && **next)
    word = *(*next)++;
  return word;
}

/* Reads -D, -U and -I in all spellings. Returns FALSE if @word is another
 * option, or has no value. */
static gboolean
read_macro_or_folder (
    GstVkgdrCompileOptions *self, const gchar *word, const gchar *const **next)
{
  static const struct {
    const gchar *name;
    const gchar *nvrtc; /* NULL: a folder */
  } kinds[] = { { "--define-macro", "-D" }, { "-define-macro", "-D" },
    { "--undefine-macro", "-U" }, { "-undefine-macro", "-U" },
    { "--include-path", NULL }, { "-include-path", NULL }, { "-D", "-D" },
    { "-U", "-U" }, { "-I", NULL } };
  guint i;

  for (i = 0; i < G_N_ELEMENTS (kinds); i++) {
    const gchar *value = match_value (word, kinds[i].name, next);

    if (!value)
      continue;
    if (*value == '\0')
      return FALSE;
    if (kinds[i].nvrtc)
      g_ptr_array_add (self->words, g_strconcat (kinds[i].nvrtc, value, NULL));
    else
      g_ptr_array_add (self->folders, g_strdup (value));
    return TRUE;
  }
  return FALSE;
}

static gboolean
is_value (const gchar *values, const gchar *value)
{
  gchar *padded;
  gboolean found;

  if (g_str_equal (values, DIGITS_ONLY))
    return *value && strspn (value, "0123456789") == strlen (value)
           && strlen (value) < 5;
  padded = g_strdup_printf (" %s ", value);
  found = strstr (values, padded) != NULL;
  g_free (padded);
  return found;
}

/* Removes the earlier value of an option. The last value takes effect, and
 * NVRTC may refuse an option with two values. */
static void
remove_words (GstVkgdrCompileOptions *self, const gchar *prefix)
{
  guint i;

  for (i = self->words->len; i > 0; i--)
    if (g_str_has_prefix (self->words->pdata[i - 1], prefix))
      g_ptr_array_remove_index (self->words, i - 1);
}

/* Reads an option of the table. @word must begin with a hyphen. */
static gboolean
read_option (GstVkgdrCompileOptions *self, const gchar *word)
{
  guint i;

  word += g_str_has_prefix (word, "--") ? 2 : 1;
  for (i = 0; i < G_N_ELEMENTS (options); i++) {
    const gchar *values = options[i].values, *nvrtc = options[i].nvrtc;
    const gchar *value = word + strlen (options[i].name);

    if (!g_str_has_prefix (word, options[i].name)
        || (values ? !is_value (values, value) : *value != '\0'))
      continue;
    if (values)
      remove_words (self, nvrtc);
    if (nvrtc)
      g_ptr_array_add (self->words, g_strconcat (nvrtc, value, NULL));
    return TRUE;
  }
  return FALSE;
}

static gboolean
options_read (
    GstVkgdrCompileOptions *self, const gchar *const *words, GError **error)
{
  while (*words) {
    const gchar *word = *words++;

    if (!g_utf8_validate (word, -1, NULL) || *word != '-'
        || (!read_macro_or_folder (self, word, &words)
            && !read_option (self, word))) {
      g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_ARGUMENT,
          "\"%s\" is not a supported option, or has no value: see "
          "GstVkgdrCompileOptions",
          word);
      return FALSE;
    }
  }
  return TRUE;
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

gboolean
gst_vkgdr_options_has_standard (const GstVkgdrCompileOptions *self)
{
  guint i;

  for (i = 0; self && i < self->words->len; i++)
    if (g_str_has_prefix (self->words->pdata[i], STANDARD.nvrtc))
      return TRUE;
  return FALSE;
}
