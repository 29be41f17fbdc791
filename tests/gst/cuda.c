/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * cuda.c: tests of devices, events, copies, modules, and mappings on a stream
 *
 * If a call of the driver fails, the library's function returns an error and
 * frees what it has allocated.
 */

#include <dlfcn.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include <glib/gstdio.h>

#include "gate.h"

#define SIZE 4096
#define FLOATS 256

static const gchar source[] =
    "__device__ int offset = 1;"
    "__global__ void scale (float *x, float factor, int n) {"
    "  int i = blockIdx.x * blockDim.x + threadIdx.x;"
    "  if (i < n) x[i] = x[i] * factor + offset; }"
    "__global__ void nothing () {}";

/* Has the layout of the parameters of scale (). */
typedef struct {
  guint64 x;
  gfloat factor;
  gint n;
} Arguments;

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

static GstVkgdrModule *
make_module (void)
{
  GError *error = NULL;
  GstVkgdrModule *module = gst_vkgdr_module_new_from_source (
      test_context, source, "the test's source", &error);

  fail_unless (module != NULL, "%s", error ? error->message : "");
  return module;
}

static gboolean
launch (GstVkgdrFunction *function, GstVkgdrStream *stream, GstMemory *memory,
    gfloat factor, GError **error)
{
  const Arguments arguments = { gst_vkgdr_memory_get_device_pointer (memory),
    factor, FLOATS };

  return gst_vkgdr_memory_begin_access (
             memory, stream, GST_MAP_READWRITE, error)
         && gst_vkgdr_function_launch (function, stream, FLOATS / 64, 1, 1, 64,
             1, 1, 0, (const guint8 *) &arguments, sizeof (arguments), error)
         && gst_vkgdr_memory_end_access (
             memory, stream, GST_MAP_READWRITE, error);
}

static void
assert_no_device (gboolean ok, GError **error)
{
  fail_if (ok);
  test_assert_error_says (
      error, GST_VKGDR_ERROR_ARGUMENT, "the context has no device");
}

TEST_FIXTURE (test_setup_bar, test_teardown);

/* A language binding can make such an object. */
TEST (context_that_was_not_opened)
{
  g_autoptr (GstVkgdrContext) context =
      g_object_new (GST_TYPE_VKGDR_CONTEXT, NULL);
  GstVkgdrAllocator *allocator;
  GError *error = NULL;
  guint i;

  gst_object_ref_sink (context);
  allocator = gst_vkgdr_allocator_new (context);
  assert_no_device (gst_vkgdr_context_push (context, &error), &error);
  assert_no_device (gst_vkgdr_stream_new (context, &error) != NULL, &error);
  assert_no_device (gst_vkgdr_context_synchronize (context, &error), &error);
  /* The error tells how much memory is in use, too. */
  fail_if (gst_vkgdr_allocator_alloc (allocator, SIZE, &error));
  test_assert_error_says (
      &error, GST_VKGDR_ERROR_NO_MEMORY, "the context has no device");
  assert_no_device (gst_vkgdr_module_new_from_source (
                        context, "__global__ void f () {}", "f", &error)
                        != NULL,
      &error);
  assert_no_device (gst_vkgdr_kernel_new_from_source (context,
                        "__global__ void f () {}", "f", NULL, NULL, &error)
                        != NULL,
      &error);
  gst_object_unref (allocator);
  fail_if (gst_vkgdr_context_get_cuda_context (context));
  for (i = 0; i < 2; i++)
    g_test_expect_message (
        "GStreamer-Vkgdr", G_LOG_LEVEL_CRITICAL, "*CONTEXT_IS_MADE*failed");
  fail_if (gst_vkgdr_context_describe (context));
  gst_vkgdr_context_pop (context);
  g_test_assert_expected_messages ();
}

/* A consumer queues work on its own stream, which it has added to the mapping
 * (__i__ is 0), or on the stream of the mapping (1). The next user of the
 * memory waits for this work. The thread that removes the mapping does not
 * wait. */
TEST_LOOP (mapping_on_a_stream, 2)
{
  g_autoptr (GstVkgdrStream) stream = test_stream_new (test_context);
  g_autoptr (GstVkgdrStream) consumer = test_stream_new (test_context),
                             wrapped = NULL;
  g_autoptr (GstMemory) memory = test_memory_new (test_context, SIZE);
  GstVkgdrMapping *mapping;
  GError *error = NULL;
  gint done = FALSE;
  GstMapInfo map;

  wrapped = gst_vkgdr_stream_new_wrapped (
      test_context, gst_vkgdr_stream_get_handle (consumer), &error);
  fail_unless (wrapped != NULL);
  mapping = gst_vkgdr_mapping_new (memory, GST_MAP_READ, NULL, stream, &error);
  fail_unless (mapping != NULL);
  fail_unless (!gst_memory_map (memory, &map, GST_MAP_WRITE));
  fail_unless (gst_vkgdr_mapping_add_stream (mapping, wrapped, &error));
  test_gate_delay (__i__ == 0 ? consumer : stream, 100, &done);
  gst_vkgdr_mapping_unmap (mapping);
  gst_vkgdr_mapping_unref (mapping);
  fail_unless (!gst_vkgdr_memory_is_idle (memory));
  fail_unless (!g_atomic_int_get (&done));

  test_gate_set (TRUE);
  fail_unless (gst_memory_map (memory, &map, GST_MAP_WRITE));
  fail_unless (g_atomic_int_get (&done));
  gst_memory_unmap (memory, &map);
}

/* There are two context objects for the primary CUDA context of one device.
 * A stream of one of them can use memory and functions of the other one, and
 * the work stays in order. */
TEST (two_contexts_of_one_device)
{
  g_autoptr (GstVkgdrContext) other = test_context_new ();
  g_autoptr (GstVkgdrStream) stream = test_stream_new (other);
  g_autoptr (GstMemory) memory = test_memory_new (test_context, SIZE);
  g_autoptr (GstVkgdrModule) module = make_module ();
  g_autoptr (GstVkgdrFunction) scale =
      gst_vkgdr_module_get_function (module, "scale", NULL);
  GstVkgdrMapping *mapping;
  GError *error = NULL;
  g_autofree gfloat *bytes = NULL;
  guint i;

  fail_unless (other != test_context);
  test_stream_delay (stream, 20, NULL);
  fail_unless (gst_vkgdr_memory_fill (memory, 0, SIZE, 0, stream, NULL));
  for (i = 0; i < 3; i++)
    fail_unless (launch (scale, stream, memory, 2, NULL));
  mapping = gst_vkgdr_mapping_new (memory, GST_MAP_READ, NULL, stream, &error);
  g_assert_no_error (error);
  gst_vkgdr_mapping_unref (mapping);

  bytes = (gfloat *) test_device_bytes (memory);
  fail_unless (bytes[0] == 7 && bytes[FLOATS - 1] == 7);
}

/* Returns the stream capture mode of this thread. */
static CUstreamCaptureMode
get_capture_mode (void)
{
  const vkgdr_cuda *cuda = vkgdr_driver_load ();
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL, ignored;

  fail_unless_equals_int (
      cuda->cuThreadExchangeStreamCaptureMode (&mode), CUDA_SUCCESS);
  ignored = mode;
  fail_unless_equals_int (
      cuda->cuThreadExchangeStreamCaptureMode (&ignored), CUDA_SUCCESS);
  return mode;
}

/* The library's calls are allowed while another thread captures a graph.
 * Outside of them, the thread has its own mode. */
TEST (capture_mode)
{
  const vkgdr_cuda *cuda = vkgdr_driver_load ();
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;

  if (!cuda->cuThreadExchangeStreamCaptureMode)
    return;
  fail_unless_equals_int (
      cuda->cuThreadExchangeStreamCaptureMode (&mode), CUDA_SUCCESS);
  fail_unless (gst_vkgdr_context_push (test_context, NULL));
  fail_unless_equals_int (get_capture_mode (), CU_STREAM_CAPTURE_MODE_RELAXED);
  fail_unless (gst_vkgdr_context_push (test_context, NULL));
  gst_vkgdr_context_pop (test_context);
  fail_unless_equals_int (get_capture_mode (), CU_STREAM_CAPTURE_MODE_RELAXED);
  gst_vkgdr_context_pop (test_context);
  fail_unless_equals_int (
      get_capture_mode (), CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
}

/* A stream of another CUDA context is refused, and the memory stays as it is.
 */
TEST (another_cuda_context)
{
  g_autoptr (GstMemory) memory = test_memory_new (test_context, SIZE);
  g_autoptr (GstVkgdrModule) module = make_module ();
  g_autoptr (GstVkgdrFunction) scale =
      gst_vkgdr_module_get_function (module, "scale", NULL);
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
      scale, stream, 1, 1, 1, 1, 1, 1, 0, (const guint8 *) "", 0, &error));
  test_assert_error (&error, GST_VKGDR_ERROR_ARGUMENT);
  fail_unless (gst_vkgdr_stream_synchronize (stream, NULL));
  test_assert_device (memory, 3);
  gst_object_unref (stream);
  gst_object_unref (other);
  fail_unless_equals_int (
      vkgdr_driver_load ()->cuCtxDestroy (own), CUDA_SUCCESS);
}

/* Calls functions of all kinds, until the first error. */
static gboolean
run_all (GError **error)
{
  g_autoptr (GstVkgdrStream) stream =
      gst_vkgdr_stream_new (test_context, error);
  g_autoptr (GstVkgdrAllocator) allocator = test_allocator ();
  g_autoptr (GstVkgdrModule) module = NULL;
  g_autoptr (GstVkgdrFunction) function = NULL;
  g_autoptr (GstVkgdrMapping) mapping = NULL;
  g_autoptr (GstMemory) memory = NULL, copy = NULL;
  guint8 host[64] = { 0 };

  return stream
         && (module = gst_vkgdr_module_new_from_source (
                 test_context, source, NULL, error))
         && (function = gst_vkgdr_module_get_function (module, "scale", error))
         && (memory = gst_vkgdr_allocator_alloc (allocator, SIZE, error))
         && (copy = gst_vkgdr_allocator_alloc (allocator, SIZE, error))
         && gst_vkgdr_memory_fill (memory, 0, SIZE, 0, stream, error)
         && launch (function, stream, memory, 1, error)
         && gst_vkgdr_memory_copy_rect (
             copy, 0, 0, memory, 0, 0, SIZE, 1, stream, error)
         && gst_vkgdr_memory_copy_rect (
             copy, 0, 16, memory, 0, 16, 8, 8, stream, error)
         && gst_vkgdr_memory_upload (
             copy, 0, host, sizeof (host), stream, error)
         && (mapping = gst_vkgdr_mapping_new (
                 copy, GST_MAP_READ, NULL, stream, error))
         && gst_vkgdr_mapping_add_stream (mapping, stream, error)
         && gst_vkgdr_stream_synchronize (stream, error);
}

/* Each of these calls of the driver fails once: the first time that it is made,
 * or the second time, and so on. */
TEST (calls_that_fail)
{
  static const gchar *const calls[] = { "cuCtxPushCurrent", "cuStreamCreate",
    "cuEventCreate", "cuEventRecord", "cuStreamWaitEvent", "cuModuleLoadDataEx",
    "cuModuleGetFunction", "cuMemsetD8Async", "cuLaunchKernel",
    "cuMemcpyDtoDAsync", "cuMemcpy2DAsync", "cuEventQuery", "cuStreamQuery" };
  GError *error = NULL;
  guint i, n, failed = 0;

  if (!test_is_software ())
    return;
  fail_unless (run_all (&error), "%s", error ? error->message : "");
  for (i = 0; i < G_N_ELEMENTS (calls); i++) {
    for (n = 1; n <= 12; n++) {
      g_autofree gchar *spec = g_strdup_printf ("%s:%u:2", calls[i], n);
      gboolean ok;

      test_make_calls_fail (spec);
      ok = run_all (&error);
      test_make_calls_fail (NULL);
      fail_unless (ok == (error == NULL), "%s", spec);
      if (error)
        fail_unless (strstr (error->message, calls[i]) != NULL
                         || strstr (error->message, "cuMemset") != NULL
                         || strstr (error->message, "copy between") != NULL,
            "%s: %s", spec, error->message);
      failed += error != NULL;
      g_clear_error (&error);
    }
  }
  fail_unless (failed > (test_is_slow () ? 10 : 20), "%u", failed);
  fail_unless (run_all (&error), "%s", error ? error->message : "");
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
