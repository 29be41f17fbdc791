/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * kernel/compiler.c: compiles CUDA C to an image for the device
 *
 * Looks up the source in the cache first. Determines the architecture and the
 * options for NVRTC. Knows nothing of modules, entries and parameters.
 */

#include <string.h>

#include <gio/gio.h>

#include "kernel/cache.h"
#include "kernel/compiler.h"
#include "kernel/includes.h"
#include "kernel/nvrtc.h"
#include <gst/vkgdr/gstvkgdrkernel.h>

#include "memory/memory-private.h"
#include "kernel/options.h"
#include "kernel/source.h"
#include "nvcc.h"

#define KERNEL_HEADER_RESOURCE "/org/gst-vkgdr/kernel.h"

/* A part of each key of the cache. Must be changed when this library compiles
 * the same source and options to another image than before. */
#define COMPILER_FORMAT "gst-vkgdr kernel 4"

/* The compilation of one source. */
typedef struct {
  const GstVkgdrCompilerTarget *target;
  const GstVkgdrCompilerInput *input;
  const GstVkgdrNvrtc *nvrtc;
  GstVkgdrSource *source;
  GPtrArray *folders; /* folders of headers, NULL-terminated */
  gchar *digest; /* of all included files; NULL if not all are known, so that
                  * the image must not be kept */
  gchar *text;
  GBytes *header;
  GPtrArray *names, *headers; /* the headers of the library */
  GBytes *image;
} CompilerJob;

/* --- the compiler --------------------------------------------------------- */

/* Returns the compiler for @target, and sets @arch to the newest architecture
 * that it supports and that the device can run. Returns NULL with @error set on
 * failure. */
static const GstVkgdrNvrtc *
get_compiler (const GstVkgdrCompilerTarget *target, gint *arch, GError **error)
{
  gint capability = target->capability;
  const GstVkgdrNvrtc *nvrtc =
      gst_vkgdr_nvrtc_get (target->software, target->driver_version, error);

  if (!nvrtc)
    return NULL;
  *arch = gst_vkgdr_nvrtc_choose_arch (nvrtc, capability);
  if (*arch != 0)
    return nvrtc;
  g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_NO_DRIVER,
      "CUDA sources cannot be compiled: the installed NVRTC no longer supports "
      "the device's compute capability %d.%d. Install an older NVRTC, and set "
      "VKGDR_NVRTC to its library",
      capability / 10, capability % 10);
  return NULL;
}

/* The headers are static, or belong to job->header. */
static void
job_list_headers (CompilerJob *job)
{
  const vkgdr_nvcc_header *header;

  job->names = g_ptr_array_new ();
  job->headers = g_ptr_array_new ();
  g_ptr_array_add (job->names, (gpointer) GST_VKGDR_SOURCE_HEADER);
  /* The data of a resource ends with a zero byte, which does not count in its
   * size. */
  g_ptr_array_add (
      job->headers, (gpointer) g_bytes_get_data (job->header, NULL));
  for (header = vkgdr_nvcc_get_headers (); header->name; header++) {
    g_ptr_array_add (job->names, (gpointer) header->name);
    g_ptr_array_add (job->headers, (gpointer) header->text);
  }
  g_ptr_array_add (job->names, NULL);
  g_ptr_array_add (job->headers, NULL);
}

/* --- the cache ----------------------------------------------------------- */

/* Takes ownership of @compiler and @options. Returns NULL if the image must not
 * be kept. */
static gchar *
job_make_key (const CompilerJob *job, gchar *compiler, gchar *options)
{
  gchar *key = NULL, *headers;

  if (job->digest) {
    headers = g_strjoinv ("\n", (gchar **) job->headers->pdata);
    key = g_strjoin ("\n", COMPILER_FORMAT, compiler, options, job->digest,
        headers, job->text, NULL);
    g_free (headers);
  }
  g_free (compiler);
  g_free (options);
  return key;
}

/* The folders of headers, in the order in which the compiler searches them.
 * @nvrtc is NULL if those of CUDA are not wanted. */
static GPtrArray *
job_list_folders (
    const GstVkgdrCompilerInput *input, const GstVkgdrNvrtc *nvrtc)
{
  GPtrArray *folders = g_ptr_array_new_with_free_func (g_free);
  gchar **cuda = nvrtc ? gst_vkgdr_nvrtc_find_folders (nvrtc) : NULL;
  guint i;

  if (input->folder && *input->folder)
    g_ptr_array_add (folders, g_strdup (input->folder));
  gst_vkgdr_options_append_folders (input->options, folders);
  for (i = 0; cuda && cuda[i]; i++)
    g_ptr_array_add (folders, g_strdup (cuda[i]));
  vkgdr_nvcc_free (cuda);
  g_ptr_array_add (folders, NULL);
  return folders;
}

/* Returns the source with the headers that the options put in front of it. */
static gchar *
job_get_source_text (const GstVkgdrCompilerInput *input)
{
  const gchar *includes = gst_vkgdr_options_get_includes (input->options);
  gchar *name, *text;

  if (!*includes)
    return g_strdup (input->text);
  name = g_strescape (input->name, NULL);
  text = g_strdup_printf ("%s#line 1 \"%s\"\n%s", includes, name, input->text);
  g_free (name);
  return text;
}

/* Reads all included files. */
static gboolean
job_read_includes (CompilerJob *job, gchar **digest, GError **error)
{
  GstVkgdrIncludes *includes;

  includes = gst_vkgdr_includes_find (job->source, job->input->folder,
      (const gchar *const *) job->folders->pdata, error);
  *digest = NULL;
  if (!includes)
    return FALSE;
  if (!includes->is_unknown)
    *digest = g_strdup (includes->digest->str);
  gst_vkgdr_includes_free (includes);
  return TRUE;
}

/* Stores the image, unless a file was changed during the compilation. */
static void
job_store (CompilerJob *job, const gchar *key)
{
  gchar *digest;

  if (!job->image || !key)
    return;
  if (job_read_includes (job, &digest, NULL)
      && g_strcmp0 (digest, job->digest) == 0)
    gst_vkgdr_cache_store (key, job->image);
  g_free (digest);
}

/* --- NVRTC --------------------------------------------------------------- */

static GPtrArray *
job_make_nvrtc_options (const CompilerJob *job, gint arch, gboolean cubin)
{
  GPtrArray *options = g_ptr_array_new_with_free_func (g_free);
  const gchar *const *own = gst_vkgdr_nvrtc_get_options (job->nvrtc);
  guint i;

  g_ptr_array_add (options, g_strdup_printf ("--gpu-architecture=%s_%d",
                                cubin ? "sm" : "compute", arch));
  if (!gst_vkgdr_options_has_standard (job->input->options))
    g_ptr_array_add (options, g_strdup ("--std=c++17"));
  for (; *own; own++)
    g_ptr_array_add (options, g_strdup (*own));
  gst_vkgdr_options_append (job->input->options, options);
  if (gst_vkgdr_source_has_includes (job->source))
    for (i = 0; job->folders->pdata[i]; i++)
      if (g_file_test (job->folders->pdata[i], G_FILE_TEST_IS_DIR))
        g_ptr_array_add (options,
            g_strconcat ("--include-path=", job->folders->pdata[i], NULL));
  g_ptr_array_add (options, NULL);
  return options;
}

static void
job_use_nvrtc (CompilerJob *job, gint arch, GError **error)
{
  const GstVkgdrNvrtc *nvrtc = job->nvrtc;
  gboolean cubin = !job->input->ptx && arch == job->target->capability
                   && gst_vkgdr_nvrtc_has_cubin (nvrtc);
  GPtrArray *options = job_make_nvrtc_options (job, arch, cubin);
  gchar *key = job_make_key (job, gst_vkgdr_nvrtc_identify (nvrtc),
      g_strjoinv ("\n", (gchar **) options->pdata));

  job->image = key ? gst_vkgdr_cache_lookup (key) : NULL;
  if (!job->image) {
    job->image = gst_vkgdr_nvrtc_compile (nvrtc, job->text, job->input->name,
        (const gchar *const *) job->headers->pdata,
        (const gchar *const *) job->names->pdata,
        (const gchar *const *) options->pdata, cubin, error);
    job_store (job, key);
  }
  g_free (key);
  g_ptr_array_unref (options);
}

/* --- compiling ----------------------------------------------------------- */

static void
job_clear (CompilerJob *job)
{
  g_clear_pointer (&job->folders, g_ptr_array_unref);
  g_clear_pointer (&job->source, gst_vkgdr_source_free);
  g_clear_pointer (&job->header, g_bytes_unref);
  g_clear_pointer (&job->names, g_ptr_array_unref);
  g_clear_pointer (&job->headers, g_ptr_array_unref);
  g_free (job->digest);
  g_free (job->text);
}

static gboolean
job_prepare (CompilerJob *job, GError **error)
{
  const GstVkgdrCompilerInput *input = job->input;
  gchar *text;

  if (strlen (input->text) > GST_VKGDR_COMPILER_MAX_SOURCE) {
    g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_ARGUMENT,
        "%s has %" G_GSIZE_FORMAT " bytes; a source may have %d at most",
        input->name, strlen (input->text), GST_VKGDR_COMPILER_MAX_SOURCE);
    return FALSE;
  }
  job->header = g_resources_lookup_data (
      KERNEL_HEADER_RESOURCE, G_RESOURCE_LOOKUP_FLAGS_NONE, error);
  if (!job->header)
    return FALSE;
  job_list_headers (job);
  text = job_get_source_text (input);
  job->source = gst_vkgdr_source_scan (text);
  job->text = gst_vkgdr_source_make_text (job->source, input->name);
  g_free (text);
  job->folders =
      job_list_folders (input, job->target->software ? NULL : job->nvrtc);
  return job_read_includes (job, &job->digest, error);
}

GBytes *
gst_vkgdr_compiler_run (const GstVkgdrCompilerTarget *target,
    const GstVkgdrCompilerInput *input, GError **error)
{
  CompilerJob job = { target, input };
  gint arch;

  job.nvrtc = get_compiler (target, &arch, error);
  if (job.nvrtc && job_prepare (&job, error))
    job_use_nvrtc (&job, arch, error);
  job_clear (&job);
  return job.image;
}

gchar **
gst_vkgdr_compiler_list_includes (
    const GstVkgdrCompilerInput *input, GError **error)
{
  GPtrArray *folders = job_list_folders (input, NULL);
  gchar *text = job_get_source_text (input);
  GstVkgdrSource *source = gst_vkgdr_source_scan (text);
  GstVkgdrIncludes *includes;
  GPtrArray *paths;
  guint i;

  includes = gst_vkgdr_includes_find (
      source, input->folder, (const gchar *const *) folders->pdata, error);
  gst_vkgdr_source_free (source);
  g_ptr_array_unref (folders);
  g_free (text);
  if (!includes)
    return NULL;
  paths = g_ptr_array_new ();
  for (i = 0; i < includes->paths->len; i++)
    g_ptr_array_add (paths, g_strdup (includes->paths->pdata[i]));
  g_ptr_array_add (paths, NULL);
  gst_vkgdr_includes_free (includes);
  return (gchar **) g_ptr_array_free (paths, FALSE);
}

gchar *
gst_vkgdr_compiler_describe (
    const GstVkgdrCompilerTarget *target, GError **error)
{
  gint arch;
  const GstVkgdrNvrtc *nvrtc = get_compiler (target, &arch, error);

  return nvrtc ? gst_vkgdr_nvrtc_describe (nvrtc) : NULL;
}

/* --- the device ---------------------------------------------------------- */

static gboolean
compiler_get_target (
    GstVkgdrContext *context, GstVkgdrCompilerTarget *target, GError **error)
{
  int version = 0;

  if (!gst_vkgdr_context_push (context, error))
    return FALSE;
  gst_vkgdr_context_get_driver (context)->cuDriverGetVersion (&version);
  target->capability = gst_vkgdr_context_get_capability (context, error);
  gst_vkgdr_context_pop (context);
  target->driver_version = version;
  target->software = gst_vkgdr_context_is_software (context);
  return target->capability != 0;
}

GBytes *
gst_vkgdr_compile (GstVkgdrContext *context, const GstVkgdrCompilerInput *input,
    GError **error)
{
  GstVkgdrCompilerTarget target;

  if (!compiler_get_target (context, &target, error))
    return NULL;
  return gst_vkgdr_compiler_run (&target, input, error);
}

/**
 * gst_vkgdr_kernel_describe_compiler:
 * @context: a context
 * @error: return location for a #GError
 *
 * Describes the compiler of kernels for this device, for example "NVRTC 13.0
 * (libnvrtc.so.13)". The text is not meant for programs; its form may change.
 *
 * Fails with %GST_VKGDR_ERROR_NO_DRIVER if there is no compiler. The message
 * says what to install. Compiled kernels can be run without a compiler.
 *
 * Thread-safe. May load a library, which takes time.
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
