/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * ipc-cuda.c: tests of frames of GStreamer's own CUDA elements for other
 * processes
 *
 * vkgdripcsink and vkgdripcsrc are in one process. The tests are skipped if
 * those elements are not installed, or are older than 1.24.
 */

#include "ipc-process.h"
#include "nvcodec.h"
#include "table.h"

#define CUDA_FRAMES \
  "videotestsrc num-buffers=5 pattern=ball ! " \
  "video/x-raw,format=NV12,width=60,height=44,framerate=30/1"

TEST_REQUIRE (test_nvcodec_require);
TEST_REQUIRE (test_ipc_require_window);

TEST_FIXTURE (test_ipc_setup, test_ipc_teardown);

/* Frames of GStreamer's own CUDA elements are copied on the device. */
TEST (cuda_memory)
{
  g_autoptr (GPtrArray) expected = NULL, found = NULL;
  g_autoptr (GstElement) server = NULL, client = NULL, source = NULL;
  GstVideoInfo info;
  guint i;

  test_nvcodec_load ();
  server = test_launch (CUDA_FRAMES
      " ! cudaupload ! video/x-raw(memory:CUDAMemory) ! vkgdripcsink name=ipc "
      "socket-path=\"%s\" leaky=no wait-for-connection=true sync=false",
      test_ipc_path);
  client = test_launch (
      "vkgdripcsrc socket-path=\"%s\" ! vkgdrdownload ! appsink name=sink",
      test_ipc_path);
  gst_element_set_state (server, GST_STATE_PLAYING);
  found = test_play_buffers (client);
  fail_unless_equals_uint64 (test_stat_of (server, "ipc", "frames-copied"), 5);
  gst_element_set_state (server, GST_STATE_NULL);
  source = test_launch (CUDA_FRAMES " ! appsink name=sink");
  expected = test_play_buffers (source);
  fail_unless_equals_int (found->len, 5);
  gst_video_info_set_format (&info, GST_VIDEO_FORMAT_NV12, 60, 44);
  for (i = 0; i < 5; i++)
    test_assert_same (test_frame_rows (g_ptr_array_index (found, i), &info),
        test_frame_rows (g_ptr_array_index (expected, i), &info));
}
