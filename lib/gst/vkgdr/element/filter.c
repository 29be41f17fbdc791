/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * element/filter.c: base class of elements that make one output buffer from
 * each input buffer
 *
 * Handles output buffers, their order on the device and the filter's
 * statistics; a subclass queues the work on a stream. Knows nothing of kernels,
 * and nothing of the content except the layout of video.
 */

#include "element/element-private.h"
#include "kernel/kernel-private.h"

/**
 * SECTION:gstvkgdrfilter
 * @title: GstVkgdrFilter
 * @short_description: base class of elements that work on buffers on the GPU
 *
 * A subclass provides #GstVkgdrFilterClass.filter and pad templates whose caps
 * have the feature %GST_CAPS_FEATURE_MEMORY_VKGDR_MEMORY, with video or any
 * other media type. The filter reads one buffer and writes another one; both
 * are on the device. The output has the caps of the input, unless the subclass
 * overrides #GstBaseTransformClass.transform_caps. Raw video has the size that
 * its caps define. Other output has the size of the input, unless the subclass
 * overrides #GstBaseTransformClass.transform_size.
 *
 * If the pad templates also have raw video with
 * %GST_VKGDR_CAPS_FEATURE_MEMORY_CUDA, the filter accepts and produces the
 * memory of GStreamer's own CUDA elements. The subclass does not have to handle
 * it: the buffers for #GstVkgdrFilterClass.filter have the same bytes wrapped
 * in memory of type %GST_VKGDR_MEMORY_NAME. If both memory types are possible
 * on a pad, the type of the other pad is used.
 *
 * A buffer of another CUDA context or another device is first copied, on the
 * device.
 *
 * If the work can be done in place, gst_vkgdr_filter_set_in_place() saves a
 * buffer.
 *
 * #GstVkgdrBaseTransform:stats has the fields `frames` and `kernel-time`, both
 * uint64. `kernel-time` is the median of the last times in nanoseconds from the
 * begin of the work on a buffer to its end; it is 0 before the first result. If
 * the device has nothing else to do, it includes the time that the CPU needs to
 * launch the kernel, some microseconds. After the first
 * measurements, most buffers are not measured, because that costs time.
 *
 * The functions of a subclass are called in the streaming thread. While
 * #GstVkgdrFilterClass.filter runs, the CUDA context of the filter is current,
 * as after gst_vkgdr_context_push().
 *
 * Since: 0.1
 */

GST_DEBUG_CATEGORY_STATIC (gst_vkgdr_filter_debug);
#define GST_CAT_DEFAULT gst_vkgdr_filter_debug

/* Output buffers that are allocated before the first frame: one that downstream
 * uses, and one for the next frame. */
#define MIN_BUFFERS 2

typedef struct {
  gint in_place; /* whether allowed; atomic */

  gboolean same_caps;     /* the output has the caps of the input */
  gboolean is_video;      /* both are raw video */
  gboolean from_cuda;     /* the input has GstCudaMemory */
  gboolean to_cuda;       /* the output needs GstCudaMemory */
  gboolean keeps_meaning; /* metas of the input are valid for the output */
  GstVideoInfo in_info;
  gboolean any_layout; /* downstream supports GstVideoMeta */

  GstVkgdrTimer *timer; /* made and freed under the object lock */
  guint64 frames;       /* under the object lock */
} GstVkgdrFilterPrivate;

G_DEFINE_ABSTRACT_TYPE_WITH_CODE (GstVkgdrFilter, gst_vkgdr_filter,
    GST_TYPE_VKGDR_BASE_TRANSFORM,
    G_ADD_PRIVATE (GstVkgdrFilter) GST_DEBUG_CATEGORY_INIT (
        gst_vkgdr_filter_debug, "vkgdrfilter", 0, "vkgdr filters"))

#define parent_class gst_vkgdr_filter_parent_class

/* Called several times for each frame, so the type is not checked. */
static GstVkgdrFilterPrivate *
private_of (gpointer object)
{
  return gst_vkgdr_filter_get_instance_private ((GstVkgdrFilter *) object);
}

/* --- caps and sizes ------------------------------------------------------ */

gboolean
gst_vkgdr_filter_is_video (GstVkgdrFilter *self)
{
  return private_of (self)->is_video;
}

static gboolean
is_cuda (GstCaps *caps)
{
  return gst_vkgdr_caps_features_are_cuda (gst_caps_get_features (caps, 0));
}

static void
post_error (GstVkgdrFilter *self, GError *error)
{
  gst_vkgdr_base_transform_post_error (GST_VKGDR_BASE_TRANSFORM (self), error);
}

static gboolean
gst_vkgdr_filter_set_caps (
    GstBaseTransform *trans, GstCaps *in_caps, GstCaps *out_caps)
{
  GstVkgdrFilter *self = GST_VKGDR_FILTER (trans);
  GstVkgdrFilterClass *klass = GST_VKGDR_FILTER_GET_CLASS (self);
  GstVkgdrFilterPrivate *priv = private_of (self);
  GstVideoInfo out_info;
  GError *error = NULL;

  priv->same_caps = gst_caps_is_equal (in_caps, out_caps);
  priv->is_video = gst_vkgdr_caps_get_video_info (in_caps, &priv->in_info)
                   && gst_vkgdr_caps_get_video_info (out_caps, &out_info);
  priv->from_cuda = priv->is_video && is_cuda (in_caps);
  priv->to_cuda = priv->is_video && is_cuda (out_caps);
  priv->keeps_meaning = priv->same_caps;
  if (priv->is_video)
    priv->keeps_meaning = GST_VIDEO_INFO_WIDTH (&priv->in_info)
                              == GST_VIDEO_INFO_WIDTH (&out_info)
                          && GST_VIDEO_INFO_HEIGHT (&priv->in_info)
                                 == GST_VIDEO_INFO_HEIGHT (&out_info);
  if (klass->negotiated
      && !klass->negotiated (self, in_caps, out_caps, &error)) {
    gst_vkgdr_ensure_error (&error, "Negotiation");
    post_error (self, error);
    return FALSE;
  }
  return TRUE;
}

static gboolean
gst_vkgdr_filter_get_unit_size (
    GstBaseTransform *trans, GstCaps *caps, gsize *size)
{
  GstVideoInfo info;

  *size = gst_vkgdr_caps_get_video_info (caps, &info)
              ? GST_VIDEO_INFO_SIZE (&info)
              : 1;
  return TRUE;
}

static gboolean
gst_vkgdr_filter_transform_size (GstBaseTransform *trans,
    GstPadDirection direction, GstCaps *caps, gsize size, GstCaps *othercaps,
    gsize *othersize)
{
  GstVideoInfo info;

  *othersize = gst_vkgdr_caps_get_video_info (othercaps, &info)
                   ? GST_VIDEO_INFO_SIZE (&info)
                   : size;
  return TRUE;
}

/* --- allocation ---------------------------------------------------------- */

static void
remove_pools (GstQuery *query)
{
  while (gst_query_get_n_allocation_pools (query) > 0)
    gst_query_remove_nth_allocation_pool (query, 0);
}

static gboolean
decide_cuda (GstVkgdrFilter *self, GstQuery *query, GstCaps *caps,
    const GstVideoInfo *info)
{
  GError *error = NULL;

  if (gst_vkgdr_cuda_pool_decide (gst_vkgdr_base_transform_get_context (
                                      GST_VKGDR_BASE_TRANSFORM (self)),
          query, caps, info, MIN_BUFFERS, &error))
    return TRUE;
  post_error (self, error);
  return FALSE;
}

/* The output always has memory of this library, even if downstream proposes a
 * pool, because the device can write no other memory. The exception is a pool
 * of GStreamer's own CUDA elements. Frames come from a pool; other buffers may
 * have any size and are allocated one by one. */
static gboolean
gst_vkgdr_filter_decide_allocation (GstBaseTransform *trans, GstQuery *query)
{
  guint min = 0, max = 0, size = 0;
  GstStructure *config;
  GstBufferPool *pool;
  GstVideoInfo info;
  GstCaps *caps;

  private_of (trans)->any_layout =
      gst_query_find_allocation_meta (query, GST_VIDEO_META_API_TYPE, NULL);
  gst_query_parse_allocation (query, &caps, NULL);
  if (gst_vkgdr_caps_get_video_info (caps, &info) && is_cuda (caps))
    return decide_cuda (GST_VKGDR_FILTER (trans), query, caps, &info);
  if (gst_query_get_n_allocation_pools (query) > 0)
    gst_query_parse_nth_allocation_pool (query, 0, NULL, &size, &min, &max);
  remove_pools (query);

  if (!gst_vkgdr_caps_get_video_info (caps, &info))
    return TRUE;
  min = MAX (min, MIN_BUFFERS);
  pool = gst_vkgdr_base_transform_new_pool (
      GST_VKGDR_BASE_TRANSFORM (trans), caps, min);
  if (!pool)
    return FALSE;
  if (private_of (trans)->any_layout) {
    config = gst_buffer_pool_get_config (pool);
    gst_buffer_pool_config_add_option (
        config, GST_BUFFER_POOL_OPTION_VIDEO_META);
    gst_buffer_pool_set_config (pool, config);
  }
  gst_query_add_allocation_pool (
      query, pool, GST_VIDEO_INFO_SIZE (&info), min, 0);
  gst_object_unref (pool);
  return TRUE;
}

/* Proposes a pool of GstCudaMemory to upstream. */
static gboolean
propose_cuda_pool (GstVkgdrBaseTransform *base, GstQuery *query, GstCaps *caps,
    const GstVideoInfo *info)
{
  GstVkgdrContext *context = gst_vkgdr_base_transform_ref_context (base);

  if (!context)
    return FALSE;
  gst_vkgdr_cuda_pool_propose (context, query, caps, info);
  gst_object_unref (context);
  return TRUE;
}

/* The base class proposes all metas that downstream supports. The filter crops
 * frames by itself, but not those of CUDA elements. */
static void
propose_crop_meta (GstQuery *query, gboolean is_cuda)
{
  guint index;

  if (gst_query_find_allocation_meta (
          query, GST_VIDEO_CROP_META_API_TYPE, &index))
    gst_query_remove_nth_allocation_meta (query, index);
  if (!is_cuda)
    gst_query_add_allocation_meta (query, GST_VIDEO_CROP_META_API_TYPE, NULL);
}

static gboolean
gst_vkgdr_filter_propose_allocation (
    GstBaseTransform *trans, GstQuery *decide_query, GstQuery *query)
{
  GstVkgdrBaseTransform *base = GST_VKGDR_BASE_TRANSFORM (trans);
  GstBufferPool *pool;
  GstVideoInfo info;
  GstCaps *caps;

  if (!GST_BASE_TRANSFORM_CLASS (parent_class)
           ->propose_allocation (trans, decide_query, query))
    return FALSE;
  if (!decide_query) /* passthrough: the query was answered by downstream */
    return TRUE;
  gst_query_parse_allocation (query, &caps, NULL);
  if (!caps)
    return TRUE;
  propose_crop_meta (query, is_cuda (caps));
  if (!gst_vkgdr_caps_get_video_info (caps, &info))
    return gst_vkgdr_base_transform_add_allocator (base, query);
  gst_query_add_allocation_meta (query, GST_VIDEO_META_API_TYPE, NULL);
  if (is_cuda (caps))
    return propose_cuda_pool (base, query, caps, &info);
  pool = gst_vkgdr_base_transform_new_pool (base, caps, 0);
  if (!pool)
    return FALSE;
  gst_query_add_allocation_pool (
      query, pool, GST_VIDEO_INFO_SIZE (&info), 0, 0);
  gst_object_unref (pool);
  return TRUE;
}

/* --- input buffers ------------------------------------------------------- */

/* Posts a warning and returns FALSE if the frame cannot be used. Otherwise
 * applies its crop. The check comes first: a wrong plane could look right once
 * the crop has moved it. */
static gboolean
fit (GstVkgdrFilter *self, GstBuffer **buffer)
{
  GError *error = NULL;

  if (gst_vkgdr_buffer_check_video (
          *buffer, &private_of (self)->in_info, &error)
      && (!gst_buffer_get_video_crop_meta (*buffer)
          || (*buffer = gst_vkgdr_buffer_apply_crop (*buffer, &error))))
    return TRUE;
  gst_vkgdr_element_post_dropped (GST_ELEMENT (self), error);
  g_error_free (error);
  return FALSE;
}

/* Makes sure that the stream of the filter can use the memory of the buffer.
 * Posts an error and returns FALSE if that is not possible. The memory of CUDA
 * elements is wrapped later, because it has to be in the output again. */
static gboolean
bring_here (GstVkgdrFilter *self, GstBuffer **buffer)
{
  GstVkgdrBaseTransform *base = GST_VKGDR_BASE_TRANSFORM (self);
  GError *error = NULL;
  GstBuffer *here;

  if (private_of (self)->from_cuda)
    return TRUE;
  here = gst_vkgdr_buffer_ref_here (
      *buffer, gst_vkgdr_base_transform_get_stream (base), &error);
  if (!here) {
    post_error (self, error);
    return FALSE;
  }
  gst_buffer_unref (*buffer);
  *buffer = here;
  return TRUE;
}

/* The door: what passes fits the caps, has no crop, and is in memory that the
 * filter can use. Nothing behind it checks this again. The parent negotiates,
 * and drops buffers that are too late. */
static GstFlowReturn
gst_vkgdr_filter_submit_input_buffer (
    GstBaseTransform *trans, gboolean is_discont, GstBuffer *input)
{
  GstVkgdrFilter *self = GST_VKGDR_FILTER (trans);
  GstFlowReturn result = GST_BASE_TRANSFORM_CLASS (parent_class)
                             ->submit_input_buffer (trans, is_discont, input);

  if (result != GST_FLOW_OK || !trans->queued_buf
      || gst_base_transform_is_passthrough (trans))
    return result;
  if (private_of (self)->is_video && !fit (self, &trans->queued_buf))
    result = GST_BASE_TRANSFORM_FLOW_DROPPED;
  else if (!bring_here (self, &trans->queued_buf))
    result = GST_FLOW_ERROR;
  if (result != GST_FLOW_OK)
    gst_clear_buffer (&trans->queued_buf);
  return result;
}

/* --- output buffers ------------------------------------------------------ */

/* This is not the opposite of GStreamer's "writable", which means that there is
 * no other owner. */
static gboolean
has_read_only_memory (GstBuffer *buffer)
{
  guint i, n = gst_buffer_n_memory (buffer);

  for (i = 0; i < n; i++)
    if (GST_MEMORY_IS_READONLY (gst_buffer_peek_memory (buffer, i)))
      return TRUE;
  return FALSE;
}

/* The output must not have another owner. GStreamer's functions check this for
 * the buffer, its memories, and parts of these memories. */
static gboolean
can_be_output (GstVkgdrFilter *self, GstBuffer *buffer)
{
  GstVkgdrFilterPrivate *priv = private_of (self);
  GstVkgdrContext *context =
      gst_vkgdr_base_transform_get_context (GST_VKGDR_BASE_TRANSFORM (self));

  if (!g_atomic_int_get (&priv->in_place) || !priv->same_caps)
    return FALSE;
  if (!gst_buffer_is_writable (buffer)
      || !gst_buffer_is_all_memory_writable (buffer)
      || has_read_only_memory (buffer))
    return FALSE;
  if (priv->from_cuda) /* CUDA elements all support GstVideoMeta */
    return gst_vkgdr_cuda_frame_can_change (context, buffer);
  if (priv->is_video && !priv->any_layout
      && !gst_vkgdr_buffer_has_default_layout (buffer, &priv->in_info))
    return FALSE;
  return gst_is_vkgdr_buffer_of (buffer, context);
}

/* Allocates a buffer for caps without a pool. */
static GstBuffer *
allocate (GstVkgdrFilter *self, GstBuffer *input, GError **error)
{
  GstBaseTransform *trans = GST_BASE_TRANSFORM (self);
  GstBaseTransformClass *klass = GST_BASE_TRANSFORM_GET_CLASS (self);
  GstCaps *in_caps = gst_pad_get_current_caps (trans->sinkpad);
  GstCaps *out_caps = gst_pad_get_current_caps (trans->srcpad);
  GstBuffer *output = gst_buffer_new ();
  gsize size = 0;
  GstMemory *memory;

  klass->transform_size (trans, GST_PAD_SINK, in_caps,
      gst_buffer_get_size (input), out_caps, &size);
  gst_clear_caps (&in_caps);
  gst_clear_caps (&out_caps);
  if (size == 0)
    return output;
  memory = gst_vkgdr_allocator_alloc (
      gst_vkgdr_base_transform_get_allocator (GST_VKGDR_BASE_TRANSFORM (self)),
      size, error);
  if (memory)
    gst_buffer_append_memory (output, memory);
  else
    gst_clear_buffer (&output);
  return output;
}

/* If a pool cannot be started, the base class posts an error that has no
 * reason. */
static GstFlowReturn
start_pool (GstBaseTransform *trans)
{
  GstBufferPool *pool = gst_base_transform_get_buffer_pool (trans);
  gboolean ok = !pool || gst_buffer_pool_is_active (pool)
                || gst_buffer_pool_set_active (pool, TRUE);

  gst_clear_object (&pool);
  return ok ? GST_FLOW_OK : GST_FLOW_ERROR;
}

/* Acquires a frame of the pool. A GstVkgdrBufferPool reports its errors itself.
 */
static GstFlowReturn
acquire (GstVkgdrFilter *self, GstBuffer *input, GstBuffer **output)
{
  GstFlowReturn result = start_pool (GST_BASE_TRANSFORM (self));

  if (result == GST_FLOW_OK)
    result =
        GST_BASE_TRANSFORM_CLASS (parent_class)
            ->prepare_output_buffer (GST_BASE_TRANSFORM (self), input, output);
  if (result == GST_FLOW_ERROR && private_of (self)->to_cuda)
    post_error (self, g_error_new (GST_VKGDR_ERROR, GST_VKGDR_ERROR_NO_MEMORY,
                          "GStreamer's CUDA library cannot allocate a frame"));
  return result;
}

static GstFlowReturn
gst_vkgdr_filter_prepare_output_buffer (
    GstBaseTransform *trans, GstBuffer *input, GstBuffer **output)
{
  GstBaseTransformClass *klass = GST_BASE_TRANSFORM_GET_CLASS (trans);
  GstVkgdrFilter *self = GST_VKGDR_FILTER (trans);
  GError *error = NULL;

  *output = input;
  if (gst_base_transform_is_passthrough (trans) || can_be_output (self, input))
    return GST_FLOW_OK;
  if (private_of (self)->is_video)
    return acquire (self, input, output);

  *output = allocate (self, input, &error);
  if (*output && klass->copy_metadata (trans, input, *output))
    return GST_FLOW_OK;
  if (*output)
    gst_vkgdr_ensure_error (&error, "Copying the metadata of a buffer");
  gst_clear_buffer (output);
  post_error (self, error);
  return GST_FLOW_ERROR;
}

/* Metas that describe the content stay valid if the filter keeps the caps, or
 * the frame size. A GstVideoMeta is not copied: the output has its own. */
static gboolean
gst_vkgdr_filter_transform_meta (
    GstBaseTransform *trans, GstBuffer *outbuf, GstMeta *meta, GstBuffer *inbuf)
{
  GType api = meta->info->api;

  if (api == GST_VIDEO_META_API_TYPE)
    return FALSE;
  if (private_of (trans)->keeps_meaning
      && !gst_meta_api_type_has_tag (
          api, g_quark_from_static_string (GST_META_TAG_MEMORY_STR)))
    return TRUE;
  return GST_BASE_TRANSFORM_CLASS (parent_class)
      ->transform_meta (trans, outbuf, meta, inbuf);
}

/* --- work ---------------------------------------------------------------- */

/* Calls the subclass, and measures the time of the work. */
static gboolean
queue_timed (GstVkgdrFilter *self, GstBuffer *input, GstBuffer *output,
    GstVkgdrStream *stream, GError **error)
{
  GstVkgdrFilterPrivate *priv = private_of (self);
  gboolean is_timed = gst_vkgdr_timer_begin (priv->timer, stream);
  gboolean ok = GST_VKGDR_FILTER_GET_CLASS (self)->filter (
      self, input, output, stream, error);

  if (is_timed)
    gst_vkgdr_timer_end (priv->timer, stream);
  /* Also after a failure: part of the work may have been queued. */
  gst_vkgdr_buffer_set_on_device (output);
  return ok;
}

static gboolean
queue_work (GstVkgdrFilter *self, GstBuffer *input, GstBuffer *output,
    GstVkgdrStream *stream, GError **error)
{
  GstMapFlags flags = input == output ? GST_MAP_READWRITE : GST_MAP_READ;
  GstVkgdrTask task;
  gboolean ok;

  if (!gst_vkgdr_task_begin (&task, stream, error))
    return FALSE;
  ok = gst_vkgdr_task_use_buffer (&task, input, flags, error)
       && (input == output
           || gst_vkgdr_task_use_buffer (&task, output, GST_MAP_WRITE, error))
       && queue_timed (self, input, output, stream, error);
  return gst_vkgdr_task_end (&task, ok ? error : NULL) && ok;
}

/* Buffers of other CUDA elements are wrapped meanwhile. */
static gboolean
filter (
    GstVkgdrFilter *self, GstBuffer *input, GstBuffer *output, GError **error)
{
  GstVkgdrStream *stream =
      gst_vkgdr_base_transform_get_stream (GST_VKGDR_BASE_TRANSFORM (self));
  GstVkgdrFilterPrivate *priv = private_of (self);
  gboolean is_wrapped = priv->from_cuda || priv->to_cuda;
  GstVkgdrCudaWork work = { .input = input };
  gboolean ok;

  if (!GST_VKGDR_FILTER_GET_CLASS (self)->filter) {
    g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_ARGUMENT,
        "%s has no function for buffers: implement filter",
        G_OBJECT_TYPE_NAME (self));
    return FALSE;
  }
  if (is_wrapped
      && !gst_vkgdr_cuda_work_begin (&work,
          gst_vkgdr_stream_get_context (stream), input, priv->from_cuda, output,
          priv->to_cuda, error))
    return FALSE;
  ok = queue_work (self, work.input, output, stream, error);
  return (!is_wrapped || gst_vkgdr_cuda_work_end (&work, ok ? error : NULL))
         && ok;
}

static GstFlowReturn
gst_vkgdr_filter_transform (
    GstBaseTransform *trans, GstBuffer *input, GstBuffer *output)
{
  GstVkgdrFilter *self = GST_VKGDR_FILTER (trans);
  GError *error = NULL;

  if (!filter (self, input, output, &error)) {
    gst_vkgdr_ensure_error (&error, "The work on a buffer");
    post_error (self, error);
    return GST_FLOW_ERROR;
  }
  GST_OBJECT_LOCK (self);
  private_of (self)->frames++;
  GST_OBJECT_UNLOCK (self);
  return GST_FLOW_OK;
}

/* --- figures ------------------------------------------------------------- */

static gboolean
gst_vkgdr_filter_start (GstBaseTransform *trans)
{
  GstVkgdrFilterPrivate *priv = private_of (trans);

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
gst_vkgdr_filter_stop (GstBaseTransform *trans)
{
  GstVkgdrTimer *timer;

  GST_OBJECT_LOCK (trans);
  timer = g_steal_pointer (&private_of (trans)->timer);
  GST_OBJECT_UNLOCK (trans);
  g_clear_pointer (&timer, gst_vkgdr_timer_free);
  return GST_BASE_TRANSFORM_CLASS (parent_class)->stop (trans);
}

static void
gst_vkgdr_filter_fill_stats (
    GstVkgdrBaseTransform *transform, GstStructure *stats)
{
  GstVkgdrFilterPrivate *priv = private_of (transform);
  GstClockTime time = GST_CLOCK_TIME_NONE;
  guint64 frames;

  GST_OBJECT_LOCK (transform);
  frames = priv->frames;
  if (priv->timer)
    time = gst_vkgdr_timer_get (priv->timer);
  GST_OBJECT_UNLOCK (transform);
  if (!GST_CLOCK_TIME_IS_VALID (time))
    time = 0;
  gst_structure_set (stats, "frames", G_TYPE_UINT64, frames, "kernel-time",
      G_TYPE_UINT64, time, NULL);
}

static void
gst_vkgdr_filter_class_init (GstVkgdrFilterClass *klass)
{
  GstBaseTransformClass *trans_class = GST_BASE_TRANSFORM_CLASS (klass);

  GST_VKGDR_BASE_TRANSFORM_CLASS (klass)->fill_stats =
      gst_vkgdr_filter_fill_stats;
  trans_class->start = gst_vkgdr_filter_start;
  trans_class->stop = gst_vkgdr_filter_stop;
  trans_class->set_caps = gst_vkgdr_filter_set_caps;
  gst_vkgdr_filter_init_caps (trans_class);
  trans_class->get_unit_size = gst_vkgdr_filter_get_unit_size;
  trans_class->transform_size = gst_vkgdr_filter_transform_size;
  trans_class->decide_allocation = gst_vkgdr_filter_decide_allocation;
  trans_class->propose_allocation = gst_vkgdr_filter_propose_allocation;
  trans_class->submit_input_buffer = gst_vkgdr_filter_submit_input_buffer;
  trans_class->prepare_output_buffer = gst_vkgdr_filter_prepare_output_buffer;
  trans_class->transform_meta = gst_vkgdr_filter_transform_meta;
  trans_class->transform = gst_vkgdr_filter_transform;
}

static void
gst_vkgdr_filter_init (GstVkgdrFilter *self)
{
}

/**
 * gst_vkgdr_filter_set_in_place:
 * @filter: a filter
 * @in_place: whether the output may be the input
 *
 * Sets whether the subclass can write to the buffer that it reads, with the
 * same result. If so, it gets the input as the output if both have the same
 * caps, the buffer and its memory have no other owner, the memory is in the
 * filter's context and not read-only, and downstream supports the layout of the
 * planes. In all other cases, and by default, it gets a separate output buffer.
 *
 * May be called from any thread, also while buffers flow. Takes effect with the
 * next buffer.
 *
 * Since: 0.1
 */
void
gst_vkgdr_filter_set_in_place (GstVkgdrFilter *filter, gboolean in_place)
{
  g_return_if_fail (GST_IS_VKGDR_FILTER (filter));

  g_atomic_int_set (&private_of (filter)->in_place, in_place);
}
