/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * tensor/tensor.c: the element vkgdrtensor
 *
 * Has the class, start and stop, and the CUDA context. round.c chooses the
 * frames of a batch, and negotiate.c the formats. The library converts frames
 * to tensors.
 */

/**
 * SECTION:element-vkgdrtensor
 * @title: vkgdrtensor
 * @see_also: vkgdrupload, vkgdrdownload, cudafilter
 *
 * Makes the input of a neural network from frames. In one pass over each frame
 * on the device, it resizes the frame, converts its colours, normalises them,
 * and writes the elements with the type and in the order that the network
 * expects. An element is (sample * #GstVkgdrTensor:scale -
 * #GstVkgdrTensor:mean) / #GstVkgdrTensor:std.
 *
 * With one sink pad, a batch has #GstVkgdrTensor:batch consecutive frames. With
 * several sink pads, it has a frame of each: the pad with the highest frame
 * rate determines the number of batches. If another pad has no frame in time,
 * #GstVkgdrTensor:missing determines whether its last frame is repeated or the
 * batch has one frame less. No frame is dropped. At the end of the stream, a
 * batch that is not full is sent as it is, with zeros after its last frame.
 *
 * The caps of a batch are `tensor/strided` with the fields `dims`,
 * `dims-order`, `type` and `tensor-id`, as GStreamer's analytics library
 * defines them, and have the feature `memory:VkgdrMemory`. A
 * #GstVkgdrTensorBatchMeta has the pad, the time and the size of each frame,
 * and the position of the tensor's pixels in it. If the plugin was built with
 * GStreamer's analytics library (1.26 or later), a batch also has a
 * #GstTensorMeta.
 *
 * Frames may have all formats that kernels can read, in the memory of this
 * plugin or of GStreamer's own CUDA elements.
 *
 * ## Example launch lines
 * |[
 * gst-launch-1.0 videotestsrc num-buffers=80 ! vkgdrupload ! vkgdrtensor
 * width=640 height=640 type=float16 resize=letterbox pad=114 batch=8 ! fakesink
 * ]|
 * |[
 * gst-launch-1.0 vkgdrtensor name=t width=224 height=224 filter=area
 * mean="<0.485,0.456,0.406>" std="<0.229,0.224,0.225>" ! fakesink videotestsrc
 * num-buffers=100 ! vkgdrupload ! t. videotestsrc num-buffers=100 pattern=ball
 * ! vkgdrupload ! t.
 * ]|
 *
 * Since: 0.2
 */

#include "gstvkgdrelements.h"
#include "gstvkgdrnavigation.h"
#include "tensor/refusal.h"
#include "tensor/tensor.h"

GST_DEBUG_CATEGORY_STATIC (gst_vkgdr_tensor_debug);
#define GST_CAT_DEFAULT gst_vkgdr_tensor_debug

G_DEFINE_TYPE_WITH_CODE (GstVkgdrTensor, gst_vkgdr_tensor, GST_TYPE_AGGREGATOR,
    GST_DEBUG_CATEGORY_INIT (
        gst_vkgdr_tensor_debug, "vkgdrtensor", 0, "vkgdrtensor"))
GST_ELEMENT_REGISTER_DEFINE (
    vkgdrtensor, "vkgdrtensor", GST_RANK_NONE, GST_TYPE_VKGDR_TENSOR)

#define parent_class gst_vkgdr_tensor_parent_class

/* --- the context --------------------------------------------------------- */

static gint
get_device (GstVkgdrTensor *self)
{
  gint device;

  GST_OBJECT_LOCK (self);
  device = self->device;
  GST_OBJECT_UNLOCK (self);
  return device;
}

static void
gst_vkgdr_tensor_set_context (GstElement *element, GstContext *context)
{
  GstVkgdrTensor *self = GST_VKGDR_TENSOR (element);

  gst_vkgdr_element_handle_set_context (
      element, context, get_device (self), &self->context);
  GST_ELEMENT_CLASS (parent_class)->set_context (element, context);
}

static gboolean
answer_context_query (GstAggregator *aggregator, GstQuery *query)
{
  GstVkgdrTensor *self = GST_VKGDR_TENSOR (aggregator);

  return gst_vkgdr_element_handle_context_query (
      GST_ELEMENT (self), query, get_device (self), &self->context);
}

static gboolean
gst_vkgdr_tensor_sink_query (
    GstAggregator *aggregator, GstAggregatorPad *pad, GstQuery *query)
{
  return answer_context_query (aggregator, query)
         || GST_AGGREGATOR_CLASS (parent_class)
                ->sink_query (aggregator, pad, query);
}

static gboolean
gst_vkgdr_tensor_src_query (GstAggregator *aggregator, GstQuery *query)
{
  return answer_context_query (aggregator, query)
         || GST_AGGREGATOR_CLASS (parent_class)->src_query (aggregator, query);
}

/* --- events -------------------------------------------------------------- */

static void
move_place (gconstpointer data, gdouble *x, gdouble *y)
{
  const GstVkgdrTensorTransform *place = data;

  *x = *x * place->scale_x + place->offset_x;
  *y = *y * place->scale_y + place->offset_y;
}

static gboolean
send_navigation (GstElement *element, GstPad *sink, gpointer event)
{
  GstVkgdrTensorPad *pad = GST_VKGDR_TENSOR_PAD (sink);
  GstEvent *moved = gst_event_ref (event);
  GstVkgdrTensorTransform place;

  GST_OBJECT_LOCK (pad);
  place = pad->place;
  GST_OBJECT_UNLOCK (pad);
  if (place.scale_x > 0)
    moved = gst_vkgdr_navigation_move (moved, move_place, &place);
  gst_pad_push_event (sink, moved);
  return TRUE;
}

/* A point of the tensor is another point in the frames of each pad. */
static gboolean
gst_vkgdr_tensor_src_event (GstAggregator *aggregator, GstEvent *event)
{
  if (GST_EVENT_TYPE (event) != GST_EVENT_NAVIGATION)
    return GST_AGGREGATOR_CLASS (parent_class)->src_event (aggregator, event);
  gst_element_foreach_sink_pad (
      GST_ELEMENT (aggregator), send_navigation, event);
  gst_event_unref (event);
  return TRUE;
}

/* --- start and stop ------------------------------------------------------ */

static void
on_stream_failed (GstVkgdrTensor *self, GError *error)
{
  gst_vkgdr_element_post_error (GST_ELEMENT (self), error);
}

static gboolean
make_stream (GstVkgdrTensor *self, GError **error)
{
  gchar *name;

  self->stream = gst_vkgdr_stream_new (self->context, error);
  if (!self->stream)
    return FALSE;
  name = gst_object_get_name (GST_OBJECT (self));
  gst_object_set_name (GST_OBJECT (self->stream), name);
  g_free (name);
  g_signal_connect_object (self->stream, "failed",
      G_CALLBACK (on_stream_failed), self, G_CONNECT_SWAPPED);
  return TRUE;
}

static gboolean
gst_vkgdr_tensor_stop (GstAggregator *aggregator)
{
  GstVkgdrTensor *self = GST_VKGDR_TENSOR (aggregator);
  GstVkgdrContext *context;

  gst_vkgdr_tensor_reset (self);
  if (self->stream) {
    gst_vkgdr_element_finish_work (GST_ELEMENT (self), self->stream);
    g_signal_handlers_disconnect_by_func (self->stream, on_stream_failed, self);
  }
  gst_vkgdr_tensor_set_converter (self, NULL);
  gst_clear_object (&self->stream);
  GST_OBJECT_LOCK (self);
  context = g_steal_pointer (&self->context);
  GST_OBJECT_UNLOCK (self);
  gst_clear_object (&context);
  return TRUE;
}

static gboolean
gst_vkgdr_tensor_start (GstAggregator *aggregator)
{
  GstVkgdrTensor *self = GST_VKGDR_TENSOR (aggregator);
  GError *error = NULL;

  GST_OBJECT_LOCK (self);
  self->frames = self->batches = self->repeated = self->left_out = 0;
  GST_OBJECT_UNLOCK (self);
  if (!gst_vkgdr_element_ensure_context (
          GST_ELEMENT (self), get_device (self), &self->context))
    return FALSE;
  if (make_stream (self, &error))
    return TRUE;
  gst_vkgdr_element_post_error (GST_ELEMENT (self), error);
  g_clear_error (&error);
  gst_vkgdr_tensor_stop (aggregator);
  return FALSE;
}

/* --- pads ---------------------------------------------------------------- */

/* A batch has a frame of each pad, so its size is negotiated again. */
static GstPad *
gst_vkgdr_tensor_request_new_pad (GstElement *element, GstPadTemplate *template,
    const gchar *name, const GstCaps *caps)
{
  GstPad *pad = GST_ELEMENT_CLASS (parent_class)
                    ->request_new_pad (element, template, name, caps);

  if (pad)
    gst_tensor_report_refused_caps (element, pad);
  gst_pad_mark_reconfigure (GST_AGGREGATOR_SRC_PAD (GST_AGGREGATOR (element)));
  return pad;
}

/* When GstAggregator releases a pad, it clears the pad's queued buffer without
 * the pad's lock. This element's thread may take that buffer at the same time.
 * So the pad is deactivated first, so that it refuses frames, and its buffer is
 * dropped with the lock held. */
static void
gst_vkgdr_tensor_release_pad (GstElement *element, GstPad *pad)
{
  gst_pad_set_active (pad, FALSE);
  gst_aggregator_pad_drop_buffer (GST_AGGREGATOR_PAD (pad));
  GST_ELEMENT_CLASS (parent_class)->release_pad (element, pad);
  gst_pad_mark_reconfigure (GST_AGGREGATOR_SRC_PAD (GST_AGGREGATOR (element)));
}

/* All formats that kernels can read, as frames and as single fields, in this
 * library's memory, and some in that of GStreamer's own CUDA elements. */
static GstCaps *
make_sink_caps (void)
{
  guint i, n;
  const GstVideoFormat *formats = gst_vkgdr_kernel_list_formats (&n);
  GstCaps *caps, *fields, *theirs;
  GValue list = G_VALUE_INIT;

  g_value_init (&list, GST_TYPE_LIST);
  for (i = 0; i < n; i++) {
    GValue name = G_VALUE_INIT;

    g_value_init (&name, G_TYPE_STRING);
    g_value_set_static_string (&name, gst_video_format_to_string (formats[i]));
    gst_value_list_append_and_take_value (&list, &name);
  }
  caps = gst_caps_from_string (GST_VIDEO_CAPS_MAKE_WITH_FEATURES (
      GST_CAPS_FEATURE_MEMORY_VKGDR_MEMORY, "ANY"));
  gst_caps_set_value (caps, "format", &list);
  g_value_unset (&list);
  fields = gst_caps_copy (caps);
  gst_caps_features_add (
      gst_caps_get_features (fields, 0), GST_CAPS_FEATURE_FORMAT_INTERLACED);
  gst_caps_set_simple (
      fields, "interlace-mode", G_TYPE_STRING, "alternate", NULL);
  gst_caps_append (caps, fields);
  theirs = gst_caps_from_string (GST_VIDEO_CAPS_MAKE_WITH_FEATURES (
      GST_VKGDR_CAPS_FEATURE_MEMORY_CUDA, GST_VKGDR_CUDA_FORMATS));
  gst_caps_append (caps, theirs);
  return caps;
}

static void
add_templates (GstElementClass *klass)
{
  GstCaps *caps = make_sink_caps ();

  gst_element_class_add_pad_template (
      klass, gst_pad_template_new_with_gtype ("sink_%u", GST_PAD_SINK,
                 GST_PAD_REQUEST, caps, GST_TYPE_VKGDR_TENSOR_PAD));
  gst_caps_unref (caps);
  caps = gst_caps_from_string (
      GST_VKGDR_TENSOR_MEDIA_TYPE "(" GST_CAPS_FEATURE_MEMORY_VKGDR_MEMORY ")");
  gst_element_class_add_pad_template (
      klass, gst_pad_template_new_with_gtype ("src", GST_PAD_SRC,
                 GST_PAD_ALWAYS, caps, GST_TYPE_AGGREGATOR_PAD));
  gst_caps_unref (caps);
}

/* --- GObject ------------------------------------------------------------- */

static void
gst_vkgdr_tensor_finalize (GObject *object)
{
  GstVkgdrTensor *self = GST_VKGDR_TENSOR (object);

  gst_vkgdr_tensor_clear_properties (self);
  gst_clear_object (&self->context);
  G_OBJECT_CLASS (parent_class)->finalize (object);
}

static void
gst_vkgdr_tensor_class_init (GstVkgdrTensorClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);
  GstElementClass *element_class = GST_ELEMENT_CLASS (klass);
  GstAggregatorClass *aggregator_class = GST_AGGREGATOR_CLASS (klass);

  object_class->finalize = gst_vkgdr_tensor_finalize;
  gst_vkgdr_tensor_install_properties (object_class);

  add_templates (element_class);
  gst_element_class_set_static_metadata (element_class, "Frames to tensors",
      "Filter/Converter/Video",
      "Makes the input of neural networks of frames in GPU memory: one pass to "
      "resize, convert, normalise and batch them",
      "gst-vkgdr developers");
  gst_type_mark_as_plugin_api (GST_TYPE_VKGDR_TENSOR_PAD, 0);

  element_class->set_context = gst_vkgdr_tensor_set_context;
  element_class->request_new_pad = gst_vkgdr_tensor_request_new_pad;
  element_class->release_pad = gst_vkgdr_tensor_release_pad;
  aggregator_class->start = gst_vkgdr_tensor_start;
  aggregator_class->stop = gst_vkgdr_tensor_stop;
  aggregator_class->sink_query = gst_vkgdr_tensor_sink_query;
  aggregator_class->src_query = gst_vkgdr_tensor_src_query;
  aggregator_class->src_event = gst_vkgdr_tensor_src_event;
  gst_vkgdr_tensor_init_negotiation (aggregator_class);
  gst_vkgdr_tensor_init_rounds (aggregator_class);
}

static void
gst_vkgdr_tensor_init (GstVkgdrTensor *self)
{
  gst_vkgdr_tensor_init_properties (self);
}
