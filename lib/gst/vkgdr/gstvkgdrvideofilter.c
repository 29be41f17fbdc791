/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * gstvkgdrvideofilter.c: base class of elements that work on frames on the GPU
 *
 * Negotiation, output buffers and fences are done here; a subclass queues work
 * on a stream and knows of nothing else.
 */

#include "gstvkgdrprivate.h"
#include "gstvkgdrtimer.h"

/**
 * SECTION:gstvkgdrvideofilter
 * @title: GstVkgdrVideoFilter
 * @short_description: base class of elements that work on frames on the GPU
 *
 * A subclass provides #GstVkgdrVideoFilterClass.filter_frame and pad templates
 * whose caps have the feature %GST_CAPS_FEATURE_MEMORY_VKGDR_MEMORY. Each frame
 * is read from one buffer and written to another; both lie on the device.
 *
 * #GstVkgdrBaseTransform:stats has the fields `frames` and `kernel-time`, the
 * mean of the nanoseconds that the device worked on a frame (uint64 both;
 * %GST_CLOCK_TIME_NONE before the first result).
 *
 * A subclass is called in the streaming thread.
 *
 * Since: 0.1
 */

GST_DEBUG_CATEGORY_STATIC (gst_vkgdr_video_filter_debug);
#define GST_CAT_DEFAULT gst_vkgdr_video_filter_debug

/* Output buffers that exist before the first frame: one that downstream has,
 * one that it is about to get. */
#define MIN_BUFFERS 2

typedef struct {
  GstVideoInfo in_info;
  GstVideoInfo out_info;

  GstVkgdrTimer *timer; /* made and freed under the object lock */
  guint64 frames;       /* under the object lock */
} GstVkgdrVideoFilterPrivate;

G_DEFINE_ABSTRACT_TYPE_WITH_CODE (GstVkgdrVideoFilter, gst_vkgdr_video_filter,
    GST_TYPE_VKGDR_BASE_TRANSFORM,
    G_ADD_PRIVATE (GstVkgdrVideoFilter)
        GST_DEBUG_CATEGORY_INIT (gst_vkgdr_video_filter_debug,
            "vkgdrvideofilter", 0, "vkgdr video filters"))

#define parent_class gst_vkgdr_video_filter_parent_class

static GstVkgdrVideoFilterPrivate *
private_of (gpointer object)
{
  return gst_vkgdr_video_filter_get_instance_private (
      GST_VKGDR_VIDEO_FILTER (object));
}

/* --- negotiation --------------------------------------------------------- */

static gboolean
gst_vkgdr_video_filter_set_caps (
    GstBaseTransform *trans, GstCaps *in_caps, GstCaps *out_caps)
{
  GstVkgdrVideoFilter *self = GST_VKGDR_VIDEO_FILTER (trans);
  GstVkgdrVideoFilterClass *klass = GST_VKGDR_VIDEO_FILTER_GET_CLASS (self);
  GstVkgdrVideoFilterPrivate *priv = private_of (self);
  GError *error = NULL;

  if (!gst_video_info_from_caps (&priv->in_info, in_caps)
      || !gst_video_info_from_caps (&priv->out_info, out_caps)) {
    GST_ELEMENT_ERROR (self, STREAM, FORMAT,
        ("These caps are no raw video that a kernel can work on."),
        ("in %" GST_PTR_FORMAT ", out %" GST_PTR_FORMAT, in_caps, out_caps));
    return FALSE;
  }
  if (klass->set_info
      && !klass->set_info (self, &priv->in_info, &priv->out_info, &error)) {
    gst_vkgdr_base_transform_post_error (
        GST_VKGDR_BASE_TRANSFORM (self), error);
    return FALSE;
  }
  return TRUE;
}

/* The frames that downstream gets come from a pool of ours, also where it
 * offers one of its own: no other memory can be written by the device. */
static gboolean
gst_vkgdr_video_filter_decide_allocation (
    GstBaseTransform *trans, GstQuery *query)
{
  guint min = 0, max = 0, size = 0;
  GstBufferPool *pool;
  GstCaps *caps;

  if (gst_query_get_n_allocation_pools (query) > 0)
    gst_query_parse_nth_allocation_pool (query, 0, NULL, &size, &min, &max);
  while (gst_query_get_n_allocation_pools (query) > 0)
    gst_query_remove_nth_allocation_pool (query, 0);

  gst_query_parse_allocation (query, &caps, NULL);
  min = MAX (min, MIN_BUFFERS);
  pool = gst_vkgdr_base_transform_new_pool (
      GST_VKGDR_BASE_TRANSFORM (trans), caps, min);
  if (!pool)
    return FALSE;
  size = GST_VIDEO_INFO_SIZE (&private_of (trans)->out_info);
  gst_query_add_allocation_pool (query, pool, size, min, 0);
  gst_object_unref (pool);
  return TRUE;
}

/* Upstream gets a pool of ours, too, if it has none by itself. */
static gboolean
gst_vkgdr_video_filter_propose_allocation (
    GstBaseTransform *trans, GstQuery *decide_query, GstQuery *query)
{
  GstBufferPool *pool;
  GstCaps *caps;

  if (!GST_BASE_TRANSFORM_CLASS (parent_class)
           ->propose_allocation (trans, decide_query, query))
    return FALSE;
  if (!decide_query) /* passthrough: downstream has been asked */
    return TRUE;
  gst_query_parse_allocation (query, &caps, NULL);
  pool = gst_vkgdr_base_transform_new_pool (
      GST_VKGDR_BASE_TRANSFORM (trans), caps, 0);
  if (!pool)
    return FALSE;
  gst_query_add_allocation_pool (
      query, pool, GST_VIDEO_INFO_SIZE (&private_of (trans)->in_info), 0, 0);
  gst_query_add_allocation_meta (query, GST_VIDEO_META_API_TYPE, NULL);
  gst_object_unref (pool);
  return TRUE;
}

static gboolean
gst_vkgdr_video_filter_get_unit_size (
    GstBaseTransform *trans, GstCaps *caps, gsize *size)
{
  GstVideoInfo info;

  if (!gst_video_info_from_caps (&info, caps))
    return FALSE;
  *size = GST_VIDEO_INFO_SIZE (&info);
  return TRUE;
}

/* --- frames -------------------------------------------------------------- */

/* Metas that describe the pixels' meaning stay true in a filter that keeps the
 * frame's size; the layout's is the pool's own. */
static gboolean
gst_vkgdr_video_filter_transform_meta (
    GstBaseTransform *trans, GstBuffer *outbuf, GstMeta *meta, GstBuffer *inbuf)
{
  GstVkgdrVideoFilterPrivate *priv = private_of (trans);
  GType api = meta->info->api;

  if (api == GST_VIDEO_META_API_TYPE)
    return FALSE;
  if (!gst_meta_api_type_has_tag (
          api, g_quark_from_static_string (GST_META_TAG_MEMORY_STR))
      && GST_VIDEO_INFO_WIDTH (&priv->in_info)
             == GST_VIDEO_INFO_WIDTH (&priv->out_info)
      && GST_VIDEO_INFO_HEIGHT (&priv->in_info)
             == GST_VIDEO_INFO_HEIGHT (&priv->out_info))
    return TRUE;
  return GST_BASE_TRANSFORM_CLASS (parent_class)
      ->transform_meta (trans, outbuf, meta, inbuf);
}

static gboolean
begin (GstBuffer *buffer, GstVkgdrStream *stream, GstMapFlags flags,
    GError **error)
{
  guint i;

  for (i = 0; i < gst_buffer_n_memory (buffer); i++) {
    GstMemory *memory = gst_buffer_peek_memory (buffer, i);

    if (!gst_is_vkgdr_memory (memory)) {
      g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_ARGUMENT,
          "a buffer of caps with " GST_CAPS_FEATURE_MEMORY_VKGDR_MEMORY
          " has memory of type %s: put vkgdrupload before this element",
          memory->allocator->mem_type);
      return FALSE;
    }
    if (gst_vkgdr_memory_get_context (memory)
        != gst_vkgdr_stream_get_context (stream)) {
      g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_ARGUMENT,
          "a buffer lies on device %d in another context, this element works "
          "on device %d: set the same device on all elements",
          gst_vkgdr_context_get_device (gst_vkgdr_memory_get_context (memory)),
          gst_vkgdr_context_get_device (gst_vkgdr_stream_get_context (stream)));
      return FALSE;
    }
    if (!gst_vkgdr_memory_begin_access (memory, stream, flags, error))
      return FALSE;
  }
  return TRUE;
}

static gboolean
end (GstBuffer *buffer, GstVkgdrStream *stream, GstMapFlags flags,
    GError **error)
{
  gboolean ok = TRUE;
  guint i;

  for (i = 0; i < gst_buffer_n_memory (buffer); i++)
    ok = gst_vkgdr_memory_end_access (gst_buffer_peek_memory (buffer, i),
             stream, flags, ok ? error : NULL)
         && ok;
  return ok;
}

static GstFlowReturn
gst_vkgdr_video_filter_transform (
    GstBaseTransform *trans, GstBuffer *inbuf, GstBuffer *outbuf)
{
  GstVkgdrVideoFilter *self = GST_VKGDR_VIDEO_FILTER (trans);
  GstVkgdrVideoFilterClass *klass = GST_VKGDR_VIDEO_FILTER_GET_CLASS (self);
  GstVkgdrStream *stream =
      gst_vkgdr_base_transform_get_stream (GST_VKGDR_BASE_TRANSFORM (trans));
  GstVkgdrVideoFilterPrivate *priv = private_of (trans);
  GError *error = NULL;
  gboolean ok;

  if (!begin (inbuf, stream, GST_MAP_READ, &error)
      || !begin (outbuf, stream, GST_MAP_WRITE, &error)) {
    gst_vkgdr_base_transform_post_error (
        GST_VKGDR_BASE_TRANSFORM (self), error);
    return GST_FLOW_ERROR;
  }
  gst_vkgdr_timer_begin (priv->timer, stream);
  ok = klass->filter_frame (self, inbuf, outbuf, stream, &error);
  gst_vkgdr_timer_end (priv->timer, stream);
  /* Also after a failure: part of the work may have been queued. */
  ok = end (inbuf, stream, GST_MAP_READ, ok ? &error : NULL) && ok;
  ok = end (outbuf, stream, GST_MAP_WRITE, ok ? &error : NULL) && ok;
  if (!ok) {
    gst_vkgdr_base_transform_post_error (
        GST_VKGDR_BASE_TRANSFORM (self), error);
    return GST_FLOW_ERROR;
  }
  GST_OBJECT_LOCK (self);
  priv->frames++;
  GST_OBJECT_UNLOCK (self);
  return GST_FLOW_OK;
}

/* --- figures ------------------------------------------------------------- */

static gboolean
gst_vkgdr_video_filter_start (GstBaseTransform *trans)
{
  GstVkgdrVideoFilterPrivate *priv = private_of (trans);

  if (!GST_BASE_TRANSFORM_CLASS (parent_class)->start (trans))
    return FALSE;
  GST_OBJECT_LOCK (trans);
  priv->timer = gst_vkgdr_timer_new (
      gst_vkgdr_base_transform_get_context (GST_VKGDR_BASE_TRANSFORM (trans)));
  priv->frames = 0;
  GST_OBJECT_UNLOCK (trans);
  return TRUE;
}

static gboolean
gst_vkgdr_video_filter_stop (GstBaseTransform *trans)
{
  GstVkgdrTimer *timer;

  GST_OBJECT_LOCK (trans);
  timer = g_steal_pointer (&private_of (trans)->timer);
  GST_OBJECT_UNLOCK (trans);
  g_clear_pointer (&timer, gst_vkgdr_timer_free);
  return GST_BASE_TRANSFORM_CLASS (parent_class)->stop (trans);
}

static void
gst_vkgdr_video_filter_fill_stats (
    GstVkgdrBaseTransform *transform, GstStructure *stats)
{
  GstVkgdrVideoFilterPrivate *priv = private_of (transform);
  GstClockTime time = GST_CLOCK_TIME_NONE;
  guint64 frames;

  GST_OBJECT_LOCK (transform);
  frames = priv->frames;
  if (priv->timer)
    time = gst_vkgdr_timer_get (priv->timer);
  GST_OBJECT_UNLOCK (transform);
  gst_structure_set (stats, "frames", G_TYPE_UINT64, frames, "kernel-time",
      G_TYPE_UINT64, time, NULL);
}

static void
gst_vkgdr_video_filter_class_init (GstVkgdrVideoFilterClass *klass)
{
  GstBaseTransformClass *trans_class = GST_BASE_TRANSFORM_CLASS (klass);

  GST_VKGDR_BASE_TRANSFORM_CLASS (klass)->fill_stats =
      gst_vkgdr_video_filter_fill_stats;
  trans_class->start = gst_vkgdr_video_filter_start;
  trans_class->stop = gst_vkgdr_video_filter_stop;
  trans_class->set_caps = gst_vkgdr_video_filter_set_caps;
  trans_class->get_unit_size = gst_vkgdr_video_filter_get_unit_size;
  trans_class->decide_allocation = gst_vkgdr_video_filter_decide_allocation;
  trans_class->propose_allocation = gst_vkgdr_video_filter_propose_allocation;
  trans_class->transform_meta = gst_vkgdr_video_filter_transform_meta;
  trans_class->transform = gst_vkgdr_video_filter_transform;
}

static void
gst_vkgdr_video_filter_init (GstVkgdrVideoFilter *self)
{
}

/**
 * gst_vkgdr_video_filter_get_input_info:
 * @filter: a filter
 *
 * Returns: (transfer none): the format of its input, valid once
 *   #GstVkgdrVideoFilterClass.set_info was called, in the streaming thread
 *
 * Since: 0.1
 */
const GstVideoInfo *
gst_vkgdr_video_filter_get_input_info (GstVkgdrVideoFilter *filter)
{
  g_return_val_if_fail (GST_IS_VKGDR_VIDEO_FILTER (filter), NULL);

  return &private_of (filter)->in_info;
}

/**
 * gst_vkgdr_video_filter_get_output_info:
 * @filter: a filter
 *
 * Returns: (transfer none): the format of its output, valid once
 *   #GstVkgdrVideoFilterClass.set_info was called, in the streaming thread
 *
 * Since: 0.1
 */
const GstVideoInfo *
gst_vkgdr_video_filter_get_output_info (GstVkgdrVideoFilter *filter)
{
  g_return_val_if_fail (GST_IS_VKGDR_VIDEO_FILTER (filter), NULL);

  return &private_of (filter)->out_info;
}
