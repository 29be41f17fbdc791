/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * nvrtc-compile.c: from CUDA C to an image
 *
 * Preprocesses the source, lets nvrtc-scan.c rewrite the result, adds the table
 * of kernels, and compiles it to a shared object. All files are in a folder,
 * which is always removed.
 */

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../device/softcuda_image.h"
#include "image.h"
#include "nvrtc-private.h"

typedef struct {
  nvrtcProgram program;
  const char *folder;
  const char *runtime; /* folder of softcuda_runtime.h */
  const rt_options *options;
  rt_scan scan;
} compilation;

/* The headers are in the folder of this library. */
static bool
find_runtime (char *folder, size_t size)
{
  Dl_info info;
  char *slash;

  if (dladdr ((void *) rt_compile, &info) == 0
      || realpath (info.dli_fname, folder) == NULL)
    return false;
  slash = strrchr (folder, '/');
  if (slash == NULL)
    return false;
  *slash = '\0';
  return true;
}

static bool
write_file (const compilation *c, const char *name, const rt_text *text)
{
  char path[PATH_MAX];

  return snprintf (path, sizeof path, "%s/%s", c->folder, name)
             < (int) sizeof path
         && rt_text_write_file (text, path);
}

static bool
read_file (const compilation *c, const char *name, rt_text *text)
{
  char path[PATH_MAX];

  return snprintf (path, sizeof path, "%s/%s", c->folder, name)
             < (int) sizeof path
         && rt_text_read_file (text, path);
}

static bool
write_headers (const compilation *c)
{
  const rt_strings *names = &c->program->header_names;

  for (int i = 0; i < names->n; i++) {
    const char *content = c->program->headers.item[i];
    rt_text text = { (char *) content, strlen (content), 0, false };
    char name[PATH_MAX];

    if (snprintf (name, sizeof name, "include/%s", names->item[i])
        >= (int) sizeof name)
      return false;
    if (!rt_folder_prepare (c->folder, name) || !write_file (c, name, &text))
      return false;
  }
  return true;
}

/* Escapes a name for #line: a quote or a backslash would end or change the
 * name. */
static void
add_quoted (rt_text *text, const char *name)
{
  rt_text_add (text, "\"", 1);
  for (; *name != '\0'; name++) {
    if (*name == '"' || *name == '\\')
      rt_text_add (text, "\\", 1);
    if (*name != '\n')
      rt_text_add (text, name, 1);
  }
  rt_text_add (text, "\"\n", 2);
}

static bool
is_for_nvcc (const compilation *c)
{
  return rt_strings_contain (&c->options->preprocess, RT_NVCC);
}

static bool
write_source (const compilation *c)
{
  const nvrtcProgram program = c->program;
  rt_text text = { NULL, 0, 0, false };
  bool good;

  rt_text_print (&text,
      "#include \"%s/softcuda_runtime.h\"\n%s" RT_USER_CODE "\n#line 1 ",
      c->runtime,
      c->options->int128 || is_for_nvcc (c)
          ? ""
          : "#define __int128 needs_the_option_device_int128\n");
  add_quoted (&text, program->name);
  rt_text_add (&text, program->source.data, program->source.size);
  rt_text_add (&text, "\n", 1);
  good = write_file (c, "kernel.cu", &text);
  rt_text_clear (&text);
  return good;
}

static void
add_all (rt_strings *to, const rt_strings *from)
{
  for (int i = 0; i < from->n; i++)
    rt_strings_add (to, from->item[i], strlen (from->item[i]));
}

static void
add_flags (rt_strings *arguments, const char *const *flags)
{
  for (; *flags != NULL; flags++)
    rt_strings_add (arguments, *flags, strlen (*flags));
}

/* A GPU fuses a multiplication and an addition. The host does so, too, if its
 * CPU can. Then the image records that it needs such a CPU. */
static void
add_machine_flags (rt_strings *arguments)
{
#if defined(__x86_64__)
  if (__builtin_cpu_supports ("fma"))
    rt_strings_print (arguments, "-mfma");
#endif
}

/* The preprocessor and the compiler need the same options. Otherwise predefined
 * macros differ between them. */
static void
add_common_flags (rt_strings *arguments)
{
  static const char *const flags[] = { "-std=c++17", "-O2", "-fPIC",
    "-fno-exceptions", "-fno-rtti", "-D_GNU_SOURCE", NULL };

  add_flags (arguments, flags);
  add_machine_flags (arguments);
}

/* `#include "x.h"` finds a file beside the source. */
static void
add_source_folder (const compilation *c, rt_strings *arguments)
{
  const char *name = c->program->name;
  const char *slash = strrchr (name, '/');

  if (c->options->no_source_include)
    return;
  rt_strings_print (arguments, "-iquote");
  if (slash != NULL)
    rt_strings_print (arguments, "%.*s/", (int) (slash - name), name);
  else
    rt_strings_print (arguments, ".");
}

static rt_host_result
run_preprocessor (const compilation *c)
{
  static const char *const no_headers[] = { "-nostdinc", "-nostdinc++", NULL };
  rt_strings arguments = { NULL, 0, false };
  rt_host_result result = RT_HOST_FAILED;

  add_common_flags (&arguments);
  rt_strings_print (&arguments, "-I%s/include", c->folder);
  rt_strings_print (&arguments, "-I%s", c->runtime); /* before a toolkit's */
  if (is_for_nvcc (c))
    rt_strings_print (&arguments, "-I%s/nvcc-include", c->runtime);
  else
    add_flags (&arguments, no_headers);
  add_source_folder (c, &arguments);
  add_all (&arguments, &c->options->preprocess);
  rt_strings_print (&arguments, "-E");
  rt_strings_print (&arguments, "-o");
  rt_strings_print (&arguments, "%s/kernel.pre", c->folder);
  rt_strings_print (&arguments, "-xc++");
  rt_strings_print (&arguments, "%s/kernel.cu", c->folder);
  if (!arguments.failed)
    result = rt_host_compiler (c->folder, &arguments, &c->program->log);
  rt_strings_clear (&arguments);
  return result;
}

/* The linker hides all names but one, so that the names of two modules do not
 * collide. The start files would call __cxa_finalize () when a module is
 * unloaded, which takes the lock of exit (). A child of fork () never gets this
 * lock if another thread of its parent had it. */
static rt_host_result
run_compiler (const compilation *c)
{
  static const char *const flags[] = { "-ffp-contract=fast", "-fno-math-errno",
    "-fno-strict-aliasing", "-fwrapv", "-fvisibility=hidden", "-shared",
    "-nostartfiles", "-Wl,-z,defs", "-Werror=vla", "-Werror=pointer-arith",
    NULL };
  rt_strings arguments = { NULL, 0, false };
  rt_host_result result = RT_HOST_FAILED;

  add_common_flags (&arguments);
  add_flags (&arguments, flags);
  add_all (&arguments, &c->options->compile);
  rt_strings_print (&arguments, "-Wl,--version-script=%s/exports", c->folder);
  rt_strings_print (&arguments, "-o");
  rt_strings_print (&arguments, "%s/kernel.so", c->folder);
  rt_strings_print (&arguments, "%s/kernel.ii", c->folder);
  rt_strings_print (&arguments, "-lm");
  if (!arguments.failed)
    result = rt_host_compiler (c->folder, &arguments, &c->program->log);
  rt_strings_clear (&arguments);
  return result;
}

/* The lowered name of a plain name is the name itself. For another expression,
 * a new name is made. */
static void
lower_expressions (compilation *c)
{
  const rt_strings *expressions = &c->program->expressions;

  for (int i = 0; i < expressions->n; i++) {
    const char *name = expressions->item[i];

    name += strspn (name, "& \t:");
    if (rt_strings_contain (&c->scan.kernels, name))
      rt_strings_add (&c->program->lowered, name, strlen (name));
    else
      rt_strings_print (&c->program->lowered, "softcuda_name_%d", i);
  }
}

static void
add_entry (rt_text *text, const char *path, const char *name)
{
  rt_text_print (
      text, "  softcuda_entry<&%s>::describe (\"%s\"),\n", path, name);
}

static void
add_table (compilation *c)
{
  rt_text *text = &c->scan.text;
  int n = 0;

  lower_expressions (c);
  rt_text_print (text,
      "\n# 1 \"softcuda\"\nstatic const softcuda_kernel softcuda_kernels[] = "
      "{\n");
  for (; n < c->scan.kernels.n; n++)
    add_entry (text, c->scan.kernel_paths.item[n], c->scan.kernels.item[n]);
  for (int i = 0; i < c->program->lowered.n; i++) {
    const char *lowered = c->program->lowered.item[i];
    const char *expression = c->program->expressions.item[i];

    if (rt_strings_contain (&c->scan.kernels, lowered))
      continue;
    add_entry (text, expression + strspn (expression, "& \t"), lowered);
    n++;
  }
  rt_text_print (text,
      "  { nullptr, nullptr, 0, nullptr, nullptr }\n};\n"
      "extern \"C\" {\n"
      "extern const char __start_softcuda_fibres[] "
      "__attribute__ ((weak, visibility (\"hidden\")));\n"
      "extern const softcuda_image_info softcuda_image "
      "__attribute__ ((visibility (\"default\")));\n"
      "const softcuda_image_info softcuda_image = {\n"
      "  %d, softcuda_needs, %d, softcuda_kernels, "
      "__start_softcuda_fibres\n};\n}\n",
      SOFTCUDA_IMAGE_ABI, n);
}

static nvrtcResult
result_of (rt_host_result result)
{
  return result == RT_HOST_DONE          ? NVRTC_SUCCESS
         : result == RT_HOST_NO_COMPILER ? NVRTC_ERROR_BUILTIN_OPERATION_FAILURE
                                         : NVRTC_ERROR_COMPILATION;
}

static nvrtcResult
preprocess_and_scan (compilation *c)
{
  rt_text text = { NULL, 0, 0, false };
  nvrtcResult result = result_of (run_preprocessor (c));

  if (result != NVRTC_SUCCESS)
    return result;
  if (read_file (c, "kernel.pre", &text) && text.size != 0) {
    c->scan.refuses_host = !is_for_nvcc (c);
    c->scan.allows_unmarked = c->options->default_device;
    rt_scan_run (&c->scan, &text);
    add_table (c);
    if (c->scan.kernels.failed || c->scan.kernel_paths.failed
        || c->program->lowered.failed)
      result = NVRTC_ERROR_OUT_OF_MEMORY;
  } else {
    result = NVRTC_ERROR_INTERNAL_ERROR;
  }
  rt_text_clear (&text);
  return result;
}

/* The driver refuses an image that was changed afterwards. */
static bool
take_image (const compilation *c)
{
  rt_text *image = &c->program->image;

  if (!read_file (c, "kernel.so", image) || image->size < EI_NIDENT)
    return false;
  sc_image_seal ((const unsigned char *) image->data, image->size,
      (unsigned char *) image->data + SC_SEAL_OFFSET);
  return true;
}

static nvrtcResult
compile_in_folder (compilation *c)
{
  static const char exports[] = "{ global: softcuda_image; local: *; };\n";
  rt_text script = { (char *) exports, sizeof exports - 1, 0, false };
  nvrtcResult result;

  if (!write_headers (c) || !write_source (c)
      || !write_file (c, "exports", &script))
    return NVRTC_ERROR_INTERNAL_ERROR;
  result = preprocess_and_scan (c);
  if (result != NVRTC_SUCCESS)
    return result;
  if (!write_file (c, "kernel.ii", &c->scan.text))
    return NVRTC_ERROR_INTERNAL_ERROR;
  result = result_of (run_compiler (c));
  if (result != NVRTC_SUCCESS)
    return result;
  return take_image (c) ? NVRTC_SUCCESS : NVRTC_ERROR_COMPILATION;
}

/* Removes the folder's name from the log, because it has no meaning for the
 * reader. */
static void
clean_log (const compilation *c)
{
  char prefix[PATH_MAX];

  snprintf (prefix, sizeof prefix, "%s/include/", c->folder);
  rt_text_remove_all (&c->program->log, prefix);
  snprintf (prefix, sizeof prefix, "%s/", c->folder);
  rt_text_remove_all (&c->program->log, prefix);
}

nvrtcResult
rt_compile (nvrtcProgram program, const rt_options *options)
{
  char runtime[PATH_MAX];
  compilation c = { program, NULL, runtime, options,
    { .refuses_host = false } };
  rt_folder folder;
  nvrtcResult result;

  if (!find_runtime (runtime, sizeof runtime))
    return NVRTC_ERROR_INTERNAL_ERROR;
  if (!rt_folder_make (&folder)) {
    rt_text_print (
        &program->log, "softcuda: cannot make a folder in TMPDIR or /tmp\n");
    return NVRTC_ERROR_INTERNAL_ERROR;
  }
  c.folder = folder.path;
  result = compile_in_folder (&c);
  clean_log (&c);
  rt_folder_remove (&folder);
  rt_scan_clear (&c.scan);
  return result;
}
