/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * ipc-clients.c: tests of frames of vkgdripcsink in other processes
 *
 * ipc-killed.c has the tests with clients that are killed.
 */

#include <signal.h>
#include <string.h>

#include "ipc-process.h"
#include "util.h"

/* Plays to the end, and stops. */
static void
play (GstElement *pipeline, GstElement *ipc)
{
  gst_object_unref (ipc);
  test_play (pipeline);
  gst_object_unref (pipeline);
}

/* Each of @n clients with a role gets all @frames frames, complete and in
 * order, and nothing is copied. */
static void
check_clients (const gchar *role, guint n, guint frames)
{
  GSubprocess *clients[8];
  TestIpcReport report;
  g_autoptr (GstElement) pipeline = NULL, ipc = NULL;
  g_autofree gchar *source =
      g_strdup_printf ("testframes buffers=16 num-buffers=%u", frames);
  guint i;

  pipeline =
      test_ipc_new_server (source, "leaky=no max-buffers=8 sync=false", &ipc);
  for (i = 0; i < n; i++)
    clients[i] = test_ipc_start (role);
  test_ipc_wait_clients (ipc, n);
  test_play (pipeline);
  for (i = 0; i < n; i++) {
    test_ipc_finish (clients[i], &report);
    fail_unless_equals_string (report.end, "eos");
    fail_unless_equals_int (report.frames, frames);
    fail_unless_equals_int (report.torn, 0);
    fail_unless_equals_int (report.unordered, 0);
    fail_unless_equals_int (report.first, 0);
    fail_unless_equals_int (report.last, frames - 1);
  }
  fail_unless_equals_uint64 (test_ipc_stat (ipc, "frames"), frames);
  fail_unless_equals_uint64 (test_ipc_stat (ipc, "frames-copied"), 0);
  fail_unless_equals_uint64 (test_ipc_stat (ipc, "frames-lost"), 0);
  fail_unless_equals_uint64 (test_ipc_stat (ipc, "frames-sent"), n * frames);
}

TEST_FIXTURE (test_ipc_setup, test_ipc_teardown);

TEST (one_client)
{
  if (!test_ipc_cannot_export ())
    check_clients ("client", 1, 3000);
}

TEST (eight_clients)
{
  if (!test_ipc_cannot_export ())
    check_clients ("client", 8, 2000);
}

/* A client that does not sleep gets all frames, too. */
TEST (busy_clients)
{
  if (test_ipc_cannot_export ())
    return;
  check_clients ("busy", 1, 10000);
  check_clients ("busy", 2, 1000);
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
  while (test_ipc_stat (ipc, "frames") < 100)
    g_usleep (1000);
  client = test_ipc_start ("client");
  g_free (test_ipc_read_line (client));
  test_ipc_stop_server (pipeline, ipc);
  test_ipc_finish (client, &report);
  fail_unless_equals_string (report.end, "eos");
  fail_unless (report.first >= 99, "frame %u is not a late one", report.first);
  fail_unless_equals_int (report.torn, 0);
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
  /* Meanwhile the stopped client gets 4 frames at most. */
  while (test_ipc_stat (ipc, "frames") < before + 1500
         || test_ipc_stat (ipc, "frames-sent") < sent + 30)
    g_usleep (1000);
  test_ipc_stop_server (pipeline, ipc);
  test_ipc_finish (fast, &report);
  fail_unless_equals_int (report.torn, 0);
  fail_unless (report.frames >= 20, "%u frames", report.frames);
  g_subprocess_send_signal (stopped, SIGCONT);
  test_ipc_finish (stopped, &report);
  /* The client had 4 frames while it was stopped, one waited, and it has lost
   * the others. */
  fail_unless (report.last - report.first + 1 - report.frames >= 1400,
      "%u frames from %u to %u", report.frames, report.first, report.last);
  fail_unless_equals_string (report.end, "eos");
  fail_unless_equals_int (report.torn, 0);
}

/* A client notices that the server was killed, and its frames stay valid. */
TEST (killed_server)
{
  GSubprocess *server = NULL, *client;
  TestIpcReport report;

  if (test_ipc_cannot_export ())
    return;
  server = test_ipc_start ("server");
  client = test_ipc_start ("holder");
  g_free (test_ipc_read_line (client));
  test_ipc_kill (server);
  test_ipc_finish (client, &report);
  fail_unless (
      strstr (report.end, "the server has ended") != NULL, "%s", report.end);
  fail_unless (report.frames > 0);
  fail_unless_equals_int (report.torn, 0);
}

/* The next server replaces the socket of the server that was killed. */
TEST (stale_socket)
{
  GSubprocess *server, *client;
  TestIpcReport report;
  GstElement *pipeline, *ipc;
  gchar *line;

  if (test_ipc_cannot_export ())
    return;
  server = test_ipc_start ("server");
  line = test_ipc_read_line (server);
  fail_unless_equals_string (line, "playing");
  g_free (line);
  test_ipc_kill (server);
  fail_unless (g_file_test (test_ipc_path, G_FILE_TEST_EXISTS));
  pipeline = test_ipc_new_server (
      "testframes num-buffers=10", "leaky=no wait-for-connection=true", &ipc);
  client = test_ipc_start ("client");
  play (pipeline, ipc);
  test_ipc_finish (client, &report);
  fail_unless_equals_int (report.frames, 10);
  fail_unless_equals_int (report.torn, 0);
}

/* The processes are in two PID namespaces, as in two containers: neither knows
 * the other's process ID. */
TEST (pid_namespaces)
{
  GSubprocess *client;
  TestIpcReport report;
  GstElement *pipeline, *ipc;

  if (test_ipc_cannot_export ())
    return;
  client = test_ipc_start_apart ("client");
  if (!client) {
    g_print ("skipped: unshare --pid --fork --mount-proc is not permitted\n");
    return;
  }
  pipeline = test_ipc_new_server ("testframes num-buffers=1000 buffers=16",
      "leaky=no wait-for-connection=true sync=false", &ipc);
  play (pipeline, ipc);
  test_ipc_finish (client, &report);
  fail_unless_equals_string (report.end, "eos");
  fail_unless_equals_int (report.frames, 1000);
  fail_unless_equals_int (report.torn, 0);
}
