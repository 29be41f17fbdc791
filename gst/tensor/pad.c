/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * tensor/pad.c: a sink pad of vkgdrtensor
 *
 * Stores the format of its frames, and the last frame.
 */

#include "tensor/tensor.h"

G_DEFINE_TYPE (GstVkgdrTensorPad, gst_vkgdr_tensor_pad, GST_TYPE_AGGREGATOR_PAD)

gboolean
gst_vkgdr_tensor_pad_get_last (
    GstVkgdrTensorPad *self, GstVkgdrTensorPicture *picture)
{
  GST_OBJECT_LOCK (self);
  *picture = self->last;
  if (picture->buffer)
    gst_buffer_ref (picture->buffer);
  GST_OBJECT_UNLOCK (self);
  return picture->buffer != NULL;
}

void
gst_vkgdr_tensor_pad_set_last (
    GstVkgdrTensorPad *self, const GstVkgdrTensorPicture *picture)
{
  const GstVkgdrTensorPicture none = { NULL };
  GstBuffer *old;

  GST_OBJECT_LOCK (self);
  old = self->last.buffer;
  self->last = picture ? *picture : none;
  if (self->last.buffer)
    gst_buffer_ref (self->last.buffer);
  GST_OBJECT_UNLOCK (self);
  gst_clear_buffer (&old);
}

static GstFlowReturn
gst_vkgdr_tensor_pad_flush (GstAggregatorPad *pad, GstAggregator *aggregator)
{
  gst_vkgdr_tensor_pad_set_last (GST_VKGDR_TENSOR_PAD (pad), NULL);
  return GST_FLOW_OK;
}

static void
gst_vkgdr_tensor_pad_finalize (GObject *object)
{
  gst_clear_buffer (&GST_VKGDR_TENSOR_PAD (object)->last.buffer);
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
