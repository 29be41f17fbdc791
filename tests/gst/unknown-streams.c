/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * unknown-streams.c: readers on streams that the library does not know keep
 * their frame
 *
 * A consumer of memory:CUDAMemory may work as GStreamer's own CUDA elements do:
 * it maps the frame, launches a kernel on a stream of its own, unmaps the frame
 * and frees it at once. Skipped if GStreamer's CUDA elements are not installed,
 * or are older than 1.24.
 */

#include "gate.h"
#include "nvcodec.h"

static const gchar *const uploads[] = { "direct", "staged" };

TEST_REQUIRE (test_nvcodec_require);

TEST_LOOP (frame_is_kept, G_N_ELEMENTS (uploads))
{
  g_autofree gchar *elements = g_strdup_printf (
      "vkgdrupload access=%s ! capsfilter caps=" CUDA, uploads[__i__]);
  g_autoptr (GstHarness) h = NULL;
  g_autoptr (GstVkgdrStream) stream = NULL;
  GstBuffer *buffer;
  GstMemory *memory; /* the pool of upstream owns it */
  gint done = FALSE;
  GstMapInfo map;

  test_nvcodec_load ();
  test_setup_bar ();
  h = test_harness_parse (elements);
  stream = test_stream_new (test_context);
  gst_harness_set_src_caps_str (
      h, "video/x-raw,format=GRAY8,width=64,height=48,framerate=1/1");
  buffer = gst_harness_create_buffer (h, 64 * 48);
  memory = gst_buffer_peek_memory (buffer, 0);
  gst_buffer_memset (buffer, 0, 1, 64 * 48);
  buffer = gst_harness_push_and_pull (h, buffer);
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
  g_clear_object (&stream);
  g_clear_pointer (&h, gst_harness_teardown);
  test_teardown ();
}
