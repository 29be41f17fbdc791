/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * virtual.c: memory without an address, and addresses at which it is mapped
 *
 * Physical memory is a memfd, whose size does not change. So its file
 * descriptor can be given to another process. As with NVIDIA's driver, it does
 * not belong to a context, and lives as long as a handle or a mapping. The
 * device can use a mapping when access to it was granted.
 */

#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "private.h"

/* Sizes and addresses are multiples of this, in bytes: a page of any system. */
#define GRANULARITY ((size_t) 64 << 10)

#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)

typedef struct {
  sc_handle handle;
  int fd;
  size_t size;
  bool is_own;            /* counts as memory of the device */
  unsigned int n_handles; /* of cuMemCreate() and the like, not yet released */
  unsigned int n_mappings;
} physical;

/* Addresses that were reserved, or memory at such addresses (then `memory` is
 * not NULL). */
typedef struct area {
  uintptr_t start;
  size_t size;
  physical *memory;
  bool is_accessible;
  struct area *next;
} area;

static area *reservations;
static area *mappings;

static bool
is_whole (size_t size)
{
  return size != 0 && size % GRANULARITY == 0;
}

static bool
contains (const area *a, uintptr_t start, size_t size)
{
  return start >= a->start && size <= a->size
         && start - a->start <= a->size - size;
}

static bool
overlaps (const area *a, uintptr_t start, size_t size)
{
  return start < a->start + a->size && a->start < start + size;
}

static CUresult
add_area (area **list, uintptr_t start, size_t size, physical *memory)
{
  area *made = calloc (1, sizeof *made);

  if (made == NULL)
    return CUDA_ERROR_OUT_OF_MEMORY;
  *made = (area){ start, size, memory, false, *list };
  *list = made;
  return CUDA_SUCCESS;
}

/* ---- physical memory ---- */

static physical *
find_locked (CUmemGenericAllocationHandle handle)
{
  physical *memory = (physical *) (uintptr_t) handle;

  return sc_handle_is_live_locked (memory, SC_KIND_PHYSICAL) ? memory : NULL;
}

static void
free_unused_locked (physical *memory)
{
  if (memory->n_handles == 0)
    sc_handle_remove_locked (&memory->handle);
  if (memory->n_handles > 0 || memory->n_mappings > 0)
    return;
  close (memory->fd);
  if (memory->is_own)
    sc_memory_give_back_locked (memory->size);
  sc_handle_free (memory);
}

/* Takes ownership of the file descriptor, unless it fails. */
static CUresult
add_physical (
    int fd, size_t size, bool is_own, CUmemGenericAllocationHandle *handle)
{
  physical *memory = calloc (1, sizeof *memory);
  CUresult result = CUDA_SUCCESS;

  if (memory == NULL)
    return CUDA_ERROR_OUT_OF_MEMORY;
  memory->fd = fd;
  memory->size = size;
  memory->is_own = is_own;
  memory->n_handles = 1;
  sc_lock ();
  if (is_own && !sc_memory_take_locked (size))
    result = CUDA_ERROR_OUT_OF_MEMORY;
  else
    sc_handle_add_locked (&memory->handle, SC_KIND_PHYSICAL, NULL);
  sc_unlock ();
  *handle = (uintptr_t) memory;
  if (result != CUDA_SUCCESS)
    free (memory);
  return result;
}

static bool
is_supported (const CUmemAllocationProp *properties)
{
  return properties->type == CU_MEM_ALLOCATION_TYPE_PINNED
         && properties->location.type == CU_MEM_LOCATION_TYPE_DEVICE
         && properties->location.id == 0
         && (properties->requestedHandleTypes
                & ~CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
                == 0;
}

CUresult
cuMemGetAllocationGranularity (size_t *granularity,
    const CUmemAllocationProp *properties,
    CUmemAllocationGranularity_flags option)
{
  SC_ENTER (cuMemGetAllocationGranularity);
  if (granularity == NULL || properties == NULL || !is_supported (properties))
    return CUDA_ERROR_INVALID_VALUE;
  *granularity = GRANULARITY;
  return CUDA_SUCCESS;
}

CUresult
cuMemCreate (CUmemGenericAllocationHandle *handle, size_t size,
    const CUmemAllocationProp *properties, unsigned long long flags)
{
  CUresult result = CUDA_ERROR_OUT_OF_MEMORY;
  int fd;

  SC_ENTER (cuMemCreate);
  if (handle == NULL || properties == NULL || flags != 0 || !is_whole (size)
      || !is_supported (properties))
    return CUDA_ERROR_INVALID_VALUE;
  fd = memfd_create ("softcuda", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (fd < 0)
    return CUDA_ERROR_OUT_OF_MEMORY;
  if (ftruncate (fd, (off_t) size) == 0 && fcntl (fd, F_ADD_SEALS, SEALS) == 0)
    result = add_physical (fd, size, true, handle);
  if (result != CUDA_SUCCESS)
    close (fd);
  return result;
}

CUresult
cuMemRelease (CUmemGenericAllocationHandle handle)
{
  CUresult result = CUDA_ERROR_INVALID_VALUE;
  physical *memory;

  SC_ENTER (cuMemRelease);
  sc_lock ();
  memory = find_locked (handle);
  if (memory != NULL) {
    memory->n_handles--;
    free_unused_locked (memory);
    result = CUDA_SUCCESS;
  }
  sc_unlock ();
  return result;
}

CUresult
cuMemExportToShareableHandle (void *shareable,
    CUmemGenericAllocationHandle handle, CUmemAllocationHandleType type,
    unsigned long long flags)
{
  CUresult result = CUDA_ERROR_INVALID_VALUE;
  physical *memory;
  int fd;

  SC_ENTER (cuMemExportToShareableHandle);
  if (shareable == NULL || flags != 0
      || type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
    return CUDA_ERROR_INVALID_VALUE;
  sc_lock ();
  memory = find_locked (handle);
  if (memory != NULL) {
    fd = fcntl (memory->fd, F_DUPFD_CLOEXEC, 0);
    *(int *) shareable = fd;
    result = fd >= 0 ? CUDA_SUCCESS : CUDA_ERROR_OPERATING_SYSTEM;
  }
  sc_unlock ();
  return result;
}

/* Does not take ownership of the file descriptor. */
CUresult
cuMemImportFromShareableHandle (CUmemGenericAllocationHandle *handle,
    void *shareable, CUmemAllocationHandleType type)
{
  int fd = (int) (intptr_t) shareable;
  struct stat file;
  CUresult result;

  SC_ENTER (cuMemImportFromShareableHandle);
  if (handle == NULL || type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR
      || fcntl (fd, F_GET_SEALS) != SEALS || fstat (fd, &file) != 0
      || !is_whole ((size_t) file.st_size))
    return CUDA_ERROR_INVALID_VALUE;
  fd = fcntl (fd, F_DUPFD_CLOEXEC, 0);
  if (fd < 0)
    return CUDA_ERROR_OPERATING_SYSTEM;
  result = add_physical (fd, (size_t) file.st_size, false, handle);
  if (result != CUDA_SUCCESS)
    close (fd);
  return result;
}

/* ---- addresses ---- */

CUresult
cuMemAddressReserve (CUdeviceptr *pointer, size_t size, size_t alignment,
    CUdeviceptr wanted, unsigned long long flags)
{
  CUresult result;
  uintptr_t start;
  char *room;

  SC_ENTER (cuMemAddressReserve);
  if (alignment < GRANULARITY)
    alignment = GRANULARITY;
  if (pointer == NULL || flags != 0 || !is_whole (size)
      || (alignment & (alignment - 1)) != 0 || size > SIZE_MAX - alignment)
    return CUDA_ERROR_INVALID_VALUE;
  /* A wanted address is a hint. */
  room = mmap ((void *) (uintptr_t) wanted, size + alignment, PROT_NONE,
      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (room == MAP_FAILED)
    return CUDA_ERROR_OUT_OF_MEMORY;
  start = ((uintptr_t) room + alignment - 1) & ~(uintptr_t) (alignment - 1);
  if (start != (uintptr_t) room)
    munmap (room, start - (uintptr_t) room);
  munmap ((void *) (start + size), (uintptr_t) room + alignment - start);
  sc_lock ();
  result = add_area (&reservations, start, size, NULL);
  sc_unlock ();
  if (result != CUDA_SUCCESS)
    munmap ((void *) start, size);
  *pointer = start;
  return result;
}

CUresult
cuMemAddressFree (CUdeviceptr pointer, size_t size)
{
  CUresult result = CUDA_ERROR_INVALID_VALUE;

  SC_ENTER (cuMemAddressFree);
  sc_lock ();
  for (area *a = mappings; a != NULL; a = a->next)
    if (overlaps (a, pointer, size))
      size = 0; /* it is in use */
  for (area **p = &reservations; size != 0 && *p != NULL; p = &(*p)->next)
    if ((*p)->start == pointer && (*p)->size == size) {
      area *gone = *p;

      *p = gone->next;
      munmap ((void *) gone->start, gone->size);
      free (gone);
      result = CUDA_SUCCESS;
      break;
    }
  sc_unlock ();
  return result;
}

static CUresult
map_locked (uintptr_t start, size_t size, size_t offset, physical *memory)
{
  bool reserved = false;
  CUresult result;

  for (area *a = reservations; a != NULL; a = a->next)
    reserved = reserved || contains (a, start, size);
  for (area *a = mappings; a != NULL; a = a->next)
    reserved = reserved && !overlaps (a, start, size);
  if (memory == NULL || !reserved || offset > memory->size
      || size > memory->size - offset)
    return CUDA_ERROR_INVALID_VALUE;
  result = add_area (&mappings, start, size, memory);
  if (result != CUDA_SUCCESS)
    return result;
  if (mmap ((void *) start, size, PROT_NONE, MAP_SHARED | MAP_FIXED, memory->fd,
          (off_t) offset)
      == MAP_FAILED) {
    area *gone = mappings;

    mappings = gone->next;
    free (gone);
    return CUDA_ERROR_MAP_FAILED;
  }
  memory->n_mappings++;
  return CUDA_SUCCESS;
}

CUresult
cuMemMap (CUdeviceptr pointer, size_t size, size_t offset,
    CUmemGenericAllocationHandle handle, unsigned long long flags)
{
  CUresult result;

  SC_ENTER (cuMemMap);
  if (flags != 0 || !is_whole (size) || pointer % GRANULARITY != 0
      || offset % GRANULARITY != 0)
    return CUDA_ERROR_INVALID_VALUE;
  sc_lock ();
  result = map_locked (pointer, size, offset, find_locked (handle));
  sc_unlock ();
  return result;
}

/* The size of the mappings that are completely in these addresses, or 0 if
 * another one is there in part. */
static size_t
size_of_mappings_locked (uintptr_t start, size_t size)
{
  const area whole = { start, size, NULL, false, NULL };
  size_t sum = 0;

  for (area *a = mappings; a != NULL; a = a->next) {
    if (contains (&whole, a->start, a->size))
      sum += a->size;
    else if (overlaps (a, start, size))
      return 0;
  }
  return sum;
}

/* The mappings leave the list first, because this waits for pending work, and
 * releases the lock while it waits. */
static void
unmap_locked (uintptr_t start, size_t size)
{
  const area whole = { start, size, NULL, false, NULL };
  area *gone = NULL;

  for (area **p = &mappings; *p != NULL;) {
    area *a = *p;

    if (!contains (&whole, a->start, a->size)) {
      p = &a->next;
      continue;
    }
    *p = a->next;
    a->next = gone;
    gone = a;
    if (a->is_accessible)
      sc_range_remove_locked (a->start);
  }
  sc_wait_idle_locked (NULL);
  while (gone != NULL) {
    area *a = gone;

    gone = a->next;
    mmap ((void *) a->start, a->size, PROT_NONE,
        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    a->memory->n_mappings--;
    free_unused_locked (a->memory);
    free (a);
  }
}

CUresult
cuMemUnmap (CUdeviceptr pointer, size_t size)
{
  CUresult result = CUDA_ERROR_INVALID_VALUE;

  SC_ENTER (cuMemUnmap);
  sc_lock ();
  if (size != 0 && size_of_mappings_locked (pointer, size) == size) {
    unmap_locked (pointer, size);
    result = CUDA_SUCCESS;
  }
  sc_unlock ();
  return result;
}

static CUresult
set_access_locked (uintptr_t start, size_t size, int protection)
{
  const area whole = { start, size, NULL, false, NULL };
  CUresult result = CUDA_SUCCESS;

  if (size == 0 || size_of_mappings_locked (start, size) != size)
    return CUDA_ERROR_INVALID_VALUE;
  for (area *a = mappings; a != NULL && result == CUDA_SUCCESS; a = a->next) {
    sc_range range = { a->start, a->size, SC_RANGE_VIRTUAL, NULL, NULL, 0 };

    if (!contains (&whole, a->start, a->size))
      continue;
    if (mprotect ((void *) a->start, a->size, protection) != 0)
      return CUDA_ERROR_OPERATING_SYSTEM;
    if (a->is_accessible)
      sc_range_remove_locked (a->start);
    a->is_accessible = protection != PROT_NONE;
    if (a->is_accessible)
      result = sc_range_add_locked (&range);
  }
  return result;
}

CUresult
cuMemSetAccess (
    CUdeviceptr pointer, size_t size, const CUmemAccessDesc *access, size_t n)
{
  int protection;
  CUresult result;

  SC_ENTER (cuMemSetAccess);
  if (access == NULL || n != 1
      || access->location.type != CU_MEM_LOCATION_TYPE_DEVICE
      || access->location.id != 0)
    return CUDA_ERROR_INVALID_VALUE;
  protection = access->flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE
                   ? PROT_READ | PROT_WRITE
               : access->flags == CU_MEM_ACCESS_FLAGS_PROT_READ ? PROT_READ
                                                                : PROT_NONE;
  sc_lock ();
  result = set_access_locked (pointer, size, protection);
  sc_unlock ();
  return result;
}
