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

/* No setter waits while the compiler is busy. Parameters that wait for it are
 * not lost if other properties are set then. */
TEST (params_wait_for_the_compiler)
{
  RIG_PLAY ({ ONE_OF_TEN, .red = 11 },
      { WRITE ("kernel.cu", SEVEN), .compiler = HOLD, SET ("source", TWENTY) },
      { SET ("params", "params,n=2") },
      { SET ("block", "16x16", "grid", "", "entry", "own", "watch", "true",
          "output-caps", "video/x-raw,format=RGBA") },
      { SET ("source", NULL, "location", "FOLDER/kernel.cu", "compiler-options",
          "-DONE=1") },
      { SET ("location", NULL, "source", TWENTY, "compiler-options", NULL) },
      { .compiler = RELEASE }, { .red = 22 });
}

/* output-caps and the kernel that can produce them take effect together. The
 * gray of a pixel whose red is that of its green is 55. */
TEST (output_caps_belong_to_the_pair)
{
  RIG_PLAY ({ SET ("kernel", "blur"), .red = 100 },
      { .compiler = HOLD,
          SET ("output-caps", "video/x-raw,format=GRAY8", "kernel", NULL,
              "pixel", "rgba.r = rgba.g"),
          .red = 100 },
      { .compiler = RELEASE, .becomes = 55 });
}
