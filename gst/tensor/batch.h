/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * tensor/batch.h: a tensor to which frames are written one by one
 *
 * Knows nothing of pads and elements.
 */

#ifndef __GST_VKGDR_TENSOR_BATCH_H__
#define __GST_VKGDR_TENSOR_BATCH_H__

#include <gst/vkgdr/vkgdr.h>

G_BEGIN_DECLS

typedef struct {
  GstVkgdrTensorConverter *converter;
  GstVkgdrStream *stream;
  gsize frame_size; /* bytes */
  guint capacity;   /* frames */
  GstBuffer *buffer;
  GstMemory *memory; /* the buffer's */
  GstVkgdrTensorBatchMeta *meta;
} GstTensorBatch;

/* Allocates memory for @capacity frames of @converter. Returns NULL with @error
 * set. */
GstTensorBatch *gst_tensor_batch_new (GstVkgdrTensorConverter *converter,
    GstVkgdrStream *stream, guint capacity, GError **error);
void gst_tensor_batch_free (GstTensorBatch *batch);

gboolean gst_tensor_batch_is_full (const GstTensorBatch *batch);

/* Queues the work on a region of @buffer, a frame of the format @info. @frame
 * has the region, and its transform is set. Returns FALSE with @error set. */
gboolean gst_tensor_batch_add (GstTensorBatch *batch, GstBuffer *buffer,
    const GstVideoInfo *info, GstVkgdrTensorFrame *frame, GError **error);

/* Frees the batch and returns its buffer. If it is not full, the rest is 0.
 * Returns NULL with @error set. */
GstBuffer *gst_tensor_batch_finish (GstTensorBatch *batch, GError **error);

/* --- analytics.c --- */

/* Adds the metas of GStreamer's analytics library to @buffer, if the library is
 * available. */
void gst_tensor_batch_add_analytics (GstBuffer *buffer,
    const GstVkgdrTensorConfig *config, guint capacity, const gchar *tensor_id);

/* A part of a frame that a meta describes. */
typedef struct {
  GQuark type;
  gint id;
  guint64 x;
  guint64 y;
  guint64 width;
  guint64 height;
} GstTensorRegion;

/* Appends the objects that the analytics library describes in the metas of
 * @buffer to @regions, an array of GstTensorRegion, if the library is
 * available.
 */
void gst_tensor_append_objects (GstBuffer *buffer, GArray *regions);

/* Must be called when the content of @buffer was copied from the memory
 * @before. Each tensor of a GstTensorMeta that refers to @before then refers to
 * the memory of @buffer. */
void gst_tensor_batch_move_analytics (
    GstBuffer *buffer, const GstMemory *before);

G_END_DECLS

#endif /* __GST_VKGDR_TENSOR_BATCH_H__ */
