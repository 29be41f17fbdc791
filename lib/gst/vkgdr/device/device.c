/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * device/device.c: lists the CUDA devices and their attributes
 *
 * Queries the driver and opens no device. Does not describe windows, which need
 * Vulkan: gst_vkgdr_context_describe() does this.
 */

#include <string.h>

#include "device/deviceattributes.h"
#include "device/device-private.h"

/* The domain of most PCI addresses. */
#define PCI_DOMAIN_0 "0000:"

/**
 * SECTION:gstvkgdrdevice
 * @title: GstVkgdrDevice
 * @short_description: a CUDA device, before it is opened
 *
 * A #GstVkgdrDevice describes a device with the data of the driver: name, UUID,
 * and attributes by their names in CUDA's documentation.
 * gst_vkgdr_context_new() opens a device by its index.
 *
 * It is immutable, and may be used from any thread.
 *
 * Since: 0.1
 */

struct _GstVkgdrDevice {
  GstObject parent;

  const vkgdr_cuda *cuda; /* NULL if a binding called g_object_new () */
  gint index;
  CUdevice handle;
  gchar *model;
  gchar *uuid;
  gchar *pci_address;
  guint64 total_memory;
  gint capability;
  gint driver_version;
};

G_DEFINE_TYPE (GstVkgdrDevice, gst_vkgdr_device, GST_TYPE_OBJECT)

#define DEVICE_IS_MADE(device) \
  (GST_IS_VKGDR_DEVICE (device) && (device)->cuda != NULL)

static void
gst_vkgdr_device_finalize (GObject *object)
{
  GstVkgdrDevice *self = GST_VKGDR_DEVICE (object);

  g_free (self->model);
  g_free (self->uuid);
  g_free (self->pci_address);

  G_OBJECT_CLASS (gst_vkgdr_device_parent_class)->finalize (object);
}

static void
gst_vkgdr_device_class_init (GstVkgdrDeviceClass *klass)
{
  G_OBJECT_CLASS (klass)->finalize = gst_vkgdr_device_finalize;
}

static void
gst_vkgdr_device_init (GstVkgdrDevice *self)
{
}

static const vkgdr_cuda *
load_driver (GError **error)
{
  const vkgdr_cuda *cuda = vkgdr_driver_load ();

  if (!cuda)
    gst_vkgdr_set_last_error (error, GST_VKGDR_ERROR_NO_DRIVER);
  return cuda;
}

/**
 * gst_vkgdr_device_count:
 * @error: return location for a #GError
 *
 * Counts the CUDA devices of the driver. Without NVIDIA's driver, there is one
 * device, the software device.
 *
 * Returns: the number of devices, or -1 with @error set
 *   (%GST_VKGDR_ERROR_NO_DRIVER)
 *
 * Since: 0.1
 */
gint
gst_vkgdr_device_count (GError **error)
{
  const vkgdr_cuda *cuda = load_driver (error);
  int n = 0;

  if (!cuda
      || !gst_vkgdr_check (
          cuda, cuda->cuDeviceGetCount (&n), "cuDeviceGetCount", error))
    return -1;
  return n;
}

static gchar *
format_uuid (const CUuuid *uuid)
{
  GString *text = g_string_new (NULL);
  guint i;

  for (i = 0; i < sizeof (uuid->bytes); i++)
    g_string_append_printf (text, "%s%02x",
        i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "",
        (guint8) uuid->bytes[i]);
  return g_string_free (text, FALSE);
}

gint
gst_vkgdr_read_capability (
    const vkgdr_cuda *cuda, CUdevice device, GError **error)
{
  int major = 0, minor = 0;

  if (!gst_vkgdr_check (cuda,
          cuda->cuDeviceGetAttribute (
              &major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device),
          "cuDeviceGetAttribute", error)
      || !gst_vkgdr_check (cuda,
          cuda->cuDeviceGetAttribute (
              &minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device),
          "cuDeviceGetAttribute", error))
    return 0;
  if (major == 0 && minor == 0)
    g_set_error_literal (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_FAILED,
        "the driver reports no compute capability");
  return 10 * major + minor;
}

static gboolean
read_device (GstVkgdrDevice *self, GError **error)
{
  const vkgdr_cuda *cuda = self->cuda;
  gchar name[256] = "", address[32] = "";
  size_t total = 0;
  CUuuid uuid;

  if (!gst_vkgdr_check (cuda, cuda->cuDeviceGet (&self->handle, self->index),
          "cuDeviceGet", error)
      || !gst_vkgdr_check (cuda,
          cuda->cuDeviceGetName (name, sizeof (name), self->handle),
          "cuDeviceGetName", error)
      || !gst_vkgdr_check (cuda, cuda->cuDeviceGetUuid (&uuid, self->handle),
          "cuDeviceGetUuid", error)
      || !gst_vkgdr_check (cuda,
          cuda->cuDeviceGetPCIBusId (address, sizeof (address), self->handle),
          "cuDeviceGetPCIBusId", error)
      || !gst_vkgdr_check (cuda, cuda->cuDeviceTotalMem (&total, self->handle),
          "cuDeviceTotalMem", error)
      || !gst_vkgdr_check (cuda,
          cuda->cuDriverGetVersion (&self->driver_version),
          "cuDriverGetVersion", error))
    return FALSE;
  self->model = g_strdup (name);
  self->uuid = format_uuid (&uuid);
  self->pci_address = g_ascii_strdown (address, -1);
  self->total_memory = total;
  self->capability = gst_vkgdr_read_capability (cuda, self->handle, error);
  return self->capability != 0;
}

/**
 * gst_vkgdr_device_new:
 * @index: index of a CUDA device
 * @error: return location for a #GError
 *
 * Gets the driver's description of a device.
 *
 * Returns: (transfer full) (nullable): the device, or %NULL with @error set
 *   (%GST_VKGDR_ERROR_NO_DRIVER, %GST_VKGDR_ERROR_NO_DEVICE)
 *
 * Since: 0.1
 */
GstVkgdrDevice *
gst_vkgdr_device_new (gint index, GError **error)
{
  const vkgdr_cuda *cuda = load_driver (error);
  GstVkgdrDevice *self;
  int n = 0;

  if (!cuda
      || !gst_vkgdr_check (
          cuda, cuda->cuDeviceGetCount (&n), "cuDeviceGetCount", error))
    return NULL;
  if (index < 0 || index >= n) {
    g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_NO_DEVICE,
        "there is no CUDA device %d: the driver offers %d, counted from 0",
        index, n);
    return NULL;
  }
  self = g_object_new (GST_TYPE_VKGDR_DEVICE, NULL);
  gst_object_ref_sink (self);
  self->cuda = cuda;
  self->index = index;
  if (!read_device (self, error))
    gst_clear_object (&self);
  return self;
}

/* Whether @text is the driver's @address. nvidia-smi writes the domain with
 * eight digits; lspci leaves it out if all domains are 0. */
static gboolean
is_pci_address (const gchar *text, const gchar *address)
{
  if (strchr (text, ':') == strrchr (text, ':'))
    return g_str_has_prefix (address, PCI_DOMAIN_0)
           && g_ascii_strcasecmp (address + strlen (PCI_DOMAIN_0), text) == 0;
  while (strlen (text) > strlen (address) && *text == '0')
    text++;
  return g_ascii_strcasecmp (address, text) == 0;
}

/**
 * gst_vkgdr_device_new_for_pci_address:
 * @address: a PCI address, such as `0000:3b:00.0` or `3b:00.0`, in the form of
 *   lspci or nvidia-smi
 * @error: return location for a #GError
 *
 * Finds a device by its PCI address.
 *
 * Returns: (transfer full) (nullable): the device, or %NULL with @error set
 *   (%GST_VKGDR_ERROR_NO_DRIVER, %GST_VKGDR_ERROR_NO_DEVICE)
 *
 * Since: 0.1
 */
GstVkgdrDevice *
gst_vkgdr_device_new_for_pci_address (const gchar *address, GError **error)
{
  gint i, n;

  g_return_val_if_fail (address != NULL, NULL);

  n = gst_vkgdr_device_count (error);
  if (n < 0)
    return NULL;
  for (i = 0; i < n; i++) {
    GstVkgdrDevice *device = gst_vkgdr_device_new (i, NULL);

    if (!device)
      continue;
    if (is_pci_address (address, device->pci_address))
      return device;
    gst_object_unref (device);
  }
  g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_NO_DEVICE,
      "there is no CUDA device at %s: the driver offers %d (vkgdr-info lists "
      "them)",
      address, n);
  return NULL;
}

/**
 * gst_vkgdr_device_get_index:
 * @device: a device
 *
 * Returns: its index, for gst_vkgdr_context_new()
 *
 * Since: 0.1
 */
gint
gst_vkgdr_device_get_index (GstVkgdrDevice *device)
{
  g_return_val_if_fail (DEVICE_IS_MADE (device), -1);

  return device->index;
}

/**
 * gst_vkgdr_device_get_model:
 * @device: a device
 *
 * Returns: (transfer none): its name in the driver, such as "NVIDIA H200"
 *
 * Since: 0.1
 */
const gchar *
gst_vkgdr_device_get_model (GstVkgdrDevice *device)
{
  g_return_val_if_fail (DEVICE_IS_MADE (device), NULL);

  return device->model;
}

/**
 * gst_vkgdr_device_get_uuid:
 * @device: a device
 *
 * Returns: (transfer none): its UUID, 32 hexadecimal digits in five groups
 *
 * Since: 0.1
 */
const gchar *
gst_vkgdr_device_get_uuid (GstVkgdrDevice *device)
{
  g_return_val_if_fail (DEVICE_IS_MADE (device), NULL);

  return device->uuid;
}

/**
 * gst_vkgdr_device_get_pci_address:
 * @device: a device
 *
 * Returns: (transfer none): its PCI address, such as `0000:3b:00.0`
 *
 * Since: 0.1
 */
const gchar *
gst_vkgdr_device_get_pci_address (GstVkgdrDevice *device)
{
  g_return_val_if_fail (DEVICE_IS_MADE (device), NULL);

  return device->pci_address;
}

/**
 * gst_vkgdr_device_get_total_memory:
 * @device: a device
 *
 * Returns: the size of its memory in bytes
 *
 * Since: 0.1
 */
guint64
gst_vkgdr_device_get_total_memory (GstVkgdrDevice *device)
{
  g_return_val_if_fail (DEVICE_IS_MADE (device), 0);

  return device->total_memory;
}

/**
 * gst_vkgdr_device_get_compute_capability:
 * @device: a device
 *
 * Returns: 10 * major + minor version number: 90 for 9.0
 *
 * Since: 0.1
 */
gint
gst_vkgdr_device_get_compute_capability (GstVkgdrDevice *device)
{
  g_return_val_if_fail (DEVICE_IS_MADE (device), 0);

  return device->capability;
}

/**
 * gst_vkgdr_device_get_driver_version:
 * @device: a device
 *
 * Returns: the CUDA version that the driver supports, 1000 * major + 10 *
 *   minor: 12040 for 12.4
 *
 * Since: 0.1
 */
gint
gst_vkgdr_device_get_driver_version (GstVkgdrDevice *device)
{
  g_return_val_if_fail (DEVICE_IS_MADE (device), 0);

  return device->driver_version;
}

/* Returns the current name in CUDA of the attribute @name. */
static const gchar *
current_name (const gchar *name)
{
  guint i;

  for (i = 0; i < G_N_ELEMENTS (device_attribute_aliases); i++)
    if (strcmp (device_attribute_aliases[i].name, name) == 0)
      return device_attribute_aliases[i].replacement;
  return name;
}

/* Returns the number of the attribute, or -1. @name may be spelled as in CUDA:
 * MAX_PITCH is the same as max-pitch. */
static gint
find_attribute (const gchar *name)
{
  gchar *plain = g_strdelimit (g_ascii_strdown (name, -1), "_", '-');
  const gchar *current = current_name (plain);
  gint found = -1;
  guint i;

  for (i = 0; i < G_N_ELEMENTS (device_attributes) && found < 0; i++)
    if (strcmp (device_attributes[i].name, current) == 0)
      found = device_attributes[i].value;
  g_free (plain);
  return found;
}

/**
 * gst_vkgdr_device_get_attribute:
 * @device: a device
 * @name: name of an attribute as in CUDA's documentation after
 *   `CU_DEVICE_ATTRIBUTE_`: "max-threads-per-block", or "MAX_THREADS_PER_BLOCK"
 * @error: return location for a #GError
 *
 * Gets an attribute from the driver.
 *
 * Returns: its value; -1 with @error set to %GST_VKGDR_ERROR_NOT_FOUND if there
 *   is no such attribute, and to %GST_VKGDR_ERROR_FAILED if the driver does not
 *   support it
 *
 * Since: 0.1
 */
gint
gst_vkgdr_device_get_attribute (
    GstVkgdrDevice *device, const gchar *name, GError **error)
{
  gint attribute;
  int value = 0;

  g_return_val_if_fail (DEVICE_IS_MADE (device), -1);
  g_return_val_if_fail (name != NULL, -1);

  attribute = find_attribute (name);
  if (attribute < 0) {
    g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_NOT_FOUND,
        "there is no device attribute named \"%s\"", name);
    return -1;
  }
  if (!gst_vkgdr_check (device->cuda,
          device->cuda->cuDeviceGetAttribute (
              &value, (CUdevice_attribute) attribute, device->handle),
          "cuDeviceGetAttribute", error))
    return -1;
  return value;
}

/**
 * gst_vkgdr_device_get_attributes:
 * @device: a device
 *
 * Gets all known attributes from the driver.
 *
 * Returns: (transfer full): a structure with a field (int) for each attribute
 *   that the driver supports
 *
 * Since: 0.1
 */
GstStructure *
gst_vkgdr_device_get_attributes (GstVkgdrDevice *device)
{
  GstStructure *all;
  guint i;
  int value;

  g_return_val_if_fail (DEVICE_IS_MADE (device), NULL);

  all = gst_structure_new_empty ("attributes");
  for (i = 0; i < G_N_ELEMENTS (device_attributes); i++)
    if (device->cuda->cuDeviceGetAttribute (&value,
            (CUdevice_attribute) device_attributes[i].value, device->handle)
        == CUDA_SUCCESS)
      gst_structure_set (
          all, device_attributes[i].name, G_TYPE_INT, value, NULL);
  return all;
}

/**
 * gst_vkgdr_device_can_access_peer:
 * @device: a device
 * @peer: another device
 *
 * Copies between devices are always possible, through host memory if necessary.
 *
 * Returns: whether kernels on @device could use the memory of @peer directly
 *
 * Since: 0.1
 */
gboolean
gst_vkgdr_device_can_access_peer (GstVkgdrDevice *device, GstVkgdrDevice *peer)
{
  int can = 0;

  g_return_val_if_fail (DEVICE_IS_MADE (device), FALSE);
  g_return_val_if_fail (DEVICE_IS_MADE (peer), FALSE);

  if (!device->cuda->cuDeviceCanAccessPeer)
    return FALSE;
  return device->cuda->cuDeviceCanAccessPeer (
             &can, device->handle, peer->handle)
             == CUDA_SUCCESS
         && can;
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
