/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * tensor/analytics.c: describes a batch with GStreamer's analytics library
 *
 * The library has tensors from GStreamer 1.26 on. Without the library, a batch
 * has no GstTensorMeta, but the caps describe the content of the batch.
 */

#include "tensor/batch.h"

#ifdef HAVE_GST_ANALYTICS

#include <gst/analytics/analytics.h>

/* The tensor's id in its meta if the property tensor-id is not set. */
#define DEFAULT_ID "vkgdrtensor"

static GstTensorDataType
get_data_type (GstVkgdrTensorType type)
{
  switch (type) {
  case GST_VKGDR_TENSOR_TYPE_FLOAT16:
    return GST_TENSOR_DATA_TYPE_FLOAT16;
  case GST_VKGDR_TENSOR_TYPE_BFLOAT16:
    return GST_TENSOR_DATA_TYPE_BFLOAT16;
  case GST_VKGDR_TENSOR_TYPE_UINT8:
    return GST_TENSOR_DATA_TYPE_UINT8;
  case GST_VKGDR_TENSOR_TYPE_INT8:
    return GST_TENSOR_DATA_TYPE_INT8;
  case GST_VKGDR_TENSOR_TYPE_FLOAT32:
    break;
  }
  return GST_TENSOR_DATA_TYPE_FLOAT32;
}

/* The tensor refers to the memory of the buffer. It must not refer to the
 * buffer, because the buffer owns the meta, and the meta owns the tensor. */
static GstBuffer *
share_memory (GstBuffer *buffer)
{
  GstBuffer *data = gst_buffer_new ();

  gst_buffer_append_memory (data, gst_buffer_get_memory (buffer, 0));
  return data;
}

void
gst_tensor_batch_add_analytics (GstBuffer *buffer,
    const GstVkgdrTensorConfig *config, guint capacity, const gchar *tensor_id)
{
  gsize channels = gst_vkgdr_tensor_config_get_n_channels (config);
  gsize width = config->width, height = config->height;
  gsize nchw[] = { capacity, channels, height, width };
  gsize nhwc[] = { capacity, height, width, channels };
  GstTensor **tensors = g_new (GstTensor *, 1);

  tensors[0] = gst_tensor_new_simple (
      g_quark_from_string (tensor_id ? tensor_id : DEFAULT_ID),
      get_data_type (config->type), share_memory (buffer),
      GST_TENSOR_DIM_ORDER_ROW_MAJOR, G_N_ELEMENTS (nchw),
      config->layout == GST_VKGDR_TENSOR_LAYOUT_NCHW ? nchw : nhwc);
  gst_tensor_meta_set (gst_buffer_add_tensor_meta (buffer), 1, tensors);
}

static gboolean
move_tensors (GstBuffer *buffer, GstMeta **meta, gpointer before)
{
  GstTensorMeta *tensors = (GstTensorMeta *) *meta;
  gsize i;

  if ((*meta)->info->api != GST_TENSOR_META_API_TYPE)
    return TRUE;
  for (i = 0; i < tensors->num_tensors; i++) {
    GstBuffer **data = &tensors->tensors[i]->data;

    if (gst_buffer_n_memory (*data) == 1
        && gst_buffer_peek_memory (*data, 0) == before) {
      gst_buffer_unref (*data);
      *data = share_memory (buffer);
    }
  }
  return TRUE;
}

void
gst_tensor_batch_move_analytics (GstBuffer *buffer, const GstMemory *before)
{
  if (before && gst_buffer_n_memory (buffer) == 1
      && gst_buffer_peek_memory (buffer, 0) != before)
    gst_buffer_foreach_meta (buffer, move_tensors, (gpointer) before);
}

void
gst_tensor_append_objects (GstBuffer *buffer, GArray *regions)
{
  GstAnalyticsRelationMeta *meta =
      gst_buffer_get_analytics_relation_meta (buffer);
  GstAnalyticsMtd object;
  gpointer state = NULL;

  while (meta
         && gst_analytics_relation_meta_iterate (
             meta, &state, gst_analytics_od_mtd_get_mtd_type (), &object)) {
    GstTensorRegion region = { gst_analytics_od_mtd_get_obj_type (&object),
      (gint) object.id };
    gint x, y, width, height;
    gfloat confidence;

    if (!gst_analytics_od_mtd_get_location (
            &object, &x, &y, &width, &height, &confidence))
      continue;
    /* A detector may place an object partly outside of the frame. */
    region.x = MAX (x, 0);
    region.y = MAX (y, 0);
    region.width = MAX (width + MIN (x, 0), 0);
    region.height = MAX (height + MIN (y, 0), 0);
    g_array_append_val (regions, region);
  }
}

#else

void
gst_tensor_append_objects (GstBuffer *buffer, GArray *regions)
{
}

void
gst_tensor_batch_move_analytics (GstBuffer *buffer, const GstMemory *before)
{
}

void
gst_tensor_batch_add_analytics (GstBuffer *buffer,
    const GstVkgdrTensorConfig *config, guint capacity, const gchar *tensor_id)
{
}

#endif
