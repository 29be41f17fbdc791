/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * ipc-clients.c: tests of frames of vkgdripcsink in other processes, which may
 * be killed
 *
 * Another process is this program, started again.
 *
 * VKGDR_TEST_KILLS in the environment is the number of clients that are killed,
 * at least 8.
 */

#include <gio/gio.h>
#include <signal.h>
#include <string.h>

#include "ipc-process.h"

/* The number of clients that are killed: four in each way. */
#define KILLS "12"

/* The number of clients that start at the same time. Memory and file
 * descriptors are counted after the first ones. Before that, some allocations
 * of the pool are used for the first time. */
#define GROUP 4

/* The number of buffers in the source's pool. The buffers of a killed client
 * may return late, when the other client has already got as many new ones. The
 * pool must not grow then. */
#define BUFFERS "32"

/* In the environment of another process: the socket, and how long it uses each
 * frame, in microseconds. */
#define PATH "TEST_IPC_PATH"
#define DELAY "TEST_IPC_DELAY"

/* --- in the other process ------------------------------------------------ */

/* Ends the process unless each frame is whole, and comes after the one before
 * it, and EOS after the last. Prints a line at the first frame. */
static int
be_client (const gchar *path)
{
  g_autofree gchar *text =
      g_strdup_printf ("vkgdripcsrc socket-path=\"%s\" ! appsink name=sink "
                       "sync=false max-buffers=1",
          path);
  GstElement *pipeline = gst_parse_launch (text, NULL);
  GstAppSink *sink =
      GST_APP_SINK (gst_bin_get_by_name (GST_BIN (pipeline), "sink"));
  gulong delay = g_ascii_strtoull (g_getenv (DELAY), NULL, 10);
  GstClockTime expected = GST_CLOCK_TIME_NONE;
  GstSample *sample;

  gst_element_set_state (pipeline, GST_STATE_PLAYING);
  while ((sample = gst_app_sink_pull_sample (sink))) {
    GstBuffer *buffer = gst_sample_get_buffer (sample);
    gboolean is_whole = test_ipc_is_whole (buffer);

    g_usleep (delay);
    if (!is_whole || !test_ipc_is_whole (buffer))
      g_error ("the frame %" G_GUINT64_FORMAT " is not whole",
          GST_BUFFER_PTS (buffer));
    if (!GST_CLOCK_TIME_IS_VALID (expected))
      g_print ("first\n");
    else if (GST_BUFFER_PTS (buffer) != expected)
      g_error ("another frame than %" G_GUINT64_FORMAT, expected);
    expected = GST_BUFFER_PTS (buffer) + GST_MSECOND;
    gst_sample_unref (sample);
  }
  if (gst_bus_timed_pop_filtered (
          GST_ELEMENT_BUS (pipeline), GST_SECOND / 10, GST_MESSAGE_ERROR))
    g_error ("no EOS has come");
  gst_element_set_state (pipeline, GST_STATE_NULL);
  return 0;
}

int
main (int argc, char **argv)
{
  const gchar *path = g_getenv (PATH);

  if (!path)
    return test_main (argc, argv);
  gst_init (&argc, &argv);
  return be_client (path);
}

/* --- in the test --------------------------------------------------------- */

/* The command that started this process. If the program was given to the
 * dynamic loader ("ld-linux.so PROGRAM"), /proc/self/exe is the loader. */
static gchar **
get_own_command (void)
{
  g_autoptr (GPtrArray) command = g_ptr_array_new ();
  g_autofree gchar *text = NULL;
  gsize size = 0;
  const gchar *end;
  gchar *word;

  fail_unless (g_file_get_contents ("/proc/self/cmdline", &text, &size, NULL));
  end = text + size;
  for (word = text; word < end; word += strlen (word) + 1)
    g_ptr_array_add (command, g_strdup (word));
  g_ptr_array_add (command, NULL);
  return (gchar **) g_ptr_array_free (g_steal_pointer (&command), FALSE);
}

/* Starts a process that is a client of test_ipc_path, and that uses each frame
 * for @delay microseconds. */
static GSubprocess *
start_client (const gchar *delay)
{
  g_auto (GStrv) command = get_own_command ();
  GSubprocess *process;

  g_setenv (PATH, test_ipc_path, TRUE);
  g_setenv (DELAY, delay, TRUE);
  process = g_subprocess_newv (
      (const gchar *const *) command, G_SUBPROCESS_FLAGS_STDOUT_PIPE, NULL);
  fail_unless (process != NULL);
  return process;
}

/* Waits until a client has got its first frame. */
static void
wait_for_first_frame (GSubprocess *process)
{
  gchar line[6] = "";

  g_input_stream_read_all (g_subprocess_get_stdout_pipe (process), line,
      sizeof (line), NULL, NULL, NULL);
  fail_unless (strncmp (line, "first\n", sizeof (line)) == 0);
}

TEST_REQUIRE (test_ipc_require_window);

TEST_FIXTURE (test_ipc_setup, test_ipc_teardown);

#define CLIENTS 8
#define FRAMES 1000

/* Each client gets all frames, complete and in order, and nothing is copied. */
TEST (all_frames)
{
  g_autoptr (GstElement) pipeline = NULL;
  GSubprocess *processes[CLIENTS];
  GstElement *ipc;
  guint i;

  for (i = 0; i < CLIENTS; i++)
    processes[i] = start_client ("0");
  pipeline = test_ipc_new_server (
      "testframes buffers=16 num-buffers=" G_STRINGIFY (FRAMES),
      "leaky=no max-buffers=8 sync=false");
  ipc = test_find (pipeline, "ipc");
  test_ipc_wait_clients (ipc, CLIENTS);
  test_play_on (pipeline);
  fail_unless_equals_uint64 (test_stat (ipc, "frames"), FRAMES);
  fail_unless_equals_uint64 (test_stat (ipc, "frames-copied"), 0);
  fail_unless_equals_uint64 (test_stat (ipc, "frames-lost"), 0);
  /* The last frames are sent when clients release others. */
  test_wait_for (test_stat (ipc, "frames-sent") == CLIENTS * FRAMES);
  gst_element_set_state (pipeline, GST_STATE_NULL);
  for (i = 0; i < CLIENTS; i++) {
    fail_unless (g_subprocess_wait_check (processes[i], NULL, NULL));
    g_object_unref (processes[i]);
  }
}

/* Kills @victim: while it starts, while it has frames, or when it is stopped
 * and has as many frames as it may have. */
static void
kill_client (GSubprocess *victim, guint number)
{
  if (number % 3 == 0)
    g_usleep (number * 7 % 200 * 1000);
  else
    wait_for_first_frame (victim);
  if (number % 3 == 1) {
    g_subprocess_send_signal (victim, SIGSTOP);
    g_usleep (20 * 1000);
  }
  g_subprocess_force_exit (victim);
  fail_unless (g_subprocess_wait (victim, NULL, NULL));
  g_object_unref (victim);
}

/* The frames of a killed client are returned, with their memory and file
 * descriptors, and another client loses no frame. */
TEST (killed_clients)
{
  g_autoptr (GstVkgdrAllocator) allocator = test_allocator ();
  GstElement *pipeline = test_ipc_new_server ("testframes buffers=" BUFFERS,
      "leaky=no max-buffers=8 wait-for-connection=true");
  GstElement *ipc = test_find (pipeline, "ipc");
  g_autoptr (GSubprocess) client = start_client ("0");
  GSubprocess *victims[GROUP];
  const gchar *kills = g_getenv ("VKGDR_TEST_KILLS");
  guint n = g_ascii_strtoull (kills ? kills : KILLS, NULL, 10);
  guint64 bytes = 0;
  guint fds = 0, i, k;

  gst_element_set_state (pipeline, GST_STATE_PLAYING);
  wait_for_first_frame (client);
  for (i = 0; i < n; i += GROUP) {
    if (i == GROUP) {
      fds = test_count_fds ();
      bytes = gst_vkgdr_allocator_get_managed_bytes (allocator);
    }
    for (k = 0; k < GROUP; k++)
      victims[k] = start_client ("20000");
    for (k = 0; k < GROUP; k++)
      kill_client (victims[k], i + k);
    test_ipc_wait_clients (ipc, 1);
  }
  fail_unless_equals_uint64 (
      gst_vkgdr_allocator_get_managed_bytes (allocator), bytes);
  test_assert_fds (fds);
  fail_unless_equals_uint64 (test_stat (ipc, "frames-lost"), 0);
  gst_element_set_state (pipeline, GST_STATE_NULL);
  gst_object_unref (pipeline);
  fail_unless (g_subprocess_wait_check (client, NULL, NULL));
  gst_vkgdr_allocator_free_held (allocator);
  fail_unless_equals_int (gst_vkgdr_allocator_get_active_blocks (allocator), 0);
  fail_unless_equals_uint64 (
      gst_vkgdr_allocator_get_managed_bytes (allocator), 0);
}
