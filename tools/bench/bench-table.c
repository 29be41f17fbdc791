/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * bench-table.c: a table of texts, for a terminal or in Markdown
 *
 * Must not depend on the meaning of the texts.
 */

#include "bench-table.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* The longest error that is written to its cell, in characters. */
#define SHORT 14

/* Rows are arrays of strings. The first row is the head. */
struct _BenchTable {
  gchar *title;
  BenchCells cells;
  GPtrArray *rows;
  GPtrArray *notes;
};

BenchTable *
bench_table_new (const gchar *title, BenchCells cells)
{
  BenchTable *table = g_new0 (BenchTable, 1);

  table->title = g_strdup (title);
  table->cells = cells;
  table->rows =
      g_ptr_array_new_with_free_func ((GDestroyNotify) g_ptr_array_unref);
  table->notes = g_ptr_array_new_with_free_func (g_free);
  return table;
}

void
bench_table_free (BenchTable *table)
{
  g_free (table->title);
  g_ptr_array_unref (table->rows);
  g_ptr_array_unref (table->notes);
  g_free (table);
}

void
bench_table_add_row (BenchTable *table)
{
  g_ptr_array_add (table->rows, g_ptr_array_new_with_free_func (g_free));
}

void
bench_table_add_cell (BenchTable *table, const gchar *format, ...)
{
  GPtrArray *row = g_ptr_array_index (table->rows, table->rows->len - 1);
  va_list args;

  va_start (args, format);
  g_ptr_array_add (row, g_strdup_vprintf (format, args));
  va_end (args);
}

void
bench_table_add_failure (BenchTable *table, const gchar *text)
{
  guint i;

  if (strlen (text) <= SHORT) {
    bench_table_add_cell (table, "%s", text);
    return;
  }
  for (i = 0; i < table->notes->len; i++)
    if (strcmp (g_ptr_array_index (table->notes, i), text) == 0)
      break;
  if (i == table->notes->len)
    g_ptr_array_add (table->notes, g_strdup (text));
  bench_table_add_cell (table, "failed (%u)", i + 1);
}

static gint
column_width (const BenchTable *table, guint column)
{
  glong width = 0;
  guint i;

  for (i = 0; i < table->rows->len; i++) {
    const GPtrArray *row = g_ptr_array_index (table->rows, i);

    if (column < row->len)
      width = MAX (width, g_utf8_strlen (row->pdata[column], -1));
  }
  return width;
}

/* printf() would count bytes instead of characters. */
static void
print_padded (const gchar *text, gint width, gboolean on_the_right)
{
  gint padding = MAX (width - (gint) g_utf8_strlen (text, -1), 0);

  printf ("%*s%s%*s", on_the_right ? padding : 0, "", text,
      on_the_right ? 0 : padding, "");
}

static void
print_row (const BenchTable *table, const GPtrArray *row, BenchStyle style)
{
  gboolean markdown = style == BENCH_STYLE_MARKDOWN;
  gboolean numbers = table->cells == BENCH_CELLS_NUMBERS;
  guint i;

  for (i = 0; i < row->len; i++) {
    gboolean last = i + 1 == row->len; /* there is no next column to align */

    fputs (markdown ? "| " : "  ", stdout);
    print_padded (row->pdata[i],
        last && !numbers && !markdown ? 0 : column_width (table, i),
        i > 0 && numbers);
    fputs (markdown ? " " : "", stdout);
  }
  puts (markdown ? "|" : "");
}

static void
print_rule (const BenchTable *table)
{
  const GPtrArray *head = g_ptr_array_index (table->rows, 0);
  gboolean numbers = table->cells == BENCH_CELLS_NUMBERS;
  guint i;

  for (i = 0; i < head->len; i++)
    fputs (i && numbers ? "|---:" : "|---", stdout);
  puts ("|");
}

void
bench_table_print (const BenchTable *table, BenchStyle style)
{
  gboolean markdown = style == BENCH_STYLE_MARKDOWN;
  guint i;

  printf (markdown ? "### %s\n\n" : "%s\n", table->title);
  for (i = 0; i < table->rows->len; i++) {
    print_row (table, g_ptr_array_index (table->rows, i), style);
    if (markdown && i == 0)
      print_rule (table);
  }
  if (markdown && table->notes->len > 0)
    puts ("");
  for (i = 0; i < table->notes->len; i++)
    printf (markdown ? "(%u) %s\n" : "  (%u) %s\n", i + 1,
        (const gchar *) g_ptr_array_index (table->notes, i));
  puts ("");
}
