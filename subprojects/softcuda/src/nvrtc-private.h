/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * nvrtc-private.h: the NVRTC API as softcuda implements it, and declarations
 * that its files share
 *
 * Types, values and prototypes are facts of NVIDIA's library, written down here
 * so that a build needs no CUDA toolkit.
 */

#ifndef SOFTCUDA_NVRTC_PRIVATE_H
#define SOFTCUDA_NVRTC_PRIVATE_H

#include <stdbool.h>
#include <stddef.h>

typedef enum nvrtcResult {
  NVRTC_SUCCESS = 0,
  NVRTC_ERROR_OUT_OF_MEMORY = 1,
  NVRTC_ERROR_PROGRAM_CREATION_FAILURE = 2,
  NVRTC_ERROR_INVALID_INPUT = 3,
  NVRTC_ERROR_INVALID_PROGRAM = 4,
  NVRTC_ERROR_INVALID_OPTION = 5,
  NVRTC_ERROR_COMPILATION = 6,
  NVRTC_ERROR_BUILTIN_OPERATION_FAILURE = 7,
  NVRTC_ERROR_NO_NAME_EXPRESSIONS_AFTER_COMPILATION = 8,
  NVRTC_ERROR_NO_LOWERED_NAMES_BEFORE_COMPILATION = 9,
  NVRTC_ERROR_NAME_EXPRESSION_NOT_VALID = 10,
  NVRTC_ERROR_INTERNAL_ERROR = 11
} nvrtcResult;

typedef struct nvrtc_program *nvrtcProgram;

#define NVRTC_API __attribute__ ((visibility ("default")))

/* All exported symbols. */
NVRTC_API const char *nvrtcGetErrorString (nvrtcResult result);
NVRTC_API nvrtcResult nvrtcVersion (int *major, int *minor);
NVRTC_API nvrtcResult nvrtcGetNumSupportedArchs (int *n);
NVRTC_API nvrtcResult nvrtcGetSupportedArchs (int *archs);
NVRTC_API nvrtcResult nvrtcCreateProgram (nvrtcProgram *program,
    const char *source, const char *name, int n_headers,
    const char *const *headers, const char *const *include_names);
NVRTC_API nvrtcResult nvrtcDestroyProgram (nvrtcProgram *program);
NVRTC_API nvrtcResult nvrtcCompileProgram (
    nvrtcProgram program, int n_options, const char *const *options);
NVRTC_API nvrtcResult nvrtcGetPTXSize (nvrtcProgram program, size_t *size);
NVRTC_API nvrtcResult nvrtcGetPTX (nvrtcProgram program, char *ptx);
NVRTC_API nvrtcResult nvrtcGetCUBINSize (nvrtcProgram program, size_t *size);
NVRTC_API nvrtcResult nvrtcGetCUBIN (nvrtcProgram program, char *cubin);
NVRTC_API nvrtcResult nvrtcGetProgramLogSize (
    nvrtcProgram program, size_t *size);
NVRTC_API nvrtcResult nvrtcGetProgramLog (nvrtcProgram program, char *log);
NVRTC_API nvrtcResult nvrtcAddNameExpression (
    nvrtcProgram program, const char *expression);
NVRTC_API nvrtcResult nvrtcGetLoweredName (
    nvrtcProgram program, const char *expression, const char **lowered);

/* ---- bytes that grow (nvrtc-text.c) ---- */

/* NUL-terminated after `size` bytes, as soon as something was added. If memory
 * is lacking, the text does not change, and `failed` is true. */
typedef struct rt_text {
  char *data;
  size_t size;
  size_t room;
  bool failed;
} rt_text;

void rt_text_add (rt_text *text, const char *bytes, size_t n);
void rt_text_print (rt_text *text, const char *format, ...)
    __attribute__ ((format (printf, 2, 3)));
void rt_text_clear (rt_text *text);
bool rt_text_read_file (rt_text *text, const char *path);
bool rt_text_write_file (const rt_text *text, const char *path);
/* Removes every occurrence. */
void rt_text_remove_all (rt_text *text, const char *what);

typedef struct rt_strings {
  char **item; /* ends with NULL, as soon as something was added */
  int n;
  bool failed;
} rt_strings;

void rt_strings_add (rt_strings *strings, const char *text, size_t n);
void rt_strings_print (rt_strings *strings, const char *format, ...)
    __attribute__ ((format (printf, 2, 3)));
bool rt_strings_contain (const rt_strings *strings, const char *text);
void rt_strings_clear (rt_strings *strings);

/* ---- the program (nvrtc.c) ---- */

struct nvrtc_program {
  char *name;
  rt_text source;
  rt_strings header_names;
  rt_strings headers;
  rt_strings expressions;
  rt_strings lowered; /* of the expressions, after compilation */
  rt_text image;
  rt_text log;
  bool compiled;
};

/* ---- options (nvrtc-options.c) ---- */

/* The options of the host's compiler. */
typedef struct rt_options {
  rt_strings preprocess;
  rt_strings compile;
  bool no_source_include;
  bool default_device; /* what has no mark is of the device */
  bool int128;
} rt_options;

/* nvcc knows the host, too: softcuda's gives this macro. */
#define RT_NVCC "SOFTCUDA_NVCC"

/* Translates the options of a program. `translated` must be all zeros. */
nvrtcResult rt_options_translate (
    int n, const char *const *options, rt_options *translated, rt_text *log);
void rt_options_clear (rt_options *options);

/* ---- declarations (nvrtc-declaration.c) ---- */

/* The declaration that is being read. Begin with zeros. */
typedef struct rt_declaration {
  bool allows_unmarked; /* the option -default-device */
  bool is_device;
  bool is_host;
  bool is_constant;
  bool is_template;
  int n_angles;      /* in the parameters of a template */
  bool is_other;     /* a type, for example */
  bool is_attribute; /* the last word */
  bool is_function;
  bool has_value;
  int n_words;
} rt_declaration;

void rt_declaration_add_word (
    rt_declaration *declaration, const char *word, size_t size);
void rt_declaration_add_sign (rt_declaration *declaration, char sign);
/* Returns why NVRTC refuses the declaration, or NULL. */
const char *rt_declaration_find_fault (const rt_declaration *declaration);
void rt_declaration_end (rt_declaration *declaration);

/* ---- the scan (nvrtc-scan.c) ---- */

/* A marker before the user's own text, which nvrtc-scan.c reads. */
#define RT_USER_CODE "SOFTCUDA_USER_CODE"

typedef struct rt_scan {
  rt_text text;            /* the source for the host's compiler */
  rt_strings kernels;      /* their names */
  rt_strings kernel_paths; /* their names with namespaces */
  bool refuses_host;       /* as NVRTC does */
  bool allows_unmarked;    /* functions and variables */
} rt_scan;

/* Takes preprocessed text. */
void rt_scan_run (rt_scan *scan, const rt_text *preprocessed);
void rt_scan_clear (rt_scan *scan);

/* ---- running the host's compiler (nvrtc-compile.c) ---- */

/* Fills image, log and lowered. */
nvrtcResult rt_compile (nvrtcProgram program, const rt_options *options);

/* ---- folders (nvrtc-folder.c) ---- */

typedef struct rt_folder {
  char *path;
  int lock;
} rt_folder;

/* Creates a private folder. Returns false if this fails. */
bool rt_folder_make (rt_folder *folder);
void rt_folder_remove (rt_folder *folder);
/* Creates the folders that a file in `folder` needs. Returns false if the path
 * of the file is not allowed. */
bool rt_folder_prepare (const char *folder, const char *file);
bool rt_name_is_inside (const char *file);

/* ---- processes (nvrtc-host.c) ---- */

typedef enum rt_host_result {
  RT_HOST_DONE,
  RT_HOST_FAILED, /* the compiler has refused the source; the log says why */
  RT_HOST_NO_COMPILER, /* there is none */
} rt_host_result;

/* Runs the host's C++ compiler with these arguments, and adds its output to the
 * log. */
rt_host_result rt_host_compiler (
    const char *folder, const rt_strings *arguments, rt_text *log);

#endif /* SOFTCUDA_NVRTC_PRIVATE_H */
