/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * proc-address.c: entry points by name and version
 *
 * A program requests a name without its suffix, and a version of the API. It
 * gets the newest variant that exists in this version. Knows nothing of
 * what the entry points do.
 */

#include <string.h>

#include "absent.h"
#include "private.h"

/* A symbol is a name, in some cases followed by _v and a digit. Symbols for
 * per-thread default streams also have one of these suffixes. */
#define SUFFIX_SIZE 5
static const char *const thread_suffixes[] = { "_ptds", "_ptsz" };

/* The size of the symbol without the suffix of per-thread streams. */
static size_t
size_without_thread (const char *symbol, bool *per_thread)
{
  size_t size = strlen (symbol);

  *per_thread = false;
  for (int i = 0; i < 2; i++)
    if (size > SUFFIX_SIZE
        && strcmp (symbol + size - SUFFIX_SIZE, thread_suffixes[i]) == 0)
      *per_thread = true;
  return *per_thread ? size - SUFFIX_SIZE : size;
}

static size_t
size_without_version (const char *symbol, size_t size)
{
  return size > 3 && memcmp (symbol + size - 3, "_v", 2) == 0 ? size - 3 : size;
}

static bool
is_variant (const char *symbol, const char *name)
{
  bool per_thread;
  size_t size = size_without_thread (symbol, &per_thread);

  size = size_without_version (symbol, size);
  return !per_thread && strlen (name) == size
         && memcmp (symbol, name, size) == 0;
}

/* Per-thread default streams are the same as the default stream here. So one
 * entry point is used for both. */
static CUresult
find_entry_point (const char *name, int version, void **function,
    CUdriverProcAddressQueryResult *status)
{
  const sc_entry_point *found = NULL;

  *status = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  for (int i = 0; i < sc_n_entry_points; i++) {
    const sc_entry_point *entry = &sc_entry_points[i];

    if (!is_variant (entry->symbol, name))
      continue;
    if (found == NULL)
      *status = CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT;
    if (entry->version > version
        || (found != NULL && entry->version < found->version))
      continue;
    found = entry;
    *status = CU_GET_PROC_ADDRESS_SUCCESS;
  }
  *function = found != NULL ? (void *) found->address : NULL;
  return found != NULL ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

CUresult
cuGetProcAddress_v2 (const char *name, void **function, int version,
    uint64_t flags, CUdriverProcAddressQueryResult *status)
{
  CUdriverProcAddressQueryResult unused;
  CUresult result = sc_fail_check (SC_CALL_cuGetProcAddress);

  if (result != CUDA_SUCCESS)
    return result;
  if (name == NULL || function == NULL
      || flags > CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM)
    return CUDA_ERROR_INVALID_VALUE;
  return find_entry_point (
      name, version, function, status != NULL ? status : &unused);
}

/* May be called before cuInit(), like cuGetProcAddress_v2(). */
CUresult
cuGetProcAddress (
    const char *name, void **function, int version, uint64_t flags)
{
  return cuGetProcAddress_v2 (name, function, version, flags, NULL);
}
