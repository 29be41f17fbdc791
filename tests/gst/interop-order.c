/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * interop-order.c: tests that frames for GStreamer's own CUDA elements are used
 * in the right order
 *
 * A frame that a consumer holds is not overwritten, a frame whose content is
 * not complete is not read, and no thread waits without need. The tests are
 * skipped if those elements are not installed, or are older than 1.24.
 */

#include <string.h>

#include "device/cudalib.h"
#include "gate.h"
#include "nvcodec.h"

/* The size of a frame of 64x48 pixels. */
#define SIZE (64 * 48 * 4)

/* The number of buffers that the test takes from the offered pool. */
#define N_BUFFERS 3

static GstHarness *
harness_new (const gchar *launch)
{
  GstHarness *h = test_harness_parse (launch);

  gst_harness_set_src_caps_str (
      h, "video/x-raw,format=RGBA,width=64,height=48,framerate=30/1");
  return h;
}

/* All bytes of a frame have this value, so that the order of the channels makes
 * no difference. */
static guint8
value_of (guint frame)
{
  return 30 * frame + 1;
}

static GstBuffer *
fill_frame (GstBuffer *buffer, guint frame)
{
  gst_buffer_memset (buffer, 0, value_of (frame), -1);
  GST_BUFFER_PTS (buffer) = frame * GST_SECOND / 30;
  return buffer;
}

/* Fails unless @buffer, which it frees, is frame number @frame. */
static void
assert_frame (GstBuffer *buffer, guint frame)
{
  const GstVideoMeta *meta = gst_buffer_get_video_meta (buffer);
  gsize stride = meta ? (gsize) meta->stride[0] : SIZE / 48;
  GstMapInfo map;
  guint x, y;

  fail_unless (gst_buffer_map (buffer, &map, GST_MAP_READ));
  for (y = 0; y < 48; y++)
    for (x = 0; x < SIZE / 48; x++)
      test_check_byte (x, map.data[y * stride + x], value_of (frame));
  gst_buffer_unmap (buffer, &map);
  gst_buffer_unref (buffer);
}

static void
acquire_frames (GstHarness *h, GstBuffer **buffers)
{
  guint i;

  for (i = 0; i < N_BUFFERS; i++)
    buffers[i] = gst_harness_create_buffer (h, SIZE);
}

static void
push_frames (GstHarness *h, GstBuffer **buffers, guint frame)
{
  guint i;

  for (i = 0; i < N_BUFFERS; i++)
    fail_unless_equals_int (
        gst_harness_push (h, fill_frame (buffers[i], frame + i)), GST_FLOW_OK);
}

static void
pull_frames (GstHarness *h, guint first)
{
  guint i;

  for (i = 0; i < N_BUFFERS; i++)
    assert_frame (gst_harness_pull (h), first + i);
}

static void
setup (void)
{
  test_nvcodec_load ();
  test_setup_bar ();
}

TEST_REQUIRE (test_nvcodec_require);

TEST_FIXTURE (setup, test_teardown);

/* --- frames are kept ----------------------------------------------------- */

/* A consumer holds frames in GStreamer's CUDA memory. Each of them still has
 * its content when the consumer looks at it. */
TEST (frames_are_kept_while_they_are_used)
{
  g_autoptr (GstElement) pipeline = NULL;
  g_autoptr (GPtrArray) frames = NULL;
  guint i;

  test_frames_register ();
  pipeline = test_launch ("testframes num-buffers=30 ! "
                          "video/x-raw,format=GRAY8,width=64,height=16 ! "
                          "vkgdrupload ! " CUDA " ! appsink name=sink");
  frames = test_play_buffers (pipeline);
  fail_unless_equals_int (frames->len, 30);
  for (i = 0; i < 30; i++) {
    guint8 byte;

    gst_buffer_extract (g_ptr_array_index (frames, i), 64 * 3 + 7, &byte, 1);
    fail_unless_equals_int (byte, test_frame_byte (i, 7, 3));
  }
}

/* A frame is kept until the kernel has read it, so that no later frame
 * overwrites it. */
TEST (frames_stay)
{
  GstBuffer *frames[8];
  g_autoptr (GstHarness) h =
      harness_new ("cudaupload ! cudafilter kernel=blur");
  g_autoptr (GstElement) filter = gst_harness_find_element (h, "cudafilter");
  guint i;

  for (i = 0; i < G_N_ELEMENTS (frames); i++) {
    if (i > 0)
      test_stream_delay (gst_vkgdr_base_transform_get_stream (
                             GST_VKGDR_BASE_TRANSFORM (filter)),
          30, NULL);
    frames[i] = gst_harness_push_and_pull (
        h, fill_frame (gst_buffer_new_allocate (NULL, SIZE, NULL), i));
  }
  for (i = 0; i < G_N_ELEMENTS (frames); i++)
    assert_frame (frames[i], i);
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
  gboolean to_cuda;
} orders[] = {
  { "cudaupload ! cudafilter name=f kernel=invert", TRUE },
  { "cudaupload ! cudafilter name=f kernel=invert ! " VKGDR " ! identity",
      FALSE },
  /* Memory without a stream belongs to CUDA's default stream. */
  { "cudaupload ! " CUDA " ! identity drop-allocation=true ! cudafilter "
    "name=f kernel=invert",
      TRUE },
};

/* The kernel waits for the work that the producer has queued, and the consumer
 * waits for the kernel. The CPU waits for neither. */
TEST_LOOP (order, G_N_ELEMENTS (orders))
{
  g_autoptr (GstHarness) h = harness_new (orders[__i__].launch);
  g_autoptr (GstBuffer) out = NULL;
  guint8 bytes[64];
  gint done = FALSE;

  /* After the first frame, no work is left that is only done once. */
  gst_buffer_unref (gst_harness_push_and_pull (
      h, fill_frame (gst_buffer_new_allocate (NULL, SIZE, NULL), 0)));
  test_add_probe (
      h->element, "f", "sink", GST_PAD_PROBE_TYPE_BUFFER, write_late, &done);
  out = gst_harness_push_and_pull (
      h, fill_frame (gst_buffer_new_allocate (NULL, SIZE, NULL), 1));
  fail_unless (out != NULL);
  fail_if (g_atomic_int_get (&done), "the CPU has waited");
  test_gate_set (TRUE);
  if (orders[__i__].to_cuda)
    fail_unless (GST_MEMORY_FLAG_IS_SET (
        gst_buffer_peek_memory (out, 0), GST_VKGDR_CUDA_MEMORY_NEED_SYNC));
  gst_buffer_extract (out, 0, bytes, sizeof (bytes));
  fail_unless (g_atomic_int_get (&done));
  fail_unless_equals_int (bytes[0], 0xcf);
  fail_unless_equals_int (bytes[61], 0xcf);
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
  gboolean waits;
} uploads[] = {
  { "vkgdrupload access=direct ! " TO_BGRA, FALSE },
  { "vkgdrupload access=staged ! " TO_BGRA, FALSE },
  { "vkgdrupload access=staged ! capsfilter caps=" CUDA, TRUE },
};

/* A consumer that declares its stream gets frames whose transfer is not
 * complete. For a consumer that does not declare its stream, the streaming
 * thread waits. */
TEST_LOOP (streams_wait_instead_of_threads, G_N_ELEMENTS (uploads))
{
  GThread *opener = NULL;
  GstBuffer *buffers[N_BUFFERS];
  g_autoptr (GstHarness) h = NULL;

  if (!test_nvcodec_has_converter ())
    return;
  h = harness_new (uploads[__i__].launch);
  /* After these frames, no work is left that is only done once. */
  acquire_frames (h, buffers);
  push_frames (h, buffers, 0);
  pull_frames (h, 0);

  test_gate_transfers ();
  if (uploads[__i__].waits)
    opener = g_thread_new ("opener", open_later, NULL);
  acquire_frames (h, buffers);
  push_frames (h, buffers, N_BUFFERS);
  fail_unless_equals_int (g_atomic_int_get (&opened), uploads[__i__].waits);
  fail_unless (!test_gate_was_missed ());
  test_gate_set (TRUE);
  pull_frames (h, N_BUFFERS);
  if (opener)
    g_thread_join (opener);
}

/* A consumer may work as GStreamer's own CUDA elements do: it maps the frame,
 * launches a kernel on a stream that the library does not know, unmaps the
 * frame and frees it at once. The frame is kept until the kernel has ended. */
TEST_LOOP (readers_on_unknown_streams_keep_the_frame, 2)
{
  g_autofree gchar *launch =
      g_strdup_printf ("vkgdrupload access=%s ! capsfilter caps=" CUDA,
          __i__ ? "staged" : "direct");
  g_autoptr (GstVkgdrStream) stream = test_stream_new (test_context);
  g_autoptr (GstHarness) h = harness_new (launch);
  GstBuffer *buffer = gst_harness_create_buffer (h, SIZE);
  GstMemory *memory = gst_buffer_peek_memory (buffer, 0); /* the pool's */
  gint done = FALSE;
  GstMapInfo map;

  buffer = gst_harness_push_and_pull (h, fill_frame (buffer, 0));
  fail_unless (gst_vkgdr_is_cuda_memory (gst_buffer_peek_memory (buffer, 0)));
  fail_unless (gst_buffer_map (buffer, &map, GST_MAP_READ | GST_MAP_VKGDR));
  test_gate_delay (stream, 0, &done);
  gst_buffer_unmap (buffer, &map);
  gst_buffer_unref (buffer);
  fail_if (gst_vkgdr_memory_is_idle (memory));
  fail_if (test_gate_was_missed ());
  test_gate_set (TRUE);
  test_wait_for (gst_vkgdr_memory_is_idle (memory));
  fail_unless (g_atomic_int_get (&done));
}

/* The device is busy for a long time with work on another stream. When
 * GStreamer's converter has released a frame, the library does not wait for the
 * whole device. __i__ is 0 for VkgdrMemory, and 1 for foreign memory. */
TEST_LOOP (letting_go_waits_for_nothing, 2)
{
  g_autoptr (GstVkgdrStream) busy = test_stream_new (test_context);
  g_autoptr (GstVkgdrFence) last = NULL;
  g_autoptr (GstHarness) h = NULL;
  GstBuffer *buffers[N_BUFFERS];
  guint i;

  if (!test_nvcodec_has_converter ())
    return;
  h = harness_new (uploads[0].launch);
  acquire_frames (h, buffers);
  push_frames (h, buffers, 0);
  pull_frames (h, 0);

  acquire_frames (h, buffers);
  for (i = 0; __i__ && i < N_BUFFERS; i++) {
    gst_buffer_unref (buffers[i]);
    buffers[i] = gst_buffer_new_allocate (NULL, SIZE, NULL);
  }
  test_gate_delay (busy, 0, NULL);
  push_frames (h, buffers, N_BUFFERS);
  fail_unless (!test_gate_was_missed ());
  last = gst_vkgdr_stream_record (busy, NULL);
  fail_unless (last && !gst_vkgdr_fence_is_signaled (last));
  pull_frames (h, N_BUFFERS);
  fail_unless (!test_gate_was_missed ());
  test_gate_set (TRUE);
}
