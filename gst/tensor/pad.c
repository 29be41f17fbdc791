/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * tensor/pad.c: a sink pad of vkgdrtensor
 *
 * Stores the format of its frames, and the last frame.
 */

#include "tensor/tensor.h"

G_DEFINE_TYPE (GstVkgdrTensorPad, gst_vkgdr_tensor_pad, GST_TYPE_AGGREGATOR_PAD)

void
gst_vkgdr_tensor_picture_clear (GstVkgdrTensorPicture *picture)
{
  gst_clear_buffer (&picture->buffer);
}

static GstFlowReturn
gst_vkgdr_tensor_pad_flush (GstAggregatorPad *pad, GstAggregator *aggregator)
{
  gst_vkgdr_tensor_picture_clear (&GST_VKGDR_TENSOR_PAD (pad)->last);
  return GST_FLOW_OK;
}

static void
gst_vkgdr_tensor_pad_finalize (GObject *object)
{
  gst_vkgdr_tensor_picture_clear (&GST_VKGDR_TENSOR_PAD (object)->last);
  G_OBJECT_CLASS (gst_vkgdr_tensor_pad_parent_class)->finalize (object);
}

static void
gst_vkgdr_tensor_pad_class_init (GstVkgdrTensorPadClass *klass)
{
  G_OBJECT_CLASS (klass)->finalize = gst_vkgdr_tensor_pad_finalize;
  GST_AGGREGATOR_PAD_CLASS (klass)->flush = gst_vkgdr_tensor_pad_flush;
}

static void
gst_vkgdr_tensor_pad_init (GstVkgdrTensorPad *self)
{
}
