/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * ipc-cuda.c: tests of frames of GStreamer's own CUDA elements for other
 * processes
 *
 * vkgdripcsink and vkgdripcsrc are in one process. The tests are skipped if
 * those elements are not installed, or are older than 1.24.
 */

#include <string.h>

#include "ipc-process.h"
#include "nvcodec.h"

#define CUDA_FRAMES \
  "videotestsrc num-buffers=5 pattern=ball ! " \
  "video/x-raw,format=NV12,width=60,height=44,framerate=30/1"

TEST_REQUIRE (test_nvcodec_require);

TEST_FIXTURE (test_ipc_setup, test_ipc_teardown);

/* Frames of GStreamer's own CUDA elements are copied on the device. */
TEST (cuda_memory)
{
  g_autoptr (GPtrArray) expected = NULL, found = NULL;
  GstElement *server, *client, *ipc;
  guint i;

  if (test_ipc_cannot_export ())
    return;
  test_nvcodec_load ();
  server = test_launch (CUDA_FRAMES
      " ! cudaupload ! video/x-raw(memory:CUDAMemory) ! vkgdripcsink name=ipc "
      "socket-path=%s leaky=no wait-for-connection=true sync=false",
      test_ipc_path);
  client = test_launch (
      "vkgdripcsrc socket-path=%s ! vkgdrdownload ! appsink name=sink",
      test_ipc_path);
  ipc = gst_bin_get_by_name (GST_BIN (server), "ipc");
  gst_element_set_state (server, GST_STATE_PLAYING);
  found = test_play_buffers (client);
  fail_unless_equals_uint64 (test_ipc_stat (ipc, "frames-copied"), 5);
  gst_element_set_state (server, GST_STATE_NULL);
  gst_object_unref (ipc);
  gst_object_unref (server);
  gst_object_unref (client);
  client = test_launch (CUDA_FRAMES " ! appsink name=sink");
  expected = test_play_buffers (client);
  gst_object_unref (client);
  fail_unless_equals_int (found->len, 5);
  for (i = 0; i < 5; i++) {
    GstMapInfo one, other;

    fail_unless (
        gst_buffer_map (g_ptr_array_index (found, i), &one, GST_MAP_READ));
    fail_unless (
        gst_buffer_map (g_ptr_array_index (expected, i), &other, GST_MAP_READ));
    fail_unless_equals_uint64 (one.size, other.size);
    fail_unless (memcmp (one.data, other.data, one.size) == 0, "frame %u", i);
    gst_buffer_unmap (g_ptr_array_index (found, i), &one);
    gst_buffer_unmap (g_ptr_array_index (expected, i), &other);
  }
}
