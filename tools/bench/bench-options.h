/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * bench-options.h: the options of the command line
 */

#ifndef BENCH_OPTIONS_H
#define BENCH_OPTIONS_H

#include <glib.h>

/**
 * BenchOptions:
 * @memory: measure copies
 * @pipelines: measure pipelines
 * @compare: (nullable): pipelines of the user, which are measured instead
 * @json: write JSON to standard output, instead of tables
 * @markdown: write the tables in Markdown
 * @quick: fewer sizes and smaller frames
 * @version: only print the version
 * @repeat: repetitions, at least 1
 * @seconds: time of a measurement of a pipeline, more than 0
 * @device: CUDA device, or -1 to choose
 * @buffers: the smallest number of buffers in a source's pool
 * @fill: (nullable): how sources write; each section has its own default
 * @first_frame: (nullable): a pipeline, run only to its first frame; for a
 *   process that this program starts
 * @consume: (nullable): a pipeline that receives frames of another process; for
 *   a process that this program starts
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

/* Returns FALSE with @error set if the options are wrong. Prints the help and
 * exits if the user asks for it. */
gboolean bench_options_parse (
    BenchOptions *options, gint *argc, gchar ***argv, GError **error);

void bench_options_clear (BenchOptions *options);

#endif /* BENCH_OPTIONS_H */
