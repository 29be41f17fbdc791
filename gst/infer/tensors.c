/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * infer/tensors.c: the outputs of a network in the words of GStreamer's
 * analytics
 *
 * Caps with the field `tensors`, and GstTensorMeta.
 */

#include "infer/network.h"

static GstCaps *
make_caps (const GstInferOutput *output)
{
  GstCaps *caps = gst_caps_new_simple (GST_VKGDR_TENSOR_MEDIA_TYPE, "tensor-id",
      G_TYPE_STRING, output->id, "dims-order", G_TYPE_STRING,
      output->order == GST_TENSOR_DIM_ORDER_COL_MAJOR ? "col-major"
                                                      : "row-major",
      "type", G_TYPE_STRING, gst_tensor_data_type_get_name (output->type),
      NULL);
  GValue dims = G_VALUE_INIT;
  guint i;

  g_value_init (&dims, GST_TYPE_ARRAY);
  for (i = 0; i < output->n_dims; i++) {
    GValue dim = G_VALUE_INIT;

    g_value_init (&dim, G_TYPE_INT);
    g_value_set_int (&dim, (gint) MIN (output->dims[i], G_MAXINT));
    gst_value_array_append_and_take_value (&dims, &dim);
  }
  gst_caps_set_value (caps, "dims", &dims);
  g_value_unset (&dims);
  return caps;
}

void
gst_infer_network_get_tensors (GstInferNetwork *self, GValue *value)
{
  GstStructure *groups = gst_structure_new_empty ("tensorgroups");
  GValue list = G_VALUE_INIT;
  guint i;

  g_value_init (&list, GST_TYPE_UNIQUE_LIST);
  for (i = 0; i < self->outputs->len; i++) {
    GValue caps = G_VALUE_INIT;

    g_value_init (&caps, GST_TYPE_CAPS);
    g_value_take_boxed (
        &caps, make_caps (gst_infer_network_get_output (self, i)));
    gst_value_unique_list_append_and_take_value (&list, &caps);
  }
  gst_structure_take_value (groups, self->group_id, &list);
  g_value_init (value, GST_TYPE_STRUCTURE);
  g_value_take_boxed (value, groups);
}

static gboolean
remove_tensors (GstBuffer *buffer, GstMeta **meta, gpointer data)
{
  if ((*meta)->info->api == GST_TENSOR_META_API_TYPE)
    *meta = NULL;
  return TRUE;
}

static GstTensor *
make_tensor (const GstInferOutput *output, GstInferResult *result)
{
  GstTensor *tensor = gst_tensor_alloc (result->n_dims);
  guint i;

  tensor->id = g_quark_from_string (output->id);
  tensor->layout = GST_TENSOR_LAYOUT_CONTIGUOUS;
  tensor->data_type = output->type;
  tensor->dims_order = output->order;
  tensor->data = gst_buffer_new ();
  if (result->memory)
    gst_buffer_append_memory (tensor->data, g_steal_pointer (&result->memory));
  for (i = 0; i < result->n_dims; i++)
    tensor->dims[i] = result->dims[i];
  return tensor;
}

void
gst_infer_network_add_meta (
    GstInferNetwork *self, GstBuffer *buffer, GstInferResult *results)
{
  guint i, n = self->outputs->len;
  GstTensor **tensors = g_new (GstTensor *, n);

  gst_buffer_foreach_meta (buffer, remove_tensors, NULL);
  for (i = 0; i < n; i++)
    tensors[i] =
        make_tensor (gst_infer_network_get_output (self, i), &results[i]);
  gst_tensor_meta_set (gst_buffer_add_tensor_meta (buffer), n, tensors);
}
