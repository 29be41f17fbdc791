/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * ipc/src.c: the element vkgdripcsrc
 *
 * A GstPushSrc on the client of vkgdr/frames.h.
 */

/**
 * SECTION:element-vkgdripcsrc
 * @title: vkgdripcsrc
 * @see_also: vkgdripcsink, vkgdrdownload
 *
 * Receives the frames of a vkgdripcsink, or of another server of
 * vkgdr/frames.h, in another process. The other process may be in another
 * container. Frames are not copied: they are in the memory that the source of
 * the other process has written. Both processes have to use the same GPU.
 *
 * Frames are read-only: elements that write in place copy them. If downstream
 * takes `memory:VkgdrMemory`, the caps have this feature; otherwise they are
 * those of system memory, and mapping a frame transfers it to the CPU. A frame
 * goes back to the other process when its memory was freed and the device has
 * finished with it. A client may have #GstVkgdrIpcSink:max-buffers frames at a
 * time. If downstream keeps all but one of them, further frames are copied, and
 * go back at once; the first time, the element posts a warning.
 *
 * Segments and timestamps are those of the other pipeline; its running time is
 * shifted by the difference between the times at which the pipelines were
 * started. So a sink with `sync=true` shows the frames when they are due. The
 * latency is that of the other pipeline.
 *
 * If no vkgdripcsink serves the socket, the element waits for
 * #GstVkgdrIpcSrc:connection-timeout. When the vkgdripcsink stops, the stream
 * ends. When its process dies, the element posts an error. In both cases,
 * frames that were received can still be used. But after the vkgdripcsink has
 * stopped, its source may write to their memory again.
 *
 * The property `stats` has the fields `frames` and `frames-lost` (frames that
 * this element did not get, since its first one), both uint64.
 *
 * ## Example launch line
 * |[
 * gst-launch-1.0 vkgdripcsrc socket-path=/tmp/frames ! cudafilter kernel=sobel
 * ! vkgdrdownload ! autovideosink
 * ]|
 *
 * Since: 0.2
 */

#include <errno.h>
#include <string.h>

#include <gst/base/gstpushsrc.h>
#include <gst/vkgdr/vkgdr.h>

#include "gstvkgdrelements.h"
#include "ipc/buffer.h"
#include "ipc/copy.h"
#include "ipc/endpoint.h"
#include "ipc/format.h"
#include "ipc/tags.h"
#include "ipc/text.h"

GST_DEBUG_CATEGORY_STATIC (gst_vkgdr_ipc_src_debug);
#define GST_CAT_DEFAULT gst_vkgdr_ipc_src_debug

#define GST_TYPE_VKGDR_IPC_SRC (gst_vkgdr_ipc_src_get_type ())
G_DECLARE_FINAL_TYPE (
    GstVkgdrIpcSrc, gst_vkgdr_ipc_src, GST, VKGDR_IPC_SRC, GstPushSrc)

struct _GstVkgdrIpcSrc {
  GstPushSrc parent;

  GstVkgdrIpcEndpoint endpoint;

  /* Properties, protected by the object lock. */
  guint connection_timeout; /* seconds */
  guint busy_poll;          /* microseconds */

  /* Exist between start and stop. */
  GstVkgdrAllocator *allocator;
  /* The streaming thread waits with it. Set under the object lock: the
   * application may send a flush while the element starts or stops. */
  GstPoll *poll;
  GstPollFD poll_fd;
  gint is_unlocked; /* atomic: the streaming thread must not wait */

  /* Set by the streaming thread, and cleared by stop, under the object lock. */
  vkgdr_frames_t frames_in;

  /* Used by the streaming thread. */
  guint64 serials[VKGDR_FRAMES_N_STATES]; /* of what was applied */
  GstVkgdrIpcCopier *copier;              /* or NULL: nothing was copied yet */
  GstVideoInfo info;     /* of the caps; empty if they are not raw video */
  GstCaps *caps;         /* of the server, or NULL */
  gboolean needs_caps;   /* caps have to be pushed before the next frame */
  gboolean needs_offset; /* a segment arrived, but no frame after it */
  GstSegment segment;
  gboolean follows_clock; /* the timestamps come from a clock */

  /* Statistics, protected by the object lock. */
  guint64 frames;
  guint64 last_lost;    /* of the last connection */
  GstClockTime latency; /* of the server's pipeline */
};

enum {
  PROP_CONNECTION_TIMEOUT = GST_VKGDR_IPC_PROP_LAST,
  PROP_BUSY_POLL,
  PROP_STATS
};

/* In seconds. Long enough to start the other process by hand. */
#define DEFAULT_CONNECTION_TIMEOUT 5

/* Nanoseconds between the first two attempts to connect, and between later
 * ones. */
#define FIRST_PAUSE (10 * GST_MSECOND)
#define LAST_PAUSE GST_SECOND

/* The maximum delay of a live frame in nanoseconds, in addition to the latency.
 * On a busy machine, both processes may have to wait for a processor. */
#define LATENESS (250 * GST_MSECOND)

/* Nanoseconds. A live frame is not due later than this. */
#define EARLINESS (GST_SECOND * 60 * 60)

/* Nanoseconds. A frame that is due later than this after now is refused,
 * because a sink would wait for it. */
#define MAX_WAIT (GST_SECOND * 60 * 60 * 24 * 365)

/* Nanoseconds. A smaller change of the difference between the running times of
 * the pipelines is ignored, because conversions from clocks that are not
 * monotonic are not exact. */
#define MIN_CHANGE (10 * GST_MSECOND)

static GstStaticPadTemplate src_template = GST_STATIC_PAD_TEMPLATE (
    "src", GST_PAD_SRC, GST_PAD_ALWAYS, GST_STATIC_CAPS_ANY);

G_DEFINE_TYPE_WITH_CODE (GstVkgdrIpcSrc, gst_vkgdr_ipc_src, GST_TYPE_PUSH_SRC,
    GST_DEBUG_CATEGORY_INIT (
        gst_vkgdr_ipc_src_debug, "vkgdripcsrc", 0, "vkgdripcsrc"))
GST_ELEMENT_REGISTER_DEFINE (
    vkgdripcsrc, "vkgdripcsrc", GST_RANK_NONE, GST_TYPE_VKGDR_IPC_SRC)

#define parent_class gst_vkgdr_ipc_src_parent_class

/* --- what comes before a frame ------------------------------------------- */

/* Returns the server's caps with @feature; NULL stands for system memory. */
static GstCaps *
caps_in_memory (const GstCaps *caps, const gchar *feature)
{
  GstCaps *result = gst_caps_copy (caps);

  gst_caps_set_features_simple (
      result, feature ? gst_caps_features_new (feature, NULL)
                      : gst_caps_features_new_empty ());
  return result;
}

static gboolean
is_accepted (GstVkgdrIpcSrc *self, GstCaps *caps)
{
  GstCaps *accepted = gst_pad_peer_query_caps (GST_BASE_SRC_PAD (self), caps);
  gboolean yes = !gst_caps_is_empty (accepted);

  gst_caps_unref (accepted);
  return yes;
}

/* Downstream gets device memory if it accepts that. */
static gboolean
apply_caps (GstVkgdrIpcSrc *self, const GstCaps *caps)
{
  GstCaps *ours = caps_in_memory (caps, GST_CAPS_FEATURE_MEMORY_VKGDR_MEMORY);
  gboolean ok;

  if (!is_accepted (self, ours)) {
    gst_caps_unref (ours);
    ours = caps_in_memory (caps, NULL);
  }
  ok = gst_base_src_set_caps (GST_BASE_SRC (self), ours);
  gst_caps_unref (ours);
  return ok;
}

static gboolean
set_invalid (GError **error, const gchar *what)
{
  g_set_error (error, G_IO_ERROR, G_IO_ERROR_INVALID_DATA,
      "the server has sent %s that this client cannot use", what);
  return FALSE;
}

/* Returns the running time of @frame in the server's pipeline, or
 * GST_CLOCK_TIME_NONE. */
static GstClockTime
get_running_time (GstVkgdrIpcSrc *self, const vkgdr_frame_info *frame)
{
  if (self->segment.format != GST_FORMAT_TIME)
    return GST_CLOCK_TIME_NONE;
  return gst_segment_to_running_time (
      &self->segment, GST_FORMAT_TIME, frame->pts);
}

/* Returns a + b, or the nearest number: a server may send any times. */
static GstClockTimeDiff
add_times (GstClockTimeDiff a, GstClockTimeDiff b)
{
  GstClockTimeDiff sum;

  if (!__builtin_add_overflow (a, b, &sum))
    return MAX (sum, -G_MAXINT64);
  return b < 0 ? -G_MAXINT64 : G_MAXINT64;
}

/* Sets @shift to the running time of this pipeline when that of the server's
 * pipeline is 0. Returns FALSE if it is not known. */
static gboolean
get_clock_shift (GstVkgdrIpcSrc *self, const vkgdr_frame_info *frame,
    GstClockTime running_time, GstClockTimeDiff *shift)
{
  GstClock *clock = gst_element_get_clock (GST_ELEMENT (self));
  gboolean is_known =
      clock && frame->time >= 0 && GST_CLOCK_TIME_IS_VALID (running_time);

  if (is_known)
    *shift = add_times (frame->time - (GstClockTimeDiff) running_time,
        -gst_vkgdr_ipc_monotonic (
            clock, gst_element_get_base_time (GST_ELEMENT (self))));
  gst_clear_object (&clock);
  return is_known;
}

/* gst_base_src_set_format () must be called before the element starts, but the
 * format is not known then. */
static void
set_format (GstVkgdrIpcSrc *self, GstFormat format)
{
  GstBaseSrc *src = GST_BASE_SRC (self);

  GST_OBJECT_LOCK (self);
  if (src->segment.format != format)
    gst_segment_init (&src->segment, format);
  GST_OBJECT_UNLOCK (self);
}

/* Returns the shift from running times of the server's pipeline to those of
 * this pipeline. @running_time is that of @frame in the server's pipeline. A
 * live frame arrives one latency after its time. So the times of the first ones
 * may be before this pipeline's start; a sink drops them. If a time is still
 * earlier, or much later, it does not come from a clock. Then the shift makes
 * this stream begin with @frame. */
static GstClockTimeDiff
get_shift (GstVkgdrIpcSrc *self, const vkgdr_frame_info *frame,
    GstClockTime running_time)
{
  GstClockTimeDiff shift = 0, age;
  GstClockTimeDiff limit = self->latency > 0 ? self->latency + LATENESS : 0;
  GstClockTimeDiff early =
      frame->time - (GstClockTimeDiff) gst_util_get_timestamp ();

  get_clock_shift (self, frame, running_time, &shift);
  age = -add_times ((GstClockTimeDiff) running_time, shift);
  self->follows_clock =
      age <= limit
      && (frame->time >= 0 ? early <= EARLINESS : -age <= EARLINESS);
  return self->follows_clock ? shift : -(GstClockTimeDiff) running_time;
}

/* Follows a changed base time. A pipeline gets another base time when it plays
 * again after a pause, and not always a new segment. */
static void
follow_bases (GstVkgdrIpcSrc *self, const vkgdr_frame_info *frame)
{
  GstPad *pad = GST_BASE_SRC_PAD (self);
  GstClockTimeDiff shift;

  if (self->follows_clock
      && get_clock_shift (self, frame, get_running_time (self, frame), &shift)
      && ABS (add_times (shift, -gst_pad_get_offset (pad))) >= MIN_CHANGE)
    gst_pad_set_offset (pad, shift);
}

static void
apply_segment (GstVkgdrIpcSrc *self, const vkgdr_frame_info *frame)
{
  GstClockTime running_time = get_running_time (self, frame);

  self->follows_clock = FALSE;
  if (self->segment.format == GST_FORMAT_TIME)
    gst_pad_set_offset (GST_BASE_SRC_PAD (self),
        get_shift (self, frame,
            GST_CLOCK_TIME_IS_VALID (running_time) ? running_time : 0));
  set_format (self, self->segment.format);
  gst_base_src_new_segment (GST_BASE_SRC (self), &self->segment);
  self->needs_offset = FALSE;
}

/* Whether the frame's running time is a number that can be added to others. */
static gboolean
check_running_time (
    GstVkgdrIpcSrc *self, const vkgdr_frame_info *frame, GError **error)
{
  const GstSegment *segment = &self->segment;

  return segment->format != GST_FORMAT_TIME
         || !GST_CLOCK_TIME_IS_VALID (frame->pts)
         || (gdouble) frame->pts / segment->rate + (gdouble) segment->base
                < (gdouble) G_MAXINT64
         || set_invalid (error, "a timestamp");
}

/* Whether a sink behind this element may wait for the frame: it is not due
 * years later. The times of a stream that does not follow a clock begin at 0.
 */
static gboolean
check_wait (GstVkgdrIpcSrc *self, const vkgdr_frame_info *frame, GError **error)
{
  GstClockTime running_time = get_running_time (self, frame);
  GstClockTimeDiff shift = gst_pad_get_offset (GST_BASE_SRC_PAD (self));

  return !GST_CLOCK_TIME_IS_VALID (running_time)
         || add_times ((GstClockTimeDiff) running_time, shift)
                < (GstClockTimeDiff) MAX_WAIT
         || set_invalid (error, "a timestamp that is years ahead");
}

static gboolean
is_flushing (GstVkgdrIpcSrc *self)
{
  GstPad *pad = GST_BASE_SRC_PAD (self);
  gboolean yes;

  GST_OBJECT_LOCK (pad);
  yes = GST_PAD_IS_FLUSHING (pad);
  GST_OBJECT_UNLOCK (pad);
  return yes;
}

/* Pushes the server's caps, if they have changed, or if downstream has changed.
 * If the pad is flushing, the caps are pushed before the next frame. The server
 * does not send them again. */
static GstFlowReturn
push_caps (GstVkgdrIpcSrc *self)
{
  gboolean ok = TRUE;

  /* Another element may have been linked while this one waited for a frame. */
  if (gst_pad_check_reconfigure (GST_BASE_SRC_PAD (self)))
    self->needs_caps = TRUE;
  if (self->caps && self->needs_caps)
    ok = apply_caps (self, self->caps);
  if (!ok && is_flushing (self))
    return GST_FLOW_FLUSHING;
  self->needs_caps = FALSE;
  return ok ? GST_FLOW_OK : GST_FLOW_NOT_NEGOTIATED;
}

/* Returns the new value of a state of the server, or NULL if it is the one that
 * was applied. */
static const void *
get_change (GstVkgdrIpcSrc *self, vkgdr_frames_state state, size_t *size)
{
  guint64 serial;
  const void *data =
      vkgdr_frames_get_state (self->frames_in, state, size, &serial);

  if (!data || serial == self->serials[state])
    return NULL;
  self->serials[state] = serial;
  return data;
}

/* Whether numbers that elements divide by, or make memory of, are positive. */
static gboolean
has_valid_numbers (const GstStructure *structure)
{
  static const gchar *const names[] = { "width", "height", "rate", "channels" };
  gint number, denominator;
  guint i;

  for (i = 0; i < G_N_ELEMENTS (names); i++)
    if (gst_structure_get_int (structure, names[i], &number) && number <= 0)
      return FALSE;
  if (gst_structure_get_fraction (structure, "framerate", &number, &denominator)
      && number < 0)
    return FALSE;
  return !gst_structure_get_fraction (
             structure, "pixel-aspect-ratio", &number, &denominator)
         || number > 0;
}

/* Whether the caps are of frames in this format (nullable). Raw video needs a
 * format. */
static gboolean
are_valid_caps (
    GstVkgdrIpcSrc *self, const GstCaps *caps, const vkgdr_frame_format *format)
{
  const GstStructure *structure;

  if (!caps || !gst_caps_is_fixed (caps))
    return FALSE;
  structure = gst_caps_get_structure (caps, 0);
  if (!gst_vkgdr_caps_get_video_info (caps, &self->info))
    gst_video_info_init (&self->info);
  return has_valid_numbers (structure)
         && gst_structure_has_name (structure, "video/x-raw")
                == (format != NULL)
         && gst_vkgdr_ipc_format_agrees (format, &self->info);
}

/* Takes ownership of @caps (nullable). */
static gboolean
set_caps (GstVkgdrIpcSrc *self, GstCaps *caps, const vkgdr_frame_format *format,
    GError **error)
{
  if (!are_valid_caps (self, caps, format)) {
    gst_clear_caps (&caps);
    return set_invalid (error, "caps");
  }
  gst_caps_take (&self->caps, caps);
  self->needs_caps = TRUE;
  return TRUE;
}

/* A server without GStreamer sends a format, and no caps. */
static gboolean
read_caps (GstVkgdrIpcSrc *self, GError **error)
{
  size_t text_size = 0, format_size = 0;
  gboolean has_text = get_change (self, VKGDR_FRAMES_CAPS, &text_size) != NULL;
  gboolean has_format =
      get_change (self, VKGDR_FRAMES_FORMAT, &format_size) != NULL;
  const gchar *text = vkgdr_frames_get_state (
      self->frames_in, VKGDR_FRAMES_CAPS, &text_size, NULL);
  const vkgdr_frame_format *format = vkgdr_frames_get_state (
      self->frames_in, VKGDR_FRAMES_FORMAT, &format_size, NULL);
  GstCaps *caps = NULL;

  if (format_size == 0)
    format = NULL;
  if ((!has_text && !has_format) || (text_size == 0 && !format))
    return TRUE;
  if (text_size == 0)
    caps = gst_vkgdr_ipc_format_to_caps (format);
  else if (gst_vkgdr_ipc_text_is_safe (text, text_size))
    caps = gst_caps_from_string (text);
  return set_caps (self, caps, format, error);
}

static gboolean
read_latency (GstVkgdrIpcSrc *self, GError **error)
{
  size_t size = 0;
  const void *data = get_change (self, VKGDR_FRAMES_LATENCY, &size);
  guint64 latency = 0;

  if (!data)
    return TRUE;
  if (size == sizeof (latency))
    memcpy (&latency, data, size);
  latency = GUINT64_FROM_LE (latency);
  if ((size > 0 && size != sizeof (latency)) || latency > MAX_WAIT)
    return set_invalid (error, "a latency");
  GST_OBJECT_LOCK (self);
  self->latency = latency;
  GST_OBJECT_UNLOCK (self);
  gst_element_post_message (
      GST_ELEMENT (self), gst_message_new_latency (GST_OBJECT (self)));
  return TRUE;
}

static gboolean
read_segment (GstVkgdrIpcSrc *self, GError **error)
{
  size_t size = 0;
  const void *data = get_change (self, VKGDR_FRAMES_SEGMENT, &size);

  if (!data || size == 0)
    return TRUE;
  self->needs_offset = TRUE;
  return gst_vkgdr_ipc_segment_read (data, size, &self->segment)
         || set_invalid (error, "a segment");
}

/* Calls the base class, which pushes the tags after the segment:
 * gst_element_send_event () also takes the element's state lock, but a state
 * change holds this lock while it may wait for the calling thread. */
static gboolean
read_tags (GstVkgdrIpcSrc *self, GstTagScope scope, GError **error)
{
  size_t size = 0;
  const void *data = get_change (self,
      scope == GST_TAG_SCOPE_GLOBAL ? VKGDR_FRAMES_GLOBAL_TAGS
                                    : VKGDR_FRAMES_STREAM_TAGS,
      &size);
  GstTagList *tags;

  if (!data)
    return TRUE;
  tags = gst_vkgdr_ipc_tags_read (data, size, scope);
  if (!tags)
    return set_invalid (error, "tags");
  GST_ELEMENT_CLASS (parent_class)
      ->send_event (GST_ELEMENT (self), gst_event_new_tag (tags));
  return TRUE;
}

/* Applies what changed before @frame (nullable). A segment needs a frame:
 * without one, it is applied later. */
static GstFlowReturn
apply_changes (
    GstVkgdrIpcSrc *self, const vkgdr_frame_info *frame, GError **error)
{
  GstFlowReturn flow;

  if (!read_caps (self, error) || !read_segment (self, error)
      || !read_latency (self, error))
    return GST_FLOW_ERROR;
  flow = push_caps (self);
  if (frame) {
    if (!check_running_time (self, frame, error))
      return GST_FLOW_ERROR;
    follow_bases (self, frame);
    if (self->needs_offset)
      apply_segment (self, frame);
    if (!check_wait (self, frame, error))
      return GST_FLOW_ERROR;
  }
  if (!read_tags (self, GST_TAG_SCOPE_STREAM, error)
      || !read_tags (self, GST_TAG_SCOPE_GLOBAL, error))
    return GST_FLOW_ERROR;
  return flow;
}

/* --- the stream ---------------------------------------------------------- */

/* Tries to connect once. Returns NULL with errno and the last error of libvkgdr
 * set on failure. */
static vkgdr_frames_t
try_connect (GstVkgdrIpcSrc *self)
{
  vkgdr_frames_params params = { .timeout = 0 };
  gchar *path = gst_vkgdr_ipc_endpoint_get_address (
      &self->endpoint, &params.allowed_peers);
  vkgdr_frames_t frames;
  int number;

  params.path = path;
  gst_vkgdr_ipc_set_import (&params, self->allocator);
  frames = vkgdr_frames_connect (&params);
  number = errno;
  g_free (path);
  errno = number;
  return frames;
}

static gint64
get_deadline (GstVkgdrIpcSrc *self)
{
  guint seconds;

  GST_OBJECT_LOCK (self);
  seconds = self->connection_timeout;
  GST_OBJECT_UNLOCK (self);
  return seconds == 0 ? G_MAXINT64
                      : g_get_monotonic_time () + seconds * G_TIME_SPAN_SECOND;
}

/* Waits, or until there is a message. Returns FALSE if the wait was
 * cancelled. */
static gboolean
pause_until (GstVkgdrIpcSrc *self, GstClockTime pause, gint64 deadline)
{
  gint64 left = (deadline - g_get_monotonic_time ()) * 1000;

  if (deadline != G_MAXINT64)
    pause = MIN (pause, (GstClockTime) MAX (left, 0));
  return gst_poll_wait (self->poll, pause) >= 0 || errno != EBUSY;
}

static void
set_frames (GstVkgdrIpcSrc *self, vkgdr_frames_t frames)
{
  self->poll_fd.fd = vkgdr_frames_get_fd (frames);
  gst_poll_add_fd (self->poll, &self->poll_fd);
  gst_poll_fd_ctl_read (self->poll, &self->poll_fd, TRUE);
  GST_OBJECT_LOCK (self);
  self->frames_in = frames;
  GST_OBJECT_UNLOCK (self);
}

/* Connects, and waits until the server has answered. Returns FALSE with errno
 * set, to EBUSY if the wait was cancelled. The pauses between attempts grow. */
static gboolean
connect_until (GstVkgdrIpcSrc *self, gint64 deadline)
{
  GstClockTime pause = FIRST_PAUSE;
  vkgdr_frames_t frames;

  while (!self->frames_in) {
    frames = try_connect (self);
    if (frames) {
      set_frames (self, frames);
      break;
    }
    if (errno != ENOENT || g_get_monotonic_time () >= deadline)
      return FALSE;
    if (!pause_until (self, pause, deadline)) {
      errno = EBUSY;
      return FALSE;
    }
    pause = MIN (pause * 2, LAST_PAUSE);
  }
  while (!vkgdr_frames_wait_accepted (self->frames_in, 0)) {
    if (errno != ETIMEDOUT || g_get_monotonic_time () >= deadline)
      return FALSE;
    if (!pause_until (self, LAST_PAUSE, deadline)) {
      errno = EBUSY;
      return FALSE;
    }
  }
  return TRUE;
}

/* Returns FALSE with @error set on failure, and FALSE without an error if the
 * wait was cancelled. */
static gboolean
ensure_frames (GstVkgdrIpcSrc *self, GError **error)
{
  gboolean is_late;

  if (connect_until (self, get_deadline (self)))
    return TRUE;
  if (errno == EBUSY)
    return FALSE;
  is_late = errno == ENOENT || errno == ETIMEDOUT;
  gst_vkgdr_ipc_take_error (
      error, is_late ? G_IO_ERROR_NOT_FOUND : G_IO_ERROR_FAILED);
  if (is_late)
    g_prefix_error (error, "After the connection-timeout, ");
  return FALSE;
}

/* Waits for a message. During the time of busy-poll, returns TRUE at once: the
 * caller polls the socket. Returns FALSE if the wait was cancelled. */
static gboolean
wait_for_message (GstVkgdrIpcSrc *self, gint64 start)
{
  guint busy_poll;

  if (g_atomic_int_get (&self->is_unlocked))
    return FALSE;
  GST_OBJECT_LOCK (self);
  busy_poll = self->busy_poll;
  GST_OBJECT_UNLOCK (self);
  if (busy_poll > 0 && g_get_monotonic_time () - start < busy_poll)
    return TRUE;
  return gst_poll_wait (self->poll, GST_CLOCK_TIME_NONE) >= 0 || errno != EBUSY;
}

/* Returns VKGDR_FRAMES_TIMEOUT if the wait was cancelled. */
static vkgdr_frames_status
receive (GstVkgdrIpcSrc *self, vkgdr_frame_t *frame)
{
  gint64 start = g_get_monotonic_time ();
  vkgdr_frames_status status;

  do {
    status = vkgdr_frames_receive (self->frames_in, 0, frame);
  } while (status == VKGDR_FRAMES_TIMEOUT && wait_for_message (self, start));
  return status;
}

/* Replaces @buffer by a copy, so that its frame goes back to the server. If
 * that fails, the buffer can still be used. */
static void
copy (GstVkgdrIpcSrc *self, GstBuffer **buffer)
{
  GstBuffer *result = NULL;
  GError *error = NULL;

  if (!self->copier) {
    GST_ELEMENT_WARNING (self, RESOURCE, SETTINGS,
        ("Downstream keeps nearly all frames that the server can give to a "
         "client. Further ones are copied: set a larger max-buffers of "
         "vkgdripcsink."),
        (NULL));
    self->copier = gst_vkgdr_ipc_copier_new (
        gst_vkgdr_ipc_endpoint_get_context (&self->endpoint), FALSE, &error);
  }
  if (self->copier)
    result = gst_vkgdr_ipc_copier_copy (self->copier, *buffer, *buffer, &error);
  if (result) {
    gst_buffer_unref (*buffer);
    *buffer = result;
  } else {
    GST_WARNING_OBJECT (self, "a frame is not copied: %s", error->message);
    g_error_free (error);
  }
}

/* Takes ownership of @frame. If it is the last one that the server can give, it
 * is copied: downstream may keep all frames for longer. */
static GstFlowReturn
take_frame (GstVkgdrIpcSrc *self, vkgdr_frame_t frame, GstBuffer **buffer,
    GError **error)
{
  gboolean is_last = vkgdr_frames_get_room (self->frames_in) == 0;
  vkgdr_frame_info info = *vkgdr_frame_get_info (frame);
  GstFlowReturn flow = apply_changes (self, &info, error);

  if (flow != GST_FLOW_OK) {
    vkgdr_frame_release (frame);
    return flow;
  }
  *buffer = gst_vkgdr_ipc_buffer_new (frame, &self->info, error);
  if (!*buffer)
    return GST_FLOW_ERROR;
  if (is_last)
    copy (self, buffer);
  GST_OBJECT_LOCK (self);
  self->frames++;
  GST_OBJECT_UNLOCK (self);
  return GST_FLOW_OK;
}

static GstFlowReturn
post_error (GstVkgdrIpcSrc *self, GError *error)
{
  if (g_error_matches (error, G_IO_ERROR, G_IO_ERROR_NOT_FOUND))
    GST_ELEMENT_ERROR (
        self, RESOURCE, NOT_FOUND, ("%s", error->message), (NULL));
  else
    GST_ELEMENT_ERROR (self, RESOURCE, READ, ("%s", error->message), (NULL));
  g_error_free (error);
  return GST_FLOW_ERROR;
}

static GstFlowReturn
gst_vkgdr_ipc_src_create (GstPushSrc *push, GstBuffer **buffer)
{
  GstVkgdrIpcSrc *self = GST_VKGDR_IPC_SRC (push);
  GstFlowReturn flow = GST_FLOW_FLUSHING;
  vkgdr_frame_t frame = NULL;
  GError *error = NULL;

  if (!ensure_frames (self, &error))
    return error ? post_error (self, error) : GST_FLOW_FLUSHING;
  switch (receive (self, &frame)) {
  case VKGDR_FRAMES_FRAME:
    flow = take_frame (self, frame, buffer, &error);
    break;
  case VKGDR_FRAMES_EOS:
  case VKGDR_FRAMES_BYE:
    flow = apply_changes (self, NULL, &error);
    if (!error)
      flow = GST_FLOW_EOS;
    break;
  case VKGDR_FRAMES_TIMEOUT:
    break;
  default:
    gst_vkgdr_ipc_take_error (&error, G_IO_ERROR_FAILED);
  }
  return error ? post_error (self, error) : flow;
}

static void
set_unlocked (GstVkgdrIpcSrc *self, gboolean is_unlocked)
{
  g_atomic_int_set (&self->is_unlocked, is_unlocked);
  GST_OBJECT_LOCK (self);
  if (self->poll)
    gst_poll_set_flushing (self->poll, is_unlocked);
  GST_OBJECT_UNLOCK (self);
}

static gboolean
gst_vkgdr_ipc_src_unlock (GstBaseSrc *src)
{
  set_unlocked (GST_VKGDR_IPC_SRC (src), TRUE);
  return TRUE;
}

static gboolean
gst_vkgdr_ipc_src_unlock_stop (GstBaseSrc *src)
{
  set_unlocked (GST_VKGDR_IPC_SRC (src), FALSE);
  return TRUE;
}

/* --- queries ------------------------------------------------------------- */

/* The server sends a frame when it is due in its own pipeline. So the latency
 * is that of the other pipeline. */
static gboolean
answer_latency (GstVkgdrIpcSrc *self, GstQuery *query)
{
  GstClockTime latency;

  GST_OBJECT_LOCK (self);
  latency = self->latency;
  GST_OBJECT_UNLOCK (self);
  gst_query_set_latency (query, TRUE, latency, GST_CLOCK_TIME_NONE);
  return TRUE;
}

static gboolean
gst_vkgdr_ipc_src_query (GstBaseSrc *src, GstQuery *query)
{
  GstVkgdrIpcSrc *self = GST_VKGDR_IPC_SRC (src);

  if (GST_QUERY_TYPE (query) == GST_QUERY_LATENCY)
    return answer_latency (self, query);
  return gst_vkgdr_ipc_endpoint_handle_query (&self->endpoint, query)
         || GST_BASE_SRC_CLASS (parent_class)->query (src, query);
}

/* Called when downstream has changed. */
static gboolean
gst_vkgdr_ipc_src_negotiate (GstBaseSrc *src)
{
  GST_VKGDR_IPC_SRC (src)->needs_caps = TRUE;
  return TRUE;
}

/* Removes the pools of downstream, which the base class would activate: the
 * memory is the server's, so nothing has to be allocated. */
static gboolean
gst_vkgdr_ipc_src_decide_allocation (GstBaseSrc *src, GstQuery *query)
{
  while (gst_query_get_n_allocation_pools (query) > 0)
    gst_query_remove_nth_allocation_pool (query, 0);
  return TRUE;
}

static void
gst_vkgdr_ipc_src_set_context (GstElement *element, GstContext *context)
{
  gst_vkgdr_ipc_endpoint_handle_context (
      &GST_VKGDR_IPC_SRC (element)->endpoint, context);
  GST_ELEMENT_CLASS (parent_class)->set_context (element, context);
}

/* --- start and stop ------------------------------------------------------ */

static void
drop_frames (GstVkgdrIpcSrc *self)
{
  vkgdr_frames_t frames;

  GST_OBJECT_LOCK (self);
  frames = g_steal_pointer (&self->frames_in);
  if (frames)
    self->last_lost = vkgdr_frames_get_lost (frames);
  GST_OBJECT_UNLOCK (self);
  vkgdr_frames_close (frames);
}

static gboolean
gst_vkgdr_ipc_src_stop (GstBaseSrc *src)
{
  GstVkgdrIpcSrc *self = GST_VKGDR_IPC_SRC (src);
  GstPoll *poll;

  drop_frames (self);
  g_clear_pointer (&self->copier, gst_vkgdr_ipc_copier_free);
  gst_clear_caps (&self->caps);
  GST_OBJECT_LOCK (self);
  poll = g_steal_pointer (&self->poll);
  GST_OBJECT_UNLOCK (self);
  g_clear_pointer (&poll, gst_poll_free);
  gst_clear_object (&self->allocator);
  gst_vkgdr_ipc_endpoint_close (&self->endpoint);
  gst_pad_set_offset (GST_BASE_SRC_PAD (self), 0);
  return TRUE;
}

static void
reset (GstVkgdrIpcSrc *self)
{
  gst_segment_init (&self->segment, GST_FORMAT_TIME);
  gst_video_info_init (&self->info);
  memset (self->serials, 0, sizeof (self->serials));
  self->needs_caps = FALSE;
  /* A server that sends no segment has the one above. */
  self->needs_offset = TRUE;
  self->follows_clock = FALSE;
  g_atomic_int_set (&self->is_unlocked, FALSE);
  GST_OBJECT_LOCK (self);
  self->frames = self->last_lost = 0;
  self->latency = 0;
  GST_OBJECT_UNLOCK (self);
}

static gboolean
gst_vkgdr_ipc_src_start (GstBaseSrc *src)
{
  GstVkgdrIpcSrc *self = GST_VKGDR_IPC_SRC (src);
  GstPoll *poll;

  if (!gst_vkgdr_ipc_endpoint_open (&self->endpoint))
    return FALSE;
  reset (self);
  self->allocator = gst_vkgdr_context_get_allocator (
      gst_vkgdr_ipc_endpoint_get_context (&self->endpoint));
  poll = gst_poll_new (TRUE);
  gst_poll_fd_init (&self->poll_fd);
  GST_OBJECT_LOCK (self);
  self->poll = poll;
  GST_OBJECT_UNLOCK (self);
  if (poll)
    return TRUE;
  GST_ELEMENT_ERROR (self, RESOURCE, TOO_LAZY,
      ("The process has reached its limit of open files: raise the limit "
       "(ulimit -n)."),
      (NULL));
  gst_vkgdr_ipc_src_stop (src);
  return FALSE;
}

/* --- properties ---------------------------------------------------------- */

static GstStructure *
get_stats (GstVkgdrIpcSrc *self)
{
  GstStructure *stats;
  guint64 lost;

  GST_OBJECT_LOCK (self);
  lost = self->frames_in ? vkgdr_frames_get_lost (self->frames_in)
                         : self->last_lost;
  stats = gst_structure_new ("stats", "frames", G_TYPE_UINT64, self->frames,
      "frames-lost", G_TYPE_UINT64, lost, NULL);
  GST_OBJECT_UNLOCK (self);
  return stats;
}

static void
gst_vkgdr_ipc_src_set_property (
    GObject *object, guint id, const GValue *value, GParamSpec *pspec)
{
  GstVkgdrIpcSrc *self = GST_VKGDR_IPC_SRC (object);

  if (gst_vkgdr_ipc_endpoint_set (&self->endpoint, id, value))
    return;
  GST_OBJECT_LOCK (self);
  switch (id) {
  case PROP_CONNECTION_TIMEOUT:
    self->connection_timeout = g_value_get_uint (value);
    break;
  case PROP_BUSY_POLL:
    self->busy_poll = g_value_get_uint (value);
    break;
  default:
    G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, pspec);
  }
  GST_OBJECT_UNLOCK (self);
}

static void
gst_vkgdr_ipc_src_get_property (
    GObject *object, guint id, GValue *value, GParamSpec *pspec)
{
  GstVkgdrIpcSrc *self = GST_VKGDR_IPC_SRC (object);

  if (gst_vkgdr_ipc_endpoint_get (&self->endpoint, id, value))
    return;
  if (id == PROP_STATS) {
    g_value_take_boxed (value, get_stats (self));
    return;
  }
  GST_OBJECT_LOCK (self);
  switch (id) {
  case PROP_CONNECTION_TIMEOUT:
    g_value_set_uint (value, self->connection_timeout);
    break;
  case PROP_BUSY_POLL:
    g_value_set_uint (value, self->busy_poll);
    break;
  default:
    G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, pspec);
  }
  GST_OBJECT_UNLOCK (self);
}

static void
gst_vkgdr_ipc_src_finalize (GObject *object)
{
  gst_vkgdr_ipc_endpoint_finalize (&GST_VKGDR_IPC_SRC (object)->endpoint);
  G_OBJECT_CLASS (parent_class)->finalize (object);
}

static void
install_properties (GObjectClass *klass)
{
  /**
   * GstVkgdrIpcSrc:socket-path:
   *
   * The #GstVkgdrIpcSink:socket-path of the other process.
   *
   * Since: 0.2
   */
  /**
   * GstVkgdrIpcSrc:allowed-peers:
   *
   * Which processes may be the server.
   *
   * Since: 0.2
   */
  gst_vkgdr_ipc_endpoint_install (klass,
      "Path of the Unix socket that vkgdripcsink serves",
      "Which processes may be the server");
  /**
   * GstVkgdrIpcSrc:connection-timeout:
   *
   * Seconds to wait for a server if there is none at first.
   *
   * Since: 0.2
   */
  g_object_class_install_property (klass, PROP_CONNECTION_TIMEOUT,
      g_param_spec_uint ("connection-timeout", "Connection timeout",
          "Seconds to wait for a server (0 = for ever)", 0, G_MAXINT,
          DEFAULT_CONNECTION_TIMEOUT, GST_VKGDR_IPC_PROP_FLAGS));
  /**
   * GstVkgdrIpcSrc:busy-poll:
   *
   * The streaming thread polls the socket for this number of microseconds
   * before it sleeps. The kernel needs 20 to 400 microseconds to wake a thread,
   * depending on the machine; a thread that polls gets the frame at once, but
   * needs a processor. To poll all the time, set more than the interval between
   * two frames.
   *
   * Since: 0.2
   */
  g_object_class_install_property (klass, PROP_BUSY_POLL,
      g_param_spec_uint ("busy-poll", "Busy poll",
          "Microseconds for which the thread polls the socket before it sleeps "
          "(0 = it sleeps at once)",
          0, G_MAXINT, 0,
          G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS
              | GST_PARAM_MUTABLE_PLAYING));
  g_object_class_install_property (klass, PROP_STATS,
      g_param_spec_boxed ("stats", "Statistics",
          "What the element did since it was started", GST_TYPE_STRUCTURE,
          G_PARAM_READABLE | G_PARAM_STATIC_STRINGS));
}

static void
gst_vkgdr_ipc_src_class_init (GstVkgdrIpcSrcClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);
  GstElementClass *element_class = GST_ELEMENT_CLASS (klass);
  GstBaseSrcClass *src_class = GST_BASE_SRC_CLASS (klass);

  object_class->set_property = gst_vkgdr_ipc_src_set_property;
  object_class->get_property = gst_vkgdr_ipc_src_get_property;
  object_class->finalize = gst_vkgdr_ipc_src_finalize;
  install_properties (object_class);

  element_class->set_context = gst_vkgdr_ipc_src_set_context;
  src_class->start = GST_DEBUG_FUNCPTR (gst_vkgdr_ipc_src_start);
  src_class->stop = GST_DEBUG_FUNCPTR (gst_vkgdr_ipc_src_stop);
  src_class->unlock = GST_DEBUG_FUNCPTR (gst_vkgdr_ipc_src_unlock);
  src_class->unlock_stop = GST_DEBUG_FUNCPTR (gst_vkgdr_ipc_src_unlock_stop);
  src_class->query = GST_DEBUG_FUNCPTR (gst_vkgdr_ipc_src_query);
  src_class->negotiate = GST_DEBUG_FUNCPTR (gst_vkgdr_ipc_src_negotiate);
  src_class->decide_allocation =
      GST_DEBUG_FUNCPTR (gst_vkgdr_ipc_src_decide_allocation);
  GST_PUSH_SRC_CLASS (klass)->create =
      GST_DEBUG_FUNCPTR (gst_vkgdr_ipc_src_create);

  gst_element_class_add_static_pad_template (element_class, &src_template);
  gst_element_class_set_static_metadata (element_class,
      "GPU memory of another process", "Source/Video",
      "Gives the frames of a server in another process, without a copy",
      "gst-vkgdr developers");
}

static void
gst_vkgdr_ipc_src_init (GstVkgdrIpcSrc *self)
{
  gst_vkgdr_ipc_endpoint_init (&self->endpoint, GST_ELEMENT (self));
  self->connection_timeout = DEFAULT_CONNECTION_TIMEOUT;
  gst_base_src_set_live (GST_BASE_SRC (self), TRUE);
  gst_base_src_set_format (GST_BASE_SRC (self), GST_FORMAT_TIME);
  /* The server says when the stream ends. At the end of a segment, another one
   * may follow. */
  gst_base_src_set_automatic_eos (GST_BASE_SRC (self), FALSE);
}
