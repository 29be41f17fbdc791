/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * tint.c: an example of an element that works on frames in GPU memory
 *
 * vkgdrexampletint colours a video. The base class does all other work: it
 * chooses the device and the stream, allocates buffers, orders the accesses to
 * them, and decides whether the kernel runs in place. This file is a complete
 * plugin. It uses libgstvkgdr-1.0, and no CUDA library.
 *
 *   gst-launch-1.0 videotestsrc ! vkgdrupload ! vkgdrexampletint color=0xff8000
 *     ! vkgdrdownload ! autovideosink
 */

#include <gst/vkgdr/vkgdr.h>

#ifndef PACKAGE
#define PACKAGE "vkgdr-examples"
#endif

#define TYPE_TINT (tint_get_type ())
G_DECLARE_FINAL_TYPE (Tint, tint, EXAMPLE, TINT, GstVkgdrVideoFilter)

struct _Tint {
  GstVkgdrVideoFilter parent;

  guint color; /* the properties; under the object lock */
  gdouble amount;

  GstVkgdrKernel *kernel; /* while the element runs */
  guint64 frame;
};

enum { PROP_COLOR = 1, PROP_AMOUNT };

/* Each pixel depends only on itself, so the output may be the input. */
static const gchar source[] =
    "__global__ void\n"
    "tint (VkgdrFrame in, VkgdrFrame out, float r, float g, float b, float a)\n"
    "{\n"
    "  vkgdr_shade (in, out, blockIdx.x * blockDim.x + threadIdx.x,\n"
    "      blockIdx.y * blockDim.y + threadIdx.y,\n"
    "      [&](VkgdrRgba &rgba, int x, int y) {\n"
    "        rgba.r += a * (r - rgba.r);\n"
    "        rgba.g += a * (g - rgba.g);\n"
    "        rgba.b += a * (b - rgba.b);\n"
    "      });\n"
    "}\n";

/* The templates allow all formats in this memory. Kernels work on most of them,
 * and set_info rejects the others. */
#define CAPS \
  GST_VIDEO_CAPS_MAKE_WITH_FEATURES ( \
      GST_CAPS_FEATURE_MEMORY_VKGDR_MEMORY, GST_VIDEO_FORMATS_ALL)

static GstStaticPadTemplate sink_template = GST_STATIC_PAD_TEMPLATE (
    "sink", GST_PAD_SINK, GST_PAD_ALWAYS, GST_STATIC_CAPS (CAPS));
static GstStaticPadTemplate src_template = GST_STATIC_PAD_TEMPLATE (
    "src", GST_PAD_SRC, GST_PAD_ALWAYS, GST_STATIC_CAPS (CAPS));

GST_ELEMENT_REGISTER_DECLARE (vkgdrexampletint)
G_DEFINE_TYPE (Tint, tint, GST_TYPE_VKGDR_VIDEO_FILTER)
GST_ELEMENT_REGISTER_DEFINE (
    vkgdrexampletint, "vkgdrexampletint", GST_RANK_NONE, TYPE_TINT)

/* Called when the element starts and has a device. */
static gboolean
tint_open (GstVkgdrBaseTransform *transform, GError **error)
{
  Tint *self = EXAMPLE_TINT (transform);

  self->frame = 0;
  self->kernel = gst_vkgdr_kernel_new_from_source (gst_vkgdr_base_transform_get_context (transform), source, "tint", NULL, NULL, error);
  return self->kernel != NULL;
}

static void
tint_close (GstVkgdrBaseTransform *transform)
{
  gst_clear_object (&EXAMPLE_TINT (transform)->kernel);
}

static gboolean
tint_set_info (GstVkgdrVideoFilter *filter, const GstVideoInfo *input_info,
    const GstVideoInfo *output_info, GError **error)
{
  return gst_vkgdr_kernel_check_info (input_info, error);
}

static GstStructure *
tint_get_params (Tint *self)
{
  GstStructure *params;

  GST_OBJECT_LOCK (self);
  params = gst_structure_new ("params", "r", G_TYPE_FLOAT,
      (self->color >> 16 & 255) / 255.0f, "g", G_TYPE_FLOAT,
      (self->color >> 8 & 255) / 255.0f, "b", G_TYPE_FLOAT,
      (self->color & 255) / 255.0f, "a", G_TYPE_FLOAT, (gfloat) self->amount,
      NULL);
  GST_OBJECT_UNLOCK (self);
  return params;
}

/* Queues the work, and does not wait for it. */
static gboolean
tint_filter_frame (GstVkgdrVideoFilter *filter, GstBuffer *input,
    GstBuffer *output, GstVkgdrStream *stream, GError **error)
{
  Tint *self = EXAMPLE_TINT (filter);
  GstStructure *params = tint_get_params (self);
  gboolean ok = gst_vkgdr_kernel_run (self->kernel, stream, input,
      gst_vkgdr_video_filter_get_input_info (filter), output,
      gst_vkgdr_video_filter_get_output_info (filter), self->frame++, params,
      error);

  gst_structure_free (params);
  return ok;
}

static void
tint_set_property (
    GObject *object, guint id, const GValue *value, GParamSpec *pspec)
{
  Tint *self = EXAMPLE_TINT (object);

  GST_OBJECT_LOCK (self);
  if (id == PROP_COLOR)
    self->color = g_value_get_uint (value);
  else if (id == PROP_AMOUNT)
    self->amount = g_value_get_double (value);
  else
    G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, pspec);
  GST_OBJECT_UNLOCK (self);
}

static void
tint_get_property (GObject *object, guint id, GValue *value, GParamSpec *pspec)
{
  Tint *self = EXAMPLE_TINT (object);

  GST_OBJECT_LOCK (self);
  if (id == PROP_COLOR)
    g_value_set_uint (value, self->color);
  else if (id == PROP_AMOUNT)
    g_value_set_double (value, self->amount);
  else
    G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, pspec);
  GST_OBJECT_UNLOCK (self);
}

static void
tint_class_init (TintClass *klass)
{
  const GParamFlags flags = G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS
                            | GST_PARAM_CONTROLLABLE
                            | GST_PARAM_MUTABLE_PLAYING;
  GObjectClass *object_class = G_OBJECT_CLASS (klass);
  GstElementClass *element_class = GST_ELEMENT_CLASS (klass);

  object_class->set_property = tint_set_property;
  object_class->get_property = tint_get_property;
  g_object_class_install_property (object_class, PROP_COLOR,
      g_param_spec_uint ("color", "Color", "The colour, 0xRRGGBB", 0, 0xffffff,
          0xff8000, flags));
  g_object_class_install_property (object_class, PROP_AMOUNT,
      g_param_spec_double (
          "amount", "Amount", "How much of it there is", 0, 1, 0.5, flags));

  gst_element_class_add_static_pad_template (element_class, &sink_template);
  gst_element_class_add_static_pad_template (element_class, &src_template);
  gst_element_class_set_static_metadata (element_class, "Tint",
      "Filter/Effect/Video", "Colours a video on the GPU",
      "gst-vkgdr developers");

  GST_VKGDR_BASE_TRANSFORM_CLASS (klass)->open = tint_open;
  GST_VKGDR_BASE_TRANSFORM_CLASS (klass)->close = tint_close;
  GST_VKGDR_VIDEO_FILTER_CLASS (klass)->set_info = tint_set_info;
  GST_VKGDR_VIDEO_FILTER_CLASS (klass)->filter_frame = tint_filter_frame;
}

static void
tint_init (Tint *self)
{
  self->color = 0xff8000;
  self->amount = 0.5;
  gst_vkgdr_filter_set_in_place (GST_VKGDR_FILTER (self), TRUE);
}

static gboolean
plugin_init (GstPlugin *plugin)
{
  return GST_ELEMENT_REGISTER (vkgdrexampletint, plugin);
}

GST_PLUGIN_DEFINE (GST_VERSION_MAJOR, GST_VERSION_MINOR, vkgdrexampletint,
    "An example: colours a video on the GPU", plugin_init, "0.1", "LGPL",
    PACKAGE, "https://gstreamer.freedesktop.org")
