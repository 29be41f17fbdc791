/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * offer.c: tests of what vkgdrupload offers upstream for audio and bytes, of
 * its figures, and of its messages
 */

#include <gst/check/gstharness.h>

#include "util.h"

#define AUDIO \
  "audiotestsrc num-buffers=10 ! " \
  "audio/x-raw,format=S16LE,rate=48000,channels=2 ! "
#define BYTES "filesrc num-buffers=10 blocksize=4096 location=/proc/self/exe ! "
#define VIDEO \
  "videotestsrc num-buffers=10 ! " \
  "video/x-raw,format=RGBA,width=320,height=240 ! "

static const gchar *streams[] = { AUDIO, BYTES };

/* --- access -------------------------------------------------------------- */

/* The access mode that is set, and the one with which all bytes are written. */
static const struct {
  const gchar *property, *field;
  GstVkgdrAccess access;
} modes[] = {
  { "staged", "bytes-staged", GST_VKGDR_ACCESS_STAGED },
  { "direct", "bytes-direct", GST_VKGDR_ACCESS_DIRECT },
  { "auto", "bytes-direct", GST_VKGDR_ACCESS_DIRECT },
};

TEST_LOOP (access_of_audio_and_bytes,
    test_hides_vulkan () ? 0 : 2 * G_N_ELEMENTS (modes))
{
  g_autoptr (GstElement) pipeline = NULL;
  g_autoptr (GstStructure) stats = NULL;
  GstElement *up;
  gint access = -1;

  test_set_debug ("bar");
  pipeline = test_launch (
      "%s vkgdrupload name=up access=%s ! vkgdrdownload ! fakesink sync=false",
      streams[__i__ % 2], modes[__i__ / 2].property);
  up = test_find (pipeline, "up");
  test_play_on (pipeline);
  g_object_get (up, "stats", &stats, NULL);
  fail_unless (
      gst_structure_get_enum (stats, "access", GST_TYPE_VKGDR_ACCESS, &access));
  fail_unless_equals_int (access, modes[__i__ / 2].access);
  fail_unless (test_stat (up, "bytes") > 0);
  fail_unless_equals_uint64 (
      test_stat (up, modes[__i__ / 2].field), test_stat (up, "bytes"));
  gst_element_set_state (pipeline, GST_STATE_NULL);
}

/* Upstream can use the offered allocator for video, too, with a pool of its
 * own. __i__ is the access mode that is set: auto, direct or staged. */
TEST_LOOP (access_of_the_allocator, 3)
{
  g_autoptr (GstHarness) h = gst_harness_new ("vkgdrupload");
  g_autoptr (GstAllocator) allocator = NULL;
  GstCaps *caps = gst_caps_from_string (
      "video/x-raw,format=GRAY8,width=64,height=64,framerate=1/1");
  g_autoptr (GstQuery) query = gst_query_new_allocation (caps, TRUE);
  GstAllocationParams params;
  g_autoptr (GstMemory) memory = NULL;
  GstMapInfo map;

  g_object_set (h->element, "access", __i__, NULL);
  gst_harness_set_src_caps (h, caps);
  fail_unless (gst_pad_peer_query (h->srcpad, query));
  gst_query_parse_nth_allocation_param (query, 0, &allocator, &params);
  params.prefix = 100;
  params.flags = GST_MEMORY_FLAG_ZERO_PREFIXED;
  memory = gst_allocator_alloc (allocator, 4096, &params);
  fail_unless (gst_is_vkgdr_memory (memory));
  fail_unless_equals_int (memory->size, 4096);
  fail_unless_equals_int (memory->offset, 100);
  fail_unless (gst_memory_map (memory, &map, GST_MAP_WRITE));
  gst_memory_unmap (memory, &map);
  fail_unless_equals_int (gst_vkgdr_memory_get_write_times (memory, NULL, NULL),
      !gst_vkgdr_memory_get_host_pointer (memory) ? GST_VKGDR_ACCESS_STAGED
      : __i__                                     ? (GstVkgdrAccess) __i__
                                                  : GST_VKGDR_ACCESS_DIRECT);
  /* The memory outlives its allocator. */
}

/* --- logs ---------------------------------------------------------------- */

static gint logged;

static void
count_errors (GstDebugCategory *category, GstDebugLevel level,
    const gchar *file, const gchar *function, gint line, GObject *object,
    GstDebugMessage *message, gpointer user_data)
{
  if (level == GST_LEVEL_ERROR)
    g_atomic_int_inc (&logged);
}

TEST_LOOP (audio_and_bytes_log_no_errors, G_N_ELEMENTS (streams))
{
  GstElement *pipeline =
      test_launch ("%s vkgdrupload ! cudafilter source=\"__global__ void k "
                   "(VkgdrSamples in, VkgdrSamples out) {}\" ! vkgdrdownload ! "
                   "fakesink",
          streams[__i__]);

  gst_debug_set_default_threshold (GST_LEVEL_ERROR);
  gst_debug_remove_log_function (gst_debug_log_default);
  gst_debug_add_log_function (count_errors, NULL, NULL);
  test_play (pipeline);
  gst_debug_remove_log_function (count_errors);
  gst_object_unref (pipeline);
  fail_unless_equals_int (logged, 0);
}

/* --- messages ------------------------------------------------------------ */

/* Returns the warnings and the messages of the type info that a pipeline posts,
 * except the one about the software device. */
static GPtrArray *
messages_of (GstElement *pipeline)
{
  GPtrArray *texts = g_ptr_array_new_with_free_func (g_free);
  g_autoptr (GstBus) bus = gst_element_get_bus (pipeline);
  GstMessage *message;

  gst_element_set_state (pipeline, GST_STATE_PLAYING);
  while ((message = gst_bus_timed_pop_filtered (bus, 50 * GST_SECOND,
              GST_MESSAGE_EOS | GST_MESSAGE_INFO | GST_MESSAGE_WARNING
                  | GST_MESSAGE_ERROR))) {
    GstMessageType type = GST_MESSAGE_TYPE (message);
    GError *warning = NULL;
    gchar *debug = NULL;

    fail_unless (type != GST_MESSAGE_ERROR);
    if (type != GST_MESSAGE_EOS) {
      if (type == GST_MESSAGE_WARNING)
        gst_message_parse_warning (message, &warning, &debug);
      else
        gst_message_parse_info (message, &warning, &debug);
      if (!strstr (warning->message, "No NVIDIA GPU"))
        g_ptr_array_add (
            texts, g_strdup_printf ("%s %s", warning->message, debug));
      g_error_free (warning);
      g_free (debug);
    }
    gst_message_unref (message);
    if (type == GST_MESSAGE_EOS)
      break;
  }
  gst_element_set_state (pipeline, GST_STATE_NULL);
  return texts;
}

/* Frames are written or copied into a window of 4 MiB, or there is no
 * window. */
static const struct {
  const gchar *debug;
  const gchar *launch;
  const gchar *says;
} narrow[] = {
  { "bar=4M",
      "videotestsrc num-buffers=9 ! "
      "video/x-raw,format=RGBA,width=1920,height=1080 ! vkgdrupload ! "
      "vkgdrdownload ! fakesink",
      "is full" },
  { "bar=4M",
      "videotestsrc num-buffers=9 ! "
      "video/x-raw,format=RGBA,width=1920,height=1080 ! "
      "identity drop-allocation=true ! vkgdrupload ! vkgdrdownload ! fakesink",
      "is full" },
  { "no-window", VIDEO "vkgdrupload ! vkgdrdownload ! fakesink",
      "cannot write" },
  { "no-window", AUDIO "vkgdrupload ! vkgdrdownload ! fakesink",
      "cannot write" },
};

TEST_LOOP (staging_is_told_once, G_N_ELEMENTS (narrow))
{
  g_autoptr (GstElement) pipeline = NULL;
  GPtrArray *texts;
  const gchar *text;
  guint i;

  g_setenv ("VKGDR_DEBUG", narrow[__i__].debug, TRUE);
  pipeline = test_launch ("%s", narrow[__i__].launch);
  for (i = 0; i < 2; i++) { /* one message for each start */
    texts = messages_of (pipeline);
    fail_unless_equals_int (texts->len, 1);
    text = g_ptr_array_index (texts, 0);
    test_assert_contains (text, narrow[__i__].says);
    test_assert_contains (text, "Resizable BAR");
    g_ptr_array_unref (texts);
  }
}

TEST_IF (a_large_window_is_not_told, !test_hides_vulkan ())
{
  g_autoptr (GstElement) pipeline = test_launch (
      VIDEO "vkgdrupload access=staged ! vkgdrdownload ! fakesink");
  g_autoptr (GPtrArray) texts = NULL;

  test_set_debug ("bar");
  texts = messages_of (pipeline);
  fail_unless_equals_int (texts->len, 0);
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
  GstMapInfo maps[2], map;
  GstMemory *memory;
  guint i;

  test_set_debug ("bar");
  h = gst_harness_new_parse ("vkgdrupload ! vkgdrdownload");
  up = gst_harness_find_element (h, "vkgdrupload");
  gst_harness_set_src_caps_str (h, "application/x-test");
  fail_unless (gst_pad_peer_query (h->srcpad, query));
  gst_query_parse_nth_allocation_param (query, 0, &allocator, NULL);
  for (i = 0; i < 2; i++) {
    memory = gst_allocator_alloc (allocator, 1000, NULL);
    gst_memory_resize (memory, 100, 800);
    gst_buffer_append_memory (buffer, memory);
    memory = gst_buffer_peek_memory (buffer, i);
    fail_unless (gst_memory_map (memory, &maps[i], flags));
    test_fill (maps[i].data, maps[i].size, i);
  }
  result = __i__ & 2 ? gst_buffer_copy (buffer) : gst_buffer_ref (buffer);
  fail_unless (
      gst_buffer_peek_memory (result, 0) != maps[0].memory || !(__i__ & 2));
  result = gst_harness_push_and_pull (h, result);
  for (i = 0; i < 2; i++)
    gst_memory_unmap (gst_buffer_peek_memory (buffer, i), &maps[i]);
  fail_unless (gst_buffer_map (result, &map, GST_MAP_READ));
  fail_unless_equals_int (map.size, 1600);
  fail_unless (test_matches (map.data, 800, 0));
  fail_unless (test_matches (map.data + 800, 800, 1));
  gst_buffer_unmap (result, &map);
  fail_unless_equals_uint64 (test_stat (up, "bytes-untouched"), 0);
}
