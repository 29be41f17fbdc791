/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * tensor/modelinfo.c: reads the input of a network from a .modelinfo file
 *
 * GStreamer 1.28 has these files beside models: a key file with a group for
 * each input and output. They are read here, so that any GStreamer can use
 * them.
 */

#include <string.h>

#include "tensor/settings.h"

#define HEAD "modelinfo"
#define SAMPLE_MAX 255.0f

static gboolean
fail (GError **error, const gchar *path, const gchar *what)
{
  g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_ARGUMENT,
      "The model file %s %s", path, what);
  return FALSE;
}

/* Returns the first group of an input, or NULL. The caller frees it. */
static gchar *
find_input (GKeyFile *file)
{
  gchar **groups = g_key_file_get_groups (file, NULL), *name = NULL;
  guint i;

  for (i = 0; groups[i] && !name; i++) {
    gchar *dir = g_key_file_get_string (file, groups[i], "dir", NULL);

    if (!g_str_equal (groups[i], HEAD) && (!dir || g_str_equal (dir, "input")))
      name = g_strdup (groups[i]);
    g_free (dir);
  }
  g_strfreev (groups);
  return name;
}

static gboolean
is_channels (gint size)
{
  return size == 1 || size == 3 || size == 4;
}

gboolean
gst_tensor_read_dims (const gint *dims, gsize n, GstVkgdrTensorConfig *config)
{
  const gint *last = dims + n - 3;
  gboolean is_nchw;
  gint channels;

  if (n < 3 || n > 4 || (!is_channels (last[0]) && !is_channels (last[2])))
    return FALSE;
  is_nchw = is_channels (last[0]);
  channels = is_nchw ? last[0] : last[2];
  config->layout =
      is_nchw ? GST_VKGDR_TENSOR_LAYOUT_NCHW : GST_VKGDR_TENSOR_LAYOUT_NHWC;
  if (last[is_nchw ? 1 : 0] > 0)
    config->height = last[is_nchw ? 1 : 0];
  if (last[is_nchw ? 2 : 1] > 0)
    config->width = last[is_nchw ? 2 : 1];
  if (channels != (gint) gst_vkgdr_tensor_config_get_n_channels (config))
    config->channels = channels == 1   ? GST_VKGDR_TENSOR_CHANNELS_GRAY
                       : channels == 3 ? GST_VKGDR_TENSOR_CHANNELS_RGB
                                       : GST_VKGDR_TENSOR_CHANNELS_RGBA;
  return TRUE;
}

/* @text has a range "min,max" for each channel, or one for all channels.
 * Samples of 0 to 255 are mapped to that range. Ranges are separated by
 * semicolons. */
static gboolean
read_ranges (const gchar *text, GstVkgdrTensorConfig *config)
{
  gchar **ranges = g_strsplit (text, ";", -1);
  guint i, n = g_strv_length (ranges);
  gboolean ok = n == 1 || n == gst_vkgdr_tensor_config_get_n_channels (config);

  for (i = 0; ok && i < GST_VKGDR_TENSOR_MAX_CHANNELS; i++) {
    gchar *rest, *end = NULL;
    gdouble min = g_ascii_strtod (ranges[MIN (i, n - 1)], &rest), max = min;

    if (*rest == ',')
      max = g_ascii_strtod (rest + 1, &end);
    ok = max != min && end != rest + 1;
    config->std[i] = (gfloat) (1 / (max - min));
    config->mean[i] = (gfloat) (-min / (max - min));
  }
  config->scale = 1 / SAMPLE_MAX;
  g_strfreev (ranges);
  return ok;
}

static gboolean
read_input (GKeyFile *file, const gchar *path, const gchar *name,
    GstVkgdrTensorConfig *config, guint *batch, GError **error)
{
  GEnumClass *types = g_type_class_ref (GST_TYPE_VKGDR_TENSOR_TYPE);
  gchar *type = g_key_file_get_string (file, name, "type", NULL);
  gchar *order = g_key_file_get_string (file, name, "dims-order", NULL);
  gchar *caps = g_key_file_get_string (file, name, "caps", NULL);
  gchar *ranges = g_key_file_get_string (file, name, "ranges", NULL);
  gsize n = 0;
  gint *dims = g_key_file_get_integer_list (file, name, "dims", &n, NULL);
  const GEnumValue *known =
      type ? g_enum_get_value_by_nick (types, type) : NULL;
  gboolean ok = TRUE;

  if (!known)
    ok = fail (error, path, "has an input of a type that is not supported");
  else if (g_strcmp0 (order, "col-major") == 0 || !dims
           || !gst_tensor_read_dims (dims, n, config))
    ok = fail (error, path,
        "has an input that is no picture: its last three dims have to be "
        "channels (1, 3 or 4), rows and columns, or rows, columns and "
        "channels, in row-major order");
  /* Version 1.1 has caps, which tell the order of red and blue. */
  if (ok && caps && gst_vkgdr_tensor_config_get_n_channels (config) == 3)
    config->channels = strstr (caps, "BGR") ? GST_VKGDR_TENSOR_CHANNELS_BGR
                                            : GST_VKGDR_TENSOR_CHANNELS_RGB;
  if (ok && ranges && !read_ranges (ranges, config))
    ok = fail (error, path,
        "has ranges that cannot be used: write min,max for each channel, with "
        "a semicolon between two of them");
  if (ok)
    config->type = known->value;
  if (ok && n == 4 && dims[0] > 0 && *batch == 0)
    *batch = dims[0];
  g_free (dims);
  g_free (ranges);
  g_free (caps);
  g_free (order);
  g_free (type);
  g_type_class_unref (types);
  return ok;
}

GKeyFile *
gst_tensor_modelinfo_open (const gchar *path, GError **error)
{
  GKeyFile *file = g_key_file_new ();
  gchar *version;

  g_key_file_set_list_separator (file, ',');
  if (!g_key_file_load_from_file (file, path, G_KEY_FILE_NONE, error)) {
    g_prefix_error (error, "The model file %s cannot be read: ", path);
    g_key_file_unref (file);
    return NULL;
  }
  version = g_key_file_get_string (file, HEAD, "version", NULL);
  if (!version || !g_str_has_prefix (version, "1.")) {
    fail (error, path, "is not of version 1 of GStreamer's format");
    g_clear_pointer (&file, g_key_file_unref);
  }
  g_free (version);
  return file;
}

gboolean
gst_tensor_modelinfo_read (GKeyFile *file, const gchar *path,
    const gchar *input, GstVkgdrTensorConfig *config, guint *batch,
    const gchar **tensor_id, GError **error)
{
  gchar *name = input ? g_strdup (input) : find_input (file);
  gchar *id = NULL;
  gboolean ok = FALSE;

  if (!name)
    fail (error, path, "has no input");
  else
    ok = read_input (file, path, name, config, batch, error);
  if (ok)
    id = g_key_file_get_string (file, name, "id", NULL);
  if (id && !*tensor_id && !g_str_has_prefix (id, "PLACEHOLDER"))
    *tensor_id = g_intern_string (id);
  g_free (id);
  g_free (name);
  return ok;
}
