/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * nvrtc-options.c: translates NVRTC's options for the host's compiler
 *
 * Options that have no effect without a GPU are accepted. Unknown options are
 * refused. Knows nothing of how the compiler is run.
 */

#include <string.h>

#include "nvrtc-private.h"

typedef enum option_use {
  USE_NOTHING,
  USE_PREPROCESS, /* as `target` and the value */
  USE_COMPILE,
  USE_NO_SOURCE,
  USE_STANDARD,
  USE_DEFAULT_DEVICE,
  USE_INT128
} option_use;

/* If a name ends in =, its value follows. If a name ends in a space, its value
 * follows directly or is the next option. */
typedef struct option_info {
  const char *name;
  option_use use;
  const char *target;
  const char *values; /* that NVRTC accepts, or NULL: any */
} option_info;

#define BOOLEAN "true false"
#define NUMBER "#"
#define ARCHITECTURE "sm_"

static const option_info infos[] = {
  { "--include-path=", USE_PREPROCESS, "-I", NULL },
  { "--include-path ", USE_PREPROCESS, "-I", NULL },
  { "-I=", USE_PREPROCESS, "-I", NULL },
  { "-I ", USE_PREPROCESS, "-I", NULL },
  { "--define-macro=", USE_PREPROCESS, "-D", NULL },
  { "-D ", USE_PREPROCESS, "-D", NULL },
  { "--undefine-macro=", USE_PREPROCESS, "-U", NULL },
  { "-U ", USE_PREPROCESS, "-U", NULL },
  { "--pre-include=", USE_PREPROCESS, "-include", NULL },
  { "-include=", USE_PREPROCESS, "-include", NULL },
  { "--no-source-include", USE_NO_SOURCE, NULL, NULL },
  { "-no-source-include", USE_NO_SOURCE, NULL, NULL },
  { "--std=", USE_STANDARD, NULL, NULL },
  { "-std=", USE_STANDARD, NULL, NULL },
  { "--disable-warnings", USE_COMPILE, "-w", NULL },
  { "-w", USE_COMPILE, "-w", NULL },
  { "--fmad=false", USE_COMPILE, "-ffp-contract=off", NULL },
  { "-fmad=false", USE_COMPILE, "-ffp-contract=off", NULL },
  { "--fmad=true", USE_NOTHING, NULL, NULL },
  { "-fmad=true", USE_NOTHING, NULL, NULL },
  { "--gpu-architecture=", USE_NOTHING, NULL, ARCHITECTURE },
  { "-arch=", USE_NOTHING, NULL, ARCHITECTURE },
  { "-arch ", USE_NOTHING, NULL, ARCHITECTURE },
  { "--device-as-default-execution-space", USE_DEFAULT_DEVICE, NULL, NULL },
  { "-default-device", USE_DEFAULT_DEVICE, NULL, NULL },
  { "--device-int128", USE_INT128, NULL, NULL },
  { "-device-int128", USE_INT128, NULL, NULL },
  { "--use_fast_math", USE_NOTHING, NULL, NULL },
  { "-use_fast_math", USE_NOTHING, NULL, NULL },
  { "--ftz=", USE_NOTHING, NULL, BOOLEAN },
  { "-ftz=", USE_NOTHING, NULL, BOOLEAN },
  { "--prec-sqrt=", USE_NOTHING, NULL, BOOLEAN },
  { "-prec-sqrt=", USE_NOTHING, NULL, BOOLEAN },
  { "--prec-div=", USE_NOTHING, NULL, BOOLEAN },
  { "-prec-div=", USE_NOTHING, NULL, BOOLEAN },
  { "--maxrregcount=", USE_NOTHING, NULL, NUMBER },
  { "-maxrregcount=", USE_NOTHING, NULL, NUMBER },
  { "--split-compile=", USE_NOTHING, NULL, NUMBER },
  { "-split-compile=", USE_NOTHING, NULL, NUMBER },
  { "--ptxas-options=", USE_NOTHING, NULL, NULL },
  { "-Xptxas ", USE_NOTHING, NULL, NULL },
  { "--relocatable-device-code=", USE_NOTHING, NULL, BOOLEAN },
  { "-rdc=", USE_NOTHING, NULL, BOOLEAN },
  { "--extra-device-vectorization", USE_NOTHING, NULL, NULL },
  { "-extra-device-vectorization", USE_NOTHING, NULL, NULL },
  { "--generate-line-info", USE_NOTHING, NULL, NULL },
  { "-lineinfo", USE_NOTHING, NULL, NULL },
  { "--device-debug", USE_NOTHING, NULL, NULL },
  { "-G", USE_NOTHING, NULL, NULL },
  { "-dopt=", USE_NOTHING, NULL, "on off" },
  { "--dopt=", USE_NOTHING, NULL, "on off" },
  { "--restrict", USE_NOTHING, NULL, NULL },
  { "-restrict", USE_NOTHING, NULL, NULL },
  { "-diag-suppress=", USE_NOTHING, NULL, NULL },
  { "-diag-error=", USE_NOTHING, NULL, NULL },
  { "-diag-warn=", USE_NOTHING, NULL, NULL },
  { "-err-no", USE_NOTHING, NULL, NULL },
  { "-no-err-no", USE_NOTHING, NULL, NULL },
};

/* Whether NVRTC accepts the value. */
static bool
is_value (const char *values, const char *value)
{
  size_t size = strlen (value);
  const char *at = values;

  if (values == NULL)
    return true;
  if (*values == *NUMBER)
    return size == strspn (value, "0123456789");
  if (strcmp (values, ARCHITECTURE) == 0) {
    value += strncmp (value, "sm_", 3) == 0        ? 3
             : strncmp (value, "compute_", 8) == 0 ? 8
                                                   : 0;
    size = strspn (value, "0123456789");
    return size >= 2 && size <= 3 && strlen (value) <= size + 1;
  }
  while (size > 0 && (at = strstr (at, value)) != NULL) {
    if ((at == values || at[-1] == ' ')
        && (at[size] == ' ' || at[size] == '\0'))
      return true;
    at++;
  }
  return false;
}

/* Returns the value of an option, "" if it has none, or NULL if `name` is
 * another option. If the value is the next option, *i becomes its index. */
static const char *
match (const option_info *info, int n, const char *const *options, int *i)
{
  const char *option = options[*i];
  size_t size = strlen (info->name);
  char last = info->name[size - 1];

  if (last != '=' && last != ' ')
    return strcmp (option, info->name) == 0 ? "" : NULL;
  if (last == ' ')
    size--;
  if (strncmp (option, info->name, size) != 0)
    return NULL;
  option += size;
  if (last == '=' || *option != '\0')
    return *option != '\0' ? option : NULL;
  if (*i + 1 >= n)
    return NULL;
  *i += 1;
  return options[*i];
}

/* The runtime header needs C++17. Almost all older sources are valid in C++17,
 * too. */
static bool
standard_is_known (const char *value, const char **standard)
{
  static const char *const older[] = { "c++03", "c++11", "c++14", "c++17",
    NULL };

  for (int i = 0; older[i] != NULL; i++) {
    if (strcmp (value, older[i]) == 0) {
      *standard = "-std=c++17";
      return true;
    }
  }
  *standard = "-std=c++20";
  return strcmp (value, "c++20") == 0;
}

static bool
apply (const option_info *info, const char *value, rt_options *options)
{
  rt_strings *preprocess = &options->preprocess;
  rt_strings *compile = &options->compile;
  const char *standard;

  switch (info->use) {
  case USE_NOTHING:
    break;
  case USE_PREPROCESS:
    rt_strings_add (preprocess, info->target, strlen (info->target));
    rt_strings_add (preprocess, value, strlen (value));
    break;
  case USE_COMPILE:
    rt_strings_add (compile, info->target, strlen (info->target));
    break;
  case USE_NO_SOURCE:
    options->no_source_include = true;
    break;
  case USE_DEFAULT_DEVICE:
    options->default_device = true;
    break;
  case USE_INT128:
    options->int128 = true;
    break;
  case USE_STANDARD:
    if (!standard_is_known (value, &standard))
      return false;
    rt_strings_add (preprocess, standard, strlen (standard));
    rt_strings_add (compile, standard, strlen (standard));
    break;
  }
  return true;
}

static bool
translate_one (
    int n, const char *const *options, int *i, rt_options *translated)
{
  for (size_t k = 0; k < sizeof infos / sizeof *infos; k++) {
    const char *value = match (&infos[k], n, options, i);

    if (value != NULL)
      return is_value (infos[k].values, value)
             && apply (&infos[k], value, translated);
  }
  return false;
}

nvrtcResult
rt_options_translate (
    int n, const char *const *options, rt_options *translated, rt_text *log)
{
  for (int i = 0; i < n; i++) {
    const char *option = options[i];

    if (option == NULL)
      return NVRTC_ERROR_INVALID_OPTION;
    if (!translate_one (n, options, &i, translated)) {
      rt_text_print (log, "softcuda: unrecognized option %s\n", option);
      return NVRTC_ERROR_INVALID_OPTION;
    }
  }
  return translated->preprocess.failed || translated->compile.failed
             ? NVRTC_ERROR_OUT_OF_MEMORY
             : NVRTC_SUCCESS;
}

void
rt_options_clear (rt_options *options)
{
  rt_strings_clear (&options->preprocess);
  rt_strings_clear (&options->compile);
}
