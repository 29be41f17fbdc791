/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * import.c: tests of memory that is exported as a file descriptor with its
 * description, of memory that is imported from them, and of parts of it
 */

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "util.h"

#define SIZE 5000
#define MIB (1024 * 1024)

static gsize at; /* where the exported memory is in its allocation */

/* Returns a file descriptor of @exported, which is at `at` in it. */
static gint
export_fd (GstMemory *exported, GBytes **description)
{
  GError *error = NULL;
  gint fd = gst_vkgdr_memory_export_fd (exported, description, &at, &error);

  g_assert_no_error (error);
  fail_unless (fd >= 0);
  return fd;
}

TEST_FIXTURE (test_setup_bar, test_teardown);

/* libvkgdr checks the rest of a description. A part that is right has the
 * exporter's bytes, and keeps the allocation. */
TEST (wrong_descriptions_and_ranges)
{
  g_autoptr (GstVkgdrAllocator) allocator = test_allocator ();
  g_autoptr (GBytes) right = NULL, wrong = NULL;
  GstMemory *memory, *whole;
  g_autoptr (GstMemory) part = NULL;
  GError *error = NULL;
  guint8 *data;
  gsize size;
  gint fd;

  TEST_NEEDS (test_has_window (), "a window");
  memory = gst_vkgdr_allocator_alloc_exportable (allocator, SIZE, NULL);
  test_write (memory, 3);
  fd = export_fd (memory, &right);
  whole = gst_vkgdr_allocator_import_fd (allocator, fd, right, &error);
  g_assert_no_error (error);
  size = whole->size;
  fail_if (
      gst_vkgdr_memory_new_part (whole, 0, 0, 0, NULL, NULL)
      || gst_vkgdr_memory_new_part (whole, 0, size + 1, 0, NULL, NULL)
      || gst_vkgdr_memory_new_part (whole, size - 1, 2, 0, NULL, NULL)
      || gst_vkgdr_memory_new_part (whole, G_MAXSIZE - 1, 4, 0, NULL, NULL));
  part = gst_vkgdr_memory_new_part (whole, at, SIZE, 0, NULL, NULL);
  gst_memory_unref (whole);
  gst_memory_unref (memory);
  test_assert_read (part, 3);
  data = g_bytes_unref_to_data (g_steal_pointer (&right), &size);
  data[G_STRUCT_OFFSET (vkgdr_fd_info, reserved)] = 1;
  wrong = g_bytes_new_take (data, size);
  fail_if (gst_vkgdr_allocator_import_fd (allocator, fd, wrong, &error));
  test_assert_error_says (
      &error, GST_VKGDR_ERROR_ARGUMENT, "not a description");
  close (fd);
}

/* --- what is exported ---------------------------------------------------- */

/* A small memory has an allocation of its own (__i__ is 0), and small buffers
 * of a pool share one only with that pool (1). So there are no bytes of others.
 * Memory that shares its allocation with other memory is not exported. */
TEST_LOOP (export_gives_nothing_else, 2)
{
  g_autoptr (GstMemory) other = test_memory_new (test_context, 4096);
  g_autoptr (GBytes) description = NULL;
  GstBufferPool *pool = test_pool_new (NULL, 4096, 2, 0);
  GstBuffer *buffer;
  GstMemory *exported;
  struct stat status;
  gsize size, offset;
  GError *error = NULL;
  gint fd;

  fail_unless_equals_int (
      gst_vkgdr_memory_export_fd (other, &description, &offset, &error), -1);
  test_assert_error (&error, GST_VKGDR_ERROR_ARGUMENT);
  fail_unless (description == NULL);
  if (test_has_window ()) {
    buffer =
        __i__ ? test_pool_acquire (pool) : test_exportable_buffer_new (4096);
    exported = gst_buffer_peek_memory (buffer, 0);
    fd = export_fd (exported, &description);
    size = ((const vkgdr_fd_info *) g_bytes_get_data (description, NULL))->size;
    fail_unless (size <= 64 * 1024, "%" G_GSIZE_FORMAT " bytes", size);
    fail_unless (fstat (fd, &status) == 0 && status.st_size <= 128 * 1024);
    close (fd);
    gst_buffer_unref (buffer);
  }
  test_pool_free (pool);
}

/* Another process may still have mapped exported memory, so it is not allocated
 * again. On the software device, each allocation is a file. */
TEST (exported_slabs_are_not_used_again)
{
  /* Without this reference, the slab would be freed with the first memory. */
  g_autoptr (GstVkgdrAllocator) allocator = test_allocator ();
  struct stat files[2];
  gint fds[2];
  guint i;

  TEST_NEEDS (test_is_software (), "the software device");
  TEST_NEEDS (test_has_window (), "a window");
  for (i = 0; i < 2; i++) {
    g_autoptr (GBytes) description = NULL;
    g_autoptr (GstMemory) large = test_memory_new (test_context, 6 * MIB);

    fds[i] = export_fd (large, &description);
    fail_unless (fstat (fds[i], &files[i]) == 0);
    /* Otherwise, it could not be used again at once in any case. */
    fail_unless (gst_vkgdr_memory_wait_idle (large, NULL));
  }
  fail_if (files[0].st_ino == files[1].st_ino);
  close (fds[0]);
  close (fds[1]);
}

static vkgdr_cuda real; /* the driver's table before it is changed */

/* Memory of this driver contains bytes of somebody else. */
static CUresult
map_with_dirt (CUdeviceptr *pointer, CUexternalMemory memory,
    const CUDA_EXTERNAL_MEMORY_BUFFER_DESC *buffer)
{
  CUresult result =
      real.cuExternalMemoryGetMappedBuffer (pointer, memory, buffer);

  if (result == CUDA_SUCCESS)
    result = real.cuMemsetD8 (*pointer, 0xee, buffer->size);
  return result == CUDA_SUCCESS ? real.cuCtxSynchronize () : result;
}

/* Fails unless all bytes of the allocation of @memory are zero. */
static void
assert_all_clear (GstMemory *memory)
{
  g_autoptr (GstVkgdrAllocator) allocator = test_allocator ();
  g_autoptr (GBytes) description = NULL;
  g_autoptr (GstMemory) whole = NULL;
  g_autofree guint8 *bytes = NULL;
  gint fd = export_fd (memory, &description);
  gsize i;

  fail_unless (gst_vkgdr_memory_wait_idle (memory, NULL));
  whole = gst_vkgdr_allocator_import_fd (allocator, fd, description, NULL);
  fail_unless (whole != NULL && whole->size >= memory->size);
  bytes = test_device_bytes (whole);
  for (i = 0; i < whole->size; i++)
    test_check_byte (i, bytes[i], 0);
  close (fd);
}

/* A file descriptor gives access to a whole allocation, also to the bytes
 * beside the memory (__i__ is 0), beside a small one (1), and beside buffers of
 * a pool (2). None of them are of another owner. */
TEST_LOOP (exported_allocations_are_clear, 3)
{
  g_autoptr (GstVkgdrAllocator) allocator = test_allocator ();
  vkgdr_cuda *table = test_change_driver (&real);
  GstBufferPool *pool = NULL;
  GstBuffer *buffer = NULL;
  GstMemory *memory;

  TEST_NEEDS (test_has_window (), "a window");
  table->cuExternalMemoryGetMappedBuffer = map_with_dirt;
  if (__i__ == 0) {
    memory = gst_vkgdr_allocator_alloc (allocator, 2 * MIB + 60000, NULL);
    test_write (memory, 1);
    gst_memory_unref (memory);
    memory = gst_vkgdr_allocator_alloc (allocator, 2 * MIB + 1000, NULL);
  } else if (__i__ == 1) {
    memory = gst_vkgdr_allocator_alloc_exportable (allocator, SIZE, NULL);
  } else {
    pool = test_pool_new (NULL, SIZE, 3, 0);
    buffer = test_pool_acquire (pool);
    memory = gst_memory_ref (gst_buffer_peek_memory (buffer, 0));
  }
  table->cuExternalMemoryGetMappedBuffer = real.cuExternalMemoryGetMappedBuffer;
  assert_all_clear (memory);
  gst_memory_unref (memory);
  gst_clear_buffer (&buffer);
  if (pool)
    test_pool_free (pool);
}

/* The CPU reads imported memory, and reads it again after the exporter has
 * changed it. The CPU also writes to it, by a mapping (__i__ is 0) and without
 * one (1), and the exporter sees that. */
TEST_LOOP (both_sides_see_changes, 2)
{
  g_autoptr (GstVkgdrAllocator) allocator = test_allocator ();
  g_autoptr (GstMemory) ours = NULL, theirs = NULL;
  g_autoptr (GBytes) description = NULL;
  guint8 bytes[SIZE];
  guint i;
  gint fd;

  TEST_NEEDS (test_has_window (), "a window");
  ours = gst_vkgdr_allocator_alloc_exportable (allocator, SIZE, NULL);
  fd = export_fd (ours, &description);
  theirs = gst_vkgdr_allocator_import_fd (allocator, fd, description, NULL);
  fail_unless (theirs != NULL);
  close (fd);
  gst_memory_resize (theirs, at, SIZE);
  for (i = 0; i < 3; i++) {
    test_write (ours, i);
    fail_unless (gst_vkgdr_memory_wait_idle (ours, NULL));
    test_assert_read (theirs, i);
  }
  test_fill (bytes, SIZE, 7);
  if (__i__ == 0)
    test_write (theirs, 7);
  else
    fail_unless (gst_vkgdr_memory_write (theirs, 0, bytes, SIZE, NULL));
  fail_unless (gst_vkgdr_memory_wait_idle (theirs, NULL));
  test_assert_device (ours, 7);
  test_assert_read (ours, 7);
}

/* Memory that can be exported contains no bytes of an earlier owner. */
TEST (new_memory_is_clear)
{
  g_autoptr (GstVkgdrAllocator) allocator = test_allocator ();
  g_autofree guint8 *zeros = g_malloc0 (2 * MIB);
  guint64 pointer = 0;
  guint i;

  TEST_NEEDS (test_has_window (), "a window");
  for (i = 0; i < 3; i++) {
    g_autoptr (GstMemory) large = test_memory_new (test_context, 2 * MIB);
    g_autofree guint8 *data = test_device_bytes (large);

    if (i > 0)
      fail_unless_equals_uint64 (
          gst_vkgdr_memory_get_device_pointer (large), pointer);
    pointer = gst_vkgdr_memory_get_device_pointer (large);
    fail_unless (memcmp (data, zeros, 2 * MIB) == 0);
    test_write (large, 1);
    fail_unless (gst_vkgdr_memory_wait_idle (large, NULL));
  }
}
