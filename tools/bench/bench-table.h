/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * bench-table.h: a table of texts, for a terminal or in Markdown
 */

#ifndef BENCH_TABLE_H
#define BENCH_TABLE_H

#include <glib.h>

typedef enum { BENCH_STYLE_TERMINAL, BENCH_STYLE_MARKDOWN } BenchStyle;

/**
 * BenchCells:
 * @BENCH_CELLS_NUMBERS: all columns except the first are aligned right
 * @BENCH_CELLS_TEXTS: all columns are aligned left
 */
typedef enum { BENCH_CELLS_NUMBERS, BENCH_CELLS_TEXTS } BenchCells;

typedef struct _BenchTable BenchTable;

BenchTable *bench_table_new (const gchar *title, BenchCells cells);
void bench_table_free (BenchTable *table);

/* Starts a row. The first row is the head. */
void bench_table_add_row (BenchTable *table);

/* Adds a cell to the last row. */
void bench_table_add_cell (BenchTable *table, const gchar *format, ...)
    G_GNUC_PRINTF (2, 3);

/* Adds a cell for an error: a short text in the cell itself, a longer one below
 * the table. */
void bench_table_add_failure (BenchTable *table, const gchar *text);

void bench_table_print (const BenchTable *table, BenchStyle style);

#endif /* BENCH_TABLE_H */
