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

TEST (ptx_runs)
{
  g_autofree gchar *text =
      g_strdup_printf (".version 7.8\n.target sm_52\n.address_size 64\n"
                       ".visible .entry nothing (.param .align 8 .b8 a[%zu], "
                       ".param .align 8 .b8 b[%zu])\n{\n  ret;\n}\n",
          sizeof (VkgdrFrame), sizeof (VkgdrFrame));
  g_autofree gchar *path = folder_write ("a.ptx", text);
  g_autoptr (GstElement) pipeline = test_launch (
      SOURCE "vkgdrupload ! cudafilter location=\"%s\" ! fakesink", path);

  test_play (pipeline);
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
  TEST_NEEDS (g_resources_get_info ("/org/gst-vkgdr/effects/copy.ptx",
                  G_RESOURCE_LOOKUP_FLAGS_NONE, NULL, NULL, NULL),
      "a build with a compiler for kernels");
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

/* How long a frame may take while a kernel is compiled, in microseconds. The
 * compiler takes many times as long for STATEMENTS statements. */
#define PATIENCE (50 * G_TIME_SPAN_MILLISECOND)
#define STATEMENTS 2000

/* Frames continue while another kernel is compiled and replaces the first
 * one. */
TEST (changes_hold_up_nothing)
{
  g_autoptr (GString) pixel = g_string_new (NULL);
  g_auto (Rig) rig = { 0 };
  guint8 red = 70;
  gint64 start;
  guint i;

  for (i = 0; i < STATEMENTS; i++)
    g_string_append_printf (
        pixel, "rgba.r = sinf (rgba.r * %u.5f + rgba.g) * 0.5f + 0.5f;\n", i);
  g_string_append (pixel, "rgba.r = 50 / 255.0f");
  g_setenv ("VKGDR_CACHE_DIR", folder, TRUE);
  rig_init (&rig, "pixel=rgba.r=70/255.0f");
  rig_start (&rig, RGBA_2X1);
  for (i = 0; i < 100; i++)
    fail_unless_equals_int (rig_red_now (&rig), 70);
  g_object_set (rig.filter, "pixel", pixel->str, NULL);
  while (red == 70) {
    start = g_get_monotonic_time ();
    red = rig_red_now (&rig);
    fail_unless (g_get_monotonic_time () - start < PATIENCE);
  }
  fail_unless_equals_int (red, 50);
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
  /* A thread that captures must not free memory: the pipeline stops later. */
  test_play_on (pipeline);
  fail_unless_equals_int (end (stream, &graph), CUDA_SUCCESS);
  gst_element_set_state (pipeline, GST_STATE_NULL);
  fail_unless (graph != NULL);
  fail_unless_equals_int (destroy (graph), CUDA_SUCCESS);
  fail_unless_equals_int (cuda->cuStreamDestroy (stream), CUDA_SUCCESS);
  dlclose (library);
}

TEST_REQUIRE (test_require_gpu);
