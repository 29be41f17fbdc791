/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * ipc-elements.c: tests of what vkgdripcsrc gets from vkgdripcsink, in one
 * process
 *
 * Caps, events, tags, metas, times, and copies of memory that cannot be
 * exported.
 */

#include <string.h>
#include <vkgdr/frames.h>

#include "ipc-harness.h"
#include "table.h"

TEST_REQUIRE (test_ipc_require_window);

/* --- caps and events ----------------------------------------------------- */

TEST_FIXTURE (test_ipc_setup, test_ipc_teardown);

/* New caps arrive before the first frame with them. */
TEST_STEPS (caps,
    "begin; push 0; pull 0;"
    "get caps video/x-raw(memory:VkgdrMemory),format=GRAY8,width=64,height=48,"
    "framerate=1000/1;"
    "caps video/x-raw,format=GRAY8,width=48,height=64,framerate=1000/1;"
    "push 5; get caps video/x-raw(memory:VkgdrMemory),width=48");

/* The figures of the base class are among those of the sink. */
TEST_STEPS (stats,
    "begin; push 1-3; pull 1-3;"
    "is frames 3; is frames-sent 3; is rendered 3; is dropped 0");

#define FIELDS \
  "format=GRAY8,width=64,height=96,framerate=1000/1,interlace-mode=alternate"

/* The feature of single fields does not say what memory they have, and stays.
 */
TEST_STEPS (caps_of_fields,
    "begin; push 0; pull 0; get caps;"
    "caps video/x-raw(format:Interlaced)," FIELDS "; push 5; get caps "
    "video/x-raw(memory:VkgdrMemory, format:Interlaced)," FIELDS);

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
  vkgdr_frame_server_t server = vkgdr_frame_server_open (&params);
  GByteArray *rows = g_byte_array_new ();
  g_autoptr (GstBuffer) buffer = NULL;
  vkgdr_frame_buffer *frame;
  GstVideoInfo info;
  gint y;

  fail_unless (server != NULL);
  test_ipc_run ("start");
  test_wait_for (vkgdr_frame_server_count_clients (server) == 1);
  frame = vkgdr_frame_server_acquire (server, 0);
  for (y = 0; y < 75; y++) {
    const vkgdr_frame_plane *plane = &frame->planes[y / 50];
    guint8 *row = (guint8 *) plane->host + y % 50 * plane->stride;

    memset (row, y, 66);
    g_byte_array_append (rows, row, 66);
  }
  fail_unless (vkgdr_frame_server_send (server, frame, -1));
  buffer = gst_harness_pull (test_src);
  test_ipc_run ("get caps video/x-raw(memory:VkgdrMemory),format=NV12,"
                "width=66,height=50,framerate=25/1");
  gst_video_info_set_format (&info, GST_VIDEO_FORMAT_NV12, 66, 50);
  test_assert_same (test_frame_rows (buffer, &info), rows);
  vkgdr_frame_server_end (server);
  test_ipc_run ("get eos");
  vkgdr_frame_server_close (server);
}

/* The end of a segment is not the end of the stream. */
TEST (segments)
{
  const GstSegment *theirs;
  GstSegment segment;
  GstBuffer *buffer;
  GstEvent *event;
  guint i;

  test_ipc_run ("begin");
  for (i = 0; i < 3; i++) {
    gst_segment_init (&segment, GST_FORMAT_TIME);
    segment.start = segment.base = 10 * i * GST_MSECOND;
    segment.stop = segment.start + 10 * GST_MSECOND;
    segment.time = (77 + i) * GST_SECOND;
    test_ipc_push_event (gst_event_new_segment (&segment));
    buffer = test_ipc_new_frame (10 * i);
    GST_BUFFER_DURATION (buffer) = 10 * GST_MSECOND;
    test_ipc_push_buffer (buffer);
    test_ipc_run ("pull %u", 10 * i);
    event = test_ipc_pull_event (GST_EVENT_SEGMENT);
    gst_event_parse_segment (event, &theirs);
    fail_unless_equals_int (theirs->format, GST_FORMAT_TIME);
    fail_unless_equals_uint64 (theirs->time, segment.time);
    fail_unless_equals_uint64 (theirs->stop, segment.stop);
    gst_event_unref (event);
  }
}

/* Flags of a segment are for the server's pipeline alone: after a segment seek,
 * clients would end with SEGMENT_DONE, and not with EOS. */
TEST (segment_seek)
{
  const GstSegment *theirs;
  GstSegment segment;
  GstEvent *event;

  test_ipc_run ("begin");
  gst_segment_init (&segment, GST_FORMAT_TIME);
  segment.flags = GST_SEGMENT_FLAG_SEGMENT | GST_SEGMENT_FLAG_TRICKMODE;
  test_ipc_push_event (gst_event_new_segment (&segment));
  test_ipc_run ("push 1; pull 1");
  event = test_ipc_pull_event (GST_EVENT_SEGMENT);
  gst_event_parse_segment (event, &theirs);
  fail_unless_equals_int (theirs->flags, GST_SEGMENT_FLAG_NONE);
  gst_event_unref (event);
  test_ipc_push_event (
      gst_event_new_segment_done (GST_FORMAT_TIME, GST_SECOND));
  test_ipc_run ("stop; get eos");
}

/* Clients of a pipeline that plays in reverse get timestamps that increase. */
TEST (reverse)
{
  const GstSegment *theirs;
  GstSegment segment;
  GstBuffer *buffer;
  GstEvent *event;
  guint i;

  test_ipc_run ("begin");
  gst_segment_init (&segment, GST_FORMAT_TIME);
  segment.rate = -2;
  segment.stop = 60 * GST_MSECOND;
  test_ipc_push_event (gst_event_new_segment (&segment));
  for (i = 0; i < 3; i++) {
    buffer = test_ipc_new_frame (40 - 20 * i);
    GST_BUFFER_DURATION (buffer) = 20 * GST_MSECOND;
    test_ipc_push_buffer (buffer);
    buffer = gst_harness_pull (test_src);
    fail_unless_equals_uint64 (GST_BUFFER_PTS (buffer), 10 * i * GST_MSECOND);
    fail_unless_equals_uint64 (GST_BUFFER_DURATION (buffer), 10 * GST_MSECOND);
    gst_buffer_unref (buffer);
  }
  event = test_ipc_pull_event (GST_EVENT_SEGMENT);
  gst_event_parse_segment (event, &theirs);
  fail_unless (theirs->rate == 1);
  gst_event_unref (event);
}

/* A client that connects after EOS gets it, with the caps. A flush ends this
 * state, and the next client gets the next frame. */
TEST_STEPS (late_eos,
    "begin; push 0; pull 0; eos; get eos; disconnect; connect;"
    "get caps; get eos; disconnect; flush; connect; push 1; pull 1");

/* A flush is not relayed. The next frame has DISCONT. */
TEST (flush)
{
  GstEvent *event;
  guint i;

  test_ipc_run ("begin");
  for (i = 0; i < 20; i++)
    test_ipc_run ("push %u; pull %u; discont; flush", i, i);
  while ((event = gst_harness_try_pull_event (test_src))) {
    fail_if (GST_EVENT_TYPE (event) == GST_EVENT_FLUSH_START);
    gst_event_unref (event);
  }
}

/* --- tags ---------------------------------------------------------------- */

#define RECONNECT "disconnect; clients 0; connect;"

#define ALL_TAGS \
  "tagged global title the film; tagged stream title;" \
  "tagged stream encoder a camera; tagged stream language-code fr;" \
  "tagged global language-code;"
#define NO_TAGS "tagged global title; tagged stream encoder;"
#define BOTH_TAGS \
  "tagged stream encoder a camera; tagged stream title the stream;"

/* Before the first frame, there are several events, as from a demuxer and a
 * parser. A later event adds tags. The next stream does not have the tags of
 * the last one. All of this holds for a client that is connected, and for one
 * that connects later. */
TEST_STEPS (tags,
    "begin; tag global title the film; tag stream language-code de;"
    "tag stream encoder a camera; tag stream language-code fr;"
    "push 0; pull 0;" ALL_TAGS RECONNECT "push 1; pull 1;" ALL_TAGS
    "tag stream title the stream; push 2; pull 2;" BOTH_TAGS
    "next-stream; push 3; pull 3;" NO_TAGS RECONNECT "push 4; pull 4;" NO_TAGS
    "tag stream title another;"
    "push 5; pull 5; tagged stream encoder; tagged stream title another");

/* All tags have 60 KiB at most. Larger ones are left out with a warning, and
 * the others arrive. */
TEST_LOOP (large_tags, 2)
{
  gboolean is_left_out = __i__ == 1;
  g_autofree gchar *text = g_strnfill ((is_left_out ? 60 : 59) * 1024, 'x');
  g_autofree gchar *found = NULL;
  g_autoptr (GstEvent) event = NULL;
  GstTagList *tags;

  test_ipc_run ("begin; tag stream encoder a camera");
  test_ipc_push_event (
      gst_event_new_tag (gst_tag_list_new (GST_TAG_COMMENT, text, NULL)));
  test_ipc_run ("%s tag stream title the stream; push 0; pull 0;" BOTH_TAGS,
      is_left_out ? "warns;" : "");
  event = test_ipc_pull_event (GST_EVENT_TAG);
  gst_event_parse_tag (event, &tags);
  fail_unless_equals_int (
      gst_tag_list_get_string (tags, GST_TAG_COMMENT, &found), !is_left_out);
  fail_unless (is_left_out || g_str_equal (found, text));
}

/* --- frames and metas ---------------------------------------------------- */

#define CUSTOM "VkgdrTestMeta"

#define FLAGS \
  (GST_BUFFER_FLAG_MARKER | GST_BUFFER_FLAG_CORRUPTED \
      | GST_BUFFER_FLAG_DISCONT | GST_BUFFER_FLAG_GAP)

static void
set_all (GstBuffer *buffer)
{
  static const gchar *tags[] = { NULL };
  g_autoptr (GstCaps) caps = gst_caps_from_string ("timestamp/x-unix");

  GST_BUFFER_PTS (buffer) = 2 * GST_MSECOND;
  GST_BUFFER_DTS (buffer) = 1900 * GST_USECOND;
  GST_BUFFER_DURATION (buffer) = 333;
  GST_BUFFER_OFFSET (buffer) = 44;
  GST_BUFFER_OFFSET_END (buffer) = 45;
  GST_BUFFER_FLAG_SET (
      buffer, GST_BUFFER_FLAG_MARKER | GST_BUFFER_FLAG_CORRUPTED);
  gst_buffer_add_video_meta_full (buffer, GST_VIDEO_FRAME_FLAG_NONE,
      GST_VIDEO_FORMAT_GRAY8, TEST_IPC_WIDTH, TEST_IPC_HEIGHT, 1,
      (gsize[4]){ 64 }, (gint[4]){ 96 });
  gst_meta_register_custom (CUSTOM, tags, NULL, NULL, NULL);
  gst_structure_set (gst_custom_meta_get_structure (
                         gst_buffer_add_custom_meta (buffer, CUSTOM)),
      "text", G_TYPE_STRING, "a \"text\"; and more", NULL);
  gst_buffer_add_reference_timestamp_meta (buffer, caps, 12345, 678);
}

/* Returns all of it as text. */
static gchar *
describe (GstBuffer *buffer)
{
  GstReferenceTimestampMeta *reference =
      gst_buffer_get_reference_timestamp_meta (buffer, NULL);
  GstCustomMeta *custom = gst_buffer_get_custom_meta (buffer, CUSTOM);
  GstVideoMeta *video = gst_buffer_get_video_meta (buffer);
  const guint64 numbers[] = { GST_BUFFER_PTS (buffer), GST_BUFFER_DTS (buffer),
    GST_BUFFER_DURATION (buffer), GST_BUFFER_OFFSET (buffer),
    GST_BUFFER_OFFSET_END (buffer), GST_BUFFER_FLAGS (buffer) & FLAGS };
  GString *text = g_string_new (NULL);
  guint i;

  fail_unless (custom && reference && video);
  g_string_printf (text, "%s; %s %" G_GUINT64_FORMAT " %" G_GUINT64_FORMAT,
      gst_structure_get_string (gst_custom_meta_get_structure (custom), "text"),
      gst_structure_get_name (gst_caps_get_structure (reference->reference, 0)),
      reference->timestamp, reference->duration);
  g_string_append_printf (text, "; %d %ux%u at %u, %d", video->format,
      video->width, video->height, (guint) video->offset[0], video->stride[0]);
  for (i = 0; i < G_N_ELEMENTS (numbers); i++)
    g_string_append_printf (text, "; %" G_GUINT64_FORMAT, numbers[i]);
  return g_string_free (text, FALSE);
}

/* A frame has its times, flags and metas, and so has one that is copied: in
 * memory of the system, or in memory that shares its allocation. */
TEST_LOOP (frame, 3)
{
  gsize size = 64 + 96 * TEST_IPC_HEIGHT;
  g_autofree gchar *sent = NULL, *received = NULL;
  g_autoptr (GstBuffer) buffer = NULL;

  test_ipc_run ("begin; push 1; pull 1");
  buffer = __i__ == 0 ? test_exportable_buffer_new (size) : gst_buffer_new ();
  if (__i__ > 0)
    gst_buffer_append_memory (
        buffer, __i__ == 1 ? gst_allocator_alloc (NULL, size, NULL)
                           : test_memory_new (test_context, size));
  gst_buffer_memset (buffer, 0, 7, size);
  set_all (buffer);
  sent = describe (buffer);
  test_ipc_push_buffer (g_steal_pointer (&buffer));
  buffer = gst_harness_pull (test_src);
  received = describe (buffer);
  fail_unless_equals_string (received, sent);
  fail_unless (GST_MEMORY_IS_READONLY (gst_buffer_peek_memory (buffer, 0)));
  fail_unless (gst_buffer_memcmp (buffer, size - 4, "\7\7\7\7", 4) == 0);
  test_ipc_run ("is frames-copied %d; is bytes-copied %" G_GSIZE_FORMAT,
      __i__ > 0, __i__ > 0 ? size : 0);
}

/* All clients get the visible part of a frame, without a copy. */
TEST (crop)
{
  GstBuffer *buffer = test_exportable_buffer_new (80 * 60);
  const GstVideoMeta *meta;
  GstVideoCropMeta *crop;

  test_ipc_run ("begin");
  gst_buffer_memset (buffer, 0, 7, 80 * 60);
  gst_buffer_memset (buffer, 3 * 80 + 5, 9, 1);
  gst_buffer_add_video_meta (
      buffer, GST_VIDEO_FRAME_FLAG_NONE, GST_VIDEO_FORMAT_GRAY8, 80, 60);
  crop = gst_buffer_add_video_crop_meta (buffer);
  crop->x = 5;
  crop->y = 3;
  crop->width = TEST_IPC_WIDTH;
  crop->height = TEST_IPC_HEIGHT;
  test_ipc_push_buffer (buffer);
  buffer = gst_harness_pull (test_src);
  meta = gst_buffer_get_video_meta (buffer);
  fail_unless_equals_int (meta->width, TEST_IPC_WIDTH);
  fail_unless_equals_int (meta->stride[0], 80);
  fail_unless (gst_buffer_get_video_crop_meta (buffer) == NULL);
  fail_unless (gst_buffer_memcmp (buffer, meta->offset[0], "\11\7", 2) == 0);
  gst_buffer_unref (buffer);
  test_ipc_run ("is frames-copied 0");
}

/* Another element behind vkgdripcsrc does not take the memory that the first
 * one took, and gets frames, too. */
TEST (other_downstream)
{
  g_autoptr (GstCaps) caps = gst_caps_from_string (TEST_IPC_CAPS);
  g_autoptr (GstCaps) current = NULL;

  test_ipc_run ("begin; push 1; pull 1");
  gst_harness_set_sink_caps (test_src, gst_caps_ref (caps));
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

  test_ipc_run ("begin; push 1; pull 1");
  gst_pad_add_probe (test_src->sinkpad, GST_PAD_PROBE_TYPE_QUERY_DOWNSTREAM,
      propose_pool, pool, NULL);
  gst_pad_push_event (test_src->sinkpad, gst_event_new_reconfigure ());
  /* After a flush, the base class asks for an allocation. */
  test_ipc_run ("flush-client; push 2; pull 2");
  fail_if (gst_buffer_pool_is_active (pool));
}

/* A frame may have several memories; memory of 0 bytes; or a GstVideoMeta and
 * no memory. */
TEST_LOOP (memories, 3)
{
  gsize offset[GST_VIDEO_MAX_PLANES] = { 0, TEST_IPC_SIZE };
  gint stride[GST_VIDEO_MAX_PLANES] = { TEST_IPC_WIDTH, TEST_IPC_WIDTH };
  g_autoptr (GstBuffer) buffer = NULL;

  test_ipc_run ("begin");
  if (__i__ == 0)
    buffer = gst_buffer_append (test_ipc_new_frame (4), test_ipc_new_frame (4));
  else
    buffer = __i__ == 1 ? test_exportable_buffer_new (1) : gst_buffer_new ();
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
      || (gst_buffer_n_memory (buffer) == 2 && test_ipc_is_whole (buffer)));
}

static GstPadProbeReturn
add_overlay (GstPad *pad, GstPadProbeInfo *info, gpointer overlay)
{
  GstBuffer *buffer = gst_buffer_make_writable (info->data);

  gst_buffer_add_video_overlay_composition_meta (buffer, overlay);
  info->data = buffer;
  return GST_PAD_PROBE_OK;
}

/* An overlay cannot be sent, which is said once. */
TEST (overlays)
{
  g_autoptr (GstPad) pad = NULL;
  g_autoptr (GstVideoOverlayComposition) overlay =
      gst_video_overlay_composition_new (NULL);

  test_ipc_run ("begin; push 0; pull 0");
  pad = gst_element_get_static_pad (test_sink->element, "sink");
  gst_pad_add_probe (
      pad, GST_PAD_PROBE_TYPE_BUFFER, add_overlay, overlay, NULL);
  test_ipc_run ("push 1-3; pull 1-3; warns");
  test_assert_no_message (
      GST_ELEMENT_BUS (test_sink->element), GST_MESSAGE_WARNING);
}

/* A frame that does not fit its caps is dropped with a warning, and the stream
 * goes on. */
TEST (wrong_frames)
{
  test_ipc_run ("begin");
  test_ipc_push_buffer (test_exportable_buffer_new (100));
  test_ipc_run ("warns; push 1; pull 1");
}

/* The largest number of copies at a time: those that the client may have, one
 * that waits for it, one that is being made, and some whose release has not
 * been read yet. */
#define MAX_COPIES 10

/* Frames of any size need few allocations and file descriptors. */
TEST (sizes)
{
  g_autoptr (GstVkgdrAllocator) allocator = test_allocator ();
  g_autoptr (GRand) random = g_rand_new_with_seed (1);
  guint i, fds = 0;

  test_ipc_run ("begin; caps application/octet-stream");
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
  /* The device may still be reading the last ones. */
  test_wait_for (
      gst_vkgdr_allocator_get_active_blocks (allocator) <= MAX_COPIES);
}

static guint n_imports;

static void *
count_import (
    void *self, int fd, const vkgdr_fd_info *info, char *message, size_t size)
{
  n_imports++;
  return &n_imports;
}

/* Allocations that a client imports at most, whatever the length of a stream.
 */
#define MAX_IMPORTS 80

/* Sources whose frames are new allocations. Small ones are copied anyway. */
static const gchar *const new_memory[] = {
  "videotestsrc num-buffers=200 ! video/x-raw,format=RGBA,width=640,height=480 "
  "! identity drop-allocation=true",
  "videotestsrc num-buffers=200 ! video/x-raw,format=RGBA,width=640,height=480 "
  "! identity drop-allocation=true ! vkgdrupload",
  "audiotestsrc num-buffers=200 samplesperbuffer=100 ! vkgdrupload",
};

/* A stream settles on a few memories, whatever stands before the sink. */
TEST_LOOP (few_memories, G_N_ELEMENTS (new_memory) + 1)
{
  const vkgdr_frames_params params = { .path = test_ipc_path,
    .import = count_import };
  g_autoptr (GstElement) pipeline = NULL;
  guint i, n = 0, fds;
  vkgdr_frames_t frames;
  vkgdr_frame_t frame;

  if (__i__ < (int) G_N_ELEMENTS (new_memory)) {
    pipeline = test_launch (
        "%s ! vkgdripcsink sync=false leaky=no wait-for-connection=true "
        "socket-path=\"%s\"",
        new_memory[__i__], test_ipc_path);
    test_set_context (pipeline, test_context);
    gst_element_set_state (pipeline, GST_STATE_PLAYING);
  } else {
    test_ipc_run ("serve leaky=no wait-for-connection=true");
  }
  frames = vkgdr_frames_connect (&params);
  fail_unless (frames != NULL);
  fds = test_count_fds ();
  for (i = 0; i < 200; i++) {
    if (!pipeline)
      test_ipc_push_buffer (test_ipc_new_frame (i));
    while (vkgdr_frames_receive (frames, GST_SECOND, &frame)
           == VKGDR_FRAMES_TIMEOUT)
      fail_unless (n++ < 60, "no frame has come");
    vkgdr_frame_release (frame);
  }
  fail_unless (n_imports <= MAX_IMPORTS, "%u imports", n_imports);
  fail_unless (test_count_fds () <= fds + MAX_IMPORTS);
  vkgdr_frames_close (frames);
  if (pipeline)
    gst_element_set_state (pipeline, GST_STATE_NULL);
}

/* --- times --------------------------------------------------------------- */

static void
set_base (GstHarness *harness, GstClockTime base)
{
  gst_harness_use_systemclock (harness);
  gst_element_set_base_time (harness->element, base);
}

/* The base times of both pipelines in milliseconds. They change when a pipeline
 * plays again after a pause. */
static const struct {
  guint server, client;
  gboolean is_flushed;  /* before */
  gboolean is_recorded; /* the timestamps do not come from a clock */
} bases[] = {
  { 0, 2000, FALSE, FALSE },
  { 500, 2000, FALSE, FALSE },
  { 500, 3000, FALSE, FALSE },
  { 4000, 0, TRUE, FALSE },
  { 0, 60000, TRUE, TRUE },
};

/* A frame is due at the same time in both pipelines, though they have started
 * at different times, and after a pause or a flush. A recorded stream begins
 * with its first frame. */
TEST (running_time)
{
  GstClockTime start = gst_util_get_timestamp (), server, client, pts;
  const GstSegment *segment;
  GstEvent *event;
  guint i;

  test_ipc_run ("begin");
  for (i = 0; i < G_N_ELEMENTS (bases); i++) {
    server = start + bases[i].server * GST_MSECOND;
    client = start + bases[i].client * GST_MSECOND;
    set_base (test_sink, server);
    set_base (test_src, client);
    test_ipc_run ("%s push %u; pull %u", bases[i].is_flushed ? "flush;" : "",
        5000 + i, 5000 + i);
    pts = (5000 + i) * GST_MSECOND;
    event = gst_pad_get_sticky_event (test_src->sinkpad, GST_EVENT_SEGMENT, 0);
    gst_event_parse_segment (event, &segment);
    fail_unless_equals_uint64 (
        client + gst_segment_to_running_time (segment, GST_FORMAT_TIME, pts),
        bases[i].is_recorded ? client : server + pts);
    gst_event_unref (event);
  }
}

/* The latency of the client is that of the server's pipeline. */
TEST (latency)
{
  g_autoptr (GstQuery) query = gst_query_new_latency ();
  GstClockTime latency = 0;
  gboolean is_live = FALSE;

  test_ipc_run ("begin");
  gst_element_send_event (
      test_sink->element, gst_event_new_latency (40 * GST_MSECOND));
  test_ipc_run ("push 1; pull 1");
  fail_unless (gst_element_query (test_src->element, query));
  gst_query_parse_latency (query, &is_live, &latency, NULL);
  fail_unless (is_live);
  fail_unless_equals_uint64 (latency, 40 * GST_MSECOND);
}

/* --- no window ----------------------------------------------------------- */

static void
setup_without_window (void)
{
  test_set_environment ("VKGDR_DEBUG=no-vulkan");
  test_ipc_setup ();
}

TEST_FIXTURE (setup_without_window, test_ipc_teardown);

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
  g_autofree gchar *parts = NULL;

  TEST_NEEDS (test_is_software (), "the software device");
  pipeline = test_launch ("%s ! vkgdripcsink socket-path=\"%s\"",
      no_window_sources[__i__], test_ipc_path);
  context = gst_vkgdr_context_describe (test_context);
  parts = g_strconcat (gst_structure_get_string (context, "window-reason"), "|",
      gst_structure_get_string (context, "window-remedy"), NULL);
  test_assert_says (test_play_error (pipeline), parts);
  fail_if (g_file_test (test_ipc_path, G_FILE_TEST_EXISTS));
}
