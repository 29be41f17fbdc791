/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * bench-options.h: what the user asked for
 */

#ifndef BENCH_OPTIONS_H
#define BENCH_OPTIONS_H

#include <glib.h>

/**
 * BenchOptions:
 * @memory: measure copies
 * @pipelines: measure pipelines
 * @compare: (nullable): the user's own pipelines, which are measured in place
 * of ours
 * @json: write JSON to standard output, instead of tables
 * @markdown: write the tables in Markdown
 * @quick: fewer sizes and smaller frames
 * @version: say the version, and no more
 * @repeat: repetitions, at least 1
 * @seconds: of a measurement of a pipeline, more than 0
 * @device: CUDA device, or -1 to choose
 * @buffers: that a source's pool has at least
 * @fill: (nullable): how sources write; else each section has its own way
 * @first_frame: (nullable): a pipeline of which only the first frame counts
 * @consume: (nullable): a pipeline that takes frames of another process
 * @section: (nullable): the only sections of pipelines to measure, with commas
 *   between their names
 * @save: (nullable): file that gets JSON
 */
typedef struct {
  gboolean memory;
  gboolean pipelines;
  gchar **compare;
  gboolean json;
  gboolean markdown;
  gboolean quick;
  gboolean version;
  gint repeat;
  gdouble seconds;
  gint device;
  gint buffers;
  gchar *fill;
  gchar *first_frame;
  gchar *consume;
  gchar *section;
  gchar *save;
} BenchOptions;

/* FALSE with @error set where they make no sense. Prints the help and exits
 * where that is asked for. */
gboolean bench_options_parse (
    BenchOptions *options, gint *argc, gchar ***argv, GError **error);

void bench_options_clear (BenchOptions *options);

#endif /* BENCH_OPTIONS_H */
