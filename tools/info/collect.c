/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * collect.c: collects facts about the machine and its devices
 *
 * Looks at the environment, describes each device, tries a small allocation on
 * it, and asks for its compiler. Must not judge what it finds.
 */

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

/* Takes ownership of @error, which is NULL if there is none. */
static void
take_error (JsonObject *object, const gchar *member, GError *error)
{
  set_text (object, member, error ? error->message : NULL);
  g_clear_error (&error);
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

/* Writes with the CPU, through the window if there is one, and reads what the
 * device has then. */
static gboolean
try_bytes (GstMemory *mem, GError **error)
{
  static guint8 written[TRIAL_SIZE], read[TRIAL_SIZE];
  const vkgdr_cuda *cu = vkgdr_driver_load ();
  const char *reason = "other bytes than were written";
  CUresult result;

  memset (written, 0xa5, TRIAL_SIZE);
  if (!gst_vkgdr_memory_write (mem, 0, written, TRIAL_SIZE, error)
      || !gst_vkgdr_memory_wait_written (mem, error))
    return FALSE;
  result = cu->cuMemcpyDtoH (
      read, gst_vkgdr_memory_get_device_pointer (mem), TRIAL_SIZE);
  if (result == CUDA_SUCCESS && memcmp (written, read, TRIAL_SIZE) == 0)
    return TRUE;
  if (result != CUDA_SUCCESS)
    cu->cuGetErrorName (result, &reason);
  g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_FAILED,
      "cuMemcpyDtoH returned %s", reason);
  return FALSE;
}

/* Allocates as elements do: if the window cannot be used, the memory has no
 * host pointer, and libvkgdr has the reason. */
static const gchar *
try_memory (GstVkgdrContext *context, JsonObject *probe, GError **error)
{
  GstVkgdrAllocator *allocator = gst_vkgdr_context_get_allocator (context);
  GstMemory *mem = gst_vkgdr_allocator_alloc (allocator, TRIAL_SIZE, error);
  gboolean ok;

  gst_object_unref (allocator);
  if (!mem)
    return "no-memory";
  if (!gst_vkgdr_memory_get_host_pointer (mem)
      && json_object_get_null_member (probe, "reason")) {
    take_text (probe, "reason", vkgdr_last_error ());
    set_text (probe, "obstacle", "window-memory");
  }
  ok = try_bytes (mem, error);
  gst_memory_unref (mem);
  return ok ? "passed" : "wrong-bytes";
}

/* Sets the error that explains the result last: it replaces the reason why
 * there is no window. */
static const gchar *
try_device (gint ordinal, JsonObject *facts, JsonObject *probe)
{
  GError *error = NULL, *compiler_error = NULL;
  GstVkgdrContext *context = gst_vkgdr_context_new (ordinal, &error);
  const gchar *trial = "no-context";

  if (context && gst_vkgdr_context_push (context, &error)) {
    GstStructure *device = gst_vkgdr_context_describe (context);

    set_text (
        probe, "reason", gst_structure_get_string (device, "window-reason"));
    set_text (
        probe, "remedy", gst_structure_get_string (device, "window-remedy"));
    gst_structure_free (device);
    trial = try_memory (context, probe, &error);
    gst_vkgdr_context_pop (context);
    take_text (facts, "compiler",
        gst_vkgdr_kernel_describe_compiler (context, &compiler_error));
  }
  set_text (facts, "error",
      error
          ? error->message
          : json_object_get_string_member_with_default (probe, "reason", NULL));
  take_error (facts, "compiler-error", compiler_error);
  g_clear_error (&error);
  gst_clear_object (&context);
  return trial;
}

/* --- facts about a device ------------------------------------------------- */

static gchar *
format_uuid (const guint8 *u)
{
  return g_strdup_printf ("%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-"
                          "%02x%02x%02x%02x%02x%02x",
      u[0], u[1], u[2], u[3], u[4], u[5], u[6], u[7], u[8], u[9], u[10], u[11],
      u[12], u[13], u[14], u[15]);
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
  take_text (facts, "uuid", *info->name ? format_uuid (info->uuid) : NULL);
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
add_cuda (JsonObject *facts, gint ordinal, gboolean software)
{
  const vkgdr_cuda *cu = vkgdr_driver_load ();
  int mode = 0, major = 0, minor = 0;
  size_t memory = 0;

  cu->cuDeviceGetAttribute (&mode, CU_DEVICE_ATTRIBUTE_COMPUTE_MODE, ordinal);
  cu->cuDeviceGetAttribute (
      &major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, ordinal);
  cu->cuDeviceGetAttribute (
      &minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, ordinal);
  cu->cuDeviceTotalMem (&memory, ordinal);
  set (facts, "memory-size", "mt", memory > 0, (guint64) memory);
  set_text (facts, "compute-mode",
      (guint) mode < G_N_ELEMENTS (compute_modes) ? compute_modes[mode]
                                                  : "unknown");
  take_text (facts, "compute-capability",
      major > 0 && !software ? g_strdup_printf ("%d.%d", major, minor) : NULL);
}

/* Returns whether the device can be used. CUDA's handle of a device is its
 * number. */
static gboolean
collect_device (gint ordinal, JsonObject *report)
{
  JsonObject *facts = json_object_new (), *probe = json_object_new ();
  vkgdr_device_info info;
  vkgdr_obstacle obstacle = vkgdr_probe (ordinal, &info);
  gboolean staged = obstacle >= VKGDR_OBSTACLE_VULKAN_LOADER;
  const gchar *trial = "none";
  JsonObject *verdict;

  json_array_add_object_element (
      json_object_get_array_member (report, "devices"), facts);
  json_object_set_int_member (facts, "device", ordinal);
  take_text (facts, "error", vkgdr_last_error ());
  set_text (facts, "compiler", NULL);
  set_text (facts, "compiler-error", NULL);
  set_text (probe, "obstacle", obstacles[obstacle]);
  if (obstacle == VKGDR_OBSTACLE_NONE || staged)
    trial = try_device (ordinal, facts, probe);
  add_info (facts, &info);
  add_cuda (facts, ordinal, info.software);
  add_window (facts, &info, staged);
  set_text (probe, "trial", trial);
  verdict = info_judge (report, facts, probe);
  json_object_set_object_member (facts, "verdict", verdict);
  json_object_unref (probe);
  return strcmp (json_object_get_string_member (verdict, "level"), "unusable")
         != 0;
}

JsonObject *
info_collect (gboolean *usable)
{
  JsonObject *report = describe_machine ();
  GError *error = NULL;
  gint n = gst_vkgdr_device_count (&error), i;

  set_text (report, "driver",
      error                         ? NULL
      : vkgdr_driver_is_software () ? "softcuda"
                                    : "nvidia");
  take_error (report, "driver-error", error);
  set_text (report, "why-software", vkgdr_driver_why_software ());
  json_object_set_array_member (report, "devices", json_array_new ());
  *usable = FALSE;
  for (i = 0; i < n; i++)
    *usable |= collect_device (i, report);
  if (n <= 0)
    json_object_set_object_member (
        report, "verdict", info_judge (report, NULL, NULL));
  return report;
}
