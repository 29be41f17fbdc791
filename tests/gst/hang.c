/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * hang.c: tests of the end of a hang: a kernel exceeds its time limit, and then
 * fails or ends after all
 *
 * No kernel runs. A test begins a launch without a kernel, or reports a hang
 * itself. So the test decides when the device goes on.
 */

#include "gate.h"
#include "sync/sync-private.h"
#include "sync/stream.h"

#define SIZE 10000

/* The time limit of the kernel, in milliseconds. */
#define LIMIT 20

static gboolean
is_hung (void)
{
  return gst_vkgdr_health_is_hung (gst_vkgdr_context_get_health (test_context));
}

/* --- a kernel that fails ------------------------------------------------- */

TEST_REQUIRE (test_require_software);

TEST_FIXTURE (test_setup_bar, test_teardown);

/* If the driver reports a failure of the kernel that did not end, or fails
 * itself, nothing hangs any more. So the device can be closed. __i__ is the
 * call that fails. */
TEST_LOOP (failure_ends_the_hang, 2)
{
  g_autoptr (GstVkgdrStream) stream = test_stream_new (test_context);
  GstVkgdrFence *launch;
  GError *error = NULL;

  gst_vkgdr_stream_set_kernel_timeout (stream, LIMIT);
  launch = gst_vkgdr_launch_begin (stream, "endless", NULL);
  test_wait_for (is_hung ());
  gst_vkgdr_launch_end (launch, TRUE, NULL);
  test_make_calls_fail (__i__ ? "cuEventQuery:1+:CUDA_ERROR_LAUNCH_FAILED"
                              : "cuCtxPushCurrent:1+:CUDA_ERROR_LAUNCH_FAILED");
  test_wait_for (!is_hung ());
  test_make_calls_fail (NULL);

  /* The first error of the stream counts. */
  fail_if (gst_vkgdr_stream_check (stream, &error));
  test_assert_says (error, "\"endless\"");
}

static CUresult
fail_late (void)
{
  test_wait_for (is_hung ());
  return CUDA_ERROR_NOT_READY;
}

/* The launch itself takes longer than the limit, and then fails. It is
 * withdrawn. */
TEST (failed_launch_ends_the_hang)
{
  g_autoptr (GstVkgdrStream) stream = test_stream_new (test_context);
  g_autoptr (GstVkgdrFunction) function =
      test_function_new (test_context, "__global__ void nothing () {}");
  vkgdr_cuda *table = (vkgdr_cuda *) vkgdr_driver_load ();
  GError *error = NULL;

  gst_vkgdr_stream_set_kernel_timeout (stream, LIMIT);
  *(void **) &table->cuLaunchKernel = fail_late;
  fail_if (gst_vkgdr_function_launch (
      function, stream, 1, 1, 1, 1, 1, 1, 0, NULL, 0, &error));
  test_assert_says (error, "CUDA_ERROR_NOT_READY|nothing");
  test_wait_for (!is_hung ());
}

#define HANG "a kernel does not end"

static void
begin_hang (GstVkgdrHealth *health)
{
  g_autoptr (GError) error =
      g_error_new_literal (GST_VKGDR_ERROR, GST_VKGDR_ERROR_FAILED, HANG);

  gst_vkgdr_health_begin_hang (health, error);
}

/* With an older driver, a wait for the whole CUDA context cannot be given up.
 * So it is not begun while a kernel does not end. */
TEST (old_driver_does_not_wait)
{
  GstVkgdrHealth *health = gst_vkgdr_context_get_health (test_context);
  gulong n = test_count_calls ("cuCtxSynchronize");
  GError *error = NULL;

  ((vkgdr_cuda *) vkgdr_driver_load ())->cuCtxRecordEvent = NULL;
  begin_hang (health);
  fail_if (gst_vkgdr_context_synchronize (test_context, &error));
  test_assert_says (error, HANG);
  fail_unless_equals_int (test_count_calls ("cuCtxSynchronize"), n);

  gst_vkgdr_health_end_hang (health);
  fail_unless (gst_vkgdr_context_synchronize (test_context, NULL));
  fail_unless_equals_int (test_count_calls ("cuCtxSynchronize"), n + 1);
}

/* --- what is freed during a hang ----------------------------------------- */

static vkgdr_cuda real;         /* the driver's table before it is changed */
static GstVkgdrStream *hanging; /* the stream of the endless kernel */
static gint is_waiting;         /* a call waits for the device; atomic */

static void
wait_for_error (void)
{
  test_wait_for (!gst_vkgdr_stream_check (hanging, NULL));
}

static CUresult
unload_behind_kernel (CUmodule module)
{
  g_atomic_int_set (&is_waiting, TRUE);
  wait_for_error ();
  g_atomic_int_set (&is_waiting, FALSE);
  return real.cuModuleUnload (module);
}

static CUresult
record_behind_others (CUevent event, CUstream stream)
{
  if (g_atomic_int_get (&is_waiting))
    wait_for_error ();
  return real.cuEventRecord (event, stream);
}

/* A call that frees something waits for a kernel that does not end. The driver
 * lets calls of other threads that queue work wait, too. The kernel exceeds its
 * limit all the same. */
TEST (frees_do_not_hide_the_hang)
{
  g_autoptr (GstVkgdrStream) stream = test_stream_new (test_context);
  GstVkgdrFunction *function =
      test_function_new (test_context, "__global__ void nothing () {}");
  vkgdr_cuda *table = test_change_driver (&real);
  GstVkgdrFence *launch;
  GError *error = NULL;

  hanging = stream;
  table->cuModuleUnload = unload_behind_kernel;
  table->cuEventRecord = record_behind_others;
  gst_vkgdr_stream_set_kernel_timeout (stream, LIMIT);
  launch = gst_vkgdr_launch_begin (stream, "endless", NULL);
  gst_object_unref (function);
  test_wait_for (g_atomic_int_get (&is_waiting));
  gst_vkgdr_launch_end (launch, TRUE, NULL);
  wait_for_error ();
  fail_if (gst_vkgdr_stream_check (stream, &error));
  test_assert_says (error, "\"endless\"");
  test_wait_for (!g_atomic_int_get (&is_waiting) && !is_hung ());
}

static gint n_freed; /* atomic */

static CUresult
counted_free_host (void *pointer)
{
  g_atomic_int_inc (&n_freed);
  return real.cuMemFreeHost (pointer);
}

/* The last references to a memory and its allocator are dropped while a kernel
 * does not end and the device may still use the memory and its staging buffer.
 * When the kernel has ended, all memory is freed, and nothing holds the
 * context. */
TEST (memory_is_freed_after_the_hang)
{
  GstVkgdrHealth *health = gst_vkgdr_context_get_health (test_context);
  GstVkgdrAllocator *allocator = gst_vkgdr_allocator_new (test_context);
  GstVkgdrStream *stream = test_stream_new (test_context);
  GstMemory *memory = gst_vkgdr_allocator_alloc (allocator, SIZE, NULL);

  test_change_driver (&real)->cuMemFreeHost = counted_free_host;
  test_gate_delay (stream, 0, NULL);
  gst_vkgdr_memory_set_access (memory, GST_VKGDR_ACCESS_STAGED);
  test_write (memory, 1);
  fail_unless (
      gst_vkgdr_memory_begin_access (memory, stream, GST_MAP_READ, NULL));
  fail_unless (
      gst_vkgdr_memory_end_access (memory, stream, GST_MAP_READ, NULL));
  begin_hang (health);
  gst_memory_unref (memory);
  gst_object_unref (allocator);
  fail_unless_equals_int (g_atomic_int_get (&n_freed), 0);
  fail_if (test_gate_was_missed ());

  test_gate_set (TRUE);
  gst_vkgdr_health_end_hang (health);
  gst_object_unref (stream);
  test_assert_last_ref (test_context);
  fail_unless_equals_int (g_atomic_int_get (&n_freed), 1);
}
