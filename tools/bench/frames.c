/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * frames.c: pipelines and clients in processes of their own
 *
 * All processes use the same monotonic clock. The process of a source writes
 * the time at which a frame was written to the buffer's offset-end, and the
 * other processes compare it with their time. vkgdr-bench ends the measurement
 * in the other processes first. So the way in which a stream ends does not
 * matter: GStreamer's cudaipcsrc may report its server's end as an error.
 */

#include <string.h>
#include <unistd.h>

#include <vkgdr/frames.h>

#include "bench.h"

/* The number of frames that a result needs. */
#define ENOUGH_FRAMES 8

/* The time limit for ENOUGH_FRAMES, and the interval in which standard input is
 * examined. */
#define PATIENCE (30 * GST_SECOND)
#define POLL (2 * GST_MSECOND)

/* Times of a frame, in nanoseconds. */
typedef struct {
  GstClockTime written;
  GstClockTime received;
} Frame;

static GMutex lock;
static GArray *frames;        /* of Frame */
static guint n_wanted;        /* frames */
static GstClockTime ended_at; /* when standard input has ended, or 0 */

static void
add_frame (GstClockTime written)
{
  Frame frame = { written, gst_util_get_timestamp () };

  g_mutex_lock (&lock);
  if (frames->len == 0)
    bench_reply (g_variant_new_parsed ("{'time': %x}", frame.received));
  g_array_append_val (frames, frame);
  g_mutex_unlock (&lock);
}

static GstPadProbeReturn
on_received (GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
  add_frame (GST_BUFFER_OFFSET_END (GST_PAD_PROBE_INFO_BUFFER (info)));
  return GST_PAD_PROBE_OK;
}

static GstPadProbeReturn
on_written (GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
  GstBuffer *buffer =
      gst_buffer_make_writable (GST_PAD_PROBE_INFO_BUFFER (info));

  GST_BUFFER_OFFSET_END (buffer) = gst_util_get_timestamp ();
  GST_PAD_PROBE_INFO_DATA (info) = buffer;
  return GST_PAD_PROBE_OK;
}

/* Whether standard input has ended and there are enough frames. On a busy
 * machine the first frames take long. */
static gboolean
is_over (void)
{
  GPollFD input = { STDIN_FILENO, G_IO_IN };
  gboolean enough;

  if (!ended_at && g_poll (&input, 1, 0) > 0)
    ended_at = gst_util_get_timestamp ();
  g_mutex_lock (&lock);
  enough = frames->len >= n_wanted;
  g_mutex_unlock (&lock);
  if (ended_at && !enough && gst_util_get_timestamp () > ended_at + PATIENCE)
    bench_die ("too few frames have come");
  return ended_at && enough;
}

static void
play (const gchar *launch)
{
  static const struct {
    const gchar *name, *pad;
    GstPadProbeCallback func;
  } watched[] = {
    { "sent", "sink", on_written },
    { "received", "src", on_received },
    { "first", "sink", on_received },
  };
  GstElement *pipeline = bench_make_pipeline (launch, NULL);
  guint i;

  for (i = 0; i < G_N_ELEMENTS (watched); i++) {
    GstElement *element =
        gst_bin_get_by_name (GST_BIN (pipeline), watched[i].name);

    if (!element)
      continue;
    bench_watch (element, watched[i].pad, watched[i].func, NULL);
    if (watched[i].func == on_received)
      n_wanted = ENOUGH_FRAMES;
    gst_object_unref (element);
  }
  gst_element_set_state (pipeline, GST_STATE_PLAYING);
  while (!is_over ())
    bench_check_bus (pipeline);
  gst_element_set_state (pipeline, GST_STATE_NULL);
  gst_object_unref (pipeline);
}

/* The number of the offsets of a buffer among the metas of a frame
 * (docs/ipc-protocol.md). */
#define OFFSETS 4

/* Returns GStreamer's end offset of a frame: the time at which it was sent. */
static guint64
get_offset_end (const vkgdr_frame_info *frame)
{
  const guint8 *meta = frame->metas, *end = meta + frame->metas_size;
  guint32 head[2];
  guint64 offsets[2] = { GST_BUFFER_OFFSET_NONE, GST_BUFFER_OFFSET_NONE };

  for (; meta + sizeof (head) <= end; meta += sizeof (head) + head[1]) {
    memcpy (head, meta, sizeof (head));
    if (head[0] == OFFSETS && head[1] == sizeof (offsets))
      memcpy (offsets, meta + sizeof (head), sizeof (offsets));
  }
  return offsets[1];
}

/* libvkgdr's client, without GStreamer. With @busy, it never sleeps. */
static void
receive (const gchar *path, gboolean busy)
{
  vkgdr_frames_params params = { .path = path, .timeout = PATIENCE };
  vkgdr_frames_t client = vkgdr_frames_connect (&params);
  GstClockTime polled = 0;
  gboolean over = FALSE;

  n_wanted = ENOUGH_FRAMES;
  if (!client)
    bench_die_of_vkgdr ();
  while (!over) {
    vkgdr_frame_t frame;
    vkgdr_frames_status status =
        vkgdr_frames_receive (client, busy ? 0 : POLL, &frame);

    if (status == VKGDR_FRAMES_FRAME) {
      add_frame (get_offset_end (vkgdr_frame_get_info (frame)));
      vkgdr_frame_release (frame);
    } else if (status < 0) {
      bench_die_of_vkgdr ();
    }
    if (gst_util_get_timestamp () > polled + POLL) {
      polled = gst_util_get_timestamp ();
      over = is_over ();
    }
  }
  vkgdr_frames_close (client);
}

/* @what is a pipeline, or the path of a socket, from which libvkgdr's client
 * gets frames; it does not sleep if "busy:" is in front of the path. Elements
 * with names are watched: frames that reach the element `sent` are marked with
 * the time, and they are expected from `received` and at `first`. The first
 * frame is a reply with its time. When standard input ends, there is another
 * reply: `frames`, each as a list of the time at which it was received, and the
 * delay from the end of writing. */
void
bench_play (const gchar *what)
{
  gboolean busy = g_str_has_prefix (what, "busy:");
  GVariantBuilder all;
  guint i;

  frames = g_array_new (FALSE, FALSE, sizeof (Frame));
  if (busy || *what == '/')
    receive (busy ? what + strlen ("busy:") : what, busy);
  else
    play (what);
  g_variant_builder_init (&all, G_VARIANT_TYPE ("a(xx)"));
  for (i = 0; i < frames->len; i++) {
    const Frame *frame = &g_array_index (frames, Frame, i);

    g_variant_builder_add (
        &all, "(xx)", frame->received, frame->received - frame->written);
  }
  bench_reply (
      g_variant_new_parsed ("{'frames': %*}", g_variant_builder_end (&all)));
  g_array_unref (frames);
}
