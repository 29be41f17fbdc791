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
#include <unistd.h>

#include "gate.h"
#include "ipc-harness.h"

/* --- slow clients -------------------------------------------------------- */

TEST_FIXTURE (test_ipc_setup, test_ipc_teardown);

TEST (leaky_downstream)
{
  GstBuffer *first;
  guint i;

  if (!test_ipc_begin ("leaky=downstream max-buffers=2"))
    return;
  for (i = 0; i < 10; i++)
    test_ipc_push (i);
  first = test_ipc_pull (0);
  fail_unless_equals_uint64 (test_ipc_sink_stat ("frames-sent"), 2);
  fail_unless_equals_uint64 (test_ipc_sink_stat ("frames-lost"), 7);
  gst_buffer_unref (first);
  test_ipc_pull_and_drop (1);
  first = test_ipc_pull (9);
  fail_unless (GST_BUFFER_FLAG_IS_SET (first, GST_BUFFER_FLAG_DISCONT));
  fail_unless_equals_uint64 (
      test_ipc_stat (test_src->element, "frames-lost"), 7);
  gst_buffer_unref (first);
}

TEST (leaky_upstream)
{
  guint i;

  if (!test_ipc_begin ("leaky=upstream max-buffers=2"))
    return;
  for (i = 0; i < 10; i++)
    test_ipc_push (i);
  fail_unless_equals_uint64 (test_ipc_sink_stat ("frames-lost"), 8);
  test_ipc_pull_and_drop (0);
  test_ipc_pull_and_drop (1);
  /* Further frames are lost until the answers have arrived. */
  do {
    test_ipc_push (i++);
    g_usleep (1000);
  } while (test_ipc_sink_stat ("frames-sent") == 2);
  test_ipc_pull_and_drop (i - 1);
}

typedef struct {
  guint n;
  gint done; /* atomic */
} Pusher;

static gpointer
push_all (gpointer data)
{
  Pusher *pusher = data;
  guint i;

  for (i = 0; i < pusher->n; i++) {
    if (gst_harness_push (test_sink, test_ipc_new_frame (i)) != GST_FLOW_OK)
      break;
    g_atomic_int_inc (&pusher->done);
  }
  return NULL;
}

/* The sink accepts @n frames, and then waits for its client. */
static void
assert_waits_after (Pusher *pusher, gint n)
{
  gint64 deadline = g_get_monotonic_time () + 10 * G_TIME_SPAN_SECOND;

  while (g_atomic_int_get (&pusher->done) < n
         && g_get_monotonic_time () < deadline)
    g_usleep (1000);
  g_usleep (50 * 1000);
  fail_unless_equals_int (g_atomic_int_get (&pusher->done), n);
}

TEST (leaky_no)
{
  Pusher pusher = { .n = 10 };
  GThread *thread;
  guint i;

  if (!test_ipc_begin ("leaky=no max-buffers=2"))
    return;
  thread = g_thread_new ("push", push_all, &pusher);
  assert_waits_after (&pusher, 2);
  for (i = 0; i < 10; i++)
    test_ipc_pull_and_drop (i);
  g_thread_join (thread);
  fail_unless_equals_int (pusher.done, 10);
  fail_unless_equals_uint64 (test_ipc_sink_stat ("frames-lost"), 0);
}

/* A source that waits continues when the client disconnects, and when the
 * pipeline is stopped. */
TEST (leaky_no_ends)
{
  Pusher pusher = { .n = 10 };
  GThread *thread;

  if (!test_ipc_begin ("leaky=no max-buffers=2"))
    return;
  thread = g_thread_new ("push", push_all, &pusher);
  assert_waits_after (&pusher, 2);
  test_ipc_disconnect ();
  g_thread_join (thread);
  fail_unless_equals_int (pusher.done, 10);

  test_ipc_wait_clients (test_sink->element, 0);
  test_ipc_connect ();
  pusher.done = 0;
  thread = g_thread_new ("push", push_all, &pusher);
  assert_waits_after (&pusher, 2);
  gst_element_set_state (test_sink->element, GST_STATE_NULL);
  g_thread_join (thread);
  fail_unless_equals_int (pusher.done, 2);
}

/* A client that has stopped, but keeps frames, does not block the server. */
TEST (leaky_no_and_kept_frames)
{
  GstBuffer *kept[2];
  guint i;

  if (!test_ipc_begin ("leaky=no max-buffers=2"))
    return;
  for (i = 0; i < 2; i++) {
    test_ipc_push (i);
    kept[i] = test_ipc_pull (i);
  }
  test_ipc_disconnect ();
  for (i = 2; i < 10; i++)
    test_ipc_push (i);
  fail_unless_equals_uint64 (test_ipc_sink_stat ("frames-sent"), 2);
  for (i = 0; i < 2; i++)
    gst_buffer_unref (kept[i]);
  test_ipc_wait_clients (test_sink->element, 0);
}

TEST (wait_for_connection)
{
  Pusher pusher = { .n = 2 };
  GThread *thread;

  if (test_ipc_cannot_export ())
    return;
  test_ipc_serve ("wait-for-connection=true");
  thread = g_thread_new ("push", push_all, &pusher);
  g_usleep (100 * 1000);
  fail_unless_equals_int (g_atomic_int_get (&pusher.done), 0);
  test_ipc_connect ();
  g_thread_join (thread);
  test_ipc_pull_and_drop (0);
  test_ipc_pull_and_drop (1);
}

/* How long the device is busy after the gate has opened, in milliseconds. */
#define BUSY 100

/* Accesses @buffer's memory on @stream until the gate opens and for a moment
 * after that. Then sets *@done to TRUE. */
static void
delay_access (
    GstBuffer *buffer, GstVkgdrStream *stream, GstMapFlags flags, gint *done)
{
  GstMemory *memory = gst_buffer_peek_memory (buffer, 0);

  fail_unless (gst_vkgdr_memory_begin_access (memory, stream, flags, NULL));
  test_gate_delay (stream, BUSY, done);
  fail_unless (gst_vkgdr_memory_end_access (memory, stream, flags, NULL));
}

/* Opens the gate. Nothing may have waited for it until now. */
static void
open_gate (gint *done)
{
  fail_if (test_gate_was_missed ());
  fail_unless_equals_int (g_atomic_int_get (done), FALSE);
  test_gate_set (TRUE);
}

/* The streaming thread does not wait for the device. The frame is sent when it
 * is written. */
TEST (pending_frame)
{
  g_autoptr (GstVkgdrStream) stream = NULL;
  GstBuffer *buffer;
  gint done = FALSE;

  if (!test_ipc_begin (""))
    return;
  stream = test_stream_new (test_context);
  buffer = test_ipc_new_frame (1);
  delay_access (buffer, stream, GST_MAP_WRITE, &done);
  fail_if (gst_vkgdr_memory_is_written (gst_buffer_peek_memory (buffer, 0)));
  test_ipc_push_buffer (buffer);
  test_ipc_push (2);
  fail_unless_equals_uint64 (test_ipc_sink_stat ("frames-sent"), 0);
  open_gate (&done);
  test_ipc_pull_and_drop (1);
  fail_unless_equals_int (g_atomic_int_get (&done), TRUE);
  test_ipc_pull_and_drop (2);
}

/* A frame that is not written yet when the pipeline is stopped is still
 * sent. */
TEST (pending_end)
{
  g_autoptr (GstVkgdrStream) stream = NULL;
  GstBuffer *buffer;
  gint done = FALSE;

  if (!test_ipc_begin (""))
    return;
  stream = test_stream_new (test_context);
  buffer = test_ipc_new_frame (1);
  delay_access (buffer, stream, GST_MAP_WRITE, &done);
  test_ipc_push_buffer (buffer);
  test_ipc_push_event (gst_event_new_eos ());
  open_gate (&done);
  test_ipc_stop ();
  test_ipc_pull_and_drop (1);
  gst_event_unref (test_ipc_pull_event (GST_EVENT_EOS));
}

/* A frame is returned when the device of the client has finished with it, and
 * not earlier. */
TEST (pending_release)
{
  g_autoptr (GstVkgdrStream) stream = NULL;
  GstBuffer *buffer;
  gint done = FALSE;

  if (!test_ipc_begin ("leaky=downstream max-buffers=2"))
    return;
  stream = test_stream_new (test_context);
  test_ipc_push (1);
  buffer = test_ipc_pull (1);
  delay_access (buffer, stream, GST_MAP_READ, &done);
  gst_buffer_unref (buffer);
  /* Until then, it counts as one of the client's two frames. */
  test_ipc_push (2);
  test_ipc_push (3);
  fail_unless_equals_uint64 (test_ipc_sink_stat ("frames-sent"), 2);
  open_gate (&done);
  test_ipc_wait_stat (test_sink->element, "frames-sent", 3);
  fail_unless_equals_int (g_atomic_int_get (&done), TRUE);
  test_ipc_pull_and_drop (2);
  test_ipc_pull_and_drop (3);
}

/* --- flushes ------------------------------------------------------------- */

/* Pushes frame @number, which is not written before the gate is opened. */
static void
push_gated (guint number, GstVkgdrStream *stream)
{
  GstBuffer *buffer = test_ipc_new_frame (number);
  GstMemory *memory = gst_buffer_peek_memory (buffer, 0);

  fail_unless (
      gst_vkgdr_memory_begin_access (memory, stream, GST_MAP_WRITE, NULL));
  test_gate_delay (stream, 0, NULL);
  fail_unless (
      gst_vkgdr_memory_end_access (memory, stream, GST_MAP_WRITE, NULL));
  test_ipc_push_buffer (buffer);
}

/* A frame that is not written when a flush begins is dropped. The client gets
 * what comes after the flush. */
TEST (two_flushes)
{
  g_autoptr (GstVkgdrStream) stream = NULL;

  if (!test_ipc_begin (""))
    return;
  stream = test_stream_new (test_context);
  push_gated (1, stream);
  test_ipc_flush ();
  test_ipc_flush ();
  fail_if (test_gate_was_missed ());
  test_gate_set (TRUE);
  test_ipc_push (2);
  test_ipc_pull_and_drop (2);
  test_ipc_push_event (gst_event_new_eos ());
  gst_event_unref (test_ipc_pull_event (GST_EVENT_EOS));
}

static gpointer
stop_sink (gpointer data)
{
  test_ipc_stop ();
  return NULL;
}

/* The server is stopped while it waits for a frame that a flush has made
 * useless. The client gets the frame after the flush. */
TEST (end_after_flush)
{
  g_autoptr (GstVkgdrStream) stream = NULL;
  GThread *thread;

  if (!test_ipc_begin (""))
    return;
  stream = test_stream_new (test_context);
  push_gated (1, stream);
  test_ipc_flush ();
  test_ipc_push (2);
  test_ipc_push_event (gst_event_new_eos ());
  thread = g_thread_new ("stop", stop_sink, NULL);
  /* Nothing shows that the server has begun to end. If that takes longer, the
   * test passes without checking it. */
  g_usleep (100 * 1000);
  fail_if (test_gate_was_missed ());
  test_gate_set (TRUE);
  test_ipc_pull_and_drop (2);
  gst_event_unref (test_ipc_pull_event (GST_EVENT_EOS));
  g_thread_join (thread);
}

/* The server is stopped in the middle of a flush. */
TEST (end_in_flush)
{
  if (!test_ipc_begin (""))
    return;
  test_ipc_push (1);
  test_ipc_pull_and_drop (1);
  test_ipc_push_event (gst_event_new_flush_start ());
  test_ipc_stop ();
  gst_event_unref (test_ipc_pull_event (GST_EVENT_EOS));
}

/* The application flushes the client, which has got only messages that are not
 * for the application. That is not an error. */
TEST (flush_of_waiting_client)
{
  GstMessage *message;
  g_autoptr (GstBus) bus = NULL;

  if (!test_ipc_begin (""))
    return;
  bus = gst_bus_new ();
  gst_element_set_bus (test_src->element, bus);
  /* Nothing shows that the client has read these messages. If that takes
   * longer, the test passes without checking it. */
  g_usleep (100 * 1000);
  gst_element_send_event (test_src->element, gst_event_new_flush_start ());
  gst_element_send_event (test_src->element, gst_event_new_flush_stop (TRUE));
  test_ipc_push (1);
  test_ipc_pull_and_drop (1);
  message = gst_bus_pop_filtered (bus, GST_MESSAGE_ERROR);
  fail_unless (message == NULL, "there was an error");
  gst_element_set_bus (test_src->element, NULL);
}

/* The sink and its client may be in one pipeline. */
TEST (one_pipeline)
{
  g_autoptr (GstElement) pipeline = NULL;

  if (test_ipc_cannot_export ())
    return;
  pipeline = test_launch ("videotestsrc num-buffers=5 ! vkgdripcsink "
                          "wait-for-connection=true socket-path=%s "
                          "vkgdripcsrc socket-path=%s ! fakesink sync=false",
      test_ipc_path, test_ipc_path);
  test_play (pipeline);
}

/* With leaky=no, EOS does not push a frame out of the queue. */
TEST (leaky_no_and_eos)
{
  g_autoptr (GstVkgdrStream) stream = NULL;
  guint i;

  if (!test_ipc_begin ("leaky=no max-buffers=64"))
    return;
  stream = test_stream_new (test_context);
  for (i = 0; i < 16; i++)
    push_gated (i, stream);
  test_ipc_push_event (gst_event_new_eos ());
  fail_if (test_gate_was_missed ());
  test_gate_set (TRUE);
  for (i = 0; i < 16; i++)
    test_ipc_pull_and_drop (i);
  gst_event_unref (test_ipc_pull_event (GST_EVENT_EOS));
}

static gpointer
flush_all_the_time (gpointer is_over)
{
  g_autoptr (GstPad) pad =
      gst_element_get_static_pad (test_sink->element, "sink");

  while (!g_atomic_int_get ((gint *) is_over)) {
    gst_pad_send_event (pad, gst_event_new_flush_start ());
    gst_pad_send_event (pad, gst_event_new_flush_stop (TRUE));
  }
  return NULL;
}

/* Events may come at any time, also while the element starts and stops. */
TEST (events_while_stopping)
{
  gint is_over = FALSE;
  GThread *thread;
  guint i;

  if (test_ipc_cannot_export ())
    return;
  test_ipc_serve ("async=false");
  thread = g_thread_new ("flush", flush_all_the_time, &is_over);
  for (i = 0; i < 50; i++) {
    gst_element_set_state (test_sink->element, GST_STATE_READY);
    gst_element_set_state (test_sink->element, GST_STATE_PLAYING);
  }
  g_atomic_int_set (&is_over, TRUE);
  g_thread_join (thread);
}

/* --- connections --------------------------------------------------------- */

/* Pushes frames until one is not sent because the server has noticed that its
 * only client has stopped. */
static void
push_until_stopped (guint number)
{
  gint64 deadline = g_get_monotonic_time () + 20 * G_TIME_SPAN_SECOND;
  guint64 sent;
  guint i;

  do {
    sent = test_ipc_sink_stat ("frames-sent");
    test_ipc_push (number++);
    fail_unless (g_get_monotonic_time () < deadline, "frames are still sent");
  } while (test_ipc_sink_stat ("frames-sent") != sent);
  for (i = 0; i < 4; i++)
    test_ipc_push (number++);
  fail_unless_equals_uint64 (test_ipc_sink_stat ("frames-sent"), sent);
}

TEST (frames_outlive_elements)
{
  g_autoptr (GstBuffer) kept = NULL;

  if (!test_ipc_begin (""))
    return;
  test_ipc_push (1);
  test_ipc_push (2);
  kept = test_ipc_pull (1);
  test_ipc_disconnect ();
  fail_unless (test_ipc_is_whole (kept, TEST_IPC_WIDTH, TEST_IPC_HEIGHT));
  /* The client is connected as long as it has its frame, but gets no others. */
  push_until_stopped (3);
  test_ipc_wait_clients (test_sink->element, 1);
  test_ipc_stop ();
  fail_unless (test_ipc_is_whole (kept, TEST_IPC_WIDTH, TEST_IPC_HEIGHT));
}

TEST (server_stops)
{
  if (!test_ipc_begin (""))
    return;
  test_ipc_push (1);
  test_ipc_stop ();
  test_ipc_pull_and_drop (1);
  gst_event_unref (test_ipc_pull_event (GST_EVENT_EOS));
  test_ipc_disconnect ();
  fail_if (g_file_test (test_ipc_path, G_FILE_TEST_EXISTS));
}

/* The frame that waits for a client is sent when the server's pipeline ends,
 * with and without EOS. */
TEST_LOOP (last_frame, 2)
{
  GstElement *element;
  guint i;

  if (!test_ipc_begin ("leaky=downstream max-buffers=2"))
    return;
  for (i = 0; i < 10; i++)
    test_ipc_push (i);
  if (__i__ == 0)
    test_ipc_push_event (gst_event_new_eos ());
  element = gst_object_ref (test_sink->element);
  test_ipc_stop ();
  fail_unless_equals_uint64 (test_ipc_stat (element, "frames-sent"), 3);
  gst_object_unref (element);
  test_ipc_pull_and_drop (0);
  test_ipc_pull_and_drop (1);
  test_ipc_pull_and_drop (9);
  gst_event_unref (test_ipc_pull_event (GST_EVENT_EOS));
}

/* A client may keep its frames until it gets EOS, as some encoders do. */
TEST (eos_and_kept_frames)
{
  GstBuffer *kept[3];
  guint i;

  if (!test_ipc_begin ("leaky=downstream max-buffers=2"))
    return;
  for (i = 0; i < 10; i++)
    test_ipc_push (i);
  kept[0] = test_ipc_pull (0);
  kept[1] = test_ipc_pull (1);
  test_ipc_push_event (gst_event_new_eos ());
  kept[2] = test_ipc_pull (9);
  gst_event_unref (test_ipc_pull_event (GST_EVENT_EOS));
  for (i = 0; i < 3; i++)
    gst_buffer_unref (kept[i]);
}

TEST (absent_server)
{
  g_autoptr (GstElement) pipeline =
      test_launch ("vkgdripcsrc socket-path=%s connection-timeout=1 ! fakesink",
          test_ipc_path);
  g_autoptr (GError) error = test_play_error (pipeline);

  fail_unless (g_error_matches (
      error, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_NOT_FOUND));
  fail_unless (strstr (error->message, "connection-timeout") != NULL
                   && strstr (error->message, "no process serves") != NULL,
      "%s", error->message);
}

/* A client can be started before the server, and stopped while it waits. */
TEST (client_first)
{
  test_ipc_start_client ();
  g_usleep (100 * 1000);
  if (test_ipc_cannot_export ())
    return;
  test_ipc_serve ("");
  test_ipc_wait_clients (test_sink->element, 1);
  test_ipc_push (1);
  test_ipc_pull_and_drop (1);
  test_ipc_disconnect ();
  test_ipc_stop ();
  test_ipc_start_client ();
  g_usleep (50 * 1000);
}

static void
assert_no_start (const gchar *properties, const gchar *sentence)
{
  g_autoptr (GstElement) pipeline =
      test_launch ("videotestsrc ! vkgdripcsink %s", properties);
  g_autoptr (GError) error = test_play_error (pipeline);

  test_assert_contains (error->message, sentence);
}

TEST (paths)
{
  g_autofree gchar *properties =
      g_strdup_printf ("socket-path=%s", test_ipc_path);
  g_autofree gchar *part = g_strnfill (30, 'x');
  g_autofree gchar *long_path =
      g_strdup_printf ("socket-path=/tmp/%s%s%s%s", part, part, part, part);

  test_ipc_serve ("");
  assert_no_start ("", "path of a socket");
  assert_no_start (properties, "another process listens");
  assert_no_start ("socket-path=/nowhere/at/all", "/nowhere/at/all");
  assert_no_start (long_path, "path of a socket");
  test_ipc_stop ();
  /* A file that is not a socket is not removed. */
  fail_unless (g_file_set_contents (test_ipc_path, "text", -1, NULL));
  assert_no_start (properties, "is not a socket");
  fail_unless (g_file_test (test_ipc_path, G_FILE_TEST_IS_REGULAR));
}

/* Any user can lock a folder that this user can read. The server does not wait
 * for that for long. */
TEST (locked_folder)
{
  g_autofree gchar *folder = g_path_get_dirname (test_ipc_path);
  gint fd = open (folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

  fail_unless (flock (fd, LOCK_EX) == 0);
  test_ipc_serve ("");
  fail_unless (g_file_test (test_ipc_path, G_FILE_TEST_EXISTS));
  close (fd);
}

TEST (restart)
{
  guint i, fds = 0;

  if (test_ipc_cannot_export ())
    return;
  for (i = 0; i < 10; i++) {
    if (i == 2)
      fds = test_count_fds ();
    test_ipc_serve ("");
    test_ipc_connect ();
    test_ipc_push (i);
    test_ipc_pull_and_drop (i);
    if (i % 2) {
      test_ipc_stop ();
      test_ipc_disconnect ();
    } else {
      test_ipc_disconnect ();
      test_ipc_stop ();
    }
  }
  test_assert_fds (fds);
}
