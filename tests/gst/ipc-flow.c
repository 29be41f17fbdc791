/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * ipc-flow.c: tests of when frames are sent and lost, and of how connections
 * begin and end
 *
 * vkgdripcsink and vkgdripcsrc are in one process.
 */

#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "gate.h"
#include "ipc-harness.h"
#include "table.h"

TEST_REQUIRE (test_ipc_require_window);

TEST_FIXTURE (test_ipc_setup, test_ipc_teardown);

/* --- slow clients -------------------------------------------------------- */

TEST (leaky_downstream)
{
  test_ipc_run ("begin leaky=downstream max-buffers=2; block; push 0-9;"
                "is frames-sent 2; is frames-lost 7; unblock;"
                "pull 0-1; pull 9; discont");
  fail_unless_equals_uint64 (test_stat (test_src->element, "frames-lost"), 7);
}

/* Downstream keeps more frames than the server gives. The client copies those
 * that it would not get otherwise, and posts a warning once. */
TEST (downstream_keeps_frames)
{
  test_ipc_run ("begin leaky=no max-buffers=2; push 0-9; keep 0-9; drop");
  test_assert_message (
      GST_ELEMENT_BUS (test_src->element), GST_MESSAGE_WARNING, "max-buffers");
  test_assert_no_message (
      GST_ELEMENT_BUS (test_src->element), GST_MESSAGE_WARNING);
}

/* A source that waits continues when the client disconnects. */
TEST_STEPS (leaky_no_ends,
    "begin leaky=no max-buffers=2; block; push-all 10; pushed 2;"
    "disconnect; pushed 10");

/* The same when the pipeline is stopped. */
TEST (leaky_no_stops)
{
  test_ipc_run ("begin leaky=no max-buffers=2; block;"
                "push-all 10; pushed 2");
  gst_element_set_state (test_sink->element, GST_STATE_NULL);
  test_ipc_run ("pushed 2");
}

/* A client that has stopped, but keeps frames, is connected as long as it has
 * them. It gets no others, and does not block the server. */
TEST_STEPS (leaky_no_and_kept_frames,
    "begin leaky=no max-buffers=2; push 0-1; keep 0-1; disconnect;"
    "push 2-9; is frames-sent 2; clients 1; drop; clients 0");

TEST_STEPS (wait_for_connection,
    "serve wait-for-connection=true; push-all 2; pushed 0;"
    "connect; pushed 2; pull 0-1");

/* --- frames that are not written ----------------------------------------- */

/* The streaming thread does not wait for the device. The frame is sent when it
 * is written. */
TEST_STEPS (pending_frame, "begin; push-gated 1; push 2; is frames-sent 0;"
                           "open-gate; pull 1; gate-passed; pull 2");

/* A frame that is not written yet when the pipeline is stopped is sent. */
TEST_STEPS (
    pending_end, "begin; push-gated 1; eos; open-gate; stop; pull 1; get eos");

/* A frame is returned when the device of the client has finished with it, and
 * not earlier. Until then, it counts as one of the client's three frames. */
TEST (pending_release)
{
  g_autoptr (GstVkgdrStream) stream = test_stream_new (test_context);
  GstBuffer *buffer;
  gint done = FALSE;

  test_ipc_run ("begin leaky=downstream max-buffers=3; push 1");
  buffer = test_ipc_pull (1);
  test_gate_access (
      gst_buffer_peek_memory (buffer, 0), stream, GST_MAP_READ, 100, &done);
  gst_buffer_unref (buffer);
  test_ipc_run ("block; push 2-4; is frames-sent 3; open-gate;"
                "is frames-sent 4");
  fail_unless_equals_int (g_atomic_int_get (&done), TRUE);
  test_ipc_run ("unblock; pull 2-4");
}

/* With leaky=no, EOS does not push a frame out of the queue. */
TEST_STEPS (leaky_no_and_eos,
    "begin leaky=no max-buffers=64; push-gated 0-15; eos; open-gate;"
    "pull 0-15; get eos");

/* --- flushes ------------------------------------------------------------- */

/* A frame that is not written when a flush begins is dropped. The client gets
 * what comes after the flush. */
TEST_STEPS (two_flushes,
    "begin; push-gated 1; flush; flush; open-gate; push 2; pull 2;"
    "eos; get eos");

static gpointer
stop_sink (gpointer data)
{
  test_ipc_run ("stop");
  return NULL;
}

/* The server is stopped while it waits for a frame that a flush has made
 * useless. Nothing shows that it has begun to end. If that takes longer, the
 * test passes without checking it. */
TEST (end_after_flush)
{
  GThread *thread;

  test_ipc_run ("begin; push-gated 1; flush; push 2; eos");
  thread = g_thread_new ("stop", stop_sink, NULL);
  test_ipc_run ("sleep 100; open-gate; pull 2; get eos");
  g_thread_join (thread);
}

TEST_STEPS (end_in_flush, "begin; push 1; pull 1; flush-start; stop; get eos");

/* The application flushes the client, which has got only messages that are not
 * for the application. Nothing shows that the client has read them. If that
 * takes longer, the test passes without checking it. */
TEST_STEPS (
    flush_of_waiting_client, "begin; sleep 50; flush-client; push 1; pull 1");

/* --- connections --------------------------------------------------------- */

/* The sink and its client may be in one pipeline. */
TEST (one_pipeline)
{
  g_autoptr (GstElement) pipeline = NULL;

  pipeline =
      test_launch ("videotestsrc num-buffers=5 ! vkgdripcsink "
                   "wait-for-connection=true socket-path=\"%s\" "
                   "vkgdripcsrc socket-path=\"%s\" ! fakesink sync=false",
          test_ipc_path, test_ipc_path);
  test_play (pipeline);
}

static gpointer
flush_all_the_time (gpointer is_over)
{
  g_autoptr (GstPad) pad =
      gst_element_get_static_pad (test_sink->element, "sink");

  while (!g_atomic_int_get ((gint *) is_over)) {
    gst_pad_send_event (pad, gst_event_new_flush_start ());
    gst_pad_send_event (pad, gst_event_new_flush_stop (TRUE));
    g_usleep (10);
  }
  return NULL;
}

/* Events may come at any time, also while the element starts and stops. */
TEST (events_while_stopping)
{
  gint is_over = FALSE;
  GThread *thread;
  guint i, n = test_is_slow () ? 5 : 50;

  test_ipc_run ("serve async=false");
  thread = g_thread_new ("flush", flush_all_the_time, &is_over);
  for (i = 0; i < n; i++) {
    gst_element_set_state (test_sink->element, GST_STATE_READY);
    gst_element_set_state (test_sink->element, GST_STATE_PLAYING);
  }
  g_atomic_int_set (&is_over, TRUE);
  g_thread_join (thread);
}

static gpointer
flush_client_all_the_time (gpointer client)
{
  while (GST_OBJECT_REFCOUNT_VALUE (client) > 1) {
    gst_element_send_event (client, gst_event_new_flush_start ());
    gst_element_send_event (client, gst_event_new_flush_stop (TRUE));
    g_usleep (10);
  }
  gst_object_unref (client);
  return NULL;
}

/* The same for a client. It is in no pipeline, because GStreamer's pipelines
 * can block if they are flushed while they change their state. */
TEST (flushes_of_a_client_in_all_states)
{
  GstElement *client = gst_element_factory_make ("vkgdripcsrc", NULL);
  GThread *thread;
  guint i, n = test_is_slow () ? 5 : 50;

  test_ipc_run ("serve async=false");
  gst_object_ref_sink (client);
  g_object_set (client, "socket-path", test_ipc_path, NULL);
  test_set_context (client, test_context);
  thread = g_thread_new (
      "flush", flush_client_all_the_time, gst_object_ref (client));
  for (i = 0; i < n; i++) {
    gst_element_set_state (client, GST_STATE_PLAYING);
    g_usleep (i % 3 * 1000);
    gst_element_set_state (client, i % 2 ? GST_STATE_READY : GST_STATE_NULL);
    g_usleep (i % 5 * 100);
  }
  gst_element_set_state (client, GST_STATE_NULL);
  gst_object_unref (client);
  g_thread_join (thread);
}

TEST_STEPS (
    frames_outlive_elements, "begin; push 1-2; keep 1; disconnect; stop; drop");

/* A client that polls can be stopped while it looks for the next frame, which
 * it would do for longer than a test may run. */
TEST_STEPS (busy_poll,
    "serve; connect busy-poll=2000000000; push 0; pull 0; push 1; pull 1;"
    "disconnect; clients 0; connect busy-poll=2000000000; push 2; pull 2;"
    "eos; get eos");

/* The frame that waits for a client is sent when the server's pipeline ends,
 * with and without EOS. */
TEST_LOOP (last_frame, 2)
{
  test_ipc_run ("begin leaky=downstream max-buffers=2; block; push 0-9;"
                "is frames-sent 2; %s unblock; stop",
      __i__ == 0 ? "eos;" : "");
  fail_if (g_file_test (test_ipc_path, G_FILE_TEST_EXISTS));
  test_ipc_run ("pull 0-1; pull 9; get eos");
}

/* A client can be started before the server, and stopped while it waits. */
TEST_STEPS (client_first,
    "start; sleep 100; serve; clients 1; push 1; pull 1; disconnect; stop;"
    "start; sleep 50");

#define LONG "/xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"

/* What is at the path, and what the error says. */
static const struct {
  const gchar *pipeline; /* with @ for test_ipc_path */
  enum { NOTHING, SILENT, SERVER, TEXT } present;
  const gchar *error;
} paths[] = {
  { "vkgdripcsrc socket-path=\"@\" connection-timeout=1 ! fakesink", NOTHING,
      "no process serves|connection-timeout" },
  { "vkgdripcsrc socket-path=\"@\" connection-timeout=1 ! fakesink", SILENT,
      "does not answer|connection-timeout" },
  { "videotestsrc ! vkgdripcsink", NOTHING, "path of a socket" },
  { "videotestsrc ! vkgdripcsink socket-path=/nowhere/at/all", NOTHING,
      "/nowhere/at/all" },
  { "videotestsrc ! vkgdripcsink socket-path=" LONG LONG, NOTHING,
      "path of a socket" },
  { "videotestsrc ! vkgdripcsink socket-path=\"@\"", SERVER,
      "another process listens" },
  { "videotestsrc ! vkgdripcsink socket-path=\"@\"", TEXT, "is not a socket" },
};

/* As of a process that is stopped: it accepts connections, and says nothing. */
static void
listen_only (void)
{
  struct sockaddr_un address = { .sun_family = AF_UNIX };
  int fd = socket (AF_UNIX, SOCK_SEQPACKET, 0);

  g_strlcpy (address.sun_path, test_ipc_path, sizeof (address.sun_path));
  fail_unless (bind (fd, (struct sockaddr *) &address, sizeof (address)) == 0);
  fail_unless (listen (fd, 1) == 0);
}

TEST_LOOP (wrong_paths, G_N_ELEMENTS (paths))
{
  g_auto (GStrv) parts = g_strsplit (paths[__i__].pipeline, "@", -1);
  g_autofree gchar *text = g_strjoinv (test_ipc_path, parts);
  g_autoptr (GstElement) pipeline = test_launch ("%s", text);
  g_autoptr (GError) error = NULL;

  if (paths[__i__].present == SERVER)
    test_ipc_run ("serve");
  else if (paths[__i__].present == SILENT)
    listen_only ();
  else if (paths[__i__].present == TEXT)
    g_file_set_contents (test_ipc_path, "text", -1, NULL);
  error = test_play_error (pipeline);
  test_assert_contains (error->message, paths[__i__].error);
  fail_unless (__i__ > 1
               || g_error_matches (
                   error, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_NOT_FOUND));
  /* A file that is not a socket is not removed. */
  fail_unless_equals_int (g_file_test (test_ipc_path, G_FILE_TEST_IS_REGULAR),
      paths[__i__].present == TEXT);
}

/* Any user can lock a folder that this user can read. The server does not wait
 * for that for long. */
TEST (locked_folder)
{
  g_autofree gchar *folder = g_path_get_dirname (test_ipc_path);
  gint fd = open (folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

  fail_unless (flock (fd, LOCK_EX) == 0);
  test_ipc_run ("serve; connect; push 1; pull 1");
  close (fd);
}

TEST (restart)
{
  guint i, fds = 0;

  for (i = 0; i < 10; i++) {
    if (i == 2)
      fds = test_count_fds ();
    test_ipc_run ("begin; push 1; pull 1; %s",
        i % 2 ? "stop; disconnect" : "disconnect; stop");
  }
  test_assert_fds (fds);
}
