/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * exchange/ipc.c: device-only memory that several processes use
 *
 * The CUDA handle of an allocation and the offset of a memory in it are sent to
 * another process as a few bytes. Knows nothing of how they are sent, nor of
 * memory in the window, for which CUDA has no handles.
 */

#include <string.h>

#include "memory/memory-private.h"

/* The content of a handle. It never leaves the machine, so the byte order is
 * the machine's. */
typedef struct {
  gchar magic[8];
  guint32 version;
  guint32 reserved;
  guint8 device[16];     /* its UUID */
  guint64 whole;         /* size of the allocation in bytes */
  guint64 offset;        /* of the memory in the allocation */
  guint64 size;          /* of the memory in bytes */
  CUipcMemHandle handle; /* of the allocation */
} Ticket;

#define MAGIC "VkgdrIpc"
#define VERSION 1

/* An opened handle; it lives as long as the memory that uses it. */
typedef struct {
  GstVkgdrContext *context;
  CUdeviceptr pointer; /* 0 if opening failed */
} Opened;

static const vkgdr_cuda *
get_driver (GstVkgdrContext *context, GError **error)
{
  const vkgdr_cuda *cuda = gst_vkgdr_context_get_driver (context);

  if (cuda->cuMemGetAddressRange && cuda->cuIpcGetMemHandle
      && cuda->cuIpcOpenMemHandle && cuda->cuIpcCloseMemHandle)
    return cuda;
  g_set_error_literal (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_NO_DRIVER,
      "handles for other processes need a driver with CUDA 11.0 or newer");
  return NULL;
}

static void
get_uuid (GstVkgdrContext *context, guint8 uuid[16])
{
  vkgdr_device_info info;

  vkgdr_get_device_info (gst_vkgdr_context_get_handle (context), &info);
  memcpy (uuid, info.uuid, sizeof (info.uuid));
}

/* Like gst_vkgdr_check (), but @meaning (nullable) explains the result in the
 * error message. */
static gboolean
check (const vkgdr_cuda *cuda, CUresult result, const gchar *what,
    const gchar *meaning, GError **error)
{
  const char *name = NULL;

  if (!meaning)
    return gst_vkgdr_check (cuda, result, what, error);
  cuda->cuGetErrorName (result, &name);
  g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_ARGUMENT, "%s: %s. %s",
      what, name ? name : "unknown CUDA error", meaning);
  return FALSE;
}

static const gchar *
explain_export (CUresult result)
{
  switch (result) {
  case CUDA_ERROR_INVALID_VALUE:
  case CUDA_ERROR_INVALID_HANDLE:
  case CUDA_ERROR_NOT_SUPPORTED:
    return "CUDA makes handles only of memory of cuMemAlloc() in this process, "
           "not of memory of its pools or of another process: copy it to "
           "memory "
           "of gst_vkgdr_allocator_alloc_device_only()";
  default:
    return NULL;
  }
}

static const gchar *
explain_import (CUresult result)
{
  switch (result) {
  case CUDA_ERROR_INVALID_CONTEXT:
    return "A process cannot open a handle that it made itself: use the memory "
           "from which it was made";
  case CUDA_ERROR_INVALID_VALUE:
  case CUDA_ERROR_INVALID_HANDLE:
    return "The process that made the handle has freed its memory, or has "
           "ended";
  case CUDA_ERROR_ALREADY_MAPPED:
    return "Another CUDA context of this process has opened it";
  case CUDA_ERROR_MAP_FAILED:
  case CUDA_ERROR_NOT_SUPPORTED:
    return "The system isolates the two processes, as containers do, or the "
           "device does not support IPC handles";
  default:
    return NULL;
  }
}

/* Fills in the fields whose values come from CUDA. Must be called with the
 * context pushed. */
static gboolean
fill_ticket (
    const vkgdr_cuda *cuda, CUdeviceptr pointer, Ticket *ticket, GError **error)
{
  CUdeviceptr start = 0;
  size_t size = 0;
  CUresult result = cuda->cuMemGetAddressRange (&start, &size, pointer);

  if (!check (
          cuda, result, "cuMemGetAddressRange", explain_export (result), error))
    return FALSE;
  result = cuda->cuIpcGetMemHandle (&ticket->handle, start);
  if (!check (
          cuda, result, "cuIpcGetMemHandle", explain_export (result), error))
    return FALSE;
  ticket->whole = size;
  ticket->offset = pointer - start;
  return TRUE;
}

/**
 * gst_vkgdr_memory_export_ipc_handle:
 * @memory: a device-only memory of type %GST_VKGDR_MEMORY_NAME
 * @error: return location for a #GError
 *
 * Makes a handle of @memory. Another process can open it on the same device
 * with gst_vkgdr_allocator_import_ipc_handle(). The handle consists of bytes
 * that can be sent in any way, and is meaningless on another machine. The other
 * process gets access to the whole allocation, including other memories in it.
 *
 * Keep @memory until the other process has freed the imported memory: CUDA does
 * not define what happens when a process uses memory that the exporting process
 * has freed.
 * The accesses of two processes are not ordered: call
 * gst_vkgdr_memory_wait_idle() before the other process may begin.
 *
 * CUDA has handles only for memory of its own allocator: memory of
 * gst_vkgdr_allocator_alloc_device_only(), memory that became device-only
 * because the window was full, and wrapped memory of other libraries. Memory
 * with a host pointer, see gst_vkgdr_memory_get_host_pointer(), is exported by
 * gst_vkgdr_memory_export_fd().
 *
 * Thread-safe.
 *
 * Returns: (transfer full) (nullable): the handle, or %NULL with @error set:
 *   %GST_VKGDR_ERROR_ARGUMENT if CUDA has no handle for such memory,
 *   %GST_VKGDR_ERROR_NO_DRIVER if the driver is too old
 *
 * Since: 0.1
 */
GBytes *
gst_vkgdr_memory_export_ipc_handle (GstMemory *memory, GError **error)
{
  Ticket ticket = { .version = VERSION };
  GstVkgdrContext *context;
  const vkgdr_cuda *cuda;
  gboolean ok;

  g_return_val_if_fail (gst_is_vkgdr_memory (memory), NULL);

  if (gst_vkgdr_memory_get_host_pointer (memory)) {
    g_set_error_literal (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_ARGUMENT,
        "the memory lies in the window, and CUDA has no handle for that: "
        "export it with gst_vkgdr_memory_export_fd(), or copy it to memory of "
        "gst_vkgdr_allocator_alloc_device_only()");
    return NULL;
  }
  context = gst_vkgdr_memory_get_context (memory);
  cuda = get_driver (context, error);
  if (!cuda || !gst_vkgdr_context_push (context, error))
    return NULL;
  ok = fill_ticket (
      cuda, gst_vkgdr_memory_get_device_pointer (memory), &ticket, error);
  gst_vkgdr_context_pop (context);
  if (!ok)
    return NULL;
  memcpy (ticket.magic, MAGIC, sizeof (ticket.magic));
  get_uuid (context, ticket.device);
  ticket.size = memory->size;
  gst_vkgdr_memory_set_shared (memory);
  return g_bytes_new (&ticket, sizeof (ticket));
}

static gboolean
read_ticket (GBytes *handle, Ticket *ticket, GError **error)
{
  gsize size = 0;
  gconstpointer data = g_bytes_get_data (handle, &size);

  if (size == sizeof (*ticket)) {
    memcpy (ticket, data, size);
    if (memcmp (ticket->magic, MAGIC, sizeof (ticket->magic)) == 0
        && ticket->version == VERSION && ticket->size > 0
        && ticket->offset <= ticket->whole
        && ticket->size <= ticket->whole - ticket->offset)
      return TRUE;
  }
  g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_ARGUMENT,
      "these %" G_GSIZE_FORMAT " bytes are not a handle of "
      "gst_vkgdr_memory_export_ipc_handle(), or are of another version",
      size);
  return FALSE;
}

static gboolean
check_device (GstVkgdrContext *context, const Ticket *ticket, GError **error)
{
  guint8 uuid[16];

  get_uuid (context, uuid);
  if (memcmp (uuid, ticket->device, sizeof (uuid)) == 0)
    return TRUE;
  g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_ARGUMENT,
      "the memory is on another device than the allocator, which has CUDA "
      "device %d: open it with an allocator of its own device, and copy",
      gst_vkgdr_context_get_device (context));
  return FALSE;
}

/* Runs in the reclaim thread, because closing may wait for the device. */
static void
close_handle (gpointer data)
{
  Opened *opened = data;

  if (opened->pointer && gst_vkgdr_context_push (opened->context, NULL)) {
    gst_vkgdr_context_get_driver (opened->context)
        ->cuIpcCloseMemHandle (opened->pointer);
    gst_vkgdr_context_pop (opened->context);
  }
  gst_object_unref (opened->context);
  g_free (opened);
}

static void
free_opened (gpointer data)
{
  Opened *opened = data;

  gst_vkgdr_reclaim (opened->context, NULL, close_handle, opened);
}

/* Opening a handle again gives the same pointer. CUDA counts how often it was
 * opened, and it must be closed as often. */
static gboolean
run_open (Opened *opened, const Ticket *ticket, GError **error)
{
  const vkgdr_cuda *cuda = get_driver (opened->context, error);
  CUresult result;

  if (!cuda || !gst_vkgdr_context_push (opened->context, error))
    return FALSE;
  result = cuda->cuIpcOpenMemHandle (
      &opened->pointer, ticket->handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
  if (result != CUDA_SUCCESS)
    opened->pointer = 0;
  gst_vkgdr_context_pop (opened->context);
  return check (
      cuda, result, "cuIpcOpenMemHandle", explain_import (result), error);
}

static GstMemory *
open_ticket (GstVkgdrAllocator *allocator, Opened *opened, const Ticket *ticket,
    GError **error)
{
  if (!check_device (opened->context, ticket, error)
      || !run_open (opened, ticket, error))
    return NULL;
  return gst_vkgdr_allocator_alloc_wrapped (allocator,
      opened->pointer + ticket->offset, ticket->size, 0, opened, free_opened,
      error);
}

/**
 * gst_vkgdr_allocator_import_ipc_handle:
 * @allocator: an allocator of the device that the memory is on
 * @handle: a handle that another process made with
 *   gst_vkgdr_memory_export_ipc_handle()
 * @error: return location for a #GError
 *
 * Makes a memory of a handle that another process has exported. It is
 * device-only memory, so the CPU reads and writes it through staging buffers. A
 * handle may be imported several times. It is closed when the last memory that
 * was made of it was freed and the device has finished with that memory.
 *
 * Returns: (transfer full) (nullable): the memory, or %NULL with @error set:
 *   %GST_VKGDR_ERROR_ARGUMENT if the bytes are no handle, or if the handle was
 *   made by this process, on another device, or of memory that has been freed
 *
 * Since: 0.1
 */
GstMemory *
gst_vkgdr_allocator_import_ipc_handle (
    GstVkgdrAllocator *allocator, GBytes *handle, GError **error)
{
  GstMemory *memory;
  Opened *opened;
  Ticket ticket;

  g_return_val_if_fail (GST_IS_VKGDR_ALLOCATOR (allocator), NULL);
  g_return_val_if_fail (handle != NULL, NULL);

  if (!read_ticket (handle, &ticket, error))
    return NULL;
  opened = g_new0 (Opened, 1);
  opened->context = gst_vkgdr_allocator_ensure_context (allocator, error);
  if (!opened->context) {
    g_free (opened);
    return NULL;
  }
  memory = open_ticket (allocator, opened, &ticket, error);
  if (memory)
    gst_vkgdr_memory_set_shared (memory);
  else
    free_opened (opened);
  return memory;
}
