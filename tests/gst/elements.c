/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * elements.c: tests of vkgdrupload, cudafilter and vkgdrdownload in pipelines:
 * buffers, caps and contexts, and that nothing is copied without need
 */

#include <gst/app/gstappsrc.h>

#include "slow.h"
#include "table.h"

#define VKGDR "(" GST_CAPS_FEATURE_MEMORY_VKGDR_MEMORY ")"

/* --- no copies ----------------------------------------------------------- */

#define UP "vkgdrupload name=at ! fakesink name=after"

static const gchar *const untouched[] = {
  "videotestsrc num-buffers=10 ! video/x-raw,format=NV12,width=320,height=240"
  " ! " UP,
  "videotestsrc num-buffers=10 ! video/x-raw,format=RGBA,width=33,height=17"
  " ! " UP,
  "audiotestsrc num-buffers=10 ! " UP,
  "filesrc num-buffers=10 blocksize=4096 location=/proc/self/exe ! " UP,
  /* The kernel reads what upstream has written. */
  "videotestsrc num-buffers=10 ! video/x-raw,format=RGBA,width=64,height=48 ! "
  "vkgdrupload name=at ! cudafilter name=after ! vkgdrdownload ! fakesink",
};

/* Ten buffers are at the same address of GPU memory in front of the elements
 * "at" and "after". */
TEST_LOOP (upload_copies_nothing, G_N_ELEMENTS (untouched))
{
  g_autoptr (GstElement) pipeline = test_launch ("%s", untouched[__i__]);
  g_autoptr (GArray) before = test_note_pointers (pipeline, "at", "sink");
  g_autoptr (GArray) after = test_note_pointers (pipeline, "after", "sink");
  guint i;

  test_play (pipeline);
  fail_unless_equals_int (before->len, 10);
  fail_unless_equals_int (after->len, 10);
  for (i = 0; i < 10; i++) {
    fail_unless (g_array_index (before, guint64, i) != 0);
    fail_unless_equals_uint64 (
        g_array_index (before, guint64, i), g_array_index (after, guint64, i));
  }
}

static const struct {
  const gchar *identity; /* properties of an element in front of the upload */
  const gchar *access;
  const gchar *field; /* in which all bytes are counted */
} figures[] = {
  { "", "direct", "bytes-direct" },
  { "", "staged", "bytes-staged" },
  { "drop-allocation=true", "auto", "bytes-copied" },
};

/* Ten frames of 12288 bytes. */
TEST_LOOP (figures, G_N_ELEMENTS (figures))
{
  static const gchar *const fields[] = { "bytes-direct", "bytes-staged",
    "bytes-dma", "bytes-peer", "bytes-copied", "bytes-untouched" };
  const gchar *field = test_hides_vulkan () && __i__ == 0
                           ? "bytes-staged"
                           : figures[__i__].field;
  g_autoptr (GstElement) pipeline = NULL;
  guint i;

  test_set_debug ("bar");
  pipeline = test_launch (
      "videotestsrc num-buffers=10 ! "
      "video/x-raw,format=RGBA,width=64,height=48 ! identity %s ! vkgdrupload "
      "name=up access=%s ! cudafilter name=filter ! vkgdrdownload name=down ! "
      "fakesink sync=false",
      figures[__i__].identity, figures[__i__].access);
  test_play_on (pipeline);
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

/* kernel-time is the median of the times that the device has measured, as soon
 * as it has measured one. */
TEST (kernel_time)
{
  g_autoptr (GstHarness) h = gst_harness_new_parse (
      "vkgdrupload ! cudafilter kernel=blur ! vkgdrdownload");
  g_autoptr (GstElement) filter = gst_harness_find_element (h, "cudafilter");
  gint64 start = g_get_monotonic_time (); /* microseconds */
  guint64 time;
  guint i;

  gst_harness_set_src_caps_str (
      h, "video/x-raw,format=RGBA,width=64,height=64,framerate=1/1");
  for (i = 0; i < 20; i++)
    gst_buffer_unref (gst_harness_push_and_pull (
        h, gst_buffer_new_allocate (NULL, 64 * 64 * 4, NULL)));
  time = test_stat (filter, "kernel-time");
  fail_unless (
      time > 0
      && time < (guint64) (g_get_monotonic_time () - start) * GST_USECOND);
}

/* --- bytes and caps ------------------------------------------------------ */

#define AUDIO "format=S16LE,layout=interleaved,rate=48000,channels=2"
#define RGBA "format=RGBA,width=16,height=16,framerate=25/1"
#define I420 "format=I420,width=17,height=13,framerate=1/1"
#define GRAY16 "format=GRAY16_LE,width=17,height=13,framerate=1/1"
#define UP_AND_DOWN "vkgdrupload ! vkgdrdownload"

static const TestFlow flows[] = {
  { "vkgdrupload", "video/x-raw," RGBA, "video/x-raw" VKGDR "," RGBA },
  { "vkgdrdownload", "audio/x-raw" VKGDR "," AUDIO, "audio/x-raw," AUDIO,
      .size = 4096 },
  { UP_AND_DOWN, "application/octet-stream", .size = 1 },
  { UP_AND_DOWN, "audio/x-raw," AUDIO, .size = 4096 },
  { UP_AND_DOWN, "image/jpeg", .size = 12345 },
  { UP_AND_DOWN, "video/x-raw," I420 },
  { UP_AND_DOWN, "video/x-raw," GRAY16 },
};

TEST_FIXTURE (test_setup, test_teardown);

TEST_LOOP (flows, G_N_ELEMENTS (flows))
{
  test_check_flow (&flows[__i__]);
}

TEST_FIXTURE (NULL, NULL);

/* A buffer may have several memories of other allocators. */
TEST (several_memories)
{
  g_autoptr (GstHarness) h = gst_harness_new_parse (UP_AND_DOWN);
  g_autofree guint8 *data = g_malloc (65537), *got = NULL;
  GstBuffer *buffer = gst_buffer_new (), *out;
  guint m;
  gsize size;

  test_fill (data, 65537, 1);
  for (m = 0; m < 3; m++) {
    gsize from = 65537 * m / 3, to = 65537 * (m + 1) / 3;

    buffer = gst_buffer_append (
        buffer, gst_buffer_new_memdup (data + from, to - from));
  }
  gst_harness_set_src_caps_str (h, "application/octet-stream");
  out = gst_harness_push_and_pull (h, buffer);
  got = test_buffer_bytes (out, &size);
  fail_unless_equals_int (size, 65537);
  fail_unless (test_matches (got, size, 1));
  gst_buffer_unref (out);
}

#define N_RECYCLED 40
#define RECYCLED_SIZE (1024 * 512)

/* Fills all bytes of each frame with its number. The pool of upstream has few
 * buffers, which are reused. */
static gpointer
write_frames (gpointer src)
{
  GstBufferPool *pool = gst_buffer_pool_new ();
  GstStructure *config = gst_buffer_pool_get_config (pool);
  guint i;

  gst_buffer_pool_config_set_params (config, NULL, RECYCLED_SIZE, 0, 3);
  fail_unless (gst_buffer_pool_set_config (pool, config));
  fail_unless (gst_buffer_pool_set_active (pool, TRUE));
  for (i = 0; i < N_RECYCLED; i++) {
    GstBuffer *buffer = test_pool_acquire (pool);

    gst_buffer_memset (buffer, 0, i, RECYCLED_SIZE);
    GST_BUFFER_PTS (buffer) = i * GST_MSECOND;
    gst_app_src_push_buffer (GST_APP_SRC (src), buffer);
  }
  gst_app_src_end_of_stream (GST_APP_SRC (src));
  test_pool_free (pool);
  return NULL;
}

/* Upstream uses its own pool. Memory of this pool is pinned when it arrives a
 * second time, returned to upstream after the transfer, and unpinned when it is
 * freed. failures.c tests memory that cannot be pinned. */
TEST (recycled_foreign_memory)
{
  g_autoptr (GstVkgdrContext) context = test_context_new ();
  GstElement *pipeline = test_launch (
      "appsrc name=src format=time max-buffers=1 block=true "
      "caps=video/x-raw,format=GRAY8,width=1024,height=512,framerate=1/1 ! "
      "vkgdrupload ! queue ! vkgdrdownload ! appsink name=sink");
  GPtrArray *buffers;
  GThread *thread;
  guint i;

  test_set_context (pipeline, context);
  test_spy_install (context);
  thread = g_thread_new ("writer", write_frames, test_find (pipeline, "src"));
  buffers = test_play_buffers (pipeline);
  g_thread_join (thread);
  fail_unless_equals_int (buffers->len, N_RECYCLED);
  for (i = 0; i < N_RECYCLED; i++) {
    const guint8 byte = i;

    fail_unless (
        gst_buffer_memcmp (g_ptr_array_index (buffers, i), 0, &byte, 1) == 0);
    fail_unless (gst_buffer_memcmp (g_ptr_array_index (buffers, i),
                     RECYCLED_SIZE - 1, &byte, 1)
                 == 0);
  }
  /* At most three buffers arrive for the first time, and are copied. Without a
   * window, the CPU copies to staging buffers, which are transferred, too. */
  fail_unless (
      test_spy.htod >= (test_has_window () ? N_RECYCLED - 3 : N_RECYCLED),
      "%u transfers", test_spy.htod);
  g_ptr_array_unref (buffers);
  gst_object_unref (pipeline);
  /* Pinned memory holds a reference to the context, too. */
  test_assert_last_ref (context);
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
  g_autofree guint8 *got = NULL;
  gsize size;
  gint x, y;

  gst_harness_set_src_caps_str (h,
      "video/x-raw,format=GRAY8,width=40,height=5,framerate=1/1,"
      "colorimetry=1:4:0:0");
  test_fill (data, sizeof (data), 1);
  buffer = gst_buffer_new_memdup (data, sizeof (data));
  gst_buffer_add_video_meta_full (
      buffer, 0, GST_VIDEO_FORMAT_GRAY8, 40, 5, 1, offset, stride);
  buffer = gst_harness_push_and_pull (h, buffer);
  got = test_buffer_bytes (buffer, &size);
  fail_unless_equals_int (size, 40 * 5);
  for (y = 0; y < 5; y++)
    for (x = 0; x < 40; x++)
      fail_unless_equals_int (got[y * 40 + x], 255 - data[16 + 48 * y + x]);
}

TEST (metadata_passes)
{
  g_autoptr (GstHarness) h = gst_harness_new_parse (
      "vkgdrupload ! cudafilter kernel=invert ! vkgdrdownload");
  const guint flags = GST_BUFFER_FLAG_DISCONT | GST_BUFFER_FLAG_MARKER
                      | GST_VIDEO_BUFFER_FLAG_INTERLACED;
  GstBuffer *in = gst_buffer_new_allocate (NULL, 16 * 16 * 4, NULL), *out;
  g_autoptr (GstCaps) caps = gst_caps_new_empty_simple ("timestamp/x-ntp");
  GstSegment segment;
  const GstSegment *got;
  g_autoptr (GstEvent) event = NULL;

  gst_harness_set_src_caps_str (h, "video/x-raw," RGBA);
  gst_segment_init (&segment, GST_FORMAT_TIME);
  segment.start = segment.time = 3 * GST_SECOND;
  segment.rate = 2.0;
  gst_harness_push_event (h, gst_event_new_segment (&segment));
  gst_buffer_memset (in, 0, 0, -1);
  GST_BUFFER_PTS (in) = 5 * GST_SECOND;
  GST_BUFFER_DTS (in) = 4 * GST_SECOND;
  GST_BUFFER_DURATION (in) = 40 * GST_MSECOND;
  GST_BUFFER_OFFSET (in) = 77;
  GST_BUFFER_OFFSET_END (in) = 78;
  GST_BUFFER_FLAG_SET (in, flags);
  gst_buffer_add_reference_timestamp_meta (in, caps, 123456789, 1000);
  gst_buffer_add_video_region_of_interest_meta (in, "face", 1, 2, 3, 4);

  out = gst_harness_push_and_pull (h, in);
  fail_unless_equals_uint64 (GST_BUFFER_PTS (out), 5 * GST_SECOND);
  fail_unless_equals_uint64 (GST_BUFFER_DTS (out), 4 * GST_SECOND);
  fail_unless_equals_uint64 (GST_BUFFER_DURATION (out), 40 * GST_MSECOND);
  fail_unless_equals_uint64 (GST_BUFFER_OFFSET (out), 77);
  fail_unless_equals_uint64 (GST_BUFFER_OFFSET_END (out), 78);
  fail_unless_equals_int (GST_BUFFER_FLAGS (out) & flags, flags);
  fail_unless_equals_uint64 (
      gst_buffer_get_reference_timestamp_meta (out, NULL)->timestamp,
      123456789);
  fail_unless_equals_int (
      gst_buffer_get_video_region_of_interest_meta_id (out, 0)->w, 3);
  gst_buffer_unref (out);
  event = gst_pad_get_sticky_event (h->sinkpad, GST_EVENT_SEGMENT, 0);
  gst_event_parse_segment (event, &got);
  fail_unless_equals_uint64 (got->start, 3 * GST_SECOND);
  fail_unless_equals_float (got->rate, 2.0);
}

/* Buffers with one field each have caps features that do not name system
 * memory. The heights of a GstVideoMeta (__i__ is 1) and of the caps are those
 * of both fields. */
TEST_LOOP (alternating_fields, 2)
{
  g_autoptr (GstHarness) h = gst_harness_new_parse (
      "vkgdrupload ! cudafilter kernel=copy ! vkgdrdownload");
  g_autoptr (GstCaps) fields = gst_caps_from_string (
      "video/x-raw(format:Interlaced),interlace-mode=alternate,format=I420,"
      "width=32,height=22,framerate=25/1");
  g_autoptr (GstCaps) caps = NULL;
  g_autoptr (GstBuffer) out = NULL;
  guint8 data[32 * 22 * 3 / 2];
  g_autofree guint8 *got = NULL;
  GstVideoInfo info;
  GstBuffer *in;
  gsize size;

  fail_unless (gst_video_info_from_caps (&info, fields));
  test_fill (data, info.size, 5);
  in = gst_buffer_new_memdup (data, info.size);
  if (__i__)
    gst_buffer_add_video_meta_full (in, GST_VIDEO_FRAME_FLAG_NONE,
        GST_VIDEO_FORMAT_I420, 32, 22, 3, info.offset, info.stride);
  gst_harness_set_sink_caps (h, gst_caps_ref (fields));
  gst_harness_set_src_caps (h, gst_caps_ref (fields));
  out = gst_harness_push_and_pull (h, in);
  caps = gst_pad_get_current_caps (h->sinkpad);
  fail_unless (gst_caps_features_is_equal (
      gst_caps_get_features (caps, 0), gst_caps_get_features (fields, 0)));
  got = test_buffer_bytes (out, &size);
  fail_unless_equals_uint64 (size, info.size);
  fail_unless (test_matches (got, size, 5));
}

/* --- changes in mid-stream ----------------------------------------------- */

TEST (renegotiation)
{
  static const struct {
    const gchar *caps;
    gsize size;
  } caps[] = {
    { "RGBA,width=32,height=16", 32 * 16 * 4 },
    { "NV12,width=64,height=48", 64 * 48 * 3 / 2 },
    { "GRAY8,width=8,height=5", 8 * 5 },
    { "RGBA,width=32,height=16", 32 * 16 * 4 },
  };
  g_autoptr (GstHarness) h = gst_harness_new_parse (
      "vkgdrupload ! cudafilter kernel=copy ! vkgdrdownload");
  guint i, k;

  for (i = 0; i < G_N_ELEMENTS (caps); i++) {
    g_autofree gchar *text =
        g_strdup_printf ("video/x-raw,format=%s,framerate=1/1", caps[i].caps);
    g_autofree guint8 *data = g_malloc (caps[i].size);

    gst_harness_set_src_caps_str (h, text);
    for (k = 0; k < 5; k++) {
      g_autofree guint8 *got = NULL;

      test_fill (data, caps[i].size, i * 5 + k);
      got = test_push (h, data, caps[i].size, caps[i].size);
      fail_unless (memcmp (got, data, caps[i].size) == 0);
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
  guint i;

  test_preroll (pipeline);
  gst_element_set_state (pipeline, GST_STATE_PLAYING);
  for (i = 0; i < 10; i++) {
    fail_unless (gst_element_seek_simple (
        pipeline, GST_FORMAT_TIME, GST_SEEK_FLAG_FLUSH, i * 10 * GST_MSECOND));
    g_usleep (5000);
  }
  fail_unless (
      gst_element_seek (pipeline, 1.0, GST_FORMAT_TIME, GST_SEEK_FLAG_FLUSH,
          GST_SEEK_TYPE_SET, 0, GST_SEEK_TYPE_SET, 100 * GST_MSECOND));
  test_play (pipeline);
}

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

/* --- contexts ------------------------------------------------------------ */

static GstVkgdrContext *
context_of (GstElement *element)
{
  return gst_vkgdr_base_transform_get_context (
      GST_VKGDR_BASE_TRANSFORM (element));
}

static void
set_state (GstElement *element, GstState state)
{
  fail_unless_equals_int (
      gst_element_set_state (element, state), GST_STATE_CHANGE_SUCCESS);
}

typedef struct {
  GstElement *element;
  GstVkgdrContext *context;
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
    g_autoptr (GstQuery) query = gst_query_new_context (GST_VKGDR_CONTEXT_TYPE);

    gst_pad_query (pad, query);
    test_set_context (neighbour->element, neighbour->context);
    g_thread_yield ();
  }
  return NULL;
}

static const gchar *const names[] = { "vkgdrupload", "cudafilter",
  "vkgdrdownload" };

/* An element outside of a pipeline uses the context that was set on it at every
 * start. A thread sets and queries the context while the element starts and
 * stops. The thread sanitizer finds data races here. */
TEST_LOOP (context_in_several_threads, G_N_ELEMENTS (names))
{
  g_autoptr (GstVkgdrContext) context = test_context_new ();
  Neighbour neighbour = { gst_element_factory_make (names[__i__], NULL),
    context, 0 };
  GThread *thread;
  guint i;

  test_set_context (neighbour.element, context);
  thread = g_thread_new ("neighbour", ask_and_set, &neighbour);
  for (i = 0; i < 50; i++) {
    set_state (neighbour.element, GST_STATE_PAUSED);
    fail_unless (context_of (neighbour.element) == context);
    set_state (neighbour.element, GST_STATE_NULL);
  }
  g_atomic_int_set (&neighbour.stop, TRUE);
  g_thread_join (thread);
  gst_object_unref (neighbour.element);
  test_assert_last_ref (context);
}

/* The elements of a pipeline share a context. If one of them has the property
 * `device`, its neighbours use the same device.
 * This also works if they start first: elements near the sink start first. */
TEST (a_chosen_device_counts_from_the_beginning)
{
  g_autoptr (GstElement) pipeline =
      test_launch ("vkgdrupload name=up ! cudafilter name=filter ! "
                   "vkgdrdownload name=down");
  GstElement *elements[] = { test_find (pipeline, "down"),
    test_find (pipeline, "filter"), test_find (pipeline, "up") };
  gint n = gst_vkgdr_device_count (NULL);
  guint i;

  g_object_set (elements[2], "device", n - 1, NULL);
  for (i = 0; i < 3; i++)
    set_state (elements[i], GST_STATE_READY);
  for (i = 0; i < 3; i++) {
    set_state (elements[i], GST_STATE_PAUSED);
    fail_unless_equals_int (
        gst_vkgdr_context_get_device (context_of (elements[i])), n - 1);
    fail_unless (context_of (elements[i]) == context_of (elements[0]));
  }
  for (i = 0; i < 3; i++)
    set_state (elements[i], GST_STATE_NULL);
}

/* Elements that get memory of another context, and the bits of each byte that
 * they change. */
static const struct {
  const gchar *launch;
  const gchar *name;
  guint8 changed; /* bits */
} takers[] = {
  { "vkgdrupload device=0", "vkgdrupload", 0 },
  { "cudafilter device=0 kernel=copy", "cudafilter", 0 },
  { "cudafilter device=0 kernel=invert", "cudafilter", 0xff },
};

/* Memory of another object for the same CUDA context is used without a copy.
 * Memory of another device, the last one, is copied without the CPU. */
TEST_LOOP (memory_of_another_context, G_N_ELEMENTS (takers))
{
  g_autoptr (GstHarness) h = gst_harness_new_parse (takers[__i__].launch);
  g_autoptr (GstElement) taker =
      gst_harness_find_element (h, takers[__i__].name);
  GError *error = NULL;
  g_autoptr (GstVkgdrContext) theirs =
      gst_vkgdr_context_new (gst_vkgdr_device_count (NULL) - 1, &error);
  gsize size = 256 * 64, k;
  guint i;

  g_assert_no_error (error);
  gst_harness_set_src_caps_str (h,
      "video/x-raw" VKGDR ",format=GRAY8,width=256,height=64,framerate=30/1");
  for (i = 0; i < 20; i++) {
    GstBuffer *in = gst_buffer_new (), *out;
    g_autofree guint8 *got = NULL;

    gst_buffer_append_memory (in, test_memory_new (theirs, size));
    test_write (gst_buffer_peek_memory (in, 0), i);
    out = gst_harness_push_and_pull (h, in);
    fail_unless (context_of (taker) != theirs);
    fail_unless (
        gst_vkgdr_context_get_cuda_context (
            gst_vkgdr_memory_get_context (gst_buffer_peek_memory (out, 0)))
        == gst_vkgdr_context_get_cuda_context (context_of (taker)));
    got = test_buffer_bytes (out, &size);
    for (k = 0; k < size; k++)
      got[k] ^= takers[__i__].changed;
    fail_unless (test_matches (got, size, i));
    gst_buffer_unref (out);
  }
  if (__i__ == 0)
    fail_unless_equals_uint64 (test_stat (taker, "bytes-peer"),
        gst_vkgdr_context_get_device (theirs) == 0 ? 0 : 20 * size);
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

/* The application's context is preferred to a new one, if it was set (__i__ is
 * 0), or is given when it is asked for (1), even if a neighbour queries the
 * context before the element starts. */
TEST_LOOP (context_of_the_application, 2)
{
  g_autoptr (GstVkgdrContext) context = test_context_new ();
  GstElement *pipeline =
      test_launch ("videotestsrc num-buffers=1 ! vkgdrupload name=a device=0 ! "
                   "vkgdrdownload name=b ! fakesink");
  GstBus *bus = gst_element_get_bus (pipeline);

  if (__i__ == 0)
    test_set_context (pipeline, context);
  else
    gst_bus_set_sync_handler (bus, give_context, context, NULL);
  test_preroll (pipeline);
  fail_unless (test_context_of (pipeline, "a") == context);
  fail_unless (test_context_of (pipeline, "b") == context);
  gst_element_set_state (pipeline, GST_STATE_NULL);
  gst_bus_set_sync_handler (bus, NULL, NULL, NULL);
  gst_object_unref (bus);
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
      "vkgdrdownload ! fakesink");
  guint starts = test_is_slow () ? 100 : 400;
  guint fds = 0, i;
  guint64 managed = 0;

  test_set_context (pipeline, context);
  for (i = 0; i < starts; i++) {
    test_preroll (pipeline);
    set_state (pipeline, GST_STATE_NULL);
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
  gst_object_unref (pipeline);
  gst_object_unref (allocator);
  test_assert_last_ref (context);
}
