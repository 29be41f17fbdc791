/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * memory.c: device memory, pinned host memory, and attributes of pointers
 *
 * Device memory is memory of the process, at most SOFTCUDA_MEMORY bytes
 * together with what is imported. As in NVIDIA's driver, freeing memory waits
 * until the work of all streams is done. Knows nothing of copies.
 */

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "private.h"

/* Large enough for tests of 4K video, small enough for a laptop. */
#define DEFAULT_LIMIT ((size_t) 2 << 30)

#define HOST_ALIGNMENT 4096
#define PITCH_ALIGNMENT 512

static pthread_once_t limit_once = PTHREAD_ONCE_INIT;
static size_t limit;
static size_t used;

static void
read_limit (void)
{
  const char *text = getenv ("SOFTCUDA_MEMORY");
  char *end = NULL;
  unsigned long long value = 0;

  limit = DEFAULT_LIMIT;
  if (text == NULL || *text == '\0')
    return;
  errno = 0;
  value = strtoull (text, &end, 10);
  if (errno == 0 && end != text && *end == '\0' && *text != '-')
    limit = value;
  else
    fprintf (stderr,
        "softcuda: SOFTCUDA_MEMORY is \"%s\", which is not a number of bytes: "
        "the device has %zu bytes\n",
        text, limit);
}

size_t
sc_memory_limit (void)
{
  pthread_once (&limit_once, read_limit);
  return limit;
}

bool
sc_memory_take_locked (size_t size)
{
  if (size > sc_memory_limit () - used)
    return false;
  used += size;
  return true;
}

void
sc_memory_give_back_locked (size_t size)
{
  used -= size;
}

static CUresult
allocate_locked (CUcontext context, sc_range_kind kind, size_t size,
    unsigned int flags, void **pointer)
{
  sc_range range = {
    .size = size, .kind = kind, .context = context, .flags = flags
  };
  size_t alignment = HOST_ALIGNMENT;
  size_t room = size;
  CUresult result;

  if (kind == SC_RANGE_DEVICE && size > sc_memory_limit () - used)
    return CUDA_ERROR_OUT_OF_MEMORY;
  if (kind == SC_RANGE_DEVICE) {
    alignment = sysconf (_SC_PAGESIZE); /* whole pages can be given to other
                                         * processes */
    room = sc_whole_pages (size);
  }
  if (posix_memalign (pointer, alignment, room) != 0)
    return CUDA_ERROR_OUT_OF_MEMORY;
  range.start = (uintptr_t) *pointer;
  result = sc_range_add_locked (&range);
  if (result != CUDA_SUCCESS)
    free (*pointer);
  else if (kind == SC_RANGE_DEVICE)
    used += size;
  return result;
}

static CUresult
allocate (sc_range_kind kind, size_t size, unsigned int flags, void **pointer)
{
  CUcontext context;
  CUresult result;

  if (size == 0)
    return CUDA_ERROR_INVALID_VALUE;
  sc_lock ();
  result = sc_current_usable_locked (&context);
  if (result == CUDA_SUCCESS)
    result = allocate_locked (context, kind, size, flags, pointer);
  sc_unlock ();
  return result;
}

void
sc_shared_free (sc_shared *shared)
{
  if (shared->fd >= 0)
    close (shared->fd);
  free (shared);
}

/* Makes the range private again. Returns false if this fails; then its memory
 * must not be freed. */
static bool
end_export (const sc_range *range)
{
  void *pages = mmap ((void *) range->start, sc_whole_pages (range->size),
      PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);

  sc_shared_free (range->shared);
  return pages != MAP_FAILED;
}

static void
release (const sc_range *range)
{
  switch (range->kind) {
  case SC_RANGE_DEVICE:
    if (range->shared == NULL || end_export (range))
      free ((void *) range->start);
    break;
  case SC_RANGE_HOST:
    free ((void *) range->start);
    break;
  case SC_RANGE_OPENED:
    sc_shared_free (range->shared);
    munmap (range->map, range->map_size);
    break;
  case SC_RANGE_MAPPED:
    munmap (range->map, range->map_size);
    break;
  case SC_RANGE_REGISTERED:
    if (range->map != NULL)
      munmap (range->map, range->map_size);
    break;
  case SC_RANGE_GLOBAL:
  case SC_RANGE_VIRTUAL:
    break;
  }
}

/* Removes the range first, so that no new work can use it while this function
 * waits for the pending work. */
void
sc_memory_remove_locked (const sc_range *range)
{
  sc_range gone = *range;

  sc_range_remove_locked (gone.start);
  sc_wait_idle_locked (NULL);
  if (gone.kind == SC_RANGE_DEVICE || gone.kind == SC_RANGE_MAPPED)
    used -= gone.size;
  release (&gone);
}

CUresult
sc_memory_free (uintptr_t start, sc_range_kind kind, sc_range_kind other,
    CUresult otherwise)
{
  const sc_range *range;
  CUresult result = otherwise;

  sc_lock ();
  range = sc_range_find_locked (start);
  if (range != NULL && range->start == start
      && (range->kind == kind || range->kind == other)) {
    sc_memory_remove_locked (range);
    result = CUDA_SUCCESS;
  }
  sc_unlock ();
  return result;
}

void
sc_memory_release_all_locked (CUcontext context)
{
  const sc_range *range;

  while ((range = sc_range_any_locked (context)) != NULL)
    sc_memory_remove_locked (range);
}

CUresult
cuMemGetInfo_v2 (size_t *free_bytes, size_t *total_bytes)
{
  CUcontext context;
  CUresult result;

  SC_ENTER (cuMemGetInfo);
  if (free_bytes == NULL || total_bytes == NULL)
    return CUDA_ERROR_INVALID_VALUE;
  sc_lock ();
  result = sc_current_usable_locked (&context);
  if (result == CUDA_SUCCESS) {
    *total_bytes = sc_memory_limit ();
    *free_bytes = *total_bytes - used;
  }
  sc_unlock ();
  return result;
}

CUresult
cuMemAlloc_v2 (CUdeviceptr *pointer, size_t size)
{
  void *memory;
  CUresult result;

  SC_ENTER (cuMemAlloc);
  if (pointer == NULL)
    return CUDA_ERROR_INVALID_VALUE;
  result = allocate (SC_RANGE_DEVICE, size, 0, &memory);
  if (result == CUDA_SUCCESS)
    *pointer = (uintptr_t) memory;
  return result;
}

/* The CPU can use all memory of the device. Synchronous copies and memsets wait
 * for managed memory in the same way as for host memory. */
CUresult
cuMemAllocManaged (CUdeviceptr *pointer, size_t size, unsigned int flags)
{
  CUresult result;

  SC_ENTER (cuMemAllocManaged);
  result = cuMemAlloc_v2 (pointer, size);
  if (result == CUDA_SUCCESS) {
    sc_lock ();
    sc_range_set_managed_locked (*pointer);
    sc_unlock ();
  }
  return result;
}

CUresult
cuMemAllocPitch_v2 (CUdeviceptr *pointer, size_t *pitch, size_t width,
    size_t height, unsigned int element_size)
{
  size_t row;
  size_t size;
  void *memory;
  CUresult result;

  SC_ENTER (cuMemAllocPitch);
  if (pointer == NULL || pitch == NULL || width == 0 || height == 0)
    return CUDA_ERROR_INVALID_VALUE;
  if (element_size != 4 && element_size != 8 && element_size != 16)
    return CUDA_ERROR_INVALID_VALUE;
  if (width > SIZE_MAX - PITCH_ALIGNMENT)
    return CUDA_ERROR_OUT_OF_MEMORY;
  row = (width + PITCH_ALIGNMENT - 1) / PITCH_ALIGNMENT * PITCH_ALIGNMENT;
  if (__builtin_mul_overflow (row, height, &size))
    return CUDA_ERROR_OUT_OF_MEMORY;
  result = allocate (SC_RANGE_DEVICE, size, 0, &memory);
  if (result != CUDA_SUCCESS)
    return result;
  *pointer = (uintptr_t) memory;
  *pitch = row;
  return CUDA_SUCCESS;
}

CUresult
cuMemFree_v2 (CUdeviceptr pointer)
{
  SC_ENTER (cuMemFree);
  return sc_memory_free (
      pointer, SC_RANGE_DEVICE, SC_RANGE_MAPPED, CUDA_ERROR_INVALID_VALUE);
}

CUresult
cuMemHostAlloc (void **pointer, size_t size, unsigned int flags)
{
  SC_ENTER (cuMemHostAlloc);
  if (pointer == NULL)
    return CUDA_ERROR_INVALID_VALUE;
  return allocate (SC_RANGE_HOST, size, flags, pointer);
}

CUresult
cuMemAllocHost_v2 (void **pointer, size_t size)
{
  SC_ENTER (cuMemAllocHost);
  if (pointer == NULL)
    return CUDA_ERROR_INVALID_VALUE;
  return allocate (SC_RANGE_HOST, size, 0, pointer);
}

CUresult
cuMemFreeHost (void *pointer)
{
  SC_ENTER (cuMemFreeHost);
  return sc_memory_free ((uintptr_t) pointer, SC_RANGE_HOST, SC_RANGE_HOST,
      CUDA_ERROR_INVALID_VALUE);
}

/* The device can use all host memory, as with unified addresses. */
CUresult
cuMemHostGetFlags (unsigned int *flags, void *pointer)
{
  const sc_range *range;
  CUresult result = CUDA_ERROR_INVALID_VALUE;

  SC_ENTER (cuMemHostGetFlags);
  if (flags == NULL)
    return CUDA_ERROR_INVALID_VALUE;
  sc_lock ();
  range = sc_range_find_locked ((uintptr_t) pointer);
  if (range != NULL && range->kind == SC_RANGE_HOST) {
    *flags = range->flags | CU_MEMHOSTALLOC_DEVICEMAP;
    result = CUDA_SUCCESS;
  }
  sc_unlock ();
  return result;
}

/* The device uses the same addresses as the CPU. */
CUresult
cuMemHostGetDevicePointer_v2 (
    CUdeviceptr *device, void *pointer, unsigned int flags)
{
  const sc_range *range;
  CUresult result = CUDA_ERROR_INVALID_VALUE;

  SC_ENTER (cuMemHostGetDevicePointer);
  if (device == NULL || flags != 0)
    return CUDA_ERROR_INVALID_VALUE;
  sc_lock ();
  range = sc_range_find_locked ((uintptr_t) pointer);
  if (range != NULL
      && (range->kind == SC_RANGE_HOST || range->kind == SC_RANGE_REGISTERED)) {
    *device = (uintptr_t) pointer;
    result = CUDA_SUCCESS;
  }
  sc_unlock ();
  return result;
}

CUresult
cuPointerGetAttribute (
    void *value, CUpointer_attribute attribute, CUdeviceptr pointer)
{
  const sc_range *range;
  CUresult result = CUDA_SUCCESS;

  SC_ENTER (cuPointerGetAttribute);
  if (value == NULL)
    return CUDA_ERROR_INVALID_VALUE;
  sc_lock ();
  range = sc_range_find_locked (pointer);
  if (range == NULL)
    result = CUDA_ERROR_INVALID_VALUE;
  else if (attribute == CU_POINTER_ATTRIBUTE_CONTEXT)
    *(CUcontext *) value = range->context;
  else if (attribute == CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL)
    *(int *) value = 0;
  else if (attribute == CU_POINTER_ATTRIBUTE_MEMORY_TYPE)
    *(unsigned int *) value =
        range->kind == SC_RANGE_HOST || range->kind == SC_RANGE_REGISTERED
            ? CU_MEMORYTYPE_HOST
            : CU_MEMORYTYPE_DEVICE;
  else
    result = CUDA_ERROR_INVALID_VALUE;
  sc_unlock ();
  return result;
}

CUresult
cuMemGetAddressRange_v2 (CUdeviceptr *start, size_t *size, CUdeviceptr pointer)
{
  const sc_range *range;
  CUresult result = CUDA_SUCCESS;

  SC_ENTER (cuMemGetAddressRange);
  sc_lock ();
  range = sc_range_find_locked (pointer);
  if (range == NULL || range->kind == SC_RANGE_REGISTERED)
    result = CUDA_ERROR_INVALID_VALUE;
  if (result == CUDA_SUCCESS && start != NULL)
    *start = range->start;
  if (result == CUDA_SUCCESS && size != NULL)
    *size = range->size;
  sc_unlock ();
  return result;
}
