/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * cudafilter-swap.c: tests of changes of cudafilter's properties while it runs:
 * neither frames nor setters wait for a compiler, and each frame is processed
 * by a kernel with the parameters that belong to it
 *
 * A script replaces the compiler of the software device. It holds a compilation
 * until the test releases it.
 */

#include "rig.h"

/* Kernels whose result does not depend on the frame. */
#define TEN KERNEL (", int n", "10 + n")
#define TWENTY KERNEL (", int n", "20 + n")
#define ONE_OF_TEN SET ("source", TEN, "params", "params,n=(int)1")

static void
setup (void)
{
  folder_setup ();
  rig_use_slow_compiler ();
}

TEST_PARALLEL (2);
TEST_REQUIRE (test_require_software);
TEST_FIXTURE (setup, folder_teardown);

/* Setters return at once while the compiler is busy. */
TEST (setters_do_not_wait)
{
  static const Step steps[] = {
    { WRITE ("kernel.cu", SEVEN),
        SET ("location", "FOLDER/kernel.cu", "watch", "true"), .red = 7 },
    { .compiler = HOLD, WRITE ("kernel.cu", EIGHT) },
    { SET ("watch", "false") },
    { SET ("location", NULL, "source", KERNEL (", int n", "9 + n * ONE"),
        "params", "params,n=(int)1", "entry", "own", "block", "32x1",
        "output-caps", "video/x-raw,format=RGBA", "compiler-options",
        "-DONE=1") },
    { SET ("watch", "true", "grid", "", "kernel", "copy") },
    { .compiler = RELEASE },
  };
  g_auto (Rig) rig = { 0 };
  guint i;

  rig_init (&rig, "name=f");
  for (i = 0; i < G_N_ELEMENTS (steps); i++)
    rig_step (&rig, &steps[i]);
  test_wait_for (rig_red_now (&rig) == 10);
}

/* Frames pass while a kernel is compiled. If a kernel and its parameters are
 * set in one g_object_set(), they are used for the same frame, even if the list
 * of parameters stays the same. New values alone are used for the next frame.
 */
TEST (pairs_are_whole)
{
  RIG_PLAY ({ ONE_OF_TEN, .red = 11 },
      { .compiler = HOLD,
          SET ("source", TWENTY, "params", "params,n=(int)2"),
          .red = 11 },
      { .compiler = RELEASE, .becomes = 22 }, { ONE_OF_TEN, .becomes = 11 },
      { SET ("source", TWENTY, "params", "params,n=(int)2"), .becomes = 22 },
      { ONE_OF_TEN, .becomes = 11 },
      { SET ("params", "params,n=(int)2"), .red = 12 });
}

/* Parameters that wait for a compiler are not lost if another property is set
 * then. */
TEST (params_wait_for_the_compiler)
{
  RIG_PLAY ({ ONE_OF_TEN, .red = 11 },
      { .compiler = HOLD, SET ("source", TWENTY) },
      { SET ("params", "params,n=2") }, { SET ("block", "16x16") },
      { .compiler = RELEASE }, { .red = 22 });
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
  guint n = 0;
  g_auto (Rig) rig = { 0 };

  rig_init (&rig, "kernel=blur");
  rig_step (&rig, &(const Step){ .red = 100 });
  gst_pad_add_probe (rig.harness->sinkpad, GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM,
      note_caps, &n, NULL);
  rig_step (&rig, &(const Step){ .compiler = HOLD,
                      SET ("output-caps", "video/x-raw,format=GRAY8", "pixel",
                          "rgba.r = rgba.g"),
                      .red = 100 });
  fail_unless_equals_int (n, 0);
  rig_step (&rig, &(const Step){ .compiler = RELEASE });
  while (n == 0) {
    rig_red_now (&rig);
    g_usleep (5000);
  }
  test_assert_no_message (rig.bus, GST_MESSAGE_ERROR);
}
