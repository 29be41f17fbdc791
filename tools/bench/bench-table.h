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
 * @BENCH_CELLS_NUMBERS: all columns but the first are set on the right
 * @BENCH_CELLS_TEXTS: all columns are set on the left
 */
typedef enum { BENCH_CELLS_NUMBERS, BENCH_CELLS_TEXTS } BenchCells;

typedef struct _BenchTable BenchTable;

BenchTable *bench_table_new (const gchar *title, BenchCells cells);
void bench_table_free (BenchTable *table);

/* Starts a row; the first one is the head. */
void bench_table_add_row (BenchTable *table);

/* Adds a cell to the last row. */
void bench_table_add_cell (BenchTable *table, const gchar *format, ...)
    G_GNUC_PRINTF (2, 3);

/* Adds a cell for something that failed: short texts stand there themselves,
 * others below the table. */
void bench_table_add_failure (BenchTable *table, const gchar *text);

void bench_table_print (const BenchTable *table, BenchStyle style);

#endif /* BENCH_TABLE_H */
