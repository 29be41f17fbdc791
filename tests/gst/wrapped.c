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

/* Waits until a thread of the library has released its references. */
static void
wait_for (gboolean (*condition) (void))
{
  test_wait_for (condition ());
}

static gboolean
allocator_is_ours (void)
{
  return GST_OBJECT_REFCOUNT_VALUE (owner.allocator) == 1;
}

static void
teardown (void)
{
  gst_memory_unref (owner.storage);
  wait_for (allocator_is_ours);
  gst_object_unref (owner.allocator);
  test_teardown ();
}

/* A release function may use the allocator. In a process that ends while its
 * memory is in use, the value of test_again () is how long the function takes,
 * in milliseconds.
 */
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

  fail_unless (memory != NULL, "%s", error ? error->message : "");
  return memory;
}

static gboolean
is_released (void)
{
  return g_atomic_int_get (&owner.released) == 1;
}

static guint
count_released (void)
{
  return g_atomic_int_get (&owner.released);
}

TEST_PARALLEL (2);

/* --- memory of other libraries ------------------------------------------- */

TEST_FIXTURE (setup, teardown);

TEST (is_memory_beside_the_window)
{
  guint active = gst_vkgdr_allocator_get_active_blocks (owner.allocator);
  GstMemory *memory = wrap (0);
  GstMapInfo map;

  fail_unless (gst_is_vkgdr_memory (memory));
  fail_unless (gst_vkgdr_memory_get_context (memory) == test_context);
  fail_unless_equals_uint64 (gst_vkgdr_memory_get_device_pointer (memory),
      gst_vkgdr_memory_get_device_pointer (owner.storage));
  fail_unless (gst_vkgdr_memory_get_host_pointer (memory) == NULL);
  gst_vkgdr_memory_set_access (memory, GST_VKGDR_ACCESS_DIRECT);
  fail_unless (gst_memory_map (memory, &map, GST_MAP_WRITE));
  gst_memory_unmap (memory, &map);
  fail_unless_equals_int (gst_vkgdr_memory_get_write_times (memory, NULL, NULL),
      GST_VKGDR_ACCESS_STAGED);
  fail_unless_equals_int (
      gst_vkgdr_allocator_get_active_blocks (owner.allocator), active);
  gst_memory_unref (memory);
  wait_for (is_released);
}

TEST (cpu_reads_and_writes_it)
{
  GstMemory *memory = wrap (0);

  test_assert_read (memory, 1);
  test_write (memory, 2);
  gst_memory_unref (memory);
  fail_unless (gst_vkgdr_context_synchronize (test_context, NULL));
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
static CUresult (*real_wait) (void);

static CUresult
counted_wait (void)
{
  g_atomic_int_inc (&n_waits);
  if (g_atomic_int_get (&n_failures) > 0) {
    g_atomic_int_add (&n_failures, -1);
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  return real_wait ();
}

static void
count_waits (gint failures)
{
  vkgdr_cuda *table = (vkgdr_cuda *) vkgdr_driver_load ();

  n_waits = 0;
  n_failures = failures;
  real_wait = table->cuCtxSynchronize;
  table->cuCtxSynchronize = counted_wait;
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

  count_waits (0);
  test_stream_delay (theirs, 500, &done);
  other = g_thread_new ("reader", begin_reading, memory);
  while (g_atomic_int_get (&n_waits) == 0)
    g_usleep (1000);
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

  count_waits (1);
  test_stream_delay (theirs, 300, &done);
  fail_if (gst_memory_map (memory, &map, GST_MAP_READ | GST_MAP_VKGDR));
  fail_unless (gst_memory_map (memory, &map, GST_MAP_READ | GST_MAP_VKGDR));
  fail_unless (g_atomic_int_get (&done));
  gst_memory_unmap (memory, &map);
}

static CUresult (*real_query) (CUstream stream);
static gint is_lost; /* atomic */

static CUresult
lost_wait (void)
{
  return g_atomic_int_get (&is_lost) ? CUDA_ERROR_LAUNCH_FAILED : real_wait ();
}

static CUresult
lost_query (CUstream stream)
{
  return g_atomic_int_get (&is_lost) ? CUDA_ERROR_LAUNCH_FAILED
                                     : real_query (stream);
}

/* Must be called before the library has threads. */
static void
lose_device (void)
{
  vkgdr_cuda *table = (vkgdr_cuda *) vkgdr_driver_load ();

  real_wait = table->cuCtxSynchronize;
  real_query = table->cuStreamQuery;
  table->cuCtxSynchronize = lost_wait;
  table->cuStreamQuery = lost_query;
  table->cuCtxRecordEvent = NULL;
  is_lost = TRUE;
}

/* No wait for a device that has failed succeeds, but the device does no more
 * work. So the owner gets its memory back. */
TEST (failed_device_gives_it_back)
{
  GstMemory *memory = wrap (0);

  lose_device ();
  gst_memory_unref (memory);
  wait_for (is_released);
  g_atomic_int_set (&is_lost, FALSE);
}

/* The memory is released when the device has finished, even if the allocator is
 * not used any more. */
TEST (device_finishes_before_it_is_given_back)
{
  g_autoptr (GstVkgdrStream) stream = test_stream_new (test_context);
  GstMemory *memory = wrap (0);
  gint done = FALSE;

  fail_unless (
      gst_vkgdr_memory_begin_access (memory, stream, GST_MAP_READ, NULL));
  test_stream_delay (stream, 200, &done);
  fail_unless (
      gst_vkgdr_memory_end_access (memory, stream, GST_MAP_READ, NULL));
  gst_memory_unref (memory);
  wait_for (is_released);
  fail_unless (g_atomic_int_get (&done));
}

/* --- the end of the process ---------------------------------------------- */

TEST_FIXTURE (NULL, NULL);

/* An exit handler that is registered before those of the drivers, and so called
 * after them. */
static void
check_at_the_end (void)
{
  if (!is_released ())
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
  fail_unless (
      gst_vkgdr_memory_begin_access (memory, stream, GST_MAP_READ, NULL));
  test_gate_delay (stream, 300, NULL);
  fail_unless (
      gst_vkgdr_memory_end_access (memory, stream, GST_MAP_READ, NULL));
  gst_memory_unref (memory);
  fail_if (is_released ());
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
  GstMemory *part = gst_memory_share (memory, 100, 50);

  gst_memory_unref (memory);
  fail_unless_equals_int (count_released (), 0);
  gst_memory_unref (part);
  wait_for (is_released);
}

TEST (copies_are_our_own)
{
  GstMemory *memory = wrap (0);
  g_autoptr (GstMemory) copy = gst_memory_copy (memory, 0, -1);

  fail_unless (copy != NULL);
  fail_unless (
      test_hides_vulkan () || gst_vkgdr_memory_get_host_pointer (copy) != NULL);
  fail_unless (gst_vkgdr_memory_wait_idle (copy, NULL));
  gst_memory_unref (memory);
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

TEST (mapping)
{
  GError *error = NULL;
  GstVkgdrMapping *mapping = gst_vkgdr_mapping_new (
      owner.storage, GST_MAP_READ | GST_MAP_VKGDR, NULL, NULL, &error);
  GstMapInfo map;

  fail_unless (mapping != NULL);
  fail_unless_equals_uint64 (gst_vkgdr_mapping_get_pointer (mapping),
      gst_vkgdr_memory_get_device_pointer (owner.storage));
  fail_unless_equals_uint64 (gst_vkgdr_mapping_get_size (mapping), SIZE);
  fail_unless (gst_vkgdr_mapping_get_memory (mapping) == owner.storage);
  fail_if (gst_memory_map (owner.storage, &map, GST_MAP_WRITE));
  gst_vkgdr_mapping_ref (mapping);
  gst_vkgdr_mapping_unmap (mapping);
  gst_vkgdr_mapping_unmap (mapping);
  fail_unless_equals_uint64 (gst_vkgdr_mapping_get_pointer (mapping), 0);
  fail_unless (gst_memory_map (owner.storage, &map, GST_MAP_WRITE));
  fail_if (
      gst_vkgdr_mapping_new (owner.storage, GST_MAP_READ, NULL, NULL, &error));
  test_assert_error (&error, GST_VKGDR_ERROR_ARGUMENT);
  gst_memory_unmap (owner.storage, &map);
  gst_vkgdr_mapping_unref (mapping);
  gst_vkgdr_mapping_unref (mapping);
}

TEST (mapping_keeps_the_buffer)
{
  g_autoptr (GstBuffer) buffer = gst_buffer_new ();
  g_autoptr (GstVkgdrMapping) mapping = NULL;

  gst_buffer_append_memory (buffer, gst_memory_ref (owner.storage));
  mapping =
      gst_vkgdr_mapping_new (owner.storage, GST_MAP_READ, buffer, NULL, NULL);
  fail_unless (mapping != NULL);
  ASSERT_BUFFER_REFCOUNT (buffer, "buffer", 2);
  gst_vkgdr_mapping_unmap (mapping);
  ASSERT_BUFFER_REFCOUNT (buffer, "buffer", 1);
}

TEST (tensor_there_and_back)
{
  const gint64 shape[] = { 100, 100 }, strides[] = { 100, 1 };
  GstVkgdrMapping *mapping = gst_vkgdr_mapping_new (
      owner.storage, GST_MAP_READ | GST_MAP_VKGDR, NULL, NULL, NULL);
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
  g_autoptr (GstVkgdrMapping) mapping = gst_vkgdr_mapping_new (
      owner.storage, GST_MAP_READ | GST_MAP_VKGDR, NULL, NULL, NULL);
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
