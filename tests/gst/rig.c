/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * rig.c: see rig.h
 */

#include <glib/gstdio.h>
#include <unistd.h>

#include "rig.h"

/* The compiler is held for HOLD_SECONDS at most, so that a setter or a frame
 * that waits for it does not hang. A setter or a frame may take the time
 * PATIENCE. Usually it takes much less, even on a busy machine. */
#define HOLD_SECONDS 10
#define PATIENCE (HOLD_SECONDS / 2 * G_TIME_SPAN_SECOND)

/* Frames that are pushed while the compiler is held. */
#define N_HELD 5

void
rig_init (Rig *rig, const gchar *properties)
{
  g_autofree gchar *text = g_strdup_printf (
      "vkgdrupload ! cudafilter %s ! vkgdrdownload", properties);

  *rig = (Rig){ .harness = gst_harness_new_parse (text) };
  rig->filter = gst_harness_find_element (rig->harness, "cudafilter");
  rig->bus = test_add_bus (rig->harness->element);
  /* A harness starts its elements, but most tests have to set properties before
   * that. */
  gst_element_set_state (rig->harness->element, GST_STATE_NULL);
}

void
rig_start (Rig *rig, const gchar *caps)
{
  gst_element_set_state (rig->harness->element, GST_STATE_PLAYING);
  gst_harness_set_src_caps_str (rig->harness, caps);
  rig->is_started = TRUE;
}

void
rig_clear (Rig *rig)
{
  gst_element_set_bus (rig->harness->element, NULL);
  gst_object_unref (rig->bus);
  gst_object_unref (rig->filter);
  gst_harness_teardown (rig->harness);
}

static GstBuffer *
make_frame (Rig *rig, const guint8 *data, gsize size)
{
  GstBuffer *buffer = gst_buffer_new_memdup (data, size);

  GST_BUFFER_PTS (buffer) = rig->n++ * GST_SECOND;
  return buffer;
}

static const guint8 two_pixels[8] = { 100, 60, 20, 255, 100, 60, 20, 255 };

guint8
rig_red_now (Rig *rig)
{
  gint64 start = g_get_monotonic_time (), time;
  g_autoptr (GstBuffer) buffer = gst_harness_push_and_pull (
      rig->harness, make_frame (rig, two_pixels, sizeof (two_pixels)));
  guint8 red;

  time = g_get_monotonic_time () - start;
  fail_unless (!rig->is_held || time < PATIENCE,
      "a frame waited for %" G_GINT64_FORMAT " us", time);
  fail_unless (buffer != NULL);
  fail_unless_equals_int (gst_buffer_extract (buffer, 0, &red, 1), 1);
  return red;
}

/* --- the compiler -------------------------------------------------------- */

void
rig_use_slow_compiler (void)
{
  g_autofree gchar *text =
      g_strdup_printf ("#!/bin/sh\n"
                       "cd '%s' || exit\n"
                       "n=0\n"
                       "while test -e hold && test $n -lt %d; do\n"
                       "  : > held\n"
                       "  sleep 0.1\n"
                       "  n=$((n + 1))\n"
                       "done\n"
                       "cd - > /dev/null && exec %s \"$@\"\n",
          folder, 10 * HOLD_SECONDS,
          g_getenv ("SOFTCUDA_CXX") ? g_getenv ("SOFTCUDA_CXX") : "c++");
  g_autofree gchar *path = folder_write ("c++", text);

  fail_unless_equals_int (g_chmod (path, 0755), 0);
  g_setenv ("SOFTCUDA_CXX", path, TRUE);
  g_setenv ("VKGDR_CACHE_DIR", folder, TRUE);
}

static void
hold_compiler (Rig *rig)
{
  g_free (folder_write ("hold", ""));
  rig->is_held = TRUE;
}

static void
release_compiler (Rig *rig)
{
  g_autofree gchar *path = g_build_filename (folder, "hold", NULL);

  fail_unless_equals_int (g_unlink (path), 0);
  rig->is_held = FALSE;
}

static void
wait_until_held (void)
{
  g_autofree gchar *path = g_build_filename (folder, "held", NULL);

  test_wait_for (g_file_test (path, G_FILE_TEST_EXISTS));
}

/* --- steps --------------------------------------------------------------- */

static void
make_link (const gchar *name, const gchar *target)
{
  g_autofree gchar *path = g_build_filename (folder, name, NULL),
                   *spare = g_strconcat (path, ".new", NULL);

  fail_unless_equals_int (symlink (target, spare), 0);
  fail_unless_equals_int (g_rename (spare, path), 0);
}

static void
set_property (GObject *object, const gchar *name, const gchar *value)
{
  GParamSpec *spec =
      g_object_class_find_property (G_OBJECT_GET_CLASS (object), name);
  GString *text = g_string_new (value);

  fail_unless (spec != NULL, "%s", name);
  if (folder)
    g_string_replace (text, "FOLDER", folder, 0);
  if (!value || G_IS_PARAM_SPEC_STRING (spec))
    g_object_set (object, name, value ? text->str : NULL, NULL);
  else
    gst_util_set_object_arg (object, name, text->str);
  g_string_free (text, TRUE);
}

void
rig_set (Rig *rig, const gchar *const *set)
{
  GObject *filter = G_OBJECT (rig->filter);
  gint64 start = g_get_monotonic_time ();

  g_object_freeze_notify (filter);
  for (; *set; set += 2)
    set_property (filter, set[0], set[1]);
  g_object_thaw_notify (filter);
  fail_unless (!rig->is_held || g_get_monotonic_time () - start < PATIENCE,
      "a setter waited");
}

static void
check_failure (Rig *rig, const gchar *parts)
{
  if (rig->is_started) {
    GstBuffer *frame = make_frame (rig, two_pixels, sizeof (two_pixels));

    test_settle (rig->filter);
    fail_unless_equals_int (
        gst_harness_push (rig->harness, frame), GST_FLOW_ERROR);
  } else {
    gst_element_set_state (rig->harness->element, GST_STATE_PAUSED);
  }
  test_assert_message (rig->bus, GST_MESSAGE_ERROR, parts);
  gst_element_set_state (rig->harness->element, GST_STATE_NULL);
  rig->is_started = FALSE;
}

static void
check_red (Rig *rig, guint8 red)
{
  guint n = rig->is_held ? N_HELD : 1;

  if (!rig->is_held)
    test_settle (rig->filter);
  while (n-- > 0)
    fail_unless_equals_int (rig_red_now (rig), red);
  rig->red = red;
}

static void
check_becomes (Rig *rig, guint8 red)
{
  guint8 got;

  while ((got = rig_red_now (rig)) != red) { /* the test has a time limit */
    fail_unless_equals_int (got, rig->red);
    g_usleep (5000);
  }
  rig->red = red;
}

static void
check_params (Rig *rig, const gchar *text)
{
  g_autoptr (GstStructure) wanted = gst_structure_from_string (text, NULL);
  g_autoptr (GstStructure) got = NULL;

  test_settle (rig->filter);
  g_object_get (rig->filter, "params", &got, NULL);
  fail_unless (got && gst_structure_is_equal (got, wanted),
      "%" GST_PTR_FORMAT " is not %s", got, text);
}

static void
check_caps (Rig *rig, const gchar *text)
{
  g_autofree gchar *whole = g_strconcat ("video/x-raw,", text, NULL);
  g_autoptr (GstCaps) wanted = gst_caps_from_string (whole);
  g_autoptr (GstCaps) got = gst_pad_get_current_caps (rig->harness->sinkpad);

  fail_unless (gst_caps_is_subset (got, wanted), "%" GST_PTR_FORMAT, got);
}

void
rig_step (Rig *rig, const Step *step)
{
  const gchar *const *write;

  if (step->stops) {
    gst_element_set_state (rig->harness->element, GST_STATE_NULL);
    rig->is_started = FALSE;
  }
  if (step->compiler == HOLD)
    hold_compiler (rig);
  for (write = step->write; *write; write += 2)
    g_free (folder_write (write[0], write[1]));
  if (step->link[0])
    make_link (step->link[0], step->link[1]);
  g_usleep (step->rest * 1000);
  rig_set (rig, step->set);
  if (step->fails) {
    check_failure (rig, step->fails);
    return;
  }
  if (!rig->is_started)
    rig_start (rig, RGBA_2X1);
  if (step->compiler == HOLD)
    wait_until_held ();
  if (step->red)
    check_red (rig, step->red);
  if (step->compiler == RELEASE)
    release_compiler (rig);
  if (step->becomes)
    check_becomes (rig, step->becomes);
  if (step->warns)
    test_assert_message (rig->bus, GST_MESSAGE_WARNING, step->warns);
  if (step->tells)
    test_assert_message (rig->bus, GST_MESSAGE_INFO, step->tells);
  if (step->params)
    check_params (rig, step->params);
  if (step->caps)
    check_caps (rig, step->caps);
  test_assert_no_message (rig->bus, GST_MESSAGE_WARNING | GST_MESSAGE_INFO);
}

void
rig_play (const Step *steps, guint n)
{
  g_auto (Rig) rig = { 0 };
  guint i;

  rig_init (&rig, "name=f");
  for (i = 0; i < n; i++) {
    GST_INFO ("step %u", i);
    rig_step (&rig, &steps[i]);
  }
}
