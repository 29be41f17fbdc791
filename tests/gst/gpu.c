/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * gpu.c: tests that only an NVIDIA GPU can run; they are skipped without one
 */

#include <dlfcn.h>
#include <gio/gio.h>
#include <vkgdr/kernel.h>

#include "folder.h"
#include "rig.h"
#include "util.h"

#define SOURCE \
  "videotestsrc num-buffers=3 ! video/x-raw,format=RGBA,width=64,height=48 ! "

TEST (window_is_a_bar)
{
  g_autoptr (GstVkgdrContext) context = test_context_new ();
  g_autoptr (GstStructure) info = gst_vkgdr_context_describe (context);
  guint64 bar = 0, size = 0;
  gboolean software = TRUE;

  gst_structure_get (info, "bar-size", G_TYPE_UINT64, &bar, "window-size",
      G_TYPE_UINT64, &size, "software", G_TYPE_BOOLEAN, &software, NULL);
  fail_unless (!software && size > 0 && bar > 0);
  fail_unless (*gst_structure_get_string (info, "pci-address") != '\0');
}

TEST_FIXTURE (folder_setup, folder_teardown);

/* PTX for @target, whose kernel does nothing. */
static GstElement *
launch_ptx (const gchar *target)
{
  g_autofree gchar *text =
      g_strdup_printf (".version 7.8\n.target %s\n.address_size 64\n"
                       ".visible .entry nothing (.param .align 8 .b8 a[%zu], "
                       ".param .align 8 .b8 b[%zu])\n{\n  ret;\n}\n",
          target, sizeof (VkgdrFrame), sizeof (VkgdrFrame));
  g_autofree gchar *path = folder_write ("a.ptx", text);

  return test_launch (
      SOURCE "vkgdrupload ! cudafilter location=%s ! fakesink", path);
}

TEST (ptx_runs)
{
  g_autoptr (GstElement) pipeline = launch_ptx ("sm_52");

  test_play (pipeline);
}

TEST (ptx_of_another_architecture)
{
  g_autoptr (GstElement) pipeline = launch_ptx ("sm_999");
  g_autoptr (GError) error = test_play_error (pipeline);

  test_assert_contains (error->message, "compute capability");
}

/* The effects and the tensors need nothing but the driver, if the project was
 * built with a compiler for them. Otherwise there is nothing to test. */
static const gchar *const compiled[] = { "cudafilter kernel=convert",
  "cudafilter kernel=gaussian", "cudafilter kernel=invert",
  "vkgdrtensor width=32 height=32 filter=nearest",
  "vkgdrtensor width=32 height=32 type=float16",
  "vkgdrtensor width=32 height=32 type=uint8 layout=nhwc filter=area" };

TEST_LOOP (compiled_kernels_run_without_a_compiler, G_N_ELEMENTS (compiled))
{
  static const gchar *const formats[] = { "RGBA", "NV12", "I420", "P010_10LE",
    "GRAY8", "v210" };
  GstElement *pipeline = test_launch ("fakesrc ! cudafilter ! fakesink");
  guint i;

  gst_object_unref (pipeline);
  if (!g_resources_get_info ("/org/gst-vkgdr/effects/copy.ptx",
          G_RESOURCE_LOOKUP_FLAGS_NONE, NULL, NULL, NULL))
    return;
  g_setenv ("VKGDR_NVRTC", "/nowhere/libnvrtc.so", TRUE);
  g_setenv ("VKGDR_CACHE_DIR", folder, TRUE);
  for (i = 0; i < G_N_ELEMENTS (formats); i++) {
    g_autoptr (GstElement) pipeline = test_launch (
        "videotestsrc num-buffers=3 ! video/x-raw,format=%s,width=64,height=48 "
        "! vkgdrupload ! %s ! fakesink",
        formats[i], compiled[__i__]);

    test_play (pipeline);
  }
}

/* The kernel writes to an address without memory. The element fails, but the
 * process goes on. The driver does not accept the context any more, so nothing
 * else is tried here. */
TEST (illegal_address)
{
  static const TestError row = { SOURCE
    "vkgdrupload ! cudafilter source=\"__global__ void f (VkgdrFrame in, "
    "VkgdrFrame out) { *(volatile int *) 8 = 1; }\" ! vkgdrdownload ! "
    "fakesink",
    "CUDA_ERROR_ILLEGAL_ADDRESS" };

  test_check_error (&row);
}

/* How much longer than usual a frame may take while a kernel is compiled, and
 * how long a setter may take, in microseconds. The compiler takes many times as
 * long for STATEMENTS statements. */
#define PATIENCE (5 * G_TIME_SPAN_MILLISECOND)

/* The time in which the usual time of a frame is measured. It is about as long
 * as the compiler takes, so that about as many frames are measured. */
#define USUAL_TIME (5 * G_TIME_SPAN_SECOND)
#define STATEMENTS 2000

/* Makes an expression that takes long to compile. */
static gchar *
make_long_pixel (void)
{
  GString *text = g_string_new (NULL);
  guint i;

  for (i = 0; i < STATEMENTS; i++)
    g_string_append_printf (
        text, "rgba.r = sinf (rgba.r * %u.5f + rgba.g) * 0.5f + 0.5f;\n", i);
  g_string_append (text, "rgba.r = 50 / 255.0f");
  return g_string_free (text, FALSE);
}

/* Pushes frames until @time is over, or until red is not 70. Returns the
 * longest time of a frame, and sets *@red. */
static gint64
longest_frame (Rig *rig, gint64 time, guint8 *red)
{
  gint64 start = g_get_monotonic_time (), frame = start, longest = 0, now;

  do {
    *red = rig_red_now (rig);
    now = g_get_monotonic_time ();
    longest = MAX (longest, now - frame);
    frame = now;
  } while (*red == 70 && frame - start < time);
  return longest;
}

/* Frames continue at their pace while another kernel is compiled and replaces
 * the first one, and no setter waits. */
TEST (changes_hold_up_nothing)
{
  g_autofree gchar *pixel = make_long_pixel ();
  gint64 start, again, longest, usual, setter;
  g_auto (Rig) rig = { 0 };
  guint8 red;

  g_setenv ("VKGDR_CACHE_DIR", folder, TRUE);
  rig_init (&rig, "pixel=rgba.r=70/255.0f");
  rig_start (&rig, RGBA_2X1);
  longest_frame (&rig, G_TIME_SPAN_SECOND / 10, &red);
  usual = longest_frame (&rig, USUAL_TIME, &red);
  fail_unless_equals_int (red, 70);
  start = g_get_monotonic_time ();
  g_object_set (rig.filter, "pixel", pixel, NULL);
  setter = g_get_monotonic_time () - start;
  longest = longest_frame (&rig, G_TIME_SPAN_SECOND / 10, &red);
  again = g_get_monotonic_time ();
  g_object_set (rig.filter, "watch", TRUE, "entry", NULL, NULL);
  setter = MAX (setter, g_get_monotonic_time () - again);
  longest = MAX (longest, longest_frame (&rig, 100 * G_TIME_SPAN_SECOND, &red));
  g_print (
      "compiled in %" G_GINT64_FORMAT " ms; longest frame %" G_GINT64_FORMAT
      " us, before %" G_GINT64_FORMAT " us; setter %" G_GINT64_FORMAT " us\n",
      (g_get_monotonic_time () - start) / 1000, longest, usual, setter);
  fail_unless_equals_int (red, 50);
  fail_unless (longest < usual + PATIENCE);
  fail_unless (setter < PATIENCE);
}

static const CUstreamCaptureMode capture_modes[] = {
  CU_STREAM_CAPTURE_MODE_GLOBAL, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL
};

/* The application captures a CUDA graph while a pipeline plays. The pipeline
 * does not break the capture, nor the capture the pipeline. The library does
 * not use the driver's functions for that. */
TEST_LOOP (capture_beside_a_pipeline, G_N_ELEMENTS (capture_modes))
{
  void *library = dlopen ("libcuda.so.1", RTLD_NOW);
  CUresult (*begin) (CUstream stream, CUstreamCaptureMode mode) =
      dlsym (library, "cuStreamBeginCapture_v2");
  CUresult (*end) (CUstream stream, void **graph) =
      dlsym (library, "cuStreamEndCapture");
  CUresult (*destroy) (void *graph) = dlsym (library, "cuGraphDestroy");
  const vkgdr_cuda *cuda = vkgdr_driver_load ();
  g_autoptr (GstVkgdrContext) context = test_context_new ();
  g_autoptr (GstElement) pipeline = test_launch (
      "videotestsrc num-buffers=2000 ! video/x-raw,format=RGBA,width=64,"
      "height=48 ! vkgdrupload ! cudafilter kernel=invert ! vkgdrdownload ! "
      "fakesink sync=false");
  void *graph = NULL;
  CUstream stream;

  test_preroll (pipeline);
  fail_unless (gst_vkgdr_context_push (context, NULL));
  fail_unless_equals_int (
      cuda->cuStreamCreate (&stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
  gst_vkgdr_context_pop (context);
  fail_unless_equals_int (begin (stream, capture_modes[__i__]), CUDA_SUCCESS);
  test_play (pipeline);
  fail_unless_equals_int (end (stream, &graph), CUDA_SUCCESS);
  fail_unless (graph != NULL);
  fail_unless_equals_int (destroy (graph), CUDA_SUCCESS);
  fail_unless_equals_int (cuda->cuStreamDestroy (stream), CUDA_SUCCESS);
  dlclose (library);
}

TEST_REQUIRE (test_require_gpu);
