/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * ipc/sink.c: the element vkgdripcsink
 *
 * Has the class, the properties, the pool for upstream, start and stop.
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
 * The property `stats` has the fields of #GstBaseSink:stats, and `frames`
 * (received), `frames-copied`, `bytes-copied`, and `frames-sent` and
 * `frames-lost` (of all clients together), all uint64.
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

#include "gstvkgdrelements.h"
#include "ipc/sink.h"

GST_DEBUG_CATEGORY (gst_vkgdr_ipc_sink_debug);
#define GST_CAT_DEFAULT gst_vkgdr_ipc_sink_debug

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
    { GST_VKGDR_IPC_LEAKY_NO, "Upstream waits for the client", "no" },
    { GST_VKGDR_IPC_LEAKY_DOWNSTREAM,
        "The client loses the oldest queued frames", "downstream" },
    { 0, NULL, NULL },
  };

  if (g_once_init_enter (&type))
    g_once_init_leave (
        &type, g_enum_register_static ("GstVkgdrIpcLeaky", values));
  return type;
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

static gboolean
gst_vkgdr_ipc_sink_event (GstBaseSink *sink, GstEvent *event)
{
  gst_vkgdr_ipc_sink_forward_event (GST_VKGDR_IPC_SINK (sink), event);
  return GST_BASE_SINK_CLASS (parent_class)->event (sink, event);
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

static void
stop (GstVkgdrIpcSink *self)
{
  guint scope;

  gst_vkgdr_ipc_sink_close_server (self);
  for (scope = 0; scope < GST_VKGDR_IPC_N_SCOPES; scope++)
    gst_clear_tag_list (&self->tags[scope]);
  g_clear_pointer (&self->copier, gst_vkgdr_ipc_copier_free);
  gst_vkgdr_ipc_endpoint_close (&self->endpoint);
}

static gboolean
open_all (GstVkgdrIpcSink *self, GError **error)
{
  self->copier = gst_vkgdr_ipc_copier_new (
      gst_vkgdr_ipc_endpoint_get_context (&self->endpoint), TRUE, error);
  return self->copier && gst_vkgdr_ipc_sink_open_server (self, error);
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
  self->has_warned = FALSE;
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
  vkgdr_server *server =
      gst_vkgdr_ipc_sink_ref_server (GST_VKGDR_IPC_SINK (sink));

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

/* The base class has a property of this name, whose fields stay. */
static GstStructure *
get_stats (GstVkgdrIpcSink *self)
{
  GstStructure *stats = gst_base_sink_get_stats (GST_BASE_SINK (self));
  vkgdr_server_figures figures;

  GST_OBJECT_LOCK (self);
  get_figures_locked (self, &figures);
  gst_structure_set (stats, "frames", G_TYPE_UINT64, self->frames,
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
          GST_TYPE_VKGDR_IPC_LEAKY, GST_VKGDR_IPC_LEAKY_DOWNSTREAM,
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
  self->leaky = GST_VKGDR_IPC_LEAKY_DOWNSTREAM;
  self->max_buffers = DEFAULT_MAX_BUFFERS;
  /* Otherwise the sink would keep the last frame, and the pool could not
   * recycle it. */
  gst_base_sink_set_last_sample_enabled (GST_BASE_SINK (self), FALSE);
}
