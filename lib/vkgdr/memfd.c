/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * memfd.c: see memfd.h
 */

#include "memfd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "error.h"

/* The largest header in bytes that is copied. lavapipe's has one page. */
#define MAX_HEADER 65536

/* The first bytes of the file. The bytes before the memory are its place, too;
 * from these, lavapipe finds the header when it frees the memory. */
typedef struct {
  uint64_t size;  /* of the file */
  uint64_t place; /* of the memory in the file */
} header;

static bool
read_header (int fd, header *found)
{
  const uint64_t page = (uint64_t) sysconf (_SC_PAGESIZE);
  struct stat status;

  return fstat (fd, &status) == 0
         && pread (fd, found, sizeof (*found), 0) == (ssize_t) sizeof (*found)
         && found->size == (uint64_t) status.st_size
         && found->place >= sizeof (*found) && found->place % page == 0
         && found->place < found->size;
}

bool
vkgdr_memfd_is_file (int fd)
{
  struct stat status;

  return fstat (fd, &status) == 0 && S_ISREG (status.st_mode);
}

void
vkgdr_memfd_seal (int fd)
{
  if (vkgdr_memfd_is_file (fd))
    fcntl (fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW);
}

bool
vkgdr_memfd_check (int fd, size_t size)
{
  struct stat status;
  int seals = fcntl (fd, F_GET_SEALS);

  if (seals < 0 || !(seals & F_SEAL_SHRINK)) {
    vkgdr_error_set ("the file descriptor is not of sealed memory, so that "
                     "another process could shorten it: pass one of "
                     "vkgdr_memory_get_fd()");
    return false;
  }
  if (fstat (fd, &status) == 0 && (uint64_t) status.st_size >= size)
    return true;
  vkgdr_error_set ("the file descriptor is of %lld bytes, and not of %zu: pass "
                   "the size that vkgdr_memory_describe_fd() gave",
      (long long) status.st_size, size);
  return false;
}

void *
vkgdr_memfd_map (int fd, size_t size)
{
  void *memory = MAP_FAILED;
  header found;

  errno = EINVAL;
  if (read_header (fd, &found) && size <= found.size - found.place)
    memory = mmap (NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
        (off_t) found.place);
  if (memory != MAP_FAILED)
    return memory;
  vkgdr_error_set (
      "memory of %zu bytes of the software device cannot be mapped "
      "(%s): check that it was exported by lavapipe",
      size, strerror (errno));
  return NULL;
}

void
vkgdr_memfd_unmap (void *memory, size_t size)
{
  munmap (memory, size);
}

void
vkgdr_memfd_keep_header (int fd, void *memory)
{
  uint8_t copy[MAX_HEADER];
  uint64_t place;
  header found;
  void *start;

  if (!vkgdr_memfd_is_file (fd) || !read_header (fd, &found)
      || found.place > sizeof (copy))
    return;
  memcpy (&place, (uint8_t *) memory - sizeof (place), sizeof (place));
  if (place != found.place)
    return;
  start = (uint8_t *) memory - place;
  memcpy (copy, start, place);
  if (mmap (start, place, PROT_READ | PROT_WRITE,
          MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0)
      == start)
    memcpy (start, copy, place);
}
