/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * ipc-interrupted.c: tests of clients that are stopped or flushed while they
 * receive
 *
 * vkgdripcsink and vkgdripcsrc are in one process.
 */

#include <string.h>

#include "ipc-harness.h"
#include "slow.h"

/* --- stopped ------------------------------------------------------------- */

/* The number of frames that the client does not keep. */
#define FREED 6

static void
on_freed (gpointer n_freed, GstMiniObject *frame)
{
  g_atomic_int_inc ((gint *) n_freed);
}

/* Pushes a frame that is in an allocation of its own. So before it, the client
 * is sent the description of that memory. */
static void
push_counted (guint number, gint *n_freed)
{
  GstBuffer *buffer = test_ipc_new_frame (number);

  gst_mini_object_weak_ref (GST_MINI_OBJECT (buffer), on_freed, n_freed);
  test_ipc_push_buffer (buffer);
}

TEST_FIXTURE (test_ipc_setup, test_ipc_teardown);

/* A client that is stopped returns all frames that it has not read, though
 * there are other messages between them, and though it keeps another frame. */
TEST (unread_frames)
{
  g_autoptr (GstElement) pipeline = NULL, appsink = NULL;
  gint n_freed = 0;
  g_autoptr (GstSample) kept = NULL;
  guint i;

  if (test_ipc_cannot_export ())
    return;
  test_ipc_serve ("max-buffers=16 enable-last-sample=false");
  pipeline = test_launch ("vkgdripcsrc socket-path=%s ! appsink name=sink "
                          "sync=false max-buffers=1 enable-last-sample=false",
      test_ipc_path);
  appsink = gst_bin_get_by_name (GST_BIN (pipeline), "sink");
  gst_element_set_state (pipeline, GST_STATE_PLAYING);
  test_ipc_wait_clients (test_sink->element, 1);
  test_ipc_push (0);
  kept = gst_app_sink_pull_sample (GST_APP_SINK (appsink));
  fail_unless (kept != NULL);
  /* The appsink has room for one frame, and the streaming thread waits with the
   * next one. */
  for (i = 1; i <= FREED; i++)
    push_counted (i, &n_freed);
  test_ipc_wait_stat (test_sink->element, "frames-sent", 1 + FREED);
  gst_element_set_state (pipeline, GST_STATE_NULL);
  test_wait_for (g_atomic_int_get (&n_freed) == FREED);
  fail_unless_equals_int (g_atomic_int_get (&n_freed), FREED);
}

/* In microseconds; the largest value that is useful in a test. */
#define BUSY_POLL (10 * G_USEC_PER_SEC)

/* A thread that does not sleep can be stopped while it looks for the next
 * frame, which it would do for the time of busy-poll. */
TEST (busy_poll)
{
  gint64 since;
  guint i;

  if (!test_ipc_begin (""))
    return;
  g_object_set (test_src->element, "busy-poll", (guint) BUSY_POLL, NULL);
  for (i = 0; i < 20; i++) {
    test_ipc_push (i);
    test_ipc_pull_and_drop (i);
  }
  since = g_get_monotonic_time ();
  test_ipc_disconnect ();
  fail_unless (g_get_monotonic_time () - since < test_limit (BUSY_POLL / 2));
}

/* --- flushed ------------------------------------------------------------- */

static void
assert_no_error (GstBus *bus)
{
  GstMessage *message = gst_bus_pop_filtered (bus, GST_MESSAGE_ERROR);
  GError *error = NULL;

  if (!message)
    return;
  gst_message_parse_error (message, &error, NULL);
  fail ("%s", error->message);
}

/* A client that has got the greeting, but no frame, can be flushed. */
TEST (no_frame_yet)
{
  g_autoptr (GstBus) bus = NULL;

  if (!test_ipc_begin (""))
    return;
  bus = gst_bus_new ();
  gst_element_set_bus (test_src->element, bus);
  test_ipc_wait_clients (test_sink->element, 1);
  gst_element_send_event (test_src->element, gst_event_new_flush_start ());
  gst_element_send_event (test_src->element, gst_event_new_flush_stop (TRUE));
  test_ipc_push (0);
  test_ipc_pull_and_drop (0);
  assert_no_error (bus);
  gst_element_set_bus (test_src->element, NULL);
}
