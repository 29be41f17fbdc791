/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * copy-line.h: the distance to the first whole line of a copy
 *
 * For the files of the instruction sets. The function is `static`, so that no
 * file uses code that was compiled for another instruction set. Private.
 */

#ifndef VKGDR_COPY_LINE_H
#define VKGDR_COPY_LINE_H

#include <stddef.h>
#include <stdint.h>

/* Size in bytes of a line of the CPU's write-combining and fill buffers. Only
 * whole lines are sent to the bus in one piece, so the copy is aligned to lines
 * of the device's memory. */
#define LINE 64

/* Bytes from @p to the next whole line, at most @size. */
static inline size_t
to_line (const void *p, size_t size)
{
  size_t n = -(uintptr_t) p & (LINE - 1);

  return n < size ? n : size;
}

#endif /* VKGDR_COPY_LINE_H */
