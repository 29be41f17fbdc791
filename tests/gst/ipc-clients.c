/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * ipc-clients.c: tests of frames of vkgdripcsink in other processes
 *
 * ipc-killed.c has the tests with clients that are killed.
 */

#include <signal.h>

#include "ipc-process.h"
#include "util.h"

TEST_FIXTURE (test_ipc_setup, test_ipc_teardown);

/* Clients with a role ("busy" does not sleep), in their own PID namespace or
 * not: in two containers, neither process knows the process ID of the other. */
static const struct {
  const gchar *role;
  guint n, frames;
  gboolean is_apart;
} clients[] = {
  { "client", 1, 3000 },
  { "client", 8, 2000 },
  { "busy", 2, 3000 },
  { "client", 1, 1000, TRUE },
};

/* Each client gets all frames, complete and in order, and nothing is copied. */
TEST_LOOP (all_frames, G_N_ELEMENTS (clients))
{
  guint n = clients[__i__].n, frames = clients[__i__].frames, i;
  g_autofree gchar *source =
      g_strdup_printf ("testframes buffers=16 num-buffers=%u", frames);
  g_autoptr (GstElement) pipeline = NULL, ipc = NULL;
  GSubprocess *processes[8];
  TestIpcReport report;

  if (test_ipc_cannot_export ())
    return;
  for (i = 0; i < n; i++) {
    processes[i] = clients[__i__].is_apart
                       ? test_ipc_start_apart (clients[__i__].role)
                       : test_ipc_start (clients[__i__].role);
    if (!processes[i]) {
      g_print ("skipped: unshare --pid --fork --mount-proc is not permitted\n");
      return;
    }
  }
  pipeline =
      test_ipc_new_server (source, "leaky=no max-buffers=8 sync=false", &ipc);
  test_ipc_wait_clients (ipc, n);
  test_play (pipeline);
  for (i = 0; i < n; i++) {
    report = test_ipc_finish (processes[i], "eos");
    fail_unless_equals_int (report.frames, frames);
    fail_unless_equals_int (report.first, 0);
    fail_unless_equals_int (report.last, frames - 1);
  }
  fail_unless_equals_uint64 (test_ipc_stat (ipc, "frames"), frames);
  fail_unless_equals_uint64 (test_ipc_stat (ipc, "frames-copied"), 0);
  fail_unless_equals_uint64 (test_ipc_stat (ipc, "frames-lost"), 0);
  fail_unless_equals_uint64 (test_ipc_stat (ipc, "frames-sent"), n * frames);
}

/* A client that connects late gets the next frame. */
TEST (late_client)
{
  GstElement *pipeline, *ipc;
  GSubprocess *client;
  TestIpcReport report;

  if (test_ipc_cannot_export ())
    return;
  pipeline = test_ipc_new_server ("testframes buffers=16", "", &ipc);
  gst_element_set_state (pipeline, GST_STATE_PLAYING);
  test_wait_for (test_ipc_stat (ipc, "frames") >= 100);
  client = test_ipc_start ("client");
  g_free (test_ipc_read_line (client));
  test_ipc_stop_server (pipeline, ipc);
  report = test_ipc_finish (client, "eos");
  fail_unless (report.first >= 99, "frame %u is not a late one", report.first);
}

/* A client that is stopped does not disturb the others. It has at most
 * max-buffers frames, and the newest frame waits for it. */
TEST (stopped_client)
{
  GSubprocess *fast, *stopped;
  TestIpcReport report;
  GstElement *pipeline, *ipc;
  guint64 before, sent;

  if (test_ipc_cannot_export ())
    return;
  pipeline = test_ipc_new_server ("testframes buffers=16", "", &ipc);
  stopped = test_ipc_start ("client");
  gst_element_set_state (pipeline, GST_STATE_PLAYING);
  g_free (test_ipc_read_line (stopped));
  g_subprocess_send_signal (stopped, SIGSTOP);
  fast = test_ipc_start ("slow");
  g_free (test_ipc_read_line (fast));
  before = test_ipc_stat (ipc, "frames");
  sent = test_ipc_stat (ipc, "frames-sent");
  test_wait_for (test_ipc_stat (ipc, "frames") >= before + 1500
                 && test_ipc_stat (ipc, "frames-sent") >= sent + 30);
  test_ipc_stop_server (pipeline, ipc);
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
  GSubprocess *server, *client;
  GstElement *pipeline, *ipc;

  if (test_ipc_cannot_export ())
    return;
  server = test_ipc_start ("server");
  client = test_ipc_start ("holder");
  g_free (test_ipc_read_line (client));
  test_ipc_kill (server);
  fail_unless (test_ipc_finish (client, "the server has ended").frames > 0);
  fail_unless (g_file_test (test_ipc_path, G_FILE_TEST_EXISTS));
  pipeline = test_ipc_new_server (
      "testframes num-buffers=10", "leaky=no wait-for-connection=true", &ipc);
  client = test_ipc_start ("client");
  test_play (pipeline);
  fail_unless_equals_int (test_ipc_finish (client, "eos").frames, 10);
  test_ipc_stop_server (pipeline, ipc);
}
