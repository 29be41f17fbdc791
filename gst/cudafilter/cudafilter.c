/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * cudafilter/cudafilter.c: the element cudafilter
 *
 * Creates the class and processes frames. update.c chooses the kernel and its
 * parameters, and negotiate.c chooses the caps. The library compiles, orders
 * and launches kernels.
 */

/**
 * SECTION:element-cudafilter
 * @title: cudafilter
 * @see_also: vkgdrupload, vkgdrdownload
 *
 * Runs a CUDA kernel on each frame. It is a built-in kernel
 * (#GstCudaFilter:kernel), or the user's own kernel from a file
 * (#GstCudaFilter:location) or a string (#GstCudaFilter:source), or statements
 * for a pixel (#GstCudaFilter:pixel). The first two arguments of the kernel are
 * the `VkgdrFrame` of the input and that of the output. The header
 * `vkgdr/kernel.h` defines this type and is included automatically. Further
 * arguments come from #GstCudaFilter:params.
 *
 * The output has the format and size of the input, unless downstream or
 * #GstCudaFilter:output-caps require others and the kernel can convert to them.
 * Raw video may be in the memory of this plugin, and in that of GStreamer's own
 * CUDA elements (1.24 or later), on both pads: `nvh264dec ! cudafilter !
 * cudaconvertscale` copies nothing. Kernels of the user whose first two
 * parameters are `VkgdrSamples` process raw audio, and the bytes of any other
 * stream.
 *
 * All of these properties can be changed while the pipeline plays; see
 * #GstCudaFilter:params. The field `pending` of
 * #GstVkgdrBaseTransform:stats is %TRUE while a new kernel is compiled.
 *
 * ## Example launch lines
 * |[
 * gst-launch-1.0 videotestsrc ! vkgdrupload ! cudafilter kernel=gain
 * params="params,gain=(float)1.5" ! vkgdrdownload ! autovideosink
 * ]|
 * |[
 * gst-launch-1.0 videotestsrc ! vkgdrupload ! cudafilter pixel="rgba.b *= 0.5f
 * + 0.5f * sinf (time)" ! vkgdrdownload ! autovideosink
 * ]|
 * |[
 * gst-launch-1.0 audiotestsrc ! audio/x-raw,format=S16LE ! vkgdrupload !
 * cudafilter source="__global__ void halve (VkgdrSamples in, VkgdrSamples out)
 * { long long i = (long long) blockIdx.x * blockDim.x + threadIdx.x; if (i <
 * out.n) ((short *) out.data)[i] = ((short *) in.data)[i] / 2; }" !
 * vkgdrdownload ! autoaudiosink
 * ]|
 *
 * Since: 0.1
 */

#include <gst/vkgdr/vkgdr.h>

#include "cudafilter/caps.h"
#include "cudafilter/cudafilter.h"
#include "cudafilter/effects.h"
#include "cudafilter/geometry.h"
#include "gstvkgdrelements.h"

GST_DEBUG_CATEGORY (gst_cuda_filter_debug);
#define GST_CAT_DEFAULT gst_cuda_filter_debug

/* The pads accept only memory on the device: this library's, or that of
 * GStreamer's own CUDA elements. Caps can express this for media types that
 * they name, such as video and audio, but not for all media types; see
 * cudafilter/negotiate.c. */
static GstStaticPadTemplate sink_template = GST_STATIC_PAD_TEMPLATE (
    "sink", GST_PAD_SINK, GST_PAD_ALWAYS, GST_STATIC_CAPS_ANY);
static GstStaticPadTemplate src_template = GST_STATIC_PAD_TEMPLATE (
    "src", GST_PAD_SRC, GST_PAD_ALWAYS, GST_STATIC_CAPS_ANY);

G_DEFINE_TYPE_WITH_CODE (GstCudaFilter, gst_cuda_filter,
    GST_TYPE_VKGDR_VIDEO_FILTER,
    GST_DEBUG_CATEGORY_INIT (
        gst_cuda_filter_debug, "cudafilter", 0, "cudafilter"))
GST_ELEMENT_REGISTER_DEFINE (
    cudafilter, "cudafilter", GST_RANK_NONE, GST_TYPE_CUDA_FILTER)

/* --- virtual functions --------------------------------------------------- */

static void
gst_cuda_filter_close (GstVkgdrBaseTransform *transform)
{
  gst_cuda_filter_stop_worker (GST_CUDA_FILTER (transform));
}

static gboolean
gst_cuda_filter_open (GstVkgdrBaseTransform *transform, GError **error)
{
  GstVkgdrContext *context = gst_vkgdr_base_transform_get_context (transform);
  GstCudaFilter *self = GST_CUDA_FILTER (transform);
  guint timeout;

  GST_OBJECT_LOCK (self);
  /* No limit on the software device: other work on the processor delays its
   * kernels. */
  if (!self->has_kernel_timeout)
    self->kernel_timeout = gst_vkgdr_context_is_software (context)
                               ? 0
                               : GST_CUDA_DEFAULT_KERNEL_TIMEOUT;
  timeout = self->kernel_timeout;
  GST_OBJECT_UNLOCK (self);
  gst_vkgdr_stream_set_kernel_timeout (
      gst_vkgdr_base_transform_get_stream (transform), timeout);
  /* Properties set while notifications are frozen are not committed yet. */
  gst_cuda_filter_commit (self);
  if (!gst_cuda_filter_start_worker (self, error))
    return FALSE;
  gst_cuda_filter_check_upstream (self);
  return TRUE;
}

static void
gst_cuda_filter_fill_stats (
    GstVkgdrBaseTransform *transform, GstStructure *stats)
{
  GST_VKGDR_BASE_TRANSFORM_CLASS (gst_cuda_filter_parent_class)
      ->fill_stats (transform, stats);
  gst_structure_set (stats, "pending", G_TYPE_BOOLEAN,
      gst_cuda_filter_is_pending (GST_CUDA_FILTER (transform)), NULL);
}

static gboolean
gst_cuda_filter_filter_frame (GstVkgdrVideoFilter *filter, GstBuffer *input,
    GstBuffer *output, GstVkgdrStream *stream, GError **error)
{
  GstCudaFilter *self = GST_CUDA_FILTER (filter);

  return gst_vkgdr_kernel_run (self->running->loaded->kernel, stream, input,
      self->in_info, output, self->out_info, self->frame,
      self->running->arguments, error);
}

static gboolean
gst_cuda_filter_filter (GstVkgdrFilter *filter, GstBuffer *input,
    GstBuffer *output, GstVkgdrStream *stream, GError **error)
{
  GstCudaFilter *self = GST_CUDA_FILTER (filter);
  gboolean ok;

  if (self->is_video)
    ok = GST_VKGDR_FILTER_CLASS (gst_cuda_filter_parent_class)
             ->filter (filter, input, output, stream, error);
  else
    ok = gst_vkgdr_kernel_run_samples (self->running->loaded->kernel, stream,
        input, output, self->is_audio ? &self->audio_info : NULL, self->frame,
        self->running->arguments, error);
  GST_OBJECT_LOCK (self);
  self->frame++;
  GST_OBJECT_UNLOCK (self);
  return ok;
}

/* --- metas --------------------------------------------------------------- */

static gboolean
has_tag (const GstMeta *meta, const gchar *tag)
{
  return gst_meta_api_type_has_tag (
      meta->info->api, g_quark_from_static_string (tag));
}

/* Metas with places in the picture, such as GstVideoRegionOfInterestMeta,
 * follow it. Before GStreamer 1.28 they cannot follow a picture that is turned
 * or mirrored, and are dropped. The codes of GstVideoAFDMeta do not depend on
 * the size. */
static gboolean
gst_cuda_filter_transform_meta (
    GstBaseTransform *trans, GstBuffer *outbuf, GstMeta *meta, GstBuffer *inbuf)
{
  GstVkgdrVideoFilter *filter = GST_VKGDR_VIDEO_FILTER (trans);
  const GstCudaPair *pair = GST_CUDA_FILTER (trans)->running;
  const GstEffectTurn *turn =
      gst_effect_get_turn (pair->loaded->effect, pair->arguments);
  GstCudaGeometry geometry;

  gst_cuda_geometry_init (&geometry,
      gst_vkgdr_video_filter_get_input_info (filter),
      gst_vkgdr_video_filter_get_output_info (filter), turn);
  if (!GST_CUDA_FILTER (trans)->is_video
      || has_tag (meta, GST_META_TAG_MEMORY_STR)
      || gst_cuda_geometry_is_identity (&geometry))
    return GST_BASE_TRANSFORM_CLASS (gst_cuda_filter_parent_class)
        ->transform_meta (trans, outbuf, meta, inbuf);
  if (!has_tag (meta, GST_META_TAG_VIDEO_SIZE_STR))
    return !turn || !has_tag (meta, GST_META_TAG_VIDEO_ORIENTATION_STR);
  if (!turn && meta->info->api == GST_VIDEO_AFD_META_API_TYPE)
    return TRUE;
  gst_cuda_geometry_move_meta (&geometry, outbuf, meta, inbuf);
  return FALSE;
}

/* --- events with places --------------------------------------------------- */

static gboolean
get_info (GstPad *pad, GstVideoInfo *info)
{
  GstCaps *caps = gst_pad_get_current_caps (pad);
  gboolean ok = caps && gst_vkgdr_caps_get_video_info (caps, info);

  gst_clear_caps (&caps);
  return ok;
}

/* Called in any thread. The answer to a mouse is about the picture that the
 * user sees. */
static gboolean
gst_cuda_filter_src_event (GstBaseTransform *trans, GstEvent *event)
{
  GstCudaFilter *self = GST_CUDA_FILTER (trans);
  const GstEffectTurn *turn = NULL;
  GstCudaGeometry geometry;
  GstVideoInfo in, out;

  if (GST_EVENT_TYPE (event) == GST_EVENT_NAVIGATION
      && get_info (trans->sinkpad, &in) && get_info (trans->srcpad, &out)) {
    GST_OBJECT_LOCK (self);
    if (self->running)
      turn = gst_effect_get_turn (
          self->running->loaded->effect, self->running->arguments);
    GST_OBJECT_UNLOCK (self);
    gst_cuda_geometry_init (&geometry, &in, &out, turn);
    event = gst_cuda_geometry_move_event (&geometry, event);
  }
  return GST_BASE_TRANSFORM_CLASS (gst_cuda_filter_parent_class)
      ->src_event (trans, event);
}

/* --- GObject ------------------------------------------------------------- */

static void
gst_cuda_filter_finalize (GObject *object)
{
  GstCudaFilter *self = GST_CUDA_FILTER (object);

  gst_cuda_request_clear (&self->properties);
  gst_cuda_request_clear (&self->requested);
  g_cond_clear (&self->cond);

  G_OBJECT_CLASS (gst_cuda_filter_parent_class)->finalize (object);
}

static void
gst_cuda_filter_class_init (GstCudaFilterClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);
  GstElementClass *element_class = GST_ELEMENT_CLASS (klass);
  GstVkgdrBaseTransformClass *base_class =
      GST_VKGDR_BASE_TRANSFORM_CLASS (klass);
  GstVkgdrVideoFilterClass *filter_class = GST_VKGDR_VIDEO_FILTER_CLASS (klass);

  object_class->finalize = gst_cuda_filter_finalize;
  gst_cuda_filter_install_properties (object_class);

  gst_element_class_add_static_pad_template (element_class, &sink_template);
  gst_element_class_add_static_pad_template (element_class, &src_template);
  gst_element_class_set_static_metadata (element_class, "CUDA filter",
      "Filter/Effect/Video",
      "Runs a CUDA kernel on each frame in GPU memory (memory:VkgdrMemory, and "
      "memory:CUDAMemory of GStreamer's own CUDA elements)",
      "gst-vkgdr developers");

  base_class->open = gst_cuda_filter_open;
  base_class->close = gst_cuda_filter_close;
  base_class->fill_stats = gst_cuda_filter_fill_stats;
  gst_cuda_filter_init_negotiation (klass);
  GST_BASE_TRANSFORM_CLASS (klass)->transform_meta =
      gst_cuda_filter_transform_meta;
  GST_BASE_TRANSFORM_CLASS (klass)->src_event = gst_cuda_filter_src_event;
  GST_VKGDR_FILTER_CLASS (klass)->filter = gst_cuda_filter_filter;
  filter_class->filter_frame = gst_cuda_filter_filter_frame;
}

static void
gst_cuda_filter_init (GstCudaFilter *self)
{
  g_cond_init (&self->cond);
  gst_cuda_filter_init_properties (self);
  gst_cuda_filter_init_pads (self);
}
