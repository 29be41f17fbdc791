/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * bench-summary.c: the most important ratios
 *
 * These are ratios of two variants, some of which the tables do not have, such
 * as the ratio to the better of two other variants. Must not depend on how they
 * are measured or printed.
 */

#include "bench-summary.h"

#include <string.h>

#include "bench-pipeline.h"

typedef struct {
  BenchSummaryFunc func;
  gpointer user_data;
  guint n;
} Summary;

/* Returns 0 if the variant was not measured. */
static gdouble
median_of (const BenchCase *c, const gchar *id)
{
  const BenchVariant *variant = c ? bench_case_find (c, id) : NULL;

  return variant ? bench_samples_summarize (&variant->samples).median : 0;
}

static void
add (Summary *self, const BenchCase *c, const gchar *what, gdouble value,
    gdouble other)
{
  gchar *title;

  if (value <= 0 || other <= 0)
    return;
  title = g_strdup_printf ("%s: %s", c->title, what);
  self->func (title, value / other, self->user_data);
  self->n++;
  g_free (title);
}

static void
add_streams (Summary *self, const BenchCase *c)
{
  gdouble chosen = median_of (c, BENCH_VKGDR);

  add (self, c, "vkgdrupload / better of direct and staged", chosen,
      MAX (median_of (c, BENCH_VKGDR_DIRECT),
          median_of (c, BENCH_VKGDR_STAGED)));
  add (self, c, "vkgdrupload / loops, best mix", chosen,
      median_of (c, BENCH_LOOPS_BEST));
}

static void
add_loops (Summary *self, const BenchCase *c)
{
  add (self, c, "vkgdrupload / better loop", median_of (c, BENCH_VKGDR),
      MAX (median_of (c, BENCH_BARE_WINDOW), median_of (c, BENCH_BARE_STAGED)));
}

/* Compares the time that four kernels add to a frame with that of one. */
static void
add_chain (Summary *self, const BenchCase *c)
{
  gdouble none = median_of (c, BENCH_VKGDR);

  if (none > 0)
    add (self, c, "cost of four cudafilters / of one",
        median_of (c, BENCH_FOUR_KERNELS) - none,
        median_of (c, BENCH_KERNEL) - none);
}

guint
bench_summary_foreach (
    const GPtrArray *cases, BenchSummaryFunc func, gpointer user_data)
{
  Summary self = { func, user_data, 0 };
  guint i;

  for (i = 0; i < cases->len; i++) {
    const BenchCase *c = g_ptr_array_index (cases, i);

    if (strcmp (c->section, BENCH_SECTION_STREAMS) == 0)
      add_streams (&self, c);
    else if (strcmp (c->section, BENCH_SECTION_FRAMES) == 0)
      add (&self, c, "vkgdrupload / cudaupload", median_of (c, BENCH_VKGDR),
          median_of (c, BENCH_CUDA));
    else if (strcmp (c->section, BENCH_SECTION_LOOPS) == 0)
      add_loops (&self, c);
    else if (strcmp (c->section, BENCH_SECTION_BUFFERS) == 0)
      add (&self, c, "vkgdrupload / identity", median_of (c, BENCH_VKGDR),
          median_of (c, BENCH_IDENTITY));
    else if (strcmp (c->section, BENCH_SECTION_CHAIN) == 0)
      add_chain (&self, c);
    else if (strcmp (c->section, BENCH_SECTION_PROCESS) == 0)
      add (&self, c, "first frame, vkgdrupload / cudaupload",
          median_of (c, BENCH_VKGDR), median_of (c, BENCH_CUDA));
  }
  return self.n;
}
