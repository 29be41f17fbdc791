/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * ipc-elements.c: vkgdripcsink and vkgdripcsrc in one process
 *
 * What goes along with frames, and who waits for whom. Other processes are the
 * concern of ipc-clients.c.
 */

#include <gst/check/gstharness.h>
#include <string.h>
#include <sys/stat.h>

#include "ipc-process.h"
#include "util.h"

#define SIZE (TEST_IPC_WIDTH * TEST_IPC_HEIGHT)

static gchar *path;

static void
setup (void)
{
  test_ipc_setup ();
  test_frames_register ();
  path = test_ipc_make_path ();
}

static void
teardown (void)
{
  test_ipc_remove_path (path);
  test_teardown ();
}

/* --- harnesses ----------------------------------------------------------- */

static GstElement *
make (const gchar *name)
{
  GstElement *element = gst_element_factory_make (name, NULL);
  GstContext *context = gst_vkgdr_context_to_gst_context (test_context);

  fail_unless (element != NULL);
  g_object_set (element, "socket-path", path, NULL);
  gst_element_set_context (element, context);
  gst_context_unref (context);
  return element;
}

/* Takes @element, a vkgdripcsink. */
static GstHarness *
harness_of_sink (GstElement *element)
{
  GstHarness *harness;

  g_object_set (element, "sync", FALSE, NULL);
  harness = gst_harness_new_with_element (element, "sink", NULL);
  gst_harness_set_src_caps_str (harness, TEST_IPC_CAPS);
  gst_object_unref (element);
  return harness;
}

static GstHarness *
new_sink (void)
{
  return harness_of_sink (make ("vkgdripcsink"));
}

/* A client that runs, and is connected to @sink as its client number @n. */
static GstHarness *
new_src (GstHarness *sink, guint n)
{
  GstElement *element = make ("vkgdripcsrc");
  GstHarness *harness = gst_harness_new_with_element (element, NULL, "src");

  gst_object_unref (element);
  gst_harness_play (harness);
  test_ipc_wait_clients (sink->element, n);
  return harness;
}

/* Frame @number, which nothing else shares an allocation with. */
static GstBuffer *
new_frame (guint number)
{
  GstVkgdrAllocator *allocator = gst_vkgdr_context_get_allocator (test_context);
  GstMemory *memory =
      gst_vkgdr_allocator_alloc_exportable (allocator, SIZE, NULL);
  GstBuffer *buffer = gst_buffer_new ();
  GstMapInfo map;
  guint i;

  fail_unless (memory != NULL);
  fail_unless (gst_memory_map (memory, &map, GST_MAP_WRITE));
  for (i = 0; i < SIZE; i++)
    map.data[i] =
        test_frame_byte (number, i % TEST_IPC_WIDTH, i / TEST_IPC_WIDTH);
  gst_memory_unmap (memory, &map);
  gst_buffer_append_memory (buffer, memory);
  GST_BUFFER_PTS (buffer) = number * GST_MSECOND;
  gst_object_unref (allocator);
  return buffer;
}

static void
push (GstHarness *sink, guint number)
{
  fail_unless_equals_int (
      gst_harness_push (sink, new_frame (number)), GST_FLOW_OK);
}

/* The next frame, which has to be this one; the caller gives it back. */
static GstBuffer *
pull (GstHarness *src, guint number)
{
  GstBuffer *buffer = gst_harness_pull (src);

  fail_unless (buffer != NULL, "frame %u has not come", number);
  fail_unless_equals_uint64 (GST_BUFFER_PTS (buffer), number * GST_MSECOND);
  fail_unless (test_ipc_is_whole (buffer, TEST_IPC_WIDTH, TEST_IPC_HEIGHT));
  return buffer;
}

static void
pull_and_drop (GstHarness *src, guint number)
{
  gst_buffer_unref (pull (src, number));
}

/* The next event of this type; the caller gives it back. */
static GstEvent *
pull_event (GstHarness *src, GstEventType type)
{
  GstEvent *event;

  while ((event = gst_harness_pull_event (src))) {
    if (GST_EVENT_TYPE (event) == type)
      return event;
    gst_event_unref (event);
  }
  fail ("no %s has come", gst_event_type_get_name (type));
  return NULL;
}

/* --- what goes along ----------------------------------------------------- */

GST_START_TEST (test_caps)
{
  GstHarness *sink, *src;
  GstCaps *caps, *expected;
  GstEvent *event;

  if (test_ipc_cannot_export ())
    return;
  sink = new_sink ();
  src = new_src (sink, 1);
  push (sink, 0);
  pull_and_drop (src, 0);
  event = pull_event (src, GST_EVENT_CAPS);
  gst_event_parse_caps (event, &caps);
  expected = gst_caps_from_string (
      "video/x-raw(memory:VkgdrMemory),format=GRAY8,width=64,height=48,"
      "framerate=1000/1");
  fail_unless (
      gst_caps_can_intersect (caps, expected), "%s", gst_caps_to_string (caps));
  gst_event_unref (event);
  gst_caps_unref (expected);

  /* Caps that change in the midst come before the frame that they are of. */
  gst_harness_set_src_caps_str (
      sink, "video/x-raw,format=GRAY8,width=48,height=64,framerate=1000/1");
  push (sink, 1);
  gst_buffer_unref (gst_harness_pull (src));
  event = pull_event (src, GST_EVENT_CAPS);
  gst_event_parse_caps (event, &caps);
  expected = gst_caps_from_string ("video/x-raw(memory:VkgdrMemory),width=48");
  fail_unless (gst_caps_can_intersect (caps, expected));
  gst_event_unref (event);
  gst_caps_unref (expected);
  gst_harness_teardown (src);
  gst_harness_teardown (sink);
}
GST_END_TEST

/* An element that knows nothing of this memory gets frames, too. */
GST_START_TEST (test_caps_of_system_memory)
{
  GstHarness *sink;
  GstElement *pipeline, *appsink;
  GstSample *sample;
  GstCaps *caps;

  if (test_ipc_cannot_export ())
    return;
  sink = new_sink ();
  pipeline = test_launch ("vkgdripcsrc socket-path=%s ! videoconvert ! "
                          "video/x-raw,format=GRAY8 ! appsink name=sink "
                          "sync=false",
      path);
  appsink = gst_bin_get_by_name (GST_BIN (pipeline), "sink");
  gst_element_set_state (pipeline, GST_STATE_PLAYING);
  test_ipc_wait_clients (sink->element, 1);
  push (sink, 7);
  sample = gst_app_sink_pull_sample (GST_APP_SINK (appsink));
  fail_unless (sample != NULL);
  caps = gst_sample_get_caps (sample);
  fail_unless (gst_caps_features_is_equal (
      gst_caps_get_features (caps, 0), GST_CAPS_FEATURES_MEMORY_SYSTEM_MEMORY));
  fail_unless (test_ipc_is_whole (
      gst_sample_get_buffer (sample), TEST_IPC_WIDTH, TEST_IPC_HEIGHT));
  gst_sample_unref (sample);
  gst_element_set_state (pipeline, GST_STATE_NULL);
  gst_object_unref (appsink);
  gst_object_unref (pipeline);
  gst_harness_teardown (sink);
}
GST_END_TEST

GST_START_TEST (test_segment_and_tags)
{
  GstHarness *sink, *src;
  GstSegment segment;
  const GstSegment *theirs;
  GstTagList *tags;
  GstEvent *event;
  gchar *title = NULL;

  if (test_ipc_cannot_export ())
    return;
  sink = new_sink ();
  src = new_src (sink, 1);
  gst_segment_init (&segment, GST_FORMAT_TIME);
  segment.start = 5 * GST_MSECOND;
  segment.time = 77 * GST_SECOND;
  segment.stop = 9 * GST_SECOND;
  fail_unless (gst_harness_push_event (sink, gst_event_new_segment (&segment)));
  fail_unless (gst_harness_push_event (sink,
      gst_event_new_tag (
          gst_tag_list_new (GST_TAG_TITLE, "a \"title\"; and more", NULL))));
  push (sink, 12);
  pull_and_drop (src, 12);
  event = pull_event (src, GST_EVENT_SEGMENT);
  gst_event_parse_segment (event, &theirs);
  fail_unless_equals_int (theirs->format, GST_FORMAT_TIME);
  fail_unless_equals_uint64 (theirs->time, segment.time);
  fail_unless_equals_uint64 (theirs->stop, segment.stop);
  gst_event_unref (event);
  event = pull_event (src, GST_EVENT_TAG);
  gst_event_parse_tag (event, &tags);
  fail_unless (gst_tag_list_get_string (tags, GST_TAG_TITLE, &title));
  fail_unless_equals_string (title, "a \"title\"; and more");
  g_free (title);
  gst_event_unref (event);
  gst_harness_teardown (src);
  gst_harness_teardown (sink);
}
GST_END_TEST

GST_START_TEST (test_eos)
{
  GstHarness *sink, *src;

  if (test_ipc_cannot_export ())
    return;
  sink = new_sink ();
  src = new_src (sink, 1);
  push (sink, 1);
  fail_unless (gst_harness_push_event (sink, gst_event_new_eos ()));
  pull_and_drop (src, 1);
  gst_event_unref (pull_event (src, GST_EVENT_EOS));
  gst_harness_teardown (src);
  gst_harness_teardown (sink);
}
GST_END_TEST

GST_START_TEST (test_timestamps_and_flags)
{
  GstHarness *sink, *src;
  GstBuffer *buffer;

  if (test_ipc_cannot_export ())
    return;
  sink = new_sink ();
  src = new_src (sink, 1);
  push (sink, 1);
  pull_and_drop (src, 1);
  buffer = new_frame (2);
  GST_BUFFER_DTS (buffer) = 1900 * GST_USECOND;
  GST_BUFFER_DURATION (buffer) = 333;
  GST_BUFFER_OFFSET (buffer) = 44;
  GST_BUFFER_OFFSET_END (buffer) = 45;
  GST_BUFFER_FLAG_SET (
      buffer, GST_BUFFER_FLAG_MARKER | GST_BUFFER_FLAG_CORRUPTED);
  fail_unless_equals_int (gst_harness_push (sink, buffer), GST_FLOW_OK);
  buffer = pull (src, 2);
  fail_unless_equals_uint64 (GST_BUFFER_DTS (buffer), 1900 * GST_USECOND);
  fail_unless_equals_uint64 (GST_BUFFER_DURATION (buffer), 333);
  fail_unless_equals_uint64 (GST_BUFFER_OFFSET (buffer), 44);
  fail_unless_equals_uint64 (GST_BUFFER_OFFSET_END (buffer), 45);
  fail_unless (GST_BUFFER_FLAG_IS_SET (buffer, GST_BUFFER_FLAG_MARKER));
  fail_unless (GST_BUFFER_FLAG_IS_SET (buffer, GST_BUFFER_FLAG_CORRUPTED));
  fail_if (GST_BUFFER_FLAG_IS_SET (buffer, GST_BUFFER_FLAG_DISCONT));
  fail_if (GST_BUFFER_FLAG_IS_SET (buffer, GST_BUFFER_FLAG_GAP));
  fail_unless (GST_MEMORY_IS_READONLY (gst_buffer_peek_memory (buffer, 0)));
  gst_buffer_unref (buffer);
  gst_harness_teardown (src);
  gst_harness_teardown (sink);
}
GST_END_TEST

GST_START_TEST (test_metas)
{
  static const gchar *tags[] = { NULL };
  gsize offset[GST_VIDEO_MAX_PLANES] = { 64 };
  gint stride[GST_VIDEO_MAX_PLANES] = { 96 };
  GstVideoCropMeta *crop;
  GstCustomMeta *custom;
  GstVideoMeta *video;
  GstHarness *sink, *src;
  GstBuffer *buffer;
  gint number = 0;

  if (test_ipc_cannot_export ())
    return;
  gst_meta_register_custom ("VkgdrTestMeta", tags, NULL, NULL, NULL);
  sink = new_sink ();
  src = new_src (sink, 1);
  buffer = new_frame (3);
  gst_buffer_add_video_meta_full (buffer, GST_VIDEO_FRAME_FLAG_NONE,
      GST_VIDEO_FORMAT_GRAY8, 40, 30, 1, offset, stride);
  crop = gst_buffer_add_video_crop_meta (buffer);
  crop->x = 1;
  crop->y = 2;
  crop->width = 3;
  crop->height = 4;
  custom = gst_buffer_add_custom_meta (buffer, "VkgdrTestMeta");
  gst_structure_set (
      gst_custom_meta_get_structure (custom), "number", G_TYPE_INT, 1234, NULL);
  fail_unless_equals_int (gst_harness_push (sink, buffer), GST_FLOW_OK);

  buffer = pull (src, 3);
  video = gst_buffer_get_video_meta (buffer);
  fail_unless (video != NULL);
  fail_unless_equals_int (video->format, GST_VIDEO_FORMAT_GRAY8);
  fail_unless_equals_int (video->width, 40);
  fail_unless_equals_int (video->height, 30);
  fail_unless_equals_int (video->n_planes, 1);
  fail_unless_equals_uint64 (video->offset[0], 64);
  fail_unless_equals_int (video->stride[0], 96);
  crop = gst_buffer_get_video_crop_meta (buffer);
  fail_unless (crop != NULL);
  fail_unless (
      crop->x == 1 && crop->y == 2 && crop->width == 3 && crop->height == 4);
  custom = gst_buffer_get_custom_meta (buffer, "VkgdrTestMeta");
  fail_unless (custom != NULL);
  fail_unless (gst_structure_get_int (
      gst_custom_meta_get_structure (custom), "number", &number));
  fail_unless_equals_int (number, 1234);
  gst_buffer_unref (buffer);
  gst_harness_teardown (src);
  gst_harness_teardown (sink);
}
GST_END_TEST

/* Several memories of one frame, and a frame without any. */
GST_START_TEST (test_memories)
{
  GstHarness *sink, *src;
  GstBuffer *buffer, *second;

  if (test_ipc_cannot_export ())
    return;
  sink = new_sink ();
  src = new_src (sink, 1);
  buffer = new_frame (4);
  second = new_frame (4);
  gst_buffer_append_memory (buffer, gst_buffer_get_memory (second, 0));
  gst_buffer_unref (second);
  fail_unless_equals_int (gst_harness_push (sink, buffer), GST_FLOW_OK);
  buffer = gst_buffer_new ();
  GST_BUFFER_PTS (buffer) = 5 * GST_MSECOND;
  fail_unless_equals_int (gst_harness_push (sink, buffer), GST_FLOW_OK);
  buffer = gst_harness_pull (src);
  fail_unless_equals_int (gst_buffer_n_memory (buffer), 2);
  fail_unless_equals_uint64 (gst_buffer_get_size (buffer), 2 * SIZE);
  fail_unless (test_ipc_is_whole (buffer, TEST_IPC_WIDTH, TEST_IPC_HEIGHT));
  gst_buffer_unref (buffer);
  buffer = gst_harness_pull (src);
  fail_unless_equals_uint64 (GST_BUFFER_PTS (buffer), 5 * GST_MSECOND);
  fail_unless_equals_int (gst_buffer_n_memory (buffer), 0);
  gst_buffer_unref (buffer);
  gst_harness_teardown (src);
  gst_harness_teardown (sink);
}
GST_END_TEST

static void
flush (GstHarness *sink)
{
  GstSegment segment;

  gst_segment_init (&segment, GST_FORMAT_TIME);
  fail_unless (gst_harness_push_event (sink, gst_event_new_flush_start ()));
  fail_unless (gst_harness_push_event (sink, gst_event_new_flush_stop (TRUE)));
  fail_unless (gst_harness_push_event (sink, gst_event_new_segment (&segment)));
}

GST_START_TEST (test_flush)
{
  GstHarness *sink, *src;
  guint i;

  if (test_ipc_cannot_export ())
    return;
  sink = new_sink ();
  src = new_src (sink, 1);
  for (i = 0; i < 20; i++) {
    push (sink, 2 * i);
    pull_and_drop (src, 2 * i);
    flush (sink);
    gst_event_unref (pull_event (src, GST_EVENT_FLUSH_START));
    gst_event_unref (pull_event (src, GST_EVENT_FLUSH_STOP));
    push (sink, 2 * i + 1);
    pull_and_drop (src, 2 * i + 1);
    gst_event_unref (pull_event (src, GST_EVENT_SEGMENT));
  }
  gst_harness_teardown (src);
  gst_harness_teardown (sink);
}
GST_END_TEST

/* A client that waits downstream hears of a flush, too. */
GST_START_TEST (test_flush_of_blocked_client)
{
  GstElement *pipeline, *appsink;
  GstHarness *sink;
  GstSample *sample;
  guint i;

  if (test_ipc_cannot_export ())
    return;
  sink = new_sink ();
  pipeline = test_launch ("vkgdripcsrc socket-path=%s ! appsink name=sink "
                          "sync=false max-buffers=1",
      path);
  appsink = gst_bin_get_by_name (GST_BIN (pipeline), "sink");
  gst_element_set_state (pipeline, GST_STATE_PLAYING);
  test_ipc_wait_clients (sink->element, 1);
  for (i = 0; i < 4; i++)
    push (sink, i);
  g_usleep (50 * 1000); /* the second frame has no room in the appsink */
  flush (sink);
  g_usleep (50 * 1000);
  push (sink, 100);
  sample =
      gst_app_sink_try_pull_sample (GST_APP_SINK (appsink), 5 * GST_SECOND);
  fail_unless (sample != NULL);
  fail_unless_equals_uint64 (
      GST_BUFFER_PTS (gst_sample_get_buffer (sample)), 100 * GST_MSECOND);
  gst_sample_unref (sample);
  gst_element_set_state (pipeline, GST_STATE_NULL);
  gst_object_unref (appsink);
  gst_object_unref (pipeline);
  gst_harness_teardown (sink);
}
GST_END_TEST

/* Running times differ by as much as the pipelines were started apart. */
GST_START_TEST (test_running_time)
{
  GstElement *server, *client, *appsink;
  GstSample *sample;
  GstClockTime pts, theirs, ours;

  if (test_ipc_cannot_export ())
    return;
  server = test_launch (
      "videotestsrc is-live=true ! "
      "video/x-raw,format=GRAY8,width=64,height=48,framerate=100/1 ! "
      "vkgdripcsink name=ipc socket-path=%s",
      path);
  client = test_launch ("vkgdripcsrc name=src socket-path=%s ! appsink "
                        "name=sink sync=false max-buffers=1 drop=true",
      path);
  appsink = gst_bin_get_by_name (GST_BIN (client), "sink");
  gst_element_set_state (server, GST_STATE_PLAYING);
  g_usleep (100 * 1000);
  gst_element_set_state (client, GST_STATE_PLAYING);
  sample = gst_app_sink_pull_sample (GST_APP_SINK (appsink));
  pts = GST_BUFFER_PTS (gst_sample_get_buffer (sample));
  /* The first frame may be from before the start of the client. */
  while (pts + gst_element_get_base_time (server)
         <= gst_element_get_base_time (client)) {
    gst_sample_unref (sample);
    sample = gst_app_sink_pull_sample (GST_APP_SINK (appsink));
    pts = GST_BUFFER_PTS (gst_sample_get_buffer (sample));
  }
  theirs = gst_element_get_base_time (server) + pts;
  ours = gst_element_get_base_time (client)
         + gst_segment_to_running_time (
             gst_sample_get_segment (sample), GST_FORMAT_TIME, pts);
  fail_unless (ours >= theirs, "a frame from the future");
  fail_unless (ours - theirs <= 20 * GST_MSECOND, "%" GST_TIME_FORMAT " apart",
      GST_TIME_ARGS (ours - theirs));
  gst_sample_unref (sample);

  gst_element_set_state (client, GST_STATE_NULL);
  gst_element_set_state (server, GST_STATE_NULL);
  gst_object_unref (appsink);
  gst_object_unref (client);
  gst_object_unref (server);
}
GST_END_TEST

/* The client's latency is the one with which the server's pipeline plays. */
GST_START_TEST (test_latency)
{
  GstElement *server, *client, *appsink, *src;
  GstClockTime latency = 0;
  gboolean is_live = FALSE;
  GstSample *sample;
  GstQuery *query;

  if (test_ipc_cannot_export ())
    return;
  server =
      test_launch ("videotestsrc is-live=true ! video/x-raw,framerate=50/1 "
                   "! vkgdripcsink socket-path=%s",
          path);
  client = test_launch (
      "vkgdripcsrc name=src socket-path=%s ! appsink name=sink", path);
  appsink = gst_bin_get_by_name (GST_BIN (client), "sink");
  src = gst_bin_get_by_name (GST_BIN (client), "src");
  gst_element_set_state (server, GST_STATE_PLAYING);
  gst_element_set_state (client, GST_STATE_PLAYING);
  sample = gst_app_sink_pull_sample (GST_APP_SINK (appsink));
  fail_unless (sample != NULL);
  gst_sample_unref (sample);
  query = gst_query_new_latency ();
  fail_unless (gst_element_query (src, query));
  gst_query_parse_latency (query, &is_live, &latency, NULL);
  fail_unless (is_live);
  /* A frame of the source, and the processing deadline of the sink. */
  fail_unless_equals_uint64 (latency, 40 * GST_MSECOND);
  gst_query_unref (query);
  gst_element_set_state (client, GST_STATE_NULL);
  gst_element_set_state (server, GST_STATE_NULL);
  gst_object_unref (appsink);
  gst_object_unref (src);
  gst_object_unref (client);
  gst_object_unref (server);
}
GST_END_TEST

/* --- memory that cannot be exported -------------------------------------- */

static GstBuffer *
fill (GstBuffer *buffer, guint number)
{
  GstMapInfo map;
  guint i;

  fail_unless (gst_buffer_map (buffer, &map, GST_MAP_WRITE));
  for (i = 0; i < SIZE; i++)
    map.data[i] =
        test_frame_byte (number, i % TEST_IPC_WIDTH, i / TEST_IPC_WIDTH);
  gst_buffer_unmap (buffer, &map);
  GST_BUFFER_PTS (buffer) = number * GST_MSECOND;
  return buffer;
}

/* Memory that shares an allocation with others. */
static GstBuffer *
new_small_frame (guint number)
{
  GstBuffer *buffer = gst_buffer_new ();

  gst_buffer_append_memory (buffer, test_memory_new (test_context, SIZE));
  return fill (buffer, number);
}

static GstBuffer *
new_system_frame (guint number)
{
  return fill (gst_buffer_new_allocate (NULL, SIZE, NULL), number);
}

GST_START_TEST (test_copies)
{
  GstVkgdrAllocator *allocator;
  GstHarness *sink, *src;
  guint i, blocks = 0;

  if (test_ipc_cannot_export ())
    return;
  allocator = gst_vkgdr_context_get_allocator (test_context);
  sink = new_sink ();
  src = new_src (sink, 1);
  for (i = 0; i < 100; i++) {
    fail_unless_equals_int (
        gst_harness_push (
            sink, i % 2 ? new_small_frame (i) : new_system_frame (i)),
        GST_FLOW_OK);
    pull_and_drop (src, i);
    if (i == 20)
      blocks = gst_vkgdr_allocator_get_active_blocks (allocator);
  }
  fail_unless_equals_uint64 (
      test_ipc_stat (sink->element, "frames-copied"), 100);
  fail_unless_equals_uint64 (
      test_ipc_stat (sink->element, "bytes-copied"), 100 * SIZE);
  push (sink, 100);
  pull_and_drop (src, 100);
  fail_unless_equals_uint64 (
      test_ipc_stat (sink->element, "frames-copied"), 100);
  /* The copies are recycled. */
  fail_unless (gst_vkgdr_allocator_get_active_blocks (allocator) <= blocks + 2);
  gst_harness_teardown (src);
  gst_harness_teardown (sink);
  gst_object_unref (allocator);
}
GST_END_TEST

#define CUDA_FRAMES \
  "videotestsrc num-buffers=5 pattern=ball ! " \
  "video/x-raw,format=NV12,width=60,height=44,framerate=30/1"

/* Frames of GStreamer's own CUDA elements are copied on the device. */
GST_START_TEST (test_cuda_memory)
{
  GPtrArray *expected, *found;
  GstElement *server, *client, *ipc;
  guint i;

  if (test_ipc_cannot_export ()
      || !gst_registry_check_feature_version (
          gst_registry_get (), "cudaupload", 1, 24, 0)) {
    g_print ("skipped: needs GStreamer's plugin nvcodec of 1.24 or later\n");
    return;
  }
  server = test_launch (CUDA_FRAMES
      " ! cudaupload ! video/x-raw(memory:CUDAMemory) ! vkgdripcsink name=ipc "
      "socket-path=%s leaky=no wait-for-connection=true sync=false",
      path);
  client = test_launch (
      "vkgdripcsrc socket-path=%s ! vkgdrdownload ! appsink name=sink", path);
  ipc = gst_bin_get_by_name (GST_BIN (server), "ipc");
  gst_element_set_state (server, GST_STATE_PLAYING);
  found = test_play_buffers (client);
  fail_unless_equals_uint64 (test_ipc_stat (ipc, "frames-copied"), 5);
  gst_element_set_state (server, GST_STATE_NULL);
  gst_object_unref (ipc);
  gst_object_unref (server);
  gst_object_unref (client);
  client = test_launch (CUDA_FRAMES " ! appsink name=sink");
  expected = test_play_buffers (client);
  gst_object_unref (client);
  fail_unless_equals_int (found->len, 5);
  for (i = 0; i < 5; i++) {
    GstMapInfo one, other;

    fail_unless (
        gst_buffer_map (g_ptr_array_index (found, i), &one, GST_MAP_READ));
    fail_unless (
        gst_buffer_map (g_ptr_array_index (expected, i), &other, GST_MAP_READ));
    fail_unless_equals_uint64 (one.size, other.size);
    fail_unless (memcmp (one.data, other.data, one.size) == 0, "frame %u", i);
    gst_buffer_unmap (g_ptr_array_index (found, i), &one);
    gst_buffer_unmap (g_ptr_array_index (expected, i), &other);
  }
  g_ptr_array_unref (found);
  g_ptr_array_unref (expected);
}
GST_END_TEST

/* Without a window, this device has no memory that can be exported, and the
 * error says so. */
GST_START_TEST (test_no_window)
{
  GstElement *pipeline;
  GError *error;

  if (test_has_window () || !test_is_software ())
    return;
  pipeline = test_launch ("testframes num-buffers=3 ! " TEST_IPC_CAPS
                          " ! vkgdripcsink "
                          "socket-path=%s",
      path);
  error = test_play_error (pipeline);
  fail_unless (strstr (error->message, "the device has none") != NULL, "%s",
      error->message);
  g_error_free (error);
  gst_object_unref (pipeline);
}
GST_END_TEST

/* --- who waits for whom -------------------------------------------------- */

static GstHarness *
new_leaky_sink (const gchar *leaky)
{
  GstElement *element = make ("vkgdripcsink");

  gst_util_set_object_arg (G_OBJECT (element), "leaky", leaky);
  g_object_set (element, "max-buffers", 2, NULL);
  return harness_of_sink (element);
}

static void
wait_for_stat (GstHarness *sink, const gchar *name, guint64 value)
{
  gint64 deadline = g_get_monotonic_time () + 5 * G_TIME_SPAN_SECOND;

  while (test_ipc_stat (sink->element, name) != value) {
    fail_unless (g_get_monotonic_time () < deadline, "%s is not %u but %u",
        name, (guint) value, (guint) test_ipc_stat (sink->element, name));
    g_usleep (1000);
  }
}

GST_START_TEST (test_leaky_downstream)
{
  GstHarness *sink, *src;
  GstBuffer *first;
  guint i;

  if (test_ipc_cannot_export ())
    return;
  sink = new_leaky_sink ("downstream");
  src = new_src (sink, 1);
  for (i = 0; i < 10; i++)
    push (sink, i);
  first = pull (src, 0);
  fail_unless_equals_uint64 (test_ipc_stat (sink->element, "frames-sent"), 2);
  fail_unless_equals_uint64 (test_ipc_stat (sink->element, "frames-lost"), 7);
  gst_buffer_unref (first);
  pull_and_drop (src, 1);
  first = pull (src, 9);
  fail_unless (GST_BUFFER_FLAG_IS_SET (first, GST_BUFFER_FLAG_DISCONT));
  fail_unless_equals_uint64 (test_ipc_stat (src->element, "frames-lost"), 7);
  gst_buffer_unref (first);
  gst_harness_teardown (src);
  gst_harness_teardown (sink);
}
GST_END_TEST

GST_START_TEST (test_leaky_upstream)
{
  GstHarness *sink, *src;
  guint i;

  if (test_ipc_cannot_export ())
    return;
  sink = new_leaky_sink ("upstream");
  src = new_src (sink, 1);
  for (i = 0; i < 10; i++)
    push (sink, i);
  fail_unless_equals_uint64 (test_ipc_stat (sink->element, "frames-lost"), 8);
  pull_and_drop (src, 0);
  pull_and_drop (src, 1);
  /* Until the answers have come, further frames are lost. */
  do {
    push (sink, i++);
    g_usleep (1000);
  } while (test_ipc_stat (sink->element, "frames-sent") == 2);
  pull_and_drop (src, i - 1);
  gst_harness_teardown (src);
  gst_harness_teardown (sink);
}
GST_END_TEST

typedef struct {
  GstHarness *sink;
  guint n;
  gint done; /* atomic */
} Pusher;

static gpointer
push_all (gpointer data)
{
  Pusher *pusher = data;
  guint i;

  for (i = 0; i < pusher->n; i++) {
    if (gst_harness_push (pusher->sink, new_frame (i)) != GST_FLOW_OK)
      break;
    g_atomic_int_inc (&pusher->done);
  }
  return NULL;
}

/* The sink takes @n frames, and then waits for its client. */
static void
assert_waits_after (Pusher *pusher, gint n)
{
  gint64 deadline = g_get_monotonic_time () + 10 * G_TIME_SPAN_SECOND;

  while (g_atomic_int_get (&pusher->done) < n
         && g_get_monotonic_time () < deadline)
    g_usleep (1000);
  g_usleep (50 * 1000);
  fail_unless_equals_int (g_atomic_int_get (&pusher->done), n);
}

GST_START_TEST (test_leaky_no)
{
  Pusher pusher = { .n = 10 };
  GstHarness *src;
  GThread *thread;
  guint i;

  if (test_ipc_cannot_export ())
    return;
  pusher.sink = new_leaky_sink ("no");
  src = new_src (pusher.sink, 1);
  thread = g_thread_new ("push", push_all, &pusher);
  assert_waits_after (&pusher, 2);
  for (i = 0; i < 10; i++)
    pull_and_drop (src, i);
  g_thread_join (thread);
  fail_unless_equals_int (pusher.done, 10);
  fail_unless_equals_uint64 (
      test_ipc_stat (pusher.sink->element, "frames-lost"), 0);
  gst_harness_teardown (src);
  gst_harness_teardown (pusher.sink);
}
GST_END_TEST

/* A source that waits goes on when the client goes, and when the pipeline is
 * stopped. */
GST_START_TEST (test_leaky_no_ends)
{
  Pusher pusher = { .n = 10 };
  GstHarness *src;
  GThread *thread;

  if (test_ipc_cannot_export ())
    return;
  pusher.sink = new_leaky_sink ("no");
  src = new_src (pusher.sink, 1);
  thread = g_thread_new ("push", push_all, &pusher);
  assert_waits_after (&pusher, 2);
  gst_harness_teardown (src);
  g_thread_join (thread);
  fail_unless_equals_int (pusher.done, 10);

  test_ipc_wait_clients (pusher.sink->element, 0);
  src = new_src (pusher.sink, 1);
  pusher.done = 0;
  thread = g_thread_new ("push", push_all, &pusher);
  assert_waits_after (&pusher, 2);
  gst_element_set_state (pusher.sink->element, GST_STATE_NULL);
  g_thread_join (thread);
  fail_unless_equals_int (pusher.done, 2);
  gst_harness_teardown (src);
  gst_harness_teardown (pusher.sink);
}
GST_END_TEST

/* A client that has stopped, and keeps frames, holds up nobody. */
GST_START_TEST (test_leaky_no_and_kept_frames)
{
  GstHarness *sink, *src;
  GstBuffer *kept[2];
  guint i;

  if (test_ipc_cannot_export ())
    return;
  sink = new_leaky_sink ("no");
  src = new_src (sink, 1);
  for (i = 0; i < 2; i++) {
    push (sink, i);
    kept[i] = pull (src, i);
  }
  gst_harness_teardown (src);
  for (i = 2; i < 10; i++)
    push (sink, i);
  fail_unless_equals_uint64 (test_ipc_stat (sink->element, "frames-sent"), 2);
  for (i = 0; i < 2; i++)
    gst_buffer_unref (kept[i]);
  test_ipc_wait_clients (sink->element, 0);
  gst_harness_teardown (sink);
}
GST_END_TEST

GST_START_TEST (test_wait_for_connection)
{
  GstElement *element = make ("vkgdripcsink");
  Pusher pusher = { .n = 2 };
  GstHarness *src;
  GThread *thread;

  g_object_set (element, "wait-for-connection", TRUE, NULL);
  if (test_ipc_cannot_export ()) {
    gst_object_unref (element);
    return;
  }
  pusher.sink = harness_of_sink (element);
  thread = g_thread_new ("push", push_all, &pusher);
  g_usleep (100 * 1000);
  fail_unless_equals_int (g_atomic_int_get (&pusher.done), 0);
  src = new_src (pusher.sink, 1);
  g_thread_join (thread);
  pull_and_drop (src, 0);
  pull_and_drop (src, 1);
  gst_harness_teardown (src);
  gst_harness_teardown (pusher.sink);
}
GST_END_TEST

/* The streaming thread does not wait for the device: the frame is sent when it
 * is written. */
GST_START_TEST (test_pending_frame)
{
  GstHarness *sink, *src;
  GstVkgdrStream *stream;
  GstBuffer *buffer;
  GstMemory *memory;
  gint64 since;
  gint done = FALSE;

  if (test_ipc_cannot_export ())
    return;
  sink = new_sink ();
  src = new_src (sink, 1);
  stream = test_stream_new (test_context);
  buffer = new_frame (1);
  memory = gst_buffer_peek_memory (buffer, 0);
  fail_unless (
      gst_vkgdr_memory_begin_access (memory, stream, GST_MAP_WRITE, NULL));
  test_stream_delay (stream, 300, &done);
  fail_unless (
      gst_vkgdr_memory_end_access (memory, stream, GST_MAP_WRITE, NULL));
  fail_if (gst_vkgdr_memory_is_written (memory));
  since = g_get_monotonic_time ();
  fail_unless_equals_int (gst_harness_push (sink, buffer), GST_FLOW_OK);
  push (sink, 2);
  fail_unless (g_get_monotonic_time () - since < 200 * 1000);
  fail_unless_equals_int (g_atomic_int_get (&done), FALSE);
  pull_and_drop (src, 1);
  fail_unless_equals_int (g_atomic_int_get (&done), TRUE);
  pull_and_drop (src, 2);
  gst_object_unref (stream);
  gst_harness_teardown (src);
  gst_harness_teardown (sink);
}
GST_END_TEST

/* A frame that is not written when the pipeline is stopped is still sent. */
GST_START_TEST (test_pending_end)
{
  GstHarness *sink, *src;
  GstVkgdrStream *stream;
  GstBuffer *buffer;
  GstMemory *memory;

  if (test_ipc_cannot_export ())
    return;
  sink = new_sink ();
  src = new_src (sink, 1);
  stream = test_stream_new (test_context);
  buffer = new_frame (1);
  memory = gst_buffer_peek_memory (buffer, 0);
  fail_unless (
      gst_vkgdr_memory_begin_access (memory, stream, GST_MAP_WRITE, NULL));
  test_stream_delay (stream, 200, NULL);
  fail_unless (
      gst_vkgdr_memory_end_access (memory, stream, GST_MAP_WRITE, NULL));
  fail_unless_equals_int (gst_harness_push (sink, buffer), GST_FLOW_OK);
  fail_unless (gst_harness_push_event (sink, gst_event_new_eos ()));
  gst_harness_teardown (sink);
  pull_and_drop (src, 1);
  gst_event_unref (pull_event (src, GST_EVENT_EOS));
  gst_object_unref (stream);
  gst_harness_teardown (src);
}
GST_END_TEST

/* A frame comes back when the client's device has finished with it, not before.
 */
GST_START_TEST (test_pending_release)
{
  GstHarness *sink, *src;
  GstVkgdrStream *stream;
  GstBuffer *buffer;
  GstMemory *memory;
  gint done = FALSE;

  if (test_ipc_cannot_export ())
    return;
  sink = new_leaky_sink ("downstream");
  src = new_src (sink, 1);
  stream = test_stream_new (test_context);
  push (sink, 1);
  buffer = pull (src, 1);
  memory = gst_buffer_peek_memory (buffer, 0);
  fail_unless (
      gst_vkgdr_memory_begin_access (memory, stream, GST_MAP_READ, NULL));
  test_stream_delay (stream, 300, &done);
  fail_unless (
      gst_vkgdr_memory_end_access (memory, stream, GST_MAP_READ, NULL));
  gst_buffer_unref (buffer);
  /* It counts as one of the client's two frames until then. */
  push (sink, 2);
  push (sink, 3);
  fail_unless_equals_int (g_atomic_int_get (&done), FALSE);
  fail_unless_equals_uint64 (test_ipc_stat (sink->element, "frames-sent"), 2);
  wait_for_stat (sink, "frames-sent", 3);
  fail_unless_equals_int (g_atomic_int_get (&done), TRUE);
  pull_and_drop (src, 2);
  pull_and_drop (src, 3);
  gst_object_unref (stream);
  gst_harness_teardown (src);
  gst_harness_teardown (sink);
}
GST_END_TEST

/* --- beginnings and ends ------------------------------------------------- */

/* Pushes frames until one is not sent, because the server knows by then that
 * its only client has stopped. */
static void
push_until_stopped (GstHarness *sink, guint number)
{
  gint64 deadline = g_get_monotonic_time () + 5 * G_TIME_SPAN_SECOND;
  guint64 sent;
  guint i;

  do {
    sent = test_ipc_stat (sink->element, "frames-sent");
    push (sink, number++);
    fail_unless (g_get_monotonic_time () < deadline, "frames are still sent");
  } while (test_ipc_stat (sink->element, "frames-sent") != sent);
  for (i = 0; i < 4; i++)
    push (sink, number++);
  fail_unless_equals_uint64 (
      test_ipc_stat (sink->element, "frames-sent"), sent);
}

GST_START_TEST (test_frames_outlive_elements)
{
  GstHarness *sink, *src;
  GstBuffer *kept;

  if (test_ipc_cannot_export ())
    return;
  sink = new_sink ();
  src = new_src (sink, 1);
  push (sink, 1);
  push (sink, 2);
  kept = pull (src, 1);
  gst_harness_teardown (src);
  fail_unless (test_ipc_is_whole (kept, TEST_IPC_WIDTH, TEST_IPC_HEIGHT));
  /* The client is there until its frame is, but gets no others. */
  push_until_stopped (sink, 3);
  test_ipc_wait_clients (sink->element, 1);
  gst_harness_teardown (sink);
  fail_unless (test_ipc_is_whole (kept, TEST_IPC_WIDTH, TEST_IPC_HEIGHT));
  gst_buffer_unref (kept);
}
GST_END_TEST

GST_START_TEST (test_server_stops)
{
  GstHarness *sink, *src;

  if (test_ipc_cannot_export ())
    return;
  sink = new_sink ();
  src = new_src (sink, 1);
  push (sink, 1);
  gst_harness_teardown (sink);
  pull_and_drop (src, 1);
  gst_event_unref (pull_event (src, GST_EVENT_EOS));
  gst_harness_teardown (src);
  fail_if (g_file_test (path, G_FILE_TEST_EXISTS));
}
GST_END_TEST

GST_START_TEST (test_absent_server)
{
  GstElement *pipeline = test_launch (
      "vkgdripcsrc socket-path=%s connection-timeout=1 ! fakesink", path);
  GError *error = test_play_error (pipeline);

  fail_unless (g_error_matches (
      error, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_NOT_FOUND));
  fail_unless (
      strstr (error->message, "no vkgdripcsink") != NULL, "%s", error->message);
  g_error_free (error);
  gst_object_unref (pipeline);
}
GST_END_TEST

/* A client may be started first, and stopped while it waits. */
GST_START_TEST (test_client_first)
{
  GstElement *element = make ("vkgdripcsrc");
  GstHarness *src = gst_harness_new_with_element (element, NULL, "src");
  GstHarness *sink;

  gst_harness_play (src);
  g_usleep (100 * 1000);
  if (test_ipc_cannot_export ()) {
    gst_harness_teardown (src);
    gst_object_unref (element);
    return;
  }
  sink = new_sink ();
  test_ipc_wait_clients (sink->element, 1);
  push (sink, 1);
  pull_and_drop (src, 1);
  gst_harness_teardown (src);
  gst_harness_teardown (sink);
  src = gst_harness_new_with_element (element, NULL, "src");
  gst_harness_play (src);
  g_usleep (50 * 1000);
  gst_harness_teardown (src);
  gst_object_unref (element);
}
GST_END_TEST

static void
assert_no_start (const gchar *properties, const gchar *sentence)
{
  GstElement *pipeline =
      test_launch ("videotestsrc ! vkgdripcsink %s", properties);
  GError *error = test_play_error (pipeline);

  fail_unless (strstr (error->message, sentence) != NULL, "%s", error->message);
  g_error_free (error);
  gst_object_unref (pipeline);
}

GST_START_TEST (test_paths)
{
  GstHarness *sink = new_sink ();
  gchar *properties = g_strdup_printf ("socket-path=%s", path);
  gchar *long_path =
      g_strdup_printf ("socket-path=/tmp/%s%s%s%s", path, path, path, path);

  assert_no_start ("", "socket-path");
  assert_no_start (properties, "exists");
  assert_no_start ("socket-path=/nowhere/at/all", "/nowhere/at/all");
  assert_no_start (long_path, "socket-path");
  gst_harness_teardown (sink);
  /* A file that is not a socket stays. */
  fail_unless (g_file_set_contents (path, "text", -1, NULL));
  assert_no_start (properties, "exists");
  fail_unless (g_file_test (path, G_FILE_TEST_IS_REGULAR));
  g_free (long_path);
  g_free (properties);
}
GST_END_TEST

GST_START_TEST (test_restart)
{
  GstHarness *sink, *src;
  guint i, fds = 0;

  if (test_ipc_cannot_export ())
    return;
  for (i = 0; i < 10; i++) {
    if (i == 2)
      fds = test_count_fds ();
    sink = new_sink ();
    src = new_src (sink, 1);
    push (sink, i);
    pull_and_drop (src, i);
    if (i % 2) {
      gst_harness_teardown (sink);
      gst_harness_teardown (src);
    } else {
      gst_harness_teardown (src);
      gst_harness_teardown (sink);
    }
  }
  test_assert_fds (fds);
}
GST_END_TEST

static Suite *
ipc_elements_suite (void)
{
  Suite *suite = suite_create ("ipc-elements");
  TCase *tc = tcase_create ("general");

  tcase_add_checked_fixture (tc, setup, teardown);
  suite_add_tcase (suite, tc);
  tcase_add_test (tc, test_caps);
  tcase_add_test (tc, test_caps_of_system_memory);
  tcase_add_test (tc, test_segment_and_tags);
  tcase_add_test (tc, test_eos);
  tcase_add_test (tc, test_timestamps_and_flags);
  tcase_add_test (tc, test_metas);
  tcase_add_test (tc, test_memories);
  tcase_add_test (tc, test_flush);
  tcase_add_test (tc, test_flush_of_blocked_client);
  tcase_add_test (tc, test_running_time);
  tcase_add_test (tc, test_latency);
  tcase_add_test (tc, test_copies);
  tcase_add_test (tc, test_cuda_memory);
  tcase_add_test (tc, test_no_window);
  tcase_add_test (tc, test_leaky_downstream);
  tcase_add_test (tc, test_leaky_upstream);
  tcase_add_test (tc, test_leaky_no);
  tcase_add_test (tc, test_leaky_no_ends);
  tcase_add_test (tc, test_leaky_no_and_kept_frames);
  tcase_add_test (tc, test_wait_for_connection);
  tcase_add_test (tc, test_pending_frame);
  tcase_add_test (tc, test_pending_end);
  tcase_add_test (tc, test_pending_release);
  tcase_add_test (tc, test_frames_outlive_elements);
  tcase_add_test (tc, test_server_stops);
  tcase_add_test (tc, test_absent_server);
  tcase_add_test (tc, test_client_first);
  tcase_add_test (tc, test_paths);
  tcase_add_test (tc, test_restart);
  return suite;
}

GST_CHECK_MAIN (ipc_elements);
