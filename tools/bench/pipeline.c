/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * pipeline.c: runs one pipeline and counts the buffers that arrive
 *
 * A probe on the pad of each sink counts its buffers. All sinks are counted
 * during the same time. The rate of a sink is that from its first to its last
 * buffer, so that short runs of slow pipelines are exact, too. Must not depend
 * on the purpose of the pipeline.
 */

#include <string.h>
#include <sys/resource.h>

#include <gst/video/video.h>

#include "bench.h"

#define MAX_SINKS 64

/* Buffers are only counted after each sink has got this number of buffers, and
 * after this part of the time. Before, kernels are compiled, pools are filled,
 * and access modes are chosen. */
#define WARM_UP_BUFFERS 4
#define WARM_UP_SHARE 0.3

/* The number of arrivals that a rate needs. */
#define ENOUGH 3

/* A pipeline without a result is stopped after this time, in nanoseconds. */
#define PATIENCE (30 * GST_SECOND)

/* The interval in which the counters are read. */
#define POLL (2 * GST_MSECOND)

/* The arrivals at one sink. Payloaders push lists of buffers, which are one
 * arrival. */
typedef struct {
  guint n_arrivals;
  guint64 n_buffers; /* after the first arrival */
  GstClockTime first;
  GstClockTime last;
  GstClockTime gap; /* the longest time between two arrivals */
} Counter;

/* One pipeline runs at a time. */
static GMutex lock;
static Counter counters[MAX_SINKS];
static guint n_counters;

GstElement *
bench_make_pipeline (const gchar *launch, GstVkgdrContext *context)
{
  GError *error = NULL;
  GstElement *pipeline =
      gst_parse_launch_full (launch, NULL, GST_PARSE_FLAG_FATAL_ERRORS, &error);
  GstContext *gst_context;

  if (!pipeline)
    bench_die ("%s", error->message);
  if (!context)
    return pipeline;
  gst_context = gst_vkgdr_context_to_gst_context (context);
  gst_element_set_context (pipeline, gst_context);
  gst_context_unref (gst_context);
  return pipeline;
}

void
bench_check_bus (GstElement *pipeline)
{
  GstBus *bus = gst_element_get_bus (pipeline);
  GstMessage *message = gst_bus_timed_pop_filtered (
      bus, POLL, GST_MESSAGE_ERROR | GST_MESSAGE_EOS);
  GError *error = NULL;

  gst_object_unref (bus);
  if (!message)
    return;
  if (GST_MESSAGE_TYPE (message) == GST_MESSAGE_EOS)
    bench_die ("the stream ended by itself");
  gst_message_parse_error (message, &error, NULL);
  bench_die ("%s", error->message);
}

void
bench_watch (GstElement *element, const gchar *pad_name,
    GstPadProbeCallback func, gpointer data)
{
  GstPad *pad = gst_element_get_static_pad (element, pad_name);

  if (!pad) /* a bin whose pads are made later has none of this name */
    bench_die ("the buffers of %s cannot be counted: it has no pad \"%s\"",
        GST_OBJECT_NAME (element), pad_name);
  gst_pad_add_probe (pad,
      GST_PAD_PROBE_TYPE_BUFFER | GST_PAD_PROBE_TYPE_BUFFER_LIST, func, data,
      NULL);
  gst_object_unref (pad);
}

/* --- counting ------------------------------------------------------------- */

static GstPadProbeReturn
count_buffers (GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
  GstClockTime now = gst_util_get_timestamp ();
  Counter *counter = data;

  g_mutex_lock (&lock);
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
  g_mutex_unlock (&lock);
  return GST_PAD_PROBE_OK;
}

/* The description of a single element gives this element, which is no bin. */
static void
watch_sinks (GstElement *pipeline)
{
  GList *l = GST_IS_BIN (pipeline) ? GST_BIN_CHILDREN (pipeline) : NULL;

  n_counters = 0;
  for (; l && n_counters < MAX_SINKS; l = l->next)
    if (GST_OBJECT_FLAG_IS_SET (l->data, GST_ELEMENT_FLAG_SINK))
      bench_watch (l->data, "sink", count_buffers, &counters[n_counters++]);
  if (n_counters == 0)
    bench_die ("the pipeline has no sink, so there are no buffers to count");
}

static void
count_from_now (void)
{
  g_mutex_lock (&lock);
  memset (counters, 0, sizeof (counters));
  g_mutex_unlock (&lock);
}

static gboolean
have_got (guint n)
{
  guint i, least = n;

  g_mutex_lock (&lock);
  for (i = 0; i < n_counters; i++)
    least = MIN (least, counters[i].n_arrivals);
  g_mutex_unlock (&lock);
  return least == n;
}

/* Waits for @seconds, and for longer if there are less than @n arrivals. */
static void
wait_for (GstElement *pipeline, guint n, gdouble seconds)
{
  GstClockTime duration = seconds * GST_SECOND;
  GstClockTime until = gst_util_get_timestamp () + duration;

  while (gst_util_get_timestamp () < until || !have_got (n)) {
    bench_check_bus (pipeline);
    if (gst_util_get_timestamp () > until + PATIENCE)
      bench_die ("too few buffers in %.0f s",
          (gdouble) (duration + PATIENCE) / GST_SECOND);
  }
}

/* Returns buffers per second of all sinks, and the longest time without one, in
 * seconds. There must be two arrivals at each sink. */
static gdouble
read_rate (gdouble *gap)
{
  gdouble sum = 0;
  guint i;

  *gap = 0;
  g_mutex_lock (&lock);
  for (i = 0; i < n_counters; i++) {
    const Counter *counter = &counters[i];

    sum += counter->n_buffers * 1e9 / (counter->last - counter->first);
    *gap = MAX (*gap, counter->gap / 1e9);
  }
  g_mutex_unlock (&lock);
  return sum;
}

/* The processor time of all threads of this process, in seconds. */
static gdouble
get_processor_time (void)
{
  struct rusage usage;

  getrusage (RUSAGE_SELF, &usage);
  return usage.ru_utime.tv_sec + usage.ru_stime.tv_sec
         + (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

static guint64
count_all_buffers (void)
{
  guint64 sum = 0;
  guint i;

  g_mutex_lock (&lock);
  for (i = 0; i < n_counters; i++)
    sum += counters[i].n_buffers + MIN (counters[i].n_arrivals, 1);
  g_mutex_unlock (&lock);
  return sum;
}

/* --- appsrc -------------------------------------------------------------- */

/* What most programs do: a new buffer for each frame. */
static void
push_frame (GstElement *source, guint length, gpointer data)
{
  gsize size = GPOINTER_TO_SIZE (data);
  GstBuffer *buffer = gst_buffer_new_allocate (NULL, size, NULL);
  GstFlowReturn flow;

  gst_buffer_memset (buffer, 0, 0x80, size);
  g_signal_emit_by_name (source, "push-buffer", buffer, &flow);
  gst_buffer_unref (buffer);
}

/* An appsrc that is named `fed` gets frames of its caps. */
static void
feed (GstElement *pipeline)
{
  GstElement *source = gst_bin_get_by_name (GST_BIN (pipeline), "fed");
  GstCaps *caps = NULL;
  GstVideoInfo info;

  if (!source)
    return;
  g_object_get (source, "caps", &caps, NULL);
  if (!caps || !gst_video_info_from_caps (&info, caps))
    bench_die ("the caps of %s are no raw video", GST_OBJECT_NAME (source));
  g_signal_connect (source, "need-data", G_CALLBACK (push_frame),
      GSIZE_TO_POINTER (info.size));
  gst_caps_unref (caps);
  gst_object_unref (source);
}

/* --- the commands ----------------------------------------------------------
 */

/* Returns the statistic `kernel-time` of @element in seconds. Waits, because on
 * a busy machine the device may not have finished a measurement yet. */
static gdouble
read_kernel_time (GstElement *element)
{
  GstClockTime until = gst_util_get_timestamp () + PATIENCE;
  guint64 nanoseconds = 0;

  while (gst_util_get_timestamp () < until) {
    GstStructure *stats = NULL;

    g_object_get (element, "stats", &stats, NULL);
    gst_structure_get_uint64 (stats, "kernel-time", &nanoseconds);
    gst_structure_free (stats);
    if (nanoseconds > 0 && nanoseconds != GST_CLOCK_TIME_NONE)
      return nanoseconds / 1e9;
    g_usleep (POLL / GST_USECOND);
  }
  bench_die ("the element reports no kernel-time");
}

static void
play (GstElement *pipeline)
{
  if (gst_element_set_state (pipeline, GST_STATE_PLAYING)
      != GST_STATE_CHANGE_FAILURE)
    return;
  bench_check_bus (pipeline);
  bench_die ("the pipeline does not start"); /* there is no message why */
}

/* Runs `pipeline` for `seconds`, after `warm-up` seconds. The reply has its
 * `rate` in buffers per second; the `processor-time` of this process for each
 * buffer; if the pipeline has an element `timed`, the
 * `kernel-time` of this; and if it has an element `changed`, the `extra-gap`:
 * `pixel` of this is set while the pipeline runs, buffers are counted again,
 * and the longest gap is that of the change. Times are in seconds. */
void
bench_run (GstVkgdrContext *context, GVariant *request)
{
  gdouble seconds, warm_up, rate, before, after, kernel_time = 0;
  gdouble processor_time;
  const gchar *launch, *pixel;
  GstElement *pipeline, *element;

  g_variant_lookup (request, "pipeline", "&s", &launch);
  g_variant_lookup (request, "seconds", "d", &seconds);
  g_variant_lookup (request, "warm-up", "d", &warm_up);
  pipeline = bench_make_pipeline (launch, context);
  watch_sinks (pipeline);
  feed (pipeline);
  count_from_now ();
  play (pipeline);
  wait_for (pipeline, WARM_UP_BUFFERS, MAX (warm_up, seconds * WARM_UP_SHARE));
  processor_time = get_processor_time ();
  count_from_now ();
  wait_for (pipeline, ENOUGH, seconds);
  rate = read_rate (&before);
  processor_time =
      (get_processor_time () - processor_time) / count_all_buffers ();
  after = before;

  element = gst_bin_get_by_name (GST_BIN (pipeline), "changed");
  if (element) {
    g_variant_lookup (request, "pixel", "&s", &pixel);
    count_from_now ();
    g_object_set (element, "pixel", pixel, NULL);
    gst_object_unref (element);
    wait_for (pipeline, ENOUGH, seconds);
    read_rate (&after);
  }
  element = gst_bin_get_by_name (GST_BIN (pipeline), "timed");
  if (element) {
    kernel_time = read_kernel_time (element);
    gst_object_unref (element);
  }
  gst_element_set_state (pipeline, GST_STATE_NULL);
  gst_object_unref (pipeline);
  bench_reply (g_variant_new_parsed ("{'rate': %d, 'processor-time': %d, "
                                     "'extra-gap': %d, 'kernel-time': %d}",
      rate, processor_time, after - before, kernel_time));
}

/* Runs `pipeline` until its end. It makes the files that other pipelines read.
 */
void
bench_make (GVariant *request)
{
  const gchar *launch;
  GstElement *pipeline;
  GstBus *bus;
  GstMessage *message;
  GError *error = NULL;

  g_variant_lookup (request, "pipeline", "&s", &launch);
  pipeline = bench_make_pipeline (launch, NULL);
  play (pipeline);
  bus = gst_element_get_bus (pipeline);
  message = gst_bus_timed_pop_filtered (
      bus, 2 * PATIENCE, GST_MESSAGE_ERROR | GST_MESSAGE_EOS);
  gst_object_unref (bus);
  if (!message)
    bench_die ("an encoder takes more than a minute");
  if (GST_MESSAGE_TYPE (message) == GST_MESSAGE_ERROR) {
    gst_message_parse_error (message, &error, NULL);
    bench_die ("%s", error->message);
  }
  gst_message_unref (message);
  gst_element_set_state (pipeline, GST_STATE_NULL);
  gst_object_unref (pipeline);
  bench_reply (g_variant_new_parsed ("@a{sv} {}"));
}
