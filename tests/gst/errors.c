/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * errors.c: tests that an error in a pipeline is reported with its cause and a
 * remedy, and that the process goes on
 */

#include <dlfcn.h>
#include <glib/gstdio.h>
#include <gst/app/gstappsrc.h>

#include "driver.h"
#include "util.h"

#define SOURCE \
  "videotestsrc num-buffers=3 ! video/x-raw,format=RGBA,width=64,height=48 ! "

/* Fails unless the message of @error contains all words, which end with NULL.
 * Frees @error. */
static void
assert_says (GError *error, ...)
{
  const gchar *word;
  va_list args;

  va_start (args, error);
  while ((word = va_arg (args, const gchar *)))
    fail_unless (strstr (error->message, word) != NULL, "\"%s\" lacks \"%s\"",
        error->message, word);
  va_end (args);
  g_error_free (error);
}

static GError *
error_of (const gchar *description)
{
  g_autoptr (GstElement) pipeline = test_launch ("%s", description);
  GError *error = test_play_error (pipeline);

  return error;
}

/* After an error, a correct pipeline with the same elements works. */
static void
assert_works (void)
{
  g_autoptr (GstElement) pipeline =
      test_launch (SOURCE "vkgdrupload ! cudafilter kernel=invert ! "
                          "vkgdrdownload ! fakesink");

  test_play (pipeline);
}

/* --- the machine --------------------------------------------------------- */

/* Checks that pipelines work without a window, and that the context describes
 * why there is none. */
static void
assert_works_without_window (const gchar *reason, const gchar *remedy)
{
  g_autoptr (GstVkgdrContext) context = NULL;
  g_autoptr (GstStructure) description = NULL;
  gboolean has_window = TRUE;
  GError *error = NULL;

  assert_works ();
  context = gst_vkgdr_context_new (-1, &error);
  g_assert_no_error (error);
  description = gst_vkgdr_context_describe (context);
  fail_unless (
      gst_structure_get_boolean (description, "has-window", &has_window));
  fail_if (has_window);
  fail_unless (
      strstr (gst_structure_get_string (description, "window-reason"), reason)
      != NULL);
  fail_unless (
      strstr (gst_structure_get_string (description, "window-remedy"), remedy)
      != NULL);
}

static const struct {
  const gchar *variable, *value, *reason, *remedy;
} missing_windows[] = {
  { "VKGDR_VULKAN_LIBRARY", "/nonexistent/libvulkan.so.1", "no Vulkan loader",
      "libvulkan1" },
  { "VK_DRIVER_FILES", "/nonexistent/icd.json", "Vulkan found no driver",
      "icd" },
  { "VKGDR_DEBUG", "no-window", "host-visible", "Resizable BAR" },
};

TEST_LOOP (no_window, G_N_ELEMENTS (missing_windows))
{
  g_unsetenv ("VKGDR_DEBUG");
  g_setenv (
      missing_windows[__i__].variable, missing_windows[__i__].value, TRUE);
  if (g_str_equal (missing_windows[__i__].variable, "VK_DRIVER_FILES"))
    g_setenv ("VK_ICD_FILENAMES", missing_windows[__i__].value, TRUE);
  assert_works_without_window (
      missing_windows[__i__].reason, missing_windows[__i__].remedy);
}

TEST (no_cuda_driver)
{
  g_setenv ("VKGDR_DRIVER", "bogus", TRUE);
  assert_says (error_of (SOURCE "vkgdrupload ! fakesink"), "VKGDR_DRIVER",
      "bogus", "auto", NULL);
  g_setenv ("VKGDR_DRIVER", "software", TRUE);
  g_setenv ("VKGDR_SOFTCUDA_DIR", "/nonexistent", TRUE);
  assert_says (error_of (SOURCE "vkgdrupload ! fakesink"), "softcuda",
      "VKGDR_SOFTCUDA_DIR", NULL);
}

TEST (domain)
{
  fail_unless_equals_string (
      g_quark_to_string (GST_VKGDR_ERROR), "gst-vkgdr-error-quark");
}

TEST (device_that_is_no_number)
{
  GError *error = NULL;

  g_setenv ("CUDA_DEVICE", "all of them", TRUE);
  fail_if (gst_vkgdr_context_new (-1, &error));
  fail_unless (
      g_error_matches (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_NO_DEVICE));
  assert_says (error, "CUDA_DEVICE is \"all of them\"", "vkgdr-info", NULL);
}

TEST (no_such_device)
{
  assert_says (error_of (SOURCE "vkgdrupload device=99 ! fakesink"),
      "no CUDA device 99", "vkgdr-info", NULL);
  assert_works ();
}

TEST (device_of_the_environment)
{
  g_setenv ("CUDA_DEVICE", "98", TRUE);
  assert_says (
      error_of (SOURCE "vkgdrupload ! fakesink"), "no CUDA device 98", NULL);
  g_setenv ("CUDA_DEVICE", "0", TRUE);
  assert_works ();
}

TEST (software_is_told)
{
  g_autoptr (GstElement) pipeline = NULL;
  GstMessage *message;
  GError *warning = NULL;
  guint n = 0;
  g_autoptr (GstBus) bus = NULL;

  g_unsetenv ("VKGDR_DRIVER");
  if (!test_is_software ())
    return;
  pipeline = test_launch (
      SOURCE "vkgdrupload ! cudafilter ! vkgdrdownload ! fakesink");
  bus = gst_element_get_bus (pipeline);
  gst_element_set_state (pipeline, GST_STATE_PAUSED);
  gst_element_get_state (pipeline, NULL, NULL, -1);
  while ((message = gst_bus_pop_filtered (bus, GST_MESSAGE_WARNING))) {
    g_clear_error (&warning);
    gst_message_parse_warning (message, &warning, NULL);
    gst_message_unref (message);
    n++;
  }
  fail_unless_equals_int (n, 1);
  assert_says (warning, "No NVIDIA GPU", "CPU", NULL);
  gst_element_set_state (pipeline, GST_STATE_NULL);
}

/* --- memory -------------------------------------------------------------- */

/* A pool that is larger than the window is slower, but works. */
TEST (full_window)
{
  g_autoptr (GstElement) pipeline = NULL;

  g_setenv ("VKGDR_DEBUG", "bar=4M", TRUE);
  pipeline = test_launch (
      "videotestsrc num-buffers=9 ! "
      "video/x-raw,format=RGBA,width=1920,height=1080 ! vkgdrupload ! "
      "cudafilter ! queue ! vkgdrdownload ! fakesink");
  test_play (pipeline);
}

TEST (full_device)
{
  g_setenv ("VKGDR_DRIVER", "software", TRUE);
  g_setenv ("VKGDR_DEBUG", "bar=4M", TRUE);
  g_setenv ("SOFTCUDA_MEMORY", "1000000", TRUE);
  if (!test_is_software ()) /* it is not installed */
    return;
  assert_says (error_of ("videotestsrc num-buffers=3 ! "
                         "video/x-raw,format=RGBA,width=1920,height=1080 ! "
                         "vkgdrupload ! fakesink"),
      "8294400 bytes", "window", "in use", NULL);
  assert_says (error_of ("videotestsrc num-buffers=3 ! "
                         "video/x-raw,format=RGBA,width=800,height=600 ! "
                         "vkgdrupload ! cudafilter kernel=blur ! "
                         "cudafilter kernel=blur ! queue ! fakesink"),
      "1920000 bytes", "window", "in use", NULL);
  /* Freed memory can be allocated again. */
  assert_works ();
}

/* What a pipeline does if a call of the driver fails. */
typedef enum {
  FAILS,
  /* A fence that is reached already needs no wait, so the call may be missing.
   */
  FAILS_IF_CALLED,
  /* Without a window, the source maps a staging buffer first, and videotestsrc
   * continues if it cannot map a frame. */
  FAILS_WITH_WINDOW,
  RECOVERS, /* the call is repeated, with success */
  /* Without a window, there is no such call. */
  RECOVERS_WITH_WINDOW,
  EITHER, /* some of the calls are only for statistics */
} Outcome;

static const struct {
  const gchar *call;
  guint last;
  Outcome outcome;
} failing[] = {
  { "cuDevicePrimaryCtxRetain", 1, FAILS },
  { "cuStreamCreate", 3, FAILS },
  { "cuDeviceGetAttribute", 2, EITHER },
  { "cuImportExternalMemory", 1, RECOVERS_WITH_WINDOW },
  { "cuExternalMemoryGetMappedBuffer", 1, RECOVERS_WITH_WINDOW },
  { "cuMemHostAlloc", 1, FAILS_WITH_WINDOW },
  { "cuEventCreate", 8, EITHER },
  { "cuEventRecord", 8, EITHER },
  { "cuStreamWaitEvent", 3, FAILS_IF_CALLED },
  { "cuModuleLoadDataEx", 1, FAILS },
  { "cuModuleGetFunction", 1, FAILS },
  { "cuLaunchKernel", 2, FAILS },
  { "cuMemcpyDtoHAsync", 2, FAILS },
};

/* Whether the pipeline has made the call that was to fail. If it has not, one
 * of the calls of this function fails instead. These calls do nothing else,
 * because their arguments are not valid. */
static gboolean
has_failed (const gchar *name, guint n)
{
  CUresult (*call) (gpointer, gpointer, gpointer, gpointer, gpointer, gpointer);
  gchar *path =
      g_build_filename (vkgdr_driver_softcuda_dir (), "libcuda.so.1", NULL);
  gpointer driver = dlopen (path, RTLD_NOW | RTLD_NOLOAD);
  gboolean failed = TRUE;
  guint i;

  g_free (path);
  fail_unless (driver != NULL);
  *(void **) &call = dlsym (driver, name);
  fail_unless (call != NULL, "%s", name);
  for (i = 0; i < n && failed; i++)
    failed = call (NULL, NULL, NULL, NULL, NULL, NULL) != CUDA_ERROR_UNKNOWN;
  dlclose (driver);
  return failed;
}

static void
assert_outcome (const gchar *spec, const gchar *call, guint n, Outcome outcome)
{
  g_autoptr (GstElement) pipeline =
      test_launch (SOURCE "vkgdrupload ! cudafilter kernel=invert ! "
                          "vkgdrdownload ! fakesink");
  GError *error = test_play_result (pipeline);

  if (outcome == FAILS_WITH_WINDOW)
    outcome = test_has_window () ? FAILS : EITHER;
  if (outcome == FAILS_IF_CALLED)
    outcome = has_failed (call, n) ? FAILS : RECOVERS;
  fail_unless (outcome == EITHER || !!error == (outcome == FAILS), "%s: %s",
      spec, error ? error->message : "there was no error");
  fail_unless (!error || strstr (error->message, call) != NULL, "%s: %s", spec,
      error ? error->message : "");
  g_clear_error (&error);
}

/* Each call fails once, at each place where it is made. If there is an error,
 * it names the call. Nothing stays open, and the next start works. */
TEST_LOOP (driver_calls_fail, G_N_ELEMENTS (failing))
{
  guint n, fds = 0;

  g_setenv ("VKGDR_DRIVER", "software", TRUE);
  if (!test_is_software ())
    return;
  assert_works ();
  fds = test_count_fds ();
  for (n = 1; n <= failing[__i__].last; n++) {
    g_autofree gchar *spec = g_strdup_printf ("%s:%u", failing[__i__].call, n);

    test_make_calls_fail (spec);
    assert_outcome (spec, failing[__i__].call, n, failing[__i__].outcome);
    fail_unless (failing[__i__].outcome == FAILS_IF_CALLED
                     || has_failed (failing[__i__].call, n)
                     || (failing[__i__].outcome == RECOVERS_WITH_WINDOW
                         && !test_has_window ()),
        "%s: not called", spec);
    test_make_calls_fail (NULL);
    assert_works ();
    test_assert_fds (fds);
  }
}

/* --- kernels ------------------------------------------------------------- */

TEST (bad_kernels)
{
  assert_says (
      error_of (SOURCE "vkgdrupload ! cudafilter kernel=nosuch ! fakesink"),
      "nosuch", "sobel", "location", NULL);
  assert_says (error_of (SOURCE "vkgdrupload ! cudafilter "
                                "location=/nonexistent.cu ! fakesink"),
      "/nonexistent.cu", NULL);
  assert_says (error_of (SOURCE "vkgdrupload ! cudafilter location=/a.cu "
                                "source=x ! fakesink"),
      "only one of", NULL);
  assert_says (
      error_of (SOURCE "vkgdrupload ! cudafilter "
                       "source=\"__global__ void f (VkgdrFrame a, VkgdrFrame "
                       "b) { nonsense; }\" ! fakesink"),
      "nonsense", "1", NULL);
  assert_says (
      error_of (SOURCE "vkgdrupload ! cudafilter entry=g "
                       "source=\"__global__ void f (VkgdrFrame a, VkgdrFrame "
                       "b) { }\" ! fakesink"),
      "\"g\"", "f", NULL);
  assert_says (
      error_of (SOURCE "vkgdrupload ! cudafilter "
                       "source=\"__global__ void f (VkgdrFrame a, VkgdrFrame "
                       "b, float c) { }\" ! fakesink"),
      "param", NULL);
  assert_works ();
}

TEST (location_that_is_no_kernel)
{
  g_autofree gchar *path = NULL;
  gint fd = g_file_open_tmp ("vkgdr-test-XXXXXX", &path, NULL);
  const guint8 garbage[] = { 0xff, 0xfe, 0x00, 0x80, 0x01, 0xc0 };
  g_autofree gchar *description = NULL;

  fail_unless (fd >= 0);
  close (fd);
  fail_unless (g_file_set_contents (
      path, (const gchar *) garbage, sizeof (garbage), NULL));
  description = g_strdup_printf (
      SOURCE "vkgdrupload ! cudafilter location=%s ! fakesink", path);
  assert_says (error_of (description), path, "PTX", "cubin", NULL);
  g_unlink (path);
}

/* --- the stream ---------------------------------------------------------- */

TEST (format_that_kernels_cannot_take)
{
  g_autoptr (GstElement) pipeline = test_launch (
      "videotestsrc num-buffers=3 ! "
      "video/x-raw,format=NV12_64Z32,width=64,height=48 ! vkgdrupload ! "
      "cudafilter ! fakesink");

  assert_says (
      test_play_error_with (pipeline, "NV12_64Z32"), "videoconvert", NULL);
}

TEST (memory_of_another_kind)
{
  g_autoptr (GstElement) pipeline = test_launch (
      "appsrc name=src format=time caps=\"video/x-raw(memory:VkgdrMemory),"
      "format=RGBA,width=64,height=48,framerate=1/1\" ! cudafilter ! fakesink");
  g_autoptr (GstElement) src = gst_bin_get_by_name (GST_BIN (pipeline), "src");

  gst_app_src_push_buffer (
      GST_APP_SRC (src), gst_buffer_new_allocate (NULL, 12288, NULL));
  assert_says (test_play_error (pipeline), "SystemMemory", "vkgdrupload", NULL);
}
