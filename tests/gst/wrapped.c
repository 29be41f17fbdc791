/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * wrapped.c: tests of device memory that another library owns
 *
 * The device memory is wrapped as a GstMemory, and returned to its owner when
 * it is not used any more. The owner here is the test itself.
 */

#include <dlpack/dlpack.h>

#include "gate.h"

#define SIZE 10000

/* What the owner has: the memory, and how often it was released. */
static GstMemory *storage;
static GstVkgdrAllocator *allocator;
static gint n_released; /* atomic */

static void
setup (void)
{
  test_setup_bar ();
  storage = test_memory_new (test_context, SIZE);
  allocator = test_allocator ();
  test_write (storage, 1);
}

static void
teardown (void)
{
  gst_memory_unref (storage);
  /* A thread of the library may hold references a little longer. */
  test_wait_for (GST_OBJECT_REFCOUNT_VALUE (allocator) == 1);
  gst_object_unref (allocator);
  test_teardown ();
}

/* A release function may use the allocator. */
static void
release (gpointer unused)
{
  gst_memory_unref (test_memory_new (test_context, 100));
  g_atomic_int_inc (&n_released);
}

static GstMemory *
wrap (GstMemoryFlags flags)
{
  GError *error = NULL;
  GstMemory *memory = gst_vkgdr_allocator_alloc_wrapped (allocator,
      gst_vkgdr_memory_get_device_pointer (storage), SIZE, flags, release, NULL,
      &error);

  g_assert_no_error (error);
  return memory;
}

static void
wait_for_release (void)
{
  test_wait_for (g_atomic_int_get (&n_released) > 0);
  fail_unless_equals_int (g_atomic_int_get (&n_released), 1);
}

TEST_PARALLEL (2);

/* --- memory of other libraries ------------------------------------------- */

TEST_FIXTURE (setup, teardown);

TEST (is_memory_beside_the_window)
{
  GstMemory *readonly = wrap (GST_MEMORY_FLAG_READONLY);
  guint active = gst_vkgdr_allocator_get_active_blocks (allocator);
  GstMemory *memory = wrap (0);
  GstMapInfo map;

  fail_unless (gst_is_vkgdr_memory (memory));
  fail_unless (gst_vkgdr_memory_get_context (memory) == test_context);
  fail_unless_equals_uint64 (gst_vkgdr_memory_get_device_pointer (memory),
      gst_vkgdr_memory_get_device_pointer (storage));
  fail_unless (gst_vkgdr_memory_get_host_pointer (memory) == NULL);
  gst_vkgdr_memory_set_access (memory, GST_VKGDR_ACCESS_DIRECT);
  test_assert_read (memory, 1);
  test_write (memory, 2);
  fail_unless_equals_int (gst_vkgdr_memory_get_write_times (memory, NULL, NULL),
      GST_VKGDR_ACCESS_STAGED);
  fail_unless_equals_int (
      gst_vkgdr_allocator_get_active_blocks (allocator), active);
  gst_memory_unref (memory);
  wait_for_release ();
  test_assert_device (storage, 2);
  fail_if (gst_memory_map (readonly, &map, GST_MAP_WRITE));
  test_assert_read (readonly, 2);
  gst_memory_unref (readonly);
}

/* A part keeps it, a copy does not need it. */
TEST (parts_keep_it)
{
  GstMemory *memory = wrap (0);
  g_autoptr (GstMemory) copy = gst_memory_copy (memory, 0, -1);
  GstMemory *part = gst_memory_share (memory, 100, 50);

  gst_memory_unref (memory);
  fail_unless (gst_vkgdr_memory_wait_idle (copy, NULL));
  fail_unless_equals_int (g_atomic_int_get (&n_released), 0);
  gst_memory_unref (part);
  wait_for_release ();
  test_assert_device (copy, 1);
}

TEST (what_cannot_be_wrapped)
{
  const guint64 pointer = gst_vkgdr_memory_get_device_pointer (storage);
  const guint64 bad[][2] = { { 0, 1 }, { pointer, 0 }, { pointer + 8, 8 },
    { pointer, G_MAXSIZE }, { G_MAXUINT64, 2 }, { (guintptr) &pointer, 8 } };
  guint i;

  for (i = 0; i < G_N_ELEMENTS (bad); i++) {
    GError *error = NULL;

    fail_if (gst_vkgdr_allocator_alloc_wrapped (
        allocator, bad[i][0], bad[i][1], 0, release, NULL, &error));
    test_assert_error (&error, GST_VKGDR_ERROR_ARGUMENT);
  }
  fail_unless_equals_int (g_atomic_int_get (&n_released), 0);
}

/* --- waits for the whole CUDA context, as older drivers need them -------- */

static gint n_waits; /* atomic; calls of cuCtxSynchronize () that have begun */
static gint n_failures; /* atomic; how many of the next calls fail */
static vkgdr_cuda real;

static gboolean
call_fails (void)
{
  gint n = g_atomic_int_get (&n_failures);

  if (n > 0 && n < G_MAXINT)
    g_atomic_int_add (&n_failures, -1);
  return n > 0;
}

static CUresult
failing_wait (void)
{
  g_atomic_int_inc (&n_waits);
  return call_fails () ? CUDA_ERROR_LAUNCH_FAILED : real.cuCtxSynchronize ();
}

static CUresult
failing_query (CUstream stream)
{
  return call_fails () ? CUDA_ERROR_LAUNCH_FAILED : real.cuStreamQuery (stream);
}

/* With G_MAXINT, the device is lost. Must be called before the library has
 * threads. */
static void
use_old_driver (gint failures)
{
  vkgdr_cuda *table = test_change_driver (&real);

  n_failures = failures;
  table->cuCtxSynchronize = failing_wait;
  table->cuStreamQuery = failing_query;
  table->cuCtxRecordEvent = NULL;
}

static gpointer
begin_reading (gpointer memory)
{
  g_autoptr (GstVkgdrStream) stream = test_stream_new (test_context);

  fail_unless (
      gst_vkgdr_memory_begin_access (memory, stream, GST_MAP_READ, NULL));
  return NULL;
}

/* The second of two readers waits for the owner's work, even if the first one
 * is already waiting. */
TEST (each_reader_waits_for_its_owner)
{
  g_autoptr (GstVkgdrStream) theirs = test_stream_new (test_context);
  g_autoptr (GstVkgdrStream) ours = test_stream_new (test_context);
  g_autoptr (GstMemory) memory = wrap (0);
  gint done = FALSE;
  GThread *other;

  use_old_driver (0);
  test_stream_delay (theirs, 500, &done);
  other = g_thread_new ("reader", begin_reading, memory);
  test_wait_for (g_atomic_int_get (&n_waits) > 0);
  fail_unless (
      gst_vkgdr_memory_begin_access (memory, ours, GST_MAP_READ, NULL));
  fail_unless (g_atomic_int_get (&done));
  g_thread_join (other);
}

/* The first stream that uses the memory waits for work that the owner has
 * queued on another stream. With an old driver (__i__ > 0), the CPU waits. If
 * this wait fails (2), the next use waits again. */
TEST_LOOP (its_owner_is_waited_for, 3)
{
  g_autoptr (GstVkgdrStream) theirs = test_stream_new (test_context);
  g_autoptr (GstVkgdrStream) ours = test_stream_new (test_context);
  g_autoptr (GstMemory) memory = wrap (0);
  gint done = FALSE;

  if (__i__ > 0)
    use_old_driver (__i__ - 1);
  test_gate_delay (theirs, 100, &done);
  if (!vkgdr_driver_load ()->cuCtxRecordEvent)
    test_gate_set (TRUE);
  if (__i__ == 2)
    fail_if (gst_vkgdr_memory_begin_access (memory, ours, GST_MAP_READ, NULL));
  fail_unless (
      gst_vkgdr_memory_begin_access (memory, ours, GST_MAP_READ, NULL));
  fail_if (test_gate_was_missed (), "the CPU has waited");
  test_gate_set (TRUE);
  fail_unless (gst_vkgdr_stream_synchronize (ours, NULL));
  fail_unless (g_atomic_int_get (&done));
}

/* No wait for a device that has failed succeeds, but the device does no more
 * work. So the owner gets its memory back. */
TEST (failed_device_gives_it_back)
{
  GstMemory *memory = wrap (0);

  use_old_driver (G_MAXINT);
  gst_memory_unref (memory);
  wait_for_release ();
  g_atomic_int_set (&n_failures, 0);
}

/* The memory is released when the device has finished, even if the allocator is
 * not used any more. */
TEST (device_finishes_before_it_is_given_back)
{
  g_autoptr (GstVkgdrStream) stream = test_stream_new (test_context);
  GstMemory *memory = wrap (0);
  gint done = FALSE;

  test_gate_access (memory, stream, GST_MAP_READ, 200, &done);
  gst_memory_unref (memory);
  test_gate_set (TRUE);
  wait_for_release ();
  fail_unless (g_atomic_int_get (&done));
}

/* The tensor's memory needs no function that releases it. */
TEST (tensor_without_deleter)
{
  gint64 shape[] = { SIZE };
  DLManagedTensor tensor = {
    .dl_tensor = {
        .data = (gpointer) (guintptr)
            gst_vkgdr_memory_get_device_pointer (storage),
        .device = { .device_type = kDLCUDA },
        .ndim = 1,
        .dtype = { .code = kDLUInt, .bits = 8, .lanes = 1 },
        .shape = shape,
    },
  };
  GstMemory *memory =
      gst_vkgdr_memory_new_from_dlpack (test_context, &tensor, 0, NULL);

  fail_unless (memory != NULL);
  test_assert_device (memory, 1);
  gst_memory_unref (memory);
  fail_unless_equals_int (g_atomic_int_get (&n_released), 0);
}
