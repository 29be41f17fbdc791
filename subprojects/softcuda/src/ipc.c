/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * ipc.c: device memory and events that are shared between processes
 *
 * An allocation is private until a caller requests a handle of it. Then a memfd
 * with the same content replaces its pages at the same address. The handle
 * contains the path of the memfd in /proc/PID/fd, where other processes open
 * it. So a process that ends leaves nothing behind, and the permissions of that
 * file decide which processes can open the handle. Knows nothing of the use of
 * the memory.
 */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "private.h"

/* The content of a CUipcMemHandle and of a CUipcEventHandle. The numbers of the
 * file (device and inode) are unique while it is open. The numbers of processes
 * and file descriptors may be used again. */
typedef struct {
  char magic[8];
  int64_t pid;
  int64_t fd;
  uint64_t device;
  uint64_t inode;
  uint64_t size;
} ticket;

/* Both without their terminators. */
static const char magic[] = "softcuda";
static const char event_magic[] = "softevnt";

_Static_assert(sizeof (ticket) <= sizeof (CUipcMemHandle), "it must fit");
_Static_assert(sizeof (ticket) <= sizeof (CUipcEventHandle), "it must fit");

static void
fill_ticket (ticket *made, const char *kind, int fd, const struct stat *file,
    size_t size)
{
  memcpy (made->magic, kind, sizeof made->magic);
  made->pid = getpid ();
  made->fd = fd;
  made->device = file->st_dev;
  made->inode = file->st_ino;
  made->size = size;
}

static bool
fill_file (int fd, const void *data, size_t size)
{
  void *pages;

  if (ftruncate (fd, size) != 0)
    return false;
  pages = mmap (NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (pages == MAP_FAILED)
    return false;
  memcpy (pages, data, size);
  return munmap (pages, size) == 0;
}

/* Replaces the pages of the range by a memfd with the same content. */
static bool
replace_pages (const sc_range *range, sc_shared *shared)
{
  size_t size = sc_whole_pages (range->size);

  return fill_file (shared->fd, (const void *) range->start, size)
         && fstat (shared->fd, &shared->file) == 0
         && mmap ((void *) range->start, size, PROT_READ | PROT_WRITE,
                MAP_SHARED | MAP_FIXED, shared->fd, 0)
                != MAP_FAILED;
}

/* Must be called when no work is running, because a write to a page that is
 * replaced at this time would be lost. */
static CUresult
export_locked (const sc_range *range)
{
  sc_shared *shared = calloc (1, sizeof *shared);

  if (shared == NULL)
    return CUDA_ERROR_OUT_OF_MEMORY;
  shared->fd = memfd_create ("softcuda", MFD_CLOEXEC);
  if (shared->fd < 0 || !replace_pages (range, shared)) {
    sc_shared_free (shared);
    return CUDA_ERROR_OPERATING_SYSTEM;
  }
  sc_range_set_shared_locked (range->start, shared);
  return CUDA_SUCCESS;
}

/* Finds the allocation that contains the pointer. It has whole pages. */
static CUresult
find_own_locked (CUdeviceptr pointer, const sc_range **range)
{
  *range = sc_range_find_locked (pointer);
  return *range != NULL && (*range)->kind == SC_RANGE_DEVICE
             ? CUDA_SUCCESS
             : CUDA_ERROR_INVALID_VALUE;
}

static CUresult
get_handle_locked (CUdeviceptr pointer, ticket *made)
{
  CUcontext context;
  const sc_range *range;
  CUresult result = sc_current_usable_locked (&context);

  if (result != CUDA_SUCCESS)
    return result;
  result = find_own_locked (pointer, &range);
  if (result == CUDA_SUCCESS && range->shared == NULL) {
    /* This releases the lock, so the range may have been freed. */
    sc_wait_until_paused_locked ();
    result = find_own_locked (pointer, &range);
    if (result == CUDA_SUCCESS && range->shared == NULL)
      result = export_locked (range);
  }
  if (result != CUDA_SUCCESS)
    return result;
  fill_ticket (
      made, magic, range->shared->fd, &range->shared->file, range->size);
  return CUDA_SUCCESS;
}

CUresult
cuIpcGetMemHandle (CUipcMemHandle *handle, CUdeviceptr pointer)
{
  ticket made = { 0 };
  CUresult result;

  SC_ENTER (cuIpcGetMemHandle);
  if (handle == NULL)
    return CUDA_ERROR_INVALID_VALUE;
  sc_lock ();
  result = get_handle_locked (pointer, &made);
  sc_unlock ();
  if (result != CUDA_SUCCESS)
    return result;
  memset (handle, 0, sizeof *handle);
  memcpy (handle->reserved, &made, sizeof made);
  return CUDA_SUCCESS;
}

static bool
is_file (const struct stat *file, const ticket *given)
{
  return S_ISREG (file->st_mode) && file->st_dev == given->device
         && file->st_ino == given->inode
         && (uint64_t) file->st_size == sc_whole_pages (given->size);
}

static bool
is_opened (const sc_range *range, const void *data)
{
  return is_file (&range->shared->file, data);
}

/* Checks the file before opening it, because the number of the file descriptor
 * may now belong to another file of any kind. */
static CUresult
open_file (const ticket *given, int *fd, struct stat *file)
{
  char path[64];

  snprintf (path, sizeof path, "/proc/%lld/fd/%lld", (long long) given->pid,
      (long long) given->fd);
  if (stat (path, file) != 0 || !is_file (file, given))
    return CUDA_ERROR_INVALID_VALUE;
  *fd = open (path, O_RDWR | O_CLOEXEC);
  return *fd >= 0 ? CUDA_SUCCESS : CUDA_ERROR_MAP_FAILED;
}

static CUresult
map_locked (CUcontext context, int fd, size_t size, sc_shared *shared,
    CUdeviceptr *pointer)
{
  sc_range range = { 0, size, SC_RANGE_OPENED, context, NULL,
    sc_whole_pages (size), shared };
  CUresult result;

  range.map =
      mmap (NULL, range.map_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (range.map == MAP_FAILED)
    return CUDA_ERROR_MAP_FAILED;
  range.start = (uintptr_t) range.map;
  result = sc_range_add_locked (&range);
  if (result != CUDA_SUCCESS)
    munmap (range.map, range.map_size);
  else
    *pointer = range.start;
  return result;
}

static CUresult
open_new_locked (CUcontext context, const ticket *given, CUdeviceptr *pointer)
{
  sc_shared *shared = calloc (1, sizeof *shared);
  int fd = -1;
  CUresult result;

  if (shared == NULL)
    return CUDA_ERROR_OUT_OF_MEMORY;
  shared->fd = -1;
  shared->opens = 1;
  result = open_file (given, &fd, &shared->file);
  if (result == CUDA_SUCCESS)
    result = map_locked (context, fd, given->size, shared, pointer);
  if (fd >= 0)
    close (fd); /* the mapping keeps the file alive */
  if (result != CUDA_SUCCESS)
    free (shared);
  return result;
}

static CUresult
open_locked (const ticket *given, CUdeviceptr *pointer)
{
  const sc_range *range;
  CUcontext context;
  CUresult result = sc_current_usable_locked (&context);

  if (result != CUDA_SUCCESS)
    return result;
  if (given->pid == getpid ())
    return CUDA_ERROR_INVALID_CONTEXT;
  range = sc_range_search_locked (SC_RANGE_OPENED, is_opened, given);
  if (range == NULL)
    return open_new_locked (context, given, pointer);
  if (range->context != context)
    return CUDA_ERROR_ALREADY_MAPPED;
  range->shared->opens++;
  *pointer = range->start;
  return CUDA_SUCCESS;
}

static CUresult
open_handle (
    CUdeviceptr *pointer, const CUipcMemHandle *handle, unsigned int flags)
{
  ticket given;
  CUresult result;

  memcpy (&given, handle->reserved, sizeof given);
  if (pointer == NULL || flags != CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS
      || memcmp (given.magic, magic, sizeof given.magic) != 0
      || given.size == 0)
    return CUDA_ERROR_INVALID_VALUE;
  sc_lock ();
  result = open_locked (&given, pointer);
  sc_unlock ();
  return result;
}

CUresult
cuIpcOpenMemHandle_v2 (
    CUdeviceptr *pointer, CUipcMemHandle handle, unsigned int flags)
{
  SC_ENTER (cuIpcOpenMemHandle);
  return open_handle (pointer, &handle, flags);
}

/* The name before CUDA 11. */
CUresult
cuIpcOpenMemHandle (
    CUdeviceptr *pointer, CUipcMemHandle handle, unsigned int flags)
{
  SC_ENTER (cuIpcOpenMemHandle_v1);
  return open_handle (pointer, &handle, flags);
}

CUresult
cuIpcCloseMemHandle (CUdeviceptr pointer)
{
  const sc_range *range;
  CUresult result = CUDA_ERROR_INVALID_VALUE;

  SC_ENTER (cuIpcCloseMemHandle);
  sc_lock ();
  range = sc_range_find_locked (pointer);
  if (range != NULL && range->start == pointer
      && range->kind == SC_RANGE_OPENED) {
    range->shared->opens--;
    if (range->shared->opens == 0)
      sc_memory_remove_locked (range);
    result = CUDA_SUCCESS;
  }
  sc_unlock ();
  return result;
}

CUresult
cuIpcGetEventHandle (CUipcEventHandle *handle, CUevent event)
{
  CUresult result = CUDA_ERROR_INVALID_HANDLE;
  ticket made = { 0 };
  struct stat file;

  SC_ENTER (cuIpcGetEventHandle);
  if (handle == NULL)
    return CUDA_ERROR_INVALID_VALUE;
  sc_lock ();
  if (sc_handle_is_live_locked (event, SC_KIND_EVENT)
      && event->shared != NULL) {
    int fd = sc_shared_event_fd (event->shared);

    result = CUDA_ERROR_OPERATING_SYSTEM;
    if (fstat (fd, &file) == 0) {
      fill_ticket (&made, event_magic, fd, &file, file.st_size);
      result = CUDA_SUCCESS;
    }
  }
  sc_unlock ();
  if (result != CUDA_SUCCESS)
    return result;
  memset (handle, 0, sizeof *handle);
  memcpy (handle->reserved, &made, sizeof made);
  return CUDA_SUCCESS;
}

CUresult
cuIpcOpenEventHandle (CUevent *event, CUipcEventHandle handle)
{
  sc_shared_event *shared;
  struct stat file;
  ticket given;
  CUresult result;
  int fd = -1;

  SC_ENTER (cuIpcOpenEventHandle);
  memcpy (&given, handle.reserved, sizeof given);
  if (event == NULL
      || memcmp (given.magic, event_magic, sizeof given.magic) != 0)
    return CUDA_ERROR_INVALID_VALUE;
  if (given.pid == getpid ())
    return CUDA_ERROR_INVALID_CONTEXT;
  result = open_file (&given, &fd, &file);
  if (result != CUDA_SUCCESS)
    return result;
  shared = sc_shared_event_new (fd);
  if (shared == NULL) {
    close (fd);
    return CUDA_ERROR_MAP_FAILED;
  }
  return sc_event_new (event, false, shared);
}
