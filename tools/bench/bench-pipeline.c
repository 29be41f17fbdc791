/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * bench-pipeline.c: which pipelines are measured, and beside which others
 *
 * Each case is one source in front of several variants of what follows, run in
 * turn. How a pipeline is run and counted is another file's affair.
 */

#include "bench-pipeline.h"

#include <string.h>

#include "bench-loop.h"
#include "bench-memory.h"
#include "bench-progress.h"
#include "bench-run.h"
#include <gst/video/video.h>

#define SINK " ! fakesink sync=false enable-last-sample=false"
#define CUDA_CAPS " ! video/x-raw(memory:CUDAMemory)"

/* Bytes of a small buffer. */
#define SMALL 4096

/* A frame that is small enough for its kernel to take no time. */
#define TINY 64

/* What a source makes. */
typedef struct {
  const gchar *id;
  const gchar *title;
  const gchar *format;
  gint width;
  gint height;
} Frame;

/* How it comes by a buffer, and what it does to it. */
typedef struct {
  const gchar *id;
  const gchar *title;
  const gchar *properties;
} Manner;

/* The size of the work. */
typedef struct {
  const Frame *frames;
  guint n_frames;
  const Frame *stream_frame;
  const Frame *effect_frame;
  guint streams;
} Scale;

static const Frame full_frames[] = {
  { "1080p-nv12", "1080p NV12", "NV12", 1920, 1080 },
  { "4k-nv12", "4K NV12", "NV12", 3840, 2160 },
  { "4k-rgba", "4K RGBA", "RGBA", 3840, 2160 },
};

static const Frame quick_frames[] = {
  { "360p-nv12", "360p NV12", "NV12", 640, 360 },
  { "180p-rgba", "180p RGBA", "RGBA", 320, 180 },
};

static const Scale full_scale = { full_frames, G_N_ELEMENTS (full_frames),
  &full_frames[1], &full_frames[2], 8 };
static const Scale quick_scale = { quick_frames, G_N_ELEMENTS (quick_frames),
  &quick_frames[0], &quick_frames[1], 2 };

static const Frame tiny_frame = { "64x64-rgba", "64x64 RGBA", "RGBA", TINY,
  TINY };

static const Manner manners[] = {
  { "pool", "into the pool it is offered", "pool=downstream touch=write" },
  { "own", "into its own pool", "pool=own touch=write" },
  { "readwrite", "into the pool, and reads back",
      "pool=downstream touch=readwrite" },
};

static const Manner untouched = { "untouched", "written by nobody",
  "pool=downstream touch=nothing" };

/* --- pieces of pipelines ------------------------------------------------- */

static gsize
frame_size (const Frame *frame)
{
  GstVideoInfo info;

  gst_video_info_set_format (&info,
      gst_video_format_from_string (frame->format), frame->width,
      frame->height);
  return GST_VIDEO_INFO_SIZE (&info);
}

static gchar *
source (const Frame *frame, const Manner *manner, const BenchOptions *options)
{
  return g_strdup_printf ("vkgdrbenchsrc %s fill=%s buffers=%d "
                          "caps=\"video/x-raw,format=%s,width=%d,"
                          "height=%d,framerate=60/1\"",
      manner->properties, options->fill, options->buffers, frame->format,
      frame->width, frame->height);
}

static gboolean
has_element (const gchar *name)
{
  GstElementFactory *factory = gst_element_factory_find (name);

  if (!factory)
    return FALSE;
  gst_object_unref (factory);
  return TRUE;
}

/* Adds a variant: @head, and after it what @format and the rest make. */
static BenchVariant *add_variant (BenchCase *c, const gchar *id,
    const gchar *label, const gchar *head, const gchar *format, ...)
    G_GNUC_PRINTF (5, 6);

static BenchVariant *
add_variant (BenchCase *c, const gchar *id, const gchar *label,
    const gchar *head, const gchar *format, ...)
{
  gchar *tail, *launch;
  va_list args;

  va_start (args, format);
  tail = g_strdup_vprintf (format, args);
  va_end (args);
  launch = g_strconcat (head, tail, SINK, NULL);
  g_free (tail);
  return bench_case_add (c, id, label, launch);
}

/* One with GStreamer's own elements, which need not be there. */
static void
add_cuda (BenchCase *c, const gchar *id, const gchar *label, const gchar *head,
    const gchar *tail, GstVkgdrContext *context)
{
  BenchVariant *variant =
      add_variant (c, id, label, head, " ! cudaupload cuda-device-id=%d%s%s",
          gst_vkgdr_context_get_device (context), CUDA_CAPS, tail);

  if (!has_element ("cudaupload"))
    bench_samples_fail (
        &variant->samples, g_error_new_literal (GST_CORE_ERROR,
                               GST_CORE_ERROR_MISSING_PLUGIN, "not installed"));
}

/* Our upload, beside GStreamer's and none. */
static void
add_uploads (BenchCase *c, const gchar *head, GstVkgdrContext *context)
{
  add_variant (c, BENCH_VKGDR, "vkgdrupload", head, " ! vkgdrupload");
  add_cuda (c, BENCH_CUDA, "cudaupload", head, "", context);
  add_variant (c, BENCH_NONE, "no upload", head, "%s", "");
}

/* --- cases --------------------------------------------------------------- */

static BenchCase *
make_frames (const Frame *frame, const Manner *manner, GstVkgdrContext *context,
    const BenchOptions *options)
{
  gchar *head = source (frame, manner, options);
  BenchCase *c = bench_case_new (BENCH_SECTION_FRAMES,
      g_strdup_printf ("%s-%s", frame->id, manner->id),
      g_strdup_printf ("%s, %s", frame->title, manner->title),
      BENCH_FRAMES_PER_SECOND, frame_size (frame));

  add_uploads (c, head, context);
  g_free (head);
  return c;
}

/* What starting takes beyond the device itself, which is open already. */
static BenchCase *
make_start (const Frame *frame, const BenchOptions *options)
{
  gchar *head = source (frame, &manners[0], options);
  BenchCase *c = bench_case_new (BENCH_SECTION_START,
      g_strdup_printf ("%s-start", frame->id), g_strdup (frame->title),
      BENCH_MILLISECONDS, frame_size (frame));

  add_variant (c, BENCH_KERNEL, "vkgdrupload ! cudafilter ! vkgdrdownload",
      head, " ! vkgdrupload ! cudafilter kernel=copy ! vkgdrdownload");
  add_variant (c, BENCH_VKGDR, "vkgdrupload", head, " ! vkgdrupload");
  add_variant (c, BENCH_NONE, "neither", head, "%s", "");
  g_free (head);
  return c;
}

/* The same writes without any pipeline. */
static BenchCase *
make_loop (const Frame *frame, const gchar *id, const gchar *label)
{
  BenchCase *c = bench_case_new (BENCH_SECTION_LOOPS,
      g_strdup_printf ("%s-%s", frame->id, id),
      g_strdup_printf ("%s, %s", frame->title, label), BENCH_FRAMES_PER_SECOND,
      frame_size (frame));

  bench_case_add (c, id, "to the device", NULL);
  bench_case_add (c, BENCH_BARE_RAM, "in RAM", NULL);
  return c;
}

/* Makes each variant's pipeline run @n times at once. */
static void
multiply (BenchCase *c, guint n)
{
  guint i, j;

  for (i = 0; i < c->variants->len; i++) {
    BenchVariant *variant = g_ptr_array_index (c->variants, i);
    GString *launch = g_string_new (NULL);

    for (j = 0; j < n; j++)
      g_string_append_printf (launch, "%s%s", j ? " " : "", variant->launch);
    g_free (variant->launch);
    variant->launch = g_string_free (launch, FALSE);
  }
  c->streams = n;
}

static BenchCase *
make_streams (const Frame *frame, guint n, GstVkgdrContext *context,
    const BenchOptions *options)
{
  gchar *head = source (frame, &manners[0], options);
  BenchCase *c = bench_case_new (BENCH_SECTION_STREAMS,
      g_strdup_printf ("%s-streams-%u", frame->id, n),
      g_strdup_printf ("%u streams of %s", n, frame->title),
      BENCH_GB_PER_SECOND, frame_size (frame));

  add_uploads (c, head, context);
  multiply (c, n);
  bench_case_add (c, BENCH_LINK_UP, "DMA limit", NULL);
  g_free (head);
  return c;
}

static BenchCase *
make_round_trip (
    const Frame *frame, GstVkgdrContext *context, const BenchOptions *options)
{
  gchar *head = source (frame, &manners[0], options);
  BenchCase *c = bench_case_new (BENCH_SECTION_ROUND_TRIP,
      g_strdup_printf ("%s-roundtrip", frame->id),
      g_strdup_printf ("%s, up and down again", frame->title),
      BENCH_FRAMES_PER_SECOND, frame_size (frame));

  add_variant (c, BENCH_VKGDR, "vkgdrupload ! vkgdrdownload", head,
      " ! vkgdrupload ! vkgdrdownload ! video/x-raw");
  add_cuda (c, BENCH_CUDA, "cudaupload ! cudadownload", head,
      " ! cudadownload ! video/x-raw", context);
  g_free (head);
  return c;
}

/* Frames that nobody wrote: what they hold is all the same to DMA. */
static BenchCase *
make_download (const Frame *frame, const BenchOptions *options)
{
  gchar *head = source (frame, &untouched, options);
  BenchCase *c = bench_case_new (BENCH_SECTION_DOWNLOAD,
      g_strdup_printf ("%s-download", frame->id),
      g_strdup_printf ("%s, vkgdrdownload alone", frame->title),
      BENCH_GB_PER_SECOND, frame_size (frame));

  add_variant (c, BENCH_DOWNLOAD, "vkgdrdownload", head,
      " ! vkgdrupload ! vkgdrdownload ! video/x-raw");
  bench_case_add (c, BENCH_LINK_DOWN, "DMA limit", NULL);
  g_free (head);
  return c;
}

static BenchCase *
make_buffers (void)
{
  gchar *head = g_strdup_printf ("fakesrc sizetype=fixed sizemax=%d", SMALL);
  BenchCase *c = bench_case_new (BENCH_SECTION_BUFFERS,
      g_strdup ("4kib-buffers"), g_strdup ("buffers of 4 KiB from fakesrc"),
      BENCH_BUFFERS_PER_SECOND, SMALL);

  add_variant (c, BENCH_VKGDR, "vkgdrupload", head, " ! vkgdrupload");
  add_variant (c, BENCH_IDENTITY, "identity", head, " ! identity silent=true");
  add_variant (c, BENCH_NONE, "no upload", head, "%s", "");
  g_free (head);
  return c;
}

static BenchCase *
make_overhead (const BenchOptions *options)
{
  gchar *head = source (&tiny_frame, &manners[0], options);
  BenchCase *c = bench_case_new (BENCH_SECTION_OVERHEAD,
      g_strdup_printf ("%s-copy", tiny_frame.id),
      g_strdup_printf ("%s, cudafilter kernel=copy", tiny_frame.title),
      BENCH_MICROSECONDS, frame_size (&tiny_frame));

  add_variant (c, BENCH_KERNEL, "with cudafilter", head,
      " ! vkgdrupload ! cudafilter kernel=copy");
  add_variant (c, BENCH_VKGDR, "without", head, " ! vkgdrupload");
  g_free (head);
  return c;
}

static BenchCase *
make_effect (const Frame *frame, const BenchOptions *options)
{
  gchar *head = source (frame, &manners[0], options);
  BenchCase *c = bench_case_new (BENCH_SECTION_EFFECT,
      g_strdup_printf ("%s-invert", frame->id),
      g_strdup_printf ("%s, cudafilter kernel=invert", frame->title),
      BENCH_FRAMES_PER_SECOND, frame_size (frame));

  add_variant (c, BENCH_KERNEL, "with cudafilter", head,
      " ! vkgdrupload ! cudafilter kernel=invert");
  add_variant (c, BENCH_VKGDR, "without", head, " ! vkgdrupload");
  g_free (head);
  return c;
}

/* How much of the device's memory bandwidth a kernel uses. */
static BenchCase *
make_kernel (const Frame *frame, const BenchOptions *options)
{
  gchar *head = source (frame, &untouched, options);
  BenchCase *c = bench_case_new (BENCH_SECTION_KERNEL,
      g_strdup_printf ("%s-invert-kernel", frame->id),
      g_strdup_printf ("%s, kernel=invert", frame->title), BENCH_GB_PER_SECOND,
      frame_size (frame));

  add_variant (c, BENCH_KERNEL_TIME, "kernel", head,
      " ! vkgdrupload ! cudafilter name=timed kernel=invert");
  bench_case_add (c, BENCH_DEVICE_COPY, "copy on the device", NULL);
  g_free (head);
  return c;
}

/* One frame, again and again: what brings it there does not count. */
static BenchCase *
make_conversion (
    const Frame *frame, GstVkgdrContext *context, const BenchOptions *options)
{
  gchar *all = source (frame, &manners[0], options);
  gchar *head = g_strconcat (all, " num-buffers=1", NULL);
  BenchCase *c = bench_case_new (BENCH_SECTION_CONVERT,
      g_strdup_printf ("%s-to-rgba", frame->id),
      g_strdup_printf ("%s to RGBA", frame->title), BENCH_FRAMES_PER_SECOND,
      frame_size (frame));

  add_variant (c, BENCH_KERNEL, "cudafilter kernel=convert", head,
      " ! vkgdrupload ! imagefreeze ! cudafilter kernel=convert ! "
      "video/x-raw(memory:VkgdrMemory),format=RGBA");
  add_cuda (c, BENCH_CUDA, "cudaconvert", head,
      " ! imagefreeze ! cudaconvert ! "
      "video/x-raw(memory:CUDAMemory),format=RGBA",
      context);
  g_free (head);
  g_free (all);
  return c;
}

/* Frames in their memory are of no use to older elements: none is measured. */
static void
require_cuda_1_24 (BenchCase *c)
{
  guint i;

  if (gst_registry_check_feature_version (
          gst_registry_get (), "cudaconvertscale", 1, 24, 0))
    return;
  for (i = 0; i < c->variants->len; i++) {
    BenchVariant *variant = g_ptr_array_index (c->variants, i);

    bench_samples_fail (&variant->samples,
        g_error_new_literal (GST_CORE_ERROR, GST_CORE_ERROR_MISSING_PLUGIN,
            "skipped: needs GStreamer's plugin nvcodec of 1.24 or later"));
  }
}

/* Their converter, which makes a picture of half the size of what either upload
 * brings. */
static BenchCase *
make_beside (
    const Frame *frame, GstVkgdrContext *context, const BenchOptions *options)
{
  gchar *head = source (frame, &manners[0], options);
  gchar *tail = g_strdup_printf (
      " ! cudaconvertscale ! video/x-raw(memory:CUDAMemory),format=RGBA,"
      "width=%d,height=%d",
      frame->width / 2, frame->height / 2);
  BenchCase *c = bench_case_new (BENCH_SECTION_CUDA,
      g_strdup_printf ("%s-cuda", frame->id),
      g_strdup_printf ("%s to RGBA of half the size", frame->title),
      BENCH_FRAMES_PER_SECOND, frame_size (frame));

  add_variant (c, BENCH_VKGDR, "vkgdrupload ! cudaconvertscale", head,
      " ! vkgdrupload" CUDA_CAPS "%s", tail);
  add_cuda (
      c, BENCH_CUDA, "cudaupload ! cudaconvertscale", head, tail, context);
  require_cuda_1_24 (c);
  g_free (tail);
  g_free (head);
  return c;
}

/* The same pipeline twice: what it takes in all, and our pool of that. Their
 * converter has nothing to do, and takes none. */
static BenchCase *
make_device_memory (
    const Frame *frame, GstVkgdrContext *context, const BenchOptions *options)
{
  gchar *head = source (frame, &manners[0], options);
  BenchCase *c = bench_case_new (BENCH_SECTION_CUDA_MEMORY,
      g_strdup_printf ("%s-cuda-memory", frame->id), g_strdup (frame->title),
      BENCH_MEGABYTES, frame_size (frame));

  add_variant (c, BENCH_MEMORY_VKGDR, "vkgdrupload", head,
      " ! vkgdrupload" CUDA_CAPS " ! cudaconvertscale");
  add_variant (c, BENCH_MEMORY_POOL, "its pool", head,
      " ! vkgdrupload" CUDA_CAPS " ! cudaconvertscale");
  add_cuda (
      c, BENCH_MEMORY_CUDA, "cudaupload", head, " ! cudaconvertscale", context);
  require_cuda_1_24 (c);
  g_free (head);
  return c;
}

/* What the user gives, as it is. */
static BenchCase *
make_comparison (gchar **launches)
{
  BenchCase *c = bench_case_new (BENCH_SECTION_COMPARE, g_strdup ("compare"),
      g_strdup ("pipelines given"), BENCH_BUFFERS_PER_SECOND, 0);
  guint i;

  for (i = 0; launches[i]; i++) {
    gchar *name = g_strdup_printf ("%u", i + 1);
    const gchar *id = g_intern_string (name);

    bench_case_add (c, id, id, g_strdup (launches[i]));
    g_free (name);
  }
  return c;
}

static GPtrArray *
make_cases (GstVkgdrContext *context, const BenchOptions *options)
{
  const Scale *scale = options->quick ? &quick_scale : &full_scale;
  GPtrArray *cases = g_ptr_array_new ();
  guint i, j;

  if (options->compare) {
    g_ptr_array_add (cases, make_comparison (options->compare));
    return cases;
  }
  g_ptr_array_add (cases, make_start (scale->stream_frame, options));
  for (i = 0; i < scale->n_frames; i++) {
    g_ptr_array_add (cases,
        make_loop (&scale->frames[i], BENCH_BARE_WINDOW, "through the window"));
    g_ptr_array_add (cases, make_loop (&scale->frames[i], BENCH_BARE_STAGED,
                                "staged, and sent by DMA"));
  }
  for (i = 0; i < scale->n_frames; i++)
    for (j = 0; j < G_N_ELEMENTS (manners); j++)
      g_ptr_array_add (cases,
          make_frames (&scale->frames[i], &manners[j], context, options));
  g_ptr_array_add (cases,
      make_streams (scale->stream_frame, scale->streams, context, options));
  g_ptr_array_add (
      cases, make_round_trip (scale->stream_frame, context, options));
  g_ptr_array_add (cases, make_download (scale->stream_frame, options));
  g_ptr_array_add (cases, make_buffers ());
  g_ptr_array_add (cases, make_overhead (options));
  g_ptr_array_add (cases, make_effect (scale->effect_frame, options));
  g_ptr_array_add (cases, make_kernel (scale->effect_frame, options));
  g_ptr_array_add (
      cases, make_conversion (scale->stream_frame, context, options));
  for (i = 0; i < scale->n_frames; i++)
    g_ptr_array_add (cases, make_beside (&scale->frames[i], context, options));
  g_ptr_array_add (
      cases, make_device_memory (scale->stream_frame, context, options));
  return cases;
}

/* Leaves those of the section that is asked for. */
static void
keep_section (GPtrArray *cases, const gchar *section)
{
  guint i = 0;

  while (i < cases->len) {
    BenchCase *c = g_ptr_array_index (cases, i);

    if (strcmp (c->section, section) == 0) {
      i++;
    } else {
      g_ptr_array_remove_index (cases, i);
      bench_case_free (c);
    }
  }
}

/* --- measuring ----------------------------------------------------------- */

/* What was measured, which is seconds of a start and a rate of all else, in the
 * case's unit. */
static gdouble
convert (const BenchCase *c, gdouble rate)
{
  switch (c->unit) {
  case BENCH_GB_PER_SECOND:
    return rate * c->bytes / 1e9;
  case BENCH_MICROSECONDS:
    return 1e6 / rate;
  case BENCH_MILLISECONDS:
    return rate * 1e3;
  default:
    return rate;
  }
}

static void
measure_pipeline (const BenchCase *c, BenchVariant *variant,
    GstVkgdrContext *context, const BenchOptions *options)
{
  GError *error = NULL;
  gdouble value;
  gboolean ok;

  ok = c->unit == BENCH_MILLISECONDS
           ? bench_run_start (variant->launch, context, &value, &error)
           : bench_run (
               variant->launch, context, options->seconds, &value, &error);
  if (!ok) {
    bench_samples_fail (&variant->samples, error);
    return;
  }
  value = convert (c, value);
  g_array_append_val (variant->samples.values, value);
}

static void
measure_kernel (const BenchCase *c, BenchVariant *variant,
    GstVkgdrContext *context, const BenchOptions *options)
{
  GError *error = NULL;
  gdouble time, rate;

  if (!bench_run_kernel (
          variant->launch, context, options->seconds, &time, &error)) {
    bench_samples_fail (&variant->samples, error);
    return;
  }
  rate = 2 * c->bytes / time / 1e9; /* it reads as much as it writes */
  g_array_append_val (variant->samples.values, rate);
}

static void
measure_memory (const BenchCase *c, BenchVariant *variant,
    GstVkgdrContext *context, const BenchOptions *options)
{
  GError *error = NULL;
  BenchMemory memory;
  gdouble value;

  if (!bench_run_memory (
          variant->launch, context, options->seconds, &memory, &error)) {
    bench_samples_fail (&variant->samples, error);
    return;
  }
  value =
      strcmp (variant->id, BENCH_MEMORY_POOL) == 0 ? memory.pool : memory.used;
  value /= 1e6;
  g_array_append_val (variant->samples.values, value);
}

static void
measure_device_copy (const BenchCase *c, BenchVariant *variant,
    GstVkgdrContext *context, const BenchOptions *options)
{
  bench_memory_measure_device (
      context, c->bytes, options->seconds, &variant->samples);
}

static void
measure_link (const BenchCase *c, BenchVariant *variant,
    GstVkgdrContext *context, const BenchOptions *options)
{
  BenchDirection direction = strcmp (variant->id, BENCH_LINK_UP) == 0
                                 ? BENCH_TO_DEVICE
                                 : BENCH_FROM_DEVICE;

  bench_memory_measure_link (
      context, direction, options->seconds, &variant->samples);
}

static void
measure_loop (const BenchCase *c, BenchVariant *variant,
    GstVkgdrContext *context, const BenchOptions *options)
{
  BenchLoop loop = BENCH_LOOP_RAM;

  if (strcmp (variant->id, BENCH_BARE_WINDOW) == 0)
    loop = BENCH_LOOP_WINDOW;
  else if (strcmp (variant->id, BENCH_BARE_STAGED) == 0)
    loop = BENCH_LOOP_STAGED;
  bench_loop_measure (context, loop, c->bytes, options->buffers,
      options->seconds, &variant->samples);
}

typedef void (*Measure) (const BenchCase *c, BenchVariant *variant,
    GstVkgdrContext *context, const BenchOptions *options);

/* Variants that are measured otherwise than by a pipeline's rate. */
static const struct {
  const gchar *id;
  Measure measure;
} others[] = {
  { BENCH_KERNEL_TIME, measure_kernel },
  { BENCH_DEVICE_COPY, measure_device_copy },
  { BENCH_MEMORY_VKGDR, measure_memory },
  { BENCH_MEMORY_POOL, measure_memory },
  { BENCH_MEMORY_CUDA, measure_memory },
  { BENCH_LINK_UP, measure_link },
  { BENCH_LINK_DOWN, measure_link },
  { BENCH_BARE_WINDOW, measure_loop },
  { BENCH_BARE_STAGED, measure_loop },
  { BENCH_BARE_RAM, measure_loop },
};

static void
measure (const BenchCase *c, BenchVariant *variant, GstVkgdrContext *context,
    const BenchOptions *options)
{
  Measure how = measure_pipeline;
  guint i;

  for (i = 0; i < G_N_ELEMENTS (others); i++)
    if (strcmp (variant->id, others[i].id) == 0)
      how = others[i].measure;
  if (!variant->samples.error)
    how (c, variant, context, options);
}

/* Its variants in turn, as often as was asked for: what disturbs the machine
 * disturbs all of them. */
static void
measure_case (const BenchCase *c, GstVkgdrContext *context,
    const BenchOptions *options, guint done, guint total)
{
  gint repeat;
  guint i;

  for (repeat = 0; repeat < options->repeat; repeat++) {
    for (i = 0; i < c->variants->len; i++) {
      BenchVariant *variant = g_ptr_array_index (c->variants, i);

      bench_progress_show (done * options->repeat + repeat,
          total * options->repeat, "%s: %s, repetition %d of %d", c->title,
          variant->label, repeat + 1, options->repeat);
      measure (c, variant, context, options);
    }
  }
}

GPtrArray *
bench_pipeline_run (
    GstVkgdrContext *context, const BenchOptions *options, GError **error)
{
  GPtrArray *cases = make_cases (context, options);
  guint i;

  if (options->section)
    keep_section (cases, options->section);
  if (cases->len == 0) {
    g_set_error (error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
        "there is no section \"%s\" of pipelines", options->section);
    g_ptr_array_unref (cases);
    return NULL;
  }
  for (i = 0; i < cases->len; i++)
    measure_case (
        g_ptr_array_index (cases, i), context, options, i, cases->len);
  bench_progress_clear ();
  return cases;
}
