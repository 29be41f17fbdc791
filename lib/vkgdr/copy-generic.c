/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * copy-generic.c: copies for CPUs without streaming stores and loads
 *
 * On such CPUs, the C library's copy of whole vectors is the fastest known one.
 */

#include "copy.h"

#include <string.h>

#include "fence.h"

static void
to_bar (void *dst, const void *src, size_t size)
{
  memcpy (dst, src, size);
  vkgdr_store_fence ();
}

static void
from_bar (void *dst, const void *src, size_t size)
{
  memcpy (dst, src, size);
}

const vkgdr_copy_functions vkgdr_copy_generic = {
  .name = "generic", .to_bar = to_bar, .from_bar = from_bar
};
