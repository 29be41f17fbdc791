/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * hang.c: tests of the end of a hang: a kernel exceeds its time limit, and then
 * fails or ends after all
 *
 * No kernel runs. A test begins a launch without a kernel, or reports a hang
 * itself, and a gate holds other work of the device. So the test decides when
 * the device goes on.
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

/* Begins a kernel of @stream, and waits until it has exceeded its limit. */
static GstVkgdrLaunch *
begin_overdue (GstVkgdrStream *stream)
{
  GstVkgdrLaunch *launch;

  gst_vkgdr_stream_set_kernel_timeout (stream, LIMIT);
  launch = gst_vkgdr_launch_begin (stream, "endless", NULL);
  test_wait_for (is_hung ());
  return launch;
}

static const gchar *const failures[] = {
  "cuEventQuery:1+:CUDA_ERROR_LAUNCH_FAILED",
  "cuCtxPushCurrent:1+:CUDA_ERROR_LAUNCH_FAILED",
};

TEST_REQUIRE (test_require_software);

TEST_FIXTURE (test_setup_bar, test_teardown);

/* If the driver reports a failure of the kernel that did not end, or fails
 * itself, nothing hangs any more. So the device can be closed. */
TEST_LOOP (failure_ends_the_hang, G_N_ELEMENTS (failures))
{
  g_autoptr (GstVkgdrStream) stream = test_stream_new (test_context);
  GError *error = NULL;

  gst_vkgdr_launch_end (begin_overdue (stream), TRUE);
  gst_vkgdr_fence_unref (gst_vkgdr_stream_record (stream, NULL));
  test_make_calls_fail (failures[__i__]);
  test_wait_for (!is_hung ());
  test_make_calls_fail (NULL);

  /* The first error of the stream counts. */
  fail_if (gst_vkgdr_stream_check (stream, &error));
  test_assert_says (error, "\"endless\"");
}

/* The launch itself took longer than the limit, and has failed. */
TEST (failed_launch_ends_the_hang)
{
  g_autoptr (GstVkgdrStream) stream = test_stream_new (test_context);

  gst_vkgdr_launch_end (begin_overdue (stream), FALSE);
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

/* --- memory that is freed during a hang ---------------------------------- */

static vkgdr_cuda real; /* the driver's table before it is changed */
static gint n_freed;    /* atomic */

static CUresult
counted_free_host (void *pointer)
{
  g_atomic_int_inc (&n_freed);
  return real.cuMemFreeHost (pointer);
}

/* Makes a memory with a staging buffer, which @stream reads. */
static GstMemory *
make_busy_memory (GstVkgdrAllocator *allocator, GstVkgdrStream *stream)
{
  GstMemory *memory = gst_vkgdr_allocator_alloc (allocator, SIZE, NULL);
  GstMapInfo map;

  fail_unless (memory != NULL);
  gst_vkgdr_memory_set_access (memory, GST_VKGDR_ACCESS_STAGED);
  fail_unless (gst_memory_map (memory, &map, GST_MAP_WRITE));
  gst_memory_unmap (memory, &map);
  fail_unless (
      gst_vkgdr_memory_begin_access (memory, stream, GST_MAP_READ, NULL));
  fail_unless (
      gst_vkgdr_memory_end_access (memory, stream, GST_MAP_READ, NULL));
  return memory;
}

/* The last reference to an allocator is dropped while a kernel does not end and
 * the device may still use the memory. When the kernel has ended, all memory is
 * freed, and nothing holds the context. */
TEST (memory_is_freed_after_the_hang)
{
  vkgdr_cuda *table = (vkgdr_cuda *) vkgdr_driver_load ();
  GstVkgdrHealth *health = gst_vkgdr_context_get_health (test_context);
  GstVkgdrAllocator *allocator = gst_vkgdr_allocator_new (test_context);
  GstVkgdrStream *stream = test_stream_new (test_context);
  GstMemory *memories[3];
  guint i;

  real = *table;
  table->cuMemFreeHost = counted_free_host;
  test_gate_delay (stream, 0, NULL);
  for (i = 0; i < G_N_ELEMENTS (memories); i++)
    memories[i] = make_busy_memory (allocator, stream);
  begin_hang (health);
  for (i = 0; i < G_N_ELEMENTS (memories); i++)
    gst_memory_unref (memories[i]);
  gst_object_unref (allocator);
  fail_unless_equals_int (g_atomic_int_get (&n_freed), 0);
  fail_if (test_gate_was_missed ());

  test_gate_set (TRUE);
  gst_vkgdr_health_end_hang (health);
  gst_object_unref (stream);
  test_assert_last_ref (test_context);
  fail_unless_equals_int (g_atomic_int_get (&n_freed), G_N_ELEMENTS (memories));
}
