/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * table.c: see table.h
 */

#include "table.h"

#define N_FRAMES 3

/* --- bytes --------------------------------------------------------------- */

guint8
test_any_byte (const guint8 *in, gsize i)
{
  return 0;
}

static GstHarness *
harness_of (const gchar *elements)
{
  return test_context ? test_harness_parse (elements)
                      : gst_harness_new_parse (elements);
}

/* The size of a frame with @caps, or @size if they are no video. */
static gsize
frame_size (GstVideoInfo *info, GstCaps *caps, gsize size)
{
  if (size == 0 && gst_video_info_from_caps (info, caps))
    size = GST_VIDEO_INFO_SIZE (info);
  fail_unless (size > 0, "%" GST_PTR_FORMAT, caps);
  return size;
}

static GstBuffer *
make_input (GstCaps *caps, guint8 *data, gsize size, guint frame)
{
  GstCapsFeatures *features = gst_caps_get_features (caps, 0);
  GstBuffer *buffer;

  test_fill (data, size, frame);
  if (gst_caps_features_contains (
          features, GST_CAPS_FEATURE_MEMORY_VKGDR_MEMORY)) {
    buffer = gst_buffer_new ();
    gst_buffer_append_memory (buffer, test_memory_new (test_context, size));
    gst_buffer_fill (buffer, 0, data, size);
  } else {
    buffer = gst_buffer_new_memdup (data, size);
  }
  GST_BUFFER_PTS (buffer) = frame * GST_SECOND;
  return buffer;
}

static void
check_output_caps (const TestFlow *row, GstCaps *got, GstCaps *input)
{
  g_autoptr (GstCaps) wanted =
      row->output ? gst_caps_from_string (row->output) : gst_caps_ref (input);

  fail_unless (wanted != NULL);
  fail_unless (row->output ? gst_caps_is_subset (got, wanted)
                           : gst_caps_is_equal (got, wanted),
      "%s: %s is not %s", row->elements, gst_caps_to_string (got),
      gst_caps_to_string (wanted));
  if (row->lacks)
    fail_if (
        gst_structure_has_field (gst_caps_get_structure (got, 0), row->lacks));
}

static void
check_output (const TestFlow *row, GstHarness *h, GstBuffer *buffer,
    GstCaps *input, const guint8 *in, guint frame)
{
  g_autoptr (GstCaps) caps = gst_pad_get_current_caps (h->sinkpad);
  GstVideoInfo info;
  gsize size = frame_size (&info, caps, row->size), i;
  GstMapInfo map;

  fail_unless (buffer != NULL, "%s gives no buffer", row->elements);
  check_output_caps (row, caps, input);
  fail_unless_equals_uint64 (GST_BUFFER_PTS (buffer), frame * GST_SECOND);
  fail_unless (gst_buffer_map (buffer, &map, GST_MAP_READ));
  fail_unless_equals_uint64 (map.size, size);
  for (i = 0; i < size && row->byte != test_any_byte; i++)
    test_check_byte (i, map.data[i], row->byte ? row->byte (in, i) : in[i]);
  gst_buffer_unmap (buffer, &map);
}

/* Pushes frames with @caps. */
static void
check_stream (const TestFlow *row, GstHarness *h, GstCaps *caps)
{
  GstVideoInfo info;
  gsize size = frame_size (&info, caps, row->size);
  g_autofree guint8 *in = g_malloc (size);
  guint i;

  gst_harness_set_src_caps (h, gst_caps_ref (caps));
  for (i = 0; i < N_FRAMES; i++) {
    g_autoptr (GstBuffer) buffer = make_input (caps, in, size, i);

    if (row->has_meta)
      gst_buffer_add_video_meta_full (buffer, GST_VIDEO_FRAME_FLAG_NONE,
          info.finfo->format, info.width, info.height, info.finfo->n_planes,
          info.offset, info.stride);
    buffer = gst_harness_push_and_pull (h, buffer);
    check_output (row, h, buffer, caps, in, i);
  }
}

void
test_check_flow (const TestFlow *row)
{
  g_autoptr (GstHarness) h = harness_of (row->elements);
  g_autoptr (GstCaps) all = gst_caps_from_string (row->caps);
  guint i;

  if (row->downstream)
    gst_harness_set_sink_caps_str (h, row->downstream);
  for (i = 0; i < gst_caps_get_size (all); i++) {
    g_autoptr (GstCaps) caps = gst_caps_copy_nth (all, i);

    check_stream (row, h, caps);
  }
}

GByteArray *
test_frame_rows (GstBuffer *buffer, const GstVideoInfo *info)
{
  GByteArray *rows = g_byte_array_new ();
  GstVideoFrame frame;
  gint y;
  guint p;

  fail_unless (gst_video_frame_map (&frame, info, buffer, GST_MAP_READ));
  for (p = 0; p < GST_VIDEO_FRAME_N_PLANES (&frame); p++) {
    gint components[GST_VIDEO_MAX_COMPONENTS];

    gst_video_format_info_component (info->finfo, p, components);
    for (y = 0; y < GST_VIDEO_INFO_COMP_HEIGHT (info, components[0]); y++)
      g_byte_array_append (rows,
          (guint8 *) GST_VIDEO_FRAME_PLANE_DATA (&frame, p)
              + y * GST_VIDEO_FRAME_PLANE_STRIDE (&frame, p),
          gst_vkgdr_video_info_get_row_size (info, p));
  }
  gst_video_frame_unmap (&frame);
  return rows;
}

void
test_assert_same (GByteArray *got, GByteArray *expected)
{
  guint i;

  fail_unless_equals_int (got->len, expected->len);
  for (i = 0; i < got->len; i++)
    test_check_byte (i, got->data[i], expected->data[i]);
  g_byte_array_unref (got);
  g_byte_array_unref (expected);
}

/* --- errors and queries -------------------------------------------------- */

/* An appsrc sends its caps with its first buffer, which it takes from PAUSED
 * on.
 */
static void
feed (GstElement *pipeline)
{
  g_autoptr (GstElement) source =
      gst_bin_get_by_name (GST_BIN (pipeline), "feed");
  g_autoptr (GstBuffer) buffer = gst_buffer_new_allocate (NULL, 4608, NULL);
  GstFlowReturn flow;

  if (!source)
    return;
  gst_element_set_state (pipeline, GST_STATE_PAUSED);
  g_signal_emit_by_name (source, "push-buffer", buffer, &flow);
}

void
test_check_error (const TestError *row)
{
  g_autoptr (GstElement) pipeline = test_launch ("%s", row->pipeline);
  g_autoptr (GError) error = NULL;

  feed (pipeline);
  error = test_play_error_with (pipeline, row->parts);
  if (row->domain)
    fail_unless (g_error_matches (error, row->domain (), row->code),
        "%s, %d: %s", g_quark_to_string (error->domain), error->code,
        error->message);
}

static gboolean
is_ours (GstMessage *message)
{
  GstElementFactory *factory =
      gst_element_get_factory (GST_ELEMENT (GST_MESSAGE_SRC (message)));

  return g_strcmp0 (
             gst_plugin_feature_get_plugin_name (GST_PLUGIN_FEATURE (factory)),
             "vkgdr")
         == 0;
}

/* A sink that does not get to PLAYING posts no EOS. */
static GstPadProbeReturn
post_end (GstPad *pad, GstPadProbeInfo *info, gpointer pipeline)
{
  if (GST_EVENT_TYPE (GST_PAD_PROBE_INFO_EVENT (info)) == GST_EVENT_EOS)
    gst_element_post_message (
        pipeline, gst_message_new_application (
                      NULL, gst_structure_new_empty ("end-of-stream")));
  return GST_PAD_PROBE_OK;
}

void
test_check_one_error (const TestError *row)
{
  g_autoptr (GstElement) pipeline =
      test_launch ("%s ! fakesink name=sink", row->pipeline);
  g_autoptr (GstBus) bus = gst_element_get_bus (pipeline);
  GstClockTime patience = 20 * GST_SECOND;
  guint n = 0, n_ours = 0, is_first_ours = 0;
  GstMessage *message;

  gst_pipeline_set_auto_flush_bus (GST_PIPELINE (pipeline), FALSE);
  test_add_probe (pipeline, "sink", "sink", GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM,
      post_end, pipeline);
  feed (pipeline);
  gst_element_set_state (pipeline, GST_STATE_PLAYING);
  while ((message = gst_bus_timed_pop_filtered (
              bus, patience, GST_MESSAGE_ERROR | GST_MESSAGE_APPLICATION))) {
    if (patience > 0
        && (GST_MESSAGE_TYPE (message) == GST_MESSAGE_APPLICATION
            || GST_OBJECT_FLAG_IS_SET (
                GST_MESSAGE_SRC (message), GST_ELEMENT_FLAG_SOURCE))) {
      /* The source has ended the stream. */
      gst_element_set_state (pipeline, GST_STATE_NULL);
      patience = 0;
    }
    if (GST_MESSAGE_TYPE (message) == GST_MESSAGE_ERROR) {
      g_autoptr (GError) error = NULL;

      gst_message_parse_error (message, &error, NULL);
      if (n++ == 0) {
        test_assert_contains (error->message, row->parts);
        is_first_ours = is_ours (message);
      }
      n_ours += is_ours (message);
    }
    gst_message_unref (message);
  }
  fail_unless (n > 0 && n_ours == is_first_ours, "%s: %u errors, %u of vkgdr",
      row->pipeline, n, n_ours);
  gst_element_set_state (pipeline, GST_STATE_NULL);
}

void
test_check_query (const TestQuery *row)
{
  g_autoptr (GstHarness) h = harness_of (row->elements);
  g_autoptr (GstCaps) caps = gst_caps_from_string (row->caps), answer = NULL;

  fail_unless (caps != NULL);
  answer = gst_pad_peer_query_caps (h->srcpad, caps);
  fail_unless (gst_caps_is_empty (answer) != row->is_accepted, "%s: %s",
      row->elements, gst_caps_to_string (answer));
  fail_unless (
      gst_pad_peer_query_accept_caps (h->srcpad, caps) == row->is_accepted,
      "%s: %s", row->elements, row->caps);
}

/* --- messages ------------------------------------------------------------ */

GstBus *
test_add_bus (GstElement *element)
{
  GstBus *bus = gst_bus_new ();

  gst_element_set_bus (element, bus);
  return bus;
}

void
test_play_count (GstElement *pipeline, const gchar *parts, guint expected)
{
  g_autoptr (GstBus) bus = gst_element_get_bus (pipeline);
  g_autoptr (GString) all = g_string_new (NULL);
  guint n = 0;

  gst_element_set_state (pipeline, GST_STATE_PLAYING);
  for (;;) {
    g_autoptr (GstMessage) message =
        gst_bus_timed_pop_filtered (bus, 50 * GST_SECOND,
            GST_MESSAGE_EOS | GST_MESSAGE_INFO | GST_MESSAGE_WARNING
                | GST_MESSAGE_ERROR);
    g_autofree gchar *text = NULL;

    fail_unless (message != NULL, "no end; the messages: %s", all->str);
    if (GST_MESSAGE_TYPE (message) == GST_MESSAGE_EOS)
      break;
    text = test_message_text (message);
    fail_unless (GST_MESSAGE_TYPE (message) != GST_MESSAGE_ERROR, "%s", text);
    n += test_contains (text, parts);
    g_string_append_printf (all, "%s; ", text);
  }
  fail_unless (n == expected, "%u messages with \"%s\", not %u; all: %s", n,
      parts, expected, all->str);
  gst_element_set_state (pipeline, GST_STATE_NULL);
}

static gboolean
tells_of_the_device (const gchar *text)
{
  return strstr (text, "No NVIDIA GPU") || strstr (text, "Buffers are staged");
}

/* Returns the text of the next message of @type within @ms milliseconds, which
 * the caller frees, or NULL. */
static gchar *
pop_message (GstBus *bus, GstMessageType type, guint ms)
{
  GstMessageType types =
      type == GST_MESSAGE_INFO ? type | GST_MESSAGE_WARNING : type;

  for (;;) {
    g_autoptr (GstMessage) message =
        gst_bus_timed_pop_filtered (bus, ms * GST_MSECOND, types);
    g_autoptr (GError) error = NULL;

    if (!message)
      return NULL;
    gst_structure_get (gst_message_get_structure (message), "gerror",
        G_TYPE_ERROR, &error, NULL);
    fail_unless (g_utf8_validate (error->message, -1, NULL));
    if (tells_of_the_device (error->message))
      continue;
    fail_unless (
        GST_MESSAGE_TYPE (message) == type, "warning: %s", error->message);
    return g_strdup (error->message);
  }
}

void
test_assert_message (GstBus *bus, GstMessageType type, const gchar *parts)
{
  g_autofree gchar *text = pop_message (bus, type, 20000);

  fail_unless (text != NULL, "there is no message");
  test_assert_contains (text, parts);
}

void
test_assert_no_message (GstBus *bus, GstMessageType type)
{
  g_autofree gchar *text = pop_message (bus, type, 0);

  fail_unless (text == NULL, "%s", text);
}
