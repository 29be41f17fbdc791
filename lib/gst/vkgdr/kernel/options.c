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
  GPtrArray *words;   /* of Word */
  GPtrArray *folders; /* of gchar * */
};

typedef struct {
  const gchar *name;   /* without hyphens; one that ends in = has a value */
  const gchar *values; /* the possible values, separated by blanks; NULL: any */
  const gchar *nvrtc;  /* its name for NVRTC, or NULL; %s is the value */
} Option;

typedef struct {
  const Option *option;
  gchar *value;
} Word;

static const Option option_macro = { "D", NULL, "-D%s" };
static const Option option_no_macro = { "U", NULL, "-U%s" };

#define DIGITS_ONLY "#"

static const Option options[] = {
  { "std=", " c++11 c++14 c++17 c++20 ", "--std=%s" },
  { "use_fast_math", NULL, "--use_fast_math" },
  { "fmad=", " true ", NULL },
  { "fmad=", " false ", "--fmad=false" },
  { "maxrregcount=", DIGITS_ONLY, "--maxrregcount=%s" },
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

G_DEFINE_BOXED_TYPE (GstVkgdrCompileOptions, gst_vkgdr_compile_options,
    gst_vkgdr_compile_options_ref, gst_vkgdr_compile_options_unref)

static void
word_free (gpointer data)
{
  g_free (((Word *) data)->value);
  g_free (data);
}

/* Takes ownership of @value. */
static void
options_add (GstVkgdrCompileOptions *self, const Option *option, gchar *value)
{
  Word *word = g_new (Word, 1);

  word->option = option;
  word->value = value;
  g_ptr_array_add (self->words, word);
}

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
    const Option *option; /* NULL: a folder */
  } kinds[] = { { "--define-macro", &option_macro },
    { "-define-macro", &option_macro },
    { "--undefine-macro", &option_no_macro },
    { "-undefine-macro", &option_no_macro }, { "--include-path", NULL },
    { "-include-path", NULL }, { "-D", &option_macro },
    { "-U", &option_no_macro }, { "-I", NULL } };
  guint i;

  for (i = 0; i < G_N_ELEMENTS (kinds); i++) {
    const gchar *value = match_value (word, kinds[i].name, next);

    if (!value)
      continue;
    if (*value == '\0')
      return FALSE;
    if (kinds[i].option)
      options_add (self, kinds[i].option, g_strdup (value));
    else
      g_ptr_array_add (self->folders, g_strdup (value));
    return TRUE;
  }
  return FALSE;
}

static gboolean
option_takes (const Option *option, const gchar *value)
{
  gchar *padded;
  gboolean takes;

  if (!option->values)
    return *value != '\0';
  if (g_str_equal (option->values, DIGITS_ONLY))
    return *value && strspn (value, "0123456789") == strlen (value)
           && strlen (value) < 5;
  padded = g_strdup_printf (" %s ", value);
  takes = strstr (option->values, padded) != NULL;
  g_free (padded);
  return takes;
}

/* Reads an option of the table. @word must begin with a hyphen. */
static gboolean
read_option (GstVkgdrCompileOptions *self, const gchar *word)
{
  gsize length;
  guint i;

  word += g_str_has_prefix (word, "--") ? 2 : 1;
  for (i = 0; i < G_N_ELEMENTS (options); i++) {
    length = strlen (options[i].name);
    if (options[i].name[length - 1] != '='
            ? g_str_equal (word, options[i].name)
            : g_str_has_prefix (word, options[i].name)
                  && option_takes (&options[i], word + length)) {
      options_add (
          self, &options[i], g_strdup (word + strlen (options[i].name)));
      return TRUE;
    }
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
 * Makes options for gst_vkgdr_kernel_new_from_source_with_options() and similar
 * functions.
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
  self->words = g_ptr_array_new_with_free_func (word_free);
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
 * gst_vkgdr_compile_options_ref:
 * @options: options
 *
 * Thread-safe.
 *
 * Returns: (transfer full): @options, with one more reference
 *
 * Since: 0.2
 */
GstVkgdrCompileOptions *
gst_vkgdr_compile_options_ref (GstVkgdrCompileOptions *options)
{
  g_return_val_if_fail (options != NULL, NULL);

  g_atomic_int_inc (&options->ref_count);
  return options;
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

/* Replaces %s by @value. */
static gchar *
spell (const gchar *pattern, const gchar *value)
{
  const gchar *mark = strstr (pattern, "%s");

  if (!mark)
    return g_strdup (pattern);
  return g_strdup_printf (
      "%.*s%s%s", (gint) (mark - pattern), pattern, value, mark + 2);
}

/* NVRTC may refuse an option that has two values, and some values need no word:
 * the last one takes effect, so the others are left out. */
static gboolean
is_replaced (const GstVkgdrCompileOptions *self, guint i)
{
  const gchar *name = ((const Word *) self->words->pdata[i])->option->name;

  while (g_str_has_suffix (name, "=") && ++i < self->words->len)
    if (g_str_equal (
            ((const Word *) self->words->pdata[i])->option->name, name))
      return TRUE;
  return FALSE;
}

void
gst_vkgdr_options_append (const GstVkgdrCompileOptions *self, GPtrArray *words)
{
  guint i;

  for (i = 0; self && i < self->words->len; i++) {
    const Word *word = self->words->pdata[i];

    if (word->option->nvrtc && !is_replaced (self, i))
      g_ptr_array_add (words, spell (word->option->nvrtc, word->value));
  }
}

void
gst_vkgdr_options_append_folders (
    const GstVkgdrCompileOptions *self, GPtrArray *folders)
{
  guint i;

  for (i = 0; self && i < self->folders->len; i++)
    g_ptr_array_add (folders, g_strdup (self->folders->pdata[i]));
}

gboolean
gst_vkgdr_options_has_standard (const GstVkgdrCompileOptions *self)
{
  guint i;

  for (i = 0; self && i < self->words->len; i++)
    if (((Word *) self->words->pdata[i])->option == &options[0])
      return TRUE;
  return FALSE;
}
