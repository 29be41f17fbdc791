/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * core.c: tests of memory that is pinned, exported, or used again
 */

#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <gst/allocators/gstfdmemory.h>

#include "gate.h"

#define SIZE (1024 * 1024)

/* --- pinning ------------------------------------------------------------- */

TEST_FIXTURE (test_setup_bar, test_teardown);

/* Each unmap removes the mapping of this memory, and other pages can then be
 * mapped at its address. DMA from pages that were pinned at this address would
 * send the bytes of the old pages. */
TEST (mapping_that_moves)
{
  g_autoptr (GstAllocator) allocator = gst_fd_allocator_new ();
  g_autoptr (GstMemory) ours = test_memory_new (test_context, SIZE);
  g_autoptr (GstVkgdrStream) stream = test_stream_new (test_context);
  g_autoptr (GstMemory) theirs = NULL;
  gint fd = memfd_create ("core", MFD_CLOEXEC);
  GstMapInfo map;
  guint i;

  fail_unless (fd >= 0 && ftruncate (fd, SIZE) == 0);
  theirs =
      gst_fd_allocator_alloc (allocator, fd, SIZE, GST_FD_MEMORY_FLAG_NONE);
  for (i = 0; i < 3; i++) {
    gpointer other, sent;

    /* Maps other pages where the memory was mapped before. */
    fail_unless (gst_memory_map (theirs, &map, GST_MAP_READ));
    other = map.data;
    gst_memory_unmap (theirs, &map);
    other = mmap (other, SIZE, PROT_READ | PROT_WRITE,
        MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    fail_unless (other != MAP_FAILED);
    memset (other, 0xee, SIZE);

    test_write (theirs, i);
    sent = gst_vkgdr_context_get_pinned_data (test_context, theirs);
    fail_unless (i == 0 || sent != NULL);
    if (sent) {
      fail_unless (gst_memory_map (theirs, &map, GST_MAP_READ));
      fail_unless (gst_vkgdr_memory_upload (ours, 0, sent, SIZE, stream, NULL));
      fail_unless (gst_vkgdr_stream_synchronize (stream, NULL));
      gst_memory_unmap (theirs, &map);
      test_assert_device (ours, i);
    }
    munmap (other, SIZE);
  }
}

/* An application can free its bytes before the library notices that the memory
 * that wraps them has been freed. So such bytes are not pinned. */
TEST (wrapped_bytes_are_not_pinned)
{
  guint8 *bytes = g_malloc0 (SIZE);
  g_autoptr (GstMemory) memory =
      gst_memory_new_wrapped (0, bytes, SIZE, 0, SIZE, bytes, g_free);

  fail_if (gst_vkgdr_context_get_pinned_data (test_context, memory));
  fail_if (gst_vkgdr_context_get_pinned_data (test_context, memory));
}

TEST (pinned_memory_is_pinned)
{
  g_autoptr (GstVkgdrAllocator) allocator = test_allocator ();
  g_autoptr (GstMemory) memory =
      gst_vkgdr_allocator_alloc_pinned (allocator, SIZE, NULL);

  fail_unless (memory != NULL);
  fail_unless (gst_vkgdr_context_get_pinned_data (test_context, memory));
}

static gint n_freed; /* atomic */

static void
count_freed (gpointer unused, GstMiniObject *memory)
{
  g_atomic_int_inc (&n_freed);
}

/* Another stream is busy while a pinned memory is freed. Neither the thread
 * that frees the memory nor a thread that queues work waits for this stream. */
TEST (freeing_pinned_memory_does_not_wait)
{
  GstMemory *memory = gst_allocator_alloc (NULL, SIZE, NULL);
  g_autoptr (GstVkgdrStream) stream = test_stream_new (test_context);
  g_autoptr (GstVkgdrStream) other = test_stream_new (test_context);
  g_autoptr (GstMemory) ours = test_memory_new (test_context, SIZE);
  gint done = FALSE;

  gst_mini_object_weak_ref (
      GST_MINI_OBJECT (memory), (GstMiniObjectNotify) count_freed, NULL);
  gst_vkgdr_context_get_pinned_data (test_context, memory);
  fail_unless (gst_vkgdr_context_get_pinned_data (test_context, memory));
  test_gate_delay (stream, 0, &done);

  gst_memory_unref (memory);
  g_usleep (100000); /* so that the thread that unpins begins */
  fail_unless (gst_vkgdr_memory_fill (ours, 0, SIZE, 7, other, NULL));
  fail_unless (!g_atomic_int_get (&done));
  test_gate_set (TRUE);
  fail_unless (gst_vkgdr_stream_synchronize (stream, NULL));
  test_wait_for (g_atomic_int_get (&n_freed) > 0);
  fail_unless_equals_int (g_atomic_int_get (&n_freed), 1);
}

/* --- export -------------------------------------------------------------- */

/* Returns a file descriptor of @memory, and the size of its allocation. */
static gint
export_fd (GstMemory *memory, gsize *size, gsize *offset)
{
  g_autoptr (GBytes) description = NULL;
  GError *error = NULL;
  gint fd = gst_vkgdr_memory_export_fd (memory, &description, offset, &error);

  g_assert_no_error (error);
  *size = ((const vkgdr_fd_info *) g_bytes_get_data (description, NULL))->size;
  return fd;
}

/* A small memory has an allocation of its own, and small buffers of a pool
 * share one only with that pool. So there are no bytes of others. __i__ is 1
 * for a pool. */
TEST_LOOP (export_gives_nothing_else, test_hides_vulkan () ? 0 : 2)
{
  g_autoptr (GstMemory) other = test_memory_new (test_context, 4096);
  GstBufferPool *pool = NULL;
  GstBuffer *buffer;
  GstMemory *memory;
  gsize size, offset;
  guint8 *begin, *host;
  struct stat status;
  gint fd;

  if (__i__)
    pool = test_pool_new (NULL, 4096, 2, 0);
  buffer = pool ? test_pool_acquire (pool) : test_exportable_buffer_new (4096);
  memory = gst_buffer_peek_memory (buffer, 0);
  fd = export_fd (memory, &size, &offset);
  fail_unless (size <= 64 * 1024, "%" G_GSIZE_FORMAT " bytes", size);
  fail_unless (fstat (fd, &status) == 0 && status.st_size <= 128 * 1024);
  begin = (guint8 *) gst_vkgdr_memory_get_host_pointer (memory) - offset;
  host = gst_vkgdr_memory_get_host_pointer (other);
  fail_unless (host < begin || host >= begin + size);
  close (fd);
  gst_buffer_unref (buffer);
  if (pool)
    test_pool_free (pool);
}

/* Another process may still have mapped exported memory, so it is not allocated
 * again. */
TEST_IF (exported_slabs_are_not_used_again, !test_hides_vulkan ())
{
  struct stat files[2];
  gsize size, offset;
  gint fds[2];
  guint i;

  for (i = 0; i < 2; i++) {
    GstMemory *memory = test_memory_new (test_context, 6 * SIZE);

    fds[i] = export_fd (memory, &size, &offset);
    fail_unless (fds[i] >= 0 && fstat (fds[i], &files[i]) == 0);
    gst_memory_unref (memory);
  }
  /* If the first memory was freed, the second one may have the same address. On
   * the software device, each allocation is a file. */
  if (test_is_software ())
    fail_if (files[0].st_ino == files[1].st_ino);
  close (fds[0]);
  close (fds[1]);
}

/* Memory that can be exported contains no bytes of an earlier owner. */
TEST (new_memory_is_clear)
{
  g_autoptr (GstVkgdrAllocator) allocator = test_allocator ();
  g_autofree guint8 *zeros = g_malloc0 (2 * SIZE);
  guint64 pointer = 0;
  guint i;

  for (i = 0; i < 3; i++) {
    g_autoptr (GstMemory) memory = test_memory_new (test_context, 2 * SIZE);
    g_autofree guint8 *data = test_device_bytes (memory);

    if (i > 0)
      fail_unless_equals_uint64 (
          gst_vkgdr_memory_get_device_pointer (memory), pointer);
    pointer = gst_vkgdr_memory_get_device_pointer (memory);
    fail_unless (memcmp (data, zeros, 2 * SIZE) == 0);
    memset (data, 0xab, memory->size);
    fail_unless (gst_vkgdr_memory_write (memory, 0, data, memory->size, NULL));
    fail_unless (gst_vkgdr_memory_wait_idle (memory, NULL));
  }
}

/* --- a small window ------------------------------------------------------ */

TEST_FIXTURE (NULL, NULL);

/* A pool that grows leaves part of a small window for the next pool. The first
 * one gets three quarters of the window, the second one at least its minimum of
 * two buffers from the rest. */
TEST (small_window_is_shared)
{
  GstBufferPool *pools[2];
  GstBuffer *buffers[2][16];
  guint i, k, n;

  g_setenv ("VKGDR_DEBUG", "bar=32M", TRUE);
  test_setup ();
  for (i = 0; i < 2; i++) {
    pools[i] = test_pool_new (NULL, 2 * SIZE, 2, 0);
    for (n = k = 0; k < 16; k++) {
      buffers[i][k] = test_pool_acquire (pools[i]);
      if (gst_vkgdr_memory_get_host_pointer (
              gst_buffer_peek_memory (buffers[i][k], 0)))
        n++;
    }
    fail_unless (i == 0 ? n == 12 : n >= 2 && n <= 4, "pool %u: %u", i, n);
  }
  for (i = 0; i < 2; i++) {
    for (k = 0; k < 16; k++)
      gst_buffer_unref (buffers[i][k]);
    test_pool_free (pools[i]);
  }
  test_teardown ();
}
