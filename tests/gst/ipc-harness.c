/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * ipc-harness.c: see ipc-harness.h
 */

#include "ipc-harness.h"

GstHarness *test_sink, *test_src;

/* --- elements ------------------------------------------------------------ */

static GstElement *
make (const gchar *launch)
{
  GstElement *element =
      test_launch ("%s socket-path=%s", launch, test_ipc_path);
  test_set_context (element, test_context);
  return element;
}

void
test_ipc_serve (const gchar *properties)
{
  g_autofree gchar *launch =
      g_strdup_printf ("vkgdripcsink sync=false %s", properties);
  g_autoptr (GstElement) element = make (launch);

  test_sink = gst_harness_new_with_element (element, "sink", NULL);
  gst_harness_set_src_caps_str (test_sink, TEST_IPC_CAPS);
}

void
test_ipc_start_client (void)
{
  GstElement *element = make ("vkgdripcsrc");

  test_src = gst_harness_new_with_element (element, NULL, "src");
  gst_object_unref (element);
  gst_harness_play (test_src);
}

void
test_ipc_connect (void)
{
  test_ipc_start_client ();
  test_ipc_wait_clients (test_sink->element, 1);
}

gboolean
test_ipc_begin (const gchar *properties)
{
  if (test_ipc_cannot_export ())
    return FALSE;
  test_ipc_serve (properties);
  test_ipc_connect ();
  return TRUE;
}

void
test_ipc_disconnect (void)
{
  g_clear_pointer (&test_src, gst_harness_teardown);
}

void
test_ipc_stop (void)
{
  g_clear_pointer (&test_sink, gst_harness_teardown);
}

void
test_end_case (void)
{
  test_ipc_disconnect ();
  test_ipc_stop ();
  gst_task_cleanup_all ();
}

guint64
test_ipc_sink_stat (const gchar *name)
{
  return test_ipc_stat (test_sink->element, name);
}

/* --- frames -------------------------------------------------------------- */

GstBuffer *
test_ipc_fill (GstBuffer *buffer, guint number)
{
  GstMapInfo map;
  guint i;

  fail_unless (gst_buffer_map (buffer, &map, GST_MAP_WRITE));
  for (i = 0; i < TEST_IPC_SIZE; i++)
    map.data[i] =
        test_frame_byte (number, i % TEST_IPC_WIDTH, i / TEST_IPC_WIDTH);
  gst_buffer_unmap (buffer, &map);
  GST_BUFFER_PTS (buffer) = number * GST_MSECOND;
  return buffer;
}

GstBuffer *
test_ipc_new_frame (guint number)
{
  return test_ipc_fill (test_exportable_buffer_new (TEST_IPC_SIZE), number);
}

void
test_ipc_push_buffer (GstBuffer *buffer)
{
  fail_unless_equals_int (gst_harness_push (test_sink, buffer), GST_FLOW_OK);
}

void
test_ipc_push_event (GstEvent *event)
{
  fail_unless (gst_harness_push_event (test_sink, event));
}

void
test_ipc_push (guint number)
{
  test_ipc_push_buffer (test_ipc_new_frame (number));
}

GstBuffer *
test_ipc_pull (guint number)
{
  GstBuffer *buffer = gst_harness_pull (test_src);

  fail_unless (buffer != NULL, "frame %u has not come", number);
  fail_unless_equals_uint64 (GST_BUFFER_PTS (buffer), number * GST_MSECOND);
  fail_unless (test_ipc_is_whole (buffer, TEST_IPC_WIDTH, TEST_IPC_HEIGHT));
  return buffer;
}

void
test_ipc_pull_and_drop (guint number)
{
  gst_buffer_unref (test_ipc_pull (number));
}

GstEvent *
test_ipc_pull_event (GstEventType type)
{
  GstEvent *event;

  while ((event = gst_harness_pull_event (test_src))) {
    if (GST_EVENT_TYPE (event) == type)
      return event;
    gst_event_unref (event);
  }
  fail ("no %s has come", gst_event_type_get_name (type));
  return NULL;
}

void
test_ipc_flush (void)
{
  GstSegment segment;

  gst_segment_init (&segment, GST_FORMAT_TIME);
  test_ipc_push_event (gst_event_new_flush_start ());
  test_ipc_push_event (gst_event_new_flush_stop (TRUE));
  test_ipc_push_event (gst_event_new_segment (&segment));
}
