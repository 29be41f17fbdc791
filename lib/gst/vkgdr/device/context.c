/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * device/context.c: a CUDA context and the libvkgdr handle of its device
 *
 * The only file of this library that opens devices. Knows nothing of elements;
 * device/sharing.c finds the context of an element.
 */

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "device/device-private.h"

/**
 * SECTION:gstvkgdrcontext
 * @title: GstVkgdrContext
 * @short_description: a device: CUDA context and window
 *
 * A #GstVkgdrContext is a device on which memory is allocated and kernels run.
 * It uses the device's primary CUDA context, so that its pointers can be
 * exchanged with PyTorch, CuPy, cuda.core and the CUDA runtime, which use it
 * too. With gst_vkgdr_context_new_from_current() it uses the caller's own CUDA
 * context.
 *
 * The elements of a pipeline share a context with a #GstContext of type
 * %GST_VKGDR_CONTEXT_TYPE.
 *
 * All functions may be called from any thread.
 *
 * Since: 0.1
 */

GST_DEBUG_CATEGORY (gst_vkgdr_context_debug);
#define GST_CAT_DEFAULT gst_vkgdr_context_debug

struct _GstVkgdrContext {
  GstObject parent;

  const vkgdr_cuda *cuda; /* NULL if a binding called g_object_new () */
  vkgdr_t handle;
  guint64 window_size; /* bytes, 0 if there is no window */
  gsize memory_size;   /* bytes of the device */
  gboolean host_cached;
  gint ordinal;
  CUdevice device;
  CUcontext cuda_context;
  gboolean is_primary;
  GstVkgdrHealth *health; /* NULL if the context could not be opened */

  guint n_background; /* references of library threads; under the object lock */

  GWeakRef allocator;
  GPtrArray *idle_events; /* of CUevent, under the object lock */
};

G_DEFINE_TYPE_WITH_CODE (GstVkgdrContext, gst_vkgdr_context, GST_TYPE_OBJECT,
    GST_DEBUG_CATEGORY_INIT (
        gst_vkgdr_context_debug, "vkgdrcontext", 0, "vkgdr contexts"))

/* For a context that g_object_new () made. */
#define NO_DEVICE \
  "the context has no device: make it with gst_vkgdr_context_new ()"

#define CONTEXT_IS_MADE(context) \
  (GST_IS_VKGDR_CONTEXT (context) && (context)->cuda != NULL)

static void
close_device (GstVkgdrContext *self)
{
  guint i;

  if (gst_vkgdr_context_push (self, NULL)) {
    for (i = 0; i < self->idle_events->len; i++)
      self->cuda->cuEventDestroy (g_ptr_array_index (self->idle_events, i));
    gst_vkgdr_context_pop (self);
  }
  vkgdr_close (self->handle);
  if (self->is_primary)
    self->cuda->cuDevicePrimaryCtxRelease (self->device);
}

static void
gst_vkgdr_context_finalize (GObject *object)
{
  GstVkgdrContext *self = GST_VKGDR_CONTEXT (object);

  /* The driver call would block if a kernel does not end. */
  if (self->cuda && (!self->health || !gst_vkgdr_health_is_hung (self->health)))
    close_device (self);
  g_ptr_array_unref (self->idle_events);
  g_clear_pointer (&self->health, gst_vkgdr_health_unref);
  g_weak_ref_clear (&self->allocator);

  G_OBJECT_CLASS (gst_vkgdr_context_parent_class)->finalize (object);
}

static void
gst_vkgdr_context_class_init (GstVkgdrContextClass *klass)
{
  G_OBJECT_CLASS (klass)->finalize = gst_vkgdr_context_finalize;
}

static void
gst_vkgdr_context_init (GstVkgdrContext *self)
{
  self->idle_events = g_ptr_array_new ();
  g_weak_ref_init (&self->allocator, NULL);
}

static const vkgdr_cuda *
load_driver (GError **error)
{
  const vkgdr_cuda *cuda = vkgdr_driver_load ();

  if (!cuda)
    gst_vkgdr_set_last_error (error, GST_VKGDR_ERROR_NO_DRIVER);
  return cuda;
}

/* A device without a window can be used, too: its memory is written through
 * staging buffers. */
static gboolean
open_handle (GstVkgdrContext *self, guint32 flags, GError **error)
{
  vkgdr_device_info info;

  self->handle =
      vkgdr_open (self->device, flags | VKGDR_OPEN_WINDOW_OPTIONAL_BIT);
  if (!self->handle) {
    gst_vkgdr_set_last_error (error, GST_VKGDR_ERROR_NO_DEVICE);
    return FALSE;
  }
  vkgdr_get_device_info (self->handle, &info);
  self->window_size = info.window_size;
  self->host_cached = info.host_cached;
  if (self->cuda->cuDeviceTotalMem (&self->memory_size, self->device)
      != CUDA_SUCCESS)
    self->memory_size = 0;
  if (self->window_size == 0)
    GST_INFO_OBJECT (self, "device %d has no window: %s", self->ordinal,
        gst_vkgdr_context_get_window_reason (self));
  return TRUE;
}

/* Retains the device's primary CUDA context. */
static gboolean
retain_primary (GstVkgdrContext *self, GError **error)
{
  if (!gst_vkgdr_check (self->cuda,
          self->cuda->cuDevicePrimaryCtxRetain (
              &self->cuda_context, self->device),
          "cuDevicePrimaryCtxRetain", error))
    return FALSE;
  self->is_primary = TRUE;
  self->health = gst_vkgdr_health_get (self->cuda, self->cuda_context);
  /* A device that failed works again only in another process. */
  return gst_vkgdr_health_try_recover (self->health)
         || gst_vkgdr_health_check (self->health, error);
}

/* Opens @ordinal with its primary context. */
static GstVkgdrContext *
open_device (const vkgdr_cuda *cuda, gint ordinal, GError **error)
{
  GstVkgdrContext *self = g_object_new (GST_TYPE_VKGDR_CONTEXT, NULL);

  gst_object_ref_sink (self);
  self->cuda = cuda;
  self->ordinal = ordinal;
  if (!gst_vkgdr_check (cuda, cuda->cuDeviceGet (&self->device, ordinal),
          "cuDeviceGet", error)
      || !retain_primary (self, error) || !open_handle (self, 0, error)) {
    gst_object_unref (self);
    return NULL;
  }
  GST_INFO_OBJECT (self, "opened device %d", ordinal);
  return self;
}

/* Reads the number of a device. An empty text names none. */
static gboolean
parse_device (
    const gchar *text, const gchar *where, gint *device, GError **error)
{
  guint64 value;

  if (!text || !*text)
    return TRUE;
  if (!g_ascii_string_to_unsigned (text, 10, 0, G_MAXINT, &value, NULL)) {
    g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_NO_DEVICE,
        "%s is \"%s\": it has to be the number of a device (vkgdr-info lists "
        "them)",
        where, text);
    return FALSE;
  }
  *device = (gint) value;
  return TRUE;
}

/* Sets @device to the one that the user chose outside the pipeline, if any. The
 * name of PyCUDA's own file has an underscore. */
static gboolean
read_preferred_device (gint *device, GError **error)
{
  static const gchar *names[] = { ".cuda-device", ".cuda_device" };
  gboolean ok =
      parse_device (g_getenv ("CUDA_DEVICE"), "CUDA_DEVICE", device, error);
  guint i;

  for (i = 0; ok && *device < 0 && i < G_N_ELEMENTS (names); i++) {
    gchar *path = g_build_filename (g_get_home_dir (), names[i], NULL);
    gchar *text = NULL;

    if (g_file_get_contents (path, &text, NULL, NULL))
      ok = parse_device (g_strstrip (text), path, device, error);
    g_free (text);
    g_free (path);
  }
  return ok;
}

/* Opens the first device that works; on failure, the error is that of the first
 * device. */
static GstVkgdrContext *
open_first (const vkgdr_cuda *cuda, gint n_devices, GError **error)
{
  GError *first = NULL;
  gint i;

  for (i = 0; i < n_devices; i++) {
    GstVkgdrContext *self = open_device (cuda, i, first ? NULL : &first);

    if (self) {
      g_clear_error (&first);
      return self;
    }
  }
  g_propagate_error (error, first);
  return NULL;
}

/**
 * gst_vkgdr_context_new:
 * @device: index of a CUDA device, or -1 for the one in the environment
 *   variable `CUDA_DEVICE` or the file `~/.cuda-device`, or else the first one
 *   that works
 * @error: return location for a #GError
 *
 * Opens a device with its primary CUDA context.
 *
 * Returns: (transfer full) (nullable): the context, or %NULL with @error set:
 *   %GST_VKGDR_ERROR_NO_DRIVER or %GST_VKGDR_ERROR_NO_DEVICE, with what is
 *   missing or wrong and what to do, or %GST_VKGDR_ERROR_FAILED
 *
 * Since: 0.1
 */
GstVkgdrContext *
gst_vkgdr_context_new (gint device, GError **error)
{
  const vkgdr_cuda *cuda;
  gint n_devices = 0;

  g_return_val_if_fail (device >= -1, NULL);

  cuda = load_driver (error);
  if (!cuda)
    return NULL;
  if (!gst_vkgdr_check (
          cuda, cuda->cuDeviceGetCount (&n_devices), "cuDeviceGetCount", error))
    return NULL;
  if (device < 0 && !read_preferred_device (&device, error))
    return NULL;
  if (device < 0 && n_devices > 0)
    return open_first (cuda, n_devices, error);
  if (device < 0 || device >= n_devices) {
    g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_NO_DEVICE,
        "there is no CUDA device %d: the driver has %d in all, numbered from 0 "
        "(vkgdr-info lists them)",
        MAX (device, 0), n_devices);
    return NULL;
  }
  return open_device (cuda, device, error);
}

/**
 * gst_vkgdr_context_new_from_current:
 * @error: return location for a #GError
 *
 * Uses the CUDA context that is current in the calling thread. This CUDA
 * context must outlive the object.
 *
 * Returns: (transfer full) (nullable): the context, or %NULL with @error set:
 *   %GST_VKGDR_ERROR_ARGUMENT if no CUDA context is current, or an error of
 *   gst_vkgdr_context_new()
 *
 * Since: 0.1
 */
GstVkgdrContext *
gst_vkgdr_context_new_from_current (GError **error)
{
  GstVkgdrContext *self;
  const vkgdr_cuda *cuda;
  CUcontext current = NULL;
  CUdevice device;

  cuda = load_driver (error);
  if (!cuda)
    return NULL;
  if (!gst_vkgdr_check (
          cuda, cuda->cuCtxGetCurrent (&current), "cuCtxGetCurrent", error))
    return NULL;
  if (!current) {
    g_set_error_literal (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_ARGUMENT,
        "no CUDA context is current in this thread: make one current, or use "
        "gst_vkgdr_context_new() for the device's primary one");
    return NULL;
  }
  if (!gst_vkgdr_check (
          cuda, cuda->cuCtxGetDevice (&device), "cuCtxGetDevice", error))
    return NULL;

  self = g_object_new (GST_TYPE_VKGDR_CONTEXT, NULL);
  gst_object_ref_sink (self);
  self->cuda = cuda;
  self->device = device;
  self->ordinal = device; /* the driver's handle of a device is its index */
  self->cuda_context = current;
  self->health = gst_vkgdr_health_get (cuda, current);
  if (!open_handle (self, VKGDR_OPEN_CURRENT_CONTEXT_BIT, error))
    gst_clear_object (&self);
  return self;
}

/**
 * gst_vkgdr_context_get_device:
 * @context: a context
 *
 * Returns: index of its CUDA device
 *
 * Since: 0.1
 */
gint
gst_vkgdr_context_get_device (GstVkgdrContext *context)
{
  g_return_val_if_fail (CONTEXT_IS_MADE (context), -1);

  return context->ordinal;
}

/**
 * gst_vkgdr_context_is_software:
 * @context: a context
 *
 * Returns: whether the device is a CPU, not a GPU
 *
 * Since: 0.1
 */
gboolean
gst_vkgdr_context_is_software (GstVkgdrContext *context)
{
  g_return_val_if_fail (CONTEXT_IS_MADE (context), FALSE);

  return vkgdr_driver_is_software ();
}

/**
 * gst_vkgdr_context_get_cuda_context:
 * @context: a context
 *
 * Returns: (transfer none): its `CUcontext`, valid as long as @context
 *
 * Since: 0.1
 */
gpointer
gst_vkgdr_context_get_cuda_context (GstVkgdrContext *context)
{
  g_return_val_if_fail (GST_IS_VKGDR_CONTEXT (context), NULL);

  return context->cuda_context;
}

static gchar *
format_uuid (const guint8 u[16])
{
  return g_strdup_printf ("%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-"
                          "%02x%02x%02x%02x%02x%02x",
      u[0], u[1], u[2], u[3], u[4], u[5], u[6], u[7], u[8], u[9], u[10], u[11],
      u[12], u[13], u[14], u[15]);
}

/**
 * gst_vkgdr_context_describe:
 * @context: a context
 *
 * Describes the device in a structure with the fields `device` (int), `name`,
 * `uuid`, `pci-address` (strings), `bar-size`, `window-size`, `window-budget`,
 * `window-usage`, `allocated` (uint64, bytes), `coherent`, `host-cached`,
 * `software` (boolean), `vulkan-driver` (string) and `cuda-driver-version`
 * (int, 1000 major + 10 minor). See #vkgdr_device_info for their meaning.
 *
 * Since 0.2 there are also `has-window` (boolean), and `window-reason` and
 * `window-remedy` (strings): why there is no window, and what the user can do
 * about it. Both are empty if there is a window. Without a window everything
 * works, but the CPU writes through staging buffers.
 *
 * Returns: (transfer full): the description
 *
 * Since: 0.1
 */
GstStructure *
gst_vkgdr_context_describe (GstVkgdrContext *context)
{
  const char *reason, *remedy;
  vkgdr_device_info info;
  GstStructure *result;
  gchar *uuid;

  g_return_val_if_fail (CONTEXT_IS_MADE (context), NULL);

  vkgdr_get_device_info (context->handle, &info);
  vkgdr_get_window_obstacle (context->handle, &reason, &remedy);
  uuid = format_uuid (info.uuid);
  result = gst_structure_new ("vkgdr-device", "device", G_TYPE_INT,
      context->ordinal, "name", G_TYPE_STRING, info.name, "uuid", G_TYPE_STRING,
      uuid, "pci-address", G_TYPE_STRING, info.pci_address, "bar-size",
      G_TYPE_UINT64, info.bar_size, "window-size", G_TYPE_UINT64,
      info.window_size, "window-budget", G_TYPE_UINT64, info.window_budget,
      "window-usage", G_TYPE_UINT64, info.window_usage, "allocated",
      G_TYPE_UINT64, info.allocated, "coherent", G_TYPE_BOOLEAN, info.coherent,
      "host-cached", G_TYPE_BOOLEAN, info.host_cached, "software",
      G_TYPE_BOOLEAN, info.software, "vulkan-driver", G_TYPE_STRING,
      info.vulkan_driver, "cuda-driver-version", G_TYPE_INT,
      info.cuda_driver_version, "has-window", G_TYPE_BOOLEAN,
      gst_vkgdr_context_has_window (context), "window-reason", G_TYPE_STRING,
      reason, "window-remedy", G_TYPE_STRING, remedy, NULL);
  g_free (uuid);
  return result;
}

gboolean
gst_vkgdr_context_check (GstVkgdrContext *context, CUresult result,
    const gchar *what, GError **error)
{
  if (result == CUDA_SUCCESS)
    return TRUE;
  if (!context->health) /* the context could not be opened */
    return gst_vkgdr_check (context->cuda, result, what, error);
  return gst_vkgdr_health_check_result (context->health, result, what, error);
}

gboolean
gst_vkgdr_context_check_usable (GstVkgdrContext *self, GError **error)
{
  if (!self->cuda)
    g_set_error_literal (
        error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_ARGUMENT, NO_DEVICE);
  return self->cuda != NULL;
}

/* While the application captures a graph in mode "global", the default, CUDA
 * refuses some calls of every thread, such as cuEventQuery (), and invalidates
 * the capture. The library's work is never a part of that graph, so a thread
 * uses the mode "relaxed" while it has pushed the context. cuCtxRecordEvent ()
 * is refused in every mode. */
static _Thread_local struct {
  guint depth;
  gboolean is_relaxed;
  CUstreamCaptureMode outer; /* the thread's mode outside of the calls */
  guint64 skipped; /* bit N: push number N has not called the driver */
} calls;

/* More nested pushes than this all call the driver. */
#define MAX_SKIPPED 64

static void
begin_calls (const vkgdr_cuda *cuda)
{
  calls.outer = CU_STREAM_CAPTURE_MODE_RELAXED;
  /* Drivers before CUDA 10.1 do not have this function. */
  calls.is_relaxed =
      cuda->cuThreadExchangeStreamCaptureMode
      && cuda->cuThreadExchangeStreamCaptureMode (&calls.outer) == CUDA_SUCCESS;
}

static void
end_calls (const vkgdr_cuda *cuda)
{
  if (calls.is_relaxed)
    cuda->cuThreadExchangeStreamCaptureMode (&calls.outer);
}

/* Whether an outer push has made the context current, and it still is: code of
 * a subclass in between may have changed that. */
static gboolean
is_current (GstVkgdrContext *context)
{
  CUcontext current = NULL;

  return calls.depth > 0
         && context->cuda->cuCtxGetCurrent (&current) == CUDA_SUCCESS
         && current == context->cuda_context;
}

/* Whether the last push of this thread has not called the driver. */
static gboolean
forget_skipped (void)
{
  guint64 bit =
      calls.depth < MAX_SKIPPED ? G_GUINT64_CONSTANT (1) << calls.depth : 0;
  gboolean was_skipped = (calls.skipped & bit) != 0;

  calls.skipped &= ~bit;
  return was_skipped;
}

CUresult
gst_vkgdr_context_try_push (GstVkgdrContext *context)
{
  CUresult result = CUDA_SUCCESS;

  if (calls.depth < MAX_SKIPPED && is_current (context))
    calls.skipped |= G_GUINT64_CONSTANT (1) << calls.depth;
  else
    result = context->cuda->cuCtxPushCurrent (context->cuda_context);
  if (result != CUDA_SUCCESS)
    return result;
  if (calls.depth++ == 0)
    begin_calls (context->cuda);
  return CUDA_SUCCESS;
}

/**
 * gst_vkgdr_context_push:
 * @context: a context
 * @error: return location for a #GError
 *
 * Makes its CUDA context current in the calling thread, until
 * gst_vkgdr_context_pop() in the same thread. Calls may be nested. In between,
 * the stream capture mode of the thread is "relaxed"
 * (cuThreadExchangeStreamCaptureMode()), so that the calls of this thread do
 * not affect a capture in another thread.
 *
 * Returns: %FALSE with @error set on failure; then there is nothing to pop
 *
 * Since: 0.1
 */
gboolean
gst_vkgdr_context_push (GstVkgdrContext *context, GError **error)
{
  CUresult result;

  g_return_val_if_fail (GST_IS_VKGDR_CONTEXT (context), FALSE);

  if (!context->cuda)
    return gst_vkgdr_context_check_usable (context, error);
  result = gst_vkgdr_context_try_push (context);
  return gst_vkgdr_context_check (context, result, "cuCtxPushCurrent", error);
}

/**
 * gst_vkgdr_context_pop:
 * @context: a context
 *
 * Undoes gst_vkgdr_context_push() in the same thread.
 *
 * Since: 0.1
 */
void
gst_vkgdr_context_pop (GstVkgdrContext *context)
{
  CUcontext popped = NULL;

  g_return_if_fail (CONTEXT_IS_MADE (context));

  /* The caller may pop more often than it has pushed. */
  if (calls.depth > 0 && --calls.depth == 0)
    end_calls (context->cuda);
  if (forget_skipped ())
    return;
  context->cuda->cuCtxPopCurrent (&popped);
  if (popped != context->cuda_context)
    GST_WARNING_OBJECT (context, "another CUDA context was on top");
}

GstVkgdrContext *
gst_vkgdr_context_ref_in_background (GstVkgdrContext *context)
{
  GST_OBJECT_LOCK (context);
  if (context->n_background++ == 0)
    GST_OBJECT_FLAG_SET (context, GST_OBJECT_FLAG_MAY_BE_LEAKED);
  GST_OBJECT_UNLOCK (context);
  return gst_object_ref (context);
}

void
gst_vkgdr_context_unref_in_background (GstVkgdrContext *context)
{
  GST_OBJECT_LOCK (context);
  if (--context->n_background == 0)
    GST_OBJECT_FLAG_UNSET (context, GST_OBJECT_FLAG_MAY_BE_LEAKED);
  GST_OBJECT_UNLOCK (context);
  gst_object_unref (context);
}

GWeakRef *
gst_vkgdr_context_get_allocator_slot (GstVkgdrContext *context)
{
  return &context->allocator;
}

gboolean
gst_vkgdr_context_shares (GstVkgdrContext *context, GstVkgdrContext *other)
{
  return context == other || context->cuda_context == other->cuda_context;
}

gint
gst_vkgdr_context_get_capability (GstVkgdrContext *context, GError **error)
{
  return gst_vkgdr_read_capability (context->cuda, context->device, error);
}

GstVkgdrHealth *
gst_vkgdr_context_get_health (GstVkgdrContext *context)
{
  return context->health;
}

const vkgdr_cuda *
gst_vkgdr_context_get_driver (GstVkgdrContext *context)
{
  return context->cuda;
}

vkgdr_t
gst_vkgdr_context_get_handle (GstVkgdrContext *context)
{
  return context->handle;
}

gboolean
gst_vkgdr_context_has_window (GstVkgdrContext *context)
{
  return context->window_size > 0;
}

gboolean
gst_vkgdr_context_has_small_window (GstVkgdrContext *context)
{
  return context->window_size < context->memory_size / 2;
}

const gchar *
gst_vkgdr_context_get_window_reason (GstVkgdrContext *context)
{
  const char *reason;

  if (!context->handle)
    return NO_DEVICE;
  vkgdr_get_window_obstacle (context->handle, &reason, NULL);
  return reason;
}

const gchar *
gst_vkgdr_context_get_window_remedy (GstVkgdrContext *context)
{
  const char *remedy;

  vkgdr_get_window_obstacle (context->handle, NULL, &remedy);
  return remedy;
}

gboolean
gst_vkgdr_context_is_host_cached (GstVkgdrContext *context)
{
  return context->host_cached;
}

CUevent
gst_vkgdr_context_take_event (GstVkgdrContext *context, GError **error)
{
  CUevent event = NULL;

  GST_OBJECT_LOCK (context);
  if (context->idle_events->len > 0)
    event = g_ptr_array_steal_index_fast (
        context->idle_events, context->idle_events->len - 1);
  GST_OBJECT_UNLOCK (context);

  if (!event)
    gst_vkgdr_context_check (context,
        context->cuda->cuEventCreate (&event, CU_EVENT_DISABLE_TIMING),
        "cuEventCreate", error);
  return event;
}

void
gst_vkgdr_context_give_event (GstVkgdrContext *context, CUevent event)
{
  GST_OBJECT_LOCK (context);
  g_ptr_array_add (context->idle_events, event);
  GST_OBJECT_UNLOCK (context);
}

/**
 * gst_vkgdr_context_get_memory_info:
 * @context: a context
 * @free_bytes: (out) (optional): free memory of the device in bytes
 * @total_bytes: (out) (optional): all memory of the device in bytes
 * @error: return location for a #GError
 *
 * Gets the state of the device's memory, for all processes together. For the
 * used part of the window, see gst_vkgdr_context_describe().
 *
 * Returns: %FALSE with @error set on failure
 *
 * Since: 0.1
 */
gboolean
gst_vkgdr_context_get_memory_info (GstVkgdrContext *context,
    guint64 *free_bytes, guint64 *total_bytes, GError **error)
{
  size_t n_free = 0, n_total = 0;
  gboolean ok;

  g_return_val_if_fail (GST_IS_VKGDR_CONTEXT (context), FALSE);

  if (!gst_vkgdr_context_push (context, error))
    return FALSE;
  ok = gst_vkgdr_context_check (context,
      gst_vkgdr_context_get_driver (context)->cuMemGetInfo (&n_free, &n_total),
      "cuMemGetInfo", error);
  gst_vkgdr_context_pop (context);
  if (free_bytes)
    *free_bytes = n_free;
  if (total_bytes)
    *total_bytes = n_total;
  return ok;
}
