/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * tensor/properties.c: the properties of vkgdrtensor
 */

#include <math.h>

#include "tensor/tensor.h"

enum {
  PROP_0,
  PROP_DEVICE,
  PROP_WIDTH,
  PROP_HEIGHT,
  PROP_TYPE,
  PROP_LAYOUT,
  PROP_CHANNELS,
  PROP_RESIZE,
  PROP_FILTER,
  PROP_SCALE,
  PROP_MEAN,
  PROP_STD,
  PROP_PAD,
  PROP_BATCH,
  PROP_TENSOR_ID,
  PROP_MISSING,
  PROP_REGION,
  PROP_ROI_TYPE,
  PROP_STATS
};

#define MAX_SIZE 32767
#define MAX_BATCH 4096

#define FLAGS \
  (G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | GST_PARAM_MUTABLE_READY)

#define TYPE_MISSING (missing_get_type ())
#define TYPE_REGION (region_get_type ())

#define DEFINE_ENUM_TYPE(name, function, ...) \
  static GType function (void) \
  { \
    static gsize type = 0; \
    static const GEnumValue values[] = { __VA_ARGS__, { 0, NULL, NULL } }; \
\
    if (g_once_init_enter (&type)) \
      g_once_init_leave (&type, g_enum_register_static (name, values)); \
    return type; \
  }

DEFINE_ENUM_TYPE ("GstVkgdrTensorMissing", missing_get_type,
    { GST_VKGDR_TENSOR_MISSING_REPEAT, "The pad's last frame, once more",
        "repeat" },
    { GST_VKGDR_TENSOR_MISSING_LEAVE_OUT, "The batch has a frame less",
        "leave-out" })

DEFINE_ENUM_TYPE ("GstVkgdrTensorRegion", region_get_type,
    { GST_VKGDR_TENSOR_REGION_FRAME,
        "The frame, or what GstVideoCropMeta leaves of it", "frame" },
    { GST_VKGDR_TENSOR_REGION_ROI,
        "Each GstVideoRegionOfInterestMeta of the frame by itself", "roi" })

/* --- values for channels -------------------------------------------------- */

/* Replaces @numbers by those in @value, of any type. What is not a number
 * becomes NAN, which is an error when the element negotiates. */
static void
set_numbers (GArray *numbers, const GValue *value)
{
  guint i, n = gst_value_array_get_size (value);

  g_array_set_size (numbers, 0);
  for (i = 0; i < n; i++) {
    const GValue *given = gst_value_array_get_value (value, i);
    GValue number = G_VALUE_INIT;
    gfloat f = NAN;

    g_value_init (&number, G_TYPE_FLOAT);
    /* GStreamer converts any text that is not a number to 0. */
    if (!G_VALUE_HOLDS_STRING (given) && g_value_transform (given, &number))
      f = g_value_get_float (&number);
    g_array_append_val (numbers, f);
    g_value_unset (&number);
  }
}

static void
get_numbers (const GArray *numbers, GValue *value)
{
  guint i;

  for (i = 0; i < numbers->len; i++) {
    GValue number = G_VALUE_INIT;

    g_value_init (&number, G_TYPE_DOUBLE);
    g_value_set_double (&number, g_array_index (numbers, gfloat, i));
    gst_value_array_append_and_take_value (value, &number);
  }
}

/* --- GObject ------------------------------------------------------------- */

static void
set_property (
    GstVkgdrTensor *self, guint id, const GValue *value, GParamSpec *pspec)
{
  GstVkgdrTensorConfig *config = self->config;

  switch (id) {
  case PROP_DEVICE:
    self->device = g_value_get_int (value);
    break;
  case PROP_WIDTH:
    config->width = g_value_get_int (value);
    break;
  case PROP_HEIGHT:
    config->height = g_value_get_int (value);
    break;
  case PROP_TYPE:
    config->type = g_value_get_enum (value);
    break;
  case PROP_LAYOUT:
    config->layout = g_value_get_enum (value);
    break;
  case PROP_CHANNELS:
    config->channels = g_value_get_enum (value);
    break;
  case PROP_RESIZE:
    config->resize = g_value_get_enum (value);
    break;
  case PROP_FILTER:
    config->filter = g_value_get_enum (value);
    break;
  case PROP_SCALE:
    config->scale = g_value_get_float (value);
    break;
  case PROP_MEAN:
    set_numbers (self->mean, value);
    break;
  case PROP_STD:
    set_numbers (self->std, value);
    break;
  case PROP_PAD:
    config->pad = g_value_get_float (value);
    break;
  case PROP_BATCH:
    self->batch_size = g_value_get_uint (value);
    break;
  case PROP_TENSOR_ID:
    self->tensor_id = g_intern_string (g_value_get_string (value));
    break;
  case PROP_MISSING:
    self->missing = g_value_get_enum (value);
    break;
  case PROP_REGION:
    self->region = g_value_get_enum (value);
    break;
  case PROP_ROI_TYPE:
    self->roi_type = g_quark_from_string (g_value_get_string (value));
    break;
  default:
    G_OBJECT_WARN_INVALID_PROPERTY_ID (self, id, pspec);
  }
}

static void
gst_vkgdr_tensor_set_property (
    GObject *object, guint id, const GValue *value, GParamSpec *pspec)
{
  GST_OBJECT_LOCK (object);
  set_property (GST_VKGDR_TENSOR (object), id, value, pspec);
  GST_OBJECT_UNLOCK (object);
}

static GstStructure *
get_stats (const GstVkgdrTensor *self)
{
  GstClockTime time = GST_CLOCK_TIME_NONE;

  if (self->converter)
    time = gst_vkgdr_tensor_converter_get_kernel_time (self->converter);
  if (!GST_CLOCK_TIME_IS_VALID (time))
    time = 0;
  return gst_structure_new ("stats", "frames", G_TYPE_UINT64, self->frames,
      "batches", G_TYPE_UINT64, self->batches, "repeated", G_TYPE_UINT64,
      self->repeated, "left-out", G_TYPE_UINT64, self->left_out, "kernel-time",
      G_TYPE_UINT64, time, NULL);
}

static void
get_property (GstVkgdrTensor *self, guint id, GValue *value, GParamSpec *pspec)
{
  const GstVkgdrTensorConfig *config = self->config;

  switch (id) {
  case PROP_DEVICE:
    g_value_set_int (value, self->device);
    break;
  case PROP_WIDTH:
    g_value_set_int (value, config->width);
    break;
  case PROP_HEIGHT:
    g_value_set_int (value, config->height);
    break;
  case PROP_TYPE:
    g_value_set_enum (value, config->type);
    break;
  case PROP_LAYOUT:
    g_value_set_enum (value, config->layout);
    break;
  case PROP_CHANNELS:
    g_value_set_enum (value, config->channels);
    break;
  case PROP_RESIZE:
    g_value_set_enum (value, config->resize);
    break;
  case PROP_FILTER:
    g_value_set_enum (value, config->filter);
    break;
  case PROP_SCALE:
    g_value_set_float (value, config->scale);
    break;
  case PROP_MEAN:
    get_numbers (self->mean, value);
    break;
  case PROP_STD:
    get_numbers (self->std, value);
    break;
  case PROP_PAD:
    g_value_set_float (value, config->pad);
    break;
  case PROP_BATCH:
    g_value_set_uint (value, self->batch_size);
    break;
  case PROP_TENSOR_ID:
    g_value_set_string (value, self->tensor_id);
    break;
  case PROP_MISSING:
    g_value_set_enum (value, self->missing);
    break;
  case PROP_REGION:
    g_value_set_enum (value, self->region);
    break;
  case PROP_ROI_TYPE:
    g_value_set_string (value, g_quark_to_string (self->roi_type));
    break;
  case PROP_STATS:
    g_value_take_boxed (value, get_stats (self));
    break;
  default:
    G_OBJECT_WARN_INVALID_PROPERTY_ID (self, id, pspec);
  }
}

static void
gst_vkgdr_tensor_get_property (
    GObject *object, guint id, GValue *value, GParamSpec *pspec)
{
  GST_OBJECT_LOCK (object);
  get_property (GST_VKGDR_TENSOR (object), id, value, pspec);
  GST_OBJECT_UNLOCK (object);
}

/* --- the list ------------------------------------------------------------ */

static void
install_tensor (GObjectClass *object_class)
{
  /**
   * GstVkgdrTensor:width:
   *
   * Columns of the tensor.
   *
   * Since: 0.2
   */
  g_object_class_install_property (object_class, PROP_WIDTH,
      g_param_spec_int ("width", "Width",
          "Columns of the tensor (0 = those of the first pad's frames)", 0,
          MAX_SIZE, 0, FLAGS));
  /**
   * GstVkgdrTensor:height:
   *
   * Rows of the tensor.
   *
   * Since: 0.2
   */
  g_object_class_install_property (object_class, PROP_HEIGHT,
      g_param_spec_int ("height", "Height",
          "Rows of the tensor (0 = those of the first pad's frames)", 0,
          MAX_SIZE, 0, FLAGS));
  /**
   * GstVkgdrTensor:type:
   *
   * The type of the elements.
   *
   * Since: 0.2
   */
  g_object_class_install_property (object_class, PROP_TYPE,
      g_param_spec_enum ("type", "Type", "The type of the elements",
          GST_TYPE_VKGDR_TENSOR_TYPE, GST_VKGDR_TENSOR_TYPE_FLOAT32, FLAGS));
  /**
   * GstVkgdrTensor:layout:
   *
   * The order of the dimensions.
   *
   * Since: 0.2
   */
  g_object_class_install_property (object_class, PROP_LAYOUT,
      g_param_spec_enum ("layout", "Layout", "The order of the dimensions",
          GST_TYPE_VKGDR_TENSOR_LAYOUT, GST_VKGDR_TENSOR_LAYOUT_NCHW, FLAGS));
  /**
   * GstVkgdrTensor:channels:
   *
   * The channels and their order.
   *
   * Since: 0.2
   */
  g_object_class_install_property (object_class, PROP_CHANNELS,
      g_param_spec_enum ("channels", "Channels", "What the channels are",
          GST_TYPE_VKGDR_TENSOR_CHANNELS, GST_VKGDR_TENSOR_CHANNELS_RGB,
          FLAGS));
  /**
   * GstVkgdrTensor:tensor-id:
   *
   * A name for the meaning of the tensor, which is in its caps.
   *
   * Since: 0.2
   */
  g_object_class_install_property (object_class, PROP_TENSOR_ID,
      g_param_spec_string ("tensor-id", "Tensor ID",
          "A name for what the tensor means (in its caps; none if not set)",
          NULL, FLAGS));
}

static void
install_picture (GObjectClass *object_class)
{
  /**
   * GstVkgdrTensor:resize:
   *
   * How a picture is resized to the tensor.
   *
   * Since: 0.2
   */
  g_object_class_install_property (object_class, PROP_RESIZE,
      g_param_spec_enum ("resize", "Resize",
          "How a picture gets the size of the tensor",
          GST_TYPE_VKGDR_TENSOR_RESIZE, GST_VKGDR_TENSOR_RESIZE_STRETCH,
          FLAGS));
  /**
   * GstVkgdrTensor:filter:
   *
   * How samples are weighted if the size changes.
   *
   * Since: 0.2
   */
  g_object_class_install_property (object_class, PROP_FILTER,
      g_param_spec_enum ("filter", "Filter",
          "How samples are weighted if the size changes",
          GST_TYPE_VKGDR_TENSOR_FILTER, GST_VKGDR_TENSOR_FILTER_BILINEAR,
          FLAGS));
  /**
   * GstVkgdrTensor:pad:
   *
   * The sample, 0 to 255, of the padding that resize=letterbox needs. It is
   * scaled and normalised like other samples.
   *
   * Since: 0.2
   */
  g_object_class_install_property (object_class, PROP_PAD,
      g_param_spec_float ("pad", "Padding",
          "The sample of padding, before it is scaled and normalised", 0, 255,
          0, FLAGS));
  /**
   * GstVkgdrTensor:region:
   *
   * Which part of a frame is used.
   *
   * Since: 0.2
   */
  g_object_class_install_property (object_class, PROP_REGION,
      g_param_spec_enum ("region", "Region", "Which part of a frame is used",
          TYPE_REGION, GST_VKGDR_TENSOR_REGION_FRAME, FLAGS));
  /**
   * GstVkgdrTensor:roi-type:
   *
   * With region=roi, only regions of this type are used.
   *
   * Since: 0.2
   */
  g_object_class_install_property (object_class, PROP_ROI_TYPE,
      g_param_spec_string ("roi-type", "Type of regions",
          "With region=roi, the type of the regions that are used (all if not "
          "set)",
          NULL, FLAGS));
}

static void
install_numbers (GObjectClass *object_class)
{
  /**
   * GstVkgdrTensor:scale:
   *
   * The factor by which samples, 0 to 255, are multiplied. The value 0 means
   * 1/255 for floating-point types and 1 for integers. An element is (sample *
   * scale - mean) / std.
   *
   * Since: 0.2
   */
  g_object_class_install_property (object_class, PROP_SCALE,
      g_param_spec_float ("scale", "Scale",
          "Factor of the samples, which are 0 to 255 (0 = 1/255 for "
          "floating-point types, 1 for integers)",
          -G_MAXFLOAT, G_MAXFLOAT, 0, FLAGS));
  /**
   * GstVkgdrTensor:mean:
   *
   * The values that are subtracted from the scaled samples: one for each
   * channel, in their order, or a single one for all.
   *
   * Since: 0.2
   */
  g_object_class_install_property (object_class, PROP_MEAN,
      gst_param_spec_array ("mean", "Mean",
          "Values that are subtracted from the scaled samples: one for each "
          "channel, or one for all (0 if not set)",
          NULL, FLAGS));
  /**
   * GstVkgdrTensor:std:
   *
   * The values by which the differences from the mean are divided: one for each
   * channel, or a single one for all.
   *
   * Since: 0.2
   */
  g_object_class_install_property (object_class, PROP_STD,
      gst_param_spec_array ("std", "Standard deviation",
          "Values by which the differences from the mean are divided: one for "
          "each channel, or one for all (1 if not set)",
          NULL, FLAGS));
}

static void
install_batch (GObjectClass *object_class)
{
  /**
   * GstVkgdrTensor:batch:
   *
   * The number of frames of a batch. With one pad, these are consecutive
   * frames. With several pads, it is a multiple of their number, and the batch
   * has several rounds, each with a frame of every pad.
   *
   * Since: 0.2
   */
  g_object_class_install_property (object_class, PROP_BATCH,
      g_param_spec_uint ("batch", "Batch",
          "How many frames a batch has room for (0 = one of each pad)", 0,
          MAX_BATCH, 0, FLAGS));
  /**
   * GstVkgdrTensor:missing:
   *
   * How a batch is made if a pad has no frame in time: with the last frame of
   * the pad, or with one frame less.
   *
   * Since: 0.2
   */
  g_object_class_install_property (object_class, PROP_MISSING,
      g_param_spec_enum ("missing", "Missing frames",
          "How a batch is made if a pad has no frame in time", TYPE_MISSING,
          GST_VKGDR_TENSOR_MISSING_REPEAT, FLAGS));
  /**
   * GstVkgdrTensor:device:
   *
   * Index of the CUDA device. -1: the device of the neighbouring elements, or
   * else the device that gst_vkgdr_context_new() chooses.
   *
   * Since: 0.2
   */
  g_object_class_install_property (object_class, PROP_DEVICE,
      g_param_spec_int ("device", "Device",
          "Index of the CUDA device (-1 = the neighbours' device, else that of "
          "CUDA_DEVICE or ~/.cuda-device, else the first that works)",
          -1, G_MAXINT, -1, FLAGS));
  /**
   * GstVkgdrTensor:stats:
   *
   * Statistics since the element was started, all uint64: the fields `frames`
   * (input frames), `batches`, `repeated` and `left-out` (for missing frames),
   * and `kernel-time`, the mean time in nanoseconds that the device worked on a
   * frame (0 before the first result).
   *
   * Since: 0.2
   */
  g_object_class_install_property (object_class, PROP_STATS,
      g_param_spec_boxed ("stats", "Statistics",
          "What the element did since it was started", GST_TYPE_STRUCTURE,
          G_PARAM_READABLE | G_PARAM_STATIC_STRINGS));
}

void
gst_vkgdr_tensor_install_properties (GObjectClass *object_class)
{
  object_class->set_property = gst_vkgdr_tensor_set_property;
  object_class->get_property = gst_vkgdr_tensor_get_property;
  install_tensor (object_class);
  install_picture (object_class);
  install_numbers (object_class);
  install_batch (object_class);
  gst_type_mark_as_plugin_api (TYPE_MISSING, 0);
  gst_type_mark_as_plugin_api (TYPE_REGION, 0);
  gst_type_mark_as_plugin_api (GST_TYPE_VKGDR_TENSOR_TYPE, 0);
  gst_type_mark_as_plugin_api (GST_TYPE_VKGDR_TENSOR_LAYOUT, 0);
  gst_type_mark_as_plugin_api (GST_TYPE_VKGDR_TENSOR_CHANNELS, 0);
  gst_type_mark_as_plugin_api (GST_TYPE_VKGDR_TENSOR_RESIZE, 0);
  gst_type_mark_as_plugin_api (GST_TYPE_VKGDR_TENSOR_FILTER, 0);
}

void
gst_vkgdr_tensor_init_properties (GstVkgdrTensor *self)
{
  self->device = -1;
  self->config = gst_vkgdr_tensor_config_new (0, 0);
  self->mean = g_array_new (FALSE, FALSE, sizeof (gfloat));
  self->std = g_array_new (FALSE, FALSE, sizeof (gfloat));
}

void
gst_vkgdr_tensor_clear_properties (GstVkgdrTensor *self)
{
  g_clear_pointer (&self->config, gst_vkgdr_tensor_config_free);
  g_clear_pointer (&self->mean, g_array_unref);
  g_clear_pointer (&self->std, g_array_unref);
}
