/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * interop-order.c: tests that frames for GStreamer's own CUDA elements are used
 * in the right order
 *
 * A frame that a consumer holds is not overwritten, a frame whose content is
 * not complete is not read, and no thread waits without need. The tests are
 * skipped if those elements are not installed, or are older than 1.24.
 */

#include <gst/check/gstharness.h>
#include <string.h>

#include "gate.h"
#include "nvcodec.h"

TEST_REQUIRE (test_nvcodec_require);

/* A slow consumer holds frames in GStreamer's CUDA memory. Each frame still has
 * its content when the consumer looks at it. */
TEST (frames_are_kept_while_they_are_used)
{
  g_autoptr (GstElement) pipeline = NULL, sink = NULL;
  GPtrArray *samples =
      g_ptr_array_new_with_free_func ((GDestroyNotify) gst_sample_unref);
  GstSample *sample;
  guint frame = 0, i;

  test_nvcodec_load ();
  test_frames_register ();
  pipeline = test_launch ("testframes num-buffers=30 ! "
                          "video/x-raw,format=GRAY8,width=64,height=16 ! "
                          "vkgdrupload ! " CUDA " ! appsink name=sink "
                          "sync=false max-buffers=2");
  sink = gst_bin_get_by_name (GST_BIN (pipeline), "sink");
  gst_element_set_state (pipeline, GST_STATE_PLAYING);
  while ((sample = gst_app_sink_pull_sample (GST_APP_SINK (sink)))) {
    g_ptr_array_add (samples, sample);
    if (samples->len < 5)
      continue;
    for (i = 0; i < samples->len; i++) {
      GstMapInfo map;
      GstBuffer *buffer =
          gst_sample_get_buffer (g_ptr_array_index (samples, i));

      fail_unless (gst_buffer_map (buffer, &map, GST_MAP_READ));
      fail_unless_equals_int (
          map.data[64 * 3 + 7], test_frame_byte (frame + i, 7, 3));
      gst_buffer_unmap (buffer, &map);
    }
    g_ptr_array_remove_index (samples, 0);
    frame++;
  }
  fail_unless_equals_int (frame, 26);
  g_ptr_array_unref (samples);
  gst_element_set_state (pipeline, GST_STATE_NULL);
}

/* --- no thread waits without need ---------------------------------------- */

#define WIDTH 64
#define HEIGHT 48

/* The number of buffers that the test takes from the offered pool. */
#define N_BUFFERS 3

#define TO_BGRA "capsfilter caps=" CUDA ",format=BGRA"

/* How upstream's frames get to the device, and whether the streaming thread has
 * to wait because downstream does not use the frame's stream. */
static const struct {
  const gchar *launch;
  gboolean waits;
} uploads[] = {
  { "vkgdrupload access=direct ! cudaconvertscale ! " TO_BGRA, FALSE },
  { "vkgdrupload access=staged ! cudaconvertscale ! " TO_BGRA, FALSE },
  { "vkgdrupload access=staged ! queue ! cudaconvertscale ! " TO_BGRA, FALSE },
  { "vkgdrupload access=staged ! capsfilter caps=" CUDA, TRUE },
};

static GstHarness *
harness_new (const gchar *launch)
{
  GstHarness *h = gst_harness_new_parse (launch);

  test_set_context (h->element, test_context);
  gst_harness_set_src_caps_str (
      h, "video/x-raw,format=RGBA,width=64,height=48,framerate=30/1");
  return h;
}

/* Fills the frame. Each channel has a different value, which depends on the
 * frame. */
static void
fill_frame (GstBuffer *buffer, guint frame)
{
  const GstVideoMeta *meta = gst_buffer_get_video_meta (buffer);
  gsize stride = meta ? meta->stride[0] : 4 * WIDTH;
  GstMapInfo map;
  guint x, y;

  fail_unless (gst_buffer_map (buffer, &map, GST_MAP_WRITE));
  for (y = 0; y < HEIGHT; y++)
    for (x = 0; x < 4 * WIDTH; x++)
      map.data[y * stride + x] = 40 * frame + x % 4 * 10 + 1;
  gst_buffer_unmap (buffer, &map);
}

static GstBuffer **
acquire_frames (GstHarness *h)
{
  GstBuffer **buffers = g_new0 (GstBuffer *, N_BUFFERS);
  guint i;

  for (i = 0; i < N_BUFFERS; i++)
    buffers[i] = gst_harness_create_buffer (h, 4 * WIDTH * HEIGHT);
  return buffers;
}

static void
push_frames (GstHarness *h, GstBuffer **buffers, guint first)
{
  guint i;

  for (i = 0; i < N_BUFFERS; i++) {
    fill_frame (buffers[i], first + i);
    GST_BUFFER_PTS (buffers[i]) = (first + i) * GST_SECOND / 30;
    fail_unless_equals_int (gst_harness_push (h, buffers[i]), GST_FLOW_OK);
  }
  g_free (buffers);
}

static void
assert_frame (GstBuffer *buffer, guint frame, gboolean is_swapped)
{
  const GstVideoMeta *meta = gst_buffer_get_video_meta (buffer);
  GstMapInfo map;
  guint x, y;

  fail_unless (gst_buffer_map (buffer, &map, GST_MAP_READ));
  for (y = 0; y < HEIGHT; y++) {
    for (x = 0; x < 4 * WIDTH; x++) {
      guint c = x % 4, component = is_swapped && c < 3 ? 2 - c : c;

      fail_unless_equals_int (
          map.data[y * meta->stride[0] + x], 40 * frame + component * 10 + 1);
    }
  }
  gst_buffer_unmap (buffer, &map);
}

static void
pull_frames (GstHarness *h, guint first, gboolean is_swapped)
{
  guint i;

  for (i = 0; i < N_BUFFERS; i++) {
    g_autoptr (GstBuffer) buffer = gst_harness_pull (h);

    fail_unless (buffer != NULL);
    assert_frame (buffer, first + i, is_swapped);
  }
}

static gint opened; /* atomic */

static gpointer
open_later (gpointer unused)
{
  g_usleep (200 * 1000);
  g_atomic_int_set (&opened, TRUE);
  test_gate_set (TRUE);
  return NULL;
}

/* A consumer that declares its stream gets frames whose transfer is not
 * complete. For a consumer that does not declare its stream, the streaming
 * thread waits. */
TEST_LOOP (streams_wait_instead_of_threads, G_N_ELEMENTS (uploads))
{
  gboolean is_swapped = !uploads[__i__].waits;
  GThread *opener = NULL;
  GstHarness *h;

  test_nvcodec_load ();
  if (!test_nvcodec_has_converter ())
    return;
  test_setup_bar ();
  h = harness_new (uploads[__i__].launch);
  /* After these frames, no work is left that is only done once. */
  push_frames (h, acquire_frames (h), 0);
  pull_frames (h, 0, is_swapped);

  test_gate_transfers ();
  if (uploads[__i__].waits)
    opener = g_thread_new ("opener", open_later, NULL);
  push_frames (h, acquire_frames (h), N_BUFFERS);
  fail_unless_equals_int (g_atomic_int_get (&opened), uploads[__i__].waits);
  fail_unless (!test_gate_was_missed ());
  test_gate_set (TRUE);
  pull_frames (h, N_BUFFERS, is_swapped);
  if (opener)
    g_thread_join (opener);
  gst_harness_teardown (h);
  test_teardown ();
}

/* The device is busy for a long time with work on another stream. When
 * GStreamer's converter has released a frame, the library does not wait for the
 * whole device. __i__ is 0 for VkgdrMemory, and 1 for foreign memory. */
TEST_LOOP (letting_go_waits_for_nothing, 2)
{
  gboolean is_foreign = __i__ > 0;
  GstVkgdrStream *busy;
  GstBuffer **buffers;
  GstHarness *h;
  guint i;

  test_nvcodec_load ();
  if (!test_nvcodec_has_converter ())
    return;
  test_setup_bar ();
  h = harness_new (uploads[0].launch);
  push_frames (h, acquire_frames (h), 0);
  pull_frames (h, 0, TRUE);

  buffers = acquire_frames (h);
  for (i = 0; is_foreign && i < N_BUFFERS; i++) {
    gst_buffer_unref (buffers[i]);
    buffers[i] = gst_buffer_new_allocate (NULL, 4 * WIDTH * HEIGHT, NULL);
  }
  busy = test_stream_new (test_context);
  test_gate_delay (busy, 0, NULL);
  push_frames (h, buffers, N_BUFFERS);
  fail_unless (!test_gate_was_missed ());
  fail_unless (!gst_vkgdr_stream_is_done (busy));
  pull_frames (h, N_BUFFERS, TRUE);
  fail_unless (!test_gate_was_missed ());
  test_gate_set (TRUE);
  gst_harness_teardown (h);
  gst_object_unref (busy);
  test_teardown ();
}
