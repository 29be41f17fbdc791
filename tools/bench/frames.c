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

#include <string.h>
#include <unistd.h>

#include "helper.h"
#include <vkgdr/frames.h>

/* The number of frames that a result needs. */
#define ENOUGH_FRAMES 8

/* The time limit for ENOUGH_FRAMES, and the interval in which standard input is
 * examined. */
#define PATIENCE (30 * G_GINT64_CONSTANT (1000000000))
#define POLL (2 * GST_MSECOND)

static void
watch (GstElement *pipeline, const gchar *name, const gchar *pad_name,
    GstPadProbeCallback func, gpointer data)
{
  GstElement *element = gst_bin_get_by_name (GST_BIN (pipeline), name);
  GstPad *pad;

  if (!element)
    return;
  pad = gst_element_get_static_pad (element, pad_name);
  gst_pad_add_probe (pad, GST_PAD_PROBE_TYPE_BUFFER, func, data, NULL);
  gst_object_unref (pad);
  gst_object_unref (element);
}

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
  server = bench_make_pipeline (
      bench_get_text (request, "pipeline"), context, error);
  if (!server)
    return FALSE;
  watch (server, "sent", "sink", on_written, NULL);
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
  g_clear_pointer (&message, gst_message_unref);
  return *error == NULL;
}

/* --- in the other processes ----------------------------------------------- */

/* Times of a frame, in nanoseconds: when it was written, when it was received,
 * and when its kernel was launched, or 0. */
typedef struct {
  gint64 written;
  gint64 received;
  gint64 launched;
} Frame;

typedef struct {
  GMutex lock;
  GArray *frames;
  gint64 ended; /* when standard input has ended, or 0 */
} Arrivals;

static void
add_frame (Arrivals *arrivals, gint64 written)
{
  Frame frame = { written, bench_now () };

  g_mutex_lock (&arrivals->lock);
  if (arrivals->frames->len == 0)
    bench_write_reply (json_object_new (), NULL);
  g_array_append_val (arrivals->frames, frame);
  g_mutex_unlock (&arrivals->lock);
}

static GstPadProbeReturn
on_received (GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
  add_frame (data, GST_BUFFER_OFFSET_END (GST_PAD_PROBE_INFO_BUFFER (info)));
  return GST_PAD_PROBE_OK;
}

/* The filter pushes a frame when it has launched the kernel. */
static GstPadProbeReturn
on_launched (GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
  gint64 now = bench_now ();
  Arrivals *arrivals = data;
  GArray *frames = arrivals->frames;

  g_mutex_lock (&arrivals->lock);
  g_array_index (frames, Frame, frames->len - 1).launched = now;
  g_mutex_unlock (&arrivals->lock);
  return GST_PAD_PROBE_OK;
}

/* Whether standard input has ended and there are enough frames. On a busy
 * machine the first frames take long. Sets @error if they take too long. */
static gboolean
is_over (Arrivals *arrivals, GError **error)
{
  GPollFD input = { STDIN_FILENO, G_IO_IN };
  gboolean enough;

  if (!arrivals->ended && g_poll (&input, 1, 0) > 0)
    arrivals->ended = bench_now ();
  if (!arrivals->ended)
    return FALSE;
  g_mutex_lock (&arrivals->lock);
  enough = arrivals->frames->len >= ENOUGH_FRAMES;
  g_mutex_unlock (&arrivals->lock);
  if (!enough && bench_now () < arrivals->ended + PATIENCE)
    return FALSE;
  return enough || !bench_fail (error, "too few frames have come");
}

static void
play (const gchar *launch, Arrivals *arrivals, GError **error)
{
  GstElement *pipeline = bench_make_pipeline (launch, NULL, error);
  GstMessage *message = NULL;
  GstBus *bus;

  if (!pipeline)
    return;
  watch (pipeline, "received", "src", on_received, arrivals);
  watch (pipeline, "launched", "src", on_launched, arrivals);
  bus = gst_element_get_bus (pipeline);
  gst_element_set_state (pipeline, GST_STATE_PLAYING);
  while (!message && !is_over (arrivals, error))
    message = gst_bus_timed_pop_filtered (
        bus, POLL, GST_MESSAGE_EOS | GST_MESSAGE_ERROR);
  if (message && GST_MESSAGE_TYPE (message) == GST_MESSAGE_ERROR)
    gst_message_parse_error (message, error, NULL);
  else if (message)
    bench_fail (error, "the stream ended by itself");
  gst_element_set_state (pipeline, GST_STATE_NULL);
  g_clear_pointer (&message, gst_message_unref);
  gst_object_unref (bus);
  gst_object_unref (pipeline);
}

/* libvkgdr's client, without GStreamer. With @busy, it never sleeps. */
static void
receive (const gchar *path, gboolean busy, Arrivals *arrivals, GError **error)
{
  vkgdr_frames_params params = { .path = path, .timeout = PATIENCE };
  vkgdr_frames_t frames = vkgdr_frames_connect (&params);
  vkgdr_frames_status status = VKGDR_FRAMES_TIMEOUT;
  gboolean over = FALSE;
  vkgdr_frame_t frame;
  gint64 polled = 0;

  while (frames && status >= VKGDR_FRAMES_TIMEOUT && !over) {
    status = vkgdr_frames_receive (frames, busy ? 0 : POLL, &frame);
    if (status == VKGDR_FRAMES_FRAME) {
      add_frame (arrivals, vkgdr_frame_get_info (frame)->offset_end);
      vkgdr_frame_release (frame);
    }
    if (bench_now () > polled + (gint64) POLL) {
      polled = bench_now ();
      over = is_over (arrivals, error);
    }
  }
  if (!frames || status < VKGDR_FRAMES_TIMEOUT)
    bench_set_last_error (error);
  vkgdr_frames_close (frames);
}

/* The reply has `frames`. Each is a list of the time at which it was received,
 * and the delays from the end of writing until it was received and launched. */
static void
add_frames (JsonObject *reply, const GArray *frames)
{
  JsonArray *array = json_array_new ();
  guint i;

  for (i = 0; i < frames->len; i++) {
    const Frame *frame = &g_array_index (frames, Frame, i);
    JsonArray *times = json_array_new ();

    json_array_add_int_element (times, frame->received);
    json_array_add_int_element (times, frame->received - frame->written);
    if (frame->launched)
      json_array_add_int_element (times, frame->launched - frame->written);
    json_array_add_array_element (array, times);
  }
  json_object_set_array_member (reply, "frames", array);
}

void
bench_consume (const gchar *what, JsonObject *reply, GError **error)
{
  Arrivals arrivals = { .frames = g_array_new (FALSE, FALSE, sizeof (Frame)) };
  gboolean busy = g_str_has_prefix (what, "busy:");

  g_mutex_init (&arrivals.lock);
  if (busy || *what == '/')
    receive (busy ? what + strlen ("busy:") : what, busy, &arrivals, error);
  else
    play (what, &arrivals, error);
  add_frames (reply, arrivals.frames);
  g_array_unref (arrivals.frames);
  g_mutex_clear (&arrivals.lock);
}
