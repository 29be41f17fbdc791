/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * copy-sse41.c: copies with the 16-byte streaming stores and loads of SSE4.1
 *
 * Compiled for SSE4.1, so nothing else may be in this file.
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
  __m128i a, b, c, d;

  memcpy (dst, src, head);
  for (size -= head; size >= LINE; size -= LINE) {
    a = _mm_loadu_si128 ((const __m128i *) from);
    b = _mm_loadu_si128 ((const __m128i *) (from + 16));
    c = _mm_loadu_si128 ((const __m128i *) (from + 32));
    d = _mm_loadu_si128 ((const __m128i *) (from + 48));
    _mm_stream_si128 ((__m128i *) to, a);
    _mm_stream_si128 ((__m128i *) (to + 16), b);
    _mm_stream_si128 ((__m128i *) (to + 32), c);
    _mm_stream_si128 ((__m128i *) (to + 48), d);
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
  __m128i a, b, c, d;

  /* Without a fence, streaming loads may run before earlier stores. */
  _mm_mfence ();
  memcpy (dst, src, head);
  for (size -= head; size >= LINE; size -= LINE) {
    a = _mm_stream_load_si128 ((__m128i *) from);
    b = _mm_stream_load_si128 ((__m128i *) (from + 16));
    c = _mm_stream_load_si128 ((__m128i *) (from + 32));
    d = _mm_stream_load_si128 ((__m128i *) (from + 48));
    _mm_storeu_si128 ((__m128i *) to, a);
    _mm_storeu_si128 ((__m128i *) (to + 16), b);
    _mm_storeu_si128 ((__m128i *) (to + 32), c);
    _mm_storeu_si128 ((__m128i *) (to + 48), d);
    from += LINE;
    to += LINE;
  }
  memcpy (to, from, size);
}

const vkgdr_copy_functions vkgdr_copy_sse41 = {
  .name = "sse4.1", .to_bar = to_bar, .from_bar = from_bar
};
