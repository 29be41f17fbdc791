/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * bench-ipc.c: see bench-ipc.h
 *
 * All processes use the same monotonic clock. The process of the source writes
 * the time at which a frame was written to the buffer's offset-end, and the
 * other processes compare it with their time.
 */

#include "bench-ipc.h"

#include <stdio.h>
#include <string.h>

#include <gio/gio.h>
#include <glib/gstdio.h>

#include "bench-clock.h"
#include "bench-filter.h"

/* The first 1/WARM_UP of the frames is not used: in this time, kernels are
 * compiled and memory is imported. */
#define WARM_UP 4

/* The smallest number of frames for a result. */
#define MIN_FRAMES 4

/* The stream ends only after this number of frames, so that there are at least
 * MIN_FRAMES without the first ones. */
#define ENOUGH_FRAMES (2 * MIN_FRAMES)

/* The shortest time of the stream in seconds. */
#define MIN_SECONDS 0.2

/* Time limits in seconds: until all processes have got a frame, and until the
 * stream has ended. */
#define PATIENCE 30

/* What a process writes when it has got its first frame. */
#define READY "ready\n"

/* --- in the other processes ---------------------------------------------- */

/* Times of the received frames, in nanoseconds. */
typedef struct {
  gint64 stamp; /* when the current frame was written */
  GArray *times;
  GArray *receptions; /* from the end of writing to the reception */
  GArray *launches;   /* to the launch; empty if there is no kernel */
} Arrivals;

static GstPadProbeReturn
on_received (GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
  Arrivals *arrivals = data;
  gint64 now = bench_now (), delay;

  if (arrivals->times->len == 0) {
    fputs (READY, stdout);
    fflush (stdout);
  }
  arrivals->stamp = GST_BUFFER_OFFSET_END (GST_PAD_PROBE_INFO_BUFFER (info));
  delay = now - arrivals->stamp;
  g_array_append_val (arrivals->times, now);
  g_array_append_val (arrivals->receptions, delay);
  return GST_PAD_PROBE_OK;
}

static void
on_launched (GstElement *element, gpointer data)
{
  Arrivals *arrivals = data;
  gint64 delay = bench_now () - arrivals->stamp;

  g_array_append_val (arrivals->launches, delay);
}

static void
watch_received (GstElement *pipeline, Arrivals *arrivals)
{
  GstElement *element = gst_bin_get_by_name (GST_BIN (pipeline), "received");
  GstPad *pad = gst_element_get_static_pad (element, "src");

  gst_pad_add_probe (
      pad, GST_PAD_PROBE_TYPE_BUFFER, on_received, arrivals, NULL);
  gst_object_unref (pad);
  gst_object_unref (element);
}

static void
watch_launched (GstElement *pipeline, Arrivals *arrivals)
{
  GstElement *element = gst_bin_get_by_name (GST_BIN (pipeline), "launched");

  if (!element)
    return;
  g_signal_connect (element, "launched", G_CALLBACK (on_launched), arrivals);
  gst_object_unref (element);
}

static gint
compare (gconstpointer a, gconstpointer b)
{
  const gint64 *x = a, *y = b;

  return *x < *y ? -1 : *x > *y;
}

/* Removes the first times, and sorts the others. */
static void
sort (GArray *times)
{
  g_array_remove_range (times, 0, times->len / WARM_UP);
  g_array_sort (times, compare);
}

/* @times must be sorted. Returns 0 if there are none. */
static gdouble
percentile (const GArray *times, guint percent)
{
  return times->len > 0
             ? g_array_index (times, gint64, times->len * percent / 100)
             : 0;
}

static gdouble
get_rate (const GArray *times)
{
  guint first = times->len / WARM_UP, last = times->len - 1;

  return (last - first) * 1e9
         / (g_array_index (times, gint64, last)
             - g_array_index (times, gint64, first));
}

static gboolean
summarize (const Arrivals *arrivals, BenchIpcResult *result, GError **error)
{
  guint n = arrivals->times->len;

  if (n - n / WARM_UP < MIN_FRAMES) {
    g_set_error (error, GST_STREAM_ERROR, GST_STREAM_ERROR_FAILED,
        "only %u frames have come", n);
    return FALSE;
  }
  sort (arrivals->receptions);
  sort (arrivals->launches);
  result->rate = get_rate (arrivals->times);
  result->received = percentile (arrivals->receptions, 50);
  result->median = percentile (arrivals->launches, 50);
  result->tail = percentile (arrivals->launches, 99);
  return TRUE;
}

/* Waits for the end of the stream. Returns FALSE after an error. */
static gboolean
wait_for_end (GstElement *pipeline, GError **error)
{
  GstBus *bus = gst_element_get_bus (pipeline);
  GstMessage *message = gst_bus_timed_pop_filtered (
      bus, GST_CLOCK_TIME_NONE, GST_MESSAGE_EOS | GST_MESSAGE_ERROR);
  gboolean ok = GST_MESSAGE_TYPE (message) == GST_MESSAGE_EOS;

  if (!ok)
    gst_message_parse_error (message, error, NULL);
  gst_message_unref (message);
  gst_object_unref (bus);
  return ok;
}

static GstElement *
make_consumer (const gchar *launch, Arrivals *arrivals, GError **error)
{
  GstElement *pipeline;

  bench_filter_register ();
  pipeline =
      gst_parse_launch_full (launch, NULL, GST_PARSE_FLAG_FATAL_ERRORS, error);
  if (!pipeline)
    return NULL;
  watch_received (pipeline, arrivals);
  watch_launched (pipeline, arrivals);
  return pipeline;
}

gboolean
bench_ipc_consume (const gchar *launch, GError **error)
{
  Arrivals arrivals = { .times = g_array_new (FALSE, FALSE, sizeof (gint64)),
    .receptions = g_array_new (FALSE, FALSE, sizeof (gint64)),
    .launches = g_array_new (FALSE, FALSE, sizeof (gint64)) };
  GstElement *pipeline = make_consumer (launch, &arrivals, error);
  BenchIpcResult result;
  gboolean ok = pipeline != NULL;

  if (ok) {
    gst_element_set_state (pipeline, GST_STATE_PLAYING);
    ok = wait_for_end (pipeline, error);
    gst_element_set_state (pipeline, GST_STATE_NULL);
    gst_object_unref (pipeline);
  }
  ok = ok && summarize (&arrivals, &result, error);
  if (ok)
    printf ("%.3f %.0f %.0f %.0f\n", result.rate, result.received,
        result.median, result.tail);
  g_array_unref (arrivals.times);
  g_array_unref (arrivals.receptions);
  g_array_unref (arrivals.launches);
  return ok;
}

/* --- in this process ----------------------------------------------------- */

static GstPadProbeReturn
on_written (GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
  gint *n_frames = data;
  GstBuffer *buffer =
      gst_buffer_make_writable (GST_PAD_PROBE_INFO_BUFFER (info));

  GST_BUFFER_OFFSET_END (buffer) = bench_now ();
  GST_PAD_PROBE_INFO_DATA (info) = buffer;
  g_atomic_int_inc (n_frames);
  return GST_PAD_PROBE_OK;
}

static GstElement *
find_sink (GstElement *pipeline)
{
  GstIterator *sinks = gst_bin_iterate_sinks (GST_BIN (pipeline));
  GValue item = G_VALUE_INIT;
  GstElement *sink = NULL;

  if (gst_iterator_next (sinks, &item) == GST_ITERATOR_OK)
    sink = g_value_dup_object (&item);
  g_value_unset (&item);
  gst_iterator_free (sinks);
  return sink;
}

static GstElement *
make_server (const gchar *launch, GstVkgdrContext *context, GError **error)
{
  GstElement *pipeline =
      gst_parse_launch_full (launch, NULL, GST_PARSE_FLAG_FATAL_ERRORS, error);
  GstContext *gst_context;

  if (!pipeline)
    return NULL;
  gst_context = gst_vkgdr_context_to_gst_context (context);
  gst_element_set_context (pipeline, gst_context);
  gst_context_unref (gst_context);
  return pipeline;
}

static GSubprocess *
start_consumer (const gchar *launch, GError **error)
{
  gchar *self = g_file_read_link ("/proc/self/exe", error);
  GSubprocess *process;

  if (!self)
    return NULL;
  process = g_subprocess_new (
      G_SUBPROCESS_FLAGS_STDOUT_PIPE | G_SUBPROCESS_FLAGS_STDERR_PIPE, error,
      self, "consume", launch, NULL);
  g_free (self);
  return process;
}

/* Returns TRUE if the process has got a frame. FALSE if the process has
 * ended. */
static gboolean
is_ready (GSubprocess *process)
{
  gchar word[sizeof READY - 1];
  gsize n = 0;

  return g_input_stream_read_all (g_subprocess_get_stdout_pipe (process), word,
             sizeof word, &n, NULL, NULL)
         && n == sizeof word;
}

/* Ends the process. Sets @error to its messages. */
static void
end_process (GSubprocess *process, GError **error)
{
  gchar *complaints = NULL;

  g_subprocess_force_exit (process);
  g_subprocess_communicate_utf8 (process, NULL, NULL, NULL, &complaints, NULL);
  g_set_error (error, GST_CORE_ERROR, GST_CORE_ERROR_FAILED,
      "the process failed: %s", complaints ? complaints : "no message");
  g_free (complaints);
}

/* Waits until the process has got a frame. */
static gboolean
wait_for_consumer (
    GstBus *bus, GSubprocess *process, gint64 until, GError **error)
{
  GPollableInputStream *output =
      G_POLLABLE_INPUT_STREAM (g_subprocess_get_stdout_pipe (process));
  GstMessage *message = NULL;

  while (!message && bench_now () < until
         && !g_pollable_input_stream_is_readable (output))
    message = gst_bus_timed_pop_filtered (bus, GST_MSECOND, GST_MESSAGE_ERROR);
  if (message) {
    gst_message_parse_error (message, error, NULL);
    gst_message_unref (message);
    return FALSE;
  }
  if (g_pollable_input_stream_is_readable (output) && is_ready (process))
    return TRUE;
  end_process (process, error);
  return FALSE;
}

static gboolean
wait_for_consumers (GstBus *bus, GPtrArray *processes, GError **error)
{
  gint64 until = bench_now () + PATIENCE * G_GINT64_CONSTANT (1000000000);
  guint i;

  for (i = 0; i < processes->len; i++)
    if (!wait_for_consumer (
            bus, g_ptr_array_index (processes, i), until, error))
      return FALSE;
  return TRUE;
}

/* Waits for @seconds, and until @n_frames is large enough for a result, because
 * on a busy machine the first frames take long. Returns an error message of the
 * pipeline, or NULL. */
static GstMessage *
wait_for_frames (GstBus *bus, gint *n_frames, gdouble seconds)
{
  GstClockTime part = (GstClockTime) (MAX (seconds, MIN_SECONDS) * 1e9);
  gint64 until = bench_now () + PATIENCE * G_GINT64_CONSTANT (1000000000);
  GstMessage *message;

  do
    message = gst_bus_timed_pop_filtered (bus, part, GST_MESSAGE_ERROR);
  while (!message && g_atomic_int_get (n_frames) < ENOUGH_FRAMES
         && bench_now () < until);
  return message;
}

/* Waits for @seconds, ends the stream, and waits for its end. */
static gboolean
finish (GstElement *pipeline, GstBus *bus, gint *n_frames, gdouble seconds,
    GError **error)
{
  GstMessage *message = wait_for_frames (bus, n_frames, seconds);
  gboolean ok;

  if (!message) {
    gst_element_send_event (pipeline, gst_event_new_eos ());
    message = gst_bus_timed_pop_filtered (
        bus, PATIENCE * GST_SECOND, GST_MESSAGE_ERROR | GST_MESSAGE_EOS);
  }
  ok = message && GST_MESSAGE_TYPE (message) == GST_MESSAGE_EOS;
  if (message && !ok)
    gst_message_parse_error (message, error, NULL);
  else if (!message)
    g_set_error_literal (error, GST_STREAM_ERROR, GST_STREAM_ERROR_FAILED,
        "the stream does not end");
  g_clear_pointer (&message, gst_message_unref);
  return ok;
}

/* Runs the pipeline to the end of the stream. The time @seconds begins when all
 * processes have got a frame. */
static gboolean
serve (
    GstElement *pipeline, GPtrArray *processes, gdouble seconds, GError **error)
{
  GstElement *sink = find_sink (pipeline);
  GstPad *pad = gst_element_get_static_pad (sink, "sink");
  GstBus *bus = gst_element_get_bus (pipeline);
  gint n_frames = 0;
  gboolean ok;

  gst_pad_add_probe (
      pad, GST_PAD_PROBE_TYPE_BUFFER, on_written, &n_frames, NULL);
  gst_object_unref (pad);
  gst_element_set_state (pipeline, GST_STATE_PLAYING);
  ok = wait_for_consumers (bus, processes, error);
  g_atomic_int_set (&n_frames, 0);
  ok = ok && finish (pipeline, bus, &n_frames, seconds, error);
  gst_element_set_state (pipeline, GST_STATE_NULL);
  gst_object_unref (bus);
  gst_object_unref (sink);
  return ok;
}

/* Waits for the end of @process, and adds its values to @result. The slowest
 * process counts. */
static gboolean
read_result (GSubprocess *process, BenchIpcResult *result, GError **error)
{
  gchar *output = NULL, *complaints = NULL;
  gdouble rate, received, median, tail;
  gboolean ok;

  ok = g_subprocess_communicate_utf8 (
      process, NULL, NULL, &output, &complaints, error);
  if (ok
      && sscanf (output, "%lf %lf %lf %lf", &rate, &received, &median, &tail)
             == 4) {
    result->rate = result->rate > 0 ? MIN (result->rate, rate) : rate;
    result->received = MAX (result->received, received);
    result->median = MAX (result->median, median);
    result->tail = MAX (result->tail, tail);
  } else if (ok) {
    g_set_error (error, GST_CORE_ERROR, GST_CORE_ERROR_FAILED,
        "the process failed: %s", complaints);
    ok = FALSE;
  }
  g_free (complaints);
  g_free (output);
  return ok;
}

static GPtrArray *
start_consumers (const gchar *launch, guint n, GError **error)
{
  GPtrArray *processes = g_ptr_array_new_with_free_func (g_object_unref);
  guint i;

  for (i = 0; i < n; i++) {
    GSubprocess *process = start_consumer (launch, error);

    if (!process) {
      g_ptr_array_unref (processes);
      return NULL;
    }
    g_ptr_array_add (processes, process);
  }
  return processes;
}

static gboolean
run (GstElement *pipeline, const gchar *consumer, guint n, gdouble seconds,
    BenchIpcResult *result, GError **error)
{
  GPtrArray *processes = start_consumers (consumer, n, error);
  gboolean ok;
  guint i;

  if (!processes)
    return FALSE;
  ok = serve (pipeline, processes, seconds, error);
  for (i = 0; i < n; i++) {
    GSubprocess *process = g_ptr_array_index (processes, i);

    if (ok)
      ok = read_result (process, result, error);
    else
      g_subprocess_force_exit (process);
  }
  g_ptr_array_unref (processes);
  return ok;
}

/* Returns the two pipelines of @launch, with a socket in @folder. */
static gchar **
split (const gchar *launch, const gchar *folder)
{
  gchar *path = g_build_filename (folder, "socket", NULL);
  GString *text = g_string_new (launch);
  gchar **pipelines;

  g_string_replace (text, "IPC_PATH", path, 0);
  pipelines = g_strsplit (text->str, BENCH_IPC_CONSUMER, 2);
  g_string_free (text, TRUE);
  g_free (path);
  return pipelines;
}

gboolean
bench_ipc_run (const gchar *launch, guint consumers, GstVkgdrContext *context,
    gdouble seconds, BenchIpcResult *result, GError **error)
{
  gchar *folder = g_dir_make_tmp ("vkgdr-bench-XXXXXX", error);
  GstElement *pipeline;
  gboolean ok = FALSE;
  gchar **pipelines;

  memset (result, 0, sizeof (*result));
  if (!folder)
    return FALSE;
  pipelines = split (launch, folder);
  pipeline = make_server (pipelines[0], context, error);
  if (pipeline) {
    ok = run (pipeline, pipelines[1], consumers, seconds, result, error);
    gst_object_unref (pipeline);
  }
  g_strfreev (pipelines);
  g_rmdir (folder);
  g_free (folder);
  return ok;
}
