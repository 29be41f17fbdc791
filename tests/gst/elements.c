/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * elements.c: tests of vkgdrupload, cudafilter and vkgdrdownload in pipelines:
 * buffers, caps and contexts, and that nothing is copied without need
 */

#include "table.h"

#define VKGDR "(" GST_CAPS_FEATURE_MEMORY_VKGDR_MEMORY ")"

/* --- no copies ----------------------------------------------------------- */

#define AUDIO \
  "audiotestsrc num-buffers=10 ! " \
  "audio/x-raw,format=S16LE,rate=48000,channels=2 ! "
#define BYTES "filesrc num-buffers=10 blocksize=4096 location=/proc/self/exe ! "
#define VIDEO(format, width, height) \
  "videotestsrc num-buffers=10 ! video/x-raw,format=" format ",width=" #width \
  ",height=" #height " ! "
#define UP "vkgdrupload name=at ! "

static const gchar *const untouched[] = {
  VIDEO ("NV12", 320, 240) UP "fakesink name=after",
  VIDEO ("RGBA", 33, 17) UP "fakesink name=after",
  /* The kernel reads what upstream has written. */
  VIDEO ("RGBA", 64, 48) UP "cudafilter name=after ! vkgdrdownload ! fakesink",
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

/* What is set, and the field in which all bytes are counted. */
static const struct {
  const gchar *stream, *access, *field;
} figures[] = {
  { VIDEO ("RGBA", 64, 48), "direct", "bytes-direct" },
  { VIDEO ("RGBA", 64, 48), "staged", "bytes-staged" },
  { VIDEO ("RGBA", 64, 48) "identity drop-allocation=true ! ", "auto",
      "bytes-copied" },
  { AUDIO, "direct", "bytes-direct" },
  { AUDIO, "staged", "bytes-staged" },
  { AUDIO, "auto", "bytes-direct" },
  { BYTES, "direct", "bytes-direct" },
  { BYTES, "staged", "bytes-staged" },
  { BYTES, "auto", "bytes-direct" },
};

TEST_LOOP (figures, G_N_ELEMENTS (figures))
{
  static const gchar *const fields[] = { "bytes-direct", "bytes-staged",
    "bytes-dma", "bytes-peer", "bytes-copied", "bytes-untouched" };
  const gchar *field = figures[__i__].field;
  g_autoptr (GstElement) pipeline = NULL;
  guint64 bytes;
  guint i;

  if (test_hides_vulkan () && g_str_equal (field, "bytes-direct"))
    field = "bytes-staged";
  test_set_debug ("bar");
  pipeline = test_launch ("%s vkgdrupload name=up access=%s ! vkgdrdownload "
                          "name=down ! fakesink sync=false",
      figures[__i__].stream, figures[__i__].access);
  test_play_on (pipeline);
  bytes = test_stat_of (pipeline, "up", "bytes");
  fail_unless (__i__ < 3 ? bytes == 122880 : bytes > 0);
  for (i = 0; i < G_N_ELEMENTS (fields); i++)
    fail_unless_equals_uint64 (test_stat_of (pipeline, "up", fields[i]),
        g_str_equal (fields[i], field) ? bytes : 0);
  if (g_str_equal (field, "bytes-direct"))
    fail_unless (test_stat_of (pipeline, "up", "map-time") > 0);
  fail_unless_equals_uint64 (test_stat_of (pipeline, "up", "frames"), 10);
  fail_unless_equals_uint64 (test_stat_of (pipeline, "down", "frames"), 10);
  fail_unless_equals_uint64 (
      test_stat_of (pipeline, "down", "bytes-dma"), bytes);
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
  fail_unless_equals_uint64 (test_stat (filter, "frames"), 20);
  time = test_stat (filter, "kernel-time");
  fail_unless (
      time > 0
      && time < (guint64) (g_get_monotonic_time () - start) * GST_USECOND);
}

/* --- bytes and caps ------------------------------------------------------ */

#define S16LE "format=S16LE,layout=interleaved,rate=48000,channels=2"
#define RGBA "format=RGBA,width=16,height=16,framerate=25/1"
#define I420 "format=I420,width=17,height=13,framerate=1/1"
#define GRAY16 "format=GRAY16_LE,width=17,height=13,framerate=1/1"
#define FIELDS \
  "video/x-raw(format:Interlaced),interlace-mode=alternate,format=I420," \
  "width=32,height=22,framerate=25/1"
#define UP_AND_DOWN "vkgdrupload ! vkgdrdownload"

static const TestFlow flows[] = {
  { "vkgdrupload", "video/x-raw," RGBA, "video/x-raw" VKGDR "," RGBA },
  { "vkgdrdownload", "audio/x-raw" VKGDR "," S16LE, "audio/x-raw," S16LE,
      .size = 4096 },
  { UP_AND_DOWN, "application/octet-stream", .size = 1 },
  { UP_AND_DOWN, "audio/x-raw," S16LE, .size = 4096 },
  { UP_AND_DOWN, "image/jpeg", .size = 12345 },
  { UP_AND_DOWN, "video/x-raw," I420 },
  { UP_AND_DOWN, "video/x-raw," GRAY16 },
  /* Buffers with one field each have caps features that do not name system
   * memory. */
  { "vkgdrupload ! cudafilter kernel=copy ! vkgdrdownload", FIELDS },
};

TEST_FIXTURE (test_setup, test_teardown);

TEST_LOOP (flows, G_N_ELEMENTS (flows))
{
  test_check_flow (&flows[__i__]);
}

TEST_FIXTURE (NULL, NULL);

/* The heights of a GstVideoMeta and of the caps are those of both fields. */
TEST (alternating_fields)
{
  g_autoptr (GstHarness) h = gst_harness_new_parse (
      "vkgdrupload ! cudafilter kernel=copy ! vkgdrdownload");
  g_autoptr (GstCaps) fields = gst_caps_from_string (FIELDS);
  g_autoptr (GstBuffer) buffer = NULL;
  guint8 data[32 * 22 * 3 / 2];
  g_autofree guint8 *got = NULL;
  GstVideoInfo info;
  gsize size;

  fail_unless (gst_video_info_from_caps (&info, fields));
  test_fill (data, info.size, 5);
  buffer = gst_buffer_new_memdup (data, info.size);
  gst_buffer_add_video_meta_full (buffer, GST_VIDEO_FRAME_FLAG_NONE,
      GST_VIDEO_FORMAT_I420, 32, 22, 3, info.offset, info.stride);
  gst_harness_set_src_caps (h, gst_caps_ref (fields));
  buffer = gst_harness_push_and_pull (h, buffer);
  got = test_buffer_bytes (buffer, &size);
  fail_unless_equals_uint64 (size, info.size);
  fail_unless (test_matches (got, size, 5));
}

/* Caps change in mid-stream. */
TEST (renegotiation)
{
  static const gchar *const formats[] = { "RGBA,width=32,height=16",
    "NV12,width=64,height=48", "GRAY8,width=8,height=5",
    "RGBA,width=32,height=16" };
  g_autoptr (GstHarness) h = gst_harness_new_parse (
      "vkgdrupload ! cudafilter kernel=copy ! vkgdrdownload");
  GstVideoInfo info;
  guint i, k;

  for (i = 0; i < G_N_ELEMENTS (formats); i++) {
    g_autofree gchar *text =
        g_strdup_printf ("video/x-raw,framerate=1/1,format=%s", formats[i]);
    GstCaps *caps = gst_caps_from_string (text);
    guint8 data[64 * 48 * 3 / 2];

    fail_unless (gst_video_info_from_caps (&info, caps));
    gst_harness_set_src_caps (h, caps);
    for (k = 0; k < 3; k++) {
      g_autofree guint8 *got = NULL;

      test_fill (data, info.size, i * 5 + k);
      got = test_push (h, data, info.size, info.size);
      fail_unless (memcmp (got, data, info.size) == 0);
    }
  }
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
  for (i = 0; i < 5; i++) {
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
        gst_vkgdr_context_get_device (theirs) == 0 ? 0 : 5 * size);
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

/* The application's context is preferred to a new one if it is given when an
 * element asks for it, even if a neighbour queries the context before the
 * element starts. Most other tests set a context in advance. */
TEST (context_of_the_application)
{
  g_autoptr (GstVkgdrContext) context = test_context_new ();
  GstElement *pipeline =
      test_launch ("videotestsrc num-buffers=1 ! vkgdrupload name=a device=0 ! "
                   "vkgdrdownload name=b ! fakesink");
  GstBus *bus = gst_element_get_bus (pipeline);

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
