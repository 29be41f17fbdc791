/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * ipc/src.c: the element vkgdripcsrc
 *
 * A GstPushSrc on the client of vkgdr/frames.h. Has the class, the properties,
 * start and stop, and makes the buffers.
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

#include <string.h>

#include "gstvkgdrelements.h"
#include "ipc/buffer.h"
#include "ipc/src.h"

GST_DEBUG_CATEGORY_STATIC (gst_vkgdr_ipc_src_debug);
#define GST_CAT_DEFAULT gst_vkgdr_ipc_src_debug

enum {
  PROP_CONNECTION_TIMEOUT = GST_VKGDR_IPC_PROP_LAST,
  PROP_BUSY_POLL,
  PROP_STATS
};

/* In seconds. Long enough to start the other process by hand. */
#define DEFAULT_CONNECTION_TIMEOUT 5

static GstStaticPadTemplate src_template = GST_STATIC_PAD_TEMPLATE (
    "src", GST_PAD_SRC, GST_PAD_ALWAYS, GST_STATIC_CAPS_ANY);

G_DEFINE_TYPE_WITH_CODE (GstVkgdrIpcSrc, gst_vkgdr_ipc_src, GST_TYPE_PUSH_SRC,
    GST_DEBUG_CATEGORY_INIT (
        gst_vkgdr_ipc_src_debug, "vkgdripcsrc", 0, "vkgdripcsrc"))
GST_ELEMENT_REGISTER_DEFINE (
    vkgdripcsrc, "vkgdripcsrc", GST_RANK_NONE, GST_TYPE_VKGDR_IPC_SRC)

#define parent_class gst_vkgdr_ipc_src_parent_class

/* --- the stream ---------------------------------------------------------- */

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
  GstFlowReturn flow = gst_vkgdr_ipc_src_apply_changes (self, &info, error);

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

  if (!gst_vkgdr_ipc_src_connect (self, &error))
    return error ? post_error (self, error) : GST_FLOW_FLUSHING;
  switch (gst_vkgdr_ipc_src_receive (self, &frame)) {
  case VKGDR_FRAMES_FRAME:
    flow = take_frame (self, frame, buffer, &error);
    break;
  case VKGDR_FRAMES_EOS:
  case VKGDR_FRAMES_BYE:
    flow = gst_vkgdr_ipc_src_apply_changes (self, NULL, &error);
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

static gboolean
gst_vkgdr_ipc_src_unlock (GstBaseSrc *src)
{
  gst_vkgdr_ipc_src_set_unlocked (GST_VKGDR_IPC_SRC (src), TRUE);
  return TRUE;
}

static gboolean
gst_vkgdr_ipc_src_unlock_stop (GstBaseSrc *src)
{
  gst_vkgdr_ipc_src_set_unlocked (GST_VKGDR_IPC_SRC (src), FALSE);
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

static gboolean
gst_vkgdr_ipc_src_stop (GstBaseSrc *src)
{
  GstVkgdrIpcSrc *self = GST_VKGDR_IPC_SRC (src);
  GstPoll *poll;

  gst_vkgdr_ipc_src_disconnect (self);
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
