/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * copy-line.h: where the first whole line of a copy begins
 *
 * For the files of the instruction sets: `static`, so that none of them lends
 * its code to another. Private.
 */

#ifndef VKGDR_COPY_LINE_H
#define VKGDR_COPY_LINE_H

#include <stddef.h>
#include <stdint.h>

/* Bytes of a line of the CPU's write-combining and fill buffers. Only whole
 * lines leave for the bus in one piece, so the far side is aligned to them. */
#define LINE 64

/* Bytes that @p lacks to the next whole line, at most @size. */
static inline size_t
to_line (const void *p, size_t size)
{
  size_t n = -(uintptr_t) p & (LINE - 1);

  return n < size ? n : size;
}

#endif /* VKGDR_COPY_LINE_H */
