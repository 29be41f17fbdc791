/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * cudafilter-swap.c: tests of changes of cudafilter's properties while it runs:
 * neither frames nor setters wait for a compiler, and each frame is processed
 * by a kernel with the parameters that belong to it
 *
 * A script replaces the compiler of the software device. It holds a compilation
 * until the test releases it.
 */

#include <glib/gstdio.h>

#include "folder.h"
#include "rig.h"
#include "util.h"

/* The compiler is held for HOLD_SECONDS at most, so that a setter or a frame
 * that waits for it does not hang. A setter or a frame may take the time
 * PATIENCE. Usually it takes much less, even on a busy machine. */
#define HOLD_SECONDS 10
#define PATIENCE (HOLD_SECONDS / 2 * G_TIME_SPAN_SECOND)

/* Frames that are pushed while the compiler is held. */
#define N_HELD 5

/* The state of a test. */
typedef struct {
  Rig rig;
  gchar *folder; /* for the compiler and the images */
} SlowRig;

/* Makes a compiler that waits as long as the file "hold" exists. If it waits,
 * it makes the file "held". */
static void
make_compiler (SlowRig *slow)
{
  g_autofree gchar *path = g_build_filename (slow->folder, "c++", NULL);
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
          slow->folder, 10 * HOLD_SECONDS,
          g_getenv ("SOFTCUDA_CXX") ? g_getenv ("SOFTCUDA_CXX") : "c++");

  fail_unless (g_file_set_contents (path, text, -1, NULL));
  fail_unless_equals_int (g_chmod (path, 0755), 0);
  g_setenv ("SOFTCUDA_CXX", path, TRUE);
  g_setenv ("VKGDR_CACHE_DIR", slow->folder, TRUE);
}

static void
hold_compiler (SlowRig *slow)
{
  g_autofree gchar *path = g_build_filename (slow->folder, "hold", NULL);

  fail_unless (g_file_set_contents (path, "", 0, NULL));
}

static void
release_compiler (SlowRig *slow)
{
  g_autofree gchar *path = g_build_filename (slow->folder, "hold", NULL);

  fail_unless_equals_int (g_unlink (path), 0);
}

/* Waits until a compiler runs, and is held. */
static void
wait_held (SlowRig *slow)
{
  gint64 deadline = g_get_monotonic_time () + 60 * G_TIME_SPAN_SECOND;
  g_autofree gchar *path = g_build_filename (slow->folder, "held", NULL);

  while (!g_file_test (path, G_FILE_TEST_EXISTS)) {
    fail_unless (g_get_monotonic_time () < deadline, "no compiler runs");
    g_usleep (5000);
  }
}

static void
slow_init (SlowRig *slow, const gchar *properties)
{
  slow->folder = g_dir_make_tmp ("vkgdr-swap-XXXXXX", NULL);
  make_compiler (slow);
  rig_init (&slow->rig, properties);
  rig_start (&slow->rig, RGBA_2X1);
}

static void
slow_clear (SlowRig *slow)
{
  if (!slow->folder) /* the device is not the software device */
    return;
  rig_clear (&slow->rig);
  folder_remove (slow->folder);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (SlowRig, slow_clear)

/* Pushes a frame, which must not take long. Returns a byte of the result. */
static guint8
push (SlowRig *slow)
{
  gint64 start = g_get_monotonic_time ();
  guint8 red = rig_red_now (&slow->rig);

  fail_unless (g_get_monotonic_time () - start < PATIENCE,
      "a frame waited for %" G_GINT64_FORMAT " us",
      g_get_monotonic_time () - start);
  return red;
}

/* Pushes frames while the compiler is held, all with the result @from, and
 * releases the compiler. */
static void
assert_stays (SlowRig *slow, guint8 from)
{
  guint i;

  for (i = 0; i < N_HELD; i++)
    fail_unless_equals_int (push (slow), from);
  release_compiler (slow);
}

/* Pushes frames until the result changes from @from to @to. There must be no
 * other result. */
static void
assert_becomes (SlowRig *slow, guint8 from, guint8 to)
{
  gint64 deadline = g_get_monotonic_time () + 60 * G_TIME_SPAN_SECOND;
  guint8 red;

  while ((red = push (slow)) != to) {
    fail_unless_equals_int (red, from);
    fail_unless (g_get_monotonic_time () < deadline, "it does not change");
    g_usleep (5000);
  }
}

static void
assert_quick (gint64 start, const gchar *what)
{
  gint64 time = g_get_monotonic_time () - start;

  fail_unless (time < PATIENCE, "%s took %" G_GINT64_FORMAT " us", what, time);
}

TEST_PARALLEL (2);

/* A new expression is compiled while frames pass. */
TEST (frames_do_not_wait)
{
  g_auto (SlowRig) slow = { { 0 } };

  if (!test_is_software ())
    return;
  slow_init (&slow, "pixel=rgba.r=50/255.0f");
  fail_unless_equals_int (rig_red_now (&slow.rig), 50);
  hold_compiler (&slow);
  g_object_set (slow.rig.filter, "pixel", "rgba.r = 60 / 255.0f", NULL);
  wait_held (&slow);
  assert_stays (&slow, 50);
  assert_becomes (&slow, 50, 60);
}

/* Setters return at once while the compiler is busy. */
TEST (setters_do_not_wait)
{
  g_autoptr (GstStructure) params =
      gst_structure_from_string ("params,n=(int)1", NULL);
  g_autoptr (GstCaps) caps = gst_caps_from_string ("video/x-raw,format=RGBA");
  g_autofree gchar *path = NULL;
  gint64 start;
  g_auto (SlowRig) slow = { { 0 } };

  if (!test_is_software ())
    return;
  slow_init (&slow, "name=f");
  path = g_build_filename (slow.folder, "kernel.cu", NULL);
  fail_unless (g_file_set_contents (path, KERNEL ("", "7"), -1, NULL));
  g_object_set (slow.rig.filter, "location", path, "watch", TRUE, NULL);
  fail_unless_equals_int (rig_red_now (&slow.rig), 7);
  hold_compiler (&slow);
  fail_unless (g_file_set_contents (path, KERNEL ("", "8"), -1, NULL));
  wait_held (&slow);
  start = g_get_monotonic_time ();
  g_object_set (slow.rig.filter, "watch", FALSE, NULL);
  assert_quick (start, "watch");
  g_object_set (slow.rig.filter, "location", NULL, "source",
      KERNEL (", int n", "9 + n * ONE"), "params", params, "entry", "own",
      "block", "32x1", "grid", "", "output-caps", caps, "kernel", "copy",
      "compiler-options", "-DONE=1", NULL);
  assert_quick (start, "all the others");
  g_object_set (slow.rig.filter, "watch", TRUE, NULL);
  assert_quick (start, "watch again");
  release_compiler (&slow);
  while (push (&slow) != 10)
    g_usleep (5000);
}

/* If a kernel and its parameters are set in one g_object_set(), they are used
 * for the same frame, even if the list of parameters stays the same. New values
 * alone are used for the next frame. */
TEST (pairs_are_whole)
{
  g_autoptr (GstStructure) one =
      gst_structure_from_string ("params,n=(int)1", NULL);
  g_autoptr (GstStructure) two =
      gst_structure_from_string ("params,n=(int)2", NULL);
  guint i;
  g_auto (SlowRig) slow = { { 0 } };

  if (!test_is_software ())
    return;
  slow_init (&slow, "name=f");
  g_object_set (slow.rig.filter, "source", KERNEL (", int n", "10 + n"),
      "params", one, NULL);
  fail_unless_equals_int (rig_red_now (&slow.rig), 11);
  hold_compiler (&slow);
  for (i = 0; i < 2; i++) {
    g_object_set (slow.rig.filter, "source", KERNEL (", int n", "20 + n"),
        "params", two, NULL);
    if (i == 0)
      assert_stays (&slow, 11);
    assert_becomes (&slow, 11, 22);
    g_object_set (slow.rig.filter, "source", KERNEL (", int n", "10 + n"),
        "params", one, NULL);
    assert_becomes (&slow, 22, 11);
  }
  test_settle (slow.rig.filter);
  g_object_set (slow.rig.filter, "params", two, NULL);
  fail_unless_equals_int (push (&slow), 12);
}

/* --- parameters that are not used yet ------------------------------------- */

/* Runs a kernel whose result is 10 + n, with n = 1. */
static void
slow_init_adder (SlowRig *slow)
{
  GstStructure *one = gst_structure_from_string ("params,n=(int)1", NULL);

  slow_init (slow, "name=f");
  g_object_set (slow->rig.filter, "source", KERNEL (", int n", "10 + n"),
      "params", one, NULL);
  gst_structure_free (one);
  fail_unless_equals_int (rig_red (&slow->rig), 11);
}

/* Parameters that wait for a compiler are not lost if another property is set
 * then. */
TEST (params_wait_for_the_compiler)
{
  g_auto (SlowRig) slow = { { 0 } };

  if (!test_is_software ())
    return;
  slow_init_adder (&slow);
  hold_compiler (&slow);
  g_object_set (slow.rig.filter, "source", KERNEL (", int n", "20 + n"), NULL);
  wait_held (&slow);
  rig_set_params (&slow.rig, "params,n=2");
  g_object_set (slow.rig.filter, "block", "16x16", NULL);
  release_compiler (&slow);
  fail_unless_equals_int (rig_red (&slow.rig), 22);
}

/* Parameters that wait for the next frame are not lost if another property is
 * set then. */
TEST_LOOP (params_wait_for_the_frame, 2)
{
  g_autoptr (GstCaps) caps = gst_caps_from_string ("video/x-raw,format=RGBA");
  g_autoptr (GstStructure) two =
      gst_structure_from_string ("params,n=(int)2", NULL);
  g_auto (SlowRig) slow = { { 0 } };

  if (!test_is_software ())
    return;
  slow_init_adder (&slow);
  g_object_set (slow.rig.filter, "params", two, "output-caps", caps, NULL);
  test_settle (slow.rig.filter);
  if (__i__)
    rig_set_params (&slow.rig, "params,n=3");
  g_object_set (slow.rig.filter, "output-caps", NULL, NULL);
  fail_unless_equals_int (rig_red (&slow.rig), __i__ ? 13 : 12);
}

/* Parameters that did not fit are used with the next kernel. */
TEST (params_wait_for_their_kernel)
{
  g_auto (SlowRig) slow = { { 0 } };

  if (!test_is_software ())
    return;
  slow_init_adder (&slow);
  rig_set_params (&slow.rig, "params,n=2,m=5");
  rig_assert_message (&slow.rig, GST_MESSAGE_WARNING, "parameter", NULL);
  fail_unless_equals_int (rig_red (&slow.rig), 11);
  g_object_set (slow.rig.filter, "source",
      KERNEL (", int n, int m", "100 + 10 * n + m"), NULL);
  fail_unless_equals_int (rig_red (&slow.rig), 125);
}

/* Parameters that wait for the next frame are not lost if the element is
 * stopped. */
TEST (params_wait_for_the_start)
{
  g_autoptr (GstStructure) two =
      gst_structure_from_string ("params,n=(int)2", NULL);
  g_auto (SlowRig) slow = { { 0 } };

  if (!test_is_software ())
    return;
  slow_init_adder (&slow);
  g_object_set (slow.rig.filter, "params", two, "block", "16x16", NULL);
  test_settle (slow.rig.filter);
  gst_element_set_state (slow.rig.harness->element, GST_STATE_NULL);
  rig_start (&slow.rig, RGBA_2X1);
  fail_unless_equals_int (rig_red (&slow.rig), 12);
}

/* --- the last properties -------------------------------------------------- */

/* The kernel that was set last runs in the end. */
TEST (the_last_kernel_runs)
{
  guint i;
  g_auto (SlowRig) slow = { { 0 } };

  if (!test_is_software ())
    return;
  slow_init (&slow, "kernel=copy");
  fail_unless_equals_int (rig_red_now (&slow.rig), 100);
  for (i = 0; i < 20; i++) {
    g_autofree gchar *pixel = g_strdup_printf ("rgba.r = %u / 255.0f", 10 + i);

    g_object_set (slow.rig.filter, "pixel", pixel, NULL);
    push (&slow);
  }
  test_settle (slow.rig.filter);
  fail_unless_equals_int (push (&slow), 29);
}

static GstPadProbeReturn
note_caps (GstPad *pad, GstPadProbeInfo *info, gpointer user_data)
{
  if (GST_EVENT_TYPE (GST_PAD_PROBE_INFO_EVENT (info)) == GST_EVENT_CAPS)
    (*(guint *) user_data)++;
  return GST_PAD_PROBE_OK;
}

/* output-caps and the kernel that can produce them take effect together. */
TEST (output_caps_belong_to_the_pair)
{
  g_autoptr (GstCaps) caps = gst_caps_from_string ("video/x-raw,format=GRAY8");
  GstMessage *message;
  guint n = 0, i;
  g_auto (SlowRig) slow = { { 0 } };

  if (!test_is_software ())
    return;
  slow_init (&slow, "kernel=blur");
  rig_red_now (&slow.rig);
  gst_pad_add_probe (slow.rig.harness->sinkpad,
      GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM, note_caps, &n, NULL);
  hold_compiler (&slow);
  g_object_set (
      slow.rig.filter, "output-caps", caps, "kernel", "convert", NULL);
  for (i = 0; i < N_HELD; i++)
    push (&slow);
  fail_unless_equals_int (n, 0);
  release_compiler (&slow);
  while (n == 0) {
    push (&slow);
    g_usleep (5000);
  }
  message = gst_bus_pop_filtered (slow.rig.bus, GST_MESSAGE_ERROR);
  fail_unless (message == NULL);
}
