/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * register.c: host memory that is registered for DMA
 *
 * A GPU reads and writes the pages that were registered, even when the process
 * has unmapped them or has mapped others at the same address. For shared
 * mappings (memfd, shared memory, files) the device does the same: it maps the
 * same pages a second time, and copies use that mapping. Private memory cannot
 * be mapped twice. For private memory, the device uses the pages that are
 * mapped at the address when it copies. Knows nothing of copies.
 */

#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "private.h"

/* The number of pages that one call of mincore() checks. */
#define PAGES_AT_ONCE 256

/* Whether all pages are mapped. */
static bool
memory_exists (uintptr_t start, size_t size)
{
  size_t page = sysconf (_SC_PAGESIZE);
  uintptr_t at = start & ~(page - 1);
  unsigned char resident[PAGES_AT_ONCE];

  while (at < start + size) {
    size_t left = start + size - at;

    if (left > PAGES_AT_ONCE * page)
      left = PAGES_AT_ONCE * page;
    if (mincore ((void *) at, left, resident) != 0)
      return false;
    at += left;
  }
  return true;
}

/* Maps the pages of [first, end) a second time, at target. They must be in one
 * mapping. */
static bool
duplicate_part (uintptr_t first, uintptr_t end, uintptr_t target)
{
  return mremap ((void *) first, 0, end - first, MREMAP_MAYMOVE | MREMAP_FIXED,
             (void *) target)
         != MAP_FAILED;
}

/* Maps the pages from start on a second time, into the reserved area, one
 * mapping of /proc/self/maps after the other. Returns false if one of these
 * mappings is private. */
static bool
duplicate_all (uintptr_t start, char *map, size_t size)
{
  FILE *maps = fopen ("/proc/self/maps", "re");
  uintptr_t at = start;
  unsigned long first;
  unsigned long end;
  char sharing;

  if (maps == NULL)
    return false;
  while (
      at < start + size
      && fscanf (maps, "%lx-%lx %*3c%c%*[^\n]", &first, &end, &sharing) == 3) {
    if (end <= at)
      continue;
    if (first > at || sharing != 's')
      break;
    if (end > start + size)
      end = start + size;
    if (!duplicate_part (at, end, (uintptr_t) map + (at - start)))
      break;
    at = end;
  }
  fclose (maps);
  return at >= start + size;
}

/* range->map stays NULL if the pages cannot be mapped a second time. */
static void
map_pages_again (sc_range *range)
{
  size_t page = sysconf (_SC_PAGESIZE);
  uintptr_t start = range->start & ~(page - 1);
  size_t size = (range->start + range->size - start + page - 1) & ~(page - 1);
  void *map = mmap (NULL, size, PROT_NONE,
      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

  if (map == MAP_FAILED)
    return;
  if (duplicate_all (start, map, size)) {
    range->map = map;
    range->map_size = size;
  } else {
    munmap (map, size);
  }
}

CUresult
cuMemHostRegister_v2 (void *pointer, size_t size, unsigned int flags)
{
  uintptr_t start = (uintptr_t) pointer;
  CUcontext context;
  CUresult result;

  SC_ENTER (cuMemHostRegister);
  if (pointer == NULL || size == 0 || size > UINTPTR_MAX - start)
    return CUDA_ERROR_INVALID_VALUE;
  sc_lock ();
  result = sc_current_usable_locked (&context);
  if (result == CUDA_SUCCESS && sc_range_overlaps_locked (start, size))
    result = CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
  else if (result == CUDA_SUCCESS && !memory_exists (start, size))
    result = CUDA_ERROR_INVALID_VALUE;
  if (result == CUDA_SUCCESS) {
    sc_range range = { start, size, SC_RANGE_REGISTERED, context, NULL, 0 };

    map_pages_again (&range);
    result = sc_range_add_locked (&range);
    if (result != CUDA_SUCCESS && range.map != NULL)
      munmap (range.map, range.map_size);
  }
  sc_unlock ();
  return result;
}

CUresult
cuMemHostUnregister (void *pointer)
{
  SC_ENTER (cuMemHostUnregister);
  if (pointer == NULL)
    return CUDA_ERROR_INVALID_VALUE;
  return sc_memory_free ((uintptr_t) pointer, SC_RANGE_REGISTERED,
      SC_RANGE_REGISTERED, CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
}
