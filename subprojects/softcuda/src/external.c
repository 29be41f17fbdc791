/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * external.c: memory of Mesa's lavapipe, imported from a file descriptor
 *
 * lavapipe exports a memfd, which has a header and then the memory. Every
 * buffer is a separate mapping, so it stays valid after its external memory is
 * destroyed. Knows nothing of Vulkan.
 */

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "private.h"

/* CUDA_EXTERNAL_MEMORY_DEDICATED: has no effect here. */
#define EXTERNAL_MEMORY_DEDICATED 1u

/* First bytes of the memfd. */
typedef struct {
  uint64_t total_size; /* of the file, including this header */
  uint64_t payload_offset;
  uint8_t uuid[16];
} memfd_header;

struct CUextMemory_st {
  sc_handle handle;
  int fd;
  uint64_t payload_offset;
  uint64_t size;
};

static CUresult
read_header (int fd, memfd_header *header)
{
  struct stat st;
  uint64_t page = sysconf (_SC_PAGESIZE);

  if (fstat (fd, &st) != 0 || !S_ISREG (st.st_mode))
    return CUDA_ERROR_INVALID_HANDLE;
  if (pread (fd, header, sizeof *header, 0) != (ssize_t) sizeof *header)
    return CUDA_ERROR_INVALID_HANDLE;
  if (header->total_size != (uint64_t) st.st_size
      || header->payload_offset < sizeof *header
      || header->payload_offset % page != 0
      || header->payload_offset >= header->total_size)
    return CUDA_ERROR_INVALID_HANDLE;
  return CUDA_SUCCESS;
}

static bool
reserved_is_clear (const unsigned int *reserved)
{
  for (int i = 0; i < 16; i++)
    if (reserved[i] != 0)
      return false;
  return true;
}

/* Maps the memory once now, so that an error is found before the first buffer
 * is made. */
static CUresult
try_mapping (int fd, const memfd_header *header, uint64_t size)
{
  void *map = mmap (NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
      (off_t) header->payload_offset);

  if (map == MAP_FAILED)
    return CUDA_ERROR_MAP_FAILED;
  munmap (map, size);
  return CUDA_SUCCESS;
}

CUresult
cuImportExternalMemory (
    CUexternalMemory *memory, const CUDA_EXTERNAL_MEMORY_HANDLE_DESC *desc)
{
  memfd_header header;
  CUexternalMemory made;
  CUcontext context;
  CUresult result;

  SC_ENTER (cuImportExternalMemory);
  if (memory == NULL || desc == NULL || desc->size == 0
      || (desc->flags & ~EXTERNAL_MEMORY_DEDICATED) != 0
      || !reserved_is_clear (desc->reserved))
    return CUDA_ERROR_INVALID_VALUE;
  if (desc->type != CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD)
    return CUDA_ERROR_NOT_SUPPORTED;
  result = read_header (desc->handle.fd, &header);
  if (result != CUDA_SUCCESS)
    return result;
  if (desc->size > header.total_size - header.payload_offset)
    return CUDA_ERROR_INVALID_VALUE;
  result = try_mapping (desc->handle.fd, &header, desc->size);
  if (result != CUDA_SUCCESS)
    return result;
  made = calloc (1, sizeof *made);
  if (made == NULL)
    return CUDA_ERROR_OUT_OF_MEMORY;
  made->fd = desc->handle.fd;
  made->payload_offset = header.payload_offset;
  made->size = desc->size;
  sc_lock ();
  result = sc_current_usable_locked (&context);
  if (result == CUDA_SUCCESS) {
    sc_handle_add_locked (&made->handle, SC_KIND_EXTERNAL, context);
    *memory = made;
  }
  sc_unlock ();
  if (result != CUDA_SUCCESS)
    free (made);
  return result;
}

static CUresult
map_buffer_locked (CUexternalMemory memory, uint64_t offset, uint64_t size,
    CUdeviceptr *pointer)
{
  uint64_t page = sysconf (_SC_PAGESIZE);
  uint64_t into_page = offset % page;
  sc_range range = { 0, size, SC_RANGE_MAPPED, memory->handle.context, NULL,
    size + into_page };
  CUresult result;

  if (!sc_memory_take_locked (size))
    return CUDA_ERROR_OUT_OF_MEMORY;
  range.map = mmap (NULL, range.map_size, PROT_READ | PROT_WRITE, MAP_SHARED,
      memory->fd, (off_t) (memory->payload_offset + offset - into_page));
  if (range.map == MAP_FAILED) {
    sc_memory_give_back_locked (size);
    return CUDA_ERROR_MAP_FAILED;
  }
  range.start = (uintptr_t) range.map + into_page;
  result = sc_range_add_locked (&range);
  if (result == CUDA_SUCCESS) {
    *pointer = range.start;
  } else {
    munmap (range.map, range.map_size);
    sc_memory_give_back_locked (size);
  }
  return result;
}

CUresult
cuExternalMemoryGetMappedBuffer (CUdeviceptr *pointer, CUexternalMemory memory,
    const CUDA_EXTERNAL_MEMORY_BUFFER_DESC *desc)
{
  CUresult result;

  SC_ENTER (cuExternalMemoryGetMappedBuffer);
  if (pointer == NULL || desc == NULL || desc->size == 0 || desc->flags != 0
      || !reserved_is_clear (desc->reserved))
    return CUDA_ERROR_INVALID_VALUE;
  sc_lock ();
  if (!sc_handle_is_live_locked (memory, SC_KIND_EXTERNAL))
    result = CUDA_ERROR_INVALID_HANDLE;
  else if (desc->offset > memory->size
           || desc->size > memory->size - desc->offset)
    result = CUDA_ERROR_INVALID_VALUE;
  else
    result = map_buffer_locked (memory, desc->offset, desc->size, pointer);
  sc_unlock ();
  return result;
}

void
sc_external_destroy_locked (CUexternalMemory memory)
{
  sc_handle_remove_locked (&memory->handle);
  close (memory->fd);
  sc_handle_free (memory);
}

CUresult
cuDestroyExternalMemory (CUexternalMemory memory)
{
  CUresult result = CUDA_ERROR_INVALID_HANDLE;

  SC_ENTER (cuDestroyExternalMemory);
  sc_lock ();
  if (sc_handle_is_live_locked (memory, SC_KIND_EXTERNAL)) {
    sc_external_destroy_locked (memory);
    result = CUDA_SUCCESS;
  }
  sc_unlock ();
  return result;
}
