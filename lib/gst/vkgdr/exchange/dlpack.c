/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * exchange/dlpack.c: memory to and from tensor libraries
 *
 * Only this file and exchange/pycapsule.c know DLPack's structures. An exported
 * tensor holds a mapping; an imported tensor is held by the memory that wraps
 * it. Must not know Python, nor the content of a frame.
 */

#include <dlpack/dlpack.h>

#include <gst/vkgdr/gstvkgdrdlpack.h>

#include "memory/memory-private.h"

GType
gst_vkgdr_element_type_get_type (void)
{
  static gsize type = 0;
  static const GEnumValue values[] = {
    { GST_VKGDR_ELEMENT_TYPE_INT, "Signed integers", "int" },
    { GST_VKGDR_ELEMENT_TYPE_UINT, "Unsigned integers", "uint" },
    { GST_VKGDR_ELEMENT_TYPE_FLOAT, "Floating point numbers", "float" },
    { GST_VKGDR_ELEMENT_TYPE_BFLOAT, "Upper halves of single precision",
        "bfloat" },
    { 0, NULL, NULL },
  };

  if (g_once_init_enter (&type))
    g_once_init_leave (
        &type, g_enum_register_static ("GstVkgdrElementType", values));
  return type;
}

/* --- memory to tensors --------------------------------------------------- */

/* A tensor with the data that it points to. */
typedef struct {
  DLManagedTensor managed;
  GstVkgdrMapping *mapping;
  gint64 numbers[]; /* shape, then strides */
} Export;

static void
export_delete (DLManagedTensor *managed)
{
  Export *export = managed->manager_ctx;

  gst_vkgdr_mapping_unref (export->mapping);
  g_free (export);
}

/* Sets @bytes to the distance from the first byte to the end of the last one.
 */
static gboolean
get_extent (const gint64 *shape, const gint64 *strides, guint n_dims,
    guint element, guint64 *bytes)
{
  guint64 last = 0, step;
  guint i;

  for (i = 0; i < n_dims; i++) {
    if (shape[i] < 1 || strides[i] < 0)
      return FALSE;
    if (!g_uint64_checked_mul (&step, shape[i] - 1, strides[i])
        || !g_uint64_checked_add (&last, last, step))
      return FALSE;
  }
  return g_uint64_checked_add (&last, last, 1)
         && g_uint64_checked_mul (bytes, last, element);
}

static gboolean
check_export (GstVkgdrMapping *mapping, gsize offset, const gint64 *shape,
    const gint64 *strides, guint n_dims, guint bits, GError **error)
{
  gsize size = gst_vkgdr_mapping_get_size (mapping);
  guint64 bytes = 0;

  if (!(gst_vkgdr_mapping_get_flags (mapping) & GST_MAP_VKGDR)
      || gst_vkgdr_mapping_get_pointer (mapping) == 0) {
    g_set_error_literal (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_ARGUMENT,
        "a tensor needs memory that is mapped for the device");
    return FALSE;
  }
  if (bits != 8 && bits != 16 && bits != 32 && bits != 64) {
    g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_ARGUMENT,
        "elements of %u bits are not supported: use 8, 16, 32 or 64", bits);
    return FALSE;
  }
  if (get_extent (shape, strides, n_dims, bits / 8, &bytes) && offset <= size
      && bytes <= size - offset)
    return TRUE;
  g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_ARGUMENT,
      "a tensor of %u dimensions at byte %" G_GSIZE_FORMAT
      " is empty, or exceeds the memory of %" G_GSIZE_FORMAT " bytes",
      n_dims, offset, size);
  return FALSE;
}

/**
 * gst_vkgdr_mapping_to_dlpack:
 * @mapping: a mapping with %GST_MAP_VKGDR
 * @offset: the offset of the tensor's first byte in the mapping
 * @shape: (array length=n_dims): elements in each dimension, 1 at least
 * @strides: (array length=n_dims): the distance of neighbouring elements in
 *   each dimension, in elements, not negative
 * @n_dims: the number of dimensions
 * @type: the type of the elements
 * @bits: the size of an element in bits: 8, 16, 32 or 64
 * @error: return location for a #GError
 *
 * Makes a DLPack tensor of mapped memory. The memory stays mapped until the
 * tensor is deleted. If the mapping was not made on a stream, the content is on
 * the device already, so a consumer does not have to wait for a stream. The
 * consumer may delete the tensor before its queued work is done: the next user
 * of the memory waits for all work of the CUDA context.
 *
 * If the mapping was made on a stream, the consumer has to use the stream of
 * the mapping, or a stream of gst_vkgdr_mapping_add_stream() or
 * gst_vkgdr_mapping_lend().
 *
 * Returns: (transfer full) (nullable): a `DLManagedTensor`, which is deleted
 *   with its own `deleter`, from any thread; or %NULL with @error set
 *
 * Since: 0.1
 */
gpointer
gst_vkgdr_mapping_to_dlpack (GstVkgdrMapping *mapping, gsize offset,
    const gint64 *shape, const gint64 *strides, guint n_dims,
    GstVkgdrElementType type, guint bits, GError **error)
{
  GstVkgdrContext *context;
  DLTensor *tensor;
  Export *export;

  g_return_val_if_fail (mapping, NULL);

  if (!check_export (mapping, offset, shape, strides, n_dims, bits, error))
    return NULL;
  context =
      gst_vkgdr_memory_get_context (gst_vkgdr_mapping_get_memory (mapping));

  export = g_malloc0 (sizeof (*export) + 2 * n_dims * sizeof (gint64));
  export->mapping = gst_vkgdr_mapping_ref (mapping);
  export->managed.manager_ctx = export;
  export->managed.deleter = export_delete;
  tensor = &export->managed.dl_tensor;
  /* byte_offset is not used, because some consumers ignore it. */
  tensor->data =
      (gpointer) (guintptr) (gst_vkgdr_mapping_get_pointer (mapping) + offset);
  tensor->device.device_type = kDLCUDA;
  tensor->device.device_id = gst_vkgdr_context_get_device (context);
  tensor->ndim = n_dims;
  tensor->dtype.code = type;
  tensor->dtype.bits = bits;
  tensor->dtype.lanes = 1;
  tensor->shape = export->numbers;
  tensor->strides = export->numbers + n_dims;
  memcpy (tensor->shape, shape, n_dims * sizeof (gint64));
  memcpy (tensor->strides, strides, n_dims * sizeof (gint64));
  return &export->managed;
}

/* --- tensors to memory --------------------------------------------------- */

static gboolean
check_device (GstVkgdrContext *context, const DLTensor *tensor, GError **error)
{
  gint device = gst_vkgdr_context_get_device (context);

  if (tensor->device.device_type != kDLCUDA) {
    g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_ARGUMENT,
        "the tensor is not in a CUDA device's memory (DLPack device type %d): "
        "move it to device %d first",
        tensor->device.device_type, device);
    return FALSE;
  }
  if (tensor->device.device_id != device) {
    g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_ARGUMENT,
        "the tensor is on device %d, and the context of device %d: move it "
        "there, or use a context of its device",
        tensor->device.device_id, device);
    return FALSE;
  }
  return TRUE;
}

/* Sets @size to the size of the tensor in bytes, if the tensor is contiguous.
 */
static gboolean
get_size (const DLTensor *tensor, gsize *size, GError **error)
{
  guint64 bits = (guint64) tensor->dtype.bits * tensor->dtype.lanes;
  guint64 count = 1;
  gint i;

  for (i = tensor->ndim - 1; i >= 0; i--) {
    gint64 n = tensor->shape[i];

    if (n < 1) {
      g_set_error_literal (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_ARGUMENT,
          "the tensor is empty");
      return FALSE;
    }
    if (n > 1 && tensor->strides && (guint64) tensor->strides[i] != count) {
      g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_ARGUMENT,
          "the tensor is not contiguous (dimension %d has stride "
          "%" G_GINT64_FORMAT ", not %" G_GUINT64_FORMAT
          "): make a contiguous copy of it",
          i, (gint64) tensor->strides[i], count);
      return FALSE;
    }
    if (!g_uint64_checked_mul (&count, count, n))
      break;
  }
  if (i < 0 && bits > 0 && bits % 8 == 0
      && g_uint64_checked_mul (&count, count, bits / 8)) {
    *size = count;
    return TRUE;
  }
  g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_ARGUMENT,
      "the tensor's elements have %" G_GUINT64_FORMAT
      " bits, which is not a whole number of bytes, or it has too many "
      "elements",
      bits);
  return FALSE;
}

static void
import_delete (gpointer data)
{
  DLManagedTensor *managed = data;

  if (managed->deleter)
    managed->deleter (managed);
}

/**
 * gst_vkgdr_memory_new_from_dlpack:
 * @context: the context of the elements that will use the memory
 * @tensor: a contiguous `DLManagedTensor` of CUDA memory of that context, whose
 *   first byte is at a multiple of 16 bytes; owned by the memory if the
 *   function succeeds
 * @flags: flags of the memory; %GST_MEMORY_FLAG_READONLY prevents elements from
 *   working in place
 * @error: return location for a #GError
 *
 * Makes a memory of a tensor, without a copy. Elements use it as device-only
 * memory. The first use of the memory waits for all work that is queued in the
 * CUDA context at that time. The tensor is deleted when the memory was freed
 * and the device has finished with it. This may happen in any thread, including
 * threads of this library.
 *
 * Returns: (transfer full) (nullable): the memory, or %NULL with @error set:
 *   %GST_VKGDR_ERROR_ARGUMENT if the tensor is not contiguous, or not in memory
 *   of the context's device
 *
 * Since: 0.1
 */
GstMemory *
gst_vkgdr_memory_new_from_dlpack (GstVkgdrContext *context, gpointer tensor,
    GstMemoryFlags flags, GError **error)
{
  DLManagedTensor *managed = tensor;
  GstVkgdrAllocator *allocator;
  GstMemory *memory;
  gsize size;

  g_return_val_if_fail (GST_IS_VKGDR_CONTEXT (context), NULL);
  g_return_val_if_fail (tensor, NULL);

  if (!check_device (context, &managed->dl_tensor, error)
      || !get_size (&managed->dl_tensor, &size, error))
    return NULL;
  allocator = gst_vkgdr_context_get_allocator (context);
  memory = gst_vkgdr_allocator_alloc_wrapped (allocator,
      (guintptr) managed->dl_tensor.data + managed->dl_tensor.byte_offset, size,
      flags, import_delete, managed, error);
  gst_object_unref (allocator);
  return memory;
}
