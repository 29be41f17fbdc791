/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * ipc-tags.c: tests of the tags that vkgdripcsrc gets from vkgdripcsink, in one
 * process
 */

#include "ipc-harness.h"

#define RECONNECT "disconnect; clients 0; connect;"

TEST_FIXTURE (test_ipc_setup, test_ipc_teardown);

#define ALL_TAGS \
  "tagged global title the film; tagged stream title;" \
  "tagged stream encoder a camera; tagged stream language-code fr;" \
  "tagged global language-code;"

/* Before the first frame, there are several events, as from a demuxer and a
 * parser. All clients get the tags of all of them. */
TEST_STEPS (several_events,
    "begin; tag global title the film; tag stream language-code de;"
    "tag stream encoder a camera; tag stream language-code fr;"
    "push 0; pull 0;" ALL_TAGS RECONNECT "push 1; pull 1;" ALL_TAGS);

#define BOTH_TAGS \
  "tagged stream encoder a camera; tagged stream title the stream;"

/* A later event adds tags. A client that connects after it gets all of them. */
TEST_STEPS (later_event,
    "begin; tag stream encoder a camera; push 0; pull 0;"
    "tag stream title the stream;"
    "push 1; pull 1;" BOTH_TAGS RECONNECT "push 2; pull 2;" BOTH_TAGS);

#define NO_TAGS "tagged global title; tagged stream encoder;"

/* The next stream does not have the tags of the last one: neither for a client
 * that got them, nor for one that connects later. */
TEST_STEPS (next_stream,
    "begin; tag global title the film; tag stream encoder a camera;"
    "push 0; pull 0; next-stream;"
    "push 1; pull 1;" NO_TAGS RECONNECT "push 2; pull 2;" NO_TAGS
    "tag stream title the stream;"
    "push 3; pull 3; tagged stream encoder; tagged stream title the stream");

/* Tags of @size bytes arrive whole, or are left out with a warning, and the
 * others are not. */
static void
check_large (gsize size, gboolean is_left_out)
{
  g_autofree gchar *text = g_strnfill (size, 'x');
  g_autofree gchar *found = NULL;
  g_autoptr (GstEvent) event = NULL;
  GstTagList *tags;

  if (!test_ipc_run ("begin; tag stream encoder a camera"))
    return;
  test_ipc_push_event (
      gst_event_new_tag (gst_tag_list_new (GST_TAG_COMMENT, text, NULL)));
  test_ipc_run ("%s tag stream title the stream; push 0; pull 0;" BOTH_TAGS,
      is_left_out ? "warns;" : "");
  event = test_ipc_pull_event (GST_EVENT_TAG);
  gst_event_parse_tag (event, &tags);
  fail_unless_equals_int (
      gst_tag_list_get_string (tags, GST_TAG_COMMENT, &found), !is_left_out);
  fail_unless (is_left_out || g_str_equal (found, text));
}

TEST (large_tags)
{
  check_large (1024 * 1024, FALSE);
}

TEST (too_large_tags)
{
  check_large (17 * 1024 * 1024, TRUE);
}
