/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * kernel/compiler.c: CUDA C in, an image for the device out
 *
 * Chooses among NVRTC, nvcc and clang, says for which architecture and with
 * which options NVRTC compiles, and asks the cache before any of them. Knows
 * nothing of modules, entries and parameters.
 */

#include <string.h>

#include <gio/gio.h>

#include "kernel/cache.h"
#include "kernel/compiler.h"
#include "kernel/nvrtc.h"
#include <gst/vkgdr/gstvkgdrkernel.h>

#include "memory/memory-private.h"
#include "kernel/program.h"
#include "kernel/source.h"

#define KERNEL_HEADER_RESOURCE "/org/gst-vkgdr/kernel.h"

/* To be changed when the same source and options come to mean another image. */
#define COMPILER_FORMAT "gst-vkgdr kernel 2"

#define COMPILER_REMEDY \
  "Install NVIDIA's NVRTC library (VKGDR_NVRTC names it), nvcc or clang, or " \
  "use a compiled kernel (.ptx or .cubin by location=)"

/* One source on its way to an image. */
typedef struct {
  const GstVkgdrCompilerTarget *target;
  const gchar *name;
  const gchar *folder;
  gboolean ptx;
  gboolean has_includes;
  gchar *text;
  GBytes *header;
  GBytes *image;
} CompilerJob;

/* --- which compiler ------------------------------------------------------ */

/* What the compilers are wanted for: is called with one of @nvrtc and @program.
 * A failure with GST_VKGDR_ERROR_NO_DRIVER is the compiler's, and the next one
 * is tried. */
typedef gboolean (*CompilerUse) (const GstVkgdrNvrtc *nvrtc,
    const GstVkgdrProgram *program, gpointer data, GError **error);

typedef struct {
  const GstVkgdrCompilerTarget *target;
  CompilerUse use;
  gpointer data;
  GString *reasons; /* why none of them did so far */
} CompilerSearch;

/* Keeps what the next compiler may do better, and hands on the rest. Takes
 * @reason; returns whether to go on. */
static gboolean
search_goes_on (CompilerSearch *search, GError *reason, GError **error)
{
  if (!g_error_matches (reason, GST_VKGDR_ERROR, GST_VKGDR_ERROR_NO_DRIVER)) {
    g_propagate_error (error, reason);
    return FALSE;
  }
  g_string_append_printf (search->reasons, "%s%s",
      search->reasons->len ? "; " : "", reason->message);
  g_error_free (reason);
  return TRUE;
}

/* As the following: returns whether the search is over, with @done or with
 * @error set. */
static gboolean
search_nvrtc (CompilerSearch *search, gboolean *done, GError **error)
{
  const GstVkgdrCompilerTarget *target = search->target;
  GError *reason = NULL;
  const GstVkgdrNvrtc *nvrtc;

  nvrtc =
      gst_vkgdr_nvrtc_get (target->software, target->driver_version, &reason);
  if (nvrtc && search->use (nvrtc, NULL, search->data, &reason))
    return *done = TRUE;
  return !search_goes_on (search, reason, error);
}

static gboolean
search_program (CompilerSearch *search, const GstVkgdrProgram *program,
    gboolean *done, GError **error)
{
  GError *reason = NULL;

  if (search->use (NULL, program, search->data, &reason))
    return *done = TRUE;
  return !search_goes_on (search, reason, error);
}

static gboolean
search_programs (CompilerSearch *search, GstVkgdrProgramKind kind,
    gboolean *done, GError **error)
{
  GPtrArray *list = gst_vkgdr_program_list (kind);
  gboolean over = FALSE;
  guint i;

  if (list->len == 0)
    search_goes_on (search,
        g_error_new_literal (GST_VKGDR_ERROR, GST_VKGDR_ERROR_NO_DRIVER,
            kind == GST_VKGDR_PROGRAM_NVCC ? "nvcc was not found"
                                           : "clang was not found"),
        NULL);
  for (i = 0; i < list->len && !over; i++)
    over = search_program (search, list->pdata[i], done, error);
  g_ptr_array_unref (list);
  return over;
}

static gboolean
search_named (
    CompilerSearch *search, const gchar *name, gboolean *done, GError **error)
{
  GError *reason = NULL;
  GstVkgdrProgram *program = gst_vkgdr_program_new (name, &reason);
  gboolean over;

  if (!program)
    return !search_goes_on (search, reason, error);
  over = search_program (search, program, done, error);
  gst_vkgdr_program_free (program);
  return over;
}

/* What VKGDR_COMPILER says; the software device has a compiler of its own. */
static gboolean
search_run (CompilerSearch *search, gboolean *done, GError **error)
{
  const gchar *wish = g_getenv ("VKGDR_COMPILER");
  gboolean is_auto = !wish || !*wish || g_str_equal (wish, "auto");

  if (search->target->software || g_strcmp0 (wish, "nvrtc") == 0)
    return search_nvrtc (search, done, error);
  if (is_auto)
    return search_nvrtc (search, done, error)
           || search_programs (search, GST_VKGDR_PROGRAM_NVCC, done, error)
           || search_programs (search, GST_VKGDR_PROGRAM_CLANG, done, error);
  if (g_str_equal (wish, "nvcc"))
    return search_programs (search, GST_VKGDR_PROGRAM_NVCC, done, error);
  if (g_str_equal (wish, "clang"))
    return search_programs (search, GST_VKGDR_PROGRAM_CLANG, done, error);
  if (g_str_equal (wish, "none")) {
    g_string_append (search->reasons, "VKGDR_COMPILER=none forbids it");
    return FALSE;
  }
  return search_named (search, wish, done, error);
}

/* Has one compiler after the other tried, until one does. */
static gboolean
compiler_search (const GstVkgdrCompilerTarget *target, CompilerUse use,
    gpointer data, GError **error)
{
  CompilerSearch search = { target, use, data, g_string_new (NULL) };
  gboolean done = FALSE;

  if (!search_run (&search, &done, error)) {
    if (target->software)
      g_set_error_literal (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_NO_DRIVER,
          search.reasons->str);
    else
      g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_NO_DRIVER,
          "CUDA sources cannot be compiled: %s. " COMPILER_REMEDY,
          search.reasons->str);
  }
  g_string_free (search.reasons, TRUE);
  return done;
}

/* --- NVRTC --------------------------------------------------------------- */

static void
compiler_add_folder (
    GPtrArray *options, const gchar *folder, const gchar *child)
{
  gchar *path;

  if (!folder || !*folder)
    return;
  path = g_build_filename (folder, child, NULL);
  if (g_file_test (path, G_FILE_TEST_IS_DIR))
    g_ptr_array_add (options, g_strconcat ("--include-path=", path, NULL));
  g_free (path);
}

static GPtrArray *
compiler_make_options (gint arch, gboolean cubin, gboolean software,
    gboolean has_includes, const gchar *folder)
{
  GPtrArray *options = g_ptr_array_new_with_free_func (g_free);

  g_ptr_array_add (options, g_strdup_printf ("--gpu-architecture=%s_%d",
                                cubin ? "sm" : "compute", arch));
  g_ptr_array_add (options, g_strdup ("--std=c++17"));
  /* A helper function of a kernel needs no __device__. */
  g_ptr_array_add (options, g_strdup ("--device-as-default-execution-space"));
  if (has_includes) {
    compiler_add_folder (options, folder, "");
    if (!software) {
      compiler_add_folder (options, g_getenv ("CUDA_HOME"), "include");
      compiler_add_folder (options, g_getenv ("CUDA_PATH"), "include");
      compiler_add_folder (options, "/usr/local/cuda", "include");
    }
  }
  g_ptr_array_add (options, NULL);
  return options;
}

static const gchar *
job_get_header (const CompilerJob *job)
{
  /* The data of a resource ends with a zero byte that its size leaves out. */
  return g_bytes_get_data (job->header, NULL);
}

/* Takes @compiler. NULL where the image must not be kept: what a header holds
 * may change without the source. */
static gchar *
job_make_key (const CompilerJob *job, gchar *compiler, const gchar *options)
{
  gchar *key = NULL;

  if (!job->has_includes)
    key = g_strjoin ("\n", COMPILER_FORMAT, compiler, options,
        job_get_header (job), job->text, NULL);
  g_free (compiler);
  return key;
}

static gboolean
job_use_nvrtc (CompilerJob *job, const GstVkgdrNvrtc *nvrtc, GError **error)
{
  const GstVkgdrCompilerTarget *target = job->target;
  gint arch = gst_vkgdr_nvrtc_choose_arch (nvrtc, target->capability);
  const gchar *headers[] = { job_get_header (job), NULL };
  const gchar *include_names[] = { GST_VKGDR_SOURCE_HEADER, NULL };
  GPtrArray *options;
  gboolean cubin;
  gchar *joined, *key;

  if (arch == 0) {
    g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_NO_DRIVER,
        "The installed NVRTC no longer compiles for the device's compute "
        "capability %d.%d, an older one would",
        target->capability / 10, target->capability % 10);
    return FALSE;
  }
  cubin = !job->ptx && arch == target->capability
          && gst_vkgdr_nvrtc_has_cubin (nvrtc);
  options = compiler_make_options (
      arch, cubin, target->software, job->has_includes, job->folder);
  joined = g_strjoinv (" ", (gchar **) options->pdata);
  key = job_make_key (job, gst_vkgdr_nvrtc_identify (nvrtc), joined);
  job->image = key ? gst_vkgdr_cache_lookup (key) : NULL;
  if (!job->image) {
    job->image = gst_vkgdr_nvrtc_compile (nvrtc, job->text, job->name, headers,
        include_names, (const gchar *const *) options->pdata, cubin, error);
    if (job->image && key)
      gst_vkgdr_cache_store (key, job->image);
  }
  g_free (key);
  g_free (joined);
  g_ptr_array_unref (options);
  return job->image != NULL;
}

/* --- nvcc and clang ------------------------------------------------------ */

static gboolean
job_use_program (
    CompilerJob *job, const GstVkgdrProgram *program, GError **error)
{
  const GstVkgdrProgramInput input = { job->text, job->name,
    job_get_header (job), job->has_includes ? job->folder : NULL,
    job->target->capability, job->ptx };
  gchar *options =
      g_strdup_printf ("%d%s", job->target->capability, job->ptx ? " ptx" : "");
  gchar *key =
      job_make_key (job, gst_vkgdr_program_identify (program), options);

  job->image = key ? gst_vkgdr_cache_lookup (key) : NULL;
  if (!job->image) {
    job->image = gst_vkgdr_program_compile (program, &input, NULL, error);
    if (job->image && key)
      gst_vkgdr_cache_store (key, job->image);
  }
  g_free (key);
  g_free (options);
  return job->image != NULL;
}

/* --- compiling ----------------------------------------------------------- */

static gboolean
job_use (const GstVkgdrNvrtc *nvrtc, const GstVkgdrProgram *program,
    gpointer data, GError **error)
{
  return nvrtc ? job_use_nvrtc (data, nvrtc, error)
               : job_use_program (data, program, error);
}

GBytes *
gst_vkgdr_compiler_run (const GstVkgdrCompilerTarget *target,
    const gchar *source, const gchar *name, const gchar *folder, gboolean ptx,
    GError **error)
{
  CompilerJob job = { target, name, folder, ptx };

  job.header = g_resources_lookup_data (
      KERNEL_HEADER_RESOURCE, G_RESOURCE_LOOKUP_FLAGS_NONE, error);
  if (!job.header)
    return NULL;
  job.has_includes = gst_vkgdr_source_has_includes (source);
  job.text = gst_vkgdr_source_make_text (source, name);
  compiler_search (target, job_use, &job, error);
  g_free (job.text);
  g_bytes_unref (job.header);
  return job.image;
}

typedef struct {
  const GstVkgdrCompilerTarget *target;
  gchar *text;
} CompilerDescription;

static gboolean
describe_use (const GstVkgdrNvrtc *nvrtc, const GstVkgdrProgram *program,
    gpointer data, GError **error)
{
  CompilerDescription *description = data;

  if (!nvrtc
      && !gst_vkgdr_program_check (
          program, description->target->capability, error))
    return FALSE;
  description->text = nvrtc ? gst_vkgdr_nvrtc_describe (nvrtc)
                            : gst_vkgdr_program_describe (program);
  return TRUE;
}

gchar *
gst_vkgdr_compiler_describe (
    const GstVkgdrCompilerTarget *target, GError **error)
{
  CompilerDescription description = { target, NULL };

  compiler_search (target, describe_use, &description, error);
  return description.text;
}

/* --- the device ---------------------------------------------------------- */

gint
gst_vkgdr_compiler_get_capability (GstVkgdrContext *context)
{
  const vkgdr_cuda *cuda = gst_vkgdr_context_get_driver (context);
  CUdevice device = 0;
  int major = 0, minor = 0;

  if (cuda->cuCtxGetDevice (&device) != CUDA_SUCCESS
      || cuda->cuDeviceGetAttribute (
             &major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device)
             != CUDA_SUCCESS
      || cuda->cuDeviceGetAttribute (
             &minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device)
             != CUDA_SUCCESS)
    return 0;
  return 10 * major + minor;
}

static gboolean
compiler_get_target (
    GstVkgdrContext *context, GstVkgdrCompilerTarget *target, GError **error)
{
  int version = 0;

  if (!gst_vkgdr_context_push (context, error))
    return FALSE;
  gst_vkgdr_context_get_driver (context)->cuDriverGetVersion (&version);
  target->capability = gst_vkgdr_compiler_get_capability (context);
  gst_vkgdr_context_pop (context);
  target->driver_version = version;
  target->software = gst_vkgdr_context_is_software (context);
  if (target->capability == 0)
    g_set_error_literal (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_FAILED,
        "The device does not tell its compute capability");
  return target->capability != 0;
}

GBytes *
gst_vkgdr_compile (GstVkgdrContext *context, const gchar *source,
    const gchar *name, const gchar *folder, gboolean ptx, GError **error)
{
  GstVkgdrCompilerTarget target;

  if (!compiler_get_target (context, &target, error))
    return NULL;
  return gst_vkgdr_compiler_run (&target, source, name, folder, ptx, error);
}

/**
 * gst_vkgdr_kernel_describe_compiler:
 * @context: a context
 * @error: return location for a #GError
 *
 * Tells which compiler makes kernels of sources for this device: "NVRTC 13.0
 * (libnvrtc.so.13)", say, or "nvcc 12.4 (/usr/local/cuda/bin/nvcc)". The text
 * is for people; its form may change.
 *
 * Fails with %GST_VKGDR_ERROR_NO_DRIVER, and says what to install, where there
 * is none. Compiled kernels can be run all the same.
 *
 * Thread-safe. May load a library or run a program, and take a moment.
 *
 * Returns: (transfer full) (nullable): the description, or %NULL with @error
 *   set
 *
 * Since: 0.1
 */
gchar *
gst_vkgdr_kernel_describe_compiler (GstVkgdrContext *context, GError **error)
{
  GstVkgdrCompilerTarget target;

  g_return_val_if_fail (GST_IS_VKGDR_CONTEXT (context), NULL);

  if (!compiler_get_target (context, &target, error))
    return NULL;
  return gst_vkgdr_compiler_describe (&target, error);
}
