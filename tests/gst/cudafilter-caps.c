/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * cudafilter-caps.c: tests of cudafilter's answers to caps queries, and of the
 * errors that it posts if it cannot negotiate with its neighbours, in pipelines
 * and in playbin
 */

#include <glib/gstdio.h>
#include <gst/check/gstharness.h>
#include <gst/video/gstvideocodecalphameta.h>
#include <gst/video/video.h>

#include "rig.h"
#include "util.h"

#define VKGDR "(" GST_CAPS_FEATURE_MEMORY_VKGDR_MEMORY ")"
#define RGBA "video/x-raw" VKGDR ",format=RGBA,width=64,height=48,framerate=1/1"

#define SAMPLES "__global__ void own (VkgdrSamples in, VkgdrSamples out) { }"
#define FRAMES "__global__ void own (VkgdrFrame in, VkgdrFrame out) { }"

/* --- queries ------------------------------------------------------------- */

static GstHarness *
harness_new (const gchar *property, const gchar *value)
{
  g_autoptr (GstElement) filter = gst_element_factory_make ("cudafilter", NULL);
  GstHarness *h;

  gst_object_ref_sink (filter);
  gst_util_set_object_arg (G_OBJECT (filter), property, value);
  h = gst_harness_new_with_element (filter, "sink", "src");
  return h;
}

static const struct {
  const gchar *property, *value;
  const gchar *caps;
  gboolean accepted;
} accepted[] = {
  { "kernel", "copy", "image/jpeg,width=64,height=48", FALSE },
  { "kernel", "copy", "image/jpeg" VKGDR ",width=64,height=48", FALSE },
  { "kernel", "copy",
      "video/x-raw(memory:GLMemory),format=RGBA,width=64,height=48", FALSE },
  { "kernel", "copy", "video/x-raw,format=RGBA,width=64,height=48", FALSE },
  { "kernel", "copy", RGBA, TRUE },
  { "kernel", "copy", "video/x-raw" VKGDR ",format=NV12_4L4,width=64,height=48",
      FALSE },
  { "kernel", "copy", "video/x-bayer" VKGDR ",format=bggr", FALSE },
  { "kernel", "copy",
      "audio/x-raw" VKGDR ",format=S16LE,rate=1,channels=1,layout=interleaved",
      FALSE },
  { "pixel", "rgba.r=0",
      "audio/x-raw" VKGDR ",format=S16LE,rate=1,channels=1,layout=interleaved",
      FALSE },
  { "source", SAMPLES,
      "audio/x-raw" VKGDR ",format=S16LE,rate=1,channels=1,layout=interleaved",
      TRUE },
  { "source", SAMPLES, "application/x-anything" VKGDR, TRUE },
  { "source", SAMPLES, "application/x-anything", FALSE },
  { "source", SAMPLES, RGBA, FALSE },
  { "source", FRAMES, RGBA, TRUE },
  { "source", FRAMES, "application/x-anything" VKGDR, FALSE },
};

/* Checks that an accept-caps query and a caps query with a filter give the same
 * answer. */
TEST_LOOP (sink_queries, G_N_ELEMENTS (accepted))
{
  g_autoptr (GstHarness) h =
      harness_new (accepted[__i__].property, accepted[__i__].value);
  g_autoptr (GstPad) pad = gst_element_get_static_pad (h->element, "sink");
  g_autoptr (GstCaps) caps = gst_caps_from_string (accepted[__i__].caps),
                      answer = NULL;

  test_settle (h->element);
  fail_unless_equals_int (
      gst_pad_query_accept_caps (pad, caps), accepted[__i__].accepted);
  answer = gst_pad_query_caps (pad, caps);
  fail_unless (gst_caps_is_empty (answer) == !accepted[__i__].accepted, "%s",
      gst_caps_to_string (answer));
}

/* With a kernel for frames, the caps of the pads have features of GPU memory,
 * and are not ANY. */
TEST (pads_say_what_they_have)
{
  g_autoptr (GstHarness) h = harness_new ("kernel", "copy");
  const gchar *const names[] = { "sink", "src" };
  guint i, k;

  test_settle (h->element);
  for (k = 0; k < 2; k++) {
    g_autoptr (GstPad) pad = gst_element_get_static_pad (h->element, names[k]);
    g_autoptr (GstCaps) caps = gst_pad_query_caps (pad, NULL);

    fail_if (gst_caps_is_any (caps));
    fail_if (gst_caps_is_empty (caps));
    for (i = 0; i < gst_caps_get_size (caps); i++) {
      GstCapsFeatures *features = gst_caps_get_features (caps, i);

      fail_unless (gst_structure_has_name (
          gst_caps_get_structure (caps, i), "video/x-raw"));
      fail_if (gst_caps_features_is_any (features));
      fail_unless (gst_caps_features_contains (
                       features, GST_CAPS_FEATURE_MEMORY_VKGDR_MEMORY)
                   || gst_vkgdr_caps_features_are_cuda (features));
    }
  }
}

/* output-caps concern only the output. If a kernel cannot produce them, this
 * does not restrict the caps of the input. */
TEST (output_caps_leave_the_source_alone)
{
  g_autoptr (GstHarness) h = harness_new ("kernel", "blur");
  g_autoptr (GstPad) pad = gst_element_get_static_pad (h->element, "sink");
  g_autoptr (GstCaps) filter =
      gst_caps_from_string ("video/x-raw" VKGDR ",format=RGBA");
  g_autoptr (GstCaps) answer = NULL;
  const GValue *width;

  gst_util_set_object_arg (
      G_OBJECT (h->element), "output-caps", "video/x-raw,width=32");
  test_settle (h->element);
  answer = gst_pad_query_caps (pad, filter);
  fail_if (gst_caps_is_empty (answer));
  width = gst_structure_get_value (gst_caps_get_structure (answer, 0), "width");
  fail_unless (width == NULL || !G_VALUE_HOLDS_INT (width), "%s",
      gst_caps_to_string (answer));
}

/* --- pipelines ----------------------------------------------------------- */

static const struct {
  const gchar *pipeline;
  const gchar *words[4];
} forgotten[] = {
  { "videotestsrc name=source ! cudafilter ! fakesink",
      { "source sends", "video/x-raw", "Put vkgdrupload between" } },
  { "videotestsrc ! videoconvert name=before ! cudafilter ! fakesink",
      { "before sends", "Put vkgdrupload between" } },
  { "videotestsrc ! queue name=before ! cudafilter kernel=convert ! fakesink",
      { "before sends", "Put vkgdrupload between" } },
  { "videotestsrc ! capsfilter name=before caps=video/x-raw,format=NV12 ! "
    "cudafilter pixel=rgba.r=0 ! vkgdrdownload ! fakesink",
      { "before sends", "NV12", "Put vkgdrupload between" } },
  { "audiotestsrc name=source ! cudafilter source=\"" SAMPLES "\" ! fakesink",
      { "source sends", "audio/x-raw", "Put vkgdrupload between" } },
  { "videotestsrc num-buffers=1 ! jpegenc ! jpegdec name=decoder ! cudafilter "
    "! fakesink",
      { "decoder sends", "Put vkgdrupload between" } },
  { "videotestsrc ! vkgdrupload ! cudafilter ! capsfilter name=after "
    "caps=video/x-raw ! fakesink",
      { "after accepts", "video/x-raw", "Put vkgdrdownload between" } },
  { "videotestsrc ! vkgdrupload ! cudafilter ! capsfilter name=after "
    "caps=video/x-raw" VKGDR ",format=NOPE ! fakesink",
      { "after accepts", "NOPE is no format" } },
  { "videotestsrc ! vkgdrupload ! cudafilter kernel=blur "
    "output-caps=video/x-raw,format=GRAY8 ! fakesink",
      { "output-caps cannot be met" } },
  { "videotestsrc ! vkgdrupload ! cudafilter ! jpegenc name=after ! fakesink",
      { "after accepts", "Put vkgdrdownload between" } },
  { "videotestsrc ! vkgdrupload ! cudafilter kernel=convert ! videoconvert "
    "name=after ! jpegenc ! fakesink",
      { "after accepts", "Put vkgdrdownload between" } },
  { "videotestsrc ! vkgdrupload ! cudafilter ! queue name=after ! videoscale ! "
    "pngenc ! fakesink",
      { "after accepts", "Put vkgdrdownload between" } },
};

/* The pipelines are parsed as gst-launch-1.0 parses them. */
TEST_LOOP (forgotten_elements, G_N_ELEMENTS (forgotten))
{
  g_autoptr (GstElement) pipeline =
      test_launch ("%s", forgotten[__i__].pipeline);

  g_autoptr (GError) error =
      test_play_error_with (pipeline, forgotten[__i__].words[0]);
  guint i;

  for (i = 1; i < 4 && forgotten[__i__].words[i]; i++)
    fail_unless (strstr (error->message, forgotten[__i__].words[i]) != NULL,
        "\"%s\" lacks \"%s\"", error->message, forgotten[__i__].words[i]);
}

/* Users read the first error. It is not GStreamer's own "not-negotiated". */
TEST (forgotten_upload_is_the_first_error)
{
  static const gchar *const sources[] = { "videotestsrc",
    "videotestsrc ! videoconvert" };
  guint i;

  for (i = 0; i < G_N_ELEMENTS (sources); i++) {
    GstElement *pipeline =
        test_launch ("%s ! cudafilter ! fakesink", sources[i]);
    GError *error = test_play_error (pipeline);

    fail_unless (strstr (error->message, "Put vkgdrupload between") != NULL,
        "%s: %s", sources[i], error->message);
    g_error_free (error);
    gst_object_unref (pipeline);
  }
}

static GstPadProbeReturn
count_query (GstPad *pad, GstPadProbeInfo *info, gpointer user_data)
{
  ++*(guint *) user_data;
  return GST_PAD_PROBE_OK;
}

/* Answering a query posts no message and queries no neighbour upstream, even if
 * the pipeline cannot be negotiated. */
TEST (queries_have_no_effects)
{
  g_autoptr (GstElement) pipeline = test_launch (
      "appsrc ! capsfilter caps=video/x-raw,format=RGBA,width=64,height=64 "
      "name=before ! cudafilter name=filter kernel=invert ! fakesink "
      "async=false");
  g_autoptr (GstElement) filter =
      gst_bin_get_by_name (GST_BIN (pipeline), "filter");
  g_autoptr (GstElement) before =
      gst_bin_get_by_name (GST_BIN (pipeline), "before");
  g_autoptr (GstPad) pad = gst_element_get_static_pad (filter, "sink");
  g_autoptr (GstPad) peer = gst_element_get_static_pad (before, "src");
  g_autoptr (GstCaps) caps =
      gst_caps_from_string ("video/x-raw,format=RGBA,width=64");
  g_autoptr (GstBus) bus = gst_element_get_bus (pipeline);
  GstMessage *message;
  guint n = 0;

  /* The start of the stream tells that vkgdrupload is missing. */
  gst_element_set_state (pipeline, GST_STATE_PAUSED);
  message =
      gst_bus_timed_pop_filtered (bus, GST_CLOCK_TIME_NONE, GST_MESSAGE_ERROR);
  gst_message_unref (message);
  gst_bus_set_flushing (bus, TRUE);
  gst_bus_set_flushing (bus, FALSE);
  gst_pad_add_probe (peer,
      GST_PAD_PROBE_TYPE_QUERY_UPSTREAM | GST_PAD_PROBE_TYPE_PUSH, count_query,
      &n, NULL);
  gst_caps_unref (gst_pad_query_caps (pad, NULL));
  gst_caps_unref (gst_pad_query_caps (pad, caps));
  fail_if (gst_pad_query_accept_caps (pad, caps));
  message = gst_bus_timed_pop_filtered (
      bus, GST_SECOND / 5, GST_MESSAGE_ERROR | GST_MESSAGE_WARNING);
  fail_unless (message == NULL);
  fail_unless_equals_int (n, 0);
  gst_element_set_state (pipeline, GST_STATE_NULL);
}

/* --- files --------------------------------------------------------------- */

/* Makes a file of ten frames. The caller frees its name, and removes it. */
static gchar *
make_file (void)
{
  gchar *path = g_strdup ("/tmp/vkgdr-caps-XXXXXX");
  g_autoptr (GstElement) pipeline = NULL;
  gint fd = g_mkstemp (path);

  fail_unless (fd >= 0);
  g_close (fd, NULL);
  pipeline = test_launch ("videotestsrc num-buffers=10 ! "
                          "video/x-raw,width=64,height=48 ! theoraenc ! oggmux "
                          "! filesink location=%s",
      path);
  test_play (pipeline);
  return path;
}

static GstElement *
make_bin (const gchar *description)
{
  GError *error = NULL;
  GstElement *bin = gst_parse_bin_from_description (description, TRUE, &error);

  fail_unless (bin != NULL, "%s", error ? error->message : "");
  return bin;
}

#define CHAIN "vkgdrupload ! cudafilter kernel=invert ! vkgdrdownload"

/* The filter is the video-filter of playbin. */
TEST (playbin)
{
  GstElement *playbin = gst_element_factory_make ("playbin", NULL);
  g_autofree gchar *path = make_file (),
                   *uri = gst_filename_to_uri (path, NULL);

  fail_unless (playbin != NULL);
  g_object_set (playbin, "uri", uri, "video-filter", make_bin (CHAIN),
      "video-sink", make_bin ("jpegenc ! fakesink"), NULL);
  test_play (playbin);
  gst_object_unref (playbin);
  g_unlink (path);
}

static const gchar *const decoders[] = {
  "decodebin ! vkgdrupload ! cudafilter ! vkgdrdownload ! fakesink",
  "decodebin ! videoconvert ! vkgdrupload ! cudafilter kernel=convert ! "
  "vkgdrdownload ! video/x-raw,format=GRAY8 ! fakesink",
  "parsebin ! theoradec ! vkgdrupload ! cudafilter ! vkgdrdownload ! "
  "fakesink",
};

TEST_LOOP (decoders, G_N_ELEMENTS (decoders))
{
  g_autofree gchar *path = make_file ();
  GstElement *pipeline =
      test_launch ("filesrc location=%s ! %s", path, decoders[__i__]);

  test_play (pipeline);
  gst_object_unref (pipeline);
  g_unlink (path);
}

static GstPadProbeReturn
count_negotiations (GstPad *pad, GstPadProbeInfo *info, gpointer user_data)
{
  if (GST_QUERY_TYPE (GST_PAD_PROBE_INFO_QUERY (info)) == GST_QUERY_ALLOCATION
      && GST_PAD_PROBE_INFO_TYPE (info) & GST_PAD_PROBE_TYPE_PUSH)
    (*(guint *) user_data)++;
  return GST_PAD_PROBE_OK;
}

/* If output-caps name a memory, the output is negotiated again: it may have
 * been in another memory. */
TEST (named_memory_is_negotiated)
{
  g_autoptr (GstCaps) in_any = gst_caps_from_string ("video/x-raw,format=RGBA");
  g_autoptr (GstCaps) named =
      gst_caps_from_string ("video/x-raw" VKGDR ",format=RGBA");
  guint n = 0;
  g_autoptr (GstPad) pad = NULL;
  g_auto (Rig) rig = { 0 };

  rig_init (&rig, "kernel=copy");
  g_object_set (rig.filter, "output-caps", in_any, NULL);
  rig_start (&rig, RGBA_2X1);
  rig_red (&rig);
  pad = gst_element_get_static_pad (rig.filter, "src");
  gst_pad_add_probe (
      pad, GST_PAD_PROBE_TYPE_QUERY_DOWNSTREAM, count_negotiations, &n, NULL);
  g_object_set (rig.filter, "output-caps", in_any, NULL);
  rig_red (&rig);
  fail_unless_equals_int (n, 0);
  g_object_set (rig.filter, "output-caps", named, NULL);
  rig_red (&rig);
  fail_unless (n > 0);
}

typedef struct {
  GstElement *filter;
  gint stop;
} Setter;

static gpointer
set_all_the_time (gpointer user_data)
{
  static const gchar *const outputs[] = {
    "video/x-raw,format=RGBA,width=64,height=48", "video/x-raw,format=NV12",
    "video/x-raw,width=32;video/x-raw,width=[16,64]", "ANY"
  };
  Setter *setter = user_data;
  guint i;

  for (i = 0; !g_atomic_int_get (&setter->stop); i++) {
    g_autoptr (GstCaps) output =
        gst_caps_from_string (outputs[i % G_N_ELEMENTS (outputs)]);
    g_autoptr (GstStructure) params =
        gst_structure_new ("params", "method", G_TYPE_INT, i / 4 % 2, NULL);

    g_object_set (setter->filter, "output-caps", output, "kernel", "convert",
        "params", i % 3 ? params : NULL, NULL);
    g_usleep (1000);
  }
  return NULL;
}

/* All caps that are negotiated beside frames are subsets of what the queries
 * ask for: otherwise GStreamer logs a warning, which fails this test. */
TEST (output_caps_change_beside_frames)
{
  g_autoptr (GstElement) pipeline = test_launch (
      "videotestsrc num-buffers=300 ! "
      "video/x-raw,format=RGBA,width=64,height=48,pixel-aspect-ratio=1/1 ! "
      "vkgdrupload ! cudafilter name=filter kernel=convert "
      "output-caps=video/x-raw,format=RGBA,width=64,height=48 ! "
      "vkgdrdownload ! videoscale ! fakesink");
  g_autoptr (GstElement) filter =
      gst_bin_get_by_name (GST_BIN (pipeline), "filter");
  Setter setter = { filter };
  GThread *thread = g_thread_new ("setter", set_all_the_time, &setter);

  test_play (pipeline);
  g_atomic_int_set (&setter.stop, TRUE);
  g_thread_join (thread);
}

/* The order of formats is that of the query's filter, or without a filter that
 * of downstream, as with any element that does not prefer formats. */
TEST_LOOP (order_of_formats, 4)
{
  static const gchar *const kernels[] = { "copy", "convert" };
  static const gchar *const order[] = { "Y444", "I420_10LE", "NV12", "I420" };
  g_autoptr (GstHarness) h = harness_new ("kernel", kernels[__i__ % 2]);
  g_autoptr (GstCaps) filter = gst_caps_from_string (
      "video/x-raw" VKGDR ",format=(string){Y444,I420_10LE,RGBA,NV12,I420}");
  const GValue *formats;
  g_autoptr (GstCaps) caps = NULL;
  g_autoptr (GstPad) pad = NULL;
  guint i;

  gst_harness_set_sink_caps_str (h,
      __i__ < 2
          ? "video/x-raw" VKGDR ",format=(string){I420,NV12,I420_10LE,Y444}"
          : "video/x-raw" VKGDR ",format=(string){Y444,I420_10LE,NV12,I420}");
  pad = gst_pad_get_peer (h->srcpad);
  caps = gst_pad_query_caps (pad, __i__ < 2 ? filter : NULL);
  formats =
      gst_structure_get_value (gst_caps_get_structure (caps, 0), "format");
  fail_unless_equals_int (
      gst_value_list_get_size (formats), G_N_ELEMENTS (order));
  for (i = 0; i < G_N_ELEMENTS (order); i++)
    fail_unless_equals_string (
        g_value_get_string (gst_value_list_get_value (formats, i)), order[i]);
}

static const struct {
  const gchar *fields, *words;
} impossible[] = {
  { "format=RGBA,width=32768,height=32768", "2 GiB" },
  { "format=RGBA,width=64,height=48,multiview-mode=separated,views=2",
      "glviewconvert" },
};

TEST_LOOP (impossible_frames, G_N_ELEMENTS (impossible))
{
  g_autoptr (GstElement) pipeline =
      test_launch ("appsrc caps=\"video/x-raw" VKGDR ",%s,framerate=1/1\" "
                   "num-buffers=1 ! cudafilter ! fakesink",
          impossible[__i__].fields);
  g_autoptr (GError) error = test_play_error (pipeline);

  test_assert_contains (error->message, impossible[__i__].words);
}

/* A region of interest is scaled with the picture. */
TEST (regions_are_scaled)
{
  g_autoptr (GstHarness) h = gst_harness_new_parse (
      "vkgdrupload ! cudafilter kernel=convert ! vkgdrdownload");
  g_autoptr (GstBuffer) buffer =
      gst_buffer_new_allocate (NULL, 64 * 48 * 4, NULL);
  GstVideoRegionOfInterestMeta *meta;

  gst_harness_set_src_caps_str (
      h, "video/x-raw,format=RGBA,width=64,height=48,framerate=1/1");
  gst_harness_set_sink_caps_str (h, "video/x-raw,width=32,height=96");
  gst_buffer_add_video_region_of_interest_meta (buffer, "cat", 16, 8, 20, 10);
  buffer = gst_harness_push_and_pull (h, buffer);
  meta = gst_buffer_get_video_region_of_interest_meta_id (buffer, 0);
  fail_unless (meta != NULL);
  fail_unless_equals_int (meta->x, 8);
  fail_unless_equals_int (meta->y, 16);
  fail_unless_equals_int (meta->w, 10);
  fail_unless_equals_int (meta->h, 20);
}

/* These do not depend on the size. */
TEST (other_metas_are_kept)
{
  g_autoptr (GstHarness) h = gst_harness_new_parse (
      "vkgdrupload ! cudafilter kernel=convert ! vkgdrdownload");
  g_autoptr (GstBuffer) buffer =
      gst_buffer_new_allocate (NULL, 64 * 48 * 4, NULL);
  GstBuffer *alpha = gst_buffer_new ();

  gst_harness_set_src_caps_str (
      h, "video/x-raw,format=RGBA,width=64,height=48,framerate=1/1");
  gst_harness_set_sink_caps_str (h, "video/x-raw,width=32,height=24");
  gst_buffer_add_video_afd_meta (
      buffer, 0, GST_VIDEO_AFD_SPEC_ATSC_A53, GST_VIDEO_AFD_4_3_FULL_16_9_FULL);
  gst_buffer_add_video_codec_alpha_meta (buffer, alpha);
  buffer = gst_harness_push_and_pull (h, buffer);
  fail_unless (gst_buffer_get_meta (buffer, GST_VIDEO_AFD_META_API_TYPE));
  fail_unless (
      gst_buffer_get_meta (buffer, GST_VIDEO_CODEC_ALPHA_META_API_TYPE));
}

#if GST_CHECK_VERSION(1, 27, 0)
/* A region of interest follows a picture that is turned. */
TEST_LOOP (regions_are_turned, 8)
{
  static const struct {
    gint x, y, w, h;
  } places[] = { { 16, 8, 20, 10 }, { 30, 16, 10, 20 }, { 28, 30, 20, 10 },
    { 8, 28, 10, 20 }, { 28, 8, 20, 10 }, { 16, 30, 20, 10 }, { 8, 16, 10, 20 },
    { 30, 28, 10, 20 } };
  g_autoptr (GstHarness) h = gst_harness_new_parse (
      "vkgdrupload ! cudafilter name=filter kernel=flip ! vkgdrdownload");
  g_autoptr (GstElement) filter = gst_harness_find_element (h, "cudafilter");
  g_autoptr (GstStructure) params =
      gst_structure_new ("params", "method", G_TYPE_INT, __i__, NULL);
  g_autoptr (GstBuffer) buffer =
      gst_buffer_new_allocate (NULL, 64 * 48 * 4, NULL);
  GstVideoRegionOfInterestMeta *meta;

  g_object_set (filter, "params", params, NULL);
  gst_harness_set_src_caps_str (
      h, "video/x-raw,format=RGBA,width=64,height=48,framerate=1/1");
  gst_buffer_add_video_region_of_interest_meta (buffer, "cat", 16, 8, 20, 10);
  buffer = gst_harness_push_and_pull (h, buffer);
  meta = gst_buffer_get_video_region_of_interest_meta_id (buffer, 0);
  fail_unless (meta != NULL);
  fail_unless_equals_int (meta->x, places[__i__].x);
  fail_unless_equals_int (meta->y, places[__i__].y);
  fail_unless_equals_int (meta->w, places[__i__].w);
  fail_unless_equals_int (meta->h, places[__i__].h);
}
#endif
