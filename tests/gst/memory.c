/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * memory.c: tests of mappings, of the content that they keep, and of the order
 * of accesses
 *
 * Memory of the software device is host-cached. VKGDR_DEBUG=bar makes the
 * library treat it as a window that is not cached, so that the library works as
 * it does on a GPU. Each test is a process of its own.
 */

#include "device.h"
#include "memory/memory.h"
#include "memory/pinnedmemory.h"
#include "gate.h"

#define SIZE 10000

static void
setup_non_coherent (void)
{
  g_setenv ("VKGDR_DEBUG", "bar,non-coherent", TRUE);
  test_context = test_context_new ();
}

TEST_PARALLEL (3);

/* --- mapping ------------------------------------------------------------- */

TEST_FIXTURE (test_setup_bar, test_teardown);

TEST_IF (write_is_direct, !test_hides_vulkan ())
{
  g_autoptr (GstMemory) memory = test_memory_new (test_context, SIZE);
  GstMapInfo map;

  test_spy_install (test_context);
  fail_unless (gst_memory_map (memory, &map, GST_MAP_WRITE));
  fail_unless (map.data == gst_vkgdr_memory_get_host_pointer (memory));
  fail_unless_equals_int (map.size, SIZE);
  test_fill (map.data, map.size, 1);
  gst_memory_unmap (memory, &map);
  fail_unless_equals_int (test_spy.htod, 0);
  test_assert_device (memory, 1);
}

TEST_IF (read_avoids_the_window, !test_hides_vulkan ())
{
  g_autoptr (GstMemory) memory = test_memory_new (test_context, SIZE);
  const guint8 *window = gst_vkgdr_memory_get_host_pointer (memory);
  GstMapInfo map;

  test_write (memory, 1);
  test_spy_install (test_context);
  fail_unless (gst_memory_map (memory, &map, GST_MAP_READ));
  fail_unless (map.data < window || map.data >= window + SIZE);
  fail_unless (test_matches (map.data, map.size, 1));
  gst_memory_unmap (memory, &map);
  fail_unless_equals_int (test_spy.dtoh, 1);

  /* Content that was fetched is not fetched again. */
  test_assert_read (memory, 1);
  fail_unless_equals_int (test_spy.dtoh, 1);
  /* Newer content is fetched. */
  test_write (memory, 2);
  test_assert_read (memory, 2);
  fail_unless_equals_int (test_spy.dtoh, 2);
}

/* A video frame of several planes is mapped once for each plane, but
 * transferred once. */
TEST (writers_are_published_together)
{
  g_autoptr (GstMemory) memory = test_memory_new (test_context, SIZE);
  GstMapInfo maps[3];
  guint i;

  gst_vkgdr_memory_set_access (memory, GST_VKGDR_ACCESS_STAGED);
  test_spy_install (test_context);
  for (i = 0; i < G_N_ELEMENTS (maps); i++)
    fail_unless (gst_memory_map (memory, &maps[i], GST_MAP_WRITE));
  test_fill (maps[0].data, SIZE, 1);
  for (i = 0; i < G_N_ELEMENTS (maps); i++) {
    fail_unless_equals_int (test_spy.htod, 0);
    gst_memory_unmap (memory, &maps[i]);
  }
  fail_unless_equals_int (test_spy.htod, 1);
  test_assert_device (memory, 1);
}

TEST_FIXTURE (test_setup, test_teardown);

TEST_IF (cached_window_is_read_directly, !test_hides_vulkan ())
{
  GstMapFlags flags[] = { GST_MAP_READ, GST_MAP_WRITE, GST_MAP_READWRITE };
  vkgdr_device_info info;
  g_autoptr (GstMemory) memory = NULL;
  guint i;

  if (!test_has_window ())
    return;
  memory = test_memory_new (test_context, SIZE);
  vkgdr_get_device_info (gst_vkgdr_context_get_handle (test_context), &info);
  for (i = 0; i < G_N_ELEMENTS (flags); i++) {
    GstMapInfo map;

    fail_unless (gst_memory_map (memory, &map, flags[i]));
    fail_unless_equals_int (
        map.data == gst_vkgdr_memory_get_host_pointer (memory),
        info.host_cached || flags[i] == GST_MAP_WRITE);
    gst_memory_unmap (memory, &map);
  }
}

TEST_FIXTURE (test_setup_bar, test_teardown);

TEST (readwrite_goes_there_and_back)
{
  g_autoptr (GstMemory) memory = test_memory_new (test_context, SIZE);
  GstMapInfo map;

  test_write (memory, 1);
  fail_unless (gst_memory_map (memory, &map, GST_MAP_READWRITE));
  fail_unless (test_matches (map.data, map.size, 1));
  test_fill (map.data, map.size, 2);
  gst_memory_unmap (memory, &map);
  test_assert_device (memory, 2);
  test_assert_read (memory, 2);
}

TEST (undefined_content_is_not_fetched)
{
  g_autoptr (GstMemory) memory = test_memory_new (test_context, SIZE);
  GstMapInfo map;

  test_spy_install (test_context);
  fail_unless (gst_memory_map (memory, &map, GST_MAP_READWRITE));
  gst_memory_unmap (memory, &map);
  fail_unless_equals_int (test_spy.dtoh, 0);
  test_write (memory, 1);
  gst_vkgdr_memory_discard (memory);
  fail_unless (gst_memory_map (memory, &map, GST_MAP_READWRITE));
  gst_memory_unmap (memory, &map);
  fail_unless_equals_int (test_spy.dtoh, 0);
}

TEST (staged)
{
  g_autoptr (GstMemory) memory = test_memory_new (test_context, SIZE);
  const guint8 *window = gst_vkgdr_memory_get_host_pointer (memory);
  GstMapInfo map;

  gst_vkgdr_memory_set_access (memory, GST_VKGDR_ACCESS_STAGED);
  test_spy_install (test_context);
  fail_unless (gst_memory_map (memory, &map, GST_MAP_WRITE));
  fail_unless (map.data < window || map.data >= window + SIZE);
  test_fill (map.data, map.size, 1);
  gst_memory_unmap (memory, &map);
  fail_unless_equals_int (test_spy.htod, 1);
  test_assert_device (memory, 1);
}

/* __i__ is 0 for direct access, and 1 for staged access. */
TEST_LOOP (partial_write_keeps_the_rest, 2)
{
  g_autoptr (GstMemory) memory = test_memory_new (test_context, SIZE);
  GstMemory *part;
  GstMapInfo map;
  g_autofree guint8 *data = NULL;
  gsize i;

  test_write (memory, 1);
  if (__i__ == 1)
    gst_vkgdr_memory_set_access (memory, GST_VKGDR_ACCESS_STAGED);

  /* Maps the whole memory, and writes a few bytes. */
  fail_unless (gst_memory_map (memory, &map, GST_MAP_WRITE));
  memset (map.data + 100, 0xaa, 50);
  gst_memory_unmap (memory, &map);
  /* Maps a part. */
  part = gst_memory_share (memory, 5000, 321);
  fail_unless (gst_memory_map (part, &map, GST_MAP_READ));
  fail_unless_equals_int (map.size, 321);
  fail_unless_equals_int (map.data[0], test_pattern (5000, 1));
  gst_memory_unmap (part, &map);
  gst_memory_unref (part);

  data = test_device_bytes (memory);
  for (i = 0; i < SIZE; i++)
    test_check_byte (
        i, data[i], i >= 100 && i < 150 ? 0xaa : test_pattern (i, 1));
}

/* The memory is made smaller while it is mapped, and larger again later. All
 * bytes that the mapping gave access to are on the device. */
TEST_LOOP (resized_while_mapped, 2)
{
  g_autoptr (GstMemory) memory = test_memory_new (test_context, SIZE);
  GstMapInfo map;

  test_write (memory, 1);
  if (__i__ == 1)
    gst_vkgdr_memory_set_access (memory, GST_VKGDR_ACCESS_STAGED);
  fail_unless (gst_memory_map (memory, &map, GST_MAP_WRITE));
  test_fill (map.data, map.size, 2);
  gst_memory_resize (memory, 1000, 2000);
  gst_memory_unmap (memory, &map);
  gst_memory_resize (memory, -1000, SIZE);
  test_assert_device (memory, 2);
  test_assert_read (memory, 2);
}

TEST (device_mapping)
{
  g_autoptr (GstMemory) memory = test_memory_new (test_context, SIZE);
  const vkgdr_cuda *cuda = vkgdr_driver_load ();
  GstMapInfo map;
  g_autofree guint8 *data = NULL;

  test_write (memory, 1);
  gst_vkgdr_memory_set_access (memory, GST_VKGDR_ACCESS_STAGED);
  test_write (memory, 2);
  fail_unless (
      gst_memory_map (memory, &map, GST_MAP_READWRITE | GST_MAP_VKGDR));
  fail_unless_equals_uint64 (
      (guintptr) map.data, gst_vkgdr_memory_get_device_pointer (memory));
  data = g_malloc (SIZE);
  fail_unless (gst_vkgdr_context_push (test_context, NULL));
  cuda->cuMemcpyDtoH (data, (guintptr) map.data, SIZE);
  fail_unless (test_matches (data, SIZE, 2));
  test_fill (data, SIZE, 3);
  cuda->cuMemcpyHtoD ((guintptr) map.data, data, SIZE);
  gst_vkgdr_context_pop (test_context);
  gst_memory_unmap (memory, &map);
  test_assert_read (memory, 3);
}

TEST (share_copy_span)
{
  g_autoptr (GstMemory) memory = test_memory_new (test_context, SIZE);
  g_autoptr (GstMemory) a = NULL, b = NULL, aa = NULL, copy = NULL;
  gsize offset;
  g_autofree guint8 *data = NULL;

  test_write (memory, 1);
  a = gst_memory_share (memory, 100, 200);
  b = gst_memory_share (memory, 300, -1);
  aa = gst_memory_share (a, 50, 20);
  fail_unless (gst_is_vkgdr_memory (aa));
  fail_unless (gst_memory_is_span (a, b, &offset));
  fail_unless_equals_int (offset, 100);
  fail_unless (!gst_memory_is_span (b, a, NULL));
  fail_unless_equals_uint64 (gst_vkgdr_memory_get_device_pointer (aa),
      gst_vkgdr_memory_get_device_pointer (memory) + 150);
  if (!test_hides_vulkan ())
    fail_unless (
        gst_vkgdr_memory_get_host_pointer (aa)
        == (guint8 *) gst_vkgdr_memory_get_host_pointer (memory) + 150);

  copy = gst_memory_copy (a, 50, 20);
  fail_unless (gst_is_vkgdr_memory (copy));
  fail_unless (copy->parent == NULL);
  data = test_device_bytes (copy);
  for (offset = 0; offset < 20; offset++)
    fail_unless_equals_int (data[offset], test_pattern (150 + offset, 1));
}

TEST_FIXTURE (test_setup, test_teardown);

TEST_LOOP (partial_write_in_a_cached_window, test_hides_vulkan () ? 0 : 2)
{
  test_partial_write_keeps_the_rest (__i__);
}

TEST_IF (device_mapping_in_a_cached_window, !test_hides_vulkan ())
{
  test_device_mapping (0);
}

/* --- flushes ------------------------------------------------------------- */

static VkMappedMemoryRange flushed[16];
static guint n_flushed;

static VKAPI_ATTR VkResult VKAPI_CALL
spy_flush (VkDevice device, uint32_t n, const VkMappedMemoryRange *ranges)
{
  fail_unless (n_flushed + n <= G_N_ELEMENTS (flushed));
  memcpy (flushed + n_flushed, ranges, n * sizeof (*ranges));
  n_flushed += n;
  return VK_SUCCESS;
}

TEST_FIXTURE (setup_non_coherent, test_teardown);

TEST_IF (flush_is_the_mapped_range, !test_hides_vulkan ())
{
  vkgdr_t handle = gst_vkgdr_context_get_handle (test_context);
  GstMemory *memory = test_memory_new (test_context, SIZE);
  g_autoptr (GstMemory) part = NULL;
  GstMapInfo map;
  guint64 atom = handle->atom_size;

  handle->vk.FlushMappedMemoryRanges = spy_flush;
  fail_unless (gst_memory_map (memory, &map, GST_MAP_WRITE));
  gst_memory_unmap (memory, &map);
  fail_unless_equals_int (n_flushed, 1);
  fail_unless_equals_uint64 (flushed[0].offset, 0);
  fail_unless_equals_uint64 (flushed[0].size, (SIZE + atom - 1) / atom * atom);

  /* For a part, the mapped range is flushed, rounded to the atom size. */
  part = gst_memory_share (memory, 1001, 2002);
  gst_memory_unref (memory);
  GST_MINI_OBJECT_FLAG_UNSET (part, GST_MEMORY_FLAG_READONLY);
  fail_unless (gst_memory_map (part, &map, GST_MAP_WRITE));
  gst_memory_unmap (part, &map);
  fail_unless_equals_int (n_flushed, 2);
  fail_unless_equals_uint64 (flushed[1].offset, 1001 / atom * atom);
  fail_unless_equals_uint64 (flushed[1].offset + flushed[1].size,
      (1001 + 2002 + atom - 1) / atom * atom);

  /* A mapping for reading flushes nothing. */
  fail_unless (gst_memory_map (part, &map, GST_MAP_READ));
  gst_memory_unmap (part, &map);
  fail_unless_equals_int (n_flushed, 2);
}

/* Bytes that gst_vkgdr_memory_write () copies are flushed, too. */
TEST_IF (written_range_is_flushed, !test_hides_vulkan ())
{
  vkgdr_t handle = gst_vkgdr_context_get_handle (test_context);
  g_autoptr (GstMemory) memory = test_memory_new (test_context, SIZE);
  guint64 atom = handle->atom_size;
  const guint8 bytes[100] = { 0 };

  handle->vk.FlushMappedMemoryRanges = spy_flush;
  fail_unless (gst_vkgdr_memory_write (memory, 1001, bytes, 100, NULL));
  fail_unless_equals_int (n_flushed, 1);
  fail_unless_equals_uint64 (flushed[0].offset, 1001 / atom * atom);
  fail_unless_equals_uint64 (flushed[0].offset + flushed[0].size,
      (1001 + 100 + atom - 1) / atom * atom);
}

/* --- order --------------------------------------------------------------- */

TEST_FIXTURE (test_setup_bar, test_teardown);

TEST (write_waits_for_readers)
{
  g_autoptr (GstMemory) memory = test_memory_new (test_context, SIZE);
  g_autoptr (GstVkgdrStream) stream = test_stream_new (test_context);
  gint done = FALSE;
  GstMapInfo map;

  test_write (memory, 1);
  fail_unless (
      gst_vkgdr_memory_begin_access (memory, stream, GST_MAP_READ, NULL));
  test_gate_delay (stream, 100, &done);
  fail_unless (
      gst_vkgdr_memory_end_access (memory, stream, GST_MAP_READ, NULL));
  fail_unless (!gst_vkgdr_memory_is_idle (memory));

  /* A reader does not wait for another reader, but a writer does. */
  test_assert_read (memory, 1);
  fail_unless (!g_atomic_int_get (&done));
  test_gate_set (TRUE);
  fail_unless (gst_memory_map (memory, &map, GST_MAP_WRITE));
  fail_unless (g_atomic_int_get (&done));
  gst_memory_unmap (memory, &map);
  /* Without a window, the memory is sent by DMA. */
  fail_unless (test_hides_vulkan () || gst_vkgdr_memory_is_idle (memory));
}

TEST (copy_by_the_cpu_waits_for_readers)
{
  g_autoptr (GstMemory) memory = test_memory_new (test_context, SIZE);
  g_autoptr (GstVkgdrStream) stream = test_stream_new (test_context);
  const guint8 byte = 1;
  gint done = FALSE;

  fail_unless (gst_vkgdr_memory_write (memory, 0, &byte, 1, NULL));
  fail_unless (test_hides_vulkan () || gst_vkgdr_memory_is_idle (memory));
  fail_unless (
      gst_vkgdr_memory_begin_access (memory, stream, GST_MAP_READ, NULL));
  test_stream_delay (stream, 100, &done);
  fail_unless (
      gst_vkgdr_memory_end_access (memory, stream, GST_MAP_READ, NULL));
  fail_unless (gst_vkgdr_memory_write (memory, 0, &byte, 1, NULL));
  fail_unless (g_atomic_int_get (&done));
}

TEST (read_waits_for_the_writer)
{
  g_autoptr (GstMemory) memory = test_memory_new (test_context, SIZE);
  g_autoptr (GstVkgdrStream) stream = test_stream_new (test_context);
  g_autofree guint8 *data = g_malloc (SIZE);

  test_write (memory, 1);
  test_fill (data, SIZE, 2);
  test_stream_delay (stream, 200, NULL);
  fail_unless (gst_vkgdr_memory_upload (memory, 0, data, SIZE, stream, NULL));
  test_assert_read (memory, 2);
}

TEST (streams_wait_for_each_other)
{
  g_autoptr (GstMemory) memory = test_memory_new (test_context, SIZE);
  g_autoptr (GstVkgdrStream) a = test_stream_new (test_context),
                             b = test_stream_new (test_context);
  g_autoptr (GstVkgdrAllocator) allocator = test_allocator ();
  g_autoptr (GstMemory) first =
      gst_vkgdr_allocator_alloc_pinned (allocator, SIZE, NULL);
  g_autoptr (GstMemory) second =
      gst_vkgdr_allocator_alloc_pinned (allocator, SIZE, NULL);
  GstMapInfo from, to;

  gst_memory_map (first, &from, GST_MAP_READWRITE);
  gst_memory_map (second, &to, GST_MAP_READWRITE);
  test_fill (from.data, SIZE, 7);
  test_stream_delay (a, 100, NULL);
  fail_unless (gst_vkgdr_memory_upload (memory, 0, from.data, SIZE, a, NULL));
  test_download (memory, to.data, b);
  fail_unless (gst_vkgdr_stream_synchronize (b, NULL));
  fail_unless (test_matches (to.data, SIZE, 7));
  gst_memory_unmap (second, &to);
  gst_memory_unmap (first, &from);
}

TEST (freed_memory_is_not_reused_too_early)
{
  g_autoptr (GstVkgdrStream) stream = test_stream_new (test_context);
  g_autoptr (GstVkgdrAllocator) allocator = test_allocator ();
  GstMemory *memory = test_memory_new (test_context, SIZE);
  guint64 pointer = gst_vkgdr_memory_get_device_pointer (memory);

  fail_unless (
      gst_vkgdr_memory_begin_access (memory, stream, GST_MAP_READ, NULL));
  test_gate_delay (stream, 0, NULL);
  fail_unless (
      gst_vkgdr_memory_end_access (memory, stream, GST_MAP_READ, NULL));
  gst_memory_unref (memory);

  fail_unless_equals_int (gst_vkgdr_allocator_get_active_blocks (allocator), 1);
  memory = test_memory_new (test_context, SIZE);
  fail_unless (gst_vkgdr_memory_get_device_pointer (memory) != pointer);
  gst_memory_unref (memory);
  test_gate_set (TRUE);
  fail_unless (gst_vkgdr_stream_synchronize (stream, NULL));
  fail_unless_equals_int (gst_vkgdr_allocator_get_active_blocks (allocator), 0);
  memory = test_memory_new (test_context, SIZE);
  fail_unless_equals_uint64 (
      gst_vkgdr_memory_get_device_pointer (memory), pointer);
  gst_memory_unref (memory);
}

/* If the driver could not be queried once, the memory is not used again before
 * the device is known to be idle. Then it is. */
TEST (lost_memory_comes_back)
{
  gint64 end = g_get_monotonic_time () + 5 * G_TIME_SPAN_SECOND;
  g_autoptr (GstVkgdrAllocator) allocator = NULL;
  g_autoptr (GstVkgdrStream) stream = NULL;
  GstMemory *memory;

  if (!gst_vkgdr_context_is_software (test_context))
    return;
  allocator = test_allocator ();
  stream = test_stream_new (test_context);
  memory = test_memory_new (test_context, SIZE);
  fail_unless (
      gst_vkgdr_memory_begin_access (memory, stream, GST_MAP_READ, NULL));
  test_gate_delay (stream, 0, NULL);
  fail_unless (
      gst_vkgdr_memory_end_access (memory, stream, GST_MAP_READ, NULL));
  test_make_calls_fail ("cuEventQuery:1");
  gst_memory_unref (memory);
  test_make_calls_fail (NULL);
  gst_vkgdr_allocator_free_held (allocator);
  fail_unless_equals_int (gst_vkgdr_allocator_get_active_blocks (allocator), 1);
  test_gate_set (TRUE);
  while (gst_vkgdr_allocator_get_active_blocks (allocator) > 0
         && g_get_monotonic_time () < end)
    g_usleep (1000);
  fail_unless_equals_int (gst_vkgdr_allocator_get_active_blocks (allocator), 0);
}

/* A user maps with GST_MAP_VKGDR, and does not declare its stream. */
TEST (foreign_reader_is_waited_for)
{
  g_autoptr (GstMemory) memory = test_memory_new (test_context, SIZE);
  g_autoptr (GstVkgdrStream) stream = test_stream_new (test_context);
  gint done = FALSE;
  GstMapInfo map;

  test_write (memory, 1);
  fail_unless (gst_memory_map (memory, &map, GST_MAP_READ | GST_MAP_VKGDR));
  test_gate_delay (stream, 100, &done);
  gst_memory_unmap (memory, &map);
  fail_unless (!gst_vkgdr_memory_is_idle (memory));
  test_gate_set (TRUE);
  fail_unless (gst_memory_map (memory, &map, GST_MAP_WRITE));
  fail_unless (g_atomic_int_get (&done));
  gst_memory_unmap (memory, &map);
}

/* --- allocator ----------------------------------------------------------- */

TEST_FIXTURE (NULL, NULL);

TEST (default_allocator)
{
  g_autoptr (GstAllocator) allocator = NULL;
  g_autoptr (GstMemory) memory = NULL;

  gst_vkgdr_init ();
  allocator = gst_allocator_find ("VkgdrMemory");
  fail_unless (allocator != NULL);
  memory = gst_allocator_alloc (allocator, SIZE, NULL);
  fail_unless (memory != NULL);
  fail_unless (gst_is_vkgdr_memory (memory));
  fail_unless (gst_memory_is_type (memory, "VkgdrMemory"));
  test_write (memory, 1);
  test_assert_device (memory, 1);
}

TEST_FIXTURE (test_setup_bar, test_teardown);

TEST (allocation_params)
{
  g_autoptr (GstVkgdrAllocator) allocator = test_allocator ();
  GstAllocationParams params = {
    GST_MEMORY_FLAG_ZERO_PREFIXED | GST_MEMORY_FLAG_ZERO_PADDED, 255, 64, 100
  };
  g_autoptr (GstMemory) memory =
      gst_allocator_alloc (GST_ALLOCATOR (allocator), 1000, &params);
  gsize offset, maxsize;
  g_autofree guint8 *data = NULL;
  guint i;

  fail_unless (memory != NULL);
  fail_unless_equals_int (
      gst_memory_get_sizes (memory, &offset, &maxsize), 1000);
  fail_unless_equals_int (offset, 64);
  fail_unless (maxsize >= 1164);
  test_write (memory, 1);
  gst_memory_resize (memory, -64, 1164);
  fail_unless_equals_int (
      gst_vkgdr_memory_get_device_pointer (memory) % 256, 0);
  data = test_device_bytes (memory);
  for (i = 0; i < 1164; i++)
    fail_unless_equals_int (
        data[i], i < 64 || i >= 1064 ? 0 : test_pattern (i - 64, 1));
}

/* The flags of the parameters are set in the memory, as in system memory. */
TEST (allocation_flags)
{
  g_autoptr (GstVkgdrAllocator) allocator = test_allocator ();
  GstAllocationParams params = { GST_MEMORY_FLAG_NO_SHARE, 0, 0, 0 };
  GstMemory *memory =
      gst_allocator_alloc (GST_ALLOCATOR (allocator), 1000, &params);

  fail_unless (GST_MEMORY_FLAG_IS_SET (memory, GST_MEMORY_FLAG_NO_SHARE));
  gst_memory_unref (memory);
  /* The next memory of this size does not inherit them. */
  memory = gst_vkgdr_allocator_alloc (allocator, 1000, NULL);
  fail_if (GST_MEMORY_FLAG_IS_SET (memory, GST_MEMORY_FLAG_NO_SHARE));
  gst_memory_unref (memory);
}

TEST (sizes_that_overflow)
{
  g_autoptr (GstVkgdrAllocator) allocator = test_allocator ();
  GstAllocationParams params = { 0, 0, G_MAXSIZE - 5, 20 };
  GError *error = NULL;

  fail_unless (!gst_allocator_alloc (GST_ALLOCATOR (allocator), 10, &params));
  fail_unless (
      !gst_vkgdr_allocator_alloc_pinned (allocator, G_MAXSIZE, &error));
  fail_unless (
      g_error_matches (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_NO_MEMORY), "%s",
      error->message);
  g_clear_error (&error);
}

/* A small memory that is freed is used again, as it is, for the next one of its
 * size. Nothing of its earlier use may be left. */
TEST_IF (memory_that_is_used_again_is_new, !test_hides_vulkan ())
{
  g_autoptr (GstVkgdrAllocator) allocator = test_allocator ();
  GstAllocationParams params = { .align = 63, .prefix = 64 };
  GstMemory *memory = test_memory_new (test_context, 4096);
  guint64 pointer = gst_vkgdr_memory_get_device_pointer (memory);
  GstClockTime map_time, wait_time;
  GstMapInfo map;

  gst_vkgdr_memory_set_access (memory, GST_VKGDR_ACCESS_DIRECT);
  fail_unless (gst_memory_map (memory, &map, GST_MAP_WRITE));
  memset (map.data, 1, map.size);
  gst_memory_unmap (memory, &map);
  gst_memory_resize (memory, 100, 200);
  GST_MINI_OBJECT_FLAG_SET (memory, GST_MEMORY_FLAG_READONLY);
  fail_unless (gst_vkgdr_memory_get_write_times (memory, &map_time, &wait_time)
               != GST_VKGDR_ACCESS_AUTO);
  gst_memory_unref (memory);
  fail_unless_equals_int (gst_vkgdr_allocator_get_active_blocks (allocator), 0);

  memory = test_memory_new (test_context, 4096);
  fail_unless_equals_uint64 (
      gst_vkgdr_memory_get_device_pointer (memory), pointer);
  fail_unless_equals_int (
      gst_memory_get_sizes (memory, &params.padding, NULL), 4096);
  fail_unless_equals_int (params.padding, 0);
  fail_if (GST_MEMORY_IS_READONLY (memory));
  fail_unless_equals_int (
      gst_vkgdr_memory_get_write_times (memory, &map_time, &wait_time),
      GST_VKGDR_ACCESS_AUTO);
  fail_unless (gst_vkgdr_memory_is_idle (memory));
  gst_memory_unref (memory);

  memory = gst_allocator_alloc (GST_ALLOCATOR (allocator), 4096 - 64, &params);
  fail_unless_equals_uint64 (
      gst_vkgdr_memory_get_device_pointer (memory), pointer + 64);
  fail_unless_equals_int (memory->offset, 64);
  fail_unless_equals_int (memory->maxsize, 4096);
  gst_memory_unref (memory);
}

/* Device-only memory can be chosen, and can be mapped like other memory. */
TEST_IF (device_only_memory, !test_hides_vulkan ())
{
  g_autoptr (GstVkgdrAllocator) allocator =
      gst_vkgdr_allocator_new (test_context);
  GstMemory *memories[2];
  g_autoptr (GError) error = NULL;
  guint i;

  for (i = 0; i < G_N_ELEMENTS (memories); i++) {
    memories[i] =
        gst_vkgdr_allocator_alloc_device_only (allocator, 6000, &error);
    fail_unless (memories[i] != NULL, "%s", error ? error->message : "");
    fail_unless_equals_int (
        gst_vkgdr_memory_get_device_pointer (memories[i]) % 512, 0);
    test_write (memories[i], i);
    fail_unless (gst_vkgdr_memory_wait_idle (memories[i], NULL));
  }
  for (i = 0; i < G_N_ELEMENTS (memories); i++) {
    test_assert_read (memories[i], i);
    gst_memory_unref (memories[i]);
  }
  gst_vkgdr_allocator_free_held (allocator);
  fail_unless_equals_uint64 (
      gst_vkgdr_allocator_get_managed_bytes (allocator), 0);
  fail_unless (
      gst_vkgdr_allocator_alloc_device_only (allocator, (gsize) 1 << 50, &error)
      == NULL);
  fail_unless (
      g_error_matches (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_NO_MEMORY));
}

/* Device-only memory that was freed is not used again as memory in the window,
 * or the other way round. */
TEST_IF (device_only_memory_is_not_used_again, !test_hides_vulkan ())
{
  g_autoptr (GstVkgdrAllocator) allocator = test_allocator ();
  GstMemory *memory =
      gst_vkgdr_allocator_alloc_device_only (allocator, 4096, NULL);

  fail_unless (gst_vkgdr_memory_get_host_pointer (memory) == NULL);
  gst_memory_unref (memory);
  memory = test_memory_new (test_context, 4096);
  fail_unless (gst_vkgdr_memory_get_host_pointer (memory) != NULL);
  gst_memory_unref (memory);
  memory = gst_vkgdr_allocator_alloc_device_only (allocator, 4096, NULL);
  fail_unless (gst_vkgdr_memory_get_host_pointer (memory) == NULL);
  gst_memory_unref (memory);
}

/* Blocks of one size are used again for another one. */
TEST (memories_of_different_sizes)
{
  g_autoptr (GstVkgdrAllocator) allocator = test_allocator ();
  GstMemory *memories[40];
  guint round, i;

  for (round = 0; round < 3; round++) {
    for (i = 0; i < G_N_ELEMENTS (memories); i++)
      memories[i] = test_memory_new (test_context, 4096 << (round % 2));
    fail_unless_equals_int (gst_vkgdr_allocator_get_active_blocks (allocator),
        G_N_ELEMENTS (memories));
    for (i = 0; i < G_N_ELEMENTS (memories); i++)
      gst_memory_unref (memories[i]);
    if (round == 1)
      fail_unless_equals_int (
          gst_vkgdr_allocator_get_active_blocks (allocator), 0);
  }
  gst_vkgdr_allocator_free_held (allocator);
  fail_unless_equals_int (gst_vkgdr_allocator_get_managed_bytes (allocator), 0);
}

/* A memory that is not used again goes back to the driver after ten seconds. */
TEST (memory_that_is_not_used_again_is_freed)
{
  g_autoptr (GstVkgdrAllocator) allocator = test_allocator ();
  gint64 start = g_get_monotonic_time ();
  guint i;

  gst_memory_unref (test_memory_new (test_context, 4096));
  g_usleep (5 * G_USEC_PER_SEC);
  if (g_get_monotonic_time () < start + 9 * G_TIME_SPAN_SECOND)
    fail_unless (gst_vkgdr_allocator_get_managed_bytes (allocator) > 0);
  g_usleep (5 * G_USEC_PER_SEC);
  for (i = 0; i < 80 && gst_vkgdr_allocator_get_managed_bytes (allocator) > 0;
       i++)
    g_usleep (G_USEC_PER_SEC / 10);
  fail_unless_equals_int (gst_vkgdr_allocator_get_managed_bytes (allocator), 0);
}

static vkgdr_cuda real; /* the driver's table before it is changed */
static gint n_freed;    /* allocations of the driver; atomic */

static CUresult
counted_free (CUdeviceptr pointer)
{
  g_atomic_int_inc (&n_freed);
  return real.cuMemFree (pointer);
}

static CUresult
counted_release (CUmemGenericAllocationHandle handle)
{
  g_atomic_int_inc (&n_freed);
  return real.cuMemRelease (handle);
}

static void
count_frees (void)
{
  vkgdr_cuda *table = (vkgdr_cuda *) vkgdr_driver_load ();

  real = *table;
  table->cuMemFree = counted_free;
  table->cuMemRelease = counted_release;
}

/* Memory that was freed while the device used it goes back to the driver after
 * some time, even if the allocator is not called any more; at once if the
 * allocator is gone. */
TEST_LOOP (busy_memory_goes_back_to_the_driver, 2)
{
  GstVkgdrAllocator *allocator = gst_vkgdr_allocator_new (test_context);
  GstVkgdrStream *stream = test_stream_new (test_context);
  GstMemory *memory = gst_vkgdr_allocator_alloc (allocator, SIZE, NULL);
  guint seconds = __i__ == 0 ? 30 : 5, i;

  count_frees ();
  fail_unless (
      gst_vkgdr_memory_begin_access (memory, stream, GST_MAP_READ, NULL));
  test_gate_delay (stream, 0, NULL);
  fail_unless (
      gst_vkgdr_memory_end_access (memory, stream, GST_MAP_READ, NULL));
  gst_memory_unref (memory);
  if (__i__ == 1)
    gst_clear_object (&allocator);
  fail_unless_equals_int (g_atomic_int_get (&n_freed), 0);
  fail_if (test_gate_was_missed ());
  test_gate_set (TRUE);
  fail_unless (gst_vkgdr_stream_synchronize (stream, NULL));
  gst_object_unref (stream);
  for (i = 0; i < 10 * seconds && g_atomic_int_get (&n_freed) == 0; i++)
    g_usleep (G_USEC_PER_SEC / 10);
  fail_unless_equals_int (g_atomic_int_get (&n_freed), 1);
  gst_clear_object (&allocator);
}

TEST (ten_thousand_allocations)
{
  g_autoptr (GstVkgdrAllocator) allocator = test_allocator ();
  GQueue live = G_QUEUE_INIT;
  guint before, i, seed = 1, slabs;
  guint64 managed;

  gst_memory_unref (test_memory_new (test_context, 1));
  before = test_count_fds ();
  for (i = 0; i < 10000; i++) {
    gsize size;

    seed = seed * 1664525 + 1013904223;
    size = 1 + (seed >> 8) % (i % 10 == 0 ? 300000 : 5000);
    g_queue_push_tail (&live, test_memory_new (test_context, size));
    if (live.length > 100)
      gst_memory_unref (g_queue_pop_nth (&live, (seed >> 4) % live.length));
  }
  fail_unless_equals_int (
      gst_vkgdr_allocator_get_active_blocks (allocator), live.length);
  managed = gst_vkgdr_allocator_get_managed_bytes (allocator);
  fail_unless (managed <= 32 * 1024 * 1024);
  /* A slab has at least 1 MiB. */
  slabs = managed / (1024 * 1024);
  /* The software device needs two file descriptors for each slab. */
  fail_unless (test_count_fds () <= before + 2 * slabs,
      "%u file descriptors, %u before, for %u MiB", test_count_fds (), before,
      slabs);

  g_queue_clear_full (&live, (GDestroyNotify) gst_memory_unref);
  fail_unless_equals_int (gst_vkgdr_allocator_get_active_blocks (allocator), 0);
  gst_vkgdr_allocator_free_held (allocator);
  fail_unless_equals_int (gst_vkgdr_allocator_get_managed_bytes (allocator), 0);
}

TEST (pinned_is_recycled)
{
  GstVkgdrAllocator *allocator = test_allocator ();
  GstMemory *memory = gst_vkgdr_allocator_alloc_pinned (allocator, SIZE, NULL);
  GstMapInfo map;
  gpointer data;

  fail_unless (gst_vkgdr_is_pinned_memory (memory));
  gst_memory_map (memory, &map, GST_MAP_READWRITE);
  data = map.data;
  gst_memory_unmap (memory, &map);
  gst_memory_unref (memory);
  memory = gst_vkgdr_allocator_alloc_pinned (allocator, SIZE + 1, NULL);
  gst_memory_map (memory, &map, GST_MAP_READWRITE);
  fail_unless (map.data == data);
  gst_memory_unmap (memory, &map);
  gst_object_unref (allocator);
  gst_memory_unref (memory); /* the memory may outlive its allocator */
}

/* The transfer to pinned memory may not be complete yet. A mapping waits for
 * it, and memory that is freed is not reused before that. */
TEST (fetched_memory_is_waited_for)
{
  g_autoptr (GstVkgdrAllocator) allocator = test_allocator ();
  g_autoptr (GstMemory) memory = test_memory_new (test_context, SIZE);
  g_autoptr (GstVkgdrStream) stream = test_stream_new (test_context);
  GstMemory *pinned, *part, *copy;
  gint done = FALSE;
  GstMapInfo map;
  gpointer data;

  test_write (memory, 1);
  pinned = gst_vkgdr_allocator_alloc_pinned (allocator, 2 * SIZE, NULL);
  data = gst_vkgdr_pinned_memory_get_data (pinned);
  fail_unless (gst_vkgdr_memory_fetch_rect (
      memory, 0, 0, pinned, 0, 0, memory->size, 1, stream, NULL));
  test_gate_delay (stream, 100, &done);
  fail_unless (gst_vkgdr_memory_fetch_rect (
      memory, 0, 0, pinned, SIZE, 0, memory->size, 1, stream, NULL));
  fail_unless (!g_atomic_int_get (&done));

  test_gate_set (TRUE);
  part = gst_memory_share (pinned, SIZE, -1);
  fail_unless (gst_memory_map (part, &map, GST_MAP_READ));
  fail_unless (g_atomic_int_get (&done));
  fail_unless_equals_int (map.size, SIZE);
  fail_unless (test_matches (map.data, map.size, 1));
  gst_memory_unmap (part, &map);
  gst_memory_unref (part);
  copy = gst_memory_copy (pinned, SIZE, SIZE);
  test_assert_read (copy, 1);
  gst_memory_unref (copy);

  test_gate_delay (stream, 0, NULL);
  fail_unless (gst_vkgdr_memory_fetch_rect (
      memory, 0, 0, pinned, 0, 0, memory->size, 1, stream, NULL));
  gst_memory_unref (pinned);
  pinned = gst_vkgdr_allocator_alloc_pinned (allocator, 2 * SIZE, NULL);
  fail_unless (gst_vkgdr_pinned_memory_get_data (pinned) != data);
  gst_memory_unref (pinned);
  test_gate_set (TRUE);
  fail_unless (gst_vkgdr_stream_synchronize (stream, NULL));

  pinned = gst_vkgdr_allocator_alloc_pinned (allocator, SIZE, NULL);
  fail_unless (!gst_vkgdr_memory_fetch_rect (
      memory, 0, 0, pinned, 1, 0, memory->size, 1, stream, NULL));
  gst_memory_unref (pinned);
}

/* --- failures ------------------------------------------------------------ */

/* The prefix of zeros, if requested, can be read before anything is written.
 * Afterwards, the memory is filled, so that memory which is allocated next and
 * gets the same block does not begin with zeros by chance. */
static void
assert_zero_prefix (GstVkgdrAllocator *allocator, gboolean in_window)
{
  GstAllocationParams params = { GST_MEMORY_FLAG_ZERO_PREFIXED, 0, 64, 0 };
  g_autoptr (GstMemory) memory = gst_allocator_alloc (
      GST_ALLOCATOR (allocator), 16 * 1024 * 1024, &params);
  GstMapInfo map;
  guint i;

  fail_unless (gst_memory_is_type (memory, GST_VKGDR_MEMORY_NAME));
  fail_unless_equals_int (
      gst_vkgdr_memory_get_host_pointer (memory) != NULL, in_window);
  gst_memory_resize (memory, -64, 64);
  fail_unless (gst_memory_map (memory, &map, GST_MAP_READ));
  for (i = 0; i < 64; i++)
    fail_unless_equals_int (map.data[i], 0);
  gst_memory_unmap (memory, &map);
  fail_unless (gst_memory_map (memory, &map, GST_MAP_WRITE));
  memset (map.data, 0xff, map.size);
  gst_memory_unmap (memory, &map);
}

TEST_FIXTURE (NULL, NULL);

/* The device sets the zeros of device-only memory. Readers wait for that, even
 * if the application keeps CUDA's default stream busy. */
TEST (zeros_come_first)
{
  GstAllocationParams params = { GST_MEMORY_FLAG_ZERO_PREFIXED, 0, 64, 0 };
  GstVkgdrAllocator *allocator;
  GstVkgdrStream *busy;
  GstMemory *memory;
  CUdeviceptr before;
  guint8 *data;
  guint i;

  g_setenv ("VKGDR_DEBUG", "no-window", TRUE);
  test_context = test_context_new ();
  allocator = test_allocator ();
  memory = test_memory_new (test_context, SIZE);
  before = gst_vkgdr_memory_get_device_pointer (memory);
  test_write (memory, 1);
  test_assert_device (memory, 1);
  gst_memory_unref (memory);

  busy = gst_vkgdr_stream_new_wrapped (test_context, NULL, NULL);
  test_stream_delay (busy, 200, NULL);
  memory = gst_allocator_alloc (GST_ALLOCATOR (allocator), SIZE - 64, &params);
  gst_memory_resize (memory, -64, 64);
  fail_unless_equals_uint64 (
      gst_vkgdr_memory_get_device_pointer (memory), before);
  data = test_device_bytes (memory);
  for (i = 0; i < 64; i++)
    fail_unless_equals_int (data[i], 0);
  g_free (data);
  gst_memory_unref (memory);
  gst_object_unref (busy);
  gst_object_unref (allocator);
  test_teardown ();
}

/* If the window is full, device-only memory is used, and works in the same
 * way. */
TEST (full_window)
{
  g_autoptr (GstVkgdrAllocator) allocator = NULL;
  GstMemory *memory, *more, *copy;
  GstMapInfo map;
  guint i;

  g_setenv ("VKGDR_DEBUG", "bar=32M", TRUE);
  test_context = test_context_new ();
  allocator = test_allocator ();
  memory = test_memory_new (test_context, 24 * 1024 * 1024);
  fail_unless (gst_vkgdr_memory_get_host_pointer (memory) != NULL);

  more = test_memory_new (test_context, 16 * 1024 * 1024);
  fail_unless (gst_vkgdr_memory_get_host_pointer (more) == NULL);
  gst_vkgdr_memory_set_access (more, GST_VKGDR_ACCESS_DIRECT);
  for (i = 0; i < 3; i++) {
    test_write (more, i);
    fail_unless_equals_int (gst_vkgdr_memory_get_write_times (more, NULL, NULL),
        GST_VKGDR_ACCESS_STAGED);
    test_assert_device (more, i);
  }
  fail_unless (gst_vkgdr_memory_write (more, 100, "beside", 6, NULL));
  fail_unless (gst_memory_map (more, &map, GST_MAP_READ));
  fail_unless (memcmp (map.data + 100, "beside", 6) == 0);
  gst_memory_unmap (more, &map);
  copy = gst_memory_copy (more, 100, 6);
  fail_unless (gst_memory_map (copy, &map, GST_MAP_READ));
  fail_unless (memcmp (map.data, "beside", 6) == 0);
  gst_memory_unmap (copy, &map);
  gst_memory_unref (copy);
  gst_memory_unref (more);

  assert_zero_prefix (allocator, FALSE);
  assert_zero_prefix (allocator, FALSE);
  /* After this, there is room in the window again for the next memory. */
  gst_memory_unref (memory);
  assert_zero_prefix (allocator, TRUE);
  assert_zero_prefix (allocator, TRUE);
  gst_object_unref (test_context);
}

/* Limits the window of the software device to 32 MiB, and its other memory to
 * less than that. Returns FALSE if there is no lavapipe. */
static gboolean
limit_memory (void)
{
  g_setenv ("VKGDR_DRIVER", "software", TRUE);
  g_setenv ("VKGDR_DEBUG", "bar=32M", TRUE);
  g_setenv ("SOFTCUDA_MEMORY", "1000000", TRUE);
  return test_has_window ();
}

TEST (full_device)
{
  g_autoptr (GstVkgdrAllocator) allocator = NULL;
  GstMemory *memory, *more;
  GError *error = NULL;
  guint i;

  if (!limit_memory ())
    return;
  test_context = test_context_new ();
  allocator = test_allocator ();
  memory = test_memory_new (test_context, 24 * 1024 * 1024);
  for (i = 0; i < 2; i++) {
    more = gst_vkgdr_allocator_alloc (allocator, 16 * 1024 * 1024, &error);
    fail_unless (more == NULL);
    fail_unless (
        g_error_matches (error, GST_VKGDR_ERROR, GST_VKGDR_ERROR_NO_MEMORY));
    test_assert_contains (error->message, "16777216 bytes");
    test_assert_contains (error->message, "window");
    test_assert_contains (error->message, "1 blocks of 25165824 bytes");
    g_clear_error (&error);
  }
  /* Freed memory can be allocated again. */
  gst_memory_unref (memory);
  memory = test_memory_new (test_context, 30 * 1024 * 1024);
  gst_memory_unref (memory);
  gst_object_unref (test_context);
}

static void
keep_error (GstBufferPool *pool, const GError *error, GError **kept)
{
  *kept = g_error_copy (error);
}

/* If a pool has used up its share of the window, and there is no device-only
 * memory either, the error says how much of the window is in use. */
TEST_IF (full_share, !test_hides_vulkan ())
{
  GQueue buffers = G_QUEUE_INIT;
  GError *error = NULL;
  GstStructure *config;
  GstBufferPool *pool;
  GstBuffer *buffer;

  if (!limit_memory ())
    return;
  test_context = test_context_new ();
  pool = gst_vkgdr_buffer_pool_new (test_context);
  g_signal_connect (pool, "acquire-failed", G_CALLBACK (keep_error), &error);
  config = gst_buffer_pool_get_config (pool);
  gst_buffer_pool_config_set_params (config, NULL, 8 * 1024 * 1024, 0, 0);
  fail_unless (gst_buffer_pool_set_config (pool, config));
  fail_unless (gst_buffer_pool_set_active (pool, TRUE));
  while (gst_buffer_pool_acquire_buffer (pool, &buffer, NULL) == GST_FLOW_OK)
    g_queue_push_tail (&buffers, buffer);
  fail_unless_equals_int (buffers.length, 4);
  fail_unless (
      strstr (error->message, "window of 33554432 bytes, of which this "
                              "process uses 33554432:"),
      "%s", error->message);
  g_clear_error (&error);
  g_queue_clear_full (&buffers, (GDestroyNotify) gst_buffer_unref);
  gst_buffer_pool_set_active (pool, FALSE);
  gst_object_unref (pool);
  test_teardown ();
}

TEST (lost_write_is_told)
{
  vkgdr_cuda *cuda;
  g_autoptr (GstMemory) memory = NULL;
  g_autoptr (GstVkgdrStream) stream = NULL;
  GError *error = NULL;

  g_setenv ("VKGDR_DRIVER", "software", TRUE);
  g_setenv (
      "SOFTCUDA_FAIL", "cuMemcpyHtoDAsync:1:CUDA_ERROR_ILLEGAL_ADDRESS", TRUE);
  test_set_debug ("bar");
  test_context = gst_vkgdr_context_new (-1, NULL);
  if (!test_context) /* there is no lavapipe */
    return;
  cuda = (vkgdr_cuda *) vkgdr_driver_load ();
  fail_unless (cuda != NULL);
  stream = test_stream_new (test_context);
  memory = test_memory_new (test_context, SIZE);
  gst_vkgdr_memory_set_access (memory, GST_VKGDR_ACCESS_STAGED);
  test_write (memory, 1);
  fail_unless (
      !gst_vkgdr_memory_begin_access (memory, stream, GST_MAP_READ, &error));
  test_assert_contains (error->message, "CUDA_ERROR_ILLEGAL_ADDRESS");
  g_clear_error (&error);

  gst_vkgdr_memory_discard (memory);
  test_write (memory, 2);
  test_assert_device (memory, 2);
  gst_object_unref (test_context);
}

/* If no staging buffer can be allocated, a writer uses the window, because its
 * frame would be lost otherwise. A reader has to fail. */
TEST (no_host_memory_to_stage)
{
  g_autoptr (GstMemory) memory = NULL;
  GstMapInfo map;

  g_setenv ("VKGDR_DRIVER", "software", TRUE);
  g_setenv ("SOFTCUDA_FAIL", "cuMemHostAlloc:1+", TRUE);
  test_set_debug ("bar");
  if (!test_has_window ()) /* there is no lavapipe */
    return;
  test_context = test_context_new ();
  memory = test_memory_new (test_context, SIZE);
  gst_vkgdr_memory_set_access (memory, GST_VKGDR_ACCESS_STAGED);
  test_write (memory, 1);
  test_assert_device (memory, 1);
  fail_unless_equals_int (gst_vkgdr_memory_get_write_times (memory, NULL, NULL),
      GST_VKGDR_ACCESS_DIRECT);
  fail_unless (!gst_memory_map (memory, &map, GST_MAP_READ));
  gst_object_unref (test_context);
}

TEST_FIXTURE (test_setup_bar, test_teardown);

TEST (out_of_range)
{
  g_autoptr (GstMemory) memory = test_memory_new (test_context, SIZE);
  g_autoptr (GstVkgdrStream) stream = test_stream_new (test_context);
  guint8 byte = 0;
  GError *error = NULL;

  fail_unless (
      !gst_vkgdr_memory_upload (memory, SIZE, &byte, 1, stream, &error));
  test_assert_error (&error, GST_VKGDR_ERROR_ARGUMENT);
  fail_unless (!gst_vkgdr_memory_write (memory, SIZE - 1, &byte, 2, &error));
  g_clear_error (&error);
  fail_unless (
      !gst_vkgdr_memory_upload (memory, G_MAXSIZE, &byte, 1, stream, &error));
  g_clear_error (&error);
}
