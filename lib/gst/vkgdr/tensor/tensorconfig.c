/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * tensor/tensorconfig.c: descriptions of tensors in C, as names, and in caps
 *
 * Knows neither frames nor devices.
 */

#include <math.h>

#include <gst/vkgdr/gstvkgdrerror.h>
#include <gst/vkgdr/gstvkgdrtensor.h>

#include "tensor/config.h"

/* The maximum width and height in pixels. Positions are fixed-point numbers,
 * and the sums of the filters must not overflow. */
#define MAX_SIZE 32767

#define SAMPLE_MAX 255.0f

/* --- enumerations -------------------------------------------------------- */

#define DEFINE_ENUM_TYPE(name, function, ...) \
  GType function (void) \
  { \
    static gsize type = 0; \
    static const GEnumValue values[] = { __VA_ARGS__, { 0, NULL, NULL } }; \
\
    if (g_once_init_enter (&type)) \
      g_once_init_leave (&type, g_enum_register_static (name, values)); \
    return type; \
  }

DEFINE_ENUM_TYPE ("GstVkgdrTensorType", gst_vkgdr_tensor_type_get_type,
    { GST_VKGDR_TENSOR_TYPE_FLOAT32, "Single precision", "float32" },
    { GST_VKGDR_TENSOR_TYPE_FLOAT16, "Half precision", "float16" },
    { GST_VKGDR_TENSOR_TYPE_BFLOAT16, "Upper half of single precision",
        "bfloat16" },
    { GST_VKGDR_TENSOR_TYPE_UINT8, "Unsigned bytes", "uint8" },
    { GST_VKGDR_TENSOR_TYPE_INT8, "Signed bytes", "int8" })

DEFINE_ENUM_TYPE ("GstVkgdrTensorLayout", gst_vkgdr_tensor_layout_get_type,
    { GST_VKGDR_TENSOR_LAYOUT_NCHW, "Frame, channel, row, column", "nchw" },
    { GST_VKGDR_TENSOR_LAYOUT_NHWC, "Frame, row, column, channel", "nhwc" })

DEFINE_ENUM_TYPE ("GstVkgdrTensorChannels", gst_vkgdr_tensor_channels_get_type,
    { GST_VKGDR_TENSOR_CHANNELS_RGB, "Red, green, blue", "rgb" },
    { GST_VKGDR_TENSOR_CHANNELS_BGR, "Blue, green, red", "bgr" },
    { GST_VKGDR_TENSOR_CHANNELS_GRAY, "Luma", "gray" },
    { GST_VKGDR_TENSOR_CHANNELS_RGBA, "Red, green, blue, alpha", "rgba" })

DEFINE_ENUM_TYPE ("GstVkgdrTensorResize", gst_vkgdr_tensor_resize_get_type,
    { GST_VKGDR_TENSOR_RESIZE_STRETCH,
        "The picture fills the tensor, whatever its aspect ratio", "stretch" },
    { GST_VKGDR_TENSOR_RESIZE_LETTERBOX,
        "The whole picture in its aspect ratio, and padding", "letterbox" },
    { GST_VKGDR_TENSOR_RESIZE_CROP,
        "The middle of the picture in its aspect ratio", "crop" })

DEFINE_ENUM_TYPE ("GstVkgdrTensorFilter", gst_vkgdr_tensor_filter_get_type,
    { GST_VKGDR_TENSOR_FILTER_NEAREST, "One sample", "nearest" },
    { GST_VKGDR_TENSOR_FILTER_BILINEAR, "The four samples around", "bilinear" },
    { GST_VKGDR_TENSOR_FILTER_AREA, "All samples that the new one covers",
        "area" })

DEFINE_ENUM_TYPE ("GstVkgdrTensorFields", gst_vkgdr_tensor_fields_get_type,
    { GST_VKGDR_TENSOR_FIELDS_BOTH, "Both fields, in alternate rows", "both" },
    { GST_VKGDR_TENSOR_FIELDS_TOP, "The top field, for all rows", "top" },
    { GST_VKGDR_TENSOR_FIELDS_BOTTOM, "The bottom field, for all rows",
        "bottom" },
    { GST_VKGDR_TENSOR_FIELDS_FIRST,
        "The field that was recorded first, for all rows", "first" })

/* --- the structure ------------------------------------------------------- */

/**
 * SECTION:gstvkgdrtensor
 * @title: Tensors
 * @short_description: frames as the input of a neural network
 *
 * A #GstVkgdrTensorConfig describes the input of a network. A
 * #GstVkgdrTensorConverter makes this input from frames of any size and format.
 * In one pass over the frame on the device, it resizes the frame, converts its
 * colours, normalises them, and writes the channels in the layout that the
 * network expects.
 *
 * Since: 0.2
 */

G_DEFINE_BOXED_TYPE (GstVkgdrTensorConfig, gst_vkgdr_tensor_config,
    gst_vkgdr_tensor_config_copy, gst_vkgdr_tensor_config_free)

/**
 * gst_vkgdr_tensor_config_new:
 * @width: columns of the tensor
 * @height: rows of the tensor
 *
 * Makes the description of a tensor of the type float32 in the layout nchw. It
 * has the channels red, green and blue from 0 to 1, and pictures are stretched
 * to its size with the bilinear filter. The caller may change all fields.
 *
 * Returns: (transfer full): the description
 *
 * Since: 0.2
 */
GstVkgdrTensorConfig *
gst_vkgdr_tensor_config_new (gint width, gint height)
{
  GstVkgdrTensorConfig *config = g_new0 (GstVkgdrTensorConfig, 1);
  guint i;

  config->width = width;
  config->height = height;
  config->filter = GST_VKGDR_TENSOR_FILTER_BILINEAR;
  for (i = 0; i < GST_VKGDR_TENSOR_MAX_CHANNELS; i++)
    config->std[i] = 1;
  return config;
}

/**
 * gst_vkgdr_tensor_config_copy:
 * @config: a description
 *
 * Returns: (transfer full): a copy of it
 *
 * Since: 0.2
 */
GstVkgdrTensorConfig *
gst_vkgdr_tensor_config_copy (const GstVkgdrTensorConfig *config)
{
  g_return_val_if_fail (config != NULL, NULL);

  return g_memdup2 (config, sizeof (*config));
}

/**
 * gst_vkgdr_tensor_config_free:
 * @config: (transfer full): a description
 *
 * Frees it.
 *
 * Since: 0.2
 */
void
gst_vkgdr_tensor_config_free (GstVkgdrTensorConfig *config)
{
  g_free (config);
}

/* A single value applies to all channels. */
static gboolean
set_values (gfloat *to, const gfloat *values, guint n_values, const gchar *what,
    GError **error)
{
  guint i;

  if (n_values == 0 || n_values > GST_VKGDR_TENSOR_MAX_CHANNELS) {
    g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_ARGUMENT,
        "%s has %u values; it takes one for all channels, or one for each, of "
        "which there are %d at most",
        what, n_values, GST_VKGDR_TENSOR_MAX_CHANNELS);
    return FALSE;
  }
  for (i = 0; i < GST_VKGDR_TENSOR_MAX_CHANNELS; i++)
    to[i] = values[MIN (i, n_values - 1)];
  return TRUE;
}

/**
 * gst_vkgdr_tensor_config_set_mean:
 * @config: a description
 * @values: (array length=n_values): the mean of each channel in the order of
 *   the channels, or one for all; further channels get the last one
 * @n_values: the number of @values
 * @error: return location for a #GError
 *
 * Sets the values that are subtracted from the scaled samples.
 *
 * Returns: %FALSE with @error set (%GST_VKGDR_ERROR_ARGUMENT) if @n_values is
 *   0, or larger than %GST_VKGDR_TENSOR_MAX_CHANNELS
 *
 * Since: 0.2
 */
gboolean
gst_vkgdr_tensor_config_set_mean (GstVkgdrTensorConfig *config,
    const gfloat *values, guint n_values, GError **error)
{
  g_return_val_if_fail (config != NULL, FALSE);

  return set_values (config->mean, values, n_values, "mean", error);
}

/**
 * gst_vkgdr_tensor_config_set_std:
 * @config: a description
 * @values: (array length=n_values): the standard deviation of each channel in
 *   the order of the channels, or one for all; further channels get the last
 *   one
 * @n_values: the number of @values
 * @error: return location for a #GError
 *
 * Sets the values by which the differences from the mean are divided.
 *
 * Returns: %FALSE with @error set (%GST_VKGDR_ERROR_ARGUMENT) if @n_values is
 *   0, or larger than %GST_VKGDR_TENSOR_MAX_CHANNELS
 *
 * Since: 0.2
 */
gboolean
gst_vkgdr_tensor_config_set_std (GstVkgdrTensorConfig *config,
    const gfloat *values, guint n_values, GError **error)
{
  g_return_val_if_fail (config != NULL, FALSE);

  return set_values (config->std, values, n_values, "std", error);
}

static gboolean
check_enum (GType type, gint value, const gchar *field, GError **error)
{
  GEnumClass *klass = g_type_class_ref (type);
  gboolean ok = g_enum_get_value (klass, value) != NULL;

  g_type_class_unref (klass);
  if (!ok)
    g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_ARGUMENT,
        "%d is no value of a tensor's %s", value, field);
  return ok;
}

static gboolean
check_numbers (const GstVkgdrTensorConfig *config, GError **error)
{
  guint i;

  for (i = 0; i < GST_VKGDR_TENSOR_MAX_CHANNELS; i++) {
    if (!isfinite (config->mean[i]) || !isfinite (config->std[i])) {
      g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_ARGUMENT,
          "The %s of channel %u is not a finite number",
          isfinite (config->mean[i]) ? "std" : "mean", i);
      return FALSE;
    }
    if (config->std[i] == 0) {
      g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_ARGUMENT,
          "The std of channel %u is 0, but differences from the mean are "
          "divided by it",
          i);
      return FALSE;
    }
  }
  if (config->pad >= 0 && config->pad <= SAMPLE_MAX)
    return TRUE;
  g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_ARGUMENT,
      "pad is %g, but samples are 0 to 255", config->pad);
  return FALSE;
}

gboolean
gst_vkgdr_tensor_config_check (
    const GstVkgdrTensorConfig *config, GError **error)
{
  if (config->width < 1 || config->width > MAX_SIZE || config->height < 1
      || config->height > MAX_SIZE) {
    g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_ARGUMENT,
        "A tensor cannot have %dx%d pixels: width and height are 1 to %d",
        config->width, config->height, MAX_SIZE);
    return FALSE;
  }
  return check_enum (GST_TYPE_VKGDR_TENSOR_TYPE, config->type, "type", error)
         && check_enum (
             GST_TYPE_VKGDR_TENSOR_LAYOUT, config->layout, "layout", error)
         && check_enum (GST_TYPE_VKGDR_TENSOR_CHANNELS, config->channels,
             "channels", error)
         && check_enum (
             GST_TYPE_VKGDR_TENSOR_RESIZE, config->resize, "resize", error)
         && check_enum (
             GST_TYPE_VKGDR_TENSOR_FILTER, config->filter, "filter", error)
         && check_enum (
             GST_TYPE_VKGDR_TENSOR_FIELDS, config->fields, "fields", error)
         && check_numbers (config, error);
}

/* --- properties ----------------------------------------------------------- */

gboolean
gst_vkgdr_tensor_config_is_integer (const GstVkgdrTensorConfig *config)
{
  return config->type == GST_VKGDR_TENSOR_TYPE_UINT8
         || config->type == GST_VKGDR_TENSOR_TYPE_INT8;
}

gfloat
gst_vkgdr_tensor_config_get_scale (const GstVkgdrTensorConfig *config)
{
  if (config->scale != 0)
    return config->scale;
  return gst_vkgdr_tensor_config_is_integer (config) ? 1 : 1 / SAMPLE_MAX;
}

gsize
gst_vkgdr_tensor_config_get_element_size (const GstVkgdrTensorConfig *config)
{
  switch (config->type) {
  case GST_VKGDR_TENSOR_TYPE_FLOAT32:
    return 4;
  case GST_VKGDR_TENSOR_TYPE_FLOAT16:
  case GST_VKGDR_TENSOR_TYPE_BFLOAT16:
    return 2;
  case GST_VKGDR_TENSOR_TYPE_UINT8:
  case GST_VKGDR_TENSOR_TYPE_INT8:
    return 1;
  }
  return 0;
}

/**
 * gst_vkgdr_tensor_config_get_n_channels:
 * @config: a description
 *
 * Returns: the number of channels
 *
 * Since: 0.2
 */
guint
gst_vkgdr_tensor_config_get_n_channels (const GstVkgdrTensorConfig *config)
{
  g_return_val_if_fail (config != NULL, 0);

  switch (config->channels) {
  case GST_VKGDR_TENSOR_CHANNELS_GRAY:
    return 1;
  case GST_VKGDR_TENSOR_CHANNELS_RGBA:
    return 4;
  case GST_VKGDR_TENSOR_CHANNELS_RGB:
  case GST_VKGDR_TENSOR_CHANNELS_BGR:
    return 3;
  }
  return 0;
}

/**
 * gst_vkgdr_tensor_config_get_frame_size:
 * @config: a description
 *
 * Returns: the bytes of one frame in a tensor; the frames of a batch are
 *   consecutive
 *
 * Since: 0.2
 */
gsize
gst_vkgdr_tensor_config_get_frame_size (const GstVkgdrTensorConfig *config)
{
  g_return_val_if_fail (config != NULL, 0);

  return (gsize) config->width * config->height
         * gst_vkgdr_tensor_config_get_n_channels (config)
         * gst_vkgdr_tensor_config_get_element_size (config);
}

const gchar *
gst_vkgdr_tensor_config_get_type_name (const GstVkgdrTensorConfig *config)
{
  GEnumClass *klass = g_type_class_ref (GST_TYPE_VKGDR_TENSOR_TYPE);
  const GEnumValue *value = g_enum_get_value (klass, config->type);

  g_type_class_unref (klass);
  return value ? value->value_nick : "";
}

static void
append_dim (GValue *dims, gint size)
{
  GValue value = G_VALUE_INIT;

  g_value_init (&value, G_TYPE_INT);
  g_value_set_int (&value, size);
  gst_value_array_append_and_take_value (dims, &value);
}

/**
 * gst_vkgdr_tensor_config_to_caps:
 * @config: a description
 * @batch: frames in the tensor, at least 1
 * @tensor_id: (nullable): a name for the meaning of the tensor
 *
 * Makes the caps of a tensor, as GStreamer's analytics library defines them:
 * the media type `tensor/strided` with the fields `dims`, `dims-order`
 * (row-major), `type` and, if it is given, `tensor-id`. They have the feature
 * %GST_CAPS_FEATURE_MEMORY_VKGDR_MEMORY.
 *
 * Returns: (transfer full): the caps
 *
 * Since: 0.2
 */
GstCaps *
gst_vkgdr_tensor_config_to_caps (
    const GstVkgdrTensorConfig *config, guint batch, const gchar *tensor_id)
{
  gint channels = gst_vkgdr_tensor_config_get_n_channels (config);
  GValue dims = G_VALUE_INIT;
  GstCaps *caps;

  g_return_val_if_fail (config != NULL, NULL);
  g_return_val_if_fail (batch > 0, NULL);

  caps = gst_caps_new_simple (GST_VKGDR_TENSOR_MEDIA_TYPE, "dims-order",
      G_TYPE_STRING, "row-major", "type", G_TYPE_STRING,
      gst_vkgdr_tensor_config_get_type_name (config), NULL);
  gst_caps_set_features (caps, 0,
      gst_caps_features_new (GST_CAPS_FEATURE_MEMORY_VKGDR_MEMORY, NULL));
  g_value_init (&dims, GST_TYPE_ARRAY);
  append_dim (&dims, batch);
  if (config->layout == GST_VKGDR_TENSOR_LAYOUT_NCHW)
    append_dim (&dims, channels);
  append_dim (&dims, config->height);
  append_dim (&dims, config->width);
  if (config->layout == GST_VKGDR_TENSOR_LAYOUT_NHWC)
    append_dim (&dims, channels);
  gst_caps_set_value (caps, "dims", &dims);
  g_value_unset (&dims);
  if (tensor_id)
    gst_caps_set_simple (caps, "tensor-id", G_TYPE_STRING, tensor_id, NULL);
  return caps;
}

static gboolean
parse_type (const GstStructure *structure, GstVkgdrTensorType *type)
{
  const gchar *name = gst_structure_get_string (structure, "type");
  GEnumClass *klass = g_type_class_ref (GST_TYPE_VKGDR_TENSOR_TYPE);
  const GEnumValue *value =
      name ? g_enum_get_value_by_nick (klass, name) : NULL;

  if (value)
    *type = value->value;
  g_type_class_unref (klass);
  return value != NULL;
}

/* Returns the sizes, which the caller frees, or NULL if one is missing or not
 * fixed. */
static gint *
parse_dims (const GstStructure *structure, guint *n_dims)
{
  const GValue *array = gst_structure_get_value (structure, "dims");
  guint i, n = 0;
  gint *dims;

  if (array && GST_VALUE_HOLDS_ARRAY (array))
    n = gst_value_array_get_size (array);
  if (n == 0)
    return NULL;
  dims = g_new0 (gint, n);
  for (i = 0; i < n; i++) {
    const GValue *size = gst_value_array_get_value (array, i);

    dims[i] = G_VALUE_HOLDS_INT (size) ? g_value_get_int (size) : -1;
    if (dims[i] < 0) {
      g_free (dims);
      return NULL;
    }
  }
  *n_dims = n;
  return dims;
}

static gboolean
is_row_major (const GstStructure *structure)
{
  const gchar *order = gst_structure_get_string (structure, "dims-order");

  return order == NULL || g_str_equal (order, "row-major");
}

/**
 * gst_vkgdr_tensor_caps_parse:
 * @caps: caps
 * @type: (out): the type of the elements
 * @dims: (out) (transfer full) (array length=n_dims): the size of each
 *   dimension, 0 if it varies, which the caller frees with g_free()
 * @n_dims: (out): the number of dimensions
 * @error: return location for a #GError
 *
 * Reads the caps of gst_vkgdr_tensor_config_to_caps(), and those of tensors
 * with another number of dimensions.
 *
 * Thread-safe.
 *
 * Returns: %FALSE with @error set (%GST_VKGDR_ERROR_ARGUMENT) if @caps are not
 *   fixed caps of a row-major tensor of one of these types
 *
 * Since: 0.2
 */
gboolean
gst_vkgdr_tensor_caps_parse (const GstCaps *caps, GstVkgdrTensorType *type,
    gint **dims, guint *n_dims, GError **error)
{
  const GstStructure *structure;
  gchar *text;

  g_return_val_if_fail (GST_IS_CAPS (caps), FALSE);
  g_return_val_if_fail (type != NULL, FALSE);
  g_return_val_if_fail (dims != NULL && n_dims != NULL, FALSE);

  *dims = NULL;
  *n_dims = 0;
  structure =
      gst_caps_is_fixed (caps) ? gst_caps_get_structure (caps, 0) : NULL;
  if (structure
      && gst_structure_has_name (structure, GST_VKGDR_TENSOR_MEDIA_TYPE)
      && is_row_major (structure) && parse_type (structure, type)) {
    *dims = parse_dims (structure, n_dims);
    if (*dims)
      return TRUE;
  }
  text = gst_caps_to_string (caps);
  g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_ARGUMENT,
      "The caps %s do not describe a tensor that can be read", text);
  g_free (text);
  return FALSE;
}
