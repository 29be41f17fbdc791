/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * frames.c: frames that are sent to other processes
 *
 * All processes use the same monotonic clock. The process of the source writes
 * the time at which a frame was written to the buffer's offset-end, and the
 * other processes compare it with their time. vkgdr-bench ends the measurement
 * in the other processes first. So the way in which a stream ends does not
 * matter: GStreamer's cudaipcsrc may report its server's end as an error.
 */

#include <stdio.h>
#include <unistd.h>

#include <gio/gio.h>

#include "helper.h"
#include "json.h"

/* The first 1/WARM_UP of the frames is not used: in this time, kernels are
 * compiled and memory is imported. */
#define WARM_UP 4

/* The number of frames that a result needs. */
#define ENOUGH_FRAMES 8

/* The time limit for ENOUGH_FRAMES, and the interval in which standard input is
 * examined. */
#define PATIENCE (30 * G_GINT64_CONSTANT (1000000000))
#define POLL (2 * GST_MSECOND)

/* --- in the process of the source ----------------------------------------- */

/* The pipeline that runs between `serve` and `serve-end`. */
static GstElement *server;

static GstPadProbeReturn
on_written (GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
  GstBuffer *buffer =
      gst_buffer_make_writable (GST_PAD_PROBE_INFO_BUFFER (info));

  GST_BUFFER_OFFSET_END (buffer) = bench_now ();
  GST_PAD_PROBE_INFO_DATA (info) = buffer;
  return GST_PAD_PROBE_OK;
}

/* Starts `pipeline`, whose sink has the name `sent`. */
gboolean
bench_serve (GstVkgdrContext *context, JsonObject *request, JsonObject *reply,
    GError **error)
{
  GstElement *sink;
  GstPad *pad;

  server = bench_make_pipeline (
      bench_get_text (request, "pipeline"), context, error);
  if (!server)
    return FALSE;
  sink = gst_bin_get_by_name (GST_BIN (server), "sent");
  pad = gst_element_get_static_pad (sink, "sink");
  gst_pad_add_probe (pad, GST_PAD_PROBE_TYPE_BUFFER, on_written, NULL, NULL);
  gst_object_unref (pad);
  gst_object_unref (sink);
  gst_element_set_state (server, GST_STATE_PLAYING);
  return TRUE;
}

/* Ends the pipeline of `serve`. Fails if that has failed. */
gboolean
bench_serve_end (GstVkgdrContext *context, JsonObject *request,
    JsonObject *reply, GError **error)
{
  GstMessage *message;
  GstBus *bus;

  if (!server)
    return TRUE;
  bus = gst_element_get_bus (server);
  message = gst_bus_pop_filtered (bus, GST_MESSAGE_ERROR);
  if (message)
    gst_message_parse_error (message, error, NULL);
  gst_element_set_state (server, GST_STATE_NULL);
  gst_clear_object (&server);
  gst_object_unref (bus);
  if (!message)
    return TRUE;
  gst_message_unref (message);
  return FALSE;
}

/* --- in the other processes ----------------------------------------------- */

/* Times of the frames, in nanoseconds. */
typedef struct {
  GMutex lock;
  gint64 stamp;       /* when the current frame was written */
  GArray *times;      /* when each frame was received */
  GArray *receptions; /* from the end of writing to the reception */
  GArray *launches;   /* to the launch; empty if there is no kernel */
} Arrivals;

static GstPadProbeReturn
on_received (GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
  Arrivals *arrivals = data;
  gint64 now = bench_now (), delay;

  g_mutex_lock (&arrivals->lock);
  if (arrivals->times->len == 0)
    bench_write_reply (json_object_new (), NULL);
  arrivals->stamp = GST_BUFFER_OFFSET_END (GST_PAD_PROBE_INFO_BUFFER (info));
  delay = now - arrivals->stamp;
  g_array_append_val (arrivals->times, now);
  g_array_append_val (arrivals->receptions, delay);
  g_mutex_unlock (&arrivals->lock);
  return GST_PAD_PROBE_OK;
}

/* The filter pushes a frame when it has launched the kernel. */
static GstPadProbeReturn
on_launched (GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
  Arrivals *arrivals = data;
  gint64 delay;

  g_mutex_lock (&arrivals->lock);
  delay = bench_now () - arrivals->stamp;
  g_array_append_val (arrivals->launches, delay);
  g_mutex_unlock (&arrivals->lock);
  return GST_PAD_PROBE_OK;
}

static void
watch (GstElement *pipeline, const gchar *name, GstPadProbeCallback func,
    Arrivals *arrivals)
{
  GstElement *element = gst_bin_get_by_name (GST_BIN (pipeline), name);
  GstPad *pad;

  if (!element)
    return;
  pad = gst_element_get_static_pad (element, "src");
  gst_pad_add_probe (pad, GST_PAD_PROBE_TYPE_BUFFER, func, arrivals, NULL);
  gst_object_unref (pad);
  gst_object_unref (element);
}

static gboolean
is_enough (Arrivals *arrivals)
{
  gboolean enough;

  g_mutex_lock (&arrivals->lock);
  enough = arrivals->times->len >= ENOUGH_FRAMES;
  g_mutex_unlock (&arrivals->lock);
  return enough;
}

/* Waits until standard input has ended and there are enough frames. On a busy
 * machine the first frames take long. */
static gboolean
wait_for_end (GstElement *pipeline, Arrivals *arrivals, GError **error)
{
  GstBus *bus = gst_element_get_bus (pipeline);
  GPollFD input = { STDIN_FILENO, G_IO_IN };
  GstMessage *message = NULL;
  gint64 ended = 0;

  while (!message && (!ended || !is_enough (arrivals))) {
    message = gst_bus_timed_pop_filtered (
        bus, POLL, GST_MESSAGE_EOS | GST_MESSAGE_ERROR);
    if (!ended && g_poll (&input, 1, 0) > 0)
      ended = bench_now ();
    if (ended && bench_now () > ended + PATIENCE)
      break;
  }
  gst_object_unref (bus);
  if (message && GST_MESSAGE_TYPE (message) == GST_MESSAGE_ERROR)
    gst_message_parse_error (message, error, NULL);
  else if (message || !is_enough (arrivals))
    g_set_error_literal (error, GST_STREAM_ERROR, GST_STREAM_ERROR_FAILED,
        message ? "the stream ended by itself" : "too few frames have come");
  g_clear_pointer (&message, gst_message_unref);
  return error == NULL || *error == NULL;
}

static gint
compare (gconstpointer a, gconstpointer b)
{
  const gint64 *x = a, *y = b;

  return *x < *y ? -1 : *x > *y;
}

/* Adds the median and the 99th percentile in seconds, without the first
 * times. */
static void
add_percentiles (GArray *times, const gchar *name, JsonObject *reply)
{
  gchar *tail = g_strconcat (name, "-p99", NULL);

  g_array_remove_range (times, 0, times->len / WARM_UP);
  g_array_sort (times, compare);
  if (times->len > 0) {
    json_set_number (
        reply, name, g_array_index (times, gint64, times->len / 2) / 1e9);
    json_set_number (reply, tail,
        g_array_index (times, gint64, times->len * 99 / 100) / 1e9);
  }
  g_free (tail);
}

static void
summarize (Arrivals *arrivals, JsonObject *reply)
{
  GArray *times = arrivals->times;
  guint first = times->len / WARM_UP, last = times->len - 1;

  json_set_number (reply, "rate",
      (last - first) * 1e9
          / (g_array_index (times, gint64, last)
              - g_array_index (times, gint64, first)));
  add_percentiles (arrivals->receptions, "received", reply);
  add_percentiles (arrivals->launches, "launched", reply);
}

gboolean
bench_consume (const gchar *what, JsonObject *reply, GError **error)
{
  Arrivals arrivals = { .times = g_array_new (FALSE, FALSE, sizeof (gint64)),
    .receptions = g_array_new (FALSE, FALSE, sizeof (gint64)),
    .launches = g_array_new (FALSE, FALSE, sizeof (gint64)) };
  GstElement *pipeline = bench_make_pipeline (what, NULL, error);
  gboolean ok = FALSE;

  g_mutex_init (&arrivals.lock);
  if (pipeline) {
    watch (pipeline, "received", on_received, &arrivals);
    watch (pipeline, "launched", on_launched, &arrivals);
    gst_element_set_state (pipeline, GST_STATE_PLAYING);
    ok = wait_for_end (pipeline, &arrivals, error);
    gst_element_set_state (pipeline, GST_STATE_NULL);
    gst_object_unref (pipeline);
  }
  if (ok)
    summarize (&arrivals, reply);
  g_array_unref (arrivals.times);
  g_array_unref (arrivals.receptions);
  g_array_unref (arrivals.launches);
  g_mutex_clear (&arrivals.lock);
  return ok;
}
