/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * core.c: tests of memory that is pinned, exported or kept, and of fences that
 * cannot be queried
 */

#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <gst/allocators/gstfdmemory.h>
#include <gst/app/gstappsink.h>

#include "gate.h"

#define SIZE (1024 * 1024)

static const gchar *
describe (GError *error)
{
  return error ? error->message : "";
}

/* --- pinning ------------------------------------------------------------- */

static gint
file_new (guint8 byte)
{
  gint fd = memfd_create ("core", MFD_CLOEXEC);
  guint8 *data;

  fail_unless (fd >= 0 && ftruncate (fd, SIZE) == 0);
  data = mmap (NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  fail_unless (data != MAP_FAILED);
  memset (data, byte, SIZE);
  munmap (data, SIZE);
  return fd;
}

static void
set_file (GstMemory *memory, guint8 byte)
{
  GstMapInfo map;

  fail_unless (gst_memory_map (memory, &map, GST_MAP_WRITE));
  memset (map.data, byte, map.size);
  gst_memory_unmap (memory, &map);
}

TEST_FIXTURE (test_setup_bar, test_teardown);

/* Each unmap removes the mapping of this memory, and other pages can then be
 * mapped at its address. DMA from pages that were pinned at this address would
 * send the bytes of the old pages. */
TEST (mapping_that_moves)
{
  g_autoptr (GstAllocator) allocator = gst_fd_allocator_new ();
  g_autoptr (GstMemory) theirs = gst_fd_allocator_alloc (
      allocator, file_new (0x11), SIZE, GST_FD_MEMORY_FLAG_NONE);
  g_autoptr (GstMemory) ours = test_memory_new (test_context, SIZE);
  g_autoptr (GstVkgdrStream) stream = test_stream_new (test_context);
  GError *error = NULL;
  GstMapInfo map;
  guint8 *bytes, *sent;
  gpointer other;
  guint i;

  for (i = 0; i < 3; i++) {
    /* Maps other pages where the memory was mapped before. */
    fail_unless (gst_memory_map (theirs, &map, GST_MAP_READ));
    other = map.data;
    gst_memory_unmap (theirs, &map);
    other = mmap (other, SIZE, PROT_READ | PROT_WRITE,
        MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    fail_unless (other != MAP_FAILED);
    memset (other, 0xee, SIZE);

    set_file (theirs, 0x20 + i);
    sent = gst_vkgdr_context_get_pinned_data (test_context, theirs);
    fail_unless (i == 0 || sent != NULL);
    if (sent) {
      fail_unless (gst_memory_map (theirs, &map, GST_MAP_READ));
      fail_unless (
          gst_vkgdr_memory_upload (ours, 0, sent, SIZE, stream, &error), "%s",
          describe (error));
      fail_unless (gst_vkgdr_stream_synchronize (stream, &error));
      gst_memory_unmap (theirs, &map);
      bytes = test_device_bytes (ours);
      fail_unless_equals_int (bytes[0], 0x20 + i);
      fail_unless_equals_int (bytes[SIZE - 1], 0x20 + i);
      g_free (bytes);
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

static gint n_freed;

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
  GError *error = NULL;
  gint done = FALSE;

  gst_mini_object_weak_ref (
      GST_MINI_OBJECT (memory), (GstMiniObjectNotify) count_freed, NULL);
  gst_vkgdr_context_get_pinned_data (test_context, memory);
  fail_unless (gst_vkgdr_context_get_pinned_data (test_context, memory));
  test_gate_delay (stream, 0, &done);

  gst_memory_unref (memory);
  g_usleep (100000); /* so that the thread that unpins begins */
  fail_unless (gst_vkgdr_memory_fill (ours, 0, SIZE, 7, other, &error), "%s",
      describe (error));
  fail_unless (!g_atomic_int_get (&done));
  test_gate_set (TRUE);
  fail_unless (gst_vkgdr_stream_synchronize (stream, &error));
  test_wait_for (g_atomic_int_get (&n_freed) > 0);
  fail_unless_equals_int (g_atomic_int_get (&n_freed), 1);
}

/* --- export -------------------------------------------------------------- */

static gsize
file_size (gint fd)
{
  struct stat status;

  fail_unless (fstat (fd, &status) == 0);
  return status.st_size;
}

/* Returns a file descriptor of @memory, and the size of its allocation. */
static gint
export_fd (GstMemory *memory, gsize *size, gsize *offset, GError **error)
{
  g_autoptr (GBytes) description = NULL;
  gint fd = gst_vkgdr_memory_export_fd (memory, &description, offset, error);

  if (fd < 0)
    return fd;
  *size = ((const vkgdr_fd_info *) g_bytes_get_data (description, NULL))->size;
  return fd;
}

/* A small memory shares its allocation with others, and their bytes must not be
 * exported. */
TEST_IF (export_gives_nothing_else, !test_hides_vulkan ())
{
  g_autoptr (GstVkgdrAllocator) allocator = test_allocator ();
  g_autoptr (GstMemory) secret = test_memory_new (test_context, 4096);
  g_autoptr (GstMemory) shared = test_memory_new (test_context, 4096);
  GError *error = NULL;
  g_autoptr (GstMemory) memory =
      gst_vkgdr_allocator_alloc_exportable (allocator, 4096, &error);
  gsize fd_size, offset;
  gint fd;

  fail_unless (memory != NULL, "%s", describe (error));
  fail_unless (export_fd (shared, &fd_size, &offset, &error) < 0);
  test_assert_error (&error, GST_VKGDR_ERROR_ARGUMENT);

  fd = export_fd (memory, &fd_size, &offset, &error);
  fail_unless (fd >= 0, "%s", describe (error));
  fail_unless (fd_size <= 64 * 1024, "%" G_GSIZE_FORMAT " bytes", fd_size);
  fail_unless (file_size (fd) <= 128 * 1024);
  fail_unless_equals_int (offset, 0);
  close (fd);
}

/* Small buffers of a pool can be exported, because the pool shares its
 * allocations with no other memory. */
TEST_IF (export_of_a_pool, !test_hides_vulkan ())
{
  g_autoptr (GstBufferPool) pool = gst_vkgdr_buffer_pool_new (test_context);
  GstStructure *config = gst_buffer_pool_get_config (pool);
  g_autoptr (GstMemory) other = test_memory_new (test_context, 4096);
  gsize fd_size, offset;
  GError *error = NULL;
  GstBuffer *buffer;
  guint8 *begin, *host;
  gint fd;

  gst_buffer_pool_config_set_params (config, NULL, 4096, 2, 0);
  fail_unless (gst_buffer_pool_set_config (pool, config));
  fail_unless (gst_buffer_pool_set_active (pool, TRUE));
  fail_unless_equals_int (
      gst_buffer_pool_acquire_buffer (pool, &buffer, NULL), GST_FLOW_OK);
  fd =
      export_fd (gst_buffer_peek_memory (buffer, 0), &fd_size, &offset, &error);
  fail_unless (fd >= 0, "%s", describe (error));
  fail_unless (fd_size <= 64 * 1024, "%" G_GSIZE_FORMAT " bytes", fd_size);
  begin =
      gst_vkgdr_memory_get_host_pointer (gst_buffer_peek_memory (buffer, 0));
  begin -= offset;
  host = gst_vkgdr_memory_get_host_pointer (other);
  fail_unless (host < begin || host >= begin + fd_size);
  close (fd);
  gst_buffer_unref (buffer);
  gst_buffer_pool_set_active (pool, FALSE);
}

/* --- memory that is kept ------------------------------------------------- */

TEST (unused_memory_is_freed)
{
  g_autoptr (GstVkgdrAllocator) allocator = test_allocator ();
  GstMemory *a = test_memory_new (test_context, 4096);
  GstMemory *b = test_memory_new (test_context, 4096);

  fail_unless_equals_int (gst_vkgdr_allocator_get_active_blocks (allocator), 2);
  gst_memory_unref (a);
  gst_vkgdr_allocator_free_held (allocator);
  fail_unless (gst_vkgdr_allocator_get_managed_bytes (allocator) > 0);
  gst_memory_unref (b);
  gst_vkgdr_allocator_free_held (allocator);
  fail_unless_equals_int (gst_vkgdr_allocator_get_managed_bytes (allocator), 0);
}

/* A single large block does not get a slab of four times its size. */
TEST (large_blocks_fit)
{
  g_autoptr (GstVkgdrAllocator) allocator = test_allocator ();
  g_autoptr (GstMemory) memory = test_memory_new (test_context, 12 * SIZE + 1);

  fail_unless (gst_vkgdr_allocator_get_managed_bytes (allocator) < 13 * SIZE);
}

/* Memory of the same size uses the existing slab, without an allocation by the
 * driver. */
TEST (idle_slabs_are_used_again)
{
  g_autoptr (GstVkgdrAllocator) allocator = test_allocator ();
  guint64 bytes = 0;
  guint i;

  for (i = 0; i < 4; i++) {
    g_autoptr (GstMemory) memory = test_memory_new (test_context, 6 * SIZE);

    if (i == 0)
      bytes = gst_vkgdr_allocator_get_managed_bytes (allocator);
    fail_unless_equals_uint64 (
        gst_vkgdr_allocator_get_managed_bytes (allocator), bytes);
    fail_unless (gst_vkgdr_memory_wait_idle (memory, NULL));
  }
}

/* Memory that can be exported contains no bytes of an earlier owner. */
TEST (new_memory_is_clear)
{
  g_autoptr (GstVkgdrAllocator) allocator = test_allocator ();
  guint64 pointer = 0;
  guint i;

  for (i = 0; i < 3; i++) {
    g_autoptr (GstMemory) memory = test_memory_new (test_context, 2 * SIZE);
    g_autofree guint8 *data = test_device_bytes (memory);
    gsize k;

    if (i > 0)
      fail_unless_equals_uint64 (
          gst_vkgdr_memory_get_device_pointer (memory), pointer);
    pointer = gst_vkgdr_memory_get_device_pointer (memory);
    for (k = 0; k < memory->size && data[k] == 0; k++)
      ;
    fail_unless_equals_uint64 (k, memory->size);
    memset (data, 0xab, memory->size);
    fail_unless (gst_vkgdr_memory_write (memory, 0, data, memory->size, NULL));
    fail_unless (gst_vkgdr_memory_wait_idle (memory, NULL));
  }
}

/* Another process may still have mapped exported memory, so it is not allocated
 * again. */
TEST_IF (exported_slabs_are_not_used_again, !test_hides_vulkan ())
{
  GstMemory *memory;
  struct stat files[2];
  gsize size, offset;
  gint fds[2];
  guint i;

  for (i = 0; i < 2; i++) {
    memory = test_memory_new (test_context, 6 * SIZE);
    fds[i] = export_fd (memory, &size, &offset, NULL);
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

TEST_FIXTURE (NULL, NULL);

/* Takes @n buffers of 2 MiB from a pool. Returns how many of them are in the
 * window. */
static guint
fill_window (GstBufferPool *pool, GstBuffer **buffers, guint n)
{
  GstStructure *config = gst_buffer_pool_get_config (pool);
  guint i, n_inside = 0;

  gst_buffer_pool_config_set_params (config, NULL, 2 * SIZE, 2, 0);
  fail_unless (gst_buffer_pool_set_config (pool, config));
  fail_unless (gst_buffer_pool_set_active (pool, TRUE));
  for (i = 0; i < n; i++) {
    fail_unless_equals_int (
        gst_buffer_pool_acquire_buffer (pool, &buffers[i], NULL), GST_FLOW_OK);
    n_inside += gst_vkgdr_memory_get_host_pointer (
                    gst_buffer_peek_memory (buffers[i], 0))
                != NULL;
  }
  return n_inside;
}

/* A pool that grows leaves part of a small window for the next pool. */
TEST (small_window_is_shared)
{
  GstBufferPool *pools[2];
  GstBuffer *buffers[2][16];
  guint i, k, n;

  g_setenv ("VKGDR_DEBUG", "bar=32M", TRUE);
  test_context = test_context_new ();
  for (i = 0; i < 2; i++) {
    pools[i] = gst_vkgdr_buffer_pool_new (test_context);
    n = fill_window (pools[i], buffers[i], 16);
    /* The first pool gets three quarters of the window. The second one gets at
     * least its minimum of two buffers from the rest. */
    fail_unless (i == 0 ? n == 12 : n >= 2 && n <= 4, "pool %u: %u", i, n);
  }
  for (i = 0; i < 2; i++) {
    for (k = 0; k < 16; k++)
      gst_buffer_unref (buffers[i][k]);
    gst_buffer_pool_set_active (pools[i], FALSE);
    gst_object_unref (pools[i]);
  }
  test_teardown ();
}

/* --- fences that are lost ------------------------------------------------ */

/* Compares the first and the last byte of each row. */
static gboolean
is_frame (const guint8 *data, guint frame)
{
  guint y;

  for (y = 0; y < 64; y++)
    if (data[64 * y] != test_frame_byte (frame, 0, y)
        || data[64 * y + 63] != test_frame_byte (frame, 63, y))
      return FALSE;
  return TRUE;
}

#define N_FRAMES 12

/* Whether an element has posted an error since the last call. */
static gboolean
pop_error (GstElement *pipeline)
{
  g_autoptr (GstBus) bus = gst_element_get_bus (pipeline);
  GstMessage *message = gst_bus_pop_filtered (bus, GST_MESSAGE_ERROR);
  gboolean found = message != NULL;

  g_clear_pointer (&message, gst_message_unref);
  return found;
}

/* Returns the next frame, or NULL at the end of the stream or after an error.
 * *@failed is set to TRUE if there was an error. */
static GstSample *
next_frame (GstElement *pipeline, GstAppSink *sink, gboolean *failed)
{
  gint64 deadline = g_get_monotonic_time () + 20 * G_TIME_SPAN_SECOND;
  GstSample *sample = NULL;
  gboolean ended = FALSE;

  while (!sample && !ended) {
    /* An error comes before the end, and frames may come before an error. */
    ended = gst_app_sink_is_eos (sink);
    *failed |= pop_error (pipeline);
    ended |= *failed;
    sample = gst_app_sink_try_pull_sample (sink, ended ? 0 : 10 * GST_MSECOND);
    fail_unless (g_get_monotonic_time () < deadline,
        "there is neither a frame nor an error");
  }
  return sample;
}

/* Plays while the calls of @spec fail. All frames arrive, or an element reports
 * an error. */
static void
check_frames (const gchar *spec)
{
  g_autoptr (GstElement) pipeline = test_launch (
      "testframes num-buffers=%d buffers=2 ! "
      "video/x-raw,format=GRAY8,width=64,height=64,framerate=1000/1 ! "
      "vkgdrupload access=staged ! cudafilter kernel=copy ! vkgdrdownload ! "
      "appsink name=sink sync=false",
      N_FRAMES);
  g_autoptr (GstElement) sink =
      gst_bin_get_by_name (GST_BIN (pipeline), "sink");
  gboolean failed = FALSE;
  GstSample *sample;
  guint i = 0, n_unmapped = 0;

  gst_element_set_state (pipeline, GST_STATE_PLAYING);
  test_make_calls_fail (spec);
  while ((sample = next_frame (pipeline, GST_APP_SINK (sink), &failed))) {
    GstMapInfo map;

    if (gst_buffer_map (gst_sample_get_buffer (sample), &map, GST_MAP_READ)) {
      fail_unless (is_frame (map.data, i), "%s: frame %u", spec, i);
      gst_buffer_unmap (gst_sample_get_buffer (sample), &map);
    } else {
      n_unmapped++;
    }
    i++;
    gst_sample_unref (sample);
  }
  fail_unless (failed || i == N_FRAMES, "%s: %u frames", spec, i);
  /* A single call fails, so at most one frame cannot be mapped. */
  fail_unless (n_unmapped <= 1, "%s: %u are not mapped", spec, n_unmapped);
  test_make_calls_fail (NULL);
  gst_element_set_state (pipeline, GST_STATE_NULL);
}

/* Whichever query of a fence fails, no frame has wrong content. */
TEST (lost_fences_are_errors)
{
  guint n;

  if (!test_is_software ())
    return;
  test_frames_register ();
  for (n = 1; n < 40; n++) {
    g_autofree gchar *spec = g_strdup_printf ("cuEventQuery:%u", n);

    check_frames (spec);
  }
}
