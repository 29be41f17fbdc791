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

/* A client that is stopped returns all frames that it has not read, though
 * there are other messages between them, and though it keeps another frame. */
GST_START_TEST (test_unread_frames)
{
  GstElement *pipeline, *appsink;
  gint n_freed = 0;
  GstSample *kept;
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
  for (i = 0; i < 5000 && g_atomic_int_get (&n_freed) < FREED; i++)
    g_usleep (1000);
  fail_unless_equals_int (g_atomic_int_get (&n_freed), FREED);
  gst_sample_unref (kept);
  gst_object_unref (appsink);
  gst_object_unref (pipeline);
  test_ipc_end ();
}
GST_END_TEST

/* In microseconds; the largest value that is useful in a test. */
#define BUSY_POLL (10 * G_USEC_PER_SEC)

/* A thread that does not sleep can be stopped while it looks for the next
 * frame, which it would do for the time of busy-poll. */
GST_START_TEST (test_busy_poll)
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
  test_ipc_end ();
}
GST_END_TEST

/* --- flushed ------------------------------------------------------------- */

/* The memory of the ring buffer in /proc/self/maps. */
#define RING "memfd:vkgdripc-ring"

/* Waits until the client has read the messages that come before all frames. The
 * last one is that of the ring buffer, which both elements then map. */
static void
wait_for_greeting (void)
{
  gint64 deadline = g_get_monotonic_time () + 10 * G_TIME_SPAN_SECOND;
  gboolean is_mapped_twice = FALSE;
  gchar *maps;

  while (!is_mapped_twice) {
    fail_unless (g_get_monotonic_time () < deadline);
    fail_unless (g_file_get_contents ("/proc/self/maps", &maps, NULL, NULL));
    is_mapped_twice = strstr (maps, RING) != g_strrstr (maps, RING);
    g_free (maps);
    g_usleep (1000);
  }
}

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
GST_START_TEST (test_no_frame_yet)
{
  GstBus *bus;

  if (!test_ipc_begin (""))
    return;
  bus = gst_bus_new ();
  gst_element_set_bus (test_src->element, bus);
  wait_for_greeting ();
  gst_element_send_event (test_src->element, gst_event_new_flush_start ());
  gst_element_send_event (test_src->element, gst_event_new_flush_stop (TRUE));
  test_ipc_push (0);
  test_ipc_pull_and_drop (0);
  assert_no_error (bus);
  gst_element_set_bus (test_src->element, NULL);
  gst_object_unref (bus);
  test_ipc_end ();
}
GST_END_TEST

/* The width in the second caps. */
#define NEW_WIDTH 48

/* Whether the client asks downstream for the new caps. It also asks for others,
 * at any time. */
static gboolean
is_about_new_caps (GstQuery *query)
{
  const GstStructure *structure;
  GstCaps *filter;
  gint width = 0;

  if (GST_QUERY_TYPE (query) != GST_QUERY_CAPS)
    return FALSE;
  gst_query_parse_caps (query, &filter);
  if (!filter || gst_caps_is_any (filter) || gst_caps_is_empty (filter))
    return FALSE;
  structure = gst_caps_get_structure (filter, 0);
  return gst_structure_get_int (structure, "width", &width)
         && width == NEW_WIDTH;
}

/* How far the test and the client's streaming thread are. */
typedef struct {
  gint is_pushed;  /* atomic: the frame with the new caps */
  gint is_flushed; /* atomic: the server has finished FLUSH_START */
} Progress;

/* Waits until *@flag is TRUE, but for some seconds at most. */
static void
wait_until (gint *flag)
{
  guint i;

  for (i = 0; i < 10000 && !g_atomic_int_get (flag); i++)
    g_usleep (1000);
}

/* Called in the client's streaming thread. Before this thread pushes the new
 * caps, begins a flush of the server, and waits until the client is
 * flushing. */
static GstPadProbeReturn
flush_once (GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
  Progress *progress = data;
  guint i;

  if (!is_about_new_caps (GST_PAD_PROBE_INFO_QUERY (info)))
    return GST_PAD_PROBE_OK;
  wait_until (&progress->is_pushed);
  test_ipc_push_event (gst_event_new_flush_start ());
  g_atomic_int_set (&progress->is_flushed, TRUE);
  for (i = 0; i < 10000 && !GST_PAD_IS_FLUSHING (pad); i++)
    g_usleep (1000);
  fail_unless (GST_PAD_IS_FLUSHING (pad));
  return GST_PAD_PROBE_REMOVE;
}

/* New caps arrive during a flush. They are not an error, and the next frame has
 * them. */
GST_START_TEST (test_caps_during_flush)
{
  Progress progress = { FALSE, FALSE };
  GstSegment segment;
  GstBus *bus;
  GstCaps *caps, *expected;
  GstEvent *event;
  GstPad *pad;

  if (!test_ipc_begin (""))
    return;
  bus = gst_bus_new ();
  gst_element_set_bus (test_src->element, bus);
  pad = gst_element_get_static_pad (test_src->element, "src");
  test_ipc_push (0);
  test_ipc_pull_and_drop (0);
  gst_event_unref (test_ipc_pull_event (GST_EVENT_CAPS));
  gst_pad_add_probe (
      pad, GST_PAD_PROBE_TYPE_QUERY_DOWNSTREAM, flush_once, &progress, NULL);
  gst_harness_set_src_caps_str (test_sink,
      "video/x-raw,format=GRAY8,width=48,height=64,framerate=1000/1");
  test_ipc_push (1);
  g_atomic_int_set (&progress.is_pushed, TRUE);
  gst_event_unref (test_ipc_pull_event (GST_EVENT_FLUSH_START));
  wait_until (&progress.is_flushed);
  test_ipc_push_event (gst_event_new_flush_stop (TRUE));
  gst_event_unref (test_ipc_pull_event (GST_EVENT_FLUSH_STOP));
  gst_segment_init (&segment, GST_FORMAT_TIME);
  test_ipc_push_event (gst_event_new_segment (&segment));
  test_ipc_push (2);
  gst_buffer_unref (gst_harness_pull (test_src));
  assert_no_error (bus);
  event = test_ipc_pull_event (GST_EVENT_CAPS);
  gst_event_parse_caps (event, &caps);
  expected = gst_caps_from_string ("video/x-raw(memory:VkgdrMemory),width=48");
  fail_unless (gst_caps_can_intersect (caps, expected));
  gst_caps_unref (expected);
  gst_event_unref (event);
  gst_object_unref (pad);
  gst_element_set_bus (test_src->element, NULL);
  gst_object_unref (bus);
  test_ipc_end ();
}
GST_END_TEST

static Suite *
ipc_interrupted_suite (void)
{
  Suite *suite = suite_create ("ipc-interrupted");
  TCase *tc = tcase_create ("general");

  tcase_add_checked_fixture (tc, test_ipc_setup, test_ipc_teardown);
  suite_add_tcase (suite, tc);
  tcase_add_test (tc, test_unread_frames);
  tcase_add_test (tc, test_busy_poll);
  tcase_add_test (tc, test_no_frame_yet);
  tcase_add_test (tc, test_caps_during_flush);
  return suite;
}

GST_CHECK_MAIN (ipc_interrupted);
