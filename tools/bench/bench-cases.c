/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * bench-cases.c: which pipelines are measured, and what they are compared with
 *
 * Has one table of kinds of cases, and makes the cases for the selected frames.
 * Must not depend on how something is measured.
 */

#include "bench-cases.h"

#include "bench-ipc.h"
#include "bench-pipeline.h"
#include <gst/video/video.h>

#define SINK " ! fakesink sync=false enable-last-sample=false"
#define CUDA_CAPS " ! video/x-raw(memory:CUDAMemory)"

/* The size of a small buffer in bytes. */
#define SMALL 4096

/* The width and height of a frame whose kernel takes almost no time. */
#define TINY 64

/* --- frames -------------------------------------------------------------- */

/* A frame that a source makes. */
typedef struct {
  const gchar *id;
  const gchar *title;
  const gchar *format;
  gint width;
  gint height;
} Frame;

#define MAX_STREAM_COUNTS 4

/* The size of the work. */
typedef struct {
  const Frame *frames;
  guint n_frames;
  const Frame *stream_frame;
  const Frame *effect_frame;
  guint streams[MAX_STREAM_COUNTS]; /* number of streams; 0 ends the list */
  gint tensor_size;                 /* width and height of a network's input */
  gsize area;        /* bytes that all streams copy from, at least */
  gsize stream_area; /* bytes that a single stream copies from, at least */
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
  &full_frames[1], &full_frames[2], { 1, 4, 8, 16 }, 640, 512 << 20, 64 << 20 };
static const Scale quick_scale = { quick_frames, G_N_ELEMENTS (quick_frames),
  &quick_frames[0], &quick_frames[1], { 1, 2 }, 64, 4 << 20, 1 << 20 };

static const Frame tiny_frame = { "64x64-rgba", "64x64 RGBA", "RGBA", TINY,
  TINY };

/* Buffers of bytes, without caps of video. */
static const Frame small_buffer = { "4kib", "buffers of 4 KiB", NULL, 0, 0 };

/* --- kinds of cases ------------------------------------------------------ */

/* How the source gets a buffer, and how it accesses it. */
#define POOL "pool=downstream touch=write"
#define OWN "pool=own touch=write"
#define READ_BACK "pool=downstream touch=readwrite"
#define UNTOUCHED "pool=downstream touch=nothing"

/* The frames for which a kind of case has cases. */
typedef enum {
  EACH_FRAME,
  STREAM_FRAME,
  EFFECT_FRAME,
  TINY_FRAME,
  SMALL_BUFFER
} Frames;

typedef enum {
  MANY_STREAMS = 1 << 0, /* a case for each number of streams at once */
  NEWER_CUDA = 1 << 1,   /* needs GStreamer's CUDA elements of 1.24 */
  OWN_SINK = 1 << 2,     /* the variants have sinks of their own */
} Flags;

/* A variant: the part of the pipeline after the source, or NULL if it is not a
 * pipeline. HALF_WIDTH and HALF_HEIGHT are replaced by half the size of the
 * frame, and TENSOR_SIZE by the size of a network's input. */
typedef struct {
  const gchar *id;
  const gchar *label;
  const gchar *tail;
  gboolean uses_cudaupload; /* after GStreamer's own upload */
  guint batch;              /* frames in a buffer at the sink; 0 means 1 */
  gboolean is_single;       /* is not compared with the first part */
} Part;

#define MAX_PARTS 9

/* The id and the title of a case are those of its frame, followed by those of
 * its kind. */
typedef struct {
  const gchar *section;
  const gchar *id;
  const gchar *title;
  BenchUnit unit;
  Frames frames;
  const gchar *source; /* properties */
  Flags flags;
  Part parts[MAX_PARTS];
  guint consumers; /* other processes */
} Kind;

#define HALF_SIZE "width=HALF_WIDTH,height=HALF_HEIGHT"
#define SCALE_TO_RGBA " ! cudaconvertscale" CUDA_CAPS ",format=RGBA," HALF_SIZE

/* The input of a network. */
#define TENSOR \
  "vkgdrtensor name=timed width=TENSOR_SIZE height=TENSOR_SIZE type=float16 " \
  "batch=8 " \
  "mean=<0.485,0.456,0.406> std=<0.229,0.224,0.225>"
#define TENSOR_BATCH 8
#define SCALE_TO_TENSOR \
  " ! cudaconvertscale" CUDA_CAPS \
  ",format=RGBA,width=TENSOR_SIZE,height=TENSOR_SIZE"

/* The plugin's upload, GStreamer's upload, and no upload. */
/* clang-format off */
#define UPLOADS \
  { BENCH_VKGDR, "vkgdrupload", " ! vkgdrupload" }, \
  { BENCH_CUDA, "cudaupload", "", TRUE }, \
  { BENCH_NONE, "no upload", "" }
/* clang-format on */

/* Frames for other processes: as fast as all processes accept them, or slowly,
 * with a kernel in each process. IPC_PATH is replaced by the path of the
 * socket. */
#define IPC_SINK \
  " ! vkgdripcsink socket-path=IPC_PATH sync=false leaky=no max-buffers=8 " \
  "wait-for-connection=true"
#define IPC_SRC \
  " vkgdripcsrc name=received socket-path=IPC_PATH connection-timeout=30"
#define IPC_FAST IPC_SINK BENCH_IPC_CONSUMER IPC_SRC SINK
#define SLOWLY POOL " interval=5000"
#define IPC_DIRECT IPC_SINK " access=direct" BENCH_IPC_CONSUMER IPC_SRC
/* cudaipcsrc has its default io-mode, which copies each frame. With
 * io-mode=import it fails if the source is fast (GStreamer 1.26.2, "Internal
 * data stream error"). */
#define IPC_CUDA \
  " ! cudaipcsink address=IPC_PATH sync=false" BENCH_IPC_CONSUMER \
  " cudaipcsrc name=received address=IPC_PATH connection-timeout=30" SINK
#define IPC_KERNEL " ! vkgdrbenchfilter name=launched kernel=copy" SINK
/* clang-format off */
#define IPC_RATE \
  { BENCH_IPC, "vkgdripcsink ! vkgdripcsrc", IPC_FAST }, \
  { BENCH_VKGDR, "in one process", " ! vkgdrupload" SINK }
#define IPC_CUDA_RATE \
  { BENCH_IPC_CUDA, "cudaupload ! cudaipcsink ! cudaipcsrc", IPC_CUDA, TRUE }
#define IPC_DELAY(src_properties) \
  { BENCH_IPC_MEDIAN, "launched", IPC_DIRECT src_properties IPC_KERNEL }, \
  { BENCH_IPC_RECEIVED, "received", IPC_DIRECT src_properties IPC_KERNEL }, \
  { BENCH_IPC_TAIL, "99 of 100 launched", \
      IPC_DIRECT src_properties IPC_KERNEL, .is_single = TRUE }
/* clang-format on */

/* The first part is compared with the others, but not with another percentile
 * of the same delays: their difference has no meaning. The kinds of one section
 * follow each other, and have the same parts, except for "ipc-8", which has no
 * cudaipcsink. */
static const Kind kinds[] = {
  /* the time of a start; it does not include opening the device, which is
   * already open */
  { BENCH_SECTION_START, "start", "", BENCH_MILLISECONDS, STREAM_FRAME, POOL, 0,
      { { BENCH_KERNEL, "vkgdrupload ! cudafilter ! vkgdrdownload",
            " ! vkgdrupload ! cudafilter kernel=copy ! vkgdrdownload" },
          { BENCH_VKGDR, "vkgdrupload", " ! vkgdrupload" },
          { BENCH_NONE, "neither", "" } } },
  /* the time from the start of a process, which also opens the device */
  { BENCH_SECTION_PROCESS, "process", "", BENCH_MILLISECONDS, STREAM_FRAME,
      POOL, 0, { UPLOADS } },
  /* the same writes in a pipeline, and in loops without a pipeline */
  { BENCH_SECTION_LOOPS, "loops", "", BENCH_FRAMES_PER_SECOND, EACH_FRAME, POOL,
      0,
      { { BENCH_VKGDR, "vkgdrupload", " ! vkgdrupload" },
          { BENCH_BARE_WINDOW, "loop, direct", NULL },
          { BENCH_BARE_STAGED, "loop, staged", NULL },
          { BENCH_BARE_RAM, "loop in RAM", NULL } } },
  { BENCH_SECTION_FRAMES, "pool", ", into the pool it is offered",
      BENCH_FRAMES_PER_SECOND, EACH_FRAME, POOL, 0, { UPLOADS } },
  { BENCH_SECTION_FRAMES, "own", ", into its own pool", BENCH_FRAMES_PER_SECOND,
      EACH_FRAME, OWN, 0, { UPLOADS } },
  { BENCH_SECTION_FRAMES, "readwrite", ", into the pool, and reads back",
      BENCH_FRAMES_PER_SECOND, EACH_FRAME, READ_BACK, 0, { UPLOADS } },
  /* access=auto, each fixed access mode, and bare loops with the same number of
   * threads */
  { BENCH_SECTION_STREAMS, "streams", "", BENCH_GB_PER_SECOND, STREAM_FRAME,
      POOL, MANY_STREAMS,
      { { BENCH_VKGDR, "vkgdrupload", " ! vkgdrupload" },
          { BENCH_VKGDR_DIRECT, "direct", " ! vkgdrupload access=direct" },
          { BENCH_VKGDR_STAGED, "staged", " ! vkgdrupload access=staged" },
          { BENCH_CUDA, "cudaupload", "", TRUE },
          { BENCH_NONE, "no upload", "" },
          { BENCH_LOOPS_DIRECT, "loops, direct", NULL },
          { BENCH_LOOPS_STAGED, "loops, staged", NULL },
          { BENCH_LOOPS_BEST, "loops, best mix", NULL },
          { BENCH_LINK_UP, "DMA limit", NULL } } },
  { BENCH_SECTION_ROUND_TRIP, "roundtrip", ", up and down again",
      BENCH_FRAMES_PER_SECOND, STREAM_FRAME, POOL, 0,
      { { BENCH_VKGDR, "vkgdrupload ! vkgdrdownload",
            " ! vkgdrupload ! vkgdrdownload ! video/x-raw" },
          { BENCH_CUDA, "cudaupload ! cudadownload",
              " ! cudadownload ! video/x-raw", TRUE } } },
  /* the frames are not written, because DMA does not depend on their content */
  { BENCH_SECTION_DOWNLOAD, "download", ", vkgdrdownload alone",
      BENCH_GB_PER_SECOND, STREAM_FRAME, UNTOUCHED, 0,
      { { BENCH_DOWNLOAD, "vkgdrdownload",
            " ! vkgdrupload ! vkgdrdownload ! video/x-raw" },
          { BENCH_LINK_DOWN, "DMA limit", NULL } } },
  { BENCH_SECTION_BUFFERS, "buffers", " from fakesrc", BENCH_BUFFERS_PER_SECOND,
      SMALL_BUFFER, NULL, 0,
      { { BENCH_VKGDR, "vkgdrupload", " ! vkgdrupload" },
          { BENCH_IDENTITY, "identity", " ! identity silent=true" },
          { BENCH_NONE, "no upload", "" } } },
  { BENCH_SECTION_OVERHEAD, "copy", ", cudafilter kernel=copy",
      BENCH_MICROSECONDS, TINY_FRAME, POOL, 0,
      { { BENCH_KERNEL, "with cudafilter",
            " ! vkgdrupload ! cudafilter kernel=copy" },
          { BENCH_VKGDR, "without", " ! vkgdrupload" } } },
  { BENCH_SECTION_CHAIN, "chain", ", cudafilter kernel=copy",
      BENCH_MICROSECONDS, TINY_FRAME, POOL, 0,
      { { BENCH_FOUR_KERNELS, "four in a row",
            " ! vkgdrupload ! cudafilter kernel=copy ! cudafilter kernel=copy "
            "! cudafilter kernel=copy ! cudafilter kernel=copy" },
          { BENCH_KERNEL, "one", " ! vkgdrupload ! cudafilter kernel=copy" },
          { BENCH_VKGDR, "none", " ! vkgdrupload" } } },
  { BENCH_SECTION_EFFECT, "invert", ", cudafilter kernel=invert",
      BENCH_FRAMES_PER_SECOND, EFFECT_FRAME, POOL, 0,
      { { BENCH_KERNEL, "with cudafilter",
            " ! vkgdrupload ! cudafilter kernel=invert" },
          { BENCH_VKGDR, "without", " ! vkgdrupload" } } },
  /* the part of the device's memory bandwidth that a kernel uses */
  { BENCH_SECTION_KERNEL, "invert-kernel", ", kernel=invert",
      BENCH_GB_PER_SECOND, EFFECT_FRAME, UNTOUCHED, 0,
      { { BENCH_KERNEL_TIME, "kernel",
            " ! vkgdrupload ! cudafilter name=timed kernel=invert" },
          { BENCH_DEVICE_COPY, "copy on the device", NULL } } },
  /* the same frame again and again, so that its transfer does not count */
  { BENCH_SECTION_CONVERT, "to-rgba", " to RGBA", BENCH_FRAMES_PER_SECOND,
      STREAM_FRAME, POOL " num-buffers=1", 0,
      { { BENCH_KERNEL, "cudafilter kernel=convert",
            " ! vkgdrupload ! imagefreeze ! cudafilter kernel=convert ! "
            "video/x-raw(memory:VkgdrMemory),format=RGBA" },
          { BENCH_CUDA, "cudaconvert",
              " ! imagefreeze ! cudaconvert" CUDA_CAPS ",format=RGBA",
              TRUE } } },
  /* GStreamer's converter after either upload */
  { BENCH_SECTION_CUDA, "cuda", " to RGBA of half the size",
      BENCH_FRAMES_PER_SECOND, EACH_FRAME, POOL, NEWER_CUDA,
      { { BENCH_VKGDR, "vkgdrupload ! cudaconvertscale",
            " ! vkgdrupload" CUDA_CAPS SCALE_TO_RGBA },
          { BENCH_CUDA, "cudaupload ! cudaconvertscale", SCALE_TO_RGBA, TRUE },
          { BENCH_NONE, "no upload", "" } } },
  /* The first two parts are the same pipeline: one shows all memory that the
   * pipeline needs, the other one the memory in the pool. The converter has
   * nothing to convert, and needs no memory. */
  { BENCH_SECTION_CUDA_MEMORY, "cuda-memory", "", BENCH_MEGABYTES, STREAM_FRAME,
      POOL, NEWER_CUDA,
      { { BENCH_MEMORY_VKGDR, "vkgdrupload",
            " ! vkgdrupload" CUDA_CAPS " ! cudaconvertscale" },
          { BENCH_MEMORY_POOL, "its pool",
              " ! vkgdrupload" CUDA_CAPS " ! cudaconvertscale" },
          { BENCH_MEMORY_CUDA, "cudaupload", " ! cudaconvertscale", TRUE } } },
  /* compared with programs that convert on the CPU or with PyTorch */
  { BENCH_SECTION_TENSORS, "tensors", "", BENCH_FRAMES_PER_SECOND, EACH_FRAME,
      POOL, 0,
      { { BENCH_TENSOR, "vkgdrupload ! vkgdrtensor", " ! vkgdrupload ! " TENSOR,
            FALSE, TENSOR_BATCH },
          { BENCH_VKGDR, "vkgdrupload", " ! vkgdrupload" },
          { BENCH_CUDA, "cudaupload ! cudaconvertscale ! cudadownload",
              SCALE_TO_TENSOR " ! cudadownload ! video/x-raw", TRUE } } },
  { BENCH_SECTION_TENSOR_KERNEL, "tensor-kernel", "", BENCH_MICROSECONDS,
      EACH_FRAME, UNTOUCHED, 0,
      { { BENCH_TENSOR_BILINEAR, "bilinear", " ! vkgdrupload ! " TENSOR },
          { BENCH_TENSOR_NEAREST, "nearest",
              " ! vkgdrupload ! " TENSOR " filter=nearest" },
          { BENCH_TENSOR_AREA, "area",
              " ! vkgdrupload ! " TENSOR " filter=area" } } },
  /* the result of the slowest process counts */
  { BENCH_SECTION_IPC, "ipc-1", ", to one other process",
      BENCH_FRAMES_PER_SECOND, STREAM_FRAME, POOL, OWN_SINK,
      { IPC_RATE, IPC_CUDA_RATE }, 1 },
  { BENCH_SECTION_IPC, "ipc-8", ", to eight other processes",
      BENCH_FRAMES_PER_SECOND, STREAM_FRAME, POOL, OWN_SINK, { IPC_RATE }, 8 },
  /* from the end of writing to the launch of a kernel in the other process */
  { BENCH_SECTION_IPC_DELAY, "ipc-delay-1", ", until a kernel is launched",
      BENCH_MICROSECONDS, STREAM_FRAME, SLOWLY, OWN_SINK, { IPC_DELAY ("") },
      1 },
  { BENCH_SECTION_IPC_DELAY, "ipc-delay-8",
      ", until eight processes have launched one", BENCH_MICROSECONDS,
      STREAM_FRAME, SLOWLY, OWN_SINK, { IPC_DELAY ("") }, 8 },
  { BENCH_SECTION_IPC_DELAY, "ipc-delay-busy-1",
      ", until a kernel is launched, busy-poll=1000", BENCH_MICROSECONDS,
      STREAM_FRAME, SLOWLY, OWN_SINK, { IPC_DELAY (" busy-poll=1000") }, 1 },
  { BENCH_SECTION_IPC_DELAY, "ipc-delay-busy-8",
      ", until eight processes have launched one, busy-poll=1000",
      BENCH_MICROSECONDS, STREAM_FRAME, SLOWLY, OWN_SINK,
      { IPC_DELAY (" busy-poll=1000") }, 8 },
  /* the streaming thread never sleeps */
  { BENCH_SECTION_IPC_DELAY, "ipc-delay-awake-1",
      ", until a kernel is launched, busy-poll=10000", BENCH_MICROSECONDS,
      STREAM_FRAME, SLOWLY, OWN_SINK, { IPC_DELAY (" busy-poll=10000") }, 1 },
};

/* --- cases --------------------------------------------------------------- */

typedef struct {
  GstVkgdrContext *context;
  const BenchOptions *options;
  const Scale *scale;
} Maker;

static gsize
frame_size (const Frame *frame)
{
  GstVideoInfo info;

  if (!frame->format)
    return SMALL;
  gst_video_info_set_format (&info,
      gst_video_format_from_string (frame->format), frame->width,
      frame->height);
  return GST_VIDEO_INFO_SIZE (&info);
}

/* Several streams share the cache, so their writers copy from areas that are
 * larger than the cache. */
static BenchFillKind
fill_of (const Maker *self, const Kind *kind)
{
  BenchFillKind fill =
      (kind->flags & MANY_STREAMS) ? BENCH_FILL_UNCACHED : BENCH_FILL_MEMSET;

  if (self->options->fill)
    bench_fill_parse (self->options->fill, &fill);
  return fill;
}

static gchar *
make_source (
    const Maker *self, const Kind *kind, const Frame *frame, const BenchCase *c)
{
  if (!frame->format)
    return g_strdup_printf ("fakesrc sizetype=fixed sizemax=%d", SMALL);
  return g_strdup_printf (
      "vkgdrbenchsrc %s fill=%s area=%" G_GSIZE_FORMAT " buffers=%d "
      "caps=\"video/x-raw,format=%s,width=%d,height=%d,framerate=60/1\"",
      kind->source, bench_fill_name (c->fill), c->area, self->options->buffers,
      frame->format, frame->width, frame->height);
}

static void
replace_number (GString *tail, const gchar *name, gint value)
{
  gchar *number = g_strdup_printf ("%d", value);

  g_string_replace (tail, name, number, 0);
  g_free (number);
}

static gchar *
make_tail (const Maker *self, const Part *part, const Frame *frame)
{
  GString *tail = g_string_new (NULL);

  if (part->uses_cudaupload)
    g_string_printf (tail, " ! cudaupload cuda-device-id=%d%s",
        gst_vkgdr_context_get_device (self->context), CUDA_CAPS);
  g_string_append (tail, part->tail);
  replace_number (tail, "HALF_WIDTH", frame->width / 2);
  replace_number (tail, "HALF_HEIGHT", frame->height / 2);
  replace_number (tail, "TENSOR_SIZE", self->scale->tensor_size);
  return g_string_free (tail, FALSE);
}

/* Older CUDA elements cannot use CUDA memory that other elements allocated. */
static gboolean
has_newer_cuda (void)
{
  return gst_registry_check_feature_version (
      gst_registry_get (), "cudaconvertscale", 1, 24, 0);
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

#define TOO_OLD "skipped: needs GStreamer's plugin nvcodec of 1.24 or later"

/* Returns why the part cannot run on this machine, or NULL. */
static const gchar *
find_obstacle (const Kind *kind, const Part *part)
{
  if (part->uses_cudaupload && !has_element ("cudaupload"))
    return "not installed";
  if ((kind->flags & NEWER_CUDA) && !has_newer_cuda ())
    return TOO_OLD;
  if (strcmp (part->id, BENCH_IPC_CUDA) == 0 && !has_element ("cudaipcsink"))
    return TOO_OLD;
  return NULL;
}

/* Makes a description with all streams that run at the same time. */
static gchar *
make_launch (const Maker *self, const Kind *kind, const Part *part,
    const Frame *frame, const BenchCase *c)
{
  GString *launch = g_string_new (NULL);
  gchar *head = make_source (self, kind, frame, c);
  gchar *tail = make_tail (self, part, frame);
  guint i;

  for (i = 0; i < c->streams; i++)
    g_string_append_printf (launch, "%s%s%s%s", i > 0 ? " " : "", head, tail,
        (kind->flags & OWN_SINK) ? "" : SINK);
  g_free (tail);
  g_free (head);
  return g_string_free (launch, FALSE);
}

static BenchCase *
make_case (
    const Maker *self, const Kind *kind, const Frame *frame, guint streams)
{
  gboolean many = (kind->flags & MANY_STREAMS) != 0;
  guint i;
  gchar *id = many ? g_strdup_printf ("%s-%s-%u", frame->id, kind->id, streams)
                   : g_strdup_printf ("%s-%s", frame->id, kind->id);
  gchar *title = many ? g_strdup_printf ("%u stream%s of %s", streams,
                     streams > 1 ? "s" : "", frame->title)
                      : g_strconcat (frame->title, kind->title, NULL);
  BenchCase *c =
      bench_case_new (kind->section, id, title, kind->unit, frame_size (frame));

  c->streams = streams;
  c->consumers = kind->consumers;
  c->fill = fill_of (self, kind);
  c->area = MAX (self->scale->area / streams, self->scale->stream_area);
  for (i = 0; i < MAX_PARTS && kind->parts[i].id; i++) {
    const Part *part = &kind->parts[i];
    const gchar *obstacle = find_obstacle (kind, part);
    BenchVariant *variant = bench_case_add (c, part->id, part->label,
        part->tail ? make_launch (self, kind, part, frame, c) : NULL);

    variant->batch = MAX (part->batch, 1);
    variant->is_single = part->is_single;
    if (obstacle)
      bench_samples_fail (
          &variant->samples, g_error_new_literal (GST_CORE_ERROR,
                                 GST_CORE_ERROR_MISSING_PLUGIN, obstacle));
  }
  return c;
}

static const Frame *
single_frame (const Scale *scale, Frames frames)
{
  switch (frames) {
  case STREAM_FRAME:
    return scale->stream_frame;
  case EFFECT_FRAME:
    return scale->effect_frame;
  case TINY_FRAME:
    return &tiny_frame;
  default:
    return &small_buffer;
  }
}

/* Makes the cases of one kind and one frame. */
static void
make_cases (
    const Maker *self, const Kind *kind, const Frame *frame, GPtrArray *cases)
{
  guint i;

  if (!(kind->flags & MANY_STREAMS)) {
    g_ptr_array_add (cases, make_case (self, kind, frame, 1));
    return;
  }
  for (i = 0; i < MAX_STREAM_COUNTS && self->scale->streams[i] > 0; i++)
    g_ptr_array_add (
        cases, make_case (self, kind, frame, self->scale->streams[i]));
}

/* Makes the cases of a section with @n kinds, frame by frame. */
static void
make_section (const Maker *self, const Kind *first, guint n, GPtrArray *cases)
{
  guint n_frames = first->frames == EACH_FRAME ? self->scale->n_frames : 1;
  guint i, j;

  for (i = 0; i < n_frames; i++) {
    const Frame *frame = first->frames == EACH_FRAME
                             ? &self->scale->frames[i]
                             : single_frame (self->scale, first->frames);

    for (j = 0; j < n; j++)
      make_cases (self, &first[j], frame, cases);
  }
}

/* Makes a case of the user's pipelines, without changes to them. */
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

GPtrArray *
bench_cases_make (GstVkgdrContext *context, const BenchOptions *options)
{
  Maker maker = { context, options,
    options->quick ? &quick_scale : &full_scale };
  GPtrArray *cases = g_ptr_array_new ();
  guint i, n;

  if (options->compare) {
    g_ptr_array_add (cases, make_comparison (options->compare));
    return cases;
  }
  for (i = 0; i < G_N_ELEMENTS (kinds); i += n) {
    for (n = 1; i + n < G_N_ELEMENTS (kinds)
                && g_str_equal (kinds[i + n].section, kinds[i].section);
         n++) {
    }
    make_section (&maker, &kinds[i], n, cases);
  }
  return cases;
}
