/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * memory.c: tests of mappings, of the content that they keep, and of the order
 * of accesses
 *
 * Memory of the software device is host-cached. VKGDR_DEBUG=bar makes the
 * library treat it as a window that is not cached, so that the library works as
 * it does on a GPU. Each test is a process of its own.
 */

#include <sys/mman.h>
#include <unistd.h>

#include <gst/allocators/gstfdmemory.h>

#include "device.h"
#include "device/device-private.h"
#include "memory/memory.h"
#include "memory/pinnedmemory.h"
#include "sync/sync-private.h"
#include "gate.h"

#define SIZE 10000
#define MIB (1024 * 1024)

TEST_PARALLEL (3);

static vkgdr_cuda real; /* the driver's table before it is changed */

/* --- mapping ------------------------------------------------------------- */

/* What was done with a memory before it is mapped. */
typedef enum { NEW, WRITTEN, FETCHED } Before;

#define AUTO GST_VKGDR_ACCESS_AUTO
#define STAGED GST_VKGDR_ACCESS_STAGED

/* Where a mapping points to, and how many transfers there are until it is
 * removed. */
static const struct {
  gboolean is_cached; /* the window */
  GstVkgdrAccess access;
  Before before;
  GstMapFlags flags;
  gboolean in_window;
  guint htod, dtoh;
} mappings[] = {
  { FALSE, AUTO, NEW, GST_MAP_WRITE, TRUE, 0, 0 },
  { FALSE, STAGED, NEW, GST_MAP_WRITE, FALSE, 1, 0 },
  { FALSE, AUTO, WRITTEN, GST_MAP_WRITE, TRUE, 0, 0 },
  { FALSE, STAGED, WRITTEN, GST_MAP_WRITE, FALSE, 1, 1 },
  { FALSE, AUTO, WRITTEN, GST_MAP_READ, FALSE, 0, 1 },
  { FALSE, AUTO, FETCHED, GST_MAP_READ, FALSE, 0, 0 },
  { FALSE, AUTO, WRITTEN, GST_MAP_READWRITE, FALSE, 1, 1 },
  { FALSE, AUTO, NEW, GST_MAP_READWRITE, FALSE, 1, 0 },
  { TRUE, AUTO, WRITTEN, GST_MAP_READWRITE, TRUE, 0, 0 },
};

/* The fixture of most tests: a window that is not cached. */
static GstVkgdrAllocator *allocator;
static GstVkgdrStream *stream;

static void
setup (void)
{
  test_setup_bar ();
  allocator = test_allocator ();
  stream = test_stream_new (test_context);
}

static void
teardown (void)
{
  gst_object_unref (allocator);
  gst_object_unref (stream);
  test_teardown ();
}

static gint
count_active (void)
{
  return gst_vkgdr_allocator_get_active_blocks (allocator);
}

static guint64
device_of (GstMemory *memory)
{
  return gst_vkgdr_memory_get_device_pointer (memory);
}

static guint8 *
host_of (GstMemory *memory)
{
  return gst_vkgdr_memory_get_host_pointer (memory);
}

static GstMemory *
new_memory (Before before, GstVkgdrAccess access)
{
  GstMemory *memory = test_memory_new (test_context, SIZE);

  if (before != NEW)
    test_write (memory, 1);
  if (before == FETCHED)
    test_assert_read (memory, 1);
  gst_vkgdr_memory_set_access (memory, access);
  return memory;
}

/* Fails unless the bytes are those of pattern 1; with @is_partial, some of them
 * were overwritten. */
static void
assert_content (const guint8 *data, gboolean is_partial)
{
  gsize i;

  for (i = 0; i < SIZE; i++)
    test_check_byte (i, data[i],
        is_partial && i >= 100 && i < 150 ? 0xaa : test_pattern (i, 1));
}

/* Maps the memory twice, as the planes of a video frame are mapped, and writes
 * when the other mapping has ended. The writer of a memory that has content
 * writes only a part of it, and the rest is kept. */
static void
check_mapping (guint row)
{
  Before before = mappings[row].before;
  GstMapFlags flags = mappings[row].flags;
  GstMemory *memory = new_memory (before, mappings[row].access);
  const guint8 *window = host_of (memory);
  gboolean has_content = before == WRITTEN || before == FETCHED, in_window;
  gboolean is_partial = has_content && flags & GST_MAP_WRITE;
  g_autofree guint8 *bytes = NULL;
  GstMapInfo map, other;

  test_spy_install (test_context);
  fail_unless (gst_memory_map (memory, &other, flags));
  fail_unless (gst_memory_map (memory, &map, flags));
  fail_unless (map.size == SIZE && map.data == other.data);
  gst_memory_unmap (memory, &other);
  in_window = map.data >= window && map.data < window + SIZE;
  if (has_content && flags & GST_MAP_READ)
    assert_content (map.data, FALSE);
  if (is_partial)
    memset (map.data + 100, 0xaa, 50);
  else if (flags & GST_MAP_WRITE)
    test_fill (map.data, map.size, 1);
  gst_memory_unmap (memory, &map);
  if (window) {
    fail_unless_equals_int (in_window, mappings[row].in_window);
    fail_unless_equals_int (test_spy.htod, mappings[row].htod);
    fail_unless_equals_int (test_spy.dtoh, mappings[row].dtoh);
  } else if (!mappings[row].in_window) {
    fail_unless (test_spy.dtoh <= mappings[row].dtoh);
  }
  bytes = test_device_bytes (memory);
  assert_content (bytes, is_partial);
  fail_unless (gst_memory_map (memory, &map, GST_MAP_READ));
  assert_content (map.data, is_partial);
  gst_memory_unmap (memory, &map);
  gst_memory_unref (memory);
}

TEST_LOOP (mapping, G_N_ELEMENTS (mappings))
{
  gboolean is_cached = mappings[__i__].is_cached;

  if (is_cached)
    test_setup ();
  else
    test_setup_bar ();
  if (!is_cached || gst_vkgdr_context_is_host_cached (test_context))
    check_mapping (__i__);
  test_teardown ();
}

TEST_FIXTURE (setup, teardown);

/* The memory is made smaller while it is mapped, and larger again later. All
 * bytes that the mapping gave access to are on the device. */
TEST (resized_while_mapped)
{
  g_autoptr (GstMemory) memory = new_memory (WRITTEN, STAGED);
  GstMapInfo map;

  fail_unless (gst_memory_map (memory, &map, GST_MAP_WRITE));
  test_fill (map.data, map.size, 2);
  gst_memory_resize (memory, 1000, 2000);
  gst_memory_unmap (memory, &map);
  gst_memory_resize (memory, -1000, SIZE);
  test_assert_device (memory, 2);
  test_assert_read (memory, 2);
}

TEST (share_copy_span)
{
  g_autoptr (GstMemory) memory = new_memory (WRITTEN, AUTO);
  g_autoptr (GstMemory) a = gst_memory_share (memory, 100, 200);
  g_autoptr (GstMemory) b = gst_memory_share (memory, 300, -1);
  g_autoptr (GstMemory) aa = gst_memory_share (a, 50, 20);
  g_autoptr (GstMemory) copy = gst_memory_copy (a, 50, 20);
  g_autofree guint8 *bytes = test_device_bytes (memory),
                    *copied = test_device_bytes (copy);
  GstMapInfo map;
  gsize offset;

  fail_unless (gst_memory_map (aa, &map, GST_MAP_READ));
  fail_unless (map.size == 20 && memcmp (map.data, bytes + 150, 20) == 0);
  gst_memory_unmap (aa, &map);
  fail_unless_equals_uint64 (device_of (aa), device_of (memory) + 150);
  if (!test_hides_vulkan ())
    fail_unless (host_of (aa) == host_of (memory) + 150);
  fail_unless (gst_memory_is_span (a, b, &offset) && offset == 100);
  fail_unless (!gst_memory_is_span (b, a, NULL));
  fail_unless (gst_is_vkgdr_memory (copy) && copy->parent == NULL);
  fail_unless (memcmp (copied, bytes + 150, 20) == 0);
}

TEST (device_mapping)
{
  g_autoptr (GstMemory) memory = new_memory (WRITTEN, STAGED);
  GstMapInfo map;

  fail_unless (
      gst_memory_map (memory, &map, GST_MAP_READWRITE | GST_MAP_VKGDR));
  fail_unless_equals_uint64 ((guintptr) map.data, device_of (memory));
  fail_unless (gst_vkgdr_context_push (test_context, NULL));
  vkgdr_driver_load ()->cuMemsetD8 ((guintptr) map.data, 0xaa, 1);
  gst_vkgdr_context_pop (test_context);
  gst_memory_unmap (memory, &map);
  fail_unless (gst_memory_map (memory, &map, GST_MAP_READ));
  fail_unless_equals_int (map.data[0], 0xaa);
  fail_unless_equals_int (map.data[1], test_pattern (1, 1));
  gst_memory_unmap (memory, &map);
}

/* --- flushes ------------------------------------------------------------- */

static VkMappedMemoryRange flushed; /* the last range */
static guint n_flushed;

static VKAPI_ATTR VkResult VKAPI_CALL
spy_flush (VkDevice device, uint32_t n, const VkMappedMemoryRange *ranges)
{
  n_flushed += n;
  flushed = ranges[0];
  return VK_SUCCESS;
}

/* Fails unless there was one flush, of these bytes rounded to the atom size. */
static void
assert_flushed (gsize offset, gsize size)
{
  guint64 atom = gst_vkgdr_context_get_handle (test_context)->atom_size;

  fail_unless_equals_int (n_flushed, 1);
  fail_unless_equals_uint64 (flushed.offset, offset / atom * atom);
  fail_unless_equals_uint64 (
      flushed.offset + flushed.size, (offset + size + atom - 1) / atom * atom);
  n_flushed = 0;
}

static void
map_and_unmap (GstMemory *memory, GstMapFlags flags)
{
  GstMapInfo map;

  fail_unless (gst_memory_map (memory, &map, flags));
  gst_memory_unmap (memory, &map);
}

TEST_FIXTURE (NULL, NULL);

TEST (flush_is_the_mapped_range)
{
  GstMemory *memory, *part;
  const guint8 bytes[100] = { 0 };

  TEST_NEEDS (!test_hides_vulkan (), "a window");
  test_set_debug ("bar,non-coherent");
  test_setup ();
  memory = test_memory_new (test_context, SIZE);
  gst_vkgdr_context_get_handle (test_context)->vk.FlushMappedMemoryRanges =
      spy_flush;
  map_and_unmap (memory, GST_MAP_WRITE);
  assert_flushed (0, SIZE);
  fail_unless (gst_vkgdr_memory_write (memory, 1001, bytes, 100, NULL));
  assert_flushed (1001, 100);
  part = gst_memory_share (memory, 1001, 2002);
  gst_memory_unref (memory);
  GST_MINI_OBJECT_FLAG_UNSET (part, GST_MEMORY_FLAG_READONLY);
  map_and_unmap (part, GST_MAP_WRITE);
  assert_flushed (1001, 2002);
  map_and_unmap (part, GST_MAP_READ);
  fail_unless_equals_int (n_flushed, 0);
  gst_memory_unref (part);
  test_teardown ();
}

/* --- order --------------------------------------------------------------- */

TEST_FIXTURE (setup, teardown);

/* What accesses a memory while two streams use it. */
typedef enum { MAP, COPY, SEND, STREAM } Accessor;

static const struct {
  GstMapFlags use; /* of the streams; with GST_MAP_VKGDR: not declared */
  Accessor accessor;
  GstMapFlags access;
  gboolean waits;
} waits[] = {
  { GST_MAP_READ, MAP, GST_MAP_READ, FALSE },
  { GST_MAP_READ, MAP, GST_MAP_WRITE, TRUE },
  { GST_MAP_READ, COPY, GST_MAP_WRITE, TRUE },
  { GST_MAP_READ, SEND, GST_MAP_READ, FALSE },
  { GST_MAP_READ, STREAM, GST_MAP_READ, FALSE },
  { GST_MAP_READ, STREAM, GST_MAP_WRITE, TRUE },
  { GST_MAP_WRITE, MAP, GST_MAP_READ, TRUE },
  { GST_MAP_WRITE, MAP, GST_MAP_READ | GST_MAP_VKGDR, TRUE },
  { GST_MAP_WRITE, SEND, GST_MAP_READ, TRUE },
  { GST_MAP_WRITE, STREAM, GST_MAP_READ, TRUE },
  { GST_MAP_READ | GST_MAP_VKGDR, MAP, GST_MAP_WRITE, TRUE },
};

/* Returns when the access has ended. */
static void
access_memory (GstMemory *memory, GstVkgdrStream *other, Accessor accessor,
    GstMapFlags flags)
{
  if (accessor == MAP)
    map_and_unmap (memory, flags);
  else if (accessor == COPY)
    fail_unless (gst_vkgdr_memory_write (memory, 0, "", 1, NULL));
  else if (accessor == SEND)
    fail_unless (gst_vkgdr_memory_wait_written (memory, NULL));
  else
    fail_unless (gst_vkgdr_memory_begin_access (memory, other, flags, NULL)
                 && gst_vkgdr_memory_end_access (memory, other, flags, NULL)
                 && gst_vkgdr_stream_synchronize (other, NULL));
}

/* The first stream uses the memory longer than the second one, which reads it
 * before and after the first one. */
TEST_LOOP (accesses_wait_for_streams, G_N_ELEMENTS (waits))
{
  g_autoptr (GstVkgdrStream) second = test_stream_new (test_context);
  g_autoptr (GstVkgdrStream) other = test_stream_new (test_context);
  g_autoptr (GstMemory) memory = new_memory (WRITTEN, AUTO);
  GstMapFlags use = waits[__i__].use;
  gint done = FALSE;
  GstMapInfo map;

  fail_unless (gst_vkgdr_memory_wait_idle (memory, NULL));
  if (use & GST_MAP_VKGDR) {
    fail_unless (gst_memory_map (memory, &map, use));
    test_gate_delay (stream, 100, &done);
    gst_memory_unmap (memory, &map);
  } else {
    if (use == GST_MAP_READ)
      test_gate_access (memory, second, use, 0, NULL);
    test_gate_access (memory, stream, use, 100, &done);
    if (use == GST_MAP_READ)
      test_gate_access (memory, second, use, 0, NULL);
  }
  fail_unless (!gst_vkgdr_memory_is_idle (memory));
  fail_unless_equals_int (
      gst_vkgdr_memory_is_written (memory), !(use & GST_MAP_WRITE));
  if (waits[__i__].waits)
    test_gate_set (TRUE);
  access_memory (memory, other, waits[__i__].accessor, waits[__i__].access);
  fail_unless_equals_int (g_atomic_int_get (&done), waits[__i__].waits);
  test_gate_set (TRUE);
  fail_unless (gst_vkgdr_memory_wait_idle (memory, NULL));
  fail_unless (g_atomic_int_get (&done));
}

/* While a task writes to a memory, the CPU does so, too: the content is
 * transferred on another stream, and the memory is written when both are done.
 */
TEST (task_covers_uploads)
{
  g_autoptr (GstMemory) memory = new_memory (WRITTEN, STAGED);
  GstVkgdrTask task;

  fail_unless (gst_vkgdr_memory_wait_idle (memory, NULL));
  test_gate_transfers ();
  test_gate_set (FALSE);
  fail_unless (gst_vkgdr_task_begin (&task, stream, NULL));
  fail_unless (gst_vkgdr_task_use_memory (&task, memory, GST_MAP_WRITE, NULL));
  test_write (memory, 2);
  fail_unless (gst_vkgdr_task_end (&task, NULL));
  fail_if (gst_vkgdr_memory_is_written (memory));
  fail_if (test_gate_was_missed ());
  test_gate_set (TRUE);
  fail_unless (gst_vkgdr_memory_wait_written (memory, NULL));
  test_assert_device (memory, 2);
}

/* Frees a memory that `stream` reads until 100 ms after the gate opens, while
 * the calls of @failing (nullable) fail. If @n_streams is 2, another stream
 * reads it first, which ends sooner. Returns its device pointer. */
static guint64
free_busy (
    GstVkgdrAllocator *owner, const gchar *failing, guint n_streams, gint *done)
{
  g_autoptr (GstVkgdrStream) first = test_stream_new (test_context);
  GstMemory *memory = gst_vkgdr_allocator_alloc (owner, SIZE, NULL);
  guint64 pointer = device_of (memory);

  if (n_streams == 2)
    test_gate_access (memory, first, GST_MAP_READ, 0, NULL);
  test_gate_access (memory, stream, GST_MAP_READ, 100, done);
  if (failing)
    test_make_calls_fail (failing);
  gst_memory_unref (memory);
  if (failing)
    test_make_calls_fail (NULL);
  return pointer;
}

/* The driver cannot be queried when the memory is freed (__i__ is 1), or when
 * the next memory is allocated (2). The memory is not used again before the
 * device is known to be idle. Then it is. */
TEST_LOOP (freed_memory_is_not_reused_too_early, 3)
{
  gint done = FALSE;
  guint64 pointer;
  GstMemory *memory;

  TEST_NEEDS (__i__ == 0 || test_is_software (), "the software device");
  pointer = free_busy (allocator, __i__ == 1 ? "cuEventQuery:1" : NULL,
      __i__ == 0 ? 2 : 1, &done);
  gst_vkgdr_allocator_free_held (allocator);
  fail_unless_equals_int (count_active (), 1);
  if (__i__ == 2)
    test_make_calls_fail ("cuEventQuery:1");
  memory = test_memory_new (test_context, SIZE);
  if (__i__ == 2)
    test_make_calls_fail (NULL);
  fail_unless (device_of (memory) != pointer);
  gst_memory_unref (memory);
  test_gate_set (TRUE);
  test_wait_for (count_active () == 0);
  fail_unless (g_atomic_int_get (&done));
  memory = test_memory_new (test_context, SIZE);
  fail_unless_equals_uint64 (device_of (memory), pointer);
  gst_memory_unref (memory);
}

/* An older driver cannot record an event behind all work of the CUDA context.
 * So a use on streams that were not declared is over when its mapping ends. */
TEST (old_driver_waits_at_the_unmap)
{
  g_autoptr (GstMemory) memory = new_memory (WRITTEN, AUTO);
  GstMapInfo map;
  gint done = FALSE;

  test_change_driver (&real)->cuCtxRecordEvent = NULL;
  fail_unless (gst_memory_map (memory, &map, GST_MAP_READ | GST_MAP_VKGDR));
  test_gate_delay (stream, 100, &done);
  test_gate_set (TRUE);
  gst_memory_unmap (memory, &map);
  fail_unless (g_atomic_int_get (&done));
  fail_unless (gst_vkgdr_memory_is_idle (memory));
}

/* While the CPU reads a part of a memory, it maps the whole memory for writing.
 * The writer waits until the device has read the memory. With __i__ of 1, the
 * CPU caches the window, so that it writes where the device reads. */
static void
check_writer_around_a_reader (void)
{
  g_autoptr (GstVkgdrStream) reader = test_stream_new (test_context);
  g_autoptr (GstMemory) memory = new_memory (WRITTEN, AUTO);
  g_autoptr (GstMemory) part = gst_memory_share (memory, 0, 100);
  GstMapInfo map, inner;
  gint done = FALSE;

  fail_unless (gst_memory_map (part, &inner, GST_MAP_READ));
  test_gate_access (memory, reader, GST_MAP_READ, 100, &done);
  test_gate_set (TRUE);
  fail_unless (gst_memory_map (memory, &map, GST_MAP_WRITE));
  fail_unless (g_atomic_int_get (&done));
  fail_unless (map.data == inner.data);
  test_fill (map.data, map.size, 2);
  gst_memory_unmap (memory, &map);
  gst_memory_unmap (part, &inner);
  test_assert_device (memory, 2);
}

TEST_FIXTURE (NULL, NULL);

TEST_LOOP (writer_around_a_reader_waits, 2)
{
  if (__i__ == 1)
    test_setup ();
  else
    test_setup_bar ();
  check_writer_around_a_reader ();
  test_teardown ();
}

TEST_FIXTURE (setup, teardown);

static gint
compare_any (gconstpointer wrapper, gconstpointer wanted)
{
  return 0;
}

static void
set_flag (gpointer flag)
{
  g_atomic_int_set ((gint *) flag, TRUE);
}

/* The memory has been in two GstCudaMemory at the same time, whose textures a
 * kernel still samples when the memory is freed. */
TEST (cuda_wrappers_are_freed_after_the_work)
{
  static guint8 data[2][8];
  GstMemory *memory = new_memory (WRITTEN, AUTO), *wrapper;
  gint freed[2] = { FALSE, FALSE }, done = FALSE;
  guint i;

  for (i = 0; i < 2; i++) {
    wrapper = gst_memory_new_wrapped (
        0, data[i], sizeof (data[i]), 0, sizeof (data[i]), &freed[i], set_flag);
    gst_vkgdr_memory_give_cuda_wrapper (memory, wrapper);
  }
  wrapper = gst_vkgdr_memory_take_cuda_wrapper (memory, compare_any, NULL);
  fail_unless (wrapper != NULL);
  gst_vkgdr_memory_give_cuda_wrapper (memory, wrapper);
  test_gate_access (memory, stream, GST_MAP_READ, 0, &done);
  gst_memory_unref (memory);
  gst_vkgdr_allocator_free_held (allocator);
  fail_if (g_atomic_int_get (&freed[0]) || g_atomic_int_get (&freed[1]));
  fail_if (test_gate_was_missed ());
  test_gate_set (TRUE);
  test_wait_for (count_active () == 0);
  gst_vkgdr_allocator_free_held (allocator);
  fail_unless (g_atomic_int_get (&done));
  fail_unless (g_atomic_int_get (&freed[0]) && g_atomic_int_get (&freed[1]));
}

/* --- allocator ----------------------------------------------------------- */

/* Of the default allocator, which has the same functions as the others. The
 * flags are set in the memory, as in system memory. */
TEST (allocation_params)
{
  g_autoptr (GstAllocator) found = NULL;
  GstAllocationParams params = { GST_MEMORY_FLAG_ZERO_PREFIXED
                                     | GST_MEMORY_FLAG_ZERO_PADDED
                                     | GST_MEMORY_FLAG_NO_SHARE,
    255, 64, 100 };
  GstMemory *memory;
  g_autofree guint8 *data = NULL;
  gsize offset, maxsize;
  guint64 before;
  guint i;

  gst_vkgdr_init ();
  found = gst_allocator_find ("VkgdrMemory");
  /* So that the next memory does not begin with zeros by chance. */
  memory = gst_allocator_alloc (found, 1500, NULL);
  test_write (memory, 2);
  gst_memory_unref (memory);
  memory = gst_allocator_alloc (found, 1000, &params);
  fail_unless (gst_memory_is_type (memory, "VkgdrMemory"));
  fail_unless (gst_memory_get_sizes (memory, &offset, &maxsize) == 1000
               && offset == 64 && maxsize >= 1164);
  fail_unless (GST_MEMORY_FLAG_IS_SET (memory, GST_MEMORY_FLAG_NO_SHARE));
  test_write (memory, 1);
  gst_memory_resize (memory, -64, 1164);
  fail_unless_equals_int (device_of (memory) % 256, 0);
  data = test_device_bytes (memory);
  for (i = 0; i < 1164; i++)
    test_check_byte (
        i, data[i], i < 64 || i >= 1064 ? 0 : test_pattern (i - 64, 1));
  /* The next memory, in the same block, is as new. */
  GST_MINI_OBJECT_FLAG_SET (memory, GST_MEMORY_FLAG_READONLY);
  before = device_of (memory);
  gst_memory_unref (memory);
  memory = gst_allocator_alloc (found, 1164, NULL);
  if (!test_hides_vulkan ()) /* without a window, it may be another block */
    fail_unless_equals_uint64 (device_of (memory), before);
  fail_unless (
      gst_memory_get_sizes (memory, &offset, NULL) == 1164 && offset == 0);
  fail_if (GST_MEMORY_FLAG_IS_SET (memory, GST_MEMORY_FLAG_NO_SHARE)
           || GST_MEMORY_IS_READONLY (memory));
  gst_memory_unref (memory);
}

TEST (sizes_and_ranges_are_checked)
{
  static const gsize offsets[] = { SIZE - 1, SIZE, G_MAXSIZE };
  g_autoptr (GstMemory) memory = test_memory_new (test_context, SIZE);
  GstAllocationParams params = { 0, 0, G_MAXSIZE - 5, 20 };
  GError *error = NULL;
  guint i;

  fail_unless (!gst_allocator_alloc (GST_ALLOCATOR (allocator), 10, &params));
  fail_unless (
      !gst_vkgdr_allocator_alloc_pinned (allocator, G_MAXSIZE, &error));
  test_assert_error (&error, GST_VKGDR_ERROR_NO_MEMORY);
  for (i = 0; i < G_N_ELEMENTS (offsets); i++) {
    fail_unless (
        !gst_vkgdr_memory_upload (memory, offsets[i], "ab", 2, stream, &error));
    test_assert_error (&error, GST_VKGDR_ERROR_ARGUMENT);
    fail_unless (!gst_vkgdr_memory_write (memory, offsets[i], "ab", 2, &error));
    test_assert_error (&error, GST_VKGDR_ERROR_ARGUMENT);
    fail_unless (!gst_vkgdr_allocator_alloc_wrapped (allocator,
        device_of (memory), G_MAXSIZE - offsets[i], 0, NULL, NULL, &error));
    test_assert_error (&error, GST_VKGDR_ERROR_ARGUMENT);
  }
}

/* A single large block does not get a slab of four times its size. The next one
 * uses the existing slab, without an allocation by the driver. */
TEST (idle_slabs_are_used_again)
{
  guint64 bytes = 0;
  guint i;

  for (i = 0; i < 4; i++) {
    g_autoptr (GstMemory) memory = test_memory_new (test_context, 12 * MIB + 1);

    if (i == 0)
      bytes = gst_vkgdr_allocator_get_managed_bytes (allocator);
    fail_unless (bytes < 13 * MIB);
    fail_unless_equals_uint64 (
        gst_vkgdr_allocator_get_managed_bytes (allocator), bytes);
    fail_unless (gst_vkgdr_memory_wait_idle (memory, NULL));
  }
}

static gint n_freed; /* allocations of the driver; atomic */

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

/* Memory that is not used again goes back to the driver after ten seconds
 * (__i__ is 0), also if the device used it when it was freed (1), even if the
 * allocator is not called any more; at once if the allocator is gone (2). */
TEST_LOOP (unused_memory_goes_back_to_the_driver, 3)
{
  vkgdr_cuda *table = test_change_driver (&real);
  GstVkgdrAllocator *owner = gst_vkgdr_allocator_new (test_context);
  gint64 start = g_get_monotonic_time ();

  table->cuMemFree = counted_free;
  table->cuMemRelease = counted_release;
  if (__i__ == 0)
    gst_memory_unref (gst_vkgdr_allocator_alloc (owner, SIZE, NULL));
  else
    free_busy (owner, NULL, 2, NULL);
  if (__i__ == 2)
    gst_clear_object (&owner);
  else
    g_usleep (5 * G_USEC_PER_SEC);
  if (g_get_monotonic_time () < start + 9 * G_TIME_SPAN_SECOND)
    fail_unless_equals_int (g_atomic_int_get (&n_freed), 0);
  fail_if (test_gate_was_missed ());
  test_gate_set (TRUE);
  test_wait_for (g_atomic_int_get (&n_freed) > 0);
  fail_unless_equals_int (g_atomic_int_get (&n_freed), 1);
  gst_clear_object (&owner);
}

static gint n_settled; /* events behind all work of the context; atomic */

static CUresult
counted_record (CUcontext context, CUevent event)
{
  g_atomic_int_inc (&n_settled);
  return real.cuCtxRecordEvent (context, event);
}

/* A call that frees memory blocks other calls of the driver until all work is
 * done. So it is made when all work is done that was queued before, also of
 * streams that do not use the memory. */
TEST (memory_goes_back_when_the_device_is_idle)
{
  vkgdr_cuda *table = test_change_driver (&real);
  GstVkgdrAllocator *owner;
  GstMemory *memory;

  TEST_NEEDS (real.cuCtxRecordEvent, "a driver of CUDA 12.5");
  owner = gst_vkgdr_allocator_new (test_context);
  memory = gst_vkgdr_allocator_alloc (owner, SIZE, NULL);
  table->cuMemFree = counted_free;
  table->cuMemRelease = counted_release;
  table->cuCtxRecordEvent = counted_record;
  test_gate_delay (stream, 0, NULL);
  gst_memory_unref (memory);
  gst_object_unref (owner);
  test_wait_for (
      g_atomic_int_get (&n_settled) > 0 || g_atomic_int_get (&n_freed) > 0);
  fail_unless_equals_int (g_atomic_int_get (&n_freed), 0);
  fail_if (test_gate_was_missed ());
  test_gate_set (TRUE);
  test_wait_for (g_atomic_int_get (&n_freed) > 0);
}

/* Four blocks of 900 KiB leave the end of a slab of 4 MiB free. The last block
 * and this end together have room for a larger block. */
TEST (adjacent_free_blocks_are_one)
{
  GstMemory *memories[4], *larger;
  guint64 bytes;
  guint i;

  for (i = 0; i < G_N_ELEMENTS (memories); i++)
    memories[i] = test_memory_new (test_context, 900 * 1024);
  bytes = gst_vkgdr_allocator_get_managed_bytes (allocator);
  gst_memory_unref (memories[3]);
  larger = test_memory_new (test_context, 1000 * 1024);
  fail_unless_equals_uint64 (
      gst_vkgdr_allocator_get_managed_bytes (allocator), bytes);
  gst_memory_unref (larger);
  for (i = 0; i < 3; i++)
    gst_memory_unref (memories[i]);
}

/* Blocks are used again, also for memories of other sizes. */
TEST (ten_thousand_allocations)
{
  GQueue live = G_QUEUE_INIT;
  guint before = test_count_fds (), i, seed = 1;

  for (i = 0; i < 10000; i++) {
    gsize size;

    seed = seed * 1664525 + 1013904223;
    size = 1 + (seed >> 8) % (i % 10 == 0 ? 300000 : 5000);
    g_queue_push_tail (&live, test_memory_new (test_context, size));
    if (live.length > 100)
      gst_memory_unref (g_queue_pop_nth (&live, (seed >> 4) % live.length));
  }
  fail_unless_equals_int (count_active (), live.length);
  fail_unless (gst_vkgdr_allocator_get_managed_bytes (allocator) <= 32 * MIB);
  g_queue_clear_full (&live, (GDestroyNotify) gst_memory_unref);
  fail_unless_equals_int (count_active (), 0);
  gst_vkgdr_allocator_free_held (allocator);
  fail_unless_equals_int (gst_vkgdr_allocator_get_managed_bytes (allocator), 0);
  test_assert_fds (before);
}

TEST (pinned_is_recycled)
{
  GstMemory *memory = gst_vkgdr_allocator_alloc_pinned (allocator, SIZE, NULL);
  gpointer data = gst_vkgdr_pinned_memory_get_data (memory);

  fail_unless (gst_vkgdr_is_pinned_memory (memory));
  fail_unless (gst_vkgdr_context_get_pinned_data (test_context, memory));
  gst_memory_unref (memory);
  memory = gst_vkgdr_allocator_alloc_pinned (allocator, SIZE + 1, NULL);
  fail_unless (gst_vkgdr_pinned_memory_get_data (memory) == data);
  gst_memory_unref (memory);
}

/* --- pinning ------------------------------------------------------------- */

/* Each unmap removes the mapping of this memory, and other pages can then be
 * mapped at its address. DMA from pages that were pinned at this address would
 * send the bytes of the old pages. */
TEST (mapping_that_moves)
{
  g_autoptr (GstAllocator) allocator = gst_fd_allocator_new ();
  g_autoptr (GstMemory) ours = test_memory_new (test_context, MIB);
  g_autoptr (GstMemory) theirs = NULL;
  gint fd = memfd_create ("core", MFD_CLOEXEC);
  GstMapInfo map;
  guint i;

  fail_unless (fd >= 0 && ftruncate (fd, MIB) == 0);
  theirs = gst_fd_allocator_alloc (allocator, fd, MIB, GST_FD_MEMORY_FLAG_NONE);
  for (i = 0; i < 3; i++) {
    gpointer other, sent;

    /* Maps other pages where the memory was mapped before. */
    fail_unless (gst_memory_map (theirs, &map, GST_MAP_READ));
    other = map.data;
    gst_memory_unmap (theirs, &map);
    other = mmap (other, MIB, PROT_READ | PROT_WRITE,
        MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    fail_unless (other != MAP_FAILED);
    memset (other, 0xee, MIB);

    test_write (theirs, i);
    sent = gst_vkgdr_context_get_pinned_data (test_context, theirs);
    fail_unless (i == 0 || sent != NULL);
    if (sent) {
      fail_unless (gst_memory_map (theirs, &map, GST_MAP_READ));
      fail_unless (gst_vkgdr_memory_upload (ours, 0, sent, MIB, stream, NULL));
      fail_unless (gst_vkgdr_stream_synchronize (stream, NULL));
      gst_memory_unmap (theirs, &map);
      test_assert_device (ours, i);
    }
    munmap (other, MIB);
  }
}

/* An application can free its bytes before the library notices that the memory
 * that wraps them has been freed. So such bytes are not pinned. */
TEST (wrapped_bytes_are_not_pinned)
{
  guint8 *bytes = g_malloc0 (MIB);
  g_autoptr (GstMemory) memory =
      gst_memory_new_wrapped (0, bytes, MIB, 0, MIB, bytes, g_free);

  /* Other memory is pinned when it comes a second time. */
  fail_if (gst_vkgdr_context_get_pinned_data (test_context, memory));
  fail_if (gst_vkgdr_context_get_pinned_data (test_context, memory));
}

/* Another stream is busy while a pinned memory is freed. Neither the thread
 * that frees the memory nor a thread that queues work waits for this stream. */
TEST (freeing_pinned_memory_does_not_wait)
{
  GstMemory *memory = gst_allocator_alloc (NULL, MIB, NULL);
  g_autoptr (GstVkgdrStream) other = test_stream_new (test_context);
  g_autoptr (GstMemory) ours = test_memory_new (test_context, MIB);
  gint done = FALSE;

  gst_vkgdr_context_get_pinned_data (test_context, memory);
  fail_unless (gst_vkgdr_context_get_pinned_data (test_context, memory));
  test_gate_delay (stream, 0, &done);

  gst_memory_unref (memory);
  g_usleep (100000); /* so that the thread that unpins begins */
  fail_unless (gst_vkgdr_memory_fill (ours, 0, MIB, 7, other, NULL));
  fail_unless (!g_atomic_int_get (&done));
  test_gate_set (TRUE);
  fail_unless (gst_vkgdr_stream_synchronize (stream, NULL));
}

/* --- contexts and calls --------------------------------------------------- */

/* A language binding can make such an object. */
TEST (context_that_was_not_opened)
{
  g_autoptr (GstVkgdrContext) context =
      gst_object_ref_sink (g_object_new (GST_TYPE_VKGDR_CONTEXT, NULL));
  g_autoptr (GstVkgdrAllocator) own = gst_vkgdr_allocator_new (context);
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
  fail_if (gst_vkgdr_allocator_alloc (own, SIZE, &error));
  test_assert_error_says (
      &error, GST_VKGDR_ERROR_NO_MEMORY, "the context has no device");
  g_test_expect_message (
      "GStreamer-Vkgdr", G_LOG_LEVEL_CRITICAL, "*CONTEXT_IS_MADE*failed");
  fail_if (gst_vkgdr_context_describe (context));
  g_test_assert_expected_messages ();
}

static CUstreamCaptureMode
exchange_capture_mode (CUstreamCaptureMode mode)
{
  fail_unless_equals_int (
      vkgdr_driver_load ()->cuThreadExchangeStreamCaptureMode (&mode),
      CUDA_SUCCESS);
  return mode;
}

/* The library's calls are allowed while another thread captures a CUDA graph.
 * Outside of them, the thread has its own mode. */
TEST (capture_mode)
{
  const CUstreamCaptureMode own = CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
  const CUstreamCaptureMode relaxed = CU_STREAM_CAPTURE_MODE_RELAXED;

  TEST_NEEDS (vkgdr_driver_load ()->cuThreadExchangeStreamCaptureMode,
      "a driver with capture modes");
  exchange_capture_mode (own);
  fail_unless (gst_vkgdr_context_push (test_context, NULL));
  fail_unless (gst_vkgdr_context_push (test_context, NULL));
  gst_vkgdr_context_pop (test_context);
  fail_unless_equals_int (exchange_capture_mode (relaxed), relaxed);
  gst_vkgdr_context_pop (test_context);
  fail_unless_equals_int (exchange_capture_mode (own), own);
}

/* A copy on @theirs, a stream of another CUDA context, reads @memory. A use on
 * streams that were not declared, after which the memory waits for all work of
 * its own CUDA context, does not end the wait for this copy. */
static void
check_copy_is_waited_for (
    GstMemory *memory, GstVkgdrStream *theirs, vkgdr_cuda *table)
{
  GstMemory *copy =
      test_memory_new (gst_vkgdr_stream_get_context (theirs), SIZE);

  test_gate_delay (theirs, 0, NULL);
  fail_unless (gst_vkgdr_memory_copy_rect (
      copy, 0, 0, memory, 0, 0, SIZE, 1, theirs, NULL));
  table->cuCtxRecordEvent = NULL; /* no event is recorded behind this use */
  map_and_unmap (memory, GST_MAP_READ | GST_MAP_VKGDR);
  table->cuCtxRecordEvent = real.cuCtxRecordEvent;
  fail_unless (gst_vkgdr_memory_wait_written (memory, NULL));
  fail_if (gst_vkgdr_memory_is_idle (memory) || test_gate_was_missed ());
  test_gate_set (TRUE);
  test_assert_device (copy, 1);
  fail_unless (gst_vkgdr_memory_wait_idle (memory, NULL));
  gst_memory_unref (copy);
}

/* A stream of another CUDA context is refused, and the memory stays as it is.
 * Only a copy may read the memory there. */
TEST (another_cuda_context)
{
  vkgdr_cuda *table = test_change_driver (&real);
  g_autoptr (GstMemory) memory = new_memory (WRITTEN, AUTO);
  g_autoptr (GstVkgdrFunction) function =
      test_function_new (test_context, "__global__ void nothing () {}");
  CUcontext own = NULL, popped;
  GstVkgdrContext *other;
  GstVkgdrStream *theirs;
  GError *error = NULL;

  fail_unless_equals_int (table->cuCtxCreate (&own, 0, 0), CUDA_SUCCESS);
  other = gst_vkgdr_context_new_from_current (&error);
  g_assert_no_error (error);
  fail_unless_equals_int (table->cuCtxPopCurrent (&popped), CUDA_SUCCESS);
  theirs = test_stream_new (other);
  fail_unless (!gst_vkgdr_memory_fill (memory, 0, SIZE, 0, theirs, &error));
  test_assert_error (&error, GST_VKGDR_ERROR_ARGUMENT);
  fail_unless (!gst_vkgdr_function_launch (
      function, theirs, 1, 1, 1, 1, 1, 1, 0, NULL, 0, &error));
  test_assert_error (&error, GST_VKGDR_ERROR_ARGUMENT);
  test_assert_device (memory, 1);

  /* NVIDIA's cuCtxSynchronize () also waits for host functions of other CUDA
   * contexts. */
  if (test_is_software ())
    check_copy_is_waited_for (memory, theirs, table);
  gst_object_unref (theirs);
  test_assert_last_ref (other);
  gst_object_unref (other);
  fail_unless_equals_int (table->cuCtxDestroy (own), CUDA_SUCCESS);
}

/* Calls functions that pipelines do not call, until the first error. */
static gboolean
run_all (GError **error)
{
  g_autoptr (GstMemory) memory = test_memory_new (test_context, SIZE);
  g_autoptr (GstMemory) copy = test_memory_new (test_context, SIZE);
  g_autoptr (GstVkgdrMapping) mapping = NULL;
  g_autoptr (GstMemory) large =
      gst_vkgdr_allocator_alloc (allocator, 2 * MIB, error);

  return large && gst_vkgdr_memory_fill (memory, 0, SIZE, 0, stream, error)
         && gst_vkgdr_memory_copy_rect (
             copy, 0, 0, memory, 0, 0, SIZE, 1, stream, error)
         && gst_vkgdr_memory_copy_rect (
             copy, 0, 16, memory, 0, 16, 8, 8, stream, error)
         && (mapping = gst_vkgdr_mapping_new (
                 copy, GST_MAP_READ, NULL, stream, error))
         && gst_vkgdr_mapping_add_stream (mapping, stream, error)
         && gst_vkgdr_stream_synchronize (stream, error);
}

/* Each of these calls of the driver fails. The error names it, and not a call
 * that has failed before. */
TEST (calls_that_fail)
{
  static const gchar *const calls[][2] = {
    { "cuMemsetD8Async:1+", "cuMemsetD8Async: CUDA_ERROR_UNKNOWN" },
    { "cuMemcpyDtoDAsync:1+", "A copy between memories: CUDA_ERROR_UNKNOWN" },
    { "cuMemcpy2DAsync:1+", "A copy between memories: CUDA_ERROR_UNKNOWN" },
    { "cuEventRecord:1+", "cuEventRecord: CUDA_ERROR_UNKNOWN" },
    /* As if the context were lost, but it works again. */
    { "cuMemsetD8Async:1+:CUDA_ERROR_LAUNCH_FAILED", "cuMemsetD8Async: " },
    { "cuMemcpyDtoDAsync:1+:CUDA_ERROR_LAUNCH_FAILED",
        "A copy between memories: CUDA_ERROR_LAUNCH_FAILED" },
  };
  GError *error = NULL;
  guint i;

  TEST_NEEDS (test_is_software (), "the software device");
  for (i = 0; i < G_N_ELEMENTS (calls); i++) {
    test_make_calls_fail (calls[i][0]);
    fail_if (run_all (&error), "%s", calls[i][0]);
    test_make_calls_fail (NULL);
    test_assert_says (g_steal_pointer (&error), calls[i][1]);
  }
  fail_unless (run_all (NULL));
}

/* If no staging buffer can be allocated, a writer uses the window, because its
 * frame would be lost otherwise. A reader has to fail. */
TEST (no_host_memory_to_stage)
{
  g_autoptr (GstMemory) memory = new_memory (WRITTEN, STAGED);
  GstMapInfo map;

  TEST_NEEDS (test_is_software (), "the software device");
  TEST_NEEDS (host_of (memory), "a window");
  test_make_calls_fail ("cuMemHostAlloc:1+");
  test_write (memory, 1);
  test_assert_device (memory, 1);
  fail_unless_equals_int (gst_vkgdr_memory_get_write_times (memory, NULL, NULL),
      GST_VKGDR_ACCESS_DIRECT);
  fail_unless (!gst_memory_map (memory, &map, GST_MAP_READ));
  test_make_calls_fail (NULL);
}

/* --- memory of other libraries ------------------------------------------- */

static gint n_released; /* wrapped memories; atomic */
static gint n_waits; /* calls of cuCtxSynchronize () that have begun; atomic */
static gint n_failures; /* how many of the next calls fail; atomic */

/* A release function may use the allocator. */
static void
release (gpointer unused)
{
  gst_memory_unref (test_memory_new (test_context, 100));
  g_atomic_int_inc (&n_released);
}

/* Wraps @storage, as another library would do with memory of its own. */
static GstMemory *
wrap (GstMemory *storage)
{
  GError *error = NULL;
  GstMemory *memory = gst_vkgdr_allocator_alloc_wrapped (
      allocator, device_of (storage), SIZE, 0, release, NULL, &error);

  g_assert_no_error (error);
  return memory;
}

static gboolean
call_fails (void)
{
  return g_atomic_int_get (&n_failures) > 0
         && g_atomic_int_add (&n_failures, -1) > 0;
}

static CUresult
failing_wait (void)
{
  g_atomic_int_inc (&n_waits);
  return call_fails () ? CUDA_ERROR_LAUNCH_FAILED : real.cuCtxSynchronize ();
}

static CUresult
failing_query (CUstream handle)
{
  return call_fails () ? CUDA_ERROR_LAUNCH_FAILED : real.cuStreamQuery (handle);
}

/* An older driver has no event behind all work of the CUDA context, so the CPU
 * waits for it. Must be called before the library has threads. */
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
  fail_unless (
      gst_vkgdr_memory_begin_access (memory, stream, GST_MAP_READ, NULL));
  return NULL;
}

/* The first stream that uses the memory waits for work that the owner has
 * queued on another stream. With an old driver (__i__ > 0), the CPU waits. If
 * this wait fails (2), the next use waits again. If another reader waits
 * already (3), this one waits, too. */
TEST_LOOP (owner_of_wrapped_memory_is_waited_for, 4)
{
  g_autoptr (GstVkgdrStream) theirs = test_stream_new (test_context);
  g_autoptr (GstVkgdrStream) ours = test_stream_new (test_context);
  g_autoptr (GstMemory) storage = new_memory (WRITTEN, AUTO);
  g_autoptr (GstMemory) memory = wrap (storage);
  GThread *reader = NULL;
  gint done = FALSE;

  if (__i__ > 0)
    use_old_driver (__i__ == 2);
  test_gate_delay (theirs, 100, &done);
  if (__i__ == 3) {
    reader = g_thread_new ("reader", begin_reading, memory);
    test_wait_for (g_atomic_int_get (&n_waits) > 0);
  }
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
  g_clear_pointer (&reader, g_thread_join);
}

/* The memory is released when the device has finished, even if the allocator is
 * not used any more. If the device has failed (__i__ is 1), no wait for it
 * succeeds, but it does no more work. */
TEST_LOOP (wrapped_memory_is_given_back, 2)
{
  GstMemory *storage = new_memory (WRITTEN, AUTO), *memory = wrap (storage);
  gint done = __i__;

  if (__i__ == 0)
    test_gate_access (memory, stream, GST_MAP_READ, 200, &done);
  else
    use_old_driver (G_MAXINT);
  gst_memory_unref (memory);
  test_gate_set (TRUE);
  test_wait_for (g_atomic_int_get (&n_released) > 0);
  fail_unless_equals_int (g_atomic_int_get (&n_released), 1);
  fail_unless (g_atomic_int_get (&done));
  g_atomic_int_set (&n_failures, 0);
  gst_memory_unref (storage);
}

/* --- zeros --------------------------------------------------------------- */

static void
setup_without_window (void)
{
  test_set_debug ("no-window");
  test_setup ();
  allocator = test_allocator ();
  stream = test_stream_new (test_context);
}

TEST_FIXTURE (setup_without_window, teardown);

/* A writer gets a staging buffer that the writer of another memory has used. It
 * does not see those bytes. */
TEST (staging_buffers_are_clear)
{
  GstMemory *memory;
  GstMapInfo map;
  gsize i;

  memory = new_memory (WRITTEN, AUTO);
  fail_unless (gst_vkgdr_memory_wait_idle (memory, NULL));
  gst_memory_unref (memory);
  memory = new_memory (NEW, AUTO);
  fail_unless (gst_memory_map (memory, &map, GST_MAP_WRITE));
  for (i = 0; i < map.size; i++)
    test_check_byte (i, map.data[i], 0);
  gst_memory_unmap (memory, &map);
  gst_memory_unref (memory);
}

/* The device sets the zeros of device-only memory. Readers wait for that, even
 * if the application keeps CUDA's default stream busy. */
TEST (zeros_come_first)
{
  static const guint8 zeros[64] = { 0 };
  GstAllocationParams params = { GST_MEMORY_FLAG_ZERO_PREFIXED, 0, 64, 0 };
  g_autofree guint8 *data = NULL;
  GstVkgdrStream *busy;
  GstMemory *memory;
  guint64 before;

  memory = new_memory (WRITTEN, AUTO);
  before = device_of (memory);
  fail_unless (gst_vkgdr_memory_wait_idle (memory, NULL));
  gst_memory_unref (memory);
  busy = gst_vkgdr_stream_new_wrapped (test_context, NULL, NULL);
  test_stream_delay (busy, 200, NULL);
  memory = gst_allocator_alloc (GST_ALLOCATOR (allocator), SIZE - 64, &params);
  gst_memory_resize (memory, -64, 64);
  fail_unless_equals_uint64 (device_of (memory), before);
  data = test_device_bytes (memory);
  fail_unless (memcmp (data, zeros, 64) == 0);
  gst_memory_unref (memory);
  gst_object_unref (busy);
}
