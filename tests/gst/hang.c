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

static void
wait_until_hung (gboolean hung)
{
  test_wait_for (is_hung () == hung);
}

/* --- a kernel that fails -------------------------------------------------- */

typedef enum { NOTHING, QUERY, PUSH } Failure;

static vkgdr_cuda real; /* the driver's table before it is changed */
static gint failing;    /* the Failure of the driver now; atomic */
static gint n_releases; /* of the CUDA context; atomic */

static CUresult
failing_query (CUevent event)
{
  return g_atomic_int_get (&failing) == QUERY ? CUDA_ERROR_LAUNCH_FAILED
                                              : real.cuEventQuery (event);
}

static CUresult
failing_push (CUcontext context)
{
  return g_atomic_int_get (&failing) == PUSH ? CUDA_ERROR_LAUNCH_FAILED
                                             : real.cuCtxPushCurrent (context);
}

static CUresult
counted_release (CUdevice device)
{
  g_atomic_int_inc (&n_releases);
  return real.cuDevicePrimaryCtxRelease (device);
}

/* Must be called before the library has threads. */
static void
replace_calls (void)
{
  vkgdr_cuda *table = (vkgdr_cuda *) vkgdr_driver_load ();

  real = *table;
  table->cuEventQuery = failing_query;
  table->cuCtxPushCurrent = failing_push;
  table->cuDevicePrimaryCtxRelease = counted_release;
}

/* Begins a kernel of @stream, and waits until it has exceeded its limit. */
static GstVkgdrLaunch *
begin_overdue (GstVkgdrStream *stream)
{
  GstVkgdrLaunch *launch;

  gst_vkgdr_stream_set_kernel_timeout (stream, LIMIT);
  launch = gst_vkgdr_launch_begin (stream, "endless", NULL);
  wait_until_hung (TRUE);
  return launch;
}

static const Failure failures[] = { QUERY, PUSH };

TEST_FIXTURE (test_setup_bar, NULL);

/* If the driver reports a failure of the kernel that did not end, or fails
 * itself, nothing hangs any more. So the device can be closed. */
TEST_LOOP (failure_ends_the_hang, G_N_ELEMENTS (failures))
{
  GstVkgdrStream *stream = test_stream_new (test_context);
  GError *error = NULL;

  replace_calls ();
  gst_vkgdr_launch_end (begin_overdue (stream), TRUE);
  gst_vkgdr_fence_unref (gst_vkgdr_stream_record (stream, NULL));
  g_atomic_int_set (&failing, failures[__i__]);
  wait_until_hung (FALSE);
  g_atomic_int_set (&failing, NOTHING);

  /* The first error of the stream counts. */
  fail_if (gst_vkgdr_stream_check (stream, &error));
  test_assert_says (error, "\"endless\"");
  gst_object_unref (stream);
  test_teardown ();
  fail_unless_equals_int (g_atomic_int_get (&n_releases), 1);
}

/* The launch itself took longer than the limit, and has failed. */
TEST (failed_launch_ends_the_hang)
{
  GstVkgdrStream *stream = test_stream_new (test_context);

  gst_vkgdr_launch_end (begin_overdue (stream), FALSE);
  wait_until_hung (FALSE);
  gst_object_unref (stream);
  test_teardown ();
}

#define HANG "a kernel does not end"

static void
begin_hang (GstVkgdrHealth *health)
{
  g_autoptr (GError) error =
      g_error_new_literal (GST_VKGDR_ERROR, GST_VKGDR_ERROR_FAILED, HANG);

  gst_vkgdr_health_begin_hang (health, error);
}

static gint n_waits; /* for the whole CUDA context; atomic */

static CUresult
counted_synchronize (void)
{
  g_atomic_int_inc (&n_waits);
  return CUDA_SUCCESS;
}

/* With an older driver, a wait for the whole CUDA context cannot be given up.
 * So it is not begun while a kernel does not end. */
TEST (old_driver_does_not_wait)
{
  vkgdr_cuda *table = (vkgdr_cuda *) vkgdr_driver_load ();
  GstVkgdrHealth *health = gst_vkgdr_context_get_health (test_context);
  GError *error = NULL;

  table->cuCtxRecordEvent = NULL;
  table->cuCtxSynchronize = counted_synchronize;
  begin_hang (health);
  fail_if (gst_vkgdr_context_synchronize (test_context, &error));
  test_assert_says (error, HANG);
  fail_unless_equals_int (g_atomic_int_get (&n_waits), 0);

  gst_vkgdr_health_end_hang (health);
  fail_unless (gst_vkgdr_context_synchronize (test_context, NULL));
  fail_unless_equals_int (g_atomic_int_get (&n_waits), 1);
  test_teardown ();
}

/* --- memory that is freed during a hang ---------------------------------- */

static gint n_freed; /* atomic */

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
  test_teardown ();
  fail_unless_equals_int (g_atomic_int_get (&n_freed), G_N_ELEMENTS (memories));
}
