/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * ipc-elements.c: tests of what vkgdripcsrc gets from vkgdripcsink, in one
 * process
 *
 * Caps, events, metas, times, and copies of memory that cannot be exported.
 */

#include <string.h>
#include <vkgdr/frames.h>

#include "ipc-harness.h"

/* --- caps, events, metas and times --------------------------------------- */

TEST_FIXTURE (test_ipc_setup, test_ipc_teardown);

/* New caps arrive before the first frame with them. */
TEST_STEPS (caps,
    "begin; push 0; pull 0;"
    "get caps video/x-raw(memory:VkgdrMemory),format=GRAY8,width=64,height=48,"
    "framerate=1000/1;"
    "caps video/x-raw,format=GRAY8,width=48,height=64,framerate=1000/1;"
    "push 5; get caps video/x-raw(memory:VkgdrMemory),width=48");

static void
assert_note (const GstCaps *caps, const gchar *note)
{
  fail_unless_equals_string (
      gst_structure_get_string (gst_caps_get_structure (caps, 0), "note"),
      note);
}

/* Caps of more than 64 KiB arrive whole, also without GStreamer. */
TEST (large_caps)
{
  g_autofree gchar *note = g_strnfill (100 * 1024, 'x');
  g_autofree gchar *text = g_strconcat (TEST_IPC_CAPS ",note=", note, NULL);
  const vkgdr_frames_params params = { .path = test_ipc_path };
  vkgdr_frames_t client;
  vkgdr_frame_t frame;
  GstEvent *event;
  GstCaps *caps;
  size_t size;

  if (!test_ipc_run ("begin"))
    return;
  client = vkgdr_frames_connect (&params);
  test_ipc_wait_clients (test_sink->element, 2);
  gst_harness_set_src_caps_str (test_sink, text);
  test_ipc_run ("push 0; pull 0");
  event = test_ipc_pull_event (GST_EVENT_CAPS);
  gst_event_parse_caps (event, &caps);
  assert_note (caps, note);
  gst_event_unref (event);
  fail_unless_equals_int (
      vkgdr_frames_receive (client, 10 * GST_SECOND, &frame),
      VKGDR_FRAMES_FRAME);
  caps = gst_caps_from_string (
      vkgdr_frames_get_state (client, VKGDR_FRAMES_CAPS, &size, NULL));
  assert_note (caps, note);
  gst_caps_unref (caps);
  vkgdr_frame_release (frame);
  vkgdr_frames_close (client);
}

/* Frames of a program without GStreamer have the caps and the planes of their
 * format. */
TEST (frames_of_a_program)
{
  const vkgdr_frame_server_params params = { .path = test_ipc_path,
    .format = "NV12",
    .width = 66,
    .height = 50,
    .fps_n = 25,
    .fps_d = 1 };
  g_autoptr (GstBuffer) buffer = NULL;
  vkgdr_frame_server_t server;
  vkgdr_frame_buffer *frame;
  GstVideoFrame video;
  GstVideoInfo info;
  GstEvent *event;
  GstCaps *caps;
  guint p;

  if (test_ipc_cannot_export ())
    return;
  server = vkgdr_frame_server_open (&params);
  fail_unless (server != NULL);
  test_ipc_run ("start");
  test_wait_for (vkgdr_frame_server_count_clients (server) == 1);
  frame = vkgdr_frame_server_acquire (server, 0);
  memset (frame->planes[0].host, 10, frame->planes[0].stride * 50);
  memset (frame->planes[1].host, 11, frame->planes[1].stride * 25);
  fail_unless (vkgdr_frame_server_send (server, frame, -1));
  buffer = gst_harness_pull (test_src);
  event = test_ipc_pull_event (GST_EVENT_CAPS);
  gst_event_parse_caps (event, &caps);
  fail_unless (gst_vkgdr_caps_get_video_info (caps, &info));
  fail_unless_equals_string (GST_VIDEO_INFO_NAME (&info), "NV12");
  fail_unless_equals_int (GST_VIDEO_INFO_WIDTH (&info), 66);
  fail_unless_equals_int (GST_VIDEO_INFO_FPS_N (&info), 25);
  fail_unless (gst_video_frame_map (&video, &info, buffer, GST_MAP_READ));
  for (p = 0; p < 2; p++) {
    const guint8 *data = GST_VIDEO_FRAME_PLANE_DATA (&video, p);
    gint last = GST_VIDEO_FRAME_COMP_HEIGHT (&video, p) - 1;

    fail_unless_equals_int (data[0], 10 + p);
    fail_unless_equals_int (
        data[last * GST_VIDEO_FRAME_PLANE_STRIDE (&video, p) + 65], 10 + p);
  }
  gst_video_frame_unmap (&video);
  gst_event_unref (event);
  vkgdr_frame_server_end (server);
  test_ipc_run ("get eos");
  vkgdr_frame_server_close (server);
}

/* Elements that do not support this memory get frames, too. */
TEST (caps_of_system_memory)
{
  g_autoptr (GstElement) pipeline = NULL, appsink = NULL;
  GstSample *sample;
  GstCaps *caps;

  if (!test_ipc_run ("serve"))
    return;
  pipeline = test_launch ("vkgdripcsrc socket-path=%s ! videoconvert ! "
                          "video/x-raw,format=GRAY8 ! appsink name=sink "
                          "sync=false",
      test_ipc_path);
  appsink = gst_bin_get_by_name (GST_BIN (pipeline), "sink");
  gst_element_set_state (pipeline, GST_STATE_PLAYING);
  test_ipc_run ("clients 1; push 7");
  sample = gst_app_sink_pull_sample (GST_APP_SINK (appsink));
  fail_unless (sample != NULL);
  caps = gst_sample_get_caps (sample);
  fail_unless (gst_caps_features_is_equal (
      gst_caps_get_features (caps, 0), GST_CAPS_FEATURES_MEMORY_SYSTEM_MEMORY));
  fail_unless (test_ipc_is_whole (
      gst_sample_get_buffer (sample), TEST_IPC_WIDTH, TEST_IPC_HEIGHT));
  gst_sample_unref (sample);
  gst_element_set_state (pipeline, GST_STATE_NULL);
}

TEST (segment_and_tags)
{
  GstSegment segment;
  const GstSegment *theirs;
  GstTagList *tags;
  GstEvent *event;
  g_autofree gchar *title = NULL;

  if (!test_ipc_run ("begin"))
    return;
  gst_segment_init (&segment, GST_FORMAT_TIME);
  segment.start = 5 * GST_MSECOND;
  segment.time = 77 * GST_SECOND;
  segment.stop = 9 * GST_SECOND;
  test_ipc_push_event (gst_event_new_segment (&segment));
  test_ipc_push_event (gst_event_new_tag (
      gst_tag_list_new (GST_TAG_TITLE, "a \"title\"; and more", NULL)));
  test_ipc_run ("push 12; pull 12");
  event = test_ipc_pull_event (GST_EVENT_SEGMENT);
  gst_event_parse_segment (event, &theirs);
  fail_unless_equals_int (theirs->format, GST_FORMAT_TIME);
  fail_unless_equals_uint64 (theirs->time, segment.time);
  fail_unless_equals_uint64 (theirs->stop, segment.stop);
  gst_event_unref (event);
  event = test_ipc_pull_event (GST_EVENT_TAG);
  gst_event_parse_tag (event, &tags);
  fail_unless (gst_tag_list_get_string (tags, GST_TAG_TITLE, &title));
  fail_unless_equals_string (title, "a \"title\"; and more");
  gst_event_unref (event);
}

/* The end of a segment is not the end of the stream. */
TEST (two_segments)
{
  GstSegment segment;
  GstBuffer *buffer;
  guint i;

  for (i = 0; i < 3 && test_ipc_run (i == 0 ? "begin" : ""); i++) {
    gst_segment_init (&segment, GST_FORMAT_TIME);
    segment.start = segment.base = 10 * i * GST_MSECOND;
    segment.stop = segment.start + 10 * GST_MSECOND;
    test_ipc_push_event (gst_event_new_segment (&segment));
    buffer = test_ipc_new_frame (10 * i);
    GST_BUFFER_DURATION (buffer) = 10 * GST_MSECOND;
    test_ipc_push_buffer (buffer);
    test_ipc_run ("pull %u", 10 * i);
  }
}

TEST_STEPS (eos, "begin; push 1; eos; pull 1; get eos");

/* A client that connects after EOS gets it, with the caps. A flush ends this
 * state, and the next client gets the next frame. */
TEST_STEPS (late_eos,
    "begin; push 0; pull 0; eos; get eos; disconnect; connect;"
    "get caps; get eos; disconnect; flush; connect; push 1; pull 1");

/* A frame has its times, flags and metas. ipc-metas.c tests each kind. */
TEST (frame)
{
  g_autoptr (GstBuffer) buffer = NULL;
  GstVideoMeta *video;

  if (!test_ipc_run ("begin; push 1; pull 1"))
    return;
  buffer = test_exportable_buffer_new (64 + 96 * TEST_IPC_HEIGHT);
  GST_BUFFER_PTS (buffer) = 2 * GST_MSECOND;
  GST_BUFFER_DTS (buffer) = 1900 * GST_USECOND;
  GST_BUFFER_DURATION (buffer) = 333;
  GST_BUFFER_OFFSET (buffer) = 44;
  GST_BUFFER_OFFSET_END (buffer) = 45;
  GST_BUFFER_FLAG_SET (
      buffer, GST_BUFFER_FLAG_MARKER | GST_BUFFER_FLAG_CORRUPTED);
  gst_buffer_add_video_meta_full (buffer, GST_VIDEO_FRAME_FLAG_NONE,
      GST_VIDEO_FORMAT_GRAY8, 90, TEST_IPC_HEIGHT, 1, (gsize[4]){ 64 },
      (gint[4]){ 96 });
  gst_buffer_add_video_crop_meta (buffer)->width = 3;
  test_ipc_push_buffer (g_steal_pointer (&buffer));
  buffer = gst_harness_pull (test_src);
  fail_unless_equals_uint64 (GST_BUFFER_PTS (buffer), 2 * GST_MSECOND);
  fail_unless_equals_uint64 (GST_BUFFER_DTS (buffer), 1900 * GST_USECOND);
  fail_unless_equals_uint64 (GST_BUFFER_DURATION (buffer), 333);
  fail_unless_equals_uint64 (GST_BUFFER_OFFSET (buffer), 44);
  fail_unless_equals_uint64 (GST_BUFFER_OFFSET_END (buffer), 45);
  fail_unless_equals_int (
      GST_BUFFER_FLAGS (buffer)
          & (GST_BUFFER_FLAG_MARKER | GST_BUFFER_FLAG_CORRUPTED
              | GST_BUFFER_FLAG_DISCONT | GST_BUFFER_FLAG_GAP),
      GST_BUFFER_FLAG_MARKER | GST_BUFFER_FLAG_CORRUPTED);
  fail_unless (GST_MEMORY_IS_READONLY (gst_buffer_peek_memory (buffer, 0)));
  video = gst_buffer_get_video_meta (buffer);
  fail_unless (video && video->width == 90 && video->offset[0] == 64
               && video->stride[0] == 96);
  fail_unless_equals_int (gst_buffer_get_video_crop_meta (buffer)->width, 3);
}

static GstPadProbeReturn
accept_system_memory (GstPad *pad, GstPadProbeInfo *info, gpointer caps)
{
  GstQuery *query = GST_PAD_PROBE_INFO_QUERY (info);
  GstCaps *filter, *result;

  if (GST_QUERY_TYPE (query) != GST_QUERY_CAPS)
    return GST_PAD_PROBE_OK;
  gst_query_parse_caps (query, &filter);
  result = gst_caps_intersect (caps, filter);
  gst_query_set_caps_result (query, result);
  gst_caps_unref (result);
  return GST_PAD_PROBE_HANDLED;
}

static void
change_downstream (GstPadProbeCallback probe, gpointer data)
{
  gst_pad_add_probe (test_src->sinkpad, GST_PAD_PROBE_TYPE_QUERY_DOWNSTREAM,
      probe, data, NULL);
  gst_pad_push_event (test_src->sinkpad, gst_event_new_reconfigure ());
}

/* Another element behind vkgdripcsrc does not take the memory that the first
 * one took. */
TEST (other_downstream)
{
  g_autoptr (GstCaps) caps = gst_caps_from_string (TEST_IPC_CAPS);
  g_autoptr (GstCaps) current = NULL;

  if (!test_ipc_run ("begin; push 1; pull 1"))
    return;
  change_downstream (accept_system_memory, caps);
  /* The source may have begun to wait for this frame before the event. */
  test_ipc_run ("push 2; pull 2");
  current = gst_pad_get_current_caps (test_src->sinkpad);
  fail_unless (gst_caps_is_equal (current, caps), "%" GST_PTR_FORMAT, current);
}

static GstPadProbeReturn
propose_pool (GstPad *pad, GstPadProbeInfo *info, gpointer pool)
{
  GstQuery *query = GST_PAD_PROBE_INFO_QUERY (info);

  if (GST_QUERY_TYPE (query) != GST_QUERY_ALLOCATION)
    return GST_PAD_PROBE_OK;
  gst_query_add_allocation_pool (query, pool, TEST_IPC_SIZE, 2, 2);
  return GST_PAD_PROBE_HANDLED;
}

/* A pool of downstream is not used, so it allocates nothing. */
TEST (pool_of_downstream)
{
  g_autoptr (GstBufferPool) pool = gst_buffer_pool_new ();
  g_autoptr (GstCaps) caps = gst_caps_from_string (TEST_IPC_CAPS);
  GstStructure *config = gst_buffer_pool_get_config (pool);

  gst_buffer_pool_config_set_params (config, caps, TEST_IPC_SIZE, 2, 2);
  fail_unless (gst_buffer_pool_set_config (pool, config));
  if (!test_ipc_run ("begin; push 1; pull 1"))
    return;
  change_downstream (propose_pool, pool);
  test_ipc_run ("push 2; pull 2; push 3; pull 3");
  fail_if (gst_buffer_pool_is_active (pool));
}

/* A frame may have several memories; memory of 0 bytes; or a GstVideoMeta and
 * no memory. */
TEST_LOOP (memories, 3)
{
  gsize offset[GST_VIDEO_MAX_PLANES] = { 0, TEST_IPC_SIZE };
  gint stride[GST_VIDEO_MAX_PLANES] = { TEST_IPC_WIDTH, TEST_IPC_WIDTH };
  g_autoptr (GstBuffer) buffer = NULL;

  if (!test_ipc_run ("begin"))
    return;
  if (__i__ == 0)
    buffer = gst_buffer_append (test_ipc_new_frame (4), test_ipc_new_frame (4));
  else
    buffer = __i__ == 1 ? gst_buffer_new_allocate (NULL, 1, NULL)
                        : gst_buffer_new ();
  if (__i__ > 0)
    gst_buffer_add_video_meta_full (buffer, GST_VIDEO_FRAME_FLAG_NONE,
        GST_VIDEO_FORMAT_NV12, TEST_IPC_WIDTH, TEST_IPC_HEIGHT, 2, offset,
        stride);
  if (__i__ == 1)
    gst_buffer_set_size (buffer, 0);
  GST_BUFFER_PTS (buffer) = 4 * GST_MSECOND;
  test_ipc_push_buffer (g_steal_pointer (&buffer));
  buffer = gst_harness_pull (test_src);
  fail_unless_equals_uint64 (GST_BUFFER_PTS (buffer), 4 * GST_MSECOND);
  fail_unless_equals_uint64 (
      gst_buffer_get_size (buffer), __i__ == 0 ? 2 * TEST_IPC_SIZE : 0);
  fail_unless (
      __i__ > 0
      || (gst_buffer_n_memory (buffer) == 2
          && test_ipc_is_whole (buffer, TEST_IPC_WIDTH, TEST_IPC_HEIGHT)));
}

/* A flush is not relayed. The next frame has DISCONT. */
TEST (flush)
{
  GstEvent *event;
  guint i;

  for (i = 0; i < 20; i++)
    if (!test_ipc_run ("%s push %u; pull %u; flush; push %u; pull %u; discont",
            i == 0 ? "begin;" : "", 2 * i, 2 * i, 2 * i + 1, 2 * i + 1))
      return;
  while ((event = gst_harness_try_pull_event (test_src))) {
    fail_if (GST_EVENT_TYPE (event) == GST_EVENT_FLUSH_START);
    gst_event_unref (event);
  }
}

/* A frame that does not fit its caps is dropped with a warning, and the stream
 * goes on. */
TEST (wrong_frames)
{
  if (!test_ipc_run ("begin"))
    return;
  test_ipc_push_buffer (test_exportable_buffer_new (100));
  test_ipc_run ("warns; push 1; pull 1");
}

/* Frames of any size need few allocations and file descriptors. */
TEST (sizes)
{
  g_autoptr (GRand) random = g_rand_new_with_seed (1);
  guint i, fds = 0;

  if (test_ipc_run ("begin; caps application/octet-stream")) {
    for (i = 0; i < 600; i++) {
      gsize size = i < 300 ? 800 : g_rand_int_range (random, 1, 300000);
      GstBuffer *buffer = gst_buffer_new_allocate (NULL, size, NULL);

      GST_BUFFER_PTS (buffer) = i * GST_MSECOND;
      test_ipc_push_buffer (buffer);
      buffer = gst_harness_pull (test_src);
      fail_unless_equals_uint64 (gst_buffer_get_size (buffer), size);
      gst_buffer_unref (buffer);
      if (i == 10)
        fds = test_count_fds ();
    }
    fail_unless (
        test_count_fds () < fds + 60, "%u, then %u", fds, test_count_fds ());
  }
}

static GstSample *
pull (GstElement *appsink, GstClockTime *pts)
{
  GstSample *sample = gst_app_sink_pull_sample (GST_APP_SINK (appsink));

  fail_unless (sample != NULL);
  *pts = GST_BUFFER_PTS (gst_sample_get_buffer (sample));
  return sample;
}

/* Returns the time from the moment when the frame was due to the start of the
 * client's pipeline. It is negative if the frame was due after the start. */
static GstClockTimeDiff
get_age (GstElement *server, GstElement *client, GstClockTime pts)
{
  return GST_CLOCK_DIFF (gst_element_get_base_time (server) + pts,
      gst_element_get_base_time (client));
}

/* Starts the client. If the first frame arrives very late, vkgdripcsrc assumes
 * that its timestamps do not come from a clock, and shifts them. This happens
 * on a busy machine; then the client is started again. */
static GstSample *
start_client (GstElement *server, GstElement *client, GstElement *appsink,
    GstClockTime *pts)
{
  GstSample *sample;

  gst_element_set_state (client, GST_STATE_PLAYING);
  sample = pull (appsink, pts);
  while (get_age (server, client, *pts) > 100 * GST_MSECOND) {
    gst_sample_unref (sample);
    gst_element_set_state (client, GST_STATE_NULL);
    gst_element_set_state (client, GST_STATE_PLAYING);
    sample = pull (appsink, pts);
  }
  return sample;
}

/* Pulls frames until one is not older than the start of the client. An older
 * one has no running time in the client. */
static GstSample *
pull_after_start (GstElement *server, GstElement *client, GstElement *appsink,
    GstClockTime *pts)
{
  GstSample *sample = pull (appsink, pts);

  while (get_age (server, client, *pts) >= 0) {
    gst_sample_unref (sample);
    sample = pull (appsink, pts);
  }
  return sample;
}

static void
play (GstElement *pipeline)
{
  gst_element_set_state (pipeline, GST_STATE_PLAYING);
  fail_if (gst_element_get_state (pipeline, NULL, NULL, 5 * GST_SECOND)
           == GST_STATE_CHANGE_FAILURE);
}

static void
pause_for_a_while (GstElement *pipeline)
{
  gst_element_set_state (pipeline, GST_STATE_PAUSED);
  g_usleep (200 * 1000);
  play (pipeline);
}

/* Makes a live pipeline with a vkgdripcsink, and one that connects to it. */
static void
make_pipelines (GstElement **server, GstElement **client, GstElement **appsink)
{
  *server = test_launch (
      "videotestsrc is-live=true ! "
      "video/x-raw,format=GRAY8,width=64,height=48,framerate=50/1 ! "
      "vkgdripcsink name=ipc socket-path=%s",
      test_ipc_path);
  *client = test_launch ("vkgdripcsrc name=src socket-path=%s ! appsink "
                         "name=sink sync=false max-buffers=1 drop=true",
      test_ipc_path);
  *appsink = gst_bin_get_by_name (GST_BIN (*client), "sink");
  play (*server);
}

static void
free_pipelines (GstElement *server, GstElement *client, GstElement *appsink)
{
  gst_element_set_state (client, GST_STATE_NULL);
  gst_element_set_state (server, GST_STATE_NULL);
  gst_object_unref (appsink);
  gst_object_unref (client);
  gst_object_unref (server);
}

/* What changes the base time of a pipeline. */
enum { NOTHING, PAUSE_OF_SERVER, PAUSE_OF_CLIENT, FLUSH_OF_SERVER, N_CHANGES };

/* A frame is due at the same time in both pipelines, though they have started
 * at different times, and after a pause or a flush. */
TEST_LOOP (running_time, N_CHANGES)
{
  GstElement *server, *client, *appsink;
  GstClockTime pts, theirs, ours;
  GstSample *sample;
  guint i;

  if (test_ipc_cannot_export ())
    return;
  make_pipelines (&server, &client, &appsink);
  g_usleep (100 * 1000);
  gst_sample_unref (start_client (server, client, appsink, &pts));
  if (__i__ == PAUSE_OF_SERVER || __i__ == PAUSE_OF_CLIENT) {
    pause_for_a_while (__i__ == PAUSE_OF_SERVER ? server : client);
  } else if (__i__ == FLUSH_OF_SERVER) {
    fail_unless (gst_element_seek_simple (
        server, GST_FORMAT_TIME, GST_SEEK_FLAG_FLUSH, 0));
    play (server);
  }
  if (__i__ != NOTHING) {
    /* The first ones may be from before. */
    g_usleep (300 * 1000);
    for (i = 0; i < 3; i++)
      gst_sample_unref (pull (appsink, &pts));
  }
  sample = pull_after_start (server, client, appsink, &pts);
  theirs = gst_element_get_base_time (server) + pts;
  ours = gst_element_get_base_time (client)
         + gst_segment_to_running_time (
             gst_sample_get_segment (sample), GST_FORMAT_TIME, pts);
  fail_unless (ABS (GST_CLOCK_DIFF (ours, theirs)) <= 20 * GST_MSECOND,
      "%" GST_STIME_FORMAT " apart",
      GST_STIME_ARGS (GST_CLOCK_DIFF (ours, theirs)));
  gst_sample_unref (sample);
  free_pipelines (server, client, appsink);
}

/* The latency of the client is the configured latency of the server's
 * pipeline: one frame of the source, and the processing deadline of the
 * sink. */
TEST (latency)
{
  GstElement *server, *client, *appsink, *src;
  g_autoptr (GstQuery) query = gst_query_new_latency ();
  GstClockTime latency = 0, pts;
  gboolean is_live = FALSE;

  if (test_ipc_cannot_export ())
    return;
  make_pipelines (&server, &client, &appsink);
  src = gst_bin_get_by_name (GST_BIN (client), "src");
  gst_element_set_state (client, GST_STATE_PLAYING);
  gst_sample_unref (pull (appsink, &pts));
  fail_unless (gst_element_query (src, query));
  gst_query_parse_latency (query, &is_live, &latency, NULL);
  fail_unless (is_live);
  fail_unless_equals_uint64 (latency, 40 * GST_MSECOND);
  gst_object_unref (src);
  free_pipelines (server, client, appsink);
}

/* --- memory that cannot be exported -------------------------------------- */

/* Makes memory that shares an allocation with other memory. */
static GstBuffer *
new_small_frame (guint number)
{
  GstBuffer *buffer = gst_buffer_new ();

  gst_buffer_append_memory (
      buffer, test_memory_new (test_context, TEST_IPC_SIZE));
  return test_ipc_fill (buffer, number);
}

static GstBuffer *
new_system_frame (guint number)
{
  return test_ipc_fill (
      gst_buffer_new_allocate (NULL, TEST_IPC_SIZE, NULL), number);
}

/* The largest number of copies at a time: those that the client may have, one
 * that waits for it, one that is being made, and some whose release has not
 * been read yet. */
#define MAX_COPIES 10

static void
assert_blocks (GstVkgdrAllocator *allocator, guint max)
{
  gint64 deadline = g_get_monotonic_time () + 20 * G_TIME_SPAN_SECOND;

  /* The device may still be reading the frames that were copied. */
  while (gst_vkgdr_allocator_get_active_blocks (allocator) > max
         && g_get_monotonic_time () < deadline)
    g_usleep (1000);
  fail_unless (gst_vkgdr_allocator_get_active_blocks (allocator) <= max,
      "%u blocks", gst_vkgdr_allocator_get_active_blocks (allocator));
}

/* A copy has the GstVideoMeta of each view, with all of its fields. */
TEST (views_of_copy)
{
  g_autoptr (GstBuffer) buffer = NULL;
  GstVideoMeta *meta;
  guint i;

  if (!test_ipc_run ("begin"))
    return;
  buffer = new_system_frame (1);
  for (i = 0; i < 2; i++) {
    meta = gst_buffer_add_video_meta (buffer, GST_VIDEO_FRAME_FLAG_NONE,
        GST_VIDEO_FORMAT_GRAY8, TEST_IPC_WIDTH, TEST_IPC_HEIGHT / (i + 1));
    meta->id = i;
    meta->alignment.padding_bottom = i * TEST_IPC_HEIGHT / 2;
  }
  test_ipc_push_buffer (buffer);
  buffer = test_ipc_pull (1);
  for (i = 0; i < 2; i++) {
    meta = gst_buffer_get_video_meta_id (buffer, i);
    fail_unless (meta != NULL);
    fail_unless_equals_int (
        meta->alignment.padding_bottom, i * TEST_IPC_HEIGHT / 2);
  }
}

TEST (copies)
{
  g_autoptr (GstVkgdrAllocator) allocator = NULL;
  guint i, blocks;

  if (!test_ipc_run ("begin"))
    return;
  allocator = test_allocator ();
  blocks = gst_vkgdr_allocator_get_active_blocks (allocator);
  for (i = 0; i < 100; i++) {
    test_ipc_push_buffer (i % 2 ? new_small_frame (i) : new_system_frame (i));
    test_ipc_run ("pull %u", i);
  }
  test_ipc_run ("is frames-copied 100; is bytes-copied %u; push 100; pull 100;"
                "is frames-copied 100",
      100 * TEST_IPC_SIZE);
  /* The memory of copies is recycled. */
  assert_blocks (allocator, blocks + MAX_COPIES);
}

/* Frames of the CPU, and of the device in device-only memory. */
static const gchar *const no_window_sources[] = {
  "testframes num-buffers=3 ! " TEST_IPC_CAPS,
  "videotestsrc num-buffers=3 ! video/x-raw,format=RGBA ! vkgdrupload ! "
  "vkgdrtensor width=16 height=16",
};

/* Without a window, this device has no memory that can be exported. The error
 * has the reason and the remedy. */
TEST_LOOP (no_window, G_N_ELEMENTS (no_window_sources))
{
  g_autoptr (GstStructure) context = NULL;
  g_autoptr (GstElement) pipeline = NULL;
  g_autoptr (GError) error = NULL;

  if (test_has_window () || !test_is_software ())
    return;
  pipeline = test_launch ("%s ! vkgdripcsink socket-path=%s",
      no_window_sources[__i__], test_ipc_path);
  error = test_play_error (pipeline);
  context = gst_vkgdr_context_describe (test_context);
  fail_unless (strstr (error->message,
                   gst_structure_get_string (context, "window-reason")),
      "%s", error->message);
  fail_unless (strstr (error->message,
                   gst_structure_get_string (context, "window-remedy")),
      "%s", error->message);
  fail_if (g_file_test (test_ipc_path, G_FILE_TEST_EXISTS));
}
