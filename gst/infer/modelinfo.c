/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * infer/modelinfo.c: .modelinfo files of GStreamer's analytics library
 *
 * A file names the tensors of a network, so that decoders recognise them.
 */

#include <string.h>

#include "infer/network.h"

#define HEAD "modelinfo"

#define YOLO "yolo-v8-out"
#define YOLO_SEGMENTATION "yolo-v8-segmentation-out"

static gchar *
write_dims (const gint64 *dims, guint n)
{
  GString *text = g_string_new (NULL);
  guint i;

  for (i = 0; i < n; i++)
    g_string_append_printf (
        text, "%s%" G_GINT64_FORMAT, i ? "," : "", dims[i] > 0 ? dims[i] : -1);
  return g_string_free (text, FALSE);
}

/* --- reading ------------------------------------------------------------- */

static gboolean
check_type (GKeyFile *file, const gchar *path, const gchar *name,
    GstTensorDataType type, GError **error)
{
  gchar *given = g_key_file_get_string (file, name, "type", NULL);
  gboolean ok =
      !given || g_str_equal (given, gst_tensor_data_type_get_name (type));

  if (!ok)
    g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_ARGUMENT,
        "The model file %s says that \"%s\" has the type %s, but the network "
        "has %s: correct its type",
        path, name, given, gst_tensor_data_type_get_name (type));
  g_free (given);
  return ok;
}

gboolean
gst_infer_modelinfo_check (GKeyFile *file, const gchar *path, const gchar *name,
    GstTensorDataType type, gint64 *dims, guint n_dims, GError **error)
{
  gsize n = 0;
  guint i;
  gint *given;
  gboolean ok;

  if (!g_key_file_has_group (file, name))
    return TRUE;
  if (!check_type (file, path, name, type, error))
    return FALSE;
  given = g_key_file_get_integer_list (file, name, "dims", &n, NULL);
  ok = !given || n_dims == 0 || n == n_dims;
  for (i = 0; given && ok && i < n_dims; i++) {
    ok = given[i] <= 0 || dims[i] <= 0 || given[i] == dims[i];
    if (ok && dims[i] <= 0 && given[i] > 0)
      dims[i] = given[i];
  }
  g_free (given);
  if (!ok) {
    gchar *right = write_dims (dims, n_dims);
    gchar *wrong = g_key_file_get_string (file, name, "dims", NULL);

    g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_ARGUMENT,
        "The model file %s says that \"%s\" has the dims %s, but the network "
        "has %s: correct its dims",
        path, name, wrong, right);
    g_free (wrong);
    g_free (right);
  }
  return ok;
}

/* Returns the text, interned, or @other if there is none. */
static const gchar *
get_text (
    GKeyFile *file, const gchar *group, const gchar *key, const gchar *other)
{
  gchar *text = file ? g_key_file_get_string (file, group, key, NULL) : NULL;
  const gchar *result =
      text && !g_str_has_prefix (text, "PLACEHOLDER") ? text : other;

  result = g_intern_string (result);
  g_free (text);
  return result;
}

void
gst_infer_network_name (
    GstInferNetwork *self, GKeyFile *file, const gchar *model_file)
{
  gchar *base = g_path_get_basename (model_file);
  guint i;

  if (g_str_has_suffix (base, ".onnx"))
    base[strlen (base) - strlen (".onnx")] = 0;
  /* The group is the name of a field in caps. */
  g_strcanon (base, G_CSET_A_2_Z G_CSET_a_2_z G_CSET_DIGITS "-_", '-');
  if (!g_ascii_isalpha (*base))
    *base = 'x';
  self->group_id = get_text (file, HEAD, "group-id", base);
  g_free (base);
  for (i = 0; i < self->outputs->len; i++) {
    GstInferOutput *output = gst_infer_network_get_output (self, i);
    const gchar *order = get_text (file, output->name, "dims-order", "");

    output->id = get_text (file, output->name, "id", output->name);
    output->order = g_str_equal (order, "col-major")
                        ? GST_TENSOR_DIM_ORDER_COL_MAJOR
                        : GST_TENSOR_DIM_ORDER_ROW_MAJOR;
    output->boxes = output->type == GST_TENSOR_DATA_TYPE_FLOAT32
                        ? gst_infer_boxes_find (self->group_id, output->id)
                        : GST_INFER_BOXES_NONE;
  }
}

/* --- writing ------------------------------------------------------------- */

/* Whether this is an output of YOLO 8 to 11: x, y, width and height of many
 * boxes, and a score for each class. */
static gboolean
is_yolo (const GstInferOutput *output)
{
  return output->type == GST_TENSOR_DATA_TYPE_FLOAT32 && output->n_dims == 3
         && output->dims[0] <= 1 && output->dims[1] > 4
         && (output->dims[2] <= 0 || output->dims[2] > output->dims[1]);
}

/* Returns the group of a network whose outputs look like those of a decoder,
 * and sets @ids, or returns NULL. */
static const gchar *
guess_group (GstInferNetwork *self, const gchar **ids)
{
  guint n = self->outputs->len;

  if (n < 1 || n > 2 || !is_yolo (gst_infer_network_get_output (self, 0)))
    return NULL;
  if (n == 1) {
    ids[0] = YOLO;
    return YOLO;
  }
  if (gst_infer_network_get_output (self, 1)->n_dims != 4)
    return NULL;
  ids[0] = YOLO_SEGMENTATION "-detections";
  ids[1] = YOLO_SEGMENTATION "-protos";
  return YOLO_SEGMENTATION;
}

static void
write_input (GstInferNetwork *self, GString *text)
{
  const GstVkgdrTensorConfig *c = self->config;
  gint n = (gint) gst_vkgdr_tensor_config_get_n_channels (c);
  gint64 nchw[] = { 1, n, c->height, c->width };
  gint64 nhwc[] = { 1, c->height, c->width, n };
  gint64 *dims = c->layout == GST_VKGDR_TENSOR_LAYOUT_NCHW ? nchw : nhwc;
  guint skipped = self->input_rank == 3 ? 1 : 0;
  gchar *list = write_dims (dims + skipped, 4 - skipped);
  GstTensorDataType type = GST_TENSOR_DATA_TYPE_FLOAT32;
  gsize size = gst_infer_type_get (self->input_type, &type);

  g_string_append_printf (text,
      "[%s]\ndir=input\ntype=%s\ndims=%s\ndims-order=row-major\nranges=%s\n",
      self->input, gst_tensor_data_type_get_name (type), list,
      size == 1 ? "0.0,255.0" : "0.0,1.0");
  g_free (list);
}

gchar *
gst_infer_network_make_modelinfo (GstInferNetwork *self)
{
  const gchar *ids[2] = { NULL, NULL };
  const gchar *guess = guess_group (self, ids);
  GString *text = g_string_new (NULL);
  guint i;

  g_string_append_printf (text, "[" HEAD "]\nversion=1.0\ngroup-id=%s\n\n",
      guess ? guess : self->group_id);
  write_input (self, text);
  for (i = 0; i < self->outputs->len; i++) {
    GstInferOutput *output = gst_infer_network_get_output (self, i);
    gchar *list = write_dims (output->dims, output->n_dims);

    g_string_append_printf (text,
        "\n[%s]\ndir=output\nid=%s\ntype=%s\ndims=%s\ndims-order=%s\n",
        output->name, guess ? ids[i] : output->id,
        gst_tensor_data_type_get_name (output->type), list,
        guess || output->order == GST_TENSOR_DIM_ORDER_COL_MAJOR ? "col-major"
                                                                 : "row-major");
    g_free (list);
  }
  return g_string_free (text, FALSE);
}
