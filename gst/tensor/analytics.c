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

  tensors[0] =
      gst_tensor_new_simple (tensor_id ? g_quark_from_string (tensor_id) : 0,
          get_data_type (config->type), share_memory (buffer),
          GST_TENSOR_DIM_ORDER_ROW_MAJOR, G_N_ELEMENTS (nchw),
          config->layout == GST_VKGDR_TENSOR_LAYOUT_NCHW ? nchw : nhwc);
  gst_tensor_meta_set (gst_buffer_add_tensor_meta (buffer), 1, tensors);
}

#else

void
gst_tensor_batch_add_analytics (GstBuffer *buffer,
    const GstVkgdrTensorConfig *config, guint capacity, const gchar *tensor_id)
{
}

#endif
