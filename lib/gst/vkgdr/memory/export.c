/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * memory/export.c: memory that several processes use
 *
 * A file descriptor stands for it, which another process imports. Knows nothing
 * of how the descriptor gets there.
 */

#include "memory/memory.h"

static gboolean
check_exportable (const GstVkgdrBlock *block, GError **error)
{
  if (!block->allocation->backing->export_fd) {
    g_set_error_literal (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_ARGUMENT,
        "the memory has no file descriptor: it does not lie in the window, or "
        "another library allocated it. gst_vkgdr_memory_export_ipc_handle() "
        "may "
        "export it; else copy it to memory of "
        "gst_vkgdr_allocator_alloc_exportable()");
    return FALSE;
  }
  if (gst_vkgdr_block_is_private (block))
    return TRUE;
  g_set_error_literal (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_ARGUMENT,
      "the memory shares its allocation with others, which a file descriptor "
      "would give away: allocate it with "
      "gst_vkgdr_allocator_alloc_exportable(), or in a pool");
  return FALSE;
}

/**
 * gst_vkgdr_memory_export_fd:
 * @memory: a memory of type %GST_VKGDR_MEMORY_NAME
 * @fd_size: (out): bytes of what the file descriptor stands for
 * @offset: (out): where @memory begins in that
 * @error: return location for a #GError
 *
 * Exports @memory for another process on the same device, which imports it by
 * gst_vkgdr_allocator_import_fd(), or by CUDA's `cuImportExternalMemory` (an
 * opaque file descriptor) or Vulkan's `VkImportMemoryFdInfoKHR`. The file
 * descriptor stands for the memory alone, or for all buffers of its pool, and
 * never for other memory. The other process can read and write it, and keeps it
 * allocated. Nothing orders what two processes do: call
 * gst_vkgdr_memory_wait_idle() before the other one begins.
 *
 * Memory of pools, memory of one MiB and more, and memory of
 * gst_vkgdr_allocator_alloc_exportable() can be exported if it has a host
 * pointer, gst_vkgdr_memory_get_host_pointer(). For other memory of the device
 * there is gst_vkgdr_memory_export_ipc_handle(). May be called from any thread.
 *
 * Returns: a new file descriptor, which the caller closes; -1 with @error set
 * to %GST_VKGDR_ERROR_ARGUMENT if the memory cannot be exported
 *
 * Since: 0.1
 */
gint
gst_vkgdr_memory_export_fd (
    GstMemory *memory, gsize *fd_size, gsize *offset, GError **error)
{
  const GstVkgdrBlock *block;
  gint fd;

  g_return_val_if_fail (gst_is_vkgdr_memory (memory), -1);
  g_return_val_if_fail (fd_size != NULL && offset != NULL, -1);

  *fd_size = *offset = 0;
  block = &gst_vkgdr_memory_root (memory)->block;
  if (!check_exportable (block, error))
    return -1;
  g_atomic_int_set (&block->allocation->is_exported, TRUE);
  fd = block->allocation->backing->export_fd (block->allocation, error);
  if (fd < 0)
    return -1;
  *fd_size = block->allocation->size;
  *offset = block->offset + memory->offset;
  gst_vkgdr_memory_set_shared (memory);
  return fd;
}

/**
 * gst_vkgdr_allocator_import_fd:
 * @allocator: an allocator of the device that the memory is on
 * @fd: what gst_vkgdr_memory_export_fd() gave, in this process or another one;
 *   it stays the caller's
 * @fd_size: the bytes that it stands for
 * @offset: first byte of the memory in that
 * @size: bytes of the memory
 * @error: return location for a #GError
 *
 * Makes a memory of what another process has exported. It lies beside the
 * window of this one, so the CPU reads and writes it by way of a transfer.
 *
 * Returns: (transfer full) (nullable): the memory, or %NULL with @error set
 *
 * Since: 0.1
 */
GstMemory *
gst_vkgdr_allocator_import_fd (GstVkgdrAllocator *allocator, gint fd,
    gsize fd_size, gsize offset, gsize size, GError **error)
{
  GstVkgdrAllocation *allocation;
  GstVkgdrContext *context;
  GstMemory *memory;

  g_return_val_if_fail (GST_IS_VKGDR_ALLOCATOR (allocator), NULL);

  if (size == 0 || offset > fd_size || size > fd_size - offset) {
    g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_ARGUMENT,
        "%" G_GSIZE_FORMAT " bytes from %" G_GSIZE_FORMAT
        " are no part of %" G_GSIZE_FORMAT " bytes",
        size, offset, fd_size);
    return NULL;
  }
  context = gst_vkgdr_allocator_ensure_context (allocator, error);
  if (!context)
    return NULL;
  allocation = gst_vkgdr_allocation_new_imported (context, fd, fd_size, error);
  gst_object_unref (context);
  if (!allocation)
    return NULL;
  memory =
      gst_vkgdr_allocator_wrap_allocation (allocator, allocation, offset, size);
  gst_vkgdr_memory_set_shared (memory);
  return memory;
}
