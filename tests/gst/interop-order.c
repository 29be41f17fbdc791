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

#include "device/cudalib.h"
#include "gate.h"
#include "nvcodec.h"

#define WIDTH 64
#define HEIGHT 48

/* The number of buffers that the test takes from the offered pool. */
#define N_BUFFERS 3

static GstHarness *
harness_new (const gchar *launch)
{
  GstHarness *h = gst_harness_new_parse (launch);

  test_set_context (h->element, test_context);
  gst_harness_set_src_caps_str (
      h, "video/x-raw,format=RGBA,width=64,height=48,framerate=30/1");
  return h;
}

static gsize
stride_of (GstBuffer *buffer)
{
  const GstVideoMeta *meta = gst_buffer_get_video_meta (buffer);

  return meta ? (gsize) meta->stride[0] : 4 * WIDTH;
}

/* The value of a channel, which depends on the frame. */
static guint8
value_of (guint frame, guint channel)
{
  return 40 * frame + channel * 10 + 1;
}

static void
fill_frame (GstBuffer *buffer, guint frame)
{
  gsize stride = stride_of (buffer);
  GstMapInfo map;
  guint x, y;

  fail_unless (gst_buffer_map (buffer, &map, GST_MAP_WRITE));
  for (y = 0; y < HEIGHT; y++)
    for (x = 0; x < 4 * WIDTH; x++)
      map.data[y * stride + x] = value_of (frame, x % 4);
  gst_buffer_unmap (buffer, &map);
  GST_BUFFER_PTS (buffer) = frame * GST_SECOND / 30;
}

/* Fails unless the frame has the channels of frame number @frame, at the places
 * @order. Frees it. */
static void
assert_frame (GstBuffer *buffer, guint frame, const guint *order)
{
  gsize stride = stride_of (buffer);
  GstMapInfo map;
  guint x, y;

  fail_unless (gst_buffer_map (buffer, &map, GST_MAP_READ));
  for (y = 0; y < HEIGHT; y++)
    for (x = 0; x < 4 * WIDTH; x++)
      test_check_byte (
          x, map.data[y * stride + x], value_of (frame, order[x % 4]));
  gst_buffer_unmap (buffer, &map);
  gst_buffer_unref (buffer);
}

static const guint rgba[] = { 0, 1, 2, 3 }, bgra[] = { 2, 1, 0, 3 };

static void
acquire_frames (GstHarness *h, GstBuffer **buffers)
{
  guint i;

  for (i = 0; i < N_BUFFERS; i++)
    buffers[i] = gst_harness_create_buffer (h, 4 * WIDTH * HEIGHT);
}

static void
push_frames (GstHarness *h, GstBuffer **buffers, guint first)
{
  guint i;

  for (i = 0; i < N_BUFFERS; i++) {
    fill_frame (buffers[i], first + i);
    fail_unless_equals_int (gst_harness_push (h, buffers[i]), GST_FLOW_OK);
  }
}

static void
pull_frames (GstHarness *h, guint first, const guint *order)
{
  guint i;

  for (i = 0; i < N_BUFFERS; i++)
    assert_frame (gst_harness_pull (h), first + i, order);
}

TEST_REQUIRE (test_nvcodec_require);

/* --- frames are kept ----------------------------------------------------- */

/* A slow consumer holds frames in GStreamer's CUDA memory. Each frame still has
 * its content when the consumer looks at it. */
TEST (frames_are_kept_while_they_are_used)
{
  g_autoptr (GstElement) pipeline = NULL;
  GQueue samples = G_QUEUE_INIT;
  GstSample *sample;
  GstAppSink *sink;
  guint frame = 0, i;

  test_nvcodec_load ();
  test_frames_register ();
  pipeline = test_launch ("testframes num-buffers=30 ! "
                          "video/x-raw,format=GRAY8,width=64,height=16 ! "
                          "vkgdrupload ! " CUDA " ! appsink name=sink "
                          "sync=false max-buffers=2");
  sink = GST_APP_SINK (test_find (pipeline, "sink"));
  gst_element_set_state (pipeline, GST_STATE_PLAYING);
  while ((sample = gst_app_sink_pull_sample (sink))) {
    g_queue_push_tail (&samples, sample);
    for (i = 0; samples.length == 5 && i < 5; i++) {
      GstBuffer *buffer =
          gst_sample_get_buffer (g_queue_peek_nth (&samples, i));
      GstMapInfo map;

      fail_unless (gst_buffer_map (buffer, &map, GST_MAP_READ));
      fail_unless_equals_int (
          map.data[64 * 3 + 7], test_frame_byte (frame + i, 7, 3));
      gst_buffer_unmap (buffer, &map);
    }
    if (samples.length == 5) {
      gst_sample_unref (g_queue_pop_head (&samples));
      frame++;
    }
  }
  fail_unless_equals_int (frame, 26);
  g_queue_clear_full (&samples, (GDestroyNotify) gst_sample_unref);
  gst_element_set_state (pipeline, GST_STATE_NULL);
}

/* A frame is kept until the kernel has read it, so that no later frame
 * overwrites it. */
TEST (frames_stay)
{
  GstBuffer *frames[8];
  GstElement *filter;
  GstHarness *h;
  guint i;

  test_nvcodec_load ();
  test_setup ();
  h = harness_new ("cudaupload ! cudafilter kernel=blur");
  filter = gst_harness_find_element (h, "cudafilter");
  for (i = 0; i < G_N_ELEMENTS (frames); i++) {
    GstBuffer *frame = gst_buffer_new_allocate (NULL, 4 * WIDTH * HEIGHT, NULL);

    fill_frame (frame, i);
    if (i > 0)
      test_stream_delay (gst_vkgdr_base_transform_get_stream (
                             GST_VKGDR_BASE_TRANSFORM (filter)),
          30, NULL);
    frames[i] = gst_harness_push_and_pull (h, frame);
  }
  for (i = 0; i < G_N_ELEMENTS (frames); i++)
    assert_frame (frames[i], i, rgba);
  gst_object_unref (filter);
  gst_harness_teardown (h);
  test_teardown ();
}

/* --- no thread waits without need ---------------------------------------- */

/* Returns the stream of a frame of GStreamer's CUDA elements, in @context. If
 * the frame has no stream, this is the default stream. */
static GstVkgdrStream *
stream_of (GstVkgdrContext *context, GstBuffer *buffer)
{
  gpointer (*get_stream) (GstMemory * memory) =
      test_nvcodec_function ("gst_cuda_memory_get_stream");
  gpointer (*get_handle) (gpointer stream) =
      test_nvcodec_function ("gst_cuda_stream_get_handle");
  gpointer stream = get_stream (gst_buffer_peek_memory (buffer, 0));

  return gst_vkgdr_stream_new_wrapped (
      context, stream ? get_handle (stream) : NULL, NULL);
}

/* Writes to the frame late, on its stream, as GStreamer's CUDA elements may
 * do. Then sets *@done. */
static GstPadProbeReturn
write_late (GstPad *pad, GstPadProbeInfo *info, gpointer done)
{
  GstBuffer *buffer = GST_PAD_PROBE_INFO_BUFFER (info);
  const GstVideoMeta *meta = gst_buffer_get_video_meta (buffer);
  g_autoptr (GstVkgdrStream) stream = stream_of (test_context, buffer);
  GstMemory *memory = gst_buffer_peek_memory (buffer, 0);
  GstMapInfo map;

  fail_unless (gst_memory_map (memory, &map, GST_MAP_WRITE | GST_MAP_VKGDR));
  test_gate_delay (stream, 100, done);
  fail_unless (gst_vkgdr_context_push (test_context, NULL));
  fail_unless_equals_int (
      vkgdr_driver_load ()->cuMemsetD8Async (
          (CUdeviceptr) (guintptr) map.data + meta->offset[0], 0x30,
          (gsize) meta->stride[0] * meta->height,
          gst_vkgdr_stream_get_handle (stream)),
      CUDA_SUCCESS);
  gst_vkgdr_context_pop (test_context);
  gst_memory_unmap (memory, &map);
  return GST_PAD_PROBE_OK;
}

static const struct {
  const gchar *launch;
  guint8 expected; /* what the kernel makes of 0x30 */
  gboolean to_cuda;
} orders[] = {
  { "cudaupload ! cudafilter name=f kernel=invert", 0xcf, TRUE },
  { "cudaupload ! cudafilter name=f kernel=blur", 0x30, TRUE },
  { "cudaupload ! cudafilter name=f kernel=invert ! " VKGDR " ! identity", 0xcf,
      FALSE },
  /* Memory without a stream belongs to CUDA's default stream. */
  { "cudaupload ! " CUDA " ! identity drop-allocation=true ! cudafilter "
    "name=f kernel=invert",
      0xcf, TRUE },
};

/* The kernel waits for the work that the producer has queued, and the consumer
 * waits for the kernel. The CPU waits for neither. */
TEST_LOOP (order, G_N_ELEMENTS (orders))
{
  GstBuffer *out, *frames[2];
  gint done = FALSE;
  GstHarness *h;
  GstMapInfo map;
  guint i;

  test_nvcodec_load ();
  test_setup ();
  h = harness_new (orders[__i__].launch);
  for (i = 0; i < 2; i++) {
    frames[i] = gst_buffer_new_allocate (NULL, 4 * WIDTH * HEIGHT, NULL);
    fill_frame (frames[i], i);
  }
  /* After the first frame, no work is left that is only done once. */
  gst_buffer_unref (gst_harness_push_and_pull (h, frames[0]));
  test_add_probe (
      h->element, "f", "sink", GST_PAD_PROBE_TYPE_BUFFER, write_late, &done);
  out = gst_harness_push_and_pull (h, frames[1]);
  fail_unless (out != NULL);
  fail_if (g_atomic_int_get (&done), "the CPU has waited");
  test_gate_set (TRUE);
  if (orders[__i__].to_cuda)
    fail_unless (GST_MEMORY_FLAG_IS_SET (
        gst_buffer_peek_memory (out, 0), GST_VKGDR_CUDA_MEMORY_NEED_SYNC));
  fail_unless (gst_buffer_map (out, &map, GST_MAP_READ));
  fail_unless (g_atomic_int_get (&done));
  fail_unless_equals_int (map.data[0], orders[__i__].expected);
  fail_unless_equals_int (map.data[61], orders[__i__].expected);
  gst_buffer_unmap (out, &map);
  gst_buffer_unref (out);
  gst_harness_teardown (h);
  test_teardown ();
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

#define TO_BGRA "cudaconvertscale ! capsfilter caps=" CUDA ",format=BGRA"

/* How upstream's frames get to the device, and whether the streaming thread has
 * to wait because downstream does not use the frame's stream. */
static const struct {
  const gchar *launch;
  const guint *order;
  gboolean waits;
} uploads[] = {
  { "vkgdrupload access=direct ! " TO_BGRA, bgra, FALSE },
  { "vkgdrupload access=staged ! " TO_BGRA, bgra, FALSE },
  { "vkgdrupload access=staged ! queue ! " TO_BGRA, bgra, FALSE },
  { "vkgdrupload access=staged ! capsfilter caps=" CUDA, rgba, TRUE },
};

/* A consumer that declares its stream gets frames whose transfer is not
 * complete. For a consumer that does not declare its stream, the streaming
 * thread waits. */
TEST_LOOP (streams_wait_instead_of_threads, G_N_ELEMENTS (uploads))
{
  GThread *opener = NULL;
  GstBuffer *buffers[N_BUFFERS];
  GstHarness *h;

  test_nvcodec_load ();
  if (!test_nvcodec_has_converter ())
    return;
  test_setup_bar ();
  h = harness_new (uploads[__i__].launch);
  /* After these frames, no work is left that is only done once. */
  acquire_frames (h, buffers);
  push_frames (h, buffers, 0);
  pull_frames (h, 0, uploads[__i__].order);

  test_gate_transfers ();
  if (uploads[__i__].waits)
    opener = g_thread_new ("opener", open_later, NULL);
  acquire_frames (h, buffers);
  push_frames (h, buffers, N_BUFFERS);
  fail_unless_equals_int (g_atomic_int_get (&opened), uploads[__i__].waits);
  fail_unless (!test_gate_was_missed ());
  test_gate_set (TRUE);
  pull_frames (h, N_BUFFERS, uploads[__i__].order);
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
  g_autoptr (GstVkgdrFence) last = NULL;
  GstBuffer *buffers[N_BUFFERS];
  GstVkgdrStream *busy;
  GstHarness *h;
  guint i;

  test_nvcodec_load ();
  if (!test_nvcodec_has_converter ())
    return;
  test_setup_bar ();
  h = harness_new (uploads[0].launch);
  acquire_frames (h, buffers);
  push_frames (h, buffers, 0);
  pull_frames (h, 0, bgra);

  acquire_frames (h, buffers);
  for (i = 0; __i__ && i < N_BUFFERS; i++) {
    gst_buffer_unref (buffers[i]);
    buffers[i] = gst_buffer_new_allocate (NULL, 4 * WIDTH * HEIGHT, NULL);
  }
  busy = test_stream_new (test_context);
  test_gate_delay (busy, 0, NULL);
  push_frames (h, buffers, N_BUFFERS);
  fail_unless (!test_gate_was_missed ());
  last = gst_vkgdr_stream_record (busy, NULL);
  fail_unless (last && !gst_vkgdr_fence_is_signaled (last));
  pull_frames (h, N_BUFFERS, bgra);
  fail_unless (!test_gate_was_missed ());
  test_gate_set (TRUE);
  gst_harness_teardown (h);
  g_clear_pointer (&last, gst_vkgdr_fence_unref);
  gst_object_unref (busy);
  test_teardown ();
}
