/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * gstvkgdrtensor.h: frames as the input of a neural network
 *
 * The description of a tensor, and the object that converts frames to tensors.
 * Knows nothing of elements.
 */

#ifndef __GST_VKGDR_TENSOR_H__
#define __GST_VKGDR_TENSOR_H__

#include <gst/video/video.h>
#include <gst/vkgdr/gstvkgdrmemory.h>

G_BEGIN_DECLS

/**
 * GST_VKGDR_TENSOR_MEDIA_TYPE:
 *
 * The media type of tensors in caps, the same as in GStreamer's analytics
 * library.
 *
 * Since: 0.2
 */
#define GST_VKGDR_TENSOR_MEDIA_TYPE "tensor/strided"

/**
 * GST_VKGDR_TENSOR_MAX_CHANNELS:
 *
 * The largest number of channels that a frame in a tensor can have.
 *
 * Since: 0.2
 */
#define GST_VKGDR_TENSOR_MAX_CHANNELS 4

/**
 * GstVkgdrTensorType:
 * @GST_VKGDR_TENSOR_TYPE_FLOAT32: single precision
 * @GST_VKGDR_TENSOR_TYPE_FLOAT16: half precision
 * @GST_VKGDR_TENSOR_TYPE_BFLOAT16: the upper half of single precision
 * @GST_VKGDR_TENSOR_TYPE_UINT8: unsigned bytes, rounded and clamped
 * @GST_VKGDR_TENSOR_TYPE_INT8: signed bytes, rounded and clamped
 *
 * The type of a tensor's elements.
 *
 * Since: 0.2
 */
typedef enum {
  GST_VKGDR_TENSOR_TYPE_FLOAT32 = 0,
  GST_VKGDR_TENSOR_TYPE_FLOAT16 = 1,
  GST_VKGDR_TENSOR_TYPE_BFLOAT16 = 2,
  GST_VKGDR_TENSOR_TYPE_UINT8 = 3,
  GST_VKGDR_TENSOR_TYPE_INT8 = 4
} GstVkgdrTensorType;

/**
 * GstVkgdrTensorLayout:
 * @GST_VKGDR_TENSOR_LAYOUT_NCHW: frame, channel, row, column
 * @GST_VKGDR_TENSOR_LAYOUT_NHWC: frame, row, column, channel
 *
 * The order of a tensor's dimensions; the last one is contiguous in memory.
 *
 * Since: 0.2
 */
typedef enum {
  GST_VKGDR_TENSOR_LAYOUT_NCHW = 0,
  GST_VKGDR_TENSOR_LAYOUT_NHWC = 1
} GstVkgdrTensorLayout;

/**
 * GstVkgdrTensorChannels:
 * @GST_VKGDR_TENSOR_CHANNELS_RGB: red, green, blue
 * @GST_VKGDR_TENSOR_CHANNELS_BGR: blue, green, red
 * @GST_VKGDR_TENSOR_CHANNELS_GRAY: luma alone
 * @GST_VKGDR_TENSOR_CHANNELS_RGBA: red, green, blue, alpha
 *
 * The channels of a tensor, in their order.
 *
 * Since: 0.2
 */
typedef enum {
  GST_VKGDR_TENSOR_CHANNELS_RGB = 0,
  GST_VKGDR_TENSOR_CHANNELS_BGR = 1,
  GST_VKGDR_TENSOR_CHANNELS_GRAY = 2,
  GST_VKGDR_TENSOR_CHANNELS_RGBA = 3
} GstVkgdrTensorChannels;

/**
 * GstVkgdrTensorResize:
 * @GST_VKGDR_TENSOR_RESIZE_STRETCH: the picture fills the tensor; its aspect
 *   ratio may change
 * @GST_VKGDR_TENSOR_RESIZE_LETTERBOX: the whole picture, in its aspect ratio,
 * in the middle of the tensor; the rest is padding
 * @GST_VKGDR_TENSOR_RESIZE_CROP: the middle of the picture, in its aspect
 * ratio, fills the tensor
 *
 * How a picture is resized to the size of the tensor.
 *
 * Since: 0.2
 */
typedef enum {
  GST_VKGDR_TENSOR_RESIZE_STRETCH = 0,
  GST_VKGDR_TENSOR_RESIZE_LETTERBOX = 1,
  GST_VKGDR_TENSOR_RESIZE_CROP = 2
} GstVkgdrTensorResize;

/**
 * GstVkgdrTensorFilter:
 * @GST_VKGDR_TENSOR_FILTER_NEAREST: one sample, as PyTorch's "nearest"
 * @GST_VKGDR_TENSOR_FILTER_BILINEAR: the four nearest samples, as PyTorch's
 *   "bilinear" with align_corners=False
 * @GST_VKGDR_TENSOR_FILTER_AREA: all samples that the new one covers, as
 *   PyTorch's "bilinear" with antialias=True; the best filter to make a picture
 *   smaller
 *
 * How samples are weighted when a picture is resized.
 *
 * Since: 0.2
 */
typedef enum {
  GST_VKGDR_TENSOR_FILTER_NEAREST = 0,
  GST_VKGDR_TENSOR_FILTER_BILINEAR = 1,
  GST_VKGDR_TENSOR_FILTER_AREA = 2
} GstVkgdrTensorFilter;

/**
 * GstVkgdrTensorFields:
 * @GST_VKGDR_TENSOR_FIELDS_BOTH: both fields: the rows of the tensor's picture
 *   are made of the top field and of the bottom field in turn, as the lines of
 *   the frame are
 * @GST_VKGDR_TENSOR_FIELDS_TOP: the top field alone, for all rows
 * @GST_VKGDR_TENSOR_FIELDS_BOTTOM: the bottom field alone
 * @GST_VKGDR_TENSOR_FIELDS_FIRST: the field alone that was recorded first
 *
 * What is used of an interlaced frame, which has two fields. Samples of
 * different fields are never mixed. For progressive frames, and for fields in
 * buffers of their own, this has no effect.
 *
 * Since: 0.3
 */
typedef enum {
  GST_VKGDR_TENSOR_FIELDS_BOTH = 0,
  GST_VKGDR_TENSOR_FIELDS_TOP = 1,
  GST_VKGDR_TENSOR_FIELDS_BOTTOM = 2,
  GST_VKGDR_TENSOR_FIELDS_FIRST = 3
} GstVkgdrTensorFields;

#define GST_TYPE_VKGDR_TENSOR_TYPE (gst_vkgdr_tensor_type_get_type ())
#define GST_TYPE_VKGDR_TENSOR_LAYOUT (gst_vkgdr_tensor_layout_get_type ())
#define GST_TYPE_VKGDR_TENSOR_CHANNELS (gst_vkgdr_tensor_channels_get_type ())
#define GST_TYPE_VKGDR_TENSOR_RESIZE (gst_vkgdr_tensor_resize_get_type ())
#define GST_TYPE_VKGDR_TENSOR_FILTER (gst_vkgdr_tensor_filter_get_type ())
#define GST_TYPE_VKGDR_TENSOR_FIELDS (gst_vkgdr_tensor_fields_get_type ())

GST_VKGDR_API
GType gst_vkgdr_tensor_type_get_type (void);

GST_VKGDR_API
GType gst_vkgdr_tensor_layout_get_type (void);

GST_VKGDR_API
GType gst_vkgdr_tensor_channels_get_type (void);

GST_VKGDR_API
GType gst_vkgdr_tensor_resize_get_type (void);

GST_VKGDR_API
GType gst_vkgdr_tensor_filter_get_type (void);

GST_VKGDR_API
GType gst_vkgdr_tensor_fields_get_type (void);

/**
 * GstVkgdrTensorConfig:
 * @width: columns of the tensor, 1 to 32767
 * @height: rows of the tensor, 1 to 32767
 * @type: the type of the elements
 * @layout: the order of the dimensions
 * @channels: the channels
 * @resize: how a picture is resized
 * @filter: how samples are weighted
 * @scale: factor for samples, which are 0 to 255 in every format; 0 means 1/255
 *   for floating point numbers and 1 for integers
 * @pad: the value of padding as a sample, 0 to 255, in all channels except
 *   alpha; the alpha of padding is 0
 * @mean: the mean of each channel, subtracted from the scaled sample
 * @std: the divisor of the difference, for each channel; not 0
 * @fields: what is used of an interlaced frame (since 0.3)
 *
 * The description of a tensor. An element is (sample * @scale - @mean) / @std;
 * the sample is clamped to 0 to 255 and not rounded.
 *
 * Not thread-safe: no thread may change a description that another one uses.
 *
 * Since: 0.2
 */
typedef struct _GstVkgdrTensorConfig GstVkgdrTensorConfig;
struct _GstVkgdrTensorConfig {
  gint width;
  gint height;
  GstVkgdrTensorType type;
  GstVkgdrTensorLayout layout;
  GstVkgdrTensorChannels channels;
  GstVkgdrTensorResize resize;
  GstVkgdrTensorFilter filter;
  gfloat scale;
  gfloat pad;
  gfloat mean[GST_VKGDR_TENSOR_MAX_CHANNELS];
  gfloat std[GST_VKGDR_TENSOR_MAX_CHANNELS];
  GstVkgdrTensorFields fields;

  /*< private >*/
  gpointer _gst_reserved[GST_PADDING];
};

#define GST_TYPE_VKGDR_TENSOR_CONFIG (gst_vkgdr_tensor_config_get_type ())

GST_VKGDR_API
GType gst_vkgdr_tensor_config_get_type (void);

GST_VKGDR_API
GstVkgdrTensorConfig *gst_vkgdr_tensor_config_new (gint width, gint height);

GST_VKGDR_API
GstVkgdrTensorConfig *gst_vkgdr_tensor_config_copy (
    const GstVkgdrTensorConfig *config);

GST_VKGDR_API
void gst_vkgdr_tensor_config_free (GstVkgdrTensorConfig *config);

GST_VKGDR_API
gboolean gst_vkgdr_tensor_config_set_mean (GstVkgdrTensorConfig *config,
    const gfloat *values, guint n_values, GError **error);

GST_VKGDR_API
gboolean gst_vkgdr_tensor_config_set_std (GstVkgdrTensorConfig *config,
    const gfloat *values, guint n_values, GError **error);

GST_VKGDR_API
guint gst_vkgdr_tensor_config_get_n_channels (
    const GstVkgdrTensorConfig *config);

GST_VKGDR_API
gsize gst_vkgdr_tensor_config_get_frame_size (
    const GstVkgdrTensorConfig *config);

GST_VKGDR_API
GstCaps *gst_vkgdr_tensor_config_to_caps (
    const GstVkgdrTensorConfig *config, guint batch, const gchar *tensor_id);

GST_VKGDR_API
gboolean gst_vkgdr_tensor_caps_parse (const GstCaps *caps,
    GstVkgdrTensorType *type, gint **dims, guint *n_dims, GError **error);

/**
 * GstVkgdrTensorTransform:
 * @scale_x: width of a column of the tensor, in columns of the frame
 * @scale_y: height of a row of the tensor, in rows of the frame
 * @offset_x: position of the tensor's left edge in the frame, in columns
 * @offset_y: position of the tensor's upper edge in the frame, in rows
 *
 * The position of a tensor's picture in the frame: the point (x, y) of the
 * tensor is (x * @scale_x + @offset_x, y * @scale_y + @offset_y) of the frame.
 * Coordinates are positions of pixel edges, not of pixel centres: (0, 0) is the
 * upper left corner of the first pixel.
 *
 * Since: 0.2
 */
typedef struct {
  gdouble scale_x;
  gdouble scale_y;
  gdouble offset_x;
  gdouble offset_y;
} GstVkgdrTensorTransform;

#define GST_TYPE_VKGDR_TENSOR_CONVERTER (gst_vkgdr_tensor_converter_get_type ())

GST_VKGDR_API
G_DECLARE_FINAL_TYPE (GstVkgdrTensorConverter, gst_vkgdr_tensor_converter, GST,
    VKGDR_TENSOR_CONVERTER, GstObject)

GST_VKGDR_API
GstVkgdrTensorConverter *gst_vkgdr_tensor_converter_new (
    GstVkgdrContext *context, const GstVkgdrTensorConfig *config,
    GError **error);

GST_VKGDR_API
GstVkgdrTensorConfig *gst_vkgdr_tensor_converter_get_config (
    GstVkgdrTensorConverter *converter);

GST_VKGDR_API
gboolean gst_vkgdr_tensor_converter_prepare (GstVkgdrTensorConverter *converter,
    const GstVideoInfo *info, GError **error);

GST_VKGDR_API
GstClockTime gst_vkgdr_tensor_converter_get_kernel_time (
    GstVkgdrTensorConverter *converter);

GST_VKGDR_API
gboolean gst_vkgdr_tensor_converter_convert (GstVkgdrTensorConverter *converter,
    GstVkgdrStream *stream, GstBuffer *frame, const GstVideoInfo *info,
    const GstVideoRectangle *region, GstMemory *tensor, gsize offset,
    GstVkgdrTensorTransform *transform, GError **error);

G_END_DECLS

#endif /* __GST_VKGDR_TENSOR_H__ */
