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

/* The number of arrivals that a rate needs. */
#define ENOUGH 3

/* A pipeline without a result is stopped after this time, in nanoseconds. */
#define PATIENCE (30 * G_GINT64_CONSTANT (1000000000))

/* The interval in which the counters are read. */
#define POLL (2 * GST_MSECOND)

/* Payloaders push lists of buffers, which arrive at one time. */
typedef struct {
  gint64 time;
  guint n;
} Arrival;

/* The arrivals at one sink. */
typedef struct {
  GMutex lock;
  GArray *arrivals;
  guint first; /* the first one that counts */
} Counter;

static GstPadProbeReturn
count_buffers (GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
  Counter *counter = data;
  Arrival arrival = { bench_now (), 1 };

  if (GST_PAD_PROBE_INFO_TYPE (info) & GST_PAD_PROBE_TYPE_BUFFER_LIST)
    arrival.n = gst_buffer_list_length (GST_PAD_PROBE_INFO_BUFFER_LIST (info));
  g_mutex_lock (&counter->lock);
  g_array_append_val (counter->arrivals, arrival);
  g_mutex_unlock (&counter->lock);
  return GST_PAD_PROBE_OK;
}

static void
counter_free (gpointer data)
{
  Counter *counter = data;

  g_array_unref (counter->arrivals);
  g_mutex_clear (&counter->lock);
  g_free (counter);
}

/* A bin whose pads are made later has no pad of this name. */
static gboolean
watch_sink (GPtrArray *counters, GstElement *sink, GError **error)
{
  GstPad *pad = gst_element_get_static_pad (sink, "sink");
  Counter *counter;

  if (!pad) {
    g_set_error (error, GST_CORE_ERROR, GST_CORE_ERROR_PAD,
        "the buffers of %s cannot be counted: it has no pad \"sink\"",
        GST_OBJECT_NAME (sink));
    return FALSE;
  }
  counter = g_new0 (Counter, 1);
  g_mutex_init (&counter->lock);
  counter->arrivals = g_array_new (FALSE, FALSE, sizeof (Arrival));
  g_ptr_array_add (counters, counter);
  gst_pad_add_probe (pad,
      GST_PAD_PROBE_TYPE_BUFFER | GST_PAD_PROBE_TYPE_BUFFER_LIST, count_buffers,
      counter, NULL);
  gst_object_unref (pad);
  return TRUE;
}

/* The description of a single element gives this element, which is no bin.
 *
 * Returns: (nullable): a counter for each sink. NULL if there is none, or one
 * that cannot be counted. */
static GPtrArray *
watch_sinks (GstElement *pipeline, GError **error)
{
  GPtrArray *counters = g_ptr_array_new_with_free_func (counter_free);
  GstIterator *sinks;
  GValue item = G_VALUE_INIT;
  gboolean ok = GST_IS_BIN (pipeline);

  if (ok) {
    sinks = gst_bin_iterate_sinks (GST_BIN (pipeline));
    while (ok && gst_iterator_next (sinks, &item) == GST_ITERATOR_OK) {
      ok = watch_sink (counters, g_value_get_object (&item), error);
      g_value_reset (&item);
    }
    g_value_unset (&item);
    gst_iterator_free (sinks);
  }
  if (ok && counters->len > 0)
    return counters;
  if (!*error)
    g_set_error_literal (error, GST_CORE_ERROR, GST_CORE_ERROR_FAILED,
        "the pipeline has no sink, so there are no buffers to count");
  g_ptr_array_unref (counters);
  return NULL;
}

static void
count_from_now (GPtrArray *counters)
{
  guint i;

  for (i = 0; i < counters->len; i++) {
    Counter *counter = g_ptr_array_index (counters, i);

    g_mutex_lock (&counter->lock);
    counter->first = counter->arrivals->len;
    g_mutex_unlock (&counter->lock);
  }
}

/* Whether all sinks have got @n buffers or lists. */
static gboolean
have_got (GPtrArray *counters, guint n)
{
  gboolean enough = TRUE;
  guint i;

  for (i = 0; i < counters->len && enough; i++) {
    Counter *counter = g_ptr_array_index (counters, i);

    g_mutex_lock (&counter->lock);
    enough = counter->arrivals->len >= counter->first + n;
    g_mutex_unlock (&counter->lock);
  }
  return enough;
}

/* Returns buffers per second. @gap is the longest time without one, in
 * seconds. There must be two arrivals. */
static gdouble
rate_of (Counter *counter, gdouble *gap)
{
  guint64 n = 0;
  gint64 first, last, longest = 0;
  guint i;

  g_mutex_lock (&counter->lock);
  first = last =
      g_array_index (counter->arrivals, Arrival, counter->first).time;
  for (i = counter->first + 1; i < counter->arrivals->len; i++) {
    const Arrival *next = &g_array_index (counter->arrivals, Arrival, i);

    n += next->n;
    longest = MAX (longest, next->time - last);
    last = next->time;
  }
  g_mutex_unlock (&counter->lock);
  *gap = longest / 1e9;
  return n * 1e9 / (last - first);
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

/* Waits for @seconds, and for longer if there are less than @n arrivals. */
static gboolean
wait_for (
    GPtrArray *counters, guint n, GstBus *bus, gdouble seconds, GError **error)
{
  gint64 start = bench_now ();
  gint64 until = start + (gint64) (seconds * 1e9);

  while (bench_now () < until || !have_got (counters, n)) {
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
  Counter *counter = g_ptr_array_index (counters, 0);
  gdouble before, after;

  if (!element)
    return TRUE;
  rate_of (counter, &before);
  count_from_now (counters);
  gst_util_set_object_arg (G_OBJECT (element),
      bench_get_text (request, "property"), bench_get_text (request, "value"));
  gst_object_unref (element);
  if (!wait_for (
          counters, ENOUGH, bus, bench_get_number (request, "seconds"), error))
    return FALSE;
  rate_of (counter, &after);
  json_set_number (reply, "extra-gap", after - before);
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

static gboolean
play (GstElement *pipeline, GPtrArray *counters, JsonObject *request,
    JsonObject *reply, GError **error)
{
  gdouble seconds = bench_get_number (request, "seconds");
  gdouble warm_up =
      MAX (bench_get_number (request, "warm-up"), seconds * WARM_UP_SHARE);
  GstBus *bus = gst_element_get_bus (pipeline);
  gdouble sum = 0, gap;
  gboolean ok;
  guint i;

  ok = start (pipeline, bus, error)
       && wait_for (counters, WARM_UP_BUFFERS, bus, warm_up, error);
  if (ok) {
    count_from_now (counters);
    ok = wait_for (counters, ENOUGH, bus, seconds, error);
  }
  for (i = 0; ok && i < counters->len; i++)
    sum += rate_of (g_ptr_array_index (counters, i), &gap);
  json_set_number (reply, "rate", sum);
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
    bus = gst_element_get_bus (pipeline);
    ok = start (pipeline, bus, error) && wait_for (counters, 1, bus, 0, error);
    gst_element_set_state (pipeline, GST_STATE_NULL);
    gst_object_unref (bus);
    if (ok)
      *time =
          g_array_index (((Counter *) counters->pdata[0])->arrivals, Arrival, 0)
              .time;
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
