/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * ipc-tags.c: tests of the tags that vkgdripcsrc gets from vkgdripcsink, in one
 * process
 */

#include "ipc-harness.h"

#define STREAM GST_TAG_SCOPE_STREAM
#define GLOBAL GST_TAG_SCOPE_GLOBAL

static void
push_tags (GstTagScope scope, const gchar *name, const gchar *value)
{
  GstTagList *tags = gst_tag_list_new (name, value, NULL);

  gst_tag_list_set_scope (tags, scope);
  test_ipc_push_event (gst_event_new_tag (tags));
}

/* Pushes frame @number, and waits until the client has it. */
static void
pass_frame (guint number)
{
  test_ipc_push (number);
  test_ipc_pull_and_drop (number);
}

/* Returns the newest tags that the client has pushed with this scope, which the
 * caller frees, or NULL. */
static GstTagList *
get_tags (GstTagScope scope)
{
  g_autoptr (GstPad) pad =
      gst_element_get_static_pad (test_src->element, "src");
  GstTagList *found = NULL, *tags;
  GstEvent *event;
  guint i;

  for (i = 0; (event = gst_pad_get_sticky_event (pad, GST_EVENT_TAG, i)); i++) {
    gst_event_parse_tag (event, &tags);
    if (gst_tag_list_get_scope (tags) == scope)
      found = gst_tag_list_ref (tags);
    gst_event_unref (event);
  }
  return found;
}

/* @value: NULL if the client must not have the tag */
static void
assert_tag (GstTagScope scope, const gchar *name, const gchar *value)
{
  GstTagList *tags = get_tags (scope);
  gchar *found = NULL;

  if (tags)
    gst_tag_list_get_string (tags, name, &found);
  fail_unless_equals_string (found, value);
  g_free (found);
  g_clear_pointer (&tags, gst_tag_list_unref);
}

static void
reconnect (void)
{
  test_ipc_disconnect ();
  test_ipc_wait_clients (test_sink->element, 0);
  test_ipc_connect ();
}

TEST_FIXTURE (test_ipc_setup, test_ipc_teardown);

/* Before the first frame, there are several events, as from a demuxer and a
 * parser. All clients get the tags of all of them. */
TEST (several_events)
{
  guint i;

  if (!test_ipc_begin (""))
    return;
  push_tags (GLOBAL, GST_TAG_TITLE, "the film");
  push_tags (STREAM, GST_TAG_LANGUAGE_CODE, "de");
  push_tags (STREAM, GST_TAG_ENCODER, "a camera");
  push_tags (STREAM, GST_TAG_LANGUAGE_CODE, "fr");
  for (i = 0; i < 2; i++) {
    pass_frame (i);
    assert_tag (GLOBAL, GST_TAG_TITLE, "the film");
    assert_tag (STREAM, GST_TAG_TITLE, NULL);
    assert_tag (STREAM, GST_TAG_ENCODER, "a camera");
    assert_tag (STREAM, GST_TAG_LANGUAGE_CODE, "fr");
    assert_tag (GLOBAL, GST_TAG_LANGUAGE_CODE, NULL);
    reconnect ();
  }
}

/* A later event adds tags. A client that connects after it gets all of them. */
TEST (later_event)
{
  guint i;

  if (!test_ipc_begin (""))
    return;
  push_tags (STREAM, GST_TAG_ENCODER, "a camera");
  pass_frame (0);
  push_tags (STREAM, GST_TAG_TITLE, "the stream");
  for (i = 1; i < 3; i++) {
    pass_frame (i);
    assert_tag (STREAM, GST_TAG_ENCODER, "a camera");
    assert_tag (STREAM, GST_TAG_TITLE, "the stream");
    reconnect ();
  }
}

/* Large tags arrive whole. Tags of more than 16 MiB are left out, with a
 * warning, and the others are not. */
TEST (large_tags)
{
  g_autofree gchar *text = g_strnfill (1024 * 1024, 'x');
  g_autofree gchar *too_long = g_strnfill (17 * 1024 * 1024, 'y');
  g_autoptr (GstBus) bus = gst_bus_new ();
  GstMessage *message;

  if (test_ipc_begin ("")) {
    gst_element_set_bus (test_sink->element, bus);
    push_tags (STREAM, GST_TAG_ENCODER, "a camera");
    push_tags (STREAM, GST_TAG_COMMENT, text);
    message = gst_bus_pop_filtered (bus, GST_MESSAGE_WARNING);
    fail_unless (message == NULL);
    push_tags (STREAM, GST_TAG_DESCRIPTION, too_long);
    message = gst_bus_pop_filtered (bus, GST_MESSAGE_WARNING);
    fail_unless (message != NULL);
    gst_message_unref (message);
    push_tags (STREAM, GST_TAG_TITLE, "the stream");
    pass_frame (0);
    assert_tag (STREAM, GST_TAG_ENCODER, "a camera");
    assert_tag (STREAM, GST_TAG_COMMENT, text);
    assert_tag (STREAM, GST_TAG_DESCRIPTION, NULL);
    assert_tag (STREAM, GST_TAG_TITLE, "the stream");
    gst_element_set_bus (test_sink->element, NULL);
  }
}

/* The next stream does not have the tags of the last one: neither for a client
 * that got them, nor for one that connects later. */
TEST (next_stream)
{
  GstSegment segment;
  guint i;

  if (!test_ipc_begin (""))
    return;
  gst_segment_init (&segment, GST_FORMAT_TIME);
  push_tags (GLOBAL, GST_TAG_TITLE, "the film");
  push_tags (STREAM, GST_TAG_ENCODER, "a camera");
  pass_frame (0);
  test_ipc_push_event (gst_event_new_stream_start ("the next one"));
  test_ipc_push_event (gst_event_new_segment (&segment));
  for (i = 1; i < 3; i++) {
    pass_frame (i);
    assert_tag (GLOBAL, GST_TAG_TITLE, NULL);
    assert_tag (STREAM, GST_TAG_ENCODER, NULL);
    reconnect ();
  }
  push_tags (STREAM, GST_TAG_TITLE, "the stream");
  pass_frame (3);
  assert_tag (STREAM, GST_TAG_ENCODER, NULL);
  assert_tag (STREAM, GST_TAG_TITLE, "the stream");
}
