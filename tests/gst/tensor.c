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

static const GstVkgdrTensorFrame *
frame_of (GPtrArray *buffers, guint i, guint k)
{
  return gst_vkgdr_tensor_batch_meta_get_frame (meta_of (buffers, i), k);
}

/* Fails unless batch @i consists of frames whose bytes all have these values,
 * such as "1 2 0 0". */
static void
check_values (GPtrArray *buffers, guint i, const gchar *values)
{
  g_auto (GStrv) wanted = g_strsplit (values, " ", -1);
  guint n = g_strv_length (wanted);
  gsize size, k;
  GstMapInfo map;

  fail_unless (gst_buffer_map (buffers->pdata[i], &map, GST_MAP_READ));
  size = map.size / n;
  fail_unless (map.size == n * size && size > 0);
  for (k = 0; k < map.size; k++)
    test_check_byte (k, map.data[k], atoi (wanted[k / size]));
  gst_buffer_unmap (buffers->pdata[i], &map);
}

/* Checks the pads of the frames in batch @i, and which of them are repeated. */
static void
check_pads (GPtrArray *buffers, guint i, const gchar *pads)
{
  g_autoptr (GString) found = g_string_new (NULL);
  guint k;

  for (k = 0; k < meta_of (buffers, i)->n_frames; k++) {
    const GstVkgdrTensorFrame *frame = frame_of (buffers, i, k);

    g_string_append_printf (found, "%s%s%s", k ? " " : "", frame->pad,
        frame->is_repeated ? "*" : "");
  }
  fail_unless_equals_string (found->str, pads);
}

static guint64
get_stat (GstElement *pipeline, const gchar *field)
{
  return test_stat_of (pipeline, "t", field);
}

static GstPadProbeReturn
add_metas (GstPad *pad, GstPadProbeInfo *info, gpointer is_cropped)
{
  GstBuffer *buffer =
      gst_buffer_make_writable (GST_PAD_PROBE_INFO_BUFFER (info));
  guint frame = GST_BUFFER_PTS (buffer) / FRAME_TIME, i;
  GstVideoCropMeta *crop;

  if (is_cropped) {
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

/* Frame 0 of sink_0 gets no region, frame 1 one region, and so on. */
static void
add_regions (GstElement *pipeline, gboolean is_cropped)
{
  g_autoptr (GstElement) tensor = gst_bin_get_by_name (GST_BIN (pipeline), "t");
  g_autoptr (GstPad) pad = gst_element_get_static_pad (tensor, "sink_0");

  gst_pad_add_probe (pad, GST_PAD_PROBE_TYPE_BUFFER, add_metas,
      GINT_TO_POINTER (is_cropped), NULL);
}

/* --- batches ------------------------------------------------------------- */

#define MAX_BATCHES 5

/* The sources a and b send frames with the values 1, 2 and so on, and 101, 102
 * and so on. These are the values in each batch, and the pads. */
typedef struct {
  const gchar *pipeline;
  guint n_a, n_b;
  guint duration; /* of the frames of b, in frames of a */
  gboolean has_regions;
  const gchar *values[MAX_BATCHES], *pads[MAX_BATCHES];
  const gchar *stat; /* a field of the property stats, and its value */
  guint64 count;
} Batches;

static const Batches batches[] = {
  { TENSOR ("batch=4") SOURCE ("a"), 10, 0, 1, FALSE,
      { "1 2 3 4", "5 6 7 8", "9 10 0 0" },
      { "sink_0 sink_0 sink_0 sink_0", "sink_0 sink_0 sink_0 sink_0",
          "sink_0 sink_0" },
      "batches", 3 },
  /* One pad has half as many frames as the other. */
  { TENSOR ("missing=repeat") SOURCE ("a") SOURCE ("b"), 4, 2, 2, FALSE,
      { "1 101", "2 101", "3 102", "4 102" },
      { "sink_0 sink_1", "sink_0 sink_1*", "sink_0 sink_1", "sink_0 sink_1*" },
      "repeated", 2 },
  { TENSOR ("missing=leave-out") SOURCE ("a") SOURCE ("b"), 4, 2, 2, FALSE,
      { "1 101", "2 0", "3 102", "4 0" },
      { "sink_0 sink_1", "sink_0", "sink_0 sink_1", "sink_0" }, "left-out", 2 },
  /* One pad ends before the other. */
  { TENSOR ("missing=leave-out") SOURCE ("a") SOURCE ("b"), 1, 3, 1, FALSE,
      { "1 101", "102 0", "103 0" }, { "sink_0 sink_1", "sink_1", "sink_1" } },
  /* A batch has several frames of each pad. */
  { TENSOR ("batch=4") SOURCE ("a") SOURCE ("b"), 3, 3, 1, FALSE,
      { "1 101 2 102", "3 103 0 0" },
      { "sink_0 sink_1 sink_0 sink_1", "sink_0 sink_1" } },
  /* Frames of different sizes and formats are in one batch. */
  { TENSOR ("width=8 height=8 batch=2") SOURCE (
        "a") " videotestsrc num-buffers=1 pattern=white ! "
             "video/x-raw,format=NV12,width=64,height=48 ! vkgdrupload ! t.",
      1, 0, 1, FALSE, { "1 255" }, { "sink_0 sink_1" } },
  /* Each buffer is a field, with half the rows of the picture. */
  { TENSOR ("height=0") " appsrc name=a format=time "
                        "caps=\"video/x-raw(memory:SystemMemory,"
                        "format:Interlaced),format=GRAY8,width=8,height=16,"
                        "framerate=25/1,interlace-mode=alternate\" ! "
                        "vkgdrupload ! t.",
      2, 0, 1, FALSE, { "1", "2" }, { "sink_0", "sink_0" } },
  /* The second frame of a batch begins at an odd address. */
  { TENSOR ("width=5 height=5 batch=3") SOURCE ("a"), 3, 0, 1, FALSE,
      { "1 2 3" }, { "sink_0 sink_0 sink_0" } },
  /* Regions of interest are the frames, all of them or those of a type. */
  { TENSOR ("region=roi batch=4") SOURCE ("a"), 4, 0, 1, TRUE,
      { "2 3 3 4", "4 4 0 0" },
      { "sink_0 sink_0 sink_0 sink_0", "sink_0 sink_0" } },
  { TENSOR ("region=roi roi-type=cat batch=4") SOURCE ("a"), 4, 0, 1, TRUE,
      { "3 4 0 0" }, { "sink_0 sink_0" } },
};

static void
setup (void)
{
  folder_setup ();
  test_setup ();
  test_frames_register ();
}

static void
teardown (void)
{
  test_teardown ();
  folder_teardown ();
}

TEST_FIXTURE (setup, teardown);

TEST_LOOP (batches, G_N_ELEMENTS (batches))
{
  const Batches *row = &batches[__i__];
  g_autoptr (GstElement) pipeline = test_launch ("%s", row->pipeline);
  g_autoptr (GPtrArray) buffers = NULL;
  guint i;

  if (row->has_regions)
    add_regions (pipeline, FALSE);
  queue_frames (pipeline, "a", 1, row->n_a, FRAME_TIME);
  if (row->n_b)
    queue_frames (pipeline, "b", 101, row->n_b, row->duration * FRAME_TIME);
  buffers = test_play_buffers (pipeline);
  for (i = 0; row->values[i]; i++) {
    check_values (buffers, i, row->values[i]);
    check_pads (buffers, i, row->pads[i]);
  }
  fail_unless_equals_int (buffers->len, i);
  if (row->stat)
    fail_unless_equals_uint64 (get_stat (pipeline, row->stat), row->count);
}

TEST (batches_in_time)
{
  g_autoptr (GstElement) pipeline =
      test_launch (TENSOR ("batch=4") SOURCE ("a"));
  g_autoptr (GPtrArray) buffers = NULL;
  const GstVkgdrTensorFrame *frame;
  GstBuffer *second, *last;

  queue_frames (pipeline, "a", 1, 10, FRAME_TIME);
  buffers = test_play_buffers (pipeline);
  fail_unless_equals_int (buffers->len, 3);
  second = buffers->pdata[1];
  last = buffers->pdata[2];
  fail_unless_equals_uint64 (GST_BUFFER_PTS (second), 4 * FRAME_TIME);
  fail_unless_equals_uint64 (GST_BUFFER_DURATION (second), 4 * FRAME_TIME);
  fail_unless_equals_uint64 (GST_BUFFER_DURATION (last), 2 * FRAME_TIME);
  frame = frame_of (buffers, 1, 2);
  fail_unless_equals_uint64 (frame->pts, 6 * FRAME_TIME);
  fail_unless_equals_uint64 (frame->running_time, 6 * FRAME_TIME);
  fail_unless_equals_uint64 (frame->duration, FRAME_TIME);
  fail_unless_equals_int (frame->width, SIZE);
  fail_unless_equals_int (frame->region_height, SIZE);
  fail_unless_equals_int (frame->roi_id, -1);
  fail_unless (frame_of (buffers, 2, 2) == NULL);
  fail_unless_equals_uint64 (get_stat (pipeline, "frames"), 10);
}

static void
check_region (
    const GstVkgdrTensorFrame *frame, gint x, gint y, gint width, gint height)
{
  fail_unless (frame->region_x == x && frame->region_y == y);
  fail_unless (frame->region_width == width && frame->region_height == height);
}

/* The meta says where a region is, and where a point of the tensor is. A crop
 * is limited to the picture. */
TEST_LOOP (regions, 2)
{
  g_autoptr (GstElement) pipeline = test_launch (
      TENSOR ("%s") SOURCE ("a"), __i__ ? "" : "region=roi batch=4");
  g_autoptr (GPtrArray) buffers = NULL;
  const GstVkgdrTensorFrame *frame;

  add_regions (pipeline, __i__);
  queue_frames (pipeline, "a", 1, 4, FRAME_TIME);
  buffers = test_play_buffers (pipeline);
  if (__i__) {
    check_region (frame_of (buffers, 0, 0), 2, 1, 4, SIZE - 1);
    return;
  }
  frame = frame_of (buffers, 1, 0);
  check_region (frame, 1, 0, 4, 4);
  fail_unless_equals_int (frame->roi_id, 31);
  fail_unless_equals_string (g_quark_to_string (frame->roi_type), "cat");
  fail_unless (frame->transform.scale_x == 0.5);
  fail_unless (frame->transform.offset_x == 1);
}

/* Plays a pipeline that sends one batch of one frame. */
static GPtrArray *
play_cropped (const gchar *elements)
{
  g_autoptr (GstElement) pipeline = test_launch (
      "videotestsrc num-buffers=1 pattern=smpte ! "
      "video/x-raw,format=NV12,width=64,height=32 ! %s ! vkgdrtensor width=24 "
      "height=20 type=uint8 filter=nearest ! vkgdrdownload ! appsink name=sink",
      elements);
  GPtrArray *buffers = test_play_buffers (pipeline);

  fail_unless_equals_int (buffers->len, 1);
  return buffers;
}

/* A filter behind vkgdrupload crops with a GstVideoCropMeta, and changes the
 * size in the caps. No byte is copied for that, and the tensor is the same. */
TEST (crop_by_a_filter)
{
  g_autoptr (GPtrArray) before = NULL, behind = NULL;
  const GstVkgdrTensorFrame *frame;
  GstMapInfo map;

  if (!gst_registry_check_feature_version (
          gst_registry_get (), "videocrop", 1, 0, 0))
    return;
  before = play_cropped ("videocrop left=32 top=6 right=8 ! vkgdrupload");
  behind = play_cropped ("vkgdrupload ! videocrop left=32 top=6 right=8");
  fail_unless (gst_buffer_map (before->pdata[0], &map, GST_MAP_READ));
  fail_unless_equals_int (
      gst_buffer_memcmp (behind->pdata[0], 0, map.data, map.size), 0);
  gst_buffer_unmap (before->pdata[0], &map);
  frame = frame_of (behind, 0, 0);
  fail_unless (frame->width == 64 && frame->height == 32);
  check_region (frame, 32, 6, 24, 26);
}

TEST (restart)
{
  g_autoptr (GstElement) pipeline = test_launch (
      "testframes num-buffers=5 ! video/x-raw,width=8,height=8 ! vkgdrupload "
      "! t. " TENSOR ("batch=2"));
  guint i;

  for (i = 0; i < 3; i++) {
    g_autoptr (GPtrArray) buffers = test_play_buffers (pipeline);

    fail_unless_equals_int (buffers->len, 3);
    fail_unless_equals_int (meta_of (buffers, 2)->n_frames, 1);
  }
}

/* The element is stopped in the middle of a batch. All memory is freed. */
TEST (stop_in_a_batch)
{
  g_autoptr (GstVkgdrAllocator) allocator = test_allocator ();
  g_autoptr (GstElement) pipeline = test_launch (
      "testframes num-buffers=3 ! video/x-raw,width=8,height=8 ! vkgdrupload "
      "! t. testframes num-buffers=500 ! video/x-raw,width=8,height=8 ! "
      "identity sleep-time=1000 ! vkgdrupload ! t. " TENSOR ("batch=400"));

  test_set_context (pipeline, test_context);
  gst_element_set_state (pipeline, GST_STATE_PLAYING);
  test_wait_for (get_stat (pipeline, "frames") >= 2);
  fail_unless_equals_uint64 (get_stat (pipeline, "batches"), 0);
  fail_unless (gst_vkgdr_allocator_get_active_blocks (allocator) > 0);
  gst_element_set_state (pipeline, GST_STATE_NULL);
  g_clear_object (&pipeline);
  fail_unless_equals_int (gst_vkgdr_allocator_get_active_blocks (allocator), 0);
}

/* If no height is set, the tensor has the height of the frames. */
TEST (caps)
{
  g_autoptr (GstHarness) h = test_harness_parse (
      "vkgdrupload ! vkgdrtensor width=16 type=float16 layout=nhwc batch=2 "
      "tensor-id=pictures");
  g_autoptr (GstCaps) wanted = gst_caps_from_string (
      "tensor/strided(memory:VkgdrMemory),dims=<2,8,16,3>,"
      "dims-order=row-major,type=float16,tensor-id=pictures");
  g_autoptr (GstCaps) got = NULL;
  guint8 data[FRAME_BYTES] = { 0 };

  gst_harness_set_src_caps_str (h, GRAY);
  gst_harness_push (h, gst_buffer_new_memdup (data, sizeof (data)));
  g_free (test_push (h, data, sizeof (data), 2 * 8 * 16 * 3 * 2));
  got = gst_pad_get_current_caps (h->sinkpad);
  fail_unless (gst_caps_is_equal (got, wanted), "%s", gst_caps_to_string (got));
}

/* A copy of the buffer has the meta, but a copy of a part of it does not. */
TEST (meta)
{
  GstVkgdrTensorFrame frame = { (gchar *) "sink_7", 1, 2, 3, 4, 5 };
  GstBuffer *buffer = gst_buffer_new_allocate (NULL, 10, NULL), *copy;
  const GstVkgdrTensorFrame *found;
  GstVkgdrTensorFrame *mine;
  gdouble x, y;

  frame.transform =
      (GstVkgdrTensorTransform){ .scale_x = 2, .scale_y = 3, .offset_x = -4 };
  gst_vkgdr_tensor_batch_meta_append (
      gst_vkgdr_buffer_add_tensor_batch_meta (buffer), &frame);
  copy = gst_buffer_copy (buffer);
  gst_buffer_unref (buffer);
  found = gst_vkgdr_tensor_batch_meta_get_frame (
      gst_vkgdr_buffer_get_tensor_batch_meta (copy), 0);
  fail_unless_equals_string (found->pad, "sink_7");
  fail_unless_equals_uint64 (found->running_time, 3);
  gst_vkgdr_tensor_frame_map_point (found, 10, 20, &x, &y);
  fail_unless (x == 16 && y == 60);
  mine = g_boxed_copy (GST_TYPE_VKGDR_TENSOR_FRAME, found);
  buffer = gst_buffer_copy_region (copy, GST_BUFFER_COPY_ALL, 2, 4);
  fail_unless (gst_vkgdr_buffer_get_tensor_batch_meta (buffer) == NULL);
  gst_buffer_unref (copy);
  gst_buffer_unref (buffer);
  fail_unless_equals_string (mine->pad, "sink_7");
  g_boxed_free (GST_TYPE_VKGDR_TENSOR_FRAME, mine);
}

/* --- many pads -------------------------------------------------------------
 */

#define MANY 16
#define FRAMES_OF_MANY 12

/* The value of each byte of a frame, which no other frame has. */
static guint8
value_of_many (guint source, guint frame)
{
  return 1 + source * FRAMES_OF_MANY + frame;
}

/* Makes a pipeline with sources, each with a thread of its own. The frames of
 * some come late, so that their order differs from that of the pads. */
static GstElement *
launch_many (guint batch)
{
  g_autoptr (GString) text = g_string_new (NULL);
  guint i;

  g_string_printf (text, TENSOR ("missing=leave-out batch=%u"), batch);
  for (i = 0; i < MANY; i++)
    g_string_append_printf (text,
        " appsrc name=s%u format=time caps=" GRAY " ! identity sleep-time=%u ! "
        "vkgdrupload ! queue max-size-buffers=2 ! t.sink_%u",
        i, i % 3 == 0 ? (MANY - i) * 500 : 0, i);
  return test_launch ("%s", text->str);
}

/* Fails unless batch @i has the frames that belong there: one of each source,
 * and then the next one of each. */
static void
check_batch_of_many (GPtrArray *buffers, guint i, guint batch)
{
  g_autoptr (GString) values = g_string_new (NULL);
  guint k;

  for (k = 0; k < batch; k++) {
    const GstVkgdrTensorFrame *frame = frame_of (buffers, i, k);
    guint number = (i * batch + k) / MANY;
    g_autofree gchar *pad = g_strdup_printf ("sink_%u", k % MANY);

    g_string_append_printf (
        values, "%s%u", k ? " " : "", value_of_many (k % MANY, number));
    fail_unless_equals_string (frame->pad, pad);
    fail_unless_equals_uint64 (frame->pts, number * FRAME_TIME);
  }
  check_values (buffers, i, values->str);
}

/* No frame of many sources is lost, doubled or misplaced. A batch has
 * __i__ + 1 frames of each source. */
TEST_LOOP (many_sources, 2)
{
  guint batch = MANY * (1 + __i__), i;
  g_autoptr (GstElement) pipeline = launch_many (batch);
  g_autoptr (GPtrArray) buffers = NULL;

  for (i = 0; i < MANY; i++) {
    g_autofree gchar *name = g_strdup_printf ("s%u", i);

    queue_frames (
        pipeline, name, value_of_many (i, 0), FRAMES_OF_MANY, FRAME_TIME);
  }
  buffers = test_play_buffers (pipeline);
  fail_unless_equals_int (buffers->len, MANY * FRAMES_OF_MANY / batch);
  for (i = 0; i < buffers->len; i++)
    check_batch_of_many (buffers, i, batch);
  fail_unless_equals_uint64 (get_stat (pipeline, "left-out"), 0);
}

/* A size of 0 is one that is not known yet. */
TEST (caps_with_a_dynamic_size)
{
  g_autoptr (GstCaps) caps =
      gst_caps_from_string ("tensor/strided,dims=<0,3>,type=float32");
  g_autofree gint *dims = NULL;
  GstVkgdrTensorType type;
  guint n;

  fail_unless (gst_vkgdr_tensor_caps_parse (caps, &type, &dims, &n, NULL));
  fail_unless (n == 2 && dims[0] == 0 && dims[1] == 3);
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

TEST_LOOP (errors, G_N_ELEMENTS (errors))
{
  test_check_error (&errors[__i__]);
}

/* --- model files --------------------------------------------------------- */

#define MODEL(input) \
  "[modelinfo]\nversion=1.0\ngroup-id=g\n\n[scores]\ndir=output\n" \
  "type=float32\ndims=1,10\nid=scores\n\n[images]\ndir=input\n" input

static GstElement *
launch_model (const gchar *model, const gchar *pattern, const gchar *caps)
{
  g_autofree gchar *path = folder_write ("a.modelinfo", model);

  return test_launch (
      "videotestsrc num-buffers=2 pattern=%s ! "
      "video/x-raw,format=RGB,width=6,height=4 ! vkgdrupload ! vkgdrtensor "
      "modelinfo=%s ! capsfilter "
      "caps=\"tensor/strided(memory:VkgdrMemory)%s\" ! vkgdrdownload ! "
      "appsink name=sink",
      pattern, path, caps);
}

static const struct {
  const gchar *model, *caps;
  gfloat white[3], black[3];
  gint step, channel; /* from pixel to pixel and from channel to channel */
} models[] = {
  { MODEL ("type=float32\ndims=1,3,2,6\nranges=0,1;-1,1;0,255\nid=mine\n"),
      ",type=float32,dims=(int)<1,3,2,6>,tensor-id=mine", { 1, 1, 255 },
      { 0, -1, 0 }, 1, 12 },
  { MODEL ("type=float32\ndims=-1,-1,-1,3\nranges=0.5,2.5\n"),
      ",type=float32,dims=(int)<1,4,6,3>", { 2.5, 2.5, 2.5 }, { 0.5, 0.5, 0.5 },
      3, 1 },
  { MODEL ("type=float32\ndims=2,3,4,6\n"), ",type=float32,dims=(int)<2,3,4,6>",
      { 1, 1, 1 }, { 0, 0, 0 }, 1, 24 },
};

TEST_LOOP (models, 2 * G_N_ELEMENTS (models))
{
  guint m = __i__ / 2, i, c;
  gboolean is_white = __i__ % 2;
  const gfloat *wanted = is_white ? models[m].white : models[m].black;
  g_autoptr (GstElement) pipeline = launch_model (
      models[m].model, is_white ? "white" : "black", models[m].caps);
  g_autoptr (GPtrArray) buffers = test_play_buffers (pipeline);
  GstMapInfo map;

  fail_unless_equals_int (buffers->len, m == 2 ? 1 : 2);
  fail_unless (gst_buffer_map (buffers->pdata[0], &map, GST_MAP_READ));
  for (i = 0; i < 12; i++)
    for (c = 0; c < 3; c++) {
      gfloat got =
          ((gfloat *) map.data)[i * models[m].step + c * models[m].channel];

      fail_unless (ABS (got - wanted[c]) < 1e-4, "%g", got);
    }
  gst_buffer_unmap (buffers->pdata[0], &map);
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

TEST_LOOP (bad_models, G_N_ELEMENTS (bad_models))
{
  g_autoptr (GstElement) pipeline =
      launch_model (bad_models[__i__].model, "black", "");
  g_autoptr (GError) error = test_play_error (pipeline);

  test_assert_contains (error->message, bad_models[__i__].message);
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

/* Names are set while frames pass. */
TEST (names_from_another_thread)
{
  g_autoptr (GstElement) pipeline =
      test_launch (TENSOR ("region=roi") SOURCE ("a"));
  g_autoptr (GstElement) tensor = gst_bin_get_by_name (GST_BIN (pipeline), "t");
  g_autoptr (GPtrArray) buffers = NULL;
  GThread *thread;

  add_regions (pipeline, FALSE);
  queue_frames (pipeline, "a", 1, 100, FRAME_TIME);
  thread = g_thread_new ("names", set_names, tensor);
  buffers = test_play_buffers (pipeline);
  g_thread_join (thread);
}

/* --- seeks and flushes --------------------------------------------------- */

/* Pulls a batch from the pipeline's sink. */
static GstBuffer *
pull (GstElement *pipeline)
{
  g_autoptr (GstElement) sink =
      gst_bin_get_by_name (GST_BIN (pipeline), "sink");
  g_autoptr (GstSample) sample =
      gst_app_sink_try_pull_sample (GST_APP_SINK (sink), 20 * GST_SECOND);

  fail_unless (sample != NULL);
  return gst_buffer_ref (gst_sample_get_buffer (sample));
}

/* After a seek, no batch has frames from before the seek. */
TEST (seek)
{
  g_autoptr (GstElement) pipeline = test_launch (
      "videotestsrc num-buffers=25 ! " GRAY
      " ! vkgdrupload ! t. " TENSOR ("batch=4") " sync=false max-buffers=1");
  g_autoptr (GstBuffer) buffer = NULL;
  GstVkgdrTensorBatchMeta *meta;

  gst_element_set_state (pipeline, GST_STATE_PLAYING);
  gst_buffer_unref (pull (pipeline));
  fail_unless (gst_element_seek_simple (pipeline, GST_FORMAT_TIME,
      GST_SEEK_FLAG_FLUSH | GST_SEEK_FLAG_ACCURATE, 10 * FRAME_TIME));
  buffer = pull (pipeline);
  meta = gst_vkgdr_buffer_get_tensor_batch_meta (buffer);
  fail_unless_equals_int (meta->n_frames, 4);
  fail_unless_equals_uint64 (
      gst_vkgdr_tensor_batch_meta_get_frame (meta, 0)->pts, 10 * FRAME_TIME);
  fail_unless_equals_uint64 (
      gst_vkgdr_tensor_batch_meta_get_frame (meta, 3)->pts, 13 * FRAME_TIME);
  gst_element_set_state (pipeline, GST_STATE_NULL);
}

static void
push_sized_frame (GstElement *src, gint size, GstClockTime pts)
{
  g_autoptr (GstCaps) caps = gst_caps_from_string (GRAY);
  GstBuffer *buffer = gst_buffer_new_allocate (NULL, size * size, NULL);

  gst_caps_set_simple (
      caps, "width", G_TYPE_INT, size, "height", G_TYPE_INT, size, NULL);
  gst_buffer_memset (buffer, 0, 0, size * size);
  GST_BUFFER_PTS (buffer) = pts;
  GST_BUFFER_DURATION (buffer) = FRAME_TIME;
  gst_app_src_set_caps (GST_APP_SRC (src), caps);
  fail_unless_equals_int (
      gst_app_src_push_buffer (GST_APP_SRC (src), buffer), GST_FLOW_OK);
}

/* The size of the frames changes during a batch, which keeps its size. If a
 * flush drops that batch, the next one has the new size. */
TEST (flush_after_new_size)
{
  g_autoptr (GstElement) pipeline =
      test_launch ("appsrc name=a format=time ! "
                   "vkgdrupload ! t. " TENSOR ("batch=4"));
  g_autoptr (GstElement) src = gst_bin_get_by_name (GST_BIN (pipeline), "a");
  g_autoptr (GstBuffer) buffer = NULL;
  guint i;

  gst_element_set_state (pipeline, GST_STATE_PLAYING);
  push_sized_frame (src, 8, 0);
  push_sized_frame (src, 16, FRAME_TIME);
  test_wait_for (get_stat (pipeline, "frames") >= 2);
  fail_unless (gst_element_send_event (src, gst_event_new_flush_start ()));
  fail_unless (gst_element_send_event (src, gst_event_new_flush_stop (TRUE)));
  for (i = 0; i < 4; i++)
    push_sized_frame (src, 16, i * FRAME_TIME);
  buffer = pull (pipeline);
  fail_unless_equals_int (gst_buffer_get_size (buffer), 4 * 16 * 16);
  gst_element_set_state (pipeline, GST_STATE_NULL);
}

#define N_FLUSHES 500
#define N_RELEASES 100
#define STREAM_CAPS \
  "video/" \
  "x-raw(memory:VkgdrMemory),format=GRAY8,width=8,height=8,framerate=25/1"

static void
begin_stream (GstPad *pad, GstCaps *caps)
{
  GstSegment segment;

  gst_segment_init (&segment, GST_FORMAT_TIME);
  fail_unless (gst_pad_send_event (pad, gst_event_new_stream_start ("a")));
  fail_unless (gst_pad_send_event (pad, gst_event_new_caps (caps)));
  fail_unless (gst_pad_send_event (pad, gst_event_new_segment (&segment)));
}

static void
push_frame (GstPad *pad, GstClockTime pts)
{
  GstBuffer *buffer = gst_buffer_new ();

  gst_buffer_append_memory (
      buffer, test_memory_new (test_context, FRAME_BYTES));
  GST_BUFFER_PTS (buffer) = pts;
  fail_unless_equals_int (gst_pad_chain (pad, buffer), GST_FLOW_OK);
}

/* Makes a stream on @pad, whose first frame is repeated until the second one,
 * and flushes it while the element repeats that frame. */
static void
stream_and_flush (GstPad *pad, GstCaps *caps, guint delay)
{
  begin_stream (pad, caps);
  push_frame (pad, 0);
  push_frame (pad, 1000 * GST_SECOND);
  g_usleep (delay);
  fail_unless (gst_pad_send_event (pad, gst_event_new_flush_start ()));
  fail_unless (gst_pad_send_event (pad, gst_event_new_flush_stop (TRUE)));
}

/* One of two pads is flushed while the element repeats the pad's last frame. */
TEST (flush_of_one_pad)
{
  g_autoptr (GstElement) pipeline = test_launch (
      "videotestsrc ! " GRAY " ! vkgdrupload ! vkgdrtensor name=t ! fakesink");
  g_autoptr (GstElement) tensor = gst_bin_get_by_name (GST_BIN (pipeline), "t");
  g_autoptr (GstPad) pad = gst_element_request_pad_simple (tensor, "sink_1");
  g_autoptr (GstCaps) caps = gst_caps_from_string (STREAM_CAPS);
  guint i;

  test_set_context (pipeline, test_context);
  gst_element_set_state (pipeline, GST_STATE_PLAYING);
  for (i = 0; i < N_FLUSHES; i++)
    stream_and_flush (pad, caps, i % 100);
  fail_unless (get_stat (pipeline, "repeated") > 0);
  gst_element_set_state (pipeline, GST_STATE_NULL);
}

/* The only pad is released while the element negotiates its caps. */
TEST (release_in_negotiation)
{
  g_autoptr (GstCaps) caps = gst_caps_from_string (STREAM_CAPS);
  guint i;

  for (i = 0; i < N_RELEASES; i++) {
    g_autoptr (GstElement) pipeline =
        test_launch ("vkgdrtensor name=t ! fakesink");
    g_autoptr (GstElement) tensor =
        gst_bin_get_by_name (GST_BIN (pipeline), "t");
    g_autoptr (GstPad) pad = gst_element_request_pad_simple (tensor, "sink_0");

    test_set_context (pipeline, test_context);
    gst_element_set_state (pipeline, GST_STATE_PLAYING);
    begin_stream (pad, caps);
    push_frame (pad, 0);
    g_usleep (10 * i);
    gst_element_release_request_pad (tensor, pad);
    gst_element_set_state (pipeline, GST_STATE_NULL);
  }
}

/* The element does not wait for a live source that sends nothing. */
TEST (live)
{
  g_autoptr (GstElement) pipeline = test_launch (
      "vkgdrtensor name=t missing=leave-out ! appsink name=sink sync=false "
      "videotestsrc is-live=true num-buffers=5 ! " GRAY
      " ! queue ! vkgdrupload "
      "! t. appsrc is-live=true format=time caps=" GRAY
      " ! queue ! vkgdrupload "
      "! t.");
  guint i;

  gst_element_set_state (pipeline, GST_STATE_PLAYING);
  for (i = 0; i < 5; i++) {
    g_autoptr (GstBuffer) buffer = pull (pipeline);

    fail_unless_equals_int (
        gst_vkgdr_buffer_get_tensor_batch_meta (buffer)->n_frames, 1);
  }
  gst_element_set_state (pipeline, GST_STATE_NULL);
}
