/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * infer/runtime.c: ONNX Runtime, found at run time
 */

#include "infer/runtime.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#define GST_CAT_DEFAULT gst_infer_debug

#define LIBRARY_VARIABLE "VKGDR_ONNXRUNTIME"

/* The oldest API with providers as plug-ins. The number of the API is that of
 * the library's minor version. */
#define API 22
/* The newest minor version whose file is looked for by its full name. */
#define NEWEST 60

#define ADVICE \
  "install libonnxruntime1.23 or a newer package of the distribution, or " \
  "set " LIBRARY_VARIABLE " to the path of libonnxruntime.so"

/* The file of the provider in ONNX Runtime's own archives, and as a plug-in of
 * its own. */
static const gchar *const provider_files[] = {
  "libonnxruntime_providers_cuda.so",
  "libonnxruntime_providers_cuda_plugin.so",
};

static GMutex lock;

/* --- the library --------------------------------------------------------- */

static void
write_log (void *data, OrtLoggingLevel severity, const char *category,
    const char *id, const char *location, const char *message)
{
  GstDebugLevel level = severity >= ORT_LOGGING_LEVEL_ERROR ? GST_LEVEL_WARNING
                        : severity >= ORT_LOGGING_LEVEL_WARNING
                            ? GST_LEVEL_INFO
                            : GST_LEVEL_DEBUG;

  GST_CAT_LEVEL_LOG (
      gst_infer_debug, level, NULL, "ONNX Runtime: %s: %s", location, message);
}

static void *
open_library (GError **error)
{
  const gchar *path = secure_getenv (LIBRARY_VARIABLE);
  void *library = dlopen (path ? path : "libonnxruntime.so.1", RTLD_NOW);
  gchar *reason = g_strdup (library ? NULL : dlerror ());
  guint minor;

  for (minor = NEWEST; !library && !path && minor >= API; minor--) {
    gchar *name = g_strdup_printf ("libonnxruntime.so.1.%u", minor);

    library = dlopen (name, RTLD_NOW);
    g_free (name);
  }
  if (!library)
    g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_NO_DRIVER,
        "ONNX Runtime cannot be loaded: %s. Please " ADVICE, reason);
  g_free (reason);
  return library;
}

/* Must be called before any other call of the library. An API that the library
 * does not have makes it print to stderr. */
static gboolean
check_version (const OrtApiBase *base, GError **error)
{
  const gchar *version = base->GetVersionString ();

  if (g_str_has_prefix (version, "1.") && atoi (version + 2) >= API)
    return TRUE;
  g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_NO_DRIVER,
      "ONNX Runtime %s is too old, it has to be 1.%d or newer: please " ADVICE,
      version, API);
  return FALSE;
}

static gboolean
make_environment (GstOrt *self, GError **error)
{
  const OrtApi *api = self->api;
  OrtThreadingOptions *options = NULL;
  gboolean ok;

  ok = gst_ort_check (self, api->CreateThreadingOptions (&options),
           "CreateThreadingOptions", error)
       && gst_ort_check (self,
           api->SetGlobalIntraOpNumThreads (options, (int) self->threads),
           "SetGlobalIntraOpNumThreads", error)
       && gst_ort_check (self, api->SetGlobalInterOpNumThreads (options, 1),
           "SetGlobalInterOpNumThreads", error)
       && gst_ort_check (self, api->SetGlobalSpinControl (options, 0),
           "SetGlobalSpinControl", error)
       && gst_ort_check (self,
           api->CreateEnvWithCustomLoggerAndGlobalThreadPools (write_log, NULL,
               ORT_LOGGING_LEVEL_WARNING, "vkgdrinfer", options, &self->env),
           "CreateEnvWithCustomLoggerAndGlobalThreadPools", error)
       && gst_ort_check (self,
           api->GetAllocatorWithDefaultOptions (&self->allocator),
           "GetAllocatorWithDefaultOptions", error);
  if (options)
    api->ReleaseThreadingOptions (options);
  if (!ok && self->env)
    api->ReleaseEnv (self->env);
  return ok;
}

static GstOrt *
load (guint threads, GError **error)
{
  void *library = open_library (error);
  const OrtApiBase *(*get_base) (void);
  const OrtApiBase *base;
  Dl_info info = { NULL };
  GstOrt *self;

  if (!library)
    return NULL;
  get_base = dlsym (library, "OrtGetApiBase");
  base = get_base ? get_base () : NULL;
  if (!base) {
    g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_NO_DRIVER,
        "The library is not ONNX Runtime: please " ADVICE);
    dlclose (library);
    return NULL;
  }
  if (!check_version (base, error)) {
    dlclose (library);
    return NULL;
  }
  self = g_new0 (GstOrt, 1);
  self->api = base->GetApi (API);
  self->version = base->GetVersionString ();
  self->threads = threads;
  if (dladdr ((void *) get_base, &info) && info.dli_fname)
    self->folder = g_path_get_dirname (info.dli_fname);
  if (make_environment (self, error))
    return self;
  g_free (self->folder);
  g_free (self);
  return NULL;
}

const GstOrt *
gst_ort_get (guint threads, GError **error)
{
  static GstOrt *loaded;

  g_mutex_lock (&lock);
  if (!loaded) {
    loaded = load (threads, error);
    if (loaded)
      GST_INFO ("ONNX Runtime %s of %s, %u threads", loaded->version,
          loaded->folder, threads);
  } else if (loaded->threads != threads) {
    GST_INFO ("ONNX Runtime has %u threads already, not %u", loaded->threads,
        threads);
  }
  g_mutex_unlock (&lock);
  return loaded;
}

gboolean
gst_ort_check (
    const GstOrt *self, OrtStatus *status, const gchar *what, GError **error)
{
  if (!status)
    return TRUE;
  g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_FAILED,
      "ONNX Runtime %s: %s: %s", self->version, what,
      self->api->GetErrorMessage (status));
  self->api->ReleaseStatus (status);
  return FALSE;
}

/* --- the CUDA provider --------------------------------------------------- */

/* Returns the path of the provider's library, which the caller frees. */
static gchar *
find_provider (const GstOrt *self, const gchar *library)
{
  guint i;

  if (library)
    return g_strdup (library);
  for (i = 0; self->folder && i < G_N_ELEMENTS (provider_files); i++) {
    gchar *path = g_build_filename (self->folder, provider_files[i], NULL);

    if (g_file_test (path, G_FILE_TEST_EXISTS))
      return path;
    g_free (path);
  }
  return NULL;
}

/* "0000:65:00.0" and "00000000:65:00.0" are the same address. */
static gboolean
is_same_address (const gchar *a, const gchar *b)
{
  gchar *rest_a, *rest_b;

  return strtoul (a, &rest_a, 16) == strtoul (b, &rest_b, 16)
         && g_ascii_strcasecmp (rest_a, rest_b) == 0;
}

static gboolean
is_cuda_of (const GstOrt *self, const OrtEpDevice *device, const gchar *address)
{
  const OrtApi *api = self->api;
  gchar *name = g_ascii_strdown (api->EpDevice_EpName (device), -1);
  const OrtKeyValuePairs *metadata =
      api->HardwareDevice_Metadata (api->EpDevice_Device (device));
  const gchar *bus =
      metadata ? api->GetKeyValue (metadata, "pci_bus_id") : NULL;
  gboolean is_cuda = strstr (name, "cuda") != NULL;

  g_free (name);
  return is_cuda && bus && is_same_address (bus, address);
}

/* Registers the library once. Returns FALSE with @error set. */
static gboolean
register_provider (const GstOrt *self, const gchar *path, GError **error)
{
  static GHashTable *registered;
  OrtStatus *status;

  if (!registered)
    registered = g_hash_table_new (g_str_hash, g_str_equal);
  if (g_hash_table_contains (registered, path))
    return TRUE;
  status = self->api->RegisterExecutionProviderLibrary (self->env, path, path);
  if (status) {
    g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_NO_DRIVER,
        "ONNX Runtime's CUDA provider %s cannot be loaded: %s. It needs "
        "cuBLAS, "
        "cuDNN and the CUDA runtime of its own version in the linker's path "
        "(LD_LIBRARY_PATH)",
        path, self->api->GetErrorMessage (status));
    self->api->ReleaseStatus (status);
    return FALSE;
  }
  g_hash_table_add (registered, (gpointer) g_intern_string (path));
  return TRUE;
}

static const OrtEpDevice *
find_device (const GstOrt *self, GstVkgdrContext *context, GError **error)
{
  GstStructure *about = gst_vkgdr_context_describe (context);
  const gchar *address = gst_structure_get_string (about, "pci-address");
  const OrtEpDevice *const *devices = NULL, *found = NULL;
  size_t i, n = 0;

  if (gst_ort_check (self, self->api->GetEpDevices (self->env, &devices, &n),
          "GetEpDevices", error)) {
    for (i = 0; i < n && !found; i++)
      if (is_cuda_of (self, devices[i], address))
        found = devices[i];
    if (!found)
      g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_NO_DEVICE,
          "ONNX Runtime's CUDA provider does not have the device %d (%s at "
          "%s): set device to another one, or execution-provider=cpu",
          gst_vkgdr_context_get_device (context),
          gst_structure_get_string (about, "name"), address);
  }
  gst_structure_free (about);
  return found;
}

const OrtEpDevice *
gst_ort_find_cuda (const GstOrt *self, GstVkgdrContext *context,
    const gchar *library, GError **error)
{
  gchar *path = find_provider (self, library);
  const OrtEpDevice *device = NULL;

  if (!path) {
    g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_NO_DRIVER,
        "ONNX Runtime's CUDA provider is not in %s: pip install "
        "onnxruntime-ep-cuda13, and set provider-library to its "
        "libonnxruntime_providers_cuda_plugin.so",
        self->folder);
    return NULL;
  }
  g_mutex_lock (&lock);
  if (register_provider (self, path, error))
    device = find_device (self, context, error);
  g_mutex_unlock (&lock);
  g_free (path);
  return device;
}
