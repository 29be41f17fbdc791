/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * ipc-harness.c: see ipc-harness.h
 */

#include "ipc-harness.h"

#include <stdio.h>
#include <string.h>

#include "gate.h"
#include "table.h"

/* How long the device is busy after the gate has opened, in milliseconds. */
#define BUSY 30

GstHarness *test_sink, *test_src;

static GPtrArray *kept;
static gboolean is_discont; /* the frame that was pulled last */
static GstVkgdrStream *stream;
static gint gate_is_passed, n_pushed;
static guint n_to_push;
static GThread *thread;

/* --- elements ------------------------------------------------------------ */

static GstHarness *
make (const gchar *element, const gchar *properties)
{
  g_autoptr (GstElement) made = test_launch (
      "%s socket-path=\"%s\" %s", element, test_ipc_path, properties);
  g_autoptr (GstBus) bus = test_add_bus (made);
  gboolean is_sink = g_str_has_prefix (element, "vkgdripcsink");

  test_set_context (made, test_context);
  return gst_harness_new_with_element (
      made, is_sink ? "sink" : NULL, is_sink ? NULL : "src");
}

static void
clear (GstHarness **harness)
{
  if (!*harness)
    return;
  test_assert_no_message (
      GST_ELEMENT_BUS ((*harness)->element), GST_MESSAGE_ERROR);
  gst_element_set_bus ((*harness)->element, NULL);
  g_clear_pointer (harness, gst_harness_teardown);
}

void
test_end_case (void)
{
  g_clear_pointer (&thread, g_thread_join);
  g_clear_pointer (&kept, g_ptr_array_unref);
  clear (&test_src);
  clear (&test_sink);
  gst_clear_object (&stream);
  gst_task_cleanup_all ();
}

/* --- frames and events --------------------------------------------------- */

GstBuffer *
test_ipc_new_frame (guint number)
{
  GstBuffer *buffer = test_exportable_buffer_new (TEST_IPC_SIZE);
  guint8 bytes[TEST_IPC_SIZE];

  test_ipc_fill (bytes, number);
  gst_buffer_fill (buffer, 0, bytes, sizeof (bytes));
  GST_BUFFER_PTS (buffer) = number * GST_MSECOND;
  return buffer;
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

GstBuffer *
test_ipc_pull (guint number)
{
  GstBuffer *buffer = gst_harness_pull (test_src);

  fail_unless (buffer != NULL, "frame %u has not come", number);
  fail_unless_equals_uint64 (GST_BUFFER_PTS (buffer), number * GST_MSECOND);
  fail_unless (test_ipc_is_whole (buffer));
  return buffer;
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

/* --- steps --------------------------------------------------------------- */

/* What follows the name of a step, and its numbers, if it has any. */
typedef struct {
  const gchar *text;
  guint first, last;
  gchar words[3][64]; /* the last one goes on to the end */
  guint number;       /* the second word as a number */
} Arguments;

static struct {
  const gchar *name;
  void (*run) (const Arguments *to);
} steps[40];
static guint n_steps;

/* A step with its name. */
#define STEP(step, function) \
  static void function (const Arguments *to); \
\
  __attribute__ ((constructor)) static void add_##function (void) \
  { \
    steps[n_steps].name = step; \
    steps[n_steps++].run = function; \
  } \
\
  static void function (const Arguments *to)

STEP ("serve", serve)
{
  test_sink = make ("vkgdripcsink sync=false", to->text);
  gst_harness_set_src_caps_str (test_sink, TEST_IPC_CAPS);
}

STEP ("start", start)
{
  test_src = make ("vkgdripcsrc", to->text);
  gst_harness_play (test_src);
}

STEP ("connect", connect_client)
{
  start (to);
  test_ipc_wait_clients (test_sink->element, 1);
}

STEP ("begin", begin)
{
  serve (to);
  connect_client (&(Arguments){ .text = "" });
}

STEP ("stop", stop)
{
  clear (&test_sink);
}

STEP ("disconnect", disconnect)
{
  clear (&test_src);
}

STEP ("clients", wait_clients)
{
  test_ipc_wait_clients (test_sink->element, to->first);
}

STEP ("push", push)
{
  guint i;

  for (i = to->first; i <= to->last; i++)
    test_ipc_push_buffer (test_ipc_new_frame (i));
}

STEP ("push-gated", push_gated)
{
  guint i;

  if (!stream)
    stream = test_stream_new (test_context);
  for (i = to->first; i <= to->last; i++) {
    GstBuffer *buffer = test_ipc_new_frame (i);

    test_gate_access (gst_buffer_peek_memory (buffer, 0), stream, GST_MAP_WRITE,
        BUSY, &gate_is_passed);
    test_ipc_push_buffer (buffer);
  }
}

static gpointer
push_in_thread (gpointer data)
{
  guint i;

  for (i = 0; i < n_to_push; i++) {
    if (gst_harness_push (test_sink, test_ipc_new_frame (i)) != GST_FLOW_OK)
      break;
    g_atomic_int_inc (&n_pushed);
  }
  return NULL;
}

STEP ("push-all", push_all)
{
  n_pushed = 0;
  n_to_push = to->first;
  thread = g_thread_new ("push", push_in_thread, NULL);
}

STEP ("pushed", assert_pushed)
{
  test_wait_for (g_atomic_int_get (&n_pushed) >= (gint) to->first);
  g_usleep (50 * 1000);
  fail_unless_equals_int (g_atomic_int_get (&n_pushed), to->first);
}

STEP ("caps", set_caps)
{
  gst_harness_set_src_caps_str (test_sink, to->text);
}

STEP ("eos", push_eos)
{
  test_ipc_push_event (gst_event_new_eos ());
}

static void
push_segment (void)
{
  GstSegment segment;

  gst_segment_init (&segment, GST_FORMAT_TIME);
  test_ipc_push_event (gst_event_new_segment (&segment));
}

STEP ("flush-start", flush_start)
{
  test_ipc_push_event (gst_event_new_flush_start ());
}

STEP ("flush", flush)
{
  flush_start (to);
  test_ipc_push_event (gst_event_new_flush_stop (TRUE));
  push_segment ();
}

STEP ("next-stream", next_stream)
{
  test_ipc_push_event (gst_event_new_stream_start ("the next one"));
  push_segment ();
}

static GstTagScope
get_scope (const Arguments *to)
{
  return strcmp (to->words[0], "global") ? GST_TAG_SCOPE_STREAM
                                         : GST_TAG_SCOPE_GLOBAL;
}

STEP ("tag", push_tag)
{
  GstTagList *tags = gst_tag_list_new (to->words[1], to->words[2], NULL);

  gst_tag_list_set_scope (tags, get_scope (to));
  test_ipc_push_event (gst_event_new_tag (tags));
}

STEP ("warns", assert_warning)
{
  test_assert_message (
      GST_ELEMENT_BUS (test_sink->element), GST_MESSAGE_WARNING, "");
}

STEP ("keep", keep)
{
  guint i;

  if (!kept)
    kept = g_ptr_array_new_with_free_func ((GDestroyNotify) gst_buffer_unref);
  for (i = to->first; i <= to->last; i++)
    g_ptr_array_add (kept, test_ipc_pull (i));
}

STEP ("pull", pull)
{
  guint i;

  for (i = to->first; i <= to->last; i++) {
    GstBuffer *buffer = test_ipc_pull (i);

    is_discont = GST_BUFFER_FLAG_IS_SET (buffer, GST_BUFFER_FLAG_DISCONT);
    gst_buffer_unref (buffer);
  }
}

STEP ("drop", drop)
{
  guint i;

  for (i = 0; i < kept->len; i++)
    fail_unless (test_ipc_is_whole (g_ptr_array_index (kept, i)));
  g_clear_pointer (&kept, g_ptr_array_unref);
}

STEP ("discont", assert_discont)
{
  fail_unless (is_discont);
}

STEP ("get", get_event)
{
  gboolean is_caps = strcmp (to->words[0], "caps") == 0;
  g_autoptr (GstEvent) event =
      test_ipc_pull_event (is_caps ? GST_EVENT_CAPS : GST_EVENT_EOS);
  g_autoptr (GstCaps) expected = NULL;
  GstCaps *caps;

  if (!to->words[1][0])
    return;
  gst_event_parse_caps (event, &caps);
  expected = gst_caps_from_string (strchr (to->text, ' ') + 1);
  fail_unless (
      gst_caps_can_intersect (caps, expected), "%" GST_PTR_FORMAT, caps);
}

/* The newest tags that the client has pushed with this scope count. */
STEP ("tagged", assert_tagged)
{
  g_autofree gchar *found = NULL;
  GstTagList *tags;
  GstEvent *event;
  guint i;

  for (i = 0;
       (event = gst_pad_get_sticky_event (test_src->sinkpad, GST_EVENT_TAG, i));
       i++) {
    gst_event_parse_tag (event, &tags);
    if (gst_tag_list_get_scope (tags) == get_scope (to)) {
      g_clear_pointer (&found, g_free);
      gst_tag_list_get_string (tags, to->words[1], &found);
    }
    gst_event_unref (event);
  }
  fail_unless_equals_string (found ? found : "", to->words[2]);
}

STEP ("flush-client", flush_client)
{
  gst_element_send_event (test_src->element, gst_event_new_flush_start ());
  gst_element_send_event (test_src->element, gst_event_new_flush_stop (TRUE));
}

static gulong block_id;

static GstPadProbeReturn
keep_blocked (GstPad *pad, GstPadProbeInfo *info, gpointer user_data)
{
  return GST_PAD_PROBE_OK;
}

STEP ("block", block_client)
{
  g_autoptr (GstPad) pad =
      gst_element_get_static_pad (test_src->element, "src");

  block_id = gst_pad_add_probe (pad,
      GST_PAD_PROBE_TYPE_BLOCK | GST_PAD_PROBE_TYPE_BUFFER, keep_blocked, NULL,
      NULL);
}

STEP ("unblock", unblock_client)
{
  g_autoptr (GstPad) pad =
      gst_element_get_static_pad (test_src->element, "src");

  gst_pad_remove_probe (pad, block_id);
}

STEP ("is", wait_stat)
{
  test_wait_for (test_stat (test_sink->element, to->words[0]) == to->number);
}

STEP ("open-gate", open_gate)
{
  fail_if (test_gate_was_missed ());
  fail_if (g_atomic_int_get (&gate_is_passed));
  test_gate_set (TRUE);
}

STEP ("gate-passed", assert_passed)
{
  fail_unless (g_atomic_int_get (&gate_is_passed));
}

STEP ("sleep", wait_a_while)
{
  g_usleep (to->first * 1000);
}

static void
run_step (const gchar *step)
{
  gsize length = strcspn (step, " ");
  Arguments to = { .text = step[length] ? step + length + 1 : "" };
  guint i;

  if (sscanf (to.text, "%u-%u", &to.first, &to.last) < 2)
    to.last = to.first;
  sscanf (to.text, "%63s %63s %63[^\n]", to.words[0], to.words[1], to.words[2]);
  to.number = g_ascii_strtoull (to.words[1], NULL, 10);
  for (i = 0; i < n_steps; i++)
    if (strlen (steps[i].name) == length
        && strncmp (steps[i].name, step, length) == 0) {
      GST_INFO ("step: %s", step);
      steps[i].run (&to);
      return;
    }
  fail ("there is no step \"%s\"", step);
}

void
test_ipc_run (const gchar *format, ...)
{
  g_autofree gchar *text = NULL;
  g_auto (GStrv) parts = NULL;
  va_list arguments;
  guint i;

  va_start (arguments, format);
  text = g_strdup_vprintf (format, arguments);
  va_end (arguments);
  parts = g_strsplit (text, ";", -1);
  for (i = 0; parts[i]; i++)
    if (*g_strstrip (parts[i]))
      run_step (parts[i]);
}
