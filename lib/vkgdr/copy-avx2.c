/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * copy-avx2.c: copies with the 32-byte streaming stores and loads of AVX2
 *
 * Compiled for AVX2, so nothing else may be in this file.
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
  __m256i a, b;

  memcpy (dst, src, head);
  for (size -= head; size >= LINE; size -= LINE) {
    a = _mm256_loadu_si256 ((const __m256i *) from);
    b = _mm256_loadu_si256 ((const __m256i *) (from + 32));
    _mm256_stream_si256 ((__m256i *) to, a);
    _mm256_stream_si256 ((__m256i *) (to + 32), b);
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
  const uint8_t *from = (const uint8_t *) src + head;
  __m256i a, b;

  /* Without a fence, streaming loads may run before earlier stores. */
  _mm_mfence ();
  memcpy (dst, src, head);
  for (size -= head; size >= LINE; size -= LINE) {
    a = _mm256_stream_load_si256 ((const __m256i *) from);
    b = _mm256_stream_load_si256 ((const __m256i *) (from + 32));
    _mm256_storeu_si256 ((__m256i *) to, a);
    _mm256_storeu_si256 ((__m256i *) (to + 32), b);
    from += LINE;
    to += LINE;
  }
  memcpy (to, from, size);
}

const vkgdr_copy_functions vkgdr_copy_avx2 = {
  .name = "avx2", .to_bar = to_bar, .from_bar = from_bar
};
