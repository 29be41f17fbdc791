/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * elements.c: tests of vkgdrupload, cudafilter and vkgdrdownload in pipelines:
 * buffers, caps and contexts, and that nothing is copied without need
 */

#include <gst/app/gstappsrc.h>
#include <gst/check/gstharness.h>

#include "effects-reference.h"
#include "slow.h"
#include "util.h"

#define VKGDR "(" GST_CAPS_FEATURE_MEMORY_VKGDR_MEMORY ")"

/* --- no copies ----------------------------------------------------------- */

/* The buffers that have passed a pad, and the addresses of their bytes. */
typedef struct {
  GMutex lock;
  GPtrArray *buffers; /* addresses, not references */
  GArray *pointers;   /* guint64: device pointers, or 0 for other memory */
} Passed;

static GstPadProbeReturn
note_buffer (GstPad *pad, GstPadProbeInfo *info, gpointer user_data)
{
  Passed *passed = user_data;
  GstBuffer *buffer = GST_PAD_PROBE_INFO_BUFFER (info);
  GstMemory *memory = gst_buffer_peek_memory (buffer, 0);
  guint64 pointer = gst_is_vkgdr_memory (memory)
                        ? gst_vkgdr_memory_get_device_pointer (memory)
                        : 0;

  g_mutex_lock (&passed->lock);
  g_ptr_array_add (passed->buffers, buffer);
  g_array_append_val (passed->pointers, pointer);
  g_mutex_unlock (&passed->lock);
  return GST_PAD_PROBE_OK;
}

static Passed *
passed_new (GstElement *pipeline, const gchar *element, const gchar *pad_name)
{
  g_autoptr (GstElement) e = gst_bin_get_by_name (GST_BIN (pipeline), element);
  g_autoptr (GstPad) pad = gst_element_get_static_pad (e, pad_name);
  Passed *passed = g_new0 (Passed, 1);

  g_mutex_init (&passed->lock);
  passed->buffers = g_ptr_array_new ();
  passed->pointers = g_array_new (FALSE, FALSE, sizeof (guint64));
  gst_pad_add_probe (pad, GST_PAD_PROBE_TYPE_BUFFER, note_buffer, passed, NULL);
  return passed;
}

static void
passed_free (Passed *passed)
{
  g_ptr_array_unref (passed->buffers);
  g_array_unref (passed->pointers);
  g_mutex_clear (&passed->lock);
  g_free (passed);
}

/* Checks that the same @n buffers have passed both pads, and that all of them
 * are in GPU memory. */
static void
assert_same (Passed *a, Passed *b, guint n)
{
  guint i;

  fail_unless_equals_int (a->buffers->len, n);
  fail_unless_equals_int (b->buffers->len, n);
  for (i = 0; i < n; i++) {
    guint64 p = g_array_index (a->pointers, guint64, i);

    fail_unless (
        g_ptr_array_index (a->buffers, i) == g_ptr_array_index (b->buffers, i));
    fail_unless (p != 0);
    fail_unless (p == g_array_index (b->pointers, guint64, i));
  }
}

static const gchar *zero_copy_sources[] = {
  "videotestsrc num-buffers=10 ! video/x-raw,format=NV12,width=320,height=240",
  "videotestsrc num-buffers=10 ! video/x-raw,format=RGBA,width=33,height=17",
  "audiotestsrc num-buffers=10",
  "filesrc num-buffers=10 blocksize=4096 location=/proc/self/exe",
};

/* The next element gets the buffer that upstream has written. */
TEST_LOOP (upload_copies_nothing, G_N_ELEMENTS (zero_copy_sources))
{
  g_autoptr (GstElement) pipeline =
      test_launch ("%s ! identity name=before ! vkgdrupload name=up ! "
                   "fakesink name=after",
          zero_copy_sources[__i__]);
  Passed *before = passed_new (pipeline, "before", "sink");
  Passed *after = passed_new (pipeline, "after", "sink");

  test_play (pipeline);
  assert_same (before, after, 10);
  passed_free (after);
  passed_free (before);
}

/* The kernel reads the buffer that upstream has written. */
TEST (kernel_reads_what_was_written)
{
  g_autoptr (GstElement) pipeline = test_launch (
      "videotestsrc num-buffers=10 name=src ! "
      "video/x-raw,format=RGBA,width=64,height=48 ! vkgdrupload ! cudafilter "
      "name=filter ! vkgdrdownload ! fakesink");
  Passed *written = passed_new (pipeline, "src", "src");
  Passed *read = passed_new (pipeline, "filter", "sink");

  test_play (pipeline);
  assert_same (written, read, 10);
  passed_free (read);
  passed_free (written);
}

/* Checks the property `stats` of the elements after ten frames of 12288 bytes.
 * The frames are written with the access mode @access, or copied. All bytes
 * must be counted in @field. */
static void
check_figures (const gchar *source, const gchar *access, const gchar *field)
{
  const gchar *fields[] = { "bytes-direct", "bytes-staged", "bytes-dma",
    "bytes-peer", "bytes-copied", "bytes-untouched" };
  g_autoptr (GstElement) pipeline = test_launch (
      "%s ! video/x-raw,format=RGBA,width=64,height=48 ! %s ! vkgdrupload "
      "name=up access=%s ! cudafilter name=filter ! vkgdrdownload name=down ! "
      "fakesink sync=false",
      "videotestsrc num-buffers=10", source, access);
  g_autoptr (GstBus) bus = gst_element_get_bus (pipeline);
  guint i;

  gst_element_set_state (pipeline, GST_STATE_PLAYING);
  gst_message_unref (
      gst_bus_timed_pop_filtered (bus, 50 * GST_SECOND, GST_MESSAGE_EOS));
  fail_unless_equals_uint64 (test_stat_of (pipeline, "up", "frames"), 10);
  fail_unless_equals_uint64 (test_stat_of (pipeline, "up", "bytes"), 122880);
  for (i = 0; i < G_N_ELEMENTS (fields); i++)
    fail_unless_equals_uint64 (test_stat_of (pipeline, "up", fields[i]),
        g_str_equal (fields[i], field) ? 122880 : 0);
  if (g_str_equal (field, "bytes-direct"))
    fail_unless (test_stat_of (pipeline, "up", "map-time") > 0);
  fail_unless_equals_uint64 (test_stat_of (pipeline, "filter", "frames"), 10);
  fail_unless_equals_uint64 (test_stat_of (pipeline, "down", "frames"), 10);
  fail_unless_equals_uint64 (
      test_stat_of (pipeline, "down", "bytes-dma"), 122880);
  gst_element_set_state (pipeline, GST_STATE_NULL);
}

TEST (figures)
{
  test_set_debug ("bar");
  check_figures ("identity", "direct",
      test_hides_vulkan () ? "bytes-staged" : "bytes-direct");
  check_figures ("identity", "staged", "bytes-staged");
  check_figures ("identity drop-allocation=true", "auto", "bytes-copied");
}

/* kernel-time is the median of the times that the device has measured, as soon
 * as it has measured one. */
TEST (kernel_time)
{
  g_autoptr (GstHarness) h = gst_harness_new_parse (
      "vkgdrupload ! cudafilter kernel=blur ! vkgdrdownload");
  g_autoptr (GstElement) filter = gst_harness_find_element (h, "cudafilter");
  g_autoptr (GstStructure) stats = NULL;
  gint64 start = g_get_monotonic_time (); /* microseconds */
  guint64 time = 0;
  guint i;

  gst_harness_set_src_caps_str (
      h, "video/x-raw,format=RGBA,width=64,height=64,framerate=1/1");
  for (i = 0; i < 20; i++)
    gst_buffer_unref (gst_harness_push_and_pull (
        h, gst_buffer_new_allocate (NULL, 64 * 64 * 4, NULL)));
  g_object_get (filter, "stats", &stats, NULL);
  fail_unless (gst_structure_get_uint64 (stats, "kernel-time", &time));
  fail_unless (
      time > 0
      && time < (guint64) (g_get_monotonic_time () - start) * GST_USECOND);
}

/* --- bytes --------------------------------------------------------------- */

/* Pushes @n buffers of @size bytes of pattern in system memory. Each is divided
 * into @n_memories memories. */
static void
push_patterns (GstElement *pipeline, guint n, gsize size, guint n_memories)
{
  g_autoptr (GstElement) src = gst_bin_get_by_name (GST_BIN (pipeline), "src");
  guint i, m;

  for (i = 0; i < n; i++) {
    guint8 *data = g_malloc (size);
    GstBuffer *buffer = gst_buffer_new ();

    test_fill (data, size, i);
    for (m = 0; m < n_memories; m++) {
      gsize from = size * m / n_memories, to = size * (m + 1) / n_memories;
      GstMemory *memory = gst_allocator_alloc (NULL, to - from, NULL);
      GstMapInfo map;

      gst_memory_map (memory, &map, GST_MAP_WRITE);
      memcpy (map.data, data + from, to - from);
      gst_memory_unmap (memory, &map);
      gst_buffer_append_memory (buffer, memory);
    }
    GST_BUFFER_PTS (buffer) = i * GST_SECOND;
    g_free (data);
    gst_app_src_push_buffer (GST_APP_SRC (src), buffer);
  }
  gst_app_src_end_of_stream (GST_APP_SRC (src));
}

static const struct {
  const gchar *caps;
  gsize size;
  guint n_memories;
} arbitrary[] = {
  { "application/octet-stream", 1, 1 },
  { "application/octet-stream", 65537, 3 },
  { "audio/x-raw,format=S16LE,layout=interleaved,rate=48000,channels=2", 4096,
      1 },
  { "image/jpeg", 12345, 2 },
  { "video/x-raw,format=I420,width=17,height=13,framerate=1/1",
      20 * 14 + 2 * 12 * 7, 3 },
  { "video/x-raw,format=GRAY16_LE,width=17,height=13,framerate=1/1", 36 * 13,
      1 },
};

/* Memory of another allocator that is uploaded and downloaded again has the
 * same content. */
TEST_LOOP (anything_goes_up_and_down, G_N_ELEMENTS (arbitrary))
{
  g_autoptr (GstElement) pipeline = test_launch (
      "appsrc name=src format=time caps=%s ! vkgdrupload ! identity name=mid ! "
      "vkgdrdownload ! appsink name=sink",
      arbitrary[__i__].caps);
  Passed *mid = passed_new (pipeline, "mid", "sink");
  g_autoptr (GPtrArray) buffers = NULL;
  guint i;

  push_patterns (
      pipeline, 5, arbitrary[__i__].size, arbitrary[__i__].n_memories);
  buffers = test_play_buffers (pipeline);
  fail_unless_equals_int (buffers->len, 5);
  for (i = 0; i < buffers->len; i++) {
    GstBuffer *buffer = g_ptr_array_index (buffers, i);
    GstMapInfo map;

    fail_unless (g_array_index (mid->pointers, guint64, i) != 0);
    fail_unless (!gst_is_vkgdr_memory (gst_buffer_peek_memory (buffer, 0)));
    gst_buffer_map (buffer, &map, GST_MAP_READ);
    fail_unless_equals_int (map.size, arbitrary[__i__].size);
    fail_unless (test_matches (map.data, map.size, i));
    gst_buffer_unmap (buffer, &map);
    fail_unless_equals_uint64 (GST_BUFFER_PTS (buffer), i * GST_SECOND);
  }
  passed_free (mid);
}

typedef struct {
  GstElement *src;
  GstBufferPool *pool;
  guint n;
} Writer;

/* Fills all bytes of each frame with its number. The pool of upstream has few
 * buffers, which are reused. */
static gpointer
write_frames (gpointer user_data)
{
  Writer *writer = user_data;
  guint i;

  for (i = 0; i < writer->n; i++) {
    GstBuffer *buffer = NULL;
    GstMapInfo map;

    if (gst_buffer_pool_acquire_buffer (writer->pool, &buffer, NULL)
        != GST_FLOW_OK)
      return NULL;
    gst_buffer_map (buffer, &map, GST_MAP_WRITE);
    memset (map.data, (guint8) i, map.size);
    gst_buffer_unmap (buffer, &map);
    GST_BUFFER_PTS (buffer) = i * GST_MSECOND;
    gst_app_src_push_buffer (GST_APP_SRC (writer->src), buffer);
  }
  gst_app_src_end_of_stream (GST_APP_SRC (writer->src));
  return NULL;
}

/* Makes pinning fail, which is only possible on the software device. */
static gboolean
make_pinning_fail (void)
{
  g_autoptr (GstVkgdrContext) context = NULL;

  g_setenv ("VKGDR_DRIVER", "software", TRUE);
  g_setenv ("SOFTCUDA_FAIL",
      "cuMemHostRegister:1,cuMemHostRegister:2,cuMemHostRegister:3", TRUE);
  context = gst_vkgdr_context_new (-1, NULL);
  if (!context)
    return FALSE;
  return TRUE;
}

/* Upstream uses its own pool. Memory of this pool is pinned when it arrives a
 * second time, returned to upstream after the transfer, and unpinned when it is
 * freed. */
static void
check_recycled (gboolean pinning_fails)
{
  g_autoptr (GstVkgdrContext) context = test_context_new ();
  GstElement *pipeline = test_launch (
      "appsrc name=src format=time max-buffers=1 block=true "
      "caps=video/x-raw,format=GRAY8,width=1024,height=512,framerate=1/1 ! "
      "vkgdrupload ! queue ! vkgdrdownload ! appsink name=sink");
  GstElement *src = gst_bin_get_by_name (GST_BIN (pipeline), "src");
  GstCaps *caps = gst_app_src_get_caps (GST_APP_SRC (src));
  GstBufferPool *pool = gst_buffer_pool_new ();
  GstStructure *config = gst_buffer_pool_get_config (pool);
  Writer writer = { src, pool, 40 };
  GPtrArray *buffers;
  GThread *thread;
  guint i, least;

  gst_buffer_pool_config_set_params (config, caps, 1024 * 512, 0, 3);
  fail_unless (gst_buffer_pool_set_config (pool, config));
  fail_unless (gst_buffer_pool_set_active (pool, TRUE));
  test_set_context (pipeline, context);
  test_spy_install (context);
  thread = g_thread_new ("writer", write_frames, &writer);
  buffers = test_play_buffers (pipeline);
  g_thread_join (thread);

  fail_unless_equals_int (buffers->len, writer.n);
  for (i = 0; i < buffers->len; i++) {
    guint8 head, tail;

    gst_buffer_extract (g_ptr_array_index (buffers, i), 0, &head, 1);
    gst_buffer_extract (
        g_ptr_array_index (buffers, i), 1024 * 512 - 1, &tail, 1);
    fail_unless_equals_int (head, (guint8) i);
    fail_unless_equals_int (tail, (guint8) i);
  }
  /* At most three buffers arrive for the first time, and are copied. Without a
   * window, the CPU copies to staging buffers, which are transferred, too. */
  least = test_has_window () ? writer.n - 3 : writer.n;
  if (test_has_window () && pinning_fails)
    least = 0;
  fail_unless (test_spy.htod >= least && (least > 0 || test_spy.htod == 0),
      "%u transfers", test_spy.htod);

  g_ptr_array_unref (buffers);
  gst_buffer_pool_set_active (pool, FALSE);
  gst_object_unref (pool);
  gst_caps_unref (caps);
  gst_object_unref (src);
  gst_object_unref (pipeline);
  /* Pinned memory holds a reference to the context, too. */
  test_assert_last_ref (context);
}

TEST (recycled_foreign_memory)
{
  check_recycled (FALSE);
}

TEST (foreign_memory_that_cannot_be_pinned)
{
  if (make_pinning_fail ())
    check_recycled (TRUE);
}

static const gchar *pipeline_effects[] = { "copy", "invert", "grayscale",
  "gain", "blur", "sobel" };
static const gchar *pipeline_formats[] = { "RGBA", "BGRA", "RGBx", "BGRx",
  "GRAY8", "NV12", "I420" };

/* The first frame that leaves vkgdrdownload is the one that the reference on
 * the CPU computes. */
static void
check_effect (const gchar *effect, const gchar *format)
{
  g_autoptr (GstElement) pipeline = test_launch (
      "videotestsrc num-buffers=2 pattern=snow ! "
      "video/x-raw,format=%s,width=35,height=21 ! tee name=t ! queue ! "
      "vkgdrupload ! cudafilter kernel=%s ! vkgdrdownload ! appsink name=sink "
      "t. ! queue ! appsink name=plain sync=false",
      format, effect);
  g_autoptr (GstElement) plain =
      gst_bin_get_by_name (GST_BIN (pipeline), "plain");
  GstVideoInfo info;
  g_autoptr (GPtrArray) buffers = NULL;
  g_autoptr (GstSample) sample = NULL;
  GstMapInfo in, out;
  guint8 *expected;

  test_set_context (pipeline, test_context);
  gst_element_set_state (pipeline, GST_STATE_PLAYING);
  sample = gst_app_sink_pull_sample (GST_APP_SINK (plain));
  fail_unless (sample != NULL);
  fail_unless (gst_video_info_from_caps (&info, gst_sample_get_caps (sample)));
  buffers = test_play_buffers (pipeline);
  fail_unless_equals_int (buffers->len, 2);

  gst_buffer_map (gst_sample_get_buffer (sample), &in, GST_MAP_READ);
  gst_buffer_map (g_ptr_array_index (buffers, 0), &out, GST_MAP_READ);
  fail_unless_equals_int (in.size, GST_VIDEO_INFO_SIZE (&info));
  fail_unless_equals_int (out.size, GST_VIDEO_INFO_SIZE (&info));
  expected = g_malloc0 (in.size);
  effect_reference (effect, &info, in.data, expected, NULL);
  fail_unless_equals_int (
      picture_count_differences (&info, expected, out.data, 0), 0);
  g_free (expected);
  gst_buffer_unmap (g_ptr_array_index (buffers, 0), &out);
  gst_buffer_unmap (gst_sample_get_buffer (sample), &in);
}

TEST_LOOP (effect_in_a_pipeline, G_N_ELEMENTS (pipeline_effects))
{
  guint f;

  test_setup ();
  for (f = 0; f < G_N_ELEMENTS (pipeline_formats); f++)
    check_effect (pipeline_effects[__i__], pipeline_formats[f]);
  test_teardown ();
}

/* The rows of the input have padding, which only GstVideoMeta describes. */
TEST (padded_strides)
{
  g_autoptr (GstHarness) h = gst_harness_new_parse (
      "vkgdrupload ! cudafilter kernel=invert ! vkgdrdownload");
  gsize offset[GST_VIDEO_MAX_PLANES] = { 16 };
  gint stride[GST_VIDEO_MAX_PLANES] = { 48 };
  guint8 data[16 + 48 * 5 + 8];
  g_autoptr (GstBuffer) buffer = NULL;
  GstVideoFrame frame;
  GstVideoInfo info;
  gint x, y;

  gst_harness_set_src_caps_str (h,
      "video/x-raw,format=GRAY8,width=40,height=5,framerate=1/1,"
      "colorimetry=1:4:0:0");
  test_fill (data, sizeof (data), 1);
  buffer = gst_buffer_new_memdup (data, sizeof (data));
  gst_buffer_add_video_meta_full (
      buffer, 0, GST_VIDEO_FORMAT_GRAY8, 40, 5, 1, offset, stride);
  buffer = gst_harness_push_and_pull (h, buffer);
  fail_unless (buffer != NULL);
  gst_video_info_set_format (&info, GST_VIDEO_FORMAT_GRAY8, 40, 5);
  fail_unless (gst_video_frame_map (&frame, &info, buffer, GST_MAP_READ));
  for (y = 0; y < 5; y++)
    for (x = 0; x < 40; x++)
      fail_unless_equals_int (
          ((guint8 *) GST_VIDEO_FRAME_PLANE_DATA (
              &frame, 0))[y * GST_VIDEO_FRAME_PLANE_STRIDE (&frame, 0) + x],
          255 - data[16 + 48 * y + x]);
  gst_video_frame_unmap (&frame);
}

/* --- metadata and caps --------------------------------------------------- */

TEST (metadata_passes)
{
  g_autoptr (GstHarness) h = gst_harness_new_parse (
      "vkgdrupload ! cudafilter kernel=invert ! vkgdrdownload");
  GstBuffer *buffer = gst_buffer_new_allocate (NULL, 16 * 16 * 4, NULL);
  GstReferenceTimestampMeta *reference;
  GstVideoRegionOfInterestMeta *roi;
  GstCaps *caps = gst_caps_new_empty_simple ("timestamp/x-ntp");
  GstSegment segment;
  const GstSegment *got;
  g_autoptr (GstEvent) event = NULL;

  gst_harness_set_src_caps_str (
      h, "video/x-raw,format=RGBA,width=16,height=16,framerate=25/1");
  gst_segment_init (&segment, GST_FORMAT_TIME);
  segment.start = segment.time = 3 * GST_SECOND;
  segment.rate = 2.0;
  gst_harness_push_event (h, gst_event_new_segment (&segment));

  gst_buffer_memset (buffer, 0, 0, -1);
  GST_BUFFER_PTS (buffer) = 5 * GST_SECOND;
  GST_BUFFER_DTS (buffer) = 4 * GST_SECOND;
  GST_BUFFER_DURATION (buffer) = 40 * GST_MSECOND;
  GST_BUFFER_OFFSET (buffer) = 77;
  GST_BUFFER_OFFSET_END (buffer) = 78;
  GST_BUFFER_FLAG_SET (buffer, GST_BUFFER_FLAG_DISCONT | GST_BUFFER_FLAG_MARKER
                                   | GST_VIDEO_BUFFER_FLAG_INTERLACED);
  gst_buffer_add_reference_timestamp_meta (buffer, caps, 123456789, 1000);
  gst_buffer_add_video_region_of_interest_meta (buffer, "face", 1, 2, 3, 4);
  gst_caps_unref (caps);

  buffer = gst_harness_push_and_pull (h, buffer);
  fail_unless (buffer != NULL);
  fail_unless_equals_uint64 (GST_BUFFER_PTS (buffer), 5 * GST_SECOND);
  fail_unless_equals_uint64 (GST_BUFFER_DTS (buffer), 4 * GST_SECOND);
  fail_unless_equals_uint64 (GST_BUFFER_DURATION (buffer), 40 * GST_MSECOND);
  fail_unless_equals_uint64 (GST_BUFFER_OFFSET (buffer), 77);
  fail_unless_equals_uint64 (GST_BUFFER_OFFSET_END (buffer), 78);
  fail_unless (GST_BUFFER_FLAG_IS_SET (buffer, GST_BUFFER_FLAG_DISCONT));
  fail_unless (GST_BUFFER_FLAG_IS_SET (buffer, GST_BUFFER_FLAG_MARKER));
  fail_unless (
      GST_BUFFER_FLAG_IS_SET (buffer, GST_VIDEO_BUFFER_FLAG_INTERLACED));
  reference = gst_buffer_get_reference_timestamp_meta (buffer, NULL);
  fail_unless (reference != NULL);
  fail_unless_equals_uint64 (reference->timestamp, 123456789);
  roi = gst_buffer_get_video_region_of_interest_meta_id (buffer, 0);
  fail_unless (roi != NULL);
  fail_unless_equals_int (roi->w, 3);
  gst_buffer_unref (buffer);

  event = gst_pad_get_sticky_event (h->sinkpad, GST_EVENT_SEGMENT, 0);
  gst_event_parse_segment (event, &got);
  fail_unless_equals_uint64 (got->start, 3 * GST_SECOND);
  fail_unless_equals_float (got->rate, 2.0);
}

TEST (caps_carry_the_feature)
{
  GstHarness *h = gst_harness_new ("vkgdrupload");
  GstCaps *caps, *expected;

  gst_harness_set_src_caps_str (
      h, "video/x-raw,format=RGBA,width=16,height=16,framerate=25/1");
  caps = gst_pad_get_current_caps (h->sinkpad);
  expected = gst_caps_from_string (
      "video/x-raw" VKGDR ",format=RGBA,width=16,height=16,framerate=25/1");
  fail_unless (
      gst_caps_is_equal (caps, expected), "%s", gst_caps_to_string (caps));
  gst_caps_unref (caps);
  gst_caps_unref (expected);
  gst_harness_teardown (h);

  /* The opposite direction. */
  h = gst_harness_new ("vkgdrdownload");
  gst_harness_set_src_caps_str (h,
      "audio/x-raw" VKGDR ",format=S16LE,rate=8000,channels=1,"
      "layout=interleaved");
  caps = gst_pad_get_current_caps (h->sinkpad);
  expected = gst_caps_from_string (
      "audio/x-raw,format=S16LE,rate=8000,channels=1,layout=interleaved");
  fail_unless (
      gst_caps_is_equal (caps, expected), "%s", gst_caps_to_string (caps));
  gst_caps_unref (caps);
  gst_caps_unref (expected);
  gst_harness_teardown (h);
}

#define FIELDS \
  "interlace-mode=alternate,format=I420,width=32,height=22,framerate=25/1"

/* Buffers with one field each have caps features that do not name system
 * memory. The heights of a GstVideoMeta and of the caps are those of both
 * fields. */
TEST_LOOP (alternating_fields, 2)
{
  g_autoptr (GstHarness) h = gst_harness_new_parse (
      "vkgdrupload ! cudafilter kernel=copy ! vkgdrdownload");
  GstCaps *fields =
      gst_caps_from_string ("video/x-raw(format:Interlaced)," FIELDS);
  GstVideoInfo info;
  GstBuffer *in, *out;
  GstMapInfo map;
  GstCaps *caps;

  fail_unless (gst_video_info_from_caps (&info, fields));
  in = gst_buffer_new_allocate (NULL, info.size, NULL);
  fail_unless (gst_buffer_map (in, &map, GST_MAP_WRITE));
  test_fill (map.data, map.size, 5);
  gst_buffer_unmap (in, &map);
  if (__i__)
    gst_buffer_add_video_meta_full (in, GST_VIDEO_FRAME_FLAG_NONE,
        GST_VIDEO_FORMAT_I420, 32, 22, 3, info.offset, info.stride);
  gst_harness_set_sink_caps (h, gst_caps_copy (fields));
  gst_harness_set_src_caps (h, fields);
  fail_unless_equals_int (gst_harness_push (h, in), GST_FLOW_OK);
  out = gst_harness_pull (h);
  caps = gst_pad_get_current_caps (h->sinkpad);
  fail_unless (gst_caps_features_is_equal (
      gst_caps_get_features (caps, 0), gst_caps_get_features (fields, 0)));
  gst_caps_unref (caps);
  fail_unless (gst_buffer_map (out, &map, GST_MAP_READ));
  fail_unless_equals_uint64 (map.size, info.size);
  fail_unless (test_matches (map.data, map.size, 5));
  gst_buffer_unmap (out, &map);
  gst_buffer_unref (out);
}

/* --- changes in mid-stream ----------------------------------------------- */

TEST (renegotiation)
{
  static const gchar *caps[] = { "RGBA,width=32,height=16",
    "NV12,width=64,height=48", "GRAY8,width=7,height=5",
    "RGBA,width=32,height=16" };
  static const gsize sizes[] = { 32 * 16 * 4, 64 * 48 * 3 / 2, 8 * 5,
    32 * 16 * 4 };
  g_autoptr (GstHarness) h = gst_harness_new_parse (
      "vkgdrupload ! cudafilter kernel=copy ! vkgdrdownload");
  guint i, k;

  for (i = 0; i < G_N_ELEMENTS (caps); i++) {
    gchar *text =
        g_strdup_printf ("video/x-raw,format=%s,framerate=1/1", caps[i]);

    gst_harness_set_src_caps_str (h, text);
    g_free (text);
    for (k = 0; k < 5; k++) {
      g_autofree guint8 *data = g_malloc (sizes[i]);
      g_autoptr (GstBuffer) buffer = NULL;
      GstMapInfo map;

      test_fill (data, sizes[i], i * 5 + k);
      if (i == 2) { /* the padding of a row belongs to no sample */
        guint y;

        for (y = 0; y < 5; y++)
          data[y * 8 + 7] = 0;
      }
      buffer =
          gst_harness_push_and_pull (h, gst_buffer_new_memdup (data, sizes[i]));
      fail_unless (buffer != NULL);
      gst_buffer_map (buffer, &map, GST_MAP_READ);
      fail_unless_equals_int (map.size, sizes[i]);
      if (i != 2)
        fail_unless (memcmp (map.data, data, map.size) == 0);
      else
        fail_unless (memcmp (map.data + 8, data + 8, 7) == 0);
      gst_buffer_unmap (buffer, &map);
    }
  }
}

TEST (flush_and_seek)
{
  g_autoptr (GstElement) pipeline = test_launch (
      "videotestsrc num-buffers=2000 ! "
      "video/x-raw,format=RGBA,width=64,height=48,framerate=1000/1 ! "
      "vkgdrupload ! cudafilter kernel=invert ! queue ! vkgdrdownload ! "
      "fakesink name=after sync=false");
  g_autoptr (GstBus) bus = gst_element_get_bus (pipeline);
  GstMessage *message;
  guint i;

  gst_element_set_state (pipeline, GST_STATE_PAUSED);
  fail_unless_equals_int (gst_element_get_state (pipeline, NULL, NULL, -1),
      GST_STATE_CHANGE_SUCCESS);
  gst_element_set_state (pipeline, GST_STATE_PLAYING);
  for (i = 0; i < 10; i++) {
    fail_unless (gst_element_seek_simple (
        pipeline, GST_FORMAT_TIME, GST_SEEK_FLAG_FLUSH, i * 10 * GST_MSECOND));
    g_usleep (5000);
  }
  fail_unless (
      gst_element_seek (pipeline, 1.0, GST_FORMAT_TIME, GST_SEEK_FLAG_FLUSH,
          GST_SEEK_TYPE_SET, 0, GST_SEEK_TYPE_SET, 100 * GST_MSECOND));
  message = gst_bus_timed_pop_filtered (
      bus, 50 * GST_SECOND, GST_MESSAGE_EOS | GST_MESSAGE_ERROR);
  fail_unless (message != NULL);
  fail_unless_equals_int (GST_MESSAGE_TYPE (message), GST_MESSAGE_EOS);
  gst_message_unref (message);
  gst_element_set_state (pipeline, GST_STATE_NULL);
}

TEST (kernel_and_params_change_while_playing)
{
  g_autoptr (GstHarness) h = gst_harness_new_parse (
      "vkgdrupload ! cudafilter name=f kernel=copy ! vkgdrdownload");
  g_autoptr (GstElement) filter = gst_harness_find_element (h, "cudafilter");
  g_autoptr (GstStructure) params =
      gst_structure_from_string ("params,gain=(float)2.0", NULL);
  guint8 expected[] = { 50, 205, 100 };
  guint i;

  gst_harness_set_src_caps_str (h,
      "video/x-raw,format=GRAY8,width=4,height=1,framerate=1/1,"
      "colorimetry=1:4:0:0");
  for (i = 0; i < G_N_ELEMENTS (expected); i++) {
    g_autoptr (GstBuffer) buffer = gst_buffer_new_allocate (NULL, 4, NULL);
    guint8 byte = 0;

    gst_buffer_memset (buffer, 0, 50, 4);
    if (i == 1)
      g_object_set (filter, "kernel", "invert", NULL);
    if (i == 2)
      g_object_set (filter, "kernel", "gain", "params", params, NULL);
    test_settle (filter);
    buffer = gst_harness_push_and_pull (h, buffer);
    fail_unless (buffer != NULL);
    gst_buffer_extract (buffer, 0, &byte, 1);
    fail_unless_equals_int (byte, expected[i]);
  }
}

/* --- several at once ----------------------------------------------------- */

TEST (tee_with_a_branch_on_the_cpu)
{
  g_autoptr (GstElement) pipeline = test_launch (
      "videotestsrc num-buffers=30 pattern=snow ! "
      "video/x-raw,format=GRAY8,width=64,height=48 ! vkgdrupload ! tee name=t "
      "t. ! queue ! cudafilter kernel=blur ! vkgdrdownload ! fakesink "
      "t. ! queue ! vkgdrdownload ! appsink name=sink "
      "t. ! queue ! filesink location=/dev/null buffer-mode=unbuffered");
  g_autoptr (GPtrArray) buffers = test_play_buffers (pipeline);

  fail_unless_equals_int (buffers->len, 30);
}

TEST (two_pipelines_at_once)
{
  GstElement *pipelines[2];
  GstBus *bus;
  guint i;

  for (i = 0; i < 2; i++) {
    pipelines[i] = test_launch (
        "videotestsrc num-buffers=100 ! "
        "video/x-raw,format=RGBA,width=160,height=120 ! vkgdrupload ! "
        "cudafilter kernel=%s ! vkgdrdownload ! fakesink",
        i ? "blur" : "sobel");
    gst_element_set_state (pipelines[i], GST_STATE_PLAYING);
  }
  for (i = 0; i < 2; i++) {
    GstMessage *message;

    bus = gst_element_get_bus (pipelines[i]);
    message = gst_bus_timed_pop_filtered (
        bus, 50 * GST_SECOND, GST_MESSAGE_EOS | GST_MESSAGE_ERROR);
    fail_unless (message != NULL);
    fail_unless_equals_int (GST_MESSAGE_TYPE (message), GST_MESSAGE_EOS);
    gst_message_unref (message);
    gst_element_set_state (pipelines[i], GST_STATE_NULL);
    gst_object_unref (bus);
    gst_object_unref (pipelines[i]);
  }
}

TEST (elements_share_a_context)
{
  g_autoptr (GstElement) pipeline = test_launch (
      "videotestsrc num-buffers=1 ! "
      "video/x-raw,format=RGBA,width=64,height=48 ! vkgdrupload name=a ! "
      "cudafilter name=b ! queue ! cudafilter name=c ! vkgdrdownload name=d ! "
      "fakesink");
  const gchar *names[] = { "a", "b", "c", "d" };
  gpointer contexts[4];
  guint i;

  gst_element_set_state (pipeline, GST_STATE_PAUSED);
  fail_unless_equals_int (gst_element_get_state (pipeline, NULL, NULL, -1),
      GST_STATE_CHANGE_SUCCESS);
  for (i = 0; i < 4; i++) {
    g_autoptr (GstElement) e =
        gst_bin_get_by_name (GST_BIN (pipeline), names[i]);

    contexts[i] =
        gst_vkgdr_base_transform_get_context (GST_VKGDR_BASE_TRANSFORM (e));
    fail_unless (contexts[i] != NULL);
    fail_unless (contexts[i] == contexts[0]);
  }
  gst_element_set_state (pipeline, GST_STATE_NULL);
}

/* An element outside of a pipeline uses the context that was set on it at every
 * start. */
TEST (context_is_kept_over_a_stop)
{
  g_autoptr (GstVkgdrContext) context = test_context_new ();
  const gchar *names[] = { "vkgdrupload", "cudafilter", "vkgdrdownload" };
  guint i, k;

  for (i = 0; i < G_N_ELEMENTS (names); i++) {
    g_autoptr (GstElement) e = gst_element_factory_make (names[i], NULL);

    test_set_context (e, context);
    for (k = 0; k < 3; k++) {
      gst_element_set_state (e, GST_STATE_PAUSED);
      fail_unless (
          gst_vkgdr_base_transform_get_context (GST_VKGDR_BASE_TRANSFORM (e))
          == context);
      gst_element_set_state (e, GST_STATE_NULL);
    }
  }
  test_assert_last_ref (context);
}

typedef struct {
  GstElement *element;
  GstContext *context;
  gint stop;
} Neighbour;

/* Queries and sets the context, as neighbours and bins do in their threads. */
static gpointer
ask_and_set (gpointer user_data)
{
  Neighbour *neighbour = user_data;
  g_autoptr (GstPad) pad =
      gst_element_get_static_pad (neighbour->element, "src");

  while (!g_atomic_int_get (&neighbour->stop)) {
    GstQuery *query = gst_query_new_context (GST_VKGDR_CONTEXT_TYPE);

    gst_pad_query (pad, query);
    gst_query_unref (query);
    gst_element_set_context (neighbour->element, neighbour->context);
    g_thread_yield ();
  }
  return NULL;
}

/* A thread sets and queries the context while the element starts and stops. The
 * thread sanitizer finds data races here. */
TEST (context_in_several_threads)
{
  GstVkgdrContext *context = test_context_new (), *used;
  Neighbour neighbour = { gst_element_factory_make ("vkgdrupload", NULL),
    gst_vkgdr_context_to_gst_context (context), 0 };
  GThread *thread;
  guint i;

  gst_element_set_context (neighbour.element, neighbour.context);
  thread = g_thread_new ("neighbour", ask_and_set, &neighbour);
  for (i = 0; i < 50; i++) {
    fail_unless_equals_int (
        gst_element_set_state (neighbour.element, GST_STATE_PAUSED),
        GST_STATE_CHANGE_SUCCESS);
    used = gst_vkgdr_base_transform_get_context (
        GST_VKGDR_BASE_TRANSFORM (neighbour.element));
    fail_unless (used == context);
    fail_unless_equals_int (
        gst_element_set_state (neighbour.element, GST_STATE_NULL),
        GST_STATE_CHANGE_SUCCESS);
  }
  g_atomic_int_set (&neighbour.stop, TRUE);
  g_thread_join (thread);
  gst_object_unref (neighbour.element);
  gst_context_unref (neighbour.context);
  ASSERT_OBJECT_REFCOUNT (context, "context", 1);
  gst_object_unref (context);
}

/* If one element has the property `device`, its neighbours use the same device.
 * This also works if they start first: elements near the sink start first. */
TEST (a_chosen_device_counts_from_the_beginning)
{
  g_autoptr (GstElement) up = gst_element_factory_make ("vkgdrupload", NULL);
  g_autoptr (GstElement) filter = gst_element_factory_make ("cudafilter", NULL);
  g_autoptr (GstElement) down =
      gst_element_factory_make ("vkgdrdownload", NULL);
  gint n = gst_vkgdr_device_count (NULL);
  GstVkgdrContext *context;

  g_object_set (up, "device", n - 1, NULL);
  fail_unless (gst_element_link_many (up, filter, down, NULL));
  fail_unless_equals_int (
      gst_element_set_state (up, GST_STATE_READY), GST_STATE_CHANGE_SUCCESS);
  fail_unless_equals_int (gst_element_set_state (filter, GST_STATE_READY),
      GST_STATE_CHANGE_SUCCESS);
  fail_unless_equals_int (
      gst_element_set_state (down, GST_STATE_PAUSED), GST_STATE_CHANGE_SUCCESS);
  context =
      gst_vkgdr_base_transform_get_context (GST_VKGDR_BASE_TRANSFORM (down));
  fail_unless_equals_int (gst_vkgdr_context_get_device (context), n - 1);
  fail_unless (
      gst_vkgdr_base_transform_get_context (GST_VKGDR_BASE_TRANSFORM (up))
      == context);
  fail_unless_equals_int (gst_element_set_state (filter, GST_STATE_PAUSED),
      GST_STATE_CHANGE_SUCCESS);
  fail_unless_equals_int (
      gst_element_set_state (up, GST_STATE_PAUSED), GST_STATE_CHANGE_SUCCESS);
  fail_unless (
      gst_vkgdr_base_transform_get_context (GST_VKGDR_BASE_TRANSFORM (filter))
      == context);
  fail_unless (
      gst_vkgdr_base_transform_get_context (GST_VKGDR_BASE_TRANSFORM (up))
      == context);
  gst_element_set_state (down, GST_STATE_NULL);
  gst_element_set_state (filter, GST_STATE_NULL);
  gst_element_set_state (up, GST_STATE_NULL);
  gst_element_unlink_many (up, filter, down, NULL);
}

/* A context of the last device. If there are several devices, it is not the
 * first one. */
static GstVkgdrContext *
last_context (void)
{
  gint n = gst_vkgdr_device_count (NULL);
  GError *error = NULL;
  GstVkgdrContext *context = gst_vkgdr_context_new (n - 1, &error);

  fail_unless (context != NULL, "%s", error ? error->message : "");
  return context;
}

/* Pipelines that get memory of another context, the element that the test
 * checks, and the bits of each byte that this element changes. */
static const struct {
  const gchar *launch;
  const gchar *name;
  guint8 changed; /* bits */
} takers[] = {
  { "vkgdrupload device=0", "vkgdrupload", 0 },
  { "cudafilter device=0 kernel=copy", "cudafilter", 0 },
  { "cudafilter device=0 kernel=invert", "cudafilter", 0xff },
};

static GstBuffer *
frame_of (GstVkgdrContext *context, guint seed)
{
  GstMemory *memory = test_memory_new (context, 256 * 64);
  GstBuffer *buffer = gst_buffer_new ();

  test_write (memory, seed);
  gst_buffer_append_memory (buffer, memory);
  return buffer;
}

static void
assert_frame_in (
    GstVkgdrContext *context, GstBuffer *buffer, guint seed, guint8 changed)
{
  GstMemory *memory = gst_buffer_peek_memory (buffer, 0);
  GstMapInfo map;
  guint8 *expected;
  gsize i;

  fail_unless (
      gst_vkgdr_context_get_cuda_context (gst_vkgdr_memory_get_context (memory))
      == gst_vkgdr_context_get_cuda_context (context));
  fail_unless (gst_memory_map (memory, &map, GST_MAP_READ));
  expected = g_malloc (map.size);
  test_fill (expected, map.size, seed);
  for (i = 0; i < map.size; i++)
    expected[i] ^= changed;
  fail_unless (memcmp (map.data, expected, map.size) == 0);
  g_free (expected);
  gst_memory_unmap (memory, &map);
}

/* Memory of another object for the same CUDA context is used without a copy.
 * Memory of another device is copied without the CPU. */
TEST_LOOP (memory_of_another_context, G_N_ELEMENTS (takers))
{
  g_autoptr (GstHarness) h = gst_harness_new_parse (takers[__i__].launch);
  g_autoptr (GstElement) taker =
      gst_harness_find_element (h, takers[__i__].name);
  GstVkgdrContext *theirs = last_context (), *ours;
  guint64 copied = 20 * 256 * 64;
  guint i;

  gst_harness_set_src_caps_str (h,
      "video/x-raw(" GST_CAPS_FEATURE_MEMORY_VKGDR_MEMORY
      "),format=GRAY8,width=256,height=64,framerate=30/1");
  if (gst_vkgdr_context_get_device (theirs) == 0)
    copied = 0;
  for (i = 0; i < 20; i++) {
    g_autoptr (GstBuffer) buffer =
        gst_harness_push_and_pull (h, frame_of (theirs, i));

    fail_unless (buffer != NULL);
    ours =
        gst_vkgdr_base_transform_get_context (GST_VKGDR_BASE_TRANSFORM (taker));
    fail_unless (ours != theirs);
    assert_frame_in (ours, buffer, i, takers[__i__].changed);
  }
  if (__i__ == 0)
    fail_unless_equals_uint64 (test_stat (taker, "bytes-peer"), copied);
  gst_object_unref (theirs);
}

/* The context of the application is preferred to a new one. */
TEST (context_of_the_application)
{
  g_autoptr (GstVkgdrContext) context = test_context_new ();
  GstElement *pipeline = test_launch (
      "videotestsrc num-buffers=1 ! vkgdrupload name=a ! fakesink");
  GstElement *e = gst_bin_get_by_name (GST_BIN (pipeline), "a");

  test_set_context (pipeline, context);
  gst_element_set_state (pipeline, GST_STATE_PAUSED);
  gst_element_get_state (pipeline, NULL, NULL, -1);
  fail_unless (
      gst_vkgdr_base_transform_get_context (GST_VKGDR_BASE_TRANSFORM (e))
      == context);
  gst_element_set_state (pipeline, GST_STATE_NULL);
  gst_object_unref (e);
  gst_object_unref (pipeline);
  test_assert_last_ref (context);
}

static GstBusSyncReply
give_context (GstBus *bus, GstMessage *message, gpointer context)
{
  const gchar *type = NULL;

  if (GST_MESSAGE_TYPE (message) == GST_MESSAGE_NEED_CONTEXT
      && gst_message_parse_context_type (message, &type)
      && g_strcmp0 (type, GST_VKGDR_CONTEXT_TYPE) == 0)
    test_set_context (GST_ELEMENT (GST_MESSAGE_SRC (message)), context);
  return GST_BUS_PASS;
}

static void
assert_context_of (
    GstElement *pipeline, const gchar *name, GstVkgdrContext *context)
{
  g_autoptr (GstElement) e = gst_bin_get_by_name (GST_BIN (pipeline), name);

  fail_unless (
      gst_vkgdr_base_transform_get_context (GST_VKGDR_BASE_TRANSFORM (e))
      == context);
}

/* The application's context is used even if a neighbour queries the context
 * before the element starts. */
TEST (context_that_the_application_gives_when_asked)
{
  g_autoptr (GstVkgdrContext) context = test_context_new ();
  GstElement *pipeline =
      test_launch ("videotestsrc num-buffers=1 ! vkgdrupload name=a device=0 ! "
                   "vkgdrdownload name=b ! fakesink");
  GstBus *bus = gst_element_get_bus (pipeline);

  gst_bus_set_sync_handler (bus, give_context, context, NULL);
  gst_element_set_state (pipeline, GST_STATE_PAUSED);
  gst_element_get_state (pipeline, NULL, NULL, -1);
  assert_context_of (pipeline, "a", context);
  assert_context_of (pipeline, "b", context);
  gst_element_set_state (pipeline, GST_STATE_NULL);
  gst_bus_set_sync_handler (bus, NULL, NULL, NULL);
  gst_object_unref (bus);
  gst_object_unref (pipeline);
  test_assert_last_ref (context);
}

/* --- a slow kernel and a fast source ------------------------------------- */

/* A kernel that copies, but reads its input late. */
#define LATE_COPY \
  "__global__ void late (VkgdrFrame in, VkgdrFrame out, int n) {" \
  " int x = blockIdx.x * blockDim.x + threadIdx.x;" \
  " int y = blockIdx.y * blockDim.y + threadIdx.y;" \
  " volatile int k = 0;" \
  " if (x >= out.width || y >= out.height) return;" \
  " while (k < n) k = k + 1;" \
  " vkgdr_put (out, 0, x, y, vkgdr_get (in, 0, x, y)); }"

static GstBufferPool *
make_writer_pool (GstVkgdrContext *context, GstCaps *caps, guint n_buffers)
{
  GstBufferPool *pool = gst_vkgdr_buffer_pool_new (context);
  GstStructure *config = gst_buffer_pool_get_config (pool);

  gst_buffer_pool_config_set_params (config, caps, 64 * 48, 0, n_buffers);
  fail_unless (gst_buffer_pool_set_config (pool, config));
  fail_unless (gst_buffer_pool_set_active (pool, TRUE));
  return pool;
}

/* __i__ is 0 for direct access, and 1 for staged access. */
TEST_LOOP (no_frame_is_torn, 2)
{
  g_autoptr (GstVkgdrContext) context = test_context_new ();
  gboolean software = gst_vkgdr_context_is_software (context);
  GstElement *pipeline = test_launch (
      "appsrc name=src format=time max-buffers=2 block=true "
      "caps=video/x-raw,format=GRAY8,width=64,height=48,framerate=1/1 ! "
      "vkgdrupload ! cudafilter source=\"" LATE_COPY
      "\" params=\"params,n=(int)%d\" ! queue max-size-buffers=3 ! "
      "vkgdrdownload ! appsink name=sink",
      software ? 500 : 50000);
  GstElement *src = gst_bin_get_by_name (GST_BIN (pipeline), "src");
  GstCaps *caps = gst_app_src_get_caps (GST_APP_SRC (src));
  Writer writer = { src, make_writer_pool (context, caps, 4),
    software ? 200 : 3000 };
  GThread *thread;
  GPtrArray *buffers;
  guint i, k;

  g_object_set (writer.pool, "access",
      __i__ ? GST_VKGDR_ACCESS_STAGED : GST_VKGDR_ACCESS_DIRECT, NULL);
  test_set_context (pipeline, context);
  thread = g_thread_new ("writer", write_frames, &writer);
  buffers = test_play_buffers (pipeline);
  g_thread_join (thread);
  fail_unless_equals_int (buffers->len, writer.n);
  for (i = 0; i < buffers->len; i++) {
    GstMapInfo map;

    gst_buffer_map (g_ptr_array_index (buffers, i), &map, GST_MAP_READ);
    for (k = 0; k < map.size; k++)
      test_check_byte (k, map.data[k], i);
    gst_buffer_unmap (g_ptr_array_index (buffers, i), &map);
  }
  g_ptr_array_unref (buffers);
  gst_buffer_pool_set_active (writer.pool, FALSE);
  gst_object_unref (writer.pool);
  gst_caps_unref (caps);
  gst_object_unref (src);
  gst_object_unref (pipeline);
  test_assert_last_ref (context);
}

/* --- starts and stops ---------------------------------------------------- */

TEST (many_starts_leave_nothing)
{
  g_autoptr (GstVkgdrContext) context = test_context_new ();
  GstVkgdrAllocator *allocator = gst_vkgdr_context_get_allocator (context);
  GstElement *pipeline = test_launch (
      "videotestsrc num-buffers=2 ! "
      "video/x-raw,format=RGBA,width=64,height=48 ! vkgdrupload ! cudafilter ! "
      "vkgdrdownload ! fakesink async=true");
  guint starts = test_is_slow () ? 100 : 400;
  guint fds = 0, i;
  guint64 managed = 0;

  test_set_context (pipeline, context);
  for (i = 0; i < starts; i++) {
    gst_element_set_state (pipeline, GST_STATE_PAUSED);
    fail_unless_equals_int (gst_element_get_state (pipeline, NULL, NULL, -1),
        GST_STATE_CHANGE_SUCCESS);
    fail_unless_equals_int (gst_element_set_state (pipeline, GST_STATE_NULL),
        GST_STATE_CHANGE_SUCCESS);
    fail_unless_equals_int (
        gst_vkgdr_allocator_get_active_blocks (allocator), 0);
    if (i == 10) {
      fds = test_count_fds ();
      managed = gst_vkgdr_allocator_get_managed_bytes (allocator);
    }
  }
  test_assert_fds (fds);
  fail_unless_equals_uint64 (
      gst_vkgdr_allocator_get_managed_bytes (allocator), managed);
  gst_element_set_state (pipeline, GST_STATE_NULL);
  gst_object_unref (pipeline);
  gst_object_unref (allocator);
  test_assert_last_ref (context);
}

/* The same test, but the device is opened and closed each time. */
TEST (devices_are_closed)
{
  guint fds = 0, i;

  for (i = 0; i < 30; i++) {
    GstElement *pipeline = test_launch (
        "videotestsrc num-buffers=2 ! "
        "video/x-raw,format=RGBA,width=64,height=48 ! vkgdrupload ! "
        "cudafilter ! vkgdrdownload ! fakesink");

    test_play (pipeline);
    gst_object_unref (pipeline);
    if (i == 5)
      fds = test_count_fds ();
  }
  test_assert_fds (fds);
}
