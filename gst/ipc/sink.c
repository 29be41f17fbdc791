/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * ipc/sink.c: the element vkgdripcsink
 *
 * Knows buffers, events and properties; the server of libvkgdr knows clients.
 */

/**
 * SECTION:element-vkgdripcsink
 * @title: vkgdripcsink
 * @see_also: vkgdripcsrc, vkgdrupload
 *
 * Gives frames in GPU memory to other processes, also in other containers,
 * without a copy. It serves a Unix socket. Its clients, up to 256 vkgdripcsrc
 * and programs that use vkgdr/frames.h, can connect and disconnect at any time.
 *
 * Upstream is offered a pool of memory that other processes can import. All
 * clients read the memory that the source writes, so no vkgdrupload is needed.
 * Frames in other memory (less than 1 MiB outside a pool, memory of a decoder,
 * system memory of another element) are copied once, on the device if that is
 * possible.
 *
 * A frame is sent when it is written, and its buffer goes back to its pool when
 * all clients have used it or are gone. The streaming thread waits for neither.
 * A client that is slow or stopped soon has #GstVkgdrIpcSink:max-buffers
 * frames. Then #GstVkgdrIpcSink:leaky determines whether it loses frames or the
 * source waits. Other clients are only affected if the source waits.
 *
 * Caps, segments, tags, EOS, timestamps, flags, and metas that can be
 * serialised go to the clients, too. A client that connects later gets the
 * caps, the segment, the tags and the next frame, or EOS. A flush drops the
 * frames that were not sent yet; the next frame has the flag DISCONT.
 *
 * The property `stats` has the fields `frames` (received), `frames-copied`,
 * `bytes-copied`, and `frames-sent` and `frames-lost` (of all clients
 * together), all uint64.
 *
 * The socket can be used by processes of the same user alone, unless
 * #GstVkgdrIpcSink:allowed-peers says otherwise. A client can read all memory
 * of the pool of its frames, and could write to it.
 *
 * ## Example launch lines
 * |[
 * gst-launch-1.0 videotestsrc ! vkgdripcsink socket-path=/tmp/frames
 * gst-launch-1.0 vkgdripcsrc socket-path=/tmp/frames ! cudafilter kernel=sobel
 * ! vkgdrdownload ! autovideosink
 * ]|
 *
 * Since: 0.2
 */

#include <gio/gio.h>
#include <gst/base/gstbasesink.h>
#include <gst/vkgdr/vkgdr.h>
#include <string.h>

#include "frame-wire.h"
#include "gstvkgdrelements.h"
#include "ipc/copy.h"
#include "ipc/endpoint.h"
#include "ipc/frame.h"
#include "ipc/tags.h"
#include "ipc/text.h"

GST_DEBUG_CATEGORY_STATIC (gst_vkgdr_ipc_sink_debug);
#define GST_CAT_DEFAULT gst_vkgdr_ipc_sink_debug

#define GST_TYPE_VKGDR_IPC_SINK (gst_vkgdr_ipc_sink_get_type ())
G_DECLARE_FINAL_TYPE (
    GstVkgdrIpcSink, gst_vkgdr_ipc_sink, GST, VKGDR_IPC_SINK, GstBaseSink)

/* The number of scopes of tags, which are indices of arrays. */
#define N_SCOPES (GST_TAG_SCOPE_GLOBAL + 1)

/* What happens to a frame if a client has max_buffers frames. The values are
 * those of the property `leaky` of GStreamer's queue. */
typedef enum { LEAKY_NO = 0, LEAKY_DOWNSTREAM = 2 } Leaky;

struct _GstVkgdrIpcSink {
  GstBaseSink parent;

  GstVkgdrIpcEndpoint endpoint;

  /* Properties, protected by the object lock. */
  Leaky leaky;
  guint max_buffers;
  gboolean wait_for_connection;
  GstVkgdrAccess access;

  /* Exist between start and stop. The server is protected by the object lock;
   * see ref_server (). */
  vkgdr_server *server;
  GstVkgdrIpcCopier *copier;
  /* All tags of the stream, for each scope. NULL before the first ones. */
  GstTagList *tags[N_SCOPES];
  GstVideoInfo info;    /* of the caps; empty if they are not raw video */
  GstClockTime latency; /* that was sent */
  guint n_new; /* frames in a row in memory that was not exported before */

  /* Statistics, protected by the object lock. */
  guint64 frames;
  guint64 frames_copied;
  guint64 bytes_copied;
  vkgdr_server_figures last_figures; /* of the last server */
};

enum {
  PROP_LEAKY = GST_VKGDR_IPC_PROP_LAST,
  PROP_MAX_BUFFERS,
  PROP_WAIT_FOR_CONNECTION,
  PROP_ACCESS,
  PROP_NUM_CLIENTS,
  PROP_STATS
};

/* The default number of frames that a client may have. It is enough for one
 * frame that is displayed, one that is processed and two that are queued. */
#define DEFAULT_MAX_BUFFERS 4

/* After this number of frames in a row that are in memory of their own, frames
 * are copied. Otherwise each frame would be exported by this process, and
 * imported by each client. A pool rarely has so many allocations. */
#define MAX_NEW 64

static GstStaticPadTemplate sink_template = GST_STATIC_PAD_TEMPLATE (
    "sink", GST_PAD_SINK, GST_PAD_ALWAYS, GST_STATIC_CAPS_ANY);

G_DEFINE_TYPE_WITH_CODE (GstVkgdrIpcSink, gst_vkgdr_ipc_sink,
    GST_TYPE_BASE_SINK,
    GST_DEBUG_CATEGORY_INIT (
        gst_vkgdr_ipc_sink_debug, "vkgdripcsink", 0, "vkgdripcsink"))
GST_ELEMENT_REGISTER_DEFINE (
    vkgdripcsink, "vkgdripcsink", GST_RANK_NONE, GST_TYPE_VKGDR_IPC_SINK)

#define parent_class gst_vkgdr_ipc_sink_parent_class

#define GST_TYPE_VKGDR_IPC_LEAKY (leaky_get_type ())
static GType
leaky_get_type (void)
{
  static gsize type = 0;
  static const GEnumValue values[] = {
    { LEAKY_NO, "Upstream waits for the client", "no" },
    { LEAKY_DOWNSTREAM, "The client loses the oldest queued frames",
        "downstream" },
    { 0, NULL, NULL },
  };

  if (g_once_init_enter (&type))
    g_once_init_leave (
        &type, g_enum_register_static ("GstVkgdrIpcLeaky", values));
  return type;
}

/* Returns a reference, or NULL if the element is stopped. Events and unlock
 * come at any time, also while the element stops. */
static vkgdr_server *
ref_server (GstVkgdrIpcSink *self)
{
  vkgdr_server *server;

  GST_OBJECT_LOCK (self);
  server = self->server ? vkgdr_server_ref (self->server) : NULL;
  GST_OBJECT_UNLOCK (self);
  return server;
}

/* Returns FALSE if there is no server, or if the bytes are too many. */
static gboolean
set_state (GstVkgdrIpcSink *self, vkgdr_frames_state state, gconstpointer data,
    gsize size)
{
  vkgdr_server *server = ref_server (self);
  gboolean ok = server && vkgdr_server_set_state (server, state, data, size);

  g_clear_pointer (&server, vkgdr_server_unref);
  return ok;
}

/* --- allocation ---------------------------------------------------------- */

/* The memory of this pool can be exported, because the pool has allocations of
 * its own. */
static GstBufferPool *
new_pool (GstVkgdrIpcSink *self, GstCaps *caps, gsize size)
{
  GstBufferPool *pool = gst_vkgdr_buffer_pool_new (
      gst_vkgdr_ipc_endpoint_get_context (&self->endpoint));
  GstStructure *config = gst_buffer_pool_get_config (pool);
  GstVkgdrAccess access;

  GST_OBJECT_LOCK (self);
  access = self->access;
  GST_OBJECT_UNLOCK (self);
  g_object_set (pool, "access", access, NULL);
  gst_buffer_pool_config_set_params (config, caps, size, 0, 0);
  gst_vkgdr_element_post_pool_errors (
      GST_ELEMENT (self), GST_VKGDR_BUFFER_POOL (pool));
  if (!gst_buffer_pool_set_config (pool, config))
    gst_clear_object (&pool);
  return pool;
}

static gboolean
gst_vkgdr_ipc_sink_propose_allocation (GstBaseSink *sink, GstQuery *query)
{
  GstVkgdrIpcSink *self = GST_VKGDR_IPC_SINK (sink);
  GstBufferPool *pool;
  gboolean wants_pool;
  GstVideoInfo info;
  GstCaps *caps;

  gst_query_parse_allocation (query, &caps, &wants_pool);
  if (!caps || !gst_vkgdr_ipc_endpoint_get_context (&self->endpoint))
    return FALSE;
  gst_query_add_allocation_meta (query, GST_VIDEO_META_API_TYPE, NULL);
  gst_query_add_allocation_meta (query, GST_VIDEO_CROP_META_API_TYPE, NULL);
  /* GStreamer's own CUDA elements can only write to their own memory. */
  if (!wants_pool || !gst_vkgdr_caps_get_video_info (caps, &info)
      || gst_vkgdr_caps_features_are_cuda (gst_caps_get_features (caps, 0)))
    return TRUE;
  pool = new_pool (self, caps, GST_VIDEO_INFO_SIZE (&info));
  if (!pool)
    return TRUE;
  gst_query_add_allocation_pool (
      query, pool, GST_VIDEO_INFO_SIZE (&info), 0, 0);
  gst_object_unref (pool);
  return TRUE;
}

/* --- frames -------------------------------------------------------------- */

/* Returns the monotonic time at which the running time was 0, or -1. */
static gint64
get_base (GstVkgdrIpcSink *self)
{
  GstClock *clock = gst_element_get_clock (GST_ELEMENT (self));
  GstClockTime base = gst_element_get_base_time (GST_ELEMENT (self));
  gint64 result = -1;

  if (clock && GST_CLOCK_TIME_IS_VALID (base))
    result = gst_vkgdr_ipc_monotonic (clock, base);
  gst_clear_object (&clock);
  return result;
}

/* Some decoders push a frame that they still have mapped. */
static gboolean
publish (GstBuffer *buffer, GError **error)
{
  guint i, n = gst_buffer_n_memory (buffer);

  for (i = 0; i < n; i++)
    if (!gst_vkgdr_memory_publish (gst_buffer_peek_memory (buffer, i), error))
      return FALSE;
  return TRUE;
}

/* Without a window there is no memory with a file descriptor. So the error also
 * tells the user how to get a window. Takes ownership of @error. */
static GError *
explain_export_error (GstVkgdrIpcSink *self, GError *error)
{
  GstStructure *context = gst_vkgdr_context_describe (
      gst_vkgdr_ipc_endpoint_get_context (&self->endpoint));
  gboolean has_window = TRUE;
  GError *explained;

  gst_structure_get_boolean (context, "has-window", &has_window);
  if (has_window) {
    gst_structure_free (context);
    return error;
  }
  explained = g_error_new (GST_VKGDR_ERROR, GST_VKGDR_ERROR_NO_DEVICE,
      "frames can be sent to other processes only if they are in memory that "
      "the CPU can "
      "address, and the device has none: %s; %s",
      gst_structure_get_string (context, "window-reason"),
      gst_structure_get_string (context, "window-remedy"));
  gst_structure_free (context);
  g_error_free (error);
  return explained;
}

/* Called when a frame was not written, so that no client gets it. */
static void
on_output_error (gpointer user_data, const GError *error)
{
  GstVkgdrIpcSink *self = user_data;

  GST_ELEMENT_ERROR (self, RESOURCE, WRITE, ("%s", error->message),
      ("a frame could not be written to the device's memory"));
}

/* Returns the time of @buffer at which a sink shows it. A reverse segment
 * begins with the end of its last frame. */
static GstClockTime
get_running_time (const GstSegment *segment, GstBuffer *buffer)
{
  GstClockTime time = GST_BUFFER_PTS (buffer);

  if (segment->format != GST_FORMAT_TIME || !GST_CLOCK_TIME_IS_VALID (time))
    return GST_CLOCK_TIME_NONE;
  if (segment->rate < 0 && GST_BUFFER_DURATION_IS_VALID (buffer))
    time += GST_BUFFER_DURATION (buffer);
  if (segment->rate < 0 && time > segment->stop)
    time = segment->stop;
  return gst_segment_to_running_time (segment, GST_FORMAT_TIME, time);
}

/* Clients get a reverse segment as one that goes forward (send_segment ()), in
 * which a timestamp is the running time. */
static void
get_timing (GstVkgdrIpcSink *self, GstBuffer *buffer, GstVkgdrIpcTiming *timing)
{
  const GstSegment *segment = &GST_BASE_SINK (self)->segment;
  GstClockTime running_time = get_running_time (segment, buffer);
  gint64 base = get_base (self);

  timing->pts = GST_BUFFER_PTS (buffer);
  timing->dts = GST_BUFFER_DTS (buffer);
  timing->duration = GST_BUFFER_DURATION (buffer);
  timing->time = base >= 0 && GST_CLOCK_TIME_IS_VALID (running_time)
                     ? base + (gint64) running_time
                     : -1;
  if (segment->format == GST_FORMAT_TIME && segment->rate < 0) {
    timing->pts = running_time;
    timing->dts = GST_CLOCK_TIME_NONE;
    if (GST_CLOCK_TIME_IS_VALID (timing->duration))
      timing->duration /= -segment->rate;
  }
}

/* Takes ownership of @frame. @described: see gst_vkgdr_ipc_output_new () */
static GstVkgdrIpcOutput *
new_output (GstVkgdrIpcSink *self, GstBuffer *frame, GstBuffer *described,
    GError **error)
{
  GstVkgdrIpcTiming timing;
  gboolean is_video =
      GST_VIDEO_INFO_FORMAT (&self->info) != GST_VIDEO_FORMAT_UNKNOWN;

  get_timing (self, described, &timing);
  if (publish (frame, error))
    return gst_vkgdr_ipc_output_new (frame, described,
        is_video ? &self->info : NULL, &timing, on_output_error, self, error);
  gst_buffer_unref (frame);
  return NULL;
}

static GstVkgdrIpcOutput *
copy_to_output (GstVkgdrIpcSink *self, GstBuffer *buffer, GstBuffer *described,
    GError **error)
{
  GstBuffer *copy =
      gst_vkgdr_ipc_copier_copy (self->copier, buffer, described, error);

  if (!copy)
    return NULL;
  GST_OBJECT_LOCK (self);
  self->frames_copied++;
  self->bytes_copied += gst_buffer_get_size (copy);
  GST_OBJECT_UNLOCK (self);
  return new_output (self, copy, described, error);
}

/* Whether @buffer can be sent without a copy, as far as that can be said before
 * it is exported. */
static gboolean
can_be_sent (GstVkgdrIpcSink *self, GstBuffer *buffer)
{
  guint i, n = gst_buffer_n_memory (buffer);

  if (!gst_is_vkgdr_buffer_of (
          buffer, gst_vkgdr_ipc_endpoint_get_context (&self->endpoint)))
    return FALSE;
  for (i = 0; self->n_new >= MAX_NEW && i < n; i++)
    if (!gst_vkgdr_ipc_is_exported (gst_buffer_peek_memory (buffer, i)))
      return FALSE;
  return TRUE;
}

/* Copies @buffer if its memory cannot be exported. */
static GstVkgdrIpcOutput *
make_output (GstVkgdrIpcSink *self, GstBuffer *buffer, GstBuffer *described,
    GError **error)
{
  GstVkgdrIpcOutput *output = NULL;
  GError *own = NULL;

  if (can_be_sent (self, buffer))
    output = new_output (self, gst_buffer_ref (buffer), described, &own);
  if (g_error_matches (own, G_IO_ERROR, G_IO_ERROR_INVALID_DATA)) {
    g_propagate_error (error, own);
    return NULL;
  }
  g_clear_error (&own);
  if (output && !gst_vkgdr_ipc_output_is_new (output))
    self->n_new = 0;
  else if (output)
    self->n_new++;
  return output ? output : copy_to_output (self, buffer, described, error);
}

/* Takes ownership of @output. */
static GstFlowReturn
send_output (GstVkgdrIpcSink *self, GstVkgdrIpcOutput *output)
{
  vkgdr_server *server = ref_server (self);
  GstFlowReturn flow = server ? GST_FLOW_OK : GST_FLOW_FLUSHING;
  vkgdr_server_result result = VKGDR_SERVER_UNLOCKED;

  while (flow == GST_FLOW_OK) {
    result = gst_vkgdr_ipc_output_send (output, server);
    if (result != VKGDR_SERVER_UNLOCKED)
      break;
    flow = gst_base_sink_wait_preroll (GST_BASE_SINK (self));
  }
  if (result != VKGDR_SERVER_SENT)
    gst_vkgdr_ipc_output_free (output);
  if (result == VKGDR_SERVER_FAILED) {
    GST_ELEMENT_ERROR (
        self, RESOURCE, NO_SPACE_LEFT, ("No memory is left."), (NULL));
    flow = GST_FLOW_ERROR;
  }
  g_clear_pointer (&server, vkgdr_server_unref);
  return flow;
}

/* Returns a buffer with the memory of @buffer, and with the metadata of what is
 * visible of it, or NULL with @error set if it cannot be used. A buffer without
 * memory has no picture, and is sent as it is. */
static GstBuffer *
describe (GstVkgdrIpcSink *self, GstBuffer *buffer, GError **error)
{
  if (GST_VIDEO_INFO_FORMAT (&self->info) == GST_VIDEO_FORMAT_UNKNOWN
      || gst_buffer_get_size (buffer) == 0)
    return gst_buffer_ref (buffer);
  if (!gst_vkgdr_buffer_check_video (buffer, &self->info, error))
    return NULL;
  return gst_vkgdr_buffer_apply_crop (gst_buffer_ref (buffer), error);
}

/* Sends the latency before the next frame, if it has changed. */
static void
update_latency (GstVkgdrIpcSink *self)
{
  GstClockTime latency = gst_base_sink_get_latency (GST_BASE_SINK (self));
  guint64 bytes = GUINT64_TO_LE (latency);

  if (latency != self->latency)
    set_state (self, VKGDR_FRAMES_LATENCY, &bytes, sizeof (bytes));
  self->latency = latency;
}

/* A frame that cannot be described is dropped. Takes ownership of @error. */
static GstFlowReturn
handle_error (GstVkgdrIpcSink *self, gboolean is_described, GError *error)
{
  GstFlowReturn flow = GST_FLOW_OK;

  if (!is_described
      || g_error_matches (error, G_IO_ERROR, G_IO_ERROR_INVALID_DATA)) {
    gst_vkgdr_element_post_dropped (GST_ELEMENT (self), error);
  } else {
    error = explain_export_error (self, error);
    GST_ELEMENT_ERROR (self, RESOURCE, WRITE, ("%s", error->message),
        ("the frame cannot be given to other processes"));
    flow = GST_FLOW_ERROR;
  }
  g_error_free (error);
  return flow;
}

static GstFlowReturn
gst_vkgdr_ipc_sink_render (GstBaseSink *sink, GstBuffer *buffer)
{
  GstVkgdrIpcSink *self = GST_VKGDR_IPC_SINK (sink);
  GError *error = NULL;
  GstBuffer *ours = gst_vkgdr_ipc_copier_wrap (self->copier, buffer, &error);
  GstBuffer *described = ours ? describe (self, ours, &error) : NULL;
  GstVkgdrIpcOutput *output =
      described ? make_output (self, ours, described, &error) : NULL;
  gboolean is_described = described || !ours;

  gst_clear_buffer (&described);
  gst_clear_buffer (&ours);
  if (!output)
    return handle_error (self, is_described, error);
  GST_OBJECT_LOCK (self);
  self->frames++;
  GST_OBJECT_UNLOCK (self);
  update_latency (self);
  return send_output (self, output);
}

/* --- events -------------------------------------------------------------- */

/* Replaces all tags of the scope of @tags (transfer full). Returns whether all
 * are sent. */
static gboolean
set_tags (GstVkgdrIpcSink *self, GstTagList *tags)
{
  GstTagScope scope = gst_tag_list_get_scope (tags);
  gboolean are_complete;
  GByteArray *bytes =
      gst_vkgdr_ipc_tags_write (tags, VKGDR_WIRE_MAX_CONTENT, &are_complete);

  set_state (self,
      scope == GST_TAG_SCOPE_GLOBAL ? VKGDR_FRAMES_GLOBAL_TAGS
                                    : VKGDR_FRAMES_STREAM_TAGS,
      bytes->data, bytes->len);
  g_byte_array_unref (bytes);
  gst_tag_list_take (&self->tags[scope], tags);
  return are_complete;
}

/* An event may have only some of the tags. A client that connects later needs
 * those of earlier events, too. */
static void
send_tags (GstVkgdrIpcSink *self, GstEvent *event)
{
  GstTagList *tags, *all;
  GstTagScope scope;

  gst_event_parse_tag (event, &tags);
  scope = gst_tag_list_get_scope (tags);
  all = gst_tag_list_merge (self->tags[scope], tags, GST_TAG_MERGE_REPLACE);
  gst_tag_list_set_scope (all, scope);
  if (!set_tags (self, all))
    GST_ELEMENT_WARNING (self, STREAM, ENCODE,
        ("Some tags are not sent to other processes: all tags of a scope may "
         "have %u KiB, and pictures are left out first.",
            VKGDR_WIRE_MAX_CONTENT >> 10),
        (NULL));
}

/* A new stream does not have the tags of the last one. Clients that got those
 * are sent empty lists. */
static void
drop_tags (GstVkgdrIpcSink *self)
{
  guint scope;

  for (scope = 0; scope < N_SCOPES; scope++) {
    GstTagList *none;

    if (!self->tags[scope] || gst_tag_list_is_empty (self->tags[scope]))
      continue;
    none = gst_tag_list_new_empty ();
    gst_tag_list_set_scope (none, scope);
    set_tags (self, none);
  }
}

/* Clients get a live stream. Flags such as that of a segment seek are for this
 * pipeline alone, and a reverse segment becomes one that goes forward. */
static void
send_segment (GstVkgdrIpcSink *self, GstEvent *event)
{
  const GstSegment *theirs;
  GstSegment segment;
  GByteArray *bytes;

  gst_event_parse_segment (event, &theirs);
  segment = *theirs;
  if (segment.rate < 0)
    gst_segment_init (&segment, segment.format);
  bytes = gst_vkgdr_ipc_segment_write (&segment);
  set_state (self, VKGDR_FRAMES_SEGMENT, bytes->data, bytes->len);
  g_byte_array_unref (bytes);
}

static void
call_server (GstVkgdrIpcSink *self, void (*function) (vkgdr_server *))
{
  vkgdr_server *server = ref_server (self);

  if (!server)
    return;
  function (server);
  vkgdr_server_unref (server);
}

static gboolean
gst_vkgdr_ipc_sink_event (GstBaseSink *sink, GstEvent *event)
{
  GstVkgdrIpcSink *self = GST_VKGDR_IPC_SINK (sink);

  switch (GST_EVENT_TYPE (event)) {
  case GST_EVENT_STREAM_START:
    drop_tags (self);
    break;
  case GST_EVENT_SEGMENT:
    send_segment (self, event);
    break;
  case GST_EVENT_TAG:
    send_tags (self, event);
    break;
  case GST_EVENT_EOS:
    call_server (self, vkgdr_server_end);
    break;
  case GST_EVENT_FLUSH_START:
  case GST_EVENT_FLUSH_STOP:
    call_server (self, vkgdr_server_flush);
    break;
  default:
    break;
  }
  return GST_BASE_SINK_CLASS (parent_class)->event (sink, event);
}

static gboolean
set_format (GstVkgdrIpcSink *self)
{
  vkgdr_frame_format format;

  if (GST_VIDEO_INFO_FORMAT (&self->info) == GST_VIDEO_FORMAT_UNKNOWN)
    return set_state (self, VKGDR_FRAMES_FORMAT, NULL, 0);
  gst_vkgdr_ipc_format_init (&format, &self->info);
  return vkgdr_frame_format_is_valid (&format)
         && set_state (self, VKGDR_FRAMES_FORMAT, &format, sizeof (format));
}

/* Returns the caps as text, which the caller frees. The field `tensors`
 * promises a GstTensorMeta, which is not sent. */
static gchar *
make_caps_text (GstCaps *caps)
{
  GstCaps *sent = gst_caps_copy (caps);
  gchar *text;

  gst_structure_remove_field (gst_caps_get_structure (sent, 0), "tensors");
  text = gst_caps_to_string (sent);
  gst_caps_unref (sent);
  return text;
}

static gboolean
gst_vkgdr_ipc_sink_set_caps (GstBaseSink *sink, GstCaps *caps)
{
  GstVkgdrIpcSink *self = GST_VKGDR_IPC_SINK (sink);
  gchar *text = make_caps_text (caps);
  gboolean ok = gst_vkgdr_ipc_text_is_safe (text, strlen (text))
                && set_state (self, VKGDR_FRAMES_CAPS, text, strlen (text));

  g_free (text);
  if (!gst_vkgdr_caps_get_video_info (caps, &self->info))
    gst_video_info_init (&self->info);
  if (ok && set_format (self))
    return TRUE;
  GST_ELEMENT_ERROR (self, STREAM, FORMAT,
      ("The caps cannot be sent to other processes: they have more than %u "
       "KiB, too many names or brackets, or pictures of more than %u pixels in "
       "a direction.",
          VKGDR_WIRE_MAX_CONTENT >> 10, VKGDR_FRAME_MAX_SIZE),
      (NULL));
  return FALSE;
}

static gboolean
gst_vkgdr_ipc_sink_query (GstBaseSink *sink, GstQuery *query)
{
  return gst_vkgdr_ipc_endpoint_handle_query (
             &GST_VKGDR_IPC_SINK (sink)->endpoint, query)
         || GST_BASE_SINK_CLASS (parent_class)->query (sink, query);
}

static void
gst_vkgdr_ipc_sink_set_context (GstElement *element, GstContext *context)
{
  gst_vkgdr_ipc_endpoint_handle_context (
      &GST_VKGDR_IPC_SINK (element)->endpoint, context);
  GST_ELEMENT_CLASS (parent_class)->set_context (element, context);
}

/* --- start and stop ------------------------------------------------------ */

static vkgdr_server *
new_server (GstVkgdrIpcSink *self, GError **error)
{
  vkgdr_server_params params = { .path = NULL };
  gchar *path =
      gst_vkgdr_ipc_endpoint_get_address (&self->endpoint, &params.peers);
  vkgdr_server *server;

  GST_OBJECT_LOCK (self);
  params.is_leaky = self->leaky == LEAKY_DOWNSTREAM;
  params.max_buffers = self->max_buffers;
  params.waits_for_client = self->wait_for_connection;
  GST_OBJECT_UNLOCK (self);
  /* In the same pipeline, the client's sink gets no frame before this element
   * plays. So this element must not wait for a preroll. */
  if (params.waits_for_client)
    gst_base_sink_set_async_enabled (GST_BASE_SINK (self), FALSE);
  GST_OBJECT_LOCK (self);
  self->frames = self->frames_copied = self->bytes_copied = 0;
  GST_OBJECT_UNLOCK (self);
  params.path = path;
  server = vkgdr_server_new (&params);
  if (!server)
    gst_vkgdr_ipc_take_error (error, G_IO_ERROR_FAILED);
  g_free (path);
  return server;
}

/* The server may still send frames while it ends. */
static void
close_server (GstVkgdrIpcSink *self)
{
  vkgdr_server *server = ref_server (self);

  if (!server)
    return;
  vkgdr_server_close (server);
  GST_OBJECT_LOCK (self);
  vkgdr_server_get_figures (server, &self->last_figures);
  vkgdr_server_unref (self->server);
  self->server = NULL;
  GST_OBJECT_UNLOCK (self);
  vkgdr_server_unref (server);
}

static void
stop (GstVkgdrIpcSink *self)
{
  guint scope;

  close_server (self);
  for (scope = 0; scope < N_SCOPES; scope++)
    gst_clear_tag_list (&self->tags[scope]);
  g_clear_pointer (&self->copier, gst_vkgdr_ipc_copier_free);
  gst_vkgdr_ipc_endpoint_close (&self->endpoint);
}

static gboolean
open_all (GstVkgdrIpcSink *self, GError **error)
{
  vkgdr_server *server;

  self->copier = gst_vkgdr_ipc_copier_new (
      gst_vkgdr_ipc_endpoint_get_context (&self->endpoint), TRUE, error);
  if (!self->copier)
    return FALSE;
  server = new_server (self, error);
  if (!server)
    return FALSE;
  GST_OBJECT_LOCK (self);
  self->server = server;
  GST_OBJECT_UNLOCK (self);
  return TRUE;
}

static gboolean
start (GstVkgdrIpcSink *self)
{
  GError *error = NULL;

  if (!gst_vkgdr_ipc_endpoint_open (&self->endpoint))
    return FALSE;
  gst_video_info_init (&self->info);
  self->latency = 0;
  self->n_new = 0;
  if (open_all (self, &error))
    return TRUE;
  GST_ELEMENT_ERROR (
      self, RESOURCE, OPEN_READ_WRITE, ("%s", error->message), (NULL));
  g_error_free (error);
  stop (self);
  return FALSE;
}

/* GstBaseSinkClass.start is called when the element goes to READY, where it
 * must not open the device yet. */
static GstStateChangeReturn
gst_vkgdr_ipc_sink_change_state (GstElement *element, GstStateChange transition)
{
  GstVkgdrIpcSink *self = GST_VKGDR_IPC_SINK (element);
  GstStateChangeReturn result;

  if (transition == GST_STATE_CHANGE_READY_TO_PAUSED && !start (self))
    return GST_STATE_CHANGE_FAILURE;
  result = GST_ELEMENT_CLASS (parent_class)->change_state (element, transition);
  if (transition == GST_STATE_CHANGE_PAUSED_TO_READY
      || (transition == GST_STATE_CHANGE_READY_TO_PAUSED
          && result == GST_STATE_CHANGE_FAILURE))
    stop (self);
  return result;
}

static void
set_unlocked (GstBaseSink *sink, gboolean is_unlocked)
{
  vkgdr_server *server = ref_server (GST_VKGDR_IPC_SINK (sink));

  if (!server)
    return;
  vkgdr_server_set_unlocked (server, is_unlocked);
  vkgdr_server_unref (server);
}

static gboolean
gst_vkgdr_ipc_sink_unlock (GstBaseSink *sink)
{
  set_unlocked (sink, TRUE);
  return TRUE;
}

static gboolean
gst_vkgdr_ipc_sink_unlock_stop (GstBaseSink *sink)
{
  set_unlocked (sink, FALSE);
  return TRUE;
}

/* --- properties ---------------------------------------------------------- */

static void
get_figures_locked (GstVkgdrIpcSink *self, vkgdr_server_figures *figures)
{
  *figures = self->last_figures;
  if (self->server)
    vkgdr_server_get_figures (self->server, figures);
  else
    figures->clients = 0;
}

static GstStructure *
get_stats (GstVkgdrIpcSink *self)
{
  vkgdr_server_figures figures;
  GstStructure *stats;

  GST_OBJECT_LOCK (self);
  get_figures_locked (self, &figures);
  stats = gst_structure_new ("stats", "frames", G_TYPE_UINT64, self->frames,
      "frames-copied", G_TYPE_UINT64, self->frames_copied, "bytes-copied",
      G_TYPE_UINT64, self->bytes_copied, "frames-sent", G_TYPE_UINT64,
      figures.sent, "frames-lost", G_TYPE_UINT64, figures.lost, NULL);
  GST_OBJECT_UNLOCK (self);
  return stats;
}

static void
set_property_locked (
    GstVkgdrIpcSink *self, guint id, const GValue *value, GParamSpec *pspec)
{
  switch (id) {
  case PROP_LEAKY:
    self->leaky = g_value_get_enum (value);
    break;
  case PROP_MAX_BUFFERS:
    self->max_buffers = g_value_get_uint (value);
    break;
  case PROP_WAIT_FOR_CONNECTION:
    self->wait_for_connection = g_value_get_boolean (value);
    break;
  case PROP_ACCESS:
    self->access = g_value_get_enum (value);
    break;
  default:
    G_OBJECT_WARN_INVALID_PROPERTY_ID (self, id, pspec);
  }
}

static void
gst_vkgdr_ipc_sink_set_property (
    GObject *object, guint id, const GValue *value, GParamSpec *pspec)
{
  GstVkgdrIpcSink *self = GST_VKGDR_IPC_SINK (object);

  if (gst_vkgdr_ipc_endpoint_set (&self->endpoint, id, value))
    return;
  GST_OBJECT_LOCK (self);
  set_property_locked (self, id, value, pspec);
  GST_OBJECT_UNLOCK (self);
}

static void
get_property_locked (
    GstVkgdrIpcSink *self, guint id, GValue *value, GParamSpec *pspec)
{
  vkgdr_server_figures figures;

  switch (id) {
  case PROP_NUM_CLIENTS:
    get_figures_locked (self, &figures);
    g_value_set_uint (value, figures.clients);
    break;
  case PROP_LEAKY:
    g_value_set_enum (value, self->leaky);
    break;
  case PROP_MAX_BUFFERS:
    g_value_set_uint (value, self->max_buffers);
    break;
  case PROP_WAIT_FOR_CONNECTION:
    g_value_set_boolean (value, self->wait_for_connection);
    break;
  case PROP_ACCESS:
    g_value_set_enum (value, self->access);
    break;
  default:
    G_OBJECT_WARN_INVALID_PROPERTY_ID (self, id, pspec);
  }
}

static void
gst_vkgdr_ipc_sink_get_property (
    GObject *object, guint id, GValue *value, GParamSpec *pspec)
{
  GstVkgdrIpcSink *self = GST_VKGDR_IPC_SINK (object);

  if (gst_vkgdr_ipc_endpoint_get (&self->endpoint, id, value))
    return;
  if (id == PROP_STATS) {
    g_value_take_boxed (value, get_stats (self));
  } else {
    GST_OBJECT_LOCK (self);
    get_property_locked (self, id, value, pspec);
    GST_OBJECT_UNLOCK (self);
  }
}

static void
gst_vkgdr_ipc_sink_finalize (GObject *object)
{
  gst_vkgdr_ipc_endpoint_finalize (&GST_VKGDR_IPC_SINK (object)->endpoint);
  G_OBJECT_CLASS (parent_class)->finalize (object);
}

static void
install_properties (GObjectClass *klass)
{
  /**
   * GstVkgdrIpcSink:socket-path:
   *
   * The path of the Unix socket to which clients connect. A socket that an
   * ended process has left there is replaced.
   *
   * Since: 0.2
   */
  /**
   * GstVkgdrIpcSink:allowed-peers:
   *
   * Which processes may be clients. `user`: the socket has the mode 0600, and
   * a client must have the user of this process. `group`: the mode is 0660, and
   * a client of another user must have the group of this process. `all`: the
   * mode is 0666, and every process that can open the socket may be a client.
   *
   * Since: 0.2
   */
  gst_vkgdr_ipc_endpoint_install (klass,
      "Path of the Unix socket to serve, at most 107 bytes",
      "Which processes may be clients");
  /**
   * GstVkgdrIpcSink:leaky:
   *
   * What happens to frames when a client has #GstVkgdrIpcSink:max-buffers of
   * them. `downstream`: one frame waits for the client, always the newest one;
   * older ones are lost. `no`: upstream waits until the client gives a frame
   * back or is gone. Other clients still get the frames that one client loses.
   * At EOS, and when the element stops, the frame that waits has two seconds
   * left.
   *
   * Since: 0.2
   */
  g_object_class_install_property (klass, PROP_LEAKY,
      g_param_spec_enum ("leaky", "Leaky",
          "What happens to new frames if a client is too slow",
          GST_TYPE_VKGDR_IPC_LEAKY, LEAKY_DOWNSTREAM,
          GST_VKGDR_IPC_PROP_FLAGS));
  /**
   * GstVkgdrIpcSink:max-buffers:
   *
   * Frames that one client may have at a time. A client that keeps frames, such
   * as one with an encoder that looks ahead, needs more of them.
   *
   * Since: 0.2
   */
  g_object_class_install_property (klass, PROP_MAX_BUFFERS,
      g_param_spec_uint ("max-buffers", "Maximum buffers",
          "Frames that one client may have at a time", 1, 1024,
          DEFAULT_MAX_BUFFERS, GST_VKGDR_IPC_PROP_FLAGS));
  /**
   * GstVkgdrIpcSink:wait-for-connection:
   *
   * Whether frames wait until there is a client; if not, they are dropped. An
   * element that waits does not preroll (it sets #GstBaseSink:async to %FALSE),
   * so that a client may be in its own pipeline.
   *
   * Since: 0.2
   */
  g_object_class_install_property (klass, PROP_WAIT_FOR_CONNECTION,
      g_param_spec_boolean ("wait-for-connection", "Wait for a connection",
          "Block the stream until at least one client is connected", FALSE,
          GST_VKGDR_IPC_PROP_FLAGS));
  /**
   * GstVkgdrIpcSink:access:
   *
   * How upstream writes to frames of the pool that it is offered.
   *
   * Since: 0.2
   */
  g_object_class_install_property (klass, PROP_ACCESS,
      g_param_spec_enum ("access", "Access",
          "How upstream writes to the memory that it is offered",
          GST_TYPE_VKGDR_ACCESS, GST_VKGDR_ACCESS_AUTO,
          GST_VKGDR_IPC_PROP_FLAGS));
  /**
   * GstVkgdrIpcSink:num-clients:
   *
   * Clients that are connected at present.
   *
   * Since: 0.2
   */
  g_object_class_install_property (klass, PROP_NUM_CLIENTS,
      g_param_spec_uint ("num-clients", "Number of clients",
          "Clients that are connected at present", 0, G_MAXUINT, 0,
          G_PARAM_READABLE | G_PARAM_STATIC_STRINGS));
  g_object_class_install_property (klass, PROP_STATS,
      g_param_spec_boxed ("stats", "Statistics",
          "What the element did since it was started", GST_TYPE_STRUCTURE,
          G_PARAM_READABLE | G_PARAM_STATIC_STRINGS));
}

static void
gst_vkgdr_ipc_sink_class_init (GstVkgdrIpcSinkClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);
  GstElementClass *element_class = GST_ELEMENT_CLASS (klass);
  GstBaseSinkClass *sink_class = GST_BASE_SINK_CLASS (klass);

  object_class->set_property = gst_vkgdr_ipc_sink_set_property;
  object_class->get_property = gst_vkgdr_ipc_sink_get_property;
  object_class->finalize = gst_vkgdr_ipc_sink_finalize;
  install_properties (object_class);

  element_class->set_context = gst_vkgdr_ipc_sink_set_context;
  element_class->change_state = gst_vkgdr_ipc_sink_change_state;
  sink_class->unlock = GST_DEBUG_FUNCPTR (gst_vkgdr_ipc_sink_unlock);
  sink_class->unlock_stop = GST_DEBUG_FUNCPTR (gst_vkgdr_ipc_sink_unlock_stop);
  sink_class->set_caps = GST_DEBUG_FUNCPTR (gst_vkgdr_ipc_sink_set_caps);
  sink_class->event = GST_DEBUG_FUNCPTR (gst_vkgdr_ipc_sink_event);
  sink_class->query = GST_DEBUG_FUNCPTR (gst_vkgdr_ipc_sink_query);
  sink_class->render = GST_DEBUG_FUNCPTR (gst_vkgdr_ipc_sink_render);
  sink_class->propose_allocation =
      GST_DEBUG_FUNCPTR (gst_vkgdr_ipc_sink_propose_allocation);

  gst_element_class_add_static_pad_template (element_class, &sink_template);
  gst_element_class_set_static_metadata (element_class,
      "GPU memory to other processes", "Sink/Video",
      "Gives frames in GPU memory to other processes, without a copy",
      "gst-vkgdr developers");
  gst_type_mark_as_plugin_api (GST_TYPE_VKGDR_IPC_LEAKY, 0);
}

static void
gst_vkgdr_ipc_sink_init (GstVkgdrIpcSink *self)
{
  gst_vkgdr_ipc_endpoint_init (&self->endpoint, GST_ELEMENT (self));
  self->leaky = LEAKY_DOWNSTREAM;
  self->max_buffers = DEFAULT_MAX_BUFFERS;
  /* Otherwise the sink would keep the last frame, and the pool could not
   * recycle it. */
  gst_base_sink_set_last_sample_enabled (GST_BASE_SINK (self), FALSE);
}
