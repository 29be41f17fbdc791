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

#define MAX_SINKS 64

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

/* The arrivals at one sink. Payloaders push lists of buffers, which are one
 * arrival. */
typedef struct {
  GMutex lock;
  guint n_arrivals;
  guint64 n_buffers; /* after the first arrival */
  gint64 first;      /* times in nanoseconds */
  gint64 last;
  gint64 gap; /* the longest time between two arrivals */
} Counter;

typedef struct {
  GstElement *pipeline;
  GstBus *bus; /* NULL if the pipeline is a single element */
  guint n;
  Counter counters[MAX_SINKS];
} Run;

static GstPadProbeReturn
count_buffers (GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
  gint64 now = bench_now ();
  Counter *counter = data;

  g_mutex_lock (&counter->lock);
  if (counter->n_arrivals++ == 0) {
    counter->first = now;
  } else {
    counter->n_buffers +=
        GST_PAD_PROBE_INFO_TYPE (info) & GST_PAD_PROBE_TYPE_BUFFER_LIST
            ? gst_buffer_list_length (GST_PAD_PROBE_INFO_BUFFER_LIST (info))
            : 1;
    counter->gap = MAX (counter->gap, now - counter->last);
  }
  counter->last = now;
  g_mutex_unlock (&counter->lock);
  return GST_PAD_PROBE_OK;
}

/* A bin whose pads are made later has no pad of this name. */
static gboolean
watch_sink (Run *self, GstElement *sink, GError **error)
{
  GstPad *pad = gst_element_get_static_pad (sink, "sink");
  Counter *counter = &self->counters[self->n];

  if (!pad || self->n == MAX_SINKS) {
    g_set_error (error, GST_CORE_ERROR, GST_CORE_ERROR_PAD,
        "the buffers of %s cannot be counted: it has no pad \"sink\"",
        GST_OBJECT_NAME (sink));
    gst_clear_object (&pad);
    return FALSE;
  }
  g_mutex_init (&counter->lock);
  gst_pad_add_probe (pad,
      GST_PAD_PROBE_TYPE_BUFFER | GST_PAD_PROBE_TYPE_BUFFER_LIST, count_buffers,
      counter, NULL);
  gst_object_unref (pad);
  self->n++;
  return TRUE;
}

/* The description of a single element gives this element, which is no bin. */
static gboolean
watch_sinks (Run *self, GError **error)
{
  GList *l =
      GST_IS_BIN (self->pipeline) ? GST_BIN_CHILDREN (self->pipeline) : NULL;

  for (; l; l = l->next)
    if (GST_OBJECT_FLAG_IS_SET (l->data, GST_ELEMENT_FLAG_SINK)
        && !watch_sink (self, l->data, error))
      return FALSE;
  return self->n > 0
         || bench_fail (error,
             "the pipeline has no sink, so there are no buffers to count");
}

static void
run_free (Run *self)
{
  guint i;

  gst_element_set_state (self->pipeline, GST_STATE_NULL);
  gst_clear_object (&self->bus);
  gst_object_unref (self->pipeline);
  for (i = 0; i < self->n; i++)
    g_mutex_clear (&self->counters[i].lock);
  g_free (self);
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

/* --- waiting -------------------------------------------------------------- */

static gboolean
check_bus (Run *self, GError **error)
{
  GstMessage *message = gst_bus_timed_pop_filtered (
      self->bus, POLL, GST_MESSAGE_ERROR | GST_MESSAGE_EOS);

  if (!message)
    return TRUE;
  if (GST_MESSAGE_TYPE (message) == GST_MESSAGE_ERROR)
    gst_message_parse_error (message, error, NULL);
  else
    bench_fail (error, "the stream ended by itself");
  gst_message_unref (message);
  return FALSE;
}

/* Returns a running pipeline. */
static Run *
run_new (const gchar *launch, GstVkgdrContext *context, GError **error)
{
  GstElement *pipeline = bench_make_pipeline (launch, context, error);
  Run *self;

  if (!pipeline)
    return NULL;
  self = g_new0 (Run, 1);
  self->pipeline = pipeline;
  self->bus = gst_element_get_bus (pipeline);
  if (watch_sinks (self, error)) {
    if (gst_element_set_state (pipeline, GST_STATE_PLAYING)
        != GST_STATE_CHANGE_FAILURE)
      return self;
    if (check_bus (self, error)) /* there is no message with a reason */
      bench_fail (error, "the pipeline does not start");
  }
  run_free (self);
  return NULL;
}

static void
count_from_now (Run *self)
{
  guint i;

  for (i = 0; i < self->n; i++) {
    Counter *counter = &self->counters[i];

    g_mutex_lock (&counter->lock);
    counter->n_arrivals = 0;
    counter->n_buffers = 0;
    counter->gap = 0;
    g_mutex_unlock (&counter->lock);
  }
}

static gboolean
have_got (Run *self, guint n)
{
  guint i, least = n;

  for (i = 0; i < self->n; i++) {
    g_mutex_lock (&self->counters[i].lock);
    least = MIN (least, self->counters[i].n_arrivals);
    g_mutex_unlock (&self->counters[i].lock);
  }
  return least == n;
}

/* Waits for @seconds, and for longer if there are less than @n arrivals. */
static gboolean
wait_for (Run *self, guint n, gdouble seconds, GError **error)
{
  gint64 start = bench_now (), until = start + (gint64) (seconds * 1e9);

  while (bench_now () < until || !have_got (self, n)) {
    if (!check_bus (self, error))
      return FALSE;
    if (bench_now () > until + PATIENCE) {
      g_set_error (error, GST_STREAM_ERROR, GST_STREAM_ERROR_FAILED,
          "too few buffers in %.0f s", (bench_now () - start) / 1e9);
      return FALSE;
    }
  }
  return TRUE;
}

/* Returns buffers per second of all sinks, and the longest time without one, in
 * seconds. There must be two arrivals at each sink. */
static gdouble
read_rate (Run *self, gdouble *gap)
{
  gdouble sum = 0;
  guint i;

  *gap = 0;
  for (i = 0; i < self->n; i++) {
    Counter *counter = &self->counters[i];

    g_mutex_lock (&counter->lock);
    sum += counter->n_buffers * 1e9 / (counter->last - counter->first);
    *gap = MAX (*gap, counter->gap / 1e9);
    g_mutex_unlock (&counter->lock);
  }
  return sum;
}

/* --- commands ------------------------------------------------------------- */

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
add_kernel_time (Run *self, JsonObject *reply, GError **error)
{
  GstElement *element = gst_bin_get_by_name (GST_BIN (self->pipeline), "timed");
  gint64 until = bench_now () + PATIENCE;
  guint64 nanoseconds = 0;

  if (!element)
    return TRUE;
  while ((nanoseconds = kernel_time_of (element)) == 0 && bench_now () < until)
    g_usleep (POLL / GST_USECOND);
  gst_object_unref (element);
  bench_set_number (reply, "kernel-time", nanoseconds / 1e9);
  return nanoseconds > 0
         || bench_fail (error, "the element reports no kernel-time");
}

/* Sets the property of the element `changed`, if the pipeline has one, while
 * the pipeline runs, and counts again. So the longest gap is that of the
 * change. */
static gboolean
change (Run *self, JsonObject *request, JsonObject *reply, gdouble before,
    GError **error)
{
  GstElement *element =
      gst_bin_get_by_name (GST_BIN (self->pipeline), "changed");
  gdouble after;

  if (!element)
    return TRUE;
  count_from_now (self);
  gst_util_set_object_arg (G_OBJECT (element),
      bench_get_text (request, "property"), bench_get_text (request, "value"));
  gst_object_unref (element);
  if (!wait_for (self, ENOUGH, bench_get_number (request, "seconds"), error))
    return FALSE;
  read_rate (self, &after);
  bench_set_number (reply, "extra-gap", after - before);
  return TRUE;
}

/* Runs `pipeline` for `seconds`, after `warm-up` seconds. The reply has its
 * `rate` in buffers per second and, if there are such elements, `kernel-time`
 * and `extra-gap` in seconds. */
gboolean
bench_run (GstVkgdrContext *context, JsonObject *request, JsonObject *reply,
    GError **error)
{
  gdouble seconds = bench_get_number (request, "seconds"), gap;
  gdouble warm_up =
      MAX (bench_get_number (request, "warm-up"), seconds * WARM_UP_SHARE);
  Run *self = run_new (bench_get_text (request, "pipeline"), context, error);
  gboolean ok;

  if (!self)
    return FALSE;
  ok = wait_for (self, WARM_UP_BUFFERS, warm_up, error);
  if (ok) {
    count_from_now (self);
    ok = wait_for (self, ENOUGH, seconds, error);
  }
  if (ok) {
    bench_set_number (reply, "rate", read_rate (self, &gap));
    ok = change (self, request, reply, gap, error)
         && add_kernel_time (self, reply, error);
  }
  run_free (self);
  return ok;
}

void
bench_first_frame (const gchar *launch, JsonObject *reply, GError **error)
{
  Run *self = run_new (launch, NULL, error);

  if (!self)
    return;
  if (wait_for (self, 1, 0, error))
    json_object_set_int_member (reply, "time", self->counters[0].first);
  run_free (self);
}
