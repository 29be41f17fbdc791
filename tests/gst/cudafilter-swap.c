/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * cudafilter-swap.c: changes of cudafilter while it works: nobody waits for a
 * compiler, and a frame sees a kernel and its parameters together
 *
 * The software device's compiler is made slow by a script in its place.
 */

#include <glib/gstdio.h>
#include <gst/check/gstharness.h>

#include "slow.h"
#include "util.h"

#define CAPS "video/x-raw,format=RGBA,width=2,height=1,framerate=1/1"

/* How long the compiler takes, in milliseconds, and what a setter or a frame
 * may take meanwhile: far less, on a busy machine, too. */
#define COMPILER_TIME 3000
#define PATIENCE (COMPILER_TIME / 2)

typedef struct {
  gchar *folder; /* for the compiler, and the images */
  GstHarness *harness;
  GstElement *filter;
  GstBus *bus;
} Rig;

/* A compiler that waits for as long as there is the file "slow". */
static void
make_compiler (Rig *rig)
{
  gchar *path = g_build_filename (rig->folder, "c++", NULL);
  gchar *text = g_strdup_printf ("#!/bin/sh\n"
                                 "test -e '%s/slow' && sleep %d\n"
                                 "exec %s \"$@\"\n",
      rig->folder, COMPILER_TIME / 1000,
      g_getenv ("SOFTCUDA_CXX") ? g_getenv ("SOFTCUDA_CXX") : "c++");

  fail_unless (g_file_set_contents (path, text, -1, NULL));
  fail_unless_equals_int (g_chmod (path, 0755), 0);
  g_setenv ("SOFTCUDA_CXX", path, TRUE);
  g_setenv ("VKGDR_CACHE_DIR", rig->folder, TRUE);
  g_free (text);
  g_free (path);
}

static void
set_slow (Rig *rig)
{
  gchar *path = g_build_filename (rig->folder, "slow", NULL);

  fail_unless (g_file_set_contents (path, "", 0, NULL));
  g_free (path);
}

static void
rig_init (Rig *rig, const gchar *properties)
{
  gchar *text = g_strdup_printf (
      "vkgdrupload ! cudafilter %s ! vkgdrdownload", properties);

  rig->folder = g_dir_make_tmp ("vkgdr-swap-XXXXXX", NULL);
  make_compiler (rig);
  rig->harness = gst_harness_new_parse (text);
  rig->filter = gst_harness_find_element (rig->harness, "cudafilter");
  rig->bus = gst_bus_new ();
  gst_element_set_bus (rig->harness->element, rig->bus);
  gst_harness_set_src_caps_str (rig->harness, CAPS);
  g_free (text);
}

static void
rig_clear (Rig *rig)
{
  const gchar *name;
  GDir *dir;

  gst_element_set_bus (rig->harness->element, NULL);
  gst_object_unref (rig->bus);
  gst_object_unref (rig->filter);
  gst_harness_teardown (rig->harness);
  dir = g_dir_open (rig->folder, 0, NULL);
  while ((name = g_dir_read_name (dir))) {
    gchar *path = g_build_filename (rig->folder, name, NULL);

    g_unlink (path);
    g_free (path);
  }
  g_dir_close (dir);
  g_rmdir (rig->folder);
  g_free (rig->folder);
}

/* What becomes of the red of a pixel of 100, 60, 20, 255. */
static guint8
push_first (Rig *rig)
{
  const guint8 data[8] = { 100, 60, 20, 255, 100, 60, 20, 255 };
  GstBuffer *buffer = gst_harness_push_and_pull (
      rig->harness, gst_buffer_new_memdup (data, sizeof (data)));
  guint8 red;

  fail_unless (buffer != NULL);
  fail_unless_equals_int (gst_buffer_extract (buffer, 0, &red, 1), 1);
  gst_buffer_unref (buffer);
  return red;
}

/* The same, and that it does not take long. */
static guint8
push (Rig *rig)
{
  gint64 start = g_get_monotonic_time ();
  guint8 red = push_first (rig);

  fail_unless (
      g_get_monotonic_time () - start < PATIENCE * G_TIME_SPAN_MILLISECOND,
      "a frame waited for %" G_GINT64_FORMAT " us",
      g_get_monotonic_time () - start);
  return red;
}

/* Frames go on with @from until there is one of @to. */
static void
assert_becomes (Rig *rig, guint8 from, guint8 to)
{
  gint64 deadline = g_get_monotonic_time () + 60 * G_TIME_SPAN_SECOND;
  guint8 red;

  while ((red = push (rig)) != to) {
    fail_unless_equals_int (red, from);
    fail_unless (g_get_monotonic_time () < deadline, "it does not change");
    g_usleep (5000);
  }
}

static void
assert_quick (gint64 start, const gchar *what)
{
  gint64 time = g_get_monotonic_time () - start;

  fail_unless (time < PATIENCE * G_TIME_SPAN_MILLISECOND,
      "%s took %" G_GINT64_FORMAT " us", what, time);
}

#define KERNEL(params, red) \
  "__global__ void own (VkgdrFrame in, VkgdrFrame out" params ")\n" \
  "{\n" \
  "  int x = blockIdx.x * blockDim.x + threadIdx.x;\n" \
  "  int y = blockIdx.y * blockDim.y + threadIdx.y;\n" \
  "  if (x < out.width && y < out.height)\n" \
  "    vkgdr_put (out, 0, x, y, " red ");\n" \
  "}\n"

/* A new expression is compiled beside the stream. */
GST_START_TEST (test_frames_do_not_wait)
{
  Rig rig;

  if (!test_is_software ())
    return;
  rig_init (&rig, "pixel=rgba.r=50/255.0f");
  fail_unless_equals_int (push_first (&rig), 50);
  set_slow (&rig);
  g_object_set (rig.filter, "pixel", "rgba.r = 60 / 255.0f", NULL);
  fail_unless_equals_int (push (&rig), 50);
  assert_becomes (&rig, 50, 60);
  rig_clear (&rig);
}
GST_END_TEST;

/* Every setter returns at once, while the compiler is busy. */
GST_START_TEST (test_setters_do_not_wait)
{
  GstStructure *params = gst_structure_from_string ("params,n=(int)1", NULL);
  GstCaps *caps = gst_caps_from_string ("video/x-raw,format=RGBA");
  gchar *path;
  gint64 start;
  Rig rig;

  if (!test_is_software ())
    return;
  rig_init (&rig, "name=f");
  path = g_build_filename (rig.folder, "kernel.cu", NULL);
  fail_unless (g_file_set_contents (path, KERNEL ("", "7"), -1, NULL));
  g_object_set (rig.filter, "location", path, "watch", TRUE, NULL);
  fail_unless_equals_int (push_first (&rig), 7);
  set_slow (&rig);
  fail_unless (g_file_set_contents (path, KERNEL ("", "8"), -1, NULL));
  /* The watch looks 100 ms after the last change. */
  g_usleep (COMPILER_TIME * 1000 / 6);
  start = g_get_monotonic_time ();
  g_object_set (rig.filter, "watch", FALSE, NULL);
  assert_quick (start, "watch");
  g_object_set (rig.filter, "location", NULL, "source",
      KERNEL (", int n", "9 + n"), "params", params, "entry", "own", "block",
      "32x1", "grid", "", "output-caps", caps, "kernel", "copy", NULL);
  assert_quick (start, "all the others");
  g_object_set (rig.filter, "watch", TRUE, NULL);
  assert_quick (start, "watch again");
  while (push (&rig) != 10)
    g_usleep (5000);
  gst_caps_unref (caps);
  gst_structure_free (params);
  g_free (path);
  rig_clear (&rig);
}
GST_END_TEST;

/* A kernel and its parameters of one g_object_set() come with the same frame,
 * also if the list of parameters is the same; new values alone come with the
 * next frame. */
GST_START_TEST (test_pairs_are_whole)
{
  GstStructure *one = gst_structure_from_string ("params,n=(int)1", NULL);
  GstStructure *two = gst_structure_from_string ("params,n=(int)2", NULL);
  guint i;
  Rig rig;

  if (!test_is_software ())
    return;
  rig_init (&rig, "name=f");
  g_object_set (
      rig.filter, "source", KERNEL (", int n", "10 + n"), "params", one, NULL);
  fail_unless_equals_int (push_first (&rig), 11);
  set_slow (&rig);
  for (i = 0; i < 2; i++) {
    g_object_set (rig.filter, "source", KERNEL (", int n", "20 + n"), "params",
        two, NULL);
    assert_becomes (&rig, 11, 22);
    g_object_set (rig.filter, "source", KERNEL (", int n", "10 + n"), "params",
        one, NULL);
    assert_becomes (&rig, 22, 11);
  }
  test_settle (rig.filter);
  g_object_set (rig.filter, "params", two, NULL);
  fail_unless_equals_int (push (&rig), 12);
  gst_structure_free (two);
  gst_structure_free (one);
  rig_clear (&rig);
}
GST_END_TEST;

/* A value that is set while the kernel is compiled is not lost. */
GST_START_TEST (test_values_set_meanwhile)
{
  GstStructure *one = gst_structure_from_string ("params,n=1,m=1", NULL);
  GstStructure *two = gst_structure_from_string ("params,n=2,m=2", NULL);
  Rig rig;

  if (!test_is_software ())
    return;
  rig_init (&rig, "name=f");
  g_object_set (rig.filter, "source", KERNEL (", int n, int m", "10 * n + m"),
      "params", one, NULL);
  fail_unless_equals_int (push_first (&rig), 11);
  set_slow (&rig);
  g_object_set (rig.filter, "source",
      KERNEL (", int n, int m", "100 + 10 * n + m"), "params", two, NULL);
  gst_child_proxy_set (GST_CHILD_PROXY (rig.filter), "params::m", 5, NULL);
  assert_becomes (&rig, 15, 125);
  gst_structure_free (two);
  gst_structure_free (one);
  rig_clear (&rig);
}
GST_END_TEST;

/* What is asked for last runs in the end. */
GST_START_TEST (test_the_last_one_counts)
{
  guint i;
  Rig rig;

  if (!test_is_software ())
    return;
  rig_init (&rig, "kernel=copy");
  fail_unless_equals_int (push_first (&rig), 100);
  for (i = 0; i < 20; i++) {
    gchar *pixel = g_strdup_printf ("rgba.r = %u / 255.0f", 10 + i);

    g_object_set (rig.filter, "pixel", pixel, NULL);
    push (&rig);
    g_free (pixel);
  }
  test_settle (rig.filter);
  fail_unless_equals_int (push (&rig), 29);
  rig_clear (&rig);
}
GST_END_TEST;

static GstPadProbeReturn
note_caps (GstPad *pad, GstPadProbeInfo *info, gpointer user_data)
{
  if (GST_EVENT_TYPE (GST_PAD_PROBE_INFO_EVENT (info)) == GST_EVENT_CAPS)
    (*(guint *) user_data)++;
  return GST_PAD_PROBE_OK;
}

/* output-caps and the kernel that can make them are one change. */
GST_START_TEST (test_output_caps_belong_to_the_pair)
{
  GstCaps *caps = gst_caps_from_string ("video/x-raw,format=GRAY8");
  GstMessage *message;
  guint n = 0;
  Rig rig;

  if (!test_is_software ())
    return;
  rig_init (&rig, "kernel=blur");
  push_first (&rig);
  gst_pad_add_probe (rig.harness->sinkpad, GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM,
      note_caps, &n, NULL);
  set_slow (&rig);
  g_object_set (rig.filter, "output-caps", caps, "kernel", "convert", NULL);
  while (n == 0) {
    push (&rig);
    g_usleep (5000);
  }
  message = gst_bus_pop_filtered (rig.bus, GST_MESSAGE_ERROR);
  fail_unless (message == NULL);
  gst_caps_unref (caps);
  rig_clear (&rig);
}
GST_END_TEST;

static Suite *
cudafilter_swap_suite (void)
{
  Suite *suite = suite_create ("cudafilter-swap");
  TCase *tc = tcase_create ("general");

  suite_add_tcase (suite, tc);
  tcase_set_timeout (tc, 120);
  tcase_add_test (tc, test_frames_do_not_wait);
  tcase_add_test (tc, test_setters_do_not_wait);
  tcase_add_test (tc, test_pairs_are_whole);
  tcase_add_test (tc, test_values_set_meanwhile);
  tcase_add_test (tc, test_the_last_one_counts);
  tcase_add_test (tc, test_output_caps_belong_to_the_pair);
  return suite;
}

GST_CHECK_MAIN (cudafilter_swap);
