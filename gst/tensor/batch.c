/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * tensor/batch.c: a tensor to which frames are written one by one
 *
 * Knows nothing of pads and elements.
 */

#include "tensor/batch.h"

/* The CPU does not write batches, so they use no memory of the window. */
static GstMemory *
allocate (GstVkgdrStream *stream, gsize size, GError **error)
{
  GstVkgdrAllocator *allocator =
      gst_vkgdr_context_get_allocator (gst_vkgdr_stream_get_context (stream));
  GstMemory *memory =
      gst_vkgdr_allocator_alloc_device_only (allocator, size, error);

  gst_object_unref (allocator);
  return memory;
}

GstTensorBatch *
gst_tensor_batch_new (GstVkgdrTensorConverter *converter,
    GstVkgdrStream *stream, guint capacity, GError **error)
{
  GstVkgdrTensorConfig *config =
      gst_vkgdr_tensor_converter_get_config (converter);
  gsize frame_size = gst_vkgdr_tensor_config_get_frame_size (config);
  GstTensorBatch *batch;
  GstMemory *memory;

  gst_vkgdr_tensor_config_free (config);
  memory = allocate (stream, capacity * frame_size, error);
  if (!memory) {
    g_prefix_error (error,
        "A batch of %u frames of %" G_GSIZE_FORMAT
        " bytes does not fit on the device (set a smaller batch, width or "
        "height): ",
        capacity, frame_size);
    return NULL;
  }
  batch = g_new0 (GstTensorBatch, 1);
  batch->converter = gst_object_ref (converter);
  batch->stream = gst_object_ref (stream);
  batch->frame_size = frame_size;
  batch->capacity = capacity;
  batch->memory = memory;
  batch->buffer = gst_buffer_new ();
  gst_buffer_append_memory (batch->buffer, memory);
  batch->meta = gst_vkgdr_buffer_add_tensor_batch_meta (batch->buffer);
  return batch;
}

void
gst_tensor_batch_free (GstTensorBatch *batch)
{
  gst_clear_buffer (&batch->buffer);
  gst_object_unref (batch->converter);
  gst_object_unref (batch->stream);
  g_free (batch);
}

gboolean
gst_tensor_batch_is_full (const GstTensorBatch *batch)
{
  return batch->meta->n_frames == batch->capacity;
}

gboolean
gst_tensor_batch_add (GstTensorBatch *batch, GstBuffer *buffer,
    const GstVideoInfo *info, GstVkgdrTensorFrame *frame, GError **error)
{
  const GstVideoRectangle region = { frame->region_x, frame->region_y,
    frame->region_width, frame->region_height };

  if (!gst_vkgdr_tensor_converter_convert (batch->converter, batch->stream,
          buffer, info, &region, batch->memory,
          batch->meta->n_frames * batch->frame_size, &frame->transform, error))
    return FALSE;
  gst_vkgdr_tensor_batch_meta_append (batch->meta, frame);
  return TRUE;
}

/* Parts that are not written would have the bytes of a previous user of the
 * memory. */
static gboolean
clear_rest (GstTensorBatch *batch, GError **error)
{
  gsize begin = batch->meta->n_frames * batch->frame_size;
  gsize size = batch->capacity * batch->frame_size - begin;

  return size == 0
         || gst_vkgdr_memory_fill (
             batch->memory, begin, size, 0, batch->stream, error);
}

GstBuffer *
gst_tensor_batch_finish (GstTensorBatch *batch, GError **error)
{
  GstBuffer *buffer = NULL;

  if (clear_rest (batch, error))
    buffer = g_steal_pointer (&batch->buffer);
  gst_tensor_batch_free (batch);
  return buffer;
}
