/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * test-copy.c: compares the copies of every instruction set of this CPU with
 * memcpy(), for all alignments, with guards on both sides
 */

#include "copy.h"
#include "util.h"

#include <stdlib.h>
#include <string.h>

#define GUARD ((size_t) 128)

typedef struct buffers {
  size_t size;
  uint8_t *src;
  uint8_t *dst;
  uint8_t *expected;
} buffers;

static buffers
buffers_new (size_t size)
{
  buffers b = { .size = size + 2 * GUARD };
  size_t i;

  b.src = aligned_alloc (64, (b.size + 63) & ~(size_t) 63);
  b.dst = aligned_alloc (64, (b.size + 63) & ~(size_t) 63);
  b.expected = malloc (b.size);
  for (i = 0; i < b.size; i++)
    b.src[i] = (uint8_t) (i * 31 + i / 256 + 1);
  return b;
}

static void
buffers_free (buffers *b)
{
  free (b->src);
  free (b->dst);
  free (b->expected);
}

/* Prepares the buffer dst, and what it has to contain after the copy. */
static void
buffers_prepare (buffers *b, size_t dst, size_t src, size_t size)
{
  memset (b->dst, 0xee, b->size);
  memset (b->expected, 0xee, b->size);
  memcpy (b->expected + GUARD + dst, b->src + GUARD + src, size);
}

static void
buffers_check (buffers *b, const char *isa, size_t dst, size_t src, size_t size)
{
  if (memcmp (b->dst, b->expected, b->size) != 0)
    ck_abort_msg ("%s: %zu bytes from offset %zu to %zu", isa, size, src, dst);
}

static void
check_isa (const vkgdr_copy_functions *isa, buffers *b, size_t dst, size_t src,
    size_t size)
{
  buffers_prepare (b, dst, src, size);
  isa->to_bar (b->dst + GUARD + dst, b->src + GUARD + src, size);
  buffers_check (b, isa->name, dst, src, size);
  buffers_prepare (b, dst, src, size);
  isa->from_bar (b->dst + GUARD + dst, b->src + GUARD + src, size);
  buffers_check (b, isa->name, dst, src, size);
}

/* Offsets around the alignments of vectors and cache lines. */
static const size_t offsets[] = { 0, 1, 15, 16, 17, 31, 32, 33, 63, 64, 65 };

/* Sizes of copies, and of a buffer for them. */
static const struct {
  size_t first, last, room;
} sizes[] = {
  { 0, 300, 512 },
  { 4095, 4097, 4096 + 128 },
};

TEST_LOOP (all_alignments, N_ELEMENTS (sizes))
{
  vkgdr_copy_functions isas[VKGDR_COPY_MAX_ISAS];
  unsigned int n = vkgdr_copy_list (isas), isa;
  buffers b = buffers_new (sizes[__i__].room);
  size_t i, j, size;

  for (isa = 0; isa < n; isa++)
    for (i = 0; i < N_ELEMENTS (offsets); i++)
      for (j = 0; j < N_ELEMENTS (offsets); j++)
        for (size = sizes[__i__].first; size <= sizes[__i__].last; size++)
          check_isa (&isas[isa], &b, offsets[i], offsets[j], size);
  buffers_free (&b);
}

TEST (in_threads)
{
  static const unsigned int threads[] = { 0, 1, 2, 3, 7, 16, 1000 };
  static const size_t large[] = { 1, 4095, ((size_t) 2 << 20) - 1,
    ((size_t) 4 << 20) + 1, (size_t) 9 << 20, ((size_t) 9 << 20) + 4097 };
  buffers b = buffers_new (((size_t) 9 << 20) + 8192);
  size_t i, j;

  for (i = 0; i < N_ELEMENTS (large); i++) {
    for (j = 0; j < N_ELEMENTS (threads); j++) {
      buffers_prepare (&b, 3, 5, large[i]);
      vkgdr_copy_to_bar (
          b.dst + GUARD + 3, b.src + GUARD + 5, large[i], threads[j]);
      buffers_check (&b, vkgdr_copy_isa (), 3, 5, large[i]);
    }
    buffers_prepare (&b, 3, 5, large[i]);
    vkgdr_copy_from_bar (b.dst + GUARD + 3, b.src + GUARD + 5, large[i]);
    buffers_check (&b, vkgdr_copy_isa (), 3, 5, large[i]);
  }
  buffers_free (&b);
}

TEST (the_best_is_in_use)
{
  vkgdr_copy_functions isas[VKGDR_COPY_MAX_ISAS];
  unsigned int n = vkgdr_copy_list (isas);

  ck_assert_uint_ge (n, 1);
  ck_assert_str_eq (vkgdr_copy_isa (), isas[0].name);
  ck_assert_str_eq (isas[n - 1].name, "generic");
#ifdef __x86_64__
  if (__builtin_cpu_supports ("avx512f"))
    ck_assert_str_eq (vkgdr_copy_isa (), "avx512");
  else if (__builtin_cpu_supports ("avx2"))
    ck_assert_str_eq (vkgdr_copy_isa (), "avx2");
#endif
}
