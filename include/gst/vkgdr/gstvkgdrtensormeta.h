/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * gstvkgdrtensormeta.h: which frames are in a batch
 *
 * Knows nothing of how a batch is made.
 */

#ifndef __GST_VKGDR_TENSOR_META_H__
#define __GST_VKGDR_TENSOR_META_H__

#include <gst/vkgdr/gstvkgdrtensor.h>

G_BEGIN_DECLS

/**
 * GstVkgdrTensorFrame:
 * @pad: (nullable): name of the pad that the frame came from
 * @pts: the frame's time stamp in its own stream, or %GST_CLOCK_TIME_NONE
 * @duration: its duration, or %GST_CLOCK_TIME_NONE
 * @running_time: its running time, which can be compared between pads, or
 *   %GST_CLOCK_TIME_NONE
 * @width: columns of the frame
 * @height: rows of the frame
 * @region_x: first column of the frame's region that is in the tensor, before
 *   cropping or padding
 * @region_y: first row of the region
 * @region_width: number of columns of the region
 * @region_height: number of rows of the region
 * @roi_type: the type of the #GstVideoRegionOfInterestMeta, or of the object
 *   that GStreamer's analytics detected, that defined the region, or 0
 * @roi_id: the id of that meta, or -1
 * @is_repeated: whether the frame was in the previous batch, too, because its
 *   pad had no newer one
 * @transform: the transformation from the tensor to the frame
 *
 * A frame of a batch.
 *
 * Not thread-safe: no thread may change a frame that another one uses.
 *
 * Since: 0.2
 */
typedef struct {
  gchar *pad;
  GstClockTime pts;
  GstClockTime duration;
  GstClockTime running_time;
  gint width;
  gint height;
  gint region_x;
  gint region_y;
  gint region_width;
  gint region_height;
  GQuark roi_type;
  gint roi_id;
  gboolean is_repeated;
  GstVkgdrTensorTransform transform;

  /*< private >*/
  gpointer _gst_reserved[GST_PADDING];
} GstVkgdrTensorFrame;

#define GST_TYPE_VKGDR_TENSOR_FRAME (gst_vkgdr_tensor_frame_get_type ())

GST_VKGDR_API
GType gst_vkgdr_tensor_frame_get_type (void);

GST_VKGDR_API
void gst_vkgdr_tensor_frame_map_point (const GstVkgdrTensorFrame *frame,
    gdouble x, gdouble y, gdouble *frame_x, gdouble *frame_y);

/**
 * GstVkgdrTensorBatchMeta:
 * @meta: the parent
 * @n_frames: number of frames in the batch; the remaining part of the tensor is
 *   0
 *
 * Lists the frames in a buffer of tensors, in their order.
 *
 * Not thread-safe: it may only be changed while the buffer is writable.
 *
 * Since: 0.2
 */
typedef struct {
  GstMeta meta;

  guint n_frames;

  /*< private >*/
  GArray *frames;
} GstVkgdrTensorBatchMeta;

/**
 * GST_VKGDR_TENSOR_BATCH_META_API_TYPE:
 *
 * The type of #GstVkgdrTensorBatchMeta, for queries and searches.
 *
 * Since: 0.2
 */
#define GST_VKGDR_TENSOR_BATCH_META_API_TYPE \
  (gst_vkgdr_tensor_batch_meta_api_get_type ())

GST_VKGDR_API
GType gst_vkgdr_tensor_batch_meta_api_get_type (void);

GST_VKGDR_API
const GstMetaInfo *gst_vkgdr_tensor_batch_meta_get_info (void);

GST_VKGDR_API
GstVkgdrTensorBatchMeta *gst_vkgdr_buffer_add_tensor_batch_meta (
    GstBuffer *buffer);

GST_VKGDR_API
GstVkgdrTensorBatchMeta *gst_vkgdr_buffer_get_tensor_batch_meta (
    GstBuffer *buffer);

GST_VKGDR_API
void gst_vkgdr_tensor_batch_meta_append (
    GstVkgdrTensorBatchMeta *meta, const GstVkgdrTensorFrame *frame);

GST_VKGDR_API
const GstVkgdrTensorFrame *gst_vkgdr_tensor_batch_meta_get_frame (
    const GstVkgdrTensorBatchMeta *meta, guint index);

G_END_DECLS

#endif /* __GST_VKGDR_TENSOR_META_H__ */
