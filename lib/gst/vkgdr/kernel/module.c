/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * kernel/module.c: a loaded image
 *
 * Loads an image with the driver, reports the driver's errors, and lists the
 * functions in the image. Functions are in kernel/function.c.
 */

#include <string.h>

#include "kernel/compiler.h"
#include "kernel/module.h"
#include "kernel/image.h"
#include "kernel/shortage.h"

/**
 * SECTION:gstvkgdrmodule
 * @title: GstVkgdrModule
 * @short_description: loaded CUDA code
 *
 * A #GstVkgdrModule is CUDA code on a device, which was compiled from a source
 * or loaded from a compiled image. A #GstVkgdrFunction is a kernel of it, with
 * any parameters. The caller has to order a launch with other work: it must
 * call gst_vkgdr_memory_begin_access() before it and
 * gst_vkgdr_memory_end_access() after it, for each memory that the kernel uses.
 *
 * Kernels that work on frames are simpler to run as a #GstVkgdrKernel.
 *
 * Modules do not change. All functions may be called from any thread.
 *
 * Since: 0.1
 */

/* Bytes for the driver's log of an image that it refuses. */
#define LOG_SIZE 8192

/* Whether the error was caused by the image, not by the device or the call.
 */
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
  gint capability = gst_vkgdr_context_get_capability (self->context, NULL);
  const vkgdr_cuda *cuda = gst_vkgdr_context_get_driver (self->context);
  const char *name = NULL, *text = NULL;
  gchar *shortage = gst_vkgdr_shortage_explain ();
  gchar *valid = g_utf8_make_valid (log, -1);

  cuda->cuGetErrorName (result, &name);
  cuda->cuGetErrorString (result, &text);
  g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_IMAGE,
      "%s cannot be loaded: %s (%s); the device has compute capability "
      "%d.%d.%s%s%s",
      self->name, name ? name : "unknown CUDA error", text ? text : "no text",
      capability / 10, capability % 10, shortage, *log ? "\n" : "", valid);
  g_free (valid);
  g_free (shortage);
}

gboolean
gst_vkgdr_module_can_load (GstVkgdrContext *context, GError **error)
{
  return gst_vkgdr_health_check_hang (
      gst_vkgdr_context_get_health (context), error);
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
  /* If there are no more file descriptors, the driver only reports that a call
   * of the operating system failed. The message then names what has run out. */
  if (is_image_error (result) || result == CUDA_ERROR_OPERATING_SYSTEM)
    set_image_error (self, result, log, error);
  else
    gst_vkgdr_check (cuda, result, "cuModuleLoadDataEx", error);
  return FALSE;
}

static gboolean
driver_lists_functions (const vkgdr_cuda *cuda)
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

/* Returns NULL if the names are unknown: the driver is old, and the image is
 * not PTX. */
static gchar **
list_entries (GstVkgdrModule *self, const gchar *ptx)
{
  if (driver_lists_functions (gst_vkgdr_context_get_driver (self->context)))
    return list_module_entries (self);
  return ptx ? gst_vkgdr_image_list_ptx_entries (ptx) : NULL;
}

G_DEFINE_TYPE (GstVkgdrModule, gst_vkgdr_module, GST_TYPE_OBJECT)

#define MODULE_IS_LOADED(module) \
  (GST_IS_VKGDR_MODULE (module) && (module)->context != NULL)

typedef struct {
  GstVkgdrContext *context; /* not a reference */
  CUmodule handle;
} Unload;

/* Unloading waits for the device, so a thread of the library does it. */
static void
unload_module (gpointer data)
{
  Unload *unload = data;

  if (gst_vkgdr_context_push (unload->context, NULL)) {
    gst_vkgdr_context_get_driver (unload->context)
        ->cuModuleUnload (unload->handle);
    gst_vkgdr_context_pop (unload->context);
  }
  g_free (unload);
}

static void
gst_vkgdr_module_finalize (GObject *object)
{
  GstVkgdrModule *self = GST_VKGDR_MODULE (object);

  if (self->handle) {
    Unload unload = { self->context, self->handle };

    gst_vkgdr_reclaim (self->context, NULL, unload_module,
        g_memdup2 (&unload, sizeof (unload)));
  }
  gst_clear_object (&self->context);
  g_strfreev (self->names);
  g_free (self->name);
  g_free (self->ptx);

  G_OBJECT_CLASS (gst_vkgdr_module_parent_class)->finalize (object);
}

static void
gst_vkgdr_module_class_init (GstVkgdrModuleClass *klass)
{
  G_OBJECT_CLASS (klass)->finalize = gst_vkgdr_module_finalize;
}

static void
gst_vkgdr_module_init (GstVkgdrModule *self)
{
}

/* Must be called with the context pushed. Loads a copy of @image that ends with
 * the zero byte that PTX text needs, which a GBytes can lack. */
static gboolean
load_bytes (GstVkgdrModule *self, GBytes *image, GError **error)
{
  gsize size = g_bytes_get_size (image);
  gchar *copy = g_malloc0 (size + 1);
  gboolean is_ptx = gst_vkgdr_image_get_kind (image) == GST_VKGDR_IMAGE_PTX;
  gboolean ok;

  if (size > 0)
    memcpy (copy, g_bytes_get_data (image, NULL), size);
  ok = load_image (self, copy, error);
  if (ok)
    self->names = list_entries (self, is_ptx ? copy : NULL);
  if (ok && is_ptx && gst_vkgdr_module_needs_ptx (self->context))
    self->ptx = g_steal_pointer (&copy);
  g_free (copy);
  return ok;
}

gboolean
gst_vkgdr_module_check_image (GBytes *image, const gchar *label, GError **error)
{
  if (gst_vkgdr_image_is_complete (image))
    return TRUE;
  g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_IMAGE,
      "%s cannot be loaded: it is truncated or damaged", label);
  return FALSE;
}

GstVkgdrModule *
gst_vkgdr_module_load (GstVkgdrContext *context, GBytes *image,
    const gchar *label, gboolean *ok, GError **error)
{
  GstVkgdrModule *self = g_object_new (GST_TYPE_VKGDR_MODULE, NULL);

  gst_object_ref_sink (self);
  self->context = gst_object_ref (context);
  self->name = g_strdup (label);
  *ok = load_bytes (self, image, error);
  return self;
}

/**
 * gst_vkgdr_module_new_from_image:
 * @context: a context
 * @image: PTX text, a cubin or a fatbin
 * @label: (nullable): the name of the image in messages
 * @error: return location for a #GError
 *
 * Loads a compiled image, which is copied.
 *
 * Returns: (transfer full) (nullable): the module, or %NULL with @error set to
 *   %GST_VKGDR_ERROR_IMAGE if the image does not fit the device; the message
 *   has the driver's log
 *
 * Since: 0.1
 */
GstVkgdrModule *
gst_vkgdr_module_new_from_image (
    GstVkgdrContext *context, GBytes *image, const gchar *label, GError **error)
{
  GstVkgdrModule *self;
  gboolean ok;

  g_return_val_if_fail (GST_IS_VKGDR_CONTEXT (context), NULL);
  g_return_val_if_fail (image != NULL, NULL);

  if (!label)
    label = "The image";
  if (!gst_vkgdr_module_check_image (image, label, error)
      || !gst_vkgdr_module_can_load (context, error)
      || !gst_vkgdr_context_push (context, error))
    return NULL;
  self = gst_vkgdr_module_load (context, image, label, &ok, error);
  gst_vkgdr_context_pop (context);
  if (!ok)
    gst_clear_object (&self);
  return self;
}

GBytes *
gst_vkgdr_module_compile (GstVkgdrContext *context, const gchar *text,
    const gchar *label, const gchar *folder, GstVkgdrCompileOptions *options,
    GError **error)
{
  GstVkgdrCompilerInput input = { text, label, folder, options, FALSE };

  if (!gst_vkgdr_context_check_usable (context, error))
    return NULL;
  input.ptx = gst_vkgdr_module_needs_ptx (context);
  return gst_vkgdr_compile (context, &input, error);
}

GBytes *
gst_vkgdr_module_read (GstVkgdrContext *context, const gchar *path,
    const gchar *name, GstVkgdrCompileOptions *options, gchar **text,
    GError **error)
{
  GBytes *content = gst_vkgdr_image_read (path, error), *image;
  gchar *folder;

  *text = NULL;
  if (!content || !gst_vkgdr_image_check_kind (content, name, error)) {
    g_clear_pointer (&content, g_bytes_unref);
    return NULL;
  }
  if (gst_vkgdr_image_get_kind (content) != GST_VKGDR_IMAGE_SOURCE)
    return content;
  folder = g_path_get_dirname (path);
  *text =
      g_strndup (g_bytes_get_data (content, NULL), g_bytes_get_size (content));
  image =
      gst_vkgdr_module_compile (context, *text, name, folder, options, error);
  g_free (folder);
  g_bytes_unref (content);
  return image;
}

/**
 * gst_vkgdr_module_new_from_source:
 * @context: a context
 * @source: CUDA C++ source, of 8 MiB at most
 * @label: (nullable): the name of the source in messages
 * @error: return location for a #GError
 *
 * Compiles a source in the same way as gst_vkgdr_kernel_new_from_source(): the
 * compiled image is kept on disk, `vkgdr/kernel.h` is included, and functions
 * have C linkage unless the source has templates, headers, `extern "C"` or
 * `#pragma vkgdr no-extern-c`.
 *
 * Returns: (transfer full) (nullable): the module, or %NULL with @error set:
 *   %GST_VKGDR_ERROR_COMPILE with the compiler's log,
 *   %GST_VKGDR_ERROR_NO_DRIVER if there is no compiler,
 *   %GST_VKGDR_ERROR_ARGUMENT if the source is too long,
 *   %GST_VKGDR_ERROR_NOT_FOUND if it includes something that is not a regular
 *   file, or an error of gst_vkgdr_module_new_from_image()
 *
 * Since: 0.1
 */
GstVkgdrModule *
gst_vkgdr_module_new_from_source (GstVkgdrContext *context, const gchar *source,
    const gchar *label, GError **error)
{
  GstVkgdrModule *self;
  GBytes *image;

  g_return_val_if_fail (GST_IS_VKGDR_CONTEXT (context), NULL);
  g_return_val_if_fail (source != NULL, NULL);

  if (!label)
    label = "The source";
  image = gst_vkgdr_module_compile (context, source, label, NULL, NULL, error);
  if (!image)
    return NULL;
  self = gst_vkgdr_module_new_from_image (context, image, label, error);
  g_bytes_unref (image);
  return self;
}

gboolean
gst_vkgdr_module_needs_ptx (GstVkgdrContext *context)
{
  const vkgdr_cuda *cuda = gst_vkgdr_context_get_driver (context);

  return !driver_lists_functions (cuda) || !cuda->cuFuncGetParamInfo;
}
