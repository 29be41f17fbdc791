/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * tensor/properties.c: the properties of vkgdrtensor
 */

#include "tensor/tensor.h"

enum {
  PROP_DEVICE = 1,
  PROP_WIDTH,
  PROP_HEIGHT,
  PROP_TYPE,
  PROP_LAYOUT,
  PROP_BATCH,
  PROP_TENSOR_ID,
  PROP_MISSING,
  PROP_REGION,
  PROP_ROI_TYPE,
  PROP_MODELINFO,
  PROP_STATS,
  PROP_SETTINGS, /* and those behind it: tensor/settings.h */
  N_PROPERTIES = PROP_SETTINGS + GST_TENSOR_N_SETTINGS
};

/* The offsets of the fields in which the properties are stored. */
static const gsize fields[PROP_SETTINGS] = {
  [PROP_DEVICE] = G_STRUCT_OFFSET (GstVkgdrTensor, device),
  [PROP_WIDTH] = G_STRUCT_OFFSET (GstVkgdrTensor, settings.config.width),
  [PROP_HEIGHT] = G_STRUCT_OFFSET (GstVkgdrTensor, settings.config.height),
  [PROP_TYPE] = G_STRUCT_OFFSET (GstVkgdrTensor, settings.config.type),
  [PROP_LAYOUT] = G_STRUCT_OFFSET (GstVkgdrTensor, settings.config.layout),
  [PROP_BATCH] = G_STRUCT_OFFSET (GstVkgdrTensor, batch_size),
  [PROP_TENSOR_ID] = G_STRUCT_OFFSET (GstVkgdrTensor, tensor_id),
  [PROP_MISSING] = G_STRUCT_OFFSET (GstVkgdrTensor, missing),
  [PROP_REGION] = G_STRUCT_OFFSET (GstVkgdrTensor, region),
  [PROP_ROI_TYPE] = G_STRUCT_OFFSET (GstVkgdrTensor, roi_type),
  [PROP_MODELINFO] = G_STRUCT_OFFSET (GstVkgdrTensor, modelinfo),
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
        "Each GstVideoRegionOfInterestMeta, and each detected object, of the "
        "frame by itself",
        "roi" })

/* --- GObject ------------------------------------------------------------- */

static gpointer
get_field (GObject *object, guint id)
{
  if (id < PROP_SETTINGS)
    return (guint8 *) object + fields[id];
  return gst_tensor_settings_get_field (
      &GST_VKGDR_TENSOR (object)->settings, id - PROP_SETTINGS);
}

static void
gst_vkgdr_tensor_set_property (
    GObject *object, guint id, const GValue *value, GParamSpec *pspec)
{
  GST_OBJECT_LOCK (object);
  gst_tensor_field_set (get_field (object, id), value);
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
gst_vkgdr_tensor_get_property (
    GObject *object, guint id, GValue *value, GParamSpec *pspec)
{
  GST_OBJECT_LOCK (object);
  if (id == PROP_STATS)
    g_value_take_boxed (value, get_stats (GST_VKGDR_TENSOR (object)));
  else
    gst_tensor_field_get (get_field (object, id), value);
  GST_OBJECT_UNLOCK (object);
}

/* --- the list ------------------------------------------------------------ */

void
gst_vkgdr_tensor_install_properties (GObjectClass *object_class)
{
  GParamSpec *specs[N_PROPERTIES] = { NULL };

  object_class->set_property = gst_vkgdr_tensor_set_property;
  object_class->get_property = gst_vkgdr_tensor_get_property;
  specs[PROP_WIDTH] = g_param_spec_int ("width", "Width",
      "Columns of the tensor (0 = those of the first pad's frames)", 0,
      MAX_SIZE, 0, FLAGS);
  specs[PROP_HEIGHT] = g_param_spec_int ("height", "Height",
      "Rows of the tensor (0 = those of the first pad's frames)", 0, MAX_SIZE,
      0, FLAGS);
  specs[PROP_TYPE] =
      g_param_spec_enum ("type", "Type", "The type of the elements",
          GST_TYPE_VKGDR_TENSOR_TYPE, GST_VKGDR_TENSOR_TYPE_FLOAT32, FLAGS);
  specs[PROP_LAYOUT] =
      g_param_spec_enum ("layout", "Layout", "The order of the dimensions",
          GST_TYPE_VKGDR_TENSOR_LAYOUT, GST_VKGDR_TENSOR_LAYOUT_NCHW, FLAGS);
  /**
   * GstVkgdrTensor:tensor-id:
   *
   * A name for the meaning of the tensor, which is in its caps. The
   * #GstTensorMeta of a batch has it as its id, or "vkgdrtensor".
   *
   * Since: 0.2
   */
  specs[PROP_TENSOR_ID] = g_param_spec_string ("tensor-id", "Tensor ID",
      "A name for what the tensor means (in its caps; none if not set)", NULL,
      FLAGS);
  /**
   * GstVkgdrTensor:modelinfo:
   *
   * Path of a `.modelinfo` file of GStreamer's analytics library (1.28). The
   * first input in the file determines the size, type, layout and channels of
   * the tensor. The file also determines #GstVkgdrTensor:mean and
   * #GstVkgdrTensor:std (from the input's ranges), #GstVkgdrTensor:tensor-id
   * and #GstVkgdrTensor:batch, unless these properties are set.
   *
   * Since: 0.3
   */
  specs[PROP_MODELINFO] = g_param_spec_string ("modelinfo", "Model file",
      "A .modelinfo file of GStreamer's analytics library, whose input "
      "determines the tensor",
      NULL, FLAGS);
  specs[PROP_REGION] =
      g_param_spec_enum ("region", "Region", "Which part of a frame is used",
          TYPE_REGION, GST_VKGDR_TENSOR_REGION_FRAME, FLAGS);
  specs[PROP_ROI_TYPE] = g_param_spec_string ("roi-type", "Type of regions",
      "With region=roi, the type of the regions that are used (all if not "
      "set)",
      NULL, FLAGS);
  specs[PROP_BATCH] = g_param_spec_uint ("batch", "Batch",
      "How many frames a batch has room for (0 = one of each pad)", 0,
      MAX_BATCH, 0, FLAGS);
  specs[PROP_MISSING] = g_param_spec_enum ("missing", "Missing frames",
      "How a batch is made if a pad has no frame in time", TYPE_MISSING,
      GST_VKGDR_TENSOR_MISSING_REPEAT, FLAGS);
  specs[PROP_DEVICE] = g_param_spec_int ("device", "Device",
      "Index of the CUDA device (-1 = the neighbours' device, else that of "
      "CUDA_DEVICE or ~/.cuda-device, else the first that works)",
      -1, G_MAXINT, -1, FLAGS);
  /**
   * GstVkgdrTensor:stats:
   *
   * Statistics since the element was started, all uint64: the fields `frames`
   * (input frames), `batches`, `repeated` and `left-out` (for missing frames),
   * and `kernel-time`, the time in nanoseconds for which the device works on a
   * frame (the median of the last measurements; 0 before the first one).
   *
   * Since: 0.2
   */
  specs[PROP_STATS] = g_param_spec_boxed ("stats", "Statistics",
      "What the element did since it was started", GST_TYPE_STRUCTURE,
      G_PARAM_READABLE | G_PARAM_STATIC_STRINGS);
  gst_tensor_settings_make_specs (
      specs + PROP_SETTINGS, GST_VKGDR_TENSOR_RESIZE_STRETCH);
  g_object_class_install_properties (object_class, N_PROPERTIES, specs);
  gst_type_mark_as_plugin_api (TYPE_MISSING, 0);
  gst_type_mark_as_plugin_api (TYPE_REGION, 0);
  gst_type_mark_as_plugin_api (GST_TYPE_VKGDR_TENSOR_TYPE, 0);
  gst_type_mark_as_plugin_api (GST_TYPE_VKGDR_TENSOR_LAYOUT, 0);
}

void
gst_vkgdr_tensor_init_properties (GstVkgdrTensor *self)
{
  self->device = -1;
  gst_tensor_settings_init (&self->settings, GST_VKGDR_TENSOR_RESIZE_STRETCH);
}

void
gst_vkgdr_tensor_clear_properties (GstVkgdrTensor *self)
{
  gst_tensor_settings_clear (&self->settings);
}
