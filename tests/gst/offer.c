/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * offer.c: tests of the allocator that vkgdrupload offers upstream, and of its
 * messages
 */

#include "table.h"

#define VIDEO(width, height) \
  "videotestsrc num-buffers=9 ! " \
  "video/x-raw,format=RGBA,width=" #width ",height=" #height " ! "
#define AUDIO "audiotestsrc num-buffers=10 ! audio/x-raw,format=S16LE ! "
#define UP "vkgdrupload ! vkgdrdownload ! fakesink"

/* --- access -------------------------------------------------------------- */

/* Upstream can use the offered allocator for video, too, with a pool of its
 * own. __i__ is the access mode that is set: auto, direct or staged. */
TEST_LOOP (access_of_the_allocator, 3)
{
  g_autoptr (GstHarness) h = gst_harness_new ("vkgdrupload");
  g_autoptr (GstAllocator) allocator = NULL;
  GstCaps *caps = gst_caps_from_string (
      "video/x-raw,format=GRAY8,width=64,height=64,framerate=1/1");
  g_autoptr (GstQuery) query = gst_query_new_allocation (caps, TRUE);
  g_autoptr (GstMemory) memory = NULL;

  g_object_set (h->element, "access", __i__, NULL);
  gst_harness_set_src_caps (h, caps);
  fail_unless (gst_pad_peer_query (h->srcpad, query));
  gst_query_parse_nth_allocation_param (query, 0, &allocator, NULL);
  memory = gst_allocator_alloc (allocator, 4096, NULL);
  test_write (memory, 1);
  fail_unless_equals_int (gst_vkgdr_memory_get_write_times (memory, NULL, NULL),
      !gst_vkgdr_memory_get_host_pointer (memory) ? GST_VKGDR_ACCESS_STAGED
      : __i__                                     ? (GstVkgdrAccess) __i__
                                                  : GST_VKGDR_ACCESS_DIRECT);
  /* The memory outlives its allocator. */
}

/* --- messages ------------------------------------------------------------ */

/* Frames are written or copied into a window of 4 MiB, or there is no
 * window. */
static const struct {
  const gchar *debug, *launch, *says;
} narrow[] = {
  { "bar=4M", VIDEO (1920, 1080) UP, "is full" },
  { "bar=4M", VIDEO (1920, 1080) "identity drop-allocation=true ! " UP,
      "is full" },
  { "no-window", VIDEO (320, 240) UP, "cannot write" },
  { "no-window", AUDIO UP, "cannot write" },
};

/* There is one message for each start. */
TEST_LOOP (staging_is_told_once, G_N_ELEMENTS (narrow))
{
  g_autoptr (GstElement) pipeline = NULL;

  g_setenv ("VKGDR_DEBUG", narrow[__i__].debug, TRUE);
  pipeline = test_launch ("%s", narrow[__i__].launch);
  fail_unless_equals_int (test_play_count (pipeline, "Resizable BAR"), 1);
  fail_unless_equals_int (test_play_count (pipeline, narrow[__i__].says), 1);
}

TEST_IF (a_large_window_is_not_told, !test_hides_vulkan ())
{
  g_autoptr (GstElement) pipeline = NULL;

  test_set_debug ("bar");
  pipeline = test_launch ("%s", VIDEO (320, 240) UP);
  g_object_set (test_find (pipeline, "vkgdrupload0"), "access",
      GST_VKGDR_ACCESS_STAGED, NULL);
  fail_unless_equals_int (test_play_count (pipeline, "Resizable BAR"), 0);
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
