/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * cudafilter-caps.c: tests of cudafilter's answers to caps queries, and of the
 * errors that it posts if it cannot negotiate with its neighbours, in pipelines
 * and in playbin
 */

#include <gst/video/gstvideocodecalphameta.h>
#include <gst/video/video.h>

#include "rig.h"

#define VKGDR "(" GST_CAPS_FEATURE_MEMORY_VKGDR_MEMORY ")"
#define RGBA "video/x-raw" VKGDR ",format=RGBA,width=64,height=48,framerate=1/1"

#define OWN(type) \
  "cudafilter source=\"__global__ void own (" type " in, " type " out) { }\""
#define SAMPLES OWN ("VkgdrSamples")
#define FRAMES OWN ("VkgdrFrame")

/* --- queries ------------------------------------------------------------- */

#define COPY "cudafilter kernel=copy"
#define AUDIO \
  "audio/x-raw" VKGDR ",format=S16LE,rate=1,channels=1,layout=interleaved"
#define ANYTHING "application/x-anything"

static const TestQuery sink_queries[] = {
  { COPY, "image/jpeg,width=64,height=48", FALSE },
  { COPY, "image/jpeg" VKGDR ",width=64,height=48", FALSE },
  { COPY, "video/x-raw(memory:GLMemory),format=RGBA,width=64,height=48",
      FALSE },
  { COPY, "video/x-raw,format=RGBA,width=64,height=48", FALSE },
  { COPY, RGBA, TRUE },
  { COPY, "video/x-raw" VKGDR ",format=NV12_4L4,width=64,height=48", FALSE },
  { COPY, "video/x-bayer" VKGDR ",format=bggr", FALSE },
  { COPY, AUDIO, FALSE },
  { "cudafilter pixel=rgba.r=0", AUDIO, FALSE },
  { SAMPLES, AUDIO, TRUE },
  { SAMPLES, ANYTHING VKGDR, TRUE },
  { SAMPLES, ANYTHING, FALSE },
  { SAMPLES, RGBA, FALSE },
  { FRAMES, RGBA, TRUE },
  { FRAMES, ANYTHING VKGDR, FALSE },
  /* output-caps concern only the output. If a kernel cannot produce them, this
   * does not restrict the caps of the input. */
  { "cudafilter kernel=blur output-caps=video/x-raw,width=32", RGBA, TRUE },
  { "cudafilter kernel=blur output-caps=video/x-raw,format=GRAY8", RGBA, TRUE },
};

TEST_ROWS (sink_queries, test_check_query)

/* --- pipelines ----------------------------------------------------------- */

#define UPLOAD "Put vkgdrupload between"
#define DOWNLOAD "Put vkgdrdownload between"

/* The pipelines are parsed as gst-launch-1.0 parses them. */
static const TestError first_error[] = {
  { "videotestsrc name=source ! cudafilter ! fakesink",
      "source sends|video/x-raw|" UPLOAD },
  { "videotestsrc ! videoconvert name=before ! cudafilter ! fakesink",
      "before sends|" UPLOAD },
  { "videotestsrc ! queue ! vkgdrupload ! queue ! cudafilter kernel=blur "
    "output-caps=video/x-raw,format=GRAY8 ! fakesink",
      "output-caps cannot be met" },
  { "videotestsrc ! jpegenc name=before ! cudafilter ! fakesink",
      "Put a decoder|before sends|image/jpeg" },
  { "videotestsrc ! jpegenc ! vkgdrupload ! queue name=before ! cudafilter ! "
    "fakesink",
      "Put a decoder|before sends|image/jpeg" },
  { "audiotestsrc ! cudafilter ! fakesink", "copy works on video only" },
  { "appsrc caps=audio/x-raw,format=S16LE,rate=8000,channels=1,layout=(string)"
    "interleaved ! vkgdrupload ! queue ! audioconvert ! fakesink",
      "put vkgdrdownload before it|audio/x-raw" },
  { "fakesrc ! " SAMPLES " ! fakesink", UPLOAD },
  { "appsrc caps=audio/x-raw,format=S16LE,rate=8000,channels=1,layout=(string)"
    "interleaved ! vkgdrupload ! cudafilter ! vkgdrdownload ! audioconvert ! "
    "fakesink",
      "copy works on video only" },
};

/* Users read the first error. It is not GStreamer's own "not-negotiated". */
static void
check_first_error (const TestError *row)
{
  g_autoptr (GstElement) pipeline = test_launch ("%s", row->pipeline);

  test_assert_says (test_play_error (pipeline), row->parts);
}

TEST_ROWS (first_error, check_first_error)

#define APP \
  "appsrc name=feed format=time num-buffers=1 caps=video/x-raw,format=I420," \
  "width=64,height=48,framerate=1/1 ! "

static const TestError forgotten_elements[] = {
  { "videotestsrc ! queue name=before ! cudafilter kernel=convert ! fakesink",
      "before sends|" UPLOAD },
  { "videotestsrc ! capsfilter name=before caps=video/x-raw,format=NV12 ! "
    "cudafilter pixel=rgba.r=0 ! vkgdrdownload ! fakesink",
      "before sends|NV12|" UPLOAD },
  { "audiotestsrc name=source ! " SAMPLES " ! fakesink",
      "source sends|audio/x-raw|" UPLOAD },
  { "videotestsrc num-buffers=1 ! jpegenc ! jpegdec name=decoder ! cudafilter "
    "! fakesink",
      "decoder sends|" UPLOAD },
  { "videotestsrc ! vkgdrupload ! cudafilter ! capsfilter name=after "
    "caps=video/x-raw ! fakesink",
      "after accepts|video/x-raw|" DOWNLOAD },
  { "videotestsrc ! vkgdrupload ! cudafilter ! capsfilter name=after "
    "caps=video/x-raw" VKGDR ",format=NOPE ! fakesink",
      "after accepts|NOPE is no format" },
  { "videotestsrc ! vkgdrupload ! cudafilter ! jpegenc name=after ! fakesink",
      "after accepts|" DOWNLOAD },
  { "videotestsrc ! vkgdrupload ! cudafilter kernel=convert ! videoconvert "
    "name=after ! jpegenc ! fakesink",
      "after accepts|" DOWNLOAD },
  { "videotestsrc ! vkgdrupload ! cudafilter ! queue name=after ! videoscale ! "
    "pngenc ! fakesink",
      "after accepts|" DOWNLOAD },
  /* upstream knows its caps only when the first buffer comes */
  { APP "queue ! capsfilter name=before ! cudafilter ! fakesink",
      "before sends|" UPLOAD },
  { APP "videoconvert name=before ! cudafilter ! fakesink",
      "before sends|" UPLOAD },
};

TEST_ROWS (forgotten_elements, test_check_error)

#define SOURCE "videotestsrc num-buffers=3 ! video/x-raw,width=64,height=48 ! "

#define FIELDS "video/x-raw(format:Interlaced),interlace-mode=alternate"
#define FIELDS_ON_DEVICE "video/x-raw(memory:VkgdrMemory,format:Interlaced)"
#define OVERLAY \
  "video/x-raw(memory:SystemMemory,meta:GstVideoOverlayComposition)"

/* Elements whose caps allow any memory, and that give that of their input. What
 * GStreamer negotiates is not ended by a diagnosis. */
static const gchar *const any_memory[] = {
  SOURCE "vkgdrupload ! deinterlace ! cudafilter ! vkgdrdownload",
  SOURCE "vkgdrupload ! videocrop left=4 ! cudafilter ! vkgdrdownload",
  SOURCE "vkgdrupload ! videorate ! cudafilter ! vkgdrdownload",
  SOURCE "identity drop-allocation=true ! vkgdrupload ! queue ! deinterlace ! "
         "videocrop left=4 ! cudafilter ! vkgdrdownload",
  SOURCE "vkgdrupload ! aspectratiocrop ! cudafilter ! vkgdrdownload",
  SOURCE "vkgdrupload ! cudafilter ! vkgdrdownload ! aspectratiocrop",
  /* before upstream knows its caps, with features besides that of the memory */
  "appsrc num-buffers=0 ! videocrop ! vkgdrupload ! " FIELDS_ON_DEVICE,
  "appsrc num-buffers=0 ! vkgdrupload ! cudafilter ! " FIELDS_ON_DEVICE,
  "appsrc num-buffers=0 ! vkgdrupload ! cudafilter ! vkgdrdownload ! " FIELDS,
  "appsrc num-buffers=0 ! videocrop ! vkgdrdownload ! " OVERLAY,
  "appsrc num-buffers=0 ! vkgdrupload ! cudafilter ! vkgdrdownload ! " OVERLAY,
};

static void
check_plays (const gchar *const *elements)
{
  g_autoptr (GstElement) pipeline = test_launch ("%s ! fakesink", *elements);

  test_play (pipeline);
}

TEST_ROWS (any_memory, check_plays)

/* A muxer has pads for audio and video. The one for the stream is linked, as
 * with identity. */
static const gchar *const muxers[] = {
  SOURCE "vkgdrupload ! cudafilter ! vkgdrdownload ! avimux",
  SOURCE "vkgdrupload ! " FRAMES " ! vkgdrdownload ! queue ! matroskamux",
  "audiotestsrc num-buffers=3 ! vkgdrupload ! " SAMPLES
  " ! vkgdrdownload ! avimux",
  "avimux name=mux " SOURCE "vkgdrupload ! cudafilter ! vkgdrdownload ! mux. "
  "audiotestsrc num-buffers=3 ! mux. mux.",
};

TEST_ROWS (muxers, check_plays)

#define DECODER SOURCE "theoraenc ! theoradec ! "
#define WRONG_KERNEL "vkgdrupload ! " SAMPLES " ! vkgdrdownload"
#define BYTES "rawvideoparse ! vkgdrupload ! cudafilter ! vkgdrdownload"

/* The first error, which is the only one of this library, or if it is of
 * another element, there is none of this library. */
static const TestError one_error[] = {
  { SOURCE WRONG_KERNEL, "kernel is for audio and bytes" },
  { APP WRONG_KERNEL, "kernel is for audio and bytes" },
  { DECODER WRONG_KERNEL, "kernel is for audio and bytes" },
  { "audiotestsrc ! vkgdrupload ! cudafilter ! vkgdrdownload",
      "copy works on video only" },
  { APP "vkgdrupload ! vkgdrdownload ! cudafilter", UPLOAD },
  { APP "vkgdrupload ! cudafilter ! capsfilter caps=video/x-raw", DOWNLOAD },
  /* The last element knows the cause. */
  { APP "vkgdrupload ! cudafilter ! vkgdrdownload name=before ! cudafilter",
      "before sends|" UPLOAD },
  { APP "vkgdrupload ! cudafilter ! vkgdrupload ! queue ! capsfilter "
        "caps=video/x-raw",
      "does not accept GPU memory: put vkgdrdownload" },
  { APP "vkgdrupload ! vkgdrdownload ! capsfilter caps=video/x-raw,width=32",
      "does not accept these frames|videoconvert" },
  { APP "vkgdrupload ! cudafilter ! vkgdrdownload ! video/x-raw,width=32",
      "does not accept these frames|videoconvert" },
  { SOURCE BYTES, "No valid frames found" },
  { "fakesrc num-buffers=2 ! vkgdrupload ! cudafilter", "works on video only" },
  { "fakesrc num-buffers=2 ! vkgdrupload ! vkgdrdownload ! video/x-raw",
      "does not accept this stream|octet" },
};

TEST_ROWS (one_error, test_check_one_error)

/* Each stream has a cause of its own. */
TEST (two_branches)
{
  g_autoptr (GstElement) pipeline = test_launch (
      SOURCE "vkgdrupload ! " SAMPLES " name=one ! fakesink " SOURCE
             "vkgdrupload ! cudafilter name=two "
             "output-caps=video/x-raw,format=GRAY8 ! fakesink");
  g_autoptr (GstBus) bus = gst_element_get_bus (pipeline);
  gboolean one = FALSE, two = FALSE;

  gst_element_set_state (pipeline, GST_STATE_PLAYING);
  while (!one || !two) {
    g_autoptr (GstMessage) message =
        gst_bus_timed_pop_filtered (bus, 20 * GST_SECOND, GST_MESSAGE_ERROR);

    fail_unless (message != NULL, "one: %d, two: %d", one, two);
    one |= g_str_equal (GST_MESSAGE_SRC_NAME (message), "one");
    two |= g_str_equal (GST_MESSAGE_SRC_NAME (message), "two");
  }
  gst_element_set_state (pipeline, GST_STATE_NULL);
}

/* The caps change to some that kernels do not support. cudafilter says so,
 * once.
 */
TEST (refused_caps)
{
  g_autoptr (GstHarness) h =
      gst_harness_new_parse ("vkgdrupload ! cudafilter kernel=invert");
  g_autoptr (GstBus) bus = test_add_bus (h->element);
  g_autoptr (GstCaps) tiles = gst_caps_from_string (
      "video/x-raw,format=NV12_4L4,width=64,height=48,framerate=1/1");

  gst_harness_set_src_caps_str (
      h, "video/x-raw,format=RGBA,width=64,height=48,framerate=1/1");
  gst_harness_push_event (h, gst_event_new_caps (tiles));
  test_assert_message (bus, GST_MESSAGE_ERROR, "Kernels cannot|NV12_4L4");
  gst_harness_push_event (h, gst_event_new_caps (tiles));
  test_assert_no_message (bus, GST_MESSAGE_ERROR);
}

static GstPadProbeReturn
count_query (GstPad *pad, GstPadProbeInfo *info, gpointer user_data)
{
  ++*(guint *) user_data;
  return GST_PAD_PROBE_OK;
}

/* Answering a query posts no message and queries no neighbour upstream, even if
 * the pipeline cannot be negotiated. The error comes when the element starts.
 * At the start of the stream, which comes later in another thread, it queries
 * upstream again. */
TEST (queries_have_no_effects)
{
  g_autoptr (GstElement) pipeline = test_launch (
      "appsrc ! capsfilter caps=video/x-raw,format=RGBA,width=64,height=64 "
      "name=before ! cudafilter kernel=invert ! fakesink async=false");
  g_autoptr (GstElement) before =
      gst_bin_get_by_name (GST_BIN (pipeline), "before");
  g_autoptr (GstPad) peer = gst_element_get_static_pad (before, "src");
  g_autoptr (GstCaps) caps =
      gst_caps_from_string ("video/x-raw,format=RGBA,width=64");
  g_autoptr (GstBus) bus = gst_element_get_bus (pipeline);
  g_autoptr (GstMessage) started = NULL;
  guint n = 0;

  gst_element_set_state (pipeline, GST_STATE_PAUSED);
  test_assert_message (bus, GST_MESSAGE_ERROR, UPLOAD);
  started = gst_bus_timed_pop_filtered (
      bus, 20 * GST_SECOND, GST_MESSAGE_STREAM_START);
  fail_unless (started != NULL);
  gst_bus_set_flushing (bus, TRUE);
  gst_bus_set_flushing (bus, FALSE);
  gst_pad_add_probe (peer,
      GST_PAD_PROBE_TYPE_QUERY_UPSTREAM | GST_PAD_PROBE_TYPE_PUSH, count_query,
      &n, NULL);
  gst_caps_unref (gst_pad_peer_query_caps (peer, NULL));
  gst_caps_unref (gst_pad_peer_query_caps (peer, caps));
  fail_if (gst_pad_peer_query_accept_caps (peer, caps));
  test_assert_no_message (bus, GST_MESSAGE_ERROR);
  test_assert_no_message (bus, GST_MESSAGE_WARNING);
  fail_unless_equals_int (n, 0);
  gst_element_set_state (pipeline, GST_STATE_NULL);
}

/* --- files --------------------------------------------------------------- */

TEST_FIXTURE (folder_setup, folder_teardown);

TEST (playbin)
{
  g_autofree gchar *path = g_build_filename (folder, "film.ogg", NULL);
  g_autofree gchar *uri = g_filename_to_uri (path, NULL, NULL);
  g_autoptr (GstElement) film = test_launch (
      "videotestsrc num-buffers=10 ! video/x-raw,width=64,height=48 ! "
      "theoraenc ! oggmux ! filesink location=\"%s\"",
      path);
  g_autoptr (GstElement) player = test_launch (
      "playbin uri=%s video-filter=\"vkgdrupload ! cudafilter "
      "kernel=invert ! vkgdrdownload\" video-sink=\"jpegenc ! fakesink\"",
      uri);

  test_play (film);
  test_play (player);
}

TEST_FIXTURE (NULL, NULL);

/* The source takes the format that the encoder prefers, as with identity. */
TEST_LOOP (order_of_formats, 4)
{
  static const gchar *const elements[] = { "identity",
    "vkgdrupload ! vkgdrdownload", "vkgdrupload ! " COPY " ! vkgdrdownload",
    "vkgdrupload ! cudafilter kernel=convert ! vkgdrdownload" };
  g_autoptr (GstElement) pipeline = test_launch (
      "videotestsrc num-buffers=1 ! %s ! theoraenc name=encoder ! fakesink",
      elements[__i__]);
  g_autoptr (GstPad) pad = NULL;
  g_autoptr (GstCaps) caps = NULL;

  test_play_on (pipeline);
  pad = gst_element_get_static_pad (test_find (pipeline, "encoder"), "sink");
  caps = gst_pad_get_current_caps (pad);
  fail_unless_equals_string (
      gst_structure_get_string (gst_caps_get_structure (caps, 0), "format"),
      "I420");
  gst_element_set_state (pipeline, GST_STATE_NULL);
}

/* --- metas --------------------------------------------------------------- */

#define FLIP(method) "cudafilter kernel=flip params=params,method=" method
#define CROP(sides) "videocrop " sides

/* Where a region of 20x10 at (16, 8) of a picture of 64x48 is in the output.
 * Before GStreamer 1.28, a region would be at the wrong place in a picture that
 * is turned or mirrored, so it is dropped. */
static const struct {
  const gchar *elements, *region;
  gboolean is_turned, is_cropped;
} metas[] = {
  { "cudafilter kernel=invert", "16,8 20x10" }, /* in place */
  { "cudafilter kernel=blur", "16,8 20x10" },
  { "cudafilter kernel=convert output-caps=video/x-raw,width=32,height=96",
      "8,16 10x20" },
  { FLIP ("0"), "16,8 20x10" },
  { FLIP ("1"), "30,16 10x20", TRUE },
  { FLIP ("2"), "28,30 20x10", TRUE },
  { FLIP ("3"), "8,28 10x20", TRUE },
  { FLIP ("4"), "28,8 20x10", TRUE },
  { FLIP ("5"), "16,30 20x10", TRUE },
  { FLIP ("6"), "8,16 10x20", TRUE },
  { FLIP ("7"), "30,28 10x20", TRUE },
  /* videocrop adds a GstVideoCropMeta. Regions end at the picture's borders,
   * and one that is outside is removed. */
  { CROP ("left=20 top=10"), "0,0 16x8", FALSE, TRUE },
  { CROP ("left=20 top=10 ! cudafilter kernel=invert"), "0,0 16x8", FALSE,
      TRUE },
  { CROP ("right=34 bottom=36 ! cudafilter kernel=invert"), "16,8 14x4" },
  { CROP ("left=36 ! cudafilter kernel=invert"), "no region", FALSE, TRUE },
  { CROP ("bottom=40"), "no region" },
};

/* Describes time stamp, duration, offset, flag, region and other metas. */
static gchar *
describe_buffer (GstBuffer *buffer)
{
  const GstVideoRegionOfInterestMeta *region = (gpointer) gst_buffer_get_meta (
      buffer, GST_VIDEO_REGION_OF_INTEREST_META_API_TYPE);
  g_autofree gchar *place = region ? g_strdup_printf ("%u,%u %ux%u", region->x,
                                region->y, region->w, region->h)
                                   : g_strdup ("no region");

  return g_strdup_printf ("%u s, %u s, %u, %d; %s; %u, %u, %u",
      (guint) GST_TIME_AS_SECONDS (GST_BUFFER_PTS (buffer)),
      (guint) GST_TIME_AS_SECONDS (GST_BUFFER_DURATION (buffer)),
      (guint) GST_BUFFER_OFFSET (buffer),
      GST_BUFFER_FLAG_IS_SET (buffer, GST_BUFFER_FLAG_MARKER), place,
      gst_buffer_get_n_meta (buffer, GST_REFERENCE_TIMESTAMP_META_API_TYPE),
      gst_buffer_get_n_meta (buffer, GST_VIDEO_CODEC_ALPHA_META_API_TYPE),
      gst_buffer_get_n_meta (buffer, GST_VIDEO_CROP_META_API_TYPE));
}

static GstBuffer *
make_buffer (void)
{
  g_autoptr (GstCaps) clock = gst_caps_new_empty_simple ("timestamp/x-test");
  GstBuffer *buffer = gst_buffer_new_allocate (NULL, 64 * 48 * 4, NULL);

  gst_buffer_memset (buffer, 0, 0, -1);
  GST_BUFFER_PTS (buffer) = 5 * GST_SECOND;
  GST_BUFFER_DURATION (buffer) = GST_SECOND;
  GST_BUFFER_OFFSET (buffer) = 7;
  GST_BUFFER_FLAG_SET (buffer, GST_BUFFER_FLAG_MARKER);
  gst_buffer_add_reference_timestamp_meta (buffer, clock, 42, 43);
  gst_buffer_add_video_afd_meta (
      buffer, 0, GST_VIDEO_AFD_SPEC_ATSC_A53, GST_VIDEO_AFD_4_3_FULL_16_9_FULL);
  gst_buffer_add_video_codec_alpha_meta (buffer, gst_buffer_new ());
  gst_buffer_add_video_region_of_interest_meta (buffer, "cat", 16, 8, 20, 10);
  return buffer;
}

/* Time stamps, flags and metas go with the picture. */
TEST (metas)
{
  guint i;

  for (i = 0; i < G_N_ELEMENTS (metas); i++) {
    gboolean is_kept = !metas[i].is_turned || GST_CHECK_VERSION (1, 27, 0);
    g_autofree gchar *elements =
        g_strdup_printf ("vkgdrupload ! %s ! vkgdrdownload", metas[i].elements);
    g_autofree gchar *got = NULL, *wanted = NULL;
    g_autoptr (GstHarness) h = gst_harness_new_parse (elements);
    g_autoptr (GstBuffer) buffer = NULL;

    gst_harness_set_src_caps_str (
        h, "video/x-raw,format=RGBA,width=64,height=48,framerate=1/1");
    buffer = gst_harness_push_and_pull (h, make_buffer ());
    got = describe_buffer (buffer);
    wanted = g_strdup_printf (
        "5 s, 1 s, 7, 1; %s; 1, 1, 0", is_kept ? metas[i].region : "no region");
    fail_unless (
        g_str_equal (got, wanted), "%s: %s, not %s", elements, got, wanted);
    fail_unless (metas[i].is_turned || metas[i].is_cropped
                 || gst_buffer_get_meta (buffer, GST_VIDEO_AFD_META_API_TYPE));
  }
}

/* Where the point (10, 20) of the output of these elements is in their input of
 * 64x48, as videoscale and videoflip give it. */
static const struct {
  const gchar *elements;
  gdouble x, y;
} points[] = {
  { "cudafilter kernel=invert", 10, 20 },
  { "cudafilter kernel=convert output-caps=video/x-raw,width=32,height=96", 20,
      10 },
  { FLIP ("1"), 20, 38 },
  { FLIP ("2"), 54, 28 },
  { FLIP ("3"), 44, 10 },
  { FLIP ("4"), 54, 20 },
  { FLIP ("5"), 10, 28 },
  { FLIP ("6"), 20, 10 },
  { FLIP ("7"), 44, 38 },
  { CROP ("left=30 top=10 ! cudafilter kernel=invert"), 40, 30 },
  { "videoscale ! video/x-raw,width=32,height=96 ! vkgdrupload", 20, 10 },
  { "vkgdrtensor width=32 height=96 resize=stretch", 20, 10 },
  { "vkgdrtensor width=64 height=64 resize=letterbox", 10, 12 },
};

/* What a user points at is the same place for the elements before. */
TEST (navigation)
{
  guint i;

  for (i = 0; i < G_N_ELEMENTS (points); i++) {
    const gchar *up =
        strstr (points[i].elements, "vkgdrupload") ? "identity" : "vkgdrupload";
    g_autofree gchar *elements =
        g_strdup_printf ("%s ! %s ! vkgdrdownload", up, points[i].elements);
    g_autoptr (GstHarness) h = gst_harness_new_parse (elements);
    g_autoptr (GstEvent) event = NULL;
    gdouble x = 10, y = 20;

    gst_harness_set_src_caps_str (
        h, "video/x-raw,format=RGBA,width=64,height=48,framerate=1/1");
    gst_buffer_unref (gst_harness_push_and_pull (h, make_buffer ()));
    while ((event = gst_harness_try_pull_upstream_event (h)))
      gst_clear_event (&event);
    gst_harness_push_upstream_event (
        h, gst_event_new_navigation (gst_structure_new (
               "application/x-gst-navigation", "event", G_TYPE_STRING,
               "mouse-move", "button", G_TYPE_INT, 0, "pointer_x",
               G_TYPE_DOUBLE, x, "pointer_y", G_TYPE_DOUBLE, y, NULL)));
    event = gst_harness_pull_upstream_event (h);
    fail_unless (gst_structure_get (gst_event_get_structure (event),
        "pointer_x", G_TYPE_DOUBLE, &x, "pointer_y", G_TYPE_DOUBLE, &y, NULL));
    fail_unless (x == points[i].x && y == points[i].y, "%s: %g, %g",
        points[i].elements, x, y);
  }
}
