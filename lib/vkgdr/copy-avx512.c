/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * copy-avx512.c: copies with the 64-byte streaming stores and loads of AVX-512F
 *
 * Compiled for AVX-512F, so nothing else may be in this file.
 */

#include "copy.h"
#include "copy-line.h"

#include <immintrin.h>
#include <string.h>

static void
to_bar (void *dst, const void *src, size_t size)
{
  size_t head = to_line (dst, size);
  uint8_t *to = (uint8_t *) dst + head;
  const uint8_t *from = (const uint8_t *) src + head;

  memcpy (dst, src, head);
  for (size -= head; size >= LINE; size -= LINE) {
    _mm512_stream_si512 ((__m512i *) to, _mm512_loadu_si512 (from));
    from += LINE;
    to += LINE;
  }
  memcpy (to, from, size);
  _mm_sfence ();
}

static void
from_bar (void *dst, const void *src, size_t size)
{
  size_t head = to_line (src, size);
  uint8_t *to = (uint8_t *) dst + head;
  uint8_t *from = (uint8_t *) src + head;

  /* Without a fence, streaming loads may run before earlier stores. */
  _mm_mfence ();
  memcpy (dst, src, head);
  for (size -= head; size >= LINE; size -= LINE) {
    _mm512_storeu_si512 (to, _mm512_stream_load_si512 (from));
    from += LINE;
    to += LINE;
  }
  memcpy (to, from, size);
}

const vkgdr_copy_functions vkgdr_copy_avx512 = {
  .name = "avx512", .to_bar = to_bar, .from_bar = from_bar
};
