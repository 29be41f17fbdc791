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
  USE_STANDARD
} option_use;

/* If a name ends in =, its value follows. If a name ends in a space, its value
 * follows directly or is the next option. */
typedef struct option_info {
  const char *name;
  option_use use;
  const char *target;
} option_info;

static const option_info infos[] = {
  { "--include-path=", USE_PREPROCESS, "-I" },
  { "-I=", USE_PREPROCESS, "-I" },
  { "-I ", USE_PREPROCESS, "-I" },
  { "--define-macro=", USE_PREPROCESS, "-D" },
  { "-D ", USE_PREPROCESS, "-D" },
  { "--undefine-macro=", USE_PREPROCESS, "-U" },
  { "-U ", USE_PREPROCESS, "-U" },
  { "--pre-include=", USE_PREPROCESS, "-include" },
  { "--no-source-include", USE_NO_SOURCE, NULL },
  { "-no-source-include", USE_NO_SOURCE, NULL },
  { "--std=", USE_STANDARD, NULL },
  { "-std=", USE_STANDARD, NULL },
  { "--disable-warnings", USE_COMPILE, "-w" },
  { "-w", USE_COMPILE, "-w" },
  { "--fmad=false", USE_COMPILE, "-ffp-contract=off" },
  { "-fmad=false", USE_COMPILE, "-ffp-contract=off" },
  { "--fmad=true", USE_NOTHING, NULL },
  { "-fmad=true", USE_NOTHING, NULL },
  { "--gpu-architecture=", USE_NOTHING, NULL },
  { "-arch=", USE_NOTHING, NULL },
  { "-arch ", USE_NOTHING, NULL },
  { "--device-as-default-execution-space", USE_NOTHING, NULL },
  { "-default-device", USE_NOTHING, NULL },
  { "--use_fast_math", USE_NOTHING, NULL },
  { "-use_fast_math", USE_NOTHING, NULL },
  { "--ftz=", USE_NOTHING, NULL },
  { "-ftz=", USE_NOTHING, NULL },
  { "--prec-sqrt=", USE_NOTHING, NULL },
  { "-prec-sqrt=", USE_NOTHING, NULL },
  { "--prec-div=", USE_NOTHING, NULL },
  { "-prec-div=", USE_NOTHING, NULL },
  { "--maxrregcount=", USE_NOTHING, NULL },
  { "-maxrregcount=", USE_NOTHING, NULL },
  { "--ptxas-options=", USE_NOTHING, NULL },
  { "-Xptxas ", USE_NOTHING, NULL },
  { "--relocatable-device-code=", USE_NOTHING, NULL },
  { "-rdc=", USE_NOTHING, NULL },
  { "--extra-device-vectorization", USE_NOTHING, NULL },
  { "-extra-device-vectorization", USE_NOTHING, NULL },
  { "--generate-line-info", USE_NOTHING, NULL },
  { "-lineinfo", USE_NOTHING, NULL },
  { "--device-debug", USE_NOTHING, NULL },
  { "-G", USE_NOTHING, NULL },
  { "--restrict", USE_NOTHING, NULL },
  { "-restrict", USE_NOTHING, NULL },
};

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
      return apply (&infos[k], value, translated);
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
