/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * infer/outputs.c: the outputs of a network, and the types of their numbers
 *
 * All other files of vkgdrinfer may use this one.
 */

#include "infer/network.h"

static const struct {
  ONNXTensorElementDataType onnx;
  GstTensorDataType type;
  gsize size; /* bytes */
} types[] = {
  { ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, GST_TENSOR_DATA_TYPE_FLOAT32, 4 },
  { ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT16, GST_TENSOR_DATA_TYPE_FLOAT16, 2 },
  { ONNX_TENSOR_ELEMENT_DATA_TYPE_BFLOAT16, GST_TENSOR_DATA_TYPE_BFLOAT16, 2 },
  { ONNX_TENSOR_ELEMENT_DATA_TYPE_DOUBLE, GST_TENSOR_DATA_TYPE_FLOAT64, 8 },
  { ONNX_TENSOR_ELEMENT_DATA_TYPE_INT8, GST_TENSOR_DATA_TYPE_INT8, 1 },
  { ONNX_TENSOR_ELEMENT_DATA_TYPE_INT16, GST_TENSOR_DATA_TYPE_INT16, 2 },
  { ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32, GST_TENSOR_DATA_TYPE_INT32, 4 },
  { ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64, GST_TENSOR_DATA_TYPE_INT64, 8 },
  { ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT8, GST_TENSOR_DATA_TYPE_UINT8, 1 },
  { ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT16, GST_TENSOR_DATA_TYPE_UINT16, 2 },
  { ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT32, GST_TENSOR_DATA_TYPE_UINT32, 4 },
  { ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT64, GST_TENSOR_DATA_TYPE_UINT64, 8 },
  { ONNX_TENSOR_ELEMENT_DATA_TYPE_BOOL, GST_TENSOR_DATA_TYPE_BOOL, 1 },
};

gsize
gst_infer_type_get (ONNXTensorElementDataType onnx, GstTensorDataType *type)
{
  guint i;

  for (i = 0; i < G_N_ELEMENTS (types); i++)
    if (types[i].onnx == onnx) {
      *type = types[i].type;
      return types[i].size;
    }
  return 0;
}

GstInferOutput *
gst_infer_network_get_output (GstInferNetwork *self, guint i)
{
  return &g_array_index (self->outputs, GstInferOutput, i);
}
