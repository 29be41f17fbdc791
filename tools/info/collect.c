/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * collect.c: collects facts about the machine and its devices
 *
 * Looks at the environment, describes each device, tries a small allocation on
 * it, and asks for its compiler. Must not judge what it finds.
 */

#include <stdlib.h>
#include <string.h>

#include <gst/vkgdr/vkgdr.h>

#include "driver.h"
#include "info.h"

/* The size of the allocation that proves that a device works, in bytes. */
#define TRIAL_SIZE ((gsize) 64 << 10)

/* Bits of VkMemoryPropertyFlags, the lowest first. */
static const gchar *const flag_names[] = { "device-local", "host-visible",
  "host-coherent", "host-cached", "lazily-allocated", "protected",
  "device-coherent", "device-uncached", "rdma-capable" };

/* Names of vkgdr_obstacle. */
static const gchar *const obstacles[] = { "none", "host-memory", "cuda-driver",
  "cuda-device", "settings", "vulkan-loader", "vulkan-driver", "vulkan-device",
  "no-window", "export" };

/* Names of CUcomputemode. */
static const gchar *const compute_modes[] = { "default", "unknown",
  "prohibited", "exclusive-process" };

/* The variables that select a driver, a library or a device. */
static const gchar *const variables[] = { "VKGDR_DRIVER", "VKGDR_DEBUG",
  "VKGDR_SOFTCUDA_DIR", "VKGDR_VULKAN_LIBRARY", "VKGDR_NVRTC", "CUDA_HOME",
  "CUDA_PATH", "SOFTCUDA_CXX", "CUDA_DEVICE", "CUDA_VISIBLE_DEVICES",
  "NVIDIA_VISIBLE_DEVICES", "NVIDIA_DRIVER_CAPABILITIES", "VK_DRIVER_FILES",
  "VK_ICD_FILENAMES", "VK_ADD_DRIVER_FILES", "VK_LOADER_DRIVERS_SELECT",
  "VK_LOADER_DRIVERS_DISABLE" };

/* --- members -------------------------------------------------------------- */

/* Takes ownership of @text. An empty text is one that is not known. */
static void
take_text (JsonObject *object, const gchar *member, gchar *text)
{
  gchar *valid = text && *text ? g_utf8_make_valid (text, -1) : NULL;

  json_object_set_string_member (object, member, valid);
  g_free (valid);
  g_free (text);
}

static void
set_text (JsonObject *object, const gchar *member, const gchar *text)
{
  take_text (object, member, g_strdup (text));
}

/* @format is that of a GVariant: "mt" and "mb" take whether the value is known,
 * and the value. */
static void
set (JsonObject *object, const gchar *member, const gchar *format, ...)
{
  GVariant *value;
  va_list values;

  va_start (values, format);
  value = g_variant_ref_sink (g_variant_new_va (format, NULL, &values));
  va_end (values);
  json_object_set_member (object, member, json_gvariant_serialize (value));
  g_variant_unref (value);
}

/* --- the machine ---------------------------------------------------------- */

static JsonObject *
describe_settings (void)
{
  JsonObject *settings = json_object_new ();
  guint i;

  for (i = 0; i < G_N_ELEMENTS (variables); i++) {
    const gchar *value = g_getenv (variables[i]);

    if (value && *value)
      set_text (settings, variables[i], value);
    /* An empty value is the same as none, but this one hides all GPUs. */
    else if (value && strcmp (variables[i], "CUDA_VISIBLE_DEVICES") == 0)
      json_object_set_string_member (settings, variables[i], "");
  }
  return settings;
}

/* Searches in the same way as softcuda. Returns: (nullable) (transfer full) */
static gchar *
find_host_compiler (void)
{
  const gchar *own = g_getenv ("SOFTCUDA_CXX");
  const gchar *const names[] = { "c++", "g++", "clang++" };
  gchar *path = NULL;
  guint i;

  if (own && *own)
    return g_find_program_in_path (own);
  for (i = 0; i < G_N_ELEMENTS (names) && !path; i++)
    path = g_find_program_in_path (names[i]);
  return path;
}

static gboolean
exists (const gchar *path)
{
  return g_file_test (path, G_FILE_TEST_EXISTS);
}

static JsonObject *
describe_machine (void)
{
  JsonObject *report = json_object_new ();

  set_text (report, "version", VKGDR_VERSION);
  set_text (report, "copy-isa", vkgdr_copy_isa ());
  json_object_set_object_member (report, "settings", describe_settings ());
  take_text (report, "host-compiler", find_host_compiler ());
  json_object_set_boolean_member (
      report, "nvidia-kernel-driver", exists ("/proc/driver/nvidia/version"));
  json_object_set_boolean_member (report, "container",
      exists ("/.dockerenv") || exists ("/run/.containerenv")
          || g_getenv ("container") || g_getenv ("KUBERNETES_SERVICE_HOST")
          || g_getenv ("NVIDIA_VISIBLE_DEVICES"));
  /* In WSL 2, this is the GPU. */
  json_object_set_boolean_member (report, "wsl", exists ("/dev/dxg"));
  return report;
}

/* --- the trial ------------------------------------------------------------ */

typedef struct {
  const vkgdr_cuda *cu;
  CUdevice number;
  JsonObject *facts;
  JsonObject *probe; /* facts that are not in the report, see info.h */
} Device;

/* Sets @member to the library's message about the last failure. */
static void
set_last_error (JsonObject *object, const gchar *member)
{
  char *error = vkgdr_last_error ();

  set_text (object, member, error ? error : "no reason is given");
  free (error);
}

/* If @result is an error, sets @member to a text about it. */
static gboolean
is_error (const vkgdr_cuda *cu, JsonObject *object, const gchar *member,
    const gchar *call, CUresult result)
{
  const char *name = NULL, *text = NULL;

  if (result == CUDA_SUCCESS)
    return FALSE;
  cu->cuGetErrorName (result, &name);
  cu->cuGetErrorString (result, &text);
  take_text (object, member,
      g_strdup_printf ("%s failed: %s (%s)", call,
          name ? name : "an unknown error", text ? text : "no explanation"));
  return TRUE;
}

/* The error replaces the one about a missing window. */
static gboolean
fails (const Device *self, const gchar *call, CUresult result)
{
  return is_error (self->cu, self->facts, "error", call, result);
}

/* Writes with the CPU, through the host pointer or, if @mem is NULL, by a
 * transfer. Reads through the device pointer. */
static const gchar *
try_bytes (const Device *self, vkgdr_memory_t mem, CUdeviceptr pointer)
{
  static guint8 written[TRIAL_SIZE], read[TRIAL_SIZE];

  memset (written, 0xa5, TRIAL_SIZE);
  memset (read, 0, TRIAL_SIZE);
  if (mem) {
    vkgdr_copy_to_bar (vkgdr_memory_get_host_ptr (mem), written, TRIAL_SIZE, 1);
    vkgdr_memory_flush (mem, 0, TRIAL_SIZE);
  } else if (fails (self, "cuMemcpyHtoD",
                 self->cu->cuMemcpyHtoD (pointer, written, TRIAL_SIZE))) {
    return "wrong-bytes";
  }
  if (fails (self, "cuMemcpyDtoH",
          self->cu->cuMemcpyDtoH (read, pointer, TRIAL_SIZE)))
    return "wrong-bytes";
  if (memcmp (written, read, TRIAL_SIZE) == 0)
    return "passed";
  set_text (
      self->facts, "error", "the device reads other bytes than were written");
  return "wrong-bytes";
}

static const gchar *
try_memory (const Device *self, vkgdr_t g)
{
  const char *reason = "", *remedy = "";
  const gchar *trial = "no-memory";
  CUdeviceptr pointer;
  vkgdr_memory_t mem;

  vkgdr_get_window_obstacle (g, &reason, &remedy);
  if (*reason) {
    set_text (self->facts, "error", reason);
    set_text (self->probe, "remedy", remedy);
    if (fails (self, "cuMemAlloc", self->cu->cuMemAlloc (&pointer, TRIAL_SIZE)))
      return trial;
    trial = try_bytes (self, NULL, pointer);
    self->cu->cuMemFree (pointer);
  } else if ((mem = vkgdr_memory_alloc (g, TRIAL_SIZE, 0))) {
    trial = try_bytes (self, mem, vkgdr_memory_get_device_ptr (mem));
    vkgdr_memory_free (mem);
  } else {
    set_last_error (self->facts, "error");
  }
  return trial;
}

static const gchar *
try_device (const Device *self)
{
  const gchar *trial = "no-context";
  CUcontext context = NULL;
  vkgdr_t g;

  if (fails (self, "cuDevicePrimaryCtxRetain",
          self->cu->cuDevicePrimaryCtxRetain (&context, self->number)))
    return trial;
  if (!fails (self, "cuCtxPushCurrent", self->cu->cuCtxPushCurrent (context))) {
    g = vkgdr_open (self->number, VKGDR_OPEN_WINDOW_OPTIONAL_BIT);
    trial = g ? try_memory (self, g) : "no-memory";
    if (!g)
      set_last_error (self->facts, "error");
    vkgdr_close (g);
    self->cu->cuCtxPopCurrent (&context);
  }
  self->cu->cuDevicePrimaryCtxRelease (self->number);
  return trial;
}

static void
ask_compiler (JsonObject *facts, gint ordinal)
{
  GError *error = NULL;
  GstVkgdrContext *context = gst_vkgdr_context_new (ordinal, &error);

  if (context)
    take_text (facts, "compiler",
        gst_vkgdr_kernel_describe_compiler (context, &error));
  if (error)
    set_text (facts, "compiler-error", error->message);
  g_clear_error (&error);
  gst_clear_object (&context);
}

/* --- facts about a device ------------------------------------------------- */

static gchar *
format_uuid (const guint8 *uuid)
{
  GString *text = g_string_new (NULL);
  gboolean known = FALSE;
  guint i;

  for (i = 0; i < 16; i++) {
    known |= uuid[i] != 0;
    g_string_append_printf (text, "%s%02x",
        i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", uuid[i]);
  }
  return g_string_free (text, !known);
}

static JsonArray *
describe_memory_types (const vkgdr_device_info *info)
{
  JsonArray *types = json_array_new ();
  guint i, bit;

  for (i = 0; i < info->n_memory_types; i++) {
    const vkgdr_memory_type *type = &info->memory_types[i];
    JsonObject *object = json_object_new ();
    JsonArray *flags = json_array_new ();

    json_object_set_int_member (object, "heap", type->heap);
    json_object_set_int_member (object, "heap-size", type->heap_size);
    for (bit = 0; bit < G_N_ELEMENTS (flag_names); bit++)
      if (type->flags >> bit & 1)
        json_array_add_string_element (flags, flag_names[bit]);
    json_object_set_array_member (object, "flags", flags);
    json_array_add_object_element (types, object);
  }
  return types;
}

/* If other processes use much memory, the budget of this process can be less
 * than it already uses. */
static void
add_window (JsonObject *facts, const vkgdr_device_info *info, gboolean staged)
{
  gboolean known = info->window_size > 0;
  guint64 used = info->window_usage, budget = info->window_budget;

  set (facts, "has-window", "mb", known || staged, known);
  set (facts, "window-size", "mt", known, info->window_size);
  set (facts, "window-free", "mt", known, MAX (budget, used) - used);
  set (facts, "window-budget", "mt", known, budget);
  set (facts, "window-usage", "mt", known, used);
  set (facts, "coherent", "mb", known, info->coherent);
  set (facts, "host-cached", "mb", known, info->host_cached);
  set (facts, "memory-type", "mu", known, info->memory_type);
}

static void
add_info (JsonObject *facts, const vkgdr_device_info *info)
{
  gint cuda = info->cuda_driver_version;
  guint32 vulkan = info->vulkan_api_version;

  set_text (facts, "name", info->name);
  json_object_set_boolean_member (facts, "software", info->software);
  take_text (facts, "uuid", format_uuid (info->uuid));
  set_text (facts, "pci-address", info->pci_address);
  set (facts, "bar-size", "mt", info->bar_size > 0, info->bar_size);
  set_text (facts, "vulkan-driver", info->vulkan_driver);
  json_object_set_array_member (
      facts, "memory-types", describe_memory_types (info));
  take_text (facts, "cuda-driver",
      cuda ? g_strdup_printf ("%d.%d", cuda / 1000, cuda % 1000 / 10) : NULL);
  take_text (facts, "vulkan-api",
      vulkan ? g_strdup_printf (
          "%u.%u.%u", vulkan >> 22 & 0x7f, vulkan >> 12 & 0x3ff, vulkan & 0xfff)
             : NULL);
}

/* Data that only CUDA has. What it does not tell stays 0. */
static void
add_cuda (const Device *self, gboolean software)
{
  int mode = 0, major = 0, minor = 0;
  size_t memory = 0;

  self->cu->cuDeviceGetAttribute (
      &mode, CU_DEVICE_ATTRIBUTE_COMPUTE_MODE, self->number);
  self->cu->cuDeviceGetAttribute (
      &major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, self->number);
  self->cu->cuDeviceGetAttribute (
      &minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, self->number);
  self->cu->cuDeviceTotalMem (&memory, self->number);
  set (self->facts, "memory-size", "mt", memory > 0, (guint64) memory);
  set_text (self->facts, "compute-mode",
      mode < (int) G_N_ELEMENTS (compute_modes) ? compute_modes[mode]
                                                : "unknown");
  take_text (self->facts, "compute-capability",
      major > 0 && !software ? g_strdup_printf ("%d.%d", major, minor) : NULL);
}

/* Returns whether the device can be used. */
static gboolean
collect_device (const vkgdr_cuda *cu, gint ordinal, JsonObject *report)
{
  Device self = { cu, 0, json_object_new (), json_object_new () };
  vkgdr_device_info info = { { 0 } };
  vkgdr_obstacle obstacle = VKGDR_OBSTACLE_CUDA_DEVICE;
  const gchar *trial = "none";
  gboolean staged, passed;

  json_array_add_object_element (
      json_object_get_array_member (report, "devices"), self.facts);
  json_object_set_int_member (self.facts, "device", ordinal);
  set_text (self.facts, "error", NULL);
  set_text (self.facts, "compiler", NULL);
  set_text (self.facts, "compiler-error", NULL);
  if (!fails (&self, "cuDeviceGet", cu->cuDeviceGet (&self.number, ordinal))) {
    obstacle = vkgdr_probe (self.number, &info);
    if (obstacle != VKGDR_OBSTACLE_NONE)
      set_last_error (self.facts, "error");
  }
  staged = obstacle >= VKGDR_OBSTACLE_VULKAN_LOADER;
  if (obstacle == VKGDR_OBSTACLE_NONE || staged)
    trial = try_device (&self);
  passed = strcmp (trial, "passed") == 0;
  if (passed)
    ask_compiler (self.facts, ordinal);
  add_info (self.facts, &info);
  add_cuda (&self, info.software);
  add_window (self.facts, &info, staged);
  set_text (self.probe, "obstacle", obstacles[obstacle]);
  set_text (self.probe, "trial", trial);
  json_object_set_object_member (
      self.facts, "verdict", info_judge (report, self.probe, self.facts));
  json_object_unref (self.probe);
  return passed;
}

JsonObject *
info_collect (gboolean *usable)
{
  const vkgdr_cuda *cu = vkgdr_driver_load ();
  JsonObject *report = describe_machine ();
  int n = 0, i;

  set_text (report, "driver",
      !cu                           ? NULL
      : vkgdr_driver_is_software () ? "softcuda"
                                    : "nvidia");
  set_text (report, "driver-error", NULL);
  if (!cu)
    set_last_error (report, "driver-error");
  else if (is_error (cu, report, "driver-error", "cuDeviceGetCount",
               cu->cuDeviceGetCount (&n)))
    set_text (report, "driver", NULL);
  set_text (report, "why-software", vkgdr_driver_why_software ());
  json_object_set_array_member (report, "devices", json_array_new ());
  *usable = FALSE;
  for (i = 0; i < n; i++)
    *usable |= collect_device (cu, i, report);
  if (n == 0) {
    JsonObject *probe = json_object_new ();

    json_object_set_object_member (
        report, "verdict", info_judge (report, probe, NULL));
    json_object_unref (probe);
  }
  return report;
}
