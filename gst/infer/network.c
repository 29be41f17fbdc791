/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * infer/network.c: an ONNX network that takes a picture
 *
 * Opens the network, and checks everything that ONNX Runtime checks only when
 * the network runs.
 */

#include "infer/network.h"

#include <string.h>

#define GST_CAT_DEFAULT gst_infer_debug

/* The type and dims of an input or output. */
typedef struct {
  OrtTypeInfo *info; /* owns `names` */
  ONNXTensorElementDataType onnx_type;
  GstTensorDataType type;
  guint n_dims;
  gint64 dims[GST_INFER_MAX_DIMS];       /* -1: open */
  const char *names[GST_INFER_MAX_DIMS]; /* of open dims, or "" */
} Shape;

static gboolean fail (GError **error, const gchar *format, ...)
    G_GNUC_PRINTF (2, 3);

static gboolean
fail (GError **error, const gchar *format, ...)
{
  va_list args;

  va_start (args, format);
  if (error)
    *error = g_error_new_valist (
        GST_VKGDR_ERROR, GST_VKGDR_ERROR_ARGUMENT, format, args);
  va_end (args);
  return FALSE;
}

/* --- the session --------------------------------------------------------- */

/* Replaces the text of ONNX Runtime by what the user can do. */
static void
explain_refusal (
    const GstOrt *ort, OrtStatus *status, const gchar *path, GError **error)
{
  const char *text = ort->api->GetErrorMessage (status);
  OrtErrorCode code = ort->api->GetErrorCode (status);

  GST_WARNING ("%s: %s", path, text);
  if (code == ORT_INVALID_PROTOBUF || code == ORT_NO_MODEL
      || strstr (text, "ModelProto does not have a graph"))
    fail (error, "The file %s is damaged, or it is no ONNX model", path);
  else if (strstr (text, "IR version") || strstr (text, "is under development"))
    fail (error,
        "The model %s is newer than ONNX Runtime %s: install a newer ONNX "
        "Runtime, or export the model with a lower opset",
        path, ort->version);
  else if (code == ORT_NOT_IMPLEMENTED || strstr (text, "No Op registered"))
    fail (error,
        "The model %s has an operator that ONNX Runtime %s does not have: %s",
        path, ort->version, text);
  else
    fail (error, "ONNX Runtime %s cannot open the model %s: %s", ort->version,
        path, text);
  ort->api->ReleaseStatus (status);
}

/* Adds the CUDA provider, which runs on the element's stream if it can. A
 * provider that does not know these options ignores them, so only that one gets
 * them with which they were tried. */
static OrtStatus *
add_cuda (GstInferNetwork *self, const GstInferOptions *options,
    OrtSessionOptions *session)
{
  const GstOrt *ort = self->ort;
  gchar *handle = g_strdup_printf ("%" G_GSIZE_FORMAT,
      (gsize) gst_vkgdr_stream_get_handle (options->stream));
  const gchar *keys[] = { "user_compute_stream", "has_user_compute_stream" };
  const gchar *values[] = { handle, "1" };
  OrtStatus *status;

  self->has_stream = g_str_equal (
      ort->api->EpDevice_EpName (options->cuda), "CUDAExecutionProvider");
  status = ort->api->SessionOptionsAppendExecutionProvider_V2 (session,
      ort->env, &options->cuda, 1, keys, values, self->has_stream ? 2 : 0);
  if (status && self->has_stream) {
    GST_INFO ("no stream: %s", ort->api->GetErrorMessage (status));
    ort->api->ReleaseStatus (status);
    self->has_stream = FALSE;
    status = ort->api->SessionOptionsAppendExecutionProvider_V2 (
        session, ort->env, &options->cuda, 1, NULL, NULL, 0);
  }
  g_free (handle);
  return status;
}

static gboolean
open_session (
    GstInferNetwork *self, const GstInferOptions *options, GError **error)
{
  const GstOrt *ort = self->ort;
  OrtSessionOptions *session = NULL;
  OrtStatus *status = NULL;
  gboolean ok;

  ok = gst_ort_check (ort, ort->api->CreateSessionOptions (&session),
           "CreateSessionOptions", error)
       && gst_ort_check (ort, ort->api->DisablePerSessionThreads (session),
           "DisablePerSessionThreads", error)
       && (!options->cuda
           || gst_ort_check (ort, add_cuda (self, options, session),
               "SessionOptionsAppendExecutionProvider_V2", error));
  if (ok) {
    status = ort->api->CreateSession (
        ort->env, options->model_file, session, &self->session);
    ok = !status;
  }
  if (status)
    explain_refusal (ort, status, options->model_file, error);
  if (session)
    ort->api->ReleaseSessionOptions (session);
  return ok;
}

static gboolean
open_runs (GstInferNetwork *self, GError **error)
{
  const OrtApi *api = self->ort->api;
  OrtStatus *info = self->is_cuda
                        ? api->CreateMemoryInfo ("Cuda", OrtDeviceAllocator,
                            gst_vkgdr_context_get_device (self->context),
                            OrtMemTypeDefault, &self->memory_info)
                        : api->CreateCpuMemoryInfo (OrtDeviceAllocator,
                            OrtMemTypeDefault, &self->memory_info);

  return gst_ort_check (self->ort, info, "CreateMemoryInfo", error)
         && gst_ort_check (self->ort,
             api->CreateRunOptions (&self->run_options), "CreateRunOptions",
             error)
         && gst_ort_check (self->ort,
             api->CreateIoBinding (self->session, &self->binding),
             "CreateIoBinding", error);
}

/* --- inputs and outputs -------------------------------------------------- */

/* The caller releases shape->info. */
static gboolean
read_tensor (const GstOrt *ort, const gchar *name, Shape *shape, GError **error)
{
  const OrtTensorTypeAndShapeInfo *tensor = NULL;
  const OrtApi *api = ort->api;
  size_t n = 0;

  if (!gst_ort_check (ort, api->CastTypeInfoToTensorInfo (shape->info, &tensor),
          "CastTypeInfoToTensorInfo", error))
    return FALSE;
  if (!tensor)
    return fail (error, "\"%s\" of the network is no tensor", name);
  if (!gst_ort_check (ort,
          api->GetTensorElementType (tensor, &shape->onnx_type),
          "GetTensorElementType", error)
      || !gst_ort_check (ort, api->GetDimensionsCount (tensor, &n),
          "GetDimensionsCount", error))
    return FALSE;
  if (gst_infer_type_get (shape->onnx_type, &shape->type) == 0)
    return fail (error,
        "\"%s\" of the network has a type that GStreamer does not have (%d of "
        "ONNX): add a Cast to the model",
        name, shape->onnx_type);
  if (n > GST_INFER_MAX_DIMS)
    return fail (error,
        "\"%s\" of the network has %" G_GSIZE_FORMAT " dims, "
        "more than %d",
        name, n, GST_INFER_MAX_DIMS);
  shape->n_dims = (guint) n;
  return gst_ort_check (ort, api->GetDimensions (tensor, shape->dims, n),
             "GetDimensions", error)
         && gst_ort_check (ort,
             api->GetSymbolicDimensions (tensor, shape->names, n),
             "GetSymbolicDimensions", error);
}

static gboolean
read_shape (GstInferNetwork *self, gboolean is_input, size_t i, gchar **name,
    Shape *shape, GError **error)
{
  const OrtApi *api = self->ort->api;
  char *text = NULL;
  OrtStatus *status = is_input ? api->SessionGetInputName (
                          self->session, i, self->ort->allocator, &text)
                               : api->SessionGetOutputName (self->session, i,
                                   self->ort->allocator, &text);

  memset (shape, 0, sizeof (*shape));
  if (!gst_ort_check (self->ort, status, "SessionGetInputName", error))
    return FALSE;
  *name = g_strdup (text);
  gst_ort_check (self->ort, api->AllocatorFree (self->ort->allocator, text),
      "AllocatorFree", NULL);
  status = is_input
               ? api->SessionGetInputTypeInfo (self->session, i, &shape->info)
               : api->SessionGetOutputTypeInfo (self->session, i, &shape->info);
  return gst_ort_check (self->ort, status, "SessionGetInputTypeInfo", error)
         && read_tensor (self->ort, *name, shape, error);
}

/* The types that frames can be converted to. */
static gboolean
set_type (GstVkgdrTensorConfig *config, GstTensorDataType type)
{
  GEnumClass *types = g_type_class_ref (GST_TYPE_VKGDR_TENSOR_TYPE);
  const GEnumValue *value =
      g_enum_get_value_by_nick (types, gst_tensor_data_type_get_name (type));

  if (value)
    config->type = value->value;
  g_type_class_unref (types);
  return value != NULL;
}

static gboolean
set_input (GstInferNetwork *self, Shape *shape, GError **error)
{
  gint dims[GST_INFER_MAX_DIMS];
  guint i;

  if (!set_type (self->config, shape->type))
    return fail (error,
        "The input \"%s\" of the network has the type %s: it has to be "
        "float32, "
        "float16, bfloat16, uint8 or int8",
        self->input, gst_tensor_data_type_get_name (shape->type));
  for (i = 0; i < shape->n_dims; i++)
    dims[i] = (gint) CLAMP (shape->dims[i], -1, G_MAXINT);
  if (!gst_tensor_read_dims (dims, shape->n_dims, self->config))
    return fail (error,
        "The input \"%s\" of the network is no picture: its last three dims "
        "have "
        "to be channels (1, 3 or 4), rows and columns, or rows, columns and "
        "channels. If the model leaves them open, write them into its "
        ".modelinfo",
        self->input);
  if (shape->n_dims == 4 && dims[0] > 1)
    return fail (error,
        "The network takes %d pictures at once: export the model with a batch "
        "of 1, or with an open batch",
        dims[0]);
  if (shape->n_dims == 4)
    shape->dims[0] = 1;
  self->input_rank = shape->n_dims;
  self->input_type = shape->onnx_type;
  return TRUE;
}

/* Reads the section of the input. What it does not say is that of the network.
 */
static gboolean
read_section (GstInferNetwork *self, GKeyFile *file, const gchar *path,
    Shape *shape, GError **error)
{
  gint dims[GST_INFER_MAX_DIMS];
  const gchar *id = "";
  guint i, batch = 1;

  if (!gst_infer_modelinfo_check (file, path, self->input, shape->type,
          shape->dims, shape->n_dims, error))
    return FALSE;
  for (i = 0; i < shape->n_dims; i++)
    dims[i] = (gint) CLAMP (shape->dims[i], -1, G_MAXINT);
  g_key_file_set_integer_list (file, self->input, "dims", dims, shape->n_dims);
  g_key_file_set_string (
      file, self->input, "type", gst_tensor_data_type_get_name (shape->type));
  return gst_tensor_modelinfo_read (
      file, path, self->input, self->config, &batch, &id, error);
}

/* Reads the input. @shape is also used to complete outputs. */
static gboolean
read_input (GstInferNetwork *self, const GstInferOptions *options,
    GKeyFile *file, const gchar *path, Shape *shape, GError **error)
{
  const OrtApi *api = self->ort->api;
  size_t n = 0;

  self->config = gst_vkgdr_tensor_config_copy (&options->settings->config);
  if (!gst_ort_check (self->ort, api->SessionGetInputCount (self->session, &n),
          "SessionGetInputCount", error))
    return FALSE;
  if (n != 1)
    return fail (error,
        "The network has %" G_GSIZE_FORMAT " inputs: it has to have one, which "
        "is the picture",
        n);
  if (!read_shape (self, TRUE, 0, &self->input, shape, error))
    return FALSE;
  if (file && g_key_file_has_group (file, self->input)
      && !read_section (self, file, path, shape, error))
    return FALSE;
  return set_input (self, shape, error)
         && gst_tensor_settings_read_numbers (
             options->settings, self->config, error);
}

/* A dim of an output that has the name of a dim of the input is as large. */
static void
complete_dims (Shape *output, const Shape *input)
{
  guint i, k;

  for (i = 0; i < output->n_dims; i++)
    for (k = 0; output->dims[i] < 0 && k < input->n_dims; k++)
      if (*output->names[i]
          && g_strcmp0 (output->names[i], input->names[k]) == 0)
        output->dims[i] = input->dims[k];
}

static gboolean
read_outputs (GstInferNetwork *self, GKeyFile *file, const gchar *path,
    const Shape *input, GError **error)
{
  const OrtApi *api = self->ort->api;
  size_t i, n = 0;

  if (!gst_ort_check (self->ort, api->SessionGetOutputCount (self->session, &n),
          "SessionGetOutputCount", error))
    return FALSE;
  for (i = 0; i < n; i++) {
    GstInferOutput output = { NULL };
    Shape shape;
    gboolean ok = read_shape (self, FALSE, i, &output.name, &shape, error);
    guint k;

    if (ok) {
      complete_dims (&shape, input);
      ok = !file
           || gst_infer_modelinfo_check (file, path, output.name, shape.type,
               shape.dims, shape.n_dims, error);
    }
    output.onnx_type = shape.onnx_type;
    output.type = shape.type;
    output.n_dims = shape.n_dims;
    for (k = 0; k < shape.n_dims; k++)
      output.dims[k] = MAX (shape.dims[k], 0);
    if (shape.info)
      api->ReleaseTypeInfo (shape.info);
    g_array_append_val (self->outputs, output);
    if (!ok)
      return FALSE;
  }
  return TRUE;
}

/* --- opening ------------------------------------------------------------- */

static void
clear_output (gpointer output)
{
  g_free (((GstInferOutput *) output)->name);
}

void
gst_infer_network_free (GstInferNetwork *self)
{
  const OrtApi *api = self->ort->api;

  if (self->binding)
    api->ReleaseIoBinding (self->binding);
  if (self->run_options)
    api->ReleaseRunOptions (self->run_options);
  if (self->memory_info)
    api->ReleaseMemoryInfo (self->memory_info);
  if (self->session)
    api->ReleaseSession (self->session);
  g_array_unref (self->outputs);
  g_clear_pointer (&self->config, gst_vkgdr_tensor_config_free);
  g_free (self->input);
  gst_object_unref (self->allocator);
  gst_object_unref (self->context);
  g_free (self);
}

static gboolean
read_tensors (GstInferNetwork *self, const GstInferOptions *options,
    const gchar *path, GError **error)
{
  GKeyFile *file = path ? gst_tensor_modelinfo_open (path, error) : NULL;
  Shape input = { NULL };
  gboolean ok = !path || file;

  ok = ok && read_input (self, options, file, path, &input, error)
       && read_outputs (self, file, path, &input, error);
  if (ok)
    gst_infer_network_name (self, file, options->model_file);
  self->has_modelinfo = file != NULL;
  if (input.info)
    self->ort->api->ReleaseTypeInfo (input.info);
  g_clear_pointer (&file, g_key_file_unref);
  return ok;
}

GstInferNetwork *
gst_infer_network_open (const GstOrt *ort, GstVkgdrContext *context,
    const GstInferOptions *options, GError **error)
{
  GstInferNetwork *self;
  gchar *path;
  gboolean ok;

  if (!options->model_file)
    return fail (error, "No network: set model-file to an ONNX model"), NULL;
  if (!g_file_test (options->model_file, G_FILE_TEST_IS_REGULAR))
    return fail (error, "There is no file %s: set model-file to an ONNX model",
               options->model_file),
           NULL;
  self = g_new0 (GstInferNetwork, 1);
  self->ort = ort;
  self->context = gst_object_ref (context);
  self->allocator = gst_vkgdr_allocator_new (context);
  self->is_cuda = options->cuda != NULL;
  self->outputs = g_array_new (FALSE, TRUE, sizeof (GstInferOutput));
  g_array_set_clear_func (self->outputs, clear_output);
  path = options->modelinfo
             ? g_strdup (options->modelinfo)
             : g_strconcat (options->model_file, ".modelinfo", NULL);
  if (!options->modelinfo && !g_file_test (path, G_FILE_TEST_EXISTS))
    g_clear_pointer (&path, g_free);
  ok = open_session (self, options, error)
       && read_tensors (self, options, path, error) && open_runs (self, error);
  g_free (path);
  if (!ok)
    g_clear_pointer (&self, gst_infer_network_free);
  return self;
}
