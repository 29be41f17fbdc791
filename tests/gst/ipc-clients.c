/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * ipc-clients.c: tests of frames of vkgdripcsink in other processes, which may
 * be stopped or killed
 *
 * VKGDR_TEST_KILLS in the environment is the number of clients that are killed.
 * It is rounded up to a multiple of GROUP, and at least 8.
 */

#include <signal.h>

#include "ipc-process.h"

/* The number of clients that are killed, and the number with a tool that makes
 * the test slow. */
#define KILLS 24
#define KILLS_WHEN_SLOW 12

/* The number of clients that start at the same time. Memory and file
 * descriptors are counted after the first ones. Before that, some allocations
 * of the pool are used for the first time. */
#define GROUP 4

/* The number of buffers in the source's pool. The buffers of a killed client
 * may return late, when the other client has already got as many new ones. The
 * pool must not grow then. */
#define BUFFERS "32"

TEST_REQUIRE (test_ipc_require_window);

TEST_FIXTURE (test_ipc_setup, test_ipc_teardown);

#define CLIENTS 8
#define FRAMES 1000

/* Each client gets all frames, complete and in order, and nothing is copied. */
TEST (all_frames)
{
  GSubprocess *processes[CLIENTS];
  GstElement *pipeline, *ipc;
  TestIpcReport report;
  guint i;

  for (i = 0; i < CLIENTS; i++)
    processes[i] = test_ipc_start ("client");
  pipeline = test_ipc_new_server (
      "testframes buffers=16 num-buffers=" G_STRINGIFY (FRAMES),
      "leaky=no max-buffers=8 sync=false");
  ipc = test_find (pipeline, "ipc");
  test_ipc_wait_clients (ipc, CLIENTS);
  test_play_on (pipeline);
  fail_unless_equals_uint64 (test_stat (ipc, "frames"), FRAMES);
  fail_unless_equals_uint64 (test_stat (ipc, "frames-copied"), 0);
  fail_unless_equals_uint64 (test_stat (ipc, "frames-lost"), 0);
  fail_unless_equals_uint64 (test_stat (ipc, "frames-sent"), CLIENTS * FRAMES);
  test_ipc_stop_server (pipeline);
  for (i = 0; i < CLIENTS; i++) {
    report = test_ipc_finish (processes[i], "eos");
    fail_unless_equals_int (report.frames, FRAMES);
    fail_unless_equals_int (report.first, 0);
    fail_unless_equals_int (report.last, FRAMES - 1);
  }
}

/* A client that is stopped does not disturb the others. It has at most
 * max-buffers frames, and the newest frame waits for it. */
TEST (stopped_client)
{
  GstElement *pipeline = test_ipc_new_server ("testframes buffers=16", "");
  GSubprocess *fast, *stopped = test_ipc_start ("client");
  TestIpcReport report;
  guint64 before, sent;

  gst_element_set_state (pipeline, GST_STATE_PLAYING);
  g_free (test_ipc_read_line (stopped));
  g_subprocess_send_signal (stopped, SIGSTOP);
  fast = test_ipc_start ("slow");
  g_free (test_ipc_read_line (fast));
  before = test_stat_of (pipeline, "ipc", "frames");
  sent = test_stat_of (pipeline, "ipc", "frames-sent");
  test_wait_for (test_stat_of (pipeline, "ipc", "frames") >= before + 1500
                 && test_stat_of (pipeline, "ipc", "frames-sent") >= sent + 30);
  test_ipc_stop_server (pipeline);
  report = test_ipc_finish (fast, "eos");
  fail_unless (report.frames >= 20, "%u frames", report.frames);
  g_subprocess_send_signal (stopped, SIGCONT);
  /* It had 4 frames while it was stopped, one waited, and it has lost the
   * others. */
  report = test_ipc_finish (stopped, "eos");
  fail_unless (report.last - report.first + 1 - report.frames >= 1400,
      "%u frames from %u to %u", report.frames, report.first, report.last);
}

/* A client notices that the server was killed, and its frames stay valid. The
 * next server replaces the socket. */
TEST (killed_server)
{
  GSubprocess *server = test_ipc_start ("server");
  GSubprocess *client = test_ipc_start ("holder");
  GstElement *pipeline;

  g_free (test_ipc_read_line (client));
  test_ipc_kill (server);
  fail_unless (test_ipc_finish (client, "the server has ended").frames > 0);
  fail_unless (g_file_test (test_ipc_path, G_FILE_TEST_EXISTS));
  pipeline = test_ipc_new_server (
      "testframes num-buffers=10", "leaky=no wait-for-connection=true");
  client = test_ipc_start ("client");
  test_play (pipeline);
  fail_unless_equals_int (test_ipc_finish (client, "eos").frames, 10);
  test_ipc_stop_server (pipeline);
}

static guint
count_kills (void)
{
  const gchar *text = g_getenv ("VKGDR_TEST_KILLS");

  if (text)
    return MAX ((guint) g_ascii_strtoull (text, NULL, 10), GROUP + 1);
  return test_is_slow () ? KILLS_WHEN_SLOW : KILLS;
}

/* Kills @victim: while it starts, while it has frames, or when it is stopped
 * and has as many frames as it may have. */
static void
kill_client (GSubprocess *victim, guint number)
{
  if (number % 3 == 0) {
    g_usleep (number * 7 % 200 * 1000);
  } else {
    g_free (test_ipc_read_line (victim));
    if (number % 3 == 1) {
      g_subprocess_send_signal (victim, SIGSTOP);
      g_usleep (20 * 1000);
    }
  }
  test_ipc_kill (victim);
}

/* The frames of a killed client are returned, with their memory and file
 * descriptors, and another client loses no frame. */
TEST (killed_clients)
{
  g_autoptr (GstVkgdrAllocator) allocator = test_allocator ();
  GstElement *pipeline = test_ipc_new_server ("testframes buffers=" BUFFERS,
      "leaky=no max-buffers=8 wait-for-connection=true");
  GstElement *ipc = test_find (pipeline, "ipc");
  GSubprocess *client = test_ipc_start ("client"), *victims[GROUP];
  TestIpcReport report;
  guint64 bytes = 0;
  guint fds = 0, i, k;

  gst_element_set_state (pipeline, GST_STATE_PLAYING);
  test_ipc_wait_clients (ipc, 1);
  g_free (test_ipc_read_line (client));
  for (i = 0; i < count_kills (); i += GROUP) {
    if (i == GROUP) {
      fds = test_count_fds ();
      bytes = gst_vkgdr_allocator_get_managed_bytes (allocator);
    }
    for (k = 0; k < GROUP; k++)
      victims[k] = test_ipc_start ("slow");
    for (k = 0; k < GROUP; k++)
      kill_client (victims[k], i + k);
    test_ipc_wait_clients (ipc, 1);
  }
  fail_unless_equals_uint64 (
      gst_vkgdr_allocator_get_managed_bytes (allocator), bytes);
  test_assert_fds (fds);
  fail_unless_equals_uint64 (test_stat (ipc, "frames-lost"), 0);
  test_ipc_stop_server (pipeline);
  report = test_ipc_finish (client, "eos");
  fail_unless_equals_int (report.frames, report.last - report.first + 1);
  gst_vkgdr_allocator_free_held (allocator);
  fail_unless_equals_int (gst_vkgdr_allocator_get_active_blocks (allocator), 0);
  fail_unless_equals_uint64 (
      gst_vkgdr_allocator_get_managed_bytes (allocator), 0);
}
