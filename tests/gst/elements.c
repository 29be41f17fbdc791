/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * elements.c: tests of vkgdrupload, cudafilter and vkgdrdownload in pipelines:
 * buffers, caps and contexts, what vkgdrupload offers upstream, and that
 * nothing is copied without need
 */

#include "table.h"

#define VKGDR "(" GST_CAPS_FEATURE_MEMORY_VKGDR_MEMORY ")"

/* --- no copies ----------------------------------------------------------- */

#define AUDIO "audiotestsrc num-buffers=10 ! audio/x-raw,format=S16LE ! "
#define VIDEO(format, width, height) \
  "videotestsrc num-buffers=10 ! video/x-raw,format=" format ",width=" #width \
  ",height=" #height " ! "

/* What is set, and the field in which all bytes are counted. */
static const struct {
  const gchar *stream, *access, *field;
  gsize size; /* of a buffer; 0: any */
} figures[] = {
  { VIDEO ("RGBA", 64, 48), "direct", "bytes-direct", 64 * 48 * 4 },
  { VIDEO ("RGBA", 64, 48), "staged", "bytes-staged", 64 * 48 * 4 },
  { VIDEO ("NV12", 33, 17), "direct", "bytes-direct", 36 * (18 + 9) },
  { VIDEO ("RGBA", 64, 48) "identity drop-allocation=true ! ", "auto",
      "bytes-copied", 64 * 48 * 4 },
  { AUDIO, "direct", "bytes-direct" },
  { AUDIO, "staged", "bytes-staged" },
  { AUDIO, "auto", "bytes-direct" },
};

/* Ten buffers are at the same address of GPU memory in front of vkgdrupload and
 * behind it, unless they are copied. */
TEST_LOOP (figures, G_N_ELEMENTS (figures))
{
  static const gchar *const fields[] = { "bytes-direct", "bytes-staged",
    "bytes-dma", "bytes-peer", "bytes-copied", "bytes-untouched" };
  const gchar *field = figures[__i__].field;
  gboolean is_copied = g_str_equal (field, "bytes-copied");
  g_autoptr (GstElement) pipeline = NULL;
  g_autoptr (GArray) before = NULL, after = NULL;
  guint64 bytes;
  guint i;

  if (test_hides_vulkan () && g_str_equal (field, "bytes-direct"))
    field = "bytes-staged";
  test_set_debug ("bar");
  pipeline = test_launch ("%s vkgdrupload name=up access=%s ! vkgdrdownload "
                          "name=down ! fakesink sync=false",
      figures[__i__].stream, figures[__i__].access);
  before = test_note_pointers (pipeline, "up", "sink");
  after = test_note_pointers (pipeline, "down", "sink");
  test_play_on (pipeline);
  bytes = test_stat_of (pipeline, "up", "bytes");
  fail_unless (
      figures[__i__].size ? bytes == 10 * figures[__i__].size : bytes > 0);
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
  for (i = 0; i < 10; i++)
    fail_unless_equals_uint64 (g_array_index (before, guint64, i),
        is_copied ? 0 : g_array_index (after, guint64, i));
}

/* Frames of another element are copied. The copies settle on a few memories, so
 * that these are exported to other processes once each. */
TEST (copies_come_from_a_pool)
{
  g_autoptr (GstElement) pipeline =
      test_launch ("videotestsrc num-buffers=30 ! "
                   "video/x-raw,format=RGBA,width=640,height=480" TEST_FOREIGN
                   " ! vkgdrupload ! queue max-size-buffers=2 ! vkgdrdownload "
                   "name=down ! fakesink");
  g_autoptr (GArray) pointers = test_note_pointers (pipeline, "down", "sink");
  g_autoptr (GHashTable) distinct = g_hash_table_new (NULL, NULL);
  guint i;

  test_play (pipeline);
  fail_unless_equals_int (pointers->len, 30);
  for (i = 0; i < pointers->len; i++)
    g_hash_table_add (
        distinct, GSIZE_TO_POINTER (g_array_index (pointers, guint64, i)));
  fail_unless (g_hash_table_size (distinct) <= 8, "%u memories",
      g_hash_table_size (distinct));
}

/* kernel-time is the median of the times that the device has measured, as soon
 * as it has measured one. A busy processor must not fail kernels of the
 * software device. */
TEST (kernel_time)
{
  g_autoptr (GstElement) pipeline =
      test_launch ("videotestsrc num-buffers=20 ! vkgdrupload ! cudafilter "
                   "name=filter kernel=blur ! vkgdrdownload ! fakesink");
  gint64 start = g_get_monotonic_time (); /* microseconds */
  guint64 time;
  guint limit;

  test_play_on (pipeline);
  g_object_get (test_find (pipeline, "filter"), "kernel-timeout", &limit, NULL);
  fail_unless_equals_int (limit, test_is_software () ? 0 : 10000);
  fail_unless_equals_uint64 (test_stat_of (pipeline, "filter", "frames"), 20);
  time = test_stat_of (pipeline, "filter", "kernel-time");
  fail_unless (
      time > 0
      && time < (guint64) (g_get_monotonic_time () - start) * GST_USECOND);
  gst_element_set_state (pipeline, GST_STATE_NULL);
}

/* --- bytes and caps ------------------------------------------------------ */

#define S16LE "format=S16LE,layout=interleaved,rate=48000,channels=2"
#define RGBA "format=RGBA,width=16,height=16,framerate=25/1"
#define I420 "format=I420,width=17,height=13,framerate=1/1"
#define GRAY16 "format=GRAY16_LE,width=17,height=13,framerate=1/1"
#define FIELDS \
  "video/x-raw(format:Interlaced),interlace-mode=alternate,format=I420," \
  "width=32,height=22,framerate=25/1"
#define UP_AND_DOWN "vkgdrupload ! cudafilter kernel=copy ! vkgdrdownload"

static const TestFlow flows[] = {
  { "vkgdrupload", "video/x-raw," RGBA, "video/x-raw" VKGDR "," RGBA },
  { "vkgdrdownload", "audio/x-raw" VKGDR "," S16LE, "audio/x-raw," S16LE,
      .size = 4096 },
  { "vkgdrupload ! vkgdrdownload", "application/octet-stream", .size = 1 },
  { "vkgdrupload ! vkgdrdownload", "image/jpeg", .size = 12345 },
  { UP_AND_DOWN, "video/x-raw," I420 },
  { UP_AND_DOWN, "video/x-raw," GRAY16 },
  /* Buffers with one field each have caps features that do not name system
   * memory. The heights of a GstVideoMeta and of the caps are those of both
   * fields. */
  { UP_AND_DOWN, FIELDS },
  { UP_AND_DOWN, FIELDS, .has_meta = TRUE },
  /* Caps change in mid-stream. */
  { UP_AND_DOWN, "video/x-raw," RGBA ";video/x-raw," I420 ";"
                 "video/x-raw," GRAY16 ";video/x-raw," RGBA },
};

TEST_FIXTURE (test_setup, test_teardown);

TEST_LOOP (flows, G_N_ELEMENTS (flows))
{
  test_check_flow (&flows[__i__]);
}

TEST_FIXTURE (NULL, NULL);

/* --- messages ------------------------------------------------------------ */

#define UP "vkgdrupload ! vkgdrdownload ! fakesink"

/* Frames are written or copied into a window of 4 MiB, or there is no window,
 * or the user has chosen to stage. */
static const struct {
  const gchar *environment, *launch, *says;
  guint n; /* messages */
} stagings[] = {
  { "VKGDR_DEBUG=bar=4M", VIDEO ("RGBA", 1920, 1080) UP,
      "Resizable BAR|is full", 1 },
  { "VKGDR_DEBUG=bar=4M",
      VIDEO ("RGBA", 1920, 1080) "identity drop-allocation=true ! " UP,
      "Resizable BAR|is full", 1 },
  { "VKGDR_DEBUG=no-window", VIDEO ("RGBA", 320, 240) UP,
      "Resizable BAR|cannot write", 1 },
  { "VKGDR_DEBUG=no-window", AUDIO UP, "Resizable BAR|cannot write", 1 },
  { "VKGDR_DEBUG= VKGDR_VULKAN_LIBRARY=/proc/missing/libvulkan.so.1", AUDIO UP,
      "no Vulkan loader", 1 },
  { "VKGDR_DEBUG=bar",
      VIDEO ("RGBA", 320, 240) "vkgdrupload access=staged ! fakesink",
      "Resizable BAR", 0 },
};

/* There is one message for each start. */
TEST_LOOP (staging_is_told_once, G_N_ELEMENTS (stagings))
{
  g_autoptr (GstElement) pipeline = NULL;
  guint i;

  test_set_environment (stagings[__i__].environment);
  pipeline = test_launch ("%s", stagings[__i__].launch);
  for (i = 0; i < 2; i++)
    test_play_count (pipeline, stagings[__i__].says, stagings[__i__].n);
}

/* --- frames that upstream keeps mapped ----------------------------------- */

/* A decoder pushes a frame, but still reads it to predict the next one, and
 * unmaps it later. Meanwhile the buffer may be copied, and GStreamer copies its
 * memory, too. Bit 0 of __i__: mapped with WRITE instead of READWRITE; bit 1:
 * the buffer is copied. */
TEST_LOOP (a_frame_that_is_still_mapped, 4)
{
  GstMapFlags flags = __i__ & 1 ? GST_MAP_WRITE : GST_MAP_READWRITE;
  g_autoptr (GstHarness) h = NULL;
  g_autoptr (GstElement) up = NULL;
  g_autoptr (GstAllocator) allocator = NULL;
  g_autoptr (GstQuery) query = gst_query_new_allocation (NULL, FALSE);
  g_autoptr (GstBuffer) buffer = gst_buffer_new (), result = NULL;
  g_autofree guint8 *got = NULL;
  GstMapInfo maps[2];
  gsize size;
  guint i;

  test_set_debug ("bar");
  h = gst_harness_new_parse ("vkgdrupload ! vkgdrdownload");
  up = gst_harness_find_element (h, "vkgdrupload");
  gst_harness_set_src_caps_str (h, "application/x-test");
  fail_unless (gst_pad_peer_query (h->srcpad, query));
  gst_query_parse_nth_allocation_param (query, 0, &allocator, NULL);
  for (i = 0; i < 2; i++) {
    GstMemory *memory = gst_allocator_alloc (allocator, 1000, NULL);

    gst_memory_resize (memory, 100, 800);
    gst_buffer_append_memory (buffer, memory);
    fail_unless (gst_memory_map (memory, &maps[i], flags));
    test_fill (maps[i].data, maps[i].size, i);
  }
  result = __i__ & 2 ? gst_buffer_copy (buffer) : gst_buffer_ref (buffer);
  result = gst_harness_push_and_pull (h, result);
  for (i = 0; i < 2; i++)
    gst_memory_unmap (gst_buffer_peek_memory (buffer, i), &maps[i]);
  got = test_buffer_bytes (result, &size);
  fail_unless_equals_int (size, 1600);
  fail_unless (test_matches (got, 800, 0));
  fail_unless (test_matches (got + 800, 800, 1));
  fail_unless_equals_uint64 (test_stat (up, "bytes-untouched"), 0);
}

/* --- contexts ------------------------------------------------------------ */

/* The elements of a pipeline share a context. If one of them has the property
 * `device`, its neighbours use the same device.
 * This also works if they start first: elements near the sink start first. */
TEST (a_chosen_device_counts_from_the_beginning)
{
  static const gchar *const names[] = { "down", "filter", "up" };
  g_autoptr (GstElement) pipeline =
      test_launch ("vkgdrupload name=up ! cudafilter name=filter ! "
                   "vkgdrdownload name=down");
  gint n = gst_vkgdr_device_count (NULL);
  GstVkgdrContext *context;
  guint i;

  g_object_set (test_find (pipeline, "up"), "device", n - 1, NULL);
  gst_element_set_state (pipeline, GST_STATE_READY);
  for (i = 0; i < G_N_ELEMENTS (names); i++) {
    gst_element_set_state (test_find (pipeline, names[i]), GST_STATE_PAUSED);
    context = test_context_of (pipeline, names[i]);
    fail_unless_equals_int (gst_vkgdr_context_get_device (context), n - 1);
    fail_unless (context == test_context_of (pipeline, "down"));
  }
  gst_element_set_state (pipeline, GST_STATE_NULL);
}

/* Elements that get memory of another context, and the bits of each byte that
 * they change. */
static const struct {
  const gchar *launch;
  guint8 changed; /* bits */
} takers[] = {
  { "vkgdrupload name=taker device=0", 0 },
  { "cudafilter name=taker device=0 kernel=copy", 0 },
  { "cudafilter name=taker device=0 kernel=invert", 0xff },
};

/* Memory of another object for the same CUDA context is used without a copy.
 * Memory of another device, the last one, is copied without the CPU. */
TEST_LOOP (memory_of_another_context, G_N_ELEMENTS (takers))
{
  g_autoptr (GstHarness) h = gst_harness_new_parse (takers[__i__].launch);
  gint last = gst_vkgdr_device_count (NULL) - 1;
  g_autoptr (GstVkgdrContext) theirs = gst_vkgdr_context_new (last, NULL);
  gsize size = 256 * 64, k;
  guint i;

  gst_harness_set_src_caps_str (h,
      "video/x-raw" VKGDR ",format=GRAY8,width=256,height=64,framerate=30/1");
  for (i = 0; i < 5; i++) {
    GstMemory *memory = test_memory_new (theirs, size);
    g_autoptr (GstBuffer) buffer = gst_buffer_new ();
    g_autofree guint8 *got = NULL;
    GstVkgdrContext *own, *out;

    gst_buffer_append_memory (buffer, memory);
    test_write (memory, i);
    buffer = gst_harness_push_and_pull (h, buffer);
    own = test_context_of (h->element, "taker");
    out = gst_vkgdr_memory_get_context (gst_buffer_peek_memory (buffer, 0));
    fail_unless (own != theirs);
    fail_unless (gst_vkgdr_context_get_cuda_context (own)
                 == gst_vkgdr_context_get_cuda_context (out));
    got = test_buffer_bytes (buffer, &size);
    for (k = 0; k < size; k++)
      got[k] ^= takers[__i__].changed;
    fail_unless (test_matches (got, size, i));
  }
  if (__i__ == 0)
    fail_unless_equals_uint64 (test_stat_of (h->element, "taker", "bytes-peer"),
        last == 0 ? 0 : 5 * size);
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
