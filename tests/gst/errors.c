/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * errors.c: tests that an error in a pipeline is reported with its cause and a
 * remedy, and that the process goes on
 */

#include "table.h"

#define SIZED(format, width, height) \
  "videotestsrc num-buffers=3 ! video/x-raw,format=" format ",width=" #width \
  ",height=" #height " ! vkgdrupload"
#define UP SIZED ("RGBA", 64, 48)
#define FILTER UP " ! cudafilter "
#define KERNEL "source=\"__global__ void f (VkgdrFrame a, VkgdrFrame b) {}\""
#define TWO_KERNELS \
  "__global__ void f (VkgdrFrame a, VkgdrFrame b) {} " \
  "__global__ void g (VkgdrFrame a, VkgdrFrame b) {}"
#define SINK " ! fakesink"

/* A correct pipeline with the same elements works. */
static void
assert_works (void)
{
  g_autoptr (GstElement) pipeline =
      test_launch (FILTER "kernel=invert ! vkgdrdownload" SINK);

  test_play (pipeline);
}

#define SMALL "VKGDR_DRIVER=software VKGDR_DEBUG=bar=2M SOFTCUDA_MEMORY=4000000"
#define TWO_FILTERS \
  SIZED ("RGBA", 800, 600) \
  " ! cudafilter kernel=blur ! cudafilter " \
  "kernel=blur"

static const struct {
  const gchar *environment; /* "NAME=value NAME=value" */
  TestError error;          /* without a pipeline, there is none */
  gboolean works;           /* afterwards */
} errors[] = {
  /* the device */
  { "VKGDR_DRIVER=bogus", { UP SINK, "VKGDR_DRIVER|bogus|auto" }, FALSE },
  { "VKGDR_DRIVER=software VKGDR_SOFTCUDA_DIR=/proc/missing",
      { UP SINK, "softcuda|VKGDR_SOFTCUDA_DIR" }, FALSE },
  { "CUDA_DEVICE=all", { UP SINK, "CUDA_DEVICE is \"all\"|vkgdr-info" },
      FALSE },
  { "CUDA_DEVICE=98", { UP SINK, "no CUDA device 98" }, FALSE },
  { "CUDA_DEVICE=0", { NULL }, TRUE },
  { "", { UP " device=99" SINK, "no CUDA device 99|vkgdr-info" }, TRUE },
  /* A full device. Freed memory can be allocated again. */
  { SMALL, { SIZED ("RGBA", 1920, 1080) SINK, "8294400 bytes|window|in use" },
      TRUE },
  { SMALL, { TWO_FILTERS " ! queue" SINK, "1920000 bytes|window|in use" },
      TRUE },
  /* kernels; see cudafilter.c, too */
  { "", { FILTER "location=/proc/self/auxv" SINK, "auxv|PTX|cubin" }, TRUE },
  { "", { FILTER "entry=g " KERNEL SINK, "\"g\"|f" }, TRUE },
  { "",
      { FILTER "source=\"" TWO_KERNELS "\"" SINK,
          "several kernels|f|g|entry=" },
      TRUE },
  /* a format that kernels cannot take */
  { "",
      { SIZED ("NV12_64Z32", 64, 48) " ! cudafilter" SINK,
          "NV12_64Z32|videoconvert" },
      TRUE },
};

TEST_LOOP (errors, G_N_ELEMENTS (errors))
{
  test_set_environment (errors[__i__].environment);
  TEST_NEEDS (!strstr (errors[__i__].environment, "SOFTCUDA_MEMORY")
                  || test_is_software (),
      "the software device");
  if (errors[__i__].error.pipeline)
    test_check_error (&errors[__i__].error);
  if (errors[__i__].works)
    assert_works ();
}

/* The base class posts no error of its own about the pool. */
TEST (full_device_is_one_error)
{
  static const TestError error = { TWO_FILTERS, "1920000 bytes|window" };

  test_set_environment (SMALL);
  if (test_is_software ())
    test_check_one_error (&error);
}

static const TestError memory_of_another_kind[] = {
  { "fakesrc num-buffers=1 sizetype=fixed sizemax=12288 ! capsfilter "
    "caps=\"video/x-raw(memory:VkgdrMemory),format=RGBA,width=64,height=48,"
    "framerate=1/1\" ! cudafilter" SINK,
      "SystemMemory|vkgdrupload" },
};

TEST_ROWS (memory_of_another_kind, test_check_error)

/* Whose buffers are not in the memory that their caps name. */
#define WRONG(name) \
  "appsrc name=" name \
  "-source format=time caps=\"video/x-raw(memory:VkgdrMemory)," \
  "format=RGBA,width=8,height=8,framerate=1/1\" ! cudafilter " \
  "name=" name " ! fakesink async=false "

/* Pushes such a buffer to a branch. Fails the test unless its filter posts an
 * error, and only one. */
static void
fail_branch (GstElement *pipeline, const gchar *name)
{
  g_autofree gchar *source_name = g_strconcat (name, "-source", NULL);
  GstElement *source = test_find (pipeline, source_name);
  g_autoptr (GstBus) bus = gst_element_get_bus (pipeline);
  g_autoptr (GstBuffer) buffer =
      gst_buffer_new_allocate (NULL, 8 * 8 * 4, NULL);
  GstFlowReturn flow = GST_FLOW_OK;
  GstMessage *message;
  gboolean is_from_source = FALSE;
  guint n = 0;

  g_signal_emit_by_name (source, "push-buffer", buffer, &flow);
  fail_unless_equals_int (flow, GST_FLOW_OK);
  /* The source posts the last error. */
  while (!is_from_source) {
    message =
        gst_bus_timed_pop_filtered (bus, 20 * GST_SECOND, GST_MESSAGE_ERROR);
    fail_unless (message != NULL, "%s posts nothing", name);
    is_from_source = GST_MESSAGE_SRC (message) == GST_OBJECT (source);
    if (GST_MESSAGE_SRC (message) == GST_OBJECT (test_find (pipeline, name))) {
      g_autoptr (GError) error = NULL;

      gst_message_parse_error (message, &error, NULL);
      test_assert_contains (error->message, "SystemMemory");
      n++;
    }
    gst_message_unref (message);
  }
  fail_unless_equals_int (n, 1);
}

/* Who returns GST_FLOW_ERROR posts, also if another element has posted the same
 * error, or the element itself before a flush. */
TEST (each_failing_element_posts)
{
  g_autoptr (GstElement) pipeline = test_launch (WRONG ("one") WRONG ("two"));
  GstElement *source = test_find (pipeline, "two-source");

  gst_element_set_state (pipeline, GST_STATE_PLAYING);
  fail_branch (pipeline, "one");
  fail_branch (pipeline, "two");
  gst_element_send_event (source, gst_event_new_flush_start ());
  gst_element_send_event (source, gst_event_new_flush_stop (TRUE));
  fail_branch (pipeline, "two");
  gst_element_set_state (pipeline, GST_STATE_NULL);
}

/* "This element posts an error, or keeps silent." */
static const struct {
  const gchar *name, *text;
  gboolean is_about_caps, is_posted;
} posts[] = {
  { "a", "the device fails", FALSE, TRUE },
  { "c", "the window is full", FALSE, TRUE },
  { "a", "the device fails", FALSE, FALSE },
  { "d", "caps of this stream", TRUE, TRUE },
  { "b", "caps of another stream", TRUE, TRUE },
  /* d and b are behind c and a. */
  { "c", "nothing is accepted", TRUE, FALSE },
  { "a", "nothing is accepted", TRUE, FALSE },
  { "b", "the first caps in other words", TRUE, FALSE },
  { "b", "its device fails", FALSE, TRUE },
};

/* Two streams that fail at the same time: each says why, once. */
TEST (each_stream_posts_once)
{
  g_autoptr (GstElement) pipeline =
      test_launch ("vkgdrupload name=a ! vkgdrdownload name=b  vkgdrupload "
                   "name=c ! queue ! vkgdrdownload name=d");
  g_autoptr (GstBus) bus = gst_element_get_bus (pipeline);
  guint i;

  for (i = 0; i < G_N_ELEMENTS (posts); i++) {
    g_autoptr (GError) error = g_error_new_literal (GST_STREAM_ERROR,
        posts[i].is_about_caps ? GST_STREAM_ERROR_WRONG_TYPE
                               : GST_STREAM_ERROR_FAILED,
        posts[i].text);
    g_autoptr (GstMessage) message = NULL;

    gst_vkgdr_element_post_error (test_find (pipeline, posts[i].name), error);
    message = gst_bus_pop_filtered (bus, GST_MESSAGE_ERROR);
    fail_unless_equals_int (message != NULL, posts[i].is_posted);
  }
}

TEST (software_is_told)
{
  g_autoptr (GstElement) pipeline = NULL;

  g_unsetenv ("VKGDR_DRIVER");
  TEST_NEEDS (test_is_software (), "the software device");
  pipeline = test_launch (FILTER "! vkgdrdownload" SINK);
  test_play_count (pipeline, "No NVIDIA GPU|CPU", 1);
}
