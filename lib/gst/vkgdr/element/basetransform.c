/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * element/basetransform.c: base class of the elements: a context and a stream
 *
 * Knows nothing of the content of buffers.
 */

#include "element/element-private.h"

/**
 * SECTION:gstvkgdrbasetransform
 * @title: GstVkgdrBaseTransform
 * @short_description: base class of elements that use a device
 *
 * A #GstBaseTransform with the property `device`, a context that is shared with
 * the other elements of the pipeline, and a stream of its own. Both exist
 * between #GstBaseTransformClass.start and #GstBaseTransformClass.stop.
 * Subclasses implement #GstVkgdrBaseTransformClass.open and
 * #GstVkgdrBaseTransformClass.close. A base class that leaves these to its own
 * subclasses overrides start and stop instead, and chains up.
 *
 * All functions may be called from any thread. But while the element starts or
 * stops, only the thread that starts or stops it may call the functions that
 * return its context, stream or allocator.
 *
 * Since: 0.1
 */

GST_DEBUG_CATEGORY_STATIC (gst_vkgdr_base_transform_debug);
#define GST_CAT_DEFAULT gst_vkgdr_base_transform_debug

typedef struct {
  /* Only the thread that starts or stops the element writes `stream` and
   * `is_open`; `stream` may be read between start and stop. The other fields
   * are written under the object lock; they are read under it, or between start
   * and stop. */
  gint device; /* the property */
  GstVkgdrContext *context;
  GstVkgdrStream *stream;
  GstVkgdrAllocator *allocator; /* exists, and holds memory, while started */
  gboolean is_open;             /* `close` of the subclass has to be called */
} GstVkgdrBaseTransformPrivate;

enum { PROP_DEVICE = 1, PROP_STATS, N_PROPERTIES };

static GParamSpec *properties[N_PROPERTIES];

G_DEFINE_ABSTRACT_TYPE_WITH_CODE (GstVkgdrBaseTransform,
    gst_vkgdr_base_transform, GST_TYPE_BASE_TRANSFORM,
    G_ADD_PRIVATE (GstVkgdrBaseTransform)
        GST_DEBUG_CATEGORY_INIT (gst_vkgdr_base_transform_debug,
            "vkgdrbasetransform", 0, "vkgdr elements"))

#define parent_class gst_vkgdr_base_transform_parent_class

/* Called several times for each frame, so the type is not checked. */
static GstVkgdrBaseTransformPrivate *
private_of (gpointer object)
{
  return gst_vkgdr_base_transform_get_instance_private (
      (GstVkgdrBaseTransform *) object);
}

GstVkgdrContext *
gst_vkgdr_base_transform_ref_context (GstVkgdrBaseTransform *self)
{
  return gst_vkgdr_element_ref_context (
      GST_ELEMENT_CAST (self), &private_of (self)->context);
}

static gint
get_device (GstVkgdrBaseTransform *self)
{
  gint device;

  GST_OBJECT_LOCK (self);
  device = private_of (self)->device;
  GST_OBJECT_UNLOCK (self);
  return device;
}

static void
gst_vkgdr_base_transform_set_context (GstElement *element, GstContext *context)
{
  GstVkgdrBaseTransform *self = GST_VKGDR_BASE_TRANSFORM (element);

  gst_vkgdr_element_handle_set_context (
      element, context, get_device (self), &private_of (self)->context);
  GST_ELEMENT_CLASS (parent_class)->set_context (element, context);
}

static void
on_stream_failed (GstElement *element, GError *error)
{
  gst_vkgdr_element_post_error (element, error);
}

/* Errors of the device contain the name of the stream, which is that of the
 * element. */
static GstVkgdrStream *
make_stream (GstVkgdrBaseTransform *self, GError **error)
{
  GstVkgdrStream *stream =
      gst_vkgdr_stream_new (private_of (self)->context, error);
  gchar *name;

  if (!stream)
    return NULL;
  name = gst_object_get_name (GST_OBJECT (self));
  gst_object_set_name (GST_OBJECT (stream), name);
  g_free (name);
  g_signal_connect_object (
      stream, "failed", G_CALLBACK (on_stream_failed), self, G_CONNECT_SWAPPED);
  return stream;
}

static gboolean
open_subclass (GstVkgdrBaseTransform *self, GError **error)
{
  GstVkgdrBaseTransformClass *klass = GST_VKGDR_BASE_TRANSFORM_GET_CLASS (self);
  GstVkgdrBaseTransformPrivate *priv = private_of (self);
  GstVkgdrAllocator *allocator =
      gst_vkgdr_context_get_allocator (priv->context);

  GST_OBJECT_LOCK (self);
  priv->allocator = allocator;
  GST_OBJECT_UNLOCK (self);
  priv->stream = make_stream (self, error);
  if (!priv->stream)
    return FALSE;
  if (klass->open && !klass->open (self, error)) {
    if (error)
      gst_vkgdr_ensure_error (error, "The element's start");
    return FALSE;
  }
  priv->is_open = TRUE;
  return TRUE;
}

static void
end_stream (GstVkgdrBaseTransform *self)
{
  GstVkgdrStream *stream = private_of (self)->stream;

  gst_vkgdr_element_finish_work (GST_ELEMENT (self), stream);
  g_signal_handlers_disconnect_by_func (stream, on_stream_failed, self);
  /* Drops the references that ended kernels hold. */
  gst_vkgdr_launch_check_all ();
}

static gboolean
gst_vkgdr_base_transform_stop (GstBaseTransform *trans)
{
  GstVkgdrBaseTransform *self = GST_VKGDR_BASE_TRANSFORM (trans);
  GstVkgdrBaseTransformClass *klass = GST_VKGDR_BASE_TRANSFORM_GET_CLASS (self);
  GstVkgdrBaseTransformPrivate *priv = private_of (self);
  GstVkgdrAllocator *allocator;
  GstVkgdrContext *context;

  if (priv->stream)
    end_stream (self);
  if (priv->is_open && klass->close)
    klass->close (self);
  priv->is_open = FALSE;
  gst_clear_object (&priv->stream);
  GST_OBJECT_LOCK (self);
  allocator = g_steal_pointer (&priv->allocator);
  context = g_steal_pointer (&priv->context);
  GST_OBJECT_UNLOCK (self);
  gst_clear_object (&allocator);
  gst_clear_object (&context);
  return TRUE;
}

static gboolean
gst_vkgdr_base_transform_start (GstBaseTransform *trans)
{
  GstVkgdrBaseTransform *self = GST_VKGDR_BASE_TRANSFORM (trans);
  GError *error = NULL;

  if (!gst_vkgdr_element_ensure_context (
          GST_ELEMENT (self), get_device (self), &private_of (self)->context))
    return FALSE;
  if (!open_subclass (self, &error)) {
    gst_vkgdr_base_transform_post_error (self, error);
    gst_vkgdr_base_transform_stop (trans);
    return FALSE;
  }
  return TRUE;
}

static gboolean
gst_vkgdr_base_transform_query (
    GstBaseTransform *trans, GstPadDirection direction, GstQuery *query)
{
  GstVkgdrBaseTransform *self = GST_VKGDR_BASE_TRANSFORM (trans);

  if (gst_vkgdr_element_handle_context_query (GST_ELEMENT (self), query,
          get_device (self), &private_of (self)->context))
    return TRUE;
  return GST_BASE_TRANSFORM_CLASS (parent_class)
      ->query (trans, direction, query);
}

/* EOS comes after the work: a pipeline that ends well has no kernel that
 * failed. */
static gboolean
gst_vkgdr_base_transform_sink_event (GstBaseTransform *trans, GstEvent *event)
{
  GstVkgdrBaseTransform *self = GST_VKGDR_BASE_TRANSFORM (trans);

  if (GST_EVENT_TYPE (event) == GST_EVENT_EOS && private_of (self)->stream)
    gst_vkgdr_element_finish_work (
        GST_ELEMENT (self), private_of (self)->stream);
  if (GST_EVENT_TYPE (event) == GST_EVENT_FLUSH_STOP)
    gst_vkgdr_element_forget_error (GST_ELEMENT (self));
  return GST_BASE_TRANSFORM_CLASS (parent_class)->sink_event (trans, event);
}

static void
gst_vkgdr_base_transform_set_property (
    GObject *object, guint id, const GValue *value, GParamSpec *pspec)
{
  if (id != PROP_DEVICE) {
    G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, pspec);
    return;
  }
  GST_OBJECT_LOCK (object);
  private_of (object)->device = g_value_get_int (value);
  GST_OBJECT_UNLOCK (object);
}

static GstStructure *
get_stats (GstVkgdrBaseTransform *self)
{
  GstVkgdrBaseTransformClass *klass = GST_VKGDR_BASE_TRANSFORM_GET_CLASS (self);
  GstStructure *stats = gst_structure_new_empty ("stats");

  if (klass->fill_stats)
    klass->fill_stats (self, stats);
  return stats;
}

static void
gst_vkgdr_base_transform_get_property (
    GObject *object, guint id, GValue *value, GParamSpec *pspec)
{
  if (id == PROP_DEVICE)
    g_value_set_int (value, get_device (GST_VKGDR_BASE_TRANSFORM (object)));
  else if (id == PROP_STATS)
    g_value_take_boxed (value, get_stats (GST_VKGDR_BASE_TRANSFORM (object)));
  else
    G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, pspec);
}

/* An element's factory returns a floating reference. For classes in Python,
 * PyGObject takes that reference during construction, and GStreamer would warn.
 * So a floating reference is added again. */
static void
gst_vkgdr_base_transform_constructed (GObject *object)
{
  G_OBJECT_CLASS (parent_class)->constructed (object);

  if (g_object_is_floating (object))
    return;
  g_object_ref (object);
  g_object_force_floating (object);
}

static void
gst_vkgdr_base_transform_finalize (GObject *object)
{
  /* The application may have set a context on an element that was not started.
   */
  gst_clear_object (&private_of (object)->context);
  G_OBJECT_CLASS (parent_class)->finalize (object);
}

static void
gst_vkgdr_base_transform_class_init (GstVkgdrBaseTransformClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);
  GstBaseTransformClass *trans_class = GST_BASE_TRANSFORM_CLASS (klass);

  object_class->set_property = gst_vkgdr_base_transform_set_property;
  object_class->get_property = gst_vkgdr_base_transform_get_property;
  object_class->constructed = gst_vkgdr_base_transform_constructed;
  object_class->finalize = gst_vkgdr_base_transform_finalize;

  /**
   * GstVkgdrBaseTransform:device:
   *
   * Index of the CUDA device, or -1 to use the device of the neighbours, or
   * else the one that gst_vkgdr_context_new() chooses.
   *
   * Since: 0.1
   */
  properties[PROP_DEVICE] = g_param_spec_int ("device", "Device",
      "Index of the CUDA device (-1 = the neighbours' device, else that of "
      "CUDA_DEVICE or ~/.cuda-device, else the first that works)",
      -1, G_MAXINT, -1,
      G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | GST_PARAM_MUTABLE_READY);
  /**
   * GstVkgdrBaseTransform:stats:
   *
   * Statistics since the element was started. The fields depend on the element.
   *
   * Since: 0.1
   */
  properties[PROP_STATS] = g_param_spec_boxed ("stats", "Statistics",
      "Statistics since the element was started", GST_TYPE_STRUCTURE,
      G_PARAM_READABLE | G_PARAM_STATIC_STRINGS);
  g_object_class_install_properties (object_class, N_PROPERTIES, properties);

  GST_ELEMENT_CLASS (klass)->set_context = gst_vkgdr_base_transform_set_context;
  trans_class->start = gst_vkgdr_base_transform_start;
  trans_class->stop = gst_vkgdr_base_transform_stop;
  trans_class->query = gst_vkgdr_base_transform_query;
  trans_class->sink_event = gst_vkgdr_base_transform_sink_event;
}

static void
gst_vkgdr_base_transform_init (GstVkgdrBaseTransform *self)
{
  private_of (self)->device = -1;
}

/**
 * gst_vkgdr_base_transform_get_context:
 * @transform: an element
 *
 * Returns: (transfer none) (nullable): its context, or %NULL if it is stopped
 *
 * Since: 0.1
 */
GstVkgdrContext *
gst_vkgdr_base_transform_get_context (GstVkgdrBaseTransform *transform)
{
  g_return_val_if_fail (GST_IS_VKGDR_BASE_TRANSFORM (transform), NULL);

  return private_of (transform)->context;
}

/**
 * gst_vkgdr_base_transform_get_stream:
 * @transform: an element
 *
 * The stream belongs to the element. Stopping the element waits for all work
 * that was queued on it.
 *
 * Returns: (transfer none) (nullable): its stream, or %NULL if it is stopped
 *
 * Since: 0.1
 */
GstVkgdrStream *
gst_vkgdr_base_transform_get_stream (GstVkgdrBaseTransform *transform)
{
  g_return_val_if_fail (GST_IS_VKGDR_BASE_TRANSFORM (transform), NULL);

  return private_of (transform)->stream;
}

/**
 * gst_vkgdr_base_transform_get_allocator:
 * @transform: an element
 *
 * Returns: (transfer none) (nullable): the allocator of its context, which the
 *   element keeps while it is started; %NULL if it is stopped
 *
 * Since: 0.1
 */
GstVkgdrAllocator *
gst_vkgdr_base_transform_get_allocator (GstVkgdrBaseTransform *transform)
{
  g_return_val_if_fail (GST_IS_VKGDR_BASE_TRANSFORM (transform), NULL);

  return private_of (transform)->allocator;
}

/**
 * gst_vkgdr_base_transform_post_error:
 * @transform: an element
 * @error: (transfer full): an error
 *
 * Calls gst_vkgdr_element_post_error(), and frees @error.
 *
 * Since: 0.1
 */
void
gst_vkgdr_base_transform_post_error (
    GstVkgdrBaseTransform *transform, GError *error)
{
  g_return_if_fail (GST_IS_VKGDR_BASE_TRANSFORM (transform));
  g_return_if_fail (error != NULL);

  gst_vkgdr_element_post_error (GST_ELEMENT (transform), error);
  g_error_free (error);
}

/**
 * gst_vkgdr_base_transform_new_pool:
 * @transform: an element
 * @caps: (nullable): caps of raw video
 * @min_buffers: number of buffers that are allocated at the start
 *
 * Makes a pool of frames in the element's context. If the pool cannot hand out
 * a buffer, or the CPU cannot write to one, the element posts an error with the
 * reason, even if another element uses the pool.
 *
 * Returns: (transfer full) (nullable): the pool, configured but not active, or
 *   %NULL if @caps are %NULL, not raw video, or not supported by the pool, or
 *   if the element is not started
 *
 * Since: 0.1
 */
GstBufferPool *
gst_vkgdr_base_transform_new_pool (
    GstVkgdrBaseTransform *transform, GstCaps *caps, guint min_buffers)
{
  GstVkgdrContext *context;
  GstStructure *config;
  GstBufferPool *pool;
  GstVideoInfo info;

  g_return_val_if_fail (GST_IS_VKGDR_BASE_TRANSFORM (transform), NULL);

  if (!gst_vkgdr_caps_get_video_info (caps, &info))
    return NULL;
  context = gst_vkgdr_base_transform_ref_context (transform);
  if (!context)
    return NULL;
  pool = gst_vkgdr_buffer_pool_new (context);
  gst_object_unref (context);
  config = gst_buffer_pool_get_config (pool);
  gst_buffer_pool_config_set_params (
      config, caps, GST_VIDEO_INFO_SIZE (&info), min_buffers, 0);
  if (!gst_buffer_pool_set_config (pool, config)) {
    gst_object_unref (pool);
    return NULL;
  }
  gst_vkgdr_element_post_pool_errors (
      GST_ELEMENT (transform), GST_VKGDR_BUFFER_POOL (pool));
  return pool;
}

/**
 * gst_vkgdr_base_transform_add_allocator:
 * @transform: an element
 * @query: an ALLOCATION query of one of its pads
 *
 * Adds the allocator of the element's context to @query. The query may come
 * from a neighbour's thread while the element starts or stops.
 *
 * Returns: whether the allocator was added: %FALSE if the element is not
 *   started
 *
 * Since: 0.1
 */
gboolean
gst_vkgdr_base_transform_add_allocator (
    GstVkgdrBaseTransform *transform, GstQuery *query)
{
  GstAllocator *allocator = NULL;

  g_return_val_if_fail (GST_IS_VKGDR_BASE_TRANSFORM (transform), FALSE);
  g_return_val_if_fail (GST_IS_QUERY (query), FALSE);

  GST_OBJECT_LOCK (transform);
  if (private_of (transform)->allocator)
    allocator = gst_object_ref (private_of (transform)->allocator);
  GST_OBJECT_UNLOCK (transform);
  if (!allocator)
    return FALSE;
  gst_query_add_allocation_param (query, allocator, NULL);
  gst_object_unref (allocator);
  return TRUE;
}
