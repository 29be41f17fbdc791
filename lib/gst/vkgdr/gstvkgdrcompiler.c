/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * gstvkgdrcompiler.c: CUDA C in, an image for the device out
 *
 * Puts vkgdr/kernel.h in front of a source, decides on linkage, architecture
 * and options, and asks the cache before the compiler. Knows nothing of
 * modules, entries and parameters.
 */

#include <string.h>

#include <gio/gio.h>

#include "gstvkgdrcache.h"
#include "gstvkgdrcompiler.h"
#include "gstvkgdrnvrtc.h"
#include "gstvkgdrprivate.h"

#define KERNEL_HEADER_NAME "vkgdr/kernel.h"
#define KERNEL_HEADER_RESOURCE "/org/gst-vkgdr/kernel.h"

/* To be changed when the same source and options come to mean another image. */
#define COMPILER_FORMAT "gst-vkgdr kernel 1"

/* The source without its comments, and without what stands in its strings,
 * except for the C of extern "C": what is left is looked at, never compiled. */
static gchar *
compiler_strip (const gchar *source)
{
  GString *out = g_string_sized_new (strlen (source));
  const gchar *p = source, *end;

  while (*p) {
    if (p[0] == '/' && p[1] == '/') {
      p += strcspn (p, "\n");
    } else if (p[0] == '/' && p[1] == '*') {
      end = strstr (p + 2, "*/");
      g_string_append_c (out, ' ');
      p = end ? end + 2 : p + strlen (p);
    } else if (g_str_has_prefix (p, "\"C\"")) {
      g_string_append (out, "\"C\"");
      p += 3;
    } else if (*p == '"' || *p == '\'') {
      gchar quote = *p++;

      while (*p && *p != quote && *p != '\n')
        p += p[0] == '\\' && p[1] ? 2 : 1;
      if (*p)
        p++;
      g_string_append (out, quote == '"' ? "\"\"" : "''");
    } else {
      g_string_append_c (out, *p++);
    }
  }
  return g_string_free (out, FALSE);
}

static gboolean
compiler_find (const gchar *text, const gchar *pattern)
{
  return g_regex_match_simple (pattern, text, G_REGEX_MULTILINE, 0);
}

static gboolean
compiler_has_includes (const gchar *stripped)
{
  return compiler_find (stripped, "^\\s*#\\s*include\\b");
}

/* Neither templates nor headers bear extern "C" around them. */
static gboolean
compiler_wants_extern_c (const gchar *stripped)
{
  return !compiler_has_includes (stripped)
         && !compiler_find (stripped, "\\btemplate\\b")
         && !compiler_find (stripped, "\\bextern\\s*\"C\"")
         && !compiler_find (
             stripped, "^\\s*#\\s*pragma\\s+vkgdr\\s+no-extern-c\\b");
}

/* Line numbers in messages are those of @source. */
static gchar *
compiler_make_text (
    const gchar *source, const gchar *stripped, const gchar *name)
{
  gboolean wrap = compiler_wants_extern_c (stripped);
  gchar *escaped = g_strescape (name, NULL);
  gchar *text = g_strdup_printf ("#include \"" KERNEL_HEADER_NAME "\"\n"
                                 "%s#line 1 \"%s\"\n%s\n%s",
      wrap ? "extern \"C\" {\n" : "", escaped, source, wrap ? "}\n" : "");

  g_free (escaped);
  return text;
}

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

static gchar *
compiler_make_key (const GstVkgdrNvrtc *nvrtc, const gchar *text,
    const gchar *header, const gchar *const *options)
{
  gchar *compiler = gst_vkgdr_nvrtc_identify (nvrtc);
  gchar *joined = g_strjoinv (" ", (gchar **) options);
  gchar *key =
      g_strjoin ("\n", COMPILER_FORMAT, compiler, joined, header, text, NULL);

  g_free (joined);
  g_free (compiler);
  return key;
}

/* @key is NULL where the image must not be kept. */
static GBytes *
compiler_run (const GstVkgdrNvrtc *nvrtc, const gchar *key, const gchar *text,
    const gchar *name, const gchar *header, const gchar *const *options,
    gboolean cubin, GError **error)
{
  const gchar *headers[] = { header, NULL };
  const gchar *include_names[] = { KERNEL_HEADER_NAME, NULL };
  GBytes *image = key ? gst_vkgdr_cache_lookup (key) : NULL;

  if (image)
    return image;
  image = gst_vkgdr_nvrtc_compile (
      nvrtc, text, name, headers, include_names, options, cubin, error);
  if (image && key)
    gst_vkgdr_cache_store (key, image);
  return image;
}

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

static gint
compiler_get_capability (GstVkgdrContext *context, GError **error)
{
  gint capability;

  if (!gst_vkgdr_context_push (context, error))
    return 0;
  capability = gst_vkgdr_compiler_get_capability (context);
  gst_vkgdr_context_pop (context);
  if (capability == 0)
    g_set_error_literal (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_FAILED,
        "The device does not tell its compute capability");
  return capability;
}

GBytes *
gst_vkgdr_compile (GstVkgdrContext *context, const gchar *source,
    const gchar *name, const gchar *folder, gboolean ptx, GError **error)
{
  gboolean software = gst_vkgdr_context_is_software (context), cubin, includes;
  const GstVkgdrNvrtc *nvrtc;
  GPtrArray *options;
  GBytes *header, *image;
  gchar *stripped, *text, *key = NULL;
  gint capability, arch;
  int driver_version = 0;

  gst_vkgdr_context_get_driver (context)->cuDriverGetVersion (&driver_version);
  nvrtc = gst_vkgdr_nvrtc_get (software, driver_version, error);
  if (!nvrtc)
    return NULL;
  capability = compiler_get_capability (context, error);
  if (capability == 0)
    return NULL;
  arch = gst_vkgdr_nvrtc_choose_arch (nvrtc, capability);
  if (arch == 0) {
    g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_NO_DRIVER,
        "The installed NVRTC no longer compiles for the device's compute "
        "capability %d.%d: install an older one, or name it in VKGDR_NVRTC",
        capability / 10, capability % 10);
    return NULL;
  }
  header = g_resources_lookup_data (
      KERNEL_HEADER_RESOURCE, G_RESOURCE_LOOKUP_FLAGS_NONE, error);
  if (!header)
    return NULL;

  cubin = !ptx && arch == capability && gst_vkgdr_nvrtc_has_cubin (nvrtc);
  stripped = compiler_strip (source);
  includes = compiler_has_includes (stripped);
  text = compiler_make_text (source, stripped, name);
  options = compiler_make_options (arch, cubin, software, includes, folder);
  /* What a header holds may change without the source: not kept. */
  if (!includes)
    key = compiler_make_key (nvrtc, text, g_bytes_get_data (header, NULL),
        (const gchar *const *) options->pdata);
  /* The data of a resource ends with a zero byte that its size leaves out. */
  image = compiler_run (nvrtc, key, text, name, g_bytes_get_data (header, NULL),
      (const gchar *const *) options->pdata, cubin, error);

  g_free (key);
  g_ptr_array_unref (options);
  g_free (text);
  g_free (stripped);
  g_bytes_unref (header);
  return image;
}
