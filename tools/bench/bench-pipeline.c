/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * bench-pipeline.c: measures the cases
 *
 * Each case has one source and several variants of the elements after it, which
 * run in turn. Other files list the cases, run pipelines and count.
 */

#include "bench-pipeline.h"

#include <string.h>

#include "bench-cases.h"
#include "bench-ipc.h"
#include "bench-loop.h"
#include "bench-memory.h"
#include "bench-progress.h"
#include "bench-process.h"
#include "bench-run.h"
#include "bench-streams.h"

/* The time in seconds before the buffers of several streams are counted. With
 * access=auto, 16 streams need three seconds to find the best access modes. */
#define STREAMS_WARM_UP 1.5
#define STREAMS_WARM_UP_AUTO 4

/* The part of the time for which one number of direct loops is measured. */
#define LOOPS_SHARE 0.3

/* Keeps the cases of the selected sections, whose names are separated by
 * commas. */
static void
keep_sections (GPtrArray *cases, const gchar *names)
{
  gchar **sections = g_strsplit (names, ",", -1);
  guint i = 0;

  while (i < cases->len) {
    BenchCase *c = g_ptr_array_index (cases, i);

    if (g_strv_contains ((const gchar *const *) sections, c->section)) {
      i++;
    } else {
      g_ptr_array_remove_index (cases, i);
      bench_case_free (c);
    }
  }
  g_strfreev (sections);
}

/* --- measuring ----------------------------------------------------------- */

/* Converts a result, which is seconds for a start and otherwise a rate, to the
 * unit of the case. */
static gdouble
convert (const BenchCase *c, gdouble rate)
{
  switch (c->unit) {
  case BENCH_GB_PER_SECOND:
    return rate * c->bytes / 1e9;
  case BENCH_MICROSECONDS:
    return 1e6 / rate;
  case BENCH_MILLISECONDS:
    return rate * 1e3;
  default:
    return rate;
  }
}

static gdouble
warm_up_of (const BenchCase *c, const BenchVariant *variant,
    const BenchOptions *options)
{
  if (strcmp (c->section, BENCH_SECTION_STREAMS) != 0 || options->quick)
    return 0;
  return strcmp (variant->id, BENCH_VKGDR) == 0 ? STREAMS_WARM_UP_AUTO
                                                : STREAMS_WARM_UP;
}

static gboolean
run (const BenchCase *c, const BenchVariant *variant, GstVkgdrContext *context,
    const BenchOptions *options, gdouble *value, GError **error)
{
  if (strcmp (c->section, BENCH_SECTION_PROCESS) == 0)
    return bench_process_start (variant->launch, value, error);
  if (c->unit == BENCH_MILLISECONDS)
    return bench_run_start (variant->launch, context, value, error);
  return bench_run (variant->launch, context, warm_up_of (c, variant, options),
      options->seconds, value, error);
}

static void
measure_pipeline (const BenchCase *c, BenchVariant *variant,
    GstVkgdrContext *context, const BenchOptions *options)
{
  GError *error = NULL;
  gdouble value;

  if (!run (c, variant, context, options, &value, &error)) {
    bench_samples_fail (&variant->samples, error);
    return;
  }
  value = convert (c, value * variant->batch);
  g_array_append_val (variant->samples.values, value);
}

static void
measure_kernel (const BenchCase *c, BenchVariant *variant,
    GstVkgdrContext *context, const BenchOptions *options)
{
  GError *error = NULL;
  gdouble time, rate;

  if (!bench_run_kernel (
          variant->launch, context, options->seconds, &time, &error)) {
    bench_samples_fail (&variant->samples, error);
    return;
  }
  if (c->unit == BENCH_MICROSECONDS)
    rate = time * 1e6;
  else
    rate = 2 * c->bytes / time / 1e9; /* read and written */
  g_array_append_val (variant->samples.values, rate);
}

static void
measure_memory (const BenchCase *c, BenchVariant *variant,
    GstVkgdrContext *context, const BenchOptions *options)
{
  GError *error = NULL;
  BenchMemory memory;
  gdouble value;

  if (!bench_run_memory (
          variant->launch, context, options->seconds, &memory, &error)) {
    bench_samples_fail (&variant->samples, error);
    return;
  }
  value =
      strcmp (variant->id, BENCH_MEMORY_POOL) == 0 ? memory.pool : memory.used;
  value /= 1e6;
  g_array_append_val (variant->samples.values, value);
}

static void
measure_device_copy (const BenchCase *c, BenchVariant *variant,
    GstVkgdrContext *context, const BenchOptions *options)
{
  bench_memory_measure_device (
      context, c->bytes, options->seconds, &variant->samples);
}

static void
measure_link (const BenchCase *c, BenchVariant *variant,
    GstVkgdrContext *context, const BenchOptions *options)
{
  BenchDirection direction = strcmp (variant->id, BENCH_LINK_UP) == 0
                                 ? BENCH_TO_DEVICE
                                 : BENCH_FROM_DEVICE;

  bench_memory_measure_link (
      context, direction, options->seconds, &variant->samples);
}

static void
measure_loop (const BenchCase *c, BenchVariant *variant,
    GstVkgdrContext *context, const BenchOptions *options)
{
  BenchWrites writes = { c->bytes, options->buffers, c->fill, c->area };
  BenchLoop loop = BENCH_LOOP_RAM;

  if (strcmp (variant->id, BENCH_BARE_WINDOW) == 0)
    loop = BENCH_LOOP_WINDOW;
  else if (strcmp (variant->id, BENCH_BARE_STAGED) == 0)
    loop = BENCH_LOOP_STAGED;
  bench_loop_measure (
      context, &writes, loop, options->seconds, &variant->samples);
}

static void
measure_loops (const BenchCase *c, BenchVariant *variant,
    GstVkgdrContext *context, const BenchOptions *options)
{
  BenchWrites writes = { c->bytes, options->buffers, c->fill, c->area };
  BenchMix mix = BENCH_MIX_BEST;
  GArray *values = variant->samples.values;
  guint before = values->len;

  if (strcmp (variant->id, BENCH_LOOPS_DIRECT) == 0)
    mix = BENCH_MIX_DIRECT;
  else if (strcmp (variant->id, BENCH_LOOPS_STAGED) == 0)
    mix = BENCH_MIX_STAGED;
  bench_streams_measure (context, &writes, c->streams, mix,
      options->seconds * LOOPS_SHARE, &variant->samples, &variant->note);
  if (values->len > before)
    g_array_index (values, gdouble, before) *= c->bytes / 1e9;
}

/* Returns the figure that a variant shows: frames per second, or
 * microseconds. */
static gdouble
get_ipc_figure (const BenchIpcResult *result, const gchar *id)
{
  if (strcmp (id, BENCH_IPC_MEDIAN) == 0)
    return result->median / 1e3;
  if (strcmp (id, BENCH_IPC_RECEIVED) == 0)
    return result->received / 1e3;
  if (strcmp (id, BENCH_IPC_TAIL) == 0)
    return result->tail / 1e3;
  return result->rate;
}

static void
add_ipc_result (
    BenchVariant *variant, const BenchIpcResult *result, const GError *error)
{
  gdouble value;

  if (error) {
    bench_samples_fail (&variant->samples, g_error_copy (error));
    return;
  }
  value = get_ipc_figure (result, variant->id);
  g_array_append_val (variant->samples.values, value);
}

/* Variants with the same pipelines show different figures of one run. The first
 * such variant runs the pipelines, and the other ones get their figures from
 * this run. */
static void
measure_ipc (const BenchCase *c, BenchVariant *variant,
    GstVkgdrContext *context, const BenchOptions *options)
{
  gboolean was_run = FALSE;
  BenchIpcResult result;
  GError *error = NULL;
  guint i;

  for (i = 0; i < c->variants->len; i++) {
    BenchVariant *other = g_ptr_array_index (c->variants, i);

    if (!other->launch || strcmp (other->launch, variant->launch) != 0)
      continue;
    if (!was_run && other != variant)
      return;
    if (!was_run)
      bench_ipc_run (variant->launch, c->consumers, context, options->seconds,
          &result, &error);
    was_run = TRUE;
    add_ipc_result (other, &result, error);
  }
  g_clear_error (&error);
}

typedef void (*Measure) (const BenchCase *c, BenchVariant *variant,
    GstVkgdrContext *context, const BenchOptions *options);

/* Variants whose figure is not the rate of a pipeline in one process. */
static const struct {
  const gchar *id;
  Measure measure;
} others[] = {
  { BENCH_KERNEL_TIME, measure_kernel },
  { BENCH_TENSOR_BILINEAR, measure_kernel },
  { BENCH_TENSOR_NEAREST, measure_kernel },
  { BENCH_TENSOR_AREA, measure_kernel },
  { BENCH_DEVICE_COPY, measure_device_copy },
  { BENCH_MEMORY_VKGDR, measure_memory },
  { BENCH_MEMORY_POOL, measure_memory },
  { BENCH_MEMORY_CUDA, measure_memory },
  { BENCH_LINK_UP, measure_link },
  { BENCH_LINK_DOWN, measure_link },
  { BENCH_BARE_WINDOW, measure_loop },
  { BENCH_BARE_STAGED, measure_loop },
  { BENCH_BARE_RAM, measure_loop },
  { BENCH_IPC, measure_ipc },
  { BENCH_IPC_CUDA, measure_ipc },
  { BENCH_IPC_MEDIAN, measure_ipc },
  { BENCH_IPC_TAIL, measure_ipc },
  { BENCH_IPC_RECEIVED, measure_ipc },
  { BENCH_LOOPS_DIRECT, measure_loops },
  { BENCH_LOOPS_STAGED, measure_loops },
  { BENCH_LOOPS_BEST, measure_loops },
};

static void
measure (const BenchCase *c, BenchVariant *variant, GstVkgdrContext *context,
    const BenchOptions *options)
{
  Measure how = measure_pipeline;
  guint i;

  for (i = 0; i < G_N_ELEMENTS (others); i++)
    if (strcmp (variant->id, others[i].id) == 0)
      how = others[i].measure;
  if (!variant->samples.error)
    how (c, variant, context, options);
}

/* Measures the variants in turn, and repeats this. So a disturbance of the
 * machine affects all variants. */
static void
measure_case (const BenchCase *c, GstVkgdrContext *context,
    const BenchOptions *options, guint done, guint total)
{
  gint repeat;
  guint i;

  for (repeat = 0; repeat < options->repeat; repeat++) {
    for (i = 0; i < c->variants->len; i++) {
      BenchVariant *variant = g_ptr_array_index (c->variants, i);

      bench_progress_show (done * options->repeat + repeat,
          total * options->repeat, "%s: %s, repetition %d of %d", c->title,
          variant->label, repeat + 1, options->repeat);
      measure (c, variant, context, options);
    }
  }
}

GPtrArray *
bench_pipeline_run (
    GstVkgdrContext *context, const BenchOptions *options, GError **error)
{
  GPtrArray *cases = bench_cases_make (context, options);
  guint i;

  if (options->section && !options->compare)
    keep_sections (cases, options->section);
  if (cases->len == 0) {
    g_set_error (error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
        "there is no section \"%s\" of pipelines", options->section);
    g_ptr_array_unref (cases);
    return NULL;
  }
  for (i = 0; i < cases->len; i++)
    measure_case (
        g_ptr_array_index (cases, i), context, options, i, cases->len);
  bench_progress_clear ();
  return cases;
}
