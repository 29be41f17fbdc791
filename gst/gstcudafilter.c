/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * gstcudafilter.c: the element cudafilter
 *
 * Properties and frames. Which kernel runs, and with what parameters, is
 * gstcudaupdate.c's affair, and what comes out of it gstcudanegotiate.c's; how
 * it is compiled, ordered and launched is the library's.
 */

/**
 * SECTION:element-cudafilter
 * @title: cudafilter
 * @see_also: vkgdrupload, vkgdrdownload
 *
 * Runs a CUDA kernel on each frame: one that comes with it
 * (#GstCudaFilter:kernel), or the user's own, from a file
 * (#GstCudaFilter:location) or a string (#GstCudaFilter:source), or made of a
 * statement about one pixel (#GstCudaFilter:pixel). The kernel's first two
 * arguments are the input's and the output's `VkgdrFrame`, from the header
 * `vkgdr/kernel.h`, which is included by itself; further ones come from
 * #GstCudaFilter:params.
 *
 * What comes out has the format and size of what goes in, unless downstream or
 * #GstCudaFilter:output-caps want another and the kernel can make it: one of
 * the user's gets two frames that differ and has to do so. Where input and
 * output are alike and nobody else has the buffer, a kernel that bears it works
 * in place.
 *
 * Raw video may be in the memory of GStreamer's own CUDA elements (1.24 or
 * later) as well, the input, the output, or both: `nvh264dec ! cudafilter !
 * cudaconvertscale` copies nothing. Where downstream takes either memory, the
 * output is in that of the input.
 *
 * Raw audio, and the bytes of any other stream, are for kernels of the user's
 * whose first two parameters are `VkgdrSamples`.
 *
 * All of these can be changed while frames pass. What then does not compile or
 * fit is told by a warning on the bus, and the last kernel that did goes on.
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
 * gst-launch-1.0 videotestsrc ! video/x-raw,width=640,height=480 ! vkgdrupload
 * ! cudafilter location=halve.cu output-caps=video/x-raw,format=GRAY8,width=320
 * ! vkgdrdownload ! autovideosink
 * ]|
 * |[
 * gst-launch-1.0 videotestsrc ! cudaupload ! cudafilter kernel=sobel !
 * cudadownload ! autovideosink
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

#include "gstcudacaps.h"
#include "gstcudafilter.h"
#include "gsteffects.h"
#include "gstvkgdrelements.h"

GST_DEBUG_CATEGORY (gst_cuda_filter_debug);
#define GST_CAT_DEFAULT gst_cuda_filter_debug

#define DEFAULT_KERNEL "copy"

/* Milliseconds: far more than a frame may take, and no more than a user waits
 * before he ends a process that does nothing. */
#define DEFAULT_KERNEL_TIMEOUT 10000

enum {
  PROP_KERNEL = 1,
  PROP_LOCATION,
  PROP_SOURCE,
  PROP_PIXEL,
  PROP_ENTRY,
  PROP_PARAMS,
  PROP_WATCH,
  PROP_OUTPUT_CAPS,
  PROP_BLOCK,
  PROP_GRID,
  PROP_KERNEL_TIMEOUT,
  N_PROPERTIES
};

static GParamSpec *properties[N_PROPERTIES];

/* Memory of the device alone, ours or that of GStreamer's own CUDA elements,
 * which caps can say of video, audio and whatever else they name, but not of
 * all that can be named; see gstcudanegotiate.c. */
static GstStaticPadTemplate sink_template = GST_STATIC_PAD_TEMPLATE (
    "sink", GST_PAD_SINK, GST_PAD_ALWAYS, GST_STATIC_CAPS_ANY);
static GstStaticPadTemplate src_template = GST_STATIC_PAD_TEMPLATE (
    "src", GST_PAD_SRC, GST_PAD_ALWAYS, GST_STATIC_CAPS_ANY);

static void gst_cuda_filter_child_proxy_init (
    gpointer interface, gpointer interface_data);

G_DEFINE_TYPE_WITH_CODE (GstCudaFilter, gst_cuda_filter,
    GST_TYPE_VKGDR_VIDEO_FILTER,
    G_IMPLEMENT_INTERFACE (
        GST_TYPE_CHILD_PROXY, gst_cuda_filter_child_proxy_init)
        GST_DEBUG_CATEGORY_INIT (
            gst_cuda_filter_debug, "cudafilter", 0, "cudafilter"))
GST_ELEMENT_REGISTER_DEFINE (
    cudafilter, "cudafilter", GST_RANK_NONE, GST_TYPE_CUDA_FILTER)

/* --- the child ----------------------------------------------------------- */

static GObject *
gst_cuda_filter_get_child (GstChildProxy *proxy, guint index)
{
  GstCudaFilter *self = GST_CUDA_FILTER (proxy);
  GObject *child;

  if (index != 0)
    return NULL;
  GST_OBJECT_LOCK (self);
  child = g_object_ref (G_OBJECT (self->child));
  GST_OBJECT_UNLOCK (self);
  return child;
}

static guint
gst_cuda_filter_count_children (GstChildProxy *proxy)
{
  return 1;
}

static void
gst_cuda_filter_child_proxy_init (gpointer interface, gpointer interface_data)
{
  GstChildProxyInterface *proxy = interface;

  proxy->get_child_by_index = gst_cuda_filter_get_child;
  proxy->get_children_count = gst_cuda_filter_count_children;
}

/* --- virtual functions --------------------------------------------------- */

static void
set_open (GstCudaFilter *self, gboolean is_open)
{
  GST_OBJECT_LOCK (self);
  self->is_open = is_open;
  GST_OBJECT_UNLOCK (self);
  gst_cuda_filter_sync_watch (self);
}

static void
gst_cuda_filter_close (GstVkgdrBaseTransform *transform)
{
  GstCudaFilter *self = GST_CUDA_FILTER (transform);

  set_open (self, FALSE);
  gst_cuda_filter_unload (self);
  gst_clear_caps (&self->refused);
}

static gboolean
gst_cuda_filter_open (GstVkgdrBaseTransform *transform, GError **error)
{
  GstCudaFilter *self = GST_CUDA_FILTER (transform);

  self->frame = 0;
  GST_OBJECT_LOCK (self);
  gst_vkgdr_stream_set_kernel_timeout (
      gst_vkgdr_base_transform_get_stream (transform), self->kernel_timeout);
  GST_OBJECT_UNLOCK (self);
  gst_cuda_filter_commit (self); /* somebody may have frozen notifications */
  /* The watch before the kernel: no change of the file is missed. */
  set_open (self, TRUE);
  if (!gst_cuda_filter_update (self, GST_CLOCK_TIME_NONE, error)) {
    gst_cuda_filter_close (transform);
    return FALSE;
  }
  gst_cuda_filter_remind (self);
  return TRUE;
}

static gboolean
gst_cuda_filter_filter_frame (GstVkgdrVideoFilter *filter, GstBuffer *input,
    GstBuffer *output, GstVkgdrStream *stream, GError **error)
{
  GstCudaFilter *self = GST_CUDA_FILTER (filter);

  return gst_vkgdr_kernel_run (self->running.kernel, stream, input,
      gst_vkgdr_video_filter_get_input_info (filter), output,
      gst_vkgdr_video_filter_get_output_info (filter), self->frame++,
      self->arguments, error);
}

static gboolean
gst_cuda_filter_filter (GstVkgdrFilter *filter, GstBuffer *input,
    GstBuffer *output, GstVkgdrStream *stream, GError **error)
{
  GstCudaFilter *self = GST_CUDA_FILTER (filter);

  if (self->is_video)
    return GST_VKGDR_FILTER_CLASS (gst_cuda_filter_parent_class)
        ->filter (filter, input, output, stream, error);
  return gst_vkgdr_kernel_run_samples (self->running.kernel, stream, input,
      output, self->is_audio ? &self->audio_info : NULL, self->frame++,
      self->arguments, error);
}

/* --- GObject ------------------------------------------------------------- */

static gchar **
string_property (GstCudaFilter *self, guint id)
{
  switch (id) {
  case PROP_KERNEL:
    return &self->choice.kernel_name;
  case PROP_LOCATION:
    return &self->choice.location;
  case PROP_SOURCE:
    return &self->choice.source;
  case PROP_PIXEL:
    return &self->choice.pixel;
  case PROP_ENTRY:
    return &self->choice.entry;
  case PROP_BLOCK:
    return &self->choice.block;
  case PROP_GRID:
    return &self->choice.grid;
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
    if ((id == PROP_BLOCK || id == PROP_GRID) && !*string)
      *string = g_strdup ("");
    if (id == PROP_KERNEL && !*string)
      *string = g_strdup (DEFAULT_KERNEL);
    self->choice_is_new = TRUE;
  } else if (id == PROP_PARAMS) {
    g_clear_pointer (&self->noted, gst_structure_free);
    if (gst_value_get_structure (value))
      self->noted = gst_structure_copy (gst_value_get_structure (value));
    self->params_are_noted = TRUE;
  } else if (id == PROP_WATCH) {
    self->watch = g_value_get_boolean (value);
  } else if (id == PROP_OUTPUT_CAPS) {
    gst_clear_caps (&self->output);
    self->output = gst_cuda_caps_complete (
        gst_value_get_caps (value), &self->output_is_in_any_memory);
  } else if (id == PROP_KERNEL_TIMEOUT) {
    self->kernel_timeout = g_value_get_uint (value);
  } else {
    G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, pspec);
  }
  GST_OBJECT_UNLOCK (self);
  if (id == PROP_WATCH)
    gst_cuda_filter_sync_watch (self);
  if (id == PROP_OUTPUT_CAPS)
    gst_base_transform_reconfigure_src (GST_BASE_TRANSFORM (self));
}

/* The end of a g_object_set(): all that it set is there. */
static void
gst_cuda_filter_dispatch_properties_changed (
    GObject *object, guint n_pspecs, GParamSpec **pspecs)
{
  gst_cuda_filter_commit (GST_CUDA_FILTER (object));
  G_OBJECT_CLASS (gst_cuda_filter_parent_class)
      ->dispatch_properties_changed (object, n_pspecs, pspecs);
}

static void
gst_cuda_filter_get_property (
    GObject *object, guint id, GValue *value, GParamSpec *pspec)
{
  GstCudaFilter *self = GST_CUDA_FILTER (object);
  gchar **string = string_property (self, id);

  if (id == PROP_PARAMS) {
    g_value_take_boxed (value, gst_cuda_filter_get_params (self));
    return;
  }
  GST_OBJECT_LOCK (self);
  if (string)
    g_value_set_string (value, *string);
  else if (id == PROP_WATCH)
    g_value_set_boolean (value, self->watch);
  else if (id == PROP_OUTPUT_CAPS)
    gst_value_set_caps (value, self->output);
  else if (id == PROP_KERNEL_TIMEOUT)
    g_value_set_uint (value, self->kernel_timeout);
  else
    G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, pspec);
  GST_OBJECT_UNLOCK (self);
}

static void
gst_cuda_filter_finalize (GObject *object)
{
  GstCudaFilter *self = GST_CUDA_FILTER (object);

  gst_cuda_filter_unload (self);
  gst_cuda_choice_clear (&self->choice);
  gst_clear_caps (&self->output);
  gst_clear_caps (&self->refused);
  g_clear_pointer (&self->noted, gst_structure_free);
  g_clear_pointer (&self->params, gst_structure_free);
  g_clear_pointer (&self->good, gst_structure_free);
  g_clear_pointer (&self->rejected, gst_structure_free);
  gst_object_unparent (GST_OBJECT (self->child));
  gst_object_unref (self->child);

  G_OBJECT_CLASS (gst_cuda_filter_parent_class)->finalize (object);
}

static void
install_properties (GObjectClass *object_class)
{
  const GParamFlags flags =
      G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | GST_PARAM_MUTABLE_PLAYING;
  gchar *names = gst_effects_get_names ();
  gchar *blurb = g_strdup_printf (
      "Built-in kernel: %s (not used where location, source or pixel is set)",
      names);

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
   * GstCudaFilter:pixel:
   *
   * Statements of CUDA C that are run for each pixel and change its colour:
   * `rgba.r = 1.0f - rgba.r`. In scope are
   *
   *  - `rgba`: the pixel's colour, a `VkgdrRgba &`: r, g, b and a, from 0 to 1
   *  - `x`, `y`, `width`, `height`: the pixel and the size of the frame, int
   *  - `frame`: number of the frame, from 0, unsigned long long
   *  - `time`: time stamp in seconds, 0 where there is none, float
   *  - the fields of #GstCudaFilter:params, by their names and of their types
   *
   * and all of `vkgdr/kernel.h`. A pixel cannot see others. It works on every
   * format of red, green and blue, of luma and colour differences, and of gray:
   * where pixels share a sample of colour, that becomes their mean, as
   * vkgdr_shade() says. Samples whose colour is left alone keep their value;
   * the padding of formats such as RGBx becomes its maximum. The output may
   * have another format than the input, and never another size.
   *
   * The compiler's messages count lines and columns of this text. New values of
   * params compile nothing, new names or types do.
   *
   * Since: 0.1
   */
  properties[PROP_PIXEL] = g_param_spec_string ("pixel", "Pixel",
      "Statements that change a pixel's colour, such as rgba.r = 1.0f - rgba.r "
      "(in scope: rgba, x, y, width, height, frame, time, and params by name)",
      NULL, flags);
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
   * they are taken in the order of the structure's fields; for a built-in one,
   * and for #GstCudaFilter:pixel, by name. What is left out has its default,
   * which only built-in ones have. Reading it gives the values of all
   * parameters as they are now.
   *
   * The same parameters are properties of the child object "params" (see
   * #GstChildProxy), each a number or a boolean that can be controlled, so that
   * `params::gain=1.5` sets one of them, and a #GstControlBinding lets it
   * change with the stream time. A kernel of one's own has no names before
   * #GstCudaFilter:params gave them, so that goes first. The child is replaced,
   * bindings and all, when the list of parameters becomes another;
   * "child-added" tells. The ranges are those of the types: a
   * #GstDirectControlBinding has to be an absolute one. Values are checked
   * against the kernel:
   *
   *  - for a built-in kernel when they are set, names and types,
   *  - for one's own when they are set, number and sizes, if it is loaded,
   *  - else before it is launched for the first time.
   *
   * What does not fit is told by a warning on the bus, and the last values that
   * did stay; where there are none, before the first frame, it is an error.
   *
   * A kernel and its params are taken together. Set both with one
   * g_object_set(), in any order, and they are judged as one. Set one after the
   * other, and the last pair that fitted goes on, with a warning, until the
   * other comes: a new kernel waits for params that fit it, and params that did
   * not fit are tried again with the next kernel that is set.
   *
   * Since: 0.1
   */
  properties[PROP_PARAMS] = g_param_spec_boxed ("params", "Parameters",
      "Further arguments of the kernel, in their order, such as "
      "params,gain=(float)1.5; each is also a property of the child: "
      "params::gain=1.5",
      GST_TYPE_STRUCTURE, flags);
  /**
   * GstCudaFilter:watch:
   *
   * Whether the file of #GstCudaFilter:location is compiled again when it
   * changes. That happens in a thread of its own; the stream goes on with the
   * last kernel meanwhile, and takes the new one with the first frame that
   * comes when it is ready, which an info message on the bus tells. A file that
   * does not compile, or whose kernel does not fit the params, is told by a
   * warning, and the last kernel goes on, as it does where the file is deleted.
   * Headers that it includes are not watched.
   *
   * Since: 0.1
   */
  properties[PROP_WATCH] = g_param_spec_boolean ("watch", "Watch",
      "Compile the file of location again when it changes, and go on with that",
      FALSE, flags);
  /**
   * GstCudaFilter:kernel-timeout:
   *
   * Milliseconds for which the kernel may run on a frame, or 0: no limit. The
   * time counts from when the kernel can begin, not from when it was queued.
   *
   * Nothing can end a kernel that runs. So one that exceeds the limit fails the
   * element, and all others in the process that use the same CUDA context, as
   * they would wait for it; a pipeline that is started while it still runs gets
   * the same error, and one that is started later works. Without a limit, a
   * kernel that does not end stops the pipeline for good: it cannot even be set
   * to NULL.
   *
   * Since: 0.1
   */
  properties[PROP_KERNEL_TIMEOUT] = g_param_spec_uint ("kernel-timeout",
      "Kernel timeout",
      "Milliseconds for which the kernel may run on a frame before the element "
      "fails (0 = no limit)",
      0, G_MAXINT, DEFAULT_KERNEL_TIMEOUT,
      G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | GST_PARAM_MUTABLE_READY);
  /**
   * GstCudaFilter:output-caps:
   *
   * What the output is to be, where it is not for downstream to decide, such as
   * `video/x-raw,format=RGBA,width=1280,height=720`. Fields that are left out
   * are as the input has them; a side of the picture that is left out follows
   * from the other, so that the picture keeps its shape. Memory need not be
   * named: the output is always on the device, in whichever memory there
   * downstream wants.
   *
   * A kernel of the user's makes every format and size of every other: it is
   * the kernel that has to do so, by what its two frames say. A built-in one
   * makes those that it is made for, and #GstCudaFilter:pixel every format.
   * What cannot be made is an error.
   *
   * Since: 0.1
   */
  properties[PROP_OUTPUT_CAPS] =
      g_param_spec_boxed ("output-caps", "Output caps",
          "What the output is to be, such as "
          "video/x-raw,format=RGBA,width=1280,height=720; what is left out is "
          "as in the input (default: what downstream wants)",
          GST_TYPE_CAPS, flags);
  /**
   * GstCudaFilter:block:
   *
   * Threads of a block: in x and y as "32x8", or in x alone as "256". Empty: as
   * many as keep the device busy, see gst_vkgdr_kernel_set_block_size().
   *
   * Since: 0.1
   */
  properties[PROP_BLOCK] = g_param_spec_string ("block", "Block",
      "Threads of a block, such as 32x8, or 256 for a row (empty: chosen for "
      "the kernel and the device)",
      "", flags);
  /**
   * GstCudaFilter:grid:
   *
   * Blocks of a launch: in x and y as "64x64", or in x alone as "128". Empty:
   * as many as it takes to have a thread for each pixel or sample. With a grid
   * that is given, the kernel's threads have to go on by the grid's width and
   * height until all is done.
   *
   * Since: 0.1
   */
  properties[PROP_GRID] = g_param_spec_string ("grid", "Grid",
      "Blocks of a launch, such as 64x64, or 128 for a row; the kernel then "
      "has to cover the output by itself (empty: one thread for each pixel or "
      "sample)",
      "", flags);
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
  object_class->dispatch_properties_changed =
      gst_cuda_filter_dispatch_properties_changed;
  object_class->finalize = gst_cuda_filter_finalize;
  install_properties (object_class);

  gst_element_class_add_static_pad_template (element_class, &sink_template);
  gst_element_class_add_static_pad_template (element_class, &src_template);
  gst_element_class_set_static_metadata (element_class, "CUDA filter",
      "Filter/Effect/Video",
      "Runs a CUDA kernel on each frame in GPU memory (memory:VkgdrMemory, and "
      "memory:CUDAMemory of GStreamer's own CUDA elements)",
      "gst-vkgdr developers");

  base_class->open = gst_cuda_filter_open;
  base_class->close = gst_cuda_filter_close;
  gst_cuda_filter_init_negotiation (klass);
  GST_VKGDR_FILTER_CLASS (klass)->filter = gst_cuda_filter_filter;
  filter_class->filter_frame = gst_cuda_filter_filter_frame;
}

static void
gst_cuda_filter_init (GstCudaFilter *self)
{
  self->choice.kernel_name = g_strdup (DEFAULT_KERNEL);
  self->choice.block = g_strdup ("");
  self->choice.grid = g_strdup ("");
  self->kernel_timeout = DEFAULT_KERNEL_TIMEOUT;
  self->kernel_changed = TRUE;
  self->params_are_judged = TRUE;
  self->child = gst_cuda_params_new (NULL, NULL);
  self->child_is_current = TRUE;
  gst_object_set_parent (GST_OBJECT (self->child), GST_OBJECT (self));
}
