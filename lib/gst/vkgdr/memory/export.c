/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * memory/export.c: memory that several processes use
 *
 * Such memory is exported as a file descriptor, which another process imports.
 * Must not know how the descriptor is sent to that process.
 */

#include "memory/allocator.h"

static gboolean
check_exportable (const GstVkgdrBlock *block, GError **error)
{
  if (!block->allocation->backing->export) {
    g_set_error_literal (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_ARGUMENT,
        "the memory has no file descriptor: it is not in the window, or "
        "another library allocated it. Copy it to memory of "
        "gst_vkgdr_allocator_alloc_exportable()");
    return FALSE;
  }
  if (gst_vkgdr_block_is_private (block))
    return TRUE;
  g_set_error_literal (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_ARGUMENT,
      "the memory shares its allocation with other memory, to which the file "
      "descriptor would give access: allocate it with "
      "gst_vkgdr_allocator_alloc_exportable(), or in a pool");
  return FALSE;
}

/**
 * gst_vkgdr_memory_export_fd:
 * @memory: a memory of type %GST_VKGDR_MEMORY_NAME
 * @description: (out) (transfer full): the bytes of a `vkgdr_fd_info`
 *   (vkgdr/vkgdr.h), which has the size of the exported allocation. The other
 *   process needs them to import the file descriptor
 * @offset: (out): offset of @memory in the exported allocation
 * @error: return location for a #GError
 *
 * Exports @memory for another process on the same device. The process imports
 * it with gst_vkgdr_allocator_import_fd(), `vkgdr_memory_import_fd()`, CUDA's
 * `cuImportExternalMemory` (an opaque file descriptor) or Vulkan's
 * `VkImportMemoryFdInfoKHR`. The file descriptor gives access to the memory
 * alone, or to all buffers of its pool, but never to other memory. The other
 * process can read and write the memory, and keeps it allocated. The accesses
 * of two processes are not ordered: call gst_vkgdr_memory_wait_idle() before
 * the other process begins.
 *
 * Memory of pools, memory of one MiB and more, and memory of
 * gst_vkgdr_allocator_alloc_exportable() can be exported if it has a host
 * pointer, see gst_vkgdr_memory_get_host_pointer(). May be called from any
 * thread.
 *
 * Returns: a new file descriptor, which the caller closes; -1 with @error set
 * to %GST_VKGDR_ERROR_ARGUMENT if the memory cannot be exported
 *
 * Since: 0.1
 */
gint
gst_vkgdr_memory_export_fd (
    GstMemory *memory, GBytes **description, gsize *offset, GError **error)
{
  vkgdr_fd_info info = { 0 };
  GstVkgdrAllocation *allocation;
  GstVkgdrMemory *root;
  gint fd;

  g_return_val_if_fail (gst_is_vkgdr_memory (memory), -1);
  g_return_val_if_fail (description != NULL && offset != NULL, -1);

  *description = NULL;
  *offset = 0;
  root = gst_vkgdr_memory_root (memory);
  allocation = root->block.allocation;
  if (!check_exportable (&root->block, error))
    return -1;
  g_atomic_int_set (&allocation->is_exported, TRUE);
  fd = allocation->backing->export(allocation, &info, error);
  if (fd < 0)
    return -1;
  gst_vkgdr_memory_set_shared (&root->mem);
  *description = g_bytes_new (&info, sizeof (info));
  *offset = root->block.offset + memory->offset;
  return fd;
}

/**
 * gst_vkgdr_allocator_import_fd:
 * @allocator: an allocator of the device that the memory is on
 * @fd: a file descriptor of gst_vkgdr_memory_export_fd(), of this process or
 *   another one; the caller still owns it
 * @description: the description that was returned with @fd
 * @error: return location for a #GError
 *
 * Makes a memory of the whole exported allocation, which contains the other
 * process's memory. gst_memory_resize() restricts it to a range, and
 * gst_vkgdr_memory_new_part() makes memories of several ranges. If the device
 * has a window in this process and the memory is in it, the CPU writes to the
 * memory directly.
 *
 * Returns: (transfer full) (nullable): the memory, or %NULL with @error set to
 *   %GST_VKGDR_ERROR_ARGUMENT if @description is invalid, if the memory is on
 *   another device or was exported by another version of the driver, or if the
 *   driver does not accept it
 *
 * Since: 0.1
 */
GstMemory *
gst_vkgdr_allocator_import_fd (
    GstVkgdrAllocator *allocator, gint fd, GBytes *description, GError **error)
{
  GstVkgdrAllocation *allocation;
  const vkgdr_fd_info *info;
  GstMemory *memory;
  gsize size;

  g_return_val_if_fail (GST_IS_VKGDR_ALLOCATOR (allocator), NULL);
  g_return_val_if_fail (description != NULL, NULL);

  info = g_bytes_get_data (description, &size);
  if (size != sizeof (*info) || info->size == 0 || info->reserved != 0) {
    g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_ARGUMENT,
        "these %" G_GSIZE_FORMAT " bytes are not a description of "
        "gst_vkgdr_memory_export_fd()",
        size);
    return NULL;
  }
  if (!gst_vkgdr_allocator_ensure_open (allocator, error))
    return NULL;
  allocation =
      gst_vkgdr_allocation_new_imported (allocator->context, fd, info, error);
  if (!allocation)
    return NULL;
  memory = gst_vkgdr_allocator_wrap_allocation (
      allocator, allocation, 0, allocation->size);
  gst_vkgdr_memory_set_shared (memory);
  return memory;
}

/**
 * gst_vkgdr_memory_new_part:
 * @memory: a memory of gst_vkgdr_allocator_import_fd()
 * @offset: offset of the part in @memory
 * @size: size of the part in bytes
 * @flags: flags of the part; %GST_MEMORY_FLAG_READONLY prevents elements from
 *   writing to it
 * @release: (nullable) (scope async) (closure user_data): called when the part
 *   was freed and the device has finished with it
 * @user_data: data for @release
 *
 * Makes a memory of a range of @memory. Unlike a memory of gst_memory_share(),
 * it has its own fences, so that users of one part do not wait for users of
 * another part. The content of the range must be complete, and must not change
 * during the life of the part, except by users of the part.
 *
 * @release may be called in any thread, including threads of this library. The
 * function may be called from any thread.
 *
 * Returns: (transfer full) (nullable): the part, which keeps @memory alive;
 *   %NULL if the range exceeds @memory
 *
 * Since: 0.2
 */
GstMemory *
gst_vkgdr_memory_new_part (GstMemory *memory, gsize offset, gsize size,
    GstMemoryFlags flags, GstVkgdrReleaseFunc release, gpointer user_data)
{
  GstVkgdrAllocation *allocation;
  GstVkgdrMemory *root, *part;

  g_return_val_if_fail (gst_is_vkgdr_memory (memory), NULL);

  if (size == 0 || offset > memory->size || size > memory->size - offset)
    return NULL;
  root = gst_vkgdr_memory_root (memory);
  allocation = gst_vkgdr_allocation_new_part (&root->mem,
      root->block.allocation, root->block.offset + memory->offset + offset,
      size, user_data, release);
  part = gst_vkgdr_memory_new_of_allocation (
      memory->allocator, root->blocks, allocation, 0, size);
  GST_MINI_OBJECT_FLAG_SET (part, flags);
  return GST_MEMORY_CAST (part);
}
