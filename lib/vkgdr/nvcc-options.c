/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * nvcc-options.c: nvcc's options in NVRTC's words
 */

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "nvcc.h"

typedef enum {
  FLAG,     /* --name */
  VALUE,    /* --name=value, --name value */
  ATTACHED, /* also -Nvalue */
  PREFIX,   /* every option that begins with the name */
} Form;

#define BOOLEAN " true false "
#define NUMBER "#"

/* In both tools, options have a long name and a short one, which are used with
 * one hyphen or two. @spelling is what NVRTC gets in front of the value, or
 * NULL: it has no meaning for NVRTC. An option with a list of @values keeps the
 * last one only. */
static const struct {
  const char *names; /* with a blank after each */
  Form form;
  const char *spelling;
  const char *values;
} known[] = {
  { "define-macro D ", ATTACHED, "-D", NULL },
  { "undefine-macro U ", ATTACHED, "-U", NULL },
  { "include-path I ", ATTACHED, "-I", NULL },
  { "system-include isystem ", ATTACHED, "-I", NULL },
  { "pre-include include ", VALUE, "--pre-include=", NULL },
  { "gpu-architecture arch ", VALUE, "--gpu-architecture=", NULL },
  { "std ", VALUE, "--std=", " c++03 c++11 c++14 c++17 c++20 " },
  { "fmad ", VALUE, "--fmad=", BOOLEAN },
  { "ftz ", VALUE, "--ftz=", BOOLEAN },
  { "prec-div ", VALUE, "--prec-div=", BOOLEAN },
  { "prec-sqrt ", VALUE, "--prec-sqrt=", BOOLEAN },
  { "maxrregcount ", VALUE, "--maxrregcount=", NUMBER },
  { "relocatable-device-code rdc ", VALUE,
      "--relocatable-device-code=", BOOLEAN },
  { "device-c dc ", FLAG, "--relocatable-device-code=true", NULL },
  { "ptxas-options Xptxas ", VALUE, "--ptxas-options=", NULL },
  { "resource-usage res-usage ", FLAG, "--ptxas-options=-v", NULL },
  { "split-compile ", VALUE, "--split-compile=", NUMBER },
  { "use_fast_math ", FLAG, "--use_fast_math", NULL },
  { "extra-device-vectorization ", FLAG, "--extra-device-vectorization", NULL },
  { "restrict ", FLAG, "--restrict", NULL },
  { "generate-line-info lineinfo ", FLAG, "-lineinfo", NULL },
  { "device-debug G ", FLAG, "-G", NULL },
  { "dopt ", VALUE, "-dopt=", " on off " },
  { "disable-warnings w ", FLAG, "-w", NULL },
  { "diag-suppress ", VALUE, "-diag-suppress=", NULL },
  { "diag-error ", VALUE, "-diag-error=", NULL },
  { "diag-warn ", VALUE, "-diag-warn=", NULL },
  { "display-error-number err-no ", FLAG, "-err-no", NULL },
  { "no-display-error-number no-err-no ", FLAG, "-no-err-no", NULL },
  { "device-int128 ", FLAG, NULL, NULL },
  { "default-device device-as-default-execution-space ", FLAG, NULL, NULL },
  { "expt-extended-lambda extended-lambda ", FLAG,
      "-D__CUDACC_EXTENDED_LAMBDA__", NULL },
  { "expt-relaxed-constexpr ", FLAG, NULL, NULL },
  { "machine m ", VALUE, NULL, NULL },
  { "m64 ", FLAG, NULL, NULL },
  { "optimize O ", ATTACHED, NULL, NULL },
  { "debug g profile pg ", FLAG, NULL, NULL },
  { "verbose v dryrun keep k save-temps ", FLAG, NULL, NULL },
  { "keep-dir ", VALUE, NULL, NULL },
  { "source-in-ptx src-in-ptx no-compress ", FLAG, NULL, NULL },
  { "compress-mode split-compile-extended ", VALUE, NULL, NULL },
  { "keep-device-functions no-exceptions noeh ", FLAG, NULL, NULL },
  { "allow-unsupported-compiler ", FLAG, NULL, NULL },
  { "forward-unknown-to-host-compiler forward-unknown-opts ", FLAG, NULL,
      NULL },
  { "entries e default-stream cudart cudadevrt optimization-info opt-info "
    "static-global-template-stub ",
      VALUE, NULL, NULL },
  { "threads t ", ATTACHED, NULL, NULL },
  { "gpu-code code generate-code gencode ", VALUE, NULL, NULL },
  { "Werror ", VALUE, NULL, NULL },
  { "W ", PREFIX, NULL, NULL },
  { "compiler-options Xcompiler compiler-bindir ccbin ", VALUE, NULL, NULL },
  { "linker-options Xlinker nvlink-options Xnvlink archive-options Xarchive "
    "cudafe-options Xcudafe fatbin-options Xfatbin ",
      VALUE, NULL, NULL },
  { "library-path L library l ", ATTACHED, NULL, NULL },
  { "x output-directory odir output-file o ", VALUE, NULL, NULL },
  { "cubin ptx fatbin compile c shared MD MMD ", FLAG, NULL, NULL },
};

#define N_KNOWN (sizeof (known) / sizeof (*known))

typedef struct {
  const char *const *next; /* the words that were not read */
  bool ignores_unknown;
  const char *unknown;
  char **words; /* the result */
  size_t n_words;
  bool has_failed; /* no memory */
} Translation;

/* --- lists --------------------------------------------------------------- */

void
vkgdr_nvcc_free (char **list)
{
  char **item;

  for (item = list; item && *item; item++)
    free (*item);
  free (list);
}

static void
add (Translation *t, const char *spelling, const char *value, size_t length)
{
  size_t size = strlen (spelling);
  char *word = malloc (size + length + 1);
  char **words = realloc (t->words, (t->n_words + 2) * sizeof (*words));

  if (words)
    t->words = words;
  if (!word || !words) {
    free (word);
    t->has_failed = true;
    return;
  }
  memcpy (word, spelling, size);
  memcpy (word + size, value, length);
  word[size + length] = '\0';
  words[t->n_words++] = word;
  words[t->n_words] = NULL;
}

static void
remove_all (Translation *t, const char *spelling)
{
  size_t i, n = 0;

  for (i = 0; i < t->n_words; i++)
    if (strncmp (t->words[i], spelling, strlen (spelling)) == 0)
      free (t->words[i]);
    else
      t->words[n++] = t->words[i];
  t->n_words = n;
  if (t->words)
    t->words[n] = NULL;
}

/* --- one option ---------------------------------------------------------- */

/* Whether @word, without its hyphens, is the option @name. Sets *@value to what
 * follows the name in the same word, or to NULL. */
static bool
is_name (const char *word, const char *name, size_t length, Form form,
    const char **value)
{
  const char *rest = word + length;

  *value = NULL;
  if (strncmp (word, name, length) != 0)
    return false;
  if (*rest == '\0' || form == PREFIX)
    return true;
  if (form == FLAG)
    return false;
  *value = *rest == '=' ? rest + 1 : rest;
  /* Only names of one letter are followed by a value without a sign. */
  return *rest == '=' || (form == ATTACHED && length == 1);
}

/* Returns the index of the option in the table, or N_KNOWN. */
static size_t
find (const char *word, const char **value)
{
  size_t i;

  for (i = 0; i < N_KNOWN; i++) {
    const char *name = known[i].names;

    for (; *name; name += strcspn (name, " ") + 1)
      if (is_name (word, name, strcspn (name, " "), known[i].form, value))
        return i;
  }
  return N_KNOWN;
}

static bool
is_allowed (const char *values, const char *value)
{
  size_t length = strlen (value);
  const char *at;

  if (!values)
    return length > 0;
  if (*values == *NUMBER)
    return length > 0 && length < 5 && strspn (value, "0123456789") == length;
  for (at = values; length > 0 && (at = strstr (at, value)); at++)
    if (at[-1] == ' ' && at[length] == ' ')
      return true;
  return false;
}

/* nvcc takes a list, NVRTC one at a time. */
static void
add_list (Translation *t, const char *spelling, const char *value)
{
  size_t length;

  for (; *value; value += length + (value[length] == ',')) {
    length = strcspn (value, ",");
    add (t, spelling, value, length);
  }
}

static bool
is_own_architecture (const char *value)
{
  return strcmp (value, "native") == 0 || strcmp (value, "all") == 0
         || strcmp (value, "all-major") == 0;
}

static void
use_value (Translation *t, const char *spelling, const char *value)
{
  if (strcmp (spelling, "--ptxas-options=") == 0) {
    add_list (t, spelling, value);
  } else if (strcmp (spelling, "--gpu-architecture=") == 0) {
    remove_all (t, spelling);
    if (!is_own_architecture (value))
      add (t, spelling, value, strlen (value));
  } else {
    add (t, spelling, value, strlen (value));
  }
}

/* Returns false if @word is not known, or lacks a good value. */
static bool
translate_word (Translation *t, const char *word)
{
  const char *const *next = t->next;
  const char *value, *spelling;
  size_t i;

  if (word[0] != '-')
    return false;
  i = find (word + (word[1] == '-' ? 2 : 1), &value);
  if (i == N_KNOWN)
    return false;
  spelling = known[i].spelling;
  if (known[i].form == FLAG || known[i].form == PREFIX) {
    if (spelling)
      add (t, spelling, "", 0);
    return true;
  }
  if (!value && *next)
    value = *next++;
  if (!value || !is_allowed (known[i].values, value))
    return false;
  t->next = next;
  if (known[i].values && spelling)
    remove_all (t, spelling);
  if (spelling)
    use_value (t, spelling, value);
  return true;
}

/* --- all options --------------------------------------------------------- */

static bool
contain (const char *const *options, const char *option)
{
  for (; *options; options++)
    if (strcmp (*options + strspn (*options, "-"), option) == 0)
      return true;
  return false;
}

char **
vkgdr_nvcc_translate (const char *const *options, const char **unknown)
{
  Translation t = { .next = options };

  t.ignores_unknown = contain (options, "forward-unknown-to-host-compiler")
                      || contain (options, "forward-unknown-opts");
  t.words = calloc (1, sizeof (*t.words));
  t.has_failed = !t.words;
  while (*t.next && !t.has_failed) {
    const char *word = *t.next++;

    if (translate_word (&t, word) || t.ignores_unknown)
      continue;
    add (&t, "", word, strlen (word));
    if (!t.unknown)
      t.unknown = word;
  }
  if (unknown)
    *unknown = t.unknown;
  if (!t.has_failed)
    return t.words;
  vkgdr_nvcc_free (t.words);
  return NULL;
}

const char *const *
vkgdr_nvcc_get_options (int version)
{
  /* NVRTC refuses functions and variables of the host, and integers of 128
   * bits, which nvcc takes. */
  static const char *const options[] = { "--device-as-default-execution-space",
    "--device-int128", NULL };
  static const char *const older[] = { "--device-as-default-execution-space",
    NULL };

  return version >= 11060 ? options : older;
}
