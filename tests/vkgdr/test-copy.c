/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * test-copy.c: compares the copies of every instruction set of this CPU with
 * memcpy(), for all alignments, with guards on both sides
 */

#include "copy.h"
#include "util.h"

#include <stdlib.h>
#include <string.h>

#define MIB ((size_t) 1 << 20)
#define GUARD ((size_t) 128)

typedef void (*copy_function) (void *dst, const void *src, size_t size);

/* Copies in the number of threads that a test sets. */
static unsigned int n_threads;

static void
copy_in_threads (void *dst, const void *src, size_t size)
{
  vkgdr_copy_to_bar (dst, src, size, n_threads);
}

/* Copies @size bytes from offset @src to offset @dst, in buffers of which the
 * first @room bytes and the guards are checked. */
static void
check (const char *name, copy_function copy, size_t room, size_t dst,
    size_t src, size_t size)
{
  static _Alignas(64) uint8_t from[10 * MIB], to[10 * MIB], expected[10 * MIB];
  size_t all = room + 2 * GUARD;

  if (from[0] == 0)
    test_fill (from, sizeof (from), 1);
  memset (to, 0xee, all);
  memset (expected, 0xee, all);
  memcpy (expected + GUARD + dst, from + GUARD + src, size);
  copy (to + GUARD + dst, from + GUARD + src, size);
  if (memcmp (to, expected, all) != 0)
    ck_abort_msg ("%s: %zu bytes from offset %zu to %zu", name, size, src, dst);
}

/* Offsets around the alignments of vectors and cache lines. */
static const size_t offsets[] = { 0, 1, 15, 16, 17, 31, 32, 33, 63, 64, 65 };

/* All sizes up to 300, and those around a page. */
TEST (all_alignments)
{
  vkgdr_copy_functions isas[VKGDR_COPY_MAX_ISAS];
  unsigned int n = vkgdr_copy_list (isas), isa;
  size_t i, size, dst, src, room;

  for (isa = 0; isa < n; isa++)
    for (i = 0; i < N_ELEMENTS (offsets) * N_ELEMENTS (offsets); i++)
      for (size = 0; size <= 4097; size += size == 300 ? 3795 : 1) {
        dst = offsets[i / N_ELEMENTS (offsets)];
        src = offsets[i % N_ELEMENTS (offsets)];
        room = size + 2 * 64;
        check (isas[isa].name, isas[isa].to_bar, room, dst, src, size);
        check (isas[isa].name, isas[isa].from_bar, room, dst, src, size);
      }
}

TEST (in_threads)
{
  static const unsigned int threads[] = { 0, 1, 2, 3, 7, 16, 1000 };
  static const size_t large[] = { 1, 4095, 2 * MIB - 1, 4 * MIB + 1, 9 * MIB,
    9 * MIB + 4097 };
  size_t i, j;

  for (i = 0; i < N_ELEMENTS (large); i++) {
    for (j = 0; j < N_ELEMENTS (threads); j++) {
      n_threads = threads[j];
      check ("to", copy_in_threads, large[i] + 64, 3, 5, large[i]);
    }
    check ("from", vkgdr_copy_from_bar, large[i] + 64, 3, 5, large[i]);
  }
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
