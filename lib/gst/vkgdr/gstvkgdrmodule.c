/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * gstvkgdrmodule.c: a loaded image, and the one function of it that is run
 *
 * Hands an image to the driver, reports what that says against it, finds the
 * function and learns its parameters' sizes: from the driver, or where that is
 * too old to tell, from PTX. Knows nothing of what the parameters mean, nor of
 * launches.
 */

#include <string.h>

#include "gstvkgdrcompiler.h"
#include "gstvkgdrimage.h"
#include "gstvkgdrmodule.h"

/* Bytes for the driver's log of an image that it refuses. */
#define LOG_SIZE 8192

/* Results that blame the image rather than the device or the call. */
static gboolean
is_image_error (CUresult result)
{
  return result == CUDA_ERROR_INVALID_IMAGE
         || result == CUDA_ERROR_NO_BINARY_FOR_GPU
         || (result >= CUDA_ERROR_INVALID_PTX && result < 300)
         || result == CUDA_ERROR_INVALID_SOURCE
         || result == CUDA_ERROR_FILE_NOT_FOUND;
}

static void
set_image_error (
    GstVkgdrModule *self, CUresult result, const gchar *log, GError **error)
{
  gint capability = gst_vkgdr_compiler_get_capability (self->context);
  const vkgdr_cuda *cuda = gst_vkgdr_context_get_driver (self->context);
  const char *name = NULL, *text = NULL;

  cuda->cuGetErrorName (result, &name);
  cuda->cuGetErrorString (result, &text);
  g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_IMAGE,
      "%s cannot be loaded: %s (%s); the device has compute capability "
      "%d.%d%s%s",
      self->name, name ? name : "unknown CUDA error", text ? text : "no text",
      capability / 10, capability % 10, *log ? "\n" : "", log);
}

/* @image ends with a zero byte. */
static gboolean
load_image (GstVkgdrModule *self, const gchar *image, GError **error)
{
  const vkgdr_cuda *cuda = gst_vkgdr_context_get_driver (self->context);
  gchar log[LOG_SIZE] = "";
  CUjit_option options[] = { CU_JIT_ERROR_LOG_BUFFER,
    CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES };
  void *values[] = { log, GSIZE_TO_POINTER (sizeof (log) - 1) };
  CUresult result;

  result = cuda->cuModuleLoadDataEx (
      &self->handle, image, G_N_ELEMENTS (options), options, values);
  if (result == CUDA_SUCCESS)
    return TRUE;

  self->handle = NULL;
  g_strchomp (log);
  if (is_image_error (result))
    set_image_error (self, result, log, error);
  else
    gst_vkgdr_check (cuda, result, "cuModuleLoadDataEx", error);
  return FALSE;
}

static gboolean
driver_tells_names (const vkgdr_cuda *cuda)
{
  return cuda->cuModuleGetFunctionCount && cuda->cuModuleEnumerateFunctions
         && cuda->cuFuncGetName;
}

static gchar **
list_module_entries (GstVkgdrModule *self)
{
  const vkgdr_cuda *cuda = gst_vkgdr_context_get_driver (self->context);
  GPtrArray *names = g_ptr_array_new ();
  CUfunction *functions;
  unsigned int i, n = 0;
  const char *name;

  if (cuda->cuModuleGetFunctionCount (&n, self->handle) != CUDA_SUCCESS)
    n = 0;
  functions = g_new0 (CUfunction, n + 1);
  if (n > 0
      && cuda->cuModuleEnumerateFunctions (functions, n, self->handle)
             == CUDA_SUCCESS)
    for (i = 0; i < n; i++)
      if (cuda->cuFuncGetName (&name, functions[i]) == CUDA_SUCCESS && name)
        g_ptr_array_add (names, g_strdup (name));
  g_free (functions);

  g_ptr_array_add (names, NULL);
  return (gchar **) g_ptr_array_free (names, FALSE);
}

/* NULL where there is no telling: an old driver, and no PTX to look into. */
static gchar **
list_entries (GstVkgdrModule *self, const gchar *ptx)
{
  if (driver_tells_names (gst_vkgdr_context_get_driver (self->context)))
    return list_module_entries (self);
  return ptx ? gst_vkgdr_image_list_ptx_entries (ptx) : NULL;
}

/* The one of @names that C++ makes of @entry, or NULL. */
static const gchar *
find_mangled (gchar **names, const gchar *entry)
{
  gchar *prefix =
      g_strdup_printf ("_Z%" G_GSIZE_FORMAT "%s", strlen (entry), entry);
  const gchar *found = NULL;
  guint i, n_found = 0;

  for (i = 0; names && names[i]; i++)
    if (g_str_has_prefix (names[i], prefix)) {
      found = names[i];
      n_found++;
    }
  g_free (prefix);
  return n_found == 1 ? found : NULL;
}

static void
set_no_entry (
    GstVkgdrModule *self, const gchar *entry, gchar **names, GError **error)
{
  gchar *list = names ? g_strjoinv (", ", names) : NULL;

  if (names && !names[0])
    g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_NOT_FOUND,
        "%s has no kernel: no __global__ function", self->name);
  else if (entry)
    g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_NOT_FOUND,
        "%s has no kernel named \"%s\"%s%s", self->name, entry,
        list ? "; it has: " : "", list ? list : "");
  else
    g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_NOT_FOUND,
        "%s %s%s: set entry= to the one to run", self->name,
        list ? "has several kernels: " : "does not tell its kernels",
        list ? list : "");
  g_free (list);
}

static gboolean
find_function (
    GstVkgdrModule *self, const gchar *entry, gchar **names, GError **error)
{
  const vkgdr_cuda *cuda = gst_vkgdr_context_get_driver (self->context);
  CUresult result;

  if (!entry && names && names[0] && !names[1])
    entry = names[0];
  if (!entry) {
    set_no_entry (self, NULL, names, error);
    return FALSE;
  }

  result = cuda->cuModuleGetFunction (&self->function, self->handle, entry);
  if (result == CUDA_ERROR_NOT_FOUND) {
    const gchar *mangled = find_mangled (names, entry);

    if (!mangled) {
      set_no_entry (self, entry, names, error);
      return FALSE;
    }
    entry = mangled;
    result = cuda->cuModuleGetFunction (&self->function, self->handle, entry);
  }
  if (!gst_vkgdr_check (cuda, result, "cuModuleGetFunction", error))
    return FALSE;
  self->entry = g_strdup (entry);
  return TRUE;
}

static void
read_sizes (GstVkgdrModule *self, const gchar *ptx)
{
  const vkgdr_cuda *cuda = gst_vkgdr_context_get_driver (self->context);
  size_t offset, bytes;
  gsize size;

  if (!cuda->cuFuncGetParamInfo) {
    if (ptx)
      self->sizes = gst_vkgdr_image_read_ptx_params (ptx, self->entry);
    return;
  }
  self->sizes = g_array_new (FALSE, FALSE, sizeof (gsize));
  while (cuda->cuFuncGetParamInfo (
             self->function, self->sizes->len, &offset, &bytes)
         == CUDA_SUCCESS) {
    size = bytes;
    g_array_append_val (self->sizes, size);
  }
}

static void
read_max_threads (GstVkgdrModule *self)
{
  const vkgdr_cuda *cuda = gst_vkgdr_context_get_driver (self->context);
  CUresult result;
  int max = 0;

  result = cuda->cuFuncGetAttribute (
      &max, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, self->function);
  if (result == CUDA_SUCCESS && max > 0)
    self->max_threads = max;
}

static void
choose_threads (GstVkgdrModule *self)
{
  const vkgdr_cuda *cuda = gst_vkgdr_context_get_driver (self->context);
  int grid = 0, block = 0;
  CUresult result;

  result = cuda->cuOccupancyMaxPotentialBlockSize (
      &grid, &block, self->function, NULL, 0, GST_VKGDR_MODULE_GOOD_THREADS);
  self->good_threads = result == CUDA_SUCCESS && block > 0
                           ? (guint) block
                           : GST_VKGDR_MODULE_GOOD_THREADS;
  if (self->max_threads > 0)
    self->good_threads = MIN (self->good_threads, self->max_threads);
}

/* With the context pushed. @ptx is NULL unless @image is PTX. */
static gboolean
load (GstVkgdrModule *self, const gchar *image, const gchar *ptx,
    const gchar *entry, GError **error)
{
  gchar **names;
  gboolean found;

  if (!load_image (self, image, error))
    return FALSE;
  names = list_entries (self, ptx);
  found = find_function (self, entry, names, error);
  g_strfreev (names);
  if (!found)
    return FALSE;
  read_sizes (self, ptx);
  read_max_threads (self);
  choose_threads (self);
  return TRUE;
}

/* With the context pushed: gives @image the zero byte that PTX text ends with,
 * since a GBytes need not have one. */
static gboolean
load_bytes (
    GstVkgdrModule *self, GBytes *image, const gchar *entry, GError **error)
{
  gsize size = g_bytes_get_size (image);
  gchar *copy = g_malloc0 (size + 1);
  gboolean ok;

  if (size > 0)
    memcpy (copy, g_bytes_get_data (image, NULL), size);
  ok = load (self, copy,
      gst_vkgdr_image_get_kind (image) == GST_VKGDR_IMAGE_PTX ? copy : NULL,
      entry, error);
  g_free (copy);
  return ok;
}

GstVkgdrModule *
gst_vkgdr_module_load (GstVkgdrContext *context, GBytes *image,
    const gchar *name, const gchar *entry, GError **error)
{
  GstVkgdrModule *self;
  gboolean ok;

  if (!gst_vkgdr_image_is_complete (image)) {
    g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_IMAGE,
        "%s cannot be loaded: it is truncated or damaged", name);
    return NULL;
  }
  if (!gst_vkgdr_context_push_alone (context, error))
    return NULL;
  self = g_new0 (GstVkgdrModule, 1);
  self->context = gst_object_ref (context);
  self->name = g_strdup (name);
  ok = load_bytes (self, image, entry, error);
  gst_vkgdr_context_pop_alone (context);
  if (ok)
    return self;

  gst_vkgdr_module_free (self);
  return NULL;
}

void
gst_vkgdr_module_free (GstVkgdrModule *self)
{
  if (self->handle && gst_vkgdr_context_push_alone (self->context, NULL)) {
    gst_vkgdr_context_get_driver (self->context)->cuModuleUnload (self->handle);
    gst_vkgdr_context_pop_alone (self->context);
  }
  gst_object_unref (self->context);
  g_clear_pointer (&self->sizes, g_array_unref);
  g_free (self->name);
  g_free (self->entry);
  g_free (self);
}

gboolean
gst_vkgdr_module_needs_ptx (GstVkgdrContext *context)
{
  const vkgdr_cuda *cuda = gst_vkgdr_context_get_driver (context);

  return !driver_tells_names (cuda) || !cuda->cuFuncGetParamInfo;
}
