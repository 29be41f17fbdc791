/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * nvrtc.c: the programs of the NVRTC API
 *
 * Stores the inputs and the results of a compilation. Knows nothing of how to
 * compile.
 */

#include <stdlib.h>
#include <string.h>

#include "nvrtc-private.h"

const char *
nvrtcGetErrorString (nvrtcResult result)
{
  static const char *const names[] = { "NVRTC_SUCCESS",
    "NVRTC_ERROR_OUT_OF_MEMORY", "NVRTC_ERROR_PROGRAM_CREATION_FAILURE",
    "NVRTC_ERROR_INVALID_INPUT", "NVRTC_ERROR_INVALID_PROGRAM",
    "NVRTC_ERROR_INVALID_OPTION", "NVRTC_ERROR_COMPILATION",
    "NVRTC_ERROR_BUILTIN_OPERATION_FAILURE",
    "NVRTC_ERROR_NO_NAME_EXPRESSIONS_AFTER_COMPILATION",
    "NVRTC_ERROR_NO_LOWERED_NAMES_BEFORE_COMPILATION",
    "NVRTC_ERROR_NAME_EXPRESSION_NOT_VALID", "NVRTC_ERROR_INTERNAL_ERROR" };

  if ((size_t) result < sizeof names / sizeof *names)
    return names[result];
  return "NVRTC_ERROR unknown";
}

nvrtcResult
nvrtcVersion (int *major, int *minor)
{
  if (major == NULL || minor == NULL)
    return NVRTC_ERROR_INVALID_INPUT;
  *major = 13;
  *minor = 0;
  return NVRTC_SUCCESS;
}

nvrtcResult
nvrtcGetNumSupportedArchs (int *n)
{
  if (n == NULL)
    return NVRTC_ERROR_INVALID_INPUT;
  *n = 1;
  return NVRTC_SUCCESS;
}

nvrtcResult
nvrtcGetSupportedArchs (int *archs)
{
  if (archs == NULL)
    return NVRTC_ERROR_INVALID_INPUT;
  archs[0] = 90;
  return NVRTC_SUCCESS;
}

static void
program_free (nvrtcProgram program)
{
  free (program->name);
  rt_text_clear (&program->source);
  rt_strings_clear (&program->header_names);
  rt_strings_clear (&program->headers);
  rt_strings_clear (&program->expressions);
  rt_strings_clear (&program->lowered);
  rt_text_clear (&program->image);
  rt_text_clear (&program->log);
  free (program);
}

static nvrtcResult
copy_headers (nvrtcProgram program, int n, const char *const *headers,
    const char *const *names)
{
  for (int i = 0; i < n; i++) {
    if (headers[i] == NULL || names[i] == NULL || !rt_name_is_inside (names[i]))
      return NVRTC_ERROR_INVALID_INPUT;
    rt_strings_add (&program->headers, headers[i], strlen (headers[i]));
    rt_strings_add (&program->header_names, names[i], strlen (names[i]));
  }
  return program->headers.failed || program->header_names.failed
             ? NVRTC_ERROR_OUT_OF_MEMORY
             : NVRTC_SUCCESS;
}

nvrtcResult
nvrtcCreateProgram (nvrtcProgram *program, const char *source, const char *name,
    int n_headers, const char *const *headers, const char *const *include_names)
{
  nvrtcProgram made;
  nvrtcResult result;

  if (program == NULL || source == NULL || n_headers < 0
      || (n_headers != 0 && (headers == NULL || include_names == NULL)))
    return NVRTC_ERROR_INVALID_INPUT;
  made = calloc (1, sizeof *made);
  if (made == NULL)
    return NVRTC_ERROR_OUT_OF_MEMORY;
  made->name = strdup (name != NULL ? name : "default_program");
  rt_text_add (&made->source, source, strlen (source));
  result = copy_headers (made, n_headers, headers, include_names);
  if (result == NVRTC_SUCCESS && (made->name == NULL || made->source.failed))
    result = NVRTC_ERROR_OUT_OF_MEMORY;
  if (result != NVRTC_SUCCESS)
    program_free (made);
  else
    *program = made;
  return result;
}

nvrtcResult
nvrtcDestroyProgram (nvrtcProgram *program)
{
  if (program == NULL || *program == NULL)
    return NVRTC_ERROR_INVALID_PROGRAM;
  program_free (*program);
  *program = NULL;
  return NVRTC_SUCCESS;
}

nvrtcResult
nvrtcCompileProgram (
    nvrtcProgram program, int n_options, const char *const *options)
{
  rt_options translated = { .no_source_include = false };
  nvrtcResult result;

  if (program == NULL)
    return NVRTC_ERROR_INVALID_PROGRAM;
  if (n_options < 0 || (n_options != 0 && options == NULL))
    return NVRTC_ERROR_INVALID_INPUT;
  rt_text_clear (&program->log);
  rt_text_clear (&program->image);
  rt_strings_clear (&program->lowered);
  program->compiled = false;
  result =
      rt_options_translate (n_options, options, &translated, &program->log);
  if (result == NVRTC_SUCCESS)
    result = rt_compile (program, &translated);
  program->compiled = result == NVRTC_SUCCESS;
  rt_options_clear (&translated);
  return result;
}

nvrtcResult
nvrtcGetCUBINSize (nvrtcProgram program, size_t *size)
{
  if (program == NULL || !program->compiled)
    return NVRTC_ERROR_INVALID_PROGRAM;
  if (size == NULL)
    return NVRTC_ERROR_INVALID_INPUT;
  *size = program->image.size;
  return NVRTC_SUCCESS;
}

nvrtcResult
nvrtcGetCUBIN (nvrtcProgram program, char *cubin)
{
  if (program == NULL || !program->compiled)
    return NVRTC_ERROR_INVALID_PROGRAM;
  if (cubin == NULL)
    return NVRTC_ERROR_INVALID_INPUT;
  memcpy (cubin, program->image.data, program->image.size);
  return NVRTC_SUCCESS;
}

/* The PTX and the CUBIN of a program are the same image here. */
nvrtcResult
nvrtcGetPTXSize (nvrtcProgram program, size_t *size)
{
  return nvrtcGetCUBINSize (program, size);
}

nvrtcResult
nvrtcGetPTX (nvrtcProgram program, char *ptx)
{
  return nvrtcGetCUBIN (program, ptx);
}

nvrtcResult
nvrtcGetProgramLogSize (nvrtcProgram program, size_t *size)
{
  if (program == NULL)
    return NVRTC_ERROR_INVALID_PROGRAM;
  if (size == NULL)
    return NVRTC_ERROR_INVALID_INPUT;
  *size = program->log.size + 1;
  return NVRTC_SUCCESS;
}

nvrtcResult
nvrtcGetProgramLog (nvrtcProgram program, char *log)
{
  if (program == NULL)
    return NVRTC_ERROR_INVALID_PROGRAM;
  if (log == NULL)
    return NVRTC_ERROR_INVALID_INPUT;
  if (program->log.size != 0)
    memcpy (log, program->log.data, program->log.size);
  log[program->log.size] = '\0';
  return NVRTC_SUCCESS;
}

nvrtcResult
nvrtcAddNameExpression (nvrtcProgram program, const char *expression)
{
  if (program == NULL)
    return NVRTC_ERROR_INVALID_PROGRAM;
  if (expression == NULL)
    return NVRTC_ERROR_INVALID_INPUT;
  if (program->compiled)
    return NVRTC_ERROR_NO_NAME_EXPRESSIONS_AFTER_COMPILATION;
  rt_strings_add (&program->expressions, expression, strlen (expression));
  return program->expressions.failed ? NVRTC_ERROR_OUT_OF_MEMORY
                                     : NVRTC_SUCCESS;
}

nvrtcResult
nvrtcGetLoweredName (
    nvrtcProgram program, const char *expression, const char **lowered)
{
  if (program == NULL)
    return NVRTC_ERROR_INVALID_PROGRAM;
  if (expression == NULL || lowered == NULL)
    return NVRTC_ERROR_INVALID_INPUT;
  if (!program->compiled)
    return NVRTC_ERROR_NO_LOWERED_NAMES_BEFORE_COMPILATION;
  for (int i = 0; i < program->expressions.n; i++) {
    if (strcmp (program->expressions.item[i], expression) == 0) {
      *lowered = program->lowered.item[i];
      return NVRTC_SUCCESS;
    }
  }
  return NVRTC_ERROR_NAME_EXPRESSION_NOT_VALID;
}
