/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * rig.c: see rig.h
 */

#include <string.h>

#include "rig.h"
#include "util.h"

void
rig_init (Rig *rig, const gchar *properties)
{
  g_autofree gchar *text = g_strdup_printf (
      "vkgdrupload ! cudafilter %s ! vkgdrdownload", properties);

  rig->harness = gst_harness_new_parse (text);
  rig->filter = gst_harness_find_element (rig->harness, "cudafilter");
  rig->bus = gst_bus_new ();
  rig->n = 0;
  gst_element_set_bus (rig->harness->element, rig->bus);
  /* A harness starts its elements, but most tests have to set properties before
   * that. */
  gst_element_set_state (rig->harness->element, GST_STATE_NULL);
}

void
rig_start (Rig *rig, const gchar *caps)
{
  gst_element_set_state (rig->harness->element, GST_STATE_PLAYING);
  gst_harness_set_src_caps_str (rig->harness, caps);
}

void
rig_clear (Rig *rig)
{
  gst_element_set_bus (rig->harness->element, NULL);
  gst_object_unref (rig->bus);
  gst_object_unref (rig->filter);
  gst_harness_teardown (rig->harness);
}

/* Pushes a copy of @data. Returns the frame that comes out. */
static GstBuffer *
push (Rig *rig, const guint8 *data, gsize size)
{
  GstBuffer *buffer = gst_buffer_new_memdup (data, size);

  GST_BUFFER_PTS (buffer) = rig->n++ * GST_SECOND;
  buffer = gst_harness_push_and_pull (rig->harness, buffer);
  fail_unless (buffer != NULL);
  return buffer;
}

guint8 *
rig_push (Rig *rig, const guint8 *data, gsize size)
{
  guint8 *out = g_malloc (size);
  g_autoptr (GstBuffer) buffer = NULL;

  test_settle (rig->filter);
  buffer = push (rig, data, size);
  fail_unless_equals_int (gst_buffer_extract (buffer, 0, out, size), size);
  return out;
}

guint8
rig_red_now (Rig *rig)
{
  const guint8 data[8] = { 100, 60, 20, 255, 100, 60, 20, 255 };
  g_autoptr (GstBuffer) buffer = push (rig, data, sizeof (data));
  guint8 red;

  fail_unless_equals_int (gst_buffer_extract (buffer, 0, &red, 1), 1);
  return red;
}

guint8
rig_red (Rig *rig)
{
  test_settle (rig->filter);
  return rig_red_now (rig);
}

void
rig_set_params (Rig *rig, const gchar *text)
{
  GstStructure *params = text ? gst_structure_from_string (text, NULL) : NULL;

  fail_unless (!text || params != NULL, "%s", text);
  g_object_set (rig->filter, "params", params, NULL);
  g_clear_pointer (&params, gst_structure_free);
}

gchar *
rig_get_params (Rig *rig)
{
  GstStructure *params = NULL;
  gchar *text;

  g_object_get (rig->filter, "params", &params, NULL);
  text = params ? gst_structure_to_string (params) : NULL;
  g_clear_pointer (&params, gst_structure_free);
  return text;
}

gchar *
rig_wait_message (Rig *rig, GstMessageType type, guint ms)
{
  /* A warning is not skipped while the caller waits for a message of the type
   * info. */
  GstMessageType types =
      type == GST_MESSAGE_INFO ? type | GST_MESSAGE_WARNING : type;
  gchar *text = NULL;

  while (!text) {
    g_autoptr (GstMessage) message =
        gst_bus_timed_pop_filtered (rig->bus, ms * GST_MSECOND, types);
    g_autoptr (GError) error = NULL;

    if (!message)
      return NULL;
    if (GST_MESSAGE_TYPE (message) == GST_MESSAGE_WARNING)
      gst_message_parse_warning (message, &error, NULL);
    else if (type == GST_MESSAGE_INFO)
      gst_message_parse_info (message, &error, NULL);
    else
      gst_message_parse_error (message, &error, NULL);
    /* Messages about the device are ignored. */
    if (!strstr (error->message, "No NVIDIA GPU")
        && !strstr (error->message, "Buffers are staged")) {
      fail_unless (
          GST_MESSAGE_TYPE (message) == type, "warning: %s", error->message);
      text = g_strdup (error->message);
    }
  }
  return text;
}

void
rig_assert_message (Rig *rig, GstMessageType type, ...)
{
  g_autofree gchar *text = rig_wait_message (rig, type, 20000);
  const gchar *word;
  va_list args;

  fail_unless (text != NULL, "there is no message");
  va_start (args, type);
  while ((word = va_arg (args, const gchar *)))
    fail_unless (
        strstr (text, word) != NULL, "\"%s\" lacks \"%s\"", text, word);
  va_end (args);
}

void
rig_assert_quiet (Rig *rig)
{
  gchar *text = rig_wait_message (rig, GST_MESSAGE_WARNING, 0);

  fail_unless (text == NULL, "%s", text);
}
