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
 * A kernel of the user has to do the conversion itself: its two frames then
 * differ. If input and output have the same format and size and the buffer has
 * no other owner, a kernel that can run in place does so.
 *
 * Raw video may also be in the memory of GStreamer's own CUDA elements (1.24 or
 * later), on the input, on the output, or on both:
 * `nvh264dec ! cudafilter ! cudaconvertscale` copies nothing. If downstream
 * accepts both memory types, the output has the type of the input.
 *
 * Kernels of the user whose first two parameters are `VkgdrSamples` process raw
 * audio, and the bytes of any other stream.
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
 * gst-launch-1.0 videotestsrc ! video/x-raw,format=RGBA ! vkgdrupload !
 * cudafilter source="__global__ void red (VkgdrFrame in, VkgdrFrame out) { int
 * x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y +
 * threadIdx.y; if (x >= out.width || y >= out.height) return; for (int c = 0; c
 * < 4; c++) vkgdr_put (out, c, x, y, c == 0 ? 255 : vkgdr_get (in, c, x, y));
 * }" ! vkgdrdownload ! autovideosink
 * ]|
 *
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
  GstCudaFilter *self = GST_CUDA_FILTER (transform);

  gst_cuda_filter_stop_worker (self);
  GST_OBJECT_LOCK (self);
  gst_clear_caps (&self->refused);
  GST_OBJECT_UNLOCK (self);
  gst_clear_caps (&self->agreed.output);
}

static gboolean
gst_cuda_filter_open (GstVkgdrBaseTransform *transform, GError **error)
{
  GstCudaFilter *self = GST_CUDA_FILTER (transform);
  guint timeout;

  self->frame = 0;
  GST_OBJECT_LOCK (self);
  timeout = self->kernel_timeout;
  /* A busy processor delays kernels of the software device without limit. */
  if (!self->has_kernel_timeout
      && gst_vkgdr_context_is_software (
          gst_vkgdr_base_transform_get_context (transform)))
    timeout = 0;
  GST_OBJECT_UNLOCK (self);
  gst_vkgdr_stream_set_kernel_timeout (
      gst_vkgdr_base_transform_get_stream (transform), timeout);
  /* Properties may have been set while notifications are frozen. */
  gst_cuda_filter_commit (self);
  return gst_cuda_filter_start_worker (self, error);
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

static void
note_frame (GstCudaFilter *self)
{
  self->frame++;
  if (self->has_run)
    return;
  GST_OBJECT_LOCK (self);
  self->has_run = TRUE;
  GST_OBJECT_UNLOCK (self);
}

static gboolean
gst_cuda_filter_filter_frame (GstVkgdrVideoFilter *filter, GstBuffer *input,
    GstBuffer *output, GstVkgdrStream *stream, GError **error)
{
  GstCudaFilter *self = GST_CUDA_FILTER (filter);

  return gst_vkgdr_kernel_run (self->running->loaded->kernel, stream, input,
      gst_vkgdr_video_filter_get_input_info (filter), output,
      gst_vkgdr_video_filter_get_output_info (filter), self->frame,
      self->running->arguments, error);
}

static gboolean
filter_samples (GstCudaFilter *self, GstBuffer *input, GstBuffer *output,
    GstVkgdrStream *stream, GError **error)
{
  return gst_vkgdr_kernel_run_samples (self->running->loaded->kernel, stream,
      input, output, self->is_audio ? &self->audio_info : NULL, self->frame,
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
    ok = filter_samples (self, input, output, stream, error);
  note_frame (self);
  return ok;
}

static gboolean
has_tag (const GstMeta *meta, const gchar *tag)
{
  return gst_meta_api_type_has_tag (
      meta->info->api, g_quark_from_static_string (tag));
}

/* If the size of the picture changes, scales a meta with places, as videoscale
 * does, or drops it if it cannot be scaled. Otherwise returns FALSE. */
static gboolean
scale_meta (
    GstCudaFilter *self, GstBuffer *outbuf, GstMeta *meta, GstBuffer *inbuf)
{
  GstVkgdrVideoFilter *filter = GST_VKGDR_VIDEO_FILTER (self);
  const GstVideoInfo *in = gst_vkgdr_video_filter_get_input_info (filter);
  const GstVideoInfo *out = gst_vkgdr_video_filter_get_output_info (filter);
  GstVideoMetaTransform sizes = { (GstVideoInfo *) in, (GstVideoInfo *) out };

  if (!has_tag (meta, GST_META_TAG_VIDEO_SIZE_STR)
      || !has_tag (meta, GST_META_TAG_VIDEO_ORIENTATION_STR)
      || (GST_VIDEO_INFO_WIDTH (in) == GST_VIDEO_INFO_WIDTH (out)
          && GST_VIDEO_INFO_HEIGHT (in) == GST_VIDEO_INFO_HEIGHT (out)))
    return FALSE;
  if (meta->info->transform_func)
    meta->info->transform_func (outbuf, meta, inbuf,
        gst_video_meta_transform_scale_get_quark (), &sizes);
  return TRUE;
}

/* The places in metas such as GstVideoRegionOfInterestMeta, which have the tag
 * for the orientation, are wrong in a picture that is turned or mirrored. */
static gboolean
gst_cuda_filter_transform_meta (
    GstBaseTransform *trans, GstBuffer *outbuf, GstMeta *meta, GstBuffer *inbuf)
{
  GstCudaFilter *self = GST_CUDA_FILTER (trans);
  const GstCudaPair *pair = self->running;
  const GstEffect *effect = pair->loaded->effect;

  if (effect && effect->moves_pixels && effect->moves_pixels (pair->arguments)
      && has_tag (meta, GST_META_TAG_VIDEO_ORIENTATION_STR))
    return FALSE;
  if (self->is_video && scale_meta (self, outbuf, meta, inbuf))
    return FALSE;
  return GST_BASE_TRANSFORM_CLASS (gst_cuda_filter_parent_class)
      ->transform_meta (trans, outbuf, meta, inbuf);
}

/* --- GObject ------------------------------------------------------------- */

static void
gst_cuda_filter_finalize (GObject *object)
{
  GstCudaFilter *self = GST_CUDA_FILTER (object);

  gst_cuda_request_clear (&self->properties);
  gst_cuda_request_clear (&self->requested);
  gst_clear_caps (&self->refused);
  gst_clear_caps (&self->agreed.output);

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
  GST_VKGDR_FILTER_CLASS (klass)->filter = gst_cuda_filter_filter;
  filter_class->filter_frame = gst_cuda_filter_filter_frame;
}

static void
gst_cuda_filter_init (GstCudaFilter *self)
{
  gst_cuda_filter_init_properties (self);
  gst_cuda_filter_init_pads (self);
}
