/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * gstcudafilter.c: the element cudafilter
 *
 * Decides which kernel runs, and with what parameters. How it is compiled,
 * ordered and launched is the library's affair.
 */

/**
 * SECTION:element-cudafilter
 * @title: cudafilter
 * @see_also: vkgdrupload, vkgdrdownload
 *
 * Runs a CUDA kernel on each frame: one that comes with it
 * (#GstCudaFilter:kernel), or the user's own, from a file
 * (#GstCudaFilter:location) or a string (#GstCudaFilter:source). The kernel's
 * first two arguments are the input's and the output's `VkgdrFrame`, from the
 * header `vkgdr/kernel.h`, which is included by itself; further ones come from
 * #GstCudaFilter:params.
 *
 * ## Example launch lines
 * |[
 * gst-launch-1.0 videotestsrc ! vkgdrupload ! cudafilter kernel=gain
 * params="params,gain=(float)1.5" ! vkgdrdownload ! autovideosink
 * ]|
 * |[
 * gst-launch-1.0 videotestsrc ! video/x-raw,format=RGBA ! vkgdrupload !
 * cudafilter source="__global__ void red (VkgdrFrame in, VkgdrFrame out) { int
 * x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y +
 * threadIdx.y; if (x >= out.width || y >= out.height) return; for (int c = 0; c
 * < 4; c++) vkgdr_put (out, c, x, y, c == 0 ? 255 : vkgdr_get (in, c, x, y));
 * }" ! vkgdrdownload ! autovideosink
 * ]|
 *
 * Since: 0.1
 */

#include <gst/vkgdr/vkgdr.h>

#include "gsteffects.h"
#include "gstvkgdrelements.h"

GST_DEBUG_CATEGORY_STATIC (gst_cuda_filter_debug);
#define GST_CAT_DEFAULT gst_cuda_filter_debug

#define DEFAULT_KERNEL "copy"

#define GST_TYPE_CUDA_FILTER (gst_cuda_filter_get_type ())
G_DECLARE_FINAL_TYPE (
    GstCudaFilter, gst_cuda_filter, GST, CUDA_FILTER, GstVkgdrVideoFilter)

/* Properties are under the object lock; what the streaming thread made of them
 * is its own. */
struct _GstCudaFilter {
  GstVkgdrVideoFilter parent;

  gchar *kernel_name;
  gchar *location;
  gchar *source;
  gchar *entry;
  GstStructure *params;
  gboolean kernel_changed;
  gboolean params_changed;

  GstVkgdrKernel *kernel;
  const GstEffect *effect; /* that the kernel is, or NULL */
  GstStructure *arguments; /* as the kernel takes them */
  guint64 frame;
};

enum {
  PROP_KERNEL = 1,
  PROP_LOCATION,
  PROP_SOURCE,
  PROP_ENTRY,
  PROP_PARAMS,
  N_PROPERTIES
};

static GParamSpec *properties[N_PROPERTIES];

/* All formats can be asked for, so that one which kernels cannot work on is
 * refused with a reason; see gst_cuda_filter_query (). */
#define CAPS \
  GST_VIDEO_CAPS_MAKE_WITH_FEATURES ( \
      GST_CAPS_FEATURE_MEMORY_VKGDR_MEMORY, GST_VIDEO_FORMATS_ALL)
#define PREFERRED_CAPS \
  GST_VIDEO_CAPS_MAKE_WITH_FEATURES ( \
      GST_CAPS_FEATURE_MEMORY_VKGDR_MEMORY, GST_EFFECT_FORMATS)

static GstStaticPadTemplate sink_template = GST_STATIC_PAD_TEMPLATE (
    "sink", GST_PAD_SINK, GST_PAD_ALWAYS, GST_STATIC_CAPS (CAPS));
static GstStaticPadTemplate src_template = GST_STATIC_PAD_TEMPLATE (
    "src", GST_PAD_SRC, GST_PAD_ALWAYS, GST_STATIC_CAPS (CAPS));

G_DEFINE_TYPE_WITH_CODE (GstCudaFilter, gst_cuda_filter,
    GST_TYPE_VKGDR_VIDEO_FILTER,
    GST_DEBUG_CATEGORY_INIT (
        gst_cuda_filter_debug, "cudafilter", 0, "cudafilter"))
GST_ELEMENT_REGISTER_DEFINE (
    cudafilter, "cudafilter", GST_RANK_NONE, GST_TYPE_CUDA_FILTER)

/* --- the kernel ---------------------------------------------------------- */

/* A copy of the properties, so that compiling blocks nobody who sets one. */
typedef struct {
  gchar *kernel_name;
  gchar *location;
  gchar *source;
  gchar *entry;
} Wish;

static void
wish_take (Wish *wish, GstCudaFilter *self)
{
  GST_OBJECT_LOCK (self);
  wish->kernel_name = g_strdup (self->kernel_name);
  wish->location = g_strdup (self->location);
  wish->source = g_strdup (self->source);
  wish->entry = g_strdup (self->entry);
  self->kernel_changed = FALSE;
  self->params_changed = TRUE; /* they are another kernel's now */
  GST_OBJECT_UNLOCK (self);
}

static void
wish_clear (Wish *wish)
{
  g_free (wish->kernel_name);
  g_free (wish->location);
  g_free (wish->source);
  g_free (wish->entry);
}

static GstVkgdrKernel *
load_effect (GstVkgdrContext *context, const GstEffect *effect, GError **error)
{
  gchar *source = gst_effect_get_source (effect);
  gchar *name = g_strconcat (effect->name, ".cu", NULL);
  GstVkgdrKernel *kernel = gst_vkgdr_kernel_new_from_source (
      context, source, name, effect->name, error);

  g_free (name);
  g_free (source);
  return kernel;
}

static GstVkgdrKernel *
load (GstVkgdrContext *context, const Wish *wish, const GstEffect **effect,
    GError **error)
{
  *effect = NULL;
  if (wish->source && wish->location) {
    g_set_error_literal (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_ARGUMENT,
        "both location and source are set: unset one of them");
    return NULL;
  }
  if (wish->source)
    return gst_vkgdr_kernel_new_from_source (
        context, wish->source, "source", wish->entry, error);
  if (wish->location)
    return gst_vkgdr_kernel_new_from_file (
        context, wish->location, wish->entry, error);

  *effect = gst_effect_find (wish->kernel_name);
  if (!*effect) {
    gchar *names = gst_effects_get_names ();

    g_set_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_NOT_FOUND,
        "there is no kernel \"%s\"; there are: %s. A kernel of your own is set "
        "with location= or source=",
        wish->kernel_name, names);
    g_free (names);
    return NULL;
  }
  return load_effect (context, *effect, error);
}

static gboolean
update_kernel (GstCudaFilter *self, GError **error)
{
  GstVkgdrContext *context =
      gst_vkgdr_base_transform_get_context (GST_VKGDR_BASE_TRANSFORM (self));
  const GstEffect *effect;
  GstVkgdrKernel *kernel;
  Wish wish;

  wish_take (&wish, self);
  kernel = load (context, &wish, &effect, error);
  wish_clear (&wish);
  if (!kernel)
    return FALSE;
  gst_clear_object (&self->kernel);
  self->kernel = kernel;
  self->effect = effect;
  return TRUE;
}

static gboolean
update_arguments (GstCudaFilter *self, GError **error)
{
  GstStructure *given, *arguments;
  GError *reason = NULL;

  GST_OBJECT_LOCK (self);
  given = self->params ? gst_structure_copy (self->params) : NULL;
  self->params_changed = FALSE;
  GST_OBJECT_UNLOCK (self);

  if (self->effect) {
    arguments = gst_effect_complete_params (self->effect, given, &reason);
    g_clear_pointer (&given, gst_structure_free);
  } else {
    arguments = given;
  }
  if (!reason)
    gst_vkgdr_kernel_check_params (self->kernel, arguments, &reason);
  if (reason) {
    g_clear_pointer (&arguments, gst_structure_free);
    g_propagate_error (error, reason);
    return FALSE;
  }
  g_clear_pointer (&self->arguments, gst_structure_free);
  self->arguments = arguments;
  return TRUE;
}

/* Brings kernel and arguments up to what the properties say. */
static gboolean
update (GstCudaFilter *self, GError **error)
{
  gboolean kernel_changed, params_changed;

  GST_OBJECT_LOCK (self);
  kernel_changed = self->kernel_changed || !self->kernel;
  params_changed = self->params_changed || kernel_changed;
  GST_OBJECT_UNLOCK (self);

  if (kernel_changed && !update_kernel (self, error))
    return FALSE;
  return !params_changed || update_arguments (self, error);
}

/* --- virtual functions --------------------------------------------------- */

static gboolean
gst_cuda_filter_open (GstVkgdrBaseTransform *transform, GError **error)
{
  GST_CUDA_FILTER (transform)->frame = 0;
  return update (GST_CUDA_FILTER (transform), error);
}

static void
gst_cuda_filter_close (GstVkgdrBaseTransform *transform)
{
  GstCudaFilter *self = GST_CUDA_FILTER (transform);

  gst_clear_object (&self->kernel);
  g_clear_pointer (&self->arguments, gst_structure_free);
}

/* Who looks for a format, and says which ones he has, is told those that are
 * known to work; who has no other, or only wants to link, is told all. */
static gboolean
gst_cuda_filter_query (
    GstBaseTransform *trans, GstPadDirection direction, GstQuery *query)
{
  static GstStaticCaps preferred = GST_STATIC_CAPS (PREFERRED_CAPS);
  GstCaps *filter, *caps, *all, *narrowed;

  if (!GST_BASE_TRANSFORM_CLASS (gst_cuda_filter_parent_class)
           ->query (trans, direction, query))
    return FALSE;
  if (GST_QUERY_TYPE (query) != GST_QUERY_CAPS)
    return TRUE;
  gst_query_parse_caps (query, &filter);
  if (!filter)
    return TRUE;
  gst_query_parse_caps_result (query, &all);
  caps = gst_static_caps_get (&preferred);
  narrowed = gst_caps_intersect_full (all, caps, GST_CAPS_INTERSECT_FIRST);
  if (!gst_caps_is_empty (narrowed))
    gst_query_set_caps_result (query, narrowed);
  gst_caps_unref (narrowed);
  gst_caps_unref (caps);
  return TRUE;
}

static gboolean
gst_cuda_filter_set_info (GstVkgdrVideoFilter *filter,
    const GstVideoInfo *input_info, const GstVideoInfo *output_info,
    GError **error)
{
  return gst_vkgdr_kernel_check_info (input_info, error)
         && gst_vkgdr_kernel_check_info (output_info, error);
}

static gboolean
gst_cuda_filter_filter_frame (GstVkgdrVideoFilter *filter, GstBuffer *input,
    GstBuffer *output, GstVkgdrStream *stream, GError **error)
{
  GstCudaFilter *self = GST_CUDA_FILTER (filter);

  if (!update (self, error))
    return FALSE;
  return gst_vkgdr_kernel_run (self->kernel, stream, input,
      gst_vkgdr_video_filter_get_input_info (filter), output,
      gst_vkgdr_video_filter_get_output_info (filter), self->frame++,
      self->arguments, error);
}

/* --- GObject ------------------------------------------------------------- */

static gchar **
string_property (GstCudaFilter *self, guint id)
{
  switch (id) {
  case PROP_KERNEL:
    return &self->kernel_name;
  case PROP_LOCATION:
    return &self->location;
  case PROP_SOURCE:
    return &self->source;
  case PROP_ENTRY:
    return &self->entry;
  default:
    return NULL;
  }
}

static void
gst_cuda_filter_set_property (
    GObject *object, guint id, const GValue *value, GParamSpec *pspec)
{
  GstCudaFilter *self = GST_CUDA_FILTER (object);
  gchar **string = string_property (self, id);

  GST_OBJECT_LOCK (self);
  if (string) {
    g_free (*string);
    *string = g_value_dup_string (value);
    if (id == PROP_KERNEL && !*string)
      *string = g_strdup (DEFAULT_KERNEL);
    self->kernel_changed = TRUE;
  } else if (id == PROP_PARAMS) {
    g_clear_pointer (&self->params, gst_structure_free);
    if (gst_value_get_structure (value))
      self->params = gst_structure_copy (gst_value_get_structure (value));
    self->params_changed = TRUE;
  } else {
    G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, pspec);
  }
  GST_OBJECT_UNLOCK (self);
}

static void
gst_cuda_filter_get_property (
    GObject *object, guint id, GValue *value, GParamSpec *pspec)
{
  GstCudaFilter *self = GST_CUDA_FILTER (object);
  gchar **string = string_property (self, id);

  GST_OBJECT_LOCK (self);
  if (string)
    g_value_set_string (value, *string);
  else if (id == PROP_PARAMS)
    gst_value_set_structure (value, self->params);
  else
    G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, pspec);
  GST_OBJECT_UNLOCK (self);
}

static void
gst_cuda_filter_finalize (GObject *object)
{
  GstCudaFilter *self = GST_CUDA_FILTER (object);

  g_free (self->kernel_name);
  g_free (self->location);
  g_free (self->source);
  g_free (self->entry);
  g_clear_pointer (&self->params, gst_structure_free);
  gst_clear_object (&self->kernel);
  g_clear_pointer (&self->arguments, gst_structure_free);

  G_OBJECT_CLASS (gst_cuda_filter_parent_class)->finalize (object);
}

static void
install_properties (GObjectClass *object_class)
{
  const GParamFlags flags =
      G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | GST_PARAM_MUTABLE_PLAYING;
  gchar *names = gst_effects_get_names ();
  gchar *blurb = g_strdup_printf (
      "Built-in kernel: %s (not used where location or source is set)", names);

  /**
   * GstCudaFilter:kernel:
   *
   * Name of a built-in kernel.
   *
   * Since: 0.1
   */
  properties[PROP_KERNEL] =
      g_param_spec_string ("kernel", "Kernel", blurb, DEFAULT_KERNEL,
          G_PARAM_READWRITE | G_PARAM_STATIC_NAME | G_PARAM_STATIC_NICK
              | GST_PARAM_MUTABLE_PLAYING);
  /**
   * GstCudaFilter:location:
   *
   * Path of a file with a kernel: CUDA source (.cu), PTX, cubin or fatbin.
   *
   * Since: 0.1
   */
  properties[PROP_LOCATION] = g_param_spec_string ("location", "Location",
      "File with the kernel: CUDA source (.cu), PTX, cubin or fatbin", NULL,
      flags);
  /**
   * GstCudaFilter:source:
   *
   * CUDA source of a kernel.
   *
   * Since: 0.1
   */
  properties[PROP_SOURCE] = g_param_spec_string (
      "source", "Source", "CUDA source of the kernel", NULL, flags);
  /**
   * GstCudaFilter:entry:
   *
   * Name of the kernel's function.
   *
   * Since: 0.1
   */
  properties[PROP_ENTRY] = g_param_spec_string ("entry", "Entry",
      "Name of the __global__ function in location or source "
      "(default: the only one there is)",
      NULL, flags);
  /**
   * GstCudaFilter:params:
   *
   * Arguments of the kernel behind the two frames. For a kernel of one's own
   * they are taken in the order of the structure's fields; for a built-in one
   * by name, and what is left out has its default.
   *
   * Since: 0.1
   */
  properties[PROP_PARAMS] = g_param_spec_boxed ("params", "Parameters",
      "Further arguments of the kernel, in their order, such as "
      "params,gain=(float)1.5",
      GST_TYPE_STRUCTURE, flags);
  g_object_class_install_properties (object_class, N_PROPERTIES, properties);
  g_free (blurb);
  g_free (names);
}

static void
gst_cuda_filter_class_init (GstCudaFilterClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);
  GstElementClass *element_class = GST_ELEMENT_CLASS (klass);
  GstVkgdrBaseTransformClass *base_class =
      GST_VKGDR_BASE_TRANSFORM_CLASS (klass);
  GstVkgdrVideoFilterClass *filter_class = GST_VKGDR_VIDEO_FILTER_CLASS (klass);

  object_class->set_property = gst_cuda_filter_set_property;
  object_class->get_property = gst_cuda_filter_get_property;
  object_class->finalize = gst_cuda_filter_finalize;
  install_properties (object_class);

  gst_element_class_add_static_pad_template (element_class, &sink_template);
  gst_element_class_add_static_pad_template (element_class, &src_template);
  gst_element_class_set_static_metadata (element_class, "CUDA filter",
      "Filter/Effect/Video", "Runs a CUDA kernel on each frame in GPU memory",
      "gst-vkgdr developers");

  base_class->open = gst_cuda_filter_open;
  base_class->close = gst_cuda_filter_close;
  GST_BASE_TRANSFORM_CLASS (klass)->query = gst_cuda_filter_query;
  filter_class->set_info = gst_cuda_filter_set_info;
  filter_class->filter_frame = gst_cuda_filter_filter_frame;
}

static void
gst_cuda_filter_init (GstCudaFilter *self)
{
  self->kernel_name = g_strdup (DEFAULT_KERNEL);
}
