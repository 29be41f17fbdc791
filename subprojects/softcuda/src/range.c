/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * range.c: the address ranges that the driver knows
 *
 * A sorted array of live ranges that do not overlap. Knows nothing of how
 * memory is allocated or freed.
 */

#include <string.h>
#include <unistd.h>

#include "private.h"

static sc_range *ranges;
static size_t n_ranges;
static size_t n_room;

/* Index of the first range that begins after the address. */
static size_t
index_after (uintptr_t address)
{
  size_t low = 0;
  size_t high = n_ranges;

  while (low < high) {
    size_t middle = low + (high - low) / 2;

    if (ranges[middle].start <= address)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

size_t
sc_whole_pages (size_t size)
{
  size_t page = sysconf (_SC_PAGESIZE);

  return (size + page - 1) / page * page;
}

CUresult
sc_range_add_locked (const sc_range *range)
{
  size_t at;

  if (n_ranges == n_room) {
    size_t room = n_room != 0 ? 2 * n_room : 64;
    sc_range *grown = realloc (ranges, room * sizeof *ranges);

    if (grown == NULL)
      return CUDA_ERROR_OUT_OF_MEMORY;
    ranges = grown;
    n_room = room;
  }
  at = index_after (range->start);
  memmove (&ranges[at + 1], &ranges[at], (n_ranges - at) * sizeof *ranges);
  ranges[at] = *range;
  n_ranges++;
  return CUDA_SUCCESS;
}

const sc_range *
sc_range_find_locked (uintptr_t address)
{
  size_t at = index_after (address);

  if (at == 0 || address - ranges[at - 1].start >= ranges[at - 1].size)
    return NULL;
  return &ranges[at - 1];
}

bool
sc_range_overlaps_locked (uintptr_t start, size_t size)
{
  size_t at = index_after (start);

  if (sc_range_find_locked (start) != NULL)
    return true;
  return at < n_ranges && ranges[at].start - start < size;
}

/* Mappings that follow each other are used like one memory. */
bool
sc_range_covers_locked (uintptr_t start, size_t size)
{
  const sc_range *range = sc_range_find_locked (start);

  while (range != NULL && range->kind == SC_RANGE_VIRTUAL
         && size > range->size - (start - range->start)) {
    size -= range->size - (start - range->start);
    start = range->start + range->size;
    range = sc_range_find_locked (start);
  }
  return range != NULL && size <= range->size - (start - range->start);
}

uintptr_t
sc_range_device_address_locked (uintptr_t address)
{
  const sc_range *range = sc_range_find_locked (address);
  uintptr_t page = sysconf (_SC_PAGESIZE);

  if (range == NULL || range->kind != SC_RANGE_REGISTERED || range->map == NULL)
    return address;
  return (uintptr_t) range->map + (address - (range->start & ~(page - 1)));
}

/* Returns the range that begins at this address, or NULL. */
static sc_range *
range_at (uintptr_t start)
{
  size_t at = index_after (start);

  return at > 0 && ranges[at - 1].start == start ? &ranges[at - 1] : NULL;
}

void
sc_range_remove_locked (uintptr_t start)
{
  sc_range *range = range_at (start);

  if (range == NULL)
    return;
  n_ranges--;
  memmove (
      range, range + 1, (size_t) (&ranges[n_ranges] - range) * sizeof *range);
}

void
sc_range_set_shared_locked (uintptr_t start, sc_shared *shared)
{
  sc_range *range = range_at (start);

  if (range != NULL)
    range->shared = shared;
}

void
sc_range_set_managed_locked (uintptr_t start)
{
  sc_range *range = range_at (start);

  if (range != NULL)
    range->is_managed = true;
}

const sc_range *
sc_range_search_locked (sc_range_kind kind,
    bool (*is_it) (const sc_range *range, const void *data), const void *data)
{
  for (size_t i = 0; i < n_ranges; i++)
    if (ranges[i].kind == kind && is_it (&ranges[i], data))
      return &ranges[i];
  return NULL;
}

const sc_range *
sc_range_any_locked (CUcontext context)
{
  for (size_t i = 0; i < n_ranges; i++)
    if (ranges[i].context == context)
      return &ranges[i];
  return NULL;
}
