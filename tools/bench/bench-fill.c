/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * bench-fill.c: how frames are written
 *
 * The benchmark's source and its bare loops write in the same way. Must not
 * depend on the memory of the frames.
 */

#include "bench-fill.h"

#include <string.h>

/* The size of the pattern of BENCH_FILL_COPY in bytes. The pattern stays in the
 * processor's cache, like a line of a frame that a producer has just
 * computed. */
#define PATTERN_SIZE ((gsize) 64 << 10)

static const gchar *const names[] = { "memset", "copy", "uncached" };

const gchar *
bench_fill_name (BenchFillKind kind)
{
  return names[kind];
}

gboolean
bench_fill_parse (const gchar *name, BenchFillKind *kind)
{
  guint i;

  for (i = 0; i < G_N_ELEMENTS (names); i++)
    if (strcmp (name, names[i]) == 0) {
      *kind = (BenchFillKind) i;
      return TRUE;
    }
  return FALSE;
}

void
bench_fill_init (BenchFill *fill, BenchFillKind kind, gsize area_size)
{
  gsize i;

  memset (fill, 0, sizeof (*fill));
  fill->kind = kind;
  if (kind == BENCH_FILL_MEMSET)
    return;
  fill->size =
      kind == BENCH_FILL_COPY ? PATTERN_SIZE : MAX (area_size, PATTERN_SIZE);
  fill->area = g_malloc (fill->size);
  for (i = 0; i < fill->size; i++)
    fill->area[i] = (guint8) (i * 7 + i / 251);
}

void
bench_fill_clear (BenchFill *fill)
{
  g_clear_pointer (&fill->area, g_free);
}

void
bench_fill_write (BenchFill *fill, guint8 *data, gsize size, guint64 number)
{
  if (fill->kind == BENCH_FILL_MEMSET) {
    memset (data, (int) (number & 0xff), size);
    return;
  }
  while (size > 0) {
    gsize part = MIN (size, fill->size - fill->offset);

    memcpy (data, fill->area + fill->offset, part);
    fill->offset = (fill->offset + part) % fill->size;
    data += part;
    size -= part;
  }
}
