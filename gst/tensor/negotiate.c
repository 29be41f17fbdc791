/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * tensor/negotiate.c: negotiates the formats and memory of vkgdrtensor
 *
 * Each sink pad has a format of its own. The output depends on the properties
 * and the number of pads.
 */

#include "tensor/tensor.h"

/* The number of buffers of a pool for upstream: one that this element reads,
 * and one that upstream writes. */
#define MIN_BUFFERS 2

/* --- input ---------------------------------------------------------------- */

static gboolean
set_format (GstVkgdrTensor *self, GstVkgdrTensorPad *pad, GstCaps *caps)
{
  GError *error = NULL;

  pad->has_info = gst_vkgdr_caps_get_video_info (caps, &pad->info)
                  && gst_vkgdr_kernel_check_info (&pad->info, &error);
  gst_pad_mark_reconfigure (GST_AGGREGATOR_SRC_PAD (GST_AGGREGATOR (self)));
  if (error) {
    gst_vkgdr_element_post_error (GST_ELEMENT (self), error);
    g_clear_error (&error);
  }
  return pad->has_info;
}

static gboolean
gst_vkgdr_tensor_sink_event (
    GstAggregator *aggregator, GstAggregatorPad *pad, GstEvent *event)
{
  GstAggregatorClass *parent_class =
      g_type_class_peek_parent (g_type_class_peek (GST_TYPE_VKGDR_TENSOR));

  if (GST_EVENT_TYPE (event) == GST_EVENT_CAPS) {
    GstCaps *caps;

    gst_event_parse_caps (event, &caps);
    if (!set_format (
            GST_VKGDR_TENSOR (aggregator), GST_VKGDR_TENSOR_PAD (pad), caps)) {
      gst_event_unref (event);
      return FALSE;
    }
  }
  return parent_class->sink_event (aggregator, pad, event);
}

static GstBufferPool *
make_pool (GstVkgdrContext *context, GstCaps *caps, const GstVideoInfo *info)
{
  GstBufferPool *pool = gst_vkgdr_buffer_pool_new (context);
  GstStructure *config = gst_buffer_pool_get_config (pool);

  gst_buffer_pool_config_set_params (
      config, caps, GST_VIDEO_INFO_SIZE (info), MIN_BUFFERS, 0);
  if (!gst_buffer_pool_set_config (pool, config))
    gst_clear_object (&pool);
  return pool;
}

static gboolean
gst_vkgdr_tensor_propose_allocation (GstAggregator *aggregator,
    GstAggregatorPad *pad, GstQuery *decide_query, GstQuery *query)
{
  GstVkgdrTensor *self = GST_VKGDR_TENSOR (aggregator);
  GstBufferPool *pool;
  GstVideoInfo info;
  GstCaps *caps;

  gst_query_parse_allocation (query, &caps, NULL);
  if (!caps || !gst_vkgdr_caps_get_video_info (caps, &info))
    return FALSE;
  gst_query_add_allocation_meta (query, GST_VIDEO_META_API_TYPE, NULL);
  gst_query_add_allocation_meta (query, GST_VIDEO_CROP_META_API_TYPE, NULL);
  gst_query_add_allocation_meta (
      query, GST_VIDEO_REGION_OF_INTEREST_META_API_TYPE, NULL);
  if (!self->context
      || gst_vkgdr_caps_features_are_cuda (gst_caps_get_features (caps, 0)))
    return TRUE;
  pool = make_pool (self->context, caps, &info);
  if (!pool)
    return FALSE;
  gst_vkgdr_element_post_pool_errors (
      GST_ELEMENT (self), GST_VKGDR_BUFFER_POOL (pool));
  gst_query_add_allocation_pool (
      query, pool, GST_VIDEO_INFO_SIZE (&info), MIN_BUFFERS, 0);
  gst_object_unref (pool);
  return TRUE;
}

/* --- output --------------------------------------------------------------- */

static gboolean
copy_format (GstElement *element, GstPad *sink, gpointer data)
{
  GstVkgdrTensorPad *pad = GST_VKGDR_TENSOR_PAD (sink);

  if (pad->has_info)
    *(GstVideoInfo *) data = pad->info;
  return !pad->has_info;
}

/* Sets @info to the format of the first requested pad whose format is known.
 * Returns FALSE if there is no such pad. The application can release pads at
 * any time. */
static gboolean
get_first_format (GstVkgdrTensor *self, GstVideoInfo *info)
{
  gst_video_info_init (info);
  gst_element_foreach_sink_pad (GST_ELEMENT (self), copy_format, info);
  return GST_VIDEO_INFO_FORMAT (info) != GST_VIDEO_FORMAT_UNKNOWN;
}

/* A batch consists of whole rounds, except with regions, whose number differs
 * between frames. */
static gboolean
check_capacity_locked (GstVkgdrTensor *self, guint capacity, GError **error)
{
  guint n_pads = MAX (GST_ELEMENT (self)->numsinkpads, 1);

  if (capacity % n_pads == 0 || self->region == GST_VKGDR_TENSOR_REGION_ROI)
    return TRUE;
  g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_ARGUMENT,
      "A batch of %u frames cannot be made of %u pads: set batch to a multiple "
      "of %u, or to 0",
      capacity, n_pads, n_pads);
  return FALSE;
}

/* Returns the config of the user and of the model file, or NULL after an error
 * was posted. A width or height of 0 is replaced by that of @info. */
static GstVkgdrTensorConfig *
make_config (GstVkgdrTensor *self, const GstVideoInfo *info, guint *capacity,
    const gchar **tensor_id)
{
  GstVkgdrTensorConfig *config;
  const gchar *modelinfo;
  GKeyFile *file;
  GError *error = NULL;

  GST_OBJECT_LOCK (self);
  config = gst_vkgdr_tensor_config_copy (&self->settings.config);
  *capacity = self->batch_size;
  *tensor_id = self->tensor_id;
  modelinfo = self->modelinfo;
  GST_OBJECT_UNLOCK (self);
  file = modelinfo ? gst_tensor_modelinfo_open (modelinfo, &error) : NULL;
  if (file) {
    gst_tensor_modelinfo_read (
        file, modelinfo, NULL, config, capacity, tensor_id, &error);
    g_key_file_unref (file);
  }
  GST_OBJECT_LOCK (self);
  if (*capacity == 0)
    *capacity = MAX (GST_ELEMENT (self)->numsinkpads, 1);
  if (!error
      && gst_tensor_settings_read_numbers (&self->settings, config, &error))
    check_capacity_locked (self, *capacity, &error);
  GST_OBJECT_UNLOCK (self);
  if (error) {
    gst_vkgdr_element_post_error (GST_ELEMENT (self), error);
    g_clear_error (&error);
    gst_vkgdr_tensor_config_free (config);
    return NULL;
  }
  if (config->width == 0)
    config->width = GST_VIDEO_INFO_WIDTH (info);
  if (config->height == 0)
    config->height = GST_VIDEO_INFO_FIELD_HEIGHT (info);
  return config;
}

static GstFlowReturn
fit_downstream (
    GstVkgdrTensor *self, GstCaps *ours, GstCaps *allowed, GstCaps **result)
{
  *result = gst_caps_intersect (allowed, ours);
  if (!gst_caps_is_empty (*result))
    return GST_FLOW_OK;
  GST_ELEMENT_ERROR (self, CORE, NEGOTIATION,
      ("The next element does not accept these tensors."),
      ("offered: %" GST_PTR_FORMAT "; accepted: %" GST_PTR_FORMAT, ours,
          allowed));
  gst_clear_caps (result);
  return GST_FLOW_NOT_NEGOTIATED;
}

void
gst_vkgdr_tensor_set_converter (
    GstVkgdrTensor *self, GstVkgdrTensorConverter *converter)
{
  GstVkgdrTensorConverter *old;

  GST_OBJECT_LOCK (self);
  old = self->converter;
  self->converter = converter;
  GST_OBJECT_UNLOCK (self);
  gst_clear_object (&old);
}

static GstFlowReturn
gst_vkgdr_tensor_update_src_caps (
    GstAggregator *aggregator, GstCaps *allowed, GstCaps **result)
{
  GstVkgdrTensor *self = GST_VKGDR_TENSOR (aggregator);
  GstVkgdrTensorConfig *config;
  const gchar *tensor_id;
  GstVideoInfo info;
  GstFlowReturn flow;
  guint capacity;
  GstCaps *caps;

  /* A batch that has been started keeps its size. */
  if (self->batch) {
    self->is_outdated = TRUE;
    *result = gst_pad_get_current_caps (GST_AGGREGATOR_SRC_PAD (aggregator));
    return *result ? GST_FLOW_OK : GST_FLOW_NOT_NEGOTIATED;
  }
  if (!get_first_format (self, &info))
    return GST_AGGREGATOR_FLOW_NEED_DATA;
  config = make_config (self, &info, &capacity, &tensor_id);
  if (!config)
    return GST_FLOW_NOT_NEGOTIATED;
  caps = gst_vkgdr_tensor_config_to_caps (config, capacity, tensor_id);
  flow = fit_downstream (self, caps, allowed, result);
  gst_caps_unref (caps);
  gst_vkgdr_tensor_config_free (config);
  return flow;
}

/* A batch of several rounds is complete with the last of them. */
static void
set_latency (GstVkgdrTensor *self, const GstVideoInfo *info)
{
  GstClockTime latency = 0;

  if (GST_VIDEO_INFO_FPS_N (info) > 0)
    latency = gst_util_uint64_scale (GST_SECOND,
        (guint64) GST_VIDEO_INFO_FPS_D (info) * (self->rounds_per_batch - 1),
        GST_VIDEO_INFO_FPS_N (info));
  gst_aggregator_set_latency (GST_AGGREGATOR (self), latency, latency);
}

/* Compiles the kernel before the first frame comes. */
static gboolean
prepare_pad (GstElement *element, GstPad *sink, gpointer data)
{
  GstVkgdrTensorPad *pad = GST_VKGDR_TENSOR_PAD (sink);
  GError **error = data;

  return !pad->has_info
         || gst_vkgdr_tensor_converter_prepare (
             GST_VKGDR_TENSOR (element)->converter, &pad->info, error);
}

static gboolean
make_converter (GstVkgdrTensor *self, const GstVideoInfo *info, GError **error)
{
  GstVkgdrTensorConfig *config =
      make_config (self, info, &self->capacity, &self->id);
  GstVkgdrTensorConverter *converter;

  if (!config)
    return FALSE;
  converter = gst_vkgdr_tensor_converter_new (self->context, config, error);
  gst_vkgdr_tensor_set_converter (self, converter);
  gst_vkgdr_tensor_config_free (config);
  return self->converter
         && gst_element_foreach_sink_pad (
             GST_ELEMENT (self), prepare_pad, error);
}

static gboolean
gst_vkgdr_tensor_negotiated_src_caps (GstAggregator *aggregator, GstCaps *caps)
{
  GstVkgdrTensor *self = GST_VKGDR_TENSOR (aggregator);
  guint n_pads = MAX (GST_ELEMENT (self)->numsinkpads, 1);
  GstVideoInfo info;
  GError *error = NULL;

  if (self->batch)
    return TRUE;
  /* If all pads with a format were released meanwhile, the next one to get a
   * format starts another negotiation. */
  if (!get_first_format (self, &info))
    return TRUE;
  if (!make_converter (self, &info, &error)) {
    if (error)
      gst_vkgdr_element_post_error (GST_ELEMENT (self), error);
    g_clear_error (&error);
    return FALSE;
  }
  self->rounds_per_batch = MAX (self->capacity / n_pads, 1);
  set_latency (self, &info);
  return TRUE;
}

/* The element allocates batches itself, in memory that the device can write. */
static gboolean
gst_vkgdr_tensor_decide_allocation (GstAggregator *aggregator, GstQuery *query)
{
  while (gst_query_get_n_allocation_pools (query) > 0)
    gst_query_remove_nth_allocation_pool (query, 0);
  return TRUE;
}

void
gst_vkgdr_tensor_init_negotiation (GstAggregatorClass *klass)
{
  klass->sink_event = gst_vkgdr_tensor_sink_event;
  klass->propose_allocation = gst_vkgdr_tensor_propose_allocation;
  klass->update_src_caps = gst_vkgdr_tensor_update_src_caps;
  klass->negotiated_src_caps = gst_vkgdr_tensor_negotiated_src_caps;
  klass->decide_allocation = gst_vkgdr_tensor_decide_allocation;
}
