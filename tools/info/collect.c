/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * collect.c: collects facts from the drivers
 *
 * Describes each device, tries a small allocation on it, and asks for its
 * compiler. Must not judge what it finds.
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

/* A device that is being described. */
typedef struct {
  const vkgdr_cuda *cu;
  CUdevice number;
  const gchar *error; /* nullable */
  InfoProbe probe;
} Device;

/* Returns: (transfer none): as of g_strdup_printf(), see info_keep(). */
#define keep(...) info_keep (g_strdup_printf (__VA_ARGS__))

/* The library's message about the last failure. */
static const gchar *
take_last_error (void)
{
  gchar *error = vkgdr_last_error ();
  const gchar *result =
      info_keep (g_strdup (error ? error : "no reason is given"));

  free (error);
  return result;
}

static const gchar *
describe_result (const vkgdr_cuda *cu, const gchar *call, CUresult result)
{
  const char *name = NULL, *text = NULL;

  cu->cuGetErrorName (result, &name);
  cu->cuGetErrorString (result, &text);
  return keep ("%s failed: %s (%s)", call, name ? name : "an unknown error",
      text ? text : "no explanation");
}

/* --- the trial ------------------------------------------------------------ */

/* @error replaces the one about a missing window. */
static void
fail (Device *self, const gchar *trial, const gchar *error)
{
  self->error = error;
  self->probe.trial = trial;
}

static gboolean
check (Device *self, const gchar *trial, const gchar *call, CUresult result)
{
  if (result != CUDA_SUCCESS)
    fail (self, trial, describe_result (self->cu, call, result));
  return result == CUDA_SUCCESS;
}

/* Writes with the CPU, through the host pointer or, if @mem is NULL, by a
 * transfer. Reads through the device pointer. */
static void
try_bytes (Device *self, vkgdr_memory_t mem, CUdeviceptr pointer)
{
  guint8 *written = g_malloc (TRIAL_SIZE), *read = g_malloc0 (TRIAL_SIZE);
  CUresult result = CUDA_SUCCESS;

  memset (written, 0xa5, TRIAL_SIZE);
  self->probe.trial = "passed";
  if (mem) {
    vkgdr_copy_to_bar (vkgdr_memory_get_host_ptr (mem), written, TRIAL_SIZE, 1);
    vkgdr_memory_flush (mem, 0, TRIAL_SIZE);
  } else {
    result = self->cu->cuMemcpyHtoD (pointer, written, TRIAL_SIZE);
  }
  if (check (self, "wrong-bytes", "cuMemcpyHtoD", result)
      && check (self, "wrong-bytes", "cuMemcpyDtoH",
          self->cu->cuMemcpyDtoH (read, pointer, TRIAL_SIZE))
      && memcmp (written, read, TRIAL_SIZE) != 0)
    fail (
        self, "wrong-bytes", "the device reads other bytes than were written");
  g_free (written);
  g_free (read);
}

static void
try_memory (Device *self)
{
  vkgdr_t g = vkgdr_open (self->number, VKGDR_OPEN_WINDOW_OPTIONAL_BIT);
  const char *reason = "", *remedy = "";
  vkgdr_memory_t mem = NULL;
  CUdeviceptr pointer;

  if (g)
    vkgdr_get_window_obstacle (g, &reason, &remedy);
  if (*reason) {
    self->error = info_keep (g_strdup (reason));
    self->probe.remedy = info_keep (g_strdup (remedy));
    if (check (self, "no-memory", "cuMemAlloc",
            self->cu->cuMemAlloc (&pointer, TRIAL_SIZE))) {
      try_bytes (self, NULL, pointer);
      self->cu->cuMemFree (pointer);
    }
  } else if (g && (mem = vkgdr_memory_alloc (g, TRIAL_SIZE, 0))) {
    try_bytes (self, mem, vkgdr_memory_get_device_ptr (mem));
    vkgdr_memory_free (mem);
  } else {
    fail (self, "no-memory", take_last_error ());
  }
  vkgdr_close (g);
}

static void
try_device (Device *self)
{
  CUcontext context = NULL;

  if (!check (self, "no-context", "cuDevicePrimaryCtxRetain",
          self->cu->cuDevicePrimaryCtxRetain (&context, self->number)))
    return;
  if (check (self, "no-context", "cuCtxPushCurrent",
          self->cu->cuCtxPushCurrent (context))) {
    try_memory (self);
    self->cu->cuCtxPopCurrent (&context);
  }
  self->cu->cuDevicePrimaryCtxRelease (self->number);
}

/* --- facts ---------------------------------------------------------------- */

/* Returns: (nullable) */
static const gchar *
ask_compiler (gint ordinal, const gchar **why_not)
{
  GError *error = NULL;
  GstVkgdrContext *context = gst_vkgdr_context_new (ordinal, &error);
  gchar *compiler = NULL;

  if (context)
    compiler = gst_vkgdr_kernel_describe_compiler (context, &error);
  if (!compiler)
    *why_not =
        info_keep (g_strdup (error ? error->message : "no reason is given"));
  g_clear_error (&error);
  gst_clear_object (&context);
  return info_keep (compiler);
}

/* Returns: 0 if it is not known. */
static gint
ask_cuda (const Device *self, CUdevice_attribute attribute)
{
  int value = 0;

  self->cu->cuDeviceGetAttribute (&value, attribute, self->number);
  return value;
}

/* Returns: (nullable): NULL if the UUID is not known. */
static const gchar *
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
  return info_keep (g_string_free (text, !known));
}

static GVariant *
describe_memory_types (const vkgdr_device_info *info)
{
  GVariantBuilder types, flags;
  guint i, bit;

  g_variant_builder_init (&types, G_VARIANT_TYPE ("aa{sv}"));
  for (i = 0; i < info->n_memory_types; i++) {
    const vkgdr_memory_type *type = &info->memory_types[i];

    g_variant_builder_init (&flags, G_VARIANT_TYPE ("as"));
    for (bit = 0; bit < 32; bit++)
      if (type->flags >> bit & 1)
        g_variant_builder_add (&flags, "s",
            bit < G_N_ELEMENTS (flag_names) ? flag_names[bit]
                                            : keep ("%#x", 1u << bit));
    g_variant_builder_add_parsed (&types,
        "{'heap': <%u>, 'heap-size': <%t>, 'flags': <%as>}", type->heap,
        type->heap_size, &flags);
  }
  return g_variant_builder_end (&types);
}

/* Returns: (nullable): NULL if the text is empty. */
static const gchar *
known (const gchar *text)
{
  return *text ? info_keep (g_strdup (text)) : NULL;
}

/* An entry of an a{sv}. The arguments are those of g_variant_new(). */
#define ADD(builder, name, ...) \
  g_variant_builder_add (builder, "{sv}", name, g_variant_new (__VA_ARGS__))

/* If other processes use much memory, the budget of this process can be less
 * than it already uses. */
static void
add_window (
    GVariantBuilder *facts, const vkgdr_device_info *info, gboolean staged)
{
  gboolean known = info->window_size > 0;
  guint64 used = info->window_usage, budget = info->window_budget;

  ADD (facts, "has-window", "mb", known || staged, known);
  ADD (facts, "window-size", "mt", known, info->window_size);
  ADD (facts, "window-free", "mt", known, MAX (budget, used) - used);
  ADD (facts, "window-budget", "mt", known, budget);
  ADD (facts, "window-usage", "mt", known, used);
  ADD (facts, "coherent", "mb", known, info->coherent);
  ADD (facts, "host-cached", "mb", known, info->host_cached);
  ADD (facts, "memory-type", "mu", known, info->memory_type);
}

static void
add_info (GVariantBuilder *facts, const vkgdr_device_info *info)
{
  gint cuda = info->cuda_driver_version;
  guint32 vulkan = info->vulkan_api_version;

  ADD (facts, "name", "ms", known (info->name));
  ADD (facts, "software", "b", info->software);
  ADD (facts, "uuid", "ms", format_uuid (info->uuid));
  ADD (facts, "pci-address", "ms", known (info->pci_address));
  ADD (facts, "bar-size", "mt", info->bar_size > 0, info->bar_size);
  ADD (facts, "vulkan-driver", "ms", known (info->vulkan_driver));
  g_variant_builder_add (
      facts, "{sv}", "memory-types", describe_memory_types (info));
  ADD (facts, "cuda-driver", "ms",
      cuda ? keep ("%d.%d", cuda / 1000, cuda % 1000 / 10) : NULL);
  ADD (facts, "vulkan-api", "ms",
      vulkan ? keep (
          "%u.%u.%u", vulkan >> 22 & 0x7f, vulkan >> 12 & 0x3ff, vulkan & 0xfff)
             : NULL);
}

/* Data that only CUDA has. */
static void
add_cuda (GVariantBuilder *facts, const Device *self, gboolean software)
{
  gint mode = ask_cuda (self, CU_DEVICE_ATTRIBUTE_COMPUTE_MODE);
  gint major = ask_cuda (self, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
  gint minor = ask_cuda (self, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
  size_t memory = 0;

  if (self->cu->cuDeviceTotalMem (&memory, self->number) != CUDA_SUCCESS)
    memory = 0;
  ADD (facts, "memory-size", "mt", memory > 0, (guint64) memory);
  ADD (facts, "compute-mode", "s",
      mode == CU_COMPUTEMODE_DEFAULT             ? "default"
      : mode == CU_COMPUTEMODE_PROHIBITED        ? "prohibited"
      : mode == CU_COMPUTEMODE_EXCLUSIVE_PROCESS ? "exclusive-process"
                                                 : "unknown");
  ADD (facts, "compute-capability", "ms",
      major > 0 && !software ? keep ("%d.%d", major, minor) : NULL);
}

/* --- the report ----------------------------------------------------------- */

static JsonObject *
collect_device (const vkgdr_cuda *cu, gint ordinal, InfoProbe *probe)
{
  Device self = { cu, 0, NULL, { "cuda-device", "none", NULL } };
  CUresult result = cu->cuDeviceGet (&self.number, ordinal);
  vkgdr_device_info info = { { 0 } };
  vkgdr_obstacle obstacle = VKGDR_OBSTACLE_CUDA_DEVICE;
  const gchar *compiler = NULL, *why_not = NULL;
  GVariantBuilder facts;
  gboolean staged;

  if (result == CUDA_SUCCESS)
    obstacle = vkgdr_probe (self.number, &info);
  self.probe.obstacle = obstacles[obstacle];
  if (result != CUDA_SUCCESS)
    self.error = describe_result (cu, "cuDeviceGet", result);
  else if (obstacle != VKGDR_OBSTACLE_NONE)
    self.error = take_last_error ();
  staged = obstacle >= VKGDR_OBSTACLE_VULKAN_LOADER;
  if (obstacle == VKGDR_OBSTACLE_NONE || staged)
    try_device (&self);
  if (strcmp (self.probe.trial, "passed") == 0)
    compiler = ask_compiler (ordinal, &why_not);

  g_variant_builder_init (&facts, G_VARIANT_TYPE_VARDICT);
  ADD (&facts, "device", "i", ordinal);
  ADD (&facts, "error", "ms", self.error);
  ADD (&facts, "compiler", "ms", compiler);
  ADD (&facts, "compiler-error", "ms", why_not);
  add_info (&facts, &info);
  add_cuda (&facts, &self, info.software);
  add_window (&facts, &info, staged);
  *probe = self.probe;
  return info_take_facts (g_variant_builder_end (&facts));
}

JsonObject *
info_collect (gboolean *usable)
{
  const vkgdr_cuda *cu = vkgdr_driver_load ();
  const gchar *error = cu ? NULL : take_last_error ();
  const gchar *driver = vkgdr_driver_is_software () ? "softcuda" : "nvidia";
  CUresult result = CUDA_SUCCESS;
  JsonArray *devices = json_array_new ();
  JsonObject *report;
  InfoProbe *probes;
  int n = 0, i;

  if (cu)
    result = cu->cuDeviceGetCount (&n);
  if (result != CUDA_SUCCESS)
    error = describe_result (cu, "cuDeviceGetCount", result);
  probes = g_new0 (InfoProbe, n);
  for (i = 0; i < n; i++)
    json_array_add_object_element (devices, collect_device (cu, i, &probes[i]));
  report = info_describe_machine ();
  json_object_set_string_member (report, "version", VKGDR_VERSION);
  json_object_set_string_member (report, "copy-isa", vkgdr_copy_isa ());
  json_object_set_string_member (report, "driver", error ? NULL : driver);
  json_object_set_string_member (report, "driver-error", error);
  json_object_set_string_member (report, "why-software",
      info_keep (g_strdup (vkgdr_driver_why_software ())));
  json_object_set_array_member (report, "devices", devices);
  *usable = FALSE;
  for (i = 0; i < n; i++) {
    info_judge (report, json_array_get_object_element (devices, i), &probes[i]);
    *usable |= strcmp (probes[i].trial, "passed") == 0;
  }
  if (n == 0)
    info_judge (report, NULL, NULL);
  g_free (probes);
  return report;
}
