/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * infer/infer.c: the element vkgdrinfer
 *
 * Has the class, the properties, the caps and the frames.
 */

/**
 * SECTION:element-vkgdrinfer
 * @title: vkgdrinfer
 * @see_also: vkgdrupload, vkgdrtensor, cudafilter
 *
 * Runs an ONNX network on each frame where it lies in GPU memory, and adds the
 * network's outputs to the buffer as a #GstTensorMeta. Decoders such as
 * `tensordecodebin` make boxes of them. The frame has any size and format: one
 * kernel resizes, converts and normalises it, as in `vkgdrtensor`.
 *
 * The output caps are those of system memory, with the field `tensors`, because
 * decoders accept nothing else. The frame stays on the device: behind the
 * decoders, `vkgdrupload` gives its caps feature back without a copy. (If the
 * CPU maps the frame, it is copied by DMA.)
 *
 * A `.modelinfo` file beside the model gives the outputs the names by which
 * decoders recognise them. If there is none, an info message on the bus has the
 * text of one that fits the model.
 *
 * ONNX Runtime (1.22 or newer) is loaded when the element starts:
 * libonnxruntime of the system, or the file that the environment variable
 * VKGDR_ONNXRUNTIME names.
 *
 * ## Example launch line
 * |[
 * gst-launch-1.0 filesrc location=street.mp4 ! decodebin ! vkgdrupload !
 * vkgdrinfer model-file=yolo11n.onnx ! tensordecodebin ! vkgdrupload !
 * cudafilter kernel=boxes ! vkgdrdownload ! videoconvert ! autovideosink
 * ]|
 *
 * Since: 0.3
 */

#include "gstvkgdrelements.h"
#include "infer/network.h"
#include "tensor/refusal.h"

GST_DEBUG_CATEGORY (gst_infer_debug);
#define GST_CAT_DEFAULT gst_infer_debug

/* The threads of the CPU provider, unless the user sets a number: more of them
 * take the processor from the rest of a pipeline. */
#define MANY_THREADS 4

/* Buffers of a pool for upstream: one that this element reads, and one that
 * upstream writes. */
#define MIN_BUFFERS 2

#define GST_TYPE_VKGDR_INFER (gst_vkgdr_infer_get_type ())
G_DECLARE_FINAL_TYPE (
    GstVkgdrInfer, gst_vkgdr_infer, GST, VKGDR_INFER, GstVkgdrBaseTransform)

typedef enum { PROVIDER_AUTO, PROVIDER_CPU, PROVIDER_CUDA } Provider;

struct _GstVkgdrInfer {
  GstVkgdrBaseTransform parent;

  /* Set by the user, under the object lock. */
  GstTensorSettings settings;
  const gchar *model_file; /* this and the next two: interned, or NULL */
  const gchar *modelinfo;
  const gchar *provider_library;
  Provider provider;
  guint threads;
  gboolean map_coordinates;

  /* While the element is open. Set under the object lock. */
  GstInferNetwork *network;
  GstVkgdrFunction *boxes;            /* NULL: nothing to map */
  GValue tensors;                     /* the field of caps; empty if closed */
  GstVkgdrTensorConverter *converter; /* while there are caps */
  gint is_stopping; /* whether a run may fail without a reason; atomic */

  /* Used by the streaming thread. */
  GstVideoInfo info;
  GstVkgdrTensorConfig *config; /* of the converter */
  GstMemory *input;             /* of the network */

  /* Statistics, under the object lock. */
  guint64 frames;
  GstClockTime run_time;
};

G_DEFINE_TYPE_WITH_CODE (GstVkgdrInfer, gst_vkgdr_infer,
    GST_TYPE_VKGDR_BASE_TRANSFORM,
    GST_DEBUG_CATEGORY_INIT (gst_infer_debug, "vkgdrinfer", 0, "vkgdrinfer"))
GST_ELEMENT_REGISTER_DEFINE (
    vkgdrinfer, "vkgdrinfer", GST_RANK_NONE, GST_TYPE_VKGDR_INFER)

#define parent_class gst_vkgdr_infer_parent_class

/* --- properties ---------------------------------------------------------- */

enum {
  PROP_MODEL_FILE = 1,
  PROP_MODELINFO,
  PROP_EXECUTION_PROVIDER,
  PROP_PROVIDER_LIBRARY,
  PROP_THREADS,
  PROP_MAP_COORDINATES,
  PROP_SETTINGS, /* and those behind it: tensor/settings.h */
  N_PROPERTIES = PROP_SETTINGS + GST_TENSOR_N_SETTINGS
};

static const gsize fields[PROP_SETTINGS] = {
  [PROP_MODEL_FILE] = G_STRUCT_OFFSET (GstVkgdrInfer, model_file),
  [PROP_MODELINFO] = G_STRUCT_OFFSET (GstVkgdrInfer, modelinfo),
  [PROP_EXECUTION_PROVIDER] = G_STRUCT_OFFSET (GstVkgdrInfer, provider),
  [PROP_PROVIDER_LIBRARY] = G_STRUCT_OFFSET (GstVkgdrInfer, provider_library),
  [PROP_THREADS] = G_STRUCT_OFFSET (GstVkgdrInfer, threads),
  [PROP_MAP_COORDINATES] = G_STRUCT_OFFSET (GstVkgdrInfer, map_coordinates),
};

#define FLAGS \
  (G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | GST_PARAM_MUTABLE_READY)

#define TYPE_PROVIDER (provider_get_type ())

static GType
provider_get_type (void)
{
  static gsize type = 0;
  static const GEnumValue values[] = {
    { PROVIDER_AUTO, "CUDA if it can be loaded, else the CPU", "auto" },
    { PROVIDER_CPU, "The CPU", "cpu" }, { PROVIDER_CUDA, "CUDA", "cuda" },
    { 0, NULL, NULL }
  };

  if (g_once_init_enter (&type))
    g_once_init_leave (
        &type, g_enum_register_static ("GstVkgdrInferProvider", values));
  return type;
}

static gpointer
get_field (GObject *object, guint id)
{
  if (id < PROP_SETTINGS)
    return (guint8 *) object + fields[id];
  return gst_tensor_settings_get_field (
      &GST_VKGDR_INFER (object)->settings, id - PROP_SETTINGS);
}

static void
gst_vkgdr_infer_set_property (
    GObject *object, guint id, const GValue *value, GParamSpec *pspec)
{
  GST_OBJECT_LOCK (object);
  gst_tensor_field_set (get_field (object, id), value);
  GST_OBJECT_UNLOCK (object);
}

static void
gst_vkgdr_infer_get_property (
    GObject *object, guint id, GValue *value, GParamSpec *pspec)
{
  GST_OBJECT_LOCK (object);
  gst_tensor_field_get (get_field (object, id), value);
  GST_OBJECT_UNLOCK (object);
}

static guint
get_default_threads (void)
{
  return MIN (g_get_num_processors (), MANY_THREADS);
}

static void
install_properties (GObjectClass *object_class)
{
  GParamSpec *specs[N_PROPERTIES] = { NULL };

  specs[PROP_MODEL_FILE] = g_param_spec_string (
      "model-file", "Model file", "The network, an ONNX model", NULL, FLAGS);
  /**
   * GstVkgdrInfer:modelinfo:
   *
   * Path of a `.modelinfo` file of GStreamer's analytics library (1.28). It
   * gives the outputs of the network the ids by which decoders recognise them,
   * sizes that the model leaves open, and the range of the input's samples. If
   * it is not set, it is the model's file with `.modelinfo` appended, if that
   * exists.
   *
   * Since: 0.3
   */
  specs[PROP_MODELINFO] = g_param_spec_string ("modelinfo", "Model info",
      "A .modelinfo file of GStreamer's analytics library (the model's file "
      "with .modelinfo appended, if not set)",
      NULL, FLAGS);
  specs[PROP_EXECUTION_PROVIDER] =
      g_param_spec_enum ("execution-provider", "Execution provider",
          "What runs the network", TYPE_PROVIDER, PROVIDER_AUTO, FLAGS);
  /**
   * GstVkgdrInfer:provider-library:
   *
   * Path of the library of ONNX Runtime's CUDA provider. If it is not set, it
   * is looked for beside ONNX Runtime. The first library that an element of the
   * process has loaded stays in use.
   *
   * Since: 0.3
   */
  specs[PROP_PROVIDER_LIBRARY] =
      g_param_spec_string ("provider-library", "Provider library",
          "The library of ONNX Runtime's CUDA provider (searched beside ONNX "
          "Runtime, if not set)",
          NULL, FLAGS);
  /**
   * GstVkgdrInfer:threads:
   *
   * The number of threads of the CPU provider. All networks of a process share
   * them: the first element that starts sets their number.
   *
   * Since: 0.3
   */
  specs[PROP_THREADS] = g_param_spec_uint ("threads", "Threads",
      "Threads of the CPU provider, which all networks of the process share "
      "(0 = those of the processor, up to 4)",
      0, 1024, 0, FLAGS);
  /**
   * GstVkgdrInfer:map-coordinates:
   *
   * Whether boxes of known layouts (YOLO, ultra-light face detectors, SSD) are
   * moved from the network's picture to the frame, for any
   * #GstVkgdrInfer:resize and size. If not, the numbers of the network stay as
   * they are.
   *
   * Since: 0.3
   */
  specs[PROP_MAP_COORDINATES] =
      g_param_spec_boolean ("map-coordinates", "Map coordinates",
          "Whether boxes of known layouts are moved to the frame", TRUE, FLAGS);
  gst_tensor_settings_make_specs (
      specs + PROP_SETTINGS, GST_VKGDR_TENSOR_RESIZE_LETTERBOX);
  g_object_class_install_properties (object_class, N_PROPERTIES, specs);
  gst_type_mark_as_plugin_api (TYPE_PROVIDER, 0);
}

static void
gst_vkgdr_infer_fill_stats (
    GstVkgdrBaseTransform *transform, GstStructure *stats)
{
  GstVkgdrInfer *self = GST_VKGDR_INFER (transform);
  GstClockTime time = GST_CLOCK_TIME_NONE;
  const gchar *provider = "none";

  GST_OBJECT_LOCK (self);
  if (self->converter)
    time = gst_vkgdr_tensor_converter_get_kernel_time (self->converter);
  if (self->network)
    provider = self->network->is_cuda ? "cuda" : "cpu";
  gst_structure_set (stats, "frames", G_TYPE_UINT64, self->frames, "run-time",
      G_TYPE_UINT64, self->run_time, "kernel-time", G_TYPE_UINT64,
      GST_CLOCK_TIME_IS_VALID (time) ? time : 0, "provider", G_TYPE_STRING,
      provider, NULL);
  GST_OBJECT_UNLOCK (self);
}

/* --- start and stop ------------------------------------------------------ */

/* Sets *@cuda to the provider's device, or NULL for the CPU. Returns FALSE with
 * @error set. */
static gboolean
choose_provider (GstVkgdrInfer *self, const GstOrt *ort, Provider provider,
    const gchar *library, const OrtEpDevice **cuda, GError **error)
{
  GstVkgdrContext *context =
      gst_vkgdr_base_transform_get_context (GST_VKGDR_BASE_TRANSFORM (self));
  GError *reason = NULL;

  *cuda = NULL;
  if (provider == PROVIDER_CPU
      || (provider == PROVIDER_AUTO && !library
          && gst_vkgdr_context_is_software (context)))
    return TRUE;
  *cuda = gst_ort_find_cuda (ort, context, library, &reason);
  if (*cuda)
    return TRUE;
  if (provider == PROVIDER_CUDA) {
    g_propagate_error (error, reason);
    return FALSE;
  }
  GST_ELEMENT_WARNING (self, LIBRARY, INIT,
      ("The network runs on the CPU. %s", reason->message), (NULL));
  g_error_free (reason);
  return TRUE;
}

/* gst-launch-1.0 prints the second text of a message, and applications show the
 * first one. */
static void
offer_modelinfo (GstVkgdrInfer *self, const gchar *model_file)
{
  gchar *text = gst_infer_network_make_modelinfo (self->network);
  gchar *message = g_strdup_printf (
      "Decoders recognise the tensors of this network by a file %s.modelinfo. "
      "If the ids fit, it is:\n\n%s",
      model_file, text);

  GST_ELEMENT_INFO (self, STREAM, DECODE, ("%s", message), ("%s", message));
  g_free (message);
  g_free (text);
}

static gboolean
needs_boxes (GstInferNetwork *network)
{
  guint i;

  for (i = 0; i < network->outputs->len; i++)
    if (gst_infer_network_get_output (network, i)->boxes)
      return TRUE;
  return FALSE;
}

static void
gst_vkgdr_infer_close (GstVkgdrBaseTransform *transform)
{
  GstVkgdrInfer *self = GST_VKGDR_INFER (transform);
  GstVkgdrTensorConverter *converter;
  GstInferNetwork *network;

  GST_OBJECT_LOCK (self);
  network = g_steal_pointer (&self->network);
  converter = g_steal_pointer (&self->converter);
  if (G_IS_VALUE (&self->tensors))
    g_value_unset (&self->tensors);
  GST_OBJECT_UNLOCK (self);
  g_clear_pointer (&network, gst_infer_network_free);
  gst_clear_object (&converter);
  gst_clear_object (&self->boxes);
  g_clear_pointer (&self->config, gst_vkgdr_tensor_config_free);
  g_clear_pointer (&self->input, gst_memory_unref);
  g_atomic_int_set (&self->is_stopping, FALSE);
}

static gboolean
open_network (GstVkgdrInfer *self, const GstInferOptions *options,
    const GstOrt *ort, GError **error)
{
  GstVkgdrContext *context =
      gst_vkgdr_base_transform_get_context (GST_VKGDR_BASE_TRANSFORM (self));
  GstInferNetwork *network =
      gst_infer_network_open (ort, context, options, error);

  if (!network)
    return FALSE;
  GST_OBJECT_LOCK (self);
  self->network = network;
  gst_infer_network_get_tensors (network, &self->tensors);
  self->frames = 0;
  self->run_time = 0;
  GST_OBJECT_UNLOCK (self);
  GST_INFO_OBJECT (self, "%s runs on %s", options->model_file,
      network->is_cuda ? "CUDA" : "the CPU");
  if (!network->has_modelinfo)
    offer_modelinfo (self, options->model_file);
  if (!self->map_coordinates || !needs_boxes (network))
    return TRUE;
  self->boxes = gst_infer_boxes_load (context, error);
  return self->boxes != NULL;
}

static gboolean
gst_vkgdr_infer_open (GstVkgdrBaseTransform *transform, GError **error)
{
  GstVkgdrInfer *self = GST_VKGDR_INFER (transform);
  const gchar *library = self->provider_library;
  /* The properties cannot be changed while the element starts. */
  GstInferOptions options = { .model_file = self->model_file,
    .modelinfo = self->modelinfo,
    .stream = gst_vkgdr_base_transform_get_stream (transform),
    .settings = &self->settings };
  const GstOrt *ort = gst_ort_get (
      self->threads ? self->threads : get_default_threads (), error);

  if (ort
      && choose_provider (
          self, ort, self->provider, library, &options.cuda, error)
      && open_network (self, &options, ort, error))
    return TRUE;
  gst_vkgdr_infer_close (transform);
  return FALSE;
}

/* A run of a large network takes long. The streaming thread must not delay a
 * stop by that time. */
static GstStateChangeReturn
gst_vkgdr_infer_change_state (GstElement *element, GstStateChange transition)
{
  GstVkgdrInfer *self = GST_VKGDR_INFER (element);

  if (transition == GST_STATE_CHANGE_PAUSED_TO_READY) {
    GST_OBJECT_LOCK (self);
    g_atomic_int_set (&self->is_stopping, TRUE);
    if (self->network)
      gst_infer_network_terminate (self->network);
    GST_OBJECT_UNLOCK (self);
  }
  return GST_ELEMENT_CLASS (parent_class)->change_state (element, transition);
}

/* --- caps ---------------------------------------------------------------- */

static void
append_format (GstCaps *caps, const GstStructure *structure, gboolean is_input,
    gboolean is_interlaced)
{
  GstCapsFeatures *features = gst_caps_features_new_empty ();

  if (is_input)
    gst_caps_features_add (features, GST_CAPS_FEATURE_MEMORY_VKGDR_MEMORY);
  if (is_interlaced)
    gst_caps_features_add (features, GST_CAPS_FEATURE_FORMAT_INTERLACED);
  gst_caps_append_structure_full (
      caps, gst_structure_copy (structure), features);
}

/* All formats that kernels can read, as frames and as single fields. */
static GstCaps *
make_template (gboolean is_input)
{
  guint i, n;
  const GstVideoFormat *formats = gst_vkgdr_kernel_list_formats (&n);
  GstCaps *names = gst_video_make_raw_caps (formats, n);
  GstStructure *structure = gst_caps_get_structure (names, 0);
  GstCaps *caps = gst_caps_new_empty ();

  for (i = 0; i < 2; i++) {
    if (i == 1)
      gst_structure_set (
          structure, "interlace-mode", G_TYPE_STRING, "alternate", NULL);
    append_format (caps, structure, is_input, i == 1);
  }
  gst_caps_unref (names);
  return caps;
}

/* Whether the features name only the memory of one of the pads. */
static gboolean
are_features_of (const GstCapsFeatures *features, GstPadDirection direction)
{
  gboolean is_ours = gst_caps_features_contains (
      features, GST_CAPS_FEATURE_MEMORY_VKGDR_MEMORY);
  guint i;

  if (gst_caps_features_is_any (features))
    return TRUE;
  for (i = 0; i < gst_caps_features_get_size (features); i++) {
    const gchar *name = gst_caps_features_get_nth (features, i);

    if (g_str_has_prefix (name, "memory:")
        && !g_str_equal (name, direction == GST_PAD_SINK
                                   ? GST_CAPS_FEATURE_MEMORY_VKGDR_MEMORY
                                   : GST_CAPS_FEATURE_MEMORY_SYSTEM_MEMORY))
      return FALSE;
  }
  return is_ours == (direction == GST_PAD_SINK);
}

/* Sets the tensors of an output. Of an input, the tensors of an earlier network
 * do not matter. Returns FALSE if the output cannot have other tensors. */
static gboolean
replace_tensors (
    GstVkgdrInfer *self, GstStructure *structure, GstPadDirection direction)
{
  gboolean ok = TRUE;

  GST_OBJECT_LOCK (self);
  if (direction == GST_PAD_SRC) {
    const GValue *wanted = gst_structure_get_value (structure, "tensors");

    ok = !wanted || !G_IS_VALUE (&self->tensors)
         || gst_value_can_intersect (wanted, &self->tensors);
    gst_structure_remove_field (structure, "tensors");
  } else if (G_IS_VALUE (&self->tensors)) {
    gst_structure_set_value (structure, "tensors", &self->tensors);
  } else {
    gst_structure_remove_field (structure, "tensors");
  }
  GST_OBJECT_UNLOCK (self);
  return ok;
}

static GstCaps *
gst_vkgdr_infer_transform_caps (GstBaseTransform *trans,
    GstPadDirection direction, GstCaps *caps, GstCaps *filter)
{
  GstCaps *result = gst_caps_new_empty (), *tmp;
  guint i;

  if (gst_caps_is_any (caps)) {
    gst_caps_unref (result);
    result = make_template (direction == GST_PAD_SRC);
    caps = NULL;
  }
  for (i = 0; caps && i < gst_caps_get_size (caps); i++) {
    const GstCapsFeatures *features = gst_caps_get_features (caps, i);
    GstStructure *structure;

    if (!are_features_of (features, direction))
      continue;
    structure = gst_structure_copy (gst_caps_get_structure (caps, i));
    if (replace_tensors (GST_VKGDR_INFER (trans), structure, direction))
      append_format (result, structure, direction == GST_PAD_SRC,
          gst_caps_features_contains (
              features, GST_CAPS_FEATURE_FORMAT_INTERLACED));
    gst_structure_free (structure);
  }
  if (filter) {
    tmp = gst_caps_intersect_full (filter, result, GST_CAPS_INTERSECT_FIRST);
    gst_caps_unref (result);
    result = tmp;
  }
  return result;
}

/* The size of the picture that the network gets is known now. */
static gboolean
make_converter (GstVkgdrInfer *self, GError **error)
{
  GstVkgdrContext *context =
      gst_vkgdr_base_transform_get_context (GST_VKGDR_BASE_TRANSFORM (self));
  GstVkgdrTensorConverter *converter, *old;

  g_clear_pointer (&self->config, gst_vkgdr_tensor_config_free);
  g_clear_pointer (&self->input, gst_memory_unref);
  self->config = gst_vkgdr_tensor_config_copy (self->network->config);
  if (self->config->width == 0)
    self->config->width = GST_VIDEO_INFO_WIDTH (&self->info);
  if (self->config->height == 0)
    self->config->height = GST_VIDEO_INFO_FIELD_HEIGHT (&self->info);
  converter = gst_vkgdr_tensor_converter_new (context, self->config, error);
  GST_OBJECT_LOCK (self);
  old = self->converter;
  self->converter = converter;
  GST_OBJECT_UNLOCK (self);
  gst_clear_object (&old);
  if (!converter
      || !gst_vkgdr_tensor_converter_prepare (converter, &self->info, error))
    return FALSE;
  self->input = gst_vkgdr_allocator_alloc_device_only (self->network->allocator,
      gst_vkgdr_tensor_config_get_frame_size (self->config), error);
  return self->input != NULL;
}

static gboolean
gst_vkgdr_infer_set_caps (
    GstBaseTransform *trans, GstCaps *in_caps, GstCaps *out_caps)
{
  GstVkgdrInfer *self = GST_VKGDR_INFER (trans);
  GError *error = NULL;

  if (!gst_vkgdr_caps_get_video_info (in_caps, &self->info))
    return FALSE;
  if (gst_vkgdr_kernel_check_info (&self->info, &error)
      && make_converter (self, &error))
    return TRUE;
  gst_vkgdr_base_transform_post_error (GST_VKGDR_BASE_TRANSFORM (self), error);
  return FALSE;
}

/* --- memory -------------------------------------------------------------- */

/* Adds the metas that the next elements support. The base class asks them only
 * if it needs memory of them. Frames are not cropped, because the boxes would
 * not be those of the cropped frame. */
static void
add_metas_of_downstream (GstBaseTransform *trans, GstQuery *query)
{
  GstCaps *caps = gst_pad_get_current_caps (trans->srcpad);
  GstQuery *theirs;
  guint i;

  if (!caps)
    return;
  theirs = gst_query_new_allocation (caps, FALSE);
  if (gst_pad_peer_query (trans->srcpad, theirs))
    for (i = 0; i < gst_query_get_n_allocation_metas (theirs); i++) {
      const GstStructure *params;
      GType api = gst_query_parse_nth_allocation_meta (theirs, i, &params);

      if (api != GST_VIDEO_CROP_META_API_TYPE)
        gst_query_add_allocation_meta (query, api, params);
    }
  gst_query_unref (theirs);
  gst_caps_unref (caps);
}

static gboolean
gst_vkgdr_infer_propose_allocation (
    GstBaseTransform *trans, GstQuery *decide_query, GstQuery *query)
{
  GstBufferPool *pool;
  GstVideoInfo info;
  GstCaps *caps;

  gst_query_parse_allocation (query, &caps, NULL);
  if (!caps || !gst_vkgdr_caps_get_video_info (caps, &info))
    return FALSE;
  add_metas_of_downstream (trans, query);
  pool = gst_vkgdr_base_transform_new_pool (
      GST_VKGDR_BASE_TRANSFORM (trans), caps, MIN_BUFFERS);
  if (!pool)
    return FALSE;
  gst_query_add_allocation_pool (
      query, pool, GST_VIDEO_INFO_SIZE (&info), MIN_BUFFERS, 0);
  gst_object_unref (pool);
  return TRUE;
}

/* --- frames -------------------------------------------------------------- */

/* Only a meta is added, so a buffer that is not writable needs no copy of its
 * memory. */
static GstFlowReturn
gst_vkgdr_infer_prepare_output_buffer (
    GstBaseTransform *trans, GstBuffer *input, GstBuffer **output)
{
  *output = gst_buffer_is_writable (input) ? input : gst_buffer_copy (input);
  return GST_FLOW_OK;
}

static gboolean
map_boxes (GstVkgdrInfer *self, GstVkgdrStream *stream,
    const GstInferResult *results, const GstVkgdrTensorTransform *transform,
    GError **error)
{
  guint i;

  for (i = 0; self->boxes && i < self->network->outputs->len; i++) {
    const GstInferOutput *output =
        gst_infer_network_get_output (self->network, i);

    if (output->boxes && results[i].memory
        && !gst_infer_boxes_map (self->boxes, output->boxes, stream,
            results[i].memory, results[i].dims, results[i].n_dims, self->config,
            &self->info, transform, error))
      return FALSE;
  }
  return TRUE;
}

static gboolean
infer (GstVkgdrInfer *self, GstBuffer *buffer, GError **error)
{
  GstVkgdrStream *stream =
      gst_vkgdr_base_transform_get_stream (GST_VKGDR_BASE_TRANSFORM (self));
  guint i, n = self->network->outputs->len;
  GstInferResult *results = g_newa0 (GstInferResult, n);
  GstVkgdrTensorTransform transform;
  gint64 begin;

  if (!gst_vkgdr_tensor_converter_convert (self->converter, stream, buffer,
          &self->info, NULL, self->input, 0, &transform, error))
    return FALSE;
  begin = g_get_monotonic_time ();
  if (!gst_infer_network_run (
          self->network, stream, self->input, self->config, results, error))
    return FALSE;
  GST_OBJECT_LOCK (self);
  self->frames++;
  self->run_time = (g_get_monotonic_time () - begin) * GST_USECOND;
  GST_OBJECT_UNLOCK (self);
  if (map_boxes (self, stream, results, &transform, error)) {
    gst_infer_network_add_meta (self->network, buffer, results);
    return TRUE;
  }
  for (i = 0; i < n; i++)
    g_clear_pointer (&results[i].memory, gst_memory_unref);
  return FALSE;
}

static GstFlowReturn
gst_vkgdr_infer_transform_ip (GstBaseTransform *trans, GstBuffer *buffer)
{
  GstVkgdrInfer *self = GST_VKGDR_INFER (trans);
  GError *error = NULL;

  if (!gst_vkgdr_kernel_check_frame (buffer, &self->info, &error)) {
    gst_vkgdr_element_post_dropped (GST_ELEMENT (self), error);
    g_error_free (error);
    return GST_BASE_TRANSFORM_FLOW_DROPPED;
  }
  if (infer (self, buffer, &error))
    return GST_FLOW_OK;
  if (g_atomic_int_get (&self->is_stopping)) {
    GST_DEBUG_OBJECT (self, "stopped: %s", error->message);
    g_error_free (error);
    return GST_FLOW_FLUSHING;
  }
  gst_vkgdr_base_transform_post_error (GST_VKGDR_BASE_TRANSFORM (self), error);
  return GST_FLOW_ERROR;
}

/* --- GObject ------------------------------------------------------------- */

static void
gst_vkgdr_infer_finalize (GObject *object)
{
  gst_tensor_settings_clear (&GST_VKGDR_INFER (object)->settings);
  G_OBJECT_CLASS (parent_class)->finalize (object);
}

static void
add_template (
    GstElementClass *klass, const gchar *name, GstPadDirection direction)
{
  GstCaps *caps = make_template (direction == GST_PAD_SINK);

  gst_element_class_add_pad_template (
      klass, gst_pad_template_new (name, direction, GST_PAD_ALWAYS, caps));
  gst_caps_unref (caps);
}

static void
gst_vkgdr_infer_class_init (GstVkgdrInferClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);
  GstElementClass *element_class = GST_ELEMENT_CLASS (klass);
  GstBaseTransformClass *trans_class = GST_BASE_TRANSFORM_CLASS (klass);
  GstVkgdrBaseTransformClass *base_class =
      GST_VKGDR_BASE_TRANSFORM_CLASS (klass);

  object_class->set_property = gst_vkgdr_infer_set_property;
  object_class->get_property = gst_vkgdr_infer_get_property;
  object_class->finalize = gst_vkgdr_infer_finalize;
  install_properties (object_class);

  add_template (element_class, "sink", GST_PAD_SINK);
  add_template (element_class, "src", GST_PAD_SRC);
  gst_element_class_set_static_metadata (element_class, "Network on frames",
      "Filter/Analyzer/Video",
      "Runs an ONNX network on frames in GPU memory, and adds its tensors for "
      "GStreamer's decoders",
      "gst-vkgdr developers");

  element_class->change_state = gst_vkgdr_infer_change_state;
  trans_class->transform_caps = gst_vkgdr_infer_transform_caps;
  trans_class->set_caps = gst_vkgdr_infer_set_caps;
  trans_class->propose_allocation = gst_vkgdr_infer_propose_allocation;
  trans_class->prepare_output_buffer = gst_vkgdr_infer_prepare_output_buffer;
  trans_class->transform_ip = gst_vkgdr_infer_transform_ip;
  base_class->open = gst_vkgdr_infer_open;
  base_class->close = gst_vkgdr_infer_close;
  base_class->fill_stats = gst_vkgdr_infer_fill_stats;
}

static void
gst_vkgdr_infer_init (GstVkgdrInfer *self)
{
  gst_tensor_settings_init (&self->settings, GST_VKGDR_TENSOR_RESIZE_LETTERBOX);
  self->map_coordinates = TRUE;
  gst_tensor_report_refused_caps (
      GST_ELEMENT (self), GST_BASE_TRANSFORM_SINK_PAD (self));
}
