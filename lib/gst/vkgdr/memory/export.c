/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * memory/export.c: memory in the window that several processes use
 *
 * It is known to the kernel by a file descriptor, which another process
 * imports. Knows nothing of how it gets there.
 */

#include <unistd.h>

#include "memory/memory-private.h"

/* An import, as long as a memory of it. */
typedef struct {
  GstVkgdrContext *context;
  CUexternalMemory external;
  CUdeviceptr pointer;
} Import;

/**
 * gst_vkgdr_memory_export_fd:
 * @memory: a memory of type %GST_VKGDR_MEMORY_NAME
 * @fd_size: (out): bytes of what the file descriptor stands for
 * @offset: (out): where @memory begins in that
 * @error: return location for a #GError
 *
 * Exports the allocation that @memory is a part of, for another process, on the
 * same device, to import: gst_vkgdr_allocator_import_fd(), or CUDA's
 * `cuImportExternalMemory` (an opaque file descriptor) and Vulkan's
 * `VkImportMemoryFdInfoKHR`. The other process sees the same bytes, those of
 * other memories in the allocation among them, and keeps the allocation.
 * Nothing orders what two processes do: gst_vkgdr_memory_wait_idle() before the
 * other one is told to begin.
 *
 * Memory that has a host pointer, gst_vkgdr_memory_get_host_pointer(), is
 * exported so; what lies beside the window, by
 * gst_vkgdr_memory_export_ipc_handle().
 *
 * Returns: a new file descriptor, which the caller closes; -1 with @error set
 *   to %GST_VKGDR_ERROR_ARGUMENT where the memory lies beside the window, or is
 *   somebody else's
 *
 * Since: 0.1
 */
gint
gst_vkgdr_memory_export_fd (
    GstMemory *memory, gsize *fd_size, gsize *offset, GError **error)
{
  const GstVkgdrMemory *root;
  gint fd;

  g_return_val_if_fail (gst_is_vkgdr_memory (memory), -1);
  g_return_val_if_fail (fd_size != NULL && offset != NULL, -1);

  *fd_size = *offset = 0;
  root = (const GstVkgdrMemory *) gst_vkgdr_share_root (memory);
  if (!root->block.host) {
    g_set_error_literal (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_ARGUMENT,
        "the memory lies beside the window, or is somebody else's, and has no "
        "file descriptor: gst_vkgdr_memory_export_ipc_handle() exports it, or "
        "copy it to one that gst_vkgdr_allocator_alloc() makes while the "
        "window has room");
    return -1;
  }
  fd = gst_vkgdr_block_export (&root->block, fd_size, offset, error);
  *offset += memory->offset;
  if (fd >= 0)
    gst_vkgdr_memory_set_in_common (memory);
  return fd;
}

static void
free_import (gpointer data)
{
  Import *import = data;
  const vkgdr_cuda *cuda = gst_vkgdr_context_get_driver (import->context);

  if (gst_vkgdr_context_push_alone (import->context, NULL)) {
    if (import->pointer)
      cuda->cuMemFree (import->pointer);
    if (import->external)
      cuda->cuDestroyExternalMemory (import->external);
    gst_vkgdr_context_pop_alone (import->context);
  }
  gst_object_unref (import->context);
  g_free (import);
}

/* With the context pushed. CUDA takes the file descriptor that it imports. */
static gboolean
run_import (Import *import, gint fd, gsize fd_size, GError **error)
{
  const vkgdr_cuda *cuda = gst_vkgdr_context_get_driver (import->context);
  CUDA_EXTERNAL_MEMORY_HANDLE_DESC handle = {
    .type = CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD, .size = fd_size
  };
  CUDA_EXTERNAL_MEMORY_BUFFER_DESC buffer = { .size = fd_size };

  handle.handle.fd = dup (fd);
  if (handle.handle.fd < 0) {
    g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_ARGUMENT,
        "%d is no open file descriptor, or there are too many (ulimit -n)", fd);
    return FALSE;
  }
  if (!gst_vkgdr_check (cuda,
          cuda->cuImportExternalMemory (&import->external, &handle),
          "cuImportExternalMemory", error)) {
    import->external = NULL;
    close (handle.handle.fd);
    return FALSE;
  }
  if (gst_vkgdr_check (cuda,
          cuda->cuExternalMemoryGetMappedBuffer (
              &import->pointer, import->external, &buffer),
          "cuExternalMemoryGetMappedBuffer", error))
    return TRUE;
  import->pointer = 0;
  return FALSE;
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
  GstMemory *memory = NULL;
  Import *import;
  gboolean ok;

  g_return_val_if_fail (GST_IS_VKGDR_ALLOCATOR (allocator), NULL);

  if (size == 0 || offset > fd_size || size > fd_size - offset) {
    g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_ARGUMENT,
        "%" G_GSIZE_FORMAT " bytes from %" G_GSIZE_FORMAT
        " are no part of %" G_GSIZE_FORMAT " bytes",
        size, offset, fd_size);
    return NULL;
  }
  import = g_new0 (Import, 1);
  import->context = gst_vkgdr_allocator_ensure_context (allocator, error);
  if (!import->context) {
    g_free (import);
    return NULL;
  }
  ok = gst_vkgdr_context_push (import->context, error);
  if (ok) {
    ok = run_import (import, fd, fd_size, error);
    gst_vkgdr_context_pop (import->context);
  }
  if (ok)
    memory = gst_vkgdr_allocator_alloc_wrapped (allocator,
        import->pointer + offset, size, 0, import, free_import, error);
  if (memory)
    gst_vkgdr_memory_set_in_common (memory);
  else
    free_import (import);
  return memory;
}
