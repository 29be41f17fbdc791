/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * bench-fill.h: how frames are written
 */

#ifndef BENCH_FILL_H
#define BENCH_FILL_H

#include <glib.h>

/**
 * BenchFillKind:
 * @BENCH_FILL_MEMSET: memset()
 * @BENCH_FILL_COPY: copies of 64 KiB that stay in the processor's cache
 * @BENCH_FILL_UNCACHED: copies from an area that is larger than the cache
 */
typedef enum {
  BENCH_FILL_MEMSET,
  BENCH_FILL_COPY,
  BENCH_FILL_UNCACHED
} BenchFillKind;

/**
 * BenchFill:
 * @kind: how frames are written
 * @area: (nullable): the bytes that are copied
 * @size: bytes of @area
 * @offset: where the next copy begins
 *
 * One writer's state. Not thread-safe.
 */
typedef struct {
  BenchFillKind kind;
  guint8 *area;
  gsize size;
  gsize offset;
} BenchFill;

/* Returns FALSE unless @name is `memset`, `copy` or `uncached`. */
gboolean bench_fill_parse (const gchar *name, BenchFillKind *kind);

const gchar *bench_fill_name (BenchFillKind kind);

/* Writes to the whole area, so that its pages exist. @area_size is the size of
 * the area of BENCH_FILL_UNCACHED in bytes. */
void bench_fill_init (BenchFill *fill, BenchFillKind kind, gsize area_size);

void bench_fill_clear (BenchFill *fill);

/* Writes frame number @number to @data. */
void bench_fill_write (
    BenchFill *fill, guint8 *data, gsize size, guint64 number);

#endif /* BENCH_FILL_H */
