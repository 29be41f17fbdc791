/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * copy.h: the copies of each instruction set
 *
 * Private.
 */

#ifndef VKGDR_COPY_H
#define VKGDR_COPY_H

#include <stddef.h>

/* The copies of one instruction set, for any alignment and size. to_bar ()
 * copies to write-combined memory, and ends with a store fence. */
typedef struct vkgdr_copy_functions {
  const char *name; /* for vkgdr_copy_isa() */
  void (*to_bar) (void *dst, const void *src, size_t size);
  void (*from_bar) (void *dst, const void *src, size_t size);
} vkgdr_copy_functions;

#define VKGDR_COPY_MAX_ISAS 4

/* Lists the instruction sets of this CPU, the best first. Returns the number of
 * entries. */
unsigned int vkgdr_copy_list (vkgdr_copy_functions list[VKGDR_COPY_MAX_ISAS]);

#endif /* VKGDR_COPY_H */
