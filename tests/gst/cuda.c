/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * cuda.c: tests of devices, events, copies, modules, and mappings on a stream
 *
 * If a call of the driver fails, the library's function returns an error and
 * frees what it has allocated.
 */

#include <dlfcn.h>

#include "gate.h"

#define SIZE 4096
/* Atomic: how often the process has tried to load GStreamer's CUDA library. */
static gint n_searches;

/* Replaces the function of the C library in this process. */
__attribute__ ((visibility ("default"))) void *
dlopen (const char *name, int flags)
{
  static void *(*real) (const char *name, int flags);

  if (!g_atomic_pointer_get (&real))
    *(void **) &real = dlsym (RTLD_NEXT, "dlopen");
  if (name && strstr (name, "libgstcuda"))
    g_atomic_int_inc (&n_searches);
  return real (name, flags);
}

TEST_FIXTURE (test_setup_bar, test_teardown);

/* A language binding can make such an object. */
TEST (context_that_was_not_opened)
{
  g_autoptr (GstVkgdrContext) context =
      gst_object_ref_sink (g_object_new (GST_TYPE_VKGDR_CONTEXT, NULL));
  g_autoptr (GstVkgdrAllocator) allocator = gst_vkgdr_allocator_new (context);
  GError *error = NULL;

  fail_if (gst_vkgdr_context_push (context, &error));
  test_assert_error_says (
      &error, GST_VKGDR_ERROR_ARGUMENT, "the context has no device");
  fail_if (gst_vkgdr_stream_new (context, NULL));
  fail_if (gst_vkgdr_context_synchronize (context, NULL));
  fail_if (gst_vkgdr_module_new_from_source (
      context, "__global__ void f () {}", "f", NULL));
  fail_if (gst_vkgdr_context_get_cuda_context (context));
  /* The error tells how much memory is in use, too. */
  fail_if (gst_vkgdr_allocator_alloc (allocator, SIZE, &error));
  test_assert_error_says (
      &error, GST_VKGDR_ERROR_NO_MEMORY, "the context has no device");
  g_test_expect_message (
      "GStreamer-Vkgdr", G_LOG_LEVEL_CRITICAL, "*CONTEXT_IS_MADE*failed");
  fail_if (gst_vkgdr_context_describe (context));
  g_test_assert_expected_messages ();
}

/* Sets the stream capture mode of this thread. Returns the former one. */
static CUstreamCaptureMode
set_capture_mode (CUstreamCaptureMode mode)
{
  fail_unless_equals_int (
      vkgdr_driver_load ()->cuThreadExchangeStreamCaptureMode (&mode),
      CUDA_SUCCESS);
  return mode;
}

/* The library's calls are allowed while another thread captures a graph.
 * Outside of them, the thread has its own mode. */
TEST (capture_mode)
{
  if (!vkgdr_driver_load ()->cuThreadExchangeStreamCaptureMode)
    return;
  set_capture_mode (CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
  fail_unless (gst_vkgdr_context_push (test_context, NULL));
  fail_unless (gst_vkgdr_context_push (test_context, NULL));
  gst_vkgdr_context_pop (test_context);
  fail_unless_equals_int (set_capture_mode (CU_STREAM_CAPTURE_MODE_RELAXED),
      CU_STREAM_CAPTURE_MODE_RELAXED);
  gst_vkgdr_context_pop (test_context);
  fail_unless_equals_int (set_capture_mode (CU_STREAM_CAPTURE_MODE_GLOBAL),
      CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
}

/* There are two context objects for the primary CUDA context of one device.
 * A stream of one of them can use memory and functions of the other one, and
 * own launches stay in order with the library's work. */
TEST (two_contexts_of_one_device)
{
  g_autoptr (GstVkgdrContext) other = test_context_new ();
  g_autoptr (GstVkgdrStream) stream = test_stream_new (other);
  g_autoptr (GstMemory) memory = test_memory_new (test_context, SIZE);
  g_autoptr (GstVkgdrFunction) function = test_function_new (test_context,
      "__global__ void next (unsigned char *x) { x[threadIdx.x]++; }");
  const guint64 pointer = gst_vkgdr_memory_get_device_pointer (memory);
  const GstMapFlags flags = GST_MAP_READWRITE;
  g_autofree guint8 *bytes = NULL;
  guint i;

  test_stream_delay (stream, 20, NULL);
  fail_unless (gst_vkgdr_memory_fill (memory, 0, SIZE, 4, stream, NULL));
  for (i = 0; i < 3; i++) {
    fail_unless (gst_vkgdr_memory_begin_access (memory, stream, flags, NULL));
    fail_unless (gst_vkgdr_function_launch (function, stream, 1, 1, 1, 64, 1, 1,
        0, (const guint8 *) &pointer, sizeof (pointer), NULL));
    fail_unless (gst_vkgdr_memory_end_access (memory, stream, flags, NULL));
  }
  bytes = test_device_bytes (memory);
  fail_unless (bytes[0] == 7 && bytes[63] == 7 && bytes[64] == 4);
}

/* A stream of another CUDA context is refused, and the memory stays as it is.
 */
TEST (another_cuda_context)
{
  g_autoptr (GstMemory) memory = test_memory_new (test_context, SIZE);
  g_autoptr (GstVkgdrFunction) function =
      test_function_new (test_context, "__global__ void nothing () {}");
  CUcontext own = NULL;
  GstVkgdrContext *other = test_other_context_new (&own);
  GstVkgdrStream *stream = test_stream_new (other);
  GError *error = NULL;

  test_write (memory, 3);
  fail_unless (!gst_vkgdr_memory_fill (memory, 0, SIZE, 0, stream, &error));
  test_assert_error (&error, GST_VKGDR_ERROR_ARGUMENT);
  fail_unless (
      !gst_vkgdr_mapping_new (memory, GST_MAP_READ, NULL, stream, &error));
  test_assert_error (&error, GST_VKGDR_ERROR_ARGUMENT);
  fail_unless (!gst_vkgdr_function_launch (
      function, stream, 1, 1, 1, 1, 1, 1, 0, NULL, 0, &error));
  test_assert_error (&error, GST_VKGDR_ERROR_ARGUMENT);
  fail_unless (gst_vkgdr_stream_synchronize (stream, NULL));
  test_assert_device (memory, 3);
  gst_object_unref (stream);
  gst_object_unref (other);
  fail_unless_equals_int (
      vkgdr_driver_load ()->cuCtxDestroy (own), CUDA_SUCCESS);
}

/* Calls functions that pipelines do not call, until the first error. */
static gboolean
run_all (GError **error)
{
  g_autoptr (GstVkgdrStream) stream = test_stream_new (test_context);
  g_autoptr (GstMemory) memory = test_memory_new (test_context, SIZE);
  g_autoptr (GstMemory) copy = test_memory_new (test_context, SIZE);
  g_autoptr (GstVkgdrMapping) mapping = NULL;

  return gst_vkgdr_memory_fill (memory, 0, SIZE, 0, stream, error)
         && gst_vkgdr_memory_copy_rect (
             copy, 0, 0, memory, 0, 0, SIZE, 1, stream, error)
         && gst_vkgdr_memory_copy_rect (
             copy, 0, 16, memory, 0, 16, 8, 8, stream, error)
         && (mapping = gst_vkgdr_mapping_new (
                 copy, GST_MAP_READ, NULL, stream, error))
         && gst_vkgdr_mapping_add_stream (mapping, stream, error)
         && gst_vkgdr_stream_synchronize (stream, error);
}

/* Each of these calls of the driver fails. */
TEST (calls_that_fail)
{
  static const gchar *const calls[] = { "cuMemcpyDtoDAsync", "cuMemcpy2DAsync",
    "cuEventRecord", "cuMemsetD8Async" };
  GError *error = NULL;
  guint i;

  if (!test_is_software ())
    return;
  for (i = 0; i < G_N_ELEMENTS (calls); i++) {
    g_autofree gchar *spec = g_strdup_printf ("%s:1+", calls[i]);

    test_make_calls_fail (spec);
    fail_if (run_all (&error), "%s", spec);
    test_make_calls_fail (NULL);
    test_assert_says (g_steal_pointer (&error), "CUDA_ERROR_UNKNOWN");
    fail_unless (run_all (NULL));
  }
}

/* gst_vkgdr_cuda_is_available () is called thousands of times while caps are
 * negotiated. */
TEST (cuda_library_is_seldom_looked_for)
{
  gboolean is_available = gst_vkgdr_cuda_is_available ();
  gint before = g_atomic_int_get (&n_searches);
  void *another;
  guint i;

  for (i = 0; i < 100; i++)
    fail_unless_equals_int (gst_vkgdr_cuda_is_available (), is_available);
  fail_unless_equals_int (g_atomic_int_get (&n_searches), before);
  /* If another library has been loaded, it may have loaded this one, too. */
  another = dlopen ("libanl.so.1", RTLD_LAZY);
  fail_unless (another != NULL, "%s", dlerror ());
  is_available = gst_vkgdr_cuda_is_available ();
  fail_unless_equals_int (
      g_atomic_int_get (&n_searches), is_available ? before : before + 1);
  dlclose (another);
}
