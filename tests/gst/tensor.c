/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * tensor.c: tests of vkgdrtensor: the frames of a batch, and the meta that
 * describes them
 *
 * tests/python/test_tensors.py tests the values in a tensor.
 */

#include <gst/app/gstappsrc.h>

#include "folder.h"
#include "table.h"

#ifdef HAVE_GST_ANALYTICS
#include <gst/analytics/analytics.h>
#endif

#define SIZE 8
#define FRAME_BYTES (SIZE * SIZE)
#define FRAME_TIME (40 * GST_MSECOND)

#define GRAY "video/x-raw,format=GRAY8,width=8,height=8,framerate=25/1"
#define SOURCE(name) \
  " appsrc name=" name " format=time caps=" GRAY " ! vkgdrupload ! t."
#define TENSOR(properties) \
  "vkgdrtensor name=t type=uint8 channels=gray filter=nearest " properties \
  " ! vkgdrdownload ! appsink name=sink"

/* --- frames -------------------------------------------------------------- */

/* Queues @n frames with the values @value, @value + 1 and so on for a source,
 * and then EOS. */
static void
queue_frames (GstElement *pipeline, const gchar *name, guint8 value, guint n,
    GstClockTime duration)
{
  g_autoptr (GstElement) src = gst_bin_get_by_name (GST_BIN (pipeline), name);
  guint i;

  for (i = 0; i < n; i++) {
    GstBuffer *buffer = gst_buffer_new_allocate (NULL, FRAME_BYTES, NULL);

    gst_buffer_memset (buffer, 0, value + i, FRAME_BYTES);
    GST_BUFFER_PTS (buffer) = i * duration;
    GST_BUFFER_DURATION (buffer) = duration;
    fail_unless_equals_int (
        gst_app_src_push_buffer (GST_APP_SRC (src), buffer), GST_FLOW_OK);
  }
  gst_app_src_end_of_stream (GST_APP_SRC (src));
}

static GstVkgdrTensorBatchMeta *
meta_of (GPtrArray *buffers, guint i)
{
  GstVkgdrTensorBatchMeta *meta;

  fail_unless (i < buffers->len, "there are %u buffers", buffers->len);
  meta = gst_vkgdr_buffer_get_tensor_batch_meta (buffers->pdata[i]);
  fail_unless (meta != NULL);
  return meta;
}

/* Fails unless batch @i is as described: its time stamp and its duration in
 * units of FRAME_TIME, and the frames. Each frame is the value of its bytes,
 * and the pad with "*" if it is repeated: "0+1: 1@sink_0 101@sink_1* 0". */
static void
check_batch (GPtrArray *buffers, guint i, const gchar *wanted)
{
  g_auto (GStrv) words = g_strsplit (wanted, " ", -1);
  guint n = g_strv_length (words) - 1;
  g_autoptr (GString) got = g_string_new (NULL);
  GstMapInfo map;
  gsize size, k;

  fail_unless (gst_buffer_map (buffers->pdata[i], &map, GST_MAP_READ));
  g_string_printf (got,
      "%u+%u:", (guint) (GST_BUFFER_PTS (buffers->pdata[i]) / FRAME_TIME),
      (guint) (GST_BUFFER_DURATION (buffers->pdata[i]) / FRAME_TIME));
  size = map.size / n;
  fail_unless (map.size == n * size && size > 0);
  for (k = 0; k < map.size; k++)
    test_check_byte (k, map.data[k], map.data[k / size * size]);
  for (k = 0; k < n; k++) {
    const GstVkgdrTensorFrame *frame =
        gst_vkgdr_tensor_batch_meta_get_frame (meta_of (buffers, i), k);

    g_string_append_printf (got, " %u", map.data[k * size]);
    if (frame)
      g_string_append_printf (
          got, "@%s%s", frame->pad, frame->is_repeated ? "*" : "");
  }
  gst_buffer_unmap (buffers->pdata[i], &map);
  fail_unless_equals_string (got->str, wanted);
}

/* Fails unless the meta says this about frame @k of batch @i: its time stamp,
 * running time and duration in units of FRAME_TIME, its size, its region, and
 * where a point of the tensor is. */
static void
check_frame (GPtrArray *buffers, guint i, guint k, const gchar *wanted)
{
  const GstVkgdrTensorFrame *f =
      gst_vkgdr_tensor_batch_meta_get_frame (meta_of (buffers, i), k);
  g_autofree gchar *got = g_strdup_printf (
      "%u %u+%u, %dx%d: %dx%d at %d,%d, roi %d %s, x * %g + %g",
      (guint) (f->pts / FRAME_TIME), (guint) (f->running_time / FRAME_TIME),
      (guint) (f->duration / FRAME_TIME), f->width, f->height, f->region_width,
      f->region_height, f->region_x, f->region_y, f->roi_id,
      f->roi_type ? g_quark_to_string (f->roi_type) : "-", f->transform.scale_x,
      f->transform.offset_x);

  fail_unless_equals_string (got, wanted);
}

static guint64
get_stat (GstElement *pipeline, const gchar *field)
{
  return test_stat_of (pipeline, "t", field);
}

typedef enum { NO_METAS, REGIONS, CROPS, LARGER } Metas;

/* Frame 0 gets no region, frame 1 one region, and so on. */
static GstPadProbeReturn
add_metas (GstPad *pad, GstPadProbeInfo *info, gpointer metas)
{
  GstBuffer *buffer =
      gst_buffer_make_writable (GST_PAD_PROBE_INFO_BUFFER (info));
  guint frame = GST_BUFFER_PTS (buffer) / FRAME_TIME, i;
  GstVideoCropMeta *crop;

  if (GPOINTER_TO_INT (metas) == LARGER)
    gst_buffer_add_video_meta (
        buffer, GST_VIDEO_FRAME_FLAG_NONE, GST_VIDEO_FORMAT_GRAY8, SIZE, SIZE);
  if (GPOINTER_TO_INT (metas) == CROPS) {
    crop = gst_buffer_add_video_crop_meta (buffer);
    crop->x = 2;
    crop->y = 1;
    crop->width = 4;
    crop->height = 100;
  }
  for (i = 0; i < frame; i++)
    gst_buffer_add_video_region_of_interest_meta (
        buffer, i == 1 ? "cat" : "dog", i, 0, 4, 4)
        ->id = 10 * frame + i;
  GST_PAD_PROBE_INFO_DATA (info) = buffer;
  return GST_PAD_PROBE_OK;
}

/* --- batches ------------------------------------------------------------- */

#define MAX_BATCHES 5

/* The sources a and b send frames with the values 1, 2 and so on, and 101, 102
 * and so on. */
typedef struct {
  const gchar *pipeline;
  guint n_a, n_b;
  guint duration; /* of the frames of b, in frames of a */
  Metas metas;    /* of the frames of a */
  const gchar *batches[MAX_BATCHES];
  const gchar *stat; /* a field of the property stats, and its value */
  guint64 count;
  guint i, k; /* frame k of batch i; see check_frame () */
  const gchar *frame;
} Batches;

#define A "@sink_0"
#define B "@sink_1"

static const Batches batches[] = {
  { TENSOR ("batch=4") SOURCE ("a"), 10, 0, 1, NO_METAS,
      { "0+4: 1" A " 2" A " 3" A " 4" A, "4+4: 5" A " 6" A " 7" A " 8" A,
          "8+2: 9" A " 10" A " 0 0" },
      "batches", 3, 1, 2, "6 6+1, 8x8: 8x8 at 0,0, roi -1 -, x * 1 + 0" },
  /* One pad has half as many frames as the other. */
  { TENSOR ("missing=repeat") SOURCE ("a") SOURCE ("b"), 4, 2, 2, NO_METAS,
      { "0+1: 1" A " 101" B, "1+1: 2" A " 101" B "*", "2+1: 3" A " 102" B,
          "3+1: 4" A " 102" B "*" },
      "repeated", 2 },
  { TENSOR ("missing=leave-out") SOURCE ("a") SOURCE ("b"), 4, 2, 2, NO_METAS,
      { "0+1: 1" A " 101" B, "1+1: 2" A " 0", "2+1: 3" A " 102" B,
          "3+1: 4" A " 0" },
      "left-out", 2 },
  /* One pad ends before the other. */
  { TENSOR ("missing=leave-out") SOURCE ("a") SOURCE ("b"), 1, 3, 1, NO_METAS,
      { "0+1: 1" A " 101" B, "1+1: 102" B " 0", "2+1: 103" B " 0" }, "left-out",
      2 },
  /* A batch has several frames of each pad. */
  { TENSOR ("batch=4") SOURCE ("a") SOURCE ("b"), 3, 3, 1, NO_METAS,
      { "0+2: 1" A " 101" B " 2" A " 102" B, "2+1: 3" A " 103" B " 0 0" },
      "frames", 6 },
  /* Frames of different sizes and formats are in one batch. */
  { TENSOR ("width=8 height=8 batch=2") SOURCE (
        "a") " videotestsrc num-buffers=1 pattern=white ! "
             "video/x-raw,format=NV12,width=64,height=48 ! vkgdrupload ! t.",
      1, 0, 1, NO_METAS, { "0+1: 1" A " 255" B }, "frames", 2 },
  /* Each buffer is a field, with half the rows of the picture. */
  { TENSOR ("height=0") " appsrc name=a format=time "
                        "caps=\"video/x-raw(memory:SystemMemory,"
                        "format:Interlaced),format=GRAY8,width=8,height=16,"
                        "framerate=25/1,interlace-mode=alternate\" ! "
                        "vkgdrupload ! t.",
      2, 0, 1, NO_METAS, { "0+1: 1" A, "1+1: 2" A }, "frames", 2 },
  /* The second frame of a batch begins at an odd address. */
  { TENSOR ("width=5 height=5 batch=3") SOURCE ("a"), 3, 0, 1, NO_METAS,
      { "0+3: 1" A " 2" A " 3" A }, "frames", 3 },
  /* Regions of interest are the frames, all of them or those of a type. */
  { TENSOR ("region=roi batch=4") SOURCE ("a"), 4, 0, 1, REGIONS,
      { "1+3: 2" A " 3" A " 3" A " 4" A, "3+1: 4" A " 4" A " 0 0" }, "batches",
      2, 1, 0, "3 3+1, 8x8: 4x4 at 1,0, roi 31 cat, x * 0.5 + 1" },
  { TENSOR ("region=roi roi-type=cat batch=4") SOURCE ("a"), 4, 0, 1, REGIONS,
      { "2+2: 3" A " 4" A " 0 0" }, "batches", 1 },
  /* A crop is limited to the picture. */
  { TENSOR ("") SOURCE ("a"), 2, 0, 1, CROPS, { "0+1: 1" A, "1+1: 2" A },
      "batches", 2, 0, 0, "0 0+1, 8x8: 4x7 at 2,1, roi -1 -, x * 0.5 + 2" },
  /* A decoder keeps the size that was coded, and does not crop. */
  { TENSOR ("") " appsrc name=a format=time caps=" GRAY " ! vkgdrupload ! "
                "capssetter caps=video/x-raw(memory:VkgdrMemory),width=4,"
                "height=5 ! t.",
      1, 0, 1, LARGER, { "0+1: 1" A }, "batches", 1, 0, 0,
      "0 0+1, 4x5: 4x5 at 0,0, roi -1 -, x * 1 + 0" },
  /* A filter behind vkgdrupload crops with a GstVideoCropMeta, and changes the
   * size in the caps. No byte is copied for that. */
  { TENSOR ("") " appsrc name=a format=time caps=" GRAY
                " ! vkgdrupload ! videocrop left=3 top=1 ! t.",
      1, 0, 1, NO_METAS, { "0+1: 1" A }, "batches", 1, 0, 0,
      "0 0+1, 8x8: 5x7 at 3,1, roi -1 -, x * 1 + 3" },
};

static void
setup (void)
{
  folder_setup ();
  test_setup ();
}

static void
teardown (void)
{
  test_teardown ();
  folder_teardown ();
}

TEST_FIXTURE (setup, teardown);

/* The element starts twice. A copy of a part of a batch lacks the meta, which
 * describes the whole. */
TEST_LOOP (batches, G_N_ELEMENTS (batches))
{
  const Batches *row = &batches[__i__];
  g_autoptr (GstElement) pipeline = test_launch ("%s", row->pipeline);
  guint round, i;

  if (row->metas)
    test_add_probe (pipeline, "t", "sink_0", GST_PAD_PROBE_TYPE_BUFFER,
        add_metas, GINT_TO_POINTER (row->metas));
  for (round = 0; round < 2; round++) {
    g_autoptr (GPtrArray) buffers = NULL;
    g_autoptr (GstBuffer) part = NULL;

    gst_element_set_state (pipeline, GST_STATE_PAUSED);
    queue_frames (pipeline, "a", 1, row->n_a, FRAME_TIME);
    if (row->n_b)
      queue_frames (pipeline, "b", 101, row->n_b, row->duration * FRAME_TIME);
    buffers = test_play_buffers (pipeline);
    for (i = 0; row->batches[i]; i++)
      check_batch (buffers, i, row->batches[i]);
    fail_unless_equals_int (buffers->len, i);
    fail_unless_equals_uint64 (get_stat (pipeline, row->stat), row->count);
    if (row->frame)
      check_frame (buffers, row->i, row->k, row->frame);
    part =
        gst_buffer_copy_region (buffers->pdata[0], GST_BUFFER_COPY_ALL, 2, 4);
    fail_if (gst_vkgdr_buffer_get_tensor_batch_meta (part));
  }
}

/* The element is stopped in the middle of a batch. All memory is freed. */
TEST (stop_in_a_batch)
{
  g_autoptr (GstVkgdrAllocator) allocator = test_allocator ();
  g_autoptr (GstElement) pipeline = test_launch (
      "videotestsrc num-buffers=3 ! " GRAY " ! vkgdrupload ! t. "
      "videotestsrc num-buffers=500 ! " GRAY " ! identity sleep-time=1000 ! "
      "vkgdrupload ! t. " TENSOR ("batch=400"));

  test_set_context (pipeline, test_context);
  gst_element_set_state (pipeline, GST_STATE_PLAYING);
  test_wait_for (get_stat (pipeline, "frames") >= 2);
  fail_unless_equals_uint64 (get_stat (pipeline, "batches"), 0);
  fail_unless (gst_vkgdr_allocator_get_active_blocks (allocator) > 0);
  gst_element_set_state (pipeline, GST_STATE_NULL);
  g_clear_object (&pipeline);
  fail_unless_equals_int (gst_vkgdr_allocator_get_active_blocks (allocator), 0);
}

/* --- many pads -----------------------------------------------------------
 */

#define MANY 16
#define FRAMES_OF_MANY 12

static gpointer
set_names (gpointer data)
{
  static const gchar *const names[] = { "one", "two", NULL };
  guint i;

  for (i = 0; i < 5000; i++)
    g_object_set (
        data, "roi-type", names[i % 3], "tensor-id", names[(i + 1) % 3], NULL);
  return NULL;
}

/* No frame of many sources, each with a thread of its own, is lost, doubled or
 * misplaced, though the frames of some come late. A batch has __i__ + 1 frames
 * of each source, and no two frames have the same value. Names are set while
 * frames pass. */
TEST_LOOP (many_sources, 2)
{
  guint batch = MANY * (1 + __i__), i, k;
  g_autoptr (GString) text = g_string_new (NULL);
  g_autoptr (GPtrArray) buffers = NULL;
  g_autoptr (GstElement) pipeline = NULL;
  GThread *thread;

  g_string_printf (text, TENSOR ("missing=leave-out batch=%u"), batch);
  for (i = 0; i < MANY; i++)
    g_string_append_printf (text,
        " appsrc name=s%u format=time caps=" GRAY " ! identity sleep-time=%u ! "
        "vkgdrupload ! queue max-size-buffers=2 ! t.sink_%u",
        i, i % 3 == 0 ? (MANY - i) * 500 : 0, i);
  pipeline = test_launch ("%s", text->str);
  for (i = 0; i < MANY; i++) {
    g_autofree gchar *name = g_strdup_printf ("s%u", i);

    queue_frames (
        pipeline, name, 1 + i * FRAMES_OF_MANY, FRAMES_OF_MANY, FRAME_TIME);
  }
  thread = g_thread_new ("names", set_names, test_find (pipeline, "t"));
  buffers = test_play_buffers (pipeline);
  g_thread_join (thread);
  fail_unless_equals_int (buffers->len, MANY * FRAMES_OF_MANY / batch);
  for (i = 0; i < buffers->len; i++) {
    g_string_printf (text, "%u+%u:", i * (1 + __i__), 1 + __i__);
    for (k = 0; k < batch; k++)
      g_string_append_printf (text, " %u@sink_%u",
          1 + k % MANY * FRAMES_OF_MANY + (i * batch + k) / MANY, k % MANY);
    check_batch (buffers, i, text->str);
  }
  fail_unless_equals_uint64 (get_stat (pipeline, "left-out"), 0);
}

/* --- errors -------------------------------------------------------------- */

#define TWO(properties) \
  "vkgdrtensor name=t " properties \
  " ! fakesink videotestsrc num-buffers=1 ! " GRAY \
  " ! vkgdrupload ! t. videotestsrc num-buffers=1 ! " GRAY \
  " ! vkgdrupload ! t."
#define BARE \
  "fakesrc num-buffers=2 sizetype=fixed sizemax=64 format=time ! vkgdrtensor " \
  "name=t width=8 height=8 ! fakesink "

static const TestError errors[] = {
  { TWO ("batch=3"), "batch of 3 frames" },
  { TWO ("std=\"<1.0,0.0,1.0>\""), "std of channel 1" },
  { TWO ("std=\"<(double)nan>\""), "std of channel 0 is not" },
  { TWO ("mean=\"<(double)nan>\""), "mean of channel 0 is not" },
  { TWO ("mean=\"<0.5,abc,0.5>\""), "mean of channel 1 is not" },
  { TWO ("mean=\"<0.1,0.2>\""), "mean has 2 values" },
  { TWO ("std=\"<1.0,1.0,1.0,1.0,1.0>\""), "std has 5 values" },
  { TWO ("batch=4096 width=32767 height=32767"), "set a smaller batch" },
  { TWO ("! tensor/strided(memory:VkgdrMemory),type=int8"), "does not accept" },
  /* A frame on a pad without caps, whether another pad has caps or not. */
  { BARE, "no caps", gst_core_error_quark, GST_CORE_ERROR_NEGOTIATION },
  { BARE "videotestsrc num-buffers=2 ! " GRAY " ! vkgdrupload ! t.", "no caps",
      gst_core_error_quark, GST_CORE_ERROR_NEGOTIATION },
};

TEST_ROWS (errors, test_check_error)

#define APP(caps) "appsrc name=feed format=time num-buffers=1 caps=" caps " ! "
#define SMALL "vkgdrtensor width=8 height=8"
#define TILES "video/x-raw,format=NV12_4L4,width=8,height=8,framerate=1/1"

static const TestError refused_caps[] = {
  { APP (GRAY) SMALL, "Put vkgdrupload before|GRAY8" },
  { APP ("image/jpeg") "vkgdrupload ! " SMALL, "Put a decoder|image/jpeg" },
  { APP (TILES) "vkgdrupload ! " SMALL, "cannot be run on|NV12_4L4" },
};

TEST_ROWS (refused_caps, test_check_one_error)

/* --- model files --------------------------------------------------------- */

#define MODEL(input) \
  "[modelinfo]\nversion=1.0\ngroup-id=g\n\n[scores]\ndir=output\n" \
  "type=float32\ndims=1,10\nid=scores\n\n[images]\ndir=input\n" input

static const struct {
  const gchar *model; /* or the properties of the element */
  const gchar *caps;
  gfloat white[3], black[3];
  guint batch, n;      /* the numbers of frames and of pixels */
  guint step, channel; /* from pixel to pixel and from channel to channel */
} models[] = {
  { MODEL ("type=float32\ndims=1,3,2,6\nranges=0,1;-1,1;0,255\nid=mine\n"),
      "type=float32,dims=<1,3,2,6>,tensor-id=mine", { 1, 1, 255 }, { 0, -1, 0 },
      1, 12, 1, 12 },
  { MODEL ("type=float32\ndims=-1,-1,-1,3\nranges=0.5,2.5\n"),
      "type=float32,dims=<1,4,6,3>", { 2.5, 2.5, 2.5 }, { 0.5, 0.5, 0.5 }, 1,
      24, 3, 1 },
  { MODEL ("type=float32\ndims=2,3,4,6\n"), "type=float32,dims=<2,3,4,6>",
      { 1, 1, 1 }, { 0, 0, 0 }, 2, 24, 1, 24 },
  /* If no height is set, the tensor has the height of the frames. */
  { "width=3 layout=nhwc batch=2 tensor-id=pictures",
      "type=float32,dims=<2,4,3,3>,dims-order=row-major,tensor-id=pictures",
      { 1, 1, 1 }, { 0, 0, 0 }, 2, 12, 3, 1 },
};

/* The upper half of the frames is white, and the lower half is black. */
TEST_LOOP (models, G_N_ELEMENTS (models))
{
  guint8 frame[4 * 20] = { 0 };
  guint n = models[__i__].n, i, c;
  g_autofree gchar *path = folder_write ("a.modelinfo", models[__i__].model);
  g_autofree gchar *properties =
      g_str_has_prefix (models[__i__].model, "[")
          ? g_strdup_printf ("modelinfo=\"%s\"", path)
          : g_strdup (models[__i__].model);
  g_autofree gchar *elements = g_strdup_printf (
      "vkgdrupload ! vkgdrtensor %s ! capsfilter "
      "caps=\"tensor/strided(memory:VkgdrMemory),%s\" ! vkgdrdownload",
      properties, models[__i__].caps);
  g_autoptr (GstHarness) h = test_harness_parse (elements);
  g_autofree gfloat *got = NULL;
  GstBuffer *buffer;
  gsize size;

  memset (frame, 255, 2 * 20);
  gst_harness_set_src_caps_str (
      h, "video/x-raw,format=RGB,width=6,height=4,framerate=1/1");
  for (i = 1; i < models[__i__].batch; i++)
    gst_harness_push (h, gst_buffer_new_memdup (frame, sizeof (frame)));
  buffer = gst_harness_push_and_pull (
      h, gst_buffer_new_memdup (frame, sizeof (frame)));
  got = (gfloat *) test_buffer_bytes (buffer, &size);
  gst_buffer_unref (buffer);
  fail_unless_equals_uint64 (
      size, models[__i__].batch * n * 3 * sizeof (gfloat));
  for (i = 0; i < n; i++)
    for (c = 0; c < 3; c++) {
      gfloat value = got[i * models[__i__].step + c * models[__i__].channel];
      gfloat wanted =
          i < n / 2 ? models[__i__].white[c] : models[__i__].black[c];

      fail_unless (ABS (value - wanted) < 1e-4, "%g", value);
    }
}

static const struct {
  const gchar *model, *message;
} bad_models[] = {
  { "[images]\ndir=input\n", "version 1" },
  { "[modelinfo]\nversion=1.0\n", "no input" },
  { MODEL ("type=int4\ndims=1,3,4,6\n"), "type" },
  { MODEL ("type=uint8\ndims=1,10\n"), "no picture" },
  { MODEL ("type=uint8\ndims=1,3,4,6\nranges=1,1\n"), "min,max" },
  { MODEL ("type=uint8\ndims=1,3,4,6\nranges=PLACEHOLDER\n"), "min,max" },
};

TEST (bad_models)
{
  guint i;

  for (i = 0; i < G_N_ELEMENTS (bad_models); i++) {
    g_autofree gchar *path = folder_write ("a.modelinfo", bad_models[i].model);
    g_autofree gchar *pipeline = g_strdup_printf (
        "videotestsrc ! video/x-raw,format=RGB,width=6,height=4 ! "
        "vkgdrupload ! vkgdrtensor modelinfo=\"%s\" ! fakesink",
        path);

    test_check_error (&(const TestError){ pipeline, bad_models[i].message });
  }
}

/* --- GStreamer's metas ---------------------------------------------------- */

#if defined(HAVE_GST_ANALYTICS) && GST_CHECK_VERSION(1, 27, 0)
/* A detection follows a picture that is cropped, and one that is turned. */
TEST_LOOP (detections_follow, 2)
{
  GstHarness *h = gst_harness_new_parse (
      __i__ ? "vkgdrupload ! cudafilter kernel=flip params=params,method=2 ! "
              "vkgdrdownload"
            : "vkgdrupload ! videocrop left=8 top=4 ! cudafilter ! "
              "vkgdrdownload");
  GstBuffer *buffer = gst_buffer_new_allocate (NULL, 64 * 48 * 4, NULL);
  GstAnalyticsRelationMeta *meta =
      gst_buffer_add_analytics_relation_meta (buffer);
  GstAnalyticsODMtd mtd;
  gint x, y, w, h_;
  gfloat confidence;

  gst_buffer_memset (buffer, 0, 0, -1);
  gst_analytics_relation_meta_add_od_mtd (
      meta, g_quark_from_static_string ("cat"), 16, 8, 20, 10, 0.5, &mtd);
  gst_harness_set_src_caps_str (
      h, "video/x-raw,format=RGBA,width=64,height=48,framerate=1/1");
  buffer = gst_harness_push_and_pull (h, buffer);
  meta = gst_buffer_get_analytics_relation_meta (buffer);
  fail_unless (meta != NULL);
  fail_unless (gst_analytics_relation_meta_get_od_mtd (meta, 0, &mtd));
  gst_analytics_od_mtd_get_location (&mtd, &x, &y, &w, &h_, &confidence);
  fail_unless_equals_int (x, __i__ ? 28 : 8);
  fail_unless_equals_int (y, __i__ ? 30 : 4);
  fail_unless_equals_int (w, 20);
  fail_unless_equals_int (h_, 10);
  gst_buffer_unref (buffer);
  gst_harness_teardown (h);
}
#endif

#ifdef HAVE_GST_ANALYTICS
/* After a download, the tensor of GStreamer's meta is in the buffer's memory.
 */
TEST_LOOP (analytics, 2)
{
  g_autoptr (GstElement) pipeline =
      test_launch (TENSOR ("%s") SOURCE ("a"), __i__ ? "tensor-id=mine" : "");
  GstTensorMeta *meta;
  g_autoptr (GPtrArray) buffers = NULL;
  GstBuffer *buffer;
  gint index;

  queue_frames (pipeline, "a", 1, 1, FRAME_TIME);
  buffers = test_play_buffers (pipeline);
  fail_unless_equals_int (buffers->len, 1);
  buffer = buffers->pdata[0];
  meta = gst_buffer_get_tensor_meta (buffer);
  fail_unless (meta != NULL);
  index = gst_tensor_meta_get_index_from_id (
      meta, g_quark_from_string (__i__ ? "mine" : "vkgdrtensor"));
  fail_unless (index >= 0);
  fail_unless (
      gst_buffer_peek_memory (gst_tensor_meta_get (meta, index)->data, 0)
      == gst_buffer_peek_memory (buffer, 0));
}
#endif

/* --- flushes ------------------------------------------------------------- */

/* Starts the pipeline, or lets it go on, and pulls @n batches from its sink.
 * The caller frees them. */
static GPtrArray *
pull (GstElement *pipeline, guint n)
{
  GstAppSink *sink = GST_APP_SINK (test_find (pipeline, "sink"));
  GPtrArray *buffers =
      g_ptr_array_new_with_free_func ((GDestroyNotify) gst_buffer_unref);

  gst_element_set_state (pipeline, GST_STATE_PLAYING);
  while (buffers->len < n) {
    g_autoptr (GstSample) sample =
        gst_app_sink_try_pull_sample (sink, 20 * GST_SECOND);

    fail_unless (sample != NULL);
    g_ptr_array_add (buffers, gst_buffer_ref (gst_sample_get_buffer (sample)));
  }
  return buffers;
}

static void
push_sized_frame (GstHarness *h, gint size, guint i)
{
  GstCaps *caps = gst_caps_from_string (GRAY);
  GstBuffer *buffer = gst_buffer_new_allocate (NULL, size * size, NULL);

  gst_caps_set_simple (
      caps, "width", G_TYPE_INT, size, "height", G_TYPE_INT, size, NULL);
  gst_harness_set_src_caps (h, caps);
  gst_buffer_memset (buffer, 0, 0, -1);
  GST_BUFFER_PTS (buffer) = i * FRAME_TIME;
  GST_BUFFER_DURATION (buffer) = FRAME_TIME;
  fail_unless_equals_int (gst_harness_push (h, buffer), GST_FLOW_OK);
}

/* The size of the frames changes during a batch, which keeps its size. If a
 * flush drops that batch, the next one has the new size. */
TEST (flush_after_new_size)
{
  g_autoptr (GstHarness) h = test_harness_parse (
      "vkgdrupload ! vkgdrtensor name=t type=uint8 channels=gray batch=4");
  g_autoptr (GstBuffer) buffer = NULL;
  guint i;

  push_sized_frame (h, 8, 0);
  push_sized_frame (h, 16, 1);
  test_wait_for (get_stat (h->element, "frames") >= 2);
  gst_harness_push_event (h, gst_event_new_flush_start ());
  gst_harness_push_event (h, gst_event_new_flush_stop (FALSE));
  for (i = 0; i < 4; i++)
    push_sized_frame (h, 16, i);
  buffer = gst_harness_pull (h);
  fail_unless_equals_int (gst_buffer_get_size (buffer), 4 * 16 * 16);
}

#define N_FLUSHES 500
#define N_RELEASES 100

/* Plays the pipeline. Returns a pad that is linked to the pad @name of
 * vkgdrtensor. */
static GstPad *
linked_pad (GstElement *pipeline, const gchar *name)
{
  GstElement *tensor = test_find (pipeline, "t");
  g_autoptr (GstPad) sink = gst_element_request_pad_simple (tensor, name);
  GstPad *pad = gst_pad_new ("src", GST_PAD_SRC);

  test_set_context (pipeline, test_context);
  gst_element_set_state (pipeline, GST_STATE_PLAYING);
  gst_pad_set_active (pad, TRUE);
  gst_pad_link (pad, sink);
  return pad;
}

/* Pushes a frame, which the element repeats until the time of a second one. */
static void
push_stream (GstPad *pad)
{
  g_autoptr (GstCaps) caps = gst_caps_from_string (GRAY);
  GstBuffer *buffer = gst_buffer_new ();

  gst_caps_set_features_simple (
      caps, gst_caps_features_new (GST_CAPS_FEATURE_MEMORY_VKGDR_MEMORY, NULL));
  gst_check_setup_events_with_stream_id (pad, NULL, caps, GST_FORMAT_TIME, "a");
  gst_buffer_append_memory (
      buffer, test_memory_new (test_context, FRAME_BYTES));
  GST_BUFFER_PTS (buffer) = 0;
  gst_pad_push (pad, gst_buffer_copy (buffer));
  GST_BUFFER_PTS (buffer) = 1000 * GST_SECOND;
  gst_pad_push (pad, buffer);
}

/* One of two pads is flushed while the element repeats the pad's last frame. */
TEST (flush_of_one_pad)
{
  g_autoptr (GstElement) pipeline = test_launch (
      "videotestsrc ! " GRAY " ! vkgdrupload ! vkgdrtensor name=t ! fakesink");
  g_autoptr (GstPad) pad = linked_pad (pipeline, "sink_1");
  guint i;

  for (i = 0; i < N_FLUSHES; i++) {
    push_stream (pad);
    g_usleep (i % 100);
    fail_unless (gst_pad_push_event (pad, gst_event_new_flush_start ()));
    fail_unless (gst_pad_push_event (pad, gst_event_new_flush_stop (TRUE)));
  }
  fail_unless (get_stat (pipeline, "repeated") > 0);
  gst_element_set_state (pipeline, GST_STATE_NULL);
}

/* The only pad is released while the element negotiates its caps. */
TEST (release_in_negotiation)
{
  guint i;

  for (i = 0; i < N_RELEASES; i++) {
    g_autoptr (GstElement) pipeline =
        test_launch ("vkgdrtensor name=t ! fakesink");
    g_autoptr (GstPad) pad = linked_pad (pipeline, "sink_0");
    g_autoptr (GstPad) sink = gst_pad_get_peer (pad);

    push_stream (pad);
    g_usleep (10 * i);
    gst_element_release_request_pad (test_find (pipeline, "t"), sink);
    gst_element_set_state (pipeline, GST_STATE_NULL);
  }
}

/* The element does not wait for a live source that sends nothing. */
TEST (live)
{
  g_autoptr (GstElement) pipeline = test_launch (
      "vkgdrtensor name=t missing=leave-out ! appsink name=sink sync=false "
      "videotestsrc is-live=true num-buffers=5 ! " GRAY
      " ! queue ! vkgdrupload ! t. "
      "appsrc is-live=true format=time caps=" GRAY
      " ! queue ! vkgdrupload ! t.");
  g_autoptr (GPtrArray) buffers = pull (pipeline, 5);
  guint i;

  for (i = 0; i < 5; i++)
    fail_unless_equals_int (meta_of (buffers, i)->n_frames, 1);
  gst_element_set_state (pipeline, GST_STATE_NULL);
}
