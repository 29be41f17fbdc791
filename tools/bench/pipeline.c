/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * pipeline.c: runs one pipeline and counts the buffers that arrive
 *
 * A probe on the pad of each sink counts its buffers. All sinks are counted
 * during the same time. The rate of a sink is that from its first to its last
 * buffer, so that short runs of slow pipelines are exact, too. Must not depend
 * on the purpose of the pipeline.
 */

#include "helper.h"
#include "json.h"

/* Buffers are only counted after each sink has got this number of buffers, and
 * after this part of the time. Before, kernels are compiled, pools are filled,
 * and access modes are chosen. */
#define WARM_UP_BUFFERS 4
#define WARM_UP_SHARE 0.3

/* A rate is measured over at least this many intervals between two buffers. */
#define MIN_INTERVALS 2

/* A pipeline without a result is stopped after this time, in nanoseconds. */
#define PATIENCE (30 * G_GINT64_CONSTANT (1000000000))

/* The interval in which the counters are read. */
#define POLL (2 * GST_MSECOND)

typedef enum { PHASE_WARM_UP, PHASE_COUNT, PHASE_DONE } Phase;

/* Counts the buffers that arrive at one sink. The times are those of the
 * counted buffers, and the longest time between two of them. */
typedef struct {
  GMutex lock;
  Phase phase;
  guint warm_up;
  guint64 intervals;
  gint64 first;
  gint64 last;
  gint64 gap;
} Counter;

static void
count_locked (Counter *counter, guint n)
{
  gint64 now = bench_now ();

  if (counter->first) {
    counter->intervals += n;
    counter->gap = MAX (counter->gap, now - counter->last);
  } else {
    counter->first = now;
  }
  counter->last = now;
}

/* Payloaders push lists of buffers. A list counts as its buffers, which arrive
 * at one time. */
static GstPadProbeReturn
count_buffers (GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
  Counter *counter = data;
  guint n = 1;

  if (GST_PAD_PROBE_INFO_TYPE (info) & GST_PAD_PROBE_TYPE_BUFFER_LIST)
    n = gst_buffer_list_length (GST_PAD_PROBE_INFO_BUFFER_LIST (info));
  g_mutex_lock (&counter->lock);
  if (counter->phase == PHASE_WARM_UP)
    counter->warm_up += n;
  else if (counter->phase == PHASE_COUNT)
    count_locked (counter, n);
  g_mutex_unlock (&counter->lock);
  return GST_PAD_PROBE_OK;
}

static void
counter_free (gpointer data)
{
  Counter *counter = data;

  g_mutex_clear (&counter->lock);
  g_free (counter);
}

/* Returns: (nullable): NULL if the sink has no pad of this name, as a bin whose
 * pads are made later. */
static Counter *
watch_sink (GstElement *sink, GError **error)
{
  GstPad *pad = gst_element_get_static_pad (sink, "sink");
  Counter *counter;

  if (!pad) {
    g_set_error (error, GST_CORE_ERROR, GST_CORE_ERROR_PAD,
        "the buffers of %s cannot be counted: it has no pad \"sink\"",
        GST_OBJECT_NAME (sink));
    return NULL;
  }
  counter = g_new0 (Counter, 1);
  g_mutex_init (&counter->lock);
  gst_pad_add_probe (pad,
      GST_PAD_PROBE_TYPE_BUFFER | GST_PAD_PROBE_TYPE_BUFFER_LIST, count_buffers,
      counter, NULL);
  gst_object_unref (pad);
  return counter;
}

/* Adds a counter for each sink of the pipeline. */
static gboolean
add_counters (GPtrArray *counters, GstElement *pipeline, GError **error)
{
  GstIterator *sinks = gst_bin_iterate_sinks (GST_BIN (pipeline));
  GValue item = G_VALUE_INIT;
  gboolean ok = TRUE;

  while (ok && gst_iterator_next (sinks, &item) == GST_ITERATOR_OK) {
    Counter *counter = watch_sink (g_value_get_object (&item), error);

    ok = counter != NULL;
    if (ok)
      g_ptr_array_add (counters, counter);
    g_value_reset (&item);
  }
  g_value_unset (&item);
  gst_iterator_free (sinks);
  return ok;
}

/* The description of a single element gives this element, which is no bin.
 *
 * Returns: (nullable): NULL if there is no sink, or one that cannot be
 * counted. */
static GPtrArray *
watch_sinks (GstElement *pipeline, GError **error)
{
  GPtrArray *counters = g_ptr_array_new_with_free_func (counter_free);

  if (GST_IS_BIN (pipeline) && !add_counters (counters, pipeline, error)) {
    g_ptr_array_unref (counters);
    return NULL;
  }
  if (counters->len > 0)
    return counters;
  g_set_error_literal (error, GST_CORE_ERROR, GST_CORE_ERROR_FAILED,
      "the pipeline has no sink, so there are no buffers to count");
  g_ptr_array_unref (counters);
  return NULL;
}

/* Forgets what was counted in an earlier phase. */
static void
enter_phase (GPtrArray *counters, Phase phase)
{
  guint i;

  for (i = 0; i < counters->len; i++) {
    Counter *counter = g_ptr_array_index (counters, i);

    g_mutex_lock (&counter->lock);
    counter->phase = phase;
    if (phase == PHASE_COUNT)
      counter->intervals = counter->first = counter->gap = 0;
    g_mutex_unlock (&counter->lock);
  }
}

/* Whether all sinks have got as many buffers as the phase needs. */
static gboolean
is_enough (GPtrArray *counters)
{
  gboolean enough = TRUE;
  guint i;

  for (i = 0; i < counters->len && enough; i++) {
    Counter *counter = g_ptr_array_index (counters, i);

    g_mutex_lock (&counter->lock);
    enough = counter->phase == PHASE_WARM_UP
                 ? counter->warm_up >= WARM_UP_BUFFERS
                 : counter->intervals >= MIN_INTERVALS;
    g_mutex_unlock (&counter->lock);
  }
  return enough;
}

static gboolean
check_bus (GstBus *bus, GError **error)
{
  GstMessage *message = gst_bus_timed_pop_filtered (
      bus, POLL, GST_MESSAGE_ERROR | GST_MESSAGE_EOS);

  if (!message)
    return TRUE;
  if (GST_MESSAGE_TYPE (message) == GST_MESSAGE_ERROR)
    gst_message_parse_error (message, error, NULL);
  else
    g_set_error_literal (error, GST_STREAM_ERROR, GST_STREAM_ERROR_FAILED,
        "the stream ended by itself");
  gst_message_unref (message);
  return FALSE;
}

/* Waits for @seconds, and for longer if there are not enough buffers. */
static gboolean
wait_for (GPtrArray *counters, GstBus *bus, gdouble seconds, GError **error)
{
  gint64 start = bench_now ();
  gint64 until = start + (gint64) (seconds * 1e9);

  while (bench_now () < until || !is_enough (counters)) {
    if (!check_bus (bus, error))
      return FALSE;
    if (bench_now () > until + PATIENCE) {
      g_set_error (error, GST_STREAM_ERROR, GST_STREAM_ERROR_FAILED,
          "too few buffers in %.0f s", (bench_now () - start) / 1e9);
      return FALSE;
    }
  }
  return TRUE;
}

static gboolean
start (GstElement *pipeline, GstBus *bus, GError **error)
{
  if (gst_element_set_state (pipeline, GST_STATE_PLAYING)
      != GST_STATE_CHANGE_FAILURE)
    return TRUE;
  if (check_bus (bus, error)) /* there is no message with a reason */
    g_set_error_literal (error, GST_CORE_ERROR, GST_CORE_ERROR_STATE_CHANGE,
        "the pipeline does not start");
  return FALSE;
}

GstElement *
bench_make_pipeline (
    const gchar *launch, GstVkgdrContext *context, GError **error)
{
  GstElement *pipeline =
      gst_parse_launch_full (launch, NULL, GST_PARSE_FLAG_FATAL_ERRORS, error);
  GstContext *gst_context;

  if (!pipeline || !context)
    return pipeline;
  gst_context = gst_vkgdr_context_to_gst_context (context);
  gst_element_set_context (pipeline, gst_context);
  gst_context_unref (gst_context);
  return pipeline;
}

/* --- rates ---------------------------------------------------------------- */

/* Returns the statistic `kernel-time` of an element in nanoseconds, or 0 if
 * there is none. */
static guint64
kernel_time_of (GstElement *element)
{
  guint64 nanoseconds = GST_CLOCK_TIME_NONE;
  GstStructure *stats = NULL;

  g_object_get (element, "stats", &stats, NULL);
  gst_structure_get_uint64 (stats, "kernel-time", &nanoseconds);
  gst_structure_free (stats);
  return GST_CLOCK_TIME_IS_VALID (nanoseconds) ? nanoseconds : 0;
}

/* Adds the kernel time of the element `timed`, if the pipeline has one. Waits,
 * because on a busy machine the device may not have finished a measurement
 * yet. */
static gboolean
add_kernel_time (GstElement *pipeline, JsonObject *reply, GError **error)
{
  GstElement *element = gst_bin_get_by_name (GST_BIN (pipeline), "timed");
  gint64 until = bench_now () + PATIENCE;
  guint64 nanoseconds = 0;

  if (!element)
    return TRUE;
  while ((nanoseconds = kernel_time_of (element)) == 0 && bench_now () < until)
    g_usleep (POLL / GST_USECOND);
  gst_object_unref (element);
  json_set_number (reply, "kernel-time", nanoseconds / 1e9);
  if (nanoseconds > 0)
    return TRUE;
  g_set_error_literal (error, GST_CORE_ERROR, GST_CORE_ERROR_FAILED,
      "the element reports no kernel-time");
  return FALSE;
}

/* Sets the properties of the element `changed`, if the pipeline has one, while
 * the pipeline runs, and counts again. So the longest gap is that of the
 * change. */
static gboolean
change (GstElement *pipeline, GPtrArray *counters, GstBus *bus,
    JsonObject *request, JsonObject *reply, GError **error)
{
  GstElement *element = gst_bin_get_by_name (GST_BIN (pipeline), "changed");
  const Counter *counter = g_ptr_array_index (counters, 0);
  gdouble before;

  if (!element)
    return TRUE;
  enter_phase (counters, PHASE_DONE);
  before = counter->gap / 1e9;
  enter_phase (counters, PHASE_COUNT);
  gst_util_set_object_arg (G_OBJECT (element),
      bench_get_text (request, "property"), bench_get_text (request, "value"));
  gst_object_unref (element);
  if (!wait_for (counters, bus, bench_get_number (request, "seconds"), error))
    return FALSE;
  enter_phase (counters, PHASE_DONE);
  json_set_number (reply, "extra-gap", counter->gap / 1e9 - before);
  return TRUE;
}

/* Returns the memory of the device that is in use, in bytes. */
static gdouble
used_memory (GstVkgdrContext *context)
{
  guint64 n_free = 0, n_total = 0;

  gst_vkgdr_context_get_memory_info (context, &n_free, &n_total, NULL);
  return (gdouble) (n_total - n_free);
}

static void
add_rate (GPtrArray *counters, JsonObject *reply)
{
  gdouble sum = 0;
  guint i;

  for (i = 0; i < counters->len; i++) {
    const Counter *counter = g_ptr_array_index (counters, i);

    sum += counter->intervals * 1e9 / (counter->last - counter->first);
  }
  json_set_number (reply, "rate", sum);
}

static gboolean
play (GstElement *pipeline, GPtrArray *counters, JsonObject *request,
    JsonObject *reply, GError **error)
{
  gdouble seconds = bench_get_number (request, "seconds");
  gdouble warm_up =
      MAX (bench_get_number (request, "warm-up"), seconds * WARM_UP_SHARE);
  GstBus *bus = gst_element_get_bus (pipeline);
  gboolean ok;

  ok = start (pipeline, bus, error) && wait_for (counters, bus, warm_up, error);
  if (ok) {
    enter_phase (counters, PHASE_COUNT);
    ok = wait_for (counters, bus, seconds, error);
  }
  if (ok)
    add_rate (counters, reply);
  ok = ok && change (pipeline, counters, bus, request, reply, error)
       && add_kernel_time (pipeline, reply, error);
  gst_object_unref (bus);
  return ok;
}

/* Runs `pipeline` for `seconds`, after `warm-up` seconds. The reply has its
 * `rate` in buffers per second and, if there are such elements, `kernel-time`
 * and `extra-gap` in seconds. `memory` is the memory of the device that it
 * needs, in bytes. */
gboolean
bench_run (GstVkgdrContext *context, JsonObject *request, JsonObject *reply,
    GError **error)
{
  gdouble before = used_memory (context);
  GstElement *pipeline = bench_make_pipeline (
      bench_get_text (request, "pipeline"), context, error);
  GPtrArray *counters = pipeline ? watch_sinks (pipeline, error) : NULL;
  gboolean ok;

  ok = counters && play (pipeline, counters, request, reply, error);
  json_set_number (reply, "memory", used_memory (context) - before);
  if (pipeline) {
    gst_element_set_state (pipeline, GST_STATE_NULL);
    gst_object_unref (pipeline);
  }
  g_clear_pointer (&counters, g_ptr_array_unref);
  return ok;
}

/* --- the first frame ------------------------------------------------------ */

static gboolean
run_first (
    const gchar *launch, GstVkgdrContext *context, gint64 *time, GError **error)
{
  GstElement *pipeline = bench_make_pipeline (launch, context, error);
  GPtrArray *counters = pipeline ? watch_sinks (pipeline, error) : NULL;
  GstBus *bus;
  gboolean ok = FALSE;

  if (counters) {
    enter_phase (counters, PHASE_COUNT);
    bus = gst_element_get_bus (pipeline);
    ok = start (pipeline, bus, error) && wait_for (counters, bus, 0, error);
    gst_element_set_state (pipeline, GST_STATE_NULL);
    gst_object_unref (bus);
    *time = ((Counter *) g_ptr_array_index (counters, 0))->first;
  }
  gst_clear_object (&pipeline);
  g_clear_pointer (&counters, g_ptr_array_unref);
  return ok;
}

gboolean
bench_first_frame (const gchar *launch, gint64 *time, GError **error)
{
  return run_first (launch, NULL, time, error);
}

/* Starts `pipeline`. The reply has the `time` to its first frame, in seconds.
 */
gboolean
bench_start (GstVkgdrContext *context, JsonObject *request, JsonObject *reply,
    GError **error)
{
  gint64 began = bench_now (), time;

  if (!run_first (bench_get_text (request, "pipeline"), context, &time, error))
    return FALSE;
  json_set_number (reply, "time", (time - began) / 1e9);
  return TRUE;
}
