/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * memory/allocatorwrap.c: wraps memory that other libraries have allocated
 */

#include "memory/allocator.h"

/* Device pointers of other libraries must be a multiple of this many bytes, the
 * size of a kernel's widest load. An unaligned load would make the CUDA context
 * unusable. */
#define WRAPPED_ALIGNMENT 16

/* Asks the driver about the address, because a wrong address would make the
 * CUDA context unusable. */
static gboolean
check_pointer (GstVkgdrAllocator *self, CUdeviceptr pointer, GError **error)
{
  const vkgdr_cuda *cuda = gst_vkgdr_context_get_driver (self->context);
  gint ours = gst_vkgdr_context_get_device (self->context), device = -1;
  CUcontext owner = NULL;
  guint type = 0;

  if (cuda->cuPointerGetAttribute (
          &type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, pointer)
          != CUDA_SUCCESS
      || type != CU_MEMORYTYPE_DEVICE
      || cuda->cuPointerGetAttribute (
             &device, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, pointer)
             != CUDA_SUCCESS
      || device != ours) {
    g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_ARGUMENT,
        "0x%" G_GINT64_MODIFIER "x is not memory of CUDA device %d",
        (guint64) pointer, ours);
    return FALSE;
  }
  /* Memory of a CUDA memory pool does not belong to a context. */
  if (cuda->cuPointerGetAttribute (
          &owner, CU_POINTER_ATTRIBUTE_CONTEXT, pointer)
          == CUDA_SUCCESS
      && owner && owner != gst_vkgdr_context_get_cuda_context (self->context)) {
    g_set_error_literal (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_ARGUMENT,
        "the memory belongs to another CUDA context: use "
        "gst_vkgdr_context_new_from_current() with that context current");
    return FALSE;
  }
  return TRUE;
}

static gboolean
check_wrapped (
    GstVkgdrAllocator *self, CUdeviceptr pointer, gsize size, GError **error)
{
  gboolean ok;

  if (size == 0 || pointer + size - 1 < pointer) {
    g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_ARGUMENT,
        "%" G_GSIZE_FORMAT " bytes cannot be wrapped", size);
    return FALSE;
  }
  if (pointer % WRAPPED_ALIGNMENT != 0) {
    g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_ARGUMENT,
        "0x%" G_GINT64_MODIFIER
        "x is not a multiple of %d bytes, as kernels need: "
        "wrap an aligned copy",
        (guint64) pointer, WRAPPED_ALIGNMENT);
    return FALSE;
  }
  if (!gst_vkgdr_context_push (self->context, error))
    return FALSE;
  ok = check_pointer (self, pointer, error)
       && check_pointer (self, pointer + size - 1, error);
  gst_vkgdr_context_pop (self->context);
  return ok;
}

/**
 * gst_vkgdr_allocator_alloc_wrapped:
 * @allocator: an allocator
 * @device_pointer: a `CUdeviceptr` to memory of the allocator's CUDA context, a
 *   multiple of 16
 * @size: bytes
 * @flags: flags of the memory; %GST_MEMORY_FLAG_READONLY prevents elements from
 *   working in place
 * @release: (nullable) (scope async) (closure user_data): called when the
 *   memory was freed and the device has finished with it
 * @user_data: data for @release
 * @error: return location for a #GError
 *
 * Wraps device memory that another library has allocated, without a copy. The
 * result is device-only memory, so the CPU reads and writes it through a
 * staging buffer and a transfer. The first use waits for all work that is
 * queued in the CUDA context at that time. Wrapped memory does not count in the
 * allocator's statistics.
 *
 * @release may be called in any thread, including threads of this library, and
 * may use the allocator. It is not called if this function fails.
 *
 * Returns: (transfer full) (nullable): the memory, or %NULL with @error set:
 *   %GST_VKGDR_ERROR_ARGUMENT if the range is not memory of that context, or an
 *   error of gst_vkgdr_context_new()
 *
 * Since: 0.1
 */
GstMemory *
gst_vkgdr_allocator_alloc_wrapped (GstVkgdrAllocator *allocator,
    guint64 device_pointer, gsize size, GstMemoryFlags flags,
    GstVkgdrReleaseFunc release, gpointer user_data, GError **error)
{
  GstVkgdrMemory *memory;

  g_return_val_if_fail (GST_IS_VKGDR_ALLOCATOR (allocator), NULL);

  if (!gst_vkgdr_allocator_ensure_open (allocator, error)
      || !check_wrapped (allocator, device_pointer, size, error))
    return NULL;
  memory = (GstVkgdrMemory *) gst_vkgdr_allocator_wrap_allocation (allocator,
      gst_vkgdr_allocation_new_wrapped (
          allocator->context, device_pointer, size, user_data, release),
      0, size);
  GST_MINI_OBJECT_FLAG_SET (memory, flags);
  return GST_MEMORY_CAST (memory);
}

GstMemory *
gst_vkgdr_allocator_wrap_allocation (GstVkgdrAllocator *self,
    GstVkgdrAllocation *allocation, gsize offset, gsize size)
{
  GstVkgdrMemory *memory = gst_vkgdr_memory_new_of_allocation (
      GST_ALLOCATOR (self), self->blocks, allocation, offset, size);

  /* The owner sets no fences. So the first use waits for the whole CUDA
   * context. */
  gst_vkgdr_order_mark (&memory->order, NULL, GST_MAP_WRITE);
  return GST_MEMORY_CAST (memory);
}
