/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * tensor/settings.c: the properties that describe how frames become a tensor
 */

#include "tensor/settings.h"

#include <math.h>

#define FLAGS \
  (G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | GST_PARAM_MUTABLE_READY)

static const gsize offsets[GST_TENSOR_N_SETTINGS] = {
  [GST_TENSOR_SETTING_CHANNELS] =
      G_STRUCT_OFFSET (GstTensorSettings, config.channels),
  [GST_TENSOR_SETTING_RESIZE] =
      G_STRUCT_OFFSET (GstTensorSettings, config.resize),
  [GST_TENSOR_SETTING_FILTER] =
      G_STRUCT_OFFSET (GstTensorSettings, config.filter),
  [GST_TENSOR_SETTING_FIELDS] =
      G_STRUCT_OFFSET (GstTensorSettings, config.fields),
  [GST_TENSOR_SETTING_SCALE] =
      G_STRUCT_OFFSET (GstTensorSettings, config.scale),
  [GST_TENSOR_SETTING_MEAN] = G_STRUCT_OFFSET (GstTensorSettings, mean),
  [GST_TENSOR_SETTING_STD] = G_STRUCT_OFFSET (GstTensorSettings, std),
  [GST_TENSOR_SETTING_PAD] = G_STRUCT_OFFSET (GstTensorSettings, config.pad),
};

void
gst_tensor_settings_init (GstTensorSettings *self, GstVkgdrTensorResize resize)
{
  GstVkgdrTensorConfig *config = gst_vkgdr_tensor_config_new (0, 0);

  self->config = *config;
  self->config.resize = resize;
  gst_vkgdr_tensor_config_free (config);
  g_value_init (&self->mean, GST_TYPE_ARRAY);
  g_value_init (&self->std, GST_TYPE_ARRAY);
}

void
gst_tensor_settings_clear (GstTensorSettings *self)
{
  g_value_unset (&self->mean);
  g_value_unset (&self->std);
}

void
gst_tensor_settings_make_specs (GParamSpec **specs, GstVkgdrTensorResize resize)
{
  specs[GST_TENSOR_SETTING_CHANNELS] =
      g_param_spec_enum ("channels", "Channels", "What the channels are",
          GST_TYPE_VKGDR_TENSOR_CHANNELS, GST_VKGDR_TENSOR_CHANNELS_RGB, FLAGS);
  specs[GST_TENSOR_SETTING_RESIZE] = g_param_spec_enum ("resize", "Resize",
      "How a picture gets the size of the tensor", GST_TYPE_VKGDR_TENSOR_RESIZE,
      resize, FLAGS);
  specs[GST_TENSOR_SETTING_FILTER] = g_param_spec_enum ("filter", "Filter",
      "How samples are weighted if the size changes",
      GST_TYPE_VKGDR_TENSOR_FILTER, GST_VKGDR_TENSOR_FILTER_BILINEAR, FLAGS);
  /* A network that was trained with progressive pictures mostly needs one field
   * if things move. */
  specs[GST_TENSOR_SETTING_FIELDS] = g_param_spec_enum ("fields", "Fields",
      "Which fields of an interlaced frame are used",
      GST_TYPE_VKGDR_TENSOR_FIELDS, GST_VKGDR_TENSOR_FIELDS_BOTH, FLAGS);
  specs[GST_TENSOR_SETTING_PAD] = g_param_spec_float ("pad", "Padding",
      "The sample of padding, before it is scaled and normalised", 0, 255, 0,
      FLAGS);
  specs[GST_TENSOR_SETTING_SCALE] = g_param_spec_float ("scale", "Scale",
      "Factor of the samples, which are 0 to 255 (0 = 1/255 for "
      "floating-point types, 1 for integers)",
      -G_MAXFLOAT, G_MAXFLOAT, 0, FLAGS);
  specs[GST_TENSOR_SETTING_MEAN] = gst_param_spec_array ("mean", "Mean",
      "Values that are subtracted from the scaled samples: one for each "
      "channel, or one for all (0 if not set)",
      NULL, FLAGS);
  specs[GST_TENSOR_SETTING_STD] =
      gst_param_spec_array ("std", "Standard deviation",
          "Values by which the differences from the mean are divided: one for "
          "each channel, or one for all (1 if not set)",
          NULL, FLAGS);
  gst_type_mark_as_plugin_api (GST_TYPE_VKGDR_TENSOR_CHANNELS, 0);
  gst_type_mark_as_plugin_api (GST_TYPE_VKGDR_TENSOR_RESIZE, 0);
  gst_type_mark_as_plugin_api (GST_TYPE_VKGDR_TENSOR_FILTER, 0);
  gst_type_mark_as_plugin_api (GST_TYPE_VKGDR_TENSOR_FIELDS, 0);
}

gpointer
gst_tensor_settings_get_field (
    GstTensorSettings *self, GstTensorSetting setting)
{
  return (guint8 *) self + offsets[setting];
}

/* Replaces @numbers by those of @array, if it has any. A value that is not a
 * number becomes NAN, which the converter refuses. */
static gboolean
read_numbers (const GValue *array, guint n_channels, gfloat *numbers,
    const gchar *what, GError **error)
{
  guint i, n = gst_value_array_get_size (array);

  if (n > 1 && n != n_channels) {
    g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_ARGUMENT,
        "%s has %u values: set one for each of the %u channels, or one for all",
        what, n, n_channels);
    return FALSE;
  }
  for (i = 0; n > 0 && i < GST_VKGDR_TENSOR_MAX_CHANNELS; i++) {
    const GValue *given = gst_value_array_get_value (array, MIN (i, n - 1));
    GValue number = G_VALUE_INIT;

    g_value_init (&number, G_TYPE_FLOAT);
    /* GStreamer converts any text that is not a number to 0. */
    numbers[i] =
        !G_VALUE_HOLDS_STRING (given) && g_value_transform (given, &number)
            ? g_value_get_float (&number)
            : NAN;
    g_value_unset (&number);
  }
  return TRUE;
}

gboolean
gst_tensor_settings_read_numbers (
    const GstTensorSettings *self, GstVkgdrTensorConfig *config, GError **error)
{
  guint n = gst_vkgdr_tensor_config_get_n_channels (config);

  return read_numbers (&self->mean, n, config->mean, "mean", error)
         && read_numbers (&self->std, n, config->std, "std", error);
}

void
gst_tensor_field_set (gpointer field, const GValue *value)
{
  if (G_VALUE_HOLDS_BOOLEAN (value))
    *(gboolean *) field = g_value_get_boolean (value);
  else if (G_VALUE_HOLDS_INT (value))
    *(gint *) field = g_value_get_int (value);
  else if (G_VALUE_HOLDS_UINT (value))
    *(guint *) field = g_value_get_uint (value);
  else if (G_VALUE_HOLDS_ENUM (value))
    *(gint *) field = g_value_get_enum (value);
  else if (G_VALUE_HOLDS_FLOAT (value))
    *(gfloat *) field = g_value_get_float (value);
  else if (G_VALUE_HOLDS_STRING (value))
    *(const gchar **) field = g_intern_string (g_value_get_string (value));
  else
    g_value_copy (value, field);
}

void
gst_tensor_field_get (gconstpointer field, GValue *value)
{
  if (G_VALUE_HOLDS_BOOLEAN (value))
    g_value_set_boolean (value, *(const gboolean *) field);
  else if (G_VALUE_HOLDS_INT (value))
    g_value_set_int (value, *(const gint *) field);
  else if (G_VALUE_HOLDS_UINT (value))
    g_value_set_uint (value, *(const guint *) field);
  else if (G_VALUE_HOLDS_ENUM (value))
    g_value_set_enum (value, *(const gint *) field);
  else if (G_VALUE_HOLDS_FLOAT (value))
    g_value_set_float (value, *(const gfloat *) field);
  else if (G_VALUE_HOLDS_STRING (value))
    g_value_set_static_string (value, *(const gchar *const *) field);
  else
    g_value_copy (field, value);
}
