/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * copy-lines.c: copies with the streaming stores and loads of each instruction
 * set
 *
 * The CPU sends a line of its write-combining buffers to the bus in one piece
 * only if the line is complete, and reads whole lines into its fill buffers. So
 * copies are divided into whole lines of the device's memory.
 */

#include "copy.h"

#include <stdint.h>
#include <string.h>

#include "fence.h"

/* Size of a line of the CPU's buffers in bytes. */
#define LINE 64

#ifdef __x86_64__
#include <immintrin.h>

typedef struct {
  __m128i a, b, c, d;
} sse41_line;

typedef struct {
  __m256i a, b;
} avx2_line;

typedef __m512i avx512_line;

#define SSE41_LOAD(from, load) \
  (sse41_line) \
  { \
    load ((__m128i *) (from)), load ((__m128i *) (from) + 1), \
        load ((__m128i *) (from) + 2), load ((__m128i *) (from) + 3) \
  }
#define SSE41_STORE(to, line, store) \
  store ((__m128i *) (to), line.a), store ((__m128i *) (to) + 1, line.b), \
      store ((__m128i *) (to) + 2, line.c), \
      store ((__m128i *) (to) + 3, line.d)

#define AVX2_LOAD(from, load) \
  (avx2_line) \
  { \
    load ((__m256i *) (from)), load ((__m256i *) (from) + 1) \
  }
#define AVX2_STORE(to, line, store) \
  store ((__m256i *) (to), line.a), store ((__m256i *) (to) + 1, line.b)

#define AVX512_LOAD(from, load) load ((void *) (from))
#define AVX512_STORE(to, line, store) store ((void *) (to), line)

/* Bytes from @p to the next whole line, at most @size. */
static inline size_t
to_line (const void *p, size_t size)
{
  size_t n = -(uintptr_t) p & (LINE - 1);

  return n < size ? n : size;
}

/* Only these functions are compiled for the instruction set. */
#define DEFINE_COPY(isa, extension, direction, aligned, LOAD, load, STORE, \
    store, fence_before, fence_after) \
  __attribute__ ((target (extension))) static void isa##_##direction ( \
      void *dst, const void *src, size_t size) \
  { \
    size_t head = to_line (aligned, size); \
    uint8_t *to = (uint8_t *) dst + head; \
    uint8_t *from = (uint8_t *) src + head; \
\
    fence_before; \
    memcpy (dst, src, head); \
    for (size -= head; size >= LINE; size -= LINE) { \
      isa##_line line = LOAD (from, load); \
\
      STORE (to, line, store); \
      from += LINE; \
      to += LINE; \
    } \
    memcpy (to, from, size); \
    fence_after; \
  }

/* Without a fence, streaming loads may run before earlier stores. */
#define DEFINE_COPIES(isa, extension, LOAD, STORE, prefix, bits) \
  DEFINE_COPY (isa, extension, to_bar, dst, LOAD, prefix##_loadu_si##bits, \
      STORE, prefix##_stream_si##bits, (void) 0, _mm_sfence ()) \
  DEFINE_COPY (isa, extension, from_bar, src, LOAD, \
      prefix##_stream_load_si##bits, STORE, prefix##_storeu_si##bits, \
      _mm_mfence (), (void) 0)

DEFINE_COPIES (sse41, "sse4.1", SSE41_LOAD, SSE41_STORE, _mm, 128)
DEFINE_COPIES (avx2, "avx2", AVX2_LOAD, AVX2_STORE, _mm256, 256)
DEFINE_COPIES (avx512, "avx512f", AVX512_LOAD, AVX512_STORE, _mm512, 512)
#endif

/* On other CPUs, the C library's copy of whole vectors is the fastest known
 * one. */
static void
generic_to_bar (void *dst, const void *src, size_t size)
{
  memcpy (dst, src, size);
  vkgdr_store_fence ();
}

static void
generic_from_bar (void *dst, const void *src, size_t size)
{
  memcpy (dst, src, size);
}

unsigned int
vkgdr_copy_list (vkgdr_copy_functions list[VKGDR_COPY_MAX_ISAS])
{
  unsigned int n = 0;

#ifdef __x86_64__
  __builtin_cpu_init ();
  if (__builtin_cpu_supports ("avx512f"))
    list[n++] =
        (vkgdr_copy_functions){ "avx512", avx512_to_bar, avx512_from_bar };
  if (__builtin_cpu_supports ("avx2"))
    list[n++] = (vkgdr_copy_functions){ "avx2", avx2_to_bar, avx2_from_bar };
  if (__builtin_cpu_supports ("sse4.1"))
    list[n++] =
        (vkgdr_copy_functions){ "sse4.1", sse41_to_bar, sse41_from_bar };
#endif
  list[n++] =
      (vkgdr_copy_functions){ "generic", generic_to_bar, generic_from_bar };
  return n;
}
