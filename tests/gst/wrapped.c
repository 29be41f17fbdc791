/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * wrapped.c: tests of device memory that another library owns, and of mappings
 * as objects
 *
 * The device memory is wrapped as a GstMemory, and returned to its owner when
 * it is not used any more. A mapping is an object, and a tensor holds one. The
 * owner here is the test itself.
 */

#include <dlpack/dlpack.h>

#include "gate.h"

#define SIZE 10000

/* The data of the owner: the memory, and how often it was released. */
typedef struct {
  GstMemory *storage;
  gint released; /* atomic */
  GstVkgdrAllocator *allocator;
} Owner;

static Owner owner;

static void
setup (void)
{
  test_setup_bar ();
  memset (&owner, 0, sizeof (owner));
  owner.storage = test_memory_new (test_context, SIZE);
  owner.allocator = test_allocator ();
  test_write (owner.storage, 1);
}

static void
teardown (void)
{
  gst_memory_unref (owner.storage);
  /* A thread of the library may hold references a little longer. */
  test_wait_for (GST_OBJECT_REFCOUNT_VALUE (owner.allocator) == 1);
  gst_object_unref (owner.allocator);
  test_teardown ();
}

/* A release function may use the allocator. In a process that ends while its
 * memory is in use, test_again () is how long it takes, in milliseconds. */
static void
release (gpointer data)
{
  const gchar *ending = test_again ();
  Owner *self = data;

  if (ending)
    g_usleep (1000 * g_ascii_strtoull (ending, NULL, 10));
  gst_memory_unref (test_memory_new (test_context, 100));
  g_atomic_int_inc (&self->released);
}

static GstMemory *
wrap (GstMemoryFlags flags)
{
  GError *error = NULL;
  GstMemory *memory = gst_vkgdr_allocator_alloc_wrapped (owner.allocator,
      gst_vkgdr_memory_get_device_pointer (owner.storage), SIZE, flags, release,
      &owner, &error);

  g_assert_no_error (error);
  return memory;
}

static gint
count_released (void)
{
  return g_atomic_int_get (&owner.released);
}

static void
wait_for_release (void)
{
  test_wait_for (count_released () > 0);
  fail_unless_equals_int (count_released (), 1);
}

TEST_PARALLEL (2);

/* --- memory of other libraries ------------------------------------------- */

TEST_FIXTURE (setup, teardown);

TEST (is_memory_beside_the_window)
{
  guint active = gst_vkgdr_allocator_get_active_blocks (owner.allocator);
  GstMemory *memory = wrap (0);

  fail_unless (gst_is_vkgdr_memory (memory));
  fail_unless (gst_vkgdr_memory_get_context (memory) == test_context);
  fail_unless_equals_uint64 (gst_vkgdr_memory_get_device_pointer (memory),
      gst_vkgdr_memory_get_device_pointer (owner.storage));
  fail_unless (gst_vkgdr_memory_get_host_pointer (memory) == NULL);
  gst_vkgdr_memory_set_access (memory, GST_VKGDR_ACCESS_DIRECT);
  test_assert_read (memory, 1);
  test_write (memory, 2);
  fail_unless_equals_int (gst_vkgdr_memory_get_write_times (memory, NULL, NULL),
      GST_VKGDR_ACCESS_STAGED);
  fail_unless_equals_int (
      gst_vkgdr_allocator_get_active_blocks (owner.allocator), active);
  gst_memory_unref (memory);
  wait_for_release ();
  test_assert_device (owner.storage, 2);
}

TEST (readonly_is_not_written)
{
  g_autoptr (GstMemory) memory = wrap (GST_MEMORY_FLAG_READONLY);
  GstMapInfo map;

  fail_if (gst_memory_map (memory, &map, GST_MAP_WRITE));
  fail_unless (gst_memory_map (memory, &map, GST_MAP_READ));
  gst_memory_unmap (memory, &map);
}

/* The first stream that uses the memory waits for work that the owner has
 * queued on another stream. With an old driver, the CPU waits. */
TEST_LOOP (its_owner_is_waited_for, 2)
{
  g_autoptr (GstVkgdrStream) theirs = test_stream_new (test_context);
  g_autoptr (GstVkgdrStream) ours = test_stream_new (test_context);
  g_autoptr (GstMemory) memory = wrap (0);
  gint done = FALSE;

  if (__i__ > 0)
    ((vkgdr_cuda *) vkgdr_driver_load ())->cuCtxRecordEvent = NULL;
  test_gate_delay (theirs, 100, &done);
  if (!vkgdr_driver_load ()->cuCtxRecordEvent)
    test_gate_set (TRUE);
  fail_unless (
      gst_vkgdr_memory_begin_access (memory, ours, GST_MAP_READ, NULL));
  fail_if (test_gate_was_missed (), "the CPU has waited");
  test_gate_set (TRUE);
  fail_unless (gst_vkgdr_stream_synchronize (ours, NULL));
  fail_unless (g_atomic_int_get (&done));
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
  vkgdr_cuda *table = (vkgdr_cuda *) vkgdr_driver_load ();

  real = *table;
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

/* After a wait that failed, the next mapping waits again. */
TEST (failed_wait_is_repeated)
{
  g_autoptr (GstVkgdrStream) theirs = test_stream_new (test_context);
  g_autoptr (GstMemory) memory = wrap (0);
  gint done = FALSE;
  GstMapInfo map;

  use_old_driver (1);
  test_stream_delay (theirs, 300, &done);
  fail_if (gst_memory_map (memory, &map, GST_MAP_READ | GST_MAP_VKGDR));
  fail_unless (gst_memory_map (memory, &map, GST_MAP_READ | GST_MAP_VKGDR));
  fail_unless (g_atomic_int_get (&done));
  gst_memory_unmap (memory, &map);
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

/* --- the end of the process ---------------------------------------------- */

TEST_FIXTURE (NULL, NULL);

/* An exit handler that is registered before those of the drivers, and so called
 * after them. */
static void
check_at_the_end (void)
{
  if (count_released () != 1)
    _exit (1);
}

/* The program ends while the device still reads. */
TEST_IF (end_too_early, test_again ())
{
  GstVkgdrStream *stream;
  GstMemory *memory;

  atexit (check_at_the_end);
  setup ();
  stream = test_stream_new (test_context);
  memory = wrap (0);
  test_gate_access (memory, stream, GST_MAP_READ, 300, NULL);
  gst_memory_unref (memory);
  fail_if (count_released () > 0);
  test_gate_set (TRUE);
  exit (0);
}

TEST_FIXTURE (setup, teardown);

/* Times in milliseconds. The last one is longer than the time for which the end
 * of the process waits for a device. */
static const gchar *endings[] = { "0", "3000" };

/* The thread that releases memory may hold the last reference to the device. It
 * has to finish before the exit handlers of the drivers run, however long it
 * takes. */
TEST_LOOP (nothing_is_released_after_the_end, G_N_ELEMENTS (endings))
{
  test_run_again ("end_too_early", endings[__i__]);
}

TEST (parts_keep_it)
{
  GstMemory *memory = wrap (0);
  g_autoptr (GstMemory) copy = gst_memory_copy (memory, 0, -1);
  GstMemory *part = gst_memory_share (memory, 100, 50);

  /* A copy is our own memory. */
  fail_unless (
      test_hides_vulkan () || gst_vkgdr_memory_get_host_pointer (copy) != NULL);
  fail_unless (gst_vkgdr_memory_wait_idle (copy, NULL));
  gst_memory_unref (memory);
  fail_unless_equals_int (count_released (), 0);
  gst_memory_unref (part);
  wait_for_release ();
  test_assert_device (copy, 1);
}

TEST (what_cannot_be_wrapped)
{
  guint64 pointer = gst_vkgdr_memory_get_device_pointer (owner.storage);
  gint host = 0;
  const struct {
    guint64 pointer;
    gsize size;
  } bad[] = {
    { 0, 1 },
    { pointer, 0 },
    { pointer + 8, 8 },
    { pointer, G_MAXSIZE },
    { pointer, G_GUINT64_CONSTANT (1) << 45 },
    { G_MAXUINT64, 2 },
    { (guintptr) &host, sizeof (host) },
  };
  guint i;

  for (i = 0; i < G_N_ELEMENTS (bad); i++) {
    GError *error = NULL;

    fail_if (gst_vkgdr_allocator_alloc_wrapped (owner.allocator, bad[i].pointer,
        bad[i].size, 0, release, &owner, &error));
    test_assert_error (&error, GST_VKGDR_ERROR_ARGUMENT);
  }
  fail_unless_equals_int (count_released (), 0);
}

TEST (release_function_is_optional)
{
  GstMemory *memory = gst_vkgdr_allocator_alloc_wrapped (owner.allocator,
      gst_vkgdr_memory_get_device_pointer (owner.storage), SIZE, 0, NULL, NULL,
      NULL);

  fail_unless (memory != NULL);
  gst_memory_unref (memory);
  fail_unless_equals_int (count_released (), 0);
}

/* --- mappings and tensors ------------------------------------------------ */

static GstVkgdrMapping *
map_storage (GstBuffer *buffer)
{
  GError *error = NULL;
  GstVkgdrMapping *mapping = gst_vkgdr_mapping_new (
      owner.storage, GST_MAP_READ | GST_MAP_VKGDR, buffer, NULL, &error);

  g_assert_no_error (error);
  return mapping;
}

TEST (mapping)
{
  g_autoptr (GstBuffer) buffer = gst_buffer_new ();
  g_autoptr (GstVkgdrMapping) mapping = NULL;
  GError *error = NULL;
  GstMapInfo map;

  gst_buffer_append_memory (buffer, gst_memory_ref (owner.storage));
  mapping = map_storage (buffer);
  ASSERT_BUFFER_REFCOUNT (buffer, "buffer", 2);
  fail_unless_equals_uint64 (gst_vkgdr_mapping_get_pointer (mapping),
      gst_vkgdr_memory_get_device_pointer (owner.storage));
  fail_unless_equals_uint64 (gst_vkgdr_mapping_get_size (mapping), SIZE);
  fail_unless (gst_vkgdr_mapping_get_memory (mapping) == owner.storage);
  fail_if (gst_memory_map (owner.storage, &map, GST_MAP_WRITE));
  gst_vkgdr_mapping_unref (gst_vkgdr_mapping_ref (mapping));
  gst_vkgdr_mapping_unmap (mapping);
  gst_vkgdr_mapping_unmap (mapping);
  ASSERT_BUFFER_REFCOUNT (buffer, "buffer", 1);
  fail_unless_equals_uint64 (gst_vkgdr_mapping_get_pointer (mapping), 0);
  fail_unless (gst_memory_map (owner.storage, &map, GST_MAP_WRITE));
  fail_if (
      gst_vkgdr_mapping_new (owner.storage, GST_MAP_READ, NULL, NULL, &error));
  test_assert_error (&error, GST_VKGDR_ERROR_ARGUMENT);
  gst_memory_unmap (owner.storage, &map);
}

TEST (tensor_there_and_back)
{
  const gint64 shape[] = { 100, 100 }, strides[] = { 100, 1 };
  GstVkgdrMapping *mapping = map_storage (NULL);
  DLManagedTensor *tensor = gst_vkgdr_mapping_to_dlpack (
      mapping, 0, shape, strides, 2, GST_VKGDR_ELEMENT_TYPE_UINT, 8, NULL);
  GstMemory *memory;
  GstMapInfo map;

  gst_vkgdr_mapping_unref (mapping);
  fail_unless (tensor != NULL);
  fail_unless_equals_int (tensor->dl_tensor.device.device_type, kDLCUDA);
  fail_unless_equals_int (tensor->dl_tensor.ndim, 2);
  fail_unless_equals_int (tensor->dl_tensor.dtype.code, kDLUInt);
  memory = gst_vkgdr_memory_new_from_dlpack (test_context, tensor, 0, NULL);
  fail_unless (memory != NULL);
  test_assert_device (memory, 1);
  fail_if (gst_memory_map (owner.storage, &map, GST_MAP_WRITE));
  gst_memory_unref (memory);
  fail_unless (gst_memory_map (owner.storage, &map, GST_MAP_WRITE));
  gst_memory_unmap (owner.storage, &map);
}

/* Consumers know no elements of 24, 40, 48 or 56 bits. */
TEST (elements_of_a_tensor)
{
  const gint64 shape[] = { 1 };
  g_autoptr (GstVkgdrMapping) mapping = map_storage (NULL);
  guint bits;

  for (bits = 0; bits <= 128; bits++) {
    gboolean is_known = bits == 8 || bits == 16 || bits == 32 || bits == 64;
    GError *error = NULL;
    DLManagedTensor *tensor = gst_vkgdr_mapping_to_dlpack (
        mapping, 0, shape, shape, 1, GST_VKGDR_ELEMENT_TYPE_UINT, bits, &error);

    fail_unless ((tensor != NULL) == is_known, "%u bits", bits);
    if (tensor)
      tensor->deleter (tensor);
    else
      g_assert_error (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_ARGUMENT);
    g_clear_error (&error);
  }
}

TEST (no_python_in_the_process)
{
  fail_unless (gst_vkgdr_dlpack_get_capsule_destructor () == NULL);
  fail_unless (gst_vkgdr_dlpack_get_capsule_destructor () == NULL);
}

TEST (tensor_without_deleter)
{
  gint64 shape[] = { SIZE };
  DLManagedTensor tensor = {
    .dl_tensor = {
        .data = (gpointer) (guintptr)
            gst_vkgdr_memory_get_device_pointer (owner.storage),
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
  fail_unless_equals_int (count_released (), 0);
}
